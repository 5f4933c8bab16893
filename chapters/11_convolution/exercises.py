# %% [markdown]
# # Exercises · Convolution
# Four of the exercises add to your library: im2col, its backward pass, the multiplication between them, and pools.
# Once you have solved them, LeNet runs on your code from the first pixel to the last gradient. What you write for
# `mytorch` runs inside its files, where everything that a task or a docstring mentions is available, including `np`.
# Import anything else in the cell.

# %% setup=true
from __future__ import annotations

import sys

import numpy as np

from course import check


def whole(rng, low: int, high: int) -> int:
    """A number from `low` to `high`, both included."""
    return int(rng.integers(low, high + 1))


def tried(call, *arguments):
    """What a call gives, or the error that it ends in, to be shown in its place."""
    try:
        return call(*arguments)
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def named(name, parts, call, *arguments) -> dict:
    """The parts of what a call gives, by name; its error in the place of each if it raises."""
    found = tried(call, *arguments)
    found = [found] * len(parts) if isinstance(found, str) else found
    return {f"{name}: {part}": value for part, value in zip(parts, found, strict=True)}


def instructions(call) -> int:
    """How many instructions Python runs in a call."""
    count, outer = 0, sys.gettrace()

    def see(frame, event, argument):
        nonlocal count
        frame.f_trace_opcodes, count = True, count + (event == "opcode")
        return see

    sys.settrace(see)
    try:
        call()
    finally:
        sys.settrace(outer)
    return count


# %% setup=true
import minitorch as torch
from minitorch.nn import functional as F

# %% [markdown] exercise="conv_predict_counts" kind="predict" points=1
# ### Exercise 1 · How many pixels did each window see?
# ```python
# x = torch.ones(1, 1, 8, 8)
# kernel = torch.ones(1, 1, 3, 3)
# y = F.conv2d(x, kernel, stride=3, padding=1)
# ```
# Set `prediction` to `y[0, 0].int().tolist()`, a list of lists. Write it down without running the code.

# %% solution="conv_predict_counts"
### BEGIN SOLUTION
prediction = [[4, 6, 6], [6, 9, 9], [6, 9, 9]]
### END SOLUTION
### BEGIN STUB
# prediction = [[...], [...]]
### END STUB

# %% check="conv_predict_counts"
check.show(
    {"prediction": [[int(each) for each in row] for row in prediction]},
    text="How many pixels each window sees.",
    secret=True,
)

# %% [markdown] hint="conv_predict_counts"
# Rows and columns behave alike, so look at one dimension: where does each window begin, and how many pixels does it
# see?

# %% [markdown] hint="conv_predict_counts"
# With padding 1 the first window begins at −1, and each next one three positions further on. How many fit into −1 …
# 8?

# %% [markdown] hint="conv_predict_counts"
# Along one dimension the windows see 2, 3 and 3 pixels. In two dimensions, multiply.

# %% mutant="conv_predict_counts"
# Forgets the padding
# Padding makes the line ten positions long, so three windows fit and not two.
prediction = [[9, 9], [9, 9]]

# %% mutant="conv_predict_counts"
# Assumes symmetry
# Padding is the same on both sides, but the last window begins at 5 and ends at 7, so it doesn't reach the padding.
prediction = [[4, 6, 4], [6, 9, 6], [4, 6, 4]]

# %% mutant="conv_predict_counts"
# Counts the padding as pixels
# The padding consists of zeros, so a kernel of ones adds nothing there.
prediction = [[9, 9, 9], [9, 9, 9], [9, 9, 9]]

# %% mutant="conv_predict_counts"
# Begins in the image
# There is padding before the first row and column, too. The first window begins there, at −1, and sees two rows and
# columns.
prediction = [[9, 9, 6], [9, 9, 6], [6, 6, 4]]

# %% mutant="conv_predict_counts"
# Rounds up
# A fourth window would begin at 8 and reach past the padding, but windows have to fit completely.
prediction = [[4, 6, 6, 2], [6, 9, 9, 3], [6, 9, 9, 3], [2, 3, 3, 1]]

# %% [markdown] exercise="conv_im2col" kind="core" points="1 1 2" part="mytorch.nn.convolution:Windows.counts mytorch.nn.convolution:Windows.seen mytorch.nn.convolution:im2col"
# ### Exercise 2 · im2col
# `windows` is a `Windows(kernel, stride, padding, dilation)`, which holds four pairs of one number for rows and one
# for columns. In the first two functions `self` is such a tuple. The lesson went from window to window. Here, go from
# tap to tap of the kernel: what one tap sees, in all windows of all images, is one slice. That makes kh · kw slices
# to copy, however large the image is. A loop over the windows gets no points.


# %% docstrings="conv_im2col"
def counts():
    """Return the number of windows along each dimension of an image of this size (H, W).

    A kernel of k taps with a dilation of d covers d·(k - 1) + 1 positions of the image, which padding makes 2p
    longer. The first window starts at the first position, and each further window starts one stride later, as long
    as it fits completely. A number below 1 means that no window fits.
    """


def seen():
    """Return the rows and the columns that the tap (i, j) of the kernel sees in all windows, as two slices.

    Both are indices into the padded image. In the first window the tap sees row i·d, and in each further window the
    row one stride later, so it sees as many rows as there are windows. The same holds for the columns.
    """


def im2col():
    """Copy what each window sees into a column: (N, C, H, W) → (N, C · kh · kw, L) for L windows, row by row.

    A column contains channel after channel, and within a channel the taps of the kernel row by row. The padding is
    filled with `fill`. Here `images` and the result are arrays: `pad(images, padding, fill)` adds the padding, and
    `np.empty_like(images, shape=…)` allocates the result with the dtype and the device of the images.
    """


# %% check="conv_im2col"
rng = check.rng()
convolution = mytorch.nn.convolution
kernel = tuple(int(each) for each in rng.permutation([2, 3]))
size = whole(rng, 8, 9), whole(rng, 10, 11)
cases = {
    "plain": convolution.Windows(kernel, (1, 1), (0, 0), (1, 1)),
    "with strides": convolution.Windows(kernel, (2, 3), (0, 0), (1, 1)),
    "with padding": convolution.Windows(kernel, (1, 2), (1, 2), (1, 1)),
    "with dilation": convolution.Windows(kernel, (1, 1), (0, 0), (3, 2)),
    "with all of them": convolution.Windows(kernel, (3, 2), (2, 1), (2, 3)),
}
images = mytorch.tensor(rng.normal(size=(2, 3, *size)).round(2))
values = {"size": size, "kernel": kernel}
for name, windows in cases.items():
    found = windows.counts(size)
    values[f"{name}: windows"] = found
    seen = windows.seen((kernel[0] - 1, kernel[1] - 1), found)
    padded = (length + 2 * margin for length, margin in zip(size, windows.padding, strict=True))
    values[f"{name}: seen by the last place"] = [
        list(range(length))[each] for each, length in zip(seen, padded, strict=True)
    ]
found = convolution.Windows((3, 3), (2, 2), (0, 0), (2, 2)).counts((4, 3))
values["too small: no window fits"] = [each < 1 for each in found]


def columns_of(windows):
    columns = convolution.im2col(images, windows)
    return tuple(columns.shape), columns[1, :, 0], columns[0, 1], columns.sum((0, 2))


def steps(length):
    """How many instructions Python runs for a square image of this length."""
    image = mytorch.ones(1, 1, length, length)
    return instructions(lambda: convolution.im2col(image, cases["plain"]))


def first_column(fill):
    return convolution.im2col(images, cases["with padding"], fill)[1, :, 0]


parts = "shape", "first column", "one row", "sums of the rows"
for name, windows in cases.items():
    values |= named(name, parts, columns_of, windows)
values["first column, minus infinity around"] = tried(first_column, float("-inf"))
values["type of float32 images' columns"] = tried(
    lambda: repr(convolution.im2col(images.float(), cases["plain"]).dtype)
)
values |= {"a kernel of one tap, after a write into the columns": None, "columns of transposed images": None}
alone = convolution.Windows((1, 1), (1, 1), (0, 0), (1, 1))
copied = images.clone()
tried(lambda: convolution.im2col(copied, alone).fill_(-1.0))
values["a kernel of one tap, after a write into the columns"] = copied[0, 0]
values["columns of transposed images"] = tried(lambda: convolution.im2col(images.mT, cases["plain"])[1, :, 1])
loops = tried(lambda: steps(48) - steps(8) > 10_000)  # instructions for 2,000 windows more
values["a loop over the windows"] = loops
check.show(values, text="The number of windows, what a place sees of the image, and the columns.")

# %% [markdown] hint="conv_im2col"
# `counts` is the formula of the lesson, once for rows and once for columns. `zip` the two lengths with the four
# pairs.

# %% [markdown] hint="conv_im2col"
# In `seen`, tap i sees row i·d in the first window and i·d + t in the next. A slice from i·d, in steps of t, with
# `count` elements ends before i·d + t·(count − 1) + 1.

