"""Programs that speak something else beside HTTP, or in it: git, databases, message brokers, ssh, rsync."""
import os
import pathlib
import shutil
import subprocess

import pytest

import certificates
from conftest import need_user_name
from ways import Program, check_unnoticed, until_closed

ROOT = os.geteuid() == 0
PATH = os.environ["PATH"] + ":/usr/sbin:/usr/lib/postgresql/15/bin:/usr/lib/rabbitmq/bin"
BOTH = "http://localhost:${port:web} https://localhost:${port:encrypted}"

APACHE = """
ServerRoot %(directory)s
ServerName localhost
%(user)s
PidFile apache.pid
ErrorLog /dev/stderr
DocumentRoot %(directory)s
%(modules)s
Listen 127.0.0.1:WEB
Listen 127.0.0.1:ENCRYPTED
SSLCertificateFile %(directory)s/tls/cert.pem
SSLCertificateKeyFile %(directory)s/tls/key.pem
<VirtualHost *:ENCRYPTED>
  SSLEngine on
</VirtualHost>
SetEnv GIT_PROJECT_ROOT %(directory)s/repositories
SetEnv GIT_HTTP_EXPORT_ALL
ScriptSock %(directory)s/cgi.sock
ScriptAlias / /usr/lib/git-core/git-http-backend/
<Directory /usr/lib/git-core>
  Require all granted
</Directory>
"""
MODULES = ["mpm_event", "authz_core", "ssl", "socache_shmcb", "env", "alias", "cgid"]
GIT = """
export HOME=$PWD GIT_SSL_CAINFO=$PWD/tls/ca.pem GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' GIT_TERMINAL_PROMPT=0 N=0
for URL in %s; do
  N=$((N+1)); rm -rf one two
  git clone -q $URL/$N.git one; cp large one/; git -C one add large; git -C one commit -q -m first; git -C one push -q origin HEAD; echo pushed $?
  git clone -q $URL/$N.git two; echo cloned $?; git -C two log --format=%%H; md5sum < two/large; git -C two fsck 2>&1
  git ls-remote $URL/$N.git; git clone -q $URL/none.git none; echo $?
done
""" % BOTH

SSHD = """
Port SSH
ListenAddress 127.0.0.1
HostKey %(directory)s/host
AuthorizedKeysFile %(directory)s/key.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
LogLevel ERROR
Subsystem sftp internal-sftp
"""
SSH = "ssh -F none -i key -p ${port:ssh} -o LogLevel=ERROR -o UserKnownHostsFile=known -o StrictHostKeyChecking=yes -o BatchMode=yes"
RSYNCD = """
address = 127.0.0.1
use chroot = %(chroot)s
log file = %(directory)s/rsyncd.log
[shared]
path = %(directory)s/shared
"""
RABBIT = """
listeners.tcp.1 = 127.0.0.1:PLAIN
listeners.ssl.1 = 127.0.0.1:ENCRYPTED
ssl_options.cacertfile = %(directory)s/tls/ca.pem
ssl_options.certfile = %(directory)s/tls/cert.pem
ssl_options.keyfile = %(directory)s/tls/key.pem
log.console = false
log.file = rabbit.log
"""


def installed(*programs):
    missing = [program for program in programs if not shutil.which(program, path=PATH)]
    if missing:
        pytest.skip(f"NOT CHECKED: {', '.join(missing)} is not installed")


@pytest.fixture
def place(open_project):
    """A project that servers of other users can read, with a certificate and a large file."""
    certificates.make(open_project.directory / "tls")
    for file in (open_project.directory / "tls").iterdir():
        file.chmod(0o644)
    open_project.write("large", "".join(f"{n:07d}\n" for n in range(300_000)))
    return open_project


def in_place(project, command):
    subprocess.run(command, shell=True, cwd=project.directory, check=True, env={**os.environ, "PATH": PATH}, stdout=subprocess.DEVNULL)


def service(name, ports, command, **environment):
    return {"name": name, "ports": ports, "command": command, "env": {"PATH": PATH, **environment}}


