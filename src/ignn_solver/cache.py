"""Things made once from tensors, and kept for as long as these do not change."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import torch
from torch import Tensor

Made = TypeVar("Made")


class TensorCache(Generic[Made]):
    """Remembers what was made from tensors; changed or collected ones are forgotten."""

    def __init__(self) -> None:
        self._made: dict[Hashable, tuple[list[weakref.ref[Tensor]], list[int], Made]] = {}

    def get(
        self, tensors: Tensor | tuple[Tensor, ...], make: Callable[[], Made], key: Hashable = None
    ) -> Made:
        """What ``make()`` gave when first asked for these tensors under ``key``."""
        tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        if any(tensor.is_inference() for tensor in tensors):
            # These do not record whether they were changed.
            return make()
        place = (*map(id, tensors), key)
        versions = [tensor._version for tensor in tensors]
        found = self._made.get(place)
        if found is not None and found[1] == versions:
            alive = [reference() for reference in found[0]]
            if all(one is other for one, other in zip(alive, tensors, strict=True)):
                return found[2]
        made = make()
        references = [weakref.ref(one, lambda _: self._made.pop(place, None)) for one in tensors]
        self._made[place] = (references, versions, made)
        return made


class LastMade(Generic[Made]):
    """Remembers what was made last, from copies of small tensors: for those that are computed anew each time."""

    def __init__(self) -> None:
        self._last: tuple[Hashable, list[Tensor], Made] | None = None

    def get(self, tensors: tuple[Tensor, ...], make: Callable[[], Made], key: Hashable) -> Made:
        """What ``make()`` gave last, if that was for tensors of the same values, and the same ``key``."""
        key = (key, *((tensor.shape, tensor.dtype, tensor.device) for tensor in tensors))
        last = self._last
        if last is not None and last[0] == key and all(map(torch.equal, last[1], tensors)):
            return last[2]
        made = make()
        self._last = key, [tensor.detach().clone() for tensor in tensors], made
        return made
