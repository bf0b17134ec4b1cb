"""Limits of time and memory for one cell of a table: what exceeds them is said, not waited for."""

from __future__ import annotations

import signal
import statistics
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import psutil

_GIB = 2**30
#: Epochs after which the time of the rest is foretold; the first may compile and build graphs.
_PROBED = 3


class LimitError(Exception):
    """A cell would take too long or too much memory; the message says what was measured."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise a ``LimitError`` in the block when it has run for so long; in the main thread only."""
    if threading.current_thread() is not threading.main_thread() or sys.platform == "win32":
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise LimitError(f"not done after {_spoken(seconds)}, the limit (measured)")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def memory_limit(gib: float) -> Iterator[None]:
    """Raise a ``LimitError`` when the block asks for so many gibibytes more than are in use now."""
    if sys.platform == "win32":
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    wanted = psutil.Process().memory_info().vms + int(gib * _GIB)
    if before[1] != resource.RLIM_INFINITY:
        wanted = min(wanted, before[1])
    resource.setrlimit(resource.RLIMIT_AS, (wanted, before[1]))
    try:
        yield
    except MemoryError as error:
        raise LimitError(f"needs more than {gib:g} GiB, the limit (measured)") from error
    except RuntimeError as error:
        if "memory" not in str(error):
            raise
        raise LimitError(f"needs more than {gib:g} GiB, the limit (measured)") from error
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def foretell(epochs: int, limit: float) -> Callable[[int, dict[str, float]], None]:
    """A callback of ``fit`` that stops a training which cannot be done within the limit.

    Args:
        epochs: Epochs to train.
        limit: Seconds they may take.
    """
    seen: list[float] = []

    def look(epoch: int, entry: dict[str, float]) -> None:
        seen.append(entry["seconds"])
        if len(seen) != _PROBED:
            return
        each = statistics.median(seen)
        if epochs * each > limit:
            raise LimitError(
                f"{epochs} epochs would take about {_spoken(epochs * each)} at {each:.3g} s each "
                f"(estimated), more than {_spoken(limit)}"
            )

    return look


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
