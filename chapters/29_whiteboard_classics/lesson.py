# %% [markdown]
# # Classical machine learning and vision at the whiteboard
# Interviewers still ask about classical machine learning and vision, and this chapter answers their usual questions and
# shows the trap in each. One small data set carries much of it: pictures of 16 × 16 pixels with two shapes and their
# boxes. At the end a diffusion sampler turns noise into such pictures.

# %% hidden=true
import matplotlib.pyplot as plt
import numpy as np

import minitorch as torch
from course import pictures
from minitorch.nn import functional as F


def scene(generator):
    """A picture (16, 16) with a filled square and a frame, and their boxes (2, 4): left, top, right, bottom."""
    picture, boxes = 0.1 * generator.random((16, 16)), []
    for kind, column in enumerate((0, 8)):
        size = int(generator.integers(4, 7))
        left, top = column + int(generator.integers(0, 9 - size)), int(generator.integers(0, 17 - size))
        picture[top : top + size, left : left + size] = 1
        if kind:
            picture[top + 1 : top + size - 1, left + 1 : left + size - 1] = 0.1
        boxes.append([left, top, left + size, top + size])
    return picture, np.array(boxes, float)


# %% [markdown] tags=["short"]
# ## Classical machine learning
# General screens ask these questions, as do teams for search, ads and fraud. Evaluation comes first, because
# language-model teams ask it too.
#
# ### AUC and precision when positives are rare
# A detector proposes 20 boxes in each of 500 pictures and gives each box a score. Nineteen of the 20 are background. Its authors
# report an AUC of 0.95. Would you use this detector?

# %% tags=["proof-AUC"]
generator = np.random.default_rng(0)
labels = np.tile([1] + [0] * 19, 500)
scores = generator.normal(size=10_000) + 2.33 * labels


def ranked(scores, labels):
    """The AUC, and precision and recall as ever more candidates are accepted."""
    hits = labels[np.argsort(-scores)]
    recall, precision = np.cumsum(hits) / hits.sum(), np.cumsum(hits) / np.arange(1, len(hits) + 1)
    ranks = np.argsort(np.argsort(scores, kind="stable")) + 1  # equal scores: by position
    positives, negatives = hits.sum(), len(hits) - hits.sum()
    return (ranks[labels == 1].sum() - positives * (positives + 1) / 2) / positives / negatives, recall, precision


auc, recall, precision = ranked(scores, labels)
for goal in (0.5, 0.9, 0.99):
    share = precision[np.searchsorted(recall, goal)]
    print(f"recall {goal:.0%}: precision {share:.0%}")
print(f"AUC {auc:.2f}")
last, first = (ranked(np.zeros(10_000), np.sort(labels)[::step])[0] for step in (1, -1))
print(f"if all scores were equal: AUC {last:.0f} with the positives last, {first:.0f} with them first")

# %% [markdown] tags=["short"]
# To find nine in ten objects, the detector has to accept so much background that only about one in four of its boxes holds an
# object. How can the AUC be so high? It is the probability that a random positive outranks a random negative, so it doesn't depend
# on how many negatives there are. Precision does. With nineteen negatives for every positive, even a small share of false alarms
# outnumbers the hits. The last line shows what this function does with equal scores: it ranks them by their position in the file,
# although the correct AUC is 0.5.
#
# **Interview · What does an AUC of 0.95 tell you, and what does it hide?**
#
# - *Thirty seconds:* A random positive outranks a random negative with a probability of 95 %. It says nothing about the
#   share of positives, so if these are rare, most of what I accept may still be wrong. Then I look at precision and
#   recall.
# - *Longer:* Random scores have an AUC of 0.5 whatever the data, but their average precision is the share of positives, here 5 %.
# - *They ask next:* Are the scores probabilities? The AUC can't tell, because a strictly increasing function of the scores
#   leaves it unchanged, unless rounding makes ties. I compare predicted with observed frequencies, and calibrate, for example with a temperature.
# - *They ask next:* How do you compute it in N log N? I sort the scores and sum the positives' ranks, where equal
#   scores share the mean of their ranks.
# - *The trap:* Don't forget ties. If equal scores are ranked in the order of the input, the AUC depends on how the file was sorted.
# - *Proof:* `proof-AUC`.

# %% [markdown]
# ### Cross-validation and data leakage
# Cross-validation trains on four fifths of the data and tests on the fifth, five times over, until each fifth has been
# the test. Its estimate is honest only if nothing was fitted to the test rows. Here 100 rows have 2,000 features of
# pure noise, and a classifier uses the 20 features whose class means differ most. The cell chooses these features once
# from all rows, and once from the training rows alone:


# %% tags=["proof-leakage"]
def accuracy(seed, leaky):
    generator, correct = np.random.default_rng(seed), 0
    x, y = generator.normal(size=(100, 2000)), np.arange(100) // 50

    def gap(rows):  # between the class means
        return x[rows & (y == 1)].mean(0) - x[rows & (y == 0)].mean(0)

    for fold in range(5):
        test = np.arange(100) % 5 == fold
        best = np.abs(gap(~test | leaky)).argsort()[-20:]
        score = (x[test] - x[~test].mean(0))[:, best] @ gap(~test)[best]
        correct += ((score > 0) == y[test]).sum()
    return correct / 100


