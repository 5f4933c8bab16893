"""transformers: GPT-2, three steps, greedy, sampled and beam generation, saved and loaded."""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
net = GPT2LMHeadModel(
    GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
)
tokens = torch.randint(1, 50, (2, 12))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
for _ in range(3):
    optimizer.zero_grad()
    loss = net(tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    print(f"{loss:.4f}")
net.eval()
print(net.generate(tokens[:, :4], max_new_tokens=6, do_sample=False, pad_token_id=0).tolist())
torch.manual_seed(1)
print(net.generate(tokens[:, :4], max_new_tokens=6, do_sample=True, top_k=10, pad_token_id=0).tolist())
print(net.generate(tokens[:, :4], max_new_tokens=4, num_beams=2, pad_token_id=0).tolist())
with tempfile.TemporaryDirectory() as folder:
    net.save_pretrained(folder)
    again = GPT2LMHeadModel.from_pretrained(folder)
print(torch.equal(again(tokens).logits, net(tokens).logits), sum(p.numel() for p in net.parameters()))