# %% [markdown] hint="conv_im2col"
# In `im2col`, make an empty array of shape (N, C, kh, kw, rows, columns), where (rows, columns) are the counts. Fill
# it tap by tap: `columns[:, :, i, j] = padded[:, :, slice of rows, slice of columns]`.

# %% [markdown] hint="conv_im2col"
# At the end, return `columns.reshape(N, C * kh * kw, rows * columns)`. Because the array lists channels before taps,
# and both before windows, a single reshape gives the required order.


# %% mutant="conv_im2col"
# Forgets the dilation
# A kernel with dilation d covers d(k − 1) + 1 rows and not k, so too many windows seem to fit.
def counts(self, size):
    high, wide = (
        (s + 2 * p - k) // t + 1 for s, k, t, p in zip(size, self.kernel, self.stride, self.padding, strict=True)
    )
    return high, wide


# %% mutant="conv_im2col"
# Forgets the first window
# The quotient says how often the kernel can move on. Before the first move there is a window already, so add one.
def counts(self, size):
    high, wide = (
        (s + 2 * p - d * (k - 1) - 1) // t
        for s, k, t, p, d in zip(size, self.kernel, self.stride, self.padding, self.dilation, strict=True)
    )
    return high, wide


# %% mutant="conv_im2col"
# Pads one side only
# The padding is on both sides of the image, so it makes the image 2p longer.
def counts(self, size):
    high, wide = (
        (s + p - d * (k - 1) - 1) // t + 1
        for s, k, t, p, d in zip(size, self.kernel, self.stride, self.padding, self.dilation, strict=True)
    )
    return high, wide


