"""What Python and JavaScript share: a row's values are read by name into variables, and each rule is an expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dln.export._form import Form
from dln.export._text import Language, comment_text, expression_text


@dataclass(frozen=True, slots=True)
class Script:
    """How a scripting language declares variables, names our helpers, and writes strings and comments."""

    language: Language
    declaration: str
    helper: str
    string: Callable[[str], str]
    comment: str

    def declarations(self, form: Form, names: dict[int, str]) -> Iterator[str]:
        """Yield a line for each column that rules read and for each part that they share."""
        for j, column in form.columns:
            name = self.string(column.name)
            if column.categories is None:
                value = f"{self.helper.format(name='number')}(row, {name})"
            else:
                value = f"{self.helper.format(name='code')}(row, {name}, {self.helper.format(name=f'CODES_{j}')})"
            yield self.declaration.format(name=names[j], value=value)
        for i, part in enumerate(form.parts):
            yield self.declaration.format(name=f"part_{i}", value=expression_text(part, self.language))

    def rules(self, form: Form) -> Iterator[str]:
        """Yield each rule's expression with its words behind it."""
        for rule in form.rules:
            yield f"{expression_text(rule.expression, self.language)},{self.comment}{comment_text(rule.text)}"
