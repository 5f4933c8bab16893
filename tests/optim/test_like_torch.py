"""What optimizers, schedulers and averages say: each line runs on torch and on minitorch.

Compared are the value as it is printed, or the type and message of the error, and the warnings.
"""

from __future__ import annotations

import copy
import importlib
import itertools
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minitorch
import minitorch.nn
import minitorch.optim

torch = pytest.importorskip("torch", reason="the expected values are torch's")

Line = Callable[[Any], Any]
NAMES = [
    *("SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"),
    *("LBFGS", "Muon", "Adafactor", "SparseAdam"),
]


def outcome(line: Line, lib: Any) -> tuple[str, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            said = repr(line(lib))
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
    return said.replace("minitorch", "torch"), [f"{each.category.__name__}: {each.message}" for each in caught]


def assert_same(lines: Iterator[Line] | list[Line], first: int) -> None:
    for number, line in enumerate(lines, first):
        assert outcome(line, minitorch) == outcome(line, torch), f"line {number}"


def module(lib: Any, name: str) -> Any:
    return importlib.import_module(f"{lib.__name__}.optim.{name}")


def params(lib: Any) -> list[Any]:
    tensors = [lib.ones(2, 2).requires_grad_() for _ in range(2)]
    for each in tensors:
        each.grad = lib.ones(2, 2)
    return tensors


def made(lib: Any, name: str = "SGD", **options: Any) -> Any:
    """An optimizer with two groups."""
    first, second = params(lib)
    return getattr(lib.optim, name)([{"params": first}, {"params": second, "lr": 0.3}], **{"lr": 0.1, **options})


WRONG: list[Line] = [
    *(lambda t, value=value: value for value in ("0.1", None, [0.1], float("nan"), -1, 1j, True)),
    lambda t: t.tensor([0.1]),
    lambda t: t.tensor([0.1, 0.2]),
    lambda t: t.tensor(-1.0),
]
"""Values for options that are numbers."""

PAIRS: list[Line] = [
    *(lambda t, value=value: value for value in (0.9, (0.9,), ("a", 0.9), (0, 0.9), (0.9, 1), (1.5, 0.5), None)),
    lambda t: (t.tensor(0.9), 0.9),
    lambda t: (t.tensor([0.9]), t.tensor([[0.99]])),
    lambda t: (t.tensor([0.9, 0.8]), t.tensor([0.99, 0.9])),
]
"""Values for options that are pairs of numbers."""

TAKEN = {"betas", "etas", "step_sizes", "lr", "momentum", "dampening", "weight_decay", "eps", "rho", "alpha", "lambd",
         "lr_decay", "momentum_decay", "beta2_decay", "d", "nesterov"}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_options(name: str) -> None:
    """Every number that an optimizer takes, replaced by something else; what excludes each other."""
    options = getattr(torch.optim, name)(params(torch)).defaults
    lines: list[Line] = [
        lambda t: getattr(t.optim, name)(params(t)),
        lambda t: getattr(t.optim, name)(params(t), bogus=1),
        lambda t: getattr(t.optim, name)(params(t)).defaults,
        lambda t: getattr(t.optim, name)(params(t)).step(lambda: 7),
    ]
    for option in TAKEN.intersection(options):
        for value in PAIRS if isinstance(options[option], tuple) else WRONG:
            for more in ({}, {"foreach": True}) if option in ("lr", "betas") and "foreach" in options else ({},):
                lines.append(
                    lambda t, option=option, value=value, more=more: (
                        getattr(t.optim, name)(params(t), **{option: value(t), **more}).defaults
                    )
                )
    for some in itertools.combinations([each for each in ("foreach", "fused", "differentiable") if each in options], 2):
        lines.append(lambda t, some=some: getattr(t.optim, name)(params(t), **dict.fromkeys(some, True)))
    assert_same(lines, 0)


def group(name: str, given: Callable[[Any], Any]) -> Line:
    def line(lib: Any) -> Any:
        return [list(each) for each in getattr(lib.optim, name)(given(lib)).param_groups]

    return line


def after_adding(given: Callable[[Any, Any], Any]) -> Line:
    def line(lib: Any) -> Any:
        optimizer = made(lib)
        optimizer.add_param_group(given(lib, optimizer))
        return optimizer

    return line


PARAMETERS: list[Line] = [
    *(group("SGD", lambda t, value=value: value) for value in (3, None, "ab", [], [3], {}, [None], iter([]))),
    group("SGD", lambda t: params(t)[0]),
    group("SGD", lambda t: [params(t)[0] * 2]),
    group("SGD", lambda t: {"params": params(t)}),
    group("SGD", lambda t: [{"params": params(t)}, params(t)[0]]),
    group("SGD", lambda t: [{"params": set(params(t))}]),
    group("SGD", lambda t: set(params(t))),
    group("SGD", lambda t: (each for each in params(t))),
    group("SGD", lambda t: [("a", params(t)[0]), ("b", params(t)[1])]),
    group("SGD", lambda t: [("a", params(t)[0]), params(t)[1]]),
    group("SGD", lambda t: [("a", 3)]),
    group("SGD", lambda t: [("a",)]),
    group("SGD", lambda t: [{"params": [("a", params(t)[0])]}, {"params": params(t)}]),
    group("SGD", lambda t: [params(t)[0]] * 2),
    group("SGD", lambda t: [{"params": params(t)[:1]}, {"lr": 3}]),
    group("SGD", lambda t: t.nn.Linear(2, 2).named_parameters()),
    group("Muon", lambda t: [t.ones(2)]),
    group("Muon", lambda t: [t.ones(2, 2, 2)]),
    group("SparseAdam", lambda t: [t.ones(2), t.ones(2, dtype=t.complex64)]),
    group("LBFGS", lambda t: [{"params": each} for each in params(t)]),
    after_adding(lambda t, optimizer: 3),
    after_adding(lambda t, optimizer: {}),
    after_adding(lambda t, optimizer: {"params": t.ones(1), "mine": "kept", "lr": -3}),
    after_adding(lambda t, optimizer: {"params": params(t)[0] * 2}),
    after_adding(lambda t, optimizer: {"params": optimizer.param_groups[0]["params"]}),
    after_adding(lambda t, optimizer: {"params": [("name", t.ones(1))]}),
    lambda t: t.optim.Optimizer(params(t), {}).step(),
    lambda t: t.optim.Optimizer(params(t), {"lr": module(t, "optimizer").required}),
    lambda t: t.optim.SGD((lambda p: [{"params": [p, p]}, {"params": t.ones(1)}])(t.ones(1))).state_dict(),
    lambda t: made(t, "LBFGS"),
    lambda t: t.optim.LBFGS(params(t)).step(None),
    lambda t: t.optim.LBFGS(params(t), line_search_fn="golden").step(lambda: 3),
    lambda t: made(t, "Adagrad", initial_accumulator_value=-1),
    lambda t: sorted(t.optim.__all__),
]


def loaded(name: str, state_dict: Callable[[Any], Any]) -> Line:
    def line(lib: Any) -> Any:
        optimizer = getattr(lib.optim, name)(params(lib))
        optimizer.load_state_dict(state_dict(lib))
        return optimizer.state_dict()["state"], [
            sorted(each.items()) for each in optimizer.state_dict()["param_groups"]
        ]

    return line


def with_options_from_an_old_checkpoint(lib: Any) -> Any:
    """What isn't in the saved groups is off, whatever the optimizer was made with."""
    optimizer = lib.optim.SGD(params(lib), momentum=0.9, nesterov=True, maximize=True, foreach=True)
    optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1], "lr": 9, "fused": None}]})
    return sorted(optimizer.state_dict()["param_groups"][0].items())


