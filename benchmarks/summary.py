"""What all benchmarks found, in one table and one picture; writes all blocks of the pages again.

./dev bench summary            the table on the console
./dev bench summary --write    put it into docs/benchmarks.md, draw docs/benchmarks/summary.png, and
                               write the blocks of all pages from docs/benchmarks/results again
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

from common import figures

PAGE = figures.DOCS / "benchmarks.md"
PICTURE = figures.DOCS / "benchmarks" / "summary.png"
BEGIN, END = "<!-- summary -->", "<!-- /summary -->"


class Row(NamedTuple):
    """A ratio of times in the results: where it is, and what it is called."""

    what: str
    rival: str
    section: str  # benchmark:section
    header: str  # of the first column of its table
    row: str  # how the first cell of its row begins
    column: str
    link: str
    table: int = 0  # which of the tables with this header
    another: str = ""  # how a second cell of the row begins


CEGB = "LightGBM with CEGB"
SPEED, ANSWER, LASSO = "benchmarks/speed.md", "benchmarks/answer.md", "benchmarks/grafting.md"
FIT = "A-GBM / LightGBM"
ROWS = (
    *(
        Row(
            *(f"A-GBM, no arguments, {name}", "CEGB tuned in three folds", "answer:times", ""),
            *(name, "ratio", ANSWER),
        )
        for name in ("spambase", "RELATHE", "lung_small", "PCMAC", "300 x 279", "15,000 x 300")
    ),
    *(
        Row(
            *(f"A-GBM, search of the penalty, {name}", "one LightGBM fit", "answer:times", ""),
            *(name, "ratio", ANSWER),
        )
        for name in ("digits", "COIL20")
    ),
    Row(
        *("A-GBM, 80,000 x 500, 20 features", CEGB, "boosted:dense", FIT, "fit(X, y)", "best"),
        *("#a-dense-table", 1),
    ),
    Row(
        *("A-GBM, text, 40 of 4,862 words", CEGB, "boosted:sparse", FIT, "binning and", "best"),
        "#a-sparse-table",
    ),
    *(
        Row(
            *(f"A-GBM, one fit, {name}", "LightGBM", f"speed:{section}", "", name, "ratio"),
            *(SPEED, 0, "0.01" if section == "classes" else "0"),
        )
        for name, section in [
            *((name, "small") for name in ("breast_cancer", "spambase", "digits")),
            *((name, "wide") for name in ("leukemia", "arcene")),
            ("COIL20", "classes"),
            *((name, "sparse") for name in ("BASEHOCK", "RELATHE")),
        ]
    ),
    *(
        Row(
            *(f"GT-GBM, training, {size}", "A-GBM", "group_testing:speed", "target", size, "found"),
            "benchmarks/group_testing.md#speed",
        )
        for size in ("20,000 x 20,000", "10,000 x 100,000")
    ),
    *(
        Row(
            *(f"Grafting, one penalty, {name}", "fastest of four solvers", "grafting:speed", ""),
            *(name, "grafting / fastest other", f"{LASSO}#one-penalty"),
        )
        for name in ("madelon", "mnist 3/8", "BASEHOCK", "arcene")
    ),
    *(
        Row(
            *(f"Grafting, 50 penalties, {name}", "celer", "grafting:paths", "", name, "ratio"),
            f"{LASSO}#a-path",
        )
        for name in ("madelon", "mnist 3/8", "BASEHOCK", "arcene")
    ),
)


def ratio_of(row: Row) -> str | None:
    """The ratio that a row names; None where its section has not been measured."""
    sections = figures.results_of(row.section) if is_there(row.section) else {}
    tables = [
        part
        for section in sections.values()
        for part in section["blocks"]
        if isinstance(part, dict) and part["header"][0] == row.header
    ]
    tables = [part for part in tables if row.column in part["header"]]
    for cells in tables[row.table]["rows"] if tables else ():
        if cells[0].startswith(row.row) and (not row.another or cells[1] == row.another):
            return cells[tables[row.table]["header"].index(row.column)]
    return None


def is_there(section: str) -> bool:
    """Whether a section has been measured."""
    benchmark, _, name = section.partition(":")
    return name in figures.load(benchmark)


def found() -> list[tuple[Row, str]]:
    """All rows that were measured, in their order."""
    return [(row, ratio) for row in ROWS if (ratio := ratio_of(row)) is not None]


def table(rows: list[tuple[Row, str]]) -> str:
    """The table of the page."""
    lines = [
        f"| [{row.what}]({row.link}) | {row.rival} | {ratio} |"
        for row, ratio in sorted(rows, key=lambda each: float(each[1]))
    ]
    head = ["| | compared with | time, as a share |", "|---|---|---:|"]
    return "\n".join([*head, *lines])


def draw(rows: list[tuple[Row, str]], file: Path) -> None:
    """Bars of the ratios; the values are also in the description of the picture."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    ordered = sorted(rows, key=lambda each: -float(each[1]))
    figure, ax = plt.subplots(figsize=(9, 0.3 * len(rows) + 1), layout="constrained")
    ratios = [float(ratio) for _, ratio in ordered]
    colours = ["#1b6f5c" if ratio < 1 else "#c2410c" for ratio in ratios]
    labels = [f"{row.what} / {row.rival}" for row, _ in ordered]
    ax.barh(labels, [ratio - 1 for ratio in ratios], left=1, color=colours)
    ax.set_xscale("log")
    ticks = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.axvline(1, color="black", linewidth=1)
    ax.set_xlabel("time of secateur / time of the other")
    ax.margins(y=0.01)
    figure.savefig(file, dpi=110, metadata={"Description": values(rows)})


def values(rows: list[tuple[Row, str]]) -> str:
    """What the picture shows, as text."""
    return json.dumps({f"{row.what} / {row.rival}": ratio for row, ratio in rows})


def with_table(page: str) -> str:
    """The page with the table of today."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table(found())}\n\n{END}{rest.partition(END)[2]}"


def write() -> None:
    """Write the table, the picture, and the blocks of all pages."""
    for page in figures.DOCS.rglob("*.md"):
        if not {"_build", "auto_examples", "generated"} & set(page.parts):
            text = page.read_text(encoding="utf-8")
            new = figures.rendered(text)
            if new != text:
                page.write_text(new, encoding="utf-8", newline="\n")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
    draw(found(), PICTURE)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What all benchmarks found.")
    parser.add_argument("--write", action="store_true", help="write the pages and the picture")
    if parser.parse_args().write:
        write()
    else:
        print(table(found()))
