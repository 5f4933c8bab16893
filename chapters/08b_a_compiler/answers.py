# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 08b` grades them.


# %% answer="compiler_slots" right="counts the readers that are left"
def slots(group, kept):
    left = {}
    for step in group:
        for each in steps_in(step.args):
            left[each] = left.get(each, 0) + 1
    place, free = {}, []
    for step in group:
        for each in steps_in(step.args):
            left[each] -= 1
            if left[each] == 0 and each in place:
                free.append(place[each])
        if step in kept:
            continue
        place[step] = min(free) if free else len(set(place.values()))
        if free:
            free.remove(place[step])
    return place


# %% answer="compiler_slots" right="looks at all later steps each time"
def slots(group, kept):
    place = {}
    for number, step in enumerate(group):
        if any(step is each for each in kept):
            continue
        later = set(steps_in([each.args for each in group[number + 1 :]]))
        taken = {slot for each, slot in place.items() if each in later}
        place[step] = next(slot for slot in range(len(group)) if slot not in taken)
    return place


# %% answer="compiler_slots" right="a heap of free slots"
def slots(group, kept):
    import heapq

    ends = {}
    for at, step in enumerate(group):
        for each in steps_in(step.args):
            ends[each] = at
    busy, free, place, most = [], [], {}, 0
    for at, step in enumerate(group):
        while busy and busy[0][0] <= at:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if step not in kept:
            if free:
                slot = heapq.heappop(free)
            else:
                slot, most = most, most + 1
            place[step] = slot
            heapq.heappush(busy, (ends[step], slot))
    return place


# %% answer="compiler_slots" wrong="alternates between two slots"
def slots(group, kept):
    inside = [step for step in group if step not in kept]
    return {step: number % 2 for number, step in enumerate(inside)}


# %% answer="compiler_slots" wrong="one slot for all"
def slots(group, kept):
    return {step: 0 for step in group if step not in kept}


# %% answer="compiler_slots" wrong="the slots begin at 1"
def slots(group, kept):
    last = {each: step for step in group for each in steps_in(step.args)}
    place, free = {}, []
    for step in group:
        free += [place[each] for each in dict.fromkeys(steps_in(step.args)) if each in place and last[each] is step]
        if step not in kept:
            place[step] = free.pop() if free else len(set(place.values())) + 1
    return place


# %% answer="compiler_slots" wrong="frees one operand of a step only"
def slots(group, kept):
    last = {each: step for step in group for each in steps_in(step.args)}
    place, free = {}, []
    for step in group:
        done = [place[each] for each in dict.fromkeys(steps_in(step.args)) if each in place and last[each] is step]
        free += done[:1]
        if step not in kept:
            place[step] = free.pop() if free else len(set(place.values()))
    return place


# %% answer="compiler_slots" wrong="takes the first reader for the last one"
def slots(group, kept):
    last = {}
    for step in group:
        for each in steps_in(step.args):
            last.setdefault(each, step)
    place, free = {}, []
    for step in group:
        free += [place[each] for each in dict.fromkeys(steps_in(step.args)) if each in place and last[each] is step]
        if step not in kept:
            place[step] = free.pop() if free else len(set(place.values()))
    return place


# %% answer="compiler_slots" wrong="kept steps free nothing"
def slots(group, kept):
    last = {each: step for step in group for each in steps_in(step.args)}
    place, free, count = {}, [], 0
    for step in group:
        if step in kept:
            continue
        for each in dict.fromkeys(steps_in(step.args)):
            if each in place and last[each] is step:
                free.append(place[each])
        if free:
            place[step] = free.pop()
        else:
            place[step] = count
            count += 1
    return place


