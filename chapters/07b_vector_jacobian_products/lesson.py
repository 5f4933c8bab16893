# %% [markdown] tags=["short"]
# # Vector–Jacobian products
# A network can train on a backward formula that is incorrect, so you need better evidence than a falling loss. In this chapter you learn
# what a backward pass computes, write formulas of your own, test every formula of `mytorch` against finite differences, and run code in the
# middle of the backward pass.
#
# ## An incorrect formula still learns
# The derivative of $y = \tanh x$ is $1 - y^2$, but someone writes $1 - |y|$. `autograd.Function` puts a forward and a backward into the
# graph as one node, so both can be tried. `backward` receives `grad`, the gradient of the loss with respect to the result, and multiplies
# it by the derivative. The cell trains a small network on a sine with each formula, on three seeds.

# %% hidden=true
import warnings

from course import check, lesson, pictures

mytorch = lesson.mytorch("07b")  # your library as of this chapter, using your code wherever you've solved the exercises

# %% tags=["proof-wrong-learns"]
import minitorch as torch


class Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (1 - x.tanh() ** 2)


class Absolute(Tanh):
    @staticmethod
    def backward(ctx, grad):
        return grad * (1 - ctx.saved_tensors[0].tanh().abs())


def losses(activation, seed):
    torch.manual_seed(seed)
    x = torch.linspace(-2, 2, 40).unsqueeze(1)
    weights = [torch.randn(size).requires_grad_() for size in ((1, 16), (16,), (16, 1))]
    for _ in range(200):
        loss = ((activation(x @ weights[0] + weights[1]) @ weights[2] / 4 - (2 * x).sin()) ** 2).mean()
        yield loss.item()
        gradients = torch.autograd.grad(loss, weights)
        weights = [(w - 0.3 * g).detach().requires_grad_() for w, g in zip(weights, gradients, strict=True)]


variants = {"1 - y²": Tanh.apply, "1 - |y|": Absolute.apply}
for seed in (2, 1, 0):
    curves = {name: list(losses(activation, seed)) for name, activation in variants.items()}
    print("seed", seed, {name: f"{values[0]:.1f} to {values[-1]:.2f}" for name, values in curves.items()})
pictures.curves(curves, xlabel="step (seed 0)", ylabel="mean squared error", log="y")

# %% [markdown] tags=["short"]
# All six losses fall by more than 90 %, and which formula ends lower depends on the seed. A falling loss therefore doesn't prove that a
# gradient is correct.
#
# ## `backward`, argument by argument
# A loss is a scalar, but what does `backward` do if the result has two elements?

# %% tags=["proof-vector-jacobian"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = torch.stack([x[0] * x[1], x[2].exp()])
print(check.error(y.backward))
rows = [torch.autograd.grad(y, x, row, retain_graph=True)[0] for row in torch.eye(2)]
v, jacobian = torch.tensor([1.0, 10.0]), torch.stack(rows)
y.backward(v, retain_graph=True)
print("v @ J:", (v @ jacobian).round(decimals=1), "  x.grad:", x.grad.round(decimals=1))


def product(v, x=x, y=y, jacobian=jacobian):
    (gradient,) = torch.autograd.grad(y, x, torch.tensor(v), retain_graph=True)
    return pictures.grids(("v", torch.tensor(v)), "@", ("J", jacobian), "=", ("v @ J", gradient))


pictures.slider(product, start={"v": (1.0, 10.0)}, v=[(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 10.0), (0.0, 0.0)])

# %% [markdown]
# The **gradient argument** `v` weights the elements of `y`. `y.backward(v)` computes the derivative of $\sum_i v_i y_i$, which is the
# **vector–Jacobian product** (VJP) $v^\top J$ with $J_{ij} = \partial y_i / \partial x_j$, and it never builds $J$. Each node of the graph
# computes such a product: it receives $v$ for its result, which is what `grad` is in the `backward` above, and returns $v^\top J$ for its
# input.
#
# For $J$ itself, ask for one row at a time, as `rows` does. Since each row needs the saved tensors again, `retain_graph=True` keeps them.
# `create_graph=True` goes further and records the backward pass, so that the gradient can be differentiated. This works because the
# backward formulas are made of recorded operations.

