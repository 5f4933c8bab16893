# %% [markdown]
# # Exercises · Hugging Face's Llama on your own code
# These six exercises are about loading, converting and debugging other people's models: what a checkpoint contains, the two rotary
# layouts, names in Meta's format, an attention function with the library's signature, gradient accumulation, and the first module that
# differs. They need neither `transformers` nor a checkpoint. Your answers may use the tensors, operations and layers of `torch`, which is
# minitorch.

# %% setup=true
from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

from course import check

# %% setup=true
import minitorch as torch
from minitorch import nn
from minitorch.nn import functional as F

# %% [markdown] exercise="hub_predict" kind="predict" points=2
# ### Exercise 1 · What is in the checkpoint?
# A Llama has this configuration, and its weights were saved with `save_pretrained`:
#
# ```json
# {"vocab_size": 100, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 3,
#  "num_attention_heads": 6, "num_key_value_heads": 2, "tie_word_embeddings": true}
# ```
#
# 1. How many tensors does `model.safetensors` contain?
# 2. How many parameters does the model have, with each tensor counted once?
# 3. What is `sum(each.numel() for each in model.state_dict().values())`?
# 4. A batch has two rows of 12 tokens. `labels` is a copy of `input_ids` in which the first five labels of the second row are −100.
#    Over how many predictions does the loss average?
# 5. The two rows run as two micro-batches, whose own losses are 2.0 and 3.8. What is the loss of the batch, to one decimal?
#
# Set `prediction` to a list of four integers and a float.

# %% solution="hub_predict"
### BEGIN SOLUTION
prediction = [29, 51216, 56016, 18, 2.7]
### END SOLUTION

# %% check="hub_predict"
names = ["tensors in the file", "parameters", "elements of the state dict", "predictions", "loss times ten"]
check.show(
    {name: round(float(each) * (10 if name == names[-1] else 1)) for name, each in zip(names, prediction, strict=True)},
    secret=True,
)

# %% [markdown] hint="hub_predict"
# Each layer has seven matrices and two norms. What is there besides the layers, and which of it is stored once although it has two names?

# %% [markdown] hint="hub_predict"
# A head is 48 / 6 = 8 wide, so `k_proj` and `v_proj` have 16 rows. The model shifts the labels: the first label of a row is never
# predicted, whatever it is.

# %% [markdown] hint="hub_predict"
# The matrices of a layer are two of 48 × 48, two of 16 × 48 and three of 48 × 64, and each norm has 48 elements. Outside the layers there
# are the embedding and one more norm. In the loss of the batch, every prediction counts the same, not every row.

# %% mutant="hub_predict"
# The head is in the file
# Tied weights share memory, so the file contains one of the two names: 3 · 9 + 2 tensors.
prediction = [30, 51216, 56016, 18, 2.7]

# %% mutant="hub_predict"
# The head is counted as a parameter
# The head is the embedding, and `parameters()` lists a tensor once.
prediction = [29, 56016, 56016, 18, 2.7]

# %% mutant="hub_predict"
# The state dict has no second name
# `state_dict()` lists both names of a tied tensor, so its 4,800 elements are counted twice here.
prediction = [29, 51216, 51216, 18, 2.7]

# %% mutant="hub_predict"
# Full heads for keys and values
# There are 2 heads of keys and values, not 6, so `k_proj` and `v_proj` have 16 rows.
prediction = [29, 60432, 65232, 18, 2.7]

# %% mutant="hub_predict"
# Counts before the shift
# The first label of a row predicts nothing: 11 and 7 predictions remain. In the second row, the ignored labels include the first one.
prediction = [29, 51216, 56016, 19, 2.7]

# %% mutant="hub_predict"
# The shift loses an ignored label twice
# Five labels of the second row are ignored, the first among them, so the shift takes no further one away: 12 − 5 remain.
prediction = [29, 51216, 56016, 17, 2.7]

# %% mutant="hub_predict"
# The mean of the means
# The rows have 11 and 7 predictions, so their losses don't count the same: (11 · 2.0 + 7 · 3.8) / 18.
prediction = [29, 51216, 56016, 18, 2.9]


# %% [markdown] exercise="hub_permute" kind="build" points=3
# ### Exercise 2 · From Meta's rotary layout to Hugging Face's, and back
# In each head, Meta's rows 2i and 2i + 1 form a rotary pair, while in Hugging Face's layout rows i and i + dim/2 do. Write both conversions
# for the weights of `q_proj` and `k_proj`, and for their biases. In a head of 6 rows, Hugging Face's order of Meta's rows is 0, 2, 4, 1, 3,
# 5.


# %% solution="hub_permute"
def to_halves(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Convert Meta's weight (heads · dim, hidden) to Hugging Face's layout.

    Rows 2i and 2i + 1 of each head become rows i and i + dim/2 of the same head, in this order. A
    bias (heads · dim,) is converted in the same way. The result has the dtype of `weight`, which
    isn't changed.

    Raises:
        ValueError: "N rows are not HEADS heads of even width", with both numbers.
    """
    ### BEGIN SOLUTION
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return weight.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)
    ### END SOLUTION


def to_pairs(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Convert Hugging Face's weight or bias to Meta's layout, with the errors of `to_halves`."""
    ### BEGIN SOLUTION
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return weight.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)
    ### END SOLUTION


# %% check="hub_permute" raises="ValueError"
generator = check.rng()
heads, kv_heads, dim, hidden = 6, 2, 2 * int(generator.integers(4, 7)), int(generator.integers(3, 6))
query = torch.tensor(generator.normal(size=(heads * dim, hidden)).astype("float32"))
key = torch.tensor(generator.normal(size=(hidden, kv_heads * dim))).T  # not contiguous
bias = torch.tensor(generator.normal(size=heads * dim)).bfloat16()
kept = query.clone()
shown = {"heads, width": [heads, kv_heads, dim], "query": query}
for name, convert in (("halves", to_halves), ("pairs", to_pairs)):
    shown[f"query to {name}"] = convert(query, heads)
    shown[f"key to {name}"] = convert(key, kv_heads)
    shown[f"bias to {name}"] = convert(bias, heads).float()
    shown[f"the bias's dtype, to {name}"] = convert(bias, heads).dtype
    shown[f"one head, to {name}"] = convert(query[:dim], 1).sum(1)
    shown[f"one column, to {name}"] = convert(query[:, 1:2], heads)
    shown[f"too many rows, to {name}"] = check.error(convert, torch.zeros(3 * heads, 2), heads)
    shown[f"no heads fit, to {name}"] = check.error(convert, torch.zeros(4 * kv_heads + 1), kv_heads)
for name, convert in (("halves", to_halves), ("pairs", to_pairs)):
    same = torch.equal(convert(key, kv_heads).flatten().sort()[0], key.flatten().sort()[0])
    shown[f"the key's numbers, exactly, to {name}"] = same
shown["there and back"] = [(to_pairs(to_halves(query, heads), heads) - query).abs().max()]
shown["query afterwards"] = torch.equal(query, kept)
check.show(shown, text="The converted weights and biases.")

# %% [markdown] hint="hub_permute"
# Try it with `torch.arange(12)` and two heads, and check that no row leaves its head.

# %% [markdown] hint="hub_permute"
# Meta's rows are (heads, dim/2, 2), flattened, and Hugging Face's are (heads, 2, dim/2). So split the first dimension into three, swap two
# of these and flatten them again.

# %% [markdown] hint="hub_permute"
# `weight.unflatten(0, (heads, -1, 2))` has one dimension more than you may expect when you transpose, so name the two that you swap by
# counting from the front, and biases work as well. A head of odd width can't be split into pairs.


# %% mutant="hub_permute"
# The whole matrix as one head
# The order is applied to each head by itself. Here rows of different heads are mixed.
def to_halves(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return torch.cat([weight[0::2], weight[1::2]])


def to_pairs(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return torch.stack(weight.chunk(2), 1).flatten(0, 1)


# %% mutant="hub_permute"
# Both directions exchanged
# Converting to halves starts from neighbouring pairs: split each head into (dim/2, 2), not into (2, dim/2).
def to_halves(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return weight.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)


def to_pairs(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return weight.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)


# %% mutant="hub_permute"
# The same permutation in both directions
# The permutation is not its own inverse for heads wider than 4, so going back needs the inverse order.
def to_halves(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return weight.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)


to_pairs = to_halves


# %% mutant="hub_permute"
# Odd rows before even ones
# The first of each pair belongs to the first half. Exchanging the two reverses the rotation.
def to_halves(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return weight.unflatten(0, (heads, -1, 2)).flip(2).transpose(1, 2).flatten(0, 2)


def to_pairs(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return weight.unflatten(0, (heads, 2, -1)).flip(1).transpose(1, 2).flatten(0, 2)


# %% mutant="hub_permute"
# Odd widths are not refused
# A head of 3 rows has no pairs. Checking that the rows divide by the number of heads isn't enough.
def to_halves(weight, heads):
    if weight.shape[0] % heads:
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    each = weight.unflatten(0, (heads, -1))
    return torch.cat([each[:, 0::2], each[:, 1::2]], 1).flatten(0, 1)


def to_pairs(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return weight.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)


# %% [markdown] exercise="hub_convert" kind="build" points=4
# ### Exercise 3 · A state dict in Meta's names
# Convert the state dict of a Hugging Face Llama for a program that reads Meta's format:
#
# | Hugging Face | Meta |
# |---|---|
# | `model.embed_tokens` | `tok_embeddings` |
# | `model.norm` | `norm` |
# | `lm_head` | `output` |
# | `model.layers.N.input_layernorm` | `layers.N.attention_norm` |
# | `model.layers.N.post_attention_layernorm` | `layers.N.ffn_norm` |
# | `model.layers.N.self_attn.q_proj`, `k_proj`, `v_proj`, `o_proj` | `layers.N.attention.wq`, `wk`, `wv`, `wo` |
# | `model.layers.N.mlp.gate_proj`, `down_proj`, `up_proj` | `layers.N.feed_forward.w1`, `w2`, `w3` |
#
# Each of them has a `.weight`, and some models have a `.bias` as well. The conversion of rows is passed as an argument, so this exercise
# doesn't depend on the one before.


# %% solution="hub_convert"
def to_meta(state: dict[str, torch.Tensor], config: dict, to_pairs) -> dict[str, torch.Tensor]:
    """Return the state dict under Meta's names, in the order of `state`.

    Args:
        state: tensors by Hugging Face's names. It isn't changed.
        config: the contents of `config.json`. If "num_key_value_heads" is missing or None, it
            equals "num_attention_heads"; "tie_word_embeddings" is False by default.
        to_pairs: `to_pairs(weight, heads)` returns a query's or key's weight or bias in Meta's layout.

    Meta's format always has an `output.weight`. With tied embeddings it is the same tensor object
    as `tok_embeddings.weight`, and it comes last if `state` has no `lm_head.weight`. Names that end
    in `rotary_emb.inv_freq`, which old checkpoints contain, are dropped.

    Raises:
        KeyError: any other name isn't in the table; the error contains the first one.
    """
    ### BEGIN SOLUTION
    outside = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output"}
    inside = {
        "input_layernorm": "attention_norm",
        "post_attention_layernorm": "ffn_norm",
        **{f"self_attn.{each}_proj": f"attention.w{each}" for each in "qkvo"},
        "mlp.gate_proj": "feed_forward.w1",
        "mlp.down_proj": "feed_forward.w2",
        "mlp.up_proj": "feed_forward.w3",
    }
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    rotated = {"self_attn.q_proj": heads, "self_attn.k_proj": kv_heads}
    converted = {}
    for name, tensor in state.items():
        if name.endswith("rotary_emb.inv_freq"):
            continue
        module, _, kind = name.rpartition(".")
        parts = module.split(".", 3)
        if kind not in ("weight", "bias"):
            raise KeyError(name)
        if module in outside:
            converted[f"{outside[module]}.{kind}"] = tensor
        elif parts[:2] == ["model", "layers"] and len(parts) == 4 and parts[2].isdigit() and parts[3] in inside:
            moved = to_pairs(tensor, rotated[parts[3]]) if parts[3] in rotated else tensor
            converted[f"layers.{parts[2]}.{inside[parts[3]]}.{kind}"] = moved
        else:
            raise KeyError(name)
    if config.get("tie_word_embeddings", False):
        converted["output.weight"] = converted["tok_embeddings.weight"]
    return converted
    ### END SOLUTION


# %% check="hub_convert" raises="KeyError"
generator = check.rng()
heads, kv_heads, layers = 4, 2, int(generator.integers(11, 14))
sizes = {"self_attn.q_proj": 8, "self_attn.k_proj": 4, "self_attn.v_proj": 4, "self_attn.o_proj": 3, "mlp.gate_proj": 5}
sizes |= {"mlp.up_proj": 6, "mlp.down_proj": 7, "input_layernorm": 2, "post_attention_layernorm": 9}


def drawn(size):
    return torch.tensor(generator.normal(size=size))


def marked(weight, heads):  # stands in for the permutation, and shows how it was called
    return weight * 10 + heads


names = {"model.embed_tokens.weight": drawn(10), "model.norm.weight": drawn(3), "lm_head.weight": drawn(10)}
for layer in (0, 1, layers - 1):
    for name, size in sizes.items():
        names[f"model.layers.{layer}.{name}.weight"] = drawn(size)
    names[f"model.layers.{layer}.self_attn.k_proj.bias"] = drawn(4)
    names[f"model.layers.{layer}.self_attn.v_proj.bias"] = drawn(4)
    names[f"model.layers.{layer}.self_attn.rotary_emb.inv_freq"] = drawn(2)
order = list(names)
generator.shuffle(order)
state = {name: names[name] for name in order}
tied = {name: each for name, each in state.items() if name != "lm_head.weight"}
grouped = {"num_attention_heads": heads, "num_key_value_heads": kv_heads}
calls = {
    "untied": to_meta(state, grouped, marked),
    "tied": to_meta(tied, grouped | {"tie_word_embeddings": True}, marked),
    "tied, with both names": to_meta(state, grouped | {"tie_word_embeddings": True}, marked),
}
shown = {"order": order, "layers": layers}
for name, converted in calls.items():
    shown[f"{name}: names"] = list(converted)
    sums = [(each * torch.arange(1, len(each) + 1)).sum() for each in converted.values()]
    shown[f"{name}: each tensor's elements times 1, 2, 3 …, summed"] = torch.stack(sums)
    shown[f"{name}: the head is the embedding"] = converted["output.weight"] is converted["tok_embeddings.weight"]
small = {name: each for name, each in tied.items() if "k_proj" in name or "embed" in name}
for name, config in (("no kv heads", {}), ("kv heads None", {"num_key_value_heads": None})):
    converted = to_meta(small, {"num_attention_heads": heads, "tie_word_embeddings": True} | config, marked)
    shown[name] = [each.sum() for each in converted.values()]
wrong_names = ["model.layers.0.mlp.gate.weight", "model.layers.0.input_layernorm.scale", "layers.1.mlp.up_proj.weight"]
for wrong in (
    *wrong_names,
    "model.layers.last.mlp.up_proj.weight",
    "model.layers.weight",
    "model.blocks.0.mlp.up_proj.weight",
    "model.norm.scale",
    "model.layers.0.mlp.up_proj.weight_scale",
    "model.layers.0.self_attn.rotary_emb.scale",
    "model.layers.0.rotary_emb.inv_freq.weight",
):
    shown[f"error of {wrong}"] = check.error(to_meta, {"model.norm.weight": drawn(2), wrong: drawn(2)}, grouped, marked)
shown["the state dict afterwards"] = [list(state) == order, len(tied)]
check.show(
    shown, text="The converted names; in place of permuting rows, tensors are 10 times the weight plus the heads."
)

# %% [markdown] hint="hub_convert"
# Separate a name into its module and `weight` or `bias`. Then two small tables do nearly everything: one for modules outside the layers,
# one for those inside.

# %% [markdown] hint="hub_convert"
# `name.rpartition(".")` splits at the last dot, and `module.split(".", 3)` gives `["model", "layers", N, rest]` inside a layer. Queries and
# keys have different numbers of heads.

# %% [markdown] hint="hub_convert"
# Treat ties at the end: if the configuration says that the embeddings are tied, `output.weight` is assigned the converted embedding,
# whether or not there was an `lm_head.weight`. Assigning to a name that is already in a dict keeps its place.


# %% mutant="hub_convert"
# The head of a tied model is missing
# With tied weights the file has no `lm_head.weight`, but Meta's format needs an `output.weight`: it is the embedding.
def to_meta(state, config, to_pairs):
    table = {
        "model.embed_tokens": "tok_embeddings",
        "model.layers": "layers",
        "model.norm": "norm",
        "lm_head": "output",
        "post_attention_layernorm": "ffn_norm",
        "input_layernorm": "attention_norm",
        "self_attn.q_proj": "attention.wq",
        "self_attn.k_proj": "attention.wk",
        "self_attn.v_proj": "attention.wv",
        "self_attn.o_proj": "attention.wo",
        "mlp.gate_proj": "feed_forward.w1",
        "mlp.down_proj": "feed_forward.w2",
        "mlp.up_proj": "feed_forward.w3",
    }
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    converted = {}
    for name, tensor in state.items():
        if name.endswith("inv_freq"):
            continue
        new = name
        for old, other in table.items():
            new = new.replace(old, other)
        if name.startswith("layers") or ".gate." in new or not new.endswith(("weight", "bias")):
            raise KeyError(name)
        if "q_proj" in name or "k_proj" in name:
            tensor = to_pairs(tensor, heads if "q_proj" in name else kv_heads)
        converted[new] = tensor
    converted.setdefault("output.weight", None)
    return converted


# %% mutant="hub_convert"
# Keys with the queries' heads
# Under grouped-query attention, keys have `num_key_value_heads` heads, and the permutation goes by heads.
def to_meta(state, config, to_pairs):
    outside = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output"}
    inside = {"input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm"}
    inside |= {f"self_attn.{each}_proj": f"attention.w{each}" for each in "qkvo"}
    inside |= {"mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2", "mlp.up_proj": "feed_forward.w3"}
    converted = {}
    for name, tensor in state.items():
        if name.endswith("rotary_emb.inv_freq"):
            continue
        module, _, kind = name.rpartition(".")
        parts = module.split(".", 3)
        if kind not in ("weight", "bias"):
            raise KeyError(name)
        if module in outside:
            converted[f"{outside[module]}.{kind}"] = tensor
        elif parts[:2] == ["model", "layers"] and parts[3] in inside:
            rotated = parts[3] in ("self_attn.q_proj", "self_attn.k_proj")
            moved = to_pairs(tensor, config["num_attention_heads"]) if rotated else tensor
            converted[f"layers.{parts[2]}.{inside[parts[3]]}.{kind}"] = moved
        else:
            raise KeyError(name)
    if config.get("tie_word_embeddings", False):
        converted["output.weight"] = converted["tok_embeddings.weight"]
    return converted


# %% mutant="hub_convert"
# Values are permuted, too
# Values aren't rotated, so their rows stay where they are.
def to_meta(state, config, to_pairs):
    outside = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output"}
    inside = {"input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm"}
    inside |= {f"self_attn.{each}_proj": f"attention.w{each}" for each in "qkvo"}
    inside |= {"mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2", "mlp.up_proj": "feed_forward.w3"}
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    rotated = {"self_attn.q_proj": heads, "self_attn.k_proj": kv_heads, "self_attn.v_proj": kv_heads}
    converted = {}
    for name, tensor in state.items():
        if name.endswith("rotary_emb.inv_freq"):
            continue
        module, _, kind = name.rpartition(".")
        parts = module.split(".", 3)
        if kind not in ("weight", "bias"):
            raise KeyError(name)
        if module in outside:
            converted[f"{outside[module]}.{kind}"] = tensor
        elif parts[:2] == ["model", "layers"] and parts[3] in inside:
            moved = to_pairs(tensor, rotated[parts[3]]) if parts[3] in rotated else tensor
            converted[f"layers.{parts[2]}.{inside[parts[3]]}.{kind}"] = moved
        else:
            raise KeyError(name)
    if config.get("tie_word_embeddings", False):
        converted["output.weight"] = converted["tok_embeddings.weight"]
    return converted


# %% mutant="hub_convert"
# Biases of the keys stay
# A bias is added to the rows, so it moves with them.
def to_meta(state, config, to_pairs):
    outside = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output"}
    inside = {"input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm"}
    inside |= {f"self_attn.{each}_proj": f"attention.w{each}" for each in "qkvo"}
    inside |= {"mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2", "mlp.up_proj": "feed_forward.w3"}
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    rotated = {"self_attn.q_proj": heads, "self_attn.k_proj": kv_heads}
    converted = {}
    for name, tensor in state.items():
        if name.endswith("rotary_emb.inv_freq"):
            continue
        module, _, kind = name.rpartition(".")
        parts = module.split(".", 3)
        if kind not in ("weight", "bias"):
            raise KeyError(name)
        if module in outside:
            converted[f"{outside[module]}.{kind}"] = tensor
        elif parts[:2] == ["model", "layers"] and parts[3] in inside:
            moved = to_pairs(tensor, rotated[parts[3]]) if parts[3] in rotated and kind == "weight" else tensor
            converted[f"layers.{parts[2]}.{inside[parts[3]]}.{kind}"] = moved
        else:
            raise KeyError(name)
    if config.get("tie_word_embeddings", False):
        converted["output.weight"] = converted["tok_embeddings.weight"]
    return converted


# %% mutant="hub_convert"
# Unknown names are dropped
# A name that isn't in the table means a model that you can't convert, so it raises KeyError instead of losing a tensor.
def to_meta(state, config, to_pairs):
    outside = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output"}
    inside = {"input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm"}
    inside |= {f"self_attn.{each}_proj": f"attention.w{each}" for each in "qkvo"}
    inside |= {"mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2", "mlp.up_proj": "feed_forward.w3"}
    heads = config["num_attention_heads"]
    rotated = {"self_attn.q_proj": heads, "self_attn.k_proj": config.get("num_key_value_heads") or heads}
    converted = {}
    for name, tensor in state.items():
        module, _, kind = name.rpartition(".")
        parts = module.split(".", 3)
        if module in outside:
            converted[f"{outside[module]}.{kind}"] = tensor
        elif parts[:2] == ["model", "layers"] and parts[3] in inside:
            moved = to_pairs(tensor, rotated[parts[3]]) if parts[3] in rotated else tensor
            converted[f"layers.{parts[2]}.{inside[parts[3]]}.{kind}"] = moved
    if config.get("tie_word_embeddings", False):
        converted["output.weight"] = converted["tok_embeddings.weight"]
    return converted


# %% [markdown] exercise="hub_attention" kind="build" points=4
# ### Exercise 4 · An attention function for the library
# Write a function that could be registered with `AttentionInterface`. The model calls it with queries and keys that are already rotated,
# and with the values. Masks come in two forms: a boolean mask is True where a query may attend, while a floating-point mask is added to the
# scores. Because the weights are returned as well, you can't use `scaled_dot_product_attention`.


# %% solution="hub_attention"
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    """Compute attention as transformers' models call it.

    Returns the output (N, T, heads, dim) and the weights (N, heads, T, S).

    Args:
        module: the attention module. `module.num_key_value_groups` consecutive query heads share one
            head of keys and values; `module.is_causal` says whether it is causal (default: True).
        query: (N, heads, T, dim).
        key: (N, kv heads, S, dim), S ≥ T: the T queries belong to the last T keys.
        value: of the key's shape.
        attention_mask: boolean or floating-point, of a shape that broadcasts to (N, heads, T, at
            least S); only its first S columns count. With a mask, `is_causal` doesn't matter.
            Without one, a causal module hides the keys after each query's own.
        scaling: the factor of the scores; None means 1/√dim.
        dropout: the probability with which a weight is dropped. The weights are returned after
            dropout.
        is_causal: overrides `module.is_causal` unless it is None.
        kwargs: further options of the library, which are ignored.

    The softmax is computed in float32, whatever the dtype of the scores, as in the library's eager
    attention. The weights are then converted to the query's dtype, so those of a float64 query have
    only float32's precision. For 16-bit scores, `softmax` alone gives the same weights, because it
    computes in float32 inside and rounds at the end.
    """
    ### BEGIN SOLUTION
    length, kept = query.shape[2], key.shape[2]
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is None and causal:
        attention_mask = torch.ones(length, kept, dtype=torch.bool, device=query.device).tril(kept - length)
    if attention_mask is not None:
        attention_mask = attention_mask[..., :kept]
        if attention_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attention_mask, float("-inf"))
        else:
            scores = scores + attention_mask
    weights = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
    weights = F.dropout(weights, dropout)
    return (weights @ value).transpose(1, 2), weights
    ### END SOLUTION


# %% check="hub_attention"
generator = check.rng()
N, kv_heads, groups, T, S, dim = 2, 2, 3, 4, 6, int(generator.choice([5, 7, 8]))


def drawn(*size):
    return torch.tensor(generator.normal(size=size).astype("float32"))


module = SimpleNamespace(num_key_value_groups=groups, is_causal=True)
query, key, value = drawn(N, kv_heads * groups, T, dim), drawn(N, kv_heads, S, dim), drawn(N, kv_heads, S, dim)
added = torch.full((N, 1, T, S + 2), torch.finfo(torch.float32).min).triu(S - T + 1)
allowed = torch.tensor(generator.random((N, 1, T, S + 2)) < 0.5)
allowed[..., 1] = True
shown = {"query": query, "key": key, "value": value}
cases = {
    "causal": (query, key, value, None),
    "one query": (query[:, :, -1:], key, value, None),
    "as many queries as keys": (query, key[:, :, :T], value[:, :, :T], None),
    "added mask": (query, key, value, added),
    "an added mask with other numbers": (query, key, value, drawn(N, kv_heads * groups, T, S)),
    "boolean mask": (query, key, value, allowed),
    "boolean mask without a batch": (query, key, value, allowed[0, 0]),
}
for name, arguments in cases.items():
    output, weights = attention(module, *arguments, scaling=dim**-0.5, position_ids=None)
    shown[name] = [output, weights] if name in ("causal", "boolean mask") else output
shown["no scaling given"] = attention(module, query, key, value, None)[1]
shown["another scaling"] = attention(module, query, key, value, None, scaling=0.7)[0]
shown["a scaling of 0"] = attention(module, query, key, value, None, scaling=0.0)[0]
shown["is_causal=False"] = attention(module, query, key, value, None, is_causal=False)[0]
everywhere = SimpleNamespace(num_key_value_groups=groups, is_causal=False)
shown["a module that isn't causal"] = attention(everywhere, query, key, value, None)[0]
shown["it is asked to be"] = attention(everywhere, query, key, value, None, is_causal=True)[0]
silent = SimpleNamespace(num_key_value_groups=groups)
shown["a module that says nothing"] = attention(silent, query, key, value, None)[0]
halves = [each.bfloat16() * 4 for each in (query, key, value)]
output, weights = attention(module, *halves, None)
shown["dtypes of bfloat16"] = [output.dtype, weights.dtype]
doubles = [each.double() for each in (query, key, value)]
exact, precise = attention(module, *doubles, None)
shown["dtypes of float64"] = [exact.dtype, precise.dtype]
shown["its weights are float32 numbers"] = torch.equal(precise, precise.float().double())
torch.manual_seed(check.seed())
output, dropped = attention(module, query, key, value, None, dropout=0.5)
whole = attention(module, query, key, value, None)[1]
ratios = (dropped / whole)[whole > 0]
shown["ratios of dropped weights"] = sorted({round(each) for each in ratios.tolist()})
used = (dropped @ value.repeat_interleave(groups, 1)).transpose(1, 2)
again = attention(module, query, key, value, None, dropout=0.5)[1]
shown["two calls drop the same weights"] = torch.equal(dropped == 0, again == 0)
shown["the dropped weights are used"] = (output - used).abs().max()
leaves = [each.clone().requires_grad_() for each in (query, key, value)]
(attention(module, *leaves, None)[0] * drawn(N, T, kv_heads * groups, dim)).sum().backward()
shown["gradients"] = [each.grad for each in leaves]
check.show(shown, rtol=1e-4, atol=1e-5, text="Outputs and weights for each kind of mask, and gradients.")

# %% [markdown] hint="hub_attention"
# Write down the shapes first. Which dimension do the groups belong to, and which two dimensions are exchanged at the end?

# %% [markdown] hint="hub_attention"
# Repeat each head of keys and values `num_key_value_groups` times in a row. With T queries at the end of S keys, query i is key number
# S − T + i, so the triangle starts at diagonal S − T.

# %% [markdown] hint="hub_attention"
# Make a boolean mask if there is none and the module is causal, and cut any mask to S columns. The two kinds of mask need different
# operations. `softmax` takes a `dtype`, in which it computes and returns; dropout comes after the conversion to the query's dtype.


# %% mutant="hub_attention"
# The output keeps the heads in front
# The library flattens the last two dimensions to (N, T, heads · dim), so the heads have to come after the length.
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    length, kept = query.shape[2], key.shape[2]
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is None and causal:
        attention_mask = torch.ones(length, kept, dtype=torch.bool).tril(kept - length)
    if attention_mask is not None:
        attention_mask = attention_mask[..., :kept]
        if attention_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attention_mask, float("-inf"))
        else:
            scores = scores + attention_mask
    weights = F.dropout(scores.softmax(-1, dtype=torch.float32).to(query.dtype), dropout)
    return weights @ value, weights


# %% mutant="hub_attention"
# No mask is no mask
# None doesn't mean that everything is visible: the library leaves the mask out where causality is enough, and the function has to
# apply it.
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    kept = key.shape[2]
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if attention_mask is not None:
        attention_mask = attention_mask[..., :kept]
        if attention_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attention_mask, float("-inf"))
        else:
            scores = scores + attention_mask
    weights = F.dropout(scores.softmax(-1, dtype=torch.float32).to(query.dtype), dropout)
    return (weights @ value).transpose(1, 2), weights


# %% mutant="hub_attention"
# The triangle starts at the first key
# The queries belong to the last keys. With six keys and four queries, the first query may see three keys, and a single query sees all.
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    length, kept = query.shape[2], key.shape[2]
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is None and causal:
        attention_mask = torch.ones(length, kept, dtype=torch.bool).tril()
    if attention_mask is not None:
        attention_mask = attention_mask[..., :kept]
        if attention_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attention_mask, float("-inf"))
        else:
            scores = scores + attention_mask
    weights = F.dropout(scores.softmax(-1, dtype=torch.float32).to(query.dtype), dropout)
    return (weights @ value).transpose(1, 2), weights