# %% mutant="conv_im2col"
# Rounds up
# A window that doesn't fit completely is skipped, so round down with `//`.
def counts(self, size):
    high, wide = (
        -(-(s + 2 * p - d * (k - 1) - 1) // t) + 1
        for s, k, t, p, d in zip(size, self.kernel, self.stride, self.padding, self.dilation, strict=True)
    )
    return high, wide


# %% mutant="conv_im2col"
# Truncates the fraction
# `int` rounds toward zero, so −1/2 becomes 0, and adding one makes a window where none fits. `//` rounds down.
def counts(self, size):
    high, wide = (
        int((s + 2 * p - d * (k - 1) - 1) / t) + 1
        for s, k, t, p, d in zip(size, self.kernel, self.stride, self.padding, self.dilation, strict=True)
    )
    return high, wide


# %% mutant="conv_im2col"
# Slices to the end of the image
# The tap sees one row in each window, so as many rows as there are windows. A slice without an end goes on to rows
# that only other taps see, or none.
def seen(self, place, counts):
    rows, columns = (slice(i * d, None, t) for i, d, t in zip(place, self.dilation, self.stride, strict=True))
    return rows, columns


# %% mutant="conv_im2col"
# Ends before the last window
# A slice excludes its end. The last row that the tap sees is i·d + t·(count − 1), so the slice ends one after it.
def seen(self, place, counts):
    rows, columns = (
        slice(i * d, i * d + t * (count - 1), t)
        for i, d, t, count in zip(place, self.dilation, self.stride, counts, strict=True)
    )
    return rows, columns


# %% mutant="conv_im2col"
# Takes every row
# From window to window, a tap moves on by the stride, so the slice needs the stride as its step.
def seen(self, place, counts):
    rows, columns = (slice(i * d, i * d + count) for i, d, count in zip(place, self.dilation, counts, strict=True))
    return rows, columns


# %% mutant="conv_im2col"
# Starts at the index of the tap
# With dilation, tap i of the kernel is i·d rows below the first one and not i.
def seen(self, place, counts):
    rows, columns = (
        slice(i, i + t * (count - 1) + 1, t) for i, t, count in zip(place, self.stride, counts, strict=True)
    )
    return rows, columns


# %% mutant="conv_im2col"
# Pads with zeros
# `fill` is the value of the padding. A max pool pads with minus infinity, because a zero would win against negative
# numbers.
def im2col(images, windows, fill=0.0):
    (count, channels), counts = images.shape[:2], windows.counts(images.shape[2:])
    padded = pad(images, windows.padding)
    columns = np.empty_like(images, shape=(count, channels, *windows.kernel, *counts))
    for i, j in np.ndindex(*windows.kernel):
        rows, across = windows.seen((i, j), counts)
        columns[:, :, i, j] = padded[:, :, rows, across]
    return columns.reshape(count, channels * count_of(windows.kernel), count_of(counts))


# %% mutant="conv_im2col"
# Returns columns of another dtype
# `np.empty` makes float64, so the columns of float32 images make the whole convolution float64, with twice the
# memory.
def im2col(images, windows, fill=0.0):
    (count, channels), counts = images.shape[:2], windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    columns = np.empty((count, channels, *windows.kernel, *counts))
    for i, j in np.ndindex(*windows.kernel):
        rows, across = windows.seen((i, j), counts)
        columns[:, :, i, j] = padded[:, :, rows, across]
    return columns.reshape(count, channels * count_of(windows.kernel), count_of(counts))


# %% mutant="conv_im2col"
# Puts the channels last
# Here a column lists tap after tap, and for each tap the channels, which is the order of NHWC. The weight is (out, C,
# kh, kw), so the channel has to come first.
def im2col(images, windows, fill=0.0):
    (count, channels), counts = images.shape[:2], windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    columns = np.empty_like(images, shape=(count, *windows.kernel, channels, *counts))
    for i, j in np.ndindex(*windows.kernel):
        rows, across = windows.seen((i, j), counts)
        columns[:, i, j] = padded[:, :, rows, across]
    return columns.reshape(count, channels * count_of(windows.kernel), count_of(counts))


# %% mutant="conv_im2col"
# Goes from window to window
# The values are right, but Python's loop runs once for each window, which takes very long for a large image. Loop
# over the taps of the kernel: one slice contains what a tap sees in all windows.
def im2col(images, windows, fill=0.0):
    (kh, kw), (down, across), _, (dh, dw) = windows
    padded = pad(images, windows.padding, fill)
    seen = [
        padded[:, :, down * y :: dh, across * x :: dw][:, :, :kh, :kw].reshape(len(images), -1)
        for y, x in np.ndindex(windows.counts(images.shape[2:]))
    ]
    return np.stack(seen, 2)


# %% mutant="conv_im2col"
# Makes a row of each window
# Each window is a row here, as in the lesson's first version, while the docstring asks for a column: (N, C · kh · kw,
# L).
def im2col(images, windows, fill=0.0):
    (count, channels), counts = images.shape[:2], windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    columns = np.empty_like(images, shape=(count, channels, *windows.kernel, *counts))
    for i, j in np.ndindex(*windows.kernel):
        rows, across = windows.seen((i, j), counts)
        columns[:, :, i, j] = padded[:, :, rows, across]
    return columns.reshape(count, channels * count_of(windows.kernel), count_of(counts)).swapaxes(1, 2)


# %% mutant="conv_im2col"
# Scrambles the windows
# The values are right, but the windows were along the wrong dimension before the reshape, so the result is scrambled.
def im2col(images, windows, fill=0.0):
    (count, channels), counts = images.shape[:2], windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    columns = np.empty_like(images, shape=(count, *counts, channels, *windows.kernel))
    for i, j in np.ndindex(*windows.kernel):
        rows, across = windows.seen((i, j), counts)
        columns[..., i, j] = np.moveaxis(padded[:, :, rows, across], 1, 3)
    return columns.reshape(count, channels * count_of(windows.kernel), count_of(counts))


# %% mutant="conv_im2col"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def im2col(images, windows, fill=0.0):
    import minitorch

    found = minitorch.nn.functional.unfold(
        minitorch.from_numpy(images), windows.kernel, windows.dilation, windows.padding, windows.stride
    )
    return found.numpy()


# %% [markdown] exercise="conv_col2im" kind="core" points=3 part="mytorch.nn.convolution:col2im"
# ### Exercise 3 · Backward: `col2im`
# Add each element of the columns to the pixel that it came from. `windows.counts(size)` and `windows.seen(place,
# counts)` are available. Go tap by tap again: in each window the same tap of the kernel sees another pixel, so a
# whole slice can be added at once. A loop over the windows gets no points.


# %% docstrings="conv_col2im"
def col2im():
    """Add the columns of `im2col` back into images of `size` (H, W): (N, C · kh · kw, L) → (N, C, H, W).

    A pixel that several windows saw gets the sum of their values, and a pixel that no window saw gets 0. Values that
    belong to the padding are dropped. `columns` and the result are arrays; `np.zeros_like(columns, shape=…)`
    allocates the result.
    """


# %% check="conv_col2im"
rng = check.rng()
convolution = mytorch.nn.convolution
kernel = tuple(int(each) for each in rng.permutation([2, 3]))
size = whole(rng, 6, 7), whole(rng, 8, 9)
values = {"size": size, "kernel": kernel}


def steps(length):
    """How many instructions Python runs for a square image of this length."""
    plain = convolution.Windows(kernel, (1, 1), (0, 0), (1, 1))
    high, wide = plain.counts((length, length))
    columns = mytorch.ones(1, 6, high * wide)
    return instructions(lambda: convolution.col2im(columns, plain, (length, length)))


def images_of(columns, windows):
    images = check.intact(convolution.col2im, columns, windows, size)
    return tuple(images.shape), images[0, 1], images.sum((2, 3))


def gradient():
    mytorch.nn.functional.conv2d(x, weight, stride=2, padding=1).sum().backward()
    return x.grad


parts = "shape", "channel 1 of image 0", "sums of all channels"
for name, stride, padding, dilation in [
    ("plain", (1, 1), (0, 0), (1, 1)),
    ("with strides", (3, 2), (0, 0), (1, 1)),
    ("with padding", (1, 1), (1, 2), (1, 1)),
    ("with padding above and below", (2, 1), (1, 0), (1, 1)),
    ("with padding on the sides", (1, 2), (0, 2), (1, 1)),
    ("with all of them", (1, 2), (2, 1), (2, 3)),
    ("of tall images", (1, 2), (2, 1), (2, 3)),
]:
    size = size[::-1] if name == "of tall images" else size
    windows = convolution.Windows(kernel, stride, padding, dilation)
    high, wide = windows.counts(size)
    columns = mytorch.tensor(rng.normal(size=(2, 3 * 6, high * wide)).round(2))
    values |= named(name, parts, images_of, columns, windows)
x = mytorch.tensor(rng.normal(size=(1, 2, *size)), requires_grad=True)
weight = mytorch.tensor(rng.normal(size=(2, 2, 3, 3)))
values["the gradient of a convolution"] = tried(gradient)
values["type, of float32 columns"] = tried(lambda: repr(convolution.col2im(columns.float(), windows, size).dtype))
loops = tried(lambda: steps(48) - steps(8) > 10_000)  # instructions for 2,000 windows more
values["a loop over the windows"] = loops
check.show(values, rtol=1e-5, text="Images made of columns, and a convolution's gradient.")

# %% [markdown] hint="conv_col2im"
# Do the steps of `im2col` in reverse. Its last step was a reshape, so here the first one is: to (N, C, kh, kw, rows,
# columns).

# %% [markdown] hint="conv_col2im"
# Make zeros of the *padded* size, add slice by slice with `+=`, and remove the margin at the end.

# %% [markdown] hint="conv_col2im"
# In the loop, write `rows, across = windows.seen((i, j), counts)`, then `padded[:, :, rows, across] += columns[:, :,
# i, j]`. With padding (p, q), the image is `padded[:, :, p : p + size[0], q : q + size[1]]`.


# %% mutant="conv_col2im"
# Writes instead of adding
# Where windows overlap, only the last value remains. A pixel that was used nine times gets the sum of nine gradients.
def col2im(columns, windows, size):
    (count, rows), counts, (high, wide) = columns.shape[:2], windows.counts(size), windows.padding
    columns = columns.reshape(count, rows // count_of(windows.kernel), *windows.kernel, *counts)
    padded = np.zeros_like(columns, shape=(*columns.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] = columns[:, :, i, j]
    return padded[:, :, high : high + size[0], wide : wide + size[1]]


# %% mutant="conv_col2im"
# Takes the mean of what overlaps
# This undoes im2col, and it is a good way to reassemble patches. A gradient, however, is the sum.
def col2im(columns, windows, size):
    (count, rows), counts, (high, wide) = columns.shape[:2], windows.counts(size), windows.padding
    columns = columns.reshape(count, rows // count_of(windows.kernel), *windows.kernel, *counts)
    padded = np.zeros_like(columns, shape=(*columns.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
    times = np.zeros_like(padded)
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, :, i, j]
        times[:, :, down, across] += 1
    padded /= np.maximum(times, 1)
    return padded[:, :, high : high + size[0], wide : wide + size[1]]


# %% mutant="conv_col2im"
# Removes the margin on one side
# The image is in the middle of the padded one. Without the offset, everything is shifted by the padding.
def col2im(columns, windows, size):
    (count, rows), counts, (high, wide) = columns.shape[:2], windows.counts(size), windows.padding
    columns = columns.reshape(count, rows // count_of(windows.kernel), *windows.kernel, *counts)
    padded = np.zeros_like(columns, shape=(*columns.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, :, i, j]
    return padded[:, :, : size[0], : size[1]]


# %% mutant="conv_col2im"
# Slices with a negative end
# With padding 0 this is `[0:-0]`, which is empty. Write where the image ends: `high : high + size[0]`.
def col2im(columns, windows, size):
    (count, rows), counts, (high, wide) = columns.shape[:2], windows.counts(size), windows.padding
    columns = columns.reshape(count, rows // count_of(windows.kernel), *windows.kernel, *counts)
    padded = np.zeros_like(columns, shape=(*columns.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, :, i, j]
    return padded[:, :, high:-high, wide:-wide]


# %% mutant="conv_col2im"
# Keeps the margin
# Values in the padding are no part of the image. Remove the margin, so that the result has the required size.
def col2im(columns, windows, size):
    (count, rows), counts, (high, wide) = columns.shape[:2], windows.counts(size), windows.padding
    columns = columns.reshape(count, rows // count_of(windows.kernel), *windows.kernel, *counts)
    padded = np.zeros_like(columns, shape=(*columns.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, :, i, j]
    return padded


# %% mutant="conv_col2im"
# Leaves no room for the margin
# `seen` gives rows and columns of the padded image, so add into an image that has the margin on all sides.
def col2im(columns, windows, size):
    (count, rows), counts = columns.shape[:2], windows.counts(size)
    columns = columns.reshape(count, rows // count_of(windows.kernel), *windows.kernel, *counts)
    images = np.zeros_like(columns, shape=(*columns.shape[:2], *size))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        images[:, :, down, across] += columns[:, :, i, j]
    return images


# %% mutant="conv_col2im"
# Goes from window to window
# The values are right, but Python's loop runs once for each window, which takes very long for a large image. Loop
# over the taps of the kernel, as in `im2col`.
def col2im(columns, windows, size):
    (count, rows), counts, (high, wide) = columns.shape[:2], windows.counts(size), windows.padding
    (kh, kw), (t, u), (dh, dw) = windows.kernel, windows.stride, windows.dilation
    columns = columns.reshape(count, rows // count_of(windows.kernel), *windows.kernel, *counts)
    padded = np.zeros_like(columns, shape=(*columns.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
    for y, x in np.ndindex(counts):
        padded[:, :, t * y :: dh, u * x :: dw][:, :, :kh, :kw] += columns[..., y, x]
    return padded[:, :, high : high + size[0], wide : wide + size[1]]


# %% mutant="conv_col2im"
# Returns images of another dtype
# `np.zeros` makes float64, whatever the dtype of the columns is. A gradient has the dtype of the tensor that it
# belongs to.
def col2im(columns, windows, size):
    (count, rows), counts, (high, wide) = columns.shape[:2], windows.counts(size), windows.padding
    columns = columns.reshape(count, rows // count_of(windows.kernel), *windows.kernel, *counts)
    padded = np.zeros((*columns.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, :, i, j]
    return padded[:, :, high : high + size[0], wide : wide + size[1]]


# %% mutant="conv_col2im"
# Reads the channels last
# The rows of the columns list channel after channel. Read in the other order, channels and taps are mixed up.
def col2im(columns, windows, size):
    (count, rows), counts, (high, wide) = columns.shape[:2], windows.counts(size), windows.padding
    columns = np.moveaxis(columns.reshape(count, *windows.kernel, rows // count_of(windows.kernel), *counts), 3, 1)
    padded = np.zeros_like(columns, shape=(*columns.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, :, i, j]
    return padded[:, :, high : high + size[0], wide : wide + size[1]]


# %% mutant="conv_col2im"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def col2im(columns, windows, size):
    import minitorch

    geometry = windows.kernel, windows.dilation, windows.padding, windows.stride
    return minitorch.nn.functional.fold(minitorch.from_numpy(columns), size, *geometry).numpy()


# %% [markdown] exercise="conv_product" kind="core" points="1 2" part="mytorch.nn.convolution:convolve mytorch.nn.convolution:convolve_back"
# ### Exercise 4 · The multiplication in the middle
# `conv2d` calls `convolve`, and `conv_transpose2d` calls `convolve_back`. You have `im2col(images, windows)` and
# `col2im(columns, windows, size)`; here they take tensors and record their derivatives, and so do `@`, `reshape` and
# `mT`. If you write with tensors, you get the gradients for free. `count_of(shape)` is the product of its lengths.
#
# With groups, use a batch of matrix multiplications: (groups, O / groups, depth) @ (N, groups, depth, L), where depth
# is the number of weights in a kernel, and L is the number of windows.


# %% docstrings="conv_product"
def convolve():
    """Multiply each kernel by what it sees: (N, C, H, W) and (O, C / groups, kh, kw) → (N, O, rows, columns).

    The first O / groups kernels see the first C / groups channels, the next kernels see the next channels, and so
    on.
    """


def convolve_back():
    """Return the gradient of `convolve` for its images of `size` (H, W): (N, O, rows, columns) → (N, C, H, W).

    Each element of `grad` adds its multiple of the kernel to the pixels that the kernel saw.
    """


# %% check="conv_product"
rng = check.rng()
functional = mytorch.nn.functional
values = {}


def summed(grad):
    """A gradient's sums over rows and columns, if there is one."""
    return None if grad is None else grad.sum((2, 3))


def look(call, images, weight, options):
    """A result and the gradients of both inputs."""
    x, w = (mytorch.tensor(each, requires_grad=True) for each in (images, weight))
    y = check.intact(call, x, w, **options)
    (y * y).sum().backward()
    return tuple(y.shape), y[-1, :4:3], summed(w.grad), summed(x.grad)


parts = "shape", "channels 0 and 3 of the last image", "gradient of the weight", "gradient of the images"
for name, groups, options in [
    ("one group", 1, {"stride": 2, "padding": 1}),
    ("two groups", 2, {"dilation": (2, 1)}),
    ("depthwise", 4, {"padding": (0, 2), "stride": (1, 2)}),
    ("a single window", 1, {"stride": (6, 7)}),
    ("a single kernel", 1, {}),
]:
    kernels = 1 if name == "a single kernel" else 8
    images, weight = rng.normal(size=(3, 4, 6, 7)), rng.normal(size=(kernels, 4 // groups, 3, 2))
    options["groups"] = groups
    values |= named(name, parts, look, functional.conv2d, images, weight, options)
images, weight = rng.normal(size=(2, 4, 6, 7)), rng.normal(size=(3, 4, 2, 3))
values["a transposed kernel and image"] = tried(
    lambda: functional.conv2d(mytorch.tensor(images).mT, mytorch.tensor(weight).mT)[1, 1]
)
for name, groups, options in [
    ("back", 1, {"stride": 2, "padding": 1}),
    ("back, the larger size", 2, {"stride": (2, 3), "output_padding": (1, 2)}),
    ("back, of a single kernel", 1, {}),
]:
    kernels = 1 if name == "back, of a single kernel" else 6
    images, weight = rng.normal(size=(3, kernels, 3, 2)), rng.normal(size=(kernels, 4 // groups, 3, 2))
    options["groups"] = groups
    values |= named(name, parts, look, functional.conv_transpose2d, images, weight, options)
check.show(values, rtol=1e-5, text="Convolutions, transposed ones too, and their gradients.")

# %% [markdown] hint="conv_product"
# Without groups, `convolve` has three steps: the columns, `weight.reshape(O, depth) @ columns`, and a reshape to (N,
# O, rows, columns). `windows.counts(images.shape[2:])` gives the numbers of rows and columns.

# %% [markdown] hint="conv_product"
# With groups, use `columns.reshape(N, groups, depth, L)` and `weight.reshape(groups, O // groups, depth)`. `depth` is
# `weight[0].numel()`, because the weight has C / groups channels already.

# %% [markdown] hint="conv_product"
# `convolve_back` multiplies by the transposed kernels: `kernels.mT @ grad.reshape(N, groups, O // groups, L)`, where
# L is the number of positions of grad. The result has groups · depth rows, and after a reshape these are the columns
# for `col2im` with `size`.


# %% mutant="conv_product"
# The windows first
# The product has a row for each window here. A reshape doesn't transpose, so rows and channels come out scrambled.
def convolve(images, weight, windows, groups):
    count, outputs, counts = len(images), weight.shape[0], windows.counts(images.shape[2:])
    depth = weight[0].numel()
    columns = im2col(images, windows).reshape(count, groups, depth, count_of(counts))
    kernels = weight.reshape(groups, outputs // groups, depth)
    return (columns.mT @ kernels.mT).reshape(count, outputs, *counts)


# %% mutant="conv_product"
# Forgets the groups
# Each kernel has C / groups channels, so it can't be multiplied by columns of all C channels. Split the columns
# first.
def convolve(images, weight, windows, groups):
    count, outputs, counts = len(images), weight.shape[0], windows.counts(images.shape[2:])
    return (weight.reshape(outputs, -1) @ im2col(images, windows)).reshape(count, outputs, *counts)


# %% mutant="conv_product"
# Deals out the channels like cards
# Channel c went to group c modulo `groups`, but the groups are blocks of neighbouring channels.
def convolve(images, weight, windows, groups):
    count, outputs, counts = len(images), weight.shape[0], windows.counts(images.shape[2:])
    depth, places = weight[0].numel(), count_of(windows.kernel)
    columns = im2col(images, windows).reshape(count, depth // places, groups, places, count_of(counts))
    columns = columns.transpose(1, 2).reshape(count, groups, depth, count_of(counts))
    kernels = weight.reshape(groups, outputs // groups, depth)
    return (kernels @ columns).reshape(count, outputs, *counts)


# %% mutant="conv_product"
# Deals out the kernels like cards
# Kernel o went to group o modulo `groups`, but the first O / groups kernels belong to the first group, and the next
# ones to the next.
def convolve(images, weight, windows, groups):
    count, outputs, counts = len(images), weight.shape[0], windows.counts(images.shape[2:])
    depth = weight[0].numel()
    columns = im2col(images, windows).reshape(count, groups, depth, count_of(counts))
    kernels = weight.reshape(outputs // groups, groups, depth).transpose(0, 1)
    return (kernels @ columns).reshape(count, outputs, *counts)


# %% mutant="conv_product"
# Shuffles the output channels
# The products are right, but the output channels were interleaved: one of each group, then the next of each. The
# channels of a group are neighbours, so don't swap dimensions before the last reshape.
def convolve(images, weight, windows, groups):
    count, outputs, counts = len(images), weight.shape[0], windows.counts(images.shape[2:])
    depth = weight[0].numel()
    columns = im2col(images, windows).reshape(count, groups, depth, count_of(counts))
    kernels = weight.reshape(groups, outputs // groups, depth)
    return (kernels @ columns).transpose(1, 2).reshape(count, outputs, *counts)


# %% mutant="conv_product"
# Deals out channels and kernels like cards
# Channel c went to group c modulo `groups`, and so did kernel c, but the groups are blocks of neighbouring channels.
def convolve(images, weight, windows, groups):
    count, outputs, counts = len(images), weight.shape[0], windows.counts(images.shape[2:])
    depth, places = weight[0].numel(), count_of(windows.kernel)
    columns = im2col(images, windows).reshape(count, depth // places, groups, places, count_of(counts))
    columns = columns.transpose(1, 2).reshape(count, groups, depth, count_of(counts))
    kernels = weight.reshape(outputs // groups, groups, depth).transpose(0, 1)
    return (kernels @ columns).transpose(1, 2).reshape(count, outputs, *counts)


# %% mutant="conv_product"
# Flips the kernel
# That is the convolution of mathematics, while PyTorch's doesn't flip the kernel.
def convolve(images, weight, windows, groups):
    count, outputs, counts = len(images), weight.shape[0], windows.counts(images.shape[2:])
    depth = weight[0].numel()
    columns = im2col(images, windows).reshape(count, groups, depth, count_of(counts))
    kernels = weight.flip((2, 3)).reshape(groups, outputs // groups, depth)
    return (kernels @ columns).reshape(count, outputs, *counts)


# %% mutant="conv_product"
# Computes with NumPy arrays
# The values are right, but no operation was recorded, so the weight gets no gradient. Compute with tensors.
def convolve(images, weight, windows, groups):
    count, outputs, counts = len(images), weight.shape[0], windows.counts(images.shape[2:])
    depth = weight[0].numel()
    columns = im2col(images, windows).reshape(count, groups, depth, count_of(counts))
    kernels = weight.detach().reshape(groups, outputs // groups, depth)
    return (kernels @ columns).reshape(count, outputs, *counts)


# %% mutant="conv_product"
# Squeezes
# `squeeze()` removes every dimension of length 1, here that of a single window. Columns are always (N, depth, L).
def convolve(images, weight, windows, groups):
    count, outputs, counts = len(images), weight.shape[0], windows.counts(images.shape[2:])
    depth = weight[0].numel()
    columns = im2col(images, windows)
    if groups > 1:
        columns = columns.reshape(count, groups, depth, count_of(counts))
    kernels = weight.reshape(groups, outputs // groups, depth)
    return (kernels.squeeze() @ columns.squeeze()).reshape(count, outputs, *counts)


# %% mutant="conv_product"
# Forgets the groups in the backward pass
# All kernels met all numbers of `grad`. The kernels of a group belong to its own outputs, and their gradients go to
# its own channels.
def convolve_back(grad, weight, windows, groups, size):
    count, outputs = grad.shape[:2]
    columns = weight.reshape(outputs, -1).mT @ grad.reshape(count, outputs, -1)
    return col2im(columns, windows, size)


# %% mutant="conv_product"
# Deals out the channels of `grad` like cards
# Channel o of `grad` went to group o modulo `groups`, but its groups are blocks of neighbouring channels, like those
# of the weight.
def convolve_back(grad, weight, windows, groups, size):
    count, outputs, *counts = grad.shape
    depth, length = weight[0].numel(), count_of(tuple(counts))
    kernels = weight.reshape(groups, outputs // groups, depth)
    columns = kernels.mT @ grad.reshape(count, outputs // groups, groups, length).transpose(1, 2)
    return col2im(columns.reshape(count, groups * depth, length), windows, size)


# %% mutant="conv_product"
# Records half of the backward pass
# The values are right, but the weight gets no gradient, because `detach` and arrays leave the graph. Compute with
# tensors.
def convolve_back(grad, weight, windows, groups, size):
    count, outputs, *counts = grad.shape
    depth, length = weight[0].numel(), count_of(tuple(counts))
    kernels = weight.detach().reshape(groups, outputs // groups, depth)
    columns = kernels.mT @ grad.reshape(count, groups, outputs // groups, length)
    return col2im(columns.reshape(count, groups * depth, length), windows, size)


# %% mutant="conv_product"
# Computes the size itself
# Several sizes lead to the same number of windows, and `size` says which one is wanted. This is always the smallest.
def convolve_back(grad, weight, windows, groups, size):
    count, outputs, *counts = grad.shape
    depth, length = weight[0].numel(), count_of(tuple(counts))
    kernels = weight.reshape(groups, outputs // groups, depth)
    columns = kernels.mT @ grad.reshape(count, groups, outputs // groups, length)
    smallest = tuple(t * (n - 1) - 2 * p + d * (k - 1) + 1 for n, k, t, p, d in zip(counts, *windows, strict=True))
    return col2im(columns.reshape(count, groups * depth, length), windows, smallest)


# %% mutant="conv_product"
# Reshapes where it should transpose
# The kernels have to be transposed to depth × O. A reshape gives that shape, too, but with the values in another
# order.
def convolve_back(grad, weight, windows, groups, size):
    count, outputs, *counts = grad.shape
    depth, length = weight[0].numel(), count_of(tuple(counts))
    kernels = weight.reshape(groups, depth, outputs // groups)
    columns = kernels @ grad.reshape(count, groups, outputs // groups, length)
    return col2im(columns.reshape(count, groups * depth, length), windows, size)


# %% mutant="conv_product"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def convolve(images, weight, windows, groups):
    from minitorch.ops.convolution import convolution

    return convolution(images, weight, None, windows.stride, windows.padding, windows.dilation, groups)


# %% [markdown] exercise="conv_field" kind="build" points=2
# ### Exercise 5 · Where is the receptive field?
# The lesson computed how *large* a receptive field is. Now compute *where* it is. A network is a list of layers, each
# `(kernel, stride, padding, dilation)` along one dimension, with the first layer first. Write `field(layers, size,
# place)`, which returns the first and the last row of an image of `size` rows that row `place` of the output depends
# on.
#
# `field([(3, 2, 0, 1)], 8, 2)` is `(4, 6)`. Rows of padding depend on nothing, so they don't count, and that holds
# for padding between two layers, too. A dilated kernel may have one tap in the padding and the next one a few rows
# inside: `field([(3, 1, 1, 2)], 8, 0)` is `(1, 3)`. Remember also that a layer may leave its last rows unseen. Every
# output row that the check uses depends on at least one input row.
#
# Compute with the indices of the rows. Autograd is out of reach here, because the gradient of one output row would
# give its field away.


# %% solution="conv_field"
def field(layers: list[tuple[int, int, int, int]], size: int, place: int) -> tuple[int, int]:
    """Return the first and the last row of the input that row `place` of the output depends on."""
    ### BEGIN SOLUTION
    sizes = [size]
    for kernel, stride, padding, dilation in layers:
        sizes.append((sizes[-1] + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)
    rows = {place}
    for (kernel, stride, padding, dilation), count in reversed(list(zip(layers, sizes, strict=False))):
        rows = {row * stride - padding + i * dilation for row in rows for i in range(kernel)} & set(range(count))
    return min(rows), max(rows)
    ### END SOLUTION


# %% check="conv_field"
rng = check.rng()
networks = {
    "one layer": ([(3, 2, 0, 1)], 8),
    "LeNet": ([(5, 1, 0, 1), (2, 2, 0, 1), (5, 1, 0, 1), (2, 2, 0, 1)], 32),
    "padded": ([(3, 1, 1, 1)] * 3, whole(rng, 7, 9)),
    "padded, a single row": ([(3, 1, 1, 1)] * 2, 1),
    "dilated": ([(3, 1, 1, 1), (3, 1, 2, 2), (3, 1, 4, 4)], whole(rng, 12, 15)),
    "one layer with gaps": ([(3, 1, 1, 2)], whole(rng, 7, 9)),
    "gaps, then a stride": ([(3, 1, 2, 3), (2, 2, 0, 1)], whole(rng, 10, 13)),
    "gaps, then gaps": ([(3, 1, 1, 3), (2, 1, 0, 2)], whole(rng, 9, 11)),
    "drops rows": ([(2, 3, 0, 2), (3, 1, 1, 1)], 3 * whole(rng, 4, 6) + 2),
    "drops rows of fewer": ([(2, 2, 0, 1), (2, 3, 0, 2), (3, 1, 1, 1)], 2 * (3 * whole(rng, 2, 4) + 2)),
    "drops rows, padded": ([(2, 3, 1, 2), (3, 1, 1, 1)], 3 * whole(rng, 3, 6)),
    "drops rows of a larger kernel": ([(3, 2, 0, 1), (3, 1, 1, 1)], 2 * whole(rng, 4, 7)),
    "drops rows twice": ([(3, 3, 1, 1), (2, 2, 1, 1), (3, 1, 1, 1)], 29),
}
values = {}
for name, (layers, size) in networks.items():
    rows = size
    for kernel, stride, padding, dilation in layers:
        rows = (rows + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    fields = [tuple(int(each) for each in field(layers, size, place)) for place in range(rows)]
    values[f"{name}, {size} rows: {layers}"] = fields
check.show(values, text="For each row of the output: the first and last row behind it.")

# %% [markdown] hint="conv_field"
# Go backwards, from the last layer to the first, with the set of rows that matter at this level. At the start that is
# `place` alone.

# %% [markdown] hint="conv_field"
# Row y of a layer's output sees rows y·t − p + d·i of its input, for i from 0 to k − 1. Collect them in a set, for
# all rows y that matter.

# %% [markdown] hint="conv_field"
# After each layer, remove every index that isn't a row of its input, because it is below 0 or beyond the last. For
# that you need the number of rows at each level, so compute these first, forwards, with the formula for the number of
# windows. Return `min` and `max` at the end.


# %% mutant="conv_field"
# Moves padding to the edge
# A kernel with gaps may have a tap in the padding and the next one some rows inside. Clamping to row 0 then claims a
# row that the output doesn't depend on. Two ends aren't enough, so keep the set of rows.
def field(layers, size, place):
    sizes = [size]
    for kernel, stride, padding, dilation in layers:
        sizes.append((sizes[-1] + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)
    first = last = place
    for (kernel, stride, padding, dilation), rows in reversed(list(zip(layers, sizes, strict=False))):
        first = max(first * stride - padding, 0)
        last = min(last * stride - padding + dilation * (kernel - 1), rows - 1)
    return first, last


# %% mutant="conv_field"
# Fills the gaps
# Not every row between the first and the last is seen, since some are in the gaps of a kernel. One layer further
# down, they lead to rows that the output doesn't depend on. Keep only those that were seen.
def field(layers, size, place):
    sizes = [size]
    for kernel, stride, padding, dilation in layers:
        sizes.append((sizes[-1] + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)
    rows = {place}
    for (kernel, stride, padding, dilation), count in reversed(list(zip(layers, sizes, strict=False))):
        rows = {row * stride - padding + i * dilation for row in rows for i in range(kernel)} & set(range(count))
        rows = set(range(min(rows), max(rows) + 1))
    return min(rows), max(rows)


# %% mutant="conv_field"
# Moves both ends
# That is right for one layer. With more, the lowest row may be seen from the middle, because what the first row sees
# there is padding. Two ends aren't enough, so keep the set of rows.
def field(layers, size, place):
    sizes = [size]
    for kernel, stride, padding, dilation in layers:
        sizes.append((sizes[-1] + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)
    first = last = place
    for (kernel, stride, padding, dilation), count in reversed(list(zip(layers, sizes, strict=False))):
        first = next(row for row in range(first * stride - padding, count, dilation) if row >= 0)
        last = next(
            row for row in range(last * stride - padding + dilation * (kernel - 1), -1, -dilation) if row < count
        )
    return first, last


# %% mutant="conv_field"
# Forgets dilation in the sizes
# The number of windows depends on the effective kernel size, d(k − 1) + 1. With k in its place, the levels between
# are too long, so rows of padding count as rows.
def field(layers, size, place):
    sizes = [size]
    for kernel, stride, padding, _ in layers:
        sizes.append((sizes[-1] + 2 * padding - kernel) // stride + 1)
    rows = {place}
    for (kernel, stride, padding, dilation), count in reversed(list(zip(layers, sizes, strict=False))):
        rows = {row * stride - padding + i * dilation for row in rows for i in range(kernel)} & set(range(count))
    return min(rows), max(rows)


# %% mutant="conv_field"
# Clamps the formula
# The formulas for the length of the field and for its first row hold in the middle of the image. At the edges,
# clamping to the image claims rows that are in the gaps of a kernel, or that a stride dropped.
def field(layers, size, place):
    length, jump, first = 1, 1, 0
    for kernel, stride, padding, dilation in layers:
        length += dilation * (kernel - 1) * jump
        first -= padding * jump
        jump *= stride
    first += place * jump
    return max(first, 0), min(first + length - 1, size - 1)


# %% mutant="conv_field"
# Drops padding of the image only
# A row of padding between two layers depends on nothing. Here it was followed back to rows that no window sees: the
# last rows of the image, which a stride had dropped.
def field(layers, size, place):
    rows = {place}
    for kernel, stride, padding, dilation in reversed(layers):
        rows = {row * stride - padding + i * dilation for row in rows for i in range(kernel)}
    rows &= set(range(size))
    return min(rows), max(rows)


# %% mutant="conv_field"
# Goes forwards
# The stride of the first layer has to be applied last. Going from the output to the input, begin with the last layer.
def field(layers, size, place):
    sizes = [size]
    for kernel, stride, padding, dilation in layers:
        sizes.append((sizes[-1] + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)
    rows = {place}
    for (kernel, stride, padding, dilation), count in zip(layers, sizes, strict=False):
        rows = {row * stride - padding + i * dilation for row in rows for i in range(kernel)} & set(range(count))
    return min(rows, default=0), max(rows, default=0)


# %% mutant="conv_field"
# Forgets dilation
# Tap i of a dilated kernel is i·d rows below the first one and not i.
def field(layers, size, place):
    sizes = [size]
    for kernel, stride, padding, dilation in layers:
        sizes.append((sizes[-1] + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)
    rows = {place}
    for (kernel, stride, padding, _), count in reversed(list(zip(layers, sizes, strict=False))):
        rows = {row * stride - padding + i for row in rows for i in range(kernel)} & set(range(count))
    return min(rows, default=0), max(rows, default=0)


# %% [markdown] exercise="conv_repair_fourier" kind="repair" points=3
# ### Exercise 6 · A ghost on the other side
# Multiplying two spectra convolves two signals, whatever the size of the kernel is. The function below should compute
# `F.conv2d(image, kernel, padding=(kh // 2, kw // 2))` for one image and one kernel with odd sides. In the middle
# it is correct. But put a bright spot at the right edge:
#
# ```text
# image                 blurred
# 0 0 0 0 0 0           3 0 0 0 3 3
# 0 0 0 0 0 9           3 0 0 0 3 3
# 0 0 0 0 0 0           3 0 0 0 3 3
# ```
#
# A ghost appears at the left edge. (Here the kernel is 3 × 3, and all its weights are 1/3.) Repair the function. Its
# result should still be a product of spectra, transformed by `np.fft`.


# %% solution="conv_repair_fourier"
def fourier_convolution(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Return what `F.conv2d` computes for two matrices; the kernel has odd sides and the padding is half of it."""
    (high, wide), (kh, kw) = image.shape, kernel.shape
    ### BEGIN SOLUTION
    size = high + kh - 1, wide + kw - 1
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.fft.ifft2(spectrum).real[kh // 2 : kh // 2 + high, kw // 2 : kw // 2 + wide]
    ### END SOLUTION
    ### BEGIN STUB
    # spectrum = np.fft.fft2(image) * np.fft.fft2(kernel[::-1, ::-1], image.shape)
    # result = np.fft.ifft2(spectrum).real
    # return np.roll(result, (-(kh // 2), -(kw // 2)), (0, 1))
    ### END STUB


# %% check="conv_repair_fourier"
rng = check.rng()
image = rng.normal(size=(whole(rng, 6, 8), 2 * whole(rng, 3, 4) + 1)).round(2)
spot = np.zeros((3, 6))
spot[1, 5] = 9.0
blurred = fourier_convolution(spot, np.full((3, 3), 1 / 3))
transforms = np.fft._pocketfft  # all of np.fft's transforms call its _raw_fft
right = transforms._raw_fft
transforms._raw_fft = lambda *arguments, **options: 2 * right(*arguments, **options)
try:
    from_wrong_transforms = fourier_convolution(spot, np.full((3, 3), 1 / 3))
finally:
    transforms._raw_fft = right
values = {"image": image, "the spot, blurred": np.asarray(blurred).round(9) + 0.0}
for sides in ((3, 3), (1, 5), (7, 3)):
    kernel = rng.normal(size=sides).round(2)
    values |= {f"kernel {sides}": kernel, f"result {sides}": fourier_convolution(image, kernel)}
values["an image of integers"] = fourier_convolution(spot.astype(np.int64), np.full((3, 3), 0.5))
values["the result comes from the transforms of np.fft"] = not np.allclose(from_wrong_transforms, blurred)
check.show(values, rtol=1e-6, atol=1e-9, text="The blurred spot; a random image with three kernels.")

# %% [markdown] hint="conv_repair_fourier"
# A discrete Fourier transform treats its n numbers as a periodic signal, in which the first number follows the last.

# %% [markdown] hint="conv_repair_fourier"
# To the right of the right edge, the kernel therefore sees the left edge again, although it should see zeros.
# `np.fft.fft2(image, size)` pads with zeros to a larger size.

# %% [markdown] hint="conv_repair_fourier"
# With `size = (high + kh - 1, wide + kw - 1)` nothing wraps around. The result then begins kh // 2 rows and kw // 2
# columns later and is as large as the image, so use a slice in place of `np.roll`.


# %% mutant="conv_repair_fourier"
# Slices the wrong corner
# Nothing wraps around any more, but the result is shifted by half a kernel, because it begins at (kh // 2, kw // 2).
def fourier_convolution(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide + kw - 1
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.fft.ifft2(spectrum).real[:high, :wide]


# %% mutant="conv_repair_fourier"
# Adds two rows and columns
# Two are enough for kernels up to 5 × 5, while a longer one still wraps around. It needs kh // 2 more rows, and kh −
# 1 leave room for the whole product.
def fourier_convolution(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + 2, wide + 2
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    result = np.fft.ifft2(spectrum).real
    return np.roll(result, (-(kh // 2), -(kw // 2)), (0, 1))[:high, :wide]


# %% mutant="conv_repair_fourier"
# Takes the absolute value
# The imaginary parts are rounding errors, so take the real part. `abs` gives the right size and loses the sign.
def fourier_convolution(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide + kw - 1
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.abs(np.fft.ifft2(spectrum))[kh // 2 : kh // 2 + high, kw // 2 : kw // 2 + wide]


# %% mutant="conv_repair_fourier"
# Returns another width
# A spectrum by `rfft2` has as many columns for a width of 2n as for 2n + 1, and `irfft2` assumes 2n. Pass the size.
def fourier_convolution(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide + kw - 1
    spectrum = np.fft.rfft2(image, size) * np.fft.rfft2(kernel[::-1, ::-1], size)
    return np.fft.irfft2(spectrum)[kh // 2 : kh // 2 + high, kw // 2 : kw // 2 + wide]


# %% mutant="conv_repair_fourier"
# Keeps the margin
# The product is the full convolution, as long as image and kernel together. Return only the part that the task asks
# for.
def fourier_convolution(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide + kw - 1
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.fft.ifft2(spectrum).real


# %% mutant="conv_repair_fourier"
# Sums up windows
# The values are right, but nothing is transformed. This is the direct convolution, which the spectra should replace.
def fourier_convolution(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    (high, wide), (kh, kw) = image.shape, kernel.shape
    padded = np.pad(image, ((kh // 2,), (kw // 2,)))
    result = np.zeros((high, wide))
    for row in range(kh):
        for column in range(kw):
            result += kernel[row, column] * padded[row : row + high, column : column + wide]
    return result


# %% mutant="conv_repair_fourier"
# Transforms without using the result
# The values are right, but the spectrum is thrown away, and `F.conv2d` does the work. Here the product of the spectra
# has to become the result.
def fourier_convolution(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    np.fft.fft2(image)
    x, w = (torch.tensor(each)[None, None] for each in (image, kernel))
    return F.conv2d(x, w, padding=(kernel.shape[0] // 2, kernel.shape[1] // 2))[0, 0].numpy()


# %% mutant="conv_repair_fourier"
# Sets the edges to zero
# The ghost is gone, but so are the correct values: the edges have to contain the sum of what the kernel sees of the
# image.
def fourier_convolution(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    (high, wide), (kh, kw) = image.shape, kernel.shape
    spectrum = np.fft.fft2(image) * np.fft.fft2(kernel[::-1, ::-1], image.shape)
    result = np.roll(np.fft.ifft2(spectrum).real, (-(kh // 2), -(kw // 2)), (0, 1))
    inside = np.zeros_like(result)
    inside[kh // 2 : high - kh // 2, kw // 2 : wide - kw // 2] = 1
    return result * inside


# %% mutant="conv_repair_fourier"
# Forgets to flip the kernel
# A product of spectra is the convolution of mathematics, which flips the kernel. PyTorch's doesn't, so flip the
# kernel back first.
def fourier_convolution(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide + kw - 1
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel, size)
    return np.fft.ifft2(spectrum).real[kh // 2 : kh // 2 + high, kw // 2 : kw // 2 + wide]


# %% mutant="conv_repair_fourier"
# Pads the rows only
# The rows no longer wrap around, but the columns still do.
def fourier_convolution(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.roll(np.fft.ifft2(spectrum).real, -(kw // 2), 1)[kh // 2 : kh // 2 + high]


# %% [markdown] exercise="conv_measure_geometry" kind="measure" points=2
# ### Exercise 7 · An unknown layer
# You are given a function that is a convolution with random weights. It takes images (1, 1, H, W) of any size from 32
# × 32 up. Find its kernel size, stride, padding and dilation by experiment. All of them are the same for rows and
# columns, and the kernel has at least 2 × 2 taps. Write `geometry(layer)`, which returns the four numbers in this
# order.
#
# Use the question of the lesson: which pixels does one output depend on? `torch.autograd.grad(y[0, 0, i, j], x)`
# answers it. Change one thing at a time: first compare the pixels of one output, and then those of two neighbouring
# outputs.


# %% solution="conv_measure_geometry"
def geometry(layer) -> tuple[int, int, int, int]:
    """Return the kernel size, stride, padding and dilation of an unknown convolution."""

    ### BEGIN SOLUTION
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        y = layer(x)
        (grad,) = torch.autograd.grad(y[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]

    middle, below = rows_of(6), rows_of(7)
    stride = below[0] - middle[0]
    return len(middle), stride, 6 * stride - middle[0], middle[1] - middle[0]
    ### END SOLUTION


# %% check="conv_measure_geometry"
rng = check.rng()
torch.manual_seed(check.seed())


def hidden(kernel: int, stride: int, padding: int, dilation: int):
    weight = (torch.rand(2, 1, kernel, kernel) + 0.5) / 100
    weight[:, :, 1] *= -1
    return lambda x: F.conv2d(x, weight, stride=stride, padding=padding, dilation=dilation)


layers = [(3, 1, 3, 2), (4, 4, 0, 3), (2, 3, 1, 2)]
layers += [[whole(rng, low, high) for low, high in ((3, 4), (1, 4), (0, 3), (1, 3))] for _ in range(3)]
values = {}
for number, layer in enumerate(layers):
    values[f"layer {number}"] = [int(each) for each in geometry(hidden(*layer))]
check.show(values, text="Kernel size, stride, padding and dilation of six unknown layers.")

# %% [markdown] hint="conv_measure_geometry"
# Take an image of 48 × 48 and an output away from the edges, for instance at (6, 6). Differentiate it with respect to
# the image, and list the rows in which the gradient isn't 0.

# %% [markdown] hint="conv_measure_geometry"
# The number of these rows is the kernel size, and the distance between two of them is the dilation. The stride is how
# far they move for the output at (7, 7).

# %% [markdown] hint="conv_measure_geometry"
# The first row that output y sees is y · stride − padding, and you know y, the stride and that row.


# %% mutant="conv_measure_geometry"
# Returns the effective kernel size
# From the first to the last row is d(k − 1) + 1. Count only the rows with a gradient.
def geometry(layer) -> tuple[int, int, int, int]:
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x)[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]

    middle, below = rows_of(6), rows_of(7)
    stride = below[0] - middle[0]
    return middle[-1] - middle[0] + 1, stride, 6 * stride - middle[0], middle[1] - middle[0]


# %% mutant="conv_measure_geometry"
# Ignores the sign
# Weights may be negative, and so are their gradients. Everything that isn't 0 counts, so take the absolute value
# first.
def geometry(layer) -> tuple[int, int, int, int]:
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x)[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].sum() > 0]

    middle, below = rows_of(6), rows_of(7)
    stride = below[0] - middle[0]
    return len(middle), stride, 6 * stride - middle[0], middle[1] - middle[0]


# %% mutant="conv_measure_geometry"
# Solves the formula for the padding
# The formula rounds down, so it can't tell how much was dropped. The first row that an output sees says exactly where
# the kernel is.
def geometry(layer) -> tuple[int, int, int, int]:
    x = torch.rand(1, 1, 48, 48, requires_grad=True)
    y = layer(x)

    def rows_of(place):
        (grad,) = torch.autograd.grad(y[0, 0, place, place], x, retain_graph=True)
        return [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]

    middle, below = rows_of(6), rows_of(7)
    kernel, stride, dilation = len(middle), below[0] - middle[0], middle[1] - middle[0]
    return kernel, stride, ((y.shape[2] - 1) * stride + dilation * (kernel - 1) + 1 - 48) // 2, dilation


# %% mutant="conv_measure_geometry"
# Uses the corner
# The first outputs see padding, which isn't in the image, so they have too few rows, and the first of these isn't the
# kernel's first.
def geometry(layer) -> tuple[int, int, int, int]:
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x)[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]

    first, below = rows_of(0), rows_of(6)
    middle = rows_of(7)
    stride = middle[0] - below[0]
    return max(len(first), 2), stride, len(below) - len(first), middle[1] - middle[0]


# %% mutant="conv_measure_geometry"
# Divides the sizes
# The number of outputs is about size / stride, but kernel and padding affect it, too. Compare two outputs instead.
def geometry(layer) -> tuple[int, int, int, int]:
    x = torch.rand(1, 1, 48, 48, requires_grad=True)
    y = layer(x)
    (grad,) = torch.autograd.grad(y[0, 0, 6, 6], x)
    rows = [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]
    stride = 48 // y.shape[2]
    return len(rows), stride, 6 * stride - rows[0], rows[1] - rows[0]


# %% [markdown] exercise="conv_transposed_and_pools" kind="core" points="1 1 1" part="mytorch.nn.convolution:conv_transpose2d | mytorch.nn.pooling:pooled mytorch.nn.pooling:max_pool2d mytorch.nn.pooling:avg_pool2d | mytorch.nn.pooling:bounds mytorch.nn.pooling:adaptive_avg_pool2d"
# ### Exercise 8 · Four layers from the same columns
# A transposed convolution is the backward pass of a convolution, run forwards, and a pool is an `im2col` with a
# maximum or a mean in place of the multiplication. The files provide `windows_of(weight.shape[2:], stride, padding,
# dilation)` and `windows_on(input, kernel_size, stride, padding, dilation)`, which check their arguments and make
# `Windows`; `convolve_back` of exercise 4; `plus_bias(images, bias)`; `as_batch(name, images)`, which adds a batch
# dimension if it is missing; and `seen(input, windows, fill)`, which returns what each window of each channel sees:
# (…, H, W) → (planes, kh · kw, windows), where a plane is one channel of one image.


# %% docstrings="conv_transposed_and_pools"
def conv_transpose2d():
    """Return a convolution's gradient for its input: (N, O, h, w) and (O, C / groups, kh, kw) → (N, C, H, W).

    H = t·(h - 1) - 2p + d·(kh - 1) + 1 + output_padding for a stride t, a padding p and a dilation d, and W is
    computed in the same way. Several input sizes lead to h; this is the smallest, and `output_padding` selects a
    larger one. A single image (O, h, w) gives a single image.

    Check the arguments in this order: `as_batch("conv_transpose2d", input)`, `windows_of`, `pair(output_padding,
    "output_padding")`, `check_channels(images, weight, groups, weight.shape[0], "transposed=1")`,
    `check_output_padding(extra, windows)`.
    """


def pooled():
    """Return the result's shape: that of the input, with the window counts (`windows.counts`) in place of H and W."""


def max_pool2d():
    """Return the maximum of each window; ties go to the first element. (…, H, W) → (…, rows, columns).

    The stride defaults to the kernel size. The padding counts as minus infinity. The gradient goes to one position
    of each window, as it does for `x.max(dim)`, which returns values and indices.
    """


def avg_pool2d():
    """Return the mean of each window: (…, H, W) → (…, rows, columns). Padding counts as zeros; there is no dilation."""


def bounds():
    """Return the (start, end) of each of `count` windows that together cover a line of `size` positions.

    The windows may overlap. Window i starts at i·size / count, rounded down, and ends before (i + 1)·size / count,
    rounded up. Returns a list of pairs.
    """


def adaptive_avg_pool2d():
    """Return the means of `output_size` windows, an integer or a pair (`pair`), over the last two dimensions.

    `bounds` returns the windows of each dimension.
    """


# %% check="conv_transposed_and_pools" raises="RuntimeError"
rng = check.rng()
functional = mytorch.nn.functional
n, high, wide, stride = whole(rng, 2, 3), whole(rng, 5, 6), whole(rng, 7, 8), whole(rng, 2, 3)


def array(*size):
    return mytorch.tensor(rng.normal(size=size).round(1))


def both(function, *tensors, **options):
    """A result and the gradients of the tensors, or the error."""
    leaves, made = [each.clone().requires_grad_() for each in tensors], []
    problem = check.error(lambda: made.append(check.intact(function, *leaves, **options)))
    if problem is not None:
        return problem
    weights = mytorch.arange(made[0].numel()).reshape(made[0].shape)
    problem = check.error((made[0] * weights).sum().backward)
    return made[0], problem or [each.grad for each in leaves]


small, weight, bias = array(n, 4, 3, 2), array(4, 1, 3, 2), array(2)
images = array(n, 2, high, wide)
ties = mytorch.tensor(rng.integers(0, 2, (1, 1, 4, 6)).astype(float))
cases = {
    "transposed": both(functional.conv_transpose2d, small, array(4, 3, 3, 2)),
    "transposed, groups and bias": both(functional.conv_transpose2d, small, weight, bias, groups=2),
    "transposed, all options": both(
        functional.conv_transpose2d,
        small,
        weight,
        bias,
        stride=(stride, 2),
        padding=1,
        output_padding=(1, 0),
        groups=2,
        dilation=2,
    ),
    "transposed, a batch of one": both(functional.conv_transpose2d, small[:1], weight, groups=2),
    "transposed, one output channel of one image": both(functional.conv_transpose2d, small[0], array(4, 1, 2, 2)),
    "transposed, channels and output padding": tried(functional.conv_transpose2d, images, weight, None, 2, 0, 2),
    "transposed, stride and channels": tried(functional.conv_transpose2d, images, weight, None, 0),
    "transposed, shape and output padding": tried(
        functional.conv_transpose2d, small[0, 0], weight, None, 2, 0, (1, 2, 3)
    ),
    "transposed, one image": both(functional.conv_transpose2d, small[0], weight, groups=2),
    "transposed, too much output padding": tried(functional.conv_transpose2d, small, weight, None, 2, 0, 2),
    "transposed, channels": tried(functional.conv_transpose2d, images, weight),
    "max": both(functional.max_pool2d, images, kernel_size=2),
    "max, all options": both(
        functional.max_pool2d, images - 3, kernel_size=(3, 2), stride=(1, 2), padding=1, dilation=(1, 2)
    ),
    "max of equal numbers": both(functional.max_pool2d, ties, kernel_size=2),
    "max of one image": both(functional.max_pool2d, images[0], kernel_size=3, stride=stride),
    "max of a batch of one": both(functional.max_pool2d, images[:1], kernel_size=2),
    "max of small numbers": both(functional.max_pool2d, images - 1e30, kernel_size=2, padding=1),
    "max of nan": tried(functional.max_pool2d, mytorch.tensor([[[float("nan"), 1.0], [2.0, 3.0]]]), 2),
    "max of minus infinity": tried(functional.max_pool2d, mytorch.tensor([[[-np.inf] * 2] * 3]), 2, 1, 1),
    "max, a batch of none": both(functional.max_pool2d, images[:0], kernel_size=2),
    "max, too much padding": tried(functional.max_pool2d, images, 2, 2, 2),
    "mean": both(functional.avg_pool2d, images, kernel_size=2),
    "mean, padding": both(functional.avg_pool2d, images, kernel_size=(2, 3), stride=stride, padding=1),
    "bounds": [
        mytorch.nn.pooling.bounds(size, count)
        for size, count in ((high, 2), (wide, 3), (3, 3), (2, 5), (7, 1), (1, 3), (30, 22))
    ],
    "adaptive": both(functional.adaptive_avg_pool2d, images, output_size=(2, 3)),
    "mean of one image": both(functional.avg_pool2d, images[0], kernel_size=2),
    "mean of a batch of one": both(functional.avg_pool2d, images[:1], kernel_size=(2, 3)),
    "adaptive, a batch of one": both(functional.adaptive_avg_pool2d, images[:1], output_size=(3, 1)),
    "adaptive, one image": both(functional.adaptive_avg_pool2d, images[0], output_size=(2, 3)),
    "adaptive, one number": both(functional.adaptive_avg_pool2d, images[0], output_size=1),
    "transposed images": [
        both(lambda x, w: functional.conv_transpose2d(x.mT, w.mT, groups=2), small, weight),
        both(lambda x: functional.max_pool2d(x.mT, 2), images),
        both(lambda x: functional.avg_pool2d(x.mT, 2), images),
        both(lambda x: functional.adaptive_avg_pool2d(x.mT, 2), images),
    ],
    "adaptive, more than there are": both(functional.adaptive_avg_pool2d, ties, output_size=5),
}
check.show(cases, rtol=1e-4, atol=1e-5, text="Results of the four layers, and the gradients of what they were given.")

# %% [markdown] hint="conv_transposed_and_pools"
# For the pools, make the windows, apply `seen`, reduce dimension −2, and `reshape` to `pooled(input, windows)`. Which
# value must the padding have so that it is never the largest?

# %% [markdown] hint="conv_transposed_and_pools"
# In `conv_transpose2d`, `size` is a tuple of two numbers, from `zip(images.shape[2:], extra, *windows, strict=True)`,
# which gives (s, e, k, t, p, d) for each dimension. Then call `convolve_back(images, weight, windows, groups, size)`.

# %% [markdown] hint="conv_transposed_and_pools"
# Rounded up, a / b is `-(-a // b)`. `adaptive_avg_pool2d` takes the mean of `input[..., top:end, left:right]` for
# each pair of bounds, and puts them together by `stack(…, -1)` for the columns and `stack(…, -2)` for the rows.


# %% mutant="conv_transposed_and_pools"
# Forgets the dilation
# A kernel of 3 with a dilation of 2 covers 5 pixels: d·(kh − 1) + 1.
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = tuple(
        t * (s - 1) - 2 * p + k + e for s, e, k, t, p, _d in zip(images.shape[2:], extra, *windows, strict=True)
    )
    result = plus_bias(convolve_back(images, weight, windows, groups, size), bias)
    return result if input.ndim == 4 else result.squeeze(0)


# %% mutant="conv_transposed_and_pools"
# Forgets the bias
# The bias is added to each channel of the result, as in a convolution.
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = tuple(
        t * (s - 1) - 2 * p + d * (k - 1) + 1 + e
        for s, e, k, t, p, d in zip(images.shape[2:], extra, *windows, strict=True)
    )
    result = convolve_back(images, weight, windows, groups, size)
    return result if input.ndim == 4 else result.squeeze(0)


# %% mutant="conv_transposed_and_pools"
# Pads with zeros
# If all numbers of a window are negative, a zero from the padding would be the largest.
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    return seen(input, windows, 0.0).max(-2)[0].reshape(pooled(input, windows))


# %% mutant="conv_transposed_and_pools"
# Distributes the gradient
# Of equal numbers, the first one gets the whole gradient, while `amax` would distribute it among them.
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    return seen(input, windows, float("-inf")).amax(-2).reshape(pooled(input, windows))


# %% mutant="conv_transposed_and_pools"
# Uses a stride of 1
# A pool without a stride moves by its own size, so that windows don't overlap, while a convolution moves by 1.
def avg_pool2d(input, kernel_size, stride=None, padding=0):
    windows = windows_on(input, kernel_size, 1 if stride is None else stride, padding, 1)
    return seen(input, windows, 0.0).mean(-2).reshape(pooled(input, windows))


# %% mutant="conv_transposed_and_pools"
# Uses windows of one size
# If the size isn't a multiple of the count, windows of one size skip pixels. These windows overlap instead.
def bounds(size, count):
    length = max(size // count, 1)
    return [(min(i * length, size - 1), min(i * length, size - 1) + length) for i in range(count)]


# %% mutant="conv_transposed_and_pools"
# Swaps rows and columns
# The first number of `output_size` counts rows.
def adaptive_avg_pool2d(input, output_size):
    across, down = (bounds(size, count) for size, count in zip(input.shape[:-3:-1], pair(output_size), strict=True))
    rows = [stack([input[..., top:end, left:right].mean((-2, -1)) for left, right in across], -1) for top, end in down]
    return stack(rows, -2)


# %% mutant="conv_transposed_and_pools"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def avg_pool2d(input, kernel_size, stride=None, padding=0):
    from minitorch.nn.functional import avg_pool2d as theirs

    return theirs(input, kernel_size, stride, padding)
