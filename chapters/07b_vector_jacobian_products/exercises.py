# %% [markdown]
# # Exercises · Vector–Jacobian products
# In exercises 2 and 7 you write parts of `mytorch`, and what passes goes into `my/mytorch`. Your functions run
# inside a file of `mytorch`, so everything that the task or the docstring mentions is available there; import
# anything else yourself.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% setup=true
import minitorch as torch


def two_layers(generator, inputs=3, hidden=8):
    """The weights of a small network with one output, as float64 leaves that require grad."""
    shapes = [(inputs, hidden), (hidden,), (hidden, 1)]
    return [torch.tensor(generator.normal(0, 0.7, shape), requires_grad=True) for shape in shapes]


def network(weights, x):
    """A hidden layer with tanh, then one number for each row of x."""
    first, bias, last = weights
    return ((x @ first + bias).tanh() @ last).squeeze(1)


# %% [markdown] exercise="backward_predict_product" kind="predict" points=1
# ### Exercise 1 · One pass, one vector
# ```python
# x = torch.tensor([1.0, 2.0], requires_grad=True)
# y = torch.stack([x[0] * x[1], x[0] + x[1], x[1] ** 2])
# y.backward(torch.tensor([1.0, 10.0, 100.0]))
# print(x.grad.tolist())
# ```
# What does it print? Set `prediction` to a list of two numbers, or to the string `"RuntimeError"` if a line raises an
# error.

# %% solution="backward_predict_product"
### BEGIN SOLUTION
prediction = [12.0, 411.0]
### END SOLUTION
### BEGIN STUB
# prediction = ...
### END STUB

# %% check="backward_predict_product"
check.show(
    {"prediction": prediction if isinstance(prediction, str) else [float(number) for number in prediction]},
    text="The gradient of x, or the type of the error.",
    secret=True,
)

# %% [markdown] hint="backward_predict_product"
# Write down the Jacobian. It has three rows, one for each entry of `y`, and two columns.

# %% [markdown] hint="backward_predict_product"
# `y.backward(v)` is the gradient of `1 * y[0] + 10 * y[1] + 100 * y[2]`.

# %% [markdown] hint="backward_predict_product"
# The rows are (2, 1), (1, 1) and (0, 4). Add them with the weights 1, 10 and 100.

# %% mutant="backward_predict_product"
# Counts all entries alike
# That is the gradient of the sum, `backward(torch.ones(3))`. The vector weights the rows with 1, 10 and 100 instead.
prediction = [3.0, 6.0]

# %% mutant="backward_predict_product"
# Expects an error
# Without an argument it would raise an error. With a vector of the shape of `y`, `backward` works for any number of
# outputs.
prediction = "RuntimeError"

# %% mutant="backward_predict_product"
# Forgets the factor of the square
# The derivative of x² is 2x, which is 4 at 2, so the last row is (0, 4).
prediction = [12.0, 211.0]

# %% mutant="backward_predict_product"
# Exchanges the factors of the product
# The derivative of x₀ · x₁ with respect to x₀ is x₁, so the first row is (2, 1).
prediction = [11.0, 412.0]

# %% [markdown] exercise="backward_gradcheck" kind="core" points="1 2 1" part="mytorch.autograd.gradcheck:numerical_jacobian | mytorch.autograd.gradcheck:analytical_jacobian | mytorch.autograd.gradcheck:compare mytorch.autograd.gradcheck:gradcheck"
# ### Exercise 2 · gradcheck
# `gradcheck` compares two matrices that should be equal. One is measured by central differences, and the other comes
# from the backward formulas, with one backward pass for each element of the result. Write both, then `compare`, which
# looks at one result and one input, and `gradcheck`, which goes through all of them. In your functions, `grad`,
# `no_grad`, `stack`, `zeros` and `zeros_like` are those of `mytorch`, and `warnings` is Python's. `on_host(x)` gives
# the NumPy array of a tensor, `as_list(inputs)` a list of one tensor or of several, and `as_tensors(results)` the
# floating-point tensors among the results of a function.


# %% docstrings="backward_gradcheck"
def numerical_jacobian():
    """Measure the Jacobian of a function's result with respect to the input at `place`, by central differences.

    Each element of that input in turn is changed by ±eps while the others stay: (f(x + eps) - f(x - eps)) / 2 eps.
    Nothing is recorded, and the inputs themselves are not changed.

    Args:
        function: takes the inputs and returns one tensor.

    Returns:
        A matrix of the result's dtype, with a row for each element of the input and a column for each element of
            the result.
    """


def analytical_jacobian():
    """Compute the same matrix from the backward formulas: one backward pass per element of the result.

    A pass starts with 1 at its element and 0 at all others, and its gradient is one column of the matrix. All passes
    use the same graph. If the result doesn't depend on the input, the matrix is zero.

    Returns:
        A matrix of the input's dtype, shaped like that of `numerical_jacobian`.
    """


def compare():
    """Compare the two Jacobians of the result `as_tensors(function(*inputs))[number]` for the input at `place`.

    Two elements agree if |computed - measured| ≤ atol + rtol · |measured|.

    Raises:
        GradcheckError: the Jacobians differ. "Jacobian mismatch for output 1 with respect to input 0,", then on
            lines of their own "numerical:" and "analytical:", each followed by its matrix.
    """


def gradcheck():
    """Check the backward formulas against measured derivatives, for each result and each input that requires grad.

    Returns True if all agree. Each of these inputs that isn't float64 causes a warning: "Input #1 requires gradient
    and is not a double precision floating point or complex. This check will likely fail if all the inputs are not of
    double precision floating point or complex. "

    Raises:
        ValueError: "gradcheck expects at least one input tensor to require gradient, but none of them have
            requires_grad=True."
        GradcheckError: raised by `compare`, where two Jacobians differ.
    """


# %% check="backward_gradcheck" raises="GradcheckError ValueError"
import warnings

from mytorch.autograd.gradcheck import analytical_jacobian, numerical_jacobian

generator = check.rng()
matrix = mytorch.tensor(generator.normal(size=(3, 2)), requires_grad=True)
x, vector = matrix.detach().t().requires_grad_(), mytorch.tensor(generator.normal(size=3), requires_grad=True)
before, calls = [x.tolist(), vector.tolist()], []


def function(a, b, c):
    calls.append(c)
    return ((a * a) @ b).exp() * c


