# %% [markdown]
# # Exercises · The computation graph
# Four of the exercises add to your library, and once they are solved, `import mytorch` trains with a backward pass that
# you wrote.

# %% setup=true
from __future__ import annotations

import math

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch.autograd import engine


def network(activation, depth: int, batch: int, width: int):
    """The output of `depth` layers `h = activation(h @ w)` on a random batch, and the weights. Inputs are 3 times as wide."""
    weights = [torch.randn(3 * width if place == 0 else width, width, requires_grad=True) for place in range(depth)]
    h = torch.randn(batch, 3 * width)
    for w in weights:
        h = activation(h @ w)
    return h, weights


# %% [markdown] exercise="graph_predict_gradient" kind="predict" points=1
# ### Exercise 1 · Who gets a gradient?
# ```python
# a = torch.ones(2, requires_grad=True) * 0.1
# b = (torch.ones(2) * 0.1).requires_grad_()
# c = torch.ones(2, requires_grad=True).double()
# d = torch.ones(2, requires_grad=True).to("cpu")
# e = torch.ones(2)
# f = torch.ones(2, requires_grad=True)
# with torch.no_grad():
#     extra = f * 2
# (a + b.detach() + c + d + e + extra).sum().backward()
# ```
# Exactly one of a to f has a gradient afterwards. Set `prediction` to its letter, a string; don't run the code first.

# %% solution="graph_predict_gradient"
### BEGIN SOLUTION
prediction = "d"
### END SOLUTION

# %% check="graph_predict_gradient"
check.show({"the one with a gradient": str(prediction).strip().lower()}, secret=True)

# %% [markdown] hint="graph_predict_gradient"
# `.grad` is filled for a leaf that requires grad, provided that the loss depends on it through recorded operations.

# %% [markdown] hint="graph_predict_gradient"
# For three of the six tensors the path is cut or never existed. Find `detach`, `no_grad`, and a tensor that doesn't
# require grad.

# %% [markdown] hint="graph_predict_gradient"
# A multiplication and a conversion to another dtype are recorded, so their results aren't leaves. What does `to("cpu")`
# do with a tensor that is on the CPU already?

# %% mutant="graph_predict_gradient"
# The scaled one
# a is the result of a multiplication, so it isn't a leaf. The gradient passes through it and ends at the ones.
prediction = "a"

# %% mutant="graph_predict_gradient"
# The one that was detached
# b is a leaf and requires grad, but the loss contains only b.detach(), through which no gradient flows back.
prediction = "b"

# %% mutant="graph_predict_gradient"
# The converted one
# double() has something to convert, so it is a recorded operation and c is its result. The gradient ends at the float32
# ones.
prediction = "c"

# %% mutant="graph_predict_gradient"
# The one that doesn't require grad
# e doesn't require grad, so no gradient is computed for it.
prediction = "e"

# %% mutant="graph_predict_gradient"
# The one used without recording
# f is a leaf and requires grad, but f * 2 ran under no_grad, so no path leads from the loss to f.
prediction = "f"


# %% [markdown] exercise="graph_run_backward" kind="core" points="2 2" part="mytorch.autograd.engine:count_arrivals mytorch.autograd.engine:run_backward"
# ### Exercise 2 · The engine
# Write the engine in two steps: count how many edges lead to each node, then run the backward pass. `node.edges` lists
# a node's edges, each of which is a pair (node, number of its output) or None, and `node.outputs` has one entry for
# each output. `arrive(buffers, edge, gradient)` is provided: it adds a gradient to those that wait in the dict
# `buffers` under the edge's node. Nodes can be compared. Of two nodes the one that was recorded last is smaller, so
# `heapq.heappop(ready)` returns it first. `heapq` is imported in this file.
#
# One of the graphs is 5,000 operations deep, and in one of them nothing arrives at some nodes.


# %% docstrings="graph_run_backward"
def count_arrivals():
    """The number of edges that lead to each node that the roots reach.

    The roots are included. Two edges from one node to another count as two. An edge is
    a pair (node, number of its output), or None, which leads nowhere. A root has 0 if
    no edge leads to it, and a node may occur twice in `roots`. Graphs may be deep, so
    keep a list of nodes to visit instead of recursing.
    """


def run_backward():
    """Propagate gradients from the roots to everything that they reach.

    Each node turns the gradients of its outputs into those of its inputs. A node is
    visited once, after all nodes with an edge to it (`count_arrivals`). When several
    nodes are ready, the heap returns the one that was recorded last.
    `visit(node, arrived)` takes the gradients that have arrived at the node, one for
    each of its outputs (None where none has), and returns one for each of its edges. If
    it returns None for an edge, nothing arrives there, but the edge still counts.
    `arrive` adds gradients that meet.
    """


# %% check="graph_run_backward"
engine_part = mytorch.autograd.engine
generator = check.rng()
leaves = [mytorch.tensor([float(number)], requires_grad=True) for number in generator.integers(1, 4, 3)]
made = list(leaves)
for _ in range(9):
    one, other = (made[number] for number in generator.integers(0, len(made), 2))
    made.append((one + other * 0.5, (one * other).sin(), one.sin(), one - other)[generator.integers(4)])
frozen = mytorch.tensor([2.0])  # no edge leads to it
shared = made[-1] * made[-1] * frozen + made[-1].sin() * frozen
unused = shared.exp()
total = shared
for each in made:
    total = total + each
arrivals = engine_part.count_arrivals((total.grad_fn, shared.grad_fn))
recorded = sorted((node for node in arrivals if node.edges), key=lambda node: node.sequence_number)
names = {node: place for place, node in enumerate(recorded)} | {unused.grad_fn: "a root of its own"}


def run_from(roots, silent=None):
    """The nodes in the order of their visits. The silent one gives no gradients, nor does a node that got none."""
    visited = []

    def visit(node, arrived):
        visited.append(names.get(node, "leaf"))
        if arrived[0] is None:
            visited.append({"arrived": list(arrived)})
        return [None] * len(node.edges) if node is silent or arrived[0] is None else node.apply(*arrived)

    ones = [mytorch.ones(1) for _ in roots]
    problem = check.error(engine_part.run_backward, [(root.grad_fn, 0) for root in roots], ones, visit)
    return visited if problem is None else repr(problem)


orders = {
    "one root": run_from([total]),
    "two roots": run_from([shared, total]),
    "two roots apart": run_from([unused, total]),
    "a root given twice": run_from([total, total]),
    "a silent node": run_from([total], recorded[3]),
    "a silent root": run_from([shared], shared.grad_fn),
}
for leaf in leaves:
    leaf.grad = None
total.backward()
gradients = [leaf.grad for leaf in leaves]
shared.grad_fn.edges[0][0].outputs *= 2  # as if this operation had two results
orders["a silent root above a node of two outputs"] = run_from([shared], shared.grad_fn)
start = chain = mytorch.tensor([1.0], requires_grad=True)
for _ in range(5_000):
    chain = chain + 1.0
problem = check.error(chain.backward)
check.show(
    {
        "arrivals, as recorded": [arrivals[node] for node in recorded],
        "arrivals at the leaves": sorted(count for node, count in arrivals.items() if not node.edges),
        "gradients": gradients,
        "5,000 operations": start.grad if problem is None else repr(problem),
    }
    | {f"order of visits, {name}": order for name, order in orders.items()},
    rtol=1e-4,
    text="A random graph, its nodes numbered as they were recorded, and a chain of 5,000 operations.",
)

