# %% [markdown]
# # The computation graph
# In this lesson you build the engine behind `loss.backward()`, first for single numbers. In the exercises you write the one for your
# library's tensors, on which a network learns to separate two moons.

# %% [markdown] tags=["short"]
# ## A weight that gets no gradient
# You want small initial weights, so you scale a tensor that requires grad. What will `weight.grad` be?

# %% tags=["proof-lost-gradient"]
import warnings

import minitorch as torch
from course import check

warnings.simplefilter("ignore")  # so that you can guess first: PyTorch warns about reading the .grad of a result
weight = torch.ones(2, requires_grad=True) * 0.1
(weight * torch.tensor([3.0, 4.0])).sum().backward()
print("requires grad:", weight.requires_grad, "  grad:", weight.grad)
print(repr(check.error(torch.optim.SGD, [weight], lr=0.1)))

# %% [markdown] tags=["short"]
# The weight requires grad and `backward` ran without an error, and yet there is no gradient, and `SGD` refuses the tensor.
# Where did the gradient go?
#
# ## Automatic differentiation of scalars
# A small model of `backward` answers that question. Each `Value` records how it was computed by keeping an **edge** for every
# input: the input together with the **local derivative**, which says how fast the result changes with that input. The simplest
# backward pass follows every path:


# %%
class Value:
    def __init__(self, data, edges=()):
        self.data, self.grad, self.edges = data, 0.0, edges

    def __add__(self, other):
        return Value(self.data + other.data, [(self, 1.0), (other, 1.0)])

    def __mul__(self, other):
        return Value(self.data * other.data, [(self, other.data), (other, self.data)])


def along_every_path(value, grad):
    """Adds the gradients up; returns how many calls it took."""
    value.grad += grad
    return 1 + sum(along_every_path(source, grad * local) for source, local in value.edges)


# %% [markdown]
# This is the chain rule: multiply the local derivatives along each path, and add up the paths. Try it on $h = s \cdot s$ and $end
# = h + 2h$, at $s = 3$:

# %%
from course import pictures


def diamond():
    s, two = Value(3.0), Value(2.0)
    h = s * s
    double = h * two
    end = h + double
    return s, h, end, {end: "end", double: "h * two", h: "h", s: "s", two: "two"}


s, h, end, names = diamond()
along_every_path(end, 1.0)
print(f"d end/dh = {h.grad}   d end/ds = {s.grad}")
pictures.graph(
    end,
    children=lambda value: [(source, f"{local:g}") for source, local in value.edges],
    label=lambda value: f"{names[value]} = {value.data:g}\ngrad {value.grad:g}",
)

# %% [markdown]
# Since $end = 3h$ and $h = s^2$, the derivatives 3 and $3 \cdot 2s = 18$ are correct. In the picture, the labels on the arrows
# are the local derivatives, and the gradients flow against the arrows. Because `h` feeds two operations whose results meet
# again, this graph is called a **diamond**.
#
# This also explains the weight from the beginning. PyTorch stores a gradient where a path ends, but this path continues through the
# multiplication to the tensor of ones, to which no variable refers.
#
# ## Break it: the number of paths
# Stack n diamonds with `end = end + end`, and count the calls that the toy needs:


# %%
def additions(n):
    end = Value(1.0)
    for _ in range(n):
        end = end + end
    return end


calls = [along_every_path(additions(n), 1.0) for n in range(1, 15)]
print(calls)
pictures.curves({"paths": calls, "values": range(2, 16)}, xlabel="additions", ylabel="visits", log="y")

# %% [markdown]
# With n additions it takes $2^{n+1} - 1$ calls, so thirty additions would need two billion. Instead of following each path, every value
# can propagate what has accumulated in its `.grad`. The first public version of micrograd (April 2020, commit 0401485) did that: a value
# adds its share to the gradient of each input, and then each input does the same.

# %% tags=["proof-diamond"]
trace = []


