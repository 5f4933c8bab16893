"""monai: a UNet with three losses, sliding windows, the Dice metric."""

import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss, FocalLoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet

torch.manual_seed(0)
net = UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,), num_res_units=1)
image, label = torch.randn(2, 1, 16, 16), torch.randint(0, 2, (2, 1, 16, 16))
for loss in (
    DiceLoss(to_onehot_y=True, softmax=True),
    DiceCELoss(to_onehot_y=True, softmax=True),
    FocalLoss(to_onehot_y=True),
):
    net.zero_grad()
    value = loss(net(image), label)
    value.backward()
    print(type(loss).__name__, f"{value:.4f} {sum(p.grad.norm() for p in net.parameters()):.3f}")
net.eval()
with torch.no_grad():
    whole = sliding_window_inference(torch.randn(1, 1, 24, 24), (16, 16), 2, net, overlap=0.25)
print(tuple(whole.shape), f"{whole.norm():.3f}")
metric = DiceMetric(include_background=True)
prediction = torch.nn.functional.one_hot(net(image).argmax(1), 2).permute(0, 3, 1, 2)
metric(prediction, torch.nn.functional.one_hot(label[:, 0], 2).permute(0, 3, 1, 2))
print(f"{metric.aggregate().item():.4f}")
