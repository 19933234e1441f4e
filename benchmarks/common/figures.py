"""What benchmarks found, as JSON: the one source of the tables and of the numbers in prose.

``docs/benchmarks/results/<benchmark>.json`` has the tables of each section, and the machine, the
commit and the date. The blocks of the pages are made from it. A number with a decimal point in the
prose of a page must be, perhaps rounded, in the results that the page names above it, as in
``<!-- figures: boosted:dense grafting -->``, or be listed with a reason in ``other.json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
RESULTS = DOCS / "benchmarks" / "results"
BLOCK = re.compile(r"<!-- (\w+):(\w+) -->\n\n(.*?)\n\n<!-- /\1:\2 -->", re.DOTALL)
MACHINE = re.compile(r"\*(.*) Other processes kept ([\d.]+) cores busy\.\*")
SOURCES = re.compile(r"<!-- figures: ([\w: ]+) -->")
# what is no prose: blocks, code, formulas, links' targets, comments
NO_PROSE = re.compile(
    r"<!-- (\w+:\w+) -->.*?<!-- /\1 -->|```.*?```|`[^`]*`|\$[^$]*\$|\]\([^)]*\)|"
    r"<!--(?! figures:).*?-->",
    re.DOTALL,
)
# tables, figures and sections of papers, and versions, are no measurements
NAMED = re.compile(
    r"(?:Table|Figure|Fig\.|Section|chapter|Theorem|Algorithm|Python|scikit-learn|version)s?\s+[\d.]+"
    r"(?:(?:, | and | to )[\d.]+)*"
)
NUMBER = re.compile(r"(?<![\w.])\d*\.\d+(?![\d.]*\w)")


def section_of(block: str, **conditions: Any) -> dict[str, Any]:
    """A block of Markdown in parts: texts, and tables as header and rows."""
    parts: list[Any] = []
    for part in block.split("\n\n"):
        lines = part.splitlines()
        is_table = len(lines) > 1 and all(line.startswith("|") for line in lines)
        parts.append(_read_table(lines) if is_table else part)
    return {**conditions, "blocks": parts}


def _read_table(lines: list[str]) -> dict[str, Any]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    left = [at for at, rule in enumerate(cells[1]) if not rule.endswith(":")]
    return {"header": cells[0], "left": left, "rows": cells[2:]}


def render(section: dict[str, Any]) -> str:
    """The block of a section; what was aimed at stays in the JSON."""
    parts = [
        _table(_without_wanted(part)) if isinstance(part, dict) else part
        for part in section["blocks"]
        if not (isinstance(part, dict) and part["header"][:3] == ["target", "found", "wanted"])
    ]
    known = [section[each] for each in ("date", "cpu") if section.get(each)]
    where = ", ".join([*known, section["machine"]])
    parts.append(
        f"*{where} Other processes kept {section['busy_cores_of_others']:.2f} cores busy.*"
    )
    return "\n\n".join(parts)


def _without_wanted(part: dict[str, Any]) -> dict[str, Any]:
    kept = [at for at, name in enumerate(part["header"]) if name != "wanted"]
    rows = [[row[at] for at in kept] for row in part["rows"]]
    left = [new for new, old in enumerate(kept) if old in part["left"]]
    return {"header": [part["header"][at] for at in kept], "left": left, "rows": rows}


def _table(part: dict[str, Any]) -> str:
    lines = [part["header"], *part["rows"]]
    widths = [max(3, *(len(line[c]) for line in lines)) for c in range(len(part["header"]))]
    is_left = [c in part["left"] for c in range(len(widths))]
    rule = [
        f":{'-' * (w - 1)}" if at else f"{'-' * (w - 1)}:"
        for w, at in zip(widths, is_left, strict=True)
    ]
    padded = [
        [
            cell.ljust(w) if at else cell.rjust(w)
            for cell, w, at in zip(line, widths, is_left, strict=True)
        ]
        for line in lines
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in [padded[0], rule, *padded[1:]])


def load(benchmark: str) -> dict[str, Any]:
    """The results of a benchmark, by section; none yet is no sections."""
    file = RESULTS / f"{benchmark}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def keep(benchmark: str, name: str, section: dict[str, Any]) -> None:
    """Write the results of a section."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({**load(benchmark), name: section}, indent=1, ensure_ascii=False)
    (RESULTS / f"{benchmark}.json").write_text(text + "\n", encoding="utf-8")


def blocks_of(page: str) -> Iterator[tuple[str, str, str]]:
    """(benchmark, section, block) of each block in a page that is not empty."""
    for found in BLOCK.finditer(page):
        yield found.group(1), found.group(2), found.group(3)


def prose_numbers(page: str) -> list[str]:
    """The numbers with a decimal point in the prose of a page."""
    return NUMBER.findall(NAMED.sub(" ", SOURCES.sub(" ", NO_PROSE.sub(" ", page))))


def values_in(results: Iterable[dict[str, Any]]) -> list[float]:
    """All numbers in the tables and texts of results."""
    text = " ".join(json.dumps(each["blocks"]) for found in results for each in found.values())
    return [float(value) for value in re.findall(r"\d*\.?\d+(?:e-?\d+)?", text)]


def is_one_of(number: str, values: Iterable[float]) -> bool:
    """Whether a number is one of the values, rounded to its decimals.

    >>> is_one_of("0.42", [0.423]), is_one_of("0.43", [0.423])
    (True, False)
    """
    half = 0.5 * 10.0 ** -len(number.partition(".")[2])
    return any(abs(value - float(number)) <= half + 1e-12 for value in values)


def unsourced(page: str, listed: Iterable[str]) -> list[str]:
    """The numbers of a page that are neither in its results nor listed with a reason.

    The sources that a comment names are those of the text up to the next such comment.
    """
    allowed, found = set(listed), []
    first, *named = SOURCES.split(NO_PROSE.sub(" ", page))
    for names, text in [("", first), *zip(named[::2], named[1::2], strict=True)]:
        values = values_in(results_of(name) for name in names.split())
        numbers = NUMBER.findall(NAMED.sub(" ", text))
        found += [n for n in numbers if n not in allowed and not is_one_of(n, values)]
    return found


def results_of(name: str) -> dict[str, Any]:
    """The sections of a benchmark, or the one that "benchmark:section" names."""
    benchmark, _, section = name.partition(":")
    known = load(benchmark)
    return {section: known[section]} if section else known


def rendered(page: str) -> str:
    """A page with its blocks made anew from the results."""

    def again(found: re.Match[str]) -> str:
        section = load(found.group(1)).get(found.group(2))
        return (
            found.group()
            if section is None
            else found.group().replace(found.group(3), render(section))
        )

    return BLOCK.sub(again, page)