def propagate(value):
    for source, local in value.edges:
        source.grad += local * value.grad
    if value.edges:
        trace.append((names.get(value), {name: tensor.grad for tensor, name in names.items()}))


def at_once(value):
    propagate(value)
    for source, _ in value.edges:
        at_once(source)


s, h, end, names = diamond()
end.grad = 1.0
at_once(end)
print(f"d/dh = {h.grad}  d/ds = {s.grad}  propagated by:", ", ".join(name for name, _ in trace))

# %% [markdown]
# The gradient of `s` is 24 instead of 18, because `h` propagates before its own gradient is complete. It first receives 1 from
# the addition and propagates $1 \cdot 2s = 6$ to `s`. When another 2 arrives from the product, `h` propagates everything it
# has, $3 \cdot 6 = 18$, so the first 1 counts twice.
#
# **Each value must propagate its gradient once, after everything that it will receive has arrived.** This requires a **topological
# order**, in which each value comes before those that it was made from. A day later, micrograd computed one by recursion: it appended
# each value to a list after all of its inputs, and then read the list backwards.


# %%
def postorder(value, done):
    if value not in done:
        for source, _ in value.edges:
            postorder(source, done)
        done[value] = True
    return done


def backward(end):
    end.grad = 1.0
    for value in reversed(postorder(end, {})):
        propagate(value)


orders, trace = {"at once": trace}, []
s, h, end, names = diamond()
backward(end)
orders["in order"] = list(trace)
print(f"d/dh = {h.grad}  d/ds = {s.grad}  propagated by:", ", ".join(name for name, _ in trace))

# %% [markdown]
# Move the sliders to follow the two orders. The arrows start at the value that propagates its gradient in this step, and the numbers are
# the gradients after the step.


# %% hidden=true
def draw(order, step):
    active, grads = orders[order][min(step, len(orders[order])) - 1]
    place = {"end": 0, "h * two": 1, "h": 2, "s": 3}
    receivers = {"end": ["h * two", "h"], "h * two": ["h"], "h": ["s"]}[active]
    arrows = [((place[active], (0, 0)), (place[name], (0, 0))) for name in receivers]
    end, double, h, s = ((name, [[grads[name]]]) for name in place)
    return pictures.grids(end, "↓", " " * 16, double, "↓", h, "↓", s, arrows=arrows)


pictures.assign(dict.fromkeys(["end", "h * two", "h", "s"], "gradient"))
pictures.slider(draw, start={"order": "at once", "step": 4}, order=list(orders), step=[1, 2, 3, 4])

# %% [markdown]
# In topological order, `h` propagates once and `s` gets its 18. Compare `backward` with a difference quotient on an expression
# with several diamonds, and then try it on a long chain:


# %% tags=["proof-topological-order"]
def expression(p, q):
    u = p * q + p
    return (u * u + q) * u


p, q, step = Value(0.5), Value(-1.5), 1e-6
backward(expression(p, q))
above, below = (expression(Value(0.5 + change), q).data for change in (step, -step))
print(f"d/dp: backward {p.grad:.6f}, difference quotient {(above - below) / (2 * step):.6f}")
print("5,000 additions:", type(check.error(backward, additions(5_000))).__name__)

