"""Citeseer, ACM, BlogCatalog and Flickr as AM-GCN (Wang et al., KDD 2020) publishes them.

A zip of text: ``NAME.feature`` (a dense matrix), ``NAME.edge``, ``NAME.label``, and the published
training and test nodes for 20, 40 and 60 labels a class.
"""

from __future__ import annotations

import numpy as np
import torch

from ..errors import InputError
from .archives import Archive
from .data import NodeData, feature_tensor
from .parted import parted
from .source import Parsed, Source
from .splits import stratified, with_validation
from .text import check_ids, read_column, read_sparse, read_table

VERSION = 1
PER_CLASS = ("20", "40", "60")


def parse(archive: Archive, source: Source) -> Parsed:
    """Read features, labels, edges and the published splits."""
    folder = source.folder or source.name
    feature, label, edge = (
        archive.find(f"{folder}.feature"),
        archive.find(f"{folder}.label"),
        archive.find(f"{folder}.edge", f"{folder}_PAP.edge"),
    )
    with archive.open(feature) as stream:
        features = read_sparse(stream, archive.label(feature))
    with archive.open(label) as stream:
        labels = read_column(stream, archive.label(label))
    if features.shape[0] != len(labels):
        raise InputError(
            f"{archive.label(feature)} has {features.shape[0]} rows but {archive.label(label)} "
            f"has {len(labels)}; both must have one row a node"
        )
    check_ids(labels, source.classes, archive.label(label), "class")
    with archive.open(edge) as stream:
        edges = check_ids(
            read_table(stream, archive.label(edge), columns=2), len(labels), archive.label(edge)
        )
    tensors = {
        "x": feature_tensor(features),
        "y": torch.from_numpy(labels),
        "edge_index": torch.from_numpy(np.ascontiguousarray(edges.T)),
        **published_splits(archive, len(labels)),
    }
    return Parsed(tensors)


def published_splits(archive: Archive, nodes: int) -> dict[str, torch.Tensor]:
    """Read ``train20.txt`` to ``test60.txt``."""
    tensors = {}
    for per_class in PER_CLASS:
        for part in ("train", "test"):
            name = archive.find(f"{part}{per_class}.txt")
            with archive.open(name) as stream:
                indices = read_column(stream, archive.label(name))
            tensors[part + per_class] = torch.from_numpy(
                check_ids(indices, nodes, archive.label(name))
            )
    return tensors


def build(parsed: Parsed, source: Source, split: str | None, seed: int) -> NodeData:
    """Make the graph.

    ``split`` is ``"60"`` (default), ``"40"`` or ``"20"``: published training nodes a class and the
    published 1,000 test nodes, with 500 validation nodes drawn from the rest by ``seed``; or
    ``"stratified"``: 60%, 20% and 20% of each class.
    """
    tensors = parsed.tensors
    labels = tensors["y"].numpy()
    split = split or "60"
    if split in PER_CLASS:
        train, test = tensors[f"train{split}"].numpy(), tensors[f"test{split}"].numpy()
        # In one published split (coraml's) a few nodes are in both: test keeps them.
        train = np.setdiff1d(train, test)
        parts = with_validation(train, test, labels, seed)
    elif split == "stratified":
        parts = stratified(labels, 0.6, 0.2, None, seed)
    else:
        raise InputError(
            f"{source.name} has no split {split!r}: choose among "
            f"{', '.join(PER_CLASS)} (labels a class) and stratified"
        )
    return parted(parsed, source, parts, split)
