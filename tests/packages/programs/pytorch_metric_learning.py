"""pytorch-metric-learning: 20 losses with gradients, five miners."""

import torch
from pytorch_metric_learning import losses, miners

for name in [
    "TripletMarginLoss",
    "ContrastiveLoss",
    "NTXentLoss",
    "MultiSimilarityLoss",
    "CircleLoss",
    "SupConLoss",
    "LiftedStructureLoss",
    "NPairsLoss",
    "FastAPLoss",
    "AngularLoss",
    "SignalToNoiseRatioContrastiveLoss",
    "GeneralizedLiftedStructureLoss",
]:
    torch.manual_seed(0)
    x, labels = torch.randn(12, 6, requires_grad=True), torch.arange(12) % 4
    loss = getattr(losses, name)()(x, labels)
    loss.backward()
    print(name, f"{loss:.4f} {x.grad.norm():.4f}")
for name in [
    "ArcFaceLoss",
    "CosFaceLoss",
    "ProxyNCALoss",
    "ProxyAnchorLoss",
    "NormalizedSoftmaxLoss",
    "SphereFaceLoss",
    "SoftTripleLoss",
    "SubCenterArcFaceLoss",
]:
    torch.manual_seed(0)
    x, labels = torch.randn(12, 6, requires_grad=True), torch.arange(12) % 4
    loss = getattr(losses, name)(num_classes=4, embedding_size=6)(x, labels)
    loss.backward()
    print(name, f"{loss:.4f} {x.grad.norm():.4f}")
torch.manual_seed(0)
x, labels = torch.randn(12, 6), torch.arange(12) % 4
for name in ["BatchHardMiner", "MultiSimilarityMiner", "PairMarginMiner", "TripletMarginMiner", "BatchEasyHardMiner"]:
    print(name, [len(each) for each in getattr(miners, name)()(x, labels)])
