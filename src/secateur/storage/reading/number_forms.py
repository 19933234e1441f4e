"""Numbers that are written with thousands separators, decimal commas, currencies or units."""

from __future__ import annotations

from typing import Any, NamedTuple

from secateur.storage.reading.formats import library
from secateur.typing import FloatArray

# Sign or bracket, currency, digits with their separators, unit. Units begin with a letter or sign.
_CURRENCY = r"\p{Sc}|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|US\$"
_SIGN = r"[-+\x{2212}]"
_SPACE = r"[ '\x{2019}\x{a0}\x{202f}]"  # between thousands
_WRITTEN = (
    rf"^(?P<bracket>\()?\s*(?P<sign>{_SIGN})?\s*(?P<currency>{_CURRENCY})?\s*(?P<inner>{_SIGN})?\s*"
    rf"(?P<digits>(?:(?:\d(?:[\d.,]|{_SPACE})*)?\d[.,]?|[.,]\d+)(?:[eE][-+]?\d+)?)"
    r"\s*(?P<unit>[\p{L}%°‰\p{Sc}][^\s\d().,;]*[\d²³]?)?\s*\)?$"
)
_SPACED = rf"^\d{{1,3}}(?:{_SPACE}\d{{3}})+(?:[.,]\d*)?$"  # 1 234 567,5
_PLAIN = r"^\d*[.,]?\d*(?:[eE][-+]?\d+)?$"
_THOUSANDS = {  # by the decimal sign: 1,234,567.5 (also 12,34,567) and 1.234.567,5
    ".": r"^\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d*)?$",
    ",": r"^\d{1,3}(?:\.\d{3})+(?:,\d*)?$",
}
_EITHER = r"^[1-9]\d{0,2}[.,]\d{3}$"  # 1,234 is 1234 or 1.234


class NumberForm(NamedTuple):
    """The decimal sign and the unit of the numbers of a column; "$" and "%" are units."""

    decimal: str
    unit: str = ""

    def __str__(self) -> str:
        """How they are written."""
        unit = f"with {self.unit!r}, which is left out, " if self.unit else ""
        return f"{unit}written as {'1,234.5' if self.decimal == '.' else '1.234,5'}"

    def parse(self, text: Any) -> FloatArray:
        """Text as numbers; NaN where it is none of this form."""
        pl = library("polars")
        frame = text.to_frame("value").select(*_parts())
        digits, group = pl.col("digits"), "," if self.decimal == "." else "."
        is_grouped = digits.str.contains(_THOUSANDS[self.decimal])
        is_plain = digits.str.contains(_PLAIN) & ~digits.str.contains(group, literal=True)
        number = digits.str.replace_all(group, "", literal=True)
        number = number.str.replace(self.decimal, ".", literal=True).cast(pl.Float64, strict=False)
        is_own = pl.col("unit") == self.unit
        if _is_currency(self.unit):
            is_own |= pl.col("unit") == ""
        value = pl.when(is_own & (is_grouped | is_plain)).then(number * pl.col("sign"))
        return frame.select(value.cast(pl.Float64)).to_series().fill_null(float("nan")).to_numpy()


def _parts() -> list[Any]:
    """Sign, digits without spaces between them, and unit; null for other text."""
    pl = library("polars")
    found = pl.col("value").str.extract_groups(_WRITTEN).struct
    digits, marks = found.field("digits"), ("sign", "inner")
    minus = [
        found.field(mark).is_in(["-", "\N{MINUS SIGN}"]).fill_null(value=False) for mark in marks
    ]
    is_negative = minus[0] | minus[1] | found.field("bracket").is_not_null()
    spaced = digits.str.contains(_SPACED)
    joined = pl.when(spaced).then(digits.str.replace_all(_SPACE, "")).otherwise(digits)
    is_number = joined.is_not_null() & ~joined.str.contains(_SPACE)
    currency, unit = (found.field(name).fill_null("") for name in ("currency", "unit"))
    return [
        pl.when(is_number).then(joined).alias("digits"),
        pl.when(is_number).then(currency + unit).alias("unit"),
        pl.when(is_negative).then(-1.0).otherwise(1.0).alias("sign"),
    ]


def _is_currency(unit: str) -> bool:
    return bool(library("polars").Series([unit]).str.contains(rf"^(?:{_CURRENCY})$")[0])


def choose_form(counts: Any, decimal: str = ".") -> tuple[NumberForm | None, Any]:
    """The form of the numbers of a column, None where they are plain, and what its cells hold.

    The result adds to the counts of `TextSummary` ``is_number``: plain or of this form, and
    ``has_digits``: a number of any form.
    """
    pl = library("polars")
    cells = counts.with_columns(*_parts())
    has_digits = cells["digits"].is_not_null()
    plain = cells.select("value", "n", "word", is_number=~pl.col("word"), has_digits=has_digits)
    if not (has_digits & cells["word"]).any():
        return None, plain
    units = cells.filter(has_digits).group_by("unit").agg(pl.col("n").sum())
    unit = units.sort(["n", "unit"], descending=[True, False])["unit"][0]
    own = cells.filter(pl.col("unit") == unit)
    form = NumberForm(_most_frequent_sign(own) or decimal, unit)
    is_number = ~pl.Series(form.parse(counts["value"])).is_nan()
    if not (is_number & cells["word"]).any():
        return None, plain
    return form, plain.with_columns(is_number=is_number)


def decimal_sign(texts: list[str]) -> str:
    """The decimal sign of most numbers among texts, "." where none tells it."""
    pl = library("polars")
    cells = pl.DataFrame({"value": texts}, schema={"value": pl.String}).select(*_parts())
    return _most_frequent_sign(cells.with_columns(n=1)) or "."


def _most_frequent_sign(cells: Any) -> str | None:
    """The decimal sign of most numbers; None if there are only such as 1,234 and 1.234."""
    pl = library("polars")
    n_signs = pl.col("digits").str.count_matches(r"[.,]")
    sign = pl.when(n_signs == 1).then(pl.col("digits").str.extract(r"([.,])"))
    for decimal, form in _THOUSANDS.items():
        is_grouped = pl.col("digits").str.contains(form) & (n_signs > 1)
        sign = pl.when(is_grouped).then(pl.lit(decimal)).otherwise(sign)
    is_sure = sign.is_not_null() & ~pl.col("digits").str.contains(_EITHER)
    counted = cells.filter(is_sure).group_by(sign.alias("sign")).agg(pl.col("n").sum())
    ranked = counted.sort(["n", "sign"], descending=True)["sign"]
    return str(ranked[0]) if len(ranked) else None
