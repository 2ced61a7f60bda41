"""The helpers for models and clients in Python, JavaScript, Java and C++: what each answers to each question of the protocol, and to each
mistake of whoever writes a model or a client. What only one of them has is in test_python_helper.py and test_node_helper.py."""
import ast
import functools
import re
import shutil
import textwrap

import pytest

from conftest import REPOSITORY
from helper_languages import LANGUAGES, PROGRAMS, Program, line_of, make

THINGS = {"python": "things.py", "node": "things.mjs", "java": "Things.java", "cpp": "things.cc"}


class Things:
    """The two programs of a language."""

    def __init__(self, language, folder):
        self.language, self.folder = language, folder
        self.source = folder / THINGS[language]
        shutil.copy(PROGRAMS / self.source.name, folder)
        make(folder, language, self.source.name)
        self.running = []

    def start(self, kind):
        name = "Things" if self.language == "java" else self.source
        program = Program([*LANGUAGES[self.language].command(str(name)), kind], self.folder)
        self.running.append(program.process)
        return program

    @functools.cached_property
    def model(self):
        return self.start("model")

    @functools.cached_property
    def client(self):
        return self.start("client")

    def step(self, f, **more):
        return self.model.ask(ask="step", state={"things": ["a"]}, f=f, **more)

    def at(self, text):
        # A trace of Java has no folders, and that of C++ those that the compiler was told.
        return f"({self.source.name if self.language in ('java', 'cpp') else self.source}:{line_of(self.source, text)})"

    def thrown_at(self, text, called):
        """Where an exception was thrown. C++ can only tell where run() or on() was `called`."""
        return self.at(called if self.language == "cpp" else text)

    def method(self, name):
        """Where a method is that returned what it must not."""
        is_models = name in ("step", "commands")
        if self.language == "java":
            return f"(Things.{name})" if is_models else f"(Things$Thing.{name})"
        if self.language == "cpp":
            return self.at("run(Things())" if is_models else f'on("{name}"')
        before = "def " if self.language == "python" else ""
        lines = [number for number, line in enumerate(self.source.read_text().splitlines(), 1) if re.match(rf"\s+{before}{name}\(.*[:{{]$", line)]
        return f"({self.source}:{lines[0]})"


@pytest.fixture(scope="module", params=THINGS)
def things(request, tmp_path_factory):
    made = Things(request.param, tmp_path_factory.mktemp(request.param))
    yield made
    for process in made.running:
        process.kill()


def test_a_model_says_how_it_begins_and_what_may_come_next(things):
    model = things.model
    assert model.ask(ask="init") == {"state": {"things": []}, "reads": ["look"]}
    assert model.ask(ask="commands", state={"things": []}) == {"commands": [
        {"f": "add", "value": {"text": {"max": 3}}, "weight": 2},
        {"f": "look", "value": {"result_of": "add"}, "weight": 1},
        {"f": "pair", "value": {"array": [{"int": [0, 9]}, {"one_of": ["a", None]}]}, "weight": 1},
        {"f": "put", "value": {"object": {"key": {"text": {"max": 8}}, "value": {"value": {"int": "eger"}}}}, "weight": 1},
        {"f": "clear", "value": None, "weight": 1}]}
    assert model.ask(ask="pre", state={}, f="look", value={"result": 3}) == {"holds": True}
    assert model.ask(ask="pre", state={}, f="look", value=3) == {"holds": False}


def test_a_model_steps(things):
    assert things.step("add", value="é", answer=5) == {"state": {"things": ["a", "é"]}, "answer": 1}
    assert things.step("look", value=0, answer="a") == {"state": {"things": ["a"]}}, "any answer will do"
    assert things.step("look", value=0, answer="nothing") == {"impossible": "there are things"}
    assert things.step("null") == {"state": {"things": ["a"]}, "answer": None}, "no answer and the answer null are two things"
    assert things.step("echo", answer={"result": 4})["answer"] == {"result": 4}
    assert things.step("echo", answer=None)["answer"] is None
    assert things.step("echo") == {"state": {"things": ["a"]}}, "an answer that nobody saw is none that is expected"


@pytest.mark.parametrize("value", [
    "", "\"\\/\b\f\n\r\t\0", "é\u0085\u2028\u2029😀", 0, -1, 2 ** 53 - 1, -(2 ** 53) + 1, 1.5, -2.5e-7, 1e300, True, False, None, [], {}, [[], {}],
    {"": {"a b": [None, [0]]}}])
def test_a_value_comes_back_as_it_was(things, value):
    assert things.step("echo", answer=value)["answer"] == value


@pytest.mark.parametrize("value", [2 ** 53 + 1, -(2 ** 63), 2 ** 64 - 1])
def test_whole_numbers_of_64_bits_come_back_as_they_were(things, value):
    if things.language != "node":  # whose numbers have 53 bits
        assert things.step("echo", answer=value)["answer"] == value


def test_a_model_classifies(things):
    assert [things.model.ask(ask="classify", state={}, f=f) for f in ("one", "two", "three")] == [
        {"labels": ["label"]}, {"labels": ["a", "2"]}, {"labels": []}]


# By language; what the types of a language forbid is not there.
MISTAKES = {
    "alone": {"python": "step() returned {'things': ['a']} for 'alone', and not a pair of a state and an answer",
              "node": "step() returned { things: [ 'a' ] } for 'alone', and not an array of a state and an answer",
              "java": "step() returned null for 'alone', and not a state and an answer"},
    "number": {"python": "the state after 'number' has the key 7, but an object of JSON has texts as keys",
               "java": "the state after 'number' has the key 7, but an object of JSON has texts as keys"},
    "bytes": {"python": "the answer of 'bytes' holds b'bytes', which is not JSON: bytes are not, decode them",
              "node": "the answer of 'bytes' holds <Buffer 62 79 74 65 73>, which is not JSON",
              "java": "the answer of 'bytes' holds a byte[], which is not JSON: a List is",
              "cpp": "the answer of 'bytes' holds bytes, which are not JSON"},
    "nan": {"python": "the answer of 'nan' holds nan, which JSON does not have", "node": "the answer of 'nan' holds NaN, which JSON does not have",
            "java": "the answer of 'nan' holds NaN, which JSON does not have", "cpp": "the answer of 'nan' holds nan, which JSON does not have"},
    "forgotten": {"node": "the answer of 'forgotten' holds undefined, which is not JSON: null is"},
    "big": {"node": "the answer of 'big' holds 7n, which is not JSON: make a number or a text of it"},
    "itself": {"node": "the state after 'itself' holds itself, which JSON cannot"},
    "text": {"cpp": "the answer of 'text' holds the text \"\ufffd\", which is not UTF-8"},
}


@pytest.mark.parametrize("f", MISTAKES)
def test_each_mistake_of_a_step_is_named_with_its_place(things, f):
    if said := MISTAKES[f].get(things.language):
        assert things.step(f)["error"] == f"{said} {things.method('step')}"


def test_an_exception_of_a_model_is_named_with_its_line(things):
    error = things.step("raise")["error"]
    assert error.startswith({"python": "KeyError: 'absent'", "node": "TypeError: Cannot read properties of undefined (reading 'thing')",
                             "java": "java.lang.IndexOutOfBoundsException: Index 7", "cpp": "nlohmann::json"}[things.language])
    # Java names the line of the user's code that called what threw.
    line = {"python": '"raise": lambda', "node": "raise:", "java": 'case "raise"', "cpp": None}[things.language]
    assert error.endswith(things.thrown_at(line, "run(Things())"))


def test_commands_that_are_none_are_named(things):
    state = {"python": "none", "node": "none", "java": {}, "cpp": None}[things.language]
    if state is not None:
        error = things.model.ask(ask="commands", state=state)["error"]
        assert re.fullmatch(r"commands\(\) returned (None|null), and not an? (list|array) of command\(\.\.\.\) \(.*\)", error)
        assert error.endswith(things.method("commands"))


