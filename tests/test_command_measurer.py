"""Programs that speak the measurer protocol, and programs that do not."""

import shlex
import sys
import textwrap
import time
from pathlib import Path

import pytest
from brimful.errors import UsageError
from brimful.measurers.command import CommandMeasurer, trial_output
from support import ROOT, InvalidTrialError, MeasureError, TrialFailedError


def program(tmp_path, body, *, timeout_s=20.0):
    """A measurer whose answer to each request is what ``body`` makes of ``request``."""
    script = tmp_path / "tester.py"
    text = "import json, os, sys, time\nfor line in sys.stdin:\n    request = json.loads(line)\n"
    script.write_text(text + textwrap.indent(textwrap.dedent(body), "    ") + "\n    sys.stdout.flush()\n")
    return CommandMeasurer([sys.executable, str(script)], timeout_s=timeout_s)


@pytest.fixture
def closing():
    opened = []
    yield opened.append
    for measurer in opened:
        measurer.close()


@pytest.mark.parametrize(("code", "error"), [(2, UsageError), (1, TrialFailedError), (0, TrialFailedError)])
def test_a_program_that_was_called_wrongly_says_so_by_exit_code_2(tmp_path, closing, code, error):
    measurer = program(tmp_path, f"sys.exit({code})")
    closing(measurer)
    with pytest.raises(error, match=f"ended with exit code {code}"):
        measurer.describe()


def test_exit_code_2_after_a_reply_is_a_failure(tmp_path, closing):
    measurer = program(tmp_path, "if request['op'] != 'describe': sys.exit(2)\nprint('{}')")
    closing(measurer)
    measurer.describe()
    with pytest.raises(TrialFailedError, match="ended with exit code 2"):
        measurer.measure(1e3, 0.1)


def test_exit_code_2_of_a_program_that_was_started_again_is_a_failure(tmp_path, closing):
    flag = tmp_path / "described"
    measurer = program(
        tmp_path, f"if os.path.exists({str(flag)!r}): sys.exit(2)\nopen({str(flag)!r}, 'w')\nprint('{{}}')"
    )
    closing(measurer)
    measurer.describe()
    for _ in range(2):
        with pytest.raises(TrialFailedError, match="ended with exit code 2"):
            measurer.measure(1e3, 0.1)


def test_a_program_is_quoted_without_its_own_name_and_empty_lines(tmp_path, closing):
    script = tmp_path / "dud.sh"
    script.write_text("printf 'dud: one\\n\\ntwo\\n\\n \\n' >&2; exit 3")
    measurer = CommandMeasurer(["sh", str(script)], name="dud")
    closing(measurer)
    with pytest.raises(TrialFailedError, match=r"^dud: the program ended with exit code 3; it said: one / two$"):
        measurer.describe()


def test_a_program_that_was_killed_is_said_to_be(tmp_path, closing):
    measurer = program(tmp_path, "os.kill(os.getpid(), 9)")
    closing(measurer)
    with pytest.raises(TrialFailedError, match=r"the program was killed by signal 9$"):
        measurer.describe()


def test_the_shell_example_measures(closing):
    measurer = CommandMeasurer([str(ROOT / "examples" / "measurer.sh")])
    closing(measurer)
    assert measurer.describe().name == "shell example"
    assert measurer.measure(2e6, 1.0).lost == 1_000_000
    assert measurer.measure(0.5e6, 0.25).sent == 125_000


def test_the_shell_example_is_short():
    assert len((ROOT / "examples" / "measurer.sh").read_text().splitlines()) <= 30


def test_an_empty_description_is_enough(tmp_path, closing):
    measurer = program(tmp_path, "print('{}')")
    closing(measurer)
    description = measurer.describe()
    assert description.load_unit == "frames/s"
    assert "tester.py" in description.name


def test_unknown_fields_are_kept(tmp_path, closing):
    measurer = program(tmp_path, "print(json.dumps({'id': request['id'], 'sent': 5, 'lost': 1, 'queue_full': 7}))")
    closing(measurer)
    assert measurer.measure(5.0, 1.0).extra == {"queue_full": 7}


def test_the_limit_for_stopping_early_is_passed_on(tmp_path, closing):
    measurer = program(
        tmp_path,
        "limit = request['stop_above_loss_ratio']\n"
        "print(json.dumps({'id': 1, 'sent': 10, 'lost': 9, 'stopped_early': limit == 0.25, 'intended': 20}))",
    )
    closing(measurer)
    output = measurer.measure(20.0, 1.0, stop_above=0.25)
    assert output.stopped_early
    assert output.intended == 20


