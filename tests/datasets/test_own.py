"""A graph of the user's own, in every form it may come in."""

from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasets.formats import attributed
from ignn_solver.datasets import from_files, write_predictions
from ignn_solver.errors import InputError

EDGES = "source,target\nann,bob\nbob,cy\ncy,dan\ndan,eve\neve,fay\n"
FEATURES = "id,age,height\nfay,6,0\neve,5,0\ndan,4,0\ncy,3,0\nbob,2,0\nann,1,0.5\n"
LABELS = "id,label\nann,cat\nbob,dog\ncy,cat\ndan,dog\neve,cat\nfay,\n"
SPLIT = "id,part\nann,train\nbob,train\ncy,val\ndan,test\neve,test\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "x.csv").write_text(FEATURES)
    (tmp_path / "y.csv").write_text(LABELS)
    (tmp_path / "split.csv").write_text(SPLIT)
    return tmp_path


def load(folder: Path, **changes):
    names = {"edges": "edges.csv", "features": "x.csv", "labels": "y.csv", "split": "split.csv"}
    chosen = {**names, **changes}
    paths = {k: folder / v for k, v in chosen.items() if isinstance(v, str) and "/" not in v}
    return from_files(**{**{k: v for k, v in chosen.items() if k not in paths}, **paths})


def test_everything_is_under_the_users_ids(folder: Path) -> None:
    data = load(folder)
    ids = data.node_ids.tolist()
    assert ids == ["fay", "eve", "dan", "cy", "bob", "ann"]
    assert data.class_names.tolist() == ["cat", "dog"]
    assert data.x[ids.index("ann")].tolist() == [1.0, 0.5]
    assert data.y.tolist() == [-1, 0, 1, 0, 1, 0]
    named = {(ids[a], ids[b]) for a, b in data.edge_index.T.tolist()}
    assert named == {tuple(row.split(",")) for row in EDGES.split()[1:]}
    parts = {m: [ids[i] for i in data[m].nonzero().flatten()] for m in ("train_mask", "test_mask")}
    assert parts == {"train_mask": ["bob", "ann"], "test_mask": ["eve", "dan"]}
    assert (data.num_classes, data.name, data.stand_in) == (2, "edges", "")
    assert "edge_weight" not in data


def test_predictions_go_back_under_ids_and_names(folder: Path) -> None:
    data = load(folder)
    write_predictions(folder / "out.csv", data, torch.tensor([0, 1, 0, 1, 0, 1]))
    assert (folder / "out.csv").read_text() == (
        "id,class\nfay,cat\neve,dog\ndan,cat\ncy,dog\nbob,cat\nann,dog\n"
    )


rows = EDGES.splitlines()[1:]


@given(st.permutations(rows), st.booleans())
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_order_of_edges_changes_nothing(folder: Path, order: list[str], header: bool) -> None:
    for features in ("x.csv", None):
        straight = load(folder, features=features)
        (folder / "mixed.csv").write_text("\n".join([*["src,dst"][:header], *order]) + "\n")
        mixed = load(folder, edges="mixed.csv", features=features)
        for key in ("x", "y", "edge_index", "train_mask", "val_mask", "test_mask"):
            assert torch.equal(straight[key].to_dense(), mixed[key].to_dense())
        assert straight.node_ids.tolist() == mixed.node_ids.tolist()


def test_weights_go_with_their_edges(folder: Path) -> None:
    (folder / "edges.csv").write_text("u,v,w\n2,0,0.25\n0,1,4\n")
    data = load(folder, features=None, labels=None, split=None)
    assert data.edge_index.tolist() == [[0, 2], [1, 0]]
    assert data.edge_weight.tolist() == [4.0, 0.25]
    assert data.node_ids.tolist() == [0, 1, 2]


