"""The normalised adjacency of a graph, or of a batch of graphs: built once, multiplied often."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from .errors import InputError
from .sparse import SparseMatrix

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from .ordering import Order

#: About how many nodes of small graphs are worked on at a time.
_RUN = 192


class Adjacency:
    r"""The symmetric-normalised adjacency :math:`A = D^{-1/2} M D^{-1/2}`, ``n x n``, of a graph.

    ``M`` holds the edge weights with self-loops, and ``D`` its row and column sums, so that the
    spectral norm of ``A`` is at most 1, for directed graphs too. For a batch of graphs ``A`` is
    block-diagonal, and every sum is taken for each graph on its own.

    Args:
        matrix: The normalised matrix.
        degree: Row sums of ``M``, ``n``.
        graph: The graph each node belongs to, ``n``, ascending; ``None`` for a single graph.
        num_graphs: How many graphs there are.
        symmetric: Whether ``M`` is symmetric, so that ``A`` is its own transpose.
    """

    def __init__(
        self,
        matrix: SparseMatrix,
        degree: Tensor,
        graph: Tensor | None = None,
        num_graphs: int = 1,
        symmetric: bool = False,
    ) -> None:
        self.matrix = matrix
        self.degree = degree
        self.graph = graph if num_graphs > 1 else None
        self.num_graphs = num_graphs
        self.symmetric = symmetric
        #: In which order solves keep the nodes, and whether that was chosen: see ``ordering.settle_order``.
        self.order: Order | None = None
        self.order_settled = False
        #: What certificates last found of it: see ``certificate.bounds.Sweeper.of``.
        self.shrinking: Any = None
        #: The last proof that ended a solve on it: see ``certificate.remembered``.
        self.proven: Any = None

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        num_nodes: int | None = None,
        *,
        undirected: bool = False,
        self_loops: bool = True,
        batch: Tensor | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> Adjacency:
        r"""Build from edges.

        An edge listed twice counts once; the weights of a weighted one add up. A node that has a
        self-loop already does not get another.

        Args:
            edge_index: ``2 x edges``, an edge ``(j, i)`` carries the state of node j to node i.
            edge_weight: Non-negative weights, ``edges``; may require gradients.
            num_nodes: How many nodes; by default one more than the largest id.
            undirected: Add the reverse of every edge (the larger weight counts where both are there).
            self_loops: Give every node an edge of weight 1 to itself.
            batch: The graph each node belongs to, ``n``, ascending, as PyG's ``Batch.batch``.
            dtype: Type of the values.

        Raises:
            InputError: For an empty graph, ids out of range, or negative or non-finite weights.
        """
        num_nodes = _check_edges(edge_index, edge_weight, num_nodes)
        source, target = edge_index.long()
        weighted = edge_weight is not None
        weight = (
            edge_weight.to(dtype)
            if edge_weight is not None
            else torch.ones(source.numel(), dtype=dtype, device=edge_index.device)
        )
        shape = (num_nodes, num_nodes)
        merged = SparseMatrix.from_coo(target, source, weight, shape, "sum" if weighted else "amax")
        row, col, value = merged.row.long(), merged.col.long(), merged.value
        del merged, source, target, weight
        if self_loops:
            missing = torch.ones(num_nodes, dtype=torch.bool, device=row.device)
            missing[row[row == col]] = False
            loop = missing.nonzero().squeeze(1)
            row, col = torch.cat([row, loop]), torch.cat([col, loop])
            value = torch.cat([value, value.new_ones(loop.numel())])
        if undirected:
            row, col = torch.cat([row, col]), torch.cat([col, row])
            value = torch.cat([value, value])
        matrix = SparseMatrix.from_coo(row, col, value, shape, "amax")
        del row, col, value
        return cls._normalised(matrix, undirected, batch)

    @classmethod
    def _normalised(cls, matrix: SparseMatrix, symmetric: bool, batch: Tensor | None) -> Adjacency:
        row, col = matrix.row.long(), matrix.col.long()
        zeros = matrix.value.new_zeros(matrix.shape[0])
        out_degree = zeros.index_add(0, row, matrix.value)
        in_degree = out_degree if symmetric else zeros.index_add(0, col, matrix.value)
        scale_row = _inverse_root(out_degree)
        scale_col = scale_row if symmetric else _inverse_root(in_degree)
        value = matrix.value * scale_row[row] * scale_col[col]
        num_graphs = 1
        if batch is not None:
            _check_batch(batch, matrix.shape[0], row, col)
            num_graphs = int(batch[-1]) + 1
        normalised = matrix.with_value(value)
        normalised.symmetric = symmetric
        return cls(normalised, out_degree.detach(), batch, num_graphs, symmetric)

    @classmethod
    def from_data(cls, data: Data, *, undirected: bool = True, **options: Any) -> Adjacency:
        """Build from a PyG ``Data`` or ``Batch``: its ``edge_index``, ``edge_weight`` and ``batch``."""
        if data.edge_index is None:
            raise InputError("the graph has no edge_index: give the edges as a 2 x edges tensor")
        return cls.from_edge_index(
            data.edge_index,
            data.edge_weight,
            data.num_nodes,
            undirected=undirected,
            batch=data.batch,
            **options,
        )

    @property
    def num_nodes(self) -> int:
        """How many nodes the graph has, over all graphs of a batch."""
        return self.matrix.shape[0]

    @property
    def num_entries(self) -> int:
        """Entries of ``A``: both directions of every edge, and the self-loops."""
        return self.matrix.num_entries

    @property
    def transpose(self) -> Adjacency:
        """The adjacency of the reversed graph."""
        if self.symmetric:
            return self
        return Adjacency(self.matrix.transpose, self.degree, self.graph, self.num_graphs)

    def matmul(self, x: Tensor) -> Tensor:
        """``A @ x`` for ``x`` of ``n x d`` or ``n``; differentiable in ``x`` and the edge weights."""
        return self.matrix.matmul(x)

    @cached_property
    def graph_sizes(self) -> Tensor:
        """Nodes in each graph, ``num_graphs``."""
        if self.graph is None:
            return torch.tensor([self.num_nodes], device=self.matrix.device)
        return torch.bincount(self.graph, minlength=self.num_graphs)

    @cached_property
    def first_nodes(self) -> np.ndarray | None:
        """The first node of each graph; ``None`` where a graph has no node."""
        sizes = self.graph_sizes.cpu().numpy()
        return np.cumsum(sizes) - sizes if (sizes > 0).all() else None

    @cached_property
    def blocks(self) -> np.ndarray | None:
        """First nodes of runs of whole graphs, and n: runs that stay in the cache; ``None`` without a batch."""
        if self.graph is None:
            return None
        ends = np.cumsum(self.graph_sizes.cpu().numpy())
        begins = np.concatenate([[0], ends[:-1]])
        # A new run begins with the first graph that would end in another stretch of so many nodes.
        fresh = np.diff(begins // _RUN, prepend=-1) > 0
        return np.append(begins[fresh], ends[-1])

    def sum_per_graph(self, x: Tensor) -> Tensor:
        """Sum over the nodes of each graph, in float64: from ``n`` (or ``n x d``) to ``num_graphs (x d)``.

        Every global sum of a solver goes through here, so that a graph never sees its batch-mates.
        """
        if self.graph is None:
            return x.sum(0, keepdim=True, dtype=torch.float64)
        if x.device.type == "cpu" and self.first_nodes is not None:
            # The rows of a graph lie together: adding them so is faster than by index.
            rows = x.detach().to(torch.float64).numpy()
            return torch.from_numpy(np.add.reduceat(rows, self.first_nodes, axis=0))
        total = x.new_zeros(self.num_graphs, *x.shape[1:], dtype=torch.float64)
        return total.index_add_(0, self.graph, x.to(torch.float64))

    def max_per_graph(self, x: Tensor) -> Tensor:
        """Maximum over the nodes of each graph: from ``n`` (or ``n x d``) to ``num_graphs (x d)``."""
        if self.graph is None:
            return x.amax(0, keepdim=True)
        largest = x.new_full((self.num_graphs, *x.shape[1:]), -torch.inf)
        index = self.graph.view(-1, *[1] * (x.dim() - 1)).expand_as(x)
        return largest.scatter_reduce_(0, index, x, "amax")

    def spread(self, per_graph: Tensor) -> Tensor:
        """Give each node its graph's row of ``per_graph``; broadcasts for a single graph."""
        return per_graph if self.graph is None else per_graph[self.graph]

    def of_graphs(self, chosen: Tensor) -> tuple[Adjacency, Tensor]:
        """The adjacency of some graphs of a batch, and their nodes in it, ascending.

        Args:
            chosen: Whether to keep each graph, ``num_graphs``, bool.
        """
        if self.graph is None:
            raise InputError("a single graph has no parts to choose from")
        kept = chosen[self.graph]
        nodes = kept.nonzero().squeeze(1)
        matrix = self.matrix
        counts = matrix.rowptr.diff()
        entries = torch.repeat_interleave(kept, counts)
        places = kept.cumsum(0, dtype=matrix.col.dtype) - 1
        rowptr = torch.zeros(nodes.numel() + 1, dtype=torch.int64, device=nodes.device)
        torch.cumsum(counts[nodes], 0, out=rowptr[1:])
        shape = (nodes.numel(), nodes.numel())
        smaller = SparseMatrix(
            rowptr,
            places[matrix.col[entries].long()],
            matrix.value[entries],
            shape,
            matrix.symmetric,
        )
        numbers = chosen.cumsum(0) - 1
        graph, count = numbers[self.graph[nodes]], int(chosen.count_nonzero())
        return Adjacency(smaller, self.degree[nodes], graph, count, self.symmetric), nodes

    def to(self, *args: Any, **kwargs: Any) -> Adjacency:
        """Move or convert, as ``torch.Tensor.to``."""
        matrix = self.matrix.to(*args, **kwargs)
        graph = None if self.graph is None else self.graph.to(matrix.device)
        degree = self.degree.to(*args, **kwargs)
        return Adjacency(matrix, degree, graph, self.num_graphs, self.symmetric)

    def __repr__(self) -> str:
        graphs = f", {self.num_graphs} graphs" if self.num_graphs > 1 else ""
        return f"Adjacency({self.num_nodes} nodes, {self.num_entries} entries{graphs})"


