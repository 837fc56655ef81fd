"""What things are called in the C file: names that C takes, all with one beginning."""

from __future__ import annotations

from dataclasses import dataclass

from dln.export._form import Form
from dln.export._names import identifiers
from dln.export._scaled import Scaled, scaled_columns


@dataclass(frozen=True, slots=True)
class CNames:
    """What things are called in the C file."""

    prefix: str
    members: dict[int, str]
    enumerators: dict[int, list[str]]
    scaled: dict[int, Scaled] | None
    """The columns as whole numbers, in the variant without floating point."""

    @property
    def upper(self) -> str:
        """The prefix of macros and enumerators."""
        return self.prefix.upper()


def c_names(form: Form, name: str, *, integers: bool) -> CNames:
    """Return the names for a form; `integers` scales its number columns."""
    prefix = identifiers([name])[0].rstrip("_").lower()
    members = dict(zip(form.used, identifiers([column.name for _, column in form.columns]), strict=True))
    enumerators = {
        j: [
            f"{prefix}_{members[j]}_{word}".upper()
            for word in identifiers([str(category) for category in column.categories], ("missing", "unknown"))
        ]
        for j, column in form.columns
        if column.categories is not None
    }
    return CNames(prefix, members, enumerators, scaled_columns(form) if integers else None)
