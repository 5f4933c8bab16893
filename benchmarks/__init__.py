"""The same work in minitorch, PyTorch and plain NumPy, timed side by side in one run."""