def test_a_wrong_question_is_answered_and_the_next_one_too(things):
    model = things.model
    assert model.ask(line="{")["error"].startswith("the question is not JSON: ")
    assert model.ask(line='{"ask": "init"} {}')["error"].startswith("the question is not JSON: ")
    assert model.ask(line="[1]")["error"] == "the question is no object: [1]"
    assert model.ask(line="\n[1]")["error"] == "the question is no object: [1]", "an empty line is no question"
    assert model.ask(ask="dance")["error"] == "a model is not asked 'dance'"
    assert model.ask(do="add")["error"].replace(" ", "") == "thequestionhasno'ask':{\"do\":\"add\"}"
    assert model.ask(ask="pre", f="add")["error"].startswith("the question has no 'state'")
    assert things.step("null")["answer"] is None


def test_what_a_program_prints_goes_to_the_standard_error(things):
    model, client = things.start("model"), things.start("client")
    model.ask(ask="init")
    assert client.ask(do="add", value="x", process="0") == {"ok": ["x", ""]}, "and reads no question"
    said = model.end()
    assert "a model prints" in said
    # Nothing in Java gives the standard output of its children another place.
    assert ("so does its child" in said) == (things.language != "java")
    assert "adds x" in client.end()


def test_a_client_tells_three_outcomes_apart(things):
    client = things.start("client")
    assert client.ask(do="who", value=None, process="7") == {"ok": "7"}
    assert client.ask(do="forget", value=1, process="0") == {"ok": None}
    assert client.ask(do="refuse", value=1, process="0") == {"fail": "503"}
    assert client.ask(do="lose", value=1, process="0") == {"info": "500"}
    crash = client.ask(do="crash", value=[] if things.language == "java" else {}, process="0")["info"]
    name = {"python": "KeyError", "node": "TypeError", "java": "IndexOutOfBoundsException", "cpp": "out_of_range"}[things.language]
    line = {"python": '{}["absent"]', "node": "value.absent.thing", "java": "value.get(7)", "cpp": None}[things.language]
    assert name in crash and crash.endswith(things.thrown_at(line, 'on("crash"'))
    assert name in client.end(), "whoever looks for the reason finds it in the log"


def test_a_mistake_of_a_client_is_no_outcome(things):
    client = things.client
    of = {"python": "the client Thing has no method", "node": "the client Thing has no method",
          "java": "the client Things$Thing has no public method", "cpp": "the client has no method"}[things.language]
    place = " " + things.thrown_at(None, "run(Thing())") if things.language == "cpp" else ""
    for name in ("fly", "_secret", "secret", "constructor", "toString", "getClass", "main", "__init__"):
        assert client.ask(do=name, value=1)["error"] == f"{of} '{name}'{place}"
    assert client.ask(value=1)["error"].startswith("the question has no 'do'")
    error = client.ask(do="ask", value=1)["error"]
    assert error.startswith("the answer of 'ask' holds") and error.endswith(things.method("ask"))


def test_a_method_that_cannot_take_its_value_is_a_mistake(things):
    if things.language in ("python", "java"):
        error = things.client.ask(do="nothing", value=1)["error"]
        assert error.startswith("nothing() of the client must take a value") and error.endswith(things.method("nothing"))
    if things.language == "java":
        assert things.client.ask(do="add", value=7)["error"] == "add() of the client takes String, and is given Long 7 (Things$Thing.add)"
        assert things.client.ask(do="insist", value=7)["info"].startswith("java.lang.AssertionError: no (Things.java:")
    if things.language == "cpp":
        assert things.client.ask(do="strange", value=7)["info"].startswith("an exception that is no std::exception (")


def test_a_reset_that_fails_is_no_outcome_either(things):
    client = things.start("client")
    assert client.ask(do="reset") == {"ok": None}
    error = client.ask(do="reset")["error"]
    assert "Fail: cannot (" in error and error.endswith(things.thrown_at('Fail("cannot")', "run(Thing())"))
    assert client.ask(do="reset") == {"ok": None}


def test_the_last_question_needs_no_end_of_its_line(things):
    program = things.start("model")
    out, _ = program.process.communicate('{"ask": "dance"}', timeout=60)
    assert "a model is not asked 'dance'" in out and program.process.returncode == 0


def example_of_text(language):
    """The model with which the helper's own text begins."""
    text = LANGUAGES[language].helper.read_text()
    if language == "python":
        text = ast.get_docstring(ast.parse(text))
    else:
        text = "".join(line.removeprefix("//").removeprefix(" ") for line in text.splitlines(keepends=True) if line.startswith("//"))
    first = text.split("A client does")[0]
    return textwrap.dedent("".join(line for line in first.splitlines(keepends=True) if line.startswith("  ") or not line.strip()))


