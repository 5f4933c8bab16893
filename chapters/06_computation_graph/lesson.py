# %% [markdown]
# # The computation graph
# `loss.backward()` fills `.grad`. Which `.grad`, computed from what, in which order? You can draw the answer after this
# chapter, because you will have written the code that gives it: first on single numbers, then in the package itself.

# %%
import inspect
import re
import warnings
import weakref
from contextlib import redirect_stdout
from io import StringIO

import matplotlib.pyplot as plt
import pytest

import minitorch as torch
from course import check
from minitorch import viz
from minitorch.autograd import engine, node, saved
from minitorch.ops import apply

# %% [markdown]
# ## A weight that never learns
# Somebody wants small initial weights, so they scale a tensor of ones that requires a gradient.

# %%
weight = torch.ones(2, requires_grad=True) * 0.1
loss = (weight * torch.tensor([3.0, 4.0])).sum()
loss.backward()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(weight.grad)
print(str(caught[0].message).partition(" Its")[0])

# %% [markdown]
# `None`, and a warning that drowns in most training logs. No optimizer will ever move this weight. Yet the gradient was
# computed: it went *through* `weight` and ended at the tensor of ones, which has no name any more. To see why, look at
# what an operation leaves behind.
#
# ## What an operation leaves behind
# Two operations on numbers you can check in the head: $y = w \cdot x$, then the sum, $1 \cdot 3 + 2 \cdot 4 = 11$.

# %%
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([3.0, 4.0])
y = w * x
loss = y.sum()
for name, tensor in {"w": w, "x": x, "y": y, "loss": loss}.items():
    print(f"{name:4}", tensor.tolist(), "made by", tensor.grad_fn and tensor.grad_fn.name())
for made_by in (loss.grad_fn, y.grad_fn):
    print(made_by.name(), "leads to", [(to and to.name(), number) for to, number in made_by.next_functions])

# %% [markdown]
# A result remembers the operation that made it. `grad_fn` is a **node**: a backward function, named after the
# operation. No recorded operation made `w` and `x`, so theirs is `None`. A node's **edges**, `next_functions`, say
# where its gradients go, one for each input: to a node, and to which of that node's outputs (an operation such as
# `unbind` has several).
#
# Two ends of the graph show here. `AccumulateGrad` stands for `w`: it adds what arrives to `w.grad`. (Of the few nodes
# that are no operation's, `name()` tells the C++ namespace too.) `(None, 0)` stands for `x`, which asked for no gradient.
# Here is the graph in the order of computing, leaves at the top. Gradients travel against the arrows.

# %%
viz.graph(loss, names={"w": w, "y": y, "loss": loss})

# %% [markdown]
# Nobody declared this graph. It is a by-product of running the operations, new in every iteration, and it knows nothing
# of the `if` or the loop that chose them.
#
# ### What a node stores
# Four things: the derivative's formula, its edges, the shape and dtype that a gradient of its output must have, and the
# values that the formula will need, its **saved tensors**. A node is callable: give it the gradient of its output, and
# it gives those of its inputs.

# %%
print(y.grad_fn(torch.tensor([1.0, 10.0])))
print("a gradient of the output has shape and dtype", y.grad_fn.outputs)

# %% [markdown]
# $\partial (w x) / \partial w = x$, so it multiplies what comes in by `x`: $[1 \cdot 3,\ 10 \cdot 4]$. For that it has
# kept `x`. It has not kept `w`: only the gradient of `x` would need it, and nobody asked for that. What is kept depends
# on the formula, and it is most of the memory of training.


# %% tags=["proof-saved-tensors"]
def saved_tensors(result):
    return [each.tensor.tolist() for each in result.grad_fn._saved if isinstance(each, saved.SavedTensor)]


a = torch.tensor([1.0, 4.0], requires_grad=True)
b = torch.tensor([5.0, 6.0], requires_grad=True)
print("a * x    saves", saved_tensors(a * x))
print("a * b    saves", saved_tensors(a * b))
print("a + b    saves", saved_tensors(a + b))
print("a.sum()  saves", saved_tensors(a.sum()))
print("a.sqrt() saves", saved_tensors(a.sqrt()))
print("a.sin()  saves", saved_tensors(a.sin()))