# %% [markdown] hint="graph_run_backward"
# `count_arrivals`: start with 0 for each root and with a list of nodes to visit. For each edge of a visited node that
# isn't None, add 1 to the node that it leads to. If that node is new, it has to be visited as well.

# %% [markdown] hint="graph_run_backward"
# `run_backward`: let the root gradients arrive, and put the nodes with count 0 on a heap. Take a node and visit it with
# the gradients that have arrived (`buffers.pop(node, …)`). Then, for each edge, let its gradient arrive if there is
# one, subtract 1 from the count of the edge's node, and put that node on the heap when the count reaches 0.

# %% [markdown] hint="graph_run_backward"
# `for edge, gradient in zip(node.edges, visit(node, arrived))`: first `if edge is None: continue`, then `if gradient is
# not None: arrive(buffers, edge, gradient)`. The count decreases in both cases. For a node at which nothing arrived,
# pass `[None] * len(node.outputs)`.


# %% mutant="graph_run_backward"
# Counts users, crosses off edges
# The product of a tensor with itself has two edges to one node. They were counted once and are subtracted twice, so the
# node runs too early.
def count_arrivals(roots):
    arrivals = dict.fromkeys(roots, 0)
    unvisited = list(arrivals)
    while unvisited:
        for node in {edge[0] for edge in unvisited.pop().edges if edge is not None}:
            if node not in arrivals:
                arrivals[node] = 0
                unvisited.append(node)
            arrivals[node] += 1
    return arrivals


# %% mutant="graph_run_backward"
# Visits a node twice
# A node is put on the list once for each edge that leads to it, so its own edges are counted several times, and the
# nodes that they lead to never become ready.
def count_arrivals(roots):
    arrivals = dict.fromkeys(roots, 0)
    unvisited = list(arrivals)
    while unvisited and len(arrivals) < 10_000 and sum(arrivals.values()) < 10_000:
        for edge in unvisited.pop().edges:
            if edge is not None:
                arrivals[edge[0]] = arrivals.get(edge[0], 0) + 1
                unvisited.append(edge[0])
    return arrivals


# %% mutant="graph_run_backward"
# Counts the edges of a root given twice
# A node that occurs twice in `roots` is visited twice here, so each of its edges counts double, and the nodes that they
# lead to never become ready.
def count_arrivals(roots):
    arrivals = dict.fromkeys(roots, 0)
    unvisited = list(roots)
    while unvisited:
        for edge in unvisited.pop().edges:
            if edge is not None:
                if edge[0] not in arrivals:
                    arrivals[edge[0]] = 0
                    unvisited.append(edge[0])
                arrivals[edge[0]] += 1
    return arrivals


# %% mutant="graph_run_backward"
# Recurses
# The counts are right, but a chain of 5,000 operations is deeper than Python's stack.
def count_arrivals(roots):
    arrivals = dict.fromkeys(roots, 0)

    def count(node):
        for edge in node.edges:
            if edge is not None:
                if edge[0] not in arrivals:
                    arrivals[edge[0]] = 0
                    count(edge[0])
                arrivals[edge[0]] += 1

    for root in list(arrivals):
        count(root)
    return arrivals


# %% mutant="graph_run_backward"
# Runs at the first arrival
# A node runs as soon as something arrives, and propagates an incomplete gradient. It has to wait for all of its
# arrivals.
def run_backward(roots, grads, visit):
    buffers, ready, seen = {}, [], set()
    for edge, grad in zip(roots, grads, strict=True):
        arrive(buffers, edge, grad)
        heapq.heappush(ready, edge[0])
    while ready:
        node = heapq.heappop(ready)
        if node in seen:
            continue
        seen.add(node)
        arrived = buffers.pop(node, [None] * len(node.outputs))
        for edge, gradient in zip(node.edges, visit(node, arrived), strict=True):
            if edge is not None:
                if gradient is not None:
                    arrive(buffers, edge, gradient)
                heapq.heappush(ready, edge[0])


# %% mutant="graph_run_backward"
# Doesn't count an edge without a gradient
# If a node returns None for an edge, nothing arrives there, but the edge has to be counted all the same, because the
# node that it leads to may be waiting for it.
def run_backward(roots, grads, visit):
    arrivals, buffers = count_arrivals([node for node, _ in roots]), {}
    for edge, grad in zip(roots, grads, strict=True):
        arrive(buffers, edge, grad)
    ready = [node for node, count in arrivals.items() if count == 0]
    heapq.heapify(ready)
    while ready:
        node = heapq.heappop(ready)
        arrived = buffers.pop(node, [None] * len(node.outputs))
        for edge, gradient in zip(node.edges, visit(node, arrived), strict=True):
            if edge is None or gradient is None:
                continue
            arrive(buffers, edge, gradient)
            arrivals[edge[0]] -= 1
            if arrivals[edge[0]] == 0:
                heapq.heappush(ready, edge[0])


# %% mutant="graph_run_backward"
# Expects something at every node
# If all nodes with an edge to a node returned None, the buffers have no entry for it. It is still visited, with None
# for each of its outputs.
def run_backward(roots, grads, visit):
    arrivals, buffers = count_arrivals([node for node, _ in roots]), {}
    for edge, grad in zip(roots, grads, strict=True):
        arrive(buffers, edge, grad)
    ready = [node for node, count in arrivals.items() if count == 0]
    heapq.heapify(ready)
    while ready:
        node = heapq.heappop(ready)
        for edge, gradient in zip(node.edges, visit(node, buffers.pop(node)), strict=True):
            if edge is None:
                continue
            if gradient is not None:
                arrive(buffers, edge, gradient)
            arrivals[edge[0]] -= 1
            if arrivals[edge[0]] == 0:
                heapq.heappush(ready, edge[0])


# %% mutant="graph_run_backward"
# Takes the oldest of the ready nodes
# The gradients are correct, but among the ready nodes the one that was recorded last should run first. This is a queue.
def run_backward(roots, grads, visit):
    arrivals, buffers = count_arrivals([node for node, _ in roots]), {}
    for edge, grad in zip(roots, grads, strict=True):
        arrive(buffers, edge, grad)
    ready = [node for node, count in arrivals.items() if count == 0]
    while ready:
        node = ready.pop(0)
        arrived = buffers.pop(node, [None] * len(node.outputs))
        for edge, gradient in zip(node.edges, visit(node, arrived), strict=True):
            if edge is None:
                continue
            if gradient is not None:
                arrive(buffers, edge, gradient)
            arrivals[edge[0]] -= 1
            if arrivals[edge[0]] == 0:
                ready.append(edge[0])


# %% mutant="graph_run_backward"
# A stack in place of a heap
# The gradients are correct, but this takes the node that became ready last. Among the ready nodes, the one that was
# recorded last should run first. A heap returns the smallest entry, while a list returns its last.
def run_backward(roots, grads, visit):
    arrivals, buffers = count_arrivals([node for node, _ in roots]), {}
    for edge, grad in zip(roots, grads, strict=True):
        arrive(buffers, edge, grad)
    ready = [node for node, count in arrivals.items() if count == 0]
    while ready:
        node = ready.pop()
        arrived = buffers.pop(node, [None] * len(node.outputs))
        for edge, gradient in zip(node.edges, visit(node, arrived), strict=True):
            if edge is None:
                continue
            if gradient is not None:
                arrive(buffers, edge, gradient)
            arrivals[edge[0]] -= 1
            if arrivals[edge[0]] == 0:
                ready.append(edge[0])


