# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms. `course answers 29` grades them.


# %% answer="classics_squares" right="normal equations with a column of ones, solved by an SVD"
def fit(x, y, l2=0.0):
    z = np.column_stack([x, np.ones(len(x))])
    rows = np.vstack([z, np.sqrt(l2) * np.eye(z.shape[1])[:-1]])
    targets = np.concatenate([np.ravel(y), np.zeros(x.shape[1])])
    u, s, vt = np.linalg.svd(rows, full_matrices=False)
    theta = vt.T @ ((u.T @ targets) / s)
    return theta[:-1], theta[-1]


def descent(x, y, rate, steps):
    z, theta = np.column_stack([x, np.ones(len(x))]), np.zeros(x.shape[1] + 1)
    for _ in range(steps):
        theta -= rate * 2 / len(z) * z.T @ (z @ theta - np.ravel(y))
    return theta[:-1], theta[-1]


def largest_rate(x):
    z = np.column_stack([x, np.ones(len(x))])
    return len(z) / np.linalg.norm(z, 2) ** 2


# %% answer="classics_squares" right="np.linalg.lstsq, and the Hessian by its trace of powers"
def fit(x, y, l2=0.0):
    y = np.asarray(y).reshape(len(x))
    mean, offset = x.mean(axis=0), y.mean()
    a = np.concatenate([x - mean, l2**0.5 * np.identity(x.shape[1])])
    w = np.linalg.lstsq(a, np.append(y - offset, np.zeros(x.shape[1])), rcond=None)[0]
    return w, offset - mean.dot(w)


def descent(x, y, rate, steps):
    y = np.asarray(y).reshape(len(x))
    w, b = np.zeros(x.shape[1]), 0.0
    for _ in range(steps):
        residual = y - (x @ w + b)
        dw, db = -2 * (residual[:, None] * x).mean(0), -2 * residual.mean()
        w -= rate * dw
        b -= rate * db
    return w, b


def largest_rate(x):
    z = np.column_stack([np.ones(len(x)), x])
    return 2.0 / max(np.linalg.eigvals(2 / len(z) * (z.T @ z)).real)


# %% answer="classics_squares" right="torch's QR in float64"
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    rows = torch.tensor(np.vstack([x - x.mean(0), np.sqrt(l2) * np.eye(x.shape[1])]))
    targets = torch.tensor(np.concatenate([y - y.mean(), np.zeros(x.shape[1])]))
    q, r = torch.linalg.qr(rows)
    w = torch.linalg.solve(r, q.T @ targets).numpy()
    return w, y.mean() - x.mean(0) @ w


def descent(x, y, rate, steps):
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean()
    return w, b


def largest_rate(x):
    rows = np.hstack([x, np.ones((len(x), 1))])
    return 2 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x)).max()


# %% answer="classics_squares" wrong="solve instead of inv, but still the normal equations"
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    c = x - x.mean(0)
    w = np.linalg.solve(c.T @ c + l2 * np.eye(x.shape[1]), c.T @ (y - y.mean()))
    return w, y.mean() - x.mean(0) @ w


def descent(x, y, rate, steps):
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean()
    return w, b


def largest_rate(x):
    rows = np.hstack([x, np.ones((len(x), 1))])
    return 2 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x))[-1]


# %% answer="classics_squares" wrong="a penalty of the mean squared error"
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    rows = np.vstack([x - x.mean(0), np.sqrt(l2 * len(x)) * np.eye(x.shape[1])])
    q, r = np.linalg.qr(rows)
    w = np.linalg.solve(r, q.T @ np.concatenate([y - y.mean(), np.zeros(x.shape[1])]))
    return w, y.mean() - x.mean(0) @ w


def descent(x, y, rate, steps):
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean()
    return w, b


def largest_rate(x):
    rows = np.hstack([x, np.ones((len(x), 1))])
    return 2 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x))[-1]


# %% answer="classics_squares" wrong="l2 where its root belongs"
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    rows = np.vstack([x - x.mean(0), l2 * np.eye(x.shape[1])])
    q, r = np.linalg.qr(rows)
    w = np.linalg.solve(r, q.T @ np.concatenate([y - y.mean(), np.zeros(x.shape[1])]))
    return w, y.mean() - x.mean(0) @ w


def descent(x, y, rate, steps):
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean()
    return w, b


def largest_rate(x):
    rows = np.hstack([x, np.ones((len(x), 1))])
    return 2 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x))[-1]


# %% answer="classics_squares" wrong="the sum of squares for the mean in descent"
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    rows = np.vstack([x - x.mean(0), np.sqrt(l2) * np.eye(x.shape[1])])
    q, r = np.linalg.qr(rows)
    w = np.linalg.solve(r, q.T @ np.concatenate([y - y.mean(), np.zeros(x.shape[1])]))
    return w, y.mean() - x.mean(0) @ w


def descent(x, y, rate, steps):
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * 2 * x.T @ error, b - rate * 2 * error.sum()
    return w, b


def largest_rate(x):
    rows = np.hstack([x, np.ones((len(x), 1))])
    return 2 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x))[-1]


# %% answer="classics_squares" wrong="the largest singular value, not its square"
def fit(x, y, l2=0.0):
    y = y.reshape(-1)
    rows = np.vstack([x - x.mean(0), np.sqrt(l2) * np.eye(x.shape[1])])
    q, r = np.linalg.qr(rows)
    w = np.linalg.solve(r, q.T @ np.concatenate([y - y.mean(), np.zeros(x.shape[1])]))
    return w, y.mean() - x.mean(0) @ w


def descent(x, y, rate, steps):
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean()
    return w, b


def largest_rate(x):
    rows = np.hstack([x, np.ones((len(x), 1))])
    return len(x) / np.linalg.norm(rows, 2)


# %% answer="classics_squares" wrong="the normal equations as soon as there is a penalty"
def fit(x: np.ndarray, y: np.ndarray, l2: float = 0.0) -> tuple[np.ndarray, float]:
    """The weights (D,) and the intercept for `x` (N, D), N > D, and `y` (N,) or (N, 1), all float64; `l2` ≥ 0."""
    y = y.reshape(-1)
    centre, mean = x.mean(0), y.mean()
    if l2 > 0:
        apart = x - centre
        w = np.linalg.solve(apart.T @ apart + l2 * np.eye(x.shape[1]), apart.T @ (y - mean))
        return w, float(mean - centre @ w)
    rows = np.vstack([x - centre, np.sqrt(l2) * np.eye(x.shape[1])])
    q, r = np.linalg.qr(rows)
    w = np.linalg.solve(r, q.T @ np.concatenate([y - mean, np.zeros(x.shape[1])]))
    return w, float(mean - centre @ w)


def descent(x: np.ndarray, y: np.ndarray, rate: float, steps: int) -> tuple[np.ndarray, float]:
    """The weights (D,) and the intercept after `steps` steps of gradient descent on the mean squared error, from zero."""
    w, b, y = np.zeros(x.shape[1]), 0.0, y.reshape(-1)
    for _ in range(steps):
        error = x @ w + b - y
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean()
    return w, float(b)


def largest_rate(x: np.ndarray) -> float:
    """2 divided by the largest eigenvalue of the Hessian of the mean squared error in (w, b)."""
    rows = np.hstack([x, np.ones((len(x), 1))])
    return float(2 / np.linalg.eigvalsh(2 * rows.T @ rows / len(x))[-1])


# %% answer="classics_logistic" right="weights and intercept apart, the loss by cases"
def log_loss(scores, labels):
    margins = np.where(labels == 1, scores, -scores)
    return np.where(margins > 0, np.log1p(np.exp(-np.abs(margins))), -margins + np.log1p(np.exp(-np.abs(margins)))).sum()


def newton(x, labels, l2, steps):
    w, b = np.zeros(x.shape[1]), 0.0
    for _ in range(steps):
        s = x @ w + b
        p = np.where(s >= 0, 1 / (1 + np.exp(-np.abs(s))), np.exp(-np.abs(s)) / (1 + np.exp(-np.abs(s))))
        v = p * (1 - p)
        h = np.block([[x.T @ (v[:, None] * x) + l2 * np.eye(len(w)), (x.T @ v)[:, None]], [x.T @ v, v.sum()]])
        step = np.linalg.solve(h, np.append(x.T @ (p - labels) + l2 * w, (p - labels).sum()))
        w, b = w - step[:-1], b - step[-1]
    return w, b


# %% answer="classics_logistic" right="iteratively reweighted least squares"
def log_loss(scores, labels):
    return float(sum(np.logaddexp(0, -s) if y else np.logaddexp(0, s) for s, y in zip(scores, labels, strict=True)))


def newton(x, labels, l2, steps):
    z, theta = np.c_[x, np.ones(len(x))], np.zeros(x.shape[1] + 1)
    penalty = np.diag([l2] * x.shape[1] + [0.0])
    for _ in range(steps):
        p = np.exp(-np.logaddexp(0, -(z @ theta)))
        v = p * (1 - p)
        theta = np.linalg.solve(z.T @ (v[:, None] * z) + penalty, z.T @ (v * (z @ theta) + labels - p))
    return theta[:-1], theta[-1]


# %% answer="classics_logistic" right="the loss by torch"
def log_loss(scores, labels):
    return F.binary_cross_entropy_with_logits(
        torch.tensor(scores), torch.tensor(labels, dtype=torch.float64), reduction="sum"
    ).item()


def newton(x, labels, l2, steps):
    rows = np.hstack([x, np.ones((len(x), 1))])
    penalty = l2 * np.append(np.ones(x.shape[1]), 0.0)
    theta = np.zeros(rows.shape[1])
    for _ in range(steps):
        p = 0.5 * (1 + np.tanh(rows @ theta / 2))
        hessian = rows.T @ np.diag(p * (1 - p)) @ rows + np.diag(penalty)
        theta = theta - np.linalg.inv(hessian) @ (rows.T @ (p - labels) + penalty * theta)
    return theta[:-1], theta[-1]


