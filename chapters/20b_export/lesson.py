# %% [markdown]
# # Export
# After this chapter your own library writes a trained network into a file that other programs run: `onnxruntime`, a
# phone, a web page. LeNet will answer from such a file in a program that has never heard of `mytorch`.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch("20b")  # your library as of this chapter, using your code wherever you've solved the exercise

# %% [markdown] tags=["short"]
# ## A file that brakes at 50
# [Chapter 08](08_static_and_dynamic_graphs.ipynb) traced a function that brakes above 100. ONNX is a file format for graphs
# such as this trace. Write it into a file, and run the file:

# %% tags=["proof-file-brakes"]
import tempfile
from pathlib import Path

import numpy as np

folder = Path(tempfile.mkdtemp())


def brake(speed):
    if speed.sum() > 100:
        return speed * 0.5
    return speed


(folder / "brake.onnx").write_bytes(mytorch.onnx.export(brake, mytorch.tensor([130.0])))
for speed in (130.0, 50.0):
    (from_file,) = mytorch.onnx.run_onnx((folder / "brake.onnx").read_bytes(), np.float32([speed]))
    print("function", brake(mytorch.tensor([speed])).item(), "| file", from_file.item())

# %% [markdown] tags=["short"]
# The file brakes at 50. A trace has no `if`, and nothing in the file can warn you: it holds no Python and no source, only
# operators and a few numbers. What exactly is in there?
#
# ## The bytes
# ONNX uses **protocol buffers**. A message is a sequence of *fields*. Each field consists of its number, the kind of its value, and
# the value. Nine lines are enough to read short ones:


# %%
def read(data):
    while data:
        number, kind = data[0] >> 3, data[0] & 7
        if kind == 2:  # text or bytes, after their length; also a message inside this one
            value, data = data[2 : 2 + data[1]], data[2 + data[1] :]
        else:  # kind 0: an integer
            value, data = data[1], data[2:]
        yield number, value


node = mytorch.onnx.messages.node("Mul", ["speed", "half"], "slower", {})
print(list(read(node)))

# %% [markdown]
# Field 1 is an input, 2 an output, 3 a name and 4 the operator. The names of the fields aren't in the file. Whoever reads it
# needs the list of numbers, `onnx.proto`. A whole model is built this way: the model's field 7 is a message with the graph,
# whose field 1, many times, is a message with a node.
#
# ### Break it

# %% tags=["proof-varint"]
for number in (5, 300, -1):
    data = mytorch.onnx.protobuf.message({1: number})
    print(f"{number:3} is read as {next(read(data))[1]:3}, from {data.hex(' ')}")

# %% [markdown]
# A byte holds 0 to 255, so the toy fails at 300. Integers are **varints**: 7 bits of the number in each byte, the lowest
# first. The top bit says whether more bytes follow. Move the slider:


# %%
from course import pictures


def draw(number):
    data = mytorch.onnx.protobuf.varint(number)
    ax = pictures.axes(6.4, 1.5)
    for place, byte in enumerate(data):
        for bit, digit in enumerate(f"{byte:08b}"):
            colour = pictures.COLOURS["data" if bit else "result"]
            ax.barh(0, 0.9, left=place * 9 + bit, color=colour, alpha=0.9 if digit == "1" else 0.25)
            ax.text(place * 9 + bit + 0.45, 0, digit, ha="center", va="center", color="white" if digit == "1" else None)
    ax.set(yticks=[], xticks=[], title=f"{number} in {len(data)} byte{'s' * (len(data) > 1)}; orange: do more follow?")
    return pictures.publish(ax, alt=f"{number} as a varint: {' '.join(f'{byte:08b}' for byte in data)}.")


pictures.slider(draw, start={"number": 300}, number=[1, 127, 128, 300, 20_000, -1])

# %% [markdown] tags=["short"]
# You write `varint` and `field` in exercise 2. Each weight tensor has a field with its bytes as they are in memory, so a file
# is about as large as the weights. A message can't be larger than 2 GB, so larger models keep their weights in a second file
# beside the first.
#
# ## Steps become nodes
# Here is a network, traced and simplified as in chapter 08, and the nodes of its file. `operators` reads them with `mytorch`'s
# own reader:


