"""Damage to files, and child processes that load what is left.

`damaged` cuts, flips, deletes, inserts and splices bytes. `misleading` makes model files with a valid checksum that
mean nothing. `verdicts` loads and predicts, each file in a process of its own.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from dln.readers.model_file import _schema

Random = np.random.Generator

#: Seconds that a file may take to load and predict, and bytes that it may use.
TIME_LIMIT = 2
MEMORY_LIMIT = 8 * 2**30

VERDICTS = ("clean error", "other error", "crash", "hang", "silently different", "harmless")


def damaged(data: bytes, other: bytes, rng: Random) -> bytes:
    """Return the bytes of a file with one random damage; `other` is a file to splice in."""
    start, end = sorted(int(i) for i in rng.integers(0, len(data) + 1, 2))
    match rng.integers(5):
        case 0:
            return data[:start]
        case 1:
            flipped = bytearray(data)
            for place in rng.integers(0, len(data), rng.integers(1, 9)):
                flipped[place] ^= 1 << int(rng.integers(8))
            return bytes(flipped)
        case 2:
            return data[:start] + data[min(end, start + int(rng.integers(1, 65))) :]
        case 3:
            return data[:start] + rng.bytes(int(rng.integers(1, 65))) + data[start:]
        case _:
            return data[:start] + other[start:end] + data[end:]


# --- a valid checksum and a wrong meaning -----------------------------------------------------------------------------


def misleading(data: bytes, rng: Random, seal: Callable[[bytes], bytes]) -> bytes:
    """Return a model file that is whole, with the right checksum, and means nothing."""
    text = data.split(b"\n")[1]
    while True:
        change = WRONG[int(rng.integers(len(WRONG)))]
        model = json.loads(text)
        try:
            changed = change(model, rng)
        except (IndexError, ValueError, StopIteration):
            continue  # this model has nothing of the kind to change
        if not isinstance(changed, bytes):
            changed = json.dumps(model, ensure_ascii=False, separators=(",", ":")).encode()
        if changed != text:
            return seal(changed)


def _one(items: Sequence[Any], rng: Random) -> Any:
    return items[int(rng.integers(len(items)))]  # ValueError where there are none


def _n_nodes(model: Any) -> int:
    return len(model["literals"]) + len(model["gates"])


def _beyond(limit: int, rng: Random) -> int:
    return int(_one([-1, limit, limit + 1, 10**12, -(10**30), 2**63, 2**64], rng))


def _rule_node(model: Any, rng: Random) -> None:
    _one(model["rules"], rng)["node"] = _beyond(_n_nodes(model), rng)


def _gate_kind(model: Any, rng: Random) -> None:
    _one(model["gates"], rng)[0] = _beyond(16, rng)


def _gate_input(model: Any, rng: Random) -> None:
    place = int(rng.integers(len(model["gates"])))
    model["gates"][place][int(rng.integers(1, 3))] = _beyond(len(model["literals"]) + place, rng)


def _gate_length(model: Any, rng: Random) -> None:
    gate = _one(model["gates"], rng)
    gate.append(0) if rng.random() < 0.5 else gate.pop()


def _literal_column(model: Any, rng: Random) -> None:
    _one(model["literals"], rng)["column"] = _beyond(len(model["columns"]), rng)


def _literal_kind(model: Any, rng: Random) -> None:
    literal = _one([one for one in model["literals"] if one["test"] != "missing"], rng)
    literal["column"] = next(
        j for j, column in enumerate(model["columns"]) if ("categories" in column) == (literal["test"] == "above")
    )


def _literal_test(model: Any, rng: Random) -> None:
    _one(model["literals"], rng)["test"] = _one(["below", "", "os.system", 3, None], rng)


def _codes(model: Any, rng: Random) -> None:
    literal = _one([one for one in model["literals"] if one["test"] == "in"], rng)
    n = len(model["columns"][literal["column"]]["categories"])
    literal["codes"] = _one([[], [0, 0], [n], [-1], [1, 0], [10**12], [0.5], ["no"], [None]], rng)


def _weight_off_grid(model: Any, rng: Random) -> None:
    rule = _one(model["rules"], rng)
    rule["weight"] += 10.0 ** -model["decimals"] / 3


def _weight_too_large(model: Any, rng: Random) -> None:
    _one(model["rules"], rng)["weight"] = float(_one([1e300, -1e300, 1.7e308], rng))


def _decimals(model: Any, rng: Random) -> None:
    model["decimals"] = _one([400, -400, 10**30, 1.5, "2", None, True], rng)


def _same_names(model: Any, rng: Random) -> None:
    first, second = rng.choice(len(model["columns"]), 2, replace=False)
    model["columns"][first]["name"] = model["columns"][second]["name"]


def _same_categories(model: Any, rng: Random) -> None:
    categories = _one([column["categories"] for column in model["columns"] if column.get("categories")], rng)
    categories.insert(int(rng.integers(len(categories) + 1)), _one(categories, rng))


def _no_columns(model: Any, rng: Random) -> None:  # noqa: ARG001
    model["columns"] = []


def _fewer_columns(model: Any, rng: Random) -> None:  # noqa: ARG001
    del model["columns"][max(literal["column"] for literal in model["literals"]) :]


def _fewer_categories(model: Any, rng: Random) -> None:
    literal = _one([one for one in model["literals"] if one["test"] == "in"], rng)
    del model["columns"][literal["column"]]["categories"][literal["codes"][-1] :]


def _wrong_type(model: Any, rng: Random) -> None:
    place = _one([p for p in _places(model) if p[0] not in ("parameters", "history")], rng)
    inside = model
    for step in place[:-1]:
        inside = inside[step]
    if place[-1] in ("categories", "support", "target"):
        raise ValueError  # these may be null, or lists of what they like
    old = inside[place[-1]]
    inside[place[-1]] = _one([value for value in ("7", None, [], {}) if type(value) is not type(old)], rng)


def _places(value: Any, *before: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value inside that the schema gives one type."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inside in items:
        if before and before[-1] in ("categories", "versions"):
            continue
        yield *before, key
        yield from _places(inside, *before, key)


#: Names of fields that a file may leave out.
_OPTIONAL: Final = {
    field.name
    for part in (_schema.ModelPart, _schema.TrainingPart, _schema.ColumnPart)
    for field in msgspec.structs.fields(part)
    if not field.required
}


def _field_missing(model: Any, rng: Random) -> None:
    inside = _one([model, model["training"], *model["literals"], *model["rules"], *model["columns"]], rng)
    del inside[_one([name for name in inside if name not in _OPTIONAL], rng)]


def _field_unknown(model: Any, rng: Random) -> None:
    inside = _one([model, model["training"], *model["literals"], *model["rules"], *model["columns"]], rng)
    inside[_one(["__class__", "__reduce__", "new", ""], rng)] = _one([None, 0, "os.system", [], {}], rng)


def _history(model: Any, rng: Random) -> None:
    values = _one(list(model["history"].values()), rng)
    values.append(0.5) if rng.random() < 0.5 else values.__setitem__(-1, "high")


def _facts(model: Any, rng: Random) -> None:
    name, value = _one(
        [
            ("rows", -1),
            ("distinct_rows", 10**15),
            ("target_min", 1.7e308),
            ("target_max", -1.7e308),
            ("versions", None),
            ("ranges", {"no such column": [0.0, 1.0]}),
            ("ranges", {model["columns"][0]["name"]: [1.0, -1.0]}),
        ],
        rng,
    )
    model["training"][name] = value


def _n_iter(model: Any, rng: Random) -> None:
    model["n_iter"] = _one([-1, 0.5, "3", None, False], rng)


def _support(model: Any, rng: Random) -> None:
    model["support"] = _one([[0.5] * (len(model["rules"]) + 1), [1.5] * len(model["rules"] or [0]), [None], "all"], rng)


def _parameter(model: Any, rng: Random) -> None:
    name, value = _one(
        [
            ("n_generations", -3),
            ("n_generations", "ten"),
            ("loss", "os.system"),
            ("learning_rate", None),
            ("nonsense", 1),
            ("n_jobs", 2),
            ("__init__", 0),
            ("max_rules", [1]),
        ],
        rng,
    )
    model["parameters"][name] = value


def _text(model: Any, rng: Random) -> bytes:
    """Return JSON that says the same, or nothing, in a way that is not canonical."""
    text = json.dumps(model, ensure_ascii=False, separators=(",", ":")).encode()
    weight = json.dumps(model["intercept"]).encode()
    old, new = _one(
        [
            (b",", b", "),
            (b"{", b"{ "),
            (b'"decimals":', b'"decimals":0,"decimals":'),
            (b'"rules":[', b'"rules":[],"rules":['),
            (b'"intercept":' + weight, b'"intercept":NaN'),
            (b'"intercept":' + weight, b'"intercept":Infinity'),
            (b'"intercept":' + weight, b'"intercept":1e999'),
            (b'"intercept":' + weight, b'"intercept":' + weight + b"0"),
            (b'"intercept":' + weight, b'"intercept":' + b"9" * 5000),
            (b'"intercept":' + weight, b'"intercept":' + b"[" * 100_000),
            (b'"intercept":' + weight, b'"intercept":' + b'{"":' * 100_000),
            (b'"name":"', b'"name":"\\ud800'),
            (b'"name":"', b'"name":"\\u0041'),
            (b'"name":"', b'"name":"\xff'),
            (b'"name":"', b'"name":"\x00'),
            (b"}", b"}}"),
            (b"]", b""),
            (b"true", b"True"),
            (b"null", b"None"),
        ],
        rng,
    )
    return text.replace(old, new, 1)


WRONG: tuple[Callable[[Any, Random], bytes | None], ...] = (
    _rule_node,
    _gate_kind,
    _gate_input,
    _gate_length,
    _literal_column,
    _literal_kind,
    _literal_test,
    _codes,
    _weight_off_grid,
    _weight_too_large,
    _decimals,
    _same_names,
    _same_categories,
    _no_columns,
    _fewer_columns,
    _fewer_categories,
    _wrong_type,
    _field_missing,
    _field_unknown,
    _history,
    _facts,
    _n_iter,
    _support,
    _parameter,
    _text,
)


# --- child processes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A file, and what a whole one would predict for a table."""

    data: bytes
    table: Any
    expected: Any


