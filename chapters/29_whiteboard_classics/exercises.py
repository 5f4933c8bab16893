# %% [markdown]
# # Exercises · Classical machine learning and vision at the whiteboard
# Twelve whiteboard problems from outside the decoder: least squares, logistic regression, k-means, AUC, non-maximum suppression, focal
# loss, a vision transformer's front end, a variational autoencoder's loss, a decision tree's split, weights of four bits, nearest neighbours and a
# diffusion model's sampler. In an interview each of them gets the minutes below its task. The first five and the last four are written in NumPy, the
# others with the tensors of `torch`, which is minitorch. Nothing here adds to `mytorch`. What a problem costs, and what an interviewer asks next, is
# folded below its check.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch.nn import functional as F

# %% [markdown] exercise="classics_squares" kind="build" points=3 minutes=15
# ### Exercise 1 · Least squares, and the learning rate that is too large
# `fit` minimizes ‖x w + b − y‖² + l2·‖w‖². The intercept b is not penalized. `descent` minimizes the *mean* squared error without a penalty
# by gradient descent from zero, and `largest_rate` gives the learning rate above which that descent diverges. `fit` has to keep at least four
# digits when the columns of x are nearly dependent (condition number 10⁸), where the inverse of xᵀx has none left, with a tiny penalty as well.


# %% solution="classics_squares"
def fit(x: np.ndarray, y: np.ndarray, l2: float = 0.0) -> tuple[np.ndarray, float]:
    """The weights (D,) and the intercept for `x` (N, D), N > D, and `y` (N,) or (N, 1), all float64; `l2` ≥ 0."""
    ### BEGIN SOLUTION
    y = y.reshape(-1)
    centre, mean = x.mean(0), y.mean()
    rows = np.vstack([x - centre, np.sqrt(l2) * np.eye(x.shape[1])])
    q, r = np.linalg.qr(rows)
    w = np.linalg.solve(r, q.T @ np.concatenate([y - mean, np.zeros(x.shape[1])]))
    return w, float(mean - centre @ w)
    ### END SOLUTION


def descent(x: np.ndarray, y: np.ndarray, rate: float, steps: int) -> tuple[np.ndarray, float]:
    """The weights (D,) and the intercept after `steps` steps of gradient descent on the mean squared error, from zero."""
    ### BEGIN SOLUTION
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean()
    return w, float(b)
    ### END SOLUTION


def largest_rate(x: np.ndarray) -> float:
    """2 divided by the largest eigenvalue of the Hessian of the mean squared error in (w, b)."""
    ### BEGIN SOLUTION
    rows = np.hstack([x, np.ones((len(x), 1))])
    return float(2 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x))[-1])
    ### END SOLUTION


# %% check="classics_squares"
generator = check.rng()
N, D = 40, 3
x = generator.normal(size=(N, D)) + np.array([3.0, -1.0, 0.5])
truth = generator.uniform(1, 2, D)
y = x @ truth + 2.0 + 0.1 * generator.normal(size=N)
near = x.copy()
near[:, 2] = near[:, 0] + 2e-8 * generator.normal(size=N)
exact = near @ truth + 5.0
rate = largest_rate(x)
check.show(
    {
        "least squares": fit(x, y),
        "y of shape (N, 1)": fit(x, y[:, None]),
        "with a penalty of 7": fit(x, y, 7.0),
        "a penalty that leaves nothing but the mean": fit(x, y + 100, 1e9),
        "nearly equal columns, as a multiple of the truth": fit(near, exact)[0] / truth,
        "nearly equal columns and a tiny penalty": fit(near, exact, 1e-16 * float((near**2).sum()))[0] / truth,
        "largest rate": rate,
        "largest rate of one column": largest_rate(x[:, 1:2]),
        "one step of descent": descent(x, y, 0.3 * rate, 1),
        "20 steps of descent": descent(x, y, 0.3 * rate, 20),
        "y of shape (N, 1), 20 steps": descent(x, y[:, None], 0.3 * rate, 20),
        "just below the largest rate": bool(abs(descent(x, y, 0.97 * rate, 2000)[1]) < 100),
        "just above it": bool(abs(descent(x, y, 1.03 * rate, 2000)[1]) < 100),
    },
    rtol=1e-4,
    atol=1e-6,
    text="Weights and intercepts, and whether descent stays bounded at 0.97 and 1.03 times the largest rate.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** QR and the normal equations both take O(N·D²) time and O(N·D) memory; a step of descent takes O(N·D).
#
# 1. *Why not the inverse of xᵀx?* "The condition number of xᵀx is the square of that of x, so it loses twice as many digits. At 10⁸ it loses all of
#    float64's sixteen, while QR still has eight."
# 2. *Why are features standardized before descent?* "The rate is limited by the largest eigenvalue of the Hessian and the progress by the smallest one, so the
#    number of steps grows with their ratio. Standardizing removes the part of it that comes from different units; correlated features stay ill-conditioned: of two that
#    differ by 5 % noise, the eigenvalues of the standardized ones are about 0.001 and 2."
# 3. *What does the penalty do to that?* "It adds a constant to the curvature along every weight, 2·l2/N for the mean squared error, though not along the intercept. So the ratio falls, and the
#    solution is unique even if columns are dependent."
#
# </details>

# %% [markdown] hint="classics_squares"
# The intercept drops out if you subtract the means of x and y first. And a penalty is least squares too, with D further rows: which rows have
# the error √l2·w?

# %% [markdown] hint="classics_squares"
# Stack `x - x.mean(0)` on top of √l2 times the identity, and the centred y on top of D zeros. Solve this by QR: `q, r = np.linalg.qr(rows)`. The Hessian of
# the mean squared error in (w, b) is 2/N times zᵀz, where z is x with a column of ones.

# %% [markdown] hint="classics_squares"
# `w = np.linalg.solve(r, q.T @ targets)` and `b = y.mean() - x.mean(0) @ w`. In descent the gradients are `2 * x.T @ error / N` and `2 * error.mean()`, both taken
# before either parameter moves. `largest_rate` is `2 / np.linalg.eigvalsh(hessian)[-1]`.


# %% mutant="classics_squares"
# Inverts xᵀx
# The condition number of xᵀx is the square of that of x. With columns that agree to eight digits, nothing is left of float64's sixteen.
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    centre, mean = x.mean(0), y.mean()
    x = x - centre
    w = np.linalg.inv(x.T @ x + l2 * np.eye(x.shape[1])) @ (x.T @ (y - mean))
    return w, float(mean - centre @ w)


def descent(x, y, rate, steps):
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean()
    return w, float(b)


def largest_rate(x):
    rows = np.hstack([x, np.ones((len(x), 1))])
    return float(2 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x))[-1])


# %% mutant="classics_squares"
# Penalizes the intercept
# The penalty concerns the weights alone. Otherwise adding 100 to every y changes the weights, and a strong penalty pulls the predictions to 0, not to
# the mean.
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    rows = np.hstack([x, np.ones((len(x), 1))])
    rows = np.vstack([rows, np.sqrt(l2) * np.eye(rows.shape[1])])
    q, r = np.linalg.qr(rows)
    w = np.linalg.solve(r, q.T @ np.concatenate([y, np.zeros(rows.shape[1])]))
    return w[:-1], float(w[-1])


def descent(x, y, rate, steps):
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean()
    return w, float(b)


def largest_rate(x):
    rows = np.hstack([x, np.ones((len(x), 1))])
    return float(2 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x))[-1])


# %% mutant="classics_squares"
# No intercept
# Without b the plane has to go through the origin, although neither x nor y is centred.
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    q, r = np.linalg.qr(np.vstack([x, np.sqrt(l2) * np.eye(x.shape[1])]))
    return np.linalg.solve(r, q.T @ np.concatenate([y, np.zeros(x.shape[1])])), 0.0


def descent(x, y, rate, steps):
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean()
    return w, float(b)


def largest_rate(x):
    rows = np.hstack([x, np.ones((len(x), 1))])
    return float(2 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x))[-1])


# %% mutant="classics_squares"
# y of shape (N, 1) broadcasts
# (N,) minus (N, 1) is an (N, N) matrix, not an error per row. Flatten y first.
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    centre, mean = x.mean(0), y.mean()
    rows = np.vstack([x - centre, np.sqrt(l2) * np.eye(x.shape[1])])
    q, r = np.linalg.qr(rows)
    w = np.linalg.solve(r, q.T @ np.concatenate([y - mean, np.zeros(x.shape[1])]))
    return w, float(mean - centre @ w)


def descent(x, y, rate, steps):
    w, b = np.zeros(x.shape[1]), 0.0
    for _ in range(steps):
        error = x @ w + b - y
        error = error if error.ndim == 1 else error.mean(0)
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean()
    return w, float(b)


def largest_rate(x):
    rows = np.hstack([x, np.ones((len(x), 1))])
    return float(2 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x))[-1])


# %% mutant="classics_squares"
# The factor 2 is missing
# The derivative of a square is twice its base, so the gradient of the mean squared error is 2/N · xᵀ error.
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    centre, mean = x.mean(0), y.mean()
    rows = np.vstack([x - centre, np.sqrt(l2) * np.eye(x.shape[1])])
    q, r = np.linalg.qr(rows)
    w = np.linalg.solve(r, q.T @ np.concatenate([y - mean, np.zeros(x.shape[1])]))
    return w, float(mean - centre @ w)


def descent(x, y, rate, steps):
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * x.T @ error / len(x), b - rate * error.mean()
    return w, float(b)


def largest_rate(x):
    rows = np.hstack([x, np.ones((len(x), 1))])
    return float(2 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x))[-1])


# %% mutant="classics_squares"
# The intercept sees the new weights
# Both gradients belong to the same point. Here the intercept's is taken after the weights have moved.
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    centre, mean = x.mean(0), y.mean()
    rows = np.vstack([x - centre, np.sqrt(l2) * np.eye(x.shape[1])])
    q, r = np.linalg.qr(rows)
    w = np.linalg.solve(r, q.T @ np.concatenate([y - mean, np.zeros(x.shape[1])]))
    return w, float(mean - centre @ w)


def descent(x, y, rate, steps):
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        w = w - rate * 2 * x.T @ (x @ w + b - y) / len(x)
        b = b - rate * 2 * (x @ w + b - y).mean()
    return w, float(b)


def largest_rate(x):
    rows = np.hstack([x, np.ones((len(x), 1))])
    return float(2 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x))[-1])


# %% mutant="classics_squares"
# The Hessian without the intercept
# b is a parameter too: its column of ones belongs to the Hessian, and with features that are not centred it raises the largest eigenvalue.
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    centre, mean = x.mean(0), y.mean()
    rows = np.vstack([x - centre, np.sqrt(l2) * np.eye(x.shape[1])])
    q, r = np.linalg.qr(rows)
    w = np.linalg.solve(r, q.T @ np.concatenate([y - mean, np.zeros(x.shape[1])]))
    return w, float(mean - centre @ w)


def descent(x, y, rate, steps):
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean()
    return w, float(b)


def largest_rate(x):
    return float(2 / np.linalg.eigvalsh(2 * x.T @ x / len(x))[-1])


# %% mutant="classics_squares"
# 1 divided by the largest eigenvalue
# Each step multiplies the error along an eigenvector by 1 − rate·λ. It grows if this is below −1, that is from 2/λ on.
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    centre, mean = x.mean(0), y.mean()
    rows = np.vstack([x - centre, np.sqrt(l2) * np.eye(x.shape[1])])
    q, r = np.linalg.qr(rows)
    w = np.linalg.solve(r, q.T @ np.concatenate([y - mean, np.zeros(x.shape[1])]))
    return w, float(mean - centre @ w)


def descent(x, y, rate, steps):
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean()
    return w, float(b)


def largest_rate(x):
    rows = np.hstack([x, np.ones((len(x), 1))])
    return float(1 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x))[-1])


# %% [markdown] exercise="classics_logistic" kind="build" points=3
# ### Exercise 2 · Logistic regression by Newton's method
# `log_loss` is the *sum* of the negative log-likelihoods of labels 0 and 1, given scores (logits) from −1000 to 1000. `newton` minimizes
# `log_loss(x w + b) + l2/2 · ‖w‖²` by Newton's method from zero; the intercept is not penalized. The data may be separable, so that without the penalty
# the weights would grow forever.


# %% solution="classics_logistic"
def log_loss(scores: np.ndarray, labels: np.ndarray) -> float:
    """The sum over all examples; `scores` (N,) float64, `labels` (N,) of 0 and 1."""
    ### BEGIN SOLUTION
    return float((np.logaddexp(0, scores) - labels * scores).sum())
    ### END SOLUTION


def newton(x: np.ndarray, labels: np.ndarray, l2: float, steps: int) -> tuple[np.ndarray, float]:
    """The weights (D,) and the intercept after `steps` full Newton steps from zero; `x` is (N, D)."""
    ### BEGIN SOLUTION
    rows = np.hstack([x, np.ones((len(x), 1))])
    penalty = l2 * np.append(np.ones(x.shape[1]), 0.0)
    parameters = np.zeros(rows.shape[1])
    for _ in range(steps):
        p = 0.5 * (1 + np.tanh(rows @ parameters / 2))
        gradient = rows.T @ (p - labels) + penalty * parameters
        hessian = rows.T @ (rows * (p * (1 - p))[:, None]) + np.diag(penalty)
        parameters = parameters - np.linalg.solve(hessian, gradient)
    return parameters[:-1], float(parameters[-1])
    ### END SOLUTION


# %% check="classics_logistic"
generator = check.rng()
N, D = 30, 2
x = generator.normal(size=(N, D)) + np.array([1.0, -2.0])
labels = (generator.random(N) < 1 / (1 + np.exp(-(x @ [1.5, -0.7] - 2.0)))).astype(int)
labels[:2] = [0, 1]
apart = np.concatenate([generator.normal(size=(9, D)) - 6, generator.normal(size=(6, D)) + 6])
sides = np.repeat([0, 1], [9, 6])
check.show(
    {
        "loss": check.intact(log_loss, generator.normal(size=9), np.arange(9) % 2),
        "loss at 1000": log_loss(np.array([1000.0, -1000.0, 1000.0, -1000.0, 0.0]), np.array([1, 0, 0, 1, 1])),
        "loss of one example": log_loss(np.array([-0.3]), np.array([1])),
        "one step": newton(x, labels, 0.5, 1),
        "three steps": newton(x, labels, 0.5, 3),
        "no penalty": newton(x[:, :1], labels, 0.0, 2),
        "at the optimum": newton(x, labels, 0.5, 15),
        "after each step": [newton(x, labels, 0.5, steps) for steps in range(1, 8)],
        "separable, a weak penalty": newton(apart, sides, 1e-3, 12),
        "separable": newton(apart, sides, 0.1, 8),
        "a strong penalty": newton(x, labels, 1e6, 5),
    },
    rtol=1e-5,
    atol=1e-7,
    text="Losses, and weights with the intercept after some steps.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(N·D² + D³) a step, and rarely more than ten steps; gradient descent takes O(N·D) a step and many more of them.
#
# 1. *Why is the problem convex?* "The Hessian is xᵀ diag(p(1 − p)) x plus the penalty, and both are positive semidefinite."
# 2. *What happens on separable data without a penalty?* "The likelihood has no maximum: the weights grow forever, p(1 − p) goes to 0, and the
#    Hessian becomes singular."
# 3. *What changes for more than two classes?* "Softmax replaces the sigmoid. The gradient is still features times (p − one-hot), and one class's weights may be
#    fixed, since only differences of the scores matter."
#
# </details>

# %% [markdown] hint="classics_logistic"
# The loss of one example is log(1 + eˢ) − label·s. Which NumPy function computes log(eᵃ + eᵇ) without overflow?

# %% [markdown] hint="classics_logistic"
# Append a column of ones to x, so that the intercept is the last parameter. The gradient is zᵀ(p − labels) plus l2·w; the Hessian is
# zᵀ diag(p(1 − p)) z plus l2 on the diagonal, except at the intercept.

# %% [markdown] hint="classics_logistic"
# `parameters -= np.linalg.solve(hessian, gradient)` with `hessian = z.T @ (z * (p * (1 - p))[:, None]) + np.diag(penalty)`, where `penalty` is l2 for the weights and
# 0 for the intercept. `log_loss` is `(np.logaddexp(0, scores) - labels * scores).sum()`.


# %% mutant="classics_logistic"
# The logarithm of 0
# The sigmoid of −1000 is 0 in floating point, and its logarithm −∞. Write log(1 + eˢ) − label·s with `np.logaddexp` instead.
def log_loss(scores, labels):
    with np.errstate(all="ignore"):
        p = 1 / (1 + np.exp(-scores))
        return float(-np.where(labels == 1, np.log(p), np.log(1 - p)).sum())


def newton(x, labels, l2, steps):
    rows = np.hstack([x, np.ones((len(x), 1))])
    penalty = l2 * np.append(np.ones(x.shape[1]), 0.0)
    parameters = np.zeros(rows.shape[1])
    for _ in range(steps):
        p = 0.5 * (1 + np.tanh(rows @ parameters / 2))
        gradient = rows.T @ (p - labels) + penalty * parameters
        hessian = rows.T @ (rows * (p * (1 - p))[:, None]) + np.diag(penalty)
        parameters = parameters - np.linalg.solve(hessian, gradient)
    return parameters[:-1], float(parameters[-1])


# %% mutant="classics_logistic"
# Clips the probability
# Clipping p at 1e-12 makes every confident mistake cost 27.6, although the loss of a score of 1000 is 1000.
def log_loss(scores, labels):
    p = np.clip(0.5 * (1 + np.tanh(scores / 2)), 1e-12, 1 - 1e-12)
    return float(-(labels * np.log(p) + (1 - labels) * np.log(1 - p)).sum())


def newton(x, labels, l2, steps):
    rows = np.hstack([x, np.ones((len(x), 1))])
    penalty = l2 * np.append(np.ones(x.shape[1]), 0.0)
    parameters = np.zeros(rows.shape[1])
    for _ in range(steps):
        p = 0.5 * (1 + np.tanh(rows @ parameters / 2))
        gradient = rows.T @ (p - labels) + penalty * parameters
        hessian = rows.T @ (rows * (p * (1 - p))[:, None]) + np.diag(penalty)
        parameters = parameters - np.linalg.solve(hessian, gradient)
    return parameters[:-1], float(parameters[-1])


# %% mutant="classics_logistic"
# The mean
# The task asks for the sum, and the penalty is weighed against it: with a mean, the same l2 would act N times as strongly.
def log_loss(scores, labels):
    return float((np.logaddexp(0, scores) - labels * scores).mean())


def newton(x, labels, l2, steps):
    rows = np.hstack([x, np.ones((len(x), 1))])
    penalty = l2 * np.append(np.ones(x.shape[1]), 0.0)
    parameters = np.zeros(rows.shape[1])
    for _ in range(steps):
        p = 0.5 * (1 + np.tanh(rows @ parameters / 2))
        gradient = rows.T @ (p - labels) + penalty * parameters
        hessian = rows.T @ (rows * (p * (1 - p))[:, None]) + np.diag(penalty)
        parameters = parameters - np.linalg.solve(hessian, gradient)
    return parameters[:-1], float(parameters[-1])


# %% mutant="classics_logistic"
# Penalizes the intercept
# Only the weights are penalized. With the intercept among them, a strong penalty would pull every prediction to one half, not to the share of ones.
def log_loss(scores, labels):
    return float((np.logaddexp(0, scores) - labels * scores).sum())


def newton(x, labels, l2, steps):
    rows = np.hstack([x, np.ones((len(x), 1))])
    parameters = np.zeros(rows.shape[1])
    for _ in range(steps):
        p = 0.5 * (1 + np.tanh(rows @ parameters / 2))
        gradient = rows.T @ (p - labels) + l2 * parameters
        hessian = rows.T @ (rows * (p * (1 - p))[:, None]) + l2 * np.eye(rows.shape[1])
        parameters = parameters - np.linalg.solve(hessian, gradient)
    return parameters[:-1], float(parameters[-1])


# %% mutant="classics_logistic"
# The Hessian without the penalty
# The penalty l2/2 · ‖w‖² adds l2 to the Hessian's diagonal as well. Without it the steps are too long, and on separable data the Hessian becomes singular.
def log_loss(scores, labels):
    return float((np.logaddexp(0, scores) - labels * scores).sum())


def newton(x, labels, l2, steps):
    rows = np.hstack([x, np.ones((len(x), 1))])
    penalty = l2 * np.append(np.ones(x.shape[1]), 0.0)
    parameters = np.zeros(rows.shape[1])
    for _ in range(steps):
        p = 0.5 * (1 + np.tanh(rows @ parameters / 2))
        gradient = rows.T @ (p - labels) + penalty * parameters
        hessian = rows.T @ (rows * (p * (1 - p))[:, None]) + 1e-9 * np.eye(rows.shape[1])
        parameters = parameters - np.linalg.solve(hessian, gradient)
    return parameters[:-1], float(parameters[-1])


# %% mutant="classics_logistic"
# The mean against a penalty of the sum
# The objective is a sum over examples. Divided by N, gradient and Hessian of the data no longer match the penalty.
def log_loss(scores, labels):
    return float((np.logaddexp(0, scores) - labels * scores).sum())


def newton(x, labels, l2, steps):
    rows = np.hstack([x, np.ones((len(x), 1))])
    penalty = l2 * np.append(np.ones(x.shape[1]), 0.0)
    parameters = np.zeros(rows.shape[1])
    for _ in range(steps):
        p = 0.5 * (1 + np.tanh(rows @ parameters / 2))
        gradient = rows.T @ (p - labels) / len(x) + penalty * parameters
        hessian = rows.T @ (rows * (p * (1 - p))[:, None]) / len(x) + np.diag(penalty)
        parameters = parameters - np.linalg.solve(hessian, gradient)
    return parameters[:-1], float(parameters[-1])


# %% mutant="classics_logistic"
# Labels of −1 and 1
# The gradient zᵀ(p − labels) belongs to labels 0 and 1. With −1 in place of 0, even a perfect prediction has a gradient.
def log_loss(scores, labels):
    return float((np.logaddexp(0, scores) - labels * scores).sum())


def newton(x, labels, l2, steps):
    rows = np.hstack([x, np.ones((len(x), 1))])
    penalty = l2 * np.append(np.ones(x.shape[1]), 0.0)
    parameters = np.zeros(rows.shape[1])
    for _ in range(steps):
        p = 0.5 * (1 + np.tanh(rows @ parameters / 2))
        gradient = rows.T @ (p - (2 * labels - 1)) + penalty * parameters
        hessian = rows.T @ (rows * (p * (1 - p))[:, None]) + np.diag(penalty) + 1e-9 * np.eye(rows.shape[1])
        parameters = parameters - np.linalg.solve(hessian, gradient)
    return parameters[:-1], float(parameters[-1])


# %% [markdown] exercise="classics_kmeans" kind="build" points=3
# ### Exercise 3 · k-means++
# `spread` chooses k of the points as first centers: one with `generator.integers(N)`, each further one with `generator.choice(N, p=...)`, where a point's
# probability is proportional to its *squared* distance from the nearest center chosen so far. If all these distances are 0, every point is equally likely.
# `lloyd` then assigns points to their nearest center (the first of equals) and moves each center to the mean of its points, until no label changes or `steps`
# moves are done. A center without points stays where it is. Points may lie far from the origin.


# %% solution="classics_kmeans"
def spread(x: np.ndarray, k: int, generator: np.random.Generator) -> np.ndarray:
    """The first centers (k, D), which are rows of `x` (N, D); all arrays hold floats."""
    ### BEGIN SOLUTION
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        nearest = np.min([((x - center) ** 2).sum(1) for center in centers], axis=0)
        total = nearest.sum()
        weights = nearest / total if total else np.full(len(x), 1 / len(x))
        centers.append(x[generator.choice(len(x), p=weights)])
    return np.array(centers)
    ### END SOLUTION


def lloyd(x: np.ndarray, centers: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The final centers (k, D), and the labels (N,) and the inertia, both for these centers.

    The inertia is the sum of the squared distances of all points to their centers.
    """
    ### BEGIN SOLUTION

    def assign():
        squared = np.stack([((x - center) ** 2).sum(1) for center in centers], axis=1)
        return squared.argmin(1), float(squared.min(1).sum())

    centers = centers.copy()
    labels, inertia = assign()
    for _ in range(steps):
        for index in range(len(centers)):
            if (labels == index).any():
                centers[index] = x[labels == index].mean(0)
        before = labels
        labels, inertia = assign()
        if (labels == before).all():
            break
    return centers, labels, inertia
    ### END SOLUTION


# %% check="classics_kmeans"
class Drawn:
    """A generator whose draws are known; it keeps the probabilities that it is given."""

    def __init__(self, draws):
        self.draws, self.seen = list(draws), []

    def integers(self, low, high=None):
        self.seen.append([low if high is None else high - low])
        return self.draws.pop(0)

    def choice(self, a, p=None):
        count = a if isinstance(a, (int, np.integer)) else len(a)
        self.seen.append([float(each) for each in (np.full(count, 1 / count) if p is None else p)])
        return self.draws.pop(0)


generator = check.rng()
x = np.concatenate([generator.normal(size=(6, 2)) + each for each in ([0, 0], [4, 1], [1, 5])])
draws = [int(each) for each in generator.permutation(len(x))[:3]]
fixed = Drawn(draws)
chosen = spread(x, 3, fixed)
same = Drawn([2, 0, 1])
spread(np.ones((4, 2)), 3, same)
tiny = Drawn(draws)
spread(1e-8 * x, 3, tiny)
distant = Drawn(draws)
spread(x + 1e8, 3, distant)
alone = spread(x[:1], 1, Drawn([0]))
lonely = np.array([x[0], x[1], [90.0, 90.0], x[0]])
start = x[[0, 1, 2]].copy()
far = x + 1e8
crowd = np.concatenate([generator.normal(size=(70, 2)) + each for each in ([0, 0], [2, 1], [1, 2])])
angles = np.radians([25, 155, 145, 275, 35, 265])
ring = generator.uniform(1, 3) * np.stack([np.cos(angles), np.sin(angles), np.repeat([-0.1, 0, 0.1], 2)], 1)
check.show(
    {
        "draws": draws,
        "first centers": chosen,
        "probabilities": fixed.seen,
        "one point": alone,
        "all points equal": same.seen,
        "points 10⁻⁸ apart": tiny.seen,
        "far away": distant.seen,
        "no move": lloyd(x, start, 0),
        "one move": lloyd(x, start, 1),
        "until nothing changes": lloyd(x, chosen, 100),
        "a first move that changes every label": lloyd(ring, np.outer([-0.1, 0, 0.1], [0, 0, 1]), 9),
        "10⁻⁸ apart, until nothing changes": [
            each * scale for each, scale in zip(lloyd(1e-8 * x, 1e-8 * start, 100), (1e8, 1, 1e16), strict=True)
        ],
        "the first centers afterwards": start - x[[0, 1, 2]],
        "210 points, until nothing changes": lloyd(crowd, crowd[[0, 1, 2]], 500),
        "centers without points": lloyd(x, lonely, 2),
        "one center": lloyd(x, x[:1], 5),
        "far from the origin": [
            each - 1e8 if index == 0 else each for index, each in enumerate(lloyd(far, far[draws], 9))
        ],
    },
    rtol=1e-5,
    atol=1e-6,
    text="Which points became centers with which probabilities, and centers, labels and inertia.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(N·k·D) time a step. The distances take N·k numbers; broadcasting `x[:, None] - centers` takes N·k·D, which is what an interviewer waits for.
#
# 1. *Why does it end?* "Neither half of a step can raise the inertia, and there are finitely many assignments. It ends in a local minimum, so one restarts and keeps
#    the best."
# 2. *Why squared distances in k-means++?* "They are the inertia's own terms: a point is drawn in proportion to what it costs now. The expected inertia is then
#    within a factor of O(log k) of the best."
# 3. *What would you do with an empty cluster?* "Keep its center, as here, or move it to the point that is farthest from its own center, which uses all k clusters."
#
# </details>

# %% [markdown] hint="classics_kmeans"
# For each point, how far is the *nearest* of the centers chosen so far? One pass over the centers with a running minimum will do.

# %% [markdown] hint="classics_kmeans"
# Compute `((x - center) ** 2).sum(1)` for one center after the other, so that no (N, k, D) array arises and no digits cancel. Labels and inertia are computed once more
# after the last move.

# %% [markdown] hint="classics_kmeans"
# `weights = nearest / nearest.sum()`, or 1/N each if the sum is 0. In `lloyd`: assign; then repeat at most `steps` times: move each center that has points to their mean,
# assign again, and stop if the labels are those of before. Work on `centers.copy()`.


# %% mutant="classics_kmeans"
# Distances that aren't squared
# k-means++ draws in proportion to the squared distance, which is what the point adds to the inertia.
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        nearest = np.sqrt(np.min([((x - center) ** 2).sum(1) for center in centers], axis=0))
        total = nearest.sum()
        centers.append(x[generator.choice(len(x), p=nearest / total if total else np.full(len(x), 1 / len(x)))])
    return np.array(centers)


def lloyd(x, centers, steps):
    def assign():
        squared = np.stack([((x - center) ** 2).sum(1) for center in centers], axis=1)
        return squared.argmin(1), float(squared.min(1).sum())

    centers = centers.copy()
    labels, inertia = assign()
    for _ in range(steps):
        for index in range(len(centers)):
            if (labels == index).any():
                centers[index] = x[labels == index].mean(0)
        before = labels
        labels, inertia = assign()
        if (labels == before).all():
            break
    return centers, labels, inertia


# %% mutant="classics_kmeans"
# The last center only
# A point's distance is that to the *nearest* center chosen so far. Here it is the distance to the newest one, so the third center may fall on the first.
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        nearest = ((x - centers[-1]) ** 2).sum(1)
        total = nearest.sum()
        centers.append(x[generator.choice(len(x), p=nearest / total if total else np.full(len(x), 1 / len(x)))])
    return np.array(centers)


def lloyd(x, centers, steps):
    def assign():
        squared = np.stack([((x - center) ** 2).sum(1) for center in centers], axis=1)
        return squared.argmin(1), float(squared.min(1).sum())

    centers = centers.copy()
    labels, inertia = assign()
    for _ in range(steps):
        for index in range(len(centers)):
            if (labels == index).any():
                centers[index] = x[labels == index].mean(0)
        before = labels
        labels, inertia = assign()
        if (labels == before).all():
            break
    return centers, labels, inertia


# %% mutant="classics_kmeans"
# 0 divided by 0
# If every point coincides with a center, all distances are 0 and so is their sum. The probabilities are then NaN.
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        nearest = np.min([((x - center) ** 2).sum(1) for center in centers], axis=0)
        with np.errstate(all="ignore"):
            centers.append(x[generator.choice(len(x), p=nearest / nearest.sum())])
    return np.array(centers)


def lloyd(x, centers, steps):
    def assign():
        squared = np.stack([((x - center) ** 2).sum(1) for center in centers], axis=1)
        return squared.argmin(1), float(squared.min(1).sum())

    centers = centers.copy()
    labels, inertia = assign()
    for _ in range(steps):
        for index in range(len(centers)):
            if (labels == index).any():
                centers[index] = x[labels == index].mean(0)
        before = labels
        labels, inertia = assign()
        if (labels == before).all():
            break
    return centers, labels, inertia


# %% mutant="classics_kmeans"
# The mean of nothing
# A cluster without points has no mean: `mean` of an empty array is NaN, which then spreads. Leave such a center where it is.
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        nearest = np.min([((x - center) ** 2).sum(1) for center in centers], axis=0)
        total = nearest.sum()
        weights = nearest / total if total else np.full(len(x), 1 / len(x))
        centers.append(x[generator.choice(len(x), p=weights)])
    return np.array(centers)


def lloyd(x, centers, steps):
    def assign():
        squared = np.stack([((x - center) ** 2).sum(1) for center in centers], axis=1)
        return squared.argmin(1), float(squared.min(1).sum())

    centers = centers.copy()
    labels, inertia = assign()
    for _ in range(steps):
        for index in range(len(centers)):
            members = x[labels == index]
            centers[index] = members.mean(0) if len(members) else np.nan
        before = labels
        labels, inertia = assign()
        if (labels == before).all():
            break
    return centers, labels, inertia


# %% mutant="classics_kmeans"
# Empty clusters move to the origin
# Dividing by max(count, 1) avoids NaN, but puts the center of an empty cluster at 0. It should stay where it is.
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        nearest = np.min([((x - center) ** 2).sum(1) for center in centers], axis=0)
        total = nearest.sum()
        weights = nearest / total if total else np.full(len(x), 1 / len(x))
        centers.append(x[generator.choice(len(x), p=weights)])
    return np.array(centers)


def lloyd(x, centers, steps):
    def assign():
        squared = np.stack([((x - center) ** 2).sum(1) for center in centers], axis=1)
        return squared.argmin(1), float(squared.min(1).sum())

    centers = centers.copy()
    labels, inertia = assign()
    for _ in range(steps):
        for index in range(len(centers)):
            members = x[labels == index]
            centers[index] = members.sum(0) / max(len(members), 1)
        before = labels
        labels, inertia = assign()
        if (labels == before).all():
            break
    return centers, labels, inertia


# %% mutant="classics_kmeans"
# Labels of the step before
# Labels and inertia should belong to the centers that are returned. Here they belong to the centers before the last move.
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        nearest = np.min([((x - center) ** 2).sum(1) for center in centers], axis=0)
        total = nearest.sum()
        weights = nearest / total if total else np.full(len(x), 1 / len(x))
        centers.append(x[generator.choice(len(x), p=weights)])
    return np.array(centers)


def lloyd(x, centers, steps):
    centers = centers.copy()
    labels, inertia, before = None, 0.0, None
    for _ in range(max(steps, 1)):
        squared = np.stack([((x - center) ** 2).sum(1) for center in centers], axis=1)
        labels, inertia = squared.argmin(1), float(squared.min(1).sum())
        if steps == 0 or (before is not None and (labels == before).all()):
            break
        for index in range(len(centers)):
            if (labels == index).any():
                centers[index] = x[labels == index].mean(0)
        before = labels
    return centers, labels, inertia


# %% mutant="classics_kmeans"
# Distances by expanded squares
# ‖x‖² − 2x·c + ‖c‖² subtracts large numbers from each other: 10⁸ away from the origin nothing of the distance is left. Subtract first, then square.
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        nearest = np.min([((x - center) ** 2).sum(1) for center in centers], axis=0)
        total = nearest.sum()
        weights = nearest / total if total else np.full(len(x), 1 / len(x))
        centers.append(x[generator.choice(len(x), p=weights)])
    return np.array(centers)


def lloyd(x, centers, steps):
    def assign():
        squared = (x**2).sum(1)[:, None] - 2 * x @ centers.T + (centers**2).sum(1)
        return squared.argmin(1), float(squared.min(1).sum())

    centers = centers.copy()
    labels, inertia = assign()
    for _ in range(steps):
        for index in range(len(centers)):
            if (labels == index).any():
                centers[index] = x[labels == index].mean(0)
        before = labels
        labels, inertia = assign()
        if (labels == before).all():
            break
    return centers, labels, inertia


# %% mutant="classics_kmeans"
# Overwrites the first centers
# The caller's array of first centers is changed in place. Copy it before you move anything.
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        nearest = np.min([((x - center) ** 2).sum(1) for center in centers], axis=0)
        total = nearest.sum()
        weights = nearest / total if total else np.full(len(x), 1 / len(x))
        centers.append(x[generator.choice(len(x), p=weights)])
    return np.array(centers)


def lloyd(x, centers, steps):
    def assign():
        squared = np.stack([((x - center) ** 2).sum(1) for center in centers], axis=1)
        return squared.argmin(1), float(squared.min(1).sum())

    labels, inertia = assign()
    for _ in range(steps):
        for index in range(len(centers)):
            if (labels == index).any():
                centers[index] = x[labels == index].mean(0)
        before = labels
        labels, inertia = assign()
        if (labels == before).all():
            break
    return centers.copy(), labels, inertia


# %% [markdown] exercise="classics_auc" kind="build" points=3 minutes=15
# ### Exercise 4 · AUC and average precision
# `auc` is the probability that a random positive has a higher score than a random negative, where equal scores count one half. `average_precision` is the sum, over the
# *distinct* scores from the highest down, of the increase in recall times the precision at that score. Examples with equal scores are accepted together, so the result doesn't
# depend on their order. A measure that needs a class which is missing is NaN. There may be a million examples, so comparing all pairs is too slow.


# %% solution="classics_auc"
def auc(scores: np.ndarray, labels: np.ndarray) -> float:
    """The area under the ROC curve; `scores` (N,) floats, `labels` (N,) of 0 and 1. NaN unless both classes occur."""
    ### BEGIN SOLUTION
    positive = labels == 1
    pos, neg = int(positive.sum()), int((~positive).sum())
    if not pos or not neg:
        return float("nan")
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # of equal scores, the mean of their ranks, from 1
    return float((ranks[place][positive].sum() - pos * (pos + 1) / 2) / (pos * neg))
    ### END SOLUTION


def average_precision(scores: np.ndarray, labels: np.ndarray) -> float:
    """The sum of recall steps times precision; `scores` (N,) floats, `labels` (N,) of 0 and 1. NaN without positives."""
    ### BEGIN SOLUTION
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(place, weights=labels, minlength=len(counts))
    if not hits.sum():
        return float("nan")
    return float((hits / hits.sum() * (np.cumsum(hits) / np.cumsum(counts))).sum())
    ### END SOLUTION


# %% check="classics_auc"
generator = check.rng()
scores = np.round(generator.normal(size=40), 1)
labels = (generator.random(40) < 0.4).astype(int)
labels[:4] = [0, 1, 0, 1]
scores[:4] = 0.7
order = np.concatenate([np.flatnonzero(labels), np.flatnonzero(1 - labels)])
N = 1_000_000
classes = (np.arange(N) * 7919 % 101 < 50).astype(int)
many = np.round(np.arange(N) * (0.6 + generator.random() / 10) % 1 + 0.3 * classes, 3)
cases = {
    "ties": (scores, labels),
    "positives first": (scores[order], labels[order]),
    "negatives first": (scores[order[::-1]], labels[order[::-1]]),
    "all scores equal": (np.ones(7), np.array([1, 0, 0, 1, 0, 0, 0])),
    "perfect": (np.arange(6.0), np.array([0, 0, 0, 0, 1, 1])),
    "inverted": (-np.arange(6.0), np.array([0, 0, 0, 0, 1, 1])),
    "precision that rises again": (np.array([6.0, 5, 4, 3, 2]), np.array([1, 0, 0, 1, 1])),
    "only positives": (np.array([0.1, 0.4, 0.4]), np.array([1, 1, 1])),
    "only negatives": (np.array([0.1, 0.4]), np.array([0, 0])),
    "one example": (np.array([0.3]), np.array([1])),
    "scores below 10⁻¹¹, some of them equal": (1e-12 * scores, labels),
}
values = {
    name: {
        "AUC": check.intact(auc, *case),
        "average precision": check.intact(average_precision, *case),
    }
    for name, case in cases.items()
}
values["a million examples, half of them positive"] = {
    "AUC": auc(many, classes),
    "average precision": average_precision(many, classes),
}
check.show(
    values,
    rtol=1e-6,
    atol=1e-9,
    text="Both measures of each case.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(N log N) time for the sort, O(N) memory; all pairs would take O(N²).
#
# 1. *What does an AUC of 0.5 mean, and 0.3?* "0.5 ranks no better than chance. 0.3 ranks backwards, so the negated scores have 0.7."
# 2. *2 % of the examples are positive and the AUC is 0.95. Is that good?* "The AUC doesn't depend on the share of positives, but the precision does. With fifty negatives
#    for each positive, most of what is accepted may still be wrong, so I look at average precision."
# 3. *Why does VOC's AP differ from yours?* "It first makes the precision monotone, by taking the largest precision at any recall from there on."
#
# </details>

# %% [markdown] hint="classics_auc"
# Give each example its rank by score, from 1. The sum of the positives' ranks says how many negatives they beat.

# %% [markdown] hint="classics_auc"
# Equal scores share the mean of their ranks. The positives beat `rank sum − P(P + 1)/2` negatives, out of P·N pairs. `np.unique` with `return_inverse` and
# `return_counts` finds the groups of equal scores.

# %% [markdown] hint="classics_auc"
# `ranks = np.cumsum(counts) - (counts - 1) / 2` per distinct score. For average precision take `np.unique(-scores, …)`, count the positives of each group with
# `np.bincount(place, weights=labels)`, and sum `hits / P * cumsum(hits) / cumsum(counts)`.


# %% mutant="classics_auc"
# Ties by the order of the input
# Sorting gives equal scores different ranks, so the result depends on which example happens to stand first. They share the mean of their ranks.
def auc(scores, labels):
    positive = labels == 1
    pos, neg = int(positive.sum()), int((~positive).sum())
    if not pos or not neg:
        return float("nan")
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return float((ranks[positive].sum() - pos * (pos + 1) / 2) / (pos * neg))


def average_precision(scores, labels):
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(place, weights=labels, minlength=len(counts))
    if not hits.sum():
        return float("nan")
    return float((hits / hits.sum() * (np.cumsum(hits) / np.cumsum(counts))).sum())


# %% mutant="classics_auc"
# A tie counts as a win
# Equal scores don't rank the positive higher. They count one half, so that all scores equal gives 0.5.
def auc(scores, labels):
    positive = labels == 1
    pos, neg = int(positive.sum()), int((~positive).sum())
    if not pos or not neg:
        return float("nan")
    beaten = np.searchsorted(np.sort(scores[~positive]), scores[positive], side="right")
    return float(beaten.sum() / (pos * neg))


def average_precision(scores, labels):
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(place, weights=labels, minlength=len(counts))
    if not hits.sum():
        return float("nan")
    return float((hits / hits.sum() * (np.cumsum(hits) / np.cumsum(counts))).sum())


# %% mutant="classics_auc"
# 0.5 where a class is missing
# Without negatives, or without positives, there is no pair to rank, and the probability is not defined. The task asks for NaN.
def auc(scores, labels):
    positive = labels == 1
    pos, neg = int(positive.sum()), int((~positive).sum())
    if not pos or not neg:
        return 0.5
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return float((ranks[place][positive].sum() - pos * (pos + 1) / 2) / (pos * neg))


def average_precision(scores, labels):
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(place, weights=labels, minlength=len(counts))
    if not hits.sum():
        return float("nan")
    return float((hits / hits.sum() * (np.cumsum(hits) / np.cumsum(counts))).sum())


# %% mutant="classics_auc"
# One example after the other
# Examples with equal scores can't be told apart by a threshold, so they are accepted together. Here the order of the input decides which of them comes first.
def auc(scores, labels):
    positive = labels == 1
    pos, neg = int(positive.sum()), int((~positive).sum())
    if not pos or not neg:
        return float("nan")
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # of equal scores, the mean of their ranks, from 1
    return float((ranks[place][positive].sum() - pos * (pos + 1) / 2) / (pos * neg))


def average_precision(scores, labels):
    order = np.argsort(-scores, kind="stable")
    hits = labels[order]
    if not hits.sum():
        return float("nan")
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float((precision * hits).sum() / hits.sum())


# %% mutant="classics_auc"
# Precision made monotone
# That is VOC's variant, which takes the largest precision at any higher recall. The task asks for the precision at each score itself.
def auc(scores, labels):
    positive = labels == 1
    pos, neg = int(positive.sum()), int((~positive).sum())
    if not pos or not neg:
        return float("nan")
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # of equal scores, the mean of their ranks, from 1
    return float((ranks[place][positive].sum() - pos * (pos + 1) / 2) / (pos * neg))


def average_precision(scores, labels):
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(place, weights=labels, minlength=len(counts))
    if not hits.sum():
        return float("nan")
    precision = np.cumsum(hits) / np.cumsum(counts)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    return float((hits / hits.sum() * precision).sum())


# %% mutant="classics_auc"
# The trapezoids of the curve
# Between two thresholds there is no precision, so the curve is not interpolated: each recall step is multiplied by the precision at its end.
def auc(scores, labels):
    positive = labels == 1
    pos, neg = int(positive.sum()), int((~positive).sum())
    if not pos or not neg:
        return float("nan")
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # of equal scores, the mean of their ranks, from 1
    return float((ranks[place][positive].sum() - pos * (pos + 1) / 2) / (pos * neg))


def average_precision(scores, labels):
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(place, weights=labels, minlength=len(counts))
    if not hits.sum():
        return float("nan")
    precision = np.concatenate([[1.0], np.cumsum(hits) / np.cumsum(counts)])
    return float((hits / hits.sum() * (precision[1:] + precision[:-1]) / 2).sum())


# %% [markdown] exercise="classics_nms" kind="build" points=3
# ### Exercise 5 · IoU and non-maximum suppression
# A box is (left, top, right, bottom) with real coordinates. `iou` gives the area of the intersection divided by that of the union for each pair; it is 0 if the union has no
# area. `nms` visits the boxes from the highest score down, the lower index first where scores are equal. It keeps a box unless its IoU with a box *kept before*, of the *same class*,
# is *greater than* the threshold.


# %% solution="classics_nms"
def iou(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The IoU (N, M) of boxes `a` (N, 4) and `b` (M, 4)."""
    ### BEGIN SOLUTION
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    return np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)
    ### END SOLUTION


def nms(boxes: np.ndarray, scores: np.ndarray, classes: np.ndarray, threshold: float) -> list[int]:
    """The indices of the kept boxes in the order in which they were kept; `boxes` (N, 4), `scores` and `classes` (N,)."""
    ### BEGIN SOLUTION
    kept: list[int] = []
    overlap = iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        rivals = [each for each in kept if classes[each] == classes[index]]
        if not (overlap[index, rivals] > threshold).any():
            kept.append(index)
    return kept
    ### END SOLUTION


# %% check="classics_nms"
from unittest import mock

generator = check.rng()


def divide(a, b, out=None, where=True, **named):
    """`np.divide`, with 7 in memory that nobody has written yet."""
    if out is None and where is not True:
        out = np.full(np.broadcast_shapes(np.shape(a), np.shape(b)), 7.0)
    return np.true_divide(a, b, out=out, where=where, **named)


def boxes_at(centers, size=4.0):
    half = generator.uniform(0.6, 1.4, (len(centers), 2)) * size / 2
    return np.concatenate([centers - half, centers + half], 1)


a = boxes_at(generator.uniform(-6, 6, (5, 2)))
b = boxes_at(generator.uniform(-6, 6, (4, 2)))
edge = np.array(
    [[0.0, 0, 4, 4], [2, 0, 6, 4], [4, 4, 8, 8], [1, 1, 1, 1], [10, 10, 12, 11], [0, 0, 4, 0], [0.0, 0, 4, 4]]
)
crowd = boxes_at(np.repeat(generator.uniform(-20, 20, (5, 2)), 4, 0) + generator.normal(size=(20, 2)) * 0.8)
scores, kinds = np.round(generator.random(20), 1), generator.integers(0, 2, 20)
# Each overlaps the next by half: IoU 1/3. The first suppresses the second, which then can't suppress the third.
row = np.array([[0.0, 0, 4, 2], [2, 0, 6, 2], [4, 0, 8, 2], [6, 0, 10, 2]])
down = np.array([0.9, 0.8, 0.7, 0.6])
zero = np.zeros(4, int)
apart = 10 * np.arange(60)[:, None] + np.array([0.0, 0, 1, 1])
with mock.patch.object(np, "divide", divide):
    special = iou(edge, edge)
spread_out = np.array([[9.0, 9, 11, 11], [-12, -12, -10, -10], [18, 18, 20, 20], [-11, -11, -9, -9]])
check.show(
    {
        "IoU": iou(a, b),
        "of one box": iou(a[:1], b),
        "of special boxes": special,
        "of none": iou(a[:0], b).shape,
        "of tiny boxes": iou(1e-6 * a, 1e-6 * b),
        "kept": check.intact(nms, crowd, scores, kinds, 0.3),
        "a single box": nms(a[:1], down[:1], zero[:1], 0.3),
        "kept, one class": nms(crowd, scores, np.zeros(20, int), 0.3),
        "a row of boxes": nms(row, down, zero, 0.3),
        "a row, from the other end": nms(row, down[::-1], zero, 0.3),
        "exactly at the threshold": nms(np.array([[0.0, 0, 4, 1], [0, 0, 2, 1]]), down[:2], zero[:2], 0.5),
        "equal scores": nms(row[[0, 0, 1, 1]], np.ones(4), zero, 0.3),
        "three scores of 60 boxes that are apart": nms(apart, generator.integers(0, 3, 60) / 2, np.zeros(60, int), 0.3),
        "classes apart": nms(row[[0, 0, 0, 0]], down, np.array([0, 1, 0, 7]), 0.3),
        "nothing to keep": nms(a[:0], down[:0], zero[:0], 0.3),
        "negative coordinates": nms(spread_out, down, np.array([0, 1, 0, 1]), 0.3),
    },
    rtol=1e-6,
    atol=1e-9,
    text="Overlaps, and which boxes are kept in which order.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(N log N) for the sort and O(N²) for the overlaps; detectors keep the best thousand boxes per image before NMS.
#
# 1. *How do you do all classes at once?* "Shift each class's boxes by a multiple of something larger than any coordinate, so that boxes of different classes can't overlap. The
#    shift has to exceed the whole range, and it costs digits."
# 2. *What does soft-NMS change?* "It lowers the scores of overlapping boxes by exp(−IoU²/σ) instead of deleting them, so two people in front of each other both survive, if the lowered
#    score is still above the score threshold."
# 3. *What is wrong with IoU as a loss?* "Boxes that don't overlap have IoU 0 and no gradient. GIoU adds a term with the smallest box around both."
#
# </details>

# %% [markdown] hint="classics_nms"
# The intersection begins at the larger of the two left sides and ends at the smaller of the two right sides. What if it ends before it begins, in *both* directions?

# %% [markdown] hint="classics_nms"
# Broadcast `a[:, None]` against `b[None]`, clip width and height at 0 before you multiply them, and divide only where the union is positive. In `nms` compare each box with the kept
# ones alone.

# %% [markdown] hint="classics_nms"
# `np.argsort(-scores, kind="stable")` visits equal scores by index. For each, `rivals` are the kept boxes of its class; append it unless one of `overlap[index, rivals]`
# exceeds the threshold.


# %% mutant="classics_nms"
# Negative width times negative height
# If two boxes are apart in both directions, width and height are both negative and their product is positive. Clip each at 0 first.
def iou(a, b):
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip((high - low).prod(-1), 0, None)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    return np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)


def nms(boxes, scores, classes, threshold):
    kept = []
    overlap = iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        rivals = [each for each in kept if classes[each] == classes[index]]
        if not (overlap[index, rivals] > threshold).any():
            kept.append(index)
    return kept


# %% mutant="classics_nms"
# 0 divided by 0
# Two boxes without area have a union of 0, and 0/0 is NaN. The task asks for 0 there.
def iou(a, b):
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    with np.errstate(all="ignore"):
        return inside / union


def nms(boxes, scores, classes, threshold):
    kept = []
    overlap = iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        rivals = [each for each in kept if classes[each] == classes[index]]
        if not (overlap[index, rivals] > threshold).any():
            kept.append(index)
    return kept


# %% mutant="classics_nms"
# Memory that nobody wrote
# With `where` and without `out`, NumPy leaves the elements that it skips as they are in memory, which may be anything. Pass an `out` of zeros.
def iou(a, b):
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    return np.divide(inside, union, where=union > 0)


def nms(boxes, scores, classes, threshold):
    kept = []
    overlap = iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        rivals = [each for each in kept if classes[each] == classes[index]]
        if not (overlap[index, rivals] > threshold).any():
            kept.append(index)
    return kept


# %% mutant="classics_nms"
# The +1 of pixels
# Integer pixel boxes include their last row and column, hence the +1 in old code. These coordinates are real: a box from 1 to 1 has no area.
def iou(a, b):
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low + 1, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2] + 1).prod(-1)[:, None] + (b[:, 2:] - b[:, :2] + 1).prod(-1) - inside
    return inside / union


