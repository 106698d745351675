"""What here is a program that a test runs, in a process or an environment of its own, is no module of the suite."""

collect_ignore_glob = [
    "cases/*",
    "clients/*",
    "behaviour.py",
    "conformance.py",
    "controller.py",
    "made_cases.py",
    "refusals.py",
    "standalone.py",
]