# %% tags=["proof-nodes"]
fields, layers = mytorch.onnx.runtime.fields, mytorch.nn


def operators(data):
    graph = fields(fields(data)[7][0])
    return [fields(node)[4][0].decode() for node in graph[1]]


mytorch.manual_seed(0)
mlp = layers.Sequential(layers.Linear(4, 16), layers.ReLU(), layers.Linear(16, 3)).eval()
x = mytorch.randn(5, 4)
print(mytorch.graph.simplify(mytorch.graph.trace(mlp, x)))
data = mytorch.onnx.export(mlp, x)
print(operators(data), f"in {len(data)} bytes, {4 * sum(p.numel() for p in mlp.parameters())} of them weights")

# %% [markdown]
# The file can't run by itself. It names operators and holds the weights. `Gemm` is ONNX's name for a matrix product plus a
# bias, so two steps became one node. A table says what each operation of `mytorch` is in ONNX, and most of its entries are one
# line.

# %% [markdown] given="mytorch.onnx.writing:gemm mytorch.onnx.writing:conv"
# ### In `mytorch`
# ONNX's `Conv` wants a padding for each of the four sides, and its `Gemm` multiplies matrices only:

# %% [markdown]
# **Interview · What is in an ONNX file?**
#
# - *Thirty seconds:* A graph in protocol buffers: nodes with an operator, names of inputs and outputs, and attributes; the
#   weights; types and shapes of inputs and outputs; the version of the list of operators, the *opset*.
# - *Longer:* The file holds the numbers of fields, and not their names. Readers skip fields they don't know, so the format can grow.
# - *They ask next:* What isn't in it? Python, the `if` that was decided, the training mode, and your preprocessing, unless you put
#   it into `forward`.
# - *The trap:* Believing that the file is the model. It holds what the model did for one example.
# - *Proof:* `proof-file-brakes`, `proof-nodes`.
#
# ## The batch size
# A convolutional network flattens its images. What does the trace remember of that?

# %% tags=["proof-fixed-batch"]
from course import check

mytorch.manual_seed(0)
cnn = layers.Sequential(
    *[layers.Conv2d(1, 4, 3, padding=1), layers.BatchNorm2d(4), layers.ReLU(), layers.MaxPool2d(2)],
    *[layers.Conv2d(4, 8, 3, padding=1), layers.BatchNorm2d(8), layers.ReLU(), layers.MaxPool2d(2)],
    *[layers.Flatten(), layers.Linear(32, 10)],
)
for _ in range(10):
    cnn(mytorch.randn(16, 1, 8, 8) + 1)  # so that the running statistics aren't zeros and ones
cnn.eval()
two, three = mytorch.rand(2, 1, 8, 8), mytorch.rand(3, 1, 8, 8)
fixed = mytorch.onnx.export(cnn, two, batch=None)
print(repr(check.error(mytorch.onnx.run_onnx, fixed, three.array)))

# %% [markdown]
# `flatten` became a `Reshape` to (2, 32), because the example had two rows. One trace doesn't tell you which 2 is the batch
# size. So trace twice, with batches of two sizes: **what differs depends on the batch**.

# %% tags=["proof-two-traces"]
graph, onnx = mytorch.graph, mytorch.onnx


def traced(function, x):
    with mytorch.no_grad():
        return onnx.fuse(graph.simplify(graph.trace(function, x)))


one, other = traced(cnn, two), traced(cnn, three)
for each in (one, other, onnx.generalize(one, other)):
    print([step.args[1] for step in each.steps if step.op.name == "view"])
print(check.error(onnx.export, lambda x: x / len(x), two))
print(onnx.run_onnx(onnx.export(cnn, two), three.array)[0].shape)

