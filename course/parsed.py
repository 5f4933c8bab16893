"""Python text as a syntax tree, for threads that read at the same time."""

import ast
import threading

_one = threading.RLock()


def parsed(text: str) -> ast.Module:
    """`ast.parse`, one at a time.

    Before 3.11.8 and 3.12.2 Python counts for all threads together how deep in a tree it is, and raises a SystemError
    where two threads make one: https://github.com/python/cpython/issues/106905

    Raises:
        SyntaxError: the text is no Python.
    """
    with _one:
        return ast.parse(text)
