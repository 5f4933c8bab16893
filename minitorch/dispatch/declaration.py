"""How an op is declared: once, as a kernel with its derivatives.

    @pointwise(
        exact=("other",),
        takes_numbers=True,
        operators="__mul__ __rmul__ __imul__",
        aliases="multiply",
        derivatives={
            "self": _times_conjugate,
            "other": lambda grad, self, memory: _times_conjugate(grad, self, memory),
        },
    )
    def mul(xp: Any, self: Array | Number, other: Array | Number) -> Array:
        return xp.multiply(self, other)

`_times_conjugate(grad, other, memory)` is grad · conj(other).

The kernel's parameters are PyTorch's, after `xp`, the device's array module: see `schema.py`. One that is annotated
`Array` receives the tensor's strided array. A derivative is a formula in the vocabulary of PyTorch's
`derivatives.yaml`: its own parameter names say what it needs, and only that is saved for it:

    grad, grads      the gradient of the (first) output; of all outputs, as a tuple with None for those that got none
    self, other, …   the argument of that name
    self_shape, …    only the shape of that tensor; likewise self_stride and self_dtype
    result, result0… the output, or one of several
    output_mask      which of the inputs that the formula serves need a gradient
    memory           the array of `grad`, to be overwritten, where it is large and nobody else will read it; else None

One formula may serve several inputs: the key "input, weight" returns a tuple. The `variants` generate every public
form: function, method, in-place method, `out=`. What is common to all ops happens in `minitorch.dispatch.apply`.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from minitorch.dispatch import apply, iteration, overriding, reference, signatures
from minitorch.dispatch.arguments import wrong_in_call
from minitorch.dispatch.autocast import Casts, applied, casts_of
from minitorch.dispatch.autocast import state as autocast_state
from minitorch.dispatch.formulas import Formula
from minitorch.dispatch.op import CASTS, KEEP, Op
from minitorch.dispatch.schema import ALIASES
from minitorch.tensor import Tensor

NAMESPACES: dict[str, dict[str, Callable[..., Any]]] = {}
"""The generated functions by PyTorch module: "torch", "nn.functional", "linalg", "special"."""

METHODS: dict[str, Callable[..., Any]] = {}
"""The generated methods of Tensor."""

OPS: dict[str, Op] = {}
"""Every declared op by name."""


def declare(
    *,
    derivatives: Mapping[str, Formula] | None = None,
    variants: str = "function method",
    namespace: str = "torch",
    aliases: str = "",
    operators: str = "",
    autocast: str = "",
    autocast_on_gpu: str | None = None,
    row_major: bool = False,
    format_from: tuple[str, ...] = (),
    **options: Any,
) -> Callable[[Any], Callable[..., Any]]:
    """Declares an op and generates its public forms. Returns the function, also for variants without one.

    `variants` is a subset of "function method inplace out"; `aliases` are further names of all forms; `operators` are
    special methods ("__add__"), of which reflected ones ("__radd__") get their arguments swapped. `autocast` is how the
    function takes part in mixed precision (`autocast.POLICIES`), on GPUs `autocast_on_gpu`.

    The options of types, memory, writes and devices are those of the records in `op.py`, with two short forms: results
    of a `row_major` op are contiguous, however the arguments lie in memory, and an op with `format_from` needs no
    `order`. Other options are the op's:

    *Arguments.* Parameters from `keyword_only` on are given by keyword alone. `number_first` is the factor that stood
    before the operands, x.addcmul_(value, tensor1, tensor2), which PyTorch still takes. An op that `takes_sparse` adds
    a sparse second operand to a dense first. `outputs` makes the result of several outputs, for instance a type of
    `minitorch.return_types`.

    *Recording.* `node` names the node, or says how from the arguments. An op that `saves_all` saves what its
    formulas name whichever inputs need gradients, as PyTorch's ops of a backward pass do; others save what is needed.

    *Words.* `aten` is PyTorch's name of the op where its kernel has another, or says it from the arguments.
    `no_elements` is what the error says where the op needs elements on the meta device, if PyTorch has words of its own
    for that, and `no_tensors` what it says of an empty list.
    """

    def generate(kernel: Any) -> Callable[..., Any]:
        if row_major:
            options["order"] = iteration.row_major
        elif format_from:
            options["order"] = iteration.channels_last
        elif options.get("elementwise") and not options.get("edits"):
            options.setdefault("order", iteration.arranged)
        if options.get("elementwise"):
            options.setdefault("out_type", CASTS)
        on_gpu = "" if autocast else autocast_on_gpu or ""  # what `apply` does
        options.update(prefix=_prefix(namespace), format_from=format_from, autocast_on_gpu=on_gpu)
        op = Op(kernel, derivatives or {}, **options)
        OPS[kernel.__name__] = op
        public = apply.function_of(op, with_out="out" in variants)
        function = applied(public, autocast, autocast_on_gpu, op.schema.parameters) if autocast else public
        signatures.describe_op(function, op, keywords={"out": None} if "out" in variants else {})
        op.functions["apply"] = function
        explanation = reference.of_op(op, kernel.__doc__, kernel.__name__, variants, namespace)
        register(function, explanation, (kernel.__name__, *aliases.split()), variants, namespace)
        if "inplace" in variants:
            in_place = apply.in_place_of(op)
            in_place.__name__ = in_place.__qualname__ = kernel.__name__ + "_"
            in_place.__doc__ = reference.of_in_place(kernel.__doc__, kernel.__name__, variants)
            signatures.describe_op(in_place, op, "self")
            op.functions["apply_in_place"] = in_place
            for name in (kernel.__name__, *aliases.split()):
                METHODS[name + "_"] = in_place
        for operator in operators.split():
            method = METHODS[operator] = apply.operator_of(op, operator)
            method.__name__ = method.__qualname__ = operator
            signatures.describe_operator(method, kernel)
        return function

    return generate


def register(
    function: Callable[..., Any], explanation: str | None, names: tuple[str, ...], variants: str, namespace: str
) -> None:
    """Makes a function public under its names: in a namespace, as method, or both."""
    function.__name__ = function.__qualname__ = names[0]
    function.__doc__ = explanation
    function.__module__ = _module(namespace)
    for name in names:
        if "function" in variants:
            NAMESPACES.setdefault(namespace, {})[name] = function
        if "method" in variants:
            METHODS[name] = function


def _module(namespace: str) -> str:
    """Where functions of a namespace say they are from, which is how pickles name them."""
    return "minitorch" if namespace == "torch" else f"minitorch.{namespace}"


def _prefix(namespace: str) -> str:
    """What errors and nodes name functions of a namespace with."""
    return f"{namespace}_" if namespace in ("linalg", "special") else ""


def pointwise(*, promotion: str = KEEP, upcast: bool = True, **options: Any) -> Callable[[Any], Callable[..., Any]]:
    """Declares an elementwise op: its arguments are promoted and broadcast; float16 and bfloat16 compute in float32."""
    options.setdefault("variants", "function method inplace out")
    elementwise = not options.get("row_major", False)
    return declare(promotion=promotion, upcast=upcast, elementwise=elementwise, **options)


def private(**options: Any) -> Callable[[Any], Callable[..., Any]]:
    """Declares an op that only other functions and gradients call; it computes two-byte floats in float32."""
    return declare(variants="", promotion=KEEP, upcast=True, **options)


def flat(grad: Tensor, self_shape: tuple[int, ...]) -> Tensor:
    """The derivative in an input `self` on which a result doesn't depend, or only by jumps: zeros.

    PyTorch's backward ops have an edge to the input of the forward pass that sends such zeros, so that a gradient made
    with `create_graph=True` requires a gradient also where the op is linear.
    """
    zeros: Tensor = grad.new_zeros(self_shape)
    return zeros


def zero_gradient(grad: Tensor) -> Tensor:
    """The same for an elementwise op: zeros of the shape of its result."""
    zeros: Tensor = grad.new_zeros(grad.shape)
    return zeros


def view(**options: Any) -> Callable[[Any], Callable[..., Any]]:
    """Declares an op whose result is a view of its first argument's memory: the kernel must not copy."""
    return declare(is_view=True, **options)


