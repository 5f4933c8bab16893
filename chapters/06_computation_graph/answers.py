# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 06` grades them.


# %% answer="graph_predict_gradient" right="as first written, from the task alone"
prediction = "d"


# %% answer="graph_run_backward" right="buffers kept"
def count_arrivals(roots):
    counts, todo = {}, []
    for node in roots:
        if node not in counts:
            counts[node] = 0
            todo.append(node)
    while todo:
        for edge in todo.pop().edges:
            if edge is None:
                continue
            if edge[0] not in counts:
                counts[edge[0]] = 0
                todo.append(edge[0])
            counts[edge[0]] += 1
    return counts


def run_backward(roots, grads, visit):
    waits = count_arrivals([node for node, _ in roots])
    buffers = {}
    for edge, g in zip(roots, grads):
        arrive(buffers, edge, g)
    ready = [node for node, c in waits.items() if c == 0]
    heapq.heapify(ready)
    while ready:
        node = heapq.heappop(ready)
        arrived = buffers.get(node)
        if arrived is None:
            arrived = [None] * len(node.outputs)
        for edge, g in zip(node.edges, visit(node, arrived)):
            if edge is None:
                continue
            if g is not None:
                arrive(buffers, edge, g)
            waits[edge[0]] -= 1
            if waits[edge[0]] == 0:
                heapq.heappush(ready, edge[0])


# %% answer="graph_run_backward" right="ready from the roots"
def count_arrivals(roots):
    counts, todo = {}, []
    for node in roots:
        if node not in counts:
            counts[node] = 0
            todo.append(node)
    while todo:
        for edge in todo.pop().edges:
            if edge is None:
                continue
            if edge[0] not in counts:
                counts[edge[0]] = 0
                todo.append(edge[0])
            counts[edge[0]] += 1
    return counts


def run_backward(roots, grads, visit):
    waits = count_arrivals([node for node, _ in roots])
    buffers = {}
    for edge, g in zip(roots, grads):
        arrive(buffers, edge, g)
    ready = list({node for node, _ in roots if waits[node] == 0})
    heapq.heapify(ready)
    while ready:
        node = heapq.heappop(ready)
        arrived = buffers.pop(node, None)
        if arrived is None:
            arrived = [None] * len(node.outputs)
        for edge, g in zip(node.edges, visit(node, arrived)):
            if edge is None:
                continue
            if g is not None:
                arrive(buffers, edge, g)
            waits[edge[0]] -= 1
            if waits[edge[0]] == 0:
                heapq.heappush(ready, edge[0])


# %% answer="graph_run_backward" wrong="a root that is there twice counts twice"
def count_arrivals(roots):
    counts, todo = {}, []
    for node in roots:
        counts[node] = 0
        todo.append(node)
    while todo:
        for edge in todo.pop().edges:
            if edge is None:
                continue
            if edge[0] not in counts:
                counts[edge[0]] = 0
                todo.append(edge[0])
            counts[edge[0]] += 1
    return counts


def run_backward(roots, grads, visit):
    waits = count_arrivals([node for node, _ in roots])
    buffers = {}
    for edge, g in zip(roots, grads):
        arrive(buffers, edge, g)
    ready = [node for node, c in waits.items() if c == 0]
    heapq.heapify(ready)
    while ready:
        node = heapq.heappop(ready)
        arrived = buffers.pop(node, None)
        if arrived is None:
            arrived = [None] * len(node.outputs)
        for edge, g in zip(node.edges, visit(node, arrived)):
            if edge is None:
                continue
            if g is not None:
                arrive(buffers, edge, g)
            waits[edge[0]] -= 1
            if waits[edge[0]] == 0:
                heapq.heappush(ready, edge[0])


# %% answer="graph_run_backward" wrong="one None for all outputs"
def count_arrivals(roots):
    counts, todo = {}, []
    for node in roots:
        if node not in counts:
            counts[node] = 0
            todo.append(node)
    while todo:
        for edge in todo.pop().edges:
            if edge is None:
                continue
            if edge[0] not in counts:
                counts[edge[0]] = 0
                todo.append(edge[0])
            counts[edge[0]] += 1
    return counts


def run_backward(roots, grads, visit):
    waits = count_arrivals([node for node, _ in roots])
    buffers = {}
    for edge, g in zip(roots, grads):
        arrive(buffers, edge, g)
    ready = [node for node, c in waits.items() if c == 0]
    heapq.heapify(ready)
    while ready:
        node = heapq.heappop(ready)
        arrived = buffers.pop(node, None)
        if arrived is None:
            arrived = [None]
        for edge, g in zip(node.edges, visit(node, arrived)):
            if edge is None:
                continue
            if g is not None:
                arrive(buffers, edge, g)
            waits[edge[0]] -= 1
            if waits[edge[0]] == 0:
                heapq.heappush(ready, edge[0])


