# %% [markdown]
# # Tensors and storage
# When you're done, a tensor library of your own makes tensors from lists and from NumPy's memory, picks the type of a
# result as PyTorch does, and prints PyTorch's random numbers for the same seed. All it needs is NumPy. Allow an hour
# for the lesson and 80 minutes for the exercises.
#
# ## Four tensors from one array
# Here are four ways to make a tensor from an array. Then the array changes. Which tensors change with it?

# %% tags=["proof-one-array"]
import numpy as np

import minitorch as torch
from course import check, pictures

row = np.array([1.0, 2.0, 3.0])
made = {
    "torch.tensor(row)": torch.tensor(row),
    "torch.from_numpy(row)": torch.from_numpy(row),
    "torch.as_tensor(row)": torch.as_tensor(row),
    "torch.as_tensor(row, float32)": torch.as_tensor(row, dtype=torch.float32),
}
row[0] = 100
for call, t in made.items():
    print(f"{call:30}", t)

# %% [markdown]
# Two of them changed, though nobody wrote to a tensor. So a tensor can't simply be its numbers. It is a way of
# *finding* numbers in a piece of memory, and other objects may use the same piece.
#
# ## The smallest model
# Memory is one flat row of numbers. Suppose a tensor is such a row and a shape. To find element `[i, j]`, skip `i`
# whole rows and then `j` elements.


# %%
class Toy:
    """A flat row of numbers, and a shape."""

    def __init__(self, flat, shape):
        self.flat, self.shape = flat, shape

    def __getitem__(self, index):
        place = 0
        for i, length in zip(index, self.shape, strict=True):
            place = place * length + i
        return self.flat[place]


memory = np.arange(6)
toy = Toy(memory, (2, 3))
memory[4] = 40
print("toy[0, 2] =", toy[0, 2], "  toy[1, 1] =", toy[1, 1])

# %% [markdown]
# The toy sees the write, as the tensor of `from_numpy` did. Now break it. NumPy's `.T` swaps rows and columns without
# moving a number. Give the toy the same memory and the swapped shape.

# %%
turned = memory.reshape(2, 3).T
toy = Toy(memory, turned.shape)
read = [[int(toy[i, j]) for j in range(2)] for i in range(3)]
print("same memory:", np.shares_memory(turned, memory), "  array:", turned.tolist(), "  toy:", read)
pictures.grids(("the array", turned), "≠", ("the toy", read))

# %% [markdown]
# Memory and shape are right, and the result is wrong. What is missing is *how to step*. The toy works the steps out
# from the shape, but `.T` needs other ones. So store them:
#
# - the **stride** of a dimension is how far to move in memory, in elements, for one step along it;
# - the **offset** is where the walk starts.
#
# Element $(i, j)$ lies at $\text{offset} + i \cdot \text{stride}_0 + j \cdot \text{stride}_1$. Move the sliders:
# `(3, 1)` walks through neighbours, `(1, 3)` walks down the columns of a table three wide, and `(0, 1)` reads one row
# twice.


# %%
def two_by_three(stride, offset):
    return pictures.storage(range(12), {"x": ((2, 3), stride, offset)})


pictures.slider(two_by_three, stride=[(3, 1), (1, 3), (6, 1), (2, 2), (0, 1)], offset=range(4))

# %% [markdown] given="mytorch.tensor:Storage mytorch.tensor:Tensor.__init__ mytorch.tensor:Tensor.array"
# ## What a tensor is made of · 2.1 Tensor的组成与存储
# `mytorch` is the library that you are about to write. Its tensor is little more than this: a storage, and a walk over
# it. The code below is given; the last two pieces are methods of `Tensor`. `version` counts writes, for chapter 03. You
# will write `walk`: it takes a flat array, sizes, strides and an offset, and makes an array on the same memory.

# %%
from course import lesson

mytorch = lesson.mytorch(2)  # as of this chapter, using your code wherever you've solved the exercise

from mytorch.tensor import Storage, Tensor

