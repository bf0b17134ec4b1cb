"""Node graphs whose source comes with a split: that one by default, or one drawn by class."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from .data import NodeData
from .parted import parted
from .source import Parsed, Source
from .splits import Parts, stratified


def with_split(
    parsed: Parsed,
    source: Source,
    names: tuple[str, str, str],
    kind: str,
    split: str | None,
    seed: int,
) -> NodeData:
    """Make the graph with the split that was asked for.

    Args:
        parsed: ``x``, ``y``, ``edge_index``, and the node numbers of each part.
        source: Where it comes from.
        names: What the training, validation and test nodes are called in ``parsed``.
        kind: Name of the published split.
        split: ``kind`` (default) or ``"stratified"``: 60%, 20% and 20% of each class.
        seed: Draws the stratified split.

    Raises:
        InputError: For another split, or a stratified one where nodes have several classes.
    """
    tensors = parsed.tensors
    labels = tensors["y"].numpy()
    if split in (None, kind):
        parts = Parts(*(np.sort(tensors[name].numpy()) for name in names))
    elif split == "stratified" and labels.ndim == 1:
        parts = stratified(labels, 0.6, 0.2, None, seed)
    else:
        raise InputError(f"{source.name} has no split {split!r}: choose {kind} or stratified")
    return parted(parsed, source, parts, split or kind)
