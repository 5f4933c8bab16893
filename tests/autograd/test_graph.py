"""Nodes, edges, hooks and saved tensors as users see them: PyTorch's attributes, order and words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from tests.same import attempt, same


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def pack(tensor: Any) -> Any:
    return tensor.detach()


# Nodes


@same
def test_what_a_node_tells(torch: Any) -> Any:
    x = leaf(torch)
    node = (x * 3).grad_fn
    end = node.next_functions[0][0]
    node.metadata["note"] = 1
    shapes = [(list(each.shape), str(each.dtype)) for each in (*node._input_metadata, *end._input_metadata)]
    is_node = [isinstance(each, torch.autograd.graph.Node) for each in (node, end, x)]
    return (
        [node.name(), end.name(), repr(node)[:21], repr(end)[:24], node.metadata, shapes, is_node],
        [
            end.variable is x,
            end._sequence_nr(),
            node.requires_grad,
            node(torch.ones(2)),
            end(torch.ones(2)),
            x.grad,
        ],
        (x * 3).grad_fn._sequence_nr() < (x * 3).grad_fn._sequence_nr(),
    )


SAVED: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "sum over a dimension": (lambda torch, x: x.sum((0,)), "dim keepdim self_sym_sizes"),
    "exp": (lambda torch, x: x.exp(), "result"),
    "product with a constant": (lambda torch, x: x * torch.ones(2, 3), "self other"),
    "product with itself": (lambda torch, x: x * x, "self other"),
    "max over a dimension": (lambda torch, x: x.max(0)[0], "dim indices keepdim self_sym_sizes"),
    "pow": (lambda torch, x: x.pow(2), "exponent self"),
    "softmax": (lambda torch, x: x.softmax(0), "dim result"),
    "matmul": (lambda torch, x: x.mm(torch.ones(3, 2)), "self mat2"),
    "gather": (lambda torch, x: x.gather(0, torch.tensor([[0]])), "dim index"),
    "no such thing": (lambda torch, x: x.exp(), "self"),
}


@pytest.mark.parametrize("name", SAVED)
@same
def test_saved_attributes(torch: Any, name: str) -> Any:
    build, names = SAVED[name]

    node = build(torch, torch.tensor([[1.0, 2.0, 3.0], [6.0, 5.0, 4.0]], requires_grad=True)).grad_fn
    listed = [f"_saved_{each}" in dir(node) for each in names.split()]
    return [attempt(lambda each=each: getattr(node, f"_saved_{each}")) for each in names.split()], listed


@same
def test_saved_attributes_are_freed(torch: Any) -> Any:
    y = leaf(torch).exp()
    y.sum().backward()
    return attempt(lambda: y.grad_fn._saved_result)


@same
def test_names_of_the_nodes_of_normal(torch: Any) -> Any:
    x = leaf(torch)
    drawn = [torch.normal(x, 1.0), torch.normal(0.0, x), torch.normal(x, x), x.clone().normal_()]
    return [(each.grad_fn.name(), torch.autograd.grad(each.sum(), x)) for each in drawn]


# Hooks


@same
def test_order_of_all_kinds_of_hooks(torch: Any) -> Any:
    seen: list[str] = []
    x = leaf(torch)
    y = x * 3
    y.grad_fn.register_prehook(lambda grads: seen.append("node before"))
    y.register_hook(lambda grad: seen.append("tensor 1"))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append("node after 1"))
    y.retain_grad()
    y.register_hook(lambda grad: seen.append("tensor 2"))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append("node after 2"))
    end = y.grad_fn.next_functions[0][0]
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append("accumulated"))
    end.register_hook(lambda inputs, outputs: seen.append(f"leaf after {len(inputs)} {len(outputs)}"))
    end.register_prehook(lambda grads: seen.append("leaf before"))
    x.register_hook(lambda grad: seen.append("leaf tensor"))
    y.sum().backward()
    return seen, y.grad, x.grad


@same
def test_hooks_of_nodes_replace_gradients_and_can_be_removed(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 3
    before = y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    after = y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + outputs[0], None))
    results = []
    for handle in (None, before, after):
        if handle is not None:
            handle.remove()
        results += torch.autograd.grad(y.sum(), x, retain_graph=True)
    return results


RETURNED: dict[str, Callable[..., Any]] = {
    "a number": lambda torch, grads: 5,
    "a tuple of a number": lambda torch, grads: (5,),
    "two": lambda torch, grads: (grads[0], grads[0]),
    "a list": lambda torch, grads: [grads[0]],
    "a tensor": lambda torch, grads: grads[0],
    "another shape": lambda torch, grads: (torch.ones(3),),
    "another dtype": lambda torch, grads: (grads[0].double(),),
}


@pytest.mark.parametrize("name", RETURNED)
@pytest.mark.parametrize("register", ["register_hook", "register_prehook"])
@same
def test_what_a_hook_of_a_node_may_return(torch: Any, name: str, register: str) -> Any:
    x = leaf(torch)
    y = x.exp()
    getattr(y.grad_fn, register)(lambda *grads: RETURNED[name](torch, grads[0]))
    return attempt(y.sum().backward), x.grad


@pytest.mark.parametrize("name", RETURNED)
@pytest.mark.parametrize("of_leaf", [True, False])
@same
def test_what_a_hook_of_a_tensor_may_return(torch: Any, name: str, of_leaf: bool) -> Any:
    x = leaf(torch)
    y = x * 3
    returned = RETURNED[name]
    (x if of_leaf else y).register_hook(lambda grad: returned(torch, (grad,)))
    return attempt(y.sum().backward), x.grad


@same
def test_a_failing_hook_leaves_the_engine_as_it_was(torch: Any) -> Any:
    def fails(*grads: Any) -> None:
        raise ValueError("from the hook")

    results = []
    for register in ("register_hook", "register_prehook"):
        x = leaf(torch)
        y = x * 3
        handle = getattr(y.grad_fn, register)(fails)
        results.append(attempt(lambda y=y: y.sum().backward(retain_graph=True)))
        handle.remove()
        y.sum().backward()
        results += [x.grad, torch.is_grad_enabled(), (x * 2).requires_grad]
    return results


@same
def test_a_pass_inside_a_hook(torch: Any) -> Any:
    x, other = leaf(torch), leaf(torch)

    def hook(grad: Any) -> Any:
        with torch.enable_grad():
            (other**3).sum().backward()
        return grad * other.grad

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    return x.grad, other.grad


@pytest.mark.parametrize("mode", ["all", "any"])
@same
def test_hooks_of_several_tensors(torch: Any, mode: str) -> Any:
    seen: list[Any] = []
    a, b = leaf(torch), leaf(torch)
    c, d = a * b, a * b
    handle = torch.autograd.graph.register_multi_grad_hook((a, b, c, d), seen.append, mode=mode)
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c * d).sum().backward(retain_graph=True)
    handle.remove()
    c.sum().backward()
    return seen


@same
def test_an_unknown_mode_of_hooks(torch: Any) -> Any:
    return attempt(lambda: torch.autograd.graph.register_multi_grad_hook((leaf(torch),), print, mode="some"))


# Saved tensors


@same
def test_what_the_hooks_of_saved_tensors_see(torch: Any) -> Any:
    seen: list[Any] = []

    def packs(tensor: Any) -> Any:
        seen.append(("pack", tensor.requires_grad, tensor.is_leaf, tensor.detach()))
        return tensor.detach()

    def unpacks(tensor: Any) -> Any:
        seen.append(("unpack", tensor))
        return tensor

    x = leaf(torch)
    y = x * 3
    with torch.autograd.graph.saved_tensors_hooks(packs, unpacks):
        product = y.sigmoid() * x * torch.ones(2)
    attributes = [product.grad_fn.next_functions[0][0]._saved_other]
    product.sum().backward()
    return seen, attributes, x.grad


@same
def test_second_derivatives_through_hooks(torch: Any) -> Any:
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor.clone()):
        y = (x.exp() * x).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    first.sum().backward()
    return first, x.grad


@same
def test_of_nested_hooks_the_innermost_counts_and_functions_of_the_user_obey(torch: Any) -> Any:
    seen: list[str] = []

    def hooks(name: str) -> Any:
        def packs(tensor: Any) -> Any:
            seen.append(name)
            return tensor.detach()

        return torch.autograd.graph.saved_tensors_hooks(packs, lambda tensor: tensor)

    class Square(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2 * ctx.saved_tensors[0]

    x = leaf(torch)
    with hooks("outer"):
        y = Square.apply(x)
        with hooks("inner"):
            y = y.sin()
        y = y.cos()
    y.exp().sum().backward()
    return seen, x.grad


@same
def test_hooks_of_one_saved_tensor(torch: Any) -> Any:
    seen: list[Any] = []

    def packs(tensor: Any) -> Any:
        seen.append(tensor)
        return tensor.numpy().copy()

    x = leaf(torch)
    y = (x * 3).exp()
    raw = y.grad_fn._raw_saved_result
    raw.register_hooks(packs, torch.from_numpy)
    again = attempt(lambda: raw.register_hooks(packs, torch.from_numpy))
    y.sum().backward()
    return seen, again, x.grad


@same
def test_what_hooks_of_saved_tensors_may_not_do(torch: Any) -> Any:
    def hooks(*pair: Any) -> Any:
        return torch.autograd.graph.saved_tensors_hooks(*pair)

    def squares(*pair: Any) -> Any:
        with hooks(*pair):
            (leaf(torch) ** 2).sum().backward()

    def disabled() -> Any:
        with torch.autograd.graph.disable_saved_tensors_hooks("not now"), hooks(pack, pack):
            pass

    def disables() -> Any:
        with hooks(pack, pack), torch.autograd.graph.disable_saved_tensors_hooks("not now"):
            pass

    wrong = [attempt(lambda: squares(pack, lambda tensor: 5)), attempt(disabled), attempt(disables)]
    y = leaf(torch) ** 2
    raw = y.grad_fn._raw_saved_self
    wrong.append(attempt(lambda: raw.register_hooks(lambda tensor: tensor.add_(1), pack)))
    attempt(lambda: squares(pack, pack))  # and afterwards everything works again
    return wrong


@pytest.mark.parametrize("pin_memory", [True, False])
@same
def test_save_on_cpu(torch: Any, pin_memory: bool) -> Any:
    x, y = leaf(torch), torch.ones(2)
    with torch.autograd.graph.save_on_cpu(pin_memory):
        product = x * y
    y.add_(5)
    product.sum().backward()
    return x.grad


@same
def test_mutation_of_saved_tensors(torch: Any) -> Any:
    x = leaf(torch)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        out = (y**2).sum()
        y.sin_()
        out.backward()
        late = (y**2).sum()

        def nests() -> None:
            with torch.autograd.graph.allow_mutation_on_saved_tensors():
                pass

        nested = attempt(nests)
    return x.grad, y, nested, attempt(late.backward)


@same
def test_increment_version(torch: Any) -> Any:
    x, w = leaf(torch), torch.ones(2)
    out = (x * w).sum()
    torch.autograd.graph.increment_version(w)
    torch.autograd.graph.increment_version([w, w])
    return w._version, attempt(out.backward)


# Edges


@same
def test_edges_take_the_place_of_tensors(torch: Any) -> Any:
    graph, grad = torch.autograd.graph, torch.autograd.grad
    x = leaf(torch)
    y = x * 2
    edge, end = graph.get_gradient_edge(y), graph.get_gradient_edge(x)
    results = [
        grad((y * 3).sum(), edge),
        grad(edge, x, torch.ones(2), retain_graph=True),
        attempt(lambda: grad(edge, x)),
        attempt(lambda: grad(edge, x, torch.ones(3))),
        attempt(lambda: grad((x * 2).sum(), edge, materialize_grads=True)),
        attempt(lambda: graph.get_gradient_edge(torch.ones(1))),
        [edge.node is y.grad_fn, edge.output_nr, edge.ownership_token],
    ]
    torch.autograd.backward(edge, torch.ones(2), inputs=[end])
    return results, x.grad


def _shapes_of_gradients(torch: Any, output: Any, source: Any) -> list[Any]:
    """What a hook sees of passes that run as one: one gradient, of the shape of its tensor."""
    shapes: list[Any] = []
    output.register_hook(lambda grad: shapes.append(list(grad.shape)))
    torch.autograd.grad(output, source, torch.eye(2), is_grads_batched=True)
    return shapes


ARGUMENTS: dict[str, Callable[[Any, Any], Any]] = {
    "a dict of inputs": lambda torch, x: torch.autograd.grad((x * 2).sum(), {"a": x}),
    "no inputs of grad": lambda torch, x: torch.autograd.grad((x * 2).sum(), []),
    "no inputs of backward": lambda torch, x: (x * 2).sum().backward(inputs=[]),
    "a number as weight": lambda torch, x: torch.autograd.grad(x * 2, x, [5]),
    "a weight too many": lambda torch, x: torch.autograd.grad(x * 2, x, [torch.ones(2)] * 2),
    "a weight too few": lambda torch, x: torch.autograd.grad([x * 2, x], x, [torch.ones(2)]),
    "a complex weight": lambda torch, x: torch.autograd.grad(x * 2, x, torch.ones(2, dtype=torch.complex64)),
    "a complex scalar": lambda torch, x: (x * 1j).sum().backward(),
    "materialized": lambda torch, x: torch.autograd.grad((x * 2).sum(), [x, leaf(torch)], materialize_grads=True),
    "materialized, not unused": lambda torch, x: torch.autograd.grad(
        (x * 2).sum(), x, allow_unused=False, materialize_grads=True
    ),
    "batched": lambda torch, x: torch.autograd.grad(
        x**3, [x, leaf(torch)], torch.eye(2), is_grads_batched=True, allow_unused=True
    ),
    "batched, at once": lambda torch, x: _shapes_of_gradients(torch, x**3, x),
    "batched and recorded": lambda torch, x: torch.autograd.grad(
        x**3, x, torch.eye(2), is_grads_batched=True, create_graph=True
    ),
    "the old name": lambda torch, x: torch.autograd.backward(x * 2, torch.ones(2), grad_variables=torch.ones(2)),
    "variable()": lambda torch, x: torch.autograd.variable(5),
}


@pytest.mark.filterwarnings("ignore:`grad_variables` is deprecated")
@pytest.mark.parametrize("name", ARGUMENTS)
@same
def test_arguments_of_grad_and_backward(torch: Any, name: str) -> Any:
    return attempt(lambda: ARGUMENTS[name](torch, leaf(torch)))


@pytest.mark.filterwarnings("ignore:Using backward")
@same
def test_grad_after_a_pass_that_was_recorded(torch: Any) -> Any:
    x = leaf(torch)
    (x**2).sum().backward(create_graph=True)
    first = x.grad
    (x**3).sum().backward()
    return x.grad, x.grad is first


def test_backward_warns_of_a_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minitorch.warn_once._given", set())
    x = leaf(minitorch)
    with pytest.warns(UserWarning, match="create_graph=True will create a reference cycle") as caught:
        (x**2).sum().backward(create_graph=True)
        (x**2).sum().backward(create_graph=True)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@same
def test_variable(torch: Any) -> Any:
    variable = torch.autograd.Variable
    x = variable(torch.ones(2), requires_grad=True)
    return [
        x,
        type(x) is torch.Tensor,
        isinstance(x, variable),
        isinstance(5, variable),
        attempt(lambda: variable([1])),
        variable(),
    ]


@same
def test_multithreading_is_remembered(torch: Any) -> Any:
    enabled = torch.autograd.is_multithreading_enabled
    seen = [enabled()]
    with torch.autograd.set_multithreading_enabled(False):
        seen.append(enabled())
    return [*seen, enabled()]
