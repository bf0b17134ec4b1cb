"""What `ignn-solver tune` looks through: a few settings of every model, a few more of some."""

from __future__ import annotations

from typing import Any, Protocol

from ..recipe import Recipe

#: Every trial is trained like this; so is the recipe that comes out.
TRAINING: dict[str, Any] = {"epochs": 200, "patience": 30}
WIDEST = 128
_LR = (1e-3, 2e-2)
_WEIGHT_DECAYS = [0.0, 5e-4, 2e-3, 1e-2]
_DROPOUTS = [0.2, 0.5, 0.8]
_KAPPAS = [0.5, 0.7, 0.9]
_MODELS: dict[str, dict[str, list[float]]] = {
    "ignn": {
        "kappa": _KAPPAS,
        "input_dropout": [0.0, 0.5, 0.8, 0.9],
        "unit_features": [False, True],
    },
    "ignn-original": {"kappa": _KAPPAS},
    "mignn": {"kappa": _KAPPAS},
}


class Trial(Protocol):
    """What a trial of optuna offers."""

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        """A number from a range."""

    def suggest_categorical(self, name: str, choices: Any) -> Any:
        """One of several."""


def draw(trial: Trial, model: str) -> dict[str, float]:
    """The settings of one trial, by name."""
    settings = {
        "lr": trial.suggest_float("lr", *_LR, log=True),
        "weight_decay": trial.suggest_categorical("weight_decay", _WEIGHT_DECAYS),
        "dropout": trial.suggest_categorical("dropout", _DROPOUTS),
    }
    for name, choices in _MODELS.get(model, {}).items():
        settings[name] = trial.suggest_categorical(name, choices)
    return {**settings, "lr": float(f"{settings['lr']:.2g}")}


def starts(recipe: Recipe, model: str) -> list[dict[str, float]]:
    """What is tried first: the dataset's recipe, and what the field usually takes."""
    dropout = _nearest(_DROPOUTS, recipe.model.get("dropout", 0.5))
    decay = _nearest(_WEIGHT_DECAYS, recipe.training.get("weight_decay", 5e-4))
    lr = min(max(recipe.training.get("lr", 0.01), _LR[0]), _LR[1])
    wanted = {
        "kappa": recipe.model.get("kappa", 0.9),
        "input_dropout": recipe.model.get("input_dropout", dropout),
        "unit_features": recipe.model.get("unit_features", False),
    }
    more = {name: _nearest(some, wanted[name]) for name, some in _MODELS.get(model, {}).items()}
    return [
        {"lr": lr, "weight_decay": decay, "dropout": dropout, **more},
        {"lr": 0.01, "weight_decay": 5e-4, "dropout": 0.5, **more},
    ]


def _nearest(choices: list[float], wanted: float) -> float:
    return min(choices, key=lambda choice: abs(choice - wanted))


def recipe_of(settings: dict[str, float], recipe: Recipe, source: str) -> Recipe:
    """The recipe that these settings make, with what the dataset's recipe says of the solver."""
    training = {key: settings[key] for key in ("lr", "weight_decay")}
    model = {key: value for key, value in settings.items() if key not in training}
    hidden = min(WIDEST, recipe.model.get("hidden_channels", WIDEST))
    return Recipe(
        {"hidden_channels": hidden, **model}, {**training, **TRAINING}, dict(recipe.solver), source
    )
