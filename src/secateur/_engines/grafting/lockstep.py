"""Fits side by side: the gradients that all of them wait for are made in one pass over the rows."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from secateur._engines.grafting.linear import Certificate, LinearGrafting

Solving = Generator[LinearGrafting, None, Certificate]
"""A fit that says where it wants its gradients known, and ends with how far it came."""


def together(solvings: Sequence[Solving]) -> list[Certificate]:
    """Run fits on the same columns, each until it waits, and then give all of them what they want.

    A pass over all rows is what costs where these are in a file or on a cluster; what each of the
    fits does with its gradients depends on nothing but them.
    """
    ends: dict[int, Certificate] = {}
    while len(ends) < len(solvings):
        waiting = []
        for number, solving in enumerate(solvings):
            if number in ends:
                continue
            try:
                waiting.append(next(solving))
            except StopIteration as end:
                ends[number] = end.value
        if waiting:
            _learn(waiting)
    return [ends[number] for number in range(len(solvings))]


def _learn(cores: Sequence[LinearGrafting]) -> None:
    by_row = [core.view.row_gradients(core.state.raw)[0] for core in cores]
    view = cores[0].view
    dots = view.columns.dots(np.concatenate(by_row), view.threads)
    ends = np.cumsum([len(rows) for rows in by_row])[:-1]
    for core, rows, its_dots in zip(cores, by_row, np.split(dots, ends), strict=True):
        core.learn(rows, its_dots)
