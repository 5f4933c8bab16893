# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 08` grades them.


# %% answer="static_predict_trace" right="as first written, from the task alone"
prediction = 18.0


# %% answer="static_predict_trace" wrong="28"
prediction = 28


# %% answer="static_record_and_run" wrong="records"
def note(self, op, args, result):
    if op.writes:
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    step = Step(op, replace(args, self.symbol))
    self.steps.append(step)
    self.know(result, step)


def run(graph, *inputs):
    if len(inputs) != len(graph.inputs):
        raise ValueError("wrong number of inputs")
    values = dict(zip(graph.inputs, inputs))
    def look(x):
        return values[x] if isinstance(x, Step) else x
    for step in graph.steps:
        values[step] = step.op(*replace(step.args, look))
    return replace(graph.output, look)


# %% answer="static_record_and_run" wrong="lazy recursion"
def note(self, op, args, result):
    if op.writes:
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    step = Step(op, replace(args, self.symbol))
    self.steps.append(step)
    self.know(result, step)


def run(graph, *inputs):
    values = dict(zip(graph.inputs, inputs, strict=True))
    def value(x):
        if not isinstance(x, Step): return x
        if x not in values: values[x] = x.op(*replace(x.args, value))
        return values[x]
    with no_grad():
        return replace(graph.output, value)


# %% answer="static_fold_and_share" right="as first written, from the task alone"
def fold_constants(graph):
    def better(step):
        if steps_in(step.args):
            return step
        with no_grad():
            return step.op(*step.args)
    return rebuilt(graph, better)

def share_equal(graph):
    seen = {}
    return rebuilt(graph, lambda step: seen.setdefault(signature(step), step))


# %% answer="static_fold_and_share" right="detach for no_grad"
def fold_constants(graph):
    for s in list(graph.steps):
        pass
    def better(step):
        return step if steps_in(step.args) else step.op(*step.args).detach()
    return rebuilt(graph, better)


def share_equal(graph):
    seen = {}
    return rebuilt(graph, lambda step: seen.setdefault(signature(step), step))


# %% answer="static_fold_and_share" right="in for setdefault"
def fold_constants(graph):
    def better(step):
        if steps_in(step.args):
            return step
        with no_grad():
            return step.op(*step.args)
    return rebuilt(graph, better)


def share_equal(graph):
    seen = {}
    def better(step):
        k = signature(step)
        if k in seen: return seen[k]
        seen[k] = step
        return step
    return rebuilt(graph, better)


# %% answer="static_fold_and_share" wrong="constants with a history"
def fold_constants(graph):
    def better(step):
        if steps_in(step.args):
            return step
        return step.op(*step.args)
    return rebuilt(graph, better)


def share_equal(graph):
    seen = {}
    return rebuilt(graph, lambda step: seen.setdefault(signature(step), step))


# %% answer="static_fold_and_share" wrong="isinstance for steps_in"
def fold_constants(graph):
    def better(step):
        if any(isinstance(a, Step) for a in step.args):
            return step
        with no_grad():
            return step.op(*step.args)
    return rebuilt(graph, better)

def share_equal(graph):
    seen = {}
    return rebuilt(graph, lambda step: seen.setdefault(signature(step), step))


# %% answer="static_drop_unused" right="as first written, from the task alone"
def drop_unused(graph):
    needed = set(steps_in(graph.output))
    for step in reversed(graph.steps):
        if step in needed:
            needed.update(steps_in(step.args))
    return Graph(graph.inputs, [s for s in graph.steps if s in needed], graph.output)


# %% answer="static_drop_unused" wrong="changes the given graph"
def drop_unused(graph):
    stack, needed = list(steps_in(graph.output)), set()
    while stack:
        s = stack.pop()
        if id(s) not in needed:
            needed.add(id(s))
            stack += steps_in(s.args)
    graph.steps = [s for s in graph.steps if id(s) in needed]
    return graph


# %% answer="static_drop_unused" wrong="steps of the output found by isinstance"
def drop_unused(graph):
    needed = {graph.output} if isinstance(graph.output, Step) else set(s for s in graph.output if isinstance(s, Step)) if isinstance(graph.output, (list, tuple)) else set()
    for step in reversed(graph.steps):
        if step in needed:
            needed.update(steps_in(step.args))
    return Graph(graph.inputs, [s for s in graph.steps if s in needed], graph.output)


# %% answer="static_guards" wrong="result.item() for the recorded read"
def read(self, x, name, get):
    before = len(self.guards)
    at = len(self.steps)
    value = get(x)
    del self.guards[before:]
    step = self.symbol(x)
    if isinstance(step, Step):
        self.guards.append(Guard(at, step, name, value))
    return value


def __call__(self, *inputs):
    kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs)
    sizes = tuple(x.shape for x in inputs)
    path = (kinds, sizes)
    if path not in self.pieces:
        path = (kinds, None)
    values = list(inputs)
    while path in self.pieces:
        piece, read = self.pieces[path]
        result, made = run(piece, *values)
        if not read:
            return result
        values += made
        path = (*path, repr(result.item()))
    return self.compile(inputs, kinds, sizes)


# %% answer="static_count_bytes" right="the same tensor once"
def moved(op, args, result, seconds=0):
    tensors = {id(t): t for t in tensors_in(args)}.values()
    if op.writes:
        return result.nbytes + sum(t.nbytes for t in list(tensors)[1:])
    return 0 if result.base is not None else result.nbytes + sum(t.nbytes for t in tensors)


# %% answer="static_count_bytes" wrong="no case for writes"
def moved(op, args, result, seconds=0):
    tensors = list(tensors_in(args))
    if result.base is not None:
        return 0
    return sum(t.nbytes for t in tensors) + result.nbytes


# %% answer="static_count_bytes" wrong="counts the tensor that is overwritten"
def moved(op, args, result, seconds=0):
    tensors = list(tensors_in(args))
    if op.writes:
        return sum(t.nbytes for t in tensors) + result.nbytes
    if result.base is not None:
        return 0
    return sum(t.nbytes for t in tensors) + result.nbytes


# %% answer="static_rebuild" wrong="0.0 and -0.0 alike"
def know(self, x, step):
    self.known[key(x)] = step
    self.alive.append(x)
    return step


def symbol(self, argument):
    if isinstance(argument, Tensor):
        return self.known.get(key(argument), argument)
    return argument


def signature(step):
    def one(x):
        if isinstance(x, (list, tuple)):
            return (type(x).__name__, tuple(map(one, x)))
        if isinstance(x, slice):
            return ("slice", one(x.start), one(x.stop), one(x.step))
        if isinstance(x, (Step, Tensor)):
            return ("id", id(x))
        return (type(x), x)
    return step.op, one(step.args)


def rebuilt(graph, better):
    new, steps = {}, []
    def look(x):
        return new.get(x, x) if isinstance(x, Step) else x
    for step in graph.steps:
        fresh = Step(step.op, replace(step.args, look))
        new[step] = better(fresh)
        if new[step] is fresh:
            steps.append(fresh)
    return Graph(graph.inputs, steps, replace(graph.output, look))


# %% answer="static_rebuild" wrong="a list and a tuple alike" spoils="signature"
def signature(step):
    def plain(argument):
        if isinstance(argument, (list, tuple)):
            return tuple(plain(each) for each in argument)
        if isinstance(argument, slice):
            return "slice", repr(argument)
        return ("object", id(argument)) if isinstance(argument, (Step, Tensor)) else (type(argument).__name__, repr(argument))

    return id(step.op), plain(tuple(step.args))


# %% answer="static_record_and_run" wrong="remembers results in the graph, so a second run repeats the first" spoils="run"
def run(graph, *inputs):
    if len(inputs) != len(graph.inputs):
        raise ValueError("another number of inputs")
    if not hasattr(graph, "values"):
        graph.values = {}
    values = graph.values
    values.update(zip(graph.inputs, inputs))

    def value(argument):
        return values[argument] if isinstance(argument, Step) else argument

    with no_grad():
        for step in graph.steps:
            if step not in values:
                values[step] = step.op(*replace(step.args, value))
    return replace(graph.output, value)


# %% answer="static_record_and_run" wrong="puts the values into the steps, so the graph runs once" spoils="run"
def run(graph, *inputs):
    values = dict(zip(graph.inputs, inputs, strict=True))

    def value(argument):
        return values[argument] if isinstance(argument, Step) else argument

    with no_grad():
        for step in graph.steps:
            step.args = replace(step.args, value)
            values[step] = step.op(*step.args)
    return replace(graph.output, value)


# %% answer="static_record_and_run" wrong="leaves gradients disabled after an error" spoils="run"
def run(graph, *inputs):
    import mytorch

    before = mytorch.is_grad_enabled()
    mytorch.set_grad_enabled(False)
    values = dict(zip(graph.inputs, inputs, strict=True))

    def value(argument):
        return values[argument] if isinstance(argument, Step) else argument

    for step in graph.steps:
        values[step] = step.op(*replace(step.args, value))
    mytorch.set_grad_enabled(before)
    return replace(graph.output, value)


# %% answer="static_record_and_run" wrong="enables gradients afterwards, whatever they were" spoils="run"
def run(graph, *inputs):
    import mytorch

    values = dict(zip(graph.inputs, inputs, strict=True))

    def value(argument):
        return values[argument] if isinstance(argument, Step) else argument

    mytorch.set_grad_enabled(False)
    try:
        for step in graph.steps:
            values[step] = step.op(*replace(step.args, value))
    finally:
        mytorch.set_grad_enabled(True)
    return replace(graph.output, value)


# %% answer="static_record_and_run" wrong="the output is a step or a tuple of steps" spoils="run"
def run(graph, *inputs):
    values = dict(zip(graph.inputs, inputs, strict=True))

    def value(argument):
        return values[argument] if isinstance(argument, Step) else argument

    with no_grad():
        for step in graph.steps:
            values[step] = step.op(*replace(step.args, value))
    if isinstance(graph.output, Step):
        return values[graph.output]
    return tuple(values[each] for each in graph.output)


# %% answer="static_record_and_run" wrong="calls the kernels past the dispatcher" spoils="run"
def run(graph, *inputs):
    values = dict(zip(graph.inputs, inputs, strict=True))

    def value(argument):
        return values[argument] if isinstance(argument, Step) else argument

    with no_grad():
        for step in graph.steps:
            values[step] = step.op.run(step.op, replace(step.args, value))
    return replace(graph.output, value)


# %% answer="static_record_and_run" wrong="detaches the result instead of recording nothing" spoils="run"
def run(graph, *inputs):
    values = dict(zip(graph.inputs, (each.detach() for each in inputs), strict=True))

    def value(argument):
        return values[argument] if isinstance(argument, Step) else argument

    for step in graph.steps:
        values[step] = step.op(*replace(step.args, value))
    return replace(graph.output, value)


# %% answer="static_record_and_run" wrong="looks into lists, but not into tuples" spoils="note"
def note(self, op, args, result):
    if op.writes:
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    step = Step(op, tuple([self.symbol(i) for i in a] if isinstance(a, list) else self.symbol(a) for a in args))
    self.steps.append(step)
    self.know(result, step)


# %% answer="static_record_and_run" wrong="refuses a write by an underscore at the end of the name" spoils="note"
def note(self, op, args, result):
    if op.name == "add_":
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    step = Step(op, replace(args, self.symbol))
    self.steps.append(step)
    self.know(result, step)


# %% answer="static_record_and_run" wrong="registers the result under its id" spoils="note"
def note(self, op, args, result):
    if op.writes:
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    step = Step(op, replace(args, self.symbol))
    self.steps.append(step)
    self.known[id(result)] = step
    self.alive.append(result)


# %% answer="static_record_and_run" wrong="registers the result before the arguments are looked up" spoils="note"
def note(self, op, args, result):
    if op.writes:
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    step = Step(op)
    self.know(result, step)
    step.args = replace(args, self.symbol)
    self.steps.append(step)


# %% answer="static_record_and_run" wrong="a message without the name of the operation" spoils="note"
def note(self, op, args, result):
    if op.writes:
        raise RuntimeError("a trace can't follow a write")
    step = Step(op, replace(args, self.symbol))
    self.steps.append(step)
    self.know(result, step)


# %% answer="static_record_and_run" wrong="skips a write silently" spoils="note"
def note(self, op, args, result):
    if not op.writes:
        step = Step(op, replace(args, self.symbol))
        self.steps.append(step)
        self.know(result, step)


# %% answer="static_record_and_run" wrong="the last argument isn't looked up" spoils="note"
def note(self, op, args, result):
    if op.writes:
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    step = Step(op, replace(args[:1], self.symbol) + args[1:])
    self.steps.append(step)
    self.know(result, step)


# %% answer="static_record_and_run" right="know gives the step back, lengths compared, a decorator"
def note(self, op, args, result):
    if op.writes:
        raise RuntimeError("a trace can't follow a write: " + op.name)
    self.steps += [self.know(result, Step(op, replace(tuple(args), lambda each: self.symbol(each))))]


@no_grad()
def run(graph, *inputs):
    if len(inputs) != len(graph.inputs):
        raise ValueError(f"the graph has {len(graph.inputs)} inputs")
    done = {id(step): each for step, each in zip(graph.inputs, inputs)}

    def look(each):
        return done[id(each)] if isinstance(each, Step) else each

    for step in graph.steps:
        done[id(step)] = step.op(*replace(step.args, look))
    return replace(graph.output, look)


# %% answer="static_record_and_run" right="its own walk through lists and tuples"
def note(self, op, args, result):
    def walk(each):
        if isinstance(each, (list, tuple)):
            return type(each)(map(walk, each))
        return self.symbol(each)

    if op.writes is True:
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    step = Step(op, tuple(walk(each) for each in args))
    self.know(result, step)
    self.steps.append(step)


def run(graph, *inputs):
    if len(graph.inputs) != len(inputs):
        raise ValueError
    values = {}
    for step, each in zip(graph.inputs, inputs):
        values[step] = each

    def walk(each):
        if isinstance(each, Step):
            return values[each]
        if isinstance(each, (list, tuple)):
            return type(each)([walk(inner) for inner in each])
        return each

    with no_grad():
        for step in graph.steps:
            values[step] = step.op(*walk(step.args))
        return walk(graph.output)


# %% answer="static_record_and_run" right="values that are let go after their last use"
def run(graph, *inputs):
    values = dict(zip(graph.inputs, inputs, strict=True))
    last = {each: step for step in graph.steps for each in steps_in(step.args)}
    kept = set(steps_in(graph.output))

    def value(argument):
        return values[argument] if isinstance(argument, Step) else argument

    with no_grad():
        for step in graph.steps:
            values[step] = step.op(*replace(step.args, value))
            for each in set(steps_in(step.args)):
                if last[each] is step and each not in kept:
                    del values[each]
    return replace(graph.output, value)


# %% answer="static_record_and_run" right="set_grad_enabled with the old mode restored"
def run(graph, *inputs):
    import mytorch

    values = dict(zip(graph.inputs, inputs, strict=True))
    before = mytorch.is_grad_enabled()
    mytorch.set_grad_enabled(False)
    try:
        for step in graph.steps:
            values[step] = step.op(*replace(step.args, lambda each: values.get(each, each) if isinstance(each, Step) else each))
    finally:
        mytorch.set_grad_enabled(before)
    return replace(graph.output, lambda each: values[each] if isinstance(each, Step) else each)


# %% answer="static_fold_and_share" wrong="folds a step only if a tensor is among its arguments" spoils="fold_constants"
def fold_constants(graph):
    def better(step):
        if steps_in(step.args) or not any(isinstance(each, Tensor) for each in step.args):
            return step
        return step.op(*step.args)

    with no_grad():
        return rebuilt(graph, better)


# %% answer="static_fold_and_share" wrong="folds chains one step deep" spoils="fold_constants"
def fold_constants(graph):
    fixed = {id(step) for step in graph.steps if not steps_in(step.args)}
    order = iter(graph.steps)
    with no_grad():
        return rebuilt(graph, lambda step: step.op(*step.args) if id(next(order)) in fixed else step)


# %% answer="static_fold_and_share" wrong="drops the constant steps from the given graph" spoils="fold_constants"
def fold_constants(graph):
    with no_grad():
        new = rebuilt(graph, lambda step: step if steps_in(step.args) else step.op(*step.args))
    graph.steps = new.steps
    return new


# %% answer="static_fold_and_share" wrong="folds what reads no input itself, by the recorded inputs" spoils="fold_constants"
def fold_constants(graph):
    inputs = set(graph.inputs)

    def better(step):
        return step if inputs & set(steps_in(step.args)) else step.op(*step.args)

    with no_grad():
        return rebuilt(graph, better)


# %% answer="static_fold_and_share" wrong="detaches the leaf, too" spoils="fold_constants"
def fold_constants(graph):
    def better(step):
        if steps_in(step.args):
            return step
        for each in step.args:
            if isinstance(each, Tensor):
                each.requires_grad_(False)
        return step.op(*step.args)

    return rebuilt(graph, better)


# %% answer="static_fold_and_share" wrong="leaves gradients disabled" spoils="fold_constants"
def fold_constants(graph):
    import mytorch

    mytorch.set_grad_enabled(False)
    return rebuilt(graph, lambda step: step if steps_in(step.args) else step.op(*step.args))


# %% answer="static_fold_and_share" wrong="one dict for all graphs" spoils="share_equal"
def share_equal(graph, first={}):
    return rebuilt(graph, lambda step: first.setdefault(signature(step), step))


# %% answer="static_fold_and_share" wrong="the arguments themselves as the key: 2 is 2.0" spoils="share_equal"
def share_equal(graph):
    first = {}

    def better(step):
        try:
            return first.setdefault((id(step.op), tuple(id(each) if isinstance(each, Tensor) else each for each in step.args)), step)
        except TypeError:
            return step

    return rebuilt(graph, better)


# %% answer="static_fold_and_share" wrong="signatures of the recorded steps" spoils="share_equal"
def share_equal(graph):
    first, old = {}, iter(graph.steps)
    return rebuilt(graph, lambda step: first.setdefault(signature(next(old)), step))


# %% answer="static_fold_and_share" wrong="shares only steps with one argument" spoils="share_equal"
def share_equal(graph):
    first = {}
    return rebuilt(graph, lambda step: first.setdefault(signature(step), step) if len(step.args) == 1 else step)


# %% answer="static_fold_and_share" wrong="identity of the arguments: equal lists differ" spoils="share_equal"
def share_equal(graph):
    first = {}
    return rebuilt(graph, lambda step: first.setdefault((step.op, tuple(map(id, step.args))), step))


# %% answer="static_fold_and_share" wrong="the last equal step takes the place, not the first" spoils="share_equal"
def share_equal(graph):
    last = {}

    def better(step):
        found, last[signature(step)] = last.get(signature(step)), step
        return found or step

    return rebuilt(graph, better)


# %% answer="static_fold_and_share" wrong="doesn't look at the operation" spoils="share_equal"
def share_equal(graph):
    first = {}
    return rebuilt(graph, lambda step: first.setdefault(signature(step)[1], step))


# %% answer="static_fold_and_share" right="without rebuilt"
def fold_constants(graph):
    now, steps = {each: each for each in graph.inputs}, []

    def newest(each):
        return now[each] if isinstance(each, Step) else each

    for step in graph.steps:
        args = replace(step.args, newest)
        if steps_in(args):
            now[step] = Step(step.op, args)
            steps.append(now[step])
        else:
            with no_grad():
                now[step] = step.op(*args)
    return Graph(graph.inputs, steps, replace(graph.output, newest))


def share_equal(graph):
    now, steps, first = {each: each for each in graph.inputs}, [], {}

    def newest(each):
        return now[each] if isinstance(each, Step) else each

    for step in graph.steps:
        new = Step(step.op, replace(step.args, newest))
        if signature(new) in first:
            now[step] = first[signature(new)]
        else:
            now[step] = first[signature(new)] = new
            steps.append(new)
    return Graph(graph.inputs, steps, replace(graph.output, newest))


# %% answer="static_fold_and_share" right="a decorator, and a list that is searched"
@no_grad()
def fold_constants(graph):
    def better(step):
        is_constant = len(list(steps_in(step.args))) == 0
        return step.op(*step.args) if is_constant else step

    return rebuilt(graph, better)


def share_equal(graph):
    seen = []

    def better(step):
        for other in seen:
            if signature(other) == signature(step):
                return other
        seen.append(step)
        return step

    return rebuilt(graph, better)


# %% answer="static_fold_and_share" wrong="a number for a 0-d constant"
def fold_constants(graph):
    def better(step):
        if steps_in(step.args):
            return step
        with no_grad():
            result = step.op(*step.args)
            return result.item() if result.ndim == 0 else result
    return rebuilt(graph, better)


