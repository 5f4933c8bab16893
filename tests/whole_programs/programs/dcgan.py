"""A DCGAN: one network draws images, another tells them from the given ones."""

import torch
from torch import nn


def initialise(module):
    name = module.__class__.__name__
    if "Conv" in name:
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif "BatchNorm" in name:
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


generator = nn.Sequential(
    nn.ConvTranspose2d(16, 32, 4, 1, 0, bias=False),
    nn.BatchNorm2d(32),
    nn.ReLU(True),
    nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False),
    nn.BatchNorm2d(16),
    nn.ReLU(True),
    nn.ConvTranspose2d(16, 1, 4, 2, 1, bias=False),
    nn.Tanh(),
)
discriminator = nn.Sequential(
    nn.Conv2d(1, 16, 4, 2, 1, bias=False),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(16, 32, 4, 2, 1, bias=False),
    nn.BatchNorm2d(32),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(32, 1, 4, 1, 0, bias=False),
    nn.Flatten(0),
)
torch.manual_seed(0)
generator.apply(initialise)
discriminator.apply(initialise)
print(generator)
print(discriminator)
criterion = nn.BCEWithLogitsLoss()
optimizers = [torch.optim.Adam(each.parameters(), lr=2e-3, betas=(0.5, 0.999)) for each in (generator, discriminator)]
real = torch.rand(16, 1, 16, 16) * 2 - 1
for step in range(5):
    noise = torch.randn(16, 16, 1, 1)
    fake = generator(noise)

    discriminator.zero_grad()
    on_real, on_fake = discriminator(real), discriminator(fake.detach())
    loss_d = criterion(on_real, torch.ones(16)) + criterion(on_fake, torch.zeros(16))
    loss_d.backward()
    optimizers[1].step()

    generator.zero_grad()
    loss_g = criterion(discriminator(fake), torch.ones(16))
    loss_g.backward()
    optimizers[0].step()
    print(f"step {step + 1}: discriminator {loss_d.item():.8f}, generator {loss_g.item():.8f}")
generator.eval()
print(f"mean pixel {generator(noise).abs().mean().item():.8f}")
