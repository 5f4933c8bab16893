# %% [markdown]
# # Convolution
# In this chapter you turn a convolution into a matrix multiplication, in both directions, until LeNet runs on your own library. You will be
# able to say which pixels a network sees, which ones it never looks at, and what a layer costs in multiply-adds and memory.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(11)  # your library as of this chapter, using your code wherever you've solved the exercise

# %% [markdown] tags=["short"]
# ## Stride 2 on an even size: a column that nobody sees
# A kernel of 3 × 3 slides over an image of 8 × 8 with a stride of 2. Then somebody writes a million into the last column of the image. How
# much does the result change?

# %% tags=["proof-unseen"]
import minitorch as torch
from minitorch.nn import functional as F

torch.manual_seed(0)
image, kernels = torch.rand(1, 1, 8, 8), torch.rand(4, 1, 3, 3)
spoilt = image.clone()
spoilt[..., 7] = 1_000_000
before, after = (F.conv2d(picture, kernels, stride=2) for picture in (image, spoilt))
print("result", tuple(before.shape), " largest difference:", (before - after).abs().amax().item())

# %% [markdown]
# The result doesn't change at all. To see why, you have to know where the kernel stops.
#
# ## The smallest model
# A textbook defines a convolution as $out[y, x] = \sum_{i, j} kernel[i, j] \cdot image[y - i, x - j]$. We keep only the positions at which
# the kernel lies inside the image, and compare the result with PyTorch's:

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
    image, kernel = (torch.from_numpy(array)[None, None] for array in (image, kernel))
    return F.conv2d(image, kernel, **options)[0, 0].numpy()


picture = np.random.default_rng(0).random((6, 7))
blur = np.ones((3, 3)) / 9
print(f"blur: they differ by at most {abs(textbook(picture, blur) - theirs(picture, blur)).max():.2f}")

# %% [markdown]
# ### Break it: cross-correlation
# A blur kernel is symmetric, so it can't tell the two definitions apart. Now take one that isn't: left minus right, which finds edges.

# %% tags=["proof-not-flipped"]
edge = np.array([[1.0, 0.0, -1.0]])
one, other = textbook(picture, edge), theirs(picture, edge)
for name, mine in {"as it is": one, "negated": -one, "flipped": textbook(picture, edge[::-1, ::-1])}.items():
    print(f"edge, {name:8} differs by at most {abs(mine - other).max():.2f}")

# %% [markdown] tags=["short"]
# The textbook flips the kernel, top to bottom and left to right. PyTorch doesn't, and mathematicians call its operation a
# **cross-correlation**. (Flipping this particular kernel happens to negate it.) For a learned kernel the difference doesn't matter,
# because training simply finds the flipped kernel. But a filter that you copy from a book may have to be flipped.
#
# ## Kernel, stride, padding, dilation
# With stride $t$, dilation $d$ and padding $p$, tap $i$ of the kernel (its row $i$) sees row $t y + d i - p$ of the image in window $y$.
# On the left, the picture shows an image of ones with its last window outlined. On the right is the result of a kernel of ones, which
# counts the pixels that each window sees.


# %% hidden=true
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
# The *effective kernel size* is $d(k - 1) + 1$ rows, and padding makes the image $2p$ rows longer. Subtract the kernel from the image,
# count how many whole strides fit into the rest, and add one for the first window:
#
# $$ count = \left\lfloor \frac{size + 2p - d(k - 1) - 1}{t} \right\rfloor + 1 $$
#
# In the opening, $\lfloor (8 - 2 - 1) / 2 \rfloor + 1 = 3$ windows begin at 0, 2 and 4, so the last one ends at 6 and the floor
# drops the last column. Which rows do other layers miss?

# %% tags=["proof-output-size"]
gaps = [(8, 2, 3, 0, 1), (9, 3, 2, 0, 2), (12, 2, 3, 0, 2)]
for n, k, t, p, d in [(8, 3, 2, 0, 1), (7, 3, 2, 0, 1), (8, 3, 1, 1, 1), (8, 3, 1, 2, 2), (8, 3, 2, 1, 1), *gaps]:
    count = len(theirs(np.ones((n, n)), np.ones((k, k)), stride=t, padding=p, dilation=d))
    unseen = set(range(n)) - {t * y + d * i - p for y, i in np.ndindex(count, k)}
    print(f"size {n}, kernel {k}, stride {t}, padding {p}, dilation {d}: {count}, unseen {sorted(unseen)}")

