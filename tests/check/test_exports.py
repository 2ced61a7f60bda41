"""The record of exported names: an added one and a missing one are both told."""

import subprocess

import exports


def library(folder, source):
    path = folder / "library.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-fvisibility=hidden", "-x", "c", "-", "-o", path], input=source,
                   text=True, check=True)
    return path


def test_a_hidden_and_a_needed_name_are_not_shown(tmp_path):
    path = library(tmp_path, '__attribute__((visibility("default"))) int shown(void) { extern int needed(void); '
                             "return needed(); } int hidden(void) { return 1; }")
    assert exports.shown_by(path) == {"shown"}


def test_what_was_added_and_what_is_missing_are_named():
    lines = list(exports.differences({"send", "write"}, {"send", "read"}))
    assert [line.split()[0] for line in lines] == ["write", "read"]
    assert list(exports.differences({"send"}, {"send"})) == []
