"""`filibuster record` with real services in Python and C++, which ask Redis and a neighbour: the cases have every call whole."""
import json
import re
import shutil
import signal
import subprocess

import pytest

from conftest import PROGRAMS, PYTHON, wait_until
from small_apps import APPS, config, url

ORDERS = APPS / "orders.py"
SECRETS = {"password": "planted-Password-1", "api_key": "planted-key-0002", "cookie": "planted-cookie-3", "cache": "planted-redis-4"}


@pytest.fixture
def shop(project):
    """The service in Python, with a real Redis."""
    if shutil.which("redis-server") is None:
        pytest.skip("NOT TESTED HERE: redis-server is not installed")
    project.write("filibuster.json", config(
        [{"name": "cache", "protocol": "redis", "command": "exec redis-server --port ${port:cache} --bind 127.0.0.1 --save '' --appendonly no "
          f"--requirepass {SECRETS['cache']}"},
         {"name": "pricing", "command": f"exec {PYTHON} {ORDERS} pricing ${{port:pricing}}"},
         {"name": "orders", "env": {"CACHE_PASSWORD": SECRETS["cache"]},
          "command": f"exec {PYTHON} {ORDERS} ${{port:orders}} ${{port:cache}} ${{port:pricing}}"}],
        [{"name": "none", "command": "false"}]))
    return project


@pytest.fixture
def native(project):
    """The service in C++, with stubs. Every third price is another one."""
    prices = [{"method": "GET", "path": f"/prices/{n}", "answer": {"json": {"cents": 100 + n}}} for n in range(40)]
    stock = [{"method": "GET", "path": f"stock:{n}", "answer": {"reply": str(n)}} for n in range(40)]
    project.write("filibuster.json", config(
        [{"name": "cache", "protocol": "redis", "stubs": [*stock, {"method": "SET", "answer": {"reply": {"status": "OK"}}},
                                                          {"method": "INCR", "answer": {"reply": 7}}]},
         {"name": "pricing", "stubs": prices},
         {"name": "orders", "command": f"exec {PROGRAMS}/orders ${{port:orders}} ${{port:cache}} ${{port:pricing}}"}],
        [{"name": "none", "command": "false"}]))
    return project


def post(path, value, *options):
    return f"curl -s -o /dev/null {' '.join(options)} -H 'Content-Type: application/json' -d '{json.dumps(value)}' {url('orders', path)}".replace(
        "${port:orders}", "$PORT_ORDERS")


def get(path, options=""):
    return f"curl -s -o /dev/null {options} http://127.0.0.1:$PORT_ORDERS{path}"


def record(project, *traffic, folder="cases", before=(), options=("--no-admission",)):
    """What was recorded, as it came: test_admission.py has what is kept of it."""
    project.write("traffic.sh", "\n".join(traffic))
    return project.filibuster("record", "-c", "filibuster.json", "--service", "orders", "--out", folder, *options, "--", *before, "sh", "traffic.sh")


def files(project, folder="cases"):
    root = project.directory / folder
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*.json"))}


def cases(project, folder="cases", partial=False):
    return [json.loads(text) for name, text in files(project, folder).items()
            if "/" in name and name.startswith("partial/") == partial]


def without_time(text):
    return re.sub(r'"(base|seal)": "[^"]*"', "", text)


def asked(call):
    return call["call"] if call["kind"] == "redis" else [call["method"], call["target"]]


BUYS = [post("/orders", {"item": item}) for item in (1, 2, 1)]


