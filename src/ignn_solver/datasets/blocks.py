"""Degree-corrected stochastic block models of any size, made in chunks.

The model is that of Karrer and Newman (Physical Review E 83, 2011): an end of an edge falls on a
node in proportion to the node's weight, here a power law, and the other end in the same class with
probability ``homophily``, else anywhere.
"""

from __future__ import annotations

import numpy as np
import torch

from ..errors import InputError
from .data import NodeData, node_data
from .presets import PRESETS, Shape, stand_in_reason
from .splits import check, draw, masks, stratified

_CHUNK = 4_000_000


def blocks(
    *,
    like: str | None = None,
    nodes: int = 2_000,
    average_degree: float = 10.0,
    classes: int = 5,
    features: int = 32,
    homophily: float = 0.8,
    signal: float = 1.0,
    exponent: float = 2.5,
    seed: int = 0,
) -> NodeData:
    """Make a graph with planted classes, power-law degrees and noisy features.

    Node ``i`` of class ``c`` has features ``signal * m_c + noise``, where the class means ``m_c``
    are of length about 1 and the noise is standard normal. Edges are distinct, without self-loops,
    exactly ``nodes * average_degree / 2`` of them, each stored in both directions.

    Args:
        like: ``"reddit"``, ``"arxiv"`` or ``"products"``: take nodes, edges, features, classes and
            the sizes of the split from that dataset, and ignore the four arguments that follow.
        nodes: Number of nodes.
        average_degree: Mean number of neighbours.
        classes: Number of classes.
        features: Number of features.
        homophily: Probability that an edge is placed inside a class.
        signal: Distance of class means from the origin, in units of the noise.
        exponent: Exponent of the power law of expected degrees, above 2.
        seed: Same seed, same graph and same split: of each class a fifth each for training
            and validation, the rest for test.
    """
    shape = _shape(like, nodes, average_degree, classes, features)
    if not 0.0 <= homophily <= 1.0:
        raise InputError(f"homophily is a probability between 0 and 1, not {homophily}")
    if exponent <= 2.0:
        raise InputError(f"the power law's exponent must be above 2, not {exponent}")
    generator = np.random.default_rng(seed)
    order = generator.permutation(shape.nodes)
    bounds = np.linspace(0, shape.nodes, shape.classes + 1).astype(np.int64)
    labels = np.empty(shape.nodes, dtype=np.int64)
    labels[order] = np.repeat(np.arange(shape.classes), np.diff(bounds))
    weights = _weights(shape, exponent, generator)
    keys = _edges(shape, order, bounds, weights, homophily, generator)
    edge_index = _both_directions(keys, shape.nodes)
    x = _features(shape, labels, signal, generator)
    if like is None:
        parts = stratified(labels, 0.2, 0.2, None, seed)
    else:
        sizes = (shape.train, shape.nodes - shape.train - shape.test, shape.test)
        parts = draw(shape.nodes, sizes, seed)
    name = f"blocks:{like or shape.nodes}"
    check(parts, labels, shape.classes, name)
    return node_data(
        name,
        x=x,
        y=torch.from_numpy(labels),
        edge_index=edge_index,
        num_classes=shape.classes,
        masks=masks(parts, shape.nodes),
        stand_in=stand_in_reason(like) if like else "",
    )


def _shape(
    like: str | None, nodes: int, average_degree: float, classes: int, features: int
) -> Shape:
    if like is not None:
        if like not in PRESETS:
            raise InputError(f"no blocks preset {like!r}: choose among {', '.join(PRESETS)}")
        return PRESETS[like]
    if classes < 1 or features < 1 or nodes < 10 * classes:
        raise InputError(
            f"blocks need at least 1 class, 1 feature and 10 nodes a class, "
            f"not {nodes} nodes, {classes} classes and {features} features"
        )
    if not 0.0 < average_degree <= nodes / 8:
        raise InputError(
            f"the average degree must be positive and at most an eighth of the nodes "
            f"({nodes / 8:g}), not {average_degree}"
        )
    return Shape(nodes, round(nodes * average_degree / 2), features, classes)


def _weights(shape: Shape, exponent: float, generator: np.random.Generator) -> np.ndarray:
    """Pareto weights, cut so that no node expects more than an eighth of all nodes."""
    weights = (1.0 - generator.random(shape.nodes)) ** (-1.0 / (exponent - 1.0))
    expected = weights * (2.0 * shape.edges / weights.sum())
    return np.minimum(expected, max(shape.nodes / 8.0, 1.0))


def _edges(
    shape: Shape,
    order: np.ndarray,
    bounds: np.ndarray,
    weights: np.ndarray,
    homophily: float,
    generator: np.random.Generator,
) -> np.ndarray:
    """Distinct undirected edges, sorted, as ``smaller * nodes + larger``; exactly ``edges``."""
    total = np.concatenate([[0.0], np.cumsum(weights)])
    ends = total[1:]
    keys = np.empty(0, dtype=np.int64)
    for _ in range(60):
        missing = shape.edges - len(keys)
        if missing <= 0:
            break
        wanted = missing + missing // 20 + 16
        drawn = [keys]
        for begin in range(0, wanted, _CHUNK):
            size = min(_CHUNK, wanted - begin)
            # Sorted draws walk through memory in order, which is several times faster.
            draws = np.sort(generator.random(size))
            source = np.searchsorted(ends, draws * total[-1], side="right")
            group = np.searchsorted(bounds, source, side="right") - 1
            inside = generator.random(size) < homophily
            low = np.where(inside, total[bounds[group]], 0.0)
            high = np.where(inside, total[bounds[group + 1]], total[-1])
            target = np.searchsorted(ends, low + generator.random(size) * (high - low), "right")
            # Rounding may carry a draw to the very end of the last interval.
            source = order[np.minimum(source, shape.nodes - 1)]
            target = order[np.minimum(target, shape.nodes - 1)]
            key = np.minimum(source, target) * shape.nodes + np.maximum(source, target)
            drawn.append(key[source != target])
        keys = np.concatenate(drawn)
        del drawn
        keys.sort()
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    surplus = len(keys) - shape.edges
    if surplus < 0:
        raise InputError(
            "the graph is too dense for its degrees: lower average_degree or the homophily"
        )
    if surplus:
        keys = np.delete(keys, generator.choice(len(keys), surplus, replace=False))
    return keys


def _both_directions(keys: np.ndarray, nodes: int) -> torch.Tensor:
    count = len(keys)
    edge_index = np.empty((2, 2 * count), dtype=np.int64)
    for begin in range(0, count, _CHUNK):
        end = min(begin + _CHUNK, count)
        smaller, larger = np.divmod(keys[begin:end], nodes)
        edge_index[0, begin:end] = edge_index[1, count + begin : count + end] = smaller
        edge_index[1, begin:end] = edge_index[0, count + begin : count + end] = larger
    return torch.from_numpy(edge_index)


def _features(
    shape: Shape, labels: np.ndarray, signal: float, generator: np.random.Generator
) -> torch.Tensor:
    means = generator.standard_normal((shape.classes, shape.features), dtype=np.float32)
    means *= signal / np.sqrt(shape.features)
    x = np.empty((shape.nodes, shape.features), dtype=np.float32)
    step = max(1, _CHUNK // shape.features)
    for begin in range(0, shape.nodes, step):
        part = x[begin : begin + step]
        generator.standard_normal(out=part, dtype=np.float32)
        part += means[labels[begin : begin + step]]
    return torch.from_numpy(x)
