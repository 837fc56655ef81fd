"""The texts and numbers of which exported files are made."""

import math

from dln._version import __version__
from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, Rule
from dln.export._c import c_string, cutoff_text, steps_text
from dln.export._form import Check, Part, lower, part_levels
from dln.export._language import comment_text, export_facts, exported_by, json_string
from dln.export._scaled import Scaled
from dln.export._verification import unknown_category


def test_a_circuit_becomes_words_and_expressions():
    """The common form has each rule's words, its weight in steps of the grid, and its expression."""
    columns = (Column("bmi"), Column("smoker", ("no", "yes")))
    circuit = Circuit(columns, (Above(0, 30.0), IsIn(1, (1,))), (Gate(14, 0, 1),), (Rule(2, 2.5),), 8.0, 1)
    (rule,) = lower(circuit).rules
    assert (rule.text, rule.steps) == ('bmi ≤ 30 or smoker ≠ "yes"', 25)
    assert rule.expression.of[0] == Check(Above(0, 30.0), negated=True)
    assert part_levels([True, Part(0, negated=True)]) == [1, 2]


def test_strings_and_comments_stay_inside():
    """No text ends its string or comment, in any language or in a web page."""
    assert json_string('</script>"\n') == r'"\u003c/script>\"\n"'
    assert json_string("é") == r'"\u00e9"'
    assert comment_text("a */ b /* c </script> <!-- ??/") == "a * / b / * c < /script> < !-- ? ?/"
    assert [c_string('a"b?\n'), c_string("é1")] == [r'"a\042b\077\012"', r'"\303\2511"']


def test_the_heading_can_be_read_again():
    """The heading of a file has its format and options, and they can be read from it."""
    heading = f'Written by dln {__version__} as {{"format": "sql", "table": "a*\\u002fb"}}.'
    assert exported_by("sql", table="a*/b") == heading
    assert export_facts(exported_by("sql", table="a}*/b")) == {"format": "sql", "table": "a}*/b"}


def test_numbers_of_c_have_all_digits():
    """Literals of C have all digits that matter, and whole numbers their width."""
    assert [cutoff_text(30.0), cutoff_text(1e22), cutoff_text(0.5, "F")] == ["30.0", "1e+22", "0.5F"]
    assert [steps_text(-5), steps_text(7, 32)] == ["-INT64_C(5)", "INT32_C(7)"]


def test_scaled_numbers_are_rounded_up_within_bounds():
    """A scaled number is rounded up and kept within its bits; the most negative one means missing."""
    column = Scaled(1, {30.5: 305}, 32)
    numbers = (30.5, 30.51, math.nan, -math.inf, math.inf, 1e300)
    assert [column.value(number) for number in numbers] == [305, 306, -(2**31), 1 - 2**31, 2**31 - 1, 2**31 - 1]


def test_an_unknown_category_is_of_the_kind_of_the_known():
    """The category that stands for the unknown is none of the known ones."""
    assert unknown_category(Column("smoker", ("no", "unknown"))) == "unknown_"
    assert unknown_category(Column("rooms", (1, 2))) == 3
