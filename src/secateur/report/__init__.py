"""Results shown: a page to send to colleagues, figures and tables, from paths and evidence."""

from __future__ import annotations

from secateur.report.evidence import Distribution, Evidence, StepEvidence, load_evidence
from secateur.report.gathering import gather_evidence

__all__ = [
    "Distribution",
    "Evidence",
    "StepEvidence",
    "gather_evidence",
    "load_evidence",
]
