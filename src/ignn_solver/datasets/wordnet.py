"""WordNet 3.0 as a graph: synsets joined by their pointers, described by their glosses.

Nodes are synsets, edges the pointers between them (of any kind, undirected, once each), classes
the 45 lexicographer files (``noun.animal``, ``verb.motion``, ...). Features say which words occur
in a synset's gloss: lower-case runs of letters, in at least ``RAREST`` glosses and at most a tenth
of all. Neither the words of the synset nor its part of speech are features.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain

import numpy as np
import scipy.sparse
import torch

from ..errors import InputError
from .archives import Archive
from .data import NodeData, feature_tensor
from .parted import parted
from .source import Parsed, Source
from .splits import stratified

VERSION = 1
RAREST = 20
"""A word enters the vocabulary if at least this many glosses have it."""
COMMONEST = 0.1
"""A word is left out if more than this part of all glosses have it."""
_WORD = re.compile(r"[a-z]+")
_PARTS = ("noun", "verb", "adj", "adv")
# An adjective satellite is numbered among the adjectives.
_PART_OF = {"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}


def parse(archive: Archive, source: Source) -> Parsed:
    """Read ``dict/data.{noun,verb,adj,adv}``; see ``wndb(5WN)`` for the format."""
    numbers: dict[tuple[str, int], int] = {}
    labels: list[int] = []
    glosses: list[set[str]] = []
    pointers: list[tuple[int, tuple[str, int], str]] = []
    for part in _PARTS:
        name = archive.find(f"data.{part}")
        with archive.open(name) as stream:
            for line, row in enumerate(stream, start=1):
                # The licence stands first, every line of it indented.
                if row.startswith(b"  ") or not row.strip():
                    continue
                where = f"{archive.label(name)}, line {line}"
                try:
                    fields, _, gloss = row.decode("utf-8").partition("|")
                    offset, label, targets = _synset(fields.split())
                except (ValueError, KeyError, IndexError) as error:
                    raise InputError(f"{where}: not a WordNet synset ({error})") from error
                if not 0 <= label < source.classes:
                    raise InputError(f"{where}: there is no lexicographer file {label}")
                number = numbers[part, offset] = len(labels)
                labels.append(label)
                glosses.append(set(_WORD.findall(gloss.lower())))
                pointers.extend((number, target, where) for target in targets)
    edges = []
    for number, target, where in pointers:
        if target not in numbers:
            raise InputError(f"{where}: the pointer to {target[0]} {target[1]} leads nowhere")
        edges.append((number, numbers[target]))
    return Parsed(
        {
            "x": feature_tensor(_bag_of_words(glosses)),
            "y": torch.tensor(labels),
            "edge_index": _undirected(np.array(edges).reshape(-1, 2), len(labels)),
        }
    )


def _synset(fields: list[str]) -> tuple[int, int, list[tuple[str, int]]]:
    """Offset, lexicographer file and targets of the pointers of one line."""
    words = int(fields[3], 16)
    at = 4 + 2 * words
    count = int(fields[at])
    targets = []
    for pointer in range(count):
        _, offset, part, _ = fields[at + 1 + 4 * pointer : at + 5 + 4 * pointer]
        targets.append((_PART_OF[part], int(offset)))
    return int(fields[0]), int(fields[1]), targets


def _bag_of_words(glosses: list[set[str]]) -> scipy.sparse.csr_matrix:
    frequency = Counter(chain.from_iterable(glosses))
    most = COMMONEST * len(glosses)
    vocabulary = sorted(w for w, n in frequency.items() if RAREST <= n <= most)
    column = {word: i for i, word in enumerate(vocabulary)}
    rows = [sorted(column[word] for word in gloss if word in column) for gloss in glosses]
    pointers = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    columns = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=pointers[-1])
    ones = np.ones(len(columns), dtype=np.float32)
    shape = (len(glosses), len(vocabulary))
    return scipy.sparse.csr_matrix((ones, columns, pointers), shape=shape)


def _undirected(edges: np.ndarray, nodes: int) -> torch.Tensor:
    """Distinct pairs of different nodes, both directions."""
    edges = edges[edges[:, 0] != edges[:, 1]]
    keys = np.unique(edges.min(axis=1) * nodes + edges.max(axis=1))
    forward = torch.from_numpy(np.stack(np.divmod(keys, nodes)))
    return torch.cat([forward, forward.flip(0)], dim=1)


def build(parsed: Parsed, source: Source, split: str | None, seed: int) -> NodeData:
    """Make the graph; the one split is ``"stratified"``: 60%, 20% and 20% of each class."""
    if split not in (None, "stratified"):
        raise InputError(f"{source.name} has no split {split!r}: its only one is stratified")
    labels = parsed.tensors["y"].numpy()
    parts = stratified(labels, 0.6, 0.2, None, seed)
    return parted(parsed, source, parts, "stratified")
