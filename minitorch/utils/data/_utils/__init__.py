"""The parts of the loader."""

from minitorch.utils.data._utils import collate, fetch, worker

__all__ = ["collate", "fetch", "worker"]
