"""What code in the sandbox sees, what it may use, and that nothing of it stays behind."""

import os
import site
import socket
import subprocess
import sys
import threading
import uuid
import venv
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from course.files import CODE
from course.sandbox import launch
from course.sandbox.launch import Limits, cgroup, landlock

pytestmark = pytest.mark.skipif(os.name == "nt", reason="resource limits are POSIX's")

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a module of this text in the sandbox; what it prints."""

    def run(code: str, limits: Limits | None = None, **variables: str) -> str:
        packages = tmp_path / "packages"
        packages.mkdir(exist_ok=True)
        (packages / "probe.py").write_text(code)
        with launch.process("probe", packages, variables, limits or Limits()) as process:
            printed = process.popen.communicate(timeout=300)[0].decode()
            return printed + (f"code {process.popen.returncode}" if process.popen.returncode else "")

    return run


@pytest.fixture
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "has_bubblewrap", lambda: False)


@pytest.fixture
def without_control_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "_places", lambda *limits: [])


ATTEMPTS = """
import os, pathlib, socket, subprocess

for attempt in (
    lambda: pathlib.Path("/usr/new").write_text("x"),
    lambda: pathlib.Path("/new").write_text("x"),
    lambda: pathlib.Path("/dev/new").write_text("x"),
    lambda: pathlib.Path("/course/new").write_text("x"),
    lambda: socket.create_connection(("1.1.1.1", 53), 1),
    lambda: os.kill(PROCESS, 0),
    lambda: os.setuid(0),
    lambda: subprocess.run(["mount", "-t", "tmpfs", "none", "/tmp"], check=True, capture_output=True),
    lambda: subprocess.run(["unshare", "-Ur", "true"], check=True, capture_output=True),
):
    try:
        print("done", attempt())
    except (OSError, subprocess.CalledProcessError) as error:
        print(type(error).__name__)
"""


@pytest.mark.needs("bubblewrap")
def test_nothing_can_be_written_reached_or_become(run: Run) -> None:
    assert run(ATTEMPTS.replace("PROCESS", str(os.getpid()))).split() == [
        "OSError", "OSError", "OSError", "OSError", "OSError", "ProcessLookupError", "OSError",
        "CalledProcessError", "CalledProcessError",
    ]  # fmt: skip


@pytest.mark.needs("bubblewrap")
def test_what_can_be_seen(run: Run, tmp_path: Path) -> None:
    hidden = [str(path) for path in (tmp_path, Path.home() / ".cache", Path("/var"), Path("/run"), Path("/etc/passwd"))]
    hidden += [str(CODE / name) for name in ("course", "solutions", "chapters", "exercises", ".git", "my")]
    code = f"""
import os
seen = [name for name in os.listdir("/tmp") if name not in {CODE.parts!r}]  # the interpreter may lie there
print(seen, os.getcwd(), os.listdir("/course"), os.getuid())
print(os.path.isdir("/usr"), [path for path in {hidden} if os.path.exists(path)])
print(len([name for name in os.listdir("/proc") if name.isdigit()]))
"""
    assert run(code).splitlines() == ["[] /tmp ['probe.py'] 65534", "True []", "2"]


@pytest.mark.needs("bubblewrap", "torch")
def test_an_installed_torch_is_not_there(run: Run) -> None:
    assert run("import importlib.util as u; import torch; print(torch.__file__)") == "None\n"


GRADER = """
import pathlib, sys
from course.sandbox import launch
if sys.argv[2] == "without":
    launch.has_bubblewrap = lambda: False
with launch.process("probe", pathlib.Path(sys.argv[1]), {}, launch.Limits()) as process:
    print(process.popen.communicate(timeout=300)[0].decode())
"""
FINDS = """
import glob, sys
def read(path):
    try:
        return open(path).read()
    except OSError:
        return ""
