"""What a graph classifier says of each graph, and how surely."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from ..certificate import Certificate, Certifier, HeadBound, pooled_bound
from ..equilibrium import EquilibriumMap
from ..errors import InputError
from ..solving import Solution, Status

_SEVERITY = list(Status)
_ROUNDINGS = 8


@dataclass(frozen=True)
class GraphPrediction:
    """What a model says of every graph of a batch, and how it was reached.

    Attributes:
        classes: The predicted class of each graph, ``num_graphs``.
        probabilities: The probability of each class, ``num_graphs x classes``.
        solutions: The solve of each implicit layer.
        bound: How far what the head reads can be from what it would read at the exact equilibrium,
            ``num_graphs``; with ``certify``.
        margin: How far it may move before the class can change, ``num_graphs``; with ``certify``.
        certificate: The bounds of the nodes; with ``certify``.
    """

    classes: Tensor
    probabilities: Tensor
    solutions: tuple[Solution, ...] = field(repr=False)
    bound: Tensor | None = field(default=None, repr=False)
    margin: Tensor | None = field(default=None, repr=False)
    certificate: Certificate | None = field(default=None, repr=False)

    @property
    def statuses(self) -> tuple[Status, ...]:
        """How the solves of each graph ended; of several layers, the worst."""
        each = zip(*(solution.statuses for solution in self.solutions), strict=True)
        return tuple(max(statuses, key=_SEVERITY.index) for statuses in each)

    @property
    def residuals(self) -> Tensor:
        """Relative residual of each graph, ``num_graphs``; of several layers, the largest."""
        return torch.stack([solution.residuals for solution in self.solutions]).amax(0)

    @property
    def evals(self) -> Tensor:
        """Evaluations of f spent on each graph over all layers, ``num_graphs``."""
        return torch.stack([solution.evals for solution in self.solutions]).sum(0)

    @property
    def certified(self) -> Tensor | None:
        """Whether the class is that of the exact equilibrium, proven, ``num_graphs``."""
        return None if self.bound is None or self.margin is None else self.margin > self.bound


@torch.no_grad()
def prove(
    prediction: GraphPrediction,
    f: EquilibriumMap,
    normalization: nn.Module,
    pooling: str,
    pooled: Tensor,
    head: nn.Module,
) -> GraphPrediction:
    r"""Add to a prediction of a model with one implicit layer what can be proven of it.

    A node's bound grows by the largest scale of the normalisation, the bounds of a graph's nodes add up in
    its sum, and the class is proven where the head's margin exceeds that. What the head reads beside
    the equilibrium does not depend on the solve.

    Args:
        prediction: The prediction.
        f: The map of the layer.
        normalization: What the equilibrium goes through before it is pooled.
        pooling: ``"sum"`` or ``"mean"``.
        pooled: What the head read, ``num_graphs x channels``.
        head: From it to scores.
    """
    if pooling not in ("sum", "mean"):
        raise InputError(f"{pooling} pooling cannot be certified: make the model with sum or mean")
    (solution,) = prediction.solutions
    certificate = Certifier(f).certify(solution)
    states, bound = solution.value, certificate.bound
    if isinstance(normalization, nn.BatchNorm1d):
        # In evaluation it is affine: what it does to 0 and to the unit vectors is all there is to know.
        width, dtype = states.shape[1], states.dtype
        shift = normalization(torch.zeros(1, width, dtype=dtype)).to(torch.float64)
        scale = normalization(torch.eye(width, dtype=dtype)).to(torch.float64) - shift
        rounding = _ROUNDINGS * torch.finfo(dtype).eps
        largest = float(scale.abs().max()) * (1 + rounding) + rounding * float(shift.abs().max())
        size = states.to(torch.float64).norm(dim=-1)
        bound = largest * bound + rounding * (largest * size + float(shift.norm()))
        states = normalization(states)
    moved = pooled_bound(replace(certificate, bound=bound), states, f.adjacency, pooling)
    margin = HeadBound(head, certificate.norm).margins(pooled).margin
    return replace(prediction, bound=moved, margin=margin, certificate=certificate)
