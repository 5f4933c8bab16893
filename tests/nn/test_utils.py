"""nn.utils and torch.func do what torch's do."""

from __future__ import annotations

import copy
import importlib
import pickle
import warnings
from collections.abc import Callable
from typing import Any

from tests.nn.beyond import LINEAR
from tests.same import errors, same


def step(torch: Any, module: Any, *shape: int) -> list[Any]:
    """The output and the gradients of a call with fixed numbers."""
    count = 1
    for size in shape:
        count *= size
    module.zero_grad()
    output = module(torch.arange(float(count)).reshape(shape) / count)
    output.square().sum().backward()
    return [output, {name: each.grad for name, each in module.named_parameters()}]


def kinds_of_errors(*actions: Any) -> list[str]:
    """The types of the errors, whose words are minitorch's own, or what was returned."""
    return [each if isinstance(each, str) else each[0] for each in errors(*actions)]


# parametrize


def parts(torch: Any) -> dict[str, Any]:
    nn = torch.nn

    class Symmetric(nn.Module):
        def forward(self, X: Any) -> Any:
            return X.triu() + X.triu(1).mT

        def right_inverse(self, A: Any) -> Any:
            return A.triu()

    class Double(nn.Module):
        def forward(self, X: Any) -> Any:
            return 2 * X

    class Sum(nn.Module):
        def forward(self, a: Any, b: Any) -> Any:
            return a + b

        def right_inverse(self, X: Any) -> Any:
            return X / 3, X * 2 / 3

    class Returns(nn.Module):
        def __init__(self, result: Any, inverse: Any = None) -> None:
            super().__init__()
            self.result = result
            if inverse is not None:
                self.right_inverse = inverse

        def forward(self, *X: Any) -> Any:
            return self.result(*X)

    return {"Symmetric": Symmetric, "Double": Double, "Sum": Sum, "Returns": Returns}


@LINEAR
@same
def test_parametrized_layer(torch: Any) -> Any:
    P = torch.nn.utils.parametrize
    layer = torch.nn.Linear(3, 3)
    kinds = parts(torch)
    P.register_parametrization(layer, "weight", kinds["Symmetric"]())
    P.register_parametrization(layer, "weight", kinds["Double"]())
    P.register_parametrization(layer, "bias", kinds["Double"]())
    return [
        repr(layer),
        type(layer).__name__,
        P.type_before_parametrizations(layer) is torch.nn.Linear,
        [P.is_parametrized(layer, name) for name in (None, "weight", "bias", "other")],
        list(layer.state_dict()),
        layer.weight,
        layer.parametrizations.weight.original,
        layer.parametrizations["weight"][1] is layer.parametrizations.weight[1],
        step(torch, layer, 2, 3),
        layer.weight is layer.weight,
        copy.deepcopy(layer).weight,
        type(copy.deepcopy(layer)) is type(layer),
        errors(lambda: pickle.dumps(layer), lambda: setattr(layer, "bias", torch.zeros(3))),
    ]


@same
def test_assignment_to_a_parametrized_tensor(torch: Any) -> Any:
    P = torch.nn.utils.parametrize
    layer = torch.nn.Linear(3, 3)
    P.register_parametrization(layer, "weight", parts(torch)["Symmetric"]())
    original = layer.parametrizations.weight.original
    layer.weight = torch.ones(3, 3)
    return [layer.weight, original, original is layer.parametrizations.weight.original]


@LINEAR
@same
def test_several_originals(torch: Any) -> Any:
    P = torch.nn.utils.parametrize
    layer = torch.nn.Linear(3, 2)
    P.register_parametrization(layer, "weight", parts(torch)["Sum"]())
    before = [list(layer.state_dict()), step(torch, layer, 2, 3), repr(layer)]
    layer.weight = torch.full((2, 3), 3.0)
    other = torch.nn.Linear(3, 2)
    P.transfer_parametrizations_and_params(layer, other)
    shared = other.parametrizations.weight.original1 is layer.parametrizations.weight.original1
    raised = kinds_of_errors(
        lambda: P.remove_parametrizations(layer, "weight", leave_parametrized=False),
        lambda: layer.parametrizations.weight.right_inverse(torch.ones(2, 3).double()),
    )
    P.remove_parametrizations(layer, "weight")
    return [
        before,
        layer.weight,
        type(layer.weight).__name__,
        type(layer).__name__,
        shared,
        raised,
        list(layer._parameters),
    ]


