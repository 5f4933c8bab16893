# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 22` grades them.


# %% answer="sixteen_predict_types" wrong="sum in float32, product first"
prediction = ["bfloat16","float32","float32","float32","float32","float32"]


# %% answer="sixteen_predict_types" wrong="third one taken for bfloat16"
prediction = ["bfloat16","bfloat16","bfloat16","float32","float32","float32"]


# %% answer="sixteen_autocast" right="as first written, from the task alone"
def cast_as_listed(op, args, below):
    candidates = [each for each in tensors_in(args) if may_be_cast(each)]
    if not candidates:
        return below(op, args)
    kind = candidates[0].device.type
    precision = State.on[kind]
    rule = LISTS[kind].get(op.__name__)
    if rule is not None:
        target = rule(candidates, precision)
        args = replace(args, lambda each: cast(each, target))
    before = State.on
    State.on = {name: value for name, value in before.items() if name != kind}
    try:
        return below(op, args)
    finally:
        State.on = before


def cast(x, target):
    if not (isinstance(x, Tensor) and may_be_cast(x)) or x.dtype is target:
        return x
    if not (x.dtype is float32 and x.is_leaf and x.requires_grad):
        return x.to(target)
    key = id(x), target, Mode.enabled
    if key not in State.cast_weights:
        State.cast_weights[key] = x, x.to(target)
    return State.cast_weights[key][1]


def __enter__(self):
    State.outer.append(State.on)
    State.on = {k: v for k, v in State.on.items() if k != self.device_type}
    if self.enabled:
        State.on[self.device_type] = self.precision
        fill("autocast", cast_as_listed)
    return self


def __exit__(self, *error):
    State.on = State.outer.pop()
    if not State.outer:
        State.cast_weights.clear()


# %% answer="sixteen_autocast" wrong="no try/finally below"
def cast_as_listed(op, args, below):
    candidates = [each for each in tensors_in(args) if may_be_cast(each)]
    if not candidates:
        return below(op, args)
    kind = candidates[0].device.type
    precision = State.on[kind]
    rule = LISTS[kind].get(op.__name__)
    if rule is not None:
        target = rule(candidates, precision)
        args = replace(args, lambda each: cast(each, target))
    before = State.on
    State.on = {name: value for name, value in before.items() if name != kind}
    result = below(op, args)      # no try/finally
    State.on = before
    return result


def cast(x, target):
    if not (isinstance(x, Tensor) and may_be_cast(x)) or x.dtype is target:
        return x
    if not (x.dtype is float32 and x.is_leaf and x.requires_grad):
        return x.to(target)
    key = id(x), target, Mode.enabled
    if key not in State.cast_weights:
        State.cast_weights[key] = x, x.to(target)
    return State.cast_weights[key][1]


def __enter__(self):
    State.outer.append(State.on)
    State.on = {k: v for k, v in State.on.items() if k != self.device_type}
    if self.enabled:
        State.on[self.device_type] = self.precision
        fill("autocast", cast_as_listed)
    return self


def __exit__(self, *error):
    State.on = State.outer.pop()
    if not State.outer:
        State.cast_weights.clear()


# %% answer="sixteen_autocast" wrong="cache keeps None for the weight"
def cast_as_listed(op, args, below):
    candidates = [each for each in tensors_in(args) if may_be_cast(each)]
    if not candidates:
        return below(op, args)
    kind = candidates[0].device.type
    precision = State.on[kind]
    rule = LISTS[kind].get(op.__name__)
    if rule is not None:
        target = rule(candidates, precision)
        args = replace(args, lambda each: cast(each, target))
    before = State.on
    State.on = {name: value for name, value in before.items() if name != kind}
    try:
        return below(op, args)
    finally:
        State.on = before


def cast(x, target):
    if not (isinstance(x, Tensor) and may_be_cast(x)) or x.dtype is target:
        return x
    if not (x.dtype is float32 and x.is_leaf and x.requires_grad):
        return x.to(target)
    key = id(x), target, Mode.enabled
    if key not in State.cast_weights:
        State.cast_weights[key] = None, x.to(target)   # doesn't hold the weight
    return State.cast_weights[key][1]


def __enter__(self):
    State.outer.append(State.on)
    State.on = {k: v for k, v in State.on.items() if k != self.device_type}
    if self.enabled:
        State.on[self.device_type] = self.precision
        fill("autocast", cast_as_listed)
    return self


