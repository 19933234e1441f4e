"""What all tests share: real data sets, how hypothesis searches, what workers begin with."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples_of_hypothesis import FACTOR
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# Compilation makes the first example slow, whatever the code does: no deadline.
settings.register_profile(
    "secateur",
    deadline=None,
    max_examples=40 * FACTOR,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
# In CI the same examples each time: a red run must be about the change.
settings.register_profile("ci", settings.get_profile("secateur"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "secateur")


# Tests that compile next to nothing, by the beginnings of their names.
COMPILE_LITTLE = ("tests/data", "tests/path/", "tests/storage/", "tests/test_architecture.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Two workers begin with one half each: one compiles while the other does something else.

    What the first has compiled the second finds in numba's cache.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        light = [item for item in items if item.nodeid.startswith(COMPILE_LITTLE)]
        others = [item for item in items if not item.nodeid.startswith(COMPILE_LITTLE)]
        half = len(items) // 2
        items[:] = [*others[:half], *light, *others[half:]]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets: SECATEUR_DATA, or shared/data beside the project."""
    folder = Path(os.environ.get("SECATEUR_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no real data sets in {folder}: set SECATEUR_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def load_set(data_dir: Path) -> Callable[[str], dict[str, Any]]:
    """Give a function from the name of a real data set to its arrays, with ``X`` and ``y``.

    ``X`` is float64, dense or CSR; everything else is as it is stored.
    """

    def load(name: str) -> dict[str, Any]:
        file = data_dir / f"{name}.npz"
        if not file.is_file():
            pytest.skip(f"no data set {name} in {data_dir}")
        with np.load(file) as stored:
            arrays = dict(stored)
        return {**arrays, "X": _table(arrays)}

    return load


def _table(arrays: dict[str, Any]) -> Any:
    if "X" in arrays:
        return arrays["X"].astype(np.float64)
    from scipy.sparse import csr_matrix

    data = arrays["data"].astype(np.float64)
    return csr_matrix((data, arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
