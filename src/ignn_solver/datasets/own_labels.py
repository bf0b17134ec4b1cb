"""Labels and split of a user's own graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .. import files
from ..errors import InputError
from .nodes import Nodes, is_label_header
from .splits import Parts, stratified
from .tables import is_table, read_own_table

_NAMES = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


def read_labels(
    labels: Path | np.ndarray, nodes: Nodes, file: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Class number of each node (-1 where unknown) and the names of the classes, sorted.

    Args:
        labels: A table of rows ``id,label``, a ``.npy``, or the labels themselves.
        nodes: The nodes.
        file: What to call ``labels`` in messages when they are no file.
    """
    cells = [""] * len(nodes)
    places = [f"{file}, node {name}" for name in nodes.names] if file else [""] * len(nodes)
    if isinstance(labels, Path) and is_table(labels):
        table = read_own_table(labels, (2, 2), "id,label").without_header(is_label_header)
        for row, (name, label) in enumerate(table.rows):
            number = nodes.number(name, table.where(row))
            if places[number]:
                raise InputError(f"{table.where(row)}: node {name!r} has a label already")
            cells[number], places[number] = label, table.where(row)
    else:
        if isinstance(labels, Path):
            file, labels = labels.name, _array(labels)
        if labels.shape != (len(nodes),):
            raise InputError(f"{file}: {labels.shape} labels for {len(nodes)} nodes")
        cells = [str(label) for label in labels.tolist()]
        places = [f"{file}, row {row}" for row in range(len(cells))]
    return _numbered(cells, places)


def _array(path: Path) -> np.ndarray:
    if path.suffix.lower() != ".npy":
        raise InputError(f"labels are read from .csv, .tsv, .parquet or .npy, not {path.name}")
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path.name} is not a plain numpy array ({error})") from error


def _numbered(cells: list[str], places: list[str]) -> tuple[np.ndarray, np.ndarray]:
    known = {cell for cell in cells if cell not in ("", "-1")}
    whole = all(cell.removeprefix("-").isdecimal() for cell in known)
    if whole:
        for cell, place in zip(cells, places, strict=True):
            if cell.startswith("-") and cell != "-1":
                raise InputError(f"{place}: label {cell} is out of range; classes count from 0")
    names = sorted(known, key=int) if whole else sorted(known)
    number = {name: i for i, name in enumerate(names)}
    y = np.array([number.get(cell, -1) for cell in cells], dtype=np.int64)
    return y, np.array([int(n) for n in names] if whole else names)


def read_split(split: str | Path | None, nodes: Nodes, y: np.ndarray, seed: int) -> Parts:
    """A split from a file, or drawn: see ``from_files``."""
    text = "0.6/0.2/0.2" if split is None else str(split)
    path = Path(text).expanduser()
    if path.suffix.lower() == ".json":
        rows = _json_rows(path)
    elif is_table(path):
        table = read_own_table(path, (2, 2), "id,train|val|test").without_header(is_label_header)
        rows = [(table.where(i), *cells) for i, cells in enumerate(table.rows)]
    else:
        return _drawn(text, y, seed)
    parts: dict[str, list[int]] = {"train": [], "val": [], "test": []}
    part_of: dict[int, str] = {}
    for where, name, word in rows:
        number = nodes.number(name, where)
        part = _NAMES.get(word.lower())
        if part is None:
            raise InputError(f"{where}: {word!r} is not train, val or test")
        if number in part_of:
            raise InputError(
                f"{where}: node {name!r} is in the {part_of[number]} part already; "
                f"a node may be in one part only"
            )
        if y[number] < 0:
            raise InputError(f"{where}: node {name!r} has no label; label it or leave it out")
        part_of[number] = part
        parts[part].append(number)
    return Parts(*(np.sort(np.array(parts[p], dtype=np.int64)) for p in Parts._fields))


def _json_rows(path: Path) -> list[tuple[str, ...]]:
    content = files.read_json(path, "split")
    if not isinstance(content, dict) or not all(isinstance(v, list) for v in content.values()):
        raise InputError(f'{path.name} must be {{"train": [...], "val": [...], "test": [...]}}')
    return [
        (f"{path.name}, {part!r} entry {i}", str(name), part)
        for part, names in content.items()
        for i, name in enumerate(names)
    ]


def _drawn(text: str, y: np.ndarray, seed: int) -> Parts:
    try:
        train, val, test = (float(part) for part in text.split("/"))
    except ValueError:
        raise InputError(
            f"a split is a .csv or .json file or fractions such as 0.6/0.2/0.2, not {text!r}"
        ) from None
    if min(train, val, test) < 0 or train == 0 or train + val + test > 1 + 1e-9:
        raise InputError(f"the fractions {text} must not be negative, nor sum to more than 1")
    whole = train + val + test > 1 - 1e-9
    return stratified(y, train, val, None if whole else test, seed)
