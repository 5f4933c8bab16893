# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 10` grades them.


# %% answer="init_predict_vanishing" right="as first written, from the task alone"
prediction = "b"


# %% answer="init_softmax" right="as first written, from the task alone"
from mytorch.nn.activation import derivative


def softmax(x, dim):
    check_floats(x, dim, "softmax")
    axes = normalize_dims(dim, x.ndim)
    e = np.exp(x - x.max(axis=axes, keepdims=True))
    return e / e.sum(axis=axes, keepdims=True)


derivative("softmax", x=lambda g, result, dim: result * (g - (g * result).sum(dim, keepdim=True)))


def log_softmax(x, dim):
    check_floats(x, dim, "log_softmax")
    axes = normalize_dims(dim, x.ndim)
    z = x - x.max(axis=axes, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=axes, keepdims=True))


derivative("log_softmax", x=lambda g, result, dim: g - result.exp() * g.sum(dim, keepdim=True))


# %% answer="init_softmax" wrong="g - p"
from mytorch.nn.activation import derivative


def softmax(x, dim):
    check_floats(x, dim, "softmax")
    axes = normalize_dims(dim, x.ndim)
    e = np.exp(x - x.max(axis=axes, keepdims=True))
    return e / e.sum(axis=axes, keepdims=True)


derivative("softmax", x=lambda g, result, dim: result * (g - (g * result).sum(dim, keepdim=True)))


def log_softmax(x, dim):
    check_floats(x, dim, "log_softmax")
    axes = normalize_dims(dim, x.ndim)
    z = x - x.max(axis=axes, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=axes, keepdims=True))


derivative("log_softmax", x=lambda g, result, dim: g - result.exp())


# %% answer="init_softmax" wrong="g summed without its y"
from mytorch.nn.activation import derivative


def softmax(x, dim):
    check_floats(x, dim, "softmax")
    axes = normalize_dims(dim, x.ndim)
    e = np.exp(x - x.max(axis=axes, keepdims=True))
    return e / e.sum(axis=axes, keepdims=True)


derivative("softmax", x=lambda g, result, dim: result * g - result * result * g.sum(dim, keepdim=True))


def log_softmax(x, dim):
    check_floats(x, dim, "log_softmax")
    axes = normalize_dims(dim, x.ndim)
    z = x - x.max(axis=axes, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=axes, keepdims=True))


derivative("log_softmax", x=lambda g, result, dim: g - result.exp() * g.sum(dim, keepdim=True))


# %% answer="init_fans_and_gains" right="as first written, from the task alone"
def calculate_gain(nonlinearity, param=None):
    if nonlinearity in ("linear", "conv1d", "conv2d", "sigmoid"):
        return 1.0
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity == "relu":
        return math.sqrt(2)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2 / (1 + slope**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor):
    if len(tensor.shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def xavier_std(tensor, gain):
    return gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor)))


def kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


