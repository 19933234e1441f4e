"""The command line of a benchmark: which sections are run, and where their tables go."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from common import page
from common.kept import Kept
from common.measure import say
from common.options import Options
from common.quiet import LOUD, Others
from common.table import Section

Sections = Mapping[str, Callable[[Options], Section]]


def benchmark(
    name: str,
    sections: Sections,
    description: str,
    to: Path = page.PAGE,
    quality: Sections | None = None,
) -> None:
    """Run the sections that are asked for; tables go to the console and, if asked, to a page.

    Sections of ``quality`` are run only where they are asked for.
    """
    known = {**sections, **(quality or {})}
    asked = _arguments(name, known, description, has_quality=quality is not None)
    options = Options(
        quick=asked.quick,
        full=asked.full,
        write=asked.write,
        minutes=asked.minutes,
        methods=tuple(asked.method or ()),
        again=tuple(asked.again or ()),
    )
    if asked.fresh:
        Kept(name, quick=asked.quick).clear()
    print(page.machine())
    for each in asked.only or (quality if quality and asked.quality else sections):
        start, others = time.perf_counter(), Others()
        section = known[each](options)
        block, cores = section.markdown(quick=options.quick), others.cores()
        print(f"\n## {each}\n\n{block}", flush=True)
        say(f"{each} took {time.perf_counter() - start:.0f} s; others used {cores:.2f} cores")
        if cores > LOUD and section.is_timed:
            say("NOT QUIET: other processes disturb the times above. Run it again without them.")
        elif asked.write and section.is_complete:
            page.write(f"{name}:{each}", block, cores, to)


def _arguments(
    name: str, sections: Sections, description: str, *, has_quality: bool
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"./dev bench {name}", description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--full", action="store_true", help="slow methods as well")
    parser.add_argument("--only", action="append", choices=list(sections), help="one section")
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    parser.add_argument("--fresh", action="store_true", help="forget pieces that are done")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="begin no piece after these"
    )
    parser.add_argument("--method", action="append", help="only this method, and those named so")
    parser.add_argument("--again", action="append", help="a method whose pieces are made again")
    if has_quality:
        parser.add_argument("--quality", action="store_true", help="how good the subsets are")
    asked = parser.parse_args()
    if asked.quick and asked.write:
        parser.error("--write wants the full sizes. Got --quick as well. Leave one of them out.")
    return asked
