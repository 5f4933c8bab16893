# %% [markdown] tags=["short"]
# # Backward in depth
# Your engine from chapter 06 is right as long as nobody changes a number between the forward and the backward pass. Now
# it learns to notice such a change, to be switched off, and to record a write as part of the computation.
#
# ## Four ways to add one
# `h` is `exp(x)`, and each line below adds 1 in place, to all of `h` or to its first number. A constant changes no derivative,
# so the gradient of `x` should be $e^x$ each time, `[1, 2.7183]`. Is it?

# %% hidden=true
from course import check, lesson, pictures

mytorch = lesson.mytorch(7)  # your library as of this chapter, using your code wherever you've solved the exercises

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
# Three raise. The fourth gives a gradient, and it is wrong: `[2, 3.7183]`, each number too large by the 1 that was added.
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
# Which writes are harmless? That depends on what the formula needs, so try to predict it. The cell writes into the input or the
# result of five operations, then into a leaf that requires grad, and into a view of that leaf:


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

# %% [markdown] tags=["short"]
# A recorded write would turn the leaf into a result, and its `.grad` would stay empty. Optimizers write to their
# parameters under `no_grad`.
#
# **Interview · When is an in-place operation an error?**
#
# - *Thirty seconds:* When it overwrites a value that a backward formula still needs: a node saves the version with the
#   tensor, and backward raises if the counter has moved. Or, at once, when a recorded write meets a leaf that requires
#   grad.
# - *Longer:* `exp` and `relu` keep their result, a sum keeps nothing, and a product keeps each factor that the gradient of the
#   other one needs.
# - *They ask next:* Does `no_grad` help? Against the error about a leaf, yes. Against the error in backward it doesn't: the write
#   isn't recorded, but it still counts.
# - *The trap:* `.data` to silence the error. It silences the check, not the mistake.
# - *Proof:* `proof-what-may-be-written`, `proof-shared-counter`.
#
# **Interview · "A leaf Variable that requires grad is being used in an in-place operation." What happened?**
#
# - *Thirty seconds:* You wrote into a parameter while autograd was recording. The write would turn the leaf into a result,
#   and its `.grad` would stay empty. Write under `torch.no_grad()`, as optimizers do.
# - *Longer:* Writing through a view of the leaf is refused, too. Under `no_grad` a write isn't recorded, but it still
#   counts, so write after `backward`: a node that saved the old weight raises.
# - *They ask next:* Why not `w.data.sub_(...)`? It doesn't count. If a node still needs the old weight, you get a wrong
#   gradient and no error, as in the fourth line at the top.
# - *The trap:* writing initial weights by hand without `no_grad`. The functions of `torch.nn.init` bring it along
#   ([chapter 10](10_activations_and_initialization.ipynb)).
# - *Proof:* `proof-what-may-be-written`, `proof-shared-counter`.
#
# ## Turning recording off
# Guess the first two columns before you run the cell. One row surprises most people.

# %% tags=["proof-modes"]
w, tensors = torch.tensor([1.0, 2.0], requires_grad=True), {}
with torch.no_grad():
    tensors["no_grad"] = w * 2
    tensors["a new leaf in it"] = torch.tensor([1.0], requires_grad=True)
    tensors["a view in it"] = view = w[:1]
    with torch.enable_grad():
        tensors["enable_grad in it"] = w * 2
with torch.inference_mode():
    tensors["inference_mode"] = inference = w * 2
    with torch.set_grad_enabled(True):
        tensors["set_grad_enabled in it"] = w * 2
    with torch.inference_mode(False):
        tensors["inference_mode(False)"] = w * 2
tensors["eval()"] = torch.nn.Linear(2, 1).eval()(w)
for name, tensor in tensors.items():
    made_by = tensor.grad_fn and tensor.grad_fn.name()
    print(
        f"{name:22} requires grad {tensor.requires_grad!s:5}  inference {tensor.is_inference()!s:5}  made by {made_by}"
    )
(view * 3).sum().backward()
print("after a backward pass through the view:", view.grad, w.grad)
for use in (lambda: w * inference, lambda: inference.add_(1), lambda: inference._version):
    print(str(check.error(use)).partition(".")[0])

