"""The saliency of a selection, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.exceptions import InputError
from secateur.model_selection.statistics import saliency


@pytest.mark.parametrize(
    ("selected", "expected"),
    [
        ([0, 1, 2, 3], 1.0),
        ([0, 1], 0.5),
        ([0, 1, 2, 3, 8, 9, 10, 11], 0.5),
        ([8, 9], -1.0),
        ([], -1.0),
        (np.arange(10) < 2, 0.5),
    ],
)
def test_by_hand(selected, expected):
    assert saliency(selected, [0, 1, 2, 3]) == pytest.approx(expected)


def test_a_copy_stands_for_its_original_once():
    copies = np.array([0, 1, 0, 1, -1])
    assert saliency([2, 3], [0, 1]) == -1.0
    assert saliency([2, 3], [0, 1], copies) == 1.0
    assert saliency([0, 2], [0, 1], copies) == pytest.approx(0.5 + 0.5 - 1)
    assert saliency([0, 1, 4], [0, 1], copies) == pytest.approx(1 + 2 / 3 - 1)


def test_something_must_be_informative():
    with pytest.raises(InputError, match="at least one feature"):
        saliency([0], [])