class Wrong(mytorch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * a

    @staticmethod
    def backward(ctx, g):
        return g


class Inexact(mytorch.autograd.Function):
    """Its formula is off by one percent, and by a millionth where the derivative is 0."""

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return g * a * 2.02 + 1e-6


def checked(function, *given, **limits):
    """What gradcheck returns, or the first line of its error; and what it warns of."""
    answers = []
    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always")
        problem = check.error(lambda: answers.append(mytorch.autograd.gradcheck(function, given, **limits)))
    said = f"{type(problem).__name__}: {problem}".split("\n")[0] if problem else answers[0]
    return [said, *(str(each.message) for each in noticed)]


class Scaled(mytorch.autograd.Function):
    """Its formula is a multiple of the right one."""

    @staticmethod
    def forward(ctx, a, factor):
        ctx.save_for_backward(a)
        ctx.factor = factor
        return a * a

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return g * a * 2 * ctx.factor, None


def noting(a):
    recorded.append(mytorch.is_grad_enabled())
    return a * 2


recorded, between = [], mytorch.tensor(generator.uniform(4, 6, size=2), requires_grad=True)
numerical_jacobian(noting, [vector], 0, 1e-6)
mismatch = str(check.error(mytorch.autograd.gradcheck, Wrong.apply, vector))
fives = mytorch.tensor(generator.normal(size=2) + 5.0, requires_grad=True)
single = mytorch.tensor([1.0, 2.0], requires_grad=True)
inputs = [x, vector, 0.5]
coarse = numerical_jacobian(function, inputs, 0, 0.1)
calls.clear()
computed = analytical_jacobian(function, inputs, 0)
calls_of_the_second = len(calls)
check.show(
    {
        "x": x,
        "vector": vector,
        "measured, with respect to x": numerical_jacobian(function, inputs, 0, 1e-6),
        "measured, with respect to the vector": numerical_jacobian(function, inputs, 1, 1e-6),
        "measured with a coarse step": coarse,
        "computed, with respect to x": computed,
        "calls of the function for that": calls_of_the_second,
        "computed, with respect to the vector": analytical_jacobian(function, inputs, 1),
        "with respect to an input that is not used": analytical_jacobian(lambda a, b: b * 2, [x, vector], 0),
        "of a result with two dimensions": analytical_jacobian(lambda a, b: a * b, [x, vector], 1),
        "connected to a graph": [coarse.requires_grad, analytical_jacobian(function, inputs, 0).requires_grad],
        "inputs unchanged": before == [x.tolist(), vector.tolist()],
        "nothing in .grad": [x.grad, vector.grad],
        "gradcheck": mytorch.autograd.gradcheck(function, inputs),
        "of a wrong formula": checked(Wrong.apply, vector),
        "its error has both matrices": [
            mismatch.count(each) for each in ("\nnumerical:tensor(", "\nanalytical:tensor(")
        ],
        "of a wrong formula in the second result": checked(lambda a: (a > 0, a * 2, Wrong.apply(a)), vector),
        "of a wrong formula for the second input": checked(lambda a, b: a * Wrong.apply(b), vector, fives[0]),
        "of a formula that is off by one percent": checked(Inexact.apply, fives),
        "with a relative limit of a tenth": checked(Inexact.apply, fives, rtol=0.1),
        "with an absolute limit of 1": checked(Inexact.apply, fives, atol=1.0),
        "of a slope of 0, with an absolute limit": checked(Inexact.apply, (fives * 0).detach().requires_grad_()),
        "of single precision": checked(lambda a, b: a * 2 + b, vector[:2].detach(), single, eps=0.25),
        "of single precision that requires no gradient": checked(
            lambda a, b: a * 2 + b, between, single.detach(), eps=0.25
        ),
        "of two inputs of single precision": checked(lambda a, b: a * 2 + b, single, single.clone(), eps=0.25),
        "twice the slope, limit 0.6 of the measured one": checked(lambda a: Scaled.apply(a, 2.0), between, rtol=0.6),
        "half the slope, limit 0.6 of the measured one": checked(lambda a: Scaled.apply(a, 0.5), between, rtol=0.6),
        "twice the slope, both limits together": checked(lambda a: Scaled.apply(a, 2.0), between, rtol=0.6, atol=6.0),
        "of a formula that gives nan": checked(lambda a: Scaled.apply(a, float("nan")), between),
        "recording while it measures": recorded,
        "of inputs that require no gradient": checked(lambda a: a * 2, vector.detach()),
    },
    text="Two Jacobians of a function of a 2 by 3 matrix and a vector, measured and computed.",
)

# %% [markdown] hint="backward_gradcheck"
# Both matrices have a row for each element of the input and a column for each element of the result. Which of the two
# functions obtains a whole row at once, and which a whole column?

# %% [markdown] hint="backward_gradcheck"
# A small step of one element changes all results, which gives a row. A backward pass that starts at one element of
# the result reaches all elements of the input, which gives a column. `stack(rows)` and `stack(columns, 1)` make the
# matrices.

# %% [markdown] hint="backward_gradcheck"
# For the measured matrix, under `no_grad()`, write `moved = x.clone().reshape(-1)` and `moved[element] += step`, and
# call the function with `moved.reshape(x.shape)` in this position. For the computed one, `chosen` is zeros with a
# single 1, and `grad(result, x, chosen.reshape(result.shape), retain_graph=True, allow_unused=True)` gives a tuple
# with the column or with None.


# %% [markdown] hint="backward_gradcheck"
# `compare` makes a function of one result, `as_tensors(function(*changed))[number]`, and passes it to both Jacobians;
# `np.allclose(computed, measured, rtol, atol)` applies the rule to arrays. `gradcheck` calls it in two nested loops,
# over the indices of the results and over the positions of the inputs that require a gradient.


# %% mutant="backward_gradcheck"
# Compares only the first result
# A function may have several results, and each of them has a Jacobian of its own.
def gradcheck(function, inputs, eps=1e-6, atol=1e-5, rtol=1e-3):
    inputs = as_list(inputs)
    checked = [place for place, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not checked:
        found = "but none of them have requires_grad=True."
        raise ValueError(f"gradcheck expects at least one input tensor to require gradient, {found}")
    for place in checked:
        if inputs[place].dtype is not float64:
            kind = "double precision floating point or complex"
            fear = f"This check will likely fail if all the inputs are not of {kind}. "
            warnings.warn(f"Input #{place} requires gradient and is not a {kind}. {fear}", stacklevel=2)
        compare(function, inputs, 0, place, eps, atol, rtol)
    return True


# %% mutant="backward_gradcheck"
# Returns False
# It raises an error, so that a test fails even if nobody looks at the return value. PyTorch has
# `raise_exception=False` for that.
def gradcheck(function, inputs, eps=1e-6, atol=1e-5, rtol=1e-3):
    inputs = as_list(inputs)
    checked = [place for place, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    try:
        for number in range(len(as_tensors(function(*inputs)))):
            for place in checked:
                compare(function, inputs, number, place, eps, atol, rtol)
    except GradcheckError:
        return False
    return True


# %% mutant="backward_gradcheck"
# Uses an absolute limit only
# The limit grows with the derivative, because a difference of 0.001 is large for a derivative of 0.01, and negligible
# for one of 10,000.
def compare(function, inputs, number, place, eps, atol, rtol):
    def one_result(*changed):
        return as_tensors(function(*changed))[number]

    measured = numerical_jacobian(one_result, inputs, place, eps)
    computed = analytical_jacobian(one_result, inputs, place)
    if not np.allclose(on_host(computed), on_host(measured), 0.0, atol):
        jacobians = f"numerical:{measured}\nanalytical:{computed}\n"
        raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {place},\n{jacobians}")


# %% mutant="backward_gradcheck"
# Counts all results
# A result of integers or booleans has no Jacobian. `as_tensors` skips such results and numbers the others.
def compare(function, inputs, number, place, eps, atol, rtol):
    def one_result(*changed):
        results = function(*changed)
        return results[number] if isinstance(results, tuple) else results

    measured = numerical_jacobian(one_result, inputs, place, eps)
    computed = analytical_jacobian(one_result, inputs, place)
    if not np.allclose(on_host(computed), on_host(measured), rtol, atol):
        jacobians = f"numerical:{measured}\nanalytical:{computed}\n"
        raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {place},\n{jacobians}")


# %% mutant="backward_gradcheck"
# A one-sided difference
# The one-sided difference quotient is off by half the step times the curvature. The central one cancels that term.
def numerical_jacobian(function, inputs, place, eps):
    x, rows = inputs[place], []
    with no_grad():
        start = function(*inputs).reshape(-1)
        for element in range(x.numel()):
            moved = x.clone().reshape(-1)
            moved[element] += eps
            changed = function(*inputs[:place], moved.reshape(x.shape), *inputs[place + 1 :]).reshape(-1)
            rows.append((changed - start) / eps)
    return stack(rows)


# %% mutant="backward_gradcheck"
# Divides by one step
# From x - eps to x + eps there are two steps, so all derivatives are twice too large.
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


# %% mutant="backward_gradcheck"
# Moves everything at once
# All elements of the input move together, so each row is the sum of all rows.
def numerical_jacobian(function, inputs, place, eps):
    x = inputs[place]
    with no_grad():
        sides = [function(*inputs[:place], x + step, *inputs[place + 1 :]).reshape(-1) for step in (eps, -eps)]
        row = (sides[0] - sides[1]) / (2 * eps)
    return stack([row] * x.numel())


# %% mutant="backward_gradcheck"
# Never moves back
# The steps are written into the input itself, so each element is measured at a point that the earlier steps have
# moved.
def numerical_jacobian(function, inputs, place, eps):
    x, rows = inputs[place], []
    with no_grad():
        for element in np.ndindex(*x.shape):
            sides = []
            for step in (eps, -eps):
                x[element] += step
                sides.append(function(*inputs).reshape(-1))
            rows.append((sides[0] - sides[1]) / eps)
    return stack(rows)


# %% mutant="backward_gradcheck"
# Moves an alias
# `reshape` copies only where it has to, so the steps are written into the input itself. The second step starts where
# the first one ended, and the derivative is half of what it should be. Move a clone.
def numerical_jacobian(function, inputs, place, eps):
    x, rows = inputs[place], []
    with no_grad():
        for element in range(x.numel()):
            sides = []
            for step in (eps, -eps):
                moved = x.reshape(-1)
                moved[element] += step
                sides.append(function(*inputs[:place], moved.reshape(x.shape), *inputs[place + 1 :]).reshape(-1))
            rows.append((sides[0] - sides[1]) / (2 * eps))
    return stack(rows)


# %% mutant="backward_gradcheck"
# One pass for all results
# A pass that starts with ones everywhere gives the sum over the results and not a column for each.
def analytical_jacobian(function, inputs, place):
    x, result = inputs[place], function(*inputs)
    found = None
    if result.requires_grad:
        (found,) = grad(result, x, zeros_like(result) + 1, allow_unused=True)
    column = (zeros_like(x) if found is None else found).detach().reshape(-1)
    return stack([column] * result.numel(), 1)


# %% mutant="backward_gradcheck"
# Results in rows
# The matrix is transposed. Its rows belong to the input, and its columns to the result.
def analytical_jacobian(function, inputs, place):
    x, result, columns = inputs[place], function(*inputs), []
    for element in range(result.numel()):
        chosen = zeros((result.numel(),), dtype=result.dtype)
        chosen[element] = 1
        found = None
        if result.requires_grad:
            (found,) = grad(result, x, chosen.reshape(result.shape), retain_graph=True, allow_unused=True)
        columns.append((zeros_like(x) if found is None else found).detach().reshape(-1))
    return stack(columns)


# %% mutant="backward_gradcheck"
# A new graph for each pass
# The function is called once for each element of the result, although `retain_graph=True` lets all passes use a
# single graph.
def analytical_jacobian(function, inputs, place):
    x, columns = inputs[place], []
    for element in range(function(*inputs).numel()):
        result = function(*inputs)
        chosen = zeros((result.numel(),), dtype=result.dtype)
        chosen[element] = 1
        found = None
        if result.requires_grad:
            (found,) = grad(result, x, chosen.reshape(result.shape), allow_unused=True)
        columns.append((zeros_like(x) if found is None else found).detach().reshape(-1))
    return stack(columns, 1)


# %% mutant="backward_gradcheck"
# Frees the graph too early
# The first pass frees the values that the nodes saved, so the second pass can't run.
def analytical_jacobian(function, inputs, place):
    x, result, columns = inputs[place], function(*inputs), []
    for element in range(result.numel()):
        chosen = zeros((result.numel(),), dtype=result.dtype)
        chosen[element] = 1
        found = None
        if result.requires_grad:
            (found,) = grad(result, x, chosen.reshape(result.shape), allow_unused=True)
        columns.append((zeros_like(x) if found is None else found).detach().reshape(-1))
    return stack(columns, 1)


# %% mutant="backward_gradcheck"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def analytical_jacobian(function, inputs, place):
    import minitorch

    return minitorch.autograd.functional.jacobian(
        lambda x: function(*inputs[:place], x, *inputs[place + 1 :]), inputs[place]
    )


# %% [markdown] exercise="backward_straight_through" kind="build" points=2
# ### Exercise 3 · A straight-through estimator
# Networks whose weights have few bits round them in the forward pass. The derivative of rounding is 0 almost
# everywhere, so nothing would be learned. The **straight-through estimator** therefore pretends, in the backward
# pass, that the rounding wasn't there. `Rounded` rounds to the nearest multiple of `step` and clamps the result to
# `-limit` … `limit`. In the backward pass, the gradient passes unchanged where $|x| \le$ `limit`, and it is 0
# outside, where the value is clamped. The gradient that arrives may be shared with other nodes, so it must not be
# changed. `Rounded` is applied as `Rounded.apply(x, step, limit)`, with two Python numbers. If someone writes to `x`
# before the backward pass, either the gradient is still that of the old `x`, or an error reports the write.


# %% solution="backward_straight_through"
class Rounded(torch.autograd.Function):
    """Round to multiples of a step, within limits; gradients pass as if nothing had been rounded."""

    ### BEGIN SOLUTION
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return ((x / step).round() * step).clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= ctx.limit), None, None

    ### END SOLUTION


# %% check="backward_straight_through"
generator = check.rng()
step, limit = 0.25, 1.0
inside = [
    *generator.uniform(-0.95, 0.95, size=2).tolist(),
    float(generator.uniform(-0.95, -0.3)),
    float(generator.uniform(0.88, 0.99)),
]
near = float(generator.uniform(1.02, 1.1))  # outside, and rounded to the limit
x = torch.tensor([*inside, limit, near, 1.7, -2.3], requires_grad=True)
weight = torch.tensor(generator.normal(size=8).astype(np.float32))
rounded = Rounded.apply(x, step, limit)
(gradient,) = torch.autograd.grad((rounded * weight).sum(), x, retain_graph=True)
(square,) = torch.autograd.grad((Rounded.apply(x, 0.5, 2.0) ** 2).sum(), x)
double = torch.tensor([0.3, 1.7], dtype=torch.float64, requires_grad=True)
(precise,) = torch.autograd.grad(Rounded.apply(double, step, limit), double, torch.full_like(double, 1 + 2.0**-40))
single = torch.tensor([inside[2]], requires_grad=True)
(of_single,) = torch.autograd.grad(Rounded.apply(single, step, limit), single, torch.tensor([3.0]))
h = x * 1
later = Rounded.apply(h, step, limit).sum()
h.add_(5)
refused = check.error(later.backward)
other, given = torch.zeros(8, requires_grad=True), torch.tensor(generator.normal(size=8).astype(np.float32))
shared = given.clone()
(Rounded.apply(x.detach().requires_grad_(), step, limit) + other).backward(shared)
unnoticed = refused is None and x.grad.tolist() != (x.detach().abs() <= limit).float().tolist()
check.show(
    {
        "x": x.detach(),
        "weight": weight,
        "rounded to 0.25, within 1": rounded.detach(),
        "rounded to 0.3, within 1": Rounded.apply(x, 0.3, limit).detach(),
        "gradient of (rounded * weight).sum()": gradient,
        "gradient of the sum of squares, step 0.5, limit 2": square,
        "2⁴⁰ times a float64 gradient of 1 + 2⁻⁴⁰, minus 1": (precise - 1) * 2.0**40,
        "of a single element, times 3": of_single,
        "node": rounded.grad_fn.name(),
        "x was written to before backward": "a wrong gradient, unnoticed" if unnoticed else "right, or refused",
        "the gradient that was given, before": given,
        "and after a sum passed it on to Rounded and to a second tensor": shared,
    }
)

# %% [markdown] hint="backward_straight_through"
# Which of the three arguments gets a gradient, and what does `backward` need from `x`?

# %% [markdown] hint="backward_straight_through"
# `backward` returns one value for each argument of `forward`: the gradient, and `None` twice. Save `x` with
# `ctx.save_for_backward(x)`, and the number as `ctx.limit`.

# %% [markdown] hint="backward_straight_through"
# The forward formula is `((x / step).round() * step).clamp(-limit, limit)`, and `backward` returns `grad * (x.abs()
# <= ctx.limit), None, None`.


# %% mutant="backward_straight_through"
# Writes into the gradient
# The zeros are right, but they were written into the tensor that arrived. A sum passes the same tensor to all of its
# inputs, so the others get the zeros as well. Create a new one: `grad * mask`.
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


# %% mutant="backward_straight_through"
# Lets everything through
# Outside the limits the result doesn't change with `x`, so the gradient there has to be 0. Otherwise `x` could drift
# away without end.
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.save_for_backward(x)
        return ((x / step).round() * step).clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        return grad, None, None


# %% mutant="backward_straight_through"
# Rounds down
# `floor` goes to the next smaller multiple, but the task asks for the nearest one.
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return ((x / step).floor() * step).clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= ctx.limit), None, None


# %% mutant="backward_straight_through"
# Saves x as an attribute
# Someone wrote to `x` before the backward pass, so the gradient was computed with the new values. `save_for_backward`
# saves the version, too, so that the write is detected.
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.x, ctx.limit = x, limit
        return ((x / step).round() * step).clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        return grad * (ctx.x.abs() <= ctx.limit), None, None


# %% mutant="backward_straight_through"
# Compares the result
# A number that is rounded up to the limit is still inside it: 0.9 becomes 1.0, and its gradient passes. Compare `x`
# with the limit and not the result.
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        result = ((x / step).round() * step).clamp(-limit, limit)
        ctx.save_for_backward(x, result)
        ctx.limit = limit
        return result

    @staticmethod
    def backward(ctx, grad):
        _, result = ctx.saved_tensors
        return grad * (result.abs() < ctx.limit), None, None


# %% mutant="backward_straight_through"
# Clamps first
# 1.7 is first clamped to 1 and then rounded to the nearest multiple of 0.3, which is 0.9. Round first, so that 1.7
# becomes 1.8 and is then clamped to 1.
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


# %% mutant="backward_straight_through"
# Excludes the limit
# One of the numbers is the limit itself. Its gradient passes, because |x| ≤ `limit` holds there.
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return ((x / step).round() * step).clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() < ctx.limit), None, None


