# %% [markdown]
# # Exercises · Modules and parameters
# Five of the exercises add to your library: once they are solved, a model built on your `Module` finds, names, saves
# and loads its tensors. Your code for mytorch runs inside its files, so every name that a task or a docstring
# mentions is available there. Import anything else in the cell.

# %% setup=true
from __future__ import annotations

import copy
from collections import OrderedDict

from course import check


def family(torch):
    """A model with a shared layer, a shared parameter, empty places, an empty container and both kinds of buffers."""
    nn = torch.nn

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.Parameter(torch.ones(2))
            self.register_parameter("shift", None)
            self.register_buffer("count", torch.zeros(1))
            self.register_buffer("scratch", torch.zeros(3), persistent=False)

    model = nn.Sequential(OrderedDict(first=nn.Linear(3, 2), inner=nn.Sequential(Scale(), nn.Linear(2, 2))))
    model.add_module("empty", None)
    model.add_module("bare", nn.Sequential())
    model.add_module("again", model.first)
    model.inner.add_module("tied", Scale())
    model.inner.tied.factor = model.inner[0].factor
    return model


# %% setup=true
import minitorch as torch
from minitorch import nn

# %% [markdown] exercise="modules_predict_registered" kind="predict" points=1
# ### Exercise 1 · What is saved?
# ```python
# class Model(nn.Module):
#     def __init__(self):
#         super().__init__()
#         self.a = torch.ones(2, requires_grad=True)
#         self.b = [nn.Linear(2, 2)]
#         self.c = nn.Parameter(torch.ones(2)) * 2
#         self.register_buffer("d", torch.ones(2), persistent=False)
#         self.e = nn.Parameter(torch.ones(2), requires_grad=False)
#         self.f = nn.Flatten()
# ```
# The state dict of a `Model()` has exactly one entry. Set `prediction` to its name, a string, without running the
# code first.

# %% solution="modules_predict_registered"
### BEGIN SOLUTION
prediction = "e"
### END SOLUTION

# %% check="modules_predict_registered"
check.show({"the one that is saved": str(prediction).strip().lower().removeprefix("self.")}, secret=True)

# %% [markdown] hint="modules_predict_registered"
# A state dict contains parameters and persistent buffers. Which of the six values are a `Parameter` or a buffer?

# %% [markdown] hint="modules_predict_registered"
# What is the type of a `Parameter` times 2? Does a module look into a list? Does a layer without weights have
# anything to save?

# %% [markdown] hint="modules_predict_registered"
# A frozen parameter is still a parameter, because `requires_grad` says whether it gets a gradient and not whether it
# is saved.

# %% mutant="modules_predict_registered"
# The tensor that requires grad
# `a` gets a gradient, but it isn't a Parameter, so the module treats it as an ordinary attribute.
prediction = "a"

# %% mutant="modules_predict_registered"
# The layer in the list
# `b` is a list, and a module doesn't look into lists. An `nn.ModuleList` would be registered.
prediction = "b"

# %% mutant="modules_predict_registered"
# The weight of the layer in the list
# `b` is a list, and a module doesn't look into lists: `b.0.weight` is a name only with `nn.ModuleList`.
prediction = "b.0.weight"

# %% mutant="modules_predict_registered"
# The scaled parameter
# `c` is the result of a multiplication, so it is a plain tensor with a history. The Parameter itself has no name in
# the module.
prediction = "c"

# %% mutant="modules_predict_registered"
# The buffer that isn't persistent
# `d` is registered and moves with the model, but `persistent=False` keeps it out of the state dict.
prediction = "d"

# %% mutant="modules_predict_registered"
# The layer without weights
# `f` is a registered module, but it has nothing to save.
prediction = "f"


# %% [markdown] exercise="modules_setattr" kind="core" points=3 part="mytorch.nn.module:Module.__setattr__"
# ### Exercise 2 · Registration
# Write what happens on `self.name = value`. The tables are dicts in `self.__dict__`, and each name is in only one of
# them, or in `__dict__` itself. `object.__setattr__(self, name, value)` creates an ordinary attribute, or calls the
# setter if the name is a property's. `Parameter`, `Module` and `Tensor` are available. The error message is
# `refused(name, value, "_parameters")`, or with the name of another table.
#
# | the name is in | a `Parameter` | a `Module` | a tensor | `None` | anything else |
# |---|---|---|---|---|---|
# | no table | becomes one | becomes one | attribute | attribute | attribute |
# | `_parameters` | takes its place | refused | refused | empties it | refused |
# | `_modules` | becomes one | takes its place | refused | empties it | refused |
# | `_buffers` | becomes one | becomes one | takes its place | empties it | refused |
#
# A value that replaces another one in a table keeps its position, so `parameters()` returns the new weight where the
# old one was. An emptied entry stays in the table, and its name still belongs to the table, with the value `None`. A
# refused value changes nothing.


# %% docstrings="modules_setattr"
def __setattr__():
    """Store a value in the table that it belongs to, or in `__dict__` as an ordinary attribute.

    A `Parameter` goes into `self._parameters` and a `Module` into `self._modules`, and the name is removed from
    the other tables and from `__dict__`. For any other value, a name that is in a table stays there: in
    `self._buffers` the value may be a tensor or None, and in the other two tables only None. A module can't replace
    a parameter of the same name, although a parameter may replace a module.

    Raises:
        AttributeError: the tables don't exist yet. "cannot assign parameters before Module.__init__() call" (or
            "module").
        TypeError: the name is in a table that can't hold this value. The message is `refused(name, value, table)`.
    """


# %% check="modules_setattr" raises="AttributeError TypeError"
n = mytorch.nn
generator = check.rng()
number = float(generator.integers(2, 9))
before = {
    "no table": lambda made: None,
    "an attribute": lambda made: made.__dict__.update(x="text"),
    "a parameter": lambda made: made.register_parameter("x", n.Parameter(mytorch.zeros(1))),
    "a module": lambda made: made.add_module("x", n.Identity()),
    "a buffer": lambda made: made.register_buffer("x", mytorch.zeros(1)),
    "an empty parameter": lambda made: made.register_parameter("x", None),
    "an empty module": lambda made: made.add_module("x", None),
    "an empty buffer": lambda made: made.register_buffer("x", None),
}


class Special(n.Parameter):
    pass


values = {
    "a parameter": lambda: n.Parameter(mytorch.full((2,), number)),
    "a kind of parameter": lambda: Special(mytorch.full((2,), number)),
    "a frozen parameter": lambda: n.Parameter(mytorch.full((2,), number), requires_grad=False),
    "a module": lambda: n.Identity(),
    "a tensor": lambda: mytorch.full((3,), number),
    "None": lambda: None,
    "a number": lambda: number,
    "a list": lambda: [n.Identity()],
}


def assigned(prepare, value):
    """What is said, in which place of which table the name is then, what it gives, and whether that is the value."""
    made = n.Module()
    prepare(made)
    made.register_parameter("p", None)
    made.add_module("m", None)
    made.register_buffer("b", None)
    problem = check.error(setattr, made, "x", value)
    said = f"{type(problem).__name__}: {problem}" if problem else "fine"
    tables = {name: list(made.__dict__[name]) for name in ("_parameters", "_modules", "_buffers")}
    places = [f"{table}[{names.index(each)}]" for table, names in tables.items() for each in names if each[0] == "x"]
    now = getattr(made, "x", "nothing")
    return said, places + ["__dict__"] * ("x" in made.__dict__), repr(now), now is value


class Hasty(n.Module):
    def __init__(self, value):
        self.x = value
        super().__init__()


class Halves(n.Module):
    @property
    def rate(self):
        return self.kept * 2

    @rate.setter
    def rate(self, value):
        self.kept = value / 2


chain, steps = n.Module(), [str(each) for each in generator.choice([*values, "deleted"], 12)]


def next_step(name):
    """What is said, and in which tables the name is after that."""
    problem = (
        check.error(delattr, chain, "x") if name == "deleted" else check.error(setattr, chain, "x", values[name]())
    )
    tables = [
        table
        for table in ("_parameters", "_modules", "_buffers", "__dict__")
        if "x" in (vars(chain) if table == "__dict__" else vars(chain)[table])
    ]
    said = f"{type(problem).__name__}: {problem}" if problem else "fine"
    return name, said, tables


halves = Halves()
problem = check.error(setattr, halves, "rate", number)
check.show(
    {
        f"{first}, then {then}": assigned(prepare, make())
        for first, prepare in before.items()
        for then, make in values.items()
    }
    | {f"before __init__, {name}": repr(check.error(Hasty, make())) for name, make in values.items()}
    | {"a property whose setter halves": getattr(halves, "kept", repr(problem))}
    | {"twelve steps, one after the other": [next_step(each) for each in steps]},
    text="A name that was something, then an assignment: what is said, where the name is, and what it gives.",
)

# %% [markdown] hint="modules_setattr"
# Go through the tables in order: parameters, modules, buffers. For each table there are two questions: does the value
# have the type that belongs there, and is the name in it already?

# %% [markdown] hint="modules_setattr"
# Write `for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):`. If
# `isinstance(value, kind)`, remove the name from the three other places, enter it and return. (Nothing is an instance
# of `()`.)

# %% [markdown] hint="modules_setattr"
# Otherwise, if the name is in the table, `None` may be entered, and in `_buffers` a tensor as well; anything else
# raises `TypeError(refused(name, value, table))`. After the loop comes `object.__setattr__`. Before `__init__` has
# run, `self.__dict__.get(table, ())` is empty.


# %% mutant="modules_setattr"
# Leaves the old meaning
# The name stays in the table or attribute where it was before, so it has two meanings.
def __setattr__(self, name, value):
    for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
        if isinstance(value, kind):
            if table not in self.__dict__:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            self.__dict__[table][name] = value
            return
        if name in self.__dict__.get(table, ()):
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            self.__dict__[table][name] = value
            return
    object.__setattr__(self, name, value)


# %% mutant="modules_setattr"
# Registers only what is trained
# A frozen parameter is a parameter, too: it moves with the module and is saved, although no optimizer changes it.
def __setattr__(self, name, value):
    for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
        if isinstance(value, kind) and (kind is Module or value.requires_grad):
            if table not in self.__dict__:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            if kind is Module and name in self._parameters:
                raise TypeError(refused(name, value, "_parameters"))
            for other in ("__dict__", "_parameters", "_modules", "_buffers"):
                if other != table:
                    (self.__dict__ if other == "__dict__" else self.__dict__[other]).pop(name, None)
            self.__dict__[table][name] = value
            return
        if name in self.__dict__.get(table, ()):
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            self.__dict__[table][name] = value
            return
    object.__setattr__(self, name, value)