# %% mutant="hub_attention"
# Heads repeated in turn
# Heads a, b became a, b, a, b, … but consecutive query heads share a key head: a, a, a, b, b, b.
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    length, kept = query.shape[2], key.shape[2]
    key, value = (each.repeat(1, module.num_key_value_groups, 1, 1) for each in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is None and causal:
        attention_mask = torch.ones(length, kept, dtype=torch.bool).tril(kept - length)
    if attention_mask is not None:
        attention_mask = attention_mask[..., :kept]
        if attention_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attention_mask, float("-inf"))
        else:
            scores = scores + attention_mask
    weights = F.dropout(scores.softmax(-1, dtype=torch.float32).to(query.dtype), dropout)
    return (weights @ value).transpose(1, 2), weights


# %% mutant="hub_attention"
# A boolean mask is added
# Adding True and False moves scores by 1 or 0. A boolean mask says where a query may attend.
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    length, kept = query.shape[2], key.shape[2]
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is None and causal:
        hidden = torch.ones(length, kept, dtype=torch.bool).triu(kept - length + 1)
        scores = scores.masked_fill(hidden, float("-inf"))
    elif attention_mask is not None:
        scores = scores + attention_mask[..., :kept]
    weights = F.dropout(scores.softmax(-1, dtype=torch.float32).to(query.dtype), dropout)
    return (weights @ value).transpose(1, 2), weights


