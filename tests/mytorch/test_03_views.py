"""Views, layouts and writes of mytorch, against minitorch."""

import random
from types import ModuleType
from typing import Any

import pytest

from tests.mytorch.compare import ORACLES, Call, outcome, same


def described(x: Any) -> tuple[Any, ...]:
    """All that can be seen of a tensor."""
    layout = tuple(x.shape), x.stride(), x.storage_offset(), x.is_contiguous()
    return *layout, repr(x.dtype), x._version, x._is_view(), repr(x)


def equal(mytorch: ModuleType, call: Call) -> None:
    same(call, mytorch, described)


def equal_where_it_steps(mytorch: ModuleType, call: Call) -> None:
    """As `equal`, but for the strides along lengths of 1, which `expand` may choose."""

    def show(x: Any) -> Any:
        size, strides, *others = described(x)
        return size, [step for length, step in zip(size, strides, strict=True) if length != 1], *others

    same(call, mytorch, show)


def table(calls: dict[str, Call]) -> Any:
    return pytest.mark.parametrize("call", calls.values(), ids=calls)


def cube(lib: Any) -> Any:
    """Eight elements of 24 with an offset, in strides of no shape: (2, 1, 4), (8, 5, 2), 3."""
    return lib.arange(24).as_strided((2, 1, 4), (8, 5, 2), 3)


@pytest.mark.part("mytorch.strides:infer_size")
@pytest.mark.parametrize("size", [(2, -1), (3, 2), (), (-1,), (0, 3), (4, -1), (5,), (-1, -1), (0, -1), (0,), (-2, -3)])
@pytest.mark.parametrize("count", [0, 1, 6])
def test_a_length_is_inferred(mytorch: ModuleType, count: int, size: tuple[int, ...]) -> None:
    found = outcome(lambda lib: lib.strides.infer_size(size, count), mytorch)
    for torch in ORACLES:
        assert found == outcome(lambda lib: tuple(lib.zeros(count).reshape(size).shape), torch)


@pytest.mark.part("mytorch.strides:view_strides")
@pytest.mark.parametrize("torch", ORACLES, ids=lambda each: each.__name__)
def test_views_exist_where_pytorch_finds_them(mytorch: ModuleType, torch: Any) -> None:
    """Views of up to four dimensions, transposed, sliced, expanded, with lengths 0 and 1, in random shapes."""
    rng = random.Random(3)
    some, none = 0, 0
    for _ in range(400):
        size = [rng.choice([1, 2, 2, 3, 4] if rng.random() < 0.95 else [0]) for _ in range(rng.randrange(5))]
        x = torch.zeros([2 * length for length in size])[tuple(slice(0, n, rng.choice([1, 2])) for n in size)]
        x = x.permute(rng.sample(range(x.ndim), x.ndim))
        if x.ndim and len(x) and rng.random() < 0.3:
            x = x[:1].expand(rng.choice([1, 2, 3]), *x.shape[1:])
        wanted = shape_of(rng, x.numel())
        try:
            strides = x.view(wanted).stride()
        except RuntimeError:
            strides = None
        assert mytorch.strides.view_strides(tuple(x.shape), x.stride(), wanted) == strides, (
            x.shape,
            x.stride(),
            wanted,
        )
        some, none = some + (strides is not None), none + (strides is None)
    assert some > 100 < none


def shape_of(rng: random.Random, count: int) -> tuple[int, ...]:
    """A random shape with this number of elements."""
    lengths = []
    while count > 1 and rng.random() < 0.8:
        lengths.append(rng.choice([each for each in range(1, count + 1) if count % each == 0]))
        count //= lengths[-1]
    lengths.append(count)
    return tuple(rng.sample(lengths, len(lengths)))


@pytest.mark.part("mytorch.views:transpose")
@pytest.mark.parametrize("dims", [(0, 2), (-1, 0), (1, 1), (0, 3), (-4, 0)])
def test_transpose(mytorch: ModuleType, dims: tuple[int, int]) -> None:
    equal(mytorch, lambda lib: cube(lib).transpose(*dims))