def test_without_features_nodes_are_told_apart_and_sorted(folder: Path) -> None:
    (folder / "edges.csv").write_text("10,9\n9,1\n")
    (folder / "y.csv").write_text("1,0\n9,1\n10,0\n77,1\n")
    data = load(folder, features=None, split=None)
    assert data.node_ids.tolist() == [1, 9, 10, 77]
    assert data.x.layout == torch.sparse_csr
    assert torch.equal(data.x.to_dense(), torch.eye(4))


def test_without_labels_there_is_nothing_to_train_on(folder: Path) -> None:
    data = load(folder, labels=None, split=None)
    assert data.num_classes == 0
    assert (data.y == -1).all()
    assert not (data.train_mask | data.val_mask | data.test_mask).any()


def numbered(folder: Path) -> None:
    (folder / "edges.csv").write_text("0,1\n1,2\n2,3\n")
    (folder / "y.csv").write_text("0,5\n1,7\n2,5\n3,7\n")


def test_arrays_number_the_nodes(folder: Path) -> None:
    numbered(folder)
    np.save(folder / "x.npy", np.arange(8.0).reshape(4, 2))
    data = load(folder, features="x.npy", split="0.5/0.25/0.25")
    assert data.x[3].tolist() == [6.0, 7.0]
    assert data.class_names.tolist() == [5, 7]
    assert data.y.tolist() == [0, 1, 0, 1]
    scipy.sparse.save_npz(folder / "x.npz", scipy.sparse.csr_matrix(np.eye(4, 50)))
    sparse = load(folder, features="x.npz", split="0.5/0.25/0.25")
    assert sparse.x.layout == torch.sparse_csr
    np.save(folder / "y.npy", np.array([5, 7, 5, -1]))
    assert load(folder, features="x.npz", labels="y.npy", split=None).y.tolist() == [0, 1, 0, -1]


