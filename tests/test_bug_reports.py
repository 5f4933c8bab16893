"""Kinds of faults that public bug reports and other people's packages have shown, each compared with torch."""

from __future__ import annotations

import copy
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.same import attempt, errors, exactly_the_same, same, warned

LARGE = 10**15


@exactly_the_same
def test_scans_accumulate_in_a_wider_type(torch: Any) -> Any:
    x = torch.randn(2, 20_000)
    wide = [x, x.bfloat16(), x.half(), torch.complex(x, x)]
    scans = [each.cumsum(1) for each in wide] + [each.logcumsumexp(1) for each in wide[:3]]
    return [*scans, (1 + x / 1000).cumprod(1)]


@same
def test_factorizations_that_do_not_converge(torch: Any) -> Any:
    linalg = torch.linalg
    nan = torch.eye(3).repeat(2, 1, 1)
    nan[1] = float("nan")
    infinite = torch.full((2, 3, 4), float("inf"))
    raised = errors(
        *(lambda f=f: f(nan) for f in (linalg.svd, linalg.svdvals, linalg.pinv, linalg.eigh, torch.svd)),
        lambda: linalg.svd(infinite),
        lambda: linalg.svd(nan[1]),
    )
    try:
        linalg.eigvalsh(nan)
    except linalg.LinAlgError:  # LAPACK's error code is the library's own
        raised.append("LinAlgError")
    return raised


@same
def test_memory_and_sizes_that_are_too_large(torch: Any) -> Any:
    return errors(
        lambda: torch.empty(LARGE),
        lambda: torch.zeros(LARGE),
        lambda: torch.ones(1).expand(LARGE).contiguous(),
        lambda: torch.arange(LARGE),
        lambda: torch.zeros(10**12, 10**12),
        lambda: torch.Tensor(-1),
        lambda: torch.Tensor(2, -3),
    )


@same
def test_subclasses_of_arrays_become_plain(torch: Any) -> Any:
    matrix = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    masked = np.ma.masked_array([1, 2], [False, True])
    made = [f(matrix) for f in (torch.from_numpy, torch.as_tensor, torch.asarray, torch.tensor)]
    shared = made[0]
    shared[0, 0] = 7.0
    return [
        [(each[0], each.sum(0), type(each.numpy()).__name__) for each in made],
        torch.from_numpy(masked),
        float(matrix[0, 0]),
    ]


@same
def test_arrays_that_cannot_be_taken(torch: Any) -> Any:
    swapped = np.ones(2, np.dtype("f4").newbyteorder())
    return errors(
        lambda: torch.from_numpy(swapped),
        lambda: torch.tensor(swapped),
        lambda: torch.from_numpy(np.ones(4)[::-1]),
    )


def test_warnings_as_torchs() -> None:
    torch = pytest.importorskip("torch", reason="the expected values are torch's")
    import minitorch

    constant = np.ones(2)
    constant.flags.writeable = False
    one = (1.0, 2.0, 3.0)

    def of(lib: Any) -> Any:
        return warned(
            lib,
            lambda: lib.tensor([np.ones(2), np.ones(2)]),
            lambda: lib.tensor([np.float64(1), np.float64(2)]),
            lambda: lib.from_numpy(constant),
            lambda: lib.range(0, 2),
            lambda: lib.cross(lib.tensor(one), lib.tensor(one)),
            lambda: lib.cross(lib.tensor(one), lib.tensor(one), dim=0),
            lambda: lib.qr(lib.eye(2)),
            lambda: lib.eye(2).lu(),
            lambda: lib.cholesky(lib.eye(2)),
            lambda: lib.chain_matmul(lib.eye(2), lib.eye(2)),
            lambda: lib.triangular_solve(lib.eye(2), lib.eye(2)),
            lambda: lib.lu_solve(lib.ones(2, 1), *lib.linalg.lu_factor(lib.eye(2))),
            lambda: lib.set_default_tensor_type(lib.FloatTensor),
            lambda: lib.ones(3)[lib.tensor([1, 0, 1], dtype=lib.uint8)],
            lambda: lib.where(lib.tensor([1, 0], dtype=lib.uint8), lib.ones(2), lib.ones(2)),
            lambda: lib.zeros(2, out=lib.ones(3)),
            lambda: lib.linspace(0, 1, 2, out=lib.ones(3)),
            lambda: lib.add(lib.ones(2), 1, out=lib.ones(3)),
            lambda: lib.linalg.slogdet(lib.full((2, 2), float("nan"))),
            lambda: lib.nn.functional.conv1d(lib.ones(1, 1, 3), lib.ones(1, 1, 2), padding="same"),
            lambda: lib.nn.functional.conv1d(lib.ones(1, 1, 3), lib.ones(1, 1, 3), padding="same"),
        )

    assert of(minitorch) == of(torch)


