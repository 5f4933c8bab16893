# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 07b` grades them.


# %% answer="backward_gradcheck" right="as first written, from the task alone"
def numerical_jacobian(function, inputs, place, eps):
    given = list(inputs)
    x = inputs[place]
    rows = []
    with no_grad():
        for n in range(x.numel()):
            results = []
            for sign in (1, -1):
                moved = zeros_like(x).copy_(x) if False else x.detach().clone()
                moved = moved.reshape(-1).clone()
                moved[n] += sign * eps
                given[place] = moved.reshape(x.shape)
                results.append(function(*given).detach().clone().reshape(-1))
            rows.append((results[0] - results[1]) / (2 * eps))
        return stack(rows)


def analytical_jacobian(function, inputs, place):
    x = inputs[place]
    y = function(*inputs)
    columns = []
    for n in range(y.numel()):
        v = zeros(y.numel(), dtype=y.dtype)
        v[n] = 1
        (g,) = grad(y, x, v.reshape(y.shape), retain_graph=True, allow_unused=True)
        columns.append(zeros(x.numel(), dtype=x.dtype) if g is None else g.detach().reshape(-1))
    return stack(columns, 1)


def compare(function, inputs, number, place, eps, atol, rtol):
    one = lambda *given: as_tensors(function(*given))[number]
    measured = numerical_jacobian(one, as_list(inputs), place, eps)
    computed = analytical_jacobian(one, as_list(inputs), place)
    m, c = on_host(measured), on_host(computed)
    if not (abs(c - m) <= atol + rtol * abs(m)).all():
        raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {place},\nnumerical:{measured}\nanalytical:{computed}")


def gradcheck(function, inputs, eps=1e-6, atol=1e-5, rtol=1e-3):
    inputs = as_list(inputs)
    places = [n for n, x in enumerate(inputs) if getattr(x, "requires_grad", False)]
    if not places:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    for n in places:
        if inputs[n].dtype.name != "float64":
            warnings.warn(f"Input #{n} requires gradient and is not a double precision floating point or complex. This check will likely fail if all the inputs are not of double precision floating point or complex. ")
    for number in range(len(as_tensors(function(*inputs)))):
        for n in places:
            compare(function, inputs, number, n, eps, atol, rtol)
    return True


# %% answer="backward_gradcheck" right="element of the result for a vector"
def numerical_jacobian(function, inputs, place, eps):
    given = list(inputs)
    x = inputs[place]
    rows = []
    with no_grad():
        for n in range(x.numel()):
            results = []
            for sign in (1, -1):
                moved = zeros_like(x).copy_(x) if False else x.detach().clone()
                moved = moved.reshape(-1).clone()
                moved[n] += sign * eps
                given[place] = moved.reshape(x.shape)
                results.append(function(*given).detach().clone().reshape(-1))
            rows.append((results[0] - results[1]) / (2 * eps))
        return stack(rows)


def analytical_jacobian(function, inputs, place):
    x = inputs[place]
    y = function(*inputs)
    columns = []
    for n in range(y.numel()):
        v = zeros(y.numel(), dtype=y.dtype)
        v[n] = 1
        (g,) = grad(y.reshape(-1)[n], x, retain_graph=True, allow_unused=True)
        columns.append(zeros(x.numel(), dtype=x.dtype) if g is None else g.detach().reshape(-1))
    return stack(columns, 1)


def compare(function, inputs, number, place, eps, atol, rtol):
    one = lambda *given: as_tensors(function(*given))[number]
    measured = numerical_jacobian(one, as_list(inputs), place, eps)
    computed = analytical_jacobian(one, as_list(inputs), place)
    m, c = on_host(measured), on_host(computed)
    if not (abs(c - m) <= atol + rtol * abs(m)).all():
        raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {place},\nnumerical:{measured}\nanalytical:{computed}")


def gradcheck(function, inputs, eps=1e-6, atol=1e-5, rtol=1e-3):
    inputs = as_list(inputs)
    places = [n for n, x in enumerate(inputs) if getattr(x, "requires_grad", False)]
    if not places:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    for n in places:
        if inputs[n].dtype.name != "float64":
            warnings.warn(f"Input #{n} requires gradient and is not a double precision floating point or complex. This check will likely fail if all the inputs are not of double precision floating point or complex. ")
    for number in range(len(as_tensors(function(*inputs)))):
        for n in places:
            compare(function, inputs, number, n, eps, atol, rtol)
    return True


# %% answer="backward_gradcheck" wrong="tolerance relative to the computed one"
def numerical_jacobian(function, inputs, place, eps):
    given = list(inputs)
    x = inputs[place]
    rows = []
    with no_grad():
        for n in range(x.numel()):
            results = []
            for sign in (1, -1):
                moved = zeros_like(x).copy_(x) if False else x.detach().clone()
                moved = moved.reshape(-1).clone()
                moved[n] += sign * eps
                given[place] = moved.reshape(x.shape)
                results.append(function(*given).detach().clone().reshape(-1))
            rows.append((results[0] - results[1]) / (2 * eps))
        return stack(rows)


def analytical_jacobian(function, inputs, place):
    x = inputs[place]
    y = function(*inputs)
    columns = []
    for n in range(y.numel()):
        v = zeros(y.numel(), dtype=y.dtype)
        v[n] = 1
        (g,) = grad(y, x, v.reshape(y.shape), retain_graph=True, allow_unused=True)
        columns.append(zeros(x.numel(), dtype=x.dtype) if g is None else g.detach().reshape(-1))
    return stack(columns, 1)


def compare(function, inputs, number, place, eps, atol, rtol):
    one = lambda *given: as_tensors(function(*given))[number]
    measured = numerical_jacobian(one, as_list(inputs), place, eps)
    computed = analytical_jacobian(one, as_list(inputs), place)
    m, c = on_host(measured), on_host(computed)
    if not (abs(c - m) <= atol + rtol * abs(c)).all():
        raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {place},\nnumerical:{measured}\nanalytical:{computed}")


