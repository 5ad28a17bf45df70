"""The active parties: one file per method, named like its twin in `clients`."""
