# %% [markdown]
# # Devices
# After this chapter your library has GPUs, simulated ones if your machine has none: tensors are on one of them or on
# the CPU, `to` moves them, and most calls that mix two devices raise an error. You'll be able to say which device each
# result is on.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(5)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## The same product, twice
# `mytorch` can simulate GPUs. Give it three, and multiply a vector by a number: first with the vector on a GPU, then
# with the number on one. Do both lines run?

# %% tags=["proof-surprise"]
from textwrap import fill

mytorch.cuda.simulate(3)


def outcome(call):
    try:
        return call()
    except (RuntimeError, TypeError, ValueError, AssertionError) as error:
        return fill(f"{type(error).__name__}: {error}", 80, subsequent_indent="    ")


vector, number = mytorch.ones(3), mytorch.tensor(10.0)
print(outcome(lambda: vector.to("cuda:1") * number))
print(outcome(lambda: vector * number.to("cuda:1")))

# %% [markdown]
# Each line mixes a CPU tensor with a GPU tensor. One runs, the other raises the error that you know from training
# scripts.
#
# ## Names of devices
# A `torch.device` is a name: a type, and perhaps an index:

# %% tags=["proof-spellings"]
import minitorch as torch

for text in ('device("cuda:1")', 'device("cuda", 1)', 'device(type="cuda", index=1)', "device(1)"):
    print(f"{text:30}", eval(text, {"device": mytorch.device}))
print("no index:", repr(torch.device("cuda")), " a GPU that isn't there:", torch.device("cuda:99"))
print('device("cuda") == device("cuda:0"):', torch.device("cuda") == torch.device("cuda:0"))
for text in ("gpu", "cuda:x"):
    print(outcome(lambda text=text: mytorch.device(text)))

# %% [markdown]
# A name isn't checked against the machine: `cuda:99` is fine until you put a tensor there. The bare number is an old
# spelling for a GPU (PyTorch 2.13 refuses it on a machine without an accelerator). And `cuda` without an index isn't
# `cuda:0`: it means the *current* GPU, which is looked up when the name is used.
#
# Used as a context, a device becomes the default of functions such as `ones`. Which of these seven tensors will be on
# `cuda:1`?

# %% tags=["proof-context"]
import numpy as np

with mytorch.device("cuda:1"):
    made = {"ones": mytorch.ones(2), "device=0": mytorch.ones(2, device=0), "tensor(vector)": mytorch.tensor(vector)}
    made |= {"as_tensor(vector)": mytorch.as_tensor(vector), "ones_like(vector)": mytorch.ones_like(vector)}
    made |= {"from_numpy": mytorch.from_numpy(np.ones(2)), "vector + 1": vector + 1}
for name, each in made.items():
    print(f"{name:18} {each.device}")
print(f"{'after the context':18} {mytorch.ones(2).device}")

# %% [markdown]
# The context fills in a missing `device=` of `ones`, `tensor` and `as_tensor`, so these two move `vector`, although it has a
# device. `ones_like` and `new_ones` take a `device=` too, but without one they follow their tensor. `from_numpy` shares the
# CPU's memory.
#
# **Interview · What does `torch.device("cuda")` mean?**
#
# - *Thirty seconds:* A type without an index: the current GPU, at the moment the name is used. `cuda:1`, `("cuda", 1)`
#   and the old bare `1` name one GPU.
# - *Longer:* The text isn't checked against the machine. Used as a context, a device is the default of `ones`, `tensor` and
#   `as_tensor`; an explicit `device=` wins.
# - *They ask next:* What does `with torch.device("cuda:1")` do to `from_numpy`? Nothing: it shares the CPU's memory.
# - *The trap:* Comparing `x.device == torch.device("cuda")`. A GPU tensor's device has an index, so the two are never equal.
#   Compare `x.device.type`.
# - *Proof:* `proof-spellings`; the context: `proof-context`.

