"""The helper for models and clients in Python: what test_property_helpers.py does not ask all languages."""
import ast
import sys
import textwrap

from helper_languages import LANGUAGES, Program, make

HELPER = LANGUAGES["python"].helper


def test_the_example_of_its_text_is_a_model(tmp_path):
    first = ast.get_docstring(ast.parse(HELPER.read_text())).split("A client does")[0]
    (tmp_path / "model.py").write_text(textwrap.dedent(first[first.index("    from"):]))
    make(tmp_path, "python")
    program = Program(LANGUAGES["python"].command("model.py"), tmp_path)
    assert program.ask(ask="step", state=["a"], f="append", value="b", answer={"result": 0}) == {"state": ["a", "b"], "answer": 1}
    assert program.ask(ask="step", state=["a"], f="get", value=1, answer="b") == {"state": ["a"], "answer": None}
    program.end()


def test_it_is_one_file_for_python_3_7():
    tree = ast.parse(HELPER.read_text(), feature_version=(3, 7))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert imported <= sys.stdlib_module_names and not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))