# %% answer="compiler_source" right="views of each block, with names of their own"
def source(group, kept):
    read, place = operands(group), slots(group, kept)
    name = {}
    heads, cuts = [], []
    for number, step in enumerate(kept):
        heads.append(f"out{number}")
        cuts.append(f"o{number} = out{number}[start:stop]")
        name[step] = f"o{number}"
    for number, each in enumerate(read):
        heads.append(f"in{number}")
        cuts.append(f"i{number} = in{number}[start:stop]")
        name[each] = f"i{number}"
    for slot in sorted(set(place.values())):
        cuts.append(f"s{slot} = buffers[{slot}][: stop - start]")
    name.update({step: f"s{slot}" for step, slot in place.items()})
    text = f"def kernel({', '.join(heads)}):\n    size = len({heads[0]})\n"
    text += f"    buffers = [np.zeros({BLOCK}, {heads[0]}.dtype) for _ in range({len(set(place.values()))})]\n"
    text += f"    for start in range(0, size, {BLOCK}):\n        stop = min(start + {BLOCK}, size)\n"
    for line in cuts:
        text += f"        {line}\n"
    for step in group:
        given = [name[each] if isinstance(each, (Step, Tensor)) else repr(each) for each in step.args]
        text += f"        np.{UFUNCS[step.op.name]}({', '.join(given)}, out={name[step]})\n"
    return text


# %% answer="compiler_source" right="a while loop"
def source(group, kept):
    place = slots(group, kept)
    where = {id(each): f"x{number}[k:k + n]" for number, each in enumerate(operands(group))}
    for step in group:
        where[id(step)] = f"y{kept.index(step)}[k:k + n]" if step in kept else f"t{place[step]}[:n]"
    given = ", ".join([f"y{n}" for n in range(len(kept))] + [f"x{n}" for n in range(len(operands(group)))])
    body = [f"t{slot} = np.empty({BLOCK}, dtype=y0.dtype)" for slot in set(place.values())]
    body += ["k = 0", "while k < y0.size:", f"    n = min({BLOCK}, y0.size - k)"]
    for step in group:
        args = [where.get(id(each), repr(each)) for each in step.args]
        body.append(f"    np.{UFUNCS[step.op.name]}({', '.join(args)}, out={where[id(step)]})")
    body.append("    k += n")
    return f"def kernel({given}):\n" + "".join(f"    {line}\n" for line in body)


# %% answer="compiler_source" right="slots as flat slices of one buffer"
def source(group, kept):
    place, lines = slots(group, kept), []
    names = {id(each): f"x{number}[a:b]" for number, each in enumerate(operands(group))}
    names |= {id(step): f"t[{slot * BLOCK}:{slot * BLOCK} + b - a]" for step, slot in place.items()}
    names |= {id(step): f"y{number}[a:b]" for number, step in enumerate(kept)}
    given = [f"y{number}" for number in range(len(kept))] + [f"x{number}" for number in range(len(operands(group)))]
    for step in group:
        args = ", ".join(names.get(id(each), repr(each)) for each in step.args)
        lines.append(f"        np.{UFUNCS[step.op.name]}({args}, out={names[id(step)]})")
    return "\n".join(
        [
            f"def kernel({', '.join(given)}):",
            f"    t = np.empty_like(y0, shape={len(set(place.values())) * BLOCK})",
            f"    for a in range(0, len(y0), {BLOCK}):",
            f"        b = min(a + {BLOCK}, len(y0))",
            *lines,
        ]
    )


# %% answer="compiler_source" wrong="slots of float32, whatever the dtype"
def source(group, kept):
    place = slots(group, kept)
    names = {id(each): f"x{number}[b]" for number, each in enumerate(operands(group))}
    names |= {id(step): f"t[{slot}, c]" for step, slot in place.items()}
    names |= {id(step): f"y{number}[b]" for number, step in enumerate(kept)}
    given = [f"y{number}" for number in range(len(kept))] + [f"x{n}" for n in range(len(operands(group)))]
    lines = [f"def kernel({', '.join(given)}):", f"    t = np.empty(({len(set(place.values()))}, {BLOCK}), 'float32')"]
    lines += [f"    for start in range(0, y0.size, {BLOCK}):"]
    lines += [f"        b, c = slice(start, start + {BLOCK}), slice(0, y0.size - start)"]
    for step in group:
        args = ", ".join(names.get(id(each), repr(each)) for each in step.args)
        lines.append(f"        np.{UFUNCS[step.op.name]}({args}, out={names[id(step)]}, casting='unsafe')")
    return "\n".join(lines)


