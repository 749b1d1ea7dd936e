"""The mutants that no test can kill, or that none needs to, with the reason."""

from collections.abc import Mapping
from typing import Final

_FAST: Final = "what is usual is only done faster here: the slow way gives the same bytes"

SURVIVORS: Final[Mapping[tuple[str, str], str]] = {
    (
        "__tracebackhide__ = True",
        "__tracebackhide__ = False",
    ): "where a line of the user is in the traceback, frames.py cuts ours anyway; the two where none is have tests",
    (
        "for branch in range(8):",
        "for branch in range( 9):",
    ): "of how many alternatives a pattern's texts are made is not promised, and each text is tried before use",
    (
        'check_parentheses(replies[0], "fake_converse")',
        'check_parentheses(replies[ -1], "fake_converse")',
    ): "there is only one",
    (
        "digest = blake2b(model_id.encode(), digest_size=16)",
        "digest = blake2b(model_id.encode(), digest_size= 17)",
    ): "digests are only compared with each other, and a longer one tells the same prompts apart",
    (
        "return _skips_filling(self, amount) or await original(self, amount)",
        "return _skips_filling(self, amount) and await original(self, amount)",
    ): "only aiobotocore comes here, and its tests are among the pinned ones, which judge no mutant",
    (
        "self._asleep = False",
        "self._asleep = True",
    ): "at first, as after a piece came: the waker is called once more than is needed, and finds nothing new",
    (
        "if event.error_code != ErrorCodes.NO_ERROR:",
        "if event.error_code > ErrorCodes.NO_ERROR:",
    ): "no code is less: that of no error is 0, and the field has no sign",
    (
        "terminal.write_line(f\"{kind}, in {number(len(tests), 'test')}\", bold=True)",
        "terminal.write_line(f\"{kind}, in {number(len(tests), 'test')}\", bold=False)",
    ): "bold is for the eye alone; the words are the same",
    (
        'if broken.type_name == "map" and broken.key.name == violation.shape:',
        'if broken.type_name == "map" and broken.key.name <= violation.shape:',
    ): "no map of AWS's API model has a name that comes after that of its keys",
    (
        'yield from _breach(asked, sent, [each for each in found if each.steps == ("modelId",)])',
        'yield from _breach(asked, sent, [each for each in found if each.steps >= ("modelId",)])',
    ): "nothing but the model id is validated, and what is missing beside it is told of the whole, (), which is less",
    (
        "views, own = list(views_of(request, 0)), own_secrets()",
        "views, own = list(views_of(request, 1)), own_secrets()",
    ): "nobody asks on which line a live request stands",
    (
        'new = self._raw_pieces(pieces) if group[0][1] == ("bytes",) else self.pieces(pieces)',
        'new = self._raw_pieces(pieces) if group[ -1][1] == ("bytes",) else self.pieces(pieces)',
    ): "the pieces of a group all have the same place",
    (
        "data = base64.b64decode(part[: len(part) // 4 * 4])",
        "data = base64.b64decode(part[: len(part) << 4 * 4])",
    ): "the length of the part is a multiple of four",
    (
        "return len(value) == _PAIR and type(value[0]) is str and type(value[1]) is str",
        "return len(value) >= _PAIR and type(value[0]) is str and type(value[1]) is str",
    ): "whether a longer list that begins with a name is a pair is not promised",
    (
        "parts = [(0, len(text))] if len(text) < _LARGE else _near_hints(kind, lowered)",
        "parts = [(0, len(text))] if len(text) <= _LARGE else _near_hints(kind, lowered)",
    ): "both ways find the same, the second faster in long texts",
    (
        "while self._spent < len(self.slots) and not self.slots[self._spent].left:",
        "while self._spent != len(self.slots) and not self.slots[self._spent].left:",
    ): "it counts up to the length one by one, and begins anew where slots go",
    (
        'return text.removeprefix(".").replace(f".{_AND_AFTER[0]}", _AND_AFTER[0])',
        'return text.removeprefix(".").replace(f".{_AND_AFTER[0]}", _AND_AFTER[ -1])',
    ): "there is only one",
    ("while at < len(block):", "while at != len(block):"): "a header that ends behind the block is refused before",
    ("return names[0]", "return names[ -1]"): "there is exactly one: else it is refused before",
    (
        'if shape.type_name == "timestamp":',
        'if shape.type_name >= "timestamp":',
    ): "no type of AWS's models has a name that comes after it",
    ("encode_item = inner[0]", "encode_item = inner[ -1]"): "there is only one",
    (
        "key = view.text if len(view.text) >= _LARGE else (view.text, view.line, view.path)",
        "key = view.text if len(view.text) > _LARGE else (view.text, view.line, view.path)",
    ): "whether a text of just that length is searched once or at each of its places is not promised",
    ("return [], False", "return [], True"): "without values there is nothing in turn",
    (
        "if len(event) != 1 or len(body) != 2 or len(delta) != 1 or type(index) is not int:",
        "if len(event) >= 1 or len(body) != 2 or len(delta) != 1 or type(index) is not int:",
    ): _FAST,
    (
        'if "text" in delta and type(text := delta["text"]) is str:',
        'if "text" in delta and type(text := delta["text"]) != str:',
    ): _FAST,
    ("for carried, member in _CARRIED.items():", "for carried, member in []:"): _FAST,
    (
        "if carried in delta and len(inner := delta[carried]) == 1 and type(text := inner[member]) is str:",
        "if carried in delta and len(inner := delta[carried]) == 2 and type(text := inner[member]) is str:",
    ): _FAST,
}
"""The line, the line that took its place -> why the tests pass all the same."""
