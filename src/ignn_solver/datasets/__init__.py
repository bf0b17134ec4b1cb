"""Datasets by name: ``load("citeseer")``, ``load("chains:10")``, ``load("blocks", nodes=5000)``."""

from .data import NodeData
from .loading import load

__all__ = ["NodeData", "load"]
