"""Sample inputs of creation, conversion and copies. test_memory.py has those whose elements are as they were found."""

from __future__ import annotations

import numpy as np

from tests.ops.case import UNTESTED, Make, Sample, args, case

INF, NAN = float("inf"), float("nan")
REAL = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64"
NUMBER = "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64"
FLOAT = "float16 bfloat16 float32 float64"


def methods(names: str) -> str:
    return " ".join(f"Tensor.{name}" for name in names.split())


# Of a given shape.


def sizes(make: Make) -> list[Sample]:
    return [
        args(2, 3),
        args((2, 3), dtype=make.dtype),
        args([2], dtype=make.dtype, device="cpu"),
        args(()),
        args(0, 3, dtype=make.dtype),
        args(size=(2, 1), dtype=make.dtype),
        args(2, dtype=make.lib.float32, requires_grad=True),
        args(make.lib.Size([3, 1]), layout=make.lib.strided, pin_memory=False),
    ]


def wrong_sizes(make: Make) -> list[Sample]:
    return [
        args(2, -1).type_only(),
        args(2.5).type_only(),
        args("2").type_only(),
        args(2, dtype="float32").type_only(),
        args(2, dtype=make.lib.int64, requires_grad=True),
        args(2, colour=1).type_only(),
    ]


case("zeros ones", sizes, errors=wrong_sizes)
case(
    "full",
    lambda make: [
        args((2, 3), 1),
        args((2, 3), 1.5),
        args([2], True),
        args((), 1 + 2j),
        args((0, 3), 1, dtype=make.dtype),
        args((2,), 1, dtype=make.dtype),
        args((2,), 2.5, dtype=make.lib.float32, requires_grad=True),
        args(size=(2,), fill_value=NAN),
        args((2,), make.of(2.0, requires_grad=False)),
    ],
    errors=lambda make: [args(2, 1).type_only(), args((2,), 300, dtype=make.lib.uint8), args((-1,), 1).type_only()],
)
case(
    "scalar_tensor",
    lambda make: [
        args(1),
        args(1.5),
        args(True),
        args(2, dtype=make.dtype),
        args(NAN),
        args(1.5, requires_grad=True),
        args(-3, dtype=make.lib.int64),
        args(s=7, dtype=make.lib.complex64),
    ],
)
case(
    "eye",
    lambda make: [
        args(3),
        args(2, 3),
        args(3, 2, dtype=make.dtype),
        args(0),
        args(n=2, m=0, dtype=make.dtype),
        args(2, requires_grad=True),
        args(1),
        args(4, 1, dtype=make.lib.int64),
    ],
    errors=lambda make: [args(-1), args(2, -3), args("2").type_only()],
)

# Ranges.

case(
    "arange",
    lambda make: [
        args(5),
        args(5.0),
        args(1, 4),
        args(1, 2.5, 0.5),
        args(5, 0, -2),
        args(0),
        args(3, 3),
        args(end=4),
        args(0, end=4, step=2),
        args(0.1, 1, 0.1),
        args(5, dtype=make.dtype),
        args(1, 7, 3, dtype=make.dtype),
        args(3.7, dtype=make.dtype),
        args(3, dtype=make.lib.float32, requires_grad=True),
        args(True),
    ],
    errors=lambda make: [
        args(1, 5, 0),
        args(5, 1),
        args(0, INF),
        args(0, 1, -1),
        args().type_only(),
        args("a").type_only(),
    ],
)
case(
    "range",
    lambda make: [
        args(0, 3),
        args(1.5, 4),
        args(3, 1, -1),
        args(0, 6, 2),
        args(0, 2, dtype=make.dtype),
        args(2, 2),
        args(-4, 4, 4),  # a whole step: one below 1, cut to 0 for an integer out=, ends torch with a division by zero
        args(5, 0, -2, dtype=make.dtype),
    ],
    errors=lambda make: [args(1, 5, 0), args(5, 1)],
    dtypes=NUMBER,
)


def spaces(make: Make) -> list[Sample]:
    return [
        args(0, 1, 5),
        args(0, 1, steps=4, dtype=make.dtype),
        args(3, -2, 7),
        args(1.5, 1.5, 3),
        args(0, 2, 1),
        args(0, 2, 0),
        args(start=-1, end=1, steps=6),
        args(0, 1, 3, dtype=make.lib.float64, requires_grad=True),
        args(0, 1 + 1j, 3),
    ]


case("linspace", spaces, errors=lambda make: [args(0, 1, -1), args(0, 1).type_only()], dtypes=NUMBER + " complex64")
case(
    "logspace",
    lambda make: [*spaces(make), args(0, 3, 4, 2.0), args(0, 2, 3, base=3, dtype=make.dtype)],
    errors=lambda make: [args(0, 1, -1), args(0, 1).type_only()],
    dtypes=NUMBER + " complex64",
)

