"""The settings of fakes. Each is declared once, in a TypedDict; what takes, reads, checks or lists settings derives.

Every start of pytest imports this module, so it imports no other module of the project at its top. It does without
`from __future__ import annotations`, because a declaration is part of an annotation, and is read when it runs.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from textwrap import fill
from typing import Annotated, Any, Final, Literal, NamedTuple, NoReturn, TypedDict, TypeVar, cast, get_args

Strictness = Literal["fail", "allow"]
"""Whether unused replies, or unexpected calls, make the test fail ("fail") or not ("allow")."""

RuleLevel = Literal["off", "warn", "default", "strict"]
"""How strictly Bedrock's rules are applied to requests; `LEVELS` describes each level."""

RuleLevels = RuleLevel | Mapping[str, RuleLevel]
"""One level for all rules, or levels by the names of rules; "*" stands for all rules that have no level of their own.
"""

LEVELS: Final[Mapping[RuleLevel, str]] = {
    "off": "answer every request",
    "warn": "answer as scripted, with a note for each request that Bedrock would refuse",
    "default": "refuse requests that Bedrock refuses for the requested model",
    "strict": "refuse also model ids that Bedrock does not accept",
}

AnswerLevel = Literal["rules", "off", "warn", "default", "strict"]
"""How strictly answers are compared with what they need in their requests; `ANSWER_LEVELS` describes each level."""

AnswerLevels = AnswerLevel | Mapping[str, RuleLevel]
"""One level for the whole table, or levels by the names of its rows; "*" stands for all rows without a level of their
own, which otherwise have the level of the rules.
"""

ANSWER_LEVELS: Final[Mapping[AnswerLevel, str]] = {
    "rules": "the level of the rules",
    "off": "send every answer as scripted, without a note",
    "warn": "make a note of each answer that Bedrock does not give to its request",
    "default": "the same",
    "strict": "fail the test if Bedrock never gives such an answer, otherwise make a note",
}

HistoryLevel = Literal["note", "fail", "off"]
"""The reaction of the fake to a request that changes an earlier answer."""

HISTORY_LEVELS: Final[Mapping[HistoryLevel, str]] = {
    "note": "answer as scripted, and make a note of the change",
    "fail": "answer as scripted, and fail the test",
    "off": "do not compare answers",
}


class Allowed(NamedTuple):
    """The allowed values of one setting: a function that tests a value, and a text for errors about the values."""

    test: Callable[[Any], bool]
    said: str
    in_json: str = ""
    """A different text for callers of the control API; "" if the text is the same."""
    in_text: str = ""
    """A different text for the command line and ini file, where each value is a str; "" if the text is the same."""
    read: Callable[[str], object] = str
    """Converts a str of the command line or ini file to the value; a str that stands for no value stays as it is."""
    none: str = ""
    """The word for None on the command line and in the ini file."""
    choices: tuple[str, ...] = ()
    least: int | None = None
    names: str = ""
    """For a value that maps names: the function which returns an error text about an unknown name, or "", as
    `module:function`. It is imported only for such a value."""


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _read_bool(text: str) -> object:
    return _WORDS.get(text.lower(), text)


def _is_models(value: object) -> bool:
    if not isinstance(value, Mapping):
        return value is None
    models = cast("Mapping[object, object]", value)
    return all(isinstance(each, str) for item in models.items() for each in item)


_MODELS: Final = 'it maps globs of model ids to model ids, as {{"arn:*": "us.amazon.nova-lite-v1:0"}}, or is {none}.'

_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")

_WORDS: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}

YES_OR_NO: Final = Allowed(_is_bool, "it is True or False.", "it is true or false.", "it is yes or no.", _read_bool)


def _one_of(choices: tuple[str, ...], said: str = "") -> Allowed:
    said = said or ", ".join(map(repr, choices))

    def test(value: object) -> bool:
        return isinstance(value, str) and value in choices

    return Allowed(test, f"one of {said}.", choices=choices)


def _level(meanings: Mapping[Any, str]) -> Allowed:
    return _one_of(tuple(meanings), ", ".join(f'"{name}" ({meaning})' for name, meaning in meanings.items()))


