"""The circuit: what a model is. Gates, meaning, words, sizes, simplification and fast evaluation."""
