"""Named tensors on disk: safetensors with JSON beside them, whole or not at all, no code in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from .errors import InputError
from .files import replacing


def save_tensors(path: Path, tensors: dict[str, Tensor], metadata: Any = None) -> None:
    """Write tensors, and anything JSON can hold beside them, whole or not at all."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as temporary:
        try:
            save_file(plain, temporary, {"json": json.dumps(metadata)})
        except SafetensorError as error:
            raise OSError(str(error)) from error


def load_tensors(path: Path, what: str) -> tuple[dict[str, Tensor], Any]:
    """Read what ``save_tensors`` wrote; ``what`` names the file's role in the messages."""
    metadata = load_metadata(path, what)
    with _reading(path, what):
        # Copies start at whole cache lines, as all of torch's own tensors do: the last bit of a sum can
        # depend on it, and a resumed training would drift from an uninterrupted one.
        return {name: tensor.clone() for name, tensor in load_file(path).items()}, metadata


def load_metadata(path: Path, what: str) -> Any:
    """What ``save_tensors`` wrote beside the tensors, without reading these."""
    if not path.is_file():
        raise InputError(f"no {what} at {path}: train first, or name another folder")
    with _reading(path, what), safe_open(path, "pt") as file:
        return json.loads((file.metadata() or {}).get("json", "null"))


@contextmanager
def _reading(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, json.JSONDecodeError, OSError, ValueError) as error:
        raise InputError(
            f"{what} {path} is truncated or corrupt ({error}): restore it or train again"
        ) from error


def load_weights(module: nn.Module, tensors: dict[str, Tensor], source: Path) -> None:
    """Put tensors into a module, or say which one does not fit."""
    expected = module.state_dict()
    missing, extra = expected.keys() - tensors.keys(), tensors.keys() - expected.keys()
    if missing or extra:
        names = ", ".join(sorted(missing or extra)[:3])
        raise InputError(
            f"{source} does not fit this model, it {'lacks' if missing else 'also has'} {names}: "
            "name the folder of this model, or train again"
        )
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape:
            raise InputError(
                f"{source} does not fit this model, {name} has shape {tuple(tensor.shape)} instead of "
                f"{tuple(expected[name].shape)}: name the folder of this model, or train again"
            )
    module.load_state_dict(tensors)