def gradcheck(function, inputs, eps=1e-6, atol=1e-5, rtol=1e-3):
    inputs = as_list(inputs)
    places = [n for n, x in enumerate(inputs) if getattr(x, "requires_grad", False)]
    if not places:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    for n in places:
        if inputs[n].dtype.name != "float64":
            warnings.warn(f"Input #{n} requires gradient and is not a double precision floating point or complex. This check will likely fail if all the inputs are not of double precision floating point or complex. ")
    for number in range(len(as_tensors(function(*inputs)))):
        for n in places:
            compare(function, inputs, number, n, eps, atol, rtol)
    return True


# %% answer="backward_gradcheck" wrong="larger tolerance for the sum"
import numpy as np
def numerical_jacobian(function, inputs, place, eps):
    given = list(inputs)
    x = inputs[place]
    rows = []
    with no_grad():
        for n in range(x.numel()):
            results = []
            for sign in (1, -1):
                moved = zeros_like(x).copy_(x) if False else x.detach().clone()
                moved = moved.reshape(-1).clone()
                moved[n] += sign * eps
                given[place] = moved.reshape(x.shape)
                results.append(function(*given).detach().clone().reshape(-1))
            rows.append((results[0] - results[1]) / (2 * eps))
        return stack(rows)


def analytical_jacobian(function, inputs, place):
    x = inputs[place]
    y = function(*inputs)
    columns = []
    for n in range(y.numel()):
        v = zeros(y.numel(), dtype=y.dtype)
        v[n] = 1
        (g,) = grad(y, x, v.reshape(y.shape), retain_graph=True, allow_unused=True)
        columns.append(zeros(x.numel(), dtype=x.dtype) if g is None else g.detach().reshape(-1))
    return stack(columns, 1)


def compare(function, inputs, number, place, eps, atol, rtol):
    one = lambda *given: as_tensors(function(*given))[number]
    measured = numerical_jacobian(one, as_list(inputs), place, eps)
    computed = analytical_jacobian(one, as_list(inputs), place)
    m, c = on_host(measured), on_host(computed)
    if not (abs(c - m) <= np.maximum(atol, rtol * abs(m))).all():
        raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {place},\nnumerical:{measured}\nanalytical:{computed}")


def gradcheck(function, inputs, eps=1e-6, atol=1e-5, rtol=1e-3):
    inputs = as_list(inputs)
    places = [n for n, x in enumerate(inputs) if getattr(x, "requires_grad", False)]
    if not places:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    for n in places:
        if inputs[n].dtype.name != "float64":
            warnings.warn(f"Input #{n} requires gradient and is not a double precision floating point or complex. This check will likely fail if all the inputs are not of double precision floating point or complex. ")
    for number in range(len(as_tensors(function(*inputs)))):
        for n in places:
            compare(function, inputs, number, n, eps, atol, rtol)
    return True


# %% answer="backward_gradcheck" wrong="warns for all inputs"
def numerical_jacobian(function, inputs, place, eps):
    given = list(inputs)
    x = inputs[place]
    rows = []
    with no_grad():
        for n in range(x.numel()):
            results = []
            for sign in (1, -1):
                moved = zeros_like(x).copy_(x) if False else x.detach().clone()
                moved = moved.reshape(-1).clone()
                moved[n] += sign * eps
                given[place] = moved.reshape(x.shape)
                results.append(function(*given).detach().clone().reshape(-1))
            rows.append((results[0] - results[1]) / (2 * eps))
        return stack(rows)


def analytical_jacobian(function, inputs, place):
    x = inputs[place]
    y = function(*inputs)
    columns = []
    for n in range(y.numel()):
        v = zeros(y.numel(), dtype=y.dtype)
        v[n] = 1
        (g,) = grad(y, x, v.reshape(y.shape), retain_graph=True, allow_unused=True)
        columns.append(zeros(x.numel(), dtype=x.dtype) if g is None else g.detach().reshape(-1))
    return stack(columns, 1)


def compare(function, inputs, number, place, eps, atol, rtol):
    one = lambda *given: as_tensors(function(*given))[number]
    measured = numerical_jacobian(one, as_list(inputs), place, eps)
    computed = analytical_jacobian(one, as_list(inputs), place)
    m, c = on_host(measured), on_host(computed)
    if not (abs(c - m) <= atol + rtol * abs(m)).all():
        raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {place},\nnumerical:{measured}\nanalytical:{computed}")


def gradcheck(function, inputs, eps=1e-6, atol=1e-5, rtol=1e-3):
    inputs = as_list(inputs)
    places = [n for n, x in enumerate(inputs) if getattr(x, "requires_grad", False)]
    if not places:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    for n in range(len(inputs)):
        if hasattr(inputs[n], "dtype") and inputs[n].dtype.name != "float64":
            warnings.warn(f"Input #{n} requires gradient and is not a double precision floating point or complex. This check will likely fail if all the inputs are not of double precision floating point or complex. ")
    for number in range(len(as_tensors(function(*inputs)))):
        for n in places:
            compare(function, inputs, number, n, eps, atol, rtol)
    return True


# %% answer="backward_gradcheck" wrong="records while it measures"
def numerical_jacobian(function, inputs, place, eps):
    given = list(inputs)
    x = inputs[place]
    rows = []
    if True:
        for n in range(x.numel()):
            results = []
            for sign in (1, -1):
                moved = zeros_like(x).copy_(x) if False else x.clone()
                moved = moved.reshape(-1).clone()
                moved[n] += sign * eps
                given[place] = moved.reshape(x.shape)
                results.append(function(*given).detach().clone().reshape(-1))
            rows.append((results[0] - results[1]) / (2 * eps))
        return stack(rows).detach()


def analytical_jacobian(function, inputs, place):
    x = inputs[place]
    y = function(*inputs)
    columns = []
    for n in range(y.numel()):
        v = zeros(y.numel(), dtype=y.dtype)
        v[n] = 1
        (g,) = grad(y, x, v.reshape(y.shape), retain_graph=True, allow_unused=True)
        columns.append(zeros(x.numel(), dtype=x.dtype) if g is None else g.detach().reshape(-1))
    return stack(columns, 1)


def compare(function, inputs, number, place, eps, atol, rtol):
    one = lambda *given: as_tensors(function(*given))[number]
    measured = numerical_jacobian(one, as_list(inputs), place, eps)
    computed = analytical_jacobian(one, as_list(inputs), place)
    m, c = on_host(measured), on_host(computed)
    if not (abs(c - m) <= atol + rtol * abs(m)).all():
        raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {place},\nnumerical:{measured}\nanalytical:{computed}")


def gradcheck(function, inputs, eps=1e-6, atol=1e-5, rtol=1e-3):
    inputs = as_list(inputs)
    places = [n for n, x in enumerate(inputs) if getattr(x, "requires_grad", False)]
    if not places:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    for n in places:
        if inputs[n].dtype.name != "float64":
            warnings.warn(f"Input #{n} requires gradient and is not a double precision floating point or complex. This check will likely fail if all the inputs are not of double precision floating point or complex. ")
    for number in range(len(as_tensors(function(*inputs)))):
        for n in places:
            compare(function, inputs, number, n, eps, atol, rtol)
    return True


# %% answer="backward_gradcheck" wrong="first result only"
def numerical_jacobian(function, inputs, place, eps):
    given = list(inputs)
    x = inputs[place]
    rows = []
    with no_grad():
        for n in range(x.numel()):
            results = []
            for sign in (1, -1):
                moved = zeros_like(x).copy_(x) if False else x.detach().clone()
                moved = moved.reshape(-1).clone()
                moved[n] += sign * eps
                given[place] = moved.reshape(x.shape)
                results.append(function(*given).detach().clone().reshape(-1))
            rows.append((results[0] - results[1]) / (2 * eps))
        return stack(rows)


def analytical_jacobian(function, inputs, place):
    x = inputs[place]
    y = function(*inputs)
    columns = []
    for n in range(y.numel()):
        v = zeros(y.numel(), dtype=y.dtype)
        v[n] = 1
        (g,) = grad(y, x, v.reshape(y.shape), retain_graph=True, allow_unused=True)
        columns.append(zeros(x.numel(), dtype=x.dtype) if g is None else g.detach().reshape(-1))
    return stack(columns, 1)


def compare(function, inputs, number, place, eps, atol, rtol):
    one = lambda *given: as_tensors(function(*given))[number]
    measured = numerical_jacobian(one, as_list(inputs), place, eps)
    computed = analytical_jacobian(one, as_list(inputs), place)
    m, c = on_host(measured), on_host(computed)
    if not (abs(c - m) <= atol + rtol * abs(m)).all():
        raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {place},\nnumerical:{measured}\nanalytical:{computed}")


def gradcheck(function, inputs, eps=1e-6, atol=1e-5, rtol=1e-3):
    inputs = as_list(inputs)
    places = [n for n, x in enumerate(inputs) if getattr(x, "requires_grad", False)]
    if not places:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    for n in places:
        if inputs[n].dtype.name != "float64":
            warnings.warn(f"Input #{n} requires gradient and is not a double precision floating point or complex. This check will likely fail if all the inputs are not of double precision floating point or complex. ")
    for number in [0]:
        for n in places:
            compare(function, inputs, number, n, eps, atol, rtol)
    return True


# %% answer="backward_gradcheck" wrong="nan passes, since no comparison with it is true" spoils="compare"
def compare(function, inputs, number, place, eps, atol, rtol):
    def one(*changed):
        return as_tensors(function(*changed))[number]

    measured, computed = (np.asarray(on_host(f(one, inputs, *more))) for f, more in ((numerical_jacobian, (place, eps)), (analytical_jacobian, (place,))))
    if (np.abs(computed - measured) > atol + rtol * np.abs(measured)).any():
        raise GradcheckError(
            f"Jacobian mismatch for output {number} with respect to input {place},\nnumerical:{numerical_jacobian(one, inputs, place, eps)}\nanalytical:{analytical_jacobian(one, inputs, place)}"
        )


# %% answer="backward_straight_through" right="as first written, from the task alone"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return ((x / step).round() * step).clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= ctx.limit), None, None


# %% answer="backward_straight_through" right="setup_context, where"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(x, step, limit):
        return (torch.round(x / step) * step).clamp(-limit, limit)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, step, limit = inputs
        ctx.save_for_backward((x >= -limit) & (x <= limit))

    @staticmethod
    def backward(ctx, grad):
        return torch.where(ctx.saved_tensors[0], grad, torch.zeros_like(grad)), None, None


# %% answer="backward_straight_through" wrong="one gradient for three inputs"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return ((x / step).round() * step).clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= ctx.limit)


# %% answer="backward_straight_through" wrong="limits, then rounds"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return (x.clamp(-limit, limit) / step).round() * step

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= ctx.limit), None, None


# %% answer="backward_straight_through" wrong="writes into the gradient it was given"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return ((x / step).round() * step).clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        grad[x.abs() > ctx.limit] = 0
        return grad, None, None


# %% answer="backward_hessian_vector" right="as first written, from the task alone"
def hvp(func, inputs, v):
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (product,) = torch.autograd.grad(slope, x, v)
    return value.detach(), product.detach()


# %% answer="backward_hessian_vector" wrong="a pass for each row"
def hvp(func, inputs, v):
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    rows = [torch.autograd.grad(slope[i], x, retain_graph=True)[0] for i in range(x.numel())]
    return value.detach(), torch.stack(rows) @ v


# %% answer="backward_hessian_vector" wrong="finite differences"
def hvp(func, inputs, v):
    e = 1e-5
    def slope(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(func(x), x)[0]
    return func(inputs.detach()), (slope(inputs + e * v) - slope(inputs - e * v)) / (2 * e)


# %% answer="backward_hessian_vector" wrong="requires_grad_ on the given tensor"
def hvp(func, inputs, v):
    inputs.requires_grad_()
    value = func(inputs)
    (slope,) = torch.autograd.grad(value, inputs, create_graph=True)
    (product,) = torch.autograd.grad((slope * v).sum(), inputs)
    return value.detach(), product


# %% answer="backward_repair_slope_penalty" right="norm along dim 1"
def penalized_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True, retain_graph=True)
    penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% answer="backward_repair_slope_penalty" wrong="mean of the outputs"