# %% mutant="backward_straight_through"
# Replaces the gradient by ones
# The incoming gradient has to be multiplied by the mask, not replaced by it.
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return ((x / step).round() * step).clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return (x.abs() <= ctx.limit).to(grad.dtype), None, None


# %% [markdown] exercise="backward_hessian_vector" kind="build" points=2 replaces="minitorch.autograd.functional:hvp"
# ### Exercise 4 · A Hessian-vector product
# A network with a million weights has a Hessian of a trillion elements. Its product with one vector `v` has only a
# million, and two backward passes compute it exactly, the second through the first. Write `hvp(func, inputs, v)`,
# where `func` takes the tensor `inputs` and returns a scalar tensor. The result is the pair of that scalar and the
# product of the Hessian at `inputs` with `v`, which has the shape of `inputs`. Neither of them is connected to a graph,
# `inputs` stays as it is, and no `.grad` changes.
#
# Your version replaces `torch.autograd.functional.hvp` in minitorch, and the check takes Newton steps with it. The
# check counts the passes, and the other functions of `torch.autograd.functional` don't work while it runs.


# %% solution="backward_hessian_vector"
def hvp(func, inputs, v):
    """Return the value of `func` at the tensor `inputs`, and the product of its Hessian there with `v`."""
    ### BEGIN SOLUTION
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (product,) = torch.autograd.grad((slope * v).sum(), x)
    return value.detach(), product
    ### END SOLUTION


