# %% [markdown]
# # Static and dynamic graphs
# `torch.compile` turns a Python function into a graph. How can it, when the function contains an `if`? You will build such a tracer for
# your own library and meet four ideas on the way:
#
# 1. A *trace* records the operations that ran, so it can be simplified, but it loses the decisions that Python made.
# 2. *Guards* make a trace safe: they check what it took for granted, and a failed guard traces the function again.
# 3. Where Python needs a tensor's value, the graph *breaks*.
# 4. A whole graph is worth the trouble because its kernels can be *fused*. In PyTorch three stages share the work: Dynamo, AOTAutograd and
#    Inductor.

# %% [markdown] tags=["short"]
# ## Tracing and data-dependent control flow
# `graph.trace`, which you will write in this chapter, calls a function once and keeps a graph of the operations that ran.
# PyTorch's oldest tracer, `torch.jit.trace`, worked in the same way.

# %% tags=["proof-lost-if"]
import minitorch as torch
from course import check, lesson, pictures

mytorch = lesson.mytorch(8)
graph = mytorch.graph


def brake(speed):
    if speed.sum() > 100:
        return speed * 0.5
    return speed


traced = graph.trace(brake, mytorch.tensor([130.0]))
for speed in (130.0, 50.0):
    x = mytorch.tensor([speed])
    print(speed, "function:", brake(x).item(), "  trace:", graph.run(traced, x).item())

# %% [markdown] tags=["short"]
# The trace brakes at 50, although the function doesn't. It saw the function once, at 130, and none of the steps that `run` replays is an
# `if`. `torch.jit.trace` gives the same 25 and prints a `TracerWarning`, which is easily missed in a log; PyTorch 2.13 deprecates it in
# favour of `torch.compile` and `torch.export`. Move the slider, and you see that another example gives another function.


# %% hidden=true
def compare(example):
    kept = graph.trace(brake, mytorch.tensor([example]))
    speeds = [float(speed) for speed in range(201)]
    lines = {
        "function": [brake(mytorch.tensor([speed])).item() for speed in speeds],
        "trace": [graph.run(kept, mytorch.tensor([speed])).item() for speed in speeds],
    }
    return pictures.curves(lines, speeds, xlabel="speed (km/h)", ylabel="afterwards (km/h)")


pictures.slider(compare, start={"example": 130.0}, example=[50.0, 130.0])

# %% [markdown]
# So what does a trace keep, and what does it lose?
#
# ## Build: a tracer for mytorch

# %% [markdown] given="mytorch.graph:Step mytorch.graph:trace"
# In your library every operation passes through the dispatcher's layers. While a function is traced, a recorder is one more
# layer, above `record`. It lets each call run and then appends it to the trace as a `Step`, whose operation can be called again
# later, as `step.op(*args)`.

# %% tags=["proof-trace"]
weights = mytorch.tensor([1.0, 2.0])


def program(x):
    scale = weights.exp() * 2
    left = (x * scale).tanh()
    x.sum()  # the result isn't used
    return left * ((x * scale).tanh() + 1)


recorded = graph.trace(program, mytorch.ones(3, 2))
print(recorded)

# %% [markdown]
# The trace has nine steps, in which `%0` is the input and tensors from outside the function are constants. Such a trace is a **static
# graph**: it is described once and can then be run for as many inputs as you like, which `run` does (exercise 2). Its *nodes* are
# operations, and its *edges* are the values that flow between them. A **dynamic graph**, the one that you know from chapter 06, is
# recorded by autograd while the program itself runs.
#
# **Interview · Dynamic or static graph: what is the difference, and who uses static graphs today?**
#
# - *Thirty seconds:* With a static graph, the program first describes the whole computation, and a runtime then executes it.
#   With a dynamic graph, operations run at once, and the graph for the backward pass is recorded anew in each iteration. PyTorch
#   and TensorFlow 2 are dynamic, but they capture static graphs from running programs in order to compile or export them.
# - *Longer:* A dynamic graph lets you use Python's `if`, loops, `print` and the debugger. A static one shows the runtime the
#   whole program, which it can then simplify, fuse, plan and run without Python.
# - *They ask next:* What are a graph's nodes and edges? Here nodes are operations, and edges are the tensors between them. In
#   autograd's graph the nodes are backward functions, and the edges lead to what produced the inputs (chapter 06).
# - *They ask next:* Which tools capture graphs? `torch.compile`, `torch.export`, `tf.function` and JAX's `jit`. An ONNX file is
#   a static graph as well ([chapter 20b](20b_export.ipynb)).
# - *The trap:* People say that a static graph has no control flow. It has, [as nodes](proof-control-flow).
# - *Proof:* `proof-lost-if`, `proof-toy-if`, `proof-trace`.
#
# ### What a whole graph allows
# An eager library sees one operation at a time. A graph shows the whole program, which can be simplified before it runs:
#
# - **constant folding** computes the steps that depend on no input, once and in advance (exercise 3);
# - **common subexpression elimination** shares a result that is computed twice (exercise 3);
# - **dead code elimination** drops the steps whose results aren't needed (exercise 4).

