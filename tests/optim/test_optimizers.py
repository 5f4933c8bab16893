"""Every optimizer, step by step against torch, with each of its options."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.optim
from tests.same import attempt, exactly_the_same, same, same_within

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {},
        {"lr": 0.1},
        {"lr": 0.1, "weight_decay": 0.01},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.5, "maximize": True},
        {"lr": 0.1, "foreach": True},
        {"lr": 0.1, "fused": True},
    ],
    "Adam": [
        {},
        {"lr": 0.1},
        {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.1},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        {"lr": 0.1, "amsgrad": True},
        {"lr": 0.1, "maximize": True},
    ],
    "AdamW": [{}, {"lr": 0.1, "weight_decay": 0.3}, {"lr": 0.1, "amsgrad": True, "maximize": True}],
    "Adagrad": [{}, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}, {"initial_accumulator_value": 0.5, "eps": 0.1}],
    "RMSprop": [
        {},
        {"lr": 0.1, "alpha": 0.9, "eps": 1e-3},
        {"centered": True, "weight_decay": 0.1, "eps": 1e-2},
        {"momentum": 0.9},
        {"momentum": 0.9, "centered": True, "maximize": True, "eps": 1e-2},
    ],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1, "maximize": True}],
    "Adamax": [{}, {"lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.1, "maximize": True}],
    "NAdam": [
        {},
        {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    ],
    "RAdam": [{}, {"lr": 0.1, "weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "ASGD": [{}, {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 5, "weight_decay": 0.1}, {"maximize": True}],
    "Rprop": [{}, {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.2), "maximize": True}],
}
EVERY = [pytest.param(name, options, id=f"{name}-{options}") for name in OPTIONS for options in OPTIONS[name]]
STEPS = 20
SHAPES = ((3, 4), (5,), (), (2, 1, 2))


def oracle() -> Any:
    return pytest.importorskip("torch", reason="torch is the oracle of the optimizers: pip install torch==2.13.0")


def parameters(lib: Any, dtype: str = "float32") -> list[Any]:
    random = np.random.default_rng(0)
    drawn = [random.normal(size=(2, *shape)) for shape in SHAPES]
    values = [np.array(each[0] + 1j * each[1] if "complex" in dtype else each[0], dtype) for each in drawn]
    return [lib.from_numpy(each).requires_grad_() for each in values]


def set_gradients(lib: Any, params: list[Any], step: int) -> None:
    """Random gradients; one parameter gets none in every third step."""
    random = np.random.default_rng(step)
    for number, parameter in enumerate(params):
        drawn = random.normal(size=(2, *parameter.shape))
        value = np.asarray(drawn[0] + 1j * drawn[1] if parameter.is_complex() else drawn[0])
        value = value.astype(str(parameter.dtype).removeprefix("torch."))
        parameter.grad = None if number == 1 and step % 3 == 2 else lib.from_numpy(value)


def elements(tensor: Any) -> Any:
    return tensor.detach().numpy()


def assert_same_state(theirs: Any, ours: Any, relative: float) -> None:
    if hasattr(theirs, "detach"):
        assert str(theirs.dtype) == str(ours.dtype)
        np.testing.assert_allclose(elements(ours), elements(theirs), relative, relative)
    elif isinstance(theirs, dict):
        assert list(theirs) == list(ours)
        for key, value in theirs.items():
            assert_same_state(value, ours[key], relative)
    elif isinstance(theirs, (list, tuple)):
        assert type(theirs) is type(ours) and len(theirs) == len(ours)
        for one, other in zip(theirs, ours, strict=True):
            assert_same_state(one, other, relative)
    else:
        assert theirs == ours


@pytest.mark.turns(2)
@pytest.mark.parametrize("name, options", EVERY)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_twenty_steps_are_torchs(name: str, options: dict[str, Any], dtype: str) -> None:
    torch = oracle()
    if "complex" in dtype and options.get("fused"):
        pytest.skip("torch's fused optimizers refuse complex parameters")
    theirs, ours = parameters(torch, dtype), parameters(minitorch, dtype)
    one = getattr(torch.optim, name)(theirs, **options)
    other = getattr(minitorch.optim, name)(ours, **options)
    # Single roundings differ: fused multiply-adds there, another order of factors here. They add up over the steps.
    relative = 1e-12 if dtype == "float64" else 1e-5
    for step in range(STEPS):
        set_gradients(torch, theirs, step)
        set_gradients(minitorch, ours, step)
        one.step()
        other.step()
        for a, b in zip(theirs, ours, strict=True):
            np.testing.assert_allclose(elements(b), elements(a), relative, relative, err_msg=f"step {step}")
    assert_same_state(one.state_dict(), other.state_dict(), 10 * relative)
    assert str(one) == str(other)


TENSORS: list[tuple[str, dict[str, float | tuple[float, float]]]] = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "betas": (0.9, 0.99), "eps": 0.1, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.1, "alpha": 0.9, "momentum": 0.5}),
    ("NAdam", {"lr": 0.1, "betas": (0.9, 0.99)}),
    ("Adadelta", {"lr": 0.1, "rho": 0.8, "eps": 0.1}),
]


@pytest.mark.parametrize("name, options", TENSORS, ids=lambda value: value if isinstance(value, str) else "")
@same_within(1e-6)
def test_options_may_be_tensors(torch: Any, name: str, options: dict[str, Any]) -> Any:
    given = {
        key: tuple(map(torch.tensor, value)) if isinstance(value, tuple) else torch.tensor(value)
        for key, value in options.items()
    }
    params = parameters(torch)
    optimizer = getattr(torch.optim, name)(params, **given)
    for step in range(3):
        set_gradients(torch, params, step)
        optimizer.step()
    return params, str(optimizer)


MUON: list[dict[str, Any]] = [
    {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"},
    {"lr": 0.1, "momentum": 0.5, "adjust_lr_fn": "original", "eps": 1e-3},
]
ADAFACTOR: list[dict[str, Any]] = [
    {"lr": 0.9, "eps": (0.1, 0.5), "maximize": True},
    {"lr": 0.6, "beta2_decay": -0.5, "weight_decay": 0.1, "foreach": True},
]


def after_five_steps(torch: Any, optimizer: Any, options: dict[str, Any], *shapes: tuple[int, ...]) -> list[Any]:
    random = np.random.default_rng(0)
    params = [torch.from_numpy(np.asarray(random.normal(size=shape))).requires_grad_() for shape in shapes]
    steps = optimizer(params, **options)
    for _ in range(5):
        for each in params:
            each.grad = torch.from_numpy(np.asarray(random.normal(size=tuple(each.shape))))
        steps.step()
    return params


@pytest.mark.parametrize("options", MUON)
@same_within(5e-4)
def test_steps_of_muon_are_torchs(torch: Any, options: dict[str, Any]) -> Any:
    """It computes in bfloat16."""
    return after_five_steps(torch, torch.optim.Muon, options, (3, 4), (8, 5))


@pytest.mark.parametrize("options", ADAFACTOR)
@same_within(1e-7)
def test_steps_of_adafactor_are_torchs(torch: Any, options: dict[str, Any]) -> Any:
    return after_five_steps(torch, torch.optim.Adafactor, options, (3, 4), (5,), (), (2, 3, 4))


@pytest.mark.parametrize("name", OPTIONS)
def test_state_survives_saving(name: str) -> None:
    """Loading the state and going on gives the same as going on without a pause."""
    for options in OPTIONS[name]:
        params = parameters(minitorch)
        optimizer = getattr(minitorch.optim, name)(params, **options)
        for step in range(3):
            set_gradients(minitorch, params, step)
            optimizer.step()
        resumed = [minitorch.from_numpy(elements(each).copy()).requires_grad_() for each in params]
        second = getattr(minitorch.optim, name)(resumed, **options)
        second.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
        for step in range(3, 6):
            for some, each in ((params, optimizer), (resumed, second)):
                set_gradients(minitorch, some, step)
                each.step()
        for a, b in zip(params, resumed, strict=True):
            assert np.array_equal(elements(a), elements(b)), options


@same_within(1e-6)
def test_groups_have_options_of_their_own(torch: Any) -> Any:
    a, b, c, d = parameters(torch)
    optimizer = torch.optim.SGD([{"params": a, "lr": 0.5}, {"params": [b]}], lr=0.1, momentum=0.9)
    optimizer.add_param_group({"params": (each for each in (c, d)), "weight_decay": 0.5, "mine": "kept"})
    for step in range(3):
        set_gradients(torch, [a, b, c, d], step)
        optimizer.step()
    return optimizer.state_dict(), str(optimizer), [a, b, c, d]


LAYOUTS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "transposed": lambda x: (x.t(), x.t()),
    "sliced": lambda x: (x[:, ::2], x[:, ::2] * 2),
    "transposed gradient": lambda x: (x.clone(), (x * 2).t().contiguous().t()),
    "expanded gradient": lambda x: (x.clone(), x[0, 1].expand(x.shape)),
    "0-dim": lambda x: (x[0, 1], x[1, 1]),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
@same_within(1e-12)
def test_complex_numbers_that_lie_apart(torch: Any, name: str, layout: str) -> Any:
    """Parameters and gradients whose last dimension isn't contiguous."""
    values = np.random.default_rng(0).normal(size=(3, 4, 2)).view(np.complex128)[..., 0]
    parameter, gradient = LAYOUTS[layout](torch.from_numpy(values.copy()))
    parameter = parameter.detach().requires_grad_()
    optimizer = getattr(torch.optim, name)([parameter], lr=0.1)
    for _ in range(3):
        parameter.grad = gradient
        optimizer.step()
    return parameter


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
@same
def test_large_parameters(torch: Any, name: str, layout: str) -> Any:
    """What is updated block by block, and what can't be because the gradient lies in memory differently."""
    value, gradient = np.random.default_rng(0).normal(size=(2, 200, 300)).astype(np.float32)
    if layout == "transposed":
        gradient = np.asfortranarray(gradient)
    parameter = torch.from_numpy(value.copy()).requires_grad_()
    optimizer = getattr(torch.optim, name)([parameter], lr=0.1)
    parameter.grad = torch.from_numpy(gradient)
    for _ in range(3):
        optimizer.step()
    return parameter


