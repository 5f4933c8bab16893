"""Famous networks, with the parameter names under which their checkpoints are published.

The files are ordinary programs: with `import torch` in place of `import minitorch as torch` they run on PyTorch.
"""

from minitorch.models.gpt import GPT, GPTConfig
from minitorch.models.lenet import LeNet
from minitorch.models.llama import LlamaConfig, LlamaForCausalLM
from minitorch.models.resnet import ResNet, ResNet18_Weights, resnet18, resnet34, resnet50

__all__ = [
    "GPT",
    "GPTConfig",
    "LeNet",
    "LlamaConfig",
    "LlamaForCausalLM",
    "ResNet",
    "ResNet18_Weights",
    "resnet18",
    "resnet34",
    "resnet50",
]
