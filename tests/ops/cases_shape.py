"""Sample inputs of the views and copies of whole tensors in another shape or order."""

from __future__ import annotations

from tests.ops.case import UNTESTED, args, case

case(
    "reshape",
    lambda make: [
        args(make(2, 3), (3, 2)),
        args(make(2, 6), (2, -1, 3)),
        args(make(2, 3, layout="transposed"), (6,)),  # copies
        args(make(2, 3, layout="sliced"), (2, 3, 1)),
        args(make(), (1, 1)),
        args(make(0, 3), (3, 0)),
        args(make(2, 3, layout="expanded", requires_grad=False), (6,)),
    ],
    errors=lambda make: [
        args(make(2, 3), (4,)),
        args(make(2, 3), (-1, -1)),
        args(make(2, 3), (4, -1)),
        args(make(2, 3), (-2, 3)),
        args(make(0, 3), (0, -1)),
    ],
)
case(
    "Tensor.view",
    lambda make: [
        args(make(2, 3), 3, 2),
        args(make(2, 6), (2, -1, 3)),
        args(make(4, 3, layout="sliced"), 2, 2, 3),
        args(make(2, 3, layout="transposed"), 2, 3, 1),
        args(make(), 1, 1),
        args(make(0, 3), 3, 0),
    ],
    errors=lambda make: [
        args(make(2, 3, layout="transposed"), 6),
        args(make(2, 3), 4),
        args(make(2, 4, layout="transposed"), make.lib.float64),
        args(make(2, 3), make.lib.float64),
        args(make(2, 2, 5)[:, :, :4], make.lib.float64),
        args(make(2, 4, layout="sliced"), make.lib.int16),
    ],
)
case(
    "Tensor.view_as Tensor.reshape_as Tensor.expand_as",
    lambda make: [
        args(make(2, 3), make(2, 3)),
        args(make(1, 1), make(1, 1, requires_grad=False)),
        args(make(), make()),
        args(make(0, 3), make(0, 3)),
        args(make(2, 3, layout="transposed"), make(2, 3)),
    ],
)
case(
    "ravel",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(3)),
        args(make()),
        args(make(0, 3)),
    ],
)
case(
    "flatten",
    lambda make: [
        args(make(2, 3, 2)),
        args(make(2, 3, 2), 1),
        args(make(2, 3, 2), 0, 1),
        args(make(2, 3, 2, layout="transposed"), start_dim=-2),
        args(make()),
        args(make(0, 3)),
    ],
    errors=lambda make: [args(make(2, 3), 1, 0), args(make(2, 3), 2)],
)
case(
    "unflatten",
    lambda make: [
        args(make(2, 6), 1, (2, 3)),
        args(make(2, 6), 1, (-1, 3)),
        args(make(6, layout="sliced"), 0, (3, 2)),
        args(make(6, 2, layout="transposed"), -2, (3, 2)),
        args(make(0, 2), 1, (1, 2)),
    ],
    errors=lambda make: [args(make(2, 6), 1, (4, 2)), args(make(6), 1, (2, 3))],
)
case(
    "permute",
    lambda make: [
        args(make(2, 3, 4), (2, 0, 1)),
        args(make(2, 3, 4), (-1, 1, 0)),
        args(make(2, 3, layout="sliced"), (1, 0)),
        args(make(), ()),
        args(make(0, 3), (1, 0)),
    ],
    errors=lambda make: [args(make(2, 3), (0,)), args(make(2, 3), (0, 0)), args(make(2, 3), (0, 2))],
)
case(
    "transpose swapaxes swapdims",
    lambda make: [
        args(make(2, 3, 4), 0, 2),
        args(make(2, 3, 4), -1, 1),
        args(make(2, 3, layout="sliced"), 1, 0),
        args(make(), 0, -1),
        args(make(0, 3), 0, 1),
    ],
    errors=lambda make: [args(make(2, 3), 0, 2)],
)
case(
    "t",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(3)),
        args(make()),
        args(make(0, 3)),
    ],
    errors=lambda make: [args(make(2, 3, 4))],
)
case(
    "movedim moveaxis",
    lambda make: [
        args(make(2, 3, 4), 0, 2),
        args(make(2, 3, 4), (0, 1), (1, 2)),
        args(make(2, 3, 4), -1, 0),
        args(make(2, 3, layout="transposed"), 1, 0),
        args(make(0, 3), 0, 1),
    ],
    errors=lambda make: [args(make(2, 3), (0, 0), (0, 1)), args(make(2, 3), 2, 0)],
)
case(
    "adjoint",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(2, 3, layout="sliced")),
        args(make(0, 3)),
    ],
    errors=lambda make: [args(make(3))],
    dtypes="bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64",  # torch conjugates lazily, in a view
)
case(
    "Tensor.expand",
    lambda make: [
        args(make(2, 1), 2, 3),
        args(make(1, 3), (2, -1)),
        args(make(3), 2, 3),
        args(make(), 2),
        args(make(2, 3, layout="transposed"), 2, 2, 3),
        args(make(0, 1), 0, 3),
        args(make(1), 0),
    ],
    errors=lambda make: [
        args(make(2, 3), 3),
        args(make(2, 3), 2, 4),
        args(make(3), -1, 3),
    ],
)
case(
    "broadcast_to",
    lambda make: [
        args(make(2, 1), (2, 3)),
        args(make(3), (2, 3)),
        args(make(), (2,)),
        args(make(2, 3, layout="transposed"), (2, 2, 3)),
        args(make(0, 1), (0, 3)),
    ],
    errors=lambda make: [args(make(2), (3,))],
)
case(
    "broadcast_tensors",
    lambda make: [
        args(make(2, 1), make(3)),
        args(make(2, 3), make()),
        args(make(2, 3, layout="transposed")),
        args(make(1), make(0)),
        args(make(2, 1, 2), make(3, 1), make(2)),
    ],
    errors=lambda make: [args(make(2), make(3))],
)
case(
    "squeeze",
    lambda make: [
        args(make(2, 1, 3, 1)),
        args(make(2, 1, 3, 1), 1),
        args(make(2, 1, 3, 1), 0),
        args(make(2, 1, 3, 1), (1, -1)),
        args(make(1, 2, layout="transposed"), dim=0),
        args(make(), 0),
        args(make(0, 1)),
    ],
    errors=lambda make: [args(make(2, 1), 2), args(make(2, 1), (0, 0))],
)
case(
    "unsqueeze",
    lambda make: [
        args(make(2, 3), 0),
        args(make(2, 3), 1),
        args(make(2, 3), -1),
        args(make(2, 3, layout="transposed"), 1),
        args(make(2, 3, layout="sliced"), 2),
        args(make(), 0),
        args(make(0, 3), 1),
    ],
    errors=lambda make: [args(make(2, 3), 3)],
)
case(
    "atleast_1d atleast_2d atleast_3d",
    lambda make: [
        args(make()),
        args(make(3)),
        args(make(2, 3, layout="transposed")),
        args(make(2, 1, 3)),
        args(make(0)),
        args((make(), make(2))),
        args(make(2), make(2, 3)),
    ],
)
case(
    "Tensor.repeat",
    lambda make: [
        args(make(2, 3), 2, 1),
        args(make(3), 2, 2),
        args(make(2, 3, layout="transposed"), (1, 2, 3)),
        args(make(), 2),
        args(make(0, 3), 2, 2),
        args(make(2), 0),
    ],
    errors=lambda make: [args(make(2, 3), 2), args(make(2), -1)],
)
case(
    "tile",
    lambda make: [
        args(make(2, 3), (2, 1)),
        args(make(2, 3), (2,)),
        args(make(3, layout="sliced"), (2, 2)),
        args(make(), (2,)),
        args(make(0, 3), (2,)),
    ],
    errors=lambda make: [args(make(3), (1.5,)).type_only()],
)
case(
    "repeat_interleave",
    lambda make: [
        args(make(2, 3), 2),
        args(make(2, 3), 2, 1),
        args(make(2, 3, layout="transposed"), 2, dim=0),
        args(make(3), make.index(3, below=3), 0),
        args(make(), 3),
        args(make(0, 3), 2, 0),
    ],
    errors=lambda make: [args(make(3), -1), args(make(3), make.index(2, below=3), 0)],
)
case(
    "flip",
    lambda make: [
        args(make(2, 3), (0,)),
        args(make(2, 3), (0, -1)),
        args(make(2, 3, layout="transposed"), [1]),
        args(make(), ()),
        args(make(0, 3), (0,)),
    ],
    errors=lambda make: [args(make(2, 3), (0, 0)), args(make(2, 3), (2,))],
)
case(
    "fliplr flipud",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(2, 3, 2)),
        args(make(1, 1)),
        args(make(0, 3)),
    ],
    errors=lambda make: [args(make())],
)
case(
    "roll",
    lambda make: [
        args(make(2, 3), 1),
        args(make(2, 3), -2, 1),
        args(make(2, 3), (1, 2), (0, 1)),
        args(make(2, 3, layout="transposed"), shifts=4, dims=0),
        args(make(), 1),
        args(make(0, 3), 1, 0),
    ],
    errors=lambda make: [args(make(2, 3), (1, 2), 0), args(make(2, 3), 1, 2)],
)
case(
    "rot90",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 2),
        args(make(2, 3, 2), -1, (1, 2)),
        args(make(2, 3, layout="transposed"), 3),
        args(make(2, 3), 4),
        args(make(0, 3)),
    ],
    errors=lambda make: [args(make(3)), args(make(2, 3), 1, (0, 0)), args(make(2, 3), 1, (0,))],
)
case(
    "tril triu",
    lambda make: [
        args(make(3, 3)),
        args(make(2, 4), 1),
        args(make(4, 2), -1),
        args(make(2, 3, 3, layout="transposed"), diagonal=-2),
        args(make(0, 3)),
        args(make(2, 2), 5),
    ],
    errors=lambda make: [args(make(3))],
)
case(
    "diag",
    lambda make: [
        args(make(3)),
        args(make(3), 1),
        args(make(2, 3), -1),
        args(make(3, 3, layout="transposed")),
        args(make(0)),
    ],
    errors=lambda make: [args(make(2, 2, 2)), args(make())],
)
case(
    "diag_embed",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 1),
        args(make(3), -2),
        args(make(2, 3, layout="transposed"), 0, 0, 2),
        args(make(2, 0)),
    ],
    errors=lambda make: [args(make(2), 0, 1, 1)],
)
case(
    "diagflat",
    lambda make: [
        args(make(2, 2)),
        args(make(3), 1),
        args(make(2, 2, layout="transposed"), -1),
        args(make()),
        args(make(0)),
    ],
)
case(
    "combinations",
    lambda make: [
        args(make(4)),
        args(make(3), 1),
        args(make(4), 3),
        args(make(3, layout="sliced"), with_replacement=True),
        args(make(0)),
        args(make(1)),
    ],
    errors=lambda make: [args(make(2, 2)), args(make(2), -1)],
)
case(
    "as_strided",
    lambda make: [
        args(make(2, 3), (2, 2), (3, 1)),
        args(make(2, 3), (2, 2), (1, 1)),
        args(make(6), (3, 2), (2, 1), 0),
        args(make(2, 3), (2,), (3,), 1),
        args(make(6), (0, 2), (1, 1)),
        args(make(2, 3), (), (), 5),
    ],
    errors=lambda make: [args(make(2, 3), (2,), (1, 1)), args(make(2, 3), (7,), (1,))],
)
case(
    "as_strided_scatter",
    lambda make: [
        args(make(2, 3, requires_grad=False), make(2, 2), (2, 2), (3, 1)),
        args(make(6, requires_grad=False), make(3), (3,), (2,), 1),
        args(make(2, 3, requires_grad=False), make(2), (2,), (3,), 1),
        args(make(2, 3, requires_grad=False), make(), (), (), 5),
        args(make(2, 3, requires_grad=False), make(2, 2, layout="transposed"), (2, 2), (3, 1), 1),
        args(make(4, 2, requires_grad=False), make(2, 2), (2, 2), (4, 2)),
        args(make(8, requires_grad=False), make(2, layout="sliced"), (2,), (4,), 3),
        args(make(3, requires_grad=False), make(0), (0,), (1,)),
    ],
    strides=False,
    # torch 2.13 gives self the gradient inside the view, which is overwritten, and not that outside of it
    layouts=False,  # torch's gradient takes a contiguous input for granted: it writes zeros in the wrong places
)
case(
    "broadcast_shapes",
    lambda make: [
        args((2, 1), (3,)),
        args((2, 3)),
        args(2, (3, 1)),
        args((0, 3), (1,)),
        args((), ()),
        args((5, 1, 4), (3, 1), (1,)),
        args(4, 1),
        args((2, 1, 1), 6),
    ],
    errors=lambda make: [
        args((2,), (3,)),
        args((2, 3), (3, 3)),
        args((2, -1)),
        args((2,), (-1, 2)),
        args(-1),
        args(1.5),
    ],
)
case(
    "Tensor.T Tensor.H Tensor.mT Tensor.mH",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(4, 2, layout="sliced")),
        args(make(1, 3)),
        args(make(0, 3)),
    ],
    dtypes="int64 float32 float64",
)
case(
    "Tensor.mT Tensor.mH",
    lambda make: [args(make(2, 3, 4))],
    errors=lambda make: [args(make(3))],
    dtypes="int64 float32 float64",
)
case(
    "Tensor.resize_",
    lambda make: [
        args(make(2, 3, requires_grad=False), 3, 2),
        args(make(2, 3, requires_grad=False), (2, 2)),
        args(make(2, 3, requires_grad=False), []),
        args(make(2, 3, requires_grad=False), 0),
        args(make(0, 3, requires_grad=False), 0, 2),
        args(make(4, 6, requires_grad=False), 1, 2, 3, 4, memory_format=make.lib.channels_last),
        args(make(1, 2, 3, 4, requires_grad=False), (1, 2, 3, 4), memory_format=make.lib.channels_last),
        args(make(4, 6, requires_grad=False), 1, 2, 3, 2, 2, memory_format=make.lib.channels_last_3d),
        args(make(4, 6, requires_grad=False), 4, 6, memory_format=make.lib.contiguous_format),
        args(make(4, 6, requires_grad=False), 1, 0, 3, 4, memory_format=make.lib.channels_last),
    ],
    errors=lambda make: [
        args(make(2), 3),
        args(make(4, requires_grad=False), 2, 2, memory_format=make.lib.channels_last),
        args(make(4, requires_grad=False), 2, 2, memory_format=make.lib.preserve_format),
        args(make(4, requires_grad=False), 2, 2, memory_format=3),
        args(make(4, requires_grad=False), -2),
    ],
)
case(
    "Tensor.resize_as_",
    lambda make: [
        *[args(make(2, 3, requires_grad=False), make(shape, requires_grad=False)) for shape in (1, 2, 3, 6, 0)],
        *[
            args(
                make(4, 6, requires_grad=False),
                make(1, 2, 3, 4).contiguous(memory_format=template),
                memory_format=memory_format,
            )
            for template in (make.lib.contiguous_format, make.lib.channels_last)
            for memory_format in (make.lib.channels_last, make.lib.preserve_format, make.lib.contiguous_format, None)
        ],
    ],
    errors=lambda make: [args(make(2), make(3)), args(make(2, requires_grad=False), 3)],
)
case(
    "Tensor.set_",
    lambda make: [
        args(make(2, 3, requires_grad=False), make(4, requires_grad=False)),
        args(make(2, 3, requires_grad=False), make(3, 2, requires_grad=False, layout="transposed")),
        args(make(2, 3, requires_grad=False), make(requires_grad=False)),
        args(make(requires_grad=False), make(0, 2, requires_grad=False)),
        args(make(2, 3, requires_grad=False), make(6, requires_grad=False), 1, (2, 2), (2, 1)),
    ],
)
UNTESTED["Tensor._resize_output"] = "reached through out="
UNTESTED["Tensor.to_sparse"] = "gives no tensor: tests/sparse/test_coo.py"
UNTESTED["Tensor.to_sparse_csr"] = UNTESTED["sparse_csr_tensor"] = "gives no tensor: tests/sparse/test_csr.py"
