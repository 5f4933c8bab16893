# %% [markdown]
# # Devices
# After this chapter your library has GPUs: tensors are on one of them or on the CPU, `to` moves them, and a call that
# mixes two devices raises an error. You'll be able to say which device each result is on. The lesson takes about 50
# minutes, the exercises another 75. You don't need a GPU.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(5)  # as it is after this chapter, with your parts where you solved them

# %% [markdown]
# ## The same product, twice
# `mytorch` can simulate GPUs. Give it three, and multiply a vector by a number: first with the vector on a GPU, then
# with the number there. Do both lines run?

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
# ## Names of devices · 3.22 向量的device
# A `torch.device` is a name: a type, and perhaps an index:

# %% tags=["proof-spellings"]
import minitorch as torch

for text in ('device("cuda:1")', 'device("cuda", 1)', 'device(type="cuda", index=1)', "device(1)"):
    print(f"{text:30}", eval(text, {"device": mytorch.device}))
print("no index:", repr(torch.device("cuda")), " a GPU nobody has:", torch.device("cuda:99"))
print('device("cuda") == device("cuda:0"):', torch.device("cuda") == torch.device("cuda:0"))
for text in ("gpu", "cuda:x"):
    print(outcome(lambda text=text: mytorch.device(text)))

# %% [markdown]
# A name isn't checked against the machine: `cuda:99` is fine until you put a tensor there. The bare number is an old
# spelling for a GPU (PyTorch 2.13 refuses it on a machine without any). And `cuda` without an index isn't `cuda:0`; it
# means the *current* GPU, looked up when it is used.
#
# As a context, a device is the default of `ones` and the like:

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
# `tensor` and `as_tensor` take a `device=`, so the context moves `vector`, although it has a device. `ones_like` and
# `new_ones` follow their tensor, and `from_numpy` shares the CPU's memory.
#
# **Interview · What does `torch.device("cuda")` mean?**
#
# - *Thirty seconds:* A type without an index: the current GPU, at the moment the name is used. `cuda:1`, `("cuda", 1)`
#   and the old bare `1` name one GPU.
# - *Longer:* The text isn't checked against the machine. As a context, a device is the default of `ones`, `tensor` or
#   `as_tensor`; an explicit `device=` wins.
# - *They ask next:* What does `with torch.device("cuda:1")` do to `from_numpy`? Nothing: it shares the CPU's memory.
# - *The trap:* Comparing `x.device == torch.device("cuda")`. A GPU tensor's device has an index, so that is False.
# - *Proof:* `proof-spellings`; the context: `proof-context`.

# %% [markdown] given="mytorch.arrays:move mytorch.devices:to_device mytorch.devices:bring"
# ## One device for each call
# Behind a GPU tensor is an array of another library: CuPy's, if `mytorch.cuda.use_cupy()` finds a GPU. Elsewhere
# minitorch plays CuPy on the CPU. NumPy can't read such an array. Its numbers are in another memory, and somebody has
# to carry them over. In `mytorch` it's `move`, by way of NumPy. `LIBRARIES` and `FROM_NUMPY` are the two tables of
# chapter 02; this chapter adds one entry to each.

# %%
on_gpu = vector.to("cuda:1")
print(on_gpu.array)
for call in (lambda: np.asarray(on_gpu.array), on_gpu.numpy, on_gpu.tolist):
    print(outcome(call))

# %% [markdown]
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
# Try it on each pair of five tensors: vectors and tensors without dimensions, on the CPU and on two GPUs. Each cell
# says where `x + y` is. It is marked where `mytorch` computes the sum and the model refuses.

# %% tags=["proof-pairs"]
from course import pictures

kinds = {"cpu vector": ("cpu", (3,)), "cpu number": ("cpu", ())}
kinds |= {"cuda:0 vector": (0, (3,)), "cuda:0 number": (0, ()), "cuda:1 vector": (1, (3,))}
tensors = {name: mytorch.ones(size, device=where) for name, (where, size) in kinds.items()}


def lands(x, y):
    found = outcome(lambda: x + y)
    return "error" if isinstance(found, str) else str(found.device)


table = np.array([[lands(x, y) for y in tensors.values()] for x in tensors.values()])
alike = np.array([[x.device == y.device for y in tensors.values()] for x in tensors.values()])
for name, row in zip(tensors, table, strict=True):
    print(f"{name:14}", *(f"{place:7}" for place in row))
pictures.grid(table, (table != "error") & ~alike, "x + y: x in rows, y in columns, in the same order")