def __exit__(self, *error):
    State.on = State.outer.pop()
    if not State.outer:
        State.cast_weights.clear()


# %% answer="sixteen_autocast" wrong="pops in place"
def cast_as_listed(op, args, below):
    candidates = [each for each in tensors_in(args) if may_be_cast(each)]
    if not candidates:
        return below(op, args)
    kind = candidates[0].device.type
    precision = State.on[kind]
    rule = LISTS[kind].get(op.__name__)
    if rule is not None:
        target = rule(candidates, precision)
        args = replace(args, lambda each: cast(each, target))
    before = State.on
    State.on = {name: value for name, value in before.items() if name != kind}
    try:
        return below(op, args)
    finally:
        State.on = before


def cast(x, target):
    if not (isinstance(x, Tensor) and may_be_cast(x)) or x.dtype is target:
        return x
    if not (x.dtype is float32 and x.is_leaf and x.requires_grad):
        return x.to(target)
    key = id(x), target, Mode.enabled
    if key not in State.cast_weights:
        State.cast_weights[key] = x, x.to(target)
    return State.cast_weights[key][1]


def __enter__(self):
    State.outer.append(dict(State.on))
    if self.enabled:
        State.on = dict(State.on) 
        State.on[self.device_type] = self.precision
        fill("autocast", cast_as_listed)
    else:
        State.on.pop(self.device_type, None)   # in place
    return self


def __exit__(self, *error):
    State.on = State.outer.pop()
    if not State.outer:
        State.cast_weights.clear()


# %% answer="sixteen_autocast" wrong="a disabled block leaves it on"
def cast_as_listed(op, args, below):
    candidates = [each for each in tensors_in(args) if may_be_cast(each)]
    if not candidates:
        return below(op, args)
    kind = candidates[0].device.type
    precision = State.on[kind]
    rule = LISTS[kind].get(op.__name__)
    if rule is not None:
        target = rule(candidates, precision)
        args = replace(args, lambda each: cast(each, target))
    before = State.on
    State.on = {name: value for name, value in before.items() if name != kind}
    try:
        return below(op, args)
    finally:
        State.on = before


def cast(x, target):
    if not (isinstance(x, Tensor) and may_be_cast(x)) or x.dtype is target:
        return x
    if not (x.dtype is float32 and x.is_leaf and x.requires_grad):
        return x.to(target)
    key = id(x), target, Mode.enabled
    if key not in State.cast_weights:
        State.cast_weights[key] = x, x.to(target)
    return State.cast_weights[key][1]


def __enter__(self):
    State.outer.append(State.on)
    on = {**State.on, self.device_type: self.precision} if self.enabled else dict(State.on)
    State.on = on
    fill("autocast", cast_as_listed)
    return self


def __exit__(self, *error):
    State.on = State.outer.pop()
    if not State.outer:
        State.cast_weights.clear()


# %% answer="sixteen_scaler" right="as first written, from the task alone"
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    if id(optimizer) in self.finite:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
    grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if any(g.dtype is float16 for g in grads):
        raise ValueError("Attempting to unscale FP16 gradients.")
    with no_grad():
        self.finite[id(optimizer)] = [bool(g.isfinite().all()) for g in grads]
        for g in grads:
            g.mul_(1 / self.factor)


def step(self, optimizer, *args, **kwargs):
    if not self.enabled:
        return optimizer.step(*args, **kwargs)
    if "closure" in kwargs:
        raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
    if id(optimizer) in self.stepped:
        raise RuntimeError("step() has already been called since the last update().")
    if id(optimizer) not in self.finite:
        self.unscale_(optimizer)
    found = self.finite[id(optimizer)]
    assert found, "No inf checks were recorded for this optimizer."
    self.stepped.add(id(optimizer))
    if all(found):
        return optimizer.step(*args, **kwargs)
    return None


def update(self, new_scale=None):
    if not self.enabled:
        return
    if new_scale is not None:
        self.factor = new_scale
    else:
        found = [flag for flags in self.finite.values() for flag in flags]
        assert found, "No inf checks were recorded prior to update."
        if not all(found):
            self.factor *= self.backoff_factor
            self.good_steps = 0
        else:
            self.good_steps += 1
            if self.good_steps == self.growth_interval:
                self.factor *= self.growth_factor
                self.good_steps = 0
    self.finite.clear()
    self.stepped.clear()


