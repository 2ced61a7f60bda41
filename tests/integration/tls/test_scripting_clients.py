"""Client libraries of Ruby, Perl and PHP, and wget2: their calls are seen above the encryption, and get faults."""
import os
import shutil

import pytest

import certificates
from rpc_tree import chains, observe_and_compare
from small_apps import config, printed, printing, relay

PROGRAMS = {
    "net-http.rb": """
require 'net/http'
uri = URI(ENV['URL'])
begin
  answer = Net::HTTP.start(uri.host, uri.port, use_ssl: true, ca_file: ENV['SSL_CERT_FILE'], read_timeout: 1, open_timeout: 1, max_retries: 0) { |http| http.get('/x') }
  puts answer.code
rescue StandardError => error
  puts error.class
end
""",
    "lwp.pl": """
use LWP::UserAgent;
my $agent = LWP::UserAgent->new(timeout => 1, ssl_opts => {SSL_ca_file => $ENV{SSL_CERT_FILE}});
my $answer = $agent->get("$ENV{URL}/x");
print $answer->header('Client-Warning') ? 'failed: ' . $answer->message : $answer->code, "\\n";
""",
    "curl.php": """<?php
$call = curl_init(getenv('URL') . '/x');
curl_setopt_array($call, [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 1, CURLOPT_CAINFO => getenv('SSL_CERT_FILE')]);
curl_exec($call);
echo curl_errno($call) ? 'failed: ' . curl_error($call) : curl_getinfo($call, CURLINFO_RESPONSE_CODE), "\\n";
""",
    "streams.php": """<?php
$context = stream_context_create(['http' => ['timeout' => 1, 'ignore_errors' => true], 'ssl' => ['cafile' => getenv('SSL_CERT_FILE')]]);
$body = @file_get_contents(getenv('URL') . '/x', false, $context);
echo $body === false ? 'failed' : explode(' ', $http_response_header[0])[1], "\\n";
""",
}
# The program that runs it, and how to know that all it needs is there.
CLIENTS = {
    "Ruby Net::HTTP": ("ruby net-http.rb", "ruby -ropenssl -rnet/http -e 1"),
    "Perl LWP": ("perl lwp.pl", "perl -MLWP::Protocol::https -e 1"),
    "PHP curl": ("php curl.php", "php -r 'exit(function_exists(\"curl_init\") ? 0 : 1);'"),
    "PHP streams": ("php streams.php", "php -r 'exit(extension_loaded(\"openssl\") ? 0 : 1);'"),
    # Its exit status is 0 whatever happens.
    "wget2": ("wget2 -v -T 1 -t 1 --http2=off --ca-certificate=$SSL_CERT_FILE -O /dev/null $URL/x 2>&1 | sed -n 's/.*response \\([0-9]*\\).*/\\1/p'", "wget2 --version"),
}


def client(project, tls, name):
    command, needs = CLIENTS[name]
    if not shutil.which(command.split()[0]) or os.system(f"{needs} > /dev/null 2>&1") != 0:
        pytest.skip(f"{name} is not there")
    for program, text in PROGRAMS.items():
        project.write(program, text)
    trust = " ".join(f"{key}={value}" for key, value in certificates.trusted(tls).items())
    return f"export {trust} URL=https://localhost:${{port:back}}; {command}"


@pytest.mark.parametrize("name", CLIENTS)
def test_their_calls_are_seen(project, tls, name):
    run = observe_and_compare(project, [relay("back", options=f"--tls {tls}")], client(project, tls, name))
    assert chains(run) == ["test>back GET /x 200"], run


@pytest.mark.parametrize("name", CLIENTS)
def test_their_calls_get_faults(project, tls, name):
    project.write("filibuster.json", config(
        [relay("back", options=f"--tls {tls}")], [{"name": "get", "command": printing(client(project, tls, name))}], fault_test_calls=True,
        default_faults=False, bounds={"max_faults": 1}, faults=[{"inject": ["status:503", "reset", "timeout", "status:503:after", "latency:50ms"]}]))
    run = project.filibuster("run", "--no-snapshot")
    assert "plan not met" not in run.output and run.executed == 6, run
    told = [text.strip() for text in printed(run)]
    faulted = told[-5:]
    assert told[0] == "200" and faulted.count("200") == 1 and faulted.count("503") == 2, told
