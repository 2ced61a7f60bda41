"""The helper for models and clients in Python: what test_property_helpers.py does not ask all languages."""
import ast
import sys

from helper_languages import LANGUAGES

HELPER = LANGUAGES["python"].helper


def test_it_is_one_file_for_python_3_7():
    tree = ast.parse(HELPER.read_text(), feature_version=(3, 7))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert imported <= sys.stdlib_module_names and not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))
