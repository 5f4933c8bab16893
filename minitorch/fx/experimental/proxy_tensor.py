"""Tracing on the level of operators, which minitorch doesn't have: only the question whether it goes on."""

__all__ = ["get_proxy_mode"]


def get_proxy_mode() -> None:
    """The trace that goes on: None."""
