"""The backend "inductor": a graph becomes generated code over arrays, and where gradients are needed two.

The backward pass is captured ahead of time by running the formulas of the ops on tensors without data, as PyTorch's
AOTAutograd does; the results have one node, `CompiledFunctionBackward`. A graph that does more than calling kernels
on arrays runs op by op, as the backend "eager" runs it: one that returns a view, draws random numbers other than
dropout's, or mixes dtypes. `steps.py` records the kernel calls, and `generating.py` writes the code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple

from minitorch._dynamo import logs
from minitorch._inductor.generating import Code, generated
from minitorch._inductor.steps import DRAWS, CannotLower, Recorder, Step, Value, bases_of, check_names
from minitorch.autograd.function import Function
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.passes import grad
from minitorch.devices import cpu, device
from minitorch.ops.creation.filled import empty_strided
from minitorch.random import default_generator
from minitorch.tensor import Tensor, make_tensor

META = device("meta")
MOST_SHAPES = 8
"""For how many combinations of sizes a graph with symbols gets code of its own. Any others run op by op."""

FAILURES = (ValueError, TypeError, RuntimeError, NotImplementedError, IndexError)
"""What kernels raise for values that they don't take. The graph then runs op by op, for the error of eager mode."""

Arrays = dict[str, Any]
NO_DOUBLE_BACKWARD = "torch.compile with aot_autograd does not currently support double backward"


def inductor(gm: Any, example_inputs: list[Any], at_once: bool = False) -> Callable[..., Any]:
    """What runs a graph on inputs like these: generated code, or the graph's operations one by one.

    Inputs of another size, where a size is a symbol, get code of their own, for the first few sizes. With `at_once`
    compiled loops are used from the first call on (`mode="max-autotune"`).
    """
    by_shape: dict[Any, Callable[..., Any]] = {}

    def run(*inputs: Any) -> Any:
        key = tuple([each._array.shape if isinstance(each, Tensor) else each for each in inputs])
        found = by_shape.get(key)
        if found is None:
            found = gm.forward
            if len(by_shape) < MOST_SHAPES:
                found = by_shape[key] = lower(gm, list(inputs), at_once)
        return found(*inputs)

    return run if gm.meta.get("has_symbols") else lower(gm, example_inputs, at_once)


def lower(gm: Any, examples: list[Any], at_once: bool) -> Callable[..., Any]:
    """Generated code for inputs of these sizes; `gm.forward`, which runs op by op, where there is none."""
    try:
        return Lowered(gm, examples, at_once).run_on_tensors
    except (CannotLower, *FAILURES) as reason:
        logs.output_code(f"# op by op: {reason}\n{gm.code}")
        run: Callable[..., Any] = gm.forward
        return run


def _is_plain(x: Tensor) -> bool:
    """Whether kernels compute with a tensor's array as it is."""
    return not x.dtype.is_low_precision and x.is_contiguous()


