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
            raise ValueError(f"fields of wire type {kind} are not known")
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
            raise ValueError(f"fields of wire type {kind} are not known")
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
            raise ValueError(f"fields of wire type {kind} are not known")
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


# %% answer="export_predict_bytes" wrong="a key of its own for each byte"
prediction = [3, 4, 12, 6, 7, 4, 404]


# %% answer="export_predict_bytes" wrong="floats of eight bytes"
prediction = [2, 3, 11, 9, 6, 3, 403]


# %% answer="export_predict_bytes" wrong="five bytes for a negative number"
prediction = [2, 3, 6, 5, 6, 3, 403]


# %% answer="export_predict_bytes" wrong="values without their keys"
prediction = [1, 2, 10, 4, 5, 1, 402]


# %% answer="export_predict_bytes" wrong="300 fits into one byte"
prediction = [2, 2, 11, 5, 6, 3, 403]


# %% answer="export_predict_bytes" wrong="a byte more after 400 bytes"
prediction = [2, 3, 11, 5, 6, 3, 404]


# %% answer="export_predict_bytes" wrong="fixed keys of two bytes"
prediction = [3, 4, 12, 6, 7, 3, 404]


# %% answer="export_predict_bytes" right="a tuple of sums"
prediction = 1 + 1, 1 + 2, 1 + 10, 1 + 4, 1 + 1 + 4, 2 + 1, 1 + 2 + 400


# %% answer="export_predict_bytes" right="an array"
prediction = np.array([2, 3, 11, 5, 6, 3, 403])


# %% answer="export_predict_bytes" right="strings"
prediction = "2 3 11 5 6 3 403".split()


# %% answer="export_protobuf" wrong="bytes of 8 bits" spoils="varint"
def varint(number):
    number &= 2**64 - 1
    found = []
    while number > 255:
        found.append(number & 255)
        number >>= 8
    return bytes([*found, number])


# %% answer="export_protobuf" wrong="the last byte has the bit, the others don't" spoils="varint"
def varint(number):
    number &= 2**64 - 1
    found = []
    while number > 127:
        found.append(number & 127)
        number >>= 7
    return bytes([*found, number | 128])


# %% answer="export_protobuf" wrong="nothing for 0" spoils="varint"
def varint(number):
    number &= 2**64 - 1
    found = []
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number] if number else found)


# %% answer="export_protobuf" wrong="zigzag" spoils="varint"
def varint(number):
    number = number << 1 if number >= 0 else -number << 1 | 1
    found = []
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


# %% answer="export_protobuf" wrong="the absolute value" spoils="varint"
def varint(number):
    number = abs(number)
    found = []
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


# %% answer="export_protobuf" wrong="63 bits" spoils="varint"
def varint(number):
    number &= 2**63 - 1
    found = []
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


# %% answer="export_protobuf" right="divmod"
def varint(number):
    number &= 2**64 - 1
    found = []
    while number > 127:
        number, low = divmod(number, 128)
        found.append(low + 128)
    return bytes([*found, number])


# %% answer="export_protobuf" right="a negative number plus 2 ** 64, a bytearray"
def varint(number):
    if number < 0:
        number += 1 << 64
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


# %% answer="export_protobuf" right="recursion"
def varint(number):
    number %= 2**64
    return bytes([number]) if number < 128 else bytes([number % 128 + 128]) + varint(number // 128)


# %% answer="export_protobuf" wrong="whole floats as integers" spoils="field"
def field(number, value):
    if isinstance(value, float) and value != int(value):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, (int, float)):
        return varint(number << 3) + varint(int(value))
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


# %% answer="export_protobuf" wrong="big-endian floats" spoils="field"
def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack(">f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


# %% answer="export_protobuf" wrong="wire type in front of the number" spoils="field"
def field(number, value):
    if isinstance(value, float):
        return varint(5 << 3 | number) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


# %% answer="export_protobuf" wrong="a length that includes itself" spoils="field"
def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data) + 1) + data


# %% answer="export_protobuf" wrong="nothing for an empty string" spoils="field"
def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data if data else data


# %% answer="export_protobuf" wrong="a zero at the end of a string" spoils="field"
def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data + (b"\0" if isinstance(value, str) else b"")


# %% answer="export_protobuf" wrong="integers of eight bytes" spoils="field"
def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3 | 1) + struct.pack("<q", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


# %% answer="export_protobuf" right="a match, a string as bytes"
def field(number, value):
    match value:
        case float():
            kind, data = 5, struct.pack("<f", value)
        case int():
            kind, data = 0, varint(value)
        case str():
            return field(number, value.encode("utf-8"))
        case _:
            kind, data = 2, varint(len(value)) + value
    return varint(8 * number + kind) + data


# %% answer="export_protobuf" right="bytes joined, types compared"
def field(number, value):
    if type(value) is float:
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return b"".join([varint((number << 3) + 2), varint(len(data)), bytes(data)])


# %% answer="export_protobuf" wrong="a key of one byte in front of strings" spoils="field"
def varint(number):
    number &= 2**64 - 1
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def field(number, value):
    if isinstance(value, (str, bytes)):
        data = value.encode() if isinstance(value, str) else value
        return bytes([number << 3 | 2]) + varint(len(data)) + data
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3) + varint(value)


