"""What differs on the inputs with which PyTorch tests its modules, and why.

A test fails where something else differs, and where one of these no longer does.
"""

from __future__ import annotations

_REASONS: dict[str, dict[str, str]] = {
    "errors": {},
    "gradients": {
        "PyTorch's backward op has an edge to the input though its derivative in it is zero": (
            "MultiLabelMarginLoss MultiMarginLoss"
        ),
    },
    "layouts": {
        "PyTorch reads concatenated targets with gaps between them in the wrong places": "CTCLoss",
    },
    "results in torch.bfloat16": {
        "PyTorch has no average pool of volumes for two-byte floats": "AvgPool3d LPPool3d LocalResponseNorm",
    },
    "second gradients": {
        "PyTorch's fused attention can't be differentiated twice; here it is composed": (
            "Transformer TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer"
        ),
    },
}
"""For each comparison, the reason, and the names of the modules that differ for it."""

MODULE_EXCEPTIONS = {
    what: {name: reason for reason, names in reasons.items() for name in names.split()}
    for what, reasons in _REASONS.items()
}
