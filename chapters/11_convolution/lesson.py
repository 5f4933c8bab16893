# %% [markdown]
# # Convolution
# You'll turn a convolution into a matrix product, in both directions, and LeNet will run on your own library. You'll be
# able to say which pixels a network sees and which it never looks at.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(11)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## A column that nobody sees
# A kernel of 3 × 3 slides over an image of 8 × 8 in steps of 2. Then somebody writes a million into the last column.

# %% tags=["proof-unseen"]
import minitorch as torch
from minitorch.nn import functional as F

torch.manual_seed(0)
image, kernels = torch.rand(1, 1, 8, 8), torch.rand(4, 1, 3, 3)
spoilt = image.clone()
spoilt[..., 7] = 1_000_000
before, after = (F.conv2d(each, kernels, stride=2) for each in (image, spoilt))
print("result", tuple(before.shape), " largest difference:", (before - after).abs().amax().item())

# %% [markdown] tags=["short"]
# Not one digit changes. To say why, you have to know where the kernel stops.
#
# ## The smallest model
# A textbook defines a convolution as $out[y, x] = \sum_{i, j} kernel[i, j] \cdot image[y - i, x - j]$. Keep only the
# places where the kernel lies inside the image:

# %%
from itertools import product

import numpy as np


def textbook(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    result = np.zeros((high - kh + 1, wide - kw + 1))
    for y, x in product(*map(range, result.shape)):
        for i, j in product(range(kh), range(kw)):
            result[y, x] += kernel[i, j] * image[y + kh - 1 - i, x + kw - 1 - j]
    return result


def theirs(image, kernel, **options):
    image, kernel = (torch.from_numpy(each)[None, None] for each in (image, kernel))
    return F.conv2d(image, kernel, **options)[0, 0].numpy()


picture = np.random.default_rng(0).random((6, 7))
blur = np.ones((3, 3)) / 9
print(f"blur: they differ by at most {abs(textbook(picture, blur) - theirs(picture, blur)).max():.2f}")

# %% [markdown]
# ### Break it
# A blur looks the same whichever way you turn it. Try a kernel that doesn't: left minus right, which finds edges.

# %% tags=["proof-not-flipped"]
edge = np.array([[1.0, 0.0, -1.0]])
one, other = textbook(picture, edge), theirs(picture, edge)
for name, mine in {"as it is": one, "negated": -one, "flipped": textbook(picture, edge[::-1, ::-1])}.items():
    print(f"edge, {name:8} differs by at most {abs(mine - other).max():.2f}")

# %% [markdown] tags=["short"]
# The textbook flips the kernel, top to bottom and left to right. PyTorch doesn't: mathematicians call that a
# **cross-correlation**. For a learned kernel it makes no difference, since training finds the flipped one. But a filter
# that you copy from a book may need a flip.
#
# ## Kernel, stride, padding, dilation
# With stride $t$, dilation $d$ and padding $p$, place $i$ of the kernel in window $y$ sees row $t y + d i - p$. The
# picture shows an image of ones with its last window, and what a kernel of ones makes of it: how many pixels each window
# saw.


# %%
from course import pictures


def last_window(kernel, **options):
    seen = theirs(np.ones((7, 7)), np.ones((kernel, kernel)), **options)
    count, padded = len(seen), np.pad(np.ones((7, 7)), options["padding"])
    places = [options["stride"] * (count - 1) + options["dilation"] * i for i in range(kernel)]
    mask, corner = np.zeros(padded.shape, bool), np.zeros((count, count), bool)
    mask[np.ix_(places, places)] = corner[-1, -1] = True
    before, after = f"7 × 7, padding {options['padding']}", f"{count} × {count}"
    return pictures.grids((before, padded.astype(int), mask), "→", (after, seen.astype(int), corner))


choices = {"kernel": [1, 2, 3], "stride": [1, 2, 3], "padding": [0, 1, 2], "dilation": [1, 2, 3]}
pictures.slider(last_window, start={"kernel": 2, "stride": 2, "padding": 0, "dilation": 1}, **choices)

# %% [markdown]
# The *effective kernel size* is $d(k - 1) + 1$ rows. Padding makes the image $2p$ longer. Subtract the first from the
# second, count the whole strides in what is left, and add one for the first window:
#
# $$ count = \left\lfloor \frac{size + 2p - d(k - 1) - 1}{t} \right\rfloor + 1 $$
#
# The floor drops the last column: $\lfloor (8 - 2 - 1) / 2 \rfloor + 1 = 3$ windows begin at 0, 2 and 4, and the last
# one ends at 6. Which rows stay unseen elsewhere? And TensorFlow's `SAME` padding? It makes ⌈size / stride⌉ windows
# and adds as many rows of padding as they need, an odd one at the end. The second cell compares it with `padding=1`.

# %% tags=["proof-output-size"]
gaps = [(8, 2, 3, 0, 1), (9, 3, 2, 0, 2), (12, 2, 3, 0, 2)]
for n, k, t, p, d in [(8, 3, 2, 0, 1), (7, 3, 2, 0, 1), (8, 3, 1, 1, 1), (8, 3, 1, 2, 2), (8, 3, 2, 1, 1), *gaps]:
    count = len(theirs(np.ones((n, n)), np.ones((k, k)), stride=t, padding=p, dilation=d))
    unseen = set(range(n)) - {t * y + d * i - p for y, i in np.ndindex(count, k)}
    print(f"size {n}, kernel {k}, stride {t}, padding {p}, dilation {d}: {count}, unseen {sorted(unseen)}")

# %% tags=["proof-same-padding"]
for n in (7, 8):
    needed = max((-(-n // 2) - 1) * 2 + 3 - n, 0)  # rows of padding, for ⌈n / 2⌉ windows of 3 with stride 2
    before, after = needed // 2, needed - needed // 2
    row, ones = torch.arange(float(n)).reshape(1, 1, 1, n), torch.ones(1, 1, 1, 3)
    same = F.conv2d(F.pad(row, (before, after)), ones, stride=(1, 2)).flatten()
    print(f"size {n}, SAME pads {before} and {after}: {same.tolist()}", end="; ")
    print("padding=1:", F.conv2d(row, ones, stride=(1, 2), padding=(0, 1)).flatten().tolist())

# %% [markdown] tags=["short"]
# **Interview · How large is the output of a convolution?**
#
# - *Thirty seconds:* ⌊(size + 2p − d(k − 1) − 1) / t⌋ + 1 along each dimension.
# - *Longer:* An odd kernel with padding d(k − 1)/2 and stride 1 keeps the size. A kernel of 3 with padding 1 and
#   stride 2 halves an even size.
# - *They ask next:* Is every pixel used? Not if the division's remainder is larger than the padding: then the last ones
#   are dropped. There are gaps in the middle exactly when the stride is larger than k or shares a factor with the dilation. Near
#   the borders a dilation can leave more.
#   And TensorFlow's `SAME`? It gives ⌈size / t⌉ windows, and if the padding is odd, the extra row comes last. So a stride of 2
#   on an even size gives the shape of `padding=1` with other numbers: pad with `F.pad` when you port such a model. PyTorch's
#   `padding="same"` pads like TensorFlow, but raises if the stride isn't 1.
# - *The trap:* Reading the input's size off the output's. 7 and 8 both give 3.
# - *Proof:* `proof-output-size`, `proof-unseen`; TensorFlow's padding: `proof-same-padding`.
#
# ## Windows become a matrix
# Each result is a dot product: the kernel, flat, times what a window sees, flat. Many dot products are one matrix
# product. So write down what the windows see, one below the other.


# %% tags=["proof-im2col"]
def windows_as_rows(image, kh, kw):
    """(C, H, W) → a row for each window: channel by channel, and in each the kernel's places row by row."""
    high, wide = image.shape[1] - kh + 1, image.shape[2] - kw + 1
    return np.stack([image[:, y : y + kh, x : x + kw].ravel() for y, x in np.ndindex(high, wide)])


rng = np.random.default_rng(0)
colours, weight = rng.random((3, 6, 7)), rng.random((4, 3, 2, 2))
rows = windows_as_rows(colours, 2, 2)
result = (rows @ weight.reshape(4, -1).T).T.reshape(4, 5, 6)
expected = F.conv2d(torch.from_numpy(colours), torch.from_numpy(weight)).numpy()
print("rows", rows.shape, " kernels", weight.reshape(4, -1).shape, f" difference {abs(result - expected).max():.2f}")

# %%
small, kernel = np.arange(1, 13).reshape(1, 3, 4), np.array([[1, 0, 0, -1]])
columns = windows_as_rows(small, 2, 2).T
mask = np.isin(small[0], [1, 2, 5, 6])
first = np.arange(6)[None] == 0
pictures.assign(image="data", columns="index", kernel="weight", result="result")
as_columns = ("image", small[0], mask), "→", ("columns", columns, np.repeat(first, 4, 0))
pictures.grids(*as_columns, "↓", ("kernel", kernel), "@ columns =", ("result", kernel @ columns, first))

# %% [markdown]
# Here the windows are columns, as in Caffe, in MATLAB and in PyTorch's `unfold`. Rows or columns: does it matter?
#
# ### Rows or columns, first or last
# A matrix in memory is one line of numbers. What counts is which of them are neighbours there.

# %% tags=["proof-row-or-column"]
columns = F.unfold(torch.from_numpy(colours)[None], 2)[0].numpy()
print("rows, row by row:         ", rows.ravel()[:3].round(2), "one window's numbers")
print("columns, column by column:", columns.ravel("F")[:3].round(2), "the same line of numbers")
print("columns, row by row:      ", columns.ravel()[:3].round(2), "what one place sees in three windows")
print("unfold:", columns.shape, " rows.T:", rows.T.shape, " strides of rows, rows.T:", rows.strides, rows.T.strides)

# %% [markdown]
# MATLAB stores matrices column by column, so one window's numbers lie side by side in its columns, as they do in rows in
# NumPy. Caffe stores row by row, so in its columns they lie far apart; in return, each *row* is a piece of the image,
# copied in long runs. So ask for the order in memory first: `rows.T` has the shape of `unfold`'s result, and copies
# nothing.
#
# ### Myth · "Caffe makes each window a row"
# Its `im2col` makes each window a column, as `unfold` does: 30 windows of 12 numbers are [a matrix of
# 12 × 30](proof-row-or-column).
#
# ### Patches times a filter matrix
# TensorFlow's usual layout is NHWC: the channels of a pixel lie side by side. Its filters are (kh, kw, in, out).
# Then patches are rows, and the product has the layout of the next layer's input.


# %% tags=["proof-NHWC"]
def conv_nhwc(images, filters):
    kh, kw, _, outputs = filters.shape
    seen = np.lib.stride_tricks.sliding_window_view(images, (kh, kw), (1, 2))  # (N, y, x, C, kh, kw)
    patches = np.moveaxis(seen, 3, 5).reshape(*seen.shape[:3], -1)  # (N, y, x, kh · kw · C)
    return patches @ filters.reshape(-1, outputs)


mine = conv_nhwc(np.moveaxis(colours, 0, 2)[None], weight.transpose(2, 3, 1, 0))
print("NHWC result", mine.shape, f" difference {abs(np.moveaxis(mine[0], 2, 0) - expected).max():.2f}")
row, column = np.moveaxis(colours, 0, 2)[:2, :2].ravel(), weight[0].transpose(1, 2, 0).ravel()
print(f"first patch, {len(row)} numbers, times first filter: {row @ column:.3f}, in the result {mine[0, 0, 0, 0]:.3f}")

# %% [markdown]
# ### Myth · "TensorFlow multiplies an input column by a kernel row"
# It is the other way round: a row of the patches times a column of the filter matrix. Here the patches are 30 × 12 and
# the filters 12 × 4, so an input column has 30 numbers, a filter row 4, and the two don't even fit. The myth is right
# about Caffe and PyTorch's `unfold`, where the kernels are rows and the windows columns.
#
# These are three ways to the same result. What do they cost? Time each on images of growing size, 8 channels in and 16 out.

# %%
import timeit
from functools import partial


def loop(image, weight):
    side, flat = image.shape[2] - 2, weight.reshape(16, -1)
    windows = (image[0, :, y : y + 3, x : x + 3] for y, x in product(range(side), repeat=2))
    return np.stack([flat @ window.ravel() for window in windows], 1).reshape(1, 16, side, side)


sides, weight16 = [8, 16, 32, 64], rng.random((16, 8, 3, 3))
measured = {"loop over windows": [], "im2col": [], "NHWC patches": []}
for side in sides:
    first = rng.random((1, 8, side, side)), weight16
    last = first[0].transpose(0, 2, 3, 1).copy(), weight16.transpose(2, 3, 1, 0).copy()
    mine = [mytorch.from_numpy(each) for each in first]
    calls = (loop, first), (mytorch.nn.functional.conv2d, mine), (conv_nhwc, last)
    for times, (call, arguments) in zip(measured.values(), calls, strict=True):
        times.append(1e3 * min(timeit.repeat(partial(call, *arguments), number=1, repeat=20)))
about = "Time of a convolution of images from 8 to 64 a side: a loop over windows, im2col, NHWC patches."
pictures.curves(measured, sides, xlabel="rows and columns", ylabel="time (ms)", log="y", alt=about)

# %% [markdown]
# The arithmetic is the same. The two matrix products let BLAS run the loop, and pay for it with memory.

# %% tags=["proof-memory"]
for k in (1, 3, 5):
    times = F.unfold(torch.ones(1, 8, 64, 64), k, padding=k // 2).numel() // (8 * 64 * 64)
    print(f"{k} × {k}: the columns take {times:2} times the image's memory")

# %% [markdown]
# **Interview · How does im2col make a convolution fast, and what does it cost?**
#
# - *Thirty seconds:* It copies what each window sees into a column. Then one matrix product does all the work, and BLAS is
#   very good at that.
# - *Longer:* With stride 1 a pixel is copied about k² times: nine times the memory for 3 × 3. Libraries copy a tile at a
#   time, or compute the addresses inside the product (implicit GEMM).
# - *They ask next:* Rows or columns? One is the other's transpose. Ask which numbers are neighbours in memory.
# - *The trap:* Copying for a 1 × 1 kernel too. With stride 1 and no padding, its columns are the image.
# - *Proof:* `proof-im2col`, `proof-row-or-column`, `proof-memory`.

# %% [markdown] given="mytorch.nn.convolution:derivative.im2col mytorch.nn.convolution:derivative.col2im"
# ## Backward through a convolution
# In `mytorch`, `im2col` is an operation, so it needs a derivative. A pixel that went into four columns gets the sum of
# four gradients: `col2im` adds each number to the pixel it came from. The derivative of `col2im` is `im2col` again:

# %% tags=["proof-adjoint"]
from mytorch.nn.convolution import Windows, col2im, im2col

counts = []
for size, stride in (6, (1, 1)), (8, (2, 2)):
    windows = Windows((3, 3), stride, (0, 0), (1, 1))
    seen = im2col(mytorch.ones(1, 1, size, size), windows)
    counts.append(np.array(col2im(seen, windows, (size, size))[0, 0].tolist(), int))
    x, y = mytorch.rand(1, 1, size, size), mytorch.rand(*seen.shape)
    sums = (im2col(x, windows) * y).sum().item(), (x * col2im(y, windows, (size, size))).sum().item()
    print(f"{size} × {size}: im2col(x) · y is {sums[0] / sums[1]:.3f} times x · col2im(y)")
pictures.grids(("stride 1", counts[0]), "and", ("the surprise: stride 2", counts[1], counts[1] == 0))

# %% [markdown]
# Each pixel shows how many windows saw it. On the right are the row and the column that nobody sees: their gradient is 0,
# and training learns nothing from them.
#
# **Interview · What is the gradient of a convolution?**
#
# - *Thirty seconds:* With W the kernels as a matrix and C the columns, the result is W C. So the gradient of W is G Cᵀ, and
#   that of the input is `col2im(Wᵀ G)`.
# - *Longer:* With stride 1, no padding and no dilation, the second one is a convolution again: of G, padded by k − 1,
#   with the kernel flipped and its two channel dimensions swapped.
# - *They ask next:* Where is the learning signal weak? At the border, because fewer windows see it.
# - *The trap:* Assigning in `col2im` instead of accumulating. Where windows overlap, only the last one would count.
# - *Proof:* `proof-adjoint`; the flipped kernel: `proof-transposed`.

# %% [markdown] given="mytorch.nn.convolution:conv2d"
# ## Milestone: LeNet
# `conv2d` itself only checks its arguments and adds the bias. You write `convolve`, the product in the middle.

# %% tags=["proof-LeNet"]
import inspect

from minitorch.models import lenet

program = inspect.getsource(lenet)
gradients = {}
for library in ("minitorch", "mytorch"):
    exec(program.replace("minitorch", library), namespace := {})  # the same file, with other imports
    torch_ = namespace["torch"]
    torch_.manual_seed(0)
    model = namespace["LeNet"]()
    scores = model(torch_.rand(2, 1, 32, 32))
    (scores * scores).sum().backward()
    gradients[library] = model.conv1.weight.grad
    print(f"{library:9}", scores[0, :4].detach())
print(f"gradients differ by at most {abs(np.subtract(*[each.numpy() for each in gradients.values()])).max():.4f}")

# %% [markdown]
# `minitorch/models/lenet.py` runs on your library, unchanged but for its imports. Same seed, same digits.
#
# ## Channels
# A kernel isn't 3 × 3 but in × 3 × 3: it sees *all* input channels and makes *one* output channel. `groups` splits the
# channels into separate convolutions.

# %% tags=["proof-channels"]
x = torch.zeros(1, 64, 8, 8, requires_grad=True)
for name, k, groups in [("ordinary", 3, 1), ("4 groups", 3, 4), ("depthwise", 3, 64), ("1 × 1", 1, 1)]:
    w = torch.nn.Conv2d(64, 64, k, groups=groups).weight
    (grad,) = torch.autograd.grad(F.conv2d(x, w, groups=groups)[0, 0].sum(), x)
    channels = (grad[0].abs().sum((1, 2)) > 0).sum().item()
    print(f"{name:9} weight {tuple(w.shape)!s:15} {w.numel():6} numbers, sees channels: {channels}")

# %% [markdown]
# **Interview · What does `groups` do? What is a depthwise separable convolution?**
#
# - *Thirty seconds:* Group g of the outputs sees only group g of the inputs, so weights and products shrink by the factor
#   `groups`. With one input channel per group it's depthwise; a 1 × 1 convolution after it mixes the channels again.
# - *Longer:* For 64 channels and 3 × 3 that is 576 + 4,096 weights in place of 36,864.
# - *They ask next:* What shape is the weight? (out, in / groups, kh, kw), so `groups` has to divide both.
# - *The trap:* "A kernel works on one channel." Only in a depthwise convolution.
# - *Proof:* `proof-channels`.
#
# ## 1 × 1
# When the window is a single pixel, the convolution is a linear layer over the channels, the same for every pixel.

# %% tags=["proof-one-by-one"]
x, w = torch.rand(2, 64, 5, 5), torch.rand(16, 64, 1, 1)
as_linear = F.linear(x.permute(0, 2, 3, 1), w[:, :, 0, 0]).permute(0, 3, 1, 2)
print(f"the linear layer's result differs by at most {(F.conv2d(x, w) - as_linear).abs().amax().item():.4f}")
narrow = 256 * 64 + 64 * 64 * 9 + 64 * 256
print("256 to 256 channels, 3 × 3:", 256 * 256 * 9, "weights; through 64 and back:", narrow)

# %% [markdown]
# **Interview · What is a 1 × 1 convolution good for?**
#
# - *Thirty seconds:* It changes the number of channels and mixes them, pixel by pixel: a linear layer with shared weights.
# - *Longer:* ResNet's bottlenecks shrink the channels first, so the 3 × 3 in the middle is cheap. Stack two with
#   a nonlinearity between them, and they're a small network at each pixel.
# - *They ask next:* Does it see neighbours? No, it adds nothing to the receptive field.
# - *The trap:* "It does nothing, since it multiplies by a number." It multiplies by a matrix, out × in.
# - *Proof:* `proof-one-by-one`.
#
# ## The transposed convolution
# `conv_transpose2d` is the backward pass of a convolution, used as a layer. Compare it with the gradient. Does it give the
# image back? And is it, with stride 1, a convolution with flipped kernels?

# %% tags=["proof-transposed"]
x, w, g = torch.rand(1, 2, 7, 7, requires_grad=True), torch.rand(3, 2, 3, 3), torch.rand(1, 3, 3, 3)
y = F.conv2d(x, w, stride=2)
back = F.conv_transpose2d(g, w, stride=2)
pairs = {"gradient": (back, torch.autograd.grad(y, x, g)[0]), "image": (F.conv_transpose2d(y, w, None, 2), x)}
pairs["flipped"] = F.conv_transpose2d(g, w), F.conv2d(g, w.flip((2, 3)).transpose(0, 1), padding=2)
for name, (one, other) in pairs.items():
    print(f"{name:8} differs by at most {(one - other).abs().amax().item():.1f}")
print("3 × 3 goes to", *[tuple(F.conv_transpose2d(g, w, None, 2, 0, extra).shape[2:]) for extra in (0, 1)])
maps = [F.conv_transpose2d(torch.ones(1, 3, 3), torch.ones(1, 1, k, k), stride=2)[0].int() for k in (3, 4)]
pictures.grids(("kernel 3, stride 2", maps[0]), "or", ("kernel 4, stride 2", maps[1]))

# %% [markdown]
# Both come from a flat image and a kernel of ones. Kernel 3 makes a **checkerboard**, since its copies overlap
# unevenly. When the stride divides the kernel's size, they overlap evenly, except near the border.
#
# **Interview · What is a transposed convolution?**
#
# - *Thirty seconds:* The backward pass of a convolution, used as a layer: each input pixel adds its multiple of the
#   kernel to the output. A stride spreads these copies out, which is how it upsamples.
# - *Longer:* It is the transpose, not the inverse: the shape comes back, the numbers don't. When a convolution maps
#   several sizes to one, `output_padding` says which of them you want.
# - *They ask next:* Where do checkerboards come from? Mostly from kernel sizes that the stride doesn't divide.
# - *The trap:* Calling it a deconvolution. That would be the inverse.
# - *Proof:* `proof-transposed`.
#
# ## What a unit sees
# A **receptive field** is the part of the input that one number depends on. Each layer widens it by $d(k - 1)$ times the
# product of all earlier strides. Compute it for LeNet, then measure it: which pixels get a gradient from one unit, in
# any of 200 images?

# %% tags=["proof-receptive-field"]
field, jump, computed = 1, 1, []
for k, stride in [(5, 1), (2, 2), (5, 1), (2, 2)]:
    field, jump = field + (k - 1) * jump, jump * stride
    computed.append(field)
images, net, found = torch.rand(200, 1, 32, 32, requires_grad=True), lenet.LeNet(), {}
x, pool = images, lambda x: F.max_pool2d(F.relu(x), 2)
for name, stage in {"conv1": net.conv1, "pool1": pool, "conv2": net.conv2, "pool2": pool}.items():
    x = stage(x)
    middle = x[..., x.shape[2] // 2, x.shape[3] // 2].sum()
    found[name] = torch.autograd.grad(middle, images, retain_graph=True)[0].abs().sum((0, 1, 2))
print("computed", computed, " measured", [(each > 0).sum().item() for each in found.values()])
shares = {name: (each / each.sum()).tolist() for name, each in found.items()}
about = "How the gradient of four units spreads over the image's columns: wider and lower at each stage."
pictures.curves(shares, range(32), xlabel="column of the image", ylabel="share of the gradient", alt=about)

# %% [markdown]
# The field says what a unit can see. The curve says how much each pixel counts. After one layer, that depends on the
# kernel's weights. After four, the middle counts more, because more paths lead from there to the unit.
#
# **Interview · How large is a receptive field, and how do you enlarge it?**
#
# - *Thirty seconds:* Each layer adds $d(k - 1)$ times the product of all earlier strides. More layers add to it, strides and
#   pooling multiply what later layers add, and dilation spreads a kernel without more weights.
# - *Longer:* Two 3 × 3 layers see as far as one 5 × 5, with 18 weights for a pair of channels instead of 25, and a
#   nonlinearity between them.
# - *They ask next:* Do all pixels in it count alike? No. After a few layers those in the middle count most, because most
#   paths lead there.
# - *The trap:* leaving out the strides. LeNet's four layers would see 11 pixels, and they see 16.
# - *Proof:* `proof-receptive-field`.
#
# ## The real one
# `mytorch` fills its columns in a loop over the kernel's places. minitorch needs no loop: it finds strides that show the
# windows ([chapter 03](03_views_and_layout.ipynb)), and one copy makes the columns.

# %%
from minitorch.kernels import convolution as correlation

print(inspect.getsource(correlation.windows))

# %% [markdown]
# `xp` is NumPy or CuPy, `array.strides` counts in bytes. `inner` steps from place to place of the kernel, `outer` from
# window to window. It works in any number of dimensions, so `conv1d` and `conv3d` need no code of their own. The backward
# pass keeps its loop, in minitorch too: windows overlap, and `+=` on a view whose elements overlap loses numbers.
#
# ## Myths
# ### Myth · "All frameworks convolve by im2col"
# PyTorch alone uses several algorithms. On a CPU, its profiler shows im2col for float64, and in float32 for a single small image
# with a kernel such as 3 × 3 and without groups: `_slow_conv2d_forward`, or `slow_conv_dilated2d` with a dilation. Most
# other float32 work goes to oneDNN (`mkldnn_convolution`), LeNet's 5 × 5 too, usually as a direct convolution. On a GPU,
# cuDNN chooses. Which algorithms does minitorch use, and do others give the same numbers?

# %% tags=["proof-many-algorithms"]
import sys


def routes(layer, x):
    names = set()
    sys.setprofile(lambda frame, event, _: names.add(frame.f_code.co_name) if event == "call" else None)
    layer(x)
    sys.setprofile(None)
    return sorted(name for name in names if name.startswith("_correlate")) or ["im2col and a product"]


x = torch.rand(2, 16, 70, 70)
for layer in torch.nn.Conv2d(16, 8, 3), torch.nn.Conv2d(16, 16, 3, groups=16), torch.nn.Conv2d(16, 8, 1):
    print(layer, *routes(layer, x))

a, k = rng.random(4), rng.random(3)
plus, minus = (k[0] + k[1] + k[2]) / 2, (k[0] - k[1] + k[2]) / 2
m = [a[0] - a[2], a[1] + a[2], a[2] - a[1], a[1] - a[3]] * np.array([k[0], plus, minus, k[2]])
winograd = [m[0] + m[1] + m[2], m[1] - m[2] - m[3]]
fourier = np.fft.ifft(np.fft.fft(a) * np.fft.fft(k, 4).conj()).real[:2]
print("Winograd, Fourier, correlate:", *(np.round(each, 3) for each in (winograd, fourier, np.correlate(a, k))))

# %% [markdown] tags=["short"]
# **Interview · Do frameworks convolve by im2col?**
#
# - *Thirty seconds:* It is one of several ways. There are also direct loops, Winograd (fewer products for small kernels),
#   Fourier transforms (for large ones) and implicit GEMM, and libraries choose by shape.
# - *Longer:* On a GPU, cuDNN chooses. With `torch.backends.cudnn.benchmark = True` it times the candidates once for each
#   new shape, which pays if shapes repeat. They add in different orders, so don't expect equal last digits;
#   `cudnn.deterministic = True` allows only those that give the same digits in every run. Both are off by default.
# - *They ask next:* Are float32 convolutions computed in float32? Not on tensor cores: `cudnn.allow_tf32` is on, and lets
#   them round the factors to 10 fraction bits. For matrix products, `torch.backends.cuda.matmul.allow_tf32` is off
#   ([chapter 22](22_mixed_precision.ipynb)). PyTorch 2.13 has newer names, such as `cudnn.conv.fp32_precision`, which is
#   `"tf32"`. Don't mix the two: after setting it to `"ieee"`, reading `cudnn.allow_tf32` raises.
# - *The trap:* Saying that a convolution needs k² times the memory. Only im2col does.
# - *Proof:* `proof-many-algorithms`; the defaults: `proof-rapid-fire`.
#
# ## Rapid fire
# 1. How many parameters does `Conv2d(3, 8, 3)` have? 8 · 3 · 9 weights and 8 biases: 224.
# 2. Is TF32 on by default? For cuDNN's convolutions it is, for matrix products it isn't.
# 3. What is in the padding of a max pool? Minus infinity, not 0.
# 4. What is in the padding of an average pool? Zeros, which count as pixels by default.
# 5. `padding="same"` with stride 2? An error.

# %% tags=["proof-rapid-fire"]
from course import check

layer = torch.nn.Conv2d(3, 8, 3)
print("1.", sum(each.numel() for each in layer.parameters()))
print("2. cuDNN:", torch.backends.cudnn.allow_tf32, " matrix products:", torch.backends.cuda.matmul.allow_tf32)
print("3.", F.max_pool2d(torch.full((1, 2, 2), -3.0), 2, padding=1).flatten().tolist())
print("4.", F.avg_pool2d(torch.ones(1, 2, 2), 2, padding=1).flatten().tolist())
print("5.", check.error(torch.nn.Conv2d, 3, 8, 3, stride=2, padding="same"))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. `conv2d` slides the kernel without flipping it.
# 2. Place i of window y sees row t·y + d·i − p.
# 3. ⌊(size + 2p − d(k − 1) − 1) / t⌋ + 1 windows; if the remainder exceeds the padding, the last pixels aren't seen.
# 4. im2col: windows become columns, and the convolution becomes a matrix product.
# 5. Rows or columns: ask which numbers are neighbours in memory.
# 6. `col2im` is im2col's derivative. It adds.
# 7. A kernel sees all channels of its group and makes one channel.
# 8. 1 × 1 is a linear layer at every pixel.
# 9. A transposed convolution is the gradient, not the inverse.
# 10. Receptive field: each layer adds d(k − 1) times the product of the strides before it.
#
# ## You try
# [The exercises](../exercises/11_convolution.ipynb): predict what a strided convolution sees; write im2col, its backward,
# the product between them, and pools; trace a unit's field through padding; repair a convolution by Fourier transform; find out
# the geometry of an unknown layer. [Chapter 12](12_norm_dropout_and_modes.ipynb) adds batch norm, and trains LeNet.