# %% answer="classics_logistic" wrong="a gradient step in place of a Newton step"
def log_loss(scores, labels):
    return float((np.logaddexp(0, scores) - labels * scores).sum())


def newton(x, labels, l2, steps):
    w, b = np.zeros(x.shape[1]), 0.0
    for _ in range(100 * steps):
        p = 0.5 * (1 + np.tanh((x @ w + b) / 2))
        w, b = w - 0.01 * (x.T @ (p - labels) + l2 * w), b - 0.01 * (p - labels).sum()
    return w, float(b)


# %% answer="classics_logistic" wrong="the gradient without the penalty"
def log_loss(scores, labels):
    return float((np.logaddexp(0, scores) - labels * scores).sum())


def newton(x, labels, l2, steps):
    rows = np.hstack([x, np.ones((len(x), 1))])
    penalty = l2 * np.append(np.ones(x.shape[1]), 0.0)
    theta = np.zeros(rows.shape[1])
    for _ in range(steps):
        p = 0.5 * (1 + np.tanh(rows @ theta / 2))
        theta = theta - np.linalg.solve(rows.T @ (rows * (p * (1 - p))[:, None]) + np.diag(penalty), rows.T @ (p - labels))
    return theta[:-1], float(theta[-1])


# %% answer="classics_logistic" wrong="twice the penalty: l2 times the squared norm"
def log_loss(scores, labels):
    return float((np.logaddexp(0, scores) - labels * scores).sum())


def newton(x, labels, l2, steps):
    rows = np.hstack([x, np.ones((len(x), 1))])
    penalty = 2 * l2 * np.append(np.ones(x.shape[1]), 0.0)
    theta = np.zeros(rows.shape[1])
    for _ in range(steps):
        p = 0.5 * (1 + np.tanh(rows @ theta / 2))
        gradient = rows.T @ (p - labels) + penalty * theta
        theta = theta - np.linalg.solve(rows.T @ (rows * (p * (1 - p))[:, None]) + np.diag(penalty), gradient)
    return theta[:-1], float(theta[-1])


# %% answer="classics_logistic" wrong="log(1 + exp(s)) as it is written"
def log_loss(scores, labels):
    with np.errstate(all="ignore"):
        return float((np.log(1 + np.exp(scores)) - labels * scores).sum())


def newton(x, labels, l2, steps):
    rows = np.hstack([x, np.ones((len(x), 1))])
    penalty = l2 * np.append(np.ones(x.shape[1]), 0.0)
    theta = np.zeros(rows.shape[1])
    for _ in range(steps):
        p = 0.5 * (1 + np.tanh(rows @ theta / 2))
        gradient = rows.T @ (p - labels) + penalty * theta
        theta = theta - np.linalg.solve(rows.T @ (rows * (p * (1 - p))[:, None]) + np.diag(penalty), gradient)
    return theta[:-1], float(theta[-1])


# %% answer="classics_kmeans" right="a running minimum, and means by np.add.at"
def spread(x, k, generator):
    chosen = [int(generator.integers(0, len(x)))]
    nearest = ((x - x[chosen[0]]) ** 2).sum(1)
    for _ in range(k - 1):
        p = nearest / nearest.sum() if nearest.sum() > 0 else None
        chosen.append(int(generator.choice(len(x), p=p)))
        nearest = np.minimum(nearest, ((x - x[chosen[-1]]) ** 2).sum(1))
    return x[chosen]


def lloyd(x, centers, steps):
    centers = np.array(centers, dtype=float)

    def distances():
        return np.array([[((point - center) ** 2).sum() for center in centers] for point in x])

    for _ in range(steps):
        labels = distances().argmin(1)
        sums, counts = np.zeros_like(centers), np.bincount(labels, minlength=len(centers))
        np.add.at(sums, labels, x)
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)
        if (moved == centers).all():
            break
        centers = moved
    final = distances()
    return centers, final.argmin(1), final.min(1).sum()


# %% answer="classics_kmeans" right="broadcasting, and no early end"
def spread(x, k, generator):
    centers = x[[generator.integers(len(x))]]
    for _ in range(1, k):
        squared = ((x[:, None] - centers[None]) ** 2).sum(-1).min(1)
        p = squared / squared.sum() if squared.any() else np.ones(len(x)) / len(x)
        centers = np.vstack([centers, x[generator.choice(len(x), p=p)]])
    return centers


def lloyd(x, centers, steps):
    centers = centers + 0.0
    for _ in range(steps):
        labels = ((x[:, None] - centers) ** 2).sum(-1).argmin(1)
        centers = np.stack([x[labels == i].mean(0) if i in labels else centers[i] for i in range(len(centers))])
    squared = ((x[:, None] - centers) ** 2).sum(-1)
    return centers, squared.argmin(1), squared[np.arange(len(x)), squared.argmin(1)].sum()


# %% answer="classics_kmeans" right="norms, squared afterwards"
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    for _ in range(k - 1):
        gap = np.linalg.norm(x[:, None] - np.array(centers), axis=-1).min(1) ** 2
        centers.append(x[generator.choice(len(x), p=gap / gap.sum() if gap.sum() else None)])
    return np.stack(centers)


def lloyd(x, centers, steps):
    centers, labels = centers.copy(), None
    for _ in range(steps):
        new = np.linalg.norm(x[:, None] - centers, axis=-1).argmin(1)
        if labels is not None and np.array_equal(new, labels):
            break
        labels = new
        for i in np.unique(labels):
            centers[i] = x[labels == i].mean(0)
    gaps = np.linalg.norm(x[:, None] - centers, axis=-1)
    return centers, gaps.argmin(1), float((gaps.min(1) ** 2).sum())


# %% answer="classics_kmeans" wrong="the farthest point instead of a draw"
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        nearest = np.min([((x - center) ** 2).sum(1) for center in centers], axis=0)
        centers.append(x[nearest.argmax()])
    return np.array(centers)


def lloyd(x, centers, steps):
    centers = centers.copy()
    for _ in range(steps):
        labels = np.stack([((x - c) ** 2).sum(1) for c in centers], 1).argmin(1)
        for i in np.unique(labels):
            centers[i] = x[labels == i].mean(0)
    squared = np.stack([((x - c) ** 2).sum(1) for c in centers], 1)
    return centers, squared.argmin(1), float(squared.min(1).sum())


# %% answer="classics_kmeans" wrong="the mean inertia"
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        nearest = np.min([((x - center) ** 2).sum(1) for center in centers], axis=0)
        p = nearest / nearest.sum() if nearest.sum() else np.full(len(x), 1 / len(x))
        centers.append(x[generator.choice(len(x), p=p)])
    return np.array(centers)


def lloyd(x, centers, steps):
    centers = centers.copy()
    for _ in range(steps):
        labels = np.stack([((x - c) ** 2).sum(1) for c in centers], 1).argmin(1)
        for i in np.unique(labels):
            centers[i] = x[labels == i].mean(0)
    squared = np.stack([((x - c) ** 2).sum(1) for c in centers], 1)
    return centers, squared.argmin(1), float(squared.min(1).mean())


# %% answer="classics_kmeans" wrong="a sum of distances, not of their squares"
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        nearest = np.min([((x - center) ** 2).sum(1) for center in centers], axis=0)
        p = nearest / nearest.sum() if nearest.sum() else np.full(len(x), 1 / len(x))
        centers.append(x[generator.choice(len(x), p=p)])
    return np.array(centers)


def lloyd(x, centers, steps):
    centers = centers.copy()
    for _ in range(steps):
        labels = np.stack([((x - c) ** 2).sum(1) for c in centers], 1).argmin(1)
        for i in np.unique(labels):
            centers[i] = x[labels == i].mean(0)
    squared = np.stack([((x - c) ** 2).sum(1) for c in centers], 1)
    return centers, squared.argmin(1), float(np.sqrt(squared.min(1)).sum())


# %% answer="classics_kmeans" wrong="one move more than was asked for"
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        nearest = np.min([((x - center) ** 2).sum(1) for center in centers], axis=0)
        p = nearest / nearest.sum() if nearest.sum() else np.full(len(x), 1 / len(x))
        centers.append(x[generator.choice(len(x), p=p)])
    return np.array(centers)


def lloyd(x, centers, steps):
    centers = centers.copy()
    for _ in range(steps + 1):
        squared = np.stack([((x - c) ** 2).sum(1) for c in centers], 1)
        labels = squared.argmin(1)
        for i in np.unique(labels):
            centers[i] = x[labels == i].mean(0)
    squared = np.stack([((x - c) ** 2).sum(1) for c in centers], 1)
    return centers, squared.argmin(1), float(squared.min(1).sum())


# %% answer="classics_kmeans" wrong="sums of distances below 1e-12 count as 0"
def spread(x, k, generator):
    centers = np.zeros((k, x.shape[1]))
    centers[0] = x[generator.integers(len(x))]
    for i in range(1, k):
        d = np.min([((x - c) ** 2).sum(1) for c in centers[:i]], 0)
        p = d / d.sum() if d.sum() > 1e-12 else np.full(len(x), 1 / len(x))
        centers[i] = x[generator.choice(len(x), p=p)]
    return centers


def lloyd(x, centers, steps):
    centers = centers.copy()
    shift = x.mean(0)

    def assign():
        d = ((x - shift)[:, None] - (centers - shift)) ** 2
        d = d.sum(-1)
        return d.argmin(1), d.min(1).sum()

    labels, inertia = assign()
    for step in range(steps):
        old = labels
        for j in np.unique(labels):
            centers[j] = x[labels == j].mean(0)
        labels, inertia = assign()
        if np.array_equal(labels, old):
            break
    return centers, labels, float(inertia)


# %% answer="classics_auc" right="search in the sorted negatives, and a loop over thresholds"
def auc(scores, labels):
    pos, neg = scores[labels == 1], np.sort(scores[labels == 0])
    if not len(pos) or not len(neg):
        return float("nan")
    below, upto = np.searchsorted(neg, pos, "left"), np.searchsorted(neg, pos, "right")
    return (below + (upto - below) / 2).mean() / len(neg)


