"""Figures are real pictures, in one style, written whole or not at all."""

import matplotlib.image
import matplotlib.pyplot as plt
import pytest

from ignn_solver import InputError, solve
from ignn_solver.report import figures
from problems import SOLVERS, nonlinear, zero


@pytest.fixture(autouse=True)
def nothing_left_open():
    yield
    assert not plt.get_fignums()


def curves(problem):
    names = ("picard", "anderson", "broyden")
    return {name: solve(problem.f, SOLVERS[name], tol=1e-6) for name in names}


def test_the_convergence_figure_is_a_picture_of_every_curve(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        figures,
        "save",
        lambda figure, path, save=figures.save: (drawn.append(figure), save(figure, path))[1],
    )
    solutions = curves(nonlinear("batch"))
    path = figures.convergence(solutions, 1e-6, tmp_path / "new" / "convergence.png", "a title")
    assert path == tmp_path / "new" / "convergence.png"
    height, width, _ = matplotlib.image.imread(path).shape
    assert width >= 1000
    assert height >= 400
    left, right = drawn[0].axes
    assert [line.get_text() for line in left.get_legend().get_texts()] == list(solutions)
    assert drawn[0].get_suptitle() == "a title"
    for line, solution in zip(left.lines, solutions.values(), strict=False):
        assert line.get_xdata()[-1] == solution.num_evals
        assert line.get_ydata()[-1] == solution.trace[-1].max() <= 1e-6
    for line, solution in zip(right.lines, solutions.values(), strict=False):
        assert line.get_xdata()[-1] == pytest.approx(1000 * solution.seconds[-1])
    assert left.get_yscale() == "log"


def test_an_equilibrium_of_zero_can_be_drawn(tmp_path):
    path = figures.convergence(curves(zero("chain")), 1e-6, tmp_path / "zero.png", "zero")
    assert matplotlib.image.imread(path).std() > 0


def test_the_colours_are_distinct():
    assert len(set(figures.PALETTE)) == len(figures.PALETTE) == len(set(figures.MARKERS))


def test_figures_of_others_and_their_style_stay(tmp_path):
    theirs = plt.figure()
    before = plt.rcParams["axes.grid"]

    def draw():
        with figures.styled() as pyplot:
            pyplot.figure()
            assert pyplot.rcParams["axes.grid"]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        draw()
    assert plt.get_fignums() == [theirs.number]
    assert plt.rcParams["axes.grid"] == before
    plt.close(theirs)


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write .*picture.png"):
        figures.convergence(curves(zero("chain")), 1e-6, tmp_path / "file" / "picture.png", "")


def test_the_format_is_that_of_the_name(tmp_path):
    with figures.styled() as pyplot:
        figure = pyplot.figure()
        for name, start in {"a.svg": b"<?xml", "b.pdf": b"%PDF", "c": b"\x89PNG"}.items():
            assert figures.save(figure, tmp_path / name).read_bytes().startswith(start)
    assert len(list(tmp_path.iterdir())) == 3


def test_one_picture_in_both_formats_with_its_legend_above_the_panels(tmp_path):
    with figures.styled() as pyplot:
        figure, axis = pyplot.subplots(figsize=(6, 4))
        for name in ("one", "two", "three"):
            axis.plot([1, 2], [120, 480], label=name)
        axis.set_yscale("log")
        figures.plain_ticks(axis)
        figures.legend_above(figure, axis)
        png, pdf = figures.save_all(figure, tmp_path / "figure-a.b")
        (legend,) = figure.legends
        assert legend.get_window_extent().y0 >= axis.get_window_extent().y1
        labels = [label.get_text() for label in axis.get_yticklabels()]
    assert {"200", "500"} <= set(labels)
    assert [path.name for path in (png, pdf)] == ["figure-a.b.png", "figure-a.b.pdf"]
    assert pdf.read_bytes().startswith(b"%PDF")
