import pytest
import torch

from ignn_solver.adjacency import Adjacency
from ignn_solver.errors import InputError
from ignn_solver.learning.mixer import MIXERS, Compressor, Mixer


def scrambled(mixer: Mixer, scale: float = 1.0) -> Mixer:
    for parameter in mixer.parameters():
        torch.nn.init.normal_(parameter, std=scale)
    return mixer


def history(mixer, f, count):
    points = [torch.randn_like(f.bias) * 10.0**-i for i in range(count)]
    return [mixer.compress(f(z) - z, f.adjacency) for z in points]


@pytest.mark.parametrize("scope", ["node", "graph"])
@pytest.mark.parametrize("kind", MIXERS)
@pytest.mark.parametrize("count", [1, 3, 6])
def test_weights_sum_to_one_and_beta_stays_in_range(f, kind, scope, count):
    mixer = scrambled(Mixer(kind, 16, window=5, scope=scope), 0.3)
    alpha, beta = mixer(history(mixer, f, count), f.adjacency, f.adjacency)
    rows = f.adjacency.num_nodes if scope == "node" else 1
    assert alpha.shape == (rows, count)
    assert beta.shape == (rows, 1)
    rounding = 1e-5 * alpha.abs().sum(1)
    assert ((alpha.sum(1) - 1).abs() <= rounding + 1e-6).all()
    assert ((beta >= 0) & (beta <= 2)).all()


@pytest.mark.parametrize("kind", MIXERS)
def test_an_untrained_mixer_is_plain_iteration(f, kind):
    mixer = Mixer(kind, 16, window=3)
    alpha, beta = mixer(history(mixer, f, 4), f.adjacency, f.adjacency)
    newest = torch.zeros_like(alpha)
    newest[:, -1] = 1
    torch.testing.assert_close(alpha, newest)
    torch.testing.assert_close(beta, torch.ones_like(beta))


def test_only_the_graph_mixer_sees_neighbours(f):
    for kind in MIXERS:
        mixer = scrambled(Mixer(kind, 16, window=2, hidden=16))
        given = history(mixer, f, 3)
        before, _ = mixer(given, f.adjacency, f.adjacency)
        compressed, scale = given[-1]
        changed = compressed.clone()
        changed[0] += 1
        after, _ = mixer([*given[:-1], (changed, scale)], f.adjacency, f.adjacency)
        moved = (before - after).abs().amax(1) > 0
        neighbours = f.adjacency.matrix.as_torch().to_dense()[:, 0] > 0
        expected = neighbours if kind == "gn" else torch.arange(len(moved)) == 0
        assert moved[expected].all()
        assert not moved[~expected].any()


def test_compression_sees_shape_not_size(f):
    compress = Compressor(16, 5)
    residual = torch.randn_like(f.bias)
    small, small_scale = compress(1e-6 * residual, f.adjacency)
    large, large_scale = compress(1e3 * residual, f.adjacency)
    torch.testing.assert_close(small, large, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(large_scale - small_scale, torch.full((1, 1), 9.0).mul(2.302585))


def test_a_graph_never_sees_its_batch_mates(f):
    n = f.adjacency.num_nodes
    index = torch.stack([f.adjacency.matrix.row, f.adjacency.matrix.col]).long()
    batch = torch.arange(2).repeat_interleave(n)
    both = Adjacency.from_edge_index(
        torch.cat([index, index + n], 1), num_nodes=2 * n, undirected=True, batch=batch
    )
    mixer = scrambled(Mixer("nn", 16, window=2, scope="graph"))
    one, other = torch.randn(n, 16), 100 * torch.randn(n, 16)
    alone = mixer([mixer.compress(one, f.adjacency)], f.adjacency, None)
    together = mixer([mixer.compress(torch.cat([one, other]), both)], both, None)
    for single, double in zip(alone, together, strict=True):
        torch.testing.assert_close(single[0], double[0])


def test_mistakes():
    with pytest.raises(InputError, match="unknown mixer 'lstm'"):
        Mixer("lstm", 8)
    with pytest.raises(InputError, match="scope must be"):
        Mixer("nn", 8, scope="edge")
