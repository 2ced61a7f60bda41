targets.o: preload/session/targets.cc preload/os/old_glibc.h \
  preload/os/address.h core/protocol/lane_memory.h core/hash.h \
  core/index/frame_rules.h core/index/masks.h \
  preload/os/open_descriptors.h preload/os/raw_syscall.h \
  preload/rpc/agent.h core/protocol/control_page.h \
  core/protocol/events.h core/rpc/protocol.h core/protocol/messages.h \
  core/protocol/relay.h core/http2/frame.h core/rpc/header_field.h \
  preload/rpc/attempts.h preload/rpc/request_head.h \
  core/http1/message_parser.h core/rpc/request_ids.h core/text/ascii.h \
  core/http2/message_head.h core/http2/header_block.h core/http2/arena.h \
  preload/rpc/plan.h preload/session/state.h core/protocol/ring.h \
  preload/os/clock.h preload/rpc/causality.h preload/runtimes/task.h \
  preload/runtimes/stack.h

preload/os/old_glibc.h:

preload/os/address.h:

core/protocol/lane_memory.h:

core/hash.h:

core/index/frame_rules.h:

core/index/masks.h:

preload/os/open_descriptors.h:

preload/os/raw_syscall.h:

preload/rpc/agent.h:

core/protocol/control_page.h:

core/protocol/events.h:

core/rpc/protocol.h:

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

preload/rpc/plan.h:

preload/session/state.h:

core/protocol/ring.h:

preload/os/clock.h:

preload/rpc/causality.h:

preload/runtimes/task.h:

preload/runtimes/stack.h:
