"""Agreement on a split that only the active party can draw.

Where rows are split by classes, groups or times, only the active party can say which row is held
out, and the others need it before they are built: encoders and scales are fitted on training rows.
"""
