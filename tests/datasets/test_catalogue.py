"""The table: every name, and where its data is."""

from pathlib import Path

import pytest

from datasets.formats import amgcn, write_zip
from ignn_solver.datasets import describe, load, names
from ignn_solver.errors import InputError


def test_all_datasets_of_the_paper_are_there() -> None:
    paper = {
        "citeseer", "acm", "corafull", "blogcatalog", "flickr", "amazon-all", "reddit",
        "ogbn-arxiv", "ogbn-products", "mutag", "ptc_mr", "cox2", "proteins", "nci1",
    }  # fmt: skip
    assert paper <= set(names())
    assert len(names()) == len(set(names()))


def test_availability_follows_the_data_directory(empty_home: Path) -> None:
    assert describe("citeseer").available == "download"
    assert describe("corafull-knn").available == "by hand"
    assert describe("reddit").available == "download"
    write_zip(empty_home / "citeseer.zip", amgcn())
    assert describe("citeseer").available == "here"
    assert describe("citeseer", root=empty_home / "elsewhere").available == "download"
    (empty_home / "reddit").mkdir()
    assert describe("reddit").available == "download"


@pytest.mark.parametrize("name", ["digits", "chains", "blocks"])
def test_generated_datasets_are_as_described(name: str) -> None:
    row, data = describe(name), load(name)
    assert row.available == "generated"
    assert (row.count, row.features, row.classes) == (
        data.num_nodes,
        data.num_features,
        data.num_classes,
    )
    assert row.edges == data.num_edges // 2


def test_stand_ins_are_marked() -> None:
    marked = {name for name in names() if describe(name).stand_in}
    assert marked == {
        "corafull-knn", "com-amazon", "blocks:reddit", "blocks:arxiv", "blocks:products",
    }  # fmt: skip


def test_unknown_names_are_said() -> None:
    with pytest.raises(InputError, match="no dataset 'nothing'"):
        describe("nothing")
