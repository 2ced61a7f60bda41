"""`filibuster run --coverage`: which statements of the services only faults reach, in each of the languages; a run with it
explores what one without it explores."""
import json
import signal

import pytest

import pairs
from conftest import BUILD, CORPUS, PRELOAD, PYTHON, REPOSITORY
from corpus import in_place
from processes import events
from small_apps import APPS, config, probe, relay, url

STATUS = ["--fault", "503", "--max-faults", "1"]


def marked(source, *texts):
    """The numbers of the lines that contain one of the texts, each of which stands there once."""
    lines = source.read_text().splitlines()
    out = set()
    for text in texts:
        (number,) = [number for number, line in enumerate(lines, 1) if text in line]
        out.add(number)
    return out


def lines_of(ranges):
    return {line for first, last in ranges for line in range(first, last + 1)}


class Coverage:
    def __init__(self, outcome):
        report = json.loads((outcome.root / "coverage.json").read_text())
        assert report["version"] == 1
        self.counts, self.notes = report["counts"], report["notes"]
        self.services = {service["service"]: service for service in report["services"]}
        for service in self.services.values():
            for file in service["files"]:
                counts = file["counts"]
                assert counts["reached"] == counts["without_faults"] + counts["only_under_faults"]
                assert counts["statements"] == counts["reached"] + counts["never"]

    def file(self, service, name):
        """{"only": lines that only faults reach, "never": lines that nothing reaches}."""
        (file,) = [file for file in self.services[service]["files"] if file["file"].endswith(name)]
        return {"only": lines_of(file["only_under_faults"]), "never": lines_of(file["never"])}


def explored(project, config, *options, env=None):
    """The same exploration without and with coverage; gives the latter's outcome, and its coverage."""
    plain = project.filibuster("run", "-c", config, *options, env=env)
    outcome = project.filibuster("run", "-c", config, "--coverage", *options, env=env)
    assert outcome.exit_code == plain.exit_code == 0, (plain, outcome)
    assert outcome.test["counts"] == plain.test["counts"], outcome
    assert outcome.test["finished"] == plain.test["finished"], outcome
    return outcome, Coverage(outcome)


def assert_shares(file, source, reached, only, never=()):
    """Lines that are reached without faults are in neither list."""
    assert marked(source, *only) <= file["only"], (file, marked(source, *only))
    assert not marked(source, *reached) & (file["only"] | file["never"]), file
    assert marked(source, *never) <= file["never"], file


# Handlers of exceptions in Python run in test_python_is_measured_however_it_is_started, too.
@pytest.mark.whole
def test_python_under_faults_runs_the_handlers_of_exceptions(project):
    outcome, coverage = explored(project, CORPUS / "cinema-1" / "filibuster.json", "--fault", "refused", "--fault", "503")
    assert coverage.services["users"]["tools"] == ["coverage.py"]
    assert_shares(coverage.file("users", "users.py"), CORPUS / "cinema-1" / "users.py",
                  reached=["response = requests.get(url, timeout=TIMEOUT)", "return jsonify(result)", "app = Flask(__name__)"],
                  only=["except requests.exceptions.RequestException", "raise Unavailable(url)"],
                  never=["no such user"])
    # What only the others do not answer for is nothing of their own.
    assert not coverage.file("movies", "movies.py")["only"]
    assert [file["file"] for file in coverage.services["users"]["files"]] == ["users.py"], "libraries do not count"
    assert "users  users.py: " in outcome.output, outcome


def test_node_under_faults_refuses(project):
    _, coverage = explored(project, CORPUS / "audible" / "filibuster.json", *STATUS)
    assert coverage.services["audible-app"]["tools"] == ["V8"]
    assert_shares(coverage.file("audible-app", "audible_app.mjs"), CORPUS / "audible" / "audible_app.mjs",
                  reached=["if (answer.status === 200) return answer.text", "const place = show("],
                  only=["something went wrong, please try again"])
    shared = CORPUS / "audible" / "service.mjs"
    assert_shares(coverage.file("audible-app", "service.mjs"), shared,
                  reached=["response.writeHead(status", "const segments = "],
                  only=["super(text)", "[status, text] = error instanceof Refusal"])
    # Nobody asks the leaves' clients.
    assert_shares(coverage.file("ownership", "service.mjs"), shared, reached=[], only=[], never=["request.end();"])


def test_cpp_under_faults_asks_the_other_service(project):
    config = json.dumps(in_place(CORPUS / "expedia" / "filibuster.json"))
    programs = BUILD / "corpus" / "expedia-coverage"
    path = project.write("filibuster.json", config.replace("../../build/corpus/expedia", str(programs)))
    _, coverage = explored(project, path, "--fault", "503")
    assert coverage.services["api-gateway"]["tools"] == ["gcov"]
    assert_shares(coverage.file("api-gateway", "api_gateway.cc"), CORPUS / "expedia" / "api_gateway.cc",
                  reached=["client.set_connection_timeout(1);", "response.set_content(nlohmann::json{"],
                  only=["response.status = 503;"], never=["return 2;"])
    # The second one serves nothing while the first one answers.
    assert coverage.services["review-time"]["counts"]["only_under_faults"] > 10
    assert coverage.services["review-ml"]["counts"]["only_under_faults"] == 0


