"""Mixers: tiny networks that predict Anderson's weights from compressed residuals (the paper's s_xi)."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from ..adjacency import Adjacency
from ..errors import InputError

MIXERS = ("gn", "nn", "gru", "tcn")


class SparseGraph(Protocol):
    """What a mixer asks of the graph that it sees."""

    def matmul(self, x: Tensor) -> Tensor:
        """The product with ``n x h``."""


class Compressor(nn.Module):
    """Storage compression: a residual row from d to p numbers, by a small perceptron.

    A residual is divided by its graph's root mean square first: what matters is its shape, and the
    solver must work far below the residuals it was trained on. Only the newest is ever computed.
    """

    def __init__(self, width: int, compressed: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(width, 2 * compressed), nn.ReLU(), nn.Linear(2 * compressed, compressed)
        )

    def forward(self, residual: Tensor, adjacency: Adjacency) -> tuple[Tensor, Tensor]:
        """The compressed rows, ``n x p``, and the logarithm of the scale, ``n x 1`` or ``1 x 1``."""
        detached = residual.detach()
        total = adjacency.sum_per_graph(torch.linalg.vecdot(detached, detached))
        count = adjacency.graph_sizes * residual.shape[1]
        scale = (total / count).sqrt().to(residual.dtype).clamp_min(1e-30)
        spread = adjacency.spread(scale).unsqueeze(-1)
        return self.net(residual / spread), spread.log()


class Mixer(nn.Module):
    """Predicts the weights alpha, which sum to 1, and beta of an Anderson step.

    Untrained it predicts plain iteration: all weight on the newest step, beta 1.

    Args:
        kind: ``"gn"`` (a graph layer on the sparsified graph), ``"nn"`` (the same without the graph),
            ``"gru"`` or ``"tcn"`` (over the history of each node).
        width: Width d of the node states.
        window: How many past steps besides the newest, m.
        compressed: Size p of a compressed residual.
        hidden: Width of the predictor; by default an eighth of the states', at least 4: this is what the
            graph layer multiplies with its edges at every step.
        scope: One prediction per ``"node"`` or per ``"graph"``.
    """

    def __init__(
        self,
        kind: str,
        width: int,
        window: int = 5,
        compressed: int = 20,
        hidden: int | None = None,
        scope: str = "node",
    ) -> None:
        super().__init__()
        if kind not in MIXERS:
            raise InputError(f"unknown mixer {kind!r}: choose one of {', '.join(MIXERS)}, or aa")
        if scope not in ("node", "graph"):
            raise InputError(f'scope must be "node" or "graph", not {scope!r}')
        hidden = max(4, width // 8) if hidden is None else hidden
        self.kind, self.window, self.compressed, self.scope = kind, window, compressed, scope
        self.width, self.hidden = width, hidden
        slots = window + 1
        self.compress = Compressor(width, compressed)
        each = compressed + 1
        if kind == "gru":
            self.body: nn.Module = nn.GRU(each, hidden, batch_first=True)
        elif kind == "tcn":
            self.body = nn.Sequential(
                nn.Conv1d(each, hidden, 3, padding=1), nn.ReLU(), nn.Conv1d(hidden, hidden, slots)
            )
        else:
            self.body = nn.Linear(slots * each, hidden)
        self.neighbours = nn.Linear(slots * each, hidden, bias=False) if kind == "gn" else None
        self.out = nn.Linear(hidden, slots + 1)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(
        self, history: list[tuple[Tensor, Tensor]], adjacency: Adjacency, sparse: SparseGraph | None
    ) -> tuple[Tensor, Tensor]:
        """Predict from the compressed residuals, oldest first.

        Args:
            history: At most ``window + 1`` pairs of compressed rows and log-scales.
            adjacency: The graph, for pooling per graph.
            sparse: The sparsified graph, for ``"gn"``.

        Returns:
            ``alpha``, ``n x len(history)`` (or ``num_graphs x ...``), summing to 1 along rows, and
            ``beta``, one column, between 0 and 2.
        """
        count = len(history)
        newest_scale = history[-1][1]
        rows = [
            torch.cat([one, (scale - newest_scale).clamp(-10, 10).expand(one.shape[0], 1)], 1)
            for one, scale in history
        ]
        missing = self.window + 1 - count
        sequence = torch.stack([torch.zeros_like(rows[0])] * missing + rows, 1)
        if self.kind == "gru":
            hidden = self.body(sequence[:, missing:])[0][:, -1]
        elif self.kind == "tcn":
            hidden = self.body(sequence.transpose(1, 2)).squeeze(-1)
        else:
            flat = sequence.flatten(1)
            hidden = self.body(flat)
            if self.neighbours is not None:
                assert sparse is not None
                hidden = hidden + sparse.matmul(self.neighbours(flat))
        raw = self.out(torch.relu(hidden))
        if self.scope == "graph":
            sizes = adjacency.graph_sizes.unsqueeze(-1)
            raw = (_sum_per_graph(raw, adjacency) / sizes).to(raw.dtype)
        free = raw[:, missing : self.window + 1]
        newest = torch.zeros(count, dtype=raw.dtype, device=raw.device)
        newest[-1] = 1
        free = free + newest
        # The paper's normalisation: what is lacking to 1 is shared equally.
        alpha = free + (1 - free.sum(1, keepdim=True)) / count
        return alpha, 2 * torch.sigmoid(raw[:, self.window + 1 :])


def _sum_per_graph(x: Tensor, adjacency: Adjacency) -> Tensor:
    """As ``Adjacency.sum_per_graph``, with gradients."""
    if adjacency.graph is None:
        return x.sum(0, keepdim=True)
    return x.new_zeros(adjacency.num_graphs, x.shape[1]).index_add(0, adjacency.graph, x)