def lbfgs_with_two_groups(lib: Any) -> Any:
    optimizer = lib.optim.LBFGS(params(lib))
    optimizer.add_param_group({"params": lib.ones(1)})
    return optimizer.step(lambda: 3)


def from_old_checkpoint(name: str) -> Line:
    """State as old versions saved it: numbers of steps were Python's, and some options didn't exist."""

    def line(lib: Any) -> Any:
        optimizer = getattr(lib.optim, name)(params(lib), lr=0.1)
        optimizer.step()
        saved = optimizer.state_dict()
        for state in saved["state"].values():
            state.update({key: float(state[key]) for key in ("step", "eta", "mu", "mu_product") if key in state})
        for each in saved["param_groups"]:
            for key in ("foreach", "maximize", "differentiable", "capturable"):
                each.pop(key, None)
        optimizer.load_state_dict(saved)
        optimizer.step()
        return optimizer, optimizer.state_dict()["state"]

    return line


def swapped(change: Callable[[Any, dict[str, Any]], Any], initialized: bool = True, missing: int = 0) -> Line:
    """Steps on other parameters, with a state dictionary that was changed."""

    def line(lib: Any) -> Any:
        optimizer = made(lib, "Adam")
        if initialized:
            optimizer.step()
        state_dict = copy.deepcopy(optimizer.state_dict())
        others = {str(number): lib.zeros(2, 2) for number in range(2 - missing)}
        for each in others.values():
            each.grad = lib.ones(2, 2)
        changed = change(lib, state_dict)
        with lib.optim.swap_in_optimizer_params_and_state(optimizer, others, changed or state_dict):
            optimizer.step()
            optimizer.param_groups[0]["added"] = 1
        return others, optimizer.state_dict(), state_dict

    return line


def in_two_bytes(name: str, kind: str) -> Line:
    def line(lib: Any) -> Any:
        parameter = lib.arange(1.0, 5.0).to(getattr(lib, kind)).requires_grad_()
        optimizer = getattr(lib.optim, name)([parameter], lr=0.1)
        for _ in range(3):
            parameter.grad = (parameter.detach() - 1.5) * 2
            optimizer.step()
        return parameter, optimizer.state_dict()["state"]

    return line


