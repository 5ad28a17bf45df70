"""Parties' own tables: CSV and Parquet with a description."""
