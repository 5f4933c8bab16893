"""Grades: what is run, what is compared, and what it earns."""