# %% [markdown]
# All six exceptions have one thing in common: the tensor that is elsewhere is on the CPU and has no dimensions. Such a
# tensor counts as a number, like the `2` in `x * 2`, and the CPU hands numbers to a GPU along with the call. It doesn't
# know a number that is on a GPU. Fetching it takes a wait, so PyTorch leaves that to you.
#
# Square brackets have rules of their own: indices may be on the CPU, whatever their shape, and a single `int64` on any
# device, because PyTorch reads it with `item()`.

# %% tags=["proof-exceptions"]
gpu = mytorch.tensor([10.0, 20.0, 30.0], device="cuda:1")
print("length 1: ", outcome(lambda: gpu + mytorch.ones(1)))
print("index:    ", gpu[mytorch.tensor([2, 0])])
print("number:   ", *(each[mytorch.tensor(2, device="cuda:2")] for each in (gpu, vector)))
print("gather:   ", outcome(lambda: gpu.gather(0, mytorch.tensor([2, 0]))))
print("two GPUs: ", outcome(lambda: gpu + mytorch.tensor(1.0, device="cuda:2")))

# %% [markdown] given="mytorch.devices:ACROSS mytorch.devices:on_elements"
# ## Your library: a layer
# A check that every operation needs is a layer of the dispatcher of chapter 02. It sees each call and may change its
# arguments before they go `below`. In exercise 2 you write `one_device`, with `bring` from above and these two.
# `ACROSS` names the operations that copy from one device to another.
#
# The cell after the code puts a layer on top that prints each call, and takes it off again.

# %% tags=["proof-layer"]
from mytorch.dispatch import LAYERS, tensors_in


def watch(op, args, below):
    print(f"{op.name:10}", [str(each.device) for each in tensors_in(args)])
    return below(op, args)


LAYERS.append(watch)
result = gpu * number
LAYERS.remove(watch)
stack = {each.__name__: "chapter 04" for each in reversed(LAYERS)}
stack |= {"one_device": "brings the number", "on_its_gpu": "the current GPU is 1"}
where = {"kernels": ["numpy", "simulated GPU"], "chosen": "simulated GPU", "result": "cuda:1"}
pictures.layers(stack, call="gpu * number", path=["one_device", "on_its_gpu"], **where)

# %% [markdown]
# Two calls: the product, and inside it the copy of the number. So the kernel of `mul` sees arrays of one device.
#
# **Interview · Which operations may mix devices?**
#
# - *Thirty seconds:* Copies: `to`, `cpu`, `cuda`, `copy_`. Most elementwise operations take CPU tensors without dimensions
#   as inputs, and square brackets take CPU indices. Most others want one device.
# - *Longer:* A GPU number goes to no other device in an addition. As an index it does, at the price of a wait.
# - *They ask next:* Is a tensor of length 1 an exception? No, it has a dimension.
# - *The trap:* `total += gpu_loss` with a CPU number `total` raises: only inputs come along.
# - *Proof:* `proof-pairs`, `proof-exceptions`, `proof-rapid-fire`.
#
# ## Moving · 3.25 to(device)和.cuda()的区别, C to(device)用法
# `to` takes a device, a dtype, both, or another tensor to imitate. When does it copy?

# %% tags=["proof-to"]
x = mytorch.ones(2, device="cuda:0")
same = [x.to("cuda:0"), x.to("cuda"), x.cuda(), x.to(mytorch.float32), x.to(x)]
new = [x.to("cuda:0", copy=True), x.to(mytorch.float64), x.to(1), x.cpu()]
print("x itself:", [each is x for each in same], [each is x for each in new])
print("x is still on", x.device)
print("cuda() of a tensor on cuda:1 is on", x.to("cuda:1").cuda().device)
layer = torch.nn.Linear(2, 2)
print("a module changes itself:", layer.to(torch.float64) is layer, layer.weight.dtype)

# %% [markdown]
# `to` returns the tensor itself if device and dtype fit. Otherwise the result is a new tensor, and `x` stays where it
# is: write `x = x.to(device)`. A module changes its own parameters. `x.cuda()` is `x.to("cuda")`: it goes to the
# current GPU, even if `x` is on another one.
#
# **Interview · `to(device)` or `.cuda()`?**
#
# - *Thirty seconds:* `to` takes any device and dtype, so one script runs with and without a GPU. `.cuda()` needs a GPU
#   and takes the current one unless you give an index.
# - *Longer:* Both return the tensor itself if device and dtype fit. `copy=True` always copies.
# - *They ask next:* Does `x.to("cuda")` move `x`? No. `module.to` works in place, `tensor.to` doesn't.
# - *The trap:* `.cuda()` on a tensor on `cuda:1` while `cuda:0` is current gives a copy on `cuda:0`.
# - *Proof:* `proof-to`.

