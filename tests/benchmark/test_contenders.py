"""Every contender solves the same problem, counts its evaluations and stops where it is told to."""

import pytest
import torch

from ignn_solver import Picard
from ignn_solver.benchmark.contenders import NAMES, contenders
from ignn_solver.benchmark.published import PublishedLoop


@pytest.fixture(scope="module")
def everyone(problem):
    learned = {"learned": Picard(), "learned-paper": Picard()}
    return {one.name: one for one in contenders(problem, NAMES, learned)}


def test_the_order_is_fixed_and_the_choice_is_kept(problem, everyone):
    assert tuple(everyone) == NAMES
    some = contenders(problem, ("picard", "ignn-published"), {})
    assert [one.name for one in some] == ["ignn-published", "picard"]


@pytest.mark.parametrize("name", NAMES)
def test_everyone_reaches_the_tolerance_and_counts_what_it_spends(problem, everyone, name):
    calls = 0
    evaluate = type(problem.f).evaluate

    def counted(f, z, out=None):
        nonlocal calls
        calls += 1
        return evaluate(f, z, out)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(problem.f), "evaluate", counted)
        value, evals = everyone[name].run(None, None)
    assert problem.judge(value).residual <= problem.tol
    if name in ("ignn-published", "sweep"):
        assert calls == 0  # they evaluate in ways of their own
    else:
        assert evals == calls


@pytest.mark.parametrize(
    "name", [n for n in NAMES if n not in ("ignn-published", "learned-certified")]
)
def test_a_limit_is_kept_and_every_evaluation_is_shown(everyone, name):
    seen = []
    _, evals = everyone[name].run(None, lambda spent, value: seen.append(spent))
    assert seen == list(range(1, evals + 1))
    assert everyone[name].run(5, None)[1] == 5


def test_the_published_loop_stops_when_no_entry_moves_by_more_than_its_tolerance(problem):
    f = problem.f
    value, evals = PublishedLoop(f).run()
    z, moved = torch.zeros_like(f.bias), []
    for _ in range(evals):
        before, z = z, f(z)
        moved.append(float((z - before).abs().max()))
    torch.testing.assert_close(value, z, atol=1e-5, rtol=1e-4)
    assert moved[-1] < 1e-4 <= moved[-2]


def test_the_published_loop_can_be_run_past_its_own_end_and_shows_every_state(problem):
    loop = PublishedLoop(problem.f)
    own = loop.run()[1]
    seen = []
    value, evals = loop.run(own + 3, lambda spent, z: seen.append((spent, z.clone())))
    assert evals == own + 3
    assert [spent for spent, _ in seen] == list(range(1, own + 4))
    assert torch.equal(seen[-1][1], value)
    torch.testing.assert_close(seen[4][1], problem.f(seen[3][1].contiguous()), atol=1e-6, rtol=1e-5)
