# %% [markdown] tags=["short"]
# # Types and dispatch
# By the end, your library will choose the dtype of each result as PyTorch does. One line will turn a NumPy function into an
# operation that converts its operands. The first half of the lesson is about
# dtypes, the second about what happens between a call and its kernel.
#
# ## A counter that stops
# Start at 0 and add 1 six hundred times, in each of three dtypes. At which values do the counters end?

# %% tags=["proof-stuck"]
import numpy as np

import minitorch as torch
from course import check, pictures

counts = {}
for kind in (torch.float16, torch.bfloat16, torch.uint8):
    counter, seen = torch.zeros((), dtype=kind), []
    for _ in range(600):
        counter = counter + 1
        seen.append(counter.item())
    counts[str(kind)[6:]] = seen
print({name: seen[-1] for name, seen in counts.items()})
pictures.curves(counts, xlabel="additions", ylabel="counter")

# %% [markdown] tags=["short"]
# Only the float16 counter reaches 600. The uint8 counter wraps around after 255, and bfloat16 stays at 256, because it can't
# represent 257. So the dtype of a result matters, although you didn't name one in `counter + 1`. How did PyTorch choose it?
#
# ## The smallest model
# Two operands come in, and one dtype has to come out. A plausible rule is that the larger type wins, since it has more room.


# %%
def toy_type(*operands):
    """The widest of the operands' types."""
    kinds = [x.dtype if isinstance(x, torch.Tensor) else torch.tensor(x).dtype for x in operands]
    return max(kinds, key=lambda kind: kind.itemsize)


small, large = torch.tensor([1, 2], dtype=torch.int8), torch.tensor([1, 2], dtype=torch.int32)
print("toy:", toy_type(small, large), "  PyTorch:", (small + large).dtype)

# %% [markdown]
# Two pairs of operands break this rule:

# %%
whole, half = torch.tensor([1, 2]), torch.tensor([1.0, 0.5], dtype=torch.float16)
for name, operands in (("int64 and float16", (whole, half)), ("float16 and 2.5", (half, 2.5))):
    print(f"{name}:  toy {toy_type(*operands)},  PyTorch {(operands[0] + operands[1]).dtype}")

# %% [markdown] tags=["short"]
# The toy's first answer would truncate 0.5 to 0, for int64 holds no fractions. Its second answer would turn a float16 network
# into a float32 one at the first `* 2.5`. PyTorch's rules avoid both mistakes.
#
# ## Which type wins · type promotion
# There are four **categories**, from low to high: bool, integer, floating point and complex (which `mytorch` doesn't have). The
# category comes before the size: an integer tensor and a floating-point tensor give a floating-point result, and the size decides
# only within a category. In the table of ten dtypes, two pairs promote to a third dtype: u8 with i8, and f16 with bf16.

# %%
kinds = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
kinds += [torch.float16, torch.bfloat16, torch.float32, torch.float64]
short = [str(kind)[6:].replace("float", "f").replace("int", "i").replace("ui", "u") for kind in kinds]
print("     ", *(f"{name:5}" for name in short))
for name, one in zip(short, kinds, strict=True):
    common = [torch.promote_types(one, other) for other in kinds]
    print(f"{name:5}", *(f"{short[kinds.index(common_type)]:5}" for common_type in common))

# %% [markdown]
# The table holds for most elementwise operations, and for `cat`, `stack` and `where`. The main exceptions are these:
#
# - Matrix multiplications, linear layers, convolutions and `lerp` raise an error if their operands have different dtypes.
# - The 8-bit floating-point types have no promotion among tensors that have dimensions: adding such a tensor to a float32 tensor raises
#   "Promotion for Float8 Types is not supported".
#
# Operands also come in three **groups**, in this order: tensors that have dimensions, 0-d tensors, and Python numbers. A later
# group decides only if its category is *higher*, which is why `* 2.5` left a float16 tensor as it was. Guess each dtype and
# each value before you run the cell.

# %% tags=["proof-promotion"]
print(torch.tensor([1]) + 2.5)
print(half * 2.5)
print(half * torch.tensor([70000.0], dtype=torch.float64))
print(half * torch.tensor(70000.0, dtype=torch.float64))
print(half * 60000 - 70000.0)
print(torch.tensor([250], dtype=torch.uint8) + 10)

