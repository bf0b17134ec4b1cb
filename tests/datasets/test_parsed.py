"""Parsed data: what was saved comes back bit for bit, or not at all."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch

from ignn_solver.datasets import parsed
from ignn_solver.datasets.data import feature_tensor
from ignn_solver.datasets.source import Parsed


def test_round_trip(tmp_path: Path) -> None:
    x = feature_tensor(scipy.sparse.random(50, 40, density=0.05, random_state=0, format="csr"))
    tensors = {
        "x": x,
        "y": torch.arange(50),
        "empty": torch.empty(0, dtype=torch.int64),
        "flags": torch.tensor([True, False]),
        "transposed": torch.arange(6.0).reshape(2, 3).T,
    }
    parsed.save(tmp_path / "p.safetensors", Parsed(tensors, {"classes": 3}))
    back = parsed.read(tmp_path / "p.safetensors")
    assert back is not None
    assert back.facts == {"classes": 3}
    assert back.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        other = back.tensors[name]
        assert (other.dtype, other.shape, other.layout) == (
            tensor.dtype,
            tensor.shape,
            tensor.layout,
        )
        assert torch.equal(other.to_dense(), tensor.to_dense())


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    tensors = {"y": torch.arange(4), "z": torch.ones(3)}
    parsed.save(path, Parsed(tensors))
    whole = path.read_bytes()
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        back = parsed.read(path)
        if back is not None:
            # A flip in the white space of the header changes nothing that is read.
            assert all(torch.equal(back.tensors[name], tensors[name]) for name in tensors)


def test_nothing_there_is_nothing(tmp_path: Path) -> None:
    assert parsed.read(tmp_path / "none") is None


def test_digest_of_a_file_is_its_sha256(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert parsed.digest(tmp_path / "f", tmp_path) == expected


def test_digest_of_a_folder_knows_names_and_contents(tmp_path: Path) -> None:
    folder, notes = tmp_path / "folder", tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "a").write_bytes(b"1")
    first = parsed.digest(folder, notes)
    (folder / "sub" / "b").write_bytes(b"2")
    second = parsed.digest(folder, notes)
    (folder / "sub" / "b").rename(folder / "b")
    third = parsed.digest(folder, notes)
    (folder / "b").write_bytes(b"3")
    assert len({first, second, third, parsed.digest(folder, notes)}) == 4


def test_large_files_are_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed, "_HASHED_EACH_TIME", 10)
    calls = []
    original = parsed._hash
    monkeypatch.setattr(parsed, "_hash", lambda path: calls.append(path) or original(path))
    file, notes = tmp_path / "big", tmp_path / "notes"
    file.write_bytes(np.arange(100).tobytes())
    one = parsed.digest(file, notes)
    assert parsed.digest(file, notes) == one
    assert len(calls) == 1
    file.write_bytes(np.arange(101).tobytes())
    assert parsed.digest(file, notes) != one
    assert len(calls) == 2
    (note,) = notes.iterdir()
    note.write_text("{ not json")
    parsed.digest(file, notes)
    assert len(calls) == 3
