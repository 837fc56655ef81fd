import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_code_in_the_readme_runs():
    """Every Python block of the README runs, in order, each seeing the names of those before it."""
    text = README.read_text(encoding="utf-8")
    blocks = list(PYTHON_BLOCK.finditer(text))
    assert blocks
    namespace = {"__name__": "readme"}
    for block in blocks:
        first_line = text.count("\n", 0, block.start(1))
        code = "\n" * first_line + block[1]  # so that a traceback names the README's own line
        exec(compile(code, str(README), "exec"), namespace)  # noqa: S102 (our own README)
