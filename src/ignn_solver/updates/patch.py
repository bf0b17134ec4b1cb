"""Change a few edges of an adjacency without building it anew.

What is computed grows with the rows that change; what grows with the graph is one copy of the
compressed rows.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..adjacency import Adjacency
from ..kernels.rows import row_entries
from ..memory import Pool
from ..sparse import SparseMatrix

#: Graphs that are changed time and again find their memory mapped.
_COLS, _VALUES = Pool(2**29), Pool(2**29)


def with_rows_appended(adjacency: Adjacency, count: int) -> Adjacency:
    """The adjacency with ``count`` more nodes, each with an edge of weight 1 to itself alone."""
    matrix, nodes = adjacency.matrix, adjacency.num_nodes
    fresh = torch.arange(nodes, nodes + count, device=matrix.device)
    steps = torch.arange(1, count + 1, device=matrix.device)
    grown = SparseMatrix(
        torch.cat([matrix.rowptr.long(), matrix.rowptr[-1].long() + steps]),
        torch.cat([matrix.col.long(), fresh]),
        torch.cat([matrix.value, matrix.value.new_ones(count)]),
        (nodes + count, nodes + count),
        matrix.symmetric,
    )
    degree = torch.cat([adjacency.degree, adjacency.degree.new_ones(count)])
    return Adjacency(grown, degree, None, 1, adjacency.symmetric)


def with_edges(
    adjacency: Adjacency, source: Tensor, target: Tensor, weight: Tensor
) -> tuple[Adjacency, Tensor]:
    r"""The adjacency with the weights of some edges set: 0 removes an edge, others add or change it.

    A changed weight changes the degrees of its ends, and with them every entry
    :math:`M_{ij} / \sqrt{r_i c_j}` of their rows and columns. The result is that of building anew, up to
    rounding.

    Args:
        adjacency: The normalised adjacency.
        source: Where each edge starts.
        target: Where it ends; on an undirected graph the order does not matter.
        weight: Its new weight, before normalisation.

    Returns:
        The new adjacency, and the rows of it that are not what they were.
    """
    row, col, weight = _distinct(adjacency, target.long(), source.long(), weight.double())
    matrix, transposed = adjacency.matrix, adjacency.matrix.transpose
    # The entries of M that change, from those of A: M = A sqrt(r c).
    place = _find(matrix, row, col)
    there = place >= 0
    root_row, root_col = adjacency.degree[row].double().sqrt(), _column_roots(adjacency, col)
    before = torch.zeros_like(weight)
    before[there] = matrix.value[place[there]].double() * (root_row * root_col)[there]
    rows, row_old, row_new = _moved(row, root_row.square(), weight - before)
    cols, col_old, col_new = _moved(col, root_col.square(), weight - before)
    degree = adjacency.degree.clone()
    degree[rows] = row_new.to(degree.dtype)
    # Rows that change: those of changed row sums, and those with an entry in a column of changed sum.
    touching, _ = row_entries(transposed, cols)
    changed = torch.cat([rows, transposed.col[touching].long()]).unique()
    row_scale = (rows, (row_old / row_new).sqrt().nan_to_num_(1.0, 1.0))
    col_scale = (cols, (col_old / col_new).sqrt().nan_to_num_(1.0, 1.0))
    scaled = _rescaled(matrix, changed, row_scale, col_scale)
    fresh = weight / (_look_up(row, rows, row_new) * _look_up(col, cols, col_new)).sqrt()
    patched = splice(matrix, scaled, place, row, col, fresh)
    if not adjacency.symmetric:
        lines = torch.cat([cols, matrix.col[row_entries(matrix, rows)[0]].long()]).unique()
        flipped = _rescaled(transposed, lines, col_scale, row_scale)
        where = _find(transposed, col, row)
        patched.__dict__["_transpose"] = splice(transposed, flipped, where, col, row, fresh)
    graph, count = adjacency.graph, adjacency.num_graphs
    return Adjacency(patched, degree, graph, count, adjacency.symmetric), changed


def _distinct(
    adjacency: Adjacency, row: Tensor, col: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The entries to set, in order of row and column; of several changes of one edge the last counts."""
    nodes = adjacency.num_nodes
    if adjacency.symmetric:
        row, col = torch.minimum(row, col), torch.maximum(row, col)
    key, order = (row * nodes + col).flip(0).sort(stable=True)
    fresh = torch.ones_like(key, dtype=torch.bool)
    fresh[1:] = key[1:] != key[:-1]
    key, weight = key[fresh], weight.flip(0)[order[fresh]]
    if adjacency.symmetric:
        loops = key // nodes == key % nodes
        mirrored = (key % nodes * nodes + key // nodes)[~loops]
        key, order = torch.cat([key, mirrored]).sort()
        weight = torch.cat([weight, weight[~loops]])[order]
    return key // nodes, key % nodes, weight


def splice(
    matrix: SparseMatrix,
    scaled: tuple[Tensor, Tensor],
    place: Tensor,
    row: Tensor,
    col: Tensor,
    fresh: Tensor,
) -> SparseMatrix:
    """Set entries: those with a place there, the others are put in, those set to 0 are taken out.

    Args:
        matrix: The matrix to change.
        scaled: Where entries are stored that have another value, and their values; other changes come after it.
        place: Where each entry is stored, or -1.
        row: Its row.
        col: Its column.
        fresh: Its new value.
    """
    order = (row * matrix.shape[1] + col).argsort()
    place, row, col, fresh = place[order], row[order], col[order], fresh[order].to(matrix.dtype)
    there, kept = place >= 0, fresh > 0
    gone, stays, new = place[there & ~kept], there & kept, ~there & kept
    # Where each new entry goes: before the first entry of its row with a larger column.
    at = _find(matrix, row[new], col[new], insert=True)
    moves = _Moves(at, gone, matrix.num_entries)
    cols, values = moves.copied(matrix.col, _COLS), moves.copied(matrix.value, _VALUES)
    left = ~torch.isin(scaled[0], gone)
    values[moves.places(scaled[0][left])] = scaled[1][left]
    values[moves.places(place[stays])] = fresh[stays]
    cols[moves.inserted], values[moves.inserted] = col[new].to(cols.dtype), fresh[new]
    rowptr = _stepped(matrix.rowptr, row[new], row[there & ~kept])
    patched = SparseMatrix(rowptr, cols, values, matrix.shape, matrix.symmetric)
    # A few entries more or less: threads keep their rows.
    if "splits" in matrix.__dict__:
        patched.__dict__["splits"] = matrix.splits
    return patched


class _Moves:
    """Where entries go when some are put in before others, and some taken out.

    Args:
        at: Before which entry each new one goes, ascending.
        gone: The entries that are taken out, ascending.
        count: How many entries there are.

    Attributes:
        count: How many there will be.
        inserted: Where the new ones will be.
    """

    def __init__(self, at: Tensor, gone: Tensor, count: int) -> None:
        self._at, self._gone = at, gone
        self.count = count + at.numel() - gone.numel()
        steps = torch.arange(at.numel(), device=at.device)
        self.inserted = at + steps - torch.searchsorted(gone, at)
        cuts = torch.cat([at.new_tensor([0, count]), at, gone, gone + 1]).unique()
        begins = cuts[:-1]
        kept = ~torch.isin(begins, gone)
        ends, begins = cuts[1:][kept], begins[kept]
        self._stretches = torch.stack([begins, ends, self.places(begins)], 1).tolist()

    def places(self, entries: Tensor) -> Tensor:
        """Where entries that are not taken out will be."""
        before = torch.searchsorted(self._at, entries, right=True)
        return entries + before - torch.searchsorted(self._gone, entries)

    def copied(self, x: Tensor, pool: Pool) -> Tensor:
        """What is stored of each entry, moved; what is new holds anything."""
        out = pool.first(x, self.count)
        for begin, end, to in self._stretches:
            out[to : to + end - begin] = x[begin:end]
        return out


def _stepped(rowptr: Tensor, more: Tensor, fewer: Tensor) -> Tensor:
    """Where rows start when those of ``more`` have one entry more for each time they are named, or fewer."""
    rows, which = torch.cat([more, fewer]).unique(return_inverse=True)
    change = torch.cat([torch.ones_like(more), -torch.ones_like(fewer)])
    steps = torch.zeros_like(rows).index_add_(0, which, change).cumsum(0).tolist()
    begins = [*(rows + 1).tolist(), rowptr.numel()]
    result = rowptr.clone()
    for begin, end, step in zip(begins[:-1], begins[1:], steps, strict=True):
        result[begin:end] += step
    return result


def _find(matrix: SparseMatrix, row: Tensor, col: Tensor, insert: bool = False) -> Tensor:
    """Where the entries (row, col) are stored, -1 if not; or where they would have to be put."""
    rows, which = row.unique(return_inverse=True)
    place, owner = row_entries(matrix, rows)
    width = matrix.shape[1]
    stored = owner * width + matrix.col[place].long()
    wanted = which * width + col
    found = torch.searchsorted(stored, wanted)
    if insert:
        # Past the last entry of these rows, or of this one: the end of its row.
        end = matrix.rowptr[row + 1].long()
        padded = torch.cat([place, place.new_full((1,), -1)])[found]
        inside = (found < stored.numel()) & (
            torch.cat([owner, owner.new_full((1,), -1)])[found] == which
        )
        return torch.where(inside, padded, end)
    hit = torch.cat([stored, stored.new_full((1,), -1)])[found] == wanted
    return torch.where(hit, torch.cat([place, place.new_full((1,), -1)])[found], -1)


def _column_roots(adjacency: Adjacency, col: Tensor) -> Tensor:
    r"""Roots of the column sums of M: :math:`\sum_i A_{ij} \sqrt{r_i} = \sqrt{c_j}`."""
    if adjacency.symmetric:
        return adjacency.degree[col].double().sqrt()
    place, owner = row_entries(adjacency.matrix.transpose, col)
    transposed = adjacency.matrix.transpose
    roots = adjacency.degree[transposed.col[place].long()].double().sqrt()
    sums = roots.new_zeros(col.numel())
    return sums.index_add_(0, owner, transposed.value[place].double() * roots)


def _moved(ids: Tensor, sums: Tensor, change: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Distinct ids with their sums before and after the changes."""
    distinct, which = ids.unique(return_inverse=True)
    before = sums.new_zeros(distinct.numel())
    before[which] = sums
    after = before.index_add(0, which, change)
    # What is left when every edge is gone is rounding.
    return distinct, before, torch.where(after > 1e-6 * before, after, 0.0)


def _rescaled(
    matrix: SparseMatrix,
    rows: Tensor,
    row_scale: tuple[Tensor, Tensor],
    col_scale: tuple[Tensor, Tensor],
) -> tuple[Tensor, Tensor]:
    """Where the entries of ``rows`` are stored, and their values scaled by their row and their column."""
    place, owner = row_entries(matrix, rows)
    scale = _look_up(rows[owner], *row_scale, default=1.0)
    scale *= _look_up(matrix.col[place].long(), *col_scale, default=1.0)
    return place, (matrix.value[place].double() * scale).to(matrix.dtype)


def _look_up(ids: Tensor, table: Tensor, values: Tensor, default: float = 0.0) -> Tensor:
    """For each id its entry of a sorted table, or the default."""
    found = torch.searchsorted(table, ids).clamp_max(table.numel() - 1)
    return torch.where(table[found] == ids, values[found], default)
