tasks.o: preload/runtimes/jvm/tasks.cc preload/os/old_glibc.h \
  preload/runtimes/jvm/tasks.h core/rpc/header_field.h core/hash.h \
  preload/interpose.h preload/rpc/agent.h core/protocol/control_page.h \
  core/protocol/events.h core/rpc/protocol.h core/protocol/lane_memory.h \
  core/index/frame_rules.h core/index/masks.h core/protocol/messages.h \
  core/protocol/relay.h core/http2/frame.h preload/rpc/attempts.h \
  preload/rpc/request_head.h core/http1/message_parser.h \
  core/rpc/request_ids.h core/text/ascii.h core/http2/message_head.h \
  core/http2/header_block.h core/http2/arena.h \
  preload/runtimes/jvm/stack.h preload/runtimes/reader.h \
  preload/runtimes/task.h preload/runtimes/stack.h \
  preload/session/state.h core/protocol/ring.h preload/os/clock.h \
  preload/os/raw_syscall.h preload/rpc/causality.h

preload/os/old_glibc.h:

preload/runtimes/jvm/tasks.h:

core/rpc/header_field.h:

core/hash.h:

preload/interpose.h:

preload/rpc/agent.h:

core/protocol/control_page.h:

core/protocol/events.h:

core/rpc/protocol.h:

core/protocol/lane_memory.h:

core/index/frame_rules.h:

core/index/masks.h:

core/protocol/messages.h:

core/protocol/relay.h:

core/http2/frame.h:

preload/rpc/attempts.h:

preload/rpc/request_head.h:

core/http1/message_parser.h:

core/rpc/request_ids.h:

core/text/ascii.h:

core/http2/message_head.h:

core/http2/header_block.h:

core/http2/arena.h:

preload/runtimes/jvm/stack.h:

preload/runtimes/reader.h:

preload/runtimes/task.h:

preload/runtimes/stack.h:

preload/session/state.h:

core/protocol/ring.h:

preload/os/clock.h:

preload/os/raw_syscall.h:

preload/rpc/causality.h:
