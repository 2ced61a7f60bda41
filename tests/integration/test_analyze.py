"""`filibuster analyze`: which faults can a service return? `run` takes what it proposes as it is."""
import json
import os
import subprocess

import pytest

from conftest import CORPUS, FILIBUSTER
from corpus import in_place


def analyze(project, *options, cwd=None, timeout=300):
    return project.filibuster("analyze", *options, cwd=cwd, timeout=timeout)


def proposed(project, application, *options, name="filibuster.json"):
    """The path of the application's configuration with the proposal, and {service: all faults proposed for it}."""
    project.write("given.json", in_place(CORPUS / application / name))
    done = analyze(project, "-c", "given.json", "--write", "proposed.json", *options)
    assert done.exit_code == 0, done
    faults = {}
    for rule in json.loads((project.directory / "proposed.json").read_text())["faults"]:
        if "evidence" in rule:
            faults.setdefault(rule["on"]["service"], set()).update(rule["inject"])
            assert rule["evidence"], rule
    return "proposed.json", faults


TRANSPORT = {"refused", "timeout"}


def test_cinema_what_its_sources_answer_is_proposed_and_finds_the_bug(project):
    config, faults = proposed(project, "cinema-1", name="planted-bug.json")
    assert faults == {"movies": TRANSPORT | {"status:404", "status:500"},
                      "bookings": TRANSPORT | {"status:404", "status:500"},
                      "users": TRANSPORT | {"status:404", "status:500", "status:503"}}
    found = project.filibuster("run", "-c", config)
    assert found.exit_code == 1 and found.test["finished"], found
    (finding,) = found.test["findings"]
    (fault,) = finding["faults"]
    assert (fault["service"], fault["fault"]) == ("movies", "timeout"), found
    # Reference; four faults of Bookings, and four of Movies.
    assert found.executed == 9, found


def test_a_document_speaks_for_the_paths_that_it_names(project):
    project.write("filibuster.json", {"version": 1, "services": [{"name": "users", "openapi": "users.yaml"}],
                                      "tests": [{"name": "t", "command": "true"}]})
    project.write("users.yaml", "openapi: 3.0.0\npaths:\n  /users/{id}:\n    get:\n      responses:\n"
                                "        404: {description: no such user}\n  /users:\n    post:\n"
                                "      responses: {409: {}}\n")
    done = analyze(project, "--format", "json")
    assert done.exit_code == 0, done
    rules = json.loads(done.output)["faults"]
    assert [(rule["on"], rule["inject"]) for rule in rules] == [
        ({"service": "users", "method": "GET", "path": "/users/*"}, ["refused", "timeout", "status:404"]),
        ({"service": "users", "method": "POST", "path": "/users"}, ["refused", "timeout", "status:409"]),
        ({"service": "users"}, ["refused", "timeout", "status:404", "status:409"])]
    assert "status:404: users.yaml:6: GET /users/{id} answers 404: no such user" in rules[0]["evidence"]
    assert "users.yaml:6" in analyze(project).output


def test_without_a_configuration_the_section_alone_is_printed(project):
    project.write("users/app.go", "package main\nfunc f(w http.ResponseWriter) {\n\tw.WriteHeader(409)\n}\n")
    project.write("users/node_modules/x.js", "res.status(418)")
    project.write("users/app_test.go", "package main\nfunc f(w http.ResponseWriter) {\n\tw.WriteHeader(410)\n}\n")
    (project.directory / "users" / "latin.go").write_bytes(b"package main // caf\xe9\n")
    done = analyze(project, "--source", "users=users", "--format", "json")
    document = json.loads(done.output)
    assert list(document) == ["faults"]
    assert document["faults"][-1]["inject"] == ["refused", "timeout", "status:409"]
    text = analyze(project, "--source", "users=users").output
    assert "skipped (not the service's own sources): users/node_modules/" in text
    assert "skipped (tests, or generated): users/app_test.go" in text
    assert "skipped (not UTF-8 text): users/latin.go" in text