# %% answer="sixteen_scaler" right="early return for new_scale"
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    if id(optimizer) in self.finite:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
    grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if any(g.dtype is float16 for g in grads):
        raise ValueError("Attempting to unscale FP16 gradients.")
    with no_grad():
        self.finite[id(optimizer)] = [bool(g.isfinite().all()) for g in grads]
        for g in grads:
            g.mul_(1 / self.factor)


def step(self, optimizer, *args, **kwargs):
    if not self.enabled:
        return optimizer.step(*args, **kwargs)
    if "closure" in kwargs:
        raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
    if id(optimizer) in self.stepped:
        raise RuntimeError("step() has already been called since the last update().")
    if id(optimizer) not in self.finite:
        self.unscale_(optimizer)
    found = self.finite[id(optimizer)]
    assert found, "No inf checks were recorded for this optimizer."
    self.stepped.add(id(optimizer))
    if all(found):
        return optimizer.step(*args, **kwargs)
    return None


def update(self, new_scale=None):
    if not self.enabled:
        return
    if new_scale is not None:
        self.factor = new_scale
        self.finite.clear(); self.stepped.clear()
        return
    found = [f for flags in self.finite.values() for f in flags]
    assert found, "No inf checks were recorded prior to update."
    if all(found):
        self.good_steps += 1
    else:
        self.factor *= self.backoff_factor
        self.good_steps = 0
    if self.good_steps == self.growth_interval:
        self.factor *= self.growth_factor
        self.good_steps = 0
    self.finite.clear(); self.stepped.clear()


# %% answer="sixteen_scaler" wrong="a skipped step is not noted"
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    if id(optimizer) in self.finite:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
    grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if any(g.dtype is float16 for g in grads):
        raise ValueError("Attempting to unscale FP16 gradients.")
    with no_grad():
        self.finite[id(optimizer)] = [bool(g.isfinite().all()) for g in grads]
        for g in grads:
            g.mul_(1 / self.factor)


def step(self, optimizer, *args, **kwargs):
    if not self.enabled:
        return optimizer.step(*args, **kwargs)
    if "closure" in kwargs:
        raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
    if id(optimizer) in self.stepped:
        raise RuntimeError("step() has already been called since the last update().")
    if id(optimizer) not in self.finite:
        self.unscale_(optimizer)
    found = self.finite[id(optimizer)]
    assert found, "No inf checks were recorded for this optimizer."
    if all(found):
        self.stepped.add(id(optimizer))    # not when left out
        return optimizer.step(*args, **kwargs)
    return None


def update(self, new_scale=None):
    if not self.enabled:
        return
    if new_scale is not None:
        self.factor = new_scale
    else:
        found = [flag for flags in self.finite.values() for flag in flags]
        assert found, "No inf checks were recorded prior to update."
        if not all(found):
            self.factor *= self.backoff_factor
            self.good_steps = 0
        else:
            self.good_steps += 1
            if self.good_steps == self.growth_interval:
                self.factor *= self.growth_factor
                self.good_steps = 0
    self.finite.clear()
    self.stepped.clear()


# %% answer="sixteen_scaler" wrong="new_scale resets good_steps"
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    if id(optimizer) in self.finite:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
    grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if any(g.dtype is float16 for g in grads):
        raise ValueError("Attempting to unscale FP16 gradients.")
    with no_grad():
        self.finite[id(optimizer)] = [bool(g.isfinite().all()) for g in grads]
        for g in grads:
            g.mul_(1 / self.factor)


def step(self, optimizer, *args, **kwargs):
    if not self.enabled:
        return optimizer.step(*args, **kwargs)
    if "closure" in kwargs:
        raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
    if id(optimizer) in self.stepped:
        raise RuntimeError("step() has already been called since the last update().")
    if id(optimizer) not in self.finite:
        self.unscale_(optimizer)
    found = self.finite[id(optimizer)]
    assert found, "No inf checks were recorded for this optimizer."
    self.stepped.add(id(optimizer))
    if all(found):
        return optimizer.step(*args, **kwargs)
    return None


def update(self, new_scale=None):
    if not self.enabled:
        return
    if new_scale is not None:
        self.factor = new_scale
        self.good_steps = 0    # not asked for
    else:
        found = [flag for flags in self.finite.values() for flag in flags]
        assert found, "No inf checks were recorded prior to update."
        if not all(found):
            self.factor *= self.backoff_factor
            self.good_steps = 0
        else:
            self.good_steps += 1
            if self.good_steps == self.growth_interval:
                self.factor *= self.growth_factor
                self.good_steps = 0
    self.finite.clear()
    self.stepped.clear()


