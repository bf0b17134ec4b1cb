"""A narrow stand-in for f: the same graph and activation, a fraction of the width."""

from __future__ import annotations

import torch
from torch import Tensor

from .. import kernels
from ..equilibrium import EquilibriumMap
from ..memory import POOL, Scratch, block_rows, row_blocks

_states, _read = Scratch(), Scratch()


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
        self.read = f.weight @ basis
        self.write = basis.T.contiguous()

    @property
    def share(self) -> float:
        """What a step costs, in evaluations of f, by the multiplications."""
        (nodes, width), entries = self.f.bias.shape, self.f.adjacency.num_entries
        narrow = self.write.shape[0]
        return narrow * (entries + 2 * nodes * width) / (width * (entries + nodes * width))

    def states(self, t: Tensor) -> Tensor:
        """The states that belong to coordinates, ``n x d``."""
        inputs = torch.addmm(self.f.bias, t, self.write, out=POOL.like(self.f.bias))
        return kernels.activate_(inputs, self.f.activation)

    def image(self, t: Tensor) -> Tensor:
        """``G(t)``, ``n x r``."""
        f, rows = self.f, self.f.bias.shape[0]
        read = _read.like(t, (rows, t.shape[1]))
        # The states of a block of rows stay in the cache between their two products.
        for some, states in _blocks(f.bias):
            torch.addmm(f.bias[some], t[some], self.write, out=states)
            torch.mm(kernels.activate_(states, f.activation), self.read, out=read[some])
        return f.adjacency.matmul(read)

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
        f, (rows, width) = self.f, self.f.bias.shape
        found = start.new_empty(rows, start.shape[1])
        for some, states in _blocks(f.bias):
            part = kernels.activate_(states.copy_(f.bias[some]), f.activation)
            torch.mm(part, start[:width], out=found[some])
            found[some].addmm_(f.bias[some], start[width:])
        return found


def stepped(t: Tensor, image: Tensor, previous: Tensor | None, matrix: Tensor) -> Tensor:
    """The step ``image + [image - t, t - previous] @ matrix``; the first one has no ``previous``."""
    narrow = t.shape[1]
    result = torch.addmm(image, image - t, matrix[:narrow])
    return result if previous is None else result.addmm_(t - previous, matrix[narrow:])


def _blocks(bias: Tensor) -> list[tuple[slice, Tensor]]:
    """Each block of rows, and room for its states."""
    width = bias.shape[1]
    room = _states.like(bias, (block_rows(bias, width), width))
    return [(some, room[: some.stop - some.start]) for some in row_blocks(bias, width)]
