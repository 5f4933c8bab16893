"""torchsummary: the summary of a convolutional network."""

import torch
from torchsummary import summary

net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 10))
summary(net, (3, 8, 8), device="cpu")