# %% answer="sixteen_scaler" wrong="noted and divided before the float16 check"
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    if id(optimizer) in self.finite:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
    self.finite[id(optimizer)] = []
    with no_grad():
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    if p.grad.dtype is float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    p.grad /= self.factor
                    self.finite[id(optimizer)].append(bool(p.grad.isfinite().all()))


def step(self, optimizer, *args, **kwargs):
    if not self.enabled:
        return optimizer.step(*args, **kwargs)
    if "closure" in kwargs:
        raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
    if id(optimizer) in self.stepped:
        raise RuntimeError("step() has already been called since the last update().")
    if id(optimizer) not in self.finite:
        self.unscale_(optimizer)
    found = self.finite[id(optimizer)]
    assert found, "No inf checks were recorded for this optimizer."
    self.stepped.add(id(optimizer))
    if all(found):
        return optimizer.step(*args, **kwargs)
    return None


def update(self, new_scale=None):
    if not self.enabled:
        return
    if new_scale is not None:
        self.factor = new_scale
    else:
        found = [flag for flags in self.finite.values() for flag in flags]
        assert found, "No inf checks were recorded prior to update."
        if not all(found):
            self.factor *= self.backoff_factor
            self.good_steps = 0
        else:
            self.good_steps += 1
            if self.good_steps == self.growth_interval:
                self.factor *= self.growth_factor
                self.good_steps = 0
    self.finite.clear()
    self.stepped.clear()


# %% answer="sixteen_scaler" wrong="isfinite of the sum"
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    if id(optimizer) in self.finite:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
    grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if any(g.dtype is float16 for g in grads):
        raise ValueError("Attempting to unscale FP16 gradients.")
    with no_grad():
        self.finite[id(optimizer)] = [bool(g.sum().isfinite()) for g in grads]   # a sum may overflow
        for g in grads:
            g.mul_(1 / self.factor)


def step(self, optimizer, *args, **kwargs):
    if not self.enabled:
        return optimizer.step(*args, **kwargs)
    if "closure" in kwargs:
        raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
    if id(optimizer) in self.stepped:
        raise RuntimeError("step() has already been called since the last update().")
    if id(optimizer) not in self.finite:
        self.unscale_(optimizer)
    found = self.finite[id(optimizer)]
    assert found, "No inf checks were recorded for this optimizer."
    self.stepped.add(id(optimizer))
    if all(found):
        return optimizer.step(*args, **kwargs)
    return None


def update(self, new_scale=None):
    if not self.enabled:
        return
    if new_scale is not None:
        self.factor = new_scale
    else:
        found = [flag for flags in self.finite.values() for flag in flags]
        assert found, "No inf checks were recorded prior to update."
        if not all(found):
            self.factor *= self.backoff_factor
            self.good_steps = 0
        else:
            self.good_steps += 1
            if self.good_steps == self.growth_interval:
                self.factor *= self.growth_factor
                self.good_steps = 0
    self.finite.clear()
    self.stepped.clear()


# %% answer="sixteen_scaler" wrong="adapts the scale once for each optimizer"
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    if id(optimizer) in self.finite:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
    grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if any(g.dtype is float16 for g in grads):
        raise ValueError("Attempting to unscale FP16 gradients.")
    with no_grad():
        self.finite[id(optimizer)] = [bool(g.isfinite().all()) for g in grads]
        for g in grads:
            g.mul_(1 / self.factor)


def step(self, optimizer, *args, **kwargs):
    if not self.enabled:
        return optimizer.step(*args, **kwargs)
    if "closure" in kwargs:
        raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
    if id(optimizer) in self.stepped:
        raise RuntimeError("step() has already been called since the last update().")
    if id(optimizer) not in self.finite:
        self.unscale_(optimizer)
    found = self.finite[id(optimizer)]
    assert found, "No inf checks were recorded for this optimizer."
    self.stepped.add(id(optimizer))
    if all(found):
        return optimizer.step(*args, **kwargs)
    return None


def update(self, new_scale=None):
    if not self.enabled:
        return
    if new_scale is not None:
        self.factor = new_scale
    else:
        assert any(self.finite.values()), "No inf checks were recorded prior to update."
        for flags in self.finite.values():
            if not all(flags):
                self.factor *= self.backoff_factor
                self.good_steps = 0
            else:
                self.good_steps += 1
                if self.good_steps == self.growth_interval:
                    self.factor *= self.growth_factor
                    self.good_steps = 0
    self.finite.clear()
    self.stepped.clear()

