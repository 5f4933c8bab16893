# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 12` grades them.


# %% answer="norm_predict_statistics" wrong="1.3 for 1.7"
prediction = [0.2, 1.3]


# %% answer="norm_batch_norm" right="in place without no_grad"
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, running_mean, running_var, weight, bias, training)
    if training:
        mean, var, unbiased = batch_statistics(input)
        if running_mean is not None:
            update(running_mean, mean, momentum)
        if running_var is not None:
            update(running_var, unbiased, momentum)
    else:
        mean, var = running_mean, running_var
    n = input.ndim
    y = (input - per_channel(mean, n)) / (per_channel(var, n) + eps).sqrt()
    if weight is not None:
        y = y * per_channel(weight, n)
    if bias is not None:
        y = y + per_channel(bias, n)
    return y


def batch_statistics(input):
    dims = tuple(d for d in range(input.ndim) if d != 1)
    n = input.numel() / input.shape[1]
    mean = input.mean(dims, keepdim=True)
    var = ((input - mean) ** 2).mean(dims)
    return mean.reshape(-1), var, var * (n / (n - 1) if n > 1 else float("nan"))


def update(running, new, momentum):
    running *= 1 - momentum
    running += momentum * new.detach()


# %% answer="norm_batch_norm" wrong="biased running variance"
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, running_mean, running_var, weight, bias, training)
    if training:
        mean, var, unbiased = batch_statistics(input)
        if running_mean is not None:
            update(running_mean, mean, momentum)
        if running_var is not None:
            update(running_var, var, momentum)
    else:
        mean, var = running_mean, running_var
    n = input.ndim
    y = (input - per_channel(mean, n)) / (per_channel(var, n) + eps).sqrt()
    if weight is not None:
        y = y * per_channel(weight, n)
    if bias is not None:
        y = y + per_channel(bias, n)
    return y


def batch_statistics(input):
    dims = tuple(d for d in range(input.ndim) if d != 1)
    n = input.numel() / input.shape[1]
    mean = input.mean(dims, keepdim=True)
    var = ((input - mean) ** 2).mean(dims)
    return mean.reshape(-1), var, var * (n / (n - 1) if n > 1 else float("nan"))


def update(running, new, momentum):
    with no_grad():
        running.copy_(running * (1 - momentum) + new.detach() * momentum)


# %% answer="norm_batch_norm" wrong="mean detached"
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, running_mean, running_var, weight, bias, training)
    if training:
        mean, var, unbiased = batch_statistics(input)
        if running_mean is not None:
            update(running_mean, mean, momentum)
        if running_var is not None:
            update(running_var, unbiased, momentum)
    else:
        mean, var = running_mean, running_var
    n = input.ndim
    y = (input - per_channel(mean, n)) / (per_channel(var, n) + eps).sqrt()
    if weight is not None:
        y = y * per_channel(weight, n)
    if bias is not None:
        y = y + per_channel(bias, n)
    return y


def batch_statistics(input):
    dims = tuple(d for d in range(input.ndim) if d != 1)
    n = input.numel() / input.shape[1]
    mean = input.detach().mean(dims, keepdim=True)
    var = ((input - mean) ** 2).mean(dims)
    return mean.reshape(-1), var, var * (n / (n - 1) if n > 1 else float("nan"))


def update(running, new, momentum):
    with no_grad():
        running.copy_(running * (1 - momentum) + new.detach() * momentum)


# %% answer="norm_layer_norm" right="as first written, from the task alone"
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    c = input - input.mean(dims, keepdim=True)
    y = c / ((c * c).mean(dims, keepdim=True) + eps).sqrt()
    if weight is not None: y = y * weight
    if bias is not None: y = y + bias
    return y

def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    if eps is None:
        eps = float(np.finfo(input.dtype.numpy).eps)
    dims = tuple(range(-len(normalized_shape), 0))
    y = input / ((input * input).mean(dims, keepdim=True) + eps).sqrt()
    return y if weight is None else y * weight


# %% answer="norm_layer_norm" right="input.var(correction=0)"
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    c = input - input.mean(dims, keepdim=True)
    y = c / (input.var(dims, correction=0, keepdim=True) + eps).sqrt()
    if weight is not None: y = y * weight
    if bias is not None: y = y + bias
    return y


