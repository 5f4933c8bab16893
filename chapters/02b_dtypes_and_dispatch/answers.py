# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 02b` grades them.


# %% answer="dtypes_predict_promotion" right="as first written, from the task alone"
first, second, third = "float64", "float16", "float16"


# %% answer="storage_promotion" wrong="compare only with the preceding group"
def promote_types(one, other):
    if category(one) != category(other):
        return max(one, other, key=category)
    names = {one.name, other.name}
    if names == {"uint8", "int8"}:
        return int16
    if names == {"float16", "bfloat16"}:
        return float32
    return max(one, other, key=lambda k: k.itemsize)


def result_type(*operands):
    groups = [[], [], []]
    for x in operands:
        if isinstance(x, Tensor):
            groups[0 if x.ndim else 1].append(x.dtype)
        else:
            groups[2].append(type_of_number(x))
    result, before = None, None
    for group in groups:
        if not group:
            continue
        common = group[0]
        for k in group[1:]:
            common = promote_types(common, k)
        if before is None or category(common) > category(before):
            result = common
        before = common
    return result


# %% answer="storage_promotion" wrong="0-dim group: max by category only"
def promote_types(one, other):
    if category(one) != category(other):
        return max(one, other, key=category)
    names = {one.name, other.name}
    if names == {"uint8", "int8"}:
        return int16
    if names == {"float16", "bfloat16"}:
        return float32
    return max(one, other, key=lambda k: k.itemsize)


def result_type(*operands):
    groups = [[], [], []]
    for x in operands:
        if isinstance(x, Tensor):
            groups[0 if x.ndim else 1].append(x.dtype)
        else:
            groups[2].append(type_of_number(x))
    result = None
    for group in groups:
        if not group:
            continue
        common = group[0]
        for k in group[1:]:
            common = promote_types(common, k)
        if group is groups[1]:
            common = max(group, key=category)
        if result is None or category(common) > category(result):
            result = common
    return result


# %% answer="dispatch_common_type" right="as first written, from the task alone"
def run_in_common_type(op, args):
    counts = [x for name, x in zip(op.parameters, args) if x is not None and name not in op.apart]
    common = result_type(*counts)
    if op.floating and not common.is_floating_point:
        common = settings.default_dtype
    if op.wide and common.is_floating_point and common.itemsize == 2:
        return from_array(op.kernel(*widened(args, common)).astype(common.numpy))
    return from_array(op.kernel(*(convert(x, common) for x in args)))


# %% answer="dispatch_common_type" right="None told apart"
def run_in_common_type(op, args):
    counts = [x for name, x in zip(op.parameters, args) if x is not None and name not in op.apart]
    common = result_type(*counts)
    if op.floating and not common.is_floating_point:
        common = settings.default_dtype
    if op.wide and common.is_floating_point and common.itemsize == 2:
        return from_array(op.kernel(*widened(args, common)).astype(common.numpy))
    return from_array(op.kernel(*(convert(x, common) if x is not None else None for x in args)))


# %% answer="dispatch_common_type" wrong="bool not made floating"
def run_in_common_type(op, args):
    counts = [x for name, x in zip(op.parameters, args) if x is not None and name not in op.apart]
    common = result_type(*counts)
    if op.floating and common.name.startswith(('int', 'uint')):
        common = settings.default_dtype
    if op.wide and common.is_floating_point and common.itemsize == 2:
        return from_array(op.kernel(*widened(args, common)).astype(common.numpy))
    return from_array(op.kernel(*(convert(x, common) for x in args)))


# %% answer="dispatch_common_type" wrong="wide for float16 only"
def run_in_common_type(op, args):
    counts = [x for name, x in zip(op.parameters, args) if x is not None and name not in op.apart]
    common = result_type(*counts)
    if op.floating and not common.is_floating_point:
        common = settings.default_dtype
    if op.wide and common.name == 'float16':
        return from_array(op.kernel(*widened(args, common)).astype(common.numpy))
    return from_array(op.kernel(*(convert(x, common) for x in args)))


