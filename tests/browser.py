"""Debian's Chromium, without a window, for tests of pages. It loads files and asks nobody."""

from __future__ import annotations

import os
import shutil

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

_CHROMIUM, _DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
IS_THERE = _CHROMIUM is not None and _DRIVER is not None

_ARGUMENTS = (
    *("headless", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"),
    *("disable-component-update", "disable-sync", "disable-dev-shm-usage"),
)


class Browser(webdriver.Chrome):
    """A browser that is as wide as a test wants it."""

    def __init__(self) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = _CHROMIUM
        for argument in _ARGUMENTS:
            options.add_argument(f"--{argument}")
        if os.getuid() == 0:
            options.add_argument("--no-sandbox")  # Chromium's does not start for root
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        super().__init__(options=options, service=Service(_DRIVER))

    def show(self, path) -> None:
        """Load a page anew."""
        self.get("about:blank")
        self.get_log("browser")
        self.get(path.as_uri())

    def be(self, width: int, height: int = 900, *, is_phone: bool = False) -> None:
        """Have a window or a phone's screen of a size in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, scheme: str) -> None:
        """Prefer ``light`` or ``dark`` pages."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def complaints(self) -> list[str]:
        """Return what the browser's console says of the page."""
        return [entry["message"] for entry in self.get_log("browser")]
