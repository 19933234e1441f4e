"""The page in a real browser, opened from a file with the network off."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from report.examples import HOSTILE, make_comparison, make_evidence, make_path

from secateur.path import SelectionPath, Step, StopReason
from secateur.path.step import QUERY_QUANTILES
from secateur.report import Entry, write_page

OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WATCH_SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shifted += entry.value;
}).observe({type: "layout-shift", buffered: true});
"""


def find_browser():
    named = os.environ.get("SECATEUR_BROWSER")
    names = [named] if named else ["chromium", "chromium-browser", "google-chrome", "chrome"]
    return next((found for name in names if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser():
    """Debian's chromium, driven by playwright; its own browsers are not needed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    file = find_browser()
    if file is None:
        pytest.skip("no chromium here: install it, or name a browser in SECATEUR_BROWSER")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=file, args=OPTIONS)
        yield running
        running.close()


@pytest.fixture
def opened(browser):
    """Give a function that opens a file and collects what goes wrong and what is asked for."""
    contexts = []

    def open_file(file, width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        context.set_offline(True)
        page = context.new_page()
        page.set_default_timeout(60_000)  # a busy machine is no error
        page.wrong, page.asked = [], []
        page.on("console", lambda message: page.wrong.append(message.text))
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.add_init_script(WATCH_SHIFTS)
        page.goto(Path(file).as_uri())
        page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length > 0")
        return page

    yield open_file
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """A page with all that a single path can have; one name is hostile."""
    names = ["f0", "f1", HOSTILE, "f3", "f4", "f5"]
    path = make_path(names=names, costs=[2.0, 5.0, 9.0, 10.0], unit="ms")
    evidence = make_evidence(
        path, costs=[1, 4, 3, 2, 7, 7], feature_groups={"lab": [0, 1]}, grid_shape=(2, 3)
    )
    file = tmp_path_factory.mktemp("page") / "one.html"
    return write_page(file, [Entry("demo", path, None, evidence)], about={"command": "secateur"})


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """A path that takes a column and then its copy."""
    steps = [
        Step.of(order, score=step.score)
        for order, step in zip(([0], [0, 5]), make_path(), strict=False)
    ]
    names = [f"f{feature}" for feature in range(6)]
    path = SelectionPath(steps, StopReason.FINISHED, names, "demo")
    evidence = make_evidence(path, fold_paths=())
    file = tmp_path_factory.mktemp("page") / "twins.html"
    return write_page(file, [Entry("twins", path, path.cut(1), evidence)])


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Two paths, one of several tasks, and a comparison."""
    supports = [{"red": [0], "blue": []}, {"red": [0], "blue": [0, 1]}]
    steps = [
        Step.of(range(size), supports=each, score=step.score)
        for size, each, step in zip((1, 2), supports, make_path(), strict=False)
    ]
    tasks = SelectionPath(steps, StopReason.PATIENCE, ["f0", "f1", "f2"], "demo")
    file = tmp_path_factory.mktemp("page") / "many.html"
    entries = [Entry("first", make_path()), Entry("tasks", tasks)]
    return write_page(file, entries, comparison=make_comparison())


def names_shown(page, entry=0):
    return page.eval_on_selector_all(
        f"#e{entry}-features tbody tr:not([hidden]) th", "nodes => nodes.map(n => n.textContent)"
    )


def ring(page, key="size"):
    return page.evaluate(
        f"(({{x, y}}) => [x[0], y[0]])(document.getElementById('e0-{key}').data[1])"
    )


def hover(page, place, trace, point):
    """Move the mouse onto a point of a figure, and return what is shown there."""
    x, y = page.evaluate(
        """([place, trace, point]) => {
          const plot = document.getElementById(place);
          plot.scrollIntoView({block: "center", behavior: "instant"});
          const {xaxis, yaxis} = plot._fullLayout;
          const box = plot.getBoundingClientRect();
          const at = (axis, value) => axis._offset + axis.d2p(value);
          const {x, y} = plot.data[trace];
          return [box.left + at(xaxis, x[point]), box.top + at(yaxis, y[point])];
        }""",
        [place, trace, point],
    )
    page.mouse.move(x - 4, y)
    page.mouse.move(x, y, steps=3)  # a single jump may fall between two frames
    shown = page.locator(f"#{place} .hoverlayer .hovertext")
    shown.first.wait_for()
    return x, y, " ".join(shown.all_text_contents())


@pytest.mark.parametrize("file", ["one", "many"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_opens_without_a_network_an_error_or_a_shift(opened, request, file, width):
    file = request.getfixturevalue(file)
    page = opened(file, width=width)
    page.wait_for_timeout(200)
    assert page.wrong == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("window.shifted") < 0.01  # a tenth of what counts as a good page
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_hovering_shows_values(opened, one):
    page = opened(one)
    _, _, shown = hover(page, "e0-size", 0, 1)
    assert "2 features" in shown
    assert "0.4000 ± 0.0100" in shown
    assert "cost 5 ms" in shown
    _, _, shown = hover(page, "e0-cost", 0, 3)
    assert "4 features" in shown


def test_the_table_sorts(opened, one):
    page = opened(one)
    assert names_shown(page) == [HOSTILE, "f1", "f0"]  # by gain
    page.click("#e0-features button[data-sort=cost]")
    assert names_shown(page) == ["f1", HOSTILE, "f0"]
    assert page.get_attribute("#e0-features th.cost", "aria-sort") == "descending"
    page.click("#e0-features button[data-sort=cost]")
    assert names_shown(page) == ["f0", HOSTILE, "f1"]
    page.click("#e0-features button[data-sort=place]")
    assert names_shown(page) == [HOSTILE, "f1", "f0"]
    page.click("#e0-features button[data-sort=name]")
    assert names_shown(page) == [HOSTILE, "f0", "f1"]
    page.click("#e0-features button[data-sort=frequency]")
    assert names_shown(page)[0] == "f0"


def test_unstable_features_are_marked_and_the_sentence_follows_the_cut(opened, tmp_path):
    path = make_path()
    first = SelectionPath(path.steps[:1], path.stop_reason, path.feature_names, "demo")
    evidence = make_evidence(path, fold_paths=[path, first, first])
    page = opened(write_page(tmp_path / "p.html", [Entry("demo", path, None, evidence)]))
    assert page.inner_text("#e0 .unstable").endswith(": f2, f1.")
    marked = "#e0-features tr.unstable:not([hidden]) th"
    assert page.locator(marked).all_text_contents() == ["f2", "f1"]
    assert page.inner_text("#e0-features tr.unstable td.frequency") == "33 % unstable"
    page.fill("#e0-cut", "0")  # the first feature only, which all folds chose
    assert page.inner_text("#e0 .unstable") == ""
    assert not page.locator("#e0 .unstable").is_visible()
    assert page.locator(marked).count() == 0
    assert page.wrong == []


@pytest.mark.parametrize("width", [390, 1280])
def test_the_name_of_the_level_lies_over_no_curve(opened, tmp_path, width):
    path = make_path([0.5, 0.342, 0.341, 0.3405])  # flat, and near the level
    file = write_page(tmp_path / "p.html", [Entry("d", path, None, make_evidence(path))])
    page = opened(file, width=width)
    words = page.locator("#e0-size .annotation-text").bounding_box()
    whole = page.locator("#e0-size").bounding_box()
    top = whole["y"] + page.evaluate("document.querySelector('#e0-size')._fullLayout._size.t")
    assert whole["y"] <= words["y"]
    assert words["y"] + words["height"] <= top + 1
    assert whole["x"] <= words["x"]
    assert words["x"] + words["width"] <= whole["x"] + whole["width"]


def test_the_substitute_of_an_unstable_feature_is_shown_beside_it(opened, tmp_path):
    path = make_path()
    steps = [Step.of([5 if j == 0 else j for j in step.order.tolist()]) for step in path]
    other = SelectionPath(steps, path.stop_reason, path.feature_names, "demo")
    evidence = make_evidence(path, fold_paths=[path, other, other])
    page = opened(write_page(tmp_path / "p.html", [Entry("demo", path, None, evidence)]))
    cell = page.inner_text("#e0-features tr.unstable td.frequency")
    assert cell.split("\n") == ["33 % unstable", "instead: f5 in 2 folds"]
    assert page.wrong == []


def test_the_table_filters_by_name_and_group(opened, one):
    page = opened(one)
    page.fill("#e0 .filter", "lab")
    assert names_shown(page) == ["f1", "f0"]
    page.fill("#e0 .filter", "<SCRIPT>")
    assert names_shown(page) == [HOSTILE]
    assert page.inner_text("#e0 .count") == "1 shown"
    page.fill("#e0 .filter", "nothing")
    assert names_shown(page) == []
    page.fill("#e0 .filter", "")
    page.check("#e0 input.all")
    assert set(names_shown(page)) == {HOSTILE, "f0", "f1", "f3"}


def test_choosing_another_cut_changes_sentence_table_and_marks(opened, one):
    page = opened(one)
    assert ring(page) == [3, 0.35]
    before = page.inner_text("#e0 .answer")
    page.click("#e0 .rules button:has-text('Best score')")
    assert ring(page) == [4, 0.345]
    assert ring(page, "cost") == [10, 0.345]
    assert page.inner_text("#e0 .answer").startswith("4 of 6 features for 10 ms instead of 20")
    assert page.inner_text("#e0 .answer") != before
    assert "best held-out log_loss" in page.inner_text("#e0 .reason")
    assert set(names_shown(page)) == {HOSTILE, "f0", "f1", "f3"}
    assert page.inner_text("#e0 .cut output") == "4 features"
    pressed = page.locator("#e0 .rules button[aria-pressed=true]").all_inner_texts()
    assert pressed == ["Best score"]
    assert page.locator("#e0-map rect").count() == 4
    first = "document.querySelector('#e0-map canvas').getContext('2d').getImageData(0, 0, 3, 2)"
    assert len(set(page.evaluate(f"[...{first}.data]"))) > 3  # greys, not one colour
    assert page.locator("#e0-association tbody tr").count() == 4


def test_a_click_on_a_point_cuts_there(opened, one):
    page = opened(one)
    x, y, _ = hover(page, "e0-size", 0, 0)
    page.mouse.click(x, y)
    assert ring(page) == [1, 0.5]
    assert names_shown(page) == ["f0"]
    # its copy was left out: 0.995, rounded
    assert page.inner_text("#e0-features tbody tr:not([hidden]) td.substitute") == "f5 1.00"


def test_selected_features_are_not_listed_as_correlated(opened, twins):
    page = opened(twins)
    cell = "#e0-features tbody tr:not([hidden]) td.substitute"
    assert page.locator(cell).all_inner_texts() == ["f5 1.00"]
    page.click("#e0 .rules button:has-text('Best score')")
    assert names_shown(page) == ["f0", "f5"]
    assert page.locator(cell).all_inner_texts() == ["", ""]
    assert page.inner_text("#e0 .pairs").endswith("f0 and f5: 1.00.")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_distribution_over_queries_is_drawn_and_follows_the_cut(opened, tmp_path, width):
    path, below = make_path(), dict.fromkeys(QUERY_QUANTILES, 0.2)
    steps = [
        replace(
            step, details={**below, "query_quantile_50": 0.5 + 0.1 * at, "query_quantile_75": 1.0}
        )
        for at, step in enumerate(path)
    ]
    path = replace(path, steps=tuple(steps))
    page = opened(write_page(tmp_path / "p.html", [Entry("rank", path, None)]), width=width)
    figure = page.locator("#e0-queries")
    assert figure.is_visible()
    assert figure.bounding_box()["x"] + figure.bounding_box()["width"] <= width
    assert page.text_content("#e0-queries .ytitle").endswith("of a test query")
    assert "median of the test queries" in page.inner_text("#e0")
    for at in (0, 2):
        page.fill("#e0-cut", str(at))
        assert ring(page, "queries") == [at + 1, pytest.approx(0.5 + 0.1 * at)]
    assert page.wrong == []


def test_it_works_by_keyboard(opened, one):
    page = opened(one)
    page.focus("#e0-cut")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#e0 .cut output") == "2 features"
    assert page.get_attribute("#e0-cut", "aria-valuetext") == "2 features"
    assert ring(page) == [2, 0.4]
    page.keyboard.press("Home")
    assert page.inner_text("#e0 .answer").startswith("1 of 6 features")
    page.focus("#e0-features button[data-sort=name]")
    page.keyboard.press("Enter")
    assert page.get_attribute("#e0-features th.name", "aria-sort") == "ascending"


def test_markup_in_names_is_text(opened, one):
    page = opened(one)
    assert HOSTILE in names_shown(page)
    assert page.locator("table b, table script").count() == 0
    _, _, shown = hover(page, "e0-size", 0, 2)
    assert "<script>alert" in shown


def test_endless_names_do_not_widen_the_page(opened, tmp_path):
    names = ["x" * 5000, "new\nline", "\u202eback", "", "many words " * 60, "\x00nul"]
    path = make_path(names=names, costs=[1.0, 3.0, 5.0, 9.0])
    evidence = make_evidence(path, costs=[1, 2, 2, 4, 1, 1], feature_groups={"g" * 300: [0, 1]})
    entry = Entry("t" * 400, path, None, evidence)
    about = {"title": "T" * 500, "k" * 100: "v" * 1000, "command": "c" * 1000}
    page = opened(write_page(tmp_path / "long.html", [entry], about=about), width=390)
    assert page.wrong == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.fill("#e0 .filter", "x" * 200)
    assert page.inner_text("#e0 .count") == "1 shown"


def test_tasks_are_shown_by_feature(opened, many):
    page = opened(many)
    page.click("#e1 .rules button:has-text('Best score')")
    rows = page.locator("#e1-tasks tbody tr").all_inner_texts()
    assert [re.sub(r"\s+", " ", row).strip() for row in rows] == ["f0 ● ● 2", "f1 ● 1"]
    page.focus("#e1-cut")
    page.keyboard.press("Home")
    assert page.locator("#e1-tasks tbody tr").count() == 1


def test_comparisons_are_shown_and_sort(opened, many):
    page = opened(many)
    methods = "#comparison section:has(h3:text-is('Methods'))"
    first = f"{methods} tbody tr td:first-child"
    assert page.locator(first).all_inner_texts() == ["agbm", "grafting", "random", HOSTILE]
    page.click(f"{methods} button:has-text('Seconds')")
    page.click(f"{methods} button:has-text('Seconds')")
    assert page.locator(first).all_inner_texts() == [HOSTILE, "random", "grafting", "agbm"]
    _, _, shown = hover(page, "c-curves0", 0, 1)
    assert "agbm" in shown
    assert "2 features (at most 2)" in shown
    assert "singular" in page.inner_text("#comparison")


def test_the_dark_is_dark_and_paper_is_white(opened, one):
    page = opened(one, color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 26)"
    colour = "document.querySelector('#e0-size .xtick text').style.fill"
    assert page.evaluate(colour) == "rgb(232, 236, 234)"
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(colour) == "rgb(29, 35, 38)"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(colour) == "rgb(232, 236, 234)"


def test_without_scripts_the_answer_and_the_names_are_there(browser, one):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(Path(one).as_uri())
    assert page.inner_text("#e0 .answer").startswith("3 of 6 features")
    assert "f1, f0" in page.inner_text("#e0 noscript")
    context.close()
