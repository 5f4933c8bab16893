"""The functions that layers are made of, under PyTorch's names.

Source: https://pytorch.org/docs/stable/nn.functional.html
"""

# ruff: noqa: F401, I001
from __future__ import annotations

from minitorch.ops import layer_table  # declares what follows
from minitorch.ops.activation import common, exponential_linear, leaky, shrinking
from minitorch.ops.activation.common import functional_hardtanh as hardtanh
from minitorch.ops.activation.common import glu, in_place_form, logsigmoid, relu6, sigmoid, softplus, with_inplace
from minitorch.ops.activation.exponential_linear import elu, elu_, selu, selu_
from minitorch.ops.activation.gelu import gelu
from minitorch.ops.activation.leaky import functional_prelu as prelu, functional_rrelu as rrelu, rrelu_
from minitorch.ops.activation.shrinking import hardshrink, softshrink, softsign, tanhshrink
from minitorch.ops.activation.softmax import (
    functional_log_softmax as log_softmax, functional_softmax as softmax, gumbel_softmax, softmin,
)  # fmt: skip
from minitorch.ops.linalg.distances import cosine_similarity, pairwise_distance, pdist
from minitorch.ops.linalg.matmul import linear
from minitorch.ops.loss.binary_cross_entropy import binary_cross_entropy, binary_cross_entropy_with_logits
from minitorch.ops.loss.cross_entropy import cross_entropy, kl_div, nll_loss
from minitorch.ops.loss.ctc import ctc_loss
from minitorch.ops.loss.linear_cross_entropy import linear_cross_entropy
from minitorch.ops.loss.margin import (
    cosine_embedding_loss, hinge_embedding_loss, margin_ranking_loss, multi_margin_loss, multilabel_margin_loss,
    multilabel_soft_margin_loss, soft_margin_loss, triplet_margin_loss, triplet_margin_with_distance_loss,
)  # fmt: skip
from minitorch.ops.loss.regression import (
    gaussian_nll_loss, huber_loss, l1_loss, mse_loss, poisson_nll_loss, smooth_l1_loss,
)  # fmt: skip
from minitorch.ops.nn.adaptive_pooling import (
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices, adaptive_max_pool2d, adaptive_max_pool2d_with_indices, adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
)  # fmt: skip
from minitorch.ops.nn.attention import multi_head_attention_forward, scaled_dot_product_attention
from minitorch.ops.nn.convolution import (
    conv1d, conv2d, conv3d, conv_tbc, conv_transpose1d, conv_transpose2d, conv_transpose3d,
)  # fmt: skip
from minitorch.ops.nn.dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout
from minitorch.ops.nn.embedding import bilinear, embedding, one_hot
from minitorch.ops.nn.embedding_bag import embedding_bag
from minitorch.ops.nn.folding import fold, unfold
from minitorch.ops.nn.fractional_pooling import (
    fractional_max_pool2d, fractional_max_pool2d_with_indices, fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)  # fmt: skip
from minitorch.ops.nn.grid_sampling import affine_grid, grid_sample
from minitorch.ops.nn.interpolation import interpolate, upsample, upsample_bilinear, upsample_nearest
from minitorch.ops.nn.normalization import (
    batch_norm, group_norm, instance_norm, layer_norm, local_response_norm, normalize, rms_norm,
)  # fmt: skip
from minitorch.ops.nn.padding import pad
from minitorch.ops.nn.pixels import channel_shuffle, pixel_shuffle, pixel_unshuffle
from minitorch.ops.nn.pooling import (
    avg_pool1d, avg_pool2d, avg_pool3d, lp_pool1d, lp_pool2d, lp_pool3d, max_pool1d, max_pool1d_with_indices,
    max_pool2d, max_pool2d_with_indices, max_pool3d, max_pool3d_with_indices,
)  # fmt: skip
from minitorch.ops.nn.unpooling import max_unpool1d, max_unpool2d, max_unpool3d
from minitorch.ops.pointwise.trigonometry import tanh

# These take `inplace` too, which those of the same name in `torch` don't.
celu = with_inplace(exponential_linear.celu)
celu_ = in_place_form(exponential_linear.celu)
hardsigmoid = with_inplace(shrinking.hardsigmoid)
hardswish = with_inplace(shrinking.hardswish)
hardtanh_ = in_place_form(common.hardtanh)
leaky_relu = with_inplace(leaky.leaky_relu)
leaky_relu_ = in_place_form(leaky.leaky_relu)
mish = with_inplace(common.mish)
relu = with_inplace(common.relu)
relu_ = in_place_form(common.relu)
silu = with_inplace(common.silu)
threshold = with_inplace(common.threshold)
threshold_ = in_place_form(common.threshold)