# %% answer="compiler_source" wrong="a slot for each step instead of a plan"
def source(group, kept):
    place = {step: number for number, step in enumerate(group)}
    names = {id(each): f"x{number}[b]" for number, each in enumerate(operands(group))}
    names |= {id(step): f"t[{slot}, c]" for step, slot in place.items()}
    names |= {id(step): f"y{number}[b]" for number, step in enumerate(kept)}
    given = [f"y{number}" for number in range(len(kept))] + [f"x{n}" for n in range(len(operands(group)))]
    lines = [f"def kernel({', '.join(given)}):", f"    t = np.empty(({len(group)}, {BLOCK}), y0.dtype)"]
    lines += [f"    for start in range(0, y0.size, {BLOCK}):"]
    lines += [f"        b, c = slice(start, start + {BLOCK}), slice(0, y0.size - start)"]
    for step in group:
        args = ", ".join(names.get(id(each), repr(each)) for each in step.args)
        lines.append(f"        np.{UFUNCS[step.op.name]}({args}, out={names[id(step)]})")
    return "\n".join(lines)


# %% answer="compiler_source" wrong="allocates the slots anew for each block"
def source(group, kept):
    place = slots(group, kept)
    names = {id(each): f"x{number}[b]" for number, each in enumerate(operands(group))}
    names |= {id(step): f"t[{slot}, c]" for step, slot in place.items()}
    names |= {id(step): f"y{number}[b]" for number, step in enumerate(kept)}
    given = [f"y{number}" for number in range(len(kept))] + [f"x{n}" for n in range(len(operands(group)))]
    lines = [f"def kernel({', '.join(given)}):", f"    for start in range(0, y0.size, {BLOCK}):"]
    lines += [f"        t = np.empty(({len(set(place.values()))}, {BLOCK}), y0.dtype)"]
    lines += [f"        b, c = slice(start, start + {BLOCK}), slice(0, y0.size - start)"]
    for step in group:
        args = ", ".join(names.get(id(each), repr(each)) for each in step.args)
        lines.append(f"        np.{UFUNCS[step.op.name]}({args}, out={names[id(step)]})")
    return "\n".join(lines)


# %% answer="compiler_source" wrong="the kept results in the order of the group"
def source(group, kept):
    place = slots(group, kept)
    kept = [step for step in group if step in kept]
    names = {id(each): f"x{number}[b]" for number, each in enumerate(operands(group))}
    names |= {id(step): f"t[{slot}, c]" for step, slot in place.items()}
    names |= {id(step): f"y{number}[b]" for number, step in enumerate(kept)}
    given = [f"y{number}" for number in range(len(kept))] + [f"x{n}" for n in range(len(operands(group)))]
    lines = [f"def kernel({', '.join(given)}):", f"    t = np.empty(({len(set(place.values()))}, {BLOCK}), y0.dtype)"]
    lines += [f"    for start in range(0, y0.size, {BLOCK}):"]
    lines += [f"        b, c = slice(start, start + {BLOCK}), slice(0, y0.size - start)"]
    for step in group:
        args = ", ".join(names.get(id(each), repr(each)) for each in step.args)
        lines.append(f"        np.{UFUNCS[step.op.name]}({args}, out={names[id(step)]})")
    return "\n".join(lines)


# %% answer="compiler_source" wrong="writes intermediate results over the operands"
def source(group, kept):
    names = {id(each): f"x{number}[b]" for number, each in enumerate(operands(group))}
    given = [f"y{number}" for number in range(len(kept))] + [f"x{n}" for n in range(len(operands(group)))]
    lines = [f"def kernel({', '.join(given)}):", f"    for start in range(0, y0.size, {BLOCK}):"]
    lines += [f"        b = slice(start, start + {BLOCK})"]
    for step in group:
        args = [names.get(id(each), repr(each)) for each in step.args]
        target = f"y{kept.index(step)}[b]" if step in kept else next(each for each in args if "[" in each)
        names[id(step)] = target
        lines.append(f"        np.{UFUNCS[step.op.name]}({', '.join(args)}, out={target})")
    return "\n".join(lines)


