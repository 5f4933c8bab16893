# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 20` grades them.


# %% answer="saving_predict_bytes" right="as first written, from the task alone"
prediction=[4000,4000,8000,4000,40+1000]


# %% answer="saving_predict_bytes" right="the same numbers as a string and a float"
prediction=["4000",4000.0,8000,4000,1040]


# %% answer="saving_predict_bytes" wrong="40 for a view of ten"
prediction=[4000,40,8000,4000,1040]


# %% answer="saving_predict_bytes" wrong="three views saved three times"
prediction=[4000,4000,8000,12000,1040]


# %% answer="saving_unpickle" right="as first written, from the task alone"
def unpickle(program, find, load_storage):
    file = io.BytesIO(program)
    stack, marks, memo = [], [], {}
    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values
    while True:
        code = file.read(1)
        if not code:
            raise EOFError("the program ends before it stops")
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            n = {pickle.TUPLE1: 1, pickle.TUPLE2: 2, pickle.TUPLE3: 3}[code]
            stack[-n:] = [tuple(stack[-n:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            v = stack.pop()
            stack[-1].append(v)
        elif code == pickle.APPENDS:
            v = above()
            stack[-1].extend(v)
        elif code == pickle.SETITEM:
            v = stack.pop(); k = stack.pop()
            stack[-1][k] = v
        elif code == pickle.SETITEMS:
            v = above()
            for k, x in zip(v[::2], v[1::2]):
                stack[-1][k] = x
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            m = file.readline().decode().strip(); n = file.readline().decode().strip()
            stack.append(find(f"{m}.{n}"))
        elif code == pickle.REDUCE:
            args = stack.pop(); f = stack.pop()
            stack.append(f(*args))
        elif code == pickle.BUILD:
            state = stack.pop()
            if not isinstance(stack[-1], OrderedDict):
                raise failed(f"Unsupported operand {code[0]}")
            stack[-1].__dict__.update(state)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        elif code == pickle.STOP:
            return stack[-1]
        else:
            raise failed(f"Unsupported operand {code[0]}")


# %% answer="saving_unpickle" right="dict.update for SETITEMS"
def unpickle(program, find, load_storage):
    file = io.BytesIO(program)
    stack, marks, memo = [], [], {}
    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values
    while True:
        code = file.read(1)
        if not code:
            raise EOFError("the program ends before it stops")
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            n = {pickle.TUPLE1: 1, pickle.TUPLE2: 2, pickle.TUPLE3: 3}[code]
            stack[-n:] = [tuple(stack[-n:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            v = stack.pop()
            stack[-1].append(v)
        elif code == pickle.APPENDS:
            v = above()
            stack[-1].extend(v)
        elif code == pickle.SETITEM:
            v = stack.pop(); k = stack.pop()
            stack[-1][k] = v
        elif code == pickle.SETITEMS:
            v = above()
            stack[-1].update(zip(v[::2], v[1::2]))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            m = file.readline().decode().strip(); n = file.readline().decode().strip()
            stack.append(find(f"{m}.{n}"))
        elif code == pickle.REDUCE:
            args = stack.pop(); f = stack.pop()
            stack.append(f(*args))
        elif code == pickle.BUILD:
            state = stack.pop()
            if not isinstance(stack[-1], OrderedDict):
                raise failed(f"Unsupported operand {code[0]}")
            stack[-1].__dict__.update(state)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        elif code == pickle.STOP:
            return stack[-1]
        else:
            raise failed(f"Unsupported operand {code[0]}")


# %% answer="saving_unpickle" wrong="SETITEMS makes a new dict"
def unpickle(program, find, load_storage):
    file = io.BytesIO(program)
    stack, marks, memo = [], [], {}
    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values
    while True:
        code = file.read(1)
        if not code:
            raise EOFError("the program ends before it stops")
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            n = {pickle.TUPLE1: 1, pickle.TUPLE2: 2, pickle.TUPLE3: 3}[code]
            stack[-n:] = [tuple(stack[-n:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            v = stack.pop()
            stack[-1].append(v)
        elif code == pickle.APPENDS:
            v = above()
            stack[-1].extend(v)
        elif code == pickle.SETITEM:
            v = stack.pop(); k = stack.pop()
            stack[-1][k] = v
        elif code == pickle.SETITEMS:
            v = above()
            stack[-1] = stack[-1] | dict(zip(v[::2], v[1::2]))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            m = file.readline().decode().strip(); n = file.readline().decode().strip()
            stack.append(find(f"{m}.{n}"))
        elif code == pickle.REDUCE:
            args = stack.pop(); f = stack.pop()
            stack.append(f(*args))
        elif code == pickle.BUILD:
            state = stack.pop()
            if not isinstance(stack[-1], OrderedDict):
                raise failed(f"Unsupported operand {code[0]}")
            stack[-1].__dict__.update(state)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        elif code == pickle.STOP:
            return stack[-1]
        else:
            raise failed(f"Unsupported operand {code[0]}")


# %% answer="saving_unpickle" wrong="SETITEM makes a new dict"
def unpickle(program, find, load_storage):
    file = io.BytesIO(program)
    stack, marks, memo = [], [], {}
    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values
    while True:
        code = file.read(1)
        if not code:
            raise EOFError("the program ends before it stops")
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            n = {pickle.TUPLE1: 1, pickle.TUPLE2: 2, pickle.TUPLE3: 3}[code]
            stack[-n:] = [tuple(stack[-n:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            v = stack.pop()
            stack[-1].append(v)
        elif code == pickle.APPENDS:
            v = above()
            stack[-1].extend(v)
        elif code == pickle.SETITEM:
            v = stack.pop(); k = stack.pop()
            stack[-1] = stack[-1] | {k: v}
        elif code == pickle.SETITEMS:
            v = above()
            for k, x in zip(v[::2], v[1::2]):
                stack[-1][k] = x
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            m = file.readline().decode().strip(); n = file.readline().decode().strip()
            stack.append(find(f"{m}.{n}"))
        elif code == pickle.REDUCE:
            args = stack.pop(); f = stack.pop()
            stack.append(f(*args))
        elif code == pickle.BUILD:
            state = stack.pop()
            if not isinstance(stack[-1], OrderedDict):
                raise failed(f"Unsupported operand {code[0]}")
            stack[-1].__dict__.update(state)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        elif code == pickle.STOP:
            return stack[-1]
        else:
            raise failed(f"Unsupported operand {code[0]}")


# %% answer="saving_unpickle" wrong="memo numbered by its length"
def unpickle(program, find, load_storage):
    file = io.BytesIO(program)
    stack, marks, memo = [], [], {}
    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values
    while True:
        code = file.read(1)
        if not code:
            raise EOFError("the program ends before it stops")
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            n = {pickle.TUPLE1: 1, pickle.TUPLE2: 2, pickle.TUPLE3: 3}[code]
            stack[-n:] = [tuple(stack[-n:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            v = stack.pop()
            stack[-1].append(v)
        elif code == pickle.APPENDS:
            v = above()
            stack[-1].extend(v)
        elif code == pickle.SETITEM:
            v = stack.pop(); k = stack.pop()
            stack[-1][k] = v
        elif code == pickle.SETITEMS:
            v = above()
            stack[-1].update(zip(v[::2], v[1::2]))
        elif code in PUT:
            memo[len(memo)] = stack[-1]; PUT[code](file)
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            m = file.readline().decode().strip(); n = file.readline().decode().strip()
            stack.append(find(f"{m}.{n}"))
        elif code == pickle.REDUCE:
            args = stack.pop(); f = stack.pop()
            stack.append(f(*args))
        elif code == pickle.BUILD:
            state = stack.pop()
            if not isinstance(stack[-1], OrderedDict):
                raise failed(f"Unsupported operand {code[0]}")
            stack[-1].__dict__.update(state)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        elif code == pickle.STOP:
            return stack[-1]
        else:
            raise failed(f"Unsupported operand {code[0]}")


# %% answer="saving_container" right="keys by id, cache by key and location"
def records_of(obj):
    keys = {}; seen = {}
    def key_of(storage):
        if id(storage) not in seen:
            seen[id(storage)] = str(len(seen)); keys[storage] = seen[id(storage)]
        return seen[id(storage)]
    f = io.BytesIO()
    Pickler(f, key_of).dump(obj)
    out = {"data.pkl": f.getvalue(), "byteorder": b"little"}
    for s, k in keys.items():
        out[f"data/{k}"] = np.ascontiguousarray(library_of(s.flat).to_numpy(s.flat)).view(np.uint8)
    out["version"] = b"3\n"
    return out

def storage_reader(read, map_location=None):
    made = {}
    def load_storage(reference):
        _, kind, key, location, length = reference
        if (key, location) not in made:
            a = np.frombuffer(bytearray(read(f"data/{key}")), dtype=kind.numpy)
            made[key, location] = Storage(move(a, where_to(location, map_location)))
        return made[key, location]
    return load_storage


# %% answer="saving_container" right="tobytes"
def records_of(obj):
    keys = {}
    def key_of(storage):
        if storage not in keys:
            keys[storage] = str(len(keys))
        return keys[storage]
    f = io.BytesIO()
    Pickler(f, key_of).dump(obj)
    out = {"data.pkl": f.getvalue(), "byteorder": b"little"}
    for s, k in keys.items():
        out[f"data/{k}"] = library_of(s.flat).to_numpy(s.flat).tobytes()
    out["version"] = b"3\n"
    return out

def storage_reader(read, map_location=None):
    made = {}
    def load_storage(reference):
        _, kind, key, location, length = reference
        if key not in made:
            a = np.frombuffer(bytearray(read(f"data/{key}")), dtype=kind.numpy)
            made[key] = Storage(move(a, where_to(location, map_location)))
        return made[key]
    return load_storage


# %% answer="saving_container" wrong="data.pkl last"
def records_of(obj):
    keys = {}
    def key_of(storage):
        if storage not in keys:
            keys[storage] = str(len(keys))
        return keys[storage]
    f = io.BytesIO()
    Pickler(f, key_of).dump(obj)
    out = {"byteorder": b"little"}
    for s, k in keys.items():
        out[f"data/{k}"] = np.ascontiguousarray(library_of(s.flat).to_numpy(s.flat)).view(np.uint8)
    out["version"] = b"3\n"
    out["data.pkl"] = f.getvalue()
    return out

def storage_reader(read, map_location=None):
    made = {}
    def load_storage(reference):
        _, kind, key, location, length = reference
        if key not in made:
            a = np.frombuffer(bytearray(read(f"data/{key}")), dtype=kind.numpy)
            made[key] = Storage(move(a, where_to(location, map_location)))
        return made[key]
    return load_storage


# %% answer="saving_container" wrong="arrays that cannot be written"
def records_of(obj):
    keys = {}
    def key_of(storage):
        if storage not in keys:
            keys[storage] = str(len(keys))
        return keys[storage]
    f = io.BytesIO()
    Pickler(f, key_of).dump(obj)
    out = {"data.pkl": f.getvalue(), "byteorder": b"little"}
    for s, k in keys.items():
        out[f"data/{k}"] = np.ascontiguousarray(library_of(s.flat).to_numpy(s.flat)).view(np.uint8)
    out["version"] = b"3\n"
    return out

def storage_reader(read, map_location=None):
    made = {}
    def load_storage(reference):
        _, kind, key, location, length = reference
        if key not in made:
            a = np.frombuffer(read(f"data/{key}"), dtype=kind.numpy)
            made[key] = Storage(move(a, where_to(location, map_location)))
        return made[key]
    return load_storage


# %% answer="saving_safetensors" wrong="device ignored when loading"
def save_file(tensors, filename, metadata=None):
    refuse_shared(tensors)
    header = {}
    if metadata:
        header["__metadata__"] = dict(metadata)
    at, blobs = 0, []
    for n, x in tensors.items():
        b = on_host(x).tobytes()
        header[n] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": [at, at + len(b)]}
        at += len(b)
        blobs.append(b)
    h = json.dumps(header).encode()
    h += b" " * (-len(h) % 8)
    with replacing(filename) as file:
        file.write(len(h).to_bytes(8, "little"))
        file.write(h)
        for b in blobs:
            file.write(b)

def refuse_shared(tensors):
    groups = {}
    for n, x in tensors.items():
        groups.setdefault(id(x.storage), []).append(n)
    shared = [g for g in groups.values() if len(g) > 1]
    if shared:
        raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: {shared}.")

def load_file(filename, device="cpu"):
    with open(filename, "rb") as f:
        n = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(n))
        data = f.read()
    header.pop("__metadata__", None)
    out = {}
    for name, e in header.items():
        a, b = e["data_offsets"]
        arr = np.frombuffer(bytearray(data[a:b]), TYPES[e["dtype"]].numpy).reshape(e["shape"])
        out[name] = from_array(arr)
    return out


# %% answer="saving_safetensors" wrong="x.array for on_host(x)"
def save_file(tensors, filename, metadata=None):
    refuse_shared(tensors)
    header = {}
    if metadata:
        header["__metadata__"] = dict(metadata)
    at, blobs = 0, []
    for n, x in tensors.items():
        b = np.asarray(x.array).tobytes()
        header[n] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": [at, at + len(b)]}
        at += len(b)
        blobs.append(b)
    h = json.dumps(header).encode()
    h += b" " * (-len(h) % 8)
    with replacing(filename) as file:
        file.write(len(h).to_bytes(8, "little"))
        file.write(h)
        for b in blobs:
            file.write(b)

def refuse_shared(tensors):
    groups = {}
    for n, x in tensors.items():
        groups.setdefault(id(x.storage), []).append(n)
    shared = [g for g in groups.values() if len(g) > 1]
    if shared:
        raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: {shared}.")

def load_file(filename, device="cpu"):
    with open(filename, "rb") as f:
        n = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(n))
        data = f.read()
    header.pop("__metadata__", None)
    out = {}
    for name, e in header.items():
        a, b = e["data_offsets"]
        arr = np.frombuffer(bytearray(data[a:b]), TYPES[e["dtype"]].numpy).reshape(e["shape"])
        out[name] = from_array(move(arr, device_type(device)))
    return out


# %% answer="saving_safetensors" wrong="pads by characters"
def save_file(tensors, filename, metadata=None):
    refuse_shared(tensors)
    header = {}
    if metadata:
        header["__metadata__"] = dict(metadata)
    at, blobs = 0, []
    for n, x in tensors.items():
        b = on_host(x).tobytes()
        header[n] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": [at, at + len(b)]}
        at += len(b)
        blobs.append(b)
    h = json.dumps(header, ensure_ascii=False)
    h += " " * (-len(h) % 8)
    h = h.encode()
    with replacing(filename) as file:
        file.write(len(h).to_bytes(8, "little"))
        file.write(h)
        for b in blobs:
            file.write(b)

def refuse_shared(tensors):
    groups = {}
    for n, x in tensors.items():
        groups.setdefault(id(x.storage), []).append(n)
    shared = [g for g in groups.values() if len(g) > 1]
    if shared:
        raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: {shared}.")

def load_file(filename, device="cpu"):
    with open(filename, "rb") as f:
        n = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(n))
        data = f.read()
    header.pop("__metadata__", None)
    out = {}
    for name, e in header.items():
        a, b = e["data_offsets"]
        arr = np.frombuffer(bytearray(data[a:b]), TYPES[e["dtype"]].numpy).reshape(e["shape"])
        out[name] = from_array(move(arr, device_type(device)))
    return out


# %% answer="saving_repair_prefixes" right="as first written, from the task alone"
def plain_names(state):
    state = dict(state)
    while state:
        for p in ("module.", "_orig_mod."):
            if all(n.startswith(p) for n in state):
                state = {n.removeprefix(p): v for n, v in state.items()}
                break
        else:
            return state
    return state


# %% answer="saving_repair_prefixes" right="recursion, one name part at a time"
def plain_names(state):
    new = {}
    strip = {p for p in ("module.", "_orig_mod.") if state and all(n.startswith(p) for n in state)}
    for name, value in state.items():
        new[name.split(".", 1)[1] if strip else name] = value
    return plain_names(new) if strip else new


# %% answer="saving_repair_prefixes" wrong="three rounds at most"
def plain_names(state):
    for p in ("module.", "_orig_mod.", "module."):
        if state and all(n.startswith(p) for n in state):
            state = {n[len(p):]: v for n, v in state.items()}
    return dict(state)


# %% answer="saving_power_failure" right="as first written, from the task alone"
def save_checkpoint(disk, name, data):
    tmp = name + ".tmp"
    disk.create(tmp)
    disk.append(tmp, data)
    disk.sync(tmp)
    disk.rename(tmp, name)


# %% answer="saving_power_failure" right="a new temporary name for each save"
import uuid
def save_checkpoint(disk, name, data):
    tmp = f"{name}.{uuid.uuid4().hex}"
    disk.create(tmp); disk.append(tmp, data); disk.sync(tmp); disk.rename(tmp, name)


# %% answer="saving_power_failure" right="clears leftovers, syncs again at the end"
def save_checkpoint(disk, name, data):
    tmp = name + ".tmp"
    for other in [n for n in disk.files if n.startswith(tmp)]:
        disk.remove(other)
    disk.create(tmp)
    disk.append(tmp, data)
    disk.sync(tmp)
    disk.rename(tmp, name)
    disk.sync(name)


# %% answer="saving_measure_resume" right="as first written, from the task alone"
def needed(run):
    whole = resume(run, None, 12)
    return [p for p in PARTS if resume(run, p, 12) != whole]


# %% answer="saving_measure_resume" wrong="guessed from the settings"
def needed(run):
    need = ["model"]
    if run["momentum"]: need.append("optimizer")
    if run["every"] < 17: need.append("schedule")
    if run["dropout"]: need.append("random")
    return need


# %% answer="saving_unpickle" right="values are replaced where they stand"
def unpickle(program, find, load_storage):
    file, stack, marks, memo = io.BytesIO(program), [], [], {}

    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            count = code[0] - pickle.TUPLE1[0] + 1
            stack[-count:] = [tuple(stack[-count:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            stack[-2].append(stack[-1])
            stack.pop()
        elif code == pickle.APPENDS:
            values = above()
            stack[-1].extend(values)
        elif code == pickle.SETITEM:
            key, value = stack[-2:]
            del stack[-2:]
            stack[-1][key] = value
        elif code == pickle.SETITEMS:
            values = above()
            stack[-1].update(zip(values[::2], values[1::2]))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = file.readline()[:-1].decode(), file.readline()[:-1].decode()
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            arguments = stack.pop()
            stack[-1] = stack[-1](*arguments)
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            stack[-1].__dict__.update(attributes)
        elif code == pickle.BINPERSID:
            stack[-1] = load_storage(stack[-1])
        elif code == b"":
            raise EOFError("the program ends before it stops")
        else:
            raise failed(f"Unsupported operand {ord(code)}")
    return stack[-1]


# %% answer="saving_unpickle" right="ord, and attributes by setattr"
def unpickle(program, find, load_storage):
    file, stack, marks, memo = io.BytesIO(program), [], [], {}

    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            count = code[0] - pickle.TUPLE1[0] + 1
            stack[-count:] = [tuple(stack[-count:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            stack[-2].append(stack[-1])
            stack.pop()
        elif code == pickle.APPENDS:
            values = above()
            stack[-1].extend(values)
        elif code == pickle.SETITEM:
            key, value = stack[-2:]
            del stack[-2:]
            stack[-1][key] = value
        elif code == pickle.SETITEMS:
            values = above()
            stack[-1].update(zip(values[::2], values[1::2]))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = file.readline()[:-1].decode(), file.readline()[:-1].decode()
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            arguments = stack.pop()
            stack[-1] = stack[-1](*arguments)
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            for name, value in attributes.items():
                setattr(stack[-1], name, value)
        elif code == pickle.BINPERSID:
            stack[-1] = load_storage(stack[-1])
        elif code == b"":
            raise EOFError("the program ends before it stops")
        else:
            raise failed(f"Unsupported operand {ord(code)}")
    return stack[-1]


# %% answer="saving_unpickle" wrong="attributes of the lowest value"
def unpickle(program, find, load_storage):
    file, stack, marks, memo = io.BytesIO(program), [], [], {}

    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            count = code[0] - pickle.TUPLE1[0] + 1
            stack[-count:] = [tuple(stack[-count:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            stack[-2].append(stack[-1])
            stack.pop()
        elif code == pickle.APPENDS:
            values = above()
            stack[-1].extend(values)
        elif code == pickle.SETITEM:
            key, value = stack[-2:]
            del stack[-2:]
            stack[-1][key] = value
        elif code == pickle.SETITEMS:
            values = above()
            stack[-1].update(zip(values[::2], values[1::2]))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = file.readline()[:-1].decode(), file.readline()[:-1].decode()
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            arguments = stack.pop()
            stack[-1] = stack[-1](*arguments)
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            stack[0].__dict__.update(attributes)
        elif code == pickle.BINPERSID:
            stack[-1] = load_storage(stack[-1])
        elif code == b"":
            raise EOFError("the program ends before it stops")
        else:
            raise failed(f"Unsupported operand {ord(code)}")
    return stack[-1]


# %% answer="saving_unpickle" wrong="one mark at a time"
def unpickle(program, find, load_storage):
    file, stack, marks, memo = io.BytesIO(program), [], [], {}

    def above():
        start = marks[-1]
        values = stack[start:]
        del stack[start:]
        return values

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            count = code[0] - pickle.TUPLE1[0] + 1
            stack[-count:] = [tuple(stack[-count:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            stack[-2].append(stack[-1])
            stack.pop()
        elif code == pickle.APPENDS:
            values = above()
            stack[-1].extend(values)
        elif code == pickle.SETITEM:
            key, value = stack[-2:]
            del stack[-2:]
            stack[-1][key] = value
        elif code == pickle.SETITEMS:
            values = above()
            stack[-1].update(zip(values[::2], values[1::2]))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = file.readline()[:-1].decode(), file.readline()[:-1].decode()
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            arguments = stack.pop()
            stack[-1] = stack[-1](*arguments)
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            stack[-1].__dict__.update(attributes)
        elif code == pickle.BINPERSID:
            stack[-1] = load_storage(stack[-1])
        elif code == b"":
            raise EOFError("the program ends before it stops")
        else:
            raise failed(f"Unsupported operand {ord(code)}")
    return stack[-1]


# %% answer="saving_unpickle" wrong="the memo has copies"
def unpickle(program, find, load_storage):
    file, stack, marks, memo = io.BytesIO(program), [], [], {}

    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            count = code[0] - pickle.TUPLE1[0] + 1
            stack[-count:] = [tuple(stack[-count:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            stack[-2].append(stack[-1])
            stack.pop()
        elif code == pickle.APPENDS:
            values = above()
            stack[-1].extend(values)
        elif code == pickle.SETITEM:
            key, value = stack[-2:]
            del stack[-2:]
            stack[-1][key] = value
        elif code == pickle.SETITEMS:
            values = above()
            stack[-1].update(zip(values[::2], values[1::2]))
        elif code in PUT:
            top = stack[-1]
            memo[PUT[code](file)] = top.copy() if isinstance(top, (list, dict)) else top
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = file.readline()[:-1].decode(), file.readline()[:-1].decode()
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            arguments = stack.pop()
            stack[-1] = stack[-1](*arguments)
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            stack[-1].__dict__.update(attributes)
        elif code == pickle.BINPERSID:
            stack[-1] = load_storage(stack[-1])
        elif code == b"":
            raise EOFError("the program ends before it stops")
        else:
            raise failed(f"Unsupported operand {ord(code)}")
    return stack[-1]


# %% answer="saving_unpickle" wrong="the name alone, without its module"
def unpickle(program, find, load_storage):
    file, stack, marks, memo = io.BytesIO(program), [], [], {}

    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            count = code[0] - pickle.TUPLE1[0] + 1
            stack[-count:] = [tuple(stack[-count:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            stack[-2].append(stack[-1])
            stack.pop()
        elif code == pickle.APPENDS:
            values = above()
            stack[-1].extend(values)
        elif code == pickle.SETITEM:
            key, value = stack[-2:]
            del stack[-2:]
            stack[-1][key] = value
        elif code == pickle.SETITEMS:
            values = above()
            stack[-1].update(zip(values[::2], values[1::2]))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = file.readline()[:-1].decode(), file.readline()[:-1].decode()
            stack.append(find(name))
        elif code == pickle.REDUCE:
            arguments = stack.pop()
            stack[-1] = stack[-1](*arguments)
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            stack[-1].__dict__.update(attributes)
        elif code == pickle.BINPERSID:
            stack[-1] = load_storage(stack[-1])
        elif code == b"":
            raise EOFError("the program ends before it stops")
        else:
            raise failed(f"Unsupported operand {ord(code)}")
    return stack[-1]


# %% answer="saving_unpickle" wrong="BUILD of anything with attributes"
def unpickle(program, find, load_storage):
    file, stack, marks, memo = io.BytesIO(program), [], [], {}

    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            count = code[0] - pickle.TUPLE1[0] + 1
            stack[-count:] = [tuple(stack[-count:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            stack[-2].append(stack[-1])
            stack.pop()
        elif code == pickle.APPENDS:
            values = above()
            stack[-1].extend(values)
        elif code == pickle.SETITEM:
            key, value = stack[-2:]
            del stack[-2:]
            stack[-1][key] = value
        elif code == pickle.SETITEMS:
            values = above()
            stack[-1].update(zip(values[::2], values[1::2]))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = file.readline()[:-1].decode(), file.readline()[:-1].decode()
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            arguments = stack.pop()
            stack[-1] = stack[-1](*arguments)
        elif code == pickle.BUILD:
            attributes = stack.pop()
            stack[-1].__dict__.update(attributes)
        elif code == pickle.BINPERSID:
            stack[-1] = load_storage(stack[-1])
        elif code == b"":
            raise EOFError("the program ends before it stops")
        else:
            raise failed(f"Unsupported operand {ord(code)}")
    return stack[-1]


# %% answer="saving_unpickle" wrong="unknown opcodes are skipped"
def unpickle(program, find, load_storage):
    file, stack, marks, memo = io.BytesIO(program), [], [], {}

    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            count = code[0] - pickle.TUPLE1[0] + 1
            stack[-count:] = [tuple(stack[-count:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            stack[-2].append(stack[-1])
            stack.pop()
        elif code == pickle.APPENDS:
            values = above()
            stack[-1].extend(values)
        elif code == pickle.SETITEM:
            key, value = stack[-2:]
            del stack[-2:]
            stack[-1][key] = value
        elif code == pickle.SETITEMS:
            values = above()
            stack[-1].update(zip(values[::2], values[1::2]))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = file.readline()[:-1].decode(), file.readline()[:-1].decode()
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            arguments = stack.pop()
            stack[-1] = stack[-1](*arguments)
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            stack[-1].__dict__.update(attributes)
        elif code == pickle.BINPERSID:
            stack[-1] = load_storage(stack[-1])
        elif code == b"":
            raise EOFError("the program ends before it stops")
        else:
            continue
    return stack[-1]


# %% answer="saving_unpickle" wrong="the end of the program is as good as STOP"
def unpickle(program, find, load_storage):
    file, stack, marks, memo = io.BytesIO(program), [], [], {}

    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            count = code[0] - pickle.TUPLE1[0] + 1
            stack[-count:] = [tuple(stack[-count:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            stack[-2].append(stack[-1])
            stack.pop()
        elif code == pickle.APPENDS:
            values = above()
            stack[-1].extend(values)
        elif code == pickle.SETITEM:
            key, value = stack[-2:]
            del stack[-2:]
            stack[-1][key] = value
        elif code == pickle.SETITEMS:
            values = above()
            stack[-1].update(zip(values[::2], values[1::2]))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = file.readline()[:-1].decode(), file.readline()[:-1].decode()
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            arguments = stack.pop()
            stack[-1] = stack[-1](*arguments)
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            stack[-1].__dict__.update(attributes)
        elif code == pickle.BINPERSID:
            stack[-1] = load_storage(stack[-1])
        elif code == b"":
            break
        else:
            raise failed(f"Unsupported operand {ord(code)}")
    return stack[-1]


# %% answer="saving_unpickle" wrong="the whole stack"
def unpickle(program, find, load_storage):
    file, stack, marks, memo = io.BytesIO(program), [], [], {}

    def above():
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            count = code[0] - pickle.TUPLE1[0] + 1
            stack[-count:] = [tuple(stack[-count:])]
        elif code == pickle.TUPLE:
            stack.append(tuple(above()))
        elif code == pickle.APPEND:
            stack[-2].append(stack[-1])
            stack.pop()
        elif code == pickle.APPENDS:
            values = above()
            stack[-1].extend(values)
        elif code == pickle.SETITEM:
            key, value = stack[-2:]
            del stack[-2:]
            stack[-1][key] = value
        elif code == pickle.SETITEMS:
            values = above()
            stack[-1].update(zip(values[::2], values[1::2]))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = file.readline()[:-1].decode(), file.readline()[:-1].decode()
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            arguments = stack.pop()
            stack.append(stack[-1](*arguments))
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            stack[-1].__dict__.update(attributes)
        elif code == pickle.BINPERSID:
            stack[-1] = load_storage(stack[-1])
        elif code == b"":
            raise EOFError("the program ends before it stops")
        else:
            raise failed(f"Unsupported operand {ord(code)}")
    return stack[0] if len(stack) == 1 else stack


# %% answer="saving_unpickle" wrong="returns the bottom of the stack"
def unpickle(program, find, load_storage):
    file, stack, marks, memo = io.BytesIO(program), [], [], {}
    while True:
        code = file.read(1)
        if not code:
            raise EOFError("the program ends before it stops")
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            n = (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3).index(code) + 1
            stack[-n:] = [tuple(stack[-n:])]
        elif code == pickle.TUPLE:
            at = marks.pop()
            stack[at:] = [tuple(stack[at:])]
        elif code == pickle.APPEND:
            last = stack.pop()
            stack[-1].append(last)
        elif code == pickle.APPENDS:
            at = marks.pop()
            items = stack[at:]
            del stack[at:]
            stack[-1].extend(items)
        elif code == pickle.SETITEM:
            value, key = stack.pop(), stack.pop()
            stack[-1][key] = value
        elif code == pickle.SETITEMS:
            at = marks.pop()
            items = stack[at:]
            del stack[at:]
            for key, value in zip(items[::2], items[1::2]):
                stack[-1][key] = value
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = (file.readline()[:-1].decode() for _ in range(2))
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            args = stack.pop()
            stack[-1] = stack[-1](*args)
        elif code == pickle.BUILD:
            state = stack.pop()
            if not isinstance(stack[-1], OrderedDict):
                raise failed(f"Unsupported operand {ord(code)}")
            stack[-1].__dict__.update(state)
        elif code == pickle.BINPERSID:
            stack[-1] = load_storage(stack[-1])
        elif code == pickle.STOP:
            return stack[0]
        else:
            raise failed(f"Unsupported operand {ord(code)}")


# %% answer="saving_unpickle" wrong="of equal keys the first counts, and new attributes replace the earlier ones"
def unpickle(program, find, load_storage):
    file, stack, marks, memo = io.BytesIO(program), [], [], {}
    while True:
        code = file.read(1)
        if not code:
            raise EOFError("the program ends before it stops")
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            n = (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3).index(code) + 1
            stack[-n:] = [tuple(stack[-n:])]
        elif code == pickle.TUPLE:
            at = marks.pop()
            stack[at:] = [tuple(stack[at:])]
        elif code == pickle.APPEND:
            last = stack.pop()
            stack[-1].append(last)
        elif code == pickle.APPENDS:
            at = marks.pop()
            items = stack[at:]
            del stack[at:]
            stack[-1].extend(items)
        elif code == pickle.SETITEM:
            value, key = stack.pop(), stack.pop()
            stack[-1][key] = value
        elif code == pickle.SETITEMS:
            at = marks.pop()
            items = stack[at:]
            del stack[at:]
            for key, value in zip(items[::2], items[1::2]):
                stack[-1].setdefault(key, value)
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = (file.readline().strip().decode() for _ in range(2))
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            args = stack.pop()
            stack[-1] = stack[-1](*args)
        elif code == pickle.BUILD:
            state = stack.pop()
            if not isinstance(stack[-1], OrderedDict):
                raise failed(f"Unsupported operand {ord(code)}")
            stack[-1].__dict__ = state
        elif code == pickle.BINPERSID:
            stack[-1] = load_storage(stack[-1])
        elif code == pickle.STOP:
            return stack[-1]
        else:
            raise failed(f"Unsupported operand {ord(code)}")


# %% answer="saving_predict_bytes" wrong="the half still has the whole storage"
prediction = [4000, 4000, 8000, 4000, 40 + 2000]


# %% answer="saving_predict_bytes" wrong="a clone of a view copies the whole storage"
prediction = [4000, 4000, 8000, 4000, 4000 + 1000]


# %% answer="saving_predict_bytes" wrong="a reshape is a copy"
prediction = [4000, 4000, 8000, 8000, 1040]


# %% answer="saving_predict_bytes" wrong="float64"
prediction = [8000, 8000, 16000, 8000, 1080]


# %% answer="saving_predict_bytes" wrong="equal tensors are saved once"
prediction = [4000, 4000, 4000, 4000, 1040]


# %% answer="saving_predict_bytes" wrong="from the first element of the views to the last"
prediction = [4000, 40, 8000, 4000, 40 + 1000]


# %% answer="saving_predict_bytes" right="an array"
prediction = np.array([1000, 1000, 2000, 1000, 260]) * 4


# %% answer="saving_predict_bytes" right="computed with minitorch"
x = torch.zeros(1000)
prediction = [x.nbytes, x.nbytes, 2 * x.nbytes, x.nbytes, x[:10].clone().nbytes + x[::2].half().nbytes]


# %% answer="saving_container" wrong="a record for each tensor" spoils="records_of"
def records_of(obj):
    storages = []

    def key_of(storage):
        storages.append(storage)
        return str(len(storages) - 1)

    program = io.BytesIO()
    Pickler(program, key_of).dump(obj)
    data = {f"data/{key}": library_of(each.flat).to_numpy(each.flat).view(np.uint8) for key, each in enumerate(storages)}
    return {"data.pkl": program.getvalue(), "byteorder": b"little", **data, "version": b"3\n"}


# %% answer="saving_container" wrong="numbered from 1" spoils="records_of"
def records_of(obj):
    keys, program = {}, io.BytesIO()
    Pickler(program, lambda storage: keys.setdefault(storage, str(len(keys) + 1))).dump(obj)
    data = {f"data/{key}": library_of(each.flat).to_numpy(each.flat).view(np.uint8) for each, key in keys.items()}
    return {"data.pkl": program.getvalue(), "byteorder": b"little", **data, "version": b"3\n"}


# %% answer="saving_container" wrong="the version without its newline" spoils="records_of"
def records_of(obj):
    keys, program = {}, io.BytesIO()
    Pickler(program, lambda storage: keys.setdefault(storage, str(len(keys)))).dump(obj)
    data = {f"data/{key}": library_of(each.flat).to_numpy(each.flat).view(np.uint8) for each, key in keys.items()}
    return {"data.pkl": program.getvalue(), "byteorder": b"little", **data, "version": b"3"}


# %% answer="saving_container" wrong="the version before the data" spoils="records_of"
def records_of(obj):
    keys, program = {}, io.BytesIO()
    Pickler(program, lambda storage: keys.setdefault(storage, str(len(keys)))).dump(obj)
    data = {f"data/{key}": library_of(each.flat).to_numpy(each.flat).view(np.uint8) for each, key in keys.items()}
    return {"data.pkl": program.getvalue(), "byteorder": b"little", "version": b"3\n", **data}


# %% answer="saving_container" wrong="elements in place of bytes" spoils="records_of"
def records_of(obj):
    keys, program = {}, io.BytesIO()
    Pickler(program, lambda storage: keys.setdefault(storage, str(len(keys)))).dump(obj)
    data = {f"data/{key}": library_of(each.flat).to_numpy(each.flat).astype(np.uint8) for each, key in keys.items()}
    return {"data.pkl": program.getvalue(), "byteorder": b"little", **data, "version": b"3\n"}


# %% answer="saving_container" wrong="the program as a file" spoils="records_of"
def records_of(obj):
    keys, program = {}, io.BytesIO()
    Pickler(program, lambda storage: keys.setdefault(storage, str(len(keys)))).dump(obj)
    data = {f"data/{key}": library_of(each.flat).to_numpy(each.flat).view(np.uint8) for each, key in keys.items()}
    return {"data.pkl": program.getbuffer(), "byteorder": b"little", **data, "version": b"3\n"}


# %% answer="saving_container" wrong="arrays of a GPU as they are" spoils="records_of"
def records_of(obj):
    keys, program = {}, io.BytesIO()
    Pickler(program, lambda storage: keys.setdefault(storage, str(len(keys)))).dump(obj)
    data = {f"data/{key}": np.asarray(each.flat).view(np.uint8) for each, key in keys.items()}
    return {"data.pkl": program.getvalue(), "byteorder": b"little", **data, "version": b"3\n"}


# %% answer="saving_container" right="a list of storages, looked through with is"
def records_of(obj):
    found = []

    def key_of(storage):
        for place, each in enumerate(found):
            if each is storage:
                return str(place)
        found.append(storage)
        return f"{len(found) - 1}"

    file = io.BytesIO()
    Pickler(file, key_of).dump(obj)
    records = dict([("data.pkl", file.getvalue()), ("byteorder", b"little")])
    for place, each in enumerate(found):
        records[f"data/{place}"] = library_of(each.flat).to_numpy(each.flat).view("uint8")
    return records | {"version": b"3\n"}


# %% answer="saving_container" right="a defaultdict that counts"
def records_of(obj):
    from collections import defaultdict
    from itertools import count

    numbers = count()
    keys = defaultdict(lambda: str(next(numbers)))
    file = io.BytesIO()
    Pickler(file, keys.__getitem__).dump(obj)
    records = {"data.pkl": file.getvalue(), "byteorder": b"little"}
    for storage, key in keys.items():
        records["data/" + key] = library_of(storage.flat).to_numpy(storage.flat).view(np.uint8)
    records["version"] = b"3\n"
    return records


# %% answer="saving_container" wrong="reads the record each time" spoils="storage_reader"
def storage_reader(read, map_location=None):
    made = {}

    def load_storage(reference):
        _, kind, key, location, _ = reference
        flat = np.frombuffer(bytearray(read(f"data/{key}")), kind.numpy)
        return made.setdefault(key, Storage(move(flat, where_to(location, map_location))))

    return load_storage


# %% answer="saving_container" wrong="one storage for each reference" spoils="storage_reader"
def storage_reader(read, map_location=None):
    def load_storage(reference):
        _, kind, key, location, _ = reference
        flat = np.frombuffer(bytearray(read(f"data/{key}")), kind.numpy)
        return Storage(move(flat, where_to(location, map_location)))

    return load_storage


# %% answer="saving_container" wrong="always where it was saved" spoils="storage_reader"
def storage_reader(read, map_location=None):
    made = {}

    def load_storage(reference):
        _, kind, key, location, _ = reference
        if key not in made:
            flat = np.frombuffer(bytearray(read(f"data/{key}")), kind.numpy)
            made[key] = Storage(move(flat, where_to(location, None)))
        return made[key]

    return load_storage


# %% answer="saving_container" wrong="stays on the CPU" spoils="storage_reader"
def storage_reader(read, map_location=None):
    made = {}

    def load_storage(reference):
        _, kind, key, location, _ = reference
        if key not in made:
            made[key] = Storage(np.frombuffer(bytearray(read(f"data/{key}")), kind.numpy))
        return made[key]

    return load_storage


# %% answer="saving_container" wrong="float32, whatever the reference says" spoils="storage_reader"
def storage_reader(read, map_location=None):
    made = {}

    def load_storage(reference):
        _, kind, key, location, _ = reference
        if key not in made:
            flat = np.frombuffer(bytearray(read(f"data/{key}")), np.float32)
            made[key] = Storage(move(flat, where_to(location, map_location)))
        return made[key]

    return load_storage


# %% answer="saving_container" wrong="the key is the record's name" spoils="storage_reader"
def storage_reader(read, map_location=None):
    made = {}

    def load_storage(reference):
        _, kind, key, location, _ = reference
        if key not in made:
            made[key] = Storage(move(np.frombuffer(bytearray(read(key)), kind.numpy), where_to(location, map_location)))
        return made[key]

    return load_storage


# %% answer="saving_container" wrong="remembers across files"
made = {}


def storage_reader(read, map_location=None):
    def load_storage(reference):
        _, kind, key, location, _ = reference
        if key not in made:
            flat = np.frombuffer(bytearray(read(f"data/{key}")), kind.numpy)
            made[key] = Storage(move(flat, where_to(location, map_location)))
        return made[key]

    return load_storage


# %% answer="saving_container" right="a cache from functools, a copy"
def storage_reader(read, map_location=None):
    from functools import cache

    @cache
    def storage(kind, key, location):
        array = np.frombuffer(read("data/" + key), dtype=kind.numpy).copy()
        return Storage(move(array, where_to(location, map_location)))

    return lambda reference: storage(*reference[1:4])


# %% answer="saving_container" right="try and except KeyError"
def storage_reader(read, map_location=None):
    known = dict()

    def find(reference):
        kind, key, location = reference[1], reference[2], reference[3]
        try:
            return known[key]
        except KeyError:
            data = bytearray(read("data/%s" % key))
            array = np.ndarray(len(data) // np.dtype(kind.numpy).itemsize, kind.numpy, data)
            known[key] = Storage(move(array, where_to(location, map_location)))
            return known[key]

    return find


# %% answer="saving_safetensors" wrong="the elements in the order of memory" spoils="save_file"
def save_file(tensors, filename, metadata=None):
    refuse_shared(tensors)
    header, data = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, x in tensors.items():
        elements = on_host(x).tobytes(order="A")
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(elements)]}
        data += elements
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(filename) as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


# %% answer="saving_safetensors" wrong="offsets from the start of the file" spoils="save_file"
def save_file(tensors, filename, metadata=None):
    refuse_shared(tensors)
    header, data = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, x in tensors.items():
        elements = on_host(x).tobytes()
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": [8 + len(data), 8 + len(data) + len(elements)]}
        data += elements
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(filename) as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


# %% answer="saving_safetensors" wrong="not padded" spoils="save_file"
def save_file(tensors, filename, metadata=None):
    refuse_shared(tensors)
    header, data = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, x in tensors.items():
        elements = on_host(x).tobytes()
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(elements)]}
        data += elements
    text = json.dumps(header).encode()
    with replacing(filename) as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


# %% answer="saving_safetensors" wrong="big-endian" spoils="save_file"
def save_file(tensors, filename, metadata=None):
    refuse_shared(tensors)
    header, data = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, x in tensors.items():
        elements = on_host(x).tobytes()
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(elements)]}
        data += elements
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(filename) as file:
        file.write(len(text).to_bytes(8, "big") + text + data)


# %% answer="saving_safetensors" wrong="refuses after it has written" spoils="save_file"
def save_file(tensors, filename, metadata=None):
    header, data = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, x in tensors.items():
        elements = on_host(x).tobytes()
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(elements)]}
        data += elements
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(filename) as file:
        file.write(len(text).to_bytes(8, "little") + text + data)
    refuse_shared(tensors)


# %% answer="saving_safetensors" wrong="writes into the file itself" spoils="save_file"
def save_file(tensors, filename, metadata=None):
    refuse_shared(tensors)
    header, data = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, x in tensors.items():
        elements = on_host(x).tobytes()
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(elements)]}
        data += elements
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(filename, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


# %% answer="saving_safetensors" wrong="metadata beside the header's entries" spoils="save_file"
def save_file(tensors, filename, metadata=None):
    refuse_shared(tensors)
    header, data = dict(metadata or {}), b""
    for name, x in tensors.items():
        elements = on_host(x).tobytes()
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(elements)]}
        data += elements
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(filename) as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


# %% answer="saving_safetensors" right="accumulate and struct, numbers from nbytes"
def save_file(tensors, filename, metadata=None):
    import struct
    from itertools import accumulate

    refuse_shared(tensors)
    arrays = [np.ascontiguousarray(on_host(x)) for x in tensors.values()]
    ends = list(accumulate((each.nbytes for each in arrays), initial=0))
    header = {} if metadata is None else {"__metadata__": dict(metadata)}
    for (name, x), start, end in zip(tensors.items(), ends, ends[1:]):
        header[name] = dict(dtype=NAMES[x.dtype], shape=[*x.shape], data_offsets=[start, end])
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text = text.ljust(-(-len(text) // 8) * 8)
    with replacing(filename) as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for each in arrays:
            file.write(each.tobytes())


# %% answer="saving_safetensors" right="pads in a loop, a bytearray"
def save_file(tensors, filename, metadata=None):
    refuse_shared(tensors)
    header, data = {}, bytearray()
    for name, x in tensors.items():
        start = len(data)
        data.extend(on_host(x).tobytes("C"))
        header[name] = {"dtype": NAMES[x.dtype], "shape": tuple(x.shape), "data_offsets": (start, len(data))}
    if metadata is not None:
        header["__metadata__"] = metadata
    text = json.dumps(header).encode()
    while len(text) % 8:
        text += b" "
    with replacing(filename) as file:
        for each in (len(text).to_bytes(8, byteorder="little"), text, bytes(data)):
            file.write(each)


# %% answer="saving_safetensors" wrong="equal tensors are refused" spoils="refuse_shared"
def refuse_shared(tensors):
    groups = {}
    for name, x in tensors.items():
        groups.setdefault(on_host(x).tobytes(), []).append(name)
    if shared := [each for each in groups.values() if len(each) > 1]:
        raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: {shared}.")


# %% answer="saving_safetensors" wrong="only the first group" spoils="refuse_shared"
def refuse_shared(tensors):
    groups = {}
    for name, x in tensors.items():
        groups.setdefault(x.storage, []).append(name)
    for each in groups.values():
        if len(each) > 1:
            raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: {[each]}.")


# %% answer="saving_safetensors" wrong="compares the first element's address" spoils="refuse_shared"
def refuse_shared(tensors):
    groups = {}
    for name, x in tensors.items():
        groups.setdefault(x.data_ptr(), []).append(name)
    if shared := [each for each in groups.values() if len(each) > 1]:
        raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: {shared}.")


# %% answer="saving_safetensors" wrong="the same tensor only" spoils="refuse_shared"
def refuse_shared(tensors):
    groups = {}
    for name, x in tensors.items():
        groups.setdefault(id(x), []).append(name)
    if shared := [each for each in groups.values() if len(each) > 1]:
        raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: {shared}.")


# %% answer="saving_safetensors" wrong="pairs of names" spoils="refuse_shared"
def refuse_shared(tensors):
    names = list(tensors)
    shared = [[a, b] for place, a in enumerate(names) for b in names[place + 1 :] if tensors[a].storage is tensors[b].storage]
    if shared:
        raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: {shared}.")


# %% answer="saving_safetensors" wrong="sorted names" spoils="refuse_shared"
def refuse_shared(tensors):
    groups = {}
    for name, x in sorted(tensors.items(), key=lambda pair: pair[0]):
        groups.setdefault(x.storage, []).append(name)
    if shared := [each for each in groups.values() if len(each) > 1]:
        raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: {shared}.")


# %% answer="saving_safetensors" wrong="a ValueError" spoils="refuse_shared"
def refuse_shared(tensors):
    groups = {}
    for name, x in tensors.items():
        groups.setdefault(x.storage, []).append(name)
    if shared := [each for each in groups.values() if len(each) > 1]:
        raise ValueError(f"Some tensors share memory: {shared}.")


# %% answer="saving_safetensors" right="groups in a list, is"
def refuse_shared(tensors):
    groups = []
    for name, x in tensors.items():
        for storage, names in groups:
            if storage is x.storage:
                names.append(name)
                break
        else:
            groups.append((x.storage, [name]))
    shared = [names for _, names in groups if len(names) >= 2]
    if shared:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential "
            "differences when loading them again: {}.".format(shared)
        )


# %% answer="saving_safetensors" right="a dict of names by id, filter"
def refuse_shared(tensors):
    by_storage = {id(x.storage): [] for x in tensors.values()}
    for name in tensors:
        by_storage[id(tensors[name].storage)] += [name]
    shared = list(filter(lambda names: len(names) > 1, by_storage.values()))
    if shared:
        raise RuntimeError("Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: " + str(shared) + ".")


# %% answer="saving_safetensors" wrong="in the order of the header" spoils="load_file"
def load_file(filename, device="cpu"):
    found = {}
    with open(filename, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        header.pop("__metadata__", None)
        for name, about in header.items():
            start, end = about["data_offsets"]
            elements = np.frombuffer(bytearray(file.read(end - start)), TYPES[about["dtype"]].numpy)
            found[name] = from_array(move(elements.reshape(about["shape"]), device_type(device)))
    return found


# %% answer="saving_safetensors" wrong="the metadata is a tensor" spoils="load_file"
def load_file(filename, device="cpu"):
    found = {}
    with open(filename, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        for name, about in json.loads(file.read(length)).items():
            start, end = about["data_offsets"]
            file.seek(8 + length + start)
            elements = np.frombuffer(bytearray(file.read(end - start)), TYPES[about["dtype"]].numpy)
            found[name] = from_array(move(elements.reshape(about["shape"]), device_type(device)))
    return found


# %% answer="saving_safetensors" wrong="read-only memory" spoils="load_file"
def load_file(filename, device="cpu"):
    found = {}
    with open(filename, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    for name, about in header.items():
        start, end = about["data_offsets"]
        elements = np.frombuffer(data[start:end], TYPES[about["dtype"]].numpy)
        found[name] = from_array(move(elements.reshape(about["shape"]), device_type(device)))
    return found


# %% answer="saving_safetensors" wrong="to the end of the file" spoils="load_file"
def load_file(filename, device="cpu"):
    found = {}
    with open(filename, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    header.pop("__metadata__", None)
    for name, about in header.items():
        elements = np.frombuffer(data[about["data_offsets"][0] :], TYPES[about["dtype"]].numpy)
        found[name] = from_array(move(elements.reshape(about["shape"]), device_type(device)))
    return found


# %% answer="saving_safetensors" wrong="flat tensors" spoils="load_file"
def load_file(filename, device="cpu"):
    found = {}
    with open(filename, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    for name, about in header.items():
        start, end = about["data_offsets"]
        elements = np.frombuffer(bytearray(data[start:end]), TYPES[about["dtype"]].numpy)
        found[name] = from_array(move(elements, device_type(device)))
    return found


# %% answer="saving_safetensors" wrong="everything in float32" spoils="load_file"
def load_file(filename, device="cpu"):
    found = {}
    with open(filename, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    for name, about in header.items():
        start, end = about["data_offsets"]
        elements = np.frombuffer(bytearray(data[start:end]), TYPES[about["dtype"]].numpy).astype(np.float32)
        found[name] = from_array(move(elements.reshape(about["shape"]), device_type(device)))
    return found


# %% answer="saving_safetensors" right="the whole file, np.ndarray on a bytearray"
def load_file(filename, device="cpu"):
    from pathlib import Path

    data = Path(filename).read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    where = device_type(device)
    found = {}
    for name in header:
        if name == "__metadata__":
            continue
        about = header[name]
        start, end = about["data_offsets"]
        memory = bytearray(data[begin + start : begin + end])
        array = np.ndarray(about["shape"], TYPES[about["dtype"]].numpy, memory)
        found[name] = from_array(move(array, where))
    return found


# %% answer="saving_safetensors" right="fromfile of a count of elements, copies"
def load_file(filename, device="cpu"):
    found = {}
    with open(filename, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length).decode())
        for name, about in header.items():
            if name != "__metadata__":
                kind = np.dtype(TYPES[about["dtype"]].numpy)
                start, end = about["data_offsets"]
                file.seek(length + start + 8)
                array = np.frombuffer(file.read(end - start), kind, (end - start) // kind.itemsize) if end > start else np.empty(0, kind)
                found[name] = from_array(move(array.reshape(about["shape"]).copy(), device_type(device)))
    return found


# %% answer="saving_repair_prefixes" wrong="strips letters, one prefix after the other"
def plain_names(state):
    return {name.lstrip("module").lstrip(".").removeprefix("_orig_mod."): value for name, value in state.items()}


# %% answer="saving_repair_prefixes" wrong="if any name has it"
def plain_names(state):
    found = dict(state)
    for _ in range(10):
        for prefix in ("module.", "_orig_mod."):
            if any(name.startswith(prefix) for name in found):
                found = {name.removeprefix(prefix): value for name, value in found.items()}
    return found


# %% answer="saving_repair_prefixes" wrong="the prefix without its dot"
def plain_names(state):
    found = dict(state)
    while found:
        for prefix in ("module", "_orig_mod"):
            if all(name.startswith(prefix) for name in found):
                found = {name.removeprefix(prefix).removeprefix("."): value for name, value in found.items()}
                break
        else:
            break
    return found


# %% answer="saving_repair_prefixes" wrong="returns the given dict if there is nothing to strip"
def plain_names(state):
    while state:
        for prefix in ("module.", "_orig_mod."):
            if all(name.startswith(prefix) for name in state):
                state = {name.removeprefix(prefix): value for name, value in state.items()}
                break
        else:
            break
    return state


# %% answer="saving_repair_prefixes" wrong="sorted names"
def plain_names(state):
    found = dict(sorted(state.items()))
    while found:
        for prefix in ("module.", "_orig_mod."):
            if all(name.startswith(prefix) for name in found):
                found = {name.removeprefix(prefix): value for name, value in found.items()}
                break
        else:
            break
    return found


# %% answer="saving_repair_prefixes" wrong="everything up to the last such prefix"
def plain_names(state):
    import re

    return {re.sub(r"^.*(module|_orig_mod)\.", "", name): value for name, value in state.items()}


# %% answer="saving_repair_prefixes" wrong="judges by the first name"
def plain_names(state):
    found = dict(state)
    while found:
        first = next(iter(found))
        for prefix in ("module.", "_orig_mod."):
            if first.startswith(prefix):
                found = {name.removeprefix(prefix): value for name, value in found.items()}
                break
        else:
            break
    return found


# %% answer="saving_repair_prefixes" right="the number of common parts"
def plain_names(state):
    parts = [name.split(".") for name in state]
    common = 0
    while parts and all(len(each) > common + 1 for each in parts) and len({each[common] for each in parts}) == 1:
        if parts[0][common] not in ("module", "_orig_mod"):
            break
        common += 1
    return {".".join(each[common:]): value for each, value in zip(parts, state.values())}


# %% answer="saving_repair_prefixes" right="a tuple of prefixes, a while with next"
def plain_names(state):
    found = {**state}
    prefixes = "module.", "_orig_mod."
    while found and (prefix := next((p for p in prefixes if all(n.startswith(p) for n in found)), None)):
        found = dict(zip((name[len(prefix) :] for name in found), found.values()))
    return found


# %% answer="saving_repair_prefixes" wrong="each name may have another of the two"
def plain_names(state):
    prefixes = ("module.", "_orig_mod.")
    state = dict(state)
    while state and all(name.startswith(prefixes) for name in state):
        state = {name.split(".", 1)[1]: value for name, value in state.items()}
    return state


# %% answer="saving_repair_prefixes" right="the common prefix, matched"
def plain_names(state):
    import os

    shared = os.path.commonprefix(list(state))
    cut = re.match(r"(?:module\.|_orig_mod\.)*", shared).end()
    return {name[cut:]: tensor for name, tensor in state.items()}


# %% answer="saving_power_failure" wrong="removes all other files"
def save_checkpoint(disk, name, data):
    for other in [each for each in disk.files if each != name]:
        disk.remove(other)
    disk.create(name + ".new")
    disk.append(name + ".new", data)
    disk.sync(name + ".new")
    disk.rename(name + ".new", name)


# %% answer="saving_power_failure" wrong="always the same name"
def save_checkpoint(disk, name, data):
    disk.create("model.pt.new")
    disk.append("model.pt.new", data)
    disk.sync("model.pt.new")
    disk.rename("model.pt.new", "model.pt")


# %% answer="saving_power_failure" wrong="syncs before it appends"
def save_checkpoint(disk, name, data):
    disk.create(name + ".new")
    disk.sync(name + ".new")
    disk.append(name + ".new", data)
    disk.rename(name + ".new", name)


# %% answer="saving_power_failure" wrong="renames the old one away, then puts the new one there"
def save_checkpoint(disk, name, data):
    disk.create(name + ".new")
    disk.append(name + ".new", data)
    disk.sync(name + ".new")
    if name in disk.files:
        disk.rename(name, name + ".old")
    disk.rename(name + ".new", name)
    if name + ".old" in disk.files:
        disk.remove(name + ".old")


# %% answer="saving_power_failure" wrong="leaves the old one as a backup"
def save_checkpoint(disk, name, data):
    if name in disk.files:
        disk.create(name + ".backup")
        disk.append(name + ".backup", disk.files[name])
        disk.sync(name + ".backup")
    disk.create(name + ".new")
    disk.append(name + ".new", data)
    disk.sync(name + ".new")
    disk.rename(name + ".new", name)


# %% answer="saving_power_failure" wrong="syncs half of the bytes"
def save_checkpoint(disk, name, data):
    half = len(data) // 2
    disk.create(name + ".new")
    disk.append(name + ".new", data[:half])
    disk.sync(name + ".new")
    disk.append(name + ".new", data[half:])
    disk.rename(name + ".new", name)


# %% answer="saving_power_failure" wrong="skips an empty checkpoint"
def save_checkpoint(disk, name, data):
    if not data:
        return
    disk.create(name + ".new")
    disk.append(name + ".new", data)
    disk.sync(name + ".new")
    disk.rename(name + ".new", name)


# %% answer="saving_power_failure" wrong="gives up if a failure left something"
def save_checkpoint(disk, name, data):
    if name + ".new" in disk.files:
        disk.remove(name + ".new")
        return
    disk.create(name + ".new")
    disk.append(name + ".new", data)
    disk.sync(name + ".new")
    disk.rename(name + ".new", name)


# %% answer="saving_power_failure" right="syncs after each byte"
def save_checkpoint(disk, name, data):
    temporary = "." + name
    disk.create(temporary)
    for place in range(len(data)):
        disk.append(temporary, data[place : place + 1])
        disk.sync(temporary)
    disk.sync(temporary)
    disk.rename(new_name=name, name=temporary)


# %% answer="saving_power_failure" right="a name that is free, in pieces"
def save_checkpoint(disk, name, data):
    new = name
    while new in disk.files:
        new += "~"
    if new == name:
        new += "~"
    for stale in [each for each in disk.files if each.startswith(name) and set(each[len(name) :]) == {"~"}]:
        disk.remove(stale)
    disk.create(new)
    for at in range(0, len(data), 3):
        disk.append(new, data[at : at + 3])
        disk.sync(new)
    disk.sync(new)
    disk.rename(new, name)


# %% answer="saving_measure_resume" wrong="one step alone"
def needed(run):
    whole = resume(run, None, 1)
    return [part for part in PARTS if resume(run, part, 1) != whole]


# %% answer="saving_measure_resume" wrong="the parts that are not needed"
def needed(run):
    whole = resume(run, None, 12)
    return [part for part in PARTS if resume(run, part, 12) == whole]


# %% answer="saving_measure_resume" wrong="approximately equal"
def needed(run):
    whole = np.array(resume(run, None, 12))
    return [part for part in PARTS if abs(np.array(resume(run, part, 12)) - whole).max() > 1]


# %% answer="saving_measure_resume" wrong="compares the first weight"
def needed(run):
    whole = resume(run, None, 12)
    return sorted(part for part in PARTS if resume(run, part, 12)[0] != whole[0])


# %% answer="saving_measure_resume" wrong="everything"
def needed(run):
    return list(PARTS)


# %% answer="saving_measure_resume" wrong="compares with a run of another seed"
def needed(run):
    whole = resume(run | {"seed": run["seed"] + 1}, None, 12)
    return [part for part in PARTS if resume(run, part, 12) != whole]


# %% answer="saving_measure_resume" wrong="no step at all"
def needed(run):
    whole = resume(run, None, 0)
    return [part for part in PARTS if resume(run, part, 0) != whole]


# %% answer="saving_measure_resume" right="a dict of results"
def needed(run):
    results = {part: resume(run, part, steps=12) for part in [None, *PARTS]}
    return [part for part in PARTS if results[part] != results[None]]


# %% answer="saving_measure_resume" right="bits as bytes"
def needed(run):
    def bits(without):
        return np.array(resume(run, without, 12)).tobytes()

    return list(filter(lambda part: bits(part) != bits(None), PARTS))


# %% answer="saving_measure_resume" right="any of the weights"
def needed(run):
    found, whole = [], resume(run, None, 12)
    for part in PARTS:
        if any(a != b for a, b in zip(resume(run, part, 12), whole)):
            found.append(part)
    return found


# %% answer="saving_container" right="a list of storages whose positions are the keys, and a copy of a read-only array"
def records_of(obj: Any) -> dict[str, Any]:
    storages = []

    def key_of(storage):
        for number, each in enumerate(storages):
            if each is storage:
                return str(number)
        storages.append(storage)
        return str(len(storages) - 1)

    program = io.BytesIO()
    Pickler(program, key_of).dump(obj)
    arrays = [library_of(each.flat).to_numpy(each.flat).view(np.uint8) for each in storages]
    numbered = {f"data/{number}": array for number, array in enumerate(arrays)}
    return {"data.pkl": program.getvalue(), "byteorder": b"little", **numbered, "version": b"3\n"}


def storage_reader(read: Callable[[str], bytes], map_location: Any = None) -> Callable[[Any], Storage]:
    storages = {}

    def load_storage(reference):
        _, kind, key, location, _length = reference
        found = storages.get(key)
        if found is None:
            array = np.frombuffer(read("data/" + key), dtype=kind.numpy).copy()
            found = storages[key] = Storage(move(array, where_to(location, map_location)))
        return found

    return load_storage


# %% answer="saving_power_failure" wrong="clears everything that begins with the name, which includes other checkpoints ('replaces the content of the file `name`')"
def save_checkpoint(disk, name, data):
    for each in list(disk.files):
        if each.startswith(name) and each != name:  # what a failure has left behind
            disk.remove(each)
    temporary = name + ".tmp"
    disk.create(temporary)
    disk.append(temporary, data)
    disk.sync(temporary)
    disk.rename(temporary, name)


# %% answer="saving_power_failure" wrong="the temporary name differs from the name only if it ends in .pt ('whenever the power fails')"
def save_checkpoint(disk, name, data):
    temporary = name.replace(".pt", ".tmp")
    disk.create(temporary)
    disk.append(temporary, data)
    disk.sync(temporary)
    disk.rename(temporary, name)


# %% answer="saving_power_failure" right="a fresh temporary name each time, and a sync after each byte"
def save_checkpoint(disk, name, data):
    number = 0
    while (temporary := f"{name}.{number}") in disk.files:
        number += 1
    disk.create(temporary)
    for each in data:
        disk.append(temporary, bytes([each]))
        disk.sync(temporary)
    disk.rename(temporary, name)


# %% answer="saving_power_failure" right="the same temporary file for all names, removed first if it is there"
def save_checkpoint(disk, name, data):
    if "saving" in disk.files:
        disk.remove("saving")
    disk.create("saving")
    disk.append("saving", data)
    disk.sync("saving")
    disk.rename("saving", name)
    disk.sync(name)


# %% answer="saving_safetensors" right="up to eight spaces"
def save_file(tensors, filename, metadata=None):
    refuse_shared(tensors)
    header = {} if metadata is None else {"__metadata__": metadata}
    data = b""
    for name, x in tensors.items():
        elements = on_host(x).tobytes()
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(elements)]}
        data += elements
    text = json.dumps(header).encode()
    text += b" " * (8 - len(text) % 8)
    with replacing(filename) as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


# %% answer="saving_safetensors" wrong="skips each name that begins with two underscores"
def load_file(filename, device="cpu"):
    tensors = {}
    with open(filename, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        for name, about in header.items():
            if name.startswith("__"):
                continue
            start, end = about["data_offsets"]
            file.seek(8 + length + start)
            elements = np.frombuffer(bytearray(file.read(end - start)), TYPES[about["dtype"]].numpy)
            tensors[name] = from_array(move(elements.reshape(about["shape"]), device_type(device)))
    return tensors


# %% answer="saving_safetensors" right="all tensors in the bytes of the file, sorted by name"
def load_file(filename, device="cpu"):
    data = bytearray(open(filename, "rb").read())
    length = int.from_bytes(data[:8], "little")
    header = json.loads(bytes(data[8 : 8 + length]))
    header.pop("__metadata__", None)
    tensors = {}
    for name, about in header.items():
        start, end = about["data_offsets"]
        part = memoryview(data)[8 + length + start : 8 + length + end]
        elements = np.frombuffer(part, TYPES[about["dtype"]].numpy).reshape(about["shape"])
        tensors[name] = from_array(move(elements, device_type(device)))
    return dict(sorted(tensors.items()))


# %% answer="saving_safetensors" wrong="the groups in the order of the alphabet"
def refuse_shared(tensors):
    names = {}
    for name, x in tensors.items():
        names.setdefault(id(x.storage), []).append(name)
    shared = sorted([each for each in names.values() if len(each) > 1])
    if shared:
        raise RuntimeError("Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: " + str(shared) + ".")


# %% answer="saving_repair_prefixes" right="split at the first dot"
def plain_names(state):
    found = {}
    for name, value in state.items():
        found[name] = value
    while found and (all(n.startswith("module.") for n in found) or all(n.startswith("_orig_mod.") for n in found)):
        found = {n.split(".", 1)[1]: v for n, v in found.items()}
    return found


# %% answer="saving_repair_prefixes" wrong="copies the tensors"
def plain_names(state):
    import copy
    state = {name: copy.deepcopy(value) for name, value in state.items()}
    while state:
        for prefix in ("module.", "_orig_mod."):
            if all(name.startswith(prefix) for name in state):
                state = {name.removeprefix(prefix): value for name, value in state.items()}
                break
        else:
            break
    return state


# %% answer="saving_power_failure" right="another name, and a sync after the rename"
def save_checkpoint(disk, name, data):
    temporary = name + " of today"
    disk.create(temporary)
    disk.append(temporary, data)
    disk.sync(temporary)
    disk.rename(temporary, name)
    disk.sync(name)


# %% answer="saving_power_failure" right="saves nothing if the checkpoint is the same"
def save_checkpoint(disk, name, data):
    if disk.files.get(name) == data:
        return
    disk.create(name + ".tmp")
    disk.append(name + ".tmp", data)
    disk.sync(name + ".tmp")
    disk.rename(name + ".tmp", name)


# %% answer="saving_container" right="a list of storages, compared by is"
def records_of(obj):
    keys, kept = {}, []
    program = io.BytesIO()

    def key_of(storage):
        for number, each in enumerate(kept):
            if each is storage:
                return str(number)
        kept.append(storage)
        return str(len(kept) - 1)

    Pickler(program, key_of).dump(obj)
    found = {"data.pkl": program.getvalue(), "byteorder": b"little"}
    for number, storage in enumerate(kept):
        found[f"data/{number}"] = library_of(storage.flat).to_numpy(storage.flat).tobytes()
    found["version"] = b"3\n"
    return found


# %% answer="saving_container" right="as many elements as the reference says"
def storage_reader(read, map_location=None):
    storages = {}

    def load_storage(reference):
        _, kind, key, location, length = reference
        if key not in storages:
            flat = np.frombuffer(bytearray(read(f"data/{key}")), kind.numpy)[:length].copy()
            storages[key] = Storage(move(flat, where_to(location, map_location)))
        return storages[key]

    return load_storage
