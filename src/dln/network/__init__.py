"""The trainable network: the paper's equations as fused kernels in Numba, and their training."""
