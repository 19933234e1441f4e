"""The sets of the papers: downloaded from their public source, checked and kept in a folder."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np

from secateur.datasets.converters import CONVERTERS
from secateur.exceptions import DownloadError, ParameterError, similar_to
from secateur.typing import AnyArray

TIMEOUT = 60  # seconds without an answer
ROWS = 1000  # of a dense table that are hashed at a time


@dataclass(frozen=True, slots=True, eq=False)
class Fetched:
    """A set of the papers.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_matrix of shape (n_rows, n_features)
        Floats.
    y : ndarray of shape (n_rows,)
        Labels as the source has them, or numbers.
    feature_names : tuple of str
        Empty where the source has none.
    name, source, licence : str
    """

    X: Any
    y: AnyArray
    feature_names: tuple[str, ...]
    name: str
    source: str
    licence: str


def known_sets() -> dict[str, dict[str, Any]]:
    """The table of sets: source, licence, rows and columns, URLs, format and checksum of each."""
    text = files("secateur.datasets").joinpath("sets.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def fetch(name: str, *, folder: str | os.PathLike[str] | None = None) -> Fetched:
    """Load a set of the papers; the first time it is downloaded.

    Parameters
    ----------
    name : str
        Such as "madelon"; another name gives an error that lists them.
    folder : path, optional
        Where sets are kept, one ``.npz`` file each. By default the folder named by
        ``SECATEUR_DATA``, else a folder ``secateur/data`` in the cache folder of the platform.
        A file that is there is used without a download.

    Returns
    -------
    Fetched
        What was downloaded has the contents that the benchmarks used, by its checksum: SHA-256 of
        the numbers in X and y, however the file was packed.

    Examples
    --------
    >>> from secateur.datasets import fetch
    >>> fetch("madelon").X.shape  # doctest: +SKIP
    (2600, 500)
    """
    table = known_sets()
    if name not in table:
        raise ParameterError(
            f"'name' must be that of a set. Got {name!r}.{similar_to(name, table)} "
            f"The sets are {', '.join(table)}."
        )
    entry = table[name]
    place = data_folder() if folder is None else Path(folder)
    file = place / f"{name}.npz"
    if not file.is_file():
        _keep(_download(name, entry, file), file)
    with np.load(file) as stored:
        arrays = dict(stored)
    names = tuple(arrays.get("feature_names", np.array([], str)).tolist())
    return Fetched(table_of(arrays), arrays["y"], names, name, entry["source"], entry["licence"])


def data_folder() -> Path:
    """The folder that ``SECATEUR_DATA`` names, or one in the cache folder of the platform."""
    given = os.environ.get("SECATEUR_DATA")
    if given:
        return Path(given)
    caches = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("", "Library/Caches")}
    name, usual = caches.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    return Path(os.environ.get(name) or Path.home() / usual) / "secateur" / "data"


def table_of(arrays: dict[str, AnyArray]) -> Any:
    """X as floats, dense or in compressed rows."""
    if "X" in arrays:
        return arrays["X"].astype(np.float64)
    from scipy.sparse import csr_matrix

    parts = (arrays["data"].astype(np.float64), arrays["indices"], arrays["indptr"])
    return csr_matrix(parts, shape=tuple(arrays["shape"].tolist()))


def checksum(X: Any, y: AnyArray) -> str:
    """SHA-256 of the numbers of X, row by row, and of y: the same however they were stored."""
    digest = hashlib.sha256()
    if hasattr(X, "tocsr"):
        rows = X.tocsr(copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        for part, kind in ((rows.indptr, "<i8"), (rows.indices, "<i8"), (rows.data, "<f8")):
            digest.update(part.astype(kind).tobytes())
    else:
        for start in range(0, len(X), ROWS):
            # + 0.0: zeros have one sign
            digest.update((X[start : start + ROWS].astype("<f8") + 0.0).tobytes())
    digest.update(np.asarray(y).astype("<f8").tobytes())
    return digest.hexdigest()


def _download(name: str, entry: dict[str, Any], file: Path) -> dict[str, AnyArray]:
    """The arrays of a set, read from its source and compared with the table."""
    instead = f"Or put {name}.npz, with the arrays X and y, into {file.parent}."
    if not entry["urls"]:
        raise DownloadError(
            f"The set {name!r} cannot be downloaded: {entry['note']} Its source is "
            f"{entry['source']}. {instead}"
        )
    parts = [_read_url(url, name, instead) for url in entry["urls"]]
    try:
        X, y = CONVERTERS[entry["format"]](parts)
    except Exception as error:  # readers of formats raise many kinds
        raise DownloadError(
            f"The file of the set {name!r} is not what was expected ({entry['format']}). Got "
            f"{error} from {entry['urls'][0]}. Perhaps the source has moved. {instead}"
        ) from error
    found = checksum(X, y)
    if found != entry["sha256"]:
        raise DownloadError(
            f"The contents of {name!r} must have the checksum {entry['sha256'][:12]}... Got "
            f"{found[:12]}..., a table of {X.shape[0]} x {X.shape[1]}, from {entry['urls'][0]}. "
            f"The source has changed or the download is damaged: try again. {instead}"
        )
    if hasattr(X, "tocsr"):
        names = ("data", "indices", "indptr")
        shape = np.array([X.shape[0], entry["n_features"]])  # the last columns may be empty
        return {each: getattr(X, each) for each in names} | {"shape": shape, "y": y}
    return {"X": X, "y": y}


def _read_url(url: str, name: str, instead: str) -> bytes:
    try:
        with urlopen(url, timeout=TIMEOUT) as answer:  # noqa: S310 - addresses of our own table
            return bytes(answer.read())
    except OSError as error:
        raise DownloadError(
            f"The set {name!r} could not be downloaded. Got {error} from {url}. Check the network "
            f"or the proxy and try again. {instead}"
        ) from error


def _keep(arrays: dict[str, AnyArray], file: Path) -> None:
    """Write a file that is whole or not there, also if several processes write it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:  # nothing stays after a full disk
        part = Path(folder) / file.name
        np.savez_compressed(part, **arrays)  # type: ignore[arg-type]  # names are not options
        part.replace(file)