# %% tags=["proof-create-graph"]
x = mytorch.tensor(2.0, requires_grad=True)
derivatives = [x**3]
for _ in range(3):
    derivatives += mytorch.autograd.grad(derivatives[-1], x, create_graph=True)
print(*derivatives, sep="\n")
print("with retain_graph alone:", mytorch.autograd.grad(x**3, x, retain_graph=True)[0])

# %% [markdown]
# These are $x^3$, $3x^2$, $6x$ and 6 at $x = 2$. The gradient in the last line has no `grad_fn`, so it can't be differentiated again.
# Newton's method and gradient penalties, among others, need such second derivatives.
#
# **Interview · Why does `backward` need an argument when the result isn't a scalar?**
#
# - *Thirty seconds:* Reverse mode computes a vector–Jacobian product, and the argument is the vector, which weights the elements of the
#   result. For a scalar the weight is 1, so PyTorch fills it in.
# - *They ask next:* What if you want the whole Jacobian? One pass for each output, as in `rows`; `torch.func.jacrev` and
#   `torch.autograd.functional.jacobian` do it for you.
# - *The trap:* `torch.ones_like(y)` doesn't give "the derivative" but the derivative of the sum.
# - *Proof:* `proof-vector-jacobian`.
#
# **Interview · `retain_graph` or `create_graph`?**
#
# - *Thirty seconds:* `retain_graph` keeps the saved tensors, so that the same graph can run backward again. `create_graph` records the
#   backward pass itself, so that I can differentiate the gradient, and by default it retains the graph as well.
# - *Longer:* Gradient penalties, Hessian–vector products and meta-learning need `create_graph`.
# - *They ask next:* Why does `backward(create_graph=True)` warn? The leaf and its `.grad` form a reference cycle, which can leak memory.
#   `autograd.grad` doesn't create this cycle.
# - *They ask next:* Can every operation be differentiated twice? No, flash attention raises "derivative … is not implemented", but
#   attention with the `MATH` backend of `sdpa_kernel` can.
# - *The trap:* `retain_graph=True` often just silences "backward a second time", although a hidden state should have been detached.
# - *Proof:* `proof-create-graph`, `proof-grad-of-grad`.
#
# ### Reverse mode and forward mode
# One backward pass gives one row of the Jacobian. The Jacobian of a loss has a single row, however many parameters there are, which is
# why networks are trained in **reverse mode**. **Forward mode** gives one column a pass, or in general a combination of columns, the
# **Jacobian–vector product** (JVP) $J u$. You can also get it from two passes in reverse mode: $v^\top J u$ is linear in $v$, so its
# gradient with respect to $v$ is $J u$, whatever the value of $v$, which is called `dummy` below.


# %% tags=["proof-two-passes"]
def function(x):
    return torch.stack([x[0] * x[1], x[2].exp()])


x = torch.tensor([1.0, 2.0, 0.0], requires_grad=True)
u, dummy = torch.tensor([1.0, 0.0, 3.0]), torch.ones(2, requires_grad=True)
(row,) = torch.autograd.grad(function(x), x, dummy, create_graph=True)
(column,) = torch.autograd.grad(row, dummy, u)
step = 1e-3 * u
difference = (function(x + step) - function(x - step)) / 2e-3
print("J @ u by two passes:", column.tolist(), "  by differences:", [round(value, 2) for value in difference.tolist()])

# %% [markdown]
# **Interview · Reverse mode or forward mode?**
#
# - *Thirty seconds:* For a whole Jacobian without special structure, reverse mode costs one pass per output, and forward mode costs
#   one pass per input. A loss has one output and millions of inputs, so training uses reverse mode.
# - *Longer:* Forward mode computes the derivative along with the function, so it doesn't have to save tensors. In PyTorch it is
#   `torch.func.jvp`, or `linearize` for many vectors at one point, and `jacfwd` and `jacrev` build whole Jacobians.
# - *They ask next:* How would you compute a Hessian? Forward over reverse: one pass for each column, that is for each input, and each
#   pass costs a small multiple of a gradient.
# - *They ask next:* And a Gauss–Newton product, $J^\top J u$? A JVP followed by a VJP, without second derivatives.
# - *The trap:* You don't need $J$ in order to multiply it by a vector: both products can be computed without forming it.
# - *Proof:* `proof-two-passes`, `proof-vector-jacobian`.
#
# ### Per-sample gradients
# Differentially private training and influence functions need the gradient of each sample's loss. A backward pass of the summed
# loss gives only the sum of these gradients, and a loop over the samples is slow. With `is_grads_batched=True`, `autograd.grad`
# takes a batch of vectors $v$ instead, here the rows of the identity. For a linear layer there is a shortcut, because each gradient
# is the outer product of the gradient at the output and the input.

