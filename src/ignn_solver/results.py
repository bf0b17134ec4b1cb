"""The one format of a results file: what was measured, and everything needed to judge it."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import time
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from .files import write_json

_PACKAGES = ("ignn-solver", "torch", "torch_geometric", "numpy", "numba", "scipy", "torchdeq")


def environment() -> dict[str, Any]:
    """Versions, threads and machine of this process."""
    import torch

    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "versions": versions,
        "threads": torch.get_num_threads(),
        "machine": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def write_results(path: Path, started: float, **content: Any) -> None:
    """Write a results file: ``content`` beside the environment, the command and the wall time.

    Args:
        path: Where to write, whole or not at all.
        started: ``time.perf_counter()`` at the start of the work.
        **content: What was measured. Tables are lists of flat dictionaries under ``rows``.
    """
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    record = {
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "wall_seconds": round(time.perf_counter() - started, 3),
        "environment": environment(),
    }
    write_json(path, {**content, **record})
