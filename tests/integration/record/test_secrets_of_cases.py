"""What a team says is a secret is in nothing that `filibuster record` writes, and `filibuster cases check` finds what was written by hand."""
import json
import subprocess

from conftest import FILIBUSTER
from hand_made import case, http_call, redis_call, write_cases
from schemas import check_folder, validator
from test_record import cases, get, native, record  # noqa: F401

RULES = [{"name": "national_id"}, {"type": "email"}, {"type": "phone"}, {"pattern": "ACC-[0-9]{8}", "in": ["body", "query"]}, {"name": "page_token", "keep": True}]
CARD, JWT = "4012 8888 8888 1881", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGFudGVkLWFubiJ9.c2lnbmF0dXJlLW9mLXBsYW50ZWQ"
PLANTED = ["planted.ann@planted.example", "planted-id-0001", "+49 30 90182012", "ACC-73918204", "planted-bearer-01", "planted-cookie-02", "planted-pass-03",
           "planted-form-04", CARD, JWT, "c2lnbmF0dXJl", "cGxhbnRlZC1hbm4"]


def check(folder, *options):
    return subprocess.run([FILIBUSTER, "cases", "check", str(folder), *map(str, options)], capture_output=True, text=True, timeout=60)


def test_what_rules_name_is_in_nothing_that_is_written(native):  # noqa: F811
    path = native.directory / "filibuster.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "redact": RULES}))
    body = {"password": "planted-pass-03", "national_id": "planted-id-0001", "tel": "+49 30 90182012", "account": "ACC-73918204", "card": CARD, "at": JWT,
            "page_token": "page-of-9"}
    headers = "-H 'Authorization: Bearer planted-bearer-01' -H 'Cookie: sid=planted-cookie-02' "
    run = record(native, get("/orders/7?to=planted.ann%40planted.example\\&page_token=page-of-9", headers),
                 get("/orders/8", f"-X GET -H 'Content-Type: application/json' -d '{json.dumps(body)}'"),
                 get("/orders/9", "-X GET -d 'client_secret=planted-form-04&of=ACC-73918204'"))
    assert run.exit_code == 0 and len(cases(native)) == 3, run.output
    for file in native.directory.rglob("*"):
        if file.is_file() and file.name not in ("filibuster.json", "traffic.sh"):
            text = file.read_bytes().decode("utf-8", "replace")
            assert [each for each in PLANTED if each in text] == [], file
    assert not any(each in run.output for each in PLANTED)
    asked = {each["request"]["target"].split("?")[0]: each["request"] for each in cases(native)}
    assert "page_token=page-of-9" in asked["/orders/7"]["target"] and asked["/orders/8"]["json"]["page_token"] == "page-of-9"
    account = asked["/orders/8"]["json"]["account"]
    assert account.startswith("ACC-") and asked["/orders/9"]["text"].endswith(f"&of={account}"), "the same secret has the same token"
    folder = native.directory / "cases"
    rules = json.loads((folder / "set.json").read_text())["redact"]
    assert rules[0] == {"name": "national_id"} and rules[3]["in"] == ["body", "query"]
    assert check_folder(folder) == 3
    planted = native.directory / "planted.txt"
    planted.write_text("\n".join(PLANTED))
    good = check(folder, "--against", planted)
    assert good.returncode == 0 and good.stdout.startswith("3 cases: as they were written"), good


def test_a_secret_that_was_written_by_hand_is_found(project):
    folder = project.directory / "cases"
    good, bad = write_cases(folder, case("/orders/1", [http_call("/prices/1", 100), redis_call("GET", "price:1")], {"order": 1}),
                            case("/orders/2", [http_call("/prices/2", 200)], {"order": 2, "password": "hand-written-7"}, second=1))
    found = check(folder)
    line = 1 + bad.read_text()[:bad.read_text().index("hand-written-7")].count("\n")
    assert found.returncode == 1 and found.stdout.startswith(f"{bad}:{line}: /json/password of the answer looks like a secret"), found
    assert "hand-written-7" not in found.stdout and str(good) not in found.stdout
    bad.write_text(bad.read_text().replace("hand-written-7", "other"))
    edited = check(folder)
    assert edited.returncode == 2 and f"{bad}:" in edited.stderr, "its seal is broken"
    subprocess.run([FILIBUSTER, "cases", "accept", str(bad)], check=True, timeout=60)
    assert check(folder).returncode == 0
    against = project.directory / "secrets.txt"
    against.write_text("nowhere\n\n/prices/2\n")
    named = check(folder, "--against", against)
    assert named.returncode == 1 and f"{bad}:" in named.stdout and f"line 3 of {against} stands here" in named.stdout
    assert check(folder, "--against", project.directory / "missing.txt").returncode == 2


def cases_verb(*words):
    return subprocess.run([FILIBUSTER, "cases", *map(str, words)], capture_output=True, text=True, timeout=60)


