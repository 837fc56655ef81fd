"""A band instead of a number: three models that predict the 10 %, 50 % and 90 % quantiles.

Run it: python examples/quantile_bands.py
"""

import numpy as np
import polars as pl

from dln import RuleRegressor

# Delivery times: longer with distance, and more variable in the rush hour.
rng = np.random.default_rng(2)
n = 900
deliveries = pl.DataFrame(
    {
        "km": rng.uniform(1, 12, n).round(1),
        "hour": rng.integers(8, 20, n),
        "rain": rng.random(n) < 0.3,
    }
)
rush = deliveries["hour"].is_in([8, 9, 16, 17, 18]).to_numpy()
spread = np.where(rush, 9.0, 2.5)
minutes = 8 + 2.2 * deliveries["km"].to_numpy() + 4 * deliveries["rain"].to_numpy() + spread * rng.gamma(2.0, 0.7, n)

train, test = slice(0, 650), slice(650, None)
bands = {}
for quantile in (0.1, 0.5, 0.9):
    model = RuleRegressor(loss="quantile", quantile=quantile, random_state=0)
    bands[quantile] = model.fit(deliveries[train], minutes[train]).predict(deliveries[test])
low, middle, high = bands.values()

inside = np.mean((minutes[test] >= low) & (minutes[test] <= high))
print(f"{inside:.0%} of {len(low)} later deliveries fell inside the band for 80 %.\n")
for name, when in (("rush hour", rush[test]), ("other hours", ~rush[test])):
    print(f"{name:12} typically {middle[when].mean():.0f} min, band {np.mean(high[when] - low[when]):.0f} min wide")

# Three models fitted apart can cross where data are few; sorting mends it without hurting any of them.
crossed = np.mean((low > middle) | (middle > high))
low, middle, high = np.sort(np.stack([low, middle, high]), axis=0)
print(f"\nBands that crossed before sorting: {crossed:.1%}")