# %% [markdown]
# In a view, the length that differs becomes −1, which ONNX works out by itself. Where anything else differs, as in
# `x / len(x)`, the export is refused. That is better than a file that always divides by 2. You write `generalize` in exercise 3.
#
# PyTorch doesn't trace twice. It traces with symbols for lengths, and follows what becomes of them, so its file for
# `x / len(x)` divides by the size of each batch. Without `dynamic_shapes` it fixes the lengths: for another batch, its exported
# program says `Guard failed: input.size()[0] == 3`.
#
# **Interview · What are dynamic axes?**
#
# - *Thirty seconds:* Lengths that stay open in the file, under a name. By default an export fixes every length to the
#   example's. `dynamic_shapes={"x": {0: "batch"}}` opens one.
# - *Longer:* Each operation in between must be expressible with the open length: a `Reshape` to −1, or sizes computed by nodes
#   from the input's shape.
# - *They ask next:* How do you test it? Run the file on other batch sizes, one among them.
# - *The trap:* `len(x)` or a hard-coded batch size inside `forward`. A trace (`dynamo=False`) keeps the number. PyTorch's default
#   exporter follows `len(x)` and refuses the hard-coded one.
# - *Proof:* `proof-fixed-batch`, `proof-two-traces`.
#
# ## Folding
# In `mytorch` a convolution isn't a single operation. This is one convolution with its batch norm, as recorded:

# %% tags=["proof-folding"]
recorded = graph.trace(cnn[:2], two)
print([step.op.name for step in recorded.steps])
simple = graph.simplify(recorded)
print([step.op.name for step in simple.steps])
print([step.op.name for step in onnx.fuse(simple).steps])
pictures.graph(
    simple.output,
    children=lambda step: graph.steps_in(step.args),
    label=lambda step: step.op.name if step.op else "input",
    kind=lambda step: "op" if step.op else "leaf",
)

# %% [markdown] given="mytorch.onnx.fusing:recognize"
# Three things happened. The simplification of chapter 08 folded what doesn't depend on an input: reshaped weights, and
# `1 / √(var + eps)`. Then the steps of a convolution were recognized as a whole, by their pattern:

# %% [markdown]
# Finally, the batch norm went *into* the convolution. In evaluation mode it is a scale and a shift for each channel, as
# [chapter 12](12_norm_dropout_and_modes.ipynb) shows. A convolution is linear in its weights, so both go into weight and bias: w′ = s·w, and
# b′ = s·(b − mean) + shift. That is `fold`, in exercise 3. PyTorch's exporter folds batch norms, too: its file of such a
# network is `Conv`, `Relu`, `Reshape`, `Gemm`.

# %% tags=["proof-counts"]
counts = {}
for name, function, example in (("MLP", mlp, x), ("CNN", cnn, two)):
    whole = graph.trace(function, example)
    simple = graph.simplify(whole)
    counts[name] = [len(each.steps) for each in (whole, simple, onnx.fuse(simple))]
print(counts)
alt = f"Steps as recorded, with constants folded, with layers fused: {counts}."
pictures.curves(counts, [0, 1, 2], xlabel="0 recorded, 1 constants folded, 2 layers fused", ylabel="steps", alt=alt)

# %% [markdown]
# **Interview · What do you fold before you ship a model?**
#
# - *Thirty seconds:* Constants: everything that depends on no input. Batch norm into the layer before it. Then neighbours
#   that the runtime has one operator for.
# - *Longer:* Runtimes do much of this again when they load a file. Fold before you quantize, or the ranges of the weights
#   are wrong.
# - *They ask next:* When can't batch norm be folded? In training, since its statistics come from the batch; and when something
#   stands between it and the layer, such as a ReLU.
# - *The trap:* Training the folded model further. Its batch norms are gone.
# - *Proof:* `proof-folding`, `proof-counts`.
#
# ## A runtime
# To run a file you need a dict of values by name, and a table of kernels. Then you go from node to node: look up the inputs,
# call the kernel, store the output. `run_onnx` is exercise 4; here are two of its kernels:

# %% [markdown] given="mytorch.onnx.runtime:windows mytorch.onnx.runtime:conv"
# ### A convolution without `mytorch`
# `runtime.py` imports NumPy alone:

# %% [markdown]
# ### Milestone: LeNet without a library
# This is chapter 12's LeNet, with batch norms and two epochs of training. Its file, and a copy of `runtime.py`, go
# into an empty folder. A new Python process reads 450 digits there:

# %% tags=["proof-LeNet"]
import inspect
import subprocess
import sys

from minitorch.models import lenet
from sklearn.datasets import load_digits

program = {"__name__": "lenet_on_mytorch"}
exec(inspect.getsource(lenet).replace("minitorch", "mytorch"), program)
data, net = load_digits(), program["LeNet"]()
images = (data.images.astype("float32") / 16)[:, None].repeat(4, 2).repeat(4, 3)
train, test = np.split(np.random.default_rng(0).permutation(1797), [1347])
for name, channels in {"conv1": 6, "conv2": 16}.items():
    setattr(net, name, layers.Sequential(getattr(net, name), layers.BatchNorm2d(channels)))
optimizer, loss_of = mytorch.optim.Adam(net.parameters(), lr=0.003), layers.CrossEntropyLoss()
for some in [*train[:1344].reshape(42, 32)] * 2:
    optimizer.zero_grad()
    loss_of(net(mytorch.tensor(images[some])), mytorch.tensor(data.target[some])).backward()
    optimizer.step()

digits = mytorch.tensor(images[test])
(folder / "lenet.onnx").write_bytes(onnx.export(net.eval(), digits[:2]))
(folder / "runtime.py").write_text(inspect.getsource(onnx.runtime))
np.save(folder / "digits.npy", images[test])
script = """import sys, numpy as np, runtime
(scores,) = runtime.run_onnx(open("lenet.onnx", "rb").read(), np.load("digits.npy"))
np.save("scores.npy", scores)
print(len(scores), "digits; modules called torch:", [name for name in sys.modules if "torch" in name])"""
print(subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True).stdout, end="")
with mytorch.no_grad():
    scores, found = net(digits).array, np.load(folder / "scores.npy")
same, off = (scores.argmax(1) == found.argmax(1)).sum(), (abs(scores - found) > 0.001).sum()
print(f"the same answers: {same}; scores that are off by 0.001: {off}")
print(operators((folder / "lenet.onnx").read_bytes()))

# %% [markdown]
# The tests of this course run the same files in `onnxruntime`, and `onnx.checker` accepts them.
#
# ## It disagrees
# Sometimes a file gives other answers than the model. A classic cause: TensorFlow's `padding="SAME"` with stride 2 isn't
# PyTorch's `padding=1`.

# %% tags=["proof-same"]
import minitorch as torch
from minitorch.nn import functional as F

row, kernel = torch.arange(8.0).reshape(1, 1, 8), torch.ones(1, 1, 3)
print("padding=1", F.conv1d(row, kernel, stride=2, padding=1).flatten().tolist())
print("SAME     ", F.conv1d(F.pad(row, (0, 1)), kernel, stride=2).flatten().tolist())

# %% [markdown]
# SAME pads only as much as it must, and if that is an odd number, the extra zero goes to the end. Here it adds one zero on the
# right and none on the left. The shapes agree, but the numbers don't. To find such a node, make each intermediate result an
# output of the file, and compare them in order. The bad file below has a fault of that kind before its second convolution:


# %% tags=["proof-first-difference"]
def stages(shift):
    def forward(x):
        found = []
        for place, layer in enumerate(cnn):
            if place == 4:
                x = mytorch.cat([x[:, :, shift:], x[:, :, :shift]], 2)  # the fault: rows are moved by one
            found.append(x := layer(x))
        return tuple(found)

    return forward


right, wrong = (onnx.run_onnx(onnx.export(stages(shift), two), three.array) for shift in (0, 1))
expected = [each.detach().array for each in stages(0)(three)]
errors = {
    name: [max(1e-8, float(abs(a - b).max() / abs(b).max())) for a, b in zip(found, expected, strict=True)]
    for name, found in {"good file": right, "bad file": wrong}.items()
}
first = next(place for place, error in enumerate(errors["bad file"]) if error > 1e-4)
print(f"first wrong stage: {first}, {type(cnn[first]).__name__}")
alt = f"The good file stays below 1e-5 at all stages; the bad one jumps at stage {first} and stays high."
pictures.curves(errors, list(range(10)), xlabel="stage", ylabel="largest relative error", log="y", alt=alt)

