"""``fit_solver``: learn a solver for one model on one graph, in seconds and without labels."""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..equilibrium import EquilibriumMap
from ..errors import InputError
from ..ordering import settle_order
from ..solvers.learned import Learned
from ..solvers.mixed import MixedAnderson
from ..solving import solve
from .initializer import initializer as make_initializer
from .losses import LossWeights
from .mixer import Mixer
from .momentum import MomentumOptions, fit_momentum
from .training import OnUpdate, train_unrolled
from .unroll import UnrollOptions

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..nn.classifiers import IGNN
    from ..nn.graph_classifier import GraphIGNN

LearnedSolver = Learned | MixedAnderson

#: What each preset of the paper's family is made of.
PAPER_PRESETS: dict[str, dict[str, Any]] = {
    "learned-paper": {"mixer": "gn", "initializer": "mlp-bx"},
    "learned-nn": {"mixer": "nn", "initializer": "mlp-bx"},
    "learned-aa": {"mixer": "aa", "initializer": "mlp-bx"},
}
PRESETS = ("learned", *PAPER_PRESETS)

#: How closely the equilibrium to learn from is solved.
_TOLERANCE = 1e-6


def fit_solver(
    model: IGNN | GraphIGNN,
    data: Data,
    preset: str = "learned",
    *,
    steps: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
    on_update: OnUpdate | None = None,
    **options: Any,
) -> LearnedSolver:
    """Learn a solver for this model on this graph; no labels are used.

    Args:
        model: The trained model.
        data: The graph to learn on.
        preset: ``"learned"`` (the default: closed forms, no training loop), ``"learned-paper"``
            (IGNN-Solver exactly as published), ``"learned-nn"`` or ``"learned-aa"`` (its variants).
        steps: Steps with parameters of their own (``"learned"``), or unrolled in training (K).
        seed: Makes everything random.
        progress: Show a progress bar; by default on a terminal.
        on_update: Called after each update of the presets that are trained, with its number and the
            loss and errors then; ``"learned"`` has none.
        **options: For ``"learned"``: ``rank``, ``narrow``, ``ridge``, ``degree``, ``base``. For the
            others: ``mixer``, ``initializer``, ``window``, ``compressed``, ``hidden``, ``scope``, ``density``,
            ``sparsifier``, ``iterations``, ``lr``, ``lambda_reconstruction``, ``lambda_initial``,
            ``lambda_alpha``, ``schedule``, ``memory``, ``nodes``, ``safeguard``, ``history``.

    Returns:
        The solver: pass it to ``model.predict(data, solver=...)``.

    Raises:
        InputError: For an unknown preset or option, or a graph that does not fit the model.
    """
    if preset not in PRESETS:
        raise InputError(f"unknown preset {preset!r}: choose one of {', '.join(PRESETS)}")
    if steps is not None and steps < 1:
        raise InputError(f"a learned solver needs at least 1 step, not {steps}")
    started = time.perf_counter()
    f, solution = equilibrium(model, data)
    if preset == "learned":
        chosen = _momentum_options(steps, seed, options)
        learned: LearnedSolver = fit_momentum(f, solution, chosen)
    else:
        learned = _new_mixed(f, preset, seed, steps, dict(PAPER_PRESETS[preset]), options)
        unrolled = _unroll_options(steps, seed, options)
        history = train_unrolled(learned, f, solution, unrolled, progress, on_update)
        # Of the mixer's updates, where there is a mixer.
        last = [one for one in history if one["steps"] == history[-1]["steps"]]
        learned.details["history"] = [one["last_error"] for one in last]
    learned.details["seconds"] = time.perf_counter() - started
    return learned


def equilibrium(model: IGNN | GraphIGNN, data: Data) -> tuple[EquilibriumMap, Tensor]:
    """The model's map on this graph, frozen, and its fixed point to a tight tolerance."""
    training = model.training
    model.eval()
    with torch.no_grad():
        f = model.equilibrium_map(data).detach()
    model.train(training)
    settle_order(f.adjacency, f.bias.shape[1])
    return f, solve(f, tol=_TOLERANCE).value


def adapt_mixed(
    solver: MixedAnderson, model: IGNN, data: Data, *, steps: int, **options: Any
) -> MixedAnderson:
    """A copy of the solver after a few more unsupervised updates on this model and graph."""
    adapted = replace(
        solver,
        initializer=copy.deepcopy(solver.initializer),
        mixer=copy.deepcopy(solver.mixer),
        details=dict(solver.details),
    )
    f, solution = equilibrium(model, data)
    unrolled = _unroll_options(solver.details.get("steps"), 0, {"iterations": steps, **options})
    train_unrolled(adapted, f, solution, replace(unrolled, ramp=False), progress=False)
    return adapted


def _momentum_options(steps: int | None, seed: int, options: dict[str, Any]) -> MomentumOptions:
    known = {"rank", "narrow", "ridge", "degree", "base"}
    _refuse_unknown(options.keys() - known, known)
    defaults = MomentumOptions()
    return replace(defaults, seed=seed, steps=steps or defaults.steps, **options)


_LOSSES = {
    "lambda_reconstruction": "reconstruction",
    "lambda_initial": "initial",
    "lambda_alpha": "alpha",
    "schedule": "schedule",
}
_PARTS = {"mixer", "initializer", "window", "compressed", "hidden", "scope"}
_SOLVER = {"density", "sparsifier", "safeguard", "history"}
_TRAINING = {"iterations", "lr", "memory", "nodes"}


def _refuse_unknown(unknown: set[str], known: set[str]) -> None:
    if unknown:
        raise InputError(f"unknown option {min(unknown)!r}: known are {', '.join(sorted(known))}")


def _unroll_options(steps: int | None, seed: int, options: dict[str, Any]) -> UnrollOptions:
    losses = LossWeights(**{_LOSSES[k]: v for k, v in options.items() if k in _LOSSES})
    training = {key: value for key, value in options.items() if key in _TRAINING}
    defaults = UnrollOptions()
    return replace(defaults, steps=steps or defaults.steps, seed=seed, losses=losses, **training)


def _new_mixed(
    f: EquilibriumMap,
    preset: str,
    seed: int,
    steps: int | None,
    parts: dict[str, Any],
    options: dict[str, Any],
) -> MixedAnderson:
    known = _PARTS | _SOLVER | _TRAINING | _LOSSES.keys()
    _refuse_unknown(options.keys() - known, known)
    parts |= {key: value for key, value in options.items() if key in _PARTS}
    width = f.weight.shape[0]
    in_channels = None if f.features is None else int(f.features.shape[1])
    recorded = {
        "preset": preset,
        "width": width,
        "in_channels": in_channels,
        "steps": steps,
        **parts,
    }
    solver_options = {key: value for key, value in options.items() if key in _SOLVER}
    solver_options.setdefault("safeguard", False)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make_mixed(recorded, **solver_options)


def make_mixed(details: dict[str, Any], **options: Any) -> MixedAnderson:
    """An untrained solver of the paper's family with the parts that ``details`` names."""
    width = details["width"]
    guess = make_initializer(details["initializer"], width, details["in_channels"])
    names = ("window", "compressed", "hidden", "scope")
    chosen = {name: details[name] for name in names if name in details}
    kind = details["mixer"]
    mixer = None if kind == "aa" else Mixer(kind, width, **chosen)
    window = chosen.get("window", 5)
    return MixedAnderson(guess, mixer, window=window, details=details, **options)
