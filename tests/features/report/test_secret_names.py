"""The names of tests in the page of a run have no secret in them."""

from tests.plugin.recording.test_secret_names import _seen, _written, variants
from tests.plugin.upstream import Upstream

__all__ = ["variants"]


def test_no_name_has_a_secret(variants: Upstream) -> None:
    result = variants.record("--converse-report=r.html")
    assert result.parseoutcomes()["failed"] == 1  # which shows its name in more places
    assert _seen(variants.project, result) == []
    assert "test_fixture[***]" in _written(variants.project)["r.html"]
