"""Sample inputs of fractional max pooling."""

from __future__ import annotations

from typing import Any

from tests.ops.case import Sample, args, case


def places(make: Any, *shape: int) -> Any:
    return make(*shape, low=0.0, high=0.99, requires_grad=False)


def images(make: Any) -> list[Sample]:
    return [
        args(make(1, 2, 5, 4), 2, 3, _random_samples=places(make, 1, 2, 2)),
        args(make(2, 1, 4, 4), 1, (3, 2), _random_samples=places(make, 2, 1, 2)),
        args(make(1, 6, 5), (2, 3), (4, 2), return_indices=True, _random_samples=places(make, 1, 1, 2)),
        args(make(2, 4, 5, layout="transposed"), 2, output_ratio=(0.5, 0.6), _random_samples=places(make, 1, 2, 2)),
        args(make(1, 5, 5, layout="sliced"), 2, 1, _random_samples=places(make, 1, 1, 2)),
        args(make(1, 1, 6, 7), 2, 4),
        args(make(0, 1, 4, 4), 2, 2, _random_samples=places(make, 0, 1, 2)),
        args(make.of([[[1.0, float("nan")], [2.0, 2.0]]]), 2, 1, _random_samples=places(make, 1, 1, 2)).kink(),
    ]


def wrong_images(make: Any) -> list[Sample]:
    return [
        args(make(2, 5, 5), 2),
        args(make(2, 5, 5), 2, output_ratio=(0.5, 0.7, 0.1)),
        args(make(5, 5), 2, 3),
        args(make(2, 5, 5), 2, 5),
        args(make(2, 5, 5), (2, 2, 2), 4),
        args(make(2, 5, 5), 2, (4, 4, 4)),
        args(make(1, 0, 5, 5), 2, 4),
        args(make(2, 5, 5), 2, 4, _random_samples=places(make, 1, 3, 2)),
        args(make(2, 5, 5), 2, 4, _random_samples=places(make, 1, 2, 3)),
        args(make(2, 5, 5), 2, 4, _random_samples=places(make, 2, 2)),
        args(make(2, 5, 5), 2, 4, _random_samples=make(1, 2, 2, dtype="float64", requires_grad=False)),
    ]


def volumes(make: Any) -> list[Sample]:
    return [
        args(make(1, 1, 4, 5, 4), 2, 2, _random_samples=places(make, 1, 1, 3)),
        args(make(2, 1, 4, 4, 2), (2, 1, 1), (2, 3, 1), _random_samples=places(make, 2, 1, 3)),
        args(make(1, 4, 3, 3), (1, 1, 1), (3, 2, 2), return_indices=True, _random_samples=places(make, 1, 1, 3)),
        args(make(1, 3, 4, 3, layout="transposed"), 1, output_ratio=0.7, _random_samples=places(make, 1, 1, 3)),
        args(make(1, 3, 3, 3, layout="sliced"), 2, 1),
        args(make(1, 4, 4, 4), (2, 2, 2), 2),
    ]


def wrong_volumes(make: Any) -> list[Sample]:
    return [
        args(make(2, 5, 5, 5), 2),
        args(make(5, 5, 5), 2, 3),
        args(make(2, 5, 5, 5), 2, 5),
        args(make(2, 5, 5, 5), 2, (1, 2)),
        args(make(2, 5, 5, 5), (2, 2), 2),
        args(make(2, 5, 5, 5), 2, 3, _random_samples=places(make, 1, 3, 3)),
        args(make(2, 5, 5, 5), 2, 3, _random_samples=places(make, 1, 2, 2)),
    ]


FLOATS = "float32 float64"
case(
    "nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool2d_with_indices",
    images,
    errors=wrong_images,
    dtypes=FLOATS,
)
case(
    "nn.functional.fractional_max_pool3d nn.functional.fractional_max_pool3d_with_indices",
    volumes,
    errors=wrong_volumes,
    dtypes=FLOATS,
)
