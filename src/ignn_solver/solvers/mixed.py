"""The paper's learned solver: an initializer, and Anderson steps with predicted weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..adjacency import Adjacency
from ..equilibrium import AdjointMap, EquilibriumMap, FixedPointMap
from ..errors import InputError
from ..learning.initializer import Initializer
from ..learning.mixer import Mixer, SparseGraph
from ..learning.sparsify import sparsified
from .anderson import Anderson
from .half import HalfSteps, check_history

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..nn.classifiers import IGNN


@dataclass
class Window:
    """The last steps of a solve: images, residuals and compressed residuals, oldest first.

    With ``half`` it keeps the images and residuals there; not for training, as they have no gradients.
    """

    adjacency: Adjacency
    sparse: SparseGraph | None
    half: HalfSteps | None = None
    values: list[Tensor] = field(default_factory=list)
    residuals: list[Tensor] = field(default_factory=list)
    compressed: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def push(self, mixer: Mixer, z: Tensor, fz: Tensor) -> None:
        """Store a step, compress its residual, and forget the oldest if there is no room."""
        residual = fz - z
        if self.half is not None:
            self.half.push(z, fz)
        else:
            # In a solve the loop reuses the memory of fz; in training it must keep its gradient.
            self.values.append(fz if torch.is_grad_enabled() else fz.clone())
            self.residuals.append(residual)
        self.compressed.append(mixer.compress(residual, self.adjacency))
        for stored in (self.values, self.residuals, self.compressed):
            del stored[: -(mixer.window + 1)]

    def combine(self, alpha: Tensor, beta: Tensor) -> Tensor:
        r""":math:`\sum_i \alpha_i (\beta f(Z_i) + (1 - \beta) Z_i)`, with weights for each row."""
        alpha, beta = self.adjacency.spread(alpha), self.adjacency.spread(beta)
        if self.half is not None:
            return self.half.combine(alpha, beta)
        result = torch.zeros_like(self.values[0])
        for i, (value, residual) in enumerate(zip(self.values, self.residuals, strict=True)):
            weight = alpha[:, i : i + 1]
            result = result + weight * value - (weight * (1 - beta)) * residual
        return result


@dataclass(frozen=True, eq=False)
class MixedAnderson:
    """IGNN-Solver as published: learned first guess, and Anderson steps with learned weights.

    Make one with ``ignn_solver.fit_solver(model, data, preset="learned-paper")``.

    Attributes:
        initializer: The paper's h_phi.
        mixer: The paper's s_xi; ``None`` for Anderson's own least squares (the variant "AA").
        density: Share of the edges that the mixer's graph keeps.
        sparsifier: How they are chosen.
        window: How many past steps to use besides the newest, for the variant without a mixer.
        safeguard: Let the loop replace steps that do not lower the residual enough.
        history: Keep the steps of a solve in ``"full"`` precision, or in ``"half"``: about half the memory.
        details: How it was fitted.
    """

    initializer: Initializer = field(repr=False)
    mixer: Mixer | None = field(repr=False)
    density: float = 0.3
    sparsifier: str = "pri"
    window: int = 5
    safeguard: bool = True
    history: str = "full"
    details: dict[str, Any] = field(default_factory=dict)

    kind = "mixed"
    #: Initializers may read the features of the nodes, and the sparsified graph is kept for their order.
    any_order = False

    def __post_init__(self) -> None:
        check_history(self.history)

    @property
    def num_parameters(self) -> int:
        """How many numbers were learnt."""
        modules = [self.initializer] + ([] if self.mixer is None else [self.mixer])
        return sum(p.numel() for module in modules for p in module.parameters())

    def _classical(self) -> Anderson:
        return Anderson(window=self.window, history=self.history)

    def initial(self, f: FixedPointMap) -> tuple[Tensor, int]:
        """The initializer's guess, and the evaluations its graph layers are worth."""
        if not isinstance(f, EquilibriumMap):
            return f.start(), 0
        self._check(f)
        return self.initializer(f), self.initializer.evaluations

    def init(self, f: FixedPointMap, z0: Tensor) -> Any:
        """An empty window; the sparsified graph is made once per graph."""
        if self.mixer is None:
            return self._classical().init(f, z0)
        if isinstance(f, AdjointMap):
            raise InputError("the paper's solver steps the forward map only: leave backward_solver")
        half = HalfSteps(self.mixer.window) if self.history == "half" else None
        return Window(f.adjacency, self.sparse_graph(f.adjacency), half)

    def sparse_graph(self, adjacency: Adjacency) -> Adjacency | None:
        """The graph that the mixer sees; ``None`` for mixers that see none."""
        if self.mixer is None or self.mixer.kind != "gn":
            return None
        return sparsified(adjacency, self.density, self.sparsifier)

    def step_cost(self, adjacency: Adjacency) -> float:
        """What the mixer's pass over its sparsified graph costs at each step, in evaluations.

        It is the share of the products with an entry of A: entries times width, beside those of f.
        """
        sparse = self.sparse_graph(adjacency)
        if self.mixer is None or sparse is None:
            return 0.0
        return sparse.num_entries * self.mixer.hidden / (adjacency.num_entries * self.mixer.width)

    def step(self, z: Tensor, fz: Tensor, state: Any) -> tuple[Tensor, Any]:
        """An Anderson step with the mixer's weights."""
        if self.mixer is None:
            return self._classical().step(z, fz, state)
        state.push(self.mixer, z, fz)
        alpha, beta = self.mixer(state.compressed, state.adjacency, state.sparse)
        return state.combine(alpha, beta), state

    def save(self, folder: str | Path) -> Path:
        """Write the solver into a folder; ``ignn_solver.load_solver`` reads it."""
        from ..learning.store import save_solver

        return save_solver(self, folder)

    def adapt(self, model: IGNN, data: Data, *, steps: int = 20, **options: Any) -> MixedAnderson:
        """Go on learning for a few unsupervised steps on a changed model or graph."""
        from ..learning.fit import adapt_mixed

        return adapt_mixed(self, model, data, steps=steps, **options)

    def _check(self, f: EquilibriumMap) -> None:
        wanted = self.details.get("width", f.weight.shape[0])
        if f.weight.shape[0] != wanted:
            raise InputError(
                f"this solver was learnt for node states of width {wanted}, but the model has "
                f"width {f.weight.shape[0]}: fit a solver for this model"
            )