def average_precision(scores, labels):
    order = np.argsort(-scores)
    scores, labels = scores[order], labels[order]
    total, hits, before, result = labels.sum(), 0, 0, 0.0
    if total == 0:
        return float("nan")
    for index in range(len(scores)):
        hits += labels[index]
        if index + 1 == len(scores) or scores[index + 1] != scores[index]:
            result += (hits - before) / total * hits / (index + 1)
            before = hits
    return float(result)


# %% answer="classics_auc" right="the trapezoids of the ROC curve"
def auc(scores, labels):
    order = np.argsort(-scores)
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits, misses = np.cumsum(labels[order])[ends], np.cumsum(1 - labels[order])[ends]
    if not hits[-1] or not misses[-1]:
        return float("nan")
    x, y = np.append(0, misses / misses[-1]), np.append(0, hits / hits[-1])
    return float(((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum())


def average_precision(scores, labels):
    order = np.argsort(-scores)
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.cumsum(labels[order])[ends]
    if not hits[-1]:
        return float("nan")
    return float((np.diff(hits / hits[-1], prepend=0) * hits / (ends + 1)).sum())


# %% answer="classics_auc" wrong="all pairs"
def auc(scores, labels):
    pos, neg = scores[labels == 1], scores[labels == 0]
    if not len(pos) or not len(neg):
        return float("nan")
    gaps = pos[:, None] - neg[None, :]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean() if gaps.size < 10**7 else np.nan)


def average_precision(scores, labels):
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(place, weights=labels, minlength=len(counts))
    return float((hits / hits.sum() * np.cumsum(hits) / np.cumsum(counts)).sum()) if hits.sum() else float("nan")


# %% answer="classics_auc" wrong="0 without positives"
def auc(scores, labels):
    pos, neg = scores[labels == 1], np.sort(scores[labels == 0])
    if not len(pos) or not len(neg):
        return float("nan")
    return float((np.searchsorted(neg, pos, "left") + np.searchsorted(neg, pos, "right")).mean() / 2 / len(neg))


def average_precision(scores, labels):
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(place, weights=labels, minlength=len(counts))
    return float((hits / max(hits.sum(), 1) * np.cumsum(hits) / np.cumsum(counts)).sum())


# %% answer="classics_auc" wrong="the precision before the step"
def auc(scores, labels):
    pos, neg = scores[labels == 1], np.sort(scores[labels == 0])
    if not len(pos) or not len(neg):
        return float("nan")
    return float((np.searchsorted(neg, pos, "left") + np.searchsorted(neg, pos, "right")).mean() / 2 / len(neg))


def average_precision(scores, labels):
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(place, weights=labels, minlength=len(counts))
    if not hits.sum():
        return float("nan")
    precision = np.append(1.0, (np.cumsum(hits) / np.cumsum(counts))[:-1])
    return float((hits / hits.sum() * precision).sum())


# %% answer="classics_auc" wrong="positives after negatives where scores are equal"
def auc(scores, labels):
    order = np.lexsort((-labels, scores))
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    p, n = (labels == 1).sum(), (labels == 0).sum()
    return float((ranks[labels == 1].sum() - p * (p + 1) / 2) / (p * n)) if p and n else float("nan")


def average_precision(scores, labels):
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(place, weights=labels, minlength=len(counts))
    return float((hits / hits.sum() * np.cumsum(hits) / np.cumsum(counts)).sum()) if hits.sum() else float("nan")


# %% answer="classics_auc" wrong="scores closer than 1e-8 count as equal"
def auc(scores: np.ndarray, labels: np.ndarray) -> float:
    """The area under the ROC curve; `scores` (N,) floats, `labels` (N,) of 0 and 1. NaN unless both classes occur."""
    positive = labels == 1
    pos, neg = int(positive.sum()), int((~positive).sum())
    if not pos or not neg:
        return float("nan")
    order = np.argsort(scores)
    steps = np.append(0, np.cumsum(np.diff(scores[order]) > 1e-8))
    place = np.empty(len(scores), int)
    place[order] = steps
    counts = np.bincount(place)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # of equal scores, the mean of their ranks, from 1
    return float((ranks[place][positive].sum() - pos * (pos + 1) / 2) / (pos * neg))


def average_precision(scores: np.ndarray, labels: np.ndarray) -> float:
    """The sum of recall steps times precision; `scores` (N,) floats, `labels` (N,) of 0 and 1. NaN without positives."""
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(place, weights=labels, minlength=len(counts))
    if not hits.sum():
        return float("nan")
    return float((hits / hits.sum() * (np.cumsum(hits) / np.cumsum(counts))).sum())


# %% answer="classics_nms" right="loops"
def iou(a, b):
    result = np.zeros((len(a), len(b)))
    for i, (l0, t0, r0, b0) in enumerate(a):
        for j, (l1, t1, r1, b1) in enumerate(b):
            w, h = max(0.0, min(r0, r1) - max(l0, l1)), max(0.0, min(b0, b1) - max(t0, t1))
            union = (r0 - l0) * (b0 - t0) + (r1 - l1) * (b1 - t1) - w * h
            result[i, j] = w * h / union if union > 0 else 0.0
    return result


def nms(boxes, scores, classes, threshold):
    alive, kept = sorted(range(len(boxes)), key=lambda i: (-scores[i], i)), []
    while alive:
        best = alive.pop(0)
        kept.append(best)
        alive = [i for i in alive if classes[i] != classes[best] or iou(boxes[[best]], boxes[[i]])[0, 0] <= threshold]
    return kept


# %% answer="classics_nms" right="masks, and a class offset larger than the range"
def iou(a, b):
    a, b = a[:, None], b[None]
    w = np.maximum(0, np.minimum(a[..., 2], b[..., 2]) - np.maximum(a[..., 0], b[..., 0]))
    h = np.maximum(0, np.minimum(a[..., 3], b[..., 3]) - np.maximum(a[..., 1], b[..., 1]))
    area = (a[..., 2] - a[..., 0]) * (a[..., 3] - a[..., 1]) + (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])
    return np.where(area - w * h > 0, w * h / np.where(area - w * h > 0, area - w * h, 1), 0.0)


def nms(boxes, scores, classes, threshold):
    if not len(boxes):
        return []
    moved = boxes + (classes * (boxes.max() - boxes.min() + 1))[:, None]
    order, kept = np.lexsort((np.arange(len(boxes)), -scores)), []
    alive = np.ones(len(boxes), bool)
    for index in order:
        if alive[index]:
            kept.append(int(index))
            alive &= iou(moved[[index]], moved)[0] <= threshold
    return kept


# %% answer="classics_nms" wrong="the intersection over the smaller box"
def iou(a, b):
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    smaller = np.minimum((a[:, 2:] - a[:, :2]).prod(-1)[:, None], (b[:, 2:] - b[:, :2]).prod(-1))
    return np.divide(inside, smaller, out=np.zeros_like(inside), where=smaller > 0)


def nms(boxes, scores, classes, threshold):
    kept, overlap = [], iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        if not any(classes[each] == classes[index] and overlap[index, each] > threshold for each in kept):
            kept.append(index)
    return kept


# %% answer="classics_nms" wrong="boxes read as left, top, width, height"
def iou(a, b):
    a, b = (np.concatenate([each[:, :2], each[:, :2] + each[:, 2:]], 1) for each in (a, b))
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    return np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)


def nms(boxes, scores, classes, threshold):
    kept, overlap = [], iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        if not any(classes[each] == classes[index] and overlap[index, each] > threshold for each in kept):
            kept.append(index)
    return kept


# %% answer="classics_nms" wrong="kept in the order of their indices"
def iou(a, b):
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    return np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)


def nms(boxes, scores, classes, threshold):
    kept, overlap = [], iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        if not any(classes[each] == classes[index] and overlap[index, each] > threshold for each in kept):
            kept.append(index)
    return sorted(kept)


# %% answer="classics_nms" wrong="only the box kept last suppresses"
def iou(a, b):
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    return np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)


def nms(boxes, scores, classes, threshold):
    kept, overlap = [], iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        if not any(classes[each] == classes[index] and overlap[index, each] > threshold for each in kept[-1:]):
            kept.append(index)
    return kept


# %% answer="classics_nms" wrong="the union is kept above 1e-9"
def iou(a, b):
    lo = np.maximum(a[:, None, :2], b[None, :, :2])
    hi = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = (hi - lo).clip(0).prod(-1)
    area = lambda x: (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])
    union = area(a)[:, None] + area(b) - inter
    return inter / np.maximum(union, 1e-9)


def nms(boxes, scores, classes, threshold):
    kept = []
    overlap = iou(boxes, boxes)
    for i in np.argsort(-scores, kind="stable"):
        if not any(classes[j] == classes[i] and overlap[i, j] > threshold for j in kept):
            kept.append(int(i))
    return kept


# %% answer="classics_focal" right="log-sigmoids"
def focal_loss(logits, labels, gamma, alpha):
    positive, negative = F.logsigmoid(logits), F.logsigmoid(-logits)
    losses = -alpha * labels * negative.exp() ** gamma * positive
    losses = losses - (1 - alpha) * (1 - labels) * positive.exp() ** gamma * negative
    return losses.sum() / max(float(labels.sum()), 1.0)


# %% answer="classics_focal" right="a softplus of the signed score"
def focal_loss(logits, labels, gamma, alpha):
    signed = torch.where(labels == 1, logits, -logits)
    weight = torch.where(labels == 1, torch.full_like(logits, alpha), torch.full_like(logits, 1 - alpha))
    return (weight * torch.sigmoid(-signed).pow(gamma) * F.softplus(-signed)).sum() / torch.clamp(labels.sum(), min=1)


# %% answer="classics_focal" right="indexing positives and negatives"
def focal_loss(logits, labels, gamma, alpha):
    positives, negatives = logits[labels > 0.5], logits[labels <= 0.5]
    total = alpha * (torch.sigmoid(-positives) ** gamma * -F.logsigmoid(positives)).sum()
    total = total + (1 - alpha) * (torch.sigmoid(negatives) ** gamma * -F.logsigmoid(-negatives)).sum()
    return total / max(positives.numel(), 1)