# %% answer="export_protobuf" wrong="a key of one byte in front of floats" spoils="field"
def varint(number):
    number &= 2**64 - 1
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def field(number, value):
    if isinstance(value, float):
        return struct.pack("<Bf", number << 3 | 5, value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


# %% answer="export_protobuf" wrong="signed integers alone, by way of eight bytes" spoils="varint"
def varint(number):
    number = int.from_bytes(number.to_bytes(8, "little", signed=True), "little")
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


# %% answer="export_protobuf" wrong="the lowest bit of 64 is lost for negative numbers, 2 ** 64 - 1 being added" spoils="varint"
def varint(number):
    if number < 0:
        number += 2**64 - 1
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


# %% answer="export_protobuf" wrong="the number of bytes by a logarithm" spoils="varint"
def varint(number):
    import math

    number &= 2**64 - 1
    count = int(math.log(number, 128)) + 1 if number else 1
    groups = [number >> 7 * i & 127 for i in range(count)]
    return bytes([group | 128 for group in groups[:-1]] + groups[-1:])


def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


# %% answer="export_protobuf" wrong="a length of one byte" spoils="field"
def varint(number):
    number &= 2**64 - 1
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + bytes([len(data) & 255]) + data


# %% answer="export_protobuf" wrong="a float's bytes in the order of the machine, reversed" spoils="field"
def varint(number):
    number &= 2**64 - 1
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("f", value)[::-1]
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


# %% answer="export_protobuf" wrong="a str's bytes by ord" spoils="field"
def varint(number):
    number &= 2**64 - 1
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = bytes(map(ord, value)) if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


# %% answer="export_protobuf" right="the number of bytes by the number of bits, NumPy's float, the wire type from a loop"
def varint(number):
    number %= 1 << 64
    count = max(1, (number.bit_length() + 6) // 7)
    return bytes((number >> 7 * i) % 128 + 128 * (i < count - 1) for i in range(count))


def field(number, value):
    encode = {
        float: (5, lambda: np.float32(value).astype("<f4").tobytes()),
        int: (0, lambda: varint(value)),
        str: (2, lambda: varint(len(str.encode(value))) + str.encode(value)),
        bytes: (2, lambda: varint(len(value)) + bytes(value)),
    }
    for each, (wire, data) in encode.items():
        if isinstance(value, each):
            return varint(8 * number + wire) + data()
    raise TypeError(type(value))


# %% answer="export_fold" wrong="the given bias is changed in place" spoils="fold"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = layer.args
    if constant.shape != (len(weight),) + (1,) * (weight.ndim - 2):
        return step
    each = constant.flatten()
    if bias is None:
        bias = zeros(len(weight))
    if step.op is pointwise.add:
        bias += each
    elif step.op is pointwise.sub:
        bias = bias - each
    else:
        weight, bias = weight * each.reshape(-1, *(1,) * (weight.ndim - 1)), bias * each
    return Step(layer.op, (x, weight, bias, *rest))


# %% answer="export_fold" wrong="adds where it should subtract" spoils="fold"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = layer.args
    if constant.shape != (len(weight),) + (1,) * (weight.ndim - 2):
        return step
    each = constant.flatten()
    if bias is None:
        bias = zeros(len(weight))
    if step.op is pointwise.add:
        bias = bias + each
    elif step.op is pointwise.sub:
        bias = bias + each
    else:
        weight, bias = weight * each.reshape(-1, *(1,) * (weight.ndim - 1)), bias * each
    return Step(layer.op, (x, weight, bias, *rest))


# %% answer="export_fold" wrong="the product leaves the bias" spoils="fold"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = layer.args
    if constant.shape != (len(weight),) + (1,) * (weight.ndim - 2):
        return step
    each = constant.flatten()
    if bias is None:
        bias = zeros(len(weight))
    if step.op is pointwise.add:
        bias = bias + each
    elif step.op is pointwise.sub:
        bias = bias - each
    else:
        weight, bias = weight * each.reshape(-1, *(1,) * (weight.ndim - 1)), bias
    return Step(layer.op, (x, weight, bias, *rest))


# %% answer="export_fold" wrong="scales the input channels" spoils="fold"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = layer.args
    if constant.shape != (len(weight),) + (1,) * (weight.ndim - 2):
        return step
    each = constant.flatten()
    if bias is None:
        bias = zeros(len(weight))
    if step.op is pointwise.add:
        bias = bias + each
    elif step.op is pointwise.sub:
        bias = bias - each
    else:
        weight, bias = weight * each.reshape(1, -1, *(1,) * (weight.ndim - 2)), bias * each
    return Step(layer.op, (x, weight, bias, *rest))


# %% answer="export_fold" wrong="only layers with a bias" spoils="fold"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = layer.args
    if constant.shape != (len(weight),) + (1,) * (weight.ndim - 2):
        return step
    each = constant.flatten()
    if bias is None:
        return step
    if step.op is pointwise.add:
        bias = bias + each
    elif step.op is pointwise.sub:
        bias = bias - each
    else:
        weight, bias = weight * each.reshape(-1, *(1,) * (weight.ndim - 1)), bias * each
    return Step(layer.op, (x, weight, bias, *rest))


# %% answer="export_fold" wrong="any shape that broadcasts to the channels" spoils="fold"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = layer.args
    if constant.numel() != len(weight):
        return step
    each = constant.flatten()
    if bias is None:
        bias = zeros(len(weight))
    if step.op is pointwise.add:
        bias = bias + each
    elif step.op is pointwise.sub:
        bias = bias - each
    else:
        weight, bias = weight * each.reshape(-1, *(1,) * (weight.ndim - 1)), bias * each
    return Step(layer.op, (x, weight, bias, *rest))


# %% answer="export_fold" wrong="forgets stride, padding and groups" spoils="fold"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = layer.args
    if constant.shape != (len(weight),) + (1,) * (weight.ndim - 2):
        return step
    each = constant.flatten()
    if bias is None:
        bias = zeros(len(weight))
    if step.op is pointwise.add:
        bias = bias + each
    elif step.op is pointwise.sub:
        bias = bias - each
    else:
        weight, bias = weight * each.reshape(-1, *(1,) * (weight.ndim - 1)), bias * each
    return Step(layer.op, (x, weight, bias))


# %% answer="export_fold" wrong="writes into the layer's step" spoils="fold"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = layer.args
    if constant.shape != (len(weight),) + (1,) * (weight.ndim - 2):
        return step
    each = constant.flatten()
    if bias is None:
        bias = zeros(len(weight))
    if step.op is pointwise.add:
        bias = bias + each
    elif step.op is pointwise.sub:
        bias = bias - each
    else:
        weight, bias = weight * each.reshape(-1, *(1,) * (weight.ndim - 1)), bias * each
    layer.args = (x, weight, bias, *rest)
    return layer


# %% answer="export_fold" wrong="a division is a product" spoils="fold"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul, pointwise.div):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = layer.args
    if constant.shape != (len(weight),) + (1,) * (weight.ndim - 2):
        return step
    each = constant.flatten()
    if bias is None:
        bias = zeros(len(weight))
    if step.op is pointwise.add:
        bias = bias + each
    elif step.op is pointwise.sub:
        bias = bias - each
    else:
        weight, bias = weight * each.reshape(-1, *(1,) * (weight.ndim - 1)), bias * each
    return Step(layer.op, (x, weight, bias, *rest))


# %% answer="export_fold" wrong="every operation of a matrix is a layer" spoils="fold"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or len(layer.args) < 3 or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = layer.args
    if constant.shape != (len(weight),) + (1,) * (weight.ndim - 2):
        return step
    each = constant.flatten()
    if bias is None:
        bias = zeros(len(weight))
    if step.op is pointwise.add:
        bias = bias + each
    elif step.op is pointwise.sub:
        bias = bias - each
    else:
        weight, bias = weight * each.reshape(-1, *(1,) * (weight.ndim - 1)), bias * each
    return Step(layer.op, (x, weight, bias, *rest))


# %% answer="export_fold" right="a match of the operations, zeros by a product"
def fold(step):
    match step:
        case Step(op=pointwise.add | pointwise.sub | pointwise.mul as op, args=(Step() as layer, Tensor() as constant)):
            pass
        case _:
            return step
    if layer.op is not CONV2D and layer.op is not LINEAR:
        return step
    x, weight, bias, *rest = layer.args
    ones = [1] * (2 if layer.op is CONV2D else 0)
    if list(constant.shape) != [weight.shape[0], *ones]:
        return step
    shift = constant.reshape(-1)
    old = 0 * shift if bias is None else bias
    if op is pointwise.mul:
        return Step(layer.op, (x, weight * shift.reshape([-1] + [1] * (weight.ndim - 1)), old * shift, *rest))
    return Step(layer.op, (x, weight, old + shift if op is pointwise.add else old - shift, *rest))


# %% answer="export_fold" right="einsum of nothing: a transposed product"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = layer.args
    if constant.shape != (len(weight),) + (1,) * (weight.ndim - 2):
        return step
    each = constant.flatten()
    if bias is None:
        bias = zeros(len(weight))
    if step.op is pointwise.add:
        bias = bias + each
    elif step.op is pointwise.sub:
        bias = bias - each
    else:
        weight, bias = (weight.transpose(0, -1) * each).transpose(0, -1), bias * each
    return Step(layer.op, (x, weight, bias, *rest))


# %% answer="export_fold" wrong="results aren't compared" spoils="generalize"
def generalize(one, other):
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    twins, new = dict(zip(one.inputs, other.inputs)), dict(zip(one.inputs, one.inputs))
    for step, twin in zip(one.steps, other.steps):
        args = step.args
        if step.op is not twin.op:
            raise ValueError(f"{step.op.name} depends on the batch size")
        if step.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], open_size(args[1], twin.args[1]))
        elif not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        twins[step] = twin
        new[step] = Step(step.op, replace(args, lambda each: new[each] if isinstance(each, Step) else each))
    return Graph(one.inputs, [new[each] for each in one.steps], replace(one.output, lambda each: new.get(each, each)))


