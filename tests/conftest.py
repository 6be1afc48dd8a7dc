"""Settings of all tests. Hypothesis draws the same examples in every run; `--hypothesis-profile=explore` draws others."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("steady")
