"""Options of what is sent: what makes a run another one."""

import click
import pytest
from brimful.cli.traffic_options import labels_of, traffic_of, traffic_options
from brimful.errors import UsageError


def parsed(*arguments):
    @click.command()
    @traffic_options
    def command(**options):
        return options

    return command.main(list(map(str, arguments)), standalone_mode=False)


def test_only_what_is_given_is_passed_on():
    assert traffic_of(parsed()) == {"arguments": []}
    given = parsed("--flows", 3, "--force", "--tester-option=--cpu=1", "--frame-size", "imix")
    assert traffic_of(given) == {"arguments": ["--frame-size=imix", "--flows=3", "--force", "--cpu=1"]}


def test_a_changed_profile_is_other_traffic(tmp_path):
    profile = tmp_path / "mine.toml"
    profile.write_text("sizes = 64\n")
    before = traffic_of(parsed("--profile", profile))
    assert before["arguments"] == [f"--profile={profile}"]
    assert traffic_of(parsed("--profile", profile)) == before
    profile.write_text("sizes = 128\n")
    assert traffic_of(parsed("--profile", profile)) != before
    with pytest.raises(UsageError, match=r"absent\.toml"):
        traffic_of(parsed("--profile", tmp_path / "absent.toml"))


def test_labels_are_keys_and_values():
    assert labels_of({"labels": ("site=lab", "note=a=b")}) == {"site": "lab", "note": "a=b"}
    for text in ("site", "=lab"):
        with pytest.raises(UsageError, match="KEY=VALUE"):
            labels_of({"labels": (text,)})
