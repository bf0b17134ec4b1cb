"""Train, validation and test parts: seeded, disjoint, checked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError


class Parts(NamedTuple):
    """Node (or graph) numbers of the three parts of a split."""

    train: np.ndarray
    val: np.ndarray
    test: np.ndarray


def _generator(seed: int) -> np.random.Generator:
    # A stream of its own: a graph generated from the same seed must not foretell its split.
    return np.random.default_rng([seed, 1])


def mask(indices: np.ndarray, count: int) -> Tensor:
    """Boolean vector of length ``count`` that is True at ``indices``."""
    chosen = torch.zeros(count, dtype=torch.bool)
    chosen[torch.from_numpy(np.asarray(indices, dtype=np.int64))] = True
    return chosen


def masks(parts: Parts, count: int) -> dict[str, Tensor]:
    """The three masks that PyG expects, from the three index sets."""
    return {
        "train_mask": mask(parts.train, count),
        "val_mask": mask(parts.val, count),
        "test_mask": mask(parts.test, count),
    }


def check(parts: Parts, labels: np.ndarray, num_classes: int, where: str) -> Parts:
    """Return ``parts`` if they can be trained on and compared fairly, else raise.

    Args:
        parts: The split.
        labels: Class of each node, or a 0/1 matrix where nodes have several classes.
        num_classes: Number of classes.
        where: What to name in the message: a file, or a dataset and its split.

    Raises:
        InputError: Parts overlap, a number is out of range, or a class has no training node.
    """
    count = len(labels)
    names = Parts._fields
    for name, part in zip(names, parts, strict=True):
        wrong = part[(part < 0) | (part >= count)]
        if wrong.size:
            raise InputError(
                f"{where}: the {name} part names node {wrong[0]}, but nodes are 0 to {count - 1}"
            )
    for first, second in (("train", "test"), ("val", "test"), ("train", "val")):
        shared = np.intersect1d(getattr(parts, first), getattr(parts, second))
        if shared.size:
            raise InputError(
                f"{where}: {shared.size} nodes are in both the {first} and the {second} part "
                f"(the first is node {shared[0]}); remove them from one of the two"
            )
    if labels.ndim == 1:
        seen = np.bincount(labels[parts.train][labels[parts.train] >= 0], minlength=num_classes)
    else:
        seen = labels[parts.train].sum(axis=0)
    missing = np.flatnonzero(seen == 0)
    if missing.size:
        raise InputError(
            f"{where}: class {missing[0]} has no training node"
            + (f" (nor have {missing.size - 1} others)" if missing.size > 1 else "")
            + "; label at least one node of each class for training"
        )
    return parts


def stratified(
    labels: np.ndarray, train: float | int, val: float | int, test: float | int | None, seed: int
) -> Parts:
    """Draw a seeded split that keeps class proportions.

    Args:
        labels: Class of each node; nodes with a negative label are left out of every part.
        train: An ``int`` is nodes per class (at most half of a class), a ``float`` the fraction
            of every class (at least one node).
        val: An ``int`` is nodes in all, a ``float`` the fraction of every class.
        test: Like ``val``; ``None`` takes all that is left.
        seed: Same seed, same split.
    """
    generator = _generator(seed)
    classes = [np.flatnonzero(labels == c) for c in range(int(labels.max(initial=-1)) + 1)]
    chosen: list[np.ndarray] = []
    rest: list[np.ndarray] = []
    for members in classes:
        members = generator.permutation(members)
        if isinstance(train, int):
            size = min(train, len(members) // 2)
        else:
            size = max(1, round(train * len(members))) if len(members) else 0
        chosen.append(members[:size])
        rest.append(members[size:])
    labelled = int((labels >= 0).sum())
    val_part, rest = _take(rest, val, labelled, generator)
    test_part, _ = _take(rest, 1.0 if test is None else test, labelled, generator)
    return Parts(_joined(chosen), val_part, test_part)


def _take(
    pools: list[np.ndarray], amount: float | int, labelled: int, generator: np.random.Generator
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Take ``amount`` nodes from shuffled pools, each in proportion to its size."""
    available = sum(len(pool) for pool in pools)
    total = amount if isinstance(amount, int) else round(amount * labelled)
    total = min(total, available)
    shares = np.array([len(pool) for pool in pools]) * (total / max(available, 1))
    sizes = np.floor(shares).astype(np.int64)
    # The nodes lost to rounding go to the classes that lost most; ties are broken by the seed.
    order = np.lexsort((generator.random(len(pools)), -(shares - sizes)))
    sizes[order[: total - int(sizes.sum())]] += 1
    taken = [pool[:size] for pool, size in zip(pools, sizes, strict=True)]
    left = [pool[size:] for pool, size in zip(pools, sizes, strict=True)]
    return _joined(taken), left


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *parts]))


def draw(count: int, sizes: tuple[int, int, int], seed: int) -> Parts:
    """Draw train, validation and test nodes of the given sizes among ``count``, class-blind."""
    order = _generator(seed).permutation(count)
    train, val, test = np.split(order[: sum(sizes)], np.cumsum(sizes)[:2])
    return Parts(np.sort(train), np.sort(val), np.sort(test))


def with_validation(train: np.ndarray, test: np.ndarray, labels: np.ndarray, seed: int) -> Parts:
    """Complete published train and test nodes by 500 validation nodes drawn from the rest."""
    taken = np.concatenate([train, test])
    rest = np.setdiff1d(np.flatnonzero(labels >= 0), taken)
    chosen = _generator(seed).permutation(rest)[:500]
    return Parts(np.sort(train), np.sort(chosen), np.sort(test))


def fold_order(labels: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Number of the fold of each item: classes are dealt out one after the other, shuffled."""
    generator = _generator(seed)
    shuffled = generator.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    fold = np.empty(len(labels), dtype=np.int64)
    fold[by_class] = np.arange(len(labels)) % count
    return fold
