# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 18` grades them.


# %% answer="data_predict_shares" right="as first written, from the task alone"
prediction = [[2, 2, 11], [2, 1, 10], [1, 4, 8]]


# %% answer="data_predict_shares" right="tuple of tuples"
prediction=((2,2,11),(2,1,10),(1,4,8))


# %% answer="data_predict_shares" wrong="batches by 11"
prediction=[[3,3,11],[2,4,8],[2,4,8]]


# %% answer="data_samplers" right="replacement in one draw"
def __iter__(self) -> Iterator[int]:
    generator = self.generator
    if generator is None:
        generator = Generator(draw_seed(None))
    n = len(self.data_source)
    if self.replacement:
        left = self.num_samples
        while left > 0:
            size = left
            yield from randint(n, (size,), generator=generator).tolist()
            left -= size
    else:
        for _ in range(self.num_samples // n):
            yield from randperm(n, generator=generator).tolist()
        yield from randperm(n, generator=generator).tolist()[: self.num_samples % n]


def batched(indices: Iterable[Any], batch_size: int, drop_last: bool) -> Iterator[list[Any]]:
    batch = []
    for index in indices:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


def share(self) -> list[int]:
    n = len(self.dataset)
    if self.shuffle:
        order = randperm(n, generator=Generator(self.seed + self.epoch)).tolist()
    else:
        order = list(range(n))
    total = len(self) * self.num_replicas
    while len(order) < total:
        order = order + order[: total - len(order)]
    return order[self.rank : total : self.num_replicas]


# %% answer="data_samplers" wrong="no extra permutation at end"
def __iter__(self) -> Iterator[int]:
    generator = self.generator
    if generator is None:
        generator = Generator(draw_seed(None))
    n = len(self.data_source)
    if self.replacement:
        left = self.num_samples
        while left > 0:
            size = min(32, left)
            yield from randint(n, (size,), generator=generator).tolist()
            left -= size
    else:
        for _ in range(self.num_samples // n):
            yield from randperm(n, generator=generator).tolist()
        if self.num_samples % n: yield from randperm(n, generator=generator).tolist()[: self.num_samples % n]


def batched(indices: Iterable[Any], batch_size: int, drop_last: bool) -> Iterator[list[Any]]:
    batch = []
    for index in indices:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


def share(self) -> list[int]:
    n = len(self.dataset)
    if self.shuffle:
        order = randperm(n, generator=Generator(self.seed + self.epoch)).tolist()
    else:
        order = list(range(n))
    total = len(self) * self.num_replicas
    while len(order) < total:
        order = order + order[: total - len(order)]
    return order[self.rank : total : self.num_replicas]


# %% answer="data_samplers" wrong="replacement always 32"
def __iter__(self) -> Iterator[int]:
    generator = self.generator
    if generator is None:
        generator = Generator(draw_seed(None))
    n = len(self.data_source)
    if self.replacement:
        left = self.num_samples
        while left > 0:
            size = min(32, left)
            yield from randint(n, (32,), generator=generator).tolist()[:size]
            left -= size
    else:
        for _ in range(self.num_samples // n):
            yield from randperm(n, generator=generator).tolist()
        yield from randperm(n, generator=generator).tolist()[: self.num_samples % n]


def batched(indices: Iterable[Any], batch_size: int, drop_last: bool) -> Iterator[list[Any]]:
    batch = []
    for index in indices:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


def share(self) -> list[int]:
    n = len(self.dataset)
    if self.shuffle:
        order = randperm(n, generator=Generator(self.seed + self.epoch)).tolist()
    else:
        order = list(range(n))
    total = len(self) * self.num_replicas
    while len(order) < total:
        order = order + order[: total - len(order)]
    return order[self.rank : total : self.num_replicas]


# %% answer="data_samplers" wrong="share contiguous"
def __iter__(self) -> Iterator[int]:
    generator = self.generator
    if generator is None:
        generator = Generator(draw_seed(None))
    n = len(self.data_source)
    if self.replacement:
        left = self.num_samples
        while left > 0:
            size = min(32, left)
            yield from randint(n, (size,), generator=generator).tolist()
            left -= size
    else:
        for _ in range(self.num_samples // n):
            yield from randperm(n, generator=generator).tolist()
        yield from randperm(n, generator=generator).tolist()[: self.num_samples % n]


def batched(indices: Iterable[Any], batch_size: int, drop_last: bool) -> Iterator[list[Any]]:
    batch = []
    for index in indices:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


def share(self) -> list[int]:
    n = len(self.dataset)
    if self.shuffle:
        order = randperm(n, generator=Generator(self.seed + self.epoch)).tolist()
    else:
        order = list(range(n))
    total = len(self) * self.num_replicas
    while len(order) < total:
        order = order + order[: total - len(order)]
    return order[self.rank * len(self) : (self.rank + 1) * len(self)]


# %% answer="data_samplers" wrong="batched reuses list"
def __iter__(self) -> Iterator[int]:
    generator = self.generator
    if generator is None:
        generator = Generator(draw_seed(None))
    n = len(self.data_source)
    if self.replacement:
        left = self.num_samples
        while left > 0:
            size = min(32, left)
            yield from randint(n, (size,), generator=generator).tolist()
            left -= size
    else:
        for _ in range(self.num_samples // n):
            yield from randperm(n, generator=generator).tolist()
        yield from randperm(n, generator=generator).tolist()[: self.num_samples % n]


def batched(indices: Iterable[Any], batch_size: int, drop_last: bool) -> Iterator[list[Any]]:
    batch = []
    for index in indices:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch.clear()
    if batch and not drop_last:
        yield batch


def share(self) -> list[int]:
    n = len(self.dataset)
    if self.shuffle:
        order = randperm(n, generator=Generator(self.seed + self.epoch)).tolist()
    else:
        order = list(range(n))
    total = len(self) * self.num_replicas
    while len(order) < total:
        order = order + order[: total - len(order)]
    return order[self.rank : total : self.num_replicas]


# %% answer="data_samplers" wrong="batched takes one ahead"
def __iter__(self) -> Iterator[int]:
    generator = self.generator
    if generator is None:
        generator = Generator(draw_seed(None))
    n = len(self.data_source)
    if self.replacement:
        left = self.num_samples
        while left > 0:
            size = min(32, left)
            yield from randint(n, (size,), generator=generator).tolist()
            left -= size
    else:
        for _ in range(self.num_samples // n):
            yield from randperm(n, generator=generator).tolist()
        yield from randperm(n, generator=generator).tolist()[: self.num_samples % n]


def batched(indices: Iterable[Any], batch_size: int, drop_last: bool) -> Iterator[list[Any]]:
    batch = []
    for index in indices:
        if len(batch) == batch_size:
            yield batch
            batch = []
        batch.append(index)
    if batch and (not drop_last or len(batch) == batch_size):
        yield batch


def share(self) -> list[int]:
    n = len(self.dataset)
    if self.shuffle:
        order = randperm(n, generator=Generator(self.seed + self.epoch)).tolist()
    else:
        order = list(range(n))
    total = len(self) * self.num_replicas
    while len(order) < total:
        order = order + order[: total - len(order)]
    return order[self.rank : total : self.num_replicas]


# %% answer="data_samplers" wrong="seed drawn from the generator"
def __iter__(self) -> Iterator[int]:
    generator = self.generator
    generator = Generator(draw_seed(generator))
    n = len(self.data_source)
    if self.replacement:
        left = self.num_samples
        while left > 0:
            size = min(32, left)
            yield from randint(n, (size,), generator=generator).tolist()
            left -= size
    else:
        for _ in range(self.num_samples // n):
            yield from randperm(n, generator=generator).tolist()
        yield from randperm(n, generator=generator).tolist()[: self.num_samples % n]


def batched(indices: Iterable[Any], batch_size: int, drop_last: bool) -> Iterator[list[Any]]:
    batch = []
    for index in indices:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


def share(self) -> list[int]:
    n = len(self.dataset)
    if self.shuffle:
        order = randperm(n, generator=Generator(self.seed + self.epoch)).tolist()
    else:
        order = list(range(n))
    total = len(self) * self.num_replicas
    while len(order) < total:
        order = order + order[: total - len(order)]
    return order[self.rank : total : self.num_replicas]


# %% answer="data_collate" wrong="tuple stays tuple"
def default_collate(batch: Sequence[Any]) -> Any:
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(part) for part in zip(*batch)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts) if isinstance(first, tuple) else parts
    return collate_leaves(batch)


def collate_leaves(batch: Sequence[Any]) -> Any:
    first = batch[0]
    message = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SUO":
            raise TypeError(message.format(first.dtype))
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, (int, bool, np.number, np.bool_)):
        return tensor(batch)
    raise TypeError(message.format(type(first)))


# %% answer="data_collate" wrong="zip strict ValueError"
def default_collate(batch: Sequence[Any]) -> Any:
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    return collate_leaves(batch)


def collate_leaves(batch: Sequence[Any]) -> Any:
    first = batch[0]
    message = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SUO":
            raise TypeError(message.format(first.dtype))
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, (int, bool, np.number, np.bool_)):
        return tensor(batch)
    raise TypeError(message.format(type(first)))


# %% answer="data_collate" wrong="ndarray kind O only"
def default_collate(batch: Sequence[Any]) -> Any:
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(part) for part in zip(*batch)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    return collate_leaves(batch)


def collate_leaves(batch: Sequence[Any]) -> Any:
    first = batch[0]
    message = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray):
        if first.dtype.kind == "O":
            raise TypeError(message.format(first.dtype))
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, (int, bool, np.number, np.bool_)):
        return tensor(batch)
    raise TypeError(message.format(type(first)))


# %% answer="data_collate" wrong="dict instead of Mapping"
def default_collate(batch: Sequence[Any]) -> Any:
    first = batch[0]
    if isinstance(first, dict):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(part) for part in zip(*batch)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    return collate_leaves(batch)


def collate_leaves(batch: Sequence[Any]) -> Any:
    first = batch[0]
    message = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SUO":
            raise TypeError(message.format(first.dtype))
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, (int, bool, np.number, np.bool_)):
        return tensor(batch)
    raise TypeError(message.format(type(first)))


# %% answer="data_collate" wrong="np.number missing np.float32"
def default_collate(batch: Sequence[Any]) -> Any:
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(part) for part in zip(*batch)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    return collate_leaves(batch)


def collate_leaves(batch: Sequence[Any]) -> Any:
    first = batch[0]
    message = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SUO":
            raise TypeError(message.format(first.dtype))
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, (int, bool, np.integer, np.bool_)):
        return tensor(batch)
    raise TypeError(message.format(type(first)))