def penalized_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.mean(), x, create_graph=True)
    penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% answer="backward_repair_slope_penalty" wrong="one norm for all rows"
def penalized_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
    penalty = ((slope.pow(2).sum().sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% answer="backward_hooks" right="as first written, from the task alone"
def register_hook(x, hook):
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return RemovableHandle(hooks_of(x), hook)


def hooks_of(x):
    if x.grad_fn is None:
        if x.hooks is None:
            x.hooks = {}
        return x.hooks
    return x.grad_fn.result_hooks.setdefault(x.output_nr, {})


def checked(changed, grad, hook):
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if changed.shape != grad.shape:
        raise RuntimeError(f"hook '{hook.__name__}' has changed the size of value")
    return changed


def register_post_accumulate_grad_hook(x, hook):
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if x.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if x.post_hooks is None:
        x.post_hooks = {}
    return RemovableHandle(x.post_hooks, hook)


def after_run(node, results, grads):
    for hook in list(node.__dict__.get("hooks", {}).values()):
        changed = hook(tuple(results), tuple(grads))
        if changed is not None:
            results[:] = changed
    if isinstance(node, AccumulateGrad):
        for hook in list((node.leaf.post_hooks or {}).values()):
            hook(node.leaf)


# %% answer="backward_hooks" wrong="no copy of the hooks"
def register_hook(x, hook):
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return RemovableHandle(hooks_of(x), hook)


def hooks_of(x):
    if x.grad_fn is None:
        if x.hooks is None:
            x.hooks = {}
        return x.hooks
    return x.grad_fn.result_hooks.setdefault(x.output_nr, {})


def checked(changed, grad, hook):
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if changed.shape != grad.shape:
        raise RuntimeError(f"hook '{hook.__name__}' has changed the size of value")
    return changed


def register_post_accumulate_grad_hook(x, hook):
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if x.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if x.post_hooks is None:
        x.post_hooks = {}
    return RemovableHandle(x.post_hooks, hook)


def after_run(node, results, grads):
    for hook in node.__dict__.get("hooks", {}).values():
        changed = hook(tuple(results), tuple(grads))
        if changed is not None:
            results[:] = changed
    if isinstance(node, AccumulateGrad):
        for hook in list((node.leaf.post_hooks or {}).values()):
            hook(node.leaf)


# %% answer="backward_hooks" wrong="lists for tuples"
def register_hook(x, hook):
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return RemovableHandle(hooks_of(x), hook)


def hooks_of(x):
    if x.grad_fn is None:
        if x.hooks is None:
            x.hooks = {}
        return x.hooks
    return x.grad_fn.result_hooks.setdefault(x.output_nr, {})


def checked(changed, grad, hook):
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if changed.shape != grad.shape:
        raise RuntimeError(f"hook '{hook.__name__}' has changed the size of value")
    return changed


def register_post_accumulate_grad_hook(x, hook):
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if x.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if x.post_hooks is None:
        x.post_hooks = {}
    return RemovableHandle(x.post_hooks, hook)


def after_run(node, results, grads):
    for hook in list(node.__dict__.get("hooks", {}).values()):
        changed = hook(results, grads)
        if changed is not None:
            results[:] = changed
    if isinstance(node, AccumulateGrad):
        for hook in list((node.leaf.post_hooks or {}).values()):
            hook(node.leaf)


# %% answer="backward_hooks" wrong="numel for shape"
def register_hook(x, hook):
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return RemovableHandle(hooks_of(x), hook)


def hooks_of(x):
    if x.grad_fn is None:
        if x.hooks is None:
            x.hooks = {}
        return x.hooks
    return x.grad_fn.result_hooks.setdefault(x.output_nr, {})


def checked(changed, grad, hook):
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if changed.numel() != grad.numel():
        raise RuntimeError(f"hook '{hook.__name__}' has changed the size of value")
    return changed


def register_post_accumulate_grad_hook(x, hook):
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if x.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if x.post_hooks is None:
        x.post_hooks = {}
    return RemovableHandle(x.post_hooks, hook)


def after_run(node, results, grads):
    for hook in list(node.__dict__.get("hooks", {}).values()):
        changed = hook(tuple(results), tuple(grads))
        if changed is not None:
            results[:] = changed
    if isinstance(node, AccumulateGrad):
        for hook in list((node.leaf.post_hooks or {}).values()):
            hook(node.leaf)


# %% answer="backward_hooks" wrong="hooks of the first output"
def register_hook(x, hook):
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return RemovableHandle(hooks_of(x), hook)


def hooks_of(x):
    if x.grad_fn is None:
        if x.hooks is None:
            x.hooks = {}
        return x.hooks
    return x.grad_fn.result_hooks.setdefault(0, {})


def checked(changed, grad, hook):
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if changed.shape != grad.shape:
        raise RuntimeError(f"hook '{hook.__name__}' has changed the size of value")
    return changed


def register_post_accumulate_grad_hook(x, hook):
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not x.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if x.post_hooks is None:
        x.post_hooks = {}
    return RemovableHandle(x.post_hooks, hook)


def after_run(node, results, grads):
    for hook in list(node.__dict__.get("hooks", {}).values()):
        changed = hook(tuple(results), tuple(grads))
        if changed is not None:
            results[:] = changed
    if isinstance(node, AccumulateGrad):
        for hook in list((node.leaf.post_hooks or {}).values()):
            hook(node.leaf)


# %% answer="backward_hooks" wrong="no check of requires_grad"
def register_hook(x, hook):
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return RemovableHandle(hooks_of(x), hook)


def hooks_of(x):
    if x.grad_fn is None:
        if x.hooks is None:
            x.hooks = {}
        return x.hooks
    return x.grad_fn.result_hooks.setdefault(x.output_nr, {})


def checked(changed, grad, hook):
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if changed.shape != grad.shape:
        raise RuntimeError(f"hook '{hook.__name__}' has changed the size of value")
    return changed


def register_post_accumulate_grad_hook(x, hook):
    if x.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if x.post_hooks is None:
        x.post_hooks = {}
    return RemovableHandle(x.post_hooks, hook)


def after_run(node, results, grads):
    for hook in list(node.__dict__.get("hooks", {}).values()):
        changed = hook(tuple(results), tuple(grads))
        if changed is not None:
            results[:] = changed
    if isinstance(node, AccumulateGrad):
        for hook in list((node.leaf.post_hooks or {}).values()):
            hook(node.leaf)


# %% answer="backward_measure_best_step" right="as the task says"
def best_steps(function, slope, points):
    true = slope(points)

    def best(dtype, central):
        errors, x = {}, points.to(dtype)
        for k in range(1, 13):
            step = 10.0**-k
            before, width = (x - step, 2 * step) if central else (x, step)
            quotient = ((function(x + step) - function(before)) / width).double()
            errors[k] = ((quotient - true) / true).abs().mean().item()
        return min(errors, key=errors.get)

    return {
        "central, float64": best(torch.float64, True),
        "one-sided, float64": best(torch.float64, False),
        "central, float32": best(torch.float32, True),
    }


# %% answer="backward_measure_best_step" wrong="the largest error in place of the mean"
def best_steps(function, slope, points):
    true = slope(points)

    def best(dtype, central):
        errors, x = {}, points.to(dtype)
        for k in range(1, 13):
            step = 10.0**-k
            before, width = (x - step, 2 * step) if central else (x, step)
            quotient = ((function(x + step) - function(before)) / width).double()
            errors[k] = ((quotient - true) / true).abs().max().item()
        return min(errors, key=errors.get)

    return {
        "central, float64": best(torch.float64, True),
        "one-sided, float64": best(torch.float64, False),
        "central, float32": best(torch.float32, True),
    }


# %% answer="backward_measure_best_step" wrong="the absolute error"
def best_steps(function, slope, points):
    true = slope(points)

    def best(dtype, central):
        errors, x = {}, points.to(dtype)
        for k in range(1, 13):
            step = 10.0**-k
            before, width = (x - step, 2 * step) if central else (x, step)
            quotient = ((function(x + step) - function(before)) / width).double()
            errors[k] = (quotient - true).abs().mean().item()
        return min(errors, key=errors.get)

    return {
        "central, float64": best(torch.float64, True),
        "one-sided, float64": best(torch.float64, False),
        "central, float32": best(torch.float32, True),
    }


# %% answer="backward_measure_best_step" wrong="the error relative to the mean slope"
def best_steps(function, slope, points):
    true = slope(points)

    def best(dtype, central):
        errors, x = {}, points.to(dtype)
        for k in range(1, 13):
            step = 10.0**-k
            before, width = (x - step, 2 * step) if central else (x, step)
            quotient = ((function(x + step) - function(before)) / width).double()
            errors[k] = ((quotient - true).abs().mean() / true.abs().mean()).item()
        return min(errors, key=errors.get)

    return {
        "central, float64": best(torch.float64, True),
        "one-sided, float64": best(torch.float64, False),
        "central, float32": best(torch.float32, True),
    }


# %% answer="backward_measure_best_step" wrong="the true derivative in the type of the setting"
def best_steps(function, slope, points):
    def best(dtype, central):
        errors, x = {}, points.to(dtype)
        true = slope(x).double()
        for k in range(1, 13):
            step = 10.0**-k
            before, width = (x - step, 2 * step) if central else (x, step)
            quotient = ((function(x + step) - function(before)) / width).double()
            errors[k] = ((quotient - true) / true).abs().mean().item()
        return min(errors, key=errors.get)

    return {
        "central, float64": best(torch.float64, True),
        "one-sided, float64": best(torch.float64, False),
        "central, float32": best(torch.float32, True),
    }


# %% answer="backward_measure_best_step" wrong="errors that cancel"
def best_steps(function, slope, points):
    true = slope(points)

    def best(dtype, central):
        errors, x = {}, points.to(dtype)
        for k in range(1, 13):
            step = 10.0**-k
            before, width = (x - step, 2 * step) if central else (x, step)
            quotient = ((function(x + step) - function(before)) / width).double()
            errors[k] = ((quotient - true) / true).mean().abs().item()
        return min(errors, key=errors.get)

    return {
        "central, float64": best(torch.float64, True),
        "one-sided, float64": best(torch.float64, False),
        "central, float32": best(torch.float32, True),
    }


# %% answer="backward_measure_best_step" wrong="the true derivative in float32, in all settings"
def best_steps(function, slope, points):
    true = slope(points.float()).double()

    def best(dtype, central):
        errors, x = {}, points.to(dtype)
        for k in range(1, 13):
            step = 10.0**-k
            before, width = (x - step, 2 * step) if central else (x, step)
            quotient = ((function(x + step) - function(before)) / width).double()
            errors[k] = ((quotient - true) / true).abs().mean().item()
        return min(errors, key=errors.get)

    return {
        "central, float64": best(torch.float64, True),
        "one-sided, float64": best(torch.float64, False),
        "central, float32": best(torch.float32, True),
    }


# %% answer="backward_gradcheck" wrong="a one-sided difference" spoils="numerical_jacobian"
def numerical_jacobian(function, inputs, place, eps):
    x, rows = inputs[place], []
    with no_grad():
        start = function(*inputs).reshape(-1)
        for element in range(x.numel()):
            moved = x.clone().reshape(-1)
            moved[element] += eps
            after = function(*inputs[:place], moved.reshape(x.shape), *inputs[place + 1 :]).reshape(-1)
            rows.append((after - start) / eps)
    return stack(rows)


# %% answer="backward_gradcheck" wrong="all elements move together" spoils="numerical_jacobian"
def numerical_jacobian(function, inputs, place, eps):
    x, rows = inputs[place], []
    with no_grad():
        for element in range(x.numel()):
            sides = [function(*inputs[:place], x + step, *inputs[place + 1 :]).reshape(-1) for step in (eps, -eps)]
            rows.append((sides[0] - sides[1]) / (2 * eps))
    return stack(rows)


# %% answer="backward_gradcheck" wrong="divided by one step" spoils="numerical_jacobian"
def numerical_jacobian(function, inputs, place, eps):
    x, rows = inputs[place], []
    with no_grad():
        for element in range(x.numel()):
            sides = []
            for step in (eps, -eps):
                moved = x.clone().reshape(-1)
                moved[element] += step
                sides.append(function(*inputs[:place], moved.reshape(x.shape), *inputs[place + 1 :]).reshape(-1))
            rows.append((sides[0] - sides[1]) / eps)
    return stack(rows)


# %% answer="backward_gradcheck" wrong="a column for each element of the input" spoils="numerical_jacobian"
def numerical_jacobian(function, inputs, place, eps):
    x, rows = inputs[place], []
    with no_grad():
        for element in range(x.numel()):
            sides = []
            for step in (eps, -eps):
                moved = x.clone().reshape(-1)
                moved[element] += step
                sides.append(function(*inputs[:place], moved.reshape(x.shape), *inputs[place + 1 :]).reshape(-1))
            rows.append((sides[0] - sides[1]) / (2 * eps))
    return stack(rows, 1)


# %% answer="backward_gradcheck" wrong="moves the input itself" spoils="numerical_jacobian"
def numerical_jacobian(function, inputs, place, eps):
    x, rows = inputs[place], []
    with no_grad():
        flat = x.reshape(-1)
        for element in range(x.numel()):
            flat[element] += eps
            above = function(*inputs[:place], flat.reshape(x.shape), *inputs[place + 1 :]).reshape(-1)
            flat[element] -= 2 * eps
            below = function(*inputs[:place], flat.reshape(x.shape), *inputs[place + 1 :]).reshape(-1)
            flat[element] += 3 * eps
            rows.append((above - below) / (2 * eps))
    return stack(rows)


# %% answer="backward_gradcheck" wrong="a call for each element of the result" spoils="analytical_jacobian"
def analytical_jacobian(function, inputs, place):
    x, columns = inputs[place], []
    for element in range(function(*inputs).numel()):
        result = function(*inputs)
        chosen = zeros((result.numel(),), dtype=result.dtype)
        chosen[element] = 1
        found = None
        if result.requires_grad:
            (found,) = grad(result, x, chosen.reshape(result.shape), allow_unused=True)
        columns.append(zeros_like(x).reshape(-1) if found is None else found.reshape(-1))
    return stack(columns, 1)


# %% answer="backward_gradcheck" wrong="through .grad" spoils="analytical_jacobian"
def analytical_jacobian(function, inputs, place):
    x, result, columns = inputs[place], function(*inputs), []
    for element in range(result.numel()):
        chosen = zeros((result.numel(),), dtype=result.dtype)
        chosen[element] = 1
        x.grad = None
        result.backward(chosen.reshape(result.shape), retain_graph=True)
        columns.append((zeros_like(x) if x.grad is None else x.grad).reshape(-1))
    return stack(columns, 1)


# %% answer="backward_gradcheck" wrong="every input is used" spoils="analytical_jacobian"
def analytical_jacobian(function, inputs, place):
    x, result, columns = inputs[place], function(*inputs), []
    for element in range(result.numel()):
        chosen = zeros((result.numel(),), dtype=result.dtype)
        chosen[element] = 1
        (found,) = grad(result, x, chosen.reshape(result.shape), retain_graph=True)
        columns.append(found.reshape(-1))
    return stack(columns, 1)


# %% answer="backward_gradcheck" wrong="connected to a graph" spoils="analytical_jacobian"
def analytical_jacobian(function, inputs, place):
    x, result, columns = inputs[place], function(*inputs), []
    for element in range(result.numel()):
        chosen = zeros((result.numel(),), dtype=result.dtype)
        chosen[element] = 1
        found = None
        if result.requires_grad:
            (found,) = grad(result, x, chosen.reshape(result.shape), create_graph=True, allow_unused=True)
        columns.append((zeros_like(x) if found is None else found).reshape(-1))
    return stack(columns, 1)


# %% answer="backward_gradcheck" wrong="the matrices exchanged in the message" spoils="compare"
def compare(function, inputs, number, place, eps, atol, rtol):
    def one_result(*changed):
        return as_tensors(function(*changed))[number]

    measured, computed = numerical_jacobian(one_result, inputs, place, eps), analytical_jacobian(one_result, inputs, place)
    if not np.allclose(on_host(measured), on_host(computed), rtol, atol):
        raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {place},\nnumerical:{measured}\nanalytical:{computed}\n")


# %% answer="backward_gradcheck" wrong="False in place of an error" spoils="gradcheck"
def gradcheck(function, inputs, eps=1e-6, atol=1e-5, rtol=1e-3):
    inputs = as_list(inputs)
    places = [place for place, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not places:
        return False
    for place in places:
        if inputs[place].dtype is not float64:
            kind = "double precision floating point or complex"
            warnings.warn(f"Input #{place} requires gradient and is not a {kind}. This check will likely fail if all the inputs are not of {kind}. ", stacklevel=2)
    for number in range(len(as_tensors(function(*inputs)))):
        for place in places:
            compare(function, inputs, number, place, eps, atol, rtol)
    return True


# %% answer="backward_gradcheck" right="basis vectors from an identity, stacked at the end"
def numerical_jacobian(function, inputs, place, eps):
    x = inputs[place]

    @no_grad()
    def at(element, step):
        shift = zeros((x.numel(),), dtype=x.dtype)
        shift[element] = step
        changed = list(inputs)
        changed[place] = x.detach() + shift.reshape(x.shape)
        return function(*changed).reshape(-1)

    with no_grad():
        return stack([(at(element, eps) - at(element, -eps)) / (eps + eps) for element in range(x.numel())])


def analytical_jacobian(function, inputs, place):
    x, result = inputs[place], function(*inputs)
    jacobian = zeros((x.numel(), result.numel()), dtype=x.dtype)
    if not result.requires_grad:
        return jacobian
    for element, each in enumerate(result.reshape(-1)):
        (found,) = grad(each, x, retain_graph=True, allow_unused=True)
        if found is not None:
            jacobian[:, element] = found.reshape(-1)
    return jacobian


# %% answer="backward_straight_through" wrong="the rounded value decides"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        rounded = (x / step).round() * step
        ctx.inside = rounded.abs() <= limit
        return rounded.clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.inside, None, None


# %% answer="backward_straight_through" wrong="0 at the limit itself"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.inside = x.abs() < limit
        return ((x / step).round() * step).clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.inside, None, None


# %% answer="backward_straight_through" wrong="the gradient passes everywhere"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        return ((x / step).round() * step).clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        return grad, None, None


# %% answer="backward_straight_through" wrong="truncates"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.inside = x.abs() <= limit
        return ((x / step).floor() * step).clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.inside, None, None


# %% answer="backward_straight_through" wrong="a limit of 1 whatever is given"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.inside = x.abs() <= 1
        return ((x / step).round() * step).clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.inside, None, None


# %% answer="backward_straight_through" right="a mask kept in the context"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.outside = (x > limit) | (x < -limit)
        return torch.clamp(torch.round(x / step) * step, min=-limit, max=limit)

    @staticmethod
    def backward(ctx, grad):
        return grad.masked_fill(ctx.outside, 0.0), None, None


# %% answer="backward_straight_through" right="a saved copy"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.x, ctx.limit = x.clone(), limit
        return (x / step).round().mul(step).clamp(max=limit).clamp(min=-limit)

    @staticmethod
    def backward(ctx, grad):
        return torch.where(ctx.x.abs() > ctx.limit, torch.zeros_like(grad), grad), None, None


# %% answer="backward_straight_through" wrong="a float32 mask changes the dtype of float64 and half gradients"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.save_for_backward((x.abs() <= limit).float())
        return (torch.round(x / step) * step).clamp(-limit, limit)
    @staticmethod
    def backward(ctx, grad):
        (inside,) = ctx.saved_tensors
        return (grad.float() * inside), None, None


# %% answer="backward_straight_through" wrong="truncates"
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.save_for_backward(x.abs() <= limit)
        return ((x / step + 0.5).to(torch.int64) * step).clamp(-limit, limit).to(x.dtype)
    @staticmethod
    def backward(ctx, grad):
        (inside,) = ctx.saved_tensors
        return grad * inside, None, None


# %% answer="backward_hessian_vector" wrong="the second pass by backward, which reaches all that func uses"
def hvp(func, inputs, v):
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (slope * v).sum().backward()
    return value.detach(), x.grad


# %% answer="backward_hessian_vector" wrong="detaches what func returned, in place"
def hvp(func, inputs, v):
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (product,) = torch.autograd.grad((slope * v).sum(), x)
    return value.detach_(), product


# %% answer="backward_hessian_vector" wrong="the value has a history"
def hvp(func, inputs, v):
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (product,) = torch.autograd.grad((slope * v).sum(), x, retain_graph=True)
    return value, product


# %% answer="backward_hessian_vector" wrong="the product has a history"
def hvp(func, inputs, v):
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (product,) = torch.autograd.grad((slope * v).sum(), x, create_graph=True)
    return value.detach(), product


# %% answer="backward_hessian_vector" wrong="the gradient times v"
def hvp(func, inputs, v):
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x)
    return value.detach(), slope * v


# %% answer="backward_hessian_vector" wrong="the square of the slope"
def hvp(func, inputs, v):
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (product,) = torch.autograd.grad((slope * slope).sum(), x)
    return value.detach(), product


# %% answer="backward_hessian_vector" right="v as the gradient that arrives"
def hvp(func, inputs, v):
    x = inputs.detach().clone().requires_grad_(True)
    with torch.enable_grad():
        value = func(x)
        slope = torch.autograd.grad(value, [x], create_graph=True)[0]
    product = torch.autograd.grad(slope, [x], grad_outputs=[v])[0]
    return value.detach(), product.detach()


# %% answer="backward_hessian_vector" right="a product of vectors"
def hvp(func, inputs, v):
    point = torch.tensor(inputs.tolist(), dtype=inputs.dtype, requires_grad=True)
    result = func(point)
    (first,) = torch.autograd.grad(result, point, create_graph=True)
    return result.detach(), torch.autograd.grad(first @ v, point)[0]


# %% answer="backward_repair_slope_penalty" wrong="the caller's x requires a gradient afterwards"
def penalized_loss(weights, x, target, weight):
    x = x.requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
    penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% answer="backward_repair_slope_penalty" wrong="the square of the length"
def penalized_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
    penalty = ((slope.pow(2).sum(1) - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% answer="backward_repair_slope_penalty" wrong="the penalty is a constant"
def penalized_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
    penalty = ((slope.detach().pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% answer="backward_repair_slope_penalty" wrong="the slope requires a gradient, without a history"
def penalized_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, retain_graph=True)
    slope.requires_grad_()
    penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% answer="backward_repair_slope_penalty" wrong="a pass that adds to the weights' gradients"
def penalized_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    output.sum().backward(create_graph=True)
    penalty = ((x.grad.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% answer="backward_repair_slope_penalty" wrong="the slope of the loss"
def penalized_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    loss = ((output - target) ** 2).mean()
    (slope,) = torch.autograd.grad(loss, x, create_graph=True)
    penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return loss + weight * penalty


# %% answer="backward_repair_slope_penalty" right="ones as the gradient that arrives, mse_loss"
def penalized_loss(weights, x, target, weight):
    rows = x.detach().clone().requires_grad_()
    output = network(weights, rows)
    slope = torch.autograd.grad(output, rows, torch.ones_like(output), create_graph=True)[0]
    lengths = (slope * slope).sum(dim=1) ** 0.5
    return torch.nn.functional.mse_loss(output, target) + weight * (lengths - 1).square().mean()


# %% answer="backward_repair_slope_penalty" right="two runs of the network"
def penalized_loss(weights, x, target, weight):
    rows = x.detach().requires_grad_()
    (slope,) = torch.autograd.grad(network(weights, rows).sum(), rows, create_graph=True)
    error = network(weights, x.detach()) - target
    return error.pow(2).mean() + weight * (slope.norm(dim=1) - 1).pow(2).mean()


# %% answer="backward_hooks" wrong="an empty dict is made anew" spoils="register_hook hooks_of checked"
def hooks_of(x):
    if x.grad_fn is None:
        if x.hooks is None:
            x.hooks = {}
        return x.hooks
    found = x.grad_fn.result_hooks.get(x.output_nr) or {}
    x.grad_fn.result_hooks[x.output_nr] = found
    return found


# %% answer="backward_hooks" wrong="a result keeps its hooks itself" spoils="register_hook hooks_of checked"
def hooks_of(x):
    if x.hooks is None:
        x.hooks = {}
    return x.hooks


# %% answer="backward_hooks" wrong="any change of the shape that broadcasts" spoils="register_hook hooks_of checked"
def checked(changed, grad, hook):
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if changed.ndim > grad.ndim:
        raise RuntimeError(f"hook '{hook.__name__}' has changed the size of value")
    return changed


# %% answer="backward_hooks" wrong="the value and not its type" spoils="register_hook hooks_of checked"
def checked(changed, grad, hook):
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{changed}'")
    if changed.shape != grad.shape:
        raise RuntimeError(f"hook '{hook.__name__}' has changed the size of value")
    return changed


# %% answer="backward_hooks" wrong="gradients of inputs and outputs exchanged" spoils="register_post_accumulate_grad_hook after_run"
def after_run(node, results, grads):
    for hook in list(node.__dict__.get("hooks", {}).values()):
        changed = hook(tuple(grads), tuple(results))
        if changed is not None:
            results[:] = changed
    if isinstance(node, AccumulateGrad):
        for hook in list((node.leaf.post_hooks or {}).values()):
            hook(node.leaf)


# %% answer="backward_hooks" wrong="the engine's list isn't written to" spoils="register_post_accumulate_grad_hook after_run"
def after_run(node, results, grads):
    for hook in list(node.__dict__.get("hooks", {}).values()):
        changed = hook(tuple(results), tuple(grads))
        if changed is not None:
            results = list(changed)
    if isinstance(node, AccumulateGrad):
        for hook in list((node.leaf.post_hooks or {}).values()):
            hook(node.leaf)


# %% answer="backward_hooks" wrong="hooks of the gradient, not of the leaf" spoils="register_post_accumulate_grad_hook after_run"
def after_run(node, results, grads):
    for hook in list(node.__dict__.get("hooks", {}).values()):
        changed = hook(tuple(results), tuple(grads))
        if changed is not None:
            results[:] = changed
    if isinstance(node, AccumulateGrad):
        for hook in list((node.leaf.post_hooks or {}).values()):
            hook(node.leaf.grad)


# %% answer="backward_hooks" wrong="hooks on results, too" spoils="register_post_accumulate_grad_hook after_run"
def register_post_accumulate_grad_hook(x, hook):
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if x.post_hooks is None:
        x.post_hooks = {}
    return RemovableHandle(x.post_hooks, hook)


# %% answer="backward_hooks" right="setdefault on vars, comparisons of tuples"
def hooks_of(x):
    node = x.grad_fn
    if node is not None:
        if x.output_nr not in node.result_hooks:
            node.result_hooks[x.output_nr] = {}
        return node.result_hooks[x.output_nr]
    x.hooks = {} if x.hooks is None else x.hooks
    return x.hooks


def checked(changed, grad, hook):
    if isinstance(changed, Tensor):
        if tuple(changed.shape) == tuple(grad.shape):
            return changed
        raise RuntimeError("hook '" + hook.__name__ + "' has changed the size of value")
    raise TypeError("expected Variable, but hook returned '" + changed.__class__.__name__ + "'")


def after_run(node, results, grads):
    for hook in tuple(vars(node).get("hooks", {}).values()):
        new = hook((*results,), (*grads,))
        if new is None:
            continue
        for place, each in enumerate(new):
            results[place] = each
    leaf = node.leaf if isinstance(node, AccumulateGrad) else None
    if leaf is not None and leaf.post_hooks:
        for hook in [*leaf.post_hooks.values()]:
            hook(leaf)


# %% answer="backward_hooks" wrong="the node of a leaf doesn't call its own hooks" spoils="after_run"
def after_run(node: Node, results: list[Tensor | None], grads: list[Tensor | None]) -> None:
    if isinstance(node, AccumulateGrad):
        for hook in list((node.leaf.post_hooks or {}).values()):
            hook(node.leaf)
    else:
        for hook in list(node.__dict__.get("hooks", {}).values()):
            changed = hook(tuple(results), tuple(grads))
            if changed is not None:
                results[:] = changed


# %% answer="backward_hooks" wrong="a Parameter is a tensor too, but it is refused" spoils="checked"
def checked(changed: object, grad: Tensor, hook: Function) -> Tensor:
    if type(changed) is not Tensor:
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if changed.shape != grad.shape:
        raise RuntimeError(f"hook '{hook.__name__}' has changed the size of value")
    return changed


# %% answer="backward_hooks" right="copies of the dicts, and the entries replaced one by one"
def hooks_of(x: Tensor) -> dict[RemovableHandle, Function]:
    if x.grad_fn is None:
        if x.hooks is None:
            x.hooks = {}
        return x.hooks
    table = x.grad_fn.result_hooks
    try:
        return table[x.output_nr]
    except KeyError:
        table[x.output_nr] = {}
        return table[x.output_nr]


def after_run(node: Node, results: list[Tensor | None], grads: list[Tensor | None]) -> None:
    for hook in vars(node).get("hooks", {}).copy().values():
        changed = hook((*results,), (*grads,))
        if changed is None:
            continue
        for index, each in enumerate(changed):
            results[index] = each
    if isinstance(node, AccumulateGrad) and node.leaf.post_hooks:
        for hook in node.leaf.post_hooks.copy().values():
            hook(node.leaf)
