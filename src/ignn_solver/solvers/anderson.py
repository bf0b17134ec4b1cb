"""Anderson acceleration: the best affine combination of the last few steps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..adjacency import Adjacency
from ..equilibrium import FixedPointMap
from ..errors import InputError

#: A residual that is exactly 0 counts as this share of the largest one, and so gets all the weight.
_SMALLEST_SHARE = 1e-12


@dataclass
class History:
    """The last iterates, their images' residuals, and the residuals' inner products.

    Slots are reused in turn; ``filled`` counts how many hold something.
    """

    adjacency: Adjacency
    scope: str
    values: Tensor
    residuals: Tensor
    gram: Tensor
    alive: Tensor
    filled: int = 0
    newest: int = -1

    @classmethod
    def empty(cls, f: FixedPointMap, window: int, scope: str) -> History:
        """Room for ``window + 1`` steps of the map ``f``."""
        slots = window + 1
        owners = f.adjacency.num_nodes if scope == "node" else f.adjacency.num_graphs
        values = f.bias.new_empty(slots, *f.bias.shape)
        gram = torch.zeros(owners, slots, slots, dtype=torch.float64, device=f.bias.device)
        alive = torch.ones(owners, slots, dtype=torch.bool, device=f.bias.device)
        return cls(f.adjacency, scope, values, torch.empty_like(values), gram, alive)

    def push(self, z: Tensor, fz: Tensor) -> None:
        """Store a step in the oldest slot and update the inner products that it changes."""
        slots = self.values.shape[0]
        self.newest = (self.newest + 1) % slots
        self.filled = min(self.filled + 1, slots)
        self.values[self.newest].copy_(fz)
        torch.sub(fz, z, out=self.residuals[self.newest])
        dots = self._dots(self.residuals[: self.filled], self.residuals[self.newest])
        self.gram[:, self.newest, : self.filled] = dots
        self.gram[:, : self.filled, self.newest] = dots
        self.alive[:, self.newest] = True

    def forget(self, owners: Tensor) -> None:
        """Restart these owners: only the newest step counts from now on."""
        newest = torch.zeros_like(self.alive)
        newest[:, self.newest] = True
        self.alive = torch.where(owners.unsqueeze(-1), newest, self.alive)

    def _dots(self, stack: Tensor, one: Tensor) -> Tensor:
        if self.scope == "graph" and self.adjacency.num_graphs == 1:
            return (stack.flatten(1) @ one.flatten()).to(torch.float64).unsqueeze(0)
        per_node = torch.linalg.vecdot(stack, one).T
        return per_node.double() if self.scope == "node" else self.adjacency.sum_per_graph(per_node)

    def combine(self, weights: Tensor, beta: float) -> Tensor:
        """``sum_i w_i (f(z_i) - (1 - beta) g_i)`` with weights per owner, ``owners x filled``."""
        result = self._weighted(weights, self.values[: self.filled])
        if beta != 1:
            result.sub_(self._weighted(weights, self.residuals[: self.filled]), alpha=1 - beta)
        return result

    def _weighted(self, weights: Tensor, stack: Tensor) -> Tensor:
        weights = weights.to(stack.dtype)
        if weights.shape[0] == 1:
            return (weights @ stack.flatten(1)).view(stack.shape[1:])
        if self.scope == "graph":
            weights = self.adjacency.spread(weights)
        return torch.einsum("nk,knd->nd", weights, stack)


@dataclass(frozen=True)
class Anderson:
    r"""Anderson acceleration (the paper's Algorithm 1).

    .. math::
        Z^{[k+1]} = \sum_i \alpha_i \left(\beta f(Z_i) + (1 - \beta) Z_i\right), \quad
        \alpha = \arg\min_{\mathbf 1^\top \alpha = 1} \|\sum_i \alpha_i g(Z_i)\|^2

    over the last m + 1 iterates.

    Attributes:
        window: How many past steps to use besides the newest, m.
        beta: Mixing between images (1) and iterates (0).
        ridge: Tikhonov term of the least-squares system, relative to the residuals' own sizes.
        scope: One set of weights per ``"graph"`` or per ``"node"``.
        amplification_limit: Restart, from the newest step alone, when the system is so ill-conditioned
            that the weights' absolute sum, which multiplies rounding errors, exceeds this.
        safeguard: Let the loop replace steps that do not lower the residual enough.
    """

    window: int = 5
    beta: float = 1.0
    ridge: float = 1e-10
    scope: str = "graph"
    amplification_limit: float = 1e4
    safeguard: bool = False

    def __post_init__(self) -> None:
        if self.window < 1:
            raise InputError(f"Anderson's window must be at least 1, not {self.window}")
        if self.scope not in ("graph", "node"):
            raise InputError(f'scope must be "graph" or "node", not {self.scope!r}')

    def initial(self, f: FixedPointMap) -> tuple[Tensor, int]:
        """Start where the map can be evaluated without touching an edge."""
        return f.start(), 0

    def init(self, f: FixedPointMap, z0: Tensor) -> History:
        """An empty history."""
        return History.empty(f, self.window, self.scope)

    def step(self, z: Tensor, fz: Tensor, state: History) -> tuple[Tensor, History]:
        """The best affine combination of the stored steps."""
        state.push(z, fz)
        return state.combine(self.weights(state), self.beta), state

    def weights(self, state: History) -> Tensor:
        r"""The least-squares weights :math:`\alpha`, ``owners x filled``; they sum to 1."""
        solved, ill = self._solved(state)
        if bool(ill.any()):
            state.forget(ill)
            solved, _ = self._solved(state)
        return solved

    def _solved(self, state: History) -> tuple[Tensor, Tensor]:
        """The weights, and which owners' systems are ill-conditioned."""
        count = state.filled
        alive = state.alive[:, :count]
        both = alive[:, :, None] & alive[:, None, :]
        eye = torch.eye(count, dtype=state.gram.dtype, device=state.gram.device)
        gram = torch.where(both, state.gram[:, :count, :count], eye * ~alive[:, None, :])
        size = torch.where(alive, gram.diagonal(dim1=-2, dim2=-1).sqrt(), 0)
        largest = size.amax(-1, keepdim=True).clamp_min(torch.finfo(gram.dtype).tiny)
        # Scaled to cosines, so that the ridge does not drown the smallest residuals of the window.
        share = (size / largest).clamp_min(_SMALLEST_SHARE)
        scale = torch.where(alive, share * largest, 1)
        cosines = torch.nan_to_num(gram / scale[:, :, None] / scale[:, None, :])
        values, vectors = torch.linalg.eigh(cosines + self.ridge * eye)
        inverse = values.clamp_min(self.ridge).reciprocal()
        wanted = torch.where(alive, 1 / share, 0)
        along = (vectors * wanted[:, :, None]).sum(-2)
        solved = (vectors * (inverse * along)[:, None, :]).sum(-1) * wanted
        weights = solved / solved.sum(-1, keepdim=True)
        # Negated, so that a weight that is not a number restarts too.
        calm = weights.abs().sum(-1) <= self.amplification_limit
        return weights, ~calm & (alive.sum(-1) > 1)
