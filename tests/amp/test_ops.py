"""Which precision each op computes in under autocast: the dtype of its result is torch's."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import pytest

import minitorch
import minitorch.nn.functional
from minitorch.dispatch.declaration import NAMESPACES

pytestmark = pytest.mark.needs("torch")

Call = Callable[[Any, Any], Any]

# Every op of the lists, called with tensors that `make(*shape)` gives.
CALLS: dict[str, Call] = {
    "addbmm": lambda t, m: t.addbmm(m(2, 2), m(3, 2, 2), m(3, 2, 2)),
    "addmm": lambda t, m: t.addmm(m(2, 2), m(2, 2), m(2, 2)),
    "baddbmm": lambda t, m: t.baddbmm(m(3, 2, 2), m(3, 2, 2), m(3, 2, 2)),
    "bmm": lambda t, m: t.bmm(m(3, 2, 2), m(3, 2, 2)),
    "conv1d": lambda t, m: t.conv1d(m(1, 2, 5), m(3, 2, 2), m(3)),
    "conv2d": lambda t, m: t.conv2d(m(1, 2, 5, 5), m(3, 2, 2, 2), m(3)),
    "conv3d": lambda t, m: t.conv3d(m(1, 2, 3, 3, 3), m(3, 2, 2, 2, 2), padding="same"),
    "conv_tbc": lambda t, m: t.conv_tbc(m(5, 1, 2), m(2, 2, 3), m(3)),
    "conv_transpose1d": lambda t, m: t.conv_transpose1d(m(1, 2, 5), m(2, 3, 2), m(3)),
    "conv_transpose2d": lambda t, m: t.conv_transpose2d(m(1, 2, 5, 5), m(2, 3, 2, 2)),
    "conv_transpose3d": lambda t, m: t.conv_transpose3d(m(1, 2, 3, 3, 3), m(2, 3, 2, 2, 2)),
    "matmul": lambda t, m: t.matmul(m(2, 2), m(2)),
    "mm": lambda t, m: t.mm(m(2, 2), m(2, 2)),
    "prelu": lambda t, m: t.prelu(m(2, 2), m(1)),
    "stft": lambda t, m: t.stft(m(2, 40), 8, window=m(8), return_complex=True),
    "nn.functional.conv1d": lambda t, m: t.nn.functional.conv1d(m(1, 2, 5), m(3, 2, 2), m(3)),
    "nn.functional.conv2d": lambda t, m: t.nn.functional.conv2d(m(1, 2, 5, 5), m(3, 2, 2, 2), m(3)),
    "nn.functional.conv3d": lambda t, m: t.nn.functional.conv3d(m(1, 2, 3, 3, 3), m(3, 2, 2, 2, 2)),
    "nn.functional.conv_transpose1d": lambda t, m: t.nn.functional.conv_transpose1d(m(1, 2, 5), m(2, 3, 2)),
    "nn.functional.conv_transpose2d": lambda t, m: t.nn.functional.conv_transpose2d(m(1, 2, 5, 5), m(2, 3, 2, 2)),
    "nn.functional.conv_transpose3d": lambda t, m: t.nn.functional.conv_transpose3d(m(1, 2, 3, 3, 3), m(2, 3, 2, 2, 2)),
    "nn.functional.conv_tbc": lambda t, m: t.nn.functional.conv_tbc(m(5, 1, 2), m(2, 2, 3), m(3)),
    "nn.functional.linear": lambda t, m: t.nn.functional.linear(m(2, 3), m(4, 3), m(4)),
    "nn.functional.prelu": lambda t, m: t.nn.functional.prelu(m(2, 2), m(1)),
    "nn.functional.scaled_dot_product_attention": lambda t, m: t.nn.functional.scaled_dot_product_attention(
        m(1, 2, 3, 4), m(1, 2, 3, 4), m(1, 2, 3, 4)
    ),
    "linalg.matmul": lambda t, m: t.linalg.matmul(m(2, 2), m(2, 2)),
    "linalg.vecdot": lambda t, m: t.linalg.vecdot(m(2, 2), m(2, 2)),
    "cdist": lambda t, m: t.cdist(m(2, 3), m(4, 3)),
    "cholesky": lambda t, m: t.cholesky(t.eye(2) + 0 * m(2, 2)),
    "geqrf": lambda t, m: t.geqrf(m(2, 2))[0],
    "inverse": lambda t, m: t.inverse(t.eye(2) + 0 * m(2, 2)),
    "nanquantile": lambda t, m: t.nanquantile(m(4), 0.5),
    "orgqr": lambda t, m: t.orgqr(m(3, 2), m(2)),
    "pinverse": lambda t, m: t.pinverse(m(3, 2)),
    "polar": lambda t, m: t.polar(m(3), m(3)),
    "prod": lambda t, m: t.prod(m(3)),
    "qr": lambda t, m: t.qr(m(3, 2))[0],
    "quantile": lambda t, m: t.quantile(m(4), 0.5),
    "svd": lambda t, m: t.svd(m(3, 2))[1],
    "trace": lambda t, m: t.trace(m(2, 2)),
    "view_as_complex": lambda t, m: t.view_as_complex(m(3, 2)),
    "nn.functional.adaptive_avg_pool3d": lambda t, m: t.nn.functional.adaptive_avg_pool3d(m(1, 2, 4, 4, 4), 2),
    "nn.functional.adaptive_max_pool3d": lambda t, m: t.nn.functional.adaptive_max_pool3d(m(1, 2, 4, 4, 4), 2),
    "nn.functional.avg_pool3d": lambda t, m: t.nn.functional.avg_pool3d(m(1, 2, 4, 4, 4), 2),
    "nn.functional.binary_cross_entropy": lambda t, m: t.nn.functional.binary_cross_entropy(m(3), m(3)),
    "nn.functional.binary_cross_entropy_with_logits": lambda t, m: t.nn.functional.binary_cross_entropy_with_logits(
        m(3), m(3)
    ),
    "nn.functional.cosine_embedding_loss": lambda t, m: t.nn.functional.cosine_embedding_loss(
        m(3, 2), m(3, 2), t.tensor([1, -1, 1])
    ),
    "nn.functional.cross_entropy": lambda t, m: t.nn.functional.cross_entropy(m(3, 2), t.tensor([0, 1, 1])),
    "nn.functional.ctc_loss": lambda t, m: t.nn.functional.ctc_loss(
        m(5, 2, 3).log(), t.tensor([[1, 2], [2, 1]]), t.tensor([5, 5]), t.tensor([2, 2])
    ),
    "nn.functional.fractional_max_pool2d": lambda t, m: t.nn.functional.fractional_max_pool2d(
        m(1, 2, 6, 6), 2, output_size=2
    ),
    "nn.functional.fractional_max_pool3d": lambda t, m: t.nn.functional.fractional_max_pool3d(
        m(1, 2, 6, 6, 6), 2, output_size=2
    ),
    "nn.functional.grid_sample": lambda t, m: t.nn.functional.grid_sample(
        m(1, 2, 3, 3), m(1, 2, 2, 2), align_corners=False
    ),
    "nn.functional.hinge_embedding_loss": lambda t, m: t.nn.functional.hinge_embedding_loss(m(3), t.tensor([1, -1, 1])),
    "nn.functional.huber_loss": lambda t, m: t.nn.functional.huber_loss(m(3), m(3)),
    "nn.functional.kl_div": lambda t, m: t.nn.functional.kl_div(m(3), m(3), reduction="sum"),
    "nn.functional.l1_loss": lambda t, m: t.nn.functional.l1_loss(m(3), m(3)),
    "nn.functional.margin_ranking_loss": lambda t, m: t.nn.functional.margin_ranking_loss(
        m(3), m(3), t.tensor([1, -1, 1])
    ),
    "nn.functional.max_pool3d": lambda t, m: t.nn.functional.max_pool3d(m(1, 2, 4, 4, 4), 2),
    "nn.functional.max_unpool2d": lambda t, m: t.nn.functional.max_unpool2d(
        m(1, 1, 1, 1), t.zeros(1, 1, 1, 1, dtype=t.int64), 2
    ),
    "nn.functional.max_unpool3d": lambda t, m: t.nn.functional.max_unpool3d(
        m(1, 1, 1, 1, 1), t.zeros(1, 1, 1, 1, 1, dtype=t.int64), 2
    ),
    "nn.functional.mse_loss": lambda t, m: t.nn.functional.mse_loss(m(3), m(3)),
    "nn.functional.multi_margin_loss": lambda t, m: t.nn.functional.multi_margin_loss(m(3, 2), t.tensor([0, 1, 1])),
    "nn.functional.multilabel_margin_loss": lambda t, m: t.nn.functional.multilabel_margin_loss(
        m(1, 3), t.tensor([[0, -1, 1]])
    ),
    "nn.functional.nll_loss": lambda t, m: t.nn.functional.nll_loss(m(3, 2), t.tensor([0, 1, 1])),
    "nn.functional.poisson_nll_loss": lambda t, m: t.nn.functional.poisson_nll_loss(m(3), m(3)),
    "nn.functional.smooth_l1_loss": lambda t, m: t.nn.functional.smooth_l1_loss(m(3), m(3)),
    "nn.functional.soft_margin_loss": lambda t, m: t.nn.functional.soft_margin_loss(m(3), m(3)),
    "nn.functional.triplet_margin_loss": lambda t, m: t.nn.functional.triplet_margin_loss(m(3, 2), m(3, 2), m(3, 2)),
    "linalg.cholesky": lambda t, m: t.linalg.cholesky(t.eye(2) + 0 * m(2, 2)),
    "linalg.householder_product": lambda t, m: t.linalg.householder_product(m(3, 2), m(2)),
    "linalg.inv": lambda t, m: t.linalg.inv(t.eye(2) + 0 * m(2, 2)),
    "linalg.eigh": lambda t, m: t.linalg.eigh(m(2, 2))[0],
    "linalg.eigvalsh": lambda t, m: t.linalg.eigvalsh(m(2, 2)),
    "linalg.lstsq": lambda t, m: t.linalg.lstsq(m(3, 2), m(3, 1))[0],
    "linalg.matrix_rank": lambda t, m: t.linalg.matrix_rank(m(3, 2)),
    "linalg.cholesky_ex": lambda t, m: t.linalg.cholesky_ex(t.eye(2) + 0 * m(2, 2))[0],
    "linalg.cond": lambda t, m: t.linalg.cond(m(3, 2)),
    "linalg.eig": lambda t, m: t.linalg.eig(m(2, 2))[0],
    "linalg.eigvals": lambda t, m: t.linalg.eigvals(m(2, 2)),
    "linalg.inv_ex": lambda t, m: t.linalg.inv_ex(t.eye(2) + 0 * m(2, 2))[0],
    "linalg.tensorinv": lambda t, m: t.linalg.tensorinv(t.eye(4).view(4, 2, 2) + 0 * m(1), ind=1),
    "linalg.tensorsolve": lambda t, m: t.linalg.tensorsolve(t.eye(4).view(4, 2, 2) + 0 * m(1), m(4)),
    "cholesky_inverse": lambda t, m: t.cholesky_inverse(t.eye(2) + 0 * m(2, 2)),
    "cholesky_solve": lambda t, m: t.cholesky_solve(m(2, 1), t.eye(2) + 0 * m(2, 2)),
    "lu_solve": lambda t, m: t.lu_solve(m(2, 1), t.eye(2) + 0 * m(2, 2), t.tensor([1, 2], dtype=t.int32)),
    "ormqr": lambda t, m: t.ormqr(m(3, 2), m(2), m(3, 1)),
    "triangular_solve": lambda t, m: t.triangular_solve(m(2, 1), t.eye(2) + 0 * m(2, 2))[0],
    "linalg.qr": lambda t, m: t.linalg.qr(m(3, 2))[0],
    "linalg.solve": lambda t, m: t.linalg.solve(t.eye(2) + 0 * m(2, 2), m(2)),
    "linalg.svd": lambda t, m: t.linalg.svd(m(3, 2))[1],
    "linalg.svdvals": lambda t, m: t.linalg.svdvals(m(3, 2)),
    "nn.functional.pad": lambda t, m: t.nn.functional.pad(m(1, 2, 3), (1, 1), mode="reflect"),
    "cat": lambda t, m: t.cat([m(2), m(2)]),
    "concat": lambda t, m: t.concat([m(2), m(2)]),
    "concatenate": lambda t, m: t.concatenate([m(2), m(2)]),
    "index_copy": lambda t, m: t.index_copy(m(3, 2), 0, t.tensor([0, 2]), m(2, 2)),
    "stack": lambda t, m: t.stack([m(2), m(2)]),
}
# Ops that take no part, that are made of some that do, or are other forms of them.
OTHERS: list[Call] = [
    lambda t, m: m(2) + m(2),
    lambda t, m: t.mv(m(2, 2), m(2)),
    lambda t, m: t.dot(m(2), m(2)),
    lambda t, m: t.outer(m(2), m(2)),
    lambda t, m: t.exp(m(2)),
    lambda t, m: t.sum(m(2)),
    lambda t, m: t.softmax(m(2), 0),
    lambda t, m: t.nn.functional.layer_norm(m(2, 3), (3,), m(3), m(3)),
    lambda t, m: t.nn.functional.gelu(m(2)),
    lambda t, m: t.nn.functional.max_pool2d(m(1, 2, 4, 4), 2),
    lambda t, m: m(2, 2) @ m(2, 2),
    lambda t, m: m(2, 2).mm(m(2, 2)),
    lambda t, m: m(2, 2).matmul(m(2)),
    lambda t, m: t.einsum("ij,jk->ik", m(2, 2), m(2, 2)),
    lambda t, m: t.tensordot(m(2, 2), m(2, 2), 1),
    lambda t, m: t.linalg.multi_dot([m(2, 2), m(2, 2), m(2, 2)]),
    lambda t, m: t.hstack([m(2), m(2)]),
    lambda t, m: t.addmv(m(2), m(2, 2), m(2)),
    lambda t, m: t.mm(m(2, 2), m(2, 2), out=t.empty(2, 2, dtype=m(1).dtype)),
    lambda t, m: m(2, 2).addmm_(m(2, 2), m(2, 2)),
    lambda t, m: t.nn.functional.pad(m(1, 2, 3), (1, 1), mode="replicate"),
    lambda t, m: t.nn.functional.pad(m(1, 2, 3), (1, 1), mode="circular"),
    lambda t, m: t.nn.functional.pad(m(1, 2, 3), (1, 1)),
    lambda t, m: t.nn.functional.pad(m(1, 2, 3, 3, 3), (1, 1, 1, 1, 1, 1), mode="reflect"),
    lambda t, m: t.nn.functional.pad(m(1, 2, 3, 3, 3), (1, 1, 1, 1, 1, 1), mode="replicate"),
    lambda t, m: t.nn.functional.multilabel_soft_margin_loss(m(2, 3), m(2, 3)),
    lambda t, m: t.nn.functional.gaussian_nll_loss(m(3), m(3), m(3)),
    lambda t, m: t.nn.functional.cosine_similarity(m(2, 3), m(2, 3)),
    lambda t, m: t.cumsum(m(3), 0),
    lambda t, m: m(3).norm(),
    lambda t, m: t.nn.LSTM(2, 3, 2, bidirectional=True)(m(4, 2))[1][1],
    lambda t, m: t.nn.LSTM(2, 3)(m(4, 0, 2))[0],
    lambda t, m: t.nn.LSTM(2, 3)(t.nn.utils.rnn.pack_padded_sequence(m(4, 2, 2), [4, 3]))[0].data,
    lambda t, m: t.nn.LSTM(2, 3, proj_size=2)(m(4, 1, 2))[0],
    lambda t, m: t.nn.GRU(2, 3)(m(4, 1, 2))[0],
    lambda t, m: t.nn.RNN(2, 3)(m(4, 1, 2))[0],
    lambda t, m: t.nn.LSTMCell(2, 3)(m(4, 2))[0],
    lambda t, m: t.linalg.pinv(m(3, 2)),
    lambda t, m: t.linalg.pinv(t.eye(2) + 0 * m(2, 2), hermitian=True),
    lambda t, m: t.linalg.det(m(2, 2)),
    lambda t, m: t.linalg.slogdet(t.eye(2) + 0 * m(2, 2))[1],
    lambda t, m: t.linalg.matrix_norm(m(2, 2)),
    lambda t, m: t.linalg.matrix_norm(m(2, 2), 2),
    lambda t, m: t.linalg.matrix_norm(m(2, 2), "nuc"),
    lambda t, m: t.linalg.matrix_power(m(2, 2), 3),
    lambda t, m: t.linalg.matrix_power(t.eye(2) + 0 * m(2, 2), -1),
    lambda t, m: t.linalg.lu(m(2, 2))[1],
    lambda t, m: t.linalg.lu_factor(m(2, 2))[0],
    lambda t, m: t.linalg.cross(m(3), m(3)),
]
# Layers that PyTorch leaves to oneDNN.
ONEDNN: list[Call] = [
    lambda t, m: t.nn.LSTM(2, 3)(m(4, 1, 2))[0],
    lambda t, m: t.nn.LSTM(2, 3, batch_first=True)(m(1, 4, 2), (m(1, 1, 3), m(1, 1, 3)))[0],
]


def reached(lib: Any, path: str) -> bool:
    for part in path.split("."):
        lib = getattr(lib, part, None)
    return lib is not None


NUMBERED = {
    f"{kind} {number}": call
    for kind, calls in (("other", OTHERS), ("oneDNN", ONEDNN))
    for number, call in enumerate(calls)
}
NAMED = [
    *filter(functools.partial(reached, minitorch), CALLS),
    *(pytest.param(name, marks=[pytest.mark.needs("avx512")] * name.startswith("oneDNN")) for name in NUMBERED),
]


def result(torch: Any, name: str, dtypes: tuple[str, ...], lower: str) -> str:
    """The dtype of an op's result under autocast, on arguments of these dtypes in turn; what it says if it fails."""
    given = [0]

    def make(*shape: int) -> Any:
        kind = dtypes[given[0] % len(dtypes)]
        given[0] += 1
        return torch.linspace(0.1, 0.9, math.prod(shape)).view(shape).to(getattr(torch, kind))

    call = NUMBERED[name] if name in NUMBERED else CALLS[name]
    try:
        with torch.autocast("cpu", dtype=getattr(torch, lower)):
            return str(call(torch, make).dtype)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", NAMED)
