"""The co-purchase graph: real edges, features of the structure, labels that are synthetic."""

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from ignn_solver.datasets import load
from ignn_solver.datasets.konect import planted_labels, structural_features
from ignn_solver.errors import InputError


def ring_with_chord(nodes: int = 400) -> scipy.sparse.csr_matrix:
    rows = np.arange(nodes)
    pairs = np.concatenate([np.stack([rows, (rows + 1) % nodes], 1), [[0, 2]]])
    graph = scipy.sparse.csr_matrix(
        (np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1])), shape=(nodes, nodes)
    )
    return graph.maximum(graph.T)


def test_features_are_standardised_and_know_the_structure() -> None:
    x = structural_features(ring_with_chord())
    assert x.shape == (400, 64)
    assert x.dtype == np.float32
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(x.std(axis=0), 1, atol=1e-4)
    # Only 0 and 2 have three neighbours; only 0, 1, 2 are in a triangle, 1 with all its pairs.
    assert set(np.argsort(x[:, 0])[-2:]) == {0, 2}
    assert np.argmax(x[:, 2]) == 1
    assert set(np.argsort(x[:, 2])[-3:]) == {0, 1, 2}
    np.testing.assert_array_equal(x, structural_features(ring_with_chord()))


def test_labels_are_those_of_the_nearest_centre() -> None:
    graph = ring_with_chord(400)
    labels = planted_labels(graph, 3)
    assert set(labels) == {0, 1, 2}
    joined = graph.tocoo()
    same = (labels[joined.row] == labels[joined.col]).mean()
    # 60 centres cut a ring of 400 into about 60 stretches, a third of the cuts between like ones.
    assert same > 0.8


def test_unreached_nodes_have_a_label_too() -> None:
    lonely = scipy.sparse.csr_matrix((500, 500), dtype=np.float32)
    labels = planted_labels(lonely, 4)
    assert labels.min() >= 0
    assert labels.max() <= 3


def write(path: Path, text: str) -> None:
    with tarfile.open(path, "w:bz2") as tar:
        info = tarfile.TarInfo("com-amazon/out.com-amazon")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text.encode()))


def test_ids_count_from_one_and_both_directions_are_stored(empty_home: Path) -> None:
    nodes = 1200
    rows = "".join(f"{i + 1} {(i + 1) % nodes + 1}\n" for i in range(nodes))
    write(empty_home / "com-amazon.tar.bz2", "% sym unweighted\n% a comment\n" + rows)
    data = load("com-amazon")
    assert (data.num_nodes, data.num_edges, data.num_classes) == (nodes, 2 * nodes, 58)
    assert data.is_undirected()
    assert "labels are synthetic" in data.stand_in


@pytest.mark.parametrize(
    ("text", "message"),
    [("% c\n1 2\n3\n", "line 3: 1 values where 2"), ("0 1\n", "node ids must count from 1")],
)
def test_bad_files_are_refused(empty_home: Path, text: str, message: str) -> None:
    write(empty_home / "com-amazon.tar.bz2", text)
    with pytest.raises(InputError, match=message):
        load("com-amazon")
