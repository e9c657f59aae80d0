"""Debian's Chromium, without a window, for tests of pages.

It loads files and asks nobody.
"""

from __future__ import annotations

import os
import shutil

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

_CHROMIUM, _DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
IS_THERE = _CHROMIUM is not None and _DRIVER is not None

_ARGUMENTS = (
    *(
        "headless",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
    ),
    *("disable-component-update", "disable-sync", "disable-dev-shm-usage"),
)

CONTRASTS = """
const channels = (colour) => {
  const numbers = colour.match(/[\\d.]+/g).map(Number);
  const scale = colour.startsWith("color(") ? 255 : 1;
  return [...numbers.slice(0, 3).map((one) => one * scale), numbers[3] ?? 1];
};
const over = ([r, g, b, a], under) =>
  [r, g, b].map((one, i) => one * a + under[i] * (1 - a));
const ground = (element) => {
  const under = element.parentElement ? ground(element.parentElement) : [255, 255, 255];
  return over(channels(getComputedStyle(element).backgroundColor), under);
};
const light = (colour) => {
  const [r, g, b] = colour.map((one) => {
    const part = one / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
  const back = ground(element);
  const ink = over(channels(getComputedStyle(element).color), back);
  const [dark, bright] = [light(ink), light(back)].sort((one, other) => one - other);
  found.push([bright / dark, element.outerHTML.slice(0, 80)]);
}
return found;
"""
"""Returns each text that is seen with its contrast (WCAG 2.2, 1.4.3)."""
NEEDED = """
const clipped = (one) =>
  one.closest('.wide, .lane, textarea, svg') && !one.matches('.wide, textarea');
const ends = Array.from(document.querySelectorAll('body *'))
  .filter((one) => !clipped(one)).map((one) => one.getBoundingClientRect().right);
const root = document.documentElement;
return [Math.max(root.scrollWidth, ...ends), root.clientWidth];
"""
"""Returns how wide a page would be, and how wide it is; what scrolls by itself is left
out.
"""


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
        """Set the size of the window, or of a phone's screen, in CSS pixels."""
        size = {
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": is_phone,
        }
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, scheme: str) -> None:
        """Prefer ``light`` or ``dark`` pages."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def complaints(self) -> list[str]:
        """Return what the browser's console says of the page."""
        return [entry["message"] for entry in self.get_log("browser")]
