"""Tests of the kernels run as plain Python, too: NUMBA_DISABLE_JIT=1 ./dev test tests/kernels."""

from __future__ import annotations

from pathlib import Path

import numba
import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Compiled code divides by zero and overflows in silence; plain Python must here, too."""
    if numba.config.DISABLE_JIT:
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.filterwarnings("ignore::RuntimeWarning"))
