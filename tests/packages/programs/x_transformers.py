"""x-transformers: six kinds of decoders with gradients, generation, an encoder."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper

for options in (
    {},
    {"rotary_pos_emb": True},
    {"alibi_pos_bias": True},
    {"ff_glu": True},
    {"use_rmsnorm": True},
    {"attn_kv_heads": 1},
):
    torch.manual_seed(0)
    net = AutoregressiveWrapper(
        TransformerWrapper(
            num_tokens=20, max_seq_len=32, attn_layers=Decoder(dim=16, depth=2, heads=2, attn_dim_head=8, **options)
        )
    )
    tokens = torch.randint(0, 20, (2, 16))
    loss = net(tokens)
    loss.backward()
    print(options, f"{loss:.4f} {sum(p.grad.norm() for p in net.parameters() if p.grad is not None):.3f}")
net.eval()
print(net.generate(tokens[:, :4], 6, temperature=0.0).tolist())
encoder = TransformerWrapper(
    num_tokens=20, max_seq_len=32, attn_layers=Encoder(dim=16, depth=1, heads=2, attn_dim_head=8)
)
print(tuple(encoder(tokens, mask=torch.ones(2, 16).bool()).shape))
