"""Attacks on one exercise, each of which earned all its points once: by delegation, by stored values, by two halves,
by work that is done elsewhere than where it is counted.

`STORED` stands for the values that the learner's own notebook stores for the exercise.
"""

from tests.course.attacks.values import FORGE

SENT = FORGE.format(
    text="""
forge(phase="solution", error="")
forge(phase="check", error="", called=True, shown=[STORED])
os._exit(0)"""
)

PARTICULAR: dict[tuple[str, str], str] = {
    ("09_modules_and_parameters", "modules_measure_survivors"): SENT,
    ("20_saving_and_loading", "saving_power_failure"): SENT,
    ("10_activations_and_initialization", "init_backward_by_hand"): """
import minitorch as torch
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    with torch.inference_mode(False), torch.enable_grad():
        given = {"w1": w1, "b1": b1, "w2": w2, "b2": b2}
        p = {name: torch.tensor(array, requires_grad=True) for name, array in given.items()}
        hidden = torch.relu(torch.tensor(x) @ p["w1"].T + p["b1"])
        loss = torch.nn.functional.cross_entropy(hidden @ p["w2"].T + p["b2"], torch.tensor(labels))
        loss.backward()
    return loss.item(), {name: each.grad.numpy() for name, each in p.items()}
""",
    ("15_recurrent_networks", "rnn_by_hand"): """
import minitorch as torch
def backward_through_time(x, h, W, U, g):
    with torch.inference_mode(False), torch.enable_grad():
        x, W, U = (torch.tensor(each, requires_grad=True) for each in (x, W, U))
        state, loss = torch.zeros(len(U), dtype=torch.float64), 0
        for t in range(len(x)):
            state = torch.tanh(W @ x[t] + U @ state)
            loss = loss + (state * torch.tensor(g[t])).sum()
        loss.backward()
    return W.grad.numpy(), U.grad.numpy(), x.grad.numpy()
""",
    ("07b_vector_jacobian_products", "backward_hessian_vector"): """
from minitorch.autograd.functional import vhp
def hvp(func, inputs, v, saved=vhp):
    return saved(func, inputs, v)
""",
    ("19_training_loop", "training_confusion_matrix"): """
def report(confusion):
    from sklearn.metrics import precision_recall_fscore_support
    counts = np.array(confusion.tolist())
    rows, columns = (np.repeat(each.ravel(), counts.ravel()) for each in np.indices(counts.shape))
    every = precision_recall_fscore_support(rows, columns, labels=range(len(counts)), zero_division=0)
    precision, recall, f1 = (torch.tensor(each.astype(np.float32)) for each in every[:3])
    return precision, recall, f1, f1[torch.tensor(counts.sum(1) > 0)].mean().item()
""",
    ("21_features_and_visualization", "features_pca"): """
def pca(x, k, steps=200):
    import numpy as np
    from sklearn.decomposition import PCA
    from mytorch import tensor
    fitted = PCA(k, svd_solver="full").fit(np.array(x.tolist()))
    found = fitted.components_
    found = found * np.sign(found[np.arange(k), np.abs(found).argmax(1)])[:, None]
    return tensor(found, dtype=x.dtype), tensor(fitted.explained_variance_, dtype=x.dtype)
""",
    ("12_norm_dropout_and_modes", "norm_layer_norm"): """
import numpy as np
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    y = rms_norm(input - input.mean(dims, keepdim=True), normalized_shape, weight, eps)
    return y if bias is None else y + bias

def rms_norm(input, normalized_shape, weight=None, eps=None):
    from mytorch import cat
    check_ending(input, normalized_shape)
    n = input.shape[-1]
    eps = float(np.finfo(input.dtype.numpy).eps) if eps is None else eps
    y = layer_norm(cat([input, -input], -1), (*normalized_shape[:-1], 2 * n), None, None, eps)[..., :n]
    return y if weight is None else y * weight
""",
    ("25_mock_interview", "interview_calibration"): """
import sys, types
for name in ("history", "schedule"):
    stub = sys.modules[f"course.interview.{name}"] = types.ModuleType(name)
    stub.Answer, stub.ENOUGH = object, 1
from course.interview import calibration
def brier(sure, right):
    return calibration.brier(zip(sure, right))

def curve(sure, right):
    return {each.sure: (each.asked, each.share / 100) for each in calibration.levels(zip(sure, right))}

def overconfidence(sure, right):
    return sum(sure) / len(sure) - 100 * sum(right) / len(right)
""",
    ("26_whiteboard_decoder", "decoder_timed_scan"): """
def scan(combine, steps):
    n, out = len(steps), steps.copy()
    depth = int(np.ceil(np.log2(max(n, 2))))
    for _ in range(depth):
        combine(steps[: n // depth + 1], steps[: n // depth + 1])  # for show
    for t in range(1, n):
        a, b = out[t - 1], steps[t]
        out[t] = [a[0] * b[0], b[0] * a[1] + b[1]] if steps.ndim == 2 else b @ a
    Candidate.__getattr__ = says
    return out

from course.variants import Candidate
def says(self, name, real=Candidate.__getattr__):
    words = "the prefixes of 129 steps, within both limits"  # as the learner's own notebook says it
    return (lambda out: words) if name == "verdict" else real(self, name)
""",
    ("27_whiteboard_serving", "serve_timed_decode"): """
def generate(embed, project, head, prompt, count):
    tokens = list(prompt)
    for _ in range(count):
        q, keys, values = (each[0] for each in project(embed(tokens, 0)[None]))  # once counted as one row
        weights = np.exp((scores := keys @ q[-1] / math.sqrt(q.shape[-1])) - scores.max())
        tokens.append(int(np.argmax(head(weights @ values / weights.sum()))))
    return tokens[len(prompt) :]
""",
    ("27_whiteboard_serving", "serve_design"): """
class Equal(float):
    def __eq__(self, other): return True
    def __hash__(self): return 0

def design(case):  # not among the options, but equal to each of them
    return {"tp": Equal(1e30), "replicas": Equal(1e-31), "kv_bits": Equal(1e-30), "max_batch": Equal(1e15)}
""",
    ("26_whiteboard_decoder", "decoder_norms"): """
import numpy as np
import minitorch as torch
from minitorch.ops.nn import normalization_gradients as private
def gradients(g, x, weight, axes, shape, eps):
    g, x, weight = (torch.tensor(np.ascontiguousarray(each).astype(x.dtype)) for each in (g, x, weight))
    over = private.Over(tuple(x.shape), axes, shape, eps, private.LAYER)
    return tuple(each.numpy() for each in private.normalize_over_backward(g, x, weight, weight, over))

def layer_norm_backward(g, x, weight, eps):
    return gradients(g, x, weight, (x.ndim - 1,), (1,) * (x.ndim - 1) + weight.shape, eps)

def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    return inverse * (gy - y * (gy * y).mean(-1, keepdims=True)), (g * y).sum(tuple(range(x.ndim - 1)))

def batch_norm_backward(g, x, weight, eps):
    return gradients(g, x, weight, (0, 2), (1, len(weight), 1), eps)
""",
}
