"""Optimizers: how parameters move, given their gradients."""

# 16 · Losses and optimizers
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

# 17 · Learning rate schedules
from . import lr_scheduler, swa_utils
