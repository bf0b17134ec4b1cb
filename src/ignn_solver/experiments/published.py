"""The paper's own figures, read from ``published.toml``."""

from __future__ import annotations

import tomllib
from importlib.resources import files


def published(table: str) -> dict[tuple[str, str], tuple[float, float | None]]:
    """Mean and standard deviation, in percent, by (dataset, model) of a table of the paper."""
    text = (files("ignn_solver") / "experiments" / "published.toml").read_text(encoding="utf-8")
    return {
        (dataset, model): (figure[0], figure[1] if len(figure) > 1 else None)
        for dataset, models in tomllib.loads(text)[table].items()
        for model, figure in models.items()
    }
