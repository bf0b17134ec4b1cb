"""CoraFull's stand-in: neighbour rows for features, and no test node in training."""

from pathlib import Path

import numpy as np
import pytest
import torch

from datasets.formats import lines, write_zip
from ignn_solver.datasets import load
from ignn_solver.errors import InputError


def members() -> dict[str, str]:
    nodes = 210
    ring = [(i, (i + 1) % nodes) for i in range(nodes)]
    result = {
        "coraml/coraml.label": lines(np.arange(nodes) % 70),
        "coraml/coraml.edge": lines(ring + [(b, a) for a, b in ring]),
        "coraml/knn/c7.txt": lines([(0, 5), (5, 0), (3, 9)]),
    }
    for size in (20, 40, 60):
        # Node 139 is published both as a training and as a test node.
        result[f"coraml/train{size}.txt"] = lines(np.arange(140))
        result[f"coraml/test{size}.txt"] = lines(np.arange(139, 150))
    return result


def test_features_are_rows_of_the_neighbour_graph(empty_home: Path) -> None:
    write_zip(empty_home / "coraml-without-features.zip", members())
    data = load("corafull-knn")
    rows = {tuple(p) for p in data.x.to_dense().nonzero().tolist()}
    assert rows == {(0, 5), (5, 0), (3, 9), (9, 3)}
    assert data.x.layout == torch.sparse_csr
    assert "CoraFull's words are replaced" in data.stand_in


def test_a_node_in_both_parts_is_only_tested(empty_home: Path) -> None:
    write_zip(empty_home / "coraml-without-features.zip", members())
    data = load("corafull-knn")
    assert not data.train_mask[139]
    assert data.test_mask[139]
    assert int(data.train_mask.sum()) == 139


def test_a_neighbour_out_of_range_is_named(empty_home: Path) -> None:
    broken = {**members(), "coraml/knn/c7.txt": "0 1\n0 210\n"}
    write_zip(empty_home / "coraml-without-features.zip", broken)
    with pytest.raises(InputError, match=r"knn/c7\.txt, line 2: there is no node 210"):
        load("corafull-knn")
