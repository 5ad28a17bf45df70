"""Compression of uploads."""

from dataclasses import replace

from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.compression import compression_of
from vfl_flower.protocol.components import Phase
from vfl_flower.protocol.uploads import Upload, UploadMechanism


class Compressor(UploadMechanism):
    """Writes rows of numbers in fewer bytes; see `vfl_flower.learning.compression`."""

    name = "compressor"

    @classmethod
    def wanted(cls, cfg: RunConfig) -> bool:
        """Tell whether the run compresses."""
        return cfg.options.upload_compression != "none"

    def apply(self, upload: Upload, declared: Phase) -> Upload:
        """Compress (B, D), times its weight."""
        values = upload.weighted()
        compression = compression_of(self.party.cfg.options.upload_compression, values.shape[1])
        return replace(upload, message=compression.compress(values))
