"""``ignn-solver report`` from the shell."""

from report_results import fill


def test_a_page_is_written(cli, tmp_path):
    (tmp_path / "results").mkdir()
    fill(tmp_path / "results")
    shown = cli("report")
    assert shown.status == 0, shown.err
    assert shown.out.startswith("report: report.html (")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert cli("report", "results", "-o", "other.html").status == 0
    assert (tmp_path / "other.html").exists()


def test_wrong_input_is_one_sentence(cli, tmp_path):
    assert cli("report").is_refusal("there is no folder results")
    (tmp_path / "results").mkdir()
    assert cli("report").is_refusal("results holds no results")
    fill(tmp_path / "results")
    (tmp_path / "results" / "cut.json").write_text('{"rows": [{"a":')
    assert cli("report").is_refusal("results/cut.json is not readable JSON")
    assert not (tmp_path / "report.html").exists()
    (tmp_path / "results" / "cut.json").unlink()
    (tmp_path / "file").touch()
    assert cli("report", "-o", "file/page.html").is_refusal("cannot write file/page.html")
