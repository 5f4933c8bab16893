# %% [markdown]
# # Exercises · The computation graph
# Seven exercises, 17 points. Three of them write a part of the package: `topological_order`, `sum_to_size` and
# `accumulate_grad` of `minitorch.autograd.engine`.

# %% setup=true
import gc

import numpy as np
from sklearn.datasets import load_digits

import minitorch as torch
from course import check
from minitorch.autograd import engine
from minitorch.autograd.node import AccumulateGrad, Node

# %% setup=true
DIGITS = load_digits()


class Value:
    """A number that remembers what it was made from: pairs of a value and the local derivative."""

    def __init__(self, data, edges=()):
        self.data, self.grad, self.edges = data, 0.0, edges

    def __add__(self, other):
        return Value(self.data + other.data, [(self, 1.0), (other, 1.0)])

    def __mul__(self, other):
        return Value(self.data * other.data, [(self, other.data), (other, self.data)])

    def hand_on(self):
        """Adds this value's share to the gradients of the values it was made from."""
        for source, local in self.edges:
            source.grad += local * self.grad


def digits_batch(generator, size):
    """A random batch of handwritten digits: images as rows of 64 numbers from 0 to 1, and one-hot labels."""
    chosen = generator.choice(len(DIGITS.target), size, replace=False)
    images = torch.tensor((DIGITS.data[chosen] / 16).astype(np.float32))
    labels = torch.tensor(np.eye(10, dtype=np.float32)[DIGITS.target[chosen]])
    return images, labels


def cross_entropy(logits, labels):
    """The mean over the batch of log(sum(exp(logits))) - logits[label]."""
    return (logits.exp().sum(1).log() - (logits * labels).sum(1)).mean()


def weights(generator, *shapes):
    """Small random parameters of the given shapes."""
    return [torch.tensor(generator.normal(0, 0.2, shape).astype(np.float32), requires_grad=True) for shape in shapes]


# %% [markdown] exercise="graph_predict_leaves" kind="predict" points=2
# ### Exercise 1 · Leaf, requires grad, gradient
# Without running it: for each of the eight tensors, is it a leaf, does it require grad, and is its `.grad` a tensor
# after the last line?
#
# ```python
# a = torch.ones(2, requires_grad=True)
# b = torch.ones(2)
# c = a * b
# d = c.detach()
# e = torch.ones(2, requires_grad=True) + 0
# with torch.no_grad():
#     f = a * 2
# g = b * 2
# h = torch.ones(2).requires_grad_()
# c.retain_grad()
# (c * d + e + f + g).sum().backward()
# ```
#
# Three booleans for each, in this order. A tensor that requires grad, is no leaf and gets no gradient: `(False, True,
# False)`.

# %% solution="graph_predict_leaves"
prediction = {
    ### BEGIN SOLUTION
    "a": (True, True, True),
    "b": (True, False, False),
    "c": (False, True, True),
    "d": (True, False, False),
    "e": (False, True, False),
    "f": (True, False, False),
    "g": (True, False, False),
    "h": (True, True, False),
    ### END SOLUTION
    ### BEGIN STUB
    # "a": ...,
    # "b": ...,
    # "c": ...,
    # "d": ...,
    # "e": ...,
    # "f": ...,
    # "g": ...,
    # "h": ...,
    ### END STUB
}

# %% check="graph_predict_leaves"
check.show({name: list(prediction[name]) for name in "abcdefgh"}, secret=True)

# %% [markdown] hint="graph_predict_leaves"
# A leaf is a tensor without `grad_fn`. Whether somebody computed it does not matter.

# %% [markdown] hint="graph_predict_leaves"
# `.grad` is filled for leaves that require grad and that the loss depends on, and for whatever called `retain_grad`.

# %% [markdown] hint="graph_predict_leaves"
# `d`, `f` and `g` were made without recording. `e` is a sum, so its leaf is the nameless tensor of ones. The loss does
# not depend on `h`.

# %% mutant="graph_predict_leaves"
# Leaves are what I created
# A result of an operation that was not recorded has no grad_fn, and that makes it a leaf.
prediction = {
    "a": (True, True, True),
    "b": (True, False, False),
    "c": (False, True, True),
    "d": (False, False, False),
    "e": (False, True, False),
    "f": (False, False, False),
    "g": (False, False, False),
    "h": (True, True, False),
}