# %% [markdown] given="mytorch.cuda:device mytorch.cuda:on_its_gpu"
# ## The current GPU · E CUDA 语义
# One number says which GPU `cuda` means. `set_device` changes it, and `cuda.device(i)` changes it for a block of code.
# CuPy computes on the current GPU, so a layer first makes the tensors' GPU the current one:

# %% tags=["proof-current"]
far = mytorch.ones(2, device="cuda:2")
with mytorch.cuda.device(1):
    places = {"device='cuda'": mytorch.ones(2, device="cuda"), ".cuda()": mytorch.ones(2).cuda()}
    places |= {"far + 1": far + 1, "far.clone()": far.clone(), "ones": mytorch.ones(2)}
for name, each in places.items():
    print(f"{name:14} {each.device}")
print("current again:", mytorch.cuda.current_device())
near = mytorch.zeros(2, device="cuda:0")
print("far + near: ", outcome(lambda: far + near))
print("copy_:      ", near.copy_(far), " far is on", far.device)
near[1:] = mytorch.tensor([7.0])  # assignment is a copy_, so the values may come from the CPU
print("near[1:] = …", near)

# %% [markdown]
# The current GPU decides where *new* tensors go when they ask for `cuda`. It doesn't move results: they are where their
# inputs are. `ones` without a device still goes to the CPU. To combine tensors of two GPUs, copy one. `near.copy_(far)`
# writes into the memory of `near`, so the result stays on `cuda:0`. So does assignment.
#
# **Interview · `torch.device("cuda:1")` or `torch.cuda.device(1)` as a context?**
#
# - *Thirty seconds:* The first is the default device of `ones`. The second changes which GPU `cuda` means, and a
#   plain `ones(2)` still goes to the CPU.
# - *Longer:* Neither moves a result: it is where its inputs are. But `as_tensor(x)` in the first copies `x` to its
#   device.
# - *They ask next:* How do two GPUs exchange data? With `to` or `copy_`; an addition raises.
# - *The trap:* Creating tensors with `.cuda()` in a model that runs on the second GPU.
# - *Proof:* `proof-current`; the first context: `proof-context`.
#
# ## Milestone: four devices at work
# A batch on the CPU is split over three GPUs, each with its own copy of the weight; the results are collected on the
# CPU. This is the core of data parallelism. Then somebody forgets one copy.

# %% tags=["proof-milestone", "raises-exception"]
mytorch.manual_seed(0)
batch, weight = mytorch.randn(12, 4), mytorch.randn(4, 2)
parts = [part.to(place) for place, part in enumerate(batch.chunk(3))]
results = [(part @ weight.to(part.device)).tanh() for part in parts]
print("results on:", *(each.device for each in results))
collected = mytorch.cat([each.cpu() for each in results])
print("collected on:", collected.device, "equal:", mytorch.allclose(collected, (batch @ weight).tanh()))
parts[1] @ weight.to(parts[0].device)

# %% [markdown]
# ## Which GPUs are visible · C CUDA_VISIBLE_DEVICES, set_device
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
print("current:", mytorch.cuda.get_device_name(), "|", outcome(lambda: mytorch.cuda.set_device(2)))

# %% [markdown]
# Inside the program the visible GPUs are numbered from 0. With `2,0`, `cuda:0` is the machine's GPU 2, and there is no
# `cuda:2`. The list stops at the first index that doesn't exist.
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
# ## Lazy, and asynchronous · E torch.cuda
# Starting up a GPU takes time and memory, so PyTorch waits until something needs one. Here are your simulated GPUs, and
# minitorch, which has none and says what a PyTorch built without CUDA says:

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
# A GPU also works on its own. A call puts a kernel into a queue, the **stream**, and returns; the kernel runs later.
# You can only time that on a real GPU. Here is a model, in which the CPU takes 5 µs to put a kernel into the queue:


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
# If you measure without `torch.cuda.synchronize()`, you measure the launches. Reading a value, with `item()`,
# `tolist()` or `cpu()`, has to wait too. Move the slider: when does the CPU hold up the GPU?


# %%
def timeline(kernel):
    Stream.now, queue = 0, Stream()
    launched, ran = zip(*(((5 * n, 5), queue.launch(kernel)) for n in range(6)), strict=True)
    panel = pictures.axes(6.0, 1.8)
    panel.broken_barh(launched, (1.1, 0.8), facecolor="#0072b2", edgecolor="white")
    panel.broken_barh(ran, (0.1, 0.8), facecolor="#d55e00", edgecolor="white")
    panel.set(yticks=[0.5, 1.5], yticklabels=["GPU runs", "CPU launches"], xlabel="time (µs)")
    alt = f"Six kernels of {kernel} µs: the CPU is done at 30 µs, the GPU at {queue.free} µs."
    return pictures.publish(panel, alt)


