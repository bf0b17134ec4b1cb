"""Graphs that change: repair an equilibrium where it is wrong instead of solving again."""

from .change import GraphChange
from .local import update
from .maps import changed_map
from .patch import with_edges

__all__ = ["GraphChange", "changed_map", "update", "with_edges"]
