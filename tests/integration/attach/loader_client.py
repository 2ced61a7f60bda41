"""The loader (filibuster-bpf) as the daemon and a proxy see it: its messages (bpf/loader/protocol.h), the maps that
it hands over, and a proxy that forwards bytes and keeps the events of its slot.
"""
import array
import collections
import contextlib
import ctypes
import mmap
import os
import pathlib
import select
import signal
import socket
import struct
import subprocess
import threading

from conftest import BUILD, wait_until

LOADER = BUILD / "lib" / "filibuster" / "filibuster-bpf"

VERSION = 1
JOIN = struct.Struct("=II")
ATTACH = struct.Struct("=II104sII64iI16HI64Q")
ATTACH_REPLY = struct.Struct("=IIiI64s256s")
RETIRE_REPLY = struct.Struct("=IIiIII64s512s")
DETACH_REPLY = struct.Struct("=IIi256s")
REQUEST = struct.Struct("=II")
MAX_PIDS, MAX_PORTS = 64, 16
NO_IPV6 = 2

EVENT_HEAD = struct.Struct("=IIIIQQ16sHH16sHHIIIiIIQ")
FRAMES = 48
WRITE, READ, EXIT = 1, 2, 3

Event = collections.namedtuple("Event", "kind slot tgid tid task local remote position size flags stack")
AttachReply = collections.namedtuple("AttachReply", "error slot step text descriptors")
RetireReply = collections.namedtuple("RetireReply", "error found open staying step text")


def magic(text):
    return int.from_bytes(text.encode(), "little")


def plain(raw):
    return raw.split(b"\0")[0].decode()


def start_time(pid):
    """Field 22 of /proc/PID/stat; 0: there is no such process."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])
    except FileNotFoundError:
        return 0


def packed(ip, port):
    """A struct fb_address."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    raw = socket.inet_pton(family, ip)
    return (raw if len(raw) == 16 else b"\0" * 10 + b"\xff\xff" + raw) + struct.pack("=HH", port, 0)


def address(raw, port):
    if raw[:12] == b"\0" * 10 + b"\xff\xff":
        return socket.inet_ntop(socket.AF_INET, raw[12:]), port
    return socket.inet_ntop(socket.AF_INET6, raw), port


BPF_CALL, PIDFD_GETFD_CALL = 321, 438
MAP_LOOKUP, MAP_UPDATE, MAP_DELETE = 1, 2, 3


