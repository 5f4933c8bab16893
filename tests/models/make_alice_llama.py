"""Makes notebooks/files/alice_llama: Hugging Face's Llama of 189,312 parameters, trained on Alice by minitorch.

    pip install transformers==4.57.1
    python -m minitorch -m tests.models.make_alice_llama    # trains: 4 minutes of one core
    python -m tests.models.make_alice_llama                 # with PyTorch: computes what chapter 24e compares with

The first command writes config.json and model.safetensors (in bfloat16, 380 KB), the second one expected.safetensors.
On one machine they write the same bytes again; another processor may round other digits. Nothing runs this file by
itself, and learners need not run it either.
"""

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

from course.files import CODE

FILES = CODE / "notebooks" / "files"
FOLDER = FILES / "alice_llama"
STEPS, ROWS, LENGTH, PEAK = 2500, 24, 64, 4e-3
PROMPT = "`Off with "


def characters() -> tuple[list[str], np.ndarray]:
    """The vocabulary, and the book as indices into it."""
    text = (FILES / "alice.txt").read_text()
    letters = sorted(set(text))
    return letters, np.array([letters.index(each) for each in text])


def rate(step: int) -> float:
    """A warm-up of 100 steps, then half a cosine down to nearly 0."""
    return float(PEAK * min(1, (step + 1) / 100) * (1 + np.cos(np.pi * step / STEPS)) / 2)


def train(folder: Path = FOLDER, steps: int = STEPS) -> float:
    """Train and save a model; returns the mean loss of the last 12,000 characters, which it has not read."""
    letters, book = characters()
    seen, unseen = book[:-12000], book[-12000:]
    torch.manual_seed(0)
    sizes = {"vocab_size": len(letters), "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 4}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128}
    special = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
    model = LlamaForCausalLM(LlamaConfig(**sizes, **heads, **special, tie_word_embeddings=True))
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK, betas=(0.9, 0.99), weight_decay=0.1)
    rng = np.random.default_rng(0)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate(step)
        rows = torch.tensor(seen[rng.integers(0, len(seen) - LENGTH, (ROWS, 1)) + np.arange(LENGTH)])
        loss = model(rows, labels=rows).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 99:
            print(step + 1, f"{loss.item():.3f}", flush=True)
    model.eval().to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink()
    return held_out(LlamaForCausalLM.from_pretrained(folder), unseen)


def held_out(model: LlamaForCausalLM, unseen: np.ndarray) -> float:
    """The mean loss of 180 rows of 64 characters."""
    rows = torch.tensor(unseen[: 180 * LENGTH].reshape(180, LENGTH))
    with torch.no_grad():
        return float(model(rows, labels=rows).loss)


def compute_expected() -> None:
    """What PyTorch computes: logits, the gradients' norms, and the tokens of greedy and of sampled generation."""
    letters, book = characters()
    model = LlamaForCausalLM.from_pretrained(FOLDER)
    rows = torch.tensor(book[-12000:][: 3 * 40].reshape(3, 40))
    output = model(rows, labels=rows)
    output.loss.backward()
    prompt = torch.tensor([[letters.index(each) for each in PROMPT]])
    options = {"attention_mask": torch.ones_like(prompt), "max_new_tokens": 80, "pad_token_id": 0}
    torch.manual_seed(0)
    expected = {
        "rows": rows,
        "logits": output.logits.detach(),
        "loss": output.loss.detach(),
        "norms": torch.stack([each.grad.norm() for each in model.parameters()]),
        "greedy": model.generate(prompt, do_sample=False, **options),
        "sampled": model.generate(prompt, do_sample=True, temperature=0.5, **options),
    }
    save_file(expected, FOLDER / "expected.safetensors")
    for name in ("greedy", "sampled"):
        print("".join(letters[each] for each in expected[name][0].tolist()))


if __name__ == "__main__":
    if Path(torch.__file__).parent.name == "minitorch":
        print(f"loss on unseen text {train():.3f}")
    else:
        compute_expected()
