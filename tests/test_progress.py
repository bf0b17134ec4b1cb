"""Progress is shown on standard error, where somebody watches."""

import pytest

from ignn_solver.progress import bar


def test_nothing_is_shown_where_nobody_watches(capfd):
    with bar("training", 3) as shown:
        shown.update(1, "loss 0.5")
    with bar("training", 3, show=False) as shown:
        shown.update(3, "loss 0.5")
    assert capfd.readouterr() == ("", "")


def test_the_bar_has_title_count_and_note(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    with bar("training", 3, show=True) as shown:
        shown.update(2, "loss 0.5")
    said = capfd.readouterr()
    assert not said.out
    for part in ("training", "2/3", "loss 0.5"):
        assert part in said.err


def test_a_terminal_counts_as_somebody(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with bar("learning", 5) as shown:
        shown.update(5, "done")
    assert "learning" in capfd.readouterr().err


def test_what_happens_inside_comes_out(capfd):
    with pytest.raises(KeyboardInterrupt), bar("training", 3, show=True):
        raise KeyboardInterrupt
    assert "training" in capfd.readouterr().err
