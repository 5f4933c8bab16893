"""Layers, and what they are made of."""

# 09 · Modules and parameters
from . import functional, init, utils
from .containers import ModuleDict, ModuleList, Sequential
from .lazy import LazyLinear
from .linear import Bilinear, Flatten, Identity, Linear
from .module import Module
from .parameter import Parameter, UninitializedParameter

# 10 · Activations and initialization
from .activation import GELU, LeakyReLU, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Tanh

# 11 · Convolution
from .convolution import Conv2d, ConvTranspose2d
from .pooling import AdaptiveAvgPool2d, AvgPool2d, MaxPool2d

# 12 · Norm, dropout and modes
from .dropout import Dropout
from .normalization import BatchNorm1d, BatchNorm2d, LayerNorm, RMSNorm

# 13 · Embeddings
from .embedding import Embedding

# 14 · Attention
from .attention import MultiheadAttention, TransformerEncoderLayer

# 15 · Recurrent networks
from .recurrent import GRU, LSTM, RNN

# 16 · Losses and optimizers
from .loss import BCEWithLogitsLoss, CrossEntropyLoss, L1Loss, MSELoss, NLLLoss

# 21 · Features, transfer and pictures
from .lora import LoRALinear

# 22b · Where the memory goes
from .quantization import Int8Linear

# 23 · Several GPUs
from . import parallel
from .parallel import DataParallel

# 24b · Four swaps
from . import llama
