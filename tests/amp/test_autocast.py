"""autocast, its switches and its decorators do what torch's do."""

from __future__ import annotations

import importlib
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from tests.same import errors, same_within

roughly_the_same = same_within(5e-2)  # bfloat16 has eight bits, and normalization and sums magnify


def said(action: Callable[[], Any]) -> tuple[Any, ...]:
    """What an action returns or raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = repr(action())
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    words = [(str(each.message).partition(" (Triggered")[0], each.category.__name__) for each in caught]
    return result.partition(" object at")[0].partition(" xpu")[0], words


def switches(torch: Any) -> list[Any]:
    return [
        torch.is_autocast_enabled("cpu"),
        torch.is_autocast_enabled("cuda"),
        str(torch.get_autocast_dtype("cpu")),
        torch.is_autocast_cache_enabled(),
    ]


def product(torch: Any) -> str:
    return str(torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype)


@roughly_the_same
def test_blocks_in_blocks(torch: Any) -> list[Any]:
    seen = [switches(torch), product(torch)]
    with torch.autocast("cpu"):
        seen += [switches(torch), product(torch)]
        with torch.autocast("cpu", enabled=False):
            seen += [switches(torch), product(torch)]
            with torch.autocast("cpu", dtype=torch.float16, cache_enabled=False):
                seen += [switches(torch), product(torch)]
            seen += [switches(torch), product(torch)]
        seen += [switches(torch), product(torch)]
    seen += [switches(torch), product(torch)]
    try:
        with torch.autocast("cpu"):
            raise KeyError
    except KeyError:
        seen += [switches(torch), product(torch)]
    return seen


@roughly_the_same
def test_decorators(torch: Any) -> list[Any]:
    @torch.autocast("cpu")
    def low(x: Any) -> Any:
        """Multiplies."""
        return torch.mm(x, x)

    @torch.autocast("cpu", enabled=False)
    def high(x: Any) -> Any:
        return torch.mm(x, low(x).float())

    x = torch.ones(2, 2)
    return [low(x), high(x), product(torch), low.__name__, low.__doc__]


@roughly_the_same
def test_one_instance_entered_again(torch: Any) -> list[Any]:
    mode = torch.autocast("cpu")
    with mode:
        pass
    with mode:
        inside = product(torch)
    return [inside, product(torch), switches(torch)]


@roughly_the_same
def test_gradients_have_the_type_of_the_weights(torch: Any) -> list[Any]:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    x = torch.arange(6.0).reshape(2, 3) / 6
    with torch.autocast("cpu"):
        output = model(x)
        loss = torch.nn.functional.cross_entropy(output, torch.tensor([0, 1]))
    loss.backward()
    return [output, loss, [each.grad for each in model.parameters()], output.grad_fn.name()]


def layers(torch: Any) -> list[tuple[Any, tuple[int, ...]]]:
    nn = torch.nn
    return [
        (nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()), (2, 2, 6, 6)),
        (nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU(), nn.Dropout(0.0)), (2, 4)),
        (nn.Sequential(nn.Conv1d(2, 4, 2), nn.GroupNorm(2, 4), nn.SiLU()), (2, 2, 5)),
        (nn.Sequential(nn.Linear(4, 4), nn.Softmax(-1)), (2, 4)),
        (nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Sigmoid()), (3, 4)),
        (nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), (2, 3, 4)),
        (nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True, norm_first=True), (2, 3, 4)),
        (nn.Bilinear(3, 3, 2), (2, 3)),
    ]


@roughly_the_same
def test_layers_forward_and_backward(torch: Any) -> list[Any]:
    results: list[Any] = []
    for layer, shape in layers(torch):
        x = (torch.rand(shape) - 0.5).requires_grad_()
        with torch.autocast("cpu"):
            output = layer(x, x) if isinstance(layer, torch.nn.Bilinear) else layer(x)
        output.float().sum().backward()
        results += [output, x.grad.dtype, str(x.grad.dtype), [str(each.grad.dtype) for each in layer.parameters()]]
    return [each if hasattr(each, "detach") else str(each) for each in results]


@roughly_the_same
def test_recurrent_layers(torch: Any) -> list[Any]:
    results = []
    for kind in (torch.nn.RNN, torch.nn.GRU):
        layer = kind(3, 4)
        with torch.autocast("cpu"):
            output, state = layer(torch.rand(5, 2, 3))
        results += [output, state]
    return results


@roughly_the_same
def test_attention(torch: Any) -> list[Any]:
    results = []
    layer = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    for need_weights in (True, False):
        with torch.autocast("cpu"):
            output, weights = layer(*[torch.rand(2, 3, 4)] * 3, need_weights=need_weights)
        results += [output, weights]
    return results


@roughly_the_same
def test_weights_are_cast_once(torch: Any) -> list[Any]:
    w = torch.ones(2, 2, requires_grad=True)
    x = torch.ones(2, 2)

    def casts() -> list[Any]:
        with torch.no_grad():
            torch.mm(x, w)
        nodes = [torch.mm(x, w).grad_fn.next_functions[1][0] for _ in range(2)]
        return [nodes[0] is nodes[1], nodes[0].name()]

    with torch.autocast("cpu"):
        seen = casts()
        first = torch.mm(x, w).grad_fn.next_functions[1][0]
        with torch.autocast("cpu"):
            seen.append(torch.mm(x, w).grad_fn.next_functions[1][0] is first)
        seen.append(torch.mm(x, w).grad_fn.next_functions[1][0] is first)
        torch.clear_autocast_cache()
        seen.append(torch.mm(x, w).grad_fn.next_functions[1][0] is first)
        with torch.no_grad():
            w.fill_(2.0)
        seen.append(torch.mm(x, w))  # still the old weight, as in torch
        view = torch.ones(4).view(2, 2).requires_grad_()  # a leaf that is a view
        seen += [torch.mm(x, view).grad_fn.next_functions[1][0] is not torch.mm(x, view).grad_fn.next_functions[1][0]]
    with torch.autocast("cpu"):
        seen.append(torch.mm(x, w))
    with torch.autocast("cpu", cache_enabled=False):
        seen += casts()
    return seen


@roughly_the_same
def test_switches_as_functions(torch: Any) -> list[Any]:
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", torch.float16)
    torch.set_autocast_cache_enabled(False)
    seen = [switches(torch), product(torch)]
    torch.set_autocast_enabled("cpu", False)
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    torch.set_autocast_cache_enabled(True)
    seen += [torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()]
    return [*seen, *(torch.amp.is_autocast_available(name) for name in ("cpu", "cuda", "meta", "mps", "vulkan"))]


@roughly_the_same
def test_words_of_errors_and_warnings(torch: Any) -> list[Any]:
    def both_ways() -> Any:
        torch.set_autocast_enabled(True)
        on = torch.is_autocast_enabled()
        torch.set_autocast_enabled(False)
        return on, torch.is_autocast_enabled()

    cuda = importlib.import_module(f"{torch.__name__}.cuda.amp")
    cpu = importlib.import_module(f"{torch.__name__}.cpu.amp")
    return [
        said(action)
        for action in (
            lambda: torch.autocast("cpu", dtype=torch.float32)._enabled,
            lambda: torch.autocast("cuda")._enabled,
            lambda: torch.autocast("cuda", enabled=False)._enabled,
            lambda: torch.autocast(3),
            lambda: torch.autocast("meta"),
            lambda: torch.autocast("meta", dtype=torch.float16),
            lambda: torch.autocast("cpu")(3),
            both_ways,
            lambda: torch.set_autocast_dtype("cpu", 3),
            lambda: torch.set_autocast_enabled("cpu"),
            lambda: torch.set_autocast_enabled("cpu", 1),
            lambda: torch.is_autocast_enabled(3),
            lambda: torch.is_autocast_enabled("meta"),
            lambda: torch.get_autocast_dtype("meta"),
            lambda: torch.set_autocast_cpu_enabled(False),
            lambda: torch.set_autocast_cpu_dtype(torch.bfloat16),
            lambda: torch.get_autocast_gpu_dtype(),
            lambda: torch.set_autocast_gpu_dtype(torch.float16),
            lambda: torch.is_autocast_cpu_enabled(),
            lambda: torch.get_autocast_cpu_dtype(),
            lambda: torch.amp.is_autocast_available(3),
            lambda: cpu.autocast()._enabled,
            lambda: cuda.autocast()._enabled,
            lambda: cuda.GradScaler().is_enabled(),
            lambda: cuda.GradScaler(enabled=False).is_enabled(),
            lambda: cpu.GradScaler().is_enabled(),
            lambda: torch.amp.GradScaler().is_enabled(),
            lambda: cuda.custom_fwd(len) and None,
            lambda: cuda.custom_bwd(len) and None,
            lambda: torch.amp.custom_fwd(len, device_type=3),
            lambda: torch.amp.custom_bwd(len, device_type=3),
            lambda: torch.cat([torch.ones(2).half(), torch.ones(2).half()]),
        )
    ] + [isinstance(said(lambda: torch.autocast("xyz"))[0], str)]


@roughly_the_same
def test_a_promotion_that_fails(torch: Any) -> list[Any]:
    with torch.autocast("cpu"):
        return [said(lambda: torch.cat([torch.ones(2).half(), torch.ones(2)]))]


@roughly_the_same
def test_functions_with_their_own_backward(torch: Any) -> list[Any]:
    seen: list[Any] = []

    def function(**options: Any) -> Any:
        class Multiply(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cpu", **options)
            def forward(ctx: Any, a: Any, b: Any, more: Any = ()) -> Any:
                ctx.save_for_backward(a, b)
                seen.extend([str(a.dtype), [str(each.dtype) for each in more], product(torch)])
                return a.mm(b)

            @staticmethod
            @torch.amp.custom_bwd(device_type="cpu")
            def backward(ctx: Any, grad: Any) -> Any:
                a, b = ctx.saved_tensors
                seen.extend([str(grad.dtype), product(torch), switches(torch)])
                return grad.to(a.dtype).mm(b.t()), a.t().mm(grad.to(a.dtype)), None

        return Multiply

    x = torch.ones(2, 2, requires_grad=True)
    for options in ({}, {"cast_inputs": torch.float32}, {"cast_inputs": torch.float16}):
        for enabled in (True, False):
            with torch.autocast("cpu", enabled=enabled):
                y = function(**options).apply(x * 2, x.bfloat16().to(x.dtype), [x.double(), x.bfloat16()])
            seen.append(y)
            y.sum().backward()
            seen.append(x.grad)
    return seen


@roughly_the_same
def test_devices_with_a_number(torch: Any) -> Any:
    with torch.autocast("cpu:0", torch.float16):
        inside = torch.is_autocast_enabled("cpu"), str(torch.get_autocast_dtype("cpu:0"))
    outside = torch.is_autocast_enabled("cpu:0"), str(torch.get_autocast_dtype("cpu"))
    return [inside, outside, errors(lambda: torch.set_autocast_cache_enabled("x"))]


def test_threads_have_their_own_switches() -> None:
    seen: list[Any] = []
    with minitorch.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(product(minitorch)))
        thread.start()
        thread.join()
        seen.append(product(minitorch))
    assert seen == ["torch.float32", "torch.bfloat16"]


@pytest.mark.parametrize(
    "function",
    [
        lambda torch, x, w: x @ w,
        lambda torch, x, w: x[0] @ w,
        lambda torch, x, w: torch.addmm(x, x, w, alpha=2),
        lambda torch, x, w: torch.nn.functional.linear(x, w, w[0]),
        lambda torch, x, w: torch.nn.functional.linear(x.unsqueeze(0), w),
        lambda torch, x, w: x.unsqueeze(0).bmm(w.unsqueeze(0)),
        lambda torch, x, w: torch.tensordot(x, w, 1),
        lambda torch, x, w: torch.nn.functional.conv1d(x.unsqueeze(0), w.unsqueeze(2)),
        lambda torch, x, w: x.mv(w[0]),
        lambda torch, x, w: (x * w).softmax(1),
        lambda torch, x, w: torch.nn.functional.bilinear(x, x + w, torch.stack([w, x]), w[0]),
        lambda torch, x, w: torch.baddbmm(x.unsqueeze(0), x.unsqueeze(0), w.unsqueeze(0), beta=0.5, alpha=2),
        lambda torch, x, w: torch.einsum("bij,bjk->bik", x.unsqueeze(0), w.unsqueeze(0)),
        lambda torch, x, w: x.expand(2, 3, 2, 2) @ w,
        lambda torch, x, w: x.matrix_power(3),
        lambda torch, x, w: torch.linalg.inv(x),
        lambda torch, x, w: torch.linalg.pinv(torch.cat([x, w])),
        lambda torch, x, w: torch.linalg.pinv(torch.cat([x, w], 1)),
        lambda torch, x, w: torch.linalg.lstsq(x, w).solution,
        lambda torch, x, w: torch.linalg.lstsq(torch.cat([x, w]), torch.cat([w, x])[:, 0]).solution,
        lambda torch, x, w: sum(each.sum() for each in torch.linalg.lstsq(torch.cat([x, w]), w.repeat(2, 1))[:2]),
        lambda torch, x, w: torch.linalg.lstsq(torch.cat([x, w]), w.repeat(2, 1), driver="gelsd").residuals,
        lambda torch, x, w: torch.linalg.svdvals(torch.cat([x, w])),
        lambda torch, x, w: torch.linalg.svdvals(torch.cat([x, w], 1)),
        lambda torch, x, w: torch.linalg.eigvalsh(x @ x.T),
        lambda torch, x, w: torch.linalg.eigh(x + w).eigenvectors.abs(),
        lambda torch, x, w: torch.linalg.qr(torch.cat([x, w])).Q,
        lambda torch, x, w: torch.linalg.qr(torch.cat([x, w], 1)).R,
        lambda torch, x, w: torch.linalg.cholesky(x @ x.T),
        lambda torch, x, w: torch.cholesky_inverse(x, upper=True),
        lambda torch, x, w: torch.cholesky_solve(w, x, upper=True),
        lambda torch, x, w: torch.linalg.lu(x).U,
        lambda torch, x, w: torch.linalg.lu(torch.cat([x, w], 1)).L,
        lambda torch, x, w: torch.linalg.lu(torch.cat([x, w])).U,
        lambda torch, x, w: torch.linalg.lu_solve(*torch.linalg.lu_factor(x), w),
        lambda torch, x, w: torch.linalg.lu_solve(*torch.linalg.lu_factor(x), w, left=False),
        lambda torch, x, w: torch.linalg.lu_solve(*torch.linalg.lu_factor(x), w, adjoint=True),
    ],
)
@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@same_within(1e-5)
def test_a_backward_pass_inside_casts_its_own_products(torch: Any, lower: str, function: Callable[..., Any]) -> Any:
    x = torch.tensor([[1.003, 0.3], [0.0, 1.107]], requires_grad=True)  # neither lower precision has these numbers
    w = torch.tensor([[0.1, 1.31], [1.203, 0.2]], requires_grad=True)
    result = function(torch, x, w)
    with torch.autocast("cpu", getattr(torch, lower)):
        (result * result.detach().sin()).sum().backward()  # a gradient that isn't the same everywhere
    return result, x.grad, w.grad


def attention(**options: Any) -> Callable[..., Any]:
    return lambda torch, x: torch.nn.functional.scaled_dot_product_attention(x, x + 1, x.sin(), **options)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (attention(), (2, 3, 4, 5)),
        (attention(is_causal=True), (2, 3, 4, 5)),
        (lambda torch, x: attention(attn_mask=torch.tensor([[0.5, -1.0], [0.0, 2.0]]))(torch, x), (1, 2, 2, 3)),
        (lambda torch, x: attention(attn_mask=torch.tensor([[True, False], [True, True]]))(torch, x), (1, 2, 2, 3)),
        (lambda torch, x: attention(attn_mask=x.sum((0, 1))[:, :2])(torch, x), (1, 2, 2, 3)),  # PyTorch's row of ops
        (lambda torch, x: attention(attn_mask=torch.ones(2, 2, 2))(torch, x), (1, 2, 2, 3)),
        (attention(), (3, 4, 5)),
        (attention(), (4, 5)),
        (attention(), (1, 2, 3, 4, 5)),
        (lambda torch, x: attention()(torch, x.mT), (2, 3, 4, 5)),
        (lambda torch, x: torch.nn.LSTM(5, 4, 2, bidirectional=True)(x)[0], (3, 2, 5)),
        (lambda torch, x: torch.nn.LSTM(5, 4, bias=False, batch_first=True)(x)[1][1], (2, 3, 5)),
        (lambda torch, x: torch.nn.LSTM(5, 4, proj_size=2)(x)[0], (3, 2, 5)),
        (lambda torch, x: torch.nn.LSTMCell(5, 4)(x)[1], (3, 5)),
        (lambda torch, x: torch.nn.GRU(5, 4)(x)[0], (3, 2, 5)),
        (lambda torch, x: torch.nn.RNN(5, 4)(x)[0], (3, 2, 5)),
        (lambda torch, x: torch.nn.MultiheadAttention(6, 2)(x, x, x)[0], (3, 2, 6)),
        (lambda torch, x: torch.nn.MultiheadAttention(6, 2, batch_first=True)(x.sin(), x, x)[0], (3, 2, 6)),
        (
            lambda torch, x: torch.nn.MultiheadAttention(6, 2, batch_first=True)(x, x, x, need_weights=False)[0],
            (3, 2, 6),
        ),
        (lambda torch, x: torch.nn.MultiheadAttention(6, 2)(x, x, x)[0], (3, 6)),
    ],
)
@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@same_within(1e-5)
def test_a_backward_pass_inside_leaves_whole_kernels(
    torch: Any, lower: str, function: Callable[..., Any], shape: tuple[int, ...]
) -> Any:
    x = torch.randn(shape, requires_grad=True)
    result = function(torch, x)
    with torch.autocast("cpu", getattr(torch, lower)):
        (result * result.detach().sin()).sum().backward()
    return result, x.grad


@same_within(1e-2)
def test_a_pseudoinverse_in_lower_precision_has_no_gradient_outside(torch: Any) -> Any:
    found = []
    for shape in ((3, 2), (2, 3)):
        x = torch.randn(shape, requires_grad=True)
        with torch.autocast("cpu"):
            y = torch.linalg.pinv(x)
        found += [y, y.grad_fn.name(), errors(lambda y=y: y.sum().backward())]
    return found


@roughly_the_same
def test_a_grid_comes_out_in_lower_precision(torch: Any) -> Any:
    theta = torch.randn(2, 2, 3, requires_grad=True)
    with torch.autocast("cpu"):
        grid = torch.nn.functional.affine_grid(theta, (2, 1, 3, 4), align_corners=False)
    grid.float().square().sum().backward()
    return grid, theta.grad


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        pytest.param("LSTM(8, 16, 2, bidirectional=True)", (7, 3, 8), marks=pytest.mark.needs("avx512")),
        pytest.param("LSTM(8, 16, batch_first=True)", (3, 7, 8), marks=pytest.mark.needs("avx512")),
        pytest.param("LSTM(8, 16, bias=False)", (7, 8), marks=pytest.mark.needs("avx512")),
        ("GRU(8, 16)", (7, 3, 8)),
        ("RNN(8, 16)", (7, 3, 8)),
    ],
)
@roughly_the_same
def test_a_recurrent_layer_computes_torchs_numbers(torch: Any, layer: str, shape: tuple[int, ...]) -> Any:
    module = eval(layer, vars(torch.nn))
    x = torch.randn(shape, requires_grad=True)
    with torch.autocast("cpu"):
        output, state = module(x)
    output.float().sum().backward()
    return output, state, x.grad, [each.grad for each in module.parameters()]