for name, leaky in (("all rows", True), ("training rows", False)):
    rates = [accuracy(seed, leaky) for seed in range(5)]
    print(f"features chosen from {name}: accuracy {min(rates):.0%} to {max(rates):.0%} on five seeds")

# %% [markdown]
# There is nothing to learn, so the correct answer is 50 %. Choosing the features from all rows has shown the classifier the labels of
# the test rows, although it was fitted to the training rows alone.
#
# **Interview · What is data leakage, and how do you avoid it?**
#
# - *Thirty seconds:* Leakage means that the model gets information in training or evaluation that it won't have in use, so the
#   estimate is too good. I split first, and fit everything, including scaling, imputation and feature selection, on the training part
#   of each fold.
# - *Longer:* If a score is too good, I look at the most important feature: often it is known only after the outcome.
# - *They ask next:* How do you split if rows aren't independent? By group if one patient or user has several rows, and by time if the
#   model predicts the future.
# - *They ask next:* What does leakage look like for a language model? The test questions are in the training data, so I search for
#   long n-gram overlaps, and compare with newer questions.
# - *The trap:* If you tune on the test set, the best score is partly luck.
# - *Proof:* `proof-leakage`.

# %% [markdown]
# ### Linear regression: least squares and the condition number
# Linear regression has a closed form, w = (xᵀx)⁻¹xᵀy, and using it literally is the classic mistake. Each power of ten
# in a condition number costs about a digit, and the condition number of xᵀx is the square of x's. A QR decomposition
# works on x itself. Let us make the columns of x ever more dependent and count the correct digits of the
# weights, as the median of 25 problems whose targets fit exactly. With a large residual, even the exact problem is
# sensitive to the square of x's condition number: at 10⁶ and a residual as long as the fitted values, QR keeps only
# about five digits.

# %% tags=["proof-digits"]
print("condition of x   normal equations   QR")
for exponent in (2, 4, 6):
    digits = []
    for seed in range(25):
        generator = np.random.default_rng(seed)
        u, v = np.linalg.qr(generator.normal(size=(40, 3)))[0], np.linalg.qr(generator.normal(size=(3, 3)))[0]
        x, truth = u * np.array([1, 0.1, 10.0**-exponent]) @ v, np.ones(3)
        q, r = np.linalg.qr(x)
        both = np.linalg.inv(x.T @ x) @ (x.T @ (x @ truth)), np.linalg.solve(r, q.T @ (x @ truth))
        digits.append([-np.log10(np.abs(w - truth).max() + 1e-16) for w in both])
    normal, qr = np.median(digits, axis=0)
    print(f"10^{exponent}             about {normal:2.0f} digits    at least {qr // 2 * 2:2.0f} digits")

# %% [markdown]
# Gradient descent avoids the decomposition, but its learning rate is limited. Along an eigenvector of the Hessian with eigenvalue
# λ, each step multiplies the error by 1 − rate·λ. The rate must therefore stay below 2/λ for the largest eigenvalue, while the
# smallest one decides how many steps it takes. Standardizing the features removes the spread that comes from different units, but
# correlated features stay ill-conditioned.
#
# **Interview · Why don't you solve least squares by inverting xᵀx?**
#
# - *Thirty seconds:* The condition number of xᵀx is the square of x's, so I would lose twice as many digits. (With a large residual
#   the problem itself loses them.) Instead I take QR or the SVD, or I add a ridge penalty, which raises the small eigenvalues.
# - *Longer:* At a condition number of 10⁶, QR keeps about ten of float64's 16 digits, the normal equations about four.
# - *They ask next:* When would you use gradient descent instead? When a decomposition takes too long or doesn't fit into memory
#   because N or D is large, or when the model isn't linear anyway.
# - *They ask next:* What do L1 and L2 penalties do differently? L2 shrinks all weights, while the optimum with L1 has
#   some weights at exactly 0, because the penalty's derivative doesn't vanish there. Plain gradient steps only jump
#   back and forth across 0, so solvers for L1 use soft thresholding.
# - *The trap:* If you penalize the intercept, adding a constant to every target changes the weights, unless the features are centred.
# - *Proof:* `proof-digits`.
#
# ### Logistic regression by Newton's method
# The loss of logistic regression is log(1 + eˢ) − label·s for a score s. Its minimum has no closed form, but it is convex
# and smooth, so **Newton's method** needs few steps.
# Each step is the first derivative over the second one or, with several weights, the solution of a linear system with
# the Hessian. Let us fit a single weight to six points by Newton's method and by gradient descent, then start
# Newton's method farther away, and finally try separable labels.

# %% tags=["proof-Newton"]
points, mixed = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 3.0]), np.array([0, 0, 0, 1, 1, 1])


def derivatives(weight, labels):
    p = 1 / (1 + np.exp(-weight * points))
    return points @ (p - labels), points**2 @ (p * (1 - p))  # of the loss


