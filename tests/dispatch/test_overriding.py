"""`__torch_function__`: subclasses of Tensor, other classes and modes, the same on torch and on minitorch."""

from __future__ import annotations

import copy
import importlib
from typing import Any

import pytest

from tests.same import errors, same

pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")


@same
def test_operations_return_the_subclass(torch: Any) -> Any:
    class Mine(torch.Tensor):
        pass

    x = torch.arange(4.0).as_subclass(Mine)
    functional = torch.nn.functional
    results = [
        x + 1, 1 - x, torch.ones(4) * x, x[1:], x.sum(), x.max(0), torch.cat([x, torch.ones(1)]), x.split(2),
        x.detach(), x.data, x.clone(), x.add_(1), functional.softmax(x, 0), torch.relu(x), copy.copy(x), Mine([1.0]),
        torch.Tensor._make_subclass(Mine, torch.ones(2), True), torch.ones(2), x.to(torch.float64), x.numpy(), x > 1,
    ]  # fmt: skip
    kinds = [
        [type(each).__name__ for each in (result if isinstance(result, tuple) else [result])] for result in results
    ]
    return kinds, x, x.requires_grad


@same
def test_gradients_go_through_a_subclass(torch: Any) -> Any:
    class Mine(torch.Tensor):
        pass

    leaf = torch.arange(3.0, requires_grad=True)
    x = leaf.as_subclass(Mine)
    loss = (x * x).sum()
    loss.backward()
    return x, loss, type(leaf.grad).__name__, leaf.grad


@same
def test_parameters_are_no_such_subclass(torch: Any) -> Any:
    class Own(torch.nn.Parameter):
        pass

    class Mine(torch.Tensor):
        pass

    own = Own(torch.ones(2))
    mine = torch.nn.Parameter(torch.ones(2).as_subclass(Mine))
    return (
        type(own * 2).__name__,
        type(own.detach()).__name__,
        type(mine * 2).__name__,
        isinstance(mine, torch.nn.Parameter),
    )


@same
def test_an_override_sees_functions_types_and_arguments(torch: Any) -> Any:
    seen = []

    class Noted(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((func.__name__, [each.__name__ for each in types]))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2, 3).as_subclass(Noted)
    seen.clear()
    y = (x * 2).sum(dim=1, keepdim=True)
    x.mul_(3)
    torch.stack([torch.ones(2, 3), x])
    torch.sum(x, dim=1, dtype=torch.float64)
    with torch._C.DisableTorchFunctionSubclass():
        plain = x + 1
    return seen, type(y).__name__, type(plain).__name__


