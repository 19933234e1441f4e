"""What all tests share: the folder of real data sets, and how hypothesis searches."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# Compilation makes the first example slow, whatever the code does: no deadline.
settings.register_profile(
    "secateur",
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
# In CI the same examples each time: a red run must be about the change.
settings.register_profile("ci", settings.get_profile("secateur"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "secateur")


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