# %% answer="compiler_source" wrong="rounds numbers to three digits"
def source(group, kept):
    place = slots(group, kept)
    names = {id(each): f"x{number}[b]" for number, each in enumerate(operands(group))}
    names |= {id(step): f"t[{slot}, c]" for step, slot in place.items()}
    names |= {id(step): f"y{number}[b]" for number, step in enumerate(kept)}
    given = [f"y{number}" for number in range(len(kept))] + [f"x{n}" for n in range(len(operands(group)))]
    lines = [f"def kernel({', '.join(given)}):", f"    t = np.empty(({len(set(place.values()))}, {BLOCK}), y0.dtype)"]
    lines += [f"    for start in range(0, y0.size, {BLOCK}):"]
    lines += [f"        b, c = slice(start, start + {BLOCK}), slice(0, y0.size - start)"]
    for step in group:
        args = ", ".join(names.get(id(each)) or f"{each:.3g}" for each in step.args)
        lines.append(f"        np.{UFUNCS[step.op.name]}({args}, out={names[id(step)]})")
    return "\n".join(lines)


# %% answer="compiler_source" wrong="numbers with six digits"
def source(group, kept):
    place, outside = slots(group, kept), operands(group)
    count = len(set(place.values()))
    names = {id(each): f"x{n}[b]" for n, each in enumerate(outside)}
    names |= {id(each): f"t[{slot}, c]" for each, slot in place.items()}
    names |= {id(each): f"y{n}[b]" for n, each in enumerate(kept)}
    arguments = [f"y{n}" for n in range(len(kept))] + [f"x{n}" for n in range(len(outside))]
    lines = [f"def kernel({', '.join(arguments)}):", f"    t = np.empty(({count}, {BLOCK}), y0.dtype)"]
    lines += [f"    for start in range(0, y0.size, {BLOCK}):"]
    lines += [f"        b, c = slice(start, start + {BLOCK}), slice(0, y0.size - start)"]
    for step in group:
        read = [names[id(each)] if isinstance(each, (Step, Tensor)) else f"{each:g}" for each in step.args]
        lines.append(f"        np.{UFUNCS[step.op.name]}({', '.join(read)}, out={names[id(step)]})")
    return chr(10).join(lines) + chr(10)


# %% answer="compiler_source" wrong="puts tensors before numbers"
def source(group, kept):
    place, outside = slots(group, kept), operands(group)
    count = len(set(place.values()))
    names = {id(each): f"x{n}[b]" for n, each in enumerate(outside)}
    names |= {id(each): f"t[{slot}, c]" for each, slot in place.items()}
    names |= {id(each): f"y{n}[b]" for n, each in enumerate(kept)}
    arguments = [f"y{n}" for n in range(len(kept))] + [f"x{n}" for n in range(len(outside))]
    lines = [f"def kernel({', '.join(arguments)}):", f"    t = np.empty(({count}, {BLOCK}), y0.dtype)"]
    lines += [f"    for start in range(0, y0.size, {BLOCK}):"]
    lines += [f"        b, c = slice(start, start + {BLOCK}), slice(0, y0.size - start)"]
    for step in group:
        read = [names[id(each)] if isinstance(each, (Step, Tensor)) else repr(each) for each in sorted(step.args, key=lambda a: not isinstance(a, (Step, Tensor)))]
        lines.append(f"        np.{UFUNCS[step.op.name]}({', '.join(read)}, out={names[id(step)]})")
    return chr(10).join(lines) + chr(10)


# %% answer="compiler_guards" right="written out, with lists"
def guards(args):
    found = {}
    found["is_grad_enabled()"] = is_grad_enabled()
    sizes, keys, names = [], [], []
    for number, x in enumerate(args):
        name = "args[" + str(number) + "]"
        if isinstance(x, Tensor):
            shape = []
            for n in x.shape:
                if n in (0, 1):
                    shape.append(int(n))
                else:
                    if n not in sizes:
                        sizes.append(n)
                    shape.append("s" + str(sizes.index(n)))
            if key(x) not in keys:
                keys.append(key(x))
                names.append(name)
            found[name + ".dtype"], found[name + ".device"] = x.dtype, x.device
            found[name + ".requires_grad"], found[name + ".is_contiguous()"] = x.requires_grad, x.is_contiguous()
            found[name + ".shape"] = tuple(shape)
            found[name + " is"] = names[keys.index(key(x))]
        else:
            found[name] = (x.__class__.__name__, repr(x))
    return found