# %% tags=["proof-per-sample"]
samples, weight = torch.arange(6.0).reshape(3, 2), torch.tensor([[1.0, 1.0]], requires_grad=True)
output = samples @ weight.t()
each_loss = (output**2).sum(1)
(each,) = torch.autograd.grad(each_loss, weight, torch.eye(3), is_grads_batched=True, retain_graph=True)
at_output, total = torch.autograd.grad(each_loss.sum(), (output, weight))
print("batched gradients:", each.squeeze(1).tolist(), " gradient of the sum:", total.tolist())
outer = at_output * samples  # the layer has one output, so this is the outer product for each sample
pictures.grids(("at the output", at_output), "×", ("inputs", samples), "=", ("a gradient for each sample", outer))

# %% [markdown]
# Behind this is `vmap`, which turns the backward pass of one vector into a single vectorized pass for the whole batch. The usual way in
# PyTorch is to write the loss of *one* sample as a function and to transform it:


# %%
def loss_of_one(weight, sample):
    return ((weight @ sample) ** 2).sum()


per_sample = torch.vmap(torch.func.grad(loss_of_one), in_dims=(None, 0))(weight, samples)
print("vmap of grad:", per_sample.squeeze(1).tolist())

# %% [markdown]
# **Interview · How do you compute per-sample gradients without a loop?**
#
# - *Thirty seconds:* I write the loss of one sample as a function of the parameters and apply `vmap(grad(loss), in_dims=(None, 0))`. `grad`
#   makes it a function that returns the gradient, and `vmap` adds the batch dimension, so everything runs in one vectorized pass.
# - *Longer:* For an `nn.Module`, `torch.func.functional_call` passes the parameters as an argument. For linear layers, the outer product of
#   the output's gradient and the input gives the same, and libraries for differential privacy use hooks to do that.
# - *They ask next:* What does it cost? The memory of one gradient for each sample, unless only their norms are needed: then the outer
#   product doesn't have to be formed.
# - *The trap:* In train mode, batch norm mixes the samples, so that a sample's gradient depends on the rest of the batch.
# - *Proof:* `proof-per-sample`; batch norm: [chapter 12](12_norm_dropout_and_modes.ipynb).
#
# ## A formula of your own
# In an `autograd.Function`, `forward` runs without recording. `backward` receives $v$ and returns one VJP for each argument of
# `forward`. `ctx` belongs to the node, and `save_for_backward` saves a tensor *with* its version, as nodes do. What happens if you store
# the tensor as an attribute instead?


# %% tags=["proof-save-for-backward"]
class Attribute(Tanh):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return Tanh.forward(ctx, x)


h = torch.tensor([1.0, 2.0], requires_grad=True) * 1
node = Attribute.apply(h).grad_fn
h.mul_(10)
print("x:", node.x.tolist())
print("saved_tensors:", str(check.error(lambda: node.saved_tensors)).partition(" by")[0])

