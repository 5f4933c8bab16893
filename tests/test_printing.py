"""Every text here is PyTorch's own: a PyTorch tensor is printed by PyTorch and, in a minimal guise, by minitorch."""

import contextlib
import itertools
import math

import ml_dtypes
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="torch is the oracle for printed texts")

import minitorch  # noqa: E402
from minitorch import devices, dtypes, printing  # noqa: E402
from minitorch.tensor import make_tensor  # noqa: E402
from tests.same import errors, same  # noqa: E402

DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
]
FLOATING_DTYPES = [dtype for dtype in DTYPES if dtype.is_floating_point]
COMPLEX_DTYPES = [dtype for dtype in DTYPES if dtype.is_complex]


def minitorch_dtype(dtype):
    return next(each for each in dtypes.DTYPES if str(each) == str(dtype))


def elements(original):
    original = original.detach()
    if original.dtype == torch.bfloat16:
        return original.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return original.numpy()


class Tensor:
    """What printing needs of a tensor, taken from a PyTorch tensor."""

    def __init__(self, original):
        self.original = original

    shape = property(lambda self: tuple(self.original.shape))
    dtype = property(lambda self: minitorch_dtype(self.original.dtype))
    device = property(lambda self: devices.device(str(self.original.device)))
    requires_grad = property(lambda self: self.original.requires_grad)
    grad_fn = property(lambda self: self.original.grad_fn)
    is_meta = property(lambda self: self.original.is_meta)
    _elements = property(lambda self: elements(self.original))
    __repr__ = printing.tensor_repr
    __format__ = printing.tensor_format


class Parameter(Tensor):
    __repr__ = printing.parameter_repr


@contextlib.contextmanager
def options(**chosen):
    printing.set_printoptions(**chosen)
    torch.set_printoptions(**chosen)
    try:
        yield
    finally:
        printing.set_printoptions(profile="default")
        torch.set_printoptions(profile="default")


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    dtypes.set_default_dtype(minitorch_dtype(dtype))
    try:
        yield
    finally:
        torch.set_default_dtype(before)
        dtypes.set_default_dtype(minitorch_dtype(before))


def check(original):
    assert repr(Tensor(original)) == repr(original)


