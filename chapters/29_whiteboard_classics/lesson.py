# %% [markdown]
# # Find, generate, classify
# After this chapter you can answer the questions about classical machine learning and vision that interviewers still ask in the
# age of language models, and you know the mistake that each of them is a trap for. One small data set carries the lesson:
# pictures of 16 × 16 pixels with two shapes and their boxes.

# %% hidden=true
import matplotlib.pyplot as plt
import numpy as np

import minitorch as torch
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
# ## An AUC of 0.95, and three of four alarms are false
# A detector looks at 500 pictures and reports 20 candidates with a score in each, of which nineteen are background. Its authors
# report an AUC of 0.95. Would you use this detector?

# %% tags=["proof-AUC"]
generator = np.random.default_rng(0)
labels = np.tile([1] + [0] * 19, 500)
scores = generator.normal(size=10_000) + 2.33 * labels


def ranked(scores, labels):
    """The AUC, and precision and recall as ever more candidates are accepted."""
    hits = labels[np.argsort(-scores)]
    recall, precision = np.cumsum(hits) / hits.sum(), np.cumsum(hits) / np.arange(1, len(hits) + 1)
    ranks = np.argsort(np.argsort(scores)) + 1
    positives, negatives = hits.sum(), len(hits) - hits.sum()
    return (ranks[labels == 1].sum() - positives * (positives + 1) / 2) / positives / negatives, recall, precision


auc, recall, precision = ranked(scores, labels)
for goal in (0.5, 0.9, 0.99):
    share = precision[np.searchsorted(recall, goal)]
    print(f"to find {goal:.0%} of the objects: {share:.0%} of what it accepts is one")
print(f"AUC {auc:.2f}")

# %% [markdown] tags=["short"]
# To find nine in ten objects it has to accept so much background that only about one in four of its boxes holds an object. The
# AUC is the probability that a random positive outranks a random negative, and it doesn't depend on how many negatives there are,
# whereas precision does. With nineteen negatives for every positive, even a small share of false alarms outnumbers the hits.
#
# **Interview · What does an AUC of 0.95 tell you, and what does it hide?**
#
# - *Thirty seconds:* "A random positive outranks a random negative with a probability of 95 %. It says nothing about the share of
#   positives, so if these are rare, most of what I accept may still be wrong. Then I look at precision and recall, or at average
#   precision."
# - *They ask next:* How do you compute it in N log N? You sort the scores and sum the positives' ranks, where equal scores share
#   the mean of their ranks.
# - *The trap:* Ignoring ties. If equal scores are ranked in the order of the input, the AUC depends on how the file was sorted.
# - *Proof:* `proof-AUC`.

# %% [markdown]
# ## Least squares, and the digits that it loses
# Linear regression has a closed form, w = (xᵀx)⁻¹xᵀy, and using it literally is the classical mistake. The condition number of
# xᵀx is the square of that of x, and each power of ten in a condition number costs about a digit, whereas a QR decomposition
# works on x itself. The next cell makes the columns of x ever more dependent and counts the correct digits of the weights that
# are left, as the median of 25 problems.

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
# λ, each step multiplies the error by 1 − rate·λ, so the largest eigenvalue sets the limit of 2/λ, while the smallest one sets
# the speed. Because standardizing the features brings the eigenvalues closer together, it is done before training.
#
# **Interview · Why don't you invert xᵀx?**
#
# - *Thirty seconds:* "I don't invert it because its condition number is the square of x's, so twice as many digits are lost.
#   Instead I take QR or the SVD, or I add a ridge penalty, which raises the small eigenvalues."
# - *They ask next:* When would you use gradient descent instead? I would when N or D is so large that a decomposition doesn't
#   fit, or when the model isn't linear anyway.
# - *The trap:* Penalizing the intercept, because then adding a constant to every target changes the weights.
# - *Proof:* `proof-digits`.

# %% [markdown] tags=["short"]
# ## k-means, and where it starts
# k-means alternates two steps that can't raise the inertia: it assigns each point to its nearest center, and it moves each center
# to the mean of its points. Since it ends in a local minimum, the result depends on the first centers. **k-means++** draws each
# further center with a probability proportional to the squared distance from the nearest one so far. The points here are the 240
# shapes of 120 pictures, each described by its width (4, 5 or 6 pixels) and by whether it is filled, so there are six tight
# clusters.

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


