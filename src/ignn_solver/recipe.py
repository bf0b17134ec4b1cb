"""Recipes: everything that defines a run on one dataset, as TOML."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from .errors import InputError

_SECTIONS = ("model", "training", "solver")


@dataclass(frozen=True)
class Recipe:
    """Hyper-parameters of a run.

    Attributes:
        model: Arguments of the model, such as ``hidden_channels`` and ``kappa``.
        training: Arguments of ``fit``, such as ``lr`` and ``epochs``.
        solver: Arguments of ``fit_solver``, such as ``steps``.
        source: Where they come from.
    """

    model: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    solver: dict[str, Any] = field(default_factory=dict)
    source: str = "defaults"


_DEFAULT = Recipe(model={"hidden_channels": 128})
#: What of another model's recipe every model can use.
_SHARED = ("hidden_channels", "dropout")


def load_recipe(dataset: str, which: str | None = None, model: str = "ignn") -> Recipe:
    """The recipe of a dataset, for a model.

    Args:
        dataset: The dataset's name; what follows a colon does not count.
        which: ``"tuned"`` or ``"paper"``, or the path of a TOML file; by default the tuned recipe
            if there is one, else the paper's, else the defaults.
        model: Which model. The others' tuned recipes are named ``DATASET-MODEL-tuned.toml``; a model
            without one takes the hidden size, the dropout and the training of ours.

    Raises:
        InputError: When there is no such recipe, or it is not valid.
    """
    base = dataset.partition(":")[0].lower()
    folder = files("ignn_solver") / "recipes"
    places = [
        ("tuned", folder / f"{base}-{model}-tuned.toml"),
        ("paper", folder / f"{base}.toml"),
        ("tuned", folder / f"{base}-tuned.toml"),
    ]
    if model == "ignn":
        places = [places[2], places[1]]
    if which not in (None, "tuned", "paper"):
        path = Path(which)
        if not path.is_file():
            raise InputError(f"no recipe {which!r}: say tuned, paper, or the path of a TOML file")
        return _parse(_read(path), str(path))
    for position, (name, place) in enumerate(places):
        if which in (None, name) and place.is_file():
            text = place.read_text(encoding="utf-8")
            if model == "ignn":
                return _parse(text, f"{name} recipe for {base}")
            if position == 0:
                return _parse(text, f"tuned recipe of {model} for {base}")
            return _shared(_parse(text, f"{name} recipe for {base}, of ignn"))
    if which is not None:
        raise InputError(
            f"there is no {which} recipe for {base}: leave the recipe out to use the defaults"
        )
    return _DEFAULT


def _shared(recipe: Recipe) -> Recipe:
    """What of our model's recipe another model can use."""
    model = {key: value for key, value in recipe.model.items() if key in _SHARED}
    return replace(recipe, model=model, solver={})


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the recipe {path} is not a readable text file ({error})") from error


def _parse(text: str, source: str) -> Recipe:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source} is not valid TOML: {error}") from error
    unknown = content.keys() - set(_SECTIONS)
    if unknown:
        sections = ", ".join(_SECTIONS)
        raise InputError(f"{source} has an unknown section {min(unknown)!r}: known are {sections}")
    for name, section in content.items():
        if not isinstance(section, dict):
            raise InputError(
                f"{source} sets {name} = {section!r}: it must be a section, [{name}], with settings below"
            )
    return Recipe(**content, source=source)