# %% answer="static_fold_and_share" wrong="shares no step that reads no input"
def share_equal(graph):
    first = {}
    def better(step):
        if not steps_in(step.args):
            return step
        return first.setdefault(signature(step), step)
    return rebuilt(graph, better)


# %% answer="static_drop_unused" wrong="steps are removed while the list is walked"
def drop_unused(graph):
    kept = list(graph.steps)
    for step in kept:
        used = [each for other in kept for each in steps_in(other.args)] + steps_in(graph.output)
        if step not in used:
            kept.remove(step)
    return Graph(graph.inputs, kept, graph.output)


# %% answer="static_drop_unused" wrong="cuts everything after the last step of the output"
def drop_unused(graph):
    wanted = [graph.steps.index(step) for step in steps_in(graph.output) if step in graph.steps]
    return Graph(graph.inputs, graph.steps[: max(wanted, default=-1) + 1], graph.output)


# %% answer="static_drop_unused" wrong="the order in which the walk finds them"
def drop_unused(graph):
    found, stack = [], list(steps_in(graph.output))
    while stack:
        step = stack.pop()
        if step not in found and step not in graph.inputs:
            found.append(step)
            stack += steps_in(step.args)
    return Graph(graph.inputs, found[::-1], graph.output)


# %% answer="static_drop_unused" wrong="inputs become steps"
def drop_unused(graph):
    needed, stack = set(), list(steps_in(graph.output))
    while stack:
        step = stack.pop()
        if step not in needed:
            needed.add(step)
            stack += steps_in(step.args)
    return Graph(graph.inputs, [each for each in graph.inputs + graph.steps if each in needed], graph.output)


# %% answer="static_drop_unused" wrong="only the first step of the output"
def drop_unused(graph):
    needed = set(steps_in(graph.output)[:1])
    for step in reversed(graph.steps):
        if step in needed:
            needed.update(steps_in(step.args))
    return Graph(graph.inputs, [step for step in graph.steps if step in needed], graph.output)


# %% answer="static_drop_unused" wrong="a forward walk: what reads something needed is needed"
def drop_unused(graph):
    needed = set(steps_in(graph.output))
    for step in graph.steps:
        if needed & set(steps_in(step.args)):
            needed.add(step)
    return Graph(graph.inputs, [step for step in graph.steps if step in needed], graph.output)


# %% answer="static_drop_unused" wrong="an output that is a constant needs every step"
def drop_unused(graph):
    needed = set(steps_in(graph.output)) or set(graph.steps)
    for step in reversed(graph.steps):
        if step in needed:
            needed.update(steps_in(step.args))
    return Graph(graph.inputs, [step for step in graph.steps if step in needed], graph.output)


# %% answer="static_drop_unused" right="a stack of steps to visit"
def drop_unused(graph):
    needed, stack = set(), list(steps_in(graph.output))
    while stack:
        step = stack.pop()
        if step not in needed:
            needed.add(step)
            stack.extend(steps_in(step.args))
    return Graph(graph.inputs, [step for step in graph.steps if step in needed], graph.output)


# %% answer="static_drop_unused" right="repeated until nothing changes"
def drop_unused(graph):
    from collections import Counter

    uses = Counter(each for step in graph.steps for each in steps_in(step.args))
    uses.update(steps_in(graph.output))
    gone = set()
    for step in graph.steps[::-1]:
        if not uses[step]:
            gone.add(step)
            uses.subtract(steps_in(step.args))
    return Graph(list(graph.inputs), [step for step in graph.steps if step not in gone], graph.output, graph.guards)


# %% answer="static_drop_unused" right="rebuilt keeps every step"
def drop_unused(graph):
    new = rebuilt(graph, lambda step: step)
    needed = {id(each) for each in steps_in(new.output)}
    for step in reversed(new.steps):
        if id(step) in needed:
            needed |= {id(each) for each in steps_in(step.args)}
    return Graph(new.inputs, [step for step in new.steps if id(step) in needed], new.output)


# %% answer="static_guards" wrong="a value of a tensor that came from no step is guarded as None" spoils="read"
def read(self, x, name, get):
    before, value, step = len(self.guards), get(x), self.symbol(x)
    self.guards[before:] = [Guard(len(self.steps), step if isinstance(step, Step) else None, name, value)]
    return value


# %% answer="static_guards" wrong="removes inner guards of steps only" spoils="read"
def read(self, x, name, get):
    before, value, step = len(self.guards), get(x), self.symbol(x)
    if isinstance(step, Step):
        self.guards[before:] = [Guard(len(self.steps), step, name, value)]
    return value


# %% answer="static_guards" wrong="throws earlier guards away, too" spoils="read"
def read(self, x, name, get):
    value, step = get(x), self.symbol(x)
    self.guards[:] = [Guard(len(self.steps), step, name, value)] if isinstance(step, Step) else []
    return value


# %% answer="static_guards" wrong="removes the last guard only" spoils="read"
def read(self, x, name, get):
    before, value, step = len(self.guards), get(x), self.symbol(x)
    if len(self.guards) > before:
        self.guards.pop()
    if isinstance(step, Step):
        self.guards.append(Guard(len(self.steps), step, name, value))
    return value


# %% answer="static_guards" wrong="returns the guard" spoils="read"
def read(self, x, name, get):
    before, value, step = len(self.guards), get(x), self.symbol(x)
    self.guards[before:] = [Guard(len(self.steps), step, name, value)] if isinstance(step, Step) else []
    return self.guards[-1] if len(self.guards) > before else value


# %% answer="static_guards" wrong="the tensor itself in place of its step" spoils="read"
def read(self, x, name, get):
    before, value, step = len(self.guards), get(x), self.symbol(x)
    self.guards[before:] = [Guard(len(self.steps), x, name, value)] if isinstance(step, Step) else []
    return value


# %% answer="static_guards" wrong="the text of the value" spoils="read"
def read(self, x, name, get):
    before, value, step = len(self.guards), get(x), self.symbol(x)
    self.guards[before:] = [Guard(len(self.steps), step, name, repr(value))] if isinstance(step, Step) else []
    return value


# %% answer="static_guards" wrong="reads every value with item" spoils="__call__"
def __call__(self, *inputs):
    kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs)
    sizes = tuple(x.shape for x in inputs)
    path, values = (kinds, sizes if (kinds, sizes) in self.pieces else None), inputs
    while path in self.pieces:
        piece, read = self.pieces[path]
        result, made = run(piece, *values)
        if not read:
            return result
        path, values = (*path, repr(result.item())), (*values, *made)
    return self.compile(inputs, kinds, sizes)


# %% answer="static_guards" wrong="later pieces are given the inputs alone" spoils="__call__"
def __call__(self, *inputs):
    kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs)
    sizes = tuple(x.shape for x in inputs)
    path = (kinds, sizes if (kinds, sizes) in self.pieces else None)
    while path in self.pieces:
        piece, read = self.pieces[path]
        result, made = run(piece, *inputs)
        if not read:
            return result
        path = (*path, repr(getattr(result, read)()))
    return self.compile(inputs, kinds, sizes)


