"""The real archives at hand: counts as published, properties that every graph must have."""

import time

import numpy as np
import pytest
import torch

from ignn_solver.datasets import describe, folds, names
from ignn_solver.datasets.directory import data_directory
from ignn_solver.datasets.fetch import find
from ignn_solver.datasets.registry import SOURCES

# Entries of edge_index, sizes of training, validation and test part.
NODE = {
    "citeseer": (9_464, 360, 500, 1_000),
    "acm": (2 * 13_128, 180, 500, 1_000),
    "blogcatalog": (2 * 171_743, 360, 500, 1_000),
    "flickr": (2 * 239_738, 540, 500, 1_000),
    "corafull-knn": (130_622, 4_200 - 12, 500, 1_000),
    "wordnet": (2 * 183_789, 70_597, 23_532, 23_530),
    "com-amazon": (2 * 925_872, 20_092, 20_092, 294_679),
}
GRAPH = {"mutag": 7, "ptc_mr": 18, "cox2": 8, "proteins": 3, "nci1": 37}


@pytest.mark.parametrize("name", NODE)
def test_node_datasets_are_as_described(real, name: str) -> None:
    data, row = real(name), describe(name)
    assert (data.num_nodes, data.num_features, data.num_classes) == (
        row.count,
        row.features,
        row.classes,
    )
    entries, *sizes = NODE[name]
    assert data.num_edges == entries
    assert [int(data[m].sum()) for m in ("train_mask", "val_mask", "test_mask")] == sizes
    assert int((data.train_mask | data.val_mask | data.test_mask).sum()) == sum(sizes)
    assert data.is_undirected()
    assert torch.equal(data.y.unique(), torch.arange(row.classes))
    sparse = name != "com-amazon"
    assert data.x.layout == (torch.sparse_csr if sparse else torch.strided)
    assert data.x.dtype == torch.float32
    assert data.stand_in == row.stand_in


@pytest.mark.parametrize("name", GRAPH)
def test_graph_datasets_are_as_described(real, name: str) -> None:
    dataset, row = real(name), describe(name)
    assert (len(dataset), dataset.num_classes) == (row.count, row.classes)
    assert dataset.num_features == row.features
    assert real(name, attributes=False).num_features == GRAPH[name]
    assert sum(graph.num_edges for graph in dataset) == 2 * row.edges
    share = np.bincount(dataset.y) / len(dataset)
    for part in folds(dataset):
        assert abs(len(part.test) - len(dataset) / 10) < 1
        here = np.bincount(dataset.y[part.test]) / len(part.test)
        assert np.abs(here - share).max() <= 1 / len(part.test)


@pytest.mark.parametrize("name", ["citeseer", "corafull-knn", "flickr"])
def test_a_cached_load_equals_a_fresh_one(real, name: str, tmp_path, monkeypatch) -> None:
    cached = real(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = find(SOURCES[name], data_directory())
    assert path is not None
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / path.name).symlink_to(path)
    fresh = real(name, root=tmp_path / "data")
    for key in ("x", "y", "edge_index", "train_mask", "val_mask", "test_mask"):
        one, two = cached[key], fresh[key]
        assert (one.dtype, one.layout) == (two.dtype, two.layout)
        if one.layout == torch.sparse_csr:
            assert torch.equal(one.crow_indices(), two.crow_indices())
            assert torch.equal(one.col_indices(), two.col_indices())
            one, two = one.values(), two.values()
        assert torch.equal(one, two)


def test_flickr_is_quick_the_second_time(real) -> None:
    real("flickr")
    started = time.perf_counter()
    real("flickr")
    assert time.perf_counter() - started < 1.0


def test_published_archives_are_the_ones_known_by_digest() -> None:
    known = [s for s in SOURCES.values() if s.sha256]
    assert {s.name for s in known} == {"citeseer", "acm", "blogcatalog", "flickr"}
    for source in known:
        path = find(source, data_directory())
        if path is not None:
            from ignn_solver.datasets.parsed import digest

            assert digest(path, path.parent) == source.sha256
            assert path.stat().st_size == source.size


def test_every_archive_can_be_had_or_says_from_whom() -> None:
    for name in names():
        row = describe(name)
        assert row.source
        assert row.licence
