"""A program that a request's handler starts makes its calls for that request, by whatever function it is started."""
import pytest

import pairs
from conftest import PYTHON
from rpc_tree import attributions, causes, observe
from small_apps import APPS, relay, url

NUMBER = 4  # requests at once

# Starts `curl URL` in the way HOW, and waits for it.
STARTER = r'''
import asyncio, ctypes, os, subprocess, sys
here = ctypes.CDLL(None, use_errno=True)
CURL, environment = "/usr/bin/curl", None

def texts(*given):
    return (ctypes.c_char_p * (len(given) + 1))(*[text.encode() for text in given], None)

def in_child(action):
    child = os.fork()
    if child == 0:
        action()
        os._exit(9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def spawned(name, path, arguments):
    pid = ctypes.c_int()
    block = texts(*[f"{key}={value}" for key, value in os.environ.items()])
    failed = getattr(here, name)(ctypes.byref(pid), path.encode(), None, None, texts(*arguments), block)
    return failed or os.waitstatus_to_exitcode(os.waitpid(pid.value, 0)[1])

def through_popen(command):
    here.popen.restype = ctypes.c_void_p
    return here.pclose(ctypes.c_void_p(here.popen(command.encode(), b"r")))

def start(how, url):
    quiet = ["curl", "-sSf", "-o", "/dev/null", url]
    plain = [text.encode() for text in quiet]
    block = texts(*[f"{key}={value}" for key, value in os.environ.items()])
    many = texts(*[f"{key}={value}" for key, value in os.environ.items()], *[f"MANY_{n}=1" for n in range(400)])
    ways = {
        "subprocess": lambda: subprocess.run(quiet, check=True).returncode,
        "shell": lambda: subprocess.run(f"true; curl -sSf -o /dev/null {url}; exit $?", shell=True).returncode,
        "bash": lambda: subprocess.run(["bash", "-c", f"x=$(curl -sSf {url}) || exit 1; echo $x | cat > /dev/null"]).returncode,
        "python": lambda: subprocess.run([sys.executable, "-c", f"import urllib.request; urllib.request.urlopen('{url}').read()"]).returncode,
        "new-environment": lambda: subprocess.run(quiet, env={"LD_PRELOAD": os.environ["LD_PRELOAD"], **{
            key: value for key, value in os.environ.items() if key.startswith("FILIBUSTER")}}).returncode,
        "forked": lambda: in_child(lambda: os.execvp("curl", quiet)),
        "preexec": lambda: subprocess.run(quiet, preexec_fn=lambda: None).returncode,
        "system": lambda: os.system(f"curl -sSf -o /dev/null {url}"),
        "popen": lambda: through_popen(f"curl -sSf -o /dev/null {url}"),
        "posix_spawn": lambda: spawned("posix_spawn", CURL, quiet),
        "posix_spawnp": lambda: spawned("posix_spawnp", "curl", quiet),
        "execv": lambda: in_child(lambda: here.execv(CURL.encode(), texts(*quiet))),
        "execve": lambda: in_child(lambda: here.execve(CURL.encode(), texts(*quiet), many)),
        "execvp": lambda: in_child(lambda: here.execvp(b"curl", texts(*quiet))),
        "execvpe": lambda: in_child(lambda: here.execvpe(b"curl", texts(*quiet), block)),
        "execl": lambda: in_child(lambda: here.execl(CURL.encode(), *plain, None)),
        "execlp": lambda: in_child(lambda: here.execlp(b"curl", *plain, None)),
        "execle": lambda: in_child(lambda: here.execle(CURL.encode(), *plain, None, block)),
        "fexecve": lambda: in_child(lambda: here.fexecve(os.open(CURL, os.O_RDONLY), texts(*quiet), block)),
        "execveat": lambda: in_child(lambda: here.execveat(-100, CURL.encode(), texts(*quiet), block, 0)),
    }
    return ways[how]()
'''
WAYS = ["subprocess", "shell", "bash", "python", "new-environment", "forked", "preexec", "system", "popen", "posix_spawn",
        "posix_spawnp", "execv", "execve", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat"]

THREADS = STARTER + r'''
import http.server
port, back, how = int(sys.argv[1]), sys.argv[2], sys.argv[3]

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        failed = [start(how, f"{back}{self.path}/{call}") for call in range(2)]
        self.send_response(500 if any(failed) else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
'''

LOOP = r'''
import asyncio, sys
port, back = int(sys.argv[1]), sys.argv[2]

async def serve(reader, writer):
    head = await reader.readuntil(b"\r\n\r\n")
    path = head.split()[1].decode()
    failed = []
    for call in range(2):
        program = await asyncio.create_subprocess_exec("curl", "-sSf", "-o", "/dev/null", f"{back}{path}/{call}")
        failed.append(await program.wait())
    writer.write(b"HTTP/1.1 %d X\r\ncontent-length: 0\r\n\r\n" % (500 if any(failed) else 200))
    await writer.drain()
    writer.close()

async def main():
    async with await asyncio.start_server(serve, "127.0.0.1", port) as server:
        await server.serve_forever()

asyncio.run(main())
'''

NODE = r'''
const http = require('http'), { execFile, execFileSync, execSync, spawn } = require('child_process');
const [port, back, how] = process.argv.slice(2);
const curl = (url) => ['-sSf', '-o', '/dev/null', url];
const start = (url) => new Promise((done, failed) => {
  if (how === 'execFileSync') done(execFileSync('curl', curl(url)));
  else if (how === 'execSync') done(execSync(`curl -sSf -o /dev/null ${url}`));
  else if (how === 'spawn') spawn('curl', curl(url)).on('exit', (code) => (code === 0 ? done() : failed(code)));
  else execFile('curl', curl(url), (error) => (error ? failed(error) : done()));
});
http.createServer(async (request, response) => {
  try {
    for (let call = 0; call < 2; ++call) {
      await new Promise((done) => setTimeout(done, 5));
      await start(`${back}${request.url}/${call}`);
    }
    response.end();
  } catch {
    response.writeHead(500).end();
  }
}).listen(port, '127.0.0.1');
'''

JAVA = r'''
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

class Starting {
  public static void main(String[] arguments) throws Exception {
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 0);
    server.setExecutor(Executors.newFixedThreadPool(8));
    server.createContext("/", exchange -> {
      int status = 200;
      for (int call = 0; call < 2; ++call) {
        try {
          String url = arguments[1] + exchange.getRequestURI().getPath() + "/" + call;
          if (new ProcessBuilder("curl", "-sSf", "-o", "/dev/null", url).start().waitFor() != 0) status = 500;
        } catch (InterruptedException interrupted) {
          status = 500;
        }
      }
      exchange.sendResponseHeaders(status, -1);
      exchange.close();
    });
    server.start();
  }
}
'''


def observe_programs(project, text, name, interpreter, *options):
    (project.directory / name).write_text(text)
    web = {"name": "web", "command": f"exec {interpreter} {name} ${{port:web}} {url('back', '')} " + " ".join(options)}
    run = observe(project, [relay("back"), web], f"exec {PYTHON} {APPS}/many.py {NUMBER} {url('web', '')}")
    right, unknown, wrong = attributions(run)
    assert wrong == [] and unknown == []
    assert sorted(right) == sorted(f"/{n}/{call}" for n in range(NUMBER) for call in range(2))
    return run


# Shells, forks, and each family of functions stay with one or two of their forms.
@pairs.only("how", ["subprocess", "shell", "forked", "system", "popen", "posix_spawn", "execve", "execlp", "execveat"])
@pytest.mark.parametrize("how", WAYS)
def test_every_way_of_starting_a_program(project, how):
    run = observe_programs(project, THREADS, "threads.py", PYTHON, how)
    assert causes(run, "web") == {"program"}


def test_an_event_loop_of_python(project):
    run = observe_programs(project, LOOP, "loop.py", PYTHON)
    assert causes(run, "web") == {"program"}


# One that waits stays, and one that does not.
@pairs.only("how", ["spawn", "execFileSync"])
@pytest.mark.parametrize("how", ["execFile", "spawn", "execFileSync", "execSync"])
def test_node(project, how):
    run = observe_programs(project, NODE, "starting.cjs", "node", how)
    assert causes(run, "web") == {"program"}


def test_the_jvm(project):
    run = observe_programs(project, JAVA, "Starting.java", "java")
    assert causes(run, "web") == {"program"}


def test_the_program_does_not_see_the_variable(project):
    text = THREADS.replace("return ways[how]()", 'return subprocess.run(f"env > seen-{url[-1]}; {quiet[0]} -sSf {url}", shell=True).returncode')
    observe_programs(project, text, "threads.py", PYTHON, "shell")
    assert (project.directory / "seen-0").read_text() and "FILIBUSTER_CAUSE" not in (project.directory / "seen-0").read_text()


# Starts the server argv[4:] at its first request, and asks it, at port argv[3].
STARTS_A_SERVER = r'''
import http.client, http.server, socket, subprocess, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = subprocess.Popen(sys.argv[3:])
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", int(sys.argv[2]))) == 0:
                    break
        for call in range(2):
            inner = http.client.HTTPConnection("127.0.0.1", int(sys.argv[2]))
            inner.request("GET", f"{self.path}/{call}")
            inner.getresponse().read()
        server.terminate()
        server.wait()
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''


def test_a_server_that_a_request_started_works_for_whoever_asks_it(project):
    (project.directory / "starts.py").write_text(STARTS_A_SERVER)
    inner = relay("inner", "back")["command"].removeprefix("exec ")
    web = {"name": "web", "ports": ["web", "inner"],
           "command": f"exec {PYTHON} starts.py ${{port:web}} ${{port:inner}} {inner}"}
    run = observe(project, [relay("back"), web], f"curl -sSf {url('web')}n")
    rpcs = run.test["reference"]
    by_index = {rpc["index"]: rpc for rpc in rpcs}
    assert sorted(by_index[rpc["parent"]]["path"] for rpc in rpcs if rpc["service"] == "back") == ["/n/0", "/n/1"]
    assert {rpc["cause"] for rpc in rpcs if rpc["service"] == "back"} == {"thread"}