def test_git(place):
    installed("git", "apache2")
    if not os.path.exists("/usr/lib/git-core/git-http-backend"):
        pytest.skip("NOT CHECKED: git has no http-backend")
    modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in MODULES)
    place.write("template", APACHE % {"directory": place.directory, "modules": modules, "user": "User www-data\nGroup www-data" if ROOT else ""})
    own = "chown -R www-data repositories; " if ROOT else ""
    command = ("rm -rf repositories; for n in 1 2; do git init -q --bare repositories/$n.git; git -C repositories/$n.git config http.receivepack true; done; " + own +
               "sed -e s/WEB/${port:web}/ -e s/ENCRYPTED/${port:encrypted}/ template > apache.conf; exec apache2 -D FOREGROUND -f $PWD/apache.conf")
    run = check_unnoticed(place, Program([service("git", ["web", "encrypted"], command)], GIT + until_closed("web", "encrypted")))
    assert "git-receive-pack" in run.output and "git-upload-pack" in run.output, run


def test_postgresql(place):
    installed("postgres", "initdb", "psql", "setpriv")
    need_user_name()
    in_place(place, "mkdir made; cp tls/cert.pem tls/key.pem made; chmod 600 made/key.pem")
    become = ""
    if ROOT:
        become = "setpriv --reuid=postgres --regid=postgres --clear-groups "
        in_place(place, "chown -R postgres:postgres made")
    in_place(place, f"{become}initdb -A trust -U test --no-sync --no-locale -E UTF8 -D made/data")
    command = (f"rm -rf data; cp -a made data; exec {become}postgres -D data/data -h 127.0.0.1 -p ${{port:db}} -k '' -c fsync=off -c log_min_messages=error "
               "-c ssl=on -c ssl_cert_file=$PWD/data/cert.pem -c ssl_key_file=$PWD/data/key.pem")
    place.write("ask.sql", "select ssl, version from pg_stat_ssl where pid = pg_backend_pid();\ncreate temporary table t (line text);\n"
                "\\copy t from large\nselect count(*), md5(string_agg(line, ',' order by line)) from t;\nselect 1 / 0;\n\\copy t to back\n")
    client = ("for mode in disable verify-full; do AT=\"host=localhost port=${port:db} user=test dbname=postgres sslmode=$mode sslrootcert=tls/ca.pem\"\n"
              "psql -X \"$AT\" -f ask.sql; echo $?; md5sum < back; psql -X \"$AT dbname=none\" -c 'select 1'; echo $?; psql -X \"$AT\" -c 'select pg_terminate_backend(pg_backend_pid())'; echo $?; done")
    check_unnoticed(place, Program([service("db", ["db"], command)], client))


def test_mariadb(place):
    installed("mariadbd", "mariadb", "mariadb-install-db")
    in_place(place, "mariadb-install-db --no-defaults --datadir=$PWD/made --auth-root-authentication-method=normal --skip-test-db --user=$(id -un) > made.log 2>&1")
    command = ("rm -rf data; cp -a made data; exec mariadbd --no-defaults --user=$(id -un) --datadir=$PWD/data --bind-address=127.0.0.1 --port=${port:db} --socket=$PWD/db.sock "
               "--pid-file=$PWD/db.pid --log-error=$PWD/db.log --ssl-ca=$PWD/tls/ca.pem --ssl-cert=$PWD/tls/cert.pem --ssl-key=$PWD/tls/key.pem --local-infile=1 --innodb-flush-log-at-trx-commit=0")
    place.write("ask.sql", "show status like 'Ssl_version';\ncreate or replace table mysql.t (line varchar(20)) engine=aria;\n"
                "load data local infile 'large' into table mysql.t;\nselect count(*), sum(crc32(line)) from mysql.t;\nselect line from mysql.t order by line limit 3;\n")
    client = ("for ssl in --skip-ssl '--ssl --ssl-ca=tls/ca.pem --ssl-verify-server-cert'; do ask=\"mariadb --no-defaults --protocol=tcp -h localhost -P ${port:db} -u root --local-infile=1 $ssl\"\n"
              "$ask < ask.sql; echo $?; $ask none; echo $?; $ask -e 'select broken'; echo $?; done")
    check_unnoticed(place, Program([service("db", ["db"], command)], client))


def ssh_server(place):
    need_user_name()
    in_place(place, "ssh-keygen -q -t ed25519 -N '' -f host; ssh-keygen -q -t ed25519 -N '' -f key; chmod 600 host key")
    if ROOT:
        in_place(place, "mkdir -p -m 0755 /run/sshd")
    place.write("sshd.template", SSHD % {"directory": place.directory})
    return service("ssh", ["ssh"], "echo \"[127.0.0.1]:${port:ssh} $(cat host.pub)\" > known; sed s/SSH/${port:ssh}/ sshd.template > sshd.conf; exec /usr/sbin/sshd -D -e -f sshd.conf")


