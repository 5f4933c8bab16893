# %% [markdown]
# # Export
# When a model leaves Python as a file, what does the file keep of the program, what happens to the batch size, and why do its outputs
# sometimes differ from the model's? You will look into such a file, execute it node by node, and then answer each of these questions. At
# the end, LeNet runs from a file in a program that doesn't contain `mytorch`.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch("20b")  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## A file that brakes at 50
# [Chapter 08](08_static_and_dynamic_graphs.ipynb) traced a function that brakes above 100. ONNX is a file format for such graphs, so export
# the function at speed 130, run the file at two speeds, and compare it with the function:

# %% tags=["proof-file-brakes"]
import numpy as np

onnx, graph, layers = mytorch.onnx, mytorch.graph, mytorch.nn


def brake(speed):
    if speed.sum() > 100:
        return speed * 0.5
    return speed


brake_file = onnx.export(brake, mytorch.tensor([130.0]))
for speed in (130.0, 50.0):
    (from_file,) = onnx.run_onnx(brake_file, np.float32([speed]))
    print("function", brake(mytorch.tensor([speed])).item(), "| file", from_file.item())

# %% [markdown] tags=["short"]
# The file brakes at 50 as well, so something of the function got lost. To see what, look into the file.
#
# ## What is in an ONNX file?
# An ONNX file is a tree of numbered *fields*. Field 7 of the file is the graph, and the graph's field 1 holds the nodes. In a node,
# fields 1, 2 and 4 are its inputs, its outputs and its operator. So a few lines of Python list the nodes (*The bytes* at the end shows
# how a field is stored):

# %% tags=["proof-nodes-of-brake"]
fields = onnx.runtime.fields


def nodes(data):
    """Operator, inputs and outputs of each node of an ONNX file."""
    (graph_bytes,) = fields(data)[7]
    listed = []
    for node_bytes in fields(graph_bytes)[1]:
        node = fields(node_bytes)
        inputs, outputs = (b" ".join(node.get(number, [])).decode() for number in (1, 2))
        listed.append((node[4][0].decode(), inputs, outputs))
    return listed


for operator, inputs, outputs in nodes(brake_file):
    print(f"{outputs} = {operator}({inputs})")

# %% [markdown]
# The whole function has become one multiplication by a constant. A trace has no `if`, and nothing in the file can warn you.
#
# What does the file of a network look like, which has weights as well? This one is traced and simplified as in chapter 08, and below the
# trace are the nodes of its file:

# %% tags=["proof-nodes"]
mytorch.manual_seed(0)
mlp = layers.Sequential(layers.Linear(4, 16), layers.ReLU(), layers.Linear(16, 3)).eval()
x = mytorch.randn(5, 4)
print(graph.simplify(graph.trace(mlp, x)))
mlp_file = onnx.export(mlp, x)
print([operator for operator, *_ in nodes(mlp_file)])
weights = 4 * sum(parameter.numel() for parameter in mlp.parameters())
print(f"{len(mlp_file)} bytes, {weights} of them weights")

# %% [markdown]
# Two steps became one node, because `Gemm` is ONNX's name for a matrix multiplication plus a bias. A table maps each operation of `mytorch`
# to its ONNX operator, mostly in one line, and an operation that isn't in the table makes the export raise an error.

# %% [markdown]
# **Interview · What is in an ONNX file?**
#
# - *Thirty seconds:* A graph in protocol buffers: each node has an operator, attributes, and the names of its inputs and outputs.
#   The file also holds the weights, the types and shapes of inputs and outputs, and the *opset*, the version of the operator list.
# - *Longer:* PyTorch's default exporter puts the weights into a second file, `m.onnx.data`, because a protobuf message can't be
#   larger than 2 GB. Ship both, or pass `external_data=False` for a small model.
# - *They ask next:* What isn't in it? The Python code, the branch that wasn't taken, the training mode, and your preprocessing,
#   unless you put it into `forward`.
# - *They ask next:* The exporter doesn't support an operator. What do you do? First I try a newer opset, since each version adds
#   operators. Otherwise I rewrite the code with existing ones, and the last resort is a custom operator, which every target runtime
#   has to implement.
# - *The trap:* People take the file for the model, although it holds only what the model did for one example.
# - *Proof:* `proof-nodes-of-brake`, `proof-nodes`; the error: `proof-rapid-fire`.
#
# ## A runtime: a dict of values and a table of kernels
# The file can't run by itself, because all it has is weights and the names of operators. A *runtime* brings the rest: it keeps a dict of
# values by name and a table of kernels. It goes from node to node, looks up the inputs, calls the kernel, and stores the output.
#
# Do this by hand for `mlp`, whose three nodes are `Gemm`, `Relu` and `Gemm`:

# %% tags=["proof-by-hand"]
weight_1, bias_1, weight_2, bias_2 = (parameter.array for parameter in mlp.parameters())
values = {"x": x.array}
values["a"] = values["x"] @ weight_1.T + bias_1  # Gemm
values["b"] = np.maximum(values["a"], 0)  # Relu
values["c"] = values["b"] @ weight_2.T + bias_2  # Gemm
(from_file,) = onnx.run_onnx(mlp_file, x.array)
print(f"by hand and from the file: largest difference {abs(values['c'] - from_file).max():.5f}")

# %% [markdown]
# In exercise 4 you write `run_onnx`, which does this for any file whose operators have a kernel.
#
# ## Dynamic shapes: the batch size
# When a convolutional network flattens its images, what does the trace record about the batch size?

# %% tags=["proof-fixed-batch"]
from course import check

mytorch.manual_seed(0)
cnn = layers.Sequential(
    layers.Conv2d(1, 4, 3, padding=1),
    layers.BatchNorm2d(4),
    layers.ReLU(),
    layers.MaxPool2d(2),
    layers.Conv2d(4, 8, 3, padding=1),
    layers.BatchNorm2d(8),
    layers.ReLU(),
    layers.MaxPool2d(2),
    layers.Flatten(),
    layers.Linear(32, 10),
)
for _ in range(10):
    cnn(mytorch.randn(16, 1, 8, 8) + 1)  # so that the running statistics aren't zeros and ones
cnn.eval()
two, three = mytorch.rand(2, 1, 8, 8), mytorch.rand(3, 1, 8, 8)
fixed = onnx.export(cnn, two, batch=None)
print(repr(check.error(onnx.run_onnx, fixed, three.array)))

# %% [markdown] tags=["short"]
# `mytorch` records `flatten` as a `Reshape` to (2, 32), because the example had two rows. One trace doesn't show which 2 is the
# batch size, so `mytorch` traces twice, with two batch sizes: **whatever differs depends on the batch**.


# %% tags=["proof-two-traces"]
def traced(function, x):
    with mytorch.no_grad():
        return onnx.fuse(graph.simplify(graph.trace(function, x)))


of_two, of_three = traced(cnn, two), traced(cnn, three)
traces = {"two rows": of_two, "three rows": of_three, "compared": onnx.generalize(of_two, of_three)}
for name, trace in traces.items():
    (size,) = [step.args[1] for step in trace.steps if step.op.name == "view"]
    print(f"{name:10} flatten to {size}")
(from_file,) = onnx.run_onnx(onnx.export(cnn, two), three.array)
print("the file, run on three rows, returns", from_file.shape)
print("x / len(x) is refused:", check.error(onnx.export, lambda x: x / len(x), two))

# %% [markdown] tags=["short"]
# Where a view's sizes differ, the export writes −1 and lets the runtime compute the size. If anything else differs, as in `x /
# len(x)`, it raises an error. (You write `generalize`, which compares the two traces, in exercise 3.) What if the batch size is
# *hard-coded*?

# %% tags=["proof-hard-coded"]
three_samples, six_samples = mytorch.rand(3, 2, 3), np.ones((6, 2, 3), "float32")
functions = {"x.reshape(3, -1)": lambda x: x.reshape(3, -1), "x.sum(0) / 3": lambda x: x.sum(0) / 3}
for name, function in functions.items():
    (result,) = onnx.run_onnx(onnx.export(function, three_samples), six_samples)
    print(f"{name:17} accepted; for a batch of 6 the file returns shape {result.shape}, values {result.max():.0f}")