def nms(boxes, scores, classes, threshold):
    kept = []
    overlap = iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        rivals = [each for each in kept if classes[each] == classes[index]]
        if not (overlap[index, rivals] > threshold).any():
            kept.append(index)
    return kept


# %% mutant="classics_nms"
# The intersection is counted twice
# The sum of both areas counts the intersection twice, so it is subtracted once to give the union.
def iou(a, b):
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1)
    return np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)


def nms(boxes, scores, classes, threshold):
    kept = []
    overlap = iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        rivals = [each for each in kept if classes[each] == classes[index]]
        if not (overlap[index, rivals] > threshold).any():
            kept.append(index)
    return kept


# %% mutant="classics_nms"
# Suppressed boxes suppress
# A box that was suppressed is gone and can't suppress others. Only kept boxes count.
def iou(a, b):
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    return np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)


def nms(boxes, scores, classes, threshold):
    order = np.argsort(-scores, kind="stable")
    overlap = iou(boxes, boxes)
    kept = []
    for place, index in enumerate(order.tolist()):
        earlier = [each for each in order[:place].tolist() if classes[each] == classes[index]]
        if not (overlap[index, earlier] > threshold).any():
            kept.append(index)
    return kept


# %% mutant="classics_nms"
# All classes together
# A dog in front of a car overlaps it, and both are real. Only boxes of the same class compete.
def iou(a, b):
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    return np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)