@exactly_the_same
def test_loaded_state_is_shared_as_torchs_is(lib: Any) -> Any:
    """What has the right dtype and device is taken as it is: steps write into the tensors of the dictionary."""
    params = parameters(lib)
    optimizer, other = lib.optim.Adam(params), lib.optim.Adam(params, amsgrad=True)
    set_gradients(lib, params, 0)
    optimizer.step()
    saved = optimizer.state_dict()
    other.load_state_dict(saved)
    assert other.state[params[0]]["exp_avg"] is saved["state"][0]["exp_avg"]
    doubles = [each.detach().double().requires_grad_() for each in params]
    copied = lib.optim.Adam(doubles)
    copied.load_state_dict(saved)
    state = copied.state[doubles[0]]
    shared = state["step"] is saved["state"][0]["step"]
    return [shared, *(str(state[name].dtype) for name in ("step", "exp_avg"))]


DIFFERENTIABLE: dict[str, list[tuple[dict[str, Any], str, int]]] = {
    # Options, those that are tensors and get a gradient themselves, and after how many steps PyTorch can differentiate.
    "SGD": [
        ({"momentum": 0.9, "dampening": 0.3}, "", 2),
        ({"momentum": 0.9, "nesterov": True}, "", 2),
        ({}, "lr weight_decay", 2),
    ],
    "Adam": [({"amsgrad": True}, "lr", 1), ({}, "", 2), ({"maximize": True}, "lr weight_decay betas", 1)],
    "AdamW": [({"weight_decay": 0.3}, "", 2), ({}, "lr weight_decay", 2)],
    "Adagrad": [({"initial_accumulator_value": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}, "", 2)],
    "RMSprop": [({"momentum": 0.9, "weight_decay": 0.1}, "", 2), ({"centered": True, "eps": 1e-2}, "", 1)],
    "Adadelta": [({"weight_decay": 0.1, "maximize": True}, "", 2)],
    "Adamax": [({"weight_decay": 0.1}, "", 1)],
    "NAdam": [({"weight_decay": 0.1}, "lr", 1), ({"weight_decay": 0.1, "decoupled_weight_decay": True}, "", 2)],
    "RAdam": [({"betas": (0.9, 0.5), "weight_decay": 0.1}, "lr", 2)],
    "ASGD": [({"t0": 1, "lambd": 0.1, "weight_decay": 0.1}, "", 2)],
    "Rprop": [({}, "", 1)],
}


