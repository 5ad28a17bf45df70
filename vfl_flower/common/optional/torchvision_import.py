"""torchvision, also beside a CPU-only torch.

PyPI's torchvision registers meta kernels for its compiled `nms` and `qnms` at import. Where its
compiled part does not fit the installed torch (a CPU build), those operators are unknown and the
import fails, although nothing here needs them. Declaring their schemas first lets it pass.
"""

import torch

SCHEMAS = ("nms", "qnms")
_declared: list[torch.library.Library] = []  # a Library takes its schemas along when it dies

try:
    from torchvision import datasets, models
except RuntimeError:
    library = torch.library.Library("torchvision", "DEF")
    for operator in SCHEMAS:
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _declared.append(library)
    from torchvision import datasets, models

__all__ = ["datasets", "models"]