@pytest.mark.parametrize("before", [(), ("env", "-u", "LD_PRELOAD")], ids=["preloaded", "plain"])
def test_a_case_has_every_call_whole_whoever_asks(shop, before):
    run = record(shop, *BUYS, get("/orders/2"), get("/orders/9"), before=before)
    assert run.exit_code == 0
    assert "recorded 5 cases of orders" in run.output and "POST /orders: 3" in run.output and "partial" not in run.output
    assert sorted(case["route"] for case in cases(shop)) == ["GET /orders/_"] * 2 + ["POST /orders"] * 3
    first = next(case for case in cases(shop) if case["request"].get("json") == {"item": 2})
    assert [asked(call) for call in first["calls"]] == [
        ["GET", "price:2"], ["GET", "/prices/2"], ["SET", "price:2", "250"],
        ["MULTI", ["SET", "order:2", '{"item": 2, "total": 250}'], ["SADD", "orders", "2"]]]
    assert [call.get("reply") for call in first["calls"]] == [None, None, {"status": "OK"}, [{"status": "OK"}, 1]]
    assert first["calls"][1]["answer"]["json"] == {"cents": 250, "name": "item 2"}
    assert all(call["to"] == ("pricing" if call["kind"] == "http" else "cache") and "after" not in call and call["site"] for call in first["calls"])
    assert (first["answer"]["status"], first["answer"]["json"]) == (201, {"item": 2, "total": 250})
    assert not any("filibuster" in text.lower() for text in files(shop).values())
    process = json.loads(files(shop)["process.json"])
    assert [asked(call) for call in process["calls"]] == [["GET", "/config"]]
    assert [opening["call"][0] for opening in process["openings"]["cache"]] == ["AUTH", "SELECT"]
    points = json.loads(files(shop)["set.json"])["points"]
    assert {call["site"] for case in cases(shop) for call in case["calls"]} <= {point["site"] for point in points}
    assert ["orders.py ask", "orders.py do_POST"] in [point["stack"] for point in points]


def test_the_same_traffic_has_the_same_bytes_but_for_its_time(shop):
    for folder in ("one", "two"):
        assert record(shop, *BUYS, BUYS[2], get("/orders/2"), folder=folder).exit_code == 0
    one, two = files(shop, "one"), files(shop, "two")
    assert one.pop("process.json") != two.pop("process.json"), "tokens have another key"
    assert {name: without_time(text) for name, text in one.items()} == {name: without_time(text) for name, text in two.items()}
    assert [case["seen"] for case in cases(shop, "one") if case["route"] == "POST /orders"].count(2) == 1, "equal ones are one file"


def test_secrets_are_in_nothing_that_is_written(shop):
    run = record(shop, post("/login", {"user": "ann", "password": SECRETS["password"], "api_key": SECRETS["api_key"]},
                            "-b", f"sid={SECRETS['cookie']}"))
    assert run.exit_code == 0
    written = "".join(files(shop).values())
    for secret in (*SECRETS.values(), SECRETS["password"][::-1]):
        assert secret not in written and secret not in run.output
    (case,) = cases(shop)
    token = case["answer"]["json"]["access_token"]
    ask, keep = case["calls"]
    assert ask["answer"]["json"]["access_token"] == token and keep["call"] == ["HSET", "session:ann", "access_token", token]
    assert ["Set-Cookie", f"sid={token}; Path=/"] in case["answer"]["headers"]
    assert ["Authorization", f"Bearer {case['request']['json']['api_key']}"] in ask["headers"]
    assert case["request"]["json"]["user"] == "ann" and len(case["request"]["json"]["password"]) == len(SECRETS["password"])


# Threads of curl that share nothing: several requests are open at once, on kept connections.
AT_ONCE = "curl -s -Z --parallel-immediate --parallel-max 8 " + " ".join(
    f"-o /dev/null http://127.0.0.1:$PORT_ORDERS/orders/{n}" for n in range(24))


def test_requests_at_once_keep_their_calls_apart_in_native_code(native):
    run = record(native, AT_ONCE, AT_ONCE)
    assert run.exit_code == 0
    found = cases(native)
    assert len(found) == 24 and not cases(native, partial=True), run.output
    for case in found:
        number = int(case["request"]["target"].rsplit("/", 1)[1])
        assert case["answer"]["json"] == {"order": number, "price": {"cents": 100 + number}, "stock": number}
        by_asking = {tuple(asked(call)): call for call in case["calls"]}
        assert len(by_asking) == 4 and case["seen"] == 2
        assert by_asking["GET", f"/prices/{number}"]["answer"]["json"] == {"cents": 100 + number}
        assert by_asking["GET", f"stock:{number}"]["reply"] == str(number)
        assert by_asking["SET", f"order:{number}", json.dumps({"cents": 100 + number}, separators=(",", ":"))]["reply"] == {"status": "OK"}
        assert by_asking["INCR", "orders"]["reply"] == 7
        assert [asked(call)[0] for call in case["calls"]] == ["GET", "GET", "SET", "INCR"]
        # What is sent together waits for nothing of its own.
        assert [call.get("after", "the one before it") for call in case["calls"][1:]] == [[], [0, 1], []]


