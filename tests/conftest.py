"""What all tests share."""

import os

from hypothesis import settings

# Equal bit for bit is a promise for the processor. Tests of a GPU start processes of their own.
GPUS = os.environ.get("CUDA_VISIBLE_DEVICES")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

# A busy machine is no failure; and the examples are the same every time, so that a test that fails
# fails because of a change.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