# %% answer="graph_fit" right="as first written, from the task alone"
def fit(grad, shape, dtype):
    shape = tuple(shape)
    extra = grad.ndim - len(shape)
    if extra:
        grad = grad.sum(tuple(range(extra)))
    dims = tuple(i for i, (g, s) in enumerate(zip(grad.shape, shape)) if s == 1 and g != 1)
    if dims:
        grad = grad.sum(dims, keepdim=True)
    return grad if grad.dtype == dtype else grad.to(dtype)


# %% answer="graph_fit" right="loop over dimensions"
def fit(grad, shape, dtype):
    while grad.ndim > len(shape):
        grad = grad.sum(0)
    for dim, length in enumerate(shape):
        if grad.shape[dim] != length:
            grad = grad.sum(dim, keepdim=True)
    return grad if grad.dtype is dtype else grad.to(dtype)


# %% answer="graph_fit" wrong="type converted only where the shape differs"
def fit(grad, shape, dtype):
    shape = tuple(shape)
    if tuple(grad.shape) == shape:
        return grad
    extra = grad.ndim - len(shape)
    if extra:
        grad = grad.sum(tuple(range(extra)))
    dims = tuple(i for i, (g, s) in enumerate(zip(grad.shape, shape)) if s == 1 and g != 1)
    if dims:
        grad = grad.sum(dims, keepdim=True)
    return grad if grad.dtype == dtype else grad.to(dtype)


# %% answer="graph_fit" wrong="float() or double()"
def fit(grad, shape, dtype):
    shape = tuple(shape)
    extra = grad.ndim - len(shape)
    if extra:
        grad = grad.sum(tuple(range(extra)))
    dims = tuple(i for i, (g, s) in enumerate(zip(grad.shape, shape)) if s == 1 and g != 1)
    if dims:
        grad = grad.sum(dims, keepdim=True)
    return grad if grad.dtype == dtype else (grad.float() if grad.dtype.itemsize == 8 else grad.double())


# %% answer="graph_fit" wrong="sums only over lengths above 1"
def fit(grad, shape, dtype):
    extra = grad.ndim - len(shape)
    if extra:
        grad = grad.sum(tuple(range(extra)))
    dims = tuple(d for d, n in enumerate(shape) if n == 1 and grad.shape[d] > 1)
    if dims:
        grad = grad.sum(dims, keepdim=True)
    return grad.to(dtype)


# %% answer="graph_fit" wrong="copies a gradient that fits, if it has a length of 1"
def fit(grad, shape, dtype):
    extra = grad.ndim - len(shape)
    for _ in range(extra):
        grad = grad.sum(0)
    for d, n in enumerate(shape):
        if n == 1:
            grad = grad.sum(d, keepdim=True)
    return grad if grad.dtype == dtype else grad.to(dtype)


# %% answer="graph_matmul" right="sums batches itself"
def matmul_grad_x(g, x, y):
    if y.ndim == 1:
        g, y = g.unsqueeze(-1), y.unsqueeze(-1)
    if x.ndim == 1:
        return (g.unsqueeze(-2) @ y.mT).squeeze(-2)
    r = g @ y.mT
    while r.ndim > x.ndim:
        r = r.sum(0)
    return r


def matmul_grad_y(g, x, y):
    if y.ndim == 1:
        g = g.unsqueeze(-1)
    if x.ndim == 1:
        g, x = g.unsqueeze(-2), x.unsqueeze(-2)
    result = x.mT @ g
    return result.squeeze(-1) if y.ndim == 1 else result


# %% answer="graph_matmul" right="sum for squeeze"
def matmul_grad_x(g, x, y):
    if y.ndim == 1:
        g, y = g.unsqueeze(-1), y.unsqueeze(-1)
    if x.ndim == 1:
        return (g.unsqueeze(-2) @ y.mT).sum(-2)
    return g @ y.mT


def matmul_grad_y(g, x, y):
    if y.ndim == 1:
        g = g.unsqueeze(-1)
    if x.ndim == 1:
        g, x = g.unsqueeze(-2), x.unsqueeze(-2)
    result = x.mT @ g
    return result.squeeze(-1) if y.ndim == 1 else result


# %% answer="graph_matmul" right="y.T for matrices"
def matmul_grad_x(g, x, y):
    if y.ndim == 1:
        g, y = g.unsqueeze(-1), y.unsqueeze(-1)
    if x.ndim == 1:
        return (g.unsqueeze(-2) @ y.mT).squeeze(-2)
    return g @ (y.T if y.ndim == 2 else y.mT)


