"""What runs of exercises can leave for each other: nothing."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.files import CODE, Course
from course.grading.grade import grade
from course.grading.together import at_odds
from course.sandbox import launch, namespaces, seccomp
from course.sandbox.launch import Limits

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
linux = pytest.mark.skipif(
    not seccomp.available(), reason="seccomp is Linux's, and the numbers of calls are a machine's"
)


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_of_system_calls_are_the_kernels(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"{HEADERS[machine]} is not installed (linux-libc-dev)")
    pairs = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[machine].read_text())
    known = {name: int(number) for name, number in pairs}
    place = [*HEADERS].index(machine)
    ours = {name: numbers[place] for name, numbers in seccomp._CALLS.items()}
    ours |= {name: numbers[place] for name, (numbers, _) in seccomp._OF_OTHERS.items()}
    ours |= {"clone": seccomp._CLONE[place], "clone3": seccomp._CLONE3[place], "socket": seccomp._SOCKET[place]}
    newer = ours.keys() - known.keys()
    assert newer <= {"cachestat", "statmount", "listmount"}  # of Linux 6.5 and 6.8: the headers may be older
    assert {name: ours[name] for name in ours.keys() - newer} == {name: known[name] for name in ours.keys() - newer}


def restricted(code: str, network: bool = False) -> str:
    """What a program prints that has refused itself what no exercise needs."""
    text = f"from course.sandbox import seccomp\nseccomp.restrict(network={network})\n{code}"
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(CODE)})
    return done.stdout + done.stderr[-500:]


REFUSED = """
import ctypes, errno, fcntl, os, resource, socket

libc = ctypes.CDLL(None, use_errno=True)
parent, null = os.getppid(), os.open(os.devnull, os.O_RDONLY)


def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")


for attempt in (
    lambda: call(libc.shmget(4711, 100, 0o1666)),
    lambda: call(libc.semget(4711, 1, 0o1666)),
    lambda: call(libc.msgget(4711, 0o1666)),
    lambda: call(libc.ptrace(0, 0, 0, 0)),
    lambda: call(libc.syscall(447, 0)),  # memfd_secret
    lambda: call(libc.syscall(457, 0, 0, 0, 0)),  # statmount
    lambda: call(libc.unshare(0x10000000)),
    lambda: call(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)),
    lambda: resource.prlimit(parent, resource.RLIMIT_CPU, (1, 1)),
    lambda: os.setpriority(os.PRIO_PROCESS, parent, 7),
    lambda: os.setpriority(os.PRIO_USER, 0, 7),
    lambda: os.sched_setaffinity(parent, {0}),
    lambda: fcntl.flock(null, fcntl.LOCK_SH),
    lambda: fcntl.fcntl(null, 1036, bytes(8)),
    lambda: call(libc.inotify_init1(0)),
    lambda: call(libc.sethostname(b"loot", 4)),
    lambda: os.posix_fadvise(null, 0, 0, os.POSIX_FADV_DONTNEED),
    lambda: socket.socket(),
):
    try:
        attempt()
        print("done")
    except OSError as error:
        print(errno.errorcode[error.errno])
"""


@linux
def test_what_no_exercise_needs_is_refused() -> None:
    assert restricted(REFUSED).split() == ["EPERM"] * 17 + ["EAFNOSUPPORT"]


NEEDED = """
import asyncio, multiprocessing, os, resource, socket, subprocess, threading


async def ends(): return await (await asyncio.create_subprocess_exec("true")).wait()


started = threading.Thread(target=print, args=["thread"], daemon=True)
started.start()
started.join()
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(abs, [-1, 2]))
print(asyncio.run(ends()), subprocess.run(["true"]).returncode, len(socket.socketpair()), os.nice(0) >= 0)
print(resource.prlimit(0, resource.RLIMIT_CPU) == resource.getrlimit(resource.RLIMIT_CPU), socket.socket().family.name)
"""


@linux
def test_what_exercises_need_is_not() -> None:
    assert restricted(NEEDED, network=True).splitlines() == ["thread", "[1, 2]", "0 0 2 True", "True AF_INET"]


LEAVES = """
import os, socket, subprocess, sys
import namespaces

