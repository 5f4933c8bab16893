"""The functions that layers are made of. `minitorch.nn.functional` is their public face."""
