"""Which pixels a score depends on: Simonyan et al. 2014, arXiv:1312.6034; Selvaraju et al. 2017, arXiv:1610.02391"""

# 21 · Features, transfer and pictures
from __future__ import annotations

from typing import Any

from ..autograd import grad
from ..nn import Module
from ..nn.functional import relu
from ..tensor import Tensor


def saliency(model: Module, images: Tensor, classes: Tensor) -> Tensor:
    """The slope of each image's score of its class at each pixel, as an absolute value, the largest of the channels."""
    pixels = images.detach().requires_grad_()
    scores = model(pixels).gather(1, classes.unsqueeze(1))
    (slopes,) = grad(scores.sum(), pixels)
    return slopes.abs().amax(1)


def grad_cam(model: Module, layer: str, images: Tensor, classes: Tensor) -> Tensor:
    """A layer's maps, weighted by the mean slope of the score at each and added up; what is below 0 becomes 0."""
    seen: list[Tensor] = []

    def hook(module: Module, args: Any, result: Tensor) -> Tensor:
        seen.append(result.detach().requires_grad_())
        return seen[-1].clone()  # the next layer may write into what it gets

    handle = model.get_submodule(layer).register_forward_hook(hook)
    try:
        scores = model(images).gather(1, classes.unsqueeze(1))
    finally:
        handle.remove()
    (maps,) = seen
    (slopes,) = grad(scores.sum(), maps)
    return relu((slopes.mean((2, 3), keepdim=True) * maps.detach()).sum(1))