# %% [markdown]
# In the first line the number has the higher category, so it decides, and the result has the default dtype. The third and the
# fourth line differ by one pair of brackets. With the brackets the second operand is a tensor with a dimension, so the wider
# type wins. Without them it is a scalar tensor, and the *result* is float16, which can't hold 70000 but can hold half of it, if
# only to the nearest multiple of 32.
#
# The scalar therefore wasn't rounded first: a product with a scalar (unless it is a 0-d tensor on the left) is computed in
# float32 and rounded once. On the CPU a sum or difference isn't, so in the fifth line 70000 becomes `inf` before it is
# subtracted. In the last line both operands are integers, so the result stays uint8 and wraps around.
#
# **Interview · A float16 tensor times a float64 scalar: which dtype?**
#
# - *Thirty seconds:* The result is float16 if the scalar is a Python number or a 0-d tensor, because both operands are floating point
#   and then the tensor with dimensions decides. With a float64 tensor of shape (1,) the result is float64.
# - *Longer:* The rule keeps a model in the dtype in which you created it, whatever constants the code contains. The category still
#   wins: an integer tensor times 2.5 has the default dtype.
# - *They ask next:* Does a matrix multiplication promote, too? No, float32 times float64 raises an error, so a forgotten
#   `.float()` shows up there.
# - *They ask next:* What about int64 with float16? Float16, although it holds fewer integers, because the category comes before
#   the size.
# - *The trap:* Elementwise integer addition isn't widened: 250 + 10 is 4 in uint8.
# - *Proof:* `proof-promotion`.
#
# ### In-place operations and conversions
# An in-place operation can't choose a dtype, because its result goes into memory that already has one. A conversion produces
# the dtype that you ask for.

# %% tags=["proof-fixed"]
print("1.", check.error(whole.add_, 0.5))
print("2.", half.add_(torch.tensor([1.0, 1.0], dtype=torch.float64)))
print("3.", torch.tensor([-1.7, 2.5]).to(torch.int32).tolist(), torch.tensor([2.5, 3.5]).round().tolist())
print("4.", half.to(torch.float16) is half, half.to(torch.float32) is half)
assigned = torch.tensor([1, 2])
assigned[0] = 0.5
print("5.", assigned.tolist())

# %% [markdown]
# In place, a higher category is refused (line 1), and a wider type of the same category is silently rounded to the narrower one
# (line 2). `to` truncates fractions toward 0, whereas `round` goes to the nearest integer and, from halfway, to the even one.
# Line 4 shows that `to` returns the tensor itself when nothing has to change, and line 5 that an assignment converts like `to`.
#
# **Interview · `x += 0.5` on integers: what happens?**
#
# - *Thirty seconds:* It raises an error, because the result is floating point and x's memory holds integers. `x = x + 0.5`
#   works, since it creates a new tensor.
# - *Longer:* An assignment is more lenient: `x[0] = 0.5` converts like `to` and silently stores 0.
# - *They ask next:* What if you add a float64 tensor to a float16 one in place? That works, and the result is rounded to float16.
# - *The trap:* `x.to(dtype)` isn't always a copy. If nothing has to change it is `x` itself, and a write into it changes `x`.
# - *Proof:* `proof-fixed`.
#
# ### Integer overflow
# What happens to 300 in a uint8 tensor, whose largest value is 255? The answer depends on how it gets there:

# %% tags=["proof-overflow"]
print("arithmetic:", (torch.tensor([250], dtype=torch.uint8) + 50).item())
print("conversion:", torch.tensor([300, -1]).to(torch.uint8).tolist())
print("creation:  ", torch.tensor(-1, dtype=torch.uint8).item(), "|", check.error(torch.tensor, 300, dtype=torch.uint8))
print("fill_:     ", check.error(torch.zeros(1, dtype=torch.uint8).fill_, 300))

