"""Make the figures and tables of the papers again.

    ./dev papers                        the papers and their figures, and which have been run
    ./dev papers gbfs                   all figures of a paper that have not been run
    ./dev papers gbfs fig1 table1       these
    ./dev papers gbfs fig1 --fresh      from the beginning
    ./dev papers gbfs fig1 --quick      small sizes, to see that it runs; the page stays as it is
    ./dev papers gbfs fig1 --minutes 5  begin no piece after that; what is done is on the page

Values go to docs/papers/results, pictures and the page of the paper to docs/papers. A run goes on
with the pieces that an earlier one has not done; they are in docs/papers/results/pieces.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from common import page
from common.data import missing, whole
from common.kept import FOLDER, pieces_of
from common.measure import say
from common.quiet import Others
from common.table import table

from papers.figure import Figure
from secateur.datasets.download import known_sets

PAPERS = ("gbfs", "agbm", "feature_gradients", "featboost", "grafting")
DOCS = page.DOCS / "papers"
QUICK = FOLDER.parent / "papers"


def figures_of(paper: str) -> dict[str, Figure]:
    """The figures of a paper by name, in the order of its page."""
    figures: dict[str, Figure] = import_module(f"papers.{paper}").FIGURES
    return figures


def values_of(paper: str, name: str) -> dict[str, Any] | None:
    """What was measured for a figure; None where it has not been run."""
    file = file_of(paper, name)
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def file_of(paper: str, name: str) -> Path:
    """Where the values of a figure are kept."""
    return DOCS / "results" / paper / f"{name}.json"


def run(
    paper: str, name: str, *, quick: bool, fresh: bool = False, minutes: float = math.inf
) -> dict[str, Any] | None:
    """Run a figure; with ``quick`` nothing is kept. None where its data are not there."""
    figure = figures_of(paper)[name]
    for each in figure.needs:
        if whole(each) is None:
            say(f"{paper} {name}: {missing(each)}")
            return None
    kept = pieces_of(f"{paper}-{figure.pieces or name}", quick=quick, minutes=minutes)
    if fresh or quick:
        kept.clear()
    start, others = time.perf_counter(), Others()
    values = figure.run(quick, kept)
    seconds = time.perf_counter() - start
    return {
        "protocol": values.pop("protocol", ""),
        "quick": quick,
        "values": values,
        "cpu": page.cpu(),
        "machine": page.machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(seconds, 1),
        "busy_cores_of_others": round(others.cores(), 2),
    }


def block(paper: str, name: str, found: dict[str, Any], folder: Path) -> str:
    """Draw the picture and return the part of the page below its heading."""
    figure, picture = figures_of(paper)[name], f"{paper}-{name}.png"
    shown = figure.show(found["values"], folder / picture)
    how = f"`./dev papers {paper} {name}`, {found['date']}, {found['cpu']}. {found['machine']}"
    protocol = found["protocol"]
    parts = [
        f"![{figure.title}]({picture})",
        f"**The paper.** {figure.claim}",
        f"**Here.** {shown.found}",
        f"**What differs.** {shown.differs}",
        f"**How it was run.** {protocol}" if protocol else "",
        *shown.tables,
        how,
    ]
    return "\n\n".join(part for part in parts if part)


def write_page(paper: str) -> None:
    """Write the page of a paper from the values of its figures."""
    text = [(import_module(f"papers.{paper}").__doc__ or "").strip()]
    text[0] = f"# {text[0]}"
    for name, figure in figures_of(paper).items():
        found = values_of(paper, name)
        text.append(f"## {figure.title}")
        if found is None:
            command = f"`./dev papers {paper} {name}`"
            text.append(f"**The paper.** {figure.claim}\n\nNot run yet: {command}.")
        else:
            text.append(block(paper, name, found, DOCS))
    (DOCS / f"{paper}.md").write_text("\n\n".join(text) + "\n", encoding="utf-8")
    (DOCS / "data.md").write_text(data_page(), encoding="utf-8")


def data_page() -> str:
    """The page of the sets: where they come from, and which can be downloaded."""
    rows = [
        [
            f"`{name}`",
            f"{each['n_rows']:,}",
            f"{each['n_features']:,}",
            each["source"],
            each["licence"],
            "yes" if each["urls"] else f"no: {each['note'].rstrip('.')}",
        ]
        for name, each in known_sets().items()
    ]
    header = ["name", "rows", "columns", "source", "licence", "download"]
    n_known = sum(bool(each["urls"]) for each in known_sets().values())
    return (
        "# Data of the papers' figures\n\n"
        "`secateur.datasets.fetch(name)` loads a set: from the folder that `SECATEUR_DATA` names, "
        "or from its source,\nchecked by its contents. "
        f"{n_known} of {len(rows)} can be downloaded. The others must be put into the folder as "
        "`name.npz` with\narrays `X` and `y`, and `task`, `query` or `y_names` (names of the "
        "classes of KDD Cup 99) "
        "where there are some.\nGisette, Epsilon, SMK-CAN-187, GLI-85, GLI-BRA-180, "
        "CLL-SUB-111, rcv1, webspam, criteo,\nArrhythmia, the nine clusters of the colon genes "
        "and the private sets of the papers are not among them.\n\n"
        f"{table(header, rows)}\n"
    )


def as_text(found: dict[str, Any]) -> str:
    """JSON with a line for each part: values are many, and their pieces are kept line by line."""
    lines = (f"{json.dumps(key)}: {json.dumps(part)}" for key, part in found.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def show_list() -> None:
    """Print all figures, and when they were run."""
    for paper in PAPERS:
        for name, figure in figures_of(paper).items():
            found = values_of(paper, name)
            print(f"{paper} {name:10} {found['date'] if found else 'not run':10}  {figure.title}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev papers", description=__doc__.splitlines()[0])
    parser.add_argument("paper", nargs="?", choices=PAPERS)
    parser.add_argument("figures", nargs="*", help="such as fig1 or table2; all without")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--fresh", action="store_true", help="run again what was run before")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no piece after that")
    asked = parser.parse_args()
    if asked.paper is None:
        show_list()
        return
    known = figures_of(asked.paper)
    unknown = [name for name in asked.figures if name not in known]
    if unknown:
        parser.error(f"figures must be of {', '.join(known)}. Got {', '.join(unknown)}.")
    for name in [] if asked.page else asked.figures or known:
        is_done = values_of(asked.paper, name) is not None
        if is_done and not (asked.quick or asked.fresh or asked.figures):
            continue
        how = {"quick": asked.quick, "fresh": asked.fresh, "minutes": asked.minutes}
        found = run(asked.paper, name, **how)
        if found is None:
            continue
        if asked.quick:
            QUICK.mkdir(parents=True, exist_ok=True)
            print(block(asked.paper, name, found, QUICK))
            continue
        file = file_of(asked.paper, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(as_text(found), encoding="utf-8")
        say(f"{asked.paper} {name} took {found['seconds']:.0f} s")
        write_page(asked.paper)
    if asked.page:
        write_page(asked.paper)


if __name__ == "__main__":
    main()
