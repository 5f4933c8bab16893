# %% [markdown]
# # Hugging Face's Llama on your own code
# In this chapter, the Llama of Hugging Face's `transformers` library runs unchanged on code that you can read, and its attention is
# computed by your own library. Afterwards you will be able to say what `from_pretrained` does, to find the layer in which two
# implementations differ, and to explain two silent bugs of well-known code bases, one in converted checkpoints and one in gradient
# accumulation.
#
# An interviewer in 2026 means version 5 of `transformers`, so the text describes that version and says where version 4 differs. The cells
# ran on 4.57.1. This is the only lesson that needs a further package, of about 150 MB: `pip install
# "minitorch-course[transformers]"`, or in a clone `.venv/bin/pip install -e ".[transformers]"`. You can read on without it, because all
# outputs are stored here, and the exercises don't need it either.

# %% hidden=true
import os

from course import check, lesson, pictures

os.environ["HF_HUB_OFFLINE"] = "1"  # all files are local
mytorch = lesson.mytorch("24e")  # your library, using your code wherever you've solved the exercise

# %% [markdown] tags=["short"]
# ## A Llama without PyTorch
# The folder `files/alice_llama` looks like any model on Hugging Face's hub, with a `config.json` and a `model.safetensors`. The next two
# cells load it and generate text, using the original library, in which not a line was changed. Which program multiplies the matrices?

# %% tags=["proof-without-PyTorch", "needs-transformers"]
import minitorch.as_torch
from transformers import LlamaForCausalLM

model = LlamaForCausalLM.from_pretrained("files/alice_llama")
print(model.num_parameters(), "parameters in", model.dtype)

# %% tags=["proof-same-tokens"]
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

letters = sorted(set(Path("files/alice.txt").read_text()))


def generate(model, **options):
    prompt = torch.tensor([[letters.index(letter) for letter in "`Off with "]])
    return model.generate(prompt, max_new_tokens=80, pad_token_id=0, **options)


torch.manual_seed(0)
written = generate(model, do_sample=True, temperature=0.5)
print("".join(letters[token] for token in written[0].tolist()))
expected = load_file("files/alice_llama/expected.safetensors")  # computed by PyTorch
print(f"\n{(written == expected['sampled']).sum().item()} of {written.numel()} tokens are those of PyTorch")
compiled = [name for name, module in sys.modules.items() if "torch" in name and str(module.__file__).endswith(".so")]
print(f"{len(compiled)} compiled modules of torch are loaded; torch is minitorch: {torch is minitorch}")

# %% [markdown] tags=["short"]
# NumPy multiplies them. Even the training needed no PyTorch: the program `tests/models/make_alice_llama.py` trained `LlamaForCausalLM` for
# 2,500 steps on the text of *Alice's Adventures in Wonderland*. The tokens agree with PyTorch's although they were sampled, because minitorch
# draws the same random numbers as PyTorch.
#
# ### How `import torch` finds another library
# For each module that you import for the first time, Python goes through a list of *finders*, `sys.meta_path`, until one of them can load
# it. The line `import minitorch.as_torch` puts one more finder at the head of the list, which is responsible for `torch` alone. This is its
# source in minitorch:

# %%
import inspect

from minitorch.torch_finder import TorchFinder

print(inspect.getsource(TorchFinder).partition("    def exec_module")[0])

# %% [markdown]
# Because nothing is written to disk, an installed PyTorch stays available to every other process. If this process has already imported
# it, `minitorch.as_torch` raises an ImportError instead of mixing two libraries.
#
# ## How much of PyTorch does a model library use?
# Hugging Face's models are written in PyTorch like yours. To see how much of PyTorch they use, count the names of torch in the
# file of the Llama, and then the calls of one forward pass. They are counted with a `TorchFunctionMode`, which intercepts every
# call of a tensor function:

# %% tags=["proof-names", "proof-operations"]
import ast
from collections import Counter

from torch.overrides import TorchFunctionMode
from transformers.models.llama import modeling_llama

