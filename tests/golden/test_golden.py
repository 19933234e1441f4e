"""Results are those of the golden files; ``python tests/golden/check.py`` says the same."""

from __future__ import annotations

from functools import cache

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

for needed in ("pandas", "polars", "pyarrow", "typer"):
    pytest.importorskip(needed)

from golden import check, files, problems  # noqa: E402

CASES = {case.title: case for case in check.all_cases()}
golden = cache(check.golden)


# scikit-learn's StratifiedGroupKFold drew other folds before 1.8, where it shuffled class counts
# without their groups.
BY_ROW_GROUPS = {
    "forward/FeatBoostClassifier/weights",
    "cli/weights and row groups",
    "multitask_ranking/MultitaskAGBMRanker/numeric",
    "multitask_ranking/MultitaskAGBMRanker/costs",
}
HAS_OTHER_FOLDS = parse_version(sklearn.__version__) < parse_version("1.8")


@pytest.mark.parametrize("title", CASES)
def test_result_is_the_golden_one(title):
    if title in BY_ROW_GROUPS and HAS_OTHER_FOLDS:
        pytest.skip("folds by row groups differ before scikit-learn 1.8")
    case = CASES[title]
    found = check.differences(case, golden(case.family))
    assert not found, "\n" + "\n".join(found[:20])


def test_every_selector_has_six_problems():
    found = {name: len(its) for name, its in problems.PROBLEM_NAMES.items()}
    assert found == dict.fromkeys(problems.selector_classes(), 6)


def test_at_least_twenty_files_are_read():
    assert len(files.FILES) >= 20


@pytest.mark.parametrize("is_exact", [True, False])
def test_differences_are_seen(is_exact):
    old = {"order": [1, 2], "score": 0.5, "hash": "a", "name": "x"}
    new = {"order": [2, 1], "score": 0.5 + 1e-12, "hash": "b", "rule": "y"}
    found = list(check._differences(old, new, "", is_exact=is_exact))
    exact = ["score: 0.5 became 0.500000000001", 'hash: "a" became "b"'] if is_exact else []
    expected = ["order[0]: 1 became 2", "order[1]: 2 became 1", *exact, "name: gone", "rule: new"]
    assert found == expected
