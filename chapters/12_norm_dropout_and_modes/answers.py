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
    made = torch.nn.Linear(inside, out)
    with torch.no_grad():
        s = bn.weight / (bn.running_var + bn.eps).sqrt()
        made.weight.copy_(linear.weight * s[:, None])
        b = 0 if linear.bias is None else linear.bias
        made.bias.copy_(bn(torch.zeros(1, out) + b)[0])
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
