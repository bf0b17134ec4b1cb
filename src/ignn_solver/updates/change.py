"""What may change in a graph between two solves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..errors import InputError
from .features import append_rows, replace_rows

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True)
class GraphChange:
    """Features, edges and nodes that are not what they were.

    An edge that is added where there is one gets the new weight. To take a node out, remove its edges:
    ids stay what they are. New nodes get the ids after the last one.

    Attributes:
        nodes: Ids of nodes with other features, ``k``.
        features: Their new features, ``k x features``, dense.
        added_edges: ``2 x edges``; new nodes may be named.
        added_weights: Their weights, ``edges``, positive; 1 by default.
        removed_edges: ``2 x edges``; one that is not there is no error.
        new_features: The features of new nodes, ``count x features``, dense.

    Example:
        >>> import torch
        >>> change = GraphChange(added_edges=torch.tensor([[0], [5]]))
        >>> change.new_count
        0
    """

    nodes: Tensor | None = None
    features: Tensor | None = None
    added_edges: Tensor | None = None
    added_weights: Tensor | None = None
    removed_edges: Tensor | None = None
    new_features: Tensor | None = None

    def __post_init__(self) -> None:
        if (self.nodes is None) != (self.features is None):
            raise InputError(
                "nodes and features belong together: give a row of features for each node"
            )
        if self.nodes is not None and self.features is not None:
            if self.features.dim() != 2 or self.features.shape[0] != self.nodes.numel():
                raise InputError(
                    f"features has shape {tuple(self.features.shape)} for {self.nodes.numel()} nodes: "
                    "give one row a node"
                )
            if self.nodes.unique().numel() != self.nodes.numel():
                raise InputError("nodes names a node twice: give its features once")
        for name in ("added_edges", "removed_edges"):
            edges = getattr(self, name)
            if edges is not None and (edges.dim() != 2 or edges.shape[0] != 2):
                raise InputError(f"{name} has shape {tuple(edges.shape)}: give a 2 x edges tensor")
        removed = self.removed_edges
        if removed is not None and bool((removed[0] == removed[1]).any()):
            raise InputError("removed_edges names a self-loop: every node keeps an edge to itself")
        weights = self.added_weights
        if weights is not None:
            if self.added_edges is None or weights.shape != self.added_edges.shape[1:]:
                raise InputError("added_weights needs one weight for each of added_edges")
            if not bool((torch.isfinite(weights) & (weights > 0)).all()):
                raise InputError(
                    "added_weights must be positive: to drop an edge use removed_edges"
                )
        for name in ("features", "new_features"):
            rows = getattr(self, name)
            if rows is not None and not bool(torch.isfinite(rows).all()):
                raise InputError(f"{name} holds NaN or infinity: clean or impute the features")

    @property
    def new_count(self) -> int:
        """How many nodes are new."""
        return 0 if self.new_features is None else self.new_features.shape[0]

    def edge_weights(self) -> tuple[Tensor, Tensor, Tensor]:
        """Source, target and new weight of every edge that changes; 0 where it is removed."""
        none = torch.zeros(2, 0, dtype=torch.int64)
        removed = none if self.removed_edges is None else self.removed_edges.long()
        added = none if self.added_edges is None else self.added_edges.long()
        weights = self.added_weights
        ones = torch.ones(added.shape[1], dtype=torch.float64)
        weight = torch.cat(
            [
                torch.zeros(removed.shape[1], dtype=torch.float64),
                ones if weights is None else weights,
            ]
        )
        edges = torch.cat([removed, added], 1)
        return edges[0], edges[1], weight

    def check(self, nodes: int, features: int) -> None:
        """Raise an ``InputError`` unless the change fits a graph of this size."""
        total = nodes + self.new_count
        for name, ids, limit in (
            ("nodes", self.nodes, nodes),
            ("added_edges", self.added_edges, total),
            ("removed_edges", self.removed_edges, total),
        ):
            if (
                ids is not None
                and ids.numel()
                and not 0 <= int(ids.min()) <= int(ids.max()) < limit
            ):
                raise InputError(
                    f"{name} names a node that is not there: the last one is {limit - 1}"
                )
        for name, rows in (("features", self.features), ("new_features", self.new_features)):
            if rows is not None and (rows.dim() != 2 or rows.shape[1] != features):
                raise InputError(f"{name} has shape {tuple(rows.shape)}, but a node has {features}")

    def apply(self, data: Data, *, undirected: bool = True) -> Data:
        """The graph after the change, as a new ``Data``; takes time that grows with the graph.

        Args:
            data: The graph before it, with ``x`` and ``edge_index``.
            undirected: Whether an edge stands for both directions.
        """
        self.check(data.num_nodes, data.x.shape[1])
        result = data.clone()
        if self.nodes is not None and self.features is not None:
            result.x = replace_rows(data.x, self.nodes, self.features)
        if self.new_features is not None:
            result.x = append_rows(result.x, self.new_features)
        source, target, weight = self.edge_weights()
        width = data.num_nodes + self.new_count
        touched = torch.cat([source * width + target, target * width + source][: 1 + undirected])
        old = data.edge_index
        kept = ~torch.isin(old[0] * width + old[1], touched)
        added = weight > 0
        fresh = torch.stack([source[added], target[added]])
        result.edge_index = torch.cat([old[:, kept], fresh.to(old.dtype)], 1)
        if data.edge_weight is not None or self.added_weights is not None:
            before = torch.ones(old.shape[1]) if data.edge_weight is None else data.edge_weight
            result.edge_weight = torch.cat([before[kept], weight[added].to(before.dtype)])
        result.num_nodes = width
        return result