# %% [markdown]
# A sum saves nothing: its derivative is 1 whatever the values were. A product saves both factors if both need
# gradients. `sin` saves its input, and `sqrt` its *result*, because $(\sqrt a)' = 1 / (2 \sqrt a)$.
#
# **Interview · What does PyTorch store in the graph?**
#
# - *Thirty seconds:* Each result of a recorded operation has a `grad_fn`, a node that holds the backward formula, edges
#   to the nodes that made the inputs, and the tensors the formula needs. It is recorded while the forward pass runs,
#   and it points backwards only, from results to leaves.
# - *Longer:* Edges are (node, output number) pairs. A leaf is represented by an `AccumulateGrad` node, an input without
#   gradient by no node. Saved tensors carry the version number they had, so that a later in-place write is noticed.
#   They are freed as `backward` passes; nodes go when the last tensor that refers to them goes.
# - *They ask next:* Does `a + b` save `a` and `b`? No. Why does ReLU keep its output and not its input? Where the
#   output is positive the input was, and the next layer usually keeps that output anyway, so it costs nothing.
# - *The trap:* "The graph stores all activations." It stores what the formulas ask for.
# - *Proof:* the six lines above.

# %% [markdown]
# ## Leaves, and who requires a gradient
# Predict both columns before you run the cell.


# %% tags=["proof-leaves"]
def table(**tensors):
    for name, tensor in tensors.items():
        made_by = tensor.grad_fn and tensor.grad_fn.name()
        print(f"{name:9} leaf {tensor.is_leaf!s:5}  requires grad {tensor.requires_grad!s:5}  made by {made_by}")


parameter = torch.ones(2, requires_grad=True)
data = torch.tensor([3.0, 4.0])
product = parameter * data
with torch.no_grad():
    quiet = parameter * data
table(
    parameter=parameter,
    data=data,
    doubled=data * 2,
    product=product,
    quiet=quiet,
    cut=product.detach(),
    mask=parameter > 0,
)

# %% [markdown]
# Three rules give the whole table.
#
# 1. A result **requires grad** if recording is on, at least one input requires grad, and the result's dtype can have a
#    gradient (floating point or complex; `mask` is neither).
# 2. It then gets a `grad_fn`, and otherwise none.
# 3. A **leaf** is a tensor without `grad_fn`. That is the definition, as the package's own code below shows.
#
# Two statements that go round are wrong. *"Leaves are the tensors you create yourself"*: `doubled` and `quiet` are
# results of a multiplication, and leaves. *"Leaves are the tensors with `requires_grad=True`"*: `data` is a leaf
# without it; `product` has it and is none.
#
# `.grad` needs both: a leaf *and* requires grad. The scaled weight of the beginning was no leaf. Scale first, and ask
# for gradients afterwards. (`torch.zeros(3, requires_grad=True).to(device)` has the same fault as soon as `to` has
# something to convert.) And the flag of a tensor with history cannot be taken back, because its node exists already:
# the last line shows the error.

# %%
print(inspect.getsource(torch.Tensor.is_leaf.fget))
weight = (torch.ones(2) * 0.1).requires_grad_()
(weight * torch.tensor([3.0, 4.0])).sum().backward()
print(weight.is_leaf, weight.grad)
print(check.error(product.requires_grad_, False))

# %% [markdown]
# **Interview · What is a leaf tensor?**
#
# - *Thirty seconds:* A tensor whose `grad_fn` is `None`. `backward` fills `.grad` for the leaves that require grad, and
#   for no other tensor unless it called `retain_grad`.
# - *Longer:* Parameters are leaves because they are created with `requires_grad=True` and changed only under `no_grad`,
#   in place. Input batches are leaves that don't require grad. Results are leaves too when nothing was recorded: no
#   input required grad, or recording was off, or the dtype is not differentiable.
# - *They ask next:* Why is writing in place into a leaf that requires grad an error? Recorded, the write would turn the
#   leaf into a result, and its `.grad` could never be filled. Under `no_grad` nothing is recorded, so the optimizer
#   may.
# - *The trap:* `torch.randn(n, requires_grad=True) * 0.01` as a parameter.
# - *Proof:* the first cell of the chapter, and the table.

# %% [markdown]
# ## What freezing saves, and what it doesn't
# You freeze one of two layers. How much smaller is the graph? `count_dependencies` walks it from the loss; the keys of
# what it returns are all the nodes that a backward pass would visit.