def system_call(*arguments):
    result = ctypes.CDLL(None, use_errno=True).syscall(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def bpf(command, request):
    """bpf(2); `request`: the bytes of its union."""
    return system_call(BPF_CALL, command, ctypes.create_string_buffer(request, len(request)), len(request))


class Map:
    """A map of the kernel, by its descriptor: what a process without privileges may do with it."""

    def __init__(self, descriptor, value_size):
        self.descriptor, self.value_size = descriptor, value_size

    def _call(self, command, key, value):
        keys, values = ctypes.create_string_buffer(key, len(key)), ctypes.create_string_buffer(value, max(1, len(value)))
        try:
            bpf(command, struct.pack("=I4xQQQ", self.descriptor, ctypes.addressof(keys),
                                     ctypes.addressof(values) if value else 0, 0))
        except FileNotFoundError:
            return None
        return values.raw[:len(value)]

    def get(self, key):
        return self._call(MAP_LOOKUP, key, bytes(self.value_size))

    def set(self, key, value):
        self._call(MAP_UPDATE, key, value)

    def remove(self, key):
        self._call(MAP_DELETE, key, b"")

    def close(self):
        os.close(self.descriptor)
        self.descriptor = -1


class Ring:
    """The ring buffer of a slot (Documentation/bpf/ringbuf.rst of Linux)."""
    BUSY, DISCARDED, HEADER = 1 << 31, 1 << 30, 8

    def __init__(self, descriptor, size=1 << 21):
        self.descriptor, self.size = descriptor, size
        page = mmap.PAGESIZE
        self.consumer = mmap.mmap(descriptor, page, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=0)
        self.producer = mmap.mmap(descriptor, page + 2 * size, mmap.MAP_SHARED, mmap.PROT_READ, offset=page)

    def read(self):
        """All events that are there."""
        events = []
        while True:
            at, = struct.unpack_from("=Q", self.consumer, 0)
            end, = struct.unpack_from("=Q", self.producer, 0)
            if at == end:
                return events
            start = mmap.PAGESIZE + (at & (self.size - 1))
            length, = struct.unpack_from("=I", self.producer, start)
            if length & self.BUSY:
                return events
            size = length & ~(self.BUSY | self.DISCARDED)
            if not length & self.DISCARDED:
                events.append(self._event(start + self.HEADER, size))
            struct.pack_into("=Q", self.consumer, 0, at + (size + self.HEADER + 7) // 8 * 8)

    def _event(self, at, size):
        (kind, slot, tgid, tid, task, _time, local, local_port, _a, remote, remote_port, _b, position, count, flags,
         frames, _stream, _status, _call) = EVENT_HEAD.unpack_from(self.producer, at)
        assert size >= EVENT_HEAD.size + 8 * frames, "a record is as long as its frames need"
        stack = struct.unpack_from(f"={frames}Q", self.producer, at + EVENT_HEAD.size)
        return Event(kind, slot, tgid, tid, task, address(local, local_port), address(remote, remote_port), position,
                     count, flags, stack)

    def close(self):
        self.consumer.close()
        self.producer.close()
        os.close(self.descriptor)


class Connection:
    """A proxy's connection to the loader."""

    def __init__(self, end):
        self.end = end
        self.end.settimeout(30)

    def attach(self, service, processes, ports, listeners, start_times=None, flags=0):
        times = start_times or [start_time(pid) for pid in processes]
        request = ATTACH.pack(
            magic("ATCH"), VERSION, service.encode(), 0, len(processes),
            *(list(processes) + [0] * MAX_PIDS)[:MAX_PIDS], len(ports), *(list(ports) + [0] * MAX_PORTS)[:MAX_PORTS],
            flags, *(times + [0] * MAX_PIDS)[:MAX_PIDS])
        self.end.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                      array.array("i", [each.fileno() for each in listeners]))])
        raw, descriptors, _flags, _from = socket.recv_fds(self.end, 4096, 8)
        kind, _version, error, slot, step, text = ATTACH_REPLY.unpack(raw)
        assert kind == magic("ATCR")
        return AttachReply(error, slot, plain(step), plain(text), descriptors)

    def retire(self):
        self.end.send(REQUEST.pack(magic("RETE"), VERSION))
        kind, _version, error, found, still, staying, step, text = RETIRE_REPLY.unpack(self.end.recv(4096))
        assert kind == magic("RETR")
        return RetireReply(error, found, still, staying, plain(step), plain(text))

    def detach(self):
        self.end.send(REQUEST.pack(magic("DTCH"), VERSION))
        kind, _version, error, _text = DETACH_REPLY.unpack(self.end.recv(4096))
        assert kind == magic("DTCR") and error == 0
        return error

    def close(self):
        self.end.close()


class Loader:
    """`filibuster-bpf serve`, with the daemon's end of its connection."""

    def __init__(self, *options, within=(), program=LOADER):
        """`within`: a command that runs the loader, whose command line is its last arguments."""
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen([*within, str(program), "serve", "--fd", str(theirs.fileno()), *options],
                                        pass_fds=[theirs.fileno()])
        theirs.close()
        self.held = {kind: set() for kind in KINDS}

    def remember(self):
        """What it has in the kernel by now is to be gone when it has ended."""
        if self.process.poll() is None:
            for kind, ids in held_by(self.process.pid).items():
                self.held[kind] |= ids

    def connect(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        socket.send_fds(self.control, [JOIN.pack(magic("JOIN"), VERSION)], [theirs.fileno()])
        theirs.close()
        return Connection(ours)

    def close(self):
        self.remember()
        self.control.close()
        assert self.process.wait(30) == 0 or self.process.returncode == -signal.SIGKILL


def listener(family, port=0):
    made = socket.socket(family, socket.SOCK_STREAM)
    made.bind(("127.0.0.1" if family == socket.AF_INET else "::1", port))
    made.listen(512)
    return made


class Proxy:
    """Forwards what the kernel brings it, byte for byte, and keeps what it saw."""

    def __init__(self, loader):
        self.loader = loader
        self.connection = loader.connect()
        families = (socket.AF_INET, socket.AF_INET6)
        self.outbound = [listener(family) for family in families]
        self.inbound = [listener(family) for family in families]
        self.listeners = self.outbound + self.inbound
        self.events, self.wanted, self.steered = [], [], []
        self.ring = None
        self.lock = threading.Lock()
        self.open = set()
        self.threads = []
        self.reply = None

    def attach(self, service, processes, ports=(), **more):
        self.reply = self.connection.attach(service, processes, ports, self.listeners, **more)
        self.loader.remember()
        if self.reply.error == 0:
            ring, originals, bypass = self.reply.descriptors
            self.ring, self.originals, self.bypass = Ring(ring), Map(originals, 20), Map(bypass, 1)
            for each, accepted in [(self.outbound, self._redirected), (self.inbound, self._steered)]:
                for one in each:
                    self._start(self._accept, one, accepted)
        return self.reply

    def _start(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        thread.start()
        self.threads.append(thread)

    def _accept(self, one, accepted):
        while True:
            try:
                connection, source = one.accept()
            except OSError:
                return
            self._start(accepted, connection, source)

    def _redirected(self, connection, source):
        row = self.originals.get(packed(source[0], source[1]))
        where = address(row[:16], struct.unpack("=H", row[16:18])[0]) if row else None
        with self.lock:
            self.wanted.append(where)
        if where:
            self._forward(connection, socket.AF_INET6 if ":" in where[0] else socket.AF_INET, where, bypass=False)

    def _steered(self, connection, source):
        where = connection.getsockname()[:2]
        with self.lock:
            self.steered.append(where)
        self._forward(connection, connection.family, where, bypass=True)

    def _forward(self, connection, family, where, bypass):
        onward = socket.socket(family, socket.SOCK_STREAM)
        source = None
        try:
            if bypass:
                onward.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
                source = struct.pack("=H", onward.getsockname()[1])
                self.bypass.set(source, b"\1")
            onward.connect(where)
        except OSError:  # refused: the other end gets a reset
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            onward.close()
            return
        for one in (connection, onward):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.lock:
            self.open |= {connection, onward}
        back = threading.Thread(target=self._pump, args=(onward, connection), daemon=True)
        back.start()
        self._pump(connection, onward)
        back.join()
        if source:
            self.bypass.remove(source)
        with self.lock:
            self.open -= {connection, onward}
        connection.close()
        onward.close()

    @staticmethod
    def _pump(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def seen(self, kind):
        """The events of this kind so far."""
        self.events += self.ring.read()
        return [event for event in self.events if event.kind == kind]

    def let_go(self):
        """Nothing comes any more: what is open is forwarded to its end, by threads of its own."""
        def waiting(one):  # connections that were not accepted yet (tcpi_unacked of a listener)
            return struct.unpack_from("=I", one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 24)[0]
        wait_until(lambda: not any(map(waiting, self.listeners)), "all that came is accepted")
        for each in self.listeners:
            each.shutdown(socket.SHUT_RDWR)
            each.close()
        self.connection.close()

        def end():
            for thread in self.threads:  # the first of them begin the others
                thread.join()
            self._close_maps()
        threading.Thread(target=end, daemon=True).start()

    def _close_maps(self):
        if self.ring:
            self.ring.close()
            self.originals.close()
            self.bypass.close()
            self.ring = None

    def close(self):
        """As a proxy ends: the loader sees the end of its connection. What it forwards is ended, too."""
        self.connection.close()
        for each in self.listeners:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        with self.lock:
            for each in self.open:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(30)
        self._close_maps()


KINDS = ("prog", "map", "link")


def held_by(pid):
    """What of eBPF a process has in its descriptors: {"prog": {id, ...}, ...} (fdinfo of proc(5))."""
    held = {kind: set() for kind in KINDS}
    for number in os.listdir(f"/proc/{pid}/fdinfo"):
        with contextlib.suppress(FileNotFoundError):
            lines = pathlib.Path(f"/proc/{pid}/fdinfo/{number}").read_text().splitlines()
            for kind in KINDS:
                held[kind] |= {int(line.split()[1]) for line in lines if line.startswith(f"{kind}_id:")}
    return held


def readable(descriptor):
    return bool(select.select([descriptor], [], [], 0)[0])
