"""Amazon-all in the text format of SSE (Dai et al., ICML 2018), which IGNN uses too.

``meta.txt`` holds the numbers of nodes and classes; ``adj_list.txt`` a line a node: how many
neighbours, then the neighbours; ``label.txt`` a 0/1 row a node; ``train_idx-0.06.txt`` and
``test_idx.txt`` node numbers.
"""

from __future__ import annotations

import re

import numpy as np
import scipy.sparse
import torch

from ..errors import InputError
from .archives import Archive
from .data import NodeData, csr_tensor, node_data
from .labels import class_numbers
from .source import Parsed, Source
from .splits import check, masks, with_validation
from .text import check_ids, read_column, read_ragged, read_sparse, read_table

VERSION = 1
_TRAIN = re.compile(r"(?:^|/)train_idx-([0-9.]+)\.txt$")


def parse(archive: Archive, source: Source) -> Parsed:
    """Read graph, labels and every published training fraction."""
    meta = archive.find("meta.txt")
    with archive.open(meta) as stream:
        nodes, classes = read_table(stream, archive.label(meta), columns=2)[0].tolist()
    tensors = {"edge_index": _edges(archive, nodes), "y": _labels(archive, nodes, classes)}
    indices = {_TRAIN.search(name): name for name in archive.names()}
    wanted = {f"train-{match[1]}": name for match, name in indices.items() if match}
    for key, name in {**wanted, "test": archive.find("test_idx.txt")}.items():
        with archive.open(name) as stream:
            column = read_column(stream, archive.label(name))
        tensors[key] = torch.from_numpy(check_ids(column, nodes, archive.label(name)))
    return Parsed(tensors, {"nodes": nodes, "classes": classes})


def _edges(archive: Archive, nodes: int) -> torch.Tensor:
    name = archive.find("adj_list.txt")
    file = archive.label(name)
    with archive.open(name) as stream:
        counts, values = read_ragged(stream, file)
    if len(counts) != nodes:
        raise InputError(f"{file} has {len(counts)} lines but meta.txt says {nodes} nodes")
    heads = np.cumsum(counts) - counts
    wrong = np.flatnonzero(values[heads] != counts - 1)
    if wrong.size:
        raise InputError(
            f"{file}, line {wrong[0] + 1}: {values[heads[wrong[0]]]} neighbours are announced "
            f"and {counts[wrong[0]] - 1} given"
        )
    source = np.repeat(np.arange(nodes), counts - 1)
    target = np.delete(values, heads)
    unknown = np.flatnonzero((target < 0) | (target >= nodes))
    if unknown.size:
        raise InputError(
            f"{file}, line {source[unknown[0]] + 1}: there is no node {target[unknown[0]]}; "
            f"they are 0 to {nodes - 1}"
        )
    return torch.from_numpy(np.stack([source, target]))


def _labels(archive: Archive, nodes: int, classes: int) -> torch.Tensor:
    name = archive.find("label.txt")
    with archive.open(name) as stream:
        matrix = read_sparse(stream, archive.label(name))
    if matrix.shape != (nodes, classes):
        raise InputError(
            f"{archive.label(name)} is {matrix.shape[0]} x {matrix.shape[1]} but meta.txt says "
            f"{nodes} nodes and {classes} classes"
        )
    return class_numbers(scipy.sparse.csr_matrix(matrix))


def build(parsed: Parsed, source: Source, split: str | None, seed: int) -> NodeData:
    """Make the graph.

    ``split`` is the published training fraction, ``"0.06"`` (default) or another of 0.05 to 0.09;
    500 validation nodes are drawn by ``seed`` from labelled nodes outside training and test. Nodes
    have no features: ``x`` is the (sparse) identity, as in IGNN.
    """
    tensors, nodes = parsed.tensors, parsed.facts["nodes"]
    split = split or "0.06"
    if f"train-{split}" not in tensors:
        known = sorted(k.removeprefix("train-") for k in tensors if k.startswith("train-"))
        raise InputError(f"{source.name} has no split {split!r}: choose among {', '.join(known)}")
    y = tensors["y"]
    labels = y.numpy()
    known_labels = labels if labels.ndim == 1 else np.where(labels.any(axis=1), 0, -1)
    train, test = tensors[f"train-{split}"].numpy(), tensors["test"].numpy()
    parts = with_validation(train, test, known_labels, seed)
    check(parts, labels, parsed.facts["classes"], f"{source.name}, split {split}")
    rows = torch.arange(nodes + 1)
    return node_data(
        source.name,
        x=csr_tensor(rows, torch.arange(nodes), torch.ones(nodes), (nodes, nodes)),
        y=y,
        edge_index=tensors["edge_index"],
        num_classes=parsed.facts["classes"],
        masks=masks(parts, nodes),
        stand_in=source.stand_in,
    )
