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
from ..rough import pays
from ..solvers.learned import Learned
from ..sweeping import SweepMap
from .least_squares import LeastSquares, sampled_rows
from .narrow import NarrowFit, NarrowStart
from .polynomials import fit_polynomials

#: Up to this width the matrices of the steps are whole; beyond, of one of these ranks: more costs more than it
#: saves.
_WHOLE_WIDTH, _RANKS = 64, (32, 64)
#: Costs are counted in multiplications of a large product in float32. What one costs in bfloat16:
_ROUGH = 0.5
#: What it costs to fetch one number of a neighbour's row, and in narrow rows to find the row.
_ENTRY, _FIND = 2.5, 70
#: What it costs to read and write a number of the states in a full step, in one that is not mixed, in a narrow one,
#: and at the start: all wait for memory as long as for their products.
_STREAM, _PLAIN_STREAM, _NARROW_STREAM, _START_STREAM = 106, 67, 38, 49
#: Beyond this size states come from memory in every pass, and this is what each number costs more; narrow ones pass
#: more often.
_CACHED_BYTES, _FAR, _FAR_NARROW = 2**25, 60, 350
#: Products with fewer columns take as long as with so many.
_VECTOR = 16
#: A start whose error is so many times that of another is not worth fitting steps to.
_MUCH_WORSE = 2.0
#: A solve is given up whose residual is so much higher than another's for the same cost.
_FAR_BEHIND = 0.7
#: Plain steps may need more evaluations than mixed ones only where they cost no more than this share of them: an
#: evaluation saved is saved on every machine, what a product costs was measured on one.
_WORTH_EVALUATIONS = 0.85
#: What the calls for one pass over the states cost whatever their size.
_CALLS = 7e6


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
    chosen: tuple[float, NarrowStart, _Steps] | None = None
    for narrow, narrow_steps in _candidates(width, options):
        found = narrow_fit.fit(narrow, narrow_steps)
        if chosen is not None and found.error > _MUCH_WORSE * chosen[1].error:
            continue
        # The higher rank is tried with one stand-in alone: fitting takes time too.
        ranks = _ranks(width, options) if chosen is None else _ranks(width, options)[:1]
        tried = [(rank, 0.0) for rank in ranks]
        if options.rank is None:
            tried.append((ranks[0], options.tol))
        for rank, plain in tried:
            steps = _Steps(base, solution, rows, found.states, rank, options.ridge, plain)
            most = math.inf if chosen is None else chosen[0]
            trail = [] if chosen is None else _trail(f, chosen[1], chosen[2])
            # What costs more already than the best so far, or is far behind it, is not followed to its end.
            while _solve_cost(f, found, steps) < most and steps.goes_on(options):
                steps.advance()
                if _behind(_trail(f, found, steps)[-1], trail):
                    break
            cost = _solve_cost(f, found, steps)
            if plain and chosen and len(steps.lefts) > len(chosen[2].lefts):
                most *= _WORTH_EVALUATIONS
            given_up = steps.misses(options) if plain else steps.goes_on(options)
            if cost < most and not (chosen and given_up):
                chosen = cost, found, steps
    assert chosen is not None
    _, found, steps = chosen
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
        self._plain_to = plain_to
        self.plain = 0
        self._target = solution[rows]
        self._z = self._previous = start
        self.residuals: list[float] = []
        self.lefts: list[Tensor] = []
        self.rights: list[Tensor] = []

    def goes_on(self, options: MomentumOptions) -> bool:
        """Whether the last point that was evaluated misses the tolerance, and more steps may follow."""
        return self.misses(options) and len(self.lefts) < options.steps

    def misses(self, options: MomentumOptions) -> bool:
        """Whether no point was evaluated, or the last one misses the tolerance."""
        return not self.residuals or self.residuals[-1] > options.tol

    def advance(self) -> None:
        """Fit one more step, and take it."""
        z, previous, rows = self._z, self._previous, self.rows
        evaluation = self.f.evaluate(z)
        fz = evaluation.value
        relative = (evaluation.residual_sq.sum() / evaluation.value_sq.sum()).sqrt()
        self.residuals.append(float(relative))
        if not self.lefts[self.plain :] and 0 < self._plain_to < self.residuals[-1]:
            self._stay_plain(fz)
            return
        image, point = fz[rows], z[rows]
        regressors = torch.cat([image - point, point - previous[rows]], 1)
        fit = LeastSquares(regressors, self.ridge)
        left, right = fit.factors(fit.fit(self._target - image), self.rank)
        self.lefts.append(left)
        self.rights.append(right)
        ready, bounds = (products.prepare(left), products.prepare(right)), self.f.value_range
        proposed = products.mix(z, fz, previous, *ready, POOL.like(z), bounds)
        self._previous, self._z = z, proposed

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


def _trail(f: EquilibriumMap, found: NarrowStart, steps: _Steps) -> list[tuple[float, float]]:
    """What each evaluation of a solve has cost by then, and the residual that it showed."""
    costs = (_solve_cost(f, found, steps, count) for count in range(1, len(steps.lefts) + 1))
    return list(zip(costs, steps.residuals, strict=True))


def _behind(now: tuple[float, float], trail: list[tuple[float, float]]) -> bool:
    """Whether another solve had a much lower residual by the time it had cost as much."""
    return any(cost <= now[0] and residual <= _FAR_BEHIND * now[1] for cost, residual in trail)


def _solve_cost(
    f: EquilibriumMap, found: NarrowStart, steps: _Steps, count: int | None = None
) -> float:
    """What a solve costs, as measured, or its first ``count`` evaluations."""
    count = len(steps.lefts) if count is None else count
    (nodes, width), entries = f.bias.shape, f.adjacency.num_entries
    narrow, numbers = found.basis.shape[1], nodes * width
    dense = _ROUGH if pays(f.bias) else 1
    mixing = 3 * steps.rank or 2 * width
    plain = numbers * (dense * width + _PLAIN_STREAM) + _ENTRY * entries * width + _CALLS
    mixed = numbers * (dense * mixing + _STREAM - _PLAIN_STREAM) + _CALLS
    less = (
        numbers * (dense * 2 * narrow + _NARROW_STREAM)
        + entries * (_FIND + 2 * narrow)
        + 2 * _CALLS
    )
    start = numbers * (dense * 3 * narrow + _START_STREAM)
    if numbers * f.bias.element_size() > _CACHED_BYTES:
        plain, mixed = plain + _FAR * numbers, mixed + _FAR * numbers
        less += _FAR_NARROW * nodes * narrow
    fitted = max(count - steps.plain, 0)
    return count * plain + fitted * mixed + len(found.steps) * less + start
