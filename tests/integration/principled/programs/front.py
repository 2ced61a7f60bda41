import os
import urllib.error
import urllib.request

from filibuster_principled import PrincipledTest, key


class TestFront(PrincipledTest):
    def stub_block(self):
        self.stub_for("stock", method="GET", path="/", status=200, text="ten")

    def failure_block(self):
        if "STATED" in os.environ:
            self.assert_fault_throws(key("GET /", fault="503"), 503)
            self.assert_on_exception(503, lambda: None)

        if "MISPLACED" in os.environ:
            self.verify_that("GET /", 1)

    def execute_block(self):
        if "DIES" in os.environ:
            os._exit(3)
        try:
            self.response = urllib.request.urlopen(os.environ["FRONT"]).status
        except urllib.error.HTTPError as error:
            self.response = error.code

    def assert_test_block(self):
        assert self.response == 200

    def assert_stub_block(self):
        self.verify_that("GET /", 1)
