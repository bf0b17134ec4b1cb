"""Interleaved rounds, their medians, and the most memory that a call has in use at once."""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from ..memory import release, watched

#: Calls that take longer, in milliseconds, do not mind what was before them.
_SHORT = 200


def interleaved(
    calls: Mapping[str, Callable[[], Any]],
    rounds: int,
    after_round: Callable[[int, dict[str, float]], None] | None = None,
    statistic: Callable[[list[float]], float] = statistics.median,
) -> dict[str, float]:
    """Time each call once a round, in an order that turns with the rounds.

    A short call is made once more right before, untimed: else the threads of the one before it, which still wait
    for work on the same cores, and caches full of its data would be charged to it.

    Args:
        calls: What to time, by name; each must have been called before, so that nothing is compiled.
        rounds: How many rounds.
        after_round: Called after each round with its number and its times, in milliseconds.
        statistic: What counts of the times of a call: by default their median.

    Returns:
        The time of each, in milliseconds.
    """
    names = list(calls)
    times: dict[str, list[float]] = {name: [] for name in names}
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                if not times[name] or times[name][-1] < _SHORT:
                    calls[name]()
                times[name].append(_milliseconds(calls[name]))
            if after_round is not None:
                after_round(turn + 1, {name: found[-1] for name, found in times.items()})
    finally:
        if collecting:
            gc.enable()
    return {name: statistic(found) for name, found in times.items()}


def _milliseconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)


def peak_bytes(call: Callable[[], Any]) -> int:
    """The most memory, in bytes, that torch and this library had allocated for this call at once."""
    from torch.profiler import ProfilerActivity, profile

    # What is kept from call to call counts as well.
    release()
    ours: list[tuple[int, int]] = []
    with (
        _silent_stderr(),
        watched(lambda change: ours.append((time.time_ns(), change))),
        profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler,
    ):
        call()
    assert profiler.profiler is not None
    results = profiler.profiler.kineto_results
    assert results is not None
    changes = [
        (event.start_ns(), event.nbytes())
        for event in results.events()
        if event.name() == "[memory]" and event.device_type() == torch.autograd.DeviceType.CPU
    ]
    used = most = 0
    for _, change in sorted(changes + ours, key=lambda pair: pair[0]):
        used += change
        most = max(most, used)
    return most


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Keep the profiler's native library from announcing its start and its end."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