# %% mutant="modules_setattr"
# Moves it to the end
# A name that is removed from its own table and entered again comes last. The order of `parameters()` changes, and a
# saved optimizer, which identifies parameters by position, restores its state for the wrong ones.
def __setattr__(self, name, value):
    for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
        if isinstance(value, kind):
            if table not in self.__dict__:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for place in (self.__dict__, self._parameters, self._modules, self._buffers):
                place.pop(name, None)
            self.__dict__[table][name] = value
            return
        if name in self.__dict__.get(table, ()):
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            self.__dict__[table][name] = value
            return
    object.__setattr__(self, name, value)


# %% mutant="modules_setattr"
# Creates an attribute as well
# A registered value is also in `__dict__`, so there are two places for one fact.
def __setattr__(self, name, value):
    for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
        if isinstance(value, kind):
            if table not in self.__dict__:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for place in (self.__dict__, self._parameters, self._modules, self._buffers):
                if place is not self.__dict__[table]:
                    place.pop(name, None)
            self.__dict__[table][name] = value
            break
        if name in self.__dict__.get(table, ()):
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            self.__dict__[table][name] = value
            return
    object.__setattr__(self, name, value)


# %% mutant="modules_setattr"
# Lets anything take a name
# A plain tensor or a number becomes an attribute beside the parameter of that name, while PyTorch refuses it.
def __setattr__(self, name, value):
    for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
        if isinstance(value, kind):
            if table not in self.__dict__:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for place in (self.__dict__, self._parameters, self._modules, self._buffers):
                if place is not self.__dict__[table]:
                    place.pop(name, None)
            self.__dict__[table][name] = value
            return
        if name in self.__dict__.get(table, ()) and (
            value is None or (table == "_buffers" and isinstance(value, Tensor))
        ):
            self.__dict__[table][name] = value
            return
    object.__setattr__(self, name, value)


# %% mutant="modules_setattr"
# None removes the name
# An empty entry stays in its table with the value None, so the name remains that of a parameter.
def __setattr__(self, name, value):
    for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
        if isinstance(value, kind):
            if table not in self.__dict__:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for place in (self.__dict__, self._parameters, self._modules, self._buffers):
                if place is not self.__dict__[table]:
                    place.pop(name, None)
            self.__dict__[table][name] = value
            return
        if name in self.__dict__.get(table, ()):
            if value is None:
                del self.__dict__[table][name]
                break
            if not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            self.__dict__[table][name] = value
            return
    object.__setattr__(self, name, value)


# %% mutant="modules_setattr"
# Forgets the buffers
# A tensor that is assigned to the name of a buffer has to stay a buffer, or the next state dict lacks it.
def __setattr__(self, name, value):
    for table, kind in (("_parameters", Parameter), ("_modules", Module)):
        if isinstance(value, kind):
            if table not in self.__dict__:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for place in (self.__dict__, self._parameters, self._modules, self._buffers):
                if place is not self.__dict__[table]:
                    place.pop(name, None)
            self.__dict__[table][name] = value
            return
        if name in self.__dict__.get(table, ()):
            if value is not None:
                raise TypeError(refused(name, value, table))
            self.__dict__[table][name] = value
            return
    object.__setattr__(self, name, value)


# %% mutant="modules_setattr"
# Misses a forgotten super().__init__()
# Without tables there is a KeyError, which doesn't say what was forgotten.
def __setattr__(self, name, value):
    for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
        if isinstance(value, kind):
            mine = self.__dict__[table]
            for place in (self.__dict__, self._parameters, self._modules, self._buffers):
                if place is not mine:
                    place.pop(name, None)
            mine[name] = value
            return
        if name in self.__dict__.get(table, ()):
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            self.__dict__[table][name] = value
            return
    object.__setattr__(self, name, value)


# %% mutant="modules_setattr"
# Accepts no subclass
# A class derived from Parameter or Module has to be registered, too. Use isinstance instead of comparing the type.
def __setattr__(self, name, value):
    for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
        if type(value) is kind or (kind is Module and isinstance(value, Module)):
            if table not in self.__dict__:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for place in (self.__dict__, self._parameters, self._modules, self._buffers):
                if place is not self.__dict__[table]:
                    place.pop(name, None)
            self.__dict__[table][name] = value
            return
        if name in self.__dict__.get(table, ()):
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            self.__dict__[table][name] = value
            return
    object.__setattr__(self, name, value)


# %% mutant="modules_setattr"
# Treats an empty entry as absent
# A name whose value is None is still in its table, so a tensor can't take it, and it keeps its position.
def __setattr__(self, name, value):
    for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
        if isinstance(value, kind):
            if table not in self.__dict__:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for place in (self.__dict__, self._parameters, self._modules, self._buffers):
                if place is not self.__dict__[table]:
                    place.pop(name, None)
            self.__dict__[table][name] = value
            return
        if self.__dict__.get(table, {}).get(name) is not None:
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            self.__dict__[table][name] = value
            return
    object.__setattr__(self, name, value)


# %% mutant="modules_setattr"
# Changes before it refuses
# The entry was emptied before the value was checked. After an error the module should be as it was.
def __setattr__(self, name, value):
    for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
        if isinstance(value, kind):
            if table not in self.__dict__:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for place in (self.__dict__, self._parameters, self._modules, self._buffers):
                if place is not self.__dict__[table]:
                    place.pop(name, None)
            self.__dict__[table][name] = value
            return
        if name in self.__dict__.get(table, ()):
            self.__dict__[table][name] = None
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            self.__dict__[table][name] = value
            return
    object.__setattr__(self, name, value)


# %% mutant="modules_setattr"
# Detaches the buffer
# The module should keep the very tensor that was assigned. Here, writing to that tensor no longer changes the buffer.
def __setattr__(self, name, value):
    for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
        if isinstance(value, kind):
            if table not in self.__dict__:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for place in (self.__dict__, self._parameters, self._modules, self._buffers):
                if place is not self.__dict__[table]:
                    place.pop(name, None)
            self.__dict__[table][name] = value
            return
        if name in self.__dict__.get(table, ()):
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            self.__dict__[table][name] = None if value is None else value.detach()
            return
    object.__setattr__(self, name, value)


# %% mutant="modules_setattr"
# Bypasses properties
# A value that is written to `__dict__` never reaches the setter of a property, while `object.__setattr__` calls it.
def __setattr__(self, name, value):
    for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
        if isinstance(value, kind):
            if table not in self.__dict__:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for place in (self.__dict__, self._parameters, self._modules, self._buffers):
                if place is not self.__dict__[table]:
                    place.pop(name, None)
            self.__dict__[table][name] = value
            return
        if name in self.__dict__.get(table, ()):
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            self.__dict__[table][name] = value
            return
    self.__dict__[name] = value


# %% mutant="modules_setattr"
# Looks into lists
# A list stays an ordinary attribute. Registering the layers in a list is the purpose of ModuleList.
def __setattr__(self, name, value):
    if isinstance(value, list) and "_modules" in self.__dict__:
        self._modules.update((f"{name}.{i}", each) for i, each in enumerate(value) if isinstance(each, Module))
    for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
        if isinstance(value, kind):
            if table not in self.__dict__:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for place in (self.__dict__, self._parameters, self._modules, self._buffers):
                if place is not self.__dict__[table]:
                    place.pop(name, None)
            self.__dict__[table][name] = value
            return
        if name in self.__dict__.get(table, ()):
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            self.__dict__[table][name] = value
            return
    object.__setattr__(self, name, value)


# %% mutant="modules_setattr"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def __setattr__(self, name, value):
    from minitorch.nn import Module

    Module.__setattr__(self, name, value)


# %% [markdown] exercise="modules_names" kind="core" points="1 2" part="mytorch.nn.module:Module.named_modules mytorch.nn.module:Module.named_members"
# ### Exercise 3 · Names
# Write two generators, on which `parameters()`, `buffers()`, `children()`, `state_dict()`, `train()` and `to()` are
# built. `named_modules` traverses the tree: this module first, then each submodule with all its descendants. A path
# consists of names with dots between them. `named_members` makes the same traversal and yields the entries of each
# module, where `members(module)` is a dict.
#
# Shared modules and members occur once, under their first name, unless `remove_duplicate` is False. Entries that are
# `None` are skipped.


# %% docstrings="modules_names"
def named_modules():
    """Yield this module, named `prefix`, and all its descendants as pairs ("layers.0", module), parents first.

    A module that can be reached in two ways is yielded once, under its first name, unless `remove_duplicate` is
    False. `memo` contains the modules that have been yielded. If `remove_duplicate`, each module is added to it.
    """


def named_members():
    """Yield the entries of `members(module)` for this module and, if `recurse`, its descendants, by full names.

    An entry that is None is skipped. A member that occurs twice is yielded once, under its first name, unless
    `remove_duplicate` is False.
    """


# %% check="modules_names"
model = family(mytorch)
generator = check.rng()
places = [model, model.inner, model.bare]
for number in generator.permutation(8):
    inner = mytorch.nn.Sequential() if number % 2 else mytorch.nn.Linear(int(generator.integers(2, 6)), 1)
    places[generator.integers(len(places))].add_module(f"extra{number}", inner)
    places += [inner] * (number % 2)


def listed(walk, *arguments, **keywords):
    """The names that come, each with what it is; or the error."""
    found = []
    problem = check.error(lambda: found.extend(walk(*arguments, **keywords)))
    return repr(problem) if problem else [(name, type(each).__name__) for name, each in found]


memo = set()
listed(model.named_modules, memo)
check.show(
    {
        "one at a time, as a generator gives them": [
            hasattr(walk(), "__next__")
            for walk in (model.named_modules, model.named_parameters, model.named_buffers, model.named_children)
        ],
        "modules": listed(model.named_modules),
        "modules, with a prefix": listed(model.named_modules, prefix="net"),
        "modules, with duplicates": listed(model.named_modules, remove_duplicate=False),
        "modules, some seen before": listed(model.named_modules, {model.first}),
        "modules in a memo afterwards": len(memo),
        "parameters": listed(model.named_parameters),
        "parameters, with duplicates": listed(model.named_parameters, remove_duplicate=False),
        "parameters, not recursive": listed(model.first.named_parameters, "layer", recurse=False),
        "parameters, with a prefix": listed(model.named_parameters, "net"),
        "buffers": listed(model.named_buffers),
        "children": listed(model.named_children),
    },
    text="What the generators give for a model with a shared layer, a shared parameter and empty places.",
)

# %% [markdown] hint="modules_names"
# `named_modules` stops if `self` is in `memo`. Otherwise add it there (if duplicates are to be removed), yield
# `(prefix, self)`, and then `yield from` the same call on each submodule, with the same memo.

