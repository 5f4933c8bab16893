"""What differs on PyTorch's samples, and why.

A test fails where something else differs, and where one of these no longer does.
"""

from __future__ import annotations

MISSING = {
    "_": "a private name",
    "jiterator_": "CUDA kernels written in strings",
    "masked.": "torch.masked is a module of its own, left out",
    "native_dropout_backward": "what autograd calls inside",
    "signal.": "torch.signal is left out; the windows of torch are there",
    "slice": "what indexing calls inside",
    "sparse.": "of torch.sparse there is mm for a matrix in coordinates: tests/sparse",
    "to_sparse": "gives no tensor: tests/sparse",
    "torch.": "names behind torch.ops",
}
"""How the names of operators begin that are missing beside those of tests/surface_exclusions.py, and why."""

_REASONS: dict[str, dict[str, str]] = {
    "errors": {
        "a number is no tensor: PyTorch's descriptors and parser say so, here Python multiplies": (
            "__radd__ __rand__ __rdiv__ __rmul__ __ror__ __rxor__ rsub"
        ),
        "PyTorch refuses to resize memory that belongs to NumPy": "cat",
        "worded as for the other pools": "nn.functional.max_pool1d",
        "one sentence says of all functions that `out=` has another type": "amax amin multinomial",
    },
    "out": {
        "the signs of eigenvectors are free: MKL and OpenBLAS choose them differently": ("linalg.eig linalg.eigh"),
        "as_tuple=True together with out= is refused by PyTorch alone": "nonzero",
        "a tensor given as `out=` that is resized gets the strides of the result": (
            "cholesky cholesky_inverse cholesky_solve geqrf linalg.householder_product linalg.lstsq "
            "linalg.matrix_power linalg.tensorinv fft.fft fft.fft2 fft.fftn fft.hfft fft.hfft2 fft.hfftn fft.ifft2 "
            "fft.ifftn fft.ihfft2 fft.ihfftn fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn"
        ),
    },
    "methods": {
        "there is no complex32 (docs/surface.md)": "chalf",
    },
    "in place": {},
    "nodes": {
        "composed of other ops here": (
            "cdist narrow_copy nn.functional.linear_cross_entropy/chunked "
            "nn.functional.linear_cross_entropy/chunked_none "
            "nn.functional.scaled_dot_product_attention"
        ),
        "PyTorch takes another overload where decimals=0 is written than where it is left out": "round/decimals_0",
    },
    "gradients": {
        "PyTorch's gradient goes to the elements that were overwritten, not to the others": ("as_strided_scatter"),
    },
    "second gradients": {
        "PyTorch's gradient goes to the elements that were overwritten, not to the others": ("as_strided_scatter"),
        "the nuclear norm isn't differentiable where singular values are zero": ("linalg.norm/subgradients_at_zero"),
        "zeros for the nearest neighbour's derivative in the grid, which PyTorch leaves undefined": (
            "nn.functional.grid_sample"
        ),
        "PyTorch's fused kernel can't be differentiated twice; here it is composed": (
            "nn.functional.scaled_dot_product_attention"
        ),
    },
    "results": {
        "which of equal elements is meant is left open (docs/surface.md)": "argsort kthvalue mode sort topk",
        "there is no complex32 (docs/surface.md)": "chalf complex view_as_complex",
        "the signs of eigenvectors are free: MKL and OpenBLAS choose them differently": ("linalg.eig linalg.eigh"),
        "PyTorch's result for two-byte floats is garbage: the identity gives -1e30": "matrix_exp",
        "there are no sparse gradients": "nn.functional.embedding nn.functional.embedding_bag",
        "low-rank approximations are left out (docs/surface.md)": "pca_lowrank svd_lowrank",
        "the sample calls torch.ops": "max_pool2d_with_indices_backward",
    },
}
"""For each comparison, the reason, and the names of the operators that differ for it."""

EXCEPTIONS = {
    comparison: {name: reason for reason, names in reasons.items() for name in names.split()}
    for comparison, reasons in _REASONS.items()
}
