"""What all tests share."""

from hypothesis import settings

# A busy machine is no failure; and the examples are the same every time, so that a test that fails
# fails because of a change.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
