"""House prices from a generated table: fit, read the rules, explain a prediction.

Run it: python examples/house_prices.py
"""

import numpy as np
import polars as pl

from dln import RuleRegressor

# Four hundred sales. Numbers, text and truth values are recognised by their types.
rng = np.random.default_rng(0)
n = 400
houses = pl.DataFrame(
    {
        "area": rng.uniform(40, 220, n).round(),
        "district": rng.choice(["centre", "harbour", "hills", "north"], n),
        "heating": rng.choice(["gas", "oil", "heat pump"], n),
        "garage": rng.random(n) < 0.4,
        "built": rng.integers(1890, 2024, n),
    }
)
price = (
    120_000
    + 900 * houses["area"].to_numpy()
    + 80_000 * (houses["district"] == "centre").to_numpy()
    + 60_000 * ((houses["district"] == "harbour") & (houses["built"] > 1990)).to_numpy()
    - 25_000 * ((houses["heating"] == "oil") & (houses["built"] < 1960)).to_numpy()
    + 15_000 * houses["garage"].to_numpy()
    + rng.normal(0, 8_000, n)
).round(-2)

train, test = slice(0, 300), slice(300, None)
model = RuleRegressor(max_conditions=20, random_state=0).fit(houses[train], price[train])
print(f"Test R² on {n - 300} houses: {model.score(houses[test], price[test]):.3f}\n")

# The model is what is printed: an intercept, and the weights of the rules that hold.
print(model.circuit_, end="\n\n")

# What would a new flat at the harbour cost, and the same flat in the north?
flats = pl.DataFrame(
    {
        "area": [85.0, 85.0],
        "district": ["harbour", "north"],
        "heating": ["heat pump", "heat pump"],
        "garage": [False, False],
        "built": [2021, 2021],
    }
)
harbour, north = model.predict(flats)
print(f"At the harbour {harbour:,.0f}, in the north {north:,.0f}.")