def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    if eps is None:
        eps = float(np.finfo(input.dtype.numpy).eps)
    dims = tuple(range(-len(normalized_shape), 0))
    y = input / ((input * input).mean(dims, keepdim=True) + eps).sqrt()
    return y if weight is None else y * weight


# %% answer="norm_layer_norm" wrong="eps outside the root"
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    c = input - input.mean(dims, keepdim=True)
    y = c / ((c * c).mean(dims, keepdim=True).sqrt() + eps)
    if weight is not None: y = y * weight
    if bias is not None: y = y + bias
    return y

def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    if eps is None:
        eps = float(np.finfo(input.dtype.numpy).eps)
    dims = tuple(range(-len(normalized_shape), 0))
    y = input / ((input * input).mean(dims, keepdim=True) + eps).sqrt()
    return y if weight is None else y * weight


# %% answer="norm_layer_norm" wrong="eps 1e-6 in rms_norm"
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    c = input - input.mean(dims, keepdim=True)
    y = c / ((c * c).mean(dims, keepdim=True) + eps).sqrt()
    if weight is not None: y = y * weight
    if bias is not None: y = y + bias
    return y

def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    if eps is None:
        eps = 1e-6
    dims = tuple(range(-len(normalized_shape), 0))
    y = input / ((input * input).mean(dims, keepdim=True) + eps).sqrt()
    return y if weight is None else y * weight


# %% answer="norm_layer_norm" wrong="last dimension only"
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    c = input - input.mean(dims, keepdim=True)
    y = c / ((c * c).mean(dims, keepdim=True) + eps).sqrt()
    if weight is not None: y = y * weight
    if bias is not None: y = y + bias
    return y


def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    if eps is None:
        eps = float(np.finfo(input.dtype.numpy).eps)
    dims = -1
    y = input / ((input * input).mean(dims, keepdim=True) + eps).sqrt()
    return y if weight is None else y * weight


# %% answer="norm_dropout" right="as first written, from the task alone"
def dropout(input, p=0.5, training=True, inplace=False):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    y = input * dropout_noise(input, p)
    return copy_(input, y) if inplace else y

def dropout_noise(x, p):
    if p == 1:
        return new(np.zeros(x.shape, x.dtype.numpy), x.device)
    keep = bernoulli(1 - p, x.shape)
    return new((keep / (1 - p)).astype(x.dtype.numpy), x.device)


# %% answer="norm_dropout" wrong="other numbers drawn"
def dropout(input, p=0.5, training=True, inplace=False):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    y = input * dropout_noise(input, p)
    return copy_(input, y) if inplace else y


def dropout_noise(x, p):
    if p == 1:
        return new(np.zeros(x.shape, x.dtype.numpy), x.device)
    keep = ~bernoulli(p, x.shape)
    return new((keep / (1 - p)).astype(x.dtype.numpy), x.device)


# %% answer="norm_fold" right="bias by bn(zeros + b)"
def folded(linear, bn):
    out, inside = linear.weight.shape
    made = torch.nn.Linear(inside, out, dtype=linear.weight.dtype)
    with torch.no_grad():
        s = bn.weight / (bn.running_var + bn.eps).sqrt()
        made.weight.copy_(linear.weight * s[:, None])
        b = 0 if linear.bias is None else linear.bias
        made.bias.copy_(bn(torch.zeros(1, out, dtype=made.bias.dtype) + b)[0])
    return made


# %% answer="norm_fold" wrong="eps outside the root"
def folded(linear, bn):
    out, inside = linear.weight.shape
    made = torch.nn.Linear(inside, out)
    with torch.no_grad():
        s = bn.weight / bn.running_var.sqrt() + bn.eps
        made.weight.copy_(linear.weight * s[:, None])
        b = 0 if linear.bias is None else linear.bias
        made.bias.copy_((b - bn.running_mean) * s + bn.bias)
    return made


# %% answer="norm_repair_leak" right="as first written, from the task alone"
class Centre(torch.nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x):
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        with torch.no_grad():
            self.running.mul_(1 - self.momentum).add_(self.momentum * mean)
        return x - mean


# %% answer="norm_repair_leak" right="in place, mean detached"
class Centre(torch.nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x):
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        self.running.mul_(1 - self.momentum).add_(self.momentum * mean.detach())
        return x - mean