# %% [markdown] hint="modules_names"
# A path is `f"{prefix}.{name}"`, or just `name` without a prefix. `self._modules.items()` has the submodules, of
# which some may be `None`.

# %% [markdown] hint="modules_names"
# `named_members` walks over `self.named_modules(None, prefix, remove_duplicate)`, or only over `[(prefix, self)]` if
# not `recurse`. Store the members that have been yielded in a *set*, because tensors are hashed by identity, while
# `in` on a list compares them element by element.


# %% mutant="modules_names"
# Visits a shared module twice
# Nothing records which modules have been visited, so the shared layer and its parameters are listed under both names.
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = set() if memo is None else memo
    if self in memo:
        return
    yield prefix, self
    for name, module in self._modules.items():
        if module is not None:
            yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


# %% mutant="modules_names"
# Gives each branch a memo of its own
# The memo isn't passed on, so each branch visits again what the others have visited.
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = set() if memo is None else memo
    if self in memo:
        return
    if remove_duplicate:
        memo.add(self)
    yield prefix, self
    for name, module in self._modules.items():
        if module is not None:
            yield from module.named_modules(None, f"{prefix}.{name}" if prefix else name, remove_duplicate)


# %% mutant="modules_names"
# Treats an empty memo as none
# An empty set is falsy, so `memo or set()` creates a new one, and the caller's set isn't filled. Test `is None`.
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = memo or set()
    if self in memo:
        return
    if remove_duplicate:
        memo.add(self)
    yield prefix, self
    for name, module in self._modules.items():
        if module is not None:
            yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


# %% mutant="modules_names"
# Treats an empty container as none
# A Sequential without layers has length 0, so it is falsy. Test `is not None`.
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = set() if memo is None else memo
    if self in memo:
        return
    if remove_duplicate:
        memo.add(self)
    yield prefix, self
    for name, module in self._modules.items():
        if module:
            yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


# %% mutant="modules_names"
# Begins paths with a dot
# Without a prefix there is nothing before the dot: the path is "first" and not ".first".
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = set() if memo is None else memo
    if self in memo:
        return
    if remove_duplicate:
        memo.add(self)
    yield prefix, self
    for name, module in self._modules.items():
        if module is not None:
            yield from module.named_modules(memo, f"{prefix}.{name}", remove_duplicate)


# %% mutant="modules_names"
# Children first
# A module comes before those below it. Children first is the order of `apply`.
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = set() if memo is None else memo
    if self in memo:
        return
    if remove_duplicate:
        memo.add(self)
    for name, module in self._modules.items():
        if module is not None:
            yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)
    yield prefix, self


# %% mutant="modules_names"
# Removes duplicates anyway
# `remove_duplicate=False` asks for every path, and a state dict needs them all.
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = set() if memo is None else memo
    if self in memo:
        return
    memo.add(self)
    yield prefix, self
    for name, module in self._modules.items():
        if module is not None:
            yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


# %% mutant="modules_names"
# Looks for tensors in a list
# `in` on a list compares tensors element by element, and the answer is a tensor of booleans instead of True or False.
def named_members(self, members, prefix, recurse, remove_duplicate):
    seen = []
    for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
        for name, member in members(module).items():
            if member is None or member in seen:
                continue
            if remove_duplicate:
                seen.append(member)
            yield f"{path}.{name}" if path else name, member


# %% mutant="modules_names"
# Checks shared modules only
# Two different modules may share a parameter, as the output layer of a GPT shares its embedding.
def named_members(self, members, prefix, recurse, remove_duplicate):
    for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
        for name, member in members(module).items():
            if member is not None:
                yield f"{path}.{name}" if path else name, member


# %% mutant="modules_names"
# Yields empty entries
# `Linear(bias=False)` has an entry for a bias, but its value is None.
def named_members(self, members, prefix, recurse, remove_duplicate):
    seen = set()
    for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
        for name, member in members(module).items():
            if member in seen:
                continue
            if remove_duplicate:
                seen.add(member)
            yield f"{path}.{name}" if path else name, member


# %% mutant="modules_names"
# Always recurses
# `recurse=False` asks for the module's own entries only.
def named_members(self, members, prefix, recurse, remove_duplicate):
    seen = set()
    for path, module in self.named_modules(None, prefix, remove_duplicate):
        for name, member in members(module).items():
            if member is None or member in seen:
                continue
            if remove_duplicate:
                seen.add(member)
            yield f"{path}.{name}" if path else name, member


# %% mutant="modules_names"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    from minitorch.nn import Module

    return Module.named_modules(self, memo, prefix, remove_duplicate)


# %% [markdown] exercise="modules_state_dict" kind="core" points="1 2" part="mytorch.nn.module:Module.saved_members mytorch.nn.module:Module.state_dict | mytorch.nn.module:Module.load_state_dict mytorch.nn.module:load"
# ### Exercise 4 · State dicts, both ways
# `state_dict` is a single call of `named_members`: your `saved_members` selects the entries of each module, and a
# shared tensor is needed under both names. Here `prefix` is put before each name unchanged, so `"net."` includes its
# own dot.
#
# `load_state_dict` goes the other way. Your function `load(name, target, source)` copies one tensor into the model's
# own, or returns an error message. Load everything that fits before you raise an error. List unexpected names in the
# order of the dict, and everything else in the order of the module. Return `_IncompatibleKeys(missing, unexpected)`, and leave
# the given dict unchanged.


# %% docstrings="modules_state_dict"
def saved_members():
    """Return this module's own parameters and persistent buffers in one dict.

    `self._not_saved` contains the names of the buffers that aren't persistent.
    """


def state_dict():
    """Return all parameters and persistent buffers by their full names. They share the module's memory.

    `saved_members` selects the entries of each module. A tensor that has two names is in the dict twice. Tensors
    are detached, unless `keep_vars` is true.
    """


def load_state_dict():
    """Copy the tensors of a state dict into the parameters and buffers of the same names.

    Returns the names that are missing from the dict, and its unexpected names. Everything that fits is loaded, even
    if an error is raised: `load(name, target, source)` loads one tensor and returns "", or returns an error message.

    Raises:
        RuntimeError: "Error(s) in loading state_dict for Linear:", followed by the messages, each on a line of its
            own that begins with a tab. If `strict`, 'Missing key(s) in state_dict: "bias". ' comes first, then
            'Unexpected key(s) in state_dict: "scale", "shift". '; the messages of `load` follow.
    """


def load():
    """Copy the tensor `source` of a state dict into the module's own, `target`, without recording it; returns "".

    A parameter that has no shape yet, an `UninitializedParameter`, first gets the source's shape by
    `materialize(shape)`. If `source` can't be loaded, `target` stays as it is and the function returns a message:

    - 'While copying the parameter named "bias", expected torch.Tensor or Tensor-like object from checkpoint but
      received <class 'int'>'
    - "size mismatch for bias: copying a param with shape torch.Size([3]) from checkpoint, the shape in current model is
      torch.Size([2])."
    """


# %% check="modules_state_dict" raises="RuntimeError"
generator = check.rng()
mytorch.manual_seed(check.seed())
model, saved = family(mytorch), family(mytorch)
state = model.state_dict()
with mytorch.no_grad():
    model.first.weight.fill_(float(generator.integers(2, 9)))
    for each in (*saved.parameters(), *saved.buffers()):
        each.add_(float(generator.integers(2, 9)))
source = OrderedDict((name, each.detach().clone()) for name, each in saved.state_dict().items())
kept = model.state_dict(keep_vars=True)
lazy, fixed = mytorch.nn.LazyLinear(2), mytorch.nn.Linear(3, 2)
lazy_error = check.error(lazy.load_state_dict, fixed.state_dict())
empty_weight, told = mytorch.nn.LazyLinear(2).weight, []
number_error = check.error(lambda: told.append(mytorch.nn.module.load("weight", empty_weight, 3)))
said = []
load_error = check.error(lambda: said.append(mytorch.nn.module.load("bias", mytorch.zeros(2), mytorch.ones(2))))


def loaded(change, strict):
    """What loading a changed state dict says, what fits, all tensors' sums, and whether model and dict stay the same."""
    fresh, given = family(mytorch), OrderedDict(source)
    change(given)
    names, held, answer = list(given), [(each, each.data_ptr()) for each in fresh.parameters()], []
    problem = check.error(lambda: answer.append(fresh.load_state_dict(given, strict=strict)))
    said = f"{type(problem).__name__}: {problem}" if problem else repr(answer[0])
    now = [*fresh.named_parameters(), *fresh.named_buffers()]
    fits = [name for name, each in now if name in source and mytorch.equal(each, source[name])]
    sums = [round(each.sum().item(), 4) for _, each in now]
    same = all(
        one is other and one.data_ptr() == where for (one, where), other in zip(held, fresh.parameters(), strict=True)
    )
    return said, fits, sums, same and list(given) == names


changes = {
    "all match": lambda given: None,
    "two are missing": lambda given: (given.pop("inner.0.count", None), given.pop("again.bias", None)),
    "two too many": lambda given: given.update(more=mytorch.ones(1), extra=mytorch.ones(1)),
    "one missing, one too many": lambda given: given.update(extra=given.pop("first.bias")),
    "another shape": lambda given: given.update({"first.weight": mytorch.ones(2, 4)}),
    "another shape of as many elements": lambda given: given.update({"first.weight": mytorch.ones(3, 2)}),
    "a parameter of float64": lambda given: given.update(
        {"first.weight": mytorch.nn.Parameter(source["first.weight"].double())}
    ),
    "one is None": lambda given: given.update({"inner.1.bias": None}),
    "everything wrong": lambda given: (
        given.pop("first.bias"),
        given.update({"extra": mytorch.ones(1), "first.weight": mytorch.ones(3), "inner.1.weight": 3}),
        given.move_to_end("first.weight"),
    ),
}
check.show(
    {
        "names": list(state),
        "type": type(state).__name__,
        "with a prefix": list(model.state_dict(prefix="net."))[:2],
        "with a prefix that has no dot": list(model.state_dict(prefix="my"))[:2],
        "a write to the model, seen in the state dict": state["first.weight"].tolist(),
        "history": [each.requires_grad for each in state.values()],
        "the model still requires grad": [each.requires_grad for each in model.parameters()],
        "keep_vars": [kept["first.weight"] is model.first.weight, kept["inner.0.count"] is model.inner[0].count],
        "a Linear, from an empty dict": str(check.error(model.first.load_state_dict, {})),
        "a lazy layer, from a Linear": lazy_error
        or [mytorch.equal(lazy.weight, fixed.weight), lazy.bias.requires_grad],
        "a lazy parameter, from a number": [number_error or told[0], repr(empty_weight)],
        "what a Linear saves": list(model.first.saved_members()),
        "what load returns": said if load_error is None else repr(load_error),
    }
    | {
        f"{name}, {'' if strict else 'not '}strict": loaded(change, strict)
        for name, change in changes.items()
        for strict in (True, False)
    },
    text="A state dict. Then, for each load: what it says, what of a new model is the saved one's afterwards,\n"
    "the sum of each of its tensors, and whether its parameters, their memory and the names in the dict stayed the same.",
)

