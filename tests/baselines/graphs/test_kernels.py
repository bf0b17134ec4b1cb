"""Kernels and the reservoir, which have no epochs."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

from graph_sets import as_dataset, relabelled, ring, rings_and_stars
from ignn_solver import InputError
from ignn_solver.baselines.graphs.fdgnn import CANDIDATES as RIDGES
from ignn_solver.baselines.graphs.fdgnn import FDGNN
from ignn_solver.baselines.graphs.kernels import CANDIDATES
from ignn_solver.baselines.graphs.pk import PK
from ignn_solver.baselines.graphs.wl import WL
from ignn_solver.nn.explicit import neighbours

LABELS = torch.eye(2)


def path_and_edge():
    path = Data(
        x=LABELS[[0, 1, 0]],
        edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        y=torch.tensor([0]),
    )
    edge = Data(x=LABELS[[0, 1]], edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([1]))
    return as_dataset([path, edge])


def test_wl_counts_common_subtrees():
    # Round 0: labels (a, b, a) and (a, b): 2 + 1 in common. Round 1: the leaves of both are an a with one
    # b, so 2; the b has two neighbours in one and one in the other. Round 2: nothing in common.
    # With itself the path has 4 + 1 each round, the edge 1 + 1.
    matrix = WL(iterations=2, normalize=False).kernel_matrix(path_and_edge())
    assert matrix.tolist() == [[15, 5], [5, 6]]


def test_wl_normalised_is_the_cosine_of_the_counts():
    matrix = WL(iterations=2).kernel_matrix(path_and_edge())
    assert matrix[0, 1] == pytest.approx(5 / np.sqrt(15 * 6))
    assert np.diag(matrix).tolist() == [1, 1]


def test_pk_before_any_step_counts_labels():
    matrix = PK(steps=0, normalize=False).kernel_matrix(path_and_edge())
    assert matrix.tolist() == [[5, 3], [3, 2]]


def test_pk_bins_diffused_labels():
    # One step gives both ends of the edge the other's label: as many of each as before. The path's ends
    # become b and its middle a, so that its counts (2, 1) turn into (1, 2).
    matrix = PK(steps=1, normalize=False, width=1e-6).kernel_matrix(path_and_edge())
    assert matrix.tolist() == [[5 + 5, 3 + 3], [3 + 3, 2 + 2]]


@pytest.mark.parametrize("kind", [WL, PK, FDGNN])
def test_the_order_of_the_nodes_does_not_matter_and_shapes_are_told_apart(kind):
    dataset = rings_and_stars(24, features=1)
    torch.manual_seed(0)
    mixed = as_dataset([relabelled(g, torch.randperm(g.num_nodes)) for g in dataset])
    train, rest = np.arange(16), np.arange(16, 24)
    predictions = []
    for graphs in (dataset, mixed):
        model = kind()
        model.fit(graphs, train)
        predictions.append(model.predict(rest))
    assert (predictions[0] == predictions[1]).all()
    assert len(predictions[0]) == len(RIDGES if kind is FDGNN else CANDIDATES)
    accuracy = (predictions[0] == dataset._data.y.numpy()[rest]).mean(1)
    # Walks that diffuse equal labels change nothing: the propagation kernel cannot tell these apart.
    assert accuracy.max() == (0.5 if kind is PK else 1)


def test_an_isolated_node_has_its_place_in_the_kernel():
    lonely = Data(
        x=LABELS[[0, 1]], edge_index=torch.zeros(2, 0, dtype=torch.int64), y=torch.tensor([0])
    )
    both = as_dataset([lonely, path_and_edge()[1]])
    assert WL(iterations=1, normalize=False).kernel_matrix(both).tolist() == [[4, 2], [2, 4]]


def test_reservoir_states_are_the_fixed_point_of_the_dense_map():
    graph = Data(x=LABELS[[0, 1, 0, 1, 1]], edge_index=ring(5), y=torch.tensor([0]))
    model = FDGNN(units=6, layers=1, radius=0.5, seed=3)
    found = model.embed(Batch.from_data_list([graph]))
    generator = torch.Generator().manual_seed(3)
    inputs = 2 * torch.rand(2, 6, generator=generator, dtype=torch.float64) - 1
    recurrent = 2 * torch.rand(6, 6, generator=generator, dtype=torch.float64) - 1
    recurrent *= 0.5 / (2 * torch.linalg.eigvals(recurrent).abs().amax())
    dense = neighbours(graph.edge_index, 5).as_torch().to_dense().double()
    z = torch.zeros(5, 6, dtype=torch.float64)
    for _ in range(300):
        z = torch.tanh(dense @ z @ recurrent + graph.x.double() @ inputs)
    torch.testing.assert_close(found[0], z.sum(0), atol=1e-4, rtol=1e-4)


def test_a_reservoir_that_cannot_be_is_refused():
    with pytest.raises(InputError, match="radius between 0 and 1"):
        FDGNN(radius=1.0)