# Like a tensor.


def alike(make: Make) -> list[Sample]:
    return [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(2, 3, layout="sliced"), dtype=make.lib.float32),
        args(make(2, 3, layout="expanded"), dtype=make.lib.int64),
        args(make()),
        args(make(0, 3)),
        args(make(2, 3, layout="transposed"), memory_format=make.lib.contiguous_format),
        args(make(2), dtype=make.lib.float64, requires_grad=True),
        args(make(2), device="cpu"),
    ]


case("zeros_like ones_like", alike, errors=lambda make: [args(2).type_only(), args(make(2), dtype="a").type_only()])
case(
    "full_like",
    lambda make: [args(each.args[0], 1, **each.kwargs) for each in alike(make)],
    errors=lambda make: [args(make(2, dtype="uint8"), 300), args(make(2)).type_only()],
)
case(
    methods("new_zeros new_ones"),
    lambda make: [
        args(make(2), 2, 3),
        args(make(2), (2, 3)),
        args(make(2), ()),
        args(make(2), 0, 2),
        args(make(2), 2, dtype=make.lib.int32),
        args(make(2), size=(2,), dtype=make.lib.float64, requires_grad=True),
    ],
    errors=lambda make: [args(make(2), -1).type_only(), args(make(2), 1.5).type_only()],
)
case(
    methods("new_full"),
    lambda make: [
        args(make(2), (2, 3), 1),
        args(make(2), (), 1),
        args(make(2), (0,), 1),
        args(make(2), [2], 1, dtype=make.lib.float32),
        args(make(2), (2,), 1.5, dtype=make.lib.float64, requires_grad=True),
    ],
    errors=lambda make: [args(make(2, dtype="uint8"), (2,), 300)],
)
case(
    methods("new_tensor"),
    lambda make: [
        args(make(2), [1, 0]),
        args(make(2), [[1.0, 0.0]], dtype=make.lib.float64),
        args(make(2), 1),
        args(make(2), []),
        args(make(2), [1.5], dtype=make.lib.float32, requires_grad=True),
    ],
    errors=lambda make: [args(make(2), [[1], [1, 2]]), args(make(2), "a").type_only()],
)

# Of data.


def data(make: Make) -> list[Sample]:
    return [
        args([[1, 0], [0, 1]], dtype=make.dtype),
        args([1, 2.5]),
        args([True, False]),
        args([1, 1j]),
        args(3),
        args(2.5),
        args(()),
        args([[], []]),
        args(np.arange(6, dtype=np.int16).reshape(2, 3)),
        args(np.arange(6.0)[::2]),
        args(np.float32(2.5)),
        args(np.arange(3), dtype=make.lib.float64),
        args([np.float32(1.5), 2]),
        args(range(3)),
    ]


def wrong_data(make: Make) -> list[Sample]:
    return [
        args([[1, 2], [3]]),
        args([1, [2]]).type_only(),
        args("a").type_only(),
        args(["a"]).type_only(),
        args(None).type_only(),
        args([None]).type_only(),
        args([1], dtype=3).type_only(),
        args({1: 2}).type_only(),
    ]


case(
    "tensor",
    lambda make: [
        *data(make),
        args([1.5], requires_grad=True),
        args(make(2, 3, layout="transposed", requires_grad=False)),
        args([make.of(1.0, requires_grad=False), 2]),
    ],
    errors=lambda make: [*wrong_data(make), args([1], requires_grad=True)],
)
case(
    "as_tensor",
    lambda make: [
        *data(make),
        args(make(2, 3)),
        args(make(2, 3, layout="transposed"), dtype=make.dtype),
        args(make(2, layout="sliced"), dtype=make.lib.float64),
        args(make(2), device="cpu"),
    ],
    errors=wrong_data,
)
case(
    "asarray",
    lambda make: [
        *data(make),
        args(make(2, 3, requires_grad=False)),
        args(make(2, 3, layout="transposed", requires_grad=False), copy=True),
        args(make(2, requires_grad=False), dtype=make.lib.float64),
        args(make(2, requires_grad=False), copy=False),
    ],
    errors=lambda make: [*wrong_data(make)],
)

# Copies and casts.


def layouts(make: Make) -> list[Sample]:
    return [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(4, layout="sliced")),
        args(make(2, 3, layout="expanded")),
        args(make()),
        args(make(0, 3)),
        args(make(2, 2, 2, 2, layout="transposed")),
    ]


def with_formats(make: Make) -> list[Sample]:
    formats = [
        args(make(2, 3, layout="transposed"), memory_format=make.lib.contiguous_format),
        args(make(2, 3, 2, 2), memory_format=make.lib.channels_last),
        args(make(2, 2, 2, 2, layout="transposed"), memory_format=make.lib.preserve_format),
    ]
    return layouts(make) + formats


