"""What AWS really answered is legal, and `converse-harness check` and `show` cope with all of it.

Compared with: 378 published recordings of Converse and ConverseStream.
"""

import json

import pytest

from converse_harness import bedrock
from converse_harness.cli import main
from converse_harness.cli.check import check_file
from converse_harness.recordings.format.read import read
from tests.oracle.conftest import SOME_AND_ALL
from tests.oracle.corpus.test_corpus_answers import HAS_ALL_THAT_IS_RECORDED
from tests.oracle.corpus.test_corpus_recordings import Interaction, interactions

__all__ = ["interactions"]

NOT_IN_THE_MODEL = {
    "the ConverseStreamRequest has the unknown member '_prompt_key'",  # all that a recorder kept of the request
    "the ConverseRequest has the unknown member '_prompt_key'",
    "messages[0].content[1].video.format is 'video/mp4'",  # a cassette that was made by hand
}
"""What three requests have that botocore's model does not know."""

new_enough = pytest.mark.skipif(
    tuple(map(int, bedrock.botocore_version().split("."))) < HAS_ALL_THAT_IS_RECORDED,
    reason="an older botocore lacks what AWS has modelled since",
)


@new_enough
def test_nothing_that_aws_sent_is_illegal(interactions: list[Interaction]) -> None:
    faults = {each.name: exchange.faults for each in interactions for exchange in read(each.file).exchanges}
    assert len(faults) == 378
    assert {name: found for name, found in faults.items() if found} == {}


@new_enough
def test_a_check_finds_what_the_recorders_left(interactions: list[Interaction]) -> None:
    found = [finding for each in interactions for finding in check_file(each.file).findings]
    stale = {finding.text for finding in found if finding.sort == "stale"}
    assert {text.removeprefix("the request: ").partition(";")[0] for text in stale} == NOT_IN_THE_MODEL
    assert {finding.sort for finding in found} == {"stale"}


@SOME_AND_ALL
def test_all_of_it_is_shown(interactions: list[Interaction], capsys: pytest.CaptureFixture[str], step: int) -> None:
    for each in interactions[::step]:
        assert main(["show", "--full", str(each.file)]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert f"call 1  {each.operation} " in out, each.name
        for word in _words(each):
            assert word in out, (each.name, word)


def _words(of: Interaction) -> list[str]:
    """What must be shown of an answer: the reason why it stopped, or the kind of its error."""
    if of.status >= 400:
        return [" error ", *([of.error] if of.error else [])]
    if not of.streams:
        return [json.loads(of.body)["stopReason"], " usage "]
    return [" exception "] if b"validationException" in of.body else [" stop ", " usage "]
