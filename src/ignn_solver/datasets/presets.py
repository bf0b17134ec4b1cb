"""Sizes of the paper's large datasets, for block models that match them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Size of a graph and, where it is fixed, of its training and test parts."""

    nodes: int
    edges: int
    features: int
    classes: int
    train: int = 0
    test: int = 0


PRESETS = {
    # Nodes, edges, training and test nodes are those of the paper's tables; features and classes
    # those of the datasets' own publications.
    "reddit": Shape(232_965, 11_606_919, 602, 41, 139_779, 46_593),
    "arxiv": Shape(169_343, 1_166_243, 128, 40, 90_941, 48_603),
    "products": Shape(2_449_029, 61_859_140, 100, 47, 196_615, 2_213_091),
}


def stand_in_reason(like: str) -> str:
    """Why figures on ``blocks:LIKE`` are not those of the dataset it is matched to."""
    return f"a generated graph of {like}'s size, not {like} itself"
