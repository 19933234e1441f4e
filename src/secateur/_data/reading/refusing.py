"""Files that people have and that are no tables of ours: known by their first bytes, and named."""

from __future__ import annotations

import re

from secateur.exceptions import InputError

_ZIP = b"PK\x03\x04"
_EXCEL = "an Excel workbook", "Save it as CSV"
_MAGIC = {
    b"\xd0\xcf\x11\xe0": _EXCEL,
    b"\x89HDF\r\n": ("an HDF5 file", "Write its table as Parquet or CSV"),
    b"SQLite format 3\x00": ("an SQLite database", "Write its table as CSV"),
    b"%PDF-": ("a PDF document", "Write its table as CSV"),
    b"\x93NUMPY": ("a single array of numpy", "Write table and target with numpy.savez"),
}
_EXCEL_PARTS = (b"[Content_Types].xml", b"xl/workbook", b"xl/worksheets")
_WEB = re.compile(rb"\s*(<!doctype html|<html)", re.IGNORECASE)
_HEAD = 4000


def refuse_others(name: str, content: bytes) -> None:
    r"""Raise for a file of a kind that is not read, saying which it is and what to do.

    >>> refuse_others("a.csv", b"a,b\n")
    >>> refuse_others("a.csv", b"<!DOCTYPE html><html>")
    Traceback (most recent call last):
    ...
    secateur.exceptions.InputError: a.csv must be a table. Got a web page. Get the file itself, ...
    """
    head = content[:_HEAD]
    known = next((told for magic, told in _MAGIC.items() if head.startswith(magic)), None)
    if head.startswith(_ZIP) and any(part in head for part in _EXCEL_PARTS):
        known = _EXCEL
    elif _WEB.match(head):
        known = "a web page", "Get the file itself, perhaps after signing in"
    if known is not None:
        raise InputError(f"{name} must be a table. Got {known[0]}. {known[1]}.")
