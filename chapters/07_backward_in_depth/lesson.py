# %% [markdown] tags=["short"]
# # Backward in depth
# Your engine from chapter 06 is correct as long as nobody changes a value between the forward and the backward pass. In this chapter it
# learns to detect such a change, to stop recording on request, and to record an in-place write as part of the computation. By the end you
# will be able to say which in-place operations are safe, and why.
#
# ## Four in-place writes that add one
# `h` is `exp(x)`, and each line below adds 1 in place, either to all of `h` or only to its first element. Since adding a constant doesn't
# change a derivative, the gradient of `x` should be $e^x$ each time, which is `[1, 2.7183]`. Is it?

# %% hidden=true
from course import check, lesson, pictures

mytorch = lesson.mytorch(7)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% tags=["proof-four-writes"]
import minitorch as torch

writes = {
    "h.add_(1)": lambda h: h.add_(1),
    "h.detach().add_(1)": lambda h: h.detach().add_(1),
    "h[:1].add_(1)": lambda h: h[:1].add_(1),
    "h.data.add_(1)": lambda h: h.data.add_(1),
}
for name, write in writes.items():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    h = x.exp()
    write(h)
    error = check.error(h.sum().backward)
    print(f"{name:19}", x.grad if error is None else str(error).partition(" by")[0])

# %% [markdown]
# Three of them raise an error, but the fourth returns an incorrect gradient: each entry of `[2, 3.7183]` is too large by the 1 that was
# added.
#
# ## The version counter
# The derivative of `exp` is its own result, so the node saves `h`. It saves the tensor itself (a copy would cost memory), and next
# to it the tensor's **version**, which counts the in-place writes so far. The whole idea fits into a few lines, in which `Saved` plays the
# part of PyTorch's `SavedVariable`:


# %%
class Row:
    def __init__(self, values):
        self.values, self.version = values, 0

    def add_(self, amount):
        self.values[:] = [value + amount for value in self.values]
        self.version += 1


class Saved:
    def __init__(self, row):
        self.row, self.version = row, row.version

    def get(self):
        if self.row.version != self.version:
            raise RuntimeError(f"at version {self.row.version}; expected version {self.version} instead")
        return self.row.values


row = Row([1.0, 2.7])
saved = Saved(row)
row.add_(1)
print(check.error(saved.get))

# %% [markdown]
# To break the model, make a second `Row` on the same list, which behaves like a view but has a counter of its own:

# %%
row = Row([1.0, 2.7])
saved, view = Saved(row), Row(row.values)
view.add_(1)
print(saved.get(), "at version", row.version)

# %% [markdown]
# The values changed without an error, so tensors that share memory have to share the counter as well. Which ones do?

# %% tags=["proof-shared-counter"]
t = torch.zeros(3)
tensors = {"t": t, "view": t[:2], "detach": t.detach(), "data": t.data}
for tensor in tensors.values():
    tensor.add_(1)
t.numpy()[0] = 7
print({name: tensor._version for name, tensor in tensors.items()}, t.tolist())

# %% [markdown]
# Views and `detach()` share the counter with their source, whereas `.data` shares only the memory and has a counter of its own. A write
# through NumPy doesn't increment any counter. In `mytorch` the counter belongs to the storage, and `write` from chapter 03 increments it.
# The slider chooses how many of the four writes from above happen before `backward`.


# %%
def after(count):
    h = torch.tensor([0.0, 1.0], requires_grad=True).exp()
    for write in [*writes.values()][:count]:
        write(h)
    verdict = "backward works" if check.error(h.sum().backward) is None else "backward raises"
    name = f"{['h = x.exp()', *writes][count]}: {verdict}"
    return pictures.storage(h, {name: h}, version=h._version)


pictures.slider(after, start={"count": 1}, count=[0, 1, 2, 3, 4])

# %% [markdown] tags=["short"]
# ### Which in-place operations are safe?
# That depends on what the backward formula needs, so try to predict the table. For each of five operations, the cell writes into the input
# or into the result, and then runs the backward pass:

# %% tags=["proof-what-may-be-written"]
operations = {"a + 1": lambda a: a + 1, "a * 2": lambda a: a * 2, "a * a": lambda a: a * a}
operations |= {"a.exp()": lambda a: a.exp(), "a.relu()": lambda a: a.relu()}


