"""From the files of public sources to X and y, by format."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from secateur.typing import AnyArray


def read_mat(parts: list[bytes]) -> tuple[Any, AnyArray]:
    """One MATLAB file with X and y, in either case."""
    from scipy.io import loadmat
    from scipy.sparse import csr_matrix, issparse

    arrays = {name.lower(): array for name, array in loadmat(io.BytesIO(*parts)).items()}
    X, y = arrays["x"], np.asarray(arrays["y"]).ravel()
    return (csr_matrix(X) if issparse(X) else X), y


def read_csv(parts: list[bytes], n_names: int = 0) -> tuple[Any, AnyArray]:
    """Numbers between commas below lines of names, the target last; files are side by side."""
    tables = [np.loadtxt(io.BytesIO(p), delimiter=",", ndmin=2, skiprows=n_names) for p in parts]
    return np.hstack([table[:, :-1] for table in tables]), tables[0][:, -1]


def read_svmlight(parts: list[bytes]) -> tuple[Any, AnyArray]:
    """Files of LIBSVM, perhaps packed, below each other."""
    from scipy.sparse import vstack
    from sklearn.datasets import load_svmlight_files

    texts = (bz2.decompress(part) if part.startswith(b"BZh") else part for part in parts)
    loaded = load_svmlight_files([io.BytesIO(text) for text in texts])
    return vstack(loaded[::2]).tocsr(), np.concatenate(loaded[1::2])


def read_rows_and_labels(parts: list[bytes]) -> tuple[Any, AnyArray]:
    """Files of sparse rows and of their labels in turn, below each other."""
    pairs = zip(parts[1::2], parts[::2], strict=True)
    lines = (zip(y.split(), rows.splitlines(), strict=True) for y, rows in pairs)
    return read_svmlight([b"\n".join(b" ".join(line) for file in lines for line in file)])


def read_idx(parts: list[bytes]) -> tuple[Any, AnyArray]:
    """Packed files of MNIST: images and labels in turn, below each other."""
    arrays = [_idx(gzip.decompress(part)) for part in parts]
    images = np.concatenate(arrays[::2])
    return images.reshape(len(images), -1), np.concatenate(arrays[1::2])


def _idx(content: bytes) -> AnyArray:
    shape = np.frombuffer(content, ">u4", content[3], 4).astype(int)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)


CONVERTERS: dict[str, Callable[[list[bytes]], tuple[Any, AnyArray]]] = {
    "mat": read_mat,
    "csv": read_csv,
    "csv with names": lambda parts: read_csv(parts, n_names=1),
    "svmlight": read_svmlight,
    "rows and labels": read_rows_and_labels,
    "idx": read_idx,
}
