"""The passive parties: one file per method, named like its twin in `strategies`."""
