"""The equilibrium map after a change of the graph, made from the map before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ..adjacency import Adjacency
from ..equilibrium import EquilibriumMap
from ..errors import InputError
from ..kernels.rows import row_entries
from .change import GraphChange
from .features import append_rows, replace_rows, take_rows
from .patch import with_edges, with_rows_appended


@torch.no_grad()
def changed_map(
    f: EquilibriumMap,
    change: GraphChange,
    inject: Callable[[Tensor], Tensor],
    *,
    propagate: bool = False,
    in_place: bool = False,
) -> tuple[EquilibriumMap, Tensor]:
    """The map after a change, and the nodes whose row of it is not what it was.

    Args:
        f: The map before the change.
        change: The change.
        inject: From rows of features to the rows that they add to b.
        propagate: Whether b has passed through the graph once.
        in_place: Overwrite b and dense features instead of copying them.
    """
    x = f.features
    if x is None:
        raise InputError(
            "the map does not know its features: make it with IGNNConv.equilibrium_map"
        )
    change.check(x.shape[0], x.shape[1])
    adjacency, rows = _changed_adjacency(f.adjacency, change)
    old, total = x.shape[0], adjacency.num_nodes
    if change.nodes is not None and change.features is not None:
        x = replace_rows(x, change.nodes, change.features, in_place)
    if change.new_features is not None:
        x = append_rows(x, change.new_features)
    moved = torch.arange(old, total, device=f.bias.device)
    if change.nodes is not None:
        moved = torch.cat([change.nodes.to(moved), moved])
    bias = f.bias if in_place and total == old else _grown(f.bias, total)
    if propagate:
        readers = adjacency.matrix.transpose.col[row_entries(adjacency.matrix.transpose, moved)[0]]
        moved = torch.cat([rows, readers.long()]).unique()
        bias[moved] = _propagated(adjacency, moved, x, inject)
    elif moved.numel():
        bias[moved] = inject(take_rows(x, moved))
    changed = torch.cat([rows, moved]).unique()
    return replace(f, adjacency=adjacency, bias=bias, features=x), changed


def _changed_adjacency(adjacency: Adjacency, change: GraphChange) -> tuple[Adjacency, Tensor]:
    if change.new_count:
        if adjacency.num_graphs > 1:
            raise InputError("nodes cannot be added to a batch of graphs: add them to their graph")
        adjacency = with_rows_appended(adjacency, change.new_count)
    device = adjacency.matrix.device
    source, target, weight = (one.to(device) for one in change.edge_weights())
    if not source.numel():
        return adjacency, source
    graph = adjacency.graph
    if graph is not None and bool((graph[source] != graph[target]).any()):
        raise InputError("an edge joins two graphs of the batch: give each graph its own nodes")
    return with_edges(adjacency, source, target, weight)


def _grown(bias: Tensor, rows: int) -> Tensor:
    grown = bias.new_zeros(rows, bias.shape[1])
    grown[: bias.shape[0]] = bias
    return grown


def _propagated(
    adjacency: Adjacency, rows: Tensor, x: Tensor, inject: Callable[[Tensor], Tensor]
) -> Tensor:
    """``(A inject(x))[rows]`` from the features of the neighbours of these rows alone."""
    place, owner = row_entries(adjacency.matrix, rows)
    neighbours, which = adjacency.matrix.col[place].long().unique(return_inverse=True)
    terms = inject(take_rows(x, neighbours))[which] * adjacency.matrix.value[place].unsqueeze(-1)
    return terms.new_zeros(rows.numel(), terms.shape[1]).index_add_(0, owner, terms)
