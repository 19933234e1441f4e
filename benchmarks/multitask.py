"""Several tasks together against each alone, and against one model that has the task as a column.

./dev bench multitask                   everything, as tables on the console
./dev bench multitask --quick           small sizes, to see that it runs
./dev bench multitask --only school     one section: made, school or landmine
./dev bench multitask --write           put the tables into docs/benchmarks/multitask.md
"""

from __future__ import annotations

from collections.abc import Callable

from common import page
from common.command import benchmark
from common.options import Options
from common.table import Section
from multitask_sections import landmine, made, school

SECTIONS: dict[str, Callable[[Options], Section]] = {
    "made": made.run,
    "school": school.run,
    "landmine": landmine.run,
}

if __name__ == "__main__":
    benchmark(
        "multitask",
        SECTIONS,
        "Several tasks together against each alone.",
        page.PAGE.with_name("benchmarks") / "multitask.md",
    )
