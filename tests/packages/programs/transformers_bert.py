"""transformers: BERT with two heads, losses and gradients, saved and loaded."""

import tempfile

import torch
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

config = BertConfig(
    vocab_size=50,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=32,
    num_labels=3,
)
torch.manual_seed(0)
tokens = torch.randint(1, 50, (2, 12))
mask = torch.ones(2, 12, dtype=torch.long)
mask[1, 8:] = 0
for kind, labels in ((BertForMaskedLM, tokens), (BertForSequenceClassification, torch.tensor([0, 2]))):
    torch.manual_seed(0)
    net = kind(config)
    output = net(tokens, attention_mask=mask, labels=labels)
    output.loss.backward()
    print(kind.__name__, f"{output.loss:.4f} {sum(p.grad.norm() for p in net.parameters() if p.grad is not None):.3f}")
net.eval()
with tempfile.TemporaryDirectory() as folder:
    net.save_pretrained(folder)
    again = BertForSequenceClassification.from_pretrained(folder)
print(torch.equal(again(tokens).logits, net(tokens).logits))
