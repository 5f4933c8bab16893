# %% [markdown]
# # The computation graph
# This lesson builds the engine behind `loss.backward()` for single numbers. In the exercises you write the one for the
# tensors of your own library, and on it a network learns to separate two moons. *Count instead of recursing* is a good
# place for a break.

# %% [markdown] tags=["short"]
# ## A weight that gets no gradient
# You want small initial weights, so you scale a tensor that requires grad. What will `weight.grad` be?

# %% tags=["proof-lost-gradient"]
import warnings

import minitorch as torch
from course import check

warnings.simplefilter("ignore")  # PyTorch warns when you read the .grad of a result
weight = torch.ones(2, requires_grad=True) * 0.1
(weight * torch.tensor([3.0, 4.0])).sum().backward()
print("requires grad:", weight.requires_grad, "  grad:", weight.grad)
print(repr(check.error(torch.optim.SGD, [weight], lr=0.1)))

# %% [markdown] tags=["short"]
# The weight requires grad, `backward` ran, and there is no gradient. `SGD` refuses the tensor. Where did the gradient go?
#
# ## Numbers that remember
# A `Value` knows what it was made from. For each input it keeps an **edge**: the input, and the **local derivative**,
# which says how fast the result changes with it.


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
# That is the chain rule: multiply along each path, and add up the paths. Try it on $h = s \cdot s$ and $end = h + 2h$.

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
# $end = 3h$ and $h = s^2$, so 3 and $3 \cdot 2s = 18$ are right. The arrows are labelled with local derivatives; gradients
# flow in the opposite direction. `h` feeds two operations whose results are combined again: a **diamond**.
#
# And the weight? PyTorch stores a gradient where a path ends. Here the path goes on through the product and ends at the
# tensor of ones, which has no name.
#
# ## Break it
# Stack up diamonds: `end = end + end`, n times. How many calls does that take?


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
# It takes $2^{n+1} - 1$ calls for $n$ additions, so thirty additions would take two billion. Instead of going along each path,
# let each value pass on what is in its `.grad`. The first public micrograd (April 2020, commit 0401485) gives each input its
# share, then lets each input do the same.

# %% tags=["proof-diamond"]
trace = []


def pass_on(value):
    for source, local in value.edges:
        source.grad += local * value.grad
    if value.edges:
        trace.append((names.get(value), {name: each.grad for each, name in names.items()}))


def at_once(value):
    pass_on(value)
    for source, _ in value.edges:
        at_once(source)


s, h, end, names = diamond()
end.grad = 1.0
at_once(end)
print(f"d/dh = {h.grad}  d/ds = {s.grad}  passed on:", ", ".join(name for name, _ in trace))

# %% [markdown]
# The result is 24 instead of 18. `h` receives 1 from the addition and passes $1 \cdot 2s = 6$ on to `s`. Then 2 more arrive
# from the product, and it passes on all it has, $3 \cdot 6 = 18$: the first 1 counts twice. A chain doesn't show this bug.
#
# **A value passes on its gradient once, after everything that it will receive has arrived.** For that you need a
# **topological order**: each value comes before those it was made from. A day later, micrograd found one by
# recursion: put a value on a list after all its inputs, and read the list backwards.


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
        pass_on(value)


orders, trace = {"at once": trace}, []
s, h, end, names = diamond()
backward(end)
orders["in order"] = list(trace)
print(f"d/dh = {h.grad}  d/ds = {s.grad}  passed on:", ", ".join(name for name, _ in trace))

# %% [markdown]
# Move the sliders. At each step the value that passes on its gradient is marked; the gradients are those after the step.


# %%
def draw(order, step):
    active, grads = orders[order][min(step, len(orders[order])) - 1]
    cells = [(name, [[grad]], [[name == active]]) for name, grad in grads.items()]
    return pictures.grids(*cells)


pictures.slider(draw, start={"order": "at once", "step": 4}, order=list(orders), step=[1, 2, 3, 4])