def test_some_warnings_come_once() -> None:
    import minitorch

    constant = np.zeros(3)
    constant.flags.writeable = False
    minitorch.from_numpy(constant)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        minitorch.from_numpy(constant)
    with pytest.raises(RuntimeError, match="setWarnOnlyOnce expects a bool, but got int"):
        minitorch.set_warn_always(1)


@same
def test_images_and_windows_without_elements(torch: Any) -> Any:
    functional = torch.nn.functional
    flat, image, volume = torch.ones(1, 1, 4), torch.ones(1, 1, 4, 3), torch.ones(1, 1, 2, 3, 4)
    return errors(
        lambda: functional.interpolate(flat, size=0),
        lambda: functional.interpolate(image[..., :0], size=3, mode="bilinear"),
        lambda: functional.interpolate(volume, size=0, mode="trilinear"),
        lambda: functional.interpolate(flat[..., :0], size=3, mode="area"),
        lambda: functional.adaptive_avg_pool1d(flat[..., :0], 2),
        lambda: functional.adaptive_avg_pool2d(image[..., :0, :], 2),
        lambda: functional.adaptive_avg_pool2d(image[..., :0, :], 1).shape,
    )


@same
def test_packed_and_padded_sequences(torch: Any) -> Any:
    rnn = torch.nn.utils.rnn
    long, short = torch.ones(2, 3, requires_grad=True), torch.ones(1, 3, dtype=torch.float64)
    batches = [
        rnn.pad_sequence([long, short], first, padding_side=side)
        for first in (True, False)
        for side in ("left", "right")
    ]
    torch.stack([each.sum() for each in batches]).sum().backward()
    return [
        [(each, repr(each)) for each in batches],
        long.grad,
        rnn.pad_sequence([torch.ones(2, 3), torch.ones(1, 1)]),
        rnn.pack_padded_sequence(torch.ones(3, 2, 1), torch.tensor([4, 2])).data,
        errors(
            lambda: rnn.pad_sequence([torch.ones(2, 3), torch.ones(1, 2)]),
            lambda: rnn.pack_padded_sequence(torch.ones(3, 2, 1), torch.tensor([[3, 2]])),
        ),
    ]


@same
def test_copies_keep_what_a_user_has_set(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.tag = ["a"]
    (x * 2).sum().backward()
    x.grad.note = "g"
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    return [
        [each.tag for each in (shallow, deep)],
        shallow.tag is x.tag,
        deep.tag is x.tag,
        shallow.grad,
        deep.grad.note,
        hasattr(x.clone(), "tag"),
        hasattr(copy.deepcopy(torch.nn.Parameter(x.detach())), "tag"),
    ]


@same
def test_saving_through_links(torch: Any, tmp_path: Path) -> Any:
    file, symbolic, hard = (tmp_path / f"{torch.__name__}-{name}" for name in ("file", "symbolic", "hard"))
    torch.save(1, file)
    os.symlink(file, symbolic)
    torch.save(2, symbolic)
    os.link(file, hard)
    torch.save(3, hard)
    return symbolic.is_symlink(), torch.load(file), torch.load(symbolic), torch.load(hard)


@same
def test_the_dict_of_a_tensor_is_the_users(torch: Any) -> Any:
    x = torch.nn.Parameter(torch.ones(3))
    x.tag = "a"
    x.register_hook(lambda grad: grad * 2)
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda grad: None)
    first, second = y.view(3).split([1, 2])
    (first.sum() + second.prod()).backward()
    with torch.no_grad():
        view = x[1:]
    largest, _ = y.max(0)
    values, indices = torch.ones(2, 2, requires_grad=True).max(0)
    grown = torch.nn.Parameter(x.detach(), **torch.ones(1).__dict__)
    tensors = [x, x.grad, y, y.grad, first, second, view, largest, values, indices, grown, x.data, x.detach()]
    x.__dict__["note"] = "b"
    return [each.__dict__ for each in tensors], vars(copy.copy(x)), copy.deepcopy(y.detach()).__dict__, x.note