# %% tags=["proof-simplify"]
folded = graph.fold_constants(recorded)
shared = graph.share_equal(folded)
smaller = graph.drop_unused(shared)
for name, version in {
    "recorded": recorded,
    "folded": folded,
    "shared": shared,
    "without unused steps": smaller,
}.items():
    print(f"{name}: {len(version.steps)} steps")
new = mytorch.tensor([[0.1, -0.2], [0.3, 0.4]])
print(f"sum of the results: function {program(new).sum().item():.3f}, graph {graph.run(smaller, new).sum().item():.3f}")
names = {step: step.op.name for step in smaller.steps}
pictures.graph(smaller.output, children=lambda step: graph.steps_in(step.args), label=lambda s: names.get(s, "input"))

# %% [markdown]
# Nine steps became four, and the result is the same. Folding saved the two steps that compute `scale`, sharing saved the second `mul` and
# `tanh`, and the unused `sum` was dropped. In the picture one `tanh` feeds two operations, where the function computed two of them.
#
# ### What a trace freezes
# Plain Python code isn't recorded: it runs once, while the function is traced. This function reads the sum and the length of its input, so
# trace it with (1, 2), where they are 3 and 2, and run the trace with three other numbers:


# %% tags=["proof-trace-blind"]
def blind(x):
    scale = x.sum().item()  # leaves the graph
    return x * scale / len(x)


fixed = graph.trace(blind, mytorch.tensor([1.0, 2.0]))
longer = mytorch.tensor([10.0, 20.0, 30.0])
print("function", blind(longer).tolist())
print("trace   ", graph.run(fixed, longer).tolist())
print(fixed)

# %% [markdown]
# `item()` froze the example's sum, 3, and `len` froze its length, 2, so the trace returns x · 3 / 2. The old `torch.jit.trace` gives the
# same 15, 30 and 45, with a warning for each. Globals and random numbers are frozen in the same way:

# %% tags=["proof-frozen-global"]
K = 2.0
scaled = graph.trace(lambda x: x * K, longer)
K = 3.0
print("10 · K with K = 3:", graph.run(scaled, longer)[0].item())
drawn = graph.trace(lambda x: x * mytorch.rand(1), longer)
results = {graph.run(drawn, longer)[0].item() for _ in range(5)}
print("different random numbers in five runs:", len(results))

# %% [markdown] tags=["short"]
# The global `K` kept the value that it had at trace time, and the random number was drawn once.
#
# ## Guards
# Look at the lines above that begin with `guard`: the trace of `blind` wrote down each value that Python read, here a number and twice a
# shape. If the next call checks these guards, and traces the function again where one of them fails, the answer no longer depends on the
# example.

# %% [markdown] given="mytorch.graph:Compiled"
# ### Guards in `mytorch`
# While a function is traced, tensors report to the recorder when Python reads their shape or their values. `Compiled` keeps the
# traces of a function and chooses one by the inputs:
#
# - The first trace is specialized to the example's sizes. When a second size arrives, the function is traced again, and this time
#   sizes stay open unless Python read one of them.
# - Where Python reads a value, as `item()` does, the trace is cut into two *pieces*. The value that was read selects the second piece.
# - `compile` goes from break to break: it stores each piece under the values that were read before it, runs it, and passes its
#   results on to the next piece.

# %% [markdown]
# Follow three calls of `x * x.sum().item()`. The sum is read in the middle, so each call needs two pieces:
#
# ```text
# call with [1, 2]    nothing is stored         trace: piece 1 = sum,  reads 3.0,  piece 2 = mul by 3.0
# call with [1, 4]    piece 1 runs, reads 5.0   nothing is stored for 5.0, so trace: piece 2' = mul by 5.0
# call with [2, 1]    piece 1 runs, reads 3.0   piece 2 runs, nothing is traced
# ```
#
# In the dict `pieces` of `Compiled`, the key of a piece ends with the values that were read before it, as strings:

# %% tags=["proof-pieces"]
compiled = graph.Compiled(lambda x: x * x.sum().item())
for values in ([1.0, 2.0], [1.0, 4.0], [2.0, 1.0]):
    print(values, "->", compiled(mytorch.tensor(values)).tolist())
    for (_, _, *values_read), (piece, _) in compiled.pieces.items():
        print("    after reading", values_read, "run", [step.op.name for step in piece.steps])

# %% [markdown]
# A function that reads nothing has a single piece for each trace. So count the graphs while the inputs of `x * 2` change:


# %% tags=["proof-guards"]
def graphs(function, *inputs):
    compiled, counts = graph.Compiled(function), []
    for x in inputs:
        assert mytorch.equal(compiled(x), function(x))
        counts.append(len(compiled.graphs))
    return counts