# %% [markdown]
# The attribute holds the new values without complaint, while `saved_tensors` compares versions and raises an error.
#
# **Interview · When do you write an `autograd.Function`, and what goes wrong?**
#
# - *Thirty seconds:* I write one when autograd can't see the operation, as with a C++ kernel or a NumPy call. Other reasons are a
#   derivative that should differ from the true one, and a formula that is cheaper or more stable than the recorded steps. The most
#   frequent mistake is to store tensors on `ctx` instead of calling `save_for_backward`.
# - *Longer:* `backward` returns one gradient for each argument of `forward`, and `None` where there is none. PyTorch ignores a
#   surplus of `None`, but any other surplus raises "returned an incorrect number of gradients".
# - *They ask next:* How do you test it? I run `gradcheck` in float64, and also `gradgradcheck` if it should be differentiated twice.
# - *The trap:* A tensor stored as an attribute of `ctx` isn't checked, so the formula above would silently compute with `[10, 20]`.
# - *Proof:* `proof-save-for-backward`, `proof-gradcheck`; second derivatives: `proof-once-differentiable`.
#
# ### Custom operations: `torch.library.custom_op`
# Only autograd deals with a `Function`. `torch.library.custom_op` declares an operation for the whole dispatcher ([chapter
# 02b](02b_dtypes_and_dispatch.ipynb)), with a schema, a kernel for each device, and a backward formula that you register, together with a
# `setup_context` that saves what the formula needs:


# %% tags=["proof-cube"]
@torch.library.custom_op("demo::cube", mutates_args=())
def cube(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.detach().numpy() ** 3)


def setup_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def cube_backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * 3 * x**2


x = torch.tensor([2.0], requires_grad=True)
print("before:", str(check.error(cube(x).sum().backward)).partition(" Please")[0])
cube.register_autograd(cube_backward, setup_context=setup_context)
cube(x).sum().backward()
print("x.grad:", x.grad, "  node:", cube(x).grad_fn.name())

# %% [markdown] tags=["short"]
# **Interview · `torch.library.custom_op` or `autograd.Function`?**
#
# - *Thirty seconds:* I use `custom_op` for a kernel that PyTorch can't see into, such as C++, Triton or NumPy code, because it gets a
#   schema, and `torch.compile` and export treat it as one opaque call. I use `Function` for a forward and a backward that are made of
#   PyTorch's own operations.
# - *Longer:* Beside the kernel you register the backward formula with `register_autograd`, and with `register_fake` a function that returns
#   the result's shape and dtype. `torch.library.opcheck` tests whether they fit together. `triton_op` lets the
#   compiler look inside a Triton kernel.
# - *They ask next:* What happens without `register_autograd`? The forward pass works, and `backward` raises an error.
# - *The trap:* An argument that is written to has to be named in `mutates_args`. Otherwise the call still goes through, and only `opcheck`
#   complains.
# - *Proof:* `proof-cube`.
#
# ## Finite differences and `gradcheck`
# To test a backward formula, move one element of the input a little to both sides, and divide the difference of the results by the
# distance, which gives a **central difference**:


# %%
def central_differences(function, x, step=1e-6):
    derivatives = []
    for index in range(len(x)):
        up, down = x.clone(), x.clone()
        up[index] += step
        down[index] -= step
        derivatives.append((function(up).sum() - function(down).sum()).item() / (2 * step))
    return derivatives


def by_backward(activation, x):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(activation(x).sum(), x)[0].tolist()


inputs = torch.tensor([-1.0, 0.5], dtype=torch.float64)
print("central differences", [f"{slope:.4f}" for slope in central_differences(torch.tanh, inputs)])
for name, activation in variants.items():
    print(f"{name:19}", [f"{slope:.4f}" for slope in by_backward(activation, inputs)])

# %% [markdown]
# The test finds the incorrect formula at once, without any training. It has two limits, however: float32 is too coarse for a step of
# $10^{-6}$, and at a kink the two sides disagree:

# %%
spacing = torch.tensor(0.46).nextafter(torch.tensor(1.0)) - 0.46  # tanh(0.5) is 0.46
print(f"float32: results are {spacing.item():.0e} apart, so the quotient is a multiple of {spacing.item() / 2e-6:.2f}")
kink = torch.zeros(1, dtype=torch.float64)
print("relu at 0: difference", central_differences(torch.relu, kink)[0], " backward", by_backward(torch.relu, kink)[0])

# %% [markdown]
# In float64 the spacing is 500 million times finer, so that is the dtype for **gradcheck**, which does the same for functions with several
# inputs and outputs, and compares element by element:

# %% tags=["proof-gradcheck"]
inputs.requires_grad_()
zero = torch.zeros(1, dtype=torch.float64, requires_grad=True)
cases = {name: (activation, inputs) for name, activation in variants.items()}
cases["1 - y² in float32"] = (Tanh.apply, inputs.detach().float().requires_grad_())
cases |= {"relu at 0": (torch.relu, zero), "abs at 0": (torch.abs, zero)}
for name, case in cases.items():
    with warnings.catch_warnings(action="ignore"):  # gradcheck warns about float32
        error = check.error(torch.autograd.gradcheck, *case)
    print(f"{name:18}", "passes" if error is None else "fails: " + str(error).partition(",")[0])

# %% [markdown]
# `abs` at 0 passes although it has a kink there: both sides cancel, and PyTorch's formula gives 0 as well, so `gradcheck` can miss a
# kink. In exercise 2 you give `mytorch` a `gradcheck`, and in exercise 5 you measure the best step.
#
# **Interview · How do you know that a gradient is right?**
#
# - *Thirty seconds:* I run `gradcheck`, which compares the backward pass with central differences, element by element, in float64. The
#   function must be deterministic and smooth around the inputs that I choose.
# - *They ask next:* How do you check a layer with a million outputs? `gradcheck(..., fast_mode=True)` compares only random projections
#   $u^\top J v$, which takes one backward pass and one difference.
# - *They ask next:* Why not just train? A falling loss doesn't prove that the gradient is correct, since both formulas at the top learn.
# - *The trap:* ReLU can't be tested at 0, where the central difference is 0.5 and PyTorch's formula gives 0.
# - *Proof:* `proof-gradcheck`, `proof-milestone`, `proof-wrong-learns`.
#
# ### Milestone: every formula of `mytorch`
# For each operation of `mytorch` that has a derivative, the cell runs `gradcheck`, which tests the gradient, and `gradgradcheck`, which
# tests the gradient of the gradient, on small float64 matrices.

# %% tags=["proof-milestone"]
from mytorch.autograd import examples, gradcheck, gradgradcheck
from mytorch.autograd.recording import DERIVATIVES

matrices = examples.matrices()
right = [name for name in DERIVATIVES if gradcheck(examples.example(name), matrices)]
twice = [name for name in DERIVATIVES if gradgradcheck(examples.example(name), matrices)]
print(f"{len(DERIVATIVES)} formulas: {len(right)} correct, {len(twice)} correct when differentiated again")

# %% [markdown] given="mytorch.autograd.hooks:on_arrival"
# ## Hooks: code that runs in the backward pass
# PyTorch calls a hook on a tensor with the tensor's gradient, once a pass, when the gradient is complete. The hook's return value replaces
# the gradient, unless it is `None`. Before your engine runs a node, it calls each function on a list, and the function below is what a hook
# puts on that list. (`checked` makes sure that the hook returned a tensor of the gradient's shape.)

# %% tags=["proof-hooks"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 3
seen = []
h.register_hook(lambda grad: seen.append(grad.tolist()))
h.register_hook(lambda grad: grad.clamp(max=2))
h.retain_grad()
(h * h + h).sum().backward()
print("the first hook saw", seen, " h.grad", h.grad.tolist(), " x.grad", x.grad.tolist())

# %% [markdown]
# `h` is used three times, yet each hook ran once, the first one with the sum $2h + 1$. `retain_grad` stores the sum as the hooks changed
# it.
#
# A leaf has a second kind of hook, which runs after the backward pass has accumulated into its `.grad`. An optimizer can take its step right
# there and free the gradient before the next one is computed:


# %% tags=["proof-step-in-backward"]
def take_step(parameter):
    if parameter.grad is not None:
        with torch.no_grad():
            parameter -= 0.1 * parameter.grad
        parameter.grad = None


w = torch.tensor([1.0, 2.0], requires_grad=True)
w.register_post_accumulate_grad_hook(take_step)
(w * w).sum().backward()
print("w after backward:", [round(value, 2) for value in w.tolist()], "  w.grad:", w.grad)