# %% mutant="graph_predict_leaves"
# Everything that requires grad gets one
# A tensor in the middle gets a gradient only after retain_grad, and a leaf only if the loss depends on it.
prediction = {
    "a": (True, True, True),
    "b": (True, False, False),
    "c": (False, True, True),
    "d": (True, False, False),
    "e": (False, True, True),
    "f": (True, False, False),
    "g": (True, False, False),
    "h": (True, True, True),
}

# %% [markdown] exercise="graph_predict_accumulation" kind="predict" points=1
# ### Exercise 2 · Two names, one gradient
# ```python
# w = torch.tensor([1.0, 2.0], requires_grad=True)
# (w * w).sum().backward()
# kept = w.grad
# (3 * w).sum().backward()
# w.grad = None
# (w * kept).sum().backward()
# w.grad.mul_(10)
# ```
# Which numbers do `kept` and `w.grad` hold in the end? Two lists of two numbers.

# %% solution="graph_predict_accumulation"
### BEGIN SOLUTION
kept = [5, 7]
grad = [50, 70]
### END SOLUTION

# %% check="graph_predict_accumulation"
check.show({"kept": list(kept), "w.grad": list(grad)}, secret=True)

# %% [markdown] hint="graph_predict_accumulation"
# The first pass leaves $2w$. What does the second do to the tensor that is there?

# %% [markdown] hint="graph_predict_accumulation"
# It adds in place, and `kept` is that tensor. `w.grad = None` takes the name away, not the tensor.

# %% [markdown] hint="graph_predict_accumulation"
# The gradient of the third loss has the values of `kept`, in a tensor of its own.

# %% mutant="graph_predict_accumulation"
# `kept` as a snapshot
# kept is not a copy: the second pass adds 3 to the very tensor that kept names.
kept = [2, 4]
grad = [20, 40]

# %% mutant="graph_predict_accumulation"
# The third gradient is `kept` itself
# A product's gradient is a new tensor, so mul_ on w.grad leaves kept alone.
kept = [50, 70]
grad = [50, 70]

# %% [markdown] exercise="graph_topological_order" kind="build" points=4 replaces="minitorch.autograd.engine:topological_order"
# ### Exercise 3 · The order of the backward pass
# Give the nodes that can be reached from `roots`, each once, every node before the nodes that its edges lead to. Of the
# nodes that could be next, an `AccumulateGrad` comes first, and then the node with the largest `sequence_number`, the
# one recorded last. That is PyTorch's order.
#
# `node.edges` has an entry for each input: a pair (node, output number), or `None`. One of the graphs is a chain of
# 5,000 operations, so don't recurse.
#
# For `y = x.exp()` and `(y * y).sum()`, the names are `SumBackward0`, `MulBackward0`, `ExpBackward0` and
# `torch::autograd::AccumulateGrad`; both edges of the product lead to `ExpBackward0`.


# %% solution="graph_topological_order"
def topological_order(roots: list[Node]) -> list[Node]:
    """The nodes reachable from the roots, every node before those that its gradients go to, in PyTorch's order."""
    ### BEGIN SOLUTION
    waiting = dict.fromkeys(roots, 0)
    unvisited = list(waiting)
    while unvisited:
        for edge in unvisited.pop().edges:
            if edge is not None:
                if edge[0] not in waiting:
                    waiting[edge[0]] = 0
                    unvisited.append(edge[0])
                waiting[edge[0]] += 1
    ready = [node for node, count in waiting.items() if count == 0]
    order = []
    while ready:
        node = max(ready, key=lambda each: (isinstance(each, AccumulateGrad), each.sequence_number))
        ready.remove(node)
        order.append(node)
        for edge in node.edges:
            if edge is not None:
                waiting[edge[0]] -= 1
                if waiting[edge[0]] == 0:
                    ready.append(edge[0])
    return order
    ### END SOLUTION


# %% check="graph_topological_order"
generator = check.rng()
leaves = [torch.tensor([float(number)], requires_grad=True) for number in generator.integers(1, 4, 3)]
tensors = list(leaves)
for _ in range(12):
    one, other = (tensors[number] for number in generator.integers(0, len(tensors), 2))
    tensors.append((one + other * 0.5, (one * other).sin(), one.sin(), one - other)[generator.integers(4)])
