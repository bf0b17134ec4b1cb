"""Freed memory that stays with the process; apart from ``memory``, for the command line starts without torch."""

from __future__ import annotations

import ctypes
from typing import Any

#: Names of ``mallopt`` in GNU's C library: what the heap keeps at its top; how many arrays have pages of their own.
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4


def keep_freed() -> bool:
    """Let this process use the memory of freed arrays again instead of giving each back to the system.

    Every large intermediate of torch otherwise has fresh pages, and on a graph of 100,000 nodes the faults
    take two thirds of a training's time. The process then holds on to what it used at once, and to gaps
    between: up to twice that, until :func:`give_back`. The commands that train do this for themselves; in your
    own program call it first, for it changes how all of it gets memory.

    Returns:
        Whether the C library of this process can do that: GNU's can.
    """
    mallopt = _found("mallopt")
    return mallopt is not None and bool(mallopt(_M_MMAP_MAX, 0) and mallopt(_M_TRIM_THRESHOLD, -1))


def give_back() -> None:
    """Give all freed memory back to the system: before something else that needs much of it."""
    trim = _found("malloc_trim")
    if trim is not None:
        trim(0)


def _found(name: str) -> Any:
    """A function of the C library, or ``None``."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except (OSError, TypeError):
        return None