shared = Storage(np.arange(12, dtype=np.float32))
table = Tensor(shared, (3, 4), (4, 1))
turned = Tensor(shared, (4, 3), (1, 4))
corner = Tensor(shared, (2, 2), (4, 1), offset=6)
shared.flat[6] = 60
print(table, turned, corner, sep="\n")

# %% [markdown]
# ### Attributes · Tensors 属性
# Shape, stride and offset are three of a tensor's attributes. Two more say how to read the bytes and where they are:
# `dtype` and `device`. In a new tensor the elements lie row by row. The last line shows which strides that gives. You'll
# write the rule as `contiguous_strides`.

# %% tags=["proof-made-of"]
x = torch.arange(12.0).reshape(3, 4)[1:, ::2]
print("shape", x.shape, "  stride", x.stride(), "  offset", x.storage_offset())
print("dtype", x.dtype, "  device", x.device)
print("bytes", x.nbytes, "of its own, in a storage of", x.untyped_storage().nbytes())
print("fresh", {size: torch.empty(size).stride() for size in [(5,), (2, 3), (4, 2, 3), (3, 0, 2)]})

# %% [markdown]
# **Interview · What is a tensor made of?**
#
# - *Thirty seconds:* A storage, which is a flat piece of memory on one device, and what is needed to read it: dtype,
#   shape, strides, storage offset. Autograd adds `requires_grad`, `grad` and `grad_fn` (chapter 06).
# - *Longer:* Several tensors can share a storage. A view has its own shape, strides and offset, and copies nothing.
# - *They ask next:* Are strides bytes? In PyTorch they are elements; in NumPy, bytes.
# - *The trap:* `x.nbytes` counts what the shape holds; the storage may be larger. *Proof:* `proof-made-of`.
#
# Here is what that trap can cost. Keep one number of a million:

# %% tags=["proof-one-number"]
import io

big = torch.zeros(1000, 1000)
one = big[0, 0]
del big
file = io.BytesIO()
torch.save(one, file)
print("elements", one.numel(), "  storage", one.untyped_storage().nbytes(), "bytes")
print("saved: more than 4 MB?", len(file.getvalue()) > 4_000_000)
print("after clone: ", one.clone().untyped_storage().nbytes(), "bytes")

# %% [markdown]
# **Interview · You keep one element of a large tensor. How much memory do you keep?**
#
# - *Thirty seconds:* All of it. `big[0, 0]` is a view, and a view holds on to the storage. `clone()` copies the element
#   into memory of its own.
# - *They ask next:* What does `torch.save` write? The whole storage (chapter 20).
# - *The trap:* `del big` frees nothing while the view lives. *Proof:* `proof-one-number`.
#
# ## Creating tensors · Tensors 初始化
# You can make a tensor from data, from a NumPy array, like another tensor, from constants, or from random numbers.
# Before you run the cell: which of these aren't float32?

# %% tags=["proof-created"]
whole = torch.tensor([[1, 2], [3, 4]])
examples = {
    "tensor([[1, 2], [3, 4]])": whole,
    "tensor([1, 2.0])": torch.tensor([1, 2.0]),
    "from_numpy(np.zeros(2))": torch.from_numpy(np.zeros(2)),
    "ones_like(whole)": torch.ones_like(whole),
    "zeros(2)": torch.zeros(2),
    "full((2,), 7)": torch.full((2,), 7),
    "arange(3)": torch.arange(3),
    "arange(0, 1, 0.5)": torch.arange(0, 1, 0.5),
}
for call, t in examples.items():
    print(f"{call:26} {t.dtype!s:14} {t.tolist()}")
random = torch.rand_like(whole, dtype=torch.float)
print("rand_like:", type(check.error(torch.rand_like, whole)).__name__, "  with a dtype:", random.dtype)

