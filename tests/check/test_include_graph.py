"""The graph of folders: what counts as a cycle, and what is said of one."""

import pathlib

import include_graph


def graph(folder, files):
    for name, included in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f'#include "{other}"\n' for other in included))
    return include_graph.edges_of(folder)


def test_a_cycle_is_told_with_the_lines_that_make_it(tmp_path):
    edges = graph(tmp_path, {"core/a/x.h": ["core/b/y.h"], "core/b/y.h": ["core/c/z.h"], "core/c/z.h": [],
                             "core/c/other.cc": ["core/a/x.h"]})
    assert list(include_graph.wrong(edges, frozenset())) == [
        "cycle: core/a, core/b, core/c",
        "  core/a -> core/b", "    core/a/x.h:1 includes core/b/y.h",
        "  core/b -> core/c", "    core/b/y.h:1 includes core/c/z.h",
        "  core/c -> core/a", "    core/c/other.cc:1 includes core/a/x.h"]


def test_files_of_one_folder_and_files_that_are_not_there_make_no_edge(tmp_path):
    assert graph(tmp_path, {"core/a/x.h": ["core/a/y.h", "core/b/made_by_the_build.inc"],
                            "core/a/y.h": ["core/a/x.h"]}) == {}


def test_a_known_edge_may_close_a_cycle_and_must_go_from_the_list_with_it(tmp_path):
    known = frozenset({("core/b", "core/a")})
    edges = graph(tmp_path, {"core/a/x.h": ["core/b/y.h"], "core/b/y.h": ["core/a/x.h"]})
    assert list(include_graph.wrong(edges, known)) == []
    edges = graph(tmp_path, {"core/b/y.h": []})
    assert list(include_graph.wrong(edges, known)) == [
        "core/b -> core/a makes no cycle any more: remove it from KNOWN_BACK_EDGES"]


def test_the_model_reaches_no_folder_of_texts_and_none_of_the_search():
    following = {}
    for name, _, included in include_graph.includes(include_graph.TOP):
        following.setdefault(str(name), set()).add(str(included))
    reached = {name for name in following if name.startswith("daemon/model/")}
    waiting = list(reached)
    while waiting:
        for one in following.get(waiting.pop(), set()) - reached:
            reached.add(one)
            waiting.append(one)
    above = {pathlib.PurePath(one).parts[1] for one in reached if one.startswith("daemon/")}
    assert above == {"model", "base", "redact"}, sorted(reached)
