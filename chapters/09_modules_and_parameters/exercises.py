# %% [markdown]
# # Exercises · Modules and parameters
# Seven exercises, 18 points. Four of them add to your library: with them solved, a model built on your `Module` finds,
# names, saves and loads what belongs to it. What you write for mytorch runs inside its files: what a task or a docstring
# mentions is there; import anything else in the cell.

# %% setup=true
from __future__ import annotations

import copy
from collections import OrderedDict

import numpy as np

from course import check


def family(torch):
    """A model in which a layer is shared, a place is empty, and each kind of buffer occurs."""
    nn = torch.nn

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.Parameter(torch.ones(2))
            self.register_parameter("shift", None)
            self.register_buffer("count", torch.zeros(1))
            self.register_buffer("scratch", torch.zeros(3), persistent=False)

    model = nn.Sequential(OrderedDict(first=nn.Linear(3, 2), inner=nn.Sequential(Scale(), nn.Linear(2, 2, bias=False))))
    model.add_module("empty", None)
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
# The state dict of a `Model()` has exactly one entry. Set `prediction` to its name, a string; don't run the code first.

# %% solution="modules_predict_registered"
### BEGIN SOLUTION
prediction = "e"
### END SOLUTION

# %% check="modules_predict_registered"
check.show({"the one that is saved": str(prediction).strip().lower()}, secret=True)

# %% [markdown] hint="modules_predict_registered"
# A state dict holds parameters and persistent buffers. Which of the six values are a `Parameter` or a buffer?

# %% [markdown] hint="modules_predict_registered"
# What is the type of a `Parameter` times 2? Does a list get looked into? Does a layer without weights have anything to
# save?

# %% [markdown] hint="modules_predict_registered"
# A frozen parameter is a parameter: `requires_grad` says whether it gets a gradient, not whether it is saved.

# %% mutant="modules_predict_registered"
# The tensor that requires grad
# a gets a gradient, but it isn't a Parameter: the module keeps it as an ordinary attribute.
prediction = "a"

# %% mutant="modules_predict_registered"
# The layer in the list
# b is a list, and nobody looks into it. nn.ModuleList would be registered.
prediction = "b"

# %% mutant="modules_predict_registered"
# The weight of the layer in the list
# b is a list, and nobody looks into it: b.0.weight is a name only with nn.ModuleList.
prediction = "b.0.weight"

# %% mutant="modules_predict_registered"
# The scaled parameter
# c is the result of a multiplication, so it is a plain tensor with a history. The Parameter itself has no name in the module.
prediction = "c"

# %% mutant="modules_predict_registered"
# The buffer that isn't persistent
# d is registered and moves with the model, but persistent=False keeps it out of the state dict.
prediction = "d"

# %% mutant="modules_predict_registered"
# The layer without weights
# f is a registered module, but it has nothing to save.
prediction = "f"


# %% [markdown] exercise="modules_setattr" kind="core" points=3 part="mytorch.nn.module:Module.__setattr__"
# ### Exercise 2 · Registration
# Write what happens on `self.name = value`. The tables are dicts in `self.__dict__`, and each name is in one place only: a
# table, or `__dict__` itself. `object.__setattr__(self, name, value)` makes an ordinary attribute. `Parameter`, `Module`
# and `Tensor` are there already; the message of a refusal is `refused(name, value, "_parameters")`, or another table's name.
#
# | the name is in | a `Parameter` | a `Module` | a tensor | `None` | anything else |
# |---|---|---|---|---|---|
# | no table | becomes one | becomes one | attribute | attribute | attribute |
# | `_parameters` | takes its place | refused | refused | empties it | refused |
# | `_modules` | becomes one | takes its place | refused | empties it | refused |
# | `_buffers` | becomes one | becomes one | takes its place | empties it | refused |
#
# What takes a place in a table keeps its position there: `parameters()` gives the new weight where the old one was.

