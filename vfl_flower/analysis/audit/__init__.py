"""What the parties of a run can find out about each other, measured."""
