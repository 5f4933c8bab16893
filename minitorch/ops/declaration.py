"""How an op is declared: once, as a kernel with its derivatives.

    @pointwise(derivatives={
        "self": lambda grad, other: grad * other.conj(),
        "other": lambda grad, self: grad * self.conj(),
    })
    def mul(xp: Any, self: Array, other: Array | Number) -> Array:
        return xp.multiply(self, other)

The kernel's signature is PyTorch's, after `xp`, the device's array module. A parameter annotated `Array` receives the
tensor's strided array. A derivative is a formula in the vocabulary of PyTorch's `derivatives.yaml`: its own parameter
names say what it needs, and only that is saved for it:

    grad, grads      the gradient of the (first) output; of all outputs, as a tuple with None for those that got none
    self, other, …   the argument of that name
    self_shape, …    only the shape of that tensor; likewise self_stride and self_dtype
    result, result0… the output, or one of several
    output_mask      which of the inputs that the formula serves need a gradient

One formula may serve several inputs: the key "input, weight" returns a tuple. The `variants` generate every public
form: function, method, in-place method, `out=`. What is common to all ops happens in `minitorch.ops.apply`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from types import FunctionType
from typing import TYPE_CHECKING, Any

from minitorch.ops.plan import Derivative, Formula, Plan, parameters_of

if TYPE_CHECKING:
    from minitorch.autograd.node import OpNode
    from minitorch.tensor import Tensor

KEEP, TO_FLOAT, NONE = "keep", "to float", "none"
"""What promotion does to the arguments: find the common dtype; find it and make integers floats; leave all alone."""

NAMESPACES: dict[str, dict[str, Callable[..., Any]]] = {}
"""The generated functions by PyTorch module: "torch", "nn.functional", "linalg", "special"."""

METHODS: dict[str, Callable[..., Any]] = {}
"""The generated methods of Tensor."""

OPS: dict[str, Op] = {}
"""Every declared op by name."""


class Op:
    """A declared op: the kernel, its parameters, its derivatives, and how its arguments are typed."""

    __slots__ = (
        "check", "count", "defaults", "derivatives", "differentiable", "edits", "elementwise", "exact", "format_from",
        "formulas", "gradient_sequence", "is_binary", "is_overloaded", "is_view", "kernel", "keyword_only_from", "name",
        "node_name", "nodes", "numbers", "optional", "outputs", "parameters", "plans", "positions", "promoted",
        "required", "row_major", "saves_self", "scalars", "sequences", "tensors", "to_float", "upcast", "variadic",
    )  # fmt: skip

    def __init__(
        self,
        kernel: FunctionType,
        derivatives: Mapping[str, Formula],
        promotion: str = NONE,
        upcast: bool = False,
        is_view: bool = False,
        node: str | Callable[..., str] | None = None,
        outputs: Callable[..., Any] | None = None,
        promoted: tuple[str, ...] | None = None,
        edits: bool = False,
        check: Callable[..., None] | None = None,
        row_major: bool = False,
        elementwise: bool = False,
        format_from: tuple[str, ...] = (),
        exact: tuple[str, ...] = (),
    ) -> None:
        code = kernel.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        first = int(code.co_varnames[:1] == ("xp",))
        self.kernel = kernel
        self.name = kernel.__name__.rstrip("_")
        self.parameters = code.co_varnames[first:count]
        self.count = count - first
        self.positions = {name: position for position, name in enumerate(self.parameters)}
        self.keyword_only_from = code.co_argcount - first
        self.required = self.keyword_only_from - len(kernel.__defaults__ or ())
        self.defaults = _defaults(kernel, self.parameters, self.keyword_only_from)
        # `apply` has all arguments in order, and calls by position, which is fastest: here the `*` has no effect.
        kernel.__code__ = code.replace(co_argcount=count, co_kwonlyargcount=0)
        kernel.__defaults__ = self.defaults[self.required :]
        kinds = [kernel.__annotations__.get(name, "").replace("Tensor", "Array") for name in self.parameters]
        self.sequences = tuple(i for i, kind in enumerate(kinds) if kind.startswith("Sequence[Array"))
        self.tensors = tuple(i for i, kind in enumerate(kinds) if kind.startswith("Array"))
        self.scalars = frozenset(i for i, kind in enumerate(kinds) if "Number" in kind)
        self.numbers = self.scalars - frozenset(self.tensors)
        self.optional = frozenset(i for i, kind in enumerate(kinds) if "None" in kind)
        self.variadic = kinds.index("Variadic") if "Variadic" in kinds else None
        if promotion == NONE:
            self.promoted: frozenset[int] = frozenset()
        elif promoted is None:
            self.promoted = frozenset(self.tensors + self.sequences)
        else:
            self.promoted = frozenset(self.positions[name] for name in promoted)
        self.to_float = promotion == TO_FLOAT
        self.upcast = upcast
        self.is_view = is_view
        self.edits = edits
        self.check = check
        self.row_major = row_major
        self.format_from = tuple(self.positions[name] for name in format_from)
        self.elementwise = elementwise
        self.exact = frozenset(self.positions[name] for name in exact)
        self.node_name = node or "".join(part.capitalize() for part in self.name.strip("_").split("_")) + "Backward0"
        self.is_overloaded = callable(node)
        self.outputs = outputs
        self.is_binary = self.tensors == (0, 1) and len(self.promoted) == 2 and 1 in self.scalars and not edits
        self.differentiable = self._inputs_of(derivatives)
        self.gradient_sequence = next((each for each in self.differentiable if each in self.sequences), None)
        self.saves_self = edits and any("self" in parameters_of(formula) for formula in derivatives.values())
        self.formulas = derivatives
        self.derivatives: tuple[Derivative, ...] | None = None
        self.nodes: dict[str, type[OpNode]] = {}
        self.plans: dict[Any, Plan] = {}

    def _inputs_of(self, formulas: Mapping[str, Formula]) -> tuple[int, ...]:
        """The parameters that the formulas are for."""
        return tuple(sorted(self.positions[name.strip()] for names in formulas for name in names.split(",")))

    def plan(self, mask: int, args: Sequence[Any]) -> Plan:
        """What to save and which formulas to run when the inputs in the bit set `mask` need gradients."""
        key: Any = (mask, self.node_name(*args)) if self.is_overloaded else mask  # type: ignore[operator]
        plan = self.plans.get(key)
        if plan is None:
            if self.derivatives is None:  # not before, since hundreds of ops are declared and few are differentiated
                self.derivatives = tuple(Derivative(self, names, each) for names, each in self.formulas.items())
            plan = self.plans[key] = Plan(self, mask, args)
        return plan

    def twin(self, node_name: str | Callable[..., str], formulas: Mapping[str, Formula] | None = None) -> Op:
        """The same op with another name of its node, and other derivatives if given: those of the form in place."""
        twin = copy(self)
        twin.node_name, twin.is_overloaded, twin.nodes, twin.plans = node_name, callable(node_name), {}, {}
        twin.formulas, twin.derivatives = formulas or self.formulas, None
        twin.differentiable = self._inputs_of(twin.formulas)
        return twin

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """All arguments in the order of the signature, defaults filled in.

        Raises TypeError as PyTorch's parser does.
        """
        if len(args) == self.keyword_only_from + 1 and self.name in NUMBER_FIRST:
            args, kwargs = (args[0], *args[2:]), {NUMBER_FIRST[self.name]: args[1], **kwargs}
        if len(args) > self.keyword_only_from:
            raise TypeError(
                f"{self.name}() takes {self.keyword_only_from} positional "
                f"argument{'s' * (self.keyword_only_from != 1)} "
                f"but {len(args)} were given"
            )
        bound = list(args) + list(self.defaults[len(args) :])
        for name, value in kwargs.items():
            names = (name, "self" if name == "input" else "", ALIASES.get(name, ""))
            position = next((self.positions[each] for each in names if each in self.positions), None)
            if position is None:
                raise TypeError(f"{self.name}() got an unexpected keyword argument '{name}'")
            if position < len(args):
                raise TypeError(f"{self.name}() got multiple values for argument '{name}'")
            if position in self.numbers and hasattr(value, "requires_grad"):
                if value.dim() or value.requires_grad:
                    raise TypeError(f"{self.name}(): argument '{name}' must be Number, not Tensor")
                value = value.item()
            bound[position] = value
        if REQUIRED in bound:
            missing = [_public(name) for name, value in zip(self.parameters, bound, strict=True) if value is REQUIRED]
            raise TypeError(
                f"{self.name}() missing {len(missing)} required positional argument{'s' * (len(missing) == 1)}: "
                + ", ".join(f'"{name}"' for name in missing)
            )
        return bound


NUMBER_FIRST = {"add": "alpha", "sub": "alpha", "addcmul": "value", "addcdiv": "value"}
"""Ops whose factor stood before the operands, x.addcmul_(value, tensor1, tensor2), which PyTorch still takes."""


class Required:
    """The default of a parameter that has none."""

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


REQUIRED = Required()
ALIASES = {
    "axis": "dim",
    "axis0": "dim0",
    "axis1": "dim1",
    "from": "from_",
    "input": "A",
    "keepdims": "keepdim",
    "x": "self",
    "x1": "self",
    "x2": "other",
}
"""NumPy's names, which PyTorch takes too, and the names of older functions."""


def _public(name: str) -> str:
    return "input" if name == "self" else name


def _defaults(kernel: FunctionType, parameters: tuple[str, ...], positional: int) -> tuple[Any, ...]:
    given = kernel.__defaults__ or ()
    named = kernel.__kwdefaults__ or {}
    values: list[Any] = [REQUIRED] * (positional - len(given)) + list(given)
    return tuple(values + [named.get(name, REQUIRED) for name in parameters[positional:]])


def declare(
    *,
    derivatives: Mapping[str, Formula] | None = None,
    promotion: str = NONE,
    upcast: bool = False,
    is_view: bool = False,
    variants: str = "function method",
    namespace: str = "torch",
    aliases: str = "",
    operators: str = "",
    node: str | Callable[..., str] | None = None,
    outputs: Callable[..., Any] | None = None,
    promoted: tuple[str, ...] | None = None,
    edits: bool = False,
    check: Callable[..., None] | None = None,
    row_major: bool = False,
    elementwise: bool = False,
    format_from: tuple[str, ...] = (),
    exact: tuple[str, ...] = (),
) -> Callable[[Any], Callable[..., Any]]:
    """Declares an op and generates its public forms. Returns the function, also for variants without one.

    `variants` is a subset of "function method inplace out"; `aliases` are further names of all forms; `operators` are
    special methods ("__add__"), of which reflected ones ("__radd__") get their arguments swapped.
    `outputs` makes the result of several outputs, for instance a type of `minitorch.return_types`; `promoted` names the
    parameters that take part in type promotion, where that is not all tensors. The kernel of an op that `edits` writes
    into its first array and returns it: it is given a copy, or in place the tensor's own memory.
    A `row_major` op's results are contiguous, however its arguments lie in memory; those of an op with `format_from`
    have their channels last if one of these arguments has.
    The result of an `elementwise` op lies in memory as its arguments do. Numbers among two-byte floats are rounded to
    these first, but for the parameters that are `exact`.
    `check` is called with the arguments before they are promoted, if their types differ, and may refuse them.
    """

    def generate(kernel: Any) -> Callable[..., Any]:
        from minitorch.ops import apply, autocast, signatures

        op = Op(
            kernel, derivatives or {}, promotion, upcast, is_view, node, outputs, promoted, edits, check, row_major,
            elementwise, format_from, exact,
        )  # fmt: skip
        if namespace in ("linalg", "special"):
            op.name = f"{namespace}_{op.name}"  # as errors name it
        OPS[kernel.__name__] = op
        function = autocast.applied(apply.function_of(op, with_out="out" in variants), namespace, kernel.__name__)
        signatures.describe_op(function, op, keywords={"out": None} if "out" in variants else {})
        register(function, kernel, (kernel.__name__, *aliases.split()), variants, namespace)
        if "inplace" in variants:
            in_place = apply.in_place_of(op)
            in_place.__name__ = in_place.__qualname__ = kernel.__name__ + "_"
            signatures.describe_op(in_place, op, "self")
            for name in (kernel.__name__, *aliases.split()):
                METHODS[name + "_"] = in_place
        for operator in operators.split():
            METHODS[operator] = apply.operator_of(op, operator)
        return function

    return generate


