from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from secateur.model_selection.statistics import corrected_t, holm


def test_without_the_correction_it_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=9), rng.normal(size=9) + 0.4
    _, t, p = corrected_t(a - b, test_share=0.0)
    known = stats.ttest_rel(a, b)
    assert (t, p) == pytest.approx((known.statistic, known.pvalue))


def test_the_correction_widens_by_the_share_of_test_rows():
    d = np.array([0.01, 0.03, 0.02, 0.05, 0.01])
    standard_error, t, _ = corrected_t(d, test_share=0.25)
    assert standard_error == pytest.approx(math.sqrt((1 / 5 + 0.25) * d.var(ddof=1)))
    assert t == pytest.approx(d.mean() / standard_error)


def test_the_corrected_test_raises_few_false_alarms_on_folds_that_overlap():
    rng = np.random.default_rng(1)
    plain = corrected = 0
    for _ in range(300):
        values = rng.normal(size=40)
        # what models on overlapping training rows share, and what their test rows add
        d = np.array(
            [
                np.delete(values, range(8 * k, 8 * k + 8)).mean() + 0.1 * rng.normal()
                for k in range(5)
            ]
        )
        plain += corrected_t(d, 0.0)[2] < 0.05
        corrected += corrected_t(d, 0.25)[2] < 0.05
    assert corrected < plain


def test_equal_differences_and_too_few_folds():
    assert corrected_t([0.0, 0.0, 0.0], 0.5) == (0.0, 0.0, 1.0)
    assert corrected_t([0.5, 0.5], 0.5) == (0.0, math.inf, 0.0)
    assert all(math.isnan(value) for value in corrected_t([0.5], 0.5))


def test_holm_by_hand():
    assert holm([0.04, 0.01, 0.03]) == pytest.approx((0.06, 0.03, 0.06))
    assert holm([0.5, 0.9]) == (1.0, 1.0)
    assert math.isnan(holm([math.nan, 0.02])[0])
    assert holm([math.nan, 0.02])[1] == 0.02
    assert holm([]) == ()
