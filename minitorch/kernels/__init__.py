"""How a few ops are fast: functions of arrays, which know nothing of tensors."""
