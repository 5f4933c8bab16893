"""mytorch's chapter 04 against minitorch: shapes, values, dtypes, strides, and what is raised, word for word."""

from __future__ import annotations

import math
import random
from itertools import product
from types import ModuleType
from typing import Any

import pytest

from tests.mytorch.compare import ORACLES, Call, outcome, pytorch, same

EVERYTHING = slice(None)


def seen(result: Any) -> Any:
    """What can be told of a result: of a view also its strides, of anything else only that it is no view."""
    if isinstance(result, (tuple, list)) and not hasattr(result, "numel"):
        return [seen(each) for each in result]
    if not hasattr(result, "tolist"):
        return result
    strides = (result.stride(), result.storage_offset()) if result._is_view() else "no view"
    return tuple(result.shape), str(result.dtype).rpartition(".")[2], strides, result.tolist()


def compare(mytorch: ModuleType, *calls: Call) -> None:
    for call in calls:
        same(call, mytorch, seen)


def number(lib: Any, *size: int) -> Any:
    return lib.arange(math.prod(size)).reshape(size)


def read(place: Any) -> Call:
    """`x[place]`; the place may be a function of the library."""
    return lambda lib: number(lib, 2, 3, 4)[place(lib) if callable(place) else place]


def write(place: Any, value: Any = 7) -> Call:
    """`x[place] = value`, and the version afterwards; both may be functions of the library."""

    def call(lib: Any) -> Any:
        x = number(lib, 2, 3, 4).float()
        x[place(lib) if callable(place) else place] = value(lib) if callable(value) else value
        return x, x._version

    return call


@pytest.mark.part("mytorch.broadcasting:broadcast_shapes", "mytorch.broadcasting:meeting_shape")
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((4, 1), (4,)),
        ((8, 1, 6, 1), (7, 1, 5)),
        ((), (3,)),
        ((0,), (1,)),
        ((0,), (2,)),
        ((3, 2), (2, 3)),
        ((2,), (4, 3)),
    ],
)
def test_shapes_meet_or_are_refused_as_in_pytorch(mytorch: ModuleType, a: Any, b: Any) -> None:
    compare(
        mytorch,
        lambda lib: tuple(lib.broadcast_shapes(a, b)),
        lambda lib: lib.zeros(a) + lib.ones(b),
        lambda lib: lib.where(lib.zeros(a) > 0, lib.zeros(b), 1.0),
        lambda lib: lib.zeros(a).mul_(lib.ones(b)),
        lambda lib: lib.zeros(a).copy_(lib.ones(b)),
        lambda lib: lib.broadcast_tensors(lib.zeros(a), lib.ones(b)),
    )


@pytest.mark.part("mytorch.broadcasting:broadcast_shapes")
def test_three_shapes_meet_one_after_the_other(mytorch: ModuleType) -> None:
    compare(
        mytorch,
        lambda lib: tuple(lib.broadcast_shapes((2, 1), (3,), (4, 1, 1))),
        lambda lib: lib.broadcast_shapes((2, 1), (3,), (4,)),
        lambda lib: lib.where(lib.zeros(2, 1) > 0, lib.zeros(3), lib.zeros(4)),
    )
    assert repr(mytorch.broadcast_shapes()) == "torch.Size([])"


# Out of range, too many, empty, reversed; numbers that stand before and after what adds and removes dimensions.
PLACES: list[Any] = [
    *[0, -1, 2, (0, 9), (0, 1, 2, 3), (None, 5), (0, None, 1), ..., (..., 0), (0, ..., 1), None, (None, ..., None), ()],
    *[slice(5), slice(-9, 2), slice(None, None, 2), slice(5, 1), slice(0, 2, 0), slice(None, None, -1), slice("a")],
    *[(EVERYTHING, [-1], slice(None, None, 2)), [0, 1], ([0, 1], EVERYTHING, [0, 1]), (0, EVERYTHING, [0, 1])],
    *[([0, 1], [0, 2]), ([0, 1], [0, 1, 2]), [3], [-3], [], (0, []), (EVERYTHING, range(2)), 1.5],
    *[True, (False,), (True, 0), (EVERYTHING, True), [True, False], (EVERYTHING, [True, False])],
]


@pytest.mark.part("mytorch.indexing:take_views", "mytorch.indexing:slice_bounds")
@pytest.mark.parametrize("place", PLACES, ids=repr)
def test_an_index_gives_the_same_view_or_copy(mytorch: ModuleType, place: Any) -> None:
    compare(mytorch, read(place), write(place))


@pytest.mark.part("mytorch.indexing:take_views")
def test_tensors_as_indices(mytorch: ModuleType) -> None:
    places: list[Call] = [
        lambda lib: lib.tensor(1),
        lambda lib: (EVERYTHING, lib.tensor(1)),
        lambda lib: lib.tensor([[0, 1], [1, 0]]),
        lambda lib: lib.tensor([1, 0], dtype=lib.int32),
        lambda lib: lib.tensor([0.0]),
        lambda lib: lib.tensor(True),
        lambda lib: number(lib, 2, 3, 4) > 5,
        lambda lib: (EVERYTHING, number(lib, 3, 4) > 5),
        lambda lib: (number(lib, 2, 3) > 2, [0, 1, 3]),
        lambda lib: (number(lib, 2, 3) > 2, 9),
        lambda lib: number(lib, 3, 2) > 0,
    ]
    for each in places:
        compare(mytorch, read(each), write(each))
    compare(mytorch, read(lambda lib: lib.tensor([1, 0], dtype=lib.uint8)))  # a write, which PyTorch refuses, works


