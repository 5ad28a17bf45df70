"""Pictures of the documentation, as SVG files that suit light and dark pages.

    python -m docs.pictures

writes all of them beside this file, from data in the repository. With ``--train``, the run of which
one is the figure is trained anew.
"""
