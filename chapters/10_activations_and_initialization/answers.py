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