# %% answer="static_guards" wrong="later pieces are given the last piece's results alone" spoils="__call__"
def __call__(self, *inputs):
    kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs)
    sizes = tuple(x.shape for x in inputs)
    path, made = (kinds, sizes if (kinds, sizes) in self.pieces else None), []
    while path in self.pieces:
        piece, read = self.pieces[path]
        result, made = run(piece, *inputs, *made)
        if not read:
            return result
        path = (*path, repr(getattr(result, read)()))
    return self.compile(inputs, kinds, sizes)


# %% answer="static_guards" wrong="compiles for any size where the path has None" spoils="__call__"
def __call__(self, *inputs):
    kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs)
    sizes = tuple(x.shape for x in inputs)
    path, values = (kinds, sizes if (kinds, sizes) in self.pieces else None), inputs
    while path in self.pieces:
        piece, read = self.pieces[path]
        result, made = run(piece, *values)
        if not read:
            return result
        path, values = (*path, repr(getattr(result, read)())), (*values, *made)
    return self.compile(inputs, kinds, path[1])


# %% answer="static_guards" wrong="the value and not its repr" spoils="__call__"
def __call__(self, *inputs):
    kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs)
    sizes = tuple(x.shape for x in inputs)
    path, values = (kinds, sizes if (kinds, sizes) in self.pieces else None), inputs
    while path in self.pieces:
        piece, read = self.pieces[path]
        result, made = run(piece, *values)
        if not read:
            return result
        path, values = (*path, getattr(result, read)()), (*values, *made)
    return self.compile(inputs, kinds, sizes)


# %% answer="static_guards" wrong="kinds of the first input alone" spoils="__call__"
def __call__(self, *inputs):
    kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs[:1])
    sizes = tuple(x.shape for x in inputs)
    path, values = (kinds, sizes if (kinds, sizes) in self.pieces else None), inputs
    while path in self.pieces:
        piece, read = self.pieces[path]
        result, made = run(piece, *values)
        if not read:
            return result
        path, values = (*path, repr(getattr(result, read)())), (*values, *made)
    return self.compile(inputs, kinds, sizes)


# %% answer="static_guards" wrong="the sizes of the first input alone" spoils="__call__"
def __call__(self, *inputs):
    kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs)
    sizes = tuple(x.shape for x in inputs[:1])
    path, values = (kinds, sizes if (kinds, sizes) in self.pieces else None), inputs
    while path in self.pieces:
        piece, read = self.pieces[path]
        result, made = run(piece, *values)
        if not read:
            return result
        path, values = (*path, repr(getattr(result, read)())), (*values, *made)
    return self.compile(inputs, kinds, sizes)


# %% answer="static_guards" right="recursion over the path, item by item"
def read(self, x, name, get):
    start = len(self.guards)
    value = get(x)
    while len(self.guards) > start:
        self.guards.pop()
    source = self.symbol(x)
    if source is not x:
        self.guards += [Guard(at=len(self.steps), step=source, read=name, value=value)]
    return value


def __call__(self, *inputs):
    kinds = tuple([(x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs])
    sizes = tuple([x.shape for x in inputs])

    def follow(path, values):
        if path not in self.pieces:
            return self.compile(inputs, kinds, sizes)
        piece, read = self.pieces[path]
        result, made = run(piece, *values)
        if read == "":
            return result
        return follow(path + (repr(getattr(result, read)()),), list(values) + list(made))

    start = (kinds, sizes)
    return follow(start if start in self.pieces else (kinds, None), inputs)


# %% answer="static_guards" right="endless loop with returns"
def read(self, x, name, get):
    kept = list(self.guards)
    value = get(x)
    step = self.symbol(x)
    self.guards[:] = kept + ([Guard(len(self.steps), step, name, value)] if isinstance(step, Step) else [])
    return value


def __call__(self, *inputs):
    kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs)
    sizes = tuple(x.shape for x in inputs)
    path = [kinds, sizes]
    if tuple(path) not in self.pieces:
        path[1] = None
    values = [*inputs]
    while True:
        found = self.pieces.get(tuple(path))
        if found is None:
            return self.compile(inputs, kinds, sizes)
        result, made = run(found[0], *values)
        if not found[1]:
            return result
        path.append(repr({"item": lambda: result.item(), "tolist": lambda: result.tolist(), "__bool__": lambda: bool(result)}[found[1]]()))
        values.extend(made)


# %% answer="static_guards" right="a new list of guards"
def read(self, x, name, get):
    before = tuple(self.guards)
    value = get(x)
    self.guards = list(before)
    step = self.symbol(x)
    if isinstance(step, Step):
        self.guards.append(Guard(len(self.steps), step, name, value))
    return value


# %% answer="static_guards" wrong="reads the value twice"
def read(self, x, name, get):
    before = len(self.guards)
    value = get(x)
    step = self.symbol(x)
    self.guards[before:] = [Guard(len(self.steps), step, name, get(x))] if isinstance(step, Step) else []
    return value


# %% answer="static_guards" wrong="the open sizes come first"
def __call__(self, *inputs):
    kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs)
    sizes = tuple(x.shape for x in inputs)
    path = (kinds, None if (kinds, None) in self.pieces else sizes)
    values = inputs
    while path in self.pieces:
        piece, read = self.pieces[path]
        result, made = run(piece, *values)
        if not read:
            return result
        path = (*path, repr(getattr(result, read)()))
        values = (*values, *made)
    return self.compile(inputs, kinds, sizes)


# %% answer="static_count_bytes" wrong="counts the storage of what is read"
def moved(op, args, result, seconds=0):
    tensors = [*tensors_in(args[op.writes :]), result]
    return sum(each.storage.nbytes for each in tensors) if op.writes or result.base is None else 0


# %% answer="static_count_bytes" wrong="elements, not bytes"
def moved(op, args, result, seconds=0):
    tensors = [*tensors_in(args[op.writes :]), result]
    return sum(each.numel() for each in tensors) if op.writes or result.base is None else 0


# %% answer="static_count_bytes" wrong="a tensor that is read has no base"
def moved(op, args, result, seconds=0):
    if not op.writes and result.base is not None:
        return 0
    return sum(each.nbytes for each in tensors_in(args[op.writes :]) if each.base is None) + result.nbytes


# %% answer="static_count_bytes" wrong="what is written takes the source's bytes"
def moved(op, args, result, seconds=0):
    if op.writes:
        return 2 * sum(each.nbytes for each in tensors_in(args[1:]))
    return 0 if result.base is not None else sum(each.nbytes for each in tensors_in(args)) + result.nbytes


# %% answer="static_count_bytes" wrong="the first element's size for all"
def moved(op, args, result, seconds=0):
    tensors = [*tensors_in(args[op.writes :]), result]
    size = tensors[0].nbytes // max(tensors[0].numel(), 1)
    return sum(size * each.numel() for each in tensors) if op.writes or result.base is None else 0