# %% [markdown]
# **Interview · What happens when a value doesn't fit into an integer dtype?**
#
# - *Thirty seconds:* Arithmetic and conversions between integer types wrap around without a warning, so 300 becomes 44 in uint8.
#   Creating a tensor from a Python number that is too large raises an error, and so do `fill_` and `full`, although −1 becomes
#   255.
# - *They ask next:* What about a float that doesn't fit, such as 1e20? The result of that conversion is undefined and can differ
#   between CPU and GPU, so clamp first.
# - *The trap:* If you subtract uint8 images, a negative difference wraps around and looks like a bright pixel.
# - *Proof:* `proof-overflow`.
#
# ## What the bits of a float say
# A float consists of a sign bit, some exponent bits, and the **mantissa** (or fraction). Its value is
# $\pm\, 1.\text{mantissa} \times 2^{\text{exponent} - \text{bias}}$. Close to 0, where all exponent bits are 0, it is
# $\pm\, 0.\text{mantissa} \times 2^{1 - \text{bias}}$ instead. The picture compares the two types that have 16 bits with an 8-bit
# one, and its slider moves through nine numbers:

# %%
from ml_dtypes import bfloat16, float8_e4m3fn


@np.errstate(over="ignore")
def bits_of(number):
    rows = []
    for kind, exponent in ((np.float16, 5), (bfloat16, 8), (float8_e4m3fn, 4)):
        limit = 448 if kind is float8_e4m3fn else np.inf  # PyTorch clamps in this conversion
        stored = np.clip(number, -limit, limit).astype(kind)
        width = 8 * stored.itemsize
        bits = [int(bit) for bit in np.binary_repr(stored.view(f"uint{width}"), width)]
        mask = [[1 <= position <= exponent for position in range(width)]]
        title = f"{stored.dtype.name}: {number:g} is stored as {float(stored):.9g}"
        rows += [(title, [bits], mask), "↓"]
    return pictures.grids(*rows[:-1])


NUMBERS = [1.0, 2.0, 0.1, -0.1, 257.0, 65504.0, 70000.0, 1e-7, 1e-8]
pictures.slider(bits_of, start={"number": 0.1}, number=NUMBERS)

# %% [markdown]
# The marked bits are the exponent. float16 has five of them and ten for the mantissa, while bfloat16 has eight, as float32
# does, and seven for the mantissa. So 70000 is too large for float16, 257 needs more mantissa than bfloat16 has, and 1e-8
# becomes 0 in float16. In both types, an exponent of all ones means `inf` or `nan`.
#
# The 8-bit type E4M3 has four exponent bits and three for the mantissa, so 257 becomes 256. It has no `inf` and uses the
# highest exponent for ordinary numbers up to 448, to which PyTorch clamps anything larger.
#
# ## Data types and their limits
# The **dtype** says how many bytes an element has and what they mean, and `finfo` and `iinfo` report its limits. `type()` returns
# the older name, which also contains the device.

# %% tags=["proof-dtypes"]
print(f"{'dtype':9} bytes  {'type()':21} {'largest':12} eps")
for kind in kinds:
    x = torch.zeros(1, dtype=kind)
    about = f"{str(kind)[6:]:9} {x.element_size():5}  {x.type():21}"
    if kind.is_floating_point:
        about += f" {torch.finfo(kind).max:<12.6g} {torch.finfo(kind).eps:.3g}"
    elif kind != torch.bool:
        about += f" {torch.iinfo(kind).max:<12.6g}"
    print(about)

# %% [markdown]
# ### Myth · "There are eight types, and `finfo` knows three"
# The table has ten types, four of them for `finfo`, and even these aren't all. PyTorch 2.13 also has complex types, unsigned
# integers of 16, 32 and 64 bits, which support few operations (two uint16 tensors can't be added on the CPU), and float8 in
# several formats, which `finfo` knows as well.
#
# `eps` is the spacing between 1 and the next number that the type can represent, measured here for small and for large numbers:

# %% tags=["proof-16-bits"]
magnitudes = [10.0**k for k in range(-4, 9)]
spacings = {}
for kind in (torch.bfloat16, torch.float16, torch.float32):
    fits = [m for m in magnitudes if m <= torch.finfo(kind).max]
    x = torch.tensor(fits, dtype=kind)
    spacings[str(kind)[6:]] = (fits, (x.nextafter(x * 0 + torch.inf) - x).double().tolist())
ones = torch.ones(1000, dtype=torch.bfloat16)
print("bfloat16: 256 + 1 =", (ones[0] * 256 + 1).item(), "  sum of 1000 ones:", ones.sum().item())
print("float16:  65504 · 2 =", (torch.tensor(65504, dtype=torch.float16) * 2).item())
pictures.curves(spacings, xlabel="number", ylabel="spacing to the next number", log="xy")