# %% mutant="graph_run_backward"
# Starts all roots at once
# One root may be an input of another one. It isn't ready at the start, because more gradients will arrive at it.
def run_backward(roots, grads, visit):
    arrivals, buffers = count_arrivals([node for node, _ in roots]), {}
    for edge, grad in zip(roots, grads, strict=True):
        arrive(buffers, edge, grad)
    ready = [node for node, _ in roots]
    heapq.heapify(ready)
    while ready:
        node = heapq.heappop(ready)
        arrived = buffers.pop(node, [None] * len(node.outputs))
        for edge, gradient in zip(node.edges, visit(node, arrived), strict=True):
            if edge is None:
                continue
            if gradient is not None:
                arrive(buffers, edge, gradient)
            arrivals[edge[0]] -= 1
            if arrivals[edge[0]] == 0:
                heapq.heappush(ready, edge[0])


# %% mutant="graph_run_backward"
# A list that is no heap
# Two roots may be ready at the start, with the older one in front. `heapq.heapify(ready)` puts the last recorded one
# there.
def run_backward(roots, grads, visit):
    arrivals = count_arrivals([node for node, _ in roots])
    buffers = {}
    for root, grad in zip(roots, grads, strict=True):
        arrive(buffers, root, grad)
    ready = [node for node, count in arrivals.items() if count == 0]
    while ready:
        node = heapq.heappop(ready)
        arrived = buffers.pop(node, [None] * len(node.outputs))
        for edge, gradient in zip(node.edges, visit(node, arrived), strict=True):
            if edge is None:
                continue
            if gradient is not None:
                arrive(buffers, edge, gradient)
            arrivals[edge[0]] -= 1
            if arrivals[edge[0]] == 0:
                heapq.heappush(ready, edge[0])


# %% mutant="graph_run_backward"
# Visits a root as often as it is given
# Two roots may be the same node. It receives both gradients and is visited once.
def run_backward(roots, grads, visit):
    arrivals = count_arrivals([node for node, _ in roots])
    buffers = {}
    for root, grad in zip(roots, grads, strict=True):
        arrive(buffers, root, grad)
    ready = [node for node, _ in roots if arrivals[node] == 0]
    heapq.heapify(ready)
    while ready:
        node = heapq.heappop(ready)
        arrived = buffers.pop(node, [None] * len(node.outputs))
        for edge, gradient in zip(node.edges, visit(node, arrived), strict=True):
            if edge is None:
                continue
            if gradient is not None:
                arrive(buffers, edge, gradient)
            arrivals[edge[0]] -= 1
            if arrivals[edge[0]] == 0:
                heapq.heappush(ready, edge[0])


# %% mutant="graph_run_backward"
# One place for each node
# A node may have several outputs. If nothing arrived, it gets a None for each of them.
def run_backward(roots, grads, visit):
    arrivals = count_arrivals([node for node, _ in roots])
    buffers = {}
    for root, grad in zip(roots, grads, strict=True):
        arrive(buffers, root, grad)
    ready = [node for node, count in arrivals.items() if count == 0]
    heapq.heapify(ready)
    while ready:
        node = heapq.heappop(ready)
        arrived = buffers.pop(node, [None])
        for edge, gradient in zip(node.edges, visit(node, arrived), strict=True):
            if edge is None:
                continue
            if gradient is not None:
                arrive(buffers, edge, gradient)
            arrivals[edge[0]] -= 1
            if arrivals[edge[0]] == 0:
                heapq.heappush(ready, edge[0])


# %% mutant="graph_run_backward"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def count_arrivals(roots):
    from minitorch.autograd import engine

    return engine.count_dependencies(roots)


# %% [markdown] exercise="graph_fit" kind="core" points=3 part="mytorch.autograd.engine:fit"
# ### Exercise 3 · Backward through a broadcast
# A gradient arrives with the shape and dtype of a *result*, and `fit` converts it to those of the input. For a gradient
# of ones of shape (4, 2, 3), `fit(grad, (2, 1), mytorch.float32)` is `tensor([[12.], [12.]])`, because each element was
# used 4 · 3 times.
#
# A gradient that fits already is returned unchanged, without a copy.


# %% docstrings="graph_fit"
def fit():
    """Convert a gradient to the shape and dtype of the tensor that it belongs to.

    Dimensions that broadcasting repeated are summed: those that were added on the left,
    and those of length 1 that were stretched. A gradient that fits already is returned
    unchanged.
    """


# %% check="graph_fit"
generator = check.rng()
front, n, m = (int(size) for size in generator.permutation([2, 3, 4]))
grid = (generator.normal(size=(front, n, m)) * 1024).round().astype(np.float32)
grad = mytorch.tensor(grid / 1024)  # the sums of these are exact, too
whole = mytorch.tensor(generator.integers(1, 9, size=(front, n, m)))  # sums are exact in 16 bits
one = grad[:1]  # fits, and has a dimension of length 1
bring = mytorch.autograd.engine.fit  # not under its own name, which is yours
shapes = {
    "a bias": (m,),
    "a column": (n, 1),
    "stretched in front": (1, n, m),
    "stretched twice": (front, 1, 1),
    "one number in three dimensions": (1, 1, 1),
    "a number": (),
}
x, bias = mytorch.ones(n, m, requires_grad=True), mytorch.ones(m, dtype=mytorch.float64, requires_grad=True)
scale = mytorch.ones(n, 1, requires_grad=True)
(x * scale + bias * grad[0].double()).sum().backward()
recorded = grad.clone().requires_grad_()
(bring(recorded, (n, 1), mytorch.float64) * mytorch.arange(n).reshape(n, 1)).sum().backward()
check.show(
    {"gradient": grad}
    | {f"{name} {shape}": bring(grad, shape, mytorch.float32) for name, shape in shapes.items()}
    | {
        "as float64": bring(grad, (m,), mytorch.float64),
        "as float16": bring(grad, (n, 1), mytorch.float16),
        "as bfloat16": bring(grad, grad.shape, mytorch.bfloat16),
        "from bfloat16, as float16": bring(whole.to(mytorch.bfloat16), (m,), mytorch.float16),
        "from float64, as bfloat16": bring(grad.double(), (), mytorch.bfloat16),
        "transposed": bring(grad.transpose(0, 2), (n, 1), mytorch.float32),
        "of a batch of one": bring(grad[:1], (m,), mytorch.float32),
        "of an empty batch": bring(grad[:0], (n, 1), mytorch.float32),
        "of an empty dimension": bring(grad[:, :0], (1, m), mytorch.float32),
        "what fits is the same tensor": [bring(each, each.shape, mytorch.float32) is each for each in (grad, one)],
        "so is a number": bring(grad[0, 0, 0], (), mytorch.float32).tolist(),
        "the gradient of a gradient that has a history": recorded.grad,
        "x.grad": x.grad,
        "scale.grad": scale.grad,
        "bias.grad": bias.grad,
    },
    rtol=1e-4,
    text="One gradient brought to several shapes; then a small computation whose backward pass uses your fit.",
)

# %% [markdown] hint="graph_fit"
# Write the desired shape below that of the gradient, aligned on the right. Which columns differ?

# %% [markdown] hint="graph_fit"
# Dimensions that the desired shape lacks are on the left. A desired length of 1 below a longer one was stretched. Sum
# over both.

# %% [markdown] hint="graph_fit"
# First sum over `range(grad.ndim - len(shape))`, if there are such dimensions. Then both shapes have the same number of
# dimensions, so sum over those that differ, with `keepdim=True`. Finally, call `grad.to(dtype)` if the dtype differs.


