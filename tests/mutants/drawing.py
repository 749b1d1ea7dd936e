"""Mutants drawn by a seed: one small change in the body of a function, by the operators of cosmic-ray."""

import ast
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider

_PROVIDED = OperatorProvider()
OPERATORS = {name: _PROVIDED[name] for name in _PROVIDED if not _PROVIDED[name].arguments()}
"""Those that need no names of variables given."""


@dataclass(frozen=True)
class Mutant:
    """A change of one line: the occurrence of what an operator of cosmic-ray replaces, in a file below the root."""

    file: str
    line: int
    operator: str
    occurrence: int
    before: str
    after: str

    def apply(self, source: str) -> str:
        """The changed source; `ValueError` if the line is not the one that was drawn."""
        mutated = mutate_code(source, OPERATORS[self.operator](), self.occurrence)
        if mutated is None or _difference(source, mutated) != (self.before, self.after):
            raise ValueError(f"{self.file}:{self.line} is not the line that was drawn: {self.before}")
        return str(mutated)


def draw(count: int, *, seed: int, files: Iterable[Path], root: Path) -> list[Mutant]:
    """Mutants of different lines, each line as likely as another whatever may be changed in it."""
    chance = random.Random(seed)
    lines = [(file, line, found) for file in sorted(files) for line, found in _mutations(file).items()]
    chance.shuffle(lines)
    drawn = (_mutant(file, line, *chance.choice(found), root) for file, line, found in lines)
    return sorted(islice(filter(None, drawn), count), key=lambda mutant: (mutant.file, mutant.line))


def _mutations(file: Path) -> dict[int, list[tuple[str, int]]]:
    source = file.read_text(encoding="utf-8")
    bodies = set(_body_lines(source))
    nodes = list(ast_nodes(get_ast(source)))
    found: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for name, operator in OPERATORS.items():
        positions = (position for node in nodes for position in operator().mutation_positions(node))
        for occurrence, ((line, _), (end, _)) in enumerate(positions):
            if bodies.issuperset(range(line, end + 1)):
                found[line].append((name, occurrence))
    return dict(sorted(found.items()))


def _body_lines(source: str) -> Iterator[int]:
    """The lines of functions' bodies, without docstrings, signatures and annotations of names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = [each for statement in node.body for each in ast.walk(statement)]
            without = set(_lines(each for each in inside if isinstance(each, ast.AnnAssign) or _is_text(each)))
            for each in inside:
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                    without |= set(range(each.lineno, each.body[0].lineno))
            yield from set(_lines(node.body)) - without


def _lines(nodes: Iterable[ast.AST]) -> Iterator[int]:
    for node in nodes:
        assert isinstance(node, ast.stmt)
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _mutant(file: Path, line: int, operator: str, occurrence: int, root: Path) -> Mutant | None:
    source = file.read_text(encoding="utf-8")
    try:
        mutated = mutate_code(source, OPERATORS[operator](), occurrence)
    except AttributeError:  # ExceptionReplacer does not know `except (module.Error, OtherError)`
        return None
    return Mutant(str(file.relative_to(root)), line, operator, occurrence, *_difference(source, str(mutated)))


def _difference(source: str, mutated: str) -> tuple[str, str]:
    """The lines that differ, from the first to the last."""
    old, new = source.splitlines(), mutated.splitlines()
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    return "\n".join(old[start : len(old) - end]), "\n".join(new[start : len(new) - end])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