EXPANDED = [(2, 3, 4), (-1, 2, -1), (2, 1, 4), (3, 2, 2, 4), (1, 2, 1, 4), (1, 5, 2, 1, 4), (0, 2, 1, 4), (2, 0, 4)]
EXPANDED += [(2, 3), (2, 3, 5), (3, 3, 4), (-1, 2, 1, 4)]  # these raise


@pytest.mark.part("mytorch.views:expand")
@pytest.mark.parametrize("size", EXPANDED)
def test_expand(mytorch: ModuleType, size: tuple[int, ...]) -> None:
    equal_where_it_steps(mytorch, lambda lib: cube(lib).expand(size))


@pytest.mark.part("mytorch.views:squeeze")
@pytest.mark.parametrize("dim", [(), (1,), (0,), (-2,), ((0, 1),), ((1, -2),), (3,), ((),)])
def test_squeeze(mytorch: ModuleType, dim: tuple[Any, ...]) -> None:
    equal(mytorch, lambda lib: cube(lib).squeeze(*dim))


@table(
    {
        "transpose a number": lambda lib: lib.tensor(5).transpose(0, -1),
        "expand a number": lambda lib: lib.tensor(5).expand(2, 1),
        "expand a boolean to less": lambda lib: lib.ones(2, 3, dtype=lib.bool).expand(3),
        "squeeze a number": lambda lib: lib.tensor(5).squeeze(0),
    }
)
@pytest.mark.part("mytorch.views:transpose", "mytorch.views:expand", "mytorch.views:squeeze")
def test_tensors_without_dimensions(mytorch: ModuleType, call: Call) -> None:
    equal_where_it_steps(mytorch, call)


@table(
    {
        "permute": lambda lib: cube(lib).permute(2, 0, 1),
        "permute too few": lambda lib: cube(lib).permute(0, 1),
        "permute twice the same": lambda lib: cube(lib).permute(0, -3, 1),
        "unsqueeze": lambda lib: cube(lib).unsqueeze(-2),
        "unsqueeze the last": lambda lib: cube(lib).unsqueeze(3),
        "unsqueeze out of range": lambda lib: cube(lib).unsqueeze(5),
        "select": lambda lib: cube(lib).select(-1, -2),
        "select out of range": lambda lib: cube(lib).select(-3, 2),
        "select from a number": lambda lib: lib.tensor(5).select(0, 0),
        "as_strided": lambda lib: cube(lib).as_strided((2, 2), (1, 1), 5),
        "as_strided from where it starts": lambda lib: cube(lib).as_strided((3,), (7,)),
        "as_strided out of bounds": lambda lib: cube(lib).as_strided((3, 8), (8, 1), 1),
        "as_strided backwards": lambda lib: cube(lib).as_strided((3,), (-1,)),
        "as_strided without a stride": lambda lib: cube(lib).as_strided((3, 2), (1,)),
        "view that raises": lambda lib: cube(lib).view(-1),
        "reshape that copies": lambda lib: cube(lib).reshape(-1),
        "reshape that doesn't": lambda lib: cube(lib).reshape(1, 2, 2, 2),
        "contiguous copy": lambda lib: cube(lib).contiguous(),
        "flatten some": lambda lib: cube(lib).flatten(0, 1),
        "flatten a number": lambda lib: lib.tensor(5).flatten(),
        "flatten the wrong way": lambda lib: cube(lib).flatten(2, 0),
        "repeat": lambda lib: cube(lib).repeat(2, 1, 3, 1),
        "repeat nothing": lambda lib: cube(lib).repeat(2, 0, 1),
        "repeat too little": lambda lib: cube(lib).repeat(2),
        "t": lambda lib: lib.arange(6).view(2, 3).t(),
        "t of a vector": lambda lib: lib.arange(3).t(),
        "t of a cube": lambda lib: cube(lib).t(),
        "T": lambda lib: lib.arange(6).view(2, 3).T,
        "mT": lambda lib: cube(lib).mT,
        "view_as": lambda lib: lib.arange(6).view_as(lib.zeros(3, 2)),
        "expand to new lengths of 1": lambda lib: cube(lib).expand(1, 1, 2, 1, 4),
        "expand_as": lambda lib: lib.arange(3).expand_as(lib.zeros(2, 3)),
    }
)
def test_views_that_are_given(mytorch: ModuleType, call: Call) -> None:
    equal(mytorch, call)


