"""What the pages in Markdown need besides MyST: anchors, a picture in its place, words for the search."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import download_reference
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from docs._site.pictures import PICTURES

_ANCHOR = re.compile(r'<a id="([^"]+)">')
_DIAGRAM = re.compile(r"^```mermaid\n.*?^```$", re.MULTILINE | re.DOTALL)
_GRAMMAR = "```{picture} grammar\n```"
_SUBPAGES = "matrix/"


class Picture(SphinxDirective):
    """A picture by its name: `.. picture:: grammar`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The picture as raw HTML."""
        if self.arguments[0] not in PICTURES:
            raise self.error(f"There is no picture {self.arguments[0]!r}; there are {', '.join(PICTURES)}.")
        return [nodes.raw("", PICTURES[self.arguments[0]](), format="html")]


def draw(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the picture in the place of the Mermaid diagram of the same table, which GitHub draws by itself."""
    source[0] = _DIAGRAM.sub(_GRAMMAR, source[0])


def anchor(app: Sphinx, document: nodes.document) -> None:
    """Let links lead to the `<a id="...">` of a page, as they do on GitHub. Subpages need no place in the contents."""
    if app.env.docname.startswith(_SUBPAGES):
        app.env.metadata[app.env.docname]["orphan"] = True
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for raw in document.findall(nodes.raw):
        for name in _ANCHOR.findall(raw.astext()):
            slugs.setdefault(name, (raw.line or 0, name, name))


def open_pages(app: Sphinx, document: nodes.document) -> None:
    """Let a link to a whole page of HTML (`html_extra_path`) open the page; MyST makes it a file to download."""
    for link in list(document.findall(download_reference)):
        if link["reftarget"] in app.config.html_extra_path:
            link.replace_self(nodes.reference("", "", *link.children, refuri=link["reftarget"], internal=True))


def add_words(app: Sphinx, document: nodes.document) -> None:
    """Make the words of words.toml the keywords of their page."""
    words = app.config.words.get(app.env.docname)
    if words:
        keywords = {"name": "keywords", "lang": "en", "content": ", ".join(words.split())}
        document.append(nodes.meta("", **keywords))


def check_words(app: Sphinx, env: BuildEnvironment) -> None:
    """Refuse words of a page that is not there."""
    if unknown := app.config.words.keys() - env.found_docs:
        raise ExtensionError(f"words.toml has words for pages that do not exist: {', '.join(sorted(unknown))}")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive, and connect the others."""
    app.add_directive("picture", Picture)
    app.connect("source-read", draw)
    app.connect("doctree-read", open_pages, priority=400)  # before Sphinx copies the files of downloads
    app.connect("doctree-read", anchor)
    app.connect("doctree-read", add_words)
    app.connect("env-check-consistency", check_words)
    app.add_config_value("words", tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8")), "env")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