# %% [markdown]
# **Interview · Why is bfloat16, and not float16, the usual type for training today?**
#
# - *Thirty seconds:* Bfloat16 has the larger range: both have 16 bits, but bfloat16 reaches nearly as far as float32, while float16
#   ends at 65504. Activations and gradients therefore rarely overflow or vanish in bfloat16, so training works without loss scaling.
# - *Longer:* The price is precision: except close to 0, bfloat16's spacing is eight times as large, so weights and sums are kept
#   in float32.
# - *They ask next:* Why does float16 need loss scaling? Because small gradients underflow to 0 in float16 ([chapter
#   22](22_mixed_precision.ipynb)).
# - *They ask next:* What about 8 and 4 bits? With so few exponent bits a whole tensor doesn't fit into the range, so blocks of elements
#   share a scale, as in MXFP8 and NVFP4; chapter 22 has them.
# - *The trap:* A Python loop accumulates in bfloat16, where 256 + 1 is 256. `sum` gets it right, since it accumulates in float32 and rounds
#   once.
# - *Proof:* `proof-16-bits`.
#
# ### Comparing floating-point numbers
# Because of rounding, the order of a sum matters, and `==` is a poor test:

# %% tags=["proof-nearly", "last digits: that the order of adding matters is what this cell shows"]
apart, together = torch.tensor([1e8, 1.0, -1e8]), torch.tensor([1e8, -1e8, 1.0])
print("sums:", apart.sum().item(), together.sum().item(), "  in float64:", apart.double().sum().item())
tenths = torch.tensor([0.1, float("nan")], dtype=torch.float64)
target = torch.tensor([0.3, float("nan")], dtype=torch.float64)
print("0.1 + 0.2 == 0.3, nan == nan:", (tenths + 0.2 == target).tolist())
print("isclose:                     ", torch.isclose(tenths + 0.2, target, equal_nan=True).tolist())
print("allclose with float64:", check.error(torch.allclose, torch.ones(2), torch.ones(2).double()))
print("allclose of shapes (2,) and (3, 2):", torch.allclose(torch.ones(2), torch.ones(3, 2)))

# %% [markdown]
# In the first sum the 1 is lost in 1e8, and in the second it comes after the large numbers have cancelled. Comparing with
# `isclose` allows for such rounding. The last two lines are surprises: `allclose` refuses different dtypes, but broadcasts
# different shapes.
#
# **Interview · How do you compare two floating-point tensors?**
#
# - *Thirty seconds:* I compare them with a tolerance, because two correct programs that add in different orders differ in the last
#   digits. In tests I use `torch.testing.assert_close`, which also compares dtype and shape.
# - *They ask next:* What do `rtol` and `atol` mean? The test is $|x - y| \le \text{atol} + \text{rtol} \cdot |y|$, so near 0,
#   where rtol times y vanishes, atol decides.
# - *The trap:* `allclose` broadcasts silently, so compare the shapes too; and `nan` equals nothing, not even `nan`, unless you pass
#   `equal_nan=True`.
# - *Proof:* `proof-nearly`.

# %% [markdown] tags=["short"]
# ## The dispatcher
# What happens between `x + y` and the loop that adds the elements? PyTorch's **dispatcher** sends each call through several
# layers, such as autocast and autograd, before a kernel of the right device runs. Each tensor carries a set of **dispatch
# keys**, one for each layer that handles it, and a call goes to the highest key that one of its operands has and that isn't
# switched off. Twelve lines show the idea, in which each entry of the table says in words what its layer would do:

# %% tags=["proof-keys"]
ORDER = ["Autocast", "Autograd", "Python", "CPU", "Meta"]  # from the top down
table = {
    "Autograd": lambda call, keys: "record a node, then " + call(keys - {"Autograd"}),
    "Python": lambda call, keys: "run __torch_dispatch__, then " + call(keys - {"Python"}),
    "CPU": lambda call, keys: "add the elements",
    "Meta": lambda call, keys: "compute the shape",
}


def call(keys):
    return table[min(keys & table.keys(), key=ORDER.index)](call, keys)


