"""The generated code computes the bits of eager mode, forward and backward, and says where it doesn't run."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch._dynamo.stack import VERSION
from minitorch._inductor.generating import BLOCK
from minitorch._inductor.lowering import MOST_SHAPES
from minitorch._inductor.steps import NAMES
from minitorch.kernels.loops.threads import PART
from minitorch.models.gpt import GPT, GPTConfig
from minitorch.models.resnet import BasicBlock, ResNet

pytestmark = pytest.mark.skipif(sys.version_info[:2] != VERSION, reason="capture reads the bytecode of Python 3.11")

F = torch.nn.functional


def values(*shape: int) -> Any:
    """Numbers of both signs, different everywhere."""
    return (torch.arange(float(math.prod(shape))).reshape(shape) * 0.7).sin() * 2


def have_same_bits(one: Any, other: Any) -> bool:
    """Whether two tensors have the same elements, also in the sign of zeros; every NaN is like every other."""
    a, b = one.detach().numpy(), other.detach().numpy()
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    return bool(((a.view(f"i{a.itemsize}") == b.view(f"i{b.itemsize}")) | (np.isnan(a) & np.isnan(b))).all())


LARGE = BLOCK * 2 + 13

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "a chain": (lambda x: ((x * 1.01 + 0.5).tanh() - x * 0.1).exp(), ((7,),)),
    "a large chain": (lambda x: ((x * 1.01 + 0.5).tanh() - x * 0.1).exp().log().sin().cos(), ((LARGE,),)),
    "a large chain of two": (lambda x, y: (x * y + x).sigmoid() * y.sqrt().abs(), ((LARGE,), (LARGE,))),
    "broadcasting": (lambda x, y: (x * y + 1).relu() - y, ((3, 4), (4,))),
    "a bias and a scale of each column": (lambda x, w, b: (x * w + b).tanh() - b, ((5, 70), (70,), (70,))),
    "a large chain with a row": (lambda x, w: (x * w + w).exp().sin(), ((LARGE // 70, 70), (70,))),
    "a scale of each row": (lambda x, w: ((x * w).exp() + w) * w.exp(), ((5, 70), (5, 1))),
    "a row times a column": (lambda x, y: (x * y + 1).sigmoid() * x, ((6, 1), (1, 65))),
    "a scalar tensor": (lambda x, w: ((x * w).tanh() + w).exp() / w, ((7,), ())),
    "channels": (lambda x, w, b: (x * w + b).relu() * w, ((2, 3, 9, 8), (3, 1, 1), (1, 3, 1, 1))),
    "channels and rows": (lambda x, w, b: F.silu((x * w + b) * 2), ((2, 3, 2, 70), (3, 1, 1), (2, 1, 1, 70))),
    "a large chain with channels": (lambda x, w: ((x * w).tanh() + w).exp(), ((LARGE // 256, 4, 8, 8), (4, 1, 1))),
    "short rows": (lambda x, w: (x * w + w).exp() * 2 + x, ((9, 3), (3,))),
    "an expanded mean": (lambda x: ((x - x.mean(-1, keepdim=True)) * 2).square().mean(), ((5, 70),)),
    "independent chains": (lambda x, w: ((x * 2).sum(0) * w).exp() + (x * w + 1).tanh() * (x - 1), ((5, 70), (70,))),
    "reductions": (lambda x: (x - x.mean(-1, keepdim=True)).square().sum(), ((5, 6),)),
    "softmax": (lambda x: F.softmax(x * 2, -1).log().sum(), ((5, 6),)),
    "a softmax in a chain": (lambda x, w: (F.softmax(x * 2 + w, -1) + 1).log() * x, ((5, 70), (70,))),
    "a softmax along another dimension": (lambda x: F.softmax(x * 2, 0) * x + 1, ((70, 66),)),
    "two log-softmaxes": (lambda x, y: F.log_softmax(x * y, -1) * F.log_softmax(y + 1, -1), ((2, 3, 70),) * 2),
    "a log-softmax of another": (
        lambda x: F.log_softmax(F.log_softmax(x * 2, -1) + 1, -1) * x.sin() * x.cos(),
        ((5, 70),),
    ),
    "a softmax of one row": (lambda x: (F.softmax(x * 2, -1) + x).exp(), ((3 * PART,),)),
    "a layer norm in a chain": (lambda x, w, b: F.layer_norm(x + w, (70,), w, b).tanh() * x, ((5, 70), (70,), (70,))),
    "norm and softmax": (lambda x, w: F.layer_norm(F.softmax(x * 3, -1) - x, (64,), w, w) * 2, ((3, 4, 64), (64,))),
    "a long row": (lambda x: F.log_softmax((x * 2).sin(), -1) * 3, ((3, 20000),)),
    "linear layers": (lambda x, w, b: F.gelu(F.linear(x, w, b)).sum(), ((5, 4), (3, 4), (3,))),
    "views": (lambda x: (x.t() * 2).reshape(2, -1).sum(0) * 3, ((4, 6),)),
    "normalization": (lambda x, w: F.layer_norm(x, (6,), w).tanh(), ((5, 6), (6,))),
    "convolution": (lambda x, w: F.conv2d(x, w, padding=1).relu().mean(), ((2, 3, 5, 5), (4, 3, 3, 3))),
    "a sum alone": (lambda x: x.sum(), ((5,),)),
    "pooling": (lambda x, w: F.max_pool2d(F.conv2d(x, w).relu(), 2).flatten(1) * 2, ((2, 3, 5, 5), (4, 3, 2, 2))),
    "parts": (lambda x: torch.cat([each * i for i, each in enumerate(x.chunk(2, 1), 1)] + [x[:, 1:3]], 1), ((3, 6),)),
    "a stack": (lambda x, y: torch.stack((x, y.tanh())).sum(0), ((3, 4), (3, 4))),
    "a mask": (
        lambda x: (x @ x.transpose(-2, -1)).masked_fill(torch.ones(5, 5).tril() == 0, -math.inf).softmax(-1),
        ((2, 5, 4),),
    ),
    "operands in different memory orders": (lambda x, y: x.t() * y, ((4, 6), (6, 4))),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), ((2, 3, 5, 4),) * 3),
    "root mean squares": (lambda x, w: F.rms_norm(x, (6,), w, 1e-5), ((5, 6), (6,))),
    "dropout that is off": (lambda x: F.dropout(x * 2, 0.0) + F.dropout(x * 3, 0.5, False), ((7,),)),
    "positions": (lambda w: F.embedding(torch.arange(3), w).exp(), ((5, 4),)),
}


OP_BY_OP = ("operands in different memory orders",)
"""Those that generated code can't compute, since the result lies in memory in an order that no kernel gives it."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_and_gradients_have_the_bits_of_eager_mode(name: str) -> None:
    function, shapes = FUNCTIONS[name]
    compiled = torch.compile(function, fullgraph=True, dynamic=False)
    for needs in (False, True):
        inputs = [values(*shape).requires_grad_(needs) for shape in shapes]
        with torch.no_grad():
            tangent = function(*inputs).cos()
        for _ in range(2):
            ours, eager = compiled(*inputs), function(*inputs)
            assert have_same_bits(ours, eager)
            assert ours.stride() == eager.stride()
            if not needs:
                continue
            assert (type(ours.grad_fn).__name__ == "CompiledFunctionBackward") == (name not in OP_BY_OP)
            for one, other in zip(
                torch.autograd.grad(ours, inputs, tangent), torch.autograd.grad(eager, inputs, tangent), strict=True
            ):
                assert have_same_bits(one, other)


