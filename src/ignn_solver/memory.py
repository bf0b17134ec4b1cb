"""Memory that is used again: a fresh page costs a fault, and large arrays are made of fresh pages."""

from __future__ import annotations

import math
import threading
import weakref
from typing import Any

import numpy as np
import torch
from torch import Tensor

_scratches: weakref.WeakSet[Scratch] = weakref.WeakSet()
#: From this many bytes on arrays come from numpy, which asks the system for huge pages: a fault for 2 MiB instead
#: of 4 KiB, and rows that are fetched from all over are found sooner.
_HUGE, _LINE = 2**22, 64


def empty(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """A new array with any content."""
    count = math.prod(shape) * dtype.itemsize
    if device.type == "cpu" and count >= _HUGE:
        # numpy begins 16 bytes into a page: vectors would lie across two lines of the cache.
        raw = np.empty(count + _LINE, np.uint8)
        begin = -raw.ctypes.data % _LINE
        return torch.from_numpy(raw[begin : begin + count]).view(dtype).view(shape)
    # An array made in inference mode could not be written outside of it.
    with torch.inference_mode(False):
        return torch.empty(shape, dtype=dtype, device=device)


class Scratch(threading.local):
    """One array for intermediate results; every thread has its own. Copies and pickles are empty."""

    _array: Tensor | None = None

    def __init__(self) -> None:
        _scratches.add(self)

    def like(self, x: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
        """The array, with the type and device of ``x`` and its shape or another; its content is whatever it was."""
        found, wanted = self._array, x.shape if shape is None else shape
        if (
            found is None
            or found.shape != wanted
            or found.dtype != x.dtype
            or found.device != x.device
        ):
            found = self._array = empty(tuple(wanted), x.dtype, x.device)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Scratch, ()


class Pool(threading.local):
    """Arrays that outlive a solve, so that the next one finds its pages mapped; every thread has its own.

    An array counts as held for as long as the tensor object that was given out lives: do not keep a mere view of
    it. What leaves this library goes through :meth:`let_go`. Arrays of one shape are kept, that of the
    latest, and no more than ``most`` bytes of them: beyond that, and on devices other than the CPU, arrays are
    fresh and nobody's.

    Args:
        most: How many bytes to keep.
    """

    def __init__(self, most: int = 2**31) -> None:
        self.most = most
        self._arrays: list[tuple[Tensor, weakref.ref[Tensor]]] = []

    def like(self, x: Tensor) -> Tensor:
        """An array that nobody holds, contiguous and with the shape, type and device of ``x``; with any content."""
        # An array of another shape that is still held is forgotten: whoever holds it keeps it alive.
        self._arrays = [(array, given) for array, given in self._arrays if _alike(array, x)]
        for position, (array, given) in enumerate(self._arrays):
            if given() is None:
                return self._give(position, array)
        array = empty(tuple(x.shape), x.dtype, x.device)
        if x.device.type != "cpu" or (len(self._arrays) + 1) * array.nbytes > self.most:
            return array
        self._arrays.append((array, weakref.ref(array)))
        return self._give(len(self._arrays) - 1, array)

    def settle(self, x: Tensor) -> None:
        """Let go of the memory of ``x`` unless ``x`` is what was given out: of a mere view nobody would know."""
        if all(given() is not x for _, given in self._arrays):
            self.let_go(x)

    def let_go(self, x: Tensor) -> None:
        """Never give out again the memory that ``x`` is in: somebody else may keep views of it."""
        place = x.untyped_storage().data_ptr()
        self._arrays = [
            pair for pair in self._arrays if pair[0].untyped_storage().data_ptr() != place
        ]

    def _give(self, position: int, array: Tensor) -> Tensor:
        given = array.detach()
        self._arrays[position] = (array, weakref.ref(given))
        return given


def _alike(array: Tensor, x: Tensor) -> bool:
    return array.shape == x.shape and array.dtype == x.dtype and array.device == x.device


#: What every solve takes its large arrays from.
POOL = Pool()


def release() -> None:
    """Give the memory that solves of this thread keep for the next one back to the system."""
    POOL._arrays.clear()
    for scratch in _scratches:
        scratch._array = None