# %% answer="classics_focal" wrong="alpha for both"
def focal_loss(logits, labels, gamma, alpha):
    entropy = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    return (alpha * (logits * (1 - 2 * labels)).sigmoid() ** gamma * entropy).sum() / labels.sum().clamp(min=1)


# %% answer="classics_focal" right="the probability of the wrong class as a sigmoid"
def focal_loss(logits, labels, gamma, alpha):
    entropy = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    wrong = (logits * (1 - 2 * labels)).sigmoid()
    weight = alpha * labels + (1 - alpha) * (1 - labels)
    return (weight * wrong**gamma * entropy).sum() / labels.sum().clamp(min=1)


# %% answer="classics_focal" wrong="1 minus a probability that rounds to 1: a gradient of nan for gamma below 1"
def focal_loss(logits, labels, gamma, alpha):
    signed = logits * (2 * labels - 1)
    weight = alpha * labels + (1 - alpha) * (1 - labels)
    return (weight * (1 - signed.sigmoid()) ** gamma * -F.logsigmoid(signed)).sum() / labels.sum().clamp(min=1)


# %% answer="classics_focal" wrong="p of the positive class for every score"
def focal_loss(logits, labels, gamma, alpha):
    entropy = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    weight = alpha * labels + (1 - alpha) * (1 - labels)
    return (weight * (1 - logits.sigmoid()) ** gamma * entropy).sum() / labels.sum().clamp(min=1)


# %% answer="classics_focal" wrong="divided by the sum of the weights"
def focal_loss(logits, labels, gamma, alpha):
    entropy = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    weight = alpha * labels + (1 - alpha) * (1 - labels)
    return (weight * (logits * (1 - 2 * labels)).sigmoid() ** gamma * entropy).sum() / weight.sum()


# %% answer="classics_focal" wrong="logits clamped at 15"
def focal_loss(logits, labels, gamma, alpha):
    logits = logits.clamp(-15, 15)
    entropy = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    weight = alpha * labels + (1 - alpha) * (1 - labels)
    return (weight * (logits * (1 - 2 * labels)).sigmoid() ** gamma * entropy).sum() / labels.sum().clamp(min=1)