ones = mytorch.ones
inputs = {
    "length 2": ones(2),
    "other values": ones(2) * 7,
    "length 3": ones(3),
    "length 4": ones(4),
    "float64": ones(4).double(),
}
for name, count in zip(inputs, graphs(lambda x: x * 2, *inputs.values()), strict=True):
    print(f"{name:12} graphs so far: {count}")
print("x * 2, then transposed:", graphs(lambda x: x * 2, ones(2, 3), ones(3, 2).t()))
print("x / len(x), lengths 2, 3, 4:", graphs(lambda x: x / len(x), ones(2), ones(3), ones(4)))

# %% [markdown]
# ### What `torch.compile` guards
# New values run through the first trace, whereas a new length, a new dtype or new strides fail its guards. The third length needs no new
# graph, because the second trace left the length open, as a **dynamic shape**. Here are the graphs that PyTorch 2.13 counts with
# `torch.compile(f, backend=CompileCounter())`:
#
# | the calls, one after the other | graphs, mytorch | graphs, PyTorch |
# |---|---|---|
# | `x * 2`: length 2, other values, length 3, length 4, `float64` | 1, 1, 2, 2, 3 | 1, 1, 2, 2, 3 |
# | `x * 2`: a matrix, then a transposed one of the same shape | 1, 2 | 1, 2 |
# | `x / len(x)`: length 2, 3, 4 | 1, 2, 3 | 1, 2, 2 |
# | `x * K`: before and after the global `K` changes | 1, 1 | 1, 2 |
#
# Two rows differ: your tracer sees only operations on tensors, while PyTorch interprets Python's bytecode. It represents a length as a
# symbol that it can compute with, and it turns a decision such as `len(x) > 10` into a guard. It also guards globals, and it draws a new
# random number in each call.
#
# A guard can also fail in every call: a loop over `len(x)` is unrolled, so its graph fits one length only. Here are twelve lengths in a
# row:


# %% tags=["proof-recompiles"]
def add_up(x):
    total = x[0]
    for index in range(1, len(x)):
        total = total + x[index]
    return total


lengths = list(range(2, 14))
counts = {"loop": graphs(add_up, *map(ones, lengths)), "sum": graphs(mytorch.sum, *map(ones, lengths))}
print(counts)
pictures.curves(counts, lengths, xlabel="length of the input", ylabel="graphs so far")

# %% [markdown]
# PyTorch compiles one graph for each length as well, but it gives up after eight, and the ninth length runs eagerly. A warning
# names the guard that failed last:
#
# ```text
# torch._dynamo hit config.recompile_limit (8)
#    function: 'add_up'
#    last reason: 0/7: tensor 'x' size mismatch at index 0. expected 9, actual 10
# ```
#
# **Interview · What is a guard, and why does `torch.compile` recompile?**
#
# - *Thirty seconds:* A guard is a check on something that the graph takes for granted: dtype, shape, strides, device, grad mode,
#   or a Python value. Guards run before the graph, and if no compiled version passes its guards, the function is compiled again.
# - *Longer:* A size that has changed once becomes dynamic, so a third size compiles nothing. The exceptions are 0 and 1, and a size that
#   something compares: a branch or loop of your program, a slice such as `x[:10]`, or broadcasting. A number that you pass as an argument
#   becomes dynamic too, and so does a module's float attribute, whereas its integer attribute is guarded by value.
# - *They ask next:* How do you find and avoid recompilations? `TORCH_LOGS="recompiles"` prints the guard that failed. Then pad to a few
#   lengths, mark a dimension with `torch._dynamo.mark_dynamic`, or pass `dynamic=True`, which gives `x * 2` one graph for the lengths 2,
#   3 and 4. The loop above recompiles even then. In a test, `torch.compiler.set_stance("fail_on_recompile")` turns a recompilation into
#   an error.
# - *The trap:* It doesn't just compile once, and it doesn't compile forever either: after eight versions of one function, inputs that fit
#   none of them run eagerly.
# - *Proof:* `proof-guards`, `proof-recompiles`.

# %% [markdown] tags=["short"]
# ## Graph breaks
# A value that is computed on the way can't be guarded before the call, so the graph breaks where Python reads it.


# %% tags=["proof-breaks"]
def brake_or_add(speed):
    if speed.sum() > 100:
        return speed * 0.5
    return speed + 1


compiled = graph.Compiled(brake_or_add)
for speed in (130.0, 50.0, 120.0, 60.0):
    result = compiled(mytorch.tensor([speed])).item()
    print(f"{speed} -> {result}, graphs so far: {len(compiled.graphs)}")
for (_, _, *values_read), (piece, read) in compiled.pieces.items():
    print("after reading", values_read, "run", [step.op.name for step in piece.steps], "then read", read or "nothing")
print(torch._dynamo.explain(brake_or_add)(torch.tensor([130.0])).break_reasons[0].reason)

