"""torchmetrics: 17 metrics in batches, a collection."""

import torch
import torchmetrics
from torchmetrics import classification, regression

torch.manual_seed(0)
logits, labels = torch.randn(64, 4), torch.randint(0, 4, (64,))
for name in [
    "Accuracy",
    "Precision",
    "Recall",
    "F1Score",
    "AUROC",
    "AveragePrecision",
    "CohenKappa",
    "MatthewsCorrCoef",
    "CalibrationError",
    "HammingDistance",
]:
    metric = getattr(classification, f"Multiclass{name}")(num_classes=4)
    for part, target in zip(logits.softmax(1).split(16), labels.split(16), strict=True):
        metric.update(part, target)
    print(name, f"{metric.compute():.4f}")
print(classification.MulticlassConfusionMatrix(4)(logits, labels))
x, y = torch.rand(64), torch.rand(64)
for name in [
    "MeanSquaredError",
    "MeanAbsoluteError",
    "R2Score",
    "PearsonCorrCoef",
    "SpearmanCorrCoef",
    "ExplainedVariance",
    "KendallRankCorrCoef",
]:
    print(name, f"{getattr(regression, name)()(x, y):.4f}")
collection = torchmetrics.MetricCollection([classification.BinaryAccuracy(), classification.BinaryF1Score()])
print({name: f"{value:.4f}" for name, value in collection(x, (y > 0.5).int()).items()})
print(f"{torchmetrics.MeanMetric()(x):.4f} {torchmetrics.SumMetric()(x):.3f}", repr(torchmetrics.MaxMetric()))