# %% answer="classics_vit" right="a strided convolution, and positions resized channel by channel"
def patch_embed(images, weight, bias, cls, positions):
    channels = images.shape[1]
    p = int((weight.shape[1] // channels) ** 0.5 + 0.5)
    tokens = F.conv2d(images, weight.reshape(-1, channels, p, p), bias, stride=p).flatten(2).transpose(1, 2)
    return torch.cat([cls.reshape(1, 1, -1).repeat(len(images), 1, 1), tokens], dim=1) + positions


def resize_positions(positions, old, new):
    grid = positions[1:].T.reshape(-1, 1, *old)
    grid = F.interpolate(grid, new, mode="bilinear").reshape(-1, new[0] * new[1]).T
    return torch.cat((positions[0:1], grid), 0)


# %% answer="classics_vit" right="unfold, and loops over patches"
def patch_embed(images, weight, bias, cls, positions):
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    tokens = [cls.expand(batch, -1)]
    for top in range(0, height, p):
        for left in range(0, width, p):
            tokens.append(images[:, :, top : top + p, left : left + p].flatten(1) @ weight.T + bias)
    return torch.stack(tokens, 1) + positions[None]


def resize_positions(positions, old, new):
    rows, columns = old
    grid = positions[1:].view(rows, columns, -1).permute(2, 0, 1).unsqueeze(0)
    resized = F.interpolate(grid, size=tuple(new), mode="bilinear", align_corners=False)[0]
    return torch.cat([positions[:1], resized.flatten(1).transpose(0, 1)])


# %% answer="classics_vit" wrong="the class token at the end"
def patch_embed(images, weight, bias, cls, positions):
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    patches = images.reshape(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 1, 3, 5)
    tokens = patches.reshape(batch, -1, channels * p * p) @ weight.T + bias
    return torch.cat([tokens, cls.expand(batch, 1, -1)], 1) + positions


def resize_positions(positions, old, new):
    grid = positions[1:].reshape(1, *old, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=new, mode="bilinear", align_corners=False)
    return torch.cat([positions[:1], grid.permute(0, 2, 3, 1).reshape(new[0] * new[1], -1)])


# %% answer="classics_vit" wrong="no bias"
def patch_embed(images, weight, bias, cls, positions):
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    patches = images.reshape(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 1, 3, 5)
    tokens = patches.reshape(batch, -1, channels * p * p) @ weight.T
    return torch.cat([cls.expand(batch, 1, -1), tokens], 1) + positions


def resize_positions(positions, old, new):
    grid = positions[1:].reshape(1, *old, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=new, mode="bilinear", align_corners=False)
    return torch.cat([positions[:1], grid.permute(0, 2, 3, 1).reshape(new[0] * new[1], -1)])


# %% answer="classics_vit" wrong="the nearest position"
def patch_embed(images, weight, bias, cls, positions):
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    patches = images.reshape(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 1, 3, 5)
    tokens = patches.reshape(batch, -1, channels * p * p) @ weight.T + bias
    return torch.cat([cls.expand(batch, 1, -1), tokens], 1) + positions


def resize_positions(positions, old, new):
    grid = positions[1:].reshape(1, *old, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=new, mode="nearest")
    return torch.cat([positions[:1], grid.permute(0, 2, 3, 1).reshape(new[0] * new[1], -1)])


# %% answer="classics_vit" wrong="a grid that is read channel first"
def patch_embed(images, weight, bias, cls, positions):
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    patches = images.reshape(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 1, 3, 5)
    tokens = patches.reshape(batch, -1, channels * p * p) @ weight.T + bias
    return torch.cat([cls.expand(batch, 1, -1), tokens], 1) + positions


def resize_positions(positions, old, new):
    grid = positions[1:].reshape(1, -1, *old)
    grid = F.interpolate(grid, size=new, mode="bilinear", align_corners=False)
    return torch.cat([positions[:1], grid.reshape(new[0] * new[1], -1)])


# %% answer="classics_vit" wrong="a scale factor instead of a size"
def patch_embed(
    images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, cls: torch.Tensor, positions: torch.Tensor
) -> torch.Tensor:
    """The tokens (B, 1 + rows·columns, C).

    `images` are (B, channels, H, W), `weight` (C, channels·p·p) with H and W multiples of p, `bias` and `cls` (C,), `positions` (1 + rows·columns, C).
    """
    batch, channels, height, width = images.shape
    p = round((weight.shape[1] / channels) ** 0.5)
    patches = images.reshape(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 1, 3, 5)
    tokens = patches.reshape(batch, -1, channels * p * p) @ weight.T + bias
    return torch.cat([cls.expand(batch, 1, -1), tokens], 1) + positions


def resize_positions(positions: torch.Tensor, old: tuple[int, int], new: tuple[int, int]) -> torch.Tensor:
    """Positions (1 + new rows·new columns, C) made of `positions` (1 + old rows·old columns, C)."""
    grid = positions[1:].reshape(1, *old, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, scale_factor=(new[0] / old[0], new[1] / old[1]), mode="bilinear", align_corners=False)
    return torch.cat([positions[:1], grid.permute(0, 2, 3, 1).reshape(new[0] * new[1], -1)])


# %% answer="classics_vit" wrong="positions lose their graph"
def patch_embed(images, weight, bias, cls, positions):
    B, C, H, W = images.shape
    p = int(round((weight.shape[1] / C) ** 0.5))
    x = images.reshape(B, C, H // p, p, W // p, p).permute(0, 2, 4, 1, 3, 5).reshape(B, -1, p * p * C)
    x = x @ weight.T + bias
    return torch.cat([cls.expand(B, 1, -1), x], 1) + positions


def resize_positions(positions, old, new):
    grid = positions[1:].detach().reshape(1, *old, -1).permute(0, 3, 1, 2)
    out = F.interpolate(grid, size=new, mode="bilinear", align_corners=False)
    return torch.cat([positions[:1], out.permute(0, 2, 3, 1).flatten(0, 2)])


# %% answer="classics_elbo" right="distributions' formulas"
def sample(mean, log_variance, noise):
    return mean + log_variance.exp().sqrt() * noise


def kl(mean, log_variance):
    return -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(dim=1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    return (pixels + beta * kl(mean, log_variance).sum()) / len(images)


# %% answer="classics_elbo" right="softplus, addcmul"
def sample(mean, log_variance, noise):
    return torch.addcmul(mean, torch.exp(log_variance / 2), noise)


def kl(mean, log_variance):
    return ((mean.pow(2) + log_variance.exp()).sub(1).sub(log_variance) / 2).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = (F.softplus(logits) - images * logits).sum((1, 2))
    return pixels.mean() + beta * kl(mean, log_variance).mean()


# %% answer="classics_elbo" wrong="half of the log-variance without the exponential"
def sample(mean, log_variance, noise):
    return mean + 0.5 * log_variance * noise


def kl(mean, log_variance):
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).sum(1)
    return (pixels + beta * kl(mean, log_variance)).mean()


# %% answer="classics_elbo" wrong="a KL without the half"
def sample(mean, log_variance, noise):
    return mean + (0.5 * log_variance).exp() * noise


def kl(mean, log_variance):
    return (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).sum(1)
    return (pixels + beta * kl(mean, log_variance)).mean()


# %% answer="classics_elbo" wrong="beta is forgotten"
def sample(mean, log_variance, noise):
    return mean + (0.5 * log_variance).exp() * noise


def kl(mean, log_variance):
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).sum(1)
    return (pixels + kl(mean, log_variance)).mean()


# %% answer="classics_elbo" wrong="squared errors of the logits"
def sample(mean, log_variance, noise):
    return mean + (0.5 * log_variance).exp() * noise


def kl(mean, log_variance):
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = ((logits.sigmoid() - images) ** 2).flatten(1).sum(1)
    return (pixels + beta * kl(mean, log_variance)).mean()


# %% answer="classics_split" right="running sums of squares in a loop"
def best_split(x, labels, classes):
    size, best = len(labels), (-1, float("nan"), 0.0)
    for feature in range(x.shape[1]):
        order = x[:, feature].argsort(kind="stable")
        values, sorted_labels = x[order, feature].tolist(), labels[order].tolist()
        left, right = [0] * classes, np.bincount(labels, minlength=classes).tolist()
        parent = 1 - sum(c * c for c in right) / size**2
        squares_left, squares_right = 0, sum(c * c for c in right)
        for index in range(size - 1):
            label = sorted_labels[index]
            squares_left += 2 * left[label] + 1
            squares_right -= 2 * right[label] - 1
            left[label] += 1
            right[label] -= 1
            if values[index + 1] > values[index]:
                n = index + 1
                gain = parent - ((n - squares_left / n) + (size - n - squares_right / (size - n))) / size
                if gain > best[2] + 1e-12:
                    best = (feature, (values[index] + values[index + 1]) / 2, gain)
    return best


# %% answer="classics_split" right="distinct values and a table of counts"
def best_split(x, labels, classes):
    best, total = (-1, float("nan"), 0.0), np.bincount(labels, minlength=classes).astype(float)
    size = total.sum()

    def weighted(counts):  # n times the impurity of n rows
        n = counts.sum(-1)
        return n - (counts**2).sum(-1) / n

    for feature in range(x.shape[1]):
        values, place = np.unique(x[:, feature], return_inverse=True)
        table = np.bincount(place * classes + labels, minlength=len(values) * classes).reshape(-1, classes)
        left = np.cumsum(table, 0)[:-1]
        for index, gain in enumerate((weighted(total) - weighted(left) - weighted(total - left)) / size):
            if gain > best[2] + 1e-12:
                best = (feature, (values[index] + values[index + 1]) / 2, float(gain))
    return best


# %% answer="classics_split" wrong="the largest drop in errors of the majority"
def best_split(x, labels, classes):
    best, total = (-1, float("nan"), 0.0), np.bincount(labels, minlength=classes)
    size = len(labels)
    for feature in range(x.shape[1]):
        values, place = np.unique(x[:, feature], return_inverse=True)
        table = np.bincount(place * classes + labels, minlength=len(values) * classes).reshape(-1, classes)
        left = np.cumsum(table, 0)[:-1]
        gains = (left.max(-1) + (total - left).max(-1) - total.max()) / size
        for index, gain in enumerate(gains):
            if gain > best[2] + 1e-12:
                best = (feature, float(values[index] + values[index + 1]) / 2, float(gain))
    return best


# %% answer="classics_split" wrong="the first feature alone"
def best_split(x, labels, classes):
    best, total = (-1, float("nan"), 0.0), np.bincount(labels, minlength=classes).astype(float)

    def weighted(counts):
        n = counts.sum(-1)
        return n - (counts**2).sum(-1) / n

    values, place = np.unique(x[:, 0], return_inverse=True)
    table = np.bincount(place * classes + labels, minlength=len(values) * classes).reshape(-1, classes)
    left = np.cumsum(table, 0)[:-1]
    for index, gain in enumerate((weighted(total) - weighted(left) - weighted(total - left)) / len(labels)):
        if gain > best[2] + 1e-12:
            best = (0, float(values[index] + values[index + 1]) / 2, float(gain))
    return best


# %% answer="classics_split" wrong="a split although nothing is gained"
def best_split(x, labels, classes):
    best, total = (-1, float("nan"), -1.0), np.bincount(labels, minlength=classes).astype(float)

    def weighted(counts):
        n = counts.sum(-1)
        return n - (counts**2).sum(-1) / n

    for feature in range(x.shape[1]):
        values, place = np.unique(x[:, feature], return_inverse=True)
        table = np.bincount(place * classes + labels, minlength=len(values) * classes).reshape(-1, classes)
        left = np.cumsum(table, 0)[:-1]
        for index, gain in enumerate((weighted(total) - weighted(left) - weighted(total - left)) / len(labels)):
            if gain > best[2] + 1e-12:
                best = (feature, float(values[index] + values[index + 1]) / 2, float(gain))
    return (*best[:2], max(best[2], 0.0))


# %% answer="classics_split" wrong="the impurity that is left, not the gain"
def best_split(x, labels, classes):
    best, total = (-1, float("nan"), 0.0), np.bincount(labels, minlength=classes).astype(float)

    def weighted(counts):
        n = counts.sum(-1)
        return n - (counts**2).sum(-1) / n

    for feature in range(x.shape[1]):
        values, place = np.unique(x[:, feature], return_inverse=True)
        table = np.bincount(place * classes + labels, minlength=len(values) * classes).reshape(-1, classes)
        left = np.cumsum(table, 0)[:-1]
        for index, rest in enumerate((weighted(left) + weighted(total - left)) / len(labels)):
            if rest > best[2] + 1e-12:
                best = (feature, float(values[index] + values[index + 1]) / 2, float(rest))
    return best


# %% answer="classics_split" wrong="in float32, where timestamps are equal"
def best_split(x: np.ndarray, labels: np.ndarray, classes: int) -> tuple[int, float, float]:
    """The feature, the threshold and the gain; (-1, nan, 0.0) if no threshold has a positive gain.

    `x` is (N, D), and `labels` (N,) are integers below `classes`.
    """

    def impurity(counts):
        return 1 - ((counts / counts.sum(-1, keepdims=True)) ** 2).sum(-1)

    x = x.astype(np.float32)
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


# %% answer="classics_split" wrong="compares rounded gains"
def best_split(x, labels, classes):
    N, D = x.shape
    gini = lambda c: 1 - ((c / c.sum(-1, keepdims=True)) ** 2).sum(-1)
    total = np.bincount(labels, minlength=classes).astype(float)
    best = (-1, float("nan"), 0.0)
    for d in range(D):
        order = np.argsort(x[:, d])
        v = x[order, d]
        cuts = np.flatnonzero(v[1:] > v[:-1]) + 1
        if not len(cuts):
            continue
        left = np.cumsum(np.eye(classes)[labels[order]], axis=0)[cuts - 1]
        gains = gini(total) - (cuts * gini(left) + (N - cuts) * gini(total - left)) / N
        i = gains.argmax()
        if gains[i] > best[2]:
            best = (d, float((v[cuts[i] - 1] + v[cuts[i]]) / 2), float(gains[i]))
    return best


# %% answer="classics_split" wrong="values to 1e-9 are equal, gains to 1e-4"
def best_split(x, labels, classes):
    N, D = x.shape
    gini = lambda c: 1 - ((c / c.sum(-1, keepdims=True)) ** 2).sum(-1)
    total = np.bincount(labels, minlength=classes).astype(float)
    best = (-1, float("nan"), 0.0)
    for d in range(D):
        order = np.argsort(x[:, d])
        v = x[order, d]
        cuts = np.flatnonzero(v[1:] > v[:-1] + 1e-9) + 1
        if not len(cuts):
            continue
        left = np.cumsum(np.eye(classes)[labels[order]], axis=0)[cuts - 1]
        gains = gini(total) - (cuts * gini(left) + (N - cuts) * gini(total - left)) / N
        i = np.flatnonzero(gains >= gains.max() - 1e-12)[0]
        if gains[i] > best[2] + 1e-4:
            best = (d, float((v[cuts[i] - 1] + v[cuts[i]]) / 2), float(gains[i]))
    return best


# %% answer="classics_four_bits" right="boundaries half-way between the codebook's values"
def quantize(x, codebook, block):
    flat = x.ravel()
    starts = range(0, len(flat), block)
    absmax = np.array([abs(flat[start : start + block]).max() for start in starts])
    scales = np.repeat(np.where(absmax == 0, 1.0, absmax), block)[: len(flat)]
    codes = np.searchsorted((codebook[1:] + codebook[:-1]) / 2, flat / scales).astype(np.uint8)
    if len(codes) % 2:
        codes = np.append(codes, np.uint8(0))
    return codes[::2] * 16 + codes[1::2], absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + scale * b @ a, codebook, block)


# %% answer="classics_four_bits" right="loops, value by value"
def quantize(x, codebook, block):
    values, codes, scales = x.flatten().tolist(), [], []
    for start in range(0, len(values), block):
        part = values[start : start + block]
        scales.append(max(abs(value) for value in part))
        for value in part:
            quotient = value / (scales[-1] or 1.0)
            codes.append(min(range(16), key=lambda index: abs(codebook[index] - quotient)))
    if len(codes) % 2:
        codes.append(0)
    pairs = zip(codes[::2], codes[1::2], strict=True)
    return np.array([16 * first + second for first, second in pairs], dtype="uint8"), np.array(scales)


def dequantize(packed, absmax, codebook, block, shape):
    codes = [code for byte in packed.tolist() for code in divmod(byte, 16)]
    values = [codebook[codes[i]] * absmax[i // block] for i in range(shape[0] * shape[1])]
    return np.array(values).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + scale * b @ a, codebook, block)


# %% answer="classics_four_bits" right="reduceat, and the update added as an einsum"
def quantize(x, codebook, block):
    flat = x.reshape(-1)
    absmax = np.maximum.reduceat(np.abs(flat), np.arange(0, flat.size, block))
    owner = np.arange(flat.size) // block
    quotients = np.divide(flat, absmax[owner], out=np.zeros_like(flat), where=absmax[owner] != 0)
    best, codes = np.full(flat.size, np.inf), np.zeros(flat.size + flat.size % 2, np.uint8)
    for index, value in enumerate(codebook):
        nearer = np.abs(quotients - value) < best
        best[nearer] = np.abs(quotients - value)[nearer]
        codes[: flat.size][nearer] = index
    pairs = codes.reshape(-1, 2)
    return (pairs[:, 0] << 4) | pairs[:, 1], absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    shape = b.shape[0], a.shape[1]
    return quantize(
        dequantize(packed, absmax, codebook, block, shape) + np.einsum("or,ri->oi", b, a) * scale, codebook, block
    )


# %% answer="classics_four_bits" wrong="an index in a byte of its own"
def quantize(x, codebook, block):
    blocks = np.pad(x.reshape(-1), (0, -x.size % block)).reshape(-1, block)
    absmax = np.abs(blocks).max(1)
    quotients = blocks / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(-1)[: x.size]
    return codes.astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = packed[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + scale * b @ a, codebook, block)


# %% answer="classics_four_bits" wrong="one scale for the whole weight"
def quantize(x, codebook, block):
    blocks = np.pad(x.reshape(-1), (0, -x.size % block)).reshape(-1, block)
    absmax = np.full(len(blocks), np.abs(blocks).max())
    quotients = blocks / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(-1)[: x.size]
    codes = np.pad(codes, (0, x.size % 2))
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + scale * b @ a, codebook, block)


# %% answer="classics_four_bits" wrong="the update merged twice"
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
    return quantize(weight + 2 * scale * b @ a, codebook, block)


# %% answer="classics_four_bits" wrong="evenly spaced codes whatever the codebook"
def quantize(x, codebook, block):
    blocks = np.pad(x.reshape(-1), (0, -x.size % block)).reshape(-1, block)
    absmax = np.abs(blocks).max(1)
    quotients = blocks / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.clip(np.rint((quotients + 1) * 7.5), 0, 15).astype(int).reshape(-1)[: x.size]
    codes = np.pad(codes, (0, x.size % 2))
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + scale * b @ a, codebook, block)