@same
def test_cached_parametrizations(torch: Any) -> Any:
    P = torch.nn.utils.parametrize
    layer = torch.nn.Linear(3, 3)
    P.register_parametrization(layer, "weight", parts(torch)["Double"]())
    with P.cached():
        inside = layer.weight
        with P.cached():
            same = layer.weight is inside
        again = layer.weight is inside
    with torch.no_grad():
        layer.parametrizations.weight.original.add_(1)
    with P.cached():
        later = layer.weight
    return [same, again, layer.weight is inside, inside, later]


@LINEAR
@same
def test_removed_parametrizations(torch: Any) -> Any:
    P = torch.nn.utils.parametrize
    results = []
    for leave in (True, False):
        layer = torch.nn.Linear(3, 3)
        P.register_parametrization(layer, "weight", parts(torch)["Double"]())
        P.register_parametrization(layer, "bias", parts(torch)["Double"]())
        original = layer.parametrizations.weight.original
        P.remove_parametrizations(layer, "weight", leave_parametrized=leave)
        results += [layer.weight, layer.weight is original, type(layer).__name__, repr(layer)]
        P.remove_parametrizations(layer, "bias", leave_parametrized=leave)
        results += [type(layer).__name__, hasattr(layer, "parametrizations"), step(torch, layer, 2, 3)]
    return results


@same
def test_parametrized_buffers_and_training_mode(torch: Any) -> Any:
    layer = torch.nn.BatchNorm1d(3).eval()
    double = parts(torch)["Double"]()
    torch.nn.utils.parametrize.register_parametrization(layer, "running_mean", double)
    return [list(layer.state_dict()), dict(layer.named_buffers()), double.training, layer(torch.ones(2, 3))]


@same
def test_errors_of_parametrizations(torch: Any) -> Any:
    P = torch.nn.utils.parametrize
    kinds = parts(torch)
    R = kinds["Returns"]

    def register(*parametrizations: Any, unsafe: bool = False) -> Any:
        layer = torch.nn.Linear(2, 2)
        for each in parametrizations:
            P.register_parametrization(layer, "weight", each, unsafe=unsafe)
        return layer.weight.shape

    def same(X: Any) -> Any:
        return X

    bad: list[Any] = [lambda X: 3, lambda X: X.double(), lambda X: X[:1]]
    return kinds_of_errors(
        *(lambda f=f: register(R(f)) for f in bad),
        *(lambda f=f: register(R(f), unsafe=True) for f in bad),
        *(lambda f=f: register(R(same), R(f)) for f in bad),
        *(lambda f=f: register(R(same, f)) for f in bad),
        *(lambda f=f: register(R(same), R(same, f)) for f in bad),
        lambda: register(R(lambda a, b: a, lambda X: (X, 3))),
        lambda: P.register_parametrization(torch.nn.ReLU(), "weight", kinds["Double"]()),
        lambda: P.remove_parametrizations(torch.nn.ReLU(), "weight"),
        lambda: P.ParametrizationList([], torch.ones(2)),
    )


# parametrizations


@LINEAR
@same
def test_weight_norm_parametrization(torch: Any) -> Any:
    results = []
    for dim in (0, 1, None, -1):
        layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2), dim=dim)
        results += [repr(layer), dict(layer.state_dict()), step(torch, layer, 2, 3)]
    layer.weight = torch.ones(2, 3)
    results.append(dict(layer.state_dict()))
    conv = torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv2d(2, 3, 2), dim=1)
    return [*results, step(torch, conv, 1, 2, 3, 3)]


@same
def test_old_state_dicts_of_weight_norm(torch: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
    new = torch.nn.Sequential(torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2)))
    state = torch.nn.Sequential(old).state_dict()
    return [str(new.load_state_dict(state)), dict(new.state_dict())]


