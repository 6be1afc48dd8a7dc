"""Settings of all tests: hypothesis draws the same examples in every run, others with --hypothesis-profile=explore."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("steady")
