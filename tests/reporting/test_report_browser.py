"""Reports in a browser."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.helpers.outcomes.commands import report
from tests.helpers.outcomes.report_pages import Reader, result_of

BLUE = (0x00, 0x72, 0xB2)  # of the active party's line and bar
ORANGE = (0xE6, 0x9F, 0x00)  # of the bytes down
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
def test_a_browser_shows_it(runs: Path, tmp_path: Path) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    assert report([str(runs / "easter"), "--page", str(page)]) == 0
    command = [
        str(BROWSER),
        *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1250,2400",
    ]

    def browse(*arguments: str) -> str:
        done = subprocess.run(  # noqa: S603
            [*command, *arguments, page.as_uri()],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=120,
            check=True,
        )
        return done.stdout

    reader = Reader()
    reader.feed(browse("--dump-dom"))
    assert f"{result_of(runs / 'easter')['test_accuracy']['active']:.2%}" in reader.text
    browse(f"--screenshot={picture}")
    pixels = np.asarray(Image.open(picture).convert("RGB")).reshape(-1, 3)
    for colour in (BLUE, ORANGE):  # the figures are there, not only their frames
        assert (pixels == colour).all(1).sum() > 500
