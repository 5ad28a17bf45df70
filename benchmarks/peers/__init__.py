"""Other systems at the same work, side by side with this one."""
