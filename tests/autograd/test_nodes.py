"""What programs see of nodes: their classes, edges and attributes, and the errors of formulas that refuse."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch
import minitorch.nn.functional
from tests.same import attempt, exactly_the_same


@exactly_the_same
def test_the_class_of_a_node_is_named_after_it(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    written = x.clone()
    written[:2].mul_(2)
    made = [x * 2, x**2, x**x, 2**x, x.clamp(0), x.sum(), x.sum(0), x.unbind()[0], x.to(torch.float64), written]
    nodes = [each.grad_fn for each in made] + [made[0].grad_fn.next_functions[0][0]]
    return [
        (type(node).__name__, type(node).__qualname__, node.name(), isinstance(node, torch.autograd.graph.Node))
        for node in nodes
    ] + [type(made[0].grad_fn) is type((x * 3).grad_fn), str(type(made[0].grad_fn)), repr(made[1].grad_fn)[:22]]


@exactly_the_same
def test_a_missing_attribute_is_told_by_the_name_of_the_node(torch: Any) -> Any:
    return attempt(lambda: (torch.ones(3, requires_grad=True) * 2).grad_fn._saved_result)


@exactly_the_same
def test_numbers_have_edges_where_pytorch_makes_tensors_of_them(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    made = [
        x + 1, 1 + x, x * 2.0, 2.0 * x, x - 1, 1 - x, x / 2, 2 / x, x**2, 2**x, x % 2, x.fmod(2),
        x.clamp(0, 1), x.clamp(0), x.clamp(x.detach()),
        torch.lerp(x, x, 0.5), torch.xlogy(x, 2.0), x.masked_fill(x > 2, 0), x.copysign(1.0),
    ]  # fmt: skip
    return [[node is None for node, _ in each.grad_fn.next_functions] for each in made]


@exactly_the_same
def test_a_power_keeps_its_result(torch: Any) -> Any:
    """With an exponent that is a tensor, also where that needs no gradient; a number's overload keeps none."""
    ends = []
    for exponent in (torch.tensor([1.0, 2.0, 3.0]), torch.ones(3, requires_grad=True), 2):
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        result = x**exponent
        result.detach().mul_(2)
        ends.append(attempt(result.sum().backward))
    assert [end is None for end in ends] == [False, False, True]
    return ends


@pytest.mark.parametrize("name", ["elu_", "celu_", "leaky_relu_"])
@exactly_the_same
def test_in_place_forms_refuse_slopes_that_they_cannot_tell_from_the_result(torch: Any, name: str) -> Any:
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    written = getattr(torch.nn.functional, name)(x.clone(), -0.5)
    kind, words = attempt(written.sum().backward)
    assert words.startswith("In-place")
    return kind, words


@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
@pytest.mark.filterwarnings("ignore:index_reduce")
@exactly_the_same
def test_a_second_derivative_is_refused_where_several_zeros_meet_in_a_product(torch: Any, name: str) -> Any:
    x = torch.tensor([5.0, 2.0], requires_grad=True)
    source = torch.tensor([0.0, 0.0, 2.0], requires_grad=True)
    result = getattr(torch, name)(x, 0, torch.tensor([0, 0, 1]), source, "prod")
    grads = torch.autograd.grad(result.sum(), [x, source], create_graph=True)
    return [attempt(each.sum().backward) for each in grads] + [type(grads[1].grad_fn).__name__]


@exactly_the_same
def test_next_number_towards_an_equal_one_has_slope_zero(torch: Any) -> Any:
    x, y = (torch.tensor(each, requires_grad=True) for each in ([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]))
    torch.nextafter(x, y).sum().backward()
    return [x.grad.tolist(), y.grad.tolist()]


@exactly_the_same
def test_batch_norm_updates_its_statistics_without_a_version(torch: Any) -> Any:
    """So that a second forward pass doesn't make the first one's backward fail; a write from outside does."""
    layer = torch.nn.BatchNorm1d(3)
    x = torch.arange(12.0).reshape(4, 3).requires_grad_()
    first, second, third = layer(x), layer(x), layer.eval()(x)
    versions = [layer.running_mean._version, layer.running_var._version]
    ends = [attempt(first.sum().backward)]
    layer.reset_running_stats()
    return versions + ends + [attempt(each.sum().backward) for each in (second, third)]


def test_steps_of_a_function_that_is_one_node_are_not_kept() -> None:
    """The node of a bag of embeddings keeps the table and the indices, not the rows that it looked up."""
    table = minitorch.ones(5, 4, requires_grad=True)
    bags = minitorch.nn.functional.embedding_bag(minitorch.tensor([[0, 1, 2], [2, 3, 4]]), table)
    kept = [getattr(bags.grad_fn, name) for name in dir(bags.grad_fn) if name.startswith("_saved_")]
    tensors = [each for each in kept if isinstance(each, minitorch.Tensor)]
    assert any(each is table for each in tensors)
    assert sorted(tuple(each.shape) for each in tensors) == [(2,), (5, 4), (6,)]


def test_a_function_that_is_one_node_can_be_differentiated_through_its_own_inputs() -> None:
    """Where one input was made of another, each gets its own part of the gradient."""

    v = minitorch.arange(1.0, 7.0, dtype=minitorch.float64).reshape(2, 3).requires_grad_()
    g = v.sum(1, keepdim=True)
    weight = minitorch._weight_norm(v, g, 0)  # its squares add up to those of g, that is of the sums
    of_v, of_g = minitorch.autograd.grad((weight**2).sum(), [v, g], create_graph=True)
    assert minitorch.allclose(of_v, (2 * g).expand_as(v))
    assert minitorch.allclose(of_g, 2 * g)
    (of_v.sum() + of_g.square().sum()).backward()
    assert minitorch.allclose(v.grad, (6 + 8 * g).expand_as(v))


@exactly_the_same
def test_group_norm_keeps_a_contiguous_copy(torch: Any) -> Any:
    """So that its backward pass does not fail."""
    x = torch.ones(2, 3, 4).transpose(1, 2).requires_grad_()
    result = torch.nn.functional.group_norm(x, 2)
    x.detach().mul_(2)
    result.sum().backward()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@exactly_the_same
def test_errors_of_modified_tensors_name_their_type(torch: Any, dtype: str) -> Any:
    x = torch.ones(2, dtype=getattr(torch, dtype), requires_grad=True)
    kept = x * 1
    product = kept * kept
    kept.add_(1)
    kind, words = attempt(product.abs().sum().backward)
    assert "modified by an inplace operation" in words
    return kind, words


@exactly_the_same
def test_a_hook_after_accumulation_returns_nothing(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    ends = []
    for returned in (3, (1,), torch.ones(2), x, None):
        handle = x.register_post_accumulate_grad_hook(lambda leaf, returned=returned: returned)
        ends.append(attempt((x * 2).sum().backward))
        handle.remove()
    return ends