# %% answer="static_count_bytes" wrong="a view moves what it shows"
def moved(op, args, result, seconds=0):
    if op.writes:
        return sum(each.nbytes for each in tensors_in(args[1:])) + result.nbytes
    return result.nbytes if result.base is not None else sum(each.nbytes for each in tensors_in(args)) + result.nbytes


# %% answer="static_count_bytes" right="a loop"
def moved(op, args, result, seconds=0):
    if result.base is not None and not op.writes:
        return 0
    total = result.nbytes
    for number, argument in enumerate(args):
        if not (op.writes and number == 0):
            total += sum(each.nbytes for each in tensors_in((argument,)))
    return total


# %% answer="static_count_bytes" right="elements times their size"
def moved(op, args, result, seconds=0.0):
    if not op.writes and result.base is not None:
        return 0
    read = list(tensors_in(args))[1:] if op.writes else list(tensors_in(args))
    return sum(each.numel() * each.element_size() for each in (*read, result))


# %% answer="static_count_bytes" right="all bytes, less those of what is overwritten"
def moved(op, args, result, seconds=0):
    everything = sum(each.nbytes for each in tensors_in(args)) + result.nbytes
    if op.writes:
        return everything - args[0].nbytes
    return everything * (result.base is None)


# %% answer="static_rebuild" wrong="keeps the storage's id alone" spoils="know symbol"
def know(self, x, step):
    self.alive.append(x)
    self.known[id(x.storage)] = step
    return step


def symbol(self, argument):
    return self.known.get(id(argument.storage), argument) if isinstance(argument, Tensor) else argument


# %% answer="static_rebuild" wrong="an unknown tensor has no symbol" spoils="symbol"
def symbol(self, argument):
    return self.known.get(key(argument)) if isinstance(argument, Tensor) else argument


# %% answer="static_rebuild" wrong="returns nothing" spoils="know"
def know(self, x, step):
    self.alive.append(x)
    self.known[key(x)] = step


# %% answer="static_rebuild" wrong="the first step stays registered" spoils="know"
def know(self, x, step):
    self.alive.append(x)
    return self.known.setdefault(key(x), step)


# %% answer="static_rebuild" wrong="keeps a detached tensor only if it is new" spoils="know"
def know(self, x, step):
    if key(x) not in self.known:
        self.alive.append(x)
    self.known[key(x)] = step
    return step


# %% answer="static_rebuild" wrong="tensors alone by identity, steps by their operation" spoils="signature"
def signature(step):
    def part(argument):
        if isinstance(argument, Step):
            return "step", id(argument.op)
        return ("tensor", id(argument)) if isinstance(argument, Tensor) else (type(argument).__name__, repr(argument))

    return id(step.op), repr(replace(step.args, part))


# %% answer="static_rebuild" wrong="the repr without the type" spoils="signature"
def signature(step):
    return id(step.op), repr(replace(step.args, lambda each: id(each) if isinstance(each, (Step, Tensor)) else str(each)))


# %% answer="static_rebuild" wrong="without the operation" spoils="signature"
def signature(step):
    return repr(replace(step.args, lambda each: ("object", id(each)) if isinstance(each, (Step, Tensor)) else (type(each), repr(each))))


# %% answer="static_rebuild" wrong="the order of the arguments doesn't count" spoils="signature"
def signature(step):
    parts = [("object", id(each)) if isinstance(each, (Step, Tensor)) else (type(each).__name__, repr(each)) for each in step.args]
    return id(step.op), tuple(sorted(map(str, parts)))


# %% answer="static_rebuild" wrong="every argument by identity" spoils="signature"
def signature(step):
    return id(step.op), repr(replace(step.args, id))


# %% answer="static_rebuild" wrong="a hash of the arguments as they are" spoils="signature"
def signature(step):
    return step.op, step.args


# %% answer="static_rebuild" wrong="tensors inside lists by their values" spoils="signature"
def signature(step):
    parts = [("object", id(each)) if isinstance(each, (Step, Tensor)) else (type(each).__name__, repr(each)) for each in step.args]
    return id(step.op), tuple(parts)


# %% answer="static_rebuild" wrong="changes the old steps' arguments" spoils="rebuilt"
def rebuilt(graph, better):
    instead = {step: step for step in graph.inputs}

    def newest(argument):
        return instead[argument] if isinstance(argument, Step) else argument

    steps = []
    for step in graph.steps:
        step.args = replace(step.args, newest)
        instead[step] = better(step)
        if instead[step] is step:
            steps.append(step)
    return Graph(graph.inputs, steps, replace(graph.output, newest))


# %% answer="static_rebuild" wrong="keeps whatever step better returns" spoils="rebuilt"
def rebuilt(graph, better):
    instead = {step: step for step in graph.inputs}

    def newest(argument):
        return instead[argument] if isinstance(argument, Step) else argument

    steps = []
    for step in graph.steps:
        instead[step] = better(Step(step.op, replace(step.args, newest)))
        if isinstance(instead[step], Step):
            steps.append(instead[step])
    return Graph(graph.inputs, steps, replace(graph.output, newest))


# %% answer="static_rebuild" wrong="asks better twice" spoils="rebuilt"
def rebuilt(graph, better):
    instead = {step: step for step in graph.inputs}

    def newest(argument):
        return instead[argument] if isinstance(argument, Step) else argument

    steps = []
    for step in graph.steps:
        candidate = Step(step.op, replace(step.args, newest))
        if better(candidate) is candidate:
            steps.append(candidate)
        instead[step] = better(candidate)
    return Graph(graph.inputs, steps, replace(graph.output, newest))


# %% answer="static_rebuild" wrong="replaces only arguments at the top" spoils="rebuilt"
def rebuilt(graph, better):
    instead = {step: step for step in graph.inputs}

    def newest(argument):
        return instead[argument] if isinstance(argument, Step) else argument

    steps = []
    for step in graph.steps:
        candidate = Step(step.op, tuple(newest(each) for each in step.args))
        instead[step] = better(candidate)
        if instead[step] is candidate:
            steps.append(candidate)
    return Graph(graph.inputs, steps, replace(graph.output, newest))


# %% answer="static_rebuild" wrong="an output that is a tuple isn't replaced" spoils="rebuilt"
def rebuilt(graph, better):
    instead = {step: step for step in graph.inputs}

    def newest(argument):
        return instead[argument] if isinstance(argument, Step) else argument

    steps = []
    for step in graph.steps:
        candidate = Step(step.op, replace(step.args, newest))
        instead[step] = better(candidate)
        if instead[step] is candidate:
            steps.append(candidate)
    return Graph(graph.inputs, steps, newest(graph.output))


