# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 09` grades them.


# %% answer="modules_predict_registered" right="as first written, from the task alone"
prediction = "e"


# %% answer="modules_setattr" wrong="only what is not None counts"
def __setattr__(self, name, value):
    d = self.__dict__
    kinds = {"_parameters": Parameter, "_modules": Module, "_buffers": Tensor}
    for table, kind in (("_parameters", Parameter), ("_modules", Module)):
        if isinstance(value, kind):
            if table not in d:
                word = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {word} before Module.__init__() call")
            if table == "_modules" and d["_parameters"].get(name) is not None:
                raise TypeError(refused(name, value, "_parameters"))
            for other in ("_parameters", "_modules", "_buffers"):
                if other != table:
                    d[other].pop(name, None)
            d.pop(name, None)
            d[table][name] = value
            return
    for table in kinds:
        if name in d.get(table, ()):
            if value is None or table == "_buffers" and isinstance(value, Tensor):
                d[table][name] = value
                return
            raise TypeError(refused(name, value, table))
    object.__setattr__(self, name, value)


# %% answer="modules_setattr" wrong="name left in __dict__"
def __setattr__(self, name, value):
    d = self.__dict__
    kinds = {"_parameters": Parameter, "_modules": Module, "_buffers": Tensor}
    for table, kind in (("_parameters", Parameter), ("_modules", Module)):
        if isinstance(value, kind):
            if table not in d:
                word = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {word} before Module.__init__() call")
            if table == "_modules" and name in d["_parameters"]:
                raise TypeError(refused(name, value, "_parameters"))
            for other in ("_parameters", "_modules", "_buffers"):
                if other != table:
                    d[other].pop(name, None)
            d[table][name] = value
            return
    for table in kinds:
        if name in d.get(table, ()):
            if value is None or table == "_buffers" and isinstance(value, Tensor):
                d[table][name] = value
                return
            raise TypeError(refused(name, value, table))
    object.__setattr__(self, name, value)


# %% answer="modules_setattr" wrong="writes to __dict__"
def __setattr__(self, name, value):
    d = self.__dict__
    kinds = {"_parameters": Parameter, "_modules": Module, "_buffers": Tensor}
    for table, kind in (("_parameters", Parameter), ("_modules", Module)):
        if isinstance(value, kind):
            if table not in d:
                word = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {word} before Module.__init__() call")
            if table == "_modules" and name in d["_parameters"]:
                raise TypeError(refused(name, value, "_parameters"))
            for other in ("_parameters", "_modules", "_buffers"):
                if other != table:
                    d[other].pop(name, None)
            d.pop(name, None)
            d[table][name] = value
            return
    for table in kinds:
        if name in d.get(table, ()):
            if value is None or table == "_buffers" and isinstance(value, Tensor):
                d[table][name] = value
                return
            raise TypeError(refused(name, value, table))
    d[name] = value


# %% answer="modules_names" right="as first written, from the task alone"
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    if memo is None:
        memo = set()
    if self in memo:
        return
    if remove_duplicate:
        memo.add(self)
    yield prefix, self
    for name, child in self._modules.items():
        if child is not None:
            yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


def named_members(self, members, prefix, recurse, remove_duplicate):
    seen = set()
    walk = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
    for path, module in walk:
        for name, each in members(module).items():
            if each is None or id(each) in seen:
                continue
            if remove_duplicate:
                seen.add(id(each))
            yield (f"{path}.{name}" if path else name), each


# %% answer="modules_names" wrong="lists for generators"
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = set() if memo is None else memo
    if self in memo:
        return []
    if remove_duplicate:
        memo.add(self)
    found = [(prefix, self)]
    for name, child in self._modules.items():
        if child is not None:
            found += child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)
    return found


def named_members(self, members, prefix, recurse, remove_duplicate):
    seen, found = set(), []
    walk = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
    for path, module in walk:
        for name, each in members(module).items():
            if each is None or each in seen:
                continue
            if remove_duplicate:
                seen.add(each)
            found.append((f"{path}.{name}" if path else name, each))
    return found


