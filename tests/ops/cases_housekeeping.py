"""Sample inputs of questions, old spellings and Python loops over elements."""

from __future__ import annotations

from typing import Any

from tests.ops.case import UNTESTED, Sample, args, case

FLOAT = "float32 float64"


def tensors(make: Any) -> list[Sample]:
    return [
        args(make(2, 3)),
        args(make(3, 2, layout="transposed")),
        args(make(4, layout="sliced")),
        args(make()),
        args(make(0, 3)),
    ]


case("is_neg is_distributed is_signed numel get_device detach Tensor.is_pinned Tensor.dim_order", tensors)
case("is_conj", tensors, dtypes="int64 float32")  # torch.conj is lazy, but nothing here is its result
case("resolve_conj", tensors, dtypes="complex64 complex128")
case(
    "Tensor.layout Tensor.name Tensor.is_sparse Tensor.is_sparse_csr Tensor.is_quantized Tensor.is_mkldnn "
    "Tensor.is_nested Tensor.is_mps Tensor.is_xpu Tensor.is_xla Tensor.is_vulkan",
    tensors,
    dtypes=FLOAT,
)
case("Tensor.is_ipu Tensor.is_mtia Tensor.is_maia", tensors, dtypes=FLOAT)
UNTESTED["Tensor.record_stream"] = "a GPU's streams are in tests/arrays/test_cuda_programs.py"
case("Tensor.pin_memory", lambda make: [], errors=tensors)
case("Tensor.__reversed__", tensors)
case(
    "is_same_size",
    lambda make: [
        args(make(2, 3), make(2, 3)),
        args(make(2, 3), make(3, 2)),
        args(make(), make()),
        args(make(0), make(1)),
        args(make(2), make(2, dtype="int64")),
    ],
)
case(
    "Tensor.is_set_to",
    lambda make: [
        args(make(2, 3), make(2, 3)),
        *[
            args(each, view)
            for each in [make(2, 3, layout="contiguous")]
            for view in (each, each.view(3, 2), each[:1], each.t(), each[:])
        ],
    ],
    dtypes=FLOAT,
)
case(
    "Tensor.sum_to_size",
    lambda make: [
        args(make(2, 3), 3),
        args(make(2, 3), (2, 1)),
        args(make(2, 3, 4, layout="transposed"), 1, 4),
        args(make(2, 3), 2, 3),
        args(make(2, 3), ()),
        args(make(), ()),
        args(make(0, 3), 3),
    ],
    errors=lambda make: [args(make(2, 3), 4), args(make(3), 2, 3), args(make(2, 3), 3, 3)],
    grad_fn=False,  # torch reshapes what it has summed
)
case(
    "Tensor.fill_diagonal_",
    lambda make: [
        args(make(3, 3), 2),
        args(make(2, 4, layout="transposed"), 1),
        args(make(7, 3), 2, wrap=True),
        args(make(8, 2, layout="sliced"), 1, True),
        args(make(4, 3), 1, True),
        args(make(7, 3), 1),
        args(make(3, 3, 3), 1),
        args(make(0, 3), 1),
    ],
    errors=lambda make: [args(make(3), 2), args(make(2, 3, 2), 1)],
)
case(
    "Tensor.apply_",
    lambda make: [
        args(make(2, 3, requires_grad=False), lambda x: x * 2),
        args(make(3, layout="sliced", requires_grad=False), lambda x: x * 2.5),
        args(make(2, 3, layout="transposed", requires_grad=False), abs),
        args(make(requires_grad=False), lambda x: 1),
        args(make(0, 3, requires_grad=False), lambda x: x),
    ],
    errors=lambda make: [args(make(2), abs), args(make(2, requires_grad=False), 3)],
    dtypes="int64 float32 float64",
)
case(
    "Tensor.map_",
    lambda make: [
        args(make(2, 3, requires_grad=False), make(2, 3, requires_grad=False), lambda x, y: x * y),
        args(make(2, 3, layout="transposed", requires_grad=False), make(3, requires_grad=False), max),
        args(make(4, layout="sliced", requires_grad=False), make(requires_grad=False), min),
        args(make(requires_grad=False), make(requires_grad=False), lambda x, y: x + y),
        args(make(0, 3, requires_grad=False), make(3, requires_grad=False), max),
    ],
    errors=lambda make: [
        args(make(2), make(2), max),
        args(make(2, requires_grad=False), make(2, dtype="float64", requires_grad=False), max),
        args(make(2, requires_grad=False), make(3, requires_grad=False), max),
    ],
    dtypes="int64 float32 float64",
)
case(
    "Tensor.map2_",
    lambda make: [
        args(*(make(2, 3, requires_grad=False) for _ in range(3)), lambda x, y, z: x * y + z),
        args(*(make(3, layout=each, requires_grad=False) for each in ("sliced", "expanded", "contiguous")), max),
        args(*(make(*shape, requires_grad=False) for shape in ((2, 3), (3,), (2, 1))), lambda x, y, z: x - y * z),
    ],
    dtypes="int64 float32 float64",
)
case(
    "Tensor.new",
    lambda make: [
        args(make(2, 3), [1, 2]),
        args(make(2), (3, 4)),
        args(make()),
        args(make(2), 0, 2),
        args(make(2), make.lib.Size([0, 1])),
        args(make(2), [[1.5, 2.5]], device="cpu"),
    ],
)
case(
    "nonzero_static",
    lambda make: [
        args(make.of([1.0, 0.0, 2.0]), size=3),
        args(make.of([[1.0, 0.0], [2.0, 3.0]]), size=2, fill_value=7),
        args(make.of([0.0, 0.0]), size=0),
        args(make(0, 3), size=2),
        args(make(2, 3, layout="transposed"), size=8),
    ],
    errors=lambda make: [args(make(2), size=-1)],
    strides=False,  # torch's own are those of a transposed result
)
UNTESTED["Tensor.as_subclass"] = "its result is of a class that samples cannot carry: tests/test_surface.py"
UNTESTED["Tensor.__rmatmul__"] = "it never runs for two tensors: Tensor.__matmul__"
UNTESTED["Tensor.__array_wrap__"] = "NumPy calls it with an array: tests/test_bug_reports.py"
UNTESTED["Tensor.backward"] = "it computes gradients: tests/autograd"
UNTESTED["Tensor.__reduce_ex__"] = "pickle calls it: tests/test_serialization.py"
UNTESTED["Tensor._view_as_real"] = UNTESTED["Tensor._view_as_complex"] = "reached through writes to complex views"
UNTESTED["detach_"] = "it changes history alone: tests/autograd"
case(
    "fill",
    lambda make: [
        args(make(2, 3), 2),
        args(make(2, 3, layout="transposed"), make(dtype="float32")),
        args(make(3, layout="sliced"), 1.5),
        args(make(), True),
        args(make(0, 3), 2),
    ],
    errors=lambda make: [args(make(2), make(2))],
    dtypes="float16 float32 float64",
)
# Where PyTorch has an overload for sections and one for indices, each is a keyword.
case("tensor_split hsplit vsplit", lambda make: [args(make(4, 2), sections=2), args(make(4, 2), indices=[1])])
case("dsplit", lambda make: [args(make(2, 2, 4), sections=2), args(make(2, 2, 4), indices=[1, 3])])
case("tensor_split", lambda make: [args(make(4), tensor_indices_or_sections=make.of([1, 3], dtype="int64"), dim=0)])
# What `out=` refuses: of a function with one result, of one with two, and of one that is made of others.
case("exp", lambda make: [args(make(2))], errors=lambda make: [args(make(2), out=make(2))], dtypes=FLOAT)
case(
    "sort",
    lambda make: [args(make(2))],
    errors=lambda make: [
        args(make(2), out=make(2, requires_grad=False)).type_only(),  # torch lists its overloads
        args(make(2), out=(make(2), make.index(2, below=1))),
    ],
    dtypes=FLOAT,
)
case(
    "kron",
    lambda make: [args(make(2), make(2))],
    errors=lambda make: [args(make(2), make(2), out=3)],
    dtypes=FLOAT,
)
