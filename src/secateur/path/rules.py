"""Cutting rules as JSON: a saved path knows by which of them it was cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from secateur.exceptions import SecateurError, StorageError
from secateur.path.cutting import AtMost, Best, CuttingRule, OneStandardError, WithinBudget
from secateur.path.documents import decoded, encoded
from secateur.path.elbow import Elbow

VERSION = 1
KINDS: dict[str, type[Any]] = {
    "best": Best,
    "one_se": OneStandardError,
    "elbow": Elbow,
    "at_most": AtMost,
    "within_budget": WithinBudget,
}


def rule_to_document(rule: CuttingRule | None) -> dict[str, Any] | None:
    """Return a rule as a plain dict; None for None and for rules of the user's own.

    Examples
    --------
    >>> rule_to_document(AtMost(3))
    {'version': 1, 'kind': 'at_most', 'n_features': 3}
    """
    names = {kind: name for name, kind in KINDS.items()}
    name = names.get(type(rule))
    if name is None:
        return None
    values = {each.name: encoded(getattr(rule, each.name)) for each in fields(KINDS[name])}
    return {"version": VERSION, "kind": name, **values}


def rule_from_document(document: Any) -> CuttingRule | None:
    """Read what `rule_to_document` returned. Keys it does not know are ignored."""
    if document is None:
        return None
    kind = KINDS.get(str(document.get("kind"))) if isinstance(document, Mapping) else None
    if kind is None or document.get("version") not in range(1, VERSION + 1):
        raise StorageError(
            f"A cutting rule must be one of {', '.join(KINDS)} in version {VERSION} or older. Got "
            f"{document!r}. Install a newer secateur to read it, or name a rule."
        )
    known = {each.name for each in fields(kind)} & document.keys()
    try:
        rule: CuttingRule = kind(**{name: decoded(document[name]) for name in known})
    except (TypeError, SecateurError) as error:
        raise StorageError(
            f"The cutting rule is damaged. Got {document!r}: {error}. Name a rule instead."
        ) from error
    return rule
