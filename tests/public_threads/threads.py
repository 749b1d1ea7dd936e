"""All threads that docs/history.md lists, of 124 about Bedrock that were read: those about Converse that were kept by
name, those about InvokeModel, and the lessons of the first. The lessons about the prompt cache stand beside its tests.
"""

from __future__ import annotations

from typing import Final

from tests.public_threads import (
    answers,
    contents,
    money,
    refused,
    streams,
    threads_of_answers,
    threads_of_requests,
)
from tests.public_threads.lessons import Lessons
from tests.public_threads.thread import Chapters

CHAPTERS: Final[Chapters] = {**threads_of_answers.CHAPTERS, **threads_of_requests.CHAPTERS}

LESSONS: Final[Lessons] = {
    **streams.LESSONS,
    **answers.LESSONS,
    **refused.LESSONS,
    **contents.LESSONS,
    **money.LESSONS,
}

THREADS: Final = [thread for threads in CHAPTERS.values() for thread in threads]

INVOKE_MODEL: Final = (
    "langchain-ai/langchain-aws#587",
    "promptfoo/promptfoo#10307",
    "logancyang/obsidian-copilot#2600",
    "anthropics/claude-code#44972",
    "anthropics/claude-code#33229",
)
"""Threads about InvokeModel, which the fake does not answer by itself."""
