"""The block `execute` of the order service's structured tests: makes a purchase, and keeps the answer for the assertions.

An error of the service ends it with an error, too.
"""
import os
import subprocess

import grpc

import shop_pb2
import shop_pb2_grpc

with grpc.insecure_channel(os.environ["ORDER"]) as channel:
    answer = shop_pb2_grpc.OrderServiceStub(channel).PlaceOrder(shop_pb2.PurchaseRequest(session_id="s1"), timeout=30)
host, port = os.environ["REDIS"].rsplit(":", 1)
said = f"{'success' if answer.success else 'no success'}, {answer.total}"
subprocess.run(["redis-cli", "-h", host, "-p", port, "SET", "response", said], check=True)
