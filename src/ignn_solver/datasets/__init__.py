"""Datasets by name: ``load("citeseer")``, ``load("chains:10")``, ``load("blocks", nodes=5000)``.

Names are imported when first used: PyG takes seconds to import, and the table needs none of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .catalogue import Description, describe, names
    from .cross_validation import folds
    from .data import NodeData
    from .loading import load
    from .own import from_files, write_predictions
    from .pyg import from_data
    from .tu import GraphDataset

__all__ = [
    "Description",
    "GraphDataset",
    "NodeData",
    "describe",
    "folds",
    "from_data",
    "from_files",
    "load",
    "names",
    "write_predictions",
]

_HOMES = {
    "Description": "catalogue",
    "GraphDataset": "tu",
    "NodeData": "data",
    "describe": "catalogue",
    "folds": "cross_validation",
    "from_data": "pyg",
    "from_files": "own",
    "load": "loading",
    "names": "catalogue",
    "write_predictions": "own",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
