"""Whether the machine is quiet enough for a time to mean something."""

from __future__ import annotations

import os
import time

import psutil

#: Share of a core that others may use before times are called into question.
_QUIET = 0.15
_GLANCE = 0.5


class Watch:
    """How many cores other processes use while this one works; use it as a context.

    Attributes:
        others: Cores used by others, on average; time stolen by the host of a virtual machine counts.
    """

    others: float = 0.0

    def __enter__(self) -> Watch:
        self._started, self._machine, self._own = time.perf_counter(), _machine(), _own()
        return self

    def __exit__(self, *error: object) -> None:
        spent = time.perf_counter() - self._started
        used = (_machine() - self._machine) - (_own() - self._own)
        self.others = max(0.0, used / max(spent, 1e-9))

    @property
    def complaint(self) -> str | None:
        """A sentence for the user where the others were too busy, else ``None``."""
        if self.others <= _QUIET:
            return None
        return (
            f"the machine is busy: other processes use {self.others:.1f} of {os.cpu_count()} cores, "
            "so these times mean little; run the benchmark again when it is idle"
        )


def glance() -> Watch:
    """Watch for half a second."""
    with Watch() as watch:
        time.sleep(_GLANCE)
    return watch


def _machine() -> float:
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0)


def _own() -> float:
    times = psutil.Process().cpu_times()
    return float(times.user + times.system)