# %% [markdown]
# The guard matters: PyTorch and `mytorch` also call this hook if no gradient arrived, for example after a `Function` that returned
# `None`, and then `.grad` is still `None`. (minitorch doesn't call the hook in that case.)
#
# **Interview · When does a tensor's hook run, and what can it change?**
#
# - *Thirty seconds:* It runs in the backward pass, as soon as the gradient of that tensor is complete. It receives the sum over all uses of
#   the tensor, and it may return a different gradient, which then goes on through the graph.
# - *Longer:* Several hooks run in the order of registration, and each gets what the one before returned.
#   `register_post_accumulate_grad_hook` runs later, after a leaf's `.grad` was updated, and an optimizer can take its step there.
# - *The trap:* A hook must not change the gradient in place, since other tensors may share its memory. It returns a new one.
# - *Proof:* `proof-hooks`, `proof-step-in-backward`.
#
# ## Where does the NaN come from?
# The derivative of a square root at 0 is infinite, and infinity times 0 is NaN. **Anomaly mode** raises an error at the first node whose
# backward returns NaN, and prints where the forward pass recorded that node. It keeps a traceback for each node, which is slow, so switch
# it on only for the search. The third call below shows its limit.

# %% tags=["proof-anomaly"]
x = torch.tensor([0.0, 1.0], requires_grad=True)
(x.sqrt() * 0).sum().backward()
print("without:", x.grad)
with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():  # it warns that it is slow
    print("with:   ", check.error((x.sqrt() * 0).sum().backward))
    print("an inf: ", torch.autograd.grad(x.sqrt().sum(), x)[0])
    print("a log:  ", check.error(((x - 0.5).log() * torch.ones(2, requires_grad=True)).sum().backward))
print("the log's result:", [round(value, 1) for value in (x - 0.5).log().tolist()])
guarded = [torch.where(x > 0, x.sqrt(), x * 0), torch.where(x > 0, x, torch.ones(2)).sqrt() * (x > 0)]
for name, result in zip(("where after the root: ", "where before the root:"), guarded, strict=True):
    print(name, torch.autograd.grad(result.sum(), x)[0].tolist())

# %% [markdown]
# Anomaly mode blames the wrong operation in the third call. The logarithm of a negative number made that NaN in the *forward* pass; the
# multiplication was merely the first node that met it in the backward pass. This is the usual case in practice, so check the data, the
# activations and the loss with `isnan` first. The last two lines show a famous remedy: `where` helps only if it makes the input safe
# *before* the square root.
#
# **Interview · A gradient is `nan`. How do you find the operation?**
#
# - *Thirty seconds:* First I check the forward pass with `isnan`, from the data to the loss. If it is clean, the NaN was born in the
#   backward pass, and I run one step under `torch.autograd.detect_anomaly()`. It raises an error at the first node whose backward returns
#   NaN, and shows where that node was recorded.
# - *Longer:* It detects only NaN, so the gradient of `x.sqrt().sum()` at 0, which is infinite, raises no error.
# - *They ask next:* What are the usual suspects? A square root, a logarithm or a division at 0, and `0 * inf`.
# - *The trap:* `torch.where(x > 0, x.sqrt(), 0)` doesn't hide the NaN. The branch that isn't taken gets a gradient of 0, and 0 times
#   infinity is NaN, so the input has to be made safe before the square root.
# - *Proof:* `proof-anomaly`.

# %% [markdown] given="mytorch.autograd.function:Function.apply"
# ## The real one
# `Function.apply` of `mytorch` makes a node, runs `forward` under `no_grad`, and gives the results a history. `Context` is the class of
# `ctx`, and a `FunctionNode` calls `backward` when it runs.

# %%
import inspect

print(inspect.getsource(torch.autograd.Function.apply))

# %% [markdown]
# This is minitorch's version, and PyTorch's does the same. Both had to add four things:
#
# - `setup_context`, a newer style in which `forward` gets no `ctx`;
# - keyword arguments, which `_by_position` puts in order;
# - `vmap`, whose running calls `levels()` lists, and which runs the function on whole batches;
# - inputs that `forward` wrote to, which `_recorded` handles.
#
# `_backward_cls` makes the node, and `grad_mode.asked` is `Mode.enabled`.

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. `backward(v)` computes the vector–Jacobian product $v^\top J$, with $v = 1$ for a scalar.
# 2. `retain_graph` keeps saved tensors, and `create_graph` records the backward pass.
# 3. Backward formulas are made of recorded operations, so a gradient can be differentiated.
# 4. A backward pass gives `.grad` a history only with `create_graph=True`, and even then not always.
# 5. A `Function` saves tensors with `save_for_backward`, because attributes of `ctx` have no version check.
# 6. `backward` of a `Function` returns one gradient for each argument of `forward`.
# 7. A falling loss doesn't prove that a formula is correct.
# 8. `gradcheck` compares with central differences, in float64 and away from kinks.
# 9. A hook gets the complete gradient once a pass, and may replace it.
# 10. Check the forward pass for NaN first; anomaly mode finds a NaN that is born in the backward pass.

