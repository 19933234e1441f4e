"""What kind of file this is: told by its first bytes where they tell, by its name otherwise."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from secateur._data.reading.refusing import refuse_others
from secateur.exceptions import InputError

COMPRESSIONS = {".gz": "gz", ".bz2": "bz2", ".xz": "xz", ".zst": "zst"}
_MAGIC_COMPRESSION = {
    b"\x1f\x8b": "gz",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
}
_MAGIC_FORMAT = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather", b"PK\x03\x04": "npz"}
_SUFFIXES = {
    **dict.fromkeys((".csv", ".data", ".dat", ".txt"), "csv"),
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".libsvm", ".svm", ".svmlight"), "libsvm"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "feather"),
    ".npz": "npz",
}
BINARY = {"parquet", "feather", "npz"}
WORDS = {"parquet": "Parquet", "feather": "Feather", "npz": "NPZ", "libsvm": "LIBSVM"}
READ = "CSV, TSV, Parquet, Feather, LIBSVM and NPZ, also compressed (.gz, .bz2, .xz, .zst)"
# A label and at least one index:value pair, and nothing else.
_LIBSVM_LINE = re.compile(rb"^[-+\d.eE,]+(\s+(qid:)?\d+:\S+)+\s*(#.*)?$")


@dataclass(frozen=True, slots=True)
class FileKind:
    """Format and compression of a file, and its name without folder and suffixes.

    ``notes`` tell where name and content disagree.

    >>> kind_of_name("data/adult.csv.gz")
    FileKind(format='csv', compression='gz', stem='adult', suffix='.csv.gz')
    """

    format: str
    compression: str
    stem: str
    suffix: str
    notes: tuple[str, ...] = field(default=(), repr=False)


def kind_of(name: str, head: bytes, compression: str) -> FileKind:
    r"""What a file is, by its first bytes (decompressed) and its name.

    Where they disagree the bytes are right, and that is said.

    >>> kind_of("a.csv.gz", b"a,b\n", "").notes
    ('a.csv.gz is not compressed, although it is called so: it is read as it is.',)
    """
    named = kind_of_name(name)
    found = format_of(name, head)
    notes = []
    if named.compression and not compression:
        notes.append(f"{name} is not compressed, although it is called so: it is read as it is.")
    elif named.compression != compression and named.suffix:
        notes.append(f"{name} is compressed as .{compression}, whatever its name says.")
    is_other = found in BINARY or found == "libsvm"
    if named.format and is_other and found != named.format:
        notes.append(f"{name} is {WORDS[found]}, whatever its name says, and is read so.")
    return replace(named, compression=compression, format=found, notes=tuple(notes))


def kind_of_name(name: str) -> FileKind:
    """What the name of a file tells; the format is "" where it tells nothing."""
    file = Path(name)
    compression = COMPRESSIONS.get(file.suffix.lower(), "")
    inner = file.with_suffix("") if compression else file
    known = _SUFFIXES.get(inner.suffix.lower(), "")
    stem = inner.stem if known else inner.name
    return FileKind(known, compression, stem, file.name[len(stem) :])


def compression_of(head: bytes) -> str:
    """How a file is compressed, by its first bytes; "" for not at all."""
    return next((name for magic, name in _MAGIC_COMPRESSION.items() if head.startswith(magic)), "")


def format_of(name: str, content: bytes) -> str:
    r"""The format of a file by its first bytes (decompressed), and by its name for text.

    >>> format_of("a.csv", b"PAR1...")
    'parquet'
    >>> format_of("unknown", b"1 3:0.5 7:1\n")
    'libsvm'
    """
    refuse_others(name, content)
    for magic, known in _MAGIC_FORMAT.items():
        if content.startswith(magic):
            return known
    named = kind_of_name(name).format
    if named in BINARY:
        is_text = content.strip() and b"\x00" not in content[:1000]
        found, advice = (
            ("text", "Call it .csv if it is a table of text")
            if is_text
            else ("one that does not begin like that", "Check that it is whole")
        )
        raise InputError(
            f"{name} must be a {named} file. Got {found}. {advice}, or get the file again."
        )
    if named == "libsvm":
        return named
    line = content[:100_000].lstrip().partition(b"\n")[0].rstrip(b"\r")
    if _LIBSVM_LINE.match(line):
        return "libsvm"
    return named or "csv"
