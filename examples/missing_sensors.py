"""The load of a building from its sensors, some of which fall silent: missing values need no preparation.

Run it: python examples/missing_sensors.py
"""

import numpy as np
import polars as pl

from dln import RuleRegressor

# Weather, occupancy and the hour of the day, every twentieth hour for a year and a half.
rng = np.random.default_rng(1)
n = 650
hour = rng.integers(0, 24, n)
temperature = 12 + 10 * np.sin(np.arange(n) / n * 30) + rng.normal(0, 3, n)
occupied = (hour > 7) & (hour < 19) & (rng.random(n) < 0.8)
load = 40 + 3.0 * np.maximum(18 - temperature, 0) + 25 * occupied + 6 * (hour > 21) + rng.normal(0, 2, n)

# The thermometer fails in one hour of eight; the occupancy sensor fails mostly when the building is empty.
silent = ~occupied & (rng.random(n) < 0.6)
sensors = pl.DataFrame(
    {
        "hour": hour,
        "temperature": np.where(rng.random(n) < 0.125, np.nan, temperature.round(1)),
        "occupancy": [
            None if gone else ("yes" if there else "no") for gone, there in zip(silent, occupied, strict=True)
        ],
    }
)

train, test = slice(0, 500), slice(500, None)
model = RuleRegressor(random_state=0).fit(sensors[train], load[train])
print(f"R² on later hours: {model.score(sensors[test], load[test]):.3f}\n")

# "is missing" is a test like any other, so missingness that carries information is learned and printed.
missing = [line.strip() for line in str(model.circuit_).splitlines() if "missing" in line]
print("Rules on missing values:", *missing[:5], sep="\n  ")

# In operation anything may be missing: there is a prediction for every row.
nothing = pl.DataFrame({"hour": [3], "temperature": [None], "occupancy": [None]}, schema_overrides=sensors.schema)
print(f"\nAt three in the morning with all sensors down: {model.predict(nothing)[0]:.1f} kW")
