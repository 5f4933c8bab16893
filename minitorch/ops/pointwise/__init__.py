"""Ops that compute each element of the result of one element of each argument."""
