"""Exported programs, beside torch's: graphs, signatures, results, guards, files."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from minitorch._dynamo.stack import VERSION
from tests.export.cases import CASES
from tests.same import attempt, compare

torch = pytest.importorskip("torch", reason="the expected programs are torch's")

pytestmark = [
    pytest.mark.skipif(sys.version_info[:2] != VERSION, reason="capture reads the bytecode of Python 3.11"),
    pytest.mark.filterwarnings("ignore"),
]


def exported(t: Any, case: Callable[[Any], Any]) -> tuple[Any, Any, tuple[Any, ...], dict[str, Any]]:
    """A case's module, its program, and the example's arguments."""
    module, args, kwargs, dims = case(t)
    return module, t.export.export(module, args, kwargs, dynamic_shapes=dims), args, kwargs


def described(program: Any) -> tuple[Any, ...]:
    """A program's operations, signature and state. What layer_norm's defaults look like doesn't matter."""
    nodes = [
        (each.op, each.name, str(each.target), "" if each.name == "layer_norm" else str((each.args, each.kwargs)))
        for each in program.graph.nodes
    ]
    ranges = [str(each) for each in program.range_constraints.values()]
    return nodes, str(program.graph_signature), list(program.state_dict), ranges


@pytest.mark.parametrize("case", CASES, ids=lambda each: each.__name__)
def test_graph_signature_and_state_are_those_of_torch(case: Callable[[Any], Any]) -> None:
    (_, ours, *_), (_, theirs, *_) = exported(minitorch, case), exported(torch, case)
    assert described(ours) == described(theirs)


@pytest.mark.parametrize("case", CASES, ids=lambda each: each.__name__)
def test_the_program_computes_what_the_module_does_also_after_a_file(case: Callable[[Any], Any]) -> None:
    module, program, args, kwargs = exported(minitorch, case)
    file = io.BytesIO()
    minitorch.export.save(program, file)
    file.seek(0)
    read = minitorch.export.load(file)
    assert str(read) == str(program)
    for each in (program, read):
        compare(each.module()(*args, **kwargs), module(*args, **kwargs), 0)
    assert [name for name, _ in read.module().named_parameters()] == [name for name, _ in module.named_parameters()]


