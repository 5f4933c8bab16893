# %% [markdown]
# # Static and dynamic graphs
# You'll build a graph before any number flows through it, as TensorFlow 1 did, and fit a line both ways. Then `mytorch`
# learns to trace: it records a function once, and nine steps become four. Plan 60 minutes for the lesson and 75 for the
# exercises.

# %% [markdown]
# ## The function that can't say no
# `minitorch.static` is a small TensorFlow 1. Its `trace` calls a function once and keeps a graph of what it did.

# %% tags=["proof-lost-if"]
import warnings

import minitorch as torch
from minitorch import static as tf


def brake(speed):
    if speed.sum() > 100:
        return speed * 0.5
    return speed


with warnings.catch_warnings(record=True) as said:
    traced = tf.trace(brake, torch.tensor([130.0]))
for speed in (torch.tensor([130.0]), torch.tensor([50.0])):
    print(speed.item(), "function:", brake(speed).item(), "  trace:", traced(speed).item())
print(said[0].category.__name__)

# %% [markdown]
# The trace brakes at 50. It saw the function once, at 130, and what it kept has no `if` in it. A warning said so, but
# it's easy to miss in a log. Move the slider: with another example you get another function.

# %%
from course import pictures


def compare(example):
    with warnings.catch_warnings(action="ignore"):
        kept = tf.trace(brake, torch.tensor([example]))
    speeds = torch.arange(0.0, 201.0, 10.0)
    lines = {name: [f(v.reshape(1)).item() for v in speeds] for name, f in (("function", brake), ("trace", kept))}
    return pictures.curves(lines, speeds.tolist(), xlabel="speed (km/h)", ylabel="afterwards (km/h)")


pictures.slider(compare, start={"example": 130.0}, example=[50.0, 130.0])

# %% [markdown]
# What exactly does a graph keep?
#
# ## Describe first, run later · 11 动态图和静态图
# Here is a number that computes nothing. It only notes what it is made of.


# %%
class Node:
    def __init__(self, kind, *inputs):
        self.kind, self.inputs = kind, inputs

    def __add__(self, other):
        return Node("add", self, other)

    def __mul__(self, other):
        return Node("mul", self, other)

    def __gt__(self, other):
        return Node("greater", self, other)


RULES = {"add": lambda p, q: p + q, "mul": lambda p, q: p * q, "greater": lambda p, q: p > q}


def evaluate(node, feed):
    if not isinstance(node, Node):
        return node
    if node in feed:
        return feed[node]
    return RULES[node.kind](*(evaluate(each, feed) for each in node.inputs))


x = Node("input")
y = x * x + 1.0
print(y.kind, [evaluate(y, {x: number}) for number in (2.0, 3.0)])

# %% [markdown]
# `y` isn't a number. It is a **static graph**: built once, then run by a small interpreter for as many inputs as you
# like. A **dynamic graph** is what you know from chapter 06: the program runs, and the graph is the trail that it
# leaves.
#
# ## Break it
# Let Python decide something.

# %% tags=["proof-toy-if"]
from course import check


def toy_brake(speed):
    if speed > 100.0:
        return speed * 0.5
    return speed


print([evaluate(toy_brake(x), {x: number}) for number in (130.0, 50.0)])
print(repr(check.error(bool, tf.placeholder(torch.float32) > 100.0)).partition(" is not")[0])

# %% [markdown]
# `speed > 100.0` is a `Node`, and an object that doesn't say otherwise counts as true. Python decides once, while the
# graph is being *built*, and the question never gets into the graph. TensorFlow 1 refuses, PyTorch's tracer warns. This
# toy does neither.
#
# **Interview · Dynamic or static graph: what is the difference?**
#
# - *Thirty seconds:* Static: the program describes a graph, then a runtime runs it. Dynamic: operations run at once,
#   and the graph for the backward pass is recorded on the way, anew in each iteration.
# - *Longer:* Dynamic gives you Python's `if`, loops, debugger and `print`. Static gives the runtime the whole program:
#   it can drop, merge, move and ship it without Python.
# - *They ask next:* Which is PyTorch? Dynamic. `torch.compile` and `torch.export` capture graphs from it.
# - *The trap:* "A static graph has no control flow." It does, as nodes: `proof-control-flow`.
# - *Proof:* `proof-lost-if`, `proof-toy-if`.
#
# ## Nodes and edges · 七. 节点和边代表什么
# Now the library. A **placeholder** waits for a value, a **session** runs what you ask for.

