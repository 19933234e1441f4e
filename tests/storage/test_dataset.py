"""What becomes of the columns of a file: features, target, weights, dates, names of rows."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from secateur.exceptions import InputError
from secateur.storage.reading.dataset import Roles, make_dataset, read_test
from secateur.storage.reading.dialect import ReadOptions
from secateur.storage.reading.plan import without_indicators
from secateur.storage.reading.read_file import read_file

pl = pytest.importorskip("polars")
pytest.importorskip("pyarrow")

N = 60
RNG = np.random.default_rng(0)


def file_of(folder, columns, name="t.csv"):
    file = folder / name
    table = pl.DataFrame(columns)
    if name.endswith(".parquet"):
        table.write_parquet(file)
    else:
        table.write_csv(file)
    return file


def dataset_of(folder, columns, roles=None, name="t.csv", **options):
    columns = {"y": RNG.choice(["no", "yes"], N), "x": RNG.normal(size=N), **columns}
    raw = read_file(file_of(folder, columns, name))
    return make_dataset(raw, roles or Roles("y"), **options)


def note_about(dataset, word):
    [note] = [note for note in dataset.notes if word in note]
    return note


def test_numbers_alone_are_a_matrix_with_names(tmp_path):
    dataset = dataset_of(tmp_path, {"z": np.arange(N) ** 2})
    assert isinstance(dataset.features.X, np.ndarray)
    assert dataset.features.names == ("x", "z")
    assert dataset.y.tolist()[0] in {"no", "yes"}


def test_text_becomes_categories_in_a_data_frame(tmp_path):
    dataset = dataset_of(tmp_path, {"colour": RNG.choice(["red", "blue", "?"], N)})
    column = dataset.features.X["colour"]
    assert column.dtype.categories.to_list() == ["blue", "red"]
    assert column.null_count() > 0
    assert "colour" in note_about(dataset, "categories")


def test_categories_become_columns_of_0_and_1_where_numbers_are_needed(tmp_path):
    colours = np.array(["red", "blue", "red"] * 20)
    dataset = dataset_of(tmp_path, {"colour": colours, "z": np.ones(N)}, indicators=True)
    assert dataset.features.names == ("x", "z", "colour=red", "colour=blue")
    np.testing.assert_array_equal(dataset.features.X[:, 2], colours == "red")
    np.testing.assert_array_equal(dataset.features.sources, [0, 2, 1, 1])


def test_a_table_with_indicators_gives_its_columns_back(tmp_path):
    colours = np.array(["red", "blue", "?"] * 20)
    columns = {"colour": colours, "z": np.ones(N)}
    encoded = dataset_of(tmp_path, columns, indicators=True)
    assert encoded.is_encoded
    found = without_indicators(encoded.plan, encoded.features.X, encoded.features.sources)
    plain = dataset_of(tmp_path, columns)
    assert not plain.is_encoded
    assert found.columns == plain.features.X.columns
    assert found["colour"].cast(str).equals(plain.features.X["colour"].cast(str))


def test_an_indicator_never_takes_the_name_of_a_column(tmp_path):
    colours = RNG.choice(["red", "blue"], N)
    dataset = dataset_of(tmp_path, {"c": colours, "c=red": np.ones(N)}, indicators=True)
    assert len(set(dataset.features.names)) == 4


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_dates_become_days(tmp_path, name):
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in RNG.integers(0, 900, N)]
    dataset = dataset_of(tmp_path, {"when": days}, name=name)
    np.testing.assert_allclose(
        dataset.features.X[:, 1], [(day - dt.date(1970, 1, 1)).days for day in days]
    )
    assert "days since 1970" in note_about(dataset, "when")


@pytest.mark.parametrize(
    ("form", "words"),
    [("%d.%m.%Y", "day.month.year"), ("%m/%d/%Y", "month/day/year"), ("%Y-%m-%d %H:%M", "time")],
)
def test_dates_in_other_forms(tmp_path, form, words):
    start = dt.datetime(2024, 1, 1, 12)  # noqa: DTZ001 - as files hold them
    when = [start + dt.timedelta(days=int(d)) for d in RNG.permutation(N)]
    dataset = dataset_of(tmp_path, {"when": [day.strftime(form) for day in when]})
    whole = np.floor(dataset.features.X[:, 1])
    np.testing.assert_allclose(whole, [(d - dt.datetime(1970, 1, 1)).days for d in when])  # noqa: DTZ001
    assert words in note_about(dataset, "when")


def test_names_of_rows_are_left_out_and_that_is_said(tmp_path):
    dataset = dataset_of(tmp_path, {"who": [f"person {i}" for i in range(N)]})
    assert dataset.features.names == ("x",)
    assert "'who'" in note_about(dataset, "text of its own")


def test_text_with_a_hundred_thousand_values_is_left_out_quickly(tmp_path):
    n = 100_000
    columns = {"y": np.arange(n) % 2, "x": RNG.normal(size=n), "t": [f"t{i}" for i in range(n)]}
    dataset = make_dataset(read_file(file_of(tmp_path, columns)), Roles("y"))
    assert dataset.features.names == ("x",)


def test_what_the_user_keeps_stays_in(tmp_path):
    columns = {"who": [f"person {i}" for i in range(N)], "id": np.arange(N)}
    dataset = dataset_of(tmp_path, columns, Roles("y", keep=("who", "id")))
    assert dataset.features.names == ("x", "who", "id")


def test_a_column_that_numbers_the_rows_is_left_out(tmp_path):
    dataset = dataset_of(tmp_path, {"": np.arange(7, N + 7), "z": RNG.permutation(N)})
    assert dataset.features.names == ("x", "z")
    assert "number the rows" in note_about(dataset, "column 3")


def test_an_empty_column_is_left_out(tmp_path):
    dataset = dataset_of(tmp_path, {"nothing": [None] * N})
    assert dataset.features.names == ("x",)
    assert "'nothing'" in note_about(dataset, "no values")


def test_a_few_words_among_numbers_count_as_missing(tmp_path):
    cells = [str(i * i) for i in range(N)]
    cells[3] = "unknown"
    dataset = dataset_of(tmp_path, {"z": cells})
    assert np.isnan(dataset.features.X[3, 1])
    assert "1 other value" in note_about(dataset, "unknown")


def test_many_words_among_numbers_make_categories(tmp_path):
    dataset = dataset_of(tmp_path, {"z": ["1", "low", "2"] * 20})
    assert dataset.features.X["z"].dtype.categories.to_list() == ["1", "2", "low"]


@pytest.mark.parametrize(
    ("write", "fact"),
    [
        (lambda v: f"{v:,.2f}", "1,234.5"),
        (lambda v: f"{v:,.2f}".replace(",", " "), "1,234.5"),
        (lambda v: f"{v:,.2f}".replace(",", "'"), "1,234.5"),
        (lambda v: f"{v:.2f}".replace(".", ","), "1.234,5"),
        (lambda v: f"{v:_.2f}".replace(".", ",").replace("_", "."), "1.234,5"),
        (lambda v: f"${v:,.2f}".replace("$-", "-$"), "'$'"),
        (lambda v: f"({-v:,.2f})" if v < 0 else f"{v:,.2f}", "1,234.5"),
        (lambda v: f"{v:.2f} %", "'%'"),
        (lambda v: f"{v:.2f}kg", "'kg'"),
        (lambda v: f"{v:_.2f} €".replace(".", ",").replace("_", "."), "'€'"),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_numbers_in_other_forms_are_read_and_that_is_said(tmp_path, write, fact, name):
    values = np.linspace(-40_000, 3_000_000, N).round(2)
    dataset = dataset_of(tmp_path, {"price": [write(v) for v in values]}, name=name)
    np.testing.assert_allclose(dataset.features.X[:, 1], values)
    assert fact in note_about(dataset, "'price'")


def test_a_few_large_numbers_with_thousands_separators_are_not_lost(tmp_path):
    cells = [str(17 * i) for i in range(N - 1)] + ["1,234,567"]
    dataset = dataset_of(tmp_path, {"z": cells})
    assert dataset.features.X[-1, 1] == 1_234_567


@pytest.mark.parametrize("delimiter", ["\t", ";"])
def test_thousands_separators_are_not_taken_for_decimal_signs(tmp_path, delimiter):
    file = tmp_path / "t.csv"
    rows = [("a", "b", "y"), *((f"{400 * i:,}", i * i, i % 2) for i in range(1, 40))]
    file.write_text("".join(delimiter.join(map(str, row)) + "\n" for row in rows))
    dataset = make_dataset(read_file(file), Roles("y"))
    np.testing.assert_array_equal(dataset.features.X[:, 0], 400.0 * np.arange(1, 40))


def test_points_between_thousands_in_a_file_with_decimal_commas(tmp_path):
    file = tmp_path / "t.csv"
    rows = [("a", "b", "y"), *((f"{400 * i:,}".replace(",", "."), "0,5", i) for i in range(1, 40))]
    file.write_text("".join(";".join(map(str, row)) + "\n" for row in rows))
    dataset = make_dataset(read_file(file), Roles("y"))
    np.testing.assert_array_equal(dataset.features.X[:, 0], 400.0 * np.arange(1, 40))


@pytest.mark.parametrize("word", ["x", "n/a", "-", "<0.1"])
def test_a_third_of_words_among_numbers_counts_as_missing(tmp_path, word):
    cells = [word if i % 3 == 0 else str(i * i) for i in range(N)]
    dataset = dataset_of(tmp_path, {"z": cells})
    z = dataset.features.X[:, 1]
    assert np.isnan(z[::3]).all()
    assert z[1] == 1
    assert not np.isnan(z).all()
    if word != "n/a":  # which is always a missing value
        assert f"{len(cells[::3])} other values" in note_about(dataset, repr(word))


def test_numbers_of_several_units_are_refused_not_left_out(tmp_path):
    cells = [f"{i} kg" if i % 2 else f"{1000 * i} g" for i in range(N)]
    with pytest.raises(InputError, match=r"'weight'.*--drop.*--keep"):
        dataset_of(tmp_path, {"weight": cells})
    dropped = dataset_of(tmp_path, {"weight": cells}, Roles("y", drop=("weight",)))
    assert dropped.features.names == ("x",)
    kept = dataset_of(tmp_path, {"weight": cells}, Roles("y", keep=("weight",)))
    assert kept.features.names == ("x", "weight")


def test_a_target_of_numbers_in_another_form(tmp_path):
    values = np.arange(N) * 1000.0
    dataset = dataset_of(tmp_path, {"price": [f"${v:,.0f}" for v in values]}, Roles("price"))
    np.testing.assert_array_equal(dataset.y, values)
    assert "'$'" in note_about(dataset, "'price' holds numbers with")


def test_dates_are_no_target(tmp_path):
    days = [f"2020-01-{1 + i % 28:02d}" for i in range(N)]
    with pytest.raises(InputError, match=r"dates.*'2020-01-\d\d'.*'day'"):
        dataset_of(tmp_path, {"day": days}, Roles("day"))


def test_infinite_cells_count_as_missing(tmp_path):
    cells = [str(i * i) for i in range(N)]
    cells[0] = "inf"
    dataset = dataset_of(tmp_path, {"z": cells})
    assert np.isnan(dataset.features.X[0, 1])
    assert "1 cells" in note_about(dataset, "Infinite")


def test_more_values_than_categories_can_be(tmp_path):
    n = 2000
    values = [f"v{i}" for i in range(300)]
    columns = {
        "y": np.arange(n) % 2,
        "x": RNG.normal(size=n),
        "c": [values[i % 300] for i in range(n)],
    }
    dataset = make_dataset(read_file(file_of(tmp_path, columns)), Roles("y"))
    assert len(dataset.features.X["c"].dtype.categories) == 255
    assert "300 different texts" in note_about(dataset, "most frequent")


# ---- the target and other columns with a use of their own -------------------------------------


@pytest.mark.parametrize(
    ("values", "target_type"),
    [
        (["a", "b"] * 30, "classification"),
        ([0, 1] * 30, "classification"),
        ([1, 2, 3] * 20, "classification"),
        (list(range(60)), "regression"),
        ([0.5, 1.5] * 30, "regression"),
        ([True, False] * 30, "classification"),
    ],
)
def test_the_type_of_target_is_guessed_and_said(tmp_path, values, target_type):
    dataset = dataset_of(tmp_path, {"y": values})
    assert dataset.target_type == target_type
    assert "--target-type" in note_about(dataset, f"Target type: {target_type}")


def test_the_task_can_be_overruled(tmp_path):
    dataset = dataset_of(tmp_path, {"y": [1, 2, 3] * 20}, target_type="regression")
    assert dataset.target_type == "regression"
    assert not any("Target type:" in note for note in dataset.notes)


def test_rows_without_a_target_are_left_out(tmp_path):
    dataset = dataset_of(tmp_path, {"y": [None, *[0, 1] * 29, 0]})
    assert len(dataset.y) == dataset.features.X.shape[0] == N - 1
    assert dataset.rows[0] == 1
    assert "1 of 60" in note_about(dataset, "no target")


WRONG_TARGETS = [
    ("yy", {}, "Did you mean 'y'"),
    ("one", {"one": [1] * N}, "at least two values"),
    ("id", {"id": [f"p{i}" for i in range(N)]}, "60 different texts"),
    ("gap", {"gap": [None] * N}, "must have values"),
    ("mixed", {"mixed": [*map(str, range(N - 1)), "oops"]}, "oops"),
]


@pytest.mark.parametrize(("target", "columns", "reason"), WRONG_TARGETS)
def test_a_target_that_cannot_be_one(tmp_path, target, columns, reason):
    with pytest.raises(InputError, match=reason):
        dataset_of(tmp_path, columns, Roles(target))


def test_no_target_at_all(tmp_path):
    with pytest.raises(InputError, match="--target"):
        dataset_of(tmp_path, {}, Roles())


def test_no_feature_is_left(tmp_path):
    with pytest.raises(InputError, match="at least one feature"):
        dataset_of(tmp_path, {}, Roles("y", drop=("x",)))


def test_weights_times_and_groups_are_no_features(tmp_path):
    columns = {"w": np.ones(N), "t": RNG.permutation(N), "g": RNG.choice(["p", "q"], N)}
    dataset = dataset_of(tmp_path, columns, Roles("y", weight="w", time="t", group="g"))
    assert dataset.features.names == ("x",)
    assert (np.diff(dataset.time) > 0).all()
    np.testing.assert_array_equal(columns["t"][dataset.rows], np.arange(N))
    np.testing.assert_array_equal(dataset.group, columns["g"][dataset.rows])


@pytest.mark.parametrize("weights", [[-1.0] * N, [None, *[1.0] * (N - 1)], ["a"] * N])
def test_weights_that_are_none(tmp_path, weights):
    with pytest.raises(InputError, match="Weights"):
        dataset_of(tmp_path, {"w": weights}, Roles("y", weight="w"))


def test_times_that_are_none(tmp_path):
    with pytest.raises(InputError, match="Times"):
        dataset_of(tmp_path, {"t": ["soon", "later"] * 30}, Roles("y", time="t"))


def test_keeping_the_target_is_a_contradiction(tmp_path):
    with pytest.raises(InputError, match="keep"):
        dataset_of(tmp_path, {}, Roles("y", keep=("y",)))


# ---- further rows -----------------------------------------------------------------------------


def test_further_rows_are_read_as_the_first_were(tmp_path):
    columns = {"c": ["red", "blue", "red"] * 20, "when": ["2024-01-02"] * 59 + ["2024-02-01"]}
    dataset = dataset_of(tmp_path, columns)
    further = {"when": ["2024-01-03"], "c": ["green"], "x": [1.0], "y": ["no"], "more": [1]}
    test = read_test(file_of(tmp_path, further, "u.csv"), dataset, ReadOptions())
    assert test.X.columns == ["x", "c", "when"]
    assert test.X["c"].to_list() == [None]
    assert test.X["when"].to_list() == [19725.0]
    assert test.X["c"].dtype == dataset.features.X["c"].dtype


def test_further_rows_without_a_column(tmp_path):
    dataset = dataset_of(tmp_path, {"z": RNG.normal(size=N)})
    with pytest.raises(InputError, match="none named 'z'"):
        read_test(file_of(tmp_path, {"x": [1.0], "y": ["no"]}, "u.csv"), dataset, ReadOptions())


def test_a_narrower_sparse_file_is_widened(tmp_path):
    (tmp_path / "a.libsvm").write_text("1 1:1 5:2\n2 3:1\n1 2:1\n2 5:1\n" * 5)
    (tmp_path / "b.libsvm").write_text("1 1:1\n")
    dataset = make_dataset(read_file(tmp_path / "a.libsvm"), Roles())
    assert read_test(tmp_path / "b.libsvm", dataset, ReadOptions()).X.shape == (1, 5)
