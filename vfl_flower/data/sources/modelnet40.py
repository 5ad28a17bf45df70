"""ModelNet40: shaded pictures of objects, four of twelve views."""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.errors import AbsentDataError, DataError
from vfl_flower.data.datasets import of_whole
from vfl_flower.data.sources.pictures import read_picture

PUBLISHED = "http://supermoe.cs.umass.edu/shape_recog/shaded_images.tar.gz"
FOLDER = "modelnet40_images_new_12x"
VIEWS = (1, 4, 7, 10)
NAME = re.compile(r"(.+?)(?:\.|_v)(\d{1,3})\.png")
"""Of a picture: the object, and the number of the view, from 1."""

Pixels = NDArray[np.uint8]
_Views = list[Path]


class ModelNet40:
    """Four views of an object side by side; strips split them.

    Attributes
    ----------
    rows : tuple of int
        How many objects the training and the test part have.
    side : int
        Pixels of a view.
    """

    rows, side = (9_843, 2_468), 224
    classes = (
        *("airplane", "bathtub", "bed", "bench", "bookshelf", "bottle", "bowl", "car", "chair"),
        *("cone", "cup", "curtain", "desk", "door", "dresser", "flower_pot", "glass_box", "guitar"),
        *("keyboard", "lamp", "laptop", "mantel", "monitor", "night_stand", "person", "piano"),
        *("plant", "radio", "range_hood", "sink", "sofa", "stairs", "stool", "table", "tent"),
        *("toilet", "tv_stand", "vase", "wardrobe", "xbox"),
    )

    def load(self, folder: Path, download: bool = False) -> tuple[Pixels, NDArray[np.int64]]:
        """Load pixels (N, 1, 224, 896) and labels (N,), test rows last.

        Pixels stay bytes, 2.5 GB of them; the shades are grey, and so are the pixels. A party's
        own, scaled, are another 2.5 GB of floats for each view.

        Raises
        ------
        AbsentDataError
            If its folder is missing.
        DataError
            If another folder, or a picture, is missing or damaged.
        """
        root = folder.resolve() / FOLDER
        if not root.is_dir():
            raise AbsentDataError(
                f"ModelNet40 is not in {root} (folders CLASS/train and CLASS/test of png files); "
                f"get it from {PUBLISHED} and unpack it there, or set data-dir (this data set is "
                "not downloaded)"
            )
        pairs = zip(("train", "test"), self.rows, strict=True)
        classes = [found for part, rows in pairs for found in self._part(root, part, rows)]
        labels = [label % len(self.classes) for label, each in enumerate(classes) for _ in each]
        pixels = np.empty((len(labels), 1, self.side, len(VIEWS) * self.side), np.uint8)
        for row, views in enumerate(views for each in classes for views in each):
            read = [read_picture(path, "L", self.side) for path in views]
            pixels[row, 0] = np.concatenate(read, 1)
        return pixels, np.array(labels, np.int64)

    def _part(self, root: Path, part: str, rows: int) -> list[list[_Views]]:
        """List the objects of each class in one part; check their number."""
        found = [_objects(root / name / part) for name in self.classes]
        if (count := sum(map(len, found))) != rows:
            raise DataError(f"{root} has {count} {part} objects where {rows} are published")
        return found


def _objects(folder: Path) -> list[_Views]:
    """List the pictures of each object's chosen views, objects by name."""
    found: dict[str, dict[int, Path]] = {}
    for path in sorted(folder.glob("*.png")):
        named = NAME.fullmatch(path.name)
        if named is None:
            raise DataError(f"{path} names no view; a picture is OBJECT_v001.png or OBJECT.1.png")
        found.setdefault(named[1], {})[int(named[2])] = path
    for name, views in found.items():
        if lacking := [view for view in VIEWS if view not in views]:
            raise DataError(f"{folder} has no view {lacking[0]} of {name}")
    return [[views[view] for view in VIEWS] for _, views in sorted(found.items())]


MODELNET40 = of_whole(len(ModelNet40.classes), ModelNet40.rows[1], ModelNet40().load)
