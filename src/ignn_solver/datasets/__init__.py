"""Datasets by name: ``load("citeseer")``, ``load("chains:10")``, ``load("blocks", nodes=5000)``."""

from .data import NodeData
from .folds import folds
from .loading import load
from .pyg import from_data
from .tu import GraphDataset

__all__ = ["GraphDataset", "NodeData", "folds", "from_data", "load"]