# %% answer="data_prefetch" right="as first written, from the task alone"
def work(fetch: Callable[[Any], Any], tasks: Queue, results: Queue) -> None:
    while True:
        task = tasks.get()
        if task is STOP:
            return
        number, chosen = task
        try:
            batch = fetch(chosen)
        except Exception as error:
            results.put((number, None, error))
        else:
            results.put((number, batch, None))


def _ask(self) -> None:
    try:
        value = next(self.batches)
    except StopIteration:
        return
    self.tasks.put((self.asked, value))
    self.asked += 1


def __next__(self) -> Any:
    if self.given == self.asked:
        self.close()
        raise StopIteration
    while self.given not in self.arrived:
        self._receive()
    batch, error = self.arrived.pop(self.given)
    self.given += 1
    self._ask()
    if error is not None:
        raise error
    return batch


# %% answer="data_prefetch" right="compares with == STOP"
def work(fetch: Callable[[Any], Any], tasks: Queue, results: Queue) -> None:
    while True:
        task = tasks.get()
        if task == STOP:
            return
        number, chosen = task
        try:
            batch = fetch(chosen)
        except Exception as error:
            results.put((number, None, error))
        else:
            results.put((number, batch, None))


def _ask(self) -> None:
    try:
        value = next(self.batches)
    except StopIteration:
        return
    self.tasks.put((self.asked, value))
    self.asked += 1