def newton(steps, labels, weight=0.0):
    for _ in range(steps):
        first, second = derivatives(weight, labels)
        weight -= first / second
    return weight


best, descending = newton(20, mixed), 0.0
for step in range(1, 5):
    descending -= 0.1 * derivatives(descending, mixed)[0]
    print(f"step {step}: Newton is off by {abs(newton(step, mixed) - best):.4f}, descent by {best - descending:.1f}")
for start in (2.0, 3.0):
    print(f"from {start:.0f}:", ", ".join(f"{newton(steps, mixed, start):.1f}" for steps in (1, 2, 3, 4)))
print("separable:", ", ".join(f"weight {newton(steps, points > 0):.1f} after {steps} steps" for steps in (5, 10, 15)))

# %% [markdown]
# Close to the optimum, Newton's method doubles the number of correct digits with each step. Far away it can fail even
# on a convex loss: at a weight of 3 most predictions are saturated, so the second derivative is small, and each step
# overshoots by more than the last. Implementations therefore start at 0 and halve a step that doesn't lower the loss.
#
# On separable data the loss has no minimum, so the weight grows forever. Here it grows by about two in each step, one
# over the distance of the closest points from the boundary, 0.5. Meanwhile p(1 − p) vanishes, and the second derivative
# with it. A penalty makes the optimum finite.

# %% [markdown]
# ### k-means and k-means++
# k-means alternates two steps: it assigns each point to its nearest center, and it moves each center to the mean of its
# points. Neither step can raise the inertia, but the method ends in a local minimum, so the result depends on the first
# centers. **k-means++** draws each new center with a probability proportional to the squared distance from the nearest
# center so far. The points here are the 240 shapes of 120 pictures, each described by its width (4, 5 or 6 pixels) and
# by whether it is filled, so there are six tight clusters.

# %% tags=["proof-starts"]
generator = np.random.default_rng(1)
boxes = np.concatenate([scene(generator)[1] for _ in range(120)])
points = np.stack([boxes[:, 2] - boxes[:, 0], np.tile([0, 1], 120)], 1) + 0.05 * generator.normal(size=(240, 2))


def kmeans(points, centers):
    for _ in range(50):
        labels = np.stack([((points - center) ** 2).sum(1) for center in centers], 1).argmin(1)
        centers = np.array([points[labels == i].mean(0) if (labels == i).any() else c for i, c in enumerate(centers)])
    return sum(((points[labels == i] - center) ** 2).sum() for i, center in enumerate(centers))


def plus_plus(generator, k):
    centers = [points[generator.integers(len(points))]]
    while len(centers) < k:
        nearest = np.min([((points - center) ** 2).sum(1) for center in centers], axis=0)
        centers.append(points[generator.choice(len(points), p=nearest / nearest.sum())])
    return np.array(centers)


k, inertias = 6, {"random points": [], "k-means++": []}
for seed in range(60):
    generator = np.random.default_rng(seed)
    random_points = points[generator.choice(len(points), k, replace=False)]
    inertias["random points"].append(kmeans(points, random_points))
    inertias["k-means++"].append(kmeans(points, plus_plus(generator, k)))
best = min(min(results) for results in inertias.values())
for name, results in inertias.items():
    print(f"{name:13}: {np.mean(np.array(results) < 1.01 * best):.0%} of 60 starts end in the best clustering")

# %% [markdown]
# **Interview · Does k-means converge, and how do you choose k and the first centers?**
#
# - *Thirty seconds:* Neither step can raise the inertia, and there are finitely many assignments, so it converges, but to a local
#   minimum. I draw the first centers with k-means++, keep the best of several starts, and choose k by a validation criterion.
# - *They ask next:* Why does k-means++ draw by the squared distance? It is what a point contributes to the inertia. In expectation
#   the result is within a factor of order log k of the optimum.
# - *They ask next:* What about a cluster without points? The mean of nothing is NaN, so I keep its center or move it to
#   the point that is farthest from its own center.
# - *The trap:* Broadcasting creates N × k × D differences. A loop over the k centers needs only N × k distances and the
#   N × D differences of one center.
# - *Proof:* `proof-starts`.

# %% [markdown]
# ### Decision trees: the best split
# A decision tree splits on one feature at a time. To find the best threshold, sort the rows by a feature, move the
# threshold past one row after the other, and update the class counts on both sides. That takes N log N steps for each
# feature, whereas recounting for each threshold would take N². The **Gini impurity** 1 − Σ p² is the probability that
# two rows of a node, drawn independently, have different labels.

# %% tags=["proof-split"]
values, labels = np.array([1.0, 1, 2, 2, 3, 5, 5, 6]), np.array([0, 0, 0, 1, 0, 1, 1, 1])


def gini(counts):
    return 1 - ((counts / counts.sum()) ** 2).sum()


left, total = np.zeros(2), np.bincount(labels)
for index in range(len(values) - 1):
    left[labels[index]] += 1  # one row moves to the left
    if values[index + 1] > values[index]:
        right, share = total - left, (index + 1) / len(values)
        gain = gini(total) - share * gini(left) - (1 - share) * gini(right)
        middle = (values[index] + values[index + 1]) / 2
        print(f"at most {middle}: left {left.astype(int)}, right {right.astype(int)}, gain {gain:.3f}")