# %% [markdown] tags=["short"]
# ## Rapid fire
# - *Must a gradient hook return something?* No, `None` keeps the gradient.
# - *After `backward()`, does a leaf's `.grad` require grad?* No, but with `create_graph=True` it may.
# - *Does `create_graph=True` retain the graph?* Yes, unless you pass `retain_graph=False`.
# - *How many backward passes does a Jacobian with 5 outputs take?* Five, one for each row; `vmap` can batch them.
# - *May the `backward` of a custom `Function` return `None`?* Yes, then no gradient goes to that argument.

# %% tags=["proof-rapid-fire"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.register_hook(lambda grad: None)
(x * x).sum().backward()
print("x.grad:", x.grad.tolist(), "  requires grad:", x.grad.requires_grad)

# %% [markdown]
# ## You try
# In [seven exercises](../exercises/07b_vector_jacobian_products.ipynb) you predict a vector–Jacobian product, give `mytorch` its
# gradcheck and its hooks, and write a rounding that lets gradients through. Then you multiply a Hessian by a vector, fix a penalty that
# has no effect, and measure the best step of a central difference. [Chapter 08](08_static_and_dynamic_graphs.ipynb) looks at the graph as
# a whole and asks what you can do with it before it runs.
#
# ## If you have time
# ### `once_differentiable` and `mark_dirty`
# A `backward` that leaves PyTorch, for example for NumPy, isn't recorded, so a second derivative lacks a term without any error.
# `once_differentiable` makes `backward` raise one instead. The function below is $x^3 \cdot x$ at $x = 2$, whose second derivative is 48.
# The last class writes into its input, which it must declare with `mark_dirty`, so that the input gets the new history.


# %% tags=["proof-once-differentiable"]
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.from_numpy(x.detach().numpy() ** 3)

    setup_context = staticmethod(setup_context)
    backward = staticmethod(cube_backward)


def through_numpy(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * torch.from_numpy(3 * x.detach().numpy() ** 2)


class NumpyCube(Cube):
    backward = staticmethod(through_numpy)


class OnceCube(Cube):
    backward = staticmethod(torch.autograd.function.once_differentiable(through_numpy))


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


for cube in (Cube, NumpyCube, OnceCube):
    x = torch.tensor([2.0], requires_grad=True)
    (first,) = torch.autograd.grad((cube.apply(x) * x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, retain_graph=True)
    error = check.error(first.sum().backward)
    print(f"{cube.__name__:9} by grad {second.item()}, by backward", x.grad.item() if error is None else error)
h = torch.ones(2, requires_grad=True) * 1
print("same tensor:", Double.apply(h) is h, " its node:", h.grad_fn.name())

# %% [markdown]
# The decorator doesn't catch every case: `autograd.grad` runs only the nodes that lead to `x`, so it goes around the node that raises, and
# returns 12.
#
# ### When does `.grad` have a history?
# [Chapter 06](06_computation_graph.ipynb) showed that `.grad` is a plain tensor, whose history needs `create_graph=True`. Even then it has one
# only if the derivative depends on the leaf:

# %% tags=["proof-grad-of-grad"]
for function, create_graph in ((torch.square, False), (torch.square, True), (torch.neg, True)):
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        function(leaf).sum().backward(create_graph=create_graph)
    print(f"{function.__name__:6} create_graph {create_graph!s:5}", leaf.grad.tolist(), leaf.grad.requires_grad)
    print(*(str(warning.message).partition(" between")[0] + "\n" for warning in caught), end="")
