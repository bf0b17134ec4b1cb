"""Memory that is used again, and never under somebody's feet."""

import copy
import pickle
import threading

import pytest
import torch

import ignn_solver as ig
from ignn_solver.memory import POOL, Pool, Scratch, empty, release


def test_scratch_is_kept_while_it_fits():
    scratch = Scratch()
    first = scratch.like(torch.ones(3, 2))
    assert scratch.like(torch.zeros(3, 2)) is first
    assert scratch.like(torch.ones(2, 3)).shape == (2, 3)
    assert scratch.like(torch.ones(2, 3, dtype=torch.float64)).dtype == torch.float64
    assert scratch.like(torch.ones(3, 2).T).is_contiguous()


def test_every_thread_has_its_own_scratch():
    scratch, found = Scratch(), []
    x = torch.ones(4)
    thread = threading.Thread(target=lambda: found.append(scratch.like(x)))
    thread.start()
    thread.join()
    assert found[0].data_ptr() != scratch.like(x).data_ptr()


def test_scratch_is_not_copied():
    scratch = Scratch()
    mine = scratch.like(torch.ones(4))
    for other in (copy.deepcopy(scratch), pickle.loads(pickle.dumps(scratch))):
        assert other.like(torch.ones(4)).data_ptr() != mine.data_ptr()


def test_a_pool_gives_out_only_what_nobody_holds():
    pool, x = Pool(), torch.empty(5, 2)
    one, two = pool.like(x), pool.like(x)
    assert one.data_ptr() != two.data_ptr()
    place = one.data_ptr()
    held = (one,)
    del one
    assert pool.like(x).data_ptr() not in (place, two.data_ptr())
    del held
    again = [pool.like(x), pool.like(x)]
    assert place in {x.data_ptr() for x in again}
    assert len({x.data_ptr() for x in (*again, two)}) == 3


@pytest.mark.parametrize("rows", [5, 2**20])
@pytest.mark.parametrize(
    "view", [lambda x: x.view(-1), lambda x: x[1:2], lambda x: x.numpy(), lambda x: x.detach()]
)
def test_a_view_keeps_an_array_from_being_given_out(view, rows):
    pool, x = Pool(), torch.empty(rows, 2)
    given = pool.like(x)
    place, kept = given.data_ptr(), view(given)
    del given
    assert all(pool.like(x).data_ptr() != place for _ in range(3))
    del kept
    assert pool.like(x).data_ptr() == place


def test_what_autograd_needs_is_held():
    pool, x = Pool(), torch.empty(5, 2)
    given = pool.like(x).fill_(3)
    weight = torch.ones(5, 2, requires_grad=True)
    product = weight * given
    del given
    pool.like(x).fill_(7)
    product.sum().backward()
    assert torch.equal(weight.grad, torch.full((5, 2), 3.0))


def test_the_memory_of_a_solution_is_used_again_only_when_it_is_gone():
    f = ig.EquilibriumMap(
        ig.Adjacency.from_edge_index(torch.tensor([[0, 1], [1, 0]]), num_nodes=2),
        0.5 * torch.eye(3),
        torch.ones(2, 3),
        ig.Contraction(0.5),
    )
    kept = ig.solve(f, tol=1e-6).value[:1]
    before = kept.clone()
    for _ in range(3):
        ig.solve(f, z0=torch.zeros(2, 3), tol=1e-2)
    assert torch.equal(kept, before)


def test_a_pool_keeps_one_shape_and_so_many_bytes():
    pool, x = Pool(most=2 * 40), torch.empty(5, 2)
    held = [pool.like(x) for _ in range(4)]
    assert len({one.data_ptr() for one in held}) == 4
    assert len(pool._kept) == 2
    pool.like(torch.empty(3, 2, dtype=torch.float64))
    assert [one.shape for one in pool._kept] == [(3, 2)]
    assert pool.like(x).is_contiguous()
    release()
    assert POOL._kept == []


def test_every_thread_has_its_own_pool():
    pool, x, found = Pool(), torch.empty(4), []
    place = pool.like(x).data_ptr()
    thread = threading.Thread(target=lambda: found.append(pool.like(x)))
    thread.start()
    thread.join()
    assert found[0].data_ptr() != place
    assert pool.like(x).data_ptr() == place


def test_scratch_made_in_inference_mode_serves_outside_of_it():
    scratch = Scratch()
    x = torch.ones(3, 3)
    with torch.inference_mode():
        torch.mm(x, x, out=scratch.like(x))
    torch.mm(x, x, out=scratch.like(x))
    with torch.inference_mode():
        inside = torch.ones(3, 3)
        torch.mm(inside, inside, out=scratch.like(inside))
    assert torch.equal(scratch.like(x), torch.full((3, 3), 3.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("rows", [3, 2**16])
def test_a_new_array_is_whole_and_begins_at_a_line_of_the_cache(rows, dtype):
    found = empty((rows, 33), dtype, torch.device("cpu"))
    assert found.shape == (rows, 33)
    assert found.dtype == dtype
    assert found.is_contiguous()
    assert found.data_ptr() % 64 == 0
    found.fill_(2)
    assert float(found.double().sum()) == 2 * rows * 33


def test_vectors_of_about_the_same_length_share_memory_one_after_the_other():
    pool, x = Pool(), torch.zeros(3)
    first = pool.first(x, 70_000)
    assert first.shape == (70_000,)
    second = pool.first(x, 70_000)
    place = first.data_ptr()
    assert second.data_ptr() != place
    del first
    longer = pool.first(x, 70_005)
    assert longer.data_ptr() == place
    assert longer.shape == (70_005,)