def test_parquet_is_the_same_as_csv(folder: Path) -> None:
    for name, text in (("edges", EDGES), ("x", FEATURES), ("y", LABELS), ("split", SPLIT)):
        head, *body = (line.split(",") for line in text.splitlines())
        columns = {h: [r[i] for r in body] for i, h in enumerate(head)}
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / f"{name}.parquet")
    one = load(folder)
    two = load(
        folder,
        edges="edges.parquet",
        features="x.parquet",
        labels="y.parquet",
        split="split.parquet",
    )
    for key in ("x", "y", "edge_index", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(one[key], two[key])


def test_the_common_npz_needs_no_other_file(tmp_path: Path) -> None:
    data = from_files(attributed(tmp_path / "g.npz", nodes=30, classes=3))
    assert (data.num_nodes, data.num_edges, data.num_features, data.num_classes) == (30, 60, 3, 3)
    assert data.y.tolist() == [i % 3 for i in range(30)]
    assert data.x[4].tolist() == [0.0, 2.0, 0.0]


def test_npz_of_a_matrix_or_of_an_edge_index(tmp_path: Path) -> None:
    matrix = scipy.sparse.csr_matrix(np.array([[0, 2.0, 0], [0, 0, 1.0], [0, 0, 0]]))
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    one = from_files(tmp_path / "a.npz")
    np.savez(
        tmp_path / "b.npz", edge_index=np.array([[0, 1], [1, 2]]), edge_weight=np.array([2.0, 1.0])
    )
    two = from_files(tmp_path / "b.npz")
    for data in (one, two):
        assert data.edge_index.tolist() == [[0, 1], [1, 2]]
        assert data.edge_weight.tolist() == [2.0, 1.0]
        assert data.node_ids.tolist() == [0, 1, 2]


def test_json_split(folder: Path) -> None:
    text = '{"train": ["ann", "bob"], "val": ["cy"], "test": ["dan", "eve"]}'
    (folder / "split.json").write_text(text)
    one, two = load(folder), load(folder, split="split.json")
    assert torch.equal(one.train_mask, two.train_mask)
    assert torch.equal(one.test_mask, two.test_mask)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("edges.csv", "ann,bob\nann\n", "edges.csv, line 2: 1 cells where 2"),
        ("edges.csv", "ann,bob\nann,zoe\n", "edges.csv, line 2: there is no node 'zoe'; every"),
        ("edges.csv", "ann,bob,1\nann,cy,x\n", "edges.csv, line 2: 'x' is not a number"),
        ("edges.csv", "ann,bob,1\nann,cy,-1\n", "edges.csv, line 2: the weight is negative"),
        ("edges.csv", "source,target\n", "has no edges"),
        ("edges.csv", "ann,bob\n,cy\n", "edges.csv, line 2: an end of the edge has no id"),
        ("x.csv", "ann,1\n,1\n", "x.csv, line 2: the node has no id"),
        ("x.csv", "ann,1,2\nbob,1\n", "x.csv, line 2: 2 cells where 3"),
        ("x.csv", "ann,1,2\nbob,1,x\n", "x.csv, line 2: 'x' is not a number"),
        ("x.csv", "ann,1,2\nbob,1,nan\n", "x.csv, line 2: 'nan' is not finite"),
        ("x.csv", "ann,1\nann,2\n", "x.csv, line 2: node 'ann' has a row already"),
        ("y.csv", "zoe,1\n", "y.csv, line 1: there is no node 'zoe'"),
        ("y.csv", "ann,1\nann,2\n", "y.csv, line 2: node 'ann' has a label already"),
        ("y.csv", "ann,0\nbob,-3\n", "y.csv, line 2: label -3 is out of range"),
        ("split.csv", "ann,train\nann,test\n", "line 2: node 'ann' is in the train part already"),
        ("split.csv", "ann,training\n", "line 1: 'training' is not train, val or test"),
        ("split.csv", "zoe,train\n", "line 1: there is no node 'zoe'"),
        ("split.csv", "fay,train\n", "line 1: node 'fay' has no label"),
        ("split.csv", "ann,train\n", "split.csv: class 1 has no training node"),
    ],
)
def test_bad_lines_are_named(folder: Path, file: str, content: str, message: str) -> None:
    (folder / file).write_text(content)
    with pytest.raises(InputError, match=message):
        load(folder)


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ("half", "not 'half'"),
        ("0.9/0.9/0.9", "must not be negative, nor sum to more than 1"),
        ("0/0.5/0.5", "must not be negative"),
    ],
)
def test_bad_fractions_are_refused(folder: Path, split: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_files(folder / "edges.csv", labels=folder / "y.csv", split=split)


def test_fractions_may_leave_nodes_out(folder: Path) -> None:
    data = from_files(folder / "edges.csv", labels=folder / "y.csv", split="0.5/0/0.2")
    assert int(data.train_mask.sum()) in (2, 3)
    assert int(data.val_mask.sum()) == 0
    assert int(data.test_mask.sum()) == 1


def test_arrays_that_do_not_fit_are_refused(folder: Path) -> None:
    numbered(folder)
    cases = [
        ({"features": "x.npy"}, np.zeros((3, 2)), r"edges\.csv, line 3: there is no node '3'"),
        ({"features": "x.npy"}, np.zeros(3), r"x\.npy has shape \(3,\)"),
        ({"features": "x.npy"}, np.full((4, 2), np.nan), r"x\.npy: a feature is NaN or infinite"),
        ({"features": "x.npy"}, np.full((4, 2), "a"), "not numbers"),
        ({"features": None, "labels": "x.npy"}, np.zeros(3, int), r"\(3,\) labels for 4 nodes"),
        ({"features": None, "labels": "x.npy"}, np.full(4, -2), "x.npy, row 0: label -2 is out"),
    ]
    for changes, array, message in cases:
        np.save(folder / "x.npy", array)
        with pytest.raises(InputError, match=message):
            load(folder, split=None, **changes)
    (folder / "x.npy").write_bytes(b"nothing")
    with pytest.raises(InputError, match="not a plain numpy array"):
        load(folder, split=None, features="x.npy")


def test_feature_rows_must_match_a_matrix(tmp_path: Path) -> None:
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.eye(3, format="csr"))
    np.save(tmp_path / "x.npy", np.zeros((4, 2)))
    with pytest.raises(InputError, match=r"4 feature rows for the 3 nodes of a\.npz"):
        from_files(tmp_path / "a.npz", features=tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"edge_index": np.zeros((3, 2), int)}, "must be whole numbers, 2 x edges"),
        ({"edge_index": np.zeros((2, 2))}, "must be whole numbers, 2 x edges"),
        ({"edge_index": np.zeros((2, 2), int), "edge_weight": np.ones(3)}, "one number an edge"),
        ({"edge_index": np.zeros((2, 1), int), "edge_weight": -np.ones(1)}, "not negative"),
        ({"something": np.zeros(1)}, r"it has no edge_index\.npy"),
    ],
)
def test_bad_npz_is_refused(tmp_path: Path, arrays, message: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=message):
        from_files(tmp_path / "a.npz")


