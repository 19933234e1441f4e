"""How a text file is written: encoding, delimiter, header and decimal sign, guessed from it."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from secateur.exceptions import InputError
from secateur.storage.reading.columns import MISSING, decimal_sign
from secateur.storage.reading.formats import library

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "spaces"}
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Encodings that a file may have if it is not UTF-8; the first is the default.
_LEGACY = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "koi8_r"),
    *("cp932", "euc_jp", "gb18030", "big5", "euc_kr"),
]
_SAMPLE_LINES = 100
_SAMPLE_BYTES = 200_000
_COMMA_NUMBER = re.compile(r"^\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*$")


class ReadOptions(NamedTuple):
    """How to read text, where the user said so; None is guessed."""

    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    names: tuple[str, ...] = ()  # columns that the user named: a line with one of them is a header


NOTHING_SAID = ReadOptions()


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a file; ``errors`` as in `bytes.decode`."""

    codec: str
    errors: str = "strict"
    notes: tuple[str, ...] = ()

    def utf8(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        r"""The text as UTF-8, chunk by chunk; lines that end with \r alone end with \n."""
        line_end = b""
        if self.codec != "utf-8":
            texts = codecs.iterdecode(iter(chunks), self.codec, self.errors)
            chunks = (text.encode("utf-8", "replace") for text in texts)
        for chunk in chunks:
            line_end = line_end or (b"\r" if b"\r" in chunk and b"\n" not in chunk else b"\n")
            yield chunk.replace(b"\r", b"\n") if line_end == b"\r" else chunk


def find_encoding(chunks: Iterable[bytes], name: str, given: str | None = None) -> Encoding:
    r"""The encoding of a file: by its byte order mark, or UTF-8, or guessed by charset-normalizer.

    >>> find_encoding([b"caf\xe9\n"], "a.csv").codec
    'cp1252'
    """
    codec, decoder, marked, n_lines, previous = "utf-8", None, None, 0, b""
    for chunk in itertools.chain(chunks, [b""]):
        if decoder is None:
            marked = next((codec for bom, codec in _BOMS.items() if chunk.startswith(bom)), None)
            codec = given or marked or "utf-8"
            try:
                "a".encode(codec)  # Python has codecs that are not for text
                codec = codecs.lookup(codec).name
            except (LookupError, UnicodeError) as error:
                raise InputError(
                    f"'encoding' must be known to Python, e.g. utf-8 or latin-1. Got {codec!r}."
                ) from error
            decoder = codecs.getincrementaldecoder(codec)()
            if given is None and marked is None and b"\x00" in chunk[:1_000_000]:
                raise InputError(
                    f"{name} must be text. Got binary data. Use the suffix of "
                    "its format (.parquet, .feather, .npz), or give --encoding."
                )
        try:
            if codec != "utf-8" or decoder.getstate()[0] or not chunk.isascii():
                decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            if given is not None or marked is not None:
                raise InputError(
                    f"{name} must be {codec} text. Got other bytes ({error}). Use --encoding."
                ) from error
            return _guessed_encoding(error, n_lines + previous.count(b"\n"))
        if chunk:  # the lines of the last one are counted only if they matter
            n_lines += previous.count(b"\n")
            previous = chunk
    return Encoding(codec)


def _guessed_encoding(error: UnicodeError, n_lines: int) -> Encoding:
    """The encoding of text that is not UTF-8; Windows-1252 unless it does not look like that."""
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101  # what decoders raise
    before = error.object[: error.start]
    sample = error.object[before.rfind(b"\n") + 1 :][:_SAMPLE_BYTES]
    found = library("charset_normalizer").from_bytes(sample, cp_isolation=_LEGACY)
    best, codec = found.best(), _LEGACY[0]
    if best is not None and not any(codec in match.could_be_from_charset for match in found):
        codec = best.encoding
    title = codec.replace("cp125", "Windows-125")
    line = n_lines + before.count(b"\n") + 1
    note = f"Line {line} is not UTF-8: the file is read as {title} (--encoding overrules)."
    return Encoding(codec, "replace", (note,))


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the cells of a text file are written; ``header`` is None if the first line has values."""

    delimiter: str
    header: tuple[str, ...] | None
    n_columns: int
    decimal: str = "."
    notes: tuple[str, ...] = ()
    n_top: int = field(default=0, repr=False)  # lines above the values: comments and header


def sample_end(content: bytes) -> int:
    """Where the first lines end, which a dialect is guessed from; -1 if there are no more."""
    end, n_lines = 0, 0
    while n_lines < _SAMPLE_LINES and end >= 0 and (end < _SAMPLE_BYTES or n_lines < 2):
        end = content.find(b"\n", end) + 1 or -1
        n_lines += 1
    return end


def guess_dialect(text: str, name: str, options: ReadOptions = NOTHING_SAID) -> Dialect:
    r"""Guess how a file is written from its first lines; ``name`` is for messages.

    >>> guess_dialect("a;b\n1,5;2\n", "x.csv")
    Dialect(delimiter=';', header=('a', 'b'), n_columns=2, decimal=',', notes=(...))
    """
    # the lines at the top that begin with "#"; none if there is nothing below
    comments = list(itertools.takewhile(lambda line: line[:1] == "#", text.split("\n")))
    below = text[sum(map(len, comments)) + len(comments) :]
    comments, text = (comments, below) if below.strip() else ([], text)
    chosen = options.delimiter or _guess_delimiter(text)
    numbered = list(parse_rows(text, chosen, name))
    if not numbered:
        raise InputError(f"{name} must hold a table. Got an empty file. Check the export.")
    rows, n_top = [row for _, row in numbered], len(comments)
    names, notes = _find_header(rows, options)
    values = rows[names is not None :]
    if names is not None:
        n_top += numbered[0][0]
    elif options.header is None:
        last = comments[-1].removeprefix("# ").strip() if comments else ""
        above = next((row for _, row in parse_rows(last, chosen, "")), [])
        if len(above) == len(rows[0]):  # names in the last line of comments
            names, notes, comments = tuple(above), [], []
    if comments:
        n_lines = "1 line is" if len(comments) == 1 else f"{len(comments)} lines are"
        notes.append(f"{n_lines} left out at the top: comments.")
    if names is not None and values and all(len(row) == len(names) + 1 for row in values):
        names = ("", *names)  # R writes row names without a name of their own
    decimal = "." if chosen == "," else decimal_sign([cell for row in values for cell in row])
    if options.delimiter is None and chosen != ",":
        notes.append(f"Cells are separated by {DELIMITERS[chosen]}.")
    if decimal == ",":
        notes.append("Numbers are written with decimal commas.")
    return Dialect(chosen, names, len(names or rows[0]), decimal, tuple(notes), n_top)


def _find_header(
    rows: list[list[str]], options: ReadOptions
) -> tuple[tuple[str, ...] | None, list[str]]:
    """The names in the first line, None if it holds values, and a note on that guess."""
    first = rows[0]
    if options.header is not None:
        return (tuple(first) if options.header else None), []
    is_named = any(cell.strip() in options.names for cell in first)
    if not is_named and not _looks_like_header(first, rows[1:]):
        note = "The first line holds numbers: the columns are x0, x1, ... (--header overrules)."
        return None, [note]
    note = "The first line holds names, some of them numbers (--no-header overrules)."
    return tuple(first), [note] if any(map(_is_number, first)) else []


def parse_rows(
    text: str, delimiter: str, name: str, first_line: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Number of the line and cells of each row, by Python's csv module; without blank lines."""
    lines, reader = io.StringIO(text, newline="\n"), None
    try:
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ")
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                yield first_line + reader.line_num, row
    except (csv.Error, TypeError) as error:
        where = "" if reader is None else f" in line {first_line + reader.line_num}"
        raise InputError(
            f"{name} must be text with one row per line. Got something else{where} ({error}). "
            "Check for quotes that are not closed, or give --delimiter."
        ) from error


def _guess_delimiter(sample: str) -> str:
    """The delimiter that splits most lines into equally many cells; the more cells the better."""
    best, best_value = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        if delimiter not in sample:
            continue
        try:
            widths = Counter(len(row) for _, row in parse_rows(sample, delimiter, ""))
        except InputError:
            continue
        width, count = widths.most_common(1)[0] if widths else (0, 0)
        value = (count / max(1, widths.total()), width)
        if width > 1 and value > best_value:
            best, best_value = delimiter, value
    return best


def _looks_like_header(first: list[str], rest: list[list[str]]) -> bool:
    """Whether the cells of the first line are names: none is a number, or they do not fit below.

    With numbers among them (years, wavelengths, 0 to n), words must be of another kind than the
    cells below, and be the most, or the numbers must increase.
    """
    numbers = [float(cell.replace(",", ".")) for cell in first[:10_000] if _is_number(cell)]
    if not numbers and any(cell.strip() for cell in first[:10_000]):
        return True
    increases = all(low < high for low, high in itertools.pairwise(numbers))
    n_words, votes = 0, 0
    for place, cell in enumerate(first[:10_000]):
        below = [row[place].strip() for row in rest if place < len(row) and row[place].strip()]
        if below and cell.strip() and not _is_number(cell):
            n_words += 1
            is_other = all(map(_is_number, below)) or len(set(below)) < len(below)
            votes += 1 if is_other and cell.strip() not in below else -1
    if n_words:
        return votes > 0 and (increases or n_words >= len(numbers))
    is_counted = len(numbers) > 2 and numbers == list(range(len(numbers)))
    return is_counted and bool(rest) and rest[0] != first


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", ".") if _COMMA_NUMBER.match(cell) else cell)
    except ValueError:
        return False
    return cell.strip().lower() not in MISSING  # float("nan") is a number to Python