# %% mutant="graph_fit"
# Forgets the stretched dimensions
# Dimensions that were added on the left are summed, but a dimension of length 1 that was stretched still has its
# stretched length.
def fit(grad, shape, dtype):
    while grad.ndim > len(shape):
        grad = grad.sum(0)
    return grad if grad.dtype is dtype else grad.to(dtype)


# %% mutant="graph_fit"
# Sums over no dimension
# If nothing was added or stretched, there is nothing to sum. But `sum(())` sums all elements, as PyTorch's does.
def fit(grad, shape, dtype):
    grad = grad.sum(tuple(range(grad.ndim - len(shape))))
    stretched = tuple(dim for dim, length in enumerate(shape) if length != grad.shape[dim])
    grad = grad.sum(stretched, keepdim=True) if stretched else grad
    return grad if grad.dtype is dtype else grad.to(dtype)


# %% mutant="graph_fit"
# Averages
# Each use contributes in full, so the gradient is the sum over the uses, not their mean.
def fit(grad, shape, dtype):
    added = grad.ndim - len(shape)
    stretched = [dim + added for dim, length in enumerate(shape) if length == 1 and grad.shape[dim + added] != 1]
    if added or stretched:
        grad = grad.mean((*range(added), *stretched), keepdim=True).reshape(shape)
    return grad if grad.dtype is dtype else grad.to(dtype)


# %% mutant="graph_fit"
# Loses the dimensions of length 1
# A stretched dimension is summed, but it should stay, with length 1.
def fit(grad, shape, dtype):
    added = grad.ndim - len(shape)
    stretched = [dim + added for dim, length in enumerate(shape) if length == 1 and grad.shape[dim + added] != 1]
    if added or stretched:
        grad = grad.sum((*range(added), *stretched))
    return grad if grad.dtype is dtype else grad.to(dtype)


# %% mutant="graph_fit"
# Keeps the type of the gradient
# The shape is correct, but a float64 gradient for a float32 input has to be converted, and the other way round.
def fit(grad, shape, dtype):
    added = grad.ndim - len(shape)
    stretched = [dim + added for dim, length in enumerate(shape) if length == 1 and grad.shape[dim + added] != 1]
    if added or stretched:
        grad = grad.sum((*range(added), *stretched), keepdim=True).reshape(shape)
    return grad


# %% mutant="graph_fit"
# Copies what fits
# The values are correct, but a gradient that fits already is copied. On most edges of a network nothing has to be done.
def fit(grad, shape, dtype):
    added = grad.ndim - len(shape)
    stretched = [dim + added for dim, length in enumerate(shape) if length == 1 and grad.shape[dim + added] != 1]
    if added or stretched:
        grad = grad.sum((*range(added), *stretched), keepdim=True).reshape(shape)
    return grad.clone() if grad.dtype is dtype else grad.to(dtype)


# %% mutant="graph_fit"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def fit(grad, shape, dtype):
    from minitorch.autograd.engine import sum_to_size

    grad = sum_to_size(grad, shape)
    return grad if grad.dtype is dtype else grad.to(dtype)


# %% [markdown] exercise="graph_matmul" kind="core" points="2 1" part="mytorch.autograd.derivatives:matmul_grad_x mytorch.autograd.derivatives:matmul_grad_y"
# ### Exercise 4 · The gradient of a matrix product
# Most of a network's backward pass is this formula. For matrices the shapes leave only one choice: if x is (n, k), y is
# (k, m) and g is (n, m), then x gets $g\,y^T$ and y gets $x^T g$. `matmul` also takes vectors and batches of matrices.
# If you turn vectors into matrices first, the same two products work for them.


# %% docstrings="graph_matmul"
def matmul_grad_x():
    """The gradient of `x @ y` with respect to x, from the product's gradient g.

    For two matrices it is g @ yᵀ. A vector takes part as a row (x) or as a column (y),
    and the product then lacks that dimension: `unsqueeze` restores it, `squeeze`
    removes it. `y.mT` swaps the last two dimensions. The result may have dimensions on
    the left that x lacks, or that have length 1 in x, namely batch dimensions that were
    broadcast. The engine sums them.
    """


# %% check="graph_matmul"
generator = check.rng()
n, k, m = (int(size) for size in generator.permutation([2, 3, 4]))
b, c = 2, 3
pairs = [
    ((n, k), (k, m)),
    ((k,), (k,)),
    ((n, k), (k,)),
    ((k,), (k, m)),
    ((b, n, k), (k, m)),
    ((b, n, k), (b, k, m)),
    ((b, 1, n, k), (c, k, m)),
    ((b, n, k), (k,)),
    ((k,), (b, k, m)),
    ((n, 1), (1,)),
    ((1,), (1, m)),
]
shown = {}
for x_size, y_size in pairs:
    x, y = (
        mytorch.tensor(generator.normal(size=size).astype(np.float32)).requires_grad_() for size in (x_size, y_size)
    )
    product = x @ y
    weight = mytorch.tensor(generator.normal(size=tuple(product.shape)).astype(np.float32))
    problem = check.error((product * weight).sum().backward)
    shown[f"{x_size} @ {y_size}"] = [x.grad, y.grad] if problem is None else repr(problem)
derivatives = mytorch.autograd.derivatives
g, x, y = (mytorch.tensor(generator.normal(size=size)) for size in ((n, m), (n, k), (k, m)))
shown["called with float64 matrices"] = [
    check.intact(each, g, x, y) for each in (derivatives.matmul_grad_x, derivatives.matmul_grad_y)
]
check.show(shown, rtol=1e-3, atol=1e-5, text="The gradients of x and y, for each pair of shapes.")

# %% [markdown] hint="graph_matmul"
# Start with two matrices. `y.mT` swaps the last two dimensions, so `g @ y.mT` is correct for batches as well.

# %% [markdown] hint="graph_matmul"
# A vector x is a row, so g lacks the second-last dimension. A vector y is a column, so g lacks the last one.
# `unsqueeze` restores such a dimension, and `squeeze` removes it from the gradient of a vector. Two vectors are a
# separate case, in which g is a 0-d tensor.

# %% [markdown] hint="graph_matmul"
# Write down the shape of g in each case, and restore the missing dimension with `unsqueeze`. Then it is the product for
# matrices, and `squeeze` removes the dimension of a vector again. Two vectors need only an elementwise product.


# %% mutant="graph_matmul"
# Matrices only
# Two matrices and batches are correct. With a vector, the product lacks a dimension that has to be restored first.
def matmul_grad_x(g, x, y):
    return g @ y.mT


def matmul_grad_y(g, x, y):
    return x.mT @ g


# %% mutant="graph_matmul"
# Puts the row's dimension back first
# Everything is correct except the product of two vectors, where g is a 0-d tensor and has no second-last dimension.
# Restore the last one first.
def matmul_grad_x(g, x, y):
    if x.ndim == 1:
        g = g.unsqueeze(-2)
    if y.ndim == 1:
        g, y = g.unsqueeze(-1), y.unsqueeze(-1)
    found = g @ y.mT
    return found.squeeze(-2) if x.ndim == 1 else found


# %% mutant="graph_matmul"
# Reverses all dimensions
# permute in reverse order transposes a matrix, but in a batch it moves the batch dimension as well. Swap the last two
# dimensions only.
def matmul_grad_x(g, x, y):
    if x.ndim == 1 and y.ndim == 1:
        return g * y
    if y.ndim == 1:
        return g.unsqueeze(-1) * y
    if x.ndim == 1:
        return (y @ g.unsqueeze(-1)).squeeze(-1)
    return g @ y.permute(tuple(reversed(range(y.ndim))))