source = inspect.getsource(modeling_llama)
attributes = [ast.unparse(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
names = {name for name in attributes if name.startswith(("torch.", "nn.")) and "(" not in name}
print(len(source.splitlines()), "lines use", len(names), "names of torch:", *sorted(names - {"nn.functional"}))


class Counting(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        counts[function.__name__] += 1
        return function(*args, **(kwargs or {}))


rows, counts = expected["rows"], Counter()
with torch.no_grad(), Counting():
    logits = model(rows).logits
print(len(counts), "functions,", sum(counts.values()), "calls;", counts["linear"], "of them are linear")
print(f"mean |logit| {logits.abs().mean():.1f}, off PyTorch's by {(logits - expected['logits']).abs().max():.4f}")

# %% [markdown]
# There are 29 matrix multiplications with weights, seven in each of the four layers and one for the head, while many of the other calls
# only move or reshape data. On PyTorch, the same mode counts the same calls, and besides them 54 reads of attributes such as `shape` and two
# switches of the gradient mode. It doesn't see what a function calls in turn, because the mode is off while its own method runs. A
# `TorchDispatchMode` sits below autograd instead, where `linear` has been taken apart, and sees 29 `mm`. So this model uses a small part of
# PyTorch, and all of it is in the chapters that you have worked through.
#
# ## `from_pretrained` step by step
# The call hides six steps, which this cell takes one by one:

# %% tags=["proof-from-pretrained", "proof-tied"]
from transformers import LlamaConfig

config = LlamaConfig.from_pretrained("files/alice_llama")  # 1. the sizes, from config.json
with torch.device("meta"):
    built = LlamaForCausalLM(config)  # 2. modules whose tensors have shapes and no memory
print("1.", config.num_hidden_layers, "layers;", "2.", built.lm_head.weight.device, "device")
state = load_file("files/alice_llama/model.safetensors")  # 3. tensors by name
print("3.", len(state), "tensors in", state["model.norm.weight"].dtype)
state = {name: tensor.float() for name, tensor in state.items()}  # 4. the dtype
print("4.", built.load_state_dict(state, strict=False, assign=True))
built.tie_weights()  # 5. the head is the embedding
print("5. the head is the embedding:", built.lm_head.weight is built.model.embed_tokens.weight)
print("6. training was", built.training, "and is", built.eval().training)  # 6. no dropout

# %% [markdown]
# Step 2 saves memory and time, because a model of 8 billion parameters would otherwise be filled with 32 GB of random
# numbers that the file then replaces ([chapter 20](20_saving_and_loading.ipynb) explains the meta device and
# `assign=True`). Step 4 depends on the version: version 5 takes the dtype that `config.json` names, or else that of the
# file. In version 4 the default is float32, so a bfloat16 file takes twice its size in memory unless you pass
# `dtype="auto"`.
#
# ### Break it: a buffer that no file contains
# Now that every parameter has its values, does the model run?

# %% tags=["proof-buffer"]
print(check.error(built, rows))
on_meta = [name for name, buffer in built.named_buffers() if buffer.is_meta]
print("still on meta:", on_meta, "in the file:", any("inv_freq" in name for name in state))
built.model.rotary_emb = modeling_llama.LlamaRotaryEmbedding(config)
print(f"with the frequencies computed anew: {(built(rows).logits - logits).abs().max():.4f} off")

# %% [markdown]
# The frequencies of the rotary embedding are a *non-persistent buffer*: they follow from the configuration, so
# `state_dict()` leaves them out, and code that builds a model on the meta device has to compute them again. Version 5
# puts everything on the meta device and recomputes such buffers afterwards, whereas version 4 puts only parameters
# there.
#
# **Interview · What does `from_pretrained` do?**
#
# - *Thirty seconds:* It reads the configuration, builds the model on the meta device, so that nothing is allocated, and loads the
#   tensors from safetensors files by name. Then it ties the shared weights and switches to eval mode. It reports missing and unexpected
#   names instead of raising an error for them.
# - *Longer:* A large model is split into *shards*, and `model.safetensors.index.json` says which file contains which tensor. The argument
#   `dtype` chooses the dtype; by default it is the checkpoint's (in version 4, float32). With `device_map`, each tensor
#   goes to its device while the files are read, so the CPU needn't hold the whole model at once.
# - *They ask next:* Why safetensors? A `.pt` file contains a pickle, and unpickling can run code. `torch.load` has therefore refused
#   everything but tensors and plain data by default since version 2.6. A safetensors file is a JSON header followed by bytes, which can
#   be mapped into memory; see [chapter 20](20_saving_and_loading.ipynb).
# - *They ask next:* Which libraries build on it? `Trainer` is a training loop with checkpoints and logging, Accelerate makes a loop run on
#   several devices, and PEFT adds adapters such as LoRA ([chapter 21](21_features_and_visualization.ipynb)).
# - *The trap:* If you fine-tune in a loop of your own without calling `train()`, the model comes in eval mode, so dropout stays off.
# - *Proof:* `proof-from-pretrained`, `proof-buffer`.
#
# **Interview · What does it mean that weights are tied?**
#
# - *Thirty seconds:* The output matrix and the embedding are the same tensor, so it is stored once, receives the sum of both gradients,
#   and is updated once. Small models save a good part of their parameters that way, because their vocabulary is large for their size.
# - *Longer:* safetensors refuses tensors that share memory, so the file contains the tensor under one of its two names.
#   `load_state_dict` therefore reports the other name as missing, and `tie_weights` makes both names refer to one tensor again.
# - *They ask next:* How can tying break? When one of the two is assigned a new tensor, for example a resized embedding,
#   so I call `tie_weights` again afterwards.
# - *The trap:* `state_dict()` doesn't count parameters. It lists both names, so the matrix is counted twice, while `parameters()` yields it
#   once.
# - *Proof:* `proof-tied`, `proof-count`.

# %% tags=["proof-count"]
print("names in the state dict:", len(model.state_dict()), "· in the file:", len(state))
print("elements:", sum(tensor.numel() for tensor in model.state_dict().values()), end=" · ")
print("parameters:", sum(p.numel() for p in model.parameters()), "· the head has", model.lm_head.weight.numel())

# %% [markdown]
# ### What version 5 changed
# According to the source of release 5.24, the mechanisms of this chapter stay as they are, and these details change:
#
# - *dtype:* the default is `"auto"`, so nothing is converted to float32.
# - *Meta device:* buffers are built there as well, and those that no file contains are computed afterwards.
# - *Loading:* each architecture declares rules by which tensors are renamed, merged or split, so names in the file and in the model may
#   differ.
# - *Configuration:* everything about rotary embeddings is in `rope_parameters`. Version 4 has `rope_theta` and `rope_scaling`.
# - *Cache:* it finds its own positions, and the Llama's layers no longer take `cache_position`.
# - *Trainer:* it counts labels after the shift.
# - *Gone:* the TensorFlow and JAX models, and the slow tokenizers. Each tokenizer has one class.

# %% [markdown] tags=["short"]
# ## Your own attention through `AttentionInterface`
# The model doesn't call its attention function directly, but looks up `config._attn_implementation` in a dictionary. That is how one file
# serves the plain version (`eager`), PyTorch's fused function (`sdpa`) and Flash Attention, and it also means that you can add an entry of
# your own. The `autograd.Function` below passes the tensors to `mytorch` and back, in the forward pass as well as in the backward pass:


# %% tags=["proof-my-attention"]
class OnMytorch(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, mask, groups):
        ctx.inputs = [mytorch.tensor(tensor.numpy(), requires_grad=True) for tensor in (query, key, value)]
        mine, parts = mytorch.nn.functional, mytorch.nn.llama
        query, key, value = ctx.inputs
        allowed = None if mask is None else mytorch.tensor((mask == 0).numpy())
        key, value = parts.repeat_kv(key, groups), parts.repeat_kv(value, groups)
        ctx.output = mine.scaled_dot_product_attention(query, key, value, allowed)
        return torch.from_numpy(ctx.output.detach().numpy())

    @staticmethod
    def backward(ctx, gradient):
        ctx.output.backward(mytorch.tensor(gradient.numpy()))
        return *(torch.from_numpy(tensor.grad.numpy()) for tensor in ctx.inputs), None, None


def my_attention(module, query, key, value, attention_mask, **options):
    output = OnMytorch.apply(query, key, value, attention_mask, module.num_key_value_groups)
    return output.transpose(1, 2), None  # (batch, length, heads, width), and the weights if there are any


def train_step(implementation):
    model.set_attn_implementation(implementation)
    model.zero_grad()
    output = model(rows, labels=rows)
    output.loss.backward()
    return output.loss.item(), output.logits.detach(), torch.cat([p.grad.flatten() for p in model.parameters()])


from transformers import AttentionInterface

AttentionInterface.register("mytorch", my_attention)
for name in ("sdpa", "mytorch"):
    loss, out, gradient = train_step(name)
    print(f"{name:8} loss {loss:.2f}, logits off by {(out - expected['logits']).abs().max():.4f}")

# %% [markdown] tags=["short"]
# ### Break it: the mask is missing
# The function runs without a warning, and yet its loss is 3.87 instead of 1.49. To see why, change one token and look at the positions
# whose logits move:

# %% tags=["proof-future"]
changed = rows.clone()
changed[:, 20] = letters.index("z")


def moved(implementation):  # how far the logits of each position move
    model.set_attn_implementation(implementation)
    with torch.no_grad():
        return (model(changed).logits - model(rows).logits).abs().amax((0, 2))


lines = {name: moved(name) for name in ("sdpa", "mytorch")}
for name, line in lines.items():
    print(f"{name:8} before position 20: {line[:20].max():.1f}, from it on: {line[20:].max():.1f}")
about = "With sdpa, the logits before position 20 stay as they are. With mytorch, they move, too."
names = {"xlabel": "position", "ylabel": "largest change of a logit"}
pictures.curves(lines, range(40), **names, marks={"changed": 20}, alt=about)

# %% [markdown] tags=["short"]
# With the new entry, each position sees its future. The reason is that masks have a dictionary of their own. If it
# doesn't contain the implementation's name, the function receives `attention_mask=None`, because some backends build
# their masks themselves. One line fixes it:

# %% tags=["proof-mask"]
from transformers import AttentionMaskInterface
from transformers.masking_utils import eager_mask

AttentionMaskInterface.register("mytorch", eager_mask)  # 0 where a query may attend, a huge negative number elsewhere
reference = train_step("sdpa")
loss, out, gradient = train_step("mytorch")
print(f"mean |logit| {out.abs().mean():.1f}, off PyTorch's by {(out - expected['logits']).abs().max():.4f}")
print(f"gradient of norm {gradient.norm():.1f}, off by {(gradient - reference[2]).norm():.4f} from sdpa's")
same = generate(model, do_sample=False) == expected["greedy"]
print(f"before position 20: {moved('mytorch')[:20].max():.1f}; {same.sum()} of {same.numel()} tokens are PyTorch's")

# %% [markdown] tags=["short"]
# The model now runs on your attention, trains with your derivatives, and writes the tokens that PyTorch writes.
#
# **Interview · How do eager, sdpa and flash attention differ, and what decides which one runs?**
#
# - *Thirty seconds:* The configuration names an implementation, and the attention module looks it up in a dictionary. Eager means plain
#   matmuls and a softmax, sdpa is PyTorch's `scaled_dot_product_attention`, which picks a kernel itself, and flash calls an external
#   package. They compute the same function up to rounding, except for a query whose keys are all masked.
# - *Longer:* Of these, only eager can return the attention weights, because the fused kernels never store that matrix.
#   Flash needs half precision and a GPU. The default is sdpa wherever the model supports it, and eager isn't in the
#   dictionary, because each model's file has its own.
# - *They ask next:* How do you add your own? I register a function and, separately, a mask function under the same
#   name.
# - *The trap:* The None of sdpa's masks doesn't mean "no mask". It means *causal*: the model passes no mask when the kernel's `is_causal`
#   flag is enough, so your function has to hide the future itself.
# - *Proof:* `proof-my-attention`, `proof-dispatch`, `proof-weights`.

# %% tags=["proof-dispatch"]
from transformers.masking_utils import sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

AttentionMaskInterface.register("mytorch", sdpa_mask)
print(f"with the masks of sdpa, before position 20: {moved('mytorch')[:20].max():.1f}")
AttentionMaskInterface.register("mytorch", eager_mask)

print("in the dictionary:", [name for name in ("sdpa", "mytorch", "eager") if name in ALL_ATTENTION_FUNCTIONS])
print(str(check.error(model.set_attn_implementation, "flash_attention_2")).partition(":")[0])

# %% [markdown]
# **Interview · Your new attention reaches a lower training loss than the old one. What do you suspect?**
#
# - *Thirty seconds:* It may see the future. I change one token in the middle and compare the logits: those before it must not move at
#   all. That takes two forward passes, and no training curve can tell me as much.
# - *Longer:* The same test finds a mask that is shifted by one, packed documents that attend to each other, and normalization over the
#   sequence. Gradients show it too, since the logits at position t must have zero gradient with respect to later tokens.
# - *They ask next:* Why doesn't generation fail as well? When you decode with a cache, a new token has no future to see, so only the
#   prompt is computed incorrectly.
# - *The trap:* A test with a single query proves nothing. The causal mask hides nothing from the last position.
# - *Proof:* `proof-future`.
#
# ## Find the layer where two implementations differ
# Suppose a colleague has ported the model, and its logits differ from the original's. To find out which layer is to
# blame, forward hooks record what each layer returns in both models:

# %% tags=["proof-bisect"]
import copy
import math

model.set_attn_implementation("sdpa")
ported = copy.deepcopy(model)
with torch.no_grad():
    weight = ported.model.layers[2].self_attn.k_proj.weight
    weight.copy_(torch.cat([weight[1::2], weight[0::2]]))  # the port's bug: rows in another order


def outputs(model):
    kept = []

    def record(module, args, output):
        kept.append(output)

    hooks = [layer.register_forward_hook(record) for layer in model.model.layers]
    with torch.no_grad():
        model(rows)
    for hook in hooks:
        hook.remove()
    return kept


differences = [(a - b).abs().max().item() for a, b in zip(outputs(model), outputs(ported), strict=True)]
print("by layer:", [f"{difference:.1f}" for difference in differences])
about = "The difference is 0 in layers 0 and 1, 2.0 in layer 2 and 5.2 in layer 3."
pictures.curves({"ported": differences}, range(4), xlabel="layer", ylabel="largest difference", alt=about)

# %% [markdown]
# The first layer that differs is the one to look into, because the layers after it only pass the error on. In exercise 6 you write the
# search for the first *module*, which goes down to `k_proj`.
#
# **Interview · A port's logits differ from the original's. How do you find the bug?**
#
# - *Thirty seconds:* I fix the input, use float32 and eval mode, and record every module's output with forward hooks in both models. The
#   bug is in the first module whose inputs agree and whose outputs don't. There I compare the weights first, and then the code.
# - *Longer:* Before that, I rule out differences that aren't bugs, such as dropout, the dtype or a different attention kernel. I get the
#   tolerance by comparing the original with itself in float64.
# - *They ask next:* What if the logits agree, but training differs? Then I compare the gradients, from the last layer to the first, and
#   after them the optimizer's states.
# - *The trap:* Generated text is a poor comparison. Greedy decoding hides small errors, and a near-tie between two tokens can change the
#   whole sentence.
# - *Proof:* `proof-bisect`.
#
# ## Milestone: the checkpoint on your Llama, and back
# In chapter 24b you ran minitorch's Llama on your own library, and it reads this checkpoint as well:

# %% tags=["proof-milestone"]
import shutil
import tempfile
from types import ModuleType

from minitorch.models import llama

mine = sys.modules["my_llama"] = ModuleType("my_llama")
exec(inspect.getsource(llama).replace("minitorch", "mytorch"), mine.__dict__)
my_llama = mine.LlamaForCausalLM(mine.LlamaConfig.from_dict(config.to_dict()))
my_state = mytorch.safetensors.load_file("files/alice_llama/model.safetensors")
print(my_llama.load_state_dict({name: tensor.float() for name, tensor in my_state.items()}, strict=False))
tokens = mytorch.tensor(rows.numpy())
my_logits = my_llama(tokens)[0]
print(f"off by {(torch.tensor(my_logits.detach().numpy()) - logits).abs().max():.4f} from transformers")

# %% [markdown]
# The other direction is just as short. You take a training step, save the weights, and let `from_pretrained` load them:

# %% tags=["proof-back"]
loss = mytorch.nn.functional.cross_entropy(my_logits[:, :-1].mT, tokens[:, 1:])
loss.backward()
mytorch.optim.SGD(my_llama.parameters(), lr=0.1).step()
with tempfile.TemporaryDirectory() as folder:
    shutil.copy("files/alice_llama/config.json", folder)
    kept = {name: tensor for name, tensor in my_llama.state_dict().items() if name != "lm_head.weight"}
    mytorch.safetensors.save_file(kept, f"{folder}/model.safetensors", {"format": "pt"})
    theirs = LlamaForCausalLM.from_pretrained(folder)
with torch.no_grad():
    after = theirs(rows, labels=rows).loss
print(f"loss before a step on mytorch {loss.item():.2f}, and after it in transformers {after:.2f}")

# %% [markdown]
# ## Rotary layouts: Meta's and Hugging Face's
# As chapter 24b said, Meta's files pair neighbours, while Hugging Face pairs element i with i + dim/2, so a converter has to permute the
# rows of `q_proj` and `k_proj`. Here are the rows of one head of width 8:

# %% tags=["proof-layouts"]
meta_order = torch.arange(8)
half_order = torch.cat([meta_order[0::2], meta_order[1::2]])
print("Meta's rows in Hugging Face's order:", half_order.tolist())
pictures.grids(("Meta: neighbours", meta_order[None]), "↓", ("Hugging Face: halves", half_order[None]),
               arrows=[((0, (0, row)), (1, (0, half_order.tolist().index(row)))) for row in (0, 1, 2)],
               alt="Rows 0, 2, 4, 6 move to the front, rows 1, 3, 5, 7 to the back.")  # fmt: skip

# %% [markdown]
# What happens if a converter leaves the queries in Meta's order, or both the queries and the keys? The shapes stay the same, so nothing
# raises an error:


# %% tags=["proof-converter"]
def to_meta(weight):  # undo the order in each head of 16 rows
    order = torch.cat([torch.arange(16)[0::2], torch.arange(16)[1::2]]).argsort()
    return weight.unflatten(0, (-1, 16))[:, order].flatten(0, 1)


print(f"by chance, loss {math.log(config.vocab_size):.1f}")
for wrong in ([], ["q_proj"], ["q_proj", "k_proj"]):
    broken = copy.deepcopy(model)
    with torch.no_grad():
        for layer in broken.model.layers:
            for name in wrong:
                weight = getattr(layer.self_attn, name).weight
                weight.copy_(to_meta(weight))
        output = broken(rows, labels=rows)
    gap = (output.logits - logits).abs().amax((0, 2))
    print(f"in Meta's order: {wrong!s:20} loss {output.loss:.1f}, off at position 0 {gap[0]:.1f}, at 39 {gap[39]:.1f}")

# %% [markdown]
# **Interview · A converted checkpoint loads without an error and writes nonsense. Where do you look?**
#
# - *Thirty seconds:* I look at the rotary layout first. Meta rotates neighbouring pairs and Hugging Face halves, so the
#   rows of the query and key weights have to be permuted within each head. If that is forgotten, the shapes still
#   match, and nothing raises an error.
# - *Longer:* Keys have fewer heads under grouped-query attention, so they are permuted by their own number of heads, and the biases of
#   queries and keys move with their rows. Values and the output matrix stay as they are, because they aren't rotated.
# - *They ask next:* Why is a permutation enough? If q and k are permuted alike, their dot product is unchanged, so the layout only decides
#   which elements form a pair.
# - *The trap:* At position 0 the rotation does nothing, and both layouts agree.
# - *Proof:* `proof-layouts`, `proof-converter`.

# %% [markdown]
# ## `labels`: who shifts, and what is averaged
# A causal language model predicts the next token, so either you or the model has to shift the labels by one. In transformers the model does
# it, so you pass `input_ids` as `labels` too, with −100 wherever a label should be ignored.

# %% tags=["proof-shift"]
cross_entropy = torch.nn.functional.cross_entropy
with torch.no_grad():
    by_hand = cross_entropy(logits[:, :-1].mT, rows[:, 1:])
    once, twice = model(rows, labels=rows).loss, model(rows[:, :-1], labels=rows[:, 1:]).loss
print(f"by hand {by_hand:.2f}, labels=rows {once:.2f}, shifted by you as well {twice:.2f}")

# %% [markdown]
# ### Gradient accumulation
# Two micro-batches can replace one batch only if their gradients add up to the gradient of the batch. Test this with rows of
# different lengths, in which −100 marks the ignored positions:

# %% tags=["proof-accumulation"]
labels = rows.clone()
labels[0, 6:] = -100  # a short text
labels[1:, :2] = -100
count = (labels[:, 1:] != -100).sum()  # the shifted labels are what the loss averages over
pairs = list(zip(rows.split(1), labels.split(1), strict=True))
micro = [model(row, labels=targets).loss for row, targets in pairs]
right = [model(row, labels=targets, num_items_in_batch=count).loss for row, targets in pairs]
print("trained tokens:", (labels[:, 1:] != -100).sum(1).tolist(), "· losses:", [f"{loss:.2f}" for loss in micro])
print(f"whole batch {model(rows, labels=labels).loss:.3f}, mean of the means {sum(micro) / 3:.3f}", end=", ")
print(f"with num_items_in_batch {sum(right):.3f}")

# %% [markdown]
# **Interview · Why was the loss under gradient accumulation wrong in many trainers?**
#
# - *Thirty seconds:* Each micro-batch averaged over its own tokens, and then these averages were averaged. The result
#   equals the average over all tokens only if every micro-batch has the same number of them. The fix is to sum the
#   losses and divide by the number of trained tokens in the whole batch.
# - *Longer:* Tokens in short micro-batches got too much weight. Today the `Trainer` counts the labels of all micro-batches first and passes
#   the count to the model as `num_items_in_batch`, and the model divides the sum of the losses by it.
# - *They ask next:* What changes with several GPUs? DDP averages the gradients of its ranks, so the count has to be summed over the ranks,
#   and the loss multiplied by the number of ranks. `TrainingArguments(average_tokens_across_devices=True)`, the default, does both.
# - *The trap:* If you count the labels before the shift, or with the ignored ones, the divisor is too large. Version 4's `Trainer` does the
#   former, which matters little as long as the rows are long; version 5 counts after the shift.
# - *Proof:* `proof-accumulation`, `proof-shift`.
#
# ## Rapid fire
# 1. Is a model in train mode after `from_pretrained`? No, in eval mode.
# 2. Which name is missing from a Llama's file with tied weights? `lm_head.weight`.
# 3. How many matrix multiplications with weights does each layer of a Llama have? Seven.
# 4. RoPE pairs neighbouring elements or splits a head into halves. At which position do both give the same attention? At
#    position 0.
# 5. How many of a row's n labels count in a causal language model's loss? At most n − 1: the first one is never predicted.

# %% tags=["proof-rapid-fire"]
print("1.", model.training, "· 2.", *(set(model.state_dict()) - set(state)))
print("3.", (counts["linear"] - 1) // 4, "· 4.", gap.argmin().item(), "· 5.", len(rows[0, 1:]), "of", len(rows[0]))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A model library is written in PyTorch, and a finder on `sys.meta_path` decides which library `import torch` loads.
# 2. `from_pretrained` reads the configuration, builds on the meta device, loads tensors by name in the chosen dtype, ties weights and
#    switches to eval mode.
# 3. Non-persistent buffers are in no file, so code that builds on the meta device has to compute them again.
# 4. Tied weights are one tensor with two names, of which a safetensors file contains one.
# 5. Attention is looked up by name, and so is its mask, but in another dictionary.
# 6. To test causality, change a token and check that the logits before it don't move.
# 7. Compare modules by inputs and outputs: a porting bug is in the first whose inputs agree and whose outputs don't.
# 8. Meta pairs neighbours and Hugging Face pairs halves, so permute the rows of q and k, each by its own number of heads.
# 9. The model shifts `labels`, so you don't.
# 10. Under accumulation, divide the sum by the trained tokens of the whole batch.
#
# ## You try
# In [the exercises](../exercises/24e_hugging_face.ipynb) you predict what a checkpoint contains, convert between both rotary layouts, write
# an attention function with the library's signature, fix gradient accumulation, and find the first module that differs. They need nothing
# but minitorch.

# %% [markdown]
# ## If you have time
# ### KV-cache classes
# `generate` keeps keys and values in a cache object, for which there are several classes:

# %% tags=["proof-caches"]
from transformers import DynamicCache, StaticCache

for cache in (DynamicCache(config=config), StaticCache(config=config, max_cache_len=64)):
    sizes = []
    with torch.no_grad():
        for start, end in ((0, 20), (20, 21)):
            model(rows[:1, start:end], past_key_values=cache, cache_position=torch.arange(start, end))
            sizes.append((int(cache.get_seq_length()), tuple(cache.layers[0].keys.shape)))
    print(f"{type(cache).__name__:12} tokens and shape of the keys: {sizes}")

# %% [markdown]
# **Interview · Your cache changes its shape at every decoding step. What does that cost, and what do you change?**
#
# - *Thirty seconds:* A dynamic cache grows by concatenation, so it keeps no more than it needs, but `torch.compile` has to handle
#   a new shape, and CUDA graphs can't replay the step. I allocate a static cache once at its largest size and write in place, so its
#   shapes and addresses never change.
# - *Longer:* Concatenating copies the whole cache at every step, while the static cache needs a mask for its unused
#   tail. Sliding-window layers keep only the last positions, and quantized or offloaded caches trade time for memory.
# - *They ask next:* Why are prompts of different lengths padded on the left for `generate`? The next token is predicted at the last
#   position, which padding on the right would fill with padding. The `attention_mask` hides the padding, and positions count from the
#   first real token.
# - *They ask next:* What do serving engines use? Paged blocks ([chapter 27](27_whiteboard_serving.ipynb)).
# - *The trap:* A cache that is reused for another prompt still contains the first one.
# - *Proof:* `proof-caches`.

# %% [markdown]
# ### What the heads look at
# With `eager`, the model returns its attention weights, and the slider below moves through the layers:

# %% tags=["proof-weights"]
model.set_attn_implementation("eager")
with torch.no_grad():
    attentions = model(rows[:1, :24], output_attentions=True).attentions  # of each layer (1, heads, 24, 24)


def draw(layer):
    ax = pictures.axes(4.4, 4)
    ax.imshow(attentions[layer][0].mean(0).numpy(), cmap="Blues", vmin=0)
    ax.set(xlabel="key", ylabel="query", title=f"layer {layer}, mean of the heads")
    back = (attentions[layer][0].mean(0) * (torch.arange(24)[:, None] - torch.arange(24))).sum(-1)[12:].mean()
    return pictures.publish(ax, alt=f"Layer {layer}: queries 12 to 23 look back {back:.0f} characters on average.")


print(len(attentions), "layers of", tuple(attentions[0].shape), f"· a row sums to {attentions[0][0, 0, 9].sum():.3f}")
pictures.slider(draw, start={"layer": 0}, layer=[0, 1, 2, 3])
