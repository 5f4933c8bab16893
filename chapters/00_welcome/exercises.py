# %% [markdown]
# # Exercises · Welcome
# Run the cells from the top with Shift+Enter, beginning with the two folded ones below, which import `math`, `np`, `torch`
# (minitorch) and `check` and define the lesson's `Number`. Where a cell says `# YOUR CODE HERE`, write your answer in place of
# that line and of the `raise` below it, run the cell, and then run the check below it. Green means that the answer is correct.
# Otherwise the check says what it expected and what it got. As in any library, a function leaves its arguments unchanged unless
# its task says otherwise.

# %% setup=true
import math

import numpy as np

import minitorch as torch
from course import check


# %% setup=true
class Number:
    """The lesson's number, with a value and a gradient. Each sum and product leaves a note."""

    def __init__(self, value):
        self.value, self.grad = value, 0.0

    def __add__(self, other):
        return noted(self.value + other.value, [(self, 1.0), (other, 1.0)])

    def __mul__(self, other):
        return noted(self.value * other.value, [(self, other.value), (other, self.value)])


notes = []


def noted(value, inputs):
    """Return a new Number with this value, and leave a note: the result, and a list of (input, derivative)."""
    result = Number(value)
    notes.append((result, inputs))
    return result


def backward(result):
    """Read all notes in reverse, and add to the `grad` of each number that `result` was made from."""
    result.grad = 1.0
    for made, inputs in reversed(notes):
        for number, derivative in inputs:
            number.grad += derivative * made.grad


# %% [markdown] exercise="welcome_first_derivative" kind="predict" points=1
# ### Exercise 1 · Predict a derivative
# Which number does the last line print? Work it out in your head, and write it down as `answer`, for example `answer = 1.5`.
#
# ```python
# x = torch.tensor(2.0, requires_grad=True)
# y = x
# while y < 10:
#     y = y * y
# y.backward()
# print(x.grad.item())
# ```

# %% solution="welcome_first_derivative"
### BEGIN SOLUTION
answer = 32.0
### END SOLUTION

# %% check="welcome_first_derivative"
check.show({"answer": float(answer)}, text="The value of x.grad (recorded, not shown).", secret=True)

# %% [markdown] hint="welcome_first_derivative"
# How often does the loop run? Write down `y` after each iteration.

# %% [markdown] hint="welcome_first_derivative"
# 2, 4, 16: the loop runs twice. Near 2 the program computes $(x^2)^2$. Which power of x is that?

# %% [markdown] hint="welcome_first_derivative"
# $x^4$ has the derivative $4 x^3$. Evaluate it at $x = 2$.

# %% mutant="welcome_first_derivative"
# The value, not the derivative
# 16 is `y` itself. `backward` puts the derivative of `y` into `x.grad`.
answer = 16.0

# %% mutant="welcome_first_derivative"
# The last round alone
# 8 is the derivative of the second product at its input 4. That input depends on x too, so multiply by the derivative
# of the first product.
answer = 8.0

# %% mutant="welcome_first_derivative"
# The first round alone
# 4 is the derivative of x * x, but the loop ran once more on its result.
answer = 4.0

# %% mutant="welcome_first_derivative"
# Adds the derivatives of the rounds
# 12 is 4 + 8. The second iteration works on the result of the first, and along a path derivatives are multiplied.
answer = 12.0

# %% mutant="welcome_first_derivative"
# One round too many
# 1024 is the derivative of x to the 8th, but the loop stops at 16, after two iterations.
answer = 1024.0

# %% mutant="welcome_first_derivative"
# The loop of the lesson
# 64 is the derivative in the lesson, whose loop doubles. This one squares.
answer = 64.0

# %% [markdown] exercise="welcome_squared_distance" kind="build" points=1
# ### Exercise 2 · A squared distance
# Write `squared_distance(a, b)`, which returns the sum of the squared differences of two tensors of the same shape,
# $\sum_i (a_i - b_i)^2$, as a 0-d tensor. `squared_distance(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0]))` is
# `tensor(9.)`.
#
# The check draws random tensors and also compares both gradients. You get these for free as long as you compute with tensors
# only.


# %% solution="welcome_squared_distance"
def squared_distance(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    ### BEGIN SOLUTION
    return ((a - b) ** 2).sum()
    ### END SOLUTION


# %% check="welcome_squared_distance"
generator = check.rng()
a, b = (torch.tensor(generator.normal(size=(2, 3)).astype(np.float32)) for _ in range(2))
a.requires_grad_()
b.requires_grad_()
distance = check.intact(squared_distance, a, b)
distance.backward()
gradients = {"its gradient at a": a.grad, "its gradient at b": b.grad}
small = {
    "of single elements": squared_distance(a.detach()[:1, :1], b.detach()[:1, :1]),
    "of 0-d tensors": squared_distance(a.detach()[1, 2], b.detach()[1, 2]),
}
check.show({"a": a.detach(), "b": b.detach(), "squared distance": distance, **gradients, **small}, rtol=1e-4)

# %% [markdown] hint="welcome_squared_distance"
# Tensors are added, subtracted and raised to a power element by element, with Python's operators `+`, `-` and `**`.

# %% [markdown] hint="welcome_squared_distance"
# `(a - b) ** 2` has the shape of `a`. Which method of a tensor adds up all elements?

# %% [markdown] hint="welcome_squared_distance"
# `return (... ** 2).sum()`


# %% mutant="welcome_squared_distance"
# The distance itself
# This is the distance itself. The task asks for its square, so omit the root.
def squared_distance(a, b):
    return ((a - b) ** 2).sum().sqrt()


# %% mutant="welcome_squared_distance"
# One side without a gradient
# `b` has lost its history, because a detached tensor, or one made from Python numbers, gets no gradient.
def squared_distance(a, b):
    return ((a - b.detach()) ** 2).sum()


# %% mutant="welcome_squared_distance"
# The mean instead of the sum
# This is the mean squared difference, which is divided by the number of elements. The task asks for the sum.
def squared_distance(a, b):
    return ((a - b) ** 2).mean()


# %% mutant="welcome_squared_distance"
# Forgets the square
# Without the square, positive and negative differences cancel. Square each difference before you add them.
def squared_distance(a, b):
    return (a - b).sum()


# %% mutant="welcome_squared_distance"
# Squares the sum
# Square each element first and add afterwards, because otherwise differences cancel before they are squared.
def squared_distance(a, b):
    return (a - b).sum() ** 2


# %% [markdown] exercise="welcome_more_operations" kind="build" points=3
# ### Exercise 3 · Three more operations
# The lesson's `Number` supports `+` and `*`. Its class is in a folded cell at the top, together with `noted` and `backward`. Write
# three functions that return a `Number`, each of which leaves exactly one note, made by `noted`:
#
# - `divide(a, b)` returns $a / b$, with both derivatives;
# - `power(a, n)` returns $a^n$ for a Python number `n`, which is not a `Number` and gets no derivative;
# - `exp(a)` returns $e^a$.
#
# `divide(Number(6.0), Number(2.0))` has the value 3.0 and leaves the derivatives 0.5 and −1.5.


# %% solution="welcome_more_operations"
def divide(a: Number, b: Number) -> Number:
    ### BEGIN SOLUTION
    return noted(a.value / b.value, [(a, 1 / b.value), (b, -a.value / b.value**2)])
    ### END SOLUTION


def power(a: Number, n: float) -> Number:
    ### BEGIN SOLUTION
    return noted(a.value**n, [(a, n * a.value ** (n - 1))])
    ### END SOLUTION


def exp(a: Number) -> Number:
    ### BEGIN SOLUTION
    value = math.exp(a.value)
    return noted(value, [(a, value)])
    ### END SOLUTION


# %% check="welcome_more_operations"
u, v = (round(float(each), 2) for each in check.rng().uniform(1.2, 1.9, size=2))
n = int(check.rng().integers(3, 6))
steps = {
    "divide(a, b)": lambda a, b: divide(a, b),
    "power(a, n)": lambda a, b: power(a, n),
    "power(b, 0.5)": lambda a, b: power(b, 0.5),
    "exp(a)": lambda a, b: exp(a),
    "exp(divide(power(a, 2), b)) * b": lambda a, b: exp(divide(power(a, 2), b)) * b,
    "divide(a, b) at a = 0": lambda a, b: divide(a, b),
    "power(a, n) at a = 0": lambda a, b: power(a, n),
}
values = {"a": u, "b": v, "n": n}
for name, step in steps.items():
    a, b = Number(0.0 if name.endswith("a = 0") else u), Number(v)
    if error := check.error(step, a, b):
        values[name] = repr(error)
        continue
    notes.clear()
    result = step(a, b)
    backward(result)
    values[name] = (result.value, a.grad, b.grad, len(notes))
check.show(values, rtol=1e-9, text="The value, its derivatives with respect to a and b, and the number of notes.")

# %% [markdown] hint="welcome_more_operations"
# Write down the derivative of each operation on paper. By how much does $a / b$ change if `a` changes a little, and
# if `b` does?

# %% [markdown] hint="welcome_more_operations"
# $\frac{\partial}{\partial a} \frac{a}{b} = \frac{1}{b}$, $\frac{\partial}{\partial b} \frac{a}{b} = -\frac{a}{b^2}$,
# $(a^n)' = n\, a^{n-1}$, $(e^a)' = e^a$.

# %% [markdown] hint="welcome_more_operations"
# `return noted(a.value / b.value, [(a, ...), (b, ...)])`. The derivatives are Python floats, computed from `a.value`
# and `b.value`.


# %% mutant="welcome_more_operations"
# Divides by b once
# The derivative of a / b with respect to b is -a / b squared. You divided by b only once.
def divide(a, b):
    return noted(a.value / b.value, [(a, 1 / b.value), (b, -a.value / b.value)])


def power(a, n):
    return noted(a.value**n, [(a, n * a.value ** (n - 1))])


def exp(a):
    return noted(math.exp(a.value), [(a, math.exp(a.value))])


# %% mutant="welcome_more_operations"
# A quotient that grows with its divisor
# When `b` grows, a / b shrinks, so its derivative with respect to `b` is negative.
def divide(a, b):
    return noted(a.value / b.value, [(a, 1 / b.value), (b, a.value / b.value**2)])


def power(a, n):
    return noted(a.value**n, [(a, n * a.value ** (n - 1))])


def exp(a):
    return noted(math.exp(a.value), [(a, math.exp(a.value))])


# %% mutant="welcome_more_operations"
# Leaves out the factor n
# The derivative of a to the n is n times a to the (n - 1). The factor n is missing.
def divide(a, b):
    return noted(a.value / b.value, [(a, 1 / b.value), (b, -a.value / b.value**2)])


def power(a, n):
    return noted(a.value**n, [(a, a.value ** (n - 1))])


def exp(a):
    return noted(math.exp(a.value), [(a, math.exp(a.value))])


# %% mutant="welcome_more_operations"
# An exponential with the derivative of its input
# The derivative of the exponential is its own value, while yours is its input.
def divide(a, b):
    return noted(a.value / b.value, [(a, 1 / b.value), (b, -a.value / b.value**2)])


def power(a, n):
    return noted(a.value**n, [(a, n * a.value ** (n - 1))])


def exp(a):
    return noted(math.exp(a.value), [(a, a.value)])


# %% mutant="welcome_more_operations"
# Computes derivatives from the result
# Dividing the result by `a` gives the correct derivative of a / b and of a to the n, unless `a` is 0. Use 1 / b and
# n times a to the (n - 1), which need no division by `a`.
def divide(a, b):
    value = a.value / b.value
    return noted(value, [(a, value / a.value), (b, -value / b.value)])


def power(a, n):
    value = a.value**n
    return noted(value, [(a, n * value / a.value)])


def exp(a):
    return noted(math.exp(a.value), [(a, math.exp(a.value))])


# %% mutant="welcome_more_operations"
# Multiplies by itself
# Repeated products give correct values for whole exponents, but they leave many notes. The task asks for one, and
# `power(b, 0.5)` can't be made of products at all.
def divide(a, b):
    return noted(a.value / b.value, [(a, 1 / b.value), (b, -a.value / b.value**2)])


def power(a, n):
    result = a
    for _ in range(int(n) - 1):
        result = result * a
    return result


def exp(a):
    return noted(math.exp(a.value), [(a, math.exp(a.value))])


# %% [markdown] exercise="welcome_newton" kind="build" points=2
# ### Exercise 4 · Newton's method
# To find where $f(x) = 0$, follow the tangent to the point where it crosses zero, and repeat:
# $x \leftarrow x - \frac{f(x)}{f'(x)}$.
#
# Write `newton(f, start, steps)`. `f` takes a `Number` and returns a `Number`, and `backward` gives you the derivative. Return the
# list of all values of x as floats, beginning with the start. The list `notes` must be empty before each call of `f` and at the
# end. For `f = lambda x: x * x + Number(-2.0)` and the start 1.0, the result begins with 1.0, 1.5, 1.4166….


# %% solution="welcome_newton"
def newton(f, start: float, steps: int) -> list[float]:
    ### BEGIN SOLUTION
    notes.clear()
    found = [start]
    for _ in range(steps):
        x = Number(found[-1])
        y = f(x)
        backward(y)
        notes.clear()
        found.append(x.value - y.value / x.grad)
    return found
    ### END SOLUTION


# %% check="welcome_newton"
number = round(float(check.rng().uniform(2.0, 9.0)), 2)
lengths = []


def cube_minus_number(x):
    lengths.append(len(notes))
    return x * x * x + Number(-number)


backward(Number(2.0) * Number(3.0))
found = newton(cube_minus_number, 3.0, 5)
check.show(
    {
        "number": number,
        "x": found,
        "notes before each run": lengths,
        "notes afterwards": len(notes),
        "from a root on": newton(lambda x: x * x + Number(-4.0), 2.0, 3),
        "a single step": newton(lambda x: x * x + Number(-number), 3.0, 1),
    },
    rtol=1e-9,
    text="The steps from 3 to the cube root of the number, and how many notes the list contained.",
)

# %% [markdown] hint="welcome_newton"
# One step needs a value and a derivative. On which Number do you call `backward`, and where do you find the
# derivative afterwards?

# %% [markdown] hint="welcome_newton"
# A new `Number` in each step starts with a `grad` of 0. What happens to the notes of the previous step?

# %% [markdown] hint="welcome_newton"
# In each step: `x = Number(found[-1])`, `y = f(x)`, `backward(y)`, `notes.clear()`. Then append `x.value - y.value /
# x.grad`.


# %% mutant="welcome_newton"
# Keeps the old gradient
# You reused the same Number, so its `grad` is the sum of all derivatives so far. Start each step with a gradient of
# 0.
def newton(f, start, steps):
    x = Number(start)
    found = [start]
    for _ in range(steps):
        y = f(x)
        backward(y)
        notes.clear()
        x.value -= y.value / x.grad
        found.append(x.value)
    return found


# %% mutant="welcome_newton"
# Steps to the wrong side
# The sign is incorrect: the tangent crosses zero at x minus f(x) / f'(x).
def newton(f, start, steps):
    found = [start]
    for _ in range(steps):
        x = Number(found[-1])
        y = f(x)
        backward(y)
        notes.clear()
        found.append(x.value + y.value / x.grad)
    return found


# %% mutant="welcome_newton"
# Never clears the notes
# The roots are correct, but the list has grown with every step, and `backward` reads all of it each time.
def newton(f, start, steps):
    found = [start]
    for _ in range(steps):
        x = Number(found[-1])
        y = f(x)
        backward(y)
        found.append(x.value - y.value / x.grad)
    return found


# %% [markdown] exercise="welcome_read_the_record" kind="build" points=2
# ### Exercise 5 · Read PyTorch's graph
# Write `operations(result)`, which returns the operations that produced this tensor, as a dict from the name of a node to the
# number of nodes with that name. Start at `result.grad_fn`. `node.next_functions` is a tuple of pairs, and the first element of a
# pair is a node, or None where no gradient is needed. `node.name()` is a string such as `MulBackward0`.
#
# Skip the ends of the paths, which are nodes with a name that ends in `AccumulateGrad`. Several paths may meet in one node, which
# counts once. For `x * x + x` the answer is `{"AddBackward0": 1, "MulBackward0": 1}`, in any order.


# %% solution="welcome_read_the_record"
def operations(result: torch.Tensor) -> dict[str, int]:
    ### BEGIN SOLUTION
    counts, seen, waiting = {}, set(), [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen or node.name().endswith("AccumulateGrad"):
            continue
        seen.add(node)
        counts[node.name()] = counts.get(node.name(), 0) + 1
        waiting += [to for to, _ in node.next_functions]
    return counts
    ### END SOLUTION


# %% check="welcome_read_the_record"
start, factor = (round(float(each), 2) for each in check.rng().uniform(1.5, 3.0, size=2))
x = torch.tensor(start, requires_grad=True)
y = x
rounds = 0
while y < 200:
    y = y * factor
    if rounds % 2:
        y = y + x
    rounds += 1
shared = (x * x).exp()
results = {"loop": y, "shared": shared * shared + shared, "a constant's side": torch.tensor(3.0) * 2 - x.sin()}
results["one element"] = x.reshape(1).exp()
counts = {name: sorted(check.intact(operations, result).items()) for name, result in results.items()}
check.show({"start": start, "factor": factor, **counts}, text="Names and counts of the operations, sorted by name.")

# %% [markdown] hint="welcome_read_the_record"
# Keep a list of the nodes that you still have to visit, which starts with a single node. What do you do with each
# node that you take from the list?

# %% [markdown] hint="welcome_read_the_record"
# Skip None, skip the ends, and skip nodes that you have already visited, which you keep in a set.

# %% [markdown] hint="welcome_read_the_record"
# `while waiting: node = waiting.pop()`, then skip or count, then `waiting += [to for to, _ in node.next_functions]`.


# %% mutant="welcome_read_the_record"
# Counts a node once for each path
# Where two paths meet, you visited the same node twice. Remember the nodes that you have visited.
def operations(result):
    counts, waiting = {}, [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node.name().endswith("AccumulateGrad"):
            continue
        counts[node.name()] = counts.get(node.name(), 0) + 1
        waiting += [to for to, _ in node.next_functions]
    return counts


# %% mutant="welcome_read_the_record"
# Follows the first input alone
# A node has one entry in `next_functions` for each input of its operation. You followed only the first and missed the
# branches.
def operations(result):
    counts, node = {}, result.grad_fn
    while node is not None and not node.name().endswith("AccumulateGrad"):
        counts[node.name()] = counts.get(node.name(), 0) + 1
        node = node.next_functions[0][0]
    return counts


# %% mutant="welcome_read_the_record"
# Counts the ends too
# `AccumulateGrad` isn't an operation of the program. A path ends there, at a tensor that collects its gradient.
def operations(result):
    counts, seen, waiting = {}, set(), [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        counts[node.name()] = counts.get(node.name(), 0) + 1
        waiting += [to for to, _ in node.next_functions]
    return counts


# %% mutant="welcome_read_the_record"
# Remembers names in place of nodes
# You skip every name that occurred before, so no operation counts twice, although two multiplications are two nodes.
def operations(result):
    counts, waiting = {}, [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node.name() in counts or node.name().endswith("AccumulateGrad"):
            continue
        counts[node.name()] = 1
        waiting += [to for to, _ in node.next_functions]
    return counts


# %% [markdown] exercise="welcome_repair_standardize" kind="repair" points=3
# ### Exercise 6 · Correct values, incorrect gradient
# `standardize(x)` subtracts the mean of `x` and divides by its standard deviation, for which it divides by the count. The results
# are correct. But the network that uses it learns badly, so somebody tests the gradient:
#
# ```text
# x                         [1.0, 2.0, 6.0]
# standardize(x)            [-0.9258, -0.4629, 1.3887]     correct
# shifting x changes nothing, so the gradients of a loss must sum to 0
# gradients of a loss       [1.1903, 0.2976, 2.6783]       sum 4.1662
# ```
#
# Fix the gradient without changing the values.


# %% solution="welcome_repair_standardize"
def standardize(x):
    ### BEGIN SOLUTION
    centred = x - x.mean()
    return centred / (centred * centred).mean().sqrt()
    ### END SOLUTION
    ### BEGIN STUB
    # values = x.tolist()
    # mean = sum(values) / len(values)
    # spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    # return (x - mean) / spread
    ### END STUB


# %% check="welcome_repair_standardize"
values = check.rng().normal(size=5).round(2)
x = torch.tensor(values, requires_grad=True)
y = check.intact(standardize, x)
(y**3).sum().backward()
shown = {"x": values, "standardized": y, "gradients": x.grad, "sum": round(x.grad.sum().item(), 6) + 0.0}
shown["gradients times x, summed"] = round((x.grad * x).sum().item(), 6) + 0.0
shown["three other values, standardized"] = standardize(torch.tensor(values[:3] ** 2))
check.show(
    shown,
    rtol=1e-6,
    atol=1e-6,
    text="Shifting or scaling x changes nothing, so the gradients sum to 0, and so do the gradients times x.",
)

# %% [markdown] hint="welcome_repair_standardize"
# If one element of `x` grows, what else in the formula changes? Can `backward` find that out?

# %% [markdown] hint="welcome_repair_standardize"
# Look at `y.grad_fn` and its inputs. Which operations were recorded, and which ones were computed without leaving a
# node?

# %% [markdown] hint="welcome_repair_standardize"
# `tolist()` returns Python numbers, and sums of Python numbers aren't recorded. Compute both statistics with
# operations on tensors: the mean with `x.mean()`, and the standard deviation as the `sqrt()` of a mean of squares.


# %% mutant="welcome_repair_standardize"
# The standard deviation isn't recorded
# The gradients sum to 0 now, so the mean is correct. But the standard deviation depends on x as well, and yours is a
# float.
def standardize(x):
    centred = x - x.mean()
    return centred / math.sqrt(sum(value * value for value in centred.tolist()) / len(x))


# %% mutant="welcome_repair_standardize"
# Wraps the numbers in tensors
# `torch.tensor(mean)` makes a new tensor from a Python number, which has no history either, so no path leads to x.
def standardize(x):
    values = x.tolist()
    mean = torch.tensor(sum(values) / len(values), dtype=x.dtype)
    spread = torch.tensor(sum((value - mean.item()) ** 2 for value in values) / len(values), dtype=x.dtype).sqrt()
    return (x - mean) / spread


# %% mutant="welcome_repair_standardize"
# Divides by n minus one
# `std()` divides by one fewer than the count unless you pass `correction=0`. The values must not change.
def standardize(x):
    return (x - x.mean()) / x.std()


# %% [markdown] exercise="welcome_measure_program" kind="measure" points=2
# ### Exercise 7 · What is inside this program?
# You get a program as a function from a tensor to a tensor. You can't see its code, but you know its form:
#
# ```python
# while x < limit:
#     x = x * factor
# return x + offset
# ```
#
# Find the three numbers by experiment: `limit` is a whole number from 2 to 60, `factor` is 2, 3 or 4, and `offset` is a whole
# number. Call the program with positive starts of your choice (with 0 or less the loop never ends), and look at results and
# derivatives. The folded cell below defines `derivative(program, start)`. Return whole numbers.


# %% setup=true
def program_of(limit, factor, offset):
    """The program with these three numbers."""

    def program(x):
        while x < limit:
            x = x * factor
        return x + offset

    return program


def derivative(program, start):
    """The derivative of the program at this start, rounded to a whole number."""
    x = torch.tensor(float(start), requires_grad=True)
    program(x).backward()
    return round(x.grad.item())


# %% solution="welcome_measure_program"
def measure(program) -> tuple[int, int, int]:
    """(limit, factor, offset), found by calling `program` and `derivative(program, start)`."""
    ### BEGIN SOLUTION
    limit = next(start for start in range(1, 100) if derivative(program, start) == 1)
    factor = derivative(program, limit - 1)
    offset = round(program(torch.tensor(float(limit))).item()) - limit
    return limit, factor, offset
    ### END SOLUTION


# %% check="welcome_measure_program"
rng = check.rng()
limits = [2, 60, 2 * rng.integers(3, 30) + 1, *rng.integers(5, 60, size=2)]
factors = [*rng.permutation([3, 4]), 2, *rng.integers(2, 5, size=2)]
offsets = [*rng.permutation([-int(rng.integers(1, 20)), 0]), *rng.integers(-20, 20, size=3)]
drawn = [tuple(int(each) for each in numbers) for numbers in zip(limits, factors, offsets, strict=True)]
found = [[int(each) for each in measure(program_of(*numbers))] for numbers in drawn]
check.show({"found": found}, secret=True)

# %% [markdown] hint="welcome_measure_program"
# What is the derivative at a start so large that the loop doesn't run at all?

# %% [markdown] hint="welcome_measure_program"
# Where the loop doesn't run, the derivative is 1, and where it runs once, the derivative is the factor. Try one start
# after the other.

# %% [markdown] hint="welcome_measure_program"
# The limit is the smallest start with derivative 1. Just below it the loop runs once, and at the limit itself the
# result is limit + offset.


# %% mutant="welcome_measure_program"
# One below the limit
# This is the largest start at which the loop still runs. The condition is `x < limit`, so the limit is one more.
def measure(program):
    limit = next(start for start in range(1, 100) if derivative(program, start) == 1)
    return limit - 1, derivative(program, limit - 1), round(program(torch.tensor(float(limit))).item()) - limit


# %% mutant="welcome_measure_program"
# Stops before 60
# `range(2, 60)` ends at 59, but the limit may be 60.
def measure(program):
    limit = next((start for start in range(2, 60) if derivative(program, start) == 1), 59)
    return limit, derivative(program, limit - 1), round(program(torch.tensor(float(limit))).item()) - limit


# %% mutant="welcome_measure_program"
# Takes the derivative at 1 for the factor
# From 1 the loop may run several times, so the derivative is a power of the factor. Use a start from which it runs
# once.
def measure(program):
    limit = next(start for start in range(1, 100) if derivative(program, start) == 1)
    return limit, derivative(program, 1), round(program(torch.tensor(float(limit))).item()) - limit


# %% mutant="welcome_measure_program"
# Takes the derivative at half the limit
# From 7 the loop doubles twice to reach a limit of 15. Just below the limit it runs once, whatever the factor is.
def measure(program):
    limit = next(start for start in range(1, 100) if derivative(program, start) == 1)
    return limit, derivative(program, limit // 2), round(program(torch.tensor(float(limit))).item()) - limit


# %% mutant="welcome_measure_program"
# Takes the result for the offset
# The result at the limit is limit + offset. Subtract the limit.
def measure(program):
    limit = next(start for start in range(1, 100) if derivative(program, start) == 1)
    return limit, derivative(program, limit - 1), round(program(torch.tensor(float(limit))).item())
