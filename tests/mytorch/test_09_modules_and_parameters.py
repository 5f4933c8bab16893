"""Chapter 09 of mytorch against minitorch: registration, names, state dicts, hooks, containers and linear layers."""

from __future__ import annotations

import copy
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.mytorch.compare import ORACLES, agree, outcome

part = pytest.mark.part
module = "mytorch.nn.module:"
linear = "mytorch.nn.linear:"
utils = "mytorch.nn.utils:"
call_of = "mytorch.nn.backward_hooks:Call."


def shown(call: Callable[[Any], Any], library: ModuleType) -> str:
    """What a call with the seed 0 shows, without the names of packages."""
    library.manual_seed(0)
    text = str(outcome(call, library))
    # mytorch's linear layer is a product and a sum, PyTorch's one operation for both.
    return re.sub(r"(mytorch|minitorch|torch)\.", "", text.replace("nn.modules.", "nn.").replace("Addmm", "Add"))


def same(call: Callable[[Any], Any], mytorch: ModuleType) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of hooks where no input requires a gradient
        for library in ORACLES:
            assert shown(call, mytorch) == shown(call, library)


def network(torch: ModuleType) -> Any:
    """A model with a bit of everything: nested, a buffer of each kind, a place without a parameter, a shared layer."""
    nn = torch.nn

    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = nn.Parameter(torch.ones(2))
            self.register_parameter("shift", None)
            self.register_buffer("count", torch.zeros((), dtype=torch.int64))
            self.register_buffer("scratch", torch.zeros(3), persistent=False)
            self.register_buffer("unset", None)

        def forward(self, x: Any) -> Any:
            return x * self.factor

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 2)
            self.inner = nn.Sequential(Scale(), nn.Identity(), nn.Linear(2, 2, bias=False))
            self.heads = nn.ModuleDict({"a": nn.Linear(2, 1), "again": self.first})
            self.nothing = None
            self.number = 3

        def forward(self, x: Any) -> Any:
            return self.heads["a"](self.inner(self.first(x)))

    return Network()


def member(kind: str, value: Callable[[ModuleType], Any]) -> Callable[[ModuleType], Any]:
    """A module whose name `x` is of this kind and gets a value; what it is then, or the error."""

    def call(torch: ModuleType) -> Any:
        made = torch.nn.Module()
        if kind == "parameter":
            made.x = torch.nn.Parameter(torch.zeros(1))
        elif kind == "buffer":
            made.register_buffer("x", torch.zeros(1), persistent=False)
        elif kind == "module":
            made.x = torch.nn.Identity()
        elif kind == "attribute":
            made.x = 1
        elif kind == "empty parameter":
            made.register_parameter("x", None)
        elif kind == "empty module":
            made.add_module("x", None)
        elif kind == "empty buffer":
            made.register_buffer("x", None)
        made.other = torch.nn.Parameter(torch.zeros(1))
        made.x = value(torch)
        tables = (made._parameters, made._buffers, made._modules, {"x": 0} if "x" in made.__dict__ else {})
        return made.x, [list(table) for table in tables], list(made.state_dict())

    return call


VALUES: dict[str, Callable[[ModuleType], Any]] = {
    "a parameter": lambda torch: torch.nn.Parameter(torch.ones(2)),
    "a module": lambda torch: torch.nn.Linear(1, 1),
    "a tensor": lambda torch: torch.ones(2),
    "None": lambda torch: None,
    "a number": lambda torch: 2.5,
}


@part(module + "Module.__setattr__")
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "kind",
    ["new", "parameter", "buffer", "module", "attribute", "empty parameter", "empty module", "empty buffer"],
)
def test_what_is_assigned_is_registered(mytorch: ModuleType, kind: str, value: str) -> None:
    same(member(kind, VALUES[value]), mytorch)