# %% answer="export_fold" wrong="arguments aren't compared" spoils="generalize"
def generalize(one, other):
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    twins, new = dict(zip(one.inputs, other.inputs)), dict(zip(one.inputs, one.inputs))
    for step, twin in zip(one.steps, other.steps):
        args = step.args
        if step.op is not twin.op:
            raise ValueError(f"{step.op.name} depends on the batch size")
        if step.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], open_size(args[1], twin.args[1]))
        twins[step] = twin
        new[step] = Step(step.op, replace(args, lambda each: new[each] if isinstance(each, Step) else each))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(one.inputs, [new[each] for each in one.steps], replace(one.output, lambda each: new.get(each, each)))


# %% answer="export_fold" wrong="the input of a view isn't compared" spoils="generalize"
def generalize(one, other):
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    twins, new = dict(zip(one.inputs, other.inputs)), dict(zip(one.inputs, one.inputs))
    for step, twin in zip(one.steps, other.steps):
        args = step.args
        if step.op is not twin.op:
            raise ValueError(f"{step.op.name} depends on the batch size")
        if step.op is views.view:
            args = (args[0], open_size(args[1], twin.args[1]))
        elif not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        twins[step] = twin
        new[step] = Step(step.op, replace(args, lambda each: new[each] if isinstance(each, Step) else each))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(one.inputs, [new[each] for each in one.steps], replace(one.output, lambda each: new.get(each, each)))


# %% answer="export_fold" wrong="operations aren't compared" spoils="generalize"
def generalize(one, other):
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    twins, new = dict(zip(one.inputs, other.inputs)), dict(zip(one.inputs, one.inputs))
    for step, twin in zip(one.steps, other.steps):
        args = step.args
        if step.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], open_size(args[1], twin.args[1]))
        elif not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        twins[step] = twin
        new[step] = Step(step.op, replace(args, lambda each: new[each] if isinstance(each, Step) else each))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(one.inputs, [new[each] for each in one.steps], replace(one.output, lambda each: new.get(each, each)))


# %% answer="export_fold" wrong="the steps of the first graph get other arguments" spoils="generalize"
def generalize(one, other):
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    twins, new = dict(zip(one.inputs, other.inputs)), dict(zip(one.inputs, one.inputs))
    for step, twin in zip(one.steps, other.steps):
        args = step.args
        if step.op is not twin.op:
            raise ValueError(f"{step.op.name} depends on the batch size")
        if step.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], open_size(args[1], twin.args[1]))
        elif not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        twins[step] = twin
        step.args = replace(args, lambda each: new[each] if isinstance(each, Step) else each)
        new[step] = step
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(one.inputs, [new[each] for each in one.steps], replace(one.output, lambda each: new.get(each, each)))


# %% answer="export_fold" wrong="the shorter of both" spoils="generalize"
def generalize(one, other):
    twins, new = dict(zip(one.inputs, other.inputs)), dict(zip(one.inputs, one.inputs))
    for step, twin in zip(one.steps, other.steps):
        args = step.args
        if step.op is not twin.op:
            raise ValueError(f"{step.op.name} depends on the batch size")
        if step.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], open_size(args[1], twin.args[1]))
        elif not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        twins[step] = twin
        new[step] = Step(step.op, replace(args, lambda each: new[each] if isinstance(each, Step) else each))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(one.inputs, [new[each] for each in one.steps], replace(one.output, lambda each: new.get(each, each)))


# %% answer="export_fold" wrong="sizes of the other graph" spoils="generalize"
def generalize(one, other):
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    twins, new = dict(zip(one.inputs, other.inputs)), dict(zip(one.inputs, one.inputs))
    for step, twin in zip(one.steps, other.steps):
        args = step.args
        if step.op is not twin.op:
            raise ValueError(f"{step.op.name} depends on the batch size")
        if step.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], twin.args[1])
        elif not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        twins[step] = twin
        new[step] = Step(step.op, replace(args, lambda each: new[each] if isinstance(each, Step) else each))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(one.inputs, [new[each] for each in one.steps], replace(one.output, lambda each: new.get(each, each)))