# %% answer="static_rebuild" wrong="new steps get into the list although they were replaced" spoils="rebuilt"
def rebuilt(graph, better):
    instead = {step: step for step in graph.inputs}

    def newest(argument):
        return instead[argument] if isinstance(argument, Step) else argument

    steps = []
    for step in graph.steps:
        candidate = Step(step.op, replace(step.args, newest))
        steps.append(candidate)
        instead[step] = better(candidate)
    return Graph(graph.inputs, steps, replace(graph.output, newest))


# %% answer="static_rebuild" wrong="the same graph, written anew" spoils="rebuilt"
def rebuilt(graph, better):
    instead = {step: step for step in graph.inputs}

    def newest(argument):
        return instead[argument] if isinstance(argument, Step) else argument

    steps = []
    for step in graph.steps:
        candidate = Step(step.op, replace(step.args, newest))
        instead[step] = better(candidate)
        if instead[step] is candidate:
            steps.append(candidate)
    graph.steps, graph.output = steps, replace(graph.output, newest)
    return graph


# %% answer="static_rebuild" right="tuples as signature, dicts with get, a try"
def know(self, x, step):
    self.known[key(x)], self.alive = step, [*self.alive, x]
    return self.known[key(x)]


def symbol(self, argument):
    if not isinstance(argument, Tensor):
        return argument
    try:
        return self.known[key(argument)]
    except KeyError:
        return argument


def signature(step):
    def plain(each):
        if isinstance(each, (list, tuple)):
            return (type(each), *map(plain, each))
        if isinstance(each, slice):
            return (slice, plain(each.start), plain(each.stop), plain(each.step))
        if isinstance(each, (Step, Tensor)):
            return (object, id(each))
        return (type(each), repr(each))

    return (step.op, plain(step.args))


def rebuilt(graph, better):
    new, steps = {}, []
    newest = lambda each: new.get(each, each) if isinstance(each, Step) else each
    for step in graph.steps:
        fresh = Step(step.op, replace(step.args, newest))
        result = better(fresh)
        new[step] = result
        if result is fresh:
            steps += [fresh]
    return Graph(list(graph.inputs), steps, replace(graph.output, newest))


# %% answer="static_rebuild" right="a signature of text alone"
def signature(step):
    def text(each):
        if isinstance(each, list):
            return "[" + ",".join(map(text, each)) + "]"
        if isinstance(each, tuple):
            return "(" + ",".join(map(text, each)) + ",)"
        return f"@{id(each)}" if isinstance(each, (Step, Tensor)) else f"{type(each).__name__}:{each!r}"

    return f"{step.op.name} {id(step.op)} {text(step.args)}"


# %% answer="static_rebuild" right="a nested function that recurses into the old arguments"
def rebuilt(graph, better):
    instead = dict(zip(graph.inputs, graph.inputs))

    def change(each):
        if isinstance(each, list):
            return [change(inner) for inner in each]
        if isinstance(each, tuple):
            return tuple(change(inner) for inner in each)
        return instead[each] if isinstance(each, Step) else each

    steps = []
    for old in graph.steps:
        fresh = Step(old.op, change(old.args))
        chosen = better(fresh)
        instead[old] = chosen
        steps.extend([fresh] * (chosen is fresh))
    return Graph(graph.inputs, steps, change(graph.output))


# %% answer="static_rebuild" wrong="tensors by storage"
def signature(step):
    def part(each):
        if isinstance(each, Tensor):
            return id(each.storage)
        if isinstance(each, (Step, Tensor)):
            return ("object", id(each))
        if isinstance(each, (list, tuple)):
            return (type(each).__name__, tuple(map(part, each)))
        if isinstance(each, slice):
            return ("slice", part(each.start), part(each.stop), part(each.step))
        return (type(each).__name__, repr(each))
    return (id(step.op), part(step.args))


# %% answer="static_rebuild" wrong="a slice without its step"
def signature(step):
    def part(each):
        if isinstance(each, (Step, Tensor)):
            return ("object", id(each))
        if isinstance(each, (list, tuple)):
            return (type(each).__name__, tuple(map(part, each)))
        if isinstance(each, slice):
            return ("slice", part(each.start), part(each.stop))
        return (type(each).__name__, repr(each))
    return (id(step.op), part(step.args))


# %% answer="static_rebuild" wrong="keeps an input that takes a step's place"
def rebuilt(graph, better):
    instead = {each: each for each in graph.inputs}
    now = lambda each: instead[each] if isinstance(each, Step) else each
    steps = []
    for step in graph.steps:
        new = Step(step.op, replace(step.args, now))
        instead[step] = better(new)
        if isinstance(instead[step], Step) and instead[step] not in steps:
            steps.append(instead[step])
    return Graph(graph.inputs, steps, replace(graph.output, now))


# %% answer="static_rebuild" wrong="gives better an old step"
def rebuilt(graph, better):
    instead = {each: each for each in graph.inputs}
    now = lambda each: instead[each] if isinstance(each, Step) else each
    steps = []
    for step in graph.steps:
        args = replace(step.args, now)
        new = step if all(a is b for a, b in zip(args, step.args)) else Step(step.op, args)
        instead[step] = better(new)
        if instead[step] is new:
            steps.append(new)
    return Graph(graph.inputs, steps, replace(graph.output, now))


# %% answer="static_rebuild" wrong="new inputs in place of the old ones"
def rebuilt(graph, better):
    instead = {each: Step(each.op, each.args) for each in graph.inputs}
    now = lambda each: instead[each] if isinstance(each, Step) else each
    steps = []
    for step in graph.steps:
        new = Step(step.op, replace(step.args, now))
        instead[step] = better(new)
        if instead[step] is new:
            steps.append(new)
    return Graph(list(instead.values())[:len(graph.inputs)], steps, replace(graph.output, now))


# %% answer="static_drop_unused" wrong="returns the old graph itself if there is nothing to drop ('return a new graph')"
def drop_unused(graph: Graph) -> Graph:
    needed = set(steps_in(graph.output))
    for step in reversed(graph.steps):
        if step in needed:
            needed.update(steps_in(step.args))
    steps = [step for step in graph.steps if step in needed]
    if len(steps) == len(graph.steps):
        return graph
    return Graph(graph.inputs, steps, graph.output, graph.guards)


# %% answer="static_drop_unused" right="drops the steps that nobody uses until there are none"
def drop_unused(graph: Graph) -> Graph:
    steps = list(graph.steps)
    while True:
        used = set(steps_in([graph.output, *(step.args for step in steps)]))
        kept = [step for step in steps if step in used]
        if len(kept) == len(steps):
            return Graph(list(graph.inputs), kept, graph.output, list(graph.guards))
        steps = kept


# %% answer="static_drop_unused" right="a stack of steps to visit, and their numbers"
def drop_unused(graph: Graph) -> Graph:
    place = {step: number for number, step in enumerate(graph.steps)}
    stack, numbers = steps_in(graph.output), set()
    while stack:
        step = stack.pop()
        if step in place and place[step] not in numbers:
            numbers.add(place[step])
            stack += steps_in(step.args)
    return Graph(graph.inputs, [graph.steps[number] for number in sorted(numbers)], graph.output, graph.guards)


