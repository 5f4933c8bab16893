# %% [markdown]
# # Global settings
# Why does a model under `no_grad` still record a graph in a thread pool? How do you get the same losses in every run? And why is 0.1
# suddenly not equal to 0.1? The answers follow from four ideas, which this lesson takes in turn:
#
# 1. A setting is read when a function is *called*, not when you set it.
# 2. A setting has a *scope*: the whole process, one thread, or one block.
# 3. The switches that matter in training trade precision for speed, or speed for results that can be repeated.
# 4. A setting fills in only what the call leaves open: arguments and operands come first.
#
# At the end your own library has dtypes, device names, and a default device that survives an error.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(1)  # as of this chapter, using your code wherever you've solved the exercise

# %% [markdown] tags=["short"]
# ## `no_grad` in a thread pool
# You switch gradients off and call a layer twice, once in a thread pool and once directly. Which of the two results has a graph?

# %% tags=["proof-thread-pool"]
from concurrent.futures import ThreadPoolExecutor

import minitorch as torch

layer, x = torch.nn.Linear(2, 1), torch.ones(2)
with torch.no_grad(), ThreadPoolExecutor() as executor:
    in_the_pool = executor.submit(layer, x).result()
    here = layer(x)
print("in the pool:", in_the_pool.requires_grad)
print("here:       ", here.requires_grad)

# %% [markdown] tags=["short"]
# The worker thread recorded a graph, although the call stands inside the block. Why? For each setting you need to know when it is read,
# and whom it belongs to.
#
# ## When is a setting read?
# The smallest model of a setting is a value in an object that functions look up *at the moment they are called*. What does this cell print
# for the dtypes of `before` and `after`?


# %%
class State:
    dtype = "float32"
    device = "cpu"


def make(dtype=None, device=None):
    return {"dtype": dtype or State.dtype, "device": device or State.device}


before = make()
State.dtype = "float64"
after = make()
print("before:  ", before["dtype"])
print("after:   ", after["dtype"])
print("argument:", make(dtype="float32")["dtype"])

# %% [markdown]
# `before` keeps the dtype that it was made with, `after` has the new one, and an explicit argument overrides the setting. The picture
# shows where `torch.tensor(0.5)` looks for a dtype: in its arguments, in its data (an array would have a dtype), and finally in the
# default.

# %%
from course import pictures

steps = {"argument": "dtype= given?", "data": "has a dtype?", "settings": "the default"}
types = {"kernels": ["float32", "float64"], "chosen": "float32", "result": "a tensor"}
pictures.layers(steps, call="torch.tensor(0.5)", path=list(steps), **types)

# %% [markdown] tags=["short"]
# ## Settings and threads
# In the model, `State` is one object for the whole program, so every thread would see a change. The thread pool showed that `no_grad`
# isn't like that: it reaches only the thread that enters it. Is that true of all settings? Change six of them, and read each one in this
# thread and in a new one:

# %% tags=["proof-threads"]
readers = {
    "default dtype": torch.get_default_dtype,
    "deterministic algorithms": torch.are_deterministic_algorithms_enabled,
    "threads of an operation": torch.get_num_threads,
    "default device": torch.get_default_device,
    "gradients recorded": torch.is_grad_enabled,
    "autocast on the CPU": lambda: torch.is_autocast_enabled("cpu"),
}
threads = torch.get_num_threads()
torch.set_default_dtype(torch.float64)
torch.use_deterministic_algorithms(True)
torch.set_num_threads(1)
with torch.device("meta"), torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
    for name, read in readers.items():
        in_a_new_thread = ThreadPoolExecutor().submit(read).result()
        print(f"{name:25} here: {read()!s:14} in a new thread: {in_a_new_thread}")
torch.set_default_dtype(torch.float32)
torch.use_deterministic_algorithms(False)
torch.set_num_threads(threads)

# %% [markdown] tags=["short"]
# The first three settings are shared by the process. The last three belong to a thread, and each new thread starts with gradients on,
# autocast off, and the CPU as its device.
#
# **Interview · Which global settings does another thread see?**
#
# - *Thirty seconds:* The default dtype, print options, the seed and the deterministic switch belong to the process, so every thread sees
#   them. The default device, the current GPU, `no_grad`, `inference_mode` and autocast belong to the thread that sets them.
# - *Longer:* That suits a server in which one thread answers requests under `no_grad` while another one trains.
# - *They ask next:* What about the backward pass, which runs in its own thread on a GPU? The engine copies the caller's modes
#   to its threads, except that it records a graph only under `create_graph=True`.
# - *The trap:* If you wrap `executor.map(model, batches)` in `no_grad`, the workers still record graphs.
# - *Proof:* `proof-thread-pool`, `proof-threads`.
#
# **Interview · Your model runs under `no_grad`, and memory still grows. How?**
#
# - *Thirty seconds:* Either a graph is recorded where the block doesn't reach, or tensors are kept that have no graph. The classic cause
#   is a thread pool, because the workers don't see the caller's `no_grad`. So I check `requires_grad` of an output inside the worker.
# - *Longer:* Code inside may also switch recording on again, with `enable_grad`. If the outputs have no graph, I look for a list that
#   collects them, for hooks that store activations, or for a KV cache that grows.
# - *They ask next:* How do you fix the thread pool? I decorate the function that the workers run with `@torch.no_grad()`.
# - *The trap:* `model.eval()` looks like the fix, but it only changes layers such as dropout and batch norm, and recording goes on.
# - *Proof:* `proof-thread-pool`, `proof-fixed-pool`.


# %% tags=["proof-fixed-pool"]
@torch.no_grad()
def predict(x):
    return layer(x)


with ThreadPoolExecutor() as executor:
    print("decorated, in the pool:", executor.submit(predict, x).result().requires_grad)
    print("in evaluation mode:    ", executor.submit(layer.eval(), x).result().requires_grad)

# %% [markdown]
# ## A setting for a block
# If you change a default and forget to restore it, the bug shows up in somebody else's function. PyTorch therefore offers
# `with` blocks that restore the old value: for the device, for grad mode and for autocast, but not for the default dtype, which
# needs `try` and `finally`. A block remembers the current value on entry and puts it back on exit:


# %%
class Block:
    def __init__(self, device):
        self.device = device

    def __enter__(self):
        self.outer, State.device = State.device, self.device

    def __exit__(self, *error):
        State.device = self.outer


with Block("cuda:0"):
    with Block("cuda:1"):
        print("inside both:", make()["device"])
    print("inside one: ", make()["device"])
print("outside:    ", make()["device"])

# %% [markdown]
# `__exit__` also runs when an error ends the block, whereas a second call to the setter would be skipped. Now break the block
# by entering the *same* object twice, as a recursive function would do with its device.

# %% tags=["proof-reentered"]
once = Block("cuda:0")
with once, once:
    pass
print("the toy:", make()["device"])
again = torch.device("cuda:0")
with again, again:
    pass
print("torch:  ", torch.get_default_device())

# %% [markdown]
# The toy has room for a single outer value, and the inner block overwrote it. Nested blocks therefore need a stack, which you will write in
# exercise 2: entering pushes the old value, and leaving pops it.
#
# The toy is also shared by all threads, whereas a setting that belongs to a thread is kept in a `threading.local()`, an object whose
# attributes are separate for each thread. (You will write one in exercise 3.) Since a new thread finds no attributes at all, the setting
# also needs a default that doesn't depend on the thread, such as the `"cpu"` in this cell:

# %% tags=["proof-thread-local"]
import threading

local = threading.local()
local.device = "cuda:0"  # in this thread
elsewhere = ThreadPoolExecutor().submit(getattr, local, "device", "cpu").result()
print("here:", local.device, "  in a new thread:", elsewhere)

# %% [markdown] tags=["short"]
# ## The global switches that matter in training
# Besides the default dtype, a program has the five switches in this table, about which interviewers ask more than about any
# default. All of them belong to the process, and they pull in two directions: three make training faster, and two make a run
# repeatable.
#
# | switch | what it changes | for |
# |---|---|---|
# | `torch.set_float32_matmul_precision("high")` | lets tensor cores multiply float32 matrices in TF32 | speed ([chapter 22](22_mixed_precision.ipynb)) |
# | `torch.backends.fp32_precision = "tf32"` | the same for all backends at once, convolutions included | speed ([chapter 22](22_mixed_precision.ipynb)) |
# | `torch.backends.cudnn.benchmark = True` | times several convolution algorithms for each new shape and keeps the fastest | speed ([chapter 11](11_convolution.ipynb)) |
# | `torch.manual_seed(0)` | restarts the random number generators of the CPU and of all GPUs | repeatable runs ([chapter 19](19_training_loop.ipynb)) |
# | `torch.use_deterministic_algorithms(True)` | chooses deterministic algorithms, and raises an error where there is none; cuBLAS also needs `CUBLAS_WORKSPACE_CONFIG` | repeatable runs ([chapter 19](19_training_loop.ipynb)) |
#
# What are the defaults of the switches for speed?

# %% tags=["proof-switches"]
print("float32 matmul precision:", torch.get_float32_matmul_precision())
print("TF32 in cuDNN's convolutions:", torch.backends.cudnn.allow_tf32)
print("cuDNN times algorithms:", torch.backends.cudnn.benchmark)

# %% [markdown]
# By default, float32 matrices are multiplied in full precision, cuDNN's convolutions may use TF32, and nothing is timed.
#
# For repeatable runs, a seed comes first. Draw two numbers three times after the same seed, the last time with an extra draw in between:

# %% tags=["proof-extra-draw"]
for extra in (0, 0, 1):
    torch.manual_seed(0)
    torch.rand(extra)
    print(f"seed 0, {extra} extra draws:", torch.rand(2))

# %% [markdown]
# The same seed gives the same numbers only if the program draws in the same order: a single extra draw, say in a new layer, shifts all that
# follow. And what does the deterministic switch do with `put_`, which writes two values into one position here?

# %% tags=["proof-deterministic"]
torch.use_deterministic_algorithms(True)
try:
    torch.zeros(3).put_(torch.tensor([0, 0]), torch.tensor([1.0, 2.0]))
except RuntimeError as error:
    print(str(error).partition(". ")[0])
torch.use_deterministic_algorithms(False)

# %% [markdown] tags=["short"]
# It doesn't make `put_` repeatable; it raises an error instead of running it.
#
# **Interview · How do you make a rerun bit-identical, and what does it cost?**
#
# - *Thirty seconds:* I seed Python, NumPy and PyTorch, call `use_deterministic_algorithms(True)`, leave `cudnn.benchmark` off, and set
#   `CUBLAS_WORKSPACE_CONFIG` before the program starts. That costs some speed, and operations without a deterministic version raise an
#   error.
# - *Longer:* It holds for the same hardware, versions, batch size and number of workers and threads. To go on in the middle of a run, I
#   also save the states of the random number generators ([chapter 20](20_saving_and_loading.ipynb)).
# - *They ask next:* Why isn't a seed enough? One extra draw shifts all later ones, and on a GPU, kernels with atomic additions
#   may add in a different order each time.
# - *The trap:* A different GPU gives different bits, because other kernels add in another order.
# - *Proof:* `proof-extra-draw`, `proof-deterministic`; on a training run: [chapter 19](19_training_loop.ipynb).
#
# **Interview · Which global switches make training on a GPU faster, and what do they cost?**
#
# - *Thirty seconds:* `set_float32_matmul_precision("high")` lets tensor cores multiply in TF32, which costs precision: inputs are rounded
#   to ten bits of mantissa. `cudnn.benchmark = True` picks the fastest convolution algorithm, which costs a search for each new shape.
# - *Longer:* Both change the last digits of results. Convolutions may use TF32 even at the default `highest`: cuDNN has a switch of its
#   own, `cudnn.allow_tf32`, which is on.
# - *They ask next:* When does `benchmark` hurt? When shapes keep changing, because every new shape starts another search.
# - *The trap:* A float32 product doesn't have seven correct digits while TF32 is on, because each input keeps only about three.
# - *Proof:* `proof-switches`.

# %% [markdown]
# ## Default precision
# Two lines create the same tensor, but between them a default changes. What will the first line of the output be?

# %% tags=["proof-two-tenths"]
x = torch.tensor([0.1, 0.5])
torch.set_default_dtype(torch.float64)  # perhaps deep inside somebody's library
y = torch.tensor([0.1, 0.5])
print(x == y)
print(x.dtype, y.dtype, x[0].item())
torch.set_default_dtype(torch.float32)

# %% [markdown]
# The Python floats were the same, but `x` is float32 and `y` is float64. For the comparison PyTorch converts `x` to float64, where its 0.1
# turns out to be 0.10000000149, the nearest number that float32 has. Being a power of two, 0.5 is exact in both types.
#
# ### Which calls use the default dtype?
# Python floats get it, and so do functions such as `zeros` and `randn`. Here are eleven calls, each run under two defaults. Decide first
# which of the results you expect to change:

# %% tags=["proof-default-dtype"]
import numpy as np


def results():
    return {
        "tensor([0.5])": torch.tensor([0.5]),
        "zeros(1), randn(1)": torch.zeros(1) + torch.randn(1),
        "tensor([1]) / 3": torch.tensor([1]) / 3,
        "tensor([1]).exp()": torch.tensor([1]).exp(),
        "nn.Linear(1, 1).weight": torch.nn.Linear(1, 1).weight,
        "full((2,), x[0])": torch.full((2,), x[0]),
        "zeros(1) + x": torch.zeros(1) + x,
        "tensor([1])": torch.tensor([1]),
        "x * 0.5": x * 0.5,
        "from_numpy(float32)": torch.from_numpy(np.ones(1, np.float32)),
        "tensor([1]).float()": torch.tensor([1]).float(),
    }


single = results()
torch.set_default_dtype(torch.float64)
double = results()
torch.set_default_dtype(torch.float32)
for name in single:
    under_float32, under_float64 = single[name].dtype, double[name].dtype
    remark = "changed" if under_float32 != under_float64 else ""
    print(f"{name:24} {under_float32!s:14} {under_float64!s:14} {remark}")

# %% [markdown]
# Seven results changed. The other four get their dtype from somewhere else: Python integers become int64, `x` and the array have a
# dtype of their own, and `.float()` asks for float32 by name. The sum `zeros(1) + x` changed because it adds a new float64 tensor to an
# old float32 one, and the wider type wins. The rows that people tend to miss are `tensor([1]) / 3` and `exp`: an integer operand has no
# floating-point type to pass on, so the result gets the default.
#
# **Interview · What does `set_default_dtype` change, and what does it leave alone?**
#
# - *Thirty seconds:* It sets the dtype of new floating-point tensors: those made from Python floats or by factories such as `zeros` and
#   `randn`, and the results of `/` or `exp` on integers. Existing tensors, integer tensors and NumPy arrays keep their types.
# - *Longer:* An operation with a floating-point tensor among its operands ignores it, but a factory reads it even if you pass such a
#   tensor, so `full((2,), x[0])` has the default dtype. Since layers create their parameters with factories, they follow the default too.
# - *They ask next:* Which types are allowed? Float16, bfloat16, float32 and float64. Int64 and all others raise a TypeError.
# - *The trap:* Not all results are float64 now. `x * 0.5` isn't, because `x` was created before the change.
# - *Proof:* `proof-default-dtype`; the refusal: `proof-refused`.
#
# ### Float32 or float64?
# What does the default save, and what does it cost? Compare the bytes, the digits of 0.1, and a 1 that is added to 2²⁴ and taken away
# again:

# %% tags=["proof-precision"]
for dtype in (torch.float32, torch.float64):
    number = torch.tensor(2.0**24, dtype=dtype)
    tenth = torch.tensor(0.1, dtype=dtype).item()
    print(f"{dtype!s:14} {number.element_size()} bytes, 0.1 is {tenth!r}")
    print("    2**24 + 1 - 2**24 =", (number + 1 - number).item())
print("0 / 0 in float64:", (torch.zeros((), dtype=torch.float64) / 0).item())

# %% [markdown]
# **Interview · Python's floats have 64 bits. Why is PyTorch's default 32?**
#
# - *Thirty seconds:* Because float32 halves the memory and the traffic between memory and processor, and most hardware computes
#   faster with it. It keeps only about seven digits, but that is enough to train most networks.
# - *Longer:* You notice the missing digits when you add a small number to a large one: in float32, 2²⁴ + 1 is still 2²⁴. Large
#   models go further and are trained mostly in bfloat16.
# - *They ask next:* When would you set float64? For `gradcheck`, which compares tiny differences
#   ([chapter 07b](07b_vector_jacobian_products.ipynb)), and to find out whether a strange result comes from rounding.
# - *The trap:* Float64 is no cure for `nan`. It overflows later, but zero divided by zero is `nan` in every precision.
# - *Proof:* `proof-precision`.

# %% [markdown] given="mytorch.settings:dtype mytorch.settings:Settings mytorch.settings:settings"
# ## Your library: dtypes and settings
# A dtype gives a PyTorch name to one of NumPy's types, and a single object holds the settings; both classes are provided. You will write
# the parsing of device strings and the setters with their error messages. Here they are with wrong arguments:

# %% tags=["proof-refused"]
print(mytorch.get_default_dtype(), mytorch.device("cuda:1"), repr(mytorch.device("cuda", 1)))
for text in ("gpu", "cuda:01", ""):
    try:
        mytorch.device(text)
    except RuntimeError as error:
        print(error)
for library in (torch, mytorch):
    for refused in (library.int64, "float64"):
        try:
            library.set_default_dtype(refused)
        except TypeError as error:
            print(f"{library.__name__:9} {error}")

# %% [markdown]
# ## Milestone: defaults that survive an error
# Your library refuses what PyTorch refuses, even `cuda:01`, whose index begins with a zero. Now the same
# program runs on minitorch and on your library. It sets a default dtype, enters three nested blocks, two of them with the same
# object, and raises an exception in the middle.


# %% tags=["proof-milestone"]
def program(library):
    library.set_default_dtype(library.float64)
    device = library.device("cuda:2")
    try:
        with device, library.device("cuda:1"), device:
            seen = [library.get_default_device()]
            raise ValueError("something went wrong")
    except ValueError:
        seen += [library.get_default_device(), library.get_default_dtype()]
    library.set_default_dtype(library.float32)
    return seen


for library in (torch, mytorch):
    inside, device_after, dtype_after = program(library)
    print(f"{library.__name__:9} inside: {inside}, after the error: {device_after} and {dtype_after}")

# %% [markdown]
# The blocks restored the default device although an error ended them, but nothing restored the default dtype, so it is still float64.
#
# ## The real one
# Here is how `minitorch` sets the default dtype:

# %%
import inspect

print(inspect.getsource(torch.set_default_dtype))

# %% [markdown]
# Yours will look the same: the function only checks its argument and writes into the shared state. PyTorch keeps the default
# dtype in C++, where its functions need it too.
#
# The default device lives in Python as a **mode** (a `TorchFunctionMode`): an object that intercepts each call of a PyTorch
# function before the function runs. If the function creates a tensor and the call names no device, the mode adds `device=`. It
# passes every other call on unchanged, but even `add`, `sum` and `view` take the detour. Since each thread has its own stack of
# modes, the default device belongs to a thread.
#
# ### Settings in a library
# This function belongs to somebody's library, and it sets a default without restoring it. The last line shows two calls that need no
# setting, because they follow a tensor:


# %% tags=["proof-leak"]
def careless(values):
    torch.set_default_dtype(torch.float64)
    return torch.tensor(values).mean()


careless([0.1, 0.2])
print("a layer made later:", torch.nn.Linear(1, 1).weight.dtype)
torch.set_default_dtype(torch.float32)
half = torch.tensor([0.1, 0.2], dtype=torch.float16)
print("following a tensor:", half.new_zeros(2).dtype, torch.zeros_like(half).dtype)

# %% [markdown]
# **Interview · Are global settings a good idea in a library?**
#
# - *Thirty seconds:* No: in a script they save typing, but a library that changes one changes other people's code, too. It should
#   accept `dtype=` and `device=`, or follow a tensor that it was given, with `zeros_like` and `new_zeros`.
# - *Longer:* If a library must change a setting, it should restore it, even after an error.
# - *They ask next:* What does a test suite do? It restores the settings after each test, because one forgotten float64 changes
#   results far away.
# - *They ask next:* What does `torch.compile` do about settings? It guards on most of them, such as default dtype and grad mode: a
#   change compiles the function again ([chapter 08](08_static_and_dynamic_graphs.ipynb)).
# - *The trap:* A library that restores float32 is wrong as well. It has to restore the default that it found.
# - *Proof:* `proof-milestone` for the block, `proof-reentered` for what goes wrong; the forgotten setting: `proof-leak`.


# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. What is the dtype of `torch.tensor(3)`? Int64, under every default.
# 2. Does `torch.float` follow the default dtype? No, it always means float32.
# 3. Are `torch.device("cuda")` and `torch.device("cuda:0")` equal? No, the first one names no index.
# 4. Is bfloat16 more precise than float16? No, its spacing is eight times as large except close to 0, but its range is wider.
# 5. What is `torch.tensor(70000.)` if float16 is the default dtype? Infinity: the largest finite float16 is 65504.

# %% tags=["proof-rapid-fire"]
print("1.", torch.tensor(3).dtype, " 2.", torch.float is torch.float32)
print("3.", torch.device("cuda") == torch.device("cuda:0"))
wide, fine = torch.finfo(torch.bfloat16), torch.finfo(torch.float16)
print("4.", wide.eps / fine.eps, "times; up to", wide.max, "and", fine.max)
torch.set_default_dtype(torch.float16)
print("5.", torch.tensor(70000.0).item())
torch.set_default_dtype(torch.float32)

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A setting is read when a function is called, not when you set it.
# 2. The default dtype, print options, seeds and most switches belong to the process; default device, `no_grad` and autocast to a thread.
# 3. An explicit argument overrides a setting, and so do the operands of an operation.
# 4. The default dtype applies to Python floats, to factories, and to floating-point results of integers.
# 5. The default dtype must be a floating-point type; Python integers become int64 under every default.
# 6. A device is a name, so you may name one that isn't there, but you can't create a tensor on it.
# 7. `zeros_like`, results of operations and `from_numpy` don't use the default device.
# 8. A block restores a setting even after an error, and it needs a stack because blocks nest.
# 9. One outlier puts a whole tensor into scientific notation, and a summary may hide a nan.
# 10. TF32 and `cudnn.benchmark` buy speed. Deterministic algorithms give some up so that a run can be repeated.
#
# ## You try
# In [the exercises](../exercises/01_global_settings.ipynb) you predict some dtypes, and you write device names, blocks that restore a
# setting, and settings of a thread. You also repair a test helper that makes other tests fail, measure how many digits each type needs,
# and, if you have time, print numbers as PyTorch does. [Chapter 02](02_tensors_and_storage.ipynb) creates tensors that follow these
# settings.

# %% [markdown]
# ## If you have time
# ### Default device
# A device object is only a name, made of a type and an index, so you can name a GPU that isn't there. Which line of this cell raises the
# error?

# %% tags=["proof-device-is-a-name", "raises-exception"]
gpu = torch.device("cuda:1")
print(repr(gpu), gpu.type, gpu.index, "available:", torch.cuda.is_available())
torch.set_default_device("cuda")
print("no error yet; with device='cpu':", torch.zeros(2, device="cpu").device)
torch.zeros(2)

# %% tags=["proof-device-reach"]
like = torch.zeros_like(torch.ones(1, device="cpu"))
print("zeros_like:", like.device, "  from_numpy:", torch.from_numpy(np.zeros(1)).device)
torch.set_default_device(None)
print("after None:", torch.get_default_device(), torch.zeros(2).device)

# %% [markdown]
# The error came only when `zeros` was about to create a tensor on a GPU. The second cell shows two functions that ignore the
# default: `zeros_like` follows its argument, and `from_numpy` shares the array's memory.
#
# **Interview · How do you make new tensors land on the GPU by default?**
#
# - *Thirty seconds:* You call `torch.set_default_device("cuda")` for the rest of the program, or you write `with torch.device("cuda"):`
#   around a block. Both affect only tensors that are created afterwards without `device=`.
# - *Longer:* Existing tensors and modules stay where they are, and `zeros_like` and the results of operations follow their operands. For a
#   model, `.to(device)` moves the parameters; for a tensor, it returns a copy unless the tensor is there already.
# - *They ask next:* Does the call check that there is a GPU? No, you get the error when you create the first tensor.
# - *The trap:* `from_numpy` doesn't follow the default. It shares memory with an array, and that memory belongs to the CPU.
# - *Proof:* `proof-device-is-a-name`, `proof-device-reach`.

# %% [markdown]
# ### What a default device costs
# The detour through the mode takes time: on the machine where this text was written, PyTorch 2.13 added two tensors of two elements in
# 0.9 µs, and under a default device in 1.85 µs. A default device is therefore convenient in a script, but a loop of small operations is
# faster with an explicit `device=` in the calls that create tensors. (minitorch has no such mode: its factories look up the default
# themselves.)

# %% [markdown]
# ### More global switches
# Interviewers ask about these five less often. The third column says which threads a change affects.
#
# | switch | what it changes | scope |
# |---|---|---|
# | `with torch.nn.attention.sdpa_kernel(…):` | restricts the kernels that `scaled_dot_product_attention` may choose | process |
# | `torch.set_num_threads(4)` | sets how many CPU threads one operation uses | process, but not threads that have already computed |
# | `torch.cuda.set_device(1)` | makes another GPU the current one, which `"cuda"` without an index means | thread ([chapter 05](05_devices.ipynb)) |
# | `torch.no_grad()`, `torch.inference_mode()` | stops recording for autograd | thread ([chapter 07](07_backward_in_depth.ipynb)) |
# | `torch.autocast("cuda")` | lets a list decide which operations run in 16 bits | thread ([chapter 22](22_mixed_precision.ipynb)) |
#
# Lower `set_num_threads` when several processes share a machine: otherwise each one starts a thread for each core, and they compete. A
# `DataLoader` worker sets it to 1 by itself, and `torchrun` sets `OMP_NUM_THREADS=1` when it starts several processes. It can change the
# last digits, since sums are split among the threads differently. (In minitorch it affects matrix multiplications only.)

# %% [markdown]
# ### The spacing of floating-point numbers
# The picture shows the measured spacing between a number and the next larger one that the type can hold, for float32 and for a type that
# you choose with the slider. In each type, the spacing grows in proportion to the number, so what a type fixes is the *relative*
# precision.


# %%
def spacing(dtype):
    sizes = [2.0**power for power in range(-14, 15)]
    lines = {name: [float(np.spacing(np.array(size, name))) for size in sizes] for name in ("float32", dtype)}
    return pictures.curves(lines, sizes, xlabel="number", ylabel="spacing to the next", log="xy")


pictures.slider(spacing, start={"dtype": "float16"}, dtype=["float16", "float64"])

# %% [markdown]
# ### How numbers print
# Here are seven tensors of two values that differ only in the second one. In which rows does the `1` change its form as well?
#
# `print` shows four digits, and it names a floating-point dtype only if that isn't the default at the moment of printing.

# %% tags=["proof-notation"]
for last in (2.0, 2.5, 1000.0, 1000.5, 1001.0, 1e-4, float("inf")):
    print(torch.tensor([1.0, last]))

# %% [markdown]
# All floating-point elements of a tensor are written in one notation, so that the columns line up. Three questions decide which notation
# it is, leaving zeros, `inf` and `nan` aside:
#
# 1. Is the largest magnitude more than 1000 times the smallest or above 10⁸, or is the smallest below 10⁻⁴? If so, every element is written
#    in scientific notation.
# 2. Otherwise, are all of them whole numbers? If so, they get a decimal point and no digits after it: `1000.`
# 3. How long is the longest one? All others are padded to that length.
#
# The third row stayed in fixed notation and the fifth didn't, because the rule says *more than* 1000 times. A single outlier is therefore
# enough to put every loss into scientific notation:

# %% tags=["proof-outlier"]
losses = torch.tensor([0.31, 0.25, 0.2, 0.18])
print(losses, torch.cat([losses, torch.tensor([900.0])]), sep="\n")

# %% [markdown]
# **Interview · Why does PyTorch print my tensor in scientific notation?**
#
# - *Thirty seconds:* Often a single element is the reason: if the largest magnitude is more than 1000 times the smallest nonzero one, or if
#   one is above 10⁸ or below 10⁻⁴, every element is printed that way.
# - *Longer:* The notation is chosen per tensor, from its finite nonzero elements. You can force fixed notation with `sci_mode=False`, but
#   then small values may show as 0.0000.
# - *The trap:* A printed `1.0000` needn't be one: it may be 0.99996, as `.item()` shows.
# - *Proof:* `proof-notation`, `proof-outlier`, `proof-rounded`.

# %% [markdown]
# ### When notation changes
# The picture shows which pairs of numbers print in fixed notation: a narrow band, three powers of ten wide, which ends on both sides. At
# its lower end the dtype matters: as a float32, 1e-4 is stored as a slightly smaller number, so it prints in scientific notation, but as
# a float64 it doesn't.