@pytest.mark.parametrize(
    ("body", "error", "complaint"),
    [
        ("print('sent 5')", TrialFailedError, "no JSON object"),
        ("print('[1]')", TrialFailedError, "no JSON object"),
        ("print(json.dumps({'id': 99, 'sent': 5, 'lost': 0}))", TrialFailedError, "id 99, not 1"),
        ("print(json.dumps({'id': 1, 'sent': 5}))", TrialFailedError, "lost"),
        ("print(json.dumps({'id': 1, 'sent': -5, 'lost': 0}))", TrialFailedError, "sent is -5"),
        ("print(json.dumps({'id': 1, 'sent': 5, 'lost': 6}))", TrialFailedError, "lost 6 is above sent 5"),
        ("print(json.dumps({'id': 1, 'sent': 5.5, 'lost': 0}))", TrialFailedError, "sent"),
        ("print(json.dumps({'id': 1, 'sent': 5, 'lost': 0, 'effective_duration_s': 0}))", TrialFailedError, "above 0"),
        ("print(json.dumps({'id': 1, 'sent': 2**70, 'lost': 0}))", TrialFailedError, "sent"),
        ("print(json.dumps({'id': 1, 'invalid': 'link down'}))", InvalidTrialError, "link down"),
        ("print(json.dumps({'id': 1, 'error': 'no such port'}))", MeasureError, "no such port"),
        ("sys.exit('port is gone')", TrialFailedError, "exit code 1; it said: port is gone"),
        ("os._exit(0)", TrialFailedError, "exit code 0"),
    ],
)
def test_bad_replies_are_errors_that_name_the_field(tmp_path, closing, body, error, complaint):
    measurer = program(tmp_path, body)
    closing(measurer)
    with pytest.raises(error, match=complaint) as caught:
        measurer.measure(5.0, 1.0)
    assert type(caught.value) is error
    assert "\n" not in str(caught.value)


def test_silence_is_an_error_and_the_program_is_ended(tmp_path):
    measurer = program(tmp_path, "time.sleep(60)", timeout_s=0.05)
    with pytest.raises(TrialFailedError, match="no reply within"):
        measurer.measure(5.0, 0.05)
    assert measurer._process is None


def test_a_program_that_crashed_is_started_again(tmp_path, closing):
    flag = tmp_path / "crashed"
    body = f"""
    flag = {str(flag)!r}
    if not os.path.exists(flag):
        open(flag, "w").close()
        os._exit(7)
    print(json.dumps({{"id": request["id"], "sent": 5, "lost": 0}}))
    """
    measurer = program(tmp_path, body)
    closing(measurer)
    with pytest.raises(TrialFailedError, match="exit code 7"):
        measurer.measure(5.0, 1.0)
    assert measurer.measure(5.0, 1.0).sent == 5


def test_a_program_that_is_not_there_is_a_usage_error():
    with pytest.raises(UsageError, match="cannot be started"):
        CommandMeasurer(["/nonexistent/tester"]).describe()


def test_closing_ends_children_too(tmp_path):
    pid_file = tmp_path / "pid"
    command = f"sleep 100 & echo $! > {shlex.quote(str(pid_file))}; echo '{{}}'; cat > /dev/null"
    measurer = CommandMeasurer(["sh", "-c", command])
    measurer.describe()
    measurer.close()
    child = int(pid_file.read_text())
    # It was killed; when the kernel gets round to it is the kernel's affair.
    deadline = time.monotonic() + 20
    while is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        stat = Path("/proc", str(pid), "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def test_an_impossible_count_names_its_place():
    with pytest.raises(TrialFailedError, match=r"here: late is -1"):
        trial_output({"sent": 1, "lost": 0, "late": -1}, where="here")


@pytest.mark.parametrize(
    ("banner", "shown"),
    [
        ("", "an empty line, then '{}'; write replies to standard output"),
        ("My tester 1.0", "'My tester 1.0"),
        ("\\n  My tester 1.0\\nready", "an empty line, then 'My tester 1.0 / ready"),
        ("x" * 5000, "x..."),
        ("\\x1b[2J", "␛[2J"),
    ],
)
def test_a_banner_before_the_first_reply_is_quoted(tmp_path, closing, banner, shown):
    measurer = program(tmp_path, f"print('{banner}', flush=True)\nprint('{{}}')")
    closing(measurer)
    with pytest.raises(TrialFailedError, match="reply to describe is no JSON object") as caught:
        measurer.describe()
    assert shown in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_requests_of_a_resumed_run_have_numbers_of_their_own(tmp_path, closing):
    measurer = program(tmp_path, "print(json.dumps({'id': request['id'], 'sent': request['id'], 'lost': 0}))")
    closing(measurer)
    assert [measurer.measure(1.0, 1.0).sent for _ in range(2)] == [1, 2]
    measurer.resume_at(12.5)
    assert measurer.measure(1.0, 1.0).sent == 12_501
    measurer.resume_at(1.0)
    assert measurer.measure(1.0, 1.0).sent == 12_502