def examples_of_page(language):
    """The model and the client of docs/property.md."""
    return re.findall(rf"^```{language}\n(.*?)^```", (REPOSITORY / "docs/property.md").read_text(), re.M | re.S)


def asked_as_jobs(model):
    assert model.ask(ask="init") == {"state": [], "reads": ["read"]}
    assert [len(model.ask(ask="commands", state=state)["commands"]) for state in ([], ["a"])] == [1, 2]
    assert model.ask(ask="step", state=["a"], f="write", value="b", answer={"result": 0}) == {"state": ["a", "b"], "answer": 1}
    assert model.ask(ask="step", state=["a"], f="read", value={"result": 0}, answer={"result": 1}) == {"state": ["a"]}
    assert [model.ask(ask="step", state=["a"], f="read", value=value, answer="a")["answer"] for value in (0, 1)] == ["a", None]
    model.end()


def asked_as_list(model):
    assert model.ask(ask="init") == {"state": [], "reads": ["get"]}
    assert model.ask(ask="step", state=["a"], f="append", value="b", answer={"result": 0}) == {"state": ["a", "b"], "answer": 1}
    assert model.ask(ask="step", state=["a"], f="get", value=1, answer="b") == {"state": ["a"], "answer": None}
    model.end()


@pytest.mark.parametrize("language, name", [("python", "model.py"), ("node", "model.mjs")])
def test_the_example_of_its_text_is_a_model(tmp_path, language, name):
    (tmp_path / name).write_text(example_of_text(language))
    make(tmp_path, language)
    asked_as_list(Program(LANGUAGES[language].command(name), tmp_path))


def test_the_examples_in_python(tmp_path):
    model, client = examples_of_page("python")
    (tmp_path / "jobs.py").write_text(model)
    make(tmp_path, "python")
    asked_as_jobs(Program(LANGUAGES["python"].command("jobs.py"), tmp_path))
    ast.parse(client)


def test_the_examples_in_java(tmp_path):
    jobs, http = examples_of_page("java")
    for name, text in {"Jobs": jobs, "Http": http, "ListModel": "import java.util.List;\n" + example_of_text("java")}.items():
        (tmp_path / f"{name}.java").write_text(text)
    make(tmp_path, "java", "Jobs.java", "Http.java", "ListModel.java")
    asked_as_jobs(Program(LANGUAGES["java"].command("Jobs.java"), tmp_path))
    asked_as_list(Program(LANGUAGES["java"].command("ListModel.java"), tmp_path))
    client = Program(LANGUAGES["java"].command("Http.java"), tmp_path)
    assert client.ask(do="write", value=7)["error"] == "write() of the client takes String, and is given Long 7 (Http.write)"
    client.end()


# In one file, which takes half as long to compile.
def test_the_examples_in_cpp(tmp_path):
    jobs, http = examples_of_page("cpp")
    first = re.sub("^(#include|using).*\n", "", example_of_text("cpp"), flags=re.M)
    first, http, jobs = (text.replace("int main()", f"int {name}()") for name, text in (("first", first), ("http", http), ("jobs", jobs)))
    (tmp_path / "all.cc").write_text(jobs + first + """
struct Response { int status; std::string body; };
Response post(const std::string&, const std::string& body) { return {body == "full" ? 503 : body == "lost" ? 500 : 200, "7"}; }
""" + http + """
int main(int, char** arguments) {
  const std::string name(arguments[1]);
  return name == "jobs" ? jobs() : name == "first" ? first() : run(Http());
}
""")
    make(tmp_path, "cpp", "all.cc")
    command = LANGUAGES["cpp"].command("all.cc")
    asked_as_jobs(Program([*command, "jobs"], tmp_path))
    asked_as_list(Program([*command, "first"], tmp_path))
    client = Program([*command, "http"], tmp_path)
    assert [client.ask(do="write", value=value) for value in ("full", "lost", "a")] == [{"fail": "7"}, {"info": "7"}, {"ok": 7}]
    client.end()
