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
def penalised_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True, retain_graph=True)
    penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% answer="backward_repair_slope_penalty" wrong="mean of the outputs"
def penalised_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.mean(), x, create_graph=True)
    penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% answer="backward_repair_slope_penalty" wrong="one norm for all rows"
def penalised_loss(weights, x, target, weight):
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
