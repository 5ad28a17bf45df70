"""A party's files: checkpoints, model folder, model card."""
