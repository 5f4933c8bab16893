"""Functions which PyTorch splits at graph breaks, and the calls of them.

Each takes the library and gives the function and the arguments of one call after the other, as in `cases`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

Case = Callable[[Any], tuple[Any, list[tuple[Any, ...]]]]


def _full(t: Any, *shape: int, value: float = 2.0) -> Any:
    return t.full(shape, value)


def _both(t: Any) -> list[Any]:
    """Calls in which sums have one sign, then the other."""
    return [(_full(t, 3, value=value),) for value in (2.0, -2.0, 2.0, 3.0)]


def _split(text: str) -> Case:
    """A case whose function is given by its body, on both signs of `x`."""

    def case(t: Any) -> Any:
        scope: dict[str, Any] = {"t": t, "math": math, "functools": functools, "brk": t._dynamo.graph_break}
        code = f"def function(x):\n{''.join(f'    {line}{chr(10)}' for line in text.splitlines())}"
        exec(compile(code, f"<{abs(hash(text))}>", "exec"), scope)
        return scope["function"], _both(t)

    return case


BODIES = {
    "print": "y = x + 1\nprint(y.shape)\nreturn y * 2",
    "print first": "print('start')\nreturn x * 2 + 1",
    "print last": "y = x * 2 + 1\nprint('end')\nreturn y",
    "print twice": "y = x + 1\nprint('a')\ny = y * 2\nprint('b')\nreturn y - x",
    "print of a tensor": "y = x.sin().round()\nprint(y)\nreturn y + 1",
    "print alone": "print('alone')\nreturn x",
    "item": "n = x.sum().item()\nreturn x * 2 + 1",
    "item compared": "if x.sum().item() > 0:\n    return x + 1\nreturn x - 1",
    "int": "n = int(x.sum() > 0)\nreturn x * 2",
    "float": "s = float(x.sum())\nreturn x.sin(), s",
    "bool": "flag = bool(x.sum() > 0)\nreturn x * 2 if flag else x * 3",
    "tolist": "xs = x.tolist()\nreturn x + len(xs)",
    "branch": "if x.sum() > 0:\n    return x * 2\nreturn x - 1",
    "branch and merge": "y = x * 3\nif y.sum() > 0:\n    z = y + 1\nelse:\n    z = y - 1\nreturn z * x",
    "branch without else": "y = x * 3\nif y.sum() > 0:\n    y = y + 1\nreturn y * x",
    "two branches": "if x.sum() > 0:\n    x = x + 1\nif x.sum() > 8:\n    x = x * 2\nreturn x - 1",
    "nested branches": "if x.sum() > 0:\n    if x.max() > 2:\n        return x * 2\n    return x + 3\nreturn -x",
    "conditional expression": "y = x * 2 if x.sum() > 0 else x * 3\nreturn y + 1",
    "and": "if x.sum() > 0 and x.max() > 2:\n    return x + 1\nreturn x - 1",
    "or": "if x.sum() > 0 or x.max() > 2:\n    return x + 1\nreturn x - 1",
    "and as a value": "y = (x.sum() > 0) and x + 1\nreturn y",
    "elif": "s = x.sum()\nif s > 7:\n    return x + 1\nelif s > 0:\n    return x + 2\nelse:\n    return x + 3",
    "while": "while x.abs().max() < 100:\n    x = x * 3\nreturn x + 1",
    "break in a for loop": "for i in range(3):\n    x = x + i\n    print(i)\nreturn x * 2",
    "branch in a for loop": "for i in range(3):\n    if x.sum() > 0:\n        x = x + 1\nreturn x * 2",
    "after a for loop": "for i in range(3):\n    x = x + i\nprint(i)\nreturn x * 2",
    "before a for loop": "x = x + 1\nprint('loop')\nfor i in range(3):\n    x = x * 2\nreturn x",
    "in a comprehension": "ys = [x + i for i in range(2)]\nprint(len(ys))\nreturn ys[0] * ys[1]",
    "mask": "y = x[x > 0]\nreturn y * 2 + 1",
    "nonzero": "y = x.nonzero()\nreturn y.sum() + 1",
    "graph_break": "y = x + 1\nbrk()\nreturn y * 2",
    "graph_break among arguments": "return t.add(x + 1, (x * 2, brk())[0])",
    "dead tensors": "a = x + 1\nb = x * 2\nprint('dead')\nreturn b + 3",
    "the same tensor twice": "a = x + 1\nb = a\nprint(a is b)\nb.add_(1)\nreturn a + b",
    "a list across": "xs = [x + 1, x + 2]\nys = xs\nprint('list')\nys.append(x)\nreturn xs[0] + xs[2] * len(xs)",
    "a dict across": "d = {'a': x + 1, 'n': 3}\nprint('dict')\nreturn d['a'] * d['n']",
    "an inner function across": "k = x * 2\ndef inner(y):\n    return y + k\nprint('def')\nreturn inner(x) * 3",
    "a lambda with a default": "inner = lambda y, n=2: y * n\ny = x + 1\nprint('lambda')\nreturn inner(y)",
    "a partial": "g = functools.partial(t.add, x)\nreturn g(x * 2) * 3",
    "a helper that breaks": "def g(y):\n    z = y * 2\n    print('in')\n    return z + 1\nreturn g(x + 1) * 3",
    "a helper that branches": "def pick(y):\n    return y * 2 if y.sum() > 0 else y - 1\nreturn pick(x + 1) + 3",
    "keyword arguments": "y = x * 2\nprint('a', 'b', sep='-', end='!')\nreturn y + 1",
    "starred arguments": "args = ('a', 'b')\ny = x * 2\nprint(*args)\nreturn y + 1",
    "a method of a string": "y = x * 2\nprint('n={}'.format(y.dim()))\nreturn y + 1",
    "write in place": "y = x * 2\ny.add_(1)\nprint('written')\ny.mul_(2)\nreturn y + x",
    "a view across": "y = (x * 2).view(1, -1)\nprint('view')\ny.add_(1)\nreturn y.sum()",
    "in no_grad after": "y = x * 2\nprint('before')\nwith t.no_grad():\n    z = y + 1\nreturn z * y",
    "try after": "y = x * 2\nprint('before')\ntry:\n    z = y + 1\nexcept ValueError:\n    z = y\nreturn z * y",
    "in try": "y = x * 2 + 1\nz = 3\ntry:\n    print('try')\n    z = y + 1\nexcept ValueError:\n    z = y\nreturn z",
    "size across": "n = x.shape[0]\ny = x + n\nprint('n')\nreturn y * n",
    "generator expressions": "q, k = (y * 2 for y in (x, x + 1))\nprint(1)\nreturn q + sum(k * i for i in range(3))",
    "stack": "y = t.stack([x, x])\nprint('stacked')\nreturn y.sum(0)",
    "none": "y = None\nz = x + 1\nprint('none')\nreturn z if y is None else y",
    "unpacking": "a, b, c = x * 2\nprint('unpacked')\nreturn a + b * c",
}  # fmt: skip


def disabled(t: Any) -> Any:
    @t._dynamo.disable
    def helper(x: Any) -> Any:
        return x * 2 + 1

    return lambda x: helper(x + 1) * 3, _both(t)


def module_with_print(t: Any) -> Any:
    class Block(t.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            x = x * 2
            print("block")
            return x + 1

    class Model(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Block(), Block()

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x) * 3) - 1

    return Model(), _both(t)


def module_that_branches(t: Any) -> Any:
    class Gate(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.bias = t.nn.Parameter(t.ones(3))

        def forward(self, x: Any) -> Any:
            y = x + self.bias
            if y.sum() > 0:
                return y * self.bias
            return y - self.bias

    return Gate(), _both(t)


def sizes_change(t: Any) -> Any:
    def function(x: Any) -> Any:
        y = x * 2
        print("sizes")
        return y.sum() + y

    return function, [(_full(t, n),) for n in (2, 3, 4, 5)]


def gradients(t: Any) -> Any:
    def function(x: Any) -> Any:
        y = (x * 2).view(3, 1)
        print("gradients")
        return (y + 1).sum()

    return function, [(_full(t, 3).requires_grad_(flag),) for flag in (True, True, False)]


def recursive(t: Any) -> Any:
    def function(x: Any, n: int) -> Any:
        if n == 0:
            return x + 1
        x = x * 2
        print(n)
        return function(x, n - 1) + 1

    return function, [(_full(t, 2), 2), (_full(t, 2), 2)]


OBJECTS = """
class Box:
    def __init__(self):
        self.n, self.xs = 2, []

