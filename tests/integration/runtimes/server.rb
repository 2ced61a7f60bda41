# server.py's service for Ruby: server.rb SERVER CLIENT PORT BACK. SERVER: ruby-threads (one for each connection), ruby-async (a fiber
# for each, by the gem `async`), puma. CLIENT: net-http, thread (each call on a thread of its own), start (the same by
# Thread.start), fiber (in a fiber of its own), tasks (in a fiber of the gem), workers (threads that take calls from a queue).
require 'net/http'
require 'socket'
require 'uri'

SERVER, CLIENT, PORT, BACK = ARGV
OWN = "http://127.0.0.1:#{PORT}"
KINDS = %i[get one two].freeze
BODY = 'name=value&' * 20

# Gives a body in a write of its own.
def get(url, kind)
  uri = URI(url)
  Net::HTTP.start(uri.host, uri.port) do |http|
    http.read_timeout = 60
    request = kind == :get ? Net::HTTP::Get.new(uri) : Net::HTTP::Post.new(uri)
    request.body = BODY unless kind == :get
    response = http.request(request)
    raise url unless response.code == '200'
  end
end

QUEUE = Queue.new
WORKERS = []

def workers
  # The first request starts them. They serve all.
  8.times { WORKERS << Thread.new { loop { url, kind, done = QUEUE.pop; get(url, kind); done << 1 } } } if WORKERS.empty?
end

def call(url, kind)
  case CLIENT
  when 'net-http' then get(url, kind)
  when 'thread' then Thread.new(url) { |given| get(given, kind) }.join
  when 'start' then Thread.start(url) { |given| get(given, kind) }.join
  when 'fiber' then Fiber.new(blocking: true) { get(url, kind) }.resume
  when 'tasks' then Async { Async { get(url, kind) }.wait }.wait
  when 'workers'
    workers
    QUEUE << [url, kind, done = Queue.new]
    done.pop
  end
end

def serve(path)
  urls = path.end_with?('/self') ? ["#{BACK}#{path}/0"] : ["#{BACK}#{path}/0", "#{OWN}#{path}/self", "#{BACK}#{path}/1"]
  first = path.scan(/\d+/).sum(&:to_i)
  urls.each_with_index { |url, n| call(url, KINDS[(first + n) % 3]) }
end

def converse(connection)
  while (line = connection.gets)
    length = 0
    while (field = connection.gets) && field != "\r\n"
      length = field.split(':')[1].to_i if field.downcase.start_with?('content-length:')
    end
    connection.read(length) if length.positive?
    path = line.split[1]
    serve(path)
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: #{path.size}\r\n\r\n#{path}")
  end
ensure
  connection.close
end

def background
  (0..).each do |number|
    begin
      get("#{BACK}/background/#{number}", :get)
    rescue StandardError
      nil
    end
    sleep 0.005
  end
end

case SERVER
when 'ruby-threads'
  server = TCPServer.new('127.0.0.1', PORT.to_i)
  Thread.new { background }
  loop { Thread.new(server.accept) { |connection| converse(connection) } }
when 'ruby-async'
  require 'async'
  Async do
    server = TCPServer.new('127.0.0.1', PORT.to_i)
    Async { background }
    loop { connection = server.accept; Async { converse(connection) } }
  end
when 'puma'
  require 'puma'
  require 'puma/configuration'
  require 'puma/launcher'
  application = lambda do |env|
    serve(env['PATH_INFO'])
    [200, { 'content-length' => env['PATH_INFO'].size.to_s }, [env['PATH_INFO']]]
  end
  configuration = Puma::Configuration.new do |config|
    config.bind "tcp://127.0.0.1:#{PORT}"
    config.threads 24, 24
    config.app application
    config.quiet
  end
  launcher = Puma::Launcher.new(configuration)
  launcher.events.on_booted { Thread.new { background } }
  launcher.run
end