# %% check="backward_hessian_vector"
from unittest import mock

generator = check.rng()
start = torch.tensor(generator.normal(0, 1, 5), requires_grad=True)
v = torch.tensor(generator.normal(0, 1, 5))


passes = []


class Counted(torch.autograd.Function):
    """The same numbers; each backward pass through here is counted, and whether it records its own operations."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        passes.append(torch.is_grad_enabled())
        return grad * 1


def valley(x):
    """Curved in every direction, and each coordinate's slope depends on its neighbour."""
    x = Counted.apply(x)
    return (x.exp() + x**4).sum() + ((x[1:] - x[:-1]) ** 2).sum()


def not_yours(*given, **named):
    raise RuntimeError("write the two passes with torch.autograd.grad")


def newton_step(x):
    """Solves H p = g by conjugate gradients, with nothing but products H p, and goes from x to x - p."""
    leaf = x.detach().requires_grad_()
    (residual,) = torch.autograd.grad(valley(leaf), leaf)
    solution, direction = torch.zeros_like(residual), residual
    for _ in range(5):
        _, curved = torch.autograd.functional.hvp(valley, x, direction)
        length = (residual * residual).sum() / (direction * curved).sum()
        solution, after = solution + length * direction, residual - length * curved
        direction = after + (after * after).sum() / (residual * residual).sum() * direction
        residual = after
    return x.detach() - solution


