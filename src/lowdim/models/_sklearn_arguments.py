"""Why models do not take some arguments of scikit-learn's classes (see `Model._not_taken`)."""

from __future__ import annotations

NEVER_OVERWRITTEN = "rows are never overwritten; leave it out"
FULL_ACCURACY = "the eigenpairs are computed to their full accuracy; leave it out"
NO_ITERATION = "there is no iteration to stop; leave it out"