def matmul_grad_y(g, x, y):
    if y.ndim == 1:
        g = g.unsqueeze(-1)
    if x.ndim == 1:
        g, x = g.unsqueeze(-2), x.unsqueeze(-2)
    result = x.mT @ g
    return result.squeeze(-1) if y.ndim == 1 else result


# %% answer="graph_forward_mode" right="as first written, from the task alone"
class Dual:
    def __init__(self, value, derivative=0.0):
        self.value, self.derivative = value, derivative

    def __add__(self, other):
        return Dual(self.value + other.value, self.derivative + other.derivative)

    def __mul__(self, other):
        return Dual(self.value * other.value, self.derivative * other.value + self.value * other.derivative)

    def sin(self):
        return Dual(math.sin(self.value), math.cos(self.value) * self.derivative)


def gradient(f, point):
    return [f(*(Dual(x, float(i == j)) for j, x in enumerate(point))).derivative for i in range(len(point))]


# %% answer="graph_forward_mode" wrong="finds the variable by its value"
class Dual:
    def __init__(self, value, derivative=0.0):
        self.value, self.derivative = value, derivative
    def __add__(self, other):
        return Dual(self.value + other.value, self.derivative + other.derivative)
    def __mul__(self, other):
        return Dual(self.value * other.value, self.derivative * other.value + self.value * other.derivative)
    def sin(self):
        return Dual(math.sin(self.value), math.cos(self.value) * self.derivative)

def gradient(f, point):
    return [f(*[Dual(x, 1.0 if x == point[k] else 0.0) for x in point]).derivative for k in range(len(point))]


# %% answer="graph_repair_accumulation" right="as first written, from the task alone"
def accumulate_grad(variable, grad, may_keep):
    if variable.grad is None:
        variable.grad = grad.clone()
    else:
        variable.grad.add_(grad)


# %% answer="graph_repair_accumulation" wrong="copy by way of NumPy"
def accumulate_grad(variable, grad, may_keep):
    if variable.grad is None:
        variable.grad = torch.tensor(grad.detach().numpy())
    else:
        variable.grad.add_(grad)


# %% answer="graph_repair_accumulation" wrong="a gradient of the default dtype"
def accumulate_grad(variable, grad, may_keep):
    if variable.grad is None:
        variable.grad = torch.zeros(variable.shape)
    variable.grad.add_(grad)


# %% answer="graph_measure_saved" right="as first written, from the task alone"
def kept_by_a_layer(activation, batch, width):
    def held(depth):
        seen, alive = {}, []

        def pack(t):
            alive.append(t)
            seen[t.data_ptr()] = t.numel()
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            h, weights = network(activation, depth, batch, width)
        for w in weights:
            seen.pop(w.data_ptr(), None)
        return sum(seen.values())

    return held(4) - held(3)


# %% answer="graph_measure_saved" right="depth 2 minus depth 1"
def kept_by_a_layer(activation, batch, width):
    def held(depth):
        seen, alive = {}, []

        def pack(t):
            alive.append(t)
            seen[t.data_ptr()] = t.numel()
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            h, weights = network(activation, depth, batch, width)
        for w in weights:
            seen.pop(w.data_ptr(), None)
        return sum(seen.values())

    return held(2) - held(1)


