"""An encoder-decoder transformer that learns to reverse sequences of numbers."""

import math

import torch
from torch import nn

PAD, START = 0, 1


class Positions(nn.Module):
    def __init__(self, width, longest=64):
        super().__init__()
        position = torch.arange(longest).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(longest, width)
        table[:, 0::2] = torch.sin(position * rate)
        table[:, 1::2] = torch.cos(position * rate)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class Translator(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.positions = Positions(width)
        self.transformer = nn.Transformer(width, 4, 2, 2, 2 * width, dropout=0.1, batch_first=True)
        self.head = nn.Linear(width, words)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def forward(self, source, target):
        causal = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        padding = source == PAD
        x = self.positions(self.embedding(source))
        y = self.positions(self.embedding(target))
        output = self.transformer(
            x, y, tgt_mask=causal, src_key_padding_mask=padding, memory_key_padding_mask=padding, tgt_is_causal=True
        )
        return self.head(output)


torch.manual_seed(0)
model = Translator(20, 32)
source = torch.randint(2, 20, (6, 9))
source[2, 6:] = PAD
target = torch.cat([torch.full((6, 1), START), source.flip(1)], dim=1)
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
schedule = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda step: 32**-0.5 * min((step + 1) ** -0.5, (step + 1) * 40**-1.5)
)
for step in range(5):
    logits = model(source, target[:, :-1])
    loss = criterion(logits.reshape(-1, 20), target[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    print(f"step {step + 1}: loss {loss.item():.8f}, lr {optimizer.param_groups[0]['lr']:.8f}")
model.eval()
with torch.no_grad():
    written = torch.full((6, 1), START)
    for _ in range(4):
        written = torch.cat([written, model(source, written)[:, -1:].argmax(-1)], dim=1)
print(written.tolist())
