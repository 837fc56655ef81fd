"""The program in the C file: CSV with a header on standard input, one prediction per line on standard output."""

from __future__ import annotations

from dln.circuit._circuit import Column
from dln.export._c_text import c_string
from dln.export._form import Form
from dln.export._kinds import category_kind
from dln.export._scaled import Scaled

_INCLUDES = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DLN_FIELD = 65536, DLN_FIELDS = 16384 };
static char dln_field[DLN_FIELD];
static int dln_place[DLN_FIELDS]; /* which column of the model a field of the table is; -1 for none */
static int dln_quoted;            /* whether the field stood in quotes: then even an empty one is a text */
static int dln_is_missing;

static int dln_fail(const char *what, long line)
{
  (void)fprintf(stderr, "line %ld: %s\\n", line, what);
  return 2;
}

/* Read a field; return what ended it: a comma, a new line, EOF, or 0 where it is too long. */
static int dln_next(void)
{
  size_t n = 0U;
  int c = getchar();
  dln_quoted = (c == '"');
  if (dln_quoted) {
    for (c = getchar(); c != EOF; c = getchar()) {
      if (c == '"') {
        c = getchar();
        if (c != '"') { break; }
      }
      if (n + 1U >= (size_t)DLN_FIELD) { return 0; }
      dln_field[n++] = (char)c;
    }
  }
  while ((c != ',') && (c != '\\n') && (c != EOF)) {
    if (c != '\\r') {
      if (n + 1U >= (size_t)DLN_FIELD) { return 0; }
      dln_field[n++] = (char)c;
    }
    c = getchar();
  }
  dln_field[n] = '\\0';
  dln_is_missing = (!dln_quoted) && (n == 0U);
  return c;
}
"""

_READ_DOUBLE = """
static int dln_number(double *number)
{
  char *end = dln_field;
  *number = dln_is_missing ? strtod("nan", (char **)0) : strtod(dln_field, &end);
  return dln_is_missing || ((end != dln_field) && (*end == '\\0'));
}
"""

_READ_WHOLE = """
/* Read a decimal number in steps of 10 to the minus `decimals`, rounded up and kept within `largest`. */
static int dln_number(int64_t *number, int decimals, int64_t largest)
{
  const char *text = dln_field;
  const int negative = (*text == '-');
  int past_point = 0, digits = 0, rest = 0;
  uint64_t value = 0U;
  if (dln_is_missing || (strcmp(text, "nan") == 0)) {
    *number = -largest - 1;
    return 1;
  }
  text += (negative || (*text == '+')) ? 1 : 0;
  if (strcmp(text, "inf") == 0) {
    *number = negative ? -largest : largest;
    return 1;
  }
  for (; *text != '\\0'; text++) {
    if ((*text == '.') && !past_point) {
      past_point = 1;
    } else if ((*text >= '0') && (*text <= '9')) {
      digits++;
      if (!past_point || (decimals > 0)) {
        value = (value > (uint64_t)largest / 10U) ? (uint64_t)largest : value * 10U + (uint64_t)(*text - '0');
        decimals -= past_point;
      } else {
        rest |= (*text != '0');
      }
    } else {
      return 0;
    }
  }
  for (; decimals > 0; decimals--) {
    value = (value > (uint64_t)largest / 10U) ? (uint64_t)largest : value * 10U;
  }
  value += (uint64_t)(rest && !negative);
  value = (value > (uint64_t)largest) ? (uint64_t)largest : value;
  *number = negative ? -(int64_t)value : (int64_t)value;
  return digits > 0;
}
"""

_PRINT_WHOLE = """
static void dln_print(int64_t steps, int decimals)
{
  char text[400];
  int n = 399, written = 0;
  uint64_t rest = (steps < 0) ? (uint64_t)(-steps) : (uint64_t)steps;
  text[n] = '\\0';
  for (; (decimals < 0) && (steps != 0); decimals++) { text[--n] = '0'; }
  do {
    if ((decimals > 0) && (written == decimals)) { text[--n] = '.'; }
    text[--n] = (char)('0' + (int)(rest % 10U));
    rest /= 10U;
    written++;
  } while ((rest != 0U) || (written <= decimals));
  (void)printf("%s%s\\n", (steps < 0) ? "-" : "", &text[n]);
}
"""

_MAIN = """
int main(void)
{
  static const char *const names[] = { %(names)s(const char *)0 };
  static int seen[%(n_columns)d + 1];
  int n_fields = 0, end = ',';
  long line = 1;
  while (end == ',') {
    int j;
    end = dln_next();
    if ((end == 0) || (n_fields == DLN_FIELDS)) { return dln_fail("the header is too long", line); }
    dln_place[n_fields] = -1;
    for (j = 0; names[j] != (const char *)0; j++) {
      if (strcmp(dln_field, names[j]) == 0) {
        dln_place[n_fields] = j;
        seen[j] = 1;
      }
    }
    n_fields++;
  }
  for (end = 0; names[end] != (const char *)0; end++) {
    if (!seen[end]) {
      (void)fprintf(stderr, "line 1: the header lacks the column \\"%%s\\"\\n", names[end]);
      return 2;
    }
  }
  for (;;) {
    %(prefix)s_row row;
    int field = 0;
    line++;
    (void)memset(&row, 0, sizeof row);
    do {
      int ok = 1;
      end = dln_next();
      if ((end == EOF) && (field == 0) && dln_is_missing) { return 0; }
      if (end == 0) { return dln_fail("a field is too long", line); }
      if (field == n_fields) { return dln_fail("there are more fields than in the header", line); }
      switch (dln_place[field]) {
%(cases)s
        default: break;
      }
      if (!ok) {
        (void)fprintf(stderr, "line %%ld: a number was expected, got \\"%%s\\"\\n", line, dln_field);
        return 2;
      }
      field++;
    } while (end == ',');
    if (field != n_fields) { return dln_fail("there are fewer fields than in the header", line); }
    %(show)s
  }
}
"""


def main_lines(form: Form, prefix: str, members: dict[int, str], scaled: dict[int, Scaled] | None) -> list[str]:
    """Return the program: it reads the columns by name, in any order, among others."""
    text = _INCLUDES
    if scaled is not None:
        text += (_READ_WHOLE if scaled else "") + _PRINT_WHOLE
    elif any(_is_number(column) for _, column in form.columns):
        text += _READ_DOUBLE
    cases = []
    for position, (j, column) in enumerate(form.columns):
        read = _read(column, f"{prefix}_{members[j]}", f"row.{members[j]}", scaled, j, f"{prefix}_number")
        cases += [
            f"        case {position}: {{",
            *(f"          {line}" for line in read),
            "          break;",
            "        }",
        ]
    show = (
        f'(void)printf("%.17g\\n", {prefix}_predict(&row));'
        if scaled is None
        else f"dln_print({prefix}_steps(&row), {form.decimals});"
    )
    text += _MAIN % {
        "names": "".join(f"{c_string(column.name)}, " for _, column in form.columns),
        "n_columns": len(form.used),
        "prefix": prefix,
        "cases": "\n".join(cases),
        "show": show,
    }
    return text.strip().splitlines()


def _is_number(column: Column) -> bool:
    return column.categories is None or category_kind(column, "C") == "number"


def _read(
    column: Column, type_name: str, member: str, scaled: dict[int, Scaled] | None, j: int, number_type: str
) -> list[str]:
    """Return the statements that put a field into the row."""
    if scaled is not None and column.categories is None:
        bits = scaled[j].bits
        return [
            "int64_t number;",
            f"ok = dln_number(&number, {scaled[j].decimals}, INT{bits}_MAX);",
            f"{member} = (int{bits}_t)number;",
        ]
    if scaled is None and _is_number(column):
        taken = f"({number_type})number" if column.categories is None else f"{type_name}_from_number(number)"
        return ["double number;", "ok = dln_number(&number);", f"{member} = {taken};"]
    return [f"{member} = {type_name}_from_text(dln_is_missing ? (const char *)0 : dln_field);"]
