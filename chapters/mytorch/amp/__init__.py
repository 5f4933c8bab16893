"""Mixed precision: where 16 bits are enough, where they aren't, and what makes up for it. Source: arXiv:1710.03740"""

# 22 · Mixed precision
from .autocast_mode import autocast
from .grad_scaler import GradScaler
from .master_weights import MasterWeights
from .rounding import stochastic_round
