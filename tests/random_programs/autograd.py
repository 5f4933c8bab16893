"""Random programs that autograd records: ops, views, writes in place, modes, hooks, and backward passes."""

from __future__ import annotations

import math
from typing import Any

from tests.random_programs.drawing import Draw
from tests.random_programs.interpreter import Fact, Library, Twins

UNARY = (
    "sin()", "exp()", "tanh()", "sigmoid()", "square()", "neg()", "abs()", "cos()", "relu()", "clone()", "sum()",
    "mean()", "prod()", "amax()", "cumsum(0)", "softmax(0)", "log_softmax(-1)", "sum(0, keepdim=True)",
    "logsumexp(0)", "std()", "clamp(-0.5, 0.5)", "pow(3)", "pow(2.5)", "flip(0)", "roll(1, 0)", "norm()", "mul(2)",
    "add(1)", "max(0)[0]", "sort(0)[0]", "tril()", "reciprocal()", "sqrt()", "to(torch.float32)", "atan()", "sinh()",
    "round()", "expm1()", "index_select(0, torch.tensor([0]))", "masked_fill(torch.tensor(True), 0.5)", "var(0)",
    "double()", "contiguous()",
)  # fmt: skip
BINARY = (
    "{} + {}", "{} * {}", "{} - {}", "{} / {}", "torch.maximum({}, {})", "torch.where({0} > 0, {0}, {1})",
    "{}.atan2({})", "torch.cat([{0}.flatten(), {1}.flatten()])", "{0}.flatten().outer({1}.flatten())",
    "torch.addcmul({0}, {0}, {1})", "torch.lerp({0}, {1}, 0.3)", "torch.hypot({}, {})", "torch.stack([{0}, {0}])",
    "torch.matmul({}, {})",
)  # fmt: skip
VIEWS = (
    "{}[0]", "{}[..., 0]", "{}[1:]", "{}.t()", "{}.transpose(0, -1)", "{}.view(-1)", "{}.reshape(-1)",
    "{}.unsqueeze(0)", "{}.squeeze()", "{}.expand(2, *{}.shape)", "{}.diagonal()", "{}.unbind(0)[0]",
    "{}.split(1)[0]", "{}.chunk(2)[-1]", "{}.narrow(0, 0, 1)", "{}.select(-1, 0)", "{}.detach()", "{}.view_as({})",
    "{}.as_strided((2,), (1,))", "{}.unfold(0, 1, 1)", "{}.permute(*range({}.dim()))", "{}.split([1, 1])[1]",
    "{}.tensor_split(2)[0]", "{}[...]", "{}.movedim(0, -1)", "{}.flatten()", "{}.data", "{}.view(torch.float64)",
    "{}.real", "{}.swapaxes(0, 0)", "{}.ravel()",
)  # fmt: skip
WRITES = (
    "{}.mul_(2)", "{}.add_({})", "{}.mul_({})", "{}.zero_()", "{}.fill_(0.5)", "{}.copy_({})", "{}[0] = {}",
    "{}[..., 0] = 0.25", "{}.sin_()", "{}.exp_()", "{}.sigmoid_()", "{} += {}", "{}[1:] *= 2", "{}.t_()",
    "{}.unsqueeze_(0)", "{}.squeeze_()", "{}.detach_()", "{}.requires_grad_()", "{}.requires_grad_(False)",
    "{}.retain_grad()", "{}.masked_fill_(torch.tensor(True), 0.3)", "{}.relu_()", "{}.clamp_(0, 1)", "{}.div_({})",
    "{}.index_add_(0, torch.tensor([0]), {}[:1].clone())", "{}.neg_()", "{}.transpose_(0, -1)", "{}.fill_({}.sum())",
    "{}.register_hook(lambda grad: grad * 2)", "{}.register_hook(lambda grad: None)", "{}.grad = None", "{}.tanh_()",
    "{}.sub_({})", "{}.index_put_((torch.tensor([0]),), torch.tensor(0.1, dtype=torch.float64))", "{}.pow_(2)",
    "{}.addcmul_({}, {})", "{}.sqrt_()",
)  # fmt: skip
PASSES = (
    "{}.sum().backward()", "{}.sum().backward(retain_graph=True)", "({} * {}).sum().backward()",
    "{}.backward(torch.ones_like({}))", "{}.sum().backward(inputs=[t0])", "{}.backward()",
)  # fmt: skip
GRADS = (
    "torch.autograd.grad({}.sum(), [t0], allow_unused=True)[0]",
    "torch.autograd.grad(torch.autograd.grad({}.sum(), [t0], create_graph=True)[0].sum(), [t0], allow_unused=True)[0]",
    "torch.autograd.grad({}.sum(), [{}], create_graph=True)[0]",
    "torch.autograd.grad(({} ** 2).sum(), [{}, t0], create_graph=True, allow_unused=True)[1]",
    "torch.autograd.grad({}.sum(), [{}])[0]",
    "torch.autograd.grad({}.sum(), [{}], retain_graph=True, allow_unused=True, materialize_grads=True)[0]",
)  # fmt: skip
MODES = ("",) * 6 + ("with torch.no_grad(): ", "with torch.inference_mode(): ", "with torch.enable_grad(): ")