# %% [markdown]
# **Interview · The exported model disagrees. How do you find the node?**
#
# - *Thirty seconds:* Same input to both, in evaluation mode. Make intermediate results outputs, and look for the first one that
#   differs by more than rounding. Bisect if there are many.
# - *Longer:* Compare relative errors with a tolerance for each layer. Float32 gives 1e-6, float16 about 1e-3.
# - *They ask next:* Shapes agree and values don't: what do you suspect? Padding (SAME), the layout (NHWC), epsilon, the order of
#   preprocessing.
# - *The trap:* Comparing only the final class. It can agree while the scores are off.
# - *Proof:* `proof-first-difference`, `proof-same`.
#
# ### In training mode
# What becomes of dropout, if you forget `eval()`?

# %% tags=["proof-train-mode"]
mytorch.manual_seed(0)
drop, ones = layers.Dropout(0.5), mytorch.ones(1, 8)
print("model:", *(drop(ones).array.astype(int)[0] for _ in range(2)))
forgotten = onnx.export(drop, ones, batch=None)
print("file: ", *(onnx.run_onnx(forgotten, ones.array)[0].astype(int)[0] for _ in range(2)))

# %% [markdown] tags=["short"]
# `mytorch`'s file keeps one dropout mask forever. With an open batch the export would have been refused, because the masks of
# two traces differ. PyTorch's exporter warns, and its file has a `Dropout` node in training mode: each run drops other numbers.
#
# **Interview · What do you check before you ship an exported model?**
#
# - *Thirty seconds:* `eval()` before the export. Answers of the file against the model's, on real data, several batch sizes and
#   the extremes. The same preprocessing.
# - *Longer:* Put normalization and softmax into the exported module, so that nobody has to repeat them.
# - *They ask next:* Which tolerance? 1e-5 in float32 at first; with half precision or int8, compare the metric.
# - *The trap:* Testing the file with the example that it was traced with.
# - *Proof:* `proof-train-mode`, `proof-fixed-batch`.
#
# ## Who captures what · `torch.export`
# `torch.onnx.export` has had `dynamo=True` as its default since PyTorch 2.9. It captures the program with `torch.export`, which
# refuses one whose `if` depends on a tensor's value. minitorch refuses it, too:


# %% tags=["proof-refuses"]
import warnings


class Brake(torch.nn.Module):
    def forward(self, speed):
        return brake(speed)


slowed, fast = Brake().eval(), (torch.tensor([130.0]),)
print(str(check.error(torch.onnx.export, slowed, fast)).partition(". ")[2])
with warnings.catch_warnings(record=True) as said:
    torch.onnx.export(slowed, fast, folder / "old.onnx", dynamo=False)
print(said[0].category.__name__, onnx.run_onnx((folder / "old.onnx").read_bytes(), np.float32([50]))[0])

# %% [markdown]
# minitorch refuses more than PyTorch does: `x * x.sum().item()` decides nothing, and PyTorch exports it.
#
# This is what the real PyTorch 2.13 makes of `brake`, captured at 130 and called with 50:
#
# | captured with | answer at 50 | why |
# |---|---|---|
# | `torch.jit.trace` | 25 | keeps the example's branch, with a `TracerWarning` |
# | `torch.jit.script` | 50 | compiles the source, with the `if` in it |
# | `torch.compile` | 50 | the graph breaks at the `if`, and Python decides |
# | `torch.export` | refused | wants one whole graph: "Could not guard on data-dependent expression" |
# | `torch.export`, with `torch.cond` | 50 | both branches are in the graph; in ONNX, an `If` node |
#
# `trace` and `script` are deprecated.
#
# **Interview · Trace, script, compile, export: which captures what?**
#
# - *Thirty seconds:* Trace records the operations of one run. Script compiles Python source. Compile captures pieces, guards
#   them, and falls back to Python. Export captures one whole graph or refuses.
# - *Longer:* A traced, scripted or exported program can run without Python. A compiled one needs Python for its guards and graph
#   breaks.
# - *They ask next:* How do you export an `if`? `torch.where` if both sides are cheap, `torch.cond` otherwise.
# - *The trap:* "If it compiles, it exports." A graph break is fine for one and fatal for the other.
# - *Proof:* `proof-refuses`, and the guards of [chapter 08](08_static_and_dynamic_graphs.ipynb).
#
# ### Myth · "PyTorch exports to ONNX for Caffe2, and runs the model once"
# Caffe2 is gone. What runs the model, and how often, depends on the exporter:

# %% tags=["proof-exporter-calls"]
calls = []


class Counted(torch.nn.Module):
    def forward(self, x):
        calls.append(tuple(x.shape))
        return x * 2


torch.onnx.export(Counted().eval(), (torch.ones(3, 2),), dynamic_shapes=({0: "batch"},))
print(
    "dynamo is",
    inspect.signature(torch.onnx.export).parameters["dynamo"].default,
    "by default; minitorch ran it on",
    calls,
)

# %% [markdown]
# minitorch traces twice for an open batch. PyTorch runs `forward` once, on *fake tensors*, which have shapes and no numbers.
# That exporter needs the package `onnxscript`.
#
# ### Myth · "TorchScript is how PyTorch is deployed"
# It was. `torch.jit.script` says "deprecated. Please switch to `torch.compile` or `torch.export`". Today an exported program
# goes to AOTInductor, ExecuTorch or ONNX.
#
# ### Myth · "ONNX is faster"
# ONNX is only a format. LeNet's file ran in NumPy above. How fast it runs depends on the runtime.

# %% tags=["proof-format"]
file = (folder / "lenet.onnx").read_bytes()
weights = sum(parameter.numel() for parameter in net.parameters()) * 4
print(f"{len(file) // 1000} kB: {weights // 1000} kB of weights, {len(operators(file))} names of operators")

# %% [markdown]
# ## The real one
# minitorch opens any length, under any number of names. Where yours has a −1, it has an `Open`, which knows by how much it
# grew:

# %%
from minitorch.onnx.sizes import Open

print(inspect.getsource(Open.line))

# %% [markdown] tags=["short"]
# A size that grew by `factor` when the length grew by one is factor · length + rest. That becomes nodes: `Shape` of the input,
# `Mul`, `Add`. With a batch *and* a sequence length, a view can have two open lengths, and one −1 isn't enough.
#
# ## Rapid fire
# 1. Does `torch.onnx.export` train the model? No, but a trace in training mode can update a batch norm's running statistics.
# 2. Are optimizer states in an ONNX file? No, only what `forward` needs.
# 3. In protobuf, does a negative integer take more bytes than a large positive one? Yes, ten.
# 4. Does a for loop over layers survive the export to ONNX? No, it is unrolled.
# 5. What is ONNX's opset? The version of the list of operators.

# %% tags=["proof-rapid-fire"]
print("2.", len(fields(fields(file)[7][0])[5]), "tensors: 5 weights, 5 biases, 1 size")
print("3.", [len(onnx.protobuf.varint(number)) for number in (-1, 2**62)])
print("4.", operators(onnx.export(lambda x: [x := x.exp() for _ in range(3)][-1], two)))
print("5.", fields(fields(file)[8][0])[2])

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. An ONNX file is a graph, weights and types. It holds no Python.
# 2. A protobuf field: number and kind, then the value; integers are varints.
# 3. What Python decides is decided at export.
# 4. An export fixes lengths unless told otherwise.
# 5. Two traces show what depends on the batch.
# 6. Fold constants, then batch norms into the layers before them.
# 7. A runtime is a dict of values and a table of kernels.
# 8. `eval()` first; then compare on several batches.
# 9. If it disagrees, find the first intermediate result that differs.
# 10. `torch.export` wants one graph; `torch.cond` and `torch.where` put decisions into it.
#
# ## You try
# [The exercises](../exercises/20b_export.ipynb): predict the bytes of fields; write the protobuf writer, the folding with the
# open batch, and the runtime for `mytorch`; repair a service that answers from a training run; and measure what a block of
# layers costs before and after folding. [Chapter 21](21_features_and_visualization.ipynb) looks inside trained networks.