# %% answer="modules_names" wrong="remove_duplicate not passed on"
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    if memo is None:
        memo = set()
    if self in memo:
        return
    if remove_duplicate:
        memo.add(self)
    yield prefix, self
    for name, child in self._modules.items():
        if child is not None:
            yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


def named_members(self, members, prefix, recurse, remove_duplicate):
    seen = set()
    walk = self.named_modules(prefix=prefix) if recurse else [(prefix, self)]
    for path, module in walk:
        for name, each in members(module).items():
            if each is None or id(each) in seen:
                continue
            if remove_duplicate:
                seen.add(id(each))
            yield (f"{path}.{name}" if path else name), each


# %% answer="modules_state_dict" right="as first written, from the task alone"
def saved_members(self):
    return {**self._parameters, **{n: b for n, b in self._buffers.items() if n not in self._not_saved}}


def state_dict(self, *, prefix="", keep_vars=False):
    found = self.named_members(lambda module: module.saved_members(), "", True, False)
    return OrderedDict((prefix + n, each if keep_vars else each.detach()) for n, each in found)


def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [n for n in own if n not in state_dict]
    unexpected = [n for n in state_dict if n not in own]
    errors = [said for n in own if n in state_dict for said in [load(n, own[n], state_dict[n])] if said]
    if strict:
        quoted = lambda names: ", ".join(f'"{n}"' for n in names)
        if unexpected:
            errors.insert(0, f"Unexpected key(s) in state_dict: {quoted(unexpected)}. ")
        if missing:
            errors.insert(0, f"Missing key(s) in state_dict: {quoted(missing)}. ")
    if errors:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:" + "".join("\n\t" + e for e in errors))
    return _IncompatibleKeys(missing, unexpected)


def load(name, target, source):
    if not isinstance(source, Tensor):
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(source)}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if target.shape != source.shape:
        return (f"size mismatch for {name}: copying a param with shape torch.Size({list(source.shape)}) from checkpoint, "
                f"the shape in current model is torch.Size({list(target.shape)}).")
    target.detach().copy_(source)
    return ""


# %% answer="modules_state_dict" wrong="plain dict"
def saved_members(self):
    return {**self._parameters, **{n: b for n, b in self._buffers.items() if n not in self._not_saved}}


def state_dict(self, *, prefix="", keep_vars=False):
    found = self.named_members(lambda module: module.saved_members(), "", True, False)
    return {prefix + n: each if keep_vars else each.detach() for n, each in found}


def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [n for n in own if n not in state_dict]
    unexpected = [n for n in state_dict if n not in own]
    errors = [said for n in own if n in state_dict for said in [load(n, own[n], state_dict[n])] if said]
    if strict:
        quoted = lambda names: ", ".join(f'"{n}"' for n in names)
        if unexpected:
            errors.insert(0, f"Unexpected key(s) in state_dict: {quoted(unexpected)}. ")
        if missing:
            errors.insert(0, f"Missing key(s) in state_dict: {quoted(missing)}. ")
    if errors:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:" + "".join("\n\t" + e for e in errors))
    return _IncompatibleKeys(missing, unexpected)


def load(name, target, source):
    if not isinstance(source, Tensor):
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(source)}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if target.shape != source.shape:
        return (f"size mismatch for {name}: copying a param with shape torch.Size({list(source.shape)}) from checkpoint, "
                f"the shape in current model is torch.Size({list(target.shape)}).")
    target.detach().copy_(source)
    return ""


# %% answer="modules_state_dict" wrong="all buffers saved"
def saved_members(self):
    return {**self._parameters, **self._buffers}


def state_dict(self, *, prefix="", keep_vars=False):
    found = self.named_members(lambda module: module.saved_members(), "", True, False)
    return OrderedDict((prefix + n, each if keep_vars else each.detach()) for n, each in found)


