"""``dln plot``: a picture of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from dln.cli import _options
from dln.cli._mistakes import Mistake

#: What a picture's name may end in.
ENDINGS: Final = (".svg", ".png", ".pdf")


def plot(
    model: _options.Model,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Ends in .svg, .png or .pdf.")],
    *,
    max_rules: Annotated[int, typer.Option(min=1, help="Rules to draw, those that move the prediction most.")] = 20,
    force: _options.Force = False,
    quiet: _options.Quiet = False,
) -> None:
    """Draw a model: inputs with their cut-offs, gates, and weights on the way to the sum."""
    from dln.cli._model import open_model
    from dln.cli._output import check_output, whole_or_nothing

    if not output.lower().endswith(ENDINGS):
        message = f"a picture's name must end in .svg, .png or .pdf, got {output!r}"
        raise Mistake(message)
    check_output(output, force=force)
    fitted = open_model(model)

    from dln.cli._terminal import console
    from dln.readers._draw import draw

    rules = fitted.rules_
    picture = draw(fitted.circuit_, max_rules=max_rules, order=[row.index for row in rules], target=rules.target)
    with whole_or_nothing(output) as part:
        picture.save(part)
    if not quiet:
        drawn = min(max_rules, len(rules))
        console(stderr=True).print(f"{drawn} of {len(rules)} rules drawn in {Path(output)}.", soft_wrap=True)
