"""The same work in minitorch, PyTorch and plain NumPy, timed side by side in one run, on one thread."""

import os
import sys

if sys.argv[0] == "-m":  # `python -m benchmarks`: a test that imports a part of it keeps its threads
    for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[_variable] = "1"  # read by the array libraries when they load, so before any import of them