# %% answer="dispatch_common_type" wrong="default type float32 by heart"
def run_in_common_type(op, args):
    counts = [x for name, x in zip(op.parameters, args) if x is not None and name not in op.apart]
    common = result_type(*counts)
    if op.floating and not common.is_floating_point:
        from mytorch.settings import float32
        common = float32
    if op.wide and common.is_floating_point and common.itemsize == 2:
        return from_array(op.kernel(*widened(args, common)).astype(common.numpy))
    return from_array(op.kernel(*(convert(x, common) for x in args)))


# %% answer="storage_mean_var" right="as first written, from the task alone"
def mean(x, dim=None, keepdim=False):
    check_floating(x, "mean")
    wide = x.float() if x.dtype.itemsize == 2 else x
    return _to_copy(wide.sum(dim, keepdim) / elements_along(x, dim), x.dtype)


def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    wide = x.float() if x.dtype.itemsize == 2 else x
    d = wide - mean(wide, dim, True)
    return _to_copy((d * d).sum(dim, keepdim) / max(elements_along(x, dim) - correction, 0), x.dtype)


# %% answer="storage_mean_var" wrong="divides, then sums, so that the mean of no elements is 0" spoils="mean"
def mean(x, dim=None, keepdim=False):
    check_floating(x, "mean")
    wide = x.float() if x.dtype.itemsize == 2 else x
    return _to_copy((wide / elements_along(x, dim)).sum(dim, keepdim), x.dtype)


def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    wide = x.float() if x.dtype.itemsize == 2 else x
    d = wide - mean(wide, dim, True)
    return _to_copy((d * d).sum(dim, keepdim) / max(elements_along(x, dim) - correction, 0), x.dtype)


# %% answer="storage_mean_var" wrong="float64 by way of float32"
def mean(x, dim=None, keepdim=False):
    check_floating(x, "mean")
    wide = x.float()
    return _to_copy(wide.sum(dim, keepdim) / elements_along(x, dim), x.dtype)


def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    wide = x.float() if x.dtype.itemsize == 2 else x
    d = wide - wide.sum(dim, True) / elements_along(x, dim)
    return _to_copy((d * d).sum(dim, keepdim) / max(elements_along(x, dim) - correction, 0), x.dtype)


# %% answer="storage_mean_var" wrong="keepdim ignored without dim"
def mean(x, dim=None, keepdim=False):
    check_floating(x, "mean")
    wide = x.float() if x.dtype.itemsize == 2 else x
    return _to_copy(wide.sum(dim, keepdim and dim is not None) / elements_along(x, dim), x.dtype)


def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    wide = x.float() if x.dtype.itemsize == 2 else x
    d = wide - mean(wide, dim, True)
    return _to_copy((d * d).sum(dim, keepdim and dim is not None) / max(elements_along(x, dim) - correction, 0), x.dtype)


# %% answer="storage_mean_var" wrong="divisor at least 1"
def mean(x, dim=None, keepdim=False):
    check_floating(x, "mean")
    wide = x.float() if x.dtype.itemsize == 2 else x
    return _to_copy(wide.sum(dim, keepdim) / elements_along(x, dim), x.dtype)


def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    wide = x.float() if x.dtype.itemsize == 2 else x
    d = wide - mean(wide, dim, True)
    return _to_copy((d * d).sum(dim, keepdim) / max(elements_along(x, dim) - correction, 1), x.dtype)


# %% answer="storage_mean_var" wrong="n of a dimension as len(x)" spoils="mean"
def mean(x, dim=None, keepdim=False):
    check_floating(x, "mean")
    n = x.numel() if dim is None else x.shape[dim] if isinstance(dim, int) else elements_along(x, dim)
    y = x.float() if x.dtype.itemsize == 2 else x
    out = y.sum(dim, keepdim) / n
    return _to_copy(out, x.dtype) if out.dtype != x.dtype else out


# %% answer="storage_round_bits" right="as first written, from the task alone"
def round_bits(bits, dropped):
    bits = bits.astype(np.uint64)
    half = np.uint64(1 << (dropped - 1))
    lsb = (bits >> np.uint64(dropped)) & np.uint64(1)
    out = (bits + half - np.uint64(1) + lsb) >> np.uint64(dropped) << np.uint64(dropped)
    return out.astype(np.uint32)


# %% answer="storage_round_bits" right="float64 holds the quotient exactly, and rint rounds halves to even"
def round_bits(bits, dropped):
    return (np.rint(bits / 2.0**dropped) * 2.0**dropped).astype(np.uint32)


