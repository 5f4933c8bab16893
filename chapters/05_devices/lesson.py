# %% [markdown]
# # Devices
# After this chapter your library has GPUs, which are simulated if your machine has none. Each tensor is on one of them or on the CPU,
# `to` moves it, and most calls that mix two devices raise an error. You will be able to say on which device each result is, how to time
# a GPU, why its errors show up at the wrong line, and who holds its memory.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(5)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Mixing a CPU tensor with a GPU tensor
# `mytorch` can simulate GPUs, and the cell below simulates three of them. It multiplies a vector by a scalar tensor twice,
# first with the vector on a GPU and then with the scalar on one. Do both lines run?

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
# Both lines mix a CPU tensor with a GPU tensor, but only the first one runs, while the second raises the error that you know
# from training scripts.

# %% [markdown] tags=["short"]
# ## All tensors of a call on one device
# ### The smallest model
# A kernel runs on one device and reads that device's memory, so a call needs a single device:


# %%
def one_place(*devices):
    others = [device for device in devices if device != devices[0]]
    if others:
        raise RuntimeError(f"two devices: {devices[0]} and {others[0]}")
    return devices[0]


print(one_place("cuda:1", "cuda:1"), "|", outcome(lambda: one_place("cuda:1", "cpu")))

# %% [markdown]
# ### Where the model breaks
# Try the model on each pair of five tensors: vectors and 0-d tensors, on the CPU and on two GPUs. Each entry of the table is the
# device of `x + y`, and the marked ones are sums that `mytorch` computes although the model would raise an error.

# %% tags=["proof-pairs"]
import numpy as np

from course import check, pictures

kinds = {"cpu vector": ("cpu", (3,)), "cpu scalar": ("cpu", ())}
kinds |= {"cuda:0 vector": (0, (3,)), "cuda:0 scalar": (0, ()), "cuda:1 vector": (1, (3,))}
tensors = {name: mytorch.ones(size, device=where) for name, (where, size) in kinds.items()}


def lands(x, y):
    found = outcome(lambda: x + y)
    return "error" if isinstance(found, str) else str(found.device)


table = [["x + y", *tensors]] + [[name, *(lands(x, y) for y in tensors.values())] for name, x in tensors.items()]
alike = np.array([[x.device == y.device for y in tensors.values()] for x in tensors.values()])
mixed = (np.array(table)[1:, 1:] != "error") & ~alike
for row, column in np.argwhere(mixed) + 1:
    print(f"{table[row][0]} + {table[0][column]}: {table[row][column]}")
pictures.grid(table, np.pad(mixed, (1, 0)), "x in rows, y in columns")

# %% [markdown]
# All six exceptions have one thing in common: one of the two tensors is a 0-d tensor on the CPU. It is treated as a number,
# like the `2` in `x * 2`, and the CPU passes its value to the GPU along with the call. The CPU doesn't have the value of a
# scalar on a GPU, however, and would have to wait for the GPU to fetch it, so PyTorch leaves that decision to you.
#
# Indexing has its own rules. Indices may be on the CPU, whatever their shape, and a single integer may be on any device, because
# PyTorch reads it with `item()`. The rules for assigned values are stricter, as the last three lines show:

# %% tags=["proof-exceptions"]
gpu = mytorch.tensor([10.0, 20.0, 30.0], device="cuda:1")
print("length 1: ", outcome(lambda: gpu + mytorch.ones(1)))
print("index:    ", gpu[mytorch.tensor([2, 0])])
print("scalar:   ", *(tensor[mytorch.tensor(2, device="cuda:2")] for tensor in (gpu, vector)))
print("gather:   ", outcome(lambda: gpu.gather(0, mytorch.tensor([2, 0]))))
print("two GPUs: ", outcome(lambda: gpu + mytorch.tensor(1.0, device="cuda:2")))
written, values, places = mytorch.zeros(3, device="cuda:0"), mytorch.tensor([7.0, 8.0]), mytorch.tensor([0, 2])
for index, source in ((slice(1, 3), values), (places, values), (places, number)):
    answer = outcome(lambda index=index, source=source: written.__setitem__(index, source))
    print(f"{type(index).__name__:7} =", "values" if source is values else "scalar", "->", answer or written.tolist())

# %% [markdown]
# Three lines are refused that look harmless. A tensor of length 1 has a dimension, so it isn't a scalar. `gather` isn't
# indexing but an ordinary kernel, so its index has to be on the GPU. And a scalar on one GPU isn't added to a tensor on
# another.
#
# In the assignments, a slice is a view, and the assignment is a `copy_` into it, so the values may come from another device.
# Assigning through an index tensor or a mask, however, calls `index_put_`, which is a kernel with several inputs: it accepts a
# CPU scalar, but raises an error for CPU values with a dimension.
#
# PyTorch's checks of `gather`, `cat` and `@` also name the argument: "got index is on cpu, different from other tensors on
# cuda:1".

# %% [markdown] given="mytorch.arrays:move mytorch.devices:to_device mytorch.devices:bring"
# ## Your library: a dispatcher layer for devices
# Behind a GPU tensor is an array of a different library: CuPy if `mytorch.cuda.use_cupy()` finds a GPU, and otherwise minitorch, which
# stands in for CuPy on the CPU. NumPy can't read such an array, because its elements are in a different memory and have to be copied
# first. In `mytorch`, `move` makes that copy, by way of NumPy. This chapter also adds an entry to each of chapter 02's two tables,
# `LIBRARIES` and `TO_DEVICE`.

# %% [markdown] given="mytorch.devices:on_its_device mytorch.devices:ACROSS mytorch.devices:on_elements"
# A rule for all operations belongs in a layer of chapter 02b's dispatcher, which intercepts each call and may change its
# arguments before it passes them `below`. This chapter fills the lowest of the four slots, `device`, with `one_device`, which
# you will write in exercise 2 and which uses `bring` from above. `ACROSS` contains the operations that copy from one device to
# another.
#
# To see it work, borrow the top slot for a layer that prints each call.

# %% tags=["proof-layer"]
from mytorch import dispatch


def watch(op, args, below):
    print(f"{op.name:10}", [str(tensor.device) for tensor in dispatch.tensors_in(args)])
    return below(op, args)


dispatch.fill("autocast", watch)
result = gpu * number
dispatch.fill("autocast", None)
stack = {layer: function.__name__ if function else "empty" for layer, function in dispatch.LAYERS.items()}
where = {"kernels": ["numpy", "simulated GPU"], "chosen": "simulated GPU", "result": "cuda:1"}
pictures.layers(stack, call="gpu * number", path=["device"], **where)

# %% [markdown] tags=["short"]
# The layer printed two calls: the multiplication and, inside it, the copy of the scalar to the GPU. The kernel of `mul` therefore gets both
# arrays on one device.
#
# **Interview · Which operations may mix devices?**
#
# - *Thirty seconds:* Copies may: `to`, `cpu`, `cuda` and `copy_`. Most elementwise operations accept 0-d CPU tensors as inputs, and
#   indexing accepts CPU indices, but nearly everything else requires all tensors to be on one device.
# - *Longer:* A 0-d tensor on a GPU isn't moved to another device in an addition. As an index it is read automatically, but the CPU has
#   to wait for its value. Assigning to a slice copies from any device; assigning through a mask or an index tensor doesn't.
# - *They ask next:* Is a tensor of length 1 an exception, too? No, it has a dimension.
# - *The trap:* `total += gpu_loss` with a CPU tensor `total` raises an error. Inputs may be moved automatically, but the result of an
#   in-place operation can't.
# - *Proof:* `proof-pairs`, `proof-exceptions`, `proof-rapid-fire`.
#
# ## Moving tensors: `to`, `cpu` and `cuda`
# `to` takes a device, a dtype, both, or another tensor whose device and dtype it should match. `cuda` without an index means the
# *current* GPU, which is `cuda:0` unless you choose another. When does `to` copy?

# %% tags=["proof-to"]
import minitorch as torch

x = mytorch.ones(2, device="cuda:0")
results = {'to("cuda:0")': x.to("cuda:0"), 'to("cuda")': x.to("cuda"), "cuda()": x.cuda(), "to(x)": x.to(x)}
results |= {"to(mytorch.float32)": x.to(mytorch.float32), 'to("cuda:0", copy=True)': x.to("cuda:0", copy=True)}
results |= {"to(mytorch.float64)": x.to(mytorch.float64), "to(1)": x.to(1), "cpu()": x.cpu()}
for call, result in results.items():
    print(f"x.{call:24}", "is x itself" if result is x else "is a new tensor")
print("x is still on", x.device)
print("cuda() of a tensor on cuda:1 is on", x.to("cuda:1").cuda().device)
layer = torch.nn.Linear(2, 2)
print("a module changes itself:", layer.to(torch.float64) is layer, layer.weight.dtype)

# %% [markdown] tags=["short"]
# `to` returns the tensor itself if device and dtype already match. Otherwise it returns a new tensor while `x` stays where it is, so you
# have to write `x = x.to(device)`. A module, on the other hand, moves its own parameters. `x.cuda()` is `x.to("cuda")`: the result is on
# the current GPU, even if `x` is on another one.
#
# **Interview · `to(device)` or `.cuda()`?**
#
# - *Thirty seconds:* `to` takes any device and dtype, so the same script runs with and without a GPU. `.cuda()` needs a GPU and takes
#   the current one unless you give an index.
# - *They ask next:* Does `x.to("cuda")` move `x`? No, because `tensor.to` returns a result, whereas `module.to` works in place.
# - *The trap:* `.cuda()` doesn't just make sure that a tensor is on a GPU. If it is on `cuda:1` and `cuda:0` is current, you get a copy on
#   `cuda:0`.
# - *Proof:* `proof-to`.
#
# ## Asynchronous execution and streams
# You time a matrix product on a GPU, and it takes 10 µs whatever its size. What did you measure? Calls to a GPU are
# asynchronous: a call puts a kernel into a queue, the **stream**, and returns, and the kernel runs later. Since times can only
# be measured on a real GPU, here is a model in which a launch takes the CPU 5 µs:


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
# After ten launches of 100 µs the clock says 50, so without `torch.cuda.synchronize()` a timer measures only the launches. Two
# streams took half the time, since the model runs their kernels side by side, which a real GPU does only while it has room for
# both.
#
# A tensor that one stream writes and another one reads needs `two.wait_stream(one)`, or an event as in the last lines, and
# `tensor.record_stream(two)` keeps its memory from being reused too early. Copies that overlap with kernels need pinned memory
# and `non_blocking=True` ([chapter 18](18_data.ipynb)).
#
# Move the slider to see when the GPU has to wait for the CPU.


# %% hidden=true tags=["proof-launch-bound"]
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
# If a kernel takes less than 5 µs, the GPU waits for the next launch. A faster GPU wouldn't help: the program is *launch-bound*.
#
# **Interview · Why is a model with many small operations slow on a GPU, and what helps?**
#
# - *Thirty seconds:* Each operation is a kernel launch, which takes the CPU several microseconds, and if the kernels are shorter than
#   that, the GPU waits for the CPU. I use larger batches, fuse kernels with `torch.compile`, or replay them as a CUDA graph with a
#   single launch.
# - *They ask next:* How do you recognize it? In a profiler's timeline there are gaps between the kernels, and the CPU is always busy.
# - *The trap:* A high utilization in `nvidia-smi` proves little, because it counts the time in which any kernel runs, however small.
# - *Proof:* `proof-launch-bound`, on a model; fusion and CUDA graphs: [chapter 08b](08b_a_compiler.ipynb).
#
# ### Asynchronous errors and `CUDA_LAUNCH_BLOCKING`
# Errors are asynchronous, too: if a kernel finds an index out of range, it stops with a *device-side assert*, which Python
# reports at a later call. In this model, the bug is in the first of the program's three lines, because there is no token 12:


# %% tags=["proof-late-error"]
class Queue:
    def __init__(self, blocking):
        self.kernels, self.blocking = [], blocking

    def launch(self, kernel):
        self.kernels.append(kernel)
        if self.blocking:
            self.synchronize()

    def synchronize(self):
        while self.kernels:
            self.kernels.pop(0)()


embedding = np.zeros((10, 4))
for blocking in (False, True):
    queue = Queue(blocking)
    program = {
        "look up token 12": lambda queue=queue: queue.launch(lambda: embedding[12]),
        "apply the layer": lambda queue=queue: queue.launch(lambda: embedding @ np.ones(4)),
        "print(loss.item())": queue.synchronize,
    }
    for line, call in program.items():
        if error := check.error(call):
            print(f"blocking={blocking!s:5} the traceback points at: {line:19}", type(error).__name__)
            break

# %% [markdown]
# The first traceback points at an innocent line. With the environment variable `CUDA_LAUNCH_BLOCKING=1` each launch waits for its kernel,
# so the traceback is correct, but the program is slow. Often the quickest way to find the line is to run the same batch on the CPU, where
# the error is an `IndexError`. After a device-side assert, the process has to be restarted.
#
# **Interview · A matrix product on the GPU takes 10 µs, whatever its size. What did you measure?**
#
# - *Thirty seconds:* The launch, because kernels run asynchronously. To measure the product, I run a few warm-up iterations and
#   call `torch.cuda.synchronize()` each time before I read the clock.
# - *Longer:* Better still, use `start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))`, record one before and one after
#   the work, synchronize once, and read `start.elapsed_time(end)` in milliseconds. The warm-up excludes initialization, the choice of
#   algorithms and the allocator's first blocks.
# - *They ask next:* What synchronizes implicitly? Everything that needs a value on the CPU: `item()`, `cpu()`, printing, an `if` on a
#   tensor, and `x[mask]`, whose shape depends on the values.
# - *The trap:* With `print(loss.item())` in every step, the CPU waits for the GPU in every step.
# - *Proof:* `proof-stream`, on a model; `proof-rapid-fire`.
#
# **Interview · "CUDA error: device-side assert triggered" points at a harmless line. What now?**
#
# - *Thirty seconds:* CUDA reports errors asynchronously, so the failing kernel was launched earlier. I rerun with
#   `CUDA_LAUNCH_BLOCKING=1`, or on the CPU, to find the line. Usually it is an index out of range, such as a token id or a class label.
# - *They ask next:* Why does every later call fail as well? The CUDA context of the process can't be used any more, so the process has to
#   restart.
# - *The trap:* It's no use to catch the exception and go on with the next batch: every later CUDA call fails as well.
# - *Proof:* `proof-late-error`, on a model.
#
# ## GPU memory and the caching allocator
# When does a tensor give its memory back? `memory_allocated` counts the bytes in use, and the cell prints it after each of seven lines:

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
mytorch.cuda.simulate(3)

# %% hidden=true
ax = pictures.axes(6.4, 2.6)
bars = ax.barh(lines, used, 0.6, color=pictures.COLOURS["data"])
ax.bar_label(bars, padding=3)
ax.set(xlabel="memory in use after the line (bytes)", xlim=(0, 9500))
ax.invert_yaxis()
sizes = ", ".join(f"{line}: {size}" for line, size in zip(lines, used, strict=True))
pictures.publish(ax, f"Bytes in use after each line. {sizes}.")

# %% [markdown]
# A view takes no memory of its own but keeps its whole storage alive, so `del y` and `z = z[0]` free nothing, whereas `z =
# z.clone()` does. All the sizes are multiples of 512, because each storage is rounded up to whole blocks of 512 bytes. The last
# call asks for three tensors of 4,096 bytes, of which the third doesn't fit. On a real GPU, a freed block doesn't go back to
# the driver: PyTorch's *caching allocator* keeps it for later tensors and counts it in `memory_reserved`.
#
# **Interview · You deleted a large GPU tensor. Why is the memory still in use?**
#
# - *Thirty seconds:* Either something still refers to its storage, such as a view, a list or the graph, or the caching allocator keeps
#   the block for the next tensor.
# - *Longer:* `memory_allocated` counts tensors and workspaces such as cuBLAS's, and `memory_reserved` adds the blocks that the allocator
#   keeps. `nvidia-smi` shows the reserved memory plus the CUDA context.
# - *They ask next:* What does `empty_cache` do? It returns unused blocks to the driver, but it frees no tensor.
# - *They ask next:* `memory_summary` shows 20 GB reserved and 8 allocated, yet an allocation fails. Why? The free memory is fragmented,
#   so no single piece is large enough, which `expandable_segments` often fixes ([chapter 22b](22b_memory.ipynb)).
# - *The trap:* If you keep `x[0]` of each batch in a list, each view keeps its whole batch alive.
# - *Proof:* `proof-memory`.
#
# ## Device names: `torch.device`
# A `torch.device` is only a name, made of a type and an optional index:

# %% tags=["proof-spellings"]
print(mytorch.device("cuda:1"), mytorch.device("cuda", 1), mytorch.device(type="cuda", index=1), mytorch.device(1))
print("no index:", repr(torch.device("cuda")), " a GPU that isn't there:", torch.device("cuda:99"))
print('device("cuda") == device("cuda:0"):', torch.device("cuda") == torch.device("cuda:0"))
for text in ("gpu", "cuda:x"):
    print(outcome(lambda text=text: mytorch.device(text)))

# %% [markdown]
# A misspelled type such as `gpu` raises an error at once, but nothing compares the name with the machine, so `cuda:99` is fine until you
# create a tensor there. `cuda` without an index means the current GPU, which is looked up when the name is used.
#
# Besides `cuda` there are `mps` for Apple's GPUs, `xpu` for Intel's, and `meta`, whose tensors have shapes but no values. Code that
# should run on any of them calls `torch.accelerator.current_accelerator(check_available=True)`, which returns None if the machine has
# none.
#
# A device is also a context manager: inside the block, it is the default device of functions such as `ones`. Which of these seven tensors
# will be on `cuda:1`?

# %% tags=["proof-context"]
with mytorch.device("cuda:1"):
    made = {"ones": mytorch.ones(2), "device=0": mytorch.ones(2, device=0), "tensor(vector)": mytorch.tensor(vector)}
    made |= {"as_tensor(vector)": mytorch.as_tensor(vector), "ones_like(vector)": mytorch.ones_like(vector)}
    made |= {"from_numpy": mytorch.from_numpy(np.ones(2)), "vector + 1": vector + 1}
for name, tensor in made.items():
    print(f"{name:18} {tensor.device}")
print(f"{'after the context':18} {mytorch.ones(2).device}")

# %% [markdown]
# The context fills in a missing `device=` of `ones`, `tensor` and `as_tensor`, so the last two move `vector`, although it already has
# a device. `ones_like` and `new_ones` also take a `device=`, but without one they use the device of their tensor. `from_numpy` shares
# the array's memory, which belongs to the CPU.
#
# **Interview · What does `torch.device("cuda")` mean?**
#
# - *Thirty seconds:* The current GPU at the moment the name is used, because it is a type without an index. To name one
#   particular GPU, I write `cuda:1` or `("cuda", 1)`, or the legacy integer `1`.
# - *Longer:* The string isn't checked against the machine. As a context manager, a device is the default of `ones`, `tensor` and
#   `as_tensor`, and an explicit `device=` overrides it.
# - *They ask next:* What does `with torch.device("cuda:1")` do to `from_numpy`? Nothing: the tensor shares the array's memory, which
#   belongs to the CPU.
# - *The trap:* `x.device == torch.device("cuda")` is never true, because the device of a GPU tensor has an index. Compare `x.device.type`
#   instead.
# - *Proof:* `proof-spellings`; the context: `proof-context`.

# %% [markdown] given="mytorch.cuda:device mytorch.cuda:computing_on"
# ## The current GPU
# `cuda` means the current GPU, and each *thread* has its own. It is GPU 0 until `set_device` changes it, or `cuda.device(i)` for a block
# of code; `mytorch` simplifies this and has one for the process. CuPy computes on the current GPU, so `on_its_device` first makes the
# tensors' GPU the current one:

# %% tags=["proof-current"]
far, near = mytorch.ones(2, device="cuda:2"), mytorch.zeros(2, device="cuda:0")
with mytorch.cuda.device(1):
    places = {"device='cuda'": mytorch.ones(2, device="cuda"), ".cuda()": mytorch.ones(2).cuda()}
    places |= {"far + 1": far + 1, "far.clone()": far.clone(), "ones": mytorch.ones(2)}
for name, tensor in places.items():
    print(f"{name:14} {tensor.device}")
print("far + near: ", outcome(lambda: far + near))
print("copy_:      ", near.copy_(far), " far is on", far.device)
near[1:] = mytorch.tensor([7.0])  # a slice is a view, into which copy_ writes; the values may come from the CPU
print("near[1:] = …", near)

# %% [markdown]
# The current GPU decides where *new* tensors go when you ask for `cuda`. It doesn't move results, which are always on the device of their
# inputs, and `ones` without a device still makes a CPU tensor. To combine tensors on two GPUs, copy one of them: `near.copy_(far)` writes
# into the memory of `near`, so the result stays on `cuda:0`.
#
# **Interview · `torch.device("cuda:1")` or `torch.cuda.device(1)` as a context?**
#
# - *Thirty seconds:* The first one sets the default device, so `ones(2)` is on the GPU. The second one only changes which GPU
#   `cuda` means, so a plain `ones(2)` is still on the CPU.
# - *Longer:* Neither moves a result, which is on the device of its inputs, but `as_tensor(x)` inside the first one copies `x` to that
#   device.
# - *They ask next:* How do two GPUs exchange data? By `to` or `copy_`. If the GPUs have peer access, which
#   `torch.cuda.can_device_access_peer(0, 1)` tells me, the copy goes directly over NVLink or PCIe, and otherwise through the CPU's
#   memory.
# - *The trap:* `set_device(1)` doesn't reach a thread pool. The current GPU belongs to the thread that set it, so the workers still compute
#   on GPU 0.
# - *Proof:* `proof-current`; the first context: `proof-context`.
#
# ## Milestone: four devices at work
# The program below splits a CPU batch over three GPUs, each with its own copy of the weight, and collects the results on the CPU, which
# is the core of data parallelism. The last line forgets one copy.

# %% tags=["proof-milestone", "raises-exception"]
mytorch.manual_seed(0)
batch, weight = mytorch.randn(12, 4), mytorch.randn(4, 2)
parts = [part.to(number) for number, part in enumerate(batch.chunk(3))]
results = [(part @ weight.to(part.device)).tanh() for part in parts]
print("results on:", *(result.device for result in results))
collected = mytorch.cat([result.cpu() for result in results])
difference = (collected - (batch @ weight).tanh()).abs().max().item()
print("collected on:", collected.device, f"  difference from one product on the CPU: {difference:.4f}")
parts[1] @ weight.to(parts[0].device)

# %% [markdown]
# The collected result equals that of a single product on the CPU. In the last line, part 1 is on `cuda:1` and the copy of the
# weight on `cuda:0`.
#
# ## Visible GPUs: `CUDA_VISIBLE_DEVICES`
# The environment variable `CUDA_VISIBLE_DEVICES` lists the GPUs that a program may see, in the order in which it sees them. The
# driver reads the variable once, when the program first uses a GPU, so set it before Python starts. `simulate` takes such a
# string:

# %% tags=["proof-visible"]
for text in (None, "2,0", "1", "", "0,7,1"):
    mytorch.cuda.simulate(3, visible=text)
    names = [mytorch.cuda.get_device_name(number) for number in range(mytorch.cuda.device_count())]
    print(f"{text!r:8}", {f"cuda:{number}": name for number, name in enumerate(names)})