def hypergradients(lib: Any, name: str, options: dict[str, Any], tensors: str, dtype: str, steps: int) -> list[Any]:
    """After some steps: the parameter, and the first and second derivatives of a function of it in all there was."""
    random = np.random.default_rng(0)
    start, *grads = (
        lib.from_numpy(random.normal(size=(3, 2)).view("complex128" if "complex" in dtype else "float64"))
        for _ in range(1 + steps)
    )
    values = {"lr": 0.1, "weight_decay": 0.2, "betas": (0.8, 0.9)}
    given = {
        option: tuple(lib.tensor(each, dtype=lib.float64) for each in value)
        if isinstance(value, tuple)
        else lib.tensor(value, dtype=lib.float64)
        for option, value in values.items()
        if option in tensors
    }
    hyper = [each for value in given.values() for each in (value if isinstance(value, tuple) else (value,))]
    leaves = [each.requires_grad_() for each in (start, *grads, *hyper)]
    parameter = start.clone()
    optimizer = getattr(lib.optim, name)([parameter], differentiable=True, **{"lr": 0.1, **options, **given})
    for grad in grads:
        parameter.grad = grad.clone()
        optimizer.step()
    loss = (parameter.abs() ** 3).sum()
    first = lib.autograd.grad(loss, leaves, allow_unused=True, create_graph=True)
    norm = sum((each.abs() ** 2).sum() for each in first if each is not None)
    second = lib.autograd.grad(norm, leaves, allow_unused=True)
    return [None if each is None else elements(each) for each in (parameter, *first, *second)]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_through_steps_are_torchs(name: str) -> None:
    torch = oracle()
    tolerance = 1e-6 if "Adam" in name else 1e-9  # PyTorch corrects the bias in single precision
    for options, tensors, steps in DIFFERENTIABLE[name]:
        for dtype in ("float64", "complex128"):
            if "weight_decay" in tensors and "complex" in dtype:
                continue
            results = [hypergradients(lib, name, options, tensors, dtype, steps) for lib in (torch, minitorch)]
            for one, other in zip(*results, strict=True):
                assert (one is None) == (other is None)
                if one is not None:
                    np.testing.assert_allclose(other, one, tolerance, tolerance, err_msg=f"{options} {tensors} {dtype}")