class Lowered:
    """The generated code of one graph, which fits inputs with the examples' metadata."""

    def __init__(self, gm: Any, examples: list[Any], at_once: bool) -> None:
        if not all(isinstance(each, Tensor) and _is_plain(each) for each in examples):
            raise CannotLower("inputs other than contiguous tensors of NumPy's dtypes")
        check_names(gm.graph)
        self.gm = gm
        recorder = Recorder()
        fakes = [empty_strided(tuple(each.shape), each.stride(), dtype=each.dtype, device=META) for each in examples]
        for fake, example in zip(fakes, examples, strict=True):
            fake.requires_grad_(example.requires_grad)
        self.inputs = [recorder.input(fake, f"x{i}") for i, fake in enumerate(fakes)]
        results = recorder.run(lambda: gm.forward(*fakes))
        self.outputs = [recorder.value(each) for each in results]
        self.dtypes = [each.fake.dtype for each in self.outputs]
        made = {each.name: step.op for step in recorder.steps for each in step.results}
        own = [each.name for each in self.outputs if each.name in made and not made[each.name].memory.is_view]
        if len({*own}) < len(results) or {id(each._array) for each in results} & {id(each._array) for each in fakes}:
            raise CannotLower("an output that is an input, a view, or twice the same")
        self.written = [i for i, each in enumerate(fakes) if id(each._array) in recorder.written]
        if any(fakes[i].requires_grad for i in self.written):
            raise CannotLower("a write to an input that requires a gradient")
        self.writes = {self.inputs[i].name: recorder.value(fakes[i]) for i in self.written}
        self.versions_of_inputs = recorder.versions_of(fakes)
        self.versions_of_outputs = recorder.versions_of(results)
        self.draws = any(step.op.name in DRAWS for step in recorder.steps)
        forward = list(recorder.steps)
        arrays = run_and_check_layouts(forward, self.inputs, [each._array for each in examples], recorder.constants)
        if grad_mode.enabled and any(each.requires_grad for each in results):
            self._with_backward(recorder, fakes, results, forward, arrays, at_once)
            self.run_on_tensors = self._run_recorded
        else:
            self.run = Code(forward, self.inputs, self.outputs, recorder.constants, at_once, self.writes)
            logs.output_code(self.run.text)
            self.run_on_tensors = self._run_unrecorded

    def _with_backward(
        self,
        recorder: Recorder,
        fakes: list[Tensor],
        results: Sequence[Tensor],
        forward: list[Step],
        arrays: Arrays,
        at_once: bool,
    ) -> None:
        """Captures the backward pass; what it needs of the forward pass is saved."""
        self.requires_grad = [each.requires_grad for each in results]
        differentiable = [each for each in results if each.requires_grad]
        if not all(each.is_contiguous() for each in differentiable):
            raise CannotLower("an output that is not contiguous")
        self.passes = Passes(recorder, fakes, differentiable, at_once)
        whole = self.passes.capture((True,) * len(differentiable), arrays)
        self.saved = self.passes.saved = whole.saved
        bases = bases_of(recorder.steps)
        roots = [bases.get(each.name, each.name) for each in self.saved]
        if any(name in self.writes for name in roots):
            raise CannotLower("the backward pass reads what has been overwritten")
        # The program can write to inputs and outputs. They are saved as tensors, whose version counters show that.
        self.watched_inputs = [i for i, each in enumerate(self.inputs) if each.name in roots]
        self.watched_outputs = [i for i, each in enumerate(self.outputs) if each.name in roots]
        outputs = [*self.outputs, *self.saved]
        self.run = Code(forward, self.inputs, outputs, recorder.constants, at_once, self.writes)
        logs.output_code(f"# forward\n{self.run.text}\n# backward\n{whole.run.text}")
        self.unused = [i for i, each in enumerate(fakes) if each.requires_grad and whole.slots[i] is None]

    def _arrays(self, inputs: Sequence[Tensor]) -> Any:
        """What generated code makes of the inputs' arrays; None where it doesn't take them, and nothing has happened.

        It may have drawn random numbers, which go back; what it writes, it writes at its end.
        """
        if self.written and not self._are_apart(inputs):
            return None
        state = default_generator.get_state_array() if self.draws else None
        try:
            arrays = self.run(*[each._array for each in inputs])
        except FAILURES:
            if state is not None:
                default_generator.set_state_array(state)
            return None
        for i, times in self.versions_of_inputs:
            _count(inputs[i], times)
        return arrays

    def _are_apart(self, inputs: Sequence[Tensor]) -> bool:
        """Whether what is written can be, and shares its memory with no other input."""
        arrays = [each._array for each in inputs]
        owners = [id(each if each.base is None else each.base) for each in arrays]
        return all(arrays[i].flags.writeable and owners.count(owners[i]) == 1 for i in self.written)

    def wrap(self, arrays: Sequence[Any]) -> list[Tensor]:
        """The outputs, of which some count the writes of in-place forms."""
        outputs = [make_tensor(each, dtype, cpu) for each, dtype in zip(arrays, self.dtypes, strict=False)]
        for i, times in self.versions_of_outputs:
            _count(outputs[i], times)
        return outputs

    def _run_unrecorded(self, *inputs: Tensor) -> Any:
        arrays = self._arrays(inputs)
        return self.gm.forward(*inputs) if arrays is None else self.wrap(arrays)

    def _run_recorded(self, *inputs: Tensor) -> Any:
        arrays = self._arrays(inputs)
        if arrays is None:
            return self.gm.forward(*inputs)
        if self.unused:  # with an edge to them, their history would run as well, and fill leaves with zeros
            inputs = tuple(each.detach() if i in self.unused else each for i, each in enumerate(inputs))
        return CompiledFunction.apply(self, arrays, *inputs)


