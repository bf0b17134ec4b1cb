"""Scalars of a run for TensorBoard, which is only needed where they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import InputError


class Scalars:
    """Where the numbers of a run go; nowhere, if nobody asked for them."""

    def __init__(self, writer: Any | None) -> None:
        self._writer = writer

    def add(self, step: int, values: Mapping[str, float | None]) -> None:
        """Write numbers of a step, by name; names with a slash stand together, ``None`` is left out."""
        if self._writer is not None:
            for name, value in values.items():
                if value is not None:
                    self._writer.add_scalar(name, value, step)

    def epoch(self, number: int, entry: Mapping[str, float]) -> None:
        """Write what ``fit`` says of an epoch."""
        self.add(
            number,
            {
                "loss/training": entry["loss"],
                "loss/validation": entry["val_loss"],
                "accuracy/validation": entry["val_accuracy"],
                "evaluations/forward": entry["forward_evals"],
                "evaluations/backward": entry["backward_evals"],
                "seconds/epoch": entry["seconds"],
            },
        )


@contextmanager
def scalars(folder: Path | None) -> Iterator[Scalars]:
    """Write scalars into ``folder`` as they come; whatever happens, what was written is kept.

    Args:
        folder: The folder to name to ``tensorboard --logdir``; ``None`` to write nothing.

    Raises:
        InputError: When TensorBoard is not installed, or the folder cannot be written.
    """
    if folder is None:
        yield Scalars(None)
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise InputError(
            "tensorboard is not installed: pip install 'ignn-solver[tensorboard]', or leave out "
            "--tensorboard"
        ) from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writer = SummaryWriter(folder)
    except OSError as error:
        raise InputError(
            f"cannot write into {folder}: {error.strerror}; name another folder"
        ) from error
    try:
        yield Scalars(writer)
    finally:
        writer.close()