# %% [markdown]
# The data decides. Python's integers become int64, its floats the *default dtype* (chapter 01). An array keeps its
# type, and the `_like` functions keep the tensor's. `zeros`, `ones` and `rand` have no data to look at, so they take
# the default dtype.
#
# ### Tensor or tensor · D3 torch.Tensor()和torch.tensor()的区别
# `torch.tensor` is a function: it takes data and infers the type. `torch.Tensor` is the class: it takes a list, an
# array *or sizes*, and makes the default dtype of each. Given sizes, it fills nothing in: the memory holds what was there
# before.
#
# ### Myth 5 · "torch.Tensor is an alias of FloatTensor"
# An alias would always make float32. Change the default dtype and look.

# %% tags=["proof-constructor"]
print("tensor(3):", torch.tensor(3), "  Tensor(3) has shape", torch.Tensor(3).shape)
print("[1, 2]:   ", torch.tensor([1, 2]).type(), torch.Tensor([1, 2]).type())
torch.set_default_dtype(torch.float64)
print("float64 default:", torch.Tensor([1, 2]).type(), "  one class:", torch.Tensor is torch.FloatTensor)
torch.set_default_dtype(torch.float32)
print("whole is a Tensor:", isinstance(whole, torch.Tensor))
print("whole is a FloatTensor:", isinstance(whole, torch.FloatTensor))

# %% [markdown]
# **Interview · `torch.Tensor` or `torch.tensor`?**
#
# - *Thirty seconds:* Use `tensor` for data. `Tensor` is the class of all tensors. Its constructor turns integers into
#   floats, and takes a single integer for a size.
# - *They ask next:* Does `tensor` copy? Yes, a NumPy array too (first cell). *The trap:* `Tensor(3)`.
# - *Proof:* `proof-constructor`.
#
# ## Data types and their limits · torch.Tensor 数据类型, 数据类型信息
# The **dtype** says how many bytes an element has and what they mean. `finfo` and `iinfo` give the limits. `type()` is
# the older name, which also tells the device.

# %% tags=["proof-dtypes"]
kinds = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
kinds += [torch.float16, torch.bfloat16, torch.float32, torch.float64]
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
# float16 and bfloat16 have two bytes each and spend them differently. Measure the step from a number to the next larger
# one: between the two there is nothing.

# %% tags=["proof-16-bits"]
magnitudes = [10.0**k for k in range(-4, 9)]
steps = {}
for kind in (torch.bfloat16, torch.float16, torch.float32):
    fits = [m for m in magnitudes if m <= torch.finfo(kind).max]
    x = torch.tensor(fits, dtype=kind)
    steps[str(kind)[6:]] = (fits, (x.nextafter(x * 0 + torch.inf) - x).double().tolist())
ones = torch.ones(1000, dtype=torch.bfloat16)
print("bfloat16: 256 + 1 =", (ones[0] * 256 + 1).item(), "  sum of 1000 ones:", ones.sum().item())
print("float16:  65504 · 2 =", (torch.tensor(65504, dtype=torch.float16) * 2).item())
pictures.curves(steps, xlabel="number", ylabel="step to the next number", log="xy")

# %% [markdown]
# **Interview · float16 or bfloat16?**
#
# - *Thirty seconds:* Both have 16 bits. float16 has finer steps and ends at 65504. bfloat16 has nearly float32's range,
#   and steps eight times as wide, except close to 0.
# - *They ask next:* Why does float16 need loss scaling? Small gradients become 0 in it (chapter 22).
# - *The trap:* Adding up in a loop. In bfloat16, 256 + 1 is 256. `sum` gets it right, because it adds in float32 and
#   rounds once. *Proof:* `proof-16-bits`.

# %% [markdown] given="mytorch.dispatch:descend"
# ## One declaration, every call
# Your library will have about eighty operations. Each is a **kernel**, a function on arrays, declared once. From then
# on you can call it as a function and as a method, and it converts types. Between a call and its kernel lies a stack of
# **layers**; in PyTorch this is the *dispatcher*. A layer is a function with three arguments: the operation, the call's
# arguments, and `below`, which it calls to go on. Declare an operation, add a layer that prints, and watch the calls.

