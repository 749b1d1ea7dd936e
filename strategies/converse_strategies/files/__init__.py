"""Tiny files that really are of their format, built with the standard library alone.

Each table maps a format of AWS's model to a function that makes such a file; the same arguments make the same bytes.
"""

from converse_strategies.files.containers import AUDIOS, VIDEOS
from converse_strategies.files.documents import DOCUMENTS
from converse_strategies.files.images import IMAGES

__all__ = ["AUDIOS", "DOCUMENTS", "IMAGES", "VIDEOS"]