# %% [markdown]
# The seven boundaries between eight rows give only four thresholds, because equal values can't be separated.
#
# **Interview · How does a decision tree find its best split, and what does that cost?**
#
# - *Thirty seconds:* Each feature is sorted once. A pass over the sorted rows updates the class counts on both sides,
#   and the threshold with the largest drop in weighted impurity wins. For D features that costs D · N log N in all.
# - *Longer:* LightGBM, for example, first sorts each feature into about 255 bins, once. Finding a split then takes one pass, D · N.
# - *They ask next:* Why do forests beat a single tree, and what does boosting do instead? A deep tree has a high
#   variance, and averaging trees on resampled rows and random features lowers it. Boosting lowers the bias instead, by
#   adding shallow trees one after another, each fitted to the negative gradient of the loss.
# - *They ask next:* The training error is low and the validation error high. Why? The model overfits, so more data, a
#   penalty or a smaller model helps.
# - *The trap:* A threshold between two equal values doesn't exist: nothing can separate them.
# - *Proof:* `proof-split`.

# %% [markdown]
# ### IoU and non-maximum suppression (NMS)
# A detector scores many boxes around each object, and you want one. **IoU**, the area of the intersection over that of
# the union, says how much two boxes agree. **Non-maximum suppression** visits the boxes in order of decreasing score
# and drops a box if its IoU with a box that it has kept exceeds a threshold, here 0.3. The cell moves each object's box
# by up to a pixel in every direction and shows which boxes are left:

# %% tags=["proof-NMS"]
generator = np.random.default_rng(2)
picture, boxes = scene(generator)
shifts = np.array([[dx, dy, dx, dy] for dx in (-1, 0, 1) for dy in (-1, 0, 1)])
candidates = (boxes[:, None] + shifts).reshape(-1, 4)
scores = np.tile(1 - 0.1 * np.abs(shifts[:, :2]).sum(1), 2) - 0.01 * np.arange(18)


def iou(a, b):
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (a, b)]
    return inside / (areas[0][:, None] + areas[1] - inside)


kept = []
for index in np.argsort(-scores):
    if not kept or iou(candidates[[index]], candidates[kept]).max() <= 0.3:
        kept.append(int(index))
print(f"{len(candidates)} candidates, {len(kept)} kept")
print("IoU with the true boxes:", iou(candidates[kept], boxes).max(1).round(2).tolist())
neighbours = np.array([[0.0, 0, 6, 9], [2, 0, 8, 9]])
print(f"two real objects that overlap: IoU {iou(neighbours, neighbours)[0, 1]:.2f}, so one of them is dropped")
left, right = pictures.panels(1, 2, 6, 3)
for axis, chosen, text in ((left, candidates, "18 candidates"), (right, candidates[kept], "after NMS")):
    axis.imshow(picture, cmap="gray_r", extent=(0, 16, 16, 0))
    for x0, y0, x1, y1 in chosen:
        axis.add_patch(plt.Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, edgecolor=pictures.COLOURS["result"]))
    axis.set(title=text, xticks=[], yticks=[])
pictures.publish(left, alt="Nine boxes around each of two shapes, and one box around each after NMS.")

# %% [markdown]
# **Interview · What does non-maximum suppression get wrong, and what is done about it?**
#
# - *Thirty seconds:* Two real objects that overlap strongly look like one, so the second is lost. Soft-NMS lowers the
#   scores of overlapping boxes instead of deleting them.
# - *Longer:* Detectors like DETR learn to report each object once, so they need no NMS.
# - *They ask next:* How are classes kept apart? By comparing within a class, or by shifting each class's boxes by more
#   than the range of coordinates.
# - *The trap:* If you forget to clamp, a negative width times a negative height gives boxes that don't touch a positive
#   intersection.
# - *Proof:* `proof-NMS`.

# %% [markdown]
# ## Generative models
# Teams that make images, video or robots ask these, usually as "derive it" rather than "name it".
#
# ### Variational autoencoders and the ELBO
# A **variational autoencoder** encodes a picture as a distribution over latents, draws from it, and decodes. You would
# like to maximize the probability of each picture x, but that is an integral over all latents z without a closed form.
# Its logarithm has a lower bound, the *evidence lower bound* or **ELBO**:
#
# log p(x) ≥ E[log p(x | z)] − KL(q(z | x) ‖ p(z)), with z drawn from the encoder's distribution q(z | x).
#
# The loss is minus this bound. For pixels between 0 and 1 the first term is usually a cross-entropy, while the second
# is the KL divergence of the encoder's distribution from a standard normal. Both are summed for each picture, and with
# normal distributions each latent contributes ½(μ² + σ² − 1 − log σ²) to the KL.
#
# A random draw has no derivative, so you write it as mean + σ·noise, and the gradient passes through the mean and σ.
# This is the **reparameterization trick**. The alternative is the *score function* estimator, which multiplies the
# value by the derivative of the draw's log-probability. Which of the two varies more?

