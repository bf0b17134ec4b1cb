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


def parsed_directory(data: Path) -> Path:
    """Where parsed data is kept: ``cache/`` in the data directory, if that can be written.

    A read-only data directory, as in CI, is left alone: the user's cache directory serves instead.
    """
    existing = data
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    # Root may write where the mode forbids it, but a directory marked read-only is meant so.
    writable = os.access(existing, os.W_OK) and bool(existing.stat().st_mode & 0o222)
    return (data if writable else user_cache()) / "cache"
