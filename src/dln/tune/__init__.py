"""Search for better parameters, on this machine or on a Ray cluster: ``pip install 'dln[tune]'`` or ``'dln[ray]'``."""

from dln.tune._context import Context, Space
from dln.tune._paper_space import paper_space
from dln.tune._search import search
from dln.tune._search_cv import DLNSearchCV
from dln.tune._space import default_space
from dln.tune._storage import StudyError
from dln.tune._study import Study, TrialRecord

__all__ = [
    "Context",
    "DLNSearchCV",
    "Space",
    "Study",
    "StudyError",
    "TrialRecord",
    "default_space",
    "paper_space",
    "search",
]