def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [n for n in own if n not in state_dict]
    unexpected = [n for n in state_dict if n not in own]
    errors = [said for n in own if n in state_dict for said in [load(n, own[n], state_dict[n])] if said]
    if strict:
        quoted = lambda names: ", ".join(f'"{n}"' for n in names)
        if unexpected:
            errors.insert(0, f"Unexpected key(s) in state_dict: {quoted(unexpected)}. ")
        if missing:
            errors.insert(0, f"Missing key(s) in state_dict: {quoted(missing)}. ")
    if errors:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:" + "".join("\n\t" + e for e in errors))
    return _IncompatibleKeys(missing, unexpected)


def load(name, target, source):
    if not isinstance(source, Tensor):
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(source)}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if target.shape != source.shape:
        return (f"size mismatch for {name}: copying a param with shape torch.Size({list(source.shape)}) from checkpoint, "
                f"the shape in current model is torch.Size({list(target.shape)}).")
    target.detach().copy_(source)
    return ""


# %% answer="modules_state_dict" wrong="missing names sorted"
def saved_members(self):
    return {**self._parameters, **{n: b for n, b in self._buffers.items() if n not in self._not_saved}}


def state_dict(self, *, prefix="", keep_vars=False):
    found = self.named_members(lambda module: module.saved_members(), "", True, False)
    return OrderedDict((prefix + n, each if keep_vars else each.detach()) for n, each in found)


def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = sorted(n for n in own if n not in state_dict)
    unexpected = [n for n in state_dict if n not in own]
    errors = [said for n in own if n in state_dict for said in [load(n, own[n], state_dict[n])] if said]
    if strict:
        quoted = lambda names: ", ".join(f'"{n}"' for n in names)
        if unexpected:
            errors.insert(0, f"Unexpected key(s) in state_dict: {quoted(unexpected)}. ")
        if missing:
            errors.insert(0, f"Missing key(s) in state_dict: {quoted(missing)}. ")
    if errors:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:" + "".join("\n\t" + e for e in errors))
    return _IncompatibleKeys(missing, unexpected)


def load(name, target, source):
    if not isinstance(source, Tensor):
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(source)}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if target.shape != source.shape:
        return (f"size mismatch for {name}: copying a param with shape torch.Size({list(source.shape)}) from checkpoint, "
                f"the shape in current model is torch.Size({list(target.shape)}).")
    target.detach().copy_(source)
    return ""


# %% answer="modules_linear" right="as first written, from the task alone"
def linear(input, weight, bias=None):
    y = input @ weight.t()
    return y if bias is None else y + bias


def __init__(self, in_features, out_features, bias=True, **where):
    super(Linear, self).__init__()
    self.in_features, self.out_features = in_features, out_features
    self.weight = Parameter(empty((out_features, in_features), **where))
    self.register_parameter("bias", Parameter(empty((out_features,), **where)) if bias else None)
    self.reset_parameters()


def forward(self, input):
    return linear(input, self.weight, self.bias)


def draw(parameters, inputs):
    bound = inputs ** -0.5 if inputs > 0 else 0.0
    for p in parameters:
        uniform_(p, -bound, bound)


def reset_parameters(self):
    draw(self.parameters(), self.in_features)


def bilinear(input1, input2, weight, bias=None):
    # (..., 1, 1, in1) @ (out, in1, in2) -> (..., out, 1, in2); @ (..., 1, in2, 1)
    left = input1.unsqueeze(-2).unsqueeze(-2) @ weight
    y = (left @ input2.unsqueeze(-2).unsqueeze(-1)).squeeze(-1).squeeze(-1)
    return y if bias is None else y + bias


# %% answer="modules_linear" right="permuted weight"
def linear(input, weight, bias=None):
    y = input @ weight.t()
    return y if bias is None else y + bias


def __init__(self, in_features, out_features, bias=True, **where):
    super(Linear, self).__init__()
    self.in_features, self.out_features = in_features, out_features
    self.weight = Parameter(empty((out_features, in_features), **where))
    self.register_parameter("bias", Parameter(empty((out_features,), **where)) if bias else None)
    self.reset_parameters()


def forward(self, input):
    return linear(input, self.weight, self.bias)


def draw(parameters, inputs):
    bound = inputs ** -0.5 if inputs > 0 else 0.0
    for p in parameters:
        uniform_(p, -bound, bound)