def verdict(operation, into):
    source = torch.tensor([0.5, 1.5], requires_grad=True) * 1
    result = operation(source)
    with torch.no_grad():
        {"input": source, "result": result}[into].add_(1)
    return "fine" if check.error(result.sum().backward) is None else "raises"


for name, operation in operations.items():
    print(f"{name:9}", {into: verdict(operation, into) for into in ("input", "result")})

# %% [markdown]
# All of these errors come late, in the backward pass. Other writes are refused at once while recording is on:

# %% tags=["proof-refused-at-once"]
leaf = torch.tensor([1.0, 2.0], requires_grad=True)
result = leaf * 1
with torch.no_grad():
    quiet_view = result[:1]
parts = {"leaf": leaf, "view of a leaf": leaf[:1], "view from no_grad": quiet_view}
parts |= {"part of unbind": result.unbind()[0], "expanded": result[:1].expand(2)}
for name, tensor in parts.items():
    print(f"{name:17}", str(check.error(tensor.add_, 1)).removeprefix("unsupported operation: ").partition(".")[0])
result[0].add_(1)
print("result[0].add_(1) works:", result.tolist())

# %% [markdown] tags=["short"]
# A recorded write would turn the leaf into a result, and its `.grad` would stay empty. The parts of `unbind`, `split` and `chunk`
# come from one node with several outputs, which autograd can't rebuild for a single part; index the tensor instead, as the last
# line does. An expanded tensor keeps several elements at one memory location, so a write of different values would be ambiguous,
# and `add_` is refused even with recording off. But `fill_` is allowed, and `expanded[0] = 5` silently changes *all* elements.
#
# **Interview · When is an in-place operation an error?**
#
# - *Thirty seconds:* It is an error when it overwrites a value that a backward formula still needs. A node saves each tensor together
#   with its version, and the backward pass raises an error if the version has changed. Other writes are refused at once, for example
#   into a leaf that requires grad or into one of the parts that `unbind` returns.
# - *Longer:* `exp` and `relu` save their result, a sum saves nothing, and a product saves each factor that the gradient of the
#   other factor needs. Most writes into an expanded tensor are also refused at once, and so is a recorded write into a view that was
#   made under `no_grad`.
# - *They ask next:* Does `no_grad` help? It removes the error about a leaf, because the write isn't recorded. It doesn't remove the error
#   in the backward pass, since the write still increments the counter.
# - *The trap:* `.data` only silences the check and leaves you with an incorrect gradient.
# - *Proof:* `proof-what-may-be-written`, `proof-refused-at-once`, `proof-four-writes`.
#
# **Interview · "A leaf Variable that requires grad is being used in an in-place operation." What happened?**
#
# - *Thirty seconds:* Someone wrote into a parameter while autograd was recording. The write would turn the leaf into a result, whose
#   `.grad` would stay empty, so such writes belong under `torch.no_grad()`, which is also what optimizers use.
# - *Longer:* Writing through a view of the leaf is refused, too. A write under `no_grad` isn't recorded but still counts, so update the
#   weight after `backward`, or a node that saved the old weight raises an error.
# - *They ask next:* Why not `w.data.sub_(...)`? It doesn't increment the counter, so if a node still needs the old weight, you get an
#   incorrect gradient and no error, as in the fourth line at the top.
# - *The trap:* If you set initial weights by hand, you need `no_grad` yourself; the functions of `torch.nn.init` bring their own ([chapter
#   10](10_activations_and_initialization.ipynb)).
# - *Proof:* `proof-refused-at-once`, `proof-four-writes`.
#
# ## Turning recording off
# Guess the columns *requires grad* and *node* before you run the cell. One row surprises most people, and the text below explains
# it.

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
tensors["a layer in eval()"] = torch.nn.Linear(2, 1).eval()(torch.ones(3, 2))
for name, tensor in tensors.items():
    node = tensor.grad_fn.name() if tensor.grad_fn else "none"
    print(f"{name:22} requires grad {tensor.requires_grad!s:5}  inference {tensor.is_inference()!s:5}  node: {node}")
(view * 3).sum().backward()
print("after a backward pass through the view:", view.grad, w.grad)
for use in (lambda: w * inference, lambda: inference.add_(1), lambda: inference._version):
    print(str(check.error(use)).partition(".")[0])

