# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 15` grades them.


# %% answer="rnn_unroll" right="the state as a list, outputs written into a list of their places"
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = [None] * len(inputs)
    state = list(state)
    for t in range(len(inputs) - 1, -1, -1) if reverse else range(len(inputs)):
        x = inputs[t]
        new = step(x, tuple(s[: x.shape[0]] for s in state), weight, bias)
        outputs[t] = new[0]
        state = [n if n.shape[0] == s.shape[0] else cat([n, s[n.shape[0] :]], 0) for n, s in zip(new, state)]
    return outputs, tuple(state)


# %% answer="rnn_unroll" wrong="the outputs of the backward direction stay in the order in which they were computed"
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        rows = len(x)
        stepped = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(stepped[0])
        state = tuple(cat([new, old[rows:]]) for new, old in zip(stepped, state))
    return outputs, state


# %% answer="rnn_unroll" wrong="sequences that have ended lose their states"
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        state = step(x, tuple(each[: len(x)] for each in state), weight, bias)
        outputs.append(state[0])
    return outputs[::-1] if reverse else outputs, state


# %% answer="rnn_unroll" wrong="the inputs are reversed in place"
def unroll(step, inputs, state, weight, bias, reverse=False):
    if reverse:
        inputs.reverse()
    outputs = []
    for x in inputs:
        rows = len(x)
        stepped = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(stepped[0])
        state = tuple(cat([new, old[rows:]]) for new, old in zip(stepped, state))
    return outputs[::-1] if reverse else outputs, state


# %% answer="rnn_unroll" wrong="the last rows take part, not the first"
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        ended = len(state[0]) - len(x)
        stepped = step(x, tuple(each[ended:] for each in state), weight, bias)
        outputs.append(stepped[0])
        state = tuple(cat([old[:ended], new]) for new, old in zip(stepped, state))
    return outputs[::-1] if reverse else outputs, state


# %% answer="rnn_unroll" wrong="only the first tensor of the state is kept for sequences that have ended"
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        rows = len(x)
        stepped = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(stepped[0])
        state = (cat([stepped[0], state[0][rows:]]), *(cat([new, 0 * old[rows:]]) for new, old in zip(stepped[1:], state[1:])))
    return outputs[::-1] if reverse else outputs, state


# %% answer="rnn_unroll" wrong="the states are detached between the steps: truncated backpropagation"
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        rows = len(x)
        stepped = step(x, tuple(each[:rows].detach() for each in state), weight, bias)
        outputs.append(stepped[0])
        state = tuple(cat([new, old[rows:]]) for new, old in zip(stepped, state))
    return outputs[::-1] if reverse else outputs, state


# %% answer="rnn_lstm_step" right="one sigmoid over all parts, tanh as 2 σ(2x) - 1"
def lstm_step(x, state, weight, bias):
    h, c = state
    sums = x + h @ weight.t()
    if bias is not None:
        sums = sums + bias
    n = h.shape[-1]
    gates = sums.sigmoid()
    g = (2 * sums[..., 2 * n : 3 * n]).sigmoid() * 2 - 1
    c = gates[..., n : 2 * n] * c + gates[..., :n] * g
    return gates[..., 3 * n :] * c.tanh(), c


# %% answer="rnn_lstm_step" wrong="the parts in the order i, f, o, g"
def lstm_step(x, state, weight, bias):
    h, c = state
    i, f, o, g = (x + linear(h, weight, bias)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


# %% answer="rnn_lstm_step" wrong="h from the old cell state"
def lstm_step(x, state, weight, bias):
    h, c = state
    i, f, g, o = (x + linear(h, weight, bias)).chunk(4, -1)
    new = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), new


# %% answer="rnn_lstm_step" wrong="the input gate is one minus the forget gate"
def lstm_step(x, state, weight, bias):
    h, c = state
    _, f, g, o = (x + linear(h, weight, bias)).chunk(4, -1)
    c = f.sigmoid() * c + (1 - f.sigmoid()) * g.tanh()
    return o.sigmoid() * c.tanh(), c


