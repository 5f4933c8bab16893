"""Products of matrices and vectors, and linear algebra. `minitorch.linalg` is its public face."""
