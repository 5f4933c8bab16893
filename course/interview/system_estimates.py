"""Estimates of a systems round: sharded training, collectives, checkpoints, stalls and the memory of a server."""

from __future__ import annotations

from course.interview.estimate import Estimate

SYSTEMS = (
    Estimate(
        "memory of a rank under ZeRO",
        "23b",
        "A model of {billions} billion parameters trains with Adam in mixed precision, which takes 16 bytes per "
        "parameter, on {gpus} GPUs under ZeRO stage {stage}. How much of that does each GPU hold?",
        {"billions": (3, 7, 13, 30, 70), "gpus": (8, 16, 64, 256), "stage": (1, 2, 3)},
        lambda n: n["billions"] * ((whole := {1: 4, 2: 2, 3: 0}[n["stage"]]) + (16 - whole) / n["gpus"]),
        "GB (10⁹ bytes)",
        "stages 1, 2 and 3 keep 4, 2 and 0 of the 16 bytes whole and divide the others by {gpus}; for stage {stage}, "
        "times {billions} · 10⁹,",
    ),
    Estimate(
        "traffic of fully sharded training",
        "23b",
        "FSDP shards {billions} billion parameters over {gpus} GPUs. Each step gathers them twice in bfloat16 and "
        "reduce-scatters gradients in {type}, all in rings. How much does each GPU send?",
        {"billions": (1, 7, 13, 70), "gpus": (8, 16, 64), "type": ("float32", "bfloat16")},
        lambda n: (n["gpus"] - 1) / n["gpus"] * n["billions"] * (4 + {"float32": 4, "bfloat16": 2}[n["type"]]),
        "GB (10⁹ bytes)",
        "({gpus} − 1) / {gpus} × {billions} · 10⁹ × (2 + 2 + the bytes of {type})",
    ),
    Estimate(
        "traffic of tensor parallelism",
        "23b",
        "{layers} transformer layers of width {width:,} are split over {gpus} GPUs by tensor parallelism. In each "
        "layer, attention and MLP have one all-reduce each in the forward pass and one each in the backward pass, in "
        "bfloat16. How much does each GPU send in a step of {tokens:,} tokens, in a ring?",
        {"layers": (32, 40, 80), "width": (4096, 5120, 8192), "gpus": (2, 4, 8), "tokens": (4096, 8192, 32768)},
        lambda n: 4 * n["layers"] * 2 * (n["gpus"] - 1) / n["gpus"] * n["tokens"] * n["width"] * 2 / 1e9,
        "GB (10⁹ bytes)",
        "4 × {layers} all-reduces × 2 × ({gpus} − 1) / {gpus} × {tokens} × {width} × 2 bytes",
    ),
    Estimate(
        "communication that isn't hidden",
        "23b",
        "A backward pass takes {backward} ms. Its gradients fill {buckets} equal buckets at even distances, and the "
        "all-reduces of all buckets together take {reduce} ms, one after another, beside the computation. How long "
        "after the backward pass is the last one done?",
        {"backward": (60, 120, 200), "buckets": (4, 10, 20), "reduce": (40, 90, 150, 300)},
        lambda n: max(n["backward"] / n["buckets"] + n["reduce"] - n["backward"], n["reduce"] / n["buckets"]),
        "ms (milliseconds)",
        "the last bucket's {reduce} / {buckets}, or from the first bucket on {backward} / {buckets} + {reduce} − "
        "{backward}, whichever is longer,",
    ),
    Estimate(
        "time between failures",
        "24",
        "A GPU fails once in {years} years on average. How many hours pass between failures of a run on {gpus:,} GPUs?",
        {"years": (3, 5, 8), "gpus": (256, 1024, 4096, 16384)},
        lambda n: n["years"] * 365.25 * 24 / n["gpus"],
        "hours",
        "{years} × 8,766 / {gpus}",
    ),
    Estimate(
        "pause for a checkpoint",
        "24",
        "A checkpoint of {billions} billion parameters has 14 bytes per parameter. {machines} machines write their "
        "shards at {rate} GB a second each, and training waits. For how long?",
        {"billions": (7, 70, 405), "machines": (4, 16, 64), "rate": (1, 2, 5)},
        lambda n: n["billions"] * 14 / (n["machines"] * n["rate"]),
        "seconds",
        "14 × {billions} · 10⁹ / ({machines} × {rate} · 10⁹)",
    ),
    Estimate(
        "utilization of a run",
        "24",
        "A model of {billions} billion parameters trains on {gpus} GPUs with a peak of 989 · 10¹² operations a second "
        "each. A step of 524,288 tokens takes {seconds} s. How high is the MFU?",
        {"billions": (6.7, 7, 8), "gpus": (64, 128), "seconds": (0.8, 1.1, 1.3, 1.6)},
        lambda n: 100 * 6 * n["billions"] * 1e9 * 524_288 / (n["gpus"] * 989e12 * n["seconds"]),
        "percent",
        "6 × {billions} · 10⁹ × 524,288 / ({gpus} × 989 · 10¹² × {seconds})",
    ),
    Estimate(
        "waiting for data",
        "18",
        "A worker takes {load} ms for a batch, {workers} workers load, and a training step takes {step} ms. In which "
        "share of the time does the GPU wait for data?",
        {"load": (400, 600, 900), "workers": (2, 3, 4), "step": (30, 50, 80)},
        lambda n: 100 * (1 - n["step"] * n["workers"] / n["load"]),
        "percent",
        "a batch arrives every {load} / {workers} ms, of which {step} are used: 1 − {step} × {workers} / {load}",
    ),
    Estimate(
        "kernels that run faster than they are launched",
        "08b",
        "Decoding a token runs {kernels} kernels one after another. The CPU takes {launch} µs to launch one, and the "
        "GPU takes {run} µs to run it. In which share of the time is the GPU idle?",
        {"kernels": (300, 800), "launch": (6, 8, 10), "run": (2, 3, 5)},
        lambda n: 100 * (1 - n["run"] / n["launch"]),
        "percent",
        "a kernel runs for {run} of the {launch} µs until the next one comes, however many there are: 1 − {run} / "
        "{launch}",
    ),
    Estimate(
        "requests that fit beside the weights",
        "27",
        "A server uses 90 % of a GPU's {memory} GB. The weights take {weights} GB, the cache {kb} KB a token, and each "
        "request has {length:,} tokens. How many requests fit at a time?",
        {"memory": (80, 141, 192), "weights": (14, 16, 28), "kb": (32, 64, 128), "length": (1000, 4000)},
        lambda n: (0.9 * n["memory"] - n["weights"]) * 1e9 / (n["kb"] * 1e3 * n["length"]),
        "requests",
        "(0.9 × {memory} − {weights}) · 10⁹ / ({kb} · 10³ × {length})",
    ),
)
"""Each stands in the lesson that teaches its formula; a test compares it with the real thing in small."""
