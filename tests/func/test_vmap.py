"""`vmap`: which dimensions it maps over, what ops make of all examples at once, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch
from tests.same import attempt, exactly_the_same, same


def data(torch: Any) -> Any:
    return torch.arange(24.0).reshape(2, 3, 4).sin()


@same
def test_dimensions_in_and_out(torch: Any) -> Any:
    x, y = data(torch), data(torch).cos()
    vmap = torch.vmap
    return [
        vmap(torch.dot, in_dims=(1, 0))(x[0].t().reshape(3, 4), x[0].reshape(4, 3)[:, :3]),
        vmap(lambda a: a.cumsum(0), in_dims=2, out_dims=1)(x),
        vmap(lambda a: a * 2, in_dims=-1, out_dims=-1)(x),
        vmap(lambda a, b: a + b, in_dims=(0, None))(x, y[0]),
        vmap(lambda d, s: (d["a"] @ d["b"], s), in_dims=({"a": 0, "b": None}, None), out_dims=(0, None))(
            {"a": x, "b": x[0].t()}, 3
        ),
        vmap(lambda a: (a.sum(), {"all": a, "one": [a[0]]}), out_dims=(0, {"all": 1, "one": 0}))(x),
        vmap(lambda a: torch.ones(2))(x),
        vmap(lambda a, scale: a * scale)(x, scale=3.0),
    ]


@same
def test_chunks_and_nesting(torch: Any) -> Any:
    x = data(torch)
    product = torch.vmap(torch.vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))
    return [
        torch.vmap(lambda a: a.exp(), chunk_size=2, in_dims=1, out_dims=1)(x),
        product(x[0], x[1]),
        torch.vmap(torch.vmap(torch.vmap(lambda a: a * 2)))(x),
        torch.vmap(lambda a: torch.vmap(lambda b: (a.t() * b).sum(), in_dims=1)(a))(x),
        torch.vmap(lambda a: torch.vmap(lambda b: a + b, in_dims=1)(torch.ones(4, 2)), in_dims=1)(x),
    ]


@same
def test_a_number_of_each_example_as_an_index(torch: Any) -> Any:
    table, i, j = data(torch)[0], torch.tensor([0, 2, 1]), torch.tensor([3, 1, 0])
    vmap = torch.vmap
    return [
        vmap(lambda a: table[a])(i),
        vmap(lambda a: table[:, a])(j),
        vmap(lambda a, b: table[a, b])(i, j),
        vmap(lambda row, a: row[None, a])(table, j),
        vmap(vmap(lambda a, b: table[a, b], in_dims=(None, 0)), in_dims=(0, None))(i, j),
    ]


@same
def test_new_tensors_and_writes(torch: Any) -> Any:
    def written(a: Any) -> Any:
        new = a.new_zeros(2, 4)
        new[0] = a[1]
        new[:, 1] += 1
        like = torch.zeros_like(a)
        like.copy_(a).mul_(2).transpose_(0, 1)
        return new, like, a.new_full((2,), 3.0), a.clone().squeeze_()

    return torch.vmap(written)(data(torch))


@same
def test_types(torch: Any) -> Any:
    """An example without dimensions counts for less in the promotion of types, though the batch has one."""
    wide = torch.ones(2, dtype=torch.float64)
    narrow, whole = torch.ones(2, 3), torch.ones(2, 3, dtype=torch.int64)
    return torch.vmap(lambda a, b, c: (a + b, c * a, (b > a).float(), b + c))(wide, narrow, whole)


@same
def test_refused_dimensions(torch: Any) -> Any:
    x, vmap = data(torch), torch.vmap
    return [
        attempt(vmap(lambda a, b: a, in_dims=(0, 1)), x, x),
        attempt(vmap(lambda a: a, in_dims=5), x),
        attempt(vmap(lambda a: a, in_dims="b"), x),
        attempt(vmap(lambda a: a), 3),
        attempt(vmap(lambda a: a)),
        attempt(vmap(lambda a: a, in_dims=None), x),
        attempt(vmap(lambda a: a, in_dims=(None,)), x),
        attempt(vmap(lambda a: a, in_dims=(0.5,)), x),
        attempt(vmap(lambda a: 3), x),
        attempt(vmap(lambda a: (a, "b")), x),
        attempt(vmap(lambda a: a, out_dims=None), x),
        attempt(vmap(lambda a: a, out_dims="c"), x),
        attempt(lambda: vmap(lambda a: a, chunk_size=0)),
        attempt(lambda: vmap(lambda a: a, randomness="some")),
    ]


@same
def test_what_needs_values(torch: Any) -> Any:
    x = data(torch)
    actions = [
        lambda a: a.sum().item(),
        lambda a: float(a.sum()),
        lambda a: a if a.sum() > 0 else -a,
        lambda a: a.tolist(),
        lambda a: a.numpy(),
        lambda a: a[a > 0],
        lambda a: a.nonzero(),
        lambda a: a.unique(),
        lambda a: torch.masked_select(a, a > 0),
        lambda a: torch.zeros(3, 4).copy_(a),
        lambda a: torch.add(a, a, out=torch.zeros(3, 4)),
        lambda a: a.requires_grad_(),
        lambda a: a.sum().backward(),
    ]
    return [attempt(torch.vmap(each), x) for each in actions]


@same
def test_printed(torch: Any) -> Any:
    shown: list[str] = []
    torch.vmap(lambda a: (shown.append(repr(a)), torch.vmap(lambda b: (shown.append(repr(b)), b)[1])(a))[1])(
        data(torch)[:, :1]
    )
    return shown


def shape_of_noise(noise: Any) -> list[Any]:
    """Whether the examples of a batch have the same numbers, and whether any is zero."""
    return [list(noise.shape), bool((noise == noise[:1]).all())]


@pytest.mark.parametrize("randomness", ["error", "same", "different"])
@same
def test_randomness(torch: Any, randomness: str) -> Any:
    x = torch.ones(3, 64)
    functional = torch.nn.functional

    def run(function: Any, *args: Any) -> Any:
        found = attempt(torch.vmap(function, randomness=randomness), *args)
        return shape_of_noise(found) if hasattr(found, "shape") else found

    return [
        run(lambda a: torch.rand(64), x),
        run(lambda a: torch.randn(64) * a, x),
        run(lambda a: torch.randint(100, (64,)), x),
        run(lambda a: torch.randperm(64), x),
        run(torch.rand_like, x),
        run(functional.dropout, x),
        run(lambda a: functional.dropout(torch.ones(64)) + a, x),
        run(functional.dropout2d, x.reshape(3, 1, 16, 2, 2)),
        run(lambda a: a.clone().normal_(), x),
        run(lambda a: torch.zeros(64).uniform_(), x),
    ]


@exactly_the_same
def test_different_numbers_are_those_of_the_batch(torch: Any) -> Any:
    """They are drawn in the order in which a whole batch would be."""
    x = torch.ones(3, 4)
    return [
        torch.vmap(lambda a: torch.rand(4), randomness="different")(x),
        torch.vmap(lambda a: a.clone().uniform_(), randomness="different")(x),
        torch.vmap(lambda a: torch.rand(5), randomness="same")(x),
    ]


@same
def test_functions_of_users(torch: Any) -> Any:
    function = torch.autograd.Function

    class Cube(function):  # type: ignore[misc, valid-type]
        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3 * ctx.saved_tensors[0] ** 2

    class Generated(Cube):
        generate_vmap_rule = True

    class Written(Cube):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            assert in_dims == (0,)
            return x**3 * info.batch_size, 0

    class Old(function):  # type: ignore[misc, valid-type]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

    x = data(torch)[0]
    return [
        *[attempt(torch.vmap(each.apply), x) for each in (Cube, Generated, Written, Old)],
        torch.vmap(torch.func.grad(lambda a: Generated.apply(a).sum()))(x),
    ]


def test_no_layer_is_left_after_an_error() -> None:
    layers = minitorch.dispatch.layers
    before = layers.count, layers.stack.layers
    with pytest.raises(ZeroDivisionError):
        minitorch.vmap(lambda a: 1 / 0)(minitorch.ones(2))
    assert (layers.count, layers.stack.layers) == before
