"""Race Feature Gradients against plain numpy, and its subsets against those of filters.

    ./dev bench feature_gradients                 speed and memory, as tables on the console
    ./dev bench feature_gradients --quality       the paper's protocol
    ./dev bench feature_gradients --quick         small sizes, to see that it runs
    ./dev bench feature_gradients --only sparse   one section; may be given several times
    ./dev bench feature_gradients --write         put the tables into the page

All numbers that are judged are ratios within one run, or do not depend on the machine's speed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from common import page
from common.measure import say
from common.options import Options
from common.quiet import LOUD, Others
from common.table import Section
from feature_gradients_sections import epoch, quality, scaling, sparse

PAGE = page.PAGE.parent / "benchmarks" / "feature_gradients.md"
SPEED: dict[str, Callable[[Options], Section]] = {
    "epoch": epoch.run,
    "scaling": scaling.run,
    "sparse": sparse.run,
}
QUALITY = {"quality": quality.run, "words": quality.run_words}
SECTIONS = SPEED | QUALITY


def main() -> None:
    asked = _arguments()
    options = Options(quick=asked.quick)
    print(page.machine())
    for name in asked.only or (QUALITY if asked.quality else SPEED):
        start, others = time.perf_counter(), Others()
        section = SECTIONS[name](options)
        block, cores = section.markdown(quick=options.quick), others.cores()
        print(f"\n## {name}\n\n{block}", flush=True)
        say(f"{name} took {time.perf_counter() - start:.0f} s; others used {cores:.2f} cores")
        # AUCs do not depend on who else is there
        if cores > LOUD and name in SPEED:
            say("NOT QUIET: other processes disturb the times above. Run it again without them.")
        elif asked.write and section.is_complete:
            page.write(f"feature_gradients:{name}", block, cores, PAGE)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench feature_gradients",
        description="Race Feature Gradients against plain numpy and against filters.",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--quality", action="store_true", help="how good the subsets are")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="one section")
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    asked = parser.parse_args()
    if asked.quick and asked.write:
        parser.error("--write wants the full sizes. Got --quick as well. Leave one of them out.")
    return asked


if __name__ == "__main__":
    main()