# %% answer="init_clip_norm" right="as first written, from the task alone"
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    if norm_type == float("inf"):
        norm = stack([g.abs().max() for g in grads]).max()
    else:
        norm = stack([(g.abs() ** norm_type).sum() for g in grads]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(factor)
    return norm


# %% answer="init_backward_by_hand" right="as first written, from the task alone"
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    pre = x @ w1.T + b1
    hidden = np.maximum(pre, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    n = len(x)
    loss = -logs[np.arange(n), labels].mean()
    g = np.exp(logs)
    g[np.arange(n), labels] -= 1
    g /= n
    gh = (g @ w2) * (pre > 0)
    return loss, {"w1": gh.T @ x, "b1": gh.sum(0), "w2": g.T @ hidden, "b2": g.sum(0)}


# %% answer="init_backward_by_hand" wrong=">= 0"
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    pre = x @ w1.T + b1
    hidden = np.maximum(pre, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    n = len(x)
    loss = -logs[np.arange(n), labels].mean()
    g = np.exp(logs)
    g[np.arange(n), labels] -= 1
    g /= n
    gh = (g @ w2) * (pre >= 0)
    return loss, {"w1": gh.T @ x, "b1": gh.sum(0), "w2": g.T @ hidden, "b2": g.sum(0)}


# %% answer="init_backward_by_hand" wrong="maximum not subtracted"
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    pre = x @ w1.T + b1
    hidden = np.maximum(pre, 0)
    scores = hidden @ w2.T + b2
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    n = len(x)
    loss = -logs[np.arange(n), labels].mean()
    g = np.exp(logs)
    g[np.arange(n), labels] -= 1
    g /= n
    gh = (g @ w2) * (pre > 0)
    return loss, {"w1": gh.T @ x, "b1": gh.sum(0), "w2": g.T @ hidden, "b2": g.sum(0)}


# %% answer="init_repair_flat" right="kaiming_uniform_"
def initialize(layers):
    for layer in layers:
        torch.nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
        torch.nn.init.zeros_(layer.bias)


# %% answer="init_measure_gain" right="as first written, from the task alone"
def measured_gain(nonlinearity):
    torch.manual_seed(0)
    return nonlinearity(torch.randn(2_000_000)).square().mean().item() ** -0.5


# %% answer="init_measure_gain" wrong="100,000 numbers"
def measured_gain(nonlinearity):
    torch.manual_seed(0)
    return nonlinearity(torch.randn(100_000)).square().mean().item() ** -0.5


# %% answer="init_measure_gain" wrong="evenly spaced numbers"
def measured_gain(nonlinearity):
    torch.manual_seed(0)
    return nonlinearity(torch.linspace(-4, 4, 2_000_000)).square().mean().item() ** -0.5


# %% answer="init_smooth" right="as first written, from the task alone"
def gelu(input, approximate="none"):
    if approximate == "none":
        return input * (1 + erf(input / 2**0.5)) / 2
    if approximate == "tanh":
        return input * (1 + ((2 / np.pi) ** 0.5 * (input + 0.044715 * input**3)).tanh()) / 2
    raise RuntimeError("approximate argument must be either none or tanh.")


def silu(input):
    return input * input.sigmoid()


def gradients_of(parameters):
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


def clip_grad_value_(parameters, clip_value):
    with no_grad():
        for g in gradients_of(parameters):
            copy_(g, g.clamp(-clip_value, clip_value))


# %% answer="init_smooth" right="silu by tanh"
def gelu(input, approximate="none"):
    if approximate == "none":
        return input * (1 + erf(input / 2**0.5)) / 2
    if approximate == "tanh":
        return input * (1 + ((2 / np.pi) ** 0.5 * (input + 0.044715 * input**3)).tanh()) / 2
    raise RuntimeError("approximate argument must be either none or tanh.")


def silu(input):
    return input * 0.5 * (1 + (input / 2).tanh())


def gradients_of(parameters):
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


def clip_grad_value_(parameters, clip_value):
    with no_grad():
        for g in gradients_of(parameters):
            copy_(g, g.clamp(-clip_value, clip_value))


# %% answer="init_smooth" wrong="silu by exp"
def gelu(input, approximate="none"):
    if approximate == "none":
        return input * (1 + erf(input / 2**0.5)) / 2
    if approximate == "tanh":
        return input * (1 + ((2 / np.pi) ** 0.5 * (input + 0.044715 * input**3)).tanh()) / 2
    raise RuntimeError("approximate argument must be either none or tanh.")


def silu(input):
    return input / (1 + (-input).exp())


def gradients_of(parameters):
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


def clip_grad_value_(parameters, clip_value):
    with no_grad():
        for g in gradients_of(parameters):
            copy_(g, g.clamp(-clip_value, clip_value))


# %% answer="init_smooth" wrong="no lower limit"
def gelu(input, approximate="none"):
    if approximate == "none":
        return input * (1 + erf(input / 2**0.5)) / 2
    if approximate == "tanh":
        return input * (1 + ((2 / np.pi) ** 0.5 * (input + 0.044715 * input**3)).tanh()) / 2
    raise RuntimeError("approximate argument must be either none or tanh.")


def silu(input):
    return input * input.sigmoid()


def gradients_of(parameters):
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


def clip_grad_value_(parameters, clip_value):
    with no_grad():
        for g in gradients_of(parameters):
            copy_(g, g.clamp(max=clip_value))


# %% answer="init_smooth" wrong="gelu by a sigmoid"
def gelu(input, approximate="none"):
    if approximate == "none":
        return input * (1.702 * input).sigmoid()
    if approximate == "tanh":
        return input * (1 + ((2 / np.pi) ** 0.5 * (input + 0.044715 * input**3)).tanh()) / 2
    raise RuntimeError("approximate argument must be either none or tanh.")


def silu(input):
    return input * input.sigmoid()


def gradients_of(parameters):
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


def clip_grad_value_(parameters, clip_value):
    with no_grad():
        for g in gradients_of(parameters):
            copy_(g, g.clamp(-clip_value, clip_value))


# %% answer="init_softmax" wrong="the largest number of all dimensions"
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.max(x))
    return e / np.sum(e, dims, keepdims=True)


# %% answer="init_softmax" wrong="writes into its input"
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    x -= np.max(x, dims, keepdims=True)
    e = np.exp(x)
    return e / np.sum(e, dims, keepdims=True)


# %% answer="init_softmax" wrong="rows of minus infinity give zeros"
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.nan_to_num(np.exp(x - np.max(x, dims, keepdims=True)))
    return e / np.maximum(np.sum(e, dims, keepdims=True), 1e-30)


# %% answer="init_softmax" wrong="always the last dimension"
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    e = np.exp(x - np.max(x, -1, keepdims=True))
    return e / np.sum(e, -1, keepdims=True)


# %% answer="init_softmax" wrong="a small number in the denominator"
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return e / (np.sum(e, dims, keepdims=True) + 1e-9)


# %% answer="init_softmax" wrong="no check of the dtype"
def softmax(x, dim):
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return e / np.sum(e, dims, keepdims=True)


# %% answer="init_softmax" wrong="the logarithm of a probability" spoils="log_softmax"
def log_softmax(x, dim):
    check_floats(x, dim, "log_softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return np.log(e / np.sum(e, dims, keepdims=True))


# %% answer="init_softmax" wrong="the largest number isn't subtracted" spoils="log_softmax"
def log_softmax(x, dim):
    check_floats(x, dim, "log_softmax")
    dims = normalize_dims(dim, x.ndim)
    return x - np.log(np.sum(np.exp(x), dims, keepdims=True))


# %% answer="init_softmax" wrong="another name in the error" spoils="log_softmax"
def log_softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    x = x - np.max(x, dims, keepdims=True)
    return x - np.log(np.sum(np.exp(x), dims, keepdims=True))


# %% answer="init_softmax" wrong="the largest number is subtracted twice" spoils="log_softmax"
def log_softmax(x, dim):
    check_floats(x, dim, "log_softmax")
    dims = normalize_dims(dim, x.ndim)
    top = np.max(x, dims, keepdims=True)
    return x - top - np.log(np.sum(np.exp(x - top), dims, keepdims=True)) - top


# %% answer="init_softmax" right="logaddexp and exponentials of the logarithm"
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    (axis,) = normalize_dims(dim, x.ndim) or (None,)
    top = x.max(axis=axis, keepdims=True)
    powers = np.exp(np.subtract(x, top))
    return np.true_divide(powers, powers.sum(axis=axis, keepdims=True))


def log_softmax(x, dim):
    check_floats(x, dim, "log_softmax")
    dims = normalize_dims(dim, x.ndim)
    total = np.logaddexp.reduce(x, dims, keepdims=True)
    return x - total


# %% answer="init_fans_and_gains" wrong="a slope of 0 counts as none" spoils="calculate_gain"
def calculate_gain(nonlinearity, param=None):
    if nonlinearity in ("linear", "conv1d", "conv2d", "sigmoid"):
        return 1
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity == "relu":
        return math.sqrt(2)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (param or 0.01) ** 2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


# %% answer="init_fans_and_gains" wrong="the slope isn't squared" spoils="calculate_gain"
def calculate_gain(nonlinearity, param=None):
    slope = 0.01 if param is None else param
    gains = {"tanh": 5 / 3, "relu": 2**0.5, "leaky_relu": (2 / (1 + abs(slope))) ** 0.5}
    gains |= dict.fromkeys(("linear", "conv1d", "conv2d", "sigmoid"), 1)
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


# %% answer="init_fans_and_gains" wrong="a KeyError for another name" spoils="calculate_gain"
def calculate_gain(nonlinearity, param=None):
    slope = 0.01 if param is None else param
    gains = {"tanh": 5 / 3, "relu": 2**0.5, "leaky_relu": (2 / (1 + slope**2)) ** 0.5}
    gains |= dict.fromkeys(("linear", "conv1d", "conv2d", "sigmoid"), 1)
    return gains[nonlinearity]


# %% answer="init_fans_and_gains" wrong="another name counts as linear" spoils="calculate_gain"
def calculate_gain(nonlinearity, param=None):
    slope = 0.01 if param is None else param
    gains = {"tanh": 5 / 3, "relu": 2**0.5, "leaky_relu": (2 / (1 + slope**2)) ** 0.5}
    return gains.get(nonlinearity, 1)


# %% answer="init_fans_and_gains" wrong="the gain of leaky_relu where the slope is the default's" spoils="calculate_gain"
def calculate_gain(nonlinearity, param=0.0):
    slope = param or 0.0
    gains = {"tanh": 5 / 3, "relu": 2**0.5, "leaky_relu": (2 / (1 + slope**2)) ** 0.5}
    gains |= dict.fromkeys(("linear", "conv1d", "conv2d", "sigmoid"), 1)
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


# %% answer="init_fans_and_gains" wrong="in and out exchanged" spoils="_calculate_fan_in_and_fan_out"
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[0] * window, tensor.shape[1] * window


# %% answer="init_fans_and_gains" wrong="two window dimensions at most" spoils="_calculate_fan_in_and_fan_out"
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = math.prod(tensor.shape[2:4])
    return tensor.shape[1] * window, tensor.shape[0] * window


# %% answer="init_fans_and_gains" wrong="the window counts for the inputs alone" spoils="_calculate_fan_in_and_fan_out"
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    return math.prod(tensor.shape[1:]), tensor.shape[0]


# %% answer="init_fans_and_gains" wrong="no error for a bias" spoils="_calculate_fan_in_and_fan_out"
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim == 1:
        return tensor.shape[0], tensor.shape[0]
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


# %% answer="init_fans_and_gains" wrong="the sum of the window's sides" spoils="_calculate_fan_in_and_fan_out"
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = sum(tensor.shape[2:]) or 1
    return tensor.shape[1] * window, tensor.shape[0] * window


# %% answer="init_fans_and_gains" wrong="the gain under the root" spoils="xavier_std kaiming_std"
def xavier_std(tensor, gain):
    return math.sqrt(gain * 2 / sum(_calculate_fan_in_and_fan_out(tensor)))


# %% answer="init_fans_and_gains" wrong="the mean of the fans is forgotten" spoils="xavier_std kaiming_std"
def xavier_std(tensor, gain):
    return gain * math.sqrt(1 / sum(_calculate_fan_in_and_fan_out(tensor)))


# %% answer="init_fans_and_gains" wrong="the fan isn't under a root" spoils="xavier_std kaiming_std"
def kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity, a) / (fan_in if mode == "fan_in" else fan_out)


# %% answer="init_fans_and_gains" wrong="every other mode is fan_out" spoils="xavier_std kaiming_std"
def kaiming_std(tensor, a, mode, nonlinearity):
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


# %% answer="init_fans_and_gains" wrong="the slope isn't passed on" spoils="xavier_std kaiming_std"
def kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


# %% answer="init_fans_and_gains" wrong="the start of the name decides" spoils="xavier_std kaiming_std"
def kaiming_std(tensor, a, mode, nonlinearity):
    if not mode.startswith("fan_"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


# %% answer="init_fans_and_gains" right="a match, numel for the window, powers for roots"
def calculate_gain(nonlinearity, param=None):
    match nonlinearity:
        case "linear" | "conv1d" | "conv2d" | "sigmoid":
            return 1.0
        case "tanh":
            return 5.0 / 3
        case "relu":
            return 2**0.5
        case "leaky_relu":
            slope = param if param is not None else 0.01
            return (2 / (1 + slope * slope)) ** 0.5
    raise ValueError("Unsupported nonlinearity " + nonlinearity)


def _calculate_fan_in_and_fan_out(tensor):
    if len(tensor.shape) <= 1:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *window = tensor.shape
    return math.prod([inputs, *window]), math.prod([outputs, *window])


def xavier_std(tensor, gain):
    inputs, outputs = _calculate_fan_in_and_fan_out(tensor)
    return gain * (2.0 / (inputs + outputs)) ** 0.5


def kaiming_std(tensor, a, mode, nonlinearity):
    fans = dict(zip(("fan_in", "fan_out"), _calculate_fan_in_and_fan_out(tensor)))
    if mode not in fans:
        raise ValueError(f"Mode {mode} not supported, please use one of {list(fans)}")
    return calculate_gain(nonlinearity, a) * fans[mode] ** -0.5


# %% answer="init_clip_norm" wrong="a norm for each gradient alone"
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    infinite = norm_type == float("inf")
    norms = [g.abs().amax() if infinite else (g.abs() ** norm_type).sum() ** (1 / norm_type) for g in grads]
    norm = stack(norms).amax() if infinite else (stack(norms) ** norm_type).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    for g, each in zip(grads, norms):
        g.mul_((max_norm / (each + 1e-6)).clamp(max=1.0))
    return norm


# %% answer="init_clip_norm" wrong="enlarges short gradients"
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    if norm_type == float("inf"):
        norm = stack([g.abs().amax() for g in grads]).amax()
    else:
        norm = stack([(g.abs() ** norm_type).sum() for g in grads]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    for g in grads:
        g.mul_(max_norm / (norm + 1e-6))
    return norm


# %% answer="init_clip_norm" wrong="an if, which leaves nan gradients as they are"
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    if norm_type == float("inf"):
        norm = stack([g.abs().amax() for g in grads]).amax()
    else:
        norm = stack([(g.abs() ** norm_type).sum() for g in grads]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    if norm > max_norm:
        for g in grads:
            g.mul_(max_norm / (norm + 1e-6))
    return norm


# %% answer="init_clip_norm" wrong="no small number in the denominator"
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    if norm_type == float("inf"):
        norm = stack([g.abs().amax() for g in grads]).amax()
    else:
        norm = stack([(g.abs() ** norm_type).sum() for g in grads]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    for g in grads:
        g.mul_((max_norm / norm).clamp(max=1.0))
    return norm


# %% answer="init_clip_norm" wrong="checks after it has scaled"
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    if norm_type == float("inf"):
        norm = stack([g.abs().amax() for g in grads]).amax()
    else:
        norm = stack([(g.abs() ** norm_type).sum() for g in grads]).sum() ** (1 / norm_type)
    for g in grads:
        g.mul_((max_norm / (norm + 1e-6)).clamp(max=1.0))
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    return norm


# %% answer="init_clip_norm" wrong="the norm after clipping"
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())

    def measured():
        if norm_type == float("inf"):
            return stack([g.abs().amax() for g in grads]).amax()
        return stack([(g.abs() ** norm_type).sum() for g in grads]).sum() ** (1 / norm_type)

    norm = measured()
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    for g in grads:
        g.mul_((max_norm / (norm + 1e-6)).clamp(max=1.0))
    return measured()


# %% answer="init_clip_norm" wrong="records, where a gradient has a history"
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    if norm_type == float("inf"):
        norm = stack([g.abs().amax() for g in grads]).amax()
    else:
        norm = stack([(g.abs() ** norm_type).sum() for g in grads]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    for g in grads:
        g.mul_((max_norm / (norm + 1e-6)).clamp(max=1.0))
    return norm


# %% answer="init_clip_norm" wrong="the iterator is consumed twice"
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    if not gradients_of(parameters):
        return zeros(())
    grads = gradients_of(parameters)
    if norm_type == float("inf"):
        norm = stack([g.abs().amax() for g in grads]).amax()
    else:
        norm = stack([(g.abs() ** norm_type).sum() for g in grads]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    for g in grads:
        g.mul_((max_norm / (norm + 1e-6)).clamp(max=1.0))
    return norm


# %% answer="init_clip_norm" right="one long vector under a with"
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    from mytorch import cat

    with no_grad():
        grads = gradients_of(parameters)
        if len(grads) == 0:
            return zeros(())
        everything = cat([g.reshape(-1) for g in grads]).abs()
        norm = everything.amax() if norm_type == float("inf") else (everything**norm_type).sum() ** (1.0 / norm_type)
        if error_if_nonfinite:
            refuse_nonfinite(norm, norm_type)
        factor = (max_norm / (norm + 1e-6)).clamp(max=1)
        for g in grads:
            copy_(g, g * factor)
        return norm


# %% answer="init_clip_norm" right="detached gradients"
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = [g.detach() for g in gradients_of(parameters)]
    if not grads:
        return zeros(())
    if norm_type == float("inf"):
        norm = stack([g.abs().max() for g in grads]).max()
    else:
        norm = sum((g.abs() ** norm_type).sum() for g in grads) ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    for g in grads:
        g *= (max_norm / (norm + 1e-6)).clamp(max=1.0)
    return norm


# %% answer="init_backward_by_hand" wrong="the sum over the batch"
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    d_scores = np.exp(logs)
    d_scores[batch, labels] -= 1
    d_before = d_scores @ w2 * (before > 0)
    gradients = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return -logs[batch, labels].mean(), gradients


# %% answer="init_backward_by_hand" wrong="the mean over the classes, too"
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    d_scores = np.exp(logs)
    d_scores[batch, labels] -= 1
    d_scores /= d_scores.size
    d_before = d_scores @ w2 * (before > 0)
    gradients = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return -logs[batch, labels].mean(), gradients


# %% answer="init_backward_by_hand" wrong="no ReLU in the backward pass"
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    hidden = np.maximum(x @ w1.T + b1, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    d_scores = np.exp(logs)
    d_scores[batch, labels] -= 1
    d_scores /= len(x)
    d_before = d_scores @ w2
    gradients = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return -logs[batch, labels].mean(), gradients


# %% answer="init_backward_by_hand" wrong="the logarithm of a probability"
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    e = np.exp(scores - scores.max(1, keepdims=True))
    chances = e / e.sum(1, keepdims=True)
    loss = -np.log(np.maximum(chances[batch, labels], 1e-12)).mean()
    d_scores = chances.copy()
    d_scores[batch, labels] -= 1
    d_scores /= len(x)
    d_before = d_scores @ w2 * (before > 0)
    gradients = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return loss, gradients


# %% answer="init_backward_by_hand" wrong="one-hot labels as wide as the largest of them"
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    wanted = np.eye(labels.max() + 1)[labels]
    d_scores = (np.exp(logs) - wanted) / len(x)
    d_before = d_scores @ w2 * (before > 0)
    gradients = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return -(logs * wanted).sum(1).mean(), gradients


# %% answer="init_backward_by_hand" right="one-hot labels, einsum"
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    before = np.einsum("bi,hi->bh", x, w1) + b1
    on = before > 0
    hidden = before * on
    scores = hidden @ w2.T + b2
    top = scores.max(axis=1)
    normal = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    wanted = np.eye(len(b2))[labels]
    loss = np.mean(normal - (scores * wanted).sum(axis=1))
    d_scores = (np.exp(scores - normal[:, None]) - wanted) / labels.shape[0]
    d_before = np.where(on, np.einsum("bc,ch->bh", d_scores, w2), 0)
    return loss, dict(
        w1=np.einsum("bh,bi->hi", d_before, x), b1=d_before.sum(axis=0), w2=d_scores.T.dot(hidden), b2=d_scores.sum(axis=0)
    )


# %% answer="init_repair_flat" wrong="a third of the root"
def initialize(layers):
    for layer in layers:
        bound = 3 * math.sqrt(2 / layer.weight.shape[1])
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)


# %% answer="init_repair_flat" wrong="the fan-out"
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(6 / layer.weight.shape[0])
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)


# %% answer="init_repair_flat" wrong="the gain of a linear layer"
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(3 / layer.weight.shape[1])
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)


# %% answer="init_repair_flat" wrong="from 0 to twice the bound"
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(6 / layer.weight.shape[1])
        torch.nn.init.uniform_(layer.weight, 0, 2 * bound)
        torch.nn.init.zeros_(layer.bias)


# %% answer="init_repair_flat" wrong="a normal distribution"
def initialize(layers):
    for layer in layers:
        torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        torch.nn.init.zeros_(layer.bias)


# %% answer="init_repair_flat" wrong="kaiming_uniform_ with its default gain"
def initialize(layers):
    for layer in layers:
        torch.nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5))
        torch.nn.init.zeros_(layer.bias)


# %% answer="init_repair_flat" wrong="the biases, too"
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(6 / layer.weight.shape[1])
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.uniform_(layer.bias, -bound, bound)


# %% answer="init_repair_flat" right="the root of 6"
def initialize(layers):
    for layer in layers:
        inputs = layer.in_features
        torch.nn.init.uniform_(layer.weight, a=-((6 / inputs) ** 0.5), b=(6 / inputs) ** 0.5)
        torch.nn.init.zeros_(layer.bias)


# %% answer="init_measure_gain" wrong="the inverse"
def measured_gain(nonlinearity):
    torch.manual_seed(0)
    return nonlinearity(torch.randn(1_000_000)).square().mean().item() ** 0.5


# %% answer="init_measure_gain" wrong="the standard deviation, which forgets the mean"
def measured_gain(nonlinearity):
    torch.manual_seed(0)
    return 1 / nonlinearity(torch.randn(1_000_000)).std().item()


# %% answer="init_measure_gain" wrong="the mean square itself"
def measured_gain(nonlinearity):
    torch.manual_seed(0)
    return 1 / nonlinearity(torch.randn(1_000_000)).square().mean().item()


# %% answer="init_measure_gain" wrong="uniform numbers"
def measured_gain(nonlinearity):
    torch.manual_seed(0)
    x = (torch.rand(1_000_000) * 2 - 1) * 3**0.5
    return nonlinearity(x).square().mean().item() ** -0.5


# %% answer="init_measure_gain" wrong="the mean of the magnitudes"
def measured_gain(nonlinearity):
    torch.manual_seed(0)
    return 1 / nonlinearity(torch.randn(1_000_000)).abs().mean().item()


# %% answer="init_measure_gain" wrong="a factor before the nonlinearity"
def measured_gain(nonlinearity):
    torch.manual_seed(0)
    x, factor = torch.randn(1_000_000), 1.0
    for _ in range(20):
        factor /= nonlinearity(factor * x).square().mean().item() ** 0.5
        factor = min(max(factor, 0.01), 100.0)
    return factor


# %% answer="init_measure_gain" right="two million numbers in pieces, a norm"
def measured_gain(nonlinearity):
    generator = torch.Generator().manual_seed(7)
    total = 0.0
    for _ in range(8):
        total += float((nonlinearity(torch.randn(500, 500, generator=generator)) ** 2).sum())
    return math.sqrt(8 * 500 * 500 / total)


# %% answer="init_measure_gain" right="relative to what was drawn"
def measured_gain(nonlinearity):
    x = torch.randn(1_500_000)
    return (x.square().mean() / nonlinearity(x).square().mean()).sqrt().item()


# %% answer="init_smooth" wrong="the error function without its root" spoils="gelu silu"
def gelu(input, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    if approximate == "tanh":
        return input * (1 + ((2 / 3.141592653589793) ** 0.5 * (input + 0.044715 * input**3)).tanh()) / 2
    return input * (1 + erf(input)) / 2


# %% answer="init_smooth" wrong="another word counts as none" spoils="gelu silu"
def gelu(input, approximate="none"):
    if approximate == "tanh":
        return input * (1 + ((2 / 3.141592653589793) ** 0.5 * (input + 0.044715 * input**3)).tanh()) / 2
    return input * (1 + erf(input * 0.5**0.5)) / 2


# %% answer="init_smooth" wrong="a ValueError" spoils="gelu silu"
def gelu(input, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise ValueError("approximate argument must be either none or tanh.")
    if approximate == "tanh":
        return input * (1 + ((2 / 3.141592653589793) ** 0.5 * (input + 0.044715 * input**3)).tanh()) / 2
    return input * (1 + erf(input * 0.5**0.5)) / 2


# %% answer="init_smooth" wrong="the logistic function alone" spoils="gelu silu"
def silu(input):
    return input.sigmoid()


# %% answer="init_smooth" wrong="rows of a single tensor" spoils="gradients_of clip_grad_value_"
def gradients_of(parameters):
    return [each.grad for each in parameters if each.grad is not None]


# %% answer="init_smooth" wrong="a list alone counts as several" spoils="gradients_of clip_grad_value_"
def gradients_of(parameters):
    listed = parameters if isinstance(parameters, (list, tuple)) else [parameters]
    return [each.grad for each in listed if each.grad is not None]


# %% answer="init_smooth" wrong="None among the gradients" spoils="gradients_of clip_grad_value_"
def gradients_of(parameters):
    return [each.grad for each in ([parameters] if isinstance(parameters, Tensor) else parameters)]


# %% answer="init_smooth" wrong="records" spoils="gradients_of clip_grad_value_"
def clip_grad_value_(parameters, clip_value):
    for grad in gradients_of(parameters):
        copy_(grad, grad.clamp(-clip_value, clip_value))


# %% answer="init_smooth" wrong="new gradients" spoils="gradients_of clip_grad_value_"
@no_grad()
def clip_grad_value_(parameters, clip_value):
    for each in [parameters] if isinstance(parameters, Tensor) else parameters:
        if each.grad is not None:
            each.grad = each.grad.clamp(-clip_value, clip_value)


# %% answer="init_smooth" right="a common factor, detach, two clamps"
def gelu(input, approximate="none"):
    import math

    if approximate == "none":
        share = (erf(input / math.sqrt(2)) + 1) * 0.5
    elif approximate == "tanh":
        share = 0.5 * (1 + (math.sqrt(2 / math.pi) * (input + 0.044715 * input * input * input)).tanh())
    else:
        raise RuntimeError("approximate argument must be either none or tanh.")
    return share * input


def silu(input):
    return input.sigmoid() * input


def gradients_of(parameters):
    if isinstance(parameters, Tensor):
        parameters = (parameters,)
    found = []
    for each in parameters:
        if each.grad is None:
            continue
        found.append(each.grad)
    return found


def clip_grad_value_(parameters, clip_value):
    for grad in gradients_of(parameters):
        inside = grad.detach()
        inside.copy_(inside.clamp(min=-clip_value).clamp(max=clip_value))


# %% answer="init_smooth" wrong="a generator instead of a list" spoils="gradients_of clip_grad_value_"
def gradients_of(parameters):
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    return (p.grad for p in parameters if p.grad is not None)


# %% answer="init_smooth" wrong="a nan gradient becomes the limit" spoils="gradients_of clip_grad_value_"
@no_grad()
def clip_grad_value_(parameters, clip_value):
    for g in gradients_of(parameters):
        keep = (g >= -clip_value) * (g <= clip_value)
        copy_(g, g.masked_fill(~keep, 0.0) + (g > clip_value) * clip_value - (g < -clip_value) * clip_value)


# %% answer="init_clip_norm" right="norms of norms, and the gradients overwritten by a product"
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    with no_grad():
        grads = [each.detach() for each in gradients_of(parameters)]

        def length(x: Tensor) -> Tensor:
            if norm_type == float("inf"):
                return x.abs().amax()
            return (x.abs() ** norm_type).sum() ** (1.0 / norm_type)

        norm = length(stack([length(each) for each in grads])) if grads else zeros(())
        if error_if_nonfinite:
            refuse_nonfinite(norm, norm_type)
        factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
        for each in grads:
            each.copy_(each * factor)
    return norm


# %% answer="init_clip_norm" wrong="refuses gradients that aren't finite, but not a norm that overflows ('the norm is inf or nan')"
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    if norm_type == float("inf"):
        norm = stack([grad.abs().amax() for grad in grads]).amax()
    else:
        norm = stack([(grad.abs() ** norm_type).sum() for grad in grads]).sum() ** (1 / norm_type)
    if error_if_nonfinite and not all(isfinite(grad).all().item() for grad in grads):
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return norm


# %% answer="init_clip_norm" wrong="takes absolute values for odd orders only, and 2.5 isn't even either ('Σ |g|^norm_type')"
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    if norm_type == float("inf"):
        norm = stack([grad.abs().amax() for grad in grads]).amax()
    else:
        sizes = [grad.abs() if norm_type % 2 == 1 else grad for grad in grads]
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return norm


# %% answer="init_clip_norm" wrong="the norm is computed without recording, but the scaling isn't ('nothing is recorded, even where a gradient has a history')"
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    with no_grad():
        if norm_type == float("inf"):
            norm = stack([grad.abs().amax() for grad in grads]).amax()
        else:
            norm = stack([(grad.abs() ** norm_type).sum() for grad in grads]).sum() ** (1 / norm_type)
        factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    for grad in grads:
        grad.mul_(factor)
    return norm


# %% answer="init_clip_norm" right="the norm of the tensors' norms, and gradients without their history"
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = [grad.detach() for grad in gradients_of(parameters)]
    if not grads:
        return zeros(())

    def length(x):
        if norm_type == float("inf"):
            return x.abs().amax()
        return (x.abs() ** norm_type).sum() ** (1 / norm_type)

    norm = length(stack([length(grad) for grad in grads]))
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return norm


# %% answer="init_clip_norm" right="a running sum, and a factor that is a Python number"
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    with no_grad():
        grads, total = gradients_of(parameters), zeros(())
        for grad in grads:
            if norm_type == float("inf"):
                total = stack([total, grad.abs().amax()]).amax()
            else:
                total = total + grad.abs().pow(norm_type).sum()
        norm = total if norm_type == float("inf") else total ** (1 / norm_type)
        if error_if_nonfinite:
            refuse_nonfinite(norm, norm_type)
        factor = min(max_norm / (norm.item() + 1e-6), 1.0)  # nan stays nan in this order
        for grad in grads:
            grad *= factor
        return norm


# %% answer="init_softmax" wrong="an infinite score isn't subtracted"
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    top = np.max(x, dims, keepdims=True)
    e = np.exp(x - np.where(np.isinf(top), 0, top))
    return e / np.sum(e, dims, keepdims=True)


# %% answer="init_softmax" wrong="differences are clipped at -80, so that hidden scores have a small probability"
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(np.clip(x - np.max(x, dims, keepdims=True), -80, 0))
    return e / np.sum(e, dims, keepdims=True)


# %% answer="init_softmax" right="the axis is moved to the front"
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    normalize_dims(dim, x.ndim)
    if x.ndim == 0:
        return np.exp(x - x)
    y = np.moveaxis(x, dim, 0)
    e = np.exp(y - y.max(0))
    return np.moveaxis(e / e.sum(0), 0, dim)


# %% answer="init_fans_and_gains" wrong="names in capital letters, too"
def calculate_gain(nonlinearity, param=None):
    nonlinearity = nonlinearity.lower()
    if nonlinearity in ("linear", "conv1d", "conv2d", "sigmoid"):
        return 1
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity == "relu":
        return math.sqrt(2)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


# %% answer="init_fans_and_gains" wrong="any name that ends in relu"
def calculate_gain(nonlinearity, param=None):
    if nonlinearity in ("linear", "conv1d", "conv2d", "sigmoid"):
        return 1
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity.endswith("relu"):
        slope = 0 if nonlinearity == "relu" else 0.01 if param is None else param
        return math.sqrt(2 / (1 + slope ** 2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


# %% answer="init_fans_and_gains" wrong="any name that begins with conv"
def calculate_gain(nonlinearity, param=None):
    if nonlinearity in ("linear", "sigmoid") or nonlinearity.startswith("conv"):
        return 1
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity == "relu":
        return math.sqrt(2)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


# %% answer="init_fans_and_gains" right="np.prod, whose product of nothing is a float"
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = np.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


# %% answer="init_fans_and_gains" wrong="fans of a 0-d tensor"
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim == 1:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = math.prod(tensor.shape[2:])
    return (tensor.shape[1] * window, tensor.shape[0] * window) if tensor.ndim else (1, 1)


# %% answer="init_fans_and_gains" wrong="a slope of 0 counts as none"
def kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = _calculate_fan_in_and_fan_out(tensor)[mode != "fan_in"]
    return calculate_gain(nonlinearity, a or None) / math.sqrt(fan)


# %% answer="init_smooth" wrong="names in capital letters, too"
def gelu(input, approximate="none"):
    approximate = approximate.lower()
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    if approximate == "none":
        return input * (erf(input * 0.5**0.5) + 1) * 0.5
    inner = (input + input**3 * 0.044715) * (2 / np.pi) ** 0.5
    return input * (inner.tanh() + 1) * 0.5


# %% answer="init_smooth" wrong="None counts as none"
def gelu(input, approximate="none"):
    if approximate not in ("none", "tanh", None):
        raise RuntimeError("approximate argument must be either none or tanh.")
    if approximate != "tanh":
        return input * (erf(input * 0.5**0.5) + 1) * 0.5
    inner = (input + input**3 * 0.044715) * (2 / np.pi) ** 0.5
    return input * (inner.tanh() + 1) * 0.5


# %% answer="init_smooth" wrong="frozen tensors are skipped"
def gradients_of(parameters):
    listed = [parameters] if isinstance(parameters, Tensor) else parameters
    return [each.grad for each in listed if each.requires_grad and each.grad is not None]


# %% answer="init_smooth" wrong="gradients of zeros count as none"
def gradients_of(parameters):
    listed = [parameters] if isinstance(parameters, Tensor) else parameters
    return [each.grad for each in listed if each.grad is not None and bool((each.grad.detach() != 0).any())]


# %% answer="init_smooth" right="the magnitude is clipped, and the sign put back"
@no_grad()
def clip_grad_value_(parameters, clip_value):
    for grad in gradients_of(parameters):
        copy_(grad, grad.clamp(-clip_value, clip_value).abs() * grad.sign())


# %% answer="init_repair_flat" wrong="new parameters"
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(6 / layer.weight.shape[1])
        layer.weight = torch.nn.Parameter(torch.nn.init.uniform_(torch.empty(layer.weight.shape), -bound, bound))
        layer.bias = torch.nn.Parameter(torch.zeros(layer.bias.shape))


# %% answer="init_repair_flat" wrong="the weights are frozen afterwards"
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(6 / layer.weight.shape[1])
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)
        layer.weight.requires_grad_(False)


# %% answer="init_measure_gain" right="numbers and their negatives"
def measured_gain(nonlinearity):
    torch.manual_seed(0)
    x = torch.randn(600_000)
    return 1 / math.sqrt((nonlinearity(torch.cat([x, -x])) ** 2).mean().item())


# %% answer="init_backward_by_hand" right="where, take_along_axis"
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    pre = np.einsum("bi,hi->bh", x, w1) + b1
    h = np.where(pre > 0, pre, 0.0)
    s = h @ w2.T + b2
    m = s.max(axis=1)
    lse = m + np.log(np.exp(s - m[:, None]).sum(axis=1))
    picked = np.take_along_axis(s, labels[:, None], 1)[:, 0]
    p = np.exp(s - lse[:, None])
    np.put_along_axis(p, labels[:, None], np.take_along_axis(p, labels[:, None], 1) - 1, 1)
    p = p / x.shape[0]
    dh = np.where(pre > 0, p @ w2, 0.0)
    return np.mean(lse - picked), dict(w1=dh.T @ x, b1=dh.sum(0), w2=p.T @ h, b2=p.sum(0))
