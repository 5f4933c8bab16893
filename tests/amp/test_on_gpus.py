"""Mixed precision on simulated GPUs: the types that torch chooses on CUDA, and training with scaled gradients.

torch knows the types without a GPU: its fake tensors have a device and a dtype, and no elements.
"""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minitorch
from minitorch.cuda import simulate
from tests.ops.case import CASES, Case, Sample, mapped
from tests.ops.compare import call, describe, resolve

for path in sorted((Path(__file__).parents[1] / "ops").glob("cases_*.py")):
    importlib.import_module(f"tests.ops.{path.stem}")

nn: Any = minitorch.nn
FLOATS = ("float16", "float32", "float64")
FEW = 6  # samples of a case
UNLIKE_THE_KERNEL = {"nn.functional.affine_grid"}
"""Fake tensors compute it without the product of matrices that PyTorch's kernel multiplies in lower precision."""


@pytest.fixture(autouse=True, scope="module")
def gpus() -> Iterator[None]:
    simulate(2)
    yield
    simulate(0)


def moved(lib: Any, sample: Sample) -> Sample:
    """The sample with its tensors on a GPU."""

    def is_tensor(value: Any) -> bool:
        return isinstance(value, lib.Tensor)

    def there(tensor: Any) -> Any:
        if lib is minitorch:
            return tensor.detach().to("cuda")
        return lib.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cuda")

    return Sample(tuple(mapped(list(sample.args), is_tensor, there)), mapped(sample.kwargs, is_tensor, there))


def unlike_torch(torch: Any, case: Case, dtype: str, lower: str) -> Iterator[str]:
    from torch._subclasses.fake_tensor import FakeTensorMode

    theirs, ours = (case.make(lib, dtype) for lib in (torch, minitorch))
    samples = zip(case.samples(theirs)[:FEW], case.samples(ours)[:FEW], strict=True)
    for number, (one, other) in enumerate(samples):
        with FakeTensorMode():
            before = torch.get_autocast_dtype("cuda")
            torch.set_autocast_enabled("cuda", True)
            torch.set_autocast_dtype("cuda", getattr(torch, lower))
            try:
                expected = call(resolve(torch, case.name), theirs, moved(torch, one), writes=case.in_place)
            finally:
                torch.set_autocast_enabled("cuda", False)
                torch.set_autocast_dtype("cuda", before)
                torch.clear_autocast_cache()
        if expected.error is not None:
            continue
        with minitorch.autocast("cuda", dtype=getattr(minitorch, lower)):
            actual = call(resolve(minitorch, case.name), ours, moved(minitorch, other), writes=case.in_place)
        if actual.error is not None:
            plain = call(resolve(minitorch, case.name), ours, moved(minitorch, other), writes=case.in_place)
            if plain.error is None:
                yield f"{dtype}, sample {number}: {describe(actual.error)}"
            continue
        kinds = [[str(each.dtype) for each in outcome.outputs] for outcome in (expected, actual)]
        if kinds[0] != kinds[1]:
            yield f"{dtype}, sample {number}: torch's result is {kinds[0]}, ours {kinds[1]}"


@pytest.mark.turns(8)
@pytest.mark.parametrize("name", [n for n in dict.fromkeys(case.name for case in CASES) if n not in UNLIKE_THE_KERNEL])
def test_types_are_torchs(name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")
    logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            each
            for case in CASES
            for dtype in FLOATS
            if case.name == name and dtype in case.dtypes
            for each in unlike_torch(torch, case, dtype, "float16")
        ]
    assert not found, "\n".join(found[:6])


