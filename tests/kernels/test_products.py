"""Products with small matrices: what they say, compiled and in torch, whatever the layout."""

import math

import pytest
import torch

from ignn_solver import kernels
from ignn_solver.kernels import products
from problems import DOUBLE

TOLERANCE = {torch.float32: 1e-6, DOUBLE: 1e-13}
SHAPES = [(1, 1, 1), (300, 7, 2), (513, 16, 0), (5, 64, 8), (700, 512, 3), (100, 128, 48)]


@pytest.fixture(params=["numba", "torch"])
def backend(request, monkeypatch):
    if request.param == "numba":
        pytest.importorskip("numba")
    monkeypatch.setenv("IGNN_SOLVER_KERNELS", request.param)


def prepared(*matrices, rough=False):
    return [products.prepare(one, rough) for one in matrices]


def close(found, expected, width):
    scale = TOLERANCE[found.dtype] * max(1.0, float(expected.abs().max())) * width
    return bool((found - expected).abs().max() <= scale)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("momentum", [True, False])
@pytest.mark.parametrize(("rows", "width", "rank"), SHAPES)
def test_a_step_is_what_it_says(rows, width, rank, momentum, dtype):
    z, image, previous = torch.randn(3, rows, width, dtype=dtype).unbind()
    left = torch.randn((1 + momentum) * width, rank or width, dtype=dtype)
    right = torch.randn(rank, width, dtype=dtype)
    regressors = torch.cat([image - z, z - previous][: 1 + momentum], 1)
    expected = image + (regressors @ left if rank == 0 else regressors @ left @ right)
    kept = [one.clone() for one in (z, image, previous)]
    out = torch.full_like(z, torch.nan)
    found = products.mix(z, image, previous, *prepared(left, right), out)
    assert found is out
    assert close(found, expected, width)
    assert all(
        torch.equal(one, other) for one, other in zip((z, image, previous), kept, strict=True)
    )
    turned = [one.T.contiguous().T for one in (z, image, previous, left, right)]
    again = products.mix(*turned[:3], *prepared(*turned[3:]), torch.empty_like(z))
    assert close(again, found, width)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("rows", "width"), [(1, 1), (300, 7), (20_001, 16), (700, 128)])
def test_what_a_fit_needs_is_summed_over_all_rows(rows, width, dtype):
    z, image, previous, target = torch.randn(4, rows, width, dtype=dtype).unbind()
    regressors = torch.cat([image - z, z - previous], 1).double()
    expected = regressors.T @ torch.cat([regressors, (target - image).double()], 1)
    found = products.normal(z, image, previous, target)
    assert found.dtype == DOUBLE
    unit = 1e-13 if dtype == DOUBLE else 5e-6
    assert (found - expected).abs().max() <= unit * expected.abs().max()
    turned = [one.T.contiguous().T for one in (z, image, previous, target)]
    again = products.normal(*turned)
    assert (again - expected).abs().max() <= unit * expected.abs().max()


@pytest.mark.usefixtures("backend")
def test_every_number_is_clamped_and_nan_stays():
    z, image, previous = torch.randn(3, 9000, 64).unbind()
    image[17, 3] = math.nan
    matrices = prepared(torch.randn(128, 4), torch.randn(4, 64))
    raw = products.mix(z, image, previous, *matrices, torch.empty_like(z))
    found = products.mix(z, image, previous, *matrices, torch.empty_like(z), (0.0, 0.5))
    assert torch.equal(found.nan_to_num(-1), raw.clamp(0.0, 0.5).nan_to_num(-1))
    assert found[17].isnan().all()


