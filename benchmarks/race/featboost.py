"""FeatBoost beside other selectors: the paper's experiments, and times.

    ./dev bench featboost                 everything, at most an hour on two cores
    ./dev bench featboost --quick         small sizes, under five minutes
    ./dev bench featboost --only speed    one section; may be given several times
    ./dev bench featboost --write         put tables and pictures into docs/benchmarks/featboost.md
    ./dev bench featboost --fresh         forget the pieces that are done

Pieces that are done (a selector on a fold of a set) are kept in benchmarks/results, and an
interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from common import page
from common.kept import Kept
from common.measure import say
from common.options import Options
from common.quiet import Others
from common.table import Section
from featboost_sections import curves, speed, variants
from featboost_sections.plan import plan

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "featboost.md"
SECTIONS = ("speed", "variants", "curves")


def main() -> None:
    asked = _arguments()
    kept = Kept("featboost", quick=asked.quick)
    if asked.fresh:
        kept.clear()
    print(page.machine())
    for name in asked.only or SECTIONS:
        start, others = time.perf_counter(), Others()
        section = _run(name, asked, kept)
        block, cores = section.markdown(quick=asked.quick), others.cores()
        print(f"\n## {name}\n\n{block}", flush=True)
        say(f"{name} took {time.perf_counter() - start:.0f} s; others used {cores:.2f} cores")
        if asked.write and section.is_complete:
            page.write(f"featboost:{name}", block, cores, PAGE)


def _run(name: str, asked: argparse.Namespace, kept: Kept) -> Section:
    if name == "speed":
        return speed.run(Options(quick=asked.quick))
    part = {"variants": variants, "curves": curves}[name]
    return part.run(plan(quick=asked.quick), kept, write=asked.write)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench featboost", description="FeatBoost beside other selectors."
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="one section")
    parser.add_argument("--write", action="store_true", help="put tables and pictures in place")
    parser.add_argument("--fresh", action="store_true", help="forget pieces that are done")
    asked = parser.parse_args()
    if asked.quick and asked.write:
        parser.error("--write wants the full sizes. Got --quick as well. Leave one of them out.")
    return asked


if __name__ == "__main__":
    main()