def nms(boxes, scores, classes, threshold):
    kept = []
    overlap = iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        if not (overlap[index, kept] > threshold).any():
            kept.append(index)
    return kept


# %% mutant="classics_nms"
# At the threshold already
# A box is suppressed if its IoU is greater than the threshold, so an IoU of exactly 0.5 survives a threshold of 0.5.
def iou(a, b):
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    return np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)


def nms(boxes, scores, classes, threshold):
    kept = []
    overlap = iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        rivals = [each for each in kept if classes[each] == classes[index]]
        if not (overlap[index, rivals] >= threshold).any():
            kept.append(index)
    return kept


# %% mutant="classics_nms"
# Equal scores from the back
# Reversing an ascending sort also reverses equal scores, so the last of them comes first. Sort the negated scores with a stable sort.
def iou(a, b):
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    return np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)


def nms(boxes, scores, classes, threshold):
    kept = []
    overlap = iou(boxes, boxes)
    for index in np.argsort(scores, kind="stable")[::-1].tolist():
        rivals = [each for each in kept if classes[each] == classes[index]]
        if not (overlap[index, rivals] > threshold).any():
            kept.append(index)
    return kept


# %% mutant="classics_nms"
# An offset that is too small
# Shifting each class by the largest coordinate keeps classes apart only if no coordinate is negative. Shift by more than the whole range, or compare classes.
def iou(a, b):
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    return np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)


def nms(boxes, scores, classes, threshold):
    kept = []
    shifted = boxes + (classes * (boxes.max() + 1 if len(boxes) else 0))[:, None]
    overlap = iou(shifted, shifted)
    for index in np.argsort(-scores, kind="stable").tolist():
        if not (overlap[index, kept] > threshold).any():
            kept.append(index)
    return kept


# %% [markdown] exercise="classics_focal" kind="build" points=2
# ### Exercise 6 · Focal loss
# Focal loss multiplies the binary cross-entropy of each score by (1 − p)^γ, where p is the probability of the *correct* label, and by α for positives and 1 − α for
# negatives. Give the sum over all scores divided by the number of positives, or by 1 if there are none. Losses and gradients have to be right from −100 to 100, for γ = 0 and for γ of at least 1.


# %% solution="classics_focal"
def focal_loss(logits: torch.Tensor, labels: torch.Tensor, gamma: float, alpha: float) -> torch.Tensor:
    """The loss, a scalar, for `logits` of any shape and `labels` of 0.0 and 1.0 of the same shape."""
    ### BEGIN SOLUTION
    right, wrong = F.logsigmoid(logits * (2 * labels - 1)), F.logsigmoid(logits * (1 - 2 * labels))
    weight = alpha * labels + (1 - alpha) * (1 - labels)
    return -(weight * (gamma * wrong).exp() * right).sum() / labels.sum().clamp(min=1)
    ### END SOLUTION


# %% check="classics_focal"
generator = check.rng()
logits = torch.tensor(generator.normal(size=(4, 6)).astype("float32") * 2)
labels = torch.tensor((generator.random((4, 6)) < 0.3).astype("float32"))
labels[0, :2] = torch.tensor([0.0, 1.0])
labels[1, :2] = 1
extreme = torch.tensor([100.0, -100.0, 100.0, -100.0, 0.0])
sides = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0])


def tried(logits, *rest):
    logits = logits.clone().requires_grad_()
    loss = check.intact(focal_loss, logits, *rest)
    loss.backward()
    return loss, logits.grad


