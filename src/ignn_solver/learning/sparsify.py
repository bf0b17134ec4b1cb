"""Graph sparsification for the mixer: by the principle of relevant information, and simple rivals."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..adjacency import Adjacency
from ..cache import TensorCache
from ..errors import InputError

_sparsified: TensorCache[Adjacency] = TensorCache()

#: Up to this many nodes the exact entropy, which costs the cube of it, is affordable.
EXACT_NODES = 300


def sparsified(
    adjacency: Adjacency, density: float, method: str = "pri", seed: int = 0
) -> Adjacency:
    """The adjacency with a share of its edges, normalised anew; made once per graph.

    Every node keeps at least one of its edges, so none is cut off.

    Args:
        adjacency: The graph.
        density: Share of the edges to keep, in (0, 1].
        method: ``"pri"`` (principle of relevant information), ``"random"``, ``"degree"`` or
            ``"resistance"``.
        seed: Makes the choice; the same seed gives the same edges.
    """
    if not 0 < density <= 1:
        raise InputError(f"the density of the sparsified graph must lie in (0, 1], not {density}")
    if method not in SCORES:
        raise InputError(f"unknown sparsifier {method!r}: choose one of {', '.join(SCORES)}")
    if density == 1:
        return adjacency
    return _sparsified.get(
        adjacency.matrix.col,
        lambda: _keep(adjacency, density, method, seed),
        (density, method, seed),
    )


def undirected_edges(adjacency: Adjacency) -> Tensor:
    """Each edge once, ``2 x edges``, the smaller node first, without self-loops."""
    row, col = adjacency.matrix.row.long(), adjacency.matrix.col.long()
    low, high = torch.minimum(row, col), torch.maximum(row, col)
    key = torch.unique((low * adjacency.num_nodes + high)[low != high])
    return torch.stack([key // adjacency.num_nodes, key % adjacency.num_nodes])


def _keep(adjacency: Adjacency, density: float, method: str, seed: int) -> Adjacency:
    edges = undirected_edges(adjacency)
    count = edges.shape[1]
    if count:
        score = SCORES[method](edges, adjacency.num_nodes, density, seed)
        wanted = max(1, round(density * count))
        kept = torch.zeros(count, dtype=torch.bool, device=edges.device)
        kept[_best_edge_of_each_node(edges, score, adjacency.num_nodes)] = True
        room = max(0, wanted - int(kept.sum()))
        kept[score.masked_fill(kept, -torch.inf).topk(room).indices] = True
        edges = edges[:, kept]
    return Adjacency.from_edge_index(
        edges,
        num_nodes=adjacency.num_nodes,
        undirected=True,
        batch=adjacency.graph,
        dtype=adjacency.matrix.dtype,
    )


def _best_edge_of_each_node(edges: Tensor, score: Tensor, num_nodes: int) -> Tensor:
    ends = edges.flatten()
    both = torch.cat([score, score])
    best = both.new_full((num_nodes,), -torch.inf).scatter_reduce(0, ends, both, "amax")
    chosen = (both == best[ends]).nonzero().squeeze(1) % edges.shape[1]
    return chosen.unique()


def _random(edges: Tensor, num_nodes: int, density: float, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(edges.shape[1], generator=generator).to(edges.device)


def _degree(edges: Tensor, num_nodes: int, density: float, seed: int) -> Tensor:
    """Prefer edges between nodes of low degree: 1/d_u + 1/d_v bounds the effective resistance."""
    degree = torch.bincount(edges.flatten(), minlength=num_nodes).to(torch.get_default_dtype())
    return degree[edges].reciprocal().sum(0) + 1e-6 * _random(edges, num_nodes, density, seed)


def _resistance(edges: Tensor, num_nodes: int, density: float, seed: int) -> Tensor:
    """Effective resistances: exact for small graphs, by their degree bound for large ones."""
    if num_nodes > EXACT_NODES:
        return _degree(edges, num_nodes, density, seed)
    inverse = torch.linalg.pinv(_laplacian(edges, torch.ones(edges.shape[1]), num_nodes).double())
    u, v = edges
    return (inverse[u, u] + inverse[v, v] - 2 * inverse[u, v]).float()


def _laplacian(edges: Tensor, weight: Tensor, num_nodes: int) -> Tensor:
    u, v = edges
    matrix = weight.new_zeros(num_nodes, num_nodes)
    matrix = matrix.index_put((u, v), -weight, accumulate=True)
    matrix = matrix.index_put((v, u), -weight, accumulate=True)
    return matrix - torch.diag(matrix.sum(1))


def exact_entropy(edges: Tensor, weight: Tensor, num_nodes: int) -> Tensor:
    """The von Neumann entropy of the trace-normalised Laplacian: O(n^3)."""
    laplacian = _laplacian(edges, weight, num_nodes)
    values = torch.linalg.eigvalsh(laplacian / laplacian.trace()).clamp_min(1e-12)
    return -(values * values.log()).sum()


def quadratic_entropy(edges: Tensor, weight: Tensor, num_nodes: int) -> Tensor:
    """Its quadratic approximation ``1 - tr(L^2) / tr(L)^2``: O(edges)."""
    degree = weight.new_zeros(num_nodes).index_add(0, edges.flatten(), torch.cat([weight, weight]))
    trace = degree.sum()
    return 1 - (degree.square().sum() + 2 * weight.square().sum()) / trace.square()


@torch.enable_grad()
def _pri(edges: Tensor, num_nodes: int, density: float, seed: int) -> Tensor:
    r"""Edge scores that minimise the objective of PRI-Graphs (Yu et al., UAI 2022).

    :math:`\frac{1-\beta}{2\beta} H(\sigma_w) + H(\frac{\sigma_w + \rho}{2}) - \alpha \sum_i \log d_i(w)`
    with w relaxed by Gumbel-softmax, plus a term that holds the expected density at its target.
    """
    beta, connectivity, rounds, temperature = 0.5, 0.1, 60, 0.5
    entropy: Callable[[Tensor, Tensor, int], Tensor] = (
        exact_entropy if num_nodes <= EXACT_NODES else quadratic_entropy
    )
    # Entropies of different graphs differ by about 1/n: weigh them as the other terms are.
    scale = 1.0 if num_nodes <= EXACT_NODES else float(num_nodes)
    generator = torch.Generator().manual_seed(seed)
    logits = 0.01 * torch.randn(edges.shape[1], generator=generator).to(edges.device)
    start = torch.logit(torch.tensor(min(max(density, 1e-3), 1 - 1e-3)))
    logits = (logits + start).requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=0.1)
    full = torch.ones(edges.shape[1], device=edges.device)
    for _ in range(rounds):
        uniform = torch.rand(edges.shape[1], generator=generator).clamp(1e-6, 1 - 1e-6)
        noise = torch.logit(uniform).to(edges.device)
        weight = torch.sigmoid((logits + noise) / temperature)
        degree = weight.new_zeros(num_nodes).index_add(
            0, edges.flatten(), torch.cat([weight, weight])
        )
        # Both density operators have trace 1, so their mean is that of the rescaled weights.
        mixed = weight / weight.sum() + full / full.sum()
        objective = (1 - beta) / (2 * beta) * scale * entropy(edges, weight, num_nodes)
        objective = objective + scale * entropy(edges, mixed, num_nodes)
        objective = objective - connectivity * (degree + 1e-3).log().mean()
        excess = torch.sigmoid(logits).mean() - density
        objective = objective + 100 * excess.square()
        optimizer.zero_grad()
        objective.backward()
        optimizer.step()
    return logits.detach()


SCORES: dict[str, Callable[[Tensor, int, float, int], Tensor]] = {
    "pri": _pri,
    "random": _random,
    "degree": _degree,
    "resistance": _resistance,
}