# %% mutant="hub_attention"
# A boolean mask the other way round
# True means that the query may attend, as in `scaled_dot_product_attention`; in `nn.MultiheadAttention` it means the opposite.
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    length, kept = query.shape[2], key.shape[2]
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is None and causal:
        attention_mask = torch.ones(length, kept, dtype=torch.bool).triu(kept - length + 1)
    if attention_mask is not None:
        attention_mask = attention_mask[..., :kept]
        if attention_mask.dtype == torch.bool:
            scores = scores.masked_fill(attention_mask, -1e30)
        else:
            scores = scores + attention_mask
    weights = F.dropout(scores.softmax(-1, dtype=torch.float32).to(query.dtype), dropout)
    return (weights @ value).transpose(1, 2), weights


# %% mutant="hub_attention"
# The softmax in the query's dtype
# The softmax is computed in float32, whatever the query's dtype. With a float64 query, the weights have float32's precision.
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    length, kept = query.shape[2], key.shape[2]
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is None and causal:
        attention_mask = torch.ones(length, kept, dtype=torch.bool).tril(kept - length)
    if attention_mask is not None:
        attention_mask = attention_mask[..., :kept]
        if attention_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attention_mask, float("-inf"))
        else:
            scores = scores + attention_mask
    weights = F.dropout(scores.softmax(-1), dropout)
    return (weights @ value).transpose(1, 2), weights