twice = tensors[-1].sin()
leaves.append(torch.tensor([2.0], requires_grad=True))
total = (twice * twice + twice.sin() + sum(tensors) + leaves[0] * leaves[0] + leaves[-1]).sum()
mine = topological_order([total.grad_fn])
recorded = sorted(engine.count_dependencies([total.grad_fn]), key=lambda node: node.sequence_number)
place = {node: number for number, node in enumerate(mine)}

chain = leaves[0]
for _ in range(5_000):
    chain = chain * 1.0
images, labels = digits_batch(generator, 32)
w1, b1, w2, b2 = weights(generator, (64, 16), (16,), (16, 10), (10,))
losses = []
with check.install(topological_order, "minitorch.autograd.engine:topological_order"):
    gradients = torch.autograd.grad(total, leaves)
    through_chain = torch.autograd.grad(chain, leaves[0])[0]
    for _ in range(3):
        loss = cross_entropy((images @ w1 + b1).tanh() @ w2 + b2, labels)
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for parameter in (w1, b1, w2, b2):
                parameter -= parameter.grad
                parameter.grad = None
check.show(
    {
        "nodes": len(mine),
        "each node once": len(place) == len(mine),
        "edges that lead backwards": sum(
            place[edge[0]] <= place[node] for node in mine for edge in node.edges if edge is not None
        ),
        "order, numbered as recorded": [recorded.index(node) for node in mine],
        "names": [node.name() for node in mine],
        "gradients": list(gradients),
        "gradient through the chain": through_chain,
        "losses of three steps on digits": losses,
    },
    rtol=1e-4,
    text="A random graph, a chain of 5,000 nodes and a small network, all run on your order.",
)

# %% [markdown] hint="graph_topological_order"
# First walk everything once and count, for each node, the edges that lead to it. A node is ready when its count has
# gone down to zero.

# %% [markdown] hint="graph_topological_order"
# The product of a tensor with itself has two edges to the same node: both count, and both are crossed off. Edges that
# are `None` don't.

# %% [markdown] hint="graph_topological_order"
# `max(ready, key=lambda node: (isinstance(node, AccumulateGrad), node.sequence_number))` is the next node: remove it
# from `ready`, append it to the order, cross off its edges.


# %% mutant="graph_topological_order"
# As first reached
# A node is placed when its first use is seen. It has to wait until the last of its uses has been placed, or it hands on an incomplete gradient.
def topological_order(roots: list[Node]) -> list[Node]:
    order, unvisited = list(roots), list(roots)
    while unvisited:
        for edge in unvisited.pop().edges:
            if edge is not None and edge[0] not in order:
                order.append(edge[0])
                unvisited.append(edge[0])
    return order


# %% mutant="graph_topological_order"
# Whichever is ready
# A valid order, and the gradients are right, but it isn't PyTorch's: of the ready nodes an AccumulateGrad comes first, then the one recorded last.
def topological_order(roots: list[Node]) -> list[Node]:
    waiting = engine.count_dependencies(roots)
    ready = [node for node, count in waiting.items() if count == 0]
    order = []
    while ready:
        node = ready.pop(0)
        order.append(node)
        for edge in node.edges:
            if edge is not None:
                waiting[edge[0]] -= 1
                if waiting[edge[0]] == 0:
                    ready.append(edge[0])
    return order


# %% mutant="graph_topological_order"
# Counts users, crosses off edges
# A node whose result is used twice by one operation is counted once and crossed off twice, so it runs before its other uses.
def topological_order(roots: list[Node]) -> list[Node]:
    waiting = dict.fromkeys(roots, 0)
    unvisited = list(waiting)
    while unvisited:
        for source in {edge[0] for edge in unvisited.pop().edges if edge is not None}:
            if source not in waiting:
                waiting[source] = 0
                unvisited.append(source)
            waiting[source] += 1
    ready = [node for node, count in waiting.items() if count == 0]
    order = []
    while ready:
        node = max(ready, key=lambda each: (isinstance(each, AccumulateGrad), each.sequence_number))
        ready.remove(node)
        order.append(node)
        for edge in node.edges:
            if edge is not None:
                waiting[edge[0]] -= 1
                if waiting[edge[0]] == 0:
                    ready.append(edge[0])
    return order


# %% mutant="graph_topological_order"
# Leaves at the end
# A valid order, and the gradients are right, but an AccumulateGrad runs as soon as it is ready, not when everything else is done.
def topological_order(roots: list[Node]) -> list[Node]:
    nodes = engine.count_dependencies(roots)
    return sorted(nodes, key=lambda node: (isinstance(node, AccumulateGrad), -node.sequence_number))