def __next__(self) -> Any:
    if self.given == self.asked:
        self.close()
        raise StopIteration
    while self.given not in self.arrived:
        self._receive()
    batch, error = self.arrived.pop(self.given)
    self.given += 1
    self._ask()
    if error is not None:
        raise error
    return batch


# %% answer="data_prefetch" wrong="truthiness in _ask"
def work(fetch: Callable[[Any], Any], tasks: Queue, results: Queue) -> None:
    while True:
        task = tasks.get()
        if task is STOP:
            return
        number, chosen = task
        try:
            batch = fetch(chosen)
        except Exception as error:
            results.put((number, None, error))
        else:
            results.put((number, batch, None))


def _ask(self) -> None:
    value = next(self.batches, None)
    if not value:
        return
    self.tasks.put((self.asked, value))
    self.asked += 1


def __next__(self) -> Any:
    if self.given == self.asked:
        self.close()
        raise StopIteration
    while self.given not in self.arrived:
        self._receive()
    batch, error = self.arrived.pop(self.given)
    self.given += 1
    self._ask()
    if error is not None:
        raise error
    return batch


# %% answer="data_prefetch" wrong="ask twice after error"
def work(fetch: Callable[[Any], Any], tasks: Queue, results: Queue) -> None:
    while True:
        task = tasks.get()
        if task is STOP:
            return
        number, chosen = task
        try:
            batch = fetch(chosen)
        except Exception as error:
            results.put((number, None, error))
        else:
            results.put((number, batch, None))


def _ask(self) -> None:
    try:
        value = next(self.batches)
    except StopIteration:
        return
    self.tasks.put((self.asked, value))
    self.asked += 1


def __next__(self) -> Any:
    if self.given == self.asked:
        self.close()
        raise StopIteration
    while self.given not in self.arrived:
        self._receive()
    batch, error = self.arrived.pop(self.given)
    self.given += 1
    self._ask()
    if error is not None: self._ask()
    if error is not None:
        raise error
    return batch