check.show(
    {
        "gamma 2, alpha 0.25": tried(logits, labels, 2.0, 0.25),
        "gamma 3, alpha 0.7": tried(logits, labels, 3.0, 0.7),
        "gamma 0": tried(logits, labels, 0.0, 0.25),
        "no positives": tried(logits, torch.zeros_like(labels), 2.0, 0.25),
        "from -100 to 100": tried(extreme, sides, 2.0, 0.25),
        "from -20 to 20, gamma 0.5": tried(extreme / 5, sides, 0.5, 0.25),
        "a batch of one score": tried(logits[1:2, :1], labels[1:2, :1], 2.0, 0.25),
        "one score": tried(logits[1, 1], labels[1, 1], 1.0, 0.4),
    },
    rtol=1e-4,
    atol=1e-6,
    text="Losses with their gradients.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(N) time and memory, a handful of elementwise operations that one kernel can fuse.
#
# 1. *Why divide by the positives?* "A detector has a hundred thousand easy negatives and a few objects. A mean over all of them would make the loss depend on how many
#    negatives there happen to be."
# 2. *What do you do about the first steps?* "I set the last bias so that every probability starts at 0.01. Otherwise the sum over all negatives swamps the training at once."
# 3. *Why is α = 0.25 the usual value, if positives are rare?* "Because γ = 2 has already silenced most negatives. The larger γ is, the smaller the best α."
# 4. *Isn't (1 − p)^γ just a weight?* "Its gradient counts too. If it is detached, the loss stays the same while the gradient changes."
#
# </details>

# %% [markdown] hint="classics_focal"
# 1 − p is the probability of the *wrong* label. For a positive that is the sigmoid of −logit. What is it for a negative?

# %% [markdown] hint="classics_focal"
# `F.binary_cross_entropy_with_logits(..., reduction="none")` is −log p, computed without overflow. Multiply the logit by 1 − 2·label, and its sigmoid is 1 − p.

# %% [markdown] hint="classics_focal"
# `wrong = (logits * (1 - 2 * labels)).sigmoid()`, `weight = alpha * labels + (1 - alpha) * (1 - labels)`, and the result is `(weight * wrong**gamma * entropy).sum()`
# divided by `labels.sum().clamp(min=1)`.


# %% mutant="classics_focal"
# The logarithm of a sigmoid
# The sigmoid of −100 rounds to 0 in float32 when it is subtracted from 1, and its logarithm is −∞. Take the cross-entropy from the logits.
def focal_loss(logits, labels, gamma, alpha):
    p = logits.sigmoid()
    p = labels * p + (1 - labels) * (1 - p)
    weight = alpha * labels + (1 - alpha) * (1 - labels)
    return (weight * (1 - p) ** gamma * -(p + 1e-12).log()).sum() / labels.sum().clamp(min=1)


# %% mutant="classics_focal"
# alpha on the negatives
# α multiplies the losses of positives and 1 − α those of negatives. Here it is the other way round.
def focal_loss(logits, labels, gamma, alpha):
    entropy = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    wrong = (logits * (1 - 2 * labels)).sigmoid()
    weight = (1 - alpha) * labels + alpha * (1 - labels)
    return (weight * wrong**gamma * entropy).sum() / labels.sum().clamp(min=1)


# %% mutant="classics_focal"
# alpha for both
# α is the weight of the positives, and 1 − α that of the negatives. Here α multiplies both, so it doesn't balance them.
def focal_loss(logits, labels, gamma, alpha):
    entropy = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    wrong = (logits * (1 - 2 * labels)).sigmoid()
    return (alpha * wrong**gamma * entropy).sum() / labels.sum().clamp(min=1)


# %% mutant="classics_focal"
# The factor has no gradient
# The loss is right, but (1 − p)^γ was detached, so its derivative is missing from the gradient.
def focal_loss(logits, labels, gamma, alpha):
    entropy = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    wrong = (logits * (1 - 2 * labels)).sigmoid().detach()
    weight = alpha * labels + (1 - alpha) * (1 - labels)
    return (weight * wrong**gamma * entropy).sum() / labels.sum().clamp(min=1)


# %% mutant="classics_focal"
# Divided by the number of scores
# The sum is divided by the number of positives. Divided by all scores, the loss falls as negatives are added.
def focal_loss(logits, labels, gamma, alpha):
    entropy = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    wrong = (logits * (1 - 2 * labels)).sigmoid()
    weight = alpha * labels + (1 - alpha) * (1 - labels)
    return (weight * wrong**gamma * entropy).mean()


# %% mutant="classics_focal"
# Weighs down what is wrong
# The factor is (1 − p)^γ. With p^γ the easy examples keep their loss and the hard ones lose theirs.
def focal_loss(logits, labels, gamma, alpha):
    entropy = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    right = (logits * (2 * labels - 1)).sigmoid()
    weight = alpha * labels + (1 - alpha) * (1 - labels)
    return (weight * right**gamma * entropy).sum() / labels.sum().clamp(min=1)


# %% mutant="classics_focal"
# 0 positives
# A batch without objects has no positives, and the loss is divided by 0. Divide by at least 1.
def focal_loss(logits, labels, gamma, alpha):
    entropy = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    wrong = (logits * (1 - 2 * labels)).sigmoid()
    weight = alpha * labels + (1 - alpha) * (1 - labels)
    return (weight * wrong**gamma * entropy).sum() / labels.sum()


# %% [markdown] exercise="classics_vit" kind="build" points=3
# ### Exercise 7 · A vision transformer's front end
# `patch_embed` cuts images into p × p patches, row by row, and projects each by a weight whose rows are laid out as a convolution's: channel, row, column. It puts the class token in
# front and adds the positions, of which the first is the class token's. `resize_positions` makes positions for another grid: the class token's stays, the others are interpolated
# bilinearly (`align_corners=False`). Images and grids need not be square.


# %% solution="classics_vit"
def patch_embed(
    images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, cls: torch.Tensor, positions: torch.Tensor
) -> torch.Tensor:
    """The tokens (B, 1 + rows·columns, C).

    `images` are (B, channels, H, W), `weight` (C, channels·p·p) with H and W multiples of p, `bias` and `cls` (C,), `positions` (1 + rows·columns, C).
    """
    ### BEGIN SOLUTION
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    patches = images.reshape(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 1, 3, 5)
    tokens = patches.reshape(batch, -1, channels * p * p) @ weight.T + bias
    return torch.cat([cls.expand(batch, 1, -1), tokens], 1) + positions
    ### END SOLUTION


def resize_positions(positions: torch.Tensor, old: tuple[int, int], new: tuple[int, int]) -> torch.Tensor:
    """Positions (1 + new rows·new columns, C) made of `positions` (1 + old rows·old columns, C), which get the gradient."""
    ### BEGIN SOLUTION
    grid = positions[1:].reshape(1, *old, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=new, mode="bilinear", align_corners=False)
    return torch.cat([positions[:1], grid.permute(0, 2, 3, 1).reshape(new[0] * new[1], -1)])
    ### END SOLUTION


# %% check="classics_vit"
generator = check.rng()


def drawn(*shape):
    return torch.tensor(generator.normal(size=shape).astype("float32"))


B, channels, p, C = 2, 3, 2, 5
images, weight, bias, cls = drawn(B, channels, 4, 6), drawn(C, channels * p * p), drawn(C), drawn(C)
positions = drawn(1 + 2 * 3, C)
larger = drawn(1, channels, 8, 6)
learnable = cls.clone().requires_grad_()
tokens = patch_embed(images, weight, bias, learnable, positions)
tokens.sum().backward()
convolved = F.conv2d(images, weight.reshape(C, channels, p, p), bias, stride=p).flatten(2).transpose(1, 2)
resized = resize_positions(positions, (2, 3), (4, 3))
trained = positions.clone().requires_grad_()
resize_positions(trained, (2, 3), (4, 3)).square().sum().backward()
check.show(
    {
        "tokens": tokens,
        "distance from a convolution": round(
            float((tokens[:, 1:] - positions[1:] - convolved).detach().abs().max()), 3
        ),
        "gradient of the class token": learnable.grad,
        "another patch size": patch_embed(drawn(1, 2, 3, 9), drawn(4, 18), drawn(4), drawn(4), drawn(4, 4)),
        "positions for another grid, and their gradient": [resized, trained.grad],
        "the same grid": resize_positions(positions, (2, 3), (2, 3)) - positions,
        "a grid of one": resize_positions(positions, (2, 3), (1, 1)),
        "from 13 × 3 to 15 × 5": resize_positions(drawn(1 + 13 * 3, 1), (13, 3), (15, 5)),
        "an image of another size": patch_embed(larger, weight, bias, cls, resized),
    },
    rtol=1e-4,
    atol=1e-5,
    text="Tokens, how far they are from those of a strided convolution, and positions.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** B·H·W·channels·C multiply-adds, whatever p is. The tokens, however, are H·W/p², so the attention that follows costs (H·W/p²)²: halving p makes it sixteen times as
# expensive.
#
# 1. *How is this a convolution?* "Stride and kernel are both p, so windows don't overlap and each patch is read once. Frameworks implement it that way."
# 2. *What is the class token for?* "It collects a summary by attention, and the classifier reads it alone. The mean of the patch tokens works about as well."
# 3. *You evaluate at a higher resolution. What changes?* "The grid of positions, which is interpolated as here, while the weights stay. The class token's position belongs to no place
#    and must not be among them."
#
# </details>

# %% [markdown] hint="classics_vit"
# Reshape (B, channels, H, W) to six dimensions, in which rows and columns are each split into the number of the patch and the place inside it. Which two have to come right after the batch?

# %% [markdown] hint="classics_vit"
# `images.reshape(B, channels, H // p, p, W // p, p).permute(0, 2, 4, 1, 3, 5)` has patch row, patch column, channel, row, column. p follows from the weight's width:
# channels·p².

# %% [markdown] hint="classics_vit"
# Flatten the patches to (B, rows·columns, channels·p·p), multiply by `weight.T`, add the bias, `torch.cat` with `cls.expand(B, 1, -1)`, add the positions. To resize, take `positions[1:]` as an image
# (1, C, rows, columns), `F.interpolate` it, and put `positions[:1]` back in front.


# %% mutant="classics_vit"
# Channels last inside a patch
# The weight's columns are laid out as channel, row, column. Here the channel comes last, so every weight meets another pixel.
def patch_embed(images, weight, bias, cls, positions):
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    patches = images.reshape(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 3, 5, 1)
    tokens = patches.reshape(batch, -1, channels * p * p) @ weight.T + bias
    return torch.cat([cls.expand(batch, 1, -1), tokens], 1) + positions


def resize_positions(positions, old, new):
    grid = positions[1:].reshape(1, *old, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=new, mode="bilinear", align_corners=False)
    return torch.cat([positions[:1], grid.permute(0, 2, 3, 1).reshape(new[0] * new[1], -1)])


# %% mutant="classics_vit"
# Patches column by column
# Patches are read row by row. Here the patch's column comes before its row, so on an image that isn't square they get each other's positions.
def patch_embed(images, weight, bias, cls, positions):
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    patches = images.reshape(batch, channels, height // p, p, width // p, p).permute(0, 4, 2, 1, 3, 5)
    tokens = patches.reshape(batch, -1, channels * p * p) @ weight.T + bias
    return torch.cat([cls.expand(batch, 1, -1), tokens], 1) + positions


def resize_positions(positions, old, new):
    grid = positions[1:].reshape(1, *old, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=new, mode="bilinear", align_corners=False)
    return torch.cat([positions[:1], grid.permute(0, 2, 3, 1).reshape(new[0] * new[1], -1)])


# %% mutant="classics_vit"
# A reshape without a permute
# Reshaping keeps the order of memory, so a "patch" is a piece of an image row. Rows and columns of patches have to be brought together first.
def patch_embed(images, weight, bias, cls, positions):
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    tokens = images.reshape(batch, height // p * (width // p), channels * p * p) @ weight.T + bias
    return torch.cat([cls.expand(batch, 1, -1), tokens], 1) + positions


def resize_positions(positions, old, new):
    grid = positions[1:].reshape(1, *old, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=new, mode="bilinear", align_corners=False)
    return torch.cat([positions[:1], grid.permute(0, 2, 3, 1).reshape(new[0] * new[1], -1)])


# %% mutant="classics_vit"
# The class token gets no position
# The first position belongs to the class token. Here the patches get the positions from the second on, and the class token none.
def patch_embed(images, weight, bias, cls, positions):
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    patches = images.reshape(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 1, 3, 5)
    tokens = patches.reshape(batch, -1, channels * p * p) @ weight.T + bias
    return torch.cat([cls.expand(batch, 1, -1), tokens + positions[1:]], 1)


def resize_positions(positions, old, new):
    grid = positions[1:].reshape(1, *old, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=new, mode="bilinear", align_corners=False)
    return torch.cat([positions[:1], grid.permute(0, 2, 3, 1).reshape(new[0] * new[1], -1)])


# %% mutant="classics_vit"
# The class token among the pixels
# The class token's position belongs to no place in the image. Interpolated with the others, it leaks into the first row and everything shifts by one.
def patch_embed(images, weight, bias, cls, positions):
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    patches = images.reshape(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 1, 3, 5)
    tokens = patches.reshape(batch, -1, channels * p * p) @ weight.T + bias
    return torch.cat([cls.expand(batch, 1, -1), tokens], 1) + positions


def resize_positions(positions, old, new):
    grid = positions[:-1].reshape(1, *old, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=new, mode="bilinear", align_corners=False)
    return torch.cat([grid.permute(0, 2, 3, 1).reshape(new[0] * new[1], -1), positions[-1:]])


# %% mutant="classics_vit"
# Rows for columns
# The old grid has old[0] rows. Read with rows and columns exchanged, its neighbours are no neighbours.
def patch_embed(images, weight, bias, cls, positions):
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    patches = images.reshape(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 1, 3, 5)
    tokens = patches.reshape(batch, -1, channels * p * p) @ weight.T + bias
    return torch.cat([cls.expand(batch, 1, -1), tokens], 1) + positions


def resize_positions(positions, old, new):
    grid = positions[1:].reshape(1, old[1], old[0], -1).permute(0, 3, 2, 1)
    grid = F.interpolate(grid, size=new, mode="bilinear", align_corners=False)
    return torch.cat([positions[:1], grid.permute(0, 2, 3, 1).reshape(new[0] * new[1], -1)])


# %% mutant="classics_vit"
# Corners aligned
# With `align_corners=True` the outermost positions stay where they are and the spacing between the others changes. The task asks for False.
def patch_embed(images, weight, bias, cls, positions):
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    patches = images.reshape(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 1, 3, 5)
    tokens = patches.reshape(batch, -1, channels * p * p) @ weight.T + bias
    return torch.cat([cls.expand(batch, 1, -1), tokens], 1) + positions


def resize_positions(positions, old, new):
    grid = positions[1:].reshape(1, *old, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=new, mode="bilinear", align_corners=True)
    return torch.cat([positions[:1], grid.permute(0, 2, 3, 1).reshape(new[0] * new[1], -1)])


# %% [markdown] exercise="classics_elbo" kind="build" points=3
# ### Exercise 8 · The ELBO of a variational autoencoder
# The encoder gives a mean and a *log-variance* for each latent. `sample` is the reparameterization with the given standard normal noise. `kl` is the KL divergence from
# N(mean, variance) to N(0, 1), summed over the latents of each example. `negative_elbo` is the mean over the batch of binary cross-entropy, summed over all pixels, plus β times the
# KL. Gradients have to reach the encoder through the noise.


# %% solution="classics_elbo"
def sample(mean: torch.Tensor, log_variance: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """The latents, of the shape of all three arguments (B, Z), which stay as they are."""
    ### BEGIN SOLUTION
    return mean + (0.5 * log_variance).exp() * noise
    ### END SOLUTION


def kl(mean: torch.Tensor, log_variance: torch.Tensor) -> torch.Tensor:
    """The KL divergence (B,) of each example, for (B, Z)."""
    ### BEGIN SOLUTION
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)
    ### END SOLUTION


def negative_elbo(
    images: torch.Tensor, logits: torch.Tensor, mean: torch.Tensor, log_variance: torch.Tensor, beta: float = 1.0
) -> torch.Tensor:
    """The loss, a scalar. `images` (B, H, W) have values from 0 to 1, and `logits` (B, H, W) are the decoder's."""
    ### BEGIN SOLUTION
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).sum(1)
    return (pixels + beta * kl(mean, log_variance)).mean()
    ### END SOLUTION


# %% check="classics_elbo"
generator = check.rng()


def normals(*shape, scale=1.0):
    return torch.tensor((generator.normal(size=shape) * scale).astype("float32"))


B, Z = 3, 4
mean, log_variance = normals(B, Z).requires_grad_(), normals(B, Z).requires_grad_()
noise, images, weight = normals(B, Z), torch.tensor(generator.random((B, 5, 2)).astype("float32")), normals(Z, 10)
before = noise.clone()
latents = sample(mean, log_variance, noise)
loss = negative_elbo(images, (latents @ weight).reshape(B, 5, 2), mean, log_variance)
loss.backward()
weighted = negative_elbo(images, normals(B, 5, 2), mean, log_variance, 4.0)
of_weighted = torch.autograd.grad(weighted, [mean, log_variance], allow_unused=True)
many = normals(1, 1).expand(40_000, 1), normals(1, 1).expand(40_000, 1)
drawn_latents = sample(*many, normals(40_000, 1))
ratio = (
    torch.distributions.Normal(many[0], (0.5 * many[1]).exp()).log_prob(drawn_latents)
    + 0.5 * drawn_latents**2
    + 0.91894
)
check.show(
    {
        "latents": latents,
        "the noise is as it was": torch.equal(noise, before),
        "latents of log-variances from -16 to 8": sample(
            torch.zeros(1, 3), torch.tensor([[-16.0, -12.0, 8.0]]), torch.ones(1, 3)
        ),
        "KL": kl(mean, log_variance),
        "KL of the prior itself": kl(torch.zeros(2, 3), torch.zeros(2, 3)),
        "KL of a log-variance of -80": kl(torch.zeros(1, 1), torch.tensor([[-80.0]])),
        "loss": loss,
        "loss with beta 4, and gradients": [weighted, *of_weighted],
        "loss of one image": negative_elbo(images[:1], images[:1] - 0.3, mean[:1], log_variance[:1]),
        "loss at 200": negative_elbo(images.round(), (images.round() * 2 - 1) * -200, mean * 0, log_variance * 0),
        "gradient of the mean": mean.grad,
        "gradient of the log-variance": log_variance.grad,
        "an estimate agrees with the KL": bool((ratio.mean() - kl(*many)[0]).abs() < 0.05 + 0.05 * kl(*many)[0]),
    },
    rtol=1e-4,
    atol=1e-5,
    text="Latents, KL, losses and gradients.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(B·(pixels + Z)) beside encoder and decoder; one sample per image is enough, because the batch averages the noise.
#
# 1. *Why the log-variance?* "The network may output any number, the variance stays positive, and the KL needs the logarithm anyway."
# 2. *Why not sample from the distribution directly?* "Sampling has no derivative. Written as mean + σ·noise, the randomness doesn't depend on the parameters, so the gradient
#    passes."
# 3. *The KL goes to 0 and the decoder ignores the latents. What now?* "Posterior collapse. I warm β up from 0, leave each latent some free bits, or weaken the decoder."
#
# </details>

# %% [markdown] hint="classics_elbo"
# The standard deviation is the square root of the variance. What is that in terms of the log-variance?

# %% [markdown] hint="classics_elbo"
# For one latent the KL is ½(μ² + σ² − 1 − log σ²). Sum it over the latents and the cross-entropy over the pixels, so that both are in nats per image, and average over images only at
# the end.

# %% [markdown] hint="classics_elbo"
# `mean + (0.5 * log_variance).exp() * noise`; `0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)`; and
# `F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).sum(1)`.


# %% mutant="classics_elbo"
# The variance for the standard deviation
# exp(log-variance) is the variance. The noise is multiplied by the standard deviation, exp(½ log-variance).
def sample(mean, log_variance, noise):
    return mean + log_variance.exp() * noise


def kl(mean, log_variance):
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).sum(1)
    return (pixels + beta * kl(mean, log_variance)).mean()


# %% mutant="classics_elbo"
# The log-variance gets no gradient
# The latents are right, but the scale was detached, so the encoder never learns how much noise it may add.
def sample(mean, log_variance, noise):
    return mean + (0.5 * log_variance).exp().detach() * noise


def kl(mean, log_variance):
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).sum(1)
    return (pixels + beta * kl(mean, log_variance)).mean()


# %% mutant="classics_elbo"
# The mean over the latents
# The KL of independent latents is the sum of their KLs. With a mean, the weight of the KL falls as latents are added.
def sample(mean, log_variance, noise):
    return mean + (0.5 * log_variance).exp() * noise


def kl(mean, log_variance):
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).mean(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).sum(1)
    return (pixels + beta * kl(mean, log_variance)).mean()


# %% mutant="classics_elbo"
# The divergence in the other direction
# That is the KL from N(0, 1) to the posterior. The ELBO has the KL from the posterior to the prior.
def sample(mean, log_variance, noise):
    return mean + (0.5 * log_variance).exp() * noise


def kl(mean, log_variance):
    return 0.5 * ((1 + mean**2) * (-log_variance).exp() - 1 + log_variance).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).sum(1)
    return (pixels + beta * kl(mean, log_variance)).mean()


# %% mutant="classics_elbo"
# The log-variance taken for a log of the standard deviation
# exp(2·log-variance) is the square of the variance. The encoder's output is already the logarithm of σ².
def sample(mean, log_variance, noise):
    return mean + (0.5 * log_variance).exp() * noise


def kl(mean, log_variance):
    return 0.5 * (mean**2 + (2 * log_variance).exp() - 1 - 2 * log_variance).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).sum(1)
    return (pixels + beta * kl(mean, log_variance)).mean()


