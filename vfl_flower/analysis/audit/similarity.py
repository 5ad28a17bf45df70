"""Similarity of reconstructed and true pictures: PSNR and SSIM."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

_WIDEST = 7  # pixels of SSIM's window


@dataclass(frozen=True)
class Likeness:
    """Similarity of reconstructed and true tiles.

    Attributes
    ----------
    psnr : float
        Peak signal to noise ratio of the mean squared error over all rows, in dB; infinite if there
        is none.
    ssim : float or None
        Structural similarity, at most 1, mean over rows and channels; None of tiles that are less
        than three pixels wide or high, for which it has no window.
    """

    psnr: float
    ssim: float | None


def likeness(true: Tensor, made: Tensor) -> Likeness:
    """Compare reconstructed with true tiles by PSNR and SSIM.

    Both are (B, c, h, w), with pixels from 0 to 1.
    """
    # scikit-image is slow to import
    from skimage.metrics import peak_signal_noise_ratio, structural_similarity

    one, other = (each.flatten(0, 1).numpy() for each in (true, made))  # (B c, h, w)
    with np.errstate(divide="ignore"):  # no error at all is infinitely good
        psnr = float(peak_signal_noise_ratio(one, other, data_range=1))
    side = min(_WIDEST, *one.shape[1:])
    window = side - (side + 1) % 2  # odd
    if window < 3:
        return Likeness(psnr, None)
    ssim = structural_similarity(one, other, win_size=window, data_range=1, channel_axis=0)
    return Likeness(psnr, float(ssim))
