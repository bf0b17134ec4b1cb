"""Learned solvers on disk: one safetensors file, whole or not at all, no code in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from ..errors import InputError
from ..solvers.learned import Learned
from ..solvers.mixed import MixedAnderson
from ..tensors import load_tensors, load_weights, save_tensors
from .fit import LearnedSolver, make_mixed

_FORMAT = 1
FILE = "solver.safetensors"
_OPTIONS = ("density", "sparsifier", "safeguard", "history")


def save_solver(solver: LearnedSolver, folder: str | Path) -> Path:
    """Write a learned solver into ``folder``.

    Returns:
        The file written.
    """
    path = Path(folder) / FILE
    metadata: dict[str, Any] = {"format": _FORMAT, "kind": solver.kind, "details": solver.details}
    if isinstance(solver, MixedAnderson):
        metadata["options"] = {name: getattr(solver, name) for name in _OPTIONS}
        tensors = {f"initializer.{n}": t for n, t in solver.initializer.state_dict().items()}
        if solver.mixer is not None:
            tensors |= {f"mixer.{n}": t for n, t in solver.mixer.state_dict().items()}
    else:
        tensors = solver.tensors()
    save_tensors(path, tensors, metadata)
    return path


def load_solver(folder: str | Path) -> LearnedSolver:
    """Read a solver that ``save_solver`` wrote.

    Raises:
        InputError: When there is none, or it is damaged or of another kind.
    """
    path = Path(folder) / FILE
    tensors, metadata = load_tensors(path, "learned solver")
    if not isinstance(metadata, dict) or metadata.get("format") != _FORMAT:
        raise InputError(f"{path} is not a learned solver of format {_FORMAT}")
    if metadata["kind"] == Learned.kind:
        try:
            return Learned(**tensors, details=metadata["details"])
        except TypeError as error:
            raise InputError(f"{path} lacks parts of a learned solver: fit it again") from error
    solver = make_mixed(metadata["details"], **metadata["options"])

    def part(prefix: str) -> dict[str, Tensor]:
        return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}

    load_weights(solver.initializer, part("initializer."), path)
    if solver.mixer is not None:
        load_weights(solver.mixer, part("mixer."), path)
    return solver
