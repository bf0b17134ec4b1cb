"""AM-GCN's splits: published training and test nodes, validation from the rest."""

from pathlib import Path

import pytest
import torch

from datasets.formats import amgcn, lines, write_zip
from ignn_solver.datasets import load


@pytest.fixture
def archive(empty_home: Path) -> Path:
    members = amgcn(per_class=100)
    for size in (20, 40, 60):
        members[f"citeseer/train{size}.txt"] = lines(list(range(6 * size // 20)))
        members[f"citeseer/test{size}.txt"] = lines(list(range(590, 600)))
    return write_zip(empty_home / "citeseer.zip", members)


@pytest.mark.parametrize("split", ["20", 40, None])
def test_published_nodes_are_kept(archive: Path, split) -> None:
    data = load("citeseer", split=split)
    size = 6 * int(split or 60) // 20
    assert data.train_mask.nonzero().flatten().tolist() == list(range(size))
    assert data.test_mask.nonzero().flatten().tolist() == list(range(590, 600))
    assert int(data.val_mask.sum()) == 500
    assert not (data.val_mask & (data.train_mask | data.test_mask)).any()


def test_seed_draws_only_validation(archive: Path) -> None:
    one, two = load("citeseer", seed=1), load("citeseer", seed=2)
    assert torch.equal(one.train_mask, two.train_mask)
    assert torch.equal(one.test_mask, two.test_mask)
    assert not torch.equal(one.val_mask, two.val_mask)


def test_stratified_split(archive: Path) -> None:
    data = load("citeseer", split="stratified")
    assert data.y[data.train_mask].bincount().tolist() == [60] * 6
    assert data.y[data.test_mask].bincount().tolist() == [20] * 6


def test_graph_is_as_written(archive: Path) -> None:
    data = load("citeseer")
    assert torch.equal(data.x.to_dense()[:, :6].argmax(dim=1), data.y)
    assert data.edge_index[:, 0].tolist() == [0, 1]
    assert data.num_edges == 1200
    assert data.is_undirected()