@part(module + "Module.__setattr__")
@pytest.mark.parametrize("value", ["a parameter", "a module", "a number"])
def test_assigned_before_init(mytorch: ModuleType, value: str) -> None:
    def call(torch: ModuleType) -> Any:
        class Hasty(torch.nn.Module):
            def __init__(self) -> None:
                self.x = VALUES[value](torch)
                super().__init__()

        return Hasty().x

    same(call, mytorch)


def a_list_hides_it(torch: ModuleType) -> Any:
    made = torch.nn.Module()
    made.layers = [torch.nn.Linear(1, 1)]
    return list(made.state_dict())


def loses_what_is_deleted(torch: ModuleType) -> Any:
    made = network(torch)
    del made.inner, made.number, made.first.bias
    return list(made.state_dict()), hasattr(made, "inner"), hasattr(made, "number")


def with_values(torch: ModuleType) -> Any:
    """What is in the state dict, and whether it shares the model's memory."""
    model = network(torch)
    state = model.state_dict()
    state["first.weight"].zero_()
    kept = model.state_dict(keep_vars=True)["first.bias"] is model.first.bias
    return state, model.first.weight, {name: each.requires_grad for name, each in state.items()}, kept


def types_after(change: Callable[[Any, ModuleType], Any]) -> Callable[[ModuleType], Any]:
    def call(torch: ModuleType) -> Any:
        model = network(torch)
        before = list(model.parameters())
        model(torch.ones(1, 3)).sum().backward()
        same_model = change(model, torch) is model
        same_parameters = all(one is other for one, other in zip(before, model.parameters(), strict=True))
        grads = [each.grad if each.grad is None else each.grad.dtype for each in before]
        return same_model, same_parameters, {n: x.dtype for n, x in model.state_dict().items()}, grads

    return call


def applied(torch: ModuleType) -> Any:
    names: list[str] = []
    network(torch).apply(lambda each: names.append(type(each).__name__))
    return names


def modes(torch: ModuleType) -> Any:
    model = network(torch).eval()
    before = [each.training for each in model.modules()]
    return before, [each.training for each in model.train().modules()], model.inner.eval()[0].training, model.training


def frozen(torch: ModuleType) -> Any:
    model = network(torch)
    model.first.requires_grad_(False)
    model(torch.ones(1, 3)).sum().backward()
    grads = [each.grad for each in model.parameters()]
    model.zero_grad(set_to_none=False)
    zeros = [each.grad for each in model.parameters()]
    model.zero_grad()
    return grads, zeros, [each.grad for each in model.parameters()]


def copied(torch: ModuleType) -> Any:
    model = network(torch)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.first.weight.zero_()
    lazy = copy.deepcopy(torch.nn.LazyLinear(2))
    return other, model.first.weight, other.heads.again.weight is other.first.weight, other.state_dict(), lazy.weight


def a_copied_result(torch: ModuleType) -> Any:
    return copy.deepcopy(torch.ones(1, requires_grad=True) * 2)