# %% [markdown]
# The results are correct, and they come from three graphs: one up to the decision, and one for each branch. PyTorch also counts 2, 3, 3, 3,
# and its `explain` gives the same reason as the last line, a *generic jump* on a tensor.
#
# ### A break inside a loop
# What if the decision is made three times, in a loop?


# %% tags=["proof-loop-break"]
def three_times(speed):
    for _ in range(3):
        speed = speed * 0.5 if speed.sum() > 100 else speed + 1
    return speed


compiled = graph.Compiled(three_times)
for speed in (130.0, 50.0):
    result = compiled(mytorch.tensor([speed])).item()
    print(f"{speed} -> {result}, graphs so far: {len(compiled.graphs)}")

# %% [markdown]
# Here the two libraries differ. Your `Compiled` adds pieces for each new path through the three decisions: four on the first path, and
# three more on the second. PyTorch makes **no graph at all** for a function that breaks in the body of a `for` or `while` loop (unless
# the branch leaves by `return`). It runs that function eagerly and compiles only the functions that the loop calls. So a loop that
# decodes one token per iteration can lose its whole compilation.
#
# A `print` is a break too: PyTorch returns to Python and prints in every call, while your library prints at trace time only.
#
# To avoid the break, the decision itself has to become part of the graph. `torch.cond` keeps both branches as one node, and
# `torch.where` computes both sides and selects; both are shown [at the end](proof-control-flow).
#
# **Interview · What causes a graph break, and what does it cost?**
#
# - *Thirty seconds:* A graph breaks where Python needs a tensor's value, as in an `if` or `item()`, and where an output's shape depends
#   on data, as with a mask. Code that can't be traced, such as `print`, breaks it too. The two sides become separate graphs with Python
#   in between, and if the break is in a loop's body, the whole function runs eagerly.
# - *Longer:* Nothing is fused across a break. Values that the second graph needs are written to memory and read again, and on a
#   GPU the CPU has to wait for the value.
# - *They ask next:* How do you find breaks? `TORCH_LOGS="graph_breaks"` prints each one with its line. `fullgraph=True` raises at most
#   of them, although `item()` and masks are captured instead. Code that you don't want traced gets a break of its own with
#   `torch.compiler.disable`.
# - *They ask next:* How do you keep a kernel of your own in the graph? I register it with `torch.library.custom_op`, and give it a
#   `register_fake` function that returns an empty result of the correct shape, so that it needs no break
#   ([chapter 20b](20b_export.ipynb)).
# - *The trap:* A break isn't a bug. The results stay correct, and only the speed suffers.
# - *Proof:* `proof-breaks`, `proof-fusion`.
#
# **Interview · Your decode loop got no faster under `torch.compile`. Why, and what do you compile instead?**
#
# - *Thirty seconds:* The loop probably tests a token, for example for the end of the text, and a break in the body of a loop leaves the
#   whole function eager. So I compile the step that produces one token, and leave the loop and the test in Python.
# - *Longer:* Only what the loop calls was compiled before, perhaps in pieces. The step should see the same shapes each time, so I
#   preallocate the KV cache and write to it with `index_copy_`, at a position that is a tensor of one element. (`cache[pos] = …` with a
#   0-d `pos` compiles again at each position in PyTorch 2.13.) With equal shapes, `mode="reduce-overhead"` can replay CUDA graphs, and at
#   batch size 1 the launches are most of the time.
# - *They ask next:* And if the cache grows by `cat`? Its length becomes a dynamic shape, so two graphs are enough, but each step
#   copies the cache.
# - *The trap:* A warning about graph breaks isn't shown by default, so an eager loop looks like a compiled one that is slow.
# - *Proof:* `proof-loop-break`; the counts stand in the table at the end.

# %% [markdown]
# ## Fusion, counted in bytes
# An elementwise kernel spends more time waiting for memory than computing, so the quantity to watch is memory traffic. An
# **instrument** is one more layer of the dispatcher, below all others, which sees each kernel that runs. `count_bytes` (exercise 7) is
# an instrument that adds up the bytes that kernels read and write.
#
# GELU, written out, is nine operations, and `fused` in the folded cell turns such a trace into a single kernel. Run it on a million
# numbers, which are 4 MB, as nine kernels, as two with a graph break between them, and as one. How many MB do you expect for one kernel?


# %% hidden=true
def fused(traced):
    def kernel(x, y=None):
        values = dict(zip(traced.inputs, (x, y), strict=False))
        for step in traced.steps:
            values[step] = step.op.kernel(*[values.get(arg, arg) for arg in step.args])
        return values[traced.output]

    return mytorch.dispatch.operation(kernel)


# %% tags=["proof-fusion"]
def cubic(x):
    return x + 0.044715 * x * x * x


def gate(x, inner):
    return 0.5 * x * (1 + (0.79788456 * inner).tanh())