# %% answer="graph_measure_saved" wrong="formula from one call"
def kept_by_a_layer(activation, batch, width):
    kept = []
    h = torch.randn(batch, width, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        activation(h * 1)
    return batch * width * max(1, len(kept) + (not any(t.data_ptr() == h.data_ptr() for t in kept) and 0))


# %% answer="graph_measure_saved" wrong="tells the weights by their shape"
def kept_by_a_layer(activation, batch, width):
    def kept(depth):
        sizes = {}
        alive = []
        def pack(tensor):
            alive.append(tensor)
            if tensor.shape[0] != width:
                sizes[tensor.data_ptr()] = tensor.numel()
            return tensor.detach()
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            network(activation, depth, batch, width)
        return sum(sizes.values())
    return kept(4) - kept(3)


# %% answer="graph_node" right="None where the edge is None"
def attribute_named(name, arguments):
    whole, _, attribute = name.rpartition("_")
    value = arguments[whole]

    def of(v):
        if isinstance(v, Tensor):
            return getattr(v, attribute)
        return () if attribute == "shape" else None

    return [of(v) for v in value] if isinstance(value, (list, tuple)) else of(value)


def keep(self, parameter, known):
    if parameter not in self.formulas:
        raise NotImplementedError(f"the derivative for '{self._name}' is not implemented")
    _, names = self.formulas[parameter]
    for name in names:
        value = known[name] if name in known else attribute_named(name, known)
        self.values[name] = Rules.kept(value, name == "result") if isinstance(value, Tensor) else value


def __init__(self, op, args, result):
    edges, self.inputs, self.values = [], [], {}
    self.formulas = DERIVATIVES.get(op.name, {})
    known = dict(zip(op.parameters, args)) | {"result": result}
    for name, arg in zip(op.parameters, args):
        found = [edge_of(t) for t in tensors_in([arg])]
        if found:
            edges += found
            self.inputs.append((name, len(found), any(e is not None for e in found)))
    super().__init__(op.name, edges)
    for name, _, needed in self.inputs:
        if needed:
            self.keep(name, known)


def apply(self, *grads):
    (g,) = grads
    out = []
    for name, count, needed in self.inputs:
        if g is None or not needed:
            out += [None] * count
            continue
        formula, names = self.formulas[name]
        made = formula(g, *(self.value(n) for n in names))
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        start = len(out)
        out += [m if self.edges[start + i] is not None else None for i, m in enumerate(made)]
    return out


# %% answer="graph_node" right="getattr with a default"
def attribute_named(name, arguments):
    whole, _, attribute = name.rpartition("_")
    value = arguments[whole]

    def of(v):
        if isinstance(v, Tensor):
            return getattr(v, attribute)
        return getattr(v, attribute, () if attribute == 'shape' else None)

    return [of(v) for v in value] if isinstance(value, (list, tuple)) else of(value)


def keep(self, parameter, known):
    if parameter not in self.formulas:
        raise NotImplementedError(f"the derivative for '{self._name}' is not implemented")
    _, names = self.formulas[parameter]
    for name in names:
        value = known[name] if name in known else attribute_named(name, known)
        self.values[name] = Rules.kept(value, name == "result") if isinstance(value, Tensor) else value


def __init__(self, op, args, result):
    edges, self.inputs, self.values = [], [], {}
    self.formulas = DERIVATIVES.get(op.name, {})
    known = dict(zip(op.parameters, args)) | {"result": result}
    for name, arg in zip(op.parameters, args):
        found = [edge_of(t) for t in tensors_in([arg])]
        if found:
            edges += found
            self.inputs.append((name, len(found), any(e is not None for e in found)))
    super().__init__(op.name, edges)
    for name, _, needed in self.inputs:
        if needed:
            self.keep(name, known)


def apply(self, *grads):
    (g,) = grads
    out = []
    for name, count, needed in self.inputs:
        if g is None or not needed:
            out += [None] * count
            continue
        formula, names = self.formulas[name]
        made = formula(g, *(self.value(n) for n in names))
        out += made if isinstance(made, (list, tuple)) else [made]
    return out


# %% answer="graph_node" wrong="every kept tensor is the result"
def attribute_named(name, arguments):
    whole, _, attribute = name.rpartition("_")
    value = arguments[whole]

    def of(v):
        if isinstance(v, Tensor):
            return getattr(v, attribute)
        return () if attribute == "shape" else None

    return [of(v) for v in value] if isinstance(value, (list, tuple)) else of(value)


def keep(self, parameter, known):
    if parameter not in self.formulas:
        raise NotImplementedError(f"the derivative for '{self._name}' is not implemented")
    _, names = self.formulas[parameter]
    for name in names:
        value = known[name] if name in known else attribute_named(name, known)
        self.values[name] = Rules.kept(value, True) if isinstance(value, Tensor) else value


def __init__(self, op, args, result):
    edges, self.inputs, self.values = [], [], {}
    self.formulas = DERIVATIVES.get(op.name, {})
    known = dict(zip(op.parameters, args)) | {"result": result}
    for name, arg in zip(op.parameters, args):
        found = [edge_of(t) for t in tensors_in([arg])]
        if found:
            edges += found
            self.inputs.append((name, len(found), any(e is not None for e in found)))
    super().__init__(op.name, edges)
    for name, _, needed in self.inputs:
        if needed:
            self.keep(name, known)


def apply(self, *grads):
    (g,) = grads
    out = []
    for name, count, needed in self.inputs:
        if g is None or not needed:
            out += [None] * count
            continue
        formula, names = self.formulas[name]
        made = formula(g, *(self.value(n) for n in names))
        out += made if isinstance(made, (list, tuple)) else [made]
    return out


# %% answer="graph_node" wrong="needed if the first tensor is"
def attribute_named(name, arguments):
    whole, _, attribute = name.rpartition("_")
    value = arguments[whole]

    def of(v):
        if isinstance(v, Tensor):
            return getattr(v, attribute)
        return () if attribute == "shape" else None

    return [of(v) for v in value] if isinstance(value, (list, tuple)) else of(value)


def keep(self, parameter, known):
    if parameter not in self.formulas:
        raise NotImplementedError(f"the derivative for '{self._name}' is not implemented")
    _, names = self.formulas[parameter]
    for name in names:
        value = known[name] if name in known else attribute_named(name, known)
        self.values[name] = Rules.kept(value, name == "result") if isinstance(value, Tensor) else value


def __init__(self, op, args, result):
    edges, self.inputs, self.values = [], [], {}
    self.formulas = DERIVATIVES.get(op.name, {})
    known = dict(zip(op.parameters, args)) | {"result": result}
    for name, arg in zip(op.parameters, args):
        found = [edge_of(t) for t in tensors_in([arg])]
        if found:
            edges += found
            self.inputs.append((name, len(found), found[0] is not None))
    super().__init__(op.name, edges)
    for name, _, needed in self.inputs:
        if needed:
            self.keep(name, known)


def apply(self, *grads):
    (g,) = grads
    out = []
    for name, count, needed in self.inputs:
        if g is None or not needed:
            out += [None] * count
            continue
        formula, names = self.formulas[name]
        made = formula(g, *(self.value(n) for n in names))
        out += made if isinstance(made, (list, tuple)) else [made]
    return out


# %% answer="graph_node" wrong="inputs kept without their version"
def attribute_named(name, arguments):
    whole, _, attribute = name.rpartition("_")
    value = arguments[whole]

    def of(v):
        if isinstance(v, Tensor):
            return getattr(v, attribute)
        return () if attribute == "shape" else None

    return [of(v) for v in value] if isinstance(value, (list, tuple)) else of(value)


def keep(self, parameter, known):
    if parameter not in self.formulas:
        raise NotImplementedError(f"the derivative for '{self._name}' is not implemented")
    _, names = self.formulas[parameter]
    for name in names:
        value = known[name] if name in known else attribute_named(name, known)
        self.values[name] = Rules.kept(value, True) if name == 'result' else value


def __init__(self, op, args, result):
    edges, self.inputs, self.values = [], [], {}
    self.formulas = DERIVATIVES.get(op.name, {})
    known = dict(zip(op.parameters, args)) | {"result": result}
    for name, arg in zip(op.parameters, args):
        found = [edge_of(t) for t in tensors_in([arg])]
        if found:
            edges += found
            self.inputs.append((name, len(found), any(e is not None for e in found)))
    super().__init__(op.name, edges)
    for name, _, needed in self.inputs:
        if needed:
            self.keep(name, known)


def apply(self, *grads):
    (g,) = grads
    out = []
    for name, count, needed in self.inputs:
        if g is None or not needed:
            out += [None] * count
            continue
        formula, names = self.formulas[name]
        made = formula(g, *(self.value(n) for n in names))
        out += made if isinstance(made, (list, tuple)) else [made]
    return out


# %% answer="graph_node" wrong="a tuple gives a tuple"
def attribute_named(name, arguments):
    parameter, _, attribute = name.rpartition("_")
    value = arguments[parameter]
    def of(x):
        if isinstance(x, Tensor):
            return getattr(x, attribute)
        return () if attribute == "shape" else None
    return type(value)(of(x) for x in value) if isinstance(value, (list, tuple)) else of(value)


# %% answer="graph_node" wrong="a number is on the CPU"
def attribute_named(name, arguments):
    from ..arrays import CPU
    parameter, _, attribute = name.rpartition("_")
    value = arguments[parameter]
    def of(x):
        if isinstance(x, Tensor):
            return getattr(x, attribute)
        return {"shape": (), "device": CPU}.get(attribute)
    return [of(x) for x in value] if isinstance(value, (list, tuple)) else of(value)


# %% answer="graph_node" wrong="a tuple has no shapes"
def attribute_named(name, arguments):
    parameter, _, attribute = name.rpartition("_")
    value = arguments[parameter]
    if isinstance(value, list):
        return [getattr(x, attribute) for x in value]
    return getattr(value, attribute, () if attribute == "shape" else None)


# %% answer="graph_node" wrong="takes a name with an underscore for an attribute"
def keep(self, parameter, known):
    if parameter not in self.formulas:
        raise NotImplementedError(f"the derivative for '{self._name}' is not implemented")
    for name in self.formulas[parameter][1]:
        value = attribute_named(name, known) if "_" in name else known[name]
        self.values[name] = Rules.kept(value, name == "result") if isinstance(value, Tensor) else value
