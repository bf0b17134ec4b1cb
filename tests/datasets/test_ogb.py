"""OGB's raw files."""

import gzip
from pathlib import Path

import pytest
import torch

from datasets.formats import ogb, write_zip
from ignn_solver.datasets import load
from ignn_solver.errors import InputError


def test_arxiv_is_directed_and_split_by_time(empty_home: Path) -> None:
    write_zip(empty_home / "arxiv.zip", ogb())
    data = load("ogbn-arxiv")
    assert data.edge_index.tolist() == [list(range(44)), [*range(1, 44), 0]]
    assert data.x[3].tolist() == [0.375, -0.75]
    assert data.y.tolist() == [i % 40 for i in range(44)]
    assert data.train_mask.nonzero().flatten().tolist() == list(range(40))
    assert data.val_mask.nonzero().flatten().tolist() == [40]
    assert data.test_mask.nonzero().flatten().tolist() == [41, 42, 43]


def test_products_has_both_directions_and_is_split_by_sales(empty_home: Path) -> None:
    write_zip(empty_home / "products.zip", ogb("sales_ranking", "products", 47))
    data = load("ogbn-products", split="sales_ranking")
    assert data.num_edges == 2 * 51
    assert data.is_undirected()
    assert int(data.test_mask.sum()) == 3


def test_an_unpacked_folder_serves_as_well(empty_home: Path) -> None:
    for name, content in ogb(folder="ogbn_arxiv").items():
        (empty_home / name).parent.mkdir(parents=True, exist_ok=True)
        (empty_home / name).write_bytes(content)
    data = load("ogbn-arxiv", split="stratified", seed=1)
    assert (data.num_nodes, data.num_features) == (44, 2)
    assert torch.equal(data.y[data.train_mask].unique(), torch.arange(40))


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("raw/edge", "0,1\n0,44\n", "edge.csv.gz, line 2: there is no node 44"),
        ("raw/edge", "0,1\n0,1,2\n", "edge.csv.gz, line 2: 3 values where 2"),
        ("raw/node-feat", "1,2\n", "has 1 feature rows for 44 nodes"),
        ("raw/node-feat", "1,2\n" * 45, "has 45 feature rows for 44 nodes"),
        ("raw/node-feat", "1,nan\n" * 44, "node-feat.csv.gz, line 1: 'nan' is not a finite"),
        ("raw/node-label", "40\n" * 44, "line 1: there is no class 40"),
        ("raw/node-label", "0\n", "has 1 rows for 44 nodes"),
        ("split/time/train", "0\n", "class 1 has no training node"),
        ("split/time/valid", "0\n", "in both the train and the val part"),
    ],
)
def test_bad_files_are_refused(empty_home: Path, file: str, text: str, message: str) -> None:
    members = {**ogb(), f"arxiv/{file}.csv.gz": gzip.compress(text.encode())}
    write_zip(empty_home / "arxiv.zip", members)
    with pytest.raises(InputError, match=message):
        load("ogbn-arxiv")


def test_a_truncated_member_is_refused(empty_home: Path) -> None:
    members = ogb()
    cut = members["arxiv/raw/edge.csv.gz"][:-12]
    write_zip(empty_home / "arxiv.zip", {**members, "arxiv/raw/edge.csv.gz": cut})
    with pytest.raises(InputError, match=r"edge\.csv\.gz is truncated"):
        load("ogbn-arxiv")


def test_unknown_split_is_said(empty_home: Path) -> None:
    write_zip(empty_home / "arxiv.zip", ogb())
    with pytest.raises(InputError, match="choose time or stratified"):
        load("ogbn-arxiv", split="60")