x, gelu = mytorch.linspace(-3, 3, 1_000_000), lambda x: gate(x, cubic(x))
fused_cubic, fused_gate = fused(graph.trace(cubic, x)), fused(graph.trace(gate, x, cubic(x)))
ways = {
    "nine kernels": gelu,
    "two kernels": lambda x: fused_gate(x, fused_cubic(x)),
    "one kernel": fused(graph.trace(gelu, x)),
}
for name, function in ways.items():
    with mytorch.utils.count_bytes() as moved:
        result = function(x)
    print(f"{name:12} {moved.total() / 1e6:3.0f} MB   GELU(3) = {result[-1].item():.4f}")

# %% [markdown]
# Nine kernels write each intermediate result to memory and read it again. Fused, 4 MB go in and 4 MB come out, an eleventh of the
# 88 MB. The break costs 12 MB, because the inner value is written and read again, and `x` is read twice. `torch.compile` generates
# one kernel for GELU, or two with `torch._dynamo.graph_break()` in the middle. NumPy can't keep a value in a register, so this
# fused kernel shows the traffic between kernels and isn't faster itself.
#
# **Interview · What does fusion save, and what else can a compiler do with a graph?**
#
# - *Thirty seconds:* Fusion saves memory traffic and kernel launches. Elementwise operations are limited by memory bandwidth, so a
#   fused chain of cheap ones takes about as long as a single one.
# - *Longer:* A compiler also folds constants, shares repeated work, drops dead code and plans memory.
# - *They ask next:* Why not fuse everything? A large matrix multiplication already does enough arithmetic per byte, and by default
#   `torch.compile` calls the same library kernel for it as eager execution.
# - *The trap:* Fusion saves no arithmetic, because the same nine operations are computed.
# - *Proof:* `proof-fusion`, `proof-simplify`.

# %% [markdown] tags=["short"]
# ## The stages of `torch.compile`
# The real one is a pipeline of three compilers, and an interviewer may ask for their names:
#
# | stage | takes | gives |
# |---|---|---|
# | **Dynamo** | Python's bytecode | graphs of PyTorch calls, guards, and bytecode that calls the graphs |
# | **AOTAutograd** | a graph of PyTorch calls | forward and backward graphs of ATen operators, without in-place writes except the copies back into inputs that were written |
# | **Inductor** | graphs of ATen operators | fused kernels: Triton on a GPU, C++ on a CPU |
#
# Your tracer can do the work of the second stage, because the backward pass consists of operations too:


# %% tags=["proof-joint-graph"]
def loss_and_gradient(x, w):
    w = w.detach().requires_grad_()
    loss = (x * w).tanh().sum()
    return loss, *mytorch.autograd.grad(loss, [w])


joint = graph.simplify(graph.trace(loss_and_gradient, ones(3), ones(3)))
print(joint)
meta = torch.ones(1000, 1000, device="meta")
print("meta:", (meta @ meta).shape, "|", check.error((meta @ meta).sum().item))