# %% [markdown]
# The surprise is the view. Although nothing was recorded, it reports `requires_grad=True`, which it inherits from its base, but it has no
# `grad_fn`, so no gradient flows through it, neither to the view nor to the base. (`mytorch` simplifies this and reports False.)
#
# The other rows follow from three rules. A new leaf keeps the flag that you give it: `no_grad` only stops the recording of *results*, and
# `eval()` doesn't change the recording at all. Inference tensors have no version counter, so no node can save them, not even after the
# block, as the last three lines show.
#
# ### Grad mode is per thread
# If the mode were one switch for the whole program, a thread that serves predictions would stop the recording in another thread that
# trains. The cell tests whether that happens, and also what a decorator and an exception do:

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
# Each thread has a mode of its own, and a new thread starts with recording on. A block restores the previous mode, even after an exception,
# and a decorator does the same around each call. All asyncio tasks of a thread share its mode, so an `await` inside the block stops the
# recording [in other tasks too](proof-await-and-yield). On a GPU the backward pass itself runs in a thread of the engine, unless you call
# `torch.autograd.set_multithreading_enabled(False)`.
#
# In `mytorch`, `record` from chapter 06 reads the flag `Mode.enabled`, which each thread has for itself. A `GradMode` object, whose three
# methods you write in exercise 2, sets the flag and restores it afterwards.
#
# **Interview · `no_grad`, `inference_mode`, `detach` or `eval`?**
#
# - *Thirty seconds:* `no_grad` is for code that shouldn't be recorded, such as an optimizer step, and `inference_mode` is a stricter form
#   for pure prediction. `detach` cuts a single tensor out of the graph. `eval` changes what layers such as dropout compute and
#   doesn't stop the recording.
# - *Longer:* `enable_grad`, or `set_grad_enabled(True)`, turns recording on again inside `no_grad`, but inside `inference_mode` you need
#   `inference_mode(False)` for that.
# - *They ask next:* Is a parameter that was created under `no_grad` trainable? Yes, a leaf keeps its own flag.
# - *They ask next:* Is the mode safe with asyncio? Not across an `await`, because all tasks of a thread share it.
# - *The trap:* `model.eval()` alone isn't enough in a validation loop, where the graph is then still recorded. A worker thread that you
#   start inside `no_grad` records as well.
# - *Proof:* `proof-modes`, `proof-thread`, `proof-await-and-yield`.
#
# ## `detach` shares memory
# `detach` returns a new tensor on the same storage, without a history. `clone` copies the values and is recorded.

# %% tags=["proof-detach"]
a = torch.tensor([1.0, 2.0], requires_grad=True)
y = a * 3
cut, copy = y.detach(), y.clone()
print("detach: node", cut.grad_fn, " leaf", cut.is_leaf, " same memory", cut.data_ptr() == y.data_ptr())
print("clone:  node", copy.grad_fn.name(), " leaf", copy.is_leaf, " same memory", copy.data_ptr() == y.data_ptr())
cut[0] = 100
(y * cut).sum().backward()
print(y, a.grad)

# %% [markdown]
# Autograd treats `cut` as a constant, so the gradient of `a` comes through `y` alone and is $3 \cdot [100, 6]$. The write isn't an error:
# it happened before the product saved its factors.
#
# **Interview · What does `detach` do, and how is it different from `.data` and `clone`?**
#
# - *Thirty seconds:* `detach` returns a tensor on the same memory that isn't connected to the graph. It shares the version counter, so
#   autograd detects a write through it; a write through `.data` goes unnoticed. `clone` copies the memory and stays in the graph.
# - *Longer:* For a copy outside the graph, write `x.detach().clone()`; in old code, `Variable(x)` [detaches](proof-variable) as well.
# - *They ask next:* Does `detach` free the graph? No, the original tensor still holds it.
# - *The trap:* `x.detach().numpy()` shares the memory too, but not the counter, so nothing notices a write into it.
# - *Proof:* `proof-detach`, `proof-shared-counter`.
#
# ### Straight-through estimators and GANs
# With `detach` you can replace the gradient of an operation, as in the first half of the cell. You can also keep one network's loss away
# from another network, as in the second half, where a generator makes an image and a discriminator judges it.


# %% tags=["proof-where-to-cut"]
x = torch.tensor([0.2, 0.7], requires_grad=True)
for name, rounded in {"x.round()": x.round(), "x + (x.round() - x).detach()": x + (x.round() - x).detach()}.items():
    (gradient,) = torch.autograd.grad((3 * rounded).sum(), x)
    print(f"{name:28}", [round(value, 1) for value in rounded.tolist()], "gradient", gradient.tolist())
