"""The package's own part does the work: what replaces a part of minitorch calls the original."""

from tests.course.attacks.target import Target, a_replacement, attack, variants

REMOVED = "the part under test is in no package that the sandbox sees"
GUARD = "checks run on names from before the learner's code, without transformers and hooks"

HEAD = """import ast, contextlib, functools, gc, importlib, importlib.util, inspect, linecache, marshal, os
import subprocess, sys, textwrap, threading, types
MODULE, PATH = {module!r}, {path!r}
def child(holder, name):
    return holder[name] if isinstance(holder, dict) else getattr(holder, name)
def found(module=MODULE):
    return functools.reduce(child, PATH.split("."), importlib.import_module(module))
def bare(function):
    return inspect.unwrap(function)
def renamed(code):
    return code.replace(co_name="other", co_qualname="other")
def compiled(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == PATH.rpartition(".")[2]:
            node.decorator_list, node.name = [], "other"  # a function of the same code would be locked
            space = dict(vars(sys.modules[bare(found()).__module__]))
            exec(compile(ast.fix_missing_locations(ast.Module([node], [])), "<copied>", "exec"), space)
            return space["other"]
def file():
    return bare(found()).__code__.co_filename
"""
TAIL = """
def {name}(*arguments, **keywords):
    return original(*arguments, **keywords)
"""


def delegating(target: Target, text: str) -> str:
    """A solution that computes with `original`, which `text` finds."""
    module, _, path = target.replaces.partition(":")
    return HEAD.format(module=module, path=path) + text + TAIL.format(name=target.names[0])


@variants(
    REMOVED,
    a_replacement,
    by_name="original = found()",
    of_its_source="original = compiled(textwrap.dedent(inspect.getsource(bare(found()))))",
    of_its_file="original = compiled(open(file()).read())",
    of_its_loader="""
name = bare(found()).__module__
original = compiled(sys.modules[name].__loader__.get_source(name))""",
    of_linecache="original = compiled(''.join(linecache.getlines(file())))",
    of_its_code="original = types.FunctionType(renamed(bare(found()).__code__), bare(found()).__globals__)",
    of_its_bytecode="""
def inner(code):
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from inner(each)
with open(importlib.util.cache_from_source(file()), "rb") as opened:
    whole = marshal.loads(opened.read()[16:])
code = next(each for each in inner(whole) if each.co_qualname == bare(found()).__code__.co_qualname)
original = types.FunctionType(renamed(code), bare(found()).__globals__)""",
    of_any_object="""
wanted = bare(found()).__qualname__
them = [each for each in gc.get_objects() if isinstance(each, types.FunctionType) and each.__qualname__ == wanted]
them = [each for each in them if "<locals>" not in each.__code__.co_qualname]
original = types.FunctionType(renamed(them[0].__code__), them[0].__globals__, None, them[0].__defaults__)
original.__kwdefaults__ = them[0].__kwdefaults__""",
    of_another_process="""
name = bare(found()).__module__
code = f"import importlib, inspect; print(inspect.getsource(importlib.import_module({name!r})))"
environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
original = compiled(done.stdout)""",
    unlocked="""
held = bare(found())
def original(*arguments, **keywords):
    from course.learner import lock
    code = lock._held[held].code
    return types.FunctionType(renamed(code), held.__globals__, None, held.__defaults__)(*arguments, **keywords)""",
    with_its_lock_undone="""
taken = found()
def original(*arguments, **keywords):
    from course.learner import lock
    lock._at_work = threading.get_ident()
    for function, held in lock._held.items():
        function.__code__ = held.code
    return taken(*arguments, **keywords)""",
    with_a_thread_that_undoes_everything="""
taken = found()
def undo():
    import course.learner.install as installing
    sys.setswitchinterval(1e-6)
    while True:
        installing.locked = lambda *arguments: contextlib.nullcontext()
threading.Thread(target=undo, daemon=True).start()
def original(*arguments, **keywords):
    return taken(*arguments, **keywords)""",
)
def delegates(target: Target, text: str) -> str:
    return delegating(target, text)


@variants(
    GUARD,
    a_replacement,
    install_patched="check.install = lambda *arguments, **keywords: contextlib.nullcontext()",
    install_recoded="""
def nothing(mine, target, lock=True):
    yield
check.install.__wrapped__.__code__ = nothing.__code__""",
    lock_patched="""
import course.learner.install as installing
installing.locked = lambda *arguments: contextlib.nullcontext()""",
    lock_recoded="""
from course.learner import lock
lock.functions_of.__code__ = (lambda part, path: []).__code__""",
    check_rebound="""
class Fake:
    install = staticmethod(lambda *arguments, **keywords: contextlib.nullcontext())
    def __getattr__(self, name):
        return getattr(real, name)
real = check
check = Fake()""",
    check_module_replaced="""
real = sys.modules["course.check"]
class Fake(types.ModuleType):
    install = staticmethod(lambda *arguments, **keywords: contextlib.nullcontext())
    def __getattr__(self, name):
        return getattr(real, name)
sys.modules["course.check"] = check = Fake("check")""",
    input_transformer="""
def rewrite(lines):
    return [line.replace("with check.install(", "with __import__('contextlib').nullcontext(") for line in lines]
get_ipython().input_transformers_post.append(rewrite)""",
    ast_transformer="""
class Rewrite(ast.NodeTransformer):
    def visit_With(self, node):
        node.items = [ast.withitem(ast.parse("__import__('contextlib').nullcontext()", mode="eval").body)]
        return ast.fix_missing_locations(node)
get_ipython().ast_transformers.append(Rewrite())""",
    hook_before_the_cell="""
def hook(info=None):
    check.install = lambda *arguments, **keywords: contextlib.nullcontext()
get_ipython().events.register("pre_run_cell", hook)
get_ipython().events.register("pre_execute", hook)""",
    trace_function="""
import course.learner.install as installing
def trace(frame, event, argument):
    installing.locked = lambda *arguments: contextlib.nullcontext()
sys.settrace(trace)
sys.setprofile(trace)""",
)
def bends(target: Target, text: str) -> str:
    return delegating(target, "from course import check\noriginal = found()\n" + text)


@attack(REMOVED, a_replacement)
def delegates_from_a_default(target: Target) -> str:
    module, _, path = target.replaces.partition(":")
    head = HEAD.format(module=module, path=path)
    return f"{head}\ndef {target.names[0]}(*arguments, o=found(), **keywords):\n    return o(*arguments, **keywords)\n"