def test_gradients_through_many_steps() -> None:
    """Also where PyTorch's own graph breaks, since a later step overwrote what it needs: against differences."""
    for name in DIFFERENTIABLE:
        if name == "Rprop":  # whose steps have no derivative but 1
            continue

        def after(start: Any, rate: Any, name: str = name) -> Any:
            parameter = start.clone()
            options = {"momentum": 0.9} if name == "RMSprop" else {}
            optimizer = getattr(minitorch.optim, name)([parameter], lr=rate, differentiable=True, **options)
            for _ in range(3):
                parameter.grad = 3 * parameter.clone() ** 2 + 1
                optimizer.step()
            return parameter

        start = minitorch.tensor([0.3, 1.2], dtype=minitorch.float64, requires_grad=True)
        rate = minitorch.tensor(0.1, dtype=minitorch.float64, requires_grad=name != "ASGD")
        assert minitorch.autograd.gradcheck(after, (start, rate), atol=1e-4), name


def test_step_writes_in_place_and_counts_it() -> None:
    parameter = parameters(minitorch)[0]
    address, version = parameter.data_ptr(), parameter._version
    optimizer = minitorch.optim.SGD([parameter], lr=0.1)
    set_gradients(minitorch, [parameter], 0)
    optimizer.step()
    assert parameter.data_ptr() == address
    assert parameter._version == version + 1
    assert parameter.is_leaf and parameter.requires_grad