others = dict.fromkeys(("vhp", "hessian", "jacobian", "jvp", "vjp"), not_yours)
with mock.patch.multiple(torch.autograd.functional, **others), check.install(hvp, "minitorch.autograd.functional:hvp"):
    kept, scale = [], torch.ones(1, dtype=torch.float64, requires_grad=True)
    value, product = torch.autograd.functional.hvp(
        lambda x: kept.append(valley(x) * scale.squeeze()) or kept[-1], start, v
    )
    counted, recorded = len(passes), passes[:1]
    values = [valley(start).item()]
    place = start
    for _ in range(3):
        place = newton_step(place)
        values.append(valley(place).item())
    plain = start.detach()
    torch.autograd.functional.hvp(valley, plain, v)
    single = torch.autograd.functional.hvp(valley, plain[:1], v[:1])
check.show(
    {
        "x": start,
        "v": v,
        "value": value,
        "product": product,
        "backward passes": counted,
        "the first pass records its operations": recorded,
        "connected to a graph": [value.requires_grad, product.requires_grad],
        "what func itself returned has a history": [each.requires_grad for each in kept],
        "x.grad, and that of a tensor which func uses": [start.grad, scale.grad],
        "of a single number": single,
        "an x that doesn't require grad requires it afterwards": plain.requires_grad,
        "values after 0 to 3 Newton steps": values,
    },
    rtol=1e-10,
    atol=1e-11,
    text="The Hessian of a function of five numbers times v, and Newton's method made of such products.",
)

# %% [markdown] hint="backward_hessian_vector"
# The Hessian is the derivative of the gradient. The derivative of which number is $Hv$?

# %% [markdown] hint="backward_hessian_vector"
# $\sum_i v_i g_i(x)$, where $g$ is the gradient. So the first pass must record its own operations.

# %% [markdown] hint="backward_hessian_vector"
# Make a leaf of `inputs.detach()`. `torch.autograd.grad(value, x, create_graph=True)` gives `slope`; then call
# `torch.autograd.grad` for `(slope * v).sum()`.


# %% mutant="backward_hessian_vector"
# Delegates to minitorch
# This calls the `hvp` of minitorch, which is locked while yours is installed.
def hvp(func, inputs, v, original=torch.autograd.functional.hvp):
    return original(func, inputs, v)


# %% mutant="backward_hessian_vector"
# Delegates to vhp
# A Hessian is symmetric, so `vhp` gives the same product. But the task is to write the two passes inside it.
def hvp(func, inputs, v):
    return torch.autograd.functional.vhp(func, inputs, v)


# %% mutant="backward_hessian_vector"
# Builds the matrix
# The product is right, but it took a pass for each row of the Hessian. A single pass through `(slope * v).sum()` is
# enough.
def hvp(func, inputs, v):
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    rows = [torch.autograd.grad(each, x, retain_graph=True)[0] for each in slope]
    return value.detach(), torch.stack(rows) @ v


# %% mutant="backward_hessian_vector"
# Multiplies too late
# `slope.sum()` gives the sums of the Hessian's rows. Multiplying them by `v` afterwards is right only for a diagonal
# Hessian, so `v` has to weight the slopes before the second pass.
def hvp(func, inputs, v):
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x)
    return value.detach(), curvature * v


