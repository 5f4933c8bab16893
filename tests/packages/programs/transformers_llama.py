"""transformers: Llama, loss and gradients, greedy and sampled generation, saved and loaded."""

import tempfile

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
net = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=50,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
)
tokens = torch.randint(3, 50, (2, 12))
output = net(tokens, labels=tokens)
output.loss.backward()
print(f"{output.loss:.4f} {sum(p.grad.norm() for p in net.parameters()):.3f}")
net.eval()
print(net.generate(tokens[:, :4], max_new_tokens=8, do_sample=False, pad_token_id=0).tolist())
torch.manual_seed(1)
print(net.generate(tokens[:, :4], max_new_tokens=8, do_sample=True, top_p=0.9, pad_token_id=0).tolist())
with tempfile.TemporaryDirectory() as folder:
    net.save_pretrained(folder)
    again = AutoModelForCausalLM.from_pretrained(folder)
print(type(again).__name__, torch.equal(again(tokens).logits, net(tokens).logits))
