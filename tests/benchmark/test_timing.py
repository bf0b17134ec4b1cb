"""Medians of interleaved rounds, and the most memory in use at once."""

import gc
import os
import time
from statistics import median

import pytest
import torch

from ignn_solver.benchmark.machine import Watch
from ignn_solver.benchmark.timing import interleaved, peak_bytes


def test_rounds_are_interleaved_and_turn():
    order = []
    calls = {name: (lambda name=name: order.append(name)) for name in "abc"}
    rounds = {}
    times = interleaved(calls, 4, rounds.__setitem__)
    assert "".join(order) == "aabbccbbccaaccaabbaabbcc"
    assert list(rounds) == [1, 2, 3, 4]
    assert times == {name: median(one[name] for one in rounds.values()) for name in "abc"}
    assert gc.isenabled()


def test_one_slow_round_does_not_move_the_median():
    # A call before each that is timed, but not after one that took long.
    pauses = iter([0.01, 0.25, 0.01, 0.01, 0.01])
    times = interleaved({"sleep": lambda: time.sleep(next(pauses))}, 3)
    assert 10 <= times["sleep"] < 200
    assert next(pauses, None) is None


def test_the_peak_is_what_lives_at_the_same_time():
    mebibyte = 2**18

    def call():
        one = torch.ones(4 * mebibyte)
        two = one + 1
        del one
        return two + 1

    assert peak_bytes(call) == pytest.approx(8 * 2**20, rel=0.01)
    assert peak_bytes(lambda: None) == 0


def test_own_work_does_not_count_as_that_of_others():
    with Watch() as watch:
        sum(range(10_000_000))
    # Others may well be busy here, but never on more cores than there are (clocks tick coarsely).
    assert watch.others <= os.cpu_count() + 0.5
    watch.others = 0.1
    assert watch.complaint is None
    watch.others = 0.9
    assert "0.9 of" in watch.complaint
