"""Which strategy finds which of the planted bugs, as a table: `python -m tests.planted [NAME ...]`."""

import argparse

from tests.planted.bugs import BUGS
from tests.planted.finding import EXAMPLES, SEARCHES, finds, first_example, table, when


def main() -> None:
    """Search for each bug with each strategy and seed."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description=__doc__)
    parser.add_argument("names", nargs="*", help="the bugs (all)")
    parser.add_argument("--seeds", type=int, default=5, help="how often each search is made (5)")
    parser.add_argument("--examples", type=int, default=100, help="the examples of one search (100)")
    parser.add_argument("--search", action="append", choices=SEARCHES, help="a strategy; can be given again (all)")
    parser.add_argument("--when", action="store_true", help="how many bugs stream_events finds with how many examples")
    arguments = parser.parse_args()
    chosen = [bug for bug in BUGS if not arguments.names or bug.name in arguments.names]
    if arguments.when:
        seeds = range(arguments.seeds)
        streams = SEARCHES["stream_events"]()
        print(when({bug: [first_example(streams, bug, number, EXAMPLES[-1]) for number in seeds] for bug in chosen}))
        return
    searches = arguments.search or list(SEARCHES)
    found = {
        bug: {
            name: sum(finds(SEARCHES[name](), bug, seed, arguments.examples) for seed in range(arguments.seeds))
            for name in searches
        }
        for bug in chosen
    }
    print(table(found, arguments.seeds))


if __name__ == "__main__":
    main()