THREADS = """
import concurrent.futures, http.client, json, os

def buy(item):
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["PORT_ORDERS"]))
    for _ in range(2):
        connection.request("POST", "/orders", json.dumps({"item": item}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert json.loads(answer.read()) == {"item": item, "total": 100 * item + 50}

with concurrent.futures.ThreadPoolExecutor(6) as pool:
    list(pool.map(buy, range(12)))
"""


def test_more_calls_than_an_execution_holds_are_recorded(native):
    """Another execution begins now and then, while requests are open."""
    run = record(native, *[AT_ONCE.replace("-Z", "-Z --max-time 60")] * 100)
    assert run.exit_code == 0
    assert len(cases(native)) == 24 and not cases(native, partial=True), run.output
    assert {case["seen"] for case in cases(native)} == {100} and all(len(case["calls"]) == 4 for case in cases(native))


def test_requests_at_once_keep_their_calls_apart_in_python(shop):
    shop.write("client.py", THREADS)
    run = record(shop, f"exec {PYTHON} client.py")
    assert run.exit_code == 0
    found = cases(shop)
    assert len(found) == 24 and not cases(shop, partial=True), run.output
    for case in found:
        item = case["request"]["json"]["item"]
        first, *calls = [asked(call) for call in case["calls"]]
        order = ["MULTI", ["SET", f"order:{item}", json.dumps({"item": item, "total": 100 * item + 50})], ["SADD", "orders", str(item)]]
        expected = [order] if case["calls"][0]["reply"] else [["GET", f"/prices/{item}"], ["SET", f"price:{item}", str(100 * item + 50)], order]
        assert first == ["GET", f"price:{item}"] and calls == expected
        assert not any("after" in call for call in case["calls"]), "each waits for the one before it"


def test_what_is_not_whole_stands_apart_with_its_reason(shop):
    run = record(shop, get("/file"), get("/orders/1"))
    assert run.exit_code == 0
    assert [case["route"] for case in cases(shop)] == ["GET /orders/_"]
    (partial,) = cases(shop, partial=True)
    assert partial["route"] == "GET /file" and "sendfile" in partial["partial"]
    assert "1 case is not whole" in run.output and "sendfile" in run.output


def test_how_the_traffic_ends_does_not_matter(native):
    run = record(native, get("/orders/1"), "exit 7")
    assert run.exit_code == 0 and len(cases(native)) == 1
    assert "the traffic 'traffic' ended with" in run.output


def test_the_time_ends_traffic_that_has_no_end(native):
    run = record(native, get("/orders/1"), "exec sleep 1000", options=("--for", "2s"))
    assert run.exit_code == 0 and len(cases(native)) == 1


def test_without_traffic_what_comes_is_recorded_until_ctrl_c(native):
    process = native.start("record", "--service", "orders", "--out", "cases", "--follow")
    ports = native.root / "ports.json"
    wait_until(lambda: (native.directory / "cases" / "set.json").exists() and ports.exists(), "the recording runs")
    port = json.loads(ports.read_text())["lanes"]["0"]["orders"]

    def is_recorded():
        subprocess.run(["curl", "-s", f"http://127.0.0.1:{port}/orders/3"], check=False, capture_output=True)
        return cases(native)

    assert wait_until(is_recorded, "a case is written")[0]["answer"]["json"]["order"] == 3
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "GET /orders/_: 1" in output and f"recording 'orders' at 127.0.0.1:{port} until Ctrl-C" in errors, errors


def test_traffic_that_is_stopped_leaves_cases_that_were_not_replayed(native):
    native.write("traffic.sh", get("/orders/3") + "\nexec sleep 1000")
    process = native.start("record", "-c", "filibuster.json", "--service", "orders", "--out", "cases", "--", "sh", "traffic.sh")
    wait_until(lambda: cases(native), "a case is written")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert "this case has not been replayed: `filibuster verify " in output, (output, errors)


