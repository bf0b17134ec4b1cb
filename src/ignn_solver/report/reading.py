"""Reading a folder of results files: everything the page shows comes from here."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from ..errors import InputError
from ..files import read_json

Row = dict[str, Any]

#: Cores used by other processes beyond which times are called into question; as ``bench`` has it.
BUSY = 0.15

#: What the page can show, and the command that measures it.
COMMANDS: dict[str, str] = {
    "bench": "ignn-solver bench all --json results/bench.json",
    "graph-view": "ignn-solver reproduce graph-view",
    "figure-pareto": "ignn-solver reproduce figure-pareto",
    "figure-convergence": "ignn-solver reproduce figure-convergence",
    "figure-overhead": "ignn-solver reproduce figure-overhead",
    "figure-mixers": "ignn-solver reproduce figure-mixers",
    "figure-ablation": "ignn-solver reproduce figure-ablation",
    "figure-dynamics": "ignn-solver reproduce figure-dynamics",
    "figure-chains": "ignn-solver reproduce figure-chains",
    "certificate": "python benchmarks/certificate.py citeseer blogcatalog",
    "scaling": "python benchmarks/scaling.py",
    "roofline": "python benchmarks/roofline.py",
    "table1": "ignn-solver reproduce table1",
    "table2": "ignn-solver reproduce table2",
    "table3": "ignn-solver reproduce table3",
    "learned-solver-evaluations": "python benchmarks/learned_solver.py evaluations",
    "learned-solver-transfer": "python benchmarks/learned_solver.py transfer",
    "learned-solver-cost": "python benchmarks/learned_solver.py cost",
    "learned-solver-alternating": "python benchmarks/learned_solver.py alternating",
    "learned-solver-ablation": "python benchmarks/learned_solver.py ablation",
}


@dataclass(frozen=True)
class Results:
    """One results file.

    Attributes:
        name: The file's name without its ending.
        kind: What it measures: a key of ``COMMANDS``, or ``name`` where it is not known.
        rows: The table, flat dictionaries; empty if there is none.
        content: Everything else in the file.
    """

    name: str
    kind: str
    rows: list[Row] = field(repr=False)
    content: dict[str, Any] = field(repr=False)

    @property
    def created(self) -> str:
        """When it was measured, as ISO text; empty if the file does not say."""
        return str(self.content.get("created") or "")

    @property
    def source(self) -> str:
        """The file's name, and what to hold against it: a quick look, a busy machine."""
        quick = ", a quick look" if self.content.get("quick") else ""
        others = [one.get("others_cores") for one in (self.content, *self.rows)]
        busy = max((one for one in others if is_number(one)), default=0.0) > BUSY
        return f"{self.name}.json{quick}" + (", timed on a busy machine" if busy else "")


def read_folder(folder: Path) -> list[Results]:
    """Every ``*.json`` directly in ``folder``, by name.

    Raises:
        InputError: When the folder is missing or holds none, or a file is not a results file.
    """
    if not folder.is_dir():
        raise InputError(
            f"there is no folder {folder}: name the one that holds the results, or make some with "
            f"`{COMMANDS['bench']}`"
        )
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise InputError(
            f"{folder} holds no results: make some with `{COMMANDS['bench']}` or "
            "`ignn-solver reproduce list`"
        )
    return [read_file(path) for path in paths]


def read_file(path: Path) -> Results:
    """One results file; an ``InputError`` that names it when it is something else."""
    try:
        content = read_json(path, "results file")
    except RecursionError as error:
        raise InputError(f"results file {path} is nested too deeply: delete it") from error
    if isinstance(content, list):
        content = {"rows": content}
    if not isinstance(content, dict):
        raise InputError(f"results file {path} holds no results: restore or delete it")
    rows = content.pop("rows", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"the rows of results file {path} are no table: restore or delete it")
    return Results(path.stem, _kind(path.stem, content), rows, content)


def _kind(name: str, content: dict[str, Any]) -> str:
    experiment = content.get("experiment")
    if isinstance(experiment, str) and experiment in COMMANDS:
        return experiment
    if name in COMMANDS:
        return name
    # The longest known name it starts with: bench-digits, certificate-citeseer.
    known = [kind for kind in COMMANDS if name.startswith(f"{kind}-")]
    fits = [kind for kind in known if _fits(kind, content)]
    return max(fits, key=len, default=name)


def _fits(kind: str, content: dict[str, Any]) -> bool:
    """Whether a file that is only named like a kind is one: ``certificate-search`` is not."""
    return kind != "certificate" or "stopping" in content


def of_kind(files: list[Results], kind: str) -> list[Results]:
    """The files of a kind, the latest first."""
    return sorted(
        (file for file in files if file.kind == kind), key=lambda file: file.created, reverse=True
    )


def missing(files: list[Results]) -> dict[str, str]:
    """The kinds that no file holds, and the commands that make them."""
    there = {file.kind for file in files}
    return {kind: command for kind, command in COMMANDS.items() if kind not in there}


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether a JSON value is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value == value and abs(value) != float("inf")
