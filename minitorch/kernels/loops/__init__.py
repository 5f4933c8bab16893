"""Compiled twins of kernels for the CPU: the formulas of `kernels/` as loops that Numba compiles, to the same bits.

`arrays/loops.py` says when one of them runs. Each function here has the name and the arguments of its kernel, without
the array module; it returns False if it doesn't take the arrays, and then the kernel computes. A row of a loop is
in the processor's first-level cache from its first step to its last; exponentials, logarithms and sums of it are
computed by NumPy's own inner loops (`inner.py`), which is why the bits are the same on every processor.
"""
