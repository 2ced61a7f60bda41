"""The application of shop.py as a configuration, and what protoc makes of shop.proto for it."""
import subprocess

from conftest import PYTHON, REPOSITORY, TESTS

HERE = TESTS / "grpc"


def make_stubs(folder):
    """Writes the Python stubs and the descriptors, shop.pb."""
    subprocess.run(["protoc", f"-I{HERE}", f"--python_out={folder}", f"--grpc_out={folder}",
                    "--plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin", "--include_imports",
                    f"--descriptor_set_out={folder}/shop.pb", "shop.proto", "price.proto"], check=True)
    subprocess.run(["protoc", f"-I{HERE}", f"--python_out={folder}", "reflection.proto"], check=True)
    return folder


def shop(stubs, *options, reflects="", **members):
    """The configuration of the application: what it calls is known by descriptors, or by server reflection
    of the version `reflects`."""
    if reflects:
        members["descriptors"] = []
    def service(name, *arguments):
        return {"name": name, "env": {"PYTHONPATH": str(stubs)},
                "command": " ".join(["exec", PYTHON, f"{HERE}/shop.py", name, f"${{port:{name}}}", *arguments,
                                     *([f"--reflection={reflects}"] if reflects else [])])}
    services = [service("cart"), service("pricing"),
                service("gateway", "127.0.0.1:${port:cart}", "127.0.0.1:${port:pricing}", *options)]
    tests = [{"name": "checkout", "command": f"exec {PYTHON} {HERE}/shop.py test 127.0.0.1:${{port:gateway}}",
              "env": {"PYTHONPATH": f"{stubs}:{REPOSITORY}/cli/python"}}]
    return {"version": 1, "services": services, "tests": tests, "descriptors": str(stubs / "shop.pb"), **members}
