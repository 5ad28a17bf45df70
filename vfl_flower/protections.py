"""What hides the passive parties' columns in a run, and what is left open."""

from vfl_flower.config import RunConfig
from vfl_flower.registry import METHODS

MASKS = "pairwise masks (X25519, HKDF-SHA256, ChaCha20) in Z/2^32 with 16 fractional bits"
PRIVATE = "initial weights and dropout that only their own party knows"
CLEAR = "what the passive parties sent travelled in the clear"
PUBLIC = (
    "initial weights follow from the seed, and whoever knows them can work out columns from "
    "embeddings or their sum; party-randomness = private hides them"
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
    protected = [text for text, on in ((MASKS, masked), (PRIVATE, private)) if on]
    unprotected = [text for text, off in ((CLEAR, not masked), (PUBLIC, not private)) if off]
    return protected, unprotected
