"""Programs that define operators, for `torch` and for minitorch: each returns what it saw, as text."""

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

CUT = re.compile(
    r" Duplicate registration| +Previous registration| If you are a Facebook| '\S+' is only available"
    r"| The valid types are|Cast error details| Python error details|\(with implementation in"
)
"""Where the part of an error begins that names files, C++ types or PyTorch's backends."""


def said(function: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """What a call returns, or the error that it raises."""
    try:
        return str(function(*args, **kwargs))
    except Exception as error:
        return f"{type(error).__name__}: {CUT.split(str(error))[0]}".replace("minitorch.tensor.", "torch.")


def schemas(torch: Any) -> list[str]:
    """What annotations become, and what can't be one."""
    tensor = torch.Tensor

    def many(
        x: tensor, y: float = 1.0, *, n: int = 2, s: str = "a", b: bool = True, d: tensor | None = None,
        sizes: list[int] | None = None, t: torch.dtype = torch.float32, k: int | float | bool = 3,
    ) -> tensor: ...  # fmt: skip
    def lists(
        x: tensor, xs: Sequence[tensor], o: list[tensor | None], z: "list[float] | None" = None
    ) -> tuple[tensor, int]: ...
    def none(x: tensor) -> None: ...
    def several(x: tensor) -> list[tensor]: ...
    def bare(x): ...
    def unreturned(x: tensor): ...
    def of_dict(x: dict) -> tensor: ...
    def variadic(*x: tensor) -> tensor: ...
    def of_text(x: tensor) -> str: ...
    def number(x: int) -> int: ...
    def odd(x: tensor, n: list[int] | None = (1, 2)) -> tensor: ...

    infer = torch.library.infer_schema
    cases: list[tuple[Any, Any]] = [
        (many, ()), (lists, {"x"}), (none, {"x"}), (several, "unknown"), (bare, ()), (unreturned, ()), (of_dict, ()),
        (variadic, ()), (of_text, ()), (none, {"z"}), (number, {"x"}), (odd, ()),
    ]  # fmt: skip
    shown = [said(infer, function, mutates_args=names) for function, names in cases]
    return [re.sub(r"\(x: .*\)", "", each) if "Got func" in each else each for each in shown] + [
        infer(none, mutates_args={"x"}, op_name="foo")
    ]


def parsed_schemas(torch: Any) -> list[str]:
    """Schemas as text, their arguments, and what a second definition says."""
    library = torch.library.Library("programs_a", "FRAGMENT")
    library.define(
        "a.over(Tensor(a!) x, int[2] k=1, float f=1.0, str s='x', Scalar? q=None, int[] z=[1, 2], *, float e=1e-5) "
        "-> Tensor(a!)"
    )
    library.define("b(Tensor?[] x, bool t=True, Device? d=None) -> (Tensor, Tensor[])")
    owner = torch.library.Library("programs_b", "DEF")
    over, b = torch.ops.programs_a.a.over._schema, torch.ops.programs_a.b.default._schema
    facts = [
        (each.name, str(each.type), each.default_value, each.kwarg_only) for each in (*over.arguments, *b.arguments)
    ]
    return [
        str(over), str(b), str(facts), over.name, over.overload_name, str(over.is_mutable), str(b.is_mutable),
        str(torch.ops.programs_a.a.overloads()), said(lambda: torch.ops.programs_a.a.default),
        said(lambda: torch.ops.programs_a.nothing), said(lambda: torch.ops.nowhere.nothing),
        said(library.define, "b(Tensor x) -> Tensor"), said(torch.library.Library, "programs_a", "XX"),
        owner.define("c(Tensor x) -> Tensor"), said(torch.library.Library, "programs_b", "DEF"),
        said(torch.library.Library("programs_l", "DEF").define, "c(Tensor x) -> Tensor"),
        said(lambda: torch.ops.programs_l.c), repr(torch.library.Library("programs_l", "DEF")),
    ]  # fmt: skip


def names(torch: Any) -> list[str]:
    """What operators are called."""

    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    operator = torch.library.custom_op("programs_c::twice", mutates_args=())(twice)
    packet = torch.ops.programs_c.twice
    return [
        repr(operator), str(packet), repr(packet), str(packet.default), repr(packet.default), packet.default.name(),
        packet.default.namespace, packet.default.__name__, packet.__name__, packet.default.__module__,
        str(packet.default._schema), str(packet.default.overloadpacket is packet), str(packet(torch.ones(2))),
        repr(torch.ops.programs_c),
    ]  # fmt: skip


def calls(torch: Any) -> list[str]:
    """Arguments of each type, as the kernel gets them, and calls that are refused."""
    got: list[str] = []

    def show(
        x: torch.Tensor, i: int, f: float = 1.5, b: bool = False, s: str = "q", o: torch.Tensor | None = None,
        dims: Sequence[int] | None = None, fl: Sequence[float] | None = None, d: torch.device | None = None,
        k: int | float | bool = 3,
    ) -> torch.Tensor:  # fmt: skip
        got.append(
            str(
                [
                    type(each).__name__ if hasattr(each, "device") else repr(each)
                    for each in (i, f, b, s, o, dims, fl, d, k)
                ]
            )
        )
        return x.clone()

    operator = torch.library.custom_op("programs_d::show", mutates_args=())(show)
    x = torch.ones(2)
    shown = [
        said(operator, *args, **kwargs)
        for args, kwargs in [
            ((x, 1), {}), ((x, 1, 2), {}), ((x, True, 2), {}), ((x, torch.tensor(3)), {}),
            ((x, 1, torch.tensor(3.0)), {}),
            ((x, 1), {"b": 1}), ((x, 1), {"s": 3}),
            ((x, 1), {"o": x, "dims": (1, 2), "fl": [1, 2.5], "d": "cpu", "k": 2.5}),
            ((x, 1), {"dims": 3}), ((x, 1), {"dims": [1.5]}), ((x, 1), {"o": 3}), ((x, 1), {"d": 3}),
            ((x, 1), {"k": "a"}),
            ((x, None), {}), ((x, 1), {"zz": 3}), ((x, 1), {"i": 3}), (([1.0], 1), {}), ((x,), {}), ((), {}),
            ((x, 1, 1.0, False, "q", None, None, None, None, 3, 4), {}),
        ]
    ]  # fmt: skip
    return [*shown, *got]


def results(torch: Any) -> list[str]:
    """What kernels may return."""
    tensor = torch.Tensor

    def text(x: tensor) -> tensor:
        return 3

    def pair_as_list(x: tensor) -> tuple[tensor, tensor]:
        return [x + 1, x + 2]

    def one_of_two(x: tensor) -> tuple[tensor, tensor]:
        return x + 1

    def number(x: tensor) -> int:
        return 3

    def something(x: tensor) -> None:
        return 3

    def itself(x: tensor) -> tensor:
        return x

    def view(x: tensor) -> tensor:
        return x.view(-1)

    def twins(x: tensor) -> tuple[tensor, tensor]:
        y = x + 1
        return y, y

    made = [
        torch.library.custom_op(f"programs_e::{function.__name__}", mutates_args=())(function)
        for function in (text, pair_as_list, one_of_two, number, something, itself, view, twins)
    ]
    return [said(each, torch.ones(2)) for each in made]


def gradients(torch: Any) -> list[str]:
    """Without a formula, with one, of lists, and of arguments that are keywords only."""
    tensor = torch.Tensor

    def numpy_sin(x: tensor, by: float = 1.0) -> tensor:
        return torch.from_numpy(np.sin(x.detach().numpy()) * by)

    seen: list[str] = []
    operator = torch.library.custom_op("programs_f::numpy_sin", mutates_args=())(numpy_sin)
    x = torch.arange(3.0).requires_grad_()
    shown = [str(operator(x)), said(operator(x).sum().backward)]

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append(f"{len(inputs)} {inputs[1:]} {output.grad_fn}")
        ctx.save_for_backward(inputs[0])
        ctx.by = inputs[1]

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(str(ctx.needs_input_grad))
        return grad * ctx.saved_tensors[0].cos() * ctx.by, None

    operator.register_autograd(backward, setup_context=setup)
    result = operator(x, 2.0)
    result.sum().backward()
    shown += [str(result), type(result.grad_fn).__name__, str(x.grad), str(operator(x.detach()).requires_grad)]
    with torch.no_grad():
        shown.append(str(operator(x).requires_grad))
    twice = torch.autograd.grad(torch.autograd.grad(operator(x).sum(), x, create_graph=True)[0].sum(), x)
    shown.append(str(twice))

    def scaled(xs: Sequence[tensor], n: int) -> list[tensor]:
        return [each * n for each in xs]

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append(f"{type(inputs[0]).__name__} {inputs[1]} {type(output).__name__}")
        ctx.n = inputs[1]

    def back(ctx: Any, grads: Any) -> Any:
        seen.append(f"{ctx.needs_input_grad} {type(grads).__name__}")
        return [each * ctx.n for each in grads], None

    listed = torch.library.custom_op("programs_f::scaled", mutates_args=())(scaled)
    listed.register_autograd(back, setup_context=keep)
    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    sum(each.sum() for each in listed([a, b], 3)).backward()
    shown += [str(a.grad), str(b.grad)]

    def by_name(x: tensor, *, n: float) -> tensor:
        return x * n

    def keep_names(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        seen.append(f"{len(inputs)} {keyword_only_inputs}")
        ctx.n = keyword_only_inputs["n"]

    named = torch.library.custom_op("programs_f::by_name", mutates_args=())(by_name)
    named.register_autograd(lambda ctx, grad: grad * ctx.n, setup_context=keep_names)
    named(a, n=2.0).sum().backward()
    return [*shown, str(a.grad), *seen]


def writes(torch: Any) -> list[str]:
    """Operators that write to arguments."""

    def increase(x: torch.Tensor) -> None:
        np.add(x.detach().numpy(), 1, out=x.detach().numpy())

    operator = torch.library.custom_op("programs_g::increase", mutates_args={"x"})(increase)
    x = torch.zeros(2)
    y = x.clone().requires_grad_()
    before = x._version
    operator(x)
    saved = (y * 1).exp()
    operator(saved)
    return [
        str(x), str(x._version > before), said(saved.sum().backward),
        said(operator.register_autograd, lambda ctx, grad: grad),
        said(torch.library.custom_op("programs_g::other", mutates_args={"x"}, schema="(Tensor x) -> ()"), increase),
        said(torch.library.custom_op("programs_g::other", mutates_args=(), schema="(Tensor(a!) x) -> ()"), increase),
    ]  # fmt: skip


def devices(torch: Any) -> list[str]:
    """Kernels by device, and tensors without data."""

    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def made(n: int) -> torch.Tensor:
        return torch.ones(n)

    operator = torch.library.custom_op("programs_h::twice", mutates_args=(), device_types="cpu")(twice)
    x = torch.ones(2)
    empty = torch.empty(3, device="meta")
    shown = [str(operator(x)), said(operator, empty)]
    operator.register_fake(torch.empty_like)
    shown += [str(operator(empty).shape), str(operator(empty).device)]
    operator.register_kernel("cpu")(lambda x: x + 100)
    shown.append(str(operator(x)))
    with operator.set_kernel_enabled("cpu", False):
        shown.append(str(operator(x)))
    torch.library.register_kernel("programs_h::twice", "cpu")(lambda x: x + 7)
    return [
        *shown, str(operator(x)), said(operator.register_kernel, "nonsense", twice)[:50],
        said(torch.library.custom_op("programs_h::made", mutates_args=(), device_types="cpu"), made),
        str(torch.library.custom_op("programs_h::made", mutates_args=())(made)(2)),
        said(torch.library.register_autograd, "programs_h::nothing", lambda ctx, grad: grad),
    ]  # fmt: skip


def libraries(torch: Any) -> list[str]:
    """The low-level functions."""
    library = torch.library.Library("programs_i", "DEF")
    x = torch.ones(2, requires_grad=True)
    shown = [repr(library), library.define("scale(Tensor x, int n=2) -> Tensor"), said(torch.ops.programs_i.scale, x)]
    library.impl("scale", lambda x, n=2: x * n, "CPU")
    result = torch.ops.programs_i.scale(x, n=5)
    shown += [said(torch.ops.programs_i.scale, x.detach()), str(type(result.grad_fn).__name__)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result.sum().backward()
    shown += [str(x.grad), *(str(each.message).split(" (Triggered")[0] for each in caught)]
    torch.library.define("programs_j::sine", "(Tensor x) -> Tensor")
    torch.library.impl("programs_j::sine", "CompositeImplicitAutograd")(lambda x: x.sin() * 2)
    shown.append(str(torch.ops.programs_j.sine(x)))
    torch.library.define("programs_j::cube", "(Tensor x) -> Tensor")
    torch.library.impl("programs_j::cube", "default", lambda x: x**3)
    torch.library.register_autograd("programs_j::cube", lambda ctx, grad: grad * 7)
    (gradient,) = torch.autograd.grad(torch.ops.programs_j.cube(x).sum(), x)
    return [
        *shown, str(gradient), said(library.define, "not a schema").split(":")[0],
        said(library.impl, "scale", 3, "CPU"), said(torch.library.define, "nothing", "(Tensor x) -> Tensor")[:40],
        said(torch.library.Library("programs_i", "IMPL").define, "two(Tensor x) -> Tensor").split(":")[0],
    ]  # fmt: skip


def withdrawn(torch: Any) -> list[str]:
    """What is left when a library is gone that registered an operator's kernels."""
    torch.library.define("programs_m::twice", "(Tensor x) -> Tensor")
    x = torch.ones(2)
    library = torch.library.Library("programs_m", "IMPL")
    library.impl("twice", lambda x: x * 2, "CPU")
    shown = [str(torch.ops.programs_m.twice(x))]
    del library
    return [
        *shown, said(torch.ops.programs_m.twice, x), torch.ops.programs_m.twice.default.name(),
        str(torch.library.Library("programs_m", "DEF")), str(torch.library.Library("programs_m", "DEF")),
        said(torch.library.Library("programs_m", "IMPL").impl, "twice", None, "CPU"),
    ]  # fmt: skip


def owned(torch: Any) -> list[str]:
    """Whose registrations go with a library, kernels that come before their operator, and tags."""
    library = torch.library.Library("programs_o", "FRAGMENT")
    library.impl("thrice", lambda x: x * 3, "CPU")
    shown = [said(lambda: torch.ops.programs_o.thrice)]
    torch.library.define("programs_o::thrice", "(Tensor x) -> Tensor", tags=torch.Tag.pointwise)
    thrice, x = torch.ops.programs_o.thrice, torch.ones(2, requires_grad=True)
    torch.library.register_fake("programs_o::thrice", lambda x: torch.empty(7, device=x.device), lib=library)
    torch.library.register_autograd("programs_o::thrice", lambda ctx, grad: grad * 3, lib=library)
    torch.library.register_vmap("programs_o::thrice", lambda info, dims, x: (x * 4, dims[0]), lib=library)

    def seen() -> list[str]:
        return [
            said(thrice, x.detach()), said(lambda: thrice(torch.ones(2, device="meta")).shape),
            said(lambda: torch.autograd.grad(thrice(x).sum(), x)), said(lambda: torch.vmap(thrice)(x.detach())),
        ]  # fmt: skip

    shown += seen()
    library._destroy()
    shown += seen()
    doubled = torch.library.custom_op(
        "programs_o::doubled", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor",
        tags=(torch.Tag.pointwise,),
    )  # fmt: skip
    return [
        *shown, str(thrice.default.tags), str(doubled._opoverload.tags), repr(torch.Tag.core), str(torch.Tag.core),
        said(torch.library.Library("programs_o", "FRAGMENT").define, "four(Tensor x) -> Tensor", tags=("core",))[:50],
    ]  # fmt: skip


def transforms(torch: Any) -> list[str]:
    """In vmap, symbolic traces, captured and exported graphs, and modes."""

    def dbl(x: torch.Tensor, n: int) -> torch.Tensor:
        assert x.dim() == 1
        return x * n

    operator = torch.library.custom_op("programs_k::dbl", mutates_args=())(dbl)
    operator.register_fake(lambda x, n: torch.empty_like(x))
    operator.register_autograd(
        lambda ctx, grad: (grad * ctx.n, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "n", inputs[1])
    )
    rows = torch.arange(6.0).reshape(2, 3)
    shown = [str(torch.vmap(lambda each: operator(each, 2))(rows)), str(torch.vmap(operator, (1, None))(rows, 3))]
    seen: list[str] = []

    @operator.register_vmap
    def at_once(info: Any, in_dims: Any, x: Any, n: int) -> Any:
        seen.append(f"{info.batch_size} {info.randomness} {in_dims}")
        return x * n, in_dims[0]

    shown += [str(torch.vmap(lambda each: operator(each, 2))(rows)), *seen]

    def program(x: Any) -> Any:
        packet = torch.ops.programs_k.dbl
        return packet(x, 2).sin() + packet.default(x, 4)

    x = torch.ones(3)
    shown += [str(torch.fx.symbolic_trace(program).code)]
    graphs: list[Any] = []

    def backend(graph: Any, example_inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(lambda x: operator(x, 7) + program(x), backend=backend, fullgraph=True)
    leaf = torch.ones(3, requires_grad=True)
    compiled(leaf).sum().backward()
    shown += [str(compiled(x)), str(leaf.grad)]
    shown += [
        f"{node.op} {node.name} {node.target}"
        for node in graphs[0].graph.nodes
        if node.op == "call_function" and "programs" in str(node.target)
    ]

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return program(x)

    exported = torch.export.export(Model(), (x,))
    shown += [str(exported.graph_module.code), str(exported.module()(x))]

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            shown.append(f"{func} {types} {args} {kwargs}")
            return func(*args, **(kwargs or {}))

    with Mode():
        operator(x, 2)
    shown.append(str(torch.library.opcheck(operator, (leaf.detach().requires_grad_(), 2))))
    operator.register_fake(lambda x, n: torch.empty(5))
    return [*shown, said(torch.library.opcheck, operator, (x, 2), test_utils="test_faketensor").split(" failed")[0]]


PROGRAMS = [
    schemas, parsed_schemas, names, calls, results, gradients, writes, devices, libraries, withdrawn, owned, transforms,
]  # fmt: skip