# %% answer="classics_four_bits" wrong="dequantized without the scales"
def quantize(x, codebook, block):
    blocks = np.pad(x.reshape(-1), (0, -x.size % block)).reshape(-1, block)
    absmax = np.abs(blocks).max(1)
    quotients = blocks / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(-1)[: x.size]
    codes = np.pad(codes, (0, x.size % 2))
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + scale * b @ a, codebook, block)


# %% answer="classics_four_bits" wrong="an odd number loses its last value"
def quantize(x, codebook, block):
    blocks = np.pad(x.reshape(-1), (0, -x.size % block)).reshape(-1, block)
    absmax = np.abs(blocks).max(1)
    quotients = blocks / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.abs(quotients[..., None] - codebook).argmin(-1).reshape(-1)[: x.size]
    codes = codes[: len(codes) // 2 * 2]
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)
    codes = np.pad(codes, (0, 1))[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    weight = dequantize(packed, absmax, codebook, block, (len(b), a.shape[1]))
    return quantize(weight + scale * b @ a, codebook, block)


# %% answer="classics_four_bits" wrong="flattens in the order of the memory"
def quantize(x, codebook, block):
    flat = x.ravel(order="K")
    pad = -len(flat) % block
    rows = np.r_[flat, np.zeros(pad)].reshape(-1, block)
    absmax = np.abs(rows).max(1)
    q = rows / np.where(absmax > 0, absmax, 1)[:, None]
    codes = np.abs(q[..., None] - codebook).argmin(-1).reshape(-1)[: len(flat)]
    if len(codes) % 2:
        codes = np.r_[codes, 0]
    return (codes[::2] << 4 | codes[1::2]).astype(np.uint8), absmax


def dequantize(packed, absmax, codebook, block, shape):
    codes = np.stack([packed >> 4, packed & 15], 1).reshape(-1)[: shape[0] * shape[1]]
    return (codebook[codes] * np.repeat(absmax, block)[: len(codes)]).reshape(shape)


def merge(packed, absmax, codebook, block, a, b, scale):
    return quantize(dequantize(packed, absmax, codebook, block, (b.shape[0], a.shape[1])) + scale * b @ a, codebook, block)


# %% answer="classics_knn" right="a stable sort of whole rows"
def knn(train, labels, queries, k, tile):
    near = np.empty((len(queries), k), int)
    for start in range(0, len(queries), tile):
        squared = ((queries[start : start + tile, None] - train) ** 2).sum(-1)
        near[start : start + tile] = np.argsort(squared, axis=1, kind="stable")[:, :k]
    votes = labels[near]
    counts = (votes[:, :, None] == votes[:, None]).sum(-1)
    return near, np.take_along_axis(votes, counts.argmax(1)[:, None], 1)[:, 0]


# %% answer="classics_knn" right="lexsort, and a Counter, which keeps the first of equals"
def knn(train, labels, queries, k, tile):
    from collections import Counter

    near, chosen = [], []
    for query in queries:
        distances = np.linalg.norm(train - query, axis=1)
        order = np.lexsort((np.arange(len(train)), distances))[:k].copy()
        near.append(order)
        chosen.append(Counter(labels[order].tolist()).most_common(1)[0][0])
    return np.array(near, int).reshape(-1, k), np.array(chosen, labels.dtype)


# %% answer="classics_knn" right="the expanded square of centred points, k times the first minimum"
def knn(train, labels, queries, k, tile):
    mean = train.mean(0)
    exact, train = train, train - mean
    out = []
    for start in range(0, len(queries), tile):
        part = queries[start : start + tile] - mean
        rough = (part * part).sum(1, keepdims=True) - 2 * part @ train.T + (train * train).sum(1)
        for query, row in zip(queries[start : start + tile], rough, strict=True):
            few = np.flatnonzero(row <= np.partition(row, k - 1)[k - 1] + 1e-9)
            squared = ((exact[few] - query) ** 2).sum(1)
            out.append([])
            for _ in range(k):
                first = squared.argmin()
                out[-1].append(few[first])
                squared[first] = np.inf
    near = np.array(out, dtype=int).reshape(-1, k)
    votes = labels[near]
    counts = np.stack([(votes == votes[:, [j]]).sum(1) for j in range(k)], 1)
    return near, votes[np.arange(len(votes)), counts.argmax(1)]


# %% answer="classics_knn" right="a heap of tuples"
def knn(train, labels, queries, k, tile):
    import heapq

    near = np.zeros((len(queries), k), dtype=int)
    result = np.zeros(len(queries), dtype=labels.dtype)
    for i, query in enumerate(queries):
        squared = ((train - query) ** 2).sum(axis=1)
        near[i] = [index for _, index in heapq.nsmallest(k, ((d, j) for j, d in enumerate(squared)))]
        votes = labels[near[i]].tolist()
        result[i] = max(votes, key=votes.count)
    return near, result


# %% answer="classics_knn" wrong="Manhattan distance"
def knn(train, labels, queries, k, tile):
    near = np.empty((len(queries), k), int)
    for start in range(0, len(queries), tile):
        squared = np.abs(queries[start : start + tile, None] - train).sum(-1)
        near[start : start + tile] = np.argsort(squared, axis=1, kind="stable")[:, :k]
    votes = labels[near]
    counts = (votes[:, :, None] == votes[:, None]).sum(-1)
    return near, np.take_along_axis(votes, counts.argmax(1)[:, None], 1)[:, 0]


# %% answer="classics_knn" wrong="votes weighted by closeness"
def knn(train, labels, queries, k, tile):
    near = np.empty((len(queries), k), int)
    for start in range(0, len(queries), tile):
        squared = ((queries[start : start + tile, None] - train) ** 2).sum(-1)
        near[start : start + tile] = np.argsort(squared, axis=1, kind="stable")[:, :k]
    votes = labels[near]
    weights = 1 / (0.1 + np.sqrt(((queries[:, None] - train[near]) ** 2).sum(-1)))
    counts = ((votes[:, :, None] == votes[:, None]) * weights[:, None]).sum(-1)
    return near, np.take_along_axis(votes, counts.argmax(1)[:, None], 1)[:, 0]


# %% answer="classics_knn" wrong="of equal distances the higher index"
def knn(train, labels, queries, k, tile):
    near = np.empty((len(queries), k), int)
    for start in range(0, len(queries), tile):
        squared = ((queries[start : start + tile, None] - train) ** 2).sum(-1)
        near[start : start + tile] = len(train) - 1 - np.argsort(squared[:, ::-1], axis=1, kind="stable")[:, :k]
    votes = labels[near]
    counts = (votes[:, :, None] == votes[:, None]).sum(-1)
    return near, np.take_along_axis(votes, counts.argmax(1)[:, None], 1)[:, 0]


# %% answer="classics_knn" wrong="the farthest wins a tie"
def knn(train, labels, queries, k, tile):
    near = np.empty((len(queries), k), int)
    for start in range(0, len(queries), tile):
        squared = ((queries[start : start + tile, None] - train) ** 2).sum(-1)
        near[start : start + tile] = np.argsort(squared, axis=1, kind="stable")[:, :k]
    votes = labels[near]
    counts = (votes[:, :, None] == votes[:, None]).sum(-1)
    return near, np.take_along_axis(votes, k - 1 - counts[:, ::-1].argmax(1)[:, None], 1)[:, 0]


# %% answer="classics_knn" wrong="neighbours from far to near"
def knn(train, labels, queries, k, tile):
    near = np.empty((len(queries), k), int)
    for start in range(0, len(queries), tile):
        squared = ((queries[start : start + tile, None] - train) ** 2).sum(-1)
        near[start : start + tile] = np.argsort(squared, axis=1, kind="stable")[:, :k][:, ::-1]
    votes = labels[near]
    counts = (votes[:, :, None] == votes[:, None]).sum(-1)
    return near, np.take_along_axis(votes, counts.argmax(1)[:, None], 1)[:, 0]


# %% answer="classics_knn" wrong="cosine similarity"
def knn(train, labels, queries, k, tile):
    near = np.empty((len(queries), k), int)
    for start in range(0, len(queries), tile):
        squared = -(
            queries[start : start + tile]
            @ train.T
            / (1e-9 + np.linalg.norm(queries[start : start + tile], axis=1)[:, None] * np.linalg.norm(train, axis=1))
        )
        near[start : start + tile] = np.argsort(squared, axis=1, kind="stable")[:, :k]
    votes = labels[near]
    counts = (votes[:, :, None] == votes[:, None]).sum(-1)
    return near, np.take_along_axis(votes, counts.argmax(1)[:, None], 1)[:, 0]


# %% answer="classics_knn" wrong="slices, which are views and keep all Q·N indices"
def knn(train, labels, queries, k, tile):
    from collections import Counter

    near, chosen = [], []
    for query in queries:
        distances = np.linalg.norm(train - query, axis=1)
        order = np.lexsort((np.arange(len(train)), distances))[:k]
        near.append(order)
        chosen.append(Counter(labels[order].tolist()).most_common(1)[0][0])
    return np.array(near, int).reshape(-1, k), np.array(chosen, labels.dtype)


# %% answer="classics_knn" wrong="distances in float32"
def knn(train, labels, queries, k, tile):
    near = np.zeros((len(queries), k), int)
    for s in range(0, len(queries), tile):
        d = np.sqrt(((queries[s : s + tile, None] - train) ** 2).sum(-1)).astype(np.float32)
        near[s : s + tile] = np.argsort(d, axis=1, kind="stable")[:, :k]
    votes = labels[near]
    return near, np.array([v[(v[:, None] == v).sum(1).argmax()] for v in votes], labels.dtype)


# %% answer="classics_repair_diffusion" right="the posterior of the predicted data"
def guided(conditional, unconditional, w):
    return (1 - w) * unconditional + w * conditional


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    now, before = level(bars, t), level(bars, previous)
    data = (x - (1 - now) ** 0.5 * eps) / now**0.5
    alpha = now / before
    mean = (before**0.5 * (1 - alpha) * data + alpha**0.5 * (1 - before) * x) / (1 - now)
    if previous < 0:
        return mean
    factor = 1.0 if large else (1 - before) / (1 - now)
    return mean + ((1 - alpha) * factor) ** 0.5 * noise


def ddim_step(x, eps, t, previous, bars, noise, eta=0.0):
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x, bars, stride, noises, step):
    for t in range(len(bars) - 1, -1, -stride):
        x = step(x, prediction(x, t), t, max(t - stride, -1), bars, noises[t])
    return x