@pytest.mark.parametrize("folder", ["lib", "with blanks: lib"])
def test_cpp_that_forks_is_measured_in_parent_and_child(project, folder):
    """Wherever the library and its helpers stand: blanks and colons separate the entries of LD_PRELOAD."""
    (project.directory / folder).symlink_to(BUILD / "lib")
    library = str(project.directory / folder / PRELOAD.name)
    made = config([{"name": "back", "command": [str(BUILD / "tests" / "coverage" / "prefork"), "${port:back}"]}, relay("front", "back")],
                  [probe(url("front"), expected="200,503")], faults=[{"inject": 503}])
    project.write("filibuster.json", made)
    outcome = project.filibuster("run", "--coverage", env={"FILIBUSTER_PRELOAD": library})
    assert outcome.exit_code == 0, outcome
    coverage = Coverage(outcome)
    assert coverage.services["back"]["notes"] == [], coverage.services["back"]
    source = REPOSITORY.resolve() / "tests" / "programs" / "coverage" / "prefork.cc"
    assert_shares(coverage.file("back", "prefork.cc"), source, only=[], never=["return 1;"],
                  reached=["// the parent's line", "// the child's line", "if (send(connection"])


def test_a_jvm_under_faults_takes_the_other_database(project):
    _, coverage = explored(project, CORPUS / "mailchimp" / "filibuster.json", *STATUS)
    assert coverage.services["app-server"]["tools"] == ["JaCoCo"]
    folder = CORPUS / "mailchimp"
    assert_shares(coverage.file("db-secondary", "Database.java"), folder / "Database.java",
                  reached=["Service.serve("], only=['"visits=41"', "return answerWrite(READ_ONLY)"])
    assert not coverage.file("db-primary", "Database.java")["only"]
    assert_shares(coverage.file("app-server", "AppServer.java"), folder / "AppServer.java",
                  reached=["return new Service.Answer(200, alert + page)"],
                  only=['Service.ask("GET", setting.secondary()', "return new Service.Answer(500"])
    assert {file["file"] for file in coverage.services["app-server"]["files"]} == {"AppServer.java", "Service.java"}


COVERED = APPS / "covered.py"


def covered(end="default", command="exec {python} {app} {arguments}", app=COVERED, **members):
    arguments = f"${{port:front}} {end} {url('back')}"
    front = {"name": "front", "command": command.format(python=PYTHON, app=app, arguments=arguments), "ready": {"http": "/health"},
             **members}
    return config([relay("back", python=True), front], [probe(url("front"), expected="200,503")], faults=[{"inject": [500, 503]}])


def covered_file(project, made, exit_code=0, **options):
    project.write("filibuster.json", made)
    outcome = project.filibuster("run", "--coverage", **options)
    assert outcome.exit_code == exit_code, outcome
    return outcome, Coverage(outcome)


# The plain way is in the other tests of Python; a child of a shell is the one that is not like it.
@pairs.only("id", ["{python} {app} {arguments} & wait"])
@pytest.mark.parametrize("command", [
    "exec {python} {app} {arguments}",
    "{python} {app} {arguments} & wait",       # a child of a shell, which ends first
    "exec env -u HOME {python} {app} {arguments}"])
def test_python_is_measured_however_it_is_started(project, command):
    _, coverage = covered_file(project, covered(command=command))
    assert_shares(coverage.file("front", "covered.py"), COVERED, reached=["urllib.request.urlopen("], only=["return failed()"])


def test_what_a_forked_child_reached_counts(project):
    _, coverage = covered_file(project, covered("fork"))
    assert_shares(coverage.file("front", "covered.py"), COVERED, reached=["urllib.request.urlopen("], only=["return failed()"])


def test_a_program_ends_by_its_own_handler_of_sigterm(project):
    _, coverage = covered_file(project, covered("own"))
    assert "its own end" in (project.root / "logs" / "front-0.log").read_text()
    assert_shares(coverage.file("front", "covered.py"), COVERED, reached=["urllib.request.urlopen(", "sys.exit(0)"],
                  only=["return failed()"])


def test_what_a_crash_takes_with_it_is_said(project):
    outcome, coverage = covered_file(project, covered("crash"), exit_code=1)
    assert [finding["first"]["verdict"] for finding in outcome.test["findings"]] == ["crashed"] * 2
    (note,) = coverage.services["front"]["notes"]
    assert "ended by SIGSEGV: what only they reached is not counted" in note, coverage.services
    assert marked(COVERED, "its last line") <= coverage.file("front", "covered.py")["never"]


# The end that takes something with it is the one of which something is said.
@pairs.only("end", ["quit"])
@pytest.mark.parametrize("end, lost", [("quit", True), ("exit", False)])
def test_an_exit_that_took_all_with_it_is_said(project, end, lost):
    outcome, coverage = covered_file(project, covered(end), exit_code=1)
    assert [finding["first"]["verdict"] for finding in outcome.test["findings"]] == ["crashed"] * 2
    notes = [note for note in coverage.services["front"]["notes"]
             if "ended with exit status 7 without writing what it counted: what only" in note]
    assert len(notes) == lost, coverage.services


