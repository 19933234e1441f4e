"""Streams: block after block, files, a changing target, and a state that is saved and resumed."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import NotFittedError

from secateur import FeatureGradientsSelector
from secateur.exceptions import InputError, InputTypeError, ParameterError, StorageError


def blocks(n_blocks, n=300, informative=(1, 5, 9), seed=0, n_features=20, kind=np.asarray):
    rng = np.random.default_rng(seed)
    for _ in range(n_blocks):
        X = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.7)
        signal = X[:, list(informative)].sum(axis=1) + 0.4 * rng.normal(size=n)
        yield kind(X), np.where(signal > 0, "yes", "no")


def chosen(selector):
    return set(np.flatnonzero(selector.support_).tolist())


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, pd.DataFrame])
def test_an_iterator_is_searched_in_one_pass(kind):
    selector = FeatureGradientsSelector(random_state=0).fit(blocks(25, kind=kind))
    assert {1, 5, 9} <= chosen(selector)
    assert len(chosen(selector)) <= 6
    assert selector.path_[-1].details["rows"] == 25 * 300
    assert selector.classes_.tolist() == ["no", "yes"]
    assert selector.transform(np.ones((2, 20))).shape == (2, selector.support_.sum())
    assert selector.scores_[selector.support_].min() > selector.scores_[~selector.support_].max()


def test_a_stream_may_carry_weights():
    def weighted():
        for X, y in blocks(20):
            junk = np.random.default_rng(1).permutation(y)
            yield np.vstack([X, X]), np.r_[y, junk], np.r_[np.ones(len(y)), np.zeros(len(y))]

    assert {1, 5, 9} <= chosen(FeatureGradientsSelector(random_state=0).fit(weighted()))


def test_a_wanted_number_is_steered_to():
    selector = FeatureGradientsSelector(n_features=3, random_state=0).fit(blocks(30))
    assert chosen(selector) == {1, 5, 9}


def test_partial_fit_has_a_subset_after_each_block():
    selector = FeatureGradientsSelector(random_state=0)
    for X, y in blocks(25):
        selector.partial_fit(X, y)
        assert selector.support_.shape == (20,)
    assert {1, 5, 9} <= chosen(selector)


def test_a_changing_target_is_followed():
    selector = FeatureGradientsSelector(n_features=3, random_state=0)
    for X, y in blocks(30):
        selector.partial_fit(X, y)
    assert chosen(selector) == {1, 5, 9}
    for X, y in blocks(120, informative=(2, 6, 10), seed=1):
        selector.partial_fit(X, y)
    assert chosen(selector) == {2, 6, 10}


def drifting(n_blocks, informative, offset, seed):
    """Blocks whose columns have moved by an offset, in units of their deviation."""
    rng = np.random.default_rng(seed)
    for _ in range(n_blocks):
        X = rng.normal(size=(300, 20))
        signal = X[:, list(informative)].sum(axis=1) + 0.4 * rng.normal(size=300)
        yield X + offset, np.where(signal > 0, "yes", "no")


def test_a_half_life_follows_a_target_that_drifts():
    n_blocks = {}
    for half_life in (None, 1500):
        selector = FeatureGradientsSelector(n_features=3, half_life=half_life, random_state=0)
        for X, y in drifting(30, (1, 5, 9), 0.0, 0):
            selector.partial_fit(X, y)
        assert chosen(selector) == {1, 5, 9}
        n_blocks[half_life] = 0
        for X, y in drifting(100, (2, 6, 10), 30.0, 1):
            selector.partial_fit(X, y)
            n_blocks[half_life] += 1
            if chosen(selector) == {2, 6, 10}:
                break
    assert n_blocks[1500] < 100
    assert n_blocks[1500] < n_blocks[None]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_moments_of_a_half_life_are_those_of_fading_weights(kind):
    selector = FeatureGradientsSelector(half_life=400, random_state=0)
    parts = list(blocks(6, kind=kind))
    for X, y in parts:
        selector.partial_fit(X, y)
    age = 300 * (5 - np.repeat(np.arange(6), 300))  # rows that came after the block
    weight = 0.5 ** (age / 400)
    X = np.concatenate(
        [np.asarray(part.todense() if sp.issparse(part) else part) for part, _ in parts]
    )
    mean = weight @ X / weight.sum()
    found = selector._session.stream.moments
    np.testing.assert_allclose(found.mean, mean, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.square, weight @ (X - mean) ** 2, rtol=1e-5)


def test_the_scale_is_that_of_the_top_eigenvalue_from_the_first_block_on():
    rng = np.random.default_rng(0)
    selector = FeatureGradientsSelector(penalty=0.3, target_type="regression", random_state=0)
    so_far = np.empty((0, 20))
    for _ in range(5):
        hidden = rng.normal(size=(1000, 1))
        X = np.hstack([hidden + rng.normal(size=(1000, 8)), rng.normal(size=(1000, 12))])
        so_far = np.vstack([so_far, X])
        selector.partial_fit(X, X[:, 0] + rng.normal(size=1000))
        top = np.linalg.eigvalsh(np.corrcoef(so_far.T))[-1]
        assert selector._session.stream.scale == pytest.approx(top, rel=0.05)


def test_few_rows_wait_for_more():
    selector = FeatureGradientsSelector(random_state=0)
    for number, (X, y) in enumerate(blocks(5, n=30)):
        selector.partial_fit(X, y, classes=["no", "yes"])
        assert hasattr(selector, "support_") == (number >= 3)  # 100 rows for order 4
    assert selector.path_[-1].details["rows"] == 120


def test_classes_that_come_later_must_be_declared():
    X, y = next(blocks(1))
    only = FeatureGradientsSelector(random_state=0)
    only.partial_fit(X[y == "yes"], y[y == "yes"], classes=["no", "yes"])
    only.partial_fit(X, y)
    new = FeatureGradientsSelector(random_state=0).partial_fit(X, y)
    with pytest.raises(InputError, match=r"labels that the fit knows. Got 'maybe'"):
        new.partial_fit(X, np.where(y == "no", "maybe", y))


def test_later_blocks_must_have_the_columns_of_the_first():
    X, y = next(blocks(1))
    selector = FeatureGradientsSelector(random_state=0).partial_fit(X, y)
    with pytest.raises(InputError, match="expecting 20 features"):
        selector.partial_fit(X[:, :5], y)


def test_a_fit_on_a_table_ends_a_stream():
    X, y = next(blocks(1))
    selector = FeatureGradientsSelector(random_state=0, max_epochs=5, penalty=0.1)
    selector.partial_fit(X, y).fit(X[:, :7], y)
    assert selector.n_features_in_ == 7
    with pytest.raises(NotFittedError, match="save_stream"):
        selector.save_stream("nowhere")


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n", [300, 70])
def test_a_saved_stream_goes_on_as_if_nothing_had_happened(tmp_path, kind, n):
    params = {"random_state": 3, "n_features": 4}
    whole, first = FeatureGradientsSelector(**params), FeatureGradientsSelector(**params)
    for number, (X, y) in enumerate(blocks(9, n=n, kind=kind)):
        whole.partial_fit(X, y)
        if number < 4:
            first.partial_fit(X, y)
    first.save_stream(tmp_path / "stream.npz")
    second = FeatureGradientsSelector(**params).resume_stream(tmp_path / "stream.npz")
    for X, y in list(blocks(9, n=n, kind=kind))[4:]:
        second.partial_fit(X, y)
    np.testing.assert_array_equal(second.scores_, whole.scores_)
    assert second.path_[-1].penalty == whole.path_[-1].penalty
    assert second.classes_.tolist() == ["no", "yes"]


def test_a_state_is_not_taken_for_another(tmp_path):
    X, y = next(blocks(1))
    file = tmp_path / "stream.npz"
    FeatureGradientsSelector(random_state=0).partial_fit(X, y).save_stream(file)
    with pytest.raises(ParameterError, match=r"'order' must be 4, as it was.*Got 2"):
        FeatureGradientsSelector(order=2).resume_stream(file)
    (tmp_path / "other.npz").write_bytes(b"no such thing")
    with pytest.raises(StorageError, match="must hold the state of a stream"):
        FeatureGradientsSelector().resume_stream(tmp_path / "other.npz")
    np.savez(tmp_path / "another.npz", X=X)
    with pytest.raises(StorageError, match="must hold the state of a stream"):
        FeatureGradientsSelector().resume_stream(tmp_path / "another.npz")


def test_a_parquet_file_is_read_in_blocks(tmp_path, monkeypatch):
    import secateur.storage.sources as reading

    monkeypatch.setattr(reading, "ROWS", 500)
    parts = list(blocks(12))
    X, y = np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])
    columns = {f"c{j}": X[:, j] for j in range(20)}
    pq.write_table(pa.table({"label": y, **columns}), tmp_path / "rows.parquet", row_group_size=400)
    selector = FeatureGradientsSelector(n_features=3, random_state=0, batch_size=200)
    selector.fit(tmp_path / "rows.parquet", "label")
    assert selector.get_feature_names_out().tolist() == ["c1", "c5", "c9"]
    assert selector.path_[-1].details["rows"] == len(y)
    with pytest.raises(InputError, match=r"'price'.*'label'"):
        selector.fit(tmp_path / "rows.parquet", "price")


@pytest.mark.parametrize("packed", [False, True])
def test_a_libsvm_file_is_read_in_blocks(tmp_path, monkeypatch, packed):
    import secateur.storage.sources as reading

    monkeypatch.setattr(reading, "ROWS", 500)
    parts = list(blocks(12))
    X, y = np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])
    file = tmp_path / "rows.svm"
    dump_svmlight_file(X, (y == "yes").astype(int), str(file), zero_based=False)
    if packed:
        with gzip.open(tmp_path / "rows.svm.gz", "wb") as out:
            out.write(file.read_bytes())
        file = tmp_path / "rows.svm.gz"
    selector = FeatureGradientsSelector(n_features=3, random_state=0, batch_size=200)
    assert chosen(selector.fit(str(file))) == {1, 5, 9}
    assert selector.n_features_in_ == 20
    with pytest.raises(InputError, match="a LIBSVM file"):
        selector.fit(str(file), "label")


def test_bad_streams_are_refused(tmp_path):
    selector = FeatureGradientsSelector()
    X, y = next(blocks(1))
    with pytest.raises(InputError, match="which is no file"):
        selector.fit(str(tmp_path / "nothing.parquet"))
    with pytest.raises(InputError, match="at least one block"):
        selector.fit(iter([]))
    with pytest.raises(InputTypeError, match=r"blocks \(X, y\)"):
        selector.fit(iter([X]))
    with pytest.raises(InputError, match="'y' must come with the blocks"):
        selector.fit(iter([(X, y)]), y)
    with pytest.raises(InputError, match="'sample_weight' must come with the blocks"):
        selector.fit(iter([(X, y)]), sample_weight=np.ones(300))
    with pytest.raises(ParameterError, match="one number or 'auto' for a stream"):
        FeatureGradientsSelector(penalty=[1.0, 2.0]).fit(iter([(X, y)]))
    with pytest.raises(ParameterError, match=r"'max_features' must be at least .* 3. Got 2"):
        FeatureGradientsSelector(keep=[0, 1, 2], max_features=2).fit(iter([(X, y)]))
    with pytest.raises(InputError, match="needs at least 6 rows"):
        selector.fit(iter([(X[:4], y[:4])]))
    (tmp_path / "bad.svm").write_text("1 2:a\n")
    with pytest.raises((InputError, ValueError), match=r"bad\.svm|could not convert|LIBSVM"):
        selector.fit(str(tmp_path / "bad.svm"))
    assert not hasattr(selector, "selection_")


def test_an_interrupted_stream_keeps_what_it_found():
    from secateur import StopReason
    from secateur.exceptions import InterruptedWarning

    def broken():
        yield from blocks(5)
        raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning):
        selector = FeatureGradientsSelector(random_state=0, on_interrupt="keep").fit(broken())
    assert selector.path_.stop_reason is StopReason.INTERRUPTED
    assert selector.path_[-1].details["rows"] == 1500
    selector.partial_fit(*next(blocks(1)))
    assert selector.path_[-1].details["rows"] == 1800
