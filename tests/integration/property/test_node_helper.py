"""The helper for models and clients in JavaScript: how it is loaded, its types, its streams, and a whole run. What test_property_helpers.py
asks all languages is not asked here."""
import base64
import json
import re
import shutil
import socket
import subprocess

import pytest

from conftest import BUILD, CORPUS, REPOSITORY, free_port
from helper_languages import LANGUAGES, PROGRAMS, Program, make

HELPER = LANGUAGES["node"].helper
TYPESCRIPT = BUILD / "tests/page/node_modules/typescript"
NAMES = {"Model", "Client", "Fail", "Info", "Impossible", "ANY", "UNKNOWN", "run", "command", "integer", "text", "oneOf", "array", "record", "resultOf",
         "constant", "isSymbol"}

# What the types of Node and of browsers would bring.
GLOBALS = """declare const process: { env: Record<string, string | undefined> };
declare function fetch(url: string, options: { method: string, body: string }): Promise<{ status: number, text(): Promise<string> }>;
"""


def program(folder, text, name="program.mjs", **options):
    make(folder, "node")
    (folder / name).write_text(text)
    return Program(["node", *options.pop("words", []), name], folder, **options)


@pytest.mark.parametrize("name, load", [
    ("program.mjs", 'import * as all from "./filibuster_property.cjs";'),
    ("program.cjs", 'const all = require("./filibuster_property.cjs");'),
])
def test_it_is_imported_and_required(tmp_path, name, load):
    names = program(tmp_path, load + 'console.log(Object.keys(all).join());', name).process.communicate(timeout=60)[0]
    assert set(names.strip().split(",")) - {"default", "module.exports"} == NAMES
    types = (HELPER.parent / "filibuster_property.d.cts").read_text()
    assert NAMES == set(re.findall(r"^export (?:abstract )?(?:const|class|function) (\w+)", types, re.M)), "the types have the same names"


