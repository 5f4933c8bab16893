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


# %% answer="modules_setattr" wrong="what replaces an entry goes to the end"
def __setattr__(self, name, value):
    tables = ("_parameters", "_modules", "_buffers")
    for table, kind in zip(tables, (Parameter, Module, ())):
        entries = self.__dict__.get(table)
        if isinstance(value, kind):
            if entries is None:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for other in (self.__dict__, *(self.__dict__[each] for each in tables)):
                other.pop(name, None)
            entries[name] = value
            return
        if entries is not None and name in entries:
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            entries[name] = value
            return
    object.__setattr__(self, name, value)


# %% answer="modules_setattr" wrong="a refused value has left its name already"
def __setattr__(self, name, value):
    tables = ("_parameters", "_modules", "_buffers")
    for table, kind in zip(tables, (Parameter, Module, ())):
        entries = self.__dict__.get(table)
        if isinstance(value, kind):
            if entries is None:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for other in tables:
                if other != table:
                    self.__dict__[other].pop(name, None)
            self.__dict__.pop(name, None)
            entries[name] = value
            return
        if entries is not None and name in entries:
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                entries[name] = None
                raise TypeError(refused(name, value, table))
            entries[name] = value
            return
    object.__setattr__(self, name, value)


# %% answer="modules_setattr" wrong="None takes the name out of its table"
def __setattr__(self, name, value):
    tables = ("_parameters", "_modules", "_buffers")
    for table, kind in zip(tables, (Parameter, Module, ())):
        entries = self.__dict__.get(table)
        if isinstance(value, kind):
            if entries is None:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for other in tables:
                if other != table:
                    self.__dict__[other].pop(name, None)
            self.__dict__.pop(name, None)
            entries[name] = value
            return
        if entries is not None and name in entries:
            if value is None:
                del entries[name]
                break
            if not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            entries[name] = value
            return
    object.__setattr__(self, name, value)


# %% answer="modules_setattr" wrong="a tensor becomes a buffer"
def __setattr__(self, name, value):
    tables = ("_parameters", "_modules", "_buffers")
    for table, kind in zip(tables, (Parameter, Module, Tensor)):
        entries = self.__dict__.get(table)
        if isinstance(value, kind):
            if entries is None:
                what = "parameters" if kind is Parameter else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for other in tables:
                if other != table:
                    self.__dict__[other].pop(name, None)
            self.__dict__.pop(name, None)
            entries[name] = value
            return
        if entries is not None and name in entries:
            if value is not None:
                raise TypeError(refused(name, value, table))
            entries[name] = value
            return
    object.__setattr__(self, name, value)


# %% answer="modules_setattr" wrong="exact types"
def __setattr__(self, name, value):
    tables = ("_parameters", "_modules", "_buffers")
    for table in tables:
        entries = self.__dict__.get(table)
        fits = type(value) is Parameter if table == "_parameters" else isinstance(value, Module) and table == "_modules"
        if fits:
            if entries is None:
                what = "parameters" if table == "_parameters" else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for other in tables:
                if other != table:
                    self.__dict__[other].pop(name, None)
            self.__dict__.pop(name, None)
            entries[name] = value
            return
        if entries is not None and name in entries:
            if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(refused(name, value, table))
            entries[name] = value
            return
    object.__setattr__(self, name, value)


# %% answer="modules_setattr" right="a match of the value"
def __setattr__(self, name, value):
    own = vars(self)
    match value:
        case Parameter():
            target, what = "_parameters", "parameters"
        case Module() if name not in own.get("_parameters", {}):
            target, what = "_modules", "module"
        case _:
            for table in ("_parameters", "_modules", "_buffers"):
                if table in own and name in own[table]:
                    if value is None or (table == "_buffers" and isinstance(value, Tensor)):
                        own[table][name] = value
                        return
                    raise TypeError(refused(name, value, table))
            object.__setattr__(self, name, value)
            return
    if target not in own:
        raise AttributeError("cannot assign " + what + " before Module.__init__() call")
    for table in {"_parameters", "_modules", "_buffers"} - {target}:
        own[table].pop(name, None)
    own.pop(name, None)
    own[target][name] = value


# %% answer="modules_setattr" right="where is the name, then what is the value"
def __setattr__(self, name, value):
    tables = [each for each in ("_parameters", "_modules", "_buffers") if each in self.__dict__]
    home = next((each for each in tables if name in self.__dict__[each]), None)
    if isinstance(value, Parameter) or (isinstance(value, Module) and home != "_parameters"):
        kind = "_parameters" if isinstance(value, Parameter) else "_modules"
        if kind not in tables:
            raise AttributeError(f"cannot assign {'parameters' if kind == '_parameters' else 'module'} before Module.__init__() call")
        if home not in (None, kind):
            del self.__dict__[home][name]
        if name in self.__dict__:
            del self.__dict__[name]
        self.__dict__[kind][name] = value
    elif home is None:
        super(Module, self).__setattr__(name, value)
    elif value is None or home == "_buffers" and isinstance(value, Tensor):
        self.__dict__[home][name] = value
    else:
        raise TypeError(refused(name, value, home))


# %% answer="modules_names" wrong="an empty memo of the caller counts as none" spoils="named_modules"
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = memo or set()
    if self in memo:
        return
    if remove_duplicate:
        memo.add(self)
    yield prefix, self
    for name, module in self._modules.items():
        if module is not None:
            yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


# %% answer="modules_names" wrong="children before their parent" spoils="named_modules"
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = set() if memo is None else memo
    if self in memo:
        return
    if remove_duplicate:
        memo.add(self)
    for name, module in self._modules.items():
        if module is not None:
            yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)
    yield prefix, self


