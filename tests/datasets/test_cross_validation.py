"""Ten folds: every graph is tested once, and validation never is training or test."""

from pathlib import Path

import numpy as np
import pytest

from datasets.formats import tu, write_zip
from ignn_solver.datasets import folds, load
from ignn_solver.errors import InputError


@pytest.fixture
def dataset(empty_home: Path):
    write_zip(empty_home / "MUTAG.zip", tu())
    return load("mutag")


@pytest.mark.parametrize("validation", [True, False])
def test_folds_partition_the_graphs(dataset, validation) -> None:
    parts = folds(dataset, 5, validation=validation)
    assert len(parts) == 5
    assert sorted(np.concatenate([p.test for p in parts])) == list(range(10))
    for part in parts:
        assert sorted(np.concatenate(part)) == list(range(10))
        assert len(part.val) == (2 if validation else 0)
        # Half of the graphs are of each class, so half of every part is too.
        assert dataset.y[part.test].bincount().tolist() == [1, 1]


def test_folds_come_from_the_seed(dataset) -> None:
    one, again, other = (folds(dataset, 5, seed=s) for s in (0, 0, 1))
    assert all(np.array_equal(a.test, b.test) for a, b in zip(one, again, strict=True))
    assert not all(np.array_equal(a.test, b.test) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("count", [0, 1, 2, 6])
def test_impossible_counts_are_refused(dataset, count) -> None:
    with pytest.raises(InputError, match="choose from 3 to 5"):
        folds(dataset, count)