@pytest.mark.skipif(not kernels.HAS_PAIRS, reason="nothing is rounded on this processor")
@pytest.mark.parametrize("momentum", [True, False])
@pytest.mark.parametrize(("rows", "width", "rank"), SHAPES)
def test_rough_matrices_round_the_correction_alone(rows, width, rank, momentum):
    z, previous = torch.randn(2, rows, width).unbind()
    image = z + 1e-3 * torch.randn(rows, width)
    previous = z + 1e-3 * previous
    left, right = torch.randn((1 + momentum) * width, rank or width), torch.randn(rank, width)
    exact = products.mix(z, image, previous, *prepared(left, right), torch.empty_like(z))
    matrices = prepared(left, right, rough=True)
    rough = products.mix(z, image, previous, *matrices, torch.empty_like(z))
    distance, size = (rough - exact).norm(), (exact - image).norm()
    assert distance <= 0.02 * size + 1e-6 * image.norm()
    assert width < 16 or distance >= 1e-4 * size


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("activation", kernels.ACTIVATIONS)
@pytest.mark.parametrize(("rows", "width", "narrow"), [(1, 1, 1), (300, 33, 5), (97, 128, 16)])
def test_narrow_products_are_what_they_say(rows, width, narrow, activation, dtype):
    bias, t = torch.randn(rows, width, dtype=dtype), torch.randn(rows, narrow, dtype=dtype)
    write, read = (torch.randn(shape, dtype=dtype) for shape in ((narrow, width), (width, narrow)))
    start = torch.randn(2 * width, narrow, dtype=dtype)
    act = getattr(torch, activation)
    states = act(bias + t @ write)
    given = bias.clone()
    ready = prepared(write, read, start)
    found = products.activated(bias, t, ready[0], activation, torch.empty_like(bias))
    assert close(found, states, width)
    found = products.through(bias, t, *ready[:2], activation, torch.empty_like(t))
    assert close(found, states @ read, width)
    found = products.from_bias(bias, ready[2], activation, torch.empty_like(t))
    assert close(found, torch.cat([act(bias), bias], 1) @ start, width)
    assert torch.equal(bias, given)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("activation", kernels.ACTIVATIONS)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("rows", "width"), [(1, 1), (300, 7), (130, 32)])
def test_a_guess_is_what_it_says(rows, width, dtype, activation):
    bias, weight = torch.randn(rows, width, dtype=dtype), torch.randn(2 * width, width, dtype=dtype)
    act, given = getattr(torch, activation), bias.clone()
    found = products.guess(bias, products.prepare(weight), activation, torch.empty_like(bias))
    assert close(found, act(bias + torch.cat([act(bias), bias], 1) @ weight), width)
    assert torch.equal(bias, given)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_product_is_one(dtype):
    x, weight = torch.randn(1000, 130, dtype=dtype), torch.randn(130, 67, dtype=dtype)
    found = products.product(x, products.prepare(weight), x.new_empty(1000, 67))
    assert close(found, x @ weight, 130)


@pytest.mark.skipif(kernels.backend() == "torch", reason="needs numba")
@pytest.mark.parametrize("columns", [1, 16, 32, 48, 64, 70])
@pytest.mark.parametrize("rows", [1, 50])
@pytest.mark.parametrize("depth", [1, 31, 32, 34, 64, 100, 1024])
def test_small_terms_are_not_lost_to_a_large_sum(depth, rows, columns):
    # Added one by one to 1, numbers of half a unit in the last place vanish all.
    x, half = torch.full((rows, depth), 2.0**-24), 2.0**-24
    x[:, 0] = 1.0
    weight = torch.ones(depth, columns)
    found = products.product(x, products.prepare(weight), x.new_empty(rows, columns))
    lost = 1 + (depth - 1) * half - found.double()
    terms = products.roundings(depth, x)
    assert terms <= 32 + math.ceil(depth / 32)
    assert float(lost.abs().max()) <= terms * half
    # A stretch by itself is exact, so that only the first one loses anything.
    assert float(lost.abs().max()) == min(depth - 1, 31) * half


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_combination_is_what_it_says(dtype):
    points = torch.randn(4, 301, 33, dtype=dtype).unbind()
    plain, mixing = [1.5, -0.5, 0.25, 0.0], [0.0, 2.0, -1.0, 0.5]
    matrix = torch.randn(33, 33, dtype=dtype)
    sums = [sum(x * a for x, a in zip(points, some, strict=True)) for some in (plain, mixing)]
    expected = (sums[0] + sums[1] @ matrix).clamp(-1.0, 2.0)
    out = torch.empty_like(points[0])
    found = products.combine(points, plain, mixing, products.prepare(matrix), out, (-1.0, 2.0))
    assert found is out
    assert close(found, expected, 33)
