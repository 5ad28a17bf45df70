"""Pictures of the documentation, as SVG files that suit light and dark pages.

    python -m docs.pictures

writes all of them beside this file. They depend on this code and on data in the repository only.
"""
