"""How long is waited. Source: https://pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group"""

from datetime import timedelta

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

default_pg_timeout = timedelta(minutes=30)
default_pg_nccl_timeout: timedelta | None = None
