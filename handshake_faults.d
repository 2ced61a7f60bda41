handshake_faults.o: preload/stream/handshake_faults.cc \
  preload/os/old_glibc.h preload/stream/handshake_faults.h \
  core/fault/fault.h core/grpc/call.h core/http2/frame.h core/result.h \
  preload/stream/connection.h core/pieces.h preload/rpc/agent.h \
  core/hash.h core/protocol/control_page.h core/protocol/events.h \
  core/rpc/protocol.h core/protocol/lane_memory.h \
  core/index/frame_rules.h core/index/masks.h core/protocol/messages.h \
  core/protocol/relay.h core/rpc/header_field.h preload/rpc/attempts.h \
  preload/rpc/request_head.h core/http1/message_parser.h \
  core/rpc/request_ids.h core/text/ascii.h core/http2/message_head.h \
  core/http2/header_block.h core/http2/arena.h \
  preload/stream/connection_state.h preload/stream/protocol.h \
  preload/stream/transport.h preload/inject/plain_end.h \
  core/tls/records.h preload/stream/edited_stream.h \
  preload/stream/wire.h preload/os/clock.h preload/os/raw_syscall.h \
  preload/stream/delivery.h

preload/os/old_glibc.h:

preload/stream/handshake_faults.h:

core/fault/fault.h:

core/grpc/call.h:

core/http2/frame.h:

core/result.h:

preload/stream/connection.h:

core/pieces.h:

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

core/rpc/header_field.h:

preload/rpc/attempts.h:

preload/rpc/request_head.h:

core/http1/message_parser.h:

core/rpc/request_ids.h:

core/text/ascii.h:

core/http2/message_head.h:

core/http2/header_block.h:

core/http2/arena.h:

preload/stream/connection_state.h:

preload/stream/protocol.h:

preload/stream/transport.h:

preload/inject/plain_end.h:

core/tls/records.h:

preload/stream/edited_stream.h:

preload/stream/wire.h:

preload/os/clock.h:

preload/os/raw_syscall.h:

preload/stream/delivery.h:
