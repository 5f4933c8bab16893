# %% [markdown]
# # Global settings
# After this chapter your own library has dtypes, device names and default settings, and it prints numbers character for
# character as PyTorch does. You'll know which calls read a default and when, and why one element can change how all the
# others print.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(1)  # as of this chapter, using your code wherever you've solved the exercise

# %% [markdown] tags=["short"]
# ## One tensor, three faces
# The program below makes a tensor once and never touches it again. What will the three lines show? Decide before you
# run it.

# %% tags=["proof-three-faces"]
import minitorch as torch

x = torch.tensor([0.5, 0.00025])
print(x)
torch.set_default_dtype(torch.float64)
print(x)
torch.set_printoptions(sci_mode=False)
print(x)
print("dtype", x.dtype, "numbers", x.tolist())
torch.set_default_dtype(torch.float32)
torch.set_printoptions(profile="default")  # as in a fresh PyTorch

# %% [markdown] tags=["short"]
# The numbers and the dtype stayed the same, but what `print` says about them changed twice. First a suffix appeared, because a
# floating-point dtype is printed only if it isn't the default. Then the second number became 0.0003, because fixed
# notation shows four digits after the point.
#
# Nothing in the two calls mentions `x`. So `print` must look somewhere else. Where?
#
# ## The smallest model
# A setting is a value in one object that the whole program shares. Functions that create or print something look there
# *when they are called*.


# %%
class State:
    dtype = "float32"
    device = "cpu"


def make(dtype=None, device=None):
    return {"dtype": dtype or State.dtype, "device": device or State.device}


def show(made):
    suffix = "" if made["dtype"] == State.dtype else f", dtype={made['dtype']}"
    return f"tensor(...{suffix})"


before = make()
State.dtype = "float64"
after = make()
print(show(before), show(after), show(make(dtype="float32")))

# %% [markdown]
# That explains the surprise. `before` keeps the type that it was made with, but its printed form depends on what the state
# is *now*. An argument that you pass wins over the state. The picture shows where `torch.tensor(0.5)` looks for a type: at the
# argument, at its data, which would have one if it were an array, and last at the default.

# %%
from course import pictures

steps = {"argument": "dtype= given?", "data": "has a dtype?", "settings": "the default"}
types = {"kernels": ["float32", "float64"], "chosen": "float32", "result": "a tensor"}
pictures.layers(steps, call="torch.tensor(0.5)", path=list(steps), **types)

# %% [markdown]
# ## Default precision
# `set_default_dtype` decides what Python's floats become, and what functions such as `zeros` and `randn` make. Which
# other calls ask for the default? Run each call under both defaults and compare.

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
    one, other = single[name].dtype, double[name].dtype
    print(f"{name:24} {one!s:14} {other!s:14} {'changed' if one != other else ''}")

# %% [markdown]
# Seven results changed. The other four get their type elsewhere: Python's integers become int64, `x` and the array have a type of
# their own, and `.float()` asks for float32 by name. `zeros(1) + x` adds a new float64 tensor to an old float32 one, and the wider
# type wins. People tend to miss `tensor([1]) / 3` and `exp`: the operand is an integer and has no floating-point type to
# pass on, so the result takes the default.
#
# **Interview · What does `set_default_dtype` change, and what does it leave alone?**
#
# - *Thirty seconds:* It decides the type of new floating-point tensors: those made from Python floats, by factories such
#   as `zeros` and `randn`, and from integers, by `/` or `exp`. Existing tensors, integers and NumPy arrays keep their types.
# - *Longer:* The default is read when the call runs. An operation with a floating-point tensor among its operands doesn't
#   ask for it. A factory does, even if you give it such a tensor: `full((2,), x[0])` has the default dtype. Layers create
#   their parameters with factories, so they follow the default.
# - *They ask next:* Which types are allowed? float16, bfloat16, float32 and float64. Another type, such as int64, raises a
#   TypeError.
# - *The trap:* "Then all my results are float64." `x * 0.5` isn't, because `x` was made before.
# - *Proof:* `proof-default-dtype`; the refusal: `proof-refused`.
#
# **Interview · Python's floats have 64 bits. Why is PyTorch's default 32?**
#
# - *Thirty seconds:* It halves the memory and the traffic between memory and processor. You keep about seven digits,
#   which is enough to train most networks.
# - *Longer:* You notice the missing digits when you add a small number to a large one: 2²⁴ + 1 is still 2²⁴.
# - *They ask next:* When would you set float64? For `gradcheck`, which compares tiny differences
#   ([chapter 07b](07b_vector_jacobian_products.ipynb)), and to see whether a strange result comes from rounding.
# - *The trap:* float64 as a cure for `nan`. It overflows later, but zero divided by zero is nan in every precision.
# - *Proof:* `proof-precision`.
#
# The picture shows the measured distance from a number to the next one. Move the slider through the types.

# %% tags=["proof-precision"]
for dtype in (torch.float32, torch.float64):
    number = torch.tensor(2.0**24, dtype=dtype)
    tenth = torch.tensor(0.1, dtype=dtype).item()
    print(f"{dtype!s:14} {number.element_size()} bytes, 0.1 is {tenth!r}")
    print("    2**24 + 1 - 2**24 =", (number + 1 - number).item())
print("0 / 0 in float64:", (torch.zeros((), dtype=torch.float64) / 0).item())


def spacing(dtype):
    sizes = [10.0**power for power in range(-4, 5)]
    gaps = [float(np.spacing(np.array(size, dtype))) for size in sizes]
    return pictures.curves({dtype: gaps}, sizes, xlabel="number", ylabel="gap to the next", log="xy")


pictures.slider(spacing, start={"dtype": "float32"}, dtype=["float16", "float32", "float64"])

# %% [markdown] tags=["short"]
# ## Default device
# A device object is only a name: a type and an index. You can name a GPU that isn't there. When does the error come?

# %% tags=["proof-device-is-a-name", "raises-exception"]
gpu = torch.device("cuda:1")
print(repr(gpu), gpu.type, gpu.index, "available:", torch.cuda.is_available())
torch.set_default_device("cuda")
print("no error yet; with device='cpu':", torch.zeros(2, device="cpu").device)
torch.zeros(2)

# %% tags=["proof-device-reach"]
from concurrent.futures import ThreadPoolExecutor

like = torch.zeros_like(torch.ones(1, device="cpu"))
print("zeros_like:", like.device, "  from_numpy:", torch.from_numpy(np.zeros(1)).device)
print("zeros in another thread:", ThreadPoolExecutor().submit(torch.zeros, 2).result().device)
torch.set_default_device(None)
print("after None:", torch.get_default_device(), torch.zeros(2).device)

# %% [markdown] tags=["short"]
# The error came when `zeros` was about to create a tensor there. The default didn't reach `zeros_like`, which follows its tensor,
# or `from_numpy`, which shares NumPy's memory. It didn't reach the other thread either: each thread has its own
# default device, and starts on the CPU. All threads share one default dtype.
#
# **Interview · How do you make new tensors land on the GPU by default?**
#
# - *Thirty seconds:* `torch.set_default_device("cuda")` for the program, or `with torch.device("cuda"):` for a block.
#   Both affect tensors that are created afterwards without `device=`.
# - *Longer:* Existing tensors and modules stay where they are. `.to(device)` moves a model, and copies a tensor unless it is
#   there already. `zeros_like` and the results of operations follow their operands.
# - *They ask next:* Does the call check that there is a GPU? No. The first tensor that you create does.
# - *The trap:* Expecting `from_numpy` to follow. It shares memory with an array, and that is on the CPU.
# - *Proof:* `proof-device-is-a-name`, `proof-device-reach`.
#
# ### A setting for a block
# If you change a default and forget it, the bug shows up in somebody else's function. A `with` block puts the old value
# back. To build one, remember on entering what was there, and restore it on leaving.


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
# `__exit__` also runs when an error ends the block. Calling the setter twice gives no such guarantee. Now break it by entering
# the *same* object twice, as a recursive function with one device object would.

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
# The toy has room for one outer value, and the inner block overwrote it. Nested blocks need a list: entering appends,
# leaving pops. You'll write that in exercise 2.

# %% [markdown] given="mytorch.settings:dtype mytorch.settings:Settings mytorch.settings:settings"
# ## Your library: dtypes and settings
# A dtype gives a PyTorch name to one of NumPy's types. The state is one object. Both are given, and the cell below tries
# out what you'll write: names of devices, and errors with PyTorch's wording.

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
# ## How numbers print
# Each row below prints one tensor of two numbers, and only the second differs. In which rows does the `1` change its form?

# %% tags=["proof-notation"]
for last in (2.0, 2.5, 1000.0, 1000.5, 1001.0, 1e-4, float("inf")):
    print(torch.tensor([1.0, last]))

# %% [markdown]
# All floating-point numbers of a tensor are written in one notation, so that columns line up. Three questions decide, and
# they ignore zeros, `inf` and `nan`:
#
# 1. Is the largest magnitude more than 1000 times the smallest, or above 10⁸, or is the smallest below 10⁻⁴? Then all
#    are written in scientific notation.
# 2. If not, are all of them whole? Then they get a point and no digits: `1000.`
# 3. How long is the longest? Shorter ones are padded to that length.
#
# `1000.` passed and `1001.` didn't: the rule says *more than* 1000 times. The next cell tries a single number, one
# outlier among losses, and then many pairs of numbers.

# %% tags=["proof-outlier"]
for dtype in (torch.float32, torch.float64):
    tiny = torch.tensor([1e-4], dtype=dtype)
    print(tiny, f"is {tiny.item():.17f}")
losses = torch.tensor([0.31, 0.25, 0.2, 0.18])
print(losses, torch.cat([losses, torch.tensor([900.0])]), sep="\n")

pairs = [(1.2 * 10.0**i, 1.1 * 10.0**j) for i in range(-7, 10) for j in range(i + 1, 11)]
fixed = [pair for pair in pairs if "e" not in str(torch.tensor(pair)).removeprefix("tensor")]
ax = pictures.axes(6.0, 3.8)
ax.plot(*zip(*fixed, strict=True), "o", label="fixed")
ax.plot(*zip(*set(pairs) - set(fixed), strict=True), "x", label="scientific")
ax.set(xscale="log", yscale="log", xlabel="smaller number", ylabel="larger number")
ax.legend()
pictures.publish(ax, alt=f"{len(fixed)} of {len(pairs)} pairs of numbers print in fixed notation.")

# %% [markdown]
# As a float32, 1e-4 is stored as a slightly smaller number, so it is scientific; as a float64 it isn't. One outlier puts all the
# losses in scientific notation, though nothing is wrong with them. In the picture, fixed notation is a narrow band: three
# powers of ten wide, and cut off at both ends.
#
# **Interview · Why does PyTorch print my tensor in scientific notation?**
#
# - *Thirty seconds:* Often because of one element. If the largest magnitude is more than 1000 times the smallest that
#   isn't zero, or one is above 10⁸ or below 10⁻⁴, all elements are written that way.
# - *Longer:* The notation is chosen per tensor, from its finite elements other than zero. `sci_mode=False` forces fixed
#   notation, which may show small numbers as 0.0000.
# - *They ask next:* How do you see all digits of one number? Print `.item()`.
# - *The trap:* Reading `1.0000` as one. It may be 0.99996.
# - *Proof:* `proof-notation`, `proof-outlier`, `proof-rounded`.

# %% tags=["proof-rounded"]
almost = torch.tensor([0.99996, 0.5])
print(almost, "equal to 1:", (almost == 1).tolist(), "item:", almost[0].item())
torch.set_printoptions(precision=2)
print(almost, "the same number as before:", almost[0].item())
torch.set_printoptions(profile="default")

# %% [markdown]
# ### What is left out
# Above 1,000 elements a tensor is printed as a summary: dots replace the middle of each long dimension. `threshold`
# is that number of elements, and `edgeitems` says how many stay at each end. `profile` sets both, and also `precision`
# and `linewidth`.

# %% tags=["proof-summary"]
long = torch.arange(1002).reshape(3, 334)
print(long)
torch.set_printoptions(profile="full")
print("full:", len(str(long).splitlines()), "lines, with", str(long).count("..."), "dots")
torch.set_printoptions(profile="default")

# %% [markdown]
# A summary looks only at the elements that it shows. A large number in the hidden middle doesn't widen the columns, and what
# about a `nan`?

# %% tags=["proof-hidden-nan"]
import re

table = torch.arange(64.0).reshape(8, 8)
table[3, 5] = float("nan")
torch.set_printoptions(threshold=50, edgeitems=2)
print(table)
print("nan printed:", str(table).count("nan"), " nan inside:", table.isnan().sum().item())
printed = {float(text) for text in re.findall(r"\d+", str(table))}
torch.set_printoptions(profile="default")
framed = [[number in printed for number in row] for row in table.tolist()]
pictures.grid(table, framed, "table")

# %% [markdown]
# The framed elements are the ones that you see, and the `nan` isn't among them. So don't judge a large tensor by its printed form:
# ask `isnan().any()`. In your library `edges` picks the framed ones, and you'll write it.
#
# One option behaves differently from the others:

# %% tags=["proof-sci_mode-resets"]
torch.set_printoptions(sci_mode=False)
torch.set_printoptions(precision=6)
print(torch.tensor([1.0, 0.00001]))
torch.set_printoptions(profile="default")

# %% [markdown]
# The second call dropped `sci_mode=False`, though it names only `precision`. For the other options, None means *leave it as it is*.
# For `sci_mode` it means *let the numbers decide*, and a call that doesn't name `sci_mode` passes None.
#
# **Interview · How do you print a whole tensor, and how do you get the usual form back?**
#
# - *Thirty seconds:* `torch.set_printoptions(profile="full")`, and afterwards `profile="default"`.
# - *Longer:* The profile raises `threshold` to infinity. Options are global: if you change them, the logs of the whole
#   program change.
# - *They ask next:* What can a summary hide? A `nan` in the middle. Test for it, or index the part that you want to see.
# - *The trap:* `set_printoptions(precision=2)` silently resets `sci_mode`.
# - *Proof:* `proof-summary`, `proof-hidden-nan`, `proof-sci_mode-resets`.

# %% [markdown] given="mytorch.printing:Formatter.__init__ mytorch.printing:_brackets"
# ## Your library: one formatter for all
# `Formatter.__init__` looks at the numbers once and calls two functions that you'll write, `needs_scientific` and
# `write`. `_brackets` does the rest: it cuts a row into lines that fit, and puts `...` where `edges` left something out.

# %% [markdown]
# ## Milestone: the same characters, and a default that survives
# Your library and minitorch print a thousand random arrays. Then an error ends three nested blocks, and the default is
# what it was before them.

# %% tags=["proof-milestone"]
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
device = mytorch.device("cuda:2")
try:
    with device, mytorch.device("cuda:1"), device:
        print("inside:", mytorch.get_default_device())
        raise ValueError("something went wrong")
except ValueError:
    print("after the error:", mytorch.get_default_device())

# %% [markdown]
# ## The real one
# Here is how `minitorch` sets the default dtype:

# %%
import inspect

print(inspect.getsource(torch.set_default_dtype))

# %% [markdown]
# Yours will look the same: check, then write into the shared state. PyTorch keeps the default dtype in C++, because its
# C++ functions need it too. The default device lives in Python, as a **mode**: an object to which PyTorch's functions
# show their arguments before they run. If the function makes a tensor and the call names no device, the mode fills in
# `device=`. Otherwise it passes the call on unchanged: not only `ones`, but also `add`, `sum` and `view` go through it.
# Each thread has its own modes.
#
# What does the detour cost? On the machine where this text was written, PyTorch 2.13 adds two tensors of two elements in 0.9
# µs, and under a default device in 1.85 µs. So a default device is convenient in a script, and a loop of small operations is faster
# with `device=` in the calls that create tensors. Minitorch has no such mode: its factories look up the default
# themselves. You build a mode in [chapter 05](05_devices.ipynb).
#
# **Interview · Are global settings a good idea in a library?**
#
# - *Thirty seconds:* In a script they save typing. In a library they also change other people's code. Pass `dtype=`
#   and `device=` instead, or follow a tensor that you were given with `zeros_like` and `new_zeros`.
# - *Longer:* If you must change one, do it in a block that restores it, after an error too.
# - *They ask next:* What does a test suite do? It restores the settings after each test. One forgotten float64 changes
#   results far away.
# - *The trap:* Restoring to float32. Restore what was there before.
# - *Proof:* `proof-milestone` for the block, `proof-reentered` for what goes wrong; the forgotten setting: `proof-leak`.


# %% tags=["proof-leak"]
def careless(values):
    torch.set_default_dtype(torch.float64)
    return torch.tensor(values).mean()


careless([0.1, 0.2])
print("a layer made later:", torch.nn.Linear(1, 1).weight.dtype)
torch.set_default_dtype(torch.float32)
half = torch.tensor([0.1, 0.2], dtype=torch.float16)
print("following a tensor:", half.new_zeros(2).dtype, torch.zeros_like(half).dtype)

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. What is the type of `torch.tensor(3)`? int64, whatever the default is.
# 2. Is `torch.float` the default type? No, it is another name for float32.
# 3. Are `torch.device("cuda")` and `torch.device("cuda:0")` equal? No, the first names no index.
# 4. Is bfloat16 more precise than float16? No: except close to 0, its steps are eight times as large. Its range
#    is wider.
# 5. What is `torch.tensor(70000.)` if float16 is the default? Infinity: float16 ends at 65504.

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
# 1. A setting is one shared object. It is read when a function is called, not when you set it.
# 2. An argument wins over the settings, and so does the tensor that a result is computed from.
# 3. The default dtype applies to Python floats, to factories, and to floating-point results of integers.
# 4. It must be a floating-point type. Python's integers become int64 under every default.
# 5. A device is a name. You may name one that isn't there; you can't create a tensor on it.
# 6. `zeros_like`, results of operations and `from_numpy` don't use the default device.
# 7. A block restores a setting, after an error too. Blocks nest, so it needs a list.
# 8. The numbers of a tensor share one notation; one outlier makes all of them scientific.
# 9. Printing rounds, and a summary may hide a nan. `.item()` and `.tolist()` don't round.
# 10. A call of `set_printoptions` that doesn't name `sci_mode` resets it to None.
#
# ## You try
# In [the exercises](../exercises/01_global_settings.ipynb) you predict a few dtypes, write the device names and blocks, the
# printed form of numbers and the settings behind it, repair a test helper that makes other tests fail, and measure how
# many digits each type needs. [Chapter 02](02_tensors_and_storage.ipynb) makes tensors that follow these settings.
