"""Layers around ops: what sees every call in a thread before it runs, and may change it.

A layer is a function `layer(op, args, below)`. `below(op, args)` goes on to the layers below, and at last to the op;
whatever else the layer calls goes through the layers below it, too. While a thread has no layers its calls pay for
one test. PyTorch's name for such a stack is modes: https://docs.pytorch.org/docs/stable/notes/extending.html
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minitorch.dispatch.op import Op

Below = Callable[["Op", Sequence[Any]], Any]
Layer = Callable[["Op", Sequence[Any], Below], Any]


class Stack(threading.local):
    """The layers of one thread, the outermost last."""

    layers: tuple[Layer, ...] = ()
    creating: Callable[[Callable[[Any], Any]], Any] | None = None
    """Makes the tensors that factories are asked for on the meta device: it gets a function of an array module that
    makes the array."""
    overwriting: Callable[[Any, Any], None] | None = None
    """Sees the tensors that a function overwrites by itself, and those with the new elements."""


stack = Stack()
count = 0
"""How many layers all threads have together: asking this costs less than asking for the thread's."""
_counting = threading.Lock()


def call(below: Below, op: Op, args: Sequence[Any]) -> Any:
    """Hand a call to the thread's outermost layer, inside which the others are left."""
    layers = stack.layers
    stack.layers = layers[:-1]
    try:
        return layers[-1](op, args, below)
    finally:
        stack.layers = layers


def push(layer: Layer) -> None:
    """Put a layer around those that this thread has."""
    global count
    with _counting:
        count += 1
    stack.layers = (*stack.layers, layer)


def remove(layer: Layer) -> None:
    """Take a layer of this thread away.

    Raises:
        ValueError: it is not there.
    """
    global count
    place = stack.layers.index(layer)
    stack.layers = stack.layers[:place] + stack.layers[place + 1 :]
    if not stack.layers:
        del stack.layers  # from here on, those of all threads
    with _counting:
        count -= 1


def surround(layer: Layer) -> None:
    """Put a layer around the calls of all threads, for good."""
    global count
    with _counting:
        count += 1
    Stack.layers = (*Stack.layers, layer)
    if "layers" in vars(stack):
        stack.layers = (*stack.layers, layer)


def withdraw(layer: Layer) -> None:
    """Take away a layer that was put around all threads, from this thread and those that have no others."""
    global count
    with _counting:
        count -= 1
    for owner in (Stack, stack):
        owner.layers = tuple(each for each in owner.layers if each is not layer)


@contextmanager
def pushed(layer: Layer) -> Iterator[None]:
    """A layer around all calls of this thread inside the block."""
    push(layer)
    try:
        yield
    finally:
        remove(layer)


@contextmanager
def created_by(create: Callable[[Callable[[Any], Any]], Any] | None) -> Iterator[None]:
    """Has `create` make this thread's tensors on the meta device inside the block; None: the factories again."""
    before, stack.creating = stack.creating, create
    try:
        yield
    finally:
        stack.creating = before


@contextmanager
def overwritten(see: Callable[[Any, Any], None]) -> Iterator[None]:
    """Has `see` told what functions of this thread overwrite without an op, as batch norm does its statistics."""
    before, stack.overwriting = stack.overwriting, see
    try:
        yield
    finally:
        stack.overwriting = before


@contextmanager
def without(layers: Sequence[Layer]) -> Iterator[None]:
    """Leaves layers out of this thread's calls inside the block."""
    before = stack.layers
    stack.layers = tuple(each for each in before if each not in layers)
    try:
        yield
    finally:
        stack.layers = before
