"""Memory that is used again: a fresh page costs a fault, and large arrays are made of fresh pages."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import torch
from torch import Tensor

#: What a block of rows may take while it is worked on: small enough for the cache, large enough for two threads.
_BLOCK_BYTES = 2**22


def block_rows(x: Tensor, width: int) -> int:
    """How many rows of ``width`` numbers, made from rows of ``x``, to work on at a time: all beyond the CPU."""
    rows = x.shape[0]
    if x.device.type != "cpu":
        return rows
    return max(1, min(rows, _BLOCK_BYTES // (width * x.element_size())))


class Scratch(threading.local):
    """One array for intermediate results; every thread has its own. Copies and pickles are empty."""

    _array: Tensor | None = None

    def like(self, x: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
        """The array, with the type and device of ``x`` and its shape or another; its content is whatever it was."""
        found, wanted = self._array, x.shape if shape is None else shape
        if (
            found is None
            or found.shape != wanted
            or found.dtype != x.dtype
            or found.device != x.device
        ):
            # An array made in inference mode could not be written outside of it.
            with torch.inference_mode(False):
                found = torch.empty(wanted, dtype=x.dtype, device=x.device)
            self._array = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Scratch, ()


class Pool:
    """Arrays like a given one; one that nobody holds any more is given out again.

    What is given out counts as held for as long as the tensor object itself lives: do not keep a mere view
    of it.

    Args:
        like: Gives shape, type and device.
    """

    def __init__(self, like: Tensor) -> None:
        self._like = like
        self._arrays: list[tuple[Tensor, weakref.ref[Tensor]]] = []

    def take(self) -> Tensor:
        """An array that nobody holds; its content is whatever it was."""
        for position, (array, given) in enumerate(self._arrays):
            if given() is None:
                return self._give(position, array)
        array = torch.empty_like(self._like, memory_format=torch.contiguous_format)
        self._arrays.append((array, weakref.ref(array)))
        return self._give(len(self._arrays) - 1, array)

    def _give(self, position: int, array: Tensor) -> Tensor:
        given = array.detach()
        self._arrays[position] = (array, weakref.ref(given))
        return given