# %% [markdown]
# One right answer proves little. Compare with a difference quotient, on several diamonds.


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
# ### Count instead of recursing
# The recursion is as deep as the longest path, which Python's stack doesn't allow. You can count instead. How many edges lead
# to a value? It is *ready* when that many gradients have arrived.
#
# | step | passes on | `h * two` waits for | `h` waits for | `s` waits for |
# |---|---|---|---|---|
# | start | | 1 | 2 | 2 |
# | 1 | `end` | **0** | 1 | 2 |
# | 2 | `h * two` | | **0** | 2 |
# | 3 | `h` | | | **0** |
#
# Count only edges from values that can be reached from the end: a result that isn't part of this loss sends no gradient, and
# its inputs would wait forever. This is Kahn's algorithm, and PyTorch uses it. You'll write it in exercise 2.
#
# **Interview · Why does the engine need a topological order?**
#
# - *Thirty seconds:* A node's gradient is a sum over its uses. If it is passed on before it is complete, parts count
#   twice or get lost.
# - *Longer:* PyTorch counts the edges to each reachable node and runs the node when all of them have delivered: once,
#   however many paths lead to it.
# - *They ask next:* Why go backwards? One backward pass gives the derivatives of the loss with respect to *all* inputs. A
#   forward pass gives those with respect to *one* (exercise 5).
# - *The trap:* testing an engine on chains.
# - *Proof:* `proof-diamond`, `proof-topological-order`.

# %% [markdown]
# ## From numbers to tensors
# In `mytorch`, a call goes down a stack of layers to its kernel. This chapter adds the layer `record`, which makes a **node**
# for the call.

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
# `grad_fn` is the node that made a tensor. Its edges say where gradients go: to a node, and to which of that node's
# outputs. A path ends at `AccumulateGrad`, which adds what arrives to `w.grad`. `x` doesn't require grad, so its edge
# leads nowhere: it is `None` in `node.edges`, and `(None, 0)` in `next_functions`, which is PyTorch's name for the edges. When
# you run a node, it turns the gradient of `y` into that of `w`: $[1 \cdot 3, 10 \cdot 4]$. Two functions do the recording
# (writes are for chapter 07):

# %% [markdown] given="mytorch.autograd.derivatives:derivative.mul mytorch.autograd.derivatives:derivative.exp mytorch.autograd.derivatives:derivative.sin"
# The graph is recorded as operations run, a new one in each iteration.
#
# ### What a node stores
# A local derivative is now a formula, declared once for each operation; `g` is the gradient of the result. **A node
# keeps what its formulas name**, leaving out formulas whose input needs no gradient. PyTorch shows these tensors as
# `_saved_self`, `_saved_other` and `_saved_result`. For each of seven operations, guess what is kept, then run the cell.

# %% tags=["proof-saved-tensors"]
a, b = (torch.tensor(numbers, requires_grad=True) for numbers in ([1.0, 4.0], [5.0, 6.0]))
data = torch.tensor([3.0, 4.0])
for text in ("a * data", "a * b", "a + b", "a.sum()", "a.sin()", "a.sqrt()", "a.relu()"):
    kept = {key: getattr(eval(text).grad_fn, f"_saved_{key}", None) for key in ("self", "other", "result")}
    print(f"{text:9}", {key: tensor.tolist() for key, tensor in kept.items() if tensor is not None})
root = a.sqrt()
root += 1
print(str(check.error(root.sum().backward)).partition(" Hint")[0].partition(": ")[2])