@pytest.mark.parametrize("part", ["edges", "features", "labels"])
def test_missing_and_unknown_files_are_named(folder: Path, part: str) -> None:
    with pytest.raises(InputError, match=r"no file .*none\.csv"):
        load(folder, **{part: "none.csv"})
    (folder / "a.docx").touch()
    with pytest.raises(InputError, match=rf"{part} are read from .* not a\.docx"):
        load(folder, **{part: "a.docx"})


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=40),
    st.booleans(),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_quick_way_gives_what_the_general_way_gives(folder: Path, pairs, header: bool) -> None:
    head = "source,target\n\n" if header else ""
    (folder / "quick.csv").write_text(head + "".join(f"{a},{b}\n" for a, b in pairs))
    (folder / "general.csv").write_text(head + "".join(f'"{a}", {b}\n' for a, b in pairs))
    one, two = from_files(folder / "quick.csv"), from_files(folder / "general.csv")
    assert torch.equal(one.edge_index, two.edge_index)
    assert one.node_ids.tolist() == two.node_ids.tolist()
    assert sorted(
        (one.node_ids[a], one.node_ids[b]) for a, b in one.edge_index.T.tolist()
    ) == sorted(pairs)


def test_ids_with_leading_zeros_stay_apart(folder: Path) -> None:
    (folder / "edges.csv").write_text("07,7\n7,8\n")
    data = from_files(folder / "edges.csv")
    assert data.node_ids.tolist() == ["07", "7", "8"]


def test_the_line_of_an_unknown_number_is_named(folder: Path) -> None:
    (folder / "edges.csv").write_text("source,target\n0,1\n\n1,9\n")
    np.save(folder / "x.npy", np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"edges\.csv, line 4: there is no node '9'"):
        from_files(folder / "edges.csv", features=folder / "x.npy")
    (folder / "x.csv").write_text("0,1\n1,1\nnine,1\n")
    with pytest.raises(InputError, match=r"edges\.csv, line 4: there is no node '9'"):
        from_files(folder / "edges.csv", features=folder / "x.csv")
    (folder / "edges.csv").write_text("0,1\n1,2,3\n")
    with pytest.raises(InputError, match=r"edges\.csv, line 2: 3 values where 2"):
        from_files(folder / "edges.csv")


def test_numbers_and_text_meet(folder: Path) -> None:
    (folder / "edges.csv").write_text("0,1\n1,0\n")
    (folder / "x.csv").write_text("nine,9\n1,1\n0,0\n")
    data = from_files(folder / "edges.csv", features=folder / "x.csv")
    assert data.node_ids.tolist() == ["nine", "1", "0"]
    assert data.edge_index.tolist() == [[1, 2], [2, 1]]


def test_ids_longer_than_any_number_stay_apart(folder: Path) -> None:
    (folder / "edges.csv").write_text(f"{10**20},{10**20 + 1}\n1,2\n")
    data = from_files(folder / "edges.csv")
    assert set(data.node_ids.tolist()) == {str(10**20), str(10**20 + 1), "1", "2"}
