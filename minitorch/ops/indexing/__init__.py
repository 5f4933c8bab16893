"""Ops that read, write, join or rearrange elements by where they are."""
