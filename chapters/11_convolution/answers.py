# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 11` grades them.


# %% answer="conv_im2col" right="range ends a stride later"
def counts(self, size):
    return tuple((n + 2 * p - d * (k - 1) - 1) // t + 1 for n, k, t, p, d in zip(size, self.kernel, self.stride, self.padding, self.dilation))


def seen(self, place, counts):
    return tuple(slice(i * d, i * d + t * c, t) for i, c, t, d in zip(place, counts, self.stride, self.dilation))


def im2col(images, windows, fill=0.0):
    n, c, *size = images.shape
    counts = windows.counts(size)
    kh, kw = windows.kernel
    padded = pad(images, windows.padding, fill)
    out = np.empty_like(images, shape=(n, c, kh, kw, *counts))
    for i in range(kh):
        for j in range(kw):
            rows, cols = windows.seen((i, j), counts)
            out[:, :, i, j] = padded[:, :, rows, cols]
    return out.reshape(n, c * kh * kw, -1)


# %% answer="conv_im2col" wrong="pads with 0"
def counts(self, size):
    return tuple((n + 2 * p - d * (k - 1) - 1) // t + 1 for n, k, t, p, d in zip(size, self.kernel, self.stride, self.padding, self.dilation))


def seen(self, place, counts):
    return tuple(slice(i * d, i * d + t * (c - 1) + 1, t) for i, c, t, d in zip(place, counts, self.stride, self.dilation))


def im2col(images, windows, fill=0.0):
    n, c, *size = images.shape
    counts = windows.counts(size)
    kh, kw = windows.kernel
    padded = pad(images, windows.padding, 0.0)
    out = np.empty_like(images, shape=(n, c, kh, kw, *counts))
    for i in range(kh):
        for j in range(kw):
            rows, cols = windows.seen((i, j), counts)
            out[:, :, i, j] = padded[:, :, rows, cols]
    return out.reshape(n, c * kh * kw, -1)


# %% answer="conv_im2col" wrong="np.empty in float64"
def counts(self, size):
    return tuple((n + 2 * p - d * (k - 1) - 1) // t + 1 for n, k, t, p, d in zip(size, self.kernel, self.stride, self.padding, self.dilation))


def seen(self, place, counts):
    return tuple(slice(i * d, i * d + t * (c - 1) + 1, t) for i, c, t, d in zip(place, counts, self.stride, self.dilation))


def im2col(images, windows, fill=0.0):
    n, c, *size = images.shape
    counts = windows.counts(size)
    kh, kw = windows.kernel
    padded = pad(images, windows.padding, fill)
    out = np.empty((n, c, kh, kw, *counts))
    for i in range(kh):
        for j in range(kw):
            rows, cols = windows.seen((i, j), counts)
            out[:, :, i, j] = padded[:, :, rows, cols]
    return out.reshape(n, c * kh * kw, -1)


# %% answer="conv_col2im" right="np.add.at"
def col2im(columns, windows, size):
    kh, kw = windows.kernel
    n = columns.shape[0]
    c = columns.shape[1] // (kh * kw)
    counts = windows.counts(size)
    (ph, pw), (h, w) = windows.padding, size
    columns = columns.reshape(n, c, kh, kw, *counts)
    out = np.zeros_like(columns, shape=(n, c, h + 2 * ph, w + 2 * pw))
    for i in range(kh):
        for j in range(kw):
            rows, cols = windows.seen((i, j), counts)
            np.add.at(out, (slice(None), slice(None), rows, cols), columns[:, :, i, j])
    return out[:, :, ph:ph + h, pw:pw + w]


# %% answer="conv_col2im" right="negative end or None"
def col2im(columns, windows, size):
    kh, kw = windows.kernel
    n = columns.shape[0]
    c = columns.shape[1] // (kh * kw)
    counts = windows.counts(size)
    (ph, pw), (h, w) = windows.padding, size
    columns = columns.reshape(n, c, kh, kw, *counts)
    out = np.zeros_like(columns, shape=(n, c, h + 2 * ph, w + 2 * pw))
    for i in range(kh):
        for j in range(kw):
            rows, cols = windows.seen((i, j), counts)
            out[:, :, rows, cols] += columns[:, :, i, j]
    return out[:, :, ph:-ph or None, pw:-pw or None]


# %% answer="conv_col2im" wrong="ph:-ph unless both are 0"
def col2im(columns, windows, size):
    kh, kw = windows.kernel
    n = columns.shape[0]
    c = columns.shape[1] // (kh * kw)
    counts = windows.counts(size)
    (ph, pw), (h, w) = windows.padding, size
    columns = columns.reshape(n, c, kh, kw, *counts)
    out = np.zeros_like(columns, shape=(n, c, h + 2 * ph, w + 2 * pw))
    for i in range(kh):
        for j in range(kw):
            rows, cols = windows.seen((i, j), counts)
            out[:, :, rows, cols] += columns[:, :, i, j]
    return out[:, :, ph:-ph, pw:-pw] if ph or pw else out


# %% answer="conv_col2im" wrong="= for +="
def col2im(columns, windows, size):
    kh, kw = windows.kernel
    n = columns.shape[0]
    c = columns.shape[1] // (kh * kw)
    counts = windows.counts(size)
    (ph, pw), (h, w) = windows.padding, size
    columns = columns.reshape(n, c, kh, kw, *counts)
    out = np.zeros_like(columns, shape=(n, c, h + 2 * ph, w + 2 * pw))
    for i in range(kh):
        for j in range(kw):
            rows, cols = windows.seen((i, j), counts)
            out[:, :, rows, cols] = columns[:, :, i, j]
    return out[:, :, ph:ph + h, pw:pw + w]


# %% answer="conv_product" wrong="reshape for the transpose"
def convolve(images, weight, windows, groups):
    n, o = images.shape[0], weight.shape[0]
    columns = im2col(images, windows)
    depth = count_of(weight.shape[1:])
    out = weight.reshape(groups, o // groups, depth) @ columns.reshape(n, groups, depth, columns.shape[2])
    return out.reshape(n, o, *windows.counts(images.shape[2:]))


def convolve_back(grad, weight, windows, groups, size):
    n, o = grad.shape[0], weight.shape[0]
    depth = count_of(weight.shape[1:])
    length = count_of(grad.shape[2:])
    columns = weight.reshape(groups, depth, o // groups) @ grad.reshape(n, groups, o // groups, length)
    return col2im(columns.reshape(n, groups * depth, length), windows, size)


# %% answer="conv_field" wrong="the gradient of a chain of ones, which the task rules out"
def field(layers, size, place):
    x = torch.ones(1, 1, size, dtype=torch.float64, requires_grad=True)
    h = x
    for k, t, p, d in layers:
        h = F.conv1d(h, torch.ones(1, 1, k, dtype=torch.float64), stride=t, padding=p, dilation=d)
    (g,) = torch.autograd.grad(h[0, 0, place], x)
    rows = g[0, 0].nonzero().flatten().tolist()
    return rows[0], rows[-1]


# %% answer="conv_field" right="a one in each row, sent through the layers"
def field(layers, size, place):
    h = torch.eye(size).unsqueeze(1)
    for k, t, p, d in layers:
        h = F.conv1d(h, torch.ones(1, 1, k), stride=t, padding=p, dilation=d)
    rows = h[:, 0, place].nonzero().flatten().tolist()
    return rows[0], rows[-1]


# %% answer="conv_field" wrong="cut at the end"
def field(layers, size, place):
    sizes = [size]
    for k, t, p, d in layers:
        sizes.append((sizes[-1] + 2 * p - d * (k - 1) - 1) // t + 1)
    rows = {place}
    for (k, t, p, d), n in zip(layers[::-1], sizes[-2::-1]):
        rows = {t * y + d * i - p for y in rows for i in range(k)}
    return max(min(rows), 0), min(max(rows), size - 1)


# %% answer="conv_field" wrong="first and last row only"
def field(layers, size, place):
    first = last = place
    sizes = [size]
    for k, t, p, d in layers:
        sizes.append((sizes[-1] + 2 * p - d * (k - 1) - 1) // t + 1)
    for (k, t, p, d), n in zip(layers[::-1], sizes[-2::-1]):
        first, last = first * t - p, last * t - p + d * (k - 1)
        while first < 0: first += d
        while last >= n: last -= d
    return first, last


# %% answer="conv_repair_fourier" right="roll"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    shape = high + kh - 1, wide + kw - 1
    spectrum = np.fft.fft2(image, shape) * np.fft.fft2(kernel[::-1, ::-1], shape)
    result = np.fft.ifft2(spectrum).real
    return np.roll(result, (-(kh // 2), -(kw // 2)), (0, 1))[:high, :wide]


# %% answer="conv_repair_fourier" wrong="rfft2 without the size"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    shape = high + kh - 1, wide + kw - 1
    spectrum = np.fft.rfft2(image, shape) * np.fft.rfft2(kernel[::-1, ::-1], shape)
    result = np.fft.irfft2(spectrum)
    return result[kh // 2:kh // 2 + high, kw // 2:kw // 2 + wide]


# %% answer="conv_repair_fourier" wrong="kernel not flipped, half the padding"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    shape = high + kh // 2, wide + kw // 2
    spectrum = np.fft.fft2(image, shape) * np.fft.fft2(kernel, shape)
    result = np.fft.ifft2(spectrum).real
    return result[kh // 2:kh // 2 + high, kw // 2:kw // 2 + wide]


# %% answer="conv_measure_geometry" wrong="padding modulo stride"
def geometry(layer):
    x = torch.zeros(1, 1, 64, 64, requires_grad=True)
    y = layer(x)
    def rows(i, j):
        (g,) = torch.autograd.grad(y[0, 0, i, j], x, retain_graph=True)
        return [r for r, v in enumerate((g[0, 0].abs().sum(1) > 0).tolist()) if v]
    m = y.shape[2] // 2
    a, b = rows(m, m), rows(m + 1, m)
    k, d, t = len(a), a[1] - a[0], b[0] - a[0]
    return k, t, (t * m - a[0]) % t, d


# %% answer="conv_transposed_and_pools" wrong="squeeze(0)"
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = tuple(t * (n - 1) - 2 * p + d * (k - 1) + 1 + e for n, k, t, p, d, e in zip(images.shape[2:], windows.kernel, windows.stride, windows.padding, windows.dilation, extra))
    out = plus_bias(convolve_back(images, weight, windows, groups, size), bias)
    return out.squeeze(0)


def pooled(input, windows):
    return (*input.shape[:-2], *windows.counts(input.shape[-2:]))


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    return seen(input, windows, float("-inf")).max(1)[0].reshape(pooled(input, windows))


def avg_pool2d(input, kernel_size, stride=None, padding=0):
    windows = windows_on(input, kernel_size, stride, padding, 1)
    return seen(input, windows, 0.0).mean(1).reshape(pooled(input, windows))


def bounds(size, count):
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def adaptive_avg_pool2d(input, output_size):
    rows, columns = pair(output_size, "output_size")
    high, wide = input.shape[-2:]
    lines = [stack([input[..., a:b, c:d].mean((-2, -1)) for c, d in bounds(wide, columns)], -1) for a, b in bounds(high, rows)]
    return stack(lines, -2)


# %% answer="conv_transposed_and_pools" wrong="-1e9 for minus infinity"
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = tuple(t * (n - 1) - 2 * p + d * (k - 1) + 1 + e for n, k, t, p, d, e in zip(images.shape[2:], windows.kernel, windows.stride, windows.padding, windows.dilation, extra))
    out = plus_bias(convolve_back(images, weight, windows, groups, size), bias)
    return out[0] if len(input.shape) == 3 else out


def pooled(input, windows):
    return (*input.shape[:-2], *windows.counts(input.shape[-2:]))


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    return seen(input, windows, -1e9).max(1)[0].reshape(pooled(input, windows))


def avg_pool2d(input, kernel_size, stride=None, padding=0):
    windows = windows_on(input, kernel_size, stride, padding, 1)
    return seen(input, windows, 0.0).mean(1).reshape(pooled(input, windows))


def bounds(size, count):
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def adaptive_avg_pool2d(input, output_size):
    rows, columns = pair(output_size, "output_size")
    high, wide = input.shape[-2:]
    lines = [stack([input[..., a:b, c:d].mean((-2, -1)) for c, d in bounds(wide, columns)], -1) for a, b in bounds(high, rows)]
    return stack(lines, -2)


# %% answer="conv_transposed_and_pools" wrong="checks in the other order"
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_output_padding(extra, windows)
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    size = tuple(t * (n - 1) - 2 * p + d * (k - 1) + 1 + e for n, k, t, p, d, e in zip(images.shape[2:], windows.kernel, windows.stride, windows.padding, windows.dilation, extra))
    out = plus_bias(convolve_back(images, weight, windows, groups, size), bias)
    return out[0] if len(input.shape) == 3 else out


def pooled(input, windows):
    return (*input.shape[:-2], *windows.counts(input.shape[-2:]))


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    return seen(input, windows, float("-inf")).max(1)[0].reshape(pooled(input, windows))


def avg_pool2d(input, kernel_size, stride=None, padding=0):
    windows = windows_on(input, kernel_size, stride, padding, 1)
    return seen(input, windows, 0.0).mean(1).reshape(pooled(input, windows))


def bounds(size, count):
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def adaptive_avg_pool2d(input, output_size):
    rows, columns = pair(output_size, "output_size")
    high, wide = input.shape[-2:]
    lines = [stack([input[..., a:b, c:d].mean((-2, -1)) for c, d in bounds(wide, columns)], -1) for a, b in bounds(high, rows)]
    return stack(lines, -2)


# %% answer="conv_transposed_and_pools" wrong="mean over what is there"
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = tuple(t * (n - 1) - 2 * p + d * (k - 1) + 1 + e for n, k, t, p, d, e in zip(images.shape[2:], windows.kernel, windows.stride, windows.padding, windows.dilation, extra))
    out = plus_bias(convolve_back(images, weight, windows, groups, size), bias)
    return out[0] if len(input.shape) == 3 else out


def pooled(input, windows):
    return (*input.shape[:-2], *windows.counts(input.shape[-2:]))


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    return seen(input, windows, float("-inf")).max(1)[0].reshape(pooled(input, windows))


def avg_pool2d(input, kernel_size, stride=None, padding=0):
    windows = windows_on(input, kernel_size, stride, padding, 1)
    return seen(input, windows, 0.0).sum(1) / seen(input * 0 + 1, windows, 0.0).sum(1).reshape(pooled(input, windows))


def bounds(size, count):
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def adaptive_avg_pool2d(input, output_size):
    rows, columns = pair(output_size, "output_size")
    high, wide = input.shape[-2:]
    lines = [stack([input[..., a:b, c:d].mean((-2, -1)) for c, d in bounds(wide, columns)], -1) for a, b in bounds(high, rows)]
    return stack(lines, -2)


# %% answer="conv_transposed_and_pools" wrong="amax"
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = tuple(t * (n - 1) - 2 * p + d * (k - 1) + 1 + e for n, k, t, p, d, e in zip(images.shape[2:], windows.kernel, windows.stride, windows.padding, windows.dilation, extra))
    out = plus_bias(convolve_back(images, weight, windows, groups, size), bias)
    return out[0] if len(input.shape) == 3 else out


def pooled(input, windows):
    return (*input.shape[:-2], *windows.counts(input.shape[-2:]))


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    return seen(input, windows, float("-inf")).amax(1).reshape(pooled(input, windows))


def avg_pool2d(input, kernel_size, stride=None, padding=0):
    windows = windows_on(input, kernel_size, stride, padding, 1)
    return seen(input, windows, 0.0).mean(1).reshape(pooled(input, windows))


def bounds(size, count):
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def adaptive_avg_pool2d(input, output_size):
    rows, columns = pair(output_size, "output_size")
    high, wide = input.shape[-2:]
    lines = [stack([input[..., a:b, c:d].mean((-2, -1)) for c, d in bounds(wide, columns)], -1) for a, b in bounds(high, rows)]
    return stack(lines, -2)


# %% answer="conv_im2col" wrong="the padding counts once" spoils="counts"
def counts(self, size):
    return tuple((s + p - d * (k - 1) - 1) // t + 1 for s, k, t, p, d in zip(size, *self))


# %% answer="conv_im2col" wrong="a dilated kernel covers d·k positions" spoils="counts"
def counts(self, size):
    return tuple((s + 2 * p - d * k) // t + 1 for s, k, t, p, d in zip(size, *self))


# %% answer="conv_im2col" wrong="the last window may hang over" spoils="counts"
def counts(self, size):
    return tuple(-(-(s + 2 * p - d * (k - 1) - 1) // t) + 1 for s, k, t, p, d in zip(size, *self))


# %% answer="conv_im2col" wrong="a division that truncates: one window where none fits" spoils="counts"
def counts(self, size):
    return tuple(int((s + 2 * p - d * (k - 1) - 1) / t) + 1 for s, k, t, p, d in zip(size, *self))


# %% answer="conv_im2col" wrong="one window too few" spoils="counts"
def counts(self, size):
    return tuple((s + 2 * p - d * (k - 1) - 1) // t for s, k, t, p, d in zip(size, *self))


# %% answer="conv_im2col" wrong="the columns' pairs for the rows" spoils="counts"
def counts(self, size):
    return tuple((s + 2 * p - d * (k - 1) - 1) // t + 1 for s, k, t, p, d in zip(size, *(each[::-1] for each in self)))


# %% answer="conv_im2col" wrong="a fraction" spoils="counts"
def counts(self, size):
    return tuple((s + 2 * p - d * (k - 1) - 1) / t + 1 for s, k, t, p, d in zip(size, *self))


# %% answer="conv_im2col" wrong="counts in the image without its padding" spoils="seen"
def seen(self, place, counts):
    return tuple(
        slice(i * d - p, i * d - p + t * (count - 1) + 1, t)
        for i, d, t, p, count in zip(place, self.dilation, self.stride, self.padding, counts)
    )


# %% answer="conv_im2col" wrong="to the end of the image" spoils="seen"
def seen(self, place, counts):
    return tuple(slice(i * d, None, t) for i, d, t in zip(place, self.dilation, self.stride))


# %% answer="conv_im2col" wrong="without the dilation" spoils="seen"
def seen(self, place, counts):
    return tuple(slice(i, i + t * (count - 1) + 1, t) for i, t, count in zip(place, self.stride, counts))


# %% answer="conv_im2col" wrong="the dilation is the step" spoils="seen"
def seen(self, place, counts):
    return tuple(slice(i * t, i * t + d * count, d) for i, d, t, count in zip(place, self.dilation, self.stride, counts))


# %% answer="conv_im2col" wrong="as many rows as windows, whatever the step" spoils="seen"
def seen(self, place, counts):
    return tuple(slice(i * d, i * d + count, t) for i, d, t, count in zip(place, self.dilation, self.stride, counts))


# %% answer="conv_im2col" wrong="the columns first" spoils="seen"
def seen(self, place, counts):
    rows, columns = (
        slice(i * d, i * d + t * (count - 1) + 1, t)
        for i, d, t, count in zip(place, self.dilation, self.stride, counts)
    )
    return columns, rows


# %% answer="conv_im2col" wrong="the padding is skipped" spoils="im2col"
def im2col(images, windows, fill=0.0):
    counts = windows.counts(images.shape[2:])
    padded = pad(images, windows.padding)
    columns = np.empty_like(images, shape=(*images.shape[:2], *windows.kernel, *counts))
    for i, j in np.ndindex(*windows.kernel):
        columns[:, :, i, j] = padded[:, :, *windows.seen((i, j), counts)]
    return columns.reshape(images.shape[0], -1, counts[0] * counts[1])


# %% answer="conv_im2col" wrong="the taps before the channels" spoils="im2col"
def im2col(images, windows, fill=0.0):
    counts = windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    columns = [padded[:, :, *windows.seen(place, counts)] for place in np.ndindex(*windows.kernel)]
    return np.stack(columns, 1).reshape(images.shape[0], -1, counts[0] * counts[1])


# %% answer="conv_im2col" wrong="the windows column by column" spoils="im2col"
def im2col(images, windows, fill=0.0):
    counts = windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    columns = [padded[:, :, *windows.seen(place, counts)].swapaxes(2, 3) for place in np.ndindex(*windows.kernel)]
    return np.stack(columns, 2).reshape(images.shape[0], -1, counts[0] * counts[1])


# %% answer="conv_im2col" wrong="the windows before the taps" spoils="im2col"
def im2col(images, windows, fill=0.0):
    counts = windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    columns = [padded[:, :, *windows.seen(place, counts)] for place in np.ndindex(*windows.kernel)]
    return np.stack(columns, -1).reshape(images.shape[0], -1, counts[0] * counts[1])


# %% answer="conv_im2col" wrong="the images side by side" spoils="im2col"
def im2col(images, windows, fill=0.0):
    counts = windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    columns = np.stack([padded[:, :, *windows.seen(place, counts)] for place in np.ndindex(*windows.kernel)], 2)
    return columns.swapaxes(0, 1).reshape(images.shape[0], -1, counts[0] * counts[1])


# %% answer="conv_im2col" wrong="the kernel turned around" spoils="im2col"
def im2col(images, windows, fill=0.0):
    counts = windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    columns = [padded[:, :, *windows.seen(place, counts)] for place in reversed(list(np.ndindex(*windows.kernel)))]
    return np.stack(columns, 2).reshape(images.shape[0], -1, counts[0] * counts[1])


# %% answer="conv_im2col" right="stack, math.prod, a method for each dimension"
def counts(self, size):
    def along(dim):
        covered = self.dilation[dim] * (self.kernel[dim] - 1) + 1
        return (size[dim] + 2 * self.padding[dim] - covered) // self.stride[dim] + 1

    return along(0), along(1)


def seen(self, place, counts):
    def along(dim):
        start = place[dim] * self.dilation[dim]
        return slice(start, start + counts[dim] * self.stride[dim], self.stride[dim])

    return along(0), along(1)


def im2col(images, windows, fill=0.0):
    counts = windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    taps = [padded[:, :, *windows.seen(place, counts)] for place in np.ndindex(*windows.kernel)]
    return np.stack(taps, 2).reshape(images.shape[0], images.shape[1] * len(taps), counts[0] * counts[1])


# %% answer="conv_im2col" right="sliding_window_view"
def im2col(images, windows, fill=0.0):
    (high, wide), (down, across), (gap, wide_gap) = windows.kernel, windows.stride, windows.dilation
    padded = pad(images, windows.padding, fill)
    reach = gap * (high - 1) + 1, wide_gap * (wide - 1) + 1
    views = np.lib.stride_tricks.sliding_window_view(padded, reach, (2, 3))[:, :, ::down, ::across, ::gap, ::wide_gap]
    count, channels, rows, columns = views.shape[:4]
    return views.transpose(0, 1, 4, 5, 2, 3).reshape(count, channels * high * wide, rows * columns)


# %% answer="conv_im2col" right="indices of all windows at once"
def im2col(images, windows, fill=0.0):
    counts = windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    rows = np.arange(windows.kernel[0])[:, None] * windows.dilation[0] + np.arange(counts[0]) * windows.stride[0]
    columns = np.arange(windows.kernel[1])[:, None] * windows.dilation[1] + np.arange(counts[1]) * windows.stride[1]
    found = padded[:, :, rows[:, None, :, None], columns[None, :, None, :]]
    return found.reshape(images.shape[0], images.shape[1] * windows.kernel[0] * windows.kernel[1], counts[0] * counts[1])


# %% answer="conv_col2im" wrong="the padding stays"
def col2im(columns, windows, size):
    counts, (high, wide) = windows.counts(size), windows.padding
    columns = columns.reshape(columns.shape[0], -1, *windows.kernel, *counts)
    padded = np.zeros_like(columns, shape=(*columns.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, :, i, j]
    return padded


# %% answer="conv_col2im" wrong="the mean of what saw a pixel"
def col2im(columns, windows, size):
    counts, (high, wide) = windows.counts(size), windows.padding
    columns = columns.reshape(columns.shape[0], -1, *windows.kernel, *counts)
    padded = np.zeros_like(columns, shape=(*columns.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
    times = np.zeros_like(padded)
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, :, i, j]
        times[:, :, down, across] += 1
    return (padded / np.maximum(times, 1))[:, :, high : high + size[0], wide : wide + size[1]]


# %% answer="conv_col2im" wrong="the taps before the channels"
def col2im(columns, windows, size):
    counts, (high, wide) = windows.counts(size), windows.padding
    columns = columns.reshape(columns.shape[0], *windows.kernel, -1, *counts)
    padded = np.zeros_like(columns, shape=(columns.shape[0], columns.shape[3], size[0] + 2 * high, size[1] + 2 * wide))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, i, j]
    return padded[:, :, high : high + size[0], wide : wide + size[1]]


# %% answer="conv_col2im" wrong="zeros of float64"
def col2im(columns, windows, size):
    counts, (high, wide) = windows.counts(size), windows.padding
    columns = columns.reshape(columns.shape[0], -1, *windows.kernel, *counts)
    padded = np.zeros((*columns.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, :, i, j]
    return padded[:, :, high : high + size[0], wide : wide + size[1]]


# %% answer="conv_col2im" wrong="cuts the padding of the columns from the rows"
def col2im(columns, windows, size):
    counts, (high, wide) = windows.counts(size), windows.padding
    columns = columns.reshape(columns.shape[0], -1, *windows.kernel, *counts)
    padded = np.zeros_like(columns, shape=(*columns.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, :, i, j]
    return padded[:, :, wide : wide + size[0], high : high + size[1]]


# %% answer="conv_col2im" wrong="the kernel turned around"
def col2im(columns, windows, size):
    counts, (high, wide) = windows.counts(size), windows.padding
    columns = columns.reshape(columns.shape[0], -1, *windows.kernel, *counts)
    padded = np.zeros_like(columns, shape=(*columns.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, :, -1 - i, -1 - j]
    return padded[:, :, high : high + size[0], wide : wide + size[1]]


# %% answer="conv_col2im" wrong="as large as the windows reach"
def col2im(columns, windows, size):
    counts, (high, wide) = windows.counts(size), windows.padding
    columns = columns.reshape(columns.shape[0], -1, *windows.kernel, *counts)
    reach = [t * (c - 1) + d * (k - 1) + 1 for c, k, t, d in zip(counts, windows.kernel, windows.stride, windows.dilation)]
    padded = np.zeros_like(columns, shape=(*columns.shape[:2], *reach))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, :, i, j]
    return padded[:, :, high : high + size[0], wide : wide + size[1]]


# %% answer="conv_col2im" right="two loops, padding cut by the end of the array"
def col2im(columns, windows, size):
    (p, q), counts, (kh, kw) = windows.padding, windows.counts(size), windows.kernel
    n, depth, _ = columns.shape
    parts = columns.reshape(n, depth // kh // kw, kh, kw, *counts)
    total = np.zeros_like(columns, shape=(n, parts.shape[1], size[0] + 2 * p, size[1] + 2 * q))
    for i in range(kh):
        for j in range(kw):
            view = total[(slice(None), slice(None), *windows.seen((i, j), counts))]
            np.add(view, parts[:, :, i, j], out=view)
    return total[:, :, p : total.shape[2] - p, q : total.shape[3] - q]


# %% answer="conv_col2im" right="a sum of padded slices"
def col2im(columns, windows, size):
    counts, (high, wide) = windows.counts(size), windows.padding
    parts = columns.reshape(columns.shape[0], -1, *windows.kernel, *counts)

    def spread(place):
        whole = np.zeros_like(columns, shape=(*parts.shape[:2], size[0] + 2 * high, size[1] + 2 * wide))
        whole[:, :, *windows.seen(place, counts)] = parts[:, :, *place]
        return whole

    total = sum(spread(place) for place in np.ndindex(*windows.kernel))
    return total[:, :, high : high + size[0], wide : wide + size[1]]


# %% answer="conv_product" wrong="the groups take turns" spoils="convolve"
def convolve(images, weight, windows, groups):
    counts, depth, outputs = windows.counts(images.shape[2:]), weight[0].numel(), len(weight)
    columns = im2col(images, windows).reshape(len(images), depth, groups, -1).transpose(1, 2)
    return (weight.reshape(groups, outputs // groups, depth) @ columns).reshape(len(images), outputs, *counts)


# %% answer="conv_product" wrong="the kernels of a group are spread over all groups" spoils="convolve"
def convolve(images, weight, windows, groups):
    counts, depth, outputs = windows.counts(images.shape[2:]), weight[0].numel(), len(weight)
    columns = im2col(images, windows).reshape(len(images), groups, depth, -1)
    kernels = weight.reshape(outputs // groups, groups, depth).transpose(0, 1)
    return (kernels @ columns).reshape(len(images), outputs, *counts)


# %% answer="conv_product" wrong="one group, whatever the groups" spoils="convolve"
def convolve(images, weight, windows, groups):
    counts = windows.counts(images.shape[2:])
    return (weight.flatten(1) @ im2col(images, windows)).reshape(len(images), len(weight), *counts)


# %% answer="conv_product" wrong="columns before rows" spoils="convolve"
def convolve(images, weight, windows, groups):
    counts, depth, outputs = windows.counts(images.shape[2:]), weight[0].numel(), len(weight)
    columns = im2col(images, windows).reshape(len(images), groups, depth, -1)
    result = weight.reshape(groups, outputs // groups, depth) @ columns
    return result.reshape(len(images), outputs, *counts[::-1]).transpose(2, 3)


# %% answer="conv_product" wrong="the images are constants" spoils="convolve"
def convolve(images, weight, windows, groups):
    counts, depth, outputs = windows.counts(images.shape[2:]), weight[0].numel(), len(weight)
    columns = im2col(images.detach(), windows).reshape(len(images), groups, depth, -1)
    return (weight.reshape(groups, outputs // groups, depth) @ columns).reshape(len(images), outputs, *counts)


# %% answer="conv_product" wrong="the kernel flipped" spoils="convolve"
def convolve(images, weight, windows, groups):
    from mytorch import flip

    counts, depth, outputs = windows.counts(images.shape[2:]), weight[0].numel(), len(weight)
    columns = im2col(images, windows).reshape(len(images), groups, depth, -1)
    return (flip(weight, (2, 3)).reshape(groups, outputs // groups, depth) @ columns).reshape(len(images), outputs, *counts)


# %% answer="conv_product" wrong="groups and images exchanged" spoils="convolve_back"
def convolve_back(grad, weight, windows, groups, size):
    count, outputs, rows, across = grad.shape
    depth = weight[0].numel()
    kernels = weight.reshape(groups, outputs // groups, depth)
    columns = kernels.mT @ grad.reshape(groups, count, outputs // groups, rows * across).transpose(0, 1)
    return col2im(columns.reshape(count, groups * depth, rows * across), windows, size)


# %% answer="conv_product" wrong="the gradient's own windows" spoils="convolve_back"
def convolve_back(grad, weight, windows, groups, size):
    count, outputs, rows, across = grad.shape
    depth = weight[0].numel()
    kernels = weight.reshape(groups, outputs // groups, depth)
    columns = kernels.mT @ grad.reshape(count, groups, outputs // groups, rows * across)
    return col2im(columns.reshape(count, groups * depth, rows * across), windows, grad.shape[2:])


# %% answer="conv_product" wrong="one group, whatever the groups" spoils="convolve_back"
def convolve_back(grad, weight, windows, groups, size):
    columns = weight.flatten(1).T @ grad.flatten(2)
    return col2im(columns, windows, size)


# %% answer="conv_product" wrong="the weight is a constant" spoils="convolve_back"
def convolve_back(grad, weight, windows, groups, size):
    count, outputs, rows, across = grad.shape
    depth = weight[0].numel()
    kernels = weight.detach().reshape(groups, outputs // groups, depth)
    columns = kernels.mT @ grad.reshape(count, groups, outputs // groups, rows * across)
    return col2im(columns.reshape(count, groups * depth, rows * across), windows, size)


# %% answer="conv_product" wrong="a reshape for a transpose" spoils="convolve_back"
def convolve_back(grad, weight, windows, groups, size):
    count, outputs, rows, across = grad.shape
    depth = weight[0].numel()
    kernels = weight.reshape(groups, depth, outputs // groups)
    columns = kernels @ grad.reshape(count, groups, outputs // groups, rows * across)
    return col2im(columns.reshape(count, groups * depth, rows * across), windows, size)


# %% answer="conv_product" right="a loop over the groups"
def convolve(images, weight, windows, groups):
    from mytorch import cat

    rows, across = windows.counts(images.shape[2:])
    parts = zip(images.chunk(groups, 1), weight.chunk(groups, 0))
    found = [kernels.flatten(1) @ im2col(channels, windows) for channels, kernels in parts]
    return cat(found, 1).reshape(images.shape[0], weight.shape[0], rows, across)


def convolve_back(grad, weight, windows, groups, size):
    from mytorch import cat

    parts = zip(grad.chunk(groups, 1), weight.chunk(groups, 0))
    return cat([col2im(kernels.flatten(1).T @ each.flatten(2), windows, size) for each, kernels in parts], 1)


# %% answer="conv_product" right="the columns on the left"
def convolve(images, weight, windows, groups):
    counts, outputs = windows.counts(images.shape[2:]), weight.shape[0]
    depth = weight.numel() // outputs
    columns = im2col(images, windows).reshape(images.shape[0], groups, depth, counts[0] * counts[1])
    kernels = weight.reshape(groups, -1, depth).transpose(-1, -2)
    return (columns.mT @ kernels).transpose(2, 3).reshape(images.shape[0], outputs, *counts)


def convolve_back(grad, weight, windows, groups, size):
    outputs = weight.shape[0]
    depth = weight.numel() // outputs
    arriving = grad.flatten(2).reshape(grad.shape[0], groups, outputs // groups, -1).mT
    columns = (arriving @ weight.reshape(groups, outputs // groups, depth)).mT
    return col2im(columns.reshape(grad.shape[0], groups * depth, -1), windows, size)


# %% answer="conv_product" right="one product of elements and a sum"
def convolve(images, weight, windows, groups):
    counts = windows.counts(images.shape[2:])
    columns = im2col(images, windows).reshape(len(images), groups, 1, -1, count_of(counts))
    kernels = weight.reshape(groups, len(weight) // groups, -1, 1)
    return (columns * kernels).sum(-2).reshape(len(images), len(weight), *counts)


# %% answer="conv_field" wrong="the formula without the padding's rows removed"
def field(layers, size, place):
    first = last = place
    for kernel, stride, padding, dilation in reversed(layers):
        first, last = first * stride - padding, last * stride - padding + dilation * (kernel - 1)
    return max(first, 0), min(last, size - 1)


# %% answer="conv_field" wrong="the rows below are cut by the image's size alone"
def field(layers, size, place):
    rows = {place}
    for kernel, stride, padding, dilation in reversed(layers):
        rows = {row * stride - padding + i * dilation for row in rows for i in range(kernel)} & set(range(size))
    return min(rows), max(rows)


# %% answer="conv_field" wrong="the layers in their own order"
def field(layers, size, place):
    rows = {place}
    for kernel, stride, padding, dilation in layers:
        rows = {row * stride - padding + i * dilation for row in rows for i in range(kernel)} & set(range(size))
    return min(rows), max(rows)


# %% answer="conv_field" wrong="a kernel without gaps"
def field(layers, size, place):
    sizes = [size]
    for kernel, stride, padding, dilation in layers:
        sizes.append((sizes[-1] + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)
    rows = {place}
    for (kernel, stride, padding, dilation), count in reversed(list(zip(layers, sizes))):
        rows = {each for row in rows for each in range(row * stride - padding, row * stride - padding + dilation * (kernel - 1) + 1)} & set(range(count))
    return min(rows), max(rows)


# %% answer="conv_field" wrong="one row too many"
def field(layers, size, place):
    sizes = [size]
    for kernel, stride, padding, dilation in layers:
        sizes.append((sizes[-1] + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)
    rows = {place}
    for (kernel, stride, padding, dilation), count in reversed(list(zip(layers, sizes))):
        rows = {row * stride - padding + i * dilation for row in rows for i in range(kernel)} & set(range(count))
    return min(rows), max(rows) + 1


# %% answer="conv_field" right="masks, from the last layer to the first"
def field(layers, size, place):
    sizes = [size]
    for kernel, stride, padding, dilation in layers:
        sizes += [(sizes[-1] + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1]
    seen = np.arange(sizes.pop()) == place
    for kernel, stride, padding, dilation in layers[::-1]:
        below = np.zeros(sizes.pop(), bool)
        for row in np.flatnonzero(seen):
            taps = row * stride - padding + dilation * np.arange(kernel)
            below[taps[(taps >= 0) & (taps < len(below))]] = True
        seen = below
    found = np.flatnonzero(seen)
    return found[0], found[-1]


# %% answer="conv_field" right="recursion over the layers"
def field(layers, size, place):
    def behind(depth, count):
        if depth == len(layers):
            return [place]
        kernel, stride, padding, dilation = layers[depth]
        after = (count + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
        taps = [row * stride - padding + i * dilation for row in behind(depth + 1, after) for i in range(kernel)]
        return sorted({tap for tap in taps if 0 <= tap < count})

    rows = behind(0, size)
    return rows[0], rows[-1]


# %% answer="conv_field" wrong="ends that move to the first tap inside"
def field(layers, size, place):
    sizes = [size]
    for k, t, p, d in layers:
        sizes.append((sizes[-1] + 2 * p - d * (k - 1) - 1) // t + 1)
    first = last = place
    for (k, t, p, d), rows in zip(reversed(layers), reversed(sizes[:-1])):
        first, last = first * t - p, last * t - p + d * (k - 1)
        while first < 0:
            first += d
        while last > rows - 1:
            last -= d
    return first, last


# %% answer="conv_field" wrong="the rows above are removed on each level, those below at the end"
def field(layers, size, place):
    rows = {place}
    for k, t, p, d in layers[::-1]:
        rows = {y * t - p + d * i for y in rows for i in range(k)}
        rows = {r for r in rows if r >= 0}
    rows = [r for r in rows if r < size]
    return min(rows), max(rows)


# %% answer="conv_field" wrong="turns the caller's list around"
def field(layers, size, place):
    sizes = [size]
    for k, t, p, d in layers:
        sizes.append((sizes[-1] + 2 * p - d * (k - 1) - 1) // t + 1)
    rows = {place}
    layers.reverse()
    for n, (k, t, p, d) in enumerate(layers):
        rows = {y * t - p + d * i for y in rows for i in range(k)}
        rows = {r for r in rows if 0 <= r < sizes[-2 - n]}
    return min(rows), max(rows)


# %% answer="conv_field" right="a product of matrices of zeros and ones"
def field(layers, size, place):
    path = np.eye(size, dtype=int)
    for k, t, p, d in layers:
        rows = path.shape[0]
        count = (rows + 2 * p - d * (k - 1) - 1) // t + 1
        step = np.zeros((count, rows), dtype=int)
        for y in range(count):
            for i in range(k):
                at = y * t - p + d * i
                if 0 <= at < rows:
                    step[y, at] = 1
        path = np.minimum(step @ path, 1)
    found = np.flatnonzero(path[place])
    return int(found[0]), int(found[-1])


# %% answer="conv_field" wrong="every level has as many rows as the image"
def field(layers, size, place):
    rows = {place}
    for k, t, p, d in reversed(layers):
        rows = {y * t - p + d * i for y in rows for i in range(k)}
        rows = {r for r in rows if 0 <= r < size}
    return min(rows), max(rows)


# %% answer="conv_field" wrong="rounded up, as if a last window stuck out"
def field(layers, size, place):
    sizes = [size]
    for k, t, p, d in layers:
        sizes.append(-(-(sizes[-1] + 2 * p - d * (k - 1) - 1) // t) + 1)
    rows = {place}
    for (k, t, p, d), count in zip(reversed(layers), reversed(sizes[:-1])):
        rows = {y * t - p + d * i for y in rows for i in range(k)}
        rows = {r for r in rows if 0 <= r < count}
    return min(rows), max(rows)


# %% answer="conv_field" right="recursion on the last layer, with one set of rows a level"
def field(layers, size, place):
    def height(count):
        rows = size
        for k, t, p, d in layers[:count]:
            rows = 1 + (rows + 2 * p - 1 - d * (k - 1)) // t
        return rows

    def behind(level, rows):
        if level == 0:
            return rows
        k, t, p, d = layers[level - 1]
        taps = {row * t + tap for row in rows for tap in range(-p, d * k - p, d)}
        return behind(level - 1, taps & set(range(height(level - 1))))

    rows = sorted(behind(len(layers), {place}))
    return rows[0], rows[-1]


# %% answer="conv_repair_fourier" wrong="one too short, so one row still wraps around"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh // 2 - 1, wide + kw // 2 - 1
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.fft.ifft2(spectrum).real[kh // 2 : kh // 2 + high, kw // 2 : kw // 2 + wide]


# %% answer="conv_repair_fourier" wrong="the kernel isn't flipped"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide + kw - 1
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel, size)
    return np.fft.ifft2(spectrum).real[kh // 2 : kh // 2 + high, kw // 2 : kw // 2 + wide]


# %% answer="conv_repair_fourier" wrong="begins at the corner"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide + kw - 1
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.fft.ifft2(spectrum).real[:high, :wide]


# %% answer="conv_repair_fourier" wrong="all of the result"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide + kw - 1
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.fft.ifft2(spectrum).real


# %% answer="conv_repair_fourier" wrong="the magnitude"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide + kw - 1
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.abs(np.fft.ifft2(spectrum))[kh // 2 : kh // 2 + high, kw // 2 : kw // 2 + wide]


# %% answer="conv_repair_fourier" wrong="sums, with a transform that has no effect"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    padded = np.pad(image, ((kh // 2,) * 2, (kw // 2,) * 2))
    np.fft.fft2(padded)
    return sum(kernel[i, j] * padded[i : i + high, j : j + wide] for i in range(kh) for j in range(kw))


# %% answer="conv_repair_fourier" right="rfft2 of the next power of two"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = [1 << (length - 1).bit_length() for length in (high + kh - 1, wide + kw - 1)]
    spectrum = np.fft.rfft2(image, size) * np.fft.rfft2(np.flip(kernel), size)
    result = np.fft.irfft2(spectrum, size)
    return result[kh // 2 :, kw // 2 :][:high, :wide]


# %% answer="conv_repair_fourier" right="the conjugate in place of the flip"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    padded = np.pad(image, ((kh // 2,) * 2, (kw // 2,) * 2))
    spectrum = np.fft.fft2(padded) * np.conj(np.fft.fft2(kernel, padded.shape))
    return np.fft.ifft2(spectrum).real[:high, :wide]


# %% answer="conv_repair_fourier" right="half a kernel more is enough"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = max(high + kh // 2, kh), max(wide + kw // 2, kw)
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.roll(np.fft.ifft2(spectrum).real, (-(kh // 2), -(kw // 2)), (0, 1))[:high, :wide]


# %% answer="conv_repair_fourier" wrong="only the columns are padded"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high, wide + kw - 1
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.roll(np.fft.ifft2(spectrum).real, (-(kh // 2), -(kw // 2)), (0, 1))[:, :wide]


# %% answer="conv_repair_fourier" wrong="pads by the longer side on both, and cuts by the rows'"
def fourier_convolution(image, kernel):
    (high, wide), half = image.shape, kernel.shape[0] // 2
    size = high + kernel.shape[0] - 1, wide + kernel.shape[1] - 1
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.fft.ifft2(spectrum).real[half : half + high, half : half + wide]


# %% answer="conv_repair_fourier" wrong="the image is padded in place of its edge"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    image[:, -(kw // 2) or wide :] = 0
    spectrum = np.fft.fft2(image) * np.fft.fft2(kernel[::-1, ::-1], image.shape)
    return np.roll(np.fft.ifft2(spectrum).real, (-(kh // 2), -(kw // 2)), (0, 1))


# %% answer="conv_repair_fourier" wrong="rounds to whole numbers, as in the example"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide + kw - 1
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.fft.ifft2(spectrum).real[kh // 2 : kh // 2 + high, kw // 2 : kw // 2 + wide].round()


# %% answer="conv_repair_fourier" right="half a kernel more; what it cuts off a larger kernel never meets the image"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh // 2, wide + kw // 2
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.roll(np.fft.ifft2(spectrum).real, (-(kh // 2), -(kw // 2)), (0, 1))[:high, :wide]


# %% answer="conv_repair_fourier" wrong="half a kernel of zeros on each side, and the kernel as large as the image"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    padded = np.pad(image, ((kh // 2, kh // 2), (kw // 2, kw // 2)))
    spectrum = np.fft.fft2(padded) * np.fft.fft2(kernel, padded.shape).conj()
    return np.fft.ifft2(spectrum).real[kh // 2 : kh // 2 + high, kw // 2 : kw // 2 + wide]


# %% answer="conv_repair_fourier" wrong="half of a real spectrum, for even widths alone"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide + kw - 1
    spectrum = np.fft.rfft2(image, size) * np.fft.rfft2(kernel[::-1, ::-1], size)
    return np.fft.irfft2(spectrum)[kh // 2 : kh // 2 + high, kw // 2 : kw // 2 + wide]


# %% answer="conv_repair_fourier" wrong="the kernel is turned where it is"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide + kw - 1
    kernel[:] = kernel[::-1, ::-1].copy()
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel, size)
    return np.fft.ifft2(spectrum).real[kh // 2 : kh // 2 + high, kw // 2 : kw // 2 + wide]


# %% answer="conv_repair_fourier" right="the conjugate spectrum correlates, and the edge of zeros keeps it from wrapping"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    padded = np.pad(image, ((kh // 2, kh), (kw // 2, kw)))
    spectrum = np.fft.fft2(padded) * np.fft.fft2(kernel, padded.shape).conj()
    return np.fft.ifft2(spectrum).real[:high, :wide]


# %% answer="conv_measure_geometry" wrong="the reach for the kernel"
def geometry(layer):
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x)[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]

    middle, below = rows_of(6), rows_of(7)
    stride = below[0] - middle[0]
    return middle[-1] - middle[0] + 1, stride, 6 * stride - middle[0], middle[1] - middle[0]


# %% answer="conv_measure_geometry" wrong="the first output, which the padding hides"
def geometry(layer):
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x)[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]

    middle, below = rows_of(0), rows_of(1)
    stride = below[0] - middle[0]
    return len(middle), stride, -middle[0], middle[1] - middle[0]


# %% answer="conv_measure_geometry" wrong="the sum of the gradient, in which weights cancel"
def geometry(layer):
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x)[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].sum() > 0]

    middle, below = rows_of(6), rows_of(7)
    stride = below[0] - middle[0]
    return len(middle), stride, 6 * stride - middle[0], middle[1] - middle[0]


# %% answer="conv_measure_geometry" wrong="stride and dilation exchanged"
def geometry(layer):
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x)[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]

    middle, below = rows_of(6), rows_of(7)
    stride = below[0] - middle[0]
    return len(middle), middle[1] - middle[0], 6 * stride - middle[0], stride


# %% answer="conv_measure_geometry" wrong="the padding's sign"
def geometry(layer):
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x)[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]

    middle, below = rows_of(6), rows_of(7)
    stride = below[0] - middle[0]
    return len(middle), stride, middle[0] - 6 * stride, middle[1] - middle[0]


# %% answer="conv_measure_geometry" wrong="the dilation from the third row"
def geometry(layer):
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x)[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]

    middle, below = rows_of(6), rows_of(7)
    stride = below[0] - middle[0]
    return len(middle), stride, 6 * stride - middle[0], middle[2] - middle[1]


# %% answer="conv_measure_geometry" wrong="the stride from the sizes, rounded"
def geometry(layer):
    x = torch.rand(1, 1, 48, 48, requires_grad=True)
    y = layer(x)
    (grad,) = torch.autograd.grad(y[0, 0, 6, 6], x)
    rows = [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]
    stride = round(48 / y.shape[2])
    return len(rows), stride, 6 * stride - rows[0], rows[1] - rows[0]


# %% answer="conv_measure_geometry" wrong="no padding"
def geometry(layer):
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x)[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]

    middle, below = rows_of(6), rows_of(7)
    return len(middle), below[0] - middle[0], 0, middle[1] - middle[0]


# %% answer="conv_measure_geometry" right="a larger image, columns, and a backward pass"
def geometry(layer):
    seen = []
    for place in (10, 11):
        x = torch.zeros(1, 1, 96, 96).requires_grad_()
        layer(x)[0, 0, 10, place].backward()
        seen.append([column for column in range(96) if bool((x.grad[0, 0, :, column] != 0).any())])
    stride = seen[1][0] - seen[0][0]
    return len(seen[0]), stride, 10 * stride - seen[0][0], seen[0][1] - seen[0][0]


# %% answer="conv_measure_geometry" right="a change of each pixel in place of a gradient"
def geometry(layer):
    eye = torch.zeros(64, 1, 64, 64)
    for row in range(64):
        eye[row, 0, row] = 1.0 + torch.arange(64.0)
    with torch.no_grad():
        answers = layer(eye)[:, 0]
    rows = [[row for row in range(64) if abs(answers[row, place, 8].item()) > 1e-9] for place in (8, 9)]
    stride = rows[1][0] - rows[0][0]
    return len(rows[0]), stride, 8 * stride - rows[0][0], rows[0][1] - rows[0][0]


# %% answer="conv_measure_geometry" right="the sizes of two images"
def geometry(layer):
    x = torch.rand(1, 1, 64, 64, requires_grad=True)
    (grad,) = torch.autograd.grad(layer(x)[0, 0, 6, 6], x)
    rows = [row for row in range(64) if grad[0, 0, row].abs().max() > 0]
    span = 12 * 40
    stride = span // (layer(torch.rand(1, 1, 40 + span, 40)).shape[2] - layer(torch.rand(1, 1, 40, 40)).shape[2])
    return len(rows), stride, 6 * stride - rows[0], rows[1] - rows[0]


# %% answer="conv_measure_geometry" wrong="the padding from the taps that the first output misses"
def geometry(layer):
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x)[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]

    middle, below, first = rows_of(6), rows_of(7), rows_of(0)
    dilation = middle[1] - middle[0]
    return len(middle), below[0] - middle[0], (len(middle) - len(first)) * dilation, dilation


# %% answer="conv_measure_geometry" wrong="the stride from how much smaller the result is"
def geometry(layer):
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x)[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]

    middle = rows_of(6)
    stride = round(48 / layer(torch.rand(1, 1, 48, 48)).shape[2])
    return len(middle), stride, 6 * stride - middle[0], middle[1] - middle[0]


# %% answer="conv_measure_geometry" wrong="the padding from the result's height, without what is dropped"
def geometry(layer):
    def rows_of(place):
        x = torch.rand(1, 1, 48, 48, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x)[0, 0, place, place], x)
        return [row for row in range(48) if grad[0, 0, row].abs().sum() > 0]

    middle, below = rows_of(6), rows_of(7)
    kernel, stride, dilation = len(middle), below[0] - middle[0], middle[1] - middle[0]
    high = layer(torch.rand(1, 1, 48, 48)).shape[2]
    padding = max(0, -(-((high - 1) * stride + dilation * (kernel - 1) + 1 - 48) // 2))
    return kernel, stride, padding, dilation


# %% answer="conv_measure_geometry" right="bright rows one at a time, and the stride from the heights for two images"
def geometry(layer):
    def high(size):
        return layer(torch.zeros(1, 1, size, 48)).shape[2]

    def answers(row):
        x = torch.zeros(1, 1, 64, 48)
        x[0, 0, row] = 1.0
        return bool((layer(x)[0, :, 5, 6] != 0).any())

    stride = round(1200 / (high(1248) - high(48)))
    rows = [row for row in range(64) if answers(row)]
    return len(rows), stride, 5 * stride - rows[0], (rows[-1] - rows[0]) // (len(rows) - 1)


# %% answer="conv_transposed_and_pools" wrong="without the output padding" spoils="conv_transpose2d"
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = tuple(t * (s - 1) - 2 * p + d * (k - 1) + 1 for s, k, t, p, d in zip(images.shape[2:], *windows))
    result = plus_bias(convolve_back(images, weight, windows, groups, size), bias)
    return result if input.ndim == 4 else result.squeeze(0)


# %% answer="conv_transposed_and_pools" wrong="without the bias" spoils="conv_transpose2d"
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = tuple(t * (s - 1) - 2 * p + d * (k - 1) + 1 + e for s, e, k, t, p, d in zip(images.shape[2:], extra, *windows))
    result = convolve_back(images, weight, windows, groups, size)
    return result if input.ndim == 4 else result.squeeze(0)


# %% answer="conv_transposed_and_pools" wrong="a single image stays a batch" spoils="conv_transpose2d"
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = tuple(t * (s - 1) - 2 * p + d * (k - 1) + 1 + e for s, e, k, t, p, d in zip(images.shape[2:], extra, *windows))
    return plus_bias(convolve_back(images, weight, windows, groups, size), bias)


# %% answer="conv_transposed_and_pools" wrong="the padding makes it larger" spoils="conv_transpose2d"
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = tuple(t * (s - 1) + d * (k - 1) + 1 + e for s, e, k, t, p, d in zip(images.shape[2:], extra, *windows))
    result = plus_bias(convolve_back(images, weight, windows, groups, size), bias)
    return result if input.ndim == 4 else result.squeeze(0)


# %% answer="conv_transposed_and_pools" wrong="no check of the output padding" spoils="conv_transpose2d"
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    size = tuple(t * (s - 1) - 2 * p + d * (k - 1) + 1 + e for s, e, k, t, p, d in zip(images.shape[2:], extra, *windows))
    result = plus_bias(convolve_back(images, weight, windows, groups, size), bias)
    return result if input.ndim == 4 else result.squeeze(0)


# %% answer="conv_transposed_and_pools" wrong="all in one group" spoils="conv_transpose2d"
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = tuple(t * (s - 1) - 2 * p + d * (k - 1) + 1 + e for s, e, k, t, p, d in zip(images.shape[2:], extra, *windows))
    result = plus_bias(convolve_back(images, weight, windows, 1, size), bias)
    return result if input.ndim == 4 else result.squeeze(0)


# %% answer="conv_transposed_and_pools" wrong="the padding counts as 0" spoils="pooled max_pool2d avg_pool2d"
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    return seen(input, windows, 0.0).max(-2)[0].reshape(pooled(input, windows))


# %% answer="conv_transposed_and_pools" wrong="equal numbers share the gradient" spoils="pooled max_pool2d avg_pool2d"
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    return seen(input, windows, float("-inf")).amax(-2).reshape(pooled(input, windows))


# %% answer="conv_transposed_and_pools" wrong="a stride of 1 unless one is given" spoils="pooled max_pool2d avg_pool2d"
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride or 1, padding, dilation)
    return seen(input, windows, float("-inf")).max(-2)[0].reshape(pooled(input, windows))


# %% answer="conv_transposed_and_pools" wrong="the dilation is ignored" spoils="pooled max_pool2d avg_pool2d"
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, 1)
    return seen(input, windows, float("-inf")).max(-2)[0].reshape(pooled(input, windows))


# %% answer="conv_transposed_and_pools" wrong="the padding doesn't count" spoils="pooled max_pool2d avg_pool2d"
def avg_pool2d(input, kernel_size, stride=None, padding=0):
    from mytorch import ones

    windows = windows_on(input, kernel_size, stride, padding, 1)
    total, times = (seen(each, windows, 0.0).sum(-2) for each in (input, ones(1, 1, *input.shape[-2:])))
    return (total / times).reshape(pooled(input, windows))


# %% answer="conv_transposed_and_pools" wrong="the sum" spoils="pooled max_pool2d avg_pool2d"
def avg_pool2d(input, kernel_size, stride=None, padding=0):
    windows = windows_on(input, kernel_size, stride, padding, 1)
    return seen(input, windows, 0.0).sum(-2).reshape(pooled(input, windows))


# %% answer="conv_transposed_and_pools" wrong="the shape of a batch alone" spoils="pooled max_pool2d avg_pool2d"
def pooled(input, windows):
    return input.shape[0], input.shape[1], *windows.counts(input.shape[-2:])


# %% answer="conv_transposed_and_pools" wrong="windows of equal size, without the rest" spoils="bounds adaptive_avg_pool2d"
def bounds(size, count):
    return [(i * (size // count), (i + 1) * (size // count)) for i in range(count)]


# %% answer="conv_transposed_and_pools" wrong="both ends rounded down" spoils="bounds adaptive_avg_pool2d"
def bounds(size, count):
    return [(i * size // count, (i + 1) * size // count) for i in range(count)]


# %% answer="conv_transposed_and_pools" wrong="rounded to the nearest" spoils="bounds adaptive_avg_pool2d"
def bounds(size, count):
    return [(round(i * size / count), round((i + 1) * size / count)) for i in range(count)]


# %% answer="conv_transposed_and_pools" wrong="one more than rounded down" spoils="bounds adaptive_avg_pool2d"
def bounds(size, count):
    return [(i * size // count, (i + 1) * size // count + 1) for i in range(count)]


# %% answer="conv_transposed_and_pools" wrong="rows and columns exchanged" spoils="bounds adaptive_avg_pool2d"
def adaptive_avg_pool2d(input, output_size):
    across, down = (bounds(size, count) for size, count in zip(input.shape[:-3:-1], pair(output_size)))
    rows = [stack([input[..., top:end, left:right].mean((-2, -1)) for left, right in across], -1) for top, end in down]
    return stack(rows, -2)


# %% answer="conv_transposed_and_pools" wrong="a batch is taken for granted" spoils="bounds adaptive_avg_pool2d"
def adaptive_avg_pool2d(input, output_size):
    down, across = (bounds(size, count) for size, count in zip(input.shape[-2:], pair(output_size)))
    rows = [stack([input[..., top:end, left:right].mean((-2, -1)) for left, right in across], 2) for top, end in down]
    return stack(rows, 2)


# %% answer="conv_transposed_and_pools" wrong="the means of the rows' means, detached" spoils="bounds adaptive_avg_pool2d"
def adaptive_avg_pool2d(input, output_size):
    down, across = (bounds(size, count) for size, count in zip(input.shape[-2:], pair(output_size)))
    rows = [stack([input[..., top:end, left:right].detach().mean((-2, -1)) for left, right in across], -1) for top, end in down]
    return stack(rows, -2)


# %% answer="conv_transposed_and_pools" right="math.ceil, cat, a sum divided, gather by the index"
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = []
    for dim in (0, 1):
        reach = windows.dilation[dim] * (windows.kernel[dim] - 1) + 1
        size.append((images.shape[2 + dim] - 1) * windows.stride[dim] - 2 * windows.padding[dim] + reach + extra[dim])
    result = convolve_back(images, weight, windows, groups, tuple(size))
    if bias is not None:
        result = result + bias.reshape(1, -1, 1, 1)
    return result[0] if len(input.shape) == 3 else result


def pooled(input, windows):
    *lead, high, wide = input.shape
    return (*lead, *windows.counts((high, wide)))


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    values, _ = seen(input, windows, -float("inf")).max(1)
    return values.reshape(*pooled(input, windows))


def avg_pool2d(input, kernel_size, stride=None, padding=0):
    windows = windows_on(input, kernel_size, stride, padding, 1)
    return (seen(input, windows, 0.0).sum(1) / (windows.kernel[0] * windows.kernel[1])).reshape(pooled(input, windows))


def bounds(size, count):
    import math

    return [(math.floor(i * size / count), math.ceil((i + 1) * size / count)) for i in range(count)]


def adaptive_avg_pool2d(input, output_size):
    high, wide = pair(output_size)
    rows = bounds(input.shape[-2], high)
    columns = bounds(input.shape[-1], wide)
    found = stack([input[..., a:b, c:d].mean(-1).mean(-1) for a, b in rows for c, d in columns], -1)
    return found.reshape(*input.shape[:-2], high, wide)


# %% answer="conv_transposed_and_pools" right="a transposed convolution from conv2d's own gradient is a col2im"
def bounds(size, count):
    return [[i * size // count, ((i + 1) * size + count - 1) // count] for i in range(count)]


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    found = seen(input, windows, float("-inf"))
    return found.max(dim=-2)[0].reshape(pooled(input, windows))


# %% answer="conv_transposed_and_pools" wrong="the padding is the least pixel, and wins a tie" spoils="pooled max_pool2d avg_pool2d"
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    return seen(input, windows, input.min().item()).max(-2)[0].reshape(pooled(input, windows))


# %% answer="conv_transposed_and_pools" wrong="the least float32" spoils="pooled max_pool2d avg_pool2d"
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    return seen(input, windows, -3.4028234663852886e38).max(-2)[0].reshape(pooled(input, windows))


# %% answer="conv_transposed_and_pools" wrong="one extra for rows and columns" spoils="conv_transpose2d"
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = tuple(
        t * (s - 1) - 2 * p + d * (k - 1) + 1 + extra[0] for s, k, t, p, d in zip(images.shape[2:], *windows)
    )
    result = plus_bias(convolve_back(images, weight, windows, groups, size), bias)
    return result.reshape(result.shape[4 - input.ndim :])


# %% answer="conv_transposed_and_pools" wrong="the least float64" spoils="pooled max_pool2d avg_pool2d"
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    return seen(input, windows, float(np.finfo(np.float64).min)).max(-2)[0].reshape(pooled(input, windows))


# %% answer="conv_transposed_and_pools" wrong="the number of planes is left to reshape, which an empty batch doesn't tell" spoils="pooled max_pool2d avg_pool2d"
def pooled(input, windows):
    return *input.shape[:-3], -1, *windows.counts(input.shape[-2:])


# %% answer="conv_transposed_and_pools" wrong="multiples of a rounded step" spoils="bounds adaptive_avg_pool2d"
def bounds(size, count):
    step = size / count
    ends = [int((i + 1) * step) + ((i + 1) * step > int((i + 1) * step)) for i in range(count)]
    return [(int(i * step), min(end, size)) for i, end in enumerate(ends)]


# %% answer="conv_transposed_and_pools" wrong="np.linspace, whose numbers are rounded" spoils="bounds adaptive_avg_pool2d"
def bounds(size, count):
    edges = np.linspace(0, size, count + 1)
    return [(int(np.floor(low)), int(np.ceil(high))) for low, high in zip(edges, edges[1:])]


# %% answer="conv_transposed_and_pools" wrong="windows that don't overlap" spoils="bounds adaptive_avg_pool2d"
def bounds(size, count):
    starts = [i * size // count for i in range(count)] + [size]
    return [(low, max(high, low + 1)) for low, high in zip(starts, starts[1:])]


# %% answer="conv_transposed_and_pools" wrong="the mean of a square of the first side" spoils="pooled max_pool2d avg_pool2d"
def avg_pool2d(input, kernel_size, stride=None, padding=0):
    windows = windows_on(input, kernel_size, stride, padding, 1)
    return (seen(input, windows, 0.0).sum(-2) / windows.kernel[0] ** 2).reshape(pooled(input, windows))


# %% answer="conv_product" right="the batch as the length that is left over"
def convolve(images, weight, windows, groups):
    rows, columns = windows.counts(images.shape[2:])
    seen = im2col(images, windows)
    depth = weight.shape[1] * weight.shape[2] * weight.shape[3]
    seen = seen.reshape(-1, groups, depth, rows * columns)
    kernels = weight.reshape(groups, weight.shape[0] // groups, depth)
    return (kernels @ seen).reshape(-1, weight.shape[0], rows, columns)


# %% answer="conv_im2col" wrong="strides as if the images were contiguous"
def im2col(images, windows, fill=0.0):
    count, channels = images.shape[:2]
    counts = windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    kh, kw = windows.kernel
    size = padded.itemsize
    high, wide = padded.shape[2:]
    steps = (channels * high * wide * size, high * wide * size, windows.dilation[0] * wide * size, windows.dilation[1] * size, windows.stride[0] * wide * size, windows.stride[1] * size)
    seen = np.lib.stride_tricks.as_strided(padded, (count, channels, kh, kw, *counts), steps)
    return seen.reshape(count, channels * kh * kw, counts[0] * counts[1])


# %% answer="conv_im2col" wrong="a view of the images for a kernel of one tap"
def im2col(images, windows, fill=0.0):
    (count, channels), counts = images.shape[:2], windows.counts(images.shape[2:])
    if count_of(windows.kernel) == 1 and windows.stride == (1, 1) and windows.padding == (0, 0):
        return images.reshape(count, channels, count_of(counts))
    padded = pad(images, windows.padding, fill)
    columns = np.empty_like(images, shape=(count, channels, *windows.kernel, *counts))
    for i, j in np.ndindex(*windows.kernel):
        rows, across = windows.seen((i, j), counts)
        columns[:, :, i, j] = padded[:, :, rows, across]
    return columns.reshape(count, channels * count_of(windows.kernel), count_of(counts))


# %% answer="conv_col2im" wrong="adds into the columns"
def col2im(columns, windows, size):
    (count, rows), counts, (high, wide) = columns.shape[:2], windows.counts(size), windows.padding
    channels = rows // count_of(windows.kernel)
    view = columns.reshape(count, channels, *windows.kernel, *counts)
    padded = np.zeros_like(columns, shape=(count, channels, size[0] + 2 * high, size[1] + 2 * wide))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        view[:, :, i, j] += padded[:, :, down, across]
        padded[:, :, down, across] = view[:, :, i, j]
    return padded[:, :, high : high + size[0], wide : wide + size[1]]


# %% answer="conv_product" wrong="view, which refuses transposed weights"
def convolve(images, weight, windows, groups):
    count, outputs, counts = len(images), weight.shape[0], windows.counts(images.shape[2:])
    depth = weight[0].numel()
    columns = im2col(images, windows).view(count, groups, depth, count_of(counts))
    kernels = weight.view(groups, outputs // groups, depth)
    return (kernels @ columns).view(count, outputs, *counts)


# %% answer="conv_repair_fourier" wrong="the result has the dtype of the image, so integers are truncated"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = high + kh - 1, wide + kw - 1
    spectrum = np.fft.rfft2(image, size) * np.fft.rfft2(np.flip(kernel), size)
    return np.fft.irfft2(spectrum, size)[kh // 2 : kh // 2 + high, kw // 2 : kw // 2 + wide].astype(image.dtype)


# %% answer="conv_repair_fourier" right="twice the size of the image"
def fourier_convolution(image, kernel):
    (high, wide), (kh, kw) = image.shape, kernel.shape
    size = 2 * high, 2 * wide
    spectrum = np.fft.fft2(image, size) * np.fft.fft2(kernel[::-1, ::-1], size)
    return np.fft.ifft2(spectrum).real[kh // 2 : kh // 2 + high, kw // 2 : kw // 2 + wide]


# %% answer="conv_transposed_and_pools" wrong="nan counts as minus infinity"
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    found = seen(input, windows, float("-inf"))
    found = found.masked_fill(found != found, float("-inf"))
    return found.max(-2)[0].reshape(pooled(input, windows))


# %% answer="conv_transposed_and_pools" right="a sum divided by the number of taps"
def avg_pool2d(input, kernel_size, stride=None, padding=0):
    windows = windows_on(input, kernel_size, stride, padding, 1)
    return (seen(input, windows, 0.0).sum(-2) / float(count_of(windows.kernel))).reshape(pooled(input, windows))
