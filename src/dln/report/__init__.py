"""The report: a model, its scores and its reasons in one HTML file that needs nothing else.

`_collect` computes a frozen `ReportData` from a model and rows, `_render` turns it into HTML by templates.
"""

from dln.report._card import model_card
from dln.report._reportable import ReportableModel, explanation_html, rules_html, write_report

__all__ = ["ReportableModel", "explanation_html", "model_card", "rules_html", "write_report"]