def _inverse_root(degree: Tensor) -> Tensor:
    return torch.where(degree > 0, degree, degree.new_ones(())).rsqrt() * (degree > 0)


def _check_edges(edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int | None) -> int:
    if edge_index.dim() != 2 or edge_index.shape[0] != 2 or edge_index.is_floating_point():
        raise InputError(
            f"edge_index must be an integer tensor of shape (2, edges), not {edge_index.dtype} of "
            f"shape {tuple(edge_index.shape)}"
        )
    largest = int(edge_index.max()) if edge_index.numel() else -1
    num_nodes = largest + 1 if num_nodes is None else num_nodes
    if num_nodes < 1:
        raise InputError("the graph is empty: it needs at least one node")
    if edge_index.numel() and (largest >= num_nodes or int(edge_index.min()) < 0):
        wrong = largest if largest >= num_nodes else int(edge_index.min())
        raise InputError(
            f"edge_index names node {wrong}, but the graph has nodes 0 to {num_nodes - 1}: "
            "fix the edge or add the node's features"
        )
    if edge_weight is not None:
        if edge_weight.shape != edge_index.shape[1:]:
            raise InputError(
                f"edge_weight has shape {tuple(edge_weight.shape)} for {edge_index.shape[1]} edges: "
                "give one weight an edge"
            )
        if not bool(torch.isfinite(edge_weight).all()):
            raise InputError("edge_weight holds NaN or infinity: clean the edge weights")
        if bool((edge_weight < 0).any()):
            worst = int(edge_weight.argmin())
            raise InputError(
                f"edge {worst} has the negative weight {float(edge_weight[worst]):g}: weights must be "
                "at least 0 for the symmetric normalisation to exist"
            )
    return num_nodes


def _check_batch(batch: Tensor, num_nodes: int, row: Tensor, col: Tensor) -> None:
    if batch.shape != (num_nodes,):
        raise InputError(f"batch has shape {tuple(batch.shape)} for {num_nodes} nodes")
    if bool((batch.diff() < 0).any()) or int(batch[0]) < 0:
        raise InputError("batch must be ascending and start at 0: sort the nodes by graph")
    if bool((batch[row] != batch[col]).any()):
        raise InputError("an edge joins two graphs of the batch: give each graph its own nodes")
