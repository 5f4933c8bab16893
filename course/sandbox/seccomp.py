"""Refuse what no exercise asks of the kernel, with Linux's seccomp: for this process and all that it starts, for good.

Refused are what processes could leave for each other (System V and POSIX IPC, keyrings), what reaches into another
process or changes its limits and priority, what marks or watches files that all can read, new namespaces and mounts,
and interfaces of the kernel with a record of faults (io_uring, bpf, userfaultfd, perf events). A refused call fails
with EPERM, as it does without the right to it.

Sources: https://docs.kernel.org/userspace-api/seccomp_filter.html, the numbers from Linux's unistd.h
"""

import ctypes
import errno
import platform
import sys

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # linux/bpf_common.h
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_X32 = 0x40000000  # x86-64's second table of calls, with other numbers
_NAMESPACES = 0x7E020000  # CLONE_NEW…, of those that `clone` takes

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CALLS = {  # by name, the numbers on x86_64 and aarch64
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "shmdt": (67, 197),
    "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192),
    "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "mq_open": (240, 180), "mq_unlink": (241, 181), "mq_timedsend": (242, 182),
    "mq_timedreceive": (243, 183), "mq_notify": (244, 184), "mq_getsetattr": (245, 185),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "pidfd_getfd": (438, 438),
    "migrate_pages": (256, 238), "move_pages": (279, 239), "ioprio_set": (251, 30),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "statmount": (457, 457), "listmount": (458, 458),
    "chroot": (161, 51), "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "fanotify_init": (300, 262),
    "userfaultfd": (323, 282), "bpf": (321, 280), "perf_event_open": (298, 241),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "memfd_secret": (447, 447), "set_mempolicy_home_node": (450, 450), "quotactl_fd": (443, 443),
    "init_module": (175, 105), "finit_module": (313, 273), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "syslog": (103, 116), "personality": (135, 92), "quotactl": (179, 60), "acct": (163, 89), "reboot": (169, 142),
    "sethostname": (170, 161), "setdomainname": (171, 162), "swapon": (167, 224), "swapoff": (168, 225),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "delete_module": (176, 106), "vhangup": (153, 58),
    # What files that all can read would tell another run: locks, events, which of their pages are in memory.
    "flock": (73, 32), "inotify_init1": (294, 26), "mincore": (27, 232), "fadvise64": (221, 223),
    "readahead": (187, 213), "preadv2": (327, 286), "cachestat": (451, 451),
}  # fmt: skip
_OF_OTHERS = {  # refused unless these arguments are 0, which means the process itself
    "prlimit64": ((302, 261), [0]),
    "setpriority": ((141, 140), [0, 1]),
    "sched_setaffinity": ((203, 122), [0]),
    "sched_setscheduler": ((144, 119), [0]),
    "sched_setparam": ((142, 118), [0]),
    "sched_setattr": ((314, 274), [0]),
}
_CLONE, _CLONE3, _SOCKET, _INOTIFY_INIT = (56, 220), (435, 435), (41, 198), 253  # the last on x86-64 alone
_WITH_VALUES = {  # refused if this argument is one of these
    "fcntl": ((72, 25), 1, (6, 7, 37, 38, 1024, 1026, 1036, 1038)),  # locks, leases, events, hints on a file's use
    "madvise": ((28, 233), 2, (20, 21)),  # MADV_COLD, MADV_PAGEOUT
    # Pairs that can send to another address: datagrams, with or without SOCK_CLOEXEC and SOCK_NONBLOCK.
    "socketpair": ((53, 199), 1, tuple(kind | flags for kind in (2, 3) for flags in (0, 0x80000, 0x800, 0x80800))),
}
_FAMILIES = {True: (1, 2, 10, 16), False: ()}  # of sockets: the machine's own, IPv4, IPv6 and netlink

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, value


class _Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("value", ctypes.c_uint32)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction))]


def available() -> bool:
    """Whether the numbers of this machine's system calls are known here."""
    return sys.platform == "linux" and platform.machine() in _ARCHITECTURES


def restrict(network: bool = True) -> None:
    """Refuse the calls from now on.

    Args:
        network: allow sockets. In namespaces of their own they reach nothing; elsewhere they reach whatever listens on
            this machine, so only pairs are left.

    Raises:
        OSError: the kernel has no seccomp.
    """
    program = _program(network)
    instructions = (_Instruction * len(program))(*(_Instruction(*each) for each in program))
    about = _Program(len(program), instructions)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(about), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def _program(network: bool) -> list[Instruction]:
    """The filter, in the kernel's own instructions: jumps count the instructions that are skipped."""
    here = list(_ARCHITECTURES).index(platform.machine())
    refuse = _failing(errno.EPERM)
    program = [(_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_EQUAL, 1, 0, _ARCHITECTURES[platform.machine()]), refuse]
    program += [(_LOAD, 0, 0, _NUMBER)]
    if platform.machine() == "x86_64":
        program += [(_JUMP_AT_LEAST, 0, 1, _X32), _failing(errno.ENOSYS), *_of(_INOTIFY_INIT, [refuse])]
    for numbers in _CALLS.values():
        program += _of(numbers[here], [refuse])
    program += _of(_CLONE3[here], [_failing(errno.ENOSYS)])  # its flags lie in memory; the C library then uses `clone`
    program += _of(_CLONE[here], [_argument(0), (_JUMP_ANY_BIT, 0, 1, _NAMESPACES), refuse, _RETURN_ALLOW])
    families, other = _FAMILIES[network], _failing(errno.EAFNOSUPPORT)
    allowed = [(_JUMP_EQUAL, len(families) - place, 0, each) for place, each in enumerate(families)]
    program += _of(_SOCKET[here], [_argument(0), *allowed, other, _RETURN_ALLOW])
    for numbers, place, values in _WITH_VALUES.values():
        tests = [each for value in values for each in ((_JUMP_EQUAL, 0, 1, value), refuse)]
        program += _of(numbers[here], [_argument(place), *tests, _RETURN_ALLOW])
    for numbers, places in _OF_OTHERS.values():
        tests = [each for place in places for each in (_argument(place), (_JUMP_EQUAL, 1, 0, 0), refuse)]
        program += _of(numbers[here], [*tests, _RETURN_ALLOW])
    return [*program, _RETURN_ALLOW]


_RETURN_ALLOW: Instruction = (_RETURN, 0, 0, _ALLOW)


def _failing(error: int) -> Instruction:
    return (_RETURN, 0, 0, _FAIL | error)


def _argument(place: int) -> Instruction:
    """Load the lower half of an argument: these are all numbers of 32 bits."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * place)


def _of(number: int, instructions: list[Instruction]) -> list[Instruction]:
    """What is done for one call alone; every way through it ends with a return."""
    return [(_JUMP_EQUAL, 0, len(instructions), number), *instructions]
