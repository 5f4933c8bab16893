"""Cards that ask the same: one interview asks one of them, and an answer to one counts for all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from course.interview.cards import Card

_TWINS = (
    (
        "A matrix product on the GPU takes 10 µs, whatever its size. What did you measure?",
        "You time `a @ b` on a GPU without synchronizing. What did you measure?",
    ),
    (
        "What should the loss be before the first step?",
        "What is the loss of an untrained classifier of 10 classes, and its perplexity?",
        "What first loss do you expect for 100 classes?",
        "Which first loss do you expect with ten classes?",
        "What should the first loss of a decoder be if its vocabulary has 50 tokens?",
        "the first loss",
    ),
    (
        "What is DPO's loss if the policy is the reference?",
        "What is the DPO loss before the first step?",
        "What is the DPO loss when policy and reference agree?",
    ),
    (
        "How much memory does training 7B parameters with AdamW take?",
        "How much memory does it take to train 7 billion parameters?",
        "How much memory does Adam in mixed precision take per parameter, without activations?",
        "How many bytes per parameter does Adam's state take?",
        "Of the 16 bytes per parameter in mixed precision with Adam, which are used by the optimizer alone?",
        "memory of training with Adam",
    ),
    (
        "How many FLOPs does a training step take?",
        "How many FLOPs does training take for each parameter and token?",
        "How long does it take to train 7 billion parameters on a trillion tokens?",
        "work of training",
        "speed of training at an MFU",
    ),
    (
        "How large are the logits and the KV cache of a language model?",
        "How large is the cache of 32 layers, 8 KV heads of 128, and 8k tokens in 16 bits?",
        "How many bytes of cache does a token take with 80 layers and 8 KV heads of 128, in 16 bits?",
        "a key-value cache",
        "memory of the caches of a service",
    ),
    (
        "How many GPUs do you need to serve a 70-billion-parameter model to 500 users at once?",
        "How many GPUs for 20 requests/s of 2,000 + 300 tokens on a 70B model?",
    ),
    (
        "Four draft tokens are each accepted with probability 0.8. How many tokens does a pass of the target yield?",
        "If three draft tokens are accepted with 0.5 each, how many does the target's pass yield?",
    ),
    (
        "By what factor does subtracting the group's mean scale GRPO's gradient for K = 4?",
        "If a baseline is the mean of 8 rewards, the sample's own included, by what factor does the gradient shrink?",
    ),
    (
        "Batch 8, 12 heads, length 1024, float32: how much memory do one layer's attention weights take?",
        "memory of attention weights",
    ),
    (
        "How many parameters does LoRA with `r = 4` train on a 4,096 × 4,096 layer?",
        "parameters of LoRA",
    ),
    (
        "What is MFU, and how do you log without slowing training down?",
        "What is MFU, and why is 40 % good?",
    ),
    (
        "The loss spikes in the middle of training. What do you do?",
        "A loss spike at step 40,000. What do you do?",
    ),
    (
        "You accumulate gradients over batches of sentences. What do you divide by?",
        "Why was the loss under gradient accumulation wrong in many trainers?",
    ),
    (
        "Why do language models share the table with the output layer?",
        "What does it mean that weights are tied?",
    ),
    (
        "Same seed, same code, two GPUs, different losses. Name four causes.",
        "Same seed, different numbers. Why?",
    ),
    (
        '"CUDA error: device-side assert triggered" points at a harmless line. What now?',
        '"CUDA error: device-side assert triggered". What is it, and how do you find the line?',
    ),
    (
        "Memory grows with every iteration. Where do you look?",
        "Training takes more memory with every step. What do you look for?",
    ),
    (
        "You keep one element of a large tensor. How much memory do you keep?",
        "You keep `big[0]` of a 4 MB tensor. How much memory stays alive?",
    ),
    (
        "How do you load a model that is too large to allocate twice?",
        "How do you load a 70 GB model on a machine with 64 GB?",
    ),
    (
        "What must a resumed run restore?",
        "What does a checkpoint need for an exact resume?",
    ),
    (
        "Five percent of your labels are positive. What do you change?",
        "Imbalanced classes: a sampler, or weights in the loss?",
    ),
    (
        "Why is bfloat16, and not float16, the usual type for training today?",
        "float16 or bfloat16?",
        "Is bfloat16 more precise than float16?",
    ),
    (
        "What are vanishing and exploding gradients, and what do you do about them?",
        "Why do gradients vanish or explode in an RNN?",
    ),
    (
        "How does `nn.Linear` initialize its weights?",
        "What are the parameters of `nn.Linear(128, 10)`, and how do they start?",
    ),
    (
        "What does fusion save, and what else can a compiler do with a graph?",
        "What does fusing kernels save?",
    ),
    ("ZeRO 1, 2 and 3: how many bytes and how much traffic each?", "Does ZeRO-1 send more than DDP?"),
    ("Why column, then row?", "Which of an MLP's two layers does tensor parallelism split by columns?"),
    ("What is TF32, and is it on?", "Is TF32 on by default?"),
    ("What is `channels_last`?", "What is `channels_last`, and why is it faster?"),
    ("`no_grad`, `inference_mode`, `detach` or `eval`?", "`eval()` or `no_grad()`?"),
)
"""By the words of their cards. Each lesson asks what it teaches, so the same is asked in several."""
FAMILIES = {words: twins[0] for twins in _TWINS for words in twins}
"""What stands for all of its twins, by the words of a card."""
RUNGS: Mapping[str, str] = {
    "Why do you count arrivals instead of recursing?": "Why does the engine need a topological order?",
    "Why do you subtract the maximum, and why doesn't that change the result?": (
        "Why does softmax subtract the largest logit first?"
    ),
    "Which bound does PyTorch's initialization have, and where does its √5 come from?": (
        "How does `nn.Linear` initialize its weights?"
    ),
    "What does RMS normalization leave out, and why does that work?": (
        "What does RMSNorm leave out, and why do language models use it?"
    ),
    "Pre-norm or post-norm?": "What are the residual connections for, and where does the norm go?",
    "Why do you divide by the root of E?": "Why are the scores divided by $\\sqrt d$?",
    "Why several heads if they cost the same as one?": "Why several heads instead of one wide one?",
    "Why keys and values, but not queries?": "What is a KV cache?",
    "How many bytes does the cache of one sequence take?": (
        "How large are the logits and the KV cache of a language model?"
    ),
    "You switch on a momentum of 0.9. What do you do with the learning rate?": "What does momentum do?",
    "Is this weight decay the same as L2 regularization?": "Adam with `weight_decay`, or AdamW?",
    "How does AdamW differ from Adam with weight decay?": "Adam with `weight_decay`, or AdamW?",
    "What does bias correction prevent?": "Explain Adam, from Adagrad on. What does bias correction do?",
    "Why does the cell state help the gradient?": "Why do gradients vanish or explode in an RNN?",
    "Why does one matrix start at zero, and why not both?": (
        "LoRA: why does B start at 0, what does alpha / r do, and what does it cost at inference?"
    ),
    "Why is the product scaled by α/r?": (
        "LoRA: why does B start at 0, what does alpha / r do, and what does it cost at inference?"
    ),
    "Why is it faster if it computes just as much?": "Why is FlashAttention faster, though it computes more?",
    "When would you use a zero point?": (
        "int8 quantization: what are scale and zero point, why one scale per channel, and what do outliers do?"
    ),
    "Why a scale for each output?": (
        "int8 quantization: what are scale and zero point, why one scale per channel, and what do outliers do?"
    ),
    "When is a ring the wrong choice?": "Ring or tree: how many bytes, how many steps?",
    "What do the three stages of ZeRO split?": "ZeRO 1, 2 and 3: how many bytes and how much traffic each?",
    "How much more does the third stage send?": "ZeRO 1, 2 and 3: how many bytes and how much traffic each?",
    "How do you clip the norm of the gradient?": "How do you clip gradients that are sharded?",
    "Why is the first layer split by its outputs and the second by its inputs?": "Why column, then row?",
    "Why do the scores depend on the distance alone?": "Why does RoPE's score depend on the distance alone?",
    "How do you make the context longer?": "How do you stretch a context from 8k to 128k?",
    "Why are the tokens distributed as the large model's?": "Why is speculative decoding exact?",
    "How many tokens does a pass yield?": (
        "Four draft tokens are each accepted with probability 0.8. How many tokens does a pass of the target yield?"
    ),
    "When doesn't it pay?": "When does speculative decoding make a server slower?",
    "How does the router learn, although top-k has no gradient?": (
        "How does the router learn if top-k has no gradient?"
    ),
    "Can the rest of the batch change a token's result?": (
        "Why can a batch change a mixture of experts' answer for one request?"
    ),
    "What are attention sinks?": "What is an attention sink, and why do StreamingLLM and gpt-oss keep one?",
    "What do you do when no block is free?": "Your server's KV cache is full. What do you do?",
    "Recompute or swap a victim?": "Your server's KV cache is full. What do you do?",
    "Where did the normalizer Z go?": "Derive DPO from KL-regularized RL.",
    "The loss falls, and so does the chosen answer's probability. Is that a bug?": (
        "The DPO loss falls and the chosen answer's probability falls too. Is that a bug?"
    ),
    "Which bias does the mean over each answer bring?": "What bias do 1/length and 1/std bring into GRPO?",
    "Why does GSPO take one ratio?": "Why does GSPO take one ratio per sequence instead of one per token?",
    "Forward or reverse?": "Do you distill on the teacher's text or on the student's?",
    "Which of them extrapolates to longer texts?": "Sines, ALiBi, T5 buckets or RoPE: how do they differ?",
    "Why squared distances in k-means++?": "Does k-means converge, and how do you choose k and the first centers?",
    "What does soft-NMS change?": "What does non-maximum suppression get wrong, and what is done about it?",
    "Why not ‖a‖² − 2a·b + ‖b‖²?": "When does computing all distances with one matmul go wrong?",
    "What does an AUC of 0.5 mean, and 0.3?": "What does an AUC of 0.3 mean?",
    "2 % of the examples are positive and the AUC is 0.95. Is that good?": (
        "What does an AUC of 0.95 tell you, and what does it hide?"
    ),
    "Why is the problem convex?": "Is the loss of logistic regression convex?",
    "What happens on separable data without a penalty?": "What happens to logistic regression on separable data?",
    "Why not the inverse of xᵀx?": "Why don't you solve least squares by inverting xᵀx?",
    "You evaluate at a higher resolution. What changes?": "What changes when a vision transformer sees a larger image?",
    "Why not sample from the distribution directly?": ("What is the reparameterization trick, and why is it needed?"),
}
"""What is asked after a whiteboard problem, and the question of a lesson that asks the same."""


def family(card: Card) -> str:
    """What a card is known as: the same for all cards that ask the same."""
    return FAMILIES.get(card.words, card.name)


def unlike(order: Sequence[Card], asked: Collection[Card]) -> list[Card]:
    """An order without those cards that ask the same as one before them, or as one of `asked`."""
    had = {family(card) for card in asked}
    first = list[Card]()
    for card in order:
        if family(card) not in had:
            first.append(card)
        had.add(family(card))
    return first


def is_asked(rung: str, cards: Iterable[Card]) -> bool:
    """Whether what is asked after a whiteboard problem is asked by one of these cards already."""
    words = RUNGS.get(rung, "")
    return bool(words) and FAMILIES.get(words, words) in {FAMILIES.get(card.words, card.words) for card in cards}