class Model(t.nn.Module):
    def __init__(self):
        super().__init__()
        self.n, self.seen, self.last = 2, [], None
    def forward(self, x):
        self.n += 1
        self.seen.append(x.shape[0])
        self.last = x * 2
        return self.last + self.n

box, model, state, log, N = Box(), Model(), {"n": 2}, [1, 2, 3, 4, 5, 6], 2
"""
EFFECTS = {
    "append": "log.append(3)\nreturn x + 1",
    "append a tensor": "log.append(x * 2)\nreturn x + 1",
    "append and read": "log.append(3)\nreturn x + len(log)",
    "pop": "n = log.pop()\nreturn x + n",
    "attribute": "box.n += 1\nreturn x + 1",
    "attribute read": "box.n += 1\nreturn x + box.n",
    "a tensor as an attribute": "box.n = x + 1\nreturn box.n * 2",
    "a list in an attribute": "box.xs.append(x)\nreturn x * 2",
    "dict": "state['n'] += 1\nreturn x + state['n']",
    "a key more": "state['m'] = x * 2\nreturn x + 1",
    "global": "global N\nN += 1\nreturn x + N",
    "module": "return model(x) + model.n",
    "a break between": "box.n += 1\ny = x * 2\nprint(box.n)\nbox.n += 1\nreturn y + 1",
    "a write in place besides": "x.add_(1)\nbox.n = 7\nreturn x * 2",
}


def _effect(body: str) -> Case:
    """A case whose function changes objects."""

    def case(t: Any) -> Any:
        scope: dict[str, Any] = {"t": t}
        exec(OBJECTS, scope)
        code = f"def function(x):\n{''.join(f'    {line}{chr(10)}' for line in body.splitlines())}"
        exec(compile(code, f"<{abs(hash(body))}>", "exec"), scope)
        return scope["function"], [(_full(t, 3),) for _ in range(4)]

    return case


def arguments_change(t: Any) -> Any:
    def function(xs: Any, d: Any) -> Any:
        xs.append(xs[0] * 2)
        d.update(b=d["a"] * 2)
        return xs[-1] + 1

    return function, [([_full(t, 3)], {"a": _full(t, 3)}) for _ in range(3)]


NUMBERS = {
    "a float": "s = x.sum().item()\nreturn x * s + 1",
    "arithmetic": "s = x.sum().item() * 2 + 1\nreturn x * s + 1",
    "an integer": "s = int(x.sum().item())\nreturn x * s + 1",
    "a branch": "s = x.sum().item()\nif s > 0:\n    return x * s\nreturn x - s",
    "two breaks": "s = x.max().item() / 3\ny = x * s\nprint('s')\nreturn y + s",
}
"""Functions of numbers that change. PyTorch's graphs have operations more, which read these numbers of tensors."""

NUMBER_CASES = {name: _split(body) for name, body in NUMBERS.items()}
SPLIT_CASES: dict[str, Case] = {
    **{name: _split(body) for name, body in BODIES.items()},
    **{
        each.__name__: each
        for each in (disabled, module_with_print, module_that_branches, sizes_change, gradients, recursive)
    },
    **{f"effect: {name}": _effect(body) for name, body in EFFECTS.items()},
    "effect: arguments": arguments_change,
}