# %% answer="norm_repair_leak" wrong="mean without history for the output, too"
class Centre(torch.nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x):
        if not self.training:
            return x - self.running
        mean = x.mean(0).detach()
        with torch.no_grad():
            self.running.mul_(1 - self.momentum).add_(self.momentum * mean)
        return x - mean


# %% answer="norm_repair_leak" wrong="new tensor, detached"
class Centre(torch.nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x):
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        self.running = ((1 - self.momentum) * self.running + self.momentum * mean).detach()
        return x - mean


# %% answer="norm_measure_dropout" wrong="formula for the measurement"
def growth(dropout, x, p):
    return 1 / (1 - p)


# %% answer="norm_module_state" wrong="bias None as an attribute"
def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
    super().__init__()
    self.num_features, self.eps, self.momentum = num_features, eps, momentum
    self.affine, self.track_running_stats = affine, track_running_stats
    import mytorch
    self.register_parameter("weight", mytorch.nn.Parameter(mytorch.ones(num_features)) if affine else None)
    self.bias = mytorch.nn.Parameter(mytorch.zeros(num_features)) if affine else None
    t = track_running_stats
    self.register_buffer("running_mean", mytorch.zeros(num_features) if t else None)
    self.register_buffer("running_var", mytorch.ones(num_features) if t else None)
    self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if t else None)


# %% answer="norm_batch_norm" right="statistics of the channels' rows, and a running value that moves by a difference"
def batch_statistics(input):
    values = input.transpose(0, 1).reshape(input.shape[1], -1)
    return values.mean(1), values.var(1, correction=0), values.var(1)


def update(running, new, momentum):
    running.add_(momentum * (new.detach() - running))


# %% answer="norm_batch_norm" wrong="updates the running statistics in evaluation mode, too"
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, running_mean, running_var, weight, bias, training)
    mean, var, unbiased = batch_statistics(input)
    if running_mean is not None:
        update(running_mean, mean, momentum)
        update(running_var, unbiased, momentum)
    if not training:
        mean, var = running_mean, running_var
    n = input.ndim
    y = (input - per_channel(mean, n)) * per_channel((var + eps).rsqrt(), n)
    y = y if weight is None else y * per_channel(weight, n)
    return y if bias is None else y + per_channel(bias, n)


# %% answer="norm_batch_norm" wrong="exchanges arguments of check_channels, whose messages name them"
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, weight, bias, running_mean, running_var, training)
    mean, var = running_mean, running_var
    if training:
        mean, var, unbiased = batch_statistics(input)
        if running_mean is not None:
            update(running_mean, mean, momentum)
            update(running_var, unbiased, momentum)
    n = input.ndim
    y = (input - per_channel(mean, n)) * per_channel((var + eps).rsqrt(), n)
    y = y if weight is None else y * per_channel(weight, n)
    return y if bias is None else y + per_channel(bias, n)


# %% answer="norm_batch_norm" wrong="without a weight the bias is forgotten"
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, running_mean, running_var, weight, bias, training)
    mean, var = running_mean, running_var
    if training:
        mean, var, unbiased = batch_statistics(input)
        if running_mean is not None:
            update(running_mean, mean, momentum)
            update(running_var, unbiased, momentum)
    n = input.ndim
    y = (input - per_channel(mean, n)) * per_channel((var + eps).rsqrt(), n)
    if weight is None:
        return y
    y = y * per_channel(weight, n)
    return y if bias is None else y + per_channel(bias, n)


# %% answer="norm_batch_norm" wrong="corrects by the number of samples, not of values"
def batch_statistics(input):
    dims = (0, *range(2, input.ndim))
    n, var = len(input), input.var(dims, correction=0)
    return input.mean(dims), var, var * (n / (n - 1))


# %% answer="norm_batch_norm" wrong="standard deviations"
def batch_statistics(input):
    dims = (0, *range(2, input.ndim))
    return input.mean(dims), input.var(dims, correction=0).sqrt(), input.var(dims).sqrt()


# %% answer="norm_batch_norm" wrong="keeps the dimensions of length 1"
def batch_statistics(input):
    dims = (0, *range(2, input.ndim))
    return input.mean(dims, True), input.var(dims, correction=0, keepdim=True), input.var(dims, keepdim=True)


# %% answer="norm_batch_norm" wrong="a running sum that never forgets"
def update(running, new, momentum):
    running.add_(momentum * new.detach())


# %% answer="norm_batch_norm" wrong="moves away from the new value"
def update(running, new, momentum):
    running.sub_(momentum * (new.detach() - running))


# %% answer="norm_batch_norm" wrong="only the old value is without history"
def update(running, new, momentum):
    old = running.detach()
    running.copy_(old + momentum * (new - old))


# %% answer="norm_layer_norm" wrong="the bias is multiplied by the weight"
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    y = (input - input.mean(dims, keepdim=True)) * (input.var(dims, correction=0, keepdim=True) + eps).rsqrt()
    y = y if bias is None else y + bias
    return y if weight is None else y * weight


# %% answer="norm_layer_norm" wrong="an eps that is always 1e-5"
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    y = (input - input.mean(dims, keepdim=True)) * (input.var(dims, correction=0, keepdim=True) + 1e-5).rsqrt()
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


# %% answer="norm_layer_norm" wrong="bias only with a weight"
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    y = (input - input.mean(dims, keepdim=True)) * (input.var(dims, correction=0, keepdim=True) + eps).rsqrt()
    if weight is None:
        return y
    return y * weight if bias is None else y * weight + bias


# %% answer="norm_layer_norm" wrong="scales by 1 + weight, as Gemma does"
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    eps = float(np.finfo(input.dtype.numpy).eps) if eps is None else eps
    dims = tuple(range(-len(normalized_shape), 0))
    y = input * ((input * input).mean(dims, keepdim=True) + eps).rsqrt()
    return y if weight is None else y * (1 + weight)


# %% answer="norm_layer_norm" wrong="eps is added to the root"
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    eps = float(np.finfo(input.dtype.numpy).eps) if eps is None else eps
    dims = tuple(range(-len(normalized_shape), 0))
    y = input / ((input * input).mean(dims, keepdim=True).sqrt() + eps)
    return y if weight is None else y * weight


# %% answer="norm_layer_norm" wrong="accepts any ending"
def rms_norm(input, normalized_shape, weight=None, eps=None):
    eps = float(np.finfo(input.dtype.numpy).eps) if eps is None else eps
    dims = tuple(range(-len(normalized_shape), 0))
    y = input * ((input * input).mean(dims, keepdim=True) + eps).rsqrt()
    return y if weight is None else y * weight


# %% answer="norm_dropout" wrong="overwrites the input in any case"
def dropout(input, p=0.5, training=True, inplace=False):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    return copy_(input, input * (0.0 if p == 1 else dropout_noise(input, p)))


# %% answer="norm_dropout" wrong="a copy in evaluation mode"
def dropout(input, p=0.5, training=True, inplace=False):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input.clone()
    y = input * (0.0 if p == 1 else dropout_noise(input, p))
    return copy_(input, y) if inplace else y


# %% answer="norm_dropout" wrong="writes in place, but returns another tensor"
def dropout(input, p=0.5, training=True, inplace=False):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    y = input * (0.0 if p == 1 else dropout_noise(input, p))
    if inplace:
        copy_(input, y)
    return y


# %% answer="norm_dropout" wrong="drops whole columns"
def dropout_noise(x, p):
    mask = np.broadcast_to(bernoulli(1 - p, x.shape[-1:]), x.shape)
    return new((mask / (1 - p)).astype(x.dtype.numpy), x.device)


# %% answer="norm_dropout" wrong="divides by p"
def dropout_noise(x, p):
    return new((bernoulli(1 - p, x.shape) / p).astype(x.dtype.numpy), x.device)


# %% answer="norm_dropout" wrong="a mask without a scale"
def dropout_noise(x, p):
    return new(bernoulli(1 - p, x.shape).astype(x.dtype.numpy), x.device)


# %% answer="norm_dropout" wrong="noise only for inputs of several dimensions" spoils="dropout_noise"
def dropout_noise(x, p):
    noise = np.zeros(x.shape, x.dtype.numpy)
    if p < 1:
        noise[bernoulli(1 - p, x.shape).nonzero()] = 1 / (1 - p)
    return new(noise, x.device)


# %% answer="norm_fold" wrong="scales the inputs' columns"
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        made = torch.nn.Linear(linear.in_features, linear.out_features)
        made.weight.copy_(linear.weight * scale)
        bias = 0 if linear.bias is None else linear.bias
        made.bias.copy_((bias - bn.running_mean) * scale + bn.bias)
    return made