# %% answer="compiler_guards" right="sizes numbered in advance"
def guards(args):
    tensors = [(f"args[{number}]", x) for number, x in enumerate(args) if isinstance(x, Tensor)]
    sizes = dict.fromkeys(n for _, x in tensors for n in x.shape if n > 1)
    symbols = {n: f"s{number}" for number, n in enumerate(sizes)} | {0: 0, 1: 1}
    found = {f"args[{n}]": (type(x).__name__, repr(x)) for n, x in enumerate(args) if not isinstance(x, Tensor)}
    for name, x in tensors:
        found[f"{name}.shape"] = tuple(map(symbols.__getitem__, x.shape))
        found[f"{name} is"] = next(other for other, y in tensors if key(y) == key(x))
        found[f"{name}.is_contiguous()"] = x.is_contiguous()
        found.update({f"{name}.{each}": getattr(x, each) for each in ("requires_grad", "device", "dtype")})
    return {"is_grad_enabled()": is_grad_enabled(), **found}


# %% answer="compiler_guards" right="the first alike argument, searched backwards"
def guards(args):
    found, symbols = {"is_grad_enabled()": is_grad_enabled()}, {0: 0, 1: 1}
    for number, x in enumerate(args):
        name = f"args[{number}]"
        if not isinstance(x, Tensor):
            found[name] = type(x).__name__, repr(x)
            continue
        found[f"{name}.dtype"] = x.dtype
        found[f"{name}.device"] = x.device
        found[f"{name}.requires_grad"] = x.requires_grad
        found[f"{name}.is_contiguous()"] = x.is_contiguous()
        for n in x.shape:
            if n not in symbols:
                symbols[n] = f"s{len(symbols) - 2}"
        found[f"{name}.shape"] = tuple(symbols[n] for n in x.shape)
        for at in range(number, -1, -1):
            if isinstance(args[at], Tensor) and key(args[at]) == key(x):
                found[f"{name} is"] = f"args[{at}]"
    return found


# %% answer="compiler_guards" wrong="sizes as numbers"
def guards(args):
    found, first = {"is_grad_enabled()": is_grad_enabled()}, {}
    for number, x in enumerate(args):
        name = f"args[{number}]"
        if not isinstance(x, Tensor):
            found[name] = type(x).__name__, repr(x)
            continue
        found |= {f"{name}.{each}": getattr(x, each) for each in ("dtype", "device", "requires_grad")}
        found |= {f"{name}.is_contiguous()": x.is_contiguous(), f"{name}.shape": tuple(x.shape)}
        found[f"{name} is"] = first.setdefault(key(x), name)
    return found


# %% answer="compiler_guards" wrong="the latest alike argument, not the first"
def guards(args):
    found, last, symbols = {"is_grad_enabled()": is_grad_enabled()}, {}, {}
    for number, x in enumerate(args):
        name = f"args[{number}]"
        if not isinstance(x, Tensor):
            found[name] = type(x).__name__, repr(x)
            continue
        found |= {f"{name}.{each}": getattr(x, each) for each in ("dtype", "device", "requires_grad")}
        found[f"{name}.is_contiguous()"] = x.is_contiguous()
        found[f"{name}.shape"] = tuple(n if n < 2 else symbols.setdefault(n, f"s{len(symbols)}") for n in x.shape)
        found[f"{name} is"] = last.get(key(x), name)
        last[key(x)] = name
    return found


# %% answer="compiler_guards" wrong="compares storages, so views count as the same"
def guards(args):
    found, first, symbols = {"is_grad_enabled()": is_grad_enabled()}, {}, {}
    for number, x in enumerate(args):
        name = f"args[{number}]"
        if not isinstance(x, Tensor):
            found[name] = type(x).__name__, repr(x)
            continue
        found |= {f"{name}.{each}": getattr(x, each) for each in ("dtype", "device", "requires_grad")}
        found[f"{name}.is_contiguous()"] = x.is_contiguous()
        found[f"{name}.shape"] = tuple(n if n < 2 else symbols.setdefault(n, f"s{len(symbols)}") for n in x.shape)
        found[f"{name} is"] = first.setdefault(id(x.storage), name)
    return found


