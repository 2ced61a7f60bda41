"""Descriptors that are none, and questions of predicates that nothing can answer with yes."""
import pytest

import pairs
from conftest import FILIBUSTER
from shop_app import make_stubs, shop
from small_apps import pair


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    return make_stubs(tmp_path_factory.mktemp("stubs"))


@pytest.mark.parametrize("descriptors, said", [
    ("none.pb", "filibuster.json:3:17: 'descriptors': {folder}/none.pb cannot be read: it is not there"),
    ("filibuster.json", "filibuster.json:3:17: 'descriptors': {folder}/filibuster.json holds no descriptors; expected "
                        "what `protoc --include_imports --descriptor_set_out=FILE` writes"),
])
def test_descriptors_that_are_none_are_named_with_their_place(project, descriptors, said):
    project.write("filibuster.json", '{"version": 1,\n "tests": [{"name": "t", "command": "true"}],\n'
                                     f' "descriptors": "{descriptors}"}}')
    run = project.filibuster("run")
    assert run.exit_code == 2, run
    assert said.format(folder=project.directory) in run.errors


def asked(project, stubs, *question, **members):
    """What `was-fault-injected QUESTION` says in a test without faults."""
    config = shop(stubs, **members)
    (test,) = config["tests"]
    test["command"] = test["command"].removeprefix("exec ") + " && " + " ".join([str(FILIBUSTER), "was-fault-injected", *question])
    project.write("filibuster.json", config)
    return project.filibuster("trace")


# One mistake of each kind stays.
@pairs.only("said", ["did you mean 'shop.CartService/GetCart'?", "has no field 'sesion_id', did you mean 'session_id'?", "the method is missing"])
@pytest.mark.parametrize("question, said", [
    (["--grpc", "shop.CartService/GetCrt", "--argument", "session_id=s1"],
     "have no gRPC method 'shop.CartService/GetCrt', did you mean 'shop.CartService/GetCart'?"),
    (["--grpc", "shop.CartServic/GetCart", "--argument", "session_id=s1"],
     "have no gRPC method 'shop.CartServic/GetCart', did you mean 'shop.CartService/GetCart'?"),
    (["--grpc", "shop.CartService/GetCrt"], "did you mean 'shop.CartService/GetCart'?"),
    (["--argument", "sesion_id=s1"], "has no field 'sesion_id', did you mean 'session_id'?"),
    (["--grpc", "shop.CartService/"], "the method is missing"),
    (["--fault", "grpc:UNAVAILBLE"], "did you mean 'UNAVAILABLE'?"),
])
def test_a_question_that_nothing_can_answer_with_yes_is_refused(stubs, project, question, said):
    run = asked(project, stubs, *question)
    assert said in run.output, run


def test_arguments_need_descriptors(stubs, project):
    run = asked(project, stubs, "--argument", "session_id=s1", descriptors=[], reflection=False)
    assert "arguments can be asked for where the configuration names 'descriptors'" in run.output, run


def test_a_grpc_status_where_no_grpc_is_is_listed(project):
    project.write("filibuster.json", pair(faults=[{"inject": ["grpc:UNAVAILABLE", 503]}]))
    run = project.filibuster("run")
    assert (run.exit_code, run.executed) == (0, 2), run  # the reference, and 503 at front -> back
    assert run.test["skipped"] == [{"what": "grpc:UNAVAILABLE at front -> back GET /",
                                    "reason": "does not apply: it is no gRPC call"}]
    assert "grpc:UNAVAILABLE at front -> back GET /: does not apply: it is no gRPC call" in run.output


def test_nothing_but_grpc_statuses_where_no_grpc_is_tests_nothing(project):
    project.write("filibuster.json", pair(faults=[{"inject": "grpc:UNAVAILABLE"}]))
    run = project.filibuster("run")
    assert (run.exit_code, run.executed) == (3, 1), run
    assert "nothing was tested" in run.output
