"""Losses. `minitorch.nn.functional` is their public face."""