def test_ssh(place):
    installed("ssh", "sshd", "ssh-keygen")
    server = ssh_server(place)
    client = (f"{SSH} 127.0.0.1 'md5sum; exit 7' < large; echo $?; {SSH} 127.0.0.1 \"cat $PWD/large; echo also >&2\" | md5sum; "
              f"scp -q -F none -i key -P ${{port:ssh}} -o UserKnownHostsFile=known -o BatchMode=yes 127.0.0.1:$PWD/large copied; md5sum < copied; {SSH} nobody@127.0.0.1 true; echo $?")
    check_unnoticed(place, Program([server], client))


def test_rsync(place):
    """The daemon changes its root directory and its user for each client."""
    installed("rsync", "ssh", "sshd", "ssh-keygen")
    in_place(place, "mkdir shared; for n in 1 2 3; do cp large shared/$n; echo $n >> shared/$n; done; chmod -R a+rX shared")
    place.write("rsyncd.conf", RSYNCD % {"directory": place.directory, "chroot": "yes" if ROOT else "no"})
    daemon = service("files", ["files"], "exec rsync --daemon --no-detach --config=rsyncd.conf --port=${port:files}")
    client = ("rm -rf got over; rsync -a rsync://127.0.0.1:${port:files}/shared/ got; echo $?; cat got/* | md5sum; rsync -ai rsync://127.0.0.1:${port:files}/shared/ got; echo $?; "
              f"rsync -a rsync://127.0.0.1:${{port:files}}/none/ got; echo $?; rsync -a -e '{SSH}' 127.0.0.1:$PWD/shared/ over; echo $?; cat over/* | md5sum; "
              f"echo more >> over/1; rsync -ac -e '{SSH}' over/ 127.0.0.1:$PWD/over2; echo $?; cat over2/* | md5sum; rm -rf over2")
    check_unnoticed(place, Program([ssh_server(place), daemon], client))


@pytest.mark.whole
def test_rabbitmq(place):
    """Starts three times, which takes its time."""
    installed("rabbitmq-server", "epmd", "amqp-publish", "amqp-get", "amqp-consume", "amqp-declare-queue")
    place.write("template", RABBIT % {"directory": place.directory})
    # epmd would stay as a daemon. This one ends with the service.
    command = ("rm -rf base; mkdir base; sed -e s/PLAIN/${port:plain}/ -e s/ENCRYPTED/${port:encrypted}/ template > rabbit.conf; export ERL_EPMD_PORT=${port:epmd}; "
               "epmd -address 127.0.0.1 -port ${port:epmd} & exec /usr/lib/rabbitmq/bin/rabbitmq-server")
    directory = str(place.directory)
    server = service("broker", ["encrypted", "plain", "epmd"], command, HOME=f"{directory}/base", RABBITMQ_MNESIA_BASE=f"{directory}/base", RABBITMQ_LOG_BASE=f"{directory}/base",
                     RABBITMQ_LOGS=f"{directory}/base/log", RABBITMQ_NODENAME="tested@localhost", RABBITMQ_CONFIG_FILE=f"{directory}/rabbit.conf", RABBITMQ_DIST_PORT="${port:dist}",
                     RABBITMQ_ENABLED_PLUGINS_FILE=f"{directory}/plugins", ERL_EPMD_ADDRESS="127.0.0.1")
    server["ports"].append("dist")
    place.write("plugins", "[].\n")
    # A publisher does not wait until its message is there; amqp-consume does.
    client = ("for at in '-u amqp://guest:guest@localhost:${port:plain}' '-u amqps://guest:guest@localhost:${port:encrypted} --cacert=tls/ca.pem'; do\n"
              "amqp-declare-queue $at -q one; echo $?; amqp-publish $at -r one -b hello; echo $?; amqp-publish $at -r one < large; echo $?; amqp-consume $at -q one -c 1 cat; echo; amqp-consume $at -q one -c 1 md5sum; "
              "amqp-get $at -q one; echo $?; amqp-get $at -q none; echo $?; amqp-delete-queue $at -q one; done")
    check_unnoticed(place, Program([server], client))
