"""Implicit graph neural networks made fast: learned, safeguarded, certified fixed-point solvers."""

from . import datasets, solvers
from .adjacency import Adjacency
from .adjoint import implicit, unrolled
from .equilibrium import Contraction, EquilibriumMap
from .errors import InputError
from .learning.fit import fit_solver
from .learning.store import load_solver
from .nn.classifiers import IGNN, Prediction
from .nn.conv import IGNNConv
from .solve import Solution, SolveError, Status, solve
from .solvers import Anderson, Broyden, Picard, Sweep
from .tasks.checkpoint import load_model, save_model
from .tasks.node import FitResult, accuracy, fit

__all__ = [
    "IGNN",
    "Adjacency",
    "Anderson",
    "Broyden",
    "Contraction",
    "EquilibriumMap",
    "FitResult",
    "IGNNConv",
    "InputError",
    "Picard",
    "Prediction",
    "Solution",
    "SolveError",
    "Status",
    "Sweep",
    "accuracy",
    "datasets",
    "fit",
    "fit_solver",
    "implicit",
    "load_model",
    "load_solver",
    "save_model",
    "solve",
    "solvers",
    "unrolled",
]
