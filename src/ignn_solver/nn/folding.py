"""Inference of explicit layers in a few passes over memory: what is linear there is folded into one matrix.

For inference alone: nothing here is differentiable. The results are those of the layers to rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from .. import kernels
from ..cache import LastMade
from ..kernels import products

if TYPE_CHECKING:
    from ..sparse import SparseMatrix
    from .explicit import Hop

if kernels.compiled is not None:
    from ..kernels import compiled_hops

#: ``x @ weight + shift``, prepared.
Affine = tuple[products.Prepared, Tensor]

_affine: WeakKeyDictionary[nn.Module, LastMade[Affine]] = WeakKeyDictionary()
_scales: WeakKeyDictionary[nn.Module, LastMade[tuple[Tensor, Tensor]]] = WeakKeyDictionary()
#: A graph on its own is worked on as a whole only if its states fit into the cache.
_MOST_NODES = 4096


def folds(x: Tensor, module: nn.Module) -> bool:
    """Whether a module can be run on ``x`` by what stands here: in evaluation, without gradients, compiled."""
    if torch.is_grad_enabled() or not kernels.use_compiled(x) or x.layout != torch.strided:
        return False
    return all(_known(one, x.dtype) for one in module.modules())


def _known(module: nn.Module, dtype: torch.dtype) -> bool:
    if module.training and isinstance(module, nn.BatchNorm1d | nn.Dropout):
        return False
    if isinstance(module, nn.BatchNorm1d):
        return module.running_mean is not None and module.affine
    return not isinstance(module, nn.Linear) or module.weight.dtype == dtype


def blocks_of(graph_blocks: np.ndarray | None, num_nodes: int) -> np.ndarray | None:
    """Runs of nodes to work on at a time, no edge between them; ``None`` where there are no small ones."""
    if graph_blocks is None and num_nodes <= _MOST_NODES:
        return np.array([0, num_nodes])
    return graph_blocks


def scale_and_shift(norm: nn.Module) -> tuple[Tensor, Tensor] | None:
    """What batch normalisation multiplies by and adds in evaluation; ``None`` for the identity."""
    if not isinstance(norm, nn.BatchNorm1d):
        return None

    def make() -> tuple[Tensor, Tensor]:
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scale = norm.weight.detach() * (norm.running_var + norm.eps).rsqrt()
        return scale, norm.bias.detach() - norm.running_mean * scale

    return _scales.setdefault(norm, LastMade()).get(_tensors(norm), make, norm.eps)


def _tensors(*modules: nn.Module) -> tuple[Tensor, ...]:
    """The numbers that the modules hold themselves."""
    found: list[Tensor] = []
    for module in modules:
        found += [one for one in module._parameters.values() if one is not None]
        found += [one for one in module._buffers.values() if one is not None]
    return tuple(found)


def affine_of(
    linear: nn.Linear, before: nn.Module | None = None, after: nn.Module | None = None
) -> Affine:
    """A linear layer with the batch normalisation before it, or after it, folded in."""

    def make() -> Affine:
        weight = linear.weight.detach().T
        shift = weight.new_zeros(weight.shape[1]) if linear.bias is None else linear.bias.detach()
        given = None if before is None else scale_and_shift(before)
        if given is not None:
            shift = shift + given[1] @ weight
            weight = weight * given[0].unsqueeze(1)
        made = None if after is None else scale_and_shift(after)
        if made is not None:
            weight, shift = weight * made[0], shift * made[0] + made[1]
        return products.prepare(weight.contiguous()), shift.contiguous()

    around = [one for one in (before, after) if one is not None]
    # Compared by value: neither training nor whoever writes to a parameter's data says that it has changed.
    key = before is None, after is None, *(getattr(one, "eps", None) for one in around)
    return _affine.setdefault(linear, LastMade()).get(_tensors(linear, *around), make, key)


def affine(x: Tensor, folded: Affine, rectifies: bool = False) -> Tensor:
    """``x @ weight + shift`` for rows ``n x k``, and the ReLU of it if it ``rectifies``."""
    return compiled_hops.affine(x, *folded, rectifies)


def hop(module: Hop, x: Tensor, adjacent: SparseMatrix, blocks: np.ndarray) -> Tensor:
    """The output of a hop, ``n x d``, run after run of nodes.

    Args:
        module: The hop.
        x: ``n x in_channels``.
        adjacent: From ``neighbours``.
        blocks: First node of each run, and n; no edge joins two runs.
    """
    first, norm, _, second = module.mlp
    assert isinstance(first, nn.Linear)
    assert isinstance(second, nn.Linear)
    both = affine_of(first, after=norm), affine_of(second, after=module.norm)
    return compiled_hops.hop(adjacent.to(x.dtype), blocks, x, *both)


def sums(x: Tensor, begins: np.ndarray) -> Tensor:
    """Sums over the nodes of each graph, from ``n x d`` to ``num_graphs x d``.

    Args:
        x: ``n x d``.
        begins: The first node of each graph; the nodes of a graph follow each other.
    """
    return compiled_hops.sums(x, begins)
