"""CINIC-10, read from its folders of images."""

from pathlib import Path

import numpy as np

from vfl_flower.common.errors import DataError, last_line
from vfl_flower.data.columns import Labels, Pixels
from vfl_flower.data.datasets import of_parts


class Cinic10:
    """CINIC-10: 32 x 32 pixels in ``CINIC-10/{train,test}/CLASS/*.png``; ``valid`` is not used."""

    kind, rows = "CINIC10", (90_000, 90_000)
    classes = (
        *("airplane", "automobile", "bird", "cat", "deer"),
        *("dog", "frog", "horse", "ship", "truck"),
    )

    def parts(self, folder: Path, download: bool) -> list[tuple[Pixels, Labels]]:
        """Return the training and the test part; nothing is downloaded.

        Raises
        ------
        DataError
            If a folder or a picture is missing or damaged.
        """
        root = folder.resolve() / "CINIC-10"
        if not root.is_dir():
            raise DataError(
                f"CINIC-10 is not in {root} (folders train/CLASS and test/CLASS of png files); "
                "unpack it there, or set data-dir"
            )
        pairs = zip(("train", "test"), self.rows, strict=True)
        return [self._part(root / name, rows) for name, rows in pairs]

    def _part(self, folder: Path, rows: int) -> tuple[Pixels, Labels]:
        files = [sorted((folder / name).glob("*.png")) for name in self.classes]
        counts = [len(each) for each in files]
        if sum(counts) != rows:
            raise DataError(f"{folder} holds {sum(counts)} pictures where {rows} are published")
        pixels = np.empty((rows, 3, 32, 32), np.uint8)
        for row, path in enumerate(path for each in files for path in each):
            pixels[row] = _picture(path)
        return pixels, np.repeat(np.arange(len(files)), counts)


def _picture(path: Path) -> Pixels:
    """Read one 32 x 32 picture; some of CINIC-10's are grey."""
    # Pillow is slow to import
    from PIL import Image

    try:
        with Image.open(path) as image:
            picture = np.asarray(image.convert("RGB"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is damaged: {last_line(error)}") from error
    if picture.shape != (32, 32, 3):
        raise DataError(f"{path} has {picture.shape[1]} x {picture.shape[0]} pixels, not 32 x 32")
    return picture.transpose(2, 0, 1)


CINIC10 = of_parts(len(Cinic10.classes), Cinic10.rows[1], Cinic10().parts)
