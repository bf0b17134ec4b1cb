"""Three ways to turn the curves of a cross-validation into one figure; they differ by a lot.

The same training runs give all three. Only ``nested`` never looks at a test label to choose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError


@dataclass
class Curves:
    """Accuracies of one fold at each epoch (or for each candidate of a model without epochs).

    Attributes:
        train: Training accuracy, between 0 and 1.
        val: Validation accuracy.
        val_loss: Validation loss; breaks ties of the validation accuracy.
        test: Test accuracy.
        seconds: Wall time of the fold.
    """

    train: list[float] = field(default_factory=list)
    val: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)
    test: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.test)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Summary:
    """One figure over the folds.

    Attributes:
        mean: Mean test accuracy over folds, in percent.
        std: Its standard deviation over folds, in percent points.
        chosen: The epoch (or candidate) that was chosen in each fold.
        val: Mean validation accuracy at the chosen epochs, in percent.
    """

    mean: float
    std: float
    chosen: list[int]
    val: float


def nested(folds: Sequence[Curves]) -> list[int]:
    """In each fold the epoch with the best validation accuracy; ties: least loss, then earliest."""
    return [
        min(range(len(fold)), key=lambda i: (-fold.val[i], fold.val_loss[i], i)) for fold in folds
    ]


def gin(folds: Sequence[Curves]) -> list[int]:
    """One epoch for all folds: the one with the best mean *test* accuracy (Xu et al., ICLR 2019)."""
    mean = np.mean([fold.test for fold in folds], axis=0)
    return [int(mean.argmax())] * len(folds)


def ignn(folds: Sequence[Curves]) -> list[int]:
    """In each fold the epoch with the best *test* accuracy: what IGNN's released code computes."""
    return [int(np.argmax(fold.test)) for fold in folds]


PROTOCOLS: dict[str, Callable[[Sequence[Curves]], list[int]]] = {
    "nested": nested,
    "gin": gin,
    "ignn": ignn,
}

MEANING = {
    "nested": "epoch chosen on a validation part of each training fold; test never looked at",
    "gin": "one epoch for all folds, the one with the best mean test accuracy",
    "ignn": "the best test epoch of each fold, as IGNN's released code computes and the paper follows",
}


def summarise(folds: Sequence[Curves], protocol: str) -> Summary:
    """The figure of a protocol over folds.

    Args:
        folds: The curves of each fold, all equally long.
        protocol: ``"nested"``, ``"gin"`` or ``"ignn"``.

    Raises:
        InputError: For an unknown protocol, or folds that are missing or of different lengths.
    """
    if protocol not in PROTOCOLS:
        raise InputError(f"unknown protocol {protocol!r}: choose one of {', '.join(PROTOCOLS)}")
    lengths = {len(fold) for fold in folds}
    if len(lengths) != 1 or 0 in lengths:
        raise InputError(
            f"the folds have {sorted(lengths)} epochs: a protocol needs folds of equal length"
        )
    chosen = PROTOCOLS[protocol](folds)
    test = 100 * np.array([fold.test[i] for fold, i in zip(folds, chosen, strict=True)])
    val = 100 * np.array([fold.val[i] for fold, i in zip(folds, chosen, strict=True)])
    return Summary(float(test.mean()), float(test.std()), chosen, float(val.mean()))