# %% mutant="classics_elbo"
# Pixels averaged, latents summed
# The reconstruction is the log-likelihood of the whole image, a sum over its pixels. With their mean, the KL weighs as many times too much as there are pixels.
def sample(mean, log_variance, noise):
    return mean + (0.5 * log_variance).exp() * noise


def kl(mean, log_variance):
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).mean(1)
    return (pixels + beta * kl(mean, log_variance)).mean()


# %% mutant="classics_elbo"
# The sum over the batch
# Images are averaged, so that the learning rate doesn't depend on the batch size.
def sample(mean, log_variance, noise):
    return mean + (0.5 * log_variance).exp() * noise


def kl(mean, log_variance):
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).sum(1)
    return (pixels + beta * kl(mean, log_variance)).sum()


# %% mutant="classics_elbo"
# The ELBO itself
# A loss is minimized, so the KL is added to the cross-entropy. Here it is subtracted, which rewards a posterior that is far from the prior.
def sample(mean, log_variance, noise):
    return mean + (0.5 * log_variance).exp() * noise


def kl(mean, log_variance):
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).sum(1)
    return (pixels - beta * kl(mean, log_variance)).mean()


# %% [markdown] exercise="classics_split" kind="build" points=3 minutes=18
# ### Exercise 9 · The best split of a decision tree
# `best_split` finds the feature and the threshold with the largest gain: the parent's Gini impurity minus the children's, weighted by their shares of the rows. Rows with a value *at most* the
# threshold go left. Thresholds are the midpoints between neighbouring *distinct* values of a feature; of equal gains (to 1e-12) the lower feature wins, then the lower threshold. There may be
# 50,000 rows, so each feature is sorted once and the counts are updated along the way.


# %% solution="classics_split"
def best_split(x: np.ndarray, labels: np.ndarray, classes: int) -> tuple[int, float, float]:
    """The feature, the threshold and the gain; (-1, nan, 0.0) if no threshold has a positive gain.

    `x` is (N, D), and `labels` (N,) are integers below `classes`.
    """
    ### BEGIN SOLUTION

    def impurity(counts):
        return 1 - ((counts / counts.sum(-1, keepdims=True)) ** 2).sum(-1)

    best = (-1, float("nan"), 0.0)
    total = np.bincount(labels, minlength=classes)
    size = len(labels)
    for feature in range(x.shape[1]):
        order = np.argsort(x[:, feature], kind="stable")
        values = x[order, feature]
        cuts = np.flatnonzero(values[1:] > values[:-1]) + 1  # how many rows go left
        if not len(cuts):
            continue
        left = np.cumsum(np.eye(classes)[labels[order]], axis=0)[cuts - 1]
        gains = impurity(total) - (cuts * impurity(left) + (size - cuts) * impurity(total - left)) / size
        first = int(np.argmax(gains > gains.max() - 1e-12))
        if gains[first] > best[2] + 1e-12:
            cut = cuts[first]
            best = (feature, float((values[cut - 1] + values[cut]) / 2), float(gains[first]))
    return best
    ### END SOLUTION


# %% check="classics_split"
generator = check.rng()
N = 60
x = np.round(generator.normal(size=(N, 3)), 1)
labels = (x[:, 1] > 0.25).astype(int) + (generator.random(N) < 0.2)
rows = np.arange(50_000)
large = np.round(rows[:, None] * (np.array([0.6, 0.4]) + generator.random(2) / 10) % 1, 4)
noisy = ((large[:, 1] > 0.37) ^ (rows % 11 == 0)).astype(int)
stairs = np.array([[0.0, 1], [0, 2], [1, 3], [1, 4], [2, 5], [2, 6]])
almost = large[:, [1, 1]]
almost[5, 0] = 0.0 if almost[5, 0] > 0.37 else 0.9
shared = np.array([[0.0, 1, 1, 0, 1, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0, 1, 1]]).T  # the same gain, but for rounding
times = 1.7e9 + generator.permutation(25)[:, None]  # seconds since 1970
small = [(generator.integers(0, 3, (8, 3)).astype(float), generator.integers(0, 3, 8)) for _ in range(200)]
feature, second, gain = best_split(times, (times[:, 0] > times[3, 0]).astype(int), 2)
check.show(
    {
        "three classes": best_split(x, labels, 3),
        "timestamps, and the threshold's second": (feature, second - 1.7e9, gain),
        "two classes, equal values": best_split(x[:, :2], (labels > 0).astype(int), 2),
        "a perfect split": best_split(stairs, np.array([0, 0, 1, 1, 1, 1]), 2),
        "the last row apart": best_split(stairs, np.array([0, 0, 0, 0, 0, 1]), 2),
        "equal gains": best_split(np.array([[1.0, 5], [2, 6], [3, 7]]), np.array([0, 1, 0]), 2),
        "equal gains of three classes": best_split(shared, np.repeat([0, 1, 2], 3), 3),
        "small integers": [best_split(*each, 3) for each in small],
        "values 10⁻¹⁰ apart": best_split(np.array([[0.0], [1e-10], [1]]), np.array([0, 1, 1]), 2),
        "the same feature twice": best_split(stairs[:, [1, 1]], np.array([1, 1, 0, 0, 2, 2]), 3),
        "equal rows": best_split(np.ones((5, 2)), np.array([0, 1, 0, 1, 1]), 2),
        "one class": [best_split(stairs, np.zeros(6, int), classes) for classes in (1, 2)],
        "nothing to gain": best_split(np.array([[0.0], [0], [1], [1]]), np.array([0, 1, 0, 1]), 2),
        "a class that is not there": best_split(stairs, np.array([0, 0, 3, 3, 3, 3]), 5),
        "50,000 rows": best_split(large, noisy, 2),
        "one row of 50,000 makes the difference": best_split(almost, noisy, 2),
    },
    rtol=1e-6,
    atol=1e-9,
    text="Feature, threshold and gain.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(D·N·(log N + classes)) time, O(N·classes) memory; recounting for each threshold takes O(D·N²).
#
# 1. *How do libraries make it faster?* "They put each feature into 255 bins once. A split is then a pass over a histogram, and a child's histogram is the parent's minus its
#    sibling's."
# 2. *And for regression?* "The impurity is the variance, which running sums of y and y² give for every threshold."
# 3. *Why a forest?* "A deep tree has little bias and much variance. Averaging trees grown on resampled rows and random features lowers the variance."
#
# </details>

# %% [markdown] hint="classics_split"
# Sort the labels by the feature. How do the class counts on the left change when the threshold moves past one more row?

# %% [markdown] hint="classics_split"
# A cumulative sum over one-hot labels gives the left counts after each row, and the total minus these the right ones. A threshold is possible only where the sorted value changes.

# %% [markdown] hint="classics_split"
# `cuts = np.flatnonzero(values[1:] > values[:-1]) + 1` rows go left, with `left = np.cumsum(np.eye(classes)[labels[order]], axis=0)[cuts - 1]`. The gain is
# `impurity(total) - (cuts * impurity(left) + (N - cuts) * impurity(total - left)) / N`.


# %% mutant="classics_split"
# Between equal values
# Rows with the same value can't be separated: all of them are at most the threshold. Only where the sorted value changes is there a threshold.
def best_split(x, labels, classes):
    def impurity(counts):
        return 1 - ((counts / np.maximum(counts.sum(-1, keepdims=True), 1)) ** 2).sum(-1)

    best, total, size = (-1, float("nan"), 0.0), np.bincount(labels, minlength=classes), len(labels)
    for feature in range(x.shape[1]):
        order = np.argsort(x[:, feature], kind="stable")
        values, cuts = x[order, feature], np.arange(1, size)
        left = np.cumsum(np.eye(classes)[labels[order]], axis=0)[cuts - 1]
        gains = impurity(total) - (cuts * impurity(left) + (size - cuts) * impurity(total - left)) / size
        first = int(np.argmax(gains > gains.max() - 1e-12))
        if gains[first] > best[2] + 1e-12:
            cut = cuts[first]
            best = (feature, float((values[cut - 1] + values[cut]) / 2), float(gains[first]))
    return best


# %% mutant="classics_split"
# Children that aren't weighted
# A child's impurity counts in proportion to its rows. With a plain mean, splitting off a single pure row looks excellent.
def best_split(x, labels, classes):
    def impurity(counts):
        return 1 - ((counts / counts.sum(-1, keepdims=True)) ** 2).sum(-1)

    best, total = (-1, float("nan"), 0.0), np.bincount(labels, minlength=classes)
    for feature in range(x.shape[1]):
        order = np.argsort(x[:, feature], kind="stable")
        values = x[order, feature]
        cuts = np.flatnonzero(values[1:] > values[:-1]) + 1
        if not len(cuts):
            continue
        left = np.cumsum(np.eye(classes)[labels[order]], axis=0)[cuts - 1]
        gains = impurity(total) - (impurity(left) + impurity(total - left)) / 2
        first = int(np.argmax(gains > gains.max() - 1e-12))
        if gains[first] > best[2] + 1e-12:
            cut = cuts[first]
            best = (feature, float((values[cut - 1] + values[cut]) / 2), float(gains[first]))
    return best


# %% mutant="classics_split"
# The value itself as the threshold
# The threshold lies half-way to the next larger value. At the value itself the training rows go the same way, but new rows just above it don't.
def best_split(x, labels, classes):
    def impurity(counts):
        return 1 - ((counts / counts.sum(-1, keepdims=True)) ** 2).sum(-1)

    best, total, size = (-1, float("nan"), 0.0), np.bincount(labels, minlength=classes), len(labels)
    for feature in range(x.shape[1]):
        order = np.argsort(x[:, feature], kind="stable")
        values = x[order, feature]
        cuts = np.flatnonzero(values[1:] > values[:-1]) + 1
        if not len(cuts):
            continue
        left = np.cumsum(np.eye(classes)[labels[order]], axis=0)[cuts - 1]
        gains = impurity(total) - (cuts * impurity(left) + (size - cuts) * impurity(total - left)) / size
        first = int(np.argmax(gains > gains.max() - 1e-12))
        if gains[first] > best[2] + 1e-12:
            best = (feature, float(values[cuts[first] - 1]), float(gains[first]))
    return best


# %% mutant="classics_split"
# Entropy
# That is the information gain, with Shannon's entropy. The task asks for Gini impurity, 1 − Σ p².
def best_split(x, labels, classes):
    def impurity(counts):
        p = counts / counts.sum(-1, keepdims=True)
        return -(p * np.log2(np.where(p > 0, p, 1))).sum(-1)

    best, total, size = (-1, float("nan"), 0.0), np.bincount(labels, minlength=classes), len(labels)
    for feature in range(x.shape[1]):
        order = np.argsort(x[:, feature], kind="stable")
        values = x[order, feature]
        cuts = np.flatnonzero(values[1:] > values[:-1]) + 1
        if not len(cuts):
            continue
        left = np.cumsum(np.eye(classes)[labels[order]], axis=0)[cuts - 1]
        gains = impurity(total) - (cuts * impurity(left) + (size - cuts) * impurity(total - left)) / size
        first = int(np.argmax(gains > gains.max() - 1e-12))
        if gains[first] > best[2] + 1e-12:
            cut = cuts[first]
            best = (feature, float((values[cut - 1] + values[cut]) / 2), float(gains[first]))
    return best


# %% mutant="classics_split"
# The last of equal gains
# Of equal gains the lower feature and the lower threshold win. Here each equal gain replaces the one before.
def best_split(x, labels, classes):
    def impurity(counts):
        return 1 - ((counts / counts.sum(-1, keepdims=True)) ** 2).sum(-1)

    best, total, size = (-1, float("nan"), 0.0), np.bincount(labels, minlength=classes), len(labels)
    for feature in range(x.shape[1]):
        order = np.argsort(x[:, feature], kind="stable")
        values = x[order, feature]
        cuts = np.flatnonzero(values[1:] > values[:-1]) + 1
        if not len(cuts):
            continue
        left = np.cumsum(np.eye(classes)[labels[order]], axis=0)[cuts - 1]
        gains = impurity(total) - (cuts * impurity(left) + (size - cuts) * impurity(total - left)) / size
        last = len(gains) - 1 - int(np.argmax((gains > gains.max() - 1e-12)[::-1]))
        if gains[last] > 1e-12 and gains[last] > best[2] - 1e-12:
            cut = cuts[last]
            best = (feature, float((values[cut - 1] + values[cut]) / 2), float(gains[last]))
    return best


# %% [markdown] exercise="classics_four_bits" kind="build" points=3
# ### Exercise 10 · Four bits, and merging LoRA into them
# `quantize` flattens `x` row by row and cuts it into blocks of `block` values, the last of which may be shorter. Each block is divided by its largest absolute value, and
# each quotient becomes the index of the nearest value of `codebook` (of equally near ones the lower index); in a block of zeros, the quotients are 0. Two indices share a byte, the first in its upper four
# bits; if their number is odd, the last byte's lower four bits are 0. `dequantize` undoes this, up to the rounding. `merge` quantizes the weight plus the LoRA update `scale · b a`, given the quantized weight.


# %% setup=true
# The sixteen values of NF4: quantiles of a normal distribution, scaled to [-1, 1], with an exact 0
below = [-1.0, -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911]
above = [0.0, 0.0796, 0.1609, 0.2461, 0.3379, 0.4407, 0.5626, 0.7230, 1.0]
NF4 = np.array(below + above)


# %% solution="classics_four_bits"
def quantize(x: np.ndarray, codebook: np.ndarray, block: int) -> tuple[np.ndarray, np.ndarray]:
    """The packed indices (uint8) and the scale of each block, for float64 `x` (O, I) and the sorted `codebook` (16,)."""
    ### BEGIN SOLUTION
    blocks = np.pad(x.reshape(-1), (0, -x.size % block)).reshape(-1, block)
    absmax = np.abs(blocks).max(1)
    quotients = blocks / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(-1)[: x.size]
    codes = np.pad(codes, (0, x.size % 2))
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8), absmax
    ### END SOLUTION


def dequantize(
    packed: np.ndarray, absmax: np.ndarray, codebook: np.ndarray, block: int, shape: tuple[int, int]
) -> np.ndarray:
    """The values of the indices times their block's scale, of the given shape (O, I)."""
    ### BEGIN SOLUTION
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)
    ### END SOLUTION


def merge(
    packed: np.ndarray, absmax: np.ndarray, codebook: np.ndarray, block: int, a: np.ndarray, b: np.ndarray, scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """What `quantize` returns for the merged weight (O, I); `a` is (R, I) and `b` (O, R)."""
    ### BEGIN SOLUTION
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + scale * b @ a, codebook, block)
    ### END SOLUTION


