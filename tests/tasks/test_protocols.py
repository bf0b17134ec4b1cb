import pytest

from ignn_solver import InputError
from ignn_solver.tasks.protocols import Curves, summarise


def two_folds():
    return [
        Curves(train=[0.5] * 3, val=[0.6, 0.8, 0.8], val_loss=[1, 0.9, 0.7], test=[0.9, 0.5, 0.6]),
        Curves(train=[0.5] * 3, val=[0.7, 0.2, 0.1], val_loss=[1, 2, 3], test=[0.4, 0.8, 0.7]),
    ]


def test_nested_chooses_by_validation_and_breaks_ties_by_loss():
    summary = summarise(two_folds(), "nested")
    assert summary.chosen == [2, 0]
    assert summary.mean == pytest.approx(50)
    assert summary.std == pytest.approx(10)
    assert summary.val == pytest.approx(75)


def test_gin_chooses_one_epoch_for_all_folds():
    summary = summarise(two_folds(), "gin")
    assert summary.chosen in ([0, 0], [1, 1], [2, 2])
    assert summary.mean == pytest.approx(65)
    assert len(set(summary.chosen)) == 1


def test_ignn_chooses_the_best_test_epoch_of_each_fold():
    summary = summarise(two_folds(), "ignn")
    assert summary.chosen == [0, 1]
    assert summary.mean == pytest.approx(85)


def test_nested_never_looks_at_test():
    folds = two_folds()
    before = summarise(folds, "nested").chosen
    for fold in folds:
        fold.test = [1 - value for value in fold.test]
    assert summarise(folds, "nested").chosen == before


def test_what_cannot_be_summarised_is_named():
    with pytest.raises(InputError, match="unknown protocol 'best'"):
        summarise(two_folds(), "best")
    folds = two_folds()
    folds[0].test.pop()
    with pytest.raises(InputError, match=r"\[2, 3\] epochs"):
        summarise(folds, "gin")
    with pytest.raises(InputError, match="equal length"):
        summarise([], "gin")