# %% tags=["proof-gradient-through-noise"]
torch.manual_seed(0)
mean, log_variance = torch.tensor([0.7], requires_grad=True), torch.tensor([-1.0], requires_grad=True)
noise = torch.randn(100_000)
latents = mean + (0.5 * log_variance).exp() * noise
gradients = torch.autograd.grad((latents**2).mean(), (mean, log_variance))
print("E[z²] by mean:         ", f"{gradients[0].item():.2f}, exactly {2 * 0.7:.2f}")
print("E[z²] by log-variance: ", f"{gradients[1].item():.2f}, exactly {np.exp(-1.0):.2f}")
by_score = latents**2 * (latents - mean) / log_variance.exp()
print(f"by the mean, from one draw: {(2 * latents).std():.1f} standard deviation through the noise,", end=" ")
print(f"{by_score.std():.1f} by the score function, whose mean is {by_score.mean():.1f}")

# %% [markdown]
# **Interview · What is the reparameterization trick, and why is it needed?**
#
# - *Thirty seconds:* A sample has no derivative with respect to the parameters of its distribution. If I write it as mean plus
#   standard deviation times standard normal noise, the randomness becomes an input, and the gradient passes through mean and
#   standard deviation.
# - *Longer:* Discrete latents have no such path, so they need the score function estimator (REINFORCE), which varies
#   more, or a relaxation such as Gumbel-softmax.
# - *They ask next:* What is posterior collapse? The KL goes to 0 because the decoder ignores the latents, so you warm up the KL's
#   weight or weaken the decoder.
# - *The trap:* The noise isn't multiplied by exp(log-variance). That is the variance; the standard deviation is
#   exp(½ log-variance).
# - *Proof:* `proof-gradient-through-noise`.

# %% [markdown]
# ### Diffusion models: generate by removing noise
# A **diffusion model** turns generation into many small regressions. The *forward process* mixes data and noise: x = √ᾱ · data +
# √(1 − ᾱ) · noise. Over the timesteps, ᾱ falls from almost 1 to almost 0. You can jump to any timestep directly, so training draws
# one, mixes, and learns to predict the noise by least squares:

# %% tags=["proof-forward"]
generator = np.random.default_rng(3)
scenes = [scene(generator) for _ in range(30)]
data = np.array([2 * picture.reshape(-1) - 1 for picture, _ in scenes])  # 256 pixels from -1 to 1
bars = np.cumprod(1 - np.linspace(0.001, 0.12, 100))  # alpha bar at timesteps 0 to 99
for t in (0, 10, 30, 99):
    print(f"t = {t:2}: {bars[t] ** 0.5:.2f} · data + {(1 - bars[t]) ** 0.5:.2f} · noise")


def mixed_at(t):
    noise = np.random.default_rng(0).normal(size=(5, 256))
    shown = bars[t] ** 0.5 * data[:5] + (1 - bars[t]) ** 0.5 * noise
    return pictures.images(shown.reshape(5, 16, 16), alt=f"Five pictures with the noise of timestep {t}.")


pictures.slider(mixed_at, start={"t": 10}, t=[0, 5, 10, 20, 30, 50, 99])

# %% [markdown]
# Sampling goes back one timestep after the other, and at each step you know two facts about x at t − 1. First, x at t
# is √(1 − β) times x at t − 1, plus noise of variance β. (Here 1 − β is the ratio of the two ᾱ.) Second, x at t − 1 has
# a variance of 1 − ᾱ around √ᾱ times the data, which the model predicts. Both are normal, so their precisions (1 /
# variance) add up, and the **posterior** is narrower than either of them. A **DDPM** step draws from this posterior,
# whose variance the cell compares with β and with a simulation:

# %% tags=["proof-posterior"]


def known(t):
    """What the predicted data and what x at t say about x at t - 1: their weights, and the sum of their precisions."""
    before = bars[t - 1]
    beta = 1 - bars[t] / before
    by_data, by_x = 1 / (1 - before), (1 - beta) / beta
    return before**0.5 * by_data, by_x / (1 - beta) ** 0.5, by_data + by_x


def ddpm(x, predicted, t, generator):
    of_data, of_x, precision = known(t)
    return (of_data * predicted + of_x * x) / precision + generator.normal(size=x.shape) / precision**0.5


for t in (1, 5, 99):
    beta, precision = 1 - bars[t] / bars[t - 1], known(t)[2]
    before = (1 - bars[t - 1]) ** 0.5 * generator.normal(size=100_000)  # the data are 0
    now = (1 - beta) ** 0.5 * before + beta**0.5 * generator.normal(size=100_000)
    left = (before - (before @ now) / (now @ now) * now).var()
    print(f"t = {t:2}: β {beta:.2g}, the posterior's variance {1 / precision:.2g}, simulated {left:.2g}")

