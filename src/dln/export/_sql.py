"""The model as one SQL statement: all columns of a table, and the prediction.

Sums are of whole numbers, and NULL means missing. SQL's logic has three values, so a test that is negated is written
out, ``(x IS NULL OR x <= 3)``: in "and" and "or" of what is left, unknown does what false does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from typing import Literal as TypingLiteral

from dln._errors import ExportError, import_extra
from dln.circuit._circuit import Above, IsIn
from dln.circuit._words import weight_text
from dln.export._form import (
    AllOf,
    AnyOf,
    Check,
    Differ,
    Expression,
    Form,
    Part,
    Term,
    category_kind,
    check_columns,
    negate,
    part_levels,
)
from dln.export._language import comment_text, exported_by, identifiers

#: Rules in one sum: SQLite takes expressions up to a depth of 1000.
_IN_A_SUM: Final = 100
#: Conditions that a statement may have where shared parts cannot be named: about a megabyte of text.
_MOST_CONDITIONS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect: its name, its name in sqlglot, and its features."""

    name: str
    sqlglot: str
    star_except: bool = False
    """``SELECT *`` can leave out columns: then every rule is a column of a common table expression."""
    missing: TypingLiteral["NaN", "is NaN", "empty", ""] = ""
    """What numbers may be besides NULL: NaN, which is above every number, or equals nothing so that only a function
    finds it, or the empty text. It becomes NULL."""
    folds_text: bool = False
    """Texts that differ in case or trailing blanks only are equal: they are compared as bytes."""
    limit: int | None = None
    """Largest number of characters of a statement."""


DIALECTS: Final = {
    dialect.name: dialect
    for dialect in (
        Dialect("duckdb", "duckdb", star_except=True, missing="NaN"),
        Dialect("postgres", "postgres", missing="NaN"),
        Dialect("sqlite", "sqlite", missing="empty", limit=1_000_000),
        Dialect("mysql", "mysql", folds_text=True),
        Dialect("bigquery", "bigquery", star_except=True, missing="is NaN", limit=1_024_000),
        Dialect("snowflake", "snowflake", star_except=True, missing="NaN", limit=1_000_000),
        Dialect("spark", "spark", missing="NaN"),
        Dialect("databricks", "databricks", star_except=True, missing="NaN"),
        Dialect("tsql", "tsql", folds_text=True),
        Dialect("athena", "athena", missing="is NaN", limit=262_144),
    )
}


def find_dialect(name: str) -> Dialect:
    aliases = {"postgresql": "postgres", "sqlserver": "tsql", "t-sql": "tsql", "mariadb": "mysql"}
    dialect = DIALECTS.get(aliases.get(name.lower(), name.lower()))
    if dialect is None:
        raise ExportError(f"dialect must be one of {', '.join(DIALECTS)}, got {name!r}")
    return dialect


def to_sql(form: Form, dialect: str = "duckdb", *, table: str = "data", contributions: bool = False) -> str:
    """Return a SELECT of all columns of the table and ``prediction``; `contributions` adds a column per rule.

    `table` is what may follow FROM: a name, ``schema.name``, or a function such as ``read_parquet('*.parquet')``.
    """
    check_columns(form, "SQL")
    if any(column.name == "" for _, column in form.columns):
        raise ExportError("SQL has no columns without a name, but rules read one: name it and fit again")
    how = find_dialect(dialect)
    writer = _Writer(form, how, import_extra("sqlglot", "to_sql", "export"), contributions=contributions)
    statement = writer.statement(_table(table, how, writer.sqlglot))
    facts = exported_by("sql", dialect=how.name, table=table, contributions=contributions)
    lines = [f"/* {comment_text(form.title())}. */", f"/* {facts} */", statement.sql(how.sqlglot, pretty=True)]
    text = "\n".join(lines) + "\n"
    if how.limit is not None and len(text) > how.limit:
        raise ExportError(
            f"{how.name} takes statements of at most {how.limit} characters, but this model's has {len(text)}: "
            "export a smaller model, for example model.prune(max_conditions=...)"
        )
    return text


def _table(table: str, dialect: Dialect, sqlglot: Any) -> Any:
    """Return the source after FROM: parsed, so that it is one source and nothing else."""
    try:
        parsed = sqlglot.parse_one(f"SELECT * FROM {table}", read=dialect.sqlglot)  # noqa: S608 (parsed, not run)
        source = parsed.args["from_"].this
        alone = parsed.sql() == sqlglot.exp.select("*").from_(source).sql()
    except (sqlglot.errors.SqlglotError, KeyError, AttributeError):
        alone = False
    if not alone:
        raise ExportError(f"table must be what may follow FROM, such as houses or sales.houses, got {table!r}")
    return source


