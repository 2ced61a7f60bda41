"""The command line tool on a terminal."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from conftest import FILIBUSTER


def read_to_the_end(terminal):
    shown = b""
    try:
        while chunk := os.read(terminal, 65536):
            shown += chunk
    except OSError:
        pass  # the end of a pty is EIO
    os.close(terminal)
    return shown


def on_a_terminal(project, verb, *arguments, columns=80, env=None):
    """What a person sees: lines, and every text that the updating line had."""
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen([FILIBUSTER, verb, "--root", project.root, *arguments], cwd=project.directory,
                               stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                               env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **(env or {})})
    os.close(theirs)
    shown = read_to_the_end(mine).decode()
    process.wait(timeout=60)
    return [re.sub(r"\x1b\[[0-9;]*[mK]", "", part) for line in shown.split("\r\n") for part in line.split("\r")]
