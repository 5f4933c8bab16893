# %% [markdown] tags=["short"]
# # Vector–Jacobian products
# A formula for a gradient can be wrong, and training still works. In this chapter you write formulas of your own,
# differentiate a gradient, hook into the backward pass, and check every formula of `mytorch`.
#
# ## A wrong formula still learns
# The derivative of $y = \tanh x$ is $1 - y^2$. Someone writes $1 - |y|$. `autograd.Function` puts a pair of forward and
# backward into the graph as one node, so both can be tried. Train a small network on a sine with each.

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
        ctx.x = x
        return x.tanh()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (1 - x.tanh() ** 2)


class Absolute(Tanh):
    @staticmethod
    def backward(ctx, grad):
        return grad * (1 - ctx.saved_tensors[0].tanh().abs())


def losses(activation):
    torch.manual_seed(0)
    x = torch.linspace(-2, 2, 40).unsqueeze(1)
    weights = [torch.randn(size).requires_grad_() for size in ((1, 16), (16,), (16, 1))]
    for _ in range(200):
        loss = ((activation(x @ weights[0] + weights[1]) @ weights[2] / 4 - (2 * x).sin()) ** 2).mean()
        yield loss.item()
        slopes = torch.autograd.grad(loss, weights)
        weights = [(w - 0.3 * g).detach().requires_grad_() for w, g in zip(weights, slopes, strict=True)]


variants = {"1 - y²": Tanh.apply, "1 - |y|": Absolute.apply}
curves = {name: list(losses(activation)) for name, activation in variants.items()}
print({name: round(values[-1], 3) for name, values in curves.items()})
pictures.curves(curves, xlabel="step", ylabel="mean squared error", log="y")

# %% [markdown] tags=["short"]
# Both losses fall, and the wrong formula ends close to the right one. A falling loss proves nothing about a gradient.
#
# ## A formula of your own
# `forward` runs unrecorded, and `backward` gets the gradient of the result and returns one for each argument of `forward`.
# `ctx` belongs to the node: `save_for_backward` keeps a tensor *with* its version, `ctx.x = x` without. What is the difference?

# %% tags=["proof-save-for-backward"]
h = torch.tensor([1.0, 2.0], requires_grad=True) * 1
node = Tanh.apply(h).grad_fn
h.mul_(10)
print("x:", node.x.tolist())
print("saved_tensors:", str(check.error(lambda: node.saved_tensors)).partition(" by")[0])

# %% [markdown]
# **Interview · When do you write an `autograd.Function`, and what goes wrong?**
#
# - *Thirty seconds:* When autograd can't see the operation (a C++ kernel, a NumPy call), when its derivative should be
#   another one, or when a formula is cheaper or more stable than the recorded steps.
# - *Longer:* `backward` returns one gradient for each argument of `forward`, `None` where there is none.
# - *They ask next:* How do you test it? `gradcheck`, and `gradgradcheck`, in float64.
# - *The trap:* keeping a tensor as an attribute of `ctx`. Above, the formula would compute with `[10, 20]`.
# - *Proof:* `proof-save-for-backward`, `proof-gradcheck`.
#
# ### In today's PyTorch: a custom operation
# A `Function` is known to autograd alone. `torch.library.custom_op` declares an operation that the whole dispatcher knows
# ([chapter 02b](02b_dtypes_and_dispatch.ipynb)): with a schema, a kernel for each device, and a formula that you register.
# `minitorch` has no `torch.library`, so this is PyTorch 2.13's own text, with what it prints:
#
# ```python
# @torch.library.custom_op("demo::cube", mutates_args=())
# def cube(x: Tensor) -> Tensor:
#     return torch.from_numpy(x.detach().numpy() ** 3)
#
# x = torch.tensor([2.0], requires_grad=True)
# cube(x).sum().backward()
# # RuntimeError: Trying to backward through demo.cube.default but no autograd
# # formula was registered. Please use register_autograd to add one.
#
# # both functions as in a Function: grad * 3 * x**2
# cube.register_autograd(backward, setup_context=setup_context)
# cube(x).sum().backward()
# print(x.grad)  # tensor([12.])
# ```
#
# The same formula as a `Function`, so that you can run it:


# %% tags=["proof-cube"]
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.from_numpy(x.detach().numpy() ** 3)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


