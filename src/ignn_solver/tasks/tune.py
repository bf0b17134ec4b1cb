"""Choosing a recipe by validation accuracy, with optuna; a study on disk goes on where it stopped."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..errors import InputError
from ..models import build
from ..progress import bar
from ..recipe import Recipe, load_recipe
from .node import fit
from .search import draw, recipe_of, starts

if TYPE_CHECKING:
    import optuna
    from torch_geometric.data import Data

#: Trials that are never stopped early, and epochs after which the others may be.
_WHOLE_TRIALS, _WHOLE_EPOCHS = 4, 30
#: Every report is written to disk and waited for.
_BETWEEN_REPORTS = 10
#: So many of the best trials are trained again to confirm them.
_FINALISTS = 2
#: In the search, solves need not be as close as afterwards.
_TOLERANCE = {model: {"tol": 1e-2} for model in ("ignn", "ignn-original", "eignn", "mignn")}


@dataclass(frozen=True)
class Tuned:
    """What a search found.

    Attributes:
        recipe: The best settings.
        val_accuracy: Their validation accuracy, between 0 and 1; the mean over the seeds of a confirmed trial.
        trial: The number of their trial, from 0.
        trials: How many trainings were made, those stopped early included.
    """

    recipe: Recipe
    val_accuracy: float
    trial: int
    trials: int


def tune(
    dataset: str,
    data: Data,
    model: str,
    study: Path,
    *,
    budget: int = 12,
    confirm: int = 0,
    seed: int = 0,
    progress: bool | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Tuned:
    """Try settings until the study has ``budget`` trials; the first are the paper's and the usual ones.

    The best of many trials owes much to luck. With ``confirm``, so many of the trials train the best two settings
    again, with other seeds, and the mean decides.

    Only training and validation nodes are looked at: the test mask is taken away first.

    Args:
        dataset: The dataset's name.
        data: Its graph.
        model: A name of ``ignn_solver.models``.
        study: The study's file; one that exists is gone on with.
        budget: Trials in all.
        confirm: How many of them confirm.
        seed: Draws the trials, and seeds their training.
        progress: Show a progress bar; by default on a terminal.
        say: Called with a line for each trial.

    Raises:
        InputError: When optuna is missing, or the study is of something else.
    """
    if find_spec("optuna") is None:
        raise InputError("optuna is not installed: pip install 'ignn-solver[tune]'")
    if budget < 1:
        raise InputError(f"a search needs at least 1 trial, not {budget}")
    if not 0 <= confirm < budget:
        raise InputError(
            f"of {budget} trials at most {budget - 1} can confirm, and no fewer than 0, not {confirm}"
        )
    start = load_recipe(dataset, _origin(dataset), model)
    seen = copy.copy(data)
    seen.test_mask = None
    found = _study(study, f"{dataset} {model}", seed)
    if not found.trials:
        for settings in starts(start, model):
            found.enqueue_trial(settings, skip_if_exists=True)
    elif confirm and _made(found) > budget - confirm:
        raise InputError(
            f"the study in {study} has {_made(found)} trials, which leaves fewer than {confirm} of {budget} "
            f"to confirm: give a budget of {_made(found) + confirm}, or name another study"
        )
    search = _Search(found, seen, model, start, seed, say)
    with bar(f"tuning {model} on {dataset}", budget, progress) as shown:
        while (made := _made(found)) < budget - confirm:
            shown.update(made, "")
            search.run(found.ask())
        best, accuracy, seeds = search.confirmed(
            confirm, lambda done: shown.update(made + done, "")
        )
        shown.update(budget, "")
    more = f" --confirm {confirm}" if confirm else ""
    over = f" over {seeds} seeds" if seeds > 1 else ""
    source = (
        f"`ignn-solver tune {dataset} --model {model} --budget {budget}{more} --seed {seed}`: trial "
        f"{best.number + 1} of {_made(found)}, validation accuracy {100 * accuracy:.1f}%{over}"
    )
    recipe = recipe_of(best.user_attrs["settings"], start, source)
    return Tuned(recipe, accuracy, best.number, _made(found) + confirm)


def _origin(dataset: str) -> str | None:
    """Where a search begins: at the paper's recipe, not at what an earlier search found."""
    try:
        load_recipe(dataset, "paper")
    except InputError:
        return None
    return "paper"


def _made(study: optuna.Study) -> int:
    from optuna.trial import TrialState

    return len(study.get_trials(False, (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)))