def numbers(*shape, dtype):
    generator = torch.Generator().manual_seed(0)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=dtype, generator=generator)
    return torch.randint(0, 2 if dtype == torch.bool else 100, shape, generator=generator).to(dtype)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (40,), (0,), (0, 3), (2, 0, 3), (2, 3), (2, 3, 2), (2, 1, 2, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_shape(dtype, shape):
    check(numbers(*shape, dtype=dtype))


@pytest.mark.parametrize("shape", [(), (0, 2), (3, 2), (30, 40)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_minitorch_tensors(dtype, shape):
    original = numbers(*shape, dtype=dtype)
    tensor = make_tensor(elements(original), minitorch_dtype(dtype), devices.cpu)
    assert printing.tensor_repr(tensor) == repr(original)
    if tensor.dtype.is_differentiable:
        tensor.requires_grad, original.requires_grad = True, True
        assert printing.tensor_repr(tensor) == repr(original)
        assert printing.tensor_repr(tensor * tensor) == repr(original * original)


@pytest.mark.parametrize("shape", [(1001,), (6, 200), (7, 200), (200, 6), (11, 10, 10), (10, 1, 11, 10), (1001, 1)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_more_than_a_thousand_elements_are_summarised(dtype, shape):
    check(numbers(*shape, dtype=dtype))


@pytest.mark.parametrize("dtype", FLOATING_DTYPES)
@pytest.mark.parametrize(
    "values",
    [
        [0.0, -0.0],
        [0.0] * 50,
        [1.0, -2.0, 300.0],
        [1.5, -2.25],
        [math.nan, math.inf, -math.inf],
        [math.nan, 1.0],
        [math.inf, 1.5],
        [-math.inf, 1e-3],
        [1.0, 1000.0],
        [1.0, 1001.0],
        [0.5, 501.0],
        [1e8],
        [1.1e8, 1.2e8],
        [1e-4],
        [0.9e-4],
        [0.0, 1e-5, math.nan, -math.inf],
        [123456.0, 7.0],
        [-1.0, 1.0],
        [99999.99, 9999.99],
    ],
)
def test_notation_suits_the_numbers(dtype, values):
    check(torch.tensor(values, dtype=dtype))
    check(torch.tensor(values[0], dtype=dtype))


@pytest.mark.parametrize("dtype", FLOATING_DTYPES)
def test_extremes(dtype):
    info = torch.finfo(dtype)
    check(torch.tensor([info.min, info.max, info.tiny, info.eps, info.smallest_normal / 2], dtype=dtype))


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype in {torch.uint8, torch.int8, torch.int64}])
def test_integer_extremes(dtype):
    info = torch.iinfo(dtype)
    check(torch.tensor([info.min, 0, info.max], dtype=dtype))


@pytest.mark.parametrize("dtype", COMPLEX_DTYPES)
@pytest.mark.parametrize("real", [0.0, -0.0, 1.0, 2.5, -1e-6, math.inf, math.nan])
@pytest.mark.parametrize("imag", [0.0, -0.0, -1.0, -2.5, 1e9, -math.inf, math.nan])
def test_complex_parts_have_notations_of_their_own(dtype, real, imag):
    check(torch.tensor([complex(real, imag), 1j, -20 - 0.5j], dtype=dtype))
    check(torch.tensor(complex(real, imag), dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("default", FLOATING_DTYPES)
def test_dtype_is_named_where_it_cannot_be_inferred(dtype, default):
    with default_dtype(default):
        for shape in [(), (2,), (0,), (0, 2)]:
            check(torch.ones(shape, dtype=dtype))
            check(torch.ones(shape, dtype=dtype, device="meta"))


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0)])
def test_meta_tensors_show_their_size(shape):
    check(torch.ones(shape, device="meta"))
    check(torch.ones(shape, device="meta", requires_grad=True))


class Device:
    """A GPU by type, under a given name."""

    type = "cuda"
    backend = devices.cpu.backend

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name


def on_gpu(original, name):
    return type("Tensor", (Tensor,), {"device": Device(name)})(original)


def test_device_is_named_unless_it_is_the_cpu():
    original = torch.ones(2, dtype=torch.float64, requires_grad=True)
    expected = "tensor([1., 1.], device='cuda:0', dtype=torch.float64, requires_grad=True)"
    assert repr(on_gpu(original, "cuda:0")) == expected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (0, 2), (3,), (17,), (2, 2)])
def test_device_stands_before_the_other_suffixes(monkeypatch, dtype, shape):
    # Told that the default is a GPU, PyTorch names the device of a CPU tensor.
    monkeypatch.setattr(torch._C, "_get_default_device", lambda: "cuda")
    original = torch.ones(shape, dtype=dtype, requires_grad=dtype.is_floating_point)
    assert repr(on_gpu(original, "cpu")) == repr(original)


@pytest.mark.parametrize("count", range(1, 30))
def test_suffixes_wrap_at_the_line_width(count):
    leaf = torch.full((count,), 2.5, dtype=torch.float64, requires_grad=True)
    check(leaf)
    check(leaf * 2)
    check(leaf.reshape(1, count).repeat(2, 1))
    check(torch.ones([1] * count, device="meta", dtype=torch.int32))
    check(torch.ones([1] * count + [0], dtype=torch.int32))


def test_history():
    leaf = torch.tensor(2.0, requires_grad=True)
    check(leaf)
    check(leaf + 1)
    check(leaf.exp().reshape(1))
    check(torch.heaviside(leaf, leaf))  # which PyTorch cannot differentiate

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            return input * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    check(Twice.apply(leaf))


def test_invalid_history_is_shown_not_raised():
    base = torch.ones(3, requires_grad=True).clone()
    with torch.no_grad():
        view = base[:2]
        view.add_(1)
    assert "grad_fn=<Invalid>" in repr(view)
    check(view)


def test_parameters():
    for original in [torch.ones(2), torch.zeros(0, 2), torch.tensor(1.5)]:
        for requires_grad in [True, False]:
            parameter = torch.nn.Parameter(original, requires_grad=requires_grad)
            assert repr(Parameter(parameter)) == repr(parameter)


