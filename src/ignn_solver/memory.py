"""Memory that is used again: a fresh page costs a fault, and large arrays are made of fresh pages."""

from __future__ import annotations

import math
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

_scratches: weakref.WeakSet[Scratch] = weakref.WeakSet()
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()
#: From this many bytes on arrays come from numpy, which asks the system for huge pages: a fault for 2 MiB instead
#: of 4 KiB, and rows that are fetched from all over are found sooner.
_HUGE, _LINE = 2**22, 64
#: Vectors of changing length are made that much longer at most.
_STEP = 2**16


#: Called with the bytes of every array that is made here, and with less than 0 when it is gone.
_watches: list[Callable[[int], None]] = []


@contextmanager
def watched(watch: Callable[[int], None]) -> Iterator[None]:
    """Tell ``watch`` of the arrays that are made here: torch does not know of their memory.

    Args:
        watch: Called with the bytes of an array, and with as many below 0 when it is gone.
    """
    _watches.append(watch)
    try:
        yield
    finally:
        _watches.remove(watch)


def empty(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """A new array with any content."""
    count = math.prod(shape) * dtype.itemsize
    if device.type == "cpu" and count >= _HUGE:
        return torch.from_numpy(raw_memory(count)).view(dtype).view(shape)
    # An array made in inference mode could not be written outside of it.
    with torch.inference_mode(False):
        return torch.empty(shape, dtype=dtype, device=device)


def raw_memory(count: int) -> np.ndarray:
    """So many bytes with any content, from the beginning of a line of the cache on."""
    # numpy begins 16 bytes into a page: vectors would lie across two lines.
    raw = np.empty(count + _LINE, np.uint8)
    for watch in _watches:
        watch(count)
        weakref.finalize(raw, watch, -count).atexit = False
    begin = -raw.ctypes.data % _LINE
    return raw[begin : begin + count]


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


class _Kept:
    """Memory of the pool, and what it was made for.

    Args:
        x: A tensor on the CPU.
    """

    def __init__(self, x: Tensor) -> None:
        self.memory = raw_memory(x.nbytes)
        self.shape, self.dtype = tuple(x.shape), x.dtype

    @property
    def holders(self) -> int:
        """How often it is referred to: once more while any tensor, view or array of it is alive."""
        return sys.getrefcount(self.memory)

    def suits(self, x: Tensor) -> bool:
        """Whether it was made for tensors like this one."""
        return x.device.type == "cpu" and self.shape == tuple(x.shape) and self.dtype == x.dtype

    def tensor(self) -> Tensor:
        """A new tensor in this memory."""
        with torch.inference_mode(False):
            return torch.from_numpy(self.memory).view(self.dtype).view(self.shape)


class Pool(threading.local):
    """Arrays that outlive a solve, so that the next one finds its pages mapped; every thread has its own.

    An array is held for as long as a tensor in its memory is alive, be it a view: also one that left this library,
    such as the value of a solution. Arrays of one shape are kept, that of the latest, and no more than ``most``
    bytes of them: beyond that, and on devices other than the CPU, arrays are fresh and nobody's.

    Args:
        most: How many bytes to keep.
    """

    def __init__(self, most: int = 2**31) -> None:
        self.most = most
        self._kept: list[_Kept] = []
        _pools.add(self)

    def like(self, x: Tensor) -> Tensor:
        """An array that nobody holds, contiguous and with the shape, type and device of ``x``; with any content."""
        # An array of another shape that is still held is forgotten: whoever holds it keeps it alive.
        self._kept = [one for one in self._kept if one.suits(x)]
        for one in self._kept:
            if one.holders == _NOBODY:
                return one.tensor()
        if x.device.type != "cpu" or (len(self._kept) + 1) * x.nbytes > self.most:
            return empty(tuple(x.shape), x.dtype, x.device)
        self._kept.append(_Kept(x))
        return self._kept[-1].tensor()

    def first(self, x: Tensor, count: int) -> Tensor:
        """A vector of so many numbers with the type and device of ``x``; those a little longer share its memory."""
        length = -(-count // _STEP) * _STEP
        return self.like(x.new_empty(1).expand(length))[:count]


_NOBODY = _Kept(torch.empty(1)).holders

#: What every solve takes its large arrays from.
POOL = Pool()


def release() -> None:
    """Give the memory that solves of this thread keep for the next one back to the system."""
    for pool in _pools:
        pool._kept.clear()
    for scratch in _scratches:
        scratch._array = None