def verdicts(kind: str, folder: Path, cases: Sequence[Case], whole: Sequence[Case] = ()) -> list[str]:
    """Return what came of loading each file and predicting its table, in a child process each.

    Files that are `whole` are loaded first, and once for all: what is compiled for them counts against no time limit.
    """
    folder.mkdir(parents=True, exist_ok=True)
    task = folder / "task.pickle"
    tasks = [[(case.data, case.table, case.expected) for case in some] for some in (whole, cases)]
    task.write_bytes(pickle.dumps(tasks))
    # One process imports the library; it forks one child per file.
    done = subprocess.run(
        [sys.executable, __file__, kind, str(task)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return done.stdout.split("\n")[: len(cases)]


def count(found: Sequence[str]) -> dict[str, int]:
    """Return how often each verdict was given."""
    counted = Counter(found)
    return {verdict: counted.pop(verdict, 0) for verdict in VERDICTS} | dict(counted)


SUFFIXES = {"xgboost": ".ubj"}
MODULES = {"ebm": "interpret.glassbox"}

#: Exit codes from here on are verdicts; lower ones are a library's own way to end the process.
FIRST_CODE = 100


def _load(kind: str, path: str, table: Any) -> Any:
    if kind == "lightgbm":
        import lightgbm

        return lightgbm.Booster(model_file=path).predict(table, num_threads=1)
    if kind == "xgboost":
        import xgboost

        return xgboost.Booster({"nthread": 1}, model_file=path).predict(xgboost.DMatrix(table))
    if kind == "ebm":
        with open(path, "rb") as file:  # noqa: PTH123 (a path given as text)
            return pickle.load(file).predict(table)  # noqa: S301 (it has no other format)
    import dln

    return dln.load(path).predict(table)


def _errors(kind: str) -> tuple[type[Exception], ...]:
    """Return the exceptions that a library means its users to see when a file is damaged."""
    if kind == "dln":
        import dln

        return (dln.ModelFileError,)
    return (Exception,)


def _judge(kind: str, path: str, table: Any, expected: Any) -> str:
    try:
        same = np.array_equal(_load(kind, path, table), expected)
    except _errors(kind):
        return "clean error"
    except Exception:  # noqa: BLE001 (kept apart from the errors above)
        return "other error"
    return "harmless" if same else "silently different"


def _main(kind: str, task: Path) -> None:
    whole, cases = pickle.loads(task.read_bytes())  # noqa: S301 (our own)
    __import__(MODULES.get(kind, kind))
    _errors(kind)  # imports a module of dln that is imported on first use
    path = task.with_name(f"file{SUFFIXES.get(kind, '')}")
    for data, table, _ in whole:
        path.write_bytes(data)
        _load(kind, str(path), table)
    for data, table, expected in cases:
        path.write_bytes(data)
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
            signal.alarm(TIME_LIMIT)  # its default action ends the process, whatever it is busy with
            os._exit(FIRST_CODE + VERDICTS.index(_judge(kind, str(path), table, expected)))
        _, status = os.waitpid(child, 0)
        verdict = "crash"
        if os.WIFSIGNALED(status):
            verdict = "hang" if os.WTERMSIG(status) == signal.SIGALRM else "crash"
        elif 0 <= (code := os.WEXITSTATUS(status) - FIRST_CODE) < len(VERDICTS):
            verdict = VERDICTS[code]
        print(verdict, flush=True)  # noqa: T201


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]))
