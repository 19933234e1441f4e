"""Many fits in one process: memory, threads and open files stay as they are."""

from __future__ import annotations

import gc
import os
from itertools import cycle, islice
from pathlib import Path

import pytest
from contract.registry import estimator_classes, predictions, quick, small_problem

import secateur

N_FITS, N_FIRST = 500, 100
REPORT_EVERY = 25  # fits; a report repeats the selection in folds
MAX_GROWTH = 32 << 20  # bytes in 400 fits: 80 kB each, about what their rows take
PROCESS = Path("/proc/self")


def used() -> tuple[int, int, int]:
    """Resident memory, threads and open files of this process."""
    gc.collect()
    pages = int((PROCESS / "statm").read_text().split()[1])
    threads, files = (len(list((PROCESS / name).iterdir())) for name in ("task", "fd"))
    return pages * os.sysconf("SC_PAGE_SIZE"), threads, files


@pytest.mark.slow
@pytest.mark.skipif(not PROCESS.is_dir(), reason="needs /proc")
@pytest.mark.filterwarnings("ignore")
def test_many_fits_leave_nothing_behind(tmp_path):
    first = used()
    for number, cls in enumerate(islice(cycle(estimator_classes()), N_FITS), start=1):
        X, y, X_new, _ = small_problem(cls, n_rows=80, seed=number % 7)
        fitted = quick(cls).fit(X, y)
        predictions(fitted, X_new)
        fitted.path_.save(tmp_path / "path.json")
        secateur.SelectionPath.load(tmp_path / "path.json")
        if number % REPORT_EVERY == 0:
            secateur.report(quick(cls), X, y, tmp_path / "report.html", cv=2)
        if number == N_FIRST:
            first = used()
    memory, threads, files = used()
    assert threads <= first[1]
    assert files <= first[2]
    assert memory - first[0] < MAX_GROWTH