# %% [markdown] hint="modules_state_dict"
# `self.named_members(Module.saved_members, "", True, False)` yields all the names and tensors. Put the prefix before
# each name, and the pairs into an `OrderedDict`, detached unless `keep_vars`.

# %% [markdown] hint="modules_state_dict"
# For loading, `own = self.state_dict(keep_vars=True)`. Missing are the names of `own` that the given dict lacks, and
# unexpected are those that only the dict has. Call `load` for each name that both have, and keep its messages.

# %% [markdown] hint="modules_state_dict"
# If `strict`, up to two lines come before the messages of `load`, missing names first. Join the lines that aren't
# empty with `"\n\t"`, and raise the error if there is one. Otherwise return `_IncompatibleKeys(missing, unexpected)`.


# %% [markdown] hint="modules_state_dict"
# In `load`, test `isinstance(source, Tensor)` first, then handle the lazy parameter, then compare the shapes, and
# finally run `target.copy_(source)` under `no_grad()`. `saved_members` is `self._parameters | {…}`, with the buffers
# whose names aren't in `self._not_saved`.


# %% mutant="modules_state_dict"
# Broadcasts
# `copy_` would broadcast, so a bias of one number silently fits into one of three. The shapes must be equal.
def load(name, target, source):
    if not isinstance(source, Tensor):
        wanted = "torch.Tensor or Tensor-like object from checkpoint"
        return f'While copying the parameter named "{name}", expected {wanted} but received {type(source)}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    with no_grad():
        target.copy_(source)
    return ""


# %% mutant="modules_state_dict"
# Raises at once
# Everything that fits is loaded even if one tensor doesn't fit. Return what is wrong, and let `load_state_dict` raise
# the error.
def load(name, target, source):
    if target.shape != source.shape:
        shapes = f"shape {source.shape} from checkpoint, the shape in current model is {target.shape}"
        raise RuntimeError(f"size mismatch for {name}: copying a param with {shapes}.")
    with no_grad():
        target.copy_(source)
    return ""


# %% mutant="modules_state_dict"
# Saves parameters only
# A running mean isn't a parameter, and a model without it gives other results, so buffers are saved, too.
def saved_members(self):
    return dict(self._parameters)


# %% mutant="modules_state_dict"
# Copies
# The tensors of a state dict share the model's memory, because a copy of a large model would double it.
def state_dict(self, *, prefix="", keep_vars=False):
    named = self.named_members(Module.saved_members, "", True, False)
    return OrderedDict((prefix + name, tensor if keep_vars else tensor.detach().clone()) for name, tensor in named)


# %% mutant="modules_state_dict"
# Returns the parameters themselves
# Without `keep_vars` the tensors are detached, so that nobody trains or backpropagates into what was saved.
def state_dict(self, *, prefix="", keep_vars=False):
    named = self.named_members(Module.saved_members, "", True, False)
    return OrderedDict((prefix + name, tensor) for name, tensor in named)


# %% mutant="modules_state_dict"
# Lists what is shared once
# A state dict contains both names of a shared tensor, because the model that loads it may not share.
def state_dict(self, *, prefix="", keep_vars=False):
    named = self.named_members(Module.saved_members, "", True, True)
    return OrderedDict((prefix + name, tensor if keep_vars else tensor.detach()) for name, tensor in named)


# %% mutant="modules_state_dict"
# Saves all buffers
# A buffer that was registered with `persistent=False` stays out of the state dict.
def state_dict(self, *, prefix="", keep_vars=False):
    everything = self.named_members(lambda each: each._parameters | each._buffers, "", True, False)
    return OrderedDict((prefix + name, tensor if keep_vars else tensor.detach()) for name, tensor in everything)


# %% mutant="modules_state_dict"
# Stops at the names
# It raises an error about names before it loads anything, while PyTorch loads what fits first.
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state_dict]
    unexpected = [name for name in state_dict if name not in own]
    errors = []
    if strict:
        for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
            listed = ", ".join(f'"{name}"' for name in names)
            errors.insert(0, f"{kind} key(s) in state_dict: {listed}. " if names else "")
    if not any(errors):
        errors += [load(name, target, state_dict[name]) for name, target in own.items() if name in state_dict]
    if any(errors):
        listed = "\n\t".join(filter(None, errors))
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
    return _IncompatibleKeys(missing, unexpected)


# %% mutant="modules_state_dict"
# Sorts the names
# Missing names come in the order of the module and unexpected ones in that of the dict; neither order is
# alphabetical.
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing, unexpected = sorted(own.keys() - state_dict.keys()), sorted(state_dict.keys() - own.keys())
    errors = [load(name, target, state_dict[name]) for name, target in own.items() if name in state_dict]
    if strict:
        for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
            listed = ", ".join(f'"{name}"' for name in names)
            errors.insert(0, f"{kind} key(s) in state_dict: {listed}. " if names else "")
    if any(errors):
        listed = "\n\t".join(filter(None, errors))
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
    return _IncompatibleKeys(missing, unexpected)


# %% mutant="modules_state_dict"
# Always strict
# `strict=False` is meant for transfer learning: it returns the names and doesn't raise an error for them.
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state_dict]
    unexpected = [name for name in state_dict if name not in own]
    errors = [load(name, target, state_dict[name]) for name, target in own.items() if name in state_dict]
    for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
        listed = ", ".join(f'"{name}"' for name in names)
        errors.insert(0, f"{kind} key(s) in state_dict: {listed}. " if names else "")
    if any(errors):
        listed = "\n\t".join(filter(None, errors))
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
    return _IncompatibleKeys(missing, unexpected)


# %% mutant="modules_state_dict"
# Ignores all errors when not strict
# `strict=False` tolerates names only. A tensor of another shape can't be loaded, and that still raises an error.
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state_dict]
    unexpected = [name for name in state_dict if name not in own]
    errors = [load(name, target, state_dict[name]) for name, target in own.items() if name in state_dict]
    for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
        listed = ", ".join(f'"{name}"' for name in names)
        errors.insert(0, f"{kind} key(s) in state_dict: {listed}. " if names else "")
    if strict and any(errors):
        listed = "\n\t".join(filter(None, errors))
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
    return _IncompatibleKeys(missing, unexpected)


# %% mutant="modules_state_dict"
# Adds a dot
# A prefix is put before the names as it is. The caller of `state_dict` includes the dot, or doesn't want one.
def state_dict(self, *, prefix="", keep_vars=False):
    named = self.named_members(Module.saved_members, prefix.removesuffix("."), True, False)
    return OrderedDict((name, tensor if keep_vars else tensor.detach()) for name, tensor in named)


# %% mutant="modules_state_dict"
# Freezes the model
# `requires_grad_` changes the parameter itself, while `detach()` returns another tensor on the same memory.
def state_dict(self, *, prefix="", keep_vars=False):
    named = self.named_members(Module.saved_members, "", True, False)
    return OrderedDict((prefix + name, tensor if keep_vars else tensor.requires_grad_(False)) for name, tensor in named)


# %% mutant="modules_state_dict"
# Keeps parameters only
# `keep_vars` applies to everything in the dict, so with it the buffers are the module's own tensors, too.
def state_dict(self, *, prefix="", keep_vars=False):
    named = self.named_members(Module.saved_members, "", True, False)
    return OrderedDict(
        (prefix + name, tensor if keep_vars and tensor.requires_grad else tensor.detach()) for name, tensor in named
    )


# %% mutant="modules_state_dict"
# Empties the given dict
# The names that were found are removed from the caller's dict, so it can't be loaded a second time.
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state_dict]
    errors = [load(name, target, state_dict.pop(name)) for name, target in own.items() if name in state_dict]
    unexpected = list(state_dict)
    if strict:
        for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
            listed = ", ".join(f'"{name}"' for name in names)
            errors.insert(0, f"{kind} key(s) in state_dict: {listed}. " if names else "")
    if any(errors):
        listed = "\n\t".join(filter(None, errors))
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
    return _IncompatibleKeys(missing, unexpected)


# %% mutant="modules_state_dict"
# Loads in the order of the dict
# Messages come in the order of the module, whatever the order of the dict.
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state_dict]
    unexpected = [name for name in state_dict if name not in own]
    errors = [load(name, own[name], source) for name, source in state_dict.items() if name in own]
    if strict:
        for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
            listed = ", ".join(f'"{name}"' for name in names)
            errors.insert(0, f"{kind} key(s) in state_dict: {listed}. " if names else "")
    if any(errors):
        listed = "\n\t".join(filter(None, errors))
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
    return _IncompatibleKeys(missing, unexpected)


# %% mutant="modules_state_dict"
# Forgets the buffers
# A state dict contains buffers, too. A running mean that isn't loaded is 0 again.
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state_dict]
    unexpected = [name for name in state_dict if name not in own]
    named = self.named_parameters(remove_duplicate=False)
    errors = [load(name, target, state_dict[name]) for name, target in named if name in state_dict]
    if strict:
        for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
            listed = ", ".join(f'"{name}"' for name in names)
            errors.insert(0, f"{kind} key(s) in state_dict: {listed}. " if names else "")
    if any(errors):
        listed = "\n\t".join(filter(None, errors))
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
    return _IncompatibleKeys(missing, unexpected)


# %% mutant="modules_state_dict"
# Adopts the dict's memory
# The parameters use the memory of the loaded tensors now, so a step of the optimizer changes the checkpoint, and
# whoever held the old memory no longer sees the model. Loading has to copy values.
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state_dict]
    unexpected = [name for name in state_dict if name not in own]
    errors = []
    for name, target in own.items():
        if name in state_dict:
            errors.append(load(name, target.detach().clone(), state_dict[name]))
            if not errors[-1]:
                target.data = state_dict[name]
    if strict:
        for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
            listed = ", ".join(f'"{name}"' for name in names)
            errors.insert(0, f"{kind} key(s) in state_dict: {listed}. " if names else "")
    if any(errors):
        listed = "\n\t".join(filter(None, errors))
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
    return _IncompatibleKeys(missing, unexpected)


# %% mutant="modules_state_dict"
# Stops at the first error
# Load everything that fits, and report everything that is wrong. Otherwise a user would find one wrong name per run.
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state_dict]
    unexpected = [name for name in state_dict if name not in own]
    errors = []
    for name, target in own.items():
        if name in state_dict and not any(errors):
            errors.append(load(name, target, state_dict[name]))
    if strict:
        for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
            listed = ", ".join(f'"{name}"' for name in names)
            errors.insert(0, f"{kind} key(s) in state_dict: {listed}. " if names else "")
    if any(errors):
        listed = "\n\t".join(filter(None, errors))
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
    return _IncompatibleKeys(missing, unexpected)


