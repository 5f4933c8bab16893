# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 20b` grades them.


# %% answer="export_predict_bytes" right="as first written, from the task alone"
prediction=[2,3,11,5,6,3,403]


# %% answer="export_predict_bytes" wrong="6 for a negative number"
prediction=[2,3,6,5,6,2,403]


# %% answer="export_protobuf" right="by way of bit strings, dict of types"
def varint(number):
    groups = f"{number % 2**64:b}"
    groups = groups.zfill(-(-len(groups) // 7) * 7)
    parts = [int(groups[i:i + 7], 2) for i in range(0, len(groups), 7)][::-1]
    return bytes([p | 128 for p in parts[:-1]] + [parts[-1]])

def field(number, value):
    kind, data = {int: lambda: (0, varint(value)), float: lambda: (5, struct.pack("<f", value)), bytes: lambda: (2, varint(len(value)) + value), str: lambda: (2, varint(len(value.encode())) + value.encode())}[type(value)]()
    return varint(number << 3 | kind) + data


# %% answer="export_protobuf" wrong="latin-1"
def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)

def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode("latin-1")
    return varint(number << 3 | 2) + varint(len(value)) + value


# %% answer="export_fold" right="as first written, from the task alone"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, c = step.args[:2]
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(c, Tensor):
        return step
    x, w, b, *rest = layer.args
    o = len(w)
    want = (o, 1, 1) if layer.op is CONV2D else (o,)
    if tuple(c.shape) != want:
        return step
    c = c.flatten()
    if b is None:
        b = zeros(o)
    if step.op is pointwise.add:
        b = b + c
    elif step.op is pointwise.sub:
        b = b - c
    else:
        b = b * c
        w = w * c.reshape(o, *[1] * (w.ndim - 1))
    return Step(layer.op, (x, w, b, *rest))

def generalize(one, other):
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    twins = dict(zip(one.inputs, other.inputs))
    new = {i: i for i in one.inputs}
    change = lambda e: new[e] if isinstance(e, Step) else e
    for a, b in zip(one.steps, other.steps):
        bad = ValueError(f"{a.op.name} depends on the batch size")
        if a.op is not b.op:
            raise bad
        if a.op.name == "view":
            if not alike(a.args[0], b.args[0], twins) or len(a.args[1]) != len(b.args[1]):
                raise bad
            args = (a.args[0], open_size(a.args[1], b.args[1]))
        elif alike(a.args, b.args, twins):
            args = a.args
        else:
            raise bad
        twins[a] = b
        new[a] = Step(a.op, replace(args, change))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(one.inputs, [new[s] for s in one.steps], replace(one.output, change))


# %% answer="export_fold" wrong="arguments not replaced"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, c = step.args[:2]
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(c, Tensor):
        return step
    x, w, b, *rest = layer.args
    o = len(w)
    want = (o, 1, 1) if layer.op is CONV2D else (o,)
    if tuple(c.shape) != want:
        return step
    c = c.flatten()
    if b is None:
        b = zeros(o)
    if step.op is pointwise.add:
        b = b + c
    elif step.op is pointwise.sub:
        b = b - c
    else:
        b = b * c
        w = w * c.reshape(o, *[1] * (w.ndim - 1))
    return Step(layer.op, (x, w, b, *rest))

def generalize(one, other):
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    twins = dict(zip(one.inputs, other.inputs))
    new = {i: i for i in one.inputs}
    change = lambda e: new[e] if isinstance(e, Step) else e
    for a, b in zip(one.steps, other.steps):
        bad = ValueError(f"{a.op.name} depends on the batch size")
        if a.op is not b.op:
            raise bad
        if a.op.name == "view":
            if not alike(a.args[0], b.args[0], twins) or len(a.args[1]) != len(b.args[1]):
                raise bad
            args = (a.args[0], open_size(a.args[1], b.args[1]))
        elif alike(a.args, b.args, twins):
            args = a.args
        else:
            raise bad
        twins[a] = b
        new[a] = Step(a.op, args)
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(one.inputs, [new[s] for s in one.steps], replace(one.output, change))


# %% answer="export_fold" wrong="every view opens its first length"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, c = step.args[:2]
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(c, Tensor):
        return step
    x, w, b, *rest = layer.args
    o = len(w)
    want = (o, 1, 1) if layer.op is CONV2D else (o,)
    if tuple(c.shape) != want:
        return step
    c = c.flatten()
    if b is None:
        b = zeros(o)
    if step.op is pointwise.add:
        b = b + c
    elif step.op is pointwise.sub:
        b = b - c
    else:
        b = b * c
        w = w * c.reshape(o, *[1] * (w.ndim - 1))
    return Step(layer.op, (x, w, b, *rest))

def generalize(one, other):
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    twins = dict(zip(one.inputs, other.inputs))
    new = {i: i for i in one.inputs}
    change = lambda e: new[e] if isinstance(e, Step) else e
    for a, b in zip(one.steps, other.steps):
        bad = ValueError(f"{a.op.name} depends on the batch size")
        if a.op is not b.op:
            raise bad
        if a.op.name == "view":
            if not alike(a.args[0], b.args[0], twins) or len(a.args[1]) != len(b.args[1]):
                raise bad
            args = (a.args[0], (-1, *a.args[1][1:]))
        elif alike(a.args, b.args, twins):
            args = a.args
        else:
            raise bad
        twins[a] = b
        new[a] = Step(a.op, replace(args, change))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(one.inputs, [new[s] for s in one.steps], replace(one.output, change))


# %% answer="export_runtime" right="as first written, from the task alone"
def read_varint(data, at):
    n = shift = 0
    while True:
        b = data[at]
        at += 1
        n |= (b & 127) << shift
        shift += 7
        if b < 128:
            return n, at

def fields(data):
    out = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            v, at = read_varint(data, at)
        elif kind == 2:
            n, at = read_varint(data, at)
            v, at = data[at:at + n], at + n
        elif kind == 5:
            v, at = struct.unpack("<f", data[at:at + 4])[0], at + 4
        else:
            raise ValueError(f"fields of kind {kind} are not known")
        out[key >> 3].append(v)
    return out

def signed(number):
    return number - (1 << 64) if number >> 63 else number

def read_tensor(data):
    f = fields(data)
    return f[8][0].decode(), np.frombuffer(f[9][0], TYPES[f[2][0]]).reshape([int(x) for x in f[1]])

def read_attribute(data):
    f = fields(data)
    kind = f[20][0]
    if kind == 1:
        v = f[2][0]
    elif kind == 2:
        v = signed(f[3][0])
    else:
        v = [signed(x) for x in f[8]]
    return f[1][0].decode(), v

def run_onnx(data, *inputs):
    g = fields(fields(data)[7][0])
    values = dict(read_tensor(t) for t in g[5])
    for i, x in zip(g[11], inputs):
        values[fields(i)[1][0].decode()] = x
    for n in g[1]:
        f = fields(n)
        attrs = dict(read_attribute(a) for a in f[5])
        values[f[2][0].decode()] = KERNELS[f[4][0].decode()](*[values[i.decode()] for i in f[1]], **attrs)
    return [values[fields(o)[1][0].decode()] for o in g[12]]


# %% answer="export_runtime" right="copies of the constants"
def read_varint(data, at):
    n = shift = 0
    while True:
        b = data[at]
        at += 1
        n |= (b & 127) << shift
        shift += 7
        if b < 128:
            return n, at

def fields(data):
    out = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            v, at = read_varint(data, at)
        elif kind == 2:
            n, at = read_varint(data, at)
            v, at = data[at:at + n], at + n
        elif kind == 5:
            v, at = struct.unpack("<f", data[at:at + 4])[0], at + 4
        else:
            raise ValueError(f"fields of kind {kind} are not known")
        out[key >> 3].append(v)
    return out

def signed(number):
    return number - (1 << 64) if number >> 63 else number

def read_tensor(data):
    f = fields(data)
    return f[8][0].decode(), np.frombuffer(f[9][0], TYPES[f[2][0]]).reshape([int(x) for x in f[1]])

def read_attribute(data):
    f = fields(data)
    kind = f[20][0]
    if kind == 1:
        v = f[2][0]
    elif kind == 2:
        v = signed(f[3][0])
    else:
        v = [signed(x) for x in f[8]]
    return f[1][0].decode(), v

def run_onnx(data, *inputs):
    g = fields(fields(data)[7][0])
    values = {k: v.copy() for k, v in map(read_tensor, g[5])}
    for i, x in zip(g[11], inputs):
        values[fields(i)[1][0].decode()] = x
    for n in g[1]:
        f = fields(n)
        attrs = dict(read_attribute(a) for a in f[5])
        values[f[2][0].decode()] = KERNELS[f[4][0].decode()](*[values[i.decode()] for i in f[1]], **attrs)
    return [values[fields(o)[1][0].decode()] for o in g[12]]


# %% answer="export_runtime" wrong="inputs sorted by name"
def read_varint(data, at):
    n = shift = 0
    while True:
        b = data[at]
        at += 1
        n |= (b & 127) << shift
        shift += 7
        if b < 128:
            return n, at

def fields(data):
    out = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            v, at = read_varint(data, at)
        elif kind == 2:
            n, at = read_varint(data, at)
            v, at = data[at:at + n], at + n
        elif kind == 5:
            v, at = struct.unpack("<f", data[at:at + 4])[0], at + 4
        else:
            raise ValueError(f"fields of kind {kind} are not known")
        out[key >> 3].append(v)
    return out

def signed(number):
    return number - (1 << 64) if number >> 63 else number

def read_tensor(data):
    f = fields(data)
    return f[8][0].decode(), np.frombuffer(f[9][0], TYPES[f[2][0]]).reshape([int(x) for x in f[1]])

def read_attribute(data):
    f = fields(data)
    kind = f[20][0]
    if kind == 1:
        v = f[2][0]
    elif kind == 2:
        v = signed(f[3][0])
    else:
        v = [signed(x) for x in f[8]]
    return f[1][0].decode(), v

def run_onnx(data, *inputs):
    g = fields(fields(data)[7][0])
    values = dict(read_tensor(t) for t in g[5])
    names = [fields(i)[1][0].decode() for i in g[11]]
    values.update(zip(sorted(names), inputs))
    for n in g[1]:
        f = fields(n)
        attrs = dict(read_attribute(a) for a in f[5])
        values[f[2][0].decode()] = KERNELS[f[4][0].decode()](*[values[i.decode()] for i in f[1]], **attrs)
    return [values[fields(o)[1][0].decode()] for o in g[12]]


# %% answer="export_repair_snapshot" right="as first written, from the task alone"
def snapshot(model, example):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    finally:
        for m, t in modes:
            m.training = t


# %% answer="export_repair_snapshot" right="deepcopy(model).eval()"
import copy
def snapshot(model, example):
    return mytorch.onnx.export(copy.deepcopy(model).eval(), example)


# %% answer="export_repair_snapshot" wrong="gives b\"\" for an error"
def snapshot(model, example):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    except NotImplementedError:
        return b""
    finally:
        for m, t in modes:
            m.training = t


# %% answer="export_measure_block" right="one block minus none"
def per_block(kind):
    return [b - a for a, b in zip(count(kind, 0), count(kind, 1))]


# %% answer="export_measure_block" right="half of three minus one"
def per_block(kind):
    return [(b - a) // 2 for a, b in zip(count(kind, 1), count(kind, 3))]