CALLS: dict[str, Callable[[ModuleType], Any]] = {
    "printed": network,
    "a list": a_list_hides_it,
    "deleted": loses_what_is_deleted,
    "missing": lambda torch: network(torch).weights,
    "no forward": lambda torch: torch.nn.Module()(1),
    "parameter": lambda torch: (torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2), False)),
    "of a view": lambda torch: (lambda x: torch.nn.Parameter(x[0]).data_ptr() == x.data_ptr())(torch.ones(2, 2)),
    "integer parameter": lambda torch: torch.nn.Parameter(torch.tensor([1, 2]), requires_grad=False),
    "a registered tensor": lambda torch: torch.nn.Module().register_parameter("x", torch.ones(1)),
    "a registered number": lambda torch: torch.nn.Module().register_buffer("x", 1),
    "an added number": lambda torch: torch.nn.Module().add_module("x", 1),
    "a dot": lambda torch: torch.nn.Module().register_buffer("a.b", None),
    "a dot in a module": lambda torch: torch.nn.Module().add_module("a.b", None),
    "an empty name": lambda torch: torch.nn.Module().register_parameter("", None),
    "a name in use": lambda torch: torch.nn.Module().register_buffer("training", None),
    "modules": lambda torch: [(name, type(each).__name__) for name, each in network(torch).named_modules()],
    "all modules": lambda torch: [name for name, _ in network(torch).named_modules(remove_duplicate=False)],
    "modules, prefix": lambda torch: [name for name, _ in network(torch).named_modules(prefix="net")],
    "children": lambda torch: [name for name, _ in network(torch).named_children()],
    "unnamed": lambda torch: [len(list(each)) for each in (network(torch).children(), network(torch).modules())],
    "parameters": lambda torch: list(network(torch).named_parameters()),
    "all parameters": lambda torch: [name for name, _ in network(torch).named_parameters(remove_duplicate=False)],
    "own parameters": lambda torch: [name for name, _ in network(torch).first.named_parameters("p", recurse=False)],
    "buffers": lambda torch: list(network(torch).named_buffers()),
    "buffers alone": lambda torch: list(network(torch).buffers()),
    "submodule": lambda torch: network(torch).get_submodule("inner.2"),
    "no submodule": lambda torch: network(torch).get_submodule("inner.3"),
    "a parameter is no submodule": lambda torch: network(torch).get_submodule("first.weight"),
    "itself": lambda torch: network(torch).get_submodule(""),
    "state dict": with_values,
    "prefix": lambda torch: list(network(torch).state_dict(prefix="model.")),
    "prefix without a dot": lambda torch: list(network(torch).state_dict(prefix="model")),
    "double": types_after(lambda model, torch: model.double()),
    "half": types_after(lambda model, torch: model.half()),
    "float": types_after(lambda model, torch: model.double().float()),
    "to float64": types_after(lambda model, torch: model.to(torch.float64)),
    "to both": types_after(lambda model, torch: model.to("cpu", torch.float64)),
    "to a device": types_after(lambda model, torch: model.to(device="cpu")),
    "cpu": types_after(lambda model, torch: model.cpu()),
    "to integers": types_after(lambda model, torch: model.to(torch.int64)),
    "apply": applied,
    "modes": modes,
    "frozen": frozen,
    "copied": copied,
    "a copied result": a_copied_result,
    "items of a dict": lambda torch: list(torch.nn.ModuleDict({"a": torch.nn.Identity(1, name=2)}).items()),
    "flatten": lambda torch: torch.nn.Flatten(0, -2),
}


@part(module + "Module.named_modules", module + "Module.named_members", module + "Module.state_dict")
@part(module + "Module._apply", module + "Module.apply", module + "Module.train")
@pytest.mark.parametrize("name", CALLS)
def test_names_state_and_the_whole_tree(mytorch: ModuleType, name: str) -> None:
    same(CALLS[name], mytorch)


def changed_state(change: Callable[[dict[str, Any], ModuleType], Any], strict: bool) -> Callable[[ModuleType], Any]:
    """Load the changed state of one model into another: the keys, or the error; and what was loaded."""

    def call(torch: ModuleType) -> Any:
        model, state = network(torch), {name: x.clone() for name, x in network(torch).state_dict().items()}
        before = list(model.parameters())
        change(state, torch)
        try:
            said = repr(model.load_state_dict(state, strict=strict))
        except RuntimeError as error:
            said = str(error)
        same_objects = all(one is other for one, other in zip(before, model.parameters(), strict=True))
        return said, model.state_dict(), same_objects

    return call