print("CPU tensor:            ", call({"CPU", "Autograd"}))
print("made in inference_mode:", call({"CPU"}))
print("a tensor subclass:     ", call({"CPU", "Autograd", "Python"}))
print("meta tensor:           ", call({"Meta", "Autograd"}))

# %% [markdown] tags=["short"]
# When a layer has done its part, it masks its own key and calls again, which is called **redispatching**. The toy has a single
# operation, but PyTorch's table has a row for each operation and a column for each key. A new device adds a column of kernels
# and leaves autograd unchanged, and a new operation adds a row.
#
# **Interview · What is a dispatch key?**
#
# - *Thirty seconds:* A dispatch key is a bit in a set that each tensor carries. Some keys name the backend, such as CPU, CUDA or Meta,
#   and others a feature on top of it, such as Autograd or Autocast. The dispatcher runs the kernel of the highest key, and that kernel
#   redispatches to the next one.
# - *Longer:* PyTorch 2.13 gives an ordinary tensor `DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)`, whether it
#   requires grad or not. Tensors made in `inference_mode` have neither ADInplaceOrView nor AutogradCPU, and `autocast` and other
#   modes switch keys on and off for the thread.
# - *They ask next:* Where does a call without tensors go, such as `zeros(3, device="cuda")`? A key named BackendSelect chooses
#   the backend from the arguments. A backend of your own would use PrivateUse1, which is reserved for that.
# - *The trap:* A tensor without `requires_grad` doesn't bypass the autograd layer. It passes through, and the layer finds nothing to
#   record.
# - *Proof:* `proof-keys`.
#
# ### `__torch_dispatch__` and FakeTensor
# One key is for code that you write yourself: the Python key stands below autograd, and its handler is a method named
# `__torch_dispatch__`. Minitorch has no such hook, so this is what the real PyTorch prints for `y = (x.square() + 1).sum()`
# under a mode whose `__torch_dispatch__` prints each operation and calls it:
#
# ```text
# aten.pow.Tensor_Scalar
# aten.add.Tensor
# aten.sum.default
# ```
#
# `square` arrives as `pow`, because the layers above have already decomposed it, and a backward pass under the mode would print
# the operations that compute gradients.
#
# A **FakeTensor** is a tensor subclass built on this hook. It carries a device and a shape but no data, and it runs operations
# with the Meta kernels, which compute shapes only, instead of the device's. You can try the Meta kernels in minitorch, with a
# matrix of four terabytes:

# %% tags=["proof-meta-kernel"]
huge = torch.empty(10**6, 10**6, device="meta")
product = huge @ huge
print("shape", tuple(product.shape), "  dtype", product.dtype, "  device", product.device)
print(check.error(product[0, 0].item))

# %% [markdown] tags=["short"]
# **Interview · `__torch_function__` or `__torch_dispatch__`?**
#
# - *Thirty seconds:* `__torch_function__` intercepts calls of the Python API before the dispatcher, so it receives
#   `torch.square`. `__torch_dispatch__` runs below autograd and receives the ATen operations that remain, including those of the
#   backward pass.
# - *Longer:* Use the first to change what a call means, as default devices do ([chapter 01](01_global_settings.ipynb)), and the
#   second to observe or replace what is computed, as FakeTensor, DTensor and FLOP counters do.
# - *They ask next:* Does autocast reach the second one? Its casts do, as `_to_copy` operations, because autocast and autograd
#   have already run.
# - *The trap:* A hook that calls the operation on the subclass again recurses forever, so unwrap the operands first.
# - *Proof:* `proof-keys`.
#
# **Interview · What is a FakeTensor, and who uses it?**
#
# - *Thirty seconds:* A FakeTensor has a shape, a dtype, strides and a device, but no data. `torch.compile` and `torch.export` run a
#   model on fake tensors to learn every shape without computing or allocating anything.
# - *They ask next:* How is it different from a meta tensor? A meta tensor has the device "meta". A FakeTensor claims to be on the
#   CPU or a GPU, so that rules about devices are checked, too.
# - *The trap:* Code that runs on fake tensors can't read a value, by `item()` or an `if`. A compiler must break the graph or
#   keep the value symbolic ([chapter 08](08_static_and_dynamic_graphs.ipynb)).
# - *Proof:* a result without data: `proof-meta-kernel`.