# %% answer="export_fold" wrong="the inputs of the other graph" spoils="generalize"
def generalize(one, other):
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    twins, new = dict(zip(one.inputs, other.inputs)), dict(zip(one.inputs, one.inputs))
    for step, twin in zip(one.steps, other.steps):
        args = step.args
        if step.op is not twin.op:
            raise ValueError(f"{step.op.name} depends on the batch size")
        if step.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], open_size(args[1], twin.args[1]))
        elif not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        twins[step] = twin
        new[step] = Step(step.op, replace(args, lambda each: new[each] if isinstance(each, Step) else each))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(other.inputs, [new[each] for each in one.steps], replace(one.output, lambda each: new.get(each, each)))


# %% answer="export_fold" right="a function that maps, errors in one place"
def generalize(one, other):
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    twins, new = dict(zip(one.inputs, other.inputs)), dict(zip(one.inputs, one.inputs))
    for step, twin in zip(one.steps, other.steps):
        args = step.args
        if step.op is twin.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], open_size(args[1], twin.args[1]))
        elif step.op is not twin.op or not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        twins[step] = twin
        new[step] = Step(step.op, replace(args, lambda each: new[each] if isinstance(each, Step) else each))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(one.inputs, [new[each] for each in one.steps], replace(one.output, lambda each: new.get(each, each)))


# %% answer="export_fold" right="opens sizes by itself"
def generalize(one, other):
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    twins, new = dict(zip(one.inputs, other.inputs)), dict(zip(one.inputs, one.inputs))
    for step, twin in zip(one.steps, other.steps):
        args = step.args
        if step.op is not twin.op:
            raise ValueError(f"{step.op.name} depends on the batch size")
        if step.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], tuple(a if a == b else -1 for a, b in zip(args[1], twin.args[1])))
        elif not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        twins[step] = twin
        new[step] = Step(step.op, replace(args, lambda each: new[each] if isinstance(each, Step) else each))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(one.inputs, [new[each] for each in one.steps], replace(one.output, lambda each: new.get(each, each)))


# %% answer="export_runtime" wrong="8 bits of each byte" spoils="read_varint"
def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 255) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


# %% answer="export_runtime" wrong="the position of the last byte" spoils="read_varint"
def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at - 1


# %% answer="export_runtime" wrong="128 ends a number" spoils="read_varint"
def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte <= 128:
            return number, at


# %% answer="export_runtime" wrong="how many bytes it read" spoils="read_varint"
def read_varint(data, at):
    number, shift, begin = 0, 0, at
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at - begin


# %% answer="export_runtime" wrong="32 bits" spoils="read_varint"
def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number & (2**32 - 1), at


# %% answer="export_runtime" wrong="with a sign" spoils="read_varint"
def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number - (number >> 63 << 64), at


# %% answer="export_runtime" right="a sum of the groups"
def read_varint(data, at):
    end = at
    while data[end] >= 128:
        end += 1
    groups = data[at : end + 1]
    return sum((each & 127) << 7 * place for place, each in enumerate(groups)), end + 1


# %% answer="export_runtime" right="recursion"
def read_varint(data, at):
    low, more = data[at] & 127, data[at] >> 7
    if not more:
        return low, at + 1
    rest, end = read_varint(data, at + 1)
    return low + rest * 128, end


# %% answer="export_runtime" wrong="the last value of each field" spoils="fields"
def fields(data):
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 5:
            value, at = struct.unpack("<f", data[at : at + 4])[0], at + 4
        elif kind == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"fields of wire type {kind} are not known")
        found[number] = [value]
    return found


# %% answer="export_runtime" wrong="a plain dict" spoils="fields"
def fields(data):
    found, at = {}, 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 5:
            value, at = struct.unpack("<f", data[at : at + 4])[0], at + 4
        elif kind == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"fields of wire type {kind} are not known")
        found.setdefault(number, []).append(value)
    return found


# %% answer="export_runtime" wrong="strings are decoded" spoils="fields"
def fields(data):
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 5:
            value, at = struct.unpack("<f", data[at : at + 4])[0], at + 4
        elif kind == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length].decode(), at + length
        else:
            raise ValueError(f"fields of wire type {kind} are not known")
        found[number].append(value)
    return found


# %% answer="export_runtime" wrong="keys of one byte" spoils="fields"
def fields(data):
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = data[at], at + 1
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 5:
            value, at = struct.unpack("<f", data[at : at + 4])[0], at + 4
        elif kind == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"fields of wire type {kind} are not known")
        found[number].append(value)
    return found


# %% answer="export_runtime" wrong="lengths of one byte" spoils="fields"
def fields(data):
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 5:
            value, at = struct.unpack("<f", data[at : at + 4])[0], at + 4
        elif kind == 2:
            length, at = data[at], at + 1
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"fields of wire type {kind} are not known")
        found[number].append(value)
    return found


# %% answer="export_runtime" wrong="a double" spoils="fields"
def fields(data):
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 5:
            value, at = struct.unpack("<d", data[at : at + 8])[0], at + 8
        elif kind == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"fields of wire type {kind} are not known")
        found[number].append(value)
    return found


# %% answer="export_runtime" wrong="unknown types are skipped" spoils="fields"
def fields(data):
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 5:
            value, at = struct.unpack("<f", data[at : at + 4])[0], at + 4
        elif kind == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            break
        found[number].append(value)
    return found


# %% answer="export_runtime" right="a match, unpack_from"
def fields(data):
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 5:
            (value,) = struct.unpack_from("<f", data, at)
            at += 4
        elif not kind:
            value, at = read_varint(data, at)
        elif kind == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"fields of wire type {kind} are not known")
        found[number].append(value)
    return found


# %% answer="export_runtime" right="divmod of the key, a slice as bytes"
def fields(data):
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = divmod(key, 8)
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 5:
            value, at = struct.unpack("<f", data[at : at + 4])[0], at + 4
        elif kind == 2:
            length, at = read_varint(data, at)
            value = bytes(data[at : at + length])
            at += length
        else:
            raise ValueError(f"fields of wire type {kind} are not known")
        found[number].append(value)
    return found


# %% answer="export_runtime" wrong="above 2 ** 63, not from it" spoils="signed"
def signed(number):
    return number - 2**64 if number > 2**63 else number


# %% answer="export_runtime" wrong="32 bits" spoils="signed"
def signed(number):
    return number - 2**32 if number >= 2**31 else number