# %% tags=["proof-layers"]
from mytorch.dispatch import LAYERS, layer
from mytorch.pointwise import pointwise_float

softplus = pointwise_float(lambda x: np.log1p(np.exp(x)), "softplus")


@layer
def announce(op, args, below):
    print("→", op.name, [str(getattr(each, "dtype", each)) for each in args])
    return below(op, args)


x = mytorch.tensor([0, 1, 2])
mytorch.add(x, 1), x + 1, x.square()
print(x.softplus())
LAYERS.remove(announce)
print("layers left:", LAYERS)
stack = ["autocast · 22", "tracer · 08", "autograd · 06", "one device · 05"]
pictures.layers(stack, call="softplus(x)", path=[], kernels=["NumPy"], chosen="NumPy", result="tensor")

# %% [markdown]
# In this chapter the stack is empty. Later chapters add these four layers, and leave the kernels as they are.
#
# **Interview · What happens between `torch.add(x, y)` and the addition?**
#
# - *Thirty seconds:* The call goes down the dispatcher. Each layer that applies (autocast, autograd) does its part and
#   passes the call on. The device's kernel comes last.
# - *They ask next:* Do methods and operators take another path? No, `x + 1` is the same call as `add(x, 1)`.
# - *The trap:* One call can run another operation. Above, `square` runs `mul`; in PyTorch it runs `pow`.
#   *Proof:* `proof-layers`.
#
# ## Which type wins · type promotion
# Here are six sums and products. Guess each dtype, and each value, before you run the cell.

# %% tags=["proof-promotion"]
half = torch.tensor([1.0, 0.5], dtype=torch.float16)
print(torch.tensor([1]) + 2.5)
print(half * 2.5)
print(half * torch.tensor([70000.0], dtype=torch.float64))
print(half * torch.tensor(70000.0, dtype=torch.float64))
print(half * 60000 - 70000.0)
print(torch.tensor([250], dtype=torch.uint8) + 10)

# %% [markdown]
# The third and fourth lines differ by a pair of brackets. With them, the second operand is a tensor with dimensions,
# and the wider type wins. Without them it is a scalar, and the *result* is float16, which can't hold 70000, but half of
# it. So the scalar wasn't rounded first: a product or quotient takes a scalar on its right as it is, computes in float32,
# and rounds once. On the CPU a sum doesn't: in the fifth line 70000 becomes a float16 first, inf.
#
# There are three **categories**, from low to high: bool, integer, floating point. (`mytorch` leaves the fourth out,
# complex.) And there are three groups of operands, in this order: tensors with dimensions, tensors without, Python
# numbers. A later group decides only if its category is *higher*. Within a group, two types give the type in this
# table. Two pairs give a third type: u8 with i8, and f16 with bf16.

# %%
short = [str(kind)[6:].replace("float", "f").replace("int", "i").replace("ui", "u") for kind in kinds]
print("     ", *(f"{name:5}" for name in short))
for name, one in zip(short, kinds, strict=True):
    meets = [torch.promote_types(one, other) for other in kinds]
    print(f"{name:5}", *(f"{short[kinds.index(meet)]:5}" for meet in meets))

# %% [markdown]
# **Interview · A float16 tensor times a float64 scalar: which dtype?**
#
# - *Thirty seconds:* float16, if the scalar is a Python number or a tensor without dimensions: the category is the
#   same, so the tensor with dimensions decides. With a float64 tensor of shape (1,) it is float64.
# - *They ask next:* int64 with float16? float16, although it holds fewer integers. Category comes before size.
# - *The trap:* Adding doesn't widen integers: 250 + 10 is 4 in uint8. *Proof:* `proof-promotion`.
#
# ## NumPy and back · 3.23 tensor与numpy互换
# Both directions share memory, so a write on one side shows on the other. Some calls are refused, though: errors 1 and
# 2. Error 3 is a common first one in training code: NumPy's float64 stays float64, and the weights are float32.