generator, discriminator = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
fake = generator(torch.ones(1, 1))
for name, images in {"discriminator(fake.detach())": fake.detach(), "discriminator(fake)": fake}.items():
    discriminator(images).sum().backward()
    print(f"{name:28} the generator gets {'nothing' if generator.weight.grad is None else 'a gradient'}")

# %% [markdown]
# Rounding is flat between its jumps, so its gradient is 0. The second line computes the same values, but with the gradient that `x` itself
# would have. The discriminator's step leaves the generator alone because its input was detached.
#
# **Interview · Where do you need `detach`? Name three places.**
#
# - *Thirty seconds:* I need it wherever a value should count as a constant. Three examples are a loss that I log or carry to the next step,
#   the target that a teacher network computes, and the generator's images while a GAN's discriminator learns.
# - *Longer:* A fourth is replacing the gradient of an operation. `x + (f(x) - x).detach()` has the value of `f(x)` and the gradient of `x`,
#   and it is called a straight-through estimator. Networks with rounded weights are trained with it ([chapter 22b](22b_memory.ipynb)).
# - *They ask next:* `detach` or `no_grad` for the teacher? Both stop the gradient, but `no_grad` around its forward pass records nothing, so it
#   saves memory as well.
# - *The trap:* If the images are detached in the generator's own step as well, the generator gets no gradient and learns nothing.
# - *Proof:* `proof-where-to-cut`, `proof-growing-graph`, `proof-modes`.
#
# ### Memory that grows with every step
# A loop that carries a state from one step to the next also carries the graph of that state. The cell below keeps a running average of the
# loss in two ways:


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

# %% [markdown]
# The first average keeps the graph of every step, here five nodes a step, including the tensors that they saved, so memory grows until it
# runs out. If you call `backward` on each loss, the saved tensors are freed, but the nodes still accumulate. The second average, which
# has no history, keeps nothing alive.
#
# **Interview · Training takes more memory with every step. What do you look for?**
#
# - *Thirty seconds:* I look for something that outlives the step and still has a `grad_fn`, such as a list of losses, a running average
#   or a hidden state. For logging I store `loss.item()` or `loss.detach()`, and I detach the hidden state between chunks.
# - *They ask next:* What does detaching a hidden state cost? No gradient flows to earlier chunks, which is called truncated backpropagation
#   through time ([chapter 15](15_recurrent_networks.ipynb)).
# - *The trap:* `retain_graph=True` silences "backward through the graph a second time" and keeps even more memory alive.
# - *Proof:* `proof-growing-graph`.
#
# ## Hooks on saved tensors
# You can choose what a node stores: inside `torch.autograd.graph.saved_tensors_hooks(pack, unpack)`, it stores `pack(tensor)` and calls
# `unpack` on it in the backward pass. The next cell repeats the first write of this lesson under two pairs of hooks, and under a context
# manager that makes writes harmless:

# %% tags=["proof-saved-tensors-hooks"]
graph = torch.autograd.graph
contexts = {
    "stored in 16 bits": graph.saved_tensors_hooks(lambda t: t.bfloat16(), lambda stored: stored.float()),
    "stored as it is": graph.saved_tensors_hooks(lambda t: t, lambda stored: stored),
    "mutation allowed": graph.allow_mutation_on_saved_tensors(),
}
for name, context in contexts.items():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    with context:
        h = x.exp()
        h.add_(1)
        h.sum().backward()
    print(f"{name:18}", x.grad)

# %% [markdown]
# The first pair stores a copy with half the bytes, so the write does no harm and the gradient is merely rounded. The second pair is a
# trap, because PyTorch doesn't check the version of what a hook returns: this gradient is silently incorrect.
# `allow_mutation_on_saved_tensors` clones a saved tensor just before it is written to. (minitorch clones every saved tensor at once.)
#
# **Interview · How do you change what autograd saves for the backward pass?**
#
# - *Thirty seconds:* I use `torch.autograd.graph.saved_tensors_hooks`. The pack hook replaces each saved tensor by anything I like, for
#   example a compressed copy or a file name, and the unpack hook restores the tensor in the backward pass.
# - *Longer:* `save_on_cpu` is such a pair and moves saved tensors to the CPU. Non-reentrant activation checkpointing is another: it packs
#   placeholders, and unpacking the first one recomputes the forward pass ([chapter 22b](22b_memory.ipynb)).
# - *They ask next:* Are the hooks called for parameters as well? Yes, for every tensor that a node saves, so skip what you don't want to
#   copy.
# - *The trap:* If a pack hook returns the tensor itself, nothing checks its version any more.
# - *Proof:* `proof-saved-tensors-hooks`.
#
# ## In-place writes in the graph
# Not every write is an accident: `out[1:3] = y * y` is a computation and needs a derivative, but the write goes through a view, while the
# loss will use `out`. The picture shows the graph that results, in which the nodes are labelled with the lines of the program that made
# them.

