"""Where finished trials are kept: a line each in an Optuna journal, so that a kill loses none but the running."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dln._atomic import AnyPath
from dln.tune._context import Context, Space
from dln.tune._optuna import Evaluation, frozen, optuna, thawed

#: Seconds after which a lock is that of a process that was killed: to write a line takes none.
GRACE: Final = 3

_NAME: Final = "dln.tune"
_FACTS: Final = "search"
#: Facts that are fingerprints: that they differ can be told, but not how.
_DIGESTS: Final = {"data": "the table is not the same", "space": "the space is not the same"}


class StudyError(ValueError):
    """A search that cannot be: a storage that is damaged or of another search, or no trial that came to an end.

    >>> raise StudyError("study.log is the storage of another search: folds was 2 and is 4")
    Traceback (most recent call last):
    dln.tune._storage.StudyError: study.log is the storage of another search: folds was 2 and is 4
    """


class Storage:
    """The journal of a search, or, without a path, nothing: then trials are kept in memory by the search itself."""

    def __init__(self, path: AnyPath | None) -> None:
        self._path = None if path is None else Path(path)
        self._study: Any = None
        if self._path is not None:
            self._study = _open(self._path)

    def seed(self) -> int | None:
        """Return the seed of the search that is kept here, if there is one."""
        facts = self._facts()
        return None if facts is None else int(facts["random_state"])

    def begin(self, facts: Mapping[str, Any], space: Space, context: Context) -> list[Evaluation]:
        """Return the trials of this search that are finished; refuse the storage of another."""
        if self._study is None:
            return []
        old = self._facts()
        if old is None:
            self._study.set_user_attr(_FACTS, json.dumps(facts))
            return []
        _check_same(self._path, old, facts)
        evaluations: dict[int, Evaluation] = {}
        try:
            for trial in self._study.get_trials(deepcopy=False):
                evaluation = thawed(space, context, trial)
                evaluations.setdefault(evaluation.suggestion.number, evaluation)
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(self._path, f"a trial in it makes no sense: {error}") from error
        return list(evaluations.values())

    def keep(self, evaluation: Evaluation) -> None:
        """Write a finished trial."""
        if self._study is not None:
            self._study.add_trial(frozen(evaluation))

    def _facts(self) -> dict[str, Any] | None:
        """Return what is known of the search that is kept here; None if none has begun."""
        if self._study is None:
            return None
        kept = self._study.user_attrs.get(_FACTS)
        if kept is None:
            if self._study.get_trials(deepcopy=False):
                raise _damaged(self._path, "it has trials but does not say of what")
            return None
        try:
            facts: dict[str, Any] = json.loads(kept)
            int(facts["random_state"])
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(self._path, "what it says of its search makes no sense") from error
        return facts


def _open(path: Path) -> Any:
    """Return the Optuna study in a journal; a line that was cut off by a kill is taken away."""
    package = optuna()
    if path.is_dir():
        message = f"storage must be the path of a file, but {path} is a folder"
        raise StudyError(message)
    if not path.parent.is_dir():
        message = f"storage must be the path of a file, but there is no folder {path.parent}"
        raise StudyError(message)
    if path.exists():
        _mend(path)
    journal = package.storages.journal
    try:
        # A lock that is a file, not a link: links need rights that not everyone has on Windows.
        lock = journal.JournalFileOpenLock(str(path), grace_period=GRACE)
        backend = journal.JournalFileBackend(str(path), lock_obj=lock)
        storage = package.storages.JournalStorage(backend)
        names = [study.study_name for study in storage.get_all_studies()]
    except OSError:
        raise
    except Exception as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error
    if names not in ([], [_NAME]):
        message = f"{path} holds an Optuna study of another program ({names[0]!r}): name another file"
        raise StudyError(message)
    make = package.load_study if names else package.create_study
    return make(study_name=_NAME, storage=storage)


def _mend(path: Path) -> None:
    """Check that every line can be read, and take away the start of a line at the end."""
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    for i, line in enumerate(whole.splitlines(), start=1):
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise _damaged(path, f"line {i} cannot be read") from error
        if not isinstance(entry, dict) or "op_code" not in entry:
            raise _damaged(path, f"line {i} is not of an Optuna journal")
    if len(whole) < len(content):
        if not whole and not content.startswith(b"{"):
            raise _damaged(path, "it is not an Optuna journal")
        os.truncate(path, len(whole))


def _damaged(path: Path | None, reason: str) -> StudyError:
    return StudyError(f"{path} is not a study that can be read ({reason}): delete it, or name another file")


def _check_same(path: Path | None, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    differences = [
        _DIGESTS.get(name, f"{name} was {old.get(name)!r} and is {new.get(name)!r}")
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]
    if differences:
        message = (
            f"{path} is the storage of another search: {', '.join(differences)}; delete it to start anew, or name "
            "another file"
        )
        raise StudyError(message)
