/* A program around the model: 8-byte words in, one row after the other, and one word out for each row. */
#include <stdio.h>
#include "model.c"
§tables
int main(void)
{
  §word words[§n_words];
  FILE *const rows = fopen("rows", "rb");
  FILE *const predictions = fopen("predictions", "wb");
  if ((rows == NULL) || (predictions == NULL)) { return 2; }
  while (fread(words, sizeof words, 1U, rows) == 1U) {
    §kind row;
    §word prediction;
§assignments
    prediction = §function(&row);
    if (fwrite(&prediction, sizeof prediction, 1U, predictions) != 1U) { return 3; }
  }
  return fclose(predictions);
}
