"""The learned solver: plain steps, corrected by residual and momentum mixed across features."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from .. import whole
from ..equilibrium import AdjointMap, EquilibriumMap, FeatureMap, FixedPointMap
from ..errors import InputError
from ..kernels import products
from ..memory import POOL
from ..rough import Base, Landing, Mixing, leap_from, pays
from .narrow import NarrowMap

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..nn.classifiers import IGNN

#: No step is expected to lower a residual by more than this factor.
_FASTEST = 1e-3
#: A leap pays where so many evaluations are expected before the last: it begins and ends with a full one, and the
#: first of those has to write down its inputs.
_FAR = 3
#: Beyond this relative change of W the matrices fitted for it are not trusted any more.
_WEIGHT_CHANGE = 0.02


def powers(f: FeatureMap, start: Tensor, degree: int) -> Tensor:
    r"""Powers 0 to ``degree`` of :math:`M = W \bar D`, ``(degree + 1) x d x d``.

    :math:`\bar D` holds the mean slope of the activation for each feature at ``start``, so that M is
    what one evaluation does to an error, averaged over the nodes and apart from the graph.
    """
    one = f.weight * f.mean_slope(start)
    stack = [torch.eye(one.shape[0], dtype=one.dtype, device=one.device)]
    for _ in range(degree):
        stack.append(stack[-1] @ one)
    return torch.stack(stack)


def spectral_guess(f: FeatureMap, base: Tensor, start: Tensor) -> Tensor:
    """The point ``base + [base, b] @ start``, clamped to what f can take, ``n x d``."""
    width = base.shape[1]
    guess = torch.addmm(base, base, start[:width])
    return guess.addmm_(f.bias, start[width:]).clamp_(*f.value_range)


class _Step(NamedTuple):
    """The factors of one step, prepared: the left one for the residual, the momentum, and both; the right one."""

    first: products.Prepared
    rest: products.Prepared
    both: products.Prepared
    right: products.Prepared


def _ready(left: Tensor, right: Tensor, rough: bool = False) -> _Step:
    width = right.shape[1]
    matrices = left[:width], left[width:], left, right
    return _Step(*(products.prepare(one, rough) for one in matrices))


@dataclass
class Momentum:
    """The state of a solve: the matrices of its steps, how many are plain, where it was, and how many it took.

    After the last matrix the steps repeat it, or are plain.
    """

    f: FeatureMap
    previous: Tensor
    steps: list[_Step]
    plain: int = 0
    repeats: bool = True
    count: int = 0
    proposed: Tensor | None = None
    landing: Landing | None = None

    def mixing(self, number: int) -> Mixing:
        """The factors of a step; the first that is not plain has no momentum."""
        if number < self.plain or self.plain == len(self.steps):
            return None
        if number >= len(self.steps) and not self.repeats:
            return None
        step = self.steps[min(number, len(self.steps) - 1)]
        return step.first if number == self.plain else step.both, step.right

    def settle(self) -> None:
        """See to it that the previous point is at hand, also after a leap."""
        if self.landing is not None:
            self.previous, self.landing = self.landing.before(), None


@dataclass(frozen=True, eq=False)
class Learned:
    r"""A solver fitted to one model: a handful of evaluations instead of dozens.

    .. math::
        Z_{k+1} = f(Z_k) + [f(Z_k) - Z_k,\; Z_k - Z_{k-1}]\, C_k

    clamped to the range of the activation; the first steps may be plain, with :math:`C_k = 0`, and so may
    those beyond the last matrix. The ``2d x d`` matrices :math:`C_k` have low rank. For each eigenvalue
    of W the errors live on a line through 0,
    on which such a two-term recurrence can be as good as Chebyshev's method, even where W is orthogonal and
    Anderson gains nothing. The start :math:`Z_0` comes from a few steps of the same kind with a narrow
    stand-in for f (:class:`~ignn_solver.solvers.narrow.NarrowMap`), charged as evaluations.

    For a W that has changed since, the start is :math:`\sigma(b) + [\sigma(b), b]\, C_0`, and it and every
    :math:`C_k` are rebuilt as polynomials in W with a few learned coefficients. The backward fixed point
    of training has the same spectrum and is solved with the same coefficients.

    Make one with ``ignn_solver.fit_solver``.

    Attributes:
        weight: The W it was fitted for, ``d x d``.
        basis: The directions of the narrow stand-in, ``d x r``.
        start: Where it starts from :math:`[\sigma(b), b]`, ``2d x r``.
        narrow: The matrix of each of its steps, ``narrow steps x 2r x r``.
        left: :math:`C_k` for each step, or its left factor, ``steps x 2d x rank``.
        right: The right factors, ``steps x rank x d``, or empty for full rank.
        spectral_start: Coefficients of :math:`C_0` as a polynomial, ``2 x (degree + 1)``.
        spectral: Coefficients of each :math:`C_k` as polynomials, ``steps x 2 x (degree + 1)``.
        details: How it was fitted.
    """

    weight: Tensor = field(repr=False)
    basis: Tensor = field(repr=False)
    start: Tensor = field(repr=False)
    narrow: Tensor = field(repr=False)
    left: Tensor = field(repr=False)
    right: Tensor = field(repr=False)
    spectral_start: Tensor = field(repr=False)
    spectral: Tensor = field(repr=False)
    details: dict[str, Any] = field(default_factory=dict)

    safeguard = True
    kind = "learned"

    @property
    def base(self) -> str:
        """What its steps build on: ``"plain"`` evaluations, or a ``"sweep"`` in place."""
        return str(self.details.get("base", "plain"))

    @property
    def repeats(self) -> bool:
        """Whether steps beyond those that were fitted repeat the last one; else they are plain."""
        return bool(self.details.get("repeats", True))

    @property
    def width(self) -> int:
        """Width d of the node states it can solve for."""
        return self.weight.shape[0]

    @property
    def num_parameters(self) -> int:
        """How many numbers were learnt."""
        return sum(tensor.numel() for name, tensor in self.tensors().items() if name != "weight")

    def tensors(self) -> dict[str, Tensor]:
        """Everything learnt, by name."""
        found = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in found.items() if isinstance(value, Tensor)}

    def to(self, *args: Any, **kwargs: Any) -> Learned:
        """Move or convert, as ``torch.Tensor.to``."""
        moved: dict[str, Any] = {n: t.to(*args, **kwargs) for n, t in self.tensors().items()}
        return replace(self, **moved)

    def initial(self, f: FixedPointMap) -> tuple[Tensor, int]:
        """The first point, and the evaluations that the narrow steps are worth, rounded up."""
        f = self._checked(f)
        if isinstance(f, EquilibriumMap) and self._knows(f):
            if len(self.narrow) == 0:
                # Without a step the coordinates need not be known: one product leads to the states.
                ready, *_ = self._ready_start(pays(f.bias))
                return products.guess(f.bias, ready, f.activation, POOL.like(f.bias)), 0
            stand_in = NarrowMap(f, self.basis)
            guess = stand_in.guess(self.start, self.narrow)
            return guess, math.ceil(len(self.narrow) * stand_in.share)
        base = f.start()
        if isinstance(f, AdjointMap):
            return base, 0
        stack = powers(f, base, self.spectral_start.shape[1] - 1)
        return spectral_guess(f, base, assemble(self.spectral_start, stack)), 0

    def init(self, f: FixedPointMap, z0: Tensor) -> Momentum:
        """The matrices of each step: as fitted, or rebuilt where W has changed since."""
        f = self._checked(f)
        if self._knows(f):
            plain, steps = int(self.details.get("plain", 0)), self._ready_for(pays(z0))
            return Momentum(f, z0, steps, plain, self.repeats, proposed=z0)
        stack = powers(f, z0, self.spectral.shape[2] - 1)
        steps = [_ready(assemble(one, stack), stack[0][:0]) for one in self.spectral]
        return Momentum(f, z0, steps, proposed=z0)

    def restricted(self, state: Momentum, f: FixedPointMap, nodes: Tensor, z: Tensor) -> Momentum:
        """The state of a solve that goes on with some of the nodes, at ``z``."""
        return replace(state, f=self._checked(f), previous=state.previous[nodes], proposed=z)

    def step(self, z: Tensor, fz: Tensor, state: Momentum) -> tuple[Tensor, Momentum]:
        """A plain step plus the mixed residual and momentum."""
        mixing = state.mixing(state.count)
        state.count += 1
        if mixing is None:
            return fz, state
        state.settle()
        bounds = state.f.value_range
        proposed = products.mix(z, fz, state.previous, *mixing, POOL.like(z), bounds)
        # The loop reuses the memory of its images, but not that of what was proposed.
        state.previous = z if z is state.proposed else z.clone()
        state.proposed = proposed
        return proposed, state

    def far(self, tol: float) -> bool:
        """Whether so many evaluations lie before a tolerance that it pays to leap."""
        expected = self.details.get("residuals", [])
        return not expected or sum(residual > tol for residual in expected) >= _FAR

    def leap(
        self, base: Base, state: Momentum, wanted: float, most: int, enough: float
    ) -> tuple[Landing, Momentum]:
        """Several such steps from a point where f is known: see ``rough.leap_from``."""
        begin, expected = state.count, self.details.get("residuals", [])

        def pace(number: int) -> float:
            k = min(begin + number, len(expected) - 2)
            if k < 0 or not expected[k] > 0:
                return 1.0
            return max(_FASTEST, expected[k + 1] / expected[k])

        def mixing(number: int) -> Mixing:
            return state.mixing(begin + number)

        state.settle()
        landing = leap_from(base, mixing, pace, wanted, most, enough, state.previous)
        state.landing, state.proposed = landing, landing.point
        state.count += len(landing.residuals) + 1
        return landing, state

    def dash(self, f: EquilibriumMap, tol: float, enough: float) -> whole.Attempt:
        """Attempt each graph of a batch of small ones whole: see ``whole.attempt``."""
        self._checked(f)
        start, charged, z = None, 0, POOL.like(f.bias)
        if len(self.narrow) == 0 and self._knows(f):
            _, *halves = self._ready_start(pays(z))
            start = halves[0], halves[1]
        else:
            z, charged = self.initial(f)
        state = self.init(f, z)
        mixing = [(step.first, step.rest, step.right) for step in state.steps]
        mixed = range(state.plain, whole.MOST if state.repeats else len(mixing))
        found = whole.attempt(f, z, start, mixing, mixed, tol, enough)
        return replace(found, evals=found.evals + charged)

    def _ready_for(self, rough: bool) -> list[_Step]:
        """The matrices of every step, prepared once."""
        if rough not in self._prepared:
            pairs = zip(self.left, self.right, strict=True)
            self._prepared[rough] = [_ready(*pair, rough) for pair in pairs]
        return self._prepared[rough]

    def _ready_start(self, rough: bool) -> list[products.Prepared]:
        r"""The matrix from :math:`[\sigma(b), b]` to what the start adds to b, and its halves, prepared once."""
        if rough not in self._prepared_start:
            matrix = self.start @ self.basis.T
            matrices = matrix, *matrix.split(self.width)
            self._prepared_start[rough] = [products.prepare(one, rough) for one in matrices]
        return self._prepared_start[rough]

    @cached_property
    def _prepared_start(self) -> dict[bool, list[products.Prepared]]:
        return {}

    @cached_property
    def _prepared(self) -> dict[bool, list[_Step]]:
        return {}

    def save(self, folder: str | Path) -> Path:
        """Write the solver into a folder; ``ignn_solver.load_solver`` reads it."""
        from ..learning.store import save_solver

        return save_solver(self, folder)

    def adapt(self, model: IGNN, data: Data, **options: Any) -> Learned:
        """A solver for a changed model or graph: fitted anew, without labels, in about a second."""
        from ..learning.fit import fit_solver

        kept: dict[str, Any] = {name: self.details[name] for name in ("steps", "rank", "narrow")}
        kept["base"] = self.base
        adapted = fit_solver(model, data, **(kept | options))
        assert isinstance(adapted, Learned)
        return adapted

    def _checked(self, f: FixedPointMap) -> FeatureMap:
        # To look for every member of the protocol takes as long as a part of a small solve.
        if not isinstance(f, EquilibriumMap | AdjointMap) and not isinstance(f, FeatureMap):
            raise InputError(f"a learned solver solves equilibrium maps, not {type(f).__name__}")
        if f.weight.shape != self.weight.shape:
            raise InputError(
                f"this solver was learnt for node states of width {self.width}, but the model has "
                f"width {f.weight.shape[0]}: fit a solver for this model"
            )
        return f

    def _knows(self, f: FeatureMap) -> bool:
        if isinstance(f, AdjointMap):
            return False
        return float(torch.dist(f.weight, self.weight)) <= self._most_change

    @cached_property
    def _most_change(self) -> float:
        return _WEIGHT_CHANGE * float(torch.linalg.norm(self.weight))


def assemble(coefficients: Tensor, stack: Tensor) -> Tensor:
    """The ``2d x d`` matrix of two polynomials: coefficients ``2 x q``, powers ``q x d x d``."""
    both = torch.einsum("hq,qij->hij", coefficients.to(stack.dtype), stack)
    return both.reshape(-1, both.shape[-1])
