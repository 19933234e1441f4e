"""How the documentation is built: ``./dev docs``. Every page is Markdown and reads without it."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import secateur

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "secateur"
author = "the secateur developers"
version = release = secateur.__version__
project_copyright = author

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "changes",
    "examples",
    "links",
    "mathml",
    "members",
]
exclude_patterns = ["_build", "_examples", "_ext", "_templates"]
templates_path = ["_templates"]
default_role = "code"
html_math_renderer = "mathml"
pygments_style = "default"

# ---- links to other sites: `./dev links`; the rest is checked at the end of each build -----------
linkcheck_ignore = [r"https://example\.org/", r"http://localhost"]
linkcheck_timeout = 15

# ---- Markdown: the links and formulas of the pages mean here what they mean on the web ---------
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

# ---- the reference: one page for each public name ----------------------------------------------
autosummary_generate = True
autosummary_ignore_module_all = False
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # docstrings give the types
numpydoc_show_class_members = False  # the template of a class lists what is ours
numpydoc_xref_param_type = False

# ---- the gallery --------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(__init__|first_selection)\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 3600,  # seconds of one machine say little
    "abort_on_example_error": False,
    "only_warn_on_example_error": True,
}
# Figures are drawn without a window, of which matplotlib warns at every show.
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

# ---- the look -----------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "secateur"
html_static_path = ["_static"]
html_css_files = ["secateur.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "secateur"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_context = {"default_mode": "auto"}  # light or dark, as the browser asks
html_sidebars = {
    page: []
    for page in ("index", "tutorial", "api", "changelog", "extending", "glossary", "faq", "errors")
}
