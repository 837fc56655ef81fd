"""A way to run the program inside this process."""

from typer.testing import CliRunner, Result

from dln_bench.cli import app


def run(*arguments: str) -> Result:
    """Run the program; an exception that the program does not handle is raised."""
    result = CliRunner().invoke(app, list(arguments), prog_name="dln-bench")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result
