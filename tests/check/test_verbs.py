"""The places of a verb, as CONTRIBUTING.md lists them ('Add a verb'), are there for each verb that has a session."""
import pathlib
import re

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
VERBS = sorted(folder.name for folder in (TOP / "daemon" / "verbs").iterdir() if folder.is_dir())


def places():
    """The paths of the numbered list, with VERB in the place of the verb."""
    text = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("\n## Add a verb\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\d+\. `([^`]+)`", section, re.MULTILINE)


PLACES = places()


def test_the_list_is_read():
    assert len(PLACES) > 5 and "daemon/verbs/VERB/mode.cc" in PLACES and len(VERBS) > 3


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("place", PLACES)
def test_each_place_has_each_verb(verb, place):
    path = TOP / place.replace("VERB", verb)
    assert path.is_file(), path
    if "VERB" in place and place != "daemon/verbs/VERB/mode.cc":
        # The file says of which verb it is.
        assert re.search(rf"\b{verb}", path.read_text(encoding="utf-8"), re.IGNORECASE), path
    if "VERB" not in place:
        assert re.search(rf"\b{verb}(_verb)?\b|k{verb.capitalize()}Verb", path.read_text(encoding="utf-8")), path


def test_no_folder_but_the_verbs_own_asks_which_verb_it_is():
    """What a session or the API does for one verb alone, the verb says by what it needs."""
    names = "|".join(VERBS)
    for path in [*(TOP / "daemon" / "session").iterdir(), *(TOP / "daemon" / "api").iterdir()]:
        found = re.search(rf"\b({names})_verb\b|name\(\) == ", path.read_text(encoding="utf-8"))
        assert not found, f"{path} names a verb: {found}"
