"""The end of reading a node dataset: its tensors and a split become a graph."""

from __future__ import annotations

from .data import NodeData, node_data
from .source import Parsed, Source
from .splits import Parts, check, masks


def parted(parsed: Parsed, source: Source, parts: Parts, split: str) -> NodeData:
    """Make the graph of ``x``, ``y`` and ``edge_index``, once its parts are known to be sound.

    Args:
        parsed: What was read.
        source: Where it comes from.
        parts: The node numbers of each part.
        split: Name of the split, for messages.

    Raises:
        InputError: When the parts cannot be trained on and compared fairly.
    """
    labels = parsed.tensors["y"].numpy()
    check(parts, labels, source.classes, f"{source.name}, split {split}")
    return node_data(
        source.name,
        x=parsed.tensors["x"],
        y=parsed.tensors["y"],
        edge_index=parsed.tensors["edge_index"],
        num_classes=source.classes,
        masks=masks(parts, len(labels)),
        stand_in=source.stand_in,
    )
