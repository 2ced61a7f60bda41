"""Programs in Go, static and stripped, are explored as preloaded ones are: with the counts that their READMEs derive, and by
the goroutines that make the calls."""
import json
import re

import pytest

from attach_fixtures import BASIC, need, skip
from conftest import BUILD, CORPUS
from corpus import in_place

pytestmark = pytest.mark.alone

GROCERY = CORPUS / "grocery"


@pytest.fixture(autouse=True)
def everything_is_there():
    need(*BASIC, "uprobe")
    if not (BUILD / "corpus" / "grocery" / "shop").exists():
        skip("Go programs", "golang is missing: apt-get install golang-go golang-google-grpc-dev protoc-gen-go-1-3")


def explore(project, config, *options, bugs=""):
    return project.filibuster("run", "-c", config, *options, env={"GROCERY_BUGS": bugs})


def derived(application, row):
    """The last number of the README's row, and the one before it."""
    text = (CORPUS / application / "README.md").read_text()
    (cells,) = re.findall(rf"^\| {row} \| (\d+) \| (\d+) \|$", text, re.M)
    return tuple(int(cell) for cell in cells)


def calls(run, caller):
    return {rpc["service"]: rpc for rpc in run.test["reference"] if rpc["caller"] == caller}


def test_an_application_in_go_is_explored_with_the_derived_count(project):
    without, reduced = derived("grocery", "default set")
    run = explore(project, GROCERY / "filibuster.json", "--reduce", "published")
    # Go decides anew in each execution which of the two concurrent calls comes first; where that varies, the reduction executes more.
    assert run.exit_code == 0 and run.test["finished"] and reduced <= run.executed < without, run
    run = explore(project, GROCERY / "filibuster.json", "--reduce", "off")
    assert run.exit_code == 0 and run.test["finished"] and run.executed == without, run
    assert run.test["without_cause"] == [] and run.test["skipped"] == [], run
    # The goroutines that call are those that the handler has started; the one that writes is another.
    shop = calls(run, "shop")
    assert "main.(*shop).price" in shop["pricing"]["stack"][0], shop
    assert "main.(*shop).reserve" in shop["stock"]["stack"][0], shop
    assert {rpc["cause"] for rpc in shop.values()} == {"task"}, shop
    (warehouse,) = calls(run, "stock").values()
    assert "main.(*stock).count" in warehouse["stack"][0], warehouse
    assert warehouse["cause"] == "task" and warehouse["parent"] == shop["stock"]["index"], warehouse


ORDERS = """
import concurrent.futures, os, requests

def order(product):
    return requests.get(f"{os.environ['SHOP_URL']}/orders/{product}", timeout=10)

with concurrent.futures.ThreadPoolExecutor(8) as pool:
    answers = list(pool.map(order, ["apples", "bread"] * 6))
assert [answer.status_code for answer in answers] == [200, 409] * 6, answers
"""


def test_calls_belong_to_the_request_whose_goroutine_made_them_also_with_many_at_once(project):
    project.write("orders.py", ORDERS)
    config = in_place(GROCERY / "filibuster.json")
    config["tests"][0] |= {"command": "exec /usr/bin/python3 orders.py", "directory": "."}
    project.write("filibuster.json", config)
    run = project.filibuster("trace", "--json")
    assert run.exit_code == 0, run
    rpcs = json.loads(run.output.splitlines()[-1])["trace"]["rpcs"]
    orders = {rpc["index"]: rpc["path"].rsplit("/", 1)[1] for rpc in rpcs if rpc["service"] == "shop"}
    assert len(orders) == 12, orders
    # Each order asks each service once, whichever connection and goroutine brings the bytes there.
    for service in ("pricing", "stock"):
        asked = [rpc for rpc in rpcs if rpc["caller"] == "shop" and rpc["service"] == service]
        assert {rpc["cause"] for rpc in asked} == {"task"}, asked
        assert sorted(rpc["parent"] for rpc in asked) == sorted(orders), asked
        assert all(rpc["path"].rsplit("/", 1)[1] in ("Reserve", orders[rpc["parent"]]) for rpc in asked), asked
    # On one connection of gRPC, a handler for each stream.
    reserved = {rpc["index"]: orders[rpc["parent"]] for rpc in rpcs if rpc["caller"] == "shop" and rpc["service"] == "stock"}
    counted = [rpc for rpc in rpcs if rpc["caller"] == "stock"]
    assert {rpc["cause"] for rpc in counted} == {"task"}, counted
    assert sorted((rpc["parent"], rpc["path"]) for rpc in counted) == \
        sorted((index, f"/shelf/{product}") for index, product in reserved.items()), counted


@pytest.mark.parametrize("bug, faulted, fault, said", [
    ("1", "pricing", "status:503", 'got {"cents":0,"estimated":false}'),
    ("2", "warehouse", "timeout", "without Stock there is no order, got 200"),
])
def test_a_seeded_bug_is_found(project, bug, faulted, fault, said):
    run = explore(project, GROCERY / "filibuster.json", "--fault", fault, bugs=bug)
    assert run.exit_code == 1 and run.test["finished"], run
    faults = [(f["service"], f["fault"]) for finding in run.test["findings"] for f in finding["faults"]]
    assert faults == [(faulted, fault)], run
    assert said in run.test["findings"][0]["first"]["output"], run


def test_a_service_in_go_among_services_in_python_gives_the_count_of_all_in_python(project):
    run = explore(project, CORPUS / "cinema-2" / "go.json", "--reduce", "published")
    assert run.exit_code == 0 and run.test["finished"], run
    assert run.executed == derived("cinema-2", "default set")[1], run
    (movies,) = calls(run, "bookings").values()
    assert movies["cause"] == "task" and "main.movie" in movies["stack"][0], json.dumps(movies)