_OTHERS: Final = "*"
"""The key of a mapping of RuleLevels that stands for all rules without a key of their own."""


def _is_level(value: object) -> bool:
    return isinstance(value, str) and value in LEVELS


def _rule_levels(meanings: Mapping[Any, str], kind: str, example: str, names: str) -> Allowed:
    """Return the rule for levels, with their meanings. They may be given by the names of a `kind` of things, such as
    `example`. `names` is that of Allowed.
    """

    def test(value: object) -> bool:
        if isinstance(value, Mapping):
            levels = cast("Mapping[object, object]", value)
            return all(isinstance(name, str) and _is_level(each) for name, each in levels.items())
        return isinstance(value, str) and value in meanings

    def read(text: str) -> object:
        if not {",", "="} & {*text}:
            return text
        parts = (part.rpartition("=") for part in text.split(","))
        return {(name if equals else _OTHERS).strip(): level.strip() for name, equals, level in parts}

    one = _level(meanings).said.removesuffix(".")
    return Allowed(
        test,
        f'{one}; or it maps names of {kind} to these, as {{"{example}": "off"}}, with "*" for all other {kind}.',
        f'{one}; or an object of these by names of {kind}, as {{"{example}": "off"}}, with "*" for all others.',
        f"{one}; or with exceptions, such as default,{example}=off.",
        read,
        choices=tuple(meanings),
        names=names,
    )


def rule_levels(given: AnswerLevels, others: RuleLevel = "default") -> tuple[RuleLevel, dict[str, RuleLevel]]:
    """Return the level of all rules, and the levels of single rules by their names. `others` is the level of all rules
    if `given` has none for them, or is "rules".

    >>> rule_levels({"*": "strict", "some_cite_nothing": "off"})
    ('strict', {'some_cite_nothing': 'off'})
    """
    if isinstance(given, str):
        return others if given == "rules" else given, {}
    single = dict(given)
    return single.pop(_OTHERS, others), single


def unknown_name(setting: str, value: object) -> str:
    """Return the text of an error about the first name in the value of a setting that nothing has; "" if there is none.

    >>> unknown_name("rules", {"some_cite_nothing": "off"}), unknown_name("rules", "strict")
    ('', '')
    """
    names = SETTINGS[setting].allowed.names
    if not names or not isinstance(value, Mapping):
        return ""
    module, _, function = names.partition(":")
    unknown: Callable[[str], str] = getattr(import_module(module), function)
    given = [name for name in cast("Mapping[str, object]", value) if name != _OTHERS]
    return next((f"{name}: {text}" for name in given if (text := unknown(name))), "")


def _number(least: int | None = None, unit: str = "", none: str = "", meaning: str = "") -> Allowed:
    """Return the rule for whole numbers. If `none` is given, None is allowed; `none` is its word in texts."""

    def test(value: object) -> bool:
        return (type(value) is int and (least is None or value >= least)) or (bool(none) and value is None)

    def read(text: str) -> object:
        return None if none and text == none else int(text) if _WHOLE.fullmatch(text) else text

    number = f"it is a whole number{unit}{'' if least is None else f' from {least}'}"
    if not none:
        return Allowed(test, f"{number}.", read=read, least=least)
    said, in_json, in_text = (f"{number}, or {each} {meaning}." for each in ("None", "null", none))
    return Allowed(test, said, in_json, in_text, read, none, least=least)


Where = Literal["marker", "option", "http", "serve"]
"""Where a setting can be given, besides Python: as an argument of the marker `converse` and in pytest's ini file, as an
option of pytest, over HTTP, and as an option of `converse-harness serve`."""

_PYTEST: Final[tuple[Where, ...]] = ("marker", "option")


