"""kornia: eleven operations on images with gradients."""

import kornia
import torch

torch.manual_seed(0)
image = torch.rand(1, 3, 16, 16, requires_grad=True)
functions = {
    "gray": lambda x: kornia.color.rgb_to_grayscale(x),
    "hsv": lambda x: kornia.color.rgb_to_hsv(x),
    "lab": lambda x: kornia.color.rgb_to_lab(x),
    "blur": lambda x: kornia.filters.gaussian_blur2d(x, (3, 3), (1.0, 1.0)),
    "sobel": lambda x: kornia.filters.sobel(x),
    "median": lambda x: kornia.filters.median_blur(x, (3, 3)),
    "rotate": lambda x: kornia.geometry.rotate(x, torch.tensor([30.0])),
    "resize": lambda x: kornia.geometry.resize(x, (8, 8)),
    "dilate": lambda x: kornia.morphology.dilation(x, torch.ones(3, 3)),
    "ssim": lambda x: kornia.losses.ssim_loss(x, x.flip(-1), 5),
    "psnr": lambda x: kornia.metrics.psnr(x, x.flip(-1), 1.0),
}
for name, function in functions.items():
    image.grad = None
    result = function(image)
    result.sum().backward()
    print(name, tuple(result.shape), f"{result.mean():.4f} {image.grad.norm():.3f}")
