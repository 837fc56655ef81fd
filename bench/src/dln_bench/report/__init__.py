"""Tables and figures of benchmark results, ours beside the paper's."""