def test_what_changes_nothing_is_the_tensor_itself(mytorch: ModuleType) -> None:
    for torch in [mytorch, *ORACLES]:
        x = torch.arange(3)
        assert x.contiguous() is x
        assert x.flatten() is x
        assert x.reshape(3) is not x


def written(call: Call) -> Call:
    """The call on a tensor and its column, and what is then seen of both."""

    def run(lib: Any) -> Any:
        x = lib.arange(6).view(2, 3)
        column = x.select(1, 1)
        given = {"x": x, "column": column, "lib": lib}
        result = outcome(lambda lib: call(given), lib, described)
        return result, described(x), described(column)

    return run


@table(
    {
        "a view": lambda g: g["column"].mul_(10),
        "the source": lambda g: g["x"].add_(1),
        "operator": lambda g: g["x"].__isub__(g["x"]),
        "broadcast": lambda g: g["x"].add_(g["lib"].arange(3).expand(2, 3)),
        "fraction": lambda g: g["x"].add_(0.5),
        "division": lambda g: g["x"].div_(2),
        "number into boolean": lambda g: (g["x"] > 2).add_(1),
        "double into half": lambda g: g["lib"].ones(2).half().div_(g["lib"].ones(2).double() * 3),
        "other shape": lambda g: g["column"].add_(g["lib"].ones(3, 2).long()),
        "expanded": lambda g: g["column"].expand(3, 2).add_(1),
        "expanded to one": lambda g: g["column"].expand(1, 2).add_(1),
        "nothing, expanded": lambda g: g["lib"].ones(0).expand(3, 0).add_(1),
        "one operand": lambda g: g["column"].neg_(),
        "copy_": lambda g: g["column"].copy_(g["lib"].tensor([1.7, -1.7])),
        "copy_ into expanded": lambda g: g["column"].expand(3, 2).copy_(g["lib"].zeros(3, 2)),
        "fill_": lambda g: g["column"].fill_(7),
        "fill_ expanded": lambda g: g["column"].expand(3, 2).fill_(7),
        "zero_": lambda g: g["x"].zero_(),
        "neither shape nor type fits": lambda g: g["lib"].arange(3).add_(g["lib"].ones(1, 3)),
        "overlapping windows": lambda g: g["x"].as_strided((2, 2), (1, 1)).copy_(g["lib"].arange(4).view(2, 2)),
    }
)
@pytest.mark.part("mytorch.views:write", "mytorch.views:in_place")
def test_writes(mytorch: ModuleType, call: Call) -> None:
    same(written(call), mytorch)


@pytest.mark.part("mytorch.views:in_place")
def test_a_write_returns_its_tensor(mytorch: ModuleType) -> None:
    x = mytorch.arange(3)
    assert x.add_(1) is x
    assert mytorch.Tensor.add_.__name__ == "add_"


@pytest.mark.part("mytorch.views:in_place")
def test_a_result_of_another_shape_is_not_written(mytorch: ModuleType) -> None:
    first_ = mytorch.views.in_place(lambda x: x.select(0, 0), "first_")
    with pytest.raises(RuntimeError, match=r"output with shape \[2, 3\] doesn't match the broadcast shape \[3\]"):
        first_(mytorch.zeros(2, 3))