@LINEAR
@same
def test_spectral_norm_parametrization(torch: Any) -> Any:
    nn = torch.nn
    results = []
    for layer in (nn.Linear(3, 2), nn.Conv2d(2, 3, 2), nn.ConvTranspose2d(2, 3, 2), nn.LayerNorm(4)):
        nn.utils.parametrizations.spectral_norm(layer, n_power_iterations=2)
        shape = {"Linear": (2, 3), "LayerNorm": (2, 4)}.get(type(layer).__name__[12:], (1, 2, 4, 4))
        results += [repr(layer), dict(layer.state_dict()), step(torch, layer, *shape), step(torch, layer, *shape)]
        layer.zero_grad()
        (layer(torch.ones(shape)) * layer(torch.ones(shape))).sum().backward()  # the vectors change between the two
        results += [each.grad for each in layer.parameters()]
        layer.eval()
        results += [layer.weight, layer.weight, dict(layer.named_buffers())]
    return results


@same
def test_orthogonal_parametrization(torch: Any) -> Any:
    results = []
    for shape in ((3, 3), (4, 2), (2, 4)):
        for kind in (None, "matrix_exp", "cayley", "householder"):
            for trivial in (True, False):
                layer = torch.nn.Linear(*shape)
                torch.nn.utils.parametrizations.orthogonal(layer, orthogonal_map=kind, use_trivialization=trivial)
                results += [dict(layer.state_dict()), step(torch, layer, 2, shape[0])]
                target = torch.linalg.qr(torch.rand(max(shape), min(shape)))[0]
                target = target if shape[1] >= shape[0] else target.mT
                if trivial or kind == "householder":
                    layer.weight = target
                    results.append((layer.weight - target).abs().max() < 1e-4)
                results.append(layer.parametrizations.weight[0].training)
    return results


@LINEAR
@same
def test_errors_of_ready_parametrizations(torch: Any) -> Any:
    P = torch.nn.utils.parametrizations
    nn = torch.nn

    def fixed(kind: str) -> Any:
        layer = P.orthogonal(nn.Linear(3, 3), orthogonal_map=kind, use_trivialization=False)
        layer.weight = torch.eye(3)

    return errors(
        lambda: P.orthogonal(nn.ReLU()),
        lambda: P.orthogonal(nn.Linear(3, 3), "bias"),
        lambda: P.orthogonal(nn.Linear(3, 3), orthogonal_map="other"),
        lambda: P.orthogonal(nn.Linear(3, 3, dtype=torch.complex64), orthogonal_map="householder"),
        lambda: fixed("cayley"),
        lambda: setattr(P.orthogonal(nn.Linear(3, 3)), "weight", torch.eye(2)),
        lambda: P.spectral_norm(nn.ReLU()),
        lambda: P.spectral_norm(nn.Linear(3, 3), dim=2),
        lambda: P.spectral_norm(nn.Linear(3, 3), n_power_iterations=0),
    )


# The older forms