# %% [markdown]
# ### Counting edges: Kahn's algorithm
# The gradients agree, but `postorder` fails on the long chain: its recursion is as deep as the longest path, so Python's stack
# is too small for 5,000 operations. Instead, you can count how many edges lead to a value, which is *ready* as soon as that
# many gradients have arrived. For the diamond:
#
# | step | propagates | `h * two` waits for | `h` waits for | `s` waits for |
# |---|---|---|---|---|
# | start | | 1 | 2 | 2 |
# | 1 | `end` | **0** | 1 | 2 |
# | 2 | `h * two` | | **0** | 2 |
# | 3 | `h` | | | **0** |
#
# Count only the edges of values that can be reached from the end: a result that isn't part of this loss never sends a gradient, so its
# inputs would wait forever. This is Kahn's algorithm, which PyTorch uses as well, and you will write it in exercise 2.
#
# **Interview · Why does the engine need a topological order?**
#
# - *Thirty seconds:* The gradient of a node is a sum over all of its uses. If the node propagates it before the sum is complete, some
#   contributions count twice or get lost, so a node has to run after everything that uses its result.
# - *Longer:* PyTorch counts the edges that lead to each reachable node, and it runs the node when a gradient has arrived along
#   each of them, so it runs once, however many paths lead to it.
# - *They ask next:* Why do we go backwards at all? One backward pass gives the derivatives of the loss with respect to *all* inputs;
#   one pass in forward mode gives those with respect to *one* (exercise 5).
# - *The trap:* On chains, where every value is used once, the bug doesn't show.
# - *Proof:* `proof-diamond`, `proof-topological-order`.

# %% [markdown]
# ## `grad_fn`: the nodes and edges of tensors
# In `mytorch`, a call goes down a stack of layers to its kernel. This chapter adds the layer `record`, which creates a **node** for the
# call.

# %% tags=["proof-graph"]
from course import lesson

mytorch = lesson.mytorch(6)
w = mytorch.tensor([1.0, 2.0], requires_grad=True)
x = mytorch.tensor([3.0, 4.0])
y = w * x
loss = y.sum()
for name, tensor in {"w": w, "x": x, "y": y, "loss": loss}.items():
    print(f"{name:4} {tensor.tolist()!s:11} made by", tensor.grad_fn)
for node in (loss.grad_fn, y.grad_fn):
    print(node, "leads to", node.next_functions)
print(y.grad_fn.apply(mytorch.tensor([1.0, 10.0])))

# %% [markdown] given="mytorch.autograd.node:edge_of mytorch.autograd.recording:record"
# `grad_fn` is the node that made a tensor, and the edges of a node say where its gradients go: each edge names another node and one of
# that node's outputs. A path ends at an `AccumulateGrad` node, which adds what arrives to `w.grad`. Since `x` doesn't require grad, its
# edge leads nowhere, so it is `None` in `node.edges` and `(None, 0)` in `next_functions`, which is PyTorch's name for the edges.
# When a node runs, it computes the gradients of its inputs from that of its output, here $[1 \cdot 3, 10 \cdot 4]$ for `w`. Two functions
# do the recording (in-place writes follow in chapter 07):

# %% [markdown] given="mytorch.autograd.derivatives:derivative.mul mytorch.autograd.derivatives:derivative.exp mytorch.autograd.derivatives:derivative.sin"
# Because the graph is recorded while the operations run, each iteration builds a new one.
#
# ### Saved tensors
# The local derivative is now a formula, declared once for each operation, in which `g` stands for the gradient of the result. **A node
# saves the tensors that its formulas mention**, except for formulas of inputs that need no gradient. In PyTorch these tensors are visible
# as `_saved_self`, `_saved_other` and `_saved_result`. Guess what each of the seven operations saves before you run the cell.

# %% tags=["proof-saved-tensors"]
a, b = torch.tensor([1.0, 4.0], requires_grad=True), torch.tensor([5.0, 6.0], requires_grad=True)
data = torch.tensor([3.0, 4.0])
results = {"a * data": a * data, "a * b": a * b, "a + b": a + b, "a.sum()": a.sum()}
results |= {"a.sin()": a.sin(), "a.sqrt()": a.sqrt(), "a.relu()": a.relu()}
for call, result in results.items():
    print(f"{call:9}", end="")
    for name in ("_saved_self", "_saved_other", "_saved_result"):
        saved = getattr(result.grad_fn, name, None)
        if saved is not None:
            print(f" {name} {saved.tolist()}", end="")
    print()
root = a.sqrt()
root += 1
print(str(check.error(root.sum().backward)).partition(" Hint")[0].partition(": ")[2])

