"""Chapter 22 of mytorch against minitorch and PyTorch: types under autocast, the scaler's factors, rounding."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minitorch
from tests.mytorch.compare import agree, close, numbers, pytorch, same

part = pytest.mark.part
mode = "mytorch.amp.autocast_mode:"
scaler = "mytorch.amp.grad_scaler:GradScaler."
master = "mytorch.amp.master_weights:MasterWeights."
rounding = "mytorch.amp.rounding:"
LIBRARIES = [each for each in (minitorch, pytorch) if each is not None]


def made(torch: Any, *size: int, seed: int = 0, device: str = "cpu") -> Any:
    return torch.tensor(numbers(*size, seed=seed).tolist()).to(device)


CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    # torch, its nn.functional, a matrix in the lower precision, the same in float32
    "matmul": lambda torch, f, h, x: x @ x,
    "matmul, mixed": lambda torch, f, h, x: h @ x,
    "matmul, integers": lambda torch, f, h, x: x.long() @ x.long() if x.device.type == "cpu" else h,
    "linear": lambda torch, f, h, x: f.linear(x, x, x[0]),
    "linear, by keyword": lambda torch, f, h, x: f.linear(x, weight=x, bias=x[0]),
    "conv2d": lambda torch, f, h, x: f.conv2d(x[None, None], x[None, None, :2, :2], x[0, :1]),
    "conv_transpose2d": lambda torch, f, h, x: f.conv_transpose2d(x[None, None], x[None, None, :2, :2], x[0, :1]),
    "scaled_dot_product_attention": lambda torch, f, h, x: f.scaled_dot_product_attention(x[None], x[None], x[None]),
    "mse_loss": lambda torch, f, h, x: f.mse_loss(h, h),
    "l1_loss": lambda torch, f, h, x: f.l1_loss(h, x),
    "nll_loss": lambda torch, f, h, x: f.nll_loss(h, torch.arange(4).to(h.device)),
    "cross_entropy": lambda torch, f, h, x: f.cross_entropy(h, torch.arange(4).to(h.device)),
    "binary_cross_entropy_with_logits": lambda torch, f, h, x: f.binary_cross_entropy_with_logits(h, x.sigmoid()),
    "prod": lambda torch, f, h, x: h.prod(),
    "cat": lambda torch, f, h, x: torch.cat([h, x]),
    "cat, lower": lambda torch, f, h, x: torch.cat([h, h]),
    "stack": lambda torch, f, h, x: torch.stack([h, x]),
    "exp": lambda torch, f, h, x: h.exp(),
    "log": lambda torch, f, h, x: h.abs().log(),
    "log1p": lambda torch, f, h, x: h.abs().log1p(),
    "pow": lambda torch, f, h, x: h**2,
    "reciprocal": lambda torch, f, h, x: h.reciprocal(),
    "rsqrt": lambda torch, f, h, x: h.abs().rsqrt(),
    "sum": lambda torch, f, h, x: h.sum(),
    "cumsum": lambda torch, f, h, x: h.cumsum(0),
    "softmax": lambda torch, f, h, x: h.softmax(-1),
    "log_softmax": lambda torch, f, h, x: f.log_softmax(h, -1),
    "layer_norm": lambda torch, f, h, x: f.layer_norm(h, (4,), x[0], x[1]),
    "batch_norm": lambda torch, f, h, x: f.batch_norm(h, x[0], x[1].abs(), x[0], x[1]),
    "gelu": lambda torch, f, h, x: f.gelu(h),
    "mean": lambda torch, f, h, x: h.mean(),
    "add": lambda torch, f, h, x: h + x,
    "mul": lambda torch, f, h, x: h * h,
    "sqrt": lambda torch, f, h, x: h.abs().sqrt(),
    "relu": lambda torch, f, h, x: f.relu(x),
}
ONLY_ON_CPU = {
    "bilinear": lambda torch, f, h, x: f.bilinear(x, x, x[None]),
    "matmul, float64": lambda torch, f, h, x: x.double() @ x.double(),
    "cat, another 16-bit type": lambda torch, f, h, x: torch.cat([h, x.half()]),
    "MultiheadAttention": lambda torch, f, h, x: torch.nn.MultiheadAttention(4, 2)(x[None], x[None], x[None])[0],
    "RNN": lambda torch, f, h, x: torch.nn.RNN(4, 4)(x[None])[0],
    "GRU": lambda torch, f, h, x: torch.nn.GRU(4, 4)(x[None])[0],
}


def type_under_autocast(call: Callable[[Any, Any, Any, Any], Any], device: str) -> Callable[[Any], Any]:
    def run(torch: Any) -> Any:
        x = made(torch, 4, 4, device=device)
        with torch.autocast(device):
            return call(torch, torch.nn.functional, x @ x, x).dtype

    return run


@part(mode + "cast_as_listed", mode + "cast", mode + "may_be_cast", mode + "lower", mode + "full", mode + "widest")
@part(mode + "LISTS", mode + "LOWER", mode + "PRODUCTS", mode + "LOSSES", mode + "autocast.__enter__")
@part("mytorch.dispatch:composite")
@pytest.mark.parametrize("name", [*CALLS, *ONLY_ON_CPU])
def test_types_under_autocast(mytorch: ModuleType, name: str) -> None:
    same(type_under_autocast((CALLS | ONLY_ON_CPU)[name], "cpu"), mytorch)


@part(mode + "LISTS", mode + "FULL_ON_CUDA")
@pytest.mark.parametrize("name", CALLS)
def test_types_under_autocast_on_a_gpu(mytorch: ModuleType, name: str) -> None:
    """PyTorch has no simulated GPUs; minitorch's lists are compared with PyTorch's documentation in its own tests."""
    if name.startswith(("cat", "stack")):  # in no list: both promote, as the CPU's case shows
        return
    for each in (mytorch, minitorch):
        each.cuda.simulate(1)
    same(type_under_autocast(CALLS[name], "cuda"), mytorch, beside_pytorch=False)


def gradients(torch: Any) -> Any:
    """Losses and gradients of a small network in bfloat16."""
    w1, w2 = made(torch, 6, 4, seed=1).requires_grad_(), made(torch, 3, 6, seed=2).requires_grad_()
    bias, f = made(torch, 6, seed=3).requires_grad_(), torch.nn.functional
    with torch.autocast("cpu"):
        out = f.linear(f.relu(f.linear(made(torch, 5, 4), w1, bias)), w2)
        loss = f.mse_loss(out, made(torch, 5, 3, seed=4))
    loss.backward()
    types = [str(each.grad.dtype)[6:] for each in (w1, w2, bias)]
    return [loss, w1.grad, w2.grad, bias.grad, *types]


@part("mytorch.reduction:matmul", "mytorch.reduction:wide_type", mode + "cast")
def test_gradients_of_weights_are_float32(mytorch: ModuleType) -> None:
    agree(gradients, mytorch, rtol=0.03, atol=0.03)


@part("mytorch.reduction:wide_type", "mytorch.reduction:matmul", "mytorch.reduction:sum")
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_products_and_sums_round_once(mytorch: ModuleType, kind: str) -> None:
    """Added up in 16 bits, 4,096 ones stop at 2,048 or 256."""

    def totals(torch: Any) -> Any:
        ones = torch.ones(1, 4096, dtype=getattr(torch, kind))
        return [(ones @ ones.reshape(4096, 1)).float(), ones.sum().float()]

    agree(totals, mytorch, rtol=0)


def blocks(torch: Any) -> Any:
    """Types inside blocks in blocks, after an error, and of a function that is decorated."""
    x, found = torch.ones(2, 2), []
    with torch.autocast("cpu"):
        found.append((x @ x).dtype)
        with torch.autocast("cpu", dtype=torch.float16):
            found.append((x @ x).dtype)
            with torch.autocast("cpu", enabled=False):
                found.append((x @ x).dtype)
            found.append((x @ x).dtype)
        found.append((x @ x).dtype)
    found.append((x @ x).dtype)
    try:
        with torch.autocast("cpu"):
            x @ torch.ones(3, 3)
    except RuntimeError:
        found.append((x @ x).dtype)

    @torch.autocast("cpu")
    def product(y: Any) -> Any:
        """Doc."""
        return x @ y

    return [*found, product(x).dtype, product.__name__, product.__doc__, (x @ x).dtype]


@part(mode + "autocast.__enter__", mode + "autocast.__exit__", mode + "State")
def test_blocks_in_blocks(mytorch: ModuleType) -> None:
    same(blocks, mytorch)
    assert mytorch.autocast is mytorch.amp.autocast


@part(mode + "autocast.__init__")
def test_a_device_without_autocast(mytorch: ModuleType) -> None:
    same(lambda torch: torch.autocast("meta"), mytorch)


def casts(torch: Any) -> int:
    """How many nodes cast, where one weight is used twice, once without a graph before."""
    weight, x = made(torch, 4, 4).requires_grad_(), made(torch, 2, 4)
    with torch.autocast("cpu"):
        with torch.no_grad():
            x @ weight
        out = x @ weight @ weight
    (first, _), (second, _) = out.grad_fn.next_functions
    out.sum().backward()
    return len({first.next_functions[1][0], second}), weight.grad is not None


@part(mode + "cast", mode + "autocast.__exit__", mode + "State")
def test_a_weight_is_cast_once(mytorch: ModuleType) -> None:
    same(casts, mytorch)
    assert mytorch.amp.autocast_mode.State.cast_weights == {}


@part(mode + "autocast.__exit__")
def test_a_weight_that_moved_is_cast_anew(mytorch: ModuleType) -> None:
    def results(torch: Any) -> Any:
        weight, found = torch.ones(2, 2, requires_grad=True), []
        for _ in range(2):
            with torch.autocast("cpu"):
                found.append((torch.ones(1, 2) @ weight).float())
            with torch.no_grad():
                weight += 1
        return found

    agree(results, mytorch)


def test_backward_inside_casts_what_forward_left_in_float32(mytorch: ModuleType) -> None:
    """minitorch's backward doesn't, so PyTorch alone is the judge."""
    found = []
    for torch in [mytorch] if pytorch is None else [mytorch, pytorch]:
        x, y, weight = (made(torch, 64, 64, seed=seed) for seed in range(3))
        weight.requires_grad_()
        grads = []
        for inside in (False, True):
            loss = ((x @ weight) * y).sum()
            with torch.autocast("cpu", enabled=inside):
                grads += torch.autograd.grad(loss, weight)
        found.append(((grads[1] - grads[0]).abs().max() / grads[0].abs().max()).item())
    close(found, [found[0]] * len(found), rtol=0.1)
    assert 0.001 < found[0] < 0.02


def scripted(torch: Any, factors: list[float], **options: Any) -> Any:
    """A parameter, the scale and the count of good steps, after rounds whose gradients are multiplied by these."""
    x = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.125)
    scaler = torch.amp.GradScaler("cpu", **options)
    found: list[Any] = []
    for factor in factors:
        optimizer.zero_grad()
        scaler.scale((x * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        state = scaler.state_dict()
        found += [x.detach().clone(), scaler.get_scale(), float(state.get("_growth_tracker", -1))]
    return found


INFINITE, NAN = float("inf"), float("nan")
SCRIPTS: dict[str, tuple[list[float], dict[str, Any]]] = {
    "overflows in steps 3, 8 and 9": (
        [INFINITE if step in (3, 8, 9) else 1.0 for step in range(1, 13)],
        {"growth_interval": 3},
    ),
    "nan": ([1.0, NAN, 1.0, NAN, NAN], {"init_scale": 64.0, "growth_interval": 1}),
    "other factors": (
        [1.0] * 4 + [INFINITE] * 2 + [1.0] * 4,
        {"growth_factor": 3.0, "backoff_factor": 0.25, "growth_interval": 2},
    ),
    "overflow by the factor alone": ([1e36] * 8, {"init_scale": 2.0**10}),
    "defaults": ([1.0, INFINITE, 1.0], {}),
    "not enabled": ([1.0, 2.0], {"enabled": False}),
}


@part(
    scaler + "scale", scaler + "unscale_", scaler + "step", scaler + "update", scaler + "get_scale", scaler + "__init__"
)
@part(scaler + "state_dict")
@pytest.mark.parametrize("name", SCRIPTS)
def test_factors_over_a_script_of_overflows(mytorch: ModuleType, name: str) -> None:
    factors, options = SCRIPTS[name]
    agree(lambda torch: scripted(torch, factors, **options), mytorch, rtol=1e-6)


def calls(torch: Any, *names: str, half: bool = False, **options: Any) -> Any:
    """The result of the last of some calls one after another, and the gradient after it."""
    x = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    loss = scaler.scale((x * 3.0).sum())
    if "no gradient" not in names:
        loss.backward()
    if half:
        x.grad = None
        x = torch.ones(2, dtype=torch.float16, requires_grad=True)
        optimizer = torch.optim.SGD([x], lr=0.5)
        x.grad = torch.ones(2, dtype=torch.float16)
    for name in names:
        if name == "update":
            scaler.update()
        elif name == "to 16":
            scaler.update(16.0)
        elif name != "no gradient":
            getattr(scaler, name)(optimizer, **options)
    return x.grad.tolist(), x.tolist(), scaler.get_scale()


@part(scaler + "unscale_", scaler + "step", scaler + "update")
@pytest.mark.parametrize(
    "names",
    [
        ["unscale_"],
        ["unscale_", "unscale_"],
        ["unscale_", "step", "update"],
        ["step", "unscale_"],
        ["step", "step"],
        ["step", "update", "step", "update"],
        ["step", "to 16"],
        ["update"],
        ["no gradient", "step"],
    ],
    ids=", ".join,
)
def test_the_order_of_calls(mytorch: ModuleType, names: list[str]) -> None:
    same(lambda torch: calls(torch, *names), mytorch)


@part(scaler + "unscale_", scaler + "step")
def test_what_a_scaler_refuses(mytorch: ModuleType) -> None:
    same(lambda torch: calls(torch, "unscale_", half=True), mytorch)
    same(lambda torch: calls(torch, "step", closure=None), mytorch)


@part(scaler + "step", scaler + "update")
def test_two_optimizers(mytorch: ModuleType) -> None:
    """One finds an infinite gradient and leaves its step out; the other makes its own; the factor falls."""

    def run(torch: Any) -> Any:
        both = [torch.ones(1, requires_grad=True) for _ in range(2)]
        optimizers = [torch.optim.SGD([each], lr=1.0) for each in both]
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        for each, factor in zip(both, (INFINITE, 0.5), strict=True):
            scaler.scale(each * factor).backward()
        for each in optimizers:
            scaler.step(each)
        scaler.update()
        return [*both, scaler.get_scale()]

    agree(run, mytorch)


@part(scaler + "scale", scaler + "is_enabled")
def test_several_losses_are_scaled(mytorch: ModuleType) -> None:
    def run(torch: Any) -> Any:
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        scaled = scaler.scale([torch.ones(1), (torch.ones(2, dtype=torch.float16), torch.zeros(1))])
        return scaled, scaler.is_enabled(), torch.amp.GradScaler("cpu", enabled=False).scale([1, 2])

    same(run, mytorch)


@part(scaler + "state_dict", scaler + "load_state_dict")
def test_a_scaler_goes_on_where_it_was_saved(mytorch: ModuleType) -> None:
    def scaler_after(torch: Any, factors: list[float], state: Any = None, **options: Any) -> Any:
        x = torch.ones(1, requires_grad=True)
        optimizer, scaler = torch.optim.SGD([x], lr=0.1), torch.amp.GradScaler("cpu", **options)
        if state is not None:
            scaler.load_state_dict(state)
        for factor in factors:
            optimizer.zero_grad()
            scaler.scale(x * factor).backward()
            scaler.step(optimizer)
            scaler.update()
        return scaler

    first = {"init_scale": 32.0, "growth_interval": 3, "growth_factor": 4.0, "backoff_factor": 0.25}
    for one in (mytorch, *LIBRARIES):
        state = scaler_after(one, [1.0, INFINITE, 1.0, 1.0], **first).state_dict()
        assert state == scaler_after(mytorch, [1.0, INFINITE, 1.0, 1.0], **first).state_dict()
        for other in (mytorch, *LIBRARIES):
            resumed = scaler_after(other, [1.0, 1.0], state)
            assert (resumed.get_scale(), resumed.state_dict()["_growth_tracker"]) == (32.0, 1)
    same(lambda torch: torch.amp.GradScaler("cpu").load_state_dict({}), mytorch)
    same(lambda torch: torch.amp.GradScaler("cpu", enabled=False).state_dict(), mytorch)
    same(lambda torch: torch.amp.GradScaler("cpu", enabled=False).load_state_dict({}), mytorch)


@part(scaler + "__init__")
def test_without_a_gpu_a_scaler_for_one_is_not_enabled(mytorch: ModuleType) -> None:
    def run(torch: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            enabled = torch.amp.GradScaler().is_enabled()
        return enabled, [(each.category, str(each.message)) for each in caught]

    for each in (mytorch, minitorch):
        each.cuda.simulate(0)
    same(run, mytorch, beside_pytorch=pytorch is not None and not pytorch.cuda.is_available())


def small_steps(torch: Any, MasterWeights: Any, kind: str) -> Any:
    """A weight and its copy after 100 steps that are too small for 16 bits."""
    weights = [torch.ones(2, dtype=getattr(torch, kind), requires_grad=True) for _ in range(2)]
    master = MasterWeights(weights)
    optimizer = torch.optim.SGD(master.copies, lr=0.001)
    for _ in range(100):
        weights[0].grad = None
        (weights[0] * 1.0).sum().backward()
        master.step(optimizer)
    types = [str(each.dtype)[6:] for each in (weights[0], master.copies[0], master.copies[0].grad)]
    return [weights[0].float(), master.copies[0], weights[1].float(), master.copies[1].grad, *types]


@part(master + "__init__", master + "take_gradients", master + "give_weights", master + "step")
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32"])
def test_master_weights_collect_small_steps(mytorch: ModuleType, kind: str) -> None:
    """What PyTorch gives when its optimizer has float32 copies, written out."""
    found = small_steps(mytorch, mytorch.amp.MasterWeights, kind)
    assert found[4:] == [kind, "float32", "float32"] and found[3] is None
    for torch in LIBRARIES:
        copy = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([copy], lr=0.001)
        for _ in range(100):
            copy.grad = torch.ones(2)
            optimizer.step()
        close(found[:3], [copy.to(getattr(torch, kind)).float(), copy, torch.ones(2)], rtol=1e-6)


@part(master + "__init__")
def test_master_weights_are_copies(mytorch: ModuleType) -> None:
    weight = mytorch.ones(2, requires_grad=True)
    master = mytorch.amp.MasterWeights([weight])
    with mytorch.no_grad():
        weight.mul_(2.0)
    assert master.copies[0].tolist() == [1.0, 1.0]


@part(rounding + "cut", rounding + "nearest")
def test_nearest_rounds_as_pytorch_does(mytorch: ModuleType) -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(size=500) * 10.0 ** generator.uniform(-30, 30, size=500)
    middles = [sign * (1 + place / 256) for sign in (1, -1) for place in range(12)]
    special = [0.0, -0.0, INFINITE, -INFINITE, 3.4e38, 1e-45]
    exact = np.array([*values, *middles, *special], np.float32).tolist()
    found = mytorch.amp.rounding.nearest(mytorch.tensor(exact))
    assert found.dtype is mytorch.bfloat16
    for torch in LIBRARIES:
        expected = torch.tensor(exact).bfloat16().float().tolist()
        assert [math.copysign(1, each) for each in found.float().tolist()] == [
            math.copysign(1, each) for each in expected
        ]
        assert found.float().tolist() == expected
    assert math.isnan(mytorch.amp.rounding.nearest(mytorch.tensor([NAN])).item())


@part(rounding + "stochastic_round", rounding + "cut")
def test_rounding_at_random_is_right_on_average(mytorch: ModuleType) -> None:
    mytorch.manual_seed(0)
    for share in (0.0, 0.25, 0.9):
        x = mytorch.full((20000,), 1 + share / 128)
        found = mytorch.amp.stochastic_round(x)
        assert (found.dtype, found.shape) == (mytorch.bfloat16, x.shape)
        ups = (found.float() > 1.0).float().mean().item()
        assert abs(ups - share) < 4 * math.sqrt(share * (1 - share) / 20000) + 1e-9
        assert set(found.float().tolist()) <= {1.0, 1 + 1 / 128}


@part("mytorch.creation:_NAMES")
def test_a_tensor_becomes_bfloat16(mytorch: ModuleType) -> None:
    same(lambda torch: torch.tensor([1.0, 0.999, 3.1415927]).bfloat16(), mytorch)


def trained(torch: Any, kind: str, scaled: bool) -> Any:
    """Losses of a network whose loss is divided by 67 million, and learning rates multiplied by as much."""
    w1, w2 = made(torch, 16, 4, seed=1).requires_grad_(), made(torch, 1, 16, seed=2).requires_grad_()
    x, share = made(torch, 32, 4), 2.0**-26
    y = x[:, :1] * 0.5
    optimizer = torch.optim.SGD([w1, w2], lr=0.5 / share)
    scaler = torch.amp.GradScaler("cpu", enabled=scaled)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=getattr(torch, kind)):
            hidden = torch.nn.functional.linear(x, w1).tanh()
            loss = torch.nn.functional.mse_loss(torch.nn.functional.linear(hidden, w2) * 0.1, y)
        scaler.scale(loss * share).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


@part(mode + "cast_as_listed", scaler + "step")
def test_float16_learns_only_when_scaled(mytorch: ModuleType) -> None:
    plain, scaled, wide = (
        trained(mytorch, "float16", False),
        trained(mytorch, "float16", True),
        trained(mytorch, "bfloat16", False),
    )
    assert plain[-1] > 0.95 * plain[0] and scaled[-1] < 0.7 * scaled[0] and wide[-1] < 0.7 * wide[0]
    for torch in LIBRARIES:
        close(scaled, trained(torch, "float16", True), rtol=0.05)


@part("mytorch.dispatch:composite")
def test_an_error_inside_a_function_that_is_seen_as_one(mytorch: ModuleType) -> None:
    def wrong(torch: Any) -> Any:
        return torch.nn.functional.mse_loss(torch.ones(2), target=torch.ones(2), reduction="no")

    def inside(torch: Any) -> Any:
        with torch.autocast("cpu"):
            return wrong(torch)

    same(wrong, mytorch)
    same(inside, mytorch)


@part(mode + "ThreadState", mode + "State", mode + "autocast.__enter__", mode + "autocast.__exit__")
def test_each_thread_has_its_own_autocast(mytorch: ModuleType) -> None:
    """A block is open in one thread while another opens and closes its own, and the other way round."""

    def types(torch: Any) -> Any:
        found: list[Any] = []
        x = made(torch, 4, 4)

        def elsewhere() -> None:
            found.append((x @ x).dtype)
            with torch.autocast("cpu", dtype=torch.float16):
                found.append((x @ x).dtype)
            found.append((x @ x).dtype)

        with torch.autocast("cpu"):
            found.append((x @ x).dtype)
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            found.append((x @ x).dtype)
        return [*found, (x @ x).dtype]

    same(types, mytorch)


@part("mytorch.nn.parallel.data_parallel:parallel_apply")
def test_replicas_compute_in_the_callers_precision(mytorch: ModuleType) -> None:
    """PyTorch's `parallel_apply` carries it to the threads as well, but needs GPUs to show it."""

    def types(torch: Any) -> Any:
        torch.cuda.simulate(2)
        parallel, x = torch.nn.DataParallel(torch.nn.Linear(4, 3).to("cuda:0")), made(torch, 4, 4)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            inside = parallel(x).dtype
            with torch.autocast("cuda", enabled=False):
                off = parallel(x).dtype
        return [inside, off, parallel(x).dtype]

    same(types, mytorch, beside_pytorch=False)
