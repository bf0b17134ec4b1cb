"""What the learned solver answers on graphs it never saw, beside the exact equilibrium."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tasks.protocols import Curves, nested

if TYPE_CHECKING:
    from torch_geometric.data import InMemoryDataset

    from ..nn.graph_classifier import GraphIGNN
    from ..tasks.graph import Parts

#: Most training graphs that the solver is learned on.
_LEARNED_ON = 500
_EXACT = 1e-6
_TOLERANCE = 1e-3


class ChosenWeights:
    """Keeps the weights of the epoch that protocol ``nested`` chooses; for ``train_fold(on_epoch=...)``.

    Args:
        model: The model in training.
    """

    def __init__(self, model: GraphIGNN) -> None:
        self.model, self.epoch = model, -1
        self._weights: dict[str, Any] = {}

    def __call__(self, epoch: int, curves: Curves) -> None:
        """Keep the weights if this epoch is the best so far."""
        if nested([curves]) == [epoch]:
            self.epoch, self._weights = epoch, copy.deepcopy(self.model.state_dict())

    def restore(self) -> None:
        """Give the model the weights of the chosen epoch."""
        self.model.load_state_dict(self._weights)


def compare_solvers(
    model: GraphIGNN, dataset: InMemoryDataset, parts: Parts, seed: int
) -> dict[str, Any]:
    """Classify the test graphs with a solver learned on training graphs, and with plain iteration.

    The learned solver and plain iteration go to a residual of 1e-3, as a user would; ``exact`` is plain
    iteration to 1e-6.

    Args:
        model: A trained model with one implicit layer.
        dataset: All graphs.
        parts: The fold: the solver is learned on graphs of ``train``, and used on those of ``test``.
        seed: Seeds the solver.

    Returns:
        For each of the three, accuracy and mean evaluations a graph; and how many graphs get another class
        than that of the exact equilibrium.
    """
    from torch_geometric.data import Batch

    from ..learning.fit import fit_solver

    known = Batch.from_data_list([dataset[int(i)] for i in parts.train[:_LEARNED_ON]])
    unseen = Batch.from_data_list([dataset[int(i)] for i in np.asarray(parts.test)])
    learned = fit_solver(model, known, seed=seed, progress=False)
    answers = {
        "learned": model.predict(unseen, solver=learned, tol=_TOLERANCE),
        "plain": model.predict(unseen, tol=_TOLERANCE),
        "exact": model.predict(unseen, tol=_EXACT),
    }
    exact = answers["exact"].classes
    return {
        name: {
            "accuracy": round(float((answer.classes == unseen.y).double().mean()), 5),
            "evals": round(float(answer.evals.double().mean()), 3),
            "different": int((answer.classes != exact).sum()),
        }
        for name, answer in answers.items()
    } | {"fit_seconds": round(learned.details["seconds"], 3)}


def solver_figures(folds: list[dict[str, Any]]) -> dict[str, Any]:
    """What ``compare_solvers`` gave in each fold, as one flat row: means, and graphs that differ."""
    figures: dict[str, Any] = {}
    for name in ("learned", "plain", "exact"):
        found = [fold[name] for fold in folds]
        figures[f"{name}_mean"] = round(100 * float(np.mean([one["accuracy"] for one in found])), 2)
        figures[f"{name}_evals"] = round(float(np.mean([one["evals"] for one in found])), 2)
        figures[f"{name}_different"] = sum(one["different"] for one in found)
    return figures


def solver_note(rows: list[dict[str, Any]], titles: dict[str, str]) -> str | None:
    """One sentence on the learned solver's answers, from the rows that have ``solver_figures``."""
    known = [row for row in rows if "learned_evals" in row]
    if not known:
        return None
    each = ", ".join(
        f"{titles[row['dataset']]} {row['learned_evals']:.1f} instead of {row['plain_evals']:.1f}"
        for row in known
    )
    different = sum(row["learned_different"] for row in known)
    count = "every test graph gets" if different == 0 else f"all but {different} test graphs get"
    return (
        "In every fold a solver is learned on training graphs and tried on the test graphs, with the weights "
        f"of the chosen epoch: {count} the class of the exact equilibrium. Evaluations a graph to a residual "
        f"of 1e-3, beside those of plain iteration: {each}."
    )
