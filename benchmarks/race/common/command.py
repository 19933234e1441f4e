"""The command line of a race: its sections, run one after the other."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from common import page
from common.measure import say
from common.options import Options
from common.quiet import LOUD, Others
from common.table import Section


def run(
    name: str,
    description: str,
    sections: Mapping[str, Callable[[Options], Section]],
    file: Path = page.PAGE,
    unhurried: tuple[str, ...] = (),
) -> None:
    """Run what is asked for, print it, and write it into the page of the race.

    The sections named ``unhurried`` judge no times: they may be written on a busy machine.
    """
    asked = _arguments(name, description, sections)
    options = Options(quick=asked.quick, full=asked.full)
    print(page.machine())
    for part in asked.only or sections:
        start, others = time.perf_counter(), Others()
        section = sections[part](options)
        block, cores = section.markdown(quick=options.quick), others.cores()
        print(f"\n## {part}\n\n{block}", flush=True)
        say(f"{part} took {time.perf_counter() - start:.0f} s; others used {cores:.2f} cores")
        if cores > LOUD and part not in unhurried:
            say("NOT QUIET: other processes disturb the times above. Run it again without them.")
        elif asked.write and section.is_complete:
            page.write(f"{name}:{part}", block, cores, file)


def _arguments(
    name: str, description: str, sections: Mapping[str, Callable[[Options], Section]]
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"./dev bench {name}", description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--full", action="store_true", help="slow contestants as well")
    parser.add_argument("--only", action="append", choices=sections, help="one section")
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    asked = parser.parse_args()
    if asked.quick and asked.write:
        parser.error("--write wants the full sizes. Got --quick as well. Leave one of them out.")
    return asked