class Setting(NamedTuple):
    """The declaration of one setting.

    `meaning` completes the sentence "the setting decides ...". It may have links to the pages of `docs`.
    """

    default: Any
    allowed: Allowed
    meaning: str
    where: tuple[Where, ...]
    example: object = None
    """A value for pages; None if `choices` or the default show enough."""
    of_server: Any = None
    """The default for the fakes of a ConverseServer and of `converse-harness serve`; None if it is the same."""

    @property
    def plain(self) -> str:
        """The meaning without links."""
        return re.sub(r"\[(.*?)\]\(.*?\)", r"\1", self.meaning)

    def text(self, value: object) -> str:
        """Return a value as the command line and the ini file have it."""
        if value is None:
            return self.allowed.none
        if isinstance(value, Mapping):
            items = cast("Mapping[str, object]", value).items()
            return ",".join(str(level) if name == _OTHERS else f"{name}={level}" for name, level in items)
        return ("yes" if value else "no") if isinstance(value, bool) else str(value)

    def help(self, default: object) -> str:
        """Return the text about the setting's option in `--help`."""
        *others, last = self.allowed.choices or ("",)
        listed = f"{', '.join(others)} or {last}" if last else ""
        values = listed or self.allowed.in_text or self.allowed.said
        values = values.removeprefix("it is ").removesuffix(".")
        return f"{self.plain}: {values} (default: {self.text(default)})"


class FakeSettings(TypedDict, total=False):
    """The settings of a Fake that are not those of its Endpoint."""

    unused: Annotated[
        Strictness,
        Setting(
            "fail",
            _one_of(get_args(Strictness)),
            "whether a test that leaves replies unused fails",
            (*_PYTEST, "http"),
        ),
    ]
    unexpected: Annotated[
        Strictness,
        Setting(
            "fail",
            _one_of(get_args(Strictness)),
            "whether a test fails if its client makes a call that is not scripted, or that "
            "[Bedrock would refuse](rules.md)",
            (*_PYTEST, "http"),
        ),
    ]
    sleeps: Annotated[bool, Setting(False, YES_OR_NO, "whether clients really wait between retries", _PYTEST)]
    attempts: Annotated[
        int | None,
        Setting(
            None,
            _number(1, "", "client", "for what each client is set to"),
            "how many times at most botocore's clients try a call; with 1 the agent sees a "
            "[throttled reply](scripting.md#retries) at once",
            _PYTEST,
            1,
        ),
    ]


class EndpointSettings(TypedDict, total=False):
    """The settings of an Endpoint, which are also settings of a Fake."""

    rules: Annotated[
        RuleLevels,
        Setting(
            "default",
            _rule_levels(LEVELS, "rules", "some_cite_nothing", "converse_harness.bedrock.rules:unknown_rule"),
            "how strictly requests are checked against [Bedrock's rules](rules.md#levels), or against single rules",
            (*_PYTEST, "http", "serve"),
            {"some_cite_nothing": "off"},
        ),
    ]
    answers: Annotated[
        AnswerLevels,
        Setting(
            "rules",
            _rule_levels(ANSWER_LEVELS, "rows", "tool_is_offered", "converse_harness.bedrock.fit:unknown_fit"),
            "how strictly answers are checked against [what they need in the request](answers.md)",
            (*_PYTEST, "http", "serve"),
            {"tool_is_offered": "off"},
        ),
    ]
    history: Annotated[
        HistoryLevel,
        Setting(
            "note",
            _level(HISTORY_LEVELS),
            "whether a request that [changes an earlier answer](conversation.md) gives a note, a failure or nothing",
            (*_PYTEST, "http", "serve"),
        ),
    ]
    seed: Annotated[int, Setting(0, _number(), "which ids and padding lengths are generated", (*_PYTEST, "http"), 1)]
    cache_minimum: Annotated[
        int | None,
        Setting(
            None,
            _number(0, " of tokens", "model", "for each model's own minimum"),
            "how many tokens a prompt needs at least to be [cached](cache.md#short-prompts), in place of each model's "
            "own minimum",
            _PYTEST,
            0,
        ),
    ]
    models: Annotated[
        Mapping[str, str] | None,
        Setting(
            None,
            Allowed(
                _is_models,
                _MODELS.format(none="None"),
                _MODELS.format(none="null"),
            ),
            "which model a [model id](rules.md#models) such as an ARN stands for",
            ("marker",),
            {"my-alias": "us.amazon.nova-lite-v1:0"},
        ),
    ]
    keep_calls: Annotated[
        int | None,
        Setting(
            None,
            _number(1, "", "all", "to keep all calls"),
            "how many calls a fake keeps to be looked at, the last ones",
            ("http", "serve"),
            1000,
            # A server may run for days, and a call takes 10 to 100 KB. Python's garbage collector stops the server's
            # thread while it visits all objects: with 10,000 short calls for up to 90 ms, with 2,000 for 22 to 38 ms,
            # which is the time for the modules alone.
            of_server=2_000,
        ),
    ]