k, found = 6, {"random points": [], "k-means++": []}
for seed in range(60):
    generator = np.random.default_rng(seed)
    found["random points"].append(kmeans(points, points[generator.choice(len(points), k, replace=False)]))
    found["k-means++"].append(kmeans(points, plus_plus(generator, k)))
best = min(min(each) for each in found.values())
for name, each in found.items():
    print(f"{name:13}: {np.mean(np.array(each) < 1.01 * best):.0%} of 60 starts end in the best clustering")

# %% [markdown] tags=["short"]
# **Interview · Why does k-means++ draw by the squared distance?**
#
# - *Thirty seconds:* "The squared distance is what a point contributes to the inertia, so points are drawn in proportion to what
#   they cost at the moment. In expectation the result is within a factor of order log k of the optimum."
# - *They ask next:* What about a cluster without points? Since the mean of nothing is NaN, keep its center or move it to the
#   point that is farthest from its own center.
# - *The trap:* Broadcasting N × k × D differences, when a loop over the k centers needs N × k numbers.
# - *Proof:* `proof-starts`.

# %% [markdown]
# ## Boxes that overlap: IoU and NMS
# A detector scores many boxes around each object. **IoU**, the area of the intersection over that of the union, says how much two
# boxes agree, and **non-maximum suppression** keeps the best one: it visits the boxes in order of decreasing score and drops each
# box that overlaps one kept before. The cell moves each object's box by up to a pixel in every direction and shows which boxes
# are left:

# %% tags=["proof-NMS"]
generator = np.random.default_rng(2)
picture, boxes = scene(generator)
shifts = np.array([[dx, dy, dx, dy] for dx in (-1, 0, 1) for dy in (-1, 0, 1)])
candidates = (boxes[:, None] + shifts).reshape(-1, 4)
scores = np.tile(1 - 0.1 * np.abs(shifts[:, :2]).sum(1), 2) - 0.01 * np.arange(18)


def iou(a, b):
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    areas = [(each[:, 2:] - each[:, :2]).prod(-1) for each in (a, b)]
    return inside / (areas[0][:, None] + areas[1] - inside)


kept = []
for index in np.argsort(-scores):
    if not kept or iou(candidates[[index]], candidates[kept]).max() <= 0.3:
        kept.append(int(index))
print(f"{len(candidates)} candidates, {len(kept)} kept")
print("IoU with the true boxes:", iou(candidates[kept], boxes).max(1).round(2).tolist())
figure, (left, right) = plt.subplots(1, 2, figsize=(6, 2.8))
for axis, chosen, text in ((left, candidates, "18 candidates"), (right, candidates[kept], "after NMS")):
    axis.imshow(picture, cmap="gray_r", extent=(0, 16, 16, 0))
    for x0, y0, x1, y1 in chosen:
        axis.add_patch(plt.Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, edgecolor="C1"))
    axis.set_title(text)
    axis.axis("off")
plt.show()

# %% [markdown]
# **Interview · What does non-maximum suppression get wrong, and what is done about it?**
#
# - *Thirty seconds:* "Two real objects that overlap strongly look like one, so the second is lost. Soft-NMS lowers the scores of
#   overlapping boxes instead of deleting them, and detectors like DETR learn to report each object once, so that they don't need
#   NMS at all."
# - *They ask next:* How are classes kept apart? You compare within a class, or shift each class's boxes by more than the whole
#   range of coordinates.
# - *The trap:* Multiplying a negative width by a negative height, which gives boxes that don't touch a positive intersection.
# - *Proof:* `proof-NMS`.

# %% [markdown]
# ## Rare objects: focal loss
# Almost all candidates are easy background, and although each of them costs little, there are so many that their sum dominates
# the gradient. **Focal loss** multiplies the cross-entropy of each candidate by (1 − p)^γ, where p is the probability of the
# correct label, so that easy candidates fade out.

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
# - *Thirty seconds:* "It solves the imbalance between easy and hard examples. A detector sees thousands of easy negatives for
#   each object, and the factor (1 − p)^γ makes their loss vanish, so the hard examples dominate the gradient."
# - *They ask next:* What is α for, and what do you divide by? α balances the classes, and the sum is divided by the number of
#   positives.
# - *The trap:* Computing s = sigmoid(logit) and then log(1 − s), which at a logit of 100 is the logarithm of 0.
# - *Proof:* `proof-focal`.

