"""The page in a real browser: nothing fails, plots are drawn, sorting, slider and theme work."""

import base64
import os
import runpy
import shutil
from io import BytesIO
from pathlib import Path

import matplotlib.image
import pytest

from ignn_solver.report.page import write_page
from report_results import fill, write

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

ROOT = Path(__file__).parents[2]
#: The script that takes the pictures of the docs: it starts the browser here too.
SCREENSHOT = runpy.run_path(str(ROOT / "docs" / "screenshot.py"))
#: A name with markup in it must neither run nor break the page.
EVIL = "<img src=x onerror=document.title='run'>" + "w" * 200


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "results"
    folder.mkdir()
    fill(folder)
    write(folder, "evil", {"rows": [{EVIL: EVIL, "dataset": EVIL}]})
    rows = [{"axis": EVIL, "value": v, "ms": v, "peak_mb": v, "solver": EVIL} for v in (1.0, 10.0)]
    write(folder, "scaling", {"rows": rows})
    return write_page(folder, folder.parent / "report.html")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        pytest.skip("no Chromium here: install chromium and chromium-driver")
    started = SCREENSHOT["start"](tmp_path_factory.mktemp("profile"))
    yield started
    started.quit()


@pytest.fixture
def visit(browser, page):
    """Open the page as a device shows it; whatever is done there, nothing may have failed."""

    def opened(width=1200, height=900, theme="light"):
        SCREENSHOT["appear"](browser, width, height, theme)
        browser.get(page.as_uri())
        browser.execute_script("localStorage.clear()")
        browser.get(page.as_uri())
        return browser

    yield opened
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    assert browser.title == "ignn-solver: results"


def draw_everything(browser):
    """Scroll through the page until every plot is drawn."""
    places = browser.find_elements(By.CSS_SELECTOR, ".plot")
    assert places
    for place in places:
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", place)
        WebDriverWait(browser, 60).until(lambda _, one=place: one.get_attribute("data-drawn"))
    browser.execute_script("scrollTo(0, 0)")
    return places


def column(table, number):
    return [row.find_elements(By.TAG_NAME, "td")[number].text for row in
            table.find_elements(By.CSS_SELECTOR, "tbody tr")]  # fmt: skip


def test_plots_are_drawn_and_change_with_the_choice(visit):
    browser = visit()
    places = draw_everything(browser)
    assert not browser.find_elements(By.CSS_SELECTOR, ".plot.failed")
    for place in places:
        assert place.find_elements(By.CSS_SELECTOR, ".scatterlayer .trace, .barlayer .trace")
    title = "//h4[.='Convergence by evaluation']/.."
    figure = browser.find_element(By.XPATH, title)
    plot = figure.find_element(By.CSS_SELECTOR, ".plot")
    assert plot.get_attribute("data-drawn") == "citeseer"
    radios = figure.find_elements(By.CSS_SELECTOR, ".choice input")
    browser.execute_script("arguments[0].focus()", radios[0])
    radios[0].send_keys(Keys.ARROW_RIGHT)
    WebDriverWait(browser, 20).until(lambda _: plot.get_attribute("data-drawn") == "mutag")


def test_a_heading_sorts_its_table_both_ways(visit):
    browser = visit()
    table = browser.find_element(By.XPATH, "//h3[.='own-notes']/..//table")
    name, count = table.find_elements(By.TAG_NAME, "th")
    assert column(table, 1) == ["10", "9"]
    count.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert column(table, 1) == ["9", "10"]  # as numbers, not as text
    assert (count.get_attribute("aria-sort"), name.get_attribute("aria-sort")) == (
        "ascending",
        "none",
    )
    count.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert column(table, 1) == ["10", "9"]
    assert count.get_attribute("aria-sort") == "descending"
    accuracy = browser.find_element(By.XPATH, "//h3[starts-with(., 'Table II')]/..//table")
    accuracy.find_elements(By.CSS_SELECTOR, "th button")[2].send_keys(Keys.ENTER)
    assert column(accuracy, 0) == ["gcn", "ignn"]


