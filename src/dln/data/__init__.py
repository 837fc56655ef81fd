"""From any table to numbers: columns, rows in canonical order, and how they are encoded."""
