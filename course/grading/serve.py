"""Inside a sandbox: answers requests about what learners wrote, each in a fork of its own and under limits.

The first line says what the service needs to know. A request is a line `{"token", "size", "about", "alone"}` and then
`size` bytes, which a learner may have written. The answer is a line `{"token", "told"}`; `told` is null if the fork
ended without one. No memory of a request outlives it.
"""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from course.sandbox import confine

_ANSWERED = 70  # an exit code that nothing has by itself
Answer = Callable[[Any, bytes], Any]
"""Answers a request, from what the grader says about it and what the learner wrote, with what JSON has room for."""


def serve(prepare: Callable[[Any], Answer], limits: dict[str, int]) -> None:
    """Serve until the requests end.

    Args:
        prepare: makes the service, from what the first line says.
        limits: of the process that answers one request, by the names of `resource`.
    """
    requests, answers = sys.stdin.buffer, os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    confine.die_with_parent()
    confine.hide()  # what forks from this process cannot look into it
    answer = prepare(json.loads(requests.readline()))
    os.write(answers, b"{}\n")
    os.dup2(nothing, 2)  # until here, standard error says why the sandbox does not work
    os.close(nothing)
    while header := requests.readline():
        request = json.loads(header)
        content = requests.read(request["size"])
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                os.close(0)  # the next requests are not for this process
                confine.limit(limits)
                _say(answers, request["token"], answer(request["about"], content))
                os._exit(_ANSWERED)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if request["alone"]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)  # all processes but this one and the namespace's first
        if os.waitstatus_to_exitcode(status) != _ANSWERED:
            _say(answers, request["token"], None)


def _say(file: int, token: str, told: Any) -> None:
    text = json.dumps({"token": token, "told": told}).encode() + b"\n"
    while text:
        text = text[os.write(file, text) :]
