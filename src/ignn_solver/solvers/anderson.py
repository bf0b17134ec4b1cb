"""Anderson acceleration: the best affine combination of the last few steps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..equilibrium import FixedPointMap
from ..errors import InputError
from .half import HalfSteps, check_history
from .history import FullHistory, HalfHistory, History

#: A residual that is exactly 0 counts as this share of the largest one, and so gets all the weight.
_SMALLEST_SHARE = 1e-12


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
        history: Keep the steps in ``"full"`` precision, or in ``"half"``: about half the memory, more time.
    """

    window: int = 5
    beta: float = 1.0
    ridge: float = 1e-10
    scope: str = "graph"
    amplification_limit: float = 1e4
    safeguard: bool = False
    history: str = "full"

    def __post_init__(self) -> None:
        if self.window < 1:
            raise InputError(f"Anderson's window must be at least 1, not {self.window}")
        if self.scope not in ("graph", "node"):
            raise InputError(f'scope must be "graph" or "node", not {self.scope!r}')
        check_history(self.history)

    def initial(self, f: FixedPointMap) -> tuple[Tensor, int]:
        """Start where the map can be evaluated without touching an edge."""
        return f.start(), 0

    def init(self, f: FixedPointMap, z0: Tensor) -> History:
        """An empty history: room for ``window + 1`` steps."""
        slots = self.window + 1
        owners = f.adjacency.num_nodes if self.scope == "node" else f.adjacency.num_graphs
        gram = torch.zeros(owners, slots, slots, dtype=torch.float64, device=f.bias.device)
        alive = torch.ones(owners, slots, dtype=torch.bool, device=f.bias.device)
        if self.history == "half":
            steps = HalfSteps(self.window)
            return HalfHistory(f.adjacency, self.scope, gram, alive, steps=steps)
        values = f.bias.new_empty(slots, *f.bias.shape)
        residuals = torch.empty_like(values)
        return FullHistory(f.adjacency, self.scope, gram, alive, values=values, residuals=residuals)

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
