# %% [markdown]
# # Backward in depth
# Your engine from chapter 06 is right as long as nobody changes a number between the forward and the backward pass. Now
# it learns to notice such a change, to be switched off, and to differentiate its own backward pass. At the end every
# formula of `mytorch` is checked. Plan two sittings of 50 minutes, and 90 more for the exercises.
#
# ## Four ways to add one
# `h` is `exp(x)`, and each line below adds 1 to it in place. A constant changes no derivative, so the gradient of `x`
# should always be $e^x$, `[1, 2.7183]`.

# %% hidden=true
from course import check, lesson, pictures

mytorch = lesson.mytorch(7)  # mytorch as it is after this chapter, with your parts where you solved them

# %%
import minitorch as torch

writes = ["h.add_(1)", "h.detach().add_(1)", "h[:1].add_(1)", "h.data.add_(1)"]
for write in writes:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    h = x.exp()
    eval(write)
    error = check.error(h.sum().backward)
    print(f"{write:19}", x.grad if error is None else str(error).partition(" by")[0])

# %% [markdown]
# Three raise. The fourth gives a gradient, and it is wrong.
#
# ## A version beside the numbers
# The derivative of `exp` is its result, so the node saved `h`: the tensor itself, since a copy would cost memory.
# It also saved a **version**, the number of writes so far. The whole idea fits in a dozen lines.


# %%
class Row:
    def __init__(self, numbers):
        self.numbers, self.version = numbers, 0

    def add_(self, amount):
        self.numbers[:] = [number + amount for number in self.numbers]
        self.version += 1


class Saved:
    def __init__(self, row):
        self.row, self.version = row, row.version

    def get(self):
        if self.row.version != self.version:
            raise RuntimeError(f"at version {self.row.version}; expected version {self.version} instead")
        return self.row.numbers


row = Row([1.0, 2.7])
saved = Saved(row)
row.add_(1)
print(check.error(saved.get))

# %% [markdown]
# Now break it. A second `Row` on the same list acts as a view, but has a counter of its own:

# %%
row = Row([1.0, 2.7])
saved, view = Saved(row), Row(row.numbers)
view.add_(1)
print(saved.get(), "at version", row.version)

# %% [markdown]
# The numbers changed and nobody noticed. Tensors that share memory have to share the counter too. Which ones do?

# %% tags=["proof-shared-counter"]
t = torch.zeros(3)
tensors = {"t": t, "view": t[:2], "detach": t.detach(), "data": t.data}
for tensor in tensors.values():
    tensor.add_(1)
t.numpy()[0] = 7
print({name: tensor._version for name, tensor in tensors.items()}, t.tolist())

# %% [markdown]
# A view and `detach()` share the counter. `.data` shares only the memory, and NumPy doesn't count. In `mytorch` the
# counter belongs to the storage, and `write` from chapter 03 moves it. With the slider you choose how many of the four
# writes from above are made before `backward`.


# %%
def after(count):
    h = torch.tensor([0.0, 1.0], requires_grad=True).exp()
    for write in writes[:count]:
        eval(write, {"h": h})
    verdict = "backward works" if check.error(h.sum().backward) is None else "backward raises"
    name = f"{['h = x.exp()', *writes][count]}: {verdict}"
    return pictures.storage(h, {name: h}, version=h._version)


pictures.slider(after, start={"count": 1}, count=[0, 1, 2, 3, 4])

# %% [markdown]
# Which writes are harmless? That depends on what the formula needs. Here you write into the input or the result of five
# operations, then into a leaf that requires grad, and into a view of it:


# %% tags=["proof-what-may-be-written"]
def verdict(operation, into):
    source = torch.tensor([0.5, 1.5], requires_grad=True) * 1
    result = eval(operation, {"a": source})
    with torch.no_grad():
        {"input": source, "result": result}[into].add_(1)
    return "fine" if check.error(result.sum().backward) is None else "raises"


for operation in ("a + 1", "a * 2", "a * a", "a.exp()", "a.relu()"):
    print(f"{operation:9}", {into: verdict(operation, into) for into in ("input", "result")})
leaf = torch.tensor([1.0, 2.0], requires_grad=True)
print(check.error(leaf.mul_, 2), check.error(leaf[:1].mul_, 2), sep="\n")

# %% [markdown]
# A recorded write would turn the leaf into a result, and its `.grad` would stay empty. Optimizers write to their
# parameters under `no_grad`.
#
# **Interview · When is an in-place operation an error?**
#
# - *Thirty seconds:* When it overwrites a value that a backward formula still needs: a node saves the version with the
#   tensor, and backward raises if the counter has moved. Or, at once, when a recorded write meets a leaf that requires
#   grad.
# - *Longer:* `exp` and `relu` keep their result, a product of two tensors its factors, a sum nothing.
# - *They ask next:* Does `no_grad` help? No. The write isn't recorded, but it still counts.
# - *The trap:* `.data` to silence the error. It silences the check, not the mistake.
# - *Proof:* `proof-what-may-be-written`, `proof-shared-counter`.
#
# ## Turning recording off · 2.5 禁用梯度计算
# Guess both columns before you run the cell.

