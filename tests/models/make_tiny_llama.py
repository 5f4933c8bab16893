"""Makes notebooks/files/tiny_llama, a Llama of 9,912 random weights, by Hugging Face's transformers.

    pip install --target /tmp/with_transformers transformers==5.23.0
    PYTHONPATH=/tmp/with_transformers python -m tests.models.make_tiny_llama

Chapter 24b and the tests compare with the scores that transformers computed. It is not made anew when they run, and
transformers is no dependency of the course. The model's own weights would give scores that are nearly equal, so they
are drawn larger here.
"""

import json

import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.generation.logits_process import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from course.files import CODE

FOLDER = CODE / "notebooks" / "files" / "tiny_llama"


def sampled(logits: torch.Tensor, temperature: float, top_k: int, top_p: float) -> torch.Tensor:
    """The probabilities from which transformers draws."""
    for warper in (TemperatureLogitsWarper(temperature), TopKLogitsWarper(top_k), TopPLogitsWarper(top_p)):
        logits = warper(None, logits)
    return logits.softmax(-1)


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    sizes = {"vocab_size": 24, "hidden_size": 24, "intermediate_size": 36, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
    model = LlamaForCausalLM(LlamaConfig(**sizes, **heads, bos_token_id=0, eos_token_id=None)).eval()
    for name, parameter in model.named_parameters():
        parameter.copy_(1 + 0.3 * torch.randn_like(parameter) if "norm" in name else 0.25 * torch.randn_like(parameter))
    model.save_pretrained(FOLDER)
    (FOLDER / "generation_config.json").unlink()
    tokens = torch.randint(0, 24, (3, 12))
    logits = model(tokens).logits
    written = model.generate(
        tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=10, do_sample=False, pad_token_id=0
    )
    drawn = sampled(logits[:, -1], 0.7, 8, 0.9)
    save_file({"tokens": tokens, "logits": logits, "written": written, "drawn": drawn}, FOLDER / "expected.safetensors")
    print(json.dumps({"weights": sum(each.numel() for each in model.parameters())}))


if __name__ == "__main__":
    main()