# %% answer="classics_repair_diffusion" right="a list of timesteps in pairs"
def guided(conditional, unconditional, w):
    return unconditional + w * (conditional - unconditional)


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = level(bars, previous)
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    variance = beta if large else beta * (1 - before) / (1 - bars[t])
    last = previous == -1
    return mean + (not last) * variance**0.5 * noise


def ddim_step(x, eps, t, previous, bars, noise, eta=0.0):
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x, bars, stride, noises, step):
    timesteps = [*range(len(bars) - 1, -1, -stride), -1]
    for now, after in zip(timesteps[:-1], timesteps[1:], strict=True):
        x = step(x, prediction(x, now), now, after, bars, noises[now])
    return x


# %% answer="classics_repair_diffusion" right="DDPM as DDIM with η = 1, and a while loop"
def guided(conditional, unconditional, w):
    return unconditional + w * (conditional - unconditional)


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    mean = ddim_step(x, eps, t, previous, bars, np.zeros_like(x), eta=1.0)
    if previous < 0:
        return mean
    if not large:
        return ddim_step(x, eps, t, previous, bars, noise, eta=1.0)
    return mean + np.sqrt(1 - bars[t] / bars[previous]) * noise


def ddim_step(x, eps, t, previous, bars, noise, eta=0.0):
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x, bars, stride, noises, step):
    t = len(bars) - 1
    while t >= 0:
        previous = t - stride if t >= stride else -1
        x, t = step(x, prediction(x, t), t, previous, bars, noises[t]), previous
    return x


# %% answer="classics_repair_diffusion" wrong="large and small exchanged"
def guided(conditional, unconditional, w):
    return unconditional + w * (conditional - unconditional)


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = level(bars, previous)
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    variance = beta if not large else beta * (1 - before) / (1 - bars[t])
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


# %% answer="classics_repair_diffusion" wrong="the variance for the standard deviation"
def guided(conditional, unconditional, w):
    return unconditional + w * (conditional - unconditional)


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = level(bars, previous)
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    variance = beta if large else beta * (1 - before) / (1 - bars[t])
    return mean + variance * noise if previous >= 0 else mean


def ddim_step(x, eps, t, previous, bars, noise, eta=0.0):
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x, bars, stride, noises, step):
    for t in range(len(bars) - 1, -1, -stride):
        x = step(x, prediction(x, t), t, max(t - stride, -1), bars, noises[t])
    return x


# %% answer="classics_repair_diffusion" wrong="the posterior's variance without its denominator"
def guided(conditional, unconditional, w):
    return unconditional + w * (conditional - unconditional)


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = level(bars, previous)
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    variance = beta if large else beta * (1 - before)
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


# %% answer="classics_repair_diffusion" wrong="index −1, which is the noisiest timestep"
def guided(conditional, unconditional, w):
    return unconditional + w * (conditional - unconditional)


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = bars[previous]
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(np.abs(1 - beta))
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


# %% answer="classics_repair_diffusion" wrong="conditional and unconditional exchanged"
def guided(conditional, unconditional, w):
    return conditional + w * (unconditional - conditional)


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


# %% answer="classics_repair_diffusion" wrong="the number of steps taken for the stride"
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
    timesteps = np.linspace(len(bars) - 1, 0, stride).astype(int).tolist()
    for t, previous in zip(timesteps, [*timesteps[1:], -1], strict=True):
        x = step(x, prediction(x, t), t, previous, bars, noises[t])
    return x


# %% answer="classics_elbo" wrong="the log-variance is clamped in the sample alone"
def sample(mean, log_variance, noise):
    return mean + torch.exp(log_variance.clamp(-10, 2) / 2) * noise


def kl(mean, log_variance):
    return -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="sum") / len(images)
    return pixels + beta * kl(mean, log_variance).mean()


# %% answer="classics_elbo" wrong="writes into the noise"
def sample(mean, log_variance, noise):
    noise -= noise.mean() * 0
    noise *= (0.5 * log_variance).exp()
    noise += mean
    return noise


def kl(mean, log_variance):
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    e = F.binary_cross_entropy_with_logits(logits, images, reduction="none").flatten(1).sum(1)
    return (e + beta * kl(mean, log_variance)).mean()


# %% answer="classics_elbo" wrong="a KL without its graph unless beta is 1"
def sample(mean, log_variance, noise):
    return mean + (0.5 * log_variance).exp() * noise


def kl(mean, log_variance):
    return -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(-1)


def negative_elbo(images, logits, mean, log_variance, beta=1.0):
    e = F.binary_cross_entropy_with_logits(logits, images, reduction="sum") / len(images)
    k = kl(mean, log_variance).mean()
    return e + k if beta == 1 else e + beta * k.detach()


# %% answer="classics_kmeans" wrong="`spread` expands the squared distance, which cancels far from the origin ('points may lie far from the origin')"
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        c = np.array(centers)
        squares = (x * x).sum(1)[:, None] - 2 * x @ c.T + (c * c).sum(1)
        nearest = np.maximum(squares, 0).min(1)
        total = nearest.sum()
        p = nearest / total if total > 0 else np.full(len(x), 1 / len(x))
        centers.append(x[generator.choice(len(x), p=p)])
    return np.array(centers)


def lloyd(x, centers, steps):
    centers = np.array(centers, float)

    def assign():
        squares = ((x[:, None] - centers) ** 2).sum(2)
        return squares.argmin(1), squares.min(1).sum()

    labels, inertia = assign()
    for _ in range(steps):
        for each in np.unique(labels):
            centers[each] = x[labels == each].mean(0)
        before = labels
        labels, inertia = assign()
        if (labels == before).all():
            break
    return centers, labels, inertia


# %% answer="classics_kmeans" wrong="stops when the centers move by less than 1e-6 ('until no label changes')"
def spread(x, k, generator):
    chosen = [generator.integers(len(x))]
    nearest = ((x - x[chosen[0]]) ** 2).sum(1)
    while len(chosen) < k:
        p = nearest / nearest.sum() if nearest.any() else np.full(len(x), 1 / len(x))
        chosen.append(generator.choice(len(x), p=p))
        nearest = np.minimum(nearest, ((x - x[chosen[-1]]) ** 2).sum(1))
    return x[chosen]


def lloyd(x, centers, steps):
    centers = np.array(centers, float)
    for _ in range(steps):
        labels = ((x[:, None] - centers) ** 2).sum(2).argmin(1)
        moved = np.array([x[labels == j].mean(0) if (labels == j).any() else centers[j] for j in range(len(centers))])
        shift = np.abs(moved - centers).max()
        centers = moved
        if shift < 1e-6:
            break
    squares = ((x[:, None] - centers) ** 2).sum(2)
    return centers, squares.argmin(1), squares.min(1).sum()


# %% answer="classics_kmeans" right="sums by one-hot products, of points shifted to the first center"
def spread(x, k, generator):
    N = len(x)
    chosen = [int(generator.integers(N))]
    for _ in range(k - 1):
        squares = np.square(x[:, None, :] - x[chosen][None]).sum(-1).min(1)
        chosen.append(int(generator.choice(N, p=squares / squares.sum() if squares.sum() > 0 else np.ones(N) / N)))
    return np.stack([x[each] for each in chosen])


def lloyd(x, centers, steps):
    origin = centers[0].astype(float)
    points, means = x - origin, centers - origin
    moves = 0
    while True:
        squares = np.stack([((points - each) ** 2).sum(1) for each in means], axis=1)
        new = squares.argmin(1)
        if moves == steps or moves and np.array_equal(new, labels):
            return means + origin, new, float(squares[np.arange(len(x)), new].sum())
        labels, moves = new, moves + 1
        onehot = (labels[:, None] == np.arange(len(means))).astype(float)
        count = onehot.sum(0)
        means = np.where(count[:, None] > 0, onehot.T @ points / np.maximum(count, 1)[:, None], means)


# %% answer="classics_kmeans" right="plain loops over points and centers"
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    for _ in range(1, k):
        d = [min(sum(float(u - v) ** 2 for u, v in zip(point, center)) for center in centers) for point in x]
        p = [each / sum(d) for each in d] if sum(d) > 0 else [1 / len(x)] * len(x)
        centers.append(x[generator.choice(len(x), p=p)])
    return np.array(centers)


