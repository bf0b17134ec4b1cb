"""WordNet's data files."""

import io
import tarfile
from pathlib import Path

import pytest

from datasets.formats import wordnet as members
from ignn_solver.datasets import wordnet
from ignn_solver.datasets.archives import Archive
from ignn_solver.datasets.registry import SOURCES
from ignn_solver.errors import InputError


def parse(tmp_path: Path, **changes: bytes):
    path = tmp_path / "WNdb-3.0.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, content in {**members(), **changes}.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return wordnet.parse(Archive(path), SOURCES["wordnet"])


def test_synsets_pointers_and_files(tmp_path: Path) -> None:
    tensors = parse(tmp_path).tensors
    # Nouns 0 to 2, the verb 3, the adjective (a satellite) 4, the adverb 5.
    assert tensors["y"].tolist() == [3, 5, 5, 38, 0, 2]
    edges = {tuple(e) for e in tensors["edge_index"].T.tolist()}
    once = {(0, 1), (0, 2), (1, 3), (4, 5)}
    assert edges == once | {(b, a) for a, b in once}


def test_words_are_cut_by_frequency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordnet, "RAREST", 3)
    monkeypatch.setattr(wordnet, "COMMONEST", 0.6)
    tensors = parse(tmp_path).tensors
    # "words" is in 4 of 6 glosses (too common), "thing" in 3; all others in fewer than 3.
    assert tensors["x"].to_dense().tolist() == [[1], [1], [1], [0], [0], [0]]


def test_case_and_punctuation_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wordnet, "RAREST", 1)
    monkeypatch.setattr(wordnet, "COMMONEST", 1.0)
    x = parse(tmp_path).tensors["x"].to_dense()
    vocabulary = ["a", "barking", "cat", "follow", "in", "of", "s", "thing", "way", "with", "words"]
    assert x.shape == (6, len(vocabulary))
    assert [vocabulary[i] for i in x[2].nonzero().flatten()] == ["a", "cat", "s", "thing", "words"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"00000005 99 v 01 dog 0 000 | x\n", "line 1: there is no lexicographer file 99"),
        (b"00000005 38 v 01 dog 0 001 + 00000099 n 0101 | x\n", "line 1: the pointer to noun 99"),
        (b"00000005 38 v 0x\n", "line 1: not a WordNet synset"),
        (b"00000005 38 v 01 dog 0 002 + 00000020 n 0101 | x\n", "line 1: not a WordNet synset"),
        (b"hello\n", "line 1: not a WordNet synset"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: bytes, message: str) -> None:
    with pytest.raises(InputError, match=f"dict/data.verb, {message}"):
        parse(tmp_path, **{"dict/data.verb": line})