def test_subclasses_print_under_their_own_name():
    class Temperature(torch.Tensor):
        pass

    class Weight(torch.nn.Parameter):
        pass

    matrix = torch.arange(6.0).reshape(2, 3)
    temperature, weight = matrix.as_subclass(Temperature), Weight(matrix)
    assert repr(type("Temperature", (Tensor,), {})(temperature)) == repr(temperature)
    assert repr(type("Weight", (Parameter,), {})(weight)) == repr(weight)


def test_strided_views():
    matrix = torch.arange(12.0).reshape(3, 4)
    check(matrix.T)
    check(matrix[:, ::2])
    check(torch.tensor(1.5).expand(3, 2))
    check(torch.ones(1).expand(10_000, 10_000, 10_000))


@pytest.mark.parametrize(
    ("precision", "threshold", "edgeitems", "linewidth", "sci_mode"),
    list(itertools.product([0, 2, 7], [0, 5, math.inf], [0, 1, 2], [10, 40, 120], [None, True, False])),
)
def test_options_together(precision, threshold, edgeitems, linewidth, sci_mode):
    cases = [
        numbers(4, 3, 5, dtype=torch.float32) * 100,
        numbers(12, dtype=torch.float64).exp(),
        numbers(3, 6, dtype=torch.complex64),
        numbers(6, 4, dtype=torch.int64),
        torch.tensor([0.0, 1.0, -math.inf, 20.0, math.nan]),
        torch.tensor([0.0, math.inf]),
        torch.tensor(-12.0, requires_grad=True),
        torch.tensor(1.5 - 2j),
        torch.zeros(0),
        torch.zeros(3, 0),
        torch.zeros(3, device="meta"),
    ]
    with options(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth, sci_mode=sci_mode):
        for case in cases:
            check(case)


@pytest.mark.parametrize("profile", ["default", "short", "full", "unknown", None])
def test_profiles(profile):
    with options(precision=3, threshold=20, edgeitems=1, linewidth=50, sci_mode=True):
        for overrides in [{}, {"edgeitems": 4}]:
            with options(profile=profile, **overrides):
                assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
                check(numbers(30, 40, dtype=torch.float32))
        assert printing.get_printoptions() == torch._tensor_str.get_printoptions()


def test_every_call_sets_sci_mode():
    with options(sci_mode=True):
        check(torch.tensor([1.5]))
        with options(precision=2):
            check(torch.tensor([1.5]))


def test_printoptions_restores_what_was_set():
    with options(precision=2, sci_mode=False):
        before = printing.get_printoptions()
        with pytest.raises(KeyError), printing.printoptions(profile="full", sci_mode=True):
            assert printing.get_printoptions()["threshold"] == math.inf
            raise KeyError
        assert printing.get_printoptions() == before


@pytest.mark.parametrize(
    "chosen", [{"precision": -1}, {"precision": "two"}, {"threshold": "few"}, {"linewidth": math.inf}]
)
def test_senseless_options_raise_when_printing(chosen):
    original = torch.tensor([1.5, 2.5])
    with options(**chosen):
        expected = raised_by(original)
        assert expected is not None and raised_by(Tensor(original)) == expected


def raised_by(tensor):
    """The error of a repr. A traceback that stays would keep torch's guard, and torch.vmap switched off with it."""
    try:
        repr(tensor)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("spec", ["", ".2f", ">10", "+.1e", "d"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_format_of_one_number(spec, dtype):
    check_format(torch.tensor(3, dtype=dtype), Tensor, spec)


@pytest.mark.parametrize("spec", ["", ".2f"])
def test_format_of_other_tensors(spec):
    check_format(torch.tensor(1.5, requires_grad=True) * 2, Tensor, spec)
    check_format(torch.ones(2), Tensor, spec)
    check_format(torch.ones((), device="meta"), Tensor, spec)
    check_format(torch.nn.Parameter(torch.tensor(1.5)), Parameter, spec)


def check_format(original, guise, spec):
    try:
        expected = format(original, spec)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)) as raised:
            format(guise(original), spec)
        assert str(raised.value) == str(error)
    else:
        assert format(guise(original), spec) == expected


