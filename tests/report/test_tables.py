import re

from ignn_solver.report.cells import shown
from ignn_solver.report.reading import read_file, read_folder
from ignn_solver.report.stand_ins import stand_ins
from ignn_solver.report.tables import tables
from report_results import write


def text(html):
    """The words of a cell or table."""
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def cells(html):
    """The body of a table, as text."""
    body = html.partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        [text(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", body)
    ]


def test_published_stands_beside_ours_and_the_best_is_bold(results):
    (table,) = tables(read_file(results / "table2.json"), {"corafull": "other words"})
    assert cells(table.html) == [
        ["gcn", "70.0 ± 1.0 published 69.5", "– published 56.7"],
        ["ignn", "75.0 ± 0.5", "–"],
    ]
    assert "<strong>75.0</strong>" in table.html
    assert "<u>70.0</u>" in table.html
    assert 'data-value="75.0"' in table.html
    assert table.title == "Table II: nodes of small graphs, protocol validation"
    assert "test labels are never looked at" in table.html
    heading = re.search(r"<th[^>]*><button[^>]*>corafull(.*?)</button>", table.html)[1]
    assert text(heading) == "stand-in"
    assert "gcn on corafull was not run: it needs 9 GiB." in text(table.html)


def test_evaluations_are_averaged_over_seeds_and_spread_over_solvers(tmp_path):
    row = {"dataset": "acm", "tol": 1e-3, "converged": True, "solver": "picard"}
    rows = [
        {**row, "seed": 0, "evals": 10, "charged_share": 1.0},
        {**row, "seed": 0, "solver": "learned", "evals": 4, "charged_share": 0.4},
        {**row, "seed": 1, "solver": "learned", "evals": 5, "charged_share": 0.5},
        {**row, "seed": 0, "solver": "broyden", "evals": 400, "converged": False},
    ]
    path = write(tmp_path, "learned-solver-evaluations", {"rows": rows})
    (table,) = tables(read_file(path), {})
    assert cells(table.html) == [["acm", "1.0e-3", "10.0 (100%)", "4.5 (45%)", "not reached"]]


def test_costs_are_averaged_side_by_side(tmp_path):
    row = {"dataset": "acm", "solver": "learned", "share_of_training": 0.1, "parameters": 10}
    rows = [{**row, "seconds": 1.0}, {**row, "seconds": 2.0}]
    (table,) = tables(read_file(write(tmp_path, "learned-solver-cost", {"rows": rows})), {})
    assert cells(table.html) == [["acm", "learned", "1.500", "0.100", "10", "–"]]


def test_an_unknown_file_is_a_plain_table_and_so_is_one_without_rows(results):
    (table,) = tables(read_file(results / "own-notes.json"), {})
    assert cells(table.html) == [["b", "10"], ["a", "9"]]
    path = write(results, "single", {"ratio": 0.5, "note": None})
    assert cells(tables(read_file(path), {})[0].html) == [["0.500", "–"]]
    assert tables(read_file(write(results, "nothing", {})), {}) == []


def test_benchmarks_say_what_was_solved_and_who_missed(tmp_path):
    head = {"dataset": "digits", "nodes": 1797, "tol": 1e-3, "misses": ["broyden is not reported"]}
    rows = [{"solver": "picard", "ms": 1.0}]
    (table,) = tables(read_file(write(tmp_path, "bench", {**head, "rows": rows})), {})
    assert "digits: nodes 1,797, to residual 1.0e-3." in table.html
    assert "broyden is not reported." in table.html


def test_tables_beside_the_rows_are_shown_too(tmp_path):
    content = {"rows": [{"axis": "nodes"}], "fits": [{"axis": "nodes", "exponent": 1.01}]}
    _, fits = tables(read_file(write(tmp_path, "scaling", content)), {})
    assert (fits.title, cells(fits.html)) == ("Scaling: fits", [["nodes", "1.010"]])


def test_long_tables_are_cut_and_say_so(tmp_path):
    rows = [{"n": i} for i in range(301)]
    (table,) = tables(read_file(write(tmp_path, "long", {"rows": rows})), {})
    assert len(cells(table.html)) == 300
    assert "The first 300 of 301 rows of long.json" in table.html


def test_text_from_the_files_is_never_markup(tmp_path):
    evil = '"><script>alert(1)</script>'
    content = {"rows": [{evil: evil, "dataset": evil, "nested": {"x": [evil]}}]}
    (table,) = tables(read_file(write(tmp_path, "evil", content)), {evil: evil})
    assert "<script" not in table.html
    assert cells(table.html)[0][0] == "&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"


def test_stand_ins_are_known_from_the_files_and_from_the_registry(results):
    write(
        results,
        "own",
        {"rows": [{"dataset": "com-amazon"}, {"dataset": "mine", "stand_in": "why"}]},
    )
    told = {"rows": [{"dataset": "theirs"}], "stand_ins": {"theirs": "because"}}
    write(results, "figure-pareto", told)
    found = stand_ins(read_folder(results))
    assert found["blocks:arxiv"].startswith("a generated graph")
    assert "synthetic" in found["com-amazon"]
    assert (found["mine"], found["theirs"]) == ("why", "because")
    assert "citeseer" not in found


def test_numbers_are_short():
    values = [None, True, 1234, 0.5, 12.34, 1e-5, 1e9, float("inf"), "x", [1]]
    expected = ["–", "yes", "1,234", "0.500", "12.3", "1.0e-5", "1.0e9", "–", "x", "[1]"]
    assert list(map(shown, values)) == expected