# %% [markdown] tags=["short"] given="mytorch.arrays:move mytorch.devices:to_device mytorch.devices:bring"
# ## One device for each call
# Behind a GPU tensor is an array of another library: CuPy's, if `mytorch.cuda.use_cupy()` finds a GPU. Without one,
# minitorch stands in for CuPy on the CPU. NumPy can't read such an array, because its numbers are in another memory and have
# to be copied first. In `mytorch`, `move` does that, by way of NumPy. `LIBRARIES` and `TO_DEVICE` are the two tables of
# chapter 02; this chapter adds one entry to each.

# %%
on_gpu = vector.to("cuda:1")
print(on_gpu.array)
for call in (lambda: np.asarray(on_gpu.array), on_gpu.numpy, on_gpu.tolist):
    print(outcome(call))

# %% [markdown] tags=["short"]
# ### The smallest model
# A kernel runs on one device and reads its memory. So a call needs one device:


# %%
def one_place(*devices):
    others = [each for each in devices if each != devices[0]]
    if others:
        raise RuntimeError(f"two devices: {devices[0]} and {others[0]}")
    return devices[0]


print(one_place("cuda:1", "cuda:1"), "|", outcome(lambda: one_place("cuda:1", "cpu")))

# %% [markdown]
# ### Where the model breaks
# Try it on each pair of five tensors: vectors and tensors without dimensions, on the CPU and on two GPUs. Each cell of the
# table says which device `x + y` is on. A cell is marked where `mytorch` computes the sum and the model would raise.

# %% tags=["proof-pairs"]
from course import pictures

kinds = {"cpu vector": ("cpu", (3,)), "cpu number": ("cpu", ())}
kinds |= {"cuda:0 vector": (0, (3,)), "cuda:0 number": (0, ()), "cuda:1 vector": (1, (3,))}
tensors = {name: mytorch.ones(size, device=where) for name, (where, size) in kinds.items()}


def lands(x, y):
    found = outcome(lambda: x + y)
    return "error" if isinstance(found, str) else str(found.device)


table = [["x + y", *tensors]] + [[name, *(lands(x, y) for y in tensors.values())] for name, x in tensors.items()]
alike = np.array([[x.device == y.device for y in tensors.values()] for x in tensors.values()])
for row in table:
    print(*(f"{each:13}" for each in row))
pictures.grid(table, np.pad((np.array(table)[1:, 1:] != "error") & ~alike, (1, 0)), "x in rows, y in columns")

# %% [markdown]
# All six exceptions have one thing in common: one of the two tensors is on the CPU and has no dimensions. It counts as a
# number, like the `2` in `x * 2`, and the CPU passes numbers to a GPU along with the call. A number that is on a GPU isn't
# known to the CPU. Fetching it means waiting for the GPU, so PyTorch leaves that to you.
#
# Square brackets have rules of their own: indices may be on the CPU, whatever their shape, and a single integer may be on any
# device, because PyTorch reads it with `item()`.

# %% tags=["proof-exceptions"]
gpu = mytorch.tensor([10.0, 20.0, 30.0], device="cuda:1")
print("length 1: ", outcome(lambda: gpu + mytorch.ones(1)))
print("index:    ", gpu[mytorch.tensor([2, 0])])
print("number:   ", *(each[mytorch.tensor(2, device="cuda:2")] for each in (gpu, vector)))
print("gather:   ", outcome(lambda: gpu.gather(0, mytorch.tensor([2, 0]))))
print("two GPUs: ", outcome(lambda: gpu + mytorch.tensor(1.0, device="cuda:2")))

# %% [markdown] given="mytorch.devices:on_its_device mytorch.devices:ACROSS mytorch.devices:on_elements"
# ## Your library: a layer
# A rule for all operations belongs in a layer of chapter 02b's dispatcher. A layer sees each call and may change its
# arguments before they go `below`. This chapter fills the lowest of the four slots, `device`. In exercise 2 you'll write
# `one_device`, with `bring` from above. `ACROSS` names the operations that copy from one device to another.
#
# The next cell borrows the top slot for a layer that prints each call.

# %% tags=["proof-layer"]
from mytorch import dispatch


def watch(op, args, below):
    print(f"{op.name:10}", [str(each.device) for each in dispatch.tensors_in(args)])
    return below(op, args)


dispatch.fill("autocast", watch)
result = gpu * number
dispatch.fill("autocast", None)
stack = {place: each.__name__ if each else "empty" for place, each in dispatch.LAYERS.items()}
where = {"kernels": ["numpy", "simulated GPU"], "chosen": "simulated GPU", "result": "cuda:1"}
pictures.layers(stack, call="gpu * number", path=["device"], **where)

# %% [markdown] tags=["short"]
# You see two calls: the product, and inside it the copy of the number. So the kernel of `mul` gets arrays of one device.
#
# **Interview · Which operations may mix devices?**
#
# - *Thirty seconds:* Copies: `to`, `cpu`, `cuda`, `copy_`. Most elementwise operations take CPU tensors without dimensions
#   as inputs, and square brackets take CPU indices. Most others want one device.
# - *Longer:* A GPU tensor without dimensions isn't brought to another device in an addition. As an index it is, but the CPU
#   has to wait for it.
# - *They ask next:* Is a tensor of length 1 an exception? No, it has a dimension.
# - *The trap:* `total += gpu_loss` with a CPU tensor `total` raises: inputs may be brought along, the result of an in-place
#   operation can't move.
# - *Proof:* `proof-pairs`, `proof-exceptions`, `proof-rapid-fire`.
#
# ## Moving
# `to` takes a device, a dtype, both, or another tensor whose device and dtype it should match. When does it copy?

# %% tags=["proof-to"]
x = mytorch.ones(2, device="cuda:0")
calls = ['to("cuda:0")', 'to("cuda")', "cuda()", "to(mytorch.float32)", "to(x)", 'to("cuda:0", copy=True)']
for call in [*calls, "to(mytorch.float64)", "to(1)", "cpu()"]:
    print(f"x.{call:24}", "is x itself" if eval(f"x.{call}") is x else "is a new tensor")
print("x is still on", x.device)
print("cuda() of a tensor on cuda:1 is on", x.to("cuda:1").cuda().device)
layer = torch.nn.Linear(2, 2)
print("a module changes itself:", layer.to(torch.float64) is layer, layer.weight.dtype)

# %% [markdown]
# `to` returns the tensor itself if device and dtype match already. Otherwise the result is a new tensor, and `x` stays where
# it is, so write `x = x.to(device)`. A module moves its own parameters. `x.cuda()` is `x.to("cuda")`: the result is on the
# current GPU, even if `x` is on another one.
#
# **Interview · `to(device)` or `.cuda()`?**
#
# - *Thirty seconds:* `to` takes any device and dtype, so one script runs with and without a GPU. `.cuda()` needs a GPU
#   and takes the current one unless you give an index.
# - *Longer:* Both return the tensor itself if device and dtype match already. `copy=True` always copies.
# - *They ask next:* Does `x.to("cuda")` move `x`? No. `module.to` works in place, `tensor.to` doesn't.
# - *The trap:* `.cuda()` on a tensor on `cuda:1` while `cuda:0` is current gives a copy on `cuda:0`.
# - *Proof:* `proof-to`.

# %% [markdown] given="mytorch.cuda:device mytorch.cuda:computing_on"
# ## The current GPU
# One number says which GPU `cuda` means. `set_device` changes it, and `cuda.device(i)` changes it for a block of code.
# CuPy computes on the current GPU, so `on_its_device` first makes the tensors' GPU the current one:

# %% tags=["proof-current"]
far, near = mytorch.ones(2, device="cuda:2"), mytorch.zeros(2, device="cuda:0")
with mytorch.cuda.device(1):
    places = {"device='cuda'": mytorch.ones(2, device="cuda"), ".cuda()": mytorch.ones(2).cuda()}
    places |= {"far + 1": far + 1, "far.clone()": far.clone(), "ones": mytorch.ones(2)}
for name, each in places.items():
    print(f"{name:14} {each.device}")
