"""The page's colours: text must be readable on what it stands on, in both themes."""

import re
from importlib.resources import files

import pytest

CSS = (files("ignn_solver") / "report" / "assets" / "page.css").read_text(encoding="utf-8")
BLOCKS = {"light": ":root {", "dark": ':root[data-theme="dark"] {'}


def colours(theme):
    block = CSS.partition(BLOCKS[theme])[2].partition("}")[0]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", BLOCKS)
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("ink", "paper"), ("ink", "card"), ("soft", "paper"), ("soft", "card"), ("soft", "tint"),
        ("accent", "paper"), ("accent", "card"), ("card", "accent"), ("warn", "paper"), ("warn", "warn-tint"),
    ],
)  # fmt: skip
def test_contrast_meets_wcag_aa(theme, text, ground):
    found = colours(theme)
    light, dark = sorted((luminance(found[text]), luminance(found[ground])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5