STATE: list[Line] = [
    *(in_two_bytes(name, kind) for name in ("SGD", "Rprop", "ASGD") for kind in ("bfloat16", "float16")),
    *(from_old_checkpoint(name) for name in NAMES[:11]),
    with_options_from_an_old_checkpoint,
    lbfgs_with_two_groups,
    loaded("SGD", lambda t: 3),
    loaded("SGD", lambda t: {}),
    loaded("SGD", lambda t: {"state": {}, "param_groups": []}),
    loaded("SGD", lambda t: {"state": {}, "param_groups": [{"params": [0]}]}),
    loaded("Adadelta", lambda t: {"state": {7: {"a": 1}}, "param_groups": [{"params": [0, 1], "lr": 9}]}),
    loaded(
        "Adadelta",
        lambda t: {
            "state": {0: {"x": t.ones(2).double(), "step": t.tensor(3)}},
            "param_groups": [{"params": [0, 1], "lr": 9, "param_names": ["a", "b"]}],
        },
    ),
    lambda t: pickle.loads(pickle.dumps(made(t, "Adam"))),
    lambda t: copy.deepcopy(made(t, "Adam")),
    lambda t: (lambda o: (o.zero_grad(False), [each["params"][0].grad for each in o.param_groups]))(made(t)),
    swapped(lambda t, state_dict: None),
    swapped(lambda t, state_dict: state_dict["param_groups"][0].update(lr=9)),
    swapped(lambda t, state_dict: state_dict["state"].update({0: {}})),
]

UNFIT: list[Line] = [
    swapped(lambda t, state_dict: None, initialized=False),
    swapped(lambda t, state_dict: None, missing=1),
    swapped(lambda t, state_dict: 3),
    swapped(lambda t, state_dict: state_dict.update(state=[])),
    swapped(lambda t, state_dict: {**state_dict, "state": {t.ones(2): {}}}),
    swapped(lambda t, state_dict: state_dict["state"].update({0: 3})),
    swapped(lambda t, state_dict: state_dict["state"].update({7: {}})),
    swapped(lambda t, state_dict: state_dict.update(param_groups=3)),
    swapped(lambda t, state_dict: state_dict["param_groups"].pop()),
    swapped(lambda t, state_dict: state_dict.update(param_groups=[3, 4])),
    swapped(lambda t, state_dict: state_dict["param_groups"][0].update(params=["a"])),
    swapped(lambda t, state_dict: state_dict["param_groups"][0].update(params=[0, 1])),
    swapped(lambda t, state_dict: state_dict["param_groups"][1].pop("eps") and None),
]


def hooked(kind: str, **options: bool) -> Line:
    """Which hooks are called in which order, and with what."""

    def line(lib: Any) -> Any:
        optimizer = made(lib)
        calls: list[Any] = []

        def hook(name: str) -> Callable[..., None]:
            return lambda *args, **kwargs: calls.append((name, [type(each).__name__ for each in args], kwargs))

        base = module(lib, "optimizer")
        handles = [
            getattr(optimizer, f"register_{kind}")(hook("first")),
            getattr(optimizer, f"register_{kind}")(hook("second"), **options),
            base.register_optimizer_step_pre_hook(hook("before all")),
            base.register_optimizer_step_post_hook(hook("after all")),
        ]
        for closure in ([], [lambda: 3]):
            optimizer.step(*closure)
        optimizer.step(closure=None)
        optimizer.load_state_dict(optimizer.state_dict())
        for handle in handles:
            handle.remove()
        optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
        return calls

    return line


def with_hook(kind: str, hook: Callable[..., Any], then: str, *args: Any) -> Line:
    def line(lib: Any) -> Any:
        optimizer = made(lib)
        getattr(optimizer, f"register_{kind}")(hook)
        return getattr(optimizer, then)(*args)

    return line


HOOKS: list[Line] = [
    hooked("step_pre_hook"),
    hooked("step_post_hook"),
    *(hooked(f"{kind}_hook", prepend=True) for kind in ("state_dict_pre", "state_dict_post")),
    *(hooked(f"{kind}_hook", prepend=True) for kind in ("load_state_dict_pre", "load_state_dict_post")),
    with_hook("step_pre_hook", lambda optimizer, args, kwargs: ((optimizer, lambda: 5), {}), "step"),
    with_hook("step_pre_hook", lambda optimizer, args, kwargs: (args, {"closure": lambda: 6}), "step"),
    with_hook("state_dict_post_hook", lambda optimizer, state_dict: {"x": 1}, "state_dict"),
    with_hook("load_state_dict_pre_hook", lambda optimizer, state_dict: {"param_groups": []}, "load_state_dict", {}),
    with_hook("step_post_hook", 3, "step"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("number", range(len(UNFIT)))
@pytest.mark.parametrize("lib", [torch, minitorch], ids=["torch", "minitorch"])
def test_parameters_and_state_that_do_not_fit(lib: Any, number: int) -> None:
    assert outcome(UNFIT[number], lib)[0].startswith("RuntimeError: ")


@pytest.mark.parametrize("lines", [PARAMETERS, STATE, HOOKS], ids=["parameters", "state", "hooks"])
def test_optimizers(lines: list[Line]) -> None:
    assert_same(lines, 0)


def test_a_pre_hook_must_return_arguments() -> None:
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got 3"):
        with_hook("step_pre_hook", lambda *args: 3, "step")(minitorch)
