"""From a name to a graph, the second time from parsed data, and never from bad data."""

from pathlib import Path

import pytest
import torch

from datasets.formats import amgcn, write_zip
from graph_sets import rings_and_stars
from ignn_solver.datasets import amgcn as amgcn_module
from ignn_solver.datasets import load, loading
from ignn_solver.errors import InputError


def cached(data: Path) -> list[Path]:
    return sorted((data / "cache").glob("*")) if (data / "cache").exists() else []


def same(one, two) -> bool:
    keys = ("x", "y", "edge_index", "train_mask", "val_mask", "test_mask")
    equal = [
        torch.equal(a.to_dense(), b.to_dense()) and (a.dtype, a.layout) == (b.dtype, b.layout)
        for a, b in ((one[k], two[k]) for k in keys)
    ]
    return all(equal) and one.keys() == two.keys()


def test_a_cached_load_equals_a_fresh_one(empty_home: Path) -> None:
    write_zip(empty_home / "citeseer.zip", amgcn())
    fresh = load("citeseer")
    assert len(cached(empty_home)) == 1
    again = load("citeseer")
    assert same(fresh, again)
    assert fresh.x.layout == torch.sparse_csr


def test_the_second_load_does_not_parse(empty_home: Path, monkeypatch) -> None:
    write_zip(empty_home / "citeseer.zip", amgcn())
    load("citeseer")

    def fail(*_):
        raise AssertionError("parsed again")

    monkeypatch.setattr(amgcn_module, "parse", fail)
    assert load("citeseer", split=20, seed=4).num_nodes == 24
    monkeypatch.setattr(amgcn_module, "VERSION", 10**6)
    with pytest.raises(AssertionError, match="parsed again"):
        load("citeseer")


def test_another_archive_is_read_anew(empty_home: Path) -> None:
    write_zip(empty_home / "citeseer.zip", amgcn(per_class=4))
    assert load("citeseer").num_nodes == 24
    write_zip(empty_home / "citeseer.zip", amgcn(per_class=5))
    assert load("citeseer").num_nodes == 30


@pytest.mark.parametrize("damage", ["truncate", "empty", "flip", "text", "header"])
def test_a_damaged_cache_is_rebuilt(empty_home: Path, damage: str) -> None:
    write_zip(empty_home / "citeseer.zip", amgcn())
    fresh = load("citeseer")
    (file,) = cached(empty_home)
    whole = file.read_bytes()
    content = {
        "truncate": whole[:-100],
        "empty": b"",
        "flip": whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:],
        "text": b"not a tensor in sight",
        "header": b"\xff" * 8 + whole[8:],
    }[damage]
    file.write_bytes(content)
    assert same(load("citeseer"), fresh)
    assert file.read_bytes() == whole


def test_no_place_for_parsed_data_is_only_a_warning(empty_home: Path) -> None:
    write_zip(empty_home / "citeseer.zip", amgcn())
    (empty_home / "cache").write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="parsed citeseer is not kept"):
        assert load("citeseer").num_nodes == 24


def broken(member: str, content: str | None) -> dict[str, str]:
    members = amgcn()
    if content is None:
        del members[member]
    else:
        members[member] = content
    return members


@pytest.mark.parametrize(
    ("member", "content", "message"),
    [
        ("citeseer.feature", None, r"it has no citeseer\.feature"),
        ("citeseer.feature", "1 0\n0 1\n", r"has 2 rows but .*citeseer\.label has 24"),
        ("citeseer.feature", "1 0\n0\n", r"citeseer\.feature, line 2: 1 values where 2"),
        ("citeseer.feature", "1 0\n0 x\n", r"citeseer\.feature, line 2: 'x' is not a finite"),
        ("citeseer.label", "0\n9\n" + "0\n" * 22, r"citeseer\.label, line 2: there is no class 9"),
        ("citeseer.edge", "0 1\n3 24\n", r"citeseer\.edge, line 2: there is no node 24"),
        ("citeseer.edge", "0 1\n3\n", r"citeseer\.edge, line 2: 1 values where 2"),
        ("citeseer.edge", "", r"citeseer\.edge is empty"),
        ("train60.txt", "0\n1\n2\n3\n4\n", "split 60: class 5 has no training node"),
        ("test60.txt", "99\n", r"test60\.txt, line 1: there is no node 99"),
    ],
)
def test_bad_archives_are_refused_and_nothing_is_kept(
    empty_home: Path, member: str, content: str | None, message: str
) -> None:
    write_zip(empty_home / "citeseer.zip", broken(f"citeseer/{member}", content))
    with pytest.raises(InputError, match=message):
        load("citeseer")
    assert cached(empty_home) == []


def test_a_truncated_zip_is_refused_and_nothing_is_kept(empty_home: Path) -> None:
    path = write_zip(empty_home / "citeseer.zip", amgcn())
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(InputError, match=r"citeseer\.zip is truncated or not an archive"):
        load("citeseer")
    assert cached(empty_home) == []


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("nothing", {}, r"no dataset 'nothing': choose among digits, .*citeseer"),
        ("citeseer", {"split": "7"}, "no split '7': choose among 20, 40, 60"),
        ("citeseer", {"colour": 1}, "citeseer has no option 'colour'; it takes none"),
        ("blocks", {"colour": 1}, r"blocks has no option 'colour'; it takes like, nodes"),
        ("digits:5", {}, "digits:5 is not a dataset"),
        ("digits", {"split": "60"}, "leave split out"),
        ("blocks:many", {}, r"say blocks:NODES or blocks:reddit\|arxiv\|products"),
    ],
)
def test_what_does_not_exist_is_said(empty_home: Path, name, options, message) -> None:
    write_zip(empty_home / "citeseer.zip", amgcn())
    with pytest.raises(InputError, match=message):
        load(name, **options)


def test_root_goes_before_the_variable(empty_home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write_zip(other / "citeseer.zip", amgcn())
    assert load("citeseer", root=other).num_nodes == 24
    assert len(cached(other)) == 1
    assert cached(empty_home) == []


def test_a_set_of_graphs_is_not_taken_for_one_graph(monkeypatch) -> None:
    graphs = rings_and_stars(4)
    monkeypatch.setattr(loading, "load", lambda *asked: graphs)
    with pytest.raises(InputError, match="mutag is a set of graphs to classify, not one graph"):
        loading.load_nodes("mutag")
    graph = graphs[0]
    monkeypatch.setattr(loading, "load", lambda *asked: graph)
    assert loading.load_nodes("one") is graph
