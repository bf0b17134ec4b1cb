"""Solvers: small frozen configurations, one a file, all driven by the loop in ``solve``."""

from .anderson import Anderson
from .broyden import Broyden
from .picard import Picard
from .sweep import Sweep

__all__ = ["Anderson", "Broyden", "Picard", "Sweep"]