# %% mutant="backward_hessian_vector"
# A difference of two gradients
# This is close, but only half of the digits are right. The derivative of the gradient itself gives all of them.
def hvp(func, inputs, v):
    def slope(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(func(x), x)[0]

    return func(inputs).detach(), (slope(inputs + 1e-5 * v) - slope(inputs - 1e-5 * v)) / 2e-5


# %% mutant="backward_hessian_vector"
# Changes the inputs
# `requires_grad_` changes the tensor that the caller passed. Make a leaf of your own:
# `inputs.detach().requires_grad_()`.
def hvp(func, inputs, v):
    value = func(inputs.requires_grad_())
    (slope,) = torch.autograd.grad(value, inputs, create_graph=True)
    (product,) = torch.autograd.grad((slope * v).sum(), inputs)
    return value.detach(), product


# %% mutant="backward_hessian_vector"
# Uses backward
# The product is right, but both passes added their gradients to the `.grad` of the caller's tensor.
def hvp(func, inputs, v):
    x = inputs
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (slope * v).sum().backward()
    return value.detach(), x.grad.clone()


# %% mutant="backward_hessian_vector"
# Stays connected
# The product is right, but it keeps the graphs of both passes alive: the second pass needs no `create_graph`, and the
# value should be detached.
def hvp(func, inputs, v):
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (product,) = torch.autograd.grad((slope * v).sum(), x, create_graph=True)
    return value, product


# %% [markdown] exercise="backward_measure_best_step" kind="measure" points=2
# ### Exercise 5 · The best step of a difference quotient
# gradcheck compares each derivative with a difference quotient. A large step has an error because the function is
# curved, while a small one has an error because the difference of two nearly equal numbers has few digits left. Find
# the power of ten in between: for a function and some points, which step $10^{-k}$, with $k$ from 1 to 12, minimizes
# the mean relative error against the true derivative? Measure it in three settings:
#
# 1. `"central, float64"`: $\frac{f(x + s) - f(x - s)}{2 s}$ in float64,
# 2. `"one-sided, float64"`: $\frac{f(x + s) - f(x)}{s}$ in float64, which is another formula,
# 3. `"central, float32"`: the first formula in float32, which is another dtype.
#
# `best_steps(function, slope, points)` returns the three values of $k$. `function` and its true derivative `slope`
# compute in the dtype of their argument, and `points` is a float64 tensor. Compute the true derivative in float64 in
# each setting. The check uses functions of several scales, $e^{cx}$ near $x = 1/c$, and one whose derivative differs
# in size from point to point, so no three numbers are right for all of them. Try `best_steps(torch.exp, torch.exp,
# torch.linspace(0.5, 1.5, 1001, dtype=torch.float64))` first.


# %% solution="backward_measure_best_step"
def best_steps(function, slope, points) -> dict[str, int]:
    """The k of the best step 10**-k in each of the three settings."""

    ### BEGIN SOLUTION
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
    ### END SOLUTION


# %% check="backward_measure_best_step"
generator = check.rng()


types = set()


def steps_of(function, slope, points):
    """The three answers for a function."""

    def noting(x):
        types.add(str(x.dtype))
        return slope(x)

    found = best_steps(function, noting, points)
    return [int(found[name]) for name in ("central, float64", "one-sided, float64", "central, float32")]


def exponential(c):
    """exp(c x), its derivative, and points around 1 / c."""
    points = torch.linspace(0.5, 1.5, 1001, dtype=torch.float64) / c
    return lambda x: (c * x).exp(), lambda x: c * (c * x).exp(), points


scales = [*generator.permutation([1.0, 10.0, 100.0]), 10.0 ** generator.integers(0, 3)]
functions = [exponential(float(c)) for c in (*scales, 0.001, 300_000.0)]
functions.append((lambda x: x**5, lambda x: 5 * x**4, torch.linspace(0.01, 10, 1001, dtype=torch.float64)))
measured = {f"function {number}": steps_of(*each) for number, each in enumerate(functions, 1)}
check.show(
    measured | {"the derivative is taken in": sorted(types)},
    text="The k of the best step in each setting, for seven functions.",
    secret=True,
)

# %% [markdown] hint="backward_measure_best_step"
# Compute the error for all twelve steps and print them. The errors fall and then rise.

# %% [markdown] hint="backward_measure_best_step"
# Take absolute values before the mean, because errors of both signs would cancel. Convert the quotient with
# `.double()` before you compare.

# %% [markdown] hint="backward_measure_best_step"
# Write `best(dtype, central)` with a loop over k, `x = points.to(dtype)`, and `min(errors, key=errors.get)` at the
# end. In theory the best step is about the cube root of the rounding error for the central quotient, and its square
# root for the one-sided one, each multiplied by the scale on which the function curves.


# %% mutant="backward_measure_best_step"
# The smaller, the better
# With a step of 10⁻¹² hardly any digits of the difference are left, so the error is larger than with a step of 10⁻⁵.
def best_steps(function, slope, points):
    return {"central, float64": 12, "one-sided, float64": 12, "central, float32": 12}


# %% mutant="backward_measure_best_step"
# The steps of one function
# These are right for `exp` near 1. A function that curves ten times as fast needs a step that is ten times smaller.
def best_steps(function, slope, points):
    return {"central, float64": 5, "one-sided, float64": 8, "central, float32": 2}


# %% mutant="backward_measure_best_step"
# The largest error
# The largest error is that of a single point, here one where the derivative is nearly 0. The task asks for the mean
# over all points.
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


# %% mutant="backward_measure_best_step"
# The absolute error
# The task asks for the error relative to the true derivative at each point, `((quotient - true) / true).abs()`. The
# absolute error is dominated by the points with the largest derivatives.
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


# %% mutant="backward_measure_best_step"
# One formula for both
# The one-sided quotient is off by a term in s, and the central one by a term in s², so their best steps differ.
def best_steps(function, slope, points):
    true = slope(points)

    def best(dtype):
        errors, x = {}, points.to(dtype)
        for k in range(1, 13):
            step = 10.0**-k
            quotient = ((function(x + step) - function(x - step)) / (2 * step)).double()
            errors[k] = ((quotient - true) / true).abs().mean().item()
        return min(errors, key=errors.get)

    wide = best(torch.float64)
    return {"central, float64": wide, "one-sided, float64": wide, "central, float32": best(torch.float32)}


# %% mutant="backward_measure_best_step"
# Converts afterwards
# The third values are those of float64. The function has to be computed in float32, where differences lose their
# digits sooner.
def best_steps(function, slope, points):
    true = slope(points)

    def best(central):
        errors = {}
        for k in range(1, 13):
            step = 10.0**-k
            before, width = (points - step, 2 * step) if central else (points, step)
            quotient = ((function(points + step) - function(before)) / width).float().double()
            errors[k] = ((quotient - true) / true).abs().mean().item()
        return min(errors, key=errors.get)

    return {"central, float64": best(True), "one-sided, float64": best(False), "central, float32": best(True)}


# %% [markdown] exercise="backward_repair_slope_penalty" kind="repair" points=3
# ### Exercise 6 · A penalty without effect
# A network should fit its targets and have a gradient of length 1 everywhere: for each row of `x`, the gradient of
# the output with respect to that row should have the norm 1. (The critics of Wasserstein GANs are trained in much the
# same way.) `penalized_loss` computes the mean squared error plus `weight` times the mean of
# $(\lVert\text{slope}\rVert - 1)^2$. The value that it returns is correct, but training with a weight of 0 and with a
# weight of 100 ends at exactly the same network:
#
# ```text
# weight   0.0: loss before   3.16803   last layer after 50 steps [-0.6262, 1.1037, 0.317]
# weight 100.0: loss before  14.41736   last layer after 50 steps [-0.6262, 1.1037, 0.317]
# ```
#
# The cell below printed these lines. Repair the function.


# %%
def as_found(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, retain_graph=True)
    penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


generator = np.random.default_rng(0)
rows, wanted = torch.tensor(generator.normal(0, 1, (6, 3))), torch.tensor(generator.normal(0, 1, 6))
for weight in (0.0, 100.0):
    weights = two_layers(np.random.default_rng(1))
    print(f"weight {weight:5}: loss before {as_found(weights, rows, wanted, weight).item():9.5f}", end="")
    for _ in range(50):
        gradients = torch.autograd.grad(as_found(weights, rows, wanted, weight), weights)
        with torch.no_grad():
            for each, gradient in zip(weights, gradients, strict=True):
                each -= 0.02 * gradient
    print("   last layer after 50 steps", [round(number, 4) for number in weights[2][:3, 0].tolist()])


# %% solution="backward_repair_slope_penalty"
def penalized_loss(weights, x, target, weight):
    """The mean squared error plus `weight` times how far the slope's length is from 1, squared, on average."""
    ### BEGIN SOLUTION
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
    penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty
    ### END SOLUTION
    ### BEGIN STUB
    # x = x.detach().requires_grad_()
    # output = network(weights, x)
    # (slope,) = torch.autograd.grad(output.sum(), x, retain_graph=True)
    # penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    # return ((output - target) ** 2).mean() + weight * penalty
    ### END STUB


# %% check="backward_repair_slope_penalty"
generator = check.rng()
weights = two_layers(generator)
rows, wanted = torch.tensor(generator.normal(0, 1, (6, 3))), torch.tensor(generator.normal(0, 1, 6))
loss = check.intact(penalized_loss, weights, rows, wanted, 10.0)
loss.backward()
check.show(
    {
        "x": rows,
        "x requires a gradient afterwards": rows.requires_grad,
        "loss": loss,
        "loss of a single row, which requires a gradient": penalized_loss(
            weights, rows[:1].clone().requires_grad_(), wanted[:1], 3.0
        ),
        "gradient of the first layer": weights[0].grad,
        "gradient of its bias": weights[1].grad,
        "gradient of the last layer": weights[2].grad,
    },
    text="The loss with a penalty of weight 10, and its gradients.",
)

# %% [markdown] hint="backward_repair_slope_penalty"
# Print `penalty.requires_grad` and compare it with that of the error.

# %% [markdown] hint="backward_repair_slope_penalty"
# `slope` depends on the weights. Is that recorded in the graph?

# %% [markdown] hint="backward_repair_slope_penalty"
# `retain_graph=True` keeps the graph of the forward pass. `create_graph=True` also records the backward pass, and
# only then does a graph lead from `slope` to the weights.


# %% mutant="backward_repair_slope_penalty"
# A slope without a history
# The loss is right, but its gradients are those of the error alone, because nothing leads from the penalty back to
# the weights. What is the `grad_fn` of `slope`?
def penalized_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
    penalty = ((slope.detach().pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% mutant="backward_repair_slope_penalty"
# Requires grad, without a history
# The loss is right, but its gradients are those of the error alone, because nothing leads from the penalty back to
# the weights. A `slope` that is made to require grad is a leaf, so the gradient stops there.
def penalized_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, retain_graph=True)
    slope.requires_grad_()
    penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% mutant="backward_repair_slope_penalty"
# The slope of the mean
# Because the mean divides by the number of rows, every gradient is six times too small, so the penalty pulls towards
# gradients that are six times too large.
def penalized_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.mean(), x, create_graph=True)
    penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% mutant="backward_repair_slope_penalty"
# Takes the slope with backward
# `backward` fills the `.grad` of the weights, too, so the gradients of the output's sum are added to those of the
# loss.
def penalized_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    output.sum().backward(create_graph=True)
    penalty = ((x.grad.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% [markdown] exercise="backward_hooks" kind="core" points="2 1" part="mytorch.autograd.hooks:register_hook mytorch.autograd.hooks:hooks_of mytorch.autograd.hooks:checked | mytorch.autograd.hooks:register_post_accumulate_grad_hook mytorch.autograd.hooks:after_run"
# ### Exercise 7 · Hooks
# The lesson showed `on_arrival`, which calls hooks. Write the functions that store the hooks, that check what a hook
# returned, and that call the two kinds of hooks which run afterwards. `RemovableHandle(hooks, hook)` adds the hook to
# a dict, under itself as the key, and its `remove()` deletes the entry.
#
# A leaf stores its hooks in `x.hooks`, which is None at first. A result may get another node when it is written to,
# while its earlier hooks stay with the old node. Therefore `x.grad_fn.result_hooks` is a dict that maps an output
# number (`x.output_nr`) to its dict of hooks.


# %% docstrings="backward_hooks"
def register_hook():
    """Call `hook(grad)` when the gradient of a tensor is complete. Returns a `RemovableHandle` on `hooks_of(x)`.

    Raises:
        RuntimeError: "cannot register a hook on a tensor that doesn't require gradient".
    """


def hooks_of():
    """Return the dict of a tensor's hooks, which a leaf stores itself, while for a result its node stores it.

    The dict is created when it is first needed, and every later call returns the same one.
    """


def checked():
    """Return what a hook returned in place of a gradient, after checking it.

    Raises:
        TypeError: the hook returned something other than a tensor. "expected Variable, but hook returned 'float'".
        RuntimeError: the tensor's shape differs from the gradient's. "hook 'double' has changed the size of value",
            with the hook's `__name__`.
    """


def register_post_accumulate_grad_hook():
    """Call `hook(leaf)` each time a backward pass has updated the leaf's `.grad`. Returns a `RemovableHandle`.

    The hook is called even if no gradient reached the leaf. The leaf stores these hooks in `x.post_hooks`, which is
    None at first.

    Raises:
        RuntimeError: "cannot register a hook on a tensor that doesn't require gradient", or for a result "post
            accumulate grad hooks cannot be registered on non-leaf tensors".
    """


def after_run():
    """Call the hooks of a node after it has run, and those of a leaf whose `.grad` has just been updated.

    If a node has hooks, they are in the dict `node.__dict__["hooks"]`. Each hook is called with two tuples: the
    gradients of the node's inputs (`results`) and those of its outputs (`grads`). Unless a hook returns None, its
    return value replaces the entries of the list `results`, which the engine uses afterwards and the next hook
    receives. The node of a leaf is an `AccumulateGrad`, and its `leaf.post_hooks` are called with the leaf. A hook
    may remove itself.
    """


# %% check="backward_hooks" raises="RuntimeError TypeError"
generator = check.rng()
factor = float(generator.integers(2, 6))
start = mytorch.tensor(generator.integers(1, 9, 3).astype(np.float32))
told = []


def tell(name, change=None):
    """Return a hook that records its arguments."""

    def hook(*given):
        plain = [each is None or hasattr(each, "tolist") for each in given]
        noted = [
            each if is_plain else (type(each).__name__, list(each)) for each, is_plain in zip(given, plain, strict=True)
        ]
        told.append((name, noted))
        return change and change(*given)

    return hook


def passed(program):
    """Return the arguments that the hooks received, and the program's result or error."""
    told.clear()
    results = []
    problem = check.error(lambda: results.append(program(start.clone().requires_grad_())))
    return list(told), problem or results[0]


class Halves(mytorch.autograd.Function):
    """Two results of one node."""

    @staticmethod
    def forward(ctx, x):
        return x * 0.5, x * 0.25

    @staticmethod
    def backward(ctx, first, second):
        return first * 0.5 + second * 0.25


def leaf_and_result(x):
    y = x * factor
    x.register_hook(tell("first of x", lambda g: g * 10))
    handle = x.register_hook(tell("second of x"))
    y.register_hook(tell("y", lambda g: g + 1))
    (y * y).sum().backward()
    handle.remove()
    handle.remove()
    (x * 2).sum().backward()
    return x.grad


def a_single_element(x):
    leaf = x[:1].detach().requires_grad_()
    leaf.register_hook(tell("leaf", lambda g: g * 2))
    leaf.register_post_accumulate_grad_hook(tell("afterwards"))
    (leaf * factor).sum().backward()
    return leaf.grad


def differentiated_again(x):
    y = x * 1
    y.register_hook(lambda g: g * x)
    (slope,) = mytorch.autograd.grad((y * y).sum(), x, create_graph=True)
    return mytorch.autograd.grad(slope.sum(), x)[0]


def two_results(x):
    first, second = Halves.apply(x)
    second.register_hook(tell("second", lambda g: g * 0))
    (first + second * 2).sum().backward()
    return x.grad


def stays_with_its_node(x):
    y = x * 1
    y.register_hook(tell("y before the write"))
    y.mul_(factor)
    y.register_hook(tell("y after it"))
    y.sum().backward()
    return x.grad, y.grad_fn.result_hooks is y.grad_fn.result_hooks


def after_a_leaf(x):
    handles = []

    def once(leaf):
        told.append(("once", [leaf.grad.clone(), leaf is x]))
        handles[0].remove()

    handles.append(x.register_post_accumulate_grad_hook(once))
    x.register_post_accumulate_grad_hook(tell("each time"))
    x.sum().backward()
    (x * factor).sum().backward()
    return x.grad


def on_a_node(x):
    y = x * factor
    y.grad_fn.register_hook(
        tell("node", lambda results, grads: tuple(g and g * 0 if g is None else g * 3 for g in results))
    )
    y.grad_fn.register_hook(tell("node, second hook"))
    y.sum().backward()
    return x.grad


def on_the_node_of_a_leaf(x):
    y = x * factor
    y.grad_fn.next_functions[0][0].register_hook(tell("node of a leaf"))
    y.sum().backward()
    return x.grad


class Weight(mytorch.Tensor):
    """A kind of tensor."""


def another_kind_of_tensor(x):
    x.register_hook(lambda g: Weight(g.storage, g.shape, g.strides, g.offset))
    (x * factor).sum().backward()
    return x.grad.tolist()


def once_on_a_node(x):
    y, handles = x * factor, []

    def once(results, grads):
        told.append(("once", list(grads)))
        handles[0].remove()

    handles.append(y.grad_fn.register_hook(once))
    y.grad_fn.register_hook(tell("each time"))
    total = y.sum()
    total.backward(retain_graph=True)
    total.backward()
    return x.grad


check.show(
    {
        "factor": factor,
        "a leaf and a result": passed(leaf_and_result),
        "a leaf of a single element": passed(a_single_element),
        "derivative of what a hook returned": passed(differentiated_again),
        "two results of one node": passed(two_results),
        "before and after a write": passed(stays_with_its_node),
        "after a leaf": passed(after_a_leaf),
        "on a node": passed(on_a_node),
        "on a node, once": passed(once_on_a_node),
        "on the node of a leaf": passed(on_the_node_of_a_leaf),
        "a hook that returns another kind of tensor": passed(another_kind_of_tensor),
        "no tensor": passed(lambda x: (x.register_hook(lambda g: 1.0), x.sum().backward())[1]),
        "another shape": passed(lambda x: (x.register_hook(lambda g: g.sum()), x.sum().backward())[1]),
        "another shape of as many elements": passed(
            lambda x: (x.register_hook(lambda g: g.reshape(3, 1)), x.sum().backward())[1]
        ),
        "without a gradient": passed(lambda x: x.detach().register_hook(tell("never")) and "no error"),
        "without a gradient, afterwards": passed(
            lambda x: x.detach().register_post_accumulate_grad_hook(tell("never")) and "no error"
        ),
        "afterwards on a result": passed(
            lambda x: (x * 2).register_post_accumulate_grad_hook(tell("never")) and "no error"
        ),
        "the same dict": passed(
            lambda x: [
                mytorch.autograd.hooks.hooks_of(each) is mytorch.autograd.hooks.hooks_of(each) for each in (x, x * 2)
            ]
        ),
    },
    text="What each hook was given, in order, and the gradient in the end.",
)

# %% [markdown] hint="backward_hooks"
# `hooks_of` has two cases, depending on `x.grad_fn`. `dict.setdefault(key, {})` returns the existing entry, or enters
# an empty dict.

# %% [markdown] hint="backward_hooks"
# In `checked`, test `isinstance(changed, Tensor)` first, and then the shapes. In `after_run`, iterate over
# `list(hooks.values())`, so that a hook may remove itself, and write `results[:] = changed` into the list of the
# engine.

# %% [markdown] hint="backward_hooks"
# `after_run` has two parts: if `isinstance(node, AccumulateGrad)`, the `(node.leaf.post_hooks or {})` with
# `hook(node.leaf)`, and then `node.__dict__.get("hooks", {})` with `hook(tuple(results), tuple(grads))`.


# %% mutant="backward_hooks"
# One dict for all results
# A node may have several results, and each of them has hooks of its own, which `output_nr` tells apart.
def hooks_of(x):
    if x.grad_fn is not None:
        return x.grad_fn.result_hooks.setdefault(0, {})
    if x.hooks is None:
        x.hooks = {}
    return x.hooks


# %% mutant="backward_hooks"
# Stores the hooks in the tensor
# After `y.mul_()` the tensor has another node, while the hooks of the old value stay with the old node.
def hooks_of(x):
    if x.hooks is None:
        x.hooks = {}
    if x.grad_fn is not None:
        x.grad_fn.result_hooks[x.output_nr] = x.hooks
    return x.hooks


# %% mutant="backward_hooks"
# Accepts anything
# The engine goes on with the result of a hook, so it has to be a tensor of the gradient's shape.
def checked(changed, grad, hook):
    return changed


# %% mutant="backward_hooks"
# Checks only requires_grad
# A result can't have such a hook, because no gradient is accumulated there and the hook would never run.
def register_post_accumulate_grad_hook(x, hook):
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if x.post_hooks is None:
        x.post_hooks = {}
    return RemovableHandle(x.post_hooks, hook)


# %% mutant="backward_hooks"
# Rebinds the name to a new list
# `results = …` binds the name to another list, while the engine goes on with the old one. Write into it: `results[:]
# = …`.
def after_run(node, results, grads):
    for hook in list(node.__dict__.get("hooks", {}).values()):
        changed = hook(tuple(results), tuple(grads))
        if changed is not None:
            results = list(changed)
    if isinstance(node, AccumulateGrad):
        for hook in list((node.leaf.post_hooks or {}).values()):
            hook(node.leaf)


# %% mutant="backward_hooks"
# Passes the same gradients to every hook
# The second hook of a node receives the gradients as the first one left them. Create the tuple anew for each hook.
def after_run(node, results, grads):
    before = tuple(results)
    for hook in list(node.__dict__.get("hooks", {}).values()):
        changed = hook(before, tuple(grads))
        if changed is not None:
            results[:] = changed
    if isinstance(node, AccumulateGrad):
        for hook in list((node.leaf.post_hooks or {}).values()):
            hook(node.leaf)


# %% mutant="backward_hooks"
# Iterates over the dict itself
# A hook that removes itself changes the dict during the iteration. Iterate over a list of its values.
def after_run(node, results, grads):
    for hook in node.__dict__.get("hooks", {}).values():
        changed = hook(tuple(results), tuple(grads))
        if changed is not None:
            results[:] = changed
    if isinstance(node, AccumulateGrad):
        for hook in (node.leaf.post_hooks or {}).values():
            hook(node.leaf)
