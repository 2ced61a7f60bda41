"""The cart service: what is in a session's cart, its discount, and the mail after a purchase."""
import grpc

import serve
import shop_pb2
import shop_pb2_grpc


class Cart(shop_pb2_grpc.CartServiceServicer):
    def __init__(self):
        self.store = serve.store()

    def cart(self, cart_id):
        fields = self.store.hgetall(f"cart:{cart_id}")
        discount = int(fields.get("discount", 0))
        total = int(fields["total"])
        return shop_pb2.Cart(cart_id=cart_id, merchant_id=fields["merchant"],
                             total=total - total * discount // 100)

    def GetCart(self, request, context):
        cart_id = self.store.get(f"session:{request.session_id}:cart")
        if cart_id is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "no cart for this session")
        return self.cart(cart_id)

    def UpdateCart(self, request, context):
        self.store.hset(f"cart:{request.cart_id}", "discount", request.discount_percent)
        return self.cart(request.cart_id)

    def NotifyOrder(self, request, context):
        self.store.rpush("mails", request.cart_id)
        return shop_pb2.NotifyOrderResponse()


if __name__ == "__main__":
    serve.serve(shop_pb2_grpc.add_CartServiceServicer_to_server, Cart())
