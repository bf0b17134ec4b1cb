"""Any dataset of PyG, and any Data, with what this package needs."""

from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from ignn_solver.datasets import from_data, load
from ignn_solver.errors import InputError


def test_a_node_dataset_gets_a_split(empty_home: Path) -> None:
    data = load("pyg:KarateClub", seed=3)
    assert (data.num_nodes, data.num_classes, data.name) == (34, 4, "pyg:KarateClub")
    total = data.train_mask.int() + data.val_mask.int() + data.test_mask.int()
    assert (total == 1).all()


def test_a_graph_dataset_is_returned_as_it_is(empty_home: Path) -> None:
    dataset = load("pyg:FakeDataset", num_graphs=5, task="graph")
    assert len(dataset) == 5
    with pytest.raises(InputError, match="leave split out"):
        load("pyg:FakeDataset", num_graphs=5, task="graph", split="60")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pyg:Nothing", "has no 'Nothing': say pyg:Class"),
        ("pyg:Planetoid", "holds several datasets: say pyg:Planetoid/NAME"),
        ("pyg:KarateClub/Cora", "is one dataset: say pyg:KarateClub"),
        ("pyg:Planetoid/Nothing", "PyG could not load Planetoid/Nothing"),
    ],
)
def test_what_does_not_exist_is_said(empty_home: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(name)


def graph(**changes) -> Data:
    masks = torch.eye(6, dtype=torch.bool)
    values = {
        "x": torch.ones(6, 2),
        "edge_index": torch.tensor([[0, 1], [1, 0]]),
        "y": torch.tensor([0, 1, 0, 1, 0, 1]),
        "train_mask": masks[0] | masks[1],
        "val_mask": masks[2],
        "test_mask": masks[3],
    }
    return Data(**{k: v for k, v in {**values, **changes}.items() if v is not None})


def test_own_masks_are_kept() -> None:
    data = from_data(graph())
    assert data.train_mask.tolist() == [True, True, False, False, False, False]
    assert (data.num_classes, data.stand_in) == (2, "")


def test_several_published_splits_are_chosen_by_number() -> None:
    many = torch.stack([graph().train_mask, graph().train_mask.flip(0)], dim=1)
    several = graph(train_mask=many)
    assert torch.equal(from_data(several).train_mask, many[:, 0])
    assert torch.equal(from_data(several, split=1).train_mask, many[:, 1])
    with pytest.raises(InputError, match="choose from 0 to 1"):
        from_data(several, split=2)


def test_labels_in_a_column_are_flattened() -> None:
    data = from_data(graph(y=torch.tensor([[0], [1], [0], [1], [0], [1]])))
    assert data.y.tolist() == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"y": None}, {}, "needs x and y"),
        ({"x": None}, {}, "needs x and y"),
        ({"train_mask": torch.tensor([True] * 6)}, {}, "in both the train and the test part"),
        ({"y": torch.tensor([0, 0, 1, 1, 1, 1])}, {}, "class 1 has no training node"),
        ({}, {"split": "60"}, "has no split '60'"),
        ({"val_mask": None}, {"split": "60"}, "its only one is stratified"),
        ({"val_mask": None, "y": torch.ones(6, 2)}, {}, "give it masks of your own"),
    ],
)
def test_what_cannot_be_used_is_said(changes, options, message) -> None:
    with pytest.raises(InputError, match=message):
        from_data(graph(**changes), **options)
