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