def test_the_slider_moves_over_the_evaluations(visit):
    browser = visit()
    figure = browser.find_element(By.CSS_SELECTOR, ".graph")
    canvas, state = (figure.find_element(By.CSS_SELECTOR, part) for part in ("canvas", ".state"))
    slider = figure.find_element(By.CSS_SELECTOR, "input[type=range]")
    pictures = []
    for evaluation, share in ((1, "0.0%"), (2, "33.3%"), (3, "100.0%")):
        assert canvas.get_attribute("data-evaluation") == str(evaluation)
        assert share in state.text
        counted = "1 evaluation:" if evaluation == 1 else f"{evaluation} evaluations:"
        assert state.text.startswith(f"After {counted}")
        assert share in slider.get_attribute("aria-valuetext")
        pictures.append(browser.execute_script("return arguments[0].toDataURL()", canvas))
        slider.send_keys(Keys.ARROW_RIGHT)
    assert len(set(pictures)) == 3
    browser.execute_script(
        "arguments[0].click()", figure.find_element(By.CSS_SELECTOR, "input[value=picard]")
    )
    assert "5.0e-1" in state.text
    browser.execute_script(
        "arguments[0].click()", figure.find_element(By.CSS_SELECTOR, "input[value=learned]")
    )
    figure.find_element(By.CSS_SELECTOR, ".play").send_keys(Keys.ENTER)
    WebDriverWait(browser, 20).until(lambda _: canvas.get_attribute("data-evaluation") == "3")


@pytest.mark.parametrize("system", ["light", "dark"])
def test_the_theme_is_the_systems_until_one_is_chosen(visit, system):
    browser = visit(theme=system)
    other = {"light": "dark", "dark": "light"}[system]
    paper = {"light": "rgb(250, 249, 246)", "dark": "rgb(16, 19, 24)"}
    body = browser.find_element(By.TAG_NAME, "body")
    theme = "return document.documentElement.dataset.theme"
    assert browser.execute_script(theme) == system
    assert (
        browser.execute_script("return getComputedStyle(arguments[0]).backgroundColor", body)
        == paper[system]
    )
    browser.find_element(By.ID, "theme").click()
    assert browser.execute_script(theme) == other
    assert (
        browser.execute_script("return getComputedStyle(arguments[0]).backgroundColor", body)
        == paper[other]
    )
    browser.refresh()
    assert browser.execute_script(theme) == other


@pytest.mark.parametrize(("width", "theme"), [(1200, "light"), (360, "light"), (360, "dark")])
def test_the_page_never_scrolls_sideways(visit, width, theme):
    browser = visit(width, 800, theme)
    draw_everything(browser)
    wide = "return [document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]"
    assert browser.execute_script(wide) == [width] * 3
    keep_screenshot(browser, f"{width}-{theme}")


def keep_screenshot(browser, name):
    """Keep what was seen, for people, where ``IGNN_SOLVER_SCREENSHOTS`` says so."""
    folder = os.environ.get("IGNN_SOLVER_SCREENSHOTS")
    if folder:
        shot = browser.execute_cdp_cmd(
            "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True}
        )
        Path(folder, f"report-{name}.png").write_bytes(base64.b64decode(shot["data"]))


def test_a_picture_of_the_graph_is_as_wide_as_it_is_shown(visit):
    browser = visit()
    shot = SCREENSHOT["picture"](browser, ".graph", 2)
    canvas = browser.find_element(By.CSS_SELECTOR, ".graph canvas")
    assert canvas.get_attribute("data-evaluation") == "2"
    width = browser.find_element(By.CSS_SELECTOR, ".graph").rect["width"]
    assert matplotlib.image.imread(BytesIO(shot)).shape[1] == pytest.approx(width, abs=1)
