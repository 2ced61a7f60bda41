"""A neighbour that is a part of the service runs with it in replays: calls to it are in no case, and what it calls in its turn is."""
import json

import pytest

from record.test_record import BUYS, asked, cases, files, get, record, shop  # noqa: F401 (a fixture)
from record.test_record_and_verify import verify
from small_apps import config, relay

KEPT = ()  # options: the cases are admitted


@pytest.fixture
def with_cache(shop):  # noqa: F811
    """The cache of the shop is a part of orders."""
    application = json.loads((shop.directory / "filibuster.json").read_text())
    application["services"][0]["part_of"] = "orders"
    shop.write("filibuster.json", application)
    return shop


def test_a_cache_runs_with_the_service_and_is_in_no_case(with_cache):
    run = record(with_cache, *BUYS, get("/orders/2"), options=KEPT)
    assert run.exit_code == 0 and not cases(with_cache, partial=True), run
    calls = [asked(call) for case in cases(with_cache) for call in case["calls"]]
    assert sorted(calls) == [["GET", "/prices/1"], ["GET", "/prices/2"]], calls
    assert "openings" not in json.loads(files(with_cache)["process.json"]) or not json.loads(files(with_cache)["process.json"])["openings"]
    verified, found = verify(with_cache)
    assert verified.exit_code == 0 and "service cache ready" in verified.errors and "service pricing" not in verified.errors, verified
    # Nobody answers for it where that was never recorded.
    verified, found = verify(with_cache, "--mock", "cache")
    assert verified.exit_code != 0 and "service cache ready" not in verified.errors, verified


def test_a_part_that_is_mocked_is_answered_for_as_any_neighbour(with_cache):
    run = record(with_cache, *BUYS, options=["--mock", "cache"])
    assert run.exit_code == 0, run
    assert any(call["to"] == "cache" for case in cases(with_cache) for call in case["calls"])
    verified, _ = verify(with_cache)
    assert verified.exit_code == 0 and "service cache ready" not in verified.errors, verified


def test_what_a_side_car_calls_is_called_for_the_request_of_the_service(project):
    services = [relay("pricing"), relay("side", "pricing", part_of="front"), relay("front", "side")]
    project.write("filibuster.json", config(services, [{"name": "none", "command": "false"}]))
    project.write("traffic.sh", "curl -s -o /dev/null http://127.0.0.1:$PORT_FRONT/one\ncurl -s -o /dev/null http://127.0.0.1:$PORT_FRONT/two")
    run = project.filibuster("record", "--service", "front", "--out", "cases", "-c", "filibuster.json", "--", "sh", "traffic.sh")
    assert run.exit_code == 0 and "kept 2 cases, which replay" in run.output, run
    assert [[call["to"] for call in case["calls"]] for case in cases(project)] == [["pricing"], ["pricing"]]
    verified, found = verify(project)
    assert verified.exit_code == 0 and [row["served"] for row in found["cases"]] == [1, 1], verified
    # It is a neighbour again, whose answers nobody has recorded.
    verified, found = verify(project, "--mock", "side")
    assert verified.exit_code == 1 and found["cases"][0]["differences"][0]["kind"] in ("extra", "input"), verified


def test_nobody_is_mocked_who_is_not_there(with_cache):
    for verb, rest in (("record", ["--service", "orders", "--out", "new", "--", "false"]), ("verify", ["cases"])):
        if verb == "verify":
            assert record(with_cache, BUYS[0]).exit_code == 0
        run = with_cache.filibuster(verb, "-c", "filibuster.json", "--mock", "cash", *rest)
        assert run.exit_code == 2 and "--mock: there is no service 'cash' (services: cache, pricing, orders)" in run.errors, run
