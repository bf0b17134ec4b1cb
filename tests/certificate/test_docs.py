"""The worked example of docs/certificates.md runs as it stands."""

import re
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "certificates.md"


def test_the_worked_example_is_true():
    text = DOCUMENT.read_text().partition("## Worked example")[2]
    block = re.search(r"```python\n(.*?)```", text, re.S)
    assert block is not None
    code = block.group(1)
    assert code.count("assert") >= 4
    exec(compile(code, DOCUMENT.name, "exec"), {})