# %% [markdown] tags=["short"]
# Both are accepted, by PyTorch's default exporter as well, yet both files are wrong: the first mixes samples, and the second returns 2 as
# the mean of ones. So compare the file's outputs with the model's on several batch sizes.
#
# **Interview · What are dynamic axes?**
#
# - *Thirty seconds:* Dimensions with a name instead of a fixed size. By default, an export fixes every dimension to the example's
#   size, and `dynamic_shapes={"x": {0: "batch"}}` makes the first dimension of `x` dynamic instead.
# - *Longer:* Every operation must cope with the dynamic size, by a `Reshape` to −1 or by nodes that compute sizes from the
#   input's shape.
# - *They ask next:* How do you test it? Compare the outputs on other batch sizes, including 1.
# - *The trap:* If `forward` hard-codes a batch size, the exporter may accept it, and the file then silently mixes samples.
# - *Proof:* `proof-fixed-batch`, `proof-two-traces`, `proof-hard-coded`.
#
# **Interview · How do you export a language model with a KV cache?**
#
# - *Thirty seconds:* A graph keeps no state, so the cache becomes an input and an output. The prefill reads the whole prompt, while a
#   decoding step reads one token and the past keys and values, in two graphs or in one with dynamic lengths.
# - *Longer:* Batch size and past length are both dynamic, and sampling stays outside the file.
# - *They ask next:* Who grows the cache? Either the graph returns the longer cache, or the caller preallocates it, and the graph gets
#   the position to write to.
# - *The trap:* If the export leaves the cache's length at the example's, the file works at that one length only.
# - *Proof:* a fixed length in `proof-fixed-batch`; the cache in [chapter 24b](24b_llama.ipynb).
#
# ## `torch.export`, `torch.compile`, tracing and scripting
# Would PyTorch write a file that brakes at 50? Its exporter is built on `torch.export.export`, which captures a module as one graph
# (minitorch's traces). This is what PyTorch 2.13 prints for `Sequential(Flatten(), Linear(4, 3), ReLU())`, without its comments and
# signature:
#
# ```text
# >>> batch = torch.export.Dim("batch")
# >>> program = torch.export.export(net, (torch.rand(3, 2, 2),), dynamic_shapes=({0: batch},))
# >>> print(program)
# ExportedProgram:
#     class GraphModule(torch.nn.Module):
#         def forward(self, p_1_weight: "f32[3, 4]", p_1_bias: "f32[3]", input: "f32[s31, 2, 2]"):
#             input_1 = input
#             flatten: "f32[s31, 4]" = torch.ops.aten.flatten.using_ints(input_1, 1)
#             linear: "f32[s31, 3]" = torch.ops.aten.linear.default(flatten, p_1_weight, p_1_bias)
#             relu: "f32[s31, 3]" = torch.ops.aten.relu.default(linear)
#             return (relu,)
# Range constraints: {s31: VR[0, int_oo]}
# ```
#
# The weights have become inputs, each step is an ATen operator, and `s31` is the symbol for the batch size. You can call the module that
# `program.module()` returns, and `torch.export.save` writes the program into a `.pt2` file.
#
# From PyTorch 2.9 on, `torch.onnx.export` captures with `torch.export` by default (`dynamo=True`), so it refuses an `if` that
# depends on a tensor's value, and so does minitorch:

# %% tags=["proof-refuses"]
import tempfile
import warnings
from pathlib import Path

import minitorch as torch


class Brake(torch.nn.Module):
    def forward(self, speed):
        return brake(speed)


folder = Path(tempfile.mkdtemp())
model, fast = Brake().eval(), (torch.tensor([130.0]),)
print(check.error(torch.onnx.export, model, fast))
with warnings.catch_warnings(record=True) as caught:
    torch.onnx.export(model, fast, folder / "old.onnx", dynamo=False)
(at_50,) = onnx.run_onnx((folder / "old.onnx").read_bytes(), np.float32([50]))
print(caught[0].category.__name__, "and at 50 the file returns", at_50)

# %% [markdown] tags=["short"]
# The old exporter (`dynamo=False`) traces as yours does: it warns, and its file brakes at 50. (minitorch also refuses `x *
# x.sum().item()`, which PyTorch exports.) The table shows what PyTorch 2.13 does with `brake`, captured at 130 and called with
# 50:
#
# | captured with | answer at 50 | why |
# |---|---|---|
# | `torch.jit.trace` (deprecated) | 25 | keeps the example's branch, with a `TracerWarning` |
# | `torch.jit.script` (deprecated) | 50 | compiles the source, with the `if` in it |
# | `torch.compile` | 50 | the graph breaks at the `if`, and Python decides |
# | `torch.export` | refused | captures one whole graph: "Could not guard on data-dependent expression" |
# | `torch.export`, with `torch.cond` | 50 | both branches are in the graph; in ONNX, an `If` node |
#
# **Interview · Trace, script, compile, export: which captures what?**
#
# - *Thirty seconds:* Tracing records the operations of one run. Scripting compiles Python source. `torch.compile` captures pieces,
#   guards them, and falls back to Python, and `torch.export` captures one whole graph or refuses.
# - *Longer:* A traced, scripted or exported program can run without Python; a compiled one needs Python for its guards and graph
#   breaks. AOTInductor (`aoti_compile_and_package`) compiles an exported program into a library that C++ loads.
# - *They ask next:* How do you export an `if`? With `torch.where` if both sides are cheap, and with `torch.cond` otherwise, whose
#   branches may not return an input itself: `brake` needs `speed.clone()` there.
# - *The trap:* Code that compiles needn't export: a graph break is fine for `torch.compile` but fatal for `torch.export`.
# - *Proof:* `proof-refuses`, and the guards of [chapter 08](08_static_and_dynamic_graphs.ipynb).

