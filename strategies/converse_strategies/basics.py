"""Basic parts of the other strategies: decorators for composites and caching, choices, texts, names, ids and JSON
values.
"""

from __future__ import annotations

import base64
import inspect
import re
import string
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, lru_cache, partial, wraps
from itertools import chain, count
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock
from converse_strategies.arguments import KNOWN_TO_DRAW_TEXTS, bad_call, checked, no_choice, refusing
from converse_strategies.values.decoding import read_object, read_text

Json = dict[str, Any]
Texts = st.SearchStrategy[str]
P = ParamSpec("P")
Drawn = TypeVar("Drawn")
Made = TypeVar("Made")


def cached(function: Callable[P, Made]) -> Callable[P, Made]:
    """Decorate a function so that its results are cached by its arguments.

    Building a strategy takes longer than drawing from it. Calls with an unhashable argument are not cached.
    """
    # typed: otherwise the calls f(True) and f(1) would share a result
    remembered: Callable[..., Made] = lru_cache(maxsize=512, typed=True)(function)

    @wraps(function)
    def build(*args: P.args, **kwargs: P.kwargs) -> Made:
        try:
            return remembered(*args, **kwargs)
        except TypeError:  # an argument, such as a list, is not hashable
            return function(*args, **kwargs)

    return build


def composite(function: Callable[Concatenate[st.DrawFn, P], Made]) -> Callable[P, st.SearchStrategy[Made]]:
    """Work like `st.composite`, but cache the strategies, and call `st.composite` only when `function` is first used.

    The reason: `st.composite` reads the source of the function, which would take most of the time of importing this
    package. For a public function, the arguments are checked, too.
    """
    late = cache(partial(st.composite, function))
    whole = inspect.signature(function)
    signature = whole.replace(parameters=[*whole.parameters.values()][1:])
    is_public = not function.__name__.startswith("_")
    defaults = {name: each.default for name, each in signature.parameters.items()}

    @cached
    @wraps(function)
    def build(*args: P.args, **kwargs: P.kwargs) -> st.SearchStrategy[Made]:
        try:
            given: Any = checked(function.__name__, defaults, kwargs) if is_public and kwargs else kwargs
        except InvalidArgument as error:
            return refusing(error)
        build_checked: Callable[..., st.SearchStrategy[Made]] = late()
        try:
            return build_checked(*args, **given)
        except TypeError as error:  # its message names a function inside hypothesis instead of ours
            raise bad_call(function.__name__, signature, args, kwargs) or error from None

    vars(build)["__signature__"] = signature
    return build


@cached
def sampled(values: Sequence[Drawn]) -> st.SearchStrategy[Drawn]:
    """Strategy for one of the values. It shrinks to the first value."""
    return st.sampled_from(values)