# %% tags=["proof-freezing"]
batch = torch.ones(5, 4)
for frozen, first, second in (("nothing", True, True), ("first layer", False, True), ("second layer", True, False)):
    w1 = torch.ones(4, 3, requires_grad=first)
    w2 = torch.ones(3, 2, requires_grad=second)
    result = ((batch @ w1).exp() @ w2).sum()
    nodes = engine.count_dependencies([result.grad_fn])
    print(f"freeze {frozen:13}{len(nodes)} nodes:", *(each.name() for each in nodes))

# %% [markdown]
# Freeze the first layer and half of the graph is gone: where no input requires grad, nothing is recorded, so there is
# nothing to skip later. Freeze the *second* and only its `AccumulateGrad` disappears: the gradient of the first layer
# has to come through it. All that is saved is the one matrix product for its own weight. This is **subgraph
# exclusion**: a backward pass never enters a part of the computation in which nothing requires a gradient.
#
# **Interview · You fine-tune the head of a network. `requires_grad_(False)`, `no_grad` or `detach`?**
#
# - *Thirty seconds:* `requires_grad_(False)` on the body's parameters is enough: no node is recorded below the head.
#   `no_grad` around the body does the same for the block it encloses; `detach` cuts one tensor off, after the recording
#   was paid for.
# - *Longer:* The flag concerns a tensor everywhere, the mode every operation in a block, `detach` one value. A frozen
#   layer *above* a trained one is recorded all the same, since gradients pass through it.
# - *They ask next:* Does `model.eval()` freeze? No. It changes what dropout and batch norm compute, and nothing here.
# - *The trap:* freezing late layers and expecting a cheap backward pass.
# - *Proof:* 6, 3 and 5 nodes in the cell above.

# %% [markdown]
# ## `.grad` is a sum
# Give `w` two backward passes, of the same loss.

# %% tags=["proof-grad-is-a-sum"]
print("before:", w.grad)
(w * x).sum().backward()
first = w.grad
print("once:  ", w.grad)
(w * x).sum().backward()
print("twice: ", w.grad)
print("what `first` shows now:", first, "- the same tensor:", first is w.grad)

# %% [markdown]
# Before the first pass `.grad` is `None`. That is not the same as zeros: an optimizer skips a parameter without
# gradient, and one with a gradient of zero it may still move (momentum, weight decay). Later passes **add, in place**,
# which is why every training loop clears gradients.
#
# A tensor in the middle gets no `.grad`: keeping one would hold memory for every activation. It can ask for it.

# %%
w.grad = None
y = w * x
y.retain_grad()
(y * y).sum().backward()
print("dL/dy = 2y:    ", y.grad)
print("dL/dw = 2y * x:", w.grad)

# %% [markdown]
# **Interview · Why does `backward` accumulate instead of overwriting?**
#
# - *Thirty seconds:* Because a derivative is a sum over paths. A weight that is used twice needs the sum of both
#   contributions, and the same rule across passes gives gradient accumulation over small batches. The price is
#   `zero_grad`.
# - *Longer:* Within a pass the engine sums per node before the node runs. Across passes `AccumulateGrad` adds in place
#   to `.grad`, so that whoever holds it (an optimizer, a communication buffer) sees the sum.
# - *They ask next:* `zero_grad(set_to_none=True)` or zeros? `None` is the default: it frees memory, saves the first
#   addition, and lets optimizers skip unused parameters.
# - *The trap:* accumulating the *mean* losses of k parts without dividing by k.
# - *Proof:* the two cells above.

# %% [markdown]
# ## The chain rule, on single numbers
# Now build it. A `Value` is a number that remembers what it was made from. To each of those leads an edge with the
# **local derivative**: how much the result moves per unit of that input.


# %%
class Value:
    def __init__(self, data, edges=()):
        self.data, self.grad, self.edges = data, 0.0, edges

    def __add__(self, other):
        return Value(self.data + other.data, [(self, 1.0), (other, 1.0)])

    def __mul__(self, other):
        return Value(self.data * other.data, [(self, other.data), (other, self.data)])


# %% [markdown]
# The chain rule: along a path, multiply the local derivatives; over all paths, add. Literally:


# %%
visits = 0


def backward_along_every_path(value, grad):
    global visits
    visits += 1
    value.grad += grad
    for source, local in value.edges:
        backward_along_every_path(source, grad * local)


