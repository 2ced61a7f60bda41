"""The user service: whose session it is."""
import grpc

import serve
import shop_pb2
import shop_pb2_grpc


class User(shop_pb2_grpc.UserServiceServicer):
    def __init__(self):
        self.store = serve.store()

    def GetUser(self, request, context):
        user = self.store.get(f"session:{request.session_id}:user")
        if user is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such session")
        return shop_pb2.User(user_id=user)


if __name__ == "__main__":
    serve.serve(shop_pb2_grpc.add_UserServiceServicer_to_server, User())