# %% answer="compiler_guards" wrong="counts the arguments of each kind by themselves"
def guards(args):
    found, first, symbols = {"is_grad_enabled()": is_grad_enabled()}, {}, {}
    tensors = [x for x in args if isinstance(x, Tensor)]
    for number, x in enumerate(tensors):
        name = f"args[{number}]"
        found |= {f"{name}.{each}": getattr(x, each) for each in ("dtype", "device", "requires_grad")}
        found[f"{name}.is_contiguous()"] = x.is_contiguous()
        found[f"{name}.shape"] = tuple(n if n < 2 else symbols.setdefault(n, f"s{len(symbols)}") for n in x.shape)
        found[f"{name} is"] = first.setdefault(key(x), name)
    for number, x in enumerate((each for each in args if not isinstance(each, Tensor)), len(tensors)):
        found[f"args[{number}]"] = type(x).__name__, repr(x)
    return found


# %% answer="compiler_guards" wrong="str in place of repr"
def guards(args):
    found, first, symbols = {"is_grad_enabled()": is_grad_enabled()}, {}, {}
    for number, x in enumerate(args):
        name = f"args[{number}]"
        if not isinstance(x, Tensor):
            found[name] = type(x).__name__, str(x)
            continue
        found |= {f"{name}.{each}": getattr(x, each) for each in ("dtype", "device", "requires_grad")}
        found[f"{name}.is_contiguous()"] = x.is_contiguous()
        found[f"{name}.shape"] = tuple(n if n < 2 else symbols.setdefault(n, f"s{len(symbols)}") for n in x.shape)
        found[f"{name} is"] = first.setdefault(key(x), name)
    return found


# %% answer="compiler_partition" right="forward steps found by a set, backward by recursion over a stack"
def partition(joint, again=()):
    inputs, arriving = joint.inputs[:-1], joint.inputs[-1]
    result, gradients = joint.output[0], list(joint.output[1:])
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    forward_set, stack, backward, saved = set(forward), list(steps_in(gradients)), set(), set()
    while stack:
        step = stack.pop()
        if step is arriving or step in backward or step in saved:
            continue
        if step.op is None or (step in forward_set and step.op.name not in again):
            saved.add(step)
        else:
            backward.add(step)
            stack.extend(steps_in(step.args))
    order = [*inputs, *joint.steps]
    saved = [step for step in order if step in saved]
    return (
        Graph(inputs, forward, (result, saved)),
        Graph([*saved, arriving], [step for step in order if step in backward], gradients),
    )


# %% answer="compiler_partition" right="the saved values in another order"
def partition(joint, again=()):
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    saved, backward, needed = [], [], set(steps_in(gradients))
    for step in reversed(joint.steps):
        if step in needed and step in forward and step.op.name not in again:
            saved.append(step)
        elif step in needed:
            backward.append(step)
            needed |= set(steps_in(step.args))
    saved += [each for each in inputs if each in needed]
    return Graph(inputs, forward, (result, saved)), Graph([*saved, arriving], backward[::-1], gradients)


# %% answer="compiler_partition" right="drop_unused twice, with saved steps as inputs"
def partition(joint, again=()):
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    kept = [step for step in forward if step.op.name not in again]
    others = [step for step in joint.steps if step not in kept]
    backward = drop_unused(Graph(joint.inputs, others, gradients)).steps
    read = steps_in([[step.args for step in backward], gradients])
    saved = [each for each in (*inputs, *kept) if each in read]
    return Graph(inputs, forward, (result, saved)), Graph([*saved, arriving], backward, gradients)


# %% answer="compiler_partition" wrong="saves a value once for each reader"
def partition(joint, again=()):
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    kept = [step for step in forward if step.op.name not in again]
    others = [step for step in joint.steps if step not in kept]
    backward = drop_unused(Graph(joint.inputs, others, gradients)).steps
    read = steps_in([[step.args for step in backward], gradients])
    saved = [each for each in read if each in inputs or each in kept]
    return Graph(inputs, forward, (result, saved)), Graph([*saved, arriving], backward, gradients)


# %% answer="compiler_partition" wrong="saves the result, whether it is needed or not"
def partition(joint, again=()):
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    kept = [step for step in forward if step.op.name not in again]
    others = [step for step in joint.steps if step not in kept]
    backward = drop_unused(Graph(joint.inputs, others, gradients)).steps
    read = [*steps_in([[step.args for step in backward], gradients]), result]
    saved = [each for each in (*inputs, *kept) if each in read]
    return Graph(inputs, forward, (result, saved)), Graph([*saved, arriving], backward, gradients)