# %% answer="modules_names" wrong="level by level" spoils="named_modules"
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = set() if memo is None else memo
    queue = [(prefix, self)]
    while queue:
        path, module = queue.pop(0)
        if module in memo:
            continue
        if remove_duplicate:
            memo.add(module)
        yield path, module
        queue += [(f"{path}.{name}" if path else name, each) for name, each in module._modules.items() if each is not None]


# %% answer="modules_names" wrong="an empty container counts as nothing" spoils="named_modules"
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = set() if memo is None else memo
    if self in memo:
        return
    if remove_duplicate:
        memo.add(self)
    yield prefix, self
    for name, module in self._modules.items():
        if module:
            yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


# %% answer="modules_names" wrong="a copy of the memo for each child" spoils="named_modules"
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = set() if memo is None else set(memo)
    if self in memo:
        return
    if remove_duplicate:
        memo.add(self)
    yield prefix, self
    for name, module in self._modules.items():
        if module is not None:
            yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


# %% answer="modules_names" wrong="forgets the prefix below the first level" spoils="named_modules"
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    memo = set() if memo is None else memo
    if self in memo:
        return
    if remove_duplicate:
        memo.add(self)
    yield prefix, self
    for name, module in self._modules.items():
        if module is not None:
            yield from module.named_modules(memo, name, remove_duplicate)


# %% answer="modules_names" wrong="a module's children are recognized by their names" spoils="named_members"
def named_members(self, members, prefix, recurse, remove_duplicate):
    seen = set()
    for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
        for name, member in members(module).items():
            if member is None or name in seen:
                continue
            if remove_duplicate:
                seen.add(name)
            yield f"{path}.{name}" if path else name, member


# %% answer="modules_names" wrong="None counts as a member" spoils="named_members"
def named_members(self, members, prefix, recurse, remove_duplicate):
    seen = set()
    for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
        for name, member in members(module).items():
            if member in seen:
                continue
            if remove_duplicate:
                seen.add(member)
            yield f"{path}.{name}" if path else name, member


# %% answer="modules_names" wrong="no prefix where it doesn't recurse" spoils="named_members"
def named_members(self, members, prefix, recurse, remove_duplicate):
    seen = set()
    for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [("", self)]:
        for name, member in members(module).items():
            if member is None or member in seen:
                continue
            if remove_duplicate:
                seen.add(member)
            yield f"{path}.{name}" if path else name, member


# %% answer="modules_names" wrong="duplicates are removed within a module only" spoils="named_members"
def named_members(self, members, prefix, recurse, remove_duplicate):
    for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
        seen = set()
        for name, member in members(module).items():
            if member is None or member in seen:
                continue
            if remove_duplicate:
                seen.add(member)
            yield f"{path}.{name}" if path else name, member


# %% answer="modules_names" wrong="equal values are duplicates" spoils="named_members"
def named_members(self, members, prefix, recurse, remove_duplicate):
    seen = []
    for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
        for name, member in members(module).items():
            shown = member.tolist() if isinstance(member, Tensor) else member
            if member is None or remove_duplicate and shown in seen:
                continue
            seen.append(shown)
            yield f"{path}.{name}" if path else name, member


# %% answer="modules_names" wrong="the last name of a shared member" spoils="named_members"
def named_members(self, members, prefix, recurse, remove_duplicate):
    walk = self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]
    found = [(f"{path}.{name}" if path else name, each) for path, module in walk for name, each in members(module).items() if each is not None]
    yield from (dict(zip((id(each) for _, each in found), found)).values() if remove_duplicate else found)


# %% answer="modules_names" right="a stack for the walk, ids for what was seen"
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    seen = set() if memo is None else memo
    stack = [(prefix, self)]
    while stack:
        path, module = stack.pop()
        if module in seen:
            continue
        if remove_duplicate:
            seen.add(module)
        yield path, module
        below = [(".".join(filter(None, (path, name))), each) for name, each in module._modules.items() if each is not None]
        stack.extend(reversed(below))


def named_members(self, members, prefix, recurse, remove_duplicate):
    where = [(prefix, self)]
    if recurse:
        where = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
    seen = {}
    for path, module in where:
        dot = path + "." if path else path
        for name, each in members(module).items():
            if each is None or remove_duplicate and id(each) in seen:
                continue
            seen[id(each)] = each
            yield dot + name, each


# %% answer="modules_names" right="generators that return iterators of lists"
def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    if memo is None:
        memo = set()
    if self not in memo:
        if remove_duplicate:
            memo |= {self}
        yield (prefix, self)
        for name, child in list(self._modules.items()):
            if child is None:
                continue
            for pair in child.named_modules(memo, (prefix + "." if prefix else "") + name, remove_duplicate):
                yield pair


def named_members(self, members, prefix, recurse, remove_duplicate):
    found, seen = [], set()
    for path, module in list(self.named_modules(None, prefix, remove_duplicate)) if recurse else [(prefix, self)]:
        found += [(f"{path}.{name}" if path else name, each) for name, each in members(module).items() if each is not None]
    for name, each in found:
        if id(each) not in seen or not remove_duplicate:
            seen.add(id(each))
            yield name, each


# %% answer="modules_state_dict" wrong="the buffers are added to the parameters' own table" spoils="saved_members"
def saved_members(self):
    found = self._parameters
    found.update({name: each for name, each in self._buffers.items() if name not in self._not_saved})
    return found


# %% answer="modules_state_dict" wrong="only the buffers that are not saved" spoils="saved_members"
def saved_members(self):
    return self._parameters | {name: each for name, each in self._buffers.items() if name in self._not_saved}


