"""Results shown: a page to send to colleagues, figures and tables, from paths and evidence."""

from __future__ import annotations

import sys
from types import ModuleType

from secateur.report.display import SelectionPathDisplay
from secateur.report.evidence import Distribution, Evidence, StepEvidence, load_evidence
from secateur.report.facts import Entry, EntryFacts, entry_facts
from secateur.report.from_data import gather_evidence
from secateur.report.html import is_page, page, report, write_page

__all__ = [
    "Distribution",
    "Entry",
    "EntryFacts",
    "Evidence",
    "SelectionPathDisplay",
    "StepEvidence",
    "entry_facts",
    "gather_evidence",
    "is_page",
    "load_evidence",
    "page",
    "report",
    "write_page",
]


class _Report(ModuleType):
    """The package, which can be called: ``secateur.report(selector, X, y, file)``."""

    __call__ = staticmethod(report)


sys.modules[__name__].__class__ = _Report