# %% mutant="modules_state_dict"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def load_state_dict(self, state_dict, strict=True):
    from minitorch.nn import Module

    return Module.load_state_dict(self, state_dict, strict)


# %% [markdown] exercise="modules_linear" kind="core" points="1 1 1" part="mytorch.nn.linear:linear mytorch.nn.linear:Linear.__init__ mytorch.nn.linear:Linear.forward | mytorch.nn.init:draw mytorch.nn.linear:Linear.reset_parameters | mytorch.nn.linear:bilinear"
# ### Exercise 5 · Linear layers
# Write `nn.Linear`. `linear` computes $y = x W^\top + b$ on the last dimension of an input with any number of
# dimensions. The layer creates its two parameters with `empty(..., **where)`, so that a requested dtype or device
# reaches both, and leaves their initial values to `reset_parameters`. That function calls `draw`, which convolutions
# and recurrent layers use, too. `uniform_(tensor, low, high)` overwrites a tensor with random numbers, and autograd
# doesn't record it.
#
# Then go one step further: `bilinear` computes $x_1^\top W_k\, x_2 + b_k$ for each output $k$. Write no loop, because
# the check counts the nodes of the graph, and more outputs or rows must not need more nodes. `matmul` broadcasts
# everything before the last two dimensions, so give the inputs dimensions with which a single call multiplies by every
# $W_k$.


# %% docstrings="modules_linear"
def linear():
    """Compute x Wᵀ + b on the last dimension: (..., in) to (..., out).

    `weight` has shape (out, in), and `bias` has shape (out,) or is None.
    """


def __init__():
    """Register `weight` (out_features, in_features), then `bias` (out_features,), as parameters.

    Both sizes become attributes. Without a bias, the name `bias` is still registered, as None. `where` (a dtype, a
    device) is passed on to `empty`. At the end `reset_parameters` draws the initial values.
    """


def forward():
    """Apply the layer to the last dimension of the input, by a call of `linear`."""


def draw():
    """Overwrite the parameters, in the given order, with values drawn uniformly from ±1 / √inputs.

    If there are no inputs, the bound is 0.
    """


def reset_parameters():
    """Draw weight and bias again. Both stay the same objects."""


def bilinear():
    """Compute x₁ᵀ Wₖ x₂ + bₖ for each output k, on the last dimensions: (..., in1) and (..., in2) to (..., out).

    `weight` has shape (out, in1, in2): a matrix for each output. `bias` has shape (out,).
    """


# %% check="modules_linear"
generator = check.rng()
left, right, outputs = (int(size) for size in generator.permutation([2, 3, 4]))
functional, tables = mytorch.nn.functional, ("_parameters", "_modules", "_buffers")


def made(*sizes, **options):
    """A new layer, drawn from the seed, or the error."""
    mytorch.manual_seed(check.seed())
    answer = []
    problem = check.error(lambda: answer.append(mytorch.nn.Linear(*sizes, **options)))
    return problem or answer[0]


def about(name, layer):
    """How a layer prints, what is in its tables, and what its parameters are."""
    if isinstance(layer, Exception):
        return {name: f"{type(layer).__name__}: {layer}"}
    places = {table: list(getattr(layer, table)) for table in tables}
    facts = [(each, tuple(p.shape), p.dtype, p.requires_grad, p.is_leaf) for each, p in layer.named_parameters()]
    return {name: repr(layer), f"{name}: names": places, f"{name}: parameters": facts}


def inputs(*sizes, dtype=mytorch.float64):
    """Tensors of these shapes that all require grad."""
    return [mytorch.tensor(generator.normal(size=size).round(2), dtype=dtype).requires_grad_() for size in sizes]


def product(name, call, given):
    """The result, or the error, and the gradients of all that was given."""
    answer = []
    problem = check.error(lambda: answer.append(check.intact(call, *given)))
    check.error(lambda: (answer[0] * answer[0]).sum().backward())
    result = f"{type(problem).__name__}: {problem}" if problem else answer[0].detach()
    return {name: result, f"{name}: gradients": [each.grad for each in given]}


def nodes(rows, outputs):
    """How many nodes the graph of a bilinear result has."""
    found, given = [], inputs((rows, left), (rows, right), (outputs, left, right), (outputs,))
    check.error(lambda: found.append(functional.bilinear(*given).grad_fn))
    for node in found:
        found += [other for other, _ in getattr(node, "next_functions", ()) if other and other not in found]
    return len(found)


def bilinear_of(name, shape, outputs, given=4, dtype=mytorch.float64):
    sizes = (*shape, left), (*shape, right), (outputs, left, right), (outputs,)
    return product(name, functional.bilinear, inputs(*sizes, dtype=dtype)[:given])


def linear_of(name, shape, given=3, dtype=mytorch.float64):
    sizes = (*shape, left), (outputs, left), (outputs,)
    return product(name, functional.linear, inputs(*sizes, dtype=dtype)[:given])


def redrawn():
    """Whether the parameters stay the same objects, their values with the seed again, and whether there is a history."""
    layer = mytorch.nn.Linear(left, outputs)
    held = list(layer.parameters())
    mytorch.manual_seed(check.seed())
    problem = check.error(layer.reset_parameters)
    now = list(layer.parameters())
    same = len(held) == len(now) and all(one is other for one, other in zip(held, now, strict=True))
    return str(problem), same, [each.detach() for each in now], [each.requires_grad and each.is_leaf for each in now]


class Even(mytorch.nn.Linear):
    """A layer that begins with ones."""

    def reset_parameters(self):
        with mytorch.no_grad():
            for parameter in self.parameters():
                parameter.fill_(1.0)


def drawn(shapes, inputs):
    """What `draw` leaves in tensors of ones."""
    mytorch.manual_seed(check.seed())
    tensors = [mytorch.ones(shape) for shape in shapes]
    problem = check.error(mytorch.nn.init.draw, iter(tensors), inputs)
    return f"{type(problem).__name__}: {problem}" if problem else tensors


even = []
uneven = check.error(lambda: even.extend(Even(left, outputs).parameters()))
layer, bare = made(left, outputs), made(left, outputs, bias=False)
called = [
    product(name, each, inputs((2, left), dtype=mytorch.float32)) for name, each in (("call", layer), ("bare", bare))
]
again = product("call with another input", layer, inputs((2, left), dtype=mytorch.float32))
reached = [each.grad for one in (layer, bare) if not isinstance(one, Exception) for each in one.parameters()]
check.show(
    {"sizes": (left, right, outputs)}
    | about("a layer", layer)
    | {"weight": getattr(layer, "weight", None), "bias": getattr(layer, "bias", None)}
    | about("without a bias", bare)
    | about("of float64", made(left, outputs, dtype=mytorch.float64))
    | about("of one feature", made(1, 1))
    | product("call on one row of three dimensions", made(left, outputs), inputs((1, 1, left), dtype=mytorch.float32))
    | called[0]
    | called[1]
    | again
    | {"gradients of both layers' parameters": reached}
    | linear_of("a row", ())
    | linear_of("a batch", (5,))
    | linear_of("a batch of rows", (2, 3))
    | linear_of("a batch of one row", (1,))
    | linear_of("an empty batch", (0,))
    | linear_of("linear without a bias", (2,), 2)
    | {"drawn anew": redrawn()}
    | {"a subclass that begins with ones": [each.detach() for each in even] if uneven is None else repr(uneven)}
    | {"draw": drawn(((3, 2), (2,)), left), "draw for one input": drawn(((4,),), 1), "draw for none": drawn(((2,),), 0)}
    | bilinear_of("one pair", (), outputs)
    | bilinear_of("a batch of pairs", (5,), outputs)
    | bilinear_of("a batch of one pair", (1,), outputs)
    | bilinear_of("an empty batch of pairs", (0,), outputs)
    | bilinear_of("rows of pairs", (2, 3), outputs)
    | bilinear_of("one output", (2,), 1)
    | bilinear_of("bilinear without a bias", (2,), outputs, 3)
    | bilinear_of("of float32", (2,), outputs, dtype=mytorch.float32)
    | {
        "more nodes for more outputs": nodes(2, 9) > nodes(2, 3),
        "more nodes for more rows": nodes(9, 2) > nodes(3, 2),
    },
    rtol=1e-4,
    atol=1e-5,
    text="Layers: their names, parameters and initial values. Then results, and the gradients of all inputs.",
)

# %% [markdown] hint="modules_linear"
# One row times the weight is a sum over `in`. Which dimension of the weight has that length, and where does a matrix
# multiplication need it? In `__init__`, nothing may be assigned before the tables of the module exist.

# %% [markdown] hint="modules_linear"
# `linear` is `matmul(input, weight.T)`, plus the bias if it `is not None`. `super().__init__()` comes first in
# `__init__`, and without a bias you call `self.register_parameter("bias", None)`. For `bilinear`, one pair and one
# output are a row times a matrix times a column, (1, in1) @ (in1, in2) @ (in2, 1), so make `input1` (..., 1, 1, in1)
# and `input2` (..., 1, in2, 1).

# %% [markdown] hint="modules_linear"
# Write `self.weight = Parameter(empty(out_features, in_features, **where))`. `draw(self.parameters(),
# self.in_features)` has the bound `1 / math.sqrt(inputs) if inputs > 0 else 0.0`. In `bilinear`, `rows =
# input1.unsqueeze(-2).unsqueeze(-2)` and `columns = input2.unsqueeze(-2).unsqueeze(-1)`; squeeze the last two
# dimensions of the result of both multiplications, (..., out, 1, 1).


# %% mutant="modules_linear"
# Stores the weight as (in, out)
# The values fit, but the shape is TensorFlow's. PyTorch's weight has a row for each output, so a state dict from
# PyTorch wouldn't load.
def __init__(self, in_features, out_features, bias=True, **where):
    super().__init__()
    self.in_features, self.out_features = in_features, out_features
    self.weight = Parameter(empty(in_features, out_features, **where))
    self.register_parameter("bias", Parameter(empty(out_features, **where)) if bias else None)
    self.reset_parameters()


def forward(self, input):
    return linear(input, self.weight.T, self.bias)


# %% mutant="modules_linear"
# Multiplies by the weight as it is
# The weight is (out, in), with a row for each output. It has to be transposed, so that the last dimension of the
# input meets `in`.
def linear(input, weight, bias=None):
    product = matmul(input, weight)
    return product if bias is None else product + bias