# %% answer="rnn_lstm_step" wrong="no tanh around the cell state"
def lstm_step(x, state, weight, bias):
    h, c = state
    i, f, g, o = (x + linear(h, weight, bias)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c, c


# %% answer="rnn_lstm_step" wrong="returns c before h"
def lstm_step(x, state, weight, bias):
    h, c = state
    i, f, g, o = (x + linear(h, weight, bias)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return c, o.sigmoid() * c.tanh()


# %% answer="rnn_lstm_step" wrong="needs a bias"
def lstm_step(x, state, weight, bias):
    h, c = state
    i, f, g, o = (x + h @ weight.t() + bias).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


# %% answer="rnn_gru_step" right="h' = n + z · (h - n)"
def gru_step(x, state, weight, bias):
    h = state[0]
    n_hidden = h.shape[-1]
    u = linear(h, weight, bias)
    gates = (x[..., : 2 * n_hidden] + u[..., : 2 * n_hidden]).sigmoid()
    r, z = gates[..., :n_hidden], gates[..., n_hidden:]
    n = (x[..., 2 * n_hidden :] + r * u[..., 2 * n_hidden :]).tanh()
    return (n + z * (h - n),)


# %% answer="rnn_gru_step" wrong="z and 1 - z are exchanged"
def gru_step(x, state, weight, bias):
    (h,) = state
    x_r, x_z, x_n = x.chunk(3, -1)
    u_r, u_z, u_n = linear(h, weight, bias).chunk(3, -1)
    z, n = (x_z + u_z).sigmoid(), (x_n + (x_r + u_r).sigmoid() * u_n).tanh()
    return (z * n + (1 - z) * h,)


# %% answer="rnn_gru_step" wrong="r multiplies the state before the product with U, as in the paper"
def gru_step(x, state, weight, bias):
    (h,) = state
    x_r, x_z, x_n = x.chunk(3, -1)
    u_r, u_z, _ = linear(h, weight, bias).chunk(3, -1)
    z, r = (x_z + u_z).sigmoid(), (x_r + u_r).sigmoid()
    n = (x_n + linear(r * h, weight, bias).chunk(3, -1)[2]).tanh()
    return ((1 - z) * n + z * h,)


# %% answer="rnn_gru_step" wrong="the update gate comes first"
def gru_step(x, state, weight, bias):
    (h,) = state
    x_z, x_r, x_n = x.chunk(3, -1)
    u_z, u_r, u_n = linear(h, weight, bias).chunk(3, -1)
    z, n = (x_z + u_z).sigmoid(), (x_n + (x_r + u_r).sigmoid() * u_n).tanh()
    return ((1 - z) * n + z * h,)


# %% answer="rnn_gru_step" wrong="the bias is outside of r: it isn't reset"
def gru_step(x, state, weight, bias):
    (h,) = state
    x_r, x_z, x_n = x.chunk(3, -1)
    u_r, u_z, u_n = linear(h, weight, None).chunk(3, -1)
    b_r, b_z, b_n = (0, 0, 0) if bias is None else bias.chunk(3)
    z = (x_z + u_z + b_z).sigmoid()
    n = (x_n + (x_r + u_r + b_r).sigmoid() * u_n + b_n).tanh()
    return ((1 - z) * n + z * h,)


# %% answer="rnn_gru_step" wrong="returns the tensor, not a tuple"
def gru_step(x, state, weight, bias):
    (h,) = state
    x_r, x_z, x_n = x.chunk(3, -1)
    u_r, u_z, u_n = linear(h, weight, bias).chunk(3, -1)
    z, n = (x_z + u_z).sigmoid(), (x_n + (x_r + u_r).sigmoid() * u_n).tanh()
    return (1 - z) * n + z * h


# %% answer="rnn_by_hand" right="all steps' sums first, then matrix products"
def backward_through_time(x, h, W, U, g):
    sums, later = np.empty_like(h), 0.0
    for t in range(len(x) - 1, -1, -1):
        sums[t] = (g[t] + later) * (1 - h[t] * h[t])
        later = U.T @ sums[t]
    return sums.T @ x, sums[1:].T @ h[:-1], sums @ W


# %% answer="rnn_by_hand" wrong="U for its transpose"
def backward_through_time(x, h, W, U, g):
    sums, later = np.empty_like(h), np.zeros(len(U))
    for t in reversed(range(len(x))):
        sums[t] = (g[t] + later) * (1 - h[t] ** 2)
        later = U @ sums[t]
    return sums.T @ x, sums[1:].T @ h[:-1], sums @ W


# %% answer="rnn_by_hand" wrong="the derivative of tanh is taken at the later step"
def backward_through_time(x, h, W, U, g):
    sums, later = np.empty_like(h), np.zeros(len(U))
    for t in reversed(range(len(x))):
        sums[t] = g[t] * (1 - h[t] ** 2) + later
        later = sums[t] @ U
    return sums.T @ x, sums[1:].T @ h[:-1], sums @ W


# %% answer="rnn_by_hand" wrong="U is paired with the state after the step"
def backward_through_time(x, h, W, U, g):
    sums, later = np.empty_like(h), np.zeros(len(U))
    for t in reversed(range(len(x))):
        sums[t] = (g[t] + later) * (1 - h[t] ** 2)
        later = sums[t] @ U
    return sums.T @ x, sums.T @ h, sums @ W


# %% answer="rnn_by_hand" wrong="only one step is carried back"
def backward_through_time(x, h, W, U, g):
    direct = g * (1 - h**2)
    sums = direct.copy()
    sums[:-1] += (direct[1:] @ U) * (1 - h[:-1] ** 2)
    return sums.T @ x, sums[1:].T @ h[:-1], sums @ W


# %% answer="rnn_by_hand" wrong="the gradient of U is transposed"
def backward_through_time(x, h, W, U, g):
    sums, later = np.empty_like(h), np.zeros(len(U))
    for t in reversed(range(len(x))):
        sums[t] = (g[t] + later) * (1 - h[t] ** 2)
        later = sums[t] @ U
    return sums.T @ x, h[:-1].T @ sums[1:], sums @ W


# %% answer="rnn_repair_neighbours" right="one sentence after the other"
def summaries(layer, sentences):
    rows = []
    for each in sentences:
        _, h = layer(each.unsqueeze(1))
        rows.append(torch.cat([h[-2, 0], h[-1, 0]]))
    return torch.stack(rows)


# %% answer="rnn_repair_neighbours" right="the output of the packed batch, at both ends"
def summaries(layer, sentences):
    packed, _ = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    output, lengths = rnn.pad_packed_sequence(packed)
    half = layer.hidden_size
    ends = torch.stack([output[int(length) - 1, n, :half] for n, length in enumerate(lengths.tolist())])
    return torch.cat([ends, output[0, :, half:]], 1)


# %% answer="rnn_repair_neighbours" wrong="the first layer's states"
def summaries(layer, sentences):
    _, h = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    return torch.cat([h[0], h[1]], 1)


# %% answer="rnn_repair_neighbours" wrong="the backward direction first"
def summaries(layer, sentences):
    _, h = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    return torch.cat([h[-1], h[-2]], 1)


# %% answer="rnn_repair_neighbours" wrong="the mean over the steps"
def summaries(layer, sentences):
    output, lengths = rnn.pad_packed_sequence(layer(rnn.pack_sequence(sentences, enforce_sorted=False))[0])
    return output.sum(0) / lengths.unsqueeze(1)


# %% answer="rnn_repair_neighbours" wrong="sorted by length, and left in that order"
def summaries(layer, sentences):
    _, h = layer(rnn.pack_sequence(sorted(sentences, key=len, reverse=True)))
    return torch.cat([h[-2], h[-1]], 1)


# %% answer="rnn_repair_neighbours" wrong="the states are detached: nothing learns"
def summaries(layer, sentences):
    _, h = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    h = h.detach()
    return torch.cat([h[-2], h[-1]], 1) + 0 * layer.weight_hh_l0_reverse.sum()


# %% answer="rnn_measure_reach" right="searchsorted would need order, argmax of a mask doesn't"
def half_life(layer):
    x = torch.zeros(40, 1, 1, requires_grad=True)
    (grad,) = torch.autograd.grad(layer(x)[0][-1].sum(), x)
    influence = np.abs(grad.numpy().ravel())[::-1]
    return int((influence <= 0.5 * influence[0]).argmax())


# %% answer="rnn_measure_reach" wrong="below half, not at most half"
def half_life(layer):
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.flatten().abs().flip((0,)).tolist()
    return next(steps for steps, each in enumerate(influence) if each < influence[0] / 2)


# %% answer="rnn_measure_reach" wrong="the sign counts"
def half_life(layer):
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.flatten().flip((0,)).tolist()
    return next(steps for steps, each in enumerate(influence) if each <= influence[0] / 2)


# %% answer="rnn_measure_reach" wrong="the influence on the sum of all outputs"
def half_life(layer):
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0].sum().backward()
    influence = x.grad.flatten().abs().flip((0,)).tolist()
    return next((steps for steps, each in enumerate(influence) if each <= influence[0] / 2), 40)


# %% answer="rnn_measure_reach" wrong="a formula from the ratio of the last two"
def half_life(layer):
    import math

    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    last, before = x.grad.flatten().abs().flip((0,)).tolist()[:2]
    return math.ceil(math.log(0.5) / math.log(before / last)) if before < last else 40


# %% answer="rnn_layers" wrong="the state of each layer is the last one of the layer below" spoils="run"
def run(self, data, sizes, state):
    last, carried = [], None
    for layer in range(self.num_layers):
        outputs = []
        for number, direction in enumerate(self.directions):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            weight_ih, weight_hh, bias_ih, bias_hh = (getattr(self, f"{n}_l{layer}{direction}", None) for n in names)
            inputs = linear(data, weight_ih, bias_ih).split(sizes)
            first = tuple(each[layer * len(self.directions) + number] for each in state) if carried is None else carried
            output, carried = unroll(self.step, inputs, first, weight_hh, bias_hh, number == 1)
            outputs.append(cat(output))
            last.append(carried)
        data = outputs[0] if len(outputs) == 1 else cat(outputs, -1)
        if layer < self.num_layers - 1:
            data = dropout(data, self.dropout, self.training)
    return data, tuple(stack(each) for each in zip(*last))


# %% answer="rnn_layers" wrong="dropout after the last layer, too" spoils="run"
def run(self, data, sizes, state):
    last = []
    for layer in range(self.num_layers):
        outputs = []
        for number, direction in enumerate(self.directions):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            weight_ih, weight_hh, bias_ih, bias_hh = (getattr(self, f"{n}_l{layer}{direction}", None) for n in names)
            first = tuple(each[layer * len(self.directions) + number] for each in state)
            inputs = linear(data, weight_ih, bias_ih).split(sizes)
            output, final = unroll(self.step, inputs, first, weight_hh, bias_hh, number == 1)
            outputs.append(cat(output))
            last.append(final)
        data = dropout(cat(outputs, -1), self.dropout, self.training)
    return data, tuple(stack(each) for each in zip(*last))


# %% answer="rnn_layers" wrong="the second direction reads the first one's output" spoils="run"
def run(self, data, sizes, state):
    last = []
    for layer in range(self.num_layers):
        outputs = []
        for number, direction in enumerate(self.directions):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            weight_ih, weight_hh, bias_ih, bias_hh = (getattr(self, f"{n}_l{layer}{direction}", None) for n in names)
            first = tuple(each[layer * len(self.directions) + number] for each in state)
            inputs = linear(data, weight_ih, bias_ih).split(sizes)
            output, final = unroll(self.step, inputs, first, weight_hh, bias_hh, False)
            outputs.append(cat(output))
            last.append(final)
        data = outputs[0] if len(outputs) == 1 else cat(outputs, -1)
        if layer < self.num_layers - 1:
            data = dropout(data, self.dropout, self.training)
    return data, tuple(stack(each) for each in zip(*last))


# %% answer="rnn_layers" wrong="states of a packed batch stay in the sorted order" spoils="packed"
def packed(self, input, given):
    data, sizes, order, back = input
    output, state = self.run(data, sizes.tolist(), self.first_states(given, data, sizes[0].item()))
    return PackedSequence(output, sizes, order, back), state


# %% answer="rnn_layers" wrong="zeros of the default dtype" spoils="first_states"
def first_states(self, given, data, count):
    size = (self.num_layers * len(self.directions), count, self.hidden_size)
    if given is None:
        return tuple(zeros(size) for _ in self.names)
    for number, each in enumerate(given):
        if each.shape != size:
            name = f"hidden[{number}]" if len(given) > 1 else "hidden"
            raise RuntimeError(f"Expected {name} size {size}, got {list(each.shape)}")
    return given


# %% answer="rnn_layers" wrong="padded with zeros whatever the value is" spoils="filled_up"
def filled_up(x, length, value):
    return cat([x, full((length - len(x), *x.shape[1:]), 0.0, dtype=x.dtype, device=x.device)])


# %% answer="rnn_layers" wrong="the padding has the default dtype" spoils="filled_up"
def filled_up(x, length, value):
    return cat([x, full((length - len(x), *x.shape[1:]), float(value))])


# %% answer="rnn_layers" wrong="lengths of a sorted batch in the sorted order" spoils="pad_packed_sequence"
def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0):
    sizes = sequence.batch_sizes.tolist()
    rows = [filled_up(part, sizes[0], padding_value) for part in sequence.data.split(sizes)]
    batch, lengths = stack(rows, 1), tensor([sum(size > n for size in sizes) for n in range(sizes[0])])
    if sequence.unsorted_indices is not None:
        batch = index_select(batch, 0, sequence.unsorted_indices)
    return batch if batch_first else batch.transpose(0, 1), lengths


