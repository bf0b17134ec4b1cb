"""Fitting the default learned solver in closed form: one small least-squares problem a step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..equilibrium import EquilibriumMap, FeatureMap
from ..errors import InputError
from ..kernels import products
from ..memory import POOL
from ..solvers.learned import Learned
from ..solvers.narrow import NarrowMap
from ..sweeping import SweepMap
from .costs import Costs
from .least_squares import LeastSquares, sampled_rows, taken
from .narrow import NarrowFit, NarrowStart
from .polynomials import fit_polynomials

#: Up to this width the matrices of the steps are whole; beyond, of one of these ranks: more costs more than it
#: saves.
_WHOLE_WIDTH, _RANKS = 64, (64, 32)
#: A start whose error is so many times that of another is not worth fitting steps to.
_MUCH_WORSE = 2.0
#: So many further steps show whether the last one may be repeated.
_REPEATED = 6
#: A pace is never taken for slower than this, so that its logarithm is not 0.
_SLOWEST = 0.999
#: Products with fewer columns take as long as with so many.
_VECTOR = 16


@dataclass(frozen=True)
class MomentumOptions:
    """How to fit.

    Attributes:
        steps: Steps with matrices of their own; later ones repeat the last.
        rank: Rank of each step's matrix; 0 for full, ``None`` to choose by width and cost, also whether the first
            steps need one.
        narrow: Width of the stand-in that gives the start; 0 for none, ``None`` to choose by cost.
        narrow_steps: The most steps with it.
        tol: The relative residual for which the stand-in is chosen.
        ridge: Tikhonov term, relative to the mean squared regressor.
        degree: Degree of the polynomials in W used when W has changed.
        seed: Draws the rows to fit on where there are very many.
        base: What the steps build on: ``"plain"`` evaluations or a ``"sweep"`` in place, which saves about
            one evaluation and costs one more product with W in each.
    """

    steps: int = 10
    rank: int | None = None
    narrow: int | None = None
    narrow_steps: int = 8
    tol: float = 1e-3
    ridge: float = 1e-4
    degree: int = 4
    seed: int = 0
    base: str = "plain"

    def __post_init__(self) -> None:
        if self.base not in ("plain", "sweep"):
            raise InputError(f'base must be "plain" or "sweep", not {self.base!r}')


def fit_momentum(f: EquilibriumMap, solution: Tensor, options: MomentumOptions) -> Learned:
    r"""Fit the start and, step after step, the matrix that brings the iterate closest to ``solution``.

    Each step solves :math:`\min_C \|f(Z) + \Phi C - Z^\star\|^2` with
    :math:`\Phi = [f(Z) - Z, Z - Z_{prev}]`, then moves on with the result. Of several widths for the
    stand-in that gives the start, and ranks of the steps, those with which a solve costs least are kept.

    Args:
        f: The map.
        solution: Its fixed point, found by a classical solver, ``n x d``.
        options: How to fit.
    """
    width = f.weight.shape[0]
    rows = sampled_rows(f.bias.shape[0], options.seed).to(f.bias.device)
    base: FeatureMap = SweepMap(f) if options.base == "sweep" else f
    spectral_start, spectral = fit_polynomials(base, solution, rows, options.steps, options.degree)
    narrow_fit = NarrowFit(f, solution, rows, options.ridge)
    chosen: _Solve | None = None
    for narrow, narrow_steps in _candidates(width, options):
        found = narrow_fit.fit(narrow, narrow_steps)
        if chosen is not None and found.error > _MUCH_WORSE * chosen.found.error:
            continue
        # Ranks are compared with one stand-in alone: fitting takes time too.
        ranks = _ranks(width, options) if chosen is None else (chosen.steps.rank,)
        tried = [(rank, 0.0) for rank in ranks]
        if options.rank is None:
            tried.append((min(ranks), options.tol))
        for rank, plain in tried:
            steps = _Steps(base, solution, rows, found.states, rank, options.ridge, plain)
            solve = _Solve(f, found, steps, options.tol)
            if chosen is not None and solve.will_cost(chosen) >= chosen.score():
                continue
            # What will be worse than the best so far is not followed to its end.
            while steps.goes_on(options) and (chosen is None or solve.score() < chosen.score()):
                steps.advance()
            given_up = steps.misses(options) if plain else steps.goes_on(options)
            if chosen is None or (solve.score() < chosen.score() and not given_up):
                chosen = solve
    assert chosen is not None
    found, steps = chosen.found, chosen.steps
    while len(steps.lefts) < options.steps:
        steps.advance()
    return Learned(
        weight=f.weight.detach().clone(),
        basis=found.basis,
        start=found.start,
        narrow=found.steps,
        left=torch.stack(steps.lefts),
        right=torch.stack(steps.rights),
        spectral_start=spectral_start,
        spectral=spectral,
        details={
            "preset": "learned",
            "steps": options.steps,
            "rank": steps.rank,
            "plain": steps.plain,
            "repeats": steps.repeats(),
            "narrow": options.narrow,
            "base": options.base,
            "residuals": steps.residuals,
        },
    )


class _Steps:
    """The steps fitted so far, and where they have led.

    They are plain ones first, with nothing fitted, down to the relative residual ``plain_to``; where a start is
    good and a product cheap, that costs least.

    Attributes:
        plain: How many of them are plain.
        residuals: Relative residual at each point that was evaluated.
        lefts: Left factors, or whole matrices.
        rights: Right factors.
    """

    def __init__(
        self,
        f: FeatureMap,
        solution: Tensor,
        rows: Tensor,
        start: Tensor,
        rank: int,
        ridge: float,
        plain_to: float,
    ) -> None:
        self.f, self.rows, self.rank, self.ridge = f, rows, rank, ridge
        self.plain_to = plain_to
        self.plain = 0
        self._target = taken(solution, rows)
        self._z = self._previous = start
        self._image: Tensor | None = None
        self._relative = math.inf
        self.residuals: list[float] = []
        self.lefts: list[Tensor] = []
        self.rights: list[Tensor] = []

    def goes_on(self, options: MomentumOptions) -> bool:
        """Whether the last point that was evaluated misses the tolerance, and more steps may follow."""
        return self.misses(options) and len(self.lefts) < options.steps

    def misses(self, options: MomentumOptions) -> bool:
        """Whether no point was evaluated, or the last one misses the tolerance."""
        return not self.residuals or self.residuals[-1] > options.tol

    def residual(self) -> float:
        """The relative residual at the point that was reached."""
        if self._image is None:
            self._image, residual_sq, value_sq = self.f.evaluate(self._z)
            self._relative = float((residual_sq.sum() / value_sq.sum()).sqrt())
        return self._relative

    def advance(self) -> None:
        """Fit one more step, and take it."""
        z, previous, rows = self._z, self._previous, self.rows
        self.residuals.append(self.residual())
        assert self._image is not None
        fz, self._image = self._image, None
        if not self.lefts[self.plain :] and 0 < self.plain_to < self.residuals[-1]:
            self._stay_plain(fz)
            return
        points = taken(z, rows), taken(fz, rows), taken(previous, rows)
        normal = products.normal(*points, self._target)
        fit = LeastSquares(normal[:, : len(normal)], self.ridge)
        matrix = fit.solve(normal[:, len(normal) :], z.dtype)
        left, right = fit.factors(matrix, self.rank)
        self.lefts.append(left)
        self.rights.append(right)
        ready, bounds = (products.prepare(left), products.prepare(right)), self.f.value_range
        proposed = products.mix(z, fz, previous, *ready, POOL.like(z), bounds)
        self._previous, self._z = z, proposed

    def repeats(self) -> bool:
        """Whether the last step, taken again and again, lowers the residual more than plain ones do."""
        return self._later(mixed=True) < self._later(mixed=False)

    def _later(self, mixed: bool) -> float:
        """The relative residual some steps after the point that was reached."""
        z, previous, bounds = self._z, self._previous, self.f.value_range
        ready = products.prepare(self.lefts[-1]), products.prepare(self.rights[-1])
        for _ in range(_REPEATED):
            fz = self.f.evaluate(z).value
            proposed = products.mix(z, fz, previous, *ready, POOL.like(z), bounds) if mixed else fz
            z, previous = proposed, z
        _, residual_sq, value_sq = self.f.evaluate(z)
        return float((residual_sq.sum() / value_sq.sum()).sqrt())

    def _stay_plain(self, fz: Tensor) -> None:
        width = fz.shape[1]
        self.plain += 1
        self.lefts.append(fz.new_zeros(2 * width, self.rank or width))
        self.rights.append(fz.new_zeros(self.rank, width))
        # Where mixing begins it has no momentum.
        self._previous = self._z = fz


def _ranks(width: int, options: MomentumOptions) -> tuple[int, ...]:
    """Ranks to try for the matrices of the steps; 0 for whole ones."""
    if options.rank is not None:
        return (0 if options.rank >= width else options.rank,)
    return (0,) if width <= _WHOLE_WIDTH else _RANKS


def _candidates(width: int, options: MomentumOptions) -> list[tuple[int, int]]:
    """Widths of the stand-in to try, and the most steps with each.

    One, two and three eighths of d, rounded up to full vectors, where that leaves them narrow; and all of d
    without a step, which is a guess from b alone.
    """
    if options.narrow is not None:
        return [(min(options.narrow, width), options.narrow_steps)]
    widths = sorted({_VECTOR * -(-eighths * width // (8 * _VECTOR)) for eighths in (1, 2, 3)})
    narrow = [(one, options.narrow_steps) for one in widths if 8 * one <= 3 * width]
    return [*narrow, (width, 0)]


def _steps_left(residuals: list[float], now: float, tol: float) -> int:
    """Steps from a residual to the tolerance, at the pace of the last two at most; later ones are slower."""
    last = residuals[-3:]
    pace = min((last[-1] / last[0]) ** (1 / (len(last) - 1)), _SLOWEST)
    return math.ceil(math.log(tol / now) / math.log(pace))


class _Solve:
    """A solve that is being fitted: what it costs, or will cost at least."""

    def __init__(self, f: EquilibriumMap, found: NarrowStart, steps: _Steps, tol: float) -> None:
        self.found, self.steps, self._tol = found, steps, tol
        narrow = found.basis.shape[1]
        self._costs = Costs.of(f, narrow, steps.rank)
        self._charged = math.ceil(len(found.steps) * NarrowMap(f, found.basis).share)

    def score(self) -> float:
        """Its cost times its evaluations: one that is saved is saved on every machine, costs are of a few."""
        count, residuals = len(self.steps.lefts), self.steps.residuals
        if len(residuals) >= 2 and residuals[-1] > self._tol:
            count += _steps_left(residuals, residuals[-1], self._tol)
        return self._score(count)

    def will_cost(self, other: _Solve) -> float:
        """About what its score will be, if each step lowers its residual as much as it did in another solve.

        That is so where rank and map are the same, and only the start is not; else nothing is known.
        """
        steps, known = self.steps, other.steps.residuals
        alike = steps.rank == other.steps.rank and not steps.plain_to and not other.steps.plain
        if not alike or len(known) < 2:
            return 0.0
        share = steps.residual() / known[0]
        reached = [number for number, one in enumerate(known) if share * one <= self._tol]
        if reached:
            return self._score(reached[0] + 1)
        return self._score(len(known) + _steps_left(known, share * known[-1], self._tol))

    def _score(self, count: int) -> float:
        costs, narrow = self._costs, len(self.found.steps)
        # Plain ones lead to the tolerance, or are given up.
        mixed = 0 if self.steps.plain_to else count
        cost = costs.begin + count * costs.plain + mixed * costs.mixing + narrow * costs.narrow
        return cost * (count + self._charged)
