"""Estimates for the back of an envelope."""

from __future__ import annotations

import math

from course.interview.estimate import Estimate
from course.interview.system_estimates import SYSTEMS

ESTIMATES = (
    Estimate(
        "memory of training with Adam",
        "22b",
        "A model has {billions} billion parameters. It trains with Adam in mixed precision: weights and "
        "gradients in 16 bits, "
        "master weights and both moments in float32. How much memory do these take, without activations?",
        {"billions": (0.35, 1.3, 2.7, 7, 13, 30, 70)},
        lambda n: n["billions"] * 16,
        "GB (10⁹ bytes)",
        "(2 + 2 + 4 + 4 + 4) bytes × {billions} · 10⁹",
    ),
    Estimate(
        "a key-value cache",
        "14",
        "{layers} layers, {heads} key-value heads of width {width}, in float16. How large is the key-value "
        "cache at batch size "
        "{batch} with {length:,} tokens each?",
        {
            "layers": (12, 24, 32, 40, 80),
            "heads": (8, 12, 32),
            "width": (64, 128),
            "batch": (1, 4, 16),
            "length": (1024, 2048, 8192),
        },
        lambda n: 2 * n["layers"] * n["heads"] * n["width"] * n["batch"] * n["length"] * 2 / 1e9,
        "GB (10⁹ bytes)",
        "2 (keys and values) × {layers} × {heads} × {width} × {batch} × {length} × 2 bytes",
    ),
    Estimate(
        "work of training",
        "22b",
        "A transformer of {billions} billion parameters sees {tokens} billion tokens, on {gpus} GPUs that each "
        "reach {speed} "
        "· 10¹² operations a second. How long does training take?",
        {"billions": (1, 3, 7, 13), "tokens": (20, 100, 300), "gpus": (8, 64, 256), "speed": (100, 150, 400)},
        lambda n: 6 * n["billions"] * 1e9 * n["tokens"] * 1e9 / (n["gpus"] * n["speed"] * 1e12) / 86400,
        "days",
        "6 × {billions} · 10⁹ × {tokens} · 10⁹ / ({gpus} × {speed} · 10¹²) / 86,400",
    ),
    Estimate(
        "traffic of an all-reduce",
        "23",
        "{gpus} GPUs average the gradients of {millions} million parameters in {type}, in a ring. How much does "
        "each GPU send?",
        {"gpus": (2, 4, 8, 16), "millions": (25, 110, 340, 1500), "type": ("float32", "bfloat16")},
        lambda n: 2 * (n["gpus"] - 1) / n["gpus"] * n["millions"] * {"float32": 4, "bfloat16": 2}[n["type"]],
        "MB (10⁶ bytes)",
        "2 × ({gpus} − 1) / {gpus} × {millions} · 10⁶ × the bytes of {type}",
    ),
    Estimate(
        "memory of attention weights",
        "14",
        "Batch {batch}, {heads} heads, sequences of {length:,} tokens, float32. How much memory do one layer's "
        "attention "
        "weights take, if they are written out?",
        {"batch": (1, 4, 8, 32), "heads": (8, 12, 16), "length": (512, 1024, 4096)},
        lambda n: n["batch"] * n["heads"] * n["length"] ** 2 * 4 / 1e6,
        "MB (10⁶ bytes)",
        "{batch} × {heads} × {length}² × 4 bytes",
    ),
    Estimate(
        "parameters of a convolution",
        "11",
        "How many parameters does `Conv2d({inputs}, {outputs}, {size})` have, with its bias?",
        {"inputs": (3, 16, 64, 128), "outputs": (8, 32, 64, 256), "size": (1, 3, 5, 7)},
        lambda n: n["outputs"] * (n["inputs"] * n["size"] ** 2 + 1),
        "parameters",
        "{outputs} × ({inputs} × {size}² + 1)",
        tolerance=0,
    ),
    Estimate(
        "work of a convolution",
        "11",
        "`Conv2d({inputs}, {outputs}, 3, padding=1)` runs on one image of {side} × {side} pixels. How many "
        "multiplications?",
        {"inputs": (16, 32, 64), "outputs": (32, 64, 128), "side": (28, 56, 112, 224)},
        lambda n: n["outputs"] * n["inputs"] * 9 * n["side"] ** 2 / 1e6,
        "millions",
        "{outputs} × {inputs} × 9 × {side}²",
    ),
    Estimate(
        "parameters of transformer blocks",
        "14",
        "How many parameters do {layers} transformer blocks of width {width:,} have, with an MLP four times as "
        "wide? Leave out "
        "biases, norms and embeddings.",
        {"layers": (6, 12, 24, 48), "width": (512, 768, 1024, 1600, 4096)},
        lambda n: n["layers"] * 12 * n["width"] ** 2 / 1e6,
        "millions",
        "{layers} × (4 + 8) × {width}²",
    ),
    Estimate(
        "parameters of LoRA",
        "21",
        "LoRA with rank {rank} on {matrices} square matrices of width {width:,}. How many parameters are trained?",
        {"rank": (4, 8, 16, 64), "matrices": (32, 64, 128), "width": (1024, 4096, 5120)},
        lambda n: n["matrices"] * 2 * n["rank"] * n["width"] / 1e6,
        "millions",
        "{matrices} × 2 × {rank} × {width}",
    ),
    Estimate(
        "workers of a loader",
        "18",
        "Loading one batch takes a worker {load} ms, and a training step takes {step} ms. How many workers keep "
        "the GPU busy?",
        {"load": (90, 130, 210, 350), "step": (20, 30, 40, 60)},
        lambda n: math.ceil(n["load"] / n["step"]),
        "workers",
        "{load} / {step}, rounded up",
        tolerance=0,
    ),
    Estimate(
        "speed of decoding",
        "22b",
        "A model of {billions} billion parameters in {type} writes one token after another, for one user. The "
        "GPU's memory "
        "delivers {bandwidth:,} GB a second. How many tokens a second are possible at most?",
        {"billions": (1, 3, 7, 13, 70), "type": ("bfloat16", "int8"), "bandwidth": (900, 2000, 3300)},
        lambda n: n["bandwidth"] / (n["billions"] * {"bfloat16": 2, "int8": 1}[n["type"]]),
        "tokens a second",
        "{bandwidth} / ({billions} × the bytes of {type}): each token reads all weights once",
    ),
    Estimate(
        "the first loss",
        "19",
        "A language model with {tokens:,} tokens makes its first step. What is its loss?",
        {"tokens": (65, 256, 1000, 32000, 50257, 128000)},
        lambda n: math.log(n["tokens"]),
        "nats",
        "ln {tokens}",
        tolerance=0.05,
    ),
    Estimate(
        "active parameters of a mixture of experts",
        "24c",
        "A mixture of experts has {layers} layers with {experts} experts of {millions} million parameters each, and "
        "{rest} billion parameters elsewhere. The router chooses {chosen} of a layer's experts for each token. How "
        "many parameters does one token use?",
        {
            "layers": (24, 32, 60),
            "experts": (8, 64, 128),
            "millions": (20, 45, 176),
            "rest": (1, 2, 5),
            "chosen": (1, 2, 8),
        },
        lambda n: n["rest"] * 1e3 + n["layers"] * n["chosen"] * n["millions"],
        "millions",
        "{rest} · 10⁹ + {layers} × {chosen} × {millions} · 10⁶, whatever the number of experts,",
    ),
    Estimate(
        "speed of training at an MFU",
        "24",
        "A model of {billions} billion parameters trains on GPUs whose peak is {peak} · 10¹² operations a second, with "
        "an MFU of {share} %. How many tokens a second does one GPU process?",
        {"billions": (1, 7, 13, 70), "peak": (312, 989), "share": (30, 40, 50)},
        lambda n: n["share"] / 100 * n["peak"] * 1e12 / (6 * n["billions"] * 1e9),
        "tokens a second",
        "{share} % × {peak} · 10¹² / (6 × {billions} · 10⁹)",
    ),
    Estimate(
        "the batch at which decoding is bound by arithmetic",
        "27",
        "A GPU does {peak} · 10¹² operations a second in bfloat16, and its memory delivers {bandwidth:,} GB a second. "
        "From which batch size on is a decoding step bound by arithmetic, if you ignore attention and its cache?",
        {"peak": (312, 495, 989), "bandwidth": (900, 2000, 3350, 4800)},
        lambda n: n["peak"] * 1e12 / (n["bandwidth"] * 1e9),
        "sequences",
        "2 operations a weight and sequence against 2 bytes a weight: {peak} · 10¹² / ({bandwidth} · 10⁹)",
    ),
    Estimate(
        "memory of the caches of a service",
        "27",
        "{rate} requests a second arrive, and each takes {seconds} seconds. On average a request has {length:,} tokens "
        "in the cache, at {kb} KB each. How much memory do all caches take?",
        {"rate": (5, 20, 80), "seconds": (4, 10, 25), "length": (500, 2000, 8000), "kb": (32, 128, 320)},
        lambda n: n["rate"] * n["seconds"] * n["length"] * n["kb"] * 1e3 / 1e9,
        "GB (10⁹ bytes)",
        "Little's law, {rate} × {seconds} requests at a time, × {length} × {kb} · 10³ bytes",
    ),
    Estimate(
        "time of a prefill",
        "27",
        "A prompt of {length:,} tokens arrives at a model of {billions} billion parameters, on {gpus} GPUs that each "
        "reach {speed} · 10¹² operations a second. How long does the prefill take, without attention's own part?",
        {"length": (2000, 8000, 32000), "billions": (8, 32, 70), "gpus": (2, 4, 8), "speed": (200, 400, 500)},
        lambda n: 2 * n["billions"] * 1e9 * n["length"] / (n["gpus"] * n["speed"] * 1e12),
        "seconds",
        "2 × {billions} · 10⁹ × {length} / ({gpus} × {speed} · 10¹²)",
    ),
    Estimate(
        "tokens of a pass with drafts",
        "24b",
        "A draft model proposes {drafts} tokens, each of which is accepted with a probability of {chance} if those "
        "before it are. How many tokens does a pass of the large model yield on average, its own included?",
        {"drafts": (2, 3, 4, 5, 8), "chance": (0.5, 0.6, 0.7, 0.8, 0.9)},
        lambda n: (1 - n["chance"] ** (n["drafts"] + 1)) / (1 - n["chance"]),
        "tokens",
        "(1 − {chance}^({drafts} + 1)) / (1 − {chance})",
    ),
    Estimate(
        "bubble of a pipeline",
        "23b",
        "A pipeline has {stages} stages that take equally long, and {batches} micro-batches. In which share of the "
        "time is a GPU idle?",
        {"stages": (2, 4, 8, 16), "batches": (4, 8, 16, 32, 64)},
        lambda n: 100 * (n["stages"] - 1) / (n["batches"] + n["stages"] - 1),
        "percent",
        "({stages} − 1) / ({batches} + {stages} − 1)",
    ),
    Estimate(
        "time between checkpoints",
        "23b",
        "A run is interrupted every {hours} hours on average, and a checkpoint stops it for {minutes} min. How far "
        "apart should checkpoints be, so that the least time is lost?",
        {"hours": (3, 8, 24, 90), "minutes": (0.5, 1, 2, 5)},
        lambda n: math.sqrt(2 * n["minutes"] * 60 * n["hours"]),
        "minutes",
        "saving costs {minutes} of t minutes, an interruption t/2, so t = √(2 × {minutes} × {hours} · 60)",
    ),
    Estimate(
        "memory of a vector index",
        "13",
        "{millions} million passages have a vector of {width:,} dimensions each, in {type}. How much memory do they "
        "take?",
        {"millions": (5, 20, 100, 200), "width": (384, 768, 1024, 1536), "type": ("float32", "bfloat16", "int8")},
        lambda n: n["millions"] * 1e6 * n["width"] * {"float32": 4, "bfloat16": 2, "int8": 1}[n["type"]] / 1e9,
        "GB (10⁹ bytes)",
        "{millions} · 10⁶ × {width} × the bytes of {type}",
    ),
    Estimate(
        "cost of a million tokens",
        "27",
        "A GPU costs {dollars} dollars an hour, and its batch writes {rate:,} tokens a second altogether. What do a "
        "million tokens cost?",
        {"dollars": (1.5, 2, 3, 4), "rate": (400, 1000, 2500, 8000)},
        lambda n: n["dollars"] / (n["rate"] * 3600) * 1e6,
        "dollars",
        "{dollars} / ({rate} × 3,600) × 10⁶",
    ),
    Estimate(
        "the best size for a budget",
        "24",
        "You may spend {budget} · 10²¹ operations on a language model, and train it on 20 tokens per parameter. How "
        "many parameters should it have?",
        {"budget": (1, 5, 20, 100, 600)},
        lambda n: math.sqrt(n["budget"] * 1e21 / 120),
        "parameters",
        "6 × N × 20 N operations, so N = √({budget} · 10²¹ / 120)",
    ),
    Estimate(
        "memory of logits",
        "22b",
        "A micro-batch has {batch} × {length:,} tokens, and the vocabulary {tokens:,}. How much memory do "
        "the logits take in float32?",
        {"batch": (1, 2, 4, 8), "length": (2048, 4096, 8192), "tokens": (32000, 50257, 128000)},
        lambda n: n["batch"] * n["length"] * n["tokens"] * 4 / 1e9,
        "GB (10⁹ bytes)",
        "{batch} × {length} × {tokens} × 4 bytes",
    ),
    Estimate(
        "a model in few bits",
        "22b",
        "{billions} billion parameters are stored in {bits} bits each, with a scale of 16 bits for every {group} of "
        "them. How large is the file?",
        {"billions": (3, 7, 13, 70), "bits": (3, 4, 8), "group": (32, 64, 128)},
        lambda n: n["billions"] * (n["bits"] + 16 / n["group"]) / 8,
        "GB (10⁹ bytes)",
        "{billions} · 10⁹ × ({bits} + 16 / {group}) bits",
        tolerance=0.05,
    ),
    Estimate(
        "success of an agent",
        "27",
        "An agent's task takes {steps} steps, each of which is right with a probability of {share} %, and nothing "
        "corrects a mistake. In which share of the tasks does it succeed?",
        {"steps": (5, 10, 20, 50), "share": (90, 95, 98, 99)},
        lambda n: 100 * (n["share"] / 100) ** n["steps"],
        "percent",
        "({share} / 100)^{steps}",
    ),
    Estimate(
        "prompt tokens of an agent",
        "27",
        "An agent calls its model {calls} times for a task, and its context grows evenly from {first:,} to {last:,} "
        "tokens. Without a prefix cache, how many prompt tokens are processed?",
        {"calls": (10, 25, 40, 100), "first": (2000, 5000, 10000), "last": (40000, 100000, 150000)},
        lambda n: n["calls"] * (n["first"] + n["last"]) / 2 / 1e6,
        "millions",
        "{calls} × ({first} + {last}) / 2",
    ),
    Estimate(
        "time of a batch of rollouts",
        "24d",
        "A step of GRPO samples {group} replies to each of {prompts} prompts, {length:,} tokens each on average. "
        "{gpus} GPUs write {rate:,} tokens a second each. How long does that take?",
        {
            "group": (8, 16, 64),
            "prompts": (32, 128, 512),
            "length": (500, 2000, 8000),
            "gpus": (8, 64),
            "rate": (1000, 2500),
        },
        lambda n: n["group"] * n["prompts"] * n["length"] / (n["gpus"] * n["rate"]),
        "seconds",
        "{group} × {prompts} × {length} / ({gpus} × {rate})",
    ),
    Estimate(
        "noise of an evaluation",
        "25",
        "A model solves {share} % of {tasks:,} tasks. How large is the standard error of this score, in percentage "
        "points?",
        {"share": (20, 50, 70, 90), "tasks": (50, 164, 400, 1000)},
        lambda n: math.sqrt(n["share"] * (100 - n["share"]) / n["tasks"]),
        "points",
        "100 × √({share} / 100 × (1 − {share} / 100) / {tasks})",
    ),
    Estimate(
        "work of k-means",
        "29",
        "k-means runs for {rounds} iterations on {points:,} points of {width} dimensions, with {clusters} clusters. "
        "How many multiplications do the distances take?",
        {"rounds": (10, 20, 50), "points": (10000, 50000, 200000), "width": (16, 64, 128), "clusters": (10, 100)},
        lambda n: n["rounds"] * n["points"] * n["width"] * n["clusters"] / 1e6,
        "millions",
        "{rounds} × {points} × {clusters} × {width}",
    ),
    Estimate(
        "precision at a base rate",
        "29",
        "1 of {each:,} payments is fraud. A classifier finds {recall} % of the frauds and raises a false alert for "
        "{false} % of the others. Which share of its alerts is right?",
        {"each": (100, 500, 1000), "recall": (60, 80, 90), "false": (0.1, 0.5, 1)},
        lambda n: 100 * n["recall"] / (n["recall"] + n["false"] * (n["each"] - 1)),
        "percent",
        "{recall} / ({recall} + {false} × ({each} − 1))",
    ),
    *SYSTEMS,
)
