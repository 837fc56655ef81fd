"""The model as an Excel workbook with live formulas: cells to type into, and one row per rule. No macros.

A blank cell is a missing value. Texts of rules and columns are written as texts, whatever they begin with.
"""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any, Final

from dln._errors import ExportError, import_extra
from dln.circuit._circuit import Above, Category, Column, IsIn
from dln.circuit._words import name_text
from dln.export._form import AllOf, AnyOf, Check, Differ, Expression, Form, Part, category_kind, check_columns
from dln.export._language import exported_by

#: Excel's limits on the characters of a formula and of a cell.
MAX_FORMULA: Final = 8192
_MAX_CELL: Final = 32_767
#: Digits to which Excel keeps and compares numbers.
_DIGITS: Final = 15
_SMALLEST: Final = 1e-300
_LARGEST: Final = 1e300
#: Names of sheets, and the first row of inputs, rules and parts, counted from 0 as xlsxwriter does.
_INPUT, _RULES, _LISTS = "Input", "Rules", "Lists"
_FIRST: Final = 4
#: A fixed date of creation, so that equal models give equal files.
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
#: Beginnings that a spreadsheet may take for a formula when a text is typed or pasted again.
_FORMULA_SIGNS: Final = ("=", "+", "-", "@", "\t", "\r")