print("current again:", mytorch.cuda.current_device())
print("far + near: ", outcome(lambda: far + near))
print("copy_:      ", near.copy_(far), " far is on", far.device)
near[1:] = mytorch.tensor([7.0])  # assignment calls copy_, so the values may come from the CPU
print("near[1:] = …", near)

# %% [markdown]
# The current GPU decides where *new* tensors go when you ask for `cuda`. It doesn't move results, which are on the device of
# their inputs. `ones` without a device still makes a CPU tensor. To combine tensors of two GPUs, copy one of them.
# `near.copy_(far)` writes into the memory of `near`, so the result stays on `cuda:0`. So does assignment.
#
# **Interview · `torch.device("cuda:1")` or `torch.cuda.device(1)` as a context?**
#
# - *Thirty seconds:* The first is the default device of `ones`. The second changes which GPU `cuda` means, and a
#   plain `ones(2)` still goes to the CPU.
# - *Longer:* Neither moves a result, which is on the device of its inputs. But `as_tensor(x)` inside the first copies `x` to
#   that device.
# - *They ask next:* How do two GPUs exchange data? With `to` or `copy_`; an addition raises.
# - *The trap:* Calling `.cuda()` in a model that runs on the second GPU: it means the current one.
# - *Proof:* `proof-current`; the first context: `proof-context`.
#
# ## Milestone: four devices at work
# A batch on the CPU is split over three GPUs, each with its own copy of the weight, and the results are collected on the
# CPU. This is the core of data parallelism. In the last line somebody forgets a copy.

# %% tags=["proof-milestone", "raises-exception"]
mytorch.manual_seed(0)
batch, weight = mytorch.randn(12, 4), mytorch.randn(4, 2)
parts = [part.to(place) for place, part in enumerate(batch.chunk(3))]
results = [(part @ weight.to(part.device)).tanh() for part in parts]
print("results on:", *(each.device for each in results))
collected = mytorch.cat([each.cpu() for each in results])
difference = (collected - (batch @ weight).tanh()).abs().max().item()
print("collected on:", collected.device, f"  difference from one product on the CPU: {difference:.4f}")
parts[1] @ weight.to(parts[0].device)

# %% [markdown]
# ## Which GPUs are visible
# The environment variable `CUDA_VISIBLE_DEVICES` lists the machine's GPUs that a program may see, in the order in which
# it sees them. The driver reads it once, when the program first uses a GPU, so set it before Python starts. `simulate`
# takes such a text:

# %% tags=["proof-visible"]
for text in (None, "2,0", "1", "", "0,7,1"):
    mytorch.cuda.simulate(3, visible=text)
    names = [mytorch.cuda.get_device_name(place) for place in range(mytorch.cuda.device_count())]
    print(f"{text!r:8}", {f"cuda:{place}": name for place, name in enumerate(names)})
mytorch.cuda.simulate(3, visible="2,0")
mytorch.cuda.set_device(1)
places = {text: mytorch.ones(2, device=text).device for text in (None, "cuda")}
print("current:", mytorch.cuda.get_device_name(), places, "|", outcome(lambda: mytorch.cuda.set_device(2)))

# %% [markdown]
# Inside the program the visible GPUs are numbered from 0. With `2,0`, `cuda:0` is the machine's GPU 2, and there is no
# `cuda:2`. The list ends before the first index that doesn't exist.
#
# ### Myth · "`cuda.set_device` sets the default device"
# It sets the *current GPU*. After `set_device(1)` the device `"cuda"` means `cuda:1`, and `ones(2)` without a device is
# still on the CPU. The default is set by `torch.set_default_device` ([chapter 01](01_global_settings.ipynb)).
#
# **Interview · `CUDA_VISIBLE_DEVICES` or `set_device`?**
#
# - *Thirty seconds:* The variable hides GPUs from the whole program and numbers the rest from 0. `set_device` only
#   chooses the current one among those.
# - *Longer:* With the variable, code that says `cuda` or `cuda:0` runs unchanged on any GPU, and can't touch the GPU
#   of another job.
# - *They ask next:* Why may `os.environ[...] = "1"` have no effect? The driver has read the variable already.
# - *The trap:* `CUDA_VISIBLE_DEVICES=2` and then `cuda:2`. The only GPU is called `cuda:0`.
# - *Proof:* `proof-visible`.
#
# ## Lazy, and asynchronous
# Starting up a GPU takes time and memory, so PyTorch waits until something needs one. The cell first
# asks your simulated GPUs, then minitorch, which has no GPU here and prints what a PyTorch without CUDA prints:

# %% tags=["proof-lazy"]
mytorch.cuda.simulate(3)
print(mytorch.cuda.device_count(), "GPUs, initialized:", mytorch.cuda.is_initialized())
mytorch.ones(2, device="cuda")
print("after the first tensor, initialized:", mytorch.cuda.is_initialized())
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.memory_allocated())
print(outcome(lambda: torch.ones(2, device="cuda")))
print(outcome(torch.cuda.Stream), "|", outcome(torch.cuda.current_device))
mytorch.cuda.simulate(0)
device = "cuda" if mytorch.cuda.is_available() else "cpu"
print("a script that runs anywhere:", mytorch.ones(2, device=device))

# %% [markdown]
# A GPU also runs asynchronously. A call puts a kernel into a queue, the **stream**, and returns; the kernel runs later.
# You can only time that on a real GPU. Here is a model in which the CPU takes 5 µs to put a kernel into the queue:


# %% tags=["proof-stream"]
class Stream:
    """A queue of kernels. All times are in µs; `Stream.now` is the clock of the CPU."""

    now = 0

    def __init__(self):
        self.free = 0  # when the last kernel in the queue is finished

    def launch(self, kernel):
        Stream.now += 5
        start = max(Stream.now, self.free)  # kernels of one stream run in order
        self.free = start + kernel
        return start, kernel

    def synchronize(self):
        Stream.now = max(Stream.now, self.free)

    def record(self):
        return self.free  # an event: when all that is in the queue so far is finished

    def wait(self, event):
        self.free = max(self.free, event)


one, two = Stream(), Stream()
for _ in range(10):
    one.launch(100)
print("after 10 launches the clock says", Stream.now)
one.synchronize()
print("after synchronize()", Stream.now)
Stream.now = one.free = 0
for _ in range(5):
    one.launch(100), two.launch(100)
one.synchronize(), two.synchronize()
print("the same work on two streams", Stream.now)
one.launch(100)
two.wait(one.record())
print("after an event, the next kernel starts at", two.launch(100)[0], "and the clock says", Stream.now)

# %% [markdown]
# Two streams took half the time because the model runs their kernels side by side. A real GPU does that only while it has
# room for both. If you measure without `torch.cuda.synchronize()`, you measure the launches. Reading a value with `item()`,
# `tolist()` or `cpu()` has to wait, too. Move the slider: when does the GPU have to wait for the CPU?


# %%
def timeline(kernel):
    Stream.now, queue = 0, Stream()
    launched, ran = zip(*(((5 * n, 5), queue.launch(kernel)) for n in range(6)), strict=True)
    panel = pictures.axes(6.0, 1.8)
    panel.broken_barh(launched, (1.1, 0.8), facecolor="#0072b2", edgecolor="white")
    panel.broken_barh(ran, (0.1, 0.8), facecolor="#d55e00", edgecolor="white")
    panel.set(yticks=[0.5, 1.5], yticklabels=["GPU runs", "CPU launches"], xlabel="time (µs)")
    return pictures.publish(panel, f"Six kernels of {kernel} µs: the CPU is done at 30 µs, the GPU at {queue.free} µs.")


pictures.slider(timeline, start={"kernel": 12}, kernel=[2, 4, 5, 6, 12, 20])

