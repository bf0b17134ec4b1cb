"""What is remembered, and when it is forgotten."""

import gc
import weakref

import torch

from ignn_solver.cache import LastMade, TensorCache


class Counter:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        return self.calls


def test_the_same_tensors_under_the_same_key_are_made_once():
    cache, make = TensorCache(), Counter()
    one, other = torch.ones(2), torch.ones(2)
    assert cache.get(one, make) == cache.get(one, make) == 1
    assert cache.get(other, make) == 2
    assert cache.get((one, other), make) == 3
    assert cache.get((other, one), make) == 4
    assert cache.get(one, make, key="other") == 5
    assert cache.get(one, make) == 1


def test_a_tensor_changed_in_place_is_made_again():
    cache, make = TensorCache(), Counter()
    tensor = torch.ones(2)
    cache.get(tensor, make)
    tensor[0] = 5
    assert cache.get(tensor, make) == 2
    assert cache.get(tensor, make) == 2
    view = tensor[:1]
    view.add_(1)
    assert cache.get(tensor, make) == 3


def test_what_was_made_goes_with_its_tensors():
    cache = TensorCache()
    one, other = torch.ones(2), torch.ones(2)
    cache.get((one, other), object)
    cache.get(one, object)
    assert len(cache._made) == 2
    del other
    gc.collect()
    assert len(cache._made) == 1
    del one
    gc.collect()
    assert len(cache._made) == 0


def test_a_new_tensor_at_the_same_address_is_not_mistaken_for_the_old():
    cache, make = TensorCache(), Counter()
    for turn in range(1, 50):
        assert cache.get(torch.ones(3), make) == turn


def test_a_failure_is_not_remembered():
    cache, make = TensorCache(), Counter()
    tensor = torch.ones(2)

    def fail() -> int:
        raise ValueError

    for _ in range(2):
        try:
            cache.get(tensor, fail)
        except ValueError:
            make()
    assert make.calls == 2
    assert cache.get(tensor, make) == 3


def test_inference_tensors_which_have_no_version_are_made_every_time():
    cache, make = TensorCache(), Counter()
    with torch.inference_mode():
        tensor = torch.ones(2)
        assert cache.get(tensor, make) == 1
        tensor.add_(1)
        assert cache.get(tensor, make) == 2


def test_what_was_made_last_is_remembered_by_value_and_keeps_no_tensor_alive():
    cache, make = LastMade(), Counter()
    one, same, other = torch.ones(2), torch.ones(2), torch.zeros(2)
    assert cache.get((one,), make, "a") == cache.get((same,), make, "a") == 1
    assert cache.get((other,), make, "a") == 2
    assert cache.get((one,), make, "a") == 3
    assert cache.get((one,), make, "b") == 4
    assert cache.get((one.double(),), make, "b") == 5
    # Also where the tensor does not record the change.
    one = one.double()
    one.data.zero_()
    assert cache.get((one,), make, "b") == 6
    gone = weakref.ref(one)
    del one
    assert gone() is None


def test_nan_is_never_remembered():
    cache, make = LastMade(), Counter()
    broken = torch.tensor([torch.nan])
    assert cache.get((broken,), make, None) != cache.get((broken,), make, None)