# %% mutant="graph_matmul"
# Forgets g
# The derivative of the product is there, but the chain rule is missing: multiply it by the gradient that arrives.
def matmul_grad_x(g, x, y):
    if x.ndim == 1 and y.ndim == 1:
        return g * y
    if y.ndim == 1:
        return g.unsqueeze(-1) * y
    if x.ndim == 1:
        return (y @ g.unsqueeze(-1)).squeeze(-1)
    return (g - g + 1) @ y.mT


# %% mutant="graph_matmul"
# Exchanges the vectors' outer product
# The gradient of y is transposed if x is a vector: row i of it belongs to element i of x.
def matmul_grad_y(g, x, y):
    if x.ndim == 1 and y.ndim == 1:
        return g * x
    if x.ndim == 1:
        return (g.unsqueeze(-1) * x.unsqueeze(-2)).reshape(y.shape)
    if y.ndim == 1:
        return (x.mT @ g.unsqueeze(-1)).squeeze(-1)
    return x.mT @ g


# %% mutant="graph_matmul"
# Squeezes all dimensions
# `squeeze()` removes each dimension of length 1, including those that x or y has. Name the one that you added.
def matmul_grad_x(g, x, y):
    if x.ndim == 1 and y.ndim == 1:
        return g * y
    if y.ndim == 1:
        return g.unsqueeze(-1) * y
    return (y @ g.unsqueeze(-1)).squeeze() if x.ndim == 1 else g @ y.mT


def matmul_grad_y(g, x, y):
    if x.ndim == 1:
        return g * x if y.ndim == 1 else x.unsqueeze(-1) * g.unsqueeze(-2)
    return (x.mT @ g.unsqueeze(-1)).squeeze() if y.ndim == 1 else x.mT @ g


# %% mutant="graph_matmul"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def matmul_grad_x(g, x, y):
    import minitorch

    ours, other = (minitorch.tensor(each.tolist()) for each in (x, y))
    ours.requires_grad_()
    (ours @ other).backward(minitorch.tensor(g.tolist()))
    import mytorch

    return mytorch.tensor(ours.grad.tolist())


# %% [markdown] exercise="graph_forward_mode" kind="build" points=2
# ### Exercise 5 · The chain rule, forwards
# A `Dual` carries a value and its derivative through a computation, without a graph: `Dual(x, 1.0)` is the variable,
# and `Dual(c, 0.0)` is a constant. Write its sum, product and sine. Then write `gradient(f, point)`, which returns all
# partial derivatives of `f(*point)`, where `f` takes and returns duals. One run of `f` gives one derivative.
#
# For `f = lambda x, y: x * x * y`, `gradient(f, [3.0, 5.0])` is `[30.0, 9.0]`.


# %% solution="graph_forward_mode"
class Dual:
    """A number and its derivative with respect to the variable of this run."""

    def __init__(self, value: float, derivative: float = 0.0) -> None:
        self.value, self.derivative = value, derivative

    def __add__(self, other: Dual) -> Dual:
        ### BEGIN SOLUTION
        return Dual(self.value + other.value, self.derivative + other.derivative)
        ### END SOLUTION

    def __mul__(self, other: Dual) -> Dual:
        ### BEGIN SOLUTION
        return Dual(self.value * other.value, self.derivative * other.value + self.value * other.derivative)
        ### END SOLUTION

    def sin(self) -> Dual:
        ### BEGIN SOLUTION
        return Dual(math.sin(self.value), math.cos(self.value) * self.derivative)
        ### END SOLUTION


def gradient(f, point: list[float]) -> list[float]:
    """The derivative of `f` with respect to each argument, at this point."""
    ### BEGIN SOLUTION
    found = []
    for variable in range(len(point)):
        duals = [Dual(value, float(place == variable)) for place, value in enumerate(point)]
        found.append(f(*duals).derivative)
    return found
    ### END SOLUTION


# %% check="graph_forward_mode"
runs = 0


def function(*inputs):
    global runs
    runs += 1
    total = inputs[0].sin()
    for one in inputs:
        total = (one + total) * one + (total * total).sin()
    return total


point = [round(float(number), 2) for number in check.rng().uniform(0.3, 1.2, size=4)]
partial = gradient(function, point)
sine, product = Dual(point[0], 2.0).sin(), Dual(point[0], 2.0) * Dual(point[1], 3.0)
check.show(
    {
        "point": point,
        "gradient": partial,
        "evaluations of the function": runs,
        "gradient of a function of one variable": gradient(lambda x: x.sin() * x, point[:1]),
        "gradient of x * x * y where x = y": gradient(lambda x, y: x * x * y, [point[0], point[0]]),
        "sine and its derivative": [sine.value, sine.derivative],
        "product and its derivative": [product.value, product.derivative],
    },
    rtol=1e-9,
    text="The gradient of a function of four numbers, and how often the function was evaluated.",
)

# %% [markdown] hint="graph_forward_mode"
# Write down the derivative of $u + v$, $u \cdot v$ and $\sin u$ when `u` and `v` both depend on the variable.

# %% [markdown] hint="graph_forward_mode"
# $(uv)' = u'v + uv'$ and $(\sin u)' = \cos(u)\, u'$. For the partial derivative with respect to one argument, that
# argument has derivative 1, and all others have 0.

# %% [markdown] hint="graph_forward_mode"
# Run `f` once for each variable. In run k, the dual at index k has derivative 1 and all others 0.


# %% mutant="graph_forward_mode"
# All variables at once
# With every derivative set to 1, one run returns the sum of the partial derivatives. Each of them needs its own run.
class Dual:
    def __init__(self, value, derivative=0.0):
        self.value, self.derivative = value, derivative

    def __add__(self, other):
        return Dual(self.value + other.value, self.derivative + other.derivative)

    def __mul__(self, other):
        return Dual(self.value * other.value, self.derivative * other.value + self.value * other.derivative)

    def sin(self):
        return Dual(math.sin(self.value), math.cos(self.value) * self.derivative)


def gradient(f, point):
    return [f(*[Dual(value, 1.0) for value in point]).derivative] * len(point)


# %% mutant="graph_forward_mode"
# Multiplies the derivatives
# The derivative of a product isn't the product of the derivatives. It is u'v + uv'.
class Dual:
    def __init__(self, value, derivative=0.0):
        self.value, self.derivative = value, derivative

    def __add__(self, other):
        return Dual(self.value + other.value, self.derivative + other.derivative)

    def __mul__(self, other):
        return Dual(self.value * other.value, self.derivative * other.derivative)

    def sin(self):
        return Dual(math.sin(self.value), math.cos(self.value) * self.derivative)


def gradient(f, point):
    return [
        f(*[Dual(value, float(place == variable)) for place, value in enumerate(point)]).derivative
        for variable in range(len(point))
    ]


# %% mutant="graph_forward_mode"
# Adds in place
# The sum overwrites one of its inputs, which may be used again: in `(x + y) * x`, x is now the sum. Create a new
# `Dual`.
class Dual:
    def __init__(self, value: float, derivative: float = 0.0) -> None:
        self.value, self.derivative = value, derivative

    def __add__(self, other: Dual) -> Dual:
        self.value += other.value
        self.derivative += other.derivative
        return self

    def __mul__(self, other: Dual) -> Dual:
        return Dual(self.value * other.value, self.derivative * other.value + self.value * other.derivative)

    def sin(self) -> Dual:
        return Dual(math.sin(self.value), math.cos(self.value) * self.derivative)


def gradient(f, point: list[float]) -> list[float]:
    return [
        f(*(Dual(value, float(place == variable)) for place, value in enumerate(point))).derivative
        for variable in range(len(point))
    ]


