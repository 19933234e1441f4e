"""Folds one after another, however slow the machine: tests count fits in their own process."""

from __future__ import annotations

import math

import pytest


@pytest.fixture(autouse=True)
def no_processes(monkeypatch):
    """No fit takes long enough to be worth a process, unless a test says so."""
    monkeypatch.setattr("secateur.model_selection.processes.PARALLEL_SECONDS", math.inf)