def to_excel(form: Form) -> bytes:
    check_columns(form, "Excel")
    _check_digits(form)
    xlsxwriter = import_extra("xlsxwriter", "to_excel", "export")
    data = io.BytesIO()
    book: Any = xlsxwriter.Workbook(data, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    book.set_properties({"title": form.target[:255], "comments": exported_by("excel"), "created": _EPOCH})
    sheets = _Sheets(book, form)
    sheets.write_inputs()
    sheets.write_rules()
    sheets.write_lists()
    book.close()
    return data.getvalue()


def input_cell(position: int) -> str:
    """Return the cell for the value of a column on the sheet Input; the position is among the columns in use."""
    return f"$B${_FIRST + position + 1}"


#: The cell of the prediction on the sheet Input.
PREDICTION_CELL: Final = "$B$2"


class _Sheets:
    def __init__(self, book: Any, form: Form) -> None:
        self.form = form
        self.inputs, self.rules, self.lists = (book.add_worksheet(name) for name in (_INPUT, _RULES, _LISTS))
        self.bold = book.add_format({"bold": True})
        self.wrapped = book.add_format({"text_wrap": True, "valign": "top"})
        self.quoted = book.add_format({"quote_prefix": True, "text_wrap": True, "valign": "top"})
        self.cell = book.add_format({"bg_color": "#FFF2CC", "border": 1, "locked": False})
        decimals = min(max(form.decimals, 0), 15)
        digits = f"0.{'0' * decimals}" if decimals else "0"
        self.number = book.add_format({"num_format": digits, "valign": "top"})
        self.result = book.add_format({"num_format": digits, "bold": True, "border": 1})
        self.scaled = f"{'/' if form.decimals >= 0 else '*'}{_number(form.scale)}"
        self.positions = {j: position for position, j in enumerate(form.used)}

    def write_inputs(self) -> None:
        """Write the cells to type into, the prediction, and beside each category its code."""
        sheet = self.inputs
        for place, width in enumerate((36, 24, 48)):
            sheet.set_column(place, place, width)
        sheet.set_column(3, 3, 8, None, {"hidden": True})
        title = f"{name_text(self.form.target)}: type into the yellow cells; leave a cell blank if missing"
        self._text(sheet, 0, 0, title)
        self._text(sheet, 1, 0, self.form.target)
        first, last = _FIRST, _FIRST + max(len(self.form.rules), 1) - 1
        total = f"{self.form.intercept}+SUM({_RULES}!$F${first + 1}:$F${last + 1})"
        sheet.write_formula(1, 1, f"=({total}){self.scaled}", self.result)
        sheet.write_row(_FIRST - 1, 0, ["column", "value", "what it may be"], self.bold)
        for position, (j, column) in enumerate(self.form.columns):
            row = _FIRST + position
            self._text(sheet, row, 0, column.name)
            sheet.write_blank(row, 1, None, self.cell)
            if column.categories is None:
                self._text(sheet, row, 2, "a number")
                rule = {"validate": "decimal", "criteria": "between", "minimum": -_LARGEST, "maximum": _LARGEST}
                sheet.data_validation(row, 1, row, 1, {**rule, "error_message": "a number, or blank if missing"})
            else:
                self._text(sheet, row, 2, f"one of {len(column.categories)} categories, as in the list")
                source = f"={_LISTS}!{self._list(j)}"
                sheet.data_validation(row, 1, row, 1, {"validate": "list", "source": source, "error_type": "warning"})
                sheet.write_formula(row, 3, self._code(j, column))

    def write_rules(self) -> None:
        """Write for each rule its text, weight, whether it fires, its contribution; then the parts that rules share."""
        sheet = self.rules
        sheet.set_column(0, 0, 80)
        sheet.set_column(1, 3, 14)
        sheet.set_column(4, 5, 14, None, {"hidden": True})
        self._text(sheet, 0, 0, self.form.title())
        sheet.write_row(_FIRST - 1, 0, ["rule", "weight", "fires", "adds", "steps", "steps added"], self.bold)
        for i, rule in enumerate(self.form.rules):
            row, n = _FIRST + i, _FIRST + i + 1
            self._text(sheet, row, 0, rule.text)
            sheet.write_formula(row, 1, f"=$E${n}{self.scaled}", self.number)
            self._formula(sheet, row, 2, self._expression(rule.expression))
            sheet.write_formula(row, 3, f"=$F${n}{self.scaled}", self.number)
            sheet.write_number(row, 4, rule.steps)
            sheet.write_formula(row, 5, f"=IF($C${n},$E${n},0)")
        for i, part in enumerate(self.form.parts):
            sheet.write_string(self._part_row(i), 0, f"what several rules share, {i + 1}", self.wrapped)
            self._formula(sheet, self._part_row(i), 2, self._expression(part))
        sheet.freeze_panes(_FIRST, 0)

    def write_lists(self) -> None:
        """Write the categories of each column, with their codes counted from 1."""
        for j, column in self.form.columns:
            for code, category in enumerate(column.categories or ()):
                self._category(self.lists, code, 2 * self.positions[j], category)
                self.lists.write_number(code, 2 * self.positions[j] + 1, code + 1)
        self.lists.hide()

    def _expression(self, expression: Expression) -> str:
        match expression:
            case bool():
                return "TRUE" if expression else "FALSE"
            case Check():
                text = self._check(expression)
                return f"NOT({text})" if expression.negated else text
            case Part(number, negated):
                cell = f"$C${self._part_row(number) + 1}"
                return f"NOT({cell})" if negated else cell
            case AllOf(of):
                return f"AND({','.join(map(self._expression, of))})"
            case AnyOf(of):
                return f"OR({','.join(map(self._expression, of))})"
            case Differ(a, b, negated):
                return f"(({self._expression(a)}){'=' if negated else '<>'}({self._expression(b)}))"

    def _check(self, check: Check) -> str:
        j = check.literal.column
        value = f"{_INPUT}!{input_cell(self.positions[j])}"
        code = f"{_INPUT}!$D${_FIRST + self.positions[j] + 1}"
        match check.literal:
            case Above(cutoff=cutoff):
                return f"AND(ISNUMBER({value}),{value}>{_number(cutoff)})"  # to Excel, a text is above every number
            case IsIn(codes=codes):
                tests = [f"{code}={number}" for number in codes]
                return tests[0] if len(tests) == 1 else f"OR({','.join(tests)})"
            case _ if self.form.circuit.columns[j].categories is None:
                return f"NOT(ISNUMBER({value}))"
            case _:
                return f"{code}=-1"

    def _code(self, j: int, column: Column) -> str:
        """Return the formula of a category's code: -1 where it is missing, -2 where it is unknown."""
        value = input_cell(self.positions[j])
        kind = category_kind(column, "Excel")
        if kind == "boolean":
            codes = {category: code for code, category in enumerate(column.categories or ())}
            true, false = codes.get(True, -2), codes.get(False, -2)
            number = f"IF({value}=1,{true},IF({value}=0,{false},-2))"
            # In LibreOffice a truth value is a number that is shown as one: it may be neither.
            logical = f"IF({value}=TRUE,{true},IF({value}=FALSE,{false},-2))"
            code = f"IF(ISLOGICAL({value}),{logical},IF(ISNUMBER({value}),{number},-2))"
        else:
            values, numbers = self._list(j), self._list(j, 1)
            same = f"EXACT({value},{_LISTS}!{values})" if kind == "text" else f"({value}={_LISTS}!{values})"
            is_kind = "ISTEXT" if kind == "text" else "ISNUMBER"
            position = f"SUMPRODUCT({same}*{_LISTS}!{numbers})"
            code = f"IF({is_kind}({value}),IF({position}=0,-2,{position}-1),-2)"
        return f"=IF(ISBLANK({value}),-1,{code})"

    def _list(self, j: int, more: int = 0) -> str:
        from xlsxwriter.utility import xl_col_to_name

        letters = xl_col_to_name(2 * self.positions[j] + more)
        return f"${letters}$1:${letters}${max(len(self.form.circuit.columns[j].categories or ()), 1)}"

    def _part_row(self, number: int) -> int:
        return _FIRST + len(self.form.rules) + 2 + number

    def _formula(self, sheet: Any, row: int, column: int, formula: str) -> None:
        if len(formula) >= MAX_FORMULA:
            raise ExportError(
                f"Excel takes formulas of fewer than {MAX_FORMULA} characters, but one of this model's rules has "
                f"{len(formula)}: fit a model with fewer categories in a rule"
            )
        sheet.write_formula(row, column, f"={formula}")

    def _text(self, sheet: Any, row: int, column: int, text: str) -> None:
        form = self.quoted if text.startswith(_FORMULA_SIGNS) else self.wrapped
        sheet.write_string(row, column, text[:_MAX_CELL], form)

    def _category(self, sheet: Any, row: int, column: int, category: Category) -> None:
        if isinstance(category, bool):
            sheet.write_boolean(row, column, category)
        elif isinstance(category, str):
            if len(category) > _MAX_CELL:
                raise ExportError(
                    f"an Excel cell holds {_MAX_CELL} characters, but a category has {len(category)}: shorten it"
                )
            self._text(sheet, row, column, category)
        else:
            sheet.write_number(row, column, category)


def _number(number: float) -> str:
    return repr(float(number)).removesuffix(".0").upper()


def _check_digits(form: Form) -> None:
    for literal in (one for one in form.literals() if isinstance(one, Above)):
        exact = float(f"{literal.cutoff:.{_DIGITS - 1}e}") == literal.cutoff
        if not exact or (literal.cutoff and not _SMALLEST < abs(literal.cutoff) < _LARGEST):
            name = form.circuit.columns[literal.column].name
            raise ExportError(
                f"Excel has numbers of {_DIGITS} digits between {_SMALLEST} and {_LARGEST}, but column {name!r} has "
                f"the cut-off {literal.cutoff!r}: scale or round the column and fit again"
            )
