"""The settings of capture.

Source: torch/_dynamo/config.py
"""

recompile_limit = 8
"""How many graphs a function may have before the next call that fits none of them runs eagerly."""

cache_size_limit = recompile_limit
"""The older name. It is read by nobody."""

suppress_errors = False
"""Whether a backend's error is a warning, after which the function runs eagerly."""

disable = False
"""Whether compiled functions run eagerly."""

assume_static_by_default = True
"""Whether sizes are constants until they change."""

automatic_dynamic_shapes = True
"""Whether a size that has changed is a symbol from then on."""