# %% answer="rnn_repair_neighbours" wrong="the rows are put back by the sorting order instead of its inverse"
def summaries(layer, sentences):
    order = sorted(range(len(sentences)), key=lambda place: -len(sentences[place]))
    packed = rnn.pack_sequence([sentences[place] for place in order])
    _, h = layer(packed)
    rows = torch.cat([h[-2], h[-1]], 1)
    return rows[torch.tensor(order)]


# %% answer="rnn_unroll" right="a list as the state, and no cat for full rows"
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in inputs[::-1] if reverse else inputs:
        rows = len(x)
        stepped = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(stepped[0])
        state = [cat([new, old[rows:]]) if rows < len(old) else new for new, old in zip(stepped, state)]
    if reverse:
        outputs.reverse()
    return outputs, state


# %% answer="rnn_lstm_step" right="chunk along dimension 1"
def lstm_step(x, state, weight, bias):
    h, c = state
    i, f, g, o = (x + linear(h, weight, bias)).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


# %% answer="rnn_gru_step" right="n - z n + z h"
def gru_step(x, state, weight, bias):
    (h,) = state
    a, u = x.chunk(3, -1), linear(h, weight, bias).chunk(3, -1)
    r, z = ((a[k] + u[k]).sigmoid() for k in (0, 1))
    n = (a[2] + r * u[2]).tanh()
    return (n - z * n + z * h,)