def register(function: Callable[..., Any], source: Any, names: tuple[str, ...], variants: str, namespace: str) -> None:
    """Makes a function public under its names: in a namespace, as method, or both."""
    function.__name__ = function.__qualname__ = names[0]
    function.__doc__ = source.__doc__
    function.__module__ = _module(namespace)
    for name in names:
        if "function" in variants:
            NAMESPACES.setdefault(namespace, {})[name] = function
        if "method" in variants:
            METHODS[name] = function


def _module(namespace: str) -> str:
    """Where functions of a namespace say they are from, which is how pickles name them."""
    return "minitorch" if namespace == "torch" else f"minitorch.{namespace}"


def pointwise(*, promotion: str = KEEP, upcast: bool = True, **options: Any) -> Callable[[Any], Callable[..., Any]]:
    """Declares an elementwise op: its arguments are promoted and broadcast; float16 and bfloat16 compute in float32."""
    options.setdefault("variants", "function method inplace out")
    elementwise = not options.get("row_major", False)
    return declare(promotion=promotion, upcast=upcast, elementwise=elementwise, **options)


def flat(grad: Tensor, self_shape: tuple[int, ...]) -> Tensor:
    """The derivative in an input `self` on which a result doesn't depend, or only by jumps: zeros.

    PyTorch's backward ops have an edge to the input of the forward pass that sends such zeros, so that a gradient made
    with `create_graph=True` requires a gradient also where the op is linear.
    """
    zeros: Tensor = grad.new_zeros(self_shape)
    return zeros


