"""Group testing against exact search: recall, speed, and the paper's own tables.

./dev bench group_testing                 everything, as tables on the console
./dev bench group_testing --quick         small sizes, to see that it runs
./dev bench group_testing --only recall   one section: recall, speed or gisette
./dev bench group_testing --write         put tables and pictures into docs/benchmarks
"""

from __future__ import annotations

from collections.abc import Callable

from common import page
from common.command import benchmark
from common.options import Options
from common.table import Section
from group_testing_sections import gisette, recall, speed

SECTIONS: dict[str, Callable[[Options], Section]] = {
    "recall": recall.run,
    "speed": speed.run,
    "gisette": gisette.run,
}

if __name__ == "__main__":
    benchmark(
        "group_testing",
        SECTIONS,
        "Group testing against exact search.",
        page.PAGE.with_name("benchmarks") / "group_testing.md",
    )