def composite(
    *,
    variants: str = "function method",
    namespace: str = "torch",
    aliases: str = "",
    operators: str = "",
    autocast: str = "",
    autocast_on_gpu: str | None = None,
    out_type: str = "",
    named: str = "",
    asks: bool = True,
) -> Callable[[Any], Any]:
    """Makes a function written with other ops public. It has no kernel and no derivative of its own: autograd sees
    the ops it calls, while `__torch_function__` sees the function if it `asks`. Its first parameter is named `self` or
    `input`, as PyTorch's.

    `variants` is a subset of "function method out": with "out" the function, though not the method, takes the tensor,
    or the tuple of tensors, that its result is written into. `autocast`, `autocast_on_gpu` and `out_type` are as in
    `declare`; `named` is what errors call the function, if not by its name.
    """

    def generate(function: Any) -> Any:
        source = inspect.unwrap(function)
        if "<locals>" in source.__code__.co_qualname:
            signatures.describe(source, source)
        public: Any = applied(with_aliases(function, 1), autocast, autocast_on_gpu)
        public = method = overriding.announced(public) if asks else public
        if "function" in variants:
            casts = casts_of(autocast, autocast_on_gpu, tuple(inspect.signature(function).parameters))
            public = _function_of(function, named, namespace, "out" in variants, out_type, casts, asks)
            if autocast:
                public.autocast = autocast
        public.__module__ = _module(namespace)
        public.__doc__ = method.__doc__ = reference.of_composite(function, variants, namespace, out_type)
        for name in (function.__name__, *aliases.split()):
            if "function" in variants:
                NAMESPACES.setdefault(namespace, {})[name] = public
            if "method" in variants:
                METHODS[name] = method
        for operator in operators.split():
            METHODS[operator] = method
        return public

    return generate