# %% [markdown]
# Forward and backward pass are one graph. AOTAutograd splits such a joint graph in two and decides which results the forward graph saves.
# Here PyTorch 2.13 saves the `tanh`, just as your graph reuses `%3`. The last line shows how a compiler traces a large model without
# computing it: Dynamo runs **fake tensors** ([chapter 02b](02b_dtypes_and_dispatch.ipynb)), which hold no values, so `item()` has nothing
# to return.
#
# The first call compiles, which takes seconds to minutes. If a model repeats a block, compile the block instead of the model:
# `for block in model.blocks: block.compile()`. [Chapter 08b](08b_a_compiler.ipynb) measures this *regional compilation*, and the CUDA
# graphs behind `mode="reduce-overhead"`.
#
# **Interview · What happens when you call a function compiled by `torch.compile`?**
#
# - *Thirty seconds:* On the first call Dynamo interprets the bytecode with fake tensors and produces a graph and guards. AOTAutograd
#   turns it into forward and backward graphs, and Inductor generates fused Triton or C++ kernels. Later calls only check the guards
#   and run the kernels.
# - *Longer:* Code that Dynamo can't trace becomes a graph break. AOTAutograd also functionalizes, which means that it replaces
#   in-place writes by operations with new results, so that Inductor can reorder and fuse.
# - *They ask next:* How does `torch.export` differ? It must capture the whole program in one graph ahead of time, so it raises where
#   `compile` would break, and the graph runs without the Python that made it ([chapter 20b](20b_export.ipynb)).
# - *The trap:* `torch.compile(model)` itself compiles nothing. It returns a wrapper, and the first call compiles.
# - *Proof:* `proof-joint-graph`, `proof-guards`.
#
# **Interview · Why is my compiled model not faster?**
#
# - *Thirty seconds:* First I exclude the first calls from the measurement, because they compile. Then I look for recompilations and
#   graph breaks with `TORCH_LOGS`. If there are none, the model may already be limited by large matrix multiplications, for which
#   the compiled code calls the same kernels.
# - *Longer:* With small batches the launches dominate, and `mode="reduce-overhead"` helps. With varying lengths I pad or mark dynamic
#   dimensions.
# - *They ask next:* Does DDP change the graphs? Yes, Dynamo splits them at DDP's gradient buckets, so that communication overlaps with
#   the backward pass.
# - *The trap:* If you don't synchronize before you stop the clock, you time the launches ([chapter 05](05_devices.ipynb)).
# - *Proof:* `proof-recompiles`, `proof-breaks`, `proof-fusion`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# - *How many graphs does `torch.compile` make of one `if` on a tensor's value?* Two at first, and a third for the other branch;
#   inside a `for` loop none for that function.
# - *Does a third batch size recompile a compiled function?* No, unless it is 0 or 1, or something compares it.
# - *Does `torch.compile(fullgraph=True)` raise at `item()`?* Not in PyTorch 2.13, which captures it.
# - *Can an exported graph run without Python?* Yes, on a server or a phone.
# - *Which compiler stage generates Triton code?* Inductor.

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A static graph is described first and run later; a dynamic graph is recorded as the program runs.
# 2. Nodes are operations, and edges are tensors. In a static graph, gradients are more nodes.
# 3. A trace keeps the example's path through each `if` and loop.
# 4. A graph can be folded, shared and pruned before it runs.
# 5. Guards check what a graph took for granted, and a guard that fails means another compilation.
# 6. The first size is compiled as a constant, a second one makes the dimension dynamic, and a third usually needs no
#    compilation.
# 7. A graph breaks where Python reads a value; a break in a loop's body leaves the function eager.
# 8. `cond` keeps both branches in the graph; `where` computes both, gradients included.
# 9. Fusion saves memory traffic and launches, not arithmetic.
# 10. Dynamo captures, AOTAutograd adds the backward pass, and Inductor generates kernels.
#
# ## You try
# In [the exercises](../exercises/08_static_and_dynamic_graphs.ipynb) you predict what a trace returns, and write the recorder, the replay
# and the three passes. Then you record guards and choose a graph by them, remove the recompilations of a training step, and count bytes.
# In [chapter 08b](08b_a_compiler.ipynb) you turn the trace into a compiler.

# %% [markdown]
# ## If you have time
# ### A static graph in twenty lines
# A tracer watches a program that runs. A static graph can also be described directly, as in TensorFlow 1: the objects of this class
# compute nothing. Each of them only remembers the operation and the inputs it is made of:


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
    return RULES[node.kind](*(evaluate(operand, feed) for operand in node.inputs))


x = Node("input")
y = x * x + 1.0
print(y.kind, [evaluate(y, {x: number}) for number in (2.0, 3.0)])

# %% [markdown]
# `y` is not a value but a graph, and a small interpreter runs it for as many inputs as you like. To break it, let Python make a
# decision while the graph is being built:

# %% tags=["proof-toy-if"]
y = x * 0.5 if x > 100.0 else x
print([evaluate(y, {x: number}) for number in (130.0, 50.0)])

# %% [markdown]
# `x > 100.0` is a `Node`, and objects are truthy by default. Python therefore takes the first branch while the graph is being *built*,
# and the comparison never becomes part of the graph. PyTorch's old tracer warns, and TensorFlow 1 refuses to convert a node to a bool,
# but this toy does neither.

# %% [markdown]
# ### `cond` and `where`: the decision in the graph
# Can the graph itself decide? In the static graph above, a decision is one more kind of node, which holds both branches:


# %% tags=["proof-control-flow"]
def decide(node, feed):
    if node.kind != "cond":
        return evaluate(node, feed)
    test, yes, no = node.inputs
    return decide(yes if evaluate(test, feed) else no, feed)


speed = Node("input")
braked = Node("cond", speed > 100.0, speed * 0.5, speed + 1.0)
print([decide(braked, {speed: number}) for number in (130.0, 50.0)])
print("steps of add_up, traced:", {length: len(graph.trace(add_up, ones(length)).steps) for length in (2, 10, 40)})

# %% [markdown]
# Both branches are in the graph, and each run evaluates one of them. A Python loop is unrolled, so its trace grows with the
# length. An operator such as `while_loop` takes a test and a body, and stays a loop in the graph.
#
# PyTorch's version is `torch.cond(s.sum() > 100, lambda v: v * 0.5, lambda v: v + 1, (s,))`. Compiled, it serves both 130 and 50
# with one graph:
#
# ```text
# gt = sum_1 > 100
# cond = torch.ops.higher_order.cond(gt, cond_true_0, cond_false_0, (l_s_,))
# ```
#
# For a decision per element there is `torch.where`, which computes both sides. That matters for gradients:

# %% tags=["proof-where-nan"]
for name, inner in (("sqrt(x)", lambda x: x), ("sqrt of a safe x", lambda x: torch.where(x > 0, x, 1.0))):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    result = torch.where(x > 0, inner(x).sqrt(), x * 0)
    result.sum().backward()
    print(f"where(x > 0, {name}, 0):".ljust(36), "result", result.tolist(), " gradient", x.grad.tolist())

