"""Folder that the deployment's processes have in front of their path."""

from pathlib import Path

HOOKS = Path(__file__).parent
