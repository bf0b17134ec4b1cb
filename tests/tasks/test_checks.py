"""Graphs that are not fit for training are refused, each with a sentence of its own."""

import pytest
import torch
from torch_geometric.data import Data

from ignn_solver import IGNN, InputError, datasets, fit
from ignn_solver.baselines.gcn import GCN
from ignn_solver.tasks.checks import check_training_data, loss_function, mask


def graph(**changes) -> Data:
    """Six nodes in a ring; the last is in no split, which is fine, and has no label."""
    parts = torch.arange(6)
    data = Data(
        x=torch.eye(6),
        edge_index=torch.stack([parts, (parts + 1) % 6]),
        y=torch.tensor([0, 1, 2, 0, 1, -1]),
        train_mask=parts < 3,
        val_mask=parts == 3,
        test_mask=parts == 4,
    )
    for name, value in changes.items():
        data[name] = value
    return data


def only(*nodes: int) -> torch.Tensor:
    found = torch.zeros(6, dtype=torch.bool)
    found[list(nodes)] = True
    return found


def test_a_node_in_no_split_takes_part_without_a_label():
    data = graph()
    check_training_data(data, 3)
    model = GCN(6, 4, 3, dropout=0.0)
    before = model(data)[4].detach().clone()
    data.x = data.x.clone()
    data.x[5] += 1.0
    assert not torch.equal(model(data)[4], before)
    assert fit(model, data, epochs=1).epochs == 1


def test_test_nodes_are_not_needed():
    data = graph()
    del data.test_mask
    check_training_data(data, 3)


WRONG = [
    ({"x": None}, r"no features: set data\.x"),
    ({"x": torch.ones(0, 6)}, "graph is empty: it needs at least one node"),
    ({"x": torch.full((6, 6), torch.nan)}, r"NaN or infinity \(first in row 0\): clean"),
    ({"x": torch.eye(6).index_fill(0, torch.tensor(4), torch.inf)}, r"infinity \(first in row 4\)"),
    ({"edge_index": None}, "no edge_index: give the edges"),
    ({"y": None}, r"no labels: set data\.y"),
    ({"y": torch.zeros(5, dtype=torch.long)}, r"one whole class number for each of the 6 nodes"),
    ({"y": torch.zeros(6)}, r"whole class number .*not torch.float32"),
    ({"y": torch.tensor([0, 1, -1, 0, 1, 0])}, "a node of the train split has label -1"),
    ({"y": torch.tensor([0, 1, 2, 3, 1, 0])}, "val split has label 3, .* classes 0 to 2: fix"),
    ({"y": torch.tensor([0, 1, 2, 0, 9, 0])}, "test split has label 9"),
    ({"train_mask": None}, "no train_mask: give every split"),
    (
        {"val_mask": only()},
        "no node is in the val split: put some there, in val_mask or the split file",
    ),
    ({"train_mask": only()}, "no node is in the train split"),
    ({"test_mask": only()}, "no node is in the test split"),
    ({"val_mask": torch.tensor([3])}, r"val_mask must be a boolean tensor of shape \(6,\), not"),
    ({"val_mask": only(3).long()}, r"val_mask must be a boolean tensor .*not torch.int64"),
    ({"val_mask": only(2, 3)}, "1 nodes are in both the train and the val split: leave each in"),
    ({"test_mask": only(1, 2)}, "2 nodes are in both the train and the test split"),
]


@pytest.mark.parametrize(("changes", "sentence"), WRONG)
def test_each_wrong_thing_is_one_sentence(changes, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        fit(IGNN(6, 4, 3), graph(**changes), epochs=1)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"edge_index": torch.tensor([[0, 1], [1, 6]])}, "names node 6"),
        ({"edge_index": torch.tensor([[0, -1], [1, 2]])}, "node -1"),
        ({"edge_weight": torch.tensor([1.0, -2.0, 1, 1, 1, 1])}, "negative"),
        ({"edge_weight": torch.tensor([1.0, torch.nan, 1, 1, 1, 1])}, "NaN|finite"),
        ({"edge_weight": torch.ones(2)}, "weight"),
        ({"x": torch.ones(6, 5)}, "5 columns, but the model was made for 6"),
    ],
)
@pytest.mark.parametrize("kind", [IGNN, GCN])
def test_what_the_graph_itself_gets_wrong_is_said_by_every_model(kind, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        fit(kind(6, 4, 3), graph(**changes), epochs=1)


@pytest.mark.parametrize("kappa", [0.0, 1.0, -0.5, 1.5, float("nan")])
def test_kappa_outside_its_range_is_refused(kappa):
    with pytest.raises(InputError, match=r"kappa .*between 0 and 1"):
        IGNN(6, 4, 3, kappa=kappa)


def test_masks_are_given_back_as_they_are():
    data = graph()
    assert torch.equal(mask(data, "val"), only(3))


def test_a_named_dataset_passes():
    chains = datasets.load("chains:4")
    check_training_data(chains, 2)
    with pytest.raises(InputError, match="has label 1, but the model knows classes 0 to 0"):
        check_training_data(chains, 1)


def test_an_unknown_loss_is_refused():
    with pytest.raises(InputError, match=r"unknown loss 'hinge': choose \"ce\" or \"bce\""):
        loss_function("hinge", torch.zeros(1, 2), torch.zeros(1, dtype=torch.long))