# %% answer="export_runtime" wrong="sign and magnitude" spoils="signed"
def signed(number):
    return 2**63 - number if number >= 2**63 else number


# %% answer="export_runtime" wrong="minus one too many" spoils="signed"
def signed(number):
    return number - 2**64 + 1 if number >= 2**63 else number


# %% answer="export_runtime" right="struct"
def signed(number):
    return struct.unpack("<q", struct.pack("<Q", number))[0]


# %% answer="export_runtime" right="a remainder"
def signed(number):
    return (number + 2**63) % 2**64 - 2**63


# %% answer="export_runtime" right="bytes"
def signed(number):
    return int.from_bytes(number.to_bytes(8, "little"), "little", signed=True)


# %% answer="export_runtime" wrong="flat" spoils="read_tensor"
def read_tensor(data):
    found = fields(data)
    return found[8][0].decode(), np.frombuffer(found[9][0], TYPES[found[2][0]])


# %% answer="export_runtime" wrong="float32" spoils="read_tensor"
def read_tensor(data):
    found = fields(data)
    return found[8][0].decode(), np.frombuffer(found[9][0], "f4").reshape(found[1])


# %% answer="export_runtime" wrong="lengths from the last to the first" spoils="read_tensor"
def read_tensor(data):
    found = fields(data)
    return found[8][0].decode(), np.frombuffer(found[9][0], TYPES[found[2][0]]).reshape(found[1][::-1])


# %% answer="export_runtime" wrong="the name as bytes" spoils="read_tensor"
def read_tensor(data):
    found = fields(data)
    return found[8][0], np.frombuffer(found[9][0], TYPES[found[2][0]]).reshape(found[1])


# %% answer="export_runtime" wrong="a 0-d tensor becomes a vector" spoils="read_tensor"
def read_tensor(data):
    found = fields(data)
    return found[8][0].decode(), np.frombuffer(found[9][0], TYPES[found[2][0]]).reshape(found[1] or [-1])


# %% answer="export_runtime" wrong="column by column" spoils="read_tensor"
def read_tensor(data):
    found = fields(data)
    return found[8][0].decode(), np.frombuffer(found[9][0], TYPES[found[2][0]]).reshape(found[1], order="F")


# %% answer="export_runtime" right="ndarray on the memory"
def read_tensor(data):
    found = fields(data)
    return found[8][0].decode(), np.ndarray(tuple(found[1]), TYPES[found[2][0]], found[9][0])


# %% answer="export_runtime" right="a copy"
def read_tensor(data):
    found = fields(data)
    (name,), (kind,), (data,) = found[8], found[2], found[9]
    return str(name, "utf-8"), np.frombuffer(data, np.dtype(TYPES[kind])).copy().reshape(tuple(found[1]))


# %% answer="export_runtime" wrong="without signs" spoils="read_attribute"
def read_attribute(data):
    found = fields(data)
    name, kind = found[1][0].decode(), found[20][0]
    if kind == 1:
        return name, found[2][0]
    if kind == 2:
        return name, signed(found[3][0])
    return name, found[8]


# %% answer="export_runtime" wrong="a list of one is the integer" spoils="read_attribute"
def read_attribute(data):
    found = fields(data)
    name, kind = found[1][0].decode(), found[20][0]
    if kind == 1:
        return name, found[2][0]
    if kind == 2:
        return name, signed(found[3][0])
    values = [signed(each) for each in found[8]]
    return name, values[0] if len(values) == 1 else values


# %% answer="export_runtime" wrong="an integer in a list" spoils="read_attribute"
def read_attribute(data):
    found = fields(data)
    name, kind = found[1][0].decode(), found[20][0]
    if kind == 1:
        return name, found[2][0]
    if kind == 2:
        return name, [signed(found[3][0])]
    return name, [signed(each) for each in found[8]]


# %% answer="export_runtime" wrong="the float as an integer" spoils="read_attribute"
def read_attribute(data):
    found = fields(data)
    name, kind = found[1][0].decode(), found[20][0]
    if kind == 1:
        return name, int(found[2][0])
    if kind == 2:
        return name, signed(found[3][0])
    return name, [signed(each) for each in found[8]]


# %% answer="export_runtime" wrong="the float from field 3" spoils="read_attribute"
def read_attribute(data):
    found = fields(data)
    name, kind = found[1][0].decode(), found[20][0]
    if kind == 1:
        return name, found[3][0] if found[3] else 0.0
    if kind == 2:
        return name, signed(found[3][0])
    return name, [signed(each) for each in found[8]]


# %% answer="export_runtime" right="whichever field has values"
def read_attribute(data):
    found = fields(data)
    name, kind = found[1][0].decode(), found[20][0]
    if found[2]:
        return name, found[2][0]
    numbers = [*map(signed, found[3] + found[8])]
    return name, numbers if kind == 7 else numbers[0]


# %% answer="export_runtime" right="a dict of kinds"
def read_attribute(data):
    found = fields(data)
    name, kind = found[1][0].decode(), found[20][0]
    read = {1: lambda: found[2][0], 2: lambda: signed(found[3][0]), 7: lambda: [signed(each) for each in found[8]]}
    return name, read[kind]()


# %% answer="export_runtime" wrong="the result of the last node" spoils="run_onnx"
def run_onnx(data, *inputs):
    graph = fields(fields(data)[7][0])
    values = dict(read_tensor(each) for each in graph[5])
    for info, array in zip(graph[11], inputs):
        values[fields(info)[1][0].decode()] = array
    for node in graph[1]:
        parts = fields(node)
        attributes = dict(read_attribute(each) for each in parts[5])
        arguments = [values[each.decode()] for each in parts[1]]
        values[parts[2][0].decode()] = KERNELS[parts[4][0].decode()](*arguments, **attributes)
    return [values[fields(graph[1][-1])[2][0].decode()]]


# %% answer="export_runtime" wrong="one array, not a list" spoils="run_onnx"
def run_onnx(data, *inputs):
    graph = fields(fields(data)[7][0])
    values = dict(read_tensor(each) for each in graph[5])
    for info, array in zip(graph[11], inputs):
        values[fields(info)[1][0].decode()] = array
    for node in graph[1]:
        parts = fields(node)
        attributes = dict(read_attribute(each) for each in parts[5])
        arguments = [values[each.decode()] for each in parts[1]]
        values[parts[2][0].decode()] = KERNELS[parts[4][0].decode()](*arguments, **attributes)
    found = [values[fields(info)[1][0].decode()] for info in graph[12]]
    return found[0] if len(found) == 1 else found