# %% [markdown]
# ### What `torch.export` says about the batch size
# The symbol `s31` in the program above came from `dynamic_shapes`, which replaced the older `dynamic_axes`. With symbols for the dynamic
# dimensions, one capture is enough: `x / x.shape[0]` computes the length, whereas `torch.export` refuses `x / len(x)` by default. It
# catches three mistakes:
#
# - Without `dynamic_shapes`, calling the program with another batch size raises `Guard failed: input.size()[0] == 3`.
# - With a `Dim`, code that fixes the batch, such as `x.reshape(3, -1)`, is refused because it "specialized" the dimension.
# - An example with a batch of *one* raises the same error, so capture with at least two samples.

# %% [markdown] tags=["short"]
# ## What is served: safetensors, `.pt2`, ONNX
# The file depends on who runs the model:
#
# | it runs on | file | it holds | it runs in |
# |---|---|---|---|
# | a server, a language model | `.safetensors` | the weights alone | vLLM or SGLang, with model code of their own |
# | a server, any model | `.pt2` | the exported graph, or AOTInductor's compiled library | Python or C++, without your source code |
# | a laptop, a language model | `.gguf` | weights, often in 4 bits, and the tokenizer | llama.cpp |
# | a phone | `.pte` | the graph, lowered for the phone's chip | ExecuTorch |
# | somebody else's runtime | `.onnx` | graph and weights | ONNX Runtime, TensorRT |
#
# Two of the rows hold no graph, so their runtimes need code for the model's architecture. TorchScript, once the way out of Python, is
# deprecated in favour of `torch.compile` and `torch.export`.
#
# **Interview · Which file would you ship to a server, a phone, a customer, and why?**
#
# - *Thirty seconds:* A server gets a language model as safetensors, because vLLM and SGLang bring optimized code for it, and any
#   other model as a `.pt2` that AOTInductor has compiled. A phone gets ExecuTorch's `.pte`, and a customer whose runtime I don't
#   choose gets ONNX.
# - *Longer:* safetensors holds no code, so loading it can't run any, but the other side needs the model's source. A graph file
#   doesn't, but its outputs have to be compared with the model's.
# - *They ask next:* Is ONNX faster than PyTorch? Not by itself: it is a format, and the speed depends on the runtime.
# - *The trap:* A customer who gets a pickled `.pt` has to trust its code and to install yours.
# - *Proof:* `proof-LeNet`, `proof-format`; safetensors: [chapter 20](20_saving_and_loading.ipynb); serving: [chapter
#   27](27_whiteboard_serving.ipynb).

# %% [markdown]
# ## The outputs differ
# When a converted model's outputs differ from the original's, first suspect training mode and frozen sizes. If it's neither, make every
# intermediate result an output of the file, and compare them in order. In the bad file below, somebody has shifted the input of the
# second convolution by one row:

# %% tags=["proof-first-difference"]
from course import pictures


def all_outputs(shift):
    """The network as a function that returns the output of every layer; the input of layer 4 is moved by `shift` rows."""

    def forward(x):
        outputs = []
        for index, layer in enumerate(cnn):
            if index == 4:
                x = mytorch.cat([x[:, :, shift:], x[:, :, :shift]], 2)
            x = layer(x)
            outputs.append(x)
        return tuple(outputs)

    return forward


expected = all_outputs(0)(three)
errors = {}
for name, shift in {"good file": 0, "bad file": 1}.items():
    from_file = onnx.run_onnx(onnx.export(all_outputs(shift), two), three.array)
    errors[name] = []
    for output, tensor in zip(from_file, expected, strict=True):
        correct = tensor.detach().array
        relative = abs(output - correct).max() / abs(correct).max()
        errors[name].append(max(1e-8, float(relative)))
first = next(index for index, error in enumerate(errors["bad file"]) if error > 1e-4)
print(f"first wrong stage: {first}, {type(cnn[first]).__name__}")
alt = f"The good file stays below 1e-5 at all stages; the bad one jumps at stage {first} and stays high."
pictures.curves(errors, list(range(10)), xlabel="stage", ylabel="largest relative error", log="y", alt=alt)

