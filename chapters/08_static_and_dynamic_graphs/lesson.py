# %% [markdown]
# # Static and dynamic graphs
# You'll build a graph before any number flows through it, as TensorFlow 1 did. Then your own library learns to trace:
# it records a function once, reduces nine steps to four, and traces again when a guard fails, much as `torch.compile`
# does. At the end you'll count the memory traffic that fusion saves.

# %% [markdown] tags=["short"]
# ## The function that can't say no
# `minitorch.static` has a `trace` that calls a function once and keeps a graph of what it did, as `torch.jit.trace` does.

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
    speeds = torch.arange(0.0, 201.0)
    lines = {name: [f(v.reshape(1)).item() for v in speeds] for name, f in (("function", brake), ("trace", kept))}
    return pictures.curves(lines, speeds.tolist(), xlabel="speed (km/h)", ylabel="afterwards (km/h)")


pictures.slider(compare, start={"example": 130.0}, example=[50.0, 130.0])

# %% [markdown]
# What exactly does a graph keep?
#
# ## Describe first, run later
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
    if not isinstance(node, Node) or node in feed:
        return feed.get(node, node)
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

y = x * 0.5 if x > 100.0 else x
print([evaluate(y, {x: number}) for number in (130.0, 50.0)])
print(repr(check.error(bool, tf.placeholder(torch.float32) > 100.0)).partition(" is not")[0])

# %% [markdown]
# `x > 100.0` is a `Node`, and an object that doesn't say otherwise counts as true. Python decides once, while the
# graph is being *built*, and the question never gets into the graph. TensorFlow 1 refuses and PyTorch's tracer warns;
# this toy does neither.
#
# **Interview · Dynamic or static graph: what is the difference, and who uses static graphs today?**
#
# - *Thirty seconds:* Static: the program describes a graph, then a runtime runs it. Dynamic: operations run at once,
#   and the graph for the backward pass is recorded on the way, anew in each iteration. PyTorch and TensorFlow 2 are
#   dynamic. They capture static graphs from running programs, to compile them and to ship them.
# - *Longer:* Dynamic gives you Python's `if`, loops, debugger and `print`. Static gives the runtime the whole program:
#   it can drop, merge, move and ship it without Python.
# - *They ask next:* Which tools capture them? `torch.compile`, `torch.export`, `tf.function`, JAX's `jit`. An ONNX file
#   is a static graph, too ([chapter 20b](20b_export.ipynb)).
# - *The trap:* "A static graph has no control flow." It does, [as nodes](proof-control-flow).
# - *Proof:* `proof-lost-if`, `proof-toy-if`.
#
# ## Nodes and edges
# `minitorch.static` is a small TensorFlow 1. A **placeholder** waits for a value, a **variable** keeps one, and a
# **session** runs what you ask for. Here is a straight line, and how far it is from `y`:

# %% tags=["proof-nodes-and-edges"]
tf.reset_default_graph()
x, y = (tf.placeholder(torch.float32, name=name) for name in "xy")
weight, bias = (tf.Variable([0.0], name=name) for name in ("weight", "bias"))
line = tf.add(x * weight, bias, name="line")
cost = tf.reduce_mean(tf.square(line - y), name="cost")
session = tf.Session()
print("not initialized:", check.error(session.run, weight))
session.run(tf.global_variables_initializer())
print(tf.listing(tf.get_default_graph()))
print("line =", session.run(line, {x: 3.0}).item(), "after running", session.executed)
print("cost =", session.run(cost, {line: 3.0, y: 1.0}).item(), "after running", session.executed)
tf.draw(tf.get_default_graph())

# %% [markdown]
# A **node is an operation**: input, constant, variable, arithmetic, assignment, or nothing at all (`NoOp`). An **edge
# is a tensor**: `mul:0` is the first result of `mul`. A dotted edge, `^weight/Assign`, carries no data; it only says who
# runs first. A variable's value lives in a session, once that session has run the initializer.
#
# A run walks backwards from what you fetch, so the line needed no `y`. You can feed other edges, too: the second run was
# given `line`, and needed neither `x` nor the variables.
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
# ## One line, fitted twice
# Now fit it, once as you know it and once in this graph.