def test_services_that_are_started_for_each_execution_are_merged(project):
    _, coverage = covered_file(project, covered(restart="each"))
    assert_shares(coverage.file("front", "covered.py"), COVERED, reached=["urllib.request.urlopen("], only=["return failed()"])


def test_python_that_reads_no_environment_is_said(project):
    _, coverage = covered_file(project, covered(command="exec {python} -I {app} {arguments}"))
    assert "is Python started with -I, -E or -S?" in coverage.services["front"]["reason"]
    assert coverage.services["back"]["reason"] == ""


def test_the_programs_own_sitecustomize_runs_and_its_path_stays(project):
    project.write("own/sitecustomize.py", "import os\nos.environ['FROM_OWN'] = 'yes'\n")
    project.write("own/helper.py", "VALUE = 3\n")
    app = project.write("app.py", "import os, sys, sitecustomize, helper\n"
                                  "print('own', os.environ['FROM_OWN'], helper.VALUE, 'hidden' in str(sys.path), flush=True)\n"
                                  + COVERED.read_text())
    _, coverage = covered_file(project, covered(app=app, env={"PYTHONPATH": str(project.directory / "own")}))
    assert "own yes 3 False" in (project.root / "logs" / "front-0.log").read_text()
    names = {file["file"] for file in coverage.services["front"]["files"]}
    assert {"app.py", "own/helper.py", "own/sitecustomize.py"} == names


def test_two_tests_are_told_apart_from_the_faults_of_each_other(project):
    """What the faults of the first test reach is not taken for what the second one reaches without."""
    made = covered()
    made["tests"].append(probe(url("front"), expected="200,503", name="again"))
    project.write("filibuster.json", made)
    outcome = project.filibuster("run", "--coverage")
    assert outcome.exit_code == 0, outcome
    assert_shares(Coverage(outcome).file("front", "covered.py"), COVERED, reached=["urllib.request.urlopen("],
                  only=["return failed()"])


def interrupted(project, *options):
    """The run of some 40 executions is stopped after the first with a fault."""
    made = covered()
    made["services"] += [relay("b", python=True), relay("top", "front", "b", options="--tolerate 9", python=True)]
    made["tests"] = [probe(url("top"), expected="200,503")]
    project.write("filibuster.json", made)
    process = project.start("run", "--no-reduction", "--json", *options)
    for event in events(process):
        if event["type"] == "execution":
            process.send_signal(signal.SIGINT)
            break
    summary = [*events(process)][-1]["summary"]
    assert process.wait(timeout=60) == 3
    assert not (project.root / "coverage.json").exists()
    assert ("coverage.json is written when" in summary) == ("--coverage" in options), summary


def continued(project):
    outcome = project.filibuster("run", "--no-reduction", "--coverage")
    assert outcome.exit_code == 0 and outcome.test["finished"], outcome
    return Coverage(outcome)


def data_of_front(project):
    return set((project.root / "coverage" / "front").rglob("data.*"))


# A run that goes on is in the next test, too.
@pytest.mark.whole
def test_an_interrupted_run_goes_on_counting(project):
    interrupted(project, "--coverage")
    before = data_of_front(project)
    assert len(before) == 2, "those of both phases stay"
    coverage = continued(project)
    assert before < data_of_front(project) and coverage.notes == []
    assert_shares(coverage.file("front", "covered.py"), COVERED, reached=["urllib.request.urlopen("], only=["return failed()"])
    again = continued(project)
    assert not before & data_of_front(project), "a finished run is forgotten by the next"
    assert again.counts == coverage.counts


def test_a_run_that_goes_on_where_one_without_coverage_stopped_says_so(project):
    interrupted(project)
    (note,) = continued(project).notes
    assert "without --coverage" in note


def test_a_missing_tool_is_named_before_anything_starts(project):
    programs = BUILD / "corpus" / "expedia-coverage"
    path = project.write("filibuster.json", {
        "version": 1, "services": [{"name": "ml", "command": [str(programs / "review_ml"), "${port:ml}"]}],
        "tests": [{"name": "none", "command": ["/bin/true"]}]})
    outcome = project.filibuster("run", "-c", path, "--coverage", env={"PATH": "/nowhere"})
    assert outcome.exit_code == 3, outcome
    assert "--coverage needs gcov (apt-get install gcc) for service 'ml'" in outcome.errors, outcome
    assert "ready" not in outcome.errors, outcome


def test_a_service_that_nothing_measures_is_said(project):
    outcome = project.filibuster("run", "-c", CORPUS / "expedia" / "filibuster.json", "--coverage", *STATUS)
    assert outcome.exit_code == 0, outcome
    reason = Coverage(outcome).services["api-gateway"]["reason"]
    assert reason.endswith("/api_gateway was not built with gcc's --coverage, and is neither Python nor Node nor a JVM")
    assert f"no coverage for api-gateway: {reason}" in outcome.output, outcome
