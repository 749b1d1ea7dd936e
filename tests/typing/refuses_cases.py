"""What a user's type checker must refuse of the catalogue: every line that ends in a comment `error`, and no other."""

from converse_harness import cases
from converse_harness.cases import CASES, Case


def test_cases(converse_each_case: Case) -> None:
    converse_each_case.sentense  # error
    converse_each_case.name = "mine"  # error
    CASES[5]  # error
    CASES["mine"] = converse_each_case  # error
    Case("mine", "It fails.", "Survive.", "ours", "text")  # error
    cases.throttle_midd  # error
    cases.FAMILIES  # error