def _count(tensor: Tensor, times: int) -> None:
    """Counts writes, as an in-place form counts its own."""
    for _ in range(times):
        tensor._bump_version()


class Backward(NamedTuple):
    """The backward pass for gradients of certain outputs."""

    run: Code
    saved: list[Value]
    """The arrays of the forward pass that it reads."""
    gradients: list[Value]
    """What it returns, each once."""
    copied: list[bool]
    """For each gradient, whether it is copied, because the pass has not made its memory."""
    slots: list[int | None]
    """For each input, the position of its gradient in `gradients`; None for an input without one."""


class Passes:
    """The backward passes of a graph: one for each set of outputs to which gradients have come.

    As in eager mode, an input on which no such output depends gets no gradient, rather than zeros.
    """

    def __init__(self, recorder: Recorder, fakes: Sequence[Tensor], outputs: Sequence[Tensor], at_once: bool) -> None:
        self._recorder, self._fakes, self._outputs, self._at_once = recorder, fakes, outputs, at_once
        self._captured: dict[tuple[bool, ...], Backward] = {}
        self.saved: list[Value] = []

    def of(self, arrived: tuple[bool, ...]) -> Backward:
        """The pass for these outputs. Raises CannotLower if it needs what the forward pass didn't save."""
        if arrived not in self._captured:
            zeros = {each.name: _zeros(each.fake) for each in self.saved}
            self.capture(arrived, zeros)
        return self._captured[arrived]

    def capture(self, arrived: tuple[bool, ...], arrays: Arrays) -> Backward:
        """Captures the pass for these outputs. `arrays` are examples of what the forward pass saves, by name."""
        recorder = self._recorder
        outputs = [each for each, has in zip(self._outputs, arrived, strict=True) if has]
        wanted = [each for each in self._fakes if each.requires_grad]
        tangents = [empty_strided(each.shape, each.stride(), dtype=each.dtype, device=META) for each in outputs]
        given = [recorder.input(each, f"g{i}") for i, each in enumerate(tangents)]
        done = len(recorder.steps)
        found = recorder.run(lambda: grad(outputs, wanted, tangents, retain_graph=True, allow_unused=True))
        gradients = [None if each is None else recorder.value(each) for each in found]
        distinct = list({each.name: each for each in gradients if each is not None}.values())
        backward = recorder.steps[done:]
        saved = _read_from_outside(backward, distinct, {*recorder.constants, *(each.name for each in given)})
        bases = bases_of(recorder.steps)
        roots = [bases.get(each.name, each.name) for each in distinct]
        if len({*roots}) < len(roots):
            raise CannotLower("two gradients that share memory")
        missing = {each.name for each in saved} - arrays.keys()
        if missing:
            raise CannotLower(f"{', '.join(sorted(missing))} was not saved")
        own = {each.name for step in backward for each in step.results}
        order = [*(self.saved or saved), *given]
        ones = {each.name: cpu.xp.ones(each.fake.shape, each.fake.dtype.numpy) for each in given}
        run_and_check_layouts(backward, order, [(arrays | ones)[each.name] for each in order], recorder.constants)
        run = Code(backward, order, distinct, recorder.constants, self._at_once)
        places = {each.name: place for place, each in enumerate(distinct)}
        slots = iter([None if each is None else places[each.name] for each in gradients])
        self._captured[arrived] = result = Backward(
            run,
            saved,
            distinct,
            [root not in own for root in roots],
            [next(slots) if each.requires_grad else None for each in self._fakes],
        )
        return result


