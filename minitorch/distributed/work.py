"""What a communication returns while it is under way.

Source: https://pytorch.org/docs/stable/distributed.html#torch.distributed.Work
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from minitorch.futures import Future

if TYPE_CHECKING:
    from minitorch.distributed.mesh import Receive
    from minitorch.tensor import Tensor

_NO_TIMEOUT = timedelta(0)


class Work:
    """A communication that runs, has ended, or has failed. `outputs` are the tensors that it writes to."""

    def __init__(self, outputs: Sequence[Tensor]) -> None:
        self._outputs = list(outputs)
        self._future: Future[list[Tensor]] = Future()

    def run(self, communicate: Callable[[], Any]) -> Work:
        """Communicates, and notes how it ended."""
        try:
            communicate()
        except Exception as error:
            self._future.set_exception(error)
        else:
            self._future.set_result(self._outputs)
        return self

    def wait(self, timeout: timedelta = _NO_TIMEOUT) -> bool:
        """Waits for the end and returns True. Raises what went wrong, or RuntimeError when `timeout` is over."""
        if not self._future.done_within(timeout.total_seconds() or None):
            raise RuntimeError("Operation timed out!")
        self._future.value()
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        """Whether it has ended, or failed."""
        return self._future.done()

    def is_success(self) -> bool:
        """Whether it has ended without an exception."""
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        """What went wrong."""
        return self._future.exception_of()

    def result(self) -> list[Tensor]:
        """The tensors that were written to."""
        return self._future.value()

    def get_future(self) -> Future[list[Tensor]]:
        """The future of `result()`."""
        return self._future

    def source_rank(self) -> int:
        """Who sent what was received. Raises RuntimeError where nothing was."""
        raise RuntimeError(
            "sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call."
        )

    _source_rank = source_rank


class ReceiveWork(Work):
    """A tensor on its way."""

    def __init__(self, receive: Receive, outputs: Sequence[Tensor], timeout: float) -> None:
        super().__init__(outputs)
        self._receive = receive
        self._timeout = timeout
        receive.future.add_done_callback(lambda future: self.run(future.value))

    def wait(self, timeout: timedelta = _NO_TIMEOUT) -> bool:
        self._receive.wait(timeout.total_seconds() or self._timeout)
        return super().wait()

    def source_rank(self) -> int:
        """Who sent it; waits until it has come."""
        return self._receive.future.wait()

    _source_rank = source_rank