def test_what_can_be_written_through_an_index(mytorch: ModuleType) -> None:
    compare(
        mytorch,
        write([0, 0], lambda lib: lib.ones(2, 3, 4)),
        write([0, 1], lambda lib: lib.ones(3)),
        write([0, 1], lambda lib: lib.tensor(3)),
        write(0, lambda lib: lib.ones(1, 1, 3, 4)),
        write(0, lambda lib: lib.ones(3)),
        write(0, [1, 2]),
        write((0, 0, 0), lambda lib: lib.tensor([5.0])),
        write(lambda lib: number(lib, 2, 3, 4) > 5, lambda lib: lib.arange(17.0)),
        lambda lib: lib.tensor(5)[0],
        lambda lib: lib.tensor(5)[:],
        lambda lib: lib.tensor(5)[...],
    )


def test_random_indices(mytorch: ModuleType) -> None:
    """Combinations that nobody thought of."""
    rng, parts = random.Random(4), [EVERYTHING, slice(None, None, 2), slice(-2, None), slice(1, 9), None, True]
    for _ in range(400):
        lists = [rng.choices(range(-2, 2), k=rng.choice([1, 2])), rng.choices([True, False], k=rng.choice([2, 3]))]
        items = [rng.choice([rng.randrange(-3, 3), rng.choice(parts), *lists]) for _ in range(rng.randrange(1, 5))]
        place = tuple([*items, ...] if rng.random() < 0.3 else items)
        compare(mytorch, read(place), write(place))


@pytest.mark.part("mytorch.indexing:unindex")
def test_what_was_read_twice_gets_both_gradients(mytorch: ModuleType) -> None:
    """The gradient of an index, in minitorch and in PyTorch, is the oracle."""
    places = [[0, 0, 2], (EVERYTHING, [3, 3]), ([0, 0], [1, 1]), [True, False, True]]
    for place, torch in product(places, ORACLES):
        x = torch.zeros(3, 4, requires_grad=True)
        grad = number(torch, *x[place].shape).float()
        x[place].backward(grad)
        seen_, note = mytorch.indexing.take_views(mytorch.zeros(3, 4), mytorch.indexing.one_by_one(place, 2))
        indices = mytorch.indexing.indices_of(seen_, note)
        found = mytorch.indexing.unindex(mytorch.tensor(grad.numpy()), (3, 4), indices)
        assert seen(found) == seen(x.grad)


INDICES: list[tuple[int, Any, str]] = [
    (0, [[0, 1, 1], [1, 0, 0]], "int64"),
    (1, [[0, 2], [1, 0]], "int32"),
    (-1, [[0, 2]], "int64"),
    (0, [[0, 1, 1], [1, 0, 0], [1, 1, 1]], "int64"),
    (1, [[0], [1], [2]], "int64"),  # longer than x along the other dimension
    (1, [[3]], "int64"),
    (1, [[-1]], "int64"),
    (1, [0], "int64"),
    (2, [[0]], "int64"),
    (1, [[0.0]], "float32"),
]


@pytest.mark.part("mytorch.gathering:along", "mytorch.gathering:gather", "mytorch.gathering:scatter_add")
@pytest.mark.parametrize(("dim", "places", "dtype"), INDICES)
def test_gather_and_its_opposites(mytorch: ModuleType, dim: int, places: Any, dtype: str) -> None:
    def at(lib: Any) -> tuple[int, Any]:
        return dim, lib.tensor(places, dtype=getattr(lib, dtype))

    compare(
        mytorch,
        lambda lib: number(lib, 2, 3).gather(*at(lib)),
        lambda lib: lib.zeros(2, 3).scatter(*at(lib), number(lib, 3, 4).float()),
        lambda lib: lib.zeros(2, 3).scatter(*at(lib), lib.ones(1, 1)),
    )

    def added(lib: Any) -> Any:
        return lib.ones(2, 3).scatter_add_(*at(lib), number(lib, 3, 4).float())

    if dtype != "float32":
        compare(mytorch, added)
    elif pytorch:  # which says scatter in its error, where minitorch names scatter_add
        assert outcome(added, mytorch) == outcome(added, pytorch)