def test_what_is_no_regular_file_is_listed_and_never_waited_for(project):
    project.write("users/app.go", "package main\nfunc f(w http.ResponseWriter) {\n\tw.WriteHeader(409)\n}\n")
    project.write("shared/lib.go", "package main\nfunc g(w http.ResponseWriter) {\n\tw.WriteHeader(410)\n}\n")
    (project.directory / "users" / "shared").symlink_to(project.directory / "shared")
    (project.directory / "users" / "gone.go").symlink_to(project.directory / "nowhere.go")
    os.mkfifo(project.directory / "users" / "pipe.py")
    pipe = "users/pipe.py"
    done = analyze(project, "--source", "users=users")
    assert done.exit_code == 0 and "410" not in done.output, done
    assert "skipped (symbolic links to folders): users/shared/" in done.output
    (line,) = [line for line in done.output.splitlines() if "skipped (not regular files: pipes, links to nothing)" in line]
    assert "users/gone.go" in line and "users/pipe.py" in line
    source = analyze(project, "--source", "users=" + pipe)
    assert source.exit_code == 2 and "pipe.py: neither a regular file nor a folder" in source.errors, source
    for options in (["--openapi", "users=" + pipe], ["--proto", "users=" + pipe], ["-c", pipe],
                    ["--source", "users=users", "--observed", pipe]):
        refused = analyze(project, *options, timeout=20)
        assert refused.exit_code == 2 and "pipe.py: a named pipe (FIFO)" in refused.errors, (options, refused)


def test_a_configuration_may_come_through_a_pipe(project):
    project.write("users.yaml", "swagger: '2.0'\npaths: {/a: {get: {responses: {404: {}}}}}\n")
    read_end, write_end = os.pipe()
    os.write(write_end, json.dumps({"version": 1, "tests": [{"name": "t", "command": "true"}],
                                    "services": [{"name": "users", "third_party": True, "host": "u.example.com"}]}).encode())
    os.close(write_end)
    done = subprocess.run([str(FILIBUSTER), "analyze", "-c", "/dev/stdin"], stdin=read_end, cwd=project.directory,
                          capture_output=True, text=True, timeout=60)
    os.close(read_end)
    assert done.returncode == 0 and "users\n" in done.stdout, done


def test_proto_files_alone_describe_a_service(project):
    project.write("shop.proto", 'syntax = "proto3";\npackage shop;\nmessage A {}\nservice CartService { rpc Get(A) returns (A); }\n')
    done = analyze(project, "--proto", "cart=shop.proto", "--format", "json")
    assert done.exit_code == 0, done
    assert any(rule["on"]["service"] == "cart" for rule in json.loads(done.output)["faults"]), done
    nameless = analyze(project, "--proto", "shop.proto")
    assert nameless.exit_code == 2 and "--proto NAME=FILE" in nameless.errors, nameless


def test_where_nothing_speaks_the_default_set_is_proposed_and_said(project):
    project.write("filibuster.json", {"version": 1, "tests": [{"name": "t", "command": "true"}],
                                      "services": [{"name": "mail", "third_party": True, "host": "mail.example.com"}]})
    done = analyze(project)
    assert "mail\n  no evidence was found: the default set is proposed" in done.output
    rules = json.loads(analyze(project, "--format", "json").output)["faults"]
    assert [rule["on"] for rule in rules] == [{"service": "mail", "grpc": "*"}, {"service": "mail"}]
    assert rules[1]["inject"] == ["refused", "timeout", "status:500", "status:502", "status:503"]
    assert rules[1]["evidence"] == ["no evidence was found: the default set of HTTP"]


def test_rules_of_a_person_stay_in_front_and_proposed_ones_are_made_anew(project):
    project.write("filibuster.json", {
        "version": 1, "tests": [{"name": "t", "command": "true"}], "services": [{"name": "users", "openapi": "a.yaml"}],
        "faults": [{"on": {"service": "users"}, "inject": [418]},
                   {"on": {"service": "users"}, "inject": [417], "evidence": "of an earlier proposal"}]})
    project.write("a.yaml", "swagger: '2.0'\npaths: {/a: {get: {responses: {404: {}}}}}\n")
    done = analyze(project, "--format", "json")
    assert [rule["inject"] for rule in json.loads(done.output)["faults"]] == [[418], ["refused", "timeout", "status:404"]]
    assert "stay in front (1)" in done.errors


