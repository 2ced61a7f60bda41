"""Clients, in the clear and over TLS: what they send, but for our one request header field, and what they make of the answers."""
import os
import shutil

import pytest

import certificates
import pairs
from conftest import BUILD, PYTHON, TESTS
from ways import Program, check_unnoticed

HERE = TESTS / "unnoticed"
# $URLS are the two servers. Each command asks for what is there, for what is not, and for a port at which nobody listens.
EACH = "for URL in $URLS; do export URL; {}; echo ended with $?; done"
CURL = """
curl -sS $URL/get; curl -sS --http1.0 $URL/old; curl -sS --head $URL/head; curl -sS -d a=b $URL/form; curl -sS --data-binary @large $URL/expect
curl -sS -H 'Transfer-Encoding: chunked' --data-binary @large $URL/chunks; curl -sS $URL/one $URL/two $URL/three; curl -sSf $URL/absent; echo $?
curl -sS -T large $URL/put; curl -sS https://localhost:1/ 2> refused; echo $?; sed 's/after [0-9]* ms/after a while/' refused >&2"""
PROGRAMS = {
    "requests_.py": """
import os, requests
url = os.environ["URL"]
with requests.Session() as session:
    for method, path, more in (("GET", "/get", {}), ("POST", "/form", {"data": {"a": "b"}}), ("POST", "/json", {"json": [1]}),
                               ("PUT", "/file", {"data": open("large", "rb")}), ("GET", "/absent", {}), ("POST", "/chunks", {"data": iter([b"a", b"b" * 9000])})):
        answer = session.request(method, url + path, **more)
        print(answer.status_code, answer.text, sorted(answer.headers.items()))
""",
    "urllib_.py": """
import os, urllib.error, urllib.request
url = os.environ["URL"]
print(urllib.request.urlopen(url + "/get").read().decode(), urllib.request.urlopen(url + "/form", b"a=b").read().decode())
try:
    urllib.request.urlopen(url + "/absent")
except urllib.error.HTTPError as error:
    print(error, error.read().decode())
""",
    "httpx_.py": """
import asyncio, os, httpx
url = os.environ["URL"]
with httpx.Client() as client:
    print(client.get(url + "/get").text, client.post(url + "/form", data={"a": "b"}).text, client.get(url + "/absent").status_code)
async def main():
    async with httpx.AsyncClient() as client:
        for answer in await asyncio.gather(*(client.get(f"{url}/{n}") for n in range(8))):
            print(answer.status_code, answer.text)
asyncio.run(main())
""",
    "aiohttp_.py": """
import asyncio, os, ssl, aiohttp
url = os.environ["URL"]
async def ask(session, method, path, **more):
    async with session.request(method, url + path, **more) as answer:
        return answer.status, await answer.text()
async def main():
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=ssl.create_default_context())) as session:
        print(await ask(session, "GET", "/get"), await ask(session, "POST", "/form", data={"a": "b"}), await ask(session, "GET", "/absent"))
        print(await ask(session, "PUT", "/file", data=open("large", "rb")))
        print(await asyncio.gather(*(ask(session, "GET", f"/{n}") for n in range(8))))
asyncio.run(main())
""",
    "ask.mjs": """
import http from 'http'; import https from 'https'; import { Worker, isMainThread, workerData, parentPort } from 'worker_threads';
const url = process.env.URL;
const ask = (path, options = {}, body) => new Promise((done, failed) => {
  const request = (url.startsWith('https') ? https : http).request(url + path, options, (answer) => {
    let text = ''; answer.on('data', (part) => { text += part; }).on('end', () => done(answer.statusCode + ' ' + text));
  }).on('error', failed);
  request.end(body);
});
if (!isMainThread) {
  parentPort.postMessage(await ask(workerData));
} else {
  for (const [path, options, body] of [['/get'], ['/form', { method: 'POST' }, 'a=b'], ['/absent']]) console.log(await ask(path, options, body));
  for (const [path, options] of [['/get'], ['/form', { method: 'POST', body: 'a=b' }], ['/absent']]) {
    const answer = await fetch(url + path, options);
    console.log(answer.status, await answer.text());
  }
  const threads = [1, 2, 3].map((n) => new Promise((done, failed) => new Worker(new URL(import.meta.url), { workerData: `/thread/${n}` }).on('message', done).on('error', failed)));
  console.log(await Promise.all(threads));
}
""",
    "ask.rb": """
require 'net/http'
uri = URI(ENV['URL'])
Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == 'https', ca_file: ENV['SSL_CERT_FILE']) do |http|
  puts http.get('/get').body, http.post('/form', 'a=b').body, http.get('/absent').code
end
""",
    "ask.pl": """
use LWP::UserAgent;
my $agent = LWP::UserAgent->new(keep_alive => 1, ssl_opts => {SSL_ca_file => $ENV{SSL_CERT_FILE}});
for my $path ('/get', '/absent') { my $answer = $agent->get("$ENV{URL}$path"); print $answer->code, ' ', $answer->content; }
print $agent->post("$ENV{URL}/form", {a => 'b'})->content;
""",
    "ask.php": """<?php
foreach (['/get', '/absent'] as $path) {
    $call = curl_init(getenv('URL') . $path);
    curl_setopt_array($call, [CURLOPT_RETURNTRANSFER => true, CURLOPT_CAINFO => getenv('SSL_CERT_FILE')]);
    echo curl_exec($call), curl_getinfo($call, CURLINFO_RESPONSE_CODE), "\\n";
}
$context = stream_context_create(['http' => ['method' => 'POST', 'content' => 'a=b', 'header' => 'Content-Type: text/plain'], 'ssl' => ['cafile' => getenv('SSL_CERT_FILE')]]);
echo file_get_contents(getenv('URL') . '/form', false, $context);
""",
}
WGET = "wget -q -O - --ca-certificate=$SSL_CERT_FILE {} $URL/get; wget -q -O - --ca-certificate=$SSL_CERT_FILE {} --post-file=large $URL/form; wget -q -O - $URL/absent; echo $?"
CLIENTS = {
    "curl": CURL,
    "wget": WGET.format("", ""),
    # By itself it hangs where a large body goes over TLS.
    "wget2": WGET.replace("wget -q", "wget2 -q").replace("large", "small").format("--http2=off", "--http2=off"),
    "python3 requests": f"{PYTHON} requests_.py", "python3 urllib": f"{PYTHON} urllib_.py", "python3 httpx": f"{PYTHON} httpx_.py", "python3 aiohttp": f"{PYTHON} aiohttp_.py",
    "node": "node ask.mjs",
    "java": f"java -cp {BUILD}/tests/java Ask",
    "ruby": "ruby ask.rb", "perl": "perl ask.pl", "php": "php ask.php",
}


# One of each TLS library and runtime; the JVM is in test_servers.py (jetty), and Perl and PHP are in tls/test_scripting_clients.py, too.
@pairs.only("client", ["curl", "wget", "python3 aiohttp", "node", "ruby"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client(project, tls, client):
    if not shutil.which(client.split()[0]):
        pytest.skip(f"NOT CHECKED: {client} is not installed")
    for name, text in PROGRAMS.items():
        project.write(name.replace("requests_.py", "requests_.py").replace("urllib_.py", "urllib_.py"), text)
    project.write("small", "a=b")
    project.write("large", "".join(f"{n:07d}\n" for n in range(30_000)))
    trust = " ".join(f"{key}={value}" for key, value in certificates.trusted(tls).items())
    urls = "http://localhost:${port:echo} https://localhost:${port:encrypted}"
    echo = {"name": "echo", "ports": ["echo", "encrypted"], "command": f"exec {PYTHON} {HERE}/echo.py ${{port:echo}} ${{port:encrypted}} {tls} fields"}
    command = f"export {trust} PYTHONDONTWRITEBYTECODE=1; URLS='{urls}'; " + EACH.format(CLIENTS[client])
    run = check_unnoticed(project, Program([echo], command), fields=True)
    assert "GET" in run.output, run
