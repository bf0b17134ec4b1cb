"""TUDataset's text format."""

from pathlib import Path

import pytest
import torch
from torch_geometric.loader import DataLoader

from datasets.formats import tu, write_zip
from ignn_solver.datasets import load
from ignn_solver.errors import InputError


@pytest.fixture
def archive(empty_home: Path) -> Path:
    return write_zip(empty_home / "MUTAG.zip", tu())


def test_graphs_come_out_one_by_one(archive: Path) -> None:
    dataset = load("mutag")
    assert (len(dataset), dataset.num_classes, dataset.num_features) == (10, 2, 4)
    assert [g.num_nodes for g in dataset] == [2, 3] * 5
    assert [int(g.y) for g in dataset] == [0, 1] * 5
    triangle = dataset[3]
    assert sorted(map(tuple, triangle.edge_index.T.tolist())) == [
        (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1),
    ]  # fmt: skip
    assert triangle.x[:, :2].tolist() == [[1, 0], [0, 1], [0, 1]]
    assert triangle.x[:, 2:].tolist() == [[3.5, 0.0], [3.5, -1.0], [3.5, -2.0]]
    assert dataset.stand_in == ""


def test_pyg_batches_them(archive: Path) -> None:
    batch = next(iter(DataLoader(load("mutag")[[0, 1, 5]], batch_size=3)))
    assert batch.batch.tolist() == [0, 0, 1, 1, 1, 2, 2, 2]
    assert batch.y.tolist() == [0, 1, 1]
    assert batch.edge_index.max() == 7


def test_options_choose_the_features(archive: Path) -> None:
    assert load("mutag", attributes=False).num_features == 2
    with_degree = load("mutag", attributes=False, degree=True)
    # Degrees here are 1 (pairs) and 2 (triangles): one-hot in columns 0 to 2.
    assert with_degree.num_features == 5
    assert with_degree[0].x[:, 2:].tolist() == [[0, 1, 0]] * 2
    assert with_degree[1].x[:, 2:].tolist() == [[0, 0, 1]] * 3


def test_graphs_without_labels_have_their_degrees(empty_home: Path) -> None:
    members = {k: v for k, v in tu().items() if "node_" not in k}
    write_zip(empty_home / "MUTAG.zip", members)
    dataset = load("mutag")
    assert dataset[1].x.tolist() == [[0, 0, 1]] * 3


def test_cached_equals_fresh(archive: Path) -> None:
    fresh, again = load("mutag"), load("mutag")
    for one, two in zip(fresh, again, strict=True):
        assert torch.equal(one.x, two.x)
        assert torch.equal(one.edge_index, two.edge_index)
        assert torch.equal(one.y, two.y)


def test_edges_in_any_order_belong_to_their_graph(empty_home: Path) -> None:
    members = tu()
    rows = members["MUTAG/MUTAG_A.txt"].splitlines(keepends=True)
    members["MUTAG/MUTAG_A.txt"] = "".join(reversed(rows))
    write_zip(empty_home / "MUTAG.zip", members)
    for graph in load("mutag"):
        assert graph.num_edges == (2 if graph.num_nodes == 2 else 6)
        assert graph.edge_index.max() == graph.num_nodes - 1
        assert graph.is_undirected()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("A", "1, 3\n", "A.txt, line 1: the edge joins two graphs"),
        ("A", "1, 2\n1, 99\n", "A.txt, line 2: there is no node 98"),
        ("graph_indicator", "1\n2\n1\n", "line 3: graphs must follow in order"),
        ("graph_indicator", "1\n44\n", "line 2: there is no graph 43"),
        ("node_labels", "1\n", "node_labels.txt has 1 rows but there are 25 nodes"),
        ("node_attributes", "1, 2\n1, x\n", "node_attributes.txt, line 2: 'x' is not a finite"),
    ],
)
def test_bad_files_are_refused(empty_home: Path, file: str, content: str, message: str) -> None:
    write_zip(empty_home / "MUTAG.zip", {**tu(), f"MUTAG/MUTAG_{file}.txt": content})
    with pytest.raises(InputError, match=message):
        load("mutag")


def test_there_are_folds_instead_of_splits(archive: Path) -> None:
    with pytest.raises(InputError, match="split by folds"):
        load("mutag", split="60")
