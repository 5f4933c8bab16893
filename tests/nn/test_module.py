"""nn.Module does what torch's does."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from tests.nn.beyond import LINEAR
from tests.same import attempt, errors, same


def network(torch: Any) -> Any:
    nn = torch.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 4)
            self.act = nn.ReLU()
            self.rest = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Tanh(), nn.Linear(4, 2))
            self.register_buffer("seen", torch.zeros(2))
            self.register_buffer("hidden", torch.ones(1), persistent=False)
            self.scale = nn.Parameter(torch.ones(2))
            self.register_parameter("none", None)

        def forward(self, x: Any) -> Any:
            return self.rest(self.act(self.first(x))) * self.scale

    return Network()


@same
def test_construction_draws_the_same_numbers(torch: Any) -> Any:
    return dict(network(torch).state_dict())


@same
def test_gradients_of_another_type_are_refused(torch: Any) -> Any:
    def assign(of: Any, gradient: Any) -> None:
        torch.zeros(2, dtype=of).grad = torch.zeros(2, dtype=gradient)

    return errors(
        lambda: assign(torch.float32, torch.float64),
        lambda: assign(torch.float64, torch.bfloat16),
        lambda: assign(torch.bfloat16, torch.int64),
        lambda: assign(torch.int64, torch.bool),
        lambda: assign(torch.complex64, torch.float32),
    )


@LINEAR
@same
def test_repr_of_a_network(torch: Any) -> Any:
    return repr(network(torch))


@same
def test_forward_and_gradients(torch: Any) -> Any:
    model = network(torch)
    output = model(torch.arange(6.0).reshape(2, 3))
    output.square().sum().backward()
    return [output, [parameter.grad for parameter in model.parameters()]]


@LINEAR
@same
def test_graph_names(torch: Any) -> Any:
    node = network(torch)(torch.ones(2, 3)).grad_fn
    names = []
    while node is not None:
        names.append(node.name())
        following = [each for each, _ in node.next_functions if each is not None]
        node = next((each for each in following if "Accumulate" not in each.name()), None)
    return names


@same
def test_names(torch: Any) -> Any:
    model = network(torch)
    model.again = model.first
    return [
        [name for name, _ in model.named_parameters()],
        [name for name, _ in model.named_parameters(remove_duplicate=False)],
        [name for name, _ in model.named_parameters("p", recurse=False)],
        [name for name, _ in model.named_buffers()],
        [name for name, _ in model.named_modules()],
        [name for name, _ in model.named_modules(remove_duplicate=False)],
        [name for name, _ in model.named_children()],
        len(list(model.modules())),
        len(list(model.children())),
        len(list(model.buffers())),
        [name for name in dir(model) if name in ("first", "scale", "seen", "training")],
    ]


@same
def test_shared_parameters_count_once(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    return [[name for name, _ in model.named_parameters()], list(model.state_dict())]


@same
def test_registration_errors(torch: Any) -> Any:
    nn = torch.nn
    model = network(torch)
    computed = torch.ones(2, requires_grad=True) * 2

    class Early(nn.Module):
        def __init__(self, value: Any) -> None:
            self.value = value
            super().__init__()

    class EarlyRegister(nn.Module):
        def __init__(self, method: str) -> None:
            getattr(self, method)("value", None)

    return errors(
        lambda: setattr(model, "first", 3),
        lambda: setattr(model, "scale", torch.ones(2)),
        lambda: setattr(model, "seen", "text"),
        lambda: model.register_parameter("a.b", None),
        lambda: model.register_parameter("", None),
        lambda: model.register_parameter(3, None),
        lambda: model.register_parameter("forward", None),
        lambda: model.register_parameter("p", torch.ones(1)),
        lambda: model.register_parameter("p", "text"),
        lambda: model.register_parameter("p", computed),
        lambda: model.register_buffer("a.b", None),
        lambda: model.register_buffer("", None),
        lambda: model.register_buffer(3, None),
        lambda: model.register_buffer("scale", None),
        lambda: model.register_buffer("b", 3),
        lambda: model.add_module("a.b", None),
        lambda: model.add_module("", None),
        lambda: model.add_module(3, None),
        lambda: model.add_module("scale", None),
        lambda: model.add_module("m", 3),
        lambda: model.add_module("m", torch.ones(2)),
        lambda: model.nothing,
        lambda: model.train("yes"),
        lambda: Early(nn.Parameter(torch.ones(1))),
        lambda: Early(nn.Linear(1, 1)),
        lambda: EarlyRegister("register_parameter"),
        lambda: EarlyRegister("register_buffer"),
        lambda: nn.Module(3),
        lambda: nn.Module(a=3),
        lambda: nn.Module()(3),
        lambda: delattr(model, "nothing"),
    )


@LINEAR
@same
def test_assignment_moves_names(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Module()
    steps: list[Any] = []

    def note() -> None:
        owners = (model._parameters, model._buffers, model._modules)
        steps.append([list(owner) for owner in owners] + ["x" in model.__dict__])

    model.x = 3
    note()
    model.x = nn.Parameter(torch.ones(1))
    note()
    model.x = None
    note()
    steps.append(attempt(setattr, model, "x", nn.Linear(1, 1)))
    note()
    del model.x
    model.x = nn.Linear(1, 1)
    note()
    model.x = nn.Parameter(torch.ones(1))
    note()
    del model.x
    note()
    model.x = nn.Buffer(torch.ones(1), persistent=False)
    note()
    model.x = torch.zeros(1)
    note()
    steps.append(list(model.state_dict()))
    model.x = nn.Buffer(torch.ones(1))
    steps.append(list(model.state_dict()))
    return steps


@same
def test_paths(torch: Any) -> Any:
    model = network(torch)
    model.set_submodule("rest.1", torch.nn.Sigmoid())
    return [
        repr(model.get_submodule("rest.1")),
        model.get_submodule("") is model,
        model.get_parameter("rest.0.weight"),
        model.get_buffer("seen"),
        *errors(
            lambda: model.get_submodule("rest.7"),
            lambda: model.get_submodule("scale"),
            lambda: model.get_parameter("rest.0.nothing"),
            lambda: model.get_parameter("seen"),
            lambda: model.get_buffer("scale"),
            lambda: model.get_buffer("nothing"),
            lambda: model.set_submodule("", model),
            lambda: model.set_submodule("a.b", model),
            lambda: model.set_submodule("a", 3),
            lambda: model.set_submodule("scale", torch.nn.ReLU()),
            lambda: model.set_submodule("absent", torch.nn.ReLU(), strict=True),
        ),
    ]


@same
def test_state_dict_forms(torch: Any) -> Any:
    model = network(torch)
    kept = model.state_dict(keep_vars=True)
    return [
        list(model.state_dict(prefix="p.")),
        type(model.state_dict()).__name__,
        kept["scale"] is model.scale,
        model.state_dict()["scale"].requires_grad,
        model.state_dict()["scale"].data_ptr() == model.scale.data_ptr(),
        {name: dict(metadata) for name, metadata in model.state_dict()._metadata.items()},
    ]


@same
def test_loading(torch: Any) -> Any:
    one, other = network(torch), network(torch)
    result = one.load_state_dict(other.state_dict())
    same = [bool((a == b).all()) for a, b in zip(one.parameters(), other.parameters(), strict=True)]
    state = other.state_dict()
    del state["scale"], state["rest.2.bias"]
    state["extra"] = torch.ones(1)
    state["rest.9.weight"] = torch.ones(1)
    loose = one.load_state_dict(state, strict=False)
    return [repr(result), same, repr(loose), loose.missing_keys, loose.unexpected_keys]


@same
def test_loading_errors(torch: Any) -> Any:
    model = network(torch)
    state = model.state_dict()
    del state["scale"], state["rest.2.bias"]
    state["extra"] = torch.ones(1)
    wrong = model.state_dict()
    wrong["scale"] = torch.ones(3)
    wrong["first.weight"] = torch.ones(4, 2)
    text = model.state_dict()
    text["scale"] = "text"
    return errors(
        lambda: model.load_state_dict(state),
        lambda: model.load_state_dict(wrong),
        lambda: model.load_state_dict(wrong, strict=False),
        lambda: model.load_state_dict(text),
        lambda: model.load_state_dict([1]),
    )


@same
def test_loading_by_assignment(torch: Any) -> Any:
    model = network(torch)
    model.scale.requires_grad_(False)
    state = {name: each.double() for name, each in model.state_dict().items()}
    model.load_state_dict(state, assign=True)
    return [
        str(model.scale.dtype),
        model.scale.requires_grad,
        model.first.weight.requires_grad,
        type(model.first.weight).__name__,
        model.scale.data_ptr() == state["scale"].data_ptr(),
    ]


@same
def test_state_dict_hooks(torch: Any) -> Any:
    model = network(torch)
    log: list[Any] = []
    handles = [
        model.register_state_dict_pre_hook(lambda module, prefix, keep_vars: log.append(("pre", prefix, keep_vars))),
        model.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.__delitem__("scale")),
        model.register_load_state_dict_pre_hook(lambda module, state, *rest: log.append(sorted(state)) or None),
        model.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear()),
    ]
    state = model.state_dict()
    result = model.load_state_dict(state)
    for handle in handles:
        handle.remove()
    return [log, list(state), repr(result), "scale" in model.state_dict()]


@same
def test_extra_state(torch: Any) -> Any:
    class Counter(torch.nn.Module):
        count = 3

        def get_extra_state(self) -> Any:
            return {"count": self.count}

        def set_extra_state(self, state: Any) -> None:
            self.count = state["count"]

    model = torch.nn.Sequential(Counter())
    state = model.state_dict()
    model[0].count = 7
    model.load_state_dict(state)
    return [dict(state), model[0].count, *errors(lambda: model.load_state_dict({}))]


@same
def test_modes(torch: Any) -> Any:
    model = network(torch)
    model.eval()
    states = [module.training for module in model.modules()]
    model.rest.train()
    states += [module.training for module in model.modules()]
    model.requires_grad_(False)
    return [states, [parameter.requires_grad for parameter in model.parameters()], model.train() is model]


@same
def test_conversions(torch: Any) -> Any:
    model = network(torch)
    model.register_buffer("whole", torch.arange(3))
    weight = model.first.weight
    model(torch.ones(1, 3)).sum().backward()
    model.double()
    seen = [str(each.dtype) for each in [*model.parameters(), *model.buffers(), weight.grad]]
    seen.append(model.first.weight is weight)
    for convert in (
        lambda: model.half(),
        lambda: model.bfloat16(),
        lambda: model.float(),
        lambda: model.to(torch.float64),
        lambda: model.to("cpu", torch.float32),
        lambda: model.to(dtype=torch.float16),
        lambda: model.to(torch.zeros(1, dtype=torch.float64)),
        lambda: model.cpu(),
        lambda: model.type(torch.float32),
    ):
        assert convert() is model
        seen.append([str(model.scale.dtype), str(model.whole.dtype), str(model.seen.dtype)])
    images = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 2), torch.nn.Linear(2, 2)).to(memory_format=torch.channels_last)
    strides = [each.stride() for each in images.parameters()]
    refused = [lambda: model.to(torch.int64), lambda: model.to("cpu", copy=True), lambda: model.requires_grad_(1)]
    return [seen, strides, errors(*refused)]


@same
def test_names_of_classes_in_errors(torch: Any) -> Any:
    model = network(torch)
    return errors(
        lambda: model.add_module("new", torch.nn.ReLU),
        lambda: setattr(model, "first", len),
        lambda: setattr(model, "scale", torch.Size([1])),
        lambda: setattr(model.scale, "requires_grad", 1),
    )


@same
def test_zero_grad(torch: Any) -> Any:
    model = network(torch)
    model(torch.ones(1, 3)).sum().backward()
    kept = model.scale.grad
    model.zero_grad(set_to_none=False)
    zeros = [kept, model.scale.grad is kept]
    model.zero_grad()
    return [zeros, [parameter.grad for parameter in model.parameters()]]


@same
def test_apply(torch: Any) -> Any:
    visited: list[str] = []
    model = network(torch)
    assert model.apply(lambda module: visited.append(type(module).__name__)) is model
    return visited


@same
def test_forward_hooks(torch: Any) -> Any:
    model = torch.nn.Linear(2, 2)
    log: list[Any] = []

    def note(name: str, *values: Any) -> None:
        log.append([name, *values])

    handles = [
        model.register_forward_pre_hook(lambda module, args: note("pre", args[0])),
        model.register_forward_pre_hook(lambda module, args: (args[0] * 2,)),
        model.register_forward_pre_hook(lambda module, args: args[0] + 1, prepend=True),
        model.register_forward_hook(lambda module, args, output: note("post", args[0], output)),
        model.register_forward_hook(lambda module, args, output: output * 10),
        model.register_forward_pre_hook(lambda module, args, kwargs: (args, kwargs), with_kwargs=True),
        model.register_forward_hook(lambda module, args, kwargs, output: note("kwargs", kwargs), with_kwargs=True),
    ]
    first = model(torch.ones(1, 2))
    for handle in handles:
        handle.remove()
    bad = model.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    raised = errors(lambda: model(torch.ones(1, 2)))
    bad.remove()
    return [log, first, model(torch.ones(1, 2)), raised]


@same
def test_a_hook_that_always_runs(torch: Any) -> Any:
    model = torch.nn.Linear(2, 2)
    log: list[Any] = []
    model.register_forward_hook(lambda module, args, output: log.append(output), always_call=True)
    model.register_forward_hook(lambda module, args, output: log.append("not"))
    model.register_forward_hook(lambda module, args, output: 5, always_call=True)
    model.register_forward_hook(lambda module, args, output: log.append(output), always_call=True)
    return [errors(lambda: model("text"))[0][0], log]


@same
def test_backward_hooks(torch: Any) -> Any:
    model = torch.nn.Linear(2, 3)
    log: list[Any] = []

    def note(module: Any, grad_input: Any, grad_output: Any) -> None:
        log.append([grad_input, grad_output])

    model.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
    model.register_full_backward_hook(note)
    model.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 3,))
    x = torch.ones(1, 2, requires_grad=True)
    output = model(x)
    output.sum().backward()
    return [log, x.grad, model.weight.grad, output.grad_fn.name()]


@same
def test_backward_hooks_without_input_gradient(torch: Any) -> Any:
    model = torch.nn.Linear(2, 3)
    log: list[Any] = []
    model.register_full_backward_hook(lambda module, grad_input, grad_output: log.append([grad_input, grad_output]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model(torch.ones(1, 2)).sum().backward()
    return [log, [str(each.message) for each in caught]]


@same
def test_what_backward_hooks_return(torch: Any) -> Any:
    """In place of the gradients of a module with two inputs; where it is wrong, the error."""

    class Product(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x * y

    one = torch.ones(1, 2)

    def gradients(register: str, returned: Any) -> Any:
        model, inputs = Product(), [torch.full((1, 2), 2.0 + i, requires_grad=True) for i in range(2)]
        getattr(model, register)(lambda *args: returned)
        model(*inputs).sum().backward()
        return [each.grad for each in inputs]

    kinds: list[Any] = [None, 5, (), (None,), (None, None), (one, None), (one * 9,), one * 9, [one, one], (one[0], one)]
    kinds += [(one.double(), one), (one.double(),)]
    registers = ["register_full_backward_hook", "register_full_backward_pre_hook"]
    return errors(*(lambda k=kind, r=register: gradients(r, k) for kind in kinds for register in registers))


@same
def test_gradients_that_backward_hooks_see(torch: Any) -> Any:
    """Zeros for inputs and outputs that need none, None for what is no tensor."""

    class Any_(torch.nn.Module):
        def __init__(self, function: Any) -> None:
            super().__init__()
            self.function = function

        def forward(self, *args: Any) -> Any:
            return self.function(*args)

    log: list[Any] = []

    def run(function: Any, *args: Any) -> list[Any]:
        model = Any_(function)
        model.register_full_backward_hook(lambda module, *grads: log.append(grads))
        outputs = model(*args)
        outputs[0].sum().backward()
        return [each.grad_fn.name() if getattr(each, "grad_fn", None) else None for each in outputs]

    x = torch.ones(1, 2, requires_grad=True)
    names = [
        run(lambda x, y: (x * 2, y * 3), x, torch.ones(1, 2)),
        run(lambda x, y: (x * 2, y * 3), x, torch.ones(1, 2, requires_grad=True)),
        run(lambda x, i: (x * i, x.argmax(), 5, None), x, torch.tensor([1, 2])),
        run(lambda x, factor: (x * factor,), x, 3.0),
    ]
    written_to = Any_(lambda x: x * 2)
    written_to.register_full_backward_hook(lambda *args: None)
    return [names, log, errors(lambda: written_to(x).add_(1))]


@same
def test_empty_lines_in_a_repr(torch: Any) -> Any:
    class Paragraphs(torch.nn.Module):
        def __repr__(self) -> str:
            return "One\n\n two\n \nthree"

    model = torch.nn.Sequential(Paragraphs(), torch.nn.Sequential(Paragraphs()))
    return repr(model), repr(torch.nn.ModuleList([Paragraphs(), Paragraphs(), model]))


@same
def test_backward_hooks_of_the_older_kind(torch: Any) -> Any:
    nn = torch.nn

    class Two(nn.Module):
        def __init__(self, result: Callable[[Any, Any], Any]) -> None:
            super().__init__()
            self.result = result

        def forward(self, x: Any, other: Any) -> Any:
            return self.result(x, other)

    cases = [
        (nn.ReLU(), (torch.ones(1, 2, requires_grad=True) * 2,)),
        (nn.Conv2d(1, 2, 2), (torch.ones(1, 1, 3, 3, requires_grad=True),)),
        (nn.Sequential(nn.ReLU(), nn.Sigmoid()), (torch.ones(1, 2, requires_grad=True),)),
        (Two(lambda x, other: (x * 2, x * 3)), (torch.ones(2, requires_grad=True), torch.ones(2))),
        (Two(lambda x, other: [x * 2]), (torch.ones(2, requires_grad=True), torch.ones(2))),
        (Two(lambda x, other: {"a": None, "b": x * 2}), (torch.ones(2, requires_grad=True), torch.ones(2))),
        (Two(lambda x, other: x * other), (torch.ones(2, requires_grad=True), 3.0)),
        (Two(lambda x, other: other), (torch.ones(2), torch.ones(2))),
    ]
    log: list[Any] = []

    def hook(module: Any, grad_input: Any, grad_output: Any) -> Any:
        log.append([type(module).__name__, grad_input, grad_output])
        return tuple(None if each is None else each * 2 for each in grad_input)

    for model, inputs in cases:
        model.register_backward_hook(hook)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            output = model(*inputs)
        first = next(iter(output.values())) if isinstance(output, dict) else output
        first = output["b"] if first is None else first[0]
        if first.requires_grad:
            first.sum().backward()
        log.append([inputs[0].grad if inputs[0].is_leaf else None, [each.category.__name__ for each in caught]])
    full = nn.ReLU()
    full.register_full_backward_hook(hook)
    mixed = errors(lambda: full.register_backward_hook(hook), lambda: model.register_full_backward_hook(hook))
    return [log, mixed]


@same
def test_global_hooks(torch: Any) -> Any:
    module = torch.nn.modules.module
    log: list[str] = []

    def note(event: str) -> Callable[..., None]:
        return lambda owner, *rest: log.append(f"{event} {type(owner).__name__}")

    handles = [
        module.register_module_forward_pre_hook(note("before")),
        module.register_module_forward_hook(note("after")),
        module.register_module_full_backward_pre_hook(note("backward before")),
        module.register_module_full_backward_hook(note("backward after")),
        module.register_module_parameter_registration_hook(note("parameter")),
        module.register_module_buffer_registration_hook(note("buffer")),
        module.register_module_module_registration_hook(note("module")),
    ]
    try:
        network(torch)(torch.ones(1, 3, requires_grad=True)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    before = len(log)
    network(torch)(torch.ones(1, 3))
    return [log, len(log) == before]


@same
def test_copies(torch: Any) -> Any:
    model = network(torch)
    model(torch.ones(1, 3)).sum().backward()
    clone = copy.deepcopy(model)
    clone.scale.data.fill_(5.0)
    return [
        model.scale,
        clone.scale,
        type(clone.scale).__name__,
        clone.scale.grad,
        clone.first.weight is model.first.weight,
    ]


@same
def test_parameter_class(torch: Any) -> Any:
    nn = torch.nn
    source = torch.ones(2)
    parameter = nn.Parameter(source, requires_grad=False)
    buffer = nn.Buffer(torch.ones(1))

    class Special(torch.Tensor):
        pass

    special = nn.Parameter(Special([1.0, 1.0]))
    return [
        repr(nn.Parameter(source)),
        repr(parameter),
        parameter.data_ptr() == source.data_ptr(),
        isinstance(parameter, torch.Tensor),
        isinstance(source, nn.Parameter),
        type(nn.Parameter(source) * 2).__name__,
        type(nn.Parameter(source).detach()).__name__,
        type(nn.Parameter(source).data).__name__,
        isinstance(buffer, nn.Buffer),
        isinstance(buffer, nn.Parameter),
        type(buffer).__name__,
        buffer.persistent,
        type(special).__name__,
        isinstance(special, nn.Parameter),
        nn.Parameter(source).is_leaf,
        nn.Parameter().shape,
        copy.deepcopy(nn.Parameter(source)),
        nn.Parameter(nn.Parameter(source)).requires_grad,
        *errors(lambda: nn.Parameter(torch.arange(3))),
    ]


class Picklable(minitorch.nn.Module):
    """Of this module, so that pickle finds it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = minitorch.nn.Linear(2, 2)
        self.register_buffer("count", minitorch.zeros(1))


