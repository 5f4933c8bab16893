# %% [markdown]
# # Exercises · Welcome
# Two small exercises, 2 points, to see how it works. Run the cells from the top with Shift+Enter. In a cell that says
# `# YOUR CODE HERE`, put your answer in place of that line and of the `raise` below it, run it, and run the check below
# it. Green means right. A wrong answer is told what was expected and what came; stuck, you ask for a hint.

# %% setup=true
import numpy as np

import minitorch as torch
from course import check

# %% [markdown] exercise="welcome_first_derivative" kind="predict" points=1
# ### Exercise 1 · Predict
# Which number does the last line print? Work it out in your head, then write it down as `answer`, for example `answer =
# 1.5`.
#
# ```python
# x = torch.tensor(3.0, requires_grad=True)
# y = x * x + 2 * x
# y.backward()
# print(x.grad.item())
# ```

# %% solution="welcome_first_derivative"
### BEGIN SOLUTION
answer = 8.0
### END SOLUTION

# %% check="welcome_first_derivative"
check.show({"answer": float(answer)}, text="What x.grad holds (noted, not shown).", secret=True)

# %% [markdown] hint="welcome_first_derivative"
# `x.grad` is the derivative of `y` with respect to `x`, at `x = 3`. It is not `y`.

# %% [markdown] hint="welcome_first_derivative"
# The derivative of $x^2$ is $2x$, that of $2x$ is $2$.

# %% [markdown] hint="welcome_first_derivative"
# $2 \cdot 3 + 2$.

# %% mutant="welcome_first_derivative"
# The value, not the derivative
# 15 is `y` itself. `backward` puts the derivative of `y` into `x.grad`.
answer = 15.0

# %% mutant="welcome_first_derivative"
# Forgets the second term
# 6 is the derivative of x * x alone; 2 * x adds 2 to it.
answer = 6.0

# %% [markdown] exercise="welcome_squared_distance" kind="build" points=1
# ### Exercise 2 · Build
# Write `squared_distance(a, b)`: the sum of the squared differences of two tensors of the same shape, $\sum_i (a_i -
# b_i)^2$, as a tensor with a single number. `squared_distance(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0]))` is
# `tensor(9.)`.
#
# The check draws random tensors, and asks for the gradient as well: it comes for nothing if you compute with tensors
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
distance = squared_distance(a, b)
distance.backward()
check.show({"a": a, "b": b, "squared distance": distance, "its gradient at a": a.grad}, rtol=1e-4)

# %% [markdown] hint="welcome_squared_distance"
# Tensors are added, subtracted and raised to a power element by element, with the signs of Python: `+`, `-`, `**`.

# %% [markdown] hint="welcome_squared_distance"
# `(a - b) ** 2` has the shape of `a`. Which method of a tensor adds all its elements?

# %% [markdown] hint="welcome_squared_distance"
# `return (... ** 2).sum()`


# %% mutant="welcome_squared_distance"
# The mean instead of the sum
# This is the mean squared difference: it is divided by the number of elements. The task asks for the sum.
def squared_distance(a, b):
    return ((a - b) ** 2).mean()


# %% mutant="welcome_squared_distance"
# Forgets the square
# Without the square, positive and negative differences cancel. Square each difference, then add.
def squared_distance(a, b):
    return (a - b).sum()


# %% mutant="welcome_squared_distance"
# Squares the sum
# The square comes first, for each element, and the sum after it; otherwise differences cancel before they are squared.
def squared_distance(a, b):
    return (a - b).sum() ** 2
