"""Tiny datasets written in the formats in which the real ones are published."""

import gzip
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse


def write_zip(path: Path, members: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def lines(rows: object) -> str:
    table = np.atleast_2d(np.asarray(rows).T).T
    return "".join(" ".join(str(v) for v in row) + "\n" for row in table.tolist())


def amgcn(folder: str = "citeseer", classes: int = 6, per_class: int = 4) -> dict[str, str]:
    """A ring of ``classes * per_class`` nodes; feature j is 1 for nodes of class j."""
    nodes = classes * per_class
    labels = np.arange(nodes) % classes
    edges = [(i, (i + 1) % nodes) for i in range(nodes)]
    members = {
        f"{folder}/{folder}.feature": lines(np.eye(classes, 12, dtype=int)[labels]),
        f"{folder}/{folder}.label": lines(labels),
        f"{folder}/{folder}.edge": lines(edges + [(b, a) for a, b in edges]),
    }
    for size in (20, 40, 60):
        members[f"{folder}/train{size}.txt"] = lines(np.arange(classes))
        members[f"{folder}/test{size}.txt"] = lines(np.arange(nodes - classes, nodes))
    return members


def tu(prefix: str = "MUTAG") -> dict[str, str]:
    """Ten graphs: paths of 2 nodes (class -1) and triangles (class 1), node labels 3 and 7."""
    indicator, edges, classes, labels, attributes = [], [], [], [], []
    for graph in range(10):
        first, size = len(indicator) + 1, 2 + graph % 2
        indicator += [graph + 1] * size
        pairs = [(0, 1)] if size == 2 else [(0, 1), (1, 2), (0, 2)]
        edges += [(first + a, first + b) for x, y in pairs for a, b in ((x, y), (y, x))]
        classes.append(-1 if size == 2 else 1)
        labels += [3, 7, 7][:size]
        attributes += [(graph + 0.5, -i) for i in range(size)]
    name = f"{prefix}/{prefix}"
    return {
        f"{name}_A.txt": "".join(f"{a}, {b}\n" for a, b in edges),
        f"{name}_graph_indicator.txt": lines(indicator),
        f"{name}_graph_labels.txt": lines(classes),
        f"{name}_node_labels.txt": lines(labels),
        f"{name}_node_attributes.txt": "".join(f"  {a}, {b}\n" for a, b in attributes),
    }


def sse() -> dict[str, str]:
    """A path of 6 nodes, 2 classes; node 5 has no label."""
    return {
        "amazon-all/meta.txt": "6 2\n",
        "amazon-all/adj_list.txt": "1 1\n2 0 2\n2 1 3\n2 2 4\n2 3 5\n1 4\n",
        "amazon-all/label.txt": "1.0 0.0\n0.0 1.0\n1.0 0.0\n0.0 1.0\n1.0 0.0\n0.0 0.0\n",
        "amazon-all/train_idx-0.06.txt": "0\n1\n",
        "amazon-all/train_idx-0.09.txt": "0\n1\n2\n",
        "amazon-all/test_idx.txt": "3\n",
    }


def graphsaint(folder: Path) -> Path:
    """A star of 5 nodes, 41 classes of which all occur in training: 46 nodes in fact."""
    nodes = 46
    folder.mkdir(parents=True, exist_ok=True)
    rows = np.concatenate([np.zeros(nodes - 1, int), np.arange(1, nodes)])
    columns = np.concatenate([np.arange(1, nodes), np.zeros(nodes - 1, int)])
    ones = np.ones(len(rows), dtype=bool)
    star = scipy.sparse.csr_matrix((ones, (rows, columns)), shape=(nodes, nodes))
    scipy.sparse.save_npz(folder / "adj_full.npz", star)
    np.save(folder / "feats.npy", np.arange(nodes * 3, dtype=np.float64).reshape(nodes, 3))
    classes = {str(i): i % 41 for i in range(nodes)}
    (folder / "class_map.json").write_text(json.dumps(classes))
    roles = {"tr": list(range(41)), "va": [41, 42], "te": [43, 44, 45]}
    (folder / "role.json").write_text(json.dumps(roles))
    return folder


def ogb(kind: str = "time", folder: str = "arxiv", classes: int = 40) -> dict[str, bytes]:
    """A directed ring of ``classes + 4`` nodes."""
    nodes = classes + 4

    def packed(rows: object) -> bytes:
        table = np.atleast_2d(np.asarray(rows).T).T
        text = "".join(",".join(str(v) for v in row) + "\n" for row in table.tolist())
        return gzip.compress(text.encode())

    return {
        f"{folder}/raw/num-node-list.csv.gz": packed([nodes]),
        f"{folder}/raw/num-edge-list.csv.gz": packed([nodes]),
        f"{folder}/raw/edge.csv.gz": packed([(i, (i + 1) % nodes) for i in range(nodes)]),
        f"{folder}/raw/node-feat.csv.gz": packed([(i / 8, -i / 4) for i in range(nodes)]),
        f"{folder}/raw/node-label.csv.gz": packed([i % classes for i in range(nodes)]),
        f"{folder}/split/{kind}/train.csv.gz": packed(list(range(classes))),
        f"{folder}/split/{kind}/valid.csv.gz": packed([classes]),
        f"{folder}/split/{kind}/test.csv.gz": packed([classes + 1, classes + 2, classes + 3]),
    }


def attributed(path: Path, nodes: int = 140, classes: int = 70, **changes: np.ndarray) -> Path:
    """The npz layout of graph2gauss: each node cites the next, and itself; one word a class."""
    rows = np.arange(nodes)
    graph = scipy.sparse.csr_matrix(
        (np.ones(2 * nodes), (np.tile(rows, 2), np.concatenate([(rows + 1) % nodes, rows]))),
        shape=(nodes, nodes),
    )
    words = scipy.sparse.csr_matrix((np.full(nodes, 2.0), (rows, rows % classes)))
    arrays = {"labels": rows % classes}
    for name, matrix in (("adj", graph), ("attr", words)):
        arrays |= {f"{name}_{p}": getattr(matrix, p) for p in ("data", "indices", "indptr")}
        arrays[f"{name}_shape"] = np.array(matrix.shape)
    np.savez(path, **{**arrays, **changes})
    return path


def wordnet() -> dict[str, bytes]:
    """Three nouns and a verb of WordNet's format, every gloss with the same words."""
    nouns = (
        "  1 This software is licensed  \n"
        "00000010 03 n 01 entity 0 002 ~ 00000020 n 0000 ~ 00000030 n 0000 | thing with words\n"
        "00000020 05 n 02 dog 0 hound 1 002 @ 00000010 n 0000 + 00000005 v 0101 | thing barking\n"
        '00000030 05 n 01 cat 0 001 @ 00000010 n 0000 | thing; "a CAT\'s words"\n'
    )
    verbs = "00000005 38 v 01 dog 0 001 + 00000020 n 0101 01 + 08 00 | follow with words\n"
    return {
        "dict/data.noun": nouns.encode(),
        "dict/data.verb": verbs.encode(),
        "dict/data.adj": b"00000001 00 s 01 good 0 001 ! 00000002 r 0101 | of words  \n",
        "dict/data.adv": b"00000002 02 r 01 well 0 001 \\ 00000001 a 0101 | in a way\n",
    }