# %% tags=["proof-modes"]
w, tensors = torch.tensor([1.0, 2.0], requires_grad=True), {}
with torch.no_grad():
    tensors["no_grad"] = w * 2
    tensors["a new leaf in it"] = torch.tensor([1.0], requires_grad=True)
    with torch.enable_grad():
        tensors["enable_grad in it"] = w * 2
with torch.inference_mode():
    tensors["inference_mode"] = inference = w * 2
    with torch.set_grad_enabled(True):
        tensors["set_grad_enabled in it"] = w * 2
tensors["eval()"] = torch.nn.Linear(2, 1).eval()(w)
for name, tensor in tensors.items():
    print(f"{name:22} requires grad {tensor.requires_grad!s:5}  inference tensor {tensor.is_inference()}")
for use in (lambda: w * inference, lambda: inference.add_(1), lambda: inference._version):
    print(str(check.error(use)).partition(".")[0])

# %% [markdown]
# `no_grad` switches off the recording of *results*; a new leaf may still ask for gradients. `eval()` changes none of
# this. Inference tensors have no version counter, so no node can save them, not even later.
#
# In `mytorch` a mode is a flag, `Mode.enabled`, that `record` from chapter 06 looks at, and a `GradMode` object that
# sets it and puts it back. Its three methods are exercise 2.
#
# **Interview · `no_grad`, `inference_mode`, `detach` or `eval`?**
#
# - *Thirty seconds:* `no_grad` for code that shouldn't be recorded, such as an optimizer's step. `inference_mode` for
#   pure prediction. `detach` to cut one tensor out of the graph. `eval` changes what layers such as dropout compute,
#   and doesn't stop the recording.
# - *Longer:* `enable_grad`, or `set_grad_enabled(True)`, brings recording back inside `no_grad`, not inside
#   `inference_mode`.
# - *They ask next:* Is a parameter that was created under `no_grad` trainable? Yes, a leaf's flag is its own.
# - *The trap:* only `model.eval()` in a validation loop: the graph is still recorded.
# - *Proof:* `proof-modes`.
#
# ## `detach` shares memory · 3.15 detach原理
# `detach` gives a new tensor on the same storage, without a history.

# %% tags=["proof-detach"]
a = torch.tensor([1.0, 2.0], requires_grad=True)
y = a * 3
cut, new = y.detach(), y.clone()
print(cut.requires_grad, cut.is_leaf, cut.grad_fn, "same memory:", cut.data_ptr() == y.data_ptr())
print(new.requires_grad, new.is_leaf, new.grad_fn.name(), "same memory:", new.data_ptr() == y.data_ptr())
cut[0] = 100
(y * cut).sum().backward()
print(y, a.grad)

# %% [markdown]
# Autograd treats `cut` as a constant: `a` gets $3 \cdot [100, 6]$, through `y` alone.
#
# **Interview · What does `detach` do, and how is it different from `.data` and `clone`?**
#
# - *Thirty seconds:* It returns a tensor on the same memory that isn't connected to the graph.
# - *Longer:* Autograd notices a write through it, since it shares the version counter; `.data` doesn't. `clone` copies
#   the memory and *stays* in the graph. For a copy outside the graph, write `x.detach().clone()`.
# - *They ask next:* Does `detach` free the graph? No, the original still holds it.
# - *The trap:* `x.detach().numpy()` shares memory too, and NumPy counts nothing.
# - *Proof:* `proof-detach`, `proof-shared-counter`.
#
# ## What `Variable` was · D4 Variable的理解
# Before version 0.4 a tensor held only numbers, and a `Variable` around it had `data`, `grad` and `grad_fn`. Then the
# two became one class.

# %% tags=["proof-variable"]
hidden = w * 3
wrapped = torch.autograd.Variable(hidden)
print(type(wrapped).__name__, isinstance(w, torch.autograd.Variable))
print("same object:", wrapped is hidden, " same memory:", wrapped.data_ptr() == hidden.data_ptr())
print("history before:", hidden.grad_fn.name(), " after:", wrapped.grad_fn)

# %% [markdown]
# ### Myth 9 · `autograd.Variable` belongs in new code
# It doesn't, and "a no-op since 0.4" isn't quite right either. The last line shows that `Variable(hidden)` detaches: in
# the middle of a network it cuts off everything before it, without an error.
#
# ### Myth 14 · `.grad` is itself a `Variable`
# That was true when there were two classes. Now `.grad` is `None` or a tensor, usually without a history.