# %% tags=["proof-numpy"]
array = np.zeros(3)
t = torch.from_numpy(array)
t += 1
back = t.numpy()
back[2] = 7
print(array, "  shared:", np.shares_memory(array, back), "  dtype:", t.dtype)
columns = np.zeros((2, 3)).T
print("strides:", torch.from_numpy(columns).stride(), "elements,", columns.strides, "bytes")
print("1.", check.error(torch.from_numpy, array[::-1]))
print("2.", check.error(torch.ones(2, requires_grad=True).numpy))
print("3.", check.error(torch.matmul, torch.from_numpy(columns), torch.ones(2, 4)))

# %% [markdown]
# **Interview · `tensor`, `as_tensor`, `from_numpy`: which ones copy?**
#
# - *Thirty seconds:* `tensor` copies. `from_numpy` shares. `as_tensor` shares the memory of an array or a tensor,
#   unless dtype or device must change.
# - *They ask next:* And `t.numpy()`? It shares too. It refuses a tensor that requires grad or is on a GPU (chapter 05).
# - *The trap:* `from_numpy` of a buffer that is filled again later: the tensor changes with it.
#   *Proof:* `proof-one-array`.
#
# ## Milestone: PyTorch's random numbers
# After `manual_seed(0)`, `rand(3)` gives 0.4963, 0.7682, 0.0885. On the CPU they come from the
# **Mersenne Twister** (Matsumoto and Nishimura, 1998): 624 words of 32 bits. A seed fills them, a *twist* renews them
# all, and each word is *tempered* on its way out: a few shifts mix its bits.


# %%
def seeded(seed):
    words = [seed]
    for i in range(1, 624):
        words.append((1812433253 * (words[-1] ^ words[-1] >> 30) + i) % 2**32)
    return words


def twist(words):
    for i in range(624):
        joined = words[i] & 0x80000000 | words[(i + 1) % 624] & 0x7FFFFFFF
        words[i] = words[(i + 397) % 624] ^ joined >> 1 ^ (0x9908B0DF if joined % 2 else 0)


def temper(word):
    word ^= word >> 11
    word ^= word << 7 & 0x9D2C5680
    word ^= word << 15 & 0xEFC60000
    return word ^ word >> 18


words = seeded(0)
twist(words)
print([round(temper(word) % 2**24 / 2**24, 4) for word in words[:3]])

# %% [markdown] given="mytorch.random:Generator.uniform"
# Take the lowest 24 bits of a word and divide by $2^{24}$: that is `rand` in float32. NumPy has the same twister, in C,
# so `mytorch` takes the words from there and turns them into PyTorch's numbers:

# %% tags=["proof-same-seed"]
for library in (mytorch, torch):
    library.manual_seed(0)
    print(library.rand(3), library.randn(2), library.randint(0, 10, (4,)), library.randperm(5))

# %% [markdown]
# The first line is `mytorch`, on NumPy alone. The second is what PyTorch prints.
#
# Normal numbers come in pairs, by the method of Box and Muller. Two uniform numbers $u$ and $v$ give a radius
# $r = \sqrt{-2 \ln(1-u)}$ and an angle $a = 2 \pi v$; the pair is $r \cos a$ and $r \sin a$. From 16 numbers on,
# PyTorch makes them in groups of 16. You can see it:


# %% tags=["proof-stream"]
def drawn(make, *counts):
    torch.manual_seed(0)
    return torch.cat([make(count) for count in counts])


print("rand: ", torch.equal(drawn(torch.rand, 20), drawn(torch.rand, 10, 10)))
print("randn:", torch.equal(drawn(torch.randn, 20), drawn(torch.randn, 10, 10)))
print("randn, same 15 of 15 and 16:", torch.equal(drawn(torch.randn, 15), drawn(torch.randn, 16)[:15]))

