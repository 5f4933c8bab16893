"""Functions and the calls of them, for which minitorch captures as many graphs as PyTorch does.

Each takes the library and gives the function and the arguments of one call after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Case = Callable[[Any], tuple[Any, list[tuple[Any, ...]]]]


def _full(t: Any, *shape: int, value: float = 2.0) -> Any:
    return t.full(shape, value)


def sizes(t: Any) -> Any:
    return lambda x: x * 2, [(_full(t, n),) for n in (2, 2, 3, 4, 5)]


def dtypes(t: Any) -> Any:
    return lambda x: x * 2, [(_full(t, 2),), (_full(t, 2).double(),), (_full(t, 2),)]


def strides(t: Any) -> Any:
    return lambda x: x * 2, [(_full(t, 2, 3),), (_full(t, 3, 2).t(),), (_full(t, 2, 3),)]


def gradients(t: Any) -> Any:
    return lambda x: x * 2, [(_full(t, 2),), (_full(t, 2).requires_grad_(),), (_full(t, 2),)]


def ranks(t: Any) -> Any:
    return lambda x: x.sum(), [(_full(t, 2),), (_full(t, 2, 3),), (_full(t, 2),)]


def one(t: Any) -> Any:
    return lambda x: x + 1, [(_full(t, n),) for n in (1, 2, 3, 4, 1)]


def one_later(t: Any) -> Any:
    return lambda x: x + 1, [(_full(t, n),) for n in (2, 3, 1, 0, 4)]


def length(t: Any) -> Any:
    return lambda x: x / len(x), [(_full(t, n),) for n in (2, 3, 4)]


def length_compared(t: Any) -> Any:
    return lambda x: x + 1 if x.shape[0] > 4 else x - 1, [(_full(t, n),) for n in (2, 3, 4, 5, 6)]


def unrolled(t: Any) -> Any:
    def function(x: Any) -> Any:
        total = x[0]
        for place in range(1, len(x)):
            total = total + x[place]
        return total

    return function, [(_full(t, n),) for n in (2, 3, 4, 2)]


def integers(t: Any) -> Any:
    return lambda x, n: x * n, [(_full(t, 2), n) for n in (2, 3, 4, 5)]


def integer_as_size(t: Any) -> Any:
    return lambda x, n: x.sum() + t.ones(n), [(_full(t, 2), n) for n in (2, 3, 4)]


def flags(t: Any) -> Any:
    return lambda x, flag: x + 1 if flag else x - 1, [(_full(t, 2), flag) for flag in (True, False, True)]


def strings(t: Any) -> Any:
    return lambda x, kind: x + 1 if kind == "a" else x - 1, [(_full(t, 2), kind) for kind in ("a", "b", "a")]


def none(t: Any) -> Any:
    return lambda x, y=None: x if y is None else x + y, [
        (_full(t, 2), _full(t, 2)),
        (_full(t, 2),),
        (_full(t, 2), None),
    ]


def a_list(t: Any) -> Any:
    return lambda xs: sum(xs), [([_full(t, 2)] * 2,), ([_full(t, 2), _full(t, 2)],), ([_full(t, 2) for _ in range(3)],)]


def a_dict(t: Any) -> Any:
    return lambda d: d["a"] + d["b"], [({"a": _full(t, 2), "b": _full(t, 2)},), ({"a": _full(t, 2), "b": 3},)]


def the_same_twice(t: Any) -> Any:
    x = _full(t, 2)
    return lambda x, y: x + y, [(x, x), (x, _full(t, 2)), (x, x)]


def product(t: Any) -> Any:
    return lambda x: x @ x.t(), [(_full(t, n, 3),) for n in (2, 4, 5)]


def no_operation(t: Any) -> Any:
    return lambda x: (x, 3), [(_full(t, 2),), (_full(t, 3),)]


def no_grad(t: Any) -> Any:
    def function(x: Any) -> Any:
        with t.no_grad():
            y = x * 2
        return y + x

    return function, [(_full(t, 2).requires_grad_(),)]


def nested(t: Any) -> Any:
    def inner(x: Any, *, scale: float = 2.0) -> Any:
        return x * scale

    def function(x: Any, *rest: Any, **named: Any) -> Any:
        parts = [inner(x, scale=float(i)) for i in range(1, 3)]
        return {"sum": parts[0] + parts[1], "rest": [each + 1 for each in rest], **named}

    return function, [(_full(t, 2), _full(t, 3)), (_full(t, 2), _full(t, 3))]


def mutated(t: Any) -> Any:
    def function(x: Any) -> Any:
        x += 1
        x[0] = 5.0
        x.mul_(2)
        return x.sum()

    return function, [(_full(t, 3),), (_full(t, 3),)]


def linear(t: Any) -> Any:
    model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU(), t.nn.Linear(4, 1))
    return _filled(t, model), [(_full(t, n, 3),) for n in (2, 2, 4, 5)]


def training(t: Any) -> Any:
    model = _filled(t, t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Dropout(0.0)))

    def function(x: Any) -> Any:
        return model(x)

    def calls() -> Any:
        yield (_full(t, 2, 3),)
        model.eval()
        yield (_full(t, 2, 3),)
        model.train()
        yield (_full(t, 2, 3),)

    return function, calls()


def normalized(t: Any) -> Any:
    return t.nn.BatchNorm1d(3), [(_full(t, 4, 3),), (_full(t, 4, 3),)]


def attribute(t: Any) -> Any:
    class Scaled(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.scale = 2
            self.layers = t.nn.ModuleList([t.nn.ReLU(), t.nn.Tanh()])

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return x * self.scale

    model = Scaled()

    def calls() -> Any:
        for model.scale in (2, 3, 2):
            yield (_full(t, 2),)

    return model, calls()


def closure(t: Any) -> Any:
    scale = 2

    def function(x: Any) -> Any:
        return x * scale

    def calls() -> Any:
        nonlocal scale
        for scale in (2, 3, 2):  # noqa: B007 - the function reads it
            yield (_full(t, 2),)

    return function, calls()


def _filled(t: Any, model: Any) -> Any:
    with t.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.5)
    return model


CASES: list[Case] = [
    *(
        sizes,
        dtypes,
        strides,
        gradients,
        ranks,
        one,
        one_later,
        length,
        length_compared,
        unrolled,
        integers,
        integer_as_size,
    ),
    *(flags, strings, none, a_list, a_dict, the_same_twice, product, no_operation, no_grad, nested, mutated, linear),
    *(training, normalized, attribute, closure),
]