# %% answer="storage_round_bits" wrong="writes into the array"
def round_bits(bits, dropped):
    half = np.uint32(1 << dropped - 1)
    odd = (bits >> np.uint32(dropped)) & np.uint32(1)
    bits += half - np.uint32(1) + odd
    bits &= np.uint32(2**32 - (1 << dropped))
    return bits


# %% answer="storage_round_bits" wrong="one dimension only"
def round_bits(bits, dropped):
    out = []
    for b in bits.tolist():
        out.append(((b + (1 << dropped - 1) - 1 + (b >> dropped & 1)) >> dropped) << dropped)
    return np.array(out, np.uint32)


# %% answer="storage_round_bits" wrong="does not carry into the exponent"
def round_bits(bits, dropped):
    b = bits.astype(np.int64)
    m = b & 0x7FFFFF
    r = (m + (1 << dropped - 1) - 1 + (m >> dropped & 1)) >> dropped << dropped
    return ((b & ~0x7FFFFF) | np.minimum(r, 0x7FFFFF >> dropped << dropped)).astype(np.uint32)


# %% answer="dtypes_repair_motion" right="as first written, from the task alone"
def moved(before, after, limit):
    difference = (after.int() - before.int()).abs()
    return (difference > limit).sum().item() / difference.numel()


# %% answer="dtypes_repair_motion" right="difference in floats"
def moved(before, after, limit):
    return (((after.float() - before.float()).abs()) > limit).float().mean().item()


# %% answer="dtypes_repair_motion" wrong="halved, as int8"
def moved(before, after, limit):
    d = (after // 2).to(torch.int8) - (before // 2).to(torch.int8)
    return (d.to(torch.int32).abs() * 2 > limit).sum().item() / d.numel()


# %% answer="dtypes_repair_motion" wrong="difference in int8"
def moved(before, after, limit):
    difference = (after.to(torch.int8) - before.to(torch.int8)).abs()
    return (difference > limit).sum().item() / difference.numel()


# %% answer="storage_measure_stuck" right="difference is 0"
def stuck_at(dtype):
    n = 1
    while True:
        c = torch.tensor(n, dtype=dtype)
        if (c + 1 - c).item() == 0:
            return n
        n *= 2


# %% answer="storage_measure_stuck" right="a formula, which comes to what an experiment finds"
def stuck_at(dtype):
    return int(2 / torch.finfo(dtype).eps)


# %% answer="storage_mean_var" wrong="the mean of no elements is 0 instead of nan" spoils="mean"
def mean(x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    check_floating(x, "mean")
    wide = x.float() if x.dtype.itemsize == 2 else x
    result = wide.sum(dim, keepdim) / max(elements_along(x, dim), 1)
    return result if wide is x else _to_copy(result, x.dtype)


# %% answer="storage_mean_var" right="each function calls itself with float32 for 16-bit types"
def mean(x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    check_floating(x, "mean")
    if x.dtype.itemsize == 2:
        return _to_copy(mean(x.float(), dim, keepdim), x.dtype)
    return x.sum(dim, keepdim) / elements_along(x, dim)


def var(x: Tensor, dim: Dims = None, correction: int = 1, keepdim: bool = False) -> Tensor:
    check_floating(x, "var")
    if x.dtype.itemsize == 2:
        return _to_copy(var(x.float(), dim, correction, keepdim), x.dtype)
    distance = x - mean(x, dim, keepdim=True)
    divisor = elements_along(x, dim) - correction
    if divisor < 0:
        divisor = 0
    return (distance * distance).sum(dim, keepdim) / divisor


# %% answer="storage_promotion" wrong="a Python float is float32, whatever the default is"
def result_type(*operands):
    groups = [[], [], []]
    for each in operands:
        if isinstance(each, Tensor):
            groups[0 if each.ndim else 1].append(each.dtype)
        else:
            groups[2].append(float32 if isinstance(each, float) else type_of_number(each))
    result = None
    for group in groups:
        if not group:
            continue
        common = group[0]
        for each in group[1:]:
            common = promote_types(common, each)
        if result is None or category(common) > category(result):
            result = common
    return result
