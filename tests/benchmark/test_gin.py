import torch
from torch_geometric.data import Batch

from graph_sets import rings_and_stars
from ignn_solver.baselines.graphs.gin import GraphGIN
from ignn_solver.benchmark.gin import PyGGIN


@torch.no_grad()
def test_pygs_parts_give_our_scores():
    torch.manual_seed(0)
    dataset = rings_and_stars(12)
    batches = [
        Batch.from_data_list([dataset[i] for i in part]) for part in (range(5), range(5, 12))
    ]
    model = GraphGIN(4, 8, 3)
    for batch in batches:
        model(batch)
    model.eval()
    expected = torch.cat([model(batch) for batch in batches])
    torch.testing.assert_close(PyGGIN(model, batches)(), expected)
