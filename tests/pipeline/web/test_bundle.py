"""A collection as a folder: complete, without secrets, replayed without a network to the same bytes, and trusted in nothing."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from data import codec
from data.errors import UserError
from data.types import Event
from pipeline.web import replaying
from pipeline.web.bundle import Bundle, pages_of
from pipeline.web.cache import Bodies
from pipeline.web.queries import first_queries
from pipeline.web.replaying import BundleEvidence
from pipeline.web.search.building import build_provider
from pipeline.web.search.chain import ProviderChain
from tests.pipeline.web.made_fetchers import live
from tests.sample_site import TITLE, StoppedClock, put_sample
from tests.search_server import search_server
from tests.web_server import WebServer, serving

KEY = "sk-very-secret-0815"
EVENT = Event("e", TITLE)


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A bundle of two rounds, after the first provider had failed. The servers are gone."""
    root = tmp_path_factory.mktemp("bundle")
    with serving() as server, search_server() as engine, pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRAVE_API_KEY", KEY)
        found = put_sample(server, etag='"1"')
        engine.found = dict.fromkeys(first_queries(TITLE), found[:5]) | {"": found[5:]}
        urls = {"brave": f"{engine.url}/nowhere", "searxng": engine.url}
        chain = ProviderChain(build_provider("brave,searxng", base_urls=urls).providers, min_delay_s=0, clock=StoppedClock())
        contact = {"contact": "mail@site.org"}
        gone = [server.url("/gone")]
        live(root, server, found, settings=contact, provider=chain, urls=gone, bundle=root / "bundle").collect(EVENT)
    yield root / "bundle"


@pytest.fixture
def bundle(collected: Path, tmp_path: Path) -> Path:
    """A copy to be broken."""
    return Path(shutil.copytree(collected, tmp_path / "bundle"))


@pytest.fixture
def body(bundle: Path) -> Path:
    digest = Bundle(bundle).records()[3].sha256_raw
    return bundle / "bodies" / digest[:2] / digest


@pytest.fixture
def unplugged(monkeypatch: pytest.MonkeyPatch) -> None:
    """No look-up and no connection, loopback included."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a replay used the network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_the_manifest_says_how_it_came_about_and_nothing_secret(collected: Path) -> None:
    manifest = Bundle(collected).manifest()
    assert manifest.title == TITLE and manifest.run_date == "2034-01-01" and manifest.has_bodies
    assert {query.round for query in manifest.queries} == {1, 2} and manifest.queries[0].provider == "searxng"
    assert [(switch.before, switch.after) for switch in manifest.switches] == [("brave", "searxng")]
    assert manifest.failures[0].provider == "brave" and "404" in manifest.failures[0].reason
    assert manifest.versions["trafilatura"] and manifest.counts["http_4xx"] == 1
    assert sum(manifest.counts.values()) == len(Bundle(collected).records()) == len(Bundle(collected).fetches()) == 11
    written = b"".join(path.read_bytes() for path in collected.rglob("*") if path.is_file())
    assert KEY.encode() not in written and b"mail@site.org" not in written


@pytest.mark.usefixtures("unplugged")
def test_a_replay_gives_the_same_bytes_without_a_network(collected: Path, tmp_path: Path) -> None:
    gathered = BundleEvidence(collected).gather()
    Bundle(tmp_path / "again").write(gathered)
    for name in ("evidence.jsonl", "fetches.jsonl", "manifest.json"):
        assert (tmp_path / "again" / name).read_bytes() == (collected / name).read_bytes()
    assert gathered.pages == pages_of(Bundle(collected).records())
    assert sum(page.usable for page in gathered.pages) == Bundle(collected).manifest().counts["kept"] > 5


@pytest.mark.usefixtures("unplugged")
def test_without_bodies_the_recorded_evidence_counts(bundle: Path) -> None:
    whole = pages_of(Bundle(bundle).records())
    shutil.rmtree(bundle / "bodies")
    manifest = Bundle(bundle).manifest()
    codec.write_atomic(bundle / "manifest.json", codec.to_json(replace(manifest, has_bodies=False)))
    assert BundleEvidence(bundle).collect(EVENT) == whole


def test_hashes_only(collected: Path, tmp_path: Path, server: WebServer) -> None:
    found = put_sample(server)
    pages = live(tmp_path, server, found, urls=[found[0].url], bundle=tmp_path / "new", keep_bodies=False).collect(EVENT)
    (record,) = Bundle(tmp_path / "new").records()
    raw = Bundle(collected).records()[1]  # the same page of another server
    assert record.sha256_raw == raw.sha256_raw and not (tmp_path / "new" / "bodies").exists()
    assert BundleEvidence(tmp_path / "new").collect(EVENT) == pages


@pytest.mark.parametrize("damage", ["changed", "missing", "a pipe", "without end"])
def test_a_damaged_body_is_named_and_not_waited_for(bundle: Path, body: Path, damage: str) -> None:
    if damage == "changed":
        body.write_bytes(b"<p>Somebody else was elected.")
    elif damage == "without end":
        os.truncate(body, 10**11)  # takes no room on the disk
    else:
        body.unlink()
        if damage == "a pipe":
            os.mkfifo(body)
    with pytest.raises(UserError, match=rf"lacks {body.name}"):
        BundleEvidence(bundle).gather()


@pytest.mark.parametrize("name", ["manifest.json", "evidence.jsonl", "fetches.jsonl"])
def test_a_file_without_end_is_not_read(bundle: Path, name: str) -> None:
    os.truncate(bundle / name, 10**11)
    with pytest.raises(UserError, match=r"at most"):
        BundleEvidence(bundle).gather()


def test_changed_evidence_is_noticed(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(why: str) -> None:
        with pytest.raises(UserError, match=why):
            BundleEvidence(bundle).gather()

    text = (bundle / "evidence.jsonl").read_text(encoding="utf-8")
    (bundle / "evidence.jsonl").write_text(text.replace("Oldvik", "Oldwick"), encoding="utf-8")
    with pytest.raises(UserError, match=r"the text of .* was changed"):
        Bundle(bundle).records()
    refused(r"with the same versions, so it was changed")
    here = replaying.versions_here() | {"trafilatura": "99.0"}
    with monkeypatch.context() as patch:
        patch.setattr(replaying, "versions_here", lambda: here)
        refused(r"trafilatura 2\.\S+ there, 99\.0 here")
    told = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    del told["versions"]["rules of cleaning"]  # as bundles were until it was told
    (bundle / "manifest.json").write_text(json.dumps(told), encoding="utf-8")
    refused(r"rules of cleaning unknown there, \d+ here")


def test_what_is_no_bundle(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is no bundle"):
        BundleEvidence(tmp_path / "nowhere")
    value = json.loads((bundle / "manifest.json").read_text(encoding="utf-8")) | {"form": "wikigenben-evidence/9"}
    for text, why in (
        (json.dumps(value), r"form 'wikigenben-evidence/9'"),
        ("{", r"manifest\.json is not a readable Manifest"),
    ):
        (bundle / "manifest.json").write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=why):
            BundleEvidence(bundle)


def test_no_name_of_a_body_leads_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"elsewhere")
    bodies = Bodies(tmp_path / "bodies")
    assert bodies.get(bodies.put(b"here")) == b"here"
    for digest in ("../../elsewhere", str(tmp_path / "elsewhere"), "a\0b", ""):
        assert bodies.get(digest) is None