# %% answer="data_pack" wrong="last row with room"
def pack(documents: list[list[int]], length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rows, owners, places = [], [], []
    for n, doc in enumerate(documents):
        for r in reversed(range(len(rows))):
            if len(rows[r]) + len(doc) <= length:
                break
        else:
            rows.append([]); owners.append([]); places.append([])
            r = len(rows) - 1
        rows[r] += doc
        owners[r] += [n] * len(doc)
        places[r] += range(len(doc))
    for row, owner, place in zip(rows, owners, places):
        free = length - len(row)
        row += [0] * free
        owner += [-1] * free
        place += range(free)
    owner = torch.tensor(owners)
    mask = owner[:, :, None] == owner[:, None, :]
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    return torch.tensor(rows), torch.tensor(places), mask & causal


# %% answer="data_pack" wrong="next fit"
def pack(documents: list[list[int]], length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rows, owners, places = [], [], []
    for n, doc in enumerate(documents):
        for r in range(len(rows))[-1:]:
            if len(rows[r]) + len(doc) <= length:
                break
        else:
            rows.append([]); owners.append([]); places.append([])
            r = len(rows) - 1
        rows[r] += doc
        owners[r] += [n] * len(doc)
        places[r] += range(len(doc))
    for row, owner, place in zip(rows, owners, places):
        free = length - len(row)
        row += [0] * free
        owner += [-1] * free
        place += range(free)
    owner = torch.tensor(owners)
    mask = owner[:, :, None] == owner[:, None, :]
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    return torch.tensor(rows), torch.tensor(places), mask & causal


# %% answer="data_pack" wrong="free places position 0"
def pack(documents: list[list[int]], length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rows, owners, places = [], [], []
    for n, doc in enumerate(documents):
        for r in range(len(rows)):
            if len(rows[r]) + len(doc) <= length:
                break
        else:
            rows.append([]); owners.append([]); places.append([])
            r = len(rows) - 1
        rows[r] += doc
        owners[r] += [n] * len(doc)
        places[r] += range(len(doc))
    for row, owner, place in zip(rows, owners, places):
        free = length - len(row)
        row += [0] * free
        owner += [-1] * free
        place += [0] * free
    owner = torch.tensor(owners)
    mask = owner[:, :, None] == owner[:, None, :]
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    return torch.tensor(rows), torch.tensor(places), mask & causal


# %% answer="data_pack" wrong="not causal"
def pack(documents: list[list[int]], length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rows, owners, places = [], [], []
    for n, doc in enumerate(documents):
        for r in range(len(rows)):
            if len(rows[r]) + len(doc) <= length:
                break
        else:
            rows.append([]); owners.append([]); places.append([])
            r = len(rows) - 1
        rows[r] += doc
        owners[r] += [n] * len(doc)
        places[r] += range(len(doc))
    for row, owner, place in zip(rows, owners, places):
        free = length - len(row)
        row += [0] * free
        owner += [-1] * free
        place += range(free)
    owner = torch.tensor(owners)
    mask = owner[:, :, None] == owner[:, None, :]
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    return torch.tensor(rows), torch.tensor(places), mask


# %% answer="data_pack" wrong="int32"
def pack(documents: list[list[int]], length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rows, owners, places = [], [], []
    for n, doc in enumerate(documents):
        for r in range(len(rows)):
            if len(rows[r]) + len(doc) <= length:
                break
        else:
            rows.append([]); owners.append([]); places.append([])
            r = len(rows) - 1
        rows[r] += doc
        owners[r] += [n] * len(doc)
        places[r] += range(len(doc))
    for row, owner, place in zip(rows, owners, places):
        free = length - len(row)
        row += [0] * free
        owner += [-1] * free
        place += range(free)
    owner = torch.tensor(owners)
    mask = owner[:, :, None] == owner[:, None, :]
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    return torch.tensor(rows, dtype=torch.int32), torch.tensor(places), mask & causal


# %% answer="data_pack" wrong="worst fit (most room)"
def pack(documents: list[list[int]], length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rows, owners, places = [], [], []
    for n, doc in enumerate(documents):
        for r in sorted(range(len(rows)), key=lambda i: len(rows[i])):
            if len(rows[r]) + len(doc) <= length:
                break
        else:
            rows.append([]); owners.append([]); places.append([])
            r = len(rows) - 1
        rows[r] += doc
        owners[r] += [n] * len(doc)
        places[r] += range(len(doc))
    for row, owner, place in zip(rows, owners, places):
        free = length - len(row)
        row += [0] * free
        owner += [-1] * free
        place += range(free)
    owner = torch.tensor(owners)
    mask = owner[:, :, None] == owner[:, None, :]
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    return torch.tensor(rows), torch.tensor(places), mask & causal


# %% answer="data_repair_augmentation" right="as first written, from the task alone"
class Shifted(data.Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        return int(torch.randint(0, 10**9, ()).item())

    def __len__(self):
        return self.count


# %% answer="data_repair_augmentation" wrong="np.random global"
class Shifted(data.Dataset):
    def __init__(self, count): self.count = count
    def __getitem__(self, index): return int(np.random.randint(0, 10**9))
    def __len__(self): return self.count


# %% answer="data_repair_augmentation" wrong="seed (initial_seed, index)"
class Shifted(data.Dataset):
    def __init__(self, count): self.count = count
    def __getitem__(self, index):
        return int(np.random.default_rng([torch.initial_seed() % 2**63, index]).integers(0, 10**9))
    def __len__(self): return self.count


# %% answer="data_repair_augmentation" wrong="python random"
class Shifted(data.Dataset):
    def __init__(self, count): self.count = count
    def __getitem__(self, index): return random.randrange(10**9)
    def __len__(self): return self.count


# %% answer="data_measure_workers" wrong="ceil(load/step)"
def measure(epoch) -> tuple[float, float, int, float]:
    a, b = epoch(0) / 200, epoch(0, reuse=True)
    step = (b - a) / 199
    load = a - step
    best = epoch(16)
    workers = math.ceil(load / step)
    return load, step, workers, 200 * step / epoch(workers)


# %% answer="data_measure_workers" wrong="share at 16"
def measure(epoch) -> tuple[float, float, int, float]:
    a, b = epoch(0) / 200, epoch(0, reuse=True)
    step = (b - a) / 199
    load = a - step
    best = epoch(16)
    workers = next(w for w in range(17) if epoch(w) <= 1.02 * best)
    return load, step, workers, 200 * step / best


# %% answer="data_measure_workers" wrong="step=reuse/200"
def measure(epoch) -> tuple[float, float, int, float]:
    a, b = epoch(0) / 200, epoch(0, reuse=True)
    step = b / 200
    load = a - step
    best = epoch(16)
    workers = next(w for w in range(17) if epoch(w) <= 1.02 * best)
    return load, step, workers, 200 * step / epoch(workers)


# %% answer="data_measure_workers" wrong="best of all, argmin"
def measure(epoch) -> tuple[float, float, int, float]:
    a, b = epoch(0) / 200, epoch(0, reuse=True)
    step = (b - a) / 199
    load = a - step
    best = epoch(16)
    workers = min(range(17), key=epoch)
    return load, step, workers, 200 * step / epoch(workers)


# %% answer="data_samplers" wrong="the generator is drawn once, when the sampler is asked for the first time" spoils="__iter__"
def __iter__(self):
    if self.generator is None:
        self.generator = Generator(draw_seed(None))
    count = len(self.data_source)
    if self.replacement:
        for start in range(0, self.num_samples, 32):
            yield from randint(count, (min(32, self.num_samples - start),), generator=self.generator).tolist()
    else:
        for start in range(0, self.num_samples + 1, count):
            yield from randperm(count, generator=self.generator).tolist()[: self.num_samples - start]


# %% answer="data_samplers" wrong="the same seed in each epoch" spoils="share"
def share(self):
    count = len(self.dataset)
    order = list(range(count))
    if self.shuffle:
        order = randperm(count, generator=Generator(self.seed)).tolist()
    total = len(self) * self.num_replicas
    return (order * -(-total // max(count, 1)))[self.rank : total : self.num_replicas]


# %% answer="data_samplers" wrong="the order is filled up once, not several times" spoils="share"
def share(self):
    order = list(range(len(self.dataset)))
    if self.shuffle:
        order = randperm(len(self.dataset), generator=Generator(self.seed + self.epoch)).tolist()
    total = len(self) * self.num_replicas
    order = order + order[: total - len(order)] if total > len(order) else order[:total]
    return order[self.rank :: self.num_replicas]


# %% answer="data_samplers" wrong="fails for an empty dataset" spoils="share"
def share(self):
    count = len(self.dataset)
    order = list(range(count))
    if self.shuffle:
        order = randperm(count, generator=Generator(self.seed + self.epoch)).tolist()
    return [order[place % count] for place in range(self.rank, max(len(self), 1) * self.num_replicas, self.num_replicas)]


# %% answer="data_samplers" right="cycle and islice"
def share(self):
    from itertools import cycle, islice

    count = len(self.dataset)
    order = range(count)
    if self.shuffle:
        order = randperm(count, generator=Generator(self.seed + self.epoch)).tolist()
    return list(islice(cycle(order), self.rank, len(self) * self.num_replicas, self.num_replicas))


# %% answer="data_collate" wrong="the keys of all samples" spoils="default_collate"
def default_collate(batch):
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch if key in each]) for each in batch for key in each}
    if isinstance(first, (str, bytes)) or not isinstance(first, Sequence):
        return collate_leaves(batch)
    if any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    parts = [default_collate(column) for column in zip(*batch)]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


# %% answer="data_collate" wrong="a named tuple becomes a list" spoils="default_collate"
def default_collate(batch):
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if isinstance(first, (str, bytes)) or not isinstance(first, Sequence):
        return collate_leaves(batch)
    if len({len(each) for each in batch}) > 1:
        raise RuntimeError("each element in list of batch should be of equal size")
    return [default_collate(column) for column in zip(*batch)]


# %% answer="data_collate" wrong="Python floats become float32" spoils="collate_leaves"
def collate_leaves(batch):
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, (int, float, np.number, np.bool_)):
        return tensor(batch)
    found = first.dtype if isinstance(first, np.ndarray) else type(first)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {found}"
    )


# %% answer="data_collate" wrong="the error shows the value in place of its type" spoils="collate_leaves"
def collate_leaves(batch):
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, (int, float, np.number, np.bool_)):
        return tensor(batch, dtype=float64 if isinstance(first, float) else None)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {first}"
    )


# %% answer="data_prefetch" wrong="a thread ends with the first error" spoils="work"
def work(fetch, tasks, results):
    try:
        while (task := tasks.get()) is not STOP:
            number, chosen = task
            results.put((number, fetch(chosen), None))
    except Exception as error:
        results.put((number, None, error))


# %% answer="data_prefetch" wrong="the count advances at the end of the batches as well" spoils="_ask"
def _ask(self):
    chosen = next(self.batches, None)
    if chosen is not None:
        self.tasks.put((self.asked, chosen))
    self.asked += 1


# %% answer="data_prefetch" wrong="batches in the order in which they arrive" spoils="__next__"
def __next__(self):
    if self.given == self.asked:
        self.close()
        raise StopIteration
    if not self.arrived:
        self._receive()
    batch, error = self.arrived.pop(next(iter(self.arrived)))
    self.given += 1
    self._ask()
    if error is not None:
        raise error
    return batch


# %% answer="data_prefetch" wrong="no task is handed out after an error" spoils="__next__"
def __next__(self):
    if self.given == self.asked:
        self.close()
        raise StopIteration
    while self.given not in self.arrived:
        self._receive()
    batch, error = self.arrived.pop(self.given)
    self.given += 1
    if error is not None:
        raise error
    self._ask()
    return batch


# %% answer="data_prefetch" wrong="results are kept after they were returned" spoils="__next__"
def __next__(self):
    if self.given == self.asked:
        self.close()
        raise StopIteration
    while self.given not in self.arrived:
        self._receive()
    batch, error = self.arrived[self.given]
    self.given += 1
    self._ask()
    if error is not None:
        raise error
    return batch


# %% answer="data_pack" wrong="positions go on through the row"
def pack(documents, length):
    rows = []
    for document in documents:
        row = next((row for row in rows if sum(map(len, row)) + len(document) <= length), None)
        if row is None:
            rows.append(row := [])
        row.append(document)
    full = [[*row, [0] * (length - sum(map(len, row)))] for row in rows]
    tokens = torch.tensor([sum(row, []) for row in full])
    owner = torch.tensor([[number for number, each in enumerate(row) for _ in each] for row in full])
    positions = torch.arange(length).expand(len(rows), length)
    return tokens, positions, (owner[:, :, None] == owner[:, None, :]).tril()


# %% answer="data_pack" wrong="the longest document first"
def pack(documents, length):
    rows = []
    for document in sorted(documents, key=len, reverse=True):
        row = next((row for row in rows if sum(map(len, row)) + len(document) <= length), None)
        if row is None:
            rows.append(row := [])
        row.append(document)
    full = [[*row, [0] * (length - sum(map(len, row)))] for row in rows]
    tokens = torch.tensor([sum(row, []) for row in full])
    owner = torch.tensor([[number for number, each in enumerate(row) for _ in each] for row in full])
    positions = torch.tensor([[place for each in row for place in range(len(each))] for row in full])
    return tokens, positions, (owner[:, :, None] == owner[:, None, :]).tril()


# %% answer="data_pack" wrong="free positions attend to nothing"
def pack(documents, length):
    rows = []
    for document in documents:
        row = next((row for row in rows if sum(map(len, row)) + len(document) <= length), None)
        if row is None:
            rows.append(row := [])
        row.append(document)
    full = [[*row, [0] * (length - sum(map(len, row)))] for row in rows]
    tokens = torch.tensor([sum(row, []) for row in full])
    owner = torch.tensor([[number for number, each in enumerate(row) for _ in each] for row in full])
    positions = torch.tensor([[place for each in row for place in range(len(each))] for row in full])
    free = torch.tensor([[number == len(row) - 1 for number, each in enumerate(row) for _ in each] for row in full])
    return tokens, positions, (owner[:, :, None] == owner[:, None, :]).tril() & ~free[:, None, :]


# %% answer="data_repair_augmentation" wrong="a generator made anew from the worker's seed for each sample"
class Shifted(data.Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        return int(np.random.default_rng(torch.initial_seed()).integers(0, 10**9))

    def __len__(self):
        return self.count


# %% answer="data_repair_augmentation" wrong="a generator that is made at the first access"
class Shifted(data.Dataset):
    def __init__(self, count):
        self.count, self.generator = count, None

    def __getitem__(self, index):
        if self.generator is None:
            self.generator = np.random.default_rng(torch.initial_seed())
        return int(self.generator.integers(0, 10**9))

    def __len__(self):
        return self.count


# %% answer="data_repair_augmentation" wrong="a seed from the clock"
class Shifted(data.Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        import os

        return int.from_bytes(os.urandom(8), "big") % 10**9

    def __len__(self):
        return self.count


# %% answer="data_repair_augmentation" right="a generator of NumPy, seeded by each draw of torch"
class Shifted(data.Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        seed = int(torch.randint(0, 2**62, (1,))[0])
        return int(np.random.default_rng([seed, index]).integers(0, 10**9))

    def __len__(self):
        return self.count


# %% answer="data_measure_workers" wrong="begins with one worker"
def measure(epoch):
    loop, reused = epoch(0), epoch(0, reuse=True)
    load = (loop - reused) / 199
    step = loop / 200 - load
    workers = next(n for n in range(1, 17) if epoch(n) <= 1.02 * epoch(16))
    return load, step, workers, 200 * step / epoch(workers)


# %% answer="data_measure_workers" wrong="less than 2 % longer"
def measure(epoch):
    loop, reused = epoch(0), epoch(0, reuse=True)
    load = (loop - reused) / 199
    step = loop / 200 - load
    workers = next(n for n in range(17) if n == 16 or epoch(n) < 1.02 * epoch(16))
    return load, step, workers, 200 * step / epoch(workers)


# %% answer="data_measure_workers" wrong="compares with more workers than there are"
def measure(epoch):
    loop, reused = epoch(0), epoch(0, reuse=True)
    load = (loop - reused) / 199
    step = loop / 200 - load
    workers = next(n for n in range(33) if epoch(n) <= 1.02 * epoch(32))
    return load, step, workers, 200 * step / epoch(workers)


# %% answer="data_measure_workers" right="the two equations as a linear system"
def measure(epoch):
    load, step = np.linalg.solve([[200.0, 200.0], [1.0, 200.0]], [epoch(0), epoch(0, reuse=True)])
    times = [epoch(n) for n in range(17)]
    workers = [time / times[16] <= 1.02 for time in times].index(True)
    return float(load), float(step), workers, 200 * step / times[workers]


# %% answer="data_pack" wrong="takes each 0 for a free position"
def pack(documents, length):
    rows = []
    for document in documents:
        for row in rows:
            if sum(map(len, row)) + len(document) <= length:
                row.append(document)
                break
        else:
            rows.append([document])
    tokens = torch.zeros(len(rows), length, dtype=torch.int64)
    positions, owners = tokens.clone(), tokens.clone()
    for number, row in enumerate(rows):
        at = 0
        for owner, document in enumerate([*row, [0] * (length - sum(map(len, row)))]):
            tokens[number, at : at + len(document)] = torch.tensor(document, dtype=torch.int64)
            positions[number, at : at + len(document)] = torch.arange(len(document))
            owners[number, at : at + len(document)] = owner
            at += len(document)
    owners[tokens == 0] = -1
    return tokens, positions, (owners[:, :, None] == owners[:, None, :]).tril()


# %% answer="data_pack" wrong="a repeated document is listed once by value"
def pack(documents, length):
    rows = []
    for number, document in enumerate(documents):
        for row in rows:
            if document not in row and sum(map(len, row)) + len(document) <= length:
                break
        else:
            row = []
            rows.append(row)
        row.append(document)
    tokens = torch.zeros(len(rows), length, dtype=torch.int64)
    positions = torch.zeros(len(rows), length, dtype=torch.int64)
    owner = torch.full((len(rows), length), -1)
    for r, row in enumerate(rows):
        at = 0
        for n, d in enumerate(row):
            tokens[r, at:at + len(d)] = torch.tensor(d)
            positions[r, at:at + len(d)] = torch.arange(len(d))
            owner[r, at:at + len(d)] = n
            at += len(d)
        positions[r, at:] = torch.arange(length - at)
    same = owner[:, :, None] == owner[:, None, :]
    mask = same & torch.ones(length, length, dtype=torch.bool).tril()
    return tokens, positions, mask


# %% answer="data_pack" wrong="documents of equal length attend to each other"
def pack(documents, length):
    rows = []
    for number, document in enumerate(documents):
        for row in rows:
            if sum(map(len, row)) + len(document) <= length:
                break
        else:
            row = []
            rows.append(row)
        row.append(document)
    tokens = torch.zeros(len(rows), length, dtype=torch.int64)
    positions = torch.zeros(len(rows), length, dtype=torch.int64)
    owner = torch.full((len(rows), length), -1)
    for r, row in enumerate(rows):
        at = 0
        for n, d in enumerate(row):
            tokens[r, at:at + len(d)] = torch.tensor(d)
            positions[r, at:at + len(d)] = torch.arange(len(d))
            owner[r, at:at + len(d)] = n
            at += len(d)
        positions[r, at:] = torch.arange(length - at)
    same = owner[:, :, None] == owner[:, None, :]
    owner = torch.tensor([[len(row[o]) if o >= 0 else 0 for o in line] for row, line in zip(rows, owner.tolist())]).reshape(len(rows), length)
    same = owner[:, :, None] == owner[:, None, :]
    mask = same & torch.ones(length, length, dtype=torch.bool).tril()
    return tokens, positions, mask


# %% answer="data_collate" right="match statements, and the leaves first"
def default_collate(batch: Sequence[Any]) -> Any:
    match batch[0]:
        case str() | bytes():
            return collate_leaves(batch)
        case Mapping() as first:
            collated = {}
            for key in first:
                collated[key] = default_collate(tuple(each[key] for each in batch))
            return collated
        case Sequence() as first:
            if len({len(each) for each in batch}) > 1:
                raise RuntimeError("each element in list of batch should be of equal size")
            parts = list(map(default_collate, zip(*batch, strict=True)))
            return type(first)._make(parts) if hasattr(first, "_fields") else parts
        case _:
            return collate_leaves(batch)


# %% answer="data_collate" wrong="a later sequence that is longer than the first is cut ('for sequences of several lengths')" spoils="default_collate"
def default_collate(batch):
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if isinstance(first, (str, bytes)) or not isinstance(first, Sequence):
        return collate_leaves(batch)
    try:
        parts = [tuple(each[number] for each in batch) for number in range(len(first))]
    except IndexError:
        raise RuntimeError("each element in list of batch should be of equal size") from None
    parts = [default_collate(part) for part in parts]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


# %% answer="data_collate" wrong="the parts are passed as lists ('each passed as a tuple')" spoils="default_collate"
def default_collate(batch):
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if isinstance(first, (str, bytes)) or not isinstance(first, Sequence):
        return collate_leaves(batch)
    if any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    parts = [default_collate(list(part)) for part in zip(*batch)]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


# %% answer="data_collate" wrong="strings are returned as a new list ('the batch as it is')" spoils="collate_leaves"
def collate_leaves(batch):
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, Tensor):
        return stack(list(batch))
    found = type(first)
    if isinstance(first, np.ndarray):
        if first.dtype.kind not in "SUO":
            return stack([as_tensor(each) for each in batch])
        found = first.dtype
    if isinstance(first, float):
        return tensor(list(batch), dtype=float64)
    if isinstance(first, (int, bool, np.number, np.bool_)):
        return tensor(list(batch))
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {found}"
    )


# %% answer="data_collate" right="zip in its strict form, whose error becomes the other one"
def default_collate(batch):
    head, *_ = batch
    if isinstance(head, Mapping):
        return dict((key, default_collate([sample[key] for sample in batch])) for key in head.keys())
    if not isinstance(head, Sequence) or isinstance(head, (str, bytes)):
        return collate_leaves(batch)
    try:
        columns = list(zip(*batch, strict=True))
    except ValueError:
        raise RuntimeError("each element in list of batch should be of equal size") from None
    collated = list(map(default_collate, columns))
    return head._make(collated) if hasattr(head, "_fields") else collated


# %% answer="data_collate" right="NumPy stacks the arrays, and a match statement chooses"
def collate_leaves(batch):
    match first := batch[0]:
        case str() | bytes():
            return batch
        case Tensor():
            return stack([*batch])
        case np.ndarray() if first.dtype.kind not in "SUO":
            return as_tensor(np.stack(batch))
        case float():
            return tensor([float(each) for each in batch], dtype=float64)
        case int() | np.number() | np.bool_():
            return tensor([*batch])
    found = first.dtype if isinstance(first, np.ndarray) else type(first)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}".format(found)
    )


# %% answer="data_samplers" right="a while loop, and a last draw of nothing"
def __iter__(self):
    generator = self.generator if self.generator is not None else Generator(draw_seed(None))
    count = len(self.data_source)
    if self.replacement:
        left = self.num_samples
        while left >= 32:
            yield from randint(count, (32,), generator=generator).tolist()
            left -= 32
        yield from randint(count, (left,), generator=generator).tolist()
    else:
        for start in range(0, self.num_samples + 1, count):
            yield from randperm(count, generator=generator).tolist()[: self.num_samples - start]


# %% answer="data_samplers" wrong="draws everything before the first index"
def __iter__(self):
    generator = self.generator or Generator(draw_seed(None))
    count = len(self.data_source)
    drawn = []
    if self.replacement:
        for start in range(0, self.num_samples, 32):
            drawn += randint(count, (min(32, self.num_samples - start),), generator=generator).tolist()
    else:
        for start in range(0, self.num_samples + 1, count):
            drawn += randperm(count, generator=generator).tolist()[: self.num_samples - start]
    return iter(drawn)


# %% answer="data_samplers" wrong="the short batch is a tuple"
def batched(indices, batch_size, drop_last):
    batch = []
    for index in indices:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield tuple(batch)


# %% answer="data_samplers" right="doubles the order until it is long enough"
def share(self):
    count = len(self.dataset)
    order = list(range(count))
    if self.shuffle:
        order = randperm(count, generator=Generator(self.seed + self.epoch)).tolist()
    total = len(self) * self.num_replicas
    while len(order) < total and order:
        order += order
    return order[self.rank : total : self.num_replicas]


# %% answer="data_samplers" right="positions modulo the length"
def share(self):
    count = len(self.dataset)
    order = list(range(count))
    if self.shuffle:
        order = randperm(count, generator=Generator(self.seed + self.epoch)).tolist()
    return [order[i % count] for i in range(self.rank, len(self) * self.num_replicas, self.num_replicas)] if count else []


# %% answer="data_collate" wrong="sorted keys"
def default_collate(batch):
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in sorted(first)}
    if isinstance(first, (str, bytes)) or not isinstance(first, Sequence):
        return collate_leaves(batch)
    if any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    parts = [default_collate(column) for column in zip(*batch, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


# %% answer="data_collate" wrong="an empty list is a leaf"
def default_collate(batch):
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if isinstance(first, (str, bytes)) or not isinstance(first, Sequence) or not first:
        return collate_leaves(batch)
    if any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    parts = [default_collate(column) for column in zip(*batch, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


# %% answer="data_collate" wrong="lists, tuples and ranges alone are sequences"
def default_collate(batch):
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if not isinstance(first, (list, tuple, range)):
        return collate_leaves(batch)
    if any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    parts = [default_collate(column) for column in zip(*batch, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


# %% answer="data_collate" wrong="NumPy numbers of float64 aren't floats"
def collate_leaves(batch):
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return as_tensor(np.stack(list(batch)))
    if isinstance(first, (int, float, np.number, np.bool_)):
        return tensor(batch, dtype=float64 if type(first) is float else None)
    found = first.dtype if isinstance(first, np.ndarray) else type(first)
    raise TypeError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {found}")


# %% answer="data_collate" wrong="detaches the tensors"
def collate_leaves(batch):
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack([each.detach() for each in batch])
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, (int, float, np.number, np.bool_)):
        return tensor(batch, dtype=float64 if isinstance(first, float) else None)
    found = first.dtype if isinstance(first, np.ndarray) else type(first)
    raise TypeError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {found}")


# %% answer="data_prefetch" wrong="catches interrupts as well"
def work(fetch, tasks, results):
    while (task := tasks.get()) is not STOP:
        number, chosen = task
        try:
            results.put((number, fetch(chosen), None))
        except BaseException as error:
            results.put((number, None, error))


# %% answer="data_prefetch" wrong="None ends the batches"
def _ask(self):
    chosen = next(self.batches, None)
    if chosen is not None:
        self.tasks.put((self.asked, chosen))
        self.asked += 1


# %% answer="data_prefetch" right="an error counts as true"
def __next__(self):
    if self.given >= self.asked:
        self.close()
        raise StopIteration
    while self.given not in self.arrived:
        self._receive()
    batch, error = self.arrived.pop(self.given)
    self.given += 1
    self._ask()
    if error:
        raise error
    return batch


# %% answer="data_prefetch" wrong="raises a new error of the same type"
def __next__(self):
    if self.given == self.asked:
        self.close()
        raise StopIteration
    while self.given not in self.arrived:
        self._receive()
    batch, error = self.arrived.pop(self.given)
    self.given += 1
    self._ask()
    if error is not None:
        raise type(error)(str(error))
    return batch


# %% answer="data_pack" right="the rows are filled a second time for positions and owners"
def pack(documents, length):
    rows = []
    for document in documents:
        for row in rows:
            if len(row) + len(document) <= length:
                row.extend(document)
                break
        else:
            document = document[:]
            rows.append(document)
    bounds = []
    again = [[] for _ in rows]
    tokens = torch.tensor([row + [0] * (length - len(row)) for row in rows])
    fill = [0] * len(rows)
    positions = torch.zeros(len(rows), length, dtype=torch.int64)
    owner = torch.full((len(rows), length), -1, dtype=torch.int64)
    for number, document in enumerate(documents):
        for r in range(len(rows)):
            if fill[r] + len(document) <= length:
                positions[r, fill[r] : fill[r] + len(document)] = torch.arange(len(document))
                owner[r, fill[r] : fill[r] + len(document)] = number
                fill[r] += len(document)
                break
    for r in range(len(rows)):
        positions[r, fill[r] :] = torch.arange(length - fill[r])
    mask = (owner[:, :, None] == owner[:, None, :]).tril()
    return tokens, positions, mask


# %% answer="data_measure_workers" wrong="compares with the fastest number of workers"
def measure(epoch):
    loop, reused = epoch(0), epoch(0, reuse=True)
    step = (reused - loop / 200) / 199
    load = loop / 200 - step
    best = min(epoch(n) for n in range(17))
    workers = next(n for n in range(17) if epoch(n) <= 1.02 * best)
    return load, step, workers, 200 * step / epoch(workers)
