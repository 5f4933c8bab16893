"""A small GPT on characters: AdamW with and without decay, clipping, warm-up and a cosine schedule."""

import torch
import torch.nn.functional as F
from torch import nn

TEXT = "the quick brown fox jumps over the lazy dog. " * 8
BLOCK, WIDTH, HEADS = 16, 32, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (each.view(B, T, HEADS, -1).transpose(1, 2) for each in self.qkv(self.ln_1(x)).split(WIDTH, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, characters):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(characters, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(2)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, characters, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, x):
        x = self.tokens(x) + self.positions(torch.arange(x.shape[1]))
        return self.head(self.norm(self.blocks(x)))


torch.manual_seed(0)
alphabet = sorted(set(TEXT))
data = torch.tensor([alphabet.index(each) for each in TEXT])
model = GPT(len(alphabet))
decayed = [each for each in model.parameters() if each.dim() >= 2]
others = [each for each in model.parameters() if each.dim() < 2]
optimizer = torch.optim.AdamW(
    [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=3e-3, betas=(0.9, 0.95)
)
warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=2)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3, eta_min=1e-4)
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm_up, cosine], milestones=[2])
for step in range(5):
    starts = torch.randint(len(data) - BLOCK, (8,)).tolist()
    x = torch.stack([data[i : i + BLOCK] for i in starts])
    y = torch.stack([data[i + 1 : i + 1 + BLOCK] for i in starts])
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    print(f"step {step + 1}: loss {loss.item():.8f}, norm {norm.item():.6f}, lr {scheduler.get_last_lr()[0]:.8f}")
model.eval()
line = data[None, :5]
with torch.no_grad():
    for _ in range(10):
        logits = model(line[:, -BLOCK:])[:, -1]
        line = torch.cat([line, torch.multinomial(logits.softmax(-1), 1)], dim=1)
print(repr("".join(alphabet[i] for i in line[0].tolist())))
