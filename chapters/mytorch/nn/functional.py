"""The functions of layers, gathered; each stands in the file of its layer."""

# 09 · Modules and parameters
from .linear import bilinear, linear

# 10 · Activations and initialization
from ..pointwise import sigmoid, tanh
from .activation import gelu, leaky_relu, log_softmax, relu, silu, softmax

# 11 · Convolution
from .convolution import conv2d, conv_transpose2d
from .pooling import adaptive_avg_pool2d, avg_pool2d, max_pool2d

# 12 · Norm, dropout and modes
from .dropout import dropout
from .normalization import batch_norm, layer_norm, rms_norm

# 13 · Embeddings
from .embedding import embedding

# 14 · Attention
from .attention import scaled_dot_product_attention

# 16 · Losses and optimizers
from .loss import binary_cross_entropy_with_logits, cross_entropy, l1_loss, mse_loss, nll_loss