# %% [markdown] exercise="hub_accumulate" kind="repair" points=3
# ### Exercise 5 · The loss that depends on the split
# A colleague's training step runs a batch in micro-batches to save memory. Splitting the same batch differently should change nothing, yet
# the loss and the gradients do change. They are correct as long as the batch is a single micro-batch, and if all rows have the same length
# and all micro-batches the same number of rows, the splits agree. Besides, the loss is `nan` now and then. Fix the function.


# %% solution="hub_accumulate"
def accumulate(model, micro_batches: list[tuple[torch.Tensor, torch.Tensor]]) -> float:
    """Add the gradient of one batch to the gradients of `model`, and return the batch's loss.

    Args:
        model: `model(tokens)` returns logits (rows, length, vocabulary).
        micro_batches: the parts of the batch, each with tokens and labels of shape (rows, length),
            which may differ between micro-batches. The logits at a position predict the label at
            the next position; labels of -100 are ignored.

    The loss is the mean over all predicted labels of the batch, as a float. Neither the loss nor the
    gradients depend on how the batch is split. The micro-batches are not changed. Only one micro-batch's graph is alive at a time. If nothing is
    predicted in the whole batch, the loss is 0.0 and the gradients don't change.
    """
    ### BEGIN SOLUTION
    count = sum(int((labels[:, 1:] != -100).sum()) for _, labels in micro_batches)
    total = 0.0
    for tokens, labels in micro_batches:
        if (labels[:, 1:] != -100).any():
            logits = model(tokens)[:, :-1].mT
            loss = F.cross_entropy(logits, labels[:, 1:], reduction="sum") / count
            loss.backward()
            total += loss.item()
    return total
    ### END SOLUTION
    ### BEGIN STUB
    # total = 0.0
    # for tokens, labels in micro_batches:
    #     logits = model(tokens)[:, :-1].mT
    #     loss = F.cross_entropy(logits, labels[:, 1:]) / len(micro_batches)
    #     loss.backward()
    #     total += loss.item()
    # return total
    ### END STUB


# %% check="hub_accumulate"
generator = check.rng()
torch.manual_seed(check.seed())
vocabulary, rows, length = 7, 4, int(generator.integers(6, 9))
model = nn.Sequential(nn.Embedding(vocabulary, 5), nn.Tanh(), nn.Linear(5, vocabulary))
tokens = torch.tensor(generator.integers(0, vocabulary, (rows, length)))
labels = tokens.clone()
labels[0, 3:] = -100  # two predictions
labels[1, :3] = -100
labels[2] = -100
labels[2, 0] = 1  # a first label alone predicts nothing


floats, given = [], labels.clone()


def run(parts, gradient=0.0):
    for each in model.parameters():
        each.grad = torch.full_like(each, gradient)
    loss = check.intact(accumulate, model, parts)
    floats.append(type(loss) is float)
    return [loss, *(each.grad.clone() for each in model.parameters())]


def split(*sizes):
    return list(zip(tokens.split(list(sizes)), labels.split(list(sizes)), strict=True))


short = [(tokens[:1, :3], labels[:1, :3]), *split(1, 3)[1:]]  # without its ignored end, the first row is shorter
shown = {"labels": labels}
for sizes in ((4,), (1, 3), (2, 2), (1, 1, 1, 1)):
    shown[f"rows {sizes}"] = run(split(*sizes))
shown["micro-batches of different lengths"] = run(short)
shown["added to a gradient of 1"] = run(split(2, 2), 1.0)
shown["nothing is predicted"] = run([(tokens[2:3], labels[2:3])] * 2, 1.0)
model.zero_grad()
accumulate(model, [(tokens[2:3], labels[2:3])])
shown["nothing is predicted, no gradients before"] = [each.grad for each in model.parameters()]
shown["no micro-batches"] = run([], 1.0)
model.eval()
shown["in evaluation mode"] = run(split(2, 2))
model.train()
shown["the loss is a float"] = all(floats[:-1])
shown["the labels are as before"] = torch.equal(labels, given)
passes, nodes, held = [], [], []


class Watched(nn.Module):
    def forward(self, tokens):
        gc.collect()
        held.append(sum(node() is not None for node in nodes))  # the graphs of earlier micro-batches
        passes.append(("forward", len(tokens)))
        logits = model(tokens)
        if logits.requires_grad:
            nodes.append(weakref.ref(logits.grad_fn))
            logits.register_hook(lambda gradient: passes.append(("backward", len(gradient))))
        return logits


accumulate(Watched(), split(1, 3))
shown["order of the passes"] = [f"{what} {size}" for what, size in passes]
nodes.clear()
accumulate(Watched(), split(1, 1, 1, 1) * 2)
shown["holds the graphs of several earlier micro-batches"] = max(held) > 1
check.show(shown, rtol=1e-4, atol=1e-6, text="Loss and gradients for several splits of one batch.")

# %% [markdown] hint="hub_accumulate"
# Write down the weight of a single predicted label in the loss, in a micro-batch with 2 of them and in one with 20.

# %% [markdown] hint="hub_accumulate"
# Every prediction of the batch should count the same, so each sum is divided by one number that all micro-batches share. What is the
# mean over no prediction at all?

# %% [markdown] hint="hub_accumulate"
# You need two loops: the first counts the predicted labels of the whole batch, after the shift, and the second sums losses instead of
# averaging them (see `reduction`). Think about a micro-batch, and a batch, in which nothing is predicted.


# %% mutant="hub_accumulate"
# Counts before the shift
# The first label of each row is never predicted, so it doesn't belong to the count.
def accumulate(model, micro_batches):
    count = sum(int((labels != -100).sum()) for _, labels in micro_batches)
    total = 0.0
    for tokens, labels in micro_batches:
        if (labels[:, 1:] != -100).any():
            loss = F.cross_entropy(model(tokens)[:, :-1].mT, labels[:, 1:], reduction="sum") / count
            loss.backward()
            total += loss.item()
    return total


# %% mutant="hub_accumulate"
# Counts ignored labels
# Labels of -100 add nothing to the sum, so they don't belong to the count either.
def accumulate(model, micro_batches):
    count = sum(labels[:, 1:].numel() for _, labels in micro_batches)
    total = 0.0
    for tokens, labels in micro_batches:
        if (labels[:, 1:] != -100).any():
            loss = F.cross_entropy(model(tokens)[:, :-1].mT, labels[:, 1:], reduction="sum") / count
            loss.backward()
            total += loss.item()
    return total


# %% mutant="hub_accumulate"
# Empty micro-batches are skipped, and the rest averaged
# The `nan` is gone, but the means of micro-batches of different sizes are still averaged.
def accumulate(model, micro_batches):
    kept = [each for each in micro_batches if (each[1][:, 1:] != -100).any()]
    total = 0.0
    for tokens, labels in kept:
        loss = F.cross_entropy(model(tokens)[:, :-1].mT, labels[:, 1:]) / len(kept)
        loss.backward()
        total += loss.item()
    return total