CALLS: list[tuple[str, Callable[[Any], Any]]] = [
    ("dynamic", lambda t: (t.ones(10, 3),)),
    ("dynamic", lambda t: (t.ones(11, 3),)),
    ("dynamic", lambda t: (t.ones(1, 3),)),
    ("dynamic", lambda t: (t.ones(4, 2),)),
    ("automatic", lambda t: (t.ones(1), t.ones(1))),
    ("automatic", lambda t: (t.ones(3), t.ones(2))),
    ("linear", lambda t: (t.ones(4, 3),)),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_guards_accept_and_refuse_what_those_of_torch_do(number: int) -> None:
    name, make = CALLS[number]
    (case,) = [each for each in CASES if each.__name__ == name]
    found = []
    for t in (minitorch, torch):
        module = exported(t, case)[1].module()
        found.append(attempt(lambda t, module=module: [*module(*make(t))[0].shape], t))
    assert found[0] == found[1]


def _decides(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x if x.sum() > 0 else -x

    return t.export.export(Net(), (t.ones(2),))


def _guarded(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x + 1 if x.shape[0] > 3 else x - 1

    return t.export.export(Net(), (t.ones(5),), dynamic_shapes=({0: t.export.Dim("n")},))


def _specialized(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            for place in range(x.shape[0]):
                x = x + place
            return x

    return t.export.export(Net(), (t.ones(5),), dynamic_shapes=({0: t.export.Dim("n")},))


ERRORS: list[Callable[[Any], Any]] = [
    _decides,
    _guarded,
    _specialized,
    lambda t: t.export.export(lambda x: x, (t.ones(2),)),
    lambda t: t.export.export(t.nn.ReLU(), (t.ones(2),), dynamic_shapes={"z": None}),
    lambda t: t.export.export(t.nn.ReLU(), (t.ones(2),), dynamic_shapes=({0: t.export.Dim("n")}, None)),
    lambda t: t.export.Dim("n", min=5, max=4),
    lambda t: t.export.export(t.nn.ReLU(), (t.ones(2),))(t.ones(2)),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_are_of_the_classes_of_torch(number: int) -> None:
    with pytest.raises(Exception) as ours:
        ERRORS[number](minitorch)
    with pytest.raises(Exception) as theirs:
        ERRORS[number](torch)
    assert type(ours.value).__name__ == type(theirs.value).__name__


def _of_sizes(run: Callable[[Any, Any], Any], *shape: int, **bounds: Any) -> Callable[[Any], Any]:
    """Exports `run(t, x)` with a first size that may change, for an example of this shape."""

    def export(t: Any) -> Any:
        class Net(t.nn.Module):  # type: ignore[misc]
            def forward(self, x: Any) -> Any:
                return run(t, x)

        hint = bounds.get("hint")
        size = getattr(t.export.Dim, hint) if hint else t.export.Dim("n", **bounds)
        program = t.export.export(Net(), (t.ones(*shape),), dynamic_shapes={"x": {0: size}})
        return len(program.range_constraints)

    return export


SIZES: list[Callable[[Any], Any]] = [
    _of_sizes(lambda t, x: x.reshape(4, 3), 4, 3),
    _of_sizes(lambda t, x: x.reshape(-1, 3), 4, 3),
    _of_sizes(lambda t, x: x.reshape(4, 3), 4, 3, min=2, max=9),
    _of_sizes(lambda t, x: x.reshape(4, 3), 4, 3, hint="AUTO"),
    _of_sizes(lambda t, x: x.reshape(4, 3), 4, 3, hint="DYNAMIC"),
    _of_sizes(lambda t, x: x[3], 4, 3),
    _of_sizes(lambda t, x: x[3], 4, 3, min=4),
    _of_sizes(lambda t, x: x[3], 4, 3, hint="DYNAMIC"),
    _of_sizes(lambda t, x: x.narrow(0, 1, 2), 4, 3),
    _of_sizes(lambda t, x: x + t.ones(4, 3), 4, 3),
    _of_sizes(lambda t, x: t.cat([x, t.ones(4, 3)]), 4, 3),
    _of_sizes(lambda t, x: x @ t.ones(3, 4) @ x, 4, 3),
    _of_sizes(lambda t, x: t.nn.functional.layer_norm(x, (4, 3)), 4, 3),
    _of_sizes(lambda t, x: t.nn.functional.max_pool2d(x, 4), 8, 8, 8, min=1),
    _of_sizes(lambda t, x: x.unbind()[0], 4, 3),
    _of_sizes(lambda t, x: x + 1 if x.shape[0] == 4 else x, 4, 3),
    _of_sizes(lambda t, x: x + 1, 1, 3),
    _of_sizes(lambda t, x: x + 1, 1, 3, hint="AUTO"),
    _of_sizes(lambda t, x: x, 4, 3, min=5),
    _of_sizes(lambda t, x: x, 4, 3, max=3),
    _of_sizes(lambda t, x: x, 4, 3, min=5, max=9),
]


@pytest.mark.parametrize("number", range(len(SIZES)))
def test_sizes_that_cannot_change_are_refused_in_the_words_of_torch(number: int) -> None:
    found = []
    for t in (minitorch, torch):
        try:
            found.append(SIZES[number](t))
        except Exception as error:
            lines = str(error).splitlines()
            said = [line for line in lines if line.startswith(("  - You marked", "  n = ")) or "in range" in line]
            found.append((type(error).__name__, said))
    assert found[0] == found[1]


def test_the_printed_program_has_types_and_ranges() -> None:
    (case,) = [each for each in CASES if each.__name__ == "dynamic"]
    text = str(exported(minitorch, case)[1])
    assert 'def forward(self, p_weight: "f32[2, 3]", p_bias: "f32[2]", input: "f32[s0, 3]"):' in text
    assert 'linear: "f32[s0, 2]" = torch.ops.aten.linear.default(input, p_weight, p_bias)' in text
    assert "Range constraints: {s0: VR[2, 10]}" in text


def test_automatic_sizes_are_fixed_where_the_code_needs_that() -> None:
    class Rows(minitorch.nn.Module):
        def forward(self, x: Any) -> Any:
            return sum(list(x * 2))

    dims = ({0: minitorch.export.Dim.AUTO},)
    module = minitorch.export.export(Rows(), (minitorch.ones(3, 2),), dynamic_shapes=dims).module()
    assert module(minitorch.ones(3, 2)).tolist() == [6.0, 6.0]
    with pytest.raises(AssertionError, match=r"Guard failed: x.size\(\)\[0\] == 3"):
        module(minitorch.ones(4, 2))
