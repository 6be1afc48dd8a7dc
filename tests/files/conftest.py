"""Files of these tests need not survive a loss of power."""

import os

import pytest


@pytest.fixture(autouse=True)
def without_waiting_for_the_disk(monkeypatch):
    """What is written is not waited for: a busy disk would take most of the time of these tests."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