pictures.slider(timeline, start={"kernel": 12}, kernel=[2, 4, 5, 6, 12, 20])

# %% [markdown]
# Below 5 µs the GPU waits for the next launch. That is why many small operations are slow on a GPU.
#
# **Interview · A matrix product on the GPU takes 10 µs, whatever its size. What did you measure?**
#
# - *Thirty seconds:* The launch. Kernels run asynchronously; call `torch.cuda.synchronize()` before you read the clock.
# - *Longer:* Kernels of one stream run in order, those of two streams may overlap. A `torch.cuda.Event` is a mark in a
#   stream. Another stream can wait for it, and the CPU goes on.
# - *They ask next:* What synchronizes without being asked? What needs values on the CPU: `item()`, `cpu()`, printing,
#   an `if`, and `x[mask]`, whose shape depends on them.
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
pictures.curves({"allocated": used}, xlabel="line", ylabel="memory (bytes)")
print(outcome(lambda: [mytorch.ones(1000, device="cuda") for _ in range(3)]))

# %% [markdown]
# A view takes no memory and keeps its whole storage alive: `del y` and `z[0]` free nothing; `z = z.clone()` does. The
# bytes of each storage are rounded up to a multiple of 512. PyTorch keeps freed blocks for later tensors and counts
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
# Here is `to` in minitorch. Yours, in exercise 3, has the same order: what is wanted, is anything to do, move, convert.

# %%
import inspect

print(inspect.getsource(inspect.unwrap(torch.Tensor.to)))

# %% [markdown]
# `parse_to` does the work of your `destination`, and `tensor_device` that of `with_index`. `_moved` is your
# `to_device`, `to_copy` your `_to_copy`; `_dtype` and `_device` are what the properties return. A third thing that may
# change is the memory format (`ordered`, `suggested_format`): `channels_last`, from [chapter
# 03](03_views_and_layout.ipynb). `@composite` marks a function made of other operations.
#
# ## Myths
# ### Myth 10 · "`to(device)` copies"
# It returns the same tensor if device and dtype fit (`cpu:0` doesn't). A write into it is a write into the original:

# %% tags=["proof-to-is-no-copy"]
original = torch.zeros(3)
original.to("cpu").add_(1)
print("to:        ", original, original.to("cpu:0") is original)
original.to("cpu", copy=True).add_(1)
print("copy=True: ", original)

# %% [markdown]
# ### Myth 15 · "Tensors never move between devices by themselves"
# CPU tensors without dimensions may: to the device of the others. So may CPU indices, and a GPU number that is an index.
# What moves is a copy, and the original stays.

# %% tags=["proof-numbers-move"]
number, gpu = mytorch.tensor(10.0), mytorch.ones(2, device="cuda:1")
print("cpu number with GPU vector:", number + gpu, gpu + number)
print("two numbers:", (number + number.cuda()).device, " the original:", number.device)

# %% [markdown]
# ## Rapid fire
# The cell below has the proofs.
#
# 1. Which operand of `a @ b` does PyTorch's error name? The one that is elsewhere: `mat2`.
# 2. Does `torch.device("cuda:7")` raise on a laptop? No, a tensor there would.
# 3. Can `numpy()` read a GPU tensor? Only with `force=True`, or after `cpu()`.
# 4. May a CPU number collect losses of a GPU? No, `+=` raises.
# 5. Which of six calls need a value? On `meta`, a device that keeps shapes alone, they raise.

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

# %% [markdown]
# ## To remember
# 1. A device is a name: a type and perhaps an index. The machine is asked when you put a tensor there.
# 2. `cuda` is the current GPU; `x.device` always has an index on a GPU.
# 3. Most calls want one device. The result is there.
# 4. Exceptions: CPU tensors without dimensions as inputs of elementwise operations, CPU indices, copies.
# 5. `to` returns the tensor itself if device and dtype fit. It never moves `x` itself.
# 6. `.cuda()` goes to the current GPU, even from another GPU.
# 7. `with torch.device` sets the default device, `with torch.cuda.device` the current GPU.
# 8. `CUDA_VISIBLE_DEVICES` hides and renumbers. Set it before the program starts.
# 9. Kernels run later: synchronize before you read the clock.
# 10. A view keeps its storage. Freed memory stays reserved.
#
# ## You try
# [The exercises](../exercises/05_devices.ipynb): predict five devices; write the layer, `to`, and what
# `CUDA_VISIBLE_DEVICES` means; move a nested batch; repair a layer; measure how an allocator rounds. [Chapter
# 06](06_computation_graph.ipynb) pushes the next layer: it records each call.