def lloyd(x, centers, steps):
    centers = [np.array(each, dtype=float) for each in centers]

    def nearest(point):
        d = [float(((point - each) ** 2).sum()) for each in centers]
        return d.index(min(d)), min(d)

    labels = [nearest(point)[0] for point in x]
    for _ in range(steps):
        for number in range(len(centers)):
            own = [point for point, label in zip(x, labels) if label == number]
            if own:
                centers[number] = sum(own) / len(own)
        last, labels = labels, [nearest(point)[0] for point in x]
        if last == labels:
            break
    return np.array(centers), np.array(labels), sum(nearest(point)[1] for point in x)


# %% answer="classics_auc" wrong="each positive against all negatives"
import numpy as np


def auc(scores, labels):
    pos, neg = scores[labels == 1], scores[labels != 1]
    if not len(pos) or not len(neg):
        return float("nan")
    wins = 0.0
    for score in pos:
        wins += (score > neg).sum() + 0.5 * (score == neg).sum()
    return float(wins / (len(pos) * len(neg)))


def average_precision(scores, labels):
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(place, weights=labels, minlength=len(counts))
    if not hits.sum():
        return float("nan")
    return float((hits / hits.sum() * (np.cumsum(hits) / np.cumsum(counts))).sum())


# %% answer="classics_auc" right="sorted classes, and groups of equal scores one by one"
import numpy as np


def auc(scores, labels):
    pos, neg = np.sort(scores[labels == 1]), np.sort(scores[labels == 0])
    if pos.size == 0 or neg.size == 0:
        return float("nan")
    below = np.searchsorted(neg, pos, "left")
    upto = np.searchsorted(neg, pos, "right")
    return float((below + upto).mean() / 2 / neg.size)


def average_precision(scores, labels):
    order = np.argsort(scores, kind="stable")[::-1]
    s, y = scores[order], labels[order]
    if not y.any():
        return float("nan")
    total = hits = seen = 0
    i, result = 0, 0.0
    while i < len(s):
        j = i + np.searchsorted(-s[i:], -s[i], "right")
        new = int(y[i:j].sum())
        hits, seen = hits + new, j
        result += new * hits / seen
        i = j
    return result / int(y.sum())


# %% answer="classics_auc" right="the trapezoids of the ROC curve, both measures from one curve"
import numpy as np


def _curve(scores, labels):
    order = np.argsort(-scores, kind="mergesort")
    s = scores[order]
    y = np.asarray(labels, dtype=float)[order]
    last = np.flatnonzero(np.r_[s[1:] != s[:-1], True])
    return np.cumsum(y)[last], last + 1


def auc(scores, labels):
    P = float(np.sum(labels))
    if P == 0 or P == len(labels):
        return np.nan
    hits, taken = _curve(scores, labels)
    x, y = np.r_[0, (taken - hits) / (len(labels) - P)], np.r_[0, hits / P]
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))


def average_precision(scores, labels):
    if np.sum(labels) == 0:
        return np.nan
    hits, taken = _curve(scores, labels)
    return float(np.sum(np.diff(hits, prepend=0) / hits[-1] * hits / taken))


# %% answer="classics_kmeans" wrong="ends when every label has changed"
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
            if (labels == index).any():
                centers[index] = x[labels == index].mean(0)
        before = labels
        labels, inertia = assign()
        if (labels != before).all():
            break
    return centers, labels, inertia


# %% answer="classics_nms" wrong="`where` without `out` leaves whatever was in memory where the union has no area"
def iou(a, b):
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    return np.divide(inside, union, where=union > 0)


def nms(boxes, scores, classes, threshold):
    kept, overlap = [], iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        if not any(classes[each] == classes[index] and overlap[index, each] > threshold for each in kept):
            kept.append(index)
    return kept


# %% answer="classics_nms" right="`where` without `out`, and 0 filled in afterwards"
def iou(a, b):
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = np.clip(high - low, 0, None).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - inside
    return np.where(union > 0, np.divide(inside, union, out=None, where=union > 0), 0.0)


def nms(boxes, scores, classes, threshold):
    kept, overlap = [], iou(boxes, boxes)
    for index in np.argsort(-scores, kind="stable").tolist():
        if not any(classes[each] == classes[index] and overlap[index, each] > threshold for each in kept):
            kept.append(index)
    return kept


# %% answer="classics_knn" wrong="partitioned at the second smallest distance, where the kth is wanted"
def knn(train, labels, queries, k, tile):
    near, chosen = np.empty((len(queries), k), int), np.empty(len(queries), labels.dtype)
    for start in range(0, len(queries), tile):
        squared = ((queries[start : start + tile, None] - train) ** 2).sum(-1)
        farthest = np.partition(squared, min(1, k - 1), axis=1)[:, k - 1]
        for row, distances in enumerate(squared, start):
            candidates = np.flatnonzero(distances <= farthest[row - start])
            near[row] = candidates[np.argsort(distances[candidates], kind="stable")][:k]
            votes = labels[near[row]]
            chosen[row] = votes[(votes[:, None] == votes).sum(1).argmax()]
    return near, chosen


# %% answer="classics_split" wrong="equal gains are told apart by rounding"
def best_split(x, labels, classes):
    N, D = x.shape
    none = -1, float("nan"), 0.0
    if N < 2:
        return none
    hot = np.eye(classes)[labels]
    total = hot.sum(0)
    parent = 1 - ((total / N) ** 2).sum()
    found = []
    for f in range(D):
        order = np.argsort(x[:, f], kind="stable")
        v = x[order, f]
        left = np.cumsum(hot[order], 0)[:-1]
        n = np.arange(1, N)
        right = total - left
        m = N - n
        impurity = (n - (left**2).sum(1) / n + m - (right**2).sum(1) / m) / N
        gain = np.where(v[1:] > v[:-1], parent - impurity, -np.inf)
        found.append((gain, (v[1:] + v[:-1]) / 2))
    best = max((gain.max() for gain, _ in found), default=0.0)
    if best <= 1e-12:
        return none
    for f, (gain, thresholds) in enumerate(found):
        near = np.flatnonzero(gain == best)
        if len(near):
            return f, float(thresholds[near[0]]), float(gain[near[0]])


# %% answer="classics_logistic" wrong="stops before the steps are done"
def log_loss(scores, labels):
    return float(np.logaddexp(0, np.where(labels == 1, -scores, scores)).sum())


def newton(x, labels, l2, steps):
    a = np.column_stack([x, np.ones(len(x))])
    w = np.zeros(a.shape[1])
    penalty = np.full(len(w), float(l2))
    penalty[-1] = 0
    for _ in range(steps):
        s = a @ w
        p = np.exp(-np.logaddexp(0, -s))
        gradient = a.T @ (p - labels) + penalty * w
        hessian = (a.T * (p * (1 - p))) @ a + np.diag(penalty)
        if np.abs(gradient).max() < 1e-3:
            break
        w = w - np.linalg.solve(hessian, gradient)
    return w[:-1], float(w[-1])


# %% answer="classics_logistic" wrong="the Hessian's weights are held above 10⁻⁶"
def log_loss(scores, labels):
    return float(np.logaddexp(0, np.where(labels == 1, -scores, scores)).sum())


def newton(x, labels, l2, steps):
    a = np.column_stack([x, np.ones(len(x))])
    w = np.zeros(a.shape[1])
    penalty = np.full(len(w), float(l2))
    penalty[-1] = 0
    for _ in range(steps):
        s = a @ w
        p = np.exp(-np.logaddexp(0, -s))
        gradient = a.T @ (p - labels) + penalty * w
        hessian = (a.T * np.maximum(p * (1 - p), 1e-6)) @ a + np.diag(penalty)
        w = w - np.linalg.solve(hessian, gradient)
    return w[:-1], float(w[-1])


# %% answer="classics_repair_diffusion" wrong="the last step ends below −1"
def guided(conditional, unconditional, w):
    return w * conditional + (1 - w) * unconditional


def ddpm_step(x, eps, t, previous, bars, noise, large=False):
    before = level(bars, previous)
    beta = 1 - bars[t] / before
    mean = (x - beta / np.sqrt(1 - bars[t]) * eps) / np.sqrt(1 - beta)
    if previous < 0:
        return mean
    variance = beta if large else beta * (1 - before) / (1 - bars[t])
    return mean + np.sqrt(variance) * noise


def ddim_step(x, eps, t, previous, bars, noise, eta=0.0):
    before = level(bars, previous)
    data = (x - np.sqrt(1 - bars[t]) * eps) / np.sqrt(bars[t])
    sigma = eta * np.sqrt((1 - before) / (1 - bars[t]) * (1 - bars[t] / before))
    return np.sqrt(before) * data + np.sqrt(1 - before - sigma**2) * eps + sigma * noise


def sample(prediction, x, bars, stride, noises, step):
    for t in range(len(bars) - 1, -1, -stride):
        x = step(x, prediction(x, t), t, t - stride, bars, noises[t])
    return x


# %% answer="classics_kmeans" wrong="stops once 95 % of the labels stay"
def spread(x, k, generator):
    centers = [x[generator.integers(len(x))]]
    while len(centers) < k:
        squared = np.min([((x - each) ** 2).sum(1) for each in centers], 0)
        total = squared.sum()
        p = squared / total if total else np.full(len(x), 1 / len(x))
        centers.append(x[generator.choice(len(x), p=p)])
    return np.array(centers)


def lloyd(x, centers, steps):
    def assigned(centers):
        return np.stack([((x - each) ** 2).sum(1) for each in centers], 1)

    centers, labels = centers.copy(), None
    labels = assigned(centers).argmin(1)
    for _ in range(steps):
        for number in range(len(centers)):
            if (labels == number).any():
                centers[number] = x[labels == number].mean(0)
        new = assigned(centers).argmin(1)
        stays = (new == labels).mean() > 0.95
        labels = new
        if stays:
            break
    squared = assigned(centers)
    return centers, labels, float(squared[np.arange(len(x)), labels].sum())
