"""Notebooks: how they are made of sources, kept up to date with answers in them, and executed."""
