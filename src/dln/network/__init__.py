"""The trainable network: the paper's equations as a reference in PyTorch and as fused kernels in Numba."""