CHANGES: dict[str, Callable[[dict[str, Any], ModuleType], Any]] = {
    "all match": lambda state, torch: None,
    "one is missing": lambda state, torch: state.pop("first.bias"),
    "two are missing": lambda state, torch: (state.pop("first.bias"), state.pop("inner.0.factor")),
    "one too many": lambda state, torch: state.update(extra=torch.ones(1)),
    "both": lambda state, torch: (state.pop("first.bias"), state.update(extra=torch.ones(1), more=torch.ones(2))),
    "another shape": lambda state, torch: state.update({"first.weight": torch.ones(2, 4)}),
    "everything": lambda state, torch: (
        state.pop("first.bias"),
        state.update({"extra": torch.ones(1), "first.weight": torch.ones(3), "inner.2.weight": 3}),
    ),
    "another type": lambda state, torch: state.update({"first.weight": torch.ones(2, 3, dtype=torch.float64) / 3}),
    "a prefix": lambda state, torch: [state.update({f"module.{name}": state.pop(name)}) for name in list(state)],
    "not saved": lambda state, torch: state.update({"inner.0.scratch": torch.ones(3)}),
}


@part(module + "Module.load_state_dict", module + "load")
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", CHANGES)
def test_what_is_loaded_and_what_is_refused(mytorch: ModuleType, name: str, strict: bool) -> None:
    same(changed_state(CHANGES[name], strict), mytorch)


@part(module + "Module.load_state_dict", module + "Module.state_dict")
@pytest.mark.parametrize("torch", ORACLES, ids=lambda each: each.__name__)
def test_a_state_dict_loads_and_comes_back(mytorch: ModuleType, torch: Any) -> None:
    torch.manual_seed(1)
    model, mine = network(torch), network(mytorch)
    state = {name: mytorch.tensor(each.numpy()) for name, each in model.state_dict().items()}
    assert repr(mine.load_state_dict(state)) == "<All keys matched successfully>"
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    answers = [each(lib.tensor(x)).detach().numpy() for each, lib in ((mine, mytorch), (model, torch))]
    np.testing.assert_allclose(*answers, rtol=1e-5, atol=1e-6)
    back = {name: torch.tensor(each.numpy()) for name, each in mine.state_dict().items()}
    other = network(torch)
    other.load_state_dict(back)
    for name, each in other.state_dict().items():
        assert torch.equal(each, model.state_dict()[name])


def hooked(register: Callable[[Any, list[Any]], Any], training: bool = True) -> Callable[[ModuleType], Any]:
    """What hooks saw, the result, and the gradients, of a call and a second one without the first hook."""

    def call(torch: ModuleType) -> Any:
        model = network(torch)
        log: list[Any] = []
        handles = register(model, log)
        shown = []
        for _ in range(2):
            x = torch.ones(2, 3, requires_grad=True)
            result = model(x)
            if training:
                result.sum().backward()
            shown.append((result, x.grad, [each.grad for each in model.parameters()]))
            model.zero_grad()
            handles[0].remove()
        return log, shown

    return call


def note(log: list[Any], answer: Callable[..., Any]) -> Callable[..., Any]:
    def hook(*args: Any) -> Any:
        log.append((type(args[0]).__name__, *args[1:]))
        return answer(*args[1:])

    return hook


HOOKS: dict[str, Callable[[Any, list[Any]], Any]] = {
    "before": lambda model, log: [model.inner.register_forward_pre_hook(note(log, lambda args: None))],
    "before, changes": lambda model, log: [model.inner.register_forward_pre_hook(note(log, lambda args: args[0] * 2))],
    "before, a tuple": lambda model, log: [
        model.inner.register_forward_pre_hook(note(log, lambda args: (args[0] * 2,))),
        model.inner.register_forward_pre_hook(note(log, lambda args: (args[0] + 1,))),
    ],
    "after": lambda model, log: [model.first.register_forward_hook(note(log, lambda args, result: None))],
    "after, change": lambda model, log: [
        model.inner[0].register_forward_hook(note(log, lambda args, result: result * 2)),
        model.inner[0].register_forward_hook(note(log, lambda args, result: result + 1)),
    ],
    "backward": lambda model, log: [model.inner.register_full_backward_hook(note(log, lambda grads, given: None))],
    "backward, all": lambda model, log: [
        each.register_full_backward_hook(note(log, lambda grads, given: None)) for each in model.modules()
    ],
    "backward, changes": lambda model, log: [
        model.inner.register_full_backward_hook(note(log, lambda grads, given: (grads[0] * 2,))),
        model.inner.register_full_backward_hook(note(log, lambda grads, given: (grads[0] + 1,))),
    ],
}


