"""`brimful netdev`, with a stand-in for the tester and with the tester itself."""

import json
import stat

import click.testing
import pytest
from brimful.cli.netdev import netdev
from brimful.errors import MeasureError
from brimful.measurers import back_ends

LISTED = [
    {
        "interface": "eth0",
        "back_ends": [
            {"name": "packet", "works": True, "obstacle": None, "zero_copy": False, "is_taken": False},
            {
                "name": "xdp-native",
                "works": False,
                "obstacle": "interface `eth0` has 4 receive queues",
                "zero_copy": False,
                "is_taken": False,
            },
        ],
    },
    {
        "interface": "a-longer-name",
        "used_for": "carries the address 192.0.2.1",
        "back_ends": [{"name": "packet", "works": True, "obstacle": None, "zero_copy": False, "is_taken": False}],
    },
]


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Return a function that has a script take the tester's place."""

    def install(script):
        program = tmp_path / "tester"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(back_ends, "tester_program", lambda: str(program))

    return install


def printing(interfaces):
    return "cat <<'EOF'\n" + "".join(json.dumps(interface) + "\n" for interface in interfaces) + "EOF"


def run(*arguments):
    return click.testing.CliRunner().invoke(netdev, arguments, catch_exceptions=False)


def test_the_table_says_what_works_and_why_the_rest_does_not(stand_in):
    stand_in(printing(LISTED))
    assert run().stdout.splitlines() == [
        "INTERFACE      BACK END    WORKS    WHY NOT",
        "eth0           packet      yes",
        "               xdp-native  no       interface `eth0` has 4 receive queues",
        "a-longer-name  packet      --force  `a-longer-name` carries the address 192.0.2.1",
    ]


def test_json_is_what_the_tester_says(stand_in):
    stand_in(printing(LISTED))
    listed = [json.loads(line) for line in run("--json").stdout.splitlines()]
    assert listed == [{"used_for": None, **interface} for interface in LISTED]


def test_interfaces_are_handed_on(stand_in):
    told = "--list-back-ends --port ta --port tb --force"
    stand_in(f"""[ "$*" = "{told}" ] || exit 1; echo '{{"interface": "ta", "back_ends": []}}'""")
    assert [interface.interface for interface in back_ends.list_back_ends(["ta", "tb"])] == ["ta"]


def test_no_interface_is_said(stand_in):
    stand_in("")
    result = run()
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no interface" in result.stderr


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo first >&2; echo 'brimful-tester: no such thing' >&2; exit 3", "brimful-tester: no such thing"),
        ("exit 9", "ended with 9"),
        ("echo nonsense", "not understood"),
        ('echo \'{"interface": 5, "back_ends": []}\'', "not understood"),
    ],
)
def test_what_goes_wrong_is_one_line(stand_in, script, expected):
    stand_in(script)
    with pytest.raises(MeasureError, match=expected) as raised:
        back_ends.list_back_ends([])
    assert "\n" not in str(raised.value)


def test_the_tester_itself_is_understood():
    for interface in back_ends.list_back_ends(["brimful-absent"]):
        assert interface.interface == "brimful-absent"
        names = [back_end.name for back_end in interface.back_ends]
        assert names == ["packet", "packet-blocks", "xdp-native", "xdp-generic", "tap"]
        assert all("no interface `brimful-absent`" in (back_end.obstacle or "") for back_end in interface.back_ends)


def test_a_check_spares_interfaces_in_use(stand_in):
    stand_in('[ "$*" = "--list-back-ends --port ta" ] || exit 1; echo \'{"interface": "ta", "back_ends": []}\'')
    assert [interface.interface for interface in back_ends.list_back_ends(["ta"], force=False)] == ["ta"]
