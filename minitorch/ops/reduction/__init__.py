"""Ops that fold dimensions away, or walk along them: sums, extrema, statistics, order."""