# %% [markdown]
# `a * data` saves `data` but not `a`, which only the gradient of `data` would need. Sums save neither input nor result, because
# their local derivatives are 1. `sin` saves its input for the cosine, while `sqrt` and `relu` save their *result*. Together
# with each saved tensor the node stores its **version number**, which is how it detected the write into `root`.
#
# **Interview · What does PyTorch store in the graph?**
#
# - *Thirty seconds:* Each recorded result has a `grad_fn`, which is a node with a backward formula. The node has edges to the nodes of its
#   inputs, and it keeps only those tensors that the formula needs.
# - *Longer:* An edge is a pair of a node and an output number, and for a leaf that node is its `AccumulateGrad`. Saved tensors carry their
#   version, so a write in between is detected, and `backward` frees them as it goes.
# - *They ask next:* Why does ReLU save its output? It is positive exactly where the input was, and the next layer usually saves it anyway,
#   so both share one tensor.
# - *The trap:* It doesn't store all activations: the node of `a + b` saves neither input.
# - *Proof:* `proof-graph`, `proof-saved-tensors`, `proof-memory`.
#
# **Interview · Does `torch.compile` use this graph?**
#
# - *Thirty seconds:* No, this graph has a node for each operation. Instead, AOTAutograd traces the backward pass ahead of time together
#   with the forward pass. Both are compiled, and at run time autograd sees the compiled function as a single node.
# - *Longer:* For `(w * x).sin().sum()`, PyTorch 2.13 produces a forward graph with `mul`, `sin` and `sum`, and a backward graph
#   with `expand`, `cos` and three `mul`, of which the first computes `w * x` again instead of saving it. The single node is a
#   `CompiledFunctionBackward`.
# - *They ask next:* What is gained? The compiler sees both passes, so it can fuse the backward pass, too, and choose what to
#   save and what to recompute.
# - *The trap:* Compiled code still needs autograd. The engine runs that node and accumulates the gradients.
# - *Proof:* the graph with a node for each operation: `proof-graph`; the joint graph and the stages: [chapter
#   08](08_static_and_dynamic_graphs.ipynb).
#
# ### The gradient of a broadcast input
# A float32 bias of shape (3,) is added to a float64 batch of shape (2, 3). Which shape and dtype will its gradient have?

# %% tags=["proof-broadcast"]
bias = mytorch.zeros(3, requires_grad=True)
rows = mytorch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=mytorch.float64)
total = rows + bias
to_bias = total.grad_fn.apply(rows)[1]
total.backward(rows)
print("the formula gives", to_bias.shape, to_bias.dtype, "and bias.grad is", bias.grad, bias.grad.dtype)
pictures.grids(("what arrives", to_bias), "sum of the rows", ("bias.grad", bias.grad))

# %% [markdown]
# Each element of the bias was used twice, so it gets the sum of two gradients: **broadcast and sum are each other's backward**. A node
# records the shape and dtype of each of its outputs in `node.outputs`, so the engine can reduce and cast a gradient when it arrives
# (`fit`, exercise 3).
#
# **Interview · A bias of shape (10,) is added to a batch of shape (64, 10). What shape does its gradient have?**
#
# - *Thirty seconds:* The bias's own shape, (10,), because it is the sum over the 64 rows. Broadcasting uses each element 64
#   times, and the gradients of a value that is used several times add up.
# - *Longer:* You sum over the dimensions that broadcasting added on the left, and over those that it stretched from length 1. The
#   gradient is also cast back to the input's dtype, so a float32 bias gets a float32 gradient.
# - *They ask next:* And the backward of a sum? A broadcast: each element gets the gradient of the sum.
# - *The trap:* Gradients of the expected shapes don't prove that the forward pass is correct. (64, 1) minus (64,) is (64, 64), and nothing
#   raises ([chapter 04](04_broadcasting_indexing_joining.ipynb)).
# - *Proof:* `proof-broadcast`.
#
# ## Milestone: two moons
# Now you train a network on your library alone, with every gradient from your engine. (The reference's code stands in for
# exercises that you haven't solved yet.) How many of 200 points end up on the correct side?