# %% tags=["proof-rebase"]
x, y = mytorch.tensor([1.0, 2.0, 3.0], requires_grad=True), mytorch.tensor([4.0, 5.0], requires_grad=True)
out, square = x * 2, y * y
names = {out.grad_fn: "x * 2", square.grad_fn: "y * y"}
names |= {out.grad_fn.next_functions[0][0]: "x", square.grad_fn.next_functions[0][0]: "y"}
late = out[2:]
out[1:3] = square
names[out.grad_fn] = "CopySlices\nout[1:3] = y * y"
late.mul_(10)
names |= {out.grad_fn: "CopySlices\nlate.mul_(10)", out.grad_fn.next_functions[1][0]: "late * 10"}
out.sum().backward()
print(x.grad, y.grad)
pictures.graph(out.grad_fn, children=lambda n: [e[0] for e in n.next_functions], label=lambda n: names.get(n, n.name()))

# %% [markdown] given="mytorch.autograd.inplace:current_history"
# Each write gave the base `out` a new node, `CopySlices`. In the backward pass, the gradient of the written slice goes to the source of the
# write, and the gradient of all other elements goes on to the old history of `out`. PyTorch calls this **rebasing** the history. Other
# views of `out`, such as `late`, rebuild their `grad_fn` on their next use if the base has changed, which is the task of the function
# below. You write the recorded write and the backward of `CopySlices` in exercise 3.

# %% [markdown]
# The backward pass meets the last write first, which this cell follows by calling the two nodes by hand. Because `late` was multiplied by
# 10, its old value gets ten times the gradient that arrives at the last written slice. The pictures show what arrives at each node, with
# the written slice framed, and what the first write passes on:

# %% tags=["proof-copy-slices"]
last = out.grad_fn
first = last.next_functions[0][0]
rest, to_late = last.apply(mytorch.ones(3))
through_late, to_square = mytorch.zeros(3), mytorch.zeros(3)
through_late[2:] = 10 * to_late  # late * 10 starts from the value that the first write left there
to_double, to_square[1:3] = first.apply(rest + through_late)
print("to x * 2:", to_double.tolist(), " to y * y:", to_square[1:3].tolist())
last_write = ("arrives at late.mul_(10)", [[1.0, 1.0, 1.0]], [[0, 0, 1]])
first_write = ("arrives at out[1:3] = y * y", [(rest + through_late).tolist()], [[0, 1, 1]])
to_old = ("passed on to x * 2", [to_double.tolist()])
to_source = ("passed on to y * y", [to_square.tolist()], [[0, 1, 1]])
pictures.grids(last_write, "↓", first_write, "↓", to_old, "↓", to_source)

# %% [markdown]
# So `x` gets nothing where `y * y` replaced its values. Not every write works like that: `late.mul_(10)` overwrites an element too, but
# it computes the new value from the old one, which therefore gets 10 times the gradient.
#
# Compilers go a step further and remove the writes. `torch.compile` **functionalizes** a program, which means that each write becomes an
# operation with a new result, such as `slice_scatter`. The last lines of the cell show that the gradients stay the same:

# %% tags=["proof-functionalization"]
x, y = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([4.0, 5.0], requires_grad=True)
out = x * 2
out[1:3].mul_(10)
print("after out[1:3].mul_(10):", torch.autograd.grad(out.sum(), x)[0])
out = (x * 2).slice_scatter(y * y, 0, 1, 3)  # out[1:3] = y * y
out = out.slice_scatter(out[2:] * 10, 0, 2, 3)  # late.mul_(10)
print("without writes:", *torch.autograd.grad(out.sum(), (x, y)))