# %% [markdown]
# At 0 the result is correct and the gradient is nan. `where` sends a zero gradient into the unused side, where the derivative of the
# square root is infinite, and 0 · ∞ is nan. The remedy is to make the *input* of the unused side safe.
#
# **Interview · `if` or `cond`: how does a decision get into a graph?**
#
# - *Thirty seconds:* Python's `if` is decided when the graph is built, so a plain trace keeps one branch. `torch.compile` breaks the
#   graph there and selects the rest by the result. `torch.cond` is a node that holds both branches and runs one of them.
# - *Longer:* The same holds for loops: a Python `for` is unrolled, unless you use an operator such as `while_loop`, which is a node
#   with a test and a body.
# - *They ask next:* Is there a third way? `torch.where(x > 0, a, b)` computes both sides and selects element by element, and the side
#   that isn't selected [can make the gradient nan](proof-where-nan).
# - *The trap:* A trace loses an `if`, but `torch.compile` [doesn't](proof-breaks).
# - *Proof:* `proof-control-flow`, `proof-lost-if`.

# %% [markdown]
# ### Recompilations and graph breaks, case by case
# An integer attribute of a module recompiles as often as a loop over `len(x)` does. If `forward` computes `x * self.k` and `k`
# changes in each call, PyTorch 2.13 counts 1, 2, 3, …, 8 graphs, and then stops compiling. Its warning names the remedy, to set
# `torch._dynamo.config.allow_unspec_int_on_nn_module` to True. An integer *argument* costs two graphs in total, because the second
# value makes it dynamic.
#
# Which constructs break a graph? PyTorch 2.13 counts:
#
# | in the function | graphs by default | `fullgraph=True` |
# |---|---|---|
# | `if x.sum() > 100`, or `print`, or `tolist()` of floats, in the middle | 2 | raises an error |
# | `y * x.sum().item()` | 2 | one graph |
# | `x[x > 0] * 2`, whose shape depends on the values | 2 | one graph |
# | the `if` inside a `for` loop | 0 | raises an error |
# | `while x.sum() > 100`, where the loop's condition is the break | 2, or 3 with code after the loop | raises an error |
# | a `for` loop that calls a function with the `if` | 3, those of the called function | raises an error |
#
# With `fullgraph=True` the two rows that say *one graph* become symbols inside one graph, so the option doesn't report these breaks. The
# settings `capture_scalar_outputs` and `capture_dynamic_output_shape_ops` of `torch._dynamo.config` do the same without it.
#
# Such a symbol, `u0` in messages, is *unbacked*: the compiler has no example of its value. An `if n > 3` on it therefore raises
# "Could not guard on data-dependent expression", unless you promise the answer with `torch._check(n > 3)`.
#
# Your library doesn't break at a mask, because its interpreter needs no shapes in advance.
#
# Compiled block by block, a model of twelve equal blocks needs two graphs with 6 operations in all, instead of one graph with 36. (The
# input of the first block requires no gradient, so it has a graph of its own.) Under `mode="reduce-overhead"`, a result that the next
# call has overwritten raises "accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run" when you read it.

# %% [markdown]
# ### Myth · "TensorFlow is static, and starts with `initialize_all_variables`"
# That was TensorFlow 1. TensorFlow 2 runs each operation at once, a variable has its value from the start, and `tf.function` traces
# on request, once for each dtype and shape. This is such a tracer:

# %% tags=["proof-trace-per-shape"]
traces = {}
for speeds in ([130.0], [50.0], [50.0, 20.0]):
    x = mytorch.tensor(speeds)
    first = traces.setdefault((x.dtype, tuple(x.shape)), graph.trace(brake, x))
    print(speeds, "->", graph.run(first, x).tolist(), "  traces:", len(traces))

# %% [markdown]
# A new shape gets a trace of its own; new values run through the first one. So 50 was braked, because this signature doesn't
# include values. That is why `tf.function` first rewrites an `if` on a tensor into a `cond`.
#
# **Interview · What does `tf.function` share with `torch.compile`, and where do they differ?**
#
# - *Thirty seconds:* Both capture graphs from a Python function, keep one for each kind of input, and capture again when none fits.
#   TensorFlow chooses by a signature: dtype and shape of each tensor, and the value of each Python argument. PyTorch checks guards on
#   everything the graph used, globals and attributes included.
# - *Longer:* They treat control flow differently. AutoGraph rewrites the source, so an `if` on a tensor becomes a `cond` and a loop
#   becomes a `while_loop`. Dynamo reads bytecode and breaks the graph there. At a `print` it breaks as well, so each call prints; in
#   `tf.function` the body's Python code runs only during tracing, and `tf.print` is an operation.
# - *They ask next:* What does JAX do? `jit` also traces by shape and dtype. At an `if` on a value it raises an error, and you write
#   `lax.cond`.
# - *The trap:* A step counter that you pass to `tf.function` as a Python number makes it trace again in every step. A tensor doesn't.
# - *Proof:* `proof-trace-per-shape`, `proof-guards`, `proof-breaks`.