# %% check="modules_setattr"
n = mytorch.nn
number = float(check.rng().integers(2, 9))
before = {
    "no table": lambda made: None,
    "an attribute": lambda made: setattr(made, "x", "text"),
    "a parameter": lambda made: setattr(made, "x", n.Parameter(mytorch.zeros(1))),
    "a module": lambda made: setattr(made, "x", n.Identity()),
    "a buffer": lambda made: made.register_buffer("x", mytorch.zeros(1)),
}
values = {
    "a parameter": lambda: n.Parameter(mytorch.full((2,), number)),
    "a module": lambda: n.Identity(),
    "a tensor": lambda: mytorch.full((3,), number),
    "None": lambda: None,
    "a number": lambda: number,
}


def assigned(prepare, make):
    """Where the name is after the assignment, and what it gives; or the error."""
    made = n.Module()
    prepare(made)
    made.other = n.Parameter(mytorch.zeros(1))
    problem = check.error(setattr, made, "x", make())
    if problem is not None:
        return f"{type(problem).__name__}: {problem}"
    tables = [name for name in ("_parameters", "_modules", "_buffers") if "x" in made.__dict__[name]]
    places = [*tables, "__dict__"] if "x" in made.__dict__ else tables
    return places, repr(made.x), list(made._parameters)


class Hasty(n.Module):
    def __init__(self, value):
        self.x = value
        super().__init__()


check.show(
    {
        f"{first}, then {then}": assigned(prepare, make)
        for first, prepare in before.items()
        for then, make in values.items()
    }
    | {f"before __init__, {name}": repr(check.error(Hasty, make())) for name, make in values.items()},
    text="A name that was something, and what it is after an assignment.",
)

# %% [markdown] hint="modules_setattr"
# Ask in the order of the tables: parameters, modules, buffers. For each table there are two questions. Is the value of the
# kind that belongs there? Is the name in it already?

# %% [markdown] hint="modules_setattr"
# `for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):`. If `isinstance(value, kind)`,
# remove the name from the three other places, enter it and return. (Nothing is an instance of `()`.)

# %% [markdown] hint="modules_setattr"
# Otherwise, if the name is in the table: `None` may be entered, and into `_buffers` a tensor too; anything else raises
# `TypeError(refused(name, value, table))`. After the loop: `object.__setattr__`. Before `__init__` has run,
# `self.__dict__.get(table, ())` is empty.


# %% mutant="modules_setattr"
# Leaves the old meaning
# The name stays in the table or attribute that it was in before, so it means two things.
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
# Moves it to the end
# A name that is taken out of its own table and entered again comes last: parameters() changes its order, and a saved
# optimizer, which counts parameters, gives its state to the wrong ones.
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
# Makes it an attribute as well
# What is registered is also in __dict__: two places for one fact.
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
# A plain tensor or a number becomes an attribute beside the parameter of that name; PyTorch refuses it.
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
# None takes the name away
# An empty place stays in its table, with None: the name remains a parameter's.
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
# A tensor that is assigned to a buffer's name has to stay a buffer, or the next state dict misses it.
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
# Doesn't notice a forgotten super().__init__()
# Without tables there is a KeyError, which tells nobody what was forgotten.
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
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def __setattr__(self, name, value):
    from minitorch.nn import Module

    Module.__setattr__(self, name, value)


# %% [markdown] exercise="modules_names" kind="core" points=3 part="mytorch.nn.module:Module.named_modules mytorch.nn.module:Module.named_members"
# ### Exercise 3 · Names
# Two generators, from which `parameters()`, `buffers()`, `children()`, `state_dict()`, `train()` and `to()` all come.
# `named_modules` walks down the tree: this module first, then each submodule with everything below it. A path is the
# names with dots between them. `named_members` takes that walk and asks each module for its own entries:
# `members(module)` is a dict.
#
# Shared modules and members come once, under the first name, unless `remove_duplicate` is False. Places that hold `None`
# are skipped.