# %% answer="sixteen_master" right="as first written, from the task alone"
def take_gradients(self):
    for copy, weight in zip(self.copies, self.weights, strict=True):
        copy.grad = None if weight.grad is None else weight.grad.float()


def give_weights(self):
    with no_grad():
        for copy, weight in zip(self.copies, self.weights, strict=True):
            weight.copy_(copy)


# %% answer="sixteen_master" right="detach().copy_ without no_grad"
def take_gradients(self):
    for copy, weight in zip(self.copies, self.weights, strict=True):
        copy.grad = None if weight.grad is None else weight.grad.float()


def give_weights(self):
    for copy, weight in zip(self.copies, self.weights, strict=True):
        weight.detach().copy_(copy.detach())


# %% answer="sixteen_master" right="to(copy.dtype)"
def take_gradients(self):
    for copy, weight in zip(self.copies, self.weights, strict=True):
        copy.grad = weight.grad.to(copy.dtype) if weight.grad is not None else None


def give_weights(self):
    with no_grad():
        for copy, weight in zip(self.copies, self.weights, strict=True):
            weight.copy_(copy)


# %% answer="sixteen_master" wrong="None is not passed on"
def take_gradients(self):
    for copy, weight in zip(self.copies, self.weights, strict=True):
        if weight.grad is not None:
            copy.grad = weight.grad.float()


def give_weights(self):
    with no_grad():
        for copy, weight in zip(self.copies, self.weights, strict=True):
            weight.copy_(copy)


# %% answer="sixteen_master" wrong="new weights in place of the old"
def take_gradients(self):
    for copy, weight in zip(self.copies, self.weights, strict=True):
        copy.grad = None if weight.grad is None else weight.grad.float()


def give_weights(self):
    for i, (copy, weight) in enumerate(zip(self.copies, self.weights, strict=True)):
        self.weights[i] = copy.detach().to(weight.dtype).requires_grad_()


# %% answer="sixteen_master" wrong="always through bfloat16"
def take_gradients(self):
    for copy, weight in zip(self.copies, self.weights, strict=True):
        copy.grad = None if weight.grad is None else weight.grad.float()


def give_weights(self):
    with no_grad():
        for copy, weight in zip(self.copies, self.weights):
            weight.copy_(copy.bfloat16())     # always through bfloat16


# %% answer="sixteen_rounding" right="as first written, from the task alone"
def cut(array, extra):
    bits = array.view(np.uint32) + np.asarray(extra).astype(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(bfloat16.numpy)


def nearest(x):
    bits = x.array.view(np.uint32)
    return from_array(cut(x.array, np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))))


def stochastic_round(x):
    extra = randint(0, 2**16, x.shape, device=x.device)
    return from_array(cut(x.array, extra.array))


# %% answer="sixteen_rounding" right="by way of int64"
def cut(array, extra):
    bits = array.view(np.uint32).astype(np.int64) + extra
    return (bits & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(bfloat16.numpy)


def nearest(x):
    bits = x.array.view(np.uint32)
    return from_array(cut(x.array, np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))))


def stochastic_round(x):
    extra = randint(0, 2**16, x.shape, device=x.device)
    return from_array(cut(x.array, extra.array))


