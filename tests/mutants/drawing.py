"""Mutants drawn by a seed: one small change in the body of a function, by the operators of cosmic-ray."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider

from tests.mutants.topics import LEFT_OUT, WORDINGS

_PROVIDED = OperatorProvider()
OPERATORS: Final = {
    name: _PROVIDED[name]
    for name in sorted(_PROVIDED)
    if not _PROVIDED[name].arguments() and not name.endswith(tuple(f"Operator_{each}" for each in LEFT_OUT))
}
"""Those that need no names of variables given."""

_Place = tuple[int, int]
"""Line, from 1, and column, from 0 and in characters."""


@dataclass(frozen=True)
class Mutant:
    """A change of one line: the occurrence of what an operator of cosmic-ray replaces, in a file below the root."""

    file: str
    line: int
    operator: str
    occurrence: int
    before: str
    after: str

    @property
    def change(self) -> tuple[str, str, str]:
        """What it is wherever in its file it stands."""
        return self.file, self.before, self.after

    def apply(self, source: str) -> str:
        """The changed source; `ValueError` if the line is not the one that was drawn."""
        mutated = mutate_code(source, OPERATORS[self.operator](), self.occurrence)
        if mutated is None or _difference(source, mutated) != (self.before, self.after):
            raise ValueError(f"{self.file}:{self.line} is not the line that was drawn: {self.before}")
        return str(mutated)


def draw(count: int, *, seed: int, files: Iterable[Path], root: Path) -> list[Mutant]:
    """Mutants of different lines, each line as likely as another whatever may be changed in it.

    Chance is a hash of the line: where the product changes, the mutants of other lines stay the same.
    """
    lines: list[tuple[str, Path, int, list[tuple[str, int]]]] = []
    for file in sorted(set(files)):
        texts = file.read_text(encoding="utf-8").splitlines()
        before = Counter[str]()
        for line, found in _mutations(file).items():
            text = texts[line - 1].strip()
            before[text] += 1
            lines.append((_hash(seed, file.relative_to(root), text, before[text]), file, line, found))
    drawn = (
        _mutant(file, line, *min(found, key=lambda each: _hash(chance, *each)), root)
        for chance, file, line, found in sorted(lines)
    )
    return sorted(islice(filter(None, drawn), count), key=lambda mutant: (mutant.file, mutant.line))


def _hash(*values: object) -> str:
    return sha256(repr([str(value) for value in values]).encode()).hexdigest()


def _mutations(file: Path) -> dict[int, list[tuple[str, int]]]:
    source = file.read_text(encoding="utf-8")
    tree = ast.parse(source)
    bodies = set(_body_lines(tree))
    wordings = list(_wordings(tree, source, file))
    nodes = list(ast_nodes(get_ast(source)))
    found: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for name, operator in OPERATORS.items():
        positions = (position for node in nodes for position in operator().mutation_positions(node))
        for occurrence, (start, end) in enumerate(positions):
            in_words = any(first <= start and end <= last for first, last in wordings)
            if bodies.issuperset(range(start[0], end[0] + 1)) and not in_words:
                found[start[0]].append((name, occurrence))
    return dict(sorted(found.items()))


def _body_lines(tree: ast.AST) -> Iterator[int]:
    """The lines of functions' bodies, without docstrings, signatures and annotations of names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = [each for statement in node.body for each in ast.walk(statement)]
            without = set(_lines(each for each in inside if isinstance(each, ast.AnnAssign) or _is_text(each)))
            for each in inside:
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                    without |= set(range(each.lineno, each.body[0].lineno))
            yield from set(_lines(node.body)) - without


def _wordings(tree: ast.AST, source: str, file: Path) -> Iterator[tuple[_Place, _Place]]:
    """Where f-strings, and the functions that only make messages, begin and end."""
    named = {name for path, names in WORDINGS.items() if file.as_posix().endswith(path) for name in names}
    lines = source.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.FunctionDef) and node.name in named):
            end = node.end_lineno or node.lineno
            # Columns of `ast` are bytes.
            columns = [
                len(lines[line - 1].encode()[:column].decode())
                for line, column in ((node.lineno, node.col_offset), (end, node.end_col_offset or 0))
            ]
            yield (node.lineno, columns[0]), (end, columns[1])


def _lines(nodes: Iterable[ast.AST]) -> Iterator[int]:
    for node in nodes:
        assert isinstance(node, ast.stmt)
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _mutant(file: Path, line: int, operator: str, occurrence: int, root: Path) -> Mutant | None:
    source = file.read_text(encoding="utf-8")
    try:
        mutated = str(mutate_code(source, OPERATORS[operator](), occurrence))
        ast.parse(mutated)  # some operators take `{**members}` for an operator between two values
    except (AttributeError, SyntaxError):  # ExceptionReplacer does not know `except (module.Error, OtherError)`
        return None
    return Mutant(str(file.relative_to(root)), line, operator, occurrence, *_difference(source, mutated))


def _difference(source: str, mutated: str) -> tuple[str, str]:
    """The lines that differ, from the first to the last."""
    old, new = source.splitlines(), mutated.splitlines()
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    return "\n".join(old[start : len(old) - end]), "\n".join(new[start : len(new) - end])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