# %% [markdown]
# **Interview · You write `out[1:3] = f(y)`. How do gradients get to `y`?**
#
# - *Thirty seconds:* Autograd gives the base of the view a new node, `CopySlices`. In the backward pass that node sends the gradient of
#   the written slice to `f(y)`, and the gradient of all other elements to the old history of `out`.
# - *Longer:* The view and its base share a version counter, and a view whose base has changed makes a new `grad_fn` when it is used next.
# - *They ask next:* Does it work on a leaf that requires grad? No, it raises an error: the leaf would become a result.
# - *They ask next:* What does `torch.compile` do with such writes? It functionalizes them: the captured graph computes with
#   `slice_scatter`, and only a write into an input of the graph is copied back at its end.
# - *The trap:* The overwritten values get no gradient, unless the new values were computed from them, as by `mul_`.
# - *Proof:* `proof-rebase`, `proof-copy-slices`, `proof-functionalization`.
#
# ## The real one
# This function of `minitorch` gives a view a new history after its base was written to:

# %%
import inspect

from minitorch.autograd import views

print(inspect.getsource(views.refresh_view))

# %% [markdown]
# `seen_again` makes the view anew from the current base, `set_history` does what `attach` does in `mytorch`, and `_view_version`
# remembers which version of the base the view was made from. PyTorch also has to handle cases that `current_history` leaves aside. Here
# `_view_made` marks views that may not be used once their base has been written to, such as the parts of `split`, and `_cut_off` handles
# a base that has lost its history.

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A node saves tensors with their version, which each write increments and the backward pass compares.
# 2. Views and `detach()` share memory and version counter; `.data` shares only the memory.
# 3. Which writes are safe depends on the formulas: `exp` needs its result, a product its factors, a sum nothing.
# 4. `no_grad` and `inference_mode` stop the recording, but `eval` doesn't, and no node can save an inference tensor.
# 5. The mode belongs to the thread, so don't `await` or `yield` inside the block.
# 6. `detach` cuts and shares memory, `clone` copies and stays in the graph, `detach().clone()` cuts and copies.
# 7. A tensor that outlives a training step should have no history.
# 8. A write into a view gives its base a new history, `CopySlices`.
# 9. Overwritten values get no gradient, unless the new values were computed from them.
# 10. `saved_tensors_hooks` decides what nodes store, and what it stores has no version check.

# %% [markdown] tags=["short"]
# ## Rapid fire
# - *Does `no_grad` make `add_` safe for `backward`?* No, the version counter still changes.
# - *Is the result of `detach` a leaf?* Yes, it has no `grad_fn`.
# - *Does `model.eval()` stop autograd's recording?* No, it only changes what layers such as dropout compute.
# - *Does a write through NumPy increment the version counter?* No, so autograd can't detect it.
# - *Does a tensor lose its history inside a `no_grad` block?* No, only the results computed inside have none.

# %% tags=["proof-rapid-fire"]
before = w * w
with torch.no_grad():
    inside = before * 1
for name, tensor in {"before": before, "inside": inside, "detached": before.detach()}.items():
    print(f"{name:8} node:", tensor.grad_fn.name() if tensor.grad_fn else "none", " leaf:", tensor.is_leaf)

# %% [markdown]
# ## You try
# In [five exercises](../exercises/07_backward_in_depth.ipynb) you predict the effect of a write through `detach`, and write the modes and
# the in-place writes of `mytorch`. You also keep an average of a model's weights and fix a loop that trains on a stream. [Chapter
# 07b](07b_vector_jacobian_products.ipynb) differentiates a gradient, adds hooks to the backward pass, and tests whether a backward
# formula is correct.
#
# ## If you have time
# ### `no_grad` around `await` and `yield`
# A block restores the mode when it is left, so what happens when a function pauses inside its block, as generators and coroutines do?

# %% tags=["proof-await-and-yield"]
import asyncio


def generator():
    with torch.no_grad():
        yield


@torch.no_grad()
def decorated_generator():
    yield


@torch.no_grad()
async def decorated_coroutine():
    return (w * 2).requires_grad


async def evaluate():
    with torch.no_grad():
        await asyncio.sleep(0)  # the event loop runs another task


async def train():
    recorded["another task, while one awaits in the block"] = (w * 2).requires_grad


async def run():
    recorded["the body of a decorated coroutine"] = await decorated_coroutine()
    await asyncio.gather(evaluate(), train())


