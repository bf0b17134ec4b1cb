"""Reddit's files in GraphSAINT's format."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from datasets.formats import graphsaint, write_zip
from ignn_solver.datasets import load
from ignn_solver.errors import InputError


def test_folder_and_zip_give_the_same_graph(empty_home: Path) -> None:
    folder = graphsaint(empty_home / "reddit")
    data = load("reddit")
    assert (data.num_nodes, data.num_edges, data.num_classes) == (46, 90, 41)
    assert data.x[1].tolist() == [3.0, 4.0, 5.0]
    assert data.y.tolist() == [i % 41 for i in range(46)]
    assert data.train_mask.nonzero().flatten().tolist() == list(range(41))
    assert data.test_mask.nonzero().flatten().tolist() == [43, 44, 45]
    write_zip(empty_home / "reddit.zip", {p.name: p.read_bytes() for p in folder.iterdir()})
    (folder / "role.json").unlink()
    other = load("reddit")
    assert torch.equal(other.x, data.x)
    assert torch.equal(other.edge_index, data.edge_index)


def test_stratified_split(empty_home: Path) -> None:
    graphsaint(empty_home / "reddit")
    data = load("reddit", split="stratified")
    assert (data.y[data.train_mask].bincount(minlength=41) >= 1).all()


def test_several_classes_a_node(empty_home: Path) -> None:
    folder = graphsaint(empty_home / "reddit")
    table = {str(i): [int(j in (i, i + 1)) for j in range(41)] for i in range(46)}
    (folder / "class_map.json").write_text(json.dumps(table))
    data = load("reddit")
    assert data.y.shape == (46, 41)
    assert data.y[3].nonzero().flatten().tolist() == [3, 4]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("class_map.json", {"99": 0}, "class_map.json, entry 1: there is no node 99"),
        ("class_map.json", {"0": 41}, "class_map.json, entry 1: there is no class 41"),
        ("class_map.json", [1], "does not map node numbers to classes"),
        ("role.json", {"tr": [0]}, "no list of node numbers under 'va'"),
        ("role.json", {"tr": [0], "va": [], "te": []}, "class 1 has no training node"),
        ("role.json", {"tr": [77], "va": [], "te": []}, "there is no node 77"),
    ],
)
def test_bad_json_is_refused(empty_home: Path, file: str, content, message: str) -> None:
    folder = graphsaint(empty_home / "reddit")
    (folder / file).write_text(json.dumps(content))
    with pytest.raises(InputError, match=message):
        load("reddit")


def test_broken_files_are_refused(empty_home: Path) -> None:
    folder = graphsaint(empty_home / "reddit")
    np.save(folder / "feats.npy", np.zeros((5, 2)))
    with pytest.raises(InputError, match=r"feats\.npy has 5 feature rows for 46 nodes"):
        load("reddit")
    np.save(folder / "feats.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"feats\.npy is not a plain array"):
        load("reddit")
    (folder / "role.json").write_text("{")
    (folder / "adj_full.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"adj_full\.npz is truncated or not an archive"):
        load("reddit")