@part(module + "Module.__call__", call_of + "enter", call_of + "leave", call_of + "run_hooks")
@part("mytorch.nn.backward_hooks:through_border")
@pytest.mark.parametrize("name", HOOKS)
def test_hooks(mytorch: ModuleType, name: str) -> None:
    same(hooked(HOOKS[name]), mytorch)


@part(module + "Module.__call__", call_of + "leave", "mytorch.nn.backward_hooks:through_border")
def test_backward_hooks_without_gradients(mytorch: ModuleType) -> None:
    def call(torch: ModuleType) -> Any:
        model, log = network(torch), []
        model.first.register_full_backward_hook(note(log, lambda grads, given: None))
        with torch.no_grad():
            quiet = model(torch.ones(2, 3))
        model(torch.ones(2, 3)).sum().backward()  # the input requires no gradient
        return log, quiet

    same(call, mytorch)


@part(module + "Module.__call__", "mytorch.nn.backward_hooks:through_border")
def test_backward_hooks_of_several_inputs_and_outputs(mytorch: ModuleType) -> None:
    def call(torch: ModuleType) -> Any:
        class Both(torch.nn.Module):
            def forward(self, x: Any, number: float, y: Any) -> Any:
                return x * y, x.detach(), number * y

        model, log = Both(), []
        model.register_full_backward_hook(note(log, lambda grads, given: None))
        x, y = torch.ones(2, requires_grad=True), torch.full((2,), 2.0, requires_grad=True)
        product, _, _ = model(x, 3.0, y)
        product.sum().backward()
        one, _, other = model(x, 3.0, y)
        (one * other).sum().backward()
        return log, x.grad, y.grad

    same(call, mytorch)


def of_lists(torch: ModuleType) -> Any:
    layers = torch.nn.ModuleList([torch.nn.Linear(1, 1) for _ in range(4)])
    layers.append(torch.nn.Identity()).extend([torch.nn.Linear(1, 2)])
    layers[1] = torch.nn.Linear(2, 2)
    return layers, len(layers), layers[1:3], layers[-1], list(layers[2:].state_dict())


def of_rows(torch: ModuleType) -> Any:
    names = OrderedDict(a=torch.nn.Linear(2, 3), b=torch.nn.Identity())
    row = torch.nn.Sequential(names)
    row.append(torch.nn.Linear(3, 1))
    return row, row[1:], row[0], row(torch.ones(1, 2)), row.b, torch.nn.Sequential()(3), list(row)


def of_dicts(torch: ModuleType) -> Any:
    table = torch.nn.ModuleDict({"a": torch.nn.Identity()})
    table["b"] = torch.nn.Linear(1, 1)
    table.update({"c": torch.nn.ModuleList()})
    del table["a"]
    return table, list(table), list(table.keys()), len(list(table.values())), "b" in table, table.c, len(table)


@pytest.mark.parametrize("call", [of_lists, of_rows, of_dicts, lambda torch: torch.nn.ModuleList()[0]])
def test_containers(mytorch: ModuleType, call: Callable[[ModuleType], Any]) -> None:
    same(call, mytorch)


