"""transformers: T5, loss and gradients, greedy generation."""

import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
net = T5ForConditionalGeneration(
    T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0)
)
source, target = torch.randint(2, 50, (2, 10)), torch.randint(2, 50, (2, 6))
output = net(input_ids=source, labels=target)
output.loss.backward()
print(f"{output.loss:.4f} {sum(p.grad.norm() for p in net.parameters()):.2f}")
net.eval()
print(net.generate(source, max_new_tokens=6, do_sample=False).tolist())
