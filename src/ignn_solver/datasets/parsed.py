"""Parsed data on disk: safetensors and JSON, checked when read, never a pickle."""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from .. import files
from ..errors import InputError
from .data import csr_tensor
from .source import Parsed

_CSR_PARTS = ("rows", "columns", "values")
_HASHED_EACH_TIME = 64 * 1024 * 1024


def save(path: Path, parsed: Parsed) -> None:
    """Write ``parsed`` to ``path``, whole or not at all."""
    flat: dict[str, Tensor] = {}
    sizes: dict[str, list[int]] = {}
    for name, tensor in parsed.tensors.items():
        if tensor.layout == torch.sparse_csr:
            sizes[name] = list(tensor.shape)
            parts = (tensor.crow_indices(), tensor.col_indices(), tensor.values())
            flat.update({f"{name}/{p}": t for p, t in zip(_CSR_PARTS, parts, strict=True)})
        else:
            flat[name] = tensor.contiguous()
    head = {
        "facts": parsed.facts,
        "sizes": sizes,
        "checksums": {name: _checksum(tensor) for name, tensor in flat.items()},
    }
    with files.replacing(path) as temporary:
        save_file(flat, temporary, metadata={"ignn_solver": json.dumps(head)})


def read(path: Path) -> Parsed | None:
    """Read what ``save`` wrote; ``None`` if it is not there, or not what was written."""
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            head = json.loads(file.metadata()["ignn_solver"])
            flat = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if {name: _checksum(tensor) for name, tensor in flat.items()} != head["checksums"]:
            return None
        for name, size in head["sizes"].items():
            rows, columns, values = (flat.pop(f"{name}/{part}") for part in _CSR_PARTS)
            flat[name] = csr_tensor(rows, columns, values, tuple(size))
        return Parsed(flat, head["facts"])
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _checksum(tensor: Tensor) -> int:
    return zlib.crc32(tensor.numpy().reshape(-1).view(np.uint8).data)


def digest(path: Path, notes: Path) -> str:
    """SHA-256 of a file, or of all files of a folder by name.

    Args:
        path: File or folder.
        notes: Directory where the digests of large files are noted, to be used again while their
            size and time of change stay the same.
    """
    if path.is_dir():
        whole = hashlib.sha256()
        for file in sorted(p for p in path.rglob("*") if p.is_file()):
            whole.update(f"{file.relative_to(path).as_posix()} {digest(file, notes)}\n".encode())
        return whole.hexdigest()
    status = path.stat()
    if status.st_size <= _HASHED_EACH_TIME:
        return _hash(path)
    place = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    note = notes / f"{path.name}-{place}.digest.json"
    seen = {"size": status.st_size, "changed": status.st_mtime_ns}
    try:
        noted = files.read_json(note, "digest")
        if noted["seen"] == seen:
            return str(noted["sha256"])
    except (InputError, KeyError, TypeError):
        pass
    sha256 = _hash(path)
    try:
        files.write_json(note, {"seen": seen, "sha256": sha256})
    except InputError:
        # Nowhere to note it: the next load hashes again, which is only slower.
        return sha256
    return sha256


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