def reset_parameters(self):
    draw(self.parameters(), self.in_features)


def bilinear(input1, input2, weight, bias=None):
    # (..., 1, 1, in1) @ (out, in1, in2) -> (..., out, 1, in2); @ (..., 1, in2, 1)
    y = ((input1.unsqueeze(-2) @ weight.permute(1, 0, 2).flatten(1)).reshape(*input1.shape[:-1], weight.shape[0], weight.shape[2]) * input2.unsqueeze(-2)).sum(-1)
    return y if bias is None else y + bias


# %% answer="modules_linear" wrong="bias drawn first"
def linear(input, weight, bias=None):
    y = input @ weight.t()
    return y if bias is None else y + bias


def __init__(self, in_features, out_features, bias=True, **where):
    super(Linear, self).__init__()
    self.in_features, self.out_features = in_features, out_features
    self.weight = Parameter(empty((out_features, in_features), **where))
    self.register_parameter("bias", Parameter(empty((out_features,), **where)) if bias else None)
    self.reset_parameters()


def forward(self, input):
    return linear(input, self.weight, self.bias)


def draw(parameters, inputs):
    bound = inputs ** -0.5 if inputs > 0 else 0.0
    for p in list(parameters)[::-1]:
        uniform_(p, -bound, bound)


def reset_parameters(self):
    draw(self.parameters(), self.in_features)


def bilinear(input1, input2, weight, bias=None):
    # (..., 1, 1, in1) @ (out, in1, in2) -> (..., out, 1, in2); @ (..., 1, in2, 1)
    left = input1.unsqueeze(-2).unsqueeze(-2) @ weight
    y = (left @ input2.unsqueeze(-2).unsqueeze(-1)).squeeze(-1).squeeze(-1)
    return y if bias is None else y + bias


# %% answer="modules_repair_centre" right="mul_, add_"
class Centre(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x):
        if self.training:
            now = x.detach().mean(0)
            self.mean.mul_(1 - self.momentum).add_(now, alpha=self.momentum)
        return x - self.mean


# %% answer="modules_repair_centre" right=".data"
class Centre(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x):
        if self.training:
            now = x.detach().mean(0)
            self.mean.data += self.momentum * (now - self.mean)
        return x - self.mean


# %% answer="modules_repair_centre" wrong="parameter that requires no gradient"
class Centre(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.mean = nn.Parameter(torch.zeros(features), requires_grad=False)

    def forward(self, x):
        if self.training:
            now = x.detach().mean(0)
            self.mean += self.momentum * (now - self.mean)
        return x - self.mean


# %% answer="modules_repair_centre" wrong="a new tensor for the buffer"
class Centre(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features, dtype=torch.float32))

    def forward(self, x):
        if self.training:
            now = x.detach().mean(0)
            self.mean = self.mean + self.momentum * (now - self.mean)
        return x - self.mean


# %% answer="modules_measure_survivors" right="as first written, from the task alone"
def survivors(change):
    model = nn.Linear(3, 2)
    weight = model.weight
    old = weight.detach()
    after = change(model).weight
    return [after is weight, after.data_ptr() == old.data_ptr()]


# %% answer="modules_measure_survivors" right="storage compared"
def survivors(change):
    model = nn.Linear(3, 2)
    weight, storage = model.weight, model.weight.untyped_storage()
    new = change(model).weight
    return [new is weight, new.untyped_storage().data_ptr() == storage.data_ptr()]


# %% answer="modules_measure_survivors" right="id and memory kept"
def survivors(change):
    model = nn.Linear(3, 2)
    before, memory = model.weight, model.weight.data
    model.weight[0, 0].item()
    new = change(model).weight
    return [id(new) == id(before), new.data.data_ptr() == memory.data_ptr()]


# %% answer="modules_measure_survivors" wrong="address only"
def survivors(change):
    model = nn.Linear(3, 2)
    before, address = model.weight, model.weight.data_ptr()
    model = change(model)
    return [model.weight is before, model.weight.data_ptr() == address]


