"""Programs that ask which libraries and accelerators there are get answers of PyTorch's types."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import pytest

import minitorch
from tests.same import exactly_the_same, same

torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")


@pytest.mark.parametrize("name", minitorch.backends.__all__)
def test_every_name_is_one_of_torch(name: str) -> None:
    ours, theirs = (importlib.import_module(f"{lib.__name__}.backends.{name}") for lib in (minitorch, torch))
    public = {each for each in vars(ours) if not each.startswith("_")} - {"annotations", "contextlib", "Iterator"}
    assert public
    assert not [each for each in public if not hasattr(theirs, each)]


def test_switches_start_as_in_torch() -> None:
    for name in ("enabled", "benchmark", "deterministic", "benchmark_limit", "allow_tf32"):
        assert getattr(minitorch.backends.cudnn, name) == getattr(torch.backends.cudnn, name)
    for name in ("allow_tf32", "allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction"):
        assert getattr(minitorch.backends.cuda.matmul, name) == getattr(torch.backends.cuda.matmul, name)
    assert minitorch.backends.mha.get_fastpath_enabled() == torch.backends.mha.get_fastpath_enabled()


def test_precision_by_its_newer_names() -> None:
    """What chapter 11 says of PyTorch 2.13, and minitorch lacks."""
    conv = torch.backends.cudnn.conv
    assert (conv.fp32_precision, torch.backends.cuda.matmul.fp32_precision) == ("tf32", "none")
    conv.fp32_precision = "ieee"
    try:
        with pytest.raises(RuntimeError, match="mix of the legacy and new APIs"):
            _ = torch.backends.cudnn.allow_tf32
    finally:
        conv.fp32_precision = "tf32"
    assert torch.backends.cudnn.allow_tf32


@exactly_the_same
def test_tf32_is_a_name_of_the_precision_of_products(lib: Any) -> Any:
    seen = []
    try:
        for precision in ("high", "medium", "highest"):
            lib.set_float32_matmul_precision(precision)
            seen.append(lib.backends.cuda.matmul.allow_tf32)
        for allowed in (True, False):
            lib.backends.cuda.matmul.allow_tf32 = allowed
            seen.append(lib.get_float32_matmul_precision())
    finally:
        lib.set_float32_matmul_precision("highest")
    return seen


@exactly_the_same
def test_cudnn_flags_hold_in_a_block(lib: Any) -> Any:
    cudnn = lib.backends.cudnn
    with cudnn.flags(enabled=True, benchmark=True, deterministic=True):
        inside = cudnn.enabled, cudnn.benchmark, cudnn.deterministic
    after = cudnn.enabled, cudnn.benchmark, cudnn.deterministic
    assert inside != after
    return inside, after


def test_without_an_accelerator() -> None:
    if torch.accelerator.is_available():
        pytest.skip("torch sees an accelerator here")
    assert minitorch.accelerator.is_available() is False
    assert minitorch.accelerator.current_accelerator() is None
    assert minitorch.accelerator.device_count() == 0
    with pytest.raises(RuntimeError) as theirs:
        torch.accelerator.current_device_index()
    with pytest.raises(RuntimeError) as ours:
        minitorch.accelerator.current_device_index()
    assert str(ours.value) == str(theirs.value)


@same
def test_the_fast_path_of_attention_can_be_switched_off(lib: Any) -> Any:
    layer = lib.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    encoder = lib.nn.TransformerEncoder(layer, 1).eval()
    x, padding = lib.randn(1, 3, 4), lib.tensor([[False, False, True]])
    with lib.no_grad():
        on = encoder(x, src_key_padding_mask=padding)
        lib.backends.mha.set_fastpath_enabled(False)
        try:
            off = encoder(x, src_key_padding_mask=padding)
        finally:
            lib.backends.mha.set_fastpath_enabled(True)
    assert (on[0, 2] == 0).all() and not (off[0, 2] == 0).any()
    return on, off


def test_the_version_is_the_one_that_is_compared_with() -> None:
    assert torch.__version__.split("+")[0] == minitorch.__version__ == minitorch.version.__version__
    assert (minitorch.version.cuda, minitorch.version.hip, minitorch.version.debug) == (None, None, False)


@exactly_the_same
def test_inference_mode_can_be_asked_for(lib: Any) -> Any:
    with lib.inference_mode():
        inside = lib.is_inference_mode_enabled()
        with lib.inference_mode(False):
            suspended = lib.is_inference_mode_enabled()
    return inside, suspended, lib.is_inference_mode_enabled()


CUDA = """
    is_available() device_count() is_initialized() is_bf16_supported() get_arch_list() manual_seed(1) manual_seed_all(1)
    seed() seed_all() get_rng_state_all() set_rng_state_all([]) empty_cache() memory_stats() memory_allocated()
    max_memory_allocated(0) memory_reserved() max_memory_reserved() current_device() get_device_properties(0)
    get_device_name() get_device_capability() mem_get_info() synchronize() current_stream() default_stream()
    get_rng_state() init() initial_seed() ipc_collect() Stream() Event(enable_timing=True) OutOfMemoryError.__bases__
"""


@pytest.mark.parametrize("expression", CUDA.split())
def test_without_a_gpu(expression: str) -> None:
    def outcome(library: ModuleType) -> str:
        try:
            return repr(eval(f"library.cuda.{expression}", {"library": library}))
        except (AssertionError, RuntimeError) as error:
            return f"{type(error).__name__}: {error}"

    assert outcome(minitorch) == outcome(torch)