# %% [markdown]
# `a * data` keeps `data` but not `a`, which only a gradient for `data` would need. `sqrt` and `relu` keep their
# *result*. The node also remembers each saved tensor's **version number**, so it noticed the write.
#
# **Interview · What does PyTorch store in the graph?**
#
# - *Thirty seconds:* Each recorded result has a `grad_fn`: a node with a backward formula, edges to the nodes of its
#   inputs, and the tensors that the formula needs.
# - *Longer:* An edge is a pair (node, output number). For a leaf, the node is its `AccumulateGrad`. Saved tensors carry
#   their version. `backward` frees them as it passes.
# - *They ask next:* Why does ReLU keep its output? It is positive exactly where the input was, and the next layer usually
#   keeps it anyway.
# - *The trap:* "It stores all activations." `a + b` keeps neither input.
# - *Proof:* `proof-graph`, `proof-saved-tensors`, `proof-memory`.
#
# ### Shapes: backward through a broadcast
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
# Each entry of the bias was used twice, so it gets the sum of two gradients: **broadcast and sum are each other's
# backward**. `node.outputs` lists the shape and dtype of each output, so the engine does this when a gradient arrives (`fit`,
# exercise 3), and the formulas don't have to.
#
# **Interview · A bias of shape (10,) is added to a batch of shape (64, 10). What shape has its gradient?**
#
# - *Thirty seconds:* Its own, (10,): the sum over the 64 rows. Broadcasting uses each number 64 times, and the gradients of a
#   value that is used several times add up.
# - *Longer:* In general, sum over the dimensions that broadcasting put in front, and over those that it stretched from 1.
#   The type comes back as well: a float32 bias gets a float32 gradient.
# - *They ask next:* And backward through a sum? A broadcast: each element gets the gradient of the sum.
# - *The trap:* gradients whose shapes are right don't say that the forward pass is. (64, 1) minus (64,) is (64, 64), and
#   nothing raises ([chapter 04](04_broadcasting_indexing_joining.ipynb)).
# - *Proof:* `proof-broadcast`.
#
# ## Two moons
# Train a network on your library alone. Where you haven't solved an exercise yet, the reference's code runs.

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
    for each in (w1, b1, w2, b2):
        each.data -= each.grad  # learning rate 1
        each.grad = None
print((side * score(x) > 0).sum().item(), "of", len(labels), "points on the right side")
pictures.decision(lambda each: score(mytorch.tensor(each)), points, labels)

# %% [markdown] tags=["short"]
# Each `loss.backward()` was a run of your engine over a new graph.
#
# ## Leaves
# Predict which of these are leaves and which require grad. Then run the cell.

# %% tags=["proof-leaves"]
w = torch.ones(2, requires_grad=True)
product = w * data
with torch.no_grad():
    unrecorded = w * data
tensors = "w, data, data * 2, product, unrecorded, product.detach(), w > 0, w.argmax(), w.floor(), w.double()"
for text in tensors.split(", "):
    t = eval(text)
    made_by = t.grad_fn and t.grad_fn.name()
    print(f"{text:16} leaf {t.is_leaf!s:5}  requires grad {t.requires_grad!s:5}  made by {made_by}")

# %% [markdown]
# A result **requires grad** if an input does, recording is on, and the operation is differentiable (`>` isn't, and `detach` is
# meant to cut the graph). Then it gets a `grad_fn`. A **leaf** is a tensor without one. (Views made under `no_grad` are an
# oddity of their own, which [chapter 07](07_backward_in_depth.ipynb) shows.)
#
# You'll hear two wrong definitions. *"Leaves are the tensors you create yourself"*: `data * 2` is a result and a leaf.
# *"Leaves are the tensors that require grad"*: `data` is a leaf and doesn't require it; `product` requires it and isn't
# a leaf. So scale first, then ask for gradients:

# %% tags=["proof-scale-first"]
weight = (torch.ones(2) * 0.1).requires_grad_()
(weight * data).sum().backward()
print("leaf:", weight.is_leaf, "  grad:", weight.grad)
print(repr(check.error(weight.mul_, 2)))