# %% mutant="graph_forward_mode"
# Stops at the sine
# The chain rule's second factor is missing: (sin u)' is cos(u) times u'.
class Dual:
    def __init__(self, value, derivative=0.0):
        self.value, self.derivative = value, derivative

    def __add__(self, other):
        return Dual(self.value + other.value, self.derivative + other.derivative)

    def __mul__(self, other):
        return Dual(self.value * other.value, self.derivative * other.value + self.value * other.derivative)

    def sin(self):
        return Dual(math.sin(self.value), math.cos(self.value))


def gradient(f, point):
    return [
        f(*[Dual(value, float(place == variable)) for place, value in enumerate(point)]).derivative
        for variable in range(len(point))
    ]


# %% mutant="graph_forward_mode"
# A difference quotient
# The gradient is nearly correct, but it is an approximation, and it evaluates the function twice for each argument.
class Dual:
    def __init__(self, value, derivative=0.0):
        self.value, self.derivative = value, derivative

    def __add__(self, other):
        return Dual(self.value + other.value, self.derivative + other.derivative)

    def __mul__(self, other):
        return Dual(self.value * other.value, self.derivative * other.value + self.value * other.derivative)

    def sin(self):
        return Dual(math.sin(self.value), math.cos(self.value) * self.derivative)


def gradient(f, point):
    def at(variable, step):
        return f(*[Dual(value + step * (place == variable)) for place, value in enumerate(point)]).value

    return [(at(variable, 1e-6) - at(variable, -1e-6)) / 2e-6 for variable in range(len(point))]


# %% [markdown] exercise="graph_repair_accumulation" kind="repair" points=3 replaces="minitorch.autograd.engine:accumulate_grad"
# ### Exercise 6 · A gradient that changes by itself
# The function below is the last step of a backward pass: it adds what arrived at a leaf to its `.grad`. The engine calls
# it with the leaf, the gradient, and `may_keep`, a hint that can save a copy and that you may ignore. It works for most
# networks, but not for this program:
#
# ```python
# a = torch.zeros(2, requires_grad=True)
# b = torch.zeros(2, requires_grad=True)
# ((a + b) * 2).sum().backward()
# (a * 10).sum().backward()      # b plays no part in this
# print(a.grad, b.grad)          # tensor([12., 12.]) tensor([12., 12.])
# ```
#
# `b.grad` should still be 2. Fix the function. Later gradients must still be added in place: an optimizer that holds
# `.grad` has to see the sum.


# %% solution="graph_repair_accumulation"
def accumulate_grad(variable: torch.Tensor, grad: torch.Tensor, may_keep: bool) -> None:
    """Adds `grad` to `variable.grad`."""
    ### BEGIN SOLUTION
    if variable.grad is None:
        variable.grad = grad.clone()
    else:
        variable.grad.add_(grad)
    ### END SOLUTION
    ### BEGIN STUB
    # if variable.grad is None:
    #     variable.grad = grad
    # else:
    #     variable.grad.add_(grad)
    ### END STUB


# %% check="graph_repair_accumulation"
import warnings

generator = check.rng()
first, second = (int(number) for number in generator.integers(2, 9, 2))
given = torch.tensor(generator.normal(size=3).astype(np.float32))
kept = given.clone()
with check.install(accumulate_grad, "minitorch.autograd.engine:accumulate_grad"):
    a, b = (torch.zeros(2, requires_grad=True) for _ in range(2))
    ((a + b) * first).sum().backward()
    held = a.grad
    (a * second).sum().backward()
    c = torch.zeros(3, requires_grad=True)
    c.backward(given)
    c.backward(given)
    d = torch.tensor([float(first), float(second)], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of the reference cycle
        (d**3).sum().backward(create_graph=True)  # d.grad is 3 d² and has a history
    history = d.grad.requires_grad
    e = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    (e * (first + 2.0**-40)).sum().backward()
    curvature = torch.autograd.grad(d.grad.sum(), d)[0] if history else None
    single = torch.zeros(1, requires_grad=True)
    check.intact(torch.autograd.engine.accumulate_grad, single, given[:1], False)  # yours, as installed
check.show(
    {
        "factors": [first, second],
        "a.grad": a.grad,
        "b.grad": b.grad,
        "what held a.grad sees": held,
        "c.grad": c.grad,
        "the gradient given to c.backward, afterwards": given - kept,
        "the gradient of a single element": single.grad,
        "d.grad, of d³": d.grad.detach(),
        "it can be differentiated again": history,
        "its derivative": curvature,
        "2⁴⁰ times e.grad, above the first factor": (e.grad - first) * 2.0**40,
    },
    text="a and b are in the first loss, only a in the second. c gets one gradient twice, and that gradient shouldn't change. "
    "The gradient of d was made with create_graph=True, and e is in float64.",
)

# %% [markdown] hint="graph_repair_accumulation"
# Print `a.grad` and `b.grad` after each of the two passes. Which line of which pass changes `b.grad`?

# %% [markdown] hint="graph_repair_accumulation"
# What does the backward of `a + b` return for `a`, and what for `b`? Compare `a.grad.data_ptr()` with
# `b.grad.data_ptr()` after the first pass.

# %% [markdown] hint="graph_repair_accumulation"
# Both received the same tensor, and both kept it. The first gradient that a leaf keeps has to be its own, so clone it.


# %% mutant="graph_repair_accumulation"
# Makes a new sum
# b.grad is correct now, but a.grad is a new tensor, so an optimizer that held the old one doesn't see the second
# gradient.
def accumulate_grad(variable: torch.Tensor, grad: torch.Tensor, may_keep: bool) -> None:
    variable.grad = grad if variable.grad is None else variable.grad + grad


# %% mutant="graph_repair_accumulation"
# Detaches instead of copying
# a and b still share memory, so a write through one shows in the other. Neither `detach()` nor a slice makes a copy.
def accumulate_grad(variable: torch.Tensor, grad: torch.Tensor, may_keep: bool) -> None:
    if variable.grad is None:
        variable.grad = grad.detach()
    else:
        variable.grad.add_(grad)


# %% mutant="graph_repair_accumulation"
# Keeps the last gradient
# A second gradient replaces the first. A derivative is a sum over uses, so gradients add up.
def accumulate_grad(variable: torch.Tensor, grad: torch.Tensor, may_keep: bool) -> None:
    variable.grad = grad.clone()


# %% mutant="graph_repair_accumulation"
# Delegates to minitorch
# This calls the package's own function, which is locked while yours is installed.
def accumulate_grad(
    variable: torch.Tensor, grad: torch.Tensor, may_keep: bool, original=engine.accumulate_grad
) -> None:
    original(variable, grad, may_keep)


# %% [markdown] exercise="graph_measure_saved" kind="measure" points=2
# ### Exercise 7 · What does one more layer keep?
# In a network of hidden layers `h = activation(h @ w)`, how many more elements does the graph hold when the network
# gets one layer deeper? Write the experiment. `torch.autograd.graph.saved_tensors_hooks(pack, unpack)` is a context
# manager. Inside it, `pack(tensor)` is called with each tensor that a node saves, and the node keeps what it returns.
# Return `tensor.detach()`, because a hook that returns a result itself makes its node keep it alive. `unpack` gets that
# value and returns the tensor.
#
# Two saved tensors with the same `data_ptr()` share their memory, so count it once. Don't count the weights, which
# exist anyway. The first layer is a special case, since its input is the data, which is wider; the following layers are
# all alike.
#
# `network(activation, depth, batch, width)` of the setup cell returns the output and the list of its weights.


# %% solution="graph_measure_saved"
def kept_by_a_layer(activation, batch: int, width: int) -> int:
    """How many elements one more hidden layer keeps in the graph, not counting the weights."""

    ### BEGIN SOLUTION
    def kept(depth):
        sizes, everything = {}, []

        def pack(tensor):
            sizes[tensor.data_ptr()] = tensor.numel()
            everything.append(tensor)  # memory that is freed could be given out again, at the same address
            return tensor.detach()

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            _output, weights = network(activation, depth, batch, width)
        own = {weight.data_ptr() for weight in weights}
        return sum(size for address, size in sizes.items() if address not in own)

    return kept(4) - kept(3)
    ### END SOLUTION


# %% check="graph_measure_saved"
torch.manual_seed(check.seed())
batch, width = (int(number) for number in check.rng().choice(np.arange(3, 12), 2, replace=False))
activations = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sin": torch.sin,
    "silu": torch.nn.functional.silu,
    "identity": lambda h: h,
    "sin(h) + 1": lambda h: h.sin() + 1,
}
found = {name: kept_by_a_layer(activation, batch, width) for name, activation in activations.items()}
check.show(
    {"batch": batch, "width": width, "batch * width": batch * width}
    | found
    | {
        "relu, twice the batch": kept_by_a_layer(torch.relu, 2 * batch, width),
        "relu, a batch as large as the width": kept_by_a_layer(torch.relu, width, width),
    },
    text="How many numbers one more layer keeps, by its activation.",
)

