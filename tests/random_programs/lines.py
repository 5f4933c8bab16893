"""The lines of which random programs that autograd records consist: {} and {0}, {1} stand for tensors."""

from __future__ import annotations

UNARY = (
    "{}.sin()", "{}.exp()", "{}.tanh()", "{}.sigmoid()", "{}.square()", "{}.neg()", "{}.abs()", "{}.cos()",
    "{}.relu()", "{}.clone()", "{}.sum()", "{}.mean()", "{}.prod()", "{}.amax()", "{}.cumsum(0)", "{}.softmax(0)",
    "{}.log_softmax(-1)", "{}.sum(0, keepdim=True)", "{}.logsumexp(0)", "{}.std()", "{}.clamp(-0.5, 0.5)",
    "{}.pow(3)", "{}.pow(2.5)", "{}.flip(0)", "{}.roll(1, 0)", "{}.norm()", "{}.mul(2)", "{}.add(1)", "{}.max(0)[0]",
    "{}.sort(0)[0]", "{}.tril()", "{}.reciprocal()", "{}.sqrt()", "{}.to(torch.float32)", "{}.atan()", "{}.sinh()",
    "{}.round()", "{}.expm1()", "{}.index_select(0, torch.tensor([0]))", "{}.masked_fill(torch.tensor(True), 0.5)",
    "{}.var(0)", "{}.double()", "{}.contiguous()", "{}.sum(-1)", "{}.mean(0)", "{}.prod(0)", "{}.amin(-1)",
    "{}.median()", "{}.median(0)[0]", "{}.norm(1)", "{}.norm(dim=0)", "{}.norm(3, -1, True)", "{}.std(0)", "{}.var()",
    "{}.cumprod(0)", "{}.cumsum(-1)", "{}.logcumsumexp(0)", "{}.cummax(0)[0]", "{}.cummin(-1)[0]", "{}.topk(1)[0]",
    "{}.sort(-1, descending=True)[0]", "{}.kthvalue(1, 0)[0]", "{}.min(-1)[0]", "{}.triu(1)", "{}.diag()",
    "{}.trace()", "{}.flip(-1)", "{}.rot90()", "{}.repeat(2, 1)", "{}.repeat_interleave(2, 0)", "{}.diff()",
    "{}.take(torch.tensor([0, -1]))", "{}.index_select(-1, torch.tensor([0, 0]))", "{}.clamp(min=0)",
    "{}.diag_embed()", "{}.clamp(torch.tensor(-0.5), torch.tensor(0.5))", "{}.argmax()", "{}.argsort(0)",
    "{}.nansum()", "{}.renorm(2, 0, 0.5)", "{}.log1p()", "{}.hardshrink()", "{}.xlogy(2)", "{}.rsub(1)", "{}.tile(2)",
    "{}.where(torch.tensor(True), 1)", "{}.sign()", "{}.frac()", "{}.fmod(0.3)", "{}.remainder(0.3)",
    "{}.to(torch.complex128)", "{}.angle()", "{}.conj_physical()", "{}.sgn()", "{}.logit(0.1)", "{}.count_nonzero()",
    "{}.aminmax().max", "torch.nn.functional.pad({}, (1, 0))", "torch.nn.functional.pad({}, (-1, 1))",
    "{0}.masked_select({0} > 0)", "{0}[{0} > 0]", "{}[[0, 0]]", "{}[..., [0, -1]]",
    "{0}.gather(0, torch.zeros({0}.shape, dtype=torch.int64))", "torch.nn.functional.softplus({})",
    "torch.nn.functional.gelu({})", "torch.nn.functional.normalize({}, dim=0)",
    "{0}.take_along_dim({0}.argsort(0), 0)", "2 ** {}", "{} ** 0", "1 / {}", "torch.atleast_2d({})",
)  # fmt: skip
"""What is computed from a tensor."""

