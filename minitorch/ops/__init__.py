"""Every op, once: its kernel, its derivatives, its names. `declaration` says how, `apply` is where they run."""
