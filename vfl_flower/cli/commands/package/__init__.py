"""Commands on deployment and examples that come with the package."""