# %% answer="norm_fold" wrong="works in the batch norm's memory"
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / bn.running_var.add_(bn.eps).sqrt_()
        made = torch.nn.Linear(linear.in_features, linear.out_features)
        made.weight.copy_(linear.weight * scale[:, None])
        bias = 0 if linear.bias is None else linear.bias
        made.bias.copy_((bias - bn.running_mean) * scale + bn.bias)
    return made


# %% answer="norm_fold" wrong="shifts after the scale"
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        made = torch.nn.Linear(linear.in_features, linear.out_features)
        made.weight.copy_(linear.weight * scale[:, None])
        bias = 0 if linear.bias is None else linear.bias
        made.bias.copy_(bias * scale - bn.running_mean + bn.bias)
    return made


# %% answer="norm_fold" right="new parameters, and an output at 0 for the bias"
def folded(linear, bn):
    made = torch.nn.Linear(linear.in_features, linear.out_features)
    scale = bn.weight.detach() * torch.rsqrt(bn.running_var + bn.eps)
    made.weight = torch.nn.Parameter(torch.diag(scale) @ linear.weight.detach())
    at_zero = torch.zeros(1, linear.in_features, dtype=linear.weight.dtype)
    made.bias = torch.nn.Parameter(bn(linear(at_zero))[0].detach())
    return made


# %% answer="norm_repair_leak" right="through .data"
class Centre(torch.nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x):
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        self.running.data.mul_(1 - self.momentum).add_(mean.data * self.momentum)
        return x - mean


# %% answer="norm_repair_leak" wrong="stores the batch's mean"
class Centre(torch.nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x):
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        self.running.copy_(mean.detach())
        return x - mean


# %% answer="norm_repair_leak" wrong="subtracts the running mean in training"
class Centre(torch.nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.running.mul_(1 - self.momentum).add_(x.mean(0) * self.momentum)
        return x - self.running


# %% answer="norm_repair_leak" wrong="the buffer is registered anew in each step"
class Centre(torch.nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x):
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        old = self._buffers.pop("running")
        self.register_buffer("running", (1 - self.momentum) * old + self.momentum * mean.detach())
        return x - mean


# %% answer="norm_measure_dropout" wrong="drops the squares"
def growth(dropout, x, p):
    return (dropout(x.square(), p).mean() / x.square().mean()).item()


# %% answer="norm_measure_dropout" wrong="two masks for one square"
def growth(dropout, x, p):
    return ((dropout(x, p) * dropout(x, p)).mean() / (x * x).mean()).item()


# %% answer="norm_measure_dropout" wrong="a 0-d tensor for a Python number"
def growth(dropout, x, p):
    return dropout(x, p).square().mean() / x.square().mean()


# %% answer="norm_measure_dropout" right="sums, in Python numbers"
def growth(dropout, x, p):
    return dropout(x, p).pow(2).sum().item() / x.pow(2).sum().item()


# %% answer="norm_module_state" wrong="one tensor serves as weight and as running variance"
def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
    super().__init__()
    self.num_features, self.eps, self.momentum = num_features, eps, momentum
    self.affine, self.track_running_stats = affine, track_running_stats
    zero, one = zeros(num_features), ones(num_features)
    self.register_parameter("weight", Parameter(one) if affine else None)
    self.register_parameter("bias", Parameter(zero) if affine else None)
    self.register_buffer("running_mean", zero if track_running_stats else None)
    self.register_buffer("running_var", one if track_running_stats else None)
    self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if track_running_stats else None)


# %% answer="norm_module_state" wrong="a momentum of None becomes the default"
def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
    super().__init__()
    self.num_features, self.eps, self.momentum = num_features, eps, momentum or 0.1
    self.affine, self.track_running_stats = affine, track_running_stats
    self.register_parameter("weight", Parameter(ones(num_features)) if affine else None)
    self.register_parameter("bias", Parameter(zeros(num_features)) if affine else None)
    self.register_buffer("running_mean", zeros(num_features) if track_running_stats else None)
    self.register_buffer("running_var", ones(num_features) if track_running_stats else None)
    self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if track_running_stats else None)