# %% answer="compiler_partition" wrong="always saves all inputs"
def partition(joint, again=()):
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    kept = [step for step in forward if step.op.name not in again]
    others = [step for step in joint.steps if step not in kept]
    backward = drop_unused(Graph(joint.inputs, others, gradients)).steps
    read = steps_in([[step.args for step in backward], gradients])
    saved = [*inputs, *(each for each in kept if each in read)]
    return Graph(inputs, forward, (result, saved)), Graph([*saved, arriving], backward, gradients)


# %% answer="compiler_partition" wrong="leaves out gradients that are None"
def partition(joint, again=()):
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    gradients = [each for each in gradients if each is not None]
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    kept = [step for step in forward if step.op.name not in again]
    others = [step for step in joint.steps if step not in kept]
    backward = drop_unused(Graph(joint.inputs, others, gradients)).steps
    read = steps_in([[step.args for step in backward], gradients])
    saved = [each for each in (*inputs, *kept) if each in read]
    return Graph(inputs, forward, (result, saved)), Graph([*saved, arriving], backward, gradients)


# %% answer="compiler_partition" wrong="all other steps are in the backward graph"
def partition(joint, again=()):
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    kept = [step for step in forward if step.op.name not in again]
    backward = [step for step in joint.steps if step not in kept]
    read = steps_in([[step.args for step in backward], gradients])
    saved = [each for each in (*inputs, *kept) if each in read]
    return Graph(inputs, forward, (result, saved)), Graph([*saved, arriving], backward, gradients)


# %% answer="compiler_repair_replay" right="np.copyto and a class"
class replayed:
    def __init__(self, record, example):
        self.into, self.out = np.array(example), np.zeros(example.shape, example.dtype)
        self.run = record(self.into, self.out)

    def __call__(self, x):
        if (x.shape, x.dtype) != (self.into.shape, self.into.dtype):
            raise ValueError("the recording has another shape or dtype")
        np.copyto(self.into, x)
        self.run()
        return self.out * 1


# %% answer="compiler_repair_replay" right="flat copies"
def replayed(record, example):
    source, target = np.array(example, order="C"), np.empty(example.shape, example.dtype)
    recording = record(source, target)

    def call(x):
        if tuple(x.shape) != tuple(example.shape) or str(x.dtype) != str(example.dtype):
            raise ValueError(x.shape, x.dtype)
        source.reshape(-1)[:] = x.reshape(-1)
        recording()
        return np.array(target)

    return call


# %% answer="compiler_repair_replay" right="checks by an assertion turned into an error"
def replayed(record, example):
    source = example.copy()
    target = source.copy()
    replay = record(source, target)

    def call(x):
        same = x.ndim == source.ndim and all(a == b for a, b in zip(x.shape, source.shape)) and x.dtype is source.dtype
        if not same and not (x.shape == source.shape and x.dtype == source.dtype):
            raise ValueError
        source[:] = x
        replay()
        result = np.empty_like(target)
        result[:] = target
        return result

    return call


# %% answer="compiler_repair_replay" wrong="copies in, and leaves the rest"
def replayed(record, example):
    source, target = example, np.empty_like(example)
    recording = record(source, target)

    def call(x):
        source[...] = x
        recording()
        return target

    return call


# %% answer="compiler_repair_replay" wrong="returns a view of the buffer"
def replayed(record, example):
    source, target = example.copy(), np.empty_like(example)
    recording = record(source, target)

    def call(x):
        if x.shape != source.shape or x.dtype != source.dtype:
            raise ValueError("another shape or dtype")
        source[...] = x
        recording()
        return target[:]

    return call


# %% answer="compiler_repair_replay" wrong="nonlocal in place of a copy"
def replayed(record, example):
    source, target = example.copy(), np.empty_like(example)
    recording = record(source, target)

    def call(x):
        nonlocal source
        if x.shape != source.shape or x.dtype != source.dtype:
            raise ValueError("another shape or dtype")
        source = x.copy()
        recording()
        return target.copy()

    return call