mytorch.cuda.simulate(3, visible="2,0")
mytorch.cuda.set_device(1)
places = {text: mytorch.ones(2, device=text).device for text in (None, "cuda")}
print("current:", mytorch.cuda.get_device_name(), places, "|", outcome(lambda: mytorch.cuda.set_device(2)))

# %% [markdown]
# Inside the program the visible GPUs are numbered from 0. With `2,0`, for example, `cuda:0` is the machine's GPU 2, and there is no
# `cuda:2`. The first index that isn't on the machine ends the list, so `0,7,1` leaves only GPU 0.
#
# **Interview · `CUDA_VISIBLE_DEVICES` or `set_device`?**
#
# - *Thirty seconds:* The variable hides GPUs from the whole program and numbers the visible ones from 0. `set_device` only chooses the
#   current one among those.
# - *Longer:* With the variable, code that says `cuda` or `cuda:0` runs unchanged on any GPU and can't touch another job's GPU. On a
#   machine with different GPUs I also set `CUDA_DEVICE_ORDER=PCI_BUS_ID`: by default CUDA puts the fastest GPU first, so its indices may
#   differ from those of `nvidia-smi`.
# - *They ask next:* Why may `os.environ[...] = "1"` have no effect? Because the driver may have read the variable already.
# - *The trap:* After `CUDA_VISIBLE_DEVICES=2` there is no `cuda:2`: the only visible GPU is now called `cuda:0`.
# - *Proof:* `proof-visible`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# The cell below proves the five answers.
#
# 1. You time `a @ b` on a GPU without synchronizing. What did you measure? The launch.
# 2. Does `torch.device("cuda:7")` raise an error on a machine without a GPU? No, but creating a tensor there does.
# 3. Can `numpy()` read a GPU tensor? Only with `force=True`, or after `cpu()`.
# 4. Can you accumulate GPU losses in a CPU tensor `total`? No, `+=` raises an error.
# 5. Which of `x + 1`, `x.argmax()`, `x[0].item()`, `x.cpu()`, `if x[0] > 0` and `x[x > 0]` make the CPU wait for the GPU? The last four:
#    they need values. On the `meta` device, which has none, the same four raise.

# %% tags=["proof-rapid-fire"]
Stream.now, queue = 0, Stream()
queue.launch(100)
print("1. the clock says", Stream.now, "µs, the kernel ends at", queue.free)
torch.cuda.simulate(1)
print("2.", torch.device("cuda:7"), "|", outcome(lambda: gpu.to("cuda:7")))
print("3.", outcome(gpu.numpy), gpu.cpu().numpy(), torch.ones(2, device="cuda").numpy(force=True))
print("4.", outcome(lambda: torch.tensor(0.0).add_(torch.ones((), device="cuda"))))
x = torch.ones(3, device="meta")
calls = {"x + 1": lambda: x + 1, "x.argmax()": x.argmax, "x[0].item()": lambda: x[0].item(), "x.cpu()": x.cpu}
calls |= {"if x[0] > 0": lambda: bool(x[0] > 0), "x[x > 0]": lambda: x[x > 0]}
print("5.", [text for text, call in calls.items() if isinstance(outcome(call), str)])

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A device is a name, with a type and perhaps an index, which is checked only when you create a tensor there.
# 2. `cuda` is the current GPU; the `device` of a GPU tensor has an index.
# 3. Most calls require all tensors to be on one device, and the result is on that device.
# 4. The exceptions are 0-d CPU tensors as inputs of elementwise operations, CPU indices, and copies.
# 5. `to` returns the tensor itself if device and dtype match, and otherwise a new tensor; `x` stays where it is.
# 6. `.cuda()` goes to the current GPU, even from another GPU.
# 7. `with torch.device` sets the default device, `with torch.cuda.device` the current GPU.
# 8. `CUDA_VISIBLE_DEVICES` hides and renumbers GPUs, so set it before the program starts.
# 9. Kernels run asynchronously: synchronize before you read the clock, and suspect earlier lines when an error appears.
# 10. A view keeps its whole storage alive, and the caching allocator keeps freed memory.