# %% answer="export_runtime" wrong="inputs called x and y" spoils="run_onnx"
def run_onnx(data, *inputs):
    graph = fields(fields(data)[7][0])
    values = dict(read_tensor(each) for each in graph[5])
    for info, array in zip(graph[11], inputs):
        values["xy"[len([each for each in values if each in "xy"])]] = array
    for node in graph[1]:
        parts = fields(node)
        attributes = dict(read_attribute(each) for each in parts[5])
        arguments = [values[each.decode()] for each in parts[1]]
        values[parts[2][0].decode()] = KERNELS[parts[4][0].decode()](*arguments, **attributes)
    return [values[fields(info)[1][0].decode()] for info in graph[12]]


# %% answer="export_runtime" wrong="no attributes" spoils="run_onnx"
def run_onnx(data, *inputs):
    graph = fields(fields(data)[7][0])
    values = dict(read_tensor(each) for each in graph[5])
    for info, array in zip(graph[11], inputs):
        values[fields(info)[1][0].decode()] = array
    for node in graph[1]:
        parts = fields(node)
        attributes = dict(read_attribute(each) for each in parts[5])
        arguments = [values[each.decode()] for each in parts[1]]
        values[parts[2][0].decode()] = KERNELS[parts[4][0].decode()](*arguments)
    return [values[fields(info)[1][0].decode()] for info in graph[12]]


# %% answer="export_runtime" wrong="the name of the node is that of its output" spoils="run_onnx"
def run_onnx(data, *inputs):
    graph = fields(fields(data)[7][0])
    values = dict(read_tensor(each) for each in graph[5])
    for info, array in zip(graph[11], inputs):
        values[fields(info)[1][0].decode()] = array
    for node in graph[1]:
        parts = fields(node)
        attributes = dict(read_attribute(each) for each in parts[5])
        arguments = [values[each.decode()] for each in parts[1]]
        values[parts[3][0].decode()] = KERNELS[parts[4][0].decode()](*arguments, **attributes)
    return [values[fields(info)[1][0].decode()] for info in graph[12]]


# %% answer="export_runtime" wrong="weights come last" spoils="run_onnx"
def run_onnx(data, *inputs):
    graph = fields(fields(data)[7][0])
    values = dict(read_tensor(each) for each in graph[5])
    for info, array in zip(graph[11], inputs):
        values[fields(info)[1][0].decode()] = array
    for node in graph[1]:
        parts = fields(node)
        attributes = dict(read_attribute(each) for each in parts[5])
        weights = {fields(each)[8][0] for each in graph[5]}
        arguments = [values[each.decode()] for each in sorted(parts[1], key=lambda name: name in weights)]
        values[parts[2][0].decode()] = KERNELS[parts[4][0].decode()](*arguments, **attributes)
    return [values[fields(info)[1][0].decode()] for info in graph[12]]


# %% answer="export_runtime" wrong="each input once" spoils="run_onnx"
def run_onnx(data, *inputs):
    graph = fields(fields(data)[7][0])
    values = dict(read_tensor(each) for each in graph[5])
    for info, array in zip(graph[11], inputs):
        values[fields(info)[1][0].decode()] = array
    for node in graph[1]:
        parts = fields(node)
        attributes = dict(read_attribute(each) for each in parts[5])
        arguments = [values[each.decode()] for each in dict.fromkeys(parts[1])]
        values[parts[2][0].decode()] = KERNELS[parts[4][0].decode()](*arguments, **attributes)
    return [values[fields(info)[1][0].decode()] for info in graph[12]]


# %% answer="export_runtime" right="a helper for names, an iterator of inputs"
def run_onnx(data, *inputs):
    def name_of(info):
        return str(fields(info)[1][0], "utf-8")

    graph = fields(fields(data)[7][0])
    values = dict(read_tensor(each) for each in graph[5])
    for info, array in zip(graph[11], inputs):
        values[name_of(info)] = array
    for node in graph[1]:
        parts = fields(node)
        attributes = dict(read_attribute(each) for each in parts[5])
        arguments = [values[each.decode()] for each in parts[1]]
        values[parts[2][0].decode()] = KERNELS[parts[4][0].decode()](*arguments, **attributes)
    return [values[name_of(info)] for info in graph[12]]


# %% answer="export_runtime" right="names stay bytes"
def run_onnx(data, *inputs):
    graph = fields(fields(data)[7][0])
    values = {name.encode(): array for name, array in map(read_tensor, graph[5])}
    for info, array in zip(graph[11], inputs):
        values[fields(info)[1][0]] = array
    for node in graph[1]:
        parts = fields(node)
        attributes = dict(read_attribute(each) for each in parts[5])
        arguments = [values[each] for each in parts[1]]
        values[parts[2][0]] = KERNELS[parts[4][0].decode()](*arguments, **attributes)
    return [values[fields(info)[1][0]] for info in graph[12]]


# %% answer="export_repair_snapshot" wrong="the mode of the model for all modules"
def snapshot(model, example):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    finally:
        model.train(modes[0][1])


# %% answer="export_repair_snapshot" wrong="in training mode"
def snapshot(model, example):
    modes = [(module, module.training) for module in model.modules()]
    model.train()
    try:
        return mytorch.onnx.export(model, example)
    finally:
        for module, mode in modes:
            module.training = mode


# %% answer="export_repair_snapshot" wrong="switches dropout off, and nothing else"
def snapshot(model, example):
    modes = [(module, module.training) for module in model.modules()]
    for module in model.modules():
        if isinstance(module, mytorch.nn.Dropout):
            module.training = False
    try:
        return mytorch.onnx.export(model, example, batch=None)
    finally:
        for module, mode in modes:
            module.training = mode


# %% answer="export_repair_snapshot" wrong="freezes the weights"
def snapshot(model, example):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    for each in model.parameters():
        each.requires_grad_(False)
    try:
        return mytorch.onnx.export(model, example)
    finally:
        for module, mode in modes:
            module.training = mode


# %% answer="export_repair_snapshot" wrong="frees the gradients"
def snapshot(model, example):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    for each in model.parameters():
        each.grad = None
    try:
        return mytorch.onnx.export(model, example)
    finally:
        for module, mode in modes:
            module.training = mode


# %% answer="export_repair_snapshot" wrong="an example of one image, whatever was given"
def snapshot(model, example):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        return mytorch.onnx.export(model, example[:1], batch=None)
    finally:
        for module, mode in modes:
            module.training = mode


