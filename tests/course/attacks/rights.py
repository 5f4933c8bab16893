"""System calls that no exercise needs, and that reach others or have a record of faults: this text runs in a cell.

Each attempt either raises an OSError, or was granted.
"""

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
from collections.abc import Callable

libc = ctypes.CDLL(None, use_errno=True)
IS_ARM = os.uname().machine == "aarch64"
OWN = b"a user's own memory, large enough for any structure".ljust(256, b"\0")
ATTEMPTS: dict[str, Callable[[], object]] = {}


def call(numbers: tuple[int, int], *arguments: object) -> int:
    """A system call, by its numbers on x86-64 and aarch64.

    Raises:
        OSError: it failed.
    """
    result = libc.syscall(numbers[IS_ARM], *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def attempt(name: str, numbers: tuple[int, int], *arguments: object) -> None:
    """Enter a system call into the table."""
    ATTEMPTS[name] = lambda: call(numbers, *arguments)


def in_a_child(act: Callable[[], object]) -> None:
    """Do this in a fork, since it would change this process.

    Raises:
        PermissionError: it was refused.
    """
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise PermissionError


NAMESPACES = {
    "mounts": 0x20000,
    "IPC": 1 << 27,
    "users": 1 << 28,
    "processes": 1 << 29,
    "network": 1 << 30,
    "time": 128,
}
for name, flag in NAMESPACES.items():
    ATTEMPTS[f"unshare {name}"] = lambda flag=flag: in_a_child(lambda: call((272, 97), flag))  # type: ignore[misc]


def clone(flags: int) -> None:
    """Clone this process into new namespaces.

    Raises:
        OSError: that is refused.
    """
    child = call((56, 220), flags | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def clone3(flags: int) -> None:
    """The same with the newer call, whose flags no filter can read.

    Raises:
        OSError: that is refused.
    """
    child = call((435, 435), struct.pack("QQQQQQQQ", flags, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def joins(name: str) -> None:
    """Join a namespace of the process that serves.

    Raises:
        OSError: that is refused.
    """
    with open(f"/proc/{os.getppid()}/ns/{name}", "rb") as file:
        call((308, 268), file.fileno(), 0)


def writes(path: str, text: str = "0") -> Callable[[], object]:
    """An attempt to write into a file of the kernel's."""

    def write() -> None:
        with open(path, "w") as file:
            file.write(text)

    return write


ATTEMPTS |= {
    "clone users": lambda: clone(1 << 28),
    "clone users and mounts": lambda: clone(1 << 28 | 0x20000),
    "clone3 users": lambda: clone3(1 << 28),
    "clone3 mounts": lambda: clone3(0x20000),
    **{f"setns {name}": lambda name=name: in_a_child(lambda: joins(name)) for name in ("mnt", "user", "ipc", "net")},  # type: ignore[misc]
}
attempt("mount", (165, 40), b"none", b"/tmp", b"tmpfs", 0, None)
attempt("bind mount", (165, 40), b"/usr", b"/tmp", None, 4096, None)
attempt("remount", (165, 40), None, b"/", None, 32 | 4096, None)
attempt("umount", (166, 39), b"/tmp", 2)
attempt("umount /proc", (166, 39), b"/proc", 2)
attempt("pivot_root", (155, 41), b"/tmp", b"/tmp")
attempt("chroot", (161, 51), b"/")
attempt("fsopen", (430, 430), b"tmpfs", 0)
attempt("open_tree", (428, 428), -100, b"/", 1)
attempt("mount_setattr", (442, 442), -100, b"/", 0, OWN, 32)
attempt("ptrace the parent", (101, 117), 16, os.getppid(), 0, 0)
attempt("seize the parent", (101, 117), 0x4206, os.getppid(), 0, 0)
attempt("process_vm_readv", (310, 270), os.getppid(), OWN, 0, OWN, 0, 0)
attempt("process_vm_writev", (311, 271), os.getppid(), OWN, 0, OWN, 0, 0)
attempt("kcmp", (312, 272), os.getpid(), os.getppid(), 2, 0, 0)
attempt("pidfd_getfd", (438, 438), 3, 0, 0)
attempt("open_by_handle_at", (304, 265), 3, OWN, 0)
attempt("io_uring_setup", (425, 425), 1, ctypes.create_string_buffer(256))
attempt("bpf", (321, 280), 0, struct.pack("IIII", 2, 4, 8, 1).ljust(120, b"\0"), 120)
attempt("perf_event_open", (298, 241), struct.pack("IIQ", 1, 112, 0).ljust(112, b"\0"), 0, -1, -1, 0)
attempt("userfaultfd", (323, 282), 1)
attempt("add_key", (248, 217), b"user", b"x", b"x", 1, -4)
attempt("keyctl", (250, 219), 0, -3, 1)
attempt("request_key", (249, 218), b"user", b"x", None, -4)
attempt("kexec_load", (246, 104), 0, 0, None, 0)
attempt("init_module", (175, 105), OWN, 256, b"")
attempt("delete_module", (176, 106), b"nothing", 0)
attempt("kernel's log", (103, 116), 10, None, 0)
attempt("personality", (135, 92), 0x40000)
attempt("quotactl", (179, 60), 0x80000100, None, 0, OWN)
attempt("acct", (163, 89), None)
attempt("swapoff", (168, 225), b"/nothing")
attempt("inotify_init1", (294, 26), 0)
attempt("fanotify_init", (300, 262), 0x200, 0)
attempt("posix_fadvise that forgets", (221, 223), os.open(os.__file__, os.O_RDONLY), 0, 0, 4)
attempt("mincore", (27, 232), 0x10000, 0, OWN)
attempt("move_pages", (279, 239), os.getppid(), 0, None, None, None, 0)
attempt("clock_settime", (227, 112), 9999, OWN)
attempt("adjtimex", (159, 171), struct.pack("I", 0x8000).ljust(256, b"\0"))
attempt("seccomp listener", (317, 277), 1, 8, OWN)
attempt("set the host's name", (170, 161), socket.gethostname().encode(), len(socket.gethostname()))
attempt("set the domain's name", (171, 162), b"(none)", 6)
if not IS_ARM:
    attempt("iopl", (172, 0), 3)
    attempt("the table of x32", (0x40000000 + 39, 0))
ATTEMPTS |= {
    "page cache": lambda: os.preadv(os.open(os.__file__, os.O_RDONLY), [bytearray(1)], 0, os.RWF_NOWAIT),
    "device": lambda: os.mknod("/tmp/device", 0o20666, os.makedev(1, 1)),
    "disk": lambda: os.mknod("/tmp/disk", 0o60666, os.makedev(254, 0)),
    "user": lambda: os.setuid(4711),
    "groups": lambda: os.setgroups([4711]),
    "raised limit": lambda: resource.setrlimit(resource.RLIMIT_CORE, (1, 1)),
    "limit of the parent": lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0)),
    "limit of the first": lambda: resource.prlimit(1, resource.RLIMIT_CORE, (0, 0)),
    "priority of all of the user": lambda: os.setpriority(os.PRIO_USER, 0, 19),
    "a better priority": lambda: os.setpriority(os.PRIO_PROCESS, 0, -5),
    "real time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    "scheduler of the parent": lambda: os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0)),
    "processors of the parent": lambda: os.sched_setaffinity(os.getppid(), {0}),
    "raw socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "packet socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "netlink socket": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9).bind((0, 1)),
    "kernel's ciphers": lambda: socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET).bind(("hash", "sha256")),
    "virtual sockets": lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM),
    "setting of the kernel": writes("/proc/sys/kernel/core_pattern", "core"),
    "setting of IPC": writes("/proc/sys/kernel/shmmax"),
    "setting of namespaces": writes("/proc/sys/user/max_user_namespaces", "1000"),
    "control group": writes("/sys/fs/cgroup/memory/memory.limit_in_bytes", "-1"),
    "memory of the parent": writes(f"/proc/{os.getppid()}/mem"),
    "memory of the first": writes("/proc/1/mem"),
    "rights of the parent": writes(f"/proc/{os.getppid()}/oom_score_adj"),
    "own map of users": writes("/proc/self/uid_map", "0 0 1"),
    "sysrq": writes("/proc/sysrq-trigger", "h"),
    "terminal": lambda: fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), 0x5412, b"x"),
    "hint about a file": lambda: fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), 1036, struct.pack("Q", 0)),
    "lease": lambda: fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_UNLCK),
    "notices about a folder": lambda: fcntl.fcntl(os.open("/usr", os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS),
}


def granted() -> list[str]:
    """The attempts that raised nothing."""
    names = []
    for name, act in ATTEMPTS.items():
        try:
            act()
        except (OSError, ValueError):  # that is how Python says it of a limit
            continue
        names.append(name)
    return names