def test_a_service_needs_no_configuration(native):
    config_of = json.loads((native.directory / "filibuster.json").read_text())
    command = f"exec {PYTHON} {ORDERS} pricing ${{port:pricing}}"
    assert config_of["services"]
    native.write("traffic.sh", "curl -s -o /dev/null http://127.0.0.1:$PORT_PRICING/prices/4")
    run = native.filibuster("record", "--service", f"pricing={command}", "--out", "cases", "--", "sh", "traffic.sh")
    assert run.exit_code == 0
    (case,) = cases(native)
    assert case["service"] == "pricing" and case["calls"] == [] and case["answer"]["json"]["cents"] == 450


def test_a_daemon_that_is_killed_leaves_whole_files(native):
    # Each waits until the one before it is written: the last one kills the daemon.
    traffic = [line for n in range(3) for line in (get(f"/orders/{n}"), f"until [ $(ls cases/get-orders-_ 2>/dev/null | wc -l) -gt {n} ]; do sleep 0.01; done")]
    native.write("traffic.sh", "\n".join(traffic))
    run = native.filibuster("record", "--service", "orders", "--out", "cases", "--", "sh", "traffic.sh", env={"FILIBUSTER_FAIL_AT": "case:3"})
    assert run.exit_code == 3 and "record into another one" in run.errors, run.errors
    found = cases(native)
    assert sorted(case["request"]["target"] for case in found) == ["/orders/0", "/orders/1", "/orders/2"]
    assert all(case["calls"] and case["answer"]["status"] == 200 for case in found)
    assert json.loads(files(native)["set.json"])["service"] == "orders"


def test_what_cannot_be_written_ends_the_recording_and_nothing_else(native):
    wait = "until [ -e cases/get-orders-_ ]; do sleep 0.01; done"
    run = record(native, get("/orders/1"), wait, "rm -r cases && touch cases", get("/orders/2"), "curl -s http://127.0.0.1:$PORT_ORDERS/orders/3 > answer")
    assert run.exit_code == 3
    assert "the recording ended early: cannot" in run.output
    assert json.loads((native.directory / "answer").read_text())["order"] == 3, "the service goes on"


def bytes_of_cases(project):
    return sum(path.stat().st_size for path in (project.directory / "cases").rglob("*/*") if path.is_file())


@pytest.mark.parametrize("options", [["--no-admission"], []], ids=["as they came", "admitted"])
def test_a_folder_has_a_size_that_its_cases_never_exceed(native, options):
    run = record(native, *[get(f"/orders/{n}") for n in range(8)], *[get("/orders/0")] * 3, options=["--max-size", "5K", *options])
    kept = len(cases(native))
    assert run.exit_code == 0 and 2 <= kept < 8 and 3000 < bytes_of_cases(native) <= 5 * 1024, (run, bytes_of_cases(native))
    assert f"{8 - kept} more were left out, since their cases are new and would make the folder larger than --max-size" in run.output, run
    # Those that are there are counted all the same.
    (first,) = [case for case in cases(native) if case["request"]["target"] == "/orders/0"]
    assert first["seen"] == 4, first


def test_without_a_request_no_folder_is_left(native):
    assert record(native, "true").exit_code == 3
    assert not (native.directory / "cases").exists()
    native.write("filibuster.json", config([{"name": "orders", "command": "exec false"}], [{"name": "none", "command": "false"}]))
    assert record(native, get("/orders/1")).exit_code == 3
    assert not (native.directory / "cases").exists()


@pytest.mark.parametrize("options, wrong", [
    (("--service", "nobody", "--out", "new"), "there is no service 'nobody' (services: cache, pricing, orders)"),
    (("--service", "pricing", "--out", "new"), "stubs answer in its place"),
    (("--service", "orders", "--out", "old"), "has a recording already"),
    (("--service", "orders", "--out", "filibuster.json"), "it is no folder"),
    (("--service", "orders", "--out", "new", "--for", "soon"), "--for soon"),
    (("--service", "orders", "--out", "new", "--max-size", "64MB"), "--max-size 64MB: expected a number of bytes such as 500K, 64M or 1G"),
    (("--service", "orders", "--out", "new", "--max-size", "0"), "--max-size 0: expected"),
    (("--out", "new"), "name the service"),
])
def test_bad_input_starts_nothing(native, options, wrong):
    native.write("old/set.json", "{}")
    run = native.filibuster("record", *options, "--", "false")
    assert run.exit_code == 2 and wrong in run.errors
    assert not (native.directory / "new").exists()