case(
    "clone",
    with_formats,
    errors=lambda make: [args(make(2, 3), memory_format=make.lib.channels_last), args([1.0]).type_only()],
)
case(
    methods("contiguous"),
    lambda make: with_formats(make)[:-1],
    errors=lambda make: [
        args(make(2, 3), memory_format=make.lib.channels_last),
    ],
)


def to_cast(make: Make) -> list[Sample]:
    return [
        *layouts(make),
        args(make.of([-1.9, -0.5, 0.0, 0.5, 1.9, 100.0])).kink(),
        args(make(2, 3, layout="transposed"), memory_format=make.lib.contiguous_format),
    ]


case(methods("bool byte char short int long half bfloat16 float double cfloat cdouble"), to_cast)
case(
    methods("to"),
    lambda make: [
        *(args(each.args[0], make.lib.float64) for each in layouts(make)),
        args(make(2, 3)),
        args(make(2), make.dtype),
        args(make(2), "cpu"),
        args(make(2), make.lib.device("cpu"), make.lib.float32),
        args(make(2), make(1, dtype="float64", requires_grad=False)),
        args(make(2), dtype=make.lib.int64, device="cpu"),
        args(make(2, 3, layout="transposed"), make.dtype, copy=True),
        args(make(2), make.lib.float32, False, True),
    ],
    errors=lambda make: [args(make(2), "nowhere").type_only(), args(make(2), [1]).type_only()],
)
case(
    methods("type"),
    lambda make: [
        args(make(2)),
        args(make(2), "torch.DoubleTensor"),
        args(make(2), make.lib.float32),
        args(make(2, 3, layout="transposed"), dtype=make.lib.float64),
        args(make(), "torch.LongTensor"),
        args(make(0), make.dtype),
    ],
    errors=lambda make: [args(make(2), "torch.NoTensor")],
)
case(
    methods("type_as"),
    lambda make: [
        args(each.args[0], make(1, dtype=kind, requires_grad=False))
        for each in layouts(make)
        for kind in ("float32", "float64")
    ],
    errors=lambda make: [args(make(2), make.lib.float32).type_only()],
)
case(methods("cpu"), layouts)

# Written in place.

case(
    methods("copy_"),
    lambda make: [
        args(make(2, 3), make(2, 3)),
        args(make(2, 3, layout="transposed"), make(3)),
        args(make(4, layout="sliced"), make(4, layout="sliced")),
        args(make(2, 3), make(dtype="float32", requires_grad=False)),
        args(make(2), make(2, dtype="int64")),
        args(make(), make(dtype="float64")),
        args(make(2, 3), make(2, 3, layout="expanded")),
        args(make(0, 3), make(3)),
        args(make(2), make(2), True),
        args(make(2, dtype="float32"), make(2)),
    ],
    errors=lambda make: [args(make(2), make(3)), args(make(3), make(2, 3)).type_only(), args(make(2), "a").type_only()],
    grad_fn=False,  # torch's name has its C++ namespaces
)
case(
    methods("fill_"),
    lambda make: [
        *(args(each.args[0], 1) for each in layouts(make)),
        args(make(2), 1.5),
        args(make(2), True),
        args(make(2, 3), make()),
        args(make(2, 3), make(dtype="float64", requires_grad=False)),
    ],
    errors=lambda make: [args(make(2), make(2)), args(make(2, dtype="uint8"), 300), args(make(2)).type_only()],
)
case(methods("zero_"), layouts, errors=lambda make: [args(make(2), 1).type_only()])

for _name in ("empty", "empty_strided", "empty_like", "Tensor.new_empty", "Tensor.new_empty_strided"):
    UNTESTED[_name] = "its elements are as they were found: test_memory.py compares the rest"
UNTESTED["Tensor.cuda"] = "it needs a GPU"
UNTESTED["asanyarray"] = "an alias of asarray"
UNTESTED["_assert_async"] = "tests/test_names_of_packages.py"
for _method in ("_detached", "__torch_function__", "_make_subclass", "_make_wrapper_subclass"):
    UNTESTED[f"Tensor.{_method}"] = "about subclasses: tests/dispatch/test_overriding.py"