x = torch.tensor([2.0], requires_grad=True)
Cube.apply(x).sum().backward()
print("x.grad:", x.grad, "  node:", Cube.apply(x).grad_fn.name())

# %% [markdown]
# **Interview · `torch.library.custom_op` or `autograd.Function`?**
#
# - *Thirty seconds:* `custom_op` for a kernel that PyTorch can't see into, such as C++, Triton or NumPy code: it gets a schema and
#   works with `torch.compile` and export as one opaque call. `Function` for a pair of forward and backward made of PyTorch's own
#   operations.
# - *Longer:* Beside the kernel you register the formula with `register_autograd`, and with `register_fake` a function that gives
#   the result's shape and dtype. `torch.library.opcheck` tests whether they fit together. Kernels in C++ and Triton are
#   registered in the same way (`triton_op` lets the compiler look inside).
# - *They ask next:* What happens without `register_autograd`? The forward pass works, and `backward` raises.
# - *The trap:* An operation that writes to an argument must name it in `mutates_args`. If it doesn't, the call goes through all
#   the same, and only `opcheck` complains. *Proof:* `proof-cube`.
#
# ## Nudging: the smallest test
# To test a formula, move one number of the input a little to both sides, and divide the difference of the results by the distance:


# %%
def nudged(function, x, step=1e-6):
    slopes = []
    for place in range(len(x)):
        up, down = x.clone(), x.clone()
        up[place] += step
        down[place] -= step
        slopes.append((function(up).sum() - function(down).sum()).item() / (2 * step))
    return slopes


def formula(activation, x):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(activation(x).sum(), x)[0].tolist()


inputs = torch.tensor([-1.0, 0.5], dtype=torch.float64)
print("nudged  ", [f"{slope:.4f}" for slope in nudged(torch.tanh, inputs)])
for name, activation in variants.items():
    print(f"{name:8}", [f"{slope:.4f}" for slope in formula(activation, inputs)])

# %% [markdown]
# The wrong formula is found at once, without any training. Now break the test in two ways. The results of a float32 function come
# in steps that are coarse for a nudge of $10^{-6}$, and at a kink the two sides disagree:

# %%
spacing = torch.tensor(0.46).nextafter(torch.tensor(1.0)) - 0.46  # tanh(0.5) is 0.46
print(f"float32: results are {spacing.item():.0e} apart, so slopes come in steps of {spacing.item() / 2e-6:.2f}")
kink = torch.zeros(1, dtype=torch.float64)
print("relu at 0: nudged", nudged(torch.relu, kink)[0], " formula", formula(torch.relu, kink)[0])

# %% [markdown]
# In float64 the steps are 500 million times finer, so that is where **gradcheck** works. It does the same for functions with several
# inputs and results, and compares entry by entry:

# %% tags=["proof-gradcheck"]
inputs.requires_grad_()
cases = {name: (activation, inputs) for name, activation in variants.items()}
cases["1 - y² in float32"] = (Tanh.apply, inputs.detach().float().requires_grad_())
cases["relu at 0"] = (torch.relu, torch.zeros(1, dtype=torch.float64, requires_grad=True))
for name, case in cases.items():
    with warnings.catch_warnings(action="ignore"):  # gradcheck warns about float32
        error = check.error(torch.autograd.gradcheck, *case)
    print(name, "passes" if error is None else "fails")
print(error)

# %% [markdown] tags=["short"]
# Exercise 2 makes `mytorch` a gradcheck, and exercise 5 measures the best nudge.
#
# **Interview · How do you know that a gradient is right?**
#
# - *Thirty seconds:* `gradcheck`: central differences against the backward pass, entry by entry, in float64.
# - *Longer:* The function must be deterministic and smooth at that point.
# - *They ask next:* Why not just train? Both curves at the top go down.
# - *The trap:* testing ReLU at 0, where the quotient is 0.5 and PyTorch's formula gives 0.
# - *Proof:* `proof-gradcheck`, `proof-milestone`.
#
# ## `backward`, argument by argument
# A loss is one number. What if the result has two?