# %% [markdown]
# ## You try
# In [the exercises](../exercises/05_devices.ipynb) you predict five devices, write the layer, `to` and the meaning of
# `CUDA_VISIBLE_DEVICES`, move a nested batch, repair a layer, and measure how an allocator rounds. [Chapter 06](06_computation_graph.ipynb)
# fills the next slot with a layer that records calls.
#
# ## If you have time
# ### Myth · "`to(device)` copies"
# It returns the same tensor if device and dtype match, in which case a write into the result is a write into the original. But
# the name `cpu:0` doesn't match `cpu`, so that call does copy.
#
# ### Myth · "`cuda.set_device` sets the default device"
# It sets the *current GPU*: after `set_device(1)` the device `"cuda"` means `cuda:1`, while `ones(2)` without a device is still on the
# CPU. To set the default, call `torch.set_default_device` ([chapter 01](01_global_settings.ipynb)).
#
# ### Myth · "An integer always means a CUDA device"
# It is an index of the machine's accelerator, whatever the accelerator's type is. Without an accelerator, PyTorch 2.13 raises an error at
# `torch.device(1)`, while minitorch does so when you create a tensor there. Another common claim is that `get_device()` raises an error
# for a CPU tensor, but it returns −1.
#
# ### Myth · "It is on a GPU already, so `to` copies nothing"
# A different index is a different device, so `to` copies from `cuda:0` to `cuda:1`. The cell below adds 1 to each of five results and then
# prints the originals. Which writes reach them?

# %% tags=["proof-to-is-no-copy", "proof-numbers-move"]
torch.cuda.simulate(0)
original, gpu = torch.zeros(3), mytorch.ones(2, device="cuda:0")
same, index, copy = original.to("cpu"), original.to("cpu:0"), original.to("cpu", copy=True)
results = {"cpu": same, "cpu:0": index, "cpu, copy=True": copy, "gpu.to(0)": gpu.to(0), "gpu.to(1)": gpu.to(1)}
for call, result in results.items():
    result.add_(1)
    print(f"{call:15}", original.tolist(), gpu.tolist())
number, gpu = mytorch.tensor(10.0), mytorch.ones(2, device="cuda:1")
print("CPU scalar with GPU vector:", number + gpu, gpu + number, " the original:", number.device)
print("device=1, no GPU:", outcome(lambda: torch.ones(2, device=1)))
print("CPU get_device:", torch.ones(2).get_device(), " CPU indices:", gpu[mytorch.tensor([[1, 0, 1]])])

# %% [markdown]
# Two of the five writes arrive, those through `original.to("cpu")` and `gpu.to(0)`, because these calls returned the tensor itself.

# %% [markdown]
# ### Lazy initialization
# Initializing CUDA takes time and memory, so PyTorch puts it off until something needs a GPU. The cell tries this first with your
# simulated GPUs, and then with minitorch, which has no GPU here and answers as a PyTorch without CUDA does:

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
mytorch.cuda.simulate(3)

# %% [markdown]
# Counting the GPUs initialized nothing, but the first tensor did. Without a GPU, the three queries return False and 0 instead of
# raising an error, so a script can check first. Creating a tensor or a stream raises an error, and so does calling
# `current_device`.

# %% [markdown]
# ### The real one: `to`
# This is `to` in minitorch. Yours, in exercise 3, takes the same four steps: find out which device and dtype are wanted, return the
# tensor if they match already, move, and convert.

# %%
import inspect

print(inspect.getsource(inspect.unwrap(torch.Tensor.to)))

# %% [markdown]
# | minitorch | `mytorch` |
# |---|---|
# | `parse_to` | `destination`, which you'll write |
# | `tensor_device` | `with_index` |
# | `_moved` | `to_device` |
# | `to_copy` | `_to_copy` |
# | `_dtype`, `_device` | the properties `dtype` and `device` |
#
# `ordered` and `suggested_format` are about the memory format, such as `channels_last` from [chapter 03](03_views_and_layout.ipynb), and
# `@composite` marks a function that is made of other operations.