def chosen(function: str, argument: str, asked: Collection[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    """Return the items of `asked` in the order of `known`; if `asked` is None, return all of `known`.

    Raises InvalidArgument for an unknown item, for an empty collection, and for a string, whose characters would be
    taken for items. The message names `function` and `argument`.

    >>> chosen("images", "formats", ["gif", "png"], ("png", "jpeg", "gif"))
    ('png', 'gif')
    """
    if asked is None:
        return tuple(known)
    if isinstance(asked, str) or not asked or any(each not in known for each in asked):
        raise no_choice(function, argument, [asked] if isinstance(asked, str) else asked, known)
    return tuple(each for each in known if each in asked)


_WORD: Final = string.ascii_lowercase + string.digits + string.ascii_uppercase + "_-"
_TOOL_USES: Final = st.integers(0, len(_WORD) ** 6 - 1)
_INTEGERS: Final = st.integers(-(2**70), 2**70)
_SCALARS: Final = st.none() | st.booleans() | _INTEGERS | st.floats(allow_nan=False, allow_infinity=False)

CACHE_POINTS: Final = st.fixed_dictionaries({"type": st.just("default")})
BLOBS: Final = st.binary(min_size=1, max_size=48)
"""Strategy for bytes that take the place of encrypted content or of a signature."""

PROMPT: Final = "arn:aws:bedrock:us-east-1:123456789012:prompt/ABCDEFGHIJ:1"
"""The ARN of a prompt in Prompt management, used as a model id. The account number is from AWS's examples."""

MODEL_IDS: Final = (
    "amazon.nova-lite-v1:0",
    "us.anthropic.claude-sonnet-4-20250514-v1:0",
    "anthropic.claude-3-haiku-20240307-v1:0",
    "ai21.jamba-1-5-mini-v1:0",
    "cohere.command-r-v1:0",
    "us.meta.llama3-1-8b-instruct-v1:0",
    "mistral.mistral-large-2402-v1:0",
    "openai.gpt-oss-20b-1:0",
    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0",
)
"""Model ids of every family, among them an inference profile and an ARN. The account number is from AWS's examples."""


@cache
def texts() -> Texts:
    """Any text that JSON can contain: `st.text()`, which draws no surrogates.

    >>> from hypothesis import find
    >>> find(texts(), lambda text: len(text) == 3)
    '000'
    """
    return _known(st.text())


def _known(texts: Texts) -> Texts:
    KNOWN_TO_DRAW_TEXTS.add(texts)
    return texts


_MOST_PIECES: Final = 200
_PIECES: Final = tuple(st.binary(min_size=least, max_size=_MOST_PIECES) for least in (1, 12, 50))
"""Strategies for the bytes of a text. The largest number is always the same, so that hypothesis can shrink a long text
to a short one.
"""


@cached
def special_texts(size: int = 0) -> Texts:
    r"""Texts like those that models send, and texts that consumers often read wrongly.

    They consist of words, of single characters, and of look-alikes such as `true`: see `values`. `size` is 0 for some
    characters, 1 for some 150, 2 for some 600: models send all of these.

    >>> from hypothesis import find
    >>> find(special_texts(), lambda text: text)
    '0'
    """
    return _known(made(_PIECES[size], read_text))


def draw_special_text(draw: st.DrawFn, size: int) -> str:
    """Draw a text as `special_texts` does, in one draw instead of two: each takes time."""
    return read_text(draw(_PIECES[size]))


@cached
def any_texts() -> Texts:
    """Any text: one of `texts()`, or more often one of `special_texts()`.

    >>> from hypothesis import find
    >>> find(any_texts(), lambda text: True)
    ''
    """
    return _known(_one_of((texts(), special_texts(), special_texts(), special_texts(1))))


@composite
def _one_of(draw: st.DrawFn, choices: tuple[st.SearchStrategy[Drawn], ...]) -> Drawn:
    """Draw from one of the strategies. One that occurs twice is drawn twice as often, which st.one_of does not do."""
    return draw(choices[draw(st.integers(0, len(choices) - 1))])


@cached
def special_objects(*, wide: bool = False) -> st.SearchStrategy[dict[str, Any]]:
    """JSON objects like the inputs that models send to tools, with values that consumers often read wrongly.

    There are scalars of every type, look-alikes, arrays of up to ten items, and values five levels deep. If `wide` is
    true, most objects have 3 to 15 members, otherwise up to two.

    >>> from hypothesis import find
    >>> find(special_objects(), lambda value: len(value) > 2)
    {'a': None, 'b': None, 'c': None}
    """
    return made(st.binary(min_size=8, max_size=80) if wide else st.binary(max_size=80), read_object)


@composite
def made(draw: st.DrawFn, values: st.SearchStrategy[Drawn], make: Callable[[Drawn], Made]) -> Made:
    """Draw from `values.map(make)` in such a way that counterexamples show the result.

    For a value of `map` or `builds`, hypothesis prints the call of our private function `make`, which users cannot
    paste into a test.

    >>> from hypothesis import find
    >>> find(made(texts(), str.upper), lambda text: "A" in text)
    'A'
    """
    return make(draw(values))


@lru_cache
def visible_texts(texts: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[str]:
    """Texts that Bedrock accepts in a request: neither empty nor only white space.

    `texts` is the strategy to draw from, by default any text; a blank text gets one more character.

    >>> from hypothesis import find
    >>> find(visible_texts(), lambda text: True)
    '0'
    """
    return _known(made(st.text(min_size=1) if texts is None else texts, visible))


def visible(text: str) -> str:
    """Return the text; if the text is blank, add one character.

    >>> visible(" ")
    ' 0'
    """
    return text if text.strip() else text + "0"


def distinct(name: str, used: set[str], most: int) -> str:
    """Return a unique name, and add it to `used`. If `used` contains `name`, a number is put at its end.

    A name with such a number has at most `most` characters; `name` is shortened if necessary.

    >>> used = set()
    >>> [distinct("tool", used, 4) for _ in range(3)]
    ['tool', 'too1', 'too2']
    """
    numbered = (f"{name[: most - len(str(number))]}{number}" for number in count(1))
    unique = next(each for each in chain([name], numbered) if each not in used)
    used.add(unique)
    return unique


@cache
def tool_names() -> st.SearchStrategy[str]:
    """Names of tools: 1 to 64 of the characters `a-zA-Z0-9_-`.

    >>> from hypothesis import find
    >>> find(tool_names(), lambda name: True)
    '0'
    """
    return st.text(_WORD, min_size=1, max_size=64)


@cached
def tool_use_types() -> st.SearchStrategy[dict[str, str]]:
    """The `type` of a tool use that a client must run: none, or "tool_use", as some models send it.

    None is drawn if the installed botocore cannot parse the member.
    """
    parsed = bedrock.has_member("ToolUseBlock", "type")
    return st.sampled_from(({}, {"type": "tool_use"})) if parsed else st.just(dict[str, str]())


@composite
def tool_use_ids(draw: st.DrawFn) -> str:
    """Ids of tool uses, mostly in the form that most model families have in recorded answers; also as of GPT and Kimi.

    Those of Kimi are not drawn if the installed botocore's model does not allow their dots and colons.

    >>> from hypothesis import find
    >>> find(tool_use_ids(), lambda id: True)
    'tooluse_aaaaaaaaaaaaaaaaaaaaaa'
    >>> find(tool_use_ids(), lambda id: ":" in id)
    'functions.look:0'
    """
    return tool_use_id(draw(_TOOL_USES))


def tool_use_id(number: int) -> str:
    """Return the id of a tool use that `number` selects.

    >>> tool_use_id(1)
    'tooluse_aaaaaaaaaaaaaaaaaaaaab'
    """
    if number % 16 in _other_forms():
        number, form = divmod(number, 16)
        return f"call_{number:032x}" if form == _GPT else f"functions.look:{number}"
    name = ""
    while number:
        number, rest = divmod(number, len(_WORD))
        name = _WORD[rest] + name
    return f"tooluse_{name.rjust(22, _WORD[0])}"


_GPT: Final = 14
_KIMI: Final = 15
"""Of the remainders of a number by 16, those that select a form of an id."""


@cache
def _other_forms() -> tuple[int, ...]:
    allowed = bedrock.shape("ToolUseId").metadata["pattern"]
    return (_GPT, _KIMI) if re.fullmatch(allowed, "functions.look:0") else (_GPT,)


@cached
def signatures() -> st.SearchStrategy[str]:
    """Signatures of reasoning, in base64.

    >>> from hypothesis import find
    >>> find(signatures(), lambda text: True)
    'AA=='
    """
    return made(BLOBS, lambda blob: base64.b64encode(blob).decode())


@cached
def json_values() -> st.SearchStrategy[Any]:
    """Any JSON value that survives a JSON round trip: no NaN, no infinity, integers of up to 70 bits.

    >>> import json
    >>> from hypothesis import find
    >>> find(json_values(), lambda value: isinstance(value, dict) and value)
    {'': None}
    """
    # st.recursive is not used, because it takes twice as long. The recursion ends: only two of seven alternatives are
    # containers, and a container has at most two items.
    nested = st.deferred(json_values)
    return _SCALARS | texts() | st.lists(nested, max_size=2) | st.dictionaries(texts(), nested, max_size=2)


@cache
def json_objects() -> st.SearchStrategy[dict[str, Any]]:
    """JSON objects, such as the input of a tool. A few have many members, or are deep.

    >>> from hypothesis import find
    >>> find(json_objects(), lambda value: True)
    {}
    """
    special = special_objects()
    return _one_of((st.dictionaries(texts(), json_values(), max_size=2), special, special, special_objects(wide=True)))


@cache
def model_ids() -> st.SearchStrategy[str]:
    """Ids of existing models, one or more of every family; also inference profiles and an ARN.

    >>> from hypothesis import find
    >>> find(model_ids(), lambda id: "claude" in id)
    'us.anthropic.claude-sonnet-4-20250514-v1:0'
    """
    return st.sampled_from(MODEL_IDS)


@composite
def faker_texts(draw: st.DrawFn, *, locale: str = "en_US", min_words: int = 1, max_words: int = 12) -> str:
    """Sentences of words that Faker has for a locale: readable texts, for the argument `texts` of other strategies.

    hypothesis reproduces and shrinks the sentences: towards fewer words, and towards the first word of Faker's list.
    Raises InvalidArgument, when drawn, for a locale that Faker does not have.

    >>> from hypothesis import find
    >>> len(find(faker_texts(min_words=2), lambda text: True).split())
    2
    """
    words = draw(st.lists(st.sampled_from(_faker_words(locale)), min_size=min_words, max_size=max_words))
    return " ".join(words).capitalize() + "."


@cache
def _faker_words(locale: str) -> tuple[str, ...]:
    from faker import Faker

    try:
        return tuple(dict.fromkeys(Faker(locale).get_words_list()))
    except AttributeError as error:
        raise InvalidArgument(
            f"faker_texts(locale={locale!r}): Faker has no such locale. A locale is written as en_US, de_CH or ja_JP."
        ) from error


Value = dict[str, Any]

Values = st.SearchStrategy[Value]

T = TypeVar("T")

_Members = tuple[tuple[str, st.SearchStrategy[Any]], ...]

RARELY: Final = st.sampled_from((False, False, False, True))

INDEXES: Final = st.integers(0, 9)
"""Strategy for the indexes of blocks, documents and search results."""


def some(texts: Texts | None) -> Texts:
    """Return `texts`; if `texts` is None, return a strategy for any text.

    If `texts` is not a strategy, the returned strategy raises InvalidArgument when a value is drawn.
    """
    if texts is None:
        return _known(st.text())
    return texts if isinstance(cast("object", texts), st.SearchStrategy) else st.just(texts).map(_refuse)


def _refuse(texts: object) -> str:
    raise InvalidArgument(
        f"texts={texts!r} is no strategy. Give a hypothesis strategy of texts, such as st.text(max_size=20) or "
        "converse_strategies.faker_texts(); without texts= it is st.text()."
    )


def dicts(required: Mapping[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> Values:
    """Return a strategy for dicts with the members in `required`. Each member in `optional` is present or absent.

    This function and the next ones cache their strategies, so a function that only calls them needs no `@cached`.
    """
    return _dicts(tuple(required.items()), tuple(optional.items()))


@cached
def _dicts(required: _Members, optional: _Members) -> Values:
    return st.fixed_dictionaries(dict(required), optional=dict(optional))


@cached
def tagged(tag: str, values: st.SearchStrategy[Any]) -> Values:
    """Return a strategy for dicts with one member, whose name is `tag`."""
    return st.fixed_dictionaries({tag: values})


@cached
def either(**values: st.SearchStrategy[Any]) -> Values:
    """Return a strategy for dicts with exactly one of the members in `values`. They shrink to the first member."""
    return st.one_of(*(tagged(tag, each) for tag, each in values.items()))


@cached
def or_none(values: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    """Return a strategy for values of `values` and for None. None counts as less simple: it shrinks to a value of
    `values`.
    """
    return st.one_of(values, st.none())


@composite
def built(draw: st.DrawFn, make: Callable[..., T], *parts: st.SearchStrategy[Any]) -> T:
    """Draw a value of each of `parts`, call `make` with these values, and return the result.

    `st.builds` does the same, but with it a counterexample shows the call of `make` instead of the result.
    """
    return make(*(draw(part) for part in parts))


@composite
def rarely(draw: st.DrawFn, values: Values, extra: Values) -> Value:
    """Draw a dict from `values`. One such dict in four is extended with the members of a dict from `extra`.

    Use this for members that are slow to draw, or that models rarely send.
    """
    value = draw(values)
    return {**value, **draw(extra)} if draw(RARELY) else value