def diamond():
    """s = 3, h = s * s = 9, end = h + h * 2 = 27"""
    s = Value(3.0)
    h = s * s
    return s, h, h + h * Value(2.0)


s, h, end = diamond()
backward_along_every_path(end, 1.0)
print("d end/dh =", h.grad, "  d end/ds =", s.grad)

# %% [markdown]
# Right: the end is $3h$ and $h = s^2$, so the derivatives are 3 and $3 \cdot 2s = 18$. `h` feeds two operations whose
# results meet again: a **diamond**. Put some behind each other, `end = end + end`, and count the visits.

# %%
depths = list(range(1, 15))
along_paths = []
for depth in depths:
    start = end = Value(1.0)
    for _ in range(depth):
        end = end + end
    visits = 0
    backward_along_every_path(end, 1.0)
    along_paths.append(visits)
print("visits for 1, 2, 3 and 14 additions:", along_paths[0], along_paths[1], along_paths[2], along_paths[13])

plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
plt.figure(figsize=(5.5, 3))
plt.semilogy(depths, along_paths, "o-", color="#d55e00", label="along every path")
plt.semilogy(depths, [depth + 1 for depth in depths], "s-", color="#0072b2", label="every value once")
plt.xlabel("additions of a value to itself")
plt.ylabel("visits")
plt.legend(frameon=False)
plt.show()

# %% [markdown]
# $2^{n+1} - 1$ visits for $n$ additions. Thirty of them would take 2 billion. The graph has $n + 1$ values, and one
# visit each has to be enough.
#
# ### The famous bug
# So add the gradients up in `.grad`, and hand on what is there. The first public version of micrograd (April 2020,
# commit 0401485) does it in this order: give to the inputs, then let each input do the same.


# %%
def backward_at_once(value):
    for source, local in value.edges:
        source.grad += local * value.grad
    for source, _ in value.edges:
        backward_at_once(source)


s, h, end = diamond()
end.grad = 1.0
backward_at_once(end)
print("d end/dh =", h.grad, "  d end/ds =", s.grad)

# %% [markdown]
# 3 is right, 24 is not. Follow `h`. It gets 1 from the addition and hands on $1 \cdot 2s = 6$. Then 2 more arrive from
# the product, and it hands on all it has: $3 \cdot 6 = 18$. The first 1 was handed on twice. A chain never shows it, so
# a small test passes. micrograd's author repaired it two days later.
#
# **A value may hand on its gradient once, when all that will arrive has arrived.** An order that guarantees it, every
# value before the values it was made from, is a **topological order**.
#
# ### Build the order
# Count, for every value, the edges that lead to it from values the end can reach. (Only those: a result that is no part
# of this loss must not be waited for.) Take a value whose count is zero; cross off its edges; repeat.


# %%
def order_of(end):
    waiting, unvisited = {end: 0}, [end]
    while unvisited:
        for source, _ in unvisited.pop().edges:
            if source not in waiting:
                waiting[source] = 0
                unvisited.append(source)
            waiting[source] += 1
    order, ready = [], [end]
    while ready:
        value = ready.pop()
        order.append(value)
        for source, _ in value.edges:
            waiting[source] -= 1
            if waiting[source] == 0:
                ready.append(source)
    return order


def backward(end):
    end.grad = 1.0
    for value in order_of(end):
        for source, local in value.edges:
            source.grad += local * value.grad


s, h, end = diamond()
no_part_of_it = h * Value(100.0)
backward(end)
print("d end/dh =", h.grad, "  d end/ds =", s.grad)

# %% [markdown]
# That is Kahn's algorithm, and with it the whole of automatic differentiation in reverse mode. Is it right? Ask the
# definition of the derivative, on an expression with several diamonds.


# %% tags=["proof-topological-order"]
def expression(p, q):
    u = p * q + p
    v = u * u + q
    return u * v + v


p, q, step = Value(0.5), Value(-1.5), 1e-6
backward(expression(p, q))
by_p = expression(Value(0.5 + step), q).data - expression(Value(0.5 - step), q).data
by_q = expression(p, Value(-1.5 + step)).data - expression(p, Value(-1.5 - step)).data
print(f"d/dp: backward {p.grad:.6f}, difference quotient {by_p / (2 * step):.6f}")
print(f"d/dq: backward {q.grad:.6f}, difference quotient {by_q / (2 * step):.6f}")