# %% mutant="modules_linear"
# Works for a batch of rows only
# An input may have one dimension or five, and all but the last one are the batch.
def linear(input, weight, bias=None):
    rows, columns = input.shape
    product = matmul(input.reshape(rows, columns), weight.T)
    return product if bias is None else product + bias


# %% mutant="modules_linear"
# Leaves out the bias
# The product is right, but the bias, a number for each output, has to be added where there is one.
def linear(input, weight, bias=None):
    return matmul(input, weight.T)


# %% mutant="modules_linear"
# Detaches the weight
# The result is right, but the layer never learns, because no gradient reaches the weight.
def linear(input, weight, bias=None):
    product = matmul(input, weight.detach().T)
    return product if bias is None else product + bias


# %% mutant="modules_linear"
# Creates plain tensors
# A tensor that requires grad gets a gradient, but only a Parameter is in `parameters()`, so these are neither trained
# nor saved.
def __init__(self, in_features, out_features, bias=True, **where):
    super().__init__()
    self.in_features, self.out_features = in_features, out_features
    self.weight = empty(out_features, in_features, **where).requires_grad_()
    self.bias = empty(out_features, **where).requires_grad_() if bias else None
    for each in (self.weight,) if self.bias is None else (self.weight, self.bias):
        draw([each], in_features)


# %% mutant="modules_linear"
# An ordinary None for a bias
# Without a bias the name still has an empty entry in the table, so a tensor that is assigned to it later is refused.
def __init__(self, in_features, out_features, bias=True, **where):
    super().__init__()
    self.in_features, self.out_features = in_features, out_features
    self.weight = Parameter(empty(out_features, in_features, **where))
    self.bias = Parameter(empty(out_features, **where)) if bias else None
    self.reset_parameters()


# %% mutant="modules_linear"
# The bias first
# `parameters()` returns them in the order of registration. A saved optimizer relies on it, and random numbers are
# drawn in it.
def __init__(self, in_features, out_features, bias=True, **where):
    super().__init__()
    self.in_features, self.out_features = in_features, out_features
    self.register_parameter("bias", Parameter(empty(out_features, **where)) if bias else None)
    self.weight = Parameter(empty(out_features, in_features, **where))
    self.reset_parameters()


# %% mutant="modules_linear"
# Forgets the dtype
# `where` contains the requested dtype or device. Without it a float64 layer is float32, and one for the GPU is on the
# CPU.
def __init__(self, in_features, out_features, bias=True, **where):
    super().__init__()
    self.in_features, self.out_features = in_features, out_features
    self.weight = Parameter(empty(out_features, in_features))
    self.register_parameter("bias", Parameter(empty(out_features)) if bias else None)
    self.reset_parameters()


# %% mutant="modules_linear"
# Never draws
# `empty` reserves memory and writes nothing into it, so the contents aren't random and may be nan.
def __init__(self, in_features, out_features, bias=True, **where):
    from mytorch.creation import zeros

    super().__init__()
    self.in_features, self.out_features = in_features, out_features
    self.weight = Parameter(zeros(out_features, in_features, **where))
    self.register_parameter("bias", Parameter(zeros(out_features, **where)) if bias else None)


# %% mutant="modules_linear"
# Multiplies in `forward` and forgets that a bias may be None
# `+ self.bias` raises an error where there is none, while `linear` checks for that.
def forward(self, input):
    return matmul(input, self.weight.T) + self.bias


# %% mutant="modules_linear"
# Divides by the number of inputs, not its root
# A sum of n terms has a standard deviation that grows with √n, so 1/√n keeps its size, while with 1/n the output
# vanishes.
def draw(parameters, inputs):
    bound = 1 / inputs if inputs > 0 else 0.0
    for parameter in parameters:
        uniform_(parameter, -bound, bound)


# %% mutant="modules_linear"
# Uses the bound as the standard deviation
# The values lie between ±1/√inputs, so their standard deviation is smaller by a factor of √3. This bound is
# √3/√inputs.
def draw(parameters, inputs):
    bound = math.sqrt(3 / inputs) if inputs > 0 else 0.0
    for parameter in parameters:
        uniform_(parameter, -bound, bound)


# %% mutant="modules_linear"
# Never below zero
# `uniform_(tensor, 0, bound)` has a mean of bound / 2, so every output would begin far from 0. The range is ±bound.
def draw(parameters, inputs):
    bound = 1 / math.sqrt(inputs) if inputs > 0 else 0.0
    for parameter in parameters:
        uniform_(parameter, 0.0, bound)


# %% mutant="modules_linear"
# Divides by zero
# A layer may have no inputs, for instance a lazy one before its first batch. Its bound is 0.
def draw(parameters, inputs):
    bound = 1 / math.sqrt(inputs)
    for parameter in parameters:
        uniform_(parameter, -bound, bound)


# %% mutant="modules_linear"
# Starts the bias at zero
# TensorFlow's Dense does this, but PyTorch's Linear draws the bias from the same range as the weight.
def reset_parameters(self):
    draw([self.weight], self.in_features)
    if self.bias is not None:
        self.bias.detach().zero_()


# %% mutant="modules_linear"
# Counts the outputs
# The bound depends on what one output adds up, which is the inputs: the second dimension of the weight.
def reset_parameters(self):
    draw(self.parameters(), self.out_features)


# %% mutant="modules_linear"
# Creates new parameters
# An optimizer that was created before holds the old ones, and it would update parameters that no layer uses.
# Overwrite them.
def reset_parameters(self):
    self.weight = Parameter(self.weight.detach().clone())
    if self.bias is not None:
        self.bias = Parameter(self.bias.detach().clone())
    draw(self.parameters(), self.in_features)


# %% mutant="modules_linear"
# Every row with every row
# This multiplies all pairs of the batch, although row i of the first input belongs to row i of the second and to no
# other.
def bilinear(input1, input2, weight, bias=None):
    products = matmul(matmul(input1, weight), input2.transpose(-2, -1))
    return products if bias is None else products + bias.unsqueeze(-1).unsqueeze(-1)


# %% mutant="modules_linear"
# Only one batch dimension
# It works for a batch of rows only; a single pair or a batch of batches doesn't fit.
def bilinear(input1, input2, weight, bias=None):
    n, m = input1.shape
    products = matmul(matmul(input1.reshape(n, 1, 1, m), weight), input2.reshape(n, 1, -1, 1)).reshape(n, -1)
    return products if bias is None else products + bias


# %% mutant="modules_linear"
# Forgets the bias
# The products are right, but the bias, one number for each output, has to be added where there is one.
def bilinear(input1, input2, weight, bias=None):
    rows, columns = input1.unsqueeze(-2).unsqueeze(-2), input2.unsqueeze(-2).unsqueeze(-1)
    return matmul(matmul(rows, weight), columns).squeeze((-2, -1))


# %% mutant="modules_linear"
# Squeezes everything
# `squeeze()` without dimensions removes a batch of one, too. Only the last two dimensions come from the
# multiplications.
def bilinear(input1, input2, weight, bias=None):
    rows, columns = input1.unsqueeze(-2).unsqueeze(-2), input2.unsqueeze(-2).unsqueeze(-1)
    products = matmul(matmul(rows, weight), columns).squeeze()
    return products if bias is None else products + bias


# %% mutant="modules_linear"
# A sum of two linear maps
# It adds what each input gives by itself, while a bilinear map multiplies them: twice both inputs is four times the
# result.
def bilinear(input1, input2, weight, bias=None):
    first, second = matmul(input1, weight.sum(2).T), matmul(input2, weight.sum(1).T)
    return first + second if bias is None else first + second + bias


# %% mutant="modules_linear"
# Loops over the outputs
# Each output creates nodes of its own, so 1000 outputs create thousands. A single multiplication by the whole weight
# is enough.
def bilinear(input1, input2, weight, bias=None):
    from ..joining import stack

    products = stack([(matmul(input1, each) * input2).sum(-1) for each in weight], -1)
    return products if bias is None else products + bias


# %% mutant="modules_linear"
# Leaves the graph
# NumPy's arrays have no history, so neither the weight nor the layers before it get a gradient.
def bilinear(input1, input2, weight, bias=None):
    import numpy as np

    from ..creation import from_numpy

    arrays = [each.detach().numpy() for each in (input1, weight, input2)]
    products = from_numpy(np.asarray(np.einsum("...i,kij,...j->...k", *arrays)))
    return products if bias is None else products + bias.detach()


# %% mutant="modules_linear"
# Detaches the inputs
# The layer itself learns, but no gradient reaches the layers before it.
def bilinear(input1, input2, weight, bias=None):
    rows, columns = input1.detach().unsqueeze(-2).unsqueeze(-2), input2.detach().unsqueeze(-2).unsqueeze(-1)
    products = matmul(matmul(rows, weight), columns).squeeze((-2, -1))
    return products if bias is None else products + bias


# %% mutant="modules_linear"
# Makes everything float32
# The result has the dtype of the inputs, and a model in float64 stays in float64.
def bilinear(input1, input2, weight, bias=None):
    rows, columns = input1.float().unsqueeze(-2).unsqueeze(-2), input2.float().unsqueeze(-2).unsqueeze(-1)
    products = matmul(matmul(rows, weight.float()), columns).squeeze((-2, -1))
    return products if bias is None else products + bias.float()


# %% mutant="modules_linear"
# Tests whether the bias is truthy
# `if bias` converts a tensor to a boolean, which is an error with several elements, and wrong with a single 0. Test
# `is not None`.
def bilinear(input1, input2, weight, bias=None):
    rows, columns = input1.unsqueeze(-2).unsqueeze(-2), input2.unsqueeze(-2).unsqueeze(-1)
    products = matmul(matmul(rows, weight), columns).squeeze((-2, -1))
    return products + bias if bias else products


# %% mutant="modules_linear"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def linear(input, weight, bias=None):
    from minitorch.nn import functional

    return functional.linear(input, weight, bias)


# %% [markdown] exercise="modules_repair_centre" kind="repair" points=2
# ### Exercise 6 · The layer that forgets
# `Centre` subtracts a running mean of its inputs. It works in training, but two colleagues complain: a model that was
# saved and loaded gives different results, and after `model.half()` the next layer refuses the output of `Centre`. Fix
# it without changing the training: the running mean remains `self.mean`, and an optimizer must not update it. As with
# PyTorch's own layers, a state dict that was taken before a batch shows the mean after it.


# %% solution="modules_repair_centre"
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        ### BEGIN SOLUTION
        self.register_buffer("mean", torch.zeros(features))
        ### END SOLUTION
        ### BEGIN STUB
        # self.mean = torch.zeros(features)
        ### END STUB

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            now = x.detach().mean(0)
            self.mean += self.momentum * (now - self.mean)
        return x - self.mean


