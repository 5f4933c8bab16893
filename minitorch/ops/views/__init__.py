"""Ops whose result shares the memory of their argument."""
