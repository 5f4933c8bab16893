"""Embeddings: rows of a table, picked by index.

Source: https://pytorch.org/docs/stable/nn.functional.html#sparse-functions
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.autograd.grad_mode import no_grad
from minitorch.dispatch import autocast
from minitorch.dispatch.common_device import differs
from minitorch.dispatch.declaration import composite, declare, private
from minitorch.dtypes import C_NAMES, type_name
from minitorch.kernels.accumulation import add_rows, combine_rows
from minitorch.ops.linalg.norms import vector_norm
from minitorch.ops.pointwise.arithmetic import conj
from minitorch.tensor import Tensor


def _check_indices(indices: Array, rows: int) -> None:
    if indices.dtype.kind != "i" or indices.dtype.itemsize < 4:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{type_name(indices)}Tensor instead (while checking arguments for embedding)"
        )
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < rows:
        raise IndexError("index out of range in self")


@declare(
    variants="",
    node="EmbeddingBackward0",
    elsewhere={"indices": lambda weight, indices: str(differs("index", indices.device, weight.device))},
    derivatives={
        "weight": lambda grad, indices, weight_shape, padding_idx, scale_grad_by_freq: embedding_backward(
            grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq
        )
    },
)
def embedding_rows(xp: Any, weight: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool) -> Array:
    """weight[indices]: (…) → (…, D)."""
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices(indices, len(weight))
    return xp.take(weight, indices, axis=0)


def _rows_of_gradient(grad: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    if scale_grad_by_freq:
        raise NotImplementedError("embedding: the second derivative with scale_grad_by_freq is not supported")
    rows: Tensor = embedding_rows(grad, indices, padding_idx, False)
    return rows if padding_idx < 0 else rows.masked_fill(indices.eq(padding_idx).unsqueeze(-1), 0)


@declare(variants="", derivatives={"grad_output": _rows_of_gradient})
def embedding_backward(
    xp: Any, grad_output: Array, indices: Array, rows: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """The gradient of the table: every row adds up the gradients of where it was used, but for the row of padding."""
    width = grad_output.shape[-1]
    result = xp.zeros((rows, width), grad_output.dtype)
    flat = indices.reshape(-1)
    if not flat.size:
        return result
    rows_of_grad = grad_output.reshape(flat.size, width)
    if scale_grad_by_freq:
        used, count = combine_rows(xp, xp.add, result, flat, rows_of_grad, fresh=True)
        result[used] /= count[:, None].astype(result.dtype)
    else:
        add_rows(xp, result, 0, flat, rows_of_grad, True)
    if padding_idx >= 0:
        result[padding_idx] = 0
    return result


def _limited(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scales the rows that are used, in place, where their norm exceeds `max_norm`."""
    with no_grad():
        used = indices.reshape(-1) if indices.is_meta else indices.unique()
        rows = weight[used]
        norms = vector_norm(rows, norm_type, -1, True)
        weight[used] = rows * (max_norm / (norms + 1e-7)).where(norms > max_norm, norms.new_ones(()))


@composite(variants="function", namespace="nn.functional")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """weight[input]: indices (…) of int32 or int64 and a table (rows, D) → (…, D).

    The row `padding_idx` gets no gradient; rows whose `norm_type`-norm exceeds `max_norm` are scaled down to it first,
    in place; `scale_grad_by_freq` divides a row's gradient by how often it is used. Raises IndexError for an index out
    of range, RuntimeError for indices of another dtype or a table that isn't 2-D, AssertionError for a `padding_idx`
    out of range, NotImplementedError for `sparse`.
    """
    if sparse:
        raise NotImplementedError("embedding: sparse gradients are not supported")
    if padding_idx is not None:
        rows = weight.shape[0]
        if padding_idx >= rows or padding_idx < -rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if max_norm is not None:
        _limited(weight, input, max_norm, norm_type)
    return embedding_rows(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq)


@composite(variants="function", namespace="nn.functional", autocast_on_gpu="widest")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """yₖ = x₁ᵀ Wₖ x₂ + bₖ for every k: (…, A), (…, B), a weight (K, A, B) and a bias (K,) → (…, K).

    Raises RuntimeError for other sizes, and for different dtypes.
    """
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for dim, (left, right) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if left != right:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {dim}: got {left} and {right}")
    outputs, one, other = weight.shape
    sizes = [("input1", input1.shape[-1], one), ("input2", input2.shape[-1], other)]
    if bias is not None:
        sizes.append(("bias", bias.shape[0], outputs))
    for name, got, wanted in sizes:
        if got != wanted:
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {got} but expected {wanted}")
    given = {"input1": input1, "input2": input2, "weight": weight} | ({} if bias is None else {"bias": bias})
    if len({each._dtype for each in given.values()}) > 1:
        kinds = ", ".join(f"{name}: {C_NAMES[each._dtype.name]}" for name, each in given.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {kinds}")
    result = trilinear(input1.reshape(-1, one), weight, input2.reshape(-1, other))
    result = result.view(*input1.shape[:-1], outputs)
    return result if bias is None else result + bias


def _gradient_of_input1(grad: Tensor, weight: Tensor, input2: Tensor) -> Tensor:
    if not autocast.state.enabled:
        return trilinear(grad, conj(weight).permute(1, 0, 2), conj(input2))
    # Each of PyTorch's products is rounded, of which it makes one for each of the outputs.
    result = grad.new_zeros(grad.shape[0], weight.shape[1])
    for of_output, matrix in zip(grad.unbind(1), conj(weight), strict=True):
        result = result + (of_output[:, None, None] * matrix).bmm(conj(input2).unsqueeze(2)).squeeze(2)
    return result


def _gradient_of_input2(grad: Tensor, input1: Tensor, weight: Tensor) -> Tensor:
    if not autocast.state.enabled:
        return trilinear(conj(input1), conj(weight).permute(2, 1, 0), grad)
    outputs, one, other = weight.shape
    product = conj(input1) @ conj(weight).transpose(0, 1).reshape(one, outputs * other)
    return (grad.unsqueeze(2) * product.unflatten(1, (outputs, other))).sum(1)


@private(
    derivatives={
        "input1": _gradient_of_input1,
        "weight": lambda grad, input1, input2: (
            (grad.unsqueeze(2) * conj(input1).unsqueeze(1))
            .flatten(1)
            .t()
            .matmul(conj(input2))
            .view(grad.shape[1], input1.shape[1], input2.shape[1])
        ),
        "input2": _gradient_of_input2,
    }
)
def trilinear(xp: Any, input1: Array, weight: Array, input2: Array) -> Array:
    """Σₐ Σ_b input1[n, a] · weight[o, a, b] · input2[n, b]: (N, A), (O, A, B) and (N, B) → (N, O)."""
    outputs, one, other = weight.shape
    product = input1 @ weight.transpose(1, 0, 2).reshape(one, outputs * other)
    return (product.reshape(-1, outputs, other) @ input2[:, :, None])[:, :, 0]


@declare(variants="function", namespace="nn.functional")
def one_hot(xp: Any, self: Array, num_classes: int = -1) -> Array:
    """(…) of int64 classes → (…, num_classes) of int64: 1 at the class, 0 elsewhere.

    −1 stands for one more than the largest class. Raises RuntimeError for other dtypes and for classes out of range.
    """
    if self.dtype != "int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not self.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if self.size and int(self.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = self.max().tolist() + 1
    if self.size and int(self.max()) >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return xp.ascontiguousarray((self[..., None] == xp.arange(num_classes)).astype("int64"))
