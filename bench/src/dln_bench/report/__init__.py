"""From result files to a page of tables and figures, ours beside the paper's."""
