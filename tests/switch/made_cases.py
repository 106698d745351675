"""Print the conformance cases that are made from the specification, as JSON: categories with their cases.

usage: made_cases.py [loads]. Loads are for interfaces, where they take as long as they last.
"""

import json
import sys

from cases import actions, groups, loads, matches, setting

CATEGORIES = {
    "match": matches.cases,
    "set-field and time to live": setting.cases,
    "actions": actions.cases,
    "groups and meters": groups.cases,
}


def made(categories):
    """Give the cases of each category."""
    return {name: [case.as_data() for case in make()] for name, make in categories.items()}


if __name__ == "__main__":
    json.dump(made({"loads": loads.cases} if sys.argv[1:] == ["loads"] else CATEGORIES), sys.stdout)