# %% answer="modules_call" right="as first written, from the task alone"
def __call__(self, *args, **kwargs):
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    call = Call(self) if self._backward_hooks else None
    if call:
        args = call.enter(args)
    result = self.forward(*args, **kwargs)
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        if changed is not None:
            result = changed
    return call.leave(result) if call else result


def apply(self, fn):
    for child in self.children():
        child.apply(fn)
    fn(self)
    return self


def get_submodule(self, target):
    module = self
    for name in target.split(".") if target else []:
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        module = getattr(module, name)
        if not isinstance(module, Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
    return module


def zero_grad(self, set_to_none=True):
    for p in self.parameters():
        if set_to_none:
            p.grad = None
        elif p.grad is not None:
            if p.grad.grad_fn is not None:
                p.grad = p.grad.detach()
            p.grad.zero_()


# %% answer="modules_call" wrong="backward hooks enter before the pre-hooks"
def __call__(self, *args, **kwargs):
    call = Call(self) if self._backward_hooks else None
    if call:
        args = call.enter(args)
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    result = self.forward(*args, **kwargs)
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        if changed is not None:
            result = changed
    return call.leave(result) if call else result


def apply(self, fn):
    for child in self.children():
        child.apply(fn)
    fn(self)
    return self


def get_submodule(self, target):
    module = self
    for name in target.split(".") if target else []:
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        module = getattr(module, name)
        if not isinstance(module, Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
    return module


def zero_grad(self, set_to_none=True):
    for p in self.parameters():
        if set_to_none:
            p.grad = None
        elif p.grad is not None:
            if p.grad.grad_fn is not None:
                p.grad = p.grad.detach()
            p.grad.zero_()


# %% answer="modules_call" wrong="hooks get the arguments as they were"
def __call__(self, *args, **kwargs):
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    call = Call(self) if self._backward_hooks else None
    result = self.forward(*(call.enter(args) if call else args), **kwargs)
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        if changed is not None:
            result = changed
    return call.leave(result) if call else result


def apply(self, fn):
    for child in self.children():
        child.apply(fn)
    fn(self)
    return self


def get_submodule(self, target):
    module = self
    for name in target.split(".") if target else []:
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        module = getattr(module, name)
        if not isinstance(module, Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
    return module


def zero_grad(self, set_to_none=True):
    for p in self.parameters():
        if set_to_none:
            p.grad = None
        elif p.grad is not None:
            if p.grad.grad_fn is not None:
                p.grad = p.grad.detach()
            p.grad.zero_()


# %% answer="modules_call" wrong="apply to children that are None"
def __call__(self, *args, **kwargs):
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    call = Call(self) if self._backward_hooks else None
    if call:
        args = call.enter(args)
    result = self.forward(*args, **kwargs)
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        if changed is not None:
            result = changed
    return call.leave(result) if call else result


def apply(self, fn):
    for child in self._modules.values():
        child.apply(fn)
    fn(self)
    return self


def get_submodule(self, target):
    module = self
    for name in target.split(".") if target else []:
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        module = getattr(module, name)
        if not isinstance(module, Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
    return module


def zero_grad(self, set_to_none=True):
    for p in self.parameters():
        if set_to_none:
            p.grad = None
        elif p.grad is not None:
            if p.grad.grad_fn is not None:
                p.grad = p.grad.detach()
            p.grad.zero_()


# %% answer="modules_call" wrong="apply to the child first"
def __call__(self, *args, **kwargs):
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    call = Call(self) if self._backward_hooks else None
    if call:
        args = call.enter(args)
    result = self.forward(*args, **kwargs)
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        if changed is not None:
            result = changed
    return call.leave(result) if call else result


def apply(self, fn):
    for child in self.children():
        fn(child)
        child.apply(fn)
    fn(self)
    return self


def get_submodule(self, target):
    module = self
    for name in target.split(".") if target else []:
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        module = getattr(module, name)
        if not isinstance(module, Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
    return module


def zero_grad(self, set_to_none=True):
    for p in self.parameters():
        if set_to_none:
            p.grad = None
        elif p.grad is not None:
            if p.grad.grad_fn is not None:
                p.grad = p.grad.detach()
            p.grad.zero_()
