"""Twenty questions of a newcomer: each has a section of the documents that answers it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
# the question; where a newcomer finds the answer; what the answer must say
QUESTIONS = {
    "How do I install it?": ("faq.md#how-do-i-install-it", "pip install secateur"),
    "What do I call first?": ("faq.md#what-do-i-call-first", "AGBMClassifier().fit(X, y)"),
    "Which selector is for my data?": ("guide/which_method.md#by-what-you-have", "**Grafting**"),
    "What is a penalty of 0.01?": (
        "concepts/penalties.md#penalties-and-their-units",
        "one per cent",
    ),
    "May I spend 10 minutes at most?": (
        "guide/budget.md#cut-the-path-at-the-budget",
        "cut=WithinBudget(10)",
    ),
    "A blood test gives ten columns?": (
        "guide/groups.md#my-features-come-in-groups",
        "feature_groups=groups",
    ),
    "I want at most 20 features?": ("faq.md#i-want-exactly-20-features", "max_features=20"),
    "What about missing values?": (
        "faq.md#what-happens-to-missing-values",
        "the mean of the column",
    ),
    "What about categories?": (
        "faq.md#what-about-categories-and-text-columns",
        "categorical_features",
    ),
    "What about sparse matrices?": ("faq.md#can-i-use-sparse-matrices", "not made dense"),
    "Would I get the same features?": (
        "tutorial.md#4-would-the-same-features-be-chosen-again",
        "stability(",
    ),
    "Which score may I report?": (
        "concepts/selection_bias.md#selection-bias-and-nested-cross-validation",
        "held_out(selector, X, y)",
    ),
    "Is it better than what I have?": ("comparing.md#a-comparison", "found = compare("),
    "I come from Boruta?": ("guide/migrate.md#boruta", "**all relevant**"),
    "How does it go into a pipeline?": (
        "guide/pipelines.md#in-a-pipeline-before-a-model-of-your-own",
        "make_pipeline(",
    ),
    "How do I predict without Python?": (
        "other_tools.md#onnx-predict-without-python",
        "to_onnx(selector)",
    ),
    "How do I run it on a cluster?": ("scaling.md#a-cluster", "DaskExecutor(client)"),
    "Why was the first fit slow?": ("faq.md#why-is-the-first-fit-slow", "warm-up"),
    "Why was nothing selected?": ("faq.md#nothing-was-selected", "EmptySelectionWarning"),
    "How do I load an old result?": (
        "faq.md#how-do-i-save-and-load-a-result",
        "SelectionPath.load",
    ),
    "How do I cite it?": ("faq.md#how-do-i-cite-it", "CITATION.cff"),
    "What does this word mean?": ("glossary.md#glossary", "standard error"),
}
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#{1,4}) +(.*)$", re.MULTILINE)


def anchor(heading: str) -> str:
    """The address of a heading, as code hosts and the built pages make it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def sections(text: str) -> dict[str, str]:
    """The text of each section, with those below it, by the anchor of its heading."""
    prose = CODE.sub(lambda block: block[0].replace("\n#", "\n "), text)
    found = list(HEADING.finditer(prose))
    ends = {
        at: next((x.start() for x in found[at + 1 :] if len(x[1]) <= len(each[1])), len(text))
        for at, each in enumerate(found)
    }
    return {anchor(each[2]): text[each.start() : ends[at]] for at, each in enumerate(found)}


def test_there_are_twenty_questions():
    assert len(QUESTIONS) >= 20


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_has_its_answer(question):
    place, answer = QUESTIONS[question]
    page, _, name = place.partition("#")
    assert answer in sections((DOCS / page).read_text(encoding="utf-8"))[name]


def test_sections_of_a_page():
    page = "# A `b` c\none\n## D & e\ntwo\n```sh\n# no heading\n```\n## F\nthree\n"
    found = sections(page)
    assert list(found) == ["a-b-c", "d--e", "f"]
    assert "three" in found["a-b-c"]
    assert "three" not in found["d--e"]
    assert "no heading" in found["d--e"]


@pytest.mark.parametrize(
    "file",
    [
        file
        for file in [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]
        if not {"_build", "auto_examples", "generated"} & set(file.parts)
    ],
    ids=lambda file: file.relative_to(DOCS.parent).as_posix(),
)
def test_links_to_sections_lead_somewhere(file):
    text = file.read_text(encoding="utf-8")
    for target, name in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", text):
        page = file.parent / target if target else file
        if page.suffix == ".md":
            assert name in sections(page.read_text(encoding="utf-8")), f"{target}#{name}"