@pytest.mark.part("mytorch.gathering:gather", "mytorch.gathering:scatter_add")
def test_gather_in_three_dimensions(mytorch: ModuleType) -> None:
    sizes = [(2, 2, 3), (1, 3, 4), (2, 3, 1)]
    for dim in range(3):

        def places(lib: Any) -> tuple[int, Any]:
            return dim, number(lib, *sizes[dim]) % 2  # noqa: B023

        def gathered(lib: Any) -> Any:
            return number(lib, 2, 3, 4).gather(*places(lib))

        def added(lib: Any) -> Any:
            return lib.ones(2, 3, 4).scatter_add(*places(lib), number(lib, 2, 3, 4).float())

        compare(mytorch, gathered, added)
    compare(
        mytorch,
        lambda lib: lib.zeros(2, 3).scatter_add(1, lib.tensor([[0]]), number(lib, 2, 3)),
        lambda lib: lib.zeros(2, 3).scatter_(1, lib.tensor([[1], [0]]), 5),
    )


@pytest.mark.part("mytorch.joining:stack")
def test_joining(mytorch: ModuleType) -> None:
    dims = (0, 1, 2, -1, -3, 3)
    compare(
        mytorch,
        *[lambda lib, dim=dim: lib.stack([number(lib, 2, 3), number(lib, 2, 3) * 2], dim) for dim in dims],
        *[lambda lib, dim=dim: lib.cat([number(lib, 2, 3), number(lib, 2, 3).float()], dim) for dim in dims],
    )
    compare(
        mytorch,
        lambda lib: lib.stack([lib.tensor(1), lib.tensor(2)]),
        lambda lib: lib.stack([lib.zeros(2), lib.zeros(2), lib.zeros(2, 1)]),
        lambda lib: lib.stack([]),
        lambda lib: lib.cat([lib.zeros(2, 3), lib.zeros(2, 3), lib.zeros(2, 4)]),
        lambda lib: lib.cat([lib.zeros(2, 3), lib.zeros(2)]),
        lambda lib: lib.cat([lib.tensor([]), lib.zeros(2, 3)], 1),
        lambda lib: lib.cat([lib.tensor(1), lib.tensor(2)]),
        lambda lib: lib.cat([]),
    )


@pytest.mark.part("mytorch.joining:split")
@pytest.mark.parametrize(
    "cut",
    [(2,), (2, 1), (5, 2), (0,), (-1,), ([1, 2], 1), ((1, 3, 0), -1), ([1, 1], 1), (1, 3)],
    ids=repr,
)
def test_splitting(mytorch: ModuleType, cut: Any) -> None:
    compare(mytorch, lambda lib: number(lib, 2, 3, 4).split(*cut), lambda lib: lib.zeros(0, 3, 4).split(*cut))
    if isinstance(cut[0], int):
        compare(mytorch, lambda lib: number(lib, 2, 3, 4).chunk(*cut), lambda lib: lib.zeros(0, 3, 4).chunk(*cut))


def test_places_that_are_not_there(mytorch: ModuleType) -> None:
    """In PyTorch's words, some of which minitorch doesn't follow."""
    calls: list[tuple[Call, type[Exception], str]] = [
        (lambda lib: lib.zeros(2, 3)[:, [3]], IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
        (lambda lib: lib.zeros(2, 3).index_select(0, lib.tensor([-1])), IndexError, "index out of range in self"),
        (
            lambda lib: lib.zeros(2, 3).index_select(1, lib.tensor([4])),
            RuntimeError,
            "INDICES element is out of DATA bounds, id=4 axi",
        ),
        (
            lambda lib: lib.zeros(2, 3).index_select(1, lib.tensor([1.0])),
            RuntimeError,
            "Expected dtype int32 or int64 for index",
        ),
    ]
    for call, kind, words in calls:
        for lib in filter(None, (mytorch, pytorch)):
            with pytest.raises(kind, match=words):
                call(lib)


def test_what_is_made_of_gathering_and_joining(mytorch: ModuleType) -> None:
    def x(lib: Any) -> Any:
        return lib.tensor([[3, 1, 2, 1], [0, 5, 5, 4]])

    compare(
        mytorch,
        *[lambda lib, name=name: getattr(x(lib), name)(1, True) for name in ("max", "min")],
        *[lambda lib, dim=dim: x(lib).max(dim) for dim in (0, -1, 2)],
        *[lambda lib, down=down: x(lib).sort(1, down) for down in (True, False)],
        *[lambda lib, dim=dim: x(lib).topk(2, dim) for dim in (0, 1)],
        lambda lib: x(lib).topk(7),
        lambda lib: lib.zeros(0).max(),
        lambda lib: x(lib).unbind(1),
        lambda lib: x(lib).flip(0, 1),
        lambda lib: x(lib).flip((1, 1)),
        lambda lib: x(lib).tril(-1),
        lambda lib: x(lib).triu(1),
        lambda lib: lib.arange(3).tril(),
        lambda lib: x(lib).masked_select(x(lib) > 2),
        *[lambda lib, at=at: x(lib).index_select(1, lib.tensor(at)) for at in ([3, 0], 1, [[1]])],
    )


def test_broadcast_to_is_expand(mytorch: ModuleType) -> None:
    same(
        lambda torch: (torch.ones(3).broadcast_to((2, 3)), torch.broadcast_to(torch.ones(2, 1), (2, 3)).stride()),
        mytorch,
    )