# %% answer="modules_state_dict" wrong="buffers first" spoils="saved_members"
def saved_members(self):
    return {name: each for name, each in self._buffers.items() if name not in self._not_saved} | self._parameters


# %% answer="modules_state_dict" wrong="copies" spoils="state_dict"
def state_dict(self, *, prefix="", keep_vars=False):
    named = self.named_members(Module.saved_members, "", True, False)
    return OrderedDict((prefix + name, each if keep_vars else each.detach().clone()) for name, each in named)


# %% answer="modules_state_dict" wrong="shared tensors once" spoils="state_dict"
def state_dict(self, *, prefix="", keep_vars=False):
    named = self.named_members(Module.saved_members, "", True, True)
    return OrderedDict((prefix + name, each if keep_vars else each.detach()) for name, each in named)


# %% answer="modules_state_dict" wrong="the prefix gets a dot" spoils="state_dict"
def state_dict(self, *, prefix="", keep_vars=False):
    named = self.named_members(Module.saved_members, prefix, True, False)
    return OrderedDict((name, each if keep_vars else each.detach()) for name, each in named)


# %% answer="modules_state_dict" wrong="buffers are kept as they are, too" spoils="state_dict"
def state_dict(self, *, prefix="", keep_vars=False):
    named = self.named_members(Module.saved_members, "", True, False)
    return OrderedDict((prefix + name, each.detach() if keep_vars and not isinstance(each, Parameter) else each) for name, each in named)


# %% answer="modules_state_dict" wrong="the model's parameters stop requiring gradients" spoils="state_dict"
def state_dict(self, *, prefix="", keep_vars=False):
    named = self.named_members(Module.saved_members, "", True, False)
    return OrderedDict((prefix + name, each if keep_vars else each.requires_grad_(False)) for name, each in named)


# %% answer="modules_state_dict" wrong="the error comes before anything is loaded" spoils="load_state_dict"
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state_dict]
    unexpected = [name for name in state_dict if name not in own]
    errors = []
    if strict:
        for kind, names in (("Missing", missing), ("Unexpected", unexpected)):
            if names:
                listed = ", ".join(f'"{name}"' for name in names)
                errors.append(f"{kind} key(s) in state_dict: {listed}. ")
    if not errors:
        errors = [said for name in own if name in state_dict if (said := load(name, own[name], state_dict[name]))]
    if errors:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
    return _IncompatibleKeys(missing, unexpected)


# %% answer="modules_state_dict" wrong="not strict means that no shape matters" spoils="load_state_dict"
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state_dict]
    unexpected = [name for name in state_dict if name not in own]
    errors = [said for name in own if name in state_dict if (said := load(name, own[name], state_dict[name]))]
    if not strict:
        return _IncompatibleKeys(missing, unexpected)
    first = []
    for kind, names in (("Missing", missing), ("Unexpected", unexpected)):
        if names:
            listed = ", ".join(f'"{name}"' for name in names)
            first.append(f"{kind} key(s) in state_dict: {listed}. ")
    if first + errors:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(first + errors))
    return _IncompatibleKeys(missing, unexpected)


# %% answer="modules_state_dict" wrong="takes the entries out of the given dict" spoils="load_state_dict"
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing, errors = [], []
    for name, target in own.items():
        if name in state_dict:
            errors.append(load(name, target, state_dict.pop(name)))
        else:
            missing.append(name)
    unexpected = list(state_dict)
    if strict:
        for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
            listed = ", ".join(f'"{name}"' for name in names)
            errors.insert(0, f"{kind} key(s) in state_dict: {listed}. " if names else "")
    if any(errors):
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(filter(None, errors)))
    return _IncompatibleKeys(missing, unexpected)


# %% answer="modules_state_dict" wrong="messages in the order of the dict" spoils="load_state_dict"
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state_dict]
    unexpected = [name for name in state_dict if name not in own]
    errors = [load(name, own[name], each) for name, each in state_dict.items() if name in own]
    if strict:
        for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
            listed = ", ".join(f'"{name}"' for name in names)
            errors.insert(0, f"{kind} key(s) in state_dict: {listed}. " if names else "")
    if any(errors):
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(filter(None, errors)))
    return _IncompatibleKeys(missing, unexpected)


# %% answer="modules_state_dict" wrong="unexpected names come first" spoils="load_state_dict"
def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state_dict]
    unexpected = [name for name in state_dict if name not in own]
    errors = [load(name, target, state_dict[name]) for name, target in own.items() if name in state_dict]
    if strict:
        for kind, names in (("Missing", missing), ("Unexpected", unexpected)):
            listed = ", ".join(f'"{name}"' for name in names)
            errors.insert(0, f"{kind} key(s) in state_dict: {listed}. " if names else "")
    if any(errors):
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(filter(None, errors)))
    return _IncompatibleKeys(missing, unexpected)


# %% answer="modules_state_dict" wrong="compares the number of elements" spoils="load"
def load(name, target, source):
    if not isinstance(source, Tensor):
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(source)}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if target.numel() != source.numel():
        return f"size mismatch for {name}: copying a param with shape {source.shape} from checkpoint, the shape in current model is {target.shape}."
    with no_grad():
        target.copy_(source.reshape(target.shape))
    return ""


# %% answer="modules_state_dict" wrong="takes the source's memory" spoils="load"
def load(name, target, source):
    if not isinstance(source, Tensor):
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(source)}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if target.shape != source.shape:
        return f"size mismatch for {name}: copying a param with shape {source.shape} from checkpoint, the shape in current model is {target.shape}."
    target.data = source.detach()
    return ""


# %% answer="modules_state_dict" wrong="a parameter is no tensor" spoils="load"
def load(name, target, source):
    if type(source) is not Tensor:
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(source)}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if target.shape != source.shape:
        return f"size mismatch for {name}: copying a param with shape {source.shape} from checkpoint, the shape in current model is {target.shape}."
    with no_grad():
        target.copy_(source)
    return ""


# %% answer="modules_state_dict" wrong="returns None where all is well" spoils="load"
def load(name, target, source):
    if not isinstance(source, Tensor):
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(source)}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if target.shape != source.shape:
        return f"size mismatch for {name}: copying a param with shape {source.shape} from checkpoint, the shape in current model is {target.shape}."
    with no_grad():
        target.copy_(source)


# %% answer="modules_state_dict" wrong="the two shapes exchanged in the message" spoils="load"
def load(name, target, source):
    if not isinstance(source, Tensor):
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(source)}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if target.shape != source.shape:
        return f"size mismatch for {name}: copying a param with shape {target.shape} from checkpoint, the shape in current model is {source.shape}."
    with no_grad():
        target.copy_(source)
    return ""


# %% answer="modules_state_dict" wrong="another dtype is refused" spoils="load"
def load(name, target, source):
    if not isinstance(source, Tensor):
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(source)}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if target.shape != source.shape or target.dtype != source.dtype:
        return f"size mismatch for {name}: copying a param with shape {source.shape} from checkpoint, the shape in current model is {target.shape}."
    with no_grad():
        target.copy_(source)
    return ""


# %% answer="modules_state_dict" wrong="a lazy parameter is compared before it has a shape" spoils="load"
def load(name, target, source):
    if not isinstance(source, Tensor):
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(source)}'
    if target.shape != source.shape:
        return f"size mismatch for {name}: copying a param with shape {source.shape} from checkpoint, the shape in current model is {target.shape}."
    with no_grad():
        target.copy_(source)
    return ""


# %% answer="modules_state_dict" right=".data, one loop, a set of names"
def saved_members(self):
    found = dict(self._parameters)
    for name, buffer in self._buffers.items():
        if name not in self._not_saved:
            found[name] = buffer
    return found


def state_dict(self, *, prefix="", keep_vars=False):
    result = OrderedDict()
    for path, module in self.named_modules(remove_duplicate=False):
        for name, each in module.saved_members().items():
            if each is not None:
                result[prefix + (f"{path}." if path else "") + name] = each if keep_vars else each.data
    return result


def load_state_dict(self, state_dict, strict=True):
    own = self.state_dict(keep_vars=True)
    missing, wrong = [], []
    for name, target in own.items():
        if name not in state_dict:
            missing.append(name)
            continue
        said = load(name, target, state_dict[name])
        if said:
            wrong.append(said)
    unexpected = [*filter(lambda name: name not in own, state_dict)]
    lines = []
    if strict and missing:
        lines.append("Missing key(s) in state_dict: " + ", ".join('"' + name + '"' for name in missing) + ". ")
    if strict and unexpected:
        lines.append("Unexpected key(s) in state_dict: " + ", ".join('"' + name + '"' for name in unexpected) + ". ")
    lines += wrong
    if lines:
        raise RuntimeError("\n\t".join(["Error(s) in loading state_dict for " + self.__class__.__name__ + ":", *lines]))
    return _IncompatibleKeys(missing, unexpected)


def load(name, target, source):
    if isinstance(source, Tensor) is False:
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received {source.__class__}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if tuple(target.shape) == tuple(source.shape):
        target.data.copy_(source.detach())
        return ""
    return f"size mismatch for {name}: copying a param with shape {source.shape} from checkpoint, the shape in current model is {target.shape}."


# %% answer="modules_state_dict" right="saved members without the empty ones"
def saved_members(self):
    tables = (*self._parameters.items(), *self._buffers.items())
    return {name: each for name, each in tables if each is not None and name not in self._not_saved}


# %% answer="modules_state_dict" right="update with detached tensors, no_grad as a decorator"
def state_dict(self, *, prefix="", keep_vars=False):
    found = OrderedDict()
    found.update(self.named_members(lambda module: module.saved_members(), "", True, False))
    for name in list(found):
        each = found.pop(name)
        found[f"{prefix}{name}"] = each if keep_vars else each.detach()
    return found


@no_grad()
def load(name, target, source):
    if not isinstance(source, Tensor):
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(source)}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if target.shape != source.shape:
        return f"size mismatch for {name}: copying a param with shape {source.shape} from checkpoint, the shape in current model is {target.shape}."
    target[...] = source
    return ""


# %% answer="modules_linear" wrong="a batch of one loses its dimension" spoils="linear __init__ forward"
def linear(input, weight, bias=None):
    product = matmul(weight, input.unsqueeze(-1)).squeeze()
    return product if bias is None else product + bias


# %% answer="modules_linear" wrong="the weight as it is" spoils="linear __init__ forward"
def linear(input, weight, bias=None):
    product = matmul(input, weight)
    return product if bias is None else product + bias


# %% answer="modules_linear" wrong="a bias is always there" spoils="linear __init__ forward"
def linear(input, weight, bias=None):
    return matmul(input, weight.T) + bias


# %% answer="modules_linear" wrong="rows only" spoils="linear __init__ forward"
def linear(input, weight, bias=None):
    product = matmul(weight, input.T).T
    return product if bias is None else product + bias


# %% answer="modules_linear" wrong="detached parameters" spoils="linear __init__ forward"
def forward(self, input):
    return linear(input, self.weight.data, self.bias)


# %% answer="modules_linear" wrong="forgets the bias" spoils="linear __init__ forward"
def forward(self, input):
    return linear(input, self.weight)