# %% mutant="graph_topological_order"
# Recurses
# The reverse of a depth-first postorder is a topological order, but a chain of 5,000 operations is deeper than Python's stack.
def topological_order(roots: list[Node]) -> list[Node]:
    order, seen = [], set()

    def visit(node):
        if node not in seen:
            seen.add(node)
            for edge in node.edges:
                if edge is not None:
                    visit(edge[0])
            order.append(node)

    for root in roots:
        visit(root)
    return order[::-1]


# %% [markdown] exercise="graph_sum_to_size" kind="build" points=2 replaces="minitorch.autograd.engine:sum_to_size"
# ### Exercise 4 · The reverse of a broadcast
# `grad` is the gradient of something that was broadcast from `shape` to `grad.shape`. Give the gradient of what it was
# before: sum over the dimensions that were added in front, and over those of size 1 that were stretched. The result has
# exactly the shape `shape`.
#
# `sum_to_size(torch.ones(4, 2, 3), (2, 1))` is `tensor([[12.], [12.]])`: each entry was used 4 · 3 times.


# %% solution="graph_sum_to_size"
def sum_to_size(grad: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """The sum of `grad` over the dimensions that a broadcast stretched to reach its shape."""
    ### BEGIN SOLUTION
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for d, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(d, keepdim=True)
    return grad
    ### END SOLUTION


# %% check="graph_sum_to_size"
generator = check.rng()
front, n, m = (int(size) for size in generator.choice([2, 3, 4, 5], 3, replace=False))
gradient = torch.tensor(generator.normal(size=(front, n, m)).astype(np.float32))
shapes = {
    "a bias": (m,),
    "a column": (n, 1),
    "stretched in front": (1, n, m),
    "a number": (),
    "as it was": (front, n, m),
}
images, labels = digits_batch(generator, 16)
weight, bias, scale = weights(generator, (64, 10), (10,), (16, 1))
with check.install(sum_to_size, "minitorch.autograd.engine:sum_to_size"):
    cross_entropy((images @ weight) * scale + bias, labels).backward()
check.show(
    {"gradient": gradient}
    | {f"{name} {shape}": sum_to_size(gradient, shape) for name, shape in shapes.items()}
    | {"bias.grad of a network": bias.grad, "scale.grad of a network": scale.grad},
    rtol=1e-4,
    text="One gradient summed to several shapes; then the gradients of a broadcast bias and scale on handwritten digits.",
)

# %% [markdown] hint="graph_sum_to_size"
# Write `shape` under `grad.shape`, aligned on the right, as for a broadcast. Which columns differ?

# %% [markdown] hint="graph_sum_to_size"
# Dimensions that `shape` lacks are on the left and disappear. Dimensions of size 1 stay: `sum(d, keepdim=True)`.

# %% [markdown] hint="graph_sum_to_size"
# While `grad.dim() > len(shape)`, sum over dimension 0. Then for each `d` with `shape[d] == 1`, sum over `d` and keep
# it.


# %% mutant="graph_sum_to_size"
# Forgets the stretched dimensions
# Dimensions added in front are summed, but a dimension of size 1 that was stretched still has its stretched size.
def sum_to_size(grad: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    return grad


# %% mutant="graph_sum_to_size"
# Averages
# Every use contributes in full: a broadcast's gradient is the sum of the uses' gradients, not their mean.
def sum_to_size(grad: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    while grad.dim() > len(shape):
        grad = grad.mean(0)
    for d, size in enumerate(shape):
        if size == 1:
            grad = grad.mean(d, keepdim=True)
    return grad


# %% mutant="graph_sum_to_size"
# Sums behind instead of in front
# Broadcasting aligns shapes on the right, so the extra dimensions are the first ones.
def sum_to_size(grad: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    while grad.dim() > len(shape):
        grad = grad.sum(-1)
    for d, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(d, keepdim=True)
    return grad


# %% [markdown] exercise="graph_accumulate_grad" kind="build" points=3 replaces="minitorch.autograd.engine:accumulate_grad"
# ### Exercise 5 · The last step, into `.grad`
# Add `grad` to `variable.grad`. The engine calls this with recording off, or on where the pass runs with
# `create_graph=True`: `torch.is_grad_enabled()` says which. What PyTorch promises about *which tensor* `.grad` is
# afterwards:
#
# 1. No gradient there yet: `may_keep` says that nobody else can see `grad`. If so, and recording is off, `.grad` shares
#    its memory (`grad.detach()`), and nothing is copied. Otherwise `.grad` is a copy, with its history.
# 2. A gradient is there, and recording is off: it is changed *in place*, so that whoever holds it sees the sum.
# 3. A gradient is there, and recording is on: `.grad` becomes a new tensor, with its history, and the old one stays as
#    it was.


# %% solution="graph_accumulate_grad"
def accumulate_grad(variable: torch.Tensor, grad: torch.Tensor, may_keep: bool) -> None:
    """Adds `grad` to `variable.grad`."""
    ### BEGIN SOLUTION
    recording = torch.is_grad_enabled()
    if variable.grad is None:
        variable.grad = grad.detach() if may_keep and not recording else grad.clone()
    elif recording:
        variable.grad = variable.grad + grad
    else:
        variable.grad.add_(grad)
    ### END SOLUTION


# %% check="graph_accumulate_grad"
generator = check.rng()


def random_tensor(requires_grad=False):
    return torch.tensor(generator.normal(size=3).astype(np.float32), requires_grad=requires_grad)


def shares_memory(one, other):
    return one.data_ptr() == other.data_ptr()


values = {}
for recording in (False, True):
    for may_keep in (True, False):
        case = f"recording={recording}, may_keep={may_keep}"
        with torch.set_grad_enabled(recording):
            variable, given = random_tensor(True), random_tensor()
            accumulate_grad(variable, given, may_keep)
            held = variable.grad
            values |= {f"first, {case}": held.clone(), f"shares memory, {case}": shares_memory(held, given)}
            accumulate_grad(variable, random_tensor(), may_keep)
            values |= {f"second, {case}": variable.grad, f"who held the first sees, {case}": held}

variable = random_tensor(True)
accumulate_grad(variable, random_tensor(True) * 2, True)
values["a first gradient keeps its history"] = variable.grad.requires_grad
accumulate_grad(variable, random_tensor(), True)
values |= {"after one without history": variable.grad, "it is recorded": variable.grad.requires_grad}

images, labels = digits_batch(generator, 24)
weight, bias = weights(generator, (64, 10), (10,))
with check.install(accumulate_grad, "minitorch.autograd.engine:accumulate_grad"):
    for part in (slice(0, 8), slice(8, 16), slice(16, 24)):
        (cross_entropy(images[part] @ weight + bias, labels[part]) / 3).backward()
check.show(
    values | {"bias.grad of three parts of a batch": bias.grad},
    rtol=1e-4,
    text="The values of .grad, and which tensor it is, in each of the cases; then three thirds of a batch of digits.",
)

# %% [markdown] hint="graph_accumulate_grad"
# Begin with the two questions: is `variable.grad` None, and is recording on?

# %% [markdown] hint="graph_accumulate_grad"
# `variable.grad.add_(grad)` changes the tensor that is there; `variable.grad = variable.grad + grad` makes a new one.
# Both are needed, in different cases.

# %% [markdown] hint="graph_accumulate_grad"
# First gradient: `grad.detach()` if `may_keep` and recording is off, else `grad.clone()`. Later: the new sum while
# recording, else `add_`.


# %% mutant="graph_accumulate_grad"
# Overwrites
# A second gradient replaces the first. A derivative is a sum over all uses, so gradients add up.
def accumulate_grad(variable: torch.Tensor, grad: torch.Tensor, may_keep: bool) -> None:
    variable.grad = grad.detach() if may_keep and not torch.is_grad_enabled() else grad.clone()


# %% mutant="graph_accumulate_grad"
# Never copies
# Somebody else can still see the gradient when may_keep is false: the next addition in place would change their tensor too.
def accumulate_grad(variable: torch.Tensor, grad: torch.Tensor, may_keep: bool) -> None:
    if variable.grad is None:
        variable.grad = grad
    elif torch.is_grad_enabled():
        variable.grad = variable.grad + grad
    else:
        variable.grad.add_(grad)


# %% mutant="graph_accumulate_grad"
# Always a new tensor
# The values are right, but whoever held .grad (an optimizer, a buffer) keeps the old numbers: later gradients are added in place.
def accumulate_grad(variable: torch.Tensor, grad: torch.Tensor, may_keep: bool) -> None:
    if variable.grad is None:
        variable.grad = grad.detach() if may_keep and not torch.is_grad_enabled() else grad.clone()
    else:
        variable.grad = variable.grad + grad


# %% mutant="graph_accumulate_grad"
# Cuts the history
# A gradient that requires grad is detached, so it can't be differentiated again: create_graph=True would be useless.
def accumulate_grad(variable: torch.Tensor, grad: torch.Tensor, may_keep: bool) -> None:
    grad = grad.detach()
    if variable.grad is None:
        variable.grad = grad if may_keep and not torch.is_grad_enabled() else grad.clone()
    elif torch.is_grad_enabled():
        variable.grad = variable.grad + grad
    else:
        variable.grad.add_(grad)


# %% [markdown] exercise="graph_repair_backward" kind="repair" points=3
# ### Exercise 6 · Right on a chain, wrong on a diamond
# This engine passes all tests of its author: chains, and sums of chains. On $h = s \cdot s$, `end = h * 2 + h * 3` at
# $s = 3$ it says $d\,\mathrm{end}/ds = 12$, and it should be $5 \cdot 2s = 30$. Each value hands on its gradient
# exactly once, as it should. Find the fault and repair `backward`. `Value`, with `edges`, `grad` and `hand_on`, stands
# at the top of this notebook and is right.


# %% solution="graph_repair_backward"
def backward(end: Value) -> None:
    """Fills `grad` of every value that `end` was computed from."""
    end.grad = 1.0
    visited = set()
    ### BEGIN SOLUTION
    order = []

    def visit(value):
        if value not in visited:
            visited.add(value)
            for source, _ in value.edges:
                visit(source)
            order.append(value)

    visit(end)
    for value in reversed(order):
        value.hand_on()
    ### END SOLUTION
    ### BEGIN STUB
    #
    # def visit(value):
    #     if value not in visited:
    #         visited.add(value)
    #         value.hand_on()
    #         for source, _ in value.edges:
    #             visit(source)
    #
    # visit(end)
    ### END STUB


# %% check="graph_repair_backward"
generator = check.rng()
start = Value(3.0)
h = start * start
backward(h * Value(2.0) + h * Value(3.0))
inputs = [Value(float(number)) for number in generator.integers(1, 5, 3)]
made = list(inputs)
for _ in range(6):
    one, other = (made[number] for number in generator.integers(0, len(made), 2))
    made.append(one + other if generator.integers(2) else one * other * Value(0.5))
shared = made[-1] + made[-2]
backward(shared * shared * Value(0.01) + (shared + inputs[0]) * Value(3.0) + shared)
doubled = one_end = Value(1.0)
for _ in range(12):
    doubled = doubled + doubled
backward(doubled)
check.show(
    {
        "d end/ds of the diamond": start.grad,
        "inputs": [value.data for value in inputs],
        "their gradients": [value.grad for value in inputs],
        "gradients of what was made of them": [value.grad for value in made[3:]],
        "a number doubled 12 times": one_end.grad,
    },
    rtol=1e-9,
    text="The diamond of the task, a random expression, and 2 to the 12th.",
)

# %% [markdown] hint="graph_repair_backward"
# What has `h` in `grad` when it hands on, and what has it in the end?

# %% [markdown] hint="graph_repair_backward"
# `h` hands on when the first of its two uses has given its share. It must come after *all* values that use it.

# %% [markdown] hint="graph_repair_backward"
# Append a value to a list when everything below it has been visited (postorder). In the reverse of that list every
# value stands before what it was made from; hand on in that order.


# %% mutant="graph_repair_backward"
# Hands on at every visit
# A value that is reached twice hands on twice, the second time also what it has handed on before: 42 for the diamond. micrograd's first version did this.
def backward(end: Value) -> None:
    end.grad = 1.0

    def visit(value):
        value.hand_on()
        for source, _ in value.edges:
            visit(source)

    visit(end)


# %% mutant="graph_repair_backward"
# Level by level
# Breadth first is right while all paths to a value are equally long; a value also used further down hands on too early.
def backward(end: Value) -> None:
    end.grad = 1.0
    visited, queue = {end}, [end]
    while queue:
        value = queue.pop(0)
        value.hand_on()
        for source, _ in value.edges:
            if source not in visited:
                visited.add(source)
                queue.append(source)


# %% mutant="graph_repair_backward"
# From the leaves
# Postorder puts the inputs first; gradients start at the end, so the order has to be reversed.
def backward(end: Value) -> None:
    end.grad = 1.0
    visited = set()
    order = []

    def visit(value):
        if value not in visited:
            visited.add(value)
            for source, _ in value.edges:
                visit(source)
            order.append(value)

    visit(end)
    for value in order:
        value.hand_on()


# %% [markdown] exercise="graph_measure_alive" kind="measure" points=2
# ### Exercise 7 · What does a kept loss cost?
# `step()` runs one forward and backward pass and returns the loss. Write the experiment: call it `steps` times, put
# `keep(loss)` of each loss into a list, and return how many graph nodes are alive *because of that list*.
#
# Every living node is a Python object: `gc.get_objects()` gives them all, and `issubclass(type(each), Node)` recognises
# one. Other graphs may be alive before you start; they don't count. Nor does the last loss that one of your own
# variables still refers to.
#
# With `keep=lambda loss: loss.item()` the answer is 0.


# %% solution="graph_measure_alive"
def nodes_kept_alive(step, steps: int, keep) -> int:
    """How many nodes a list of `keep(step())`, `steps` long, keeps alive."""
    ### BEGIN SOLUTION

    def living():
        return sum(issubclass(type(each), Node) for each in gc.get_objects())

    before = living()
    kept = [keep(step()) for _ in range(steps)]
    alive = living() - before
    del kept
    return alive
    ### END SOLUTION


# %% check="graph_measure_alive"
generator = check.rng()
steps, layers = (int(number) for number in generator.integers(3, 9, 2))
images, labels = digits_batch(generator, 8)
matrices = weights(generator, *[(64, 64)] * layers, (64, 10))
unrelated = (matrices[0] * 2).sum()


def step():
    hidden = images
    for matrix in matrices:
        hidden = (hidden @ matrix).tanh()
    loss = cross_entropy(hidden, labels)
    loss.backward()
    for matrix in matrices:
        matrix.grad = None
    return loss


running = []


def total(loss):
    running[:] = [loss + running[0] if running else loss]
    return running[0]


check.show(
    {
        "steps": steps,
        "matrices": len(matrices),
        "loss": nodes_kept_alive(step, steps, lambda loss: loss),
        "loss.detach()": nodes_kept_alive(step, steps, lambda loss: loss.detach()),
        "loss.item()": nodes_kept_alive(step, steps, lambda loss: loss.item()),
        "the running total": nodes_kept_alive(step, steps, total),
    },
    text="Nodes alive after that many steps, by what the list keeps of each loss.",
)

# %% [markdown] hint="graph_measure_alive"
# Count before and after; the difference is yours. Which of your variables refer to a loss when you count the second
# time?

# %% [markdown] hint="graph_measure_alive"
# In a `for` loop, `loss` still names the last one. A list comprehension leaves no such variable behind.

# %% [markdown] hint="graph_measure_alive"
# `before = living()`, then `kept = [keep(step()) for _ in range(steps)]`, then `living() - before`, where `living` sums
# over `gc.get_objects()`.


# %% mutant="graph_measure_alive"
# Holds the last loss itself
# The loop variable still refers to the last loss, so its graph is alive whatever was kept. Delete it before counting.
def nodes_kept_alive(step, steps: int, keep) -> int:
    def living():
        return sum(issubclass(type(each), Node) for each in gc.get_objects())

    before = living()
    kept = []
    for _ in range(steps):
        loss = step()
        kept.append(keep(loss))
    return living() - before


# %% mutant="graph_measure_alive"
# Counts everybody's nodes
# Another graph was alive before the experiment began; only the difference is due to the list.
def nodes_kept_alive(step, steps: int, keep) -> int:
    kept = [keep(step()) for _ in range(steps)]
    return sum(issubclass(type(each), Node) for each in gc.get_objects()) if kept else 0


# %% mutant="graph_measure_alive"
# Counts after the list is gone
# When the list itself is no longer referred to, nothing is kept alive any more.
def nodes_kept_alive(step, steps: int, keep) -> int:
    def living():
        return sum(issubclass(type(each), Node) for each in gc.get_objects())

    before = living()
    [keep(step()) for _ in range(steps)]
    return living() - before
