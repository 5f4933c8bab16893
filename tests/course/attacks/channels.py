"""Ways to leave a mark for code that runs later, or elsewhere at the same time: in a sandbox, this file's text runs.

A channel leaves a mark and looks for one. What carries a mark carries a text, so that one exercise, which is given the
reference of another's parts, can hand it on.
"""

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator

MARK = 4711
LOOT = b"the reference of another exercise"
CHANNELS: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {}
"""By name: what leaves a mark, and what says whether there is one. Either may raise an OSError instead."""
KEPT: list[object] = []  # what must stay open
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p


def done(result: int) -> int:
    """The result of a call of the C library.

    Raises:
        OSError: it says that it failed.
    """
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def channel(name: str, leave: Callable[[], object], look: Callable[[], object]) -> None:
    """Enter a channel into the table."""
    CHANNELS[name] = (leave, look)


# Files, and folders that a cleaner cannot list


def put(path: str, mode: int) -> None:
    """Write the loot into a folder, and give the folder this mode."""
    os.makedirs(path, exist_ok=True)
    with open(f"{path}/loot", "wb") as file:
        file.write(LOOT)
    os.chmod(path, mode)


def has(path: str) -> bool:
    """Whether the loot lies in a folder, whatever its mode."""
    if os.path.isdir(path):
        os.chmod(path, 0o700)
    return os.path.exists(f"{path}/loot")


for place in ("/tmp", "/dev/shm", "/dev/mqueue", "/var/tmp", "/run", os.getcwd()):
    for mode in (0o700, 0):
        folder = f"{place}/box{mode:o}"
        channel(f"{mode or 'closed'} folder in {place}", lambda f=folder, m=mode: put(f, m), lambda f=folder: has(f))  # type: ignore[misc]


# What the kernel keeps for a namespace of IPC or a user


def segment(size: int) -> int:
    """The address of a shared segment of this size."""
    return done(libc.shmat(done(libc.shmget(MARK, size, 0o1666 if size else 0o666)), None, 0) or 0)


def semaphores(count: int) -> int:
    """The number of a set of so many semaphores."""
    return done(libc.semget(MARK, count, 0o1666 if count else 0o666))


def queue(name: bytes, flags: int) -> int:
    """A POSIX message queue."""
    return done(libc.mq_open(name, flags, 0o666, None))


SYSTEM_V_QUEUE = struct.pack("l64s", 1, LOOT)
channel(
    "shared segment",
    lambda: ctypes.memmove(segment(4096), LOOT, len(LOOT)),
    lambda: ctypes.string_at(segment(0), len(LOOT)) == LOOT,
)
channel(
    "semaphores",
    lambda: done(libc.semctl(semaphores(9), 7, 16, MARK)),
    lambda: libc.semctl(semaphores(0), 7, 12) == MARK,
)
channel(
    "message queue",
    lambda: done(libc.msgsnd(done(libc.msgget(MARK, 0o1666)), SYSTEM_V_QUEUE, 64, 0)),
    lambda: done(libc.msgget(MARK, 0o666)) >= 0,
)
channel("POSIX message queue", lambda: queue(b"/loot", 0o102), lambda: queue(b"/loot", 2) >= 0)
ADD_KEY, KEYCTL, SEARCH = {"x86_64": (248, 250, 10)}.get(os.uname().machine, (217, 219, 10))
for name, keyring in (("session", -3), ("user", -4), ("user session", -5)):
    channel(
        f"keyring of the {name}",
        lambda k=keyring: done(libc.syscall(ADD_KEY, b"user", b"loot", LOOT, len(LOOT), k)),  # type: ignore[misc]
        lambda k=keyring: done(libc.syscall(KEYCTL, SEARCH, k, b"user", b"loot", 0)) > 0,  # type: ignore[misc]
    )


# Other processes: what they may use, what is written of them, and those that stay behind


def others() -> Iterator[int]:
    """Processes that ran before this one, as far as they can be seen."""
    seen = {int(name) for name in os.listdir("/proc") if name.isdigit()} if os.access("/proc", os.R_OK) else set()
    yield from sorted({os.getppid(), 1, *seen} - {os.getpid(), 0})


def to_others(act: Callable[[int], object]) -> None:
    """Do this to all of them.

    Raises:
        OSError: it failed with each.
    """
    errors = []
    for process in others():
        try:
            act(process)
        except OSError as error:
            errors.append(error)
    if len(errors) == len(list(others())):
        raise errors[0]


def of_others(look: Callable[[int], bool]) -> bool:
    """Whether this is so for one of them."""
    found = False
    for process in others():
        try:
            found = found or look(process)
        except OSError:
            continue
    return found


def written(process: int, name: str, text: str) -> None:
    """Write into a file of `/proc` about a process."""
    with open(f"/proc/{process}/{name}", "w") as file:
        file.write(text)


def read(process: int, name: str) -> str:
    """What a file of `/proc` says about a process."""
    with open(f"/proc/{process}/{name}") as file:
        return file.read().strip()