def test_pickling_keeps_parameters_and_buffers() -> None:
    model = Picklable()
    file = io.BytesIO(pickle.dumps(model))
    loaded = pickle.load(file)
    assert list(loaded.state_dict()) == list(model.state_dict())
    assert isinstance(loaded.linear.weight, minitorch.nn.Parameter)
    assert loaded.linear.weight.requires_grad
    assert (loaded.linear.weight == model.linear.weight).all()


def test_modules_pickled_by_older_versions() -> None:
    model = minitorch.nn.Linear(2, 2)
    state = {name: value for name, value in vars(model).items() if not name.endswith(("_hooks", "_hook", "_set"))}
    loaded = minitorch.nn.Linear.__new__(minitorch.nn.Linear)
    loaded.__setstate__(state)
    assert (loaded(minitorch.ones(1, 2)) == model(minitorch.ones(1, 2))).all()
    assert list(loaded.state_dict()) == list(model.state_dict())


def test_a_module_without_hooks_calls_forward_directly() -> None:
    class Raises(minitorch.nn.Module):
        def _call_with_hooks(self, args: Any, kwargs: Any) -> Any:
            raise AssertionError("there are no hooks")

        def forward(self, x: int) -> int:
            return x + 1

    assert Raises()(1) == 2


@same
def test_the_data_of_a_lazy_parameter_is_a_tensor_without_elements(t: Any) -> Any:
    layer = t.nn.LazyLinear(1)
    layer.weight.data.normal_(0, 0.01)
    return type(layer.weight.data) is t.Tensor, layer.bias.data.fill_(0), layer(t.ones(2, 3)).shape


@same
def test_casts_of_what_has_no_shape_yet(torch: Any) -> Any:
    layer = torch.nn.LazyBatchNorm1d().double()
    return layer(torch.randn(4, 3).double()), dict(layer.state_dict()), repr(layer)


@same
def test_positional_arguments_of_state_dict(torch: Any) -> Any:
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        return torch.nn.Linear(2, 1).state_dict({"first": 1}, "layer.", True)