TRIANGLES = [(3, 3, 0), (3, 4, 1), (4, 2, -1), (2, 3, -5), (0, 3, 0), (3, 0, 0), (2, 2, 5)]
case(
    "tril_indices triu_indices",
    lambda make: [
        *[args(row, column, offset) for row, column, offset in TRIANGLES],
        args(2, 3, dtype=make.lib.int32),
        args(row=2, col=3, offset=1, device="cpu", layout=make.lib.strided),
    ],
    errors=lambda make: [
        args(-1, 3),
        args(3, -1),
        args(2, 3, dtype=make.lib.float32),
        args(2, 3, dtype=make.lib.int16),
        args(2, 3, dtype=make.lib.bool),
    ],
)
case(
    "meshgrid",
    lambda make: [
        args(make(2), make(3), indexing="ij"),
        args(make(2), make(3), make(4, layout="sliced"), indexing="xy"),
        args([make(2), make()]),
        args(make(3), indexing="xy"),
        args(make(0), make(2)),
        args(make(2), make(1), make(3)),
    ],
    errors=lambda make: [
        args(),
        args(3),
        args(make(2), 3),
        args(make(2, 2)).type_only(),  # torch prints the list of tensors in a way of its own
        args(make(2), make(2, dtype="float64")),
        args(make(2), indexing="a"),
    ],
)
# torch's own gradient fails, for it computes in place.
case(
    "vander",
    lambda make: [
        args(make(3, requires_grad=False)),
        args(make(3, requires_grad=False), 2),
        args(make(4, layout="sliced", requires_grad=False), N=5, increasing=True),
        args(make(3, requires_grad=False), 0),
        args(make(3, requires_grad=False), 1, True),
        args(make(0, requires_grad=False), 2),
    ],
    errors=lambda make: [args(make(2, 2)), args(make()), args(make(2), -1)],
    strides=False,  # of an empty or flipped matrix, torch leaves them open
)
case(
    "linalg.vander",
    lambda make: [args(make(3)), args(make(2, 3), N=2), args(make(2, 3, layout="transposed"), N=4)],
    errors=lambda make: [args(make()), args(make(3), N=0), args(make(3), N=1)],
)
WINDOWS = "hann_window hamming_window blackman_window bartlett_window kaiser_window"
case(
    WINDOWS,
    lambda make: [
        args(5),
        args(6, False),
        args(4, periodic=True, dtype=make.dtype),
        args(1),
        args(0),
        args(2, False, requires_grad=True),
        args(33, dtype=make.lib.float64),
        args(2),
    ],
    errors=lambda make: [args(-1)],
    dtypes="float16 bfloat16 float32 float64",
    # torch computes in the window's own dtype: near the ends the cosines cancel.
    tolerance=20,
)
case("hamming_window", lambda make: [args(5, True, 0.5), args(6, False, 0.4, beta=0.25)], dtypes="float32")
case("kaiser_window", lambda make: [args(5, True, 0.5), args(6, False, beta=4.0)], dtypes="float32")
case(
    "unravel_index",
    lambda make: [
        args(make.index(4, below=6), (2, 3)),
        args(make.index(below=24), (2, 3, 4)),
        args(make.index(2, 2, below=6), 6),
        args(make.of([-1, -6], dtype="int64"), (2, 3)),
        args(make(0, dtype="int64"), (2, 3)),
    ],
    errors=lambda make: [args(make(2), (2, 3)), args(make.index(2, below=3), (2, -3))],
    dtypes="float32",
)
case(
    "gradient",
    lambda make: [
        args(make(4)),
        args(make(2, 3)),
        args(make(3, 4, layout="transposed"), spacing=2.0),
        args(make(3, 4), spacing=[2.0, 0.5]),
        args(make(2, 4, 3), dim=1),
        args(make(3, 4), dim=(0, -1), edge_order=2),
        args(make(4), spacing=(make.of([0.0, 1.0, 3.0, 7.0], dtype="float32", requires_grad=False),)),
        args(
            make(3, 4),
            spacing=(make.of([0.0, 1.0, 3.0, 7.0], dtype="float32", requires_grad=False),),
            dim=1,
            edge_order=2,
        ),
    ],
    errors=lambda make: [
        args(make(1)),
        args(make(2), edge_order=2),
        args(make(4), edge_order=3),
        args(make(2, dtype="uint8")),
        args(make(2, 3), dim=(0, 0)),
        args(make(2, 3), dim=3),
        args(make(2, 3), spacing=[1.0, 2.0, 3.0]),
        args(make(2, 3), spacing=[1.0], dim=(0, 1)),
    ],
    dtypes="int64 float32 float64 complex64",  # torch rounds two-byte floats in another order
)
case("gradient", lambda make: [args(make(2), spacing=(make.of([0.0, 3.0], requires_grad=False),))], dtypes="float32")
UNTESTED["empty_permuted"] = "its content is random: see test_surface.py"
case(
    "linspace logspace",
    lambda make: [args(0, 3, 4, dtype=make.dtype)],
    errors=lambda make: [args(0, 1, -1), args(0, 1, 3, dtype=make.lib.bool)],
)
