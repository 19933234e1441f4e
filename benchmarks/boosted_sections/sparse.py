"""Word counts in CSR (BASEHOCK), with a penalty for features and without."""

from __future__ import annotations

from common.data import Split, missing, real
from common.measure import TOTAL, Times, say, take_turns
from common.options import Options
from common.table import Section

from boosted_sections import versus
from boosted_sections.versus import OURS, THEIRS, Pair

NAME = "BASEHOCK"
MORE_REPEATS = 4
"""A fit takes a fraction of a second: so many times the repeats of other sections."""


def run(options: Options) -> Section:
    section = Section("sparse")
    split = real(NAME)
    if split is None:
        section.skip(missing(NAME))
        return section
    n_rounds = 20 if options.quick else 100
    free = versus.plain(split, n_rounds)
    limited = versus.priced(split, free)
    share = 100 * split.X.nnz / (split.X.shape[0] * split.X.shape[1])
    section.add(
        f"BASEHOCK: {split.shape} in CSR, {share:.1f}% of the cells stored; {n_rounds} rounds of "
        f"depth 4. Binning of A-GBM includes the way from CSR to CSC.",
        f"**With a penalty on features**: A-GBM at penalty {limited.ours.penalty:.3g}, LightGBM at "
        f"`cegb_tradeoff` {limited.theirs.tradeoff:.3g}.",
    )
    for pair, what in ((limited, "with a penalty"), (free, "without a penalty")):
        if pair is free:
            section.add("**Without a penalty**:")
        found = _measure(split, pair, options)
        _report(section, found, split)
        versus.aim(section, found, what, training=1.0, **{TOTAL: 1.0})
    return section


def _measure(split: Split, pair: Pair, options: Options) -> dict[str, Times]:
    say("measuring")
    methods = {
        OURS: lambda: pair.ours.run(split.X, split.y),
        THEIRS: lambda: pair.theirs.run(split.X, split.y),
    }
    return take_turns(methods, options.repeats * MORE_REPEATS)


def _report(section: Section, found: dict[str, Times], split: Split) -> None:
    compared = [
        (what, OURS, THEIRS, stage)
        for what, stage in (
            ("training", "training"),
            ("binning", "binning"),
            ("binning and training", TOTAL),
        )
    ]
    section.add(versus.methods_table(found, split), versus.ratios_table(found, compared))