# %% [markdown]
# **Interview · What is a leaf tensor?**
#
# - *Thirty seconds:* A tensor whose `grad_fn` is `None`. `backward` fills `.grad` for leaves that require grad and took
#   part, and for other tensors after `retain_grad()`.
# - *Longer:* Parameters are leaves that require grad. Inputs are leaves that don't, and so is a result that
#   wasn't recorded.
# - *They ask next:* Why does writing into a parameter raise? A recorded write would make it a result, and its `.grad`
#   would stay empty. So optimizers write under `no_grad`.
# - *The trap:* `torch.randn(n, requires_grad=True).to(device)` is a leaf only where `to` has nothing to do.
# - *Proof:* `proof-leaves`, `proof-scale-first`; `retain_grad`: [chapter 07b](07b_vector_jacobian_products.ipynb).
#
# ## What freezing saves
# Where no input requires grad, nothing is recorded. Freeze one of two layers and see which nodes a backward pass runs. Which
# of the two saves more?

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
# If you freeze the first layer, half of the graph is gone. PyTorch's notes call this **excluding a subgraph**. If you freeze
# the second, a single node is gone, since the first layer's gradient has to pass through.
#
# **Interview · You fine-tune the head of a network. `requires_grad_(False)`, `no_grad` or `detach`?**
#
# - *Thirty seconds:* `body.requires_grad_(False)`: unless the data require grad, nothing below the head is recorded,
#   and no activations are kept there. Also call `body.eval()`, or its batch norms go on updating their statistics.
# - *Longer:* `no_grad` around the body's forward does the same, whatever the flags say. `detach` after the body gives the same
#   gradients, but by then the body has been recorded, and its activations stay as long as anything refers to its own output.
# - *They ask next:* Does it help to freeze late layers? A little: gradients for the early layers still pass through.
# - *The trap:* believing that `eval()` freezes weights. It changes what layers compute, not what is recorded.
# - *Proof:* `proof-freezing`; `proof-leaves` for `no_grad` and `detach`.
#
# ## `.grad` is a sum
# Run two backward passes and keep `.grad` in between.

# %% tags=["proof-grad-is-a-sum"]
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * data).sum().backward()
first = w.grad
(w * data).sum().backward()
print("after two passes:", w.grad, "  what `first` holds now:", first)
for grad in (None, torch.zeros(2)):
    w.grad = grad
    torch.optim.SGD([w], lr=0.1, weight_decay=0.5).step()
    print("SGD with weight decay, grad", grad, "->", w.detach())

# %% [markdown]
# Later passes **add to `.grad` in place**, so a training loop clears it. `None` isn't zero: an optimizer skips a
# parameter without a gradient, while weight decay moves one whose gradient is zero.
#
# **Interview · Why does `backward` accumulate instead of overwriting?**
#
# - *Thirty seconds:* A derivative is a sum over uses. Summing across passes gives gradient accumulation: several small
#   batches, one step. The price is `zero_grad`.
# - *Longer:* Across passes `AccumulateGrad` adds in place, so code that holds on to `.grad` sees the sum. (With `create_graph`
#   it makes a new tensor.)
# - *They ask next:* Why does `zero_grad` set `None`? It frees memory, and unused parameters are skipped.
# - *The trap:* treating `first = w.grad` as a snapshot. It is the tensor that the next pass adds to.
# - *Proof:* `proof-grad-is-a-sum`.
#
# ## What keeps a graph alive
# A loss keeps its whole history. Watch an activation through a weak reference, which doesn't keep it alive.

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
# `backward` frees what the nodes saved, but not the nodes. A second pass raises where a saved tensor is missing.
#
# **Interview · Memory grows with every iteration. Where do you look?**
#
# - *Thirty seconds:* For a tensor with history that outlives its iteration: `losses.append(loss)`, `total += loss`, a
#   hidden state carried over without `detach`. Keep `loss.item()`.
# - *Longer:* After `backward` only the nodes remain, so memory grows slowly. In a validation loop without `no_grad`, each kept
#   loss holds its activations, and memory grows fast.
# - *They ask next:* Does `del loss` free the graph? If nothing else refers to it, at once.
# - *The trap:* thinking that `backward` freed everything.
# - *Proof:* `proof-memory`; exercise 7 measures what a layer saves.

# %% [markdown] given="mytorch.autograd.engine:arrive"
# ## The real one
# PyTorch's engine is C++; minitorch's is Python, with the same order and messages. Compare how a gradient arrives.
# Yours:

# %%
import inspect

