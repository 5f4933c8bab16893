"""Sphinx's settings for the site. Its sources are written by `python -m course.site`; no notebook is run."""

import importlib.util
from pathlib import Path

project = "Build PyTorch again"
author = copyright = "the minitorch course authors"
extensions = ["myst_nb", "sphinx.ext.mathjax", "sphinx_copybutton", "sphinx_design"]
language = "en"
highlight_language = "none"

nb_execution_mode = "off"
nb_code_prompt_show = nb_code_prompt_hide = "Code"
toc_object_entries_show_parents = "hide"
myst_enable_extensions = ["amsmath", "attrs_block", "colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
add_module_names = False
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header"]

html_theme = "furo"
html_title = project
html_favicon = "_static/icon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["access.js", "front.js", "moving.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00507d", "color-brand-content": "#00507d"},
    "dark_css_variables": {"color-brand-primary": "#7cc4f0", "color-brand-content": "#7cc4f0"},
}
html_sidebars = {
    "**": [f"sidebar/{part}.html" for part in ("brand", "search", "scroll-start", "navigation", "scroll-end")]
}

# MathJax from a package, not from another host: the one file that is loaded, and its fonts.
mathjax_path = "mathjax/tex-chtml.js"
mathjax3_config = {"options": {"enableMenu": False}}


def _copy_mathjax(app, error):
    from sphinx.util.fileutil import copy_asset

    package = importlib.util.find_spec("sphinx-mathjax-offline")
    source, target = Path(package.origin).parent / "static" / "mathjax", Path(app.outdir) / "_static" / "mathjax"
    for name in ("tex-chtml.js", "output/chtml/fonts/woff-v2"):
        copy_asset(str(source / name), str((target / name).parent if name.endswith(".js") else target / name))


def _own_branch(app, pagename, templatename, context, doctree):
    """The list at the side opens the reader's branch alone: with all of them, pages are large and slow to make."""
    if whole := context.get("toctree"):
        context["toctree"] = lambda **options: whole(**{**options, "collapse": True})


def setup(app):
    """Called by Sphinx."""
    app.connect("html-page-context", _own_branch, priority=100)
    app.connect("build-finished", _copy_mathjax)