# %% answer="sixteen_rounding" right="np.where on the odd bit"
def cut(array, extra):
    bits = array.view(np.uint32) + np.asarray(extra).astype(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(bfloat16.numpy)


def nearest(x):
    b = x.array.view(np.uint32)
    odd = (b & 0x10000) != 0
    return from_array(cut(x.array, np.where(odd, 0x8000, 0x7FFF).astype(np.uint32)))


def stochastic_round(x):
    extra = randint(0, 2**16, x.shape, device=x.device)
    return from_array(cut(x.array, extra.array))


# %% answer="sixteen_rounding" wrong="halves up"
def cut(array, extra):
    bits = array.view(np.uint32) + np.asarray(extra).astype(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(bfloat16.numpy)


def nearest(x):
    return from_array(cut(x.array, np.uint32(0x8000)))


def stochastic_round(x):
    extra = randint(0, 2**16, x.shape, device=x.device)
    return from_array(cut(x.array, extra.array))


# %% answer="sixteen_rounding" wrong="astype"
def cut(array, extra):
    bits = array.view(np.uint32) + np.asarray(extra).astype(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(bfloat16.numpy)


def nearest(x):
    return from_array(x.array.astype(bfloat16.numpy))


def stochastic_round(x):
    extra = randint(0, 2**16, x.shape, device=x.device)
    return from_array(cut(x.array, extra.array))


# %% answer="sixteen_rounding" wrong="one number too few"
def cut(array, extra):
    bits = array.view(np.uint32) + np.asarray(extra).astype(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(bfloat16.numpy)


def nearest(x):
    bits = x.array.view(np.uint32)
    return from_array(cut(x.array, np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))))


def stochastic_round(x):
    extra = randint(0, 2**16 - 1, x.shape, device=x.device)
    return from_array(cut(x.array, extra.array))


# %% answer="sixteen_rounding" wrong="one random number for all"
def cut(array, extra):
    bits = array.view(np.uint32) + np.asarray(extra).astype(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(bfloat16.numpy)


def nearest(x):
    bits = x.array.view(np.uint32)
    return from_array(cut(x.array, np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))))


def stochastic_round(x):
    extra = randint(0, 2**16, (1,), device=x.device)
    return from_array(cut(x.array, extra.array))


# %% answer="sixteen_repair_clip" right="optimizer.step() if the norm is finite"
def update(micro_batches, model, optimizer, scaler, max_norm):
    optimizer.zero_grad()
    for x, y in micro_batches:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y, reduction="sum") / len(micro_batches)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if torch.isfinite(norm):
        optimizer.step()
    scaler.update()
    return norm.item()


# %% answer="sixteen_repair_clip" wrong="divides by hand, step divides again"
def update(micro_batches, model, optimizer, scaler, max_norm):
    optimizer.zero_grad()
    for x, y in micro_batches:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y, reduction="sum") / len(micro_batches)
        scaler.scale(loss).backward()
    for p in model.parameters():
        p.grad /= scaler.get_scale()          # by hand; then step() divides again
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% answer="sixteen_measure_factor" right="as first written, from the task alone"
def window(gradients):
    def finite(p):
        return bool(gradients(2.0**p).isfinite().all())
    def few(p):
        g = gradients(2.0**p)
        return bool((g == 0).float().mean() <= 0.01)
    lo, hi = -10, 41
    while hi - lo > 1:
        m = (lo + hi) // 2
        if finite(m): lo = m
        else: hi = m
    largest = lo
    lo, hi = -11, 40
    while hi - lo > 1:
        m = (lo + hi) // 2
        if few(m): hi = m
        else: lo = m
    return 2.0**hi, 2.0**largest


# %% answer="sixteen_measure_factor" wrong="all powers one by one"
def window(gradients):
    powers = [2.0**p for p in range(-10, 41)]
    ok = [p for p in powers if gradients(p).isfinite().all()]
    few = [p for p in powers if (gradients(p) == 0).float().mean() <= 0.01]
    return few[0], ok[-1]


# %% answer="sixteen_master" wrong="rounds to float16 on the way to a bfloat16 weight" spoils="give_weights"
def take_gradients(self):
    for copy, weight in zip(self.copies, self.weights, strict=True):
        copy.grad = None if weight.grad is None else weight.grad.float()


def give_weights(self):
    with no_grad():
        for copy, weight in zip(self.copies, self.weights, strict=True):
            weight.copy_(copy.half())


# %% answer="sixteen_master" wrong="takes a gradient of 0 for none" spoils="take_gradients"
def take_gradients(self):
    for copy, weight in zip(self.copies, self.weights, strict=True):
        nothing = weight.grad is None or not weight.grad.any()
        copy.grad = None if nothing else weight.grad.float()


def give_weights(self):
    with no_grad():
        for copy, weight in zip(self.copies, self.weights, strict=True):
            weight.copy_(copy)


# %% answer="sixteen_master" wrong="gives back only the weights that have a gradient" spoils="give_weights"
def take_gradients(self):
    for copy, weight in zip(self.copies, self.weights, strict=True):
        copy.grad = None if weight.grad is None else weight.grad.float()


def give_weights(self):
    with no_grad():
        for copy, weight in zip(self.copies, self.weights, strict=True):
            if weight.grad is not None:
                weight.copy_(copy)


# %% answer="sixteen_autocast" wrong="the device of the first tensor of all, which may be where autocast is off" spoils="cast_as_listed"
def cast_as_listed(op, args, below):
    every = list(tensors_in(args))
    tensors = [t for t in every if may_be_cast(t)]
    if not tensors:
        return below(op, args)
    kind = every[0].device.type
    rule = LISTS[kind].get(op.__name__)
    if rule:
        target = rule(tensors, State.on[kind])
        args = replace(args, lambda each: cast(each, target))
    with autocast(kind, enabled=False):
        return below(op, args)