# %% answer="modules_linear" wrong="draws in place of reset_parameters" spoils="linear __init__ forward"
def __init__(self, in_features, out_features, bias=True, **where):
    super(Linear, self).__init__()
    self.in_features, self.out_features = in_features, out_features
    self.weight = Parameter(empty(out_features, in_features, **where))
    self.register_parameter("bias", Parameter(empty(out_features, **where)) if bias else None)
    draw(self.parameters(), in_features)


# %% answer="modules_linear" wrong="the bias is of the default dtype" spoils="linear __init__ forward"
def __init__(self, in_features, out_features, bias=True, **where):
    super(Linear, self).__init__()
    self.in_features, self.out_features = in_features, out_features
    self.weight = Parameter(empty(out_features, in_features, **where))
    self.register_parameter("bias", Parameter(empty(out_features)) if bias else None)
    self.reset_parameters()


# %% answer="modules_linear" wrong="no entry without a bias" spoils="linear __init__ forward"
def __init__(self, in_features, out_features, bias=True, **where):
    super(Linear, self).__init__()
    self.in_features, self.out_features = in_features, out_features
    self.weight = Parameter(empty(out_features, in_features, **where))
    self.bias = Parameter(empty(out_features, **where)) if bias else None
    self.reset_parameters()


# %% answer="modules_linear" wrong="the bound for all inputs is that of one" spoils="draw reset_parameters"
def draw(parameters, inputs):
    for each in parameters:
        uniform_(each, -1 / max(inputs, 1), 1 / max(inputs, 1))


# %% answer="modules_linear" wrong="no inputs count as one" spoils="draw reset_parameters"
def draw(parameters, inputs):
    bound = max(inputs, 1) ** -0.5
    for each in parameters:
        uniform_(each, -bound, bound)


# %% answer="modules_linear" wrong="from 0 to the bound" spoils="draw reset_parameters"
def draw(parameters, inputs):
    bound = inputs**-0.5 if inputs else 0.0
    for each in parameters:
        uniform_(each, 0.0, bound)


# %% answer="modules_linear" wrong="draws the weight alone" spoils="draw reset_parameters"
def reset_parameters(self):
    draw([self.weight], self.in_features)


# %% answer="modules_linear" wrong="the fan-out" spoils="draw reset_parameters"
def reset_parameters(self):
    draw(self.parameters(), self.out_features)


# %% answer="modules_linear" wrong="new parameters" spoils="draw reset_parameters"
def reset_parameters(self):
    self.weight = Parameter(self.weight.detach().clone())
    draw(self.parameters(), self.in_features)


# %% answer="modules_linear" wrong="squeezes all dimensions of length 1" spoils="bilinear"
def bilinear(input1, input2, weight, bias=None):
    rows, columns = input1.unsqueeze(-2).unsqueeze(-2), input2.unsqueeze(-2).unsqueeze(-1)
    result = matmul(matmul(rows, weight), columns).squeeze()
    return result if bias is None else result + bias


# %% answer="modules_linear" wrong="a loop over the outputs" spoils="bilinear"
def bilinear(input1, input2, weight, bias=None):
    from mytorch import stack

    result = stack([(matmul(input1, each) * input2).sum(-1) for each in weight], -1)
    return result if bias is None else result + bias


# %% answer="modules_linear" wrong="every row with every row" spoils="bilinear"
def bilinear(input1, input2, weight, bias=None):
    result = (matmul(input1.unsqueeze(-2), weight) * input2).sum(-1)
    return result if bias is None else result + bias


# %% answer="modules_linear" wrong="the bias is forgotten" spoils="bilinear"
def bilinear(input1, input2, weight, bias=None):
    rows, columns = input1.unsqueeze(-2).unsqueeze(-2), input2.unsqueeze(-2).unsqueeze(-1)
    return matmul(matmul(rows, weight), columns).squeeze(-1).squeeze(-1)


# %% answer="modules_linear" right="a product and a sum in place of a second matmul"
def linear(input, weight, bias=None):
    result = input.matmul(weight.transpose(0, 1))
    if bias is not None:
        result = result + bias
    return result


def __init__(self, in_features, out_features, bias=True, **where):
    Module.__init__(self)
    self.in_features = in_features
    self.out_features = out_features
    self.register_parameter("weight", Parameter(empty((out_features, in_features), **where)))
    if bias:
        self.bias = Parameter(empty((out_features,), **where))
    else:
        self.register_parameter("bias", None)
    self.reset_parameters()


def forward(self, input):
    return linear(bias=self.bias, weight=self.weight, input=input)


def draw(parameters, inputs):
    import math

    bound = 0.0
    if inputs > 0:
        bound = 1.0 / math.sqrt(inputs)
    [uniform_(each, -bound, bound) for each in parameters]


def reset_parameters(self):
    draw([each for each in (self.weight, self.bias) if each is not None], self.in_features)


def bilinear(input1, input2, weight, bias=None):
    left = matmul(input1.unsqueeze(-2).unsqueeze(-2), weight).squeeze(-2)
    result = (left * input2.unsqueeze(-2)).sum(-1)
    return result + bias if bias is not None else result


# %% answer="modules_linear" right="one product with all pairs"
def bilinear(input1, input2, weight, bias=None):
    pairs = (input1.unsqueeze(-1) * input2.unsqueeze(-2)).flatten(-2)
    return linear(pairs, weight.flatten(1), bias)


# %% answer="modules_repair_centre" wrong="a buffer that isn't saved"
class Centre(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features), persistent=False)

    def forward(self, x):
        if self.training:
            now = x.detach().mean(0)
            self.mean += self.momentum * (now - self.mean)
        return x - self.mean


