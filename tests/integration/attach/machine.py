"""The loader of the eBPF programs and proxies of attached services, without a daemon."""
import os
import re
import signal
import socket
import struct
import subprocess

from attach_fixtures import BASIC, need
from conftest import PRELOAD
from loader_client import LOADER
from proxied import PROXY

JOIN = struct.pack("=II", 0x4E494F4A, 1)  # bpf/loader/protocol.h, JoinRequest


class Loader:
    """One for each session."""

    def __init__(self):
        need(*BASIC)
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen([LOADER, "serve", "--fd", str(theirs.fileno())], pass_fds=[theirs.fileno()],
                                        stderr=subprocess.PIPE, text=True)
        theirs.close()
        self.proxies = []

    def join(self):
        """The proxy's end of a connection of its own."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        socket.send_fds(self.socket, [JOIN], [theirs.fileno()])
        theirs.close()
        return ours

    def attach(self, service, pids, ports, directory=None, preload=True, go=False, **environment):
        """A proxy that has said that it is attached."""
        proxy = Proxy(self.join(), service, pids, ports, directory, preload, go, environment)
        self.proxies.append(proxy)
        assert proxy.line.startswith("attached "), proxy.line + proxy.errors()
        return proxy

    def end(self):
        for proxy in self.proxies:
            proxy.kill()
        self.socket.close()
        self.process.wait(timeout=30)


class Proxy:
    def __init__(self, loader, service, pids, ports, directory, preload, go, environment):
        plain = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER_")}
        with loader:
            self.process = subprocess.Popen(
                [PROXY, "--loader-fd", str(loader.fileno()), "--pids", ",".join(map(str, pids)), "--ports",
                 ",".join(map(str, ports)), *(["--go"] if go else [])],
                cwd=directory, pass_fds=[loader.fileno()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env={**plain, **({"LD_PRELOAD": str(PRELOAD)} if preload else {}), "FILIBUSTER_SERVICE": service,
                     "FILIBUSTER_ATTACHED": f"{pids[0]} {os.path.realpath(f'/proc/{pids[0]}/exe')}", **environment})
        self.line = self.process.stdout.readline()

    def errors(self):
        return self.process.stderr.read()

    def count(self, what):
        """found, open or staying of the connections that were open before."""
        return int(re.search(rf"{what}=(\d+)", self.line)[1])

    def leave(self):
        """Detaches politely, and waits until the proxy has ended."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=60) == 0, self.errors()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