# %% answer="sixteen_autocast" wrong="autocast is off below for all types of devices" spoils="cast_as_listed"
def cast_as_listed(op, args, below):
    tensors = [t for t in tensors_in(args) if may_be_cast(t)]
    if not tensors:
        return below(op, args)
    kind = tensors[0].device.type
    rule = LISTS[kind].get(op.__name__)
    if rule:
        target = rule(tensors, State.on[kind])
        args = replace(args, lambda each: cast(each, target))
    was, State.on = State.on, {}
    try:
        return below(op, args)
    finally:
        State.on = was


# %% answer="sixteen_autocast" wrong="the rule sees tensors that may not be cast" spoils="cast_as_listed"
def cast_as_listed(op, args, below):
    tensors = [t for t in tensors_in(args) if may_be_cast(t)]
    if not tensors:
        return below(op, args)
    kind = tensors[0].device.type
    rule = LISTS[kind].get(op.__name__)
    if rule:
        target = rule(list(tensors_in(args)), State.on[kind])
        args = replace(args, lambda each: cast(each, target))
    with autocast(kind, enabled=False):
        return below(op, args)


# %% answer="sixteen_autocast" wrong="the list of the CPU, whatever the device" spoils="cast_as_listed"
def cast_as_listed(op, args, below):
    tensors = [t for t in tensors_in(args) if may_be_cast(t)]
    if not tensors:
        return below(op, args)
    kind = tensors[0].device.type
    rule = LISTS["cpu"].get(op.__name__)
    if rule:
        target = rule(tensors, State.on[kind])
        args = replace(args, lambda each: cast(each, target))
    with autocast(kind, enabled=False):
        return below(op, args)


# %% answer="sixteen_autocast" wrong="removes the layer after the outermost block" spoils="__enter__ __exit__"
def __enter__(self):
    State.outer.append(State.on)
    State.on = {k: v for k, v in State.on.items() if k != self.device_type}
    if self.enabled:
        State.on[self.device_type] = self.precision
        fill("autocast", cast_as_listed)
    return self

def __exit__(self, *error):
    State.on = State.outer.pop()
    if not State.outer:
        State.cast_weights.clear()
        fill("autocast", None)


# %% answer="sixteen_autocast" wrong="forgets the cast weights when autocast is on nowhere, though a block is open" spoils="__enter__ __exit__"
def __enter__(self):
    State.outer.append(State.on)
    State.on = {k: v for k, v in State.on.items() if k != self.device_type}
    if self.enabled:
        State.on[self.device_type] = self.precision
        fill("autocast", cast_as_listed)
    return self

def __exit__(self, *error):
    State.on = State.outer.pop()
    if not State.on:
        State.cast_weights.clear()


# %% answer="sixteen_autocast" wrong="a disabled block installs the layer" spoils="__enter__ __exit__"
def __enter__(self):
    State.outer.append(State.on)
    State.on = {k: v for k, v in State.on.items() if k != self.device_type}
    if self.enabled:
        State.on[self.device_type] = self.precision
    fill("autocast", cast_as_listed)
    return self

def __exit__(self, *error):
    State.on = State.outer.pop()
    if not State.outer:
        State.cast_weights = {}
    return False


# %% answer="sixteen_scaler" wrong="new gradients in place of the old" spoils="unscale_"
@no_grad()
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    if id(optimizer) in self.finite:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
    gs = [x.grad for g in optimizer.param_groups for x in g["params"] if x.grad is not None]
    if any(g.dtype is float16 for g in gs):
        raise ValueError("Attempting to unscale FP16 gradients.")
    self.finite[id(optimizer)] = [bool(g.isfinite().all()) for g in gs]
    for group in optimizer.param_groups:
        for x in group["params"]:
            if x.grad is not None:
                x.grad = x.grad / self.factor


# %% answer="sixteen_scaler" right="finite after the multiplication is finite before"
@no_grad()
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    if id(optimizer) in self.finite:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
    gs = [x.grad for g in optimizer.param_groups for x in g["params"] if x.grad is not None]
    if any(g.dtype is float16 for g in gs):
        raise ValueError("Attempting to unscale FP16 gradients.")
    for g in gs:
        g.mul_(1 / self.factor)
    self.finite[id(optimizer)] = [bool(g.isfinite().all()) for g in gs]