class Settings(FakeSettings, EndpointSettings, total=False):
    """The settings of a Fake: optional keyword arguments."""


def _declared(kind: type) -> Mapping[str, Setting]:
    return {name: get_args(hint)[1] for name, hint in kind.__annotations__.items()}


SETTINGS: Final = _declared(Settings)
"""Maps the name of each setting of a Fake to its declaration."""

OF_ENDPOINT: Final = _declared(EndpointSettings)
"""The part of SETTINGS that are settings of an Endpoint."""

DEFAULTS: Final[Mapping[str, Any]] = {name: setting.default for name, setting in SETTINGS.items()}
"""Maps the name of each setting to its default."""

ONLY_SERVER: Final[Mapping[str, Any]] = {
    name: setting.of_server for name, setting in SETTINGS.items() if setting.of_server is not None
}
"""Maps the name of each setting whose default differs for the fakes of a server to this default."""

_F = TypeVar("_F", bound=Callable[..., Any])


def shows_settings(kind: type, defaults: Mapping[str, Any] = DEFAULTS) -> Callable[[_F], _F]:
    """Return a decorator for a function or class that takes the settings of a TypedDict as `**settings`.

    `inspect.signature` and `help` then show the name, type and default of each setting in place of `**settings`. If a
    class is decorated, its docstring gets a list of the settings. `defaults` are those of this function or class, where
    they differ from DEFAULTS.

    >>> @shows_settings(FakeSettings)
    ... def make(**settings): ...
    >>> inspect.signature(make).parameters["attempts"].default is None
    True
    """
    types = {name: get_args(hint)[0] for name, hint in kind.__annotations__.items()}

    def shown(made: _F) -> _F:
        taker: Any = made
        function: Any = vars(taker)["__init__"] if isinstance(taker, type) else taker
        signature = inspect.signature(function)
        others = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        settings = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name, DEFAULTS[name]),
                annotation=annotation,
            )
            for name, annotation in types.items()
        ]
        function.__signature__ = signature.replace(parameters=[*others, *settings])
        if function is not taker and taker.__doc__:
            texts = (f"- `{name}`: {SETTINGS[name].plain}; {SETTINGS[name].allowed.said}" for name in types)
            texts = (re.sub(r"{.*?}", r"`\g<0>`", each) for each in texts)  # as code, since `*` is markup
            listed = (fill(each, 100, subsequent_indent="  ", break_on_hyphens=False) for each in texts)
            taker.__doc__ = "\n".join((inspect.cleandoc(taker.__doc__), "", "The settings:", "", *listed))
        return made

    return shown


def check_settings(
    given: Mapping[str, object],
    by: str = "",
    more: Mapping[str, Allowed] | None = None,
    of: Mapping[str, Setting] = SETTINGS,
) -> None:
    """Raise ReplyError for a setting that does not exist, and for a value that a setting does not allow.

    `by` is the name of the function or marker to which the settings were given; `more` are further settings that this
    function or marker allows. `of` are the settings of fakes that it allows.
    """
    more = more or {}
    for name, value in given.items():
        allowed = more.get(name) or (of[name].allowed if name in of else None)
        if allowed is None or not allowed.test(value):
            _refuse(name, value, by, {**{each: setting.allowed for each, setting in of.items()}, **more})


def _refuse(name: str, value: object, by: str, known: Mapping[str, Allowed]) -> NoReturn:
    from converse_harness.errors import Advice, Argument, ReplyError, quoted_whole
    from converse_harness.words import nearest

    setting = Argument(by, name, value=quoted_whole(value)), ": " if by else "; "
    if name in known:
        raise ReplyError(*setting, Advice(known[name].said, known[name].in_json or known[name].said))
    close = nearest(name, known)
    hint = f"did you mean {close}=? " if close else ""
    settings = ", ".join(f"{each}=" for each in known)
    raise ReplyError(*setting, f"no setting has this name. {hint}Settings: {settings}.")