# %% [markdown] hint="graph_measure_saved"
# Measure two depths and subtract: what both have in common, such as the first layer, cancels.

# %% [markdown] hint="graph_measure_saved"
# In `pack`, record `tensor.numel()` in a dict under `tensor.data_ptr()`. Skip the addresses of the weights.

# %% [markdown] hint="graph_measure_saved"
# Let `pack` also append the tensor to a list, because otherwise an address could be used twice. The answer is `kept(4)
# - kept(3)`, where `kept(depth)` sums the sizes in the dict.


# %% mutant="graph_measure_saved"
# Counts each save
# ReLU saves its result, and the next matmul saves the same tensor as its input. That is one piece of memory, counted
# twice.
def kept_by_a_layer(activation, batch: int, width: int) -> int:
    def kept(depth):
        found = []

        def pack(tensor):
            found.append(tensor)
            return tensor.detach()

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            _output, weights = network(activation, depth, batch, width)
        own = {weight.data_ptr() for weight in weights}
        return sum(tensor.numel() for tensor in found if tensor.data_ptr() not in own)

    return kept(4) - kept(3)


# %% mutant="graph_measure_saved"
# Counts the weights too
# A matmul saves its weight, but the weight exists anyway, and the graph makes no copy of it.
def kept_by_a_layer(activation, batch: int, width: int) -> int:
    def kept(depth):
        sizes, everything = {}, []

        def pack(tensor):
            sizes[tensor.data_ptr()] = tensor.numel()
            everything.append(tensor)
            return tensor.detach()

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            network(activation, depth, batch, width)
        return sum(sizes.values())

    return kept(4) - kept(3)


# %% mutant="graph_measure_saved"
# Measures one layer alone
# The first layer keeps the data, which is wider than an activation. Subtract two depths to see what one more layer adds.
def kept_by_a_layer(activation, batch: int, width: int) -> int:
    sizes, everything = {}, []

    def pack(tensor):
        sizes[tensor.data_ptr()] = tensor.numel()
        everything.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        _output, weights = network(activation, 1, batch, width)
    own = {weight.data_ptr() for weight in weights}
    return sum(size for address, size in sizes.items() if address not in own)


# %% mutant="graph_measure_saved"
# Counts tensors
# This is the number of tensors that are kept, while the question is how many elements they hold.
def kept_by_a_layer(activation, batch: int, width: int) -> int:
    def kept(depth):
        sizes, everything = {}, []

        def pack(tensor):
            sizes[tensor.data_ptr()] = tensor.numel()
            everything.append(tensor)
            return tensor.detach()

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            _output, weights = network(activation, depth, batch, width)
        return len(set(sizes) - {weight.data_ptr() for weight in weights})

    return kept(4) - kept(3)


# %% [markdown] exercise="graph_node" kind="core" points="1 2" part="mytorch.autograd.recording:attribute_named mytorch.autograd.recording:OperationNode.keep | mytorch.autograd.recording:OperationNode.__init__ mytorch.autograd.recording:OperationNode.apply"
# ### Exercise 8 · The node
# The layer `record` creates an `OperationNode` for each call that is recorded. Write the code that decides what a node
# stores, and that computes the gradients of the inputs from the gradient of the result.
#
# For `y = w * x` with the formulas `x=lambda g, y: g * y, y=lambda g, x: g * x` and a `w` that requires grad, the node
# has two edges, one to `w` and a None for `x`. It keeps the *second* operand, because the formula for the first one
# names it, and `apply(g)` returns `[g * x, None]`. Values that no formula needs aren't kept.


# %% docstrings="graph_node"
def attribute_named():
    """Shape, dtype or device of an argument: `x_shape`, `x_dtype`, `x_device`.

    For several tensors it is a list. `arguments` has the call's arguments by name. The
    part after the last underscore is the attribute. A Python number has the shape ()
    and None for any other attribute.
    """


def keep():
    """Keep the values that the formula of a parameter names.

    A value is an entry of `known`, or an attribute of one. `self.formulas[parameter]`
    is the formula and the names that it needs besides `g`. Each value is stored in
    `self.values` under its name, and a tensor as
    `Rules.kept(tensor, name == "result")`, which records its version.

    Raises:
        NotImplementedError: there is no such formula: "the derivative for 'round' is
            not implemented", with the operation's name, `self._name`.
    """


def __init__():
    """A node for a call of `op` with `args` that returned `result`.

    `super().__init__(op.name, edges)` stores the list of edges. There is an edge,
    `edge_of(x)`, for each tensor in each argument, in order. An argument is a tensor, a
    list or tuple that may hold tensors (`tensors_in([argument])`), or something else.
    `self.formulas` is the entry of the operation in `DERIVATIVES`, or an empty dict.
    `self.values` is filled by `self.keep(name, known)`, called for each parameter with
    a tensor that requires a gradient; `known` has the arguments by name, and "result".

    `self.inputs` lists, for each parameter that holds tensors, its name, how many there
    are, and whether one of them requires a gradient, which means that one of these
    edges isn't None.
    """


def apply():
    """The gradients that the formulas compute, one for each edge.

    An entry is None if no gradient is needed or none has arrived. `grads` has one
    gradient, that of the result, or None. A formula is called with it and with the
    values that it names, `self.value(name)`. For a parameter that holds several
    tensors, such as that of `cat`, it returns a list.
    """


# %% check="graph_node" raises="NotImplementedError"
generator = check.rng()
recording = mytorch.autograd.recording
numbers = [mytorch.tensor(generator.integers(1, 9, (2, 3)).astype(np.float32)) for _ in range(4)]
w, v = (each.clone().requires_grad_() for each in numbers[:2])
x, y = numbers[2:]
copied = x.clone()
mytorch.pointwise.pointwise(lambda a, b: np.fmod(a, b), "modulo_of_check")


