"""The published schemas of the files of a set."""
import json

import jsonschema

from conftest import REPOSITORY

SCHEMAS = REPOSITORY / "docs/schema"


def validator(name):
    document = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    return jsonschema.Draft7Validator(document, resolver=jsonschema.RefResolver(f"{SCHEMAS.as_uri()}/{name}.schema.json", document))


def check_folder(folder):
    """Holds each file to its schema, and returns how many cases there are."""
    count = 0
    for path in folder.rglob("*.json"):
        name = path.stem if path.parent == folder else "case"
        count += name == "case"
        validator(name).validate(json.loads(path.read_text()))
    return count