# %% [markdown]
# Both curves agree up to stage 3, and the bad one jumps at stage 4, the second convolution, so that is the node to look at.
#
# **Interview · The exported model disagrees with the original. How do you find the node?**
#
# - *Thirty seconds:* I give both the same input, in evaluation mode. Then I turn intermediate results into outputs, and search,
#   in order or by bisection, for the first one that differs by more than rounding.
# - *Longer:* Compare relative errors, with a tolerance for each layer, because rounding alone typically causes 1e-6 in float32
#   and about 1e-3 in float16.
# - *They ask next:* What do you suspect if the shapes agree and the values don't? Padding (SAME), the layout (NHWC), epsilon, and
#   the order of preprocessing.
# - *The trap:* If you compare only the predicted class, it can agree although the logits differ.
# - *Proof:* `proof-first-difference`, `proof-same`.

# %% [markdown]
# ### A forgotten `eval()`
# What happens to dropout if you export in training mode, where each call draws a new mask?

# %% tags=["proof-train-mode"]
mytorch.manual_seed(0)
drop, ones = layers.Dropout(0.5), mytorch.ones(1, 8)
dropout_file = onnx.export(drop, ones, batch=None)
for run in (1, 2):
    (from_file,) = onnx.run_onnx(dropout_file, ones.array)
    print(f"run {run}: model {drop(ones).array.astype(int)[0]}, file {from_file.astype(int)[0]}")

# %% [markdown]
# The model draws a new mask in each run, whereas `mytorch`'s file keeps one forever. (With a dynamic batch size, the export would have
# been refused, because the masks of the two traces differ.)
#
# minitorch's default exporter refuses dropout in training mode, while in PyTorch it depends on the exporter:
#
# | `nn.Dropout(0.5)` in training mode | nodes of the file | what it does |
# |---|---|---|
# | `dynamo=True`, the default | `Dropout` | the export warns, and each run drops different units |
# | `dynamo=False` | `Identity` | the exporter switches to evaluation mode and back |
#
# So a forgotten `eval()` was harmless with the old exporter; with the new one, the shipped model drops units. Batch norm won't
# reveal the mistake: with both exporters, its file uses the running statistics even if the module was in training mode.
#
# **Interview · What do you check before you ship an exported model?**
#
# - *Thirty seconds:* That `eval()` was called before the export, and that the file's outputs agree with the model's. I compare
#   them on real data, for several batch sizes and for extreme inputs, with the same preprocessing.
# - *Longer:* Put normalization and softmax into the exported module, so that nobody has to reimplement them. Measure latency
#   after a warm-up, with the number of threads and the *execution provider* (CPU, CUDA, TensorRT) that the service will use.
# - *They ask next:* Which tolerance? I start with 1e-5 in float32, and for half precision or int8 I compare the metric on a test
#   set.
# - *The trap:* On the example that was used for the export, nearly every file agrees.
# - *Proof:* `proof-train-mode`, `proof-hard-coded`.
#
# ### int8: a range that calibration didn't see
# In an int8 file, the graph contains pairs of quantize and dequantize nodes (QDQ), and their scales come from *calibration data*. Take
# calibration values of at most 1, so that 127 stands for 1. What becomes of a 3 in production?

# %% tags=["proof-calibration"]
calibration, production = np.float32([0.1, 0.5, 1.0]), np.float32([0.5, 3.0])
scale = calibration.max() / 127
stored = np.clip(np.round(production / scale), -128, 127)
print("stored", stored, "read back", (stored * scale).round(2))

# %% [markdown]
# The 0.5 survives with a small rounding error, but the 3 is clamped to 1. A test set that resembles the calibration data can't show this.
#
# **Interview · Your exported int8 model is fine on the test set and wrong in production. What do you check?**
#
# - *Thirty seconds:* First the calibration data, because the scales come from it, and inputs with a wider range are clamped. I compare
#   the ranges of the activations in production with the calibrated ones, and run the float model on the same requests. If it is wrong
#   too, the fault is in the preprocessing or in the data.
# - *Longer:* Then I switch layers back to float one at a time, to find the one whose quantization costs most. Runtimes fuse QDQ pairs into
#   integer kernels, so I also compare the target's outputs with those of the same file elsewhere.
# - *They ask next:* Which weights suffer most from int8? Those in channels with outliers, so use one scale per channel ([chapter
#   22b](22b_memory.ipynb)).
# - *The trap:* People calibrate on a clean sample of the training set, although production has longer inputs and outliers.
# - *Proof:* `proof-calibration`; finding the layer: `proof-first-difference`.