def test_two_recordings_differ_in_what_is_no_secret(project):
    before, now = project.directory / "before", project.directory / "now"
    first = case("/orders/1?token=abcdefgh-1234", [http_call("/prices/1", 100)], {"order": 1, "password": "token-of-a-1"})
    second = case("/orders/2", [http_call("/prices/2", 200), redis_call("GET", "x", reply="1")], {"order": 2}, second=1)
    for each in (first, second):
        each["route"] = "GET /orders/_"
    write_cases(before, first, second)
    other = json.loads(json.dumps(first).replace("abcdefgh-1234", "hgfedcba-4321").replace("token-of-a-1", "nekot-fo-b-2"))
    write_cases(now, {**other, "base": "2026-12-01T00:00:00.000000Z", "seen": 4}, second)
    same = cases_verb("diff", before, now)
    assert (same.returncode, same.stdout) == (0, "2 cases, 0 different\n"), same
    third = case("/orders/2", [http_call("/prices/2", 300), redis_call("GET", "y", reply="1")], {"order": 3}, second=1)
    later = project.directory / "later"
    write_cases(later, other, {**third, "route": "GET /orders/_"}, case("/orders/7", [], {}, second=2))
    differs = cases_verb("diff", before, later)
    assert differs.returncode == 1, differs
    assert differs.stdout.splitlines() == [
        "different: GET /orders/_  bbbbbbbbbbbb", "    the answer to call 0 /json/cents: 300, not 200",
        "    call 1, GET y of cache, /call/1: \"y\", not \"x\"", "    the answer /json/order: 3, not 2",
        "new: GET /orders/_  cccccccccccc", "3 cases, 2 different"]


def test_a_folder_without_cases_is_said_to_be_one(project):
    folder = project.directory / "cases"
    write_cases(folder)
    for verb, expected in (("list", f"there is no case of 'orders' in {folder}\n"), ("check", f"there is no case in {folder}\n")):
        run = cases_verb(verb, folder)
        assert (run.returncode, run.stdout) == (0, expected), run
    shown = cases_verb("show", folder)
    assert shown.returncode == 2 and f"{folder} is a folder: `filibuster cases list {folder}` names the files of its cases" in shown.stderr, shown
    (folder / "set.json").unlink()
    for verb in ("list", "check"):
        run = cases_verb(verb, folder)
        assert run.returncode == 2 and "the folder is empty: there is no case in it" in run.stderr, run


def test_what_varies_is_no_difference_of_two_recordings(project):
    before, now = project.directory / "before", project.directory / "now"
    call = {**http_call("/log/a1", 100), "site": "1a2b3c4d"}
    write_cases(before, case("/orders/1", [call], {"id": "a1", "order": 1}))
    write_cases(now, case("/orders/1", [{**call, "target": "/log/b2"}], {"id": "b2", "order": 1}, server="x"))
    assert cases_verb("diff", before, now).returncode == 1
    masks = [{"on": {"service": "orders", "method": "GET", "path": "/orders/*"}, "mask": {"response": ["/id"]}},
             {"on": {"caller": "orders", "service": "pricing", "method": "GET", "path": "/log/*"}, "mask": {"path": [2]}}]
    document = json.loads((before / "set.json").read_text())
    (before / "set.json").write_text(json.dumps({**document, "masks": masks, "varying_headers": ["server"]}))
    same = cases_verb("diff", before, now)
    assert (same.returncode, same.stdout) == (0, "1 case, 0 different\n"), same
    # Of what varies the type is still the same.
    other = project.directory / "other"
    write_cases(other, case("/orders/1", [call], {"id": 7, "order": 1}))
    assert "/json/id: a number, not a text" in cases_verb("diff", before, other).stdout


def test_a_file_of_cases_with_all_of_its_members_is_of_its_schema(project):
    answer = {"status": 200, "headers": [["A", "b"]], "text": "x", "trailers": [["T", "1"]], "pieces": [[1, 20]], "ends": "closed"}
    calls = [{**http_call("/prices/1", 100), "site": "1a2b3c4d", "cause": "none"}, {**redis_call("GET", "a", reply=None), "after": []},
             {**http_call("/prices/1", 100), "attempt_of": 0, "answer": {"silence": True}}]
    (path,) = write_cases(project.directory / "cases", {**case("/orders/1", calls, {}), "answer": answer, "start": []})
    assert check_folder(project.directory / "cases") == 1
    document = json.loads(path.read_text())
    for wrong in ({"seen": 0}, {"more": 1}, {"seal": "x"}, {"answer": {"status": 20}}, {"calls": [{"kind": "smtp"}]}):
        assert not validator("case").is_valid({**document, **wrong}), wrong


def test_a_case_is_shown_with_its_bodies(project):
    long = {"order": 1, "note": "x" * 1000}
    (path,) = write_cases(project.directory / "cases", case("/orders/1", [http_call("/prices/1", 100), redis_call("GET", "a", reply="7")], long))
    shown = cases_verb("show", path).stdout
    assert '{"cents": 100}' in shown and "Content-Type: application/json" in shown and 'GET a of cache \u2192 "7"' in shown, shown
    assert "x" * 1000 not in shown and "--whole" in shown
    whole = cases_verb("show", "--whole", path).stdout
    assert "x" * 1000 in whole and '  "order": 1,' in whole