@LINEAR
@same
def test_old_weight_norm(torch: Any) -> Any:
    U = torch.nn.utils
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        layer = U.weight_norm(torch.nn.Linear(3, 2))
        whole = U.weight_norm(torch.nn.Conv1d(2, 3, 2), dim=None)
    results = [[(str(each.message), each.category.__name__) for each in caught], repr(layer)]
    results += [dict(layer.state_dict()), step(torch, layer, 2, 3), step(torch, whole, 1, 2, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lazy = torch.nn.LazyLinear(2)
        results.append(errors(*(lambda each=each: U.weight_norm(each) for each in (layer, lazy))))
    results.append(errors(lambda: U.remove_weight_norm(layer, "bias")))
    U.remove_weight_norm(layer)
    return [*results, dict(layer.state_dict()), len(layer._forward_pre_hooks), step(torch, layer, 2, 3)]


@LINEAR
@same
def test_old_spectral_norm(torch: Any) -> Any:
    U, nn = torch.nn.utils, torch.nn
    results = []
    for layer, shape in ((nn.Linear(3, 2), (2, 3)), (nn.ConvTranspose2d(2, 3, 2), (1, 2, 3, 3))):
        U.spectral_norm(layer, n_power_iterations=2)
        results += [dict(layer.state_dict()), step(torch, layer, *shape), step(torch, layer, *shape), layer.weight]
        results += [layer.state_dict()._metadata, layer.eval()(torch.ones(shape)), layer.weight]
        results.append(
            errors(
                lambda layer=layer: U.spectral_norm(layer), lambda layer=layer: U.remove_spectral_norm(layer, "bias")
            )
        )
        U.remove_spectral_norm(layer)
        results += [dict(layer.state_dict()), layer.state_dict()._metadata, step(torch, layer, *shape)]
        results.append([len(each) for each in (layer._forward_pre_hooks, layer._state_dict_hooks)])
    results.append(
        errors(
            lambda: U.spectral_norm(nn.LazyLinear(2)),
            lambda: U.spectral_norm(nn.Linear(2, 2), n_power_iterations=0),
            lambda: U.spectral_norm(nn.Linear(2, 2, bias=False), "bias"),
        )
    )
    return results


@same
def test_state_dicts_of_spectral_norm_before_version_1(torch: Any) -> Any:
    layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    layer(torch.ones(1, 2))
    state = layer.state_dict()
    old = {"bias": state["bias"], "weight_orig": state["weight_orig"], "weight_u": state["weight_u"]}
    old["weight"] = layer.weight.detach()
    other = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    other.load_state_dict(old)
    del old["weight_u"]
    complete = dict(state.items())  # without metadata, but with v
    return [dict(other.state_dict()), str(layer.load_state_dict(complete)), errors(lambda: other.load_state_dict(old))]


# Pruning


def prune_of(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.nn.utils.prune")


@same
def test_pruning(torch: Any) -> Any:
    prune = prune_of(torch)
    results = []
    actions: list[Callable[[Any], Any]] = [
        lambda m: prune.identity(m, "weight"),
        lambda m: prune.random_unstructured(m, "weight", 0.4),
        lambda m: prune.l1_unstructured(m, "weight", 3),
        lambda m: prune.l1_unstructured(m, "weight", 0.3, importance_scores=torch.arange(12.0).view(3, 4)),
        lambda m: prune.l1_unstructured(m, "weight", 0),
        lambda m: prune.random_structured(m, "weight", 2, dim=1),
        lambda m: prune.ln_structured(m, "weight", 0.5, n=2, dim=0),
        lambda m: prune.ln_structured(m, "weight", 1, n=float("inf"), dim=-1),
        lambda m: prune.ln_structured(m, "weight", 0, n=1, dim=-1),
        lambda m: prune.custom_from_mask(m, "weight", torch.eye(3, 4)),
    ]

    def pruned(action: Callable[[Any], Any]) -> Any:
        torch.manual_seed(1)
        layer = torch.nn.Linear(4, 3)
        action(layer)
        return layer

    for first in actions:
        layer = pruned(first)
        results += [dict(layer.state_dict()), step(torch, layer, 2, 4), prune.is_pruned(torch.nn.Sequential(layer))]
        for second in actions[1:]:
            again = pruned(first)
            second(again)
            results += [again.weight_mask, len(next(iter(again._forward_pre_hooks.values())))]
        prune.remove(layer, "weight")
        results += [dict(layer.named_parameters()), prune.is_pruned(layer), list(layer.state_dict())]
    return results


@same
def test_pruning_several_together(torch: Any) -> Any:
    prune = prune_of(torch)
    results = []
    for method in (prune.L1Unstructured, prune.RandomUnstructured):
        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
        which = [(model[0], "weight"), (model[1], "weight"), (model[0], "bias")]
        prune.global_unstructured(which, method, amount=0.3)
        prune.global_unstructured(which, method, amount=4, importance_scores={which[2]: torch.zeros(3)})
        results += [dict(model.state_dict()), step(torch, model, 2, 4)]
    return [*results, prune.L1Unstructured(amount=2).prune(torch.tensor([3.0, -1.0, 2.0, 4.0]))]


@LINEAR
@same
def test_errors_of_pruning(torch: Any) -> Any:
    prune = prune_of(torch)
    layer = torch.nn.Linear(4, 3)

    class Strange(prune.BasePruningMethod):
        PRUNING_TYPE = "strange"

        def compute_mask(self, t: Any, default_mask: Any) -> Any:
            return default_mask

    twice = prune.identity(torch.nn.Linear(2, 2), "weight")
    return errors(
        lambda: prune.l1_unstructured(layer, "weight", "much"),
        lambda: prune.l1_unstructured(layer, "weight", 1.5),
        lambda: prune.l1_unstructured(layer, "weight", -1),
        lambda: prune.l1_unstructured(layer, "weight", 13),
        lambda: prune.l1_unstructured(layer, "weight", 1, importance_scores=torch.ones(2)),
        lambda: prune.ln_structured(layer, "bias", 1, 2, 0),
        lambda: prune.ln_structured(layer, "weight", 1, 2, 2),
        lambda: prune.custom_from_mask(layer, "weight", torch.ones(2)),
        lambda: prune.remove(layer, "weight"),
        lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1),
        lambda: prune.global_unstructured([(layer, "weight")], prune.LnStructured, amount=1, n=2),
        lambda: prune.global_unstructured([(layer, "weight")], prune.L1Unstructured, [], amount=1),
        lambda: prune.L1Unstructured(1).prune(torch.ones(2), importance_scores=torch.ones(3)),
        lambda: Strange.apply(twice, "weight"),
        lambda: prune.PruningContainer().add_pruning_method(3),
        lambda: list(layer.state_dict()),
    )


# The rest


@LINEAR
@same
def test_fusion(torch: Any) -> Any:
    nn, U = torch.nn, torch.nn.utils
    results = []
    for layer, norm, shape in (
        (nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), (1, 2, 4, 4)),
        (nn.Conv1d(2, 3, 2, bias=False), nn.BatchNorm1d(3, affine=False), (1, 2, 4)),
        (nn.ConvTranspose2d(2, 3, 2), nn.BatchNorm2d(3), (1, 2, 4, 4)),
        (nn.Linear(4, 3), nn.BatchNorm1d(3), (2, 4)),
        (nn.Linear(4, 3, bias=False), nn.BatchNorm1d(3), (2, 4)),
    ):
        x = torch.rand(shape)
        norm(layer(x))
        norm(layer(x * 2 + 1))
        layer.eval(), norm.eval()
        if isinstance(layer, nn.Linear):
            fused = U.fuse_linear_bn_eval(layer, norm)
        else:
            fused = U.fuse_conv_bn_eval(layer, norm, transpose="Transpose" in type(layer).__name__)
        results += [dict(fused.named_parameters()), fused(x), ((fused(x) - norm(layer(x))).abs() < 1e-5).all()]
    without = nn.BatchNorm2d(3, track_running_stats=False).eval()
    return results + errors(
        lambda: U.fuse_conv_bn_eval(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)),
        lambda: U.fuse_conv_bn_eval(nn.Conv2d(3, 3, 1).eval(), without),
        lambda: U.fuse_linear_bn_eval(nn.Linear(3, 3).eval(), nn.BatchNorm1d(2).eval()),
    )


@LINEAR
@same
def test_skipped_initialization(torch: Any) -> Any:
    layer = torch.nn.utils.skip_init(torch.nn.Linear, 3, 2)
    drawn = torch.rand(2)  # as if nothing had been drawn before
    return [
        drawn,
        repr(layer),
        layer.weight.shape,
        layer.weight.requires_grad,
        layer.weight.device.type,
        *errors(lambda: torch.nn.utils.skip_init(torch.nn.ReLU), lambda: torch.nn.utils.skip_init(dict)),
    ]


@same
def test_memory_format_of_weights(torch: Any) -> Any:
    U = torch.nn.utils
    model = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 2), torch.nn.Sequential(torch.nn.ConvTranspose2d(3, 2, 2)))
    U.convert_conv2d_weight_memory_format(model, torch.channels_last)
    volume = U.convert_conv3d_weight_memory_format(torch.nn.Conv3d(2, 3, 2), torch.channels_last_3d)
    return [each.stride() for each in (model[0].weight, model[1][0].weight, volume.weight)] + [model[0].weight]


@same
def test_clipping_by_its_old_name(torch: Any) -> Any:
    parameter = torch.nn.Parameter(torch.ones(4))
    parameter.grad = torch.full((4,), 3.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        norm = torch.nn.utils.clip_grad_norm(parameter, 2.0)
    return [norm, parameter.grad, [(str(each.message), each.category.__name__) for each in caught]]


def tied(torch: Any) -> Any:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(3, 3)
            self.norm = torch.nn.BatchNorm1d(3)
            self.second = torch.nn.Linear(3, 3)
            self.second.weight = self.first.weight
            self.count = torch.nn.Buffer(torch.zeros(()))

        def forward(self, x: Any, *, factor: float = 1.0) -> Any:
            self.count = self.count + 1
            return self.second(self.norm(self.first(x))) * factor

    return Tied()


@LINEAR
@same
def test_functional_calls(torch: Any) -> Any:
    call = importlib.import_module(f"{torch.__name__}.func").functional_call
    model = tied(torch)
    x = torch.arange(6.0).reshape(2, 3)
    weight = torch.full((3, 3), 0.5, requires_grad=True)
    buffers = {"norm.running_mean": torch.ones(3), "count": torch.zeros(())}
    results = [
        call(model, {}, x),
        call(model, {"first.weight": weight}, (x,), {"factor": 2.0}),
        call(model, {"first.weight": weight}, x, tie_weights=False),
        call(model, ({"second.bias": torch.ones(3)}, buffers), x),
    ]
    call(model, buffers, x)
    results[1].sum().backward()
    same = torch.ones(3, 3)
    return [
        results,
        weight.grad,
        buffers,
        dict(model.state_dict()),
        call(model, {"first.weight": same, "second.weight": same}, x),
        call(model, dict([*model.named_parameters(), *model.named_buffers()]), x, strict=True),
        errors(
            lambda: call(model, {"first.weight": weight}, x, strict=True),
            lambda: call(model, {"first.weight": weight, "other": weight}, x, strict=True),
            lambda: call(model, {"first.weight": weight, "second.weight": torch.ones(3, 3)}, x),
            lambda: call(model, [{"a": x}, {"a": x}, {"b": x}], x),
            lambda: call(model, [{"a": x}, 3], x),
            lambda: call(model, 3, x),
            lambda: call(model, {"first.weight": 3}, x),
            lambda: call(model, {"nothing.weight": x}, x),
            lambda: call(model, {"first": x}, x),
            lambda: call(torch.nn.DataParallel(model), {}, x),
            lambda: torch.nn.parallel.data_parallel(model, x),
            lambda: call(model, {"first.weight": torch.ones(2, 2)}, x),
        ),
        model.first.weight is model.second.weight,
    ]


@same
def test_functional_call_by_its_old_name(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = torch.nn.utils.stateless.functional_call(layer, {"weight": torch.eye(2)}, torch.ones(1, 2))
    return [result, [(str(each.message), each.category.__name__) for each in caught]]


@same
def test_packed_sequences_of_other_types(torch: Any) -> Any:
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(3)], enforce_sorted=False)
    names = ("double", "float", "half", "long", "int", "short", "char", "byte", "cpu")
    results = [getattr(packed, name)() for name in names]
    return [
        [(each.data, each.batch_sizes, each.sorted_indices, each.unsorted_indices) for each in results],
        [each is packed for each in results],
        type(results[0]).__name__,
        packed.to(torch.float64).data,
        packed.is_cuda,
        packed.is_pinned(),
        torch.nn.utils.rnn.PackedSequence((packed.data, packed.batch_sizes)).batch_sizes,
        errors(
            lambda: packed.cuda(),
            lambda: torch.nn.utils.rnn.PackedSequence(packed.data),
            lambda: torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), [-1, 2]),
        ),
    ]


@same
def test_every_name_of_nn_utils(torch: Any) -> Any:
    U = torch.nn.utils
    return [sorted(each.__all__) for each in (U, U.parametrize, U.parametrizations, U.rnn)]