# %% tags=["proof-vector-jacobian"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = torch.stack([x[0] * x[1], x[2].exp()])
print(check.error(y.backward))
rows = [torch.autograd.grad(y, x, each, retain_graph=True)[0] for each in torch.eye(2)]
v, jacobian = torch.tensor([1.0, 10.0]), torch.stack(rows)
y.backward(v, retain_graph=True)
print("v @ J:", (v @ jacobian).round(decimals=1), "  x.grad:", x.grad.round(decimals=1))


def product(v, x=x, y=y, jacobian=jacobian):
    (slopes,) = torch.autograd.grad(y, x, torch.tensor(v), retain_graph=True)
    return pictures.grids(("v", torch.tensor(v)), "@", ("J", jacobian), "=", ("v @ J", slopes))


pictures.slider(product, start={"v": (1.0, 10.0)}, v=[(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 10.0), (0.0, 0.0)])

# %% [markdown]
# The **gradient argument** `v` says how much each entry of `y` counts: `y.backward(v)` gives the derivative of
# $\sum_i v_i y_i$, the **vector–Jacobian product** $v^\top J$ with $J_{ij} = \partial y_i / \partial x_j$, without
# building $J$. For $J$ itself, ask for one row at a time, as `rows` does.
#
# Each row needs the saved values again, so `retain_graph=True` keeps them. `create_graph=True` does more: it records
# the backward pass too, so that the gradient has a derivative. That works because the formulas are made of operations.

# %% tags=["proof-create-graph"]
x = mytorch.tensor(2.0, requires_grad=True)
derivatives = [x**3]
for _ in range(3):
    derivatives += mytorch.autograd.grad(derivatives[-1], x, create_graph=True)
print(*derivatives, sep="\n")
print("with retain_graph alone:", mytorch.autograd.grad(x**3, x, retain_graph=True)[0])

# %% [markdown]
# That is $x^3$, $3x^2$, $6x$ and 6 at $x = 2$. Newton's method and gradient penalties need such second derivatives.
#
# **Interview · Why does `backward` need an argument when the result isn't a scalar?**
#
# - *Thirty seconds:* Reverse mode computes $v^\top J$, and you have to say what $v$ is. For a scalar it is 1.
# - *Longer:* `y.backward(v)` gives the derivative of $\sum_i v_i y_i$.
# - *They ask next:* What if you want the whole Jacobian? One pass for each output, as in `rows`, or
#   `torch.autograd.functional.jacobian`.
# - *The trap:* `torch.ones_like(y)` for "the derivative": that is the derivative of the sum.
# - *Proof:* `proof-vector-jacobian`.
#
# **Interview · `retain_graph` or `create_graph`?**
#
# - *Thirty seconds:* `retain_graph` keeps the saved values, so that the same graph can run again. `create_graph`
#   records the backward pass, so that you can differentiate the gradient; by default it retains too.
# - *Longer:* Gradient penalties, Hessian–vector products and meta-learning need `create_graph`.
# - *They ask next:* Why does `backward(create_graph=True)` warn? `.grad` and its leaf hold each other. `autograd.grad`
#   makes no such cycle.
# - *The trap:* `retain_graph=True` to silence "backward a second time". Often a hidden state should have been detached.
# - *Proof:* `proof-create-graph`, `proof-grad-of-grad`.
#
# ### How many passes?
# One backward pass gives one row of the Jacobian. A loss has one row, whatever the number of parameters, and that is why
# networks are trained in **reverse mode**. **Forward mode** gives one column a pass: $J u$, the **Jacobian–vector product**. You
# can get it from two passes of reverse mode, because $v^\top J$ is linear in $v$, so the second pass finds $J$ again:


# %% tags=["proof-two-passes"]
def function(x):
    return torch.stack([x[0] * x[1], x[2].exp()])


x = torch.tensor([1.0, 2.0, 0.0], requires_grad=True)
u, dummy = torch.tensor([1.0, 0.0, 3.0]), torch.ones(2, requires_grad=True)
(row,) = torch.autograd.grad(function(x), x, dummy, create_graph=True)
(column,) = torch.autograd.grad(row, dummy, u)
nudge = 1e-3 * u
quotient = (function(x + nudge) - function(x - nudge)) / 2e-3
print("J @ u by two passes:", column.tolist(), "  by nudging:", [round(each, 2) for each in quotient.tolist()])
passes = {"reverse mode": [1, 10, 100, 1000], "forward mode": [1000] * 4}
pictures.curves(
    passes, [1, 10, 100, 1000], xlabel="results of a function of 1000 inputs", ylabel="passes for J", log="xy"
)