# %%
for dtype in (torch.float32, torch.float64):
    tiny = torch.tensor([1e-4], dtype=dtype)
    print(tiny, f"is {tiny.item():.17f}")

pairs = [(1.2 * 10.0**i, 1.1 * 10.0**j) for i in range(-7, 10) for j in range(i + 1, 11)]
fixed = [pair for pair in pairs if "e" not in str(torch.tensor(pair)).removeprefix("tensor")]
ax = pictures.axes(6.0, 3.8)
ax.plot(*zip(*fixed, strict=True), "o", label="fixed")
ax.plot(*zip(*set(pairs) - set(fixed), strict=True), "x", label="scientific")
ax.set(xscale="log", yscale="log", xlabel="smaller number", ylabel="larger number")
ax.legend()
pictures.publish(ax, alt=f"{len(fixed)} of {len(pairs)} pairs of numbers print in fixed notation.")

# %% [markdown]
# ### Summaries
# Above 1,000 elements a tensor is summarized: dots replace the middle of each long dimension. The option `threshold` sets that limit and
# `edgeitems` says how many elements stay at each end, while `profile` sets both, together with `precision` and `linewidth`. A summary
# reads only the elements that it shows, so what happens to a `nan` in the hidden middle?

# %% tags=["proof-hidden-nan"]
import re

table = torch.arange(64.0).reshape(8, 8)
table[3, 5] = float("nan")
torch.set_printoptions(threshold=50, edgeitems=2)
print(table)
print("nan printed:", str(table).count("nan"), " nan inside:", table.isnan().sum().item())
printed = {float(digits) for digits in re.findall(r"\d+", str(table))}
torch.set_printoptions(profile="default")
framed = [[number in printed for number in row] for row in table.tolist()]
pictures.grid(table, framed, "table")

# %% [markdown]
# Only the framed elements are printed, and the `nan` isn't among them. So call `isnan().any()` instead of judging a large
# tensor by its printed form, or print it whole with `set_printoptions(profile="full")` and return with `profile="default"`. In
# your library the framed elements are picked by a function `edges`, which you will write.

# %% [markdown]
# ### Rounding and `sci_mode`
# Printed values are rounded, and `precision` changes only the printed form. The second cell sets `sci_mode`, an option that behaves
# differently from all others.

# %% tags=["proof-rounded"]
almost = torch.tensor([0.99996, 0.5])
print(almost, "equal to 1:", (almost == 1).tolist(), "item:", almost[0].item())
torch.set_printoptions(precision=2)
print(almost, "the same value as before:", almost[0].item())
torch.set_printoptions(profile="default")

# %% tags=["proof-sci-mode"]
torch.set_printoptions(sci_mode=False)
torch.set_printoptions(precision=6)
print(torch.tensor([1.0, 0.00001]))
torch.set_printoptions(profile="default")

# %% [markdown]
# The second call dropped `sci_mode=False`, although it names only `precision`. The reason is that a call that doesn't mention `sci_mode`
# passes None. For all other options, None means *leave it unchanged*; for `sci_mode` it means *choose from the values*.

# %% [markdown] given="mytorch.printing:Formatter.__init__ mytorch.printing:_brackets"
# ### Your library: one formatter for all elements
# `Formatter.__init__` looks at the elements once and calls two functions that you will write, `needs_scientific` and `write`. `_brackets`
# does the rest: it breaks a row into lines that fit, and puts `...` where `edges` skipped something.

# %% [markdown]
# Print a thousand random arrays with minitorch and with your library, and count how many of the printed forms differ by even one
# character:

# %% tags=["proof-same-characters"]
rng, different = np.random.default_rng(0), 0
for number in range(1000):
    shape = tuple(rng.integers(1, 6, size=rng.integers(0, 4)))
    numbers = rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7)
    kinds = [numbers, np.round(numbers), np.where(numbers > 0, np.inf, numbers)]
    numbers = np.asarray(kinds[number % 3], np.float32)
    for library in (torch, mytorch):
        library.set_printoptions(precision=1 + number % 5, threshold=number % 60, edgeitems=2)
    theirs = str(torch.tensor(numbers)).removeprefix("tensor(").removesuffix(")")
    different += theirs != mytorch.printing.format_array(numbers, indent=7)
for library in (torch, mytorch):
    library.set_printoptions(profile="default")
print("different:", different)