# %% [markdown]
# In the first steps of sampling, the posterior's variance practically equals β. In the last ones the data say more about x than the
# noisy x does, so the variance is far below β. The step that ends in the data adds no noise.
#
# With a condition such as a prompt, **classifier-free guidance** predicts twice, with the condition (c) and without it
# (u), and extrapolates from u through c. The paper writes (1 + w)·c − w·u, so w = 0 is plain c. Most libraries write u
# + s·(c − u), so s = 1 is plain c and s = 0 is u.
#
# **Interview · What does a diffusion model learn, and how does it sample?**
#
# - *Thirty seconds:* It learns to predict the noise in x = √ᾱ · data + √(1 − ᾱ) · noise for every timestep, by a mean
#   squared error. To sample, it starts from pure noise. In each step it estimates the data from the predicted noise,
#   moves to the mean of the posterior of the timestep before, and adds a little noise, except in the last step.
# - *Longer:* Predicting the noise, the data or a velocity is the same regression with other weights per timestep.
# - *They ask next:* Why is DDIM faster? With η = 0 it adds no noise and follows an ordinary differential equation, so
#   it can skip timesteps.
# - *The trap:* There are two conventions for guidance, and people mix them: s = 1 means no guidance, whereas w = 1 is the
#   same as s = 2.
# - *Proof:* `proof-forward`, `proof-posterior`.

# %% [markdown]
# ### Milestone: from noise to labelled pictures
# For 30 training pictures you can write down the best possible prediction: it is the mean of the pictures, each
# weighted by how likely it is to have become the x that we see. With this prediction the sampler makes 40 pictures from
# noise. The nearest training picture of each says how wide its filled square is:

# %% tags=["proof-samples"]


def distances(x):
    return ((x[:, None] - data) ** 2).sum(2) ** 0.5


def predict(x, t):
    away = ((x[:, None] - bars[t] ** 0.5 * data) ** 2).sum(2) / (2 * (1 - bars[t]))
    likely = np.exp(away.min(1, keepdims=True) - away)
    return likely / likely.sum(1, keepdims=True) @ data


generator = np.random.default_rng(0)
noise = x = generator.normal(size=(40, 256))
for t in range(99, 0, -1):
    x = ddpm(x, predict(x, t), t, generator)
samples = predict(x, 0)
widths = np.array([int(boxes[0, 2] - boxes[0, 0]) for _, boxes in scenes])[distances(samples).argmin(1)]
print("distance to the nearest training picture: of noise at least", int(distances(noise).min()))
print("widths of the sampled squares:", {width: int((widths == width).sum()) for width in (4, 5, 6)})
shown, titles = [*noise[:8], *samples[:8]], ["noise"] * 8 + [f"width {width}" for width in widths[:8]]
pictures.images(
    [picture.reshape(16, 16) for picture in shown], titles, columns=8, alt="Eight noises and their samples."
)

# %% [markdown]
# ### A common myth: "A lower training loss means better samples"
# The prediction above minimizes the expected training loss, so no network can have a lower one. How new are its pictures?

# %% tags=["proof-copies"]
nearest = np.sort(distances(samples), axis=1)
print(f"to the nearest training picture: at most {nearest[:, 0].max():.1f}")
print(f"to the second nearest: at least {nearest[:, 1].min():.0f}")

# %% [markdown]
# Every sample is a copy. A network that generates new pictures therefore hasn't reached this minimum, because its capacity, its
# architecture or the length of its training keep it away. To find out whether a model copies, people search the training set for the
# nearest neighbours of its samples.

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. Is the loss of logistic regression convex? Yes: its Hessian xᵀ diag(p(1 − p)) x is positive semidefinite.
# 2. What happens to logistic regression on separable data? Without a penalty the weights grow forever.
# 3. What does an AUC of 0.3 mean? The ranking is backwards: the negated scores have an AUC of 0.7.
# 4. Which k does k-means choose? None: you choose it, for example by a validation criterion or a plot of the inertia.
# 5. What does the KL term of a VAE do? It keeps the latents close to the prior, from which you draw when you generate.

# %% tags=["proof-rapid-fire"]
kinds, marks = np.array([1, 1, 0, 0, 0, 0, 0]), np.array([0.35, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5])
auc, negated = ranked(marks, kinds)[0], ranked(-marks, kinds)[0]
print(f"3. AUC {auc:.1f}, of the negated scores {negated:.1f}")

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. AUC is a rank sum with ties at one half, and it ignores how rare the positives are.
# 2. Split first, and fit everything on the training rows alone, the choice of features included.
# 3. Solve least squares by QR, because the normal equations square the condition number.
# 4. The logistic loss is log(1 + eˢ) − label·s; Newton's method needs a penalty on separable data.
# 5. k-means++ draws by squared distances; subtract before you square when the points are far from the origin.
# 6. Sort once per feature, and put thresholds between distinct values only.
# 7. The reparameterization is mean + noise · exp(½ log-variance).
# 8. A DDPM step draws from the posterior, whose variance is below β, and the last one adds no noise.
# 9. NMS keeps the best box; focal loss fades easy examples by (1 − p)^γ.
# 10. A patch embedding is a convolution whose stride is its kernel size.
#
# ## You try
# [The exercises](../exercises/29_whiteboard_classics.ipynb) have twelve whiteboard problems, from least squares, k-means and NMS to
# four-bit weights and a diffusion sampler with four faults. If your interview is tomorrow, do AUC, NMS and k-means first.

