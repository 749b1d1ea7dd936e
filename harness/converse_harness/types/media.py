"""Images, documents, video and audio.

>>> picture: ImageContent = {"format": "png", "source": {"bytes": b"..."}}
>>> picture["format"]
'png'
"""

from typing import Literal, NotRequired, TypeAlias, TypedDict

from converse_harness.types.citations import CitationsConfig

DocumentFormat: TypeAlias = Literal["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"]
"""The document formats that the Converse API accepts."""

ImageFormat: TypeAlias = Literal["png", "jpeg", "gif", "webp"]
"""The image formats that the Converse API accepts."""

VideoFormat: TypeAlias = Literal["flv", "mkv", "mov", "mpeg", "mpg", "mp4", "three_gp", "webm", "wmv"]
"""The video formats that the Converse API accepts."""

AudioFormat: TypeAlias = Literal[
    "mp3",
    "opus",
    "wav",
    "aac",
    "flac",
    "mp4",
    "ogg",
    "mkv",
    "mka",
    "x-aac",
    "m4a",
    "mpeg",
    "mpga",
    "pcm",
    "webm",
]
"""Audio formats. The type is in strands-agents 1.62, but not in the documentation that the other types follow."""


class Location(TypedDict):
    """A storage location outside the request. `type` is the kind of storage; a provider may not support all kinds."""

    type: str


class S3Location(TypedDict):
    """An object in Amazon S3: its `uri` (`s3://...`), and `bucketOwner` if another account owns the bucket."""

    type: Literal["s3"]
    uri: str
    bucketOwner: NotRequired[str]


SourceLocation: TypeAlias = Location | S3Location
"""The location of media that the request does not contain. The type is in strands-agents 1.62, but not in the
documentation that the other types follow."""


class DocumentSource(TypedDict, total=False):
    """A document's content: either its `bytes` or its `location`.

    `location` is in strands-agents 1.62, but not in the documentation that these types follow.
    """

    bytes: bytes
    location: SourceLocation


class DocumentContent(TypedDict, total=False):
    """A document: its format, name and source. The name should be neutral, because the model reads it.

    Three things are in strands-agents 1.62, but not in the documentation that these types follow: `citations` asks the
    model to cite the document, `context` describes the document, and every member is optional.
    """

    format: DocumentFormat
    name: str
    source: DocumentSource
    citations: CitationsConfig | None
    context: str | None


class ImageSource(TypedDict, total=False):
    """An image's content: either its `bytes` or its `location`.

    `location` is in strands-agents 1.62, but not in the documentation that these types follow.
    """

    bytes: bytes
    location: SourceLocation


class ImageContent(TypedDict):
    """An image: its format and source."""

    format: ImageFormat
    source: ImageSource


class VideoSource(TypedDict, total=False):
    """A video's content: either its `bytes` or its `location`.

    `location` is in strands-agents 1.62, but not in the documentation that these types follow.
    """

    bytes: bytes
    location: SourceLocation


class VideoContent(TypedDict):
    """A video: its format and source."""

    format: VideoFormat
    source: VideoSource


class AudioSource(TypedDict, total=False):
    """The content of audio: `bytes`, or its `location`."""

    bytes: bytes
    location: SourceLocation


class AudioContent(TypedDict):
    """Audio: its format and source.

    This type is in strands-agents 1.62, but not in the documentation that the other types follow.
    """

    format: AudioFormat
    source: AudioSource