@pytest.mark.parametrize("name", ["matmul", "exp", "nn.functional.layer_norm", "addcmul", "sum", "cat"])
def test_types_are_torchs_with_bfloat16(name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")
    found = [each for case in CASES if case.name == name for each in unlike_torch(torch, case, "float32", "bfloat16")]
    assert not found, "\n".join(found[:6])


def test_binary_cross_entropy_is_refused() -> None:
    p = minitorch.full((2,), 0.5, device="cuda")
    with minitorch.autocast("cuda"), pytest.raises(RuntimeError, match="unsafe to autocast"):
        nn.functional.binary_cross_entropy(p, p)
    with minitorch.autocast("cuda"):
        nn.functional.binary_cross_entropy(p.cpu(), p.cpu())


def test_devices_have_switches_of_their_own() -> None:
    a, b = minitorch.ones(2, 2), minitorch.ones(2, 2, device="cuda:1")
    with minitorch.autocast("cuda"):
        assert [(a @ a).dtype, (b @ b).dtype, a.half().exp().dtype] == [
            minitorch.float32, minitorch.float16, minitorch.float16,
        ]  # fmt: skip
        with minitorch.autocast("cpu"):
            assert [(a @ a).dtype, (b @ b).dtype] == [minitorch.bfloat16, minitorch.float16]
        assert b.half().exp_().dtype is minitorch.float16
        assert (b.half() ** 2).dtype is minitorch.float32
    assert (b @ b).dtype is minitorch.float32


def test_without_a_gpu_it_warns() -> None:
    simulate(0)
    try:
        with pytest.warns(UserWarning, match="CUDA is not available"), minitorch.autocast("cuda"):
            assert not minitorch.is_autocast_enabled("cuda")
        with pytest.warns(UserWarning, match="CUDA is not available"):
            assert not minitorch.amp.GradScaler("cuda").is_enabled()
    finally:
        simulate(2)


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM", "RNNCell", "GRUCell", "LSTMCell"])
def test_recurrent_layers_compute_in_the_lower_precision(name: str) -> None:
    """As `_cudnn_rnn` and the cells do, which take the lower precision for all their arguments."""
    layer = getattr(nn, name)(3, 4, device="cuda")
    images = minitorch.randn(2, 3, device="cuda") if "Cell" in name else minitorch.randn(5, 2, 3, device="cuda")
    exact = layer(images)
    with minitorch.autocast("cuda"):
        lower = layer(images)
    pairs = [(exact, lower)] if isinstance(exact, minitorch.Tensor) else list(zip(exact, lower, strict=True))
    for one, other in pairs:
        for a, b in [(one, other)] if isinstance(one, minitorch.Tensor) else zip(one, other, strict=True):
            assert b.dtype is minitorch.float16
            assert minitorch.allclose(a, b.float(), atol=1e-2)


def losses_of(where: str) -> tuple[list[float], list[float]]:
    """The losses of a few steps in float16, and the scales."""
    minitorch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    images, targets = minitorch.randn(8, 4), minitorch.randn(8, 2)
    model, images, targets = model.to(where), images.to(where), targets.to(where)
    kind = where.partition(":")[0]
    optimizer = minitorch.optim.SGD(model.parameters(), lr=0.1)
    scaler = minitorch.amp.GradScaler(kind, init_scale=2.0**20, growth_interval=3)
    losses, scales = [], []
    for step in range(12):
        optimizer.zero_grad()
        with minitorch.autocast(kind, dtype=minitorch.float16):
            output = model(images)
            loss = nn.functional.mse_loss(output, targets)
        assert (output.dtype, loss.dtype) == (minitorch.float16, minitorch.float32)
        scaler.scale(loss).backward()
        if step == 5:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        scales.append(scaler.get_scale())
    assert {str(each.device) for each in model.parameters()} == {where}
    assert {each.grad.dtype for each in model.parameters()} == {minitorch.float32}
    return losses, scales


def test_training_is_as_on_the_cpu() -> None:
    losses, scales = losses_of("cuda:1")
    expected_losses, expected_scales = losses_of("cpu")
    assert scales == expected_scales
    assert min(scales) < scales[0]  # which was too large
    assert losses == pytest.approx(expected_losses, rel=2e-3)
    assert losses[-1] < losses[0]


def test_a_scaler_finds_infinities_on_each_gpu() -> None:
    scaler = minitorch.amp.GradScaler(init_scale=4.0)
    first, second = (nn.Parameter(minitorch.ones(2, device=f"cuda:{number}")) for number in range(2))
    optimizer = minitorch.optim.SGD([first, second], lr=1.0)
    loss = (first * 2).sum() + (second * minitorch.tensor([1.0, float("inf")], device="cuda:1")).sum().to("cuda:0")
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0
    assert first.tolist() == second.tolist() == [1.0, 1.0]
    optimizer.zero_grad()
    scaler.scale((first * 2).sum() + (second * 3).sum().to("cuda:0")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert (first.tolist(), second.tolist()) == ([-1.0, -1.0], [-2.0, -2.0])