recorded = {}
for name, paused in {"a generator with a block": generator(), "a decorated generator": decorated_generator()}.items():
    next(paused)
    recorded[f"the caller of {name}"] = (w * 2).requires_grad
    list(paused)
# In a thread of its own, because the notebook's thread already runs an event loop.
thread = threading.Thread(target=asyncio.run, args=(run(),))
thread.start()
thread.join()
for where, flag in recorded.items():
    print(f"{where:44} {'recorded' if flag else 'not recorded'}")

# %% [markdown]
# A `yield` inside the block leaks the mode to the caller until the generator goes on, while the decorator switches it back at each
# `yield`. An `await` inside the block leaks it to the other tasks of the thread. Decorating an `async def` has no effect on its body,
# because the call only creates the coroutine and the mode is restored before the body runs. So it is safest to keep `await` and `yield`
# out of the block.
#
# ### What does a node save?
# The memory that training needs is mostly what nodes save. The pack hook of this cell collects it for five operations:

# %% tags=["proof-activation-memory"]
x, weight = (torch.tensor([1.0, 2.0, 3.0], requires_grad=True) for _ in range(2))
x = x * 1
for name, operation in {
    "x * w": lambda: x * weight,
    "relu": lambda: x.relu(),
    "softmax": lambda: x.softmax(0),
    "sin": lambda: x.sin(),
    "x + w": lambda: x + weight,
}.items():
    kept = []
    with graph.saved_tensors_hooks(lambda t, kept=kept: kept.append(t.data_ptr()) or t, lambda t: t):
        result = operation()
    places = {"x": x.data_ptr(), "w": weight.data_ptr(), "the result": result.data_ptr()}
    print(f"{name:8} saves", " and ".join(name for name, address in places.items() if address in kept) or "nothing")

# %% [markdown]
# **Interview · Activation memory: what does autograd save for `x * w`, `relu` and `softmax`?**
#
# - *Thirty seconds:* A node saves what its formula needs. A product saves both factors, each only if the other one requires grad;
#   `relu` and `softmax` save their result, and a sum saves nothing.
# - *Longer:* A saved tensor is no copy: `relu`'s result is also the next layer's input, and both nodes hold the same memory. GELU and
#   SiLU save their input instead, so one more tensor stays alive.
# - *They ask next:* How do you save less? By recomputing (checkpointing), or in 16 bits ([chapter 22b](22b_memory.ipynb)).
# - *The trap:* Don't count input and output of every operation: a residual sum keeps neither.
# - *Proof:* `proof-activation-memory`.
#
# ### Myth · "In-place saves memory, so prefer it"
# The cell runs four in-place operations and checks what the node saved: the tensor's own memory, or a copy?

# %% tags=["proof-in-place-memory"]
for name in ("exp_", "relu_", "sin_", "log_"):
    h = torch.tensor([1.0, 2.0], requires_grad=True) * 1
    getattr(h, name)()
    kept = h.grad_fn._saved_result if name in ("exp_", "relu_") else h.grad_fn._saved_self
    where = "its result" if kept.data_ptr() == h.data_ptr() else f"a copy of its input, {kept.tolist()}"
    print(f"{name:5} saves {where}")

# %% [markdown]
# `exp_` and `relu_` need only their result, so one piece of memory is enough. `sin_` and `log_` need their input, so PyTorch copies
# it first and nothing is gained. If *another* node needs the old value, the backward pass raises the error from the top.
#
# ### What `Variable` was
# Before version 0.4, a tensor held only values, and a `Variable` around it held `data`, `grad` and `grad_fn`. The two classes have been
# merged since then, but you will still meet `Variable` in old code.

# %% tags=["proof-variable"]
hidden = w * 3
wrapped = torch.autograd.Variable(hidden)
print(type(wrapped).__name__, isinstance(w, torch.autograd.Variable))
print("same object:", wrapped is hidden, " same memory:", wrapped.data_ptr() == hidden.data_ptr())
print("history before:", hidden.grad_fn.name(), " after:", wrapped.grad_fn)

# %% [markdown]
# ### Myth · `autograd.Variable` belongs in new code
# It doesn't. You may also hear that `Variable` has been a no-op since 0.4, but the last line shows that `Variable(hidden)` detaches. In
# the middle of a network, no gradient then reaches anything before it, and there is no error.
