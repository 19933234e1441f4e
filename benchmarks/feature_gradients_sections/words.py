"""The same protocol on sparse counts of words, one split each."""

from __future__ import annotations

from common.data import missing
from common.options import Options
from common.table import Section

from feature_gradients_sections import protocol
from feature_gradients_sections.quality import curve_table, curves_of

SETS = ("BASEHOCK", "PCMAC", "dexter", "news20_multiclass_test")
SIZES = (10, 20, 50, 100)


def run(options: Options) -> Section:
    section = Section("words", is_timed=False)
    for name in SETS[: 1 if options.quick else None]:
        words = protocol.sparse_set(name)
        if words is None:
            section.skip(missing(name))
            continue
        found = curves_of(words, SIZES, orders=(1, 4))
        section.add(f"**{name}**, 7 rows of 10 train:", curve_table(SIZES, found))
    return section
