"""Sweeps in place: a map with the same fixed point that forgets the start sooner."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from . import kernels
from .adjacency import Adjacency
from .equilibrium import AdjointMap, Contraction, EquilibriumMap, Evaluation
from .errors import InputError
from .kernels import products

#: Fewer rows than this are not worth a thread of their own.
_ROWS_PER_CHUNK = 1024


class SweepMap:
    r"""The map S that updates the rows of Z block after block, each from the newest states.

    .. math::
        S(Z)_i = \sigma\Big(\sum_{j\ \text{updated before}\ i} A_{ij}\, S(Z)_j W +
        \sum_{\text{other}\ j} A_{ij}\, Z_j W + b_i\Big)

    It has the fixed point of f, and costs one evaluation. As every entry of A is at least 0, the errors e of
    S(Z) obey :math:`e \le \kappa A e + \kappa A r` where r are the row norms of :math:`S(Z) - Z`: the
    bound that f(Z) has with its own residual. So certificates hold for sweeps as they stand. Likewise
    :math:`\|f(S(Z)) - S(Z)\| \le \kappa \|r\|` where f contracts by :math:`\kappa` in the 2-norm.

    Each graph of a batch is swept on its own. A large graph is cut into as many chunks as there are
    threads, which see each other's rows as they were: the result is the same in every run with the same
    number of threads.

    Args:
        f: The map to sweep.
        block: Rows updated at a time.
    """

    def __init__(self, f: EquilibriumMap | AdjointMap, block: int = 128) -> None:
        if block < 1:
            raise InputError(f"a block must have at least 1 row, not {block}")
        self.f, self.block = f, block
        self._chunks, self._joined = _chunks(f.adjacency)
        self._activation = f.activation if isinstance(f, EquilibriumMap) else None
        self._scale = f.scale if isinstance(f, AdjointMap) else None
        # The last result, its product with W, from which the next sweep starts, and where that lies.
        self._result: Tensor | None = None
        self._version = -1
        rows = 2 * f.bias.shape[0] if self._joined else f.bias.shape[0]
        self._projected = f.bias.new_empty(rows, f.bias.shape[1])
        self._at = 0

    @property
    def adjacency(self) -> Adjacency:
        """The graph."""
        return self.f.adjacency

    @property
    def contraction(self) -> Contraction:
        """How strongly f contracts; S does so too, in the maximum over nodes weighted for the graph."""
        return self.f.contraction

    @property
    def bias(self) -> Tensor:
        """The part that does not depend on z."""
        return self.f.bias

    @property
    def weight(self) -> Tensor:
        """What mixes the features."""
        return self.f.weight

    def start(self) -> Tensor:
        """Where f starts."""
        return self.f.start()

    def mean_slope(self, z: Tensor) -> Tensor:
        """The mean derivative of the activation for each feature."""
        return self.f.mean_slope(z)

    @property
    def value_range(self) -> tuple[float, float]:
        """The least and the largest number that a state can hold."""
        return self.f.value_range

    @torch.no_grad()
    def evaluate(self, z: Tensor, out: Tensor | None = None) -> Evaluation:
        """``S(z)`` and the squared row norms of ``S(z) - z`` and ``S(z)``."""
        f = self.f
        self._project(z)
        old, new = self._at, f.bias.shape[0] - self._at if self._joined else self._at
        out = torch.empty_like(f.bias) if out is None else out
        found = kernels.sweep(
            f.adjacency.matrix, self._projected, old, new, f.weight, f.bias, z, self._chunks,
            self.block, self._activation, self._scale, out,
        )  # fmt: skip
        self._result, self._version, self._at = out, out._version, new
        return Evaluation(*found)

    @torch.no_grad()
    def measure(self, z: Tensor, out: Tensor | None = None) -> Evaluation:
        """``f(z)`` itself with the squared row norms of ``f(z) - z`` and ``f(z)``."""
        f = self.f
        found = kernels.evaluate(
            f.adjacency.matrix, self._project(z), f.bias, z, self._activation, self._scale, out
        )
        if found[0] is self._result:
            self._result = None
        return Evaluation(*found)

    def _project(self, z: Tensor) -> Tensor:
        """``z W``, put where the next sweep finds it; known where z is the last result, untouched."""
        place = self._projected[self._at : self._at + z.shape[0]]
        if z is not self._result or z._version != self._version:
            self._result = None
            products.product(z, products.prepare(self.f.weight), place)
        return place


def _chunks(adjacency: Adjacency) -> tuple[np.ndarray, bool]:
    """First row of each chunk and the number of rows; and whether edges join chunks.

    How a graph is cut depends on nothing but the graph and the number of threads, so that it does not
    matter which batch it is in.
    """
    ends = adjacency.graph_sizes.cumsum(0).tolist()
    cuts, joined = [0], False
    rowptr = adjacency.matrix.rowptr
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        parts = min(torch.get_num_threads(), max(1, (end - begin) // _ROWS_PER_CHUNK))
        if parts > 1:
            joined = True
            work = rowptr[begin : end + 1].cpu().numpy().astype(np.int64)
            work = work + np.arange(len(work))
            inner = np.linspace(work[0], work[-1], parts + 1)[1:-1]
            cuts += (begin + np.searchsorted(work, inner)).tolist()
        if end > begin:
            cuts.append(end)
    return np.array(cuts, dtype=np.int64), joined