FILES, FEW = resource.RLIMIT_MSGQUEUE, (MARK, MARK)
channel(
    "limits of others",
    lambda: to_others(lambda process: resource.prlimit(process, FILES, FEW)),
    lambda: resource.getrlimit(FILES) == FEW or of_others(lambda process: resource.prlimit(process, FILES) == FEW),
)
channel(
    "priority of others",
    lambda: to_others(lambda process: os.setpriority(os.PRIO_PROCESS, process, 7)),
    lambda: of_others(lambda process: os.getpriority(os.PRIO_PROCESS, process) == 7) or os.getpriority(0, 0) == 7,
)
channel(
    "processors of others",
    lambda: to_others(lambda process: os.sched_setaffinity(process, {0})),
    lambda: len(os.sched_getaffinity(0)) == 1 or of_others(lambda process: len(os.sched_getaffinity(process)) == 1),
)
channel(
    "scheduler of others",
    lambda: to_others(lambda process: os.sched_setscheduler(process, os.SCHED_BATCH, os.sched_param(0))),
    lambda: of_others(lambda process: os.sched_getscheduler(process) == os.SCHED_BATCH),
)
for name, text in (("oom_score_adj", "77"), ("coredump_filter", "00000007")):
    channel(
        f"{name} of others",
        lambda n=name, t=text: to_others(lambda process: written(process, n, t)),  # type: ignore[misc]
        lambda n=name, t=text: of_others(lambda process: read(process, n) == t),  # type: ignore[misc]
    )


def serve(family: int, address: object) -> None:
    """Leave a process that gives the loot to whoever connects.

    Raises:
        PermissionError: it cannot.
    """
    ready, tell = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                server = socket.socket(family)
                server.bind(address)  # type: ignore[arg-type]
                server.listen()
                os.write(tell, b"ready")
                for _ in range(9):
                    server.accept()[0].send(LOOT)
            finally:
                os._exit(0)
        os._exit(0)
    os.close(tell)
    if not os.read(ready, 5):
        raise PermissionError


def asked(family: int, address: object) -> bool:
    """What a process that was left gives."""
    with socket.socket(family) as client:
        client.settimeout(10)
        client.connect(address)  # type: ignore[arg-type]
        return client.recv(64) == LOOT


for name, kind, at in (
    ("abstract socket", socket.AF_UNIX, "\0loot"),
    ("TCP port", socket.AF_INET, ("127.0.0.1", MARK)),
    ("socket in /tmp", socket.AF_UNIX, "/tmp/socket"),
):
    channel(name, lambda k=kind, a=at: serve(k, a), lambda k=kind, a=at: asked(k, a))  # type: ignore[misc]


# What is open already, and files that everybody reads


def inherited() -> Iterator[int]:
    """The descriptors that this process began with."""
    for number in range(32):
        try:
            fcntl.fcntl(number, fcntl.F_GETFD)
        except OSError:
            continue
        yield number


def shared() -> str:
    """A file that every sandbox of the same kind reads; it is of the grader's user."""
    return str(sys.modules["course.check"].__file__)


def held(number: int) -> bool:
    """Whether somebody else holds a lock on this file."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(number, fcntl.LOCK_UN)
    return False


def lock(number: int, path: str) -> None:
    """Lock a file for good.

    Raises:
        PermissionError: the lock only seems to be there.
    """
    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if not held(opened(path)):
        raise PermissionError


def opened(path: str) -> int:
    """A descriptor of a file, which stays open."""
    KEPT.append(open(path, "rb"))  # noqa: SIM115
    return KEPT[-1].fileno()  # type: ignore[attr-defined, no-any-return]


channel(
    "flags of what is open",
    lambda: [fcntl.fcntl(number, fcntl.F_SETFL, os.O_APPEND) for number in BEGAN_WITH],
    lambda: any(fcntl.fcntl(number, fcntl.F_GETFL) & os.O_APPEND for number in BEGAN_WITH),
)
channel(
    "signals of what is open",
    lambda: [fcntl.fcntl(number, fcntl.F_SETSIG, signal.SIGUSR1) for number in BEGAN_WITH],
    lambda: any(fcntl.fcntl(number, fcntl.F_GETSIG) == signal.SIGUSR1 for number in BEGAN_WITH),
)
channel("lock of what is open", lambda: lock(BEGAN_WITH[0], os.devnull), lambda: held(opened(os.devnull)))
channel("lock of what all read", lambda: lock(opened(shared()), shared()), lambda: held(opened(shared())))
SET_HINT, GET_HINT, SHORT = 1036, 1035, 2  # linux/fcntl.h
channel(
    "hint about a file that all read",
    lambda: fcntl.fcntl(opened(shared()), SET_HINT, struct.pack("Q", SHORT)),
    lambda: struct.unpack("Q", fcntl.fcntl(opened(shared()), GET_HINT, bytes(8))) == (SHORT,),
)
BEGAN_WITH = list(inherited())


def report() -> str:
    """The channels in which there is a mark, those that refuse one, and those in which one is not even seen here."""
    before = found()
    refused = []
    for name, (leave, _) in CHANNELS.items():
        try:
            leave()
        except OSError:
            refused.append(name)
    seen = found()
    blind = [name for name in CHANNELS if name not in (*seen, *refused)]
    return f"found {before}, blind {blind}"


def found() -> list[str]:
    """The channels in which there is a mark."""
    names = []
    for name, (_, look) in CHANNELS.items():
        try:
            names += [name] if look() else []
        except OSError:
            continue
    return names