# %% check="classics_four_bits"
generator = check.rng()
x = generator.normal(size=(5, 7))
x.reshape(-1)[8:16] = 0
a, b = generator.normal(size=(2, 7)), generator.normal(size=(5, 2))
other = np.sort(generator.uniform(-1, 1, 16))
packed, absmax = quantize(x, NF4, 8)
even = np.array([[-16.0, -7, 3], [5, 14, 1]])  # half-way between two values of a codebook of eighths
codes = np.array([0x1F, 0x70, 0xA2, 0x3C], np.uint8)
scales = generator.uniform(1, 2, 3)
check.show(
    {
        "quantized": (packed, absmax),
        "bytes": packed.nbytes,
        "another codebook": quantize(x[:3, :4], other, 5),
        "one value": quantize(x[:1, :1], NF4, 64),
        "blocks of one value": quantize(x, NF4, 1),
        "one value, dequantized in a block of one": dequantize(packed[:1], scales[:1], NF4, 1, (1, 1)),
        "one value, merged in a block of one": merge(packed[:1], scales[:1], NF4, 1, a[:1, :1], b[:1, :1], 0.1),
        "a transposed matrix": quantize(x.T, NF4, 8),
        "negative values": quantize(-np.abs(x), NF4, 6),
        "equally near": quantize(even, np.arange(-8, 8) / 8, 8),
        "dequantized": dequantize(packed, absmax, NF4, 8, (5, 7)),
        "other indices, dequantized": dequantize(codes, scales, other, 3, (7, 1)),
        "merged": merge(packed, absmax, NF4, 8, a, b, 1.5),
        "a large update": merge(packed, absmax, NF4, 8, a, 50 * b, 0.25),
        "an update of zero": merge(packed, absmax, NF4, 8, a, 0 * b, 1.5),
        "another codebook, merged": merge(*quantize(x, other, 4), other, 4, a, b, -0.5),
    },
    rtol=1e-6,
    atol=1e-9,
    text="Packed indices with the blocks' scales, and dequantized weights.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** 16·N comparisons; the temporary array takes 16·N numbers as written, and N if the sixteen values are compared one after the other. A weight takes 4 + 32/block bits, which is 4.5 for blocks of 64.
#
# 1. *Why quantiles of a normal distribution?* "Trained weights are roughly normal. With quantiles, the sixteen values are used more evenly than evenly spaced ones, which waste codes on the tails. Not equally,
#    though, because dividing by a block's largest value makes the block non-normal: in blocks of 64 normal weights, a value of NF4 has from under 2 % to over 9 % of the weights."
# 2. *What is double quantization?* "The scales are quantized as well, to 8 bits in groups of 256. A weight then takes 4 + 8/64 + 32/(64·256) bits, about 4.13 instead of 4.5."
# 3. *Is the merged model the one that you trained?* "Not exactly, because the sum is rounded to four bits again. An update that is smaller than half a step may vanish,
#    so I dequantize the base to 16 bits and merge there, or serve the adapter beside the base. The original 16-bit weights aren't what the adapter was trained on."
#
# </details>

# %% [markdown] hint="classics_four_bits"
# Zeros at the end make the last block as long as the others, and can't change its largest absolute value. What may a block of zeros be divided by?

# %% [markdown] hint="classics_four_bits"
# Reshape the padded values to (blocks, block). The distances to all sixteen values have one dimension more, and `argmin` over it gives the indices. Remove the padding before you pack pairs
# with `first << 4 | second`. `merge` is `dequantize`, an addition and `quantize`, so that the blocks get new scales.

# %% [markdown] hint="classics_four_bits"
# `codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(-1)[: x.size]`, padded by `x.size % 2`, and `(codes[0::2] << 4 | codes[1::2]).astype(np.uint8)`. Back:
# `np.stack([packed >> 4, packed & 15], 1).reshape(-1)`, cut to the size, and scales from `np.repeat(absmax, block)`.


# %% mutant="classics_four_bits"
# A block of zeros divided by 0
# 0/0 is NaN, and `argmin` of NaNs is 0, the index of the codebook's first value, not of its 0.
def quantize(x, codebook, block):
    blocks = np.pad(x.reshape(-1), (0, -x.size % block)).reshape(-1, block)
    absmax = np.abs(blocks).max(1)
    with np.errstate(all="ignore"):
        quotients = blocks / absmax[:, None]
    codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(-1)[: x.size]
    codes = np.pad(codes, (0, x.size % 2))
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + scale * b @ a, codebook, block)


# %% mutant="classics_four_bits"
# The nibbles in the other order
# The first index of a pair belongs into the upper four bits. Packing and unpacking agree here, but other programs would read the weights in pairs swapped.
def quantize(x, codebook, block):
    blocks = np.pad(x.reshape(-1), (0, -x.size % block)).reshape(-1, block)
    absmax = np.abs(blocks).max(1)
    quotients = blocks / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(-1)[: x.size]
    codes = np.pad(codes, (0, x.size % 2))
    return (codes[1::2] << 4 | codes[0::2]).astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + scale * b @ a, codebook, block)


# %% mutant="classics_four_bits"
# The largest value, not the largest absolute one
# A block's scale is its largest absolute value. If the largest magnitude is negative, quotients fall below −1 and are clipped.
def quantize(x, codebook, block):
    blocks = np.pad(x.reshape(-1), (0, -x.size % block)).reshape(-1, block)
    absmax = blocks.max(1)
    quotients = blocks / np.where(absmax != 0, absmax, 1)[:, None]
    codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(-1)[: x.size]
    codes = np.pad(codes, (0, x.size % 2))
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + scale * b @ a, codebook, block)


# %% mutant="classics_four_bits"
# The scales from before the merge
# The update makes values larger than their block's old scale, and these are clipped to it. The blocks of the merged weight need new scales.
def quantize(x, codebook, block):
    blocks = np.pad(x.reshape(-1), (0, -x.size % block)).reshape(-1, block)
    absmax = np.abs(blocks).max(1)
    quotients = blocks / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(-1)[: x.size]
    codes = np.pad(codes, (0, x.size % 2))
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1])) + scale * b @ a
    blocks = np.pad(weight.reshape(-1), (0, -weight.size % block)).reshape(-1, block)
    quotients = blocks / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(-1)[: weight.size]
    codes = np.pad(codes, (0, weight.size % 2))
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8), absmax


# %% mutant="classics_four_bits"
# Adds indices
# An index is a place in the codebook, whose steps are unequal, and each block has a scale of its own. Indices can't be added: dequantize, add, quantize again.
def quantize(x, codebook, block):
    blocks = np.pad(x.reshape(-1), (0, -x.size % block)).reshape(-1, block)
    absmax = np.abs(blocks).max(1)
    quotients = blocks / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(-1)[: x.size]
    codes = np.pad(codes, (0, x.size % 2))
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    update, scales = quantize(scale * b @ a, codebook, block)
    first, second = (packed >> 4) + (update >> 4) - 7, (packed & 15) + (update & 15) - 7
    codes = [np.clip(each.astype(np.int8), 0, 15).astype(np.uint8) for each in (first, second)]
    return codes[0] << 4 | codes[1], absmax + scales


# %% mutant="classics_four_bits"
# The scale of the update left out
# The update is `scale · b a`, where LoRA's scale is α/r.
def quantize(x, codebook, block):
    blocks = np.pad(x.reshape(-1), (0, -x.size % block)).reshape(-1, block)
    absmax = np.abs(blocks).max(1)
    quotients = blocks / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(-1)[: x.size]
    codes = np.pad(codes, (0, x.size % 2))
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + b @ a, codebook, block)


# %% mutant="classics_four_bits"
# Rounds down
# `searchsorted` finds the value of the codebook below or at the quotient. The nearest one may be the next above it.
def quantize(x, codebook, block):
    blocks = np.pad(x.reshape(-1), (0, -x.size % block)).reshape(-1, block)
    absmax = np.abs(blocks).max(1)
    quotients = blocks / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.clip(np.searchsorted(codebook, quotients, side="right") - 1, 0, 15).reshape(-1)[: x.size]
    codes = np.pad(codes, (0, x.size % 2))
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + scale * b @ a, codebook, block)


# %% mutant="classics_four_bits"
# Blocks that begin anew in each row
# Blocks run through the flattened weight, across the ends of rows. Here each row begins a block.
def quantize(x, codebook, block):
    rows = np.pad(x, ((0, 0), (0, -x.shape[1] % block)))
    blocks = rows.reshape(-1, block)
    absmax = np.abs(blocks).max(1)
    quotients = blocks / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(rows.shape)[:, : x.shape[1]].reshape(-1)
    codes = np.pad(codes, (0, x.size % 2))
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: shape[0] * shape[1]]
    scales = np.repeat(absmax, block)
    if scales.size % shape[0] == 0 and scales.size // shape[0] >= shape[1]:
        scales = scales.reshape(shape[0], -1)[:, : shape[1]]
    return codebook[codes].reshape(shape) * scales.reshape(-1)[: len(codes)].reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + scale * b @ a, codebook, block)


# %% [markdown] exercise="classics_knn" kind="build" points=3
# ### Exercise 11 · k nearest neighbours in tiles
# `knn` finds the k training points that are nearest to each query by Euclidean distance, from near to far, of equally far ones the lower index first. A query's label is the one that most of
# its neighbours have; of labels with equally many votes, the one whose nearest neighbour comes first. Work on `tile` queries at a time, so that memory never holds more than
# a few times tile·N·D numbers. Points may lie far from the origin (at 10⁸, a distance of 1 apart), and a query that equals a training point has this point as a neighbour.


# %% setup=true
import tracemalloc


def peak_of(call):
    """The most bytes that a call holds at once."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# %% solution="classics_knn"
def knn(train: np.ndarray, labels: np.ndarray, queries: np.ndarray, k: int, tile: int) -> tuple[np.ndarray, np.ndarray]:
    """The neighbours' indices (Q, k) and the labels (Q,) of `queries` (Q, D).

    `train` is (N, D), N ≥ k, and `labels` (N,) are integers, which may be negative.
    """
    ### BEGIN SOLUTION
    near, chosen = np.empty((len(queries), k), int), np.empty(len(queries), labels.dtype)
    for start in range(0, len(queries), tile):
        squared = ((queries[start : start + tile, None] - train) ** 2).sum(-1)
        farthest = np.partition(squared, k - 1, axis=1)[:, k - 1]
        for row, distances in enumerate(squared, start):
            candidates = np.flatnonzero(distances <= farthest[row - start])
            near[row] = candidates[np.argsort(distances[candidates], kind="stable")][:k]
            votes = labels[near[row]]
            chosen[row] = votes[(votes[:, None] == votes).sum(1).argmax()]
    return near, chosen
    ### END SOLUTION


# %% check="classics_knn"
generator = check.rng()
N, Q = 30, 11
train, queries = generator.normal(size=(N, 3)), generator.normal(size=(Q, 3))
labels = generator.integers(-1, 3, N)
grid = generator.integers(0, 4, (N, 2)).astype(float)  # many equal distances
many = np.arange(600)[:, None] * np.array([0.618034, 0.414214]) % 1
line = np.array([[0.0], [1], [2], [3], [4], [5]])
vote = np.array([2, 0, 0, 2, 1, 1])
check.show(
    {
        "tiles of 4": knn(train, labels, queries, 5, 4),
        "tiles of 1": knn(train, labels, queries[:3], 4, 1),
        "a tile larger than the queries": knn(train, labels, queries[:4], 1, 100),
        "all points are neighbours": knn(train[:7], labels[:7], queries[:5], 7, 2),
        "equal distances": knn(grid, labels, grid[:9] + np.array([0.5, 0.0]), 6, 4),
        "queries from the training set": knn(grid, labels, grid[:7], 3, 3),
        "equal votes": knn(line, vote, np.array([[-1.0], [1.2], [2.6], [6]]), 4, 3),
        "one near, two far": knn(np.array([[5.0], [0.0], [6.0]]), np.array([3, 7, 3]), np.array([[0.1]]), 3, 1),
        "far from the origin": knn(train + 1e8, labels, queries + 1e8, 4, 5),
        "distances that differ by 10⁻⁸": knn(np.array([[1 + 1e-8], [1.0], [-1.0]]), vote[:3], np.zeros((1, 1)), 2, 1),
        "no queries": knn(train, labels, queries[:0], 2, 3),
        "300 of 600 points, each sixtieth of them": knn(many, labels.repeat(20), queries[:3, :2], 300, 2)[0][:, ::60],
        "at most a tenth of Q·N numbers in memory": peak_of(lambda: knn(many, many[:, 0] > 0.5, many + 0.01, 3, 5))
        < 8 * 600**2 / 10,
    },
    text="The neighbours' indices and the labels.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(Q·N·D) time; memory of about 2·tile·N·D numbers for the differences and their squares, where a matrix product would need O(tile·N). Selecting k of N takes O(N) by partition, sorting O(N log N).
#
# 1. *Why not ‖a‖² − 2a·b + ‖b‖²?* "It is one matrix product and fast, but far from the origin it subtracts large numbers that are nearly equal, so the digits of the distance are lost.
#    I subtract the mean from both sets first, or compute the distances of the best candidates again by differences."
# 2. *Why partition and not sort?* "Only the k smallest are needed. Partition finds the kth in linear time, and then just k elements are sorted."
# 3. *What about a billion points?* "Then I take an approximate index: inverted lists of clusters, product quantization or a graph like HNSW. A tree helps only in few
#    dimensions."
#
# </details>

# %% [markdown] hint="classics_knn"
# `queries[start : start + tile]` is a tile, the last one perhaps shorter. A stable sort keeps the order of the indices among equal distances. Does `np.argpartition`?

# %% [markdown] hint="classics_knn"
# Subtract before squaring: `((part[:, None] - train) ** 2).sum(-1)`. `np.partition` gives the distance of the kth neighbour, and all points up to that distance are candidates. A stable
# sort of them decides ties. For the votes, count how many neighbours have the same label as the nearest, the second, and so on.

# %% [markdown] hint="classics_knn"
# `near = candidates[np.argsort(distances[candidates], kind="stable")][:k]`, where `candidates = np.flatnonzero(distances <= np.partition(distances, k - 1)[k - 1])`. With `votes = labels[near]`, the label is
# `votes[(votes[:, None] == votes).sum(1).argmax()]`, since `argmax` takes the first of equals.


# %% mutant="classics_knn"
# The expanded square
# ‖a‖² − 2a·b + ‖b‖² subtracts numbers near 10¹⁶ to get 1, and float64 has sixteen digits. Subtract the points before you square.
def knn(train, labels, queries, k, tile):
    near = np.empty((len(queries), k), int)
    for start in range(0, len(queries), tile):
        part = queries[start : start + tile]
        squared = (part**2).sum(1)[:, None] - 2 * part @ train.T + (train**2).sum(1)
        near[start : start + tile] = np.argsort(squared, axis=1, kind="stable")[:, :k]
    votes = labels[near]
    counts = (votes[:, :, None] == votes[:, None]).sum(-1)
    return near, np.take_along_axis(votes, counts.argmax(1)[:, None], 1)[:, 0]


# %% mutant="classics_knn"
# `argpartition` alone
# `argpartition` puts the k nearest first in any order, and of equal distances at the limit it takes any. Order and ties need a stable sort of all candidates.
def knn(train, labels, queries, k, tile):
    near = np.empty((len(queries), k), int)
    for start in range(0, len(queries), tile):
        squared = ((queries[start : start + tile, None] - train) ** 2).sum(-1)
        near[start : start + tile] = np.argpartition(squared, k - 1, axis=1)[:, :k]
    votes = labels[near]
    counts = (votes[:, :, None] == votes[:, None]).sum(-1)
    return near, np.take_along_axis(votes, counts.argmax(1)[:, None], 1)[:, 0]


# %% mutant="classics_knn"
# The smallest label wins a tie
# `argmax` of the counts of sorted labels takes the smallest of the tied ones. Here the nearest neighbour among them decides.
def knn(train, labels, queries, k, tile):
    near = np.empty((len(queries), k), int)
    for start in range(0, len(queries), tile):
        squared = ((queries[start : start + tile, None] - train) ** 2).sum(-1)
        near[start : start + tile] = np.argsort(squared, axis=1, kind="stable")[:, :k]
    values, places = np.unique(labels, return_inverse=True)
    counts = (places[near][:, :, None] == np.arange(len(values))).sum(1)
    return near, values[counts.argmax(1)]


# %% mutant="classics_knn"
# All queries at once
# The result is right, but memory holds Q·N numbers at once. Either all queries are compared together, or a slice such as `argsort(d)[:, :k]` keeps all N indices of every query, because it is a view.
def knn(train, labels, queries, k, tile):
    squared = np.zeros((len(queries), len(train)))
    for dimension in range(train.shape[1]):
        squared += (queries[:, None, dimension] - train[:, dimension]) ** 2
    near = np.argsort(squared, axis=1, kind="stable")[:, :k]
    votes = labels[near]
    counts = (votes[:, :, None] == votes[:, None]).sum(-1)
    return near, np.take_along_axis(votes, counts.argmax(1)[:, None], 1)[:, 0]


# %% mutant="classics_knn"
# The last tile is left out
# If `tile` doesn't divide the number of queries, the last tile is shorter. Here its queries are never visited.
def knn(train, labels, queries, k, tile):
    near = np.zeros((len(queries), k), int)
    for start in range(0, len(queries) - tile + 1, tile):
        squared = ((queries[start : start + tile, None] - train) ** 2).sum(-1)
        near[start : start + tile] = np.argsort(squared, axis=1, kind="stable")[:, :k]
    votes = labels[near]
    counts = (votes[:, :, None] == votes[:, None]).sum(-1)
    return near, np.take_along_axis(votes, counts.argmax(1)[:, None], 1)[:, 0]


# %% mutant="classics_knn"
# Skips points at distance 0
# A training point that equals the query is its nearest neighbour. When a training set is queried with itself, the point is left out by its index, not by its distance.
def knn(train, labels, queries, k, tile):
    near = np.empty((len(queries), k), int)
    for start in range(0, len(queries), tile):
        squared = ((queries[start : start + tile, None] - train) ** 2).sum(-1)
        squared = np.where(squared == 0, np.inf, squared)
        near[start : start + tile] = np.argsort(squared, axis=1, kind="stable")[:, :k]
    votes = labels[near]
    counts = (votes[:, :, None] == votes[:, None]).sum(-1)
    return near, np.take_along_axis(votes, counts.argmax(1)[:, None], 1)[:, 0]


# %% mutant="classics_knn"
# Distances in float32
# float32 has seven digits. At 10⁸ its neighbouring numbers are 8 apart, so that all distances become multiples of 8.
def knn(train, labels, queries, k, tile):
    near = np.empty((len(queries), k), int)
    for start in range(0, len(queries), tile):
        squared = ((queries[start : start + tile, None].astype("float32") - train.astype("float32")) ** 2).sum(-1)
        near[start : start + tile] = np.argsort(squared, axis=1, kind="stable")[:, :k]
    votes = labels[near]
    counts = (votes[:, :, None] == votes[:, None]).sum(-1)
    return near, np.take_along_axis(votes, counts.argmax(1)[:, None], 1)[:, 0]


# %% mutant="classics_knn"
# The nearest neighbour's label
# All k neighbours vote. That label is the result for k = 1 alone, and otherwise only decides ties.
def knn(train, labels, queries, k, tile):
    near = np.empty((len(queries), k), int)
    for start in range(0, len(queries), tile):
        squared = ((queries[start : start + tile, None] - train) ** 2).sum(-1)
        near[start : start + tile] = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return near, labels[near[:, 0]]


# %% [markdown] exercise="classics_repair_diffusion" kind="repair" points=4
# ### Exercise 12 · The samples are noise
# A diffusion model predicts the noise in x at timestep t, where x = √ᾱ · data + √(1 − ᾱ) · noise. `level` gives ᾱ, which is 1 at the end, t = −1. The prediction is exact here, because the data
# are a mixture of normal distributions, and still the samples are wrong. Four reports came in:
#
# ```text
# 1  sample with stride 1 and ddim_step is right; with stride 10, the samples are hardly less noisy than the start
# 2  ddpm_step spreads the samples equally with large=False and large=True
# 3  with large=True, finished samples are grainy, with stride 1 too
# 4  guided with w = 1 should be the conditional prediction, and with w = 0 the unconditional one
# ```
#
# Fix all four, for any stride. `ddim_step` is correct.


# %% setup=true
def level(bars, t):
    """ᾱ at timestep `t`, and 1 at the end, where t is −1 and no noise is left."""
    return bars[t] if t >= 0 else 1.0


def mixture_noise(bars, means, width):
    """The exact prediction(x, t) of the noise in x (N, D), for data from equally likely normals around `means` (M, D)."""

    def prediction(x, t):
        variance = bars[t] * width**2 + 1 - bars[t]
        apart = x[:, None] - np.sqrt(bars[t]) * means
        exponents = -(apart**2).sum(-1) / (2 * variance)
        shares = np.exp(exponents - exponents.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        return np.sqrt(1 - bars[t]) * (shares[..., None] * apart).sum(1) / variance

    return prediction


# %% solution="classics_repair_diffusion"
def guided(conditional: np.ndarray, unconditional: np.ndarray, w: float) -> np.ndarray:
    """The prediction with classifier-free guidance: unconditional for w = 0, conditional for 1, and beyond it for more."""
    ### BEGIN SOLUTION
    return unconditional + w * (conditional - unconditional)
    ### END SOLUTION
    ### BEGIN STUB
    # return (1 + w) * conditional - w * unconditional
    ### END STUB


def ddpm_step(
    x: np.ndarray, eps: np.ndarray, t: int, previous: int, bars: np.ndarray, noise: np.ndarray, large: bool = False
) -> np.ndarray:
    """x at timestep `previous` < t; `eps` is the prediction. The step that ends at −1 adds no noise.

    The variance is β of the step if `large`, and otherwise that of the posterior, given x at t and the data.
    """
    ### BEGIN SOLUTION
    before = level(bars, previous)
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    variance = beta if large else beta * (1 - before) / (1 - bars[t])
    return mean + np.sqrt(variance) * noise if previous >= 0 else mean
    ### END SOLUTION
    ### BEGIN STUB
    # before = level(bars, previous)
    # beta = 1 - bars[t] / before
    # mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    # variance = beta
    # return mean + np.sqrt(variance) * noise
    ### END STUB


def ddim_step(
    x: np.ndarray, eps: np.ndarray, t: int, previous: int, bars: np.ndarray, noise: np.ndarray, eta: float = 0.0
) -> np.ndarray:
    """x at timestep `previous`; without noise for `eta` = 0, and with the posterior's for 1."""
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x: np.ndarray, bars: np.ndarray, stride: int, noises: np.ndarray, step) -> np.ndarray:
    """x at the end, from x at the last timestep; every `stride`-th timestep is visited, and the last step ends at −1."""
    ### BEGIN SOLUTION
    for t in range(len(bars) - 1, -1, -stride):
        x = step(x, prediction(x, t), t, max(t - stride, -1), bars, noises[t])
    return x
    ### END SOLUTION
    ### BEGIN STUB
    # for t in range(len(bars) - 1, -1, -stride):
    #     x = step(x, prediction(x, t), t, t - 1, bars, noises[t])
    # return x
    ### END STUB


