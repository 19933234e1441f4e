"""Race boosted trees that pay for their features against LightGBM and HistGradientBoosting.

    ./dev bench boosted                 everything, as tables on the console
    ./dev bench boosted --quick         small sizes, to see that it runs
    ./dev bench boosted --only dense    one section; may be given several times
    ./dev bench boosted --write         put the tables into docs/benchmarks.md

All numbers that are judged are ratios within one run, or do not depend on the machine's speed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from boosted_sections import compilation, dense, lazy, memory, quality, scaling, sparse
from common import page
from common.measure import say
from common.options import Options
from common.quiet import LOUD, Others
from common.table import Section

SECTIONS: dict[str, Callable[[Options], Section]] = {
    "dense": dense.run,
    "sparse": sparse.run,
    "scaling": scaling.run,
    "memory": memory.run,
    "lazy": lazy.run,
    "compilation": compilation.run,
    "quality": quality.run,
}


def main() -> None:
    asked = _arguments()
    options = Options(quick=asked.quick, full=asked.full)
    print(page.machine())
    for name in asked.only or SECTIONS:
        start, others = time.perf_counter(), Others()
        section = SECTIONS[name](options)
        block, cores = section.markdown(quick=options.quick), others.cores()
        print(f"\n## {name}\n\n{block}", flush=True)
        say(f"{name} took {time.perf_counter() - start:.0f} s; others used {cores:.2f} cores")
        if cores > LOUD:
            say("NOT QUIET: other processes disturb the times above. Run it again without them.")
        elif asked.write and section.is_complete:
            page.write(f"boosted:{name}", block, cores)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench boosted",
        description="Race boosted trees that pay for their features against other libraries.",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--full", action="store_true", help="slow contestants as well (RFECV)")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="one section")
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    asked = parser.parse_args()
    if asked.quick and asked.write:
        parser.error("--write wants the full sizes. Got --quick as well. Leave one of them out.")
    return asked


if __name__ == "__main__":
    main()