@st.composite
def tensors(draw):
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.lists(st.integers(0, 5), max_size=4))
    count = math.prod(shape)
    source = minitorch_dtype(dtype).numpy
    if dtype == torch.bool:
        return torch.tensor(draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=dtype).reshape(shape)
    if draw(st.booleans()):  # any bit pattern: denormals, every nan, the largest numbers
        data = bytearray(draw(st.binary(min_size=count * source.itemsize, max_size=count * source.itemsize)))
        return torch.frombuffer(data, dtype=dtype).reshape(shape) if count else torch.zeros(shape, dtype=dtype)
    few = st.sampled_from(
        [0.0, -0.0, 1.0, -7.0, 100.0, 0.5, -2.75, 1e-5, 12345.678, 1e9, math.inf, -math.inf, math.nan]
    )
    values = torch.tensor(draw(st.lists(few, min_size=count, max_size=count)), dtype=torch.float64).reshape(shape)
    if dtype.is_complex:
        return torch.complex(values, values.flip(0) if shape else values).to(dtype)
    return (values if dtype.is_floating_point else values.nan_to_num(3, 4, 5).clamp(-100, 100)).to(dtype)


@given(
    tensor=tensors(),
    precision=st.integers(0, 8),
    threshold=st.sampled_from([0, 3, 20, 1000, math.inf]),
    edgeitems=st.integers(0, 4),
    linewidth=st.integers(0, 130),
    sci_mode=st.sampled_from([None, True, False]),
)
@settings(deadline=None, max_examples=300)
def test_any_tensor_under_any_options(tensor, precision, threshold, edgeitems, linewidth, sci_mode):
    with options(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth, sci_mode=sci_mode):
        check(tensor)


FORMS = {
    "itself": lambda lib, x: x,
    "transposed": lambda lib, x: x.permute(*range(x.dim() - 1, -1, -1)) if x.dim() else x,
    "every other": lambda lib, x: x[::2] if x.dim() else x,
    "expanded": lambda lib, x: x.expand(3, *x.shape),
    "leaf": lambda lib, x: x.requires_grad_() if _differentiable(x) else x,
    "computed": lambda lib, x: x.requires_grad_() * 2 if _differentiable(x) else x * 2,
    "view of a computed one": lambda lib, x: (x.requires_grad_() * 2).view(-1) if _differentiable(x) else x.view(-1),
    "parameter": lambda lib, x: lib.nn.Parameter(x, requires_grad=_differentiable(x)),
    "in containers": lambda lib, x: {"a": [x, (x, x)]},
    "sorted": lambda lib, x: x.sort(-1) if not x.is_complex() else x,
    "size and types": lambda lib, x: (x.shape, x.dtype, x.device, x.layout, x.type()),
    "size given by edgeitems": lambda lib, x: x.reshape(-1).repeat(40),
}


def _differentiable(x):
    return x.is_floating_point() or x.is_complex()


@given(
    original=tensors(),
    form=st.sampled_from(list(FORMS)),
    chosen=st.sampled_from(
        [
            {},
            {"precision": 2},
            {"threshold": 3, "edgeitems": 1},
            {"linewidth": 40},
            {"sci_mode": True},
            {"profile": "short"},
        ]
    ),
)
@settings(deadline=None, max_examples=400)
def test_minitorch_tensors_in_any_form(original, form, chosen):
    ours = make_tensor(elements(original).copy(), minitorch_dtype(original.dtype), devices.cpu)
    with options(**chosen):
        assert repr(FORMS[form](minitorch, ours)) == repr(FORMS[form](torch, original.clone()))


NAMES = ["Tensor", "FloatTensor", "nn.Parameter", "strided", "contiguous_format", "channels_last", "channels_last_3d"]
NAMES += ["preserve_format", "float32", "bfloat16", "bool", "complex64", "finfo()"]


@pytest.mark.parametrize("name", NAMES)
@same
def test_classes_and_limits(lib, name):
    return repr(eval(f"lib.{name}"))


@pytest.mark.parametrize(
    "call",
    [
        "finfo('float32')",
        "iinfo(3)",
        "finfo(lib.int32)",
        "iinfo(lib.bool)",
        "device('')",
        "device('foo')",
        "device('cpu:x')",
    ],
)
@same
def test_types_and_devices_that_do_not_exist(lib, call):
    return errors(lambda: eval(f"lib.{call}", {"lib": lib}))