# %% check="modules_repair_centre"
torch.manual_seed(check.seed())
features = int(check.rng().integers(2, 6))
momentum = round(float(check.rng().uniform(0.2, 0.8)), 2)
data = torch.randn(8, features) + 3
layer, fresh = Centre(features, momentum), Centre(features, momentum)
early = layer.state_dict().get("mean")
for rows in data.split(4):
    layer(rows)
tracked, given = Centre(features, momentum), data.clone().requires_grad_()
in_training = tracked(given)
check.error((in_training * data).sum().backward)
model, empty = nn.Sequential(layer).eval(), nn.Sequential(fresh).eval()
answer = model(data[:2])
problem = check.error(empty.load_state_dict, model.state_dict())
loaded = empty(data[:2])
trained = [name for name, _ in model.named_parameters()]
saved, twins = list(model.state_dict()), []
no_copy = check.error(lambda: twins.append(copy.deepcopy(model)))
seen = None if early is None else early.detach().clone()
model.half()
check.show(
    {
        "features": features,
        "momentum": momentum,
        "output in training": in_training.detach(),
        "gradient of its input": given.grad,
        "output of a layer of one feature": Centre(1, momentum)(data[:, :1]),
        "the mean has a history": tracked.mean.requires_grad,
        "answer": answer,
        "loading raises": type(problem).__name__ if problem else "nothing",
        "answer of the loaded one": loaded,
        "to train": trained,
        "to save": saved,
        "answer of a copy": twins[0](data[:2]) if twins else type(no_copy).__name__,
        "the mean in a state dict from before the batches": seen,
        "mean after half()": layer.mean.dtype,
        "answer after half()": model(data[:2].half()).dtype,
        "answer in training after half()": model.train()(data.half()).dtype,
        "mean after that": layer.mean.dtype,
    },
    text="A model of one such layer that has seen two batches, saved and loaded, copied, and converted to float16.",
)

# %% [markdown] hint="modules_repair_centre"
# Which of the values in `__init__` are in the state dict? Print it to see.

# %% [markdown] hint="modules_repair_centre"
# The mean has to be saved and moved with the module, but not trained, and a module has a table for tensors of this
# sort.

# %% [markdown] hint="modules_repair_centre"
# Register the mean with the method that the lesson used for running averages. The line in `forward` can stay, because
# `+=` writes into the tensor.


# %% mutant="modules_repair_centre"
# A parameter
# It is saved and moved, but it is also in `parameters()`, so an optimizer with weight decay would shrink it.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.mean = nn.Parameter(torch.zeros(features), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            now = x.detach().mean(0)
            self.mean.data += self.momentum * (now - self.mean.data)
        return x - self.mean


# %% mutant="modules_repair_centre"
# A buffer that isn't saved
# `persistent=False` keeps it out of the state dict, so the loaded model starts with zeros again.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            now = x.detach().mean(0)
            self.mean += self.momentum * (now - self.mean)
        return x - self.mean


# %% mutant="modules_repair_centre"
# Rebinds the name to a new tensor
# It is saved and moved now, but each batch replaces the tensor of the buffer. Whoever held the old one, such as an
# earlier state dict, keeps the old values. Write into the buffer.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            now = x.detach().mean(0)
            self.mean = self.mean + self.momentum * (now - self.mean)
        return x - self.mean


# %% mutant="modules_repair_centre"
# Doesn't detach
# Without `detach()` the mean keeps the history of every batch, so training gets slower and takes more memory.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            now = x.mean(0)
            self.mean += self.momentum * (now - self.mean)
        return x - self.mean


# %% mutant="modules_repair_centre"
# Subtracts the batch's mean in training
# It is saved and moved now, but training has changed: the layer has to subtract the running mean in both modes.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x - self.mean
        now = x.detach().mean(0)
        self.mean = self.mean + self.momentum * (now - self.mean)
        return x - now


# %% mutant="modules_repair_centre"
# Detaches the input
# The mean has no history, but neither has the result, so no gradient reaches the layers before.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.detach()
        if self.training:
            self.mean += self.momentum * (x.mean(0) - self.mean)
        return x - self.mean


# %% mutant="modules_repair_centre"
# Saves by its own methods
# The layer works alone. In a model, however, the outer `state_dict` and `half` look at the tables and find nothing.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.mean = torch.zeros(features)

    def state_dict(self, *args, **kwargs):
        return {"mean": self.mean}

    def load_state_dict(self, state_dict, strict=True):
        self.mean = state_dict["mean"].clone()

    def half(self):
        self.mean = self.mean.half()
        return super().half()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            now = x.detach().mean(0)
            self.mean += self.momentum * (now - self.mean)
        return x - self.mean


# %% mutant="modules_repair_centre"
# Converts back
# `half()` converts the buffer, and the next batch in training makes it float32 again, although the module decides
# about its dtype.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            now = x.detach().float().mean(0)
            self.mean = self.mean.float() + self.momentum * (now - self.mean)
        return (x - self.mean).to(x.dtype)


# %% mutant="modules_repair_centre"
# Converts at each call
# The dtypes match, but the mean still isn't saved, and it isn't registered in the module.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.mean = torch.zeros(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.mean = self.mean.to(x.dtype)
        if self.training:
            now = x.detach().mean(0)
            self.mean += self.momentum * (now - self.mean)
        return x - self.mean


# %% [markdown] exercise="modules_measure_survivors" kind="measure" points=2
# ### Exercise 7 · What survives?
# You created an optimizer, kept a reference to `model.weight`, or kept `model.weight.data`, and then something happens
# to the model. Which of your references are still valid? Write the experiment. `change(model)` does something to a new
# `nn.Linear(3, 2)` and returns the model to go on with. Answer two questions about its weight:
#
# 1. Is `weight` still the same *object* as before?
# 2. Does it still use the same *memory* as before?
#
# Hold on to the old memory while you compare, because an address that is no longer in use is soon reused.


# %% solution="modules_measure_survivors"
def survivors(change) -> list[bool]:
    """Whether the weight of a new nn.Linear(3, 2) stays the same object, and keeps its memory."""
    ### BEGIN SOLUTION
    model = nn.Linear(3, 2)
    weight, memory = model.weight, model.weight.data
    model = change(model)
    return [model.weight is weight, model.weight.data_ptr() == memory.data_ptr()]
    ### END SOLUTION


# %% check="modules_measure_survivors"
torch.manual_seed(check.seed())
number = float(check.rng().integers(2, 9))


