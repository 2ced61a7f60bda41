# What Filibuster does inside a Ruby program: carries 'which incoming request causes this' to threads and fibers. Compiled into
# the library and run once, when a session is there. Native (helper.cc):
#   task          the context that what begins now inherits, as a text; "": not known
#   fiber         the number of a fiber that begins now, which inherits the context; 0: there is nothing to inherit
#   swap(task)    sets the context of this fiber or thread; returns the one before
#   waits         this thread waits to be handed something: from then on it may work for others
#   threads, fibers   what was made and does not run yet: object -> context, or number. The library empties them.
module FilibusterRuntime
  module Threads
    def initialize(*)
      task = FilibusterRuntime.task
      FilibusterRuntime.threads[self] = task unless task.empty?
      super
    end
    ruby2_keywords :initialize
  end

  # Thread.start makes and begins a thread in one step.
  module Starts
    %i[start fork].each do |name|
      define_method(name) do |*arguments, &block|
        task = block ? FilibusterRuntime.task : ''
        next super(*arguments, &block) if task.empty?
        super(*arguments) { |*given| FilibusterRuntime.swap(task); block.call(*given) }
      end
    end
  end

  module Fibers
    def initialize(*)
      number = FilibusterRuntime.fiber
      FilibusterRuntime.fibers[self] = number unless number.zero?
      super
    end
    ruby2_keywords :initialize
  end

  module Queues
    %i[pop shift deq].each do |name|
      define_method(name) do |*arguments, **options|
        FilibusterRuntime.waits
        super(*arguments, **options)
      end
    end
  end

  module Conditions
    def wait(*)
      FilibusterRuntime.waits
      super
    end
  end

  # The next request of a connection that is kept is read on another thread than the one that serves it.
  module PumaServer
    def handle_request(client, *)
      field = client.env['HTTP_X_FILIBUSTER']
      return super if field.nil?
      before = FilibusterRuntime.swap(field)
      begin
        super
      ensure
        FilibusterRuntime.swap(before)
      end
    end
  end

  class << self
    attr_reader :threads, :fibers
  end
  @threads = {}.compare_by_identity
  @fibers = {}.compare_by_identity

  ::Thread.prepend(Threads)
  ::Thread.singleton_class.prepend(Starts)
  ::Fiber.prepend(Fibers)
  ::Thread::Queue.prepend(Queues)
  ::Thread::SizedQueue.prepend(Queues)
  ::Thread::ConditionVariable.prepend(Conditions)
  ::Puma::Server.prepend(PumaServer) if defined?(::Puma::Server)
end