# %% answer="norm_module_state" wrong="the count isn't saved"
def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
    super().__init__()
    self.num_features, self.eps, self.momentum = num_features, eps, momentum
    self.affine, self.track_running_stats = affine, track_running_stats
    self.register_parameter("weight", Parameter(ones(num_features)) if affine else None)
    self.register_parameter("bias", Parameter(zeros(num_features)) if affine else None)
    tracks = track_running_stats
    self.register_buffer("running_mean", zeros(num_features) if tracks else None)
    self.register_buffer("running_var", ones(num_features) if tracks else None)
    self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if tracks else None, persistent=False)


# %% answer="norm_fold" wrong="the new layer has the default dtype, not that of the layers"
def folded(linear: torch.nn.Linear, bn: torch.nn.BatchNorm1d) -> torch.nn.Linear:
    out_features, in_features = linear.weight.shape
    new = torch.nn.Linear(in_features, out_features)
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        bias = 0 if linear.bias is None else linear.bias
        new.weight.copy_(linear.weight * scale[:, None])
        new.bias.copy_((bias - bn.running_mean) * scale + bn.bias)
    return new


# %% answer="norm_fold" right="measures the function: its value at 0 is the bias, and the unit vectors give the columns"
def folded(linear: torch.nn.Linear, bn: torch.nn.BatchNorm1d) -> torch.nn.Linear:
    inputs = linear.weight.shape[1]
    with torch.no_grad():
        at_zero = bn(linear(torch.zeros(1, inputs, dtype=linear.weight.dtype)))[0]
        columns = bn(linear(torch.eye(inputs, dtype=linear.weight.dtype))) - at_zero
    new = copy.deepcopy(linear)
    new.weight = torch.nn.Parameter(columns.T.contiguous())
    new.bias = torch.nn.Parameter(at_zero.clone())
    return new


# %% answer="norm_repair_leak" wrong="the mean that is subtracted is scaled by the momentum, through detach"
class Centre(torch.nn.Module):
    """Subtracts each column's mean: the batch's mean in training mode, the running mean in evaluation mode."""

    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        self.running.mul_(1 - self.momentum).add_(mean.detach().mul_(self.momentum))
        return x - mean


# %% answer="norm_repair_leak" wrong="a parameter for the buffer"
class Centre(torch.nn.Module):
    """Subtracts each column's mean: the batch's mean in training mode, the running mean in evaluation mode."""

    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.running = torch.nn.Parameter(torch.zeros(features), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        with torch.no_grad():
            self.running.mul_(1 - self.momentum).add_(self.momentum * mean)
        return x - mean


# %% answer="norm_repair_leak" wrong="no update under no_grad"
class Centre(torch.nn.Module):
    """Subtracts each column's mean: the batch's mean in training mode, the running mean in evaluation mode."""

    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        if torch.is_grad_enabled():
            with torch.no_grad():
                self.running.mul_(1 - self.momentum).add_(self.momentum * mean)
        return x - mean


# %% answer="norm_repair_leak" right="a decorated helper and lerp_"
class Centre(torch.nn.Module):
    """Subtracts each column's mean: the batch's mean in training mode, the running mean in evaluation mode."""

    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self._follow(x)
            return x - x.mean(dim=0, keepdim=True)
        return x - self.running

    @torch.no_grad()
    def _follow(self, x):
        self.running.lerp_(x.mean(0), self.momentum)


# %% answer="norm_repair_leak" right="augmented assignment, mean detached"
class Centre(torch.nn.Module):
    """Subtracts each column's mean: the batch's mean in training mode, the running mean in evaluation mode."""

    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        self.running += self.momentum * (mean.detach() - self.running)
        return x - mean


# %% answer="norm_batch_norm" wrong="the mean of squares minus the square of the mean, which cancels far from 0"
def batch_statistics(input):
    dims = (0, *range(2, input.ndim))
    n = input.numel() / input.shape[1]
    mean = input.mean(dims)
    var = (input * input).mean(dims) - mean * mean
    return mean, var, var.detach() * (n / (n - 1)) if n > 1 else var.detach() * float("nan")


# %% answer="norm_batch_norm" wrong="a momentum of 0 counts as none"
def update(running, new, momentum):
    momentum = momentum or 0.1
    with no_grad():
        running.copy_(running * (1 - momentum) + new.detach() * momentum)


# %% answer="norm_batch_norm" wrong="updates only where the input requires a gradient"
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, running_mean, running_var, weight, bias, training)
    if training:
        mean, var, unbiased = batch_statistics(input)
        if running_mean is not None and input.requires_grad:
            update(running_mean, mean, momentum)
            update(running_var, unbiased, momentum)
    else:
        mean, var = running_mean, running_var
    result = (input - per_channel(mean, input.ndim)) * per_channel((var + eps).rsqrt(), input.ndim)
    if weight is not None:
        result = result * per_channel(weight, input.ndim)
    if bias is not None:
        result = result + per_channel(bias, input.ndim)
    return result


