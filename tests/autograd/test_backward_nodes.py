"""The nodes of gradients made with `create_graph=True`.

PyTorch's backward ops have an edge to the inputs of the forward pass also where they don't depend on them, so that such
a gradient requires a gradient too: zeros, or none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")

CALLS = """
F.relu(x)
F.leaky_relu(x)
F.prelu(x, w)
F.prelu(x, w[0])
F.max_pool1d(x[0], 2)
F.max_pool2d(x, 2)
F.max_pool3d(x, 2)
F.avg_pool2d(x, 2)
F.adaptive_avg_pool1d(x[0], 1)
F.adaptive_avg_pool1d(x[0], 2)
F.adaptive_avg_pool3d(x, 2)
F.adaptive_max_pool2d(x, 2)
F.fractional_max_pool2d(x, 2, 2)
F.pad(x, (1, 1, 1, 0), mode='reflect')
F.pad(x, (0, 0, 1, 0), mode='replicate')
F.nll_loss(x[0, 0], torch.tensor([0, 1, 2, 3]))
F.nll_loss(x, torch.ones(2, 4, 4, dtype=torch.long))
F.conv2d(x, k, w, 2, 1)
F.conv2d(x.detach(), k, w.detach())
F.conv2d(x, k.detach(), groups=1)
F.conv_transpose2d(x, k, w)
F.conv_transpose2d(x, k, None, (3, 2), (1, 2), (2, 3), 1, (4, 4))
F.batch_norm(x, None, None, w, w.exp(), True)
F.batch_norm(x, torch.zeros(4), torch.ones(4), w, w.exp())
F.instance_norm(x, None, None, w)
F.layer_norm(x, (4,), w, w.exp())
F.layer_norm(x.detach(), (4,), None, w)
torch.linalg.det(x[:, :, :1, :1])
w[:1].cumprod(0)
""".strip().split("\n")


def gradients(lib: Any, call: str) -> tuple[list[Any], list[Any]]:
    """Of each input's gradient its node and what that leads to, and all inputs' gradients of these gradients."""
    lib.manual_seed(0)
    x = (lib.arange(128.0).reshape(2, 4, 4, 4) * 1.7).sin().requires_grad_()
    k, w = (lib.arange(64.0).reshape(4, 4, 2, 2).cos().requires_grad_(), lib.arange(1.0, 5.0).requires_grad_())
    result = eval(call, {"torch": lib, "F": lib.nn.functional, "x": x, "k": k, "w": w})
    made = lib.autograd.grad(result, [x, k, w], lib.ones(result.shape), allow_unused=True, create_graph=True)
    nodes = [each.grad_fn if each is not None else None for each in made]
    names = [node and (node.name(), [n and n.name() for n, _ in node.next_functions if n]) for node in nodes]
    recorded = [each for each in made if each is not None and each.requires_grad]
    weights = [each.detach().cos() for each in recorded]
    again = lib.autograd.grad(recorded, [x, k, w], weights, allow_unused=True) if recorded else ()
    return names, [None if each is None else each.tolist() for each in again]


@pytest.mark.parametrize("call", CALLS)
def test_gradients_lead_where_torchs_do(call: str) -> None:
    (names, values), (expected_names, expected) = gradients(minitorch, call), gradients(torch, call)
    assert names == expected_names
    for found, other in zip(values, expected, strict=True):
        assert (found is None) == (other is None)
        assert found is None or np.allclose(found, other, 1e-3, 1e-3)
