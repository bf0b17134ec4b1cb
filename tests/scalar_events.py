"""Reading TensorBoard's event files back."""

import warnings
from pathlib import Path

import pytest


def read_scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Steps and values of every scalar under a folder; the test is skipped without TensorBoard."""
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tensorboard's own imports
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        events = EventAccumulator(str(folder))
        events.Reload()
    return {
        name: [(event.step, event.value) for event in events.Scalars(name)]
        for name in events.Tags()["scalars"]
    }
