"""Where archives and parsed data live."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "IGNN_SOLVER_DATA"


def user_cache() -> Path:
    """The user's cache directory for this package, as the platform wants it."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "ignn-solver"


def data_directory(root: str | Path | None = None) -> Path:
    """``root`` if given, else ``$IGNN_SOLVER_DATA``, else the user's cache directory."""
    chosen = root if root is not None else os.environ.get(VARIABLE) or user_cache()
    return Path(chosen).expanduser()


def writable(directory: Path) -> bool:
    """Whether ``directory`` can be written, or made where it does not exist yet."""
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    # Root may write where the mode forbids it, but a directory marked read-only is meant so.
    return os.access(directory, os.W_OK) and bool(directory.stat().st_mode & 0o222)


def storage(data: Path) -> Path:
    """Where to put new files: the data directory, or the user's cache where that is read-only."""
    return data if writable(data) else user_cache()
