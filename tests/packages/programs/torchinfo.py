"""torchinfo: the summaries of a convolutional and a recurrent network."""

import torch
from torchinfo import summary

torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 10)
)
print(summary(net, (2, 3, 8, 8), verbose=0, col_names=("input_size", "output_size", "num_params", "mult_adds")))
lstm = torch.nn.LSTM(4, 6, 2, batch_first=True)
print(summary(lstm, (2, 5, 4), verbose=0))