# %% answer="rnn_by_hand" right="sums first, then products with the states before"
def backward_through_time(x, h, W, U, g):
    before = np.vstack([np.zeros((1, len(U))), h[:-1]])
    sums = np.zeros(h.shape)
    later = np.zeros(len(U))
    for t in reversed(range(len(x))):
        sums[t] = (g[t] + later) * (1 - h[t] ** 2)
        later = sums[t] @ U
    return sums.T @ x, sums.T @ before, sums @ W


# %% answer="rnn_repair_neighbours" wrong="leaves the layer in evaluation mode"
def summaries(layer, sentences):
    layer.eval()
    _, h = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    return torch.cat([h[-2], h[-1]], 1)


# %% answer="rnn_repair_neighbours" wrong="detaches the sentences"
def summaries(layer, sentences):
    sentences = [each.float().detach() for each in sentences]
    _, h = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    return torch.cat([h[-2], h[-1]], 1)


# %% answer="rnn_measure_reach" right="torch.autograd.grad and a while"
def half_life(layer):
    x = torch.zeros(40, 1, 1, requires_grad=True)
    (g,) = torch.autograd.grad(layer(x)[0][-1].sum(), x)
    influence = g.flatten().abs().tolist()
    steps = 0
    while influence[-1 - steps] > influence[-1] / 2:
        steps += 1
    return steps


# %% answer="rnn_layers" wrong="compares the first length alone, and takes only 0 for too short"
def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    batch = input if batch_first else input.transpose(0, 1)
    counts = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    refuse(len(counts) != len(batch), f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={len(batch)})")
    refuse(0 in counts, "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    order = back = None
    if not enforce_sorted:
        order = tensor(counts).argsort(descending=True)
        back = order.argsort()
        batch, counts = index_select(batch, 0, order), sorted(counts, reverse=True)
    refuse(counts[0] != max(counts), "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass")
    sizes = [sum(count > step for count in counts) for step in range(counts[0])]
    return PackedSequence(cat([batch[:size, step] for step, size in enumerate(sizes)]), tensor(sizes), order, back)