# %%
from sklearn.datasets import make_moons

points, labels = make_moons(200, noise=0.15, random_state=0)
x = mytorch.tensor(points.astype("float32"))
side = mytorch.tensor(2 * labels - 1).float().reshape(-1, 1)  # -1 or 1
mytorch.manual_seed(0)
w1, b1 = mytorch.randn(2, 16, requires_grad=True), mytorch.zeros(16, requires_grad=True)
w2, b2 = mytorch.randn(16, 1, requires_grad=True), mytorch.zeros(1, requires_grad=True)


def score(x):
    return (x @ w1 + b1).tanh() @ w2 + b2


for _ in range(600):
    loss = ((-side * score(x)).exp() + 1).log().mean()
    loss.backward()
    for parameter in (w1, b1, w2, b2):
        parameter.data -= parameter.grad  # learning rate 1
        parameter.grad = None
print((side * score(x) > 0).sum().item(), "of", len(labels), "points on the correct side")
pictures.decision(lambda grid: score(mytorch.tensor(grid)), points, labels)

# %% [markdown] tags=["short"]
# ## Leaf tensors
# A **leaf** is a tensor without a `grad_fn`. Predict which of these tensors are leaves and which require grad.

# %% tags=["proof-leaves"]
w = torch.ones(2, requires_grad=True)
product = w * data
with torch.no_grad():
    unrecorded = w * data
tensors = {"w": w, "data": data, "data * 2": data * 2, "product": product, "unrecorded": unrecorded}
tensors |= {"product.detach()": product.detach(), "w > 0": w > 0, "w.argmax()": w.argmax()}
tensors |= {"w.floor()": w.floor(), "w.double()": w.double()}
for name, t in tensors.items():
    node = t.grad_fn.name() if t.grad_fn else None
    print(f"{name:16} leaf {t.is_leaf!s:5}  requires grad {t.requires_grad!s:5}  grad_fn {node}")

# %% [markdown]
# A result **requires grad**, and gets a `grad_fn`, under three conditions: one of its inputs requires grad, recording is
# enabled, and the operation is differentiable, which `>` isn't and `detach` isn't meant to be. Any other result is a leaf.
# (Views made under `no_grad` are special, as [chapter 07](07_backward_in_depth.ipynb) shows.)
#
# So two common definitions are incorrect. *"Leaves are the tensors you create yourself"* fails for `data * 2`, which is a
# result and a leaf. *"Leaves are the tensors that require grad"* fails twice: `data` is a leaf that doesn't require grad, and
# `product` requires grad and isn't a leaf.
#
# To get a gradient for the weight from the beginning, scale it first, and call `requires_grad_` afterwards. The last line
# scales it in place after that:

# %% tags=["proof-scale-first"]
weight = (torch.ones(2) * 0.1).requires_grad_()
(weight * data).sum().backward()
print("leaf:", weight.is_leaf, "  grad:", weight.grad)
print(repr(check.error(weight.mul_, 2)))

# %% [markdown]
# **Interview · What is a leaf tensor?**
#
# - *Thirty seconds:* A leaf is a tensor whose `grad_fn` is `None`. `backward` fills `.grad` for the leaves that require grad and took
#   part in the loss, and for other tensors only after `retain_grad()`.
# - *Longer:* Parameters are leaves that require grad, while inputs and unrecorded results are leaves that don't.
# - *They ask next:* Why does writing into a parameter raise an error? Because a recorded write would turn it into a result,
#   whose `.grad` would stay empty. Optimizers therefore write under `no_grad`.
# - *The trap:* A parameter created with `torch.randn(n, requires_grad=True).to(device)` is a leaf only if `to` has nothing to do.
# - *Proof:* `proof-leaves`, `proof-scale-first`; `retain_grad`: [chapter 07b](07b_vector_jacobian_products.ipynb).
#
# ## Freezing layers
# If no input requires grad, nothing is recorded, so freezing a layer can shorten the graph. To see how much, freeze each of two
# layers in turn, and list the nodes that a backward pass runs. Which of the two saves more?