# %% answer="static_repair_recompiles" right="the norm by a product, a divisor of at least 1"
def update(gradient, step):
    norm = (gradient @ gradient).sqrt()
    return gradient / norm.clamp(min=1) * step.clamp(max=4) * -0.025


# %% answer="static_repair_recompiles" right="a factor of at most 1, as in clip_grad_norm_"
def update(gradient, step):
    factor = 1 / (gradient.pow(2).sum() ** 0.5 + 1e-6)
    rate = step.float().clamp(0.0, 4.0) / 40
    return gradient * factor.clamp(max=1.0) * -rate


# %% answer="static_repair_recompiles" right="minimum and maximum of tensors"
def update(gradient, step):
    import mytorch as torch

    one = torch.tensor(1.0)
    squares = torch.sum(gradient * gradient)
    gradient = gradient / torch.maximum(torch.sqrt(squares), one)
    return -(0.1 * torch.minimum(step / 4, one)) * gradient


# %% answer="static_repair_recompiles" right="where and masked_fill as methods, the dimension kept"
def update(gradient, step):
    squares = gradient.square().sum(0, keepdim=True)
    squares = squares.masked_fill(squares <= 1, 1.0)
    warm = (step / 4).where(step < 4, 1.0) * 0.1
    return gradient * squares.rsqrt() * warm.neg()


# %% answer="static_repair_recompiles" right="relu written out, the comparison by squares"
def update(gradient, step):
    squares = (gradient * gradient).sum()
    over = squares - 1
    divisor = 1 + (over + over.abs()) / 2
    left = 4 - step
    rate = (4 - (left + left.abs()) / 2) * 0.025
    return -rate * gradient / divisor.sqrt()


# %% answer="static_repair_recompiles" wrong="iterates over the gradient instead of its length"
def update(gradient, step):
    import mytorch

    norm = sum(each * each for each in gradient).sqrt()
    clipped = mytorch.where(norm > 1, gradient / norm, gradient)
    return -0.1 * (step / 4).clamp(max=1) * clipped


# %% answer="static_repair_recompiles" wrong="reads the step as a bool: a graph before and one after the warmup"
def update(gradient, step):
    import mytorch

    norm = gradient.square().sum().sqrt()
    clipped = mytorch.where(norm > 1, gradient / norm, gradient)
    rate = 0.1 if step >= 4 else 0.025 * step
    return -rate * clipped


# %% answer="static_repair_recompiles" wrong="float(step) is a read as well"
def update(gradient, step):
    import mytorch

    norm = gradient.square().sum().sqrt()
    clipped = mytorch.where(norm > 1, gradient / norm, gradient)
    return -0.1 * min(1.0, float(step) / 4) * clipped


# %% answer="static_repair_recompiles" wrong="pads to eight elements, which reads the length"
def update(gradient, step):
    import mytorch

    length = len(gradient)
    padded = mytorch.cat([gradient, mytorch.zeros(8 - length, dtype=gradient.dtype)])
    norm = padded.square().sum().sqrt()
    clipped = mytorch.where(norm > 1, padded / norm, padded)[:length]
    return -0.1 * (step / 4).clamp(max=1) * clipped


# %% answer="static_repair_recompiles" wrong="no upper end of the warmup"
def update(gradient, step):
    norm = gradient.square().sum().sqrt()
    return -0.1 * (step / 4) * gradient / norm.clamp(min=1)


# %% answer="static_repair_recompiles" wrong="whole quarters: the rate is 0 before step 4"
def update(gradient, step):
    norm = gradient.square().sum().sqrt()
    return -0.1 * (step // 4).clamp(max=1) * gradient / norm.clamp(min=1)


# %% answer="static_repair_recompiles" wrong="scales only the elements above 1"
def update(gradient, step):
    import mytorch

    norm = gradient.square().sum().sqrt()
    clipped = mytorch.where(gradient.abs() > 1, gradient / norm, gradient)
    return -0.1 * (step / 4).clamp(max=1) * clipped


# %% answer="static_repair_recompiles" wrong="the square of the norm as the divisor"
def update(gradient, step):
    import mytorch

    squares = gradient.square().sum()
    clipped = mytorch.where(squares > 1, gradient / squares, gradient)
    return -0.1 * (step / 4).clamp(max=1) * clipped


# %% answer="static_repair_recompiles" wrong="the largest element in place of the norm"
def update(gradient, step):
    return -0.1 * (step / 4).clamp(max=1) * gradient / gradient.abs().max().clamp(min=1)


# %% answer="static_repair_recompiles" wrong="float32 in place of the gradient's dtype"
def update(gradient, step):
    gradient = gradient.float()
    norm = gradient.square().sum().sqrt()
    return -0.1 * (step / 4).clamp(max=1) * gradient / norm.clamp(min=1)


# %% answer="static_repair_recompiles" wrong="no minus"
def update(gradient, step):
    norm = gradient.square().sum().sqrt()
    return 0.1 * (step / 4).clamp(max=1) * gradient / norm.clamp(min=1)


# %% answer="static_repair_recompiles" wrong="divides in place"
def update(gradient, step):
    gradient /= gradient.square().sum().sqrt().clamp(min=1)
    return -0.1 * (step / 4).clamp(max=1) * gradient


# %% answer="static_repair_recompiles" wrong="item() of a detached alias"
def update(gradient, step):
    norm = gradient.square().sum().sqrt()
    rate = 0.1 * min(1.0, step.detach().item() / 4)
    return -rate * gradient / norm.clamp(min=1)


# %% answer="static_repair_recompiles" wrong="the norm by NumPy, which no guard sees"
def update(gradient, step):
    norm = max(1.0, float((gradient.numpy() ** 2).sum() ** 0.5))
    return -0.1 * (step / 4).clamp(max=1) * gradient / norm


# %% answer="static_repair_recompiles" wrong="counts the steps itself"
STEPS = [0]


def update(gradient, step):
    STEPS[0] += 1
    norm = gradient.square().sum().sqrt()
    return -0.1 * min(1.0, STEPS[0] / 4) * gradient / norm.clamp(min=1)


# %% answer="static_repair_recompiles" wrong="remembers the rates by step"
RATES = {}


def update(gradient, step):
    norm = gradient.square().sum().sqrt()
    rate = RATES.setdefault(int(step), 0.1 * (step / 4).clamp(max=1))
    return -rate * gradient / norm.clamp(min=1)


# %% answer="static_repair_recompiles" wrong="an assertion that reads a value in each call"
def update(gradient, step):
    norm = gradient.square().sum().sqrt()
    assert norm >= 0, "a norm is never negative"
    return -0.1 * (step / 4).clamp(max=1) * gradient / norm.clamp(min=1)


# %% answer="static_repair_recompiles" wrong="a new 1 of the norm's shape, which is read"
def update(gradient, step):
    import mytorch

    norm = gradient.square().sum().sqrt()
    divisor = mytorch.maximum(norm, mytorch.ones_like(norm))
    return -0.1 * (step / 4).clamp(max=1) * gradient / divisor
