"""Of clients and servers of gRPC: TLS with the files of the folder that the environment variable TLS names, if there is one."""
import os
import pathlib

import grpc

FOLDER = os.environ.get("TLS")


def file_of(name):
    return (pathlib.Path(FOLDER) / name).read_bytes()


def channel(module, address, **members):
    """A channel of `module`: grpc or grpc.aio."""
    if not FOLDER:
        return module.insecure_channel(address, **members)
    return module.secure_channel(address, grpc.ssl_channel_credentials(file_of("ca.pem")), **members)


def listen(server, address):
    if not FOLDER:
        return server.add_insecure_port(address)
    return server.add_secure_port(address, grpc.ssl_server_credentials([(file_of("key.pem"), file_of("cert.pem"))]))