# %% [markdown]
# The difference quotient needs two more evaluations for each input. The backward pass gave both derivatives at once,
# and would give a million.
#
# The walk has a stack of its own. As a recursion it would meet Python's limit on a chain of 5,000 operations, which a
# recurrent network reaches easily.


# %%
def order_by_recursion(value, seen, order):
    if value not in seen:
        seen.add(value)
        for source, _ in value.edges:
            order_by_recursion(source, seen, order)
        order.append(value)


start = end = Value(1.0)
for _ in range(5_000):
    end = end + Value(1.0)
print("recursion:", type(check.error(order_by_recursion, end, set(), [])).__name__)
backward(end)
print("own stack:", start.grad)

# %% [markdown]
# **Interview · Why does the engine need a topological order? Why not walk depth first?**
#
# - *Thirty seconds:* A node's gradient is a sum over all its uses, and it must be complete before it is handed on.
#   Depth first, a node that is reached by its first path would hand on a part.
# - *Longer:* PyTorch counts the dependencies of each reachable node, then runs nodes whose count has dropped to zero,
#   from a priority queue. Each node runs once, so time is linear in the graph. The reverse of a depth-first *post*order
#   is a topological order too; micrograd's repair took that.
# - *They ask next:* Why reverse mode? One pass gives the derivative of one output by *all* inputs; a pass of forward
#   mode gives that of all outputs by *one* input. A loss is one number, parameters are millions.
# - *The trap:* testing an engine on chains only.
# - *Proof:* 24 instead of 18.

# %% [markdown]
# ## The same in the package
# The diamond with tensors, drawn with its saved tensors: `s * s` keeps `s` twice, `h * 2` only the number 2, the
# addition nothing.

# %%
s = torch.tensor(3.0, requires_grad=True)
h = s * s
end = h + h * 2
end.backward(retain_graph=True)
print(s.grad)
viz.graph(end, names={"s": s, "h": h, "end": end}, saved=True)

# %% [markdown]
# How does a tensor come into the graph? In one place, with the three cases you know: made by a node, a leaf that
# requires grad, or neither. And `_record`, called after every operation, is rules 1 and 2 of the table.

# %%
print(inspect.getsource(node.gradient_edge))
print(inspect.getsource(apply._record))

# %% [markdown]
# Now the engine. The count is the one you wrote. Of several nodes that are ready, yours took any; PyTorch has a rule:
# an `AccumulateGrad` comes first (a finished gradient can be sent to other machines while the rest is computed), then
# the node that was recorded *last*. A heap finds it. In the example, the leaf that was used last is done before `exp`
# has run.

# %%
print(inspect.getsource(engine.count_dependencies))
print(inspect.getsource(engine.topological_order))
print(inspect.getsource(engine._priority))
used_last = torch.ones(2, requires_grad=True)
result = (w * x).exp() + used_last
print(*(each.name() for each in engine.topological_order([result.grad_fn])))

# %% [markdown]
# `run` puts it together: gradients wait in `pending` until their node's turn, and a node gives up what it saved as soon
# as it ran. The lines with `targets` serve `autograd.grad`, which asks for some gradients only.

# %%
print(inspect.getsource(engine.run))

# %% [markdown]
# ## Shapes: the reverse of a broadcast
# One thing numbers cannot teach. A bias of shape (3,) is added to a batch of shape (2, 3): each entry is used twice, so
# it gets the sum of two gradients. Take that sum away, and see what reaches the bias.

# %%
bias = torch.zeros(3, requires_grad=True)
rows = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
with check.install(lambda grad, shape: grad, "minitorch.autograd.engine:sum_to_size"):
    ((rows + bias) * rows).sum().backward()
print("without:", bias.grad.tolist())
bias.grad = None
((rows + bias) * rows).sum().backward()
print("with:   ", bias.grad.tolist())

# %% [markdown]
# A gradient has the shape of its tensor, always. Dimensions that a broadcast added in front are summed away; dimensions
# of size 1 that it stretched are summed back to size 1. **Broadcast and sum are each other's backward.** Because every
# node knows the shapes of its outputs, the engine does this when a gradient arrives, once for all operations; no
# formula has to mention broadcasting. The function is `sum_to_size`, and you write it in exercise 4.
#
# ## The last step: into `.grad`
# `a + b` hands the *same* gradient tensor to both inputs. If both kept it, the in-place addition of a later pass would
# write into two `.grad`s at once. Try it:


# %%
def keep_always(variable, grad, may_keep):
    if variable.grad is None:
        variable.grad = grad
    else:
        variable.grad.add_(grad)


a = torch.zeros(2, requires_grad=True)
b = torch.zeros(2, requires_grad=True)
with check.install(keep_always, "minitorch.autograd.engine:accumulate_grad"):
    ((a + b) * 2).sum().backward()
    (a * 10).sum().backward()
print("a.grad", a.grad, " b.grad", b.grad)

# %% [markdown]
# `b` is no part of the second loss, and its gradient went from 2 to 12. So the engine asks whether anybody else can see
# the tensor, and copies it if so. The function is `accumulate_grad`, and you write it in exercise 5.
#
# ## What frees a graph, and what keeps it alive
# *"A second `backward` always raises"* is half true. `backward` frees the saved tensors, so a product's node has
# nothing to work with. A sum saved nothing, so nothing is missing.

# %%
a.grad = b.grad = None
total = (a + b).sum()
total.backward()
total.backward()
print("sum:", a.grad)
loss = (a * b).sum()
loss.backward()
print("product:", str(check.error(loss.backward)).partition(" (or")[0])

# %% [markdown]
# The nodes themselves live as long as a tensor refers to them. Edges point from results to inputs, so a result keeps
# its whole history, and the loss keeps everything. Watch one intermediate tensor through a weak reference, which does
# not keep it alive.


# %%
def loss_and_hidden():
    hidden = a.exp()
    return (hidden * hidden).sum(), weakref.ref(hidden)


kept, hidden = loss_and_hidden()
print("the loss is kept:     ", hidden() is not None)
kept.backward()
print("after backward:       ", hidden() is not None)
kept, hidden = loss_and_hidden()
number = kept.item()
del kept
print("only a number is kept:", hidden() is not None)

# %% [markdown]
# In a training loop `losses.append(loss)` keeps each iteration's nodes, and in a validation loop without `no_grad`,
# where no `backward` frees them, the saved activations as well.
#
# **Interview · Memory grows with every iteration. Where do you look?**
#
# - *Thirty seconds:* For a tensor with history that outlives its iteration: `losses.append(loss)`, `total += loss`, a
#   hidden state carried over without `detach`. Keep `loss.item()` or `loss.detach()`.
# - *Longer:* After `backward` only nodes stay, a slow leak; without it the saved activations stay, a fast one. A
#   running `total += loss` chains all graphs into one.
# - *They ask next:* Does `del loss` free the graph? If nothing else refers to it, at once, without the garbage
#   collector: the graph has no cycles.
# - *The trap:* blaming the allocator's cache.
# - *Proof:* the cell above; exercise 7 counts the nodes.

# %% [markdown]
# ## Yours in its place
# Last, PyTorch's order in the plainest form: `max` in place of the heap. It goes into the package, and the engine's own
# tests run on it: the order on 50 diamonds, linear work on 10,000, and a chain of 100,000 operations.
#
# Then it is your turn, in `exercises/06_computation_graph.ipynb`: two predictions; the order, the reverse of a broadcast
# and the accumulation for the package; a small engine with a fault; and a measurement of what a kept loss costs.


# %%
def topological_order(roots):
    waiting = engine.count_dependencies(roots)
    ready = [each for each, count in waiting.items() if count == 0]
    order = []
    while ready:
        latest = max(ready, key=lambda each: (isinstance(each, node.AccumulateGrad), each.sequence_number))
        ready.remove(latest)
        order.append(latest)
        for edge in latest.edges:
            if edge is not None:
                waiting[edge[0]] -= 1
                if waiting[edge[0]] == 0:
                    ready.append(edge[0])
    return order


report = StringIO()
with check.install(topological_order, "minitorch.autograd.engine:topological_order"), redirect_stdout(report):
    selected = "every_node_comes_before or ten_thousand_diamonds or hundred_thousand_ops"
    pytest.main(["../tests/autograd/test_engine.py", "-k", selected, "-q", "-p", "no:cacheprovider"])
print(*re.findall(r"\d+ (?:passed|failed|skipped|error)", report.getvalue()))