def node_of(make, judged=True):
    """What a call leaves behind: result, inputs, edges, what is kept, and the gradients for a gradient of ones.

    Without `judged` nothing is said of gradients that nobody needs.
    """
    made = []
    problem = check.error(lambda: made.append(make()))
    if problem is not None:
        return f"{type(problem).__name__}: {problem}"
    node = made[0].grad_fn
    kept = {
        name: (value.tensor, value.is_result) if isinstance(value, recording.Kept) else value
        for name, value in sorted(node.values.items())
    }
    edges = ["None" if each is None else (each[0].name(), each[1]) for each in node.edges]
    problem = check.error(lambda: made.append(node.apply(mytorch.ones(made[0].shape))))
    gradients = problem or [each if judged or edge else "any" for each, edge in zip(made[1], node.edges, strict=True)]
    return made[0].detach(), node.name(), node.inputs, edges, kept, gradients, list(node.apply(None))


def kept_as(name, known):
    """What a node keeps whose formula for `x` names this."""
    node = (w * x).grad_fn
    node.formulas, node.values = {"x": (None, (name,))}, {}
    return check.error(node.keep, "x", known) or node.values


def stale(make, write):
    """The error of a node that kept a tensor which is written afterwards."""
    result = make()
    write(result)
    return check.error(result.grad_fn.apply, mytorch.ones(result.shape))


check.show(
    {
        "w * x": node_of(lambda: w * x),
        "x * w": node_of(lambda: x * w),
        "w * v": node_of(lambda: w * v),
        "w * 3": node_of(lambda: w * 3.0),
        "w.exp()": node_of(lambda: w.exp()),
        "w + v": node_of(lambda: w + v),
        "w.sum(0)": node_of(lambda: w.sum(0)),
        "(w * w) / v": node_of(lambda: (w * w) / v),
        "cat([x, w, y])": node_of(lambda: mytorch.cat([x, w, y], 1), judged=False),
        "w * copy, after a write to the copy": stale(lambda: w * copied, lambda result: copied.add_(1)),
        "w * copy, after a write to the product": stale(lambda: w * copied, lambda result: result.detach().add_(1)),
        "w.exp(), after a write to the result": stale(lambda: w.exp(), lambda result: result.detach().add_(1)),
        "one element": node_of(lambda: w[:1, :1] * 2.0),
        "w[[1, 0]]": node_of(lambda: w[[1, 0]]),
        "no derivative": node_of(lambda: mytorch.modulo_of_check(w, x)),
        "is a result kept without its history?": node_of(lambda: w.tanh())
        and w.tanh().grad_fn.values["result"].is_result,
        "attributes": [
            recording.attribute_named(name, {"x": x, "x_0": 2.0, "parts": [x, y[0]], "pair": (x, y[0]), "n": 3})
            for name in (
                "x_shape",
                "x_dtype",
                "parts_shape",
                "pair_shape",
                "n_shape",
                "n_dtype",
                "n_device",
                "x_0_shape",
            )
        ],
        "a list for the tensors of a tuple": isinstance(recording.attribute_named("x_shape", {"x": (x, y)}), list),
        "kept under a name with an underscore": kept_as("step_size", {"x": w, "step_size": 2.0}),
    },
    text="Result, name, inputs, edges, what is kept, and gradients, of one node each.",
)

# %% [markdown] hint="graph_node"
# `attribute_named`: `name.rpartition("_")` gives the parameter and the attribute. `keep`: a name is either in `known`,
# or it is an attribute of an entry.

# %% [markdown] hint="graph_node"
# `__init__`: loop over `zip(op.parameters, args)`. Collect the argument's tensors, append their edges, and use `any` on
# these new edges to find out whether a gradient is needed. An edge is None or a pair, and a pair is truthy.

# %% [markdown] hint="graph_node"
# `apply`: for each `name, number, needed` of `self.inputs`, add `number` times None if nothing is needed or `g` is
# None. Otherwise call `formula(g, *[self.value(each) for each in names])`; a list is added with `+=`, and a single
# tensor as a list of one.


# %% mutant="graph_node"
# Splits at the first underscore
# A parameter's name may contain an underscore itself. The attribute is the part after the last one.
def attribute_named(name, arguments):
    parameter, _, attribute = name.partition("_")
    holder = arguments.get(parameter)
    if isinstance(holder, (list, tuple)):
        return [getattr(each, attribute, None) for each in holder]
    return getattr(holder, attribute, () if attribute == "shape" else None)


# %% mutant="graph_node"
# Keeps a result with its history
# A result that is kept with its history would keep itself alive, because the node holds the result and the result holds
# the node.
def keep(self, parameter, known):
    if parameter not in self.formulas:
        raise NotImplementedError(f"the derivative for '{self._name}' is not implemented")
    for name in self.formulas[parameter][1]:
        value = known[name] if name in known else attribute_named(name, known)
        self.values[name] = Rules.kept(value, False) if isinstance(value, Tensor) else value


# %% mutant="graph_node"
# Keeps everything
# Only the values that the formula names are kept. A sum that kept its input would hold the whole batch in memory.
def keep(self, parameter, known):
    if parameter not in self.formulas:
        raise NotImplementedError(f"the derivative for '{self._name}' is not implemented")
    names = [*known, *self.formulas[parameter][1]]
    for name in names:
        value = known[name] if name in known else attribute_named(name, known)
        self.values[name] = Rules.kept(value, name == "result") if isinstance(value, Tensor) else value


# %% mutant="graph_node"
# Keeps for inputs that need nothing
# An input that requires no gradient needs no formula, and so none of the values that the formula names.
def __init__(self, op, args, result):
    edges = []
    super().__init__(op.name, edges)
    self.inputs, self.values = [], {}
    self.formulas = DERIVATIVES.get(op.name, {})
    known = {"result": result, **dict(zip(op.parameters, args, strict=True))}
    for name, argument in zip(op.parameters, args, strict=True):
        tensors = tensors_in([argument]) if isinstance(argument, Tensor) else ()
        if isinstance(argument, (list, tuple)):
            tensors = tensors_in(argument)
        edges.extend(edge_of(x) for x in tensors)
        if tensors:
            self.inputs.append((name, len(tensors), any(edges[-len(tensors) :])))
            if name in self.formulas:
                self.keep(name, known)


# %% mutant="graph_node"
# Forgets lists
# `cat` takes a list of tensors, each of which has an edge of its own.
def __init__(self, op, args, result):
    edges = []
    super().__init__(op.name, edges)
    self.inputs, self.values = [], {}
    self.formulas = DERIVATIVES.get(op.name, {})
    known = {"result": result, **dict(zip(op.parameters, args, strict=True))}
    for name, argument in zip(op.parameters, args, strict=True):
        if isinstance(argument, Tensor):
            edges.append(edge_of(argument))
            self.inputs.append((name, 1, edges[-1] is not None))
            if edges[-1] is not None:
                self.keep(name, known)


# %% mutant="graph_node"
# One gradient for a list
# The formula of `cat` returns a list with one gradient for each tensor, and so for each edge.
def apply(self, *grads):
    (g,) = grads
    found = []
    for name, number, needed in self.inputs:
        if g is None or not needed:
            found += [None] * number
            continue
        formula, names = self.formulas[name]
        found.append(formula(g, *[self.value(each) for each in names]))
    return found


# %% mutant="graph_node"
# Leaves out what isn't needed
# There is one entry for each edge. It is None if no gradient is needed; otherwise the engine sends gradients to the
# wrong input.
def apply(self, *grads):
    (g,) = grads
    found = []
    for name, _number, needed in self.inputs:
        if g is None or not needed:
            continue
        formula, names = self.formulas[name]
        grad = formula(g, *[self.value(each) for each in names])
        found += grad if isinstance(grad, list) else [grad]
    return found