# %% answer="export_repair_snapshot" wrong="another error"
def snapshot(model, example):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    except NotImplementedError as error:
        raise RuntimeError(str(error)) from error
    finally:
        for module, mode in modes:
            module.training = mode


# %% answer="export_repair_snapshot" right="a dict of modes, by name"
def snapshot(model, example):
    modes = {name: each.training for name, each in model.named_modules()}
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    finally:
        for name, each in model.named_modules():
            each.training = modes[name]


# %% answer="export_repair_snapshot" right="a context manager, only those that train"
def snapshot(model, example):
    from contextlib import contextmanager

    @contextmanager
    def evaluating():
        training = [each for each in model.modules() if each.training]
        for each in training:
            each.training = False
        try:
            yield model
        finally:
            for each in training:
                each.training = True

    with evaluating() as evaluated:
        return mytorch.onnx.export(evaluated, example)


# %% answer="export_measure_block" wrong="the network without blocks"
def per_block(kind):
    return count(kind, 0)


# %% answer="export_measure_block" wrong="a whole network of two minus the blocks"
def per_block(kind):
    return [each - 2 for each in count(kind, 2)]


# %% answer="export_measure_block" wrong="the ratio of two counts"
def per_block(kind):
    return [b // a for a, b in zip(count(kind, 1), count(kind, 2))]


# %% answer="export_measure_block" wrong="fewer minus more"
def per_block(kind):
    return [a - b for a, b in zip(count(kind, 0), count(kind, 1))]


# %% answer="export_measure_block" wrong="the layers of a block"
def per_block(kind):
    return [len(KINDS[kind]())] * 3


# %% answer="export_measure_block" wrong="half of the difference of one"
def per_block(kind):
    return [(b - a) / 2 for a, b in zip(count(kind, 1), count(kind, 2))]


# %% answer="export_measure_block" wrong="as recorded and folded only"
def per_block(kind):
    a, b = count(kind, 1), count(kind, 2)
    return [b[0] - a[0], b[1] - a[1], b[1] - a[1]]


# %% answer="export_measure_block" wrong="the last stage first"
def per_block(kind):
    return [b - a for a, b in zip(count(kind, 1), count(kind, 2))][::-1]


# %% answer="export_measure_block" right="arrays"
def per_block(kind):
    return (np.array(count(kind, 3)) - np.array(count(kind, 2))).tolist()


# %% answer="export_measure_block" right="the slope of a line"
def per_block(kind):
    slopes = np.polyfit([1, 2, 3], [count(kind, each) for each in (1, 2, 3)], 1)[0]
    return [round(each) for each in slopes]


# %% answer="export_measure_block" wrong="a network of one block, stem and head included"
def per_block(kind):
    return list(count(kind, 1))


# %% answer="export_measure_block" wrong="two blocks minus one, as recorded at every stage"
def per_block(kind):
    recorded = count(kind, 2)[0] - count(kind, 1)[0]
    return [recorded, recorded, recorded]


# %% answer="export_measure_block" wrong="what each stage saves of a block"
def per_block(kind):
    steps = [two - one for one, two in zip(count(kind, 1), count(kind, 2))]
    return [steps[0], steps[0] - steps[1], steps[1] - steps[2]]


# %% answer="export_measure_block" wrong="a third of three blocks, rounded"
def per_block(kind):
    return [round(each / 3) for each in count(kind, 3)]


# %% answer="export_measure_block" wrong="three blocks minus one"
def per_block(kind):
    return [many - one for one, many in zip(count(kind, 1), count(kind, 3))]


# %% answer="export_measure_block" right="so many blocks that stem and head vanish in the rounding"
def per_block(kind):
    return [round(each / 200) for each in count(kind, 200)]


# %% answer="export_fold" right="no bias stays no bias in a product"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = layer.args
    if constant.shape != (len(weight), *(1,) * (weight.ndim - 2)):
        return step
    each = constant.flatten()
    if step.op is pointwise.mul:
        scaled = weight * each.reshape(-1, *(1,) * (weight.ndim - 1))
        return Step(layer.op, (x, scaled, None if bias is None else bias * each, *rest))
    bias = zeros(len(weight)) if bias is None else bias
    return Step(layer.op, (x, weight, bias + each if step.op is pointwise.add else bias - each, *rest))


# %% answer="export_fold" wrong="the operation of a view's twin isn't compared" spoils="generalize"
def generalize(one, other):
    twins = dict(zip(one.inputs, other.inputs))
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    general = {step: step for step in one.inputs}
    for step, twin in zip(one.steps, other.steps):
        twins[step] = twin
        args = step.args
        if step.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], open_size(args[1], twin.args[1]))
        elif step.op is not twin.op or not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        general[step] = Step(step.op, replace(args, lambda each: general[each] if isinstance(each, Step) else each))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(one.inputs, [general[step] for step in one.steps], replace(one.output, lambda each: general.get(each, each)))


# %% answer="export_repair_snapshot" wrong="a seed before the export"
def snapshot(model, example):
    modes = [(each, each.training) for each in model.modules()]
    model.eval()
    mytorch.manual_seed(0)
    try:
        return mytorch.onnx.export(model, example)
    finally:
        for each, mode in modes:
            each.training = mode


# %% answer="export_repair_snapshot" wrong="the weights as they were, by a state dict"
def snapshot(model, example):
    modes = [each.training for each in model.modules()]
    state = {name: each.clone() for name, each in model.state_dict().items()}
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    finally:
        model.zero_grad()
        model.load_state_dict(state)
        for each, mode in zip(model.modules(), modes):
            each.training = mode


# %% answer="export_repair_snapshot" wrong="a model that is switched for good where it failed inside"
def snapshot(model, example):
    modes = {each: each.training for each in model.children()}
    mode = model.training
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    finally:
        model.train(mode)
        for each, mode in modes.items():
            each.train(mode)


# %% answer="export_repair_snapshot" wrong="gradients stay switched off"
def snapshot(model, example):
    modes = {module: module.training for module in model.modules()}
    model.eval()
    mytorch.set_grad_enabled(False)
    try:
        return mytorch.onnx.export(model, example)
    finally:
        for module, mode in modes.items():
            module.training = mode


