"""What hides the passive parties' columns in a run, and what is left open."""

from vfl_flower.config import RunConfig, split_list
from vfl_flower.registry import METHODS

MASKS = "pairwise masks (X25519, HKDF-SHA256, ChaCha20) in Z/2^32 with 16 fractional bits"
PRIVATE = "initial weights and dropout that only their own party knows"
CLEAR = "what the passive parties sent travelled in the clear"
PUBLIC = (
    "initial weights follow from the seed, and whoever knows them can work out columns from "
    "embeddings or their sum; party-randomness = private hides them"
)


PUBLISHED = (
    "some parties start from published weights, and whoever has them can work out columns from "
    "embeddings or their sum"
)


def protections(cfg: RunConfig) -> tuple[list[str], list[str]]:
    """Say what is protected, and what a setting or another method would protect but does not.

    Returns
    -------
    protected, unprotected : list of str
        A sentence for each protection, in one of the two.
    """
    masked = METHODS[cfg.method].blinds and cfg.blinding == "pairwise"
    private = cfg.party_randomness == "private"
    published = any(split_list(cfg.weights))
    protected = [text for text, on in ((MASKS, masked), (PRIVATE, private and not published)) if on]
    gaps = ((CLEAR, not masked), (PUBLIC, not private), (PUBLISHED, published))
    return protected, [text for text, there in gaps if there]
