"""docs/standards.md: each row names a test, and each test that it names exists."""

import re

TEST = re.compile(r"`([a-z_]+/[\w.]+\.(?:c|cc|py))`")


def problems(root):
    page = root / "docs/standards.md"
    rows = 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("| ") or line.startswith("| requirement |"):
            continue
        rows += 1
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        tests = TEST.findall(cells[-1])
        if len(cells) != 4 or not tests:
            yield f"docs/standards.md:{number}: a row has four cells, and a test in the last one"
        for test in tests:
            if not (root / "tests" / test).exists():
                yield f"docs/standards.md:{number}: there is no tests/{test}"
    if rows < 40:
        yield f"docs/standards.md: {rows} rows were found, which are too few"