# %% tags=["proof-freezing"]
from minitorch.autograd import engine

for frozen in ("nothing", "first layer", "second layer"):
    inner = torch.ones(4, 3, requires_grad=frozen != "first layer")
    outer = torch.ones(3, 2, requires_grad=frozen != "second layer")
    result = ((torch.ones(5, 4) @ inner).exp() @ outer).sum()
    order = engine.topological_order([result.grad_fn])
    short = [node.name().split("::")[-1].removesuffix("Backward0") for node in order]
    print(f"freeze {frozen:13}{len(order)} nodes:", *short)
body = torch.nn.BatchNorm1d(3).requires_grad_(False)
print("frozen batch norm: graph", body(torch.ones(8, 3)).grad_fn, "- mean", body.running_mean)

# %% [markdown] tags=["short"]
# If you freeze the first layer, half of the graph disappears, which PyTorch's notes call **excluding a subgraph**. If you
# freeze the second one, a single node disappears, because the gradient of the first layer still has to pass through. The last
# line is a warning: even a frozen batch norm has moved its running mean.
#
# **Interview · You fine-tune the head of a network. `requires_grad_(False)`, `no_grad` or `detach`?**
#
# - *Thirty seconds:* I would use `body.requires_grad_(False)`. Then, unless the data require grad, nothing below the head is
#   recorded, and no activations are kept there. I would also call `body.eval()`, because otherwise its batch norms go on
#   updating their statistics.
# - *Longer:* `no_grad` around the forward pass of the body does the same, whatever the flags say. `detach` after the body gives the same
#   gradients for the head, but by then the body has been recorded, and its activations stay as long as anything refers to the body's own
#   output.
# - *They ask next:* Does it help to freeze late layers? Only a little: gradients for the early layers still pass through them.
# - *The trap:* `eval()` doesn't freeze weights. It changes what layers compute, not what is recorded.
# - *Proof:* `proof-freezing`; `proof-leaves` for `no_grad` and `detach`.
#
# **Interview · In which order do gradients become available during `backward`?**
#
# - *Thirty seconds:* They become available roughly in the reverse order of the forward pass, so the last layers get theirs first. A
#   node is ready when all of its gradients have arrived, and among several ready nodes the engine runs the one that was recorded last.
# - *Longer:* `AccumulateGrad` runs before all other ready nodes, so a parameter's gradient is complete as early as possible.
#   DistributedDataParallel makes use of this order: it sends the gradients of the last layers while the earlier ones are still being
#   computed ([chapter 23](23_multi_gpu.ipynb)).
# - *They ask next:* What about a weight that is used twice, such as a tied embedding? Both uses send a gradient to the same
#   `AccumulateGrad`, so `.grad` is complete only after the backward pass has reached the earlier use.
# - *The trap:* The order of the layers in the code says nothing. Only the recorded graph matters.
# - *Proof:* the order of the nodes in `proof-freezing`; a weight used twice: `proof-grad-is-a-sum`.
#
# ## Gradient accumulation in `.grad`
# Run two backward passes without clearing `.grad` in between, and then use one weight twice in the same pass.

# %% tags=["proof-grad-is-a-sum"]
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * data).sum().backward()
first = w.grad
(w * data).sum().backward()
print("after two passes:", w.grad, "  what `first` holds now:", first)
tied = torch.tensor([1.0, 2.0], requires_grad=True)
(tied * data + tied * 10).sum().backward()
print("a weight used twice in one pass:", tied.grad)
for grad in (None, torch.zeros(2)):
    w.grad = grad
    torch.optim.SGD([w], lr=0.1, weight_decay=0.5).step()
    print("SGD with weight decay, grad", grad, "->", w.detach())

