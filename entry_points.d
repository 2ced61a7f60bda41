entry_points.o: preload/runtimes/entry_points.cc preload/os/old_glibc.h \
  preload/interpose.h preload/rpc/agent.h core/hash.h \
  core/protocol/control_page.h core/protocol/events.h \
  core/rpc/protocol.h core/protocol/lane_memory.h \
  core/index/frame_rules.h core/index/masks.h core/protocol/messages.h \
  core/protocol/relay.h core/http2/frame.h core/rpc/header_field.h \
  preload/rpc/attempts.h preload/rpc/request_head.h \
  core/http1/message_parser.h core/rpc/request_ids.h core/text/ascii.h \
  core/http2/message_head.h core/http2/header_block.h core/http2/arena.h \
  preload/runtimes/task.h preload/runtimes/stack.h

preload/os/old_glibc.h:

preload/interpose.h:

preload/rpc/agent.h:

core/hash.h:

core/protocol/control_page.h:

core/protocol/events.h:

core/rpc/protocol.h:

core/protocol/lane_memory.h:

core/index/frame_rules.h:

core/index/masks.h:

core/protocol/messages.h:

core/protocol/relay.h:

core/http2/frame.h:

core/rpc/header_field.h:

preload/rpc/attempts.h:

preload/rpc/request_head.h:

core/http1/message_parser.h:

core/rpc/request_ids.h:

core/text/ascii.h:

core/http2/message_head.h:

core/http2/header_block.h:

core/http2/arena.h:

preload/runtimes/task.h:

preload/runtimes/stack.h:
