"""A bidirectional LSTM that classifies sentences of different lengths."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Classifier(nn.Module):
    def __init__(self, words, width, classes):
        super().__init__()
        self.embedding = nn.Embedding(words, width, padding_idx=0)
        self.lstm = nn.LSTM(width, width, num_layers=2, bidirectional=True, batch_first=True, dropout=0.3)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(4 * width, classes)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
        output, (hidden, _) = self.lstm(packed)
        output, _ = pad_packed_sequence(output, batch_first=True)
        last = torch.cat([hidden[-2], hidden[-1]], dim=1)
        return self.head(self.dropout(torch.cat([last, output.max(dim=1).values], dim=1)))


torch.manual_seed(0)
lengths = torch.tensor([7, 3, 9, 5, 1, 8])
sentences = [torch.randint(1, 50, (int(length),)) for length in lengths]
tokens = pad_sequence(sentences, batch_first=True)
labels = torch.tensor([0, 1, 2, 0, 1, 2])
model = Classifier(50, 24, 3)
print(model)
criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5]))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(5):
    optimizer.zero_grad()
    loss = criterion(model(tokens, lengths), labels)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(f"step {step + 1}: loss {loss.item():.8f}, norm {norm.item():.8f}")
print("padding stays", model.embedding.weight[0].abs().sum().item())
model.eval()
with torch.no_grad():
    print([round(each, 4) for each in model(tokens, lengths).softmax(1)[:, 0].tolist()])