# %% [markdown]
# Below 5 µs the GPU waits for the next launch. That is why many small operations are slow on a GPU.
#
# **Interview · A matrix product on the GPU takes 10 µs, whatever its size. What did you measure?**
#
# - *Thirty seconds:* The launch. Kernels run asynchronously; call `torch.cuda.synchronize()` before you read the clock.
# - *Longer:* Kernels of one stream run in order, those of two streams may overlap. A `torch.cuda.Event` is a mark in a
#   stream. Another stream can wait for it, and the CPU goes on.
# - *They ask next:* What synchronizes implicitly? Whatever needs values on the CPU: `item()`, `cpu()`, printing, an `if` on a
#   tensor, and `x[mask]`, whose shape depends on the values.
# - *The trap:* `print(loss.item())` in each step makes the CPU wait in each step.
# - *Proof:* `proof-stream`, on a model; `proof-rapid-fire`.
#
# ## How much memory?
# `memory_allocated` counts the bytes in use:

# %% tags=["proof-memory"]
mytorch.cuda.simulate(3, memory=10_000)  # a new machine, with little memory
used = []
lines = ["x = mytorch.ones(1000, device='cuda')", "y = x * 2", "z = y.view(10, 100)", "del y"]
lines += ["z = z[0]", "z = z.clone()", "x = x.cpu()"]
for number, line in enumerate(lines, 1):
    exec(line)
    used.append(mytorch.cuda.memory_allocated())
    print(f"{number}. {line:38} {used[-1]:5}")
print(outcome(lambda: [mytorch.ones(1000, device="cuda") for _ in range(3)]))
pictures.curves({"allocated": used}, xlabel="line", ylabel="memory (bytes)")

# %% [markdown]
# A view takes no memory of its own but keeps its whole storage alive: `del y` and `z = z[0]` free nothing, `z = z.clone()`
# does. The bytes of each storage are rounded up to a multiple of 512. PyTorch keeps freed blocks for later tensors and counts
# them in `memory_reserved`.
#
# **Interview · You deleted a large GPU tensor. Why is the memory still in use?**
#
# - *Thirty seconds:* Either something still refers to its storage: a view, a list, the graph. Or PyTorch keeps the
#   block for the next tensor.
# - *Longer:* `memory_allocated` counts tensors and workspaces such as cuBLAS's, `memory_reserved` adds what the allocator
#   keeps. `nvidia-smi` shows the second, and the CUDA context on top.
# - *They ask next:* What does `empty_cache` do? It gives unused blocks back to the driver. It frees no tensor.
# - *The trap:* Keeping `x[0]` of each batch keeps each batch.
# - *Proof:* `proof-memory`.
#
# ## The real one
# Here is `to` in minitorch. Yours, in exercise 3, takes the same steps: find out what is asked for, and whether there is
# anything to do; move; convert.

# %%
import inspect

print(inspect.getsource(inspect.unwrap(torch.Tensor.to)))

# %% [markdown]
# `parse_to` does the work of `destination`, which you'll write, and `tensor_device` that of `with_index`. `_moved` is
# `to_device` in `mytorch`, and `to_copy` is `_to_copy`; `_dtype` and `_device` are what the properties return. A third thing
# that may change is the memory format (`ordered`, `suggested_format`): `channels_last`, from [chapter
# 03](03_views_and_layout.ipynb). `@composite` marks a function made of other operations.
#
# ## Myths
# ### Myth · "`to(device)` copies"
# It returns the same tensor if device and dtype match, and then a write into the result is a write into the original. (The
# name `cpu:0` doesn't match `cpu`, so that does copy.)
#
# ### Myth · "It is on a GPU already, so `to` copies nothing"
# Another index is another device. From `cuda:0` to `cuda:1`, `to` copies. The cell below adds 1 to each of five results and
# then prints the originals. Which writes reach them?

# %% tags=["proof-to-is-no-copy"]
original, gpu = torch.zeros(3), mytorch.ones(2, device="cuda:0")
for call in ('original.to("cpu")', 'original.to("cpu:0")', 'original.to("cpu", copy=True)', "gpu.to(0)", "gpu.to(1)"):
    eval(call).add_(1)
    print(f"{call:30}", original.tolist(), gpu.tolist())

