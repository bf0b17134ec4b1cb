"""Names that several commands share; importing them loads nothing else."""

from __future__ import annotations

#: The solvers that learn nothing.
CLASSICAL = ("picard", "anderson", "broyden", "sweep")