def test_dtypes_are_torchs(name: str) -> None:
    import torch

    compared = 0
    for dtypes in (("float32",), ("bfloat16",), ("float64",), ("float16",), ("float32", "bfloat16")):
        for lower in ("bfloat16", "float16"):
            expected = result(torch, name, dtypes, lower)
            actual = result(minitorch, name, dtypes, lower)
            if expected.startswith("torch."):
                assert actual == expected, f"{dtypes} with {lower}"
                compared += 1
    assert compared >= 2


def test_every_op_that_takes_part_is_tested() -> None:
    taking_part = {
        name if namespace == "torch" else f"{namespace}.{name}"
        for namespace, functions in NAMESPACES.items()
        for name, function in functions.items()
        if hasattr(function, "autocast") and namespace != "fft"  # whose ops load with torch.fft, and are as stft
    }
    assert taking_part == {name for name in CALLS if reached(minitorch, name)}


def test_the_lists_are_torchs() -> None:
    """Every op that torch's dispatcher has an autocast kernel for is in CALLS, or in OTHERS, or out of scope."""
    import torch

    names = {
        name[6:].partition(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::") and torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutocastCPU")
    }
    renamed = {
        "grid_sampler": "grid_sample",
        "grid_sampler_2d": "grid_sample",
        "grid_sampler_3d": "grid_sample",
        "cross_entropy_loss": "cross_entropy",
        "nll_loss2d": "nll_loss",
        "multilabel_margin_loss_forward": "multilabel_margin_loss",
        "reflection_pad1d": "pad",
        "reflection_pad2d": "pad",
        "replication_pad1d": "pad",
        "replication_pad2d": "pad",
        "replication_pad3d": "pad",
    }
    private = {name for name in names if name.startswith(("_", "fft_", "fake_", "mkldnn_"))}
    listed = {name.rpartition(".")[2] for name in CALLS}
    assert {renamed.get(name, name).removeprefix("linalg_") for name in names - private} <= listed
