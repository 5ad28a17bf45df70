"""Text hashed into signed buckets."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vfl_flower.data.preprocessing.encoder_hashed import BUCKETS


def as_buckets(text: pa.Array) -> NDArray[np.float64]:
    """Hash text as scikit-learn's FeatureHasher does.

    Returns
    -------
    ndarray of float64
        (N,): the number of the bucket, from 1, with the sign of the hash; NaN for null.
    """
    # scikit-learn is slow to import
    from sklearn.feature_extraction import FeatureHasher

    coded = text.dictionary_encode()
    distinct = coded.dictionary.to_pylist()
    if not distinct:
        return np.full(len(text), np.nan)
    hasher = FeatureHasher(BUCKETS, input_type="string", dtype=np.float64)
    made = hasher.transform([each] for each in distinct)
    signed = np.append((made.indices + 1) * made.data, np.nan)
    places = pc.fill_null(coded.indices, len(distinct)).to_numpy(zero_copy_only=False)
    found: NDArray[np.float64] = signed[places]
    return found