# %% [markdown]
# ## If you have time
# Vision teams ask about focal loss and patches, and language-model teams about QLoRA.
#
# ### Focal loss for rare objects
# Almost all candidates are easy background, and although each of them costs little, there are so many that their sum
# dominates the gradient. **Focal loss** multiplies the cross-entropy of each candidate by (1 − p)^γ, where p is the
# probability of the correct label, so easy candidates fade out.

# %% tags=["proof-focal"]
easy, hard = torch.tensor([-5.0] * 10_000), torch.tensor([-1.0] * 10)  # easy negatives, and positives that are missed
logits = torch.cat([easy, hard]).requires_grad_()
labels = torch.cat([torch.zeros(10_000), torch.ones(10)])
for gamma in (0.0, 2.0):
    wrong = (logits * (1 - 2 * labels)).sigmoid()
    entropy = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    (gradient,) = torch.autograd.grad((wrong**gamma * entropy).sum(), logits)
    share = gradient[10_000:].abs().sum() / gradient.abs().sum()
    print(f"gamma {gamma:.0f}: the ten missed objects have {share:.0%} of the gradient")

# %% [markdown]
# **Interview · What problem does focal loss solve?**
#
# - *Thirty seconds:* The imbalance between easy and hard examples: a detector sees thousands of easy negatives for each
#   object. The factor (1 − p)^γ makes their loss almost vanish, so the hard examples dominate the gradient.
# - *They ask next:* What is α for, and what do you divide by? α multiplies the losses of positives and 1 − α those of
#   negatives. With γ = 2 the paper's best α is 0.25, so the positives count *less*, because γ has already silenced most negatives.
#   The sum is divided by the number of positives.
# - *The trap:* If you compute s = sigmoid(logit) and then log(1 − s), a logit of 100 gives the logarithm of 0.
# - *Proof:* `proof-focal`.

# %% [markdown]
# ### k nearest neighbours: distances by one matmul
# k nearest neighbours has nothing to fit: a query takes the label that most of its k nearest training points have, so
# all the work is in the distances. The formula ‖a‖² − 2a·b + ‖b‖² turns them into a matrix multiplication. What does it
# cost when the points are timestamps or map coordinates, far from the origin?

# %% tags=["proof-far"]
for origin in (0.0, 1e8):
    train, query = origin + np.arange(5.0), origin + 2.8
    apart, expanded = (train - query) ** 2, train**2 - 2 * train * query + query**2
    print(f"origin {origin:.0e}: differences {apart.round(2).tolist()}, nearest {apart.argmin()}")
    print(f"              expanded    {expanded.round(2).tolist()}, nearest {expanded.argmin()}")

# %% [markdown]
# At 10⁸ the squares are near 10¹⁶, where neighbouring float64 numbers are 2 apart, so the difference of two such
# squares keeps no digit of the distance. The differences of the points are exact to eight digits, but for all pairs at
# once they take Q × N × D elements. Working on a *tile* of queries at a time bounds the memory.
#
# **Interview · When does computing all distances with one matmul go wrong?**
#
# - *Thirty seconds:* When the points are far from the origin compared with their distances, because it then subtracts
#   two large, nearly equal numbers, which is *catastrophic cancellation*.
# - *Longer:* I subtract the training set's mean from both sets first, or I recompute the distances of the best
#   candidates from differences.
# - *They ask next:* What do you do with a billion points? I take an approximate index, such as inverted lists of clusters, product
#   quantization, or a graph like HNSW.
# - *The trap:* `argpartition` selects the k smallest, but it leaves them unordered and breaks ties arbitrarily.
# - *Proof:* `proof-far`.

# %% [markdown]
# ### Vision transformers: patches as tokens
# A vision transformer cuts the picture into patches, projects each to a vector, puts a learned class token in front and adds
# positions. The projection is a convolution whose stride equals its kernel size, so the windows don't overlap. The next cell
# computes it both ways:

# %% tags=["proof-convolution"]
torch.manual_seed(0)
images = torch.tensor(np.stack([scene(np.random.default_rng(seed))[0] for seed in range(4)]), dtype=torch.float32)[
    :, None
]
weight, bias = torch.randn(8, 16), torch.randn(8)
patches = images.reshape(4, 1, 4, 4, 4, 4).permute(0, 2, 4, 1, 3, 5).reshape(4, 16, 16)
by_hand = patches @ weight.T + bias
by_convolution = F.conv2d(images, weight.reshape(8, 1, 4, 4), bias, stride=4).flatten(2).transpose(1, 2)
print("tokens", tuple(by_hand.shape), "| equal to the convolution:", torch.allclose(by_hand, by_convolution, atol=1e-5))

