"""What runs an exported model with the real thing: compiler, database, JavaScript engine, spreadsheet, simulator.

A runner takes the exported file, the form that it was written from, and rows column by column, as `Circuit.evaluate`
takes them; it returns the predictions that the engine came to, ``(n_rows,) float64``. They are for `verify` and for
tests: nothing that predicts for a user needs them.
"""
