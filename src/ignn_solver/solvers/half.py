"""Half-precision histories: what a solver remembers, in half the memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..errors import InputError

#: What a block of rows may take in full precision while it is worked on.
_BLOCK_BYTES = 2**20


def check_history(history: str) -> None:
    """Raise an ``InputError`` unless this names a way to keep a history."""
    if history not in ("full", "half"):
        raise InputError(f'history must be "full" or "half", not {history!r}')


class Half:
    """An array ``n x d`` in half precision, each row divided by its own largest entry.

    The scale keeps small rows from underflow and large ones from overflow, and what happens to a row apart
    from all others. It also makes float16 the right type: no entry is left that needs bfloat16's range, and
    float16 has 11 significant bits where bfloat16 has 8.

    Args:
        x: The array.
        minus: Store ``x - minus`` instead, which is never made in full.
    """

    def __init__(self, x: Tensor, minus: Tensor | None = None) -> None:
        self.numbers = torch.empty(x.shape, dtype=torch.float16, device=x.device)
        self.scale = x.new_empty(x.shape[0], 1)
        for rows in blocks(x):
            part = x[rows] if minus is None else x[rows] - minus[rows]
            largest = part.abs().amax(-1, keepdim=True)
            self.scale[rows] = largest
            self.numbers[rows] = part / torch.where(largest > 0, largest, 1)

    @property
    def shape(self) -> torch.Size:
        """``n x d``."""
        return self.numbers.shape

    def __getitem__(self, rows: slice) -> Tensor:
        """Some rows, in the precision that they came in."""
        return self.numbers[rows] * self.scale[rows]


Stored = Tensor | Half


def blocks(x: Stored) -> Iterator[slice]:
    """The rows of ``x``, few enough at a time that a copy of them is no matter."""
    count, width = x.shape
    size = max(1, _BLOCK_BYTES // (4 * width))
    for begin in range(0, count, size):
        yield slice(begin, min(begin + size, count))


def row_dots(x: Stored, y: Stored) -> Tensor:
    """Inner products of the rows of two arrays ``n x d``, one of each: ``n``."""
    return torch.cat([torch.linalg.vecdot(x[rows], y[rows]) for rows in blocks(x)])


def add_scaled_(result: Tensor, weight: Tensor, x: Stored) -> None:
    """``result += weight * x``, with a weight for each row, ``n x 1``, or one for all, ``1 x 1``."""
    weight = weight.expand(result.shape[0], 1)
    for rows in blocks(result):
        result[rows].addcmul_(x[rows], weight[rows])


@dataclass
class HalfSteps:
    r"""The last steps of a solve: the newest image in full, all else in half precision, oldest first.

    Weights that sum to 1 combine the images :math:`f_i = f(Z_i)` as

    .. math::
        \sum_{i \le k} \alpha_i f_i = f_k - \sum_{i<k} \Big(\sum_{j \le i} \alpha_j\Big) (f_{i+1} - f_i),

    and only the differences are rounded. They shrink with the residual, and so do the errors; an image
    itself, rounded, would leave an error of 1e-4 of the states that no step could remove.

    Attributes:
        window: How many past steps to keep besides the newest.
        image: The newest image, ``n x d``.
        changes: Differences of one image and the one before it.
        residuals: ``f(z) - z`` of every step.
    """

    window: int
    image: Tensor | None = None
    changes: list[Half] = field(default_factory=list)
    residuals: list[Half] = field(default_factory=list)

    def push(self, z: Tensor, fz: Tensor) -> None:
        """Store a step in the place of the oldest."""
        # First make room, then fill it: at no time is there one more than is kept.
        del self.residuals[: max(0, len(self.residuals) - self.window)]
        del self.changes[: max(0, len(self.changes) - self.window + 1)]
        self.residuals.append(Half(fz, z))
        if self.image is None:
            self.image = fz.clone()
        else:
            self.changes.append(Half(fz, self.image))
            self.image.copy_(fz)

    def combine(self, alpha: Tensor, beta: Tensor) -> Tensor:
        r""":math:`\sum_i \alpha_i (f_i - (1 - \beta) g_i)` with the residuals :math:`g_i`.

        Args:
            alpha: Weights, ``n x steps``, or one set for all rows, ``1 x steps``.
            beta: ``n x 1`` or ``1 x 1``.
        """
        assert self.image is not None
        result = self.image.clone()
        older = alpha.cumsum(-1)
        for i, change in enumerate(self.changes):
            add_scaled_(result, -older[:, i : i + 1], change)
        if bool((beta != 1).any()):
            for i, residual in enumerate(self.residuals):
                add_scaled_(result, alpha[:, i : i + 1] * (beta - 1), residual)
        return result