def leaf(draw: Draw) -> str:
    shape = draw.of(((3,), (2, 3), (), (2, 2), (1, 3)))
    numbers = f"torch.linspace(-0.7, 0.9, {math.prod(shape)}, dtype=torch.float64).reshape({shape})"
    return f"{numbers}{draw.of(('.requires_grad_()', '', '.requires_grad_()'))}"


def step(draw: Draw, tensors: dict[str, Any], new: str) -> str:
    """The next line of a program."""
    if not tensors or (len(tensors) < 3 and draw.of((False, True))):
        return f"{new} = {leaf(draw)}"
    names = list(tensors)[::-1]
    family = draw.of((UNARY, BINARY, VIEWS, WRITES, PASSES, GRADS, WRITES, VIEWS))
    one, others = draw.of(names), [draw.of(names) for _ in range(2)]
    if family is UNARY:
        line = f"{new} = {one}.{draw.of(UNARY)}"
    else:
        form = draw.of(family)
        if family is VIEWS:
            others = [one, one]
            if "as_strided" in form and not tensors[one].numel():  # see views.as_strided
                form = "{}[...]"
        if family is WRITES:
            others = [other + ".clone()" * _is_other_view(tensors[one], tensors[other]) for other in others]
        result = {VIEWS: f"{new} = ", BINARY: f"{new} = ", GRADS: f"g{new[1:]} = "}.get(family, "")
        line = result + form.format(one, *others)
    if tensors[one].is_inference():  # outside the mode, PyTorch refuses to write when it has written already
        return f"with torch.inference_mode(): {line}"
    if family is WRITES and (_is_recorded_leaf(tensors[one]) or "detach_" in line):
        return line  # unrecorded, a change of its shape would leave PyTorch with gradients that don't fit
    return (draw.of(MODES) if family not in (PASSES, GRADS) else "") + line


def _is_other_view(one: Any, other: Any) -> bool:
    """Whether two tensors may overlap: then the order in which elements are written decides the outcome."""
    return other is not one and other.untyped_storage().data_ptr() == one.untyped_storage().data_ptr()


def _is_recorded_leaf(x: Any) -> bool:
    try:
        return bool(x.is_leaf and x.requires_grad)
    except RuntimeError:  # a view that was written to against the rules
        return False


class Numbers:
    """Values that count as equal when they differ by rounding."""

    def __init__(self, tensor: Any) -> None:
        self.shape = tuple(tensor.shape)
        values = tensor.detach().flatten().tolist()
        self.values = values if isinstance(values, list) else [values]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numbers) and self.shape == other.shape and all(map(_close, self.values, other.values))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.values} of shape {self.shape}"


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-7) or (a != a and b != b)


def _history(library: Library, x: Any) -> Any:
    """The node that made a tensor, and the nodes before it, less the number of their overload; or why there is none."""
    try:
        node = x.grad_fn
    except RuntimeError as error:
        return str(error)
    if node is None:
        return None
    before = [each.name().rstrip("0123456789") for each, _ in node.next_functions if each is not None]
    return node.name(), x.output_nr, before


def _version(library: Library, x: Any) -> Any:
    try:
        return x._version
    except RuntimeError as error:
        return str(error)


def _grad(library: Library, x: Any) -> Any:
    try:
        if not x.is_leaf and not x.retains_grad:
            return None
    except RuntimeError:
        return None
    return None if x.grad is None else (Numbers(x.grad), x.grad.requires_grad)


def _gradient(library: Library, name: str) -> Any:
    """What `torch.autograd.grad` returned: its history is that of a formula, which may be written in several ways."""
    x = library.variables.get(name)
    return None if x is None else (Numbers(x), x.requires_grad)


FACTS: dict[str, Fact] = {
    "value": lambda library, x: Numbers(x),
    "requires_grad": lambda library, x: x.requires_grad,
    "history": _history,
    "grad": _grad,
    "version": _version,
    "inference": lambda library, x: x.is_inference(),
    "retains_grad": lambda library, x: x.retains_grad,
    "base": lambda library, x: (x._is_view(), library.name_of(x._base)),
}


def program(draw: Draw, torch: Any, steps: int) -> None:
    twins = Twins(torch, FACTS)
    for number in range(draw.integer(1, steps)):
        twins.run(step(draw, twins.theirs.tensors(), f"t{number}"))
        twins.same(f"gradient {number}", *(_gradient(each, f"g{number}") for each in (twins.ours, twins.theirs)))
