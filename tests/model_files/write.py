"""Write the file of the present format, and what its model predicts. Not after a release: see README.md."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from dln._saving import to_saved  # noqa: E402
from dln.readers.model_file import FORMAT, write_model  # noqa: E402
from models import models  # noqa: E402

#: Parameters that every version will have.
PARAMETERS = ("max_conditions", "max_rules", "random_state")


def main() -> None:
    """Write both files."""
    model, table = models()[0]
    saved = to_saved(model)
    saved = replace(saved, parameters={name: saved.parameters[name] for name in PARAMETERS})
    write_model(HERE / f"format-{FORMAT}.dln", saved)
    rows = table.iloc[:20].astype(object).where(table.iloc[:20].notna(), None).to_numpy().tolist()
    rows += [[None, None, "elsewhere", None, 99], [1e9, -1e9, "süd", True, 1]]
    columns = list(table.columns)
    predictions = model.predict(pd.DataFrame(rows, columns=columns)).tolist()
    document = {"columns": columns, "rows": rows, "predictions": predictions}
    text = json.dumps(document, ensure_ascii=False, indent=1, default=lambda value: value.item())
    (HERE / f"format-{FORMAT}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
