"""Small pictures made of text: distributions as SVG, the mean of a grid as a PNG."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from secateur.report.evidence import Distribution
from secateur.typing import IntArray


def best_at_each(x: npt.ArrayLike, y: npt.ArrayLike, *, greater_is_better: bool) -> IntArray:
    """Return the positions of the best finite `y` at each finite `x`, from left to right.

    Examples
    --------
    >>> best_at_each([2, 1, 2, 3], [0.5, 0.9, 0.4, np.nan], greater_is_better=False)
    array([1, 2])
    """
    places, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    sign = -1.0 if greater_is_better else 1.0
    known = np.flatnonzero(np.isfinite(places) & np.isfinite(values))
    known = known[np.lexsort([sign * values[known], places[known]])]
    _, first = np.unique(places[known], return_index=True)
    return known[first].astype(np.int64)


WIDTH, HEIGHT = 132, 34


def distribution_svg(name: str, told: Distribution, groups: Sequence[str]) -> str:
    """Draw the shares of each bar within each group of the target, one colour a group."""
    shares = [_shares(counts) for counts in told.counts]
    highest = max((share for group in shares for share in group), default=0.0) or 1.0
    areas = "".join(
        f'<path class="g{number}" d="{_area(group, highest)}"/>'
        for number, group in enumerate(shares)
        if any(group)
    )
    label = html.escape(describe(name, told, groups), quote=True)
    return (
        f'<svg class="dist" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{label}"><title>{label}</title>{areas}</svg>'
    )


def describe(name: str, told: Distribution, groups: Sequence[str]) -> str:
    """Say a distribution in words: its span or its values, and what is missing.

    Examples
    --------
    >>> told = Distribution(("no", "yes"), (), ((3, 1), (0, 4)), (0, 2))
    >>> describe("smoker", told, ("healthy", "ill"))
    'smoker: healthy: no 75%, yes 25%; ill: no 0%, yes 100%; 20% missing'
    """
    words = [f"from {told.edges[0]:g} to {told.edges[-1]:g}"] if told.edges else []
    for group, counts in zip(groups, told.counts, strict=True):
        shares = _shares(counts)
        if told.labels:
            listed = (f"{label} {s:.0%}" for label, s in zip(told.labels, shares, strict=True))
            words.append(f"{group}: {', '.join(listed)}")
        elif sum(counts):
            words.append(f"{group}: median near {_median(told.edges, counts):g}")
    n_missing = sum(told.missing)
    if n_missing:
        n_rows = n_missing + sum(map(sum, told.counts))
        words.append(f"{n_missing / n_rows:.0%} missing")
    return f"{name}: {'; '.join(words)}"


def span(told: Distribution) -> str:
    """Say in a few letters what the bars run over."""
    if told.edges:
        return f"{brief(told.edges[0])} … {brief(told.edges[-1])}"
    if len(told.labels) <= 2:
        return ", ".join(label if len(label) <= 12 else f"{label[:11]}…" for label in told.labels)
    return f"{len(told.labels)} values"


def grey_png(values: Sequence[float], n_columns: int) -> str:
    """Return values from 0 to 1, row by row, as a grey picture in a data URI."""
    pixels = bytes(round(255 * min(max(value, 0.0), 1.0)) for value in values)
    rows = [pixels[at : at + n_columns] for at in range(0, len(pixels), n_columns)]
    raw = b"".join(b"\x00" + row for row in rows)  # each row begins with its filter: none
    header = struct.pack(">IIBBBBB", n_columns, len(rows), 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b""))
    picture = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)
    return f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"


def brief(value: float) -> str:
    """Return three digits, without an exponent where that is as short."""
    return f"{float(f'{value:.3g}'):g}"


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _shares(counts: Sequence[int]) -> list[float]:
    total = sum(counts)
    return [count / total if total else 0.0 for count in counts]


def _area(shares: Sequence[float], highest: float) -> str:
    """A line of steps over the bars, closed along the floor."""
    wide = WIDTH / len(shares)
    tops = [round((HEIGHT - 1) * (1 - share / highest) + 0.5, 1) for share in shares]
    steps = "".join(f"V{top:g}H{round(wide * (at + 1), 1):g}" for at, top in enumerate(tops))
    return f"M0 {HEIGHT}{steps}V{HEIGHT}Z"


def _median(edges: Sequence[float], counts: Sequence[int]) -> float:
    """The middle of the bar that holds the middle row."""
    half, below = sum(counts) / 2, 0
    for at, count in enumerate(counts):
        below += count
        if below >= half:
            return float(f"{(edges[at] + edges[at + 1]) / 2:.3g}")
    return edges[-1]