def _zeros(like: Tensor) -> Any:
    """An array of zeros that lies in memory as another tensor does."""
    array = empty_strided(like.shape, like.stride(), dtype=like.dtype)._array
    array[...] = 0
    return array


def _read_from_outside(steps: Sequence[Step], results: Sequence[Value], given: Set[str]) -> list[Value]:
    """The arrays that steps read, or that are results, and that neither the steps make nor `given` names; each once."""
    own = {each.name for step in steps for each in step.results} | given
    read = {each.name: each for each in (*(each for step in steps for each in step.arrays), *results)}
    return [each for name, each in read.items() if name not in own]


def run_and_check_layouts(
    steps: Sequence[Step], inputs: Sequence[Value], given: Sequence[Any], constants: Mapping[str, Any]
) -> Arrays:
    """Runs steps on example arrays. Returns these and all results, by name.

    Raises CannotLower for a result with other strides than in eager mode, where `apply` gives results their order in
    memory and generated code doesn't: a later sum would add the elements in another order, and round otherwise.
    """
    made = [each for step in steps for each in step.results]
    run, _ = generated(steps, inputs, made, constants, way="straight")
    state = default_generator.get_state_array()
    arrays = run(*given)
    default_generator.set_state_array(state)
    for value, array in zip(made, arrays, strict=True):
        strides = tuple(step // array.itemsize for step in array.strides)
        fits = array.shape == tuple(value.fake.shape) and array.dtype == value.fake.dtype.numpy
        if not fits or (array.size > 1 and strides != tuple(value.fake.stride())):
            raise CannotLower(f"{value.name} has another layout")
    return {each.name: array for each, array in zip((*inputs, *made), (*given, *arrays), strict=True)}


class CompiledFunction(Function):
    """The node of a compiled graph: its backward pass is generated code, too."""

    @staticmethod
    def forward(ctx: Any, lowered: Lowered, arrays: Sequence[Any], *inputs: Tensor) -> Any:
        outputs = tuple(lowered.wrap(arrays))
        ctx.lowered, ctx.arrays = lowered, arrays[len(outputs) :]
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(
            *(each for each, needs in zip(outputs, lowered.requires_grad, strict=True) if not needs)
        )
        watched = [inputs[i] for i in lowered.watched_inputs]
        ctx.save_for_backward(*watched, *(outputs[i] for i in lowered.watched_outputs))
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if grad_mode.enabled:
            raise RuntimeError(NO_DOUBLE_BACKWARD)
        lowered: Lowered = ctx.lowered
        ctx.saved_tensors  # noqa: B018 - raises where one was written to, or the graph has been freed
        arrived = [each for each, needs in zip(grads, lowered.requires_grad, strict=True) if needs]
        if not any(each is not None for each in arrived):
            return (None,) * (2 + len(lowered.inputs))
        backward = lowered.passes.of(tuple(each is not None for each in arrived))
        found = backward.run(*ctx.arrays, *(each.contiguous()._array for each in arrived if each is not None))
        tensors = [
            make_tensor(array.copy() if copied else array, value.fake.dtype, cpu)
            for array, value, copied in zip(found, backward.gradients, backward.copied, strict=True)
        ]
        for slot, each in enumerate(tensors):
            each._holders = backward.slots.count(slot)  # nobody outside of the pass sees it: see autograd/ownership.py
        return None, None, *(None if slot is None else tensors[slot] for slot in backward.slots)