# %% check="classics_repair_diffusion"
generator = check.rng()
bars = np.cumprod(1 - np.linspace(0.02, 0.08, 100))
means = generator.uniform(-2, 2, (3, 2))
exact = mixture_noise(bars, means, 0.15)
fixed = np.random.default_rng(0)
start, noises = fixed.normal(size=(50, 2)), fixed.normal(size=(100, 50, 2))
x, eps = start[:4], generator.normal(size=(4, 2))


def large_step(*arguments):
    return ddpm_step(*arguments, large=True)


def summary(out):
    """Six samples, and all samples' mean, variance and mean distance from the nearest of the mixture's means."""
    apart = np.sqrt(((out[:, None] - means) ** 2).sum(-1)).min(1)
    return out[:6], out.mean(0), out.var(0), apart.mean()


shown = {
    "guided": [guided(eps, x, w) for w in (0.0, 1.0, 3.5, -0.5)],
    "guided, one sample": guided(eps[:1], x[:1], 2.0),
    "DDPM, one sample": ddpm_step(x[:1], eps[:1], 20, 19, bars, noises[0][:1]),
    "DDIM, one sample at the end": sample(exact, start[:1], bars, 10, noises[:, :1], ddim_step),
    "DDPM, one step": ddpm_step(x, eps, 20, 19, bars, noises[0][:4]),
    "DDPM, one long step": ddpm_step(x, eps, 30, 17, bars, noises[0][:4]),
    "DDPM, one long step, large": large_step(x, eps, 30, 17, bars, noises[0][:4]),
    "DDPM, to the end": [step(x, eps, 4, -1, bars, noises[0][:4]) for step in (ddpm_step, large_step)],
    "DDPM, to timestep 0": [step(x, eps, 4, 0, bars, noises[0][:4]) for step in (ddpm_step, large_step)],
}
visited = []
sample(exact, start[:1], bars, 7, noises[:, :1], lambda x, eps, t, previous, *_: visited.append([t, previous]) or x)
shown["timesteps with stride 7"] = visited
for name, step in {"DDIM": ddim_step, "DDPM": ddpm_step, "DDPM, large": large_step}.items():
    for stride in (1, 10, 7):
        shown[f"{name}, samples with stride {stride}"] = summary(sample(exact, start, bars, stride, noises, step))
check.show(shown, rtol=1e-5, atol=1e-7, text="Predictions, single steps, and samples.")

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** one evaluation of the model for each timestep that is visited, two with guidance; everything else is O(N·D) a step.
#
# 1. *Why can DDIM take long steps?* "With η = 0 it integrates an ordinary differential equation, whose path is smooth, and fresh noise isn't needed. With η = 1 it has the mean and the variance of
#    DDPM's posterior."
# 2. *Noise, data or v as the target?* "They are linear in each other, so each can be computed from another. Their errors count differently, though: near pure noise, predicting the
#    noise says almost nothing about the data, whereas v and data stay useful."
# 3. *What is zero terminal SNR?* "In many schedules ᾱ at the last timestep isn't 0, so the model learns that a little of the data is still there, but sampling starts from pure
#    noise. The schedule is rescaled so that it ends at 0, and v is the target."
# 4. *What does a guidance scale of 1 mean?* "That depends on the convention. Here and in most libraries it is the conditional prediction, without guidance. Ho and Salimans write
#    (1 + w)·conditional − w·unconditional, where w = 0 is that, so their w is this scale minus 1."
#
# </details>

# %% [markdown] hint="classics_repair_diffusion"
# For each report, look at one step alone. From which timestep to which does it go, with which variance, and what is ᾱ where it ends?

# %% [markdown] hint="classics_repair_diffusion"
# With a stride, the model is next asked at t − stride, so the step has to end there, or at −1. The posterior knows the data, so it is narrower than β, by a factor that is 0 if the step ends without
# noise. And whether a step is the last one is said by `previous`, not by t.

# %% [markdown] hint="classics_repair_diffusion"
# 1: `max(t - stride, -1)`. 2: `beta * (1 - before) / (1 - bars[t])` unless `large`. 3: return `mean` alone if `previous < 0`. 4: `unconditional + w * (conditional - unconditional)`.


# %% mutant="classics_repair_diffusion"
# A step to t − 1
# With a stride of 10, the model is asked at every tenth timestep, but each step removes the noise of only one. x then has more noise than the model assumes.
def guided(conditional, unconditional, w):
    return unconditional + w * (conditional - unconditional)


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = level(bars, previous)
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    variance = beta if large else beta * (1 - before) / (1 - bars[t])
    return mean + np.sqrt(variance) * noise if previous >= 0 else mean


def ddim_step(x, eps, t, previous, bars, noise, eta=0.0):
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x, bars, stride, noises, step):
    for t in range(len(bars) - 1, -1, -stride):
        x = step(x, prediction(x, t), t, t - 1, bars, noises[t])
    return x


# %% mutant="classics_repair_diffusion"
# β for the posterior's variance
# β is the variance of the forward step. The posterior also knows the data, which multiplies it by (1 − ᾱ before) / (1 − ᾱ).
def guided(conditional, unconditional, w):
    return unconditional + w * (conditional - unconditional)


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = level(bars, previous)
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    variance = beta
    return mean + np.sqrt(variance) * noise if previous >= 0 else mean


def ddim_step(x, eps, t, previous, bars, noise, eta=0.0):
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x, bars, stride, noises, step):
    for t in range(len(bars) - 1, -1, -stride):
        x = step(x, prediction(x, t), t, max(t - stride, -1), bars, noises[t])
    return x


# %% mutant="classics_repair_diffusion"
# Noise in the last step
# β isn't 0 at the end, so that noise is added which no later step removes.
def guided(conditional, unconditional, w):
    return unconditional + w * (conditional - unconditional)


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = level(bars, previous)
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    variance = beta if large else beta * (1 - before) / (1 - bars[t])
    return mean + np.sqrt(variance) * noise


def ddim_step(x, eps, t, previous, bars, noise, eta=0.0):
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x, bars, stride, noises, step):
    for t in range(len(bars) - 1, -1, -stride):
        x = step(x, prediction(x, t), t, max(t - stride, -1), bars, noises[t])
    return x


# %% mutant="classics_repair_diffusion"
# 1 + w
# That is another convention: it gives the conditional prediction for w = 0. Here w = 1 has to give it.
def guided(conditional, unconditional, w):
    return (1 + w) * conditional - w * unconditional


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = level(bars, previous)
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    variance = beta if large else beta * (1 - before) / (1 - bars[t])
    return mean + np.sqrt(variance) * noise if previous >= 0 else mean


def ddim_step(x, eps, t, previous, bars, noise, eta=0.0):
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x, bars, stride, noises, step):
    for t in range(len(bars) - 1, -1, -stride):
        x = step(x, prediction(x, t), t, max(t - stride, -1), bars, noises[t])
    return x


# %% mutant="classics_repair_diffusion"
# The last step taken for the one from t = 0
# With a stride, the last step may start at a later timestep, for example at 9. It is the last one because it ends at −1.
def guided(conditional, unconditional, w):
    return unconditional + w * (conditional - unconditional)


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = level(bars, previous)
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    variance = beta if large else beta * (1 - before) / (1 - bars[t])
    return mean + np.sqrt(variance) * noise if t > 0 else mean


def ddim_step(x, eps, t, previous, bars, noise, eta=0.0):
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x, bars, stride, noises, step):
    for t in range(len(bars) - 1, -1, -stride):
        x = step(x, prediction(x, t), t, max(t - stride, -1), bars, noises[t])
    return x


# %% mutant="classics_repair_diffusion"
# Ends at timestep 0
# ᾱ at timestep 0 is below 1, so that a last step which ends there leaves its noise in the samples.
def guided(conditional, unconditional, w):
    return unconditional + w * (conditional - unconditional)


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = level(bars, previous)
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    variance = beta if large else beta * (1 - before) / (1 - bars[t])
    return mean + np.sqrt(variance) * noise if previous >= 0 else mean


def ddim_step(x, eps, t, previous, bars, noise, eta=0.0):
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x, bars, stride, noises, step):
    for t in range(len(bars) - 1, -1, -stride):
        x = step(x, prediction(x, t), t, max(t - stride, 0), bars, noises[t])
    return x


# %% mutant="classics_repair_diffusion"
# β of a single timestep
# A long step has the β of all timesteps that it skips: 1 − ᾱ / ᾱ before, where `before` belongs to `previous`.
def guided(conditional, unconditional, w):
    return unconditional + w * (conditional - unconditional)


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = level(bars, previous)
    beta = 1 - bars[t] / level(bars, t - 1)
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    variance = beta if large else beta * (1 - before) / (1 - bars[t])
    return mean + np.sqrt(variance) * noise if previous >= 0 else mean


def ddim_step(x, eps, t, previous, bars, noise, eta=0.0):
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x, bars, stride, noises, step):
    for t in range(len(bars) - 1, -1, -stride):
        x = step(x, prediction(x, t), t, max(t - stride, -1), bars, noises[t])
    return x


# %% mutant="classics_repair_diffusion"
# No noise at all
# DDPM without noise isn't DDIM: its mean is shrunk so that noise can be added, and without it the samples collapse.
def guided(conditional, unconditional, w):
    return unconditional + w * (conditional - unconditional)


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = level(bars, previous)
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    return mean


def ddim_step(x, eps, t, previous, bars, noise, eta=0.0):
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x, bars, stride, noises, step):
    for t in range(len(bars) - 1, -1, -stride):
        x = step(x, prediction(x, t), t, max(t - stride, -1), bars, noises[t])
    return x
