"""The class is lost: the grader is stopped, starved or filled, or a trap is laid for whoever comes next."""

from tests.course.attacks.target import Target, anything, variants

LIMITS = "limits of processes, memory, disk and file size for all processes of a submission together"
DEADLINE = "a deadline for each cell, which the judge holds and ends by killing everything"
ALONE = "a process sees and reaches no other than its own"
READ_ONLY = "nothing that outlives the sandbox can be written"
ESCAPED = "what a learner's code says is cut, and shown with its control characters as escapes"
SMALL = "the judge reads lines of limited length, and only as it asks for them"


@variants(
    DEADLINE,
    anything,
    deaf_loop="""
import signal
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    try:
        while True: print("x" * 1000)
    except BaseException: pass""",
    text_without_end="""
import time
class Endless(Exception):
    def __str__(self):
        while True: time.sleep(1)
raise Endless""",
    exit_without_end="""
import atexit, os, threading, time
atexit.register(time.sleep, 10_000)
threading.Thread(target=time.sleep, args=(10_000,)).start()
raise SystemExit""",
    parent_stopped="import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nsignal.pause()",
)
def stays(target: Target, text: str) -> str:
    return text


@variants(
    ALONE,
    anything,
    itself="import os\nos._exit(0)",
    by_a_crash="import ctypes\nctypes.string_at(0)",
    its_parent="import os, signal\nos.kill(os.getppid(), 9)\nsignal.pause()",
    its_group="import os\nos.killpg(0, 9)",
    every_process="import os, signal\nos.kill(-1, 9)\nsignal.pause()",
    every_python="""
import os, signal
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        try:
            os.kill(int(name), signal.SIGKILL)
        except OSError:
            pass""",
    its_descriptors="import os\nos.closerange(0, 1000)",
    the_tracer="""
import ctypes, os, signal
for process in (os.getppid(), 1):
    ctypes.CDLL(None).ptrace(16, process, 0, 0)  # PTRACE_ATTACH stops it
signal.pause()""",
)
def kills(target: Target, text: str) -> str:
    return text


@variants(
    LIMITS,
    anything,
    processes="""
import os, time
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: time.sleep(0.1)""",
    memory="""
import os
for _ in range(8):
    os.fork()
blocks = []
while True: blocks.append(bytearray(os.urandom(1 << 20)) * 64)""",
    disk="""
import os
for place in ("/tmp", "/dev/shm", "/var/tmp", os.getcwd(), os.path.expanduser("~")):
    try:
        for number in range(100):
            with open(f"{place}/{number}", "wb") as file:
                for _ in range(64): file.write(bytes(1 << 20))
    except OSError: pass""",
    raised_limits="""
import resource
for kind in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE):
    try:
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (OSError, ValueError): pass
blocks = []
while True: blocks.append(bytearray(1 << 30))""",
)
def fills(target: Target, text: str) -> str:
    return text


@variants(
    SMALL,
    anything,
    of_results="""
import os
block = b"x" * (1 << 20)
while True:
    for name in os.listdir("/proc/self/fd"):
        try: os.write(int(name), block)
        except OSError: pass""",
    of_messages="raise ValueError('x' * 300_000_000)",
    of_text="import sys\nfor _ in range(300): print('x' * 1_000_000); sys.stderr.write('y' * 1_000_000)\n1 / 0",
)
def floods(target: Target, text: str) -> str:
    return text


@variants(
    ESCAPED,
    anything,
    control="raise ValueError('\\x1b[2J\\x1b]0;owned\\x07\\r\\x00\\u202eright\\u2066')",
    surrogate="raise ValueError('\\ud800' * 10)",
    markup="raise ValueError('[bold]passed[/] <script>alert(1)</script> =1+1')",
)
def says(target: Target, text: str) -> str:
    return text


TRAP = "import os\nos.environ['TRAPPED'] = '1'\nraise SystemExit('trapped')"


@variants(
    READ_ONLY,
    anything,
    beside_the_notebook="places = ['.', '/tmp', 'CLASS', '/', os.path.expanduser('~')]",
    in_the_packages="places = list(sys.path)",
    in_site_packages="import sysconfig\nplaces = [sysconfig.get_path('purelib'), sysconfig.get_path('platlib')]",
    in_the_course="places = [os.path.dirname(check_module.__file__)]",
    in_the_repository="places = ['REPOSITORY', 'REPOSITORY/course', 'REPOSITORY/solutions', 'REPOSITORY/my']",
    in_ipython="""
startup = 'profile_default/startup'
places = [os.path.expanduser(f'~/.ipython/{startup}'), f'/tmp/ipython/{startup}', f'/tmp/.ipython/{startup}']""",
    in_the_parents_folder="""
import glob
places = glob.glob('/proc/[0-9]*/cwd') + glob.glob('/proc/[0-9]*/root/tmp/grade-*') + glob.glob('/tmp/course-*')""",
)
def plants(target: Target, text: str) -> str:
    """Files that Python, pytest or IPython run when they start; the next learner's process would be trapped."""
    return f"""
import os, sys
import course.check as check_module
{text}
for place in places:
    for name in ("conftest.py", "sitecustomize.py", "usercustomize.py", "numpy.py", "trap.pth", "00.py"):
        try:
            os.makedirs(place, exist_ok=True)
            with open(os.path.join(place, name), "w") as file:
                file.write({TRAP!r} if name != "trap.pth" else "import os; os._exit(9)")
        except OSError:
            pass
"""


@variants(
    READ_ONLY,
    anything,
    its_home="shutil.rmtree(os.path.expanduser('~'), ignore_errors=True)",
    the_class="shutil.rmtree('CLASS', ignore_errors=True)",
    the_repository="shutil.rmtree('REPOSITORY/solutions-of-nobody', ignore_errors=True)",
    temporary_files="shutil.rmtree('/tmp', ignore_errors=True)\nshutil.rmtree('/dev/shm', ignore_errors=True)",
)
def removes(target: Target, text: str) -> str:
    return f"import os, shutil\n{text}\n"