# %% [markdown]
# **Interview · Reverse mode or forward mode?**
#
# - *Thirty seconds:* Reverse mode costs a pass for each result, forward mode a pass for each input. A loss has one result and
#   millions of inputs, so reverse.
# - *Longer:* Forward mode keeps no saved values, since it computes along with the function. In PyTorch it is
#   `torch.func.jvp`; `jacfwd` and `jacrev` build whole Jacobians.
# - *They ask next:* And a Hessian? Forward over reverse: one column for each input, and each costs a small multiple of a gradient.
# - *The trap:* Building $J$ to multiply it by a vector. Both products exist without it. *Proof:* `proof-two-passes`.
#
# ### Myth · `.grad` is itself a `Variable`
# That was true when there were two classes. Now `.grad` is `None` or a tensor, usually without a history.

# %% tags=["proof-grad-of-grad"]
for function, create_graph in ((torch.square, False), (torch.square, True), (torch.neg, True)):
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        function(leaf).sum().backward(create_graph=create_graph)
    print(f"{function.__name__:6} {create_graph!s:5}", leaf.grad.tolist(), leaf.grad.requires_grad)
    print(*(str(each.message).partition(" between")[0] + "\n" for each in caught), end="")

# %% [markdown]
# ### Milestone: every formula of `mytorch`
# Each operation of `mytorch` that has a derivative is called with small float64 matrices. `gradcheck` tests its
# gradient, `gradgradcheck` the gradient of that.

# %% tags=["proof-milestone"]
from mytorch.autograd import examples, gradcheck, gradgradcheck
from mytorch.autograd.recording import DERIVATIVES

matrices = examples.matrices()
right = [name for name in DERIVATIVES if gradcheck(examples.example(name), matrices)]
twice = [name for name in DERIVATIVES if gradgradcheck(examples.example(name), matrices)]
print(f"{len(DERIVATIVES)} formulas: {len(right)} right, {len(twice)} right when differentiated again")

# %% [markdown] given="mytorch.autograd.hooks:on_arrival"
# ## Hooks: code that runs in the backward pass
# A hook on a tensor is called with its gradient, once a pass, when the gradient is complete. What it returns replaces
# the gradient, unless it is `None`. Before your engine runs a node, it calls each function on a list. The function below is what
# hooks put on that list. (`checked` makes sure that a hook returned a tensor of the gradient's shape.)

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
# `h` is used three times, yet the hook ran once, with the sum $2h + 1$. `retain_grad` keeps what the hooks made of that sum.
#
# A leaf has a second kind of hook, which runs when its `.grad` has been written. An optimizer can take its step right there,
# and free the gradient before the next one is computed:


# %% tags=["proof-step-in-backward"]
def step(parameter):
    with torch.no_grad():
        parameter -= 0.1 * parameter.grad
    parameter.grad = None


w = torch.tensor([1.0, 2.0], requires_grad=True)
w.register_post_accumulate_grad_hook(step)
(w * w).sum().backward()
print("w after backward:", [round(each, 2) for each in w.tolist()], "  w.grad:", w.grad)

# %% [markdown]
# **Interview · When does a tensor's hook run, and what can it change?**
#
# - *Thirty seconds:* In the backward pass, when the gradient of that tensor is complete. It may return another gradient, which then
#   goes on through the graph.
# - *Longer:* It sees the sum over all uses, once a pass. Several hooks run in the order of registration, each with what the one
#   before returned. `register_post_accumulate_grad_hook` runs later, when a leaf's `.grad` is written; an optimizer can take
#   its step there.
# - *They ask next:* And a hook on a module? It sees inputs and outputs of a layer
#   ([chapter 09](09_modules_and_parameters.ipynb)).
# - *The trap:* changing the gradient in place. Others may hold the same tensor; return a new one. *Proof:* `proof-hooks`,
#   `proof-step-in-backward`.
#
# ## Where does the `nan` come from?
# The slope of a square root at 0 is infinite, and infinity times 0 is `nan`. **Anomaly mode** stops at the node that
# made it, and prints where in the forward pass that node was recorded. It keeps a traceback for each node, which is
# slow, so switch it on only for the search.