# %% [markdown]
# `no_grad` switches off the recording of *results*; a new leaf may still ask for gradients. A view that is made in it says
# that it requires grad, because it asks its base. But it has no `grad_fn`, so no gradient comes back through it, neither to
# the view nor to the base. `eval()` changes none of this. Inference tensors have no version counter, so no node can save them, not even later.
#
# ### Whose mode is it?
# If a mode were one switch for the whole program, a server that predicts in one thread would stop the recording in another
# thread, which trains. Is it?

# %% tags=["proof-thread"]
import threading


@torch.no_grad()
def predict(x):
    return x * 2


recorded = {"in a decorated function": predict(w).requires_grad, "after it": (w * 2).requires_grad}
with torch.no_grad():
    recorded["in the block"] = (w * 2).requires_grad
    thread = threading.Thread(target=lambda: recorded.update({"in a thread started there": (w * 2).requires_grad}))
    thread.start()
    thread.join()
try:
    with torch.no_grad():
        raise ValueError
except ValueError:
    recorded["after an exception"] = (w * 2).requires_grad
for where, flag in recorded.items():
    print(f"{where:26} {'recorded' if flag else 'not recorded'}")

# %% [markdown] tags=["short"]
# The mode belongs to the thread, and a new thread starts with recording on. A block puts back what was there before, even when
# an exception ends it, and as a decorator it does so around each call.
#
# In `mytorch`, `record` from chapter 06 looks at a flag, `Mode.enabled`, of which each thread has its own. A `GradMode`
# object sets the flag and puts it back. You write its three methods in exercise 2.
#
# **Interview · `no_grad`, `inference_mode`, `detach` or `eval`?**
#
# - *Thirty seconds:* `no_grad` for code that shouldn't be recorded, such as an optimizer's step. `inference_mode` for
#   pure prediction. `detach` to cut one tensor out of the graph. `eval` changes what layers such as dropout compute,
#   and doesn't stop the recording.
# - *Longer:* `enable_grad`, or `set_grad_enabled(True)`, brings recording back inside `no_grad`, not inside
#   `inference_mode`. There it takes `inference_mode(False)`.
# - *They ask next:* Is a parameter that was created under `no_grad` trainable? Yes, a leaf's flag is its own.
# - *The trap:* calling only `model.eval()` in a validation loop: the graph is still recorded. And a worker thread that you start
#   inside `no_grad` does record.
# - *Proof:* `proof-modes`, `proof-thread`.
#
# ## `detach` shares memory
# `detach` gives a new tensor on the same storage, without a history.

# %% tags=["proof-detach"]
a = torch.tensor([1.0, 2.0], requires_grad=True)
y = a * 3
cut, new = y.detach(), y.clone()
print("detach:", cut.requires_grad, cut.is_leaf, cut.grad_fn, "same memory:", cut.data_ptr() == y.data_ptr())
print("clone: ", new.requires_grad, new.is_leaf, new.grad_fn.name(), "same memory:", new.data_ptr() == y.data_ptr())
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
# ### Two more uses of `detach`
# You can give an operation another gradient, and you can keep the loss of one network away from another network. In the second
# half of the cell, a generator makes an image and a discriminator judges it.


# %% tags=["proof-where-to-cut"]
x = torch.tensor([0.2, 0.7], requires_grad=True)
for name, rounded in {"x.round()": x.round(), "x + (x.round() - x).detach()": x + (x.round() - x).detach()}.items():
    (gradient,) = torch.autograd.grad((3 * rounded).sum(), x)
    print(f"{name:28}", [round(each, 1) for each in rounded.tolist()], "gradient", gradient.tolist())
generator, discriminator = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
fake = generator(torch.ones(1, 1))
for name, shown in {"discriminator(fake.detach())": fake.detach(), "discriminator(fake)": fake}.items():
    discriminator(shown).sum().backward()
    print(f"{name:28} the generator gets {'nothing' if generator.weight.grad is None else 'a gradient'}")