# %% [markdown]
# **Interview · Same seed, and `randn` gives other numbers. How?**
#
# - *Thirty seconds:* A seed fixes the stream of words, not which call gets which word. Calls with other sizes, or in
#   another order, get other words.
# - *They ask next:* Is `rand(20)` the same as `rand(10)` twice? On the CPU, yes. For `randn` it isn't.
# - *The trap:* Asking for one more number can change all of them: see 15 and 16. *Proof:* `proof-stream`.
#
# ### Myth 12 · "Tensors are faster than ndarrays"
# Measure it on this CPU: add float32 numbers, once as an ndarray and once as a tensor.

# %% tags=["proof-not-faster"]
import timeit

sizes = [10, 100, 1000, 10_000, 100_000, 1_000_000]
times = {"ndarray": [], "tensor": []}
for size in sizes:
    a = np.ones(size, np.float32)
    for name, value in (("ndarray", a), ("tensor", torch.from_numpy(a))):
        times[name].append(min(timeit.repeat(lambda value=value: value + value, number=100, repeat=7)) / 100 * 1e6)
ALT = "The time of a + a in microseconds, for an ndarray and a tensor of 10 to 1,000,000 elements."
print("10 elements, the tensor takes longer:", times["tensor"][0] > times["ndarray"][0])
pictures.curves(times, sizes, xlabel="elements", ylabel="time of a + a (µs)", log="xy", alt=ALT)

# %% [markdown]
# For ten numbers the way through the layers takes longer than the sum. You measured minitorch. Here is PyTorch 2.13 on a
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
# At small sizes NumPy wins. On one thread the tensor only draws level; with two it wins, once there is enough to share
# out.
#
# ## The real one
# How does `minitorch` do what your `from_numpy` does?

# %%
import inspect

print(inspect.getsource(torch.from_numpy))
print(inspect.getsource(torch.Tensor.stride))

# %% [markdown]
# `from_numpy_dtype` looks up the dtype, `make_tensor` wraps the array, `_checked_dim` counts a dimension from the
# front, and `strides_of` gives an array's strides in bytes. There is no walk here: a NumPy array *is* storage, shape
# and strides, so `minitorch` keeps the array and divides bytes by `itemsize`. PyTorch has no NumPy below it. So you
# build the walk by hand.
#
# ## Ten lines to remember
# 1. A tensor is a storage and a walk over it: shape, strides, offset. And a dtype and a device.
# 2. Element $(i, j)$ lies at offset + i · stride[0] + j · stride[1]. PyTorch counts elements, NumPy bytes.
# 3. A view keeps the whole storage alive. A `clone()` doesn't.
# 4. `tensor` copies, `from_numpy` shares, `as_tensor` shares where it can.
# 5. `Tensor(3)` is three uninitialised numbers, `tensor(3)` is the number 3.
# 6. Python's floats become the default dtype, its integers int64. A NumPy array keeps its type.
# 7. float16 ends at 65504. bfloat16 has nearly float32's range, and steps of 1/128 at 1.
# 8. Category first, then size. A scalar decides only if its category is higher.
# 9. A call goes down the dispatcher's layers to a kernel.
# 10. A seed fixes the stream of words, not which call gets which word.
#
# **Rapid fire.** One line each; the cell below has the proofs.
#
# - *Stride of `zeros(4, 5)`?* (5, 1).
# - *dtype of a uint8 tensor over 2?* float32: division computes with floats.
# - *dtype of a sum of uint8?* int64.
# - *dtype of `from_numpy(np.zeros(2))`?* float64.
# - *Largest int8?* 127.

# %% tags=["proof-rapid-fire"]
small = torch.tensor([100, 200], dtype=torch.uint8)
print(torch.zeros(4, 5).stride(), (small / 2).dtype, small.sum().dtype)
print(torch.from_numpy(np.zeros(2)).dtype, torch.iinfo(torch.int8).max)

# %% [markdown]
# ## You try
# Seven exercises, 18 points. Three of them write `mytorch`: the walk, the types of results, and `mean` and `var`. The
# others are a prediction, a rounding by hand, a repair and a measurement. Chapter 03 changes shapes and moves no number.
