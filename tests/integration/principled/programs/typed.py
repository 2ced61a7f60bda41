"""Objects of grpc and protobuf where texts and JSON are taken; as Typed.java."""
import grpc
from google.protobuf.struct_pb2 import Struct

from filibuster_principled import PrincipledTest, key


def message(**fields):
    made = Struct()
    made.update(fields)
    return made


class TestTyped(PrincipledTest):
    def stub_block(self):
        self.stub_for("user", message(user_id="ann"), grpc="shop.UserService/GetUser", request=message(session_id="s1"))
        self.stub_for("cart", answers=[{"code": "NOT_FOUND"}, message(cart_id="c1")])

    def failure_block(self):
        self.assert_fault_throws(key("shop.UserService/GetUser", request=message(session_id="s1")), grpc.StatusCode.UNAVAILABLE)

    def execute_block(self):
        pass