# %% [markdown]
# Later passes **add to `.grad` in place**, which is why a training loop clears it, and why `first` changed as well. The last
# two lines show that setting `.grad` to `None` isn't the same as setting it to zero: an optimizer skips a parameter without a
# gradient, but weight decay moves one whose gradient is zero.
#
# **Interview · Why does `backward` accumulate instead of overwriting?**
#
# - *Thirty seconds:* A derivative is a sum over all uses of a value, so gradients add up within a pass. Adding across passes as well
#   lets several small batches share one optimizer step, which is called gradient accumulation. The price is that you have to call
#   `zero_grad`.
# - *Longer:* Across passes, `AccumulateGrad` adds in place, so code that holds on to `.grad` sees the sum. With `create_graph` it makes a
#   new tensor instead.
# - *They ask next:* Why does `zero_grad` set `.grad` to `None`? It frees memory and lets the optimizer skip parameters that weren't used.
# - *The trap:* `first = w.grad` isn't a snapshot. It is the tensor that the next pass adds to.
# - *Proof:* `proof-grad-is-a-sum`.
#
# ## Memory: what keeps a graph alive
# A loss keeps its whole history alive. The next cell watches an activation through a weak reference, because an ordinary one
# would keep it alive.

# %% tags=["proof-memory"]
import weakref


def forward():
    hidden = w.exp()
    return (hidden * hidden).sum(), weakref.ref(hidden)


loss, hidden = forward()
print("loss kept, no backward: activations alive:", int(hidden() is not None))
loss.backward()
print("after backward:         activations alive:", int(hidden() is not None), "  node:", loss.grad_fn.name())
print("a second pass:", str(check.error(loss.backward)).partition(" (or")[0])
loss, hidden = forward()
loss = loss.item()
print("only a number kept:     activations alive:", int(hidden() is not None))
for count in (1, 2, 3):
    total = sum(forward()[0] for _ in range(count))
    print(f"running total of {count}: {len(engine.topological_order([total.grad_fn]))} nodes")

# %% [markdown]
# `backward` frees the saved tensors but keeps the nodes, so a second pass raises an error as soon as a node needs a saved
# tensor that is gone. Keeping only a number frees everything, while a running total of losses grows by four nodes with each of
# them.
#
# PyTorch saves the 2 of `w * 2` as a tensor, but `mytorch` keeps a plain number, so only PyTorch raises an error here:

# %% tags=["proof-second-pass"]
for name, library in {"torch": torch, "mytorch": mytorch}.items():
    result = (library.ones(2, requires_grad=True) * 2).sum()
    result.backward()
    print(f"{name:8}second pass of (w * 2).sum():", str(check.error(result.backward)).partition(" (or")[0])