def test_closure_is_called_with_gradients_enabled() -> None:
    parameter = parameters(minitorch)[0]
    optimizer = minitorch.optim.SGD([parameter], lr=0.1)
    seen = []

    def closure() -> Any:
        seen.append(minitorch.is_grad_enabled())
        optimizer.zero_grad()
        loss = (parameter * parameter).sum()
        loss.backward()
        return loss

    with minitorch.no_grad():
        loss = optimizer.step(closure)
    assert seen == [True]
    assert loss.requires_grad


def test_zero_grad() -> None:
    params = parameters(minitorch)
    optimizer = minitorch.optim.SGD(params, lr=0.1)
    set_gradients(minitorch, params, 0)
    kept = params[0].grad
    optimizer.zero_grad(set_to_none=False)
    assert params[0].grad is kept
    assert not elements(kept).any()
    optimizer.zero_grad()
    assert all(each.grad is None for each in params)


def test_tensor_learning_rate_is_read_at_every_step() -> None:
    parameter = parameters(minitorch)[1]
    before = elements(parameter).copy()
    rate = minitorch.from_numpy(np.array(0.5, np.float32))
    optimizer = minitorch.optim.SGD([parameter], lr=rate)
    set_gradients(minitorch, [parameter], 0)
    rate._array[...] = 2.0
    optimizer.step()
    np.testing.assert_allclose(elements(parameter), before - 2 * elements(parameter.grad), 1e-6)


def test_a_replaced_step_is_hooked_too() -> None:
    """Whoever writes a step of their own gets the hooks."""

    class Mine(minitorch.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            return "mine"

    calls = []
    optimizer = Mine(parameters(minitorch), lr=0.1)
    optimizer.register_step_post_hook(lambda *each: calls.append(1))
    assert optimizer.step() == "mine"
    assert calls == [1]


def test_optimizers_pickle() -> None:
    params = parameters(minitorch)
    optimizer = minitorch.optim.Adam(params, lr=0.1)
    set_gradients(minitorch, params, 0)
    optimizer.step()
    copied = pickle.loads(pickle.dumps(optimizer))
    assert str(copied) == str(optimizer)
    copied.step()


@exactly_the_same
def test_adagrad_has_its_sums_before_the_first_step(torch: Any) -> Any:
    return torch.optim.Adagrad(parameters(torch), initial_accumulator_value=0.5).state_dict()["state"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("name", [*OPTIONS, "Adafactor"])
@same
def test_a_rate_that_no_number_of_the_type_is(torch: Any, name: str, dtype: str) -> Any:
    def stepped(rate: float) -> Any:
        x = torch.nn.Parameter(torch.ones(2, dtype=getattr(torch, dtype)))
        x.grad = torch.ones_like(x)
        getattr(torch.optim, name)([x], lr=rate).step()
        return x.isfinite().all()

    return [attempt(stepped, rate) for rate in (1e39, 1e400, 1e5, 1e-60)]
