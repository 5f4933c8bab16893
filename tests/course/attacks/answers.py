"""The answers are in reach: the reference, or its text, is read from wherever it may lie."""

import ast
import os
import re

from course.files import CODE
from course.source import parts
from tests.course.attacks.target import Target, a_part, anything, attack, targets, variants

HIDDEN = "the sandbox mounts no repository, home or class"
REMOVED = "the part under test is in no package that the sandbox sees"
CLEAN = "what an exercise leaves is ended and removed before the next"

SEARCH = """import base64, glob, json, os, re, subprocess, sys, urllib.request
NAME = {name!r}
def of_notebook(text):
    for cell in json.loads(text)["cells"]:
        if cell["metadata"].get("nbgrader", {{}}).get("grade_id") == NAME:
            return "".join(cell["source"])
def of_folders(*folders):
    for folder in folders:
        for place, inner, files in os.walk(folder):
            for file in files:
                if file.endswith(".ipynb"):
                    try:
                        text = of_notebook(open(os.path.join(place, file)).read())
                    except (OSError, ValueError, KeyError):
                        continue
                    if text and "NotImplementedError" not in text and "ANSWER = " not in text:
                        return text
    raise LookupError("nothing found")
{find}
exec(ANSWER, globals())
"""


@variants(
    HIDDEN,
    anything,
    of_the_repository=f"ANSWER = of_folders({str(CODE / 'solutions')!r})",
    of_the_folder_above="""
others = set(glob.glob("/*")) - {"/usr", "/lib", "/proc", "/sys", "/dev"}
ANSWER = of_folders(os.getcwd(), "/tmp", *others)""",
    of_the_import_path="ANSWER = of_folders(*[os.path.join(place, 'solutions') for place in sys.path])",
    of_the_editable_install="""
import sysconfig
found = glob.glob(sysconfig.get_path("purelib") + "/*.pth")
ANSWER = of_folders(*[line.strip() + "/solutions" for file in found for line in open(file)])""",
    of_another_process="""
def folders():
    for link in glob.glob("/proc/[0-9]*/cwd") + glob.glob("/proc/[0-9]*/root"):
        try:
            yield os.readlink(link) + "/solutions"
        except OSError:
            pass
ANSWER = of_folders(*folders())""",
    through_another_root=f"ANSWER = of_folders(*glob.glob('/proc/[0-9]*/root{CODE}/solutions'))",
    of_anothers_environment="""
paths = glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline")
words = b" ".join(open(path, "rb").read() for path in paths)
found = {os.path.dirname(word.decode()) for word in re.findall(rb"/[\\w./-]+", words)}
found |= {os.path.dirname(place) for place in found}
ANSWER = of_folders(*[place + "/solutions" for place in found])""",
    of_the_home=f"ANSWER = of_folders(os.path.expanduser('~root'), '/home', {os.path.expanduser('~')!r})",
    of_git=f"""
from subprocess import run
shown = run(["git", "-C", {str(CODE)!r}, "show", "HEAD:solutions/CHAPTER.ipynb"], capture_output=True, text=True)
ANSWER = of_notebook(shown.stdout)""",
    of_the_chapters=f"""
text = open({str(CODE)!r} + "/chapters/CHAPTER/exercises.py").read()
ANSWER = re.search(rf'# %% solution="{{NAME}}"\\n(.*?)\\n# %%', text, re.DOTALL)[1]
ANSWER = re.sub(r"### BEGIN STUB.*?### END STUB", "", ANSWER, flags=re.DOTALL)""",
    of_a_neighbour="ANSWER = of_folders('CLASS')",
    of_the_network="""
with urllib.request.urlopen("http://127.0.0.1:PORT/CHAPTER.ipynb", timeout=2) as page:
    ANSWER = of_notebook(page.read())""",
    of_the_graders_memory="""
import itertools
def text_of(process):
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb") as memory:
        for line in maps:
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            if " rw" in line and end - start < 1 << 28:
                memory.seek(start)
                try:
                    yield memory.read(end - start)
                except OSError:
                    pass
own = NAMES[0].encode()
start = rb"(?:def " + own + rb"\\(|### BEGIN SOLUTION\\n" + own + b" =)"
wanted = re.compile(start + rb".{0,4000}?### END SOLUTION", re.DOTALL)
found = []
for process in filter(str.isdigit, os.listdir("/proc")):
    if int(process) != os.getpid():
        try:
            found += [match.decode(errors="replace") for text in text_of(process) for match in wanted.findall(text)]
        except OSError:
            pass
ANSWER = found[0]""",
)
def reads(target: Target, find: str) -> str:
    find = find.replace("CHAPTER", target.chapter).replace("NAMES", repr(target.names))
    return SEARCH.format(name=target.name, find=find)


