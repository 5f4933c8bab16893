"""CUDA. Source: https://pytorch.org/docs/stable/backends.html#module-torch.backends.cuda"""

from __future__ import annotations

from minitorch import settings as _settings


class _MatMul:
    """The switches of matrix products on a GPU: kept, and without effect."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False

    @property
    def allow_tf32(self) -> bool:
        """Whether the precision of float32 products is below "highest": the older name of that switch."""
        return _settings.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        _settings.set_float32_matmul_precision("high" if allowed else "highest")


matmul = _MatMul()
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """Whether the library was built with CUDA: it is not built at all, and False."""
    return False


def flash_sdp_enabled() -> bool:
    """Whether FlashAttention may be used where it exists."""
    return _attention["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Allows FlashAttention: without effect."""
    _attention["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention that saves memory may be used where it exists."""
    return _attention["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allows attention that saves memory: without effect."""
    _attention["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Whether attention may be computed by its formula, as it always is here."""
    return _attention["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Allows attention by its formula: without effect."""
    _attention["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether cuDNN's attention may be used where it exists."""
    return _attention["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allows cuDNN's attention: without effect."""
    _attention["cudnn"] = bool(enabled)