# %% answer="compiler_repair_replay" wrong="raises a TypeError"
def replayed(record, example):
    source, target = example.copy(), np.empty_like(example)
    recording = record(source, target)

    def call(x):
        if x.shape != source.shape or x.dtype != source.dtype:
            raise TypeError("another shape or dtype")
        source[...] = x
        recording()
        return target.copy()

    return call


# %% answer="compiler_repair_replay" wrong="compares sizes in place of shapes"
def replayed(record, example):
    source, target = example.copy(), np.empty_like(example)
    recording = record(source, target)

    def call(x):
        if x.size != source.size or x.dtype != source.dtype:
            raise ValueError("another size or dtype")
        source[...] = x.reshape(source.shape)
        recording()
        return target.copy()

    return call


# %% answer="compiler_repair_replay" wrong="takes a dtype that can be cast safely"
def replayed(record, example):
    source, target = example.copy(), np.empty_like(example)
    recording = record(source, target)
    def call(x):
        if x.shape != source.shape or not np.can_cast(x.dtype, source.dtype):
            raise ValueError("the recording doesn't fit")
        source[...] = x
        recording()
        return target.copy()
    return call


# %% answer="compiler_predict_variants" wrong="only the numbers compile again"
prediction = [1, 1, 1, 2, 2, 2, 2]


# %% answer="compiler_measure_traffic" wrong="without what is saved"
bytes_per_element = [124, 20, 20, 20]


# %% answer="compiler_source" wrong="slots of float64, whatever the dtype"
def source(group, kept):
    place, outside = slots(group, kept), operands(group)
    names = {id(each): f"x{n}[b]" for n, each in enumerate(outside)}
    names |= {id(each): f"t{slot}[c]" for each, slot in place.items()}
    names |= {id(each): f"y{n}[b]" for n, each in enumerate(kept)}
    arguments = [f"y{n}" for n in range(len(kept))] + [f"x{n}" for n in range(len(outside))]
    lines = [f"def kernel({', '.join(arguments)}):"]
    lines += [f"    t{slot} = np.zeros({BLOCK})" for slot in sorted(set(place.values()))]
    lines += [f"    for start in range(0, y0.size, {BLOCK}):"]
    lines += [f"        b, c = slice(start, start + {BLOCK}), slice(0, y0.size - start)"]
    for step in group:
        read = ", ".join(names.get(id(each), repr(each)) for each in step.args)
        lines.append(f"        np.{UFUNCS[step.op.name]}({read}, out={names[id(step)]})")
    return "\n".join(lines)


# %% answer="compiler_source" right="the size and the dtype of the first operand"
def source(group, kept):
    place, outside = slots(group, kept), operands(group)
    names = {id(each): f"x{n}[b]" for n, each in enumerate(outside)}
    names |= {id(each): f"t{slot}[c]" for each, slot in place.items()}
    names |= {id(each): f"y{n}[b]" for n, each in enumerate(kept)}
    arguments = [f"y{n}" for n in range(len(kept))] + [f"x{n}" for n in range(len(outside))]
    lines = [f"def kernel({', '.join(arguments)}):"]
    lines += [f"    t{slot} = np.empty({BLOCK}, x0.dtype)" for slot in sorted(set(place.values()))]
    lines += [f"    for start in range(0, x0.size, {BLOCK}):"]
    lines += [f"        b, c = slice(start, start + {BLOCK}), slice(0, x0.size - start)"]
    for step in group:
        read = ", ".join(names.get(id(each), repr(each)) for each in step.args)
        lines.append(f"        np.{UFUNCS[step.op.name]}({read}, out={names[id(step)]})")
    return "\n".join(lines)


# %% answer="compiler_partition" wrong="the result is saved, because it's there already"
def partition(joint, again=()):
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    kept = [step for step in forward if step.op.name not in again or step is result]
    others = [step for step in joint.steps if step not in kept]
    backward = drop_unused(Graph(joint.inputs, others, gradients)).steps
    read = steps_in([[step.args for step in backward], gradients])
    saved = [each for each in (*inputs, *kept) if each in read]
    return Graph(inputs, forward, (result, saved)), Graph([*saved, arriving], backward, gradients)