# %% tags=["proof-nodes-and-edges"]
tf.reset_default_graph()
x = tf.placeholder(torch.float32, name="x")
doubled = x * 2.0
unused = tf.exp(x, name="unused")
y = tf.add(doubled, 1.0, name="y")
done = tf.group(y, name="done")
print(tf.listing(tf.get_default_graph()))
session = tf.Session()
print("y =", session.run(y, {x: 3.0}).item(), "after running", session.executed)
print("y =", session.run(y, {doubled: 10.0}).item(), "after running", session.executed)
tf.draw(tf.get_default_graph())

# %% [markdown]
# A **node is an operation**: input, constant, variable, arithmetic, assignment, or nothing at all (`NoOp`). An **edge
# is a tensor**: `mul:0` is the first result of `mul`. A dotted edge, `^y`, carries no data; it only says who runs
# first.
#
# A run walks backwards from what you fetch, so `unused` never ran. You can feed other edges, too: the second run was
# given `doubled`, and didn't need `x`.
#
# **Interview · What are nodes and edges in TensorFlow's graph?**
#
# - *Thirty seconds:* Nodes are operations, edges are the tensors that flow between them. Control edges order operations
#   without data.
# - *They ask next:* And in autograd's graph? Nodes are backward steps, edges lead to the producers of the inputs
#   (chapter 06).
# - *The trap:* "A variable is an edge." It is a node that holds state; reading it gives an edge.
# - *Proof:* `proof-nodes-and-edges`, `proof-line`.
#
# ## One line, fitted twice · 11 两种框架的反向传播
# First as you know it.

# %% tags=["proof-line"]
data = torch.linspace(-1, 1, 20)
target = 3 * data + 1

