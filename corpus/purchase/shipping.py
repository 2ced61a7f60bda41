"""The shipping service: what it costs to send a cart."""
import serve
import shop_pb2
import shop_pb2_grpc


class Shipping(shop_pb2_grpc.ShippingServiceServicer):
    def __init__(self):
        self.store = serve.store()

    def GetRate(self, request, context):
        return shop_pb2.Rate(amount=int(self.store.hget(f"cart:{request.cart_id}", "shipping")))


if __name__ == "__main__":
    serve.serve(shop_pb2_grpc.add_ShippingServiceServicer_to_server, Shipping())