# %% tags=["proof-anomaly"]
x = torch.tensor([0.0, 1.0], requires_grad=True)
(x.sqrt() * 0).sum().backward()
print("without:", x.grad)
with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():  # it warns
    print("with:   ", check.error((x.sqrt() * 0).sum().backward))
    print("an inf: ", torch.autograd.grad(x.sqrt().sum(), x)[0])
guarded = [torch.where(x > 0, x.sqrt(), x * 0), torch.where(x > 0, x, torch.ones(2)).sqrt() * (x > 0)]
for name, result in zip(("where after the root: ", "where before the root:"), guarded, strict=True):
    print(name, torch.autograd.grad(result.sum(), x)[0].tolist())

# %% [markdown]
# **Interview · A gradient is `nan`. How do you find the operation?**
#
# - *Thirty seconds:* Run the step once under `torch.autograd.detect_anomaly()`. It raises at the first node whose backward returns
#   nan, and shows where its forward was called.
# - *Longer:* It looks for nan alone. The gradient of `x.sqrt().sum()` at 0 is an `inf`, and nothing is raised.
# - *They ask next:* What are the usual suspects? A square root, a logarithm or a division at 0, and `0 * inf`.
# - *The trap:* `torch.where(x > 0, x.sqrt(), 0)` doesn't help: the branch that isn't taken gets a gradient of 0, and 0 times
#   infinity is nan. Make the input safe before the square root. *Proof:* `proof-anomaly`.
#
# %% [markdown] given="mytorch.autograd.function:Function.apply"
# ## The real one
# `Function.apply` of `mytorch` makes a node, runs `forward` under `no_grad`, and gives the results a history. `Context`
# is the class of `ctx`, and a `FunctionNode` calls `backward` when it runs.

# %%
import inspect

print(inspect.getsource(torch.autograd.Function.apply))

# %% [markdown] tags=["short"]
# This is minitorch's, and PyTorch's does the same. PyTorch had to add `setup_context`, a newer style in which
# `forward` gets no `ctx`; keyword arguments, which `_by_position` puts in order; and, in `_recorded`, inputs that
# `forward` wrote to. `_backward_cls` makes the node, and `grad_mode.asked` is `Mode.enabled`.
#
# ## Ten lines to remember
# 1. `backward(v)` gives $v^\top J$. A scalar has $v = 1$.
# 2. `retain_graph` keeps saved values; `create_graph` records the backward pass.
# 3. Formulas are made of operations, so a gradient can be differentiated.
# 4. After a backward pass, `.grad` has a history only if you asked with `create_graph=True`, and even then not always.
# 5. A `Function` saves tensors with `save_for_backward`, never as attributes.
# 6. `backward` of a `Function` returns one gradient for each argument.
# 7. A falling loss proves nothing about a formula.
# 8. gradcheck: central differences, float64, away from kinks.
# 9. A hook sees the complete gradient once a pass, and may replace it.
# 10. Anomaly mode names the node that made the nan.
#
# ## Rapid fire
# - *Must a hook return something?* No, `None` keeps the gradient.
# - *After one `backward()`, does `.grad` require grad?* No; with `create_graph=True` it may.
# - *Does `create_graph` retain the graph?* Yes, by default.
# - *How many backward passes does a Jacobian with 5 results take?* Five, one for each row.
# - *May `backward` of a `Function` return `None`?* Yes. It means that no gradient goes to that argument, and no error says so.

# %% tags=["proof-rapid-fire"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.register_hook(lambda grad: None)
(x * x).sum().backward()
print("x.grad:", x.grad.tolist(), "  requires grad:", x.grad.requires_grad)

# %% [markdown]
# ## You try
# [Seven exercises](../exercises/07b_vector_jacobian_products.ipynb), 17 points: predict a vector–Jacobian product; give `mytorch` its gradcheck and its hooks; write a rounding that
# lets gradients through; multiply a Hessian by a vector; repair a penalty that has no effect; measure the best step of a
# difference quotient. [Chapter 08](08_static_and_dynamic_graphs.ipynb) looks at the graph as a whole: what can you do with it if
# you know it before it runs?