# %% [markdown] given="mytorch.dispatch:LAYERS mytorch.dispatch:run_kernel"
# ## One declaration, every call
# Your library will have about eighty operations. Each one is declared once, with a **kernel**, which is a function on arrays,
# and from then on you can call it as a function and as a method, and it converts dtypes.
#
# Between a call and its kernel there is a stack of layers, which corresponds to PyTorch's dispatch keys. A layer is a function
# of three arguments: the operation, the call's arguments, and `below`, which it calls to continue. The four slots of the stack
# are empty for now, and later chapters fill them. The next cell declares an operation, borrows the top slot for a layer that
# prints, and makes four calls. Dashed boxes in the picture are empty slots, which the call skips.

# %% tags=["proof-layers"]
from course import lesson

mytorch = lesson.mytorch("02b")  # as of this chapter, using your code wherever you've solved the exercise

from mytorch.dispatch import LAYERS, fill
from mytorch.pointwise import pointwise_float

softplus = pointwise_float(lambda x: np.log1p(np.exp(x)), "softplus")


def announce(op, args, below):
    print("→", op.name, [str(getattr(argument, "dtype", argument)) for argument in args])
    return below(op, args)


fill("autocast", announce)
x = mytorch.tensor([0, 1, 2])
mytorch.add(x, 1), x + 1, x.square()
print(x.softplus())
fill("autocast", None)
print("the stack:", LAYERS)
stack = {"autocast": "borrowed by announce", "trace": "chapter 08", "record": "chapter 06", "device": "chapter 05"}
pictures.layers(stack, call="softplus(x)", path=["autocast"], kernels=["NumPy"], chosen="NumPy", result="tensor")

# %% [markdown]
# `x + 1` is the same call as `add(x, 1)`, and `square` arrives as `mul`. `softplus` got integers and returned float32, because
# `pointwise_float` says that integers become the default dtype. The work is done by `run_in_common_type`, which you will write:
# it finds the common type, converts the operands, and calls the kernel.
#
# **Interview · What happens between `torch.add(x, y)` and the addition?**
#
# - *Thirty seconds:* The call goes down the dispatcher: each layer that applies, such as autocast or autograd, does its part and
#   redispatches, and the device's kernel comes last.
# - *They ask next:* Do methods and operators take another path? No, `x + 1` is the same call as `add(x, 1)`.
# - *The trap:* A call doesn't always run one operation of the same name: `square` runs `mul` above, and `pow` in PyTorch.
# - *Proof:* `proof-layers`.
#
# ### Myth · "Tensors are faster than ndarrays"
# How much time do the layers take? To find out, add float32 elements on your CPU, once as an ndarray and once as a tensor.

# %% tags=["proof-not-faster"]
import timeit

sizes = [10, 100, 1000, 10_000, 100_000, 1_000_000]
times = {"ndarray": [], "tensor": []}
for size in sizes:
    a = np.ones(size, np.float32)
    for name, value in (("ndarray", a), ("tensor", torch.from_numpy(a))):
        times[name].append(min(timeit.repeat(lambda value=value: value + value, number=100, repeat=7)) / 100 * 1e6)
ALT = "The time of a + a in microseconds, for an ndarray and a tensor of 10 to 1,000,000 elements."
print("10 elements, slower:", max(times, key=lambda name: times[name][0]))
pictures.curves(times, sizes, xlabel="elements", ylabel="time of a + a (µs)", log="xy", alt=ALT)

# %% [markdown]
# For ten elements the layers take longer than the addition itself. What you measured is minitorch, so here is PyTorch 2.13 on a
# machine with two cores, in microseconds, the best of several runs:
#
# | elements | ndarray | tensor, one thread | tensor, two threads |
# |---|---|---|---|
# | 10 | 0.23 | 0.86 | 0.89 |
# | 1,000 | 0.37 | 0.96 | 1.0 |
# | 100,000 | 4.8 | 6.6 | 5.6 |
# | 1,000,000 | 66 | 68 | 46 |
# | 4,000,000 | 490 | 540 | 220 |
#
# At small sizes NumPy wins. On one thread the tensor only comes close, and with two threads it wins once there is enough work
# to split.
#
# ## The real one
# `minitorch` looks up the common type as your library will, and in addition it does something for speed:

# %%
import inspect

