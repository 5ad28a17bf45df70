"""CINIC-10, read from its folders of images."""

from pathlib import Path

import numpy as np

from vfl_flower.common.errors import AbsentDataError, DataError
from vfl_flower.data.columns import Labels, Pixels
from vfl_flower.data.datasets import of_parts
from vfl_flower.data.sources.pictures import read_picture


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
        AbsentDataError
            If its folder is missing.
        DataError
            If another folder, or a picture, is missing or damaged.
        """
        root = folder.resolve() / "CINIC-10"
        if not root.is_dir():
            raise AbsentDataError(
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
            pixels[row] = read_picture(path, "RGB", 32).transpose(2, 0, 1)
        return pixels, np.repeat(np.arange(len(files)), counts)


CINIC10 = of_parts(len(Cinic10.classes), Cinic10.rows[1], Cinic10().parts)