# %% answer="norm_batch_norm" right="one factor and one summand for each channel"
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, running_mean, running_var, weight, bias, training)
    if training:
        mean, var, unbiased = batch_statistics(input)
        for old, new in ((running_mean, mean), (running_var, unbiased)):
            if old is not None:
                update(old, new, momentum)
    else:
        mean, var = running_mean, running_var
    scale = 1 / (var + eps).sqrt()
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale
    if bias is not None:
        shift = shift + bias
    return input * per_channel(scale, input.ndim) + per_channel(shift, input.ndim)


# %% answer="norm_layer_norm" wrong="an eps of 0 counts as none in layer_norm"
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    distance = input - input.mean(dims, keepdim=True)
    result = distance * ((distance * distance).mean(dims, keepdim=True) + (eps or 1e-5)).rsqrt()
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result


# %% answer="norm_layer_norm" wrong="view, which refuses transposed inputs"
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    flat = input.view(*input.shape[: input.ndim - len(normalized_shape)], -1)
    distance = flat - flat.mean(-1, keepdim=True)
    result = (distance * ((distance * distance).mean(-1, keepdim=True) + eps).rsqrt()).view(*input.shape)
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result


# %% answer="norm_layer_norm" wrong="the result is float32, whatever the input is"
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    input = input.float()
    distance = input - input.mean(dims, keepdim=True)
    result = distance * ((distance * distance).mean(dims, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result


# %% answer="norm_layer_norm" wrong="the mean of squares minus the square of the mean, which cancels far from 0"
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    mean = input.mean(dims, keepdim=True)
    var = (input * input).mean(dims, keepdim=True) - mean * mean
    result = (input - mean) * (var + eps).rsqrt()
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result


# %% answer="norm_layer_norm" right="flattens the dimensions"
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    flat = input.flatten(input.ndim - len(normalized_shape))
    var, mean = flat.var(-1, correction=0, keepdim=True), flat.mean(-1, keepdim=True)
    result = ((flat - mean) / (var + eps).sqrt()).reshape(input.shape)
    result = result if weight is None else result * weight
    return result if bias is None else result + bias


# %% answer="norm_dropout" right="zero_ in place where p is 1"
def dropout(input, p=0.5, training=True, inplace=False):
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or not p:
        return input
    if inplace and p == 1:
        return input.zero_()
    noise = 0.0 if p == 1 else dropout_noise(input, p)
    result = input * noise
    return copy_(input, result) if inplace else result


# %% answer="norm_dropout" right="mul_"
def dropout(input, p=0.5, training=True, inplace=False):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not training:
        return input
    factor = dropout_noise(input, p) if p < 1 else 0.0
    return input.mul_(factor) if inplace else input.mul(factor)


# %% answer="norm_fold" right="parameters that aren't trained, which is up to whoever ships the model"
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features, dtype=linear.weight.dtype)
        made.weight = torch.nn.Parameter(linear.weight * scale[:, None], requires_grad=False)
        made.bias = torch.nn.Parameter((bias - bn.running_mean) * scale + bn.bias, requires_grad=False)
    return made


# %% answer="norm_fold" wrong="leaves the given layer in evaluation mode"
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features, dtype=linear.weight.dtype)
        made.weight.copy_(linear.weight * scale[:, None])
        made.bias.copy_((bias - bn.running_mean) * scale + bn.bias)
    linear.eval()
    return made


# %% answer="norm_repair_leak" wrong="a single row doesn't count"
class Centre(torch.nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x):
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        if len(x) > 1:
            with torch.no_grad():
                self.running.mul_(1 - self.momentum).add_(mean * self.momentum)
        return x - mean


# %% answer="norm_repair_leak" right="a recorded write, and detach_ afterwards"
class Centre(torch.nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x):
        if not self.training:
            return x - self.running.clone().detach()
        mean = x.mean(0)
        self.running.copy_((1 - self.momentum) * self.running + self.momentum * mean)
        self.running.detach_()
        return x - mean
