"""A headless browser for tests, and pages that must log no error and ask nobody else."""

import shutil
from contextlib import contextmanager

import pytest

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@contextmanager
def open_browser():
    """A headless Chromium of the system; the test is skipped, with the reason, where there is none."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if found is None:
        pytest.skip("no Chromium on this machine: install Debian's chromium to draw pages in a browser")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()