# %% [markdown] tags=["short"]
# The last row goes unseen where the floor drops a remainder, as in the opening. Rows in the middle go unseen where the stride exceeds the
# kernel, or where every window jumps over the same rows.
#
# **Interview · How large is the output of a convolution?**
#
# - *Thirty seconds:* Along each dimension, I add two paddings to the size, subtract the effective kernel size, divide by the stride,
#   round down, and add one. The effective size is d(k − 1) + 1 for a dilation d. For example, 224 pixels with a kernel of 7, stride 2 and
#   padding 3 give 112.
# - *Longer:* An odd kernel with padding d(k − 1)/2 and stride 1 keeps the size; a kernel of 3 with padding 1 and stride 2 halves an even
#   size. Pooling layers use the same formula, and with `ceil_mode=True` they round up instead.
# - *They ask next:* Is every pixel used? Not if the remainder of the division is larger than the padding, because then the last pixels
#   are dropped. A stride that is larger than the kernel leaves gaps in the middle.
# - *They ask next:* How do you port TensorFlow's `SAME`? With a stride of 2 and an even size, it has the shape of `padding=1` but other values,
#   so I pad with `F.pad`. PyTorch's `padding="same"` raises an error if the stride isn't 1.
# - *The trap:* The formula can't be inverted to get the input's size from the output's. The floor makes 7 and 8 both give 3.
# - *Proof:* `proof-output-size`, `proof-unseen`; other padding: `proof-same-padding`.

# %% [markdown]
# ## im2col: a convolution as a matrix multiplication
# Each output is a dot product of the flattened kernel with a flattened window, and many dot products with the same vector are one matrix
# multiplication. The code below writes the windows one below the other, as rows. The picture shows the transpose, with a window in each
# column, as in PyTorch's `unfold` and in Caffe: hence the name im2col, *image to columns*. Both matrices are larger than the image, with
# stride 1 about k² times, because overlapping windows copy the same pixels.


# %% tags=["proof-im2col", "proof-memory"]
def windows_as_rows(image, kh, kw):
    """(C, H, W) → one row for each window: channel by channel, and within a channel the window row by row."""
    high, wide = image.shape[1] - kh + 1, image.shape[2] - kw + 1
    return np.stack([image[:, y : y + kh, x : x + kw].ravel() for y, x in np.ndindex(high, wide)])


