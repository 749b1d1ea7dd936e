"""Arguments that are a choice among what the installed botocore's model has."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hypothesis.errors import InvalidArgument

from converse_harness import bedrock


def chosen(function: str, argument: str, asked: Collection[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    """What was asked for in the order of what is known, all of it for None.

    Raises InvalidArgument for what is not known, for nothing at all, and for a bare string, which would be a choice of
    its characters.

    >>> chosen("images", "formats", ["gif", "png"], ("png", "jpeg", "gif"))
    ('png', 'gif')
    """
    if asked is None:
        return tuple(known)
    unknown = [repr(each) for each in asked if each not in known]
    if unknown or isinstance(asked, str) or not asked:
        raise InvalidArgument(
            f"{function}({argument}={asked!r}): {', '.join(unknown) or repr(asked)} is no choice of {argument}. Give a "
            f"list of some of: {', '.join(known)} (botocore {bedrock.botocore_version()})."
        )
    return tuple(each for each in known if each in asked)