def test_gradients_accumulate_and_one_pass_frees_the_graph() -> None:
    compiled = torch.compile(lambda x, w: (x * w).sum() + w.sum(), fullgraph=True)
    x, w = values(4), values(4).requires_grad_()
    loss = compiled(x, w)
    loss.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()
    compiled(x, w).backward()
    assert torch.equal(w.grad, (x + 1) * 2)


MODULES: dict[str, Callable[[], tuple[Any, tuple[int, ...]]]] = {
    "convolutions": lambda: (
        torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.Linear(36, 5),
        ).eval(),
        (2, 1, 8, 8),
    ),
    "a transformer": lambda: (torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), (2, 5, 8)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules_have_the_bits_of_eager_mode(name: str) -> None:
    torch.manual_seed(0)
    model, shape = MODULES[name]()
    found = []
    for run in (model, torch.compile(model, fullgraph=name != "a transformer")):
        model.zero_grad()
        x = values(*shape).requires_grad_()
        result = run(x)
        result.square().sum().backward()
        found.append([result.detach(), x.grad, *(each.grad for each in model.parameters())])
    assert type(result.grad_fn).__name__ == "CompiledFunctionBackward"
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


TRAINED: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "batch norm of images": (lambda: torch.nn.BatchNorm2d(3), (4, 3, 12, 12)),
    "batch norm of matrices": (lambda: torch.nn.BatchNorm1d(5, affine=False), (6, 5)),
    "batch norm without statistics": (lambda: torch.nn.BatchNorm1d(5, track_running_stats=False), (6, 5)),
    "one batch norm twice": (lambda: torch.nn.Sequential(*[torch.nn.BatchNorm1d(5)] * 2), (6, 5)),
    "dropout": (lambda: torch.nn.Sequential(torch.nn.Dropout(0.3), torch.nn.Tanh(), torch.nn.Dropout(0.6)), (7, 9)),
    "dropout of many": (lambda: torch.nn.Sequential(torch.nn.Dropout(0.1), torch.nn.Sigmoid()), (LARGE // 64, 64)),
    "dropout of everything": (lambda: torch.nn.Sequential(torch.nn.Linear(9, 9), torch.nn.Dropout(1.0)), (7, 9)),
    "a network": (
        lambda: torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(inplace=True), torch.nn.Dropout(0.3),
            torch.nn.Flatten(), torch.nn.Linear(144, 5),
        ),
        (2, 1, 8, 8),
    ),
    "a residual network": (lambda: ResNet(BasicBlock, [1, 1, 1, 1], num_classes=5, width=4), (2, 3, 32, 32)),
    "a layer of a transformer": (lambda: torch.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
}  # fmt: skip


def train(run: Any, model: Any, inputs: list[Any]) -> list[Any]:
    """Everything that three steps of training leave behind: results, gradients, buffers, versions, the stream."""
    torch.manual_seed(0)
    found: list[Any] = []
    for step in range(3):
        given = [each.clone().requires_grad_() for each in inputs]
        result = run(*given)
        found += [result.detach().clone(), result._version]
        if step:  # another call comes before the first backward pass
            result.square().sum().backward()
            found += [each.grad for each in (*given, *model.parameters())]
        found += [each.clone() for each in model.buffers()] + [each._version for each in model.buffers()]
        found.append(torch.rand(3))
    with torch.no_grad():
        found += [run(*inputs), *(each.clone() for each in model.buffers()), torch.rand(3)]
    return [*found, type(result.grad_fn).__name__]


@pytest.mark.parametrize("name", TRAINED)
def test_training_has_the_bits_and_the_random_stream_of_eager_mode(name: str) -> None:
    found = []
    for is_compiled in (False, True):
        torch.manual_seed(1)
        build, shape = TRAINED[name]
        model = build()
        whole = "transformer" not in name
        run = torch.compile(model, fullgraph=whole, dynamic=False) if is_compiled else model
        inputs = [values(*shape)] * (2 if isinstance(model, torch.nn.TransformerDecoderLayer) else 1)
        found.append(train(run, model, inputs))
    *eager, _ = found[0]
    *ours, node = found[1]
    assert node == "CompiledFunctionBackward"
    assert len(ours) == len(eager)
    for one, other in zip(ours, eager, strict=True):
        assert have_same_bits(one, other) if isinstance(one, torch.Tensor) else one == other


def test_writes_to_inputs_happen_and_count_as_in_eager_mode() -> None:
    def count(x: Any, total: Any) -> Any:
        total.add_(1)
        y = x * total
        total += x
        y += total
        return y

    found = []
    for function in (count, torch.compile(count, fullgraph=True)):
        x, total = values(4), torch.zeros(4)
        for _ in range(2):
            y = function(x, total)
        found.append([y.tolist(), y._version, total.tolist(), total._version])
    assert found[0] == found[1]


def test_writes_that_another_input_sees_happen_op_by_op() -> None:
    def count(x: Any, total: Any) -> Any:
        total.add_(1)
        return x * total

    compiled = torch.compile(count, fullgraph=True)
    assert compiled(torch.ones(4), torch.zeros(4)).tolist() == [1.0] * 4
    both = torch.ones(4)
    assert compiled(both, both.detach()).tolist() == [4.0] * 4
    assert both.tolist() == [2.0] * 4


def test_a_write_that_gives_an_input_a_history_happens_op_by_op() -> None:
    def move(x: Any, w: Any) -> Any:
        x.add_(w)
        return w * 2

    found = []
    for function in (move, torch.compile(move, fullgraph=True)):
        x, w = values(4), values(4).requires_grad_()
        (function(x, w) * x).sum().backward()
        found.append([type(x.grad_fn).__name__, x.tolist(), w.grad.tolist()])
    assert found[0] == found[1]
    assert found[1][0] == "AddBackward0"


def test_a_size_that_is_new_draws_what_eager_mode_draws() -> None:
    compiled = torch.compile(lambda x: F.dropout(x, 0.5) * 2, dynamic=True, fullgraph=True)
    found = []
    for function in (compiled, lambda x: F.dropout(x, 0.5) * 2):
        torch.manual_seed(0)
        found.append([function(values(n)).tolist() for n in (5, 7, 9, 5)])
    assert found[0] == found[1]


def test_what_fails_after_a_draw_leaves_the_stream_of_eager_mode() -> None:
    def function(table: Any, tokens: Any) -> Any:
        return F.embedding(tokens, F.dropout(table, 0.5)) * 2

    compiled = torch.compile(function, fullgraph=True)
    compiled(values(5, 4), torch.tensor([1, 4]))
    after = []
    for each in (function, compiled):
        torch.manual_seed(0)
        with pytest.raises(IndexError):
            each(values(5, 4), torch.tensor([1, 5]))
        after.append(torch.rand(3).tolist())
    assert after[0] == after[1]


def test_a_draw_happens_once_also_where_numpy_raises() -> None:
    def function(x: Any) -> Any:
        return F.dropout(x, 0.5).log()

    compiled = torch.compile(function, fullgraph=True)
    found = []
    for each in (function, compiled):
        torch.manual_seed(0)
        with np.errstate(all="raise"):
            found.append([repr(each(torch.ones(50))), torch.rand(3).tolist()])
    assert found[0] == found[1]


OUTPUTS: dict[str, tuple[Callable[..., tuple[Any, ...]], tuple[tuple[int, ...], ...]]] = {
    "one after the other": (lambda x: ((y := x.tanh()) * 1, (z := y.exp() * x) * 1, z.sigmoid()), ((3, 4),)),
    "parts": (lambda x: tuple(each * i for i, each in enumerate((x * x).chunk(3, 1), 2)), ((2, 6),)),
    "of a stack": (lambda x, y: ((z := torch.stack((x * y, y.exp())))[0] * 1, z[1].log() * x, z.sum()), ((3,), (3,))),
    "products": (lambda x, w: ((h := F.layer_norm(x @ w, (5,))).relu(), h.softmax(-1), h @ w.t()), ((2, 3), (3, 5))),
    "losses": (
        lambda x, w: (F.mse_loss(x @ w, w[:2] * 2), (x @ w).square().mean(), F.rms_norm(x @ w, (5,)).sum()),
        ((2, 3), (3, 5)),
    ),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_every_set_of_outputs_has_a_backward_pass(name: str) -> None:
    """A pass for some outputs needs nothing that the pass for all of them hasn't saved."""
    function, shapes = OUTPUTS[name]
    compiled = torch.compile(function, fullgraph=True, dynamic=False)
    for used in range(1, 8):
        found = []
        for run in (function, compiled):
            inputs = [values(*shape).requires_grad_() for shape in shapes]
            outputs = [each for i, each in enumerate(run(*inputs)) if used >> i & 1]
            torch.autograd.backward(outputs, [each.detach().cos() for each in outputs])
            found.append([None if each.grad is None else each.grad for each in inputs])
        assert type(outputs[0].grad_fn).__name__ == "CompiledFunctionBackward"
        for one, other in zip(*found, strict=True):
            assert one is other is None or have_same_bits(one, other)


@pytest.mark.parametrize("used", [(True, True), (True, False), (False, True)], ids=str)
def test_outputs_without_a_gradient_give_none_to_their_inputs(used: tuple[bool, bool]) -> None:
    def both(x: Any, w: Any) -> Any:
        return x.exp() * 2, (w.sin() * w).sum()

    found = []
    for function in (both, torch.compile(both, fullgraph=True)):
        x, w = values(3).requires_grad_(), values(4).requires_grad_()
        for _ in range(2):  # the second time with the pass that the first has made
            outputs = function(x, w)
            sum(each.sum() for each, is_used in zip(outputs, used, strict=True) if is_used).backward()
        found.append([None if each.grad is None else each.grad.tolist() for each in (x, w)])
    assert type(outputs[0].grad_fn).__name__ == "CompiledFunctionBackward"
    assert found[0] == found[1]
    assert [each is not None for each in found[0]] == [*used]


def test_a_gpt_trains_to_the_same_bits() -> None:
    losses = []
    for is_compiled in (False, True):
        torch.manual_seed(0)
        config = GPTConfig(block_size=8, vocab_size=16, n_layer=2, n_head=2, n_embd=8)
        model: Any = GPT(config)
        run = torch.compile(model, fullgraph=True) if is_compiled else model
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        tokens = torch.randint(0, 16, (2, 2, 8))
        for _ in range(3):
            optimizer.zero_grad()
            logits, loss = run(*tokens)
            (loss + logits.square().mean() if len(losses) % 3 else loss).backward()
            optimizer.step()
            losses.append(loss.item())
    assert type(loss.grad_fn).__name__ == "CompiledFunctionBackward"
    assert losses[:3] == losses[3:]
    assert losses[2] < losses[0]


def test_tables_and_losses_of_indices_have_the_bits_of_eager_mode() -> None:
    def loss(table: Any, tokens: Any, targets: Any) -> Any:
        return F.cross_entropy(F.embedding(tokens, table) @ table.t(), targets, ignore_index=-1)

    compiled = torch.compile(loss, fullgraph=True)
    tokens, targets = torch.tensor([1, 4, 1]), torch.tensor([0, -1, 2])
    gradients = []
    for function in (loss, compiled):
        table = values(5, 4).requires_grad_()
        result = function(table, tokens, targets)
        result.backward()
        gradients.append((result.item(), table.grad))
    assert type(result.grad_fn).__name__ == "CompiledFunctionBackward"
    assert gradients[0][0] == gradients[1][0]
    assert torch.equal(gradients[0][1], gradients[1][1])
    for bad in ((torch.tensor([1, 5, 1]), targets), (tokens, torch.tensor([0, 5, 2]))):
        said = []
        for function in (loss, compiled):
            with pytest.raises(IndexError) as raised:
                function(values(5, 4).requires_grad_(), *bad)
            said.append(str(raised.value))
        assert said[0] == said[1]


def test_a_value_that_was_overwritten_since_is_noticed() -> None:
    compiled = torch.compile(lambda x: x.exp() * 1.0, fullgraph=True)
    for overwrite in (lambda x, y: x.data.add_(0), lambda x, y: y.mul_(2)):
        x = values(4).requires_grad_()
        y = torch.compile(lambda x: x.exp(), fullgraph=True)(x)
        overwrite(x, y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    w = values(3, 4).requires_grad_()
    product = torch.compile(lambda x, w: F.linear(x, w), fullgraph=True)(values(2, 4).requires_grad_(), w)
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    assert compiled(x).shape == (4,)


def test_a_second_derivative_is_refused_in_the_words_of_torch() -> None:
    x = values(4).requires_grad_()
    y = torch.compile(lambda x: x.exp().sum(), fullgraph=True)(x)
    with pytest.raises(
        RuntimeError, match=r"torch.compile with aot_autograd does not currently support double backward"
    ):
        torch.autograd.grad(y, x, create_graph=True)


def test_a_gradient_is_not_the_memory_of_another() -> None:
    x = values(4).requires_grad_()
    y = torch.compile(lambda x: x + 1, fullgraph=True)(x)
    tangent = torch.ones(4)
    y.backward(tangent)
    x.grad.mul_(5)
    assert tangent.tolist() == [1.0] * 4


def test_a_kernel_that_overwrites_its_argument_gets_a_copy_of_an_input() -> None:
    x = values(5, 5)
    before = x.tolist()
    torch.compile(lambda x: x.masked_fill(torch.ones(5, 5).tril() == 0, -1.0), fullgraph=True)(x)
    assert x.tolist() == before


def test_inputs_with_one_gradient_do_not_share_its_memory() -> None:
    def loss(x: Any, y: Any) -> Any:
        return (x + y).exp().sum()

    gradients = []
    for function in (loss, torch.compile(loss, fullgraph=True)):
        leaves = [values(4).requires_grad_() for _ in range(2)]
        x, y = (each * 1 for each in leaves)
        other = (x * 5).sum()  # recorded first, so its gradient is added to the one that x has got already
        result = function(x, y)
        (result + other).backward()
        leaves[0].grad.mul_(5)
        gradients.append([each.grad for each in leaves])
    assert type(result.grad_fn).__name__ == "CompiledFunctionBackward"
    assert all(have_same_bits(one, other) for one, other in zip(*gradients, strict=True))


def test_inputs_whose_gradients_show_the_same_memory_run_op_by_op() -> None:
    x, y = values(2, 2).requires_grad_(), values(4).requires_grad_()
    torch.compile(lambda x, y: (x.reshape(4) + y).exp().sum(), fullgraph=True)(x, y).backward()
    expected = y.grad.tolist()
    x.grad.mul_(5)
    assert y.grad.tolist() == expected


def test_an_output_of_inputs_that_need_no_gradient_needs_none() -> None:
    x, y = torch.compile(lambda x, y: (x * 2, y * 3), fullgraph=True)(values(4).requires_grad_(), values(4))
    assert (x.requires_grad, y.requires_grad, y.grad_fn) == (True, False, None)


def test_an_input_on_which_the_result_does_not_depend_gets_no_gradient() -> None:
    weight = torch.ones(3, requires_grad=True)
    x = values(3).requires_grad_()
    torch.compile(lambda x, y: (x * 2, y * 3)[0], fullgraph=True)(
        x, torch.compile(lambda w: w * 2)(weight)
    ).sum().backward()
    assert weight.grad is None


INDEX, DOUBLES = torch.tensor([2, 0]), torch.ones(4, dtype=torch.float64)

WITHOUT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a view": (lambda x: (x * 2).view(2, 2), "an output that is an input, a view, or twice the same"),
    "another memory order": (lambda x: x.view(2, 2).t() * 2, "an output that is not contiguous"),
    "a bool as a factor": (lambda x: x * True, "mul of a number that decides the type"),
    "a write": (lambda x: (x + 1).mul_(2), "mul_ is not among the functions that are lowered"),
    "several dtypes": (lambda x: x * DOUBLES, "mul of several dtypes"),
    "random numbers": (lambda x: x * torch.rand(4), "rand is not among the functions that are lowered"),
    "a write to what has a view": (
        lambda x: ((y := x * 2).view(2, 2), y.add_(1))[1] * 3,
        "a write to memory that several tensors share",
    ),
    "a write that is returned": (
        lambda x: x.add_(1),
        "an output that is an input, a view, or twice the same",
    ),
    "an index that depends on data": (lambda x: x[INDEX] * 2, "an index that depends on data"),
    "a function that looks at elements": (
        lambda x: x.cumsum(0) * 2,
        "cumsum is not among the functions that are lowered",
    ),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_other_graphs_run_op_by_op(name: str, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("TORCH_LOGS", "output_code")
    function, reason = WITHOUT[name]
    compiled = torch.compile(function, fullgraph=True)
    x = values(4).abs().requires_grad_(not name.startswith("a write"))
    results = []
    for each in (function, compiled):
        torch.manual_seed(0)
        results.append([repr(each(x.clone() if name.startswith("a write") else x)) for _ in range(3)])
    assert results[0] == results[1]
    assert f"[__output_code] # op by op: {reason}\n" in capsys.readouterr().err


def test_each_size_has_code_of_its_own_where_sizes_are_symbols() -> None:
    compiled = torch.compile(lambda x: (x * 2).tanh().sum(), dynamic=True, fullgraph=True)
    for n in (2, 5, LARGE, 3, *range(6, 16)):
        assert torch.equal(compiled(values(n)), (values(n) * 2).tanh().sum())


def test_a_few_sizes_have_code_of_their_own(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("TORCH_LOGS", "output_code")
    compiled = torch.compile(lambda x: (x * 2).tanh(), dynamic=True, fullgraph=True)
    for n in range(2, MOST_SHAPES + 5):
        compiled(values(n))
    assert capsys.readouterr().err.count("Output code:") == MOST_SHAPES


def test_the_output_code_is_logged(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("TORCH_LOGS", "output_code")
    torch.compile(lambda x: (x * 2).tanh())(values(3))
    said = capsys.readouterr().err
    assert "[__output_code]     v0 = xp.multiply(x0, 2)" in said
    assert "[__output_code]     v1 = xp.tanh(v0); v0 = None" in said


def test_infinities_are_no_errors_whatever_numpy_has_been_told() -> None:
    compiled = torch.compile(lambda x: (x.log() * 0).sum(), fullgraph=True)
    x = torch.zeros(3, requires_grad=True)
    with np.errstate(all="raise"):
        for _ in range(2):
            result = compiled(x)
            result.backward()
    assert result.isnan()
    assert x.grad.isnan().all()


def test_an_error_of_a_kernel_is_that_of_eager_mode() -> None:
    inverse = torch.compile(lambda x: torch.linalg.inv(x) * 2, fullgraph=True)
    inverse(torch.eye(2))
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        inverse(torch.zeros(2, 2))


@pytest.mark.parametrize("name", sorted(NAMES))
def test_lowered_functions_never_ask_whether_there_is_data(name: str, monkeypatch: Any) -> None:
    """Neither forward nor backward: code that does has another way for tensors with data."""
    asked: list[str] = []
    monkeypatch.setattr(torch.Tensor, "is_meta", property(lambda self: asked.append(name)))
    shapes, call = CALLS.get(name, (((4, 4),), None))
    x, *others = [torch.empty(shape, device="meta", requires_grad=True) for shape in shapes]
    if call is not None:
        result = call(x, *others)
    elif hasattr(x, name):
        result = getattr(x, name)()
    else:
        result = getattr(F, name, None)(x) if hasattr(F, name) else getattr(operator, name)(x, 2.0)
    assert result.shape is not None
    if result.requires_grad:
        result.sum().backward()
    assert asked == []


BINARY = ("add", "div", "maximum", "minimum", "mul", "multiply", "sub", "subtract", "mm", "matmul")
CALLS: dict[str, Any] = {
    **{name: (((4, 4),) * 2, lambda x, y, name=name: getattr(x, name)(y)) for name in BINARY},
    **{name: (((4, 4),) * 3, lambda x, y, z, name=name: getattr(x, name)(y, z)) for name in ("addcdiv", "addcmul")},
    "adaptive_avg_pool2d": (((1, 1, 4, 4),), lambda x: F.adaptive_avg_pool2d(x, 2) + F.adaptive_avg_pool2d(x, 1)),
    "add_": (((4, 4),) * 2, lambda x, y: (x * 2).add_(y)),
    "iadd": (((4, 4),) * 2, lambda x, y: operator.iadd(x * 2, y)),
    "addmm": (((4, 4),) * 3, lambda x, y, z: x.addmm(y, z)),
    "avg_pool2d": (((1, 1, 4, 4),), lambda x: F.avg_pool2d(x, 2)),
    "bmm": (((2, 4, 4),) * 2, lambda x, y: x.bmm(y)),
    "clamp": (((4, 4),), lambda x: x.clamp(-1, 1)),
    "conv2d": (((1, 2, 4, 4), (3, 2, 3, 3)), lambda x, w: F.conv2d(x, w)),
    "expand": (((4, 1),), lambda x: x.expand(4, 4)),
    "layer_norm": (((4, 4), (4,)), lambda x, w: F.layer_norm(x, (4,), w)),
    "lerp": (((4, 4),) * 2, lambda x, y: x.lerp(y, 0.3)),
    "linear": (((4, 4),) * 2, F.linear),
    "log_softmax": (((4, 4),), lambda x: x.log_softmax(-1)),
    "mse_loss": (((4, 4),) * 2, F.mse_loss),
    "permute": (((4, 4),), lambda x: x.permute(1, 0)),
    "pow": (((4, 4),) * 2, lambda x, y: x**2 + x**0.5 + x**y + 2.0**x),
    "pos": (((4, 4),), lambda x: +x),
    "reshape": (((4, 4),), lambda x: x.reshape(2, 8)),
    "softmax": (((4, 4),), lambda x: x.softmax(-1)),
    "transpose": (((4, 4),), lambda x: x.transpose(0, 1)),
    "unsqueeze": (((4, 4),), lambda x: x.unsqueeze(0)),
    "view": (((4, 4),), lambda x: x.view(2, 8)),
    **{
        name: (((4, 4),) * 2, lambda x, y, name=name: getattr(x, name)(y))
        for name in ("eq", "ge", "gt", "le", "lt", "ne")
    },
    "arange": (((4,),), lambda x: x + torch.arange(4, device="meta")),
    "ones": (((4,),), lambda x: x + torch.ones(4, device="meta")),
    "zeros": (((4,),), lambda x: x + torch.zeros(4, device="meta")),
    "batch_norm": (((2, 3, 4, 4), (3,), (3,)), lambda x, w, b: F.batch_norm(x, w.detach(), b.detach(), w, b)),
    "cat": (((4, 4),) * 2, lambda x, y: torch.cat([x, y], 1)),
    "stack": (((4, 4),) * 2, lambda x, y: torch.stack([x, y], 1)),
    "chunk": (((4, 4),), lambda x: x.chunk(2)[0]),
    "split": (((4, 4),), lambda x: x.split([1, 3])[1]),
    "cross_entropy": (((4, 4),), lambda x: F.cross_entropy(x, torch.ones(4, dtype=torch.int64, device="meta"))),
    "nll_loss": (((4, 4),), lambda x: F.nll_loss(x, torch.ones(4, dtype=torch.int64, device="meta"))),
    "dropout": (((4, 4),), lambda x: F.dropout(x, 0.5, False) * 2),
    "embedding": (((4, 4),), lambda x: F.embedding(torch.ones(4, dtype=torch.int64, device="meta"), x)),
    "getitem": (((4, 4),), lambda x: x[:, 1:, None] + x[0, -1]),
    "masked_fill": (((4, 4),), lambda x: x.masked_fill(torch.ones(4, 4, dtype=torch.bool, device="meta"), -1.0)),
    "max_pool2d": (((1, 1, 4, 4),), lambda x: F.max_pool2d(x, 2)),
    "rms_norm": (((4, 4), (4,)), lambda x, w: F.rms_norm(x, (4,), w)),
    "scaled_dot_product_attention": (((1, 2, 4, 4),) * 3, F.scaled_dot_product_attention),
}
