"""Modules as functions of their parameters: gradients of each example, many models at once."""

from __future__ import annotations

from typing import Any

from tests.same import attempt, same


def network(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LayerNorm(18), nn.Linear(18, 3)
    )


@same
def test_gradients_of_each_example(torch: Any) -> Any:
    model = network(torch)
    images, labels = torch.rand(4, 2, 1, 8, 8), torch.tensor([[0, 2], [1, 0], [-100, 2], [2, 2]])
    state = {name: each.detach() for name, each in model.named_parameters()}

    def loss(state: Any, image: Any, label: Any) -> Any:
        output = torch.func.functional_call(model, state, (image,))
        return torch.nn.functional.cross_entropy(output, label, label_smoothing=0.1)

    each = torch.vmap(torch.func.grad_and_value(loss), in_dims=(None, 0, 0))
    live = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(dict(model.named_parameters()), images, labels)
    return each(state, images, labels), live, torch.vmap(loss, (None, 0, 0), chunk_size=3)(state, images, labels)


@same
def test_ensembles(torch: Any) -> Any:
    models = [network(torch) for _ in range(3)]
    state, buffers = torch.func.stack_module_state(models)
    x = torch.rand(2, 1, 8, 8)

    def call(state: Any, buffers: Any, x: Any) -> Any:
        return torch.func.functional_call(models[0], (state, buffers), x)

    outputs = torch.vmap(call, in_dims=(0, 0, None))(state, buffers, x)
    outputs.pow(2).sum().backward()
    return [
        outputs,
        {name: each.grad for name, each in state.items()},
        state["0.weight"].is_leaf,
        torch.vmap(call)(state, buffers, torch.rand(3, 2, 1, 8, 8)),
    ]


@same
def test_ensembles_that_are_refused(torch: Any) -> Any:
    nn, stack = torch.nn, torch.func.stack_module_state
    frozen = nn.Linear(1, 1).requires_grad_(False)
    return [
        attempt(stack, []),
        attempt(stack, [nn.Linear(1, 1), nn.Linear(1, 1).eval()]),
        attempt(stack, [nn.Linear(1, 1), nn.Identity()]),
        attempt(stack, [nn.Linear(1, 1), frozen]),
    ]


@same
def test_attention_and_tables(torch: Any) -> Any:
    nn = torch.nn
    layers = [
        nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
        nn.Embedding(5, 8),
    ]
    x = torch.rand(3, 2, 5, 8)
    tokens = torch.tensor([[[0, 1]], [[2, 2]], [[4, 0]]])

    def loss(layer: Any, state: Any, x: Any) -> Any:
        output = torch.func.functional_call(layer, state, (x,))
        return (output[0] if isinstance(output, tuple) else output).pow(2).sum()

    return [
        torch.vmap(torch.func.grad(lambda state, x, layer=layer: loss(layer, state, x)), (None, 0))(
            {name: each.detach() for name, each in layer.named_parameters()},
            tokens if isinstance(layer, nn.Embedding) else x,
        )
        for layer in layers
    ]


@same
def test_batch_norm(torch: Any) -> Any:
    """A running statistic can't be updated with each example; without one the layer is mapped."""
    model, x = torch.nn.BatchNorm1d(4), torch.rand(3, 2, 4)
    name = attempt(torch.vmap(model), x)[0]
    torch.func.replace_all_batch_norm_modules_(model)
    return name, model.running_mean, model.track_running_stats, torch.vmap(model)(x)