# %% mutant="hub_accumulate"
# Adds up losses with their graphs
# The values are right, but the sum is a tensor that holds the graph of each micro-batch. Add `loss.item()` instead.
def accumulate(model, micro_batches):
    count = sum(int((labels[:, 1:] != -100).sum()) for _, labels in micro_batches)
    total = 0.0
    for tokens, labels in micro_batches:
        if (labels[:, 1:] != -100).any():
            logits = model(tokens)[:, :-1].mT
            loss = F.cross_entropy(logits, labels[:, 1:], reduction="sum") / count
            loss.backward()
            total = total + loss
    return float(total)


# %% mutant="hub_accumulate"
# One graph for all
# The values are right, but all micro-batches' activations are alive until the backward pass, so no memory is saved.
def accumulate(model, micro_batches):
    count = sum(int((labels[:, 1:] != -100).sum()) for _, labels in micro_batches)
    if not count:
        return 0.0
    losses = [
        F.cross_entropy(model(tokens)[:, :-1].mT, labels[:, 1:], reduction="sum") for tokens, labels in micro_batches
    ]
    loss = sum(losses) / count
    loss.backward()
    return loss.item()


# %% mutant="hub_accumulate"
# The gradients start at zero
# Gradients that were there before stay: the function adds to them, and whoever calls it decides when to reset them.
def accumulate(model, micro_batches):
    for each in model.parameters():
        each.grad = None if each.grad is None else torch.zeros_like(each)
    count = sum(int((labels[:, 1:] != -100).sum()) for _, labels in micro_batches)
    total = 0.0
    for tokens, labels in micro_batches:
        if (labels[:, 1:] != -100).any():
            loss = F.cross_entropy(model(tokens)[:, :-1].mT, labels[:, 1:], reduction="sum") / count
            loss.backward()
            total += loss.item()
    return total


# %% [markdown] exercise="hub_bisect" kind="build" points=3
# ### Exercise 6 · The first module that differs
# Two models have the same modules and should compute the same function. Find the first module whose outputs differ. A module's output
# may be a tensor, or a tuple, list or dict of outputs, which may be nested and contain other objects as well. It has the same structure in
# both models.


# %% solution="hub_bisect"
def first_difference(model: nn.Module, other: nn.Module, *inputs, tolerance: float = 1e-4) -> str | None:
    """Return the name (as in `named_modules`) of the first module whose outputs differ, or None if all agree.

    Both models are called with `inputs`, without recording a graph. Calls are compared in the order
    in which they return, so a module comes before the module that contains it, and a module that is
    called twice has two calls. Outputs differ if two tensors in the same position have different
    shapes, or elements more than `tolerance` apart; nan differs from everything except nan, and equal
    infinities agree. A tensor may have any dtype, such as bool, and objects that aren't tensors are
    ignored. A tensor is compared as it was when the module returned it, even if it is changed in
    place later.

    All hooks are removed, even if a model raises an error, which is propagated. Hooks that were
    registered before stay.
    """
    ### BEGIN SOLUTION

    def tensors(output):
        if isinstance(output, torch.Tensor):
            return [output.detach().clone()]
        if isinstance(output, dict):
            output = list(output.values())
        return [each for part in output for each in tensors(part)] if isinstance(output, (tuple, list)) else []

    def calls(model):
        kept, hooks = [], []
        try:
            for name, module in model.named_modules():
                keep = lambda module, args, output, name=name: kept.append((name, tensors(output)))  # noqa: E731
                hooks.append(module.register_forward_hook(keep))
            with torch.no_grad():
                model(*inputs)
        finally:
            for hook in hooks:
                hook.remove()
        return kept

    def differ(a, b):
        return a.shape != b.shape or not torch.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True)

    for (name, mine), (_, theirs) in zip(calls(model), calls(other), strict=True):
        if any(differ(a, b) for a, b in zip(mine, theirs, strict=True)):
            return name
    return None
    ### END SOLUTION


# %% check="hub_bisect" raises="RuntimeError"
import math
from collections import OrderedDict, namedtuple

torch.manual_seed(check.seed())
generator = check.rng()
faults = [str(each) for each in generator.permutation(["linears.0", "linears.1", "linears.2", "norm"])]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.linears = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.pick, self.raises, self.scale = nn.Identity(), False, 1.0

    def forward(self, x):
        for linear in reversed(self.linears):  # not in the order of their names
            x = self.norm(linear(x)).tanh()
        if self.raises:
            raise RuntimeError("stopped in the middle")
        return {"states": (self.pick(x) * self.scale, None), "name": "a block"}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.blocks = nn.Linear(4, 3), nn.Sequential(Block())

    def forward(self, x):
        return [self.head(self.blocks(x)["states"][0])]


def pair():
    a, b = Model(), Model()
    b.load_state_dict(a.state_dict())
    return a, b, a.blocks[0], b.blocks[0]


x = torch.tensor(generator.normal(size=(5, 4)).astype("float32"))
shown = {"the faults": faults}
a, b, *_ = pair()
shown["equal models"] = check.intact(first_difference, a, b, x)
for fault in faults:
    a, b, _, block = pair()
    with torch.no_grad():
        dict(block.named_modules())[fault].bias.add_(0.3)
    shown[f"fault {faults.index(fault) + 1}"] = first_difference(a, b, x)
    shown[f"fault {faults.index(fault) + 1}, models exchanged"] = first_difference(b, a, x)
a, b, _, block = pair()
block.scale = 1.5
shown["in a block's own code"] = first_difference(a, b, x)
a, b, _, block = pair()
block.pick.register_forward_hook(lambda module, args, output: output[:, :3].repeat(1, 2)[:, :4] + 1)
shown["another hook's doing"] = [first_difference(a, b, x), len(block.pick._forward_hooks)]
a, b, first, second = pair()
with torch.no_grad():
    second.linears[1].weight.fill_(float("nan"))
shown["nan in one"] = [first_difference(a, b, x), first_difference(b, a, x)]
with torch.no_grad():
    first.linears[1].weight.fill_(float("nan"))
shown["nan in both"] = first_difference(a, b, x)
a, b, _, block = pair()
b.head = nn.Linear(4, 5)
shown["another shape"] = first_difference(a, b, x)
a, b, _, block = pair()
with torch.no_grad():
    b.head.bias[0] -= 0.01
shown["a small difference"] = [first_difference(a, b, x), first_difference(a, b, x, tolerance=0.1)]
with torch.no_grad():
    a.head.bias[0], b.head.bias[0] = 1000.0, 1000.005
shown["a small difference of large numbers"] = first_difference(a, b, x)


