"""Implicit graph neural networks made fast: learned, safeguarded, certified fixed-point solvers.

Names are imported when they are first used, so that the command line answers at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import solvers as solvers
    from .adjacency import Adjacency as Adjacency
    from .adjoint import implicit as implicit
    from .adjoint import unrolled as unrolled
    from .equilibrium import Contraction as Contraction
    from .equilibrium import EquilibriumMap as EquilibriumMap
    from .errors import InputError as InputError
    from .learning.fit import fit_solver as fit_solver
    from .learning.store import load_solver as load_solver
    from .nn.classifiers import IGNN as IGNN
    from .nn.conv import IGNNConv as IGNNConv
    from .nn.prediction import Prediction as Prediction
    from .solvers.anderson import Anderson as Anderson
    from .solvers.broyden import Broyden as Broyden
    from .solvers.picard import Picard as Picard
    from .solvers.sweep import Sweep as Sweep
    from .solving import Solution as Solution
    from .solving import SolveError as SolveError
    from .solving import Status as Status
    from .solving import solve as solve
    from .tasks.checkpoint import load_model as load_model
    from .tasks.checkpoint import save_model as save_model
    from .tasks.node import FitResult as FitResult
    from .tasks.node import accuracy as accuracy
    from .tasks.node import fit as fit

#: The module of each public name; packages stand for themselves.
_HOMES = {
    "IGNN": "nn.classifiers",
    "Adjacency": "adjacency",
    "Anderson": "solvers.anderson",
    "Broyden": "solvers.broyden",
    "Contraction": "equilibrium",
    "EquilibriumMap": "equilibrium",
    "FitResult": "tasks.node",
    "IGNNConv": "nn.conv",
    "InputError": "errors",
    "Picard": "solvers.picard",
    "Prediction": "nn.prediction",
    "Solution": "solving",
    "SolveError": "solving",
    "Status": "solving",
    "Sweep": "solvers.sweep",
    "accuracy": "tasks.node",
    "datasets": "",
    "fit": "tasks.node",
    "fit_solver": "learning.fit",
    "implicit": "adjoint",
    "load_model": "tasks.checkpoint",
    "load_solver": "learning.store",
    "save_model": "tasks.checkpoint",
    "solve": "solving",
    "solvers": "",
    "unrolled": "adjoint",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    if not home:
        return import_module(f".{name}", __name__)
    return getattr(import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