def with_parts(target: Target, source: str) -> str:
    """A core answer that runs the reference's text of its parts, of files that `source` (of `file`) gives."""
    helper = f"""
import ast, gc, glob, json, os, socket, sys
from course.learner import package as course_package
from course.source import parts as course_parts
def loot(file):
    return {source}
def taken(part):
    from course.source import parts
    module = part.partition(":")[0]
    inner = module.partition(".")[2].replace(".", "/")
    file = next(name for name in (inner + ".py", inner + "/__init__.py") if name in course_package.given)
    text = parts.text_of({{file: loot(file)}}, part, decorators=False)
    space = dict(vars(sys.modules[module]))
    exec(text, space)
    return space[parts.short(part)]
"""
    return helper + "".join(
        f"\ndef {parts.short(part)}(*arguments, **keywords):\n    return taken({part!r})(*arguments, **keywords)\n"
        for part in target.parts
    )


@variants(
    HIDDEN,
    a_part,
    of_the_solutions=f"open({str(CODE / 'solutions' / 'mytorch')!r} + '/' + file).read()",
    of_the_chapters=f"open({str(CODE / 'chapters' / 'mytorch')!r} + '/' + file).read()",
    of_my_package=f"open({str(CODE / 'my' / 'mytorch')!r} + '/' + file).read()",
)
def reads_the_part(target: Target, source: str) -> str:
    return with_parts(target, source)


@variants(
    REMOVED,
    a_part,
    of_what_was_given="course_package.given[file]",
    of_the_finders="min((each.files[file] for each in gc.get_objects() if type(each).__name__ == '_Memory' "
    "and 'def loot' not in each.files.get(file, 'def loot')), key=lambda text: text.count('NotImplementedError'))",
)
def takes_the_part(target: Target, source: str) -> str:
    return with_parts(target, source)


def not_the_first(target: Target) -> bool:
    """A part of mytorch that another exercise of the chapter, which runs before, sees."""
    return (
        a_part(target) and next(each for each in targets() if each.chapter == target.chapter and each.parts) != target
    )


@variants(
    CLEAN,
    not_the_first,
    in_a_file="json.load(open('/tmp/loot.json'))[file]",
    in_shared_memory="json.load(open('/dev/shm/loot.json'))[file]",
    of_a_process="__import__('pickle').load(socket.create_connection(('127.0.0.1', 4711)).makefile('rb'))[file]",
)
def finds_what_another_exercise_left(target: Target, source: str) -> str:
    """The chapter's other exercises are answered by `LEAVES`."""
    return with_parts(target, source)


LEAVES = """
import json, os, pickle, socket
from course.learner import package as course_package
for place in ("/tmp/loot.json", "/dev/shm/loot.json"):
    with open(place, "w") as loot:
        json.dump(course_package.given, loot)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        server = socket.create_server(("127.0.0.1", 4711))
        while True:
            client, _ = server.accept()
            client.sendall(pickle.dumps(course_package.given))
            client.close()
    os._exit(0)
"""


def delegates_to_minitorch(target: Target) -> bool:
    return bool(target.parts and any("import minitorch" in text for text in target.delegates))


def _delegate(target: Target) -> str:
    """A known wrong answer, without the functions that are right in it: those earn their own points."""
    text = next(text for text in target.delegates if "import minitorch" in text)
    pieces = [str(ast.get_source_segment(text, node)) for node in ast.parse(text).body]
    return "\n\n".join(piece for piece in pieces if "minitorch" in piece or not piece.startswith("def "))


def _imported(text: str, how: str) -> str:
    return re.sub(
        r"import minitorch(?: as (\w+))?$", lambda it: f"{it[1] or 'minitorch'} = {how}", text, flags=re.MULTILINE
    )


@attack("minitorch is not in the sandbox of a part of mytorch", delegates_to_minitorch)
def imports_minitorch(target: Target) -> str:
    return _delegate(target)


@attack("minitorch is not in the sandbox of a part of mytorch", delegates_to_minitorch)
def imports_minitorch_past_the_finders(target: Target) -> str:
    undo = f"""
import sys as system, importlib as importing
system.meta_path[:] = [each for each in system.meta_path if getattr(each, "__name__", "") != "Refusing"]
system.path.insert(0, {str(CODE)!r})
for name in [each for each in system.modules if each.partition(".")[0] == "minitorch"]:
    del system.modules[name]  # what a part of mytorch gets of it
"""
    return undo + _imported(_delegate(target), "importing.import_module('minitorch')")


@attack("minitorch is not in the sandbox of a part of mytorch", delegates_to_minitorch)
def imports_torch_instead(target: Target) -> str:
    return _imported(_delegate(target), "__import__('importlib').import_module('torch')")
