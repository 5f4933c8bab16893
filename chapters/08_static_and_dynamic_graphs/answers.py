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


# %% answer="static_repair_sharing" right="as first written, from the task alone"
def fit(training, validation, steps: int) -> list[list[float]]:
    def line(x, y):
        with tf.variable_scope("line", reuse=tf.AUTO_REUSE):
            w, b = (tf.get_variable(name, shape=(1,), initializer=tf.zeros_initializer()) for name in ("w", "b"))
        return tf.reduce_mean(tf.square(x * w + b - y))
    losses = [line(*map(tf.constant, each)) for each in (training, validation)]
    step = tf.train.GradientDescentOptimizer(0.2).minimize(losses[0])
    session, history = tf.Session(), []
    session.run(tf.global_variables_initializer())
    for _ in range(steps):
        session.run(step)
        history.append([loss.item() for loss in session.run(losses)])
    return history


# %% answer="static_repair_sharing" right="variables made once, outside"
def fit(training, validation, steps: int):
    w, b = (tf.Variable([0.0], name=name) for name in ("w", "b"))
    def line(x, y):
        return tf.reduce_mean(tf.square(x * w + b - y))
    losses = [line(*map(tf.constant, each)) for each in (training, validation)]
    step = tf.train.GradientDescentOptimizer(0.2).minimize(losses[0])
    session, history = tf.Session(), []
    session.run(tf.global_variables_initializer())
    for _ in range(steps):
        session.run(step)
        history.append([loss.item() for loss in session.run(losses)])
    return history


# %% answer="static_repair_sharing" right="reuse for the second one"
def fit(training, validation, steps: int):
    def line(x, y, reuse):
        with tf.variable_scope("line", reuse=reuse):
            w, b = (tf.get_variable(name, initializer=tf.constant([0.0])) for name in ("w", "b"))
        return tf.reduce_mean(tf.square(x * w + b - y))
    losses = [line(*map(tf.constant, each), r) for each, r in ((training, False), (validation, True))]
    step = tf.train.GradientDescentOptimizer(0.2).minimize(losses[0])
    session, history = tf.Session(), []
    session.run(tf.global_variables_initializer())
    for _ in range(steps):
        session.run(step)
        history.append([loss.item() for loss in session.run(losses)])
    return history


# %% answer="static_repair_sharing" wrong="no initializer"
def fit(training, validation, steps: int) -> list[list[float]]:
    def line(x, y):
        with tf.variable_scope("line", reuse=tf.AUTO_REUSE):
            w, b = (tf.get_variable(name, shape=(1,)) for name in ("w", "b"))
        return tf.reduce_mean(tf.square(x * w + b - y))
    losses = [line(*map(tf.constant, each)) for each in (training, validation)]
    step = tf.train.GradientDescentOptimizer(0.2).minimize(losses[0])
    session, history = tf.Session(), []
    session.run(tf.global_variables_initializer())
    for _ in range(steps):
        session.run(step)
        history.append([loss.item() for loss in session.run(losses)])
    return history


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
