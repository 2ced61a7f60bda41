"""Runs a program behind filibuster-proxy, as if it were attached: the program without the library, the proxy with it.
Without eBPF, the program's calls have to go to the proxy by themselves.

attached.py PROXY TARGET OUTBOUND INBOUND PORT -- COMMAND...: what comes to the port OUTBOUND goes to TARGET (HOST:PORT),
what comes to INBOUND goes to PORT, where COMMAND listens. COMMAND finds in EVENTS_FD a socket for events of the
observer (events.py).
"""
import os
import socket
import sys
import time

proxy, target, outbound, inbound, port = sys.argv[1:6]
command = sys.argv[7:]
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
child = os.fork()
if child == 0:
    plain = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD" and not key.startswith("FILIBUSTER_")}
    os.set_inheritable(theirs.fileno(), True)
    os.execvpe(command[0], command, {**plain, "EVENTS_FD": str(theirs.fileno())})


def listens():
    with open("/proc/net/tcp") as sockets:
        return any(words[3] == "0A" and words[1].endswith(f":{int(port):04X}") for words in map(str.split, sockets))


while not listens():  # who is attached runs already
    time.sleep(0.01)
os.environ["FILIBUSTER_ATTACHED"] = f"{child} {command[0]}"
os.set_inheritable(ours.fileno(), True)
os.execv(proxy, [proxy, "--fixed", target, "--inner", f"127.0.0.1:{port}", "--listen-outbound", f"127.0.0.1:{outbound}",
                 "--listen-inbound", f"127.0.0.1:{inbound}", "--events-fd", str(ours.fileno())])