# %% [markdown]
# ### Myth · "Tensors never move between devices by themselves"
# CPU tensors without dimensions may be copied to the device of the other operands. So may CPU indices, and a single integer
# on a GPU that is used as an index. It's a copy that moves; the original stays where it is.
#
# ### Myth · "An integer is a GPU, CPU tensors have no `get_device()`, only numbers may mix"
# An integer is an index of the machine's accelerator, whatever its type. Without one PyTorch 2.13 raises at
# `torch.device(1)`, and minitorch when you make a tensor there. `get_device()` of a CPU tensor is −1. And CPU indices of
# any shape go into a GPU tensor.

# %% tags=["proof-numbers-move"]
number, gpu = mytorch.tensor(10.0), mytorch.ones(2, device="cuda:1")
print("cpu number with GPU vector:", number + gpu, gpu + number)
print("two numbers:", (number + number.cuda()).device, " the original:", number.device)
print("device=1, no GPU:", outcome(lambda: torch.ones(2, device=1)))
print("CPU get_device:", torch.ones(2).get_device(), " CPU indices:", gpu[mytorch.tensor([[1, 0, 1]])])

# %% [markdown] tags=["short"]
# ## Rapid fire
# The cell below has the proofs.
#
# 1. `a` is on a GPU and `b` on the CPU. Which one does the error of `a @ b` name? The one on the other device, `mat2`.
# 2. Does `torch.device("cuda:7")` raise on a laptop? No, a tensor there would.
# 3. Can `numpy()` read a GPU tensor? Only with `force=True`, or after `cpu()`.
# 4. May a CPU tensor `total` collect losses that are on a GPU? No, `+=` raises.
# 5. Which of `x + 1`, `x.argmax()`, `x[0].item()`, `x.cpu()`, `if x[0] > 0` and `x[x > 0]` make the CPU wait for the GPU? The
#    last four. On the `meta` device, which has shapes and no values, these four raise.

# %% tags=["proof-rapid-fire"]
torch.cuda.simulate(1)
print("1.", outcome(lambda: torch.ones(2, 2, device="cuda") @ torch.ones(2, 2)))
print("2.", torch.device("cuda:7"), "|", outcome(lambda: gpu.to("cuda:7")))
print("3.", outcome(gpu.numpy), gpu.cpu().numpy(), torch.ones(2, device="cuda").numpy(force=True))
print("4.", outcome(lambda: torch.tensor(0.0).add_(torch.ones((), device="cuda"))))
x = torch.ones(3, device="meta")
calls = {"x + 1": lambda: x + 1, "x.argmax()": x.argmax, "x[0].item()": lambda: x[0].item(), "x.cpu()": x.cpu}
calls |= {"if x[0] > 0": lambda: bool(x[0] > 0), "x[x > 0]": lambda: x[x > 0]}
print("5.", [text for text, call in calls.items() if isinstance(outcome(call), str)])

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A device is a name: a type and perhaps an index. It is checked when you put a tensor there.
# 2. `cuda` is the current GPU; the `device` of a GPU tensor has an index.
# 3. Most calls want all tensors on one device. The result is there, too.
# 4. Exceptions: CPU tensors without dimensions as inputs of elementwise operations, CPU indices, copies.
# 5. `to` returns the tensor itself if device and dtype match; otherwise a new tensor. `x` stays where it is.
# 6. `.cuda()` goes to the current GPU, even from another GPU.
# 7. `with torch.device` sets the default device, `with torch.cuda.device` the current GPU.
# 8. `CUDA_VISIBLE_DEVICES` hides and renumbers. Set it before the program starts.
# 9. Kernels run asynchronously: synchronize before you read the clock.
# 10. A view keeps its whole storage alive. Freed memory stays reserved.
#
# ## You try
# [The exercises](../exercises/05_devices.ipynb): predict five devices; write the layer, `to`, and what
# `CUDA_VISIBLE_DEVICES` means; move a nested batch; repair a layer; measure how an allocator rounds. [Chapter
# 06](06_computation_graph.ipynb) fills the next slot with a layer that records calls.
