"""`wikigenben up` and `serve`: what is told of a port that is taken, and real kills of worker and server."""

from __future__ import annotations

import http.server
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from data.errors import UserError, WikigenError
from flows.orchestration.up import HOST, Up, _prefect, _server_there, up
from flows.showing import console
from tests.conftest import Command
from tests.flows.told import article_times
from tests.prefect_installation import PREFECT, ROOT, Installation, brought_up, free_port, wait_until
from tests.servers import in_thread
from tests.toy_events import make_events


@pytest.fixture
def other_program() -> Iterator[int]:
    """A web server that is not Prefect's; yields its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n<html>It works!</html>")

        def log_message(self, format: str, *args: object) -> None: ...

    server = http.server.ThreadingHTTPServer((HOST, 0), Handler)
    with in_thread(server):
        yield server.server_address[1]


def test_what_up_cannot_start_on_is_refused(other_program: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for asked, told in (
        (Up(ROOT, other_program, tmp_path / "logs"), rf"port {other_program} is used by a program that is no Prefect.*--port"),
        (Up(tmp_path, 4200, tmp_path / "logs"), r"has no prefect.yaml.*wikigenben serve"),
        (Up(ROOT, free_port(), tmp_path / "file" / "logs"), r"cannot make the folder .*Not a directory; choose another with"),
    ):
        with pytest.raises(UserError, match=told):
            up(asked)
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("words", ["up --port 0", "up --port x", "up --limit 0", "serve --limit 0"])
def test_bad_flags_are_refused(wikigenben: Command, words: str) -> None:
    ran = wikigenben(*words.split())
    assert ran.code == 2 and words.split()[1] in ran.err


def test_commands_without_their_server_say_how_to_start_one(wikigenben: Command, capsys: pytest.CaptureFixture[str]) -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    from flows import wiki_gen

    url = f"http://{HOST}:{free_port()}/api"
    with temporary_settings({PREFECT_API_URL: url}):
        served = wikigenben("serve")
        assert console.guarded(lambda: wiki_gen.main(["-p", "limit=1"])) == served.code == 2
    for said in (served.err, capsys.readouterr().err):
        assert f"no Prefect server answers at {url}" in said and "wikigenben up" in said and "Traceback" not in said


def test_a_server_that_is_ending_is_no_other_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds its port a little longer than it answers."""
    asked = Up(ROOT, free_port(), tmp_path / "logs")
    with socket.create_server((HOST, asked.port)) as ending:

        def silent(api: str, path: str, body: object = None) -> None:
            ending.close()

        monkeypatch.setattr("flows.orchestration.prefect_server.ask", silent)
        assert _server_there(asked) is False


def test_a_failed_command_of_prefect_is_one_line(tmp_path: Path) -> None:
    """Of a stand-in: Prefect's takes three seconds to load."""
    (tmp_path / "prefect.py").write_text("import sys; sys.exit(f'A long story.\\nNo such command: {sys.argv[1]}')")
    asked = Up(tmp_path, free_port(), tmp_path)
    with pytest.raises(WikigenError) as failed:
        _prefect(asked, "no-such-command")
    assert "\n" not in str(failed.value) and "No such command: no-such-command (all that it said: " in str(failed.value)
    assert "A long story" in (tmp_path / "prefect.log").read_text()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_command_of_the_docs_finds_the_server_of_its_folder(tmp_path: Path) -> None:
    """Without an address in its environment; other sites may not ask that server."""
    with brought_up(tmp_path / "home", free_port(), cwd=tmp_path, told=True, PYTHONPATH=str(ROOT)) as here:
        assert "run it:    prefect deployment run wiki-gen/wiki-gen -p limit=2 --watch" in here.said
        env = {name: value for name, value in here.env.items() if name != "PREFECT_API_URL"}
        words = ["deployment", "run", "wiki-gen/wiki-gen", "-p", "limit=1", "-p", "system=lead", "--watch"]
        out = f"out={tmp_path / 'run'}"
        done = subprocess.run(
            [str(PREFECT), *words, "-p", out], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert here.states() == ["COMPLETED"]
        asking = urllib.request.Request(f"{here.env['PREFECT_API_URL']}/health", headers={"Origin": "https://evil.example"})
        with urllib.request.urlopen(asking, timeout=30) as answer:
            assert answer.headers.get("Access-Control-Allow-Origin") is None
    assert not (tmp_path / ".env").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_worker_ends_up_and_the_next_one_goes_on(tmp_path: Path) -> None:
    """kill -9 of the worker and of its run, which leaves a run that Prefect takes for running; then of the server."""
    home, port = tmp_path / "home", free_port()
    run, toys = tmp_path / "run", make_events(tmp_path / "toys", 30)
    asked = ("-p", f"data={toys}", "-p", f"out={run}", "-p", "system=bm25", "-p", "evaluate=false")

    with brought_up(home, port, code=1) as first:
        begin(first, run, asked, 2)
        first.kill("worker start", "prefect.engine")
        wait_until(lambda: first.process.poll() is not None, "up sees that its worker is gone")
        assert "the worker ended with code -9; its log is" in (home / "up.err").read_text()
        assert first.processes() == {}
    with brought_up(home, port, code=1) as second:
        assert "an earlier run did not end well and can be run again: bm25 on" in (home / "up.err").read_text()
        assert second.states() == ["CRASHED"]
        done = article_times(run)
        begin(second, run, asked, len(done) + 2)
        second.kill("server start")
        wait_until(lambda: second.process.poll() is not None, "up sees that its server is gone")
        assert "the server ended with code -9; its log is" in (home / "up.err").read_text()
        assert second.processes() == {}
        assert done.items() <= article_times(run).items()
    with brought_up(home, port) as third:
        with brought_up(home, port, err="beside.err") as beside:
            assert "using the Prefect server that is there" in (home / "beside.err").read_text()
            assert third.process.poll() is None
        assert beside.process.returncode == 0 and third.states()  # whose server still answers
        done = article_times(run)
        third.prefect("deployment", "run", "wiki-gen/wiki-gen", *asked, "--watch", timeout=300)
        assert third.states()[-1] == "COMPLETED" and len(article_times(run)) == 30
        assert done.items() <= article_times(run).items()


def begin(here: Installation, run: Path, asked: tuple[str, ...], n: int) -> None:
    here.prefect("deployment", "run", "wiki-gen/wiki-gen", *asked)
    wait_until(lambda: len(article_times(run)) >= n, f"{n} articles")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_served_deployment_runs_without_pool_or_worker(tmp_path: Path) -> None:
    with brought_up(tmp_path / "home", free_port()) as here:
        command = [sys.executable, "-m", "flows.cli", "serve"]
        with subprocess.Popen(command, cwd=ROOT, env=here.env, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert "prefect deployment run wiki-gen/served" in process.stdout.readline()
            wait_until(lambda: here.knows("/deployments/name/wiki-gen/served"), "the deployment")
            out = f"out={tmp_path / 'run'}"
            here.prefect(
                "deployment", "run", "wiki-gen/served", "-p", "limit=1", "-p", "system=lead", "-p", out, "--watch", timeout=300
            )
            assert here.states() == ["COMPLETED"]
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) in (0, 130)
        assert not here.api("/deployments/name/wiki-gen/served")["paused"]  # a run would wait for the next one