# %% [markdown]
# ## Folding constants and batch norms
# *Folding* computes once, during the export, what every call would compute again. Start with numbers: a layer returns 3x + 1, and the batch
# norm behind it multiplies by 2 and adds 5. Together they are 2(3x + 1) + 5 = 6x + 7, which is one layer again.
#
# In `mytorch` there is more to fold, because a convolution isn't a single operation. This is the trace of one convolution and its batch
# norm, first as recorded and then after two steps that make it shorter:

# %% tags=["proof-folding"]
recorded = graph.trace(cnn[:2], two)
simple = graph.simplify(recorded)
for name, stage in {"recorded": recorded, "simplified": simple, "fused": onnx.fuse(simple)}.items():
    print(f"{name} ({len(stage.steps)}):", *(step.op.name for step in stage.steps))
pictures.graph(
    simple.output,
    children=lambda step: graph.steps_in(step.args),
    label=lambda step: step.op.name if step.op else "input",
    kind=lambda step: "op" if step.op else "leaf",
)

# %% [markdown] given="mytorch.onnx.fusing:recognize"
# Three things happened. `simplify`, from chapter 08, folded everything that doesn't depend on an input, such as reshaped weights
# and `1 / √(var + eps)`. Then `fuse` recognized by their pattern the steps that make up a convolution:

# %% [markdown]
# Finally, the batch norm went *into* the convolution, as in the numbers above. In evaluation mode it is a scale s and a shift for each
# channel ([chapter 12](12_norm_dropout_and_modes.ipynb)). Because a convolution is linear in its weights, these two can be merged into
# its weight and bias: w′ = s·w, and b′ = s·(b − mean) + shift, which is `fold` in exercise 3.
#
# PyTorch's exporter folds batch norms, too: its file for a convolution, batch norm, ReLU and linear layer has the nodes `Conv`, `Relu`,
# `Reshape` and `Gemm`. But a norm *before* a convolution with padding can't be folded exactly, because the padding adds its zeros after the
# norm, so the shift doesn't apply to them. How many steps does this save in two complete networks?

# %% tags=["proof-counts"]
names, counts = ("as recorded", "constants folded", "layers fused"), {}
for name, function, example in (("MLP", mlp, x), ("CNN", cnn, two)):
    whole = graph.trace(function, example)
    simple = graph.simplify(whole)
    counts[name] = [len(stage.steps) for stage in (whole, simple, onnx.fuse(simple))]
print(counts)
ax = pictures.axes(6.4, 2.6)
for index, (name, values) in enumerate(counts.items()):
    bars = ax.barh([height + 0.4 * index for height in (2, 1, 0)], values, 0.35, label=name)
    ax.bar_label(bars, [f"{name} {value}" for value in values], padding=4)
ax.set(yticks=[2.2, 1.2, 0.2], yticklabels=names, xlabel="steps", xlim=(0, 1.2 * max(counts["CNN"])))
pictures.publish(ax, alt=f"Steps as recorded, with constants folded, with layers fused: {counts}.")

# %% [markdown]
# **Interview · What do you fold before you ship a model?**
#
# - *Thirty seconds:* Constants first, that is, everything that doesn't depend on an input, and then batch norms into the layers
#   before them. I also fuse neighbours for which the runtime has one operator.
# - *Longer:* Runtimes do much of this themselves, but fold before you quantize, because folding changes the ranges of the
#   weights.
# - *They ask next:* When can't batch norm be folded? In training, where its statistics come from the batch, and when something such
#   as a ReLU stands between it and the layer.
# - *The trap:* The folded model can't be trained further as before, because its batch norms are gone.
# - *Proof:* `proof-folding`, `proof-counts`.

# %% [markdown]
# ## Milestone: LeNet without a library
# This is chapter 12's LeNet, with batch norms and two epochs of training. Its file and a copy of `runtime.py` go into an empty
# folder, where a new Python process classifies 450 digits:

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
for batch in [*train[:1344].reshape(42, 32)] * 2:
    optimizer.zero_grad()
    loss_of(net(mytorch.tensor(images[batch])), mytorch.tensor(data.target[batch])).backward()
    optimizer.step()

digits = mytorch.tensor(images[test])
(folder / "lenet.onnx").write_bytes(onnx.export(net.eval(), digits[:2]))
(folder / "runtime.py").write_text(inspect.getsource(onnx.runtime))
np.save(folder / "digits.npy", images[test])
script = """import sys, numpy as np, runtime
(logits,) = runtime.run_onnx(open("lenet.onnx", "rb").read(), np.load("digits.npy"))
np.save("logits.npy", logits)
print(len(logits), "digits; modules called torch:", [name for name in sys.modules if "torch" in name])"""
print(subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True).stdout, end="")
with mytorch.no_grad():
    logits = net(digits).array