from minitorch.dispatch import promotion

print(inspect.getsource(promotion.fits))

# %% [markdown] tags=["short"]
# Converting a number is expensive compared with adding a few elements, so `minitorch` checks whether the conversion can be left
# to NumPy. `common` is the dtype that the tensors promote to. `category` runs from 0 (bool) to 3 (complex), `is_low_precision` marks
# the 16-bit types, and `_LARGE` is 2¹²⁷. Your library always converts, so it is slower.
#
# ## Ten lines to remember
# 1. The category decides first (bool, integer, floating point, complex), and then the size.
# 2. A scalar, which is a Python number or a 0-d tensor, decides only if its category is higher.
# 3. uint8 with int8 gives int16, and float16 with bfloat16 gives float32.
# 4. Integer arithmetic and conversions wrap around, creation and `fill_` refuse large numbers, and floats become inf.
# 5. In place, the memory keeps its dtype: a higher category raises an error, and a wider type is rounded.
# 6. float16 ends at 65504; bfloat16 has nearly float32's range and a spacing of 1/128 at 1.
# 7. Compare with a tolerance, and remember that nan equals nothing.
# 8. A call goes down the dispatcher to a kernel, and the keys that the tensors carry choose the layers.
# 9. For a few elements, the layers take longer than the addition.
# 10. PyTorch's `var` and `std` divide by n − 1, NumPy's by n.
#
# **Rapid fire.** The cell below proves each answer.
#
# - *What is the dtype of a uint8 tensor divided by 2?* Float32: division computes in floating point.
# - *What dtype does a uint8 tensor's `sum()` have?* Int64: integer sums are widened.
# - *What is `torch.tensor(127, dtype=torch.int8) + 1`?* −128, because integers wrap.
# - *Why do `torch.std` and `np.std` differ?* PyTorch divides by n − 1, NumPy by n.
# - *What is `tensor(True) + True`?* True: two bools stay bool. (`tensor(True) - True` raises an error.)

# %% tags=["proof-rapid-fire"]
small = torch.tensor([100, 200], dtype=torch.uint8)
print((small / 2).dtype, small.sum().dtype, torch.tensor(127, dtype=torch.int8) + 1)
print("std of 1, 2, 6:", round(torch.tensor([1.0, 2.0, 6.0]).std().item(), 4), round(np.std([1.0, 2.0, 6.0]), 4))
print(torch.tensor(True) + True)

# %% [markdown]
# ## You try
# The [seven exercises](../exercises/02b_dtypes_and_dispatch.ipynb) are worth 18 points. In three of them you write parts of
# `mytorch`: promotion, what an operation does with its operands, and `mean` and `var`. The others are a prediction, rounding by
# hand, a repair and a measurement. [Chapter 03](03_views_and_layout.ipynb) changes shapes without moving an element.

# %% [markdown]
# ## If you have time
# ### Mean and variance
# A variance is the mean squared distance from the mean, and it needs everything in this chapter: the dtype of the result, a sum
# that doesn't stop at 256, and an operation composed of others. Take a die, list all 216 results of rolling it three times, and
# compute the variance of each triple. What is the average of these variances?

# %% tags=["proof-bessel"]
die = torch.arange(1.0, 7.0)
rolls = torch.cartesian_prod(die, die, die)
print(f"variance of the die: {die.var(correction=0).item():.4f}")
for correction in (0, 1):
    print(f"three rolls, over 3 - {correction}: {rolls.var(1, correction=correction).mean().item():.4f} on average")
print(f"std of 1, 2, 6:  torch {torch.tensor([1.0, 2.0, 6.0]).std().item():.4f}, NumPy {np.std([1.0, 2.0, 6.0]):.4f}")

# %% [markdown]
# Three rolls are closer to their own mean than to the mean of the die, so dividing by n gives too small a variance. Dividing by
# n − 1 is correct on average (**Bessel's correction**), and it is PyTorch's default, while NumPy divides by n. The argument is
# `correction` in PyTorch and `ddof` in NumPy, which since NumPy 2 accepts `correction` as well. For a single value PyTorch's
# `std` is nan. You will write `mean` and `var`, where 16-bit types need care. Batch norm uses both divisors ([chapter
# 12](12_norm_dropout_and_modes.ipynb)).