print(inspect.getsource(engine._receive))

# %% [markdown]
# `pending` is `buffers`; `sum_to_size` is half of `fit`; `_array` and `_dtype` are a tensor's NumPy array and dtype.
# Two things are new, as in PyTorch. Where the shape can't be made to fit, `_check_expandable` names the node that
# computed the gradient (`giver`) and the input it is for (`index`), so you find the wrong formula. And the long
# condition asks whether anything else refers to the sum; if not, the next gradient is added in place. (`.real` and `_bits`
# are about complex numbers, `gpus` about devices, and `NAMES_COUNT` about reference counts, which Python 3.14 changed.)
#
# Of several ready nodes, both engines run the one recorded last, and `AccumulateGrad` before all others
# (see [freezing](proof-freezing)).
#
# ## Myths
# ### Myth · "If one input requires grad, so does the result"
# `w` requires grad, while `w > 0` and `w.argmax()` [don't](proof-leaves). Only floating-point and complex tensors can
# require grad, so booleans, indices and `w.long()` can't. That a function has steps doesn't matter: `w.floor()` has
# floating-point results, so it is recorded, and its gradient is 0.
#
# ### Myth · "`Variable.grad` is itself a Variable"
# That was so until version 0.4 made `Variable` and `Tensor` one class. Today `.grad` is a tensor:

# %% tags=["proof-history-of-a-gradient"]
for create_graph in (False, True):
    w.grad = None
    (w * w * w).sum().backward(create_graph=create_graph)
    print("create_graph", create_graph, type(w.grad), "with history:", w.grad.grad_fn is not None)

# %% [markdown] tags=["short"]
# **Interview · What is `.grad`, and does it have a history?**
#
# - *Thirty seconds:* A tensor of its leaf's shape, or `None`. It has a `grad_fn` only if the pass ran with
#   `create_graph=True`: then it can be differentiated again
#   ([chapter 07b](07b_vector_jacobian_products.ipynb)).
# - *The trap:* code that still wraps it in `Variable`. *Proof:* `proof-history-of-a-gradient`.
#
# ## Rapid fire
# The cells that show it, in this order: `proof-lost-gradient`, `proof-leaves`, `proof-memory`, and for the last two `proof-broadcast`.
#
# - *Does reading `.grad` of a result raise?* No: `None`, with a warning, unless you called `retain_grad()`.
# - *A float32 parameter `p`: is `p.double()` a leaf?* No. Converting is a recorded operation.
# - *Does a second `backward` raise?* Only if a saved tensor is missing. `w.sum()` saves none, so it runs again
#   ([chapter 00](00_welcome.ipynb)).
# - *Who sums the gradient of a broadcast input?* The engine, when the gradient arrives.
# - *A float32 weight times float64 data: which dtype has the weight's `.grad`?* float32.
#
# ## Ten lines to remember
# 1. A recorded operation makes a node: formulas, edges, and the tensors that the formulas need.
# 2. Chain rule: multiply along each path, add up the paths.
# 3. A node runs once, when all its gradients have arrived. Count the edges.
# 4. Test an engine on diamonds, not on chains.
# 5. A leaf has no `grad_fn`; `.grad` is filled for leaves that require grad and took part.
# 6. Scale, convert and move first; ask for gradients afterwards.
# 7. `backward` adds to `.grad` in place. For an optimizer, `None` isn't zero.
# 8. Broadcast and sum are each other's backward.
# 9. Where no input requires grad, nothing is recorded; frozen late layers stay in the graph.
# 10. A kept loss keeps its graph. Keep `loss.item()`.
#
# ## You try
# [The exercises](../exercises/06_computation_graph.ipynb): predict who gets a gradient; write the engine, the node, `fit`, and
# the gradient of `matmul`; run the chain rule forwards; repair a gradient that changes by itself; measure what a layer keeps.
# [Chapter 07](07_backward_in_depth.ipynb) continues with in-place writes, and
# [07b](07b_vector_jacobian_products.ipynb) with hooks and operations of your own.