# %% [markdown]
# ## Appendix: TensorFlow 1
# Interviewers hardly ask about TensorFlow 1 any more, but old code and old notes use its words, and no exercise needs them.
#
# ### Gradients as nodes
# In TensorFlow 1, every program first described a graph. `course.tensorflow1` is a small copy of that library: a **placeholder** stands
# for an input, a **variable** holds a parameter, and a **session** runs the nodes that you fetch. Describe a line and its squared
# distance from `y`, and then fit it twice, once with autograd and once in the graph:

# %% tags=["proof-line"]
from course import tensorflow1 as tf

tf.reset_default_graph()
in_x, in_y = (tf.placeholder(torch.float32, name=name) for name in "xy")
weight, bias = (tf.Variable([0.0], name=name) for name in ("weight", "bias"))
cost = tf.reduce_mean(tf.square(tf.add(in_x * weight, bias) - in_y))
before = len(tf.get_default_graph().get_operations())
step = tf.train.GradientDescentOptimizer(0.3).minimize(cost)
print("nodes:", before, " with minimize:", len(tf.get_default_graph().get_operations()))
session = tf.Session()
print("not initialized:", check.error(session.run, weight))
session.run(tf.global_variables_initializer())
data = torch.linspace(-1, 1, 20)
target = 3 * data + 1
w, b = (torch.zeros(1, requires_grad=True) for _ in range(2))
optimizer = torch.optim.SGD([w, b], lr=0.3)
for count in range(1, 16):
    loss = (data * w + b - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    static, _ = session.run([cost, step], {in_x: data, in_y: target})
    if count in (1, 5, 15):
        print(f"step {count:2}: eager {loss.item():.3f}, static {static.item():.3f}")

# %% [markdown]
# The losses agree. `minimize` adds the gradients **as more nodes of the same graph**, and for each variable a node that
# overwrites it. No `zero_grad` is needed, because a gradient is an edge, and nothing accumulates between two runs.
#
# **Interview · How does a static graph compute gradients, and how does eager mode?**
#
# - *Thirty seconds:* In eager mode the forward pass records nodes, and `backward` walks them and fills `.grad`. In a static graph
#   the graph is walked once, before it runs, and nodes that compute the derivatives are added (`tf.gradients`).
# - *Longer:* A static runtime can therefore optimize forward and backward pass together, as `torch.compile` does after AOTAutograd has
#   traced both.
# - *The trap:* If `minimize` is called inside the loop, it adds nodes in every iteration, so the graph keeps growing.
# - *Proof:* `proof-line`, `proof-joint-graph`.

# %% [markdown]
# ### TensorFlow 1: names and sharing
# TensorFlow 1 has one global graph, so names have to be unique, and two layers share a variable by its name:
#
# | call | prefixed by `name_scope` | prefixed by `variable_scope` | if the name exists |
# |---|---|---|---|
# | `tf.Variable` | yes | yes | makes a new variable and appends a number |
# | `tf.get_variable` | no | yes | raises an error, or shares it under `reuse` |
#
# #### Myth · "get_variable creates what is missing and shares what is there"
# That is mostly true, but `reuse` has the last word:

# %% tags=["proof-scopes"]
tf.reset_default_graph()
with tf.name_scope("layer"):
    print("name_scope", *(tf.Variable(0.0, name="v").name for _ in range(2)), tf.get_variable("g", shape=()).name)
for reuse, name in ((False, "w"), (True, "w"), (False, "w"), (True, "z"), (tf.AUTO_REUSE, "z")):
    with tf.variable_scope("layer", reuse=reuse):
        error = str(check.error(tf.get_variable, name, shape=()) or "no error").partition(". Did")[0]
    print(f"variable_scope, reuse={reuse!s:10} {name}: {error}")
print("all variables:", *(variable.name for variable in tf.global_variables()))

# %% [markdown]
# Without `reuse`, asking for an existing name raises an error. With `reuse=True`, asking for a name that doesn't exist raises an error as
# well. Only `AUTO_REUSE` does what the myth says.
#
# **Interview · How did two layers share a parameter in TensorFlow 1, and how do they in PyTorch?**
#
# - *Thirty seconds:* In PyTorch both layers hold the same `Parameter` object ([chapter 09](09_modules_and_parameters.ipynb)), so no
#   names are needed. TensorFlow 1 shared by name: `tf.get_variable` looks a variable up by its full name under `reuse`, and
#   `tf.Variable` always creates a new one.
# - *The trap:* A layer that is built twice with `Variable`, for training and for validation, has two sets of weights.
# - *Proof:* `proof-scopes`.
