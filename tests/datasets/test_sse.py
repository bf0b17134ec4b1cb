"""Amazon-all's text format."""

from pathlib import Path

import pytest
import torch

from datasets.formats import sse, write_zip
from ignn_solver.datasets import load
from ignn_solver.errors import InputError


def test_graph_labels_and_identity_features(empty_home: Path) -> None:
    write_zip(empty_home / "amazon-all.zip", sse())
    data = load("amazon-all")
    assert data.edge_index.tolist() == [
        [0, 1, 1, 2, 2, 3, 3, 4, 4, 5],
        [1, 0, 2, 1, 3, 2, 4, 3, 5, 4],
    ]
    assert data.y.tolist() == [0, 1, 0, 1, 0, -1]
    assert data.num_classes == 2
    assert torch.equal(data.x.to_dense(), torch.eye(6))
    assert data.x.layout == torch.sparse_csr


@pytest.mark.parametrize(("split", "train"), [(None, [0, 1]), ("0.06", [0, 1]), (0.09, [0, 1, 2])])
def test_published_fractions(empty_home: Path, split, train) -> None:
    write_zip(empty_home / "amazon-all.zip", sse())
    data = load("amazon-all", split=split)
    assert data.train_mask.nonzero().flatten().tolist() == train
    assert data.test_mask.nonzero().flatten().tolist() == [3]
    # Validation is what is labelled, not trained on and not tested: never the unlabelled node 5.
    assert data.val_mask.nonzero().flatten().tolist() == [n for n in (2, 4) if n not in train]


def test_a_folder_serves_as_well(empty_home: Path) -> None:
    for name, text in sse().items():
        (empty_home / name).parent.mkdir(exist_ok=True)
        (empty_home / name).write_text(text)
    assert load("amazon-all").num_nodes == 6


def test_several_classes_a_node(empty_home: Path) -> None:
    labels = "1 0\n1 1\n1 0\n0 1\n1 0\n0 0\n"
    write_zip(empty_home / "amazon-all.zip", {**sse(), "amazon-all/label.txt": labels})
    data = load("amazon-all")
    assert data.y.dtype == torch.float32
    assert data.y.tolist() == [[1, 0], [1, 1], [1, 0], [0, 1], [1, 0], [0, 0]]
    assert data.val_mask.nonzero().flatten().tolist() == [2, 4]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("adj_list.txt", "1 1\n3 0 2\n" + "0\n" * 4, "line 2: 3 neighbours are announced and 2"),
        ("adj_list.txt", "1 1\n", "has 1 lines but meta.txt says 6 nodes"),
        ("adj_list.txt", "1 1\n1 6\n" + "0\n" * 4, "line 2: there is no node 6"),
        ("adj_list.txt", "1 1\n1 b\n", "line 2: 'b' is not a whole number that fits"),
        ("label.txt", "1 0\n", "is 1 x 2 but meta.txt says 6 nodes and 2 classes"),
        ("train_idx-0.06.txt", "0\n2\n", "class 1 has no training node"),
        ("train_idx-0.06.txt", "0\n1\n3\n", "in both the train and the test part"),
        ("meta.txt", "six 2\n", "meta.txt, line 1: 'six' is not a whole number that fits"),
    ],
)
def test_bad_files_are_refused(empty_home: Path, file: str, content: str, message: str) -> None:
    write_zip(empty_home / "amazon-all.zip", {**sse(), f"amazon-all/{file}": content})
    with pytest.raises(InputError, match=message):
        load("amazon-all")


def test_unknown_fraction_is_said(empty_home: Path) -> None:
    write_zip(empty_home / "amazon-all.zip", sse())
    with pytest.raises(InputError, match=r"no split '0\.5': choose among 0\.06, 0\.09"):
        load("amazon-all", split=0.5)