@pytest.mark.skipif(not TYPESCRIPT.exists(), reason="the compiler of TypeScript is not there (make test-programs): types were NOT CHECKED")
def test_the_types_are_those_of_a_model_and_a_client(tmp_path):
    """The compiler finds what is wrong, and no more, and what it makes runs."""
    model, client = re.findall(r"^```typescript\n(.*?)^```", (REPOSITORY / "docs/property.md").read_text(), re.M | re.S)
    shutil.copy(HELPER.parent / "filibuster_property.d.cts", tmp_path)
    make(tmp_path, "node")
    wrong = model.replace("state.length]", "new Date()]")
    assert wrong != model
    # The last two: Node removes types, and looks at nothing else.
    options = {"strict": True, "noUnusedLocals": True, "target": "es2022", "lib": ["es2022"], "module": "nodenext", "types": [],
               "verbatimModuleSyntax": True, "erasableSyntaxOnly": True}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.mts"]}))
    for name, text in {"model": model, "client": client, "wrong": wrong}.items():
        (tmp_path / f"{name}.mts").write_text(GLOBALS + text)
    compiled = subprocess.run(["node", TYPESCRIPT / "lib/tsc.js"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert re.fullmatch(r"wrong\.mts\(\d+,\d+\): error TS2322: Type 'Date' .*", compiled.stdout.strip(), re.S), compiled.stdout
    run = Program(["node", "model.mjs"], tmp_path)
    assert run.ask(ask="step", state=["a"], f="write", value="b", answer={"result": 0}) == {"state": ["a", "b"], "answer": 1}
    assert run.ask(ask="step", state=["a"], f="read", value={"result": 0}, answer={"result": 1}) == {"state": ["a"]}
    assert run.ask(ask="step", state=["a"], f="read", value=1, answer=None) == {"state": ["a"], "answer": None}
    run.end()
    run = Program(["node", "client.mjs"], tmp_path)
    assert run.ask(do="read", value=0)["error"] == "the client Jobs has no method 'read'"
    run.end()


def test_a_program_that_was_made_of_another_is_named_by_that_one(tmp_path):
    """Of the compilers of TypeScript, some say in the file itself which line came from where."""
    mapped = {"version": 3, "sources": ["jobs.ts"], "names": [], "mappings": "AASA;AAAA"}  # each line is from the tenth
    mapped = base64.b64encode(json.dumps(mapped).encode()).decode()
    text = ('import * as all from "./filibuster_property.cjs"; class Jobs extends all.Model { step(state, f) { if (f) throw new Error("no"); } }\n'
            f"all.run(new Jobs());\n//# sourceMappingURL=data:application/json;base64,{mapped}\n")
    jobs = program(tmp_path, text, words=["--enable-source-maps"])
    assert jobs.ask(ask="step", state=0, f="")["error"] == ("step() returned undefined for '', and not an array of a state and an answer "
                                                           f"({tmp_path}/jobs.ts:10)")
    assert jobs.ask(ask="step", state=0, f="x")["error"] == f"Error: no ({tmp_path}/jobs.ts:10)"
    jobs.end()


CLIENT = """import { Client, run } from "./filibuster_property.cjs";
import { spawnSync } from "node:child_process";
class Calls extends Client {
  %s
}
run(new Calls());
"""


def test_what_caused_an_error_is_said_with_it(tmp_path):
    client = program(tmp_path, CLIENT % f'async call() {{ await fetch("http://127.0.0.1:{free_port()}"); }}\n  odd() {{ throw "a text"; }}')
    said = client.ask(do="call", value=None)["info"]
    assert said.startswith("TypeError: fetch failed, since ") and said.endswith(f"({tmp_path}/program.mjs:4)"), said
    assert client.ask(do="odd", value=None) == {"info": f"'a text' ({tmp_path}/program.mjs:5)"}
    client.end()


def test_between_questions_the_program_goes_on(tmp_path):
    """A connection that the other end has closed is noticed, for one."""
    client = program(tmp_path, CLIENT % 'look() { setImmediate(() => process.stderr.write("noticed\\n")); }')
    assert client.ask(do="look", value=None) == {"ok": None}
    assert client.process.stderr.readline() == "noticed\n"
    client.end()


def test_streams_that_are_no_pipes(tmp_path):
    """Nothing gives a socket another number there, but what the program prints is no answer all the same."""
    ours, theirs = socket.socketpair()
    client = program(tmp_path, CLIENT % 'call() { console.log("called"); return 1; }', stdin=theirs, stdout=theirs)
    theirs.close()
    with ours, ours.makefile("rw") as file:
        file.write('{"do": "call", "value": null}\n')
        file.flush()
        assert json.loads(file.readline()) == {"ok": 1}
        ours.shutdown(socket.SHUT_WR)
        assert file.read() == ""
    assert "called" in client.end()
    (tmp_path / "questions").write_text('{"do": "call", "value": null}\n' * 2)
    with (tmp_path / "questions").open() as questions, (tmp_path / "answers").open("w") as answers:
        client = Program(["node", "program.mjs"], tmp_path, stdin=questions, stdout=answers)
        client.process.wait(timeout=60)
    assert (tmp_path / "answers").read_text() == '{"ok":1}\n' * 2


def test_an_answer_that_nobody_waits_for_ends_the_program(tmp_path):
    client = program(tmp_path, CLIENT % "call() { setInterval(() => {}, 1000); }")
    client.process.stdout.close()
    client.process.stdin.write('{"do": "call", "value": null}\n')
    client.process.stdin.flush()
    assert client.process.wait(timeout=60) == 0
    client.process.stdin.close()


def test_what_is_no_model_and_no_client_is_not_run(tmp_path):
    text = 'import { Model, run } from "./filibuster_property.cjs";\nrun(Model);\n'
    process = program(tmp_path, text).process
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 1 and "run() takes a Model or a Client, as in run(new Jobs()), not [class Model]" in said


def queue(project, *options, **environment):
    """The job queue, with its model and its client in JavaScript."""
    shutil.copytree(CORPUS / "job-queue", project.directory / "queue", ignore=shutil.ignore_patterns("__pycache__", "*.cc", "*.json"))
    for file in (HELPER, PROGRAMS / "queue_model.mjs", PROGRAMS / "queue_client.mjs"):
        shutil.copy(file, project.directory / "queue")
    document = json.loads((CORPUS / "job-queue/filibuster.json").read_text())
    document["tests"][0]["property"] = {"model": "exec node queue_model.mjs", "client": "exec node queue_client.mjs"}
    (project.directory / "queue/filibuster.json").write_text(json.dumps(document))
    outcome = project.filibuster("property", "-c", "queue/filibuster.json", "--seed", "1", *options, env=environment)
    (test,) = json.loads((outcome.root / "property.json").read_text())["tests"]
    return outcome, test


def test_a_whole_run_without_a_bug(project):
    outcome, test = queue(project, "--tests", "8")
    assert outcome.exit_code == 0 and test["executed"] == 8 and not test["findings"], outcome
    assert test["commands"]["write ok"] > 0 and test["commands"]["read ok"] > 0 and test["fired"], outcome
    assert test["labels"]["write"] > 0, outcome


# Shrinking waits for the worker of the application, two seconds each time.
@pytest.mark.whole
def test_a_whole_run_with_a_bug(project):
    outcome, test = queue(project, BUG="full", WORKER_TIMEOUT="2")
    (finding,) = test["findings"]
    assert outcome.exit_code == 1 and finding["replays"] == finding["replays_alike"] == 3, outcome
    fault, *rest = finding["program"]
    assert fault["fault"] == "status:507" and [(item["do"], item["value"]) for item in rest] == [("write", "")], outcome