# %% [markdown]
# Rounding is flat between its jumps, so its gradient is 0. The second line has the same values, and the gradient that `x` itself
# would have.
#
# **Interview · Where do you need `detach`? Name three places.**
#
# - *Thirty seconds:* Wherever a value should count as a constant: what you log or carry to the next step, the target that a
#   teacher network sets, and the generator's images while a GAN's discriminator learns.
# - *Longer:* And to give an operation another gradient: `x + (f(x) - x).detach()` has the value of `f(x)` and the slope of
#   `x`, which is called a straight-through estimator. Networks with rounded weights are trained with it
#   ([chapter 22b](22b_memory.ipynb)).
# - *They ask next:* `detach` or `no_grad` for the teacher? Both cut it off. `no_grad` around its forward pass saves the
#   memory as well, because nothing is recorded.
# - *The trap:* detaching the images in the generator's own step. Then it gets no gradient and learns nothing.
# - *Proof:* `proof-where-to-cut`, `proof-growing-graph`, `proof-modes`.
#
# ### Cutting a history that grows
# A loop that carries a state from one step to the next carries the graph of that state along. Here a running average of the loss
# is kept in two ways:


# %% tags=["proof-growing-graph"]
def nodes_behind(tensor):
    seen, waiting = set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [to for to, _ in node.next_functions]
    return len(seen)


w = torch.tensor([1.0, 2.0], requires_grad=True)
sizes = {"0.1 * loss": [], "0.1 * loss.detach()": []}
for name, sizes_seen in sizes.items():
    average = torch.zeros(())
    for _ in range(40):
        loss = (w * w).sum()
        average = 0.9 * average + 0.1 * (loss.detach() if "detach" in name else loss)
        sizes_seen.append(nodes_behind(average))
print({name: seen[-1] for name, seen in sizes.items()})
pictures.curves(sizes, xlabel="step", ylabel="nodes that the average keeps alive")

# %% [markdown] tags=["short"]
# The first average keeps every step's graph and what its nodes saved, so memory grows until it runs out. If you call `backward` on
# each loss, the saved values are freed, but the nodes still pile up. The second average keeps a number.
#
# **Interview · Training takes more memory with every step. What do you look for?**
#
# - *Thirty seconds:* For something that outlives the step and still has a `grad_fn`: a list of losses, a running average, a
#   hidden state. Add `loss.item()` or `loss.detach()` to it, and detach the state between chunks.
# - *They ask next:* What does detaching a hidden state cost? No gradient flows to earlier chunks. That is truncated
#   backpropagation through time ([chapter 15](15_recurrent_networks.ipynb)).
# - *The trap:* `retain_graph=True`, to silence "backward through the graph a second time". It keeps even more.
#   *Proof:* `proof-growing-graph`.
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

# %% [markdown] given="mytorch.autograd.inplace:current_history"
# The base `out` got a node `CopySlices` for each write. Inside the slice, the gradient goes to what was written;
# outside, it goes on to what was there before. So `x` gets nothing at the overwritten places. This is **rebasing**.
# Other views, such as `late`, rebuild their `grad_fn` on their next use if the base has changed, as this function shows. The
# write and the backward of `CopySlices` are exercise 3.

# %% [markdown]
# In numbers: the gradient of the sum arrives as ones. The backward pass meets the last write first. At each write, the places
# that were written get one part of the gradient, and the places that weren't get the other. Here are both parts:

# %%
to_product, to_double = y.grad / (2 * y.detach()), x.grad / 2
arrives = ("arrives", mytorch.ones(1, 3).tolist())
pictures.grids(
    arrives, "↓", ("to y * y, times 10 where late", [to_product.tolist()]), ("to x * 2", [to_double.tolist()])
)