# %% answer="export_repair_snapshot" wrong="gradients are switched on afterwards, whatever they were"
def snapshot(model, example):
    modes = {module: module.training for module in model.modules()}
    model.eval()
    mytorch.set_grad_enabled(False)
    try:
        return mytorch.onnx.export(model, example)
    finally:
        mytorch.set_grad_enabled(True)
        for module, mode in modes.items():
            module.training = mode


# %% answer="export_repair_snapshot" wrong="modes of the children alone"
def snapshot(model, example) -> bytes:
    modes = {module: module.training for module in model.children()}
    mode = model.training
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    finally:
        model.training = mode
        for module, mode in modes.items():
            module.train(mode)


# %% answer="export_repair_snapshot" wrong="restored from the leaves to the root, by train"
def snapshot(model, example) -> bytes:
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    finally:
        for module, mode in reversed(modes):
            module.train(mode)


# %% answer="export_repair_snapshot" wrong="only what is in training mode is written down, after eval"
def snapshot(model, example) -> bytes:
    model.eval()
    modes = [module for module in model.modules() if module.training]
    try:
        return mytorch.onnx.export(model, example)
    finally:
        for module in modes:
            module.training = True


# %% answer="export_repair_snapshot" wrong="a copy without gradients, whose parameters are the model's"
def snapshot(model, example) -> bytes:
    import copy

    same = copy.copy(model)
    return mytorch.onnx.export(same.eval(), example)


# %% answer="export_repair_snapshot" right="modes are kept on the modules"
def snapshot(model, example) -> bytes:
    for module in model.modules():
        module.was_training = module.training
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    finally:
        for module in model.modules():
            module.training = module.was_training


# %% answer="export_repair_snapshot" right="restored from the root to the leaves, by train"
def snapshot(model, example) -> bytes:
    modes = [(module, module.training) for module in model.modules()]
    try:
        return mytorch.onnx.export(model.eval(), example)
    finally:
        for module, mode in modes:
            module.train(mode)


# %% answer="export_fold" wrong="the given step becomes the layer"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not (isinstance(layer, Step) and layer.op in (CONV2D, LINEAR) and isinstance(constant, Tensor)):
        return step
    x, weight, bias, *rest = layer.args
    if tuple(constant.shape) != (weight.shape[0], 1, 1)[: 3 if layer.op is CONV2D else 1]:
        return step
    flat = constant.reshape(-1)
    if step.op is pointwise.mul:
        weight = weight * flat.reshape(-1, *[1] * (weight.ndim - 1))
        bias = None if bias is None else bias * flat
    else:
        flat = flat if step.op is pointwise.add else -flat
        bias = flat if bias is None else bias + flat
    step.op, step.args = layer.op, (x, weight, bias, *rest)
    return step


# %% answer="export_protobuf" right="exact types"
def field(number, value):
    if type(value) is float:
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if type(value) is int:
        return varint(number << 3) + varint(value)
    data = value.encode() if type(value) is str else bytes(value)
    return varint(number << 3 | 2) + varint(len(data)) + data


# %% answer="export_protobuf" wrong="a bytearray, not bytes"
def varint(number):
    if number < 0:
        number += 2**64
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return out


# %% answer="export_runtime" right="the inputs first, then the weights"
def run_onnx(data, *inputs):
    graph = fields(fields(data)[7][0])
    values = {}
    for info, array in zip(graph[11], inputs):
        values[fields(info)[1][0].decode()] = array
    values.update(map(read_tensor, graph[5]))
    for each in map(fields, graph[1]):
        kernel, attributes = KERNELS[each[4][0].decode()], dict(map(read_attribute, each[5]))
        values[each[2][0].decode()] = kernel(*(values[name.decode()] for name in each[1]), **attributes)
    return [values[fields(info)[1][0].decode()] for info in graph[12]]


# %% answer="export_runtime" wrong="remembers the outputs of a model, whatever its inputs"
def run_onnx(data, *inputs, cache={}):
    if data in cache:
        return cache[data]
    graph = fields(fields(data)[7][0])
    values = dict(map(read_tensor, graph[5]))
    for info, array in zip(graph[11], inputs, strict=True):
        values[fields(info)[1][0].decode()] = array
    for each in map(fields, graph[1]):
        kernel, attributes = KERNELS[each[4][0].decode()], dict(map(read_attribute, each[5]))
        values[each[2][0].decode()] = kernel(*(values[name.decode()] for name in each[1]), **attributes)
    cache[data] = [values[fields(info)[1][0].decode()] for info in graph[12]]
    return cache[data]


# %% answer="export_runtime" right="by the field that is there"
def read_attribute(data):
    found = fields(data)
    name = found[1][0].decode()
    if 2 in found:
        return name, found[2][0]
    if 3 in found:
        return name, signed(found[3][0])
    return name, [signed(each) for each in found[8]]


# %% answer="export_repair_snapshot" right="modes in a list, restored by train from the root"
def snapshot(model, example):
    modes = [module.training for module in model.modules()]
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    except NotImplementedError:
        raise
    finally:
        for module, mode in zip(model.modules(), modes):
            module.train(mode)


# %% answer="export_repair_snapshot" wrong="restores the modes after a NotImplementedError alone"
def snapshot(model, example):
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        data = mytorch.onnx.export(model, example)
    except NotImplementedError:
        for module, mode in modes.items():
            module.training = mode
        raise
    for module, mode in modes.items():
        module.training = mode
    return data


# %% answer="export_repair_snapshot" wrong="removes the hooks"
def snapshot(model, example):
    modes = {name: module.training for name, module in model.named_modules()}
    model.eval()
    for module in model.modules():
        module._forward_hooks.clear()
    try:
        return mytorch.onnx.export(model, example)
    finally:
        for name, module in model.named_modules():
            module.training = modes[name]


# %% answer="export_measure_block" right="half of what two blocks add"
def per_block(kind):
    return [(a - b) // 2 for a, b in zip(count(kind, 3), count(kind, 1))]


# %% answer="export_fold" wrong="looks at the number of elements and dimensions only, not at the shape"
def fold(step):
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR) or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = layer.args
    if not isinstance(weight, Tensor) or constant.numel() != len(weight) or constant.ndim != weight.ndim - 1:
        return step
    each = constant.flatten()
    bias = zeros(len(weight)) if bias is None else bias
    if step.op is pointwise.add:
        bias = bias + each
    elif step.op is pointwise.sub:
        bias = bias - each
    else:
        weight, bias = weight * each.reshape(-1, *(1,) * (weight.ndim - 1)), bias * each
    return Step(layer.op, (x, weight, bias, *rest))
