"""Folded layers give what the layers give, and see every change of them."""

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Batch

from graph_sets import rings_and_stars
from ignn_solver.nn import folding
from ignn_solver.nn.explicit import Hop, neighbours
from ignn_solver.nn.graph_classifier import GraphIGNN

pytest.importorskip("numba")


def with_statistics(module: nn.Module) -> nn.Module:
    """Batch normalisation with statistics and factors that are not those it begins with."""
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm1d):
            for tensor in (norm.weight.data, norm.bias.data, norm.running_mean):
                tensor.normal_()
            norm.running_var.uniform_(0.5, 2.0)
    return module.eval()


def molecules(count: int = 20) -> Batch:
    dataset = rings_and_stars(count)
    return Batch.from_data_list([dataset[i] for i in range(count)])


@pytest.mark.parametrize("channels", [4, 17])
def test_a_folded_hop_is_the_hop(channels):
    torch.manual_seed(0)
    batch = molecules()
    blocks = np.append(0, batch._slice_dict["x"].numpy()[[3, 4, 20]])
    hop = with_statistics(Hop(batch.num_features, channels))
    adjacent = neighbours(batch.edge_index, batch.num_nodes)
    with torch.no_grad():
        expected = hop(batch.x, adjacent)
        torch.testing.assert_close(
            folding.hop(hop, batch.x, adjacent, blocks), expected, atol=1e-5, rtol=1e-5
        )
        # Neither of these tells torch that something has changed.
        hop.mlp[0].weight.data.mul_(2)
        hop.norm.train()(torch.randn(50, channels))
        hop.eval()
        changed = hop(batch.x, adjacent)
        assert not torch.allclose(changed, expected)
        torch.testing.assert_close(
            folding.hop(hop, batch.x, adjacent, blocks), changed, atol=1e-5, rtol=1e-5
        )


@pytest.mark.parametrize("pooling", ["sum", "mean", "attention"])
@pytest.mark.parametrize(
    "shape",
    [
        {"hops": 2},
        {"layers": 2, "jumping": False},
        {"hops": 1, "layers": 2, "normalization": False},
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_model_scores_as_without_folding(shape, pooling, dtype, monkeypatch):
    torch.manual_seed(0)
    batch = molecules()
    batch.x = batch.x.to(dtype)
    model = with_statistics(GraphIGNN(4, 9, 3, kappa=0.7, pooling=pooling, **shape).to(dtype))
    with torch.no_grad():
        found = model(batch)
        monkeypatch.setattr(folding, "folds", lambda *_: False)
        torch.testing.assert_close(found, model(batch), atol=1e-3, rtol=1e-3)


def test_nothing_is_folded_in_training_or_with_gradients():
    model, x = with_statistics(GraphIGNN(4, 8, 2, hops=1)), torch.ones(3, 4)
    assert not folding.folds(x, model)
    with torch.no_grad():
        assert folding.folds(x, model)
        assert not folding.folds(x.double(), model)
        assert not folding.folds(x, model.train())