# %% check="modules_names"
model = family(mytorch)
width = int(check.rng().integers(2, 6))
model.inner.add_module(f"extra{width}", mytorch.nn.Linear(width, 1))


def listed(walk, *arguments, **keywords):
    """The names that come, each with what it is; or the error."""
    found = []
    problem = check.error(lambda: found.extend(walk(*arguments, **keywords)))
    return repr(problem) if problem else [(name, type(each).__name__) for name, each in found]


check.show(
    {
        "modules": listed(model.named_modules),
        "modules, with a prefix": listed(model.named_modules, prefix="net"),
        "modules, with duplicates": listed(model.named_modules, remove_duplicate=False),
        "modules, some seen before": listed(model.named_modules, {model.first}),
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
# `named_modules`: stop if `self` is in `memo`; note it there (if duplicates are to be removed); yield `(prefix, self)`; then
# `yield from` the same call on each submodule, with the same memo.

# %% [markdown] hint="modules_names"
# A path is `f"{prefix}.{name}"`, but without a prefix just `name`. `self._modules.items()` has the submodules; some may be
# `None`.

# %% [markdown] hint="modules_names"
# `named_members`: walk over `self.named_modules(None, prefix, remove_duplicate)`, or only over `[(prefix, self)]` if not
# `recurse`. Keep the members that have come in a *set*: tensors are hashed by identity, while `in` on a list compares
# them element by element.


# %% mutant="modules_names"
# Visits a shared module twice
# Nobody notes what has come already, so the shared layer and its parameters are listed under both names.
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
# The memo isn't handed on, so each branch forgets what the others have seen.
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
# Begins paths with a dot
# Without a prefix there is nothing to put a dot behind: "first", not ".first".
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
# A module comes before those below it; this is the order of apply.
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
# remove_duplicate=False asks for every path; a state dict needs them all.
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
# `in` on a list compares tensors element by element, and the answer is a tensor of booleans, not yes or no.
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
# Shared modules only
# A parameter may be shared by two different modules, as a GPT's output layer shares its embedding.
def named_members(self, members, prefix, recurse, remove_duplicate):
    for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
        for name, member in members(module).items():
            if member is not None:
                yield f"{path}.{name}" if path else name, member


# %% mutant="modules_names"
# Names empty places
# Linear(bias=False) has a place for a bias, but nothing in it.
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
# Always goes down
# recurse=False asks for the module's own entries.
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
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    from minitorch.nn import Module

    return Module.named_modules(self, memo, prefix, remove_duplicate)


# %% [markdown] exercise="modules_state_dict" kind="core" points=3 part="mytorch.nn.module:Module.state_dict mytorch.nn.module:Module.load_state_dict"
# ### Exercise 4 · State dicts, both ways
# `state_dict` is one call of `named_members`: `Module.saved_members` says what to take of each module, and both names of
# what is shared are wanted. Here `prefix` is put before each name as it is: `"net."` brings its own dot.
#
# `load_state_dict` goes the other way. `load(name, target, source)` copies one tensor, or says what is wrong. Load
# everything that fits before you raise. Missing names come in the order of the module, unexpected ones in that of the dict,
# and `_IncompatibleKeys(missing, unexpected)` is what you return.

# %% check="modules_state_dict"
generator = check.rng()
mytorch.manual_seed(check.seed())
model, source = family(mytorch), family(mytorch).state_dict()
state = model.state_dict()
held = list(model.parameters())
with mytorch.no_grad():
    model.first.weight.fill_(float(generator.integers(2, 9)))
shared = state["first.weight"].tolist()


def loaded(change, strict):
    """What loading a changed state dict says, and the numbers of the model afterwards."""
    fresh, given = family(mytorch), OrderedDict((name, each.clone()) for name, each in source.items())
    change(given)
    answer = []
    problem = check.error(lambda: answer.append(fresh.load_state_dict(given, strict=strict)))
    said = f"{type(problem).__name__}: {problem}" if problem else repr(answer[0])
    fits = [name for name, each in fresh.named_parameters() if mytorch.equal(each, source[name])]
    return said, fits


changes = {
    "all match": lambda given: None,
    "two are missing": lambda given: (given.pop("inner.0.count"), given.pop("again.bias")),
    "two too many": lambda given: given.update(more=mytorch.ones(1), extra=mytorch.ones(1)),
    "one missing, one too many": lambda given: given.update(extra=given.pop("first.bias")),
    "another shape": lambda given: given.update({"first.weight": mytorch.ones(2, 4)}),
    "everything wrong": lambda given: (
        given.pop("first.bias"),
        given.update({"extra": mytorch.ones(1), "first.weight": mytorch.ones(3), "inner.1.weight": 3}),
    ),
}
check.show(
    {
        "names": list(state),
        "with a prefix": list(model.state_dict(prefix="net."))[:2],
        "a write to the model, seen in the state dict": shared,
        "history": [each.requires_grad for each in state.values()],
        "keep_vars": model.state_dict(keep_vars=True)["first.weight"] is model.first.weight,
    }
    | {
        f"{name}, {'' if strict else 'not '}strict": loaded(change, strict)
        for name, change in changes.items()
        for strict in (True, False)
    }
    | {
        "the parameters are the same objects": all(
            one is other for one, other in zip(held, model.parameters(), strict=True)
        )
    },
    text="A model's state dict; then what loading says, and which parameters of a new model are the source's afterwards.",
)

# %% [markdown] hint="modules_state_dict"
# `self.named_members(Module.saved_members, prefix, True, False)` has all the names. Prefixes come with a dot at the end
# here: `prefix.removesuffix(".")`. Put the pairs into an `OrderedDict`, detached unless `keep_vars`.

# %% [markdown] hint="modules_state_dict"
# Loading: `own = self.state_dict(keep_vars=True)`. Missing are the names of `own` that the given dict lacks, unexpected the
# reverse. Call `load` for each name that both have, and keep what it says.

# %% [markdown] hint="modules_state_dict"
# If `strict`, two lines may come before what `load` says, missing names first. Join the lines that aren't empty by
# `"\n\t"`, and raise if there is one. Otherwise return `_IncompatibleKeys(missing, unexpected)`.


# %% mutant="modules_state_dict"
# Copies
# The tensors of a state dict share the model's memory; a copy of a large model would double it.
def state_dict(self, *, prefix="", keep_vars=False):
    named = self.named_members(Module.saved_members, prefix.removesuffix("."), True, False)
    return OrderedDict((name, tensor if keep_vars else tensor.detach().clone()) for name, tensor in named)


# %% mutant="modules_state_dict"
# Hands out the parameters
# Without keep_vars the tensors are detached, so that nobody trains or backpropagates into what was saved.
def state_dict(self, *, prefix="", keep_vars=False):
    return OrderedDict(self.named_members(Module.saved_members, prefix.removesuffix("."), True, False))


# %% mutant="modules_state_dict"
# Lists what is shared once
# Both names of a shared tensor are in a state dict: whoever loads it may not share.
def state_dict(self, *, prefix="", keep_vars=False):
    named = self.named_members(Module.saved_members, prefix.removesuffix("."), True, True)
    return OrderedDict((name, tensor if keep_vars else tensor.detach()) for name, tensor in named)


# %% mutant="modules_state_dict"
# Saves all buffers
# A buffer that was registered with persistent=False stays out of the state dict.
def state_dict(self, *, prefix="", keep_vars=False):
    everything = self.named_members(
        lambda each: each._parameters | each._buffers, prefix.removesuffix("."), True, False
    )
    return OrderedDict((name, tensor if keep_vars else tensor.detach()) for name, tensor in everything)


# %% mutant="modules_state_dict"
# Stops at the names
# It raises about names before it loads anything; PyTorch loads what fits first.
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
# Missing names come in the order of the module, unexpected ones in that of the dict; neither is alphabetical.
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
# strict=False is there for transfer learning: it reports names and doesn't raise for them.
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
# Not strict means silent
# strict=False forgives names. A tensor of another shape can't be loaded, and that still raises.
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
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def load_state_dict(self, state_dict, strict=True):
    from minitorch.nn import Module

    return Module.load_state_dict(self, state_dict, strict)


# %% [markdown] exercise="modules_bilinear" kind="core" points=3 part="mytorch.nn.linear:bilinear"
# ### Exercise 5 · Bilinear
# Compute $x_1^\top W_k\, x_2 + b_k$ for each output $k$, on the last dimensions of two batches of any shape, without a
# Python loop. `matmul` broadcasts what comes before the last two dimensions: give the inputs dimensions so that one call
# multiplies by all the matrices $W_k$.

# %% check="modules_bilinear"
generator = check.rng()
left, right, outputs = (int(size) for size in generator.permutation([2, 3, 4]))
shapes = {"one pair": (), "a batch": (5,), "a batch of one": (1,), "a batch of rows": (2, 3)}
weight = mytorch.tensor(generator.normal(size=(outputs, left, right)).astype(np.float32)).requires_grad_()
bias = mytorch.tensor(generator.normal(size=(outputs,)).astype(np.float32)).requires_grad_()
compute = mytorch.nn.functional.bilinear


def product(shape, *rest):
    """The result for random inputs, or the error."""
    arrays = [generator.normal(size=(*shape, size)).astype(np.float32) for size in (left, right)]
    answer = []
    problem = check.error(lambda: answer.append(compute(*map(mytorch.tensor, arrays), weight, *rest)))
    return f"{type(problem).__name__}: {problem}" if problem else answer[0]


results = {name: product(shape, bias) for name, shape in shapes.items()}
if not isinstance(results["a batch"], str):
    (results["a batch"] * results["a batch"]).sum().backward()
check.show(
    {"sizes": (left, right, outputs)}
    | results
    | {"without a bias": product((5,)), "gradients of weight and bias": [weight.grad, bias.grad]},
    rtol=1e-4,
    atol=1e-5,
    text="Batches of several shapes through a bilinear map, and its gradients.",
)

# %% [markdown] hint="modules_bilinear"
# For one pair and one output it is a row times a matrix times a column: (1, in1) @ (in1, in2) @ (in2, 1).

# %% [markdown] hint="modules_bilinear"
# `input1` has to become (..., 1, 1, in1): one dimension for the row, and one that is stretched to the number of outputs.
# `input2` becomes (..., 1, in2, 1).

# %% [markdown] hint="modules_bilinear"
# `rows = input1.unsqueeze(-2).unsqueeze(-2)` and `columns = input2.unsqueeze(-2).unsqueeze(-1)`. The result of both products
# has shape (..., out, 1, 1): squeeze the last two, and add the bias if there is one.


# %% mutant="modules_bilinear"
# Every row with every row
# This multiplies all pairs of the batch. Row i of the first input belongs to row i of the second, and to no other.
def bilinear(input1, input2, weight, bias=None):
    products = matmul(matmul(input1, weight), input2.transpose(-2, -1))
    return products if bias is None else products + bias.unsqueeze(-1).unsqueeze(-1)


# %% mutant="modules_bilinear"
# Only one batch dimension
# It works for a batch of rows, and for nothing else: a single pair or a batch of batches doesn't fit.
def bilinear(input1, input2, weight, bias=None):
    n, m = input1.shape
    products = matmul(matmul(input1.reshape(n, 1, 1, m), weight), input2.reshape(n, 1, -1, 1)).reshape(n, -1)
    return products if bias is None else products + bias


# %% mutant="modules_bilinear"
# Forgets the bias
# The products are right; the bias, one number for each output, has to be added where there is one.
def bilinear(input1, input2, weight, bias=None):
    rows, columns = input1.unsqueeze(-2).unsqueeze(-2), input2.unsqueeze(-2).unsqueeze(-1)
    return matmul(matmul(rows, weight), columns).squeeze((-2, -1))


# %% mutant="modules_bilinear"
# Squeezes everything
# squeeze() without dimensions takes a batch of one away too. Only the last two dimensions are the products' own.
def bilinear(input1, input2, weight, bias=None):
    rows, columns = input1.unsqueeze(-2).unsqueeze(-2), input2.unsqueeze(-2).unsqueeze(-1)
    products = matmul(matmul(rows, weight), columns).squeeze()
    return products if bias is None else products + bias


# %% mutant="modules_bilinear"
# A sum of two linear maps
# It adds what each input gives by itself. A bilinear map multiplies them: twice both inputs is four times the result.
def bilinear(input1, input2, weight, bias=None):
    first, second = matmul(input1, weight.sum(2).T), matmul(input2, weight.sum(1).T)
    return first + second if bias is None else first + second + bias


# %% mutant="modules_bilinear"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def bilinear(input1, input2, weight, bias=None):
    from minitorch.nn import functional

    return functional.bilinear(input1, input2, weight, bias)


# %% [markdown] exercise="modules_repair_centre" kind="repair" points=3
# ### Exercise 6 · The layer that forgets (repair)
# `Centre` subtracts a running mean of its inputs. In training it works. Two colleagues complain: a model that was saved
# and loaded gives other answers, and after `model.half()` the next layer refuses what `Centre` gives it. Training must
# not change, and the running mean is not for an optimizer to step.


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
            self.mean = self.mean + self.momentum * (now - self.mean)
        return x - self.mean


# %% check="modules_repair_centre"
torch.manual_seed(check.seed())
features = int(check.rng().integers(2, 6))
data = torch.randn(8, features) + 3
layer, fresh = Centre(features), Centre(features)
for rows in data.split(4):
    layer(rows)
tracked, given = Centre(features), data.clone().requires_grad_()
in_training = tracked(given)
check.error((in_training * data).sum().backward)
answer = layer.eval()(data[:2])
problem = check.error(fresh.load_state_dict, layer.state_dict())
loaded = fresh.eval()(data[:2])
trained = [name for name, _ in layer.named_parameters()]
saved, twin = list(layer.state_dict()), copy.deepcopy(layer)
layer.half()
check.show(
    {
        "features": features,
        "output in training": in_training.detach(),
        "gradient of its input": given.grad,
        "the mean has a history": tracked.mean.requires_grad,
        "answer": answer,
        "loading raises": type(problem).__name__ if problem else "nothing",
        "answer of the loaded one": loaded,
        "to train": trained,
        "to save": saved,
        "answer of a copy": twin(data[:2]),
        "mean after half()": layer.mean.dtype,
        "answer after half()": layer(data[:2].half()).dtype,
    },
    text="A layer that has seen two batches, saved and loaded, copied, and converted to float16.",
)

# %% [markdown] hint="modules_repair_centre"
# Which of the things in `__init__` are in the state dict? Print it.

# %% [markdown] hint="modules_repair_centre"
# The mean has to be saved and moved with the module, but not trained. A module has a table for such tensors.

# %% [markdown] hint="modules_repair_centre"
# `self.register_buffer("mean", torch.zeros(features))`. The assignment in `forward` can stay: a name that is a buffer stays a
# buffer when a tensor is assigned to it.


# %% mutant="modules_repair_centre"
# A parameter
# It is saved and moved, but it is also in parameters(): an optimizer with weight decay would shrink it.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.mean = nn.Parameter(torch.zeros(features), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            now = x.detach().mean(0)
            self.mean.data = self.mean.data + self.momentum * (now - self.mean.data)
        return x - self.mean


# %% mutant="modules_repair_centre"
# A buffer that isn't saved
# persistent=False keeps it out of the state dict, so the loaded model starts with zeros again.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            now = x.detach().mean(0)
            self.mean = self.mean + self.momentum * (now - self.mean)
        return x - self.mean


# %% mutant="modules_repair_centre"
# Doesn't detach
# Without detach() the mean carries the history of each batch along: training gets slower and takes more memory.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            now = x.mean(0)
            self.mean = self.mean + self.momentum * (now - self.mean)
        return x - self.mean


# %% mutant="modules_repair_centre"
# Subtracts the batch's mean in training
# It is saved and moved now, but training has changed: the running mean is what the layer subtracts, in both modes.
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
# The mean has no history, but neither has the result: no gradient reaches the layers before.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.detach()
        if self.training:
            self.mean = self.mean + self.momentum * (x.mean(0) - self.mean)
        return x - self.mean


# %% mutant="modules_repair_centre"
# Converts at each call
# The types fit, but the mean still isn't saved, and the module hides that it isn't its own.
class Centre(nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.mean = torch.zeros(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.mean = self.mean.to(x.dtype)
        if self.training:
            now = x.detach().mean(0)
            self.mean = self.mean + self.momentum * (now - self.mean)
        return x - self.mean


# %% [markdown] exercise="modules_measure_survivors" kind="measure" points=2
# ### Exercise 7 · What survives?
# You built an optimizer, kept a reference to `model.weight`, or took `model.weight.data`. Then something happens to the
# model. Which of your references are still good? Write the experiment. `change(model)` does something to a new
# `nn.Linear(3, 2)` and returns the model to go on with. Answer for its weight:
#
# 1. Is `weight` still the same *object* as before?
# 2. Does it still use the same *memory* as before?
#
# Hold on to the old memory while you compare. An address that nobody uses any more is soon given out again.


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
}
check.show(
    {name: survivors(change) for name, change in changes.items()},
    text="For each change: whether the weight is the same object, and whether it uses the same memory.",
)

# %% [markdown] hint="modules_measure_survivors"
# Keep two things before the change: the parameter, for `is`, and something that tells where its numbers were.

# %% [markdown] hint="modules_measure_survivors"
# `tensor.data_ptr()` is the address of the numbers. The address of the parameter that you kept isn't enough: after
# `double()` it is the same object with other memory, so ask it before the change, or keep `weight.data`.

# %% [markdown] hint="modules_measure_survivors"
# Keep `memory = model.weight.data` while you compare: memory that nobody holds is given out again, perhaps at the same
# address. The answer is `[model.weight is weight, model.weight.data_ptr() == memory.data_ptr()]`.


# %% mutant="modules_measure_survivors"
# Asks the parameter afterwards
# The object that was kept is asked for its address after the change. Where it got other memory, so did what you compare with.
def survivors(change) -> list[bool]:
    model = nn.Linear(3, 2)
    weight = model.weight
    model = change(model)
    return [model.weight is weight, model.weight.data_ptr() == weight.data_ptr()]


# %% mutant="modules_measure_survivors"
# Compares numbers
# Equal numbers say nothing about memory: a copy has them too, and a step of the optimizer changes them in place.
def survivors(change) -> list[bool]:
    model = nn.Linear(3, 2)
    weight, before = model.weight, model.weight.detach().clone()
    model = change(model)
    return [model.weight is weight, bool(torch.equal(model.weight.double(), before.double()))]


# %% mutant="modules_measure_survivors"
# Ignores what the change returns
# copy.deepcopy leaves the old model alone and returns another: that is the one to go on with.
def survivors(change) -> list[bool]:
    model = nn.Linear(3, 2)
    weight, memory = model.weight, model.weight.data
    change(model)
    return [model.weight is weight, model.weight.data_ptr() == memory.data_ptr()]


# %% mutant="modules_measure_survivors"
# Looks at the model, not the weight
# The module is the same object in most of these; what an optimizer holds is the parameter.
def survivors(change) -> list[bool]:
    model = nn.Linear(3, 2)
    memory = model.weight.data
    after = change(model)
    return [after is model, after.weight.data_ptr() == memory.data_ptr()]
