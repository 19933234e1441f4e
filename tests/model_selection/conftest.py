"""Folds one after another, however slow the machine: tests count fits in their own process.

And short grids of penalties: what a method selects does not matter here.
"""

from __future__ import annotations

import math

import pytest


@pytest.fixture(autouse=True)
def no_processes(monkeypatch):
    """No fit takes long enough to be worth a process, unless a test says so."""
    monkeypatch.setattr("secateur.model_selection.held_out.PARALLEL_SECONDS", math.inf)


@pytest.fixture(autouse=True)
def short_grids(monkeypatch):
    """Few penalties where a method chooses them itself."""
    monkeypatch.setattr("secateur.engines.grafting.linear.GRID_POINTS", 8)
    monkeypatch.setattr("secateur.engines.feature_gradients.search.GRID_POINTS", 6)
