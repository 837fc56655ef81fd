"""Named functions of ours that a default fit runs, and the files in which they are.

python benchmarks/traced_fit.py            # counts per folder
python benchmarks/traced_fit.py --list     # every function

Lambdas, comprehensions and compiled code are not counted.
"""

from __future__ import annotations

import argparse
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.datasets import make_friedman1

import dln

if TYPE_CHECKING:
    from types import CodeType, FrameType

HOME = Path(dln.__file__).parent
#: Largest numbers of functions and of files.
TARGETS = {dln.RuleRegressor: (200, 30), dln.DLNRegressor: (120, 20)}


def traced_fit(model: Any) -> list[CodeType]:
    """Return the named functions of ours that a fit runs, in all of its threads, once the kernels are compiled."""
    model.fit(*make_friedman1(60, random_state=0))
    seen: set[CodeType] = set()

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    threading.setprofile(profile)
    sys.setprofile(profile)
    model.fit(*make_friedman1(300, random_state=0))
    sys.setprofile(None)
    threading.setprofile(None)
    ours = [code for code in seen if code.co_filename.startswith(f"{HOME}/") and not code.co_name.startswith("<")]
    return sorted(ours, key=lambda code: (code.co_filename, code.co_firstlineno))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="list the functions too")
    listed = parser.parse_args().list
    warnings.simplefilter("ignore")
    for kind, (functions, files) in TARGETS.items():
        found = traced_fit(kind(random_state=0))
        paths = [Path(code.co_filename).relative_to(HOME) for code in found]
        print(f"{kind.__name__}: {len(found)} functions (target {functions}), {len(set(paths))} files (target {files})")
        for folder, count in Counter(path.parent for path in paths).items():
            print(f"  {folder}: {count} functions, {len({path for path in paths if path.parent == folder})} files")
        for path, code in zip(paths, found, strict=True) if listed else ():
            print(f"    {path}: {code.co_qualname}")