BINARY = (
    "{} + {}", "{} * {}", "{} - {}", "{} / {}", "torch.maximum({}, {})", "torch.where({0} > 0, {0}, {1})",
    "{}.atan2({})", "torch.cat([{0}.flatten(), {1}.flatten()])", "{0}.flatten().outer({1}.flatten())",
    "torch.addcmul({0}, {0}, {1})", "torch.lerp({0}, {1}, 0.3)", "torch.hypot({}, {})", "torch.stack([{0}, {0}])",
    "torch.matmul({}, {})", "{}.mm({})", "{}.mv({})", "{}.flatten().dot({}.flatten())", "{} ** {}", "{}.minimum({})",
    "torch.bmm({}[None], {}[None])", "torch.cat([{}, {}])", "torch.stack([{}, {}], -1)", "torch.hstack([{}, {}])",
    "torch.nn.functional.mse_loss({}, {}, reduction='none')", "torch.logaddexp({}, {})",
    "torch.nn.functional.linear({}, {})", "torch.addcdiv({0}, {0}, {1})",
    "torch.where({0} > {1}, {0}, {1})", "torch.lerp({0}, {0}, {1})", "{}.clamp(max={})", "torch.complex({}, {})",
    "{}.fmod({})", "{} == {}", "{}.xlogy({})", "{0}.index_add(0, torch.tensor([0]), {1}[:1])",
    "{0}.index_put((torch.tensor([0, 0]),), {1}, accumulate=True)",
    "{0}.scatter(0, torch.zeros([1] * {0}.dim(), dtype=torch.int64), {1}.sum().reshape([1] * {0}.dim()))",
    "{0}.masked_scatter({0} > 0, {1})",
    "{0}.scatter_reduce(0, torch.zeros([1] * {0}.dim(), dtype=torch.int64), {1}, 'amax')",
    "{0}.index_copy(0, torch.tensor([0]), {1}[:1])", "{0}.select_scatter({1}, 0, 0)",
)  # fmt: skip
"""What is computed from two."""

VIEWS = (
    "{}[0]", "{}[..., 0]", "{}[1:]", "{}.t()", "{}.transpose(0, -1)", "{}.view(-1)", "{}.reshape(-1)",
    "{}.unsqueeze(0)", "{}.squeeze()", "{}.expand(2, *{}.shape)", "{}.diagonal()", "{}.unbind(0)[0]",
    "{}.split(1)[0]", "{}.chunk(2)[-1]", "{}.narrow(0, 0, 1)", "{}.select(-1, 0)", "{}.detach()", "{}.view_as({})",
    "{}.as_strided((2,), (1,))", "{}.unfold(0, 1, 1)", "{}.permute(*range({}.dim()))", "{}.split([1, 1])[1]",
    "{}.tensor_split(2)[0]", "{}[...]", "{}.movedim(0, -1)", "{}.flatten()", "{}.data", "{}.view(torch.float64)",
    "{}.real", "{}.swapaxes(0, 0)", "{}.ravel()", "{}.unbind(-1)[-1]", "{}.split(1, -1)[-1]", "{}.mT", "{}.T",
    "{}.unflatten(0, (1, -1))", "{}.squeeze(0)", "{}.diagonal(1)", "{}.unfold(-1, 2, 1)", "{}.conj()", "{}.imag",
    "torch.view_as_real({})", "torch.view_as_complex({})", "{}.as_strided((2, 2), (0, 1))", "{}[:0]",
    "{}[None, ..., 1]", "{}.hsplit(2)[0]", "{}.conj().imag", "{}.broadcast_to((2, 3))", "{}.type_as({})", "{}.mH",
    "{}[0, :1]",
)  # fmt: skip
"""Parts of a tensor, which share its memory or may do so."""