def test_nothing_is_overwritten_in_silence(project):
    project.write("filibuster.json", {"version": 1, "tests": [{"name": "t", "command": "true"}], "services": []})
    project.write("out.json", "precious")
    refused = analyze(project, "--write", "out.json")
    assert refused.exit_code == 2 and "out.json is there already; --force replaces it" in refused.errors
    assert (project.directory / "out.json").read_text() == "precious"
    assert analyze(project, "--write", "out.json", "--force").exit_code == 0
    assert json.loads((project.directory / "out.json").read_text())["faults"] == []
    (project.directory / "folder").mkdir()
    assert analyze(project, "--write", "folder", "--force").exit_code == 3
    assert (project.directory / "folder").is_dir()
    assert not list(project.directory.glob("*.new-*"))
    elsewhere = analyze(project, "--write", "../out.json")
    assert elsewhere.exit_code == 2 and "where the configuration is" in elsewhere.errors
    unwritable = analyze(project, "--source", "a=.", "--write", "/proc/x.json", cwd="/usr/share/doc")
    assert unwritable.exit_code == 3, unwritable


@pytest.mark.parametrize("name, text, message", [
    ("users.yaml", "openapi: 3.0.0\npaths:\n  /a:\n    get: 3\n", "users.yaml:4:10: 'get' of path '/a'"),
    ("users.json", "{\n  \"openapi\": }", "users.json:2:14: syntax error"),
    ("users.yaml", "a: \xff", "users.yaml:1:4: the file is not UTF-8 text"),
    ("users.proto", "syntax = \"proto3\";\nservice {\n", "users.proto:2:9: "),
])
def test_a_malformed_document_is_named_with_its_place(project, name, text, message):
    project.write("filibuster.json", {"version": 1, "tests": [{"name": "t", "command": "true"}],
                                      "services": [{"name": "users", name.split(".")[1].replace("yaml", "openapi")
                                                    .replace("json", "openapi"): name}]})
    (project.directory / name).write_bytes(text.encode("latin-1"))
    done = analyze(project)
    assert done.exit_code == 2 and message in done.errors, done
    assert done.output == ""


def test_what_is_not_there_is_a_mistake(project):
    project.write("filibuster.json", {"version": 1, "tests": [{"name": "t", "command": "true"}],
                                      "services": [{"name": "users", "sources": "nowhere"}]})
    for options, message in [([], "there is no such file or folder"),
                             (["--source", "movies=."], "the configuration has no service 'movies'"),
                             (["--openapi", "users"], "expected NAME=PATH"),
                             (["-c", "other.json"], "No such file")]:
        done = analyze(project, *options)
        assert done.exit_code == 2 and message in done.errors, done