from_file = np.load(folder / "logits.npy")
print("the same predictions:", (logits.argmax(1) == from_file.argmax(1)).sum())
print("logits that differ by more than 0.001:", (abs(logits - from_file) > 0.001).sum())
print([operator for operator, *_ in nodes((folder / "lenet.onnx").read_bytes())])

# %% [markdown]
# So the file is all that the other program needs. The course's tests run the same files in `onnxruntime` as well, and
# `onnx.checker` accepts them.

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. Does an export in training mode change batch norm's running statistics? Not with PyTorch's defaults; with `dynamo=False` and
#    `training=TrainingMode.TRAINING`, yes.
# 2. Are optimizer states in an ONNX file? No, only what `forward` needs.
# 3. Which outputs of an ONNX file do you compare with the model's, and to which tolerance? The logits, on real data and several
#    batch sizes, to about 1e-5 in float32.
# 4. Does a for loop over layers survive the export to ONNX? No, tracing unrolls it.
# 5. What is ONNX's opset? The version of its list of operators.

# %% tags=["proof-rapid-fire"]
file = (folder / "lenet.onnx").read_bytes()
print("2.", len(fields(fields(file)[7][0])[5]), "tensors: 5 weights, 5 biases, 1 size")
for size in (1, 100):
    (answers,) = onnx.run_onnx(file, images[test[:size]])
    print(f"3. batch of {size:3}: largest difference {abs(answers - logits[:size]).max() / abs(logits).max():.5f}")
print("4.", [operator for operator, *_ in nodes(onnx.export(lambda x: x.exp().exp().exp(), two))])
print("5.", fields(fields(file)[8][0])[2])
print("an operation without an entry:", check.error(onnx.export, lambda x: x.sort()[0], two))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. An ONNX file is a graph with weights and types, and it holds no Python.
# 2. Decisions that Python makes are made once, during the export.
# 3. An export fixes dimensions unless you make them dynamic.
# 4. A hard-coded batch size may be accepted, so compare values on other batch sizes.
# 5. `eval()` comes first, above all with PyTorch's default exporter.
# 6. If the outputs differ, find the first intermediate result that differs.
# 7. `torch.export` captures one graph or refuses; `torch.cond` and `torch.where` put decisions into it.
# 8. Language models are served from safetensors; a `.pt2` or an ONNX file carries the graph as well.
# 9. Fold constants, then batch norms into the layers before them.
# 10. A runtime is a dict of values and a table of kernels.
#
# ## You try
# In [the exercises](../exercises/20b_export.ipynb) you predict the bytes of fields and write the protobuf writer, for which you read *The
# bytes* below. Then `mytorch` gets the folding with a dynamic batch size and the runtime. Finally, you fix a service that answers from a
# training run, and measure what a block of layers costs before and after folding. [Chapter 21](21_features_and_visualization.ipynb) looks
# inside trained networks.

# %% [markdown]
# ## If you have time
# ### The bytes: protocol buffers
# To write such a file yourself, you need its format: **protocol buffers**. A message is a sequence of *fields*, and each field consists
# of a number, the *wire type* of its value, and the value. Short messages can be read with eight lines:


# %%
def read(data):
    while data:
        number, wire_type = data[0] >> 3, data[0] & 7
        if wire_type == 2:  # text or bytes, after their length; also a message inside this one
            value, data = data[2 : 2 + data[1]], data[2 + data[1] :]
        else:  # wire type 0: an integer
            value, data = data[1], data[2:]
        yield number, value


print(list(read(onnx.messages.node("Mul", ["speed", "half"], "slower", {}))))

# %% [markdown]
# Since the file holds no field names, a reader needs the **schema**, `onnx.proto`. It says that in a node field 1 is an input, 2 an
# output, 3 a name and 4 the operator. A whole model is built in the same way: its field 7 is a message with the graph, whose repeated
# field 1 is a message with a node, and these are the numbers that `nodes` used.
#
# #### Break it
# So far, all lengths and integers were small enough for one byte, so try some that aren't:

# %% tags=["proof-varint"]
for number in (5, 300, -1):
    data = onnx.protobuf.message({1: number})
    print(f"{number:3} is read as {next(read(data))[1]:3}, from {data.hex(' ')}")

# %% [markdown]
# A byte holds 0 to 255, so the toy fails at 300. Integers are therefore stored as **varints**: each byte holds 7 bits of the
# number, lowest bits first, and its top bit is the **continuation bit**, which says whether more bytes follow. In the picture,
# the numbers below the bits are their place values, and the slider selects other integers:


# %%
def draw(number):
    data = onnx.protobuf.varint(number)
    ax = pictures.axes(6.4, 1.7)
    for index, byte in enumerate(data):
        for bit, digit in enumerate(f"{byte:08b}"):
            left, place = index * 9 + bit, "more?" if bit == 0 else f"{2 ** (7 * index + 7 - bit):,}"
            colour = pictures.COLOURS["data" if bit else "result"]
            ax.barh(0, 0.9, left=left, color=colour, alpha=0.9 if digit == "1" else 0.25)
            ax.text(left + 0.45, 0, digit, ha="center", va="center", color="white" if digit == "1" else None)
            if len(data) < 3:
                ax.text(left + 0.45, -0.6, place, ha="center", va="center", fontsize=7)
    ax.axis("off")
    ax.set(ylim=(-0.8, 0.5), title=f"{number} in {len(data)} byte{'s' * (len(data) > 1)}")
    return pictures.publish(ax, alt=f"{number} as a varint: {' '.join(f'{byte:08b}' for byte in data)}.")


pictures.slider(draw, start={"number": 300}, number=[1, 127, 128, 300, 20_000, -1])

# %% [markdown]
# You write `varint` and `field` in exercise 2. Each weight tensor has a field with its bytes as they are in memory, so `mytorch`
# writes one file that is about as large as the weights. PyTorch's default exporter writes two files: for `nn.Linear(64, 64)`,
# PyTorch 2.13 makes `m.onnx` with about 2 kB and `m.onnx.data` with the weight's 16 kB. Ship both, or pass `external_data=False`
# if the model is small enough: a protobuf message can't be larger than 2 GB.

# %% [markdown] given="mytorch.onnx.writing:gemm mytorch.onnx.writing:conv"
# ### Operators for linear layers and convolutions
# ONNX's `Conv` needs a padding for each of the four sides, and its `Gemm` accepts only matrices:

# %% [markdown] given="mytorch.onnx.runtime:windows mytorch.onnx.runtime:conv"
# ### A convolution without `mytorch`
# `runtime.py` imports only NumPy:

# %% [markdown]
# ### Padding: SAME and `padding=1`
# In a port from TensorFlow, a classic cause of different outputs is `padding="SAME"`, which at stride 2 differs from `padding=1`:

# %% tags=["proof-same"]
from minitorch.nn import functional as F

row, kernel = torch.arange(8.0).reshape(1, 1, 8), torch.ones(1, 1, 3)
print("padding=1", F.conv1d(row, kernel, stride=2, padding=1).flatten().tolist())
print("SAME     ", F.conv1d(F.pad(row, (0, 1)), kernel, stride=2).flatten().tolist())

# %% [markdown]
# SAME pads only as much as it must, and if that is odd, the extra zero goes at the end. Here it adds a single zero on the right, so the
# shapes agree but the values don't.
#
# ### Myth · "The export runs the model once, on the example"
# How often the model runs, and on what, depends on the exporter:

# %% tags=["proof-exporter-calls"]
calls = []


class Counted(torch.nn.Module):
    def forward(self, x):
        calls.append(tuple(x.shape))
        return x * 2


torch.onnx.export(Counted().eval(), (torch.ones(3, 2),), dynamic_shapes=({0: "batch"},))
print("dynamo is", inspect.signature(torch.onnx.export).parameters["dynamo"].default, "by default")
print("minitorch ran the model on", calls)

# %% [markdown]
# minitorch traces twice for a dynamic batch size, while PyTorch's exporter, which needs the package `onnxscript`, runs `forward`
# once, on *fake tensors*, which have shapes and no values.
#

# ### Myth · "ONNX is faster"
# ONNX is only a format. LeNet's file ran in NumPy above, and how fast a file runs depends on the runtime.

# %% tags=["proof-format"]
weights = sum(parameter.numel() for parameter in net.parameters()) * 4
print(f"{len(file) // 1000} kB: {weights // 1000} kB of weights, {len(nodes(file))} names of operators")

# %% [markdown]
# ### The real one
# minitorch can make several dimensions dynamic, each under its own name. Where your graph has a −1, minitorch's has an `Open`,
# which stores by how much the size grew:

# %%
from minitorch.onnx.sizes import Open

print(inspect.getsource(Open.line))

# %% [markdown]
# A size that grew by `factor` when the length grew by one is factor · length + rest, which becomes the nodes `Shape` of the
# input, `Mul` and `Add`. With a batch *and* a sequence length, a view can have two dynamic lengths, and one −1 isn't enough.