# %% tags=["proof-line"]
data = torch.linspace(-1, 1, 20)
target = 3 * data + 1
w, b = (torch.zeros(1, requires_grad=True) for _ in range(2))
optimizer, before = torch.optim.SGD([w, b], lr=0.3), len(tf.get_default_graph().get_operations())
step = tf.train.GradientDescentOptimizer(0.3).minimize(cost)
print("nodes:", before, " with minimize:", len(tf.get_default_graph().get_operations()))
for count in range(1, 16):
    loss = (data * w + b - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    static, _ = session.run([cost, step], {x: data, y: target})
    if count in (1, 5, 15):
        print(f"step {count:2}: eager {loss.item():.3f}, static {static.item():.3f}")

# %% [markdown]
# The same losses, from two very different programs. In the static one nothing ran until `session.run`. `minimize` adds
# the gradients **as more nodes of the same graph**, and for each variable a node that writes to it. There is no
# `zero_grad`: a gradient is an edge, and nothing accumulates between runs.
#
# **Interview · How do the two compute gradients?**
#
# - *Thirty seconds:* Eager: the forward pass leaves nodes, `backward` walks them and fills `.grad`. Static:
#   `tf.gradients` walks the graph *once, while building*, and adds nodes for the derivatives.
# - *Longer:* So a static runtime can optimize forward and backward together. `torch.compile` captures both, too.
# - *They ask next:* Why does `session.run(cost)` not train? It only runs what the cost needs; fetch the step too.
# - *The trap:* calling `minimize` inside the loop. It adds nodes in every iteration, and each one is slower.
# - *Proof:* `proof-line`.
#
# ## Names and sharing
# One graph is global, so names have to be unique, and sharing goes by name.
#
# ### Myth · "get_variable creates what is missing and shares what is there"
# That is mostly right. Look at what else decides:

# %% tags=["proof-scopes"]
tf.reset_default_graph()
with tf.name_scope("layer"):
    print("name_scope", *(tf.Variable(0.0, name="v").name for _ in range(2)), tf.get_variable("g", shape=()).name)
for reuse, name in ((False, "w"), (True, "w"), (False, "w"), (True, "z"), (tf.AUTO_REUSE, "z")):
    with tf.variable_scope("layer", reuse=reuse):
        said = str(check.error(tf.get_variable, name, shape=()) or "no error").partition(". Did")[0]
    print(f"variable_scope, reuse={reuse!s:10} {name}: {said}")
print("all variables:", *(each.name for each in tf.global_variables()))

# %% [markdown]
# `tf.Variable` always makes a new variable, and adds a number if its name is taken. `get_variable` ignores name scopes.
# Its name comes from the variable scopes alone, so the second call finds `layer/w`, which the first one made: it is in the
# graph once. Without `reuse` a name that exists is an error. With `reuse=True` a name that doesn't exist is an error. Only
# `AUTO_REUSE` does what the myth says.
#
# **Interview · `tf.Variable` or `tf.get_variable`? `name_scope` or `variable_scope`?**
#
# - *Thirty seconds:* `Variable` creates and renames. `get_variable` looks up by full name, and shares under `reuse`.
#   Name scopes prefix operations and `Variable`; variable scopes prefix `get_variable` too.
# - *They ask next:* And in PyTorch? Sharing is using the same object twice (chapter 09). No names are needed.
# - *The trap:* building the same layer twice with `Variable`, for training and for validation: each has its own
#   weights. Exercise 6 repairs that.
# - *Proof:* `proof-scopes`.
#
# ## Build: a tracer for mytorch

# %% [markdown] given="mytorch.graph:Step mytorch.graph:trace"
# In your library every operation passes through the dispatcher's layers. While a function is traced, a recorder is one
# more layer, above `record`: it lets each call run, then notes it.

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
# That's nine steps. `%0` is the input; what came from outside is a constant. `run` replays the steps for another input (exercise
# 2). Once you have the whole program you can improve it, which eager execution can't, because it only ever sees one
# operation at a time:
#
# - **fold** what depends on no input: compute it now, once (exercise 3);
# - **share** what is computed twice (exercise 3);
# - **drop** what nobody needs (exercise 4).

# %% tags=["proof-simplify"]
folded = graph.fold_constants(recorded)
shared = graph.share_equal(folded)
smaller = graph.drop_unused(shared)
print("steps:", [len(each.steps) for each in (recorded, folded, shared, smaller)])
new = mytorch.tensor([[0.1, -0.2], [0.3, 0.4]])
results = program(new).sum().item(), graph.run(smaller, new).sum().item()
print("sum of the results: function {:.3f}, four steps {:.3f}".format(*results))
label = {step: step.op.name for step in smaller.steps}
pictures.graph(smaller.output, children=lambda step: graph.steps_in(step.args), label=lambda s: label.get(s, "input"))

# %% [markdown]
# Nine steps became four, with the same result. In the picture one `tanh` feeds two operations; before, there were two.
#
# ## What a trace can't see
# Whatever isn't an operation on a tensor is decided once, while tracing.


# %% tags=["proof-trace-blind"]
def blind(x):
    scale = x.sum().item()  # leaves the graph
    return x * scale / len(x)


fixed, longer = graph.trace(blind, mytorch.tensor([1.0, 2.0])), mytorch.tensor([10.0, 20.0, 30.0])
print("function", blind(longer).tolist(), "  trace", graph.run(fixed, longer).tolist())
print(fixed)

# %% [markdown] tags=["short"]
# `item()` froze the example's sum, 3, and `len` froze its length, 2. `torch.jit.trace` gives the same 15, 30 and
# 45, with a warning for each.
#
# ## Guards
# Look at the lines that begin with `guard`: the trace wrote down what Python had read, a number and, twice, a shape. If
# they are checked in the next call, and the function is traced again where one fails, the answer no longer depends on the
# example.

# %% [markdown] given="mytorch.graph:heard mytorch.graph:Compiled"
# While a function is traced, `heard` has each tensor report when Python asks for its shape or a number. `Compiled` keeps
# the traces. The first one holds for the example's sizes only; from the second size on, sizes matter if Python read them. Its
# `compile` cuts a trace in two where Python read a number. You'll see why in a moment; at first there is one piece.


# %% tags=["proof-guards"]
def graphs(function, *inputs):
    compiled, counts = graph.Compiled(function), []
    for x in inputs:
        assert mytorch.equal(compiled(x), function(x))
        counts.append(len(compiled.graphs))
    return counts


ones = mytorch.ones
inputs = {"numbers": ones(2) * 7, "length 3": ones(3), "length 4": ones(4), "dtype": ones(4).double()}
print(["first", *inputs], graphs(lambda x: x * 2, ones(2), *inputs.values()))
print("strides", graphs(lambda x: x * 2, ones(2, 3), ones(3, 2).t()))
print("reads len", graphs(lambda x: x / len(x), ones(2), ones(3), ones(4)))

# %% [markdown]
# New numbers use the first trace. A new length fails its guard, and so does a new dtype, or other strides. The third
# length needs no new graph, because the second trace left the length open: a **dynamic shape**. Here is what
# PyTorch 2.13 counts, with `torch.compile(f, backend=CompileCounter())`:
#
# | the calls, one after the other | graphs, mytorch | graphs, PyTorch |
# |---|---|---|
# | `x * 2`: length 2, other numbers, length 3, length 4, `float64` | 1, 1, 2, 2, 3 | 1, 1, 2, 2, 3 |
# | `x * 2`: a matrix, then a transposed one of the same shape | 1, 2 | 1, 2 |
# | `x / len(x)`: length 2, 3, 4 | 1, 2, 3 | 1, 2, 2 |
# | `x * K`: before and after the global `K` changes | 1, 1 | 1, 2 |
#
# Two rows differ. PyTorch keeps a length as a symbol, which arithmetic can use; a decision, as in `len(x) > 10`, becomes
# a guard. (Sizes 0 and 1 get graphs of their own.) And it follows Python's bytecode, so it sees a global. Your tracer
# only sees operations on tensors. So it misses a global that changes, and a random number, which it draws once, for all calls
# (`torch.compile` draws a new one in each):

# %% tags=["proof-unseen"]
K = 2.0
stale, drawn = graph.Compiled(lambda x: x * K), graph.Compiled(lambda x: x * mytorch.rand(1))
before, K, draws = stale(ones(1)).item(), 3.0, {drawn(ones(1)).item() for _ in range(5)}
print("K = 2:", before, "  K = 3:", stale(ones(1)).item(), "  different random numbers in five calls:", len(draws))

# %% [markdown]
# ### When every call recompiles
# A loop over `len(x)` is unrolled, so its graph fits one length. Here are twelve lengths in a row:


# %% tags=["proof-recompiles"]
def add_up(x):
    total = x[0]
    for place in range(1, len(x)):
        total = total + x[place]
    return total


lengths = list(range(2, 14))
counts = {"loop": graphs(add_up, *map(ones, lengths)), "sum": graphs(mytorch.sum, *map(ones, lengths))}
print(counts)
pictures.curves(counts, lengths, xlabel="length of the input", ylabel="graphs so far")

# %% [markdown]
# PyTorch also compiles one graph for each length, but gives up after eight: the ninth length runs without a graph. A
# warning names the guard that failed last:
#
# ```text
# torch._dynamo hit config.recompile_limit (8)
#    function: 'add_up'
#    last reason: 0/7: tensor 'x' size mismatch at index 0. expected 9, actual 10
# ```
#
# **Interview · What is a guard, and why does `torch.compile` recompile?**
#
# - *Thirty seconds:* A guard is a check on what a graph took for granted: dtype, shape, strides, device, grad mode, and
#   Python values. It runs before the graph. If it fails, the function is compiled once more.
# - *Longer:* A size that has changed once becomes a symbol, so a third size compiles nothing, unless it is 0 or 1. A number
#   that you pass as an argument becomes one, too. A loop over the size or a comparison with it adds a guard again.
# - *They ask next:* How do you find out? `TORCH_LOGS="recompiles"` prints the guard that failed. Pad to a few lengths, or
#   call `torch._dynamo.mark_dynamic`.
# - *The trap:* "It compiles once." After eight versions of one function it stops, and inputs that fit none of them run eagerly.
# - *Proof:* `proof-guards`, `proof-recompiles`.
#
# ## Graph breaks
# A number inside a tensor can't be guarded before the call, because it's computed on the way. So the graph breaks there.


# %% tags=["proof-breaks"]
def brake_or_add(speed):
    if speed.sum() > 100:
        return speed * 0.5
    return speed + 1


driven = graph.Compiled(brake_or_add)
for speed in (130.0, 50.0, 120.0, 60.0):
    print(speed, "->", driven(mytorch.tensor([speed])).item(), "  graphs:", len(driven.graphs))
print([[step.op.name for step in piece.steps] for piece in driven.graphs])

# %% [markdown]
# The answers are right, and they come from three graphs: one up to the decision, then one for each branch. PyTorch counts 2, 3, 3, 3, too, and
# `torch._dynamo.explain(brake_or_add)(torch.tensor([130.0]))` says why:
#
# ```text
# Graph Count: 2
# Graph Break Count: 1
# Op Count: 2
# Break Reasons:
#   Break Reason 1:
#     Reason: generic_jump TensorVariable()
# ```
#
# `.item()`, `.tolist()` and a `print` in the middle make two graphs as well. There is one difference: PyTorch returns to
# Python at a break and prints in every call. Your library doesn't come back to Python, so it prints
# while tracing only.
#
# **Interview · What causes a graph break, and what does it cost?**
#
# - *Thirty seconds:* Whatever needs a tensor's number in Python, `if`, `item()`, `tolist()`, and code that can't be
#   traced, such as `print`. Each side becomes a graph of its own, with Python in between.
# - *Longer:* Nothing is fused or shared across it. What the second side needs is written to memory and read again, and on a
#   GPU the CPU waits for the number.
# - *They ask next:* How do you find them? `torch._dynamo.explain`, `TORCH_LOGS="graph_breaks"`, or `fullgraph=True`, which
#   raises.
# - *The trap:* "A break gives wrong results." They are right, only slower.
# - *Proof:* `proof-breaks`, `proof-fusion`.
#
# ## `cond`: the decision in the graph
# Can the graph decide by itself? TensorFlow's `cond` takes both branches as functions.

# %% tags=["proof-control-flow"]
tf.reset_default_graph()
speed = tf.placeholder(torch.float32, name="speed")
expensive = tf.exp(speed * -0.01, name="expensive")
braked = tf.cond(tf.greater(speed, 100.0), lambda: speed * expensive, lambda: speed + 1.0)
session = tf.Session()
for value in (130.0, 50.0):
    print(value, "->", round(session.run(braked, {speed: value}).item(), 2), session.executed[2:])
print("steps of add_up, traced:", {length: len(graph.trace(add_up, ones(length)).steps) for length in (2, 10, 40)})

# %% [markdown]
# Both branches are in the graph, and each run executes one. Notice `expensive`: it was made *outside* the branch, so it
# runs either way. That surprised many users of TensorFlow 1, and it is the same in PyTorch. A Python loop is unrolled, so
# its trace grows with the length. TensorFlow's `while_loop` takes a test and a body, and stays a loop in the graph.
#
# `torch.cond(s.sum() > 100, lambda v: v * 0.5, lambda v: v + 1, (s,))` is PyTorch's. Compiled, it is one graph for 130
# and for 50:
#
# ```text
# gt = sum_1 > 100
# cond = torch.ops.higher_order.cond(gt, cond_true_0, cond_false_0, (l_s_,))
# ```
#
# **Interview · `if` or `cond`: how does a decision get into a graph?**
#
# - *Thirty seconds:* Python's `if` acts while the graph is built: `torch.jit.trace` keeps one branch and warns,
#   `torch.compile` breaks the graph. `cond` is a node that holds both branches and runs one.
# - *Longer:* Loops likewise: a Python `for` is unrolled, and a loop that stays one is a node with a test and a body.
# - *They ask next:* Is there a third way? `torch.where(x > 0, a, b)` computes both and selects, element by element.
# - *The trap:* "An `if` is lost in `torch.compile`, as in a trace." [It isn't](proof-breaks).
# - *Proof:* `proof-control-flow`, `proof-lost-if`.
#
# ## Fusion, counted in bytes

# %% [markdown] given="mytorch.utils.instruments:instrument"
# What is a whole graph good for? An elementwise kernel spends more time waiting for memory than computing. So count the
# memory traffic: an **instrument** is one more layer of the dispatcher, below all others, which sees each kernel that runs.

# %% [markdown]
# `count_bytes` (exercise 7) adds up the bytes that kernels read and write. GELU, written out, is nine operations. Here it runs
# as nine kernels, as two with a graph break between them, and as one. `note` is an instrument, too: it keeps a list.


# %% tags=["proof-fusion"]
def fused(traced):
    def kernel(x, y=None):
        values = dict(zip(traced.inputs, (x, y), strict=False))
        for step in traced.steps:
            values[step] = step.op.kernel(*[values.get(each, each) for each in step.args])
        return values[traced.output]

    return mytorch.dispatch.operation(kernel)


def note(op, args, result, seconds):
    written = result.nbytes / 1e6
    kernels.append((op.name, mytorch.utils.instruments.moved(op, args, result) / 1e6 - written, written))
    return 0


def cubic(x):
    return x + 0.044715 * x * x * x


def gate(x, inner):
    return 0.5 * x * (1 + (0.79788456 * inner).tanh())


x, gelu = mytorch.linspace(-3, 3, 1_000_000), lambda x: gate(x, cubic(x))
first, second = fused(graph.trace(cubic, x)), fused(graph.trace(gate, x, cubic(x)))
ways, traffic = {"nine kernels": gelu, "two": lambda x: second(x, first(x)), "one": fused(graph.trace(gelu, x))}, {}
for name, function in ways.items():
    traffic[name] = kernels = []
    with mytorch.utils.count_bytes() as moved, mytorch.utils.instruments.instrument(note):
        result = function(x)
    print(f"{name:12} {moved.total() / 1e6:3.0f} MB   GELU(3) = {result[-1].item():.4f}")

# %%
ax, colours = pictures.axes(6.8, 2.6), [pictures.COLOURS["data"], pictures.COLOURS["result"]]
for row, kernels in enumerate(traffic.values()):
    sizes = [size for _, *both in kernels for size in both]
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    bars = ax.barh([row] * len(sizes), sizes, 0.6, left=starts, color=colours * len(kernels))
    ax.bar_label(bars, [f"{size:.0f}" for size in sizes], label_type="center", color="white", weight="bold")
ax.set(yticks=range(3), yticklabels=traffic, ylim=(2.5, -0.5), xlabel="memory traffic (MB)")
ax.legend(bars[:2], ["read", "written"], loc="lower right")
told = (f"{way}: " + ", ".join(f"{op} {a:.0f} + {b:.0f}" for op, a, b in each) for way, each in traffic.items())
pictures.publish(ax, alt=f"MB that each kernel reads + writes. {'; '.join(told)}.")

# %% [markdown]
# Nine kernels write each intermediate result to memory and read it again. Fused, 4 MB go in and 4 MB come out, an eleventh
# of what the nine move. The break costs 12 MB, because the inner value is written and read again, and `x` is read twice.
# `torch.compile` generates one kernel for GELU, and two with
# `torch._dynamo.graph_break()` in the middle. NumPy can't keep a value in a register, so this fused kernel shows what moves
# between kernels, and isn't faster itself.
#
# **Interview · What does fusion save, and what else can a compiler do with a graph?**
#
# - *Thirty seconds:* Memory traffic and kernel launches. Elementwise operations wait for memory, so a fused chain takes
#   about as long as one of them.
# - *Longer:* It sees the whole program, so it also folds constants, shares repeated work, drops dead code and plans memory.
# - *They ask next:* Why not fuse everything? A large matrix product does enough arithmetic for each byte already, and by
#   default `torch.compile` calls the same kernel for it as eager execution.
# - *The trap:* "Fusion saves arithmetic." The operations are the same nine.
# - *Proof:* `proof-fusion`, `proof-simplify`.
#
# ### Myth · "TensorFlow is static, and starts with `initialize_all_variables`"
# That was TensorFlow 1. TensorFlow 2 runs each operation at once, a variable has its value from the start, and
# `tf.function` traces when you ask for it: once for each dtype and shape. Here is such a tracer.

# %% tags=["proof-trace-per-shape"]
traces = {}
for speeds in ([130.0], [50.0], [50.0, 20.0]):
    x = mytorch.tensor(speeds)
    first = traces.setdefault((x.dtype, tuple(x.shape)), graph.trace(brake, x))
    print(speeds, "->", graph.run(first, x).tolist(), "  traces:", len(traces))

# %% [markdown] tags=["short"]
# A new number uses the first trace and a new shape gets its own. But the 50 was braked, because this signature doesn't
# look at the values. So `tf.function` first rewrites an `if` on a tensor into a `cond`. JAX's `jit` traces by dtype and
# shape, too, and raises at such an `if`.
#
# **Interview · When does `tf.function` retrace?**
#
# - *Thirty seconds:* For each new dtype or shape of a tensor, and for each new value of a Python argument.
# - *Longer:* The body's Python runs while tracing only, so a `print` appears once for each trace; `tf.print` is an
#   operation.
# - *They ask next:* And JAX? `jit` traces by shape and dtype as well; `lax.cond` decides on values.
# - *The trap:* passing a step counter as a Python number. It retraces in every step; pass a tensor.
# - *Proof:* `proof-trace-per-shape`.
#
# ## Rapid fire
# - *Does `tf.Variable(0.)` hold a number?* Not before a session has run its initializer.
# - *What does `print(tensor)` show in a static graph?* The node, once, while the graph is built.
# - *How many graphs does one `if` on a tensor's value make?* Two at first, a third for the other branch.
# - *Does a third size recompile?* No, unless it is 0 or 1, or the program decides or loops by it.
# - *Can a graph run without Python?* Yes, on a server or a phone, for example.
#
# ## Ten lines to remember
# 1. Static: describe, then run. Dynamic: run, and record the trail.
# 2. Nodes are operations, edges are tensors; control edges only order.
# 3. In a static graph gradients are more nodes, and values of variables live in a session.
# 4. `Variable` renames. `get_variable` collides, or shares under `reuse`; name scopes don't prefix it.
# 5. A trace keeps the example's path through each `if` and loop.
# 6. A graph can be folded, shared and pruned before it runs.
# 7. Guards check what a trace took for granted. One that fails means another trace.
# 8. A number that Python reads breaks the graph. `cond` keeps both branches in it.
# 9. The first size is fixed, the second makes it dynamic, and the third usually compiles nothing.
# 10. Fusion saves memory traffic, not arithmetic.
#
# ## You try
# [The exercises](../exercises/08_static_and_dynamic_graphs.ipynb): predict what a trace answers; write the recorder, the replay and the
# three passes; record guards, and choose a graph by them; repair weights that were never shared; count bytes.
# [Chapter 09](09_modules_and_parameters.ipynb) gives parameters a home.