@same
def test_numbers_alone(torch: Any) -> Any:
    """Sums, products and quotients take them; the other functions of two operands refuse them."""
    sums = (torch.add, torch.sub, torch.mul, torch.multiply, torch.subtract)
    quotients = (torch.div, torch.divide, torch.true_divide, torch.floor_divide)
    pairs = ((1, 2), (7, 2.0), (-2.5, 3), (2, 1 + 2j), (300, -2))
    out = torch.zeros(3, dtype=torch.float64)
    refused = (torch.pow, torch.fmod, torch.remainder, torch.eq, torch.maximum, torch.atan2, torch.bitwise_and)
    return [
        [function(*pair) for function in sums for pair in pairs],
        [function(*pair) for function in quotients for pair in pairs if pair[1] != 1 + 2j],
        [torch.div(7, pair, rounding_mode=mode) for pair in (2, -2.0) for mode in ("trunc", "floor")],
        [torch.add(True, False), torch.add(True, 3.5), torch.mul(2, True)],
        torch.mul(True, True),
        torch.add(1, 2, alpha=3),
        torch.add(input=1, other=2.5),
        torch.add(1, 2.0, out=out[0]),
        torch.add(2, torch.ones(2, dtype=torch.float16)),
        torch.sub(1.0, torch.ones(2, dtype=torch.int64, requires_grad=False)),
        errors(lambda: torch.sub(True, 2), lambda: torch.floor_divide(1, 0)),
        [attempt(function, 2, 3)[0] for function in refused],
        attempt(torch.add, "a", 1)[0],
    ]


@same
def test_inputs_returned_without_a_gradient(torch: Any) -> Any:
    class Passes(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, kept: Any, marked: Any) -> Any:
            ctx.mark_non_differentiable(marked)
            return kept * 2, marked

        @staticmethod
        def backward(ctx: Any, grad: Any, of_marked: Any) -> Any:
            return grad, of_marked

    x = torch.ones(2, requires_grad=True)
    doubled, marked = Passes.apply(x, x)
    doubled.sum().backward()
    marked.add_(1)
    return doubled, marked, marked is x, marked.is_leaf, x.grad, x.detach()


@same
def test_formulas_of_divergences_for_any_classes(torch: Any) -> Any:
    distributions = torch.distributions

    class Mixed:
        pass

    class Shifted(distributions.Normal, Mixed):  # type: ignore[misc,name-defined]
        pass

    @distributions.register_kl(Mixed, Shifted)  # type: ignore[untyped-decorator]
    def formula(p: Any, q: Any) -> Any:
        return p.loc - q.loc

    one, other = Shifted(3.0, 1.0), Shifted(1.0, 1.0)
    return [
        float(distributions.kl_divergence(one, other)),
        errors(lambda: distributions.register_kl(1, Mixed)(formula), lambda: distributions.register_kl(Mixed, "x")),
    ]


@same
def test_what_is_made_of_a_subclass_is_one(torch: Any) -> Any:
    mine = torch.ones(2, 2).as_subclass(type("Mine", (torch.Tensor,), {}))
    made = [
        mine.new_zeros(2),
        mine.new_full((2,), 3.0, dtype=torch.float64),
        mine.new_empty(0, requires_grad=True),
        torch.zeros_like(mine),
        torch.ones_like(mine, dtype=torch.int64),
        torch.full_like(mine, 3.0, requires_grad=True),
        torch.zeros_like(torch.nn.Parameter(torch.ones(1))),
        mine.as_subclass(torch.Tensor),
    ]
    return [(type(each).__name__, str(each.dtype), each.requires_grad, each.tolist()) for each in made]


@same
def test_sizes_of_zero_and_integers_of_more_than_64_bits(torch: Any) -> Any:
    functional, image = torch.nn.functional, torch.ones(1, 1, 3, 3)
    whole = torch.ones(1, dtype=torch.int64)
    said = errors(
        lambda: functional.conv2d(image, torch.ones(1, 1, 0, 2)),
        lambda: functional.conv3d(image[None], torch.ones(1, 1, 0, 1, 1)),
        lambda: functional.conv_transpose2d(image, torch.ones(1, 1, 0, 0)),
        lambda: torch.ones(2).unflatten(0, (0, -1)),
        lambda: whole + 2**64,
        lambda: whole.to(torch.int8) * -(2**64),
        lambda: whole.bool() + 10**400,
    )
    return said, torch.ones(1, dtype=torch.bfloat16) + 2**63, whole + (2**63 - 1)


