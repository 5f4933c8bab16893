"""Sphinx's settings for the site. Its sources are written by `python -m course.site`; no notebook is run."""

import importlib.util
from html import escape
from pathlib import Path
from textwrap import shorten

from docutils import nodes
from markupsafe import Markup

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
exclude_patterns = ["downloads"]  # notebooks as files, beside their pages
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header"]

html_theme = "furo"
html_title = project
html_favicon = "_static/icon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["access.js", "filter.js", "front.js", "moving.js", "questions.js"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00507d", "color-brand-content": "#00507d"},
    "dark_css_variables": {"color-brand-primary": "#7cc4f0", "color-brand-content": "#7cc4f0"},
}
address, served = ((Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("address", "served"))
html_context = {"address": address}
templates_path = ["_templates"]
parts = ("brand", "search", "ways", "scroll-start", "navigation", "scroll-end")  # ways: of this site
html_sidebars = {"**": [f"sidebar/{part}.html" for part in parts]}

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


def _described(app, pagename, templatename, context, doctree):
    """What a search engine and a preview of a link show of a page: its title and its first sentences."""
    paragraphs = doctree.findall(nodes.paragraph) if doctree else ()
    texts = (" ".join(each.astext().split()) for each in paragraphs)
    about = shorten(next((text for text in texts if len(text) > 60), project), 180, placeholder=" …")
    said = {
        "og:site_name": project,
        "og:type": "article",
        "og:title": context.get("title", project),
        "og:description": about,
    }
    if served:  # previews need whole addresses
        said |= {
            "og:url": f"{served}/{pagename}.html",
            "og:image": f"{served}/_static/preview.png",
            "og:image:alt": "A lesson as a page: code, its output, and a picture that a slider moves",
            "twitter:card": "summary_large_image",
        }
    tags = [f'<meta name="description" content="{escape(about)}">']
    tags += [f'<meta property="{name}" content="{escape(Markup(text).striptags())}">' for name, text in said.items()]
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)


def setup(app):
    """Called by Sphinx."""
    app.connect("html-page-context", _described)
    app.connect("html-page-context", _own_branch, priority=100)
    app.connect("build-finished", _copy_mathjax)