rng = np.random.default_rng(0)
colours, weight = rng.random((3, 6, 7)), rng.random((4, 3, 2, 2))
rows = windows_as_rows(colours, 2, 2)
result = (rows @ weight.reshape(4, -1).T).T.reshape(4, 5, 6)
expected = F.conv2d(torch.from_numpy(colours), torch.from_numpy(weight)).numpy()
print("rows", rows.shape, " kernels", weight.reshape(4, -1).shape, f" difference {abs(result - expected).max():.2f}")
for k in (1, 3, 5):
    times = F.unfold(torch.ones(1, 8, 64, 64), k, padding=k // 2).numel() // (8 * 64 * 64)
    print(f"{k} × {k}: the columns take {times:2} times the image's memory")

# %% hidden=true
small, kernel = np.arange(1, 13).reshape(1, 3, 4), np.array([[1, 0, 0, -1]])
columns = windows_as_rows(small, 2, 2).T
mask = np.isin(small[0], [1, 2, 5, 6])
first = np.arange(6)[None] == 0
pictures.assign(image="data", columns="index", kernel="weight", result="result")
as_columns = ("image", small[0], mask), "→", ("columns", columns, np.repeat(first, 4, 0))
pictures.grids(*as_columns, "↓", ("kernel", kernel), "@ columns =", ("result", kernel @ columns, first))

# %% [markdown]
# **Interview · How does im2col make a convolution fast, and what does it cost?**
#
# - *Thirty seconds:* It copies what each window sees into a column, and then a single matrix multiplication does all the arithmetic, which
#   BLAS does very well. The price is memory: with stride 1 each pixel is copied about k² times. It is only one of several ways, and
#   libraries choose among them by shape and dtype.
# - *Longer:* For a 3 × 3 kernel the columns take nine times the memory of the input. Libraries therefore copy one tile at a time, or compute
#   the addresses inside the multiplication, which is called *implicit GEMM*. They also have direct loops, Winograd, which needs fewer
#   multiplications for small kernels, and Fourier transforms for large ones.
# - *They ask next:* How does cuDNN choose? By heuristics, unless you set `torch.backends.cudnn.benchmark = True`: then it times the
#   candidates once for each new shape, which pays off if shapes repeat. The algorithms add in different orders, so their last digits
#   differ; `cudnn.deterministic = True` allows only those that give the same digits in every run. Both are off by default.
# - *They ask next:* Are float32 convolutions computed in float32? Not on tensor cores: `cudnn.allow_tf32` is on, which lets them round
#   the factors to 10 bits of mantissa, while `torch.backends.cuda.matmul.allow_tf32` is off ([chapter 22](22_mixed_precision.ipynb)).
# - *The trap:* Not every convolution needs k² times the memory, only im2col does. With a 1 × 1 kernel, stride 1 and no padding, not even
#   im2col needs a copy: the image already *is* the column matrix.
# - *Proof:* `proof-im2col`, `proof-memory`, `proof-many-algorithms`; the defaults: `proof-rapid-fire`.

# %% [markdown] given="mytorch.nn.convolution:derivative.im2col mytorch.nn.convolution:derivative.col2im"
# ## Backward through a convolution
# In `mytorch`, `im2col` is an operation, so it needs a derivative. A pixel that was copied into four columns gets the sum of four gradients,
# which is what `col2im` computes: it adds each number to the pixel that it came from. The derivative of `col2im` is `im2col` again:

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
pictures.grids(("stride 1", counts[0]), "and", ("the opening: stride 2", counts[1], counts[1] == 0))

# %% [markdown]
# The two inner products agree, as they must if `col2im` is the transpose of `im2col`. In the pictures, each pixel shows how many windows
# saw it. In the right-hand grid, no window sees the last row and the last column, so their gradient is 0 and training learns nothing from
# them.
#
# **Interview · What is the gradient of a convolution?**
#
# - *Thirty seconds:* Write the convolution as W C, with the kernels as the matrix W and the windows as the columns C. For an output gradient G,
#   the gradient of the weight is G Cᵀ, and the gradient of the input is Wᵀ G, put back into an image by `col2im`, which adds where windows
#   overlap.
# - *Longer:* With stride 1, no padding and no dilation, the input's gradient is a convolution again: of G, padded by k − 1, with the flipped
#   kernel and its two channel dimensions swapped.
# - *They ask next:* Where is the learning signal weak? At the border, where fewer windows see each pixel.
# - *The trap:* If `col2im` assigns instead of accumulating, only the last window counts where several overlap.
# - *Proof:* `proof-adjoint`; the flipped kernel: `proof-transposed`.

# %% [markdown]
# ## The cost of a convolution: multiply-adds and memory
# Every weight is used once for each output position, so an image costs (number of weights) × (output height × width) multiply-adds, the
# biases aside. Compare an early layer of VGG-16 with a late one, and with a fully connected layer between the same activations:

# %% tags=["proof-cost"]
for name, channels, side in (("second layer", 64, 224), ("last layer", 512, 14)):
    weights = torch.nn.Conv2d(channels, channels, 3, bias=False).weight.numel()
    print(f"{name:12} {weights:9,} weights, {weights * side**2 / 1e9:.2f} billion multiply-adds,", end=" ")
    print(f"output {4 * channels * side**2 / 1e6:.1f} MB in float32")
print(f"fully connected, in place of the second layer: {(64 * 224**2) ** 2:.1e} weights")

# %% [markdown]
# In such a network most weights belong to the late layers, and most activations come from the early ones. Here the early layer has a 64th
# of the weights, and yet four times the arithmetic and 32 times the activations. A fully connected layer in its place would take 41 TB in
# float32.
#
# **Interview · Why a convolution for images, and not a fully connected layer?**
#
# - *Thirty seconds:* A fully connected layer has a weight for every pair of input and output elements, which for images is far too many. A
#   convolution assumes that nearby pixels belong together and that a pattern means the same everywhere, so its kernel is small and shared by
#   all positions. It needs less data, and it accepts images of any size.
# - *They ask next:* Is a convolution a special case of a linear layer? Yes, of one whose matrix is mostly zeros and repeats the kernel's
#   weights in every row.
# - *The trap:* Few parameters don't mean little arithmetic. Each weight is used at every position, so a small layer may need billions of
#   multiply-adds.
# - *Proof:* `proof-cost`.
#
# **Interview · How many multiply-adds does a convolution need, and how much memory do its activations take?**
#
# - *Thirty seconds:* Each weight is used once per output position. So one image takes out × (in / groups) × k² × H × W multiply-adds,
#   where H × W is the size of the *output*, and `groups` is 1 in an ordinary convolution. The output has batch × out × H × W elements.
#   For its backward pass a convolution keeps its input, so in a chain of layers every output is kept once, as the next layer's input. The
#   number of parameters doesn't depend on the image at all.
# - *Longer:* A training step needs about three times the arithmetic of a forward pass: the gradients of weight and input are
#   multiplications of the same size. Halving the resolution divides arithmetic and activations by four. With a large batch it is the
#   activations, not the weights, that fill the memory ([chapter 22b](22b_memory.ipynb)).
# - *They ask next:* Are these FLOPs? A multiply-add is two floating-point operations, but many papers count it as one: the ResNet paper
#   writes "FLOPs (multiply-adds)". So I ask which is meant.
# - *The trap:* This count alone doesn't predict the speed. A depthwise convolution has few multiply-adds, but also few for each byte that
#   it loads, so it is limited by memory bandwidth.
# - *Proof:* `proof-cost`; depthwise: `proof-channels`.
#
# ## NHWC and `channels_last`
# A colour image can be stored plane by plane, which is called NCHW, or pixel by pixel with all channels of a pixel side by side, which is
# NHWC. In PyTorch the second is a *memory format*: the shape stays (N, C, H, W), and only the strides change. A convolution returns this
# format if its weight has it or, as in the second line of the output, its input.

# %% tags=["proof-channels-last"]
x, conv = torch.rand(2, 64, 8, 8), torch.nn.Conv2d(64, 32, 3)
last = x.to(memory_format=torch.channels_last)
print("shape", tuple(last.shape), " strides", x.stride(), "and", last.stride())
print("strides of the results", conv(x).stride(), "and", conv(last).stride())
print(f"results differ by at most {(conv(x) - conv(last)).abs().amax().item():.3f}")

# %% [markdown]
# **Interview · What is `channels_last`, and why is it faster?**
#
# - *Thirty seconds:* A memory format: images are stored as NHWC, so all channels of a pixel are adjacent, but the shape still reads NCHW.
#   A window then consists of a few long runs that can be loaded as they are, and cuDNN's tensor-core kernels expect this layout. With
#   NCHW, the library often has to transpose the data before and after the convolution.
# - *Longer:* I convert the model and its input with `.to(memory_format=torch.channels_last)`. Convolutions, pools and batch norms
#   keep the format. An elementwise operation keeps it if its first operand has it, so `skip + x` loses it when only `x` has
#   it. The format pays most in float16 or bfloat16 with channel counts that are multiples of 8.
# - *They ask next:* What can break? `view` can, because flattening an image of this layout needs a copy. Use `flatten` or `reshape`,
#   which return the elements in NCHW order as before.
# - *The trap:* `permute(0, 2, 3, 1)` is something else. It changes the shape, and the layers expect the channels in dimension 1.
# - *Proof:* `proof-channels-last`; the same multiplication in NHWC: `proof-NHWC`.

# %% [markdown] given="mytorch.nn.convolution:conv2d"
# ## Milestone: LeNet
# `conv2d` itself only checks its arguments and adds the bias. The multiplication in the middle is `convolve`, which you write.

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
print(f"gradients differ by at most {abs(np.subtract(*[g.numpy() for g in gradients.values()])).max():.4f}")

# %% [markdown]
# The file `minitorch/models/lenet.py` runs on your library as well, with nothing but its imports changed, and the same seed gives the
# same digits.
#
# ## Channels and `groups`
# A 3 × 3 kernel really has the shape in × 3 × 3: it sees *all* input channels and makes *one* output channel. `groups` splits the
# channels into separate convolutions. The cell counts the input channels on which the first output channel depends.

# %% tags=["proof-channels"]
x = torch.zeros(1, 64, 8, 8, requires_grad=True)
for name, k, groups in [("ordinary", 3, 1), ("4 groups", 3, 4), ("depthwise", 3, 64), ("1 × 1", 1, 1)]:
    w = torch.nn.Conv2d(64, 64, k, groups=groups).weight
    (grad,) = torch.autograd.grad(F.conv2d(x, w, groups=groups)[0, 0].sum(), x)
    channels = (grad[0].abs().sum((1, 2)) > 0).sum().item()
    print(f"{name:9} weight {tuple(w.shape)!s:15} {w.numel():6} parameters, sees channels: {channels}")

# %% [markdown]
# **Interview · What does `groups` do? What is a depthwise separable convolution?**
#
# - *Thirty seconds:* With `groups=g`, each group of output channels sees only its own group of input channels, so parameters and multiply-adds
#   shrink by the factor g. With one input channel per group the convolution is *depthwise*. A 1 × 1 convolution after it mixes the channels
#   again, and the two together are a depthwise separable convolution.
# - *Longer:* For 64 channels and a 3 × 3 kernel, it has 576 + 4,096 weights instead of 36,864.
# - *They ask next:* What shape does the weight have? (out, in / groups, kh, kw), so `groups` has to divide both channel counts.
# - *The trap:* A kernel doesn't work on one channel; that is true only of a depthwise convolution.
# - *Proof:* `proof-channels`.
#
# ## 1 × 1 convolutions
# When the window is a single pixel, the convolution is a linear layer over the channels, and all pixels share its weights. The last line
# compares a 3 × 3 layer with a *bottleneck*, which has fewer channels in the middle.

# %% tags=["proof-one-by-one"]
x, w = torch.rand(2, 64, 5, 5), torch.rand(16, 64, 1, 1)
as_linear = F.linear(x.permute(0, 2, 3, 1), w[:, :, 0, 0]).permute(0, 3, 1, 2)
print(f"the linear layer's result differs by at most {(F.conv2d(x, w) - as_linear).abs().amax().item():.4f}")
narrow = 256 * 64 + 64 * 64 * 9 + 64 * 256
print("256 to 256 channels, 3 × 3:", 256 * 256 * 9, "weights; through 64 and back:", narrow)

# %% [markdown]
# **Interview · What is a 1 × 1 convolution good for?**
#
# - *Thirty seconds:* Mixing the channels of each pixel and changing their number; it is a linear layer whose weights all pixels share.
#   People use it to make a convolution cheaper, or to combine the channels after a depthwise one.
# - *Longer:* ResNet's bottlenecks first reduce the channels with it, so the 3 × 3 in the middle is cheap, and then restore them. Two of them
#   with a nonlinearity in between are a small network at each pixel.
# - *They ask next:* Does it see neighbours? No, so it adds nothing to the receptive field.
# - *The trap:* It doesn't just multiply by a number: it multiplies by an out × in matrix.
# - *Proof:* `proof-one-by-one`.
#
# ## Causal convolution in one dimension
# `Conv1d` slides along a sequence (N, C, length). If the layer predicts the next element, an output must not see later inputs, so all of
# the padding goes on the left. Which inputs does output 5 depend on?

# %% tags=["proof-causal"]
taps = torch.ones(1, 1, 3)
sequence = torch.zeros(1, 1, 10, requires_grad=True)
results = {
    "padding=2, dilation 2": F.conv1d(sequence, taps, padding=2, dilation=2),
    "4 zeros on the left": F.conv1d(F.pad(sequence, (4, 0)), taps, dilation=2),
}
for name, result in results.items():
    (grad,) = torch.autograd.grad(result[0, 0, 5], sequence)
    print(f"{name}: length {result.shape[2]}, output 5 sees inputs {grad.flatten().nonzero().flatten().tolist()}")

# %% [markdown]
# With symmetric padding, output 5 sees input 7, which lies in the future. With the zeros on the left it sees none later than 5.
#
# **Interview · What is a causal convolution?**
#
# - *Thirty seconds:* A convolution over time in which output t depends only on inputs up to t. I pad d(k − 1) zeros on the left and none
#   on the right, so the length stays the same, and nothing leaks from the future.
# - *Longer:* With dilations 1, 2, 4 and so on, the receptive field doubles with each layer, as in WaveNet. Mamba's block has a short
#   depthwise one with four taps. Generating needs only the last d(k − 1) inputs as its state.
# - *They ask next:* How do you test it? Take the gradient of output t and check that it is zero for all later inputs.
# - *The trap:* `padding=d * (k - 1)` pads both sides, so the last d(k − 1) outputs have to be removed. Another trap is a transformer's
#   layout, because `Conv1d` expects the channels before the length.
# - *Proof:* `proof-causal`.
#
# ## Receptive field
# A **receptive field** is the part of the input that one unit depends on. Each layer widens it by $d(k - 1)$ times the product of all
# earlier strides. The cell computes it for LeNet and then measures it by counting the columns that get a gradient from one unit in any of
# 200 images. The picture shows how much each pixel counts in a deeper stack of layers, each with a kernel of three ones.

# %% tags=["proof-receptive-field"]
field, jump, computed = 1, 1, []
for k, stride in [(5, 1), (2, 2), (5, 1), (2, 2)]:
    field, jump = field + (k - 1) * jump, jump * stride
    computed.append(field)
images, net, measured = torch.rand(200, 1, 32, 32, requires_grad=True), lenet.LeNet(), []
x, pool = images, lambda x: F.max_pool2d(F.relu(x), 2)
for stage in (net.conv1, pool, net.conv2, pool):
    x = stage(x)
    middle = x[..., x.shape[2] // 2, x.shape[3] // 2].sum()
    (grad,) = torch.autograd.grad(middle, images, retain_graph=True)
    measured.append((grad.abs().sum((0, 1, 2)) > 0).sum().item())
print("computed", computed, " measured", measured)

shares = {}
pictures.assign({"layers: 1": "data", "layers: 3": "weight", "layers: 10": "gradient"})
for depth in (1, 3, 10):
    x = pixels = torch.zeros(1, 1, 31, requires_grad=True)
    for _ in range(depth):
        x = F.conv1d(x, taps, padding=1)
    (grad,) = torch.autograd.grad(x[0, 0, 15], pixels)
    field = np.arange(-depth, depth + 1)
    shares[f"layers: {depth}"] = field, (grad / grad.sum()).flatten()[field + 15].tolist()
about = "How much each pixel counts for a unit: flat in one layer, and a bell after ten."
pictures.curves(shares, xlabel="distance from the unit (pixels)", ylabel="share of the gradient", alt=about)

# %% [markdown]
# The measured fields are the computed ones. But within a field the pixels count unequally: in one layer all three have the same share,
# whereas after ten most of the gradient falls on the middle, from which more paths lead to the unit. This is the *effective receptive
# field*.
#
# **Interview · How large is a receptive field, and how do you enlarge it?**
#
# - *Thirty seconds:* It starts at 1, and each layer adds d(k − 1) times the product of all earlier strides. More layers add to it, strides
#   and pools multiply what the later layers add, and dilation widens a kernel without more weights.
# - *Longer:* Two 3 × 3 layers see as far as one 5 × 5, with 18 weights for a pair of channels instead of 25, and with a nonlinearity between
#   them.
# - *They ask next:* Do all pixels in it count equally? Not after a few layers: those in the middle count most, since most paths lead
#   there.
# - *The trap:* Without the strides you would compute 11 pixels for LeNet's four layers instead of 16.
# - *Proof:* `proof-receptive-field`.
#
# ## Equivariance and invariance
# A convolution is **equivariant** to translation: if the image moves, the output moves with it. An average over all positions is
# **invariant**: it stays the same. The cell moves an image and looks for the shift of the old output that comes closest to the new one. Its
# padding is circular, so that nothing is lost at the border.

# %% tags=["proof-equivariance"]
x, w = torch.randn(1, 1, 16, 16), torch.randn(1, 1, 3, 3)
for stride, pixels in (1, 1), (2, 2), (2, 1):
    padded = (F.pad(image, (1, 1, 1, 1), "circular") for image in (x, x.roll(pixels, 3)))
    old, new = (F.conv2d(image, w, stride=stride) for image in padded)
    closest = min((new - old.roll(k, 3)).abs().amax().item() for k in range(old.shape[3]))
    means = (new.mean() - old.mean()).abs().item()
    print(f"stride {stride}, moved by {pixels}: the closest output differs by {closest:.2f}, the mean by {means:.2f}")

# %% [markdown] tags=["short"]
# With stride 2, moving the image by one pixel doesn't shift the output, and even its mean changes.
#
# **Interview · Is a convolutional network translation-invariant?**
#
# - *Thirty seconds:* Not by itself. A convolution with stride 1 is *equivariant*: away from the border, moving the image moves the output.
#   Invariance comes at the end, when global average pooling discards the positions.
# - *Longer:* Strides and pools sample only some positions, so only shifts by multiples of the total stride remain exact, and fine detail
#   *aliases* unless you blur before the subsampling. Zero padding breaks the symmetry, too, because it marks the border.
# - *They ask next:* Would you take a CNN or a vision transformer? With little data, a CNN: locality and shared weights are
#   *inductive biases* that make up for data. A transformer has to learn such structure and pays off with large-scale pretraining, although
#   ConvNeXt, a CNN with depthwise 7 × 7 kernels, keeps up.
# - *The trap:* Shared weights alone give only equivariance.
# - *Proof:* `proof-equivariance`.
#
# ## Rapid fire
# 1. How many parameters does `Conv2d(3, 8, 3)` have? 224: 8 · 3 · 9 weights and 8 biases.
# 2. Is TF32 on by default? For cuDNN's convolutions yes, for matrix multiplications no.
# 3. What does the padding of a max pool contain? Minus infinity, not 0.
# 4. What does the padding of an average pool contain? Zeros, which count as pixels by default; the positions that `ceil_mode` adds beyond
#    the padding don't.
# 5. What does a convolution with `padding="same"` do if its stride is 2? Raise an error.

# %% hidden=true tags=["proof-rapid-fire"]
from course import check

layer = torch.nn.Conv2d(3, 8, 3)
print("1.", sum(parameter.numel() for parameter in layer.parameters()))
print("2. cuDNN:", torch.backends.cudnn.allow_tf32, " matmul:", torch.backends.cuda.matmul.allow_tf32)
print("3.", F.max_pool2d(torch.full((1, 2, 2), -3.0), 2, padding=1).flatten().tolist())
print("4.", F.avg_pool2d(torch.ones(1, 2, 2), 2, padding=1).flatten().tolist())
print("5.", check.error(torch.nn.Conv2d, 3, 8, 3, stride=2, padding="same"))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. `conv2d` slides the kernel without flipping it.
# 2. Tap i sees row t·y + d·i − p in window y.
# 3. There are ⌊(size + 2p − d(k − 1) − 1) / t⌋ + 1 windows; if the remainder exceeds the padding, the last pixels aren't seen.
# 4. im2col writes each window as a column, so that the convolution becomes one matrix multiplication, at k² times the memory.
# 5. `col2im` is the backward pass of im2col, and it accumulates where windows overlap.
# 6. A kernel sees all channels of its group and makes one channel; 1 × 1 is a linear layer at every pixel.
# 7. Multiply-adds are weights times output positions, and activations are batch × channels × positions.
# 8. `channels_last` changes strides and not shapes; tensor cores prefer it.
# 9. A transposed convolution is the gradient and not the inverse.
# 10. Each layer adds d(k − 1) times the product of the earlier strides to the receptive field.
#
# ## You try
# In [the exercises](../exercises/11_convolution.ipynb) you predict what a strided convolution sees, and you write im2col, its backward
# pass, the multiplication between them, and pools. You also trace a unit's receptive field through padding, fix a convolution that uses
# the Fourier transform, and find out the geometry of an unknown layer. For exercise 8, read the section *Transposed convolution* below
# first. [Chapter 12](12_norm_dropout_and_modes.ipynb) adds batch norm and trains LeNet.

# %% [markdown]
# ## If you have time
# ### Patch embedding
# A vision transformer cuts an image into patches and maps each patch to a vector. A convolution does both at once if its stride equals
# its kernel size, so that its windows don't overlap.

# %% tags=["proof-patches"]
images, w = torch.rand(2, 3, 32, 48), torch.rand(64, 3, 16, 16)
tokens = F.conv2d(images, w, stride=16).flatten(2).transpose(1, 2)  # (N, 64, 2, 3) → (N, 64, 6) → (N, 6, 64)
patches = images.reshape(2, 3, 2, 16, 3, 16).permute(0, 2, 4, 1, 3, 5).reshape(2, 6, 3 * 16 * 16)
difference = ((tokens - F.linear(patches, w.flatten(1))) / tokens).abs().amax().item()
print(f"tokens {tuple(tokens.shape)}, patches {tuple(patches.shape)}, relative difference {difference:.2f}")

# %% [markdown]
# Flattening the grid of outputs gives the sequence: 224 × 224 pixels and patches of 16 make 196 tokens. Position embeddings follow, since
# attention ignores the order, and often a class token, which makes 197. A classic bug is to reshape (N, C, H, W) straight to (N, tokens,
# dim), which runs but mixes patches and channels. [Chapter 29](29_whiteboard_classics.ipynb) says what changes with a larger image.
#
# ### Transposed convolution
# `conv_transpose2d` is the backward pass of a convolution, used as a layer. The cell compares it with the gradient, checks whether it restores
# the image, and whether with stride 1 it is a convolution with flipped kernels.

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
# Both grids come from a flat image and a kernel of ones. Kernel 3 makes a **checkerboard**: its copies overlap unevenly. If the
# stride divides the kernel size, the copies overlap evenly, except near the border.
#
# **Interview · What is a transposed convolution?**
#
# - *Thirty seconds:* The backward pass of a convolution, used as a layer: each input pixel adds its multiple of the kernel to the
#   output. A stride moves these copies apart, which is how it upsamples.
# - *Longer:* It is the transpose and not the inverse, so the shape comes back and the values don't. When a convolution maps several sizes to
#   one, `output_padding` says which of them you want.
# - *They ask next:* Where do checkerboards come from? Mostly from kernel sizes that the stride doesn't divide. Upsampling followed by an
#   ordinary convolution avoids them.
# - *The trap:* It isn't a deconvolution: that would be the inverse.
# - *Proof:* `proof-transposed`.
#
# ## Appendix
# ### The real one
# `mytorch` fills its columns in a loop over the taps of the kernel. minitorch finds strides that show the windows
# ([chapter 03](03_views_and_layout.ipynb)), so it needs no loop: a single copy makes the columns.

# %%
from minitorch.kernels import convolution as correlation

print(inspect.getsource(correlation.windows))

# %% [markdown]
# `xp` is NumPy or CuPy, and `array.strides` counts in bytes. `inner` steps from tap to tap, and `outer` from window to window. The function
# works in any number of dimensions, so `conv1d` and `conv3d` need no code of their own. The backward pass keeps its loop, in minitorch too,
# because `+=` on a view whose elements overlap would lose contributions.
#
# ### Myth · "All frameworks convolve by im2col"
# PyTorch alone uses several algorithms. On a CPU, its profiler shows im2col (`_slow_conv2d_forward`) for float64, and in float32 for a
# single small image with a small kernel and no groups; a dilation there leads to `slow_conv_dilated2d`. Most other float32 convolutions
# go to oneDNN (`mkldnn_convolution`), LeNet's 5 × 5 included. On a GPU, cuDNN chooses. Two of the alternatives fit into a few lines, here
# for a row of four pixels and a kernel of three:

# %% tags=["proof-many-algorithms"]
a, k = rng.random(4), rng.random(3)
plus, minus = (k[0] + k[1] + k[2]) / 2, (k[0] - k[1] + k[2]) / 2
m = [a[0] - a[2], a[1] + a[2], a[2] - a[1], a[1] - a[3]] * np.array([k[0], plus, minus, k[2]])
winograd = [m[0] + m[1] + m[2], m[1] - m[2] - m[3]]  # 4 multiplications by the input in place of 6
fourier = np.fft.ifft(np.fft.fft(a) * np.fft.fft(k, 4).conj()).real[:2]
print("Winograd, Fourier, correlate:", *(np.round(result, 3) for result in (winograd, fourier, np.correlate(a, k))))

# %% [markdown]
# ### `SAME`, `padding_mode` and `ceil_mode`
# TensorFlow's `SAME` padding makes ⌈size / stride⌉ windows and adds as many rows of padding as they need; if the number is odd, the extra
# row goes at the end. In PyTorch, a layer's `padding_mode` chooses what the padding contains, and a pool with `ceil_mode=True` rounds the
# number of windows up, so a last window may reach past the end.

# %% tags=["proof-same-padding"]
for n in (7, 8):
    needed = max((-(-n // 2) - 1) * 2 + 3 - n, 0)  # rows of padding, for ⌈n / 2⌉ windows of 3 with stride 2
    before, after = needed // 2, needed - needed // 2
    row, ones = torch.arange(float(n)).reshape(1, 1, 1, n), torch.ones(1, 1, 1, 3)
    same = F.conv2d(F.pad(row, (before, after)), ones, stride=(1, 2)).flatten()
    print(f"size {n}, SAME pads {before} and {after}: {same.tolist()}", end="; ")
    print("padding=1:", F.conv2d(row, ones, stride=(1, 2), padding=(0, 1)).flatten().tolist())

row = torch.arange(1.0, 8).reshape(1, 1, 7)
for mode in ("constant", "reflect", "replicate", "circular"):
    print(f"{mode:9}", *F.pad(row, (2, 2), mode).int().flatten().tolist())
for ceil in (False, True):
    print(f"ceil_mode={ceil!s:5}", F.max_pool1d(row, 2, ceil_mode=ceil).flatten().tolist())

# %% [markdown]
# ### NHWC: patches times a filter matrix
# TensorFlow's usual layout is NHWC, and its filters are (kh, kw, in, out). A *row* of the patches is then multiplied by a *column* of the
# filter matrix, here 30 × 12 times 12 × 4. The result has the layout that the next layer's input needs.


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
# ### Timing a loop, im2col and NHWC patches
# The cell times a loop over the windows, im2col and NHWC patches on images of growing size, with 8 channels in and 16 out.

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
    mine = [mytorch.from_numpy(array) for array in first]
    calls = (loop, first), (mytorch.nn.functional.conv2d, mine), (conv_nhwc, last)
    for times, (call, arguments) in zip(measured.values(), calls, strict=True):
        times.append(1e3 * min(timeit.repeat(partial(call, *arguments), number=1, repeat=20)))
about = "Time of a convolution of images from 8 to 64 a side: a loop over windows, im2col, NHWC patches."
pictures.curves(measured, sides, xlabel="rows and columns", ylabel="time (ms)", log="y", alt=about)

# %% [markdown]
# The arithmetic is the same in all three. For 8 × 8 pixels the fixed cost of a call dominates, and the loop can even win. For larger
# images the two others are faster, because BLAS runs the loop inside one matrix multiplication, and they pay for it with memory.
