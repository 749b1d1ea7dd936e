"""Every public function and class has an example that runs: in its docstring, or in one of its members."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from tests.house import public_api

WITHOUT: Final = {
    "converse_harness.ConverseNoteWarning": "the plugin warns with it at the end of a test",
    "converse_harness.JournalWarning": "it needs a killed process or a full disk",
    "converse_harness.MaskedSecretWarning": "it needs a recording with a masked signature",
    "converse_harness.NotedCall": "the plugin fails a test with it",
    "converse_harness.SecretFound": "it needs a recording with a secret that cannot be masked",
    "converse_harness.StaleRequests": "the plugin fails a test with it",
    "converse_harness.TransportError": "it needs a library that is not as expected",
    "converse_harness.contract.NotHandled": "a contract fails its tests with it",
    "converse_harness.contract.SetUpFailed": "a contract fails its tests with it",
    "converse_harness.recording": "the example of `record` plays one",
    "converse_strategies.ConversationMachine": "the example of `conversation_machine` runs one",
}
"""The public names without an example of their own, and why."""


def public_names() -> Iterator[tuple[str, Any]]:
    """The public functions and classes by their dotted names; of the vocabulary, whose names are many, its modules."""
    for module_name in public_api.MODULES:
        module = import_module(module_name)
        for name in public_api.ONLY.get(module_name) or getattr(module, "__all__", None) or dir(module):
            value = getattr(module, name)
            if inspect.isclass(value) or (callable(value) and hasattr(value, "__name__")):
                yield f"{module_name}.{name}", value
    for module_name in public_api.vocabulary():
        yield module_name, import_module(module_name)


def examples(value: Any) -> str:
    """The docstrings with an example of an object and of what is public in it."""
    members = (
        [
            member
            for name, member in vars(value).items()
            if not name.startswith("_") and getattr(member, "__module__", "") == value.__module__
        ]
        if inspect.isclass(value)
        else []
    )
    if inspect.ismodule(value):
        members = [each for each in vars(value).values() if getattr(each, "__module__", "") == value.__name__]
    texts = [value.__doc__ or "", *(inspect.getdoc(member) or "" for member in members)]
    return "\n".join(text for text in texts if ">>> " in text)


def test_every_public_name_has_an_example_that_runs() -> None:
    names = dict(public_names())
    assert len(names) > 150
    assert {name for name, value in names.items() if not examples(value)} == WITHOUT.keys()