def test_help_has_examples():
    shown = subprocess.run([FILIBUSTER, "analyze", "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "Examples:" in shown and "--openapi NAME=FILE" in shown


# --- the corpus: nothing is proposed that the sources cannot return, and the bugs are found by what is proposed ---

SINGLE = ["--max-faults", "1"]


def explore(project, config, *options, **environment):
    """{(service, fault)} of the findings, each with one fault."""
    done = project.filibuster("run", "-c", config, *options, env=environment)
    assert done.exit_code in (0, 1) and done.executed > 1, done
    found = {(fault["service"], fault["fault"]) for finding in done.test["findings"] for fault in finding["faults"]}
    return found, done


@pytest.mark.whole
def test_audible_in_node(project):
    config, faults = proposed(project, "audible")
    assert faults == {"ownership": TRANSPORT | {"status:403", "status:404", "status:500"},
                      "activation": TRANSPORT | {"status:404", "status:500"},
                      "stats": TRANSPORT | {"status:405", "status:500"},
                      "audio-assets": TRANSPORT | {"status:403", "status:404", "status:500"},
                      "asset-metadata": TRANSPORT | {"status:403", "status:404", "status:500"},
                      "audible-download-service": TRANSPORT | {"status:500", "status:503"},
                      "content-delivery-engine": TRANSPORT | {"status:404", "status:500"},
                      "content-delivery-service": TRANSPORT | {"status:500", "status:503"},
                      "audible-app": TRANSPORT | {"status:500", "status:503"}}
    found, done = explore(project, config, *SINGLE, AUDIBLE_BUG="missing-chapters")
    assert found == {("asset-metadata", "status:404")}, done
    # The services in between passed on what those that they ask had answered: now that was observed.
    again = analyze(project, "-c", "given.json", "--format", "json")
    observed = {}
    for rule in json.loads(again.output)["faults"]:
        if "path" not in rule["on"]:
            observed[rule["on"]["service"]] = set(rule["inject"])
    assert observed["audible-download-service"] == TRANSPORT | {f"status:{s}" for s in (403, 404, 500, 503)}
    assert observed["content-delivery-service"] == TRANSPORT | {f"status:{s}" for s in (403, 404, 500, 503)}
    assert observed["ownership"] == faults["ownership"]  # a leaf: nothing new
    text = analyze(project, "-c", "given.json").output
    assert ".filibuster/report.json: GET /users/ursula/books/earthsea was answered so when ownership GET " \
           "/users/ursula/books/earthsea had the fault status:403 (test 'play a book')" in text
    # Leaves first.
    order = [line.split()[0] for line in text.splitlines() if line and line[0].isalpha() and not line.startswith("note")]
    assert order.index("ownership") < order.index("audible-download-service") < order.index("audible-app")


def test_mailchimp_in_java(project):
    config, faults = proposed(project, "mailchimp")
    assert faults == {"requestmapper": TRANSPORT, "db-primary": TRANSPORT | {"status:403"},
                      "db-secondary": TRANSPORT | {"status:403"}, "app-server": TRANSPORT | {"status:500"},
                      "load-balancer": TRANSPORT | {"status:503"}}
    found, done = explore(project, config, *SINGLE, MAILCHIMP_BUGS="1")
    assert found == {("db-primary", "status:403")}, done


def test_netflix_in_cpp(project):
    config, faults = proposed(project, "netflix")
    leaf = TRANSPORT | {"status:404", "status:500"}
    assert {service for service, proposal in faults.items() if proposal == leaf} == {
        "bookmarks", "my-list", "user-recommendations", "global-recommendations", "trending", "ratings", "telemetry",
        "user-profile"}
    assert faults["api-gateway"] == faults["mobile-client"] == leaf | {"status:503"}
    found, done = explore(project, config, *SINGLE, NETFLIX_BUGS="2")
    assert found == {("my-list", "refused"), ("my-list", "timeout")}, done


# What .proto files say of a service is in test_proto_files_alone_describe_a_service.
@pytest.mark.whole
def test_purchase_over_grpc(project):
    config, faults = proposed(project, "purchase", "--proto", CORPUS / "purchase" / "shop.proto", name="half-done.json")
    either = {"grpc:UNAVAILABLE", "grpc:DEADLINE_EXCEEDED", "grpc:UNKNOWN"}
    assert faults == {"user": either | {"grpc:NOT_FOUND"}, "cart": either | {"grpc:NOT_FOUND"}, "shipping": either,
                      "pricing": either, "order": either, "gateway": either}
    rules = json.loads((project.directory / "proposed.json").read_text())["faults"]
    assert [rule["inject"] for rule in rules if rule["on"].get("grpc") == "shop.CartService/NotifyOrder"][-1] == [
        "grpc:UNAVAILABLE", "grpc:DEADLINE_EXCEEDED", "grpc:UNKNOWN"]
    found, done = explore(project, config)
    assert found and {service for service, fault in found} == {"cart"}, done