# %% answer="sixteen_scaler" wrong="refuses every gradient of 16 bits" spoils="unscale_"
@no_grad()
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    if id(optimizer) in self.finite:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
    gs = [x.grad for g in optimizer.param_groups for x in g["params"] if x.grad is not None]
    if any(g.element_size() == 2 for g in gs):
        raise ValueError("Attempting to unscale FP16 gradients.")
    self.finite[id(optimizer)] = [bool(g.isfinite().all()) for g in gs]
    for g in gs:
        g.mul_(1 / self.factor)


# %% answer="sixteen_scaler" wrong="refuses a closure when scaling is disabled" spoils="step"
def step(self, optimizer, *args, **kwargs):
    if "closure" in kwargs:
        raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
    if not self.enabled:
        return optimizer.step(*args, **kwargs)
    if id(optimizer) in self.stepped:
        raise RuntimeError("step() has already been called since the last update().")
    if id(optimizer) not in self.finite:
        self.unscale_(optimizer)
    if not self.finite[id(optimizer)]:
        raise AssertionError("No inf checks were recorded for this optimizer.")
    self.stepped.add(id(optimizer))
    return optimizer.step(*args, **kwargs) if all(self.finite[id(optimizer)]) else None


# %% answer="sixteen_scaler" wrong="a step that failed without gradients counts as made" spoils="step"
def step(self, optimizer, *args, **kwargs):
    if not self.enabled:
        return optimizer.step(*args, **kwargs)
    if "closure" in kwargs:
        raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
    if id(optimizer) in self.stepped:
        raise RuntimeError("step() has already been called since the last update().")
    if id(optimizer) not in self.finite:
        self.unscale_(optimizer)
    self.stepped.add(id(optimizer))
    if not self.finite[id(optimizer)]:
        raise AssertionError("No inf checks were recorded for this optimizer.")
    return optimizer.step(*args, **kwargs) if all(self.finite[id(optimizer)]) else None


# %% answer="sixteen_scaler" wrong="a scale is set only after a step" spoils="update"
def update(self, new_scale=None):
    if not self.enabled:
        return
    found = [each for flags in self.finite.values() for each in flags]
    if not found:
        raise AssertionError("No inf checks were recorded prior to update.")
    if new_scale is not None:
        self.factor = new_scale
    elif not all(found):
        self.factor, self.good_steps = self.factor * self.backoff_factor, 0
    else:
        self.good_steps += 1
        if self.good_steps == self.growth_interval:
            self.factor, self.good_steps = self.factor * self.growth_factor, 0
    self.finite, self.stepped = {}, set()


# %% answer="sixteen_master" wrong="takes the gradients away from the weights" spoils="take_gradients"
def take_gradients(self):
    for w, c in zip(self.weights, self.copies):
        c.grad = None if w.grad is None else w.grad.float()
        w.grad = None


# %% answer="sixteen_master" wrong="gives the weights new memory" spoils="give_weights"
def give_weights(self):
    for w, c in zip(self.weights, self.copies):
        w.data = c.detach().to(w.dtype)


# %% answer="sixteen_rounding" wrong="a matrix becomes a vector" spoils="nearest"
def nearest(x):
    flat = x.array.reshape(-1)
    return from_array(cut(flat, 0x7FFF + (flat.view(np.uint32) >> 16 & 1)))


# %% answer="sixteen_rounding" wrong="NumPy's generator, which manual_seed does not seed" spoils="stochastic_round"
def stochastic_round(x):
    extra = np.random.randint(0, 2**16, x.shape)
    return from_array(cut(x.array, extra))


# %% answer="sixteen_rounding" right="where chooses what is added"
def nearest(x):
    upper = x.array.view(np.uint32) >> np.uint32(16)
    odd = upper & np.uint32(1)
    extra = np.where(odd == 1, np.uint32(0x8000), np.uint32(0x7FFF))
    return from_array(cut(x.array, extra))


# %% answer="sixteen_repair_clip" wrong="clips each parameter by itself"
def update(micro_batches, model, optimizer, scaler, max_norm):
    optimizer.zero_grad()
    for x, y in micro_batches:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y, reduction="sum") / len(micro_batches)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.stack([nn.utils.clip_grad_norm_([p], max_norm) for p in model.parameters()]).norm()
    scaler.step(optimizer)
    scaler.update()
    return norm.item()
