"""Anomaly mode: a backward pass that fails says where in the forward pass the op was recorded.

While the mode is on, nodes that are recorded remember the stack.
Source: https://pytorch.org/docs/stable/autograd.html#anomaly-detection
"""

from __future__ import annotations

import warnings
from typing import Any

from minitorch.autograd import engine, node
from minitorch.autograd.anomaly_mode import anomaly as _mode

__all__ = ["detect_anomaly", "set_detect_anomaly"]


def _observe(this: node.Node, run: engine.Compute, grads: Any) -> node.Gradients:
    """Runs a node; where it fails or makes NaN, warns with the stack of its op first."""
    running = _mode.running
    previous, running.node = running.node, this
    try:
        results = run(grads)
        for number, result in enumerate(results):
            if _mode.check_nan and result is not None and result.isnan().any().item():
                raise RuntimeError(f"Function '{this.name()}' returned nan values in its {number}th output.")
        return results
    except Exception:
        _warn(this)
        raise
    finally:
        running.node = previous


def _warn(this: node.Node) -> None:
    _tell(this, f"Error detected in {this.name()}. Traceback of forward call that caused the error:")
    while (parent := this.metadata.get("parent_")) is not None:
        this = parent
        _tell(
            this,
            f"\n\nPrevious calculation was induced by {this.name()}. Traceback of forward call that induced the "
            "previous calculation:",
        )


def _tell(this: node.Node, heading: str) -> None:
    stack = this.metadata.get("traceback_")
    warnings.warn(
        f"Error detected in {this.name()}. No forward pass information available. Enable detect anomaly during forward "
        "pass for more information."
        if stack is None
        else f"{heading}\n{''.join(stack)}",
        stacklevel=2,
    )


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switches anomaly mode for all threads: `mode` and `check_nan` are bools. Returns None.

    Source: https://pytorch.org/docs/stable/autograd.html#anomaly-detection
    """
    if enabled != _mode.enabled:
        (engine.OBSERVERS.append if enabled else engine.OBSERVERS.remove)(_observe)
    _mode.enabled, _mode.check_nan = enabled, check_nan


def is_anomaly_enabled() -> bool:
    """Returns the bool whether anomaly mode is on.

    Source: https://pytorch.org/docs/stable/autograd.html#anomaly-detection
    """
    return _mode.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Returns the bool whether anomaly mode, where it is on, looks for NaN.

    Source: https://pytorch.org/docs/stable/autograd.html#anomaly-detection
    """
    return _mode.check_nan


class set_detect_anomaly:
    """Switches anomaly mode on or off from now on; as a context manager, until the end of the block.

    With the mode on, a warning shows the stack of the op whose backward raised, and with `check_nan` a gradient that
    holds NaN raises RuntimeError.
    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.set_detect_anomaly
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.previous = _mode.enabled, _mode.check_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        set_anomaly_enabled(*self.previous)


class detect_anomaly:
    """Anomaly mode for a block of code: see `set_detect_anomaly`.

    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.detect_anomaly
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.previous = _mode.enabled, _mode.check_nan
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *error: object) -> None:
        set_anomaly_enabled(*self.previous)
