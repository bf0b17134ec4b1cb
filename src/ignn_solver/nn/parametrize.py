"""Ways to write the weight W so that the equilibrium map contracts by kappa."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..equilibrium import Contraction
from ..errors import InputError


class Parametrization(nn.Module):
    """A ``d x d`` weight W with a known contraction factor.

    Args:
        width: ``d``.
        kappa: The contraction factor, strictly between 0 and 1.
    """

    norm = "2"

    def __init__(self, width: int, kappa: float) -> None:
        super().__init__()
        if not 0 < kappa < 1:
            raise InputError(
                f"kappa must lie strictly between 0 and 1, not {kappa}: the fixed point is only "
                "guaranteed to exist for a contraction"
            )
        self.kappa = kappa
        self.raw = nn.Parameter(torch.empty(width, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the free parameters anew."""
        bound = 1 / math.sqrt(self.raw.shape[0])
        nn.init.uniform_(self.raw, -bound, bound)

    @property
    def contraction(self) -> Contraction:
        """The factor kappa, and the row norm in which it holds."""
        return Contraction(self.kappa, self.norm)

    def project_(self) -> None:
        """Bring the free parameters back to where the factor holds; called before each use."""

    def extra_repr(self) -> str:
        """Shape and factor."""
        return f"{self.raw.shape[0]}, kappa={self.kappa}"


class Cayley(Parametrization):
    r"""An orthogonal matrix times kappa: :math:`W = \kappa (I - S)(I + S)^{-1}`, :math:`S = C - C^\top`.

    Every singular value of W is kappa, so :math:`\|zW\|_2 = \kappa \|z\|_2`.
    """

    def forward(self) -> Tensor:
        """W, ``d x d``."""
        skew = self.raw - self.raw.T
        eye = torch.eye(skew.shape[0], dtype=skew.dtype, device=skew.device)
        return self.kappa * torch.linalg.solve(eye + skew, eye - skew)


class Symmetric(Parametrization):
    r"""A symmetric matrix of spectral norm at most kappa: its real spectrum lets Anderson gain.

    :math:`W = \kappa S / \max(1, \|S\|_2)` with :math:`S = (C + C^\top)/2`.
    """

    def forward(self) -> Tensor:
        """W, ``d x d``."""
        symmetric = (self.raw + self.raw.T) / 2
        size = torch.linalg.eigvalsh(symmetric).abs().amax()
        return self.kappa * symmetric / size.clamp_min(1.0)


class InfinityProjection(Parametrization):
    r"""The original IGNN's choice: free entries, projected so that :math:`\|zW\|_\infty \le \kappa \|z\|_\infty`.

    For rows z that is a bound on the columns of W: each has absolute sum at most kappa. The projection
    is Euclidean, column by column, as in IGNN (Gu et al., NeurIPS 2020).
    """

    norm = "inf"

    def forward(self) -> Tensor:
        """W, ``d x d``; call ``project_`` after changing the parameters."""
        return self.raw

    def reset_parameters(self) -> None:
        """Draw the entries anew, inside the ball."""
        super().reset_parameters()
        self.project_()

    @torch.no_grad()
    def project_(self) -> None:
        """Project each column of W onto the absolute-sum ball of radius kappa."""
        magnitude = self.raw.abs()
        over = magnitude.sum(0) > self.kappa
        if not bool(over.any()):
            return
        sorted_, _ = magnitude[:, over].sort(dim=0, descending=True)
        ranks = torch.arange(1, sorted_.shape[0] + 1, device=sorted_.device).unsqueeze(1)
        excess = sorted_.cumsum(0) - self.kappa
        count = ((sorted_ * ranks) > excess).sum(0, keepdim=True)
        threshold = excess.gather(0, count - 1) / count
        shrunk = (magnitude[:, over] - threshold).clamp_min(0)
        # A large column leaves a rounding error of its own size: the sum itself stays within kappa.
        inside = self.kappa * (1 - len(shrunk) * torch.finfo(shrunk.dtype).eps)
        shrunk *= (inside / shrunk.sum(0)).clamp_max(1)
        self.raw[:, over] = self.raw[:, over].sign() * shrunk


PARAMETRIZATIONS: dict[str, type[Parametrization]] = {
    "cayley": Cayley,
    "projection": InfinityProjection,
    "symmetric": Symmetric,
}


def parametrization(name: str, width: int, kappa: float) -> Parametrization:
    """The parametrization called ``name``: ``cayley``, ``projection`` or ``symmetric``."""
    if name not in PARAMETRIZATIONS:
        choices = ", ".join(PARAMETRIZATIONS)
        raise InputError(f"unknown parametrization {name!r}: choose one of {choices}")
    return PARAMETRIZATIONS[name](width, kappa)
