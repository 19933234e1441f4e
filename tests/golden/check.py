"""Compare today's results with the golden ones, which were written before.

    python tests/golden/check.py               says "unchanged", or what changed, and exits with 1
    python tests/golden/check.py -k Grafting   only names with this text in them
    python tests/golden/check.py --write       writes the golden files again: only on purpose
    python tests/golden/check.py --jobs 2      with two threads; results must not depend on it

Boosted trees are compared bit for bit on the machine that wrote the files, and otherwise, as all
others, with a relative tolerance of 1e-5: iterative solvers differ more between versions of numpy.
"""

# ruff: noqa: T201  # a command prints

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))  # for `golden`, where this file is run as a script

from golden import files, problems, results  # noqa: E402

EXACT = {*problems.EXACT, "results_exact"}
"""Golden files whose numbers are compared bit for bit."""

RELATIVE, ABSOLUTE = 1e-5, 1e-9
MOST_SHOWN = 8
MACHINE = "machine"


class Case(NamedTuple):
    """One result: its golden file, its name, and the function that computes it."""

    family: str
    name: str
    run: Callable[[], Any]

    @property
    def title(self) -> str:
        """How it is called in tests and on the console."""
        return f"{self.family}/{self.name}"


def all_cases(n_jobs: int = 1) -> list[Case]:
    """Every golden result."""
    sources = (problems.cases, results.cases, files.cases)
    return [Case(*each) for source in sources for each in source(n_jobs)]


def machine() -> str:
    """What the last bits of floating-point results depend on."""
    from numpy._core._multiarray_umath import __cpu_features__

    wanted = ("AVX2", "FMA3", "AVX512F", "AVX512_SKX", "NEON", "ASIMD")
    found = [name for name in wanted if __cpu_features__.get(name)]
    numpy_version = ".".join(np.__version__.split(".")[:2])
    return " ".join([platform.system(), platform.machine(), f"numpy {numpy_version}", *found])


def compute(case: Case) -> Any:
    """The result of today, as JSON would give it back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return json.loads(json.dumps(case.run(), allow_nan=False))


def golden(family: str) -> dict[str, Any]:
    """The results of one golden file, by name."""
    file = FOLDER / f"{family}.json"
    return json.loads(file.read_text("utf-8")) if file.is_file() else {}


def differences(case: Case, known: dict[str, Any]) -> list[str]:
    """What is not as in the golden file, one line each."""
    if case.name not in known:
        return ["is not in the golden file: run with --write"]
    is_exact = case.family in EXACT and known.get(MACHINE) == machine()
    try:
        now = compute(case)
    except Exception as error:  # noqa: BLE001  # the other cases are still to be compared
        return [f"raised {type(error).__name__}: {error}"]
    return list(_differences(known[case.name], now, "", is_exact=is_exact))


def _differences(old: Any, new: Any, where: str, *, is_exact: bool) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            place = f"{where}.{key}" if where else key
            if key not in old or key not in new:
                yield f"{place}: {'new' if key not in old else 'gone'}"
            elif key != "hash" or is_exact:
                yield from _differences(old[key], new[key], place, is_exact=is_exact)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (before, now) in enumerate(zip(old, new, strict=True)):
            yield from _differences(before, now, f"{where}[{at}]", is_exact=is_exact)
    elif not _is_same(old, new, is_exact=is_exact):
        yield f"{where}: {_short(old)} became {_short(new)}"


def _is_same(old: Any, new: Any, *, is_exact: bool) -> bool:
    if type(old) is float and type(new) is float and not is_exact:
        return math.isclose(old, new, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return type(old) is type(new) and old == new


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def write(cases: list[Case]) -> None:
    """Write the golden files of these cases, keeping what else is in them."""
    every = [case.title for case in all_cases()]
    for family in dict.fromkeys(case.family for case in cases):
        mine = {case.name: compute(case) for case in cases if case.family == family}
        others = golden(family).items()
        kept = {name: facts for name, facts in others if f"{family}/{name}" in every}
        found = {**kept, **mine}
        lines = [f"{json.dumps(MACHINE)}: {json.dumps(machine())}"]
        lines += [f"{json.dumps(name)}: {_compact(facts)}" for name, facts in found.items()]
        text = "{\n" + ",\n".join(lines) + "\n}\n"
        (FOLDER / f"{family}.json").write_text(text, encoding="utf-8")


def _compact(facts: Any) -> str:
    return json.dumps(facts, allow_nan=False, separators=(",", ":"))


def check(cases: list[Case]) -> int:
    """Compare, and say what changed; the exit code."""
    changed = 0
    known = {case.family: golden(case.family) for case in cases}
    for case in cases:
        found = differences(case, known[case.family])
        changed += bool(found)
        if found:
            print(case.title)
        for line in found[:MOST_SHOWN]:
            print(f"    {line}")
        if len(found) > MOST_SHOWN:
            print(f"    and {len(found) - MOST_SHOWN} more")
    print(f"{changed} of {len(cases)} changed" if changed else f"unchanged: {len(cases)} results")
    return int(changed > 0)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the golden files again")
    parser.add_argument("-k", metavar="TEXT", default="", help="only names with this text in them")
    parser.add_argument("--jobs", type=int, default=1, help="threads of the fits")
    parser.add_argument("--times", action="store_true", help="how long each takes")
    options = parser.parse_args()
    cases = [case for case in all_cases(options.jobs) if options.k.lower() in case.title.lower()]
    if not cases:
        print(f"no golden result has {options.k!r} in its name")
        return 2
    if options.times:
        cases = [case._replace(run=_timed(case)) for case in cases]
    if options.write:
        write(cases)
        print(f"written: {len(cases)} results")
        return 0
    return check(cases)


def _timed(case: Case) -> Callable[[], Any]:
    def run() -> Any:
        start = time.perf_counter()
        found = case.run()
        print(f"{time.perf_counter() - start:6.2f} s  {case.title}", flush=True)
        return found

    return run


if __name__ == "__main__":
    sys.exit(main())
