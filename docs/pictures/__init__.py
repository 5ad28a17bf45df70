"""SVG pictures of the documentation, for light and dark pages.

    python -m docs.pictures

writes all of them beside this file, from data in the repository. With ``--train``, the run of which
one is the figure is trained anew.
"""