# %% [markdown]
# **Interview · Memory grows with every iteration. Where do you look?**
#
# - *Thirty seconds:* I look for a tensor with history that outlives its iteration: `losses.append(loss)`, `total += loss`, or a hidden
#   state that is carried over without `detach`. The usual fix is to keep `loss.item()`.
# - *Longer:* After `backward` only the nodes remain, so memory grows slowly, but in a validation loop without `no_grad` each stored loss
#   keeps its activations, and memory grows fast.
# - *They ask next:* Does `del loss` free the graph? Yes, immediately, unless something else still refers to it.
# - *The trap:* `backward` doesn't free everything: the nodes stay as long as the loss does.
# - *Proof:* `proof-memory`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# These cells show the answers, in this order: `proof-lost-gradient`, `proof-leaves`, `proof-second-pass`, and for the last two
# `proof-broadcast`.
#
# - *Does reading `.grad` of a non-leaf raise an error?* No, it is `None`, and PyTorch warns unless you called `retain_grad()`.
# - *A float32 parameter `p`: is `p.double()` a leaf?* No, the conversion is a recorded operation.
# - *Does a second `backward()` through one graph raise an error?* Only if a saved tensor is needed. `w.sum()` saves none, so it
#   runs; `(w * 2).sum()` raises one in PyTorch.
# - *Who sums the gradient of a broadcast input?* The engine, when the gradient arrives.
# - *A float32 weight is multiplied by float64 data. Which dtype does the weight's `.grad` have?* Float32: the engine
#   casts it back.

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A recorded operation creates a node with formulas, edges, and the tensors that the formulas need.
# 2. The chain rule multiplies along each path and adds up the paths.
# 3. A node runs once, when all of its gradients have arrived, so the engine counts edges.
# 4. Test an engine on diamonds: chains hide the bug.
# 5. A leaf has no `grad_fn`, and `.grad` is filled for leaves that require grad and took part.
# 6. Scale, convert and move a tensor first, and call `requires_grad_` afterwards.
# 7. `backward` adds to `.grad` in place, and for an optimizer `None` isn't zero.
# 8. Broadcast and sum are each other's backward, so a broadcast input's gradient is a sum.
# 9. If no input requires grad, nothing is recorded, but frozen late layers stay in the graph.
# 10. A stored loss keeps its graph alive, so store `loss.item()`.
#
# ## You try
# In [the exercises](../exercises/06_computation_graph.ipynb) you predict which tensor gets a gradient, and write the engine, the node,
# `fit`, and the gradient of `matmul`. You also run the chain rule forwards, fix a gradient that changes by itself, and measure what a
# layer saves. [Chapter 07](07_backward_in_depth.ipynb) continues with in-place writes, and [07b](07b_vector_jacobian_products.ipynb) with
# hooks and operations of your own.

# %% [markdown]
# ## If you have time
# ### Myth · "If one input requires grad, so does the result"
# Although `w` requires grad, `w > 0` and `w.argmax()` [don't](proof-leaves), because only floating-point and complex tensors
# can require grad, and booleans and indices are neither. A piecewise-constant function is still recorded, though: `w.floor()`
# has floating-point results, and its gradient is 0.
#
# ### Myth · "`Variable.grad` is itself a Variable"
# Today `.grad` is a tensor ([chapter 07](07_backward_in_depth.ipynb) says what `Variable` was):

# %% tags=["proof-history-of-a-gradient"]
for create_graph in (False, True):
    w.grad = None
    (w * w * w).sum().backward(create_graph=create_graph)
    print("create_graph", create_graph, type(w.grad), "with history:", w.grad.grad_fn is not None)

# %% [markdown]
# **Interview · What is `.grad`, and does it have a history?**
#
# - *Thirty seconds:* It is a tensor of the leaf's shape, or `None`. A pass gives it a `grad_fn` only with `create_graph=True`, and then
#   it can be differentiated again ([chapter 07b](07b_vector_jacobian_products.ipynb)).
# - *The trap:* Old code wraps it in `Variable`, which is no longer needed.
# - *Proof:* `proof-history-of-a-gradient`.

# %% [markdown] given="mytorch.autograd.engine:arrive"
# ### The real one: how a gradient arrives
# PyTorch's engine is written in C++ and minitorch's in Python, with the same order and the same messages. Compare what happens when a
# gradient arrives, first in yours:

# %%
import inspect

source = inspect.getsource(engine._receive)
print(source[source.index("    output =") : source.index("    total =")])

# %% [markdown]
# `pending` corresponds to `buffers`, `_fitted` to `fit`, and `_array`, `_dtype` and `_device` are a tensor's NumPy array, dtype and
# device. Two things are new, and PyTorch has both. If the shape can't be made to fit, the error of `_fitted` names the node that computed
# the gradient (`giver`) and the input it is for (`index`), which leads you to the faulty formula. In the rest of the function, which
# isn't shown, a second gradient is added to the first *in place* if no other code can see the sum, which is why the engine counts in how
# many places the pass keeps a gradient.
#
# When several nodes are ready, both engines run the one that was recorded last, and `AccumulateGrad` before all others (see
# [freezing](proof-freezing)).
