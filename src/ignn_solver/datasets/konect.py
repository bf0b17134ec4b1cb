"""The Amazon co-purchase graph behind Amazon-all, as KONECT publishes it, for timing at scale.

The graph is real. Its product types could not be had, so labels are synthetic, and features are
made from the graph alone.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
import torch

from ..errors import InputError
from .archives import Archive
from .data import NodeData
from .parted import parted
from .source import Parsed, Source
from .splits import stratified
from .text import read_table

VERSION = 1
_FEATURES = 64
_CENTRES_PER_CLASS = 20
_SEED = 20_240


def parse(archive: Archive, source: Source) -> Parsed:
    """Read the edges; make features from the structure and labels from planted centres."""
    name = archive.find("out.com-amazon")
    file = archive.label(name)
    with archive.open(name) as stream:
        edges = read_table(stream, file, columns=2, comment=b"%") - 1
    if edges.min() < 0:
        raise InputError(f"{file}: node ids must count from 1; get the archive again")
    nodes = int(edges.max()) + 1
    ones = np.ones(len(edges), dtype=np.float32)
    graph = scipy.sparse.csr_matrix((ones, (edges[:, 0], edges[:, 1])), shape=(nodes, nodes))
    graph = graph.maximum(graph.T)
    both = np.concatenate([edges, edges[:, ::-1]]).T
    return Parsed(
        {
            "x": torch.from_numpy(structural_features(graph)),
            "y": torch.from_numpy(planted_labels(graph, source.classes)),
            "edge_index": torch.from_numpy(np.ascontiguousarray(both)),
        }
    )


def structural_features(graph: scipy.sparse.csr_matrix, columns: int = _FEATURES) -> np.ndarray:
    """Cheap features of each node from the graph alone, standardised, float32.

    Log degree, mean log degree of the neighbours, local clustering coefficient; then a random
    projection of the node's two-step neighbourhood, as in FastRP (Chen et al., CIKM 2019): seeded
    normal vectors averaged twice over neighbours.
    """
    degree = np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()
    inverse = 1.0 / np.maximum(degree, 1.0)
    log_degree = np.log1p(degree)
    triangles = np.asarray((graph @ graph).multiply(graph).sum(axis=1)).ravel()
    clustering = triangles / np.maximum(degree * (degree - 1.0), 1.0)
    vectors = np.random.default_rng(_SEED).standard_normal(
        (graph.shape[0], columns - 3), dtype=np.float32
    )
    mean = scipy.sparse.diags(inverse.astype(np.float32)) @ graph
    for _ in range(2):
        vectors = mean @ vectors
    known = np.stack([log_degree, inverse * (graph @ log_degree), clustering], axis=1)
    # In double precision: a mean of many near-equal values is not exact in float32.
    x = np.concatenate([known, vectors], axis=1)
    spread = x.std(axis=0)
    return ((x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)).astype(np.float32)


def planted_labels(graph: scipy.sparse.csr_matrix, classes: int) -> np.ndarray:
    """Synthetic classes: each node takes that of the nearest of 20 seeded centres a class."""
    generator = np.random.default_rng(_SEED)
    nodes = graph.shape[0]
    centres = generator.permutation(nodes)[: classes * _CENTRES_PER_CLASS]
    _, _, nearest = scipy.sparse.csgraph.dijkstra(
        graph, indices=centres, unweighted=True, min_only=True, return_predecessors=True
    )
    class_of = np.full(nodes, -1, dtype=np.int64)
    class_of[centres] = np.arange(len(centres)) % classes
    labels = generator.integers(classes, size=nodes)
    reached = nearest >= 0
    labels[reached] = class_of[nearest[reached]]
    return labels


def build(parsed: Parsed, source: Source, split: str | None, seed: int) -> NodeData:
    """Make the graph; the split is 6%, 6% and the rest of each (synthetic) class."""
    if split not in (None, "stratified"):
        raise InputError(f"{source.name} has no split {split!r}: its only one is stratified")
    labels = parsed.tensors["y"].numpy()
    parts = stratified(labels, 0.06, 0.06, None, seed)
    return parted(parsed, source, parts, "stratified")