# %% [markdown]
# **Interview · What changes when a vision transformer sees a larger image?**
#
# - *Thirty seconds:* There are more patches and so more tokens, and the cost of attention grows with the square of
#   their number. The weights are reused unchanged; only the position embeddings have to be interpolated to the larger grid.
# - *Longer:* The class token's position isn't interpolated, because it isn't on the grid.
# - *They ask next:* What does halving the patch size cost? Four times the tokens and sixteen times the attention.
# - *The trap:* Patches have to be flattened in the order that the weight expects: a convolution's weight is channel, row,
#   column.
# - *Proof:* `proof-convolution`.

# %% [markdown]
# ### QLoRA: four bits per weight
# **QLoRA** keeps a frozen model in four bits. Each block of 64 weights is divided by its largest absolute value, and each quotient
# becomes the index of the nearest of sixteen values. The values of **NF4** lie where a normal distribution has its weights, so they
# are close together around 0. A LoRA update that is merged has to be rounded to these values again:

# %% tags=["proof-four-bits"]
NF4 = np.array([-1, -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911, 0])
NF4 = np.r_[NF4, 0.0796, 0.1609, 0.2461, 0.3379, 0.4407, 0.5626, 0.7230, 1]
generator = np.random.default_rng(0)
weights, direction = generator.normal(size=(2, 2000, 64))


def rounded(weights, values):
    """The weights in blocks of a row each, rounded to the values, and the index of each."""
    scales = np.abs(weights).max(1, keepdims=True)
    codes = np.abs((weights / scales)[..., None] - values).argmin(-1)
    return values[codes] * scales, codes


for name, values in (("evenly spaced", np.linspace(-1, 1, 16)), ("NF4", NF4)):
    stored, codes = rounded(weights, values)
    used = np.bincount(codes.ravel()) / codes.size
    print(f"{name:13}: error {np.abs(stored - weights).mean():.3f}, a value has {used.min():.1%} to {used.max():.1%}")
for size in (0.01, 0.1, 1.0):
    merged, _ = rounded(stored + size * direction, NF4)
    arrived = ((merged - stored) * direction).sum() / (size * direction**2).sum()
    print(f"an update of {size:4} standard deviations: {arrived:.0%} of it arrives")

# %% [markdown]
# After the division by the largest weight, a block's quotients aren't normally distributed any more. So NF4's values
# aren't used evenly either, though more evenly than equal steps are. An update far below the spacing of the values
# mostly vanishes.
#
# **Interview · You merge a LoRA adapter into a 4-bit model. Is it still the model that you trained?**
#
# - *Thirty seconds:* Not exactly. The sum is rounded to four bits again, so updates that are small against the spacing of the
#   values mostly vanish. I dequantize the base to 16 bits and merge there, or serve the adapter unmerged, next to the quantized
#   base.
# - *Longer:* The original 16-bit weights aren't quite the right base either, because the adapter was trained on their
#   rounded copies and has learned to make up for part of the rounding.
# - *They ask next:* How many bits does a weight take? 4 plus 32/64 for the float32 scale of its block, 4.5 in all, or about
#   4.13 if the scales are quantized too.
# - *The trap:* The largest absolute value of a block of zeros is 0, and you can't divide by it.
# - *Proof:* `proof-four-bits`.

# %% [markdown]
# ### Flow matching: a straight path from noise to data
# Many newer image and robot models train by **flow matching**, which mixes along a straight line: x = (1 − s)·data +
# s·noise, for s from 0 to 1. The network predicts the *velocity*, noise − data. Sampling integrates this velocity from
# s = 1 to 0, for example in equal Euler steps, and adds no noise. For the 30 pictures the best prediction is again a
# weighted mean:

# %% tags=["proof-flow"]


def velocity(x, s):
    away = ((x[:, None] - (1 - s) * data) ** 2).sum(2) / (2 * s**2)
    likely = np.exp(away.min(1, keepdims=True) - away)
    return (x - likely / likely.sum(1, keepdims=True) @ data) / s  # noise - data, since x - data = s (noise - data)


for steps in (1, 2, 4):
    x = noise
    for step in range(steps, 0, -1):
        x = x - velocity(x, step / steps) / steps
    nearest = distances(x).min(1)
    print(f"Euler steps: {steps}, the nearest training picture is {np.median(nearest):.1f} away in the median")

# %% [markdown]
# A single step ends near the mean of all pictures, which resembles none of them. These 30 are far apart, so a few more
# steps are enough. Each training pair is joined by a straight line, but where such lines cross, the network can only
# predict their mean velocity, so the paths that a sampler follows are curved.
#
# **Interview · How does flow matching differ from diffusion?**
#
# - *Thirty seconds:* It predicts the velocity of a straight path between noise and data, and samples by solving an
#   ordinary differential equation.
# - *Longer:* With normal noise it belongs to the same family as diffusion: the schedule and the target differ, and each
#   prediction can be computed from the other. It is popular because it is simple and usually needs fewer steps.
# - *They ask next:* How do you get down to one to four steps? With rectified flow you train again on the pairs of noise and sample
#   that the first model produced, so the paths straighten. Distillation, as in consistency models, is the other way.
# - *The trap:* "The paths are straight, so one step is enough." Only those of the training pairs are.
# - *Proof:* `proof-flow`.
