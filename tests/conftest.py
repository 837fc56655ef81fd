"""Settings for all tests."""

import os

# scikit-learn's array-API checks are skipped without it, and scipy reads it once, on import.
os.environ["SCIPY_ARRAY_API"] = "1"

from hypothesis import settings

# No deadline: the first call of a compiled kernel takes seconds, and machines are shared.
settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=300, deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