@part(linear + "linear")
@pytest.mark.parametrize("size", [(3,), (2, 3), (4, 2, 3), (0, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(mytorch: ModuleType, size: tuple[int, ...], bias: bool) -> None:
    same(lambda torch: torch.nn.Linear(3, 5, bias), mytorch)
    numbers = np.random.default_rng(0).normal(size=size).astype(np.float32)

    def numbers_of(torch: ModuleType) -> list[Any]:
        torch.manual_seed(3)
        layer, x = torch.nn.Linear(3, 5, bias), torch.tensor(numbers).requires_grad_()
        result = layer(x)
        (result * result).sum().backward()
        return [each.detach().numpy() for each in (result, x.grad, layer.weight.grad, layer.weight)]

    agree(numbers_of, mytorch)


@pytest.mark.parametrize("features", [1, 3, 7, 100])
def test_first_values_are_minitorchs_in_every_digit(mytorch: ModuleType, features: int) -> None:
    def call(torch: ModuleType) -> Any:
        layers = torch.nn.Linear(features, 4), torch.nn.Bilinear(features, 2, 3), torch.nn.Linear(features, 2, False)
        return [x.tolist() for layer in layers for x in layer.parameters()]

    same(call, mytorch)


@part(linear + "bilinear")
@pytest.mark.parametrize("size", [(), (2,), (4, 2)])
def test_bilinear(mytorch: ModuleType, size: tuple[int, ...]) -> None:
    same(lambda torch: torch.nn.Bilinear(3, 4, 5), mytorch)
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=(*size, width)).astype(np.float32) for width in (3, 4)]

    def numbers_of(torch: ModuleType) -> list[Any]:
        torch.manual_seed(3)
        layer, inputs = torch.nn.Bilinear(3, 4, 5), [torch.tensor(each).requires_grad_() for each in arrays]
        result = layer(*inputs)
        (result * result).sum().backward()
        grads = [each.grad for each in (*inputs, layer.weight, layer.bias)]
        return [each.detach().numpy() for each in (result, *grads)]

    agree(numbers_of, mytorch)


def lazily(torch: ModuleType) -> Any:
    layer = torch.nn.LazyLinear(2)
    before = repr(layer), repr(layer.weight), list(layer.state_dict()), [id(each) for each in layer.parameters()]
    result = layer(torch.ones(4, 3))
    same_objects = before[-1] == [id(each) for each in layer.parameters()]
    return before[:-1], layer, type(layer).__name__, layer.weight, same_objects, result.shape


def loaded_lazily(torch: ModuleType) -> Any:
    layer = torch.nn.Sequential(torch.nn.LazyLinear(2), torch.nn.Identity())
    layer.load_state_dict({"0.weight": torch.ones(2, 3), "0.bias": torch.zeros(2)})
    return layer[0].weight, layer(torch.ones(1, 3)), layer


@pytest.mark.parametrize("call", [lazily, loaded_lazily, lambda torch: torch.nn.LazyLinear(2).weight.shape])
@part("mytorch.nn.lazy:initialize", "mytorch.nn.lazy:LazyLinear.initialize_parameters")
def test_lazy_layers(mytorch: ModuleType, call: Callable[[ModuleType], Any]) -> None:
    same(call, mytorch)


@part(utils + "parameters_to_vector", utils + "vector_to_parameters")
def test_parameters_as_a_vector_and_back(mytorch: ModuleType) -> None:
    def call(torch: ModuleType) -> Any:
        model = network(torch)
        vector = torch.nn.utils.parameters_to_vector(model.parameters())
        numbers = torch.arange(vector.numel(), dtype=torch.float32)
        torch.nn.utils.vector_to_parameters(numbers, model.parameters())
        numbers[0] = 100.0
        again = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
        return vector.detach(), again, model.state_dict(), [each.is_leaf for each in model.parameters()]

    same(call, mytorch)


@part(module + "Module._apply")
def test_a_model_moves_to_a_gpu_with_its_buffers(mytorch: ModuleType) -> None:
    mytorch.cuda.simulate(2)
    model = network(mytorch).to("cuda:1")
    assert {str(each.device) for each in model.state_dict().values()} == {"cuda:1"}
    assert {str(each.device) for each in model.cpu().state_dict().values()} == {"cpu"}
    assert str(model.cuda(0).inner[0].count.device) == "cuda:0"
    mytorch.cuda.simulate(0)
