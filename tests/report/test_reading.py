import json

import pytest

from ignn_solver import InputError
from ignn_solver.report.reading import COMMANDS, missing, of_kind, read_file, read_folder
from report_results import write


def test_every_file_is_read_and_known_by_its_experiment_or_name(results):
    files = {file.name: file for file in read_folder(results)}
    assert list(files) == sorted(files)
    assert files["table2"].kind == "table2"
    assert files["own-notes"].kind == "own-notes"
    assert files["own-notes"].rows[0] == {"name": "b", "count": 10}
    assert files["bench"].created == "2026-01-02T03:04:05+00:00"
    assert files["figure-convergence"].source == "figure-convergence.json, a quick look"
    assert files["own-notes"].source == "own-notes.json"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("bench-digits", {}, "bench"),
        ("certificate-citeseer", {"stopping": []}, "certificate"),
        ("certificate-search", {}, "certificate-search"),
        ("renamed", {"experiment": "figure-pareto"}, "figure-pareto"),
        ("other", {"experiment": ["table1"]}, "other"),
    ],
)
def test_kinds(tmp_path, name, content, kind):
    assert read_file(write(tmp_path, name, content)).kind == kind


def test_a_bare_list_is_a_table(tmp_path):
    assert read_file(write(tmp_path, "rows", [{"a": 1}])).rows == [{"a": 1}]


def test_what_is_missing_comes_with_its_command(results):
    absent = missing(read_folder(results))
    assert "bench" not in absent
    assert absent["figure-pareto"] == COMMANDS["figure-pareto"]


def test_the_latest_of_a_kind_comes_first(results):
    newer = {"tol": 1e-3, "created": "2027-01-01T00:00:00+00:00"}
    (results / "bench-new.json").write_text(json.dumps(newer))
    assert [file.name for file in of_kind(read_folder(results), "bench")] == ["bench-new", "bench"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"rows": [', "broken.json is not readable JSON"),
        ("", "broken.json is not readable JSON"),
        ("\x00\x01", "broken.json is not readable JSON"),
        ("7", "broken.json holds no results"),
        ('{"rows": 7}', "the rows of results file .*broken.json are no table"),
        ("[1, 2]", "the rows of results file .*broken.json are no table"),
        ("[" * 100_000, "broken.json"),
    ],
)
def test_a_damaged_file_among_good_ones_is_named(results, text, sentence):
    (results / "broken.json").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_folder(results)


def test_a_missing_and_an_empty_folder_are_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"there is no folder .*nowhere"):
        read_folder(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no results: make some with `ignn-solver bench all"):
        read_folder(tmp_path)
