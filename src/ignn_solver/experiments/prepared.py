"""Trained models and fitted solvers that the figures share: made once, kept in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..benchmark.trained import trained
from ..datasets.loading import load_nodes
from ..errors import InputError
from ..learning.fit import PAPER_PRESETS, LearnedSolver, fit_solver
from ..learning.store import FILE, load_solver, save_solver
from ..recipe import load_recipe
from ..tasks.node import read_result
from .request import Request

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..nn.classifiers import IGNN

_QUICK_UPDATES = 30


@dataclass(frozen=True)
class Prepared:
    """A trained model with its graph, and the solvers learnt for it.

    Attributes:
        dataset: Name of the dataset.
        data: The graph.
        model: The model, trained by the recipe.
        training_seconds: What its training took.
        folder: Where model and solvers are kept.
        seed: Seed of everything random.
        quick: Whether solvers are learnt with few updates.
    """

    dataset: str
    data: Data
    model: IGNN
    training_seconds: float
    folder: Path
    seed: int
    quick: bool

    def solver(self, preset: str, **options: Any) -> LearnedSolver:
        """The solver of a preset of ``fit_solver``; for the paper's, with its settings for the dataset.

        Args:
            preset: The preset.
            **options: What to set differently.
        """
        place = "-".join([preset, *(f"{name}={value}" for name, value in sorted(options.items()))])
        folder = self.folder / "solvers" / place
        if (folder / FILE).exists():
            return load_solver(folder)
        chosen = paper_settings(self.dataset, self.quick) if preset in PAPER_PRESETS else {}
        chosen |= options
        solver = fit_solver(self.model, self.data, preset, seed=self.seed, progress=False, **chosen)
        save_solver(solver, folder)
        return solver


def paper_settings(dataset: str, quick: bool) -> dict[str, Any]:
    """The paper's settings of its solver for a dataset, as far as it gives any."""
    try:
        settings = load_recipe(dataset, "paper").solver
    except InputError:
        settings = {}
    return {**settings, **({"iterations": _QUICK_UPDATES} if quick else {})}


def prepare(dataset: str, request: Request, progress: bool | None = False) -> Prepared:
    """The trained model of a dataset, from the folder ``models`` of the output, else trained now.

    Args:
        dataset: Its name.
        request: What was asked for.
        progress: Show a progress bar of the training; not where there is one of the cells already.
    """
    data = load_nodes(dataset, request.data_dir, seed=request.seed)
    epochs = request.epochs
    name = f"{dataset.replace(':', '-')}-seed-{request.seed}"
    if epochs is not None:
        name += f"-epochs-{epochs}"
    folder = request.output / "models" / name
    options = None if epochs is None else {"epochs": epochs}
    model = trained(dataset, data, folder, request.seed, progress, training_options=options)
    seconds = read_result(folder).seconds
    return Prepared(dataset, data, model, seconds, folder, request.seed, request.quick)
