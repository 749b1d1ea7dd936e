"""Images, documents, video and audio."""

from typing import Literal, NotRequired, TypeAlias, TypedDict

from converse_harness.types.citations import CitationsConfig

DocumentFormat: TypeAlias = Literal["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"]
"""Formats of documents."""

ImageFormat: TypeAlias = Literal["png", "jpeg", "gif", "webp"]
"""Formats of images."""

VideoFormat: TypeAlias = Literal["flv", "mkv", "mov", "mpeg", "mpg", "mp4", "three_gp", "webm", "wmv"]
"""Formats of videos."""

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
"""Formats of audio; in strands-agents 1.62, newer than the pages these types follow."""


class Location(TypedDict):
    """A place outside the request; `type` is the kind of place, which decides who can read it."""

    type: str


class S3Location(TypedDict):
    """An object in Amazon S3: its `uri` (`s3://...`), and `bucketOwner` if another account owns the bucket."""

    type: Literal["s3"]
    uri: str
    bucketOwner: NotRequired[str]


SourceLocation: TypeAlias = Location | S3Location
"""Where media are that do not travel in the request; in strands-agents 1.62, newer than the pages these follow."""


class DocumentSource(TypedDict, total=False):
    """A document's content: `bytes`, or (in strands-agents 1.62) its `location`."""

    bytes: bytes
    location: SourceLocation


class DocumentContent(TypedDict, total=False):
    """A document: its format, neutral name and source.

    In strands-agents 1.62, newer than the pages these types follow: `citations` asks the model to cite it, `context`
    says what it is; and no member is required any more.
    """

    format: DocumentFormat
    name: str
    source: DocumentSource
    citations: CitationsConfig | None
    context: str | None


class ImageSource(TypedDict, total=False):
    """An image's content: `bytes`, or (in strands-agents 1.62) its `location`."""

    bytes: bytes
    location: SourceLocation


class ImageContent(TypedDict):
    """An image: its format and source."""

    format: ImageFormat
    source: ImageSource


class VideoSource(TypedDict, total=False):
    """A video's content: `bytes`, or (in strands-agents 1.62) its `location`."""

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
    """Audio: its format and source; in strands-agents 1.62, newer than the pages these types follow."""

    format: AudioFormat
    source: AudioSource
