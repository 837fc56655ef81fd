"""Significance is tested where there is enough to test, and a sentence says where there is not."""

from bench_results import as_in_the_paper, built, text, unit, whole
from dln_bench._names import DATASETS, MODELS


def test_few_datasets_are_said_to_be_too_few():
    """With fewer than five datasets in common the page says so instead of testing."""
    results = [one for one in as_in_the_paper(("linear", "dln")) if one.dataset in DATASETS[:4]]
    assert "4 datasets in common are too few for a significance test" in built(results)


def test_autorank_is_asked_and_quoted():
    """With enough datasets autorank's own account stands in the page, with a critical difference."""
    page = whole()
    populations = f"conducted for {len(MODELS)} populations with 15 paired samples."
    assert f"The statistical analysis was {populations}" in text(page)
    assert "critical-difference" in {figure.name for figure in page.figures()}


def test_two_models_are_tested_as_a_pair():
    """Two models have a test, but no critical difference, and the page says so."""
    assert "known for three models and more" in built(as_in_the_paper(("linear", "dln")))


def test_equal_models_are_not_tested():
    """Models with the same R² everywhere get a sentence."""
    results = [unit(name, model, r2=0.5) for name in DATASETS for model in ("linear", "ridge", "lasso")]
    assert "the same R² on every dataset: there is nothing to test" in built(results)


def test_a_failing_autorank_is_told(monkeypatch):
    """Whatever autorank stumbles over is a sentence in the page, and the rest is there."""
    import autorank

    def fail(*_args, **_options):
        message = "no luck"
        raise RuntimeError(message)

    monkeypatch.setattr(autorank, "autorank", fail)
    page = built(as_in_the_paper(("linear", "forest", "dln")))
    assert "Autorank could not test these results: RuntimeError: no luck." in page
    assert "R², 16 trials" in page
