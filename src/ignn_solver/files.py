"""Files that are either whole or not there: write to a temporary name, then rename."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; on success it replaces ``path`` in one step.

    On any failure, a full disk or Ctrl-C included, the temporary file is removed and whatever stood
    at ``path`` is untouched.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}; choose another output directory"
        ) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any, default: Callable[[Any], Any] | None = None) -> None:
    """Write ``value`` as indented JSON to ``path``, whole or not at all; see ``json_text``."""
    write_text(path, json_text(value, default))


def json_text(value: Any, default: Callable[[Any], Any] | None = None) -> str:
    """``value`` as indented JSON. JSON knows no NaN and no infinity: they become ``null``."""
    return json.dumps(_finite(value), indent=2, default=default, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_json(path: Path, what: str) -> Any:
    """Read JSON from ``path``; ``what`` names the file in the message when it is not valid."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"no {what} at {path}") from error
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(
            f"{what} {path} is not readable JSON ({error}); restore or delete it"
        ) from error
