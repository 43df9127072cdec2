"""A conformance run as a badge: a small SVG for the page of a project."""

from __future__ import annotations

from html import escape

from cerify.conformance.model import Report
from cerify.conformance.words import plural
from cerify.terminal import printable

CHARACTER, PADDING, HEIGHT = 6.6, 8, 20
GREEN, AMBER, RED = "#2b7a3d", "#8a6100", "#a8323a"


def badge(report: Report) -> str:
    """The SVG: the share of the claimed cases that passed, the number of defects, and whether choices are declared."""
    share = 100 * report.totals["passed"] // max(1, report.claimed)
    defects = f", {plural(len(report.defects), 'defect')}" if report.defects else ""
    value = f"{share} % of {report.claimed:,}{defects}{', by its profile' if report.held_to else ''}"
    colour = GREEN if report.conforms else AMBER if share >= 90 else RED
    left, right = (len(text) * CHARACTER + 2 * PADDING for text in ("CER semantics", value))
    name = printable(f"{report.engine} {report.version}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:g}" height="{HEIGHT}" role="img" '
        f'aria-label="CER semantics: {escape(value)}"><title>{escape(name)}</title>'
        f'<rect width="{left:g}" height="{HEIGHT}" fill="#444"/>'
        f'<rect x="{left:g}" width="{right:g}" height="{HEIGHT}" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana, sans-serif" font-size="11">'
        f'<text x="{PADDING}" y="14">CER semantics</text><text x="{left + PADDING:g}" y="14">{escape(value)}</text>'
        "</g></svg>\n"
    )