WRITES = (
    "{}.mul_(2)", "{}.add_({})", "{}.mul_({})", "{}.zero_()", "{}.fill_(0.5)", "{}.copy_({})", "{}[0] = {}",
    "{}[..., 0] = 0.25", "{}.sin_()", "{}.exp_()", "{}.sigmoid_()", "{} += {}", "{}[1:] *= 2", "{}.t_()",
    "{}.unsqueeze_(0)", "{}.squeeze_()", "{}.detach_()", "{}.requires_grad_()", "{}.requires_grad_(False)",
    "{}.retain_grad()", "{}.masked_fill_(torch.tensor(True), 0.3)", "{}.relu_()", "{}.clamp_(0, 1)", "{}.div_({})",
    "{}.index_add_(0, torch.tensor([0]), {}[:1].clone())", "{}.neg_()", "{}.transpose_(0, -1)", "{}.fill_({}.sum())",
    "{}.register_hook(lambda grad: grad * 2)", "{}.register_hook(lambda grad: None)", "{}.grad = None", "{}.tanh_()",
    "{}.sub_({})", "{}.index_put_((torch.tensor([0]),), torch.tensor(0.1, dtype=torch.float64))", "{}.pow_(2)",
    "{}.addcmul_({}, {})", "{}.sqrt_()", "{}.index_fill_(0, torch.tensor([0]), 0.5)", "{}.lerp_({}, 0.5)",
    "{}.tril_()", "{}.index_copy_(0, torch.tensor([0]), {}[:1].clone())", "{0}.masked_scatter_({0} > 0, {0}.sin())",
    "{}.cumsum_(0)",
    "{0}.scatter_(0, torch.zeros([1] * {0}.dim(), dtype=torch.int64), {1}.sum().reshape([1] * {0}.dim()))",
    "{0}[{0} > 0] = 0.1", "{0}[{0} > 0] *= 2",
    "{0}.scatter_add_(0, torch.zeros([1] * {0}.dim(), dtype=torch.int64), {1}.sum().reshape([1] * {0}.dim()))",
    "{}.addcdiv_({}, {})", "{}.pow_({})", "{}.atan2_({})", "{}.set_({})", "{}.swapaxes_(0, -1)",
    "{}.as_strided_((2,), (1,))", "{}.round_()", "{}.cumprod_(0)", "{}.fill_({}.detach().sum())", "{}.copy_({}[0])",
    "torch.sin({1}, out={0})", "torch.add({1}, {2}, out={0})", "{}.requires_grad = True",
    "{0}.grad = torch.ones_like({0})", "{0}.resize_({0}.numel())", "{0}[[0, -1]] = {1}", "{}.erfinv_()",
    "{0}.put_(torch.tensor([0]), {1}.flatten()[:1])", "{}.renorm_(2, 0, 0.5)",
    "{}.register_post_accumulate_grad_hook(lambda leaf: leaf.grad.mul_(2).tolist().clear())", "{}.clamp_(min={})",
    "{}.requires_grad_(True)",
)  # fmt: skip
"""What changes a tensor: its elements, its shape, or what autograd does with it."""

PASSES = (
    "{}.sum().backward()", "{}.sum().backward(retain_graph=True)", "({} * {}).sum().backward()",
    "{}.backward(torch.ones_like({}))", "{}.sum().backward(inputs=[t0])", "{}.backward()", "{}.backward({}.detach())",
    "{}.sum().backward(create_graph=True)", "torch.autograd.backward([{}.sum(), {}.sum()])",
    "{}.abs().sum().backward()", "({}.sum() * {}.sum()).backward(retain_graph=True)",
    "torch.autograd.backward([{}.sum(), {}.abs().sum()], [None, torch.tensor(1., dtype=torch.float64)])",
)  # fmt: skip
"""Backward passes that fill `.grad`."""

GRADS = (
    "torch.autograd.grad({}.sum(), [t0], allow_unused=True)[0]",
    "torch.autograd.grad(torch.autograd.grad({}.sum(), [t0], create_graph=True)[0].sum(), [t0],"
    " allow_unused=True)[0]",
    "torch.autograd.grad({}.sum(), [{}], create_graph=True)[0]",
    "torch.autograd.grad(({} ** 2).sum(), [{}, t0], create_graph=True, allow_unused=True)[1]",
    "torch.autograd.grad({}.sum(), [{}])[0]",
    "torch.autograd.grad({}.sum(), [{}], retain_graph=True, allow_unused=True, materialize_grads=True)[0]",
    "torch.autograd.grad({0}, [{1}], torch.ones_like({0}), create_graph=True)[0]",
    "torch.autograd.grad(torch.autograd.grad(({0} * {0}).sum(), [{1}], create_graph=True)[0].sum(), [{1}])[0]",
    "torch.autograd.grad(torch.autograd.grad({0}.abs().sum(), [{1}], create_graph=True)[0].sum(),"
    " [{2}], allow_unused=True)[0]",
)  # fmt: skip
"""Gradients of one tensor in others."""

MODES = (
    *("",) * 6, "with torch.no_grad(): ", "with torch.inference_mode(): ", "with torch.enable_grad(): ",
)  # fmt: skip
"""What stands before a line: the first so often that most lines are recorded."""
