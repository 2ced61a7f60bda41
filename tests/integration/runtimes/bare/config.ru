# An application of Rack: for GET /NAME it calls BACK/NAME/0 and then BACK/NAME/1.
require 'net/http'

run(lambda do |environment|
  2.times { |number| Net::HTTP.get(URI("http://#{ENV['BACK']}#{environment['PATH_INFO']}/#{number}")) }
  [200, { 'content-length' => '0' }, []]
end)