class _Writer:
    """Builds the statement as sqlglot's tree, which quotes names and texts as the dialect needs."""

    def __init__(self, form: Form, dialect: Dialect, sqlglot: Any, *, contributions: bool) -> None:
        self.form, self.dialect, self.sqlglot, self.contributions = form, dialect, sqlglot, contributions
        self.exp = sqlglot.exp
        taken = [column.name for column in form.circuit.columns]
        words = identifiers([f"dln_{column.name}" for _, column in form.columns], taken)
        self.inputs = dict(zip(form.used, words, strict=True))
        self.parts = identifiers([f"dln_part{i + 1}" for i in range(len(form.parts))], [*taken, *words])
        self.rules = identifiers([f"dln_rule{i + 1}" for i in range(len(form.rules))], [*taken, *words])

    def statement(self, table: Any) -> Any:
        if self.dialect.star_except:
            return self._with_stages(table)
        if (total := self.form.n_checks_written_out()) > _MOST_CONDITIONS:
            raise ExportError(
                f"{self.dialect.name} cannot name what rules share, and written out this model has {total} "
                f"conditions, more than {_MOST_CONDITIONS}: export a smaller model, for example "
                "model.prune(max_conditions=...), or export for duckdb or bigquery"
            )
        terms = [self._term(rule.expression, rule.steps) for rule in self.form.rules]
        for term, rule in zip(terms, self.form.rules, strict=True):
            term.add_comments([f" {self._comment(rule)} "])
        return self.exp.select("*", *self._results(terms)).from_(table)

    def _with_stages(self, table: Any) -> Any:
        query, source, helpers = self.exp.select("*"), table, []
        for stage, columns in self._stages():
            if not columns:
                continue
            select = self.exp.select("*").from_(source)
            for name, value, words in columns:
                aliased = self.exp.alias_(value, name, quoted=True)
                aliased.add_comments([f" {words} "] * bool(words))
                select = select.select(aliased)
                helpers.append(name)
            query, source = query.with_(stage, as_=select), self.exp.to_table(stage)
        star = self.exp.Star()
        if helpers:
            star.set("except_", [self.exp.to_identifier(name, quoted=True) for name in helpers])
        query.set("expressions", [star])
        return query.select(*self._results(list(map(self._column, self.rules)))).from_(source)

    def _stages(self) -> Iterator[tuple[str, list[tuple[str, Any, str]]]]:
        """Yield a name and its columns, by name, value and comment: inputs, parts level by level, and rules.

        A column may be read one stage after it was computed.
        """
        yield "dln_inputs", [(self.inputs[j], self._raw(j), "") for j in self.form.used]
        levels = part_levels(self.form.parts)
        for level in range(1, max(levels, default=0) + 1):
            parts = [part for part in zip(self.parts, self.form.parts, levels, strict=True) if part[2] == level]
            yield f"dln_parts{level}", [(name, self._case(self._condition(part), 1), "") for name, part, _ in parts]
        rules = zip(self.rules, self.form.rules, strict=True)
        yield "dln_rules", [(name, self._term(r.expression, r.steps), self._comment(r)) for name, r in rules]

    def _results(self, terms: list[Any]) -> list[Any]:
        """Return the prediction, and the rules' contributions where they are wanted."""
        results = [self.exp.alias_(self._scaled(self._sum(terms)), "prediction", quoted=True)]
        if self.contributions:
            for i, term in enumerate(terms):
                results.append(self.exp.alias_(self._scaled(term.copy()), f"rule_{i + 1}", quoted=True))
        return results

    def _sum(self, terms: list[Any]) -> Any:
        """Return the sum in 64 bits, however small the terms."""
        total, zero = (self.exp.cast(self.exp.Literal.number(n), "bigint") for n in (self.form.intercept, 0))
        for start in range(0, len(terms), _IN_A_SUM):
            chunk = zero.copy() if start else total
            for term in terms[start : start + _IN_A_SUM]:
                chunk = self.exp.Add(this=chunk, expression=term)
            total = self.exp.Add(this=total, expression=self.exp.Paren(this=chunk)) if start else chunk
        return total

    def _scaled(self, steps: Any) -> Any:
        kind = self.exp.Div if self.form.decimals >= 0 else self.exp.Mul
        options = {"typed": True, "safe": False} if self.form.decimals >= 0 else {}
        return kind(this=self._double(steps), expression=self._number(self.form.scale), **options)

    def _term(self, expression: Expression, steps: int) -> Any:
        """Return the steps where a rule fires and 0 where it does not."""
        if isinstance(expression, bool):
            return self.exp.Literal.number(steps if expression else 0)
        return self._case(self._condition(expression), steps)

    def _comment(self, rule: Term) -> str:
        return comment_text(f"{weight_text(rule.weight, self.form.decimals)} where {rule.text}")

    def _case(self, condition: Any, steps: int) -> Any:
        return self.exp.case().when(condition, self.exp.Literal.number(steps)).else_(self.exp.Literal.number(0))

    def _double(self, value: Any) -> Any:
        return self.exp.cast(value, "double")

    def _number(self, number: float) -> Any:
        """Return a number with an exponent: without one it would be a decimal number, compared in other ways."""
        text = repr(float(abs(number)))
        literal = self.exp.Literal.number(text if "e" in text else f"{text.removesuffix('.0')}e0")
        return -literal if number < 0 else literal

    def _condition(self, expression: Expression) -> Any:
        """Return a condition that is true where the expression is, and false or unknown where it is not."""
        match expression:
            case bool():
                return self.exp.Literal.number(1).eq(int(expression))
            case Check():
                return self._check(expression)
            case Part(number, negated) if not self.dialect.star_except:  # written out
                return self._condition(negate(self.form.parts[number]) if negated else self.form.parts[number])
            case Part(number, negated):
                return self._column(self.parts[number]).eq(int(not negated))
            case AllOf(of):
                return self.sqlglot.and_(*map(self._condition, of), copy=False)
            case AnyOf(of):
                return self.sqlglot.or_(*map(self._condition, of), copy=False)
            case Differ(a, b, negated):
                # Two numbers 0 or 1: neither is unknown.
                left, right = (self._case(self._condition(side), 1) for side in (a, b))
                return left.eq(right) if negated else left.neq(right)

    def _check(self, check: Check) -> Any:
        value = self._input(check.literal.column)
        is_null = value.is_(self.exp.null())
        match check.literal:
            case Above(cutoff=cutoff):
                test = value <= self._number(cutoff) if check.negated else value > self._number(cutoff)
            case IsIn(codes=codes):
                test = self._is_in(check.literal.column, value, codes)
                test = test.not_() if check.negated else test
            case _:
                return is_null.not_() if check.negated else is_null
        return self.exp.paren(is_null.or_(test)) if check.negated else test

    def _is_in(self, j: int, value: Any, codes: Sequence[int]) -> Any:
        column = self.form.circuit.columns[j]
        categories = column.categories or ()
        match category_kind(column, "SQL"):
            case "number":
                known = [self._number(float(categories[code])) for code in codes]
            case "boolean":
                known = [self.exp.true() if categories[code] else self.exp.false() for code in codes]
            case _:
                known = [self._text(str(categories[code])) for code in codes]
        return value.eq(known[0]) if len(known) == 1 else value.isin(*known)

    def _input(self, j: int) -> Any:
        return self._column(self.inputs[j]) if self.dialect.star_except else self._raw(j)

    def _raw(self, j: int) -> Any:
        """Return a column as it is compared: numbers as double with NULL for NaN, text as bytes if need be."""
        column = self.form.circuit.columns[j]
        value = self._column(column.name)
        if column.categories is None or category_kind(column, "SQL") == "number":
            return self._as_number(value)
        if category_kind(column, "SQL") == "text" and self.dialect.folds_text:
            return self._bytes(value)
        return value

    def _as_number(self, value: Any) -> Any:
        if self.dialect.missing == "empty":
            return self._double(self.exp.Nullif(this=value, expression=self.exp.Literal.string("")))
        number = self._double(value)
        if self.dialect.missing == "NaN":
            return self.exp.Nullif(this=number, expression=self._double(self.exp.Literal.string("NaN")))
        if self.dialect.missing == "is NaN":
            return self.exp.case().when(self.exp.IsNan(this=number), self.exp.null()).else_(number.copy())
        return number

    def _text(self, text: str) -> Any:
        literal = self.exp.National(this=text) if self.dialect.name == "tsql" else self.exp.Literal.string(text)
        return self._bytes(literal) if self.dialect.folds_text else literal

    def _bytes(self, value: Any) -> Any:
        if self.dialect.name == "tsql":
            value = self.exp.cast(value, "nvarchar(max)", dialect="tsql")
            return self.exp.cast(value, "varbinary(max)", dialect="tsql")
        return self.exp.cast(value, "binary", dialect="mysql")

    def _column(self, name: str) -> Any:
        return self.exp.column(name, quoted=True)