# %% [markdown]
# **Interview · You write `out[1:3] = f(y)`. How do gradients get to `y`?**
#
# - *Thirty seconds:* Autograd gives the base of the view a new node, `CopySlices`. In the backward pass it sends the gradient of
#   the written places to the source, and that of the other places to the old history.
# - *Longer:* The view and its base share a version counter, and a view whose base has changed makes a new `grad_fn` when it is
#   used next.
# - *They ask next:* Does it work on a leaf that requires grad? No, it raises: the leaf would become a result.
# - *The trap:* The values that were overwritten get no gradient at all, though they were computed. *Proof:* `proof-rebase`.
#
# ## What `Variable` was
# Before version 0.4 a tensor held only numbers, and a `Variable` around it had `data`, `grad` and `grad_fn`. Then the
# two became one class.

# %% tags=["proof-variable"]
hidden = w * 3
wrapped = torch.autograd.Variable(hidden)
print(type(wrapped).__name__, isinstance(w, torch.autograd.Variable))
print("same object:", wrapped is hidden, " same memory:", wrapped.data_ptr() == hidden.data_ptr())
print("history before:", hidden.grad_fn.name(), " after:", wrapped.grad_fn)

# %% [markdown]
# ### Myth · `autograd.Variable` belongs in new code
# It doesn't. You'll also hear that it has been a no-op since 0.4, and that isn't quite right: the last line shows that
# `Variable(hidden)` detaches. In the middle of a network it cuts off everything before it, without an error.
#
# **Interview · What was `Variable`?**
#
# - *Thirty seconds:* The wrapper that carried `grad` and `grad_fn` before tensors did. `Variable(t)` still works, and detaches.
# - *They ask next:* Does wrapping copy? No, it shares the memory.
# - *The trap:* wrapping a hidden value "to be safe", which loses its history. *Proof:* `proof-variable`.
#
# ### Myth · "In-place saves memory, so prefer it"
# Here are four in-place operations. Did the node save the tensor's own memory, or a copy?

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
# ## The real one
# Here is how `minitorch` gives a view a new history after its base was written to:

# %%
import inspect

from minitorch.autograd import views

print(inspect.getsource(views.refresh_view))

# %% [markdown] tags=["short"]
# `seen_again` makes the view anew from the base as it is now, `set_history` does what `attach` does in `mytorch`, and
# `_view_version` remembers which version of the base the view has seen. PyTorch had to add the cases that `current_history` leaves
# out: `_view_made` marks views that may no longer be used once their base has been written to, such as the parts of `split`, and
# `_cut_off` handles a base that has lost its history.
#
# ## Ten lines to remember
# 1. A node saves tensors with their version. A write moves the version, and backward compares.
# 2. Views and `detach()` share memory and version, `.data` only the memory.
# 3. What may be written depends on what the formulas need: `exp` needs its result, a product its factors, a sum nothing.
# 4. `no_grad` and `inference_mode` stop the recording, `eval` doesn't. No node can save an inference tensor.
# 5. Under `no_grad` you may write into a leaf that requires grad.
# 6. `detach` cuts and shares, `clone` copies and stays, `detach().clone()` does both.
# 7. Whatever outlives a step should have no history.
# 8. A write into a view gives its base a new history.
# 9. The old values get no gradient where they were overwritten.
# 10. `Variable` is a tensor, and `Variable(t)` detaches.
#
# ## Rapid fire
# - *Does `no_grad` make `add_` safe?* No, the version still moves.
# - *Is the result of `detach` a leaf?* Yes, it has no `grad_fn`.
# - *Does `eval()` stop the recording?* No.
# - *Does a write through NumPy move the version?* No, autograd doesn't learn of it.
# - *Does a result lose its history when you enter a `no_grad` block?* No. Only new results have none.

# %% tags=["proof-rapid-fire"]
before = w * w
with torch.no_grad():
    inside = before * 1
for name, tensor in {"before": before, "inside": inside, "detached": before.detach()}.items():
    print(f"{name:8} made by", tensor.grad_fn and tensor.grad_fn.name())

# %% [markdown]
# ## You try
# [Five exercises](../exercises/07_backward_in_depth.ipynb), 13 points: predict a write through `detach`, give `mytorch` its modes and its writes, keep an average of a
# model's weights, and repair a loop that trains on a stream.
# [Chapter 07b](07b_vector_jacobian_products.ipynb) differentiates a gradient, hooks into the backward pass, and finds out
# whether a formula is right.
