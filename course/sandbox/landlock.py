"""Starts a program that can read some files, write to one folder, and reach no network, with Linux's Landlock.

`python -I -S landlock.py RULES PROGRAM…`, where RULES is JSON: the files and folders to `read`, those in which the
names can be `list`ed, and those to `write`. It needs no rights and nothing installed, but kernel 5.13; later kernels
refuse more.

Source: https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import json
import os
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on all machines
_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_KNOWN = {1: 13, 2: 14, 3: 15, 5: 16}  # how many rights on files there are, since which version
_NETWORK, _SCOPES = 0b11, 0b11  # no TCP since version 4; no signals to others, no abstract sockets since 6


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("rights", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def version() -> int:
    """What the kernel knows of Landlock; 0 if nothing."""
    if sys.platform != "linux":
        return 0
    return max(0, _syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION))


def restrict(read: list[str], names: list[str], write: list[str]) -> None:
    """Restrict this process, and all that it starts, for good.

    Args:
        read: files and folders that it can read and execute, with all below.
        names: folders of which, and of all below, it can list the names.
        write: folders that it can do everything in.

    Raises:
        OSError: the kernel refuses.
    """
    known = version()
    every = (1 << max(count for since, count in _KNOWN.items() if since <= known)) - 1
    about = _Ruleset(every, _NETWORK if known >= 4 else 0, _SCOPES if known >= 6 else 0)
    size = 8 if known < 4 else 16 if known < 6 else 24
    rules = _checked(_syscall(_CREATE_RULESET, ctypes.byref(about), ctypes.c_size_t(size), 0))
    for paths, rights in ((read, _EXECUTE | _READ_FILE | _READ_DIR), (names, _READ_DIR), (write, every)):
        for path in paths:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            allowed = rights & every & (-1 if os.path.isdir(path) else _OF_FILES)
            rule = _Beneath(allowed, place)
            _checked(_syscall(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(rule), 0))
            os.close(place)
    _checked(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(_syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)


def _syscall(number: int, *arguments: object) -> int:
    result: int = ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
    return result


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


if __name__ == "__main__":
    restrict(**json.loads(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
