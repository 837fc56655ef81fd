"""Any frame or array → columns of plain arrays.

`learn_table` is for fit: it decides which columns are numbers and which are categories, and learns the categories.
`read_table` is for predict: it reads the same columns again. Both check what they read; a mistake gets one sentence.

Tables may be large. Columns are views of X where they can be; of a large X, those that cannot are not kept but read
again whenever they are asked for, and `read_batches` takes some rows at a time.
"""

from dln.data.table._columns import Columns, Table, read_together
from dln.data.table._masks import refuse_mask
from dln.data.table._read import BATCH, LARGE, learn_table, read_batches, read_table
from dln.data.table._source import has_names

__all__ = [
    "BATCH",
    "LARGE",
    "Columns",
    "Table",
    "has_names",
    "learn_table",
    "read_batches",
    "read_table",
    "read_together",
    "refuse_mask",
]