# %% [markdown]
# ## Patches as tokens
# A vision transformer cuts the picture into patches, projects each to a vector, puts a learned class token in front and adds
# positions. The projection is a convolution whose stride equals its kernel size, so that windows don't overlap, and the next cell
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
# - *Thirty seconds:* "There are more patches, so there are more tokens, and the cost of attention grows with the square of their
#   number. The weights stay, but the positions are interpolated on their grid, without the class token, which has no position in
#   the image."
# - *They ask next:* What does halving the patch size cost? It gives four times the tokens and sixteen times the attention.
# - *The trap:* Reading patches in another order than the weight expects: a convolution's weight is channel, row, column.
# - *Proof:* `proof-convolution`.

# %% [markdown]
# ## Generate: the ELBO
# A **variational autoencoder** encodes a picture as a distribution over latents, draws from it, and decodes. Its loss is the
# cross-entropy of the pixels plus the KL divergence between that distribution and a standard normal, both summed for each
# picture. Because drawing has no derivative, the draw is written as mean + σ·noise, the **reparametrization trick**, through
# which the gradient passes.

# %% tags=["proof-gradient-through-noise"]
torch.manual_seed(0)
mean, log_variance = torch.tensor([0.7], requires_grad=True), torch.tensor([-1.0], requires_grad=True)
noise = torch.randn(100_000)
latents = mean + (0.5 * log_variance).exp() * noise
gradients = torch.autograd.grad((latents**2).mean(), (mean, log_variance))
print("E[z²] by mean:         ", f"{gradients[0].item():.2f}, exactly {2 * 0.7:.2f}")
print("E[z²] by log-variance: ", f"{gradients[1].item():.2f}, exactly {np.exp(-1.0):.2f}")

# %% [markdown]
# **Interview · What is the reparametrization trick, and why is it needed?**
#
# - *Thirty seconds:* "A sample has no derivative with respect to the parameters of its distribution. If I write it as mean plus
#   standard deviation times standard normal noise, the randomness becomes an input, and the gradient passes through mean and
#   standard deviation."
# - *They ask next:* What is posterior collapse? The KL goes to 0 and the decoder ignores the latents, so you warm up the KL's
#   weight or weaken the decoder.
# - *The trap:* Multiplying the noise by exp(log-variance), which is the variance, where it needs exp(½ log-variance).
# - *Proof:* `proof-gradient-through-noise`.

# %% [markdown]
# ## Trees
# A decision tree splits on one feature at a time. The best threshold is found by sorting the rows by a feature and moving the
# threshold past one row after the other, while the class counts on both sides are updated. That takes N log N steps for each
# feature, whereas counting anew for each threshold takes N². The **Gini impurity** 1 − Σ p² is the probability that two rows of a
# node, drawn independently, have different labels.

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
# Seven boundaries between eight rows give four thresholds, because equal values can't be separated.
#
# **Interview · How does a tree find its split, and what does that cost?**
#
# - *Thirty seconds:* "Each feature is sorted once. A pass over the sorted rows updates the class counts on both sides, and the
#   threshold with the largest drop in weighted impurity wins. That is D · N log N, or D · N with histograms of 255 bins."
# - *They ask next:* Why do forests beat a single tree? A deep tree has a high variance, and averaging trees on resampled rows and
#   random features lowers it.
# - *The trap:* Setting a threshold between two equal values, although no threshold can separate them.
# - *Proof:* `proof-split`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# - *Is logistic regression convex?* Yes, because its Hessian xᵀ diag(p(1 − p)) x is positive semidefinite.
# - *What happens to logistic regression on separable data?* Without a penalty the weights grow forever.
# - *What does an AUC of 0.3 mean?* The ranking is backwards, so the negated scores have an AUC of 0.7.
# - *Which k does k-means choose?* It chooses none: you choose k, for example by a validation criterion or a plot of the inertia.
# - *What does the KL term of a VAE do?* It keeps the latents close to the prior, from which you draw when you generate.
#
# ## On one card
# Least squares by QR, never by an inverse · logistic loss is log(1 + eˢ) − label·s · k-means++ draws by squared distances · AUC
# is a rank sum, with ties at one half · clip widths before multiplying them · focal loss fades easy examples · a patch embedding
# is a convolution with stride p · noise times exp(½ log-variance) · sort once per feature.