@same
def test_repeats_that_are_not_integers_and_states_that_are_not_two(torch: Any) -> Any:
    x, cell = torch.ones(3), torch.nn.LSTMCell(2, 3)
    repeats = [torch.full(size, 2.5) for size in ((), (1,), (3,))] + [torch.ones(3, dtype=torch.bool)]
    return errors(
        *(lambda each=each: x.repeat_interleave(each) for each in repeats),
        *(lambda each=each: torch.repeat_interleave(each) for each in repeats[2:]),
        lambda: torch.ones(3, device="meta").repeat_interleave(torch.ones(3, dtype=torch.int64, device="meta")),
        lambda: cell(torch.ones(1, 2), (torch.ones(1, 3),)),
        lambda: cell(torch.ones(1, 2), (torch.ones(1, 3),) * 3),
    )


@same
def test_functions_of_numpy_return_tensors(torch: Any) -> Any:
    x = torch.tensor([[1.0, 4.0], [9.0, 16.0]])
    found = [np.sqrt(x), np.add(x, 1.0), np.sqrt(x[0, 1]), np.isnan(x)]
    return [type(each).__name__ for each in found], found[:2], errors(lambda: np.sqrt(x.requires_grad_()))


@exactly_the_same
def test_channels_that_are_dropped_from_any_number_of_dimensions(torch: Any) -> Any:
    """dropout3d adds a dimension to everything but a batch of volumes, and draws for the second one of the result."""
    images = [torch.ones(4), torch.ones(4, 3), torch.ones(4, 3, 2), torch.ones(4, 3, 2, 2), torch.ones(4, 3, 2, 2, 2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [torch.nn.functional.dropout3d(each) for each in images]


@same
def test_labels_of_more_dimensions_than_the_scores(torch: Any) -> Any:
    scores, labels = torch.arange(24.0).view(2, 3, 4), torch.ones(1, 2, 3, 4)
    return torch.nn.functional.multilabel_soft_margin_loss(scores, labels)


@same
def test_complex_numbers_whose_imaginary_part_is_zero_are_real(torch: Any) -> Any:
    numbers = [torch.tensor(2 + 0j), torch.tensor([2 + 0j]), torch.tensor(2 + 1j), torch.tensor([1j, 2])]
    return [
        errors(lambda: int(each), lambda: float(each), lambda: complex(each), lambda: bool(each))  # noqa: B023
        for each in numbers
    ]


@same
def test_tensors_in_lists_and_items_that_are_deleted(torch: Any) -> Any:
    pairs = [torch.tensor([1, 2]), torch.tensor([1.0, 2.0])]
    dtypes = None, torch.int64, torch.float32, torch.bool, torch.complex64

    def delete() -> None:
        del pairs[0][0]

    return errors(
        *(lambda pair=pair, dtype=dtype: torch.tensor([pair], dtype=dtype) for pair in pairs for dtype in dtypes),
        lambda: torch.tensor([1, pairs[0]]),
        lambda: torch.tensor(pairs),
        delete,
    )


@same
def test_outputs_and_inputs_that_are_no_tensors(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    grad, backward = torch.autograd.grad, torch.autograd.backward
    return errors(
        lambda: grad("x", x),
        lambda: grad([x.sum(), 3], x),
        lambda: grad([3], x, [torch.ones(2)]),
        lambda: grad(x.sum(), "x"),
        lambda: grad(x.sum(), [x, 3]),
        lambda: backward(["x"]),
        lambda: backward(x.sum(), inputs="x"),
        lambda: backward(x.sum(), inputs=[3]),
    )


@same
def test_no_dimension_is_not_every_dimension(torch: Any) -> Any:
    x = torch.tensor([[0.0, 2.0], [3.0, 4.0]])
    given = x, x.byte(), x[0, 1], x > 0
    return [
        (reduce(each, dim=()), reduce(each, dim=[], keepdim=True))
        for each in given
        for reduce in (torch.all, torch.any)
    ]


@same
def test_edges_of_joining_and_choosing(torch: Any) -> Any:
    x, none = torch.arange(6.0).view(2, 3), torch.ones(2, 0)
    kinds = [attempt(lambda args=args: torch.where(x > 1, *args))[:1] for args in ((x,), (1,), (None, x), (True,))]
    pieces = x.split(torch.tensor(1)), torch.split(x, torch.tensor(2), 1)
    return kinds, pieces, torch.block_diag(), torch.trapezoid(none), torch.trapz(none, torch.ones(2, 0))


@pytest.mark.parametrize("name", ["cholesky_solve", "triangular_solve", "lu_solve", "linalg.lu_solve"])
@same
def test_solvers_refuse_two_types(torch: Any, name: str) -> Any:
    def solve(A: Any, B: Any) -> Any:
        pivots = torch.tensor([1, 2], dtype=torch.int32)
        if name == "linalg.lu_solve":
            return torch.linalg.lu_solve(A, pivots, B)
        return getattr(torch, name)(B, A, pivots) if name == "lu_solve" else getattr(torch, name)(B, A)

    kinds = torch.float32, torch.float64, torch.complex64, torch.int64
    x = torch.eye(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return errors(*(lambda a=a, b=b: solve(x.to(a), x.to(b)) for a in kinds for b in kinds if a is not b))


NOTATIONS = (
    "i1 1 i1->i ij->1 i_ i-j ij->i->j i,1 ij->i1 \u00e9 i.j i..j .... ...i... ij->. ij->...j. ij->...j ij>i ij- Ij->jI "
    "i_,j"
)


@pytest.mark.parametrize("notation", NOTATIONS.split())
@same
def test_what_einsum_cannot_read(torch: Any, notation: str) -> Any:
    x = torch.arange(4.0).view(2, 2)
    return attempt(
        lambda: torch.einsum(notation, *[x[0] if notation in ("1", "\u00e9") else x] * len(notation.split(",")))
    )


@same
def test_operands_that_einsum_cannot_take(torch: Any) -> Any:
    x = torch.arange(4.0).view(2, 2)
    return errors(
        lambda: torch.einsum("ij", 3),
        lambda: torch.einsum("ij,jk", x, [1]),
        lambda: torch.einsum("ij"),
        lambda: torch.einsum(3),
        lambda: torch.einsum(x),
        lambda: torch.einsum(x, [0, 60]),
        lambda: torch.einsum(x, [0, -1]),
        lambda: torch.einsum(" i j -> j i ", x),
        lambda: torch.einsum(x, [0, ...], [...]),
    )


@same
def test_complex_numbers_written_into_real_ones(torch: Any) -> Any:
    x, numbers = torch.zeros(2), [torch.tensor(2 + 1j), torch.tensor(2 + 0j), 2 + 1j]
    mask, first = torch.tensor([True, False]), torch.tensor([0])
    return errors(
        *(lambda each=each: x.clone().masked_fill_(mask, each) for each in numbers),
        *(lambda each=each: x.clone().index_fill_(0, first, each) for each in numbers),
        *(lambda each=each: x.int().masked_fill(mask, each) for each in numbers),
        *(lambda each=each: x.int().index_fill(0, first, each) for each in numbers),
    )


@same
def test_a_subclass_in_a_function_prints_its_whole_name(torch: Any) -> str:
    class Marked(torch.Tensor):  # type: ignore[misc]
        pass

    return repr(Marked)


@same
def test_what_is_looked_at_first(torch: Any) -> Any:
    """Of two faults in a call, PyTorch names dtypes before shapes; a factor that is NaN isn't positive definite."""
    F, x = torch.nn.functional, torch.ones(2, 3)
    return errors(
        lambda: torch.addmm(torch.ones(5, dtype=torch.float64), x, torch.ones(3, 4)),
        lambda: torch.addmm(torch.ones(4), x, torch.ones(5, 4, dtype=torch.float64)),
        lambda: F.layer_norm(x, (3,), torch.ones(4, dtype=torch.float64)),
        lambda: F.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 2, 3, 3), torch.ones(5, dtype=torch.float64)),
        lambda: torch.linalg.cholesky(torch.eye(2) * float("nan")),
    )


@same
def test_roll_takes_no_dimension_for_all(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    (x.roll(1, None) * x).sum().backward()
    return x.roll(1, None), torch.roll(x, (4,), dims=None), x.grad
