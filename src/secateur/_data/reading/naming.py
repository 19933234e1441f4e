"""Names for the columns of a file: no two alike, none empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from secateur._data.wording import some_of


def mended_names(given: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Give every column a name of its own, and say what was changed.

    >>> mended_names(["a", "", "a"])
    (('a', 'column 2', 'a (2)'), ["Columns share the name 'a': ..."])
    """
    stripped = [name.strip() or f"column {place}" for place, name in enumerate(given, start=1)]
    doubled = [name for name, count in Counter(stripped).items() if count > 1]
    if not doubled:
        return tuple(stripped), []
    names = _numbered(stripped, set(stripped))
    example = f"{doubled[0]} (2)"
    return names, [
        f"Columns share the name {some_of(doubled)}: later ones get a number, as {example!r}."
    ]


def _numbered(names: list[str], taken: set[str]) -> tuple[str, ...]:
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    mended = []
    for name in names:
        new = name
        while new in seen or (new != name and new in taken):
            counts[name] += 1
            new = f"{name} ({counts[name] + 1})"
        seen.add(new)
        mended.append(new)
    return tuple(mended)
