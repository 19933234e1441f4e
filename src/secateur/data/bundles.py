"""Bundles of columns with few values: fewer columns to add up, the same sums.

Where the codes of several columns occur in at most 256 combinations, as those of one-hot columns,
the histogram of the combinations gives those of all columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from secateur._kernels.bundling import bundle_pairs, mark_pairs
from secateur._kernels.records import N_CODES
from secateur._kernels.threads import Threads
from secateur.typing import AnyArray, BoolArray, CodeArray, IntArray

LEAST_ROWS = 50_000  # fewer rows are added up before the columns are bundled
SAMPLE_ROWS = 10_000  # rows, at equal distances, that show which columns go together...
SAMPLED_CODES = 160  # ... in at most so many combinations: all rows have more
MOST_BINS = 64  # columns of more bins are left as they are: hardly two of them go together
N_OPEN = 6  # the groups that a column is tried with
LEAST_SAVED = 0.25  # the share of the columns that must be saved...
MOST_ADDED = 0.1  # ... by bundled columns, which take memory: such a share of all, or one


class BundledCodes(NamedTuple):
    """The bundled columns: ``codes[k, i]`` of bundled column k and row i.

    Feature j is in ``column[j]``, -1 if it is in none; there, ``own[j, code]`` is its own code.
    """

    codes: CodeArray
    column: IntArray
    own: CodeArray

    def parted(self, features: IntArray) -> tuple[BoolArray, IntArray]:
        """Which of some features are in bundled columns, and these columns."""
        column = self.column[features]
        return column >= 0, np.unique(column[column >= 0])


def bundle_columns(
    codes: CodeArray, n_bins: IntArray, varying: IntArray, threads: Threads
) -> BundledCodes | None:
    """Bundle columns; None where that saves little."""
    groups = _plan(codes, n_bins, varying)
    if sum(len(group) - 1 for group in groups) < LEAST_SAVED * len(varying):
        return None
    bundled: CodeArray = np.zeros((len(groups), codes.shape[1]), np.uint8)
    column = np.full(len(n_bins), -1)
    own: CodeArray = np.zeros((len(n_bins), N_CODES), np.uint8)

    def join(_: int, k: int) -> None:
        members = _join(codes, groups[k], bundled[k], own)
        column[members] = k if len(members) > 1 else -1

    threads.share(join, len(groups))
    return BundledCodes(bundled, column, own)


def _plan(codes: CodeArray, n_bins: IntArray, varying: IntArray) -> list[list[int]]:
    """Groups of at least two columns that have few combinations in a sample of the rows."""
    few = varying[n_bins[varying] <= MOST_BINS]
    few = few[np.argsort(n_bins[few], kind="stable")]
    step = max(1, codes.shape[1] // SAMPLE_ROWS)
    seen = np.zeros(N_CODES * N_CODES, np.uint8)
    groups: list[list[int]] = []
    sums: list[CodeArray] = []
    for j in few.tolist():
        column = np.ascontiguousarray(codes[j, ::step])
        for g in range(max(0, len(groups) - N_OPEN), len(groups)):
            mark_pairs(sums[g], column, seen)
            if np.count_nonzero(seen) <= SAMPLED_CODES:
                groups[g].append(j)
                break
        else:
            g = len(groups)
            groups.append([j])
            sums.append(np.zeros(len(column), np.uint8))
        _add(column, sums[g], seen)
    groups = sorted((group for group in groups if len(group) > 1), key=len, reverse=True)
    return groups[: max(1, int(MOST_ADDED * len(varying)))]


def _add(column: CodeArray, bundled: CodeArray, seen: AnyArray) -> IntArray | None:
    """Join one more column; returns the pair of each new code, None if they are too many."""
    mark_pairs(bundled, column, seen)
    pairs = np.flatnonzero(seen)
    if len(pairs) > N_CODES:
        return None
    number = np.zeros(len(seen), np.uint8)
    number[pairs] = np.arange(len(pairs))
    bundle_pairs(column, number, bundled)
    return np.pad(pairs, (0, N_CODES - len(pairs)))


def _join(codes: CodeArray, group: list[int], bundled: CodeArray, own: CodeArray) -> list[int]:
    """Join the columns of a group, all rows; those that do not go with the others stay out."""
    seen = np.zeros(N_CODES * N_CODES, np.uint8)
    members: list[int] = []
    for j in group:
        pair = _add(codes[j], bundled, seen)
        if pair is None:
            continue
        own[members] = own[members][:, pair >> 8]
        own[j] = pair & 255
        members.append(j)
    return members
