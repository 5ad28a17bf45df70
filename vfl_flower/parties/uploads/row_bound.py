"""Check of `embedding-bound` on the way out of a passive party."""

from vfl_flower.common.errors import PrivacyError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.row_norms import exceeds
from vfl_flower.protocol.components import Phase
from vfl_flower.protocol.uploads import Upload, UploadMechanism


class RowBound(UploadMechanism):
    """Refuses summed uploads with a row above the bound.

    Methods clip in their forward pass, where gradients are made; one that forgets sends nothing.
    """

    name = "row_bound"

    @classmethod
    def wanted(cls, cfg: RunConfig) -> bool:
        """Tell whether the run bounds rows."""
        return cfg.row_bound is not None

    def apply(self, upload: Upload, declared: Phase) -> Upload:
        """Return the upload as it is."""
        bound = self.party.cfg.row_bound
        if declared.masked and bound is not None and exceeds(upload.values, bound):
            raise PrivacyError(
                f"{type(self.party).__name__} would send a row above embedding-bound {bound:g}, "
                "which its method is to clip; nothing was sent"
            )
        return upload