def _function_of(
    function: Callable[..., Any],
    named: str,
    namespace: str,
    takes_out: bool,
    out_type: str,
    casts: Casts | None,
    asks: bool,
) -> Callable[..., Any]:
    """The public function of a composite: it asks `__torch_function__`, casts for autocast, writes into `out=`, and
    refuses what is no tensor.

    All that is one call more, however much of it a function needs, so that tracebacks are short.
    """
    if casts is None and not takes_out and "Tensor" not in _kinds(function).values():
        renaming = with_aliases(function, 0)
        return overriding.announced(renaming) if asks else renaming
    called = named or _prefix(namespace) + function.__name__
    in_python = namespace == "nn.functional"  # whose functions PyTorch's parser doesn't see
    uncast = None if casts is None else _function_of(function, named, namespace, takes_out, out_type, None, asks=False)

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        if asks and overriding.around and (result := overriding.announce(public, args, kwargs)) is not NotImplemented:
            return result
        if casts is not None and autocast_state.enabled and kwargs.get("out") is None:
            return casts(uncast, args, kwargs)  # type: ignore[arg-type]  # is there if casts is
        out = kwargs.pop("out", None) if takes_out else None
        try:
            result = function(*args, **kwargs)
        except apply.REFUSALS as error:
            by_type = isinstance(error, (AttributeError, TypeError))
            if in_python and not by_type:
                raise
            if (result := overriding.handle_refused(error, public, args, kwargs)) is not NotImplemented:
                return result
            if by_type and (bound := renamed(function, args, kwargs)) is not None:
                result = public(*bound[0], **bound[1])
            elif (better := wrong_in_call(function, called, args, kwargs, in_python)) is None:
                raise
            else:
                raise better from None
        return result if out is None else apply.write_out(function.__name__, out, result, out_type)

    if takes_out:
        signatures.describe(public, function, keywords={"out": None})
    return public


def with_aliases(function: Any, first: int) -> Any:
    """A function that also takes the keywords of `ALIASES` for its parameters from the first of these on."""
    code = function.__code__  # asking `inspect` would take long, for so many functions
    takes_several = code.co_argcount > 0 and code.co_flags & inspect.CO_VARARGS
    if not takes_several and _RENAMED.isdisjoint(code.co_varnames[first : code.co_argcount + code.co_kwonlyargcount]):
        return function

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError:
            if (bound := renamed(function, args, kwargs)) is None:
                raise
        return function(*bound[0], **bound[1])

    return public


_RENAMED = {name for names in ALIASES.values() for name in names}


def renamed(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any] | None:
    """The arguments of a call with the function's own names for them, None if they have them or it has no such names.

    A keyword may also stand for what the function takes one by one: `x.view(size=(2, 3))`.
    """
    parameters = inspect.signature(function).parameters
    named: dict[str, Any] = {}
    rest: tuple[Any, ...] = ()
    for name, value in kwargs.items():
        own = next((each for each in (name, *ALIASES.get(name, ())) if each in parameters), None)
        if own is None or own in named:
            return None
        if parameters[own].kind is inspect.Parameter.VAR_POSITIONAL:
            rest = (value,)
        else:
            named[own] = value
    if rest:  # they follow the positional ones
        before = itertools.takewhile(lambda each: each.kind is each.POSITIONAL_OR_KEYWORD, parameters.values())
        args = (*args, *(named.pop(each.name) for each in list(before)[len(args) :] if each.name in named), *rest)
    return None if named == kwargs else (args, named)


def _kinds(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function's parameters."""
    return {name: kind for name, kind in function.__annotations__.items() if name != "return"}
