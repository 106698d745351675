"""Print the conformance cases that are made from the specification, as JSON: categories with their cases."""

import json
import sys

from cases import actions, groups, matches, setting

CATEGORIES = {
    "match": matches.cases,
    "set-field and time to live": setting.cases,
    "actions": actions.cases,
    "groups and meters": groups.cases,
}


def made():
    """Give the cases of each category."""
    return {name: [case.as_data() for case in make()] for name, make in CATEGORIES.items()}


if __name__ == "__main__":
    json.dump(made(), sys.stdout)
