"""Take a picture of a part of a report for the docs, in a headless Chromium.

    ignn-solver report && python docs/screenshot.py report.html docs/images/report.png --evaluation 4

It needs Chromium with its driver (Debian: chromium, chromium-driver) and selenium. The tests of the page
start their browser with it.
"""

from __future__ import annotations

import argparse
import base64
import shutil
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


def main() -> None:
    """Open the page, move the slider, wait for the plots, and keep one element's picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--element", default=".graph", help="CSS selector of what to show")
    parser.add_argument("--evaluation", type=int, help="place of the slider, from 1")
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    parser.add_argument("--width", type=int, default=1000)
    parser.add_argument("--height", type=int, default=800)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as profile:
        browser = start(profile)
        try:
            appear(browser, options.width, options.height, options.theme)
            browser.get(options.page.resolve().as_uri())
            options.picture.write_bytes(picture(browser, options.element, options.evaluation))
        finally:
            browser.quit()


def start(profile: str | Path) -> webdriver.Chrome:
    """A headless Chromium with an empty profile, which keeps what the page writes to its console."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def appear(browser: webdriver.Chrome, width: int, height: int, theme: str) -> None:
    """Show pages as on a screen of this size and theme, without motion; a narrow one is a telephone's."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [
        {"name": "prefers-color-scheme", "value": theme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def picture(browser: webdriver.Chrome, element: str, evaluation: int | None) -> bytes:
    """The element as a PNG, every plot in it drawn."""
    if evaluation is not None:
        move = "const s = document.querySelector('.graph input[type=range]'); s.value = arguments[0] - 1;"
        browser.execute_script(move + "s.dispatchEvent(new Event('input'));", evaluation)
    shown = browser.find_element(By.CSS_SELECTOR, element)
    for place in shown.find_elements(By.CSS_SELECTOR, ".plot"):
        browser.execute_script("arguments[0].scrollIntoView()", place)
        WebDriverWait(browser, 60).until(lambda _, one=place: one.get_attribute("data-drawn"))
    browser.execute_script("arguments[0].scrollIntoView()", shown)
    box = browser.execute_script(
        "const b = arguments[0].getBoundingClientRect();"
        "return {x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height, scale: 1}",
        shown,
    )
    shot = {"format": "png", "captureBeyondViewport": True, "clip": box}
    return base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", shot)["data"])


if __name__ == "__main__":
    main()