TRIED = {"folder": lambda: os.mkdir("/tmp/box", 0), "shm": lambda: open("/dev/shm/loot", "w").write("x"),
         "process": lambda: subprocess.Popen(["sleep", "600"], start_new_session=True) and None,
         "proc": lambda: open("/proc/self/oom_score_adj", "w").write("5"),
         "first": lambda: open("/proc/1/oom_score_adj", "w").write("5")}
for turn in range(2):
    child = os.fork()
    if not child:
        namespaces.enter(1 << 20)
        kept = [os.listdir("/tmp"), os.listdir("/dev/shm"), os.getpid(), os.getppid()]
        for attempt in TRIED.values():
            try: attempt()
            except OSError as error: kept.append(type(error).__name__)
        caps = [line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "CapPrm"))]
        print(kept, [int(each, 16) for each in caps], flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print(os.listdir("/dev/shm"), "box" in os.listdir("/tmp"))
"""


@pytest.mark.needs("bubblewrap")
def test_forks_share_a_python_that_their_own_tmp_would_cover(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(namespaces, "FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(launch, "interpreter", lambda: [*interpreter, tmp_path / ".venv"])
    interpreter = [Path(sys.base_prefix), Path(sys.prefix)]
    (tmp_path / ".venv").mkdir()
    assert not launch.can_nest.__wrapped__()


@pytest.mark.needs("bubblewrap")
@pytest.mark.skipif(not launch.can_nest(), reason="this kernel makes no namespaces within a sandbox")
def test_two_forks_of_one_process_leave_nothing_for_each_other(tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(LEAVES)
    shutil.copy(namespaces.__file__, tmp_path)
    with launch.process("probe", tmp_path, {}, Limits(), nests=True) as process:
        first, second, last = process.popen.communicate(timeout=300)[0].decode().splitlines()
    assert first == second and last.endswith("False")
    seen, capabilities = re.findall(r"\[.*?\](?= \[|$)", first)
    assert seen.startswith("[[], [], 2, 1") and capabilities == "[0, 0]"


SEARCH = """
def is_found(begin, end):
    for line in open("/proc/self/maps"):
        places, rights, *_ = line.split()
        first, last = (int(each, 16) for each in places.split("-"))
        if rights.startswith("rw") and "[v" not in line:
            with open("/proc/self/mem", "rb", 0) as memory:
                memory.seek(first)
                text = memory.read(last - first)
            place = text.find(begin)
            while place >= 0:
                place += len(begin)
                if text.startswith(end, place):
                    return True
                place = text.find(begin, place)
    return False


assert not is_found(b"the secret of some", b"body else's answer"), "found"
prediction = (12, 1, 4)
"""


@pytest.mark.turns(8)
@pytest.mark.needs("bubblewrap")
@pytest.mark.skipif(not launch.can_nest(), reason="this kernel makes no namespaces within a sandbox")
def test_no_answer_is_in_the_memory_that_the_next_one_inherits(
    course: Course, submission: Callable[..., Any], tmp_path: Path
) -> None:
    """Its two halves are never side by side in the memory of who looks for it."""
    folder = tmp_path / "class"
    folder.mkdir()
    secret = "# the secret of some" + "body else's answer\nprediction = (12, 1, 4)"
    for name, text in {"a": secret, "b": SEARCH, "c": SEARCH}.items():
        nbformat.write(submission(solved=True, predict_strides=text), folder / f"{name}.ipynb")
    report = grade([folder], course, explain=False)
    assert [(result.items[0].status, result.items[0].message) for result in report.submissions] == [("passed", "")] * 3


@pytest.mark.parametrize(
    ("parts", "fail", "expected"),
    [
        ("", [], ""),
        ("a", [], ""),
        ("ab", [], ""),
        ("ab", ["ab"], "ab"),
        ("abc", ["ab", "abc"], "ab"),
        ("abc", ["ab", "bc", "abc"], "abc"),
        ("abc", ["abc"], "abc"),
        ("abcd", ["ab", "abcd"], "ab"),
        ("abcd", ["ab", "cd", "abcd"], "abcd"),
        ("abcde", ["ab", "cde", "abcde"], "abcde"),
    ],
)
def test_parts_that_are_right_alone_earn_if_they_work_together(parts: str, fail: list[str], expected: str) -> None:
    def works(some: Sequence[str]) -> bool:
        return "".join(some) not in fail

    assert "".join(at_odds(parts, works)) == expected
