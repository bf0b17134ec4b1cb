"""Named tensors on disk."""

import json

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from ignn_solver.errors import InputError
from ignn_solver.tensors import load_tensors, load_weights, save_tensors


def test_tensors_and_metadata_come_back_as_they_went(tmp_path):
    path = tmp_path / "new" / "file.safetensors"
    wide = torch.arange(12.0, dtype=torch.float64).view(3, 4)
    tensors = {
        "transposed": wide.T,
        "strided": wide[:, ::2],
        "whole": torch.tensor([2**40, -1]),
        "flags": torch.tensor([True, False]),
        "scalar": torch.tensor(1.5),
        "empty": torch.zeros(0, 3),
        "learnt": nn.Parameter(torch.tensor([torch.nan, torch.inf])),
    }
    metadata = {"epochs": 3, "history": [{"loss": 0.1 + 0.2}], "name": "é", "none": None}
    save_tensors(path, tensors, metadata)
    found, said = load_tensors(path, "file")
    assert said == metadata
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        torch.testing.assert_close(found[name], tensor.detach(), rtol=0, atol=0, equal_nan=True)
        assert not found[name].requires_grad
    assert [one.name for one in path.parent.iterdir()] == ["file.safetensors"]


def test_loaded_tensors_are_aligned_as_new_ones_are(tmp_path):
    """Sums may depend on the alignment in their last bit: a resumed training would drift."""
    path = tmp_path / "file"
    save_tensors(path, {str(size): torch.ones(size) for size in (1, 2, 3, 5, 9)})
    found, _ = load_tensors(path, "file")
    assert {tensor.data_ptr() % 64 for tensor in found.values()} == {torch.ones(3).data_ptr() % 64}


def test_files_without_metadata_are_read(tmp_path):
    save_file({"a": torch.ones(2)}, tmp_path / "file")
    assert load_tensors(tmp_path / "file", "file")[1] is None


def test_damaged_files_are_one_sentence(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(InputError, match=r"^no solver at .*file: train first, or name another"):
        load_tensors(path, "solver")
    with pytest.raises(InputError, match=r"^no solver at"):
        load_tensors(tmp_path, "solver")
    save_file({"a": torch.ones(2)}, path, {"json": "{not JSON"})
    with pytest.raises(InputError, match=r"^solver .*file is truncated or corrupt \(.*\): restore"):
        load_tensors(path, "solver")
    for content in (b"", b"PK\x03\x04", b"\xff" * 64, json.dumps({"a": 1}).encode()):
        path.write_bytes(content)
        with pytest.raises(InputError, match="is truncated or corrupt") as refused:
            load_tensors(path, "solver")
        assert "\n" not in str(refused.value)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    save_tensors(path, {"a": torch.ones(2)}, "good")
    with pytest.raises(TypeError):
        save_tensors(path, {"a": torch.zeros(2)}, object())
    found, said = load_tensors(path, "file")
    assert said == "good"
    assert torch.equal(found["a"], torch.ones(2))
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_weights_go_in_only_if_all_of_them_fit(tmp_path):
    module = nn.Linear(2, 3)
    weights = {"weight": torch.ones(3, 2), "bias": torch.ones(3)}
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    wrong = [
        ({"weight": weights["weight"]}, "it lacks bias"),
        ({**weights, "extra": torch.ones(1)}, "it also has extra"),
        ({**weights, "bias": torch.ones(4)}, r"bias has shape \(4,\) instead of \(3,\)"),
        ({}, "it lacks bias, weight"),
    ]
    for tensors, sentence in wrong:
        with pytest.raises(InputError, match=rf"^place does not fit this model, {sentence}: name"):
            load_weights(module, tensors, tmp_path.__class__("place"))
        assert all(torch.equal(module.state_dict()[n], t) for n, t in before.items())
    load_weights(module, weights, tmp_path)
    assert torch.equal(module.weight, torch.ones(3, 2))
