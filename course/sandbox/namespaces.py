"""A world of its own for each run: a fork of a warm process that has nothing to write to in common with it, or others.

The new process has namespaces of its own for users, processes, IPC, mounts and network. Its `/tmp` and `/dev/shm` are
new and empty, all its processes end with it, and it has no capability in the end. It needs no rights to begin with,
but a kernel that lets ordinary users make user namespaces.

Run as a program, it tries this and says with its exit code whether it works.

Source: https://man7.org/linux/man-pages/man7/user_namespaces.7.html
"""

import ctypes
import os
import signal
import socket
import struct
import sys

_NEW_MOUNTS, _NEW_IPC, _NEW_USERS, _NEW_PROCESSES, _NEW_NETWORK = 0x20000, 1 << 27, 1 << 28, 1 << 29, 1 << 30
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_PROGRAMS, _REMOUNT, _BIND = 1, 2, 4, 8, 32, 4096
_SIOCSIFFLAGS, _UP_AND_RUNNING = 0x8914, 0x41  # linux/sockios.h, linux/if.h
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_CAPABILITIES_3 = 0x20080522  # linux/capability.h
FOLDERS = ("/tmp", "/dev/shm")
"""What is new and empty in each run."""


def enter(bytes_each: int) -> None:
    """Go on in a new world; call it in a fork. What called it waits, and ends when this process has ended.

    Args:
        bytes_each: how much each of the new folders holds.

    Raises:
        OSError: the kernel refuses.
    """
    warm, user, group = os.getppid(), os.getuid(), os.getgid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _checked(_libc.unshare(_NEW_USERS | _NEW_MOUNTS | _NEW_IPC | _NEW_PROCESSES | _NEW_NETWORK))
    _prctl(_PR_SET_DUMPABLE, 1)  # else /proc/self is not this process's to write
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    outside = (1, warm, os.getpid())
    _go_on_in_a_child()
    _mount_folders(bytes_each)
    _mount_processes(outside)
    _start_loopback()
    _go_on_in_a_child()  # the first process of a namespace hears no signals but those it asked for
    drop_capabilities()


def _go_on_in_a_child() -> None:
    """Fork; the parent waits for this child, and then ends."""
    child = os.fork()
    if child:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one signal that Python hears unasked
        while os.wait()[0] != child:  # the first process also inherits what others leave behind
            pass
        os._exit(0)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _mount_folders(bytes_each: int) -> None:
    for folder in FOLDERS:
        _mount("tmpfs", folder, "tmpfs", _NO_SUID | _NO_DEVICES, f"size={bytes_each},mode=1777")


def _mount_processes(outside: tuple[int, ...]) -> None:
    """Show the processes of this run alone.

    The kernel refuses that where a part of `/proc` is covered, as it is in bubblewrap started by root. There the old
    one stays, in which nothing can be written, and the processes `outside` have nothing in it.
    """
    plain = _NO_SUID | _NO_DEVICES | _NO_PROGRAMS
    try:
        _mount("proc", "/proc", "proc", plain | _READ_ONLY)
    except PermissionError:
        for process in outside:
            _mount("tmpfs", f"/proc/{process}", "tmpfs", plain | _READ_ONLY, "size=4096")
        _mount(None, "/proc", None, plain | _READ_ONLY | _REMOUNT | _BIND)


def _start_loopback() -> None:
    """Bring up the network that a machine has by itself."""
    import fcntl  # there is none on Windows, where this module is imported all the same

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _UP_AND_RUNNING))


def drop_capabilities() -> None:
    """Give up root's rights, or those that a process has in its own namespaces."""
    header, nothing = struct.pack("Ii", _CAPABILITIES_3, 0), bytes(24)
    _checked(_libc.capset(header, nothing))


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str = "") -> None:
    texts = [text.encode() if text is not None else None for text in (source, target, kind)]
    _checked(_libc.mount(*texts, ctypes.c_ulong(flags), options.encode()))


def _prctl(option: int, value: int) -> None:
    _checked(_libc.prctl(option, value, 0, 0, 0))


def _checked(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if sys.platform == "linux":
    _libc = ctypes.CDLL(None, use_errno=True)

if __name__ == "__main__":
    attempt = os.fork()
    if attempt == 0:
        try:
            enter(1 << 12)
        except OSError:
            os._exit(1)
        os._exit(0)
    sys.exit(os.waitpid(attempt, 0)[1] != 0)
