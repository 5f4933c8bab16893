"""A process that is killed at each of its file operations in turn."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_OPERATIONS = ("open", "os.rename", "os.remove", "os.mkdir", "shutil.copyfile")


def killed_at_each(prepare: Callable[[], Path], do: Callable[[Path], Any]) -> Iterator[Path]:
    """The folders that `prepare` makes, after `do` was killed in them before its first, second, ... change to a file.

    The last one that `do` went through undisturbed is not among them.
    """
    number = 1
    while _is_killed(folder := prepare(), number, do):
        yield folder
        number += 1
    assert number > 1, "no file was changed"


def _is_killed(folder: Path, number: int, do: Callable[[Path], Any]) -> bool:
    if (child := os.fork()) == 0:
        _kill_before(number, str(folder))
        code = 1
        try:
            do(folder)
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


def _kill_before(number: int, folder: str) -> None:
    count = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event not in _OPERATIONS or (event == "open" and not int(arguments[2] or 0) & _WRITES):
            return
        count += any(str(each).startswith(folder) for each in arguments)
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
