"""GradScaler against torch's, step by step, with infinite gradients where they hurt."""

from __future__ import annotations

import pickle
from typing import Any

import minitorch
from tests.same import errors, same_within

nearly_the_same = same_within(1e-6)
INF, NAN = float("inf"), float("nan")


@nearly_the_same
def test_training_with_infinities(torch: Any) -> list[Any]:
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2, growth_factor=4.0, backoff_factor=0.25)
    first, second = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    optimizers = torch.optim.SGD([first], lr=0.1), torch.optim.Adam([second], lr=0.1)
    seen: list[Any] = [scaler.get_scale(), scaler.state_dict()]
    for factor in (1.0, 2.0, INF, 1.0, NAN, 1.0, 1.0, 1.0, 1.0, -INF, 3.0):
        for optimizer in optimizers:
            optimizer.zero_grad()
        scaler.scale((first * torch.tensor([1.0, factor])).sum() + (second * 2).sum()).backward()
        seen += [first.grad.clone(), second.grad.clone()]
        scaler.unscale_(optimizers[1])
        seen += [second.grad.clone()]
        seen += [scaler.step(each) for each in optimizers]
        scaler.update()
        seen += [first.clone(), second.clone(), scaler.state_dict(), scaler.get_scale()]
    return seen


@nearly_the_same
def test_the_scale_never_becomes_infinite(torch: Any) -> list[Any]:
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=1)
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    scaler.scale(parameter.sum() * 0).backward()
    scaler.step(optimizer)
    scaler.update()
    return [scaler.get_scale(), scaler._growth_tracker]


@nearly_the_same
def test_scaled_things(torch: Any) -> list[Any]:
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    x = torch.ones(2)
    nested = scaler.scale([x, (x, [x.half()])])
    lazy = scaler.scale(each for each in (x, x))
    return [
        scaler.scale(x),
        nested,
        type(nested[1]).__name__,
        list(lazy),
        scaler._scale,
        scaler._growth_tracker,
        scaler.is_enabled(),
        *errors(lambda: scaler.scale(3), lambda: scaler.scale([x, 3])),
    ]


@nearly_the_same
def test_factors_and_settings(torch: Any) -> list[Any]:
    scaler = torch.amp.GradScaler("cpu")
    seen = [scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()]
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.1)
    scaler.set_growth_interval(5)
    scaler.scale(torch.ones(1))
    scaler.update(2.0)
    seen += [scaler.state_dict()]
    scaler.update(torch.tensor(16.0))
    other = torch.amp.GradScaler("cpu")
    other.scale(torch.ones(1))
    other.load_state_dict({**scaler.state_dict(), "_growth_tracker": 3})
    fresh = torch.amp.GradScaler("cpu")
    fresh.load_state_dict(other.state_dict())
    seen += [other.state_dict(), other._scale, fresh.state_dict(), fresh.scale(torch.ones(1)), fresh._growth_tracker]
    return seen


@nearly_the_same
def test_a_disabled_scaler(torch: Any) -> list[Any]:
    scaler = torch.amp.GradScaler("cpu", enabled=False, growth_factor=0.1)
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    loss = parameter.sum()
    same = scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    closed = scaler.step(optimizer, closure=lambda: parameter.sum())
    scaler.update()
    scaler.load_state_dict({})
    return [same, parameter, closed, scaler.get_scale(), scaler.state_dict(), scaler.is_enabled(), scaler.scale(3)]


@nearly_the_same
def test_errors_of_use(torch: Any) -> list[Any]:
    def started() -> tuple[Any, Any]:
        scaler = torch.amp.GradScaler("cpu")
        parameter = torch.nn.Parameter(torch.ones(2))
        scaler.scale(parameter.sum()).backward()
        return scaler, torch.optim.SGD([parameter], lr=0.1)

    def twice(*methods: str) -> None:
        scaler, optimizer = started()
        for method in methods:
            getattr(scaler, method)(*(() if method == "update" else (optimizer,)))

    def of(parameter: Any, method: str, gradient: Any) -> None:
        scaler, _ = started()
        parameter.grad = gradient
        getattr(scaler, method)(torch.optim.SGD([parameter], lr=0.1))

    def pickled() -> Any:
        scaler, optimizer = started()
        scaler.unscale_(optimizer)
        return pickle.dumps(scaler)

    new = torch.amp.GradScaler
    half = torch.nn.Parameter(torch.ones(2).half())
    return errors(
        lambda: new("cpu", growth_factor=1.0),
        lambda: new("cpu", backoff_factor=1.0),
        lambda: new("cpu").step(started()[1]),
        lambda: new("cpu").unscale_(started()[1]),
        lambda: new("cpu").update(),
        lambda: twice("unscale_", "unscale_"),
        lambda: twice("step", "step"),
        lambda: twice("step", "unscale_"),
        lambda: twice("update"),
        lambda: twice("step", "update", "step"),
        lambda: started()[0].step(started()[1], closure=lambda: None),
        lambda: of(torch.nn.Parameter(torch.ones(2)), "step", None),
        lambda: of(half, "unscale_", torch.ones(2).half()),
        lambda: started()[0].update(torch.ones(2)),
        lambda: started()[0].update(torch.ones(1, requires_grad=True)),
        lambda: new("cpu").load_state_dict({}),
        pickled,
    )


@nearly_the_same
def test_gradients_of_several_types(torch: Any) -> list[Any]:
    parameters = [
        torch.nn.Parameter(torch.ones(2, dtype=kind)) for kind in (torch.float32, torch.bfloat16, torch.float64)
    ]
    optimizer = torch.optim.SGD([{"params": parameters[:1]}, {"params": parameters[1:]}], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    for factor in (1.0, INF):
        optimizer.zero_grad()
        for each in parameters:
            scaler.scale((each * (factor if each.dtype == torch.float64 else 1.0)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    return [parameters, [each.grad for each in parameters], scaler.get_scale()]


def test_a_scaler_survives_pickling() -> None:
    scaler = minitorch.amp.GradScaler("cpu", init_scale=4.0)
    parameter = minitorch.nn.Parameter(minitorch.ones(2))
    optimizer = minitorch.optim.SGD([parameter], lr=0.1)
    scaler.scale(parameter.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert pickle.loads(pickle.dumps(scaler)).state_dict() == {
        **scaler.state_dict(),
        "_growth_tracker": 1,
        "scale": 4.0,
    }
