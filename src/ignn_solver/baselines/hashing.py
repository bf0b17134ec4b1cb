"""Feature hashing with a hash function for each degree, as DEMO-Net uses it."""

from __future__ import annotations

import torch
from torch import Tensor

from ..sparse import SparseMatrix

_MASK = 0xFFFFFFFF
SHARED = -1
"""The degree that stands for the hash function all nodes share."""


def _mix(x: Tensor) -> Tensor:
    """Scramble 32-bit integers (the finaliser of MurmurHash3, Appleby 2011)."""
    x = (x ^ (x >> 16)) * 0x85EBCA6B & _MASK
    x = (x ^ (x >> 13)) * 0xC2B2AE35 & _MASK
    return x ^ (x >> 16)


def hash_columns(degrees: Tensor, columns: int, dimension: int, salt: int) -> tuple[Tensor, Tensor]:
    """Where each degree's hash function puts each column, and with which sign.

    Args:
        degrees: ``k`` integers.
        columns: How many columns to hash.
        dimension: How many places there are.
        salt: Another salt gives other hash functions.

    Returns:
        Places from 0 to ``dimension - 1`` and signs -1 or 1, both ``k x columns``.
    """
    column = torch.arange(columns, device=degrees.device)
    seed = _mix((degrees.long() + 0x9E3779B9 * (salt + 1)) & _MASK)
    code = _mix(seed.unsqueeze(1) ^ _mix(column + 1))
    return code % dimension, (code >> 31) * 2 - 1


def hashed_rows(x: Tensor, degree: Tensor, dimension: int, salt: int) -> Tensor:
    r"""Hash each row by its degree's hash function and by the shared one, and add the two.

    :math:`\phi_d(x)_k = \sum_{j : \xi_d(j) = k} \rho_d(j) x_j` with :math:`\xi_d` the place and
    :math:`\rho_d` the sign of column j; the result is :math:`\phi_{\deg(i)}(x_i) + \phi(x_i)`.

    Args:
        x: ``n x columns``, dense; may require gradients.
        degree: The degree of each row, ``n``.
        dimension: Columns of the result.
        salt: Chooses the hash functions.
    """
    distinct, which = degree.unique(return_inverse=True)
    place, sign = hash_columns(distinct, x.shape[1], dimension, salt)
    zeros = x.new_zeros(x.shape[0], dimension)
    own = zeros.scatter_add(1, place[which], x * sign[which].to(x.dtype))
    place, sign = hash_columns(degree.new_tensor([SHARED]), x.shape[1], dimension, salt)
    return own.index_add(1, place[0], x * sign[0].to(x.dtype))


def hashed_means(
    features: SparseMatrix, mean: SparseMatrix, degree: Tensor, dimension: int, salt: int
) -> Tensor:
    """``hashed_rows(mean @ features, ...)`` for sparse features, which stay sparse.

    Hashing is linear, so the features are hashed first, once for each degree there is.

    Args:
        features: ``n x columns``.
        mean: The ``n x n`` matrix that averages over neighbours.
        degree: The degree of each node, ``n``.
        dimension: Columns of the result.
        salt: Chooses the hash functions.
    """
    nodes, columns = features.shape
    start = features.row.long() * dimension
    column, value = features.col.long(), features.value

    def hashed(one: Tensor) -> Tensor:
        place, sign = hash_columns(one, columns, dimension, salt)
        flat = value.new_zeros(nodes * dimension)
        flat.index_add_(0, start + place[0][column], value * sign[0][column].to(value.dtype))
        return flat.view(nodes, dimension)

    result = mean.matmul(hashed(degree.new_tensor([SHARED])))
    row, col = mean.row.long(), mean.col.long()
    for one in degree.unique():
        members = (degree == one).nonzero().squeeze(1)
        position = torch.zeros_like(degree)
        position[members] = torch.arange(members.numel(), device=degree.device)
        chosen = degree[row] == one
        part = SparseMatrix.from_coo(
            position[row[chosen]], col[chosen], mean.value[chosen], (members.numel(), nodes)
        )
        result[members] += part.matmul(hashed(one.unsqueeze(0)))
    return result