class Erasing(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.inner = nn.Linear(4, 2)
        with torch.no_grad():
            self.inner.bias.fill_(bias)

    def forward(self, x):
        return self.inner(x).mul_(0)


Wide = namedtuple("Wide", "scores rest")


class Masking(nn.Module):
    def __init__(self, limit):
        super().__init__()
        self.limit = limit

    def forward(self, x):
        return Wide(x.masked_fill(x > 0, -math.inf), OrderedDict(mask=x > self.limit, none=x[:0]))


shown["infinite scores, a mask, and no rows"] = first_difference(Masking(0.0), Masking(0.0), x)
shown["another mask"] = first_difference(Masking(0.0), Masking(9.0), x)
shown["changed in place later"] = first_difference(Erasing(1.0), Erasing(9.0), x)
shown["both modes"] = [a.training, torch.is_grad_enabled(), first_difference(nn.Tanh(), nn.Sigmoid(), x)]
graphs = []
a.head.register_forward_hook(lambda module, args, output: graphs.append(output.requires_grad))
first_difference(a, b, x)
shown["a graph is recorded"] = graphs
a, b, first, second = pair()
second.raises = True
shown["an error"] = check.error(first_difference, a, b, x)
first.raises = True
shown["an error of both"] = check.error(first_difference, a, b, x)
shown["hooks left behind"] = sum(len(each._forward_hooks) for model in (a, b) for each in model.modules())
check.show(shown, text="The names found for each kind of fault.")

# %% [markdown] hint="hub_bisect"
# Forward hooks run when a module returns. In which order do a block and the layers inside it return?

# %% [markdown] hint="hub_bisect"
# Record (name, tensors) in one list per model, and remove the hooks in a `finally`. A hook in a loop needs its own name: bind it as a default
# argument. Flatten the output into a list of tensors.

# %% [markdown] hint="hub_bisect"
# Compare the shapes before the elements. With `(a - b).abs().max() > tolerance`, a nan would never count as a difference; `torch.allclose`
# has an option for nan, but also a relative tolerance that you have to turn off. Clone what you keep.


# %% mutant="hub_bisect"
# In the order of the names
# The modules are compared in the order of `named_modules`, in which a block comes before its layers, and the layers needn't be in the
# order in which they run.
def first_difference(model, other, *inputs, tolerance=1e-4):
    def tensors(output):
        if isinstance(output, torch.Tensor):
            return [output.detach().clone()]
        if isinstance(output, dict):
            output = list(output.values())
        return [each for part in output for each in tensors(part)] if isinstance(output, (tuple, list)) else []

    def calls(model):
        kept, hooks = {}, []
        try:
            for name, module in model.named_modules():
                kept[name] = []
                hooks.append(
                    module.register_forward_hook(lambda m, a, output, name=name: kept[name].extend(tensors(output)))
                )
            with torch.no_grad():
                model(*inputs)
        finally:
            for hook in hooks:
                hook.remove()
        return kept

    mine, theirs = calls(model), calls(other)
    for name in mine:
        for a, b in zip(mine[name], theirs[name], strict=True):
            if a.shape != b.shape or not torch.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True):
                return name
    return None


# %% mutant="hub_bisect"
# A nan is no difference
# Every comparison with nan is False, so `max() > tolerance` doesn't see it.
def first_difference(model, other, *inputs, tolerance=1e-4):
    def tensors(output):
        if isinstance(output, torch.Tensor):
            return [output.detach().clone()]
        if isinstance(output, dict):
            output = list(output.values())
        return [each for part in output for each in tensors(part)] if isinstance(output, (tuple, list)) else []

    def calls(model):
        kept, hooks = [], []
        try:
            for name, module in model.named_modules():
                hooks.append(
                    module.register_forward_hook(lambda m, a, output, name=name: kept.append((name, tensors(output))))
                )
            with torch.no_grad():
                model(*inputs)
        finally:
            for hook in hooks:
                hook.remove()
        return kept

    for (name, mine), (_, theirs) in zip(calls(model), calls(other), strict=True):
        for a, b in zip(mine, theirs, strict=True):
            if a.shape != b.shape or (a - b).abs().max() > tolerance:
                return name
    return None


# %% mutant="hub_bisect"
# Hooks stay after an error
# If a model raises an error, the lines after the call don't run. Remove the hooks in a `finally`.
def first_difference(model, other, *inputs, tolerance=1e-4):
    def tensors(output):
        if isinstance(output, torch.Tensor):
            return [output.detach().clone()]
        if isinstance(output, dict):
            output = list(output.values())
        return [each for part in output for each in tensors(part)] if isinstance(output, (tuple, list)) else []

    def calls(model):
        kept, hooks = [], []
        for name, module in model.named_modules():
            hooks.append(
                module.register_forward_hook(lambda m, a, output, name=name: kept.append((name, tensors(output))))
            )
        with torch.no_grad():
            model(*inputs)
        for hook in hooks:
            hook.remove()
        return kept

    for (name, mine), (_, theirs) in zip(calls(model), calls(other), strict=True):
        for a, b in zip(mine, theirs, strict=True):
            if a.shape != b.shape or not torch.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True):
                return name
    return None


# %% mutant="hub_bisect"
# Only tensors and tuples
# A block that returns a dict is skipped here, so the difference that its own code makes is found later or not at all.
def first_difference(model, other, *inputs, tolerance=1e-4):
    def tensors(output):
        output = output if isinstance(output, tuple) else (output,)
        return [each.detach().clone() for each in output if isinstance(each, torch.Tensor)]

    def calls(model):
        kept, hooks = [], []
        try:
            for name, module in model.named_modules():
                hooks.append(
                    module.register_forward_hook(lambda m, a, output, name=name: kept.append((name, tensors(output))))
                )
            with torch.no_grad():
                model(*inputs)
        finally:
            for hook in hooks:
                hook.remove()
        return kept

    for (name, mine), (_, theirs) in zip(calls(model), calls(other), strict=True):
        for a, b in zip(mine, theirs, strict=True):
            if a.shape != b.shape or not torch.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True):
                return name
    return None


# %% mutant="hub_bisect"
# The last call of each module
# The norm is called three times, and a dict keeps only its last output, so an earlier difference is blamed on a module that ran later.
def first_difference(model, other, *inputs, tolerance=1e-4):
    def tensors(output):
        if isinstance(output, torch.Tensor):
            return [output.detach().clone()]
        if isinstance(output, dict):
            output = list(output.values())
        return [each for part in output for each in tensors(part)] if isinstance(output, (tuple, list)) else []

    def calls(model):
        kept, hooks = {}, []

        def keep(name, output):
            kept.pop(name, None)
            kept[name] = tensors(output)

        try:
            for name, module in model.named_modules():
                hooks.append(module.register_forward_hook(lambda m, a, output, name=name: keep(name, output)))
            with torch.no_grad():
                model(*inputs)
        finally:
            for hook in hooks:
                hook.remove()
        return kept

    mine, theirs = calls(model), calls(other)
    for name in mine:
        for a, b in zip(mine[name], theirs[name], strict=True):
            if a.shape != b.shape or not torch.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True):
                return name
    return None
