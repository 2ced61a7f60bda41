"""Services that differ by their address, not by their port."""
import socket

from conftest import PYTHON, free_port
from small_apps import APPS, config, probe


def at(address, name, port, *calls, **members):
    """A service that listens there."""
    script = (f"import http.server, runpy, sys; http.server.ThreadingHTTPServer.__init__ = (lambda init: lambda self, a, h: "
              f"init(self, ('{address}', a[1]), h))(http.server.ThreadingHTTPServer.__init__); "
              f"sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')")
    arguments = [argument for call in calls for argument in ("--call", call)]
    return {"name": name, "command": [PYTHON, "-c", script, str(APPS / "relay.py"), str(port), *arguments],
            "ports": {name: port}, **members}


def application(port, hosts=True):
    addresses = {"users": "127.0.0.21", "movies": "127.0.0.22", "front": "127.0.0.23"}
    where = {name: {"host": address} if hosts else {} for name, address in addresses.items()}
    return config(
        [at(addresses["users"], "users", port, **where["users"]),
         at(addresses["movies"], "movies", port, **where["movies"]),
         at(addresses["front"], "front", port, f"http://{addresses['users']}:{port}/u", f"http://{addresses['movies']}:{port}/m",
            **where["front"])],
        [probe(f"http://{addresses['front']}:{port}/", expected="200,503")],
        faults=[{"on": {"service": "movies"}, "inject": "503"}, {"inject": "500"}])


def test_services_at_one_port_of_several_addresses_have_their_names(project):
    project.write("filibuster.json", application(free_port()))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.test["finished"], run
    assert [(rpc["caller"], rpc["service"], rpc["received_by"], rpc["path"]) for rpc in run.test["reference"]] == [
        ("test", "front", "front", "/"), ("front", "users", "users", "/u"), ("front", "movies", "movies", "/m")], run
    assert run.executed == 2 ** 2, run
    assert "two services" not in run.output + run.errors, run


def test_two_services_of_one_address_and_port_are_a_mistake(project):
    project.write("filibuster.json", application(free_port(), hosts=False))
    run = project.filibuster("run")
    assert run.exit_code == 2 and "both have localhost port" in run.errors and "`host`" in run.errors, run


def test_a_host_that_is_a_name_is_its_address(project):
    port = free_port()
    made = application(port)
    name = socket.gethostbyaddr("127.0.0.1")[0]
    made["services"].append(at("127.0.0.1", "named", port, host=name))
    made["tests"][0]["command"] += f" http://{name}:{port}/"
    project.write("filibuster.json", made)
    run = project.filibuster("trace")
    assert run.exit_code == 0 and "test -> named" in run.output, run


def test_a_host_without_an_address_is_said(project):
    made = application(free_port())
    made["services"][0]["host"] = "users.invalid"
    project.write("filibuster.json", made)
    run = project.filibuster("run")
    assert run.exit_code == 3 and "'users.invalid' has no address" in run.errors, run