def step(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return model


def on_a_vector(model):
    nn.utils.vector_to_parameters(torch.full((8,), number), model.parameters())
    return model


def replaced(model):
    model.weight = nn.Parameter(torch.full((2, 3), number))
    return model


def rewrapped(model):
    model.weight = nn.Parameter(model.weight.data)
    return model


def loaded(model):
    model.load_state_dict(nn.Linear(3, 2).state_dict())
    return model


def at_the_old_address(model):
    """Gives the weight other memory: that of its old numbers, if nobody holds it any more."""
    address = model.weight.data_ptr()
    model.weight.data = model.weight.data.double()
    others = [torch.empty(2, 3) for _ in range(50)]
    model.weight.data = next((each for each in others if each.data_ptr() == address), others[0])
    return model


changes = {
    "nothing": lambda model: model,
    "an optimizer's step": step,
    "load_state_dict": loaded,
    "double()": lambda model: model.double(),
    "float(), already float32": lambda model: model.float(),
    "half().float()": lambda model: model.half().float(),
    "requires_grad_(False)": lambda model: model.requires_grad_(False),
    "copy.deepcopy": copy.deepcopy,
    "vector_to_parameters": on_a_vector,
    "another Parameter": replaced,
    "a Parameter of weight.data": rewrapped,
    "other memory, the next that is free": at_the_old_address,
}
check.show(
    {name: survivors(change) for name, change in changes.items()},
    text="For each change: whether the weight is the same object, and whether it uses the same memory.",
    secret=True,
)

# %% [markdown] hint="modules_measure_survivors"
# Keep two things before the change: the parameter, for `is`, and something that tells where its values were.

# %% [markdown] hint="modules_measure_survivors"
# `tensor.data_ptr()` is the address of the values. The address of the parameter that you kept isn't enough, because
# after `double()` it is the same object with other memory. Read it before the change, or keep `weight.data`.

# %% [markdown] hint="modules_measure_survivors"
# Keep `memory = model.weight.data` while you compare, because memory that nobody holds is reused, perhaps at
# the same address. Compare the parameter with `is`, and the two addresses with `==`.


# %% mutant="modules_measure_survivors"
# Reads the address afterwards
# The address of the object that was kept is read after the change. If the object got other memory, so did the value
# that you compare with.
def survivors(change) -> list[bool]:
    model = nn.Linear(3, 2)
    weight = model.weight
    model = change(model)
    return [model.weight is weight, model.weight.data_ptr() == weight.data_ptr()]


# %% mutant="modules_measure_survivors"
# Keeps the address, not the memory
# An address alone keeps nothing alive. Once the old memory is free, new values may get the same address, and what has
# moved seems to have stayed. Keep `model.weight.data` while you compare.
def survivors(change) -> list[bool]:
    model = nn.Linear(3, 2)
    weight, address = model.weight, model.weight.data_ptr()
    model = change(model)
    return [model.weight is weight, model.weight.data_ptr() == address]


# %% mutant="modules_measure_survivors"
# Compares with a clone, or tensors by `is`
# `clone()` has memory of its own from the start, and each `.data` is a new tensor object, even on the same memory.
# Keep `.data`, and compare addresses.
def survivors(change) -> list[bool]:
    model = nn.Linear(3, 2)
    weight, memory = model.weight, model.weight.data
    model = change(model)
    return [model.weight is weight, model.weight.data is memory]


# %% mutant="modules_measure_survivors"
# Compares objects with ==
# `==` compares values, and a copy has the same ones. `is` tells whether it is the same object.
def survivors(change) -> list[bool]:
    model = nn.Linear(3, 2)
    weight, memory = model.weight, model.weight.data
    model = change(model)
    return [bool((model.weight == weight).all()), model.weight.data_ptr() == memory.data_ptr()]


# %% mutant="modules_measure_survivors"
# Compares values
# Equal values say nothing about memory: a copy has them, too, and a step of the optimizer changes them in place.
def survivors(change) -> list[bool]:
    model = nn.Linear(3, 2)
    weight, before = model.weight, model.weight.detach().clone()
    model = change(model)
    return [model.weight is weight, bool(torch.equal(model.weight.double(), before.double()))]


# %% mutant="modules_measure_survivors"
# Ignores what the change returns
# `copy.deepcopy` leaves the old model alone and returns another one, which is the one to go on with.
def survivors(change) -> list[bool]:
    model = nn.Linear(3, 2)
    weight, memory = model.weight, model.weight.data
    change(model)
    return [model.weight is weight, model.weight.data_ptr() == memory.data_ptr()]


# %% mutant="modules_measure_survivors"
# Compares the model instead of the weight
# The module is the same object in most of these cases, but an optimizer holds the parameter.
def survivors(change) -> list[bool]:
    model = nn.Linear(3, 2)
    memory = model.weight.data
    after = change(model)
    return [after is model, after.weight.data_ptr() == memory.data_ptr()]


# %% [markdown] exercise="modules_call" kind="core" points="1 1 1" part="mytorch.nn.module:Module.__call__ | mytorch.nn.module:Module.apply mytorch.nn.module:Module.get_submodule | mytorch.nn.module:Module.zero_grad"
# ### Exercise 8 · Why `model(x)` and not `model.forward(x)`
# A call runs `forward` between hooks. Write it, and three methods that go through the tree, where `self.children()`
# yields the direct children and `self.parameters()` all parameters. The hooks are in three dicts, in the order
# in which they were registered: `self._forward_pre_hooks`, `self._forward_hooks` and `self._backward_hooks`.


# %% docstrings="modules_call"
def __call__():
    """Run `forward` between the hooks.

    First each forward pre-hook is called as `hook(self, args)`. Unless it returns None, its return value replaces
    the arguments; a value that isn't a tuple becomes the only argument. After `forward(*args, **kwargs)` each
    forward hook is called as `hook(self, args, result)`. Unless it returns None, its return value replaces the
    result. A hook may remove itself.

    If there are backward hooks, `call = Call(self)` watches the gradients: `forward` and the forward hooks receive
    `call.enter(args)`, and the return value is `call.leave(result)`.
    """


def apply():
    """Call `fn` with every descendant of this module, and with the module itself last. Returns this module.

    Children come in order, each after all of its own descendants.
    """


def get_submodule():
    """Return the module with a full name such as "layers.0"; for an empty name, this module.

    Raises:
        AttributeError: "Linear has no attribute `weights`", with the class of the module that lacks it, or
            "`weight` is not an nn.Module" if the attribute is something else.
    """


def zero_grad():
    """Set the gradients of all parameters to None, or fill them with zeros if `set_to_none` is false.

    The zeros are written into the gradient's memory, after `detach()` has removed a history that it may have. None
    stays None.
    """


# %% check="modules_call" raises="AttributeError TypeError"
generator = check.rng()
layers = mytorch.nn
k = float(generator.integers(2, 6))
numbers = mytorch.tensor([[float(each) for each in generator.integers(1, 9, 3)] for _ in range(2)])
told = []


class Scaled(layers.Module):
    def forward(self, x, y=0.0, *, power=1):
        return (x * k + y) ** power


def note(name, change=None):
    def hook(module, *given):
        told.append((name, type(module).__name__, [list(each) if isinstance(each, tuple) else each for each in given]))
        return None if change is None else change(*given)

    return hook


def called(prepare, *arguments, **keywords):
    """What a module returns with these hooks, what the hooks were given, or the error."""
    told.clear()
    module, results = Scaled(), []
    prepare(module)
    problem = check.error(lambda: results.append(module(*arguments, **keywords)))
    return problem or results[0], list(told)


def removes_itself(module):
    handles = []

    def once(module, args):
        told.append("once")
        handles[0].remove()

    handles.append(module.register_forward_pre_hook(once))
    module.register_forward_pre_hook(note("after it"))


def forward_removes_itself(module):
    handles = []

    def once(module, args, result):
        told.append("once")
        handles[0].remove()

    handles.append(module.register_forward_hook(once))
    module.register_forward_hook(note("after it"))


def registers_another(module):
    def first(module, args):
        module.register_forward_hook(note("registered on the way", lambda args, result: result + 1))

    module.register_forward_pre_hook(first)


def both(module):
    module.register_forward_pre_hook(note("first", lambda args: args[0] * 10))
    module.register_forward_pre_hook(note("second", lambda args: (*args, 1.0)))
    module.register_forward_hook(note("third", lambda args, result: result + 100))
    module.register_forward_hook(note("fourth"))


def gradients(wrapped):
    told.clear()
    module, x = Scaled(), numbers.clone().requires_grad_()
    if wrapped:
        module.register_full_backward_hook(note("backward", lambda arrived, left: tuple(g * 2 for g in arrived)))
        module.register_forward_hook(note("forward"))
    result = module(x)
    last = type(result.grad_fn).__name__
    result.sum().backward()
    return x.grad, [each[:2] for each in told], last


def entered():
    """The gradients that a backward hook is given where a pre-hook changes the argument, and what a hook sees of it."""
    told.clear()
    module, x = Scaled(), numbers.clone().requires_grad_()
    module.register_forward_pre_hook(lambda module, args: args[0] * 10)
    module.register_full_backward_hook(lambda module, arrived, left: told.append([list(arrived), list(left)]))
    module.register_forward_hook(lambda module, args, result: told.append([args[0], type(args[0].grad_fn).__name__]))
    module.register_forward_hook(lambda module, args, result: result * 3)
    module(x).sum().backward()
    return x.grad, list(told)


model = layers.Sequential(layers.Linear(3, 2), layers.Sequential(layers.Identity(), layers.Linear(2, 2, bias=False)))
model.none = None
model.register_module("left_out", None)
order = []
returned = model.apply(lambda module: order.append(repr(module).split("(")[0]))
names = ("", "0", "1.1", "1.1.weight", "1.2", "weights", "0.weights", "none", "left_out")
found = [check.error(model.get_submodule, name) or repr(model.get_submodule(name)) for name in names]
weight, bias, last = model[0].weight, model[0].bias, model[1][1].weight
last.grad = numbers[:, :2] * 1.0
weight.grad = numbers[:, :3] * float("inf")  # which 0 times it doesn't make 0
weight.grad = weight.grad * mytorch.ones(1, requires_grad=True)
memory = weight.grad.data_ptr()
model.zero_grad(set_to_none=False)
zeros = weight.grad, weight.grad.requires_grad, weight.grad.data_ptr() == memory, bias.grad, last.grad.clone()
model.zero_grad()
check.show(
    {
        "no hooks": called(lambda module: None, numbers, 1.0, power=2),
        "four hooks": called(both, numbers),
        "one that removes itself": called(removes_itself, numbers),
        "a forward hook that removes itself": called(forward_removes_itself, numbers),
        "a pre-hook that registers a forward hook": called(registers_another, numbers),
        "a list instead of arguments": called(
            lambda module: module.register_forward_pre_hook(note("pre", lambda args: [args[0]])), numbers
        ),
        "an empty tuple instead of arguments": called(
            lambda module: module.register_forward_pre_hook(note("pre", lambda args: ())), numbers
        ),
        "a result of 0 from a hook": called(
            lambda module: module.register_forward_hook(note("post", lambda args, result: 0)), numbers
        ),
        "gradients": gradients(False),
        "gradients with a backward hook": gradients(True),
        "gradients with a pre-hook that changes the argument": entered(),
        "order of apply": (order, returned is model),
        "submodules": found,
        "zeros": zeros,
        "none": (weight.grad, bias.grad, last.grad),
    },
    text="What calls return and what hooks are given; then the tree.",
)

# %% [markdown] hint="modules_call"
# In `__call__`, iterate over `list(hooks.values())`, and test `is not None`, because a hook may return 0 or an empty
# tuple. In `apply` each child applies `fn` first.

# %% [markdown] hint="modules_call"
# Between the pre-hooks and `forward`, write `call = Call(self) if self._backward_hooks else None`, and if there is
# one, `args = call.enter(args)`. In `get_submodule`, write `for name in target.split(".") if target else ():` with
# `hasattr` and `getattr`, and then `isinstance`.

# %% [markdown] hint="modules_call"
# In `zero_grad`, with `set_to_none` or without a gradient, write `parameter.grad = None`; otherwise `parameter.grad =
# parameter.grad.detach().zero_()`.


# %% mutant="modules_call"
# Unpacks a single value
# If the result of a pre-hook isn't a tuple, it is the only argument. `*` would unpack a tensor row by row.
def __call__(self, *args, **kwargs):
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if changed is not None:
            args = tuple(changed)
    call = Call(self) if self._backward_hooks else None
    args = args if call is None else call.enter(args)
    result = self.forward(*args, **kwargs)
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        result = result if changed is None else changed
    return result if call is None else call.leave(result)


# %% mutant="modules_call"
# Tests whether the result is truthy
# None means "no change", while 0 and an empty tuple are values like any other.
def __call__(self, *args, **kwargs):
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if isinstance(changed, tuple) and not changed:
            continue
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    call = Call(self) if self._backward_hooks else None
    args = args if call is None else call.enter(args)
    result = self.forward(*args, **kwargs)
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        result = changed if not isinstance(changed, int) and changed is not None else result
    return result if call is None else call.leave(result)


# %% mutant="modules_call"
# Forgets the backward hooks
# Gradients cross the border of the module on both sides: `enter` watches the inputs, and `leave` watches the result.
def __call__(self, *args, **kwargs):
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    result = self.forward(*args, **kwargs)
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        result = result if changed is None else changed
    return result


# %% mutant="modules_call"
# Calls itself first
# `apply` reaches a module after everything below it, so that the initialization of an outer module comes last.
def apply(self, fn):
    fn(self)
    for module in self.children():
        module.apply(fn)
    return self


# %% mutant="modules_call"
# Looks up the whole name here
# "1.1" is the module "1" of the module "1". Go down one name at a time.
def get_submodule(self, target):
    found = dict(self.named_modules())
    if target not in found:
        raise AttributeError(f"{type(self).__name__} has no attribute `{target}`")
    return found[target]


# %% mutant="modules_call"
# Returns anything with that name
# "1.1.weight" is the name of a parameter. PyTorch raises an error if a name isn't that of a module.
def get_submodule(self, target):
    module = self
    for name in target.split(".") if target else ():
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        module = getattr(module, name)
    return module


# %% mutant="modules_call"
# Creates new zeros
# `zero_()` keeps the memory of the gradient, while `* 0` creates another tensor, and keeps nan where a nan was.
def zero_grad(self, set_to_none=True):
    for parameter in self.parameters():
        parameter.grad = None if set_to_none or parameter.grad is None else parameter.grad.detach() * 0


# %% mutant="modules_call"
# Writes zeros where there was nothing
# A parameter without a gradient keeps None. With zeros instead, an optimizer with momentum would move it.
def zero_grad(self, set_to_none=True):
    from mytorch.creation import zeros_like

    for parameter in self.parameters():
        if set_to_none:
            parameter.grad = None
        else:
            parameter.grad = zeros_like(parameter) if parameter.grad is None else parameter.grad.detach().zero_()