files = glob.glob(sys.prefix + "/lib/python3*/site-packages/**", recursive=True)
print([text for text in map(read, files) if text])
"""


@pytest.mark.parametrize(
    "bubblewrap",
    [
        pytest.param("with", marks=pytest.mark.needs("bubblewrap")),
        pytest.param("without", marks=pytest.mark.skipif(not launch.has_landlock(), reason="no Landlock here")),
    ],
)
def test_a_wheel_beside_a_clone_is_not_there(tmp_path: Path, bubblewrap: str) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    (place,) = (tmp_path / "venv" / "lib").glob("python3*/site-packages")
    for name in ("course/data/solutions/00.ipynb", "minitorch/ops.py", "torch/__init__.py", "other/__init__.py"):
        (place / name).parent.mkdir(parents=True)
        (place / name).write_text(name)
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "probe.py").write_text(FINDS)
    python = [tmp_path / "venv" / "bin" / "python", "-c", GRADER, tmp_path / "packages", bubblewrap]
    path = os.pathsep.join([str(CODE), *site.getsitepackages()])  # the clone is found first
    done = subprocess.run(python, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['other/__init__.py']"


def test_the_environment_is_ours(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    assert run("import os; print(os.environ.get('SECRET'), os.environ['OURS'])", OURS="1") == "None 1\n"


FORKS = """
import os, subprocess, sys
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
subprocess.Popen(sleep)
subprocess.Popen(sleep, start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        subprocess.Popen(sleep).wait()
    os._exit(0)
"""


def alive(mark: str) -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["environ"]) if (p.info["environ"] or {}).get("MARK") == mark]


def leaves_nothing(tmp_path: Path) -> None:
    """What it leaves holds its output, which somebody reads all the time, as a grader does."""
    mark, ended = uuid.uuid4().hex, threading.Event()
    (tmp_path / "probe.py").write_text(FORKS)

    def run() -> None:
        with launch.process("probe", tmp_path, {"MARK": mark}, Limits()) as process:
            assert process.popen.stdout is not None
            threading.Thread(target=process.popen.stdout.read, daemon=True).start()
            process.popen.wait(300)
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    has_ended, left = ended.wait(400), alive(mark)
    for each in left:
        each.kill()
    assert has_ended and not left


@pytest.mark.needs("bubblewrap")
def test_no_process_stays_behind(tmp_path: Path) -> None:
    leaves_nothing(tmp_path)


@pytest.mark.usefixtures("without_bubblewrap")
def test_no_process_stays_behind_of_a_control_group(tmp_path: Path) -> None:
    leaves_nothing(tmp_path)


@pytest.mark.usefixtures("without_bubblewrap", "without_control_groups")
def test_no_process_stays_behind_of_a_token(tmp_path: Path) -> None:
    leaves_nothing(tmp_path)


@pytest.mark.needs("bubblewrap")
def test_the_disk_is_full(run: Run) -> None:
    code = """
for place in ("/tmp", "/dev/shm"):
    try:
        with open(f"{place}/file", "wb") as file:
            file.write(bytes(3 << 20))
    except OSError as error:
        print(error.strerror)
"""
    assert run(code, Limits(disk_bytes=2 << 20)).splitlines() == ["No space left on device"] * 2


@pytest.mark.usefixtures("without_bubblewrap", "without_control_groups")
def test_without_control_groups_processes_count_with_the_others_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text("")
    with launch.process("probe", tmp_path, {}, Limits(processes=40)) as process:
        assert process.limits == {**Limits().of_a_process, "NPROC": process.limits["NPROC"]}
        assert process.limits["NPROC"] > 40


needs_control_groups = pytest.mark.skipif(not cgroup.available(), reason="no control groups can be made here")


@needs_control_groups
@pytest.mark.parametrize("alone", [True, False])
def test_the_processes_of_a_submission_share_their_limits(
    run: Run, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    monkeypatch.setattr(launch, "has_bubblewrap", lambda: alone and really())
    code = """
import os, time
started = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        started += 1
except OSError as error:
    print(started < 40, error.strerror, flush=True)
    os.killpg(0, 9)
"""
    assert run(code, Limits(processes=40)).startswith("True Resource temporarily unavailable\n")
    hungry = """
import os, time
reports, done = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        block = bytearray(os.urandom(1 << 20) * 100)
        os.write(done, b"x")
        time.sleep(600)
os.set_blocking(reports, False)
hold = 0
while hold < 4 and os.waitpid(-1, os.WNOHANG) == (0, 0):
    try:
        hold += len(os.read(reports, 4))
    except BlockingIOError:
        time.sleep(0.05)
print(hold == 4, flush=True)
os.killpg(0, 9)
"""
    assert "True" not in run(hungry, Limits(total_memory_bytes=256 << 20))
    assert "True" in run(hungry, Limits(total_memory_bytes=1 << 30))


really = launch.has_bubblewrap


@needs_control_groups
def test_the_groups_of_a_killed_grader_are_removed_by_the_next() -> None:
    code = """
import os, signal
from course.sandbox import cgroup
with cgroup.limited(1 << 30, 16) as folders:
    print(*folders, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = {**os.environ, "PYTHONPATH": str(CODE)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    left = [Path(name) for name in done.stdout.split()]  # unless a grade of another test has removed them already
    assert left
    with cgroup.limited(1 << 30, 16) as folders:
        assert not any(folder.exists() for folder in left) and all(folder.is_dir() for folder in folders)
    assert not any(folder.exists() for folder in folders)


@pytest.mark.parametrize(
    ("limits", "code", "error"),
    [
        (Limits(memory_bytes=1 << 30), "bytearray(2 << 30)", "MemoryError"),
        (Limits(file_bytes=1 << 20), "open('f', 'wb').write(bytes(2 << 20))", "File too large"),
        (Limits(cpu_seconds=1), "while True: pass", ""),
    ],
)
def test_a_process_sets_its_own_limits(tmp_path: Path, limits: Limits, code: str, error: str) -> None:
    command = f"from course.sandbox import confine; confine.limit({limits.of_a_process}); {code}"
    if code.startswith("while"):
        command = command.replace("; while", "\nwhile")
    environment = {**os.environ, "PYTHONPATH": str(CODE)}
    done = subprocess.run(
        [sys.executable, "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == (1 if error else -9)
    assert error in done.stderr


needs_landlock = pytest.mark.skipif(not launch.has_landlock(), reason="this kernel has no Landlock")

REACHES = """
import os, pathlib, socket, sys
def attempt(act):
    try:
        return f"done {act()}"
    except OSError as error:
        return type(error).__name__
for act in (
    lambda: os.listdir("ROOT/solutions"),
    lambda: open("ROOT/course/check.py").read(9),
    lambda: open("NEIGHBOUR").read(),
    lambda: open("/etc/passwd").read(9),
    lambda: open("/proc/self/maps").read(9),
    lambda: open(f"/proc/{os.getppid()}/environ").read(9),
    lambda: os.readlink(f"/proc/{os.getppid()}/cwd"),
    lambda: pathlib.Path("NEIGHBOUR").write_text("x"),
    lambda: pathlib.Path("NEIGHBOUR").unlink(),
    lambda: pathlib.Path(__file__).write_text("x"),
    lambda: os.truncate("NEIGHBOUR", 0),
    lambda: os.kill(os.getppid(), 0),
    lambda: socket.create_connection(("127.0.0.1", PORT), 1),
    lambda: pathlib.Path("mine").write_text("x"),
    lambda: pathlib.Path(os.environ["TMPDIR"], "mine").read_text(),
    lambda: len(open("/dev/urandom", "rb").read(4)),
    lambda: open("/dev/null", "w").write("x"),
):
    print(attempt(act))
import numpy
"""


@needs_landlock
@pytest.mark.usefixtures("without_bubblewrap")
def test_without_bubblewrap_landlock_keeps_everything_out_of_reach(run: Run, tmp_path: Path) -> None:
    neighbour = tmp_path / "neighbour.ipynb"
    neighbour.write_text("an answer")
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = REACHES.replace("ROOT", str(CODE)).replace("NEIGHBOUR", str(neighbour))
        printed = run(code.replace("PORT", str(server.getsockname()[1])))
    known = landlock.version()
    denied = ["PermissionError" if known >= since else None for since in (*[1] * 10, 3, 6, 4)]
    told = printed.splitlines()
    assert [each and line for each, line in zip(denied, told, strict=False)] == denied
    assert told[len(denied) :] == ["done 1", "done x", "done 4", "done 1"]
    assert neighbour.read_text() == "an answer" or known < 3


@needs_landlock
@pytest.mark.needs("torch")
@pytest.mark.usefixtures("without_bubblewrap")
def test_without_bubblewrap_an_installed_torch_cannot_be_read(run: Run) -> None:
    code = "try:\n    import torch\nexcept PermissionError:\n    import numpy\n    print('numpy alone')"
    assert run(code) == "numpy alone\n"


@pytest.mark.usefixtures("without_bubblewrap")
def test_with_neither_the_process_is_not_told_where_the_course_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "has_landlock", lambda: False)
    code = """
import os, sys
print([*sys.argv, os.getcwd(), *os.environ.values(), *open("/proc/self/cmdline").read().split(chr(0))])
"""
    interpreter = [str(place) for place in launch.interpreter()]
    told = run(code)
    for place in interpreter:  # where Python is, it knows
        told = told.replace(place, "")
    assert str(CODE) not in told
    assert "trusted submissions only" in launch.description()
