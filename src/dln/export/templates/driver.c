/* A program around the model: 8-byte words in, one row after the other, and one word out for each row. */
#include <stdio.h>
#include "model.c"
«% for column in columns if column.lookup == "text" %»
static const char *const texts_«column.member»[] = { «texts[column.member]» };
«% endfor %»
int main(void)
{
  «word» words[«columns | length or 1»];
  FILE *const rows = fopen("rows", "rb");
  FILE *const predictions = fopen("predictions", "wb");
  if ((rows == NULL) || (predictions == NULL)) { return 2; }
  while (fread(words, sizeof words, 1U, rows) == 1U) {
    «prefix»_row row;
    «word» prediction;
«% for column in columns %»
«% if column.lookup == "text" %»
    row.«column.member» = «column.type»_from_text((words[«loop.index0»] < 0) ? (const char *)0 : texts_«column.member»[(int)words[«loop.index0»]]);
«% elif column.lookup %»
    row.«column.member» = «column.type»_from_number(words[«loop.index0»]);
«% else %»
    row.«column.member» = («column.type»)words[«loop.index0»];
«% endif %»
«% else %»
    row.unused = 0U;
«% endfor %»
    prediction = «prefix»_«"steps" if integers else "predict"»(&row);
    if (fwrite(&prediction, sizeof prediction, 1U, predictions) != 1U) { return 3; }
  }
  return fclose(predictions);
}
