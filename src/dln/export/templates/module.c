«% macro head(column) -%»
«column.type» «column.type»_from_«column.lookup»(«"double number" if column.lookup == "number" else "const char *text"»)
«%- endmacro %»
«% set upper = prefix | upper %»
/* «form.title() | comment»
 *
 * «facts»
 * C99, nothing but <stdint.h>: no memory is taken, nothing is global.
«% if integers %»
 * Numbers are whole numbers, scaled as the struct states and rounded up; there is no floating point.
«% else %»
 * Numbers are double, or float where DLN_FLOAT is defined. Do not compile with -ffast-math: it ignores NaN.
«% endif %»
 *
 * A source file:  cc -std=c99 -O2 -c «prefix».c
 * A header:       #define DLN_HEADER, then #include "«prefix».c"
 */
#ifndef «upper»_H
#define «upper»_H

#include <stdint.h>

«% if not integers %»
#ifdef DLN_FLOAT
typedef float «prefix»_number;
#else
typedef double «prefix»_number;
#endif

«% endif %»
«% for column in columns if column.lookup %»
/* The categories of the column «column.name | json | comment». */
typedef enum {
  «column.type | upper»_UNKNOWN = -2,
  «column.type | upper»_MISSING = -1«"," if column.categories»
«% for name, category in column.categories %»
  «name» = «loop.index0»«"," if not loop.last» /* «category | category | comment» */
«% endfor %»
} «column.type»;

«% endfor %»
typedef struct {
«% for column in columns %»
  «column.type» «column.member»; /* «column.name | json | comment»«column.note» */
«% else %»
  uint8_t unused; /* no rule reads a column */
«% endfor %»
} «prefix»_row;

/* The sum of the weights of the rules that fire, in steps of 1e« -form.decimals»: exact. */
int64_t «prefix»_steps(const «prefix»_row *row);
«% if integers %»
#define «upper»_DECIMALS («form.decimals») /* the prediction is the steps times 10 to the minus this */
«% else %»
double «prefix»_predict(const «prefix»_row *row);
«% endif %»
«% for column in columns if column.lookup %»
«head(column)»;
«% endfor %»

#endif /* «upper»_H */

#if !defined(DLN_HEADER) && !defined(«upper»_C)
#define «upper»_C

«% if not integers %»
#ifdef DLN_FLOAT
#define «upper»_CUT(as_double, as_float) (as_float)
#else
#define «upper»_CUT(as_double, as_float) (as_double)
#endif

«% endif %»
int64_t «prefix»_steps(const «prefix»_row *row)
{
  int64_t total = «steps(form.intercept)»;
«% for part in form.parts %»
  const uint32_t part_«loop.index0» = «text(part)»;
«% endfor %»
«% for rule in form.rules %»
  /* «rule.text | comment» */
  total += ((«text(rule.expression)») != 0U) ? «steps(rule.steps)» : INT64_C(0);
«% endfor %»
«% if not columns %»
  (void)row;
«% endif %»
  return total;
}

«% if not integers %»
double «prefix»_predict(const «prefix»_row *row)
{
  return (double)«prefix»_steps(row) «"/" if form.decimals >= 0 else "*"» «form.scale»;
}

«% endif %»
«% if columns | selectattr("lookup", "equalto", "text") | list %»
static uint32_t «prefix»_same_text(const char *a, const char *b)
{
  while ((*a == *b) && (*a != '\0')) {
    a++;
    b++;
  }
  return (uint32_t)(*a == *b);
}

«% endif %»
«% for column in columns if column.lookup %»
«head(column)»
{
«% if column.lookup == "number" %»
  if (number != number) { return «column.type | upper»_MISSING; }
«% else %»
  if (text == (const char *)0) { return «column.type | upper»_MISSING; }
«% endif %»
«% for name, category in column.categories %»
«% if column.lookup == "number" %»
  if (number == «number(category)») { return «name»; }
«% else %»
«% for spelling in spellings(category) %»
  if («prefix»_same_text(text, «string(spelling)») != 0U) { return «name»; }
«% endfor %»
«% endif %»
«% endfor %»
  return «column.type | upper»_UNKNOWN;
}

«% endfor %»
#endif