def view(**options: Any) -> Callable[[Any], Callable[..., Any]]:
    """Declares an op whose result is a view of its first argument's memory: the kernel must not copy."""
    return declare(is_view=True, **options)


def composite(
    *, variants: str = "function method", namespace: str = "torch", aliases: str = "", operators: str = ""
) -> Callable[[Any], Any]:
    """Makes a function written with other ops public. It has no kernel and no derivative of its own: autograd sees
    the ops it calls. Its first parameter is named `self` or `input`, as PyTorch's.

    `variants` is a subset of "function method out": with "out" the function, though not the method, takes the tensor,
    or the tuple of tensors, that its result is written into.
    """

    def generate(function: Any) -> Any:
        from minitorch.ops import autocast

        method = autocast.applied(function, namespace, function.__name__)
        public = method
        if "function" in variants:
            with_out = _with_out(function) if "out" in variants else function
            public = autocast.applied(_asking_for_tensors(with_out), namespace, function.__name__)
        public.__module__ = _module(namespace)
        for name in (function.__name__, *aliases.split()):
            if "function" in variants:
                NAMESPACES.setdefault(namespace, {})[name] = public
            if "method" in variants:
                METHODS[name] = method
        for operator in operators.split():
            METHODS[operator] = method
        return public

    return generate


def _asking_for_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, but when it fails on an argument that should have been a tensor, it says so."""
    expected = [name for name, kind in function.__annotations__.items() if kind == "Tensor" and name != "return"]
    if not expected:
        return function

    @functools.wraps(function)
    def asking(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (AttributeError, TypeError) as error:
            from minitorch.tensor import Tensor

            inner, says_which, _ = str(error).partition("(): argument")
            if says_which and not {inner, f"_{inner}"} & OPS.keys():
                raise
            names = list(inspect.signature(function).parameters)
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            called = {"cross_entropy": "cross_entropy_loss"}.get(function.__name__, function.__name__)
            for name in expected:
                if name in given and not isinstance(given[name], Tensor):
                    raise TypeError(
                        f"{called}(): argument '{name}' (position {names.index(name) + 1}) must be Tensor, "
                        f"not {type(given[name]).__name__}"
                    ) from None
            raise

    return asking


def _with_out(function: Callable[..., Any]) -> Callable[..., Any]:
    from minitorch.ops import apply, signatures

    @functools.wraps(function)
    def with_out(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return result if out is None else apply.write_out(function.__name__, out, result)

    signatures.describe(with_out, function, keywords={"out": None})
    return with_out
