# A server of Ruby with a thread for each connection: server.rb PORT. For GET /NAME it calls BACK/NAME/0 and then BACK/NAME/1.
require 'net/http'

server = TCPServer.new('127.0.0.1', ARGV[0].to_i)
loop do
  Thread.new(server.accept) do |connection|
    path = connection.gets.split[1]
    nil until connection.gets == "\r\n"
    2.times { |number| Net::HTTP.get(URI("http://#{ENV['BACK']}#{path}/#{number}")) }
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    connection.close
  end
end
