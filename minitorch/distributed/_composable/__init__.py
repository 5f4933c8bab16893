"""Parallelism of modules that is applied by functions: `fsdp` alone, as a name."""
