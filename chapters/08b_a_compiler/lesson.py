# %% [markdown]
# # A compiler
# In this chapter your library gets `mytorch.compile`: guards choose a graph, a generator writes one kernel for a whole chain of
# operations, and the backward pass is made before it is needed. You will count what fusion saves, see when it loses time, and compare
# each stage with what PyTorch 2.13 does.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch("08b")  # your library as of this chapter, using your code wherever you've solved the exercise

# %% [markdown] tags=["short"]
# ## When does fusion help?
# In chapter 08 you saw that nine operations in one kernel move an eleventh of the bytes. The next cell runs a chain of two
# operations and one of twenty, eagerly and compiled. Before you read on, decide which of the two will become faster.

# %% tags=["proof-traffic"]
import numpy as np

from course import check, pictures

compiler, graph, ones = mytorch.compiler, mytorch.graph, mytorch.ones


def chain(length):
    def program(x):
        for _ in range(length // 2):
            x = x * 1.01 + 0.5
        return x

    return program


def traffic(function, *inputs):
    """Bytes per element, and how many kernels ran."""
    with mytorch.utils.count_bytes() as moved, mytorch.utils.instruments.instrument(lambda *call: 1) as kernels:
        function(*inputs)
    return moved.total() // inputs[0].numel(), kernels.total()


x = mytorch.linspace(-3, 3, 1000)
for length in (2, 20):
    compiled = mytorch.compile(chain(length))
    compiled(x)  # the first call compiles
    print(
        f"{length:2} operations, bytes and kernels: eager", traffic(chain(length), x), "compiled", traffic(compiled, x)
    )

# %% [markdown] tags=["short"]
# Both compiled chains read each element once and write it once, so the short one saves half of the traffic and the long one 95 %.
# The folded cell measures the times for these thousand elements on the machine that runs it:

# %% hidden=true
from timeit import timeit


def ratio(eager):
    compiled = mytorch.compile(eager)
    rounds = [(timeit(lambda: compiled(x), number=20), timeit(lambda: eager(x), number=20)) for _ in range(20)]
    return min(first for first, _ in rounds) / min(second for _, second in rounds)


ax, lengths = pictures.axes(6, 2.4), (2, 4, 8, 20)
ratios = [ratio(chain(length)) for length in lengths]
ax.barh(range(4), ratios, color=[pictures.COLOURS["result" if value > 1 else "data"] for value in ratios])
ax.axvline(1, color="grey", linestyle="--")
ax.set(yticks=range(4), yticklabels=[f"{length} operations" for length in lengths], xlabel="time compiled / time eager")
pictures.publish(ax, alt="Time compiled divided by time eager for four lengths of a chain, measured where this ran.")

# %% [markdown]
# On a machine with two cores, the chain of two took 1.7 times as long as in eager mode, and the chain of twenty less than 0.4 times as
# long. Computing the guards and finding the graph costs the same for any chain, while each operation that is fused away saves one trip
# through the dispatcher.
#
# For millions of elements memory decides. The chain of twenty took 0.2 to 0.7 of the eager time there. The chain of two took anything
# from 0.2 to 1.9, depending on the caches and on whether the operating system had to provide fresh memory for temporary arrays. Arrays
# that fit into the last-level cache don't go to memory in any case, so blocks of NumPy gain nothing for them. A compiler that generates
# machine code keeps values in registers, which yours, made of NumPy's functions, can't.
#
# **Interview · When does fusing operations not make a program faster?**
#
# - *Thirty seconds:* Fusion saves memory traffic and kernel launches. It doesn't help where neither is the bottleneck: a large matrix
#   multiplication does hundreds of operations per byte, so it is limited by arithmetic. A short chain of small operations saves less than
#   the guards of the compiled function cost.
# - *Longer:* An elementwise operation in float32 moves 8 bytes for one FLOP, so its intensity is 1/8 FLOP/byte, and a GPU needs a
#   hundred or more to be compute-bound ([chapter 22b](22b_memory.ipynb)). Fusing twenty of them raises it to 20/8, so fused chains
#   stay limited by bandwidth.
# - *They ask next:* Does `torch.compile` fuse attention? Not by deriving FlashAttention from a plain softmax: you call
#   `scaled_dot_product_attention`, or describe mask and bias to `flex_attention`, from which it generates one kernel.
# - *They ask next:* Which operations are worth fusing with a matrix multiplication? The elementwise ones that follow it, called the
#   *epilogue*: bias, activation, and conversion to 16 bits, for which the result is still in registers.
# - *The trap:* A chain that is too short, or arrays that stay in the cache, tell you nothing about large models.
# - *Proof:* `proof-traffic`.
#
# ## The smallest code generator
# How little does it take to generate a program? A generator doesn't even need a graph if the objects write the program themselves.
# Each operation on the following objects returns an object that holds the text of a longer program:


# %% tags=["proof-toy"]
class Text:
    def __init__(self, code):
        self.code = code

    def __add__(self, other):
        return Text(f"np.add({self}, {other})")

    def __mul__(self, other):
        return Text(f"np.multiply({self}, {other})")

    def __repr__(self):
        return self.code


def squared(x, times):
    for _ in range(times):
        x = x * x
    return x


print(chain(4)(Text("x")))
print([repr(squared(Text("x"), times)).count("multiply") for times in range(1, 11)])

# %% [markdown] given="mytorch.compiler:fits mytorch.compiler:groups"
# The first line is a correct program. **Break it** by squaring a number ten times: the function multiplies ten times, but the text
# multiplies 1,023 times, because an expression that is used twice is written out twice. A graph gives each value one name, however often
# it is used, which is why a compiler begins with a trace. The text has a second fault: each nested call allocates a temporary array for
# its result.
#
# ## Build: fusion
# ### Which steps share a kernel?
# One loop can serve several steps only if all of them go over the same elements, so a compiler has to know shapes and dtypes in advance.
# PyTorch runs the graph on fake tensors for this. Yours runs it on the examples and keeps a `Meta` of each result: its shape, its dtype,
# and whether it is contiguous. Neighbours whose results and operands all have the same `Meta` share a kernel, while a sum, a matrix
# multiplication, or a row that broadcasts is a step by itself. `fits` decides that for a step, and `groups` collects neighbours. The cell
# below them groups the steps of a function with a sum in the middle:


# %% tags=["proof-groups"]
def program(x, y):
    scaled = (x * 2 + 1).tanh()
    total = scaled.sum()
    return (scaled * y + scaled).exp() / 2, total


x, y = (mytorch.linspace(low, 1, 6) for low in (0, -1))
traced = graph.simplify(graph.trace(program, x, y))
print(traced)
for group in compiler.groups(traced, compiler.metas(traced, x, y)):
    names, kept = [step.op.name for step in group], [step.op.name for step in compiler.kept_of(group, traced)]
    print(f"{' + '.join(names):22} written to memory: {', '.join(kept)}")

# %% [markdown]
# The rule is simpler than Inductor's, which also fuses operations that broadcast, reductions with what precedes or follows them,
# and steps that aren't neighbours. PyTorch 2.13 generates one kernel for all of `program`, its sum included.
#
# ### How many buffers?
# Inside a kernel, a result exists for one block at a time, and it needs a buffer of that size only until it is read for the last time. So
# buffers can be reused, as a compiler of machine code reuses registers. This is how long the values of GELU are *live*:


# %% hidden=true
def gelu(x):
    return 0.5 * x * (1 + (0.79788456 * (x + 0.044715 * x * x * x)).tanh())


steps = graph.trace(gelu, x).steps
last = {source: position for position, step in enumerate(steps) for source in graph.steps_in(step.args)}
ax, shades = pictures.axes(6.4, 2.9), [pictures.COLOURS[name] for name in ("data", "weight", "index")]
for position, step in enumerate(steps):
    end = last.get(step, len(steps))
    ax.barh(position, end - position, left=position, color=shades[0] if step in last else pictures.COLOURS["result"])
    ax.text(position + 0.1, position, step.op.name, va="center", color="white", weight="bold")
ax.set(yticks=[], xlabel="step of the kernel", xlim=(0, len(steps) + 1), ylim=(len(steps) - 0.5, -0.5))
live = [sum(position <= now < last.get(step, 0) for position, step in enumerate(steps)) for now in range(len(steps))]
pictures.publish(
    ax, alt=f"From which step to which each value is live. Live inside the kernel after each step: {live}."
)

# %% [markdown]
# Each bar runs from the step that computes a value to the last step that reads it. At most two values are live at once, besides the
# result, so two buffers of a block are enough for nine operations. You write this plan in exercise 2 and the generator in exercise 3. The
# text that the generator writes becomes a function with `exec`, and that function is the kernel of a new operation:

# %% tags=["proof-source"]
fused = compiler.fuse(traced, x, y)
print(fused)
print(fused.steps[1].op.source)
print("equal:", [mytorch.equal(*pair) for pair in zip(graph.run(fused, x, y), program(x, y), strict=True)])

# %% [markdown]
# Each line of the loop writes into a buffer that exists already, so the kernel allocates nothing but its slots, the rows of `t`.
# `%2` and `%5` are the buffers for results that leave a kernel. Eight steps have become two kernels and a sum; the first picture
# shows what leads to the result before fusion, and the second one after it:

# %%
label = {step: step.op.name for step in (*traced.steps, *fused.steps)}
pictures.graph(traced.output[0], children=lambda step: graph.steps_in(step.args), label=lambda s: label.get(s, "input"))

# %%
writers = {step.args[0]: step for step in fused.steps if isinstance(step.op, compiler.Kernel)}
pictures.graph(
    writers[fused.output[0]],
    children=lambda step: [writers.get(source, source) for source in graph.steps_in(step.args[1:] if step.op else ())],
    label=lambda step: label.get(step, "input"),
)

# %% [markdown]
# PyTorch 2.13 generates a single kernel for GELU, too, in C++ on a CPU and in Triton on a GPU. This is the beginning of the C++
# kernel, shortened:
#
# ```text
# cpp_fused_add_mul_tanh_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
#     #pragma omp for
#     for(int64_t x0=0; x0<100000; x0+=16)
#         auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + x0, 16);
# ```
#
# Where your loop has blocks of 65,536 elements in the cache, this one has vectors of 16 elements, whose intermediate results stay
# in registers. `TORCH_LOGS="output_code"` prints all of it.
#
# **Interview · What does Inductor generate for a chain of elementwise operations?**
#
# - *Thirty seconds:* Inductor generates one loop for the whole chain: a Triton kernel on a GPU, and vectorized C++ with OpenMP on a
#   CPU. Each element is loaded once, goes through all operations in registers, and is stored once. Inductor also generates the Python
#   code that allocates the buffers and calls the kernels.
# - *Longer:* Inductor groups nodes by their iteration space, so it fuses a reduction with the elementwise operations before and after it,
#   and it reuses buffers whose value is dead. Matrix multiplications and convolutions stay library calls, unless `mode="max-autotune"`
#   finds a faster Triton template.
# - *They ask next:* How do you see the code? Set `TORCH_LOGS="output_code"`, or `TORCH_COMPILE_DEBUG=1` for a folder with all stages.
# - *The trap:* Many expect CUDA C++, but for NVIDIA GPUs it generates Triton by default.
# - *Proof:* `proof-source`, `proof-groups`.

# %% [markdown] tags=["short"]
# ## Guards and dynamic shapes
# In chapter 08 you guarded tensors, but a real call also has Python arguments, and sizes that change. In exercise 4 you write
# `guards`, which gives a name and a value for everything that a compiled variant takes for granted:

# %% tags=["proof-guards"]
for name, value in compiler.guards((ones(3, 4), ones(4, 1), 2)).items():
    if name.endswith(("shape", "is", "[2]")):
        print(name, "→", value)
scaled = mytorch.compile(lambda x, k: x * k + 1)
with mytorch.no_grad():
    for args in ((ones(3), 2), (ones(4), 2), (ones(4), 3), (ones(4), 3.0), (ones(1), 3)):
        scaled(*args)
        print(len(args[0]), args[1], "variants:", len(scaled.variants), " compiled again because of", scaled.reasons)

# %% [markdown]
# A size is guarded as a symbol, and equal sizes share one, which PyTorch does with `dynamic=True` and calls *duck sizing*. (`args[0] is`
# says which tensors are the same object.) The sizes 0 and 1 stay numbers. To see why, run a graph that was traced for two equal lengths
# on a length of 1:

# %% tags=["proof-zero-one"]
pair = compiler.fuse(graph.trace(lambda x, y: (x + y) * 2, ones(4), ones(4)), ones(4), ones(4))
print("lengths 9 and 9:", graph.run(pair, ones(9), ones(9)).shape)
print("lengths 4 and 1, compiled:", check.error(graph.run, pair, ones(4), ones(1)))
print("lengths 4 and 1, eager:   ", ((ones(4) + ones(1)) * 2).shape)

# %% [markdown]
# A dimension of size 1 broadcasts, so the program means something else there, and one graph can't serve both. The next table compares
# your variants with the graphs that PyTorch 2.13 counts, with `backend=CompileCounter()`:
#
# | the calls, one after the other | variants, mytorch | graphs, PyTorch |
# |---|---|---|
# | `x * k`: k = 2, 3, 4, or 2.0, 3.0, 4.0 | 1, 2, 3 | 1, 2, 2 |
# | `x + y`: both of length 3, 4, 5, then both 1, both 0 | 1, 1, 1, 2, 3 | 1, 2, 2, 3, 4 |
# | `x + y`: two tensors, then the same one twice | 1, 2 | 1, 2 |
# | `x * 2`: without a gradient, then `requires_grad` | 1, 2 | 1, 2 |
# | `x * 2`: `requires_grad`, then under `no_grad` | 1, 2 | 1, 2 |
#
# In the second row, your first variant needs two graphs as well, one for length 3 alone and one for any length. The real difference is
# the first row: PyTorch makes a symbol of a Python number at its second value, while your library compiles again. A learning rate that
# changes in each step is therefore expensive, until `RECOMPILE_LIMIT` variants exist and the function runs eagerly. The limit is eight,
# as in PyTorch:

# %% tags=["proof-limit"]
stepped = mytorch.compile(lambda p, g, lr: p - g * lr)
counts = []
for step in range(12):
    stepped(ones(3), ones(3), 0.1 * 0.9**step)
    counts.append(len(stepped.variants))
print(counts, set(stepped.reasons))

# %% [markdown]
# **Interview · How do dynamic shapes work in `torch.compile`, and why are 0 and 1 special?**
#
# - *Thirty seconds:* The first graph is specialized to the sizes of its example. When a size changes, PyTorch compiles again with a
#   symbol in its place, and computes with the symbol from then on. Sizes 0 and 1 are specialized by default, because a dimension of
#   1 broadcasts and has different strides, so the same code would mean something else.
# - *Longer:* Equal sizes share a symbol at first, so a call in which they differ compiles again. A decision such as `len(x) > 10` becomes
#   a guard on the symbol. Four switches change the start:
#
#   - `mark_dynamic(x, 0)` starts with a symbol and raises an error if the code fixes that size, as `x + torch.ones(4)` does.
#   - `dynamic=True` starts with symbols for all sizes, but specializes silently there, and so does `maybe_mark_dynamic`.
#   - `dynamic=False` has no symbols.
#   - `mark_unbacked(x, 0)` gives a symbol that may be 0 or 1 as well.
# - *They ask next:* What happens to a Python number that changes in each call? An argument becomes a symbol at its second value, whereas
#   a string or a flag is specialized for each value.
# - *The trap:* A last batch that happens to have one row fits no dynamic graph and compiles again in the middle of training.
# - *Proof:* `proof-guards`, `proof-zero-one`, `proof-limit`.
#
# ### Graph breaks
# Where Python needs a value, `graph.Compiled` cuts the trace, and `mytorch.compile` fuses the pieces:


# %% tags=["proof-breaks"]
def gated(x):
    x = x * 2 + 1
    return (x * 0.5 + 1).tanh() if x.sum() > 0 else x * 0.1 - 1


whole, broken = mytorch.compile(chain(4)), mytorch.compile(gated)
for sign in (1, -1):
    whole(ones(1000) * sign), broken(ones(1000) * sign)
    names = [[step.op.name for step in part.steps if step.op.name != "empty_like"] for part in broken.graphs]
    print(*names, sep="\n", end="\n\n")
print("bytes per element:", traffic(broken, ones(1000))[0], " without a break:", traffic(whole, ones(1000))[0])

# %% [markdown]
# Each piece is fused, but no kernel can reach across the break, so values go through memory there. (Each piece of your `Compiled`
# passes on every value that it has made, which costs a few more bytes than necessary.) In PyTorch, `torch._dynamo.explain(f)(x)`
# counts the breaks and names their lines, and `fullgraph=True` raises an error at most of them, as you saw in chapter 08. With a
# gradient your library runs such a function eagerly, because its two passes need a single graph.
#

# %% [markdown]
# ## A backward pass ahead of time
# Eager mode records the backward pass during the forward pass, whereas a compiler can trace both together before either of them runs. The
# *joint graph* takes the inputs and the gradient that will arrive, and returns the result and the gradients:


# %% tags=["proof-joint"]
def joint_of(function):
    def joint(x, arriving):
        x = x.detach().requires_grad_()
        result = function(x)
        return (result, *mytorch.autograd.grad(result, [x], arriving))

    return graph.simplify(graph.trace(joint, x, ones(len(x))))


joint = joint_of(lambda x: (x * x + 1) * x.tanh())
print(joint)
for names in ((), compiler.CHEAP, compiler.UFUNCS):
    forward, backward = compiler.partition(joint, names)
    number = {step: f"%{position}" for position, step in enumerate((*joint.inputs, *joint.steps))}
    print(
        "saved:",
        *[number[value] for value in forward.output[1]],
        " backward:",
        *[step.op.name for step in backward.steps],
    )

# %% [markdown]
# `partition` (exercise 5) divides the joint graph, and it has a choice. A value that the backward pass needs can be **saved**, which
# costs a write and a read, or it can be **computed again** from values that are saved anyway. The three lines about `saved` recompute
# nothing, then the cheap operations, then everything. In a fused kernel a multiplication costs next to nothing, while a write and a read
# of a float32 move eight bytes. Choose in the picture what the backward pass of GELU computes again:


# %% hidden=true tags=["proof-saved"]
def moved_by(again):
    whole = joint_of(gelu)
    forward, backward = compiler.partition(whole, again)
    forward = compiler.fuse(forward, x)
    saved = graph.run(forward, x)[1]
    backward = compiler.fuse(backward, *saved, ones(len(x)))
    first = traffic(lambda x: graph.run(forward, x), x)[0]
    return first, traffic(lambda g: graph.run(backward, *saved, g), ones(len(x)))[0]


CHOICES = {"nothing": (), "cheap operations": compiler.CHEAP, "everything": compiler.UFUNCS}


def bars(again):
    ax, found = pictures.axes(6.4, 1.9), moved_by(CHOICES[again])
    drawn = ax.barh(range(2), found, color=[pictures.COLOURS["data"], pictures.COLOURS["gradient"]])
    ax.bar_label(drawn, padding=4)
    ax.set(
        yticks=range(2), yticklabels=["forward", "backward"], xlabel="bytes per element", xlim=(0, 60), ylim=(1.6, -0.6)
    )
    return pictures.publish(
        ax, alt=f"GELU computes again: {again}. Forward {found[0]}, backward {found[1]} bytes per element."
    )


leaf = x.detach().requires_grad_()
print("eager:", traffic(lambda x: mytorch.autograd.grad(gelu(x), [x], ones(len(x))), leaf)[0], "bytes per element")
print({name: sum(moved_by(again)) for name, again in CHOICES.items()})
pictures.slider(bars, start={"again": "nothing"}, again=list(CHOICES))

# %% [markdown]
# PyTorch makes the same choice with a minimum cut through the joint graph. For this GELU, eager mode saves six tensors of the size of
# `x`. With `backend="aot_eager"` it saves two, the input and the `tanh`, as your library does when it computes cheap operations again.
# With `backend="inductor"` it saves only the input, because it recomputes even the `tanh`.
#
# **Interview · What does AOTAutograd produce, and what is saved for the backward pass?**
#
# - *Thirty seconds:* It traces the forward and the backward pass into one joint graph of ATen operators, before anything runs. A
#   partitioner divides the graph in two and decides which values the forward graph saves and which ones the backward graph computes
#   again. Inductor then compiles both.
# - *Longer:* The default partitioner finds a minimum cut, in which an edge costs the bytes of its tensor and expensive operators
#   can't be recomputed. It is activation checkpointing for elementwise operations, chosen by the compiler. The result's `grad_fn`
#   is `CompiledFunctionBackward`.
# - *They ask next:* Can you differentiate twice? Not through a compiled function: PyTorch 2.13 raises "torch.compile with
#   aot_autograd does not currently support double backward".
# - *The trap:* Recomputing doesn't always cost time. In a kernel that waits for memory, it often saves time and memory together.
# - *Proof:* `proof-joint`, `proof-saved`.
#
# ### In-place operations
# A graph with writes can't be reordered freely: every read of a tensor has to stay on its side of the write. Your tracer
# therefore refuses writes:


# %% tags=["proof-writes"]
def writes(x):
    y = x * 2
    y.add_(1)
    return y


print(check.error(graph.trace, writes, ones(2)))
print([step.op.name for step in graph.trace(lambda x: x * 2 + 1, ones(2)).steps])

# %% [markdown]
# AOTAutograd *functionalizes* instead, which means that it rewrites each write as an operation with a new result, as in the
# second line. A write into a part, `y[0].mul_(2)`, becomes `select`, `mul` and `select_scatter`. Since a write into an *input*
# must be visible afterwards, the graph returns the new value as one more output, which is then copied into the input:
#
# ```text
# def forward(self, arg0_1):                  # x.add_(1); return x * 2
#     add = torch.ops.aten.add.Tensor(arg0_1, 1)
#     mul = torch.ops.aten.mul.Tensor(add, 2)
#     return (add, mul)
# ```
#
# **Interview · What happens to in-place operations in a compiled function?**
#
# - *Thirty seconds:* AOTAutograd functionalizes them: each write becomes an operation with a new result, and later reads use that. If an
#   input was written to, the new value becomes an extra output, which is copied into the input at the end. The generated code may write
#   in place again where that is safe.
# - *Longer:* Views are the hard part: a write through a view becomes a scatter into its base, from which the other views are taken again.
#   Inputs that may share memory are guarded, since the order of writes matters between them.
# - *They ask next:* Do in-place operations save memory in compiled code? Hardly, because the compiler plans buffers itself.
# - *The trap:* If each call writes to an input, the copy at the end remains, and such inputs can keep CUDA graphs from being used.
# - *Proof:* `proof-writes`.
#
# ## Milestone: an optimizer in one kernel
# `mytorch.compile` puts the pieces together: it chooses a variant by its guards and captures a new one where there is none. Now
# you can compile a whole optimizer step, RMSprop with momentum, and compare it with `minitorch.optim`:

# %% tags=["proof-milestone"]
import minitorch as torch


def rmsprop(p, g, square, momentum):
    square = square * 0.99 + g * g * 0.01
    momentum = momentum * 0.9 + g / (square.sqrt() + 1e-8)
    return p - momentum * 0.01, square, momentum


start, target = np.linspace(-1, 1, 1000, dtype=np.float32), np.float32(0.3)
update, state = mytorch.compile(rmsprop), [mytorch.tensor(start), *(mytorch.zeros(1000) for _ in range(2))]
theirs = torch.tensor(start).requires_grad_()
optimizer = torch.optim.RMSprop([theirs], lr=0.01, alpha=0.99, eps=1e-8, momentum=0.9)
for _ in range(20):
    state = list(update(state[0], (state[0] - 0.3) * 2, *state[1:]))
    theirs.grad = (theirs.detach() - 0.3) * 2
    optimizer.step()
print("first three:", state[0][:3].numpy().round(4), theirs[:3].detach().numpy().round(4))
given = state[0], ones(1000), *state[1:]
print("bytes and kernels: eager", traffic(rmsprop, *given), "compiled", traffic(update, *given))

# %% [markdown]
# The parameters agree, and one kernel with four inputs and three results has replaced eleven. `torch.optim.AdamW(fused=True)` is
# such a kernel written by hand; `torch.compile(optimizer.step)` generates one.
#
# ## What compiling costs
# Compiling happens once per variant, and its cost grows with the number of operations in the graph. If a model repeats a block,
# you can compile the block alone:


# %% tags=["proof-regional"]
def block(x, w):
    return ((x * w).tanh() * w + x).tanh()


def model(x, w, each=block):
    for _ in range(12):
        x = each(x, w)
    return x


whole, part = mytorch.compile(model), mytorch.compile(block)
for name, compiled, call in (("whole model", whole, whole), ("one block", part, lambda x, y: model(x, y, part))):
    call(x, y)
    steps = [step for traced in compiled.graphs for step in traced.steps if isinstance(step.op, compiler.Kernel)]
    generated = sum(step.op.source.count("np.") - 1 for step in steps)
    print(f"{name}: {generated} generated operations, {traffic(call, x, y)[1]} kernels per call")

# %% [markdown]
# *Regional compilation* generates a twelfth of the code and runs twelve kernels instead of one. In a transformer, where matrix
# multiplications end most chains anyway, little fusion is lost.
#
# **Interview · Compiling takes ten minutes. What do you do?**
#
# - *Thirty seconds:* I compile the repeated block instead of the model, so that one graph serves all layers. Then I look for
#   recompilations with `TORCH_LOGS="recompiles"`, and keep the compiler's caches on a disk that survives the job.
# - *Longer:* `mode="max-autotune"` benchmarks many variants of each matrix multiplication, so I use it for long runs only. Varying
#   lengths are marked as dynamic or padded to a few sizes. For many identical jobs, `torch.compiler.save_cache_artifacts()` carries a
#   warm cache to other machines.
# - *They ask next:* What does regional compilation lose? Fusion across the borders of blocks.
# - *The trap:* Blocks may differ in an integer attribute, such as a layer number that `forward` reads. Each value is then a variant of its
#   own, and after eight of them the rest runs eagerly.
# - *Proof:* `proof-regional`, `proof-limit`.

# %% [markdown] tags=["short"]
# ## The real one
# In minitorch and in PyTorch, a backend is a function that receives a graph and returns what is to run, so you can look between
# the stages:


# %% tags=["proof-backends"]
def look(module, example_inputs):
    print(*(f"{node.op} {node.name}" for node in module.graph.nodes), sep=", ")
    return module.forward


data = torch.linspace(-1, 1, 6)
torch.compile(lambda x: (x * 2 + 1).tanh(), backend=look)(data)
explained = torch._dynamo.explain(gelu)(data)
print("graphs:", explained.graph_count, " breaks:", explained.graph_break_count)
differences = {
    name: torch.compile(gelu, backend=name)(data) - gelu(data) for name in ("eager", "aot_eager", "inductor")
}
print({name: difference.abs().max().item() for name, difference in differences.items()})

# %% [markdown]
# | stage | your function | what PyTorch adds |
# |---|---|---|
# | Dynamo | `trace`, `guards` | It interprets bytecode, so it sees globals, attributes and random numbers, and guards them. |
# | AOTAutograd | `partition` | Functionalization, decompositions into fewer operators, a minimum cut. |
# | Inductor | `fuse`, `slots`, `source` | Machine code, broadcasting, reductions, fusion of steps that aren't neighbours. |
#
# **Interview · A compiled model gives a different result from the eager one. How do you find the stage?**
#
# - *Thirty seconds:* I swap the backend. `backend="eager"` runs what Dynamo captured, op by op. `"aot_eager"` adds AOTAutograd, and
#   `"inductor"` adds the generated code. The first one that differs names the guilty stage.
# - *Longer:* First I decide which difference counts, since Inductor's kernels may round differently: GELU on 100,000 elements
#   differed from eager mode by 2.4e-7. So I compare both with a float64 run. Random numbers are another source; with
#   `fallback_random=True` in Inductor's config, compiled code draws the same random numbers as eager mode.
# - *They ask next:* What do you do then? The *minifier* (`TORCHDYNAMO_REPRO_AFTER="aot"`, and `TORCHDYNAMO_REPRO_LEVEL=4` for accuracy) reduces
#   the graph to a small script that still fails.
# - *The trap:* It isn't the compiler's fault if a function depends on state which no guard sees, such as a global counter in C code.
# - *Proof:* `proof-backends`.
#
# **Interview · `torch.compile` or `torch.export`: which do you use when?**
#
# - *Thirty seconds:* `torch.compile` is a just-in-time compiler. It stays in the Python process, breaks the graph where it must, and
#   compiles again when a guard fails. `torch.export` makes one whole graph ahead of time, for a runtime without Python, and raises an
#   error where it can't.
# - *Longer:* Both capture with Dynamo's machinery and functionalize. An exported program checks its input constraints instead of
#   recompiling: a different length raises an error, unless you declared the dimension as dynamic. AOTInductor compiles an exported
#   program into a shared library.
# - *They ask next:* What does a data-dependent `if` do in each? `compile` breaks the graph; `export` raises an error, and you rewrite it
#   with `torch.cond` ([chapter 20b](20b_export.ipynb)).
# - *The trap:* Exporting doesn't make training faster; an export is for deployment.
# - *Proof:* `proof-breaks`, `proof-backends`.
#
# ## Common myths
# **"Compiled code computes the same bits."** Yours does, because it calls the same functions of NumPy in the same order, and
# [minitorch's does as well](proof-backends). PyTorch's Inductor doesn't promise it, and its GELU differed from eager mode by 2.4e-7.
#
# **"The compiler removes the temporaries, so training needs no memory for them."** It removes those inside a kernel, but what the
# backward pass needs is [still saved](proof-saved) or computed again.
#
# **"More fusion is always faster."** [The first picture](proof-traffic) has a counterexample.

# %% [markdown] tags=["short"]
# ## Rapid fire
# - *How many kernels does a compiler make of ten elementwise operations in a row?* One, if their shapes agree and nothing breaks
#   the graph.
# - *What does fusing kernels save?* Memory traffic and launches, but no arithmetic.
# - *Which sizes does `torch.compile` treat as constants, however often they change?* 0 and 1 (by default).
# - *Which part of `torch.compile` decides what is saved for the backward pass?* AOTAutograd's partitioner.
# - *What must stay the same from one replay of a CUDA graph to the next?* The addresses of everything it reads and writes.

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A compiler captures a graph, transforms it, and generates code; guards decide whether the code may run.
# 2. Elementwise neighbours of one shape and dtype become one loop.
# 3. Inside a loop a value needs a buffer only while it is live.
# 4. Fused chains are limited by bandwidth: count bytes, not operations.
# 5. A short chain, or data in the cache, gains little from fusion.
# 6. Sizes become symbols at their second value, except 0 and 1, which are specialized by default.
# 7. A joint graph holds both passes, and a partitioner chooses what to save and what to compute again.
# 8. Functionalization turns writes into new values; written inputs are copied back at the end.
# 9. A CUDA graph replays fixed addresses, so clone what you keep.
# 10. To find a faulty stage, try `eager`, `aot_eager` and `inductor` in turn.
#
# ## You try
# In [the exercises](../exercises/08b_a_compiler.ipynb) you predict variants, plan buffers, write the code generator, the guards and the
# partitioner, repair a replay, and measure what saving costs. Exercise 6 needs *CUDA graphs* below. [Chapter
# 09](09_modules_and_parameters.ipynb) gives parameters a home.

# %% [markdown]
# ## If you have time
# ### CUDA graphs
# Small batches have another cost: launching a kernel takes the CPU some 5 µs, whatever the kernel does. Here is an
# estimate for a step of 500 elementwise kernels on a GPU that moves 3 TB/s:

# %% tags=["proof-launches"]
for elements in (4_096, 1_000_000, 100_000_000):
    launches, memory = 500 * 5e-6, 500 * 8 * elements / 3e12
    print(f"{elements:11,} elements: launches {launches * 1e3:.1f} ms, memory {memory * 1e3:.1f} ms")

# %% [markdown]
# With few elements the GPU waits for the CPU, so `mode="reduce-overhead"` records the kernels in a **CUDA graph** and replays all
# of them with a single launch. A recording contains addresses, so each replay reads and writes the same memory, and exercise 6
# is about what follows from that.
#
# **Interview · What does `mode="reduce-overhead"` do, and what can go wrong?**
#
# - *Thirty seconds:* It records the generated kernels in a CUDA graph and replays them with one launch, so the CPU's cost per kernel
#   disappears. That helps when kernels are short, as in decoding with a small batch. A replay uses fixed addresses: inputs are copied
#   into static buffers, and the next replay overwrites the last one's outputs.
# - *Longer:* Nothing in a recording may depend on the CPU: no `item()`, no change of shape. Each new shape is recorded again, and
#   the recordings hold their memory, in a pool that they share.
# - *They ask next:* How do you keep an output? Clone it before the next call; `torch.compiler.cudagraph_mark_step_begin()` tells
#   PyTorch where an iteration begins.
# - *The trap:* Outputs collected in a list over several calls have to be cloned.
# - *Proof:* `proof-launches`.
