"""HTML that shows calls to people: in a report, on a page of the server, and in a notebook."""

from converse_harness.features.report.view.call import call_html, fake_html, overview_html
from converse_harness.features.report.view.html import Html, element, joined
from converse_harness.features.report.view.page import PageSection, document, notebook_html, policy
from converse_harness.features.report.view.view import CallView, RefusedBy, plain

__all__ = (
    "CallView",
    "Html",
    "PageSection",
    "RefusedBy",
    "call_html",
    "document",
    "element",
    "fake_html",
    "joined",
    "notebook_html",
    "overview_html",
    "plain",
    "policy",
)
