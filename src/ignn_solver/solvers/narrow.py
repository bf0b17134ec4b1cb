"""A narrow stand-in for f: the same graph and activation, a fraction of the width."""

from __future__ import annotations

import torch
from torch import Tensor

from ..equilibrium import EquilibriumMap
from ..kernels import products
from ..memory import POOL, Scratch
from ..rough import pays

_read = Scratch()


class NarrowMap:
    r"""The map :math:`G(T) = A\,(\sigma(T V^T + b)\, W V)` on r numbers a node instead of d.

    In a trained model nearly all of :math:`A Z W` lies in a few directions V, about as many as there are
    classes. There :math:`\sigma(T V^T + b)` are nearly the states whose :math:`A Z W` has the coordinates
    T, and a step of G costs about r / d of an evaluation of f.

    Args:
        f: The map to stand in for.
        basis: V with orthonormal columns, ``d x r``.
    """

    def __init__(self, f: EquilibriumMap, basis: Tensor) -> None:
        self.f = f
        self.width = basis.shape[1]
        self._rough = pays(f.bias)
        self._read, self._write = self._ready(f.weight @ basis), self._ready(basis.T)

    @property
    def share(self) -> float:
        """What a step costs, in evaluations of f, by the multiplications."""
        (nodes, width), entries = self.f.bias.shape, self.f.adjacency.num_entries
        narrow = self.width
        return narrow * (entries + 2 * nodes * width) / (width * (entries + nodes * width))

    def states(self, t: Tensor) -> Tensor:
        """The states that belong to coordinates, ``n x d``."""
        f = self.f
        return products.activated(f.bias, t, self._write, f.activation, POOL.like(f.bias))

    def image(self, t: Tensor) -> Tensor:
        """``G(t)``, ``n x r``."""
        f = self.f
        read = _read.like(t)
        return f.adjacency.matmul(
            products.through(f.bias, t, self._write, self._read, f.activation, read)
        )

    def guess(self, start: Tensor, steps: Tensor) -> Tensor:
        """States near the fixed point of f, ``n x d``.

        Args:
            start: S, ``2d x r``.
            steps: The matrix of each step, ``steps x 2r x r``.
        """
        t, previous = self.first(start), None
        for matrix in steps:
            t, previous = stepped(t, self.image(t), previous, matrix), t
        return self.states(t)

    def first(self, start: Tensor) -> Tensor:
        r"""The first coordinates :math:`[\sigma(b), b]\, S`, without a pass over the edges, ``n x r``."""
        f = self.f
        found = start.new_empty(f.bias.shape[0], start.shape[1])
        return products.from_bias(f.bias, self._ready(start), f.activation, found)

    def _ready(self, matrix: Tensor) -> products.Prepared:
        """A start need not be exact."""
        return products.prepare(matrix, self._rough)


def stepped(t: Tensor, image: Tensor, previous: Tensor | None, matrix: Tensor) -> Tensor:
    """The step ``image + [image - t, t - previous] @ matrix``; the first one has no ``previous``."""
    narrow = t.shape[1]
    none = matrix.new_empty(0, narrow)
    if previous is None:
        previous, matrix = t, matrix[:narrow]
    left, right = products.prepare(matrix), products.prepare(none)
    return products.mix(t, image, previous, left, right, torch.empty_like(t))
