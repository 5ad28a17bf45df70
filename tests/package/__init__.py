"""The package as it is installed, and as Flower bundles it."""
