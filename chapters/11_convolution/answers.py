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