# %% answer="modules_repair_centre" wrong="a parameter to train"
class Centre(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.mean = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.mean += self.momentum * (x.mean(0) - self.mean)
        return x - self.mean


# %% answer="modules_repair_centre" wrong="converts in forward and saves nothing"
class Centre(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.mean = torch.zeros(features)

    def forward(self, x):
        if self.training:
            now = x.detach().mean(0)
            self.mean += self.momentum * (now - self.mean)
        return x - self.mean.to(x.dtype)


# %% answer="modules_repair_centre" wrong="also learns in evaluation"
class Centre(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x):
        now = x.detach().mean(0)
        self.mean += self.momentum * (now - self.mean)
        return x - self.mean


# %% answer="modules_repair_centre" wrong="the mean has a history"
class Centre(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x):
        if self.training:
            self.mean += self.momentum * (x.mean(0) - self.mean)
        return x - self.mean


# %% answer="modules_repair_centre" wrong="subtracts the batch's own mean in training"
class Centre(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x):
        if self.training:
            now = x.detach().mean(0)
            self.mean += self.momentum * (now - self.mean)
            return x - now
        return x - self.mean


# %% answer="modules_repair_centre" right="copy_ under no_grad"
class Centre(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros((features,)), persistent=True)

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.mean.copy_(self.mean + self.momentum * (x.mean(0) - self.mean))
        return x - self.mean


# %% answer="modules_repair_centre" right="lerp_"
class Centre(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.mean: torch.Tensor
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x):
        if self.training:
            self.mean.add_(self.momentum * (x.detach().mean(0) - self.mean))
        return x - self.mean


# %% answer="modules_measure_survivors" wrong="equal values"
def survivors(change):
    model = nn.Linear(3, 2)
    weight, before = model.weight, model.weight.detach().clone()
    model = change(model)
    return [model.weight is weight, torch.equal(model.weight.detach(), before)]


# %% answer="modules_measure_survivors" wrong="the old parameter's memory, which follows it"
def survivors(change):
    model = nn.Linear(3, 2)
    weight = model.weight
    model = change(model)
    return [model.weight is weight, model.weight.data_ptr() == weight.data_ptr()]


# %% answer="modules_measure_survivors" wrong="the model that was given"
def survivors(change):
    model = nn.Linear(3, 2)
    weight, memory = model.weight, model.weight.data
    change(model)
    return [model.weight is weight, model.weight.data_ptr() == memory.data_ptr()]


# %% answer="modules_measure_survivors" wrong="the tensor of values as an object"
def survivors(change):
    model = nn.Linear(3, 2)
    weight, memory = model.weight, model.weight.data
    model = change(model)
    return [model.weight is weight, model.weight.data is memory]


# %% answer="modules_measure_survivors" wrong="the bias"
def survivors(change):
    model = nn.Linear(3, 2)
    weight, memory = model.bias, model.bias.data
    model = change(model)
    return [model.bias is weight, model.bias.data_ptr() == memory.data_ptr()]


# %% answer="modules_measure_survivors" wrong="the answers exchanged"
def survivors(change):
    model = nn.Linear(3, 2)
    weight, memory = model.weight, model.weight.data
    model = change(model)
    return [model.weight.data_ptr() == memory.data_ptr(), model.weight is weight]


# %% answer="modules_measure_survivors" wrong="a write that is seen through the parameter that was kept"
def survivors(change):
    model = nn.Linear(3, 2)
    weight = model.weight
    model = change(model)
    with torch.no_grad():
        model.weight.fill_(7.0)
    return [model.weight is weight, bool((weight == 7.0).all())]


# %% answer="modules_measure_survivors" right="a write that is seen in the memory that was kept"
def survivors(change):
    model = nn.Linear(3, 2)
    weight, memory = model.weight, model.weight.detach()
    model = change(model)
    with torch.no_grad():
        memory.fill_(-77.0)
    return [model.weight is weight, bool((model.weight == -77.0).all())]


# %% answer="modules_call" wrong="forward hooks after the border" spoils="__call__"
def __call__(self, *args, **kwargs):
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    call = Call(self) if self._backward_hooks else None
    args = call.enter(args) if call else args
    result = self.forward(*args, **kwargs)
    result = call.leave(result) if call else result
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        result = result if changed is None else changed
    return result


# %% answer="modules_call" wrong="a list is unpacked, too" spoils="__call__"
def __call__(self, *args, **kwargs):
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if changed is not None:
            args = tuple(changed) if isinstance(changed, (tuple, list)) else (changed,)
    call = Call(self) if self._backward_hooks else None
    args = call.enter(args) if call else args
    result = self.forward(*args, **kwargs)
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        result = result if changed is None else changed
    return call.leave(result) if call else result


# %% answer="modules_call" wrong="walks over the forward hooks while one removes itself" spoils="__call__"
def __call__(self, *args, **kwargs):
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    call = Call(self) if self._backward_hooks else None
    args = call.enter(args) if call else args
    result = self.forward(*args, **kwargs)
    for hook in self._forward_hooks.values():
        changed = hook(self, args, result)
        result = result if changed is None else changed
    return call.leave(result) if call else result


# %% answer="modules_call" wrong="what is false changes nothing" spoils="__call__"
def __call__(self, *args, **kwargs):
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    call = Call(self) if self._backward_hooks else None
    args = call.enter(args) if call else args
    result = self.forward(*args, **kwargs)
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        if isinstance(changed, Tensor):
            result = changed
    return call.leave(result) if call else result


# %% answer="modules_call" wrong="each hook is given the first arguments" spoils="__call__"
def __call__(self, *args, **kwargs):
    given = args
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, given)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    call = Call(self) if self._backward_hooks else None
    args = call.enter(args) if call else args
    result = self.forward(*args, **kwargs)
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        result = result if changed is None else changed
    return call.leave(result) if call else result


# %% answer="modules_call" wrong="keywords are dropped" spoils="__call__"
def __call__(self, *args, **kwargs):
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    call = Call(self) if self._backward_hooks else None
    args = call.enter(args) if call else args
    result = self.forward(*args)
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        result = result if changed is None else changed
    return call.leave(result) if call else result


# %% answer="modules_call" wrong="a border in every call" spoils="__call__"
def __call__(self, *args, **kwargs):
    for hook in list(self._forward_pre_hooks.values()):
        changed = hook(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    call = Call(self)
    args = call.enter(args)
    result = self.forward(*args, **kwargs)
    for hook in list(self._forward_hooks.values()):
        changed = hook(self, args, result)
        result = result if changed is None else changed
    return call.leave(result)


# %% answer="modules_call" wrong="a walk from the root down" spoils="apply get_submodule"
def apply(self, fn):
    for module in self.modules():
        fn(module)
    return self


# %% answer="modules_call" wrong="everything backwards" spoils="apply get_submodule"
def apply(self, fn):
    for module in reversed(list(self.modules())):
        fn(module)
    return self


# %% answer="modules_call" wrong="the children only" spoils="apply get_submodule"
def apply(self, fn):
    for module in self.children():
        fn(module)
    fn(self)
    return self


# %% answer="modules_call" wrong="returns nothing" spoils="apply get_submodule"
def apply(self, fn):
    for module in self.children():
        module.apply(fn)
    fn(self)


# %% answer="modules_call" wrong="looks into the table of modules alone" spoils="apply get_submodule"
def get_submodule(self, target):
    module = self
    for name in target.split(".") if target else ():
        if name not in module._modules:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        module = module._modules[name]
    return module


# %% answer="modules_call" wrong="an empty place is a module" spoils="apply get_submodule"
def get_submodule(self, target):
    module = self
    for name in target.split(".") if target else ():
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        module = getattr(module, name)
        if module is not None and not isinstance(module, Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
    return module


# %% answer="modules_call" wrong="the class of the root in the message" spoils="apply get_submodule"
def get_submodule(self, target):
    module = self
    for name in target.split(".") if target else ():
        if not hasattr(module, name):
            raise AttributeError(f"{type(self).__name__} has no attribute `{name}`")
        module = getattr(module, name)
        if not isinstance(module, Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
    return module


# %% answer="modules_call" wrong="an empty name is a name" spoils="apply get_submodule"
def get_submodule(self, target):
    module = self
    for name in target.split("."):
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        module = getattr(module, name)
        if not isinstance(module, Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
    return module


# %% answer="modules_call" wrong="the last step may be anything" spoils="apply get_submodule"
def get_submodule(self, target):
    module = self
    for name in target.split(".") if target else ():
        if not isinstance(module, Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        module = getattr(module, name)
    return module


# %% answer="modules_call" wrong="the dict's first match of the last name" spoils="apply get_submodule"
def get_submodule(self, target):
    for name, module in self.named_modules():
        if name == target:
            return module
    raise AttributeError(f"{type(self).__name__} has no attribute `{target}`")


# %% answer="modules_call" wrong="new zeros" spoils="zero_grad"
def zero_grad(self, set_to_none=True):
    for each in self.parameters():
        if set_to_none or each.grad is None:
            each.grad = None
        else:
            each.grad = each.grad.detach() * 0


# %% answer="modules_call" wrong="None becomes zeros" spoils="zero_grad"
def zero_grad(self, set_to_none=True):
    for each in self.parameters():
        if set_to_none:
            each.grad = None
        else:
            each.grad = each.detach().clone().zero_() if each.grad is None else each.grad.detach().zero_()


# %% answer="modules_call" wrong="the history stays" spoils="zero_grad"
def zero_grad(self, set_to_none=True):
    for each in self.parameters():
        if set_to_none:
            each.grad = None
        elif each.grad is not None:
            each.grad.zero_()


# %% answer="modules_call" wrong="the module's own parameters" spoils="zero_grad"
def zero_grad(self, set_to_none=True):
    for each in self._parameters.values():
        if each is not None:
            each.grad = None if set_to_none or each.grad is None else each.grad.detach().zero_()


# %% answer="modules_call" wrong="always None" spoils="zero_grad"
def zero_grad(self, set_to_none=True):
    for each in self.parameters():
        each.grad = None


# %% answer="modules_call" wrong="always zeros" spoils="zero_grad"
def zero_grad(self, set_to_none=True):
    for each in self.parameters():
        if each.grad is not None:
            each.grad = each.grad.detach().zero_()


# %% answer="modules_call" wrong="zeros the parameters" spoils="zero_grad"
def zero_grad(self, set_to_none=True):
    for each in self.parameters():
        if set_to_none or each.grad is None:
            each.grad = None
        else:
            each.data.zero_()


# %% answer="modules_call" wrong="stops at the first without a gradient" spoils="zero_grad"
def zero_grad(self, set_to_none=True):
    for each in reversed(list(self.parameters())):
        if each.grad is None:
            return
        each.grad = None if set_to_none else each.grad.detach().zero_()


# %% answer="modules_call" right="tuples of hooks, detach, fill_"
def __call__(self, *args, **kwargs):
    for hook in tuple(self._forward_pre_hooks.values()):
        answer = hook(self, args)
        if answer is None:
            continue
        if not isinstance(answer, tuple):
            answer = (answer,)
        args = answer
    if len(self._backward_hooks) > 0:
        call = Call(self)
        args = call.enter(args)
    else:
        call = None
    result = self.forward(*args, **kwargs)
    for hook in [*self._forward_hooks.values()]:
        answer = hook(self, args, result)
        if answer is not None:
            result = answer
    if call is not None:
        return call.leave(result)
    return result


def apply(self, fn):
    for name, module in self._modules.items():
        if module is not None:
            Module.apply(module, fn)
    fn(self)
    return self


def get_submodule(self, target):
    if target == "":
        return self
    first, _, rest = target.partition(".")
    if not hasattr(self, first):
        raise AttributeError(f"{type(self).__name__} has no attribute `{first}`")
    found = getattr(self, first)
    if not isinstance(found, Module):
        raise AttributeError(f"`{first}` is not an nn.Module")
    return found.get_submodule(rest)


def zero_grad(self, set_to_none=True):
    for _, each in self.named_parameters():
        if each.grad is None:
            continue
        if set_to_none:
            each.grad = None
            continue
        each.grad = each.grad.detach()
        each.grad.fill_(0)


# %% answer="modules_call" right="missing marked by an object of its own, gradients written through data"
def get_submodule(self, target):
    missing, module = object(), self
    for name in filter(None, target.split(".")):
        inner = getattr(module, name, missing)
        if inner is missing:
            raise AttributeError(f"{module.__class__.__name__} has no attribute `{name}`")
        if not isinstance(inner, Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        module = inner
    return module


def apply(self, fn):
    order = []

    def visit(module):
        for child in module.children():
            visit(child)
        order.append(module)

    visit(self)
    for module in order:
        fn(module)
    return self


# %% answer="modules_call" wrong="multiplies by 0, which leaves infinite gradients" spoils="zero_grad"
def zero_grad(self, set_to_none=True):
    for each in self.parameters():
        each.grad = None if set_to_none or each.grad is None else each.grad.detach().mul_(0)


# %% answer="modules_call" right="one expression"
def zero_grad(self, set_to_none=True):
    for each in self.parameters():
        each.grad = None if set_to_none or each.grad is None else each.grad.detach().zero_()


# %% answer="modules_setattr" wrong="a frozen parameter is an ordinary tensor"
def __setattr__(self, name, value):
    kind = None
    if isinstance(value, Tensor) and isinstance(value, Parameter) and value.requires_grad:
        kind = "_parameters"
    elif isinstance(value, Module):
        kind = "_modules"
    if kind and kind not in self.__dict__:
        raise AttributeError(
            f"cannot assign {'parameters' if kind == '_parameters' else 'module'} before Module.__init__() call"
        )
    home = next((t for t in ("_parameters", "_modules", "_buffers") if name in self.__dict__.get(t, ())), None)
    if kind and not (kind == "_modules" and home == "_parameters"):
        if home != kind:
            self.__dict__.pop(name, None)
            if home:
                self.__dict__[home].pop(name)
        self.__dict__[kind][name] = value
    elif home is None:
        object.__setattr__(self, name, value)
    elif value is None or (home == "_buffers" and isinstance(value, Tensor)):
        self.__dict__[home][name] = value
    else:
        raise TypeError(refused(name, value, home))


# %% answer="modules_call" wrong="looks all hooks up at the start" spoils="__call__"
def __call__(self, *args, **kwargs):
    before, after = list(self._forward_pre_hooks.values()), list(self._forward_hooks.values())
    for hook in before:
        changed = hook(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    call = Call(self) if self._backward_hooks else None
    if call is not None:
        args = call.enter(args)
    result = self.forward(*args, **kwargs)
    for hook in after:
        changed = hook(self, args, result)
        if changed is not None:
            result = changed
    return result if call is None else call.leave(result)


# %% answer="modules_state_dict" wrong="an entry that is None counts as missing" spoils="load_state_dict"
def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> _IncompatibleKeys:
    own = self.state_dict(keep_vars=True)
    missing, lines = [], []
    for name, target in own.items():
        source = state_dict.get(name)
        if source is None:
            missing.append(name)
        elif message := load(name, target, source):
            lines.append(message)
    unexpected = [name for name in state_dict if name not in own]
    if strict and unexpected:
        names = ", ".join(f'"{name}"' for name in unexpected)
        lines.insert(0, f"Unexpected key(s) in state_dict: {names}. ")
    if strict and missing:
        names = ", ".join(f'"{name}"' for name in missing)
        lines.insert(0, f"Missing key(s) in state_dict: {names}. ")
    if lines:
        raise RuntimeError("\n\t".join([f"Error(s) in loading state_dict for {type(self).__name__}:", *lines]))
    return _IncompatibleKeys(missing, unexpected)


# %% answer="modules_state_dict" wrong="materializes a lazy parameter before it looks whether the source is a tensor" spoils="load"
def load(name: str, target: Tensor, source: Any) -> str:
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if not isinstance(source, Tensor):
        return (
            f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from '
            f"checkpoint but received {type(source)}"
        )
    if source.shape != target.shape:
        return (
            f"size mismatch for {name}: copying a param with shape {source.shape} from checkpoint, the shape in "
            f"current model is {target.shape}."
        )
    with no_grad():
        target.copy_(source)
    return ""


# %% answer="modules_state_dict" right="writes through detached tensors, and makes the lines first"
def saved_members(self) -> dict[str, Any]:
    members = dict(self._parameters)
    for name, buffer in self._buffers.items():
        if name not in self._not_saved:
            members[name] = buffer
    return members


def load(name: str, target: Tensor, source: Any) -> str:
    if not isinstance(source, Tensor):
        return (
            f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from '
            f"checkpoint but received {type(source)}"
        )
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if tuple(source.shape) != tuple(target.shape):
        return (
            f"size mismatch for {name}: copying a param with shape {source.shape} from checkpoint, the shape in "
            f"current model is {target.shape}."
        )
    target.detach().copy_(source.detach())
    return ""