def _study(path: Path, name: str, seed: int) -> optuna.Study:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner(_WHOLE_TRIALS, _WHOLE_EPOCHS, _BETWEEN_REPORTS)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        storage = JournalStorage(JournalFileBackend(str(path)))
        names = optuna.get_all_study_names(storage)
        if not names or name in names:
            made = optuna.create_study(
                study_name=name, storage=storage, direction="maximize",
                load_if_exists=True, pruner=pruner,
            )  # fmt: skip
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} cannot be used as a study ({error}): name another") from error
    if names and name not in names:
        raise InputError(f"the study in {path} is of {names[0]}, not of {name}: name another")
    # A study that goes on must not draw again what it drew at its start.
    made.sampler = optuna.samplers.TPESampler(n_startup_trials=6, seed=seed + len(made.trials))
    return made


@dataclass(frozen=True)
class _Search:
    """What every training of a search has in common."""

    study: optuna.Study
    data: Data
    model: str
    start: Recipe
    seed: int
    say: Callable[[str], None]

    def run(self, trial: optuna.Trial) -> None:
        """Train with the settings of one trial and tell the study what validation said."""
        import optuna
        from optuna.trial import TrialState

        settings = draw(trial, self.model)
        trial.set_user_attr("settings", settings)
        best = 0.0

        def report(epoch: int, entry: dict[str, float]) -> None:
            nonlocal best
            best = max(best, entry["val_accuracy"])
            if (epoch + 1) % _BETWEEN_REPORTS == 0:
                trial.report(best, epoch + 1)
                if trial.should_prune():
                    raise optuna.TrialPruned

        shown, label = _shown(settings), f"trial {trial.number + 1}"
        try:
            reached = self._trained(settings, self.seed, report)
        except optuna.TrialPruned:
            self.study.tell(trial, state=TrialState.PRUNED)
            self.say(f"{label}: stopped early at {100 * best:.1f}%  {shown}")
            return
        state = TrialState.FAIL if reached is None else TrialState.COMPLETE
        self.study.tell(trial, reached, state)
        self.say(f"{label}: {_ended(reached)}  {shown}")

    def confirmed(
        self, trainings: int, done: Callable[[int], None]
    ) -> tuple[optuna.trial.FrozenTrial, float, int]:
        """The best trial, its accuracy and over how many seeds, after so many trainings of the best ones."""
        from optuna.trial import TrialState

        trials = self.study.get_trials(False, (TrialState.COMPLETE,))
        best = sorted(trials, key=lambda trial: trial.values[0], reverse=True)[:_FINALISTS]
        if not trainings or not best:
            return self.study.best_trial, self.study.best_value, 1
        values = {trial.number: list(trial.values) for trial in best}
        for turn in range(trainings):
            done(turn)
            trial, seed = best[turn % len(best)], self.seed + 1 + turn // len(best)
            name = f"trial {trial.number + 1} with seed {seed}"
            reached = self.study.user_attrs.get(name)
            if reached is None:
                settings = trial.user_attrs["settings"]
                found = self._trained(settings, seed)
                self.say(f"{name}: {_ended(found)}  {_shown(settings)}")
                reached = found or 0.0
                self.study.set_user_attr(name, reached)
            values[trial.number].append(reached)
        means = {number: sum(some) / len(some) for number, some in values.items()}
        chosen = max(best, key=lambda trial: means[trial.number])
        return chosen, means[chosen.number], len(values[chosen.number])

    def _trained(
        self,
        settings: dict[str, float],
        seed: int,
        report: Callable[[int, dict[str, float]], None] | None = None,
    ) -> float | None:
        """The validation accuracy of a training; ``None`` if it diverged."""
        recipe = recipe_of(settings, self.start, "")
        torch.manual_seed(seed)
        network = build(
            self.model,
            in_channels=self.data.num_features,
            num_classes=self.data.num_classes,
            **recipe.model,
            **_TOLERANCE.get(self.model, {}),
        )
        try:
            result = fit(
                network, self.data, seed=seed, progress=False, on_epoch=report, **recipe.training
            )
        except InputError as error:
            if "diverged" not in str(error):
                raise
            return None
        return result.val_accuracy


def _ended(reached: float | None) -> str:
    return "diverged" if reached is None else f"validation {100 * reached:.1f}%"


def _shown(settings: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:g}" for name, value in settings.items())


def recipe_text(recipe: Recipe) -> str:
    """A recipe as TOML, with its source as a comment."""
    lines = [f"# Found by {recipe.source}.", "# Test labels were not looked at."]
    sections: dict[str, dict[str, Any]] = {
        "model": recipe.model, "training": recipe.training, "solver": recipe.solver
    }  # fmt: skip
    for name, section in sections.items():
        if section:
            lines += [
                "",
                f"[{name}]",
                *(f"{key} = {json.dumps(value)}" for key, value in section.items()),
            ]
    return "\n".join(lines) + "\n"