@same
def test_derivatives_ask_no_class(torch: Any) -> Any:
    seen = []

    class Noted(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func.__name__ in ("mul", "add"):
                seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    leaf = torch.ones(3, requires_grad=True)
    x = leaf.as_subclass(Noted)
    (x * x).sum().backward()
    return seen, leaf.grad


@same
def test_other_classes_answer_for_functions_that_would_refuse_them(torch: Any) -> Any:
    class Diagonal:
        def __init__(self, size: int, value: float) -> None:
            self.size, self.value = size, value

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func in (torch.mean, torch.nn.functional.cross_entropy):
                return func.__name__, types[0].__name__
            if func is torch.stack:
                return [each.value for each in args[0]]
            return NotImplemented

    two = Diagonal(5, 2.0)
    answers = torch.mean(two), torch.stack([two, two]), torch.nn.functional.cross_entropy(two, torch.ones(1))
    refused = [errors(lambda: torch.add(two, 1))[0], errors(lambda: torch.add(object(), 1))]
    return answers, refused


@same
def test_a_mode_sees_every_operation_and_the_innermost_is_first(torch: Any) -> Any:
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    seen = []

    class Noting(overrides.TorchFunctionMode):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((self.name, func.__name__))
            return func(*args, **(kwargs or {}))

    ones = torch.ones(2)
    with Noting("outer"), Noting("inner"):
        value = torch.add(ones, 1).mul(2)
    return seen, value


@same
def test_questions_about_overriding(torch: Any) -> Any:
    overrides = importlib.import_module(f"{torch.__name__}.overrides")

    class Mine(torch.Tensor):
        pass

    class Like:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func, len(types)

    def own(x: Any) -> Any:
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(own, (x,), x)
        return "plain"

    values = torch.ones(1), torch.nn.Parameter(torch.ones(1)), torch.ones(1).as_subclass(Mine), Like(), 1
    asked = [(overrides.is_tensor_like(each), overrides.has_torch_function((each,))) for each in values]
    wrapped = overrides.wrap_torch_function(lambda x: (x,))(lambda x: "plain")
    return asked, own(values[0]), own(values[3]) == (own, 1), wrapped(values[0]), wrapped(values[3])[1]


@same
def test_functions_have_names(torch: Any) -> Any:
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    functions = overrides.get_overridable_functions()
    return overrides.resolve_name(torch.stack), overrides.resolve_name(len), torch.add in functions[torch]


@same
def test_a_mode_sees_the_functions_that_a_program_calls_and_none_that_they_call(torch: Any) -> Any:
    """Also those that are made of others: in PyTorch what these call is in C++, or inside the mode's own method."""
    overrides, functional = importlib.import_module(f"{torch.__name__}.overrides"), torch.nn.functional
    seen: list[tuple[str, list[Any]]] = []

    class Noting(overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((func.__name__, [type(each).__name__ for each in args]))
            return func(*args, **(kwargs or {}))

    def layers(x: Any, weight: Any, image: Any, kernel: Any, targets: Any) -> Any:
        functional.linear(x, weight, weight[:, 0])
        functional.linear(image, kernel[0, 0])
        functional.scaled_dot_product_attention(image, image, image)
        functional.layer_norm(x, (3,))
        functional.softmax(x, dim=0)
        functional.relu(x, inplace=True)
        functional.conv2d(image, kernel)
        functional.max_pool2d(image, 2)
        functional.dropout(x, p=0.0)
        return functional.cross_entropy(x, targets)

    def tensors(x: Any, weight: Any, image: Any, kernel: Any, targets: Any) -> Any:
        x @ x.t()
        torch.einsum("ij,kj->ik", x, weight)
        torch.std(x, 0), x.std(0), x.max(0), x.softmax(0), torch.outer(targets, targets)
        x[:, 0], x[0].view(1, 3), x.reshape(6), x.flatten(), x.split(1), x.chunk(2), x.to(torch.float64), x.float()
        x[0, 0] = 2.0
        x.masked_fill_(torch.ones(2, 3) > 2, 0.0), torch.where(x > 0, x, 0.0)
        return torch.zeros_like(x), x.new_ones(2), torch.zeros(2), torch.arange(3), torch.tensor([1.0])

    inputs = torch.ones(2, 3), torch.ones(4, 3), torch.ones(2, 3, 3, 3), torch.ones(5, 3, 3, 3), torch.tensor([0, 1])
    with Noting():
        results = [program(*inputs) for program in (layers, tensors)]
    return seen, results


@same
def test_each_mode_and_each_class_sees_a_function_made_of_others_once(torch: Any) -> Any:
    overrides, functional = importlib.import_module(f"{torch.__name__}.overrides"), torch.nn.functional
    seen: list[tuple[str, str]] = []

    class Noting(overrides.TorchFunctionMode):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((self.name, func.__name__))
            return func(*args, **(kwargs or {}))

    class Noted(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((cls.__name__, func.__name__))
            return super().__torch_function__(func, types, args, kwargs or {})

    x, weight = torch.ones(2, 3).as_subclass(Noted), torch.ones(4, 3)
    with Noting("outer"), Noting("inner"):
        y = functional.linear(x, weight)
    z = functional.gelu(x @ weight.t()).flatten()

    class Replaced(overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is functional.linear:
                return "replaced"
            return func(*args, **(kwargs or {}))

    with Replaced():
        return seen, type(y).__name__, type(z).__name__, z, functional.linear(weight, weight)


@same
def test_derivatives_of_a_function_made_of_others_are_seen_by_no_mode(torch: Any) -> Any:
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    seen = []

    class Noting(overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    # `backward` is asked about itself in PyTorch; what it runs, nobody.
    x, weight = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True)
    loss = torch.nn.functional.linear(x, weight).sum()
    with Noting():
        loss.backward()
    return [name for name in seen if name != "backward"], weight.grad
