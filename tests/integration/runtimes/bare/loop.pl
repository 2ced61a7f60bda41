# A server of Perl with one thread, which waits for all of its connections: loop.pl PORT. For GET /NAME it calls BACK/NAME/0 and then
# BACK/NAME/1. It goes on with a request whose client has gone.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;

$SIG{PIPE} = 'IGNORE';
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ARGV[0], Listen => 64, ReuseAddr => 1) or die $!;
my $waiting = IO::Select->new($server);
my (%text, %ended);  # by socket: what was read of it, and what is done when that has ended

sub follow {
    my ($socket, $then) = @_;
    ($text{$socket}, $ended{$socket}) = ('', $then);
    $waiting->add($socket);
}

sub forget {
    my ($socket) = @_;
    delete $text{$socket};
    delete $ended{$socket};
    $waiting->remove($socket);
    close $socket;
}

sub call {
    my ($path, $number, $then) = @_;
    my $socket = IO::Socket::INET->new($ENV{BACK}) or die $!;
    syswrite $socket, "GET $path/$number HTTP/1.1\r\nHost: $ENV{BACK}\r\nConnection: close\r\n\r\n";
    follow($socket, $then);
}

sub serve {
    my ($client, $path) = @_;
    call($path, 0, sub {
        call($path, 1, sub {
            return unless exists $text{$client};  # it has gone
            syswrite $client, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        });
    });
}

while (1) {
    for my $socket ($waiting->can_read) {
        if ($socket == $server) {
            follow(scalar $server->accept, sub {});
            next;
        }
        next unless exists $text{$socket};
        my $then = $ended{$socket};
        if (!sysread $socket, $text{$socket}, 65536, length $text{$socket}) {
            forget($socket);
            $then->();
        } elsif ($text{$socket} =~ s{^GET (\S+) .*?\r\n\r\n}{}s) {
            serve($socket, $1);
        }
    }
}