# %% tags=["proof-grad-of-grad"]
import warnings

for function, create_graph in ((torch.square, False), (torch.square, True), (torch.neg, True)):
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        function(leaf).sum().backward(create_graph=create_graph)
    print(f"{function.__name__:6} {create_graph!s:5}", leaf.grad.tolist(), leaf.grad.requires_grad)
    print(*(str(each.message).partition(" between")[0] + "\n" for each in caught), end="")

# %% [markdown]
# **Interview · What was `Variable`, and when does `.grad` have a `grad_fn`?**
#
# - *Thirty seconds:* The wrapper that carried `grad` and `grad_fn` before tensors did. `.grad` has a `grad_fn` after
#   `backward(create_graph=True)`, if the gradient itself depends on a tensor that requires grad.
# - *Longer:* $(x^2)' = 2x$ does; $(-x)' = -1$ doesn't. `Variable(t)` still works, and detaches.
# - *They ask next:* Does wrapping copy? No, it shares the memory.
# - *The trap:* wrapping a hidden value to be safe. Its history is lost.
# - *Proof:* `proof-variable`, `proof-grad-of-grad`.
#
# ## `backward`, argument by argument · D5 backward()的理解
# A loss is one number. What if the result has two?

# %% tags=["proof-vector-jacobian"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = torch.stack([x[0] * x[1], x[2].exp()])
print(check.error(y.backward))
rows = [torch.autograd.grad(y, x, each, retain_graph=True)[0] for each in torch.eye(2)]
v, jacobian = torch.tensor([1.0, 10.0]), torch.stack(rows)
y.backward(v)
print("v @ J:", (v @ jacobian).round(decimals=1), "  x.grad:", x.grad.round(decimals=1))
pictures.grids(("v", v), "@", ("J", jacobian), "=", ("x.grad", x.grad))

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
# - *Thirty seconds:* Reverse mode computes $v^\top J$, and someone has to say what $v$ is. For a scalar it is 1.
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
# ## Writes that belong to the graph
# Not every write is an accident. `out[1:3] = y * y` is a computation and needs a derivative. But the write goes through
# a view, while the loss will use `out`.

# %% tags=["proof-rebase"]
x, y = mytorch.tensor([1.0, 2.0, 3.0], requires_grad=True), mytorch.tensor([4.0, 5.0], requires_grad=True)
out = x * 2
late = out[2:]
out[1:3] = y * y
late.mul_(10)
out.sum().backward()
print(x.grad, y.grad)
pictures.graph(out.grad_fn, children=lambda n: [e[0] for e in n.next_functions], label=lambda n: n.name())

# %% [markdown] given="mytorch.autograd.hooks:on_arrival"
# The base `out` got a node `CopySlices` for each write. Inside the slice, the gradient goes to what was written;
# outside, it goes on to what was there before. So `x` gets nothing at the overwritten places. This is **rebasing**.
# Other views, such as `late`, rebuild their `grad_fn` on their next use if the base has changed (`current_history` in
# `mytorch/autograd/inplace.py`). The write and the backward of `CopySlices` are exercise 3.
#
# ## Hooks: code that runs on the way back
# A hook on a tensor is called with its gradient, once a pass, when the gradient is complete. What it returns replaces
# the gradient, unless it is `None`. Before your engine runs a node, it calls a list of functions. Hooks add the one
# below to it. (`checked` makes sure that a hook returned a tensor of the gradient's shape.)

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
# `h` is used three times, yet the hook ran once, with the sum $2h + 1$. `retain_grad` keeps what the hooks made of it.
#
# ## A formula of your own
# `autograd.Function` puts your pair of forward and backward into the graph as one node. `forward` runs unrecorded.
# `ctx` belongs to that node: `save_for_backward` keeps a tensor *with* its version, `ctx.x = x` without.


# %% tags=["proof-save-for-backward"]
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
# - *The trap:* a tensor as an attribute of `ctx`. The formula would compute with `[10, 20]`.
# - *Proof:* `proof-save-for-backward`, `proof-gradcheck`.
#
# ## A wrong formula still learns
# The derivative of $y = \tanh x$ is $1 - y^2$. Someone writes $1 - |y|$. Train a small network on a sine with both.


# %%
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

# %% [markdown]
# Both losses fall, and the wrong formula ends close to the right one. So test a formula without training: nudge each
# input number a little to both sides, and compare the difference quotient with what `backward` says. That is
# **gradcheck**.

# %% tags=["proof-gradcheck"]
inputs = torch.tensor([-1.0, 0.5], dtype=torch.float64, requires_grad=True)
cases = {name: (activation, inputs) for name, activation in variants.items()}
cases["1 - y² in float32"] = (Tanh.apply, inputs.detach().float().requires_grad_())
cases["relu at 0"] = (torch.relu, torch.zeros(1, dtype=torch.float64, requires_grad=True))
for name, case in cases.items():
    with warnings.catch_warnings(action="ignore"):  # gradcheck warns about float32
        error = check.error(torch.autograd.gradcheck, *case)
    print(name, "passes" if error is None else "fails")
print(error)

# %% [markdown]
# In float32, a nudge of $10^{-6}$ leaves hardly a digit of the difference. Exercise 7 measures the best nudge.
#
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

# %% [markdown]
# **Interview · How do you know that a gradient is right?**
#
# - *Thirty seconds:* `gradcheck`: central differences against the backward pass, entry by entry, in float64.
# - *Longer:* The function must be deterministic and smooth at that point.
# - *They ask next:* Why not just train? Both curves above go down.
# - *The trap:* testing ReLU at 0, where the quotient says 0.5 and PyTorch says 0.
# - *Proof:* `proof-gradcheck`, `proof-milestone`.
#
# ## Where does the `nan` come from?
# The slope of a square root at 0 is infinite, and infinity times 0 is `nan`. **Anomaly mode** stops at the node that
# made it, and prints where in the forward pass that node was recorded. It keeps a traceback for each node, which is
# slow, so switch it on only to search.

# %% tags=["proof-anomaly"]
x = torch.tensor([0.0, 1.0], requires_grad=True)
(x.sqrt() * 0).sum().backward()
print("without:", x.grad)
with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():  # it warns
    print("with:   ", check.error((x.sqrt() * 0).sum().backward))

# %% [markdown] given="mytorch.autograd.function:Function.apply"
# ## The real one
# `Function.apply` of `mytorch` makes a node, runs `forward` under `no_grad`, and gives the results a history. `Context`
# is the class of `ctx`, and a `FunctionNode` calls `backward` when it runs.

# %%
import inspect

print(inspect.getsource(torch.autograd.Function.apply))

# %% [markdown]
# This is minitorch's, and it does what PyTorch's does. PyTorch had to add `setup_context`, a newer style in which
# `forward` gets no `ctx`; keyword arguments, which `_by_position` puts in order; and, in `_recorded`, inputs that
# `forward` wrote to. `_backward_cls` makes the node, and `grad_mode.asked` is `Mode.enabled`.
#
# ## One more myth
# ### Myth 11 · "In-place saves memory, so prefer it"
# Here are four operations in place. In which memory is the value that the node saved?

# %% tags=["proof-in-place-memory"]
for name in ("exp_", "relu_", "sin_", "log_"):
    h = torch.tensor([1.0, 2.0], requires_grad=True) * 1
    getattr(h, name)()
    kept = h.grad_fn._saved_result if name in ("exp_", "relu_") else h.grad_fn._saved_self
    where = "its result" if kept.data_ptr() == h.data_ptr() else f"a copy of its input, {kept.tolist()}"
    print(f"{name:5} keeps {where}")

# %% [markdown]
# `exp_` and `relu_` need their result, so one piece of memory is enough. `sin_` and `log_` need their input, so PyTorch
# copied it first, and nothing is gained. If *another* node needs the old value, you get the error.
#
# ## To remember
# 1. A node saves tensors with their version. A write moves the version, and backward compares.
# 2. Views and `detach()` share memory and version, `.data` only the memory.
# 3. `no_grad` and `inference_mode` stop the recording, `eval` doesn't. No node can save an inference tensor.
# 4. `backward(v)` gives $v^\top J$. A scalar has $v = 1$.
# 5. `retain_graph` keeps saved values; `create_graph` records the backward pass.
# 6. A write into a view gives its base a new history.
# 7. Under `no_grad` you may write into a leaf that requires grad.
# 8. A hook sees the complete gradient once a pass, and may replace it.
# 9. A `Function` saves tensors with `save_for_backward`.
# 10. gradcheck: central differences, float64, away from kinks.
#
# ## Rapid fire
# - *Does `no_grad` make `add_` safe?* No, the version still moves.
# - *Is the result of `detach` a leaf?* Yes, it has no `grad_fn`.
# - *Does `eval()` stop the recording?* No.
# - *Must a hook return something?* No, `None` keeps the gradient.
# - *After one `backward()`, does `.grad` require grad?* No; with `create_graph=True` it may.
#
# ## You try
# Seven exercises: predict a write through `detach`; give `mytorch` its modes, its writes and its gradcheck; multiply a
# Hessian by a vector; repair a penalty that has no effect; measure the best step of a difference quotient.
# Then chapter 08 looks at the graph as a whole: what can you do with it if you know it before it runs?