w, b = (torch.zeros(1, requires_grad=True) for _ in range(2))
optimizer = torch.optim.SGD([w, b], lr=0.3)
eager = []
for _ in range(15):
    loss = (data * w + b - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    eager.append(loss.item())

tf.reset_default_graph()
x, y = tf.placeholder(torch.float32, name="x"), tf.placeholder(torch.float32, name="y")
weight, bias = tf.Variable([0.0], name="weight"), tf.Variable([0.0], name="bias")
loss = tf.reduce_mean(tf.square(x * weight + bias - y))
forward_nodes = len(tf.get_default_graph().get_operations())
step = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
start = tf.global_variables_initializer()
nodes = len(tf.get_default_graph().get_operations())
print("not initialized:", check.error(tf.Session().run, weight))
with tf.Session() as session:
    session.run(start)
    static = [session.run([loss, step], {x: data, y: target})[0].item() for _ in range(15)]
print("nodes: forward", forward_nodes, " with gradients and step", nodes)
print("the same losses:", torch.allclose(torch.tensor(eager), torch.tensor(static)))
pictures.curves({"eager": eager, "static": static}, xlabel="step", ylabel="mean squared error", log="y")

# %% [markdown]
# One curve lies on the other: the same numbers, from two very different programs. In the static one nothing ran until
# `session.run`. `minimize` adds the gradients **as more nodes of the same graph**, and for each variable a node that
# writes to it. There is no `zero_grad`: a gradient is an edge, and nothing accumulates between runs. A variable has no
# value of its own. The value lives in a session, once that session has run the initializer.
#
# **Interview · How do the two compute gradients?**
#
# - *Thirty seconds:* Eager: the forward pass leaves nodes, `backward` walks them and fills `.grad`. Static:
#   `tf.gradients` walks the graph *once, while building*, and adds nodes for the derivatives.
# - *Longer:* So a static runtime can optimize forward and backward together.
# - *They ask next:* Why does `session.run(loss)` not train? It only runs what the loss needs; fetch the step too.
# - *The trap:* calling `minimize` inside the loop. It adds nodes in every iteration; exercise 6 repairs that.
# - *Proof:* `proof-line`.
#
# ## Names and sharing · 六. variable和get_variable的区别
# One graph is global, so names have to be unique, and sharing goes by name.

# %% tags=["proof-scopes"]
tf.reset_default_graph()
for number in range(2):
    with tf.name_scope("tower"):
        names = tf.Variable(0.0, name="w").name, tf.get_variable(f"g{number}", shape=()).name
        print("name_scope    ", *names)
for reuse in (False, True):
    with tf.variable_scope("layer", reuse=reuse):
        names = tf.Variable(0.0, name="v").name, tf.get_variable("w", shape=()).name
        print("variable_scope", *names)
print(sorted(each.name for each in tf.global_variables()))

# %% [markdown]
# `tf.Variable` always makes a new variable, and adds a number if its name is taken. `get_variable` ignores name scopes.
# Its name comes from the variable scopes alone, so the second time round it finds `layer/w`, the same variable. A
# variable scope opens a name scope too, which gets a number on the second visit: `layer_1/v`.
#
# ### Myth 13 · "get_variable creates what is missing and shares what is there"
# That is mostly right, and leaves out three things:

# %% tags=["proof-myth-13"]
attempts = {
    "there, no reuse": lambda: tf.get_variable("w", shape=()),
    "not there, reuse": lambda: tf.get_variable("other", shape=()),
    "another shape": lambda: tf.get_variable("w", shape=(3,)),
}
for (text, attempt), reuse in zip(attempts.items(), (False, True, True), strict=True):
    with tf.variable_scope("layer", reuse=reuse):
        print(f"{text:16}", str(check.error(attempt)).partition(". Did")[0])
with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
    print("AUTO_REUSE      ", *(tf.get_variable(name, shape=()).name for name in ("w", "other")))

# %% [markdown]
# Without `reuse` a name that exists is an error, not a renamed variable. With `reuse=True` a name that doesn't exist is
# an error, not a new variable. Only `AUTO_REUSE` does what the myth says. And `tf.Variable` *does* get the prefix of a
# variable scope.
#
# **Interview · `tf.Variable` or `tf.get_variable`? `name_scope` or `variable_scope`?**
#
# - *Thirty seconds:* `Variable` creates and renames. `get_variable` looks up by full name, and shares under `reuse`.
#   Name scopes prefix operations and `Variable`; variable scopes prefix `get_variable` too.
# - *They ask next:* And in PyTorch? Sharing is using the same object twice (chapter 09). No names are needed.
# - *The trap:* two towers under `name_scope`: `Variable` gives each its own weights, `get_variable` collides.
# - *Proof:* `proof-scopes`, `proof-myth-13`.
#
# ## Decisions as nodes
# `cond` and `while_loop` take functions. Both branches of `cond` are built; each run executes one.

# %% tags=["proof-control-flow"]
tf.reset_default_graph()
speed = tf.placeholder(torch.float32, name="speed")
expensive = tf.exp(speed * -0.01, name="expensive")
braked = tf.cond(tf.greater(speed, 100.0), lambda: speed * expensive, lambda: speed + 1.0)
session = tf.Session()
for value in (130.0, 50.0):
    print(value, "->", round(session.run(braked, {speed: value}).item(), 2), session.executed[2:])
print(check.error(tf.cond, True, lambda: speed, lambda: expensive))

# %% [markdown]
# Now the graph itself decides, and for each speed it runs one side. Notice `expensive`: it was made *outside* the
# branch, so it runs whichever way is taken. That surprised many users of TensorFlow 1, whose `cond` does the same.
#
# A loop is built the same way, from a test, a body and the loop's variables. This one counts how often a speed has to
# be halved. Compare its size with that of a traced Python loop.

# %% tags=["proof-loop"]
tf.reset_default_graph()
speed = tf.placeholder(torch.float32, name="speed")
is_fast, halve = lambda n, v: tf.greater(v, 100.0), lambda n, v: (n + 1.0, v * 0.5)
halvings = tf.while_loop(is_fast, halve, (0.0, speed))[0]
session = tf.Session()
print([session.run(halvings, {speed: value}).item() for value in (50.0, 130.0, 1000.0)])


def unrolled(count):
    def program(v):
        for _ in range(count):
            v = v * 0.5
        return v

    return len(tf.trace(program, torch.ones(1)).graph.get_operations())


loop = len(tf.get_default_graph().get_operations())
counts = [1, 5, 10, 20, 40]
sizes = {"traced Python loop": [unrolled(count) for count in counts], "while_loop": [loop] * 5}
print(sizes)
pictures.curves(sizes, counts, xlabel="iterations", ylabel="nodes in the graph")

# %% [markdown]
# Tracing unrolls a Python loop, with as many iterations as the example had. `while_loop` stays a loop, and each run
# decides how many iterations it makes.
#
# **Interview · How does control flow get into a static graph?**
#
# - *Thirty seconds:* As nodes. `cond` holds both branches and runs one, `while_loop` holds a test and a body.
# - *Longer:* Python's own `if` and `for` act while the graph is built: one branch is kept, loops are unrolled.
# - *They ask next:* What runs whichever branch is taken? Everything that either of them uses from outside.
# - *The trap:* passing a Python bool to `cond`: that decision has been made already, so it is refused.
# - *Proof:* `proof-control-flow`, `proof-loop`.
#
# ## Build: a tracer for mytorch

# %% [markdown] given="mytorch.graph:Step mytorch.graph:tracer mytorch.graph:trace"
# In your library every operation passes through the stack of layers. So tracing is one more layer, on top of autograd:
# it lets the call run and has a recorder note it.

# %% tags=["proof-trace"]
from course import lesson

mytorch = lesson.mytorch(8)
graph = mytorch.graph
weights = mytorch.tensor([1.0, 2.0])


def program(x):
    scale = weights.exp() * 2
    left = (x * scale).tanh()
    x.sum()  # nobody uses it
    return left * ((x * scale).tanh() + 1)


recorded = graph.trace(program, mytorch.ones(3, 2))
print(recorded)

# %% [markdown]
# Nine steps. `%0` is the input; what came from outside is a constant. `run` plays the steps for another input (exercise
# 2). Once you hold the whole program you can improve it, and eager execution doesn't hold it:
#
# - **fold** what depends on no input: compute it now, once (exercise 3);
# - **share** what is computed twice (exercise 3);
# - **drop** what nobody needs (exercise 4).

# %% tags=["proof-simplify"]
passes = {"as recorded": recorded}
passes["folded"] = graph.fold_constants(recorded)
passes["shared"] = graph.share_equal(passes["folded"])
passes["dropped"] = graph.drop_unused(passes["shared"])
print({name: len(each.steps) for name, each in passes.items()})
new = mytorch.tensor([[0.1, -0.2], [0.3, 0.4]])
print("same result:", mytorch.equal(graph.run(passes["dropped"], new), program(new)))


pictures.graph(
    passes["dropped"].output,
    children=lambda step: graph.steps_in(step.args),
    label=lambda step: step.op.name if step.op else "input",
    kind=lambda step: "op" if step.op else "leaf",
)

# %% [markdown]
# Nine steps became four, with the same result. In the picture one `tanh` feeds two operations; before, there were two.
#
# **Interview · What can a compiler do with a graph that eager execution can't?**
#
# - *Thirty seconds:* It sees the whole program, so it can fold constants, merge repeated work, drop dead code, fuse
#   neighbours into one kernel, plan memory, and run without Python.
# - *Longer:* Eager execution runs each operation before it knows the next one.
# - *They ask next:* What does it cost? Capturing the graph, and capturing again when an assumption breaks.
# - *The trap:* expecting it to speed up one large matrix product. By default it calls the same kernel.
# - *Proof:* `proof-simplify`, `proof-guards`.
#
# ### Backward, too
# The recorder hears every operation, including those of the backward pass.


# %% tags=["proof-trace-backward"]
def slope(x):
    x = x.detach().requires_grad_()
    return mytorch.autograd.grad((x * x).exp().sum(), [x])[0]


joint = graph.simplify(graph.trace(slope, mytorch.ones(2)))
print("forward and backward:", [step.op.name for step in joint.steps])
point = mytorch.tensor([0.1, 0.2])
print(graph.run(joint, point), slope(point))

# %% [markdown]
# One graph holds both directions, so simplifying can reach from one into the other. `torch.compile` captures both
# directions, too.
#
# ## What a trace can't see
# Whatever isn't an operation on a tensor is decided once, while tracing.


# %% tags=["proof-trace-blind"]
def blind(x):
    scale = x.sum().item()  # leaves the graph
    return x * scale / len(x)


fixed = graph.trace(blind, mytorch.tensor([1.0, 2.0]))
longer = mytorch.tensor([10.0, 20.0, 30.0])
print("function", blind(longer).tolist(), "  trace", graph.run(fixed, longer).tolist())
print(check.error(graph.trace, lambda x: x.mul_(2), mytorch.ones(1)))

# %% [markdown]
# `item()` froze the example's sum, 3, and `len` the example's length, 2. `torch.jit.trace` gives the same 15, 30 and
# 45, with a warning for each. Your tracer refuses a write, because a step that changes its input can't safely be shared
# or dropped; PyTorch's records it.
#
# ### Guards
# There is a way out: note what the trace relied on, check it before each call, and trace again if it no longer holds.


# %% tags=["proof-guards"]
def compiled(function, guard):
    traces = {}

    def call(x):
        if guard(x) not in traces:
            print("   tracing for", guard(x))
            traces[guard(x)] = graph.simplify(graph.trace(function, x))
        return graph.run(traces[guard(x)], x)

    return call


fast = compiled(brake, guard=lambda x: (len(x), bool(x.sum() > 100)))
print([fast(mytorch.tensor([speed])).item() for speed in (130.0, 50.0, 120.0, 60.0)])

# %% [markdown]
# Four calls, two traces, right answers. `torch.compile` finds its guards by itself, by following Python's bytecode.
# Here is what PyTorch 2.13 does with `fast = torch.compile(lambda x: x * K, backend=count)`, where `count` counts the
# graphs that it is given to compile:
#
# | the calls, one after the other | graphs so far |
# |---|---|
# | `fast(torch.ones(2))`, then with other numbers | 1 |
# | another length, 3 | 2 |
# | a third length, 4: the length is a variable now | 2 |
# | `float64` | 3 |
# | an `x` that requires grad | 4 |
# | the global `K` has changed | 5 |
# | `torch.compile(brake, backend=count)`, once, at 130 | 2 |
#
# In the last line a tensor's *value* decides. It isn't guarded: the graph breaks in two, and Python decides in between.
#
# **Interview · `torch.jit.trace`, `torch.compile`: what does each do with an `if`?**
#
# - *Thirty seconds:* `trace` keeps the branch that the example took, and warns. `compile` guards what it assumed, and
#   breaks the graph where it needs a tensor's value.
# - *Longer:* `torch.jit.trace` is deprecated; `torch.compile` and `torch.export` have taken its place.
# - *They ask next:* How do you decide inside the graph? By data: `torch.where(x > 0, a, b)` computes both.
# - *The trap:* testing a trace with its own example.
# - *Proof:* `proof-lost-if`, `proof-guards`.
#
# ## The real one
# `minitorch.static` simplifies by rebuilding, as yours does:

# %%
import inspect

from minitorch.static import simplify

print(inspect.getsource(simplify._rebuilt))

# %% [markdown]
# `in_order` walks back from what is fetched, so dead code never gets in. Folding asks two more questions here. Does the
# node have `inputs`? A random number has none, and differs from run to run. Is it pure? An assignment may have constant
# inputs, and still has to happen in each run. In your trace a random number is a constant, and writes are refused.
# `controls` holds the edges without data.
#
# ## Rapid fire
# - *Does `tf.Variable(0.)` hold a number?* Not before a session has run its initializer.
# - *Do two sessions on one graph share a weight?* No. Each has its own value.
# - *What does `print(tensor)` show in a static graph?* The node, once, while the graph is built.
# - *Is a traced model faster on one big matrix product?* Hardly: the kernel is the same.
# - *Can a graph run without Python?* Yes, on a server or a phone, for example.
#
# ## The card
# 1. Static: describe, then run. Dynamic: run, and record the trail.
# 2. Nodes are operations, edges are tensors; control edges only order.
# 3. A run computes what the fetches need, and nothing else.
# 4. In a static graph gradients are more nodes.
# 5. Values of variables live in a session.
# 6. `Variable` renames. `get_variable` collides, or shares under `reuse`.
# 7. Name scopes don't prefix `get_variable`.
# 8. A trace keeps the example's path through each `if` and loop.
# 9. A graph can be folded, shared and pruned before it runs.
# 10. Guards check that a trace still holds.
#
# ## You try
# `exercises/08_static_and_dynamic_graphs.ipynb`: predict what a trace answers; write the recorder, the player and the
# three passes; name nodes as TensorFlow does; repair a graph that grows; measure what a loop costs. Chapter 09 gives
# parameters a home.
