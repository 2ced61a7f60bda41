agent_hub.o: daemon/agents/agent_hub.cc daemon/agents/agent_hub.h \
  core/index/frame_rules.h core/index/masks.h core/hash.h core/result.h \
  daemon/agents/control_pages.h core/protocol/control_page.h \
  daemon/agents/door.h daemon/base/descriptors.h \
  daemon/agents/execution_record.h core/fault/fault.h core/grpc/call.h \
  core/http2/frame.h core/index/body_walker.h core/protocol/events.h \
  core/rpc/protocol.h daemon/agents/no_conclusion.h \
  daemon/base/fault_texts.h daemon/agents/connected_agents.h \
  daemon/agents/lane_writer.h core/protocol/lane_memory.h \
  daemon/agents/recorder.h daemon/agents/ring_reader.h \
  core/protocol/ring.h daemon/agents/rpc_memory.h \
  daemon/agents/unmet_plan.h daemon/agents/registration.h \
  core/protocol/messages.h core/protocol/relay.h \
  daemon/agents/hand_offs.h daemon/agents/finisher.h \
  daemon/agents/late_passages.h daemon/relay/relays.h \
  daemon/relay/relay.h core/http2/header_block.h core/http2/arena.h \
  core/http2/insertion.h core/http2/frame_parser.h \
  daemon/relay/byte_queue.h daemon/relay/faulted_stream.h \
  daemon/relay/changed_answer.h core/grpc/message_reader.h \
  daemon/relay/frame_path.h daemon/agents/pulse.h \
  daemon/agents/symbolize.h daemon/agents/target_table.h

daemon/agents/agent_hub.h:

core/index/frame_rules.h:

core/index/masks.h:

core/hash.h:

core/result.h:

daemon/agents/control_pages.h:

core/protocol/control_page.h:

daemon/agents/door.h:

daemon/base/descriptors.h:

daemon/agents/execution_record.h:

core/fault/fault.h:

core/grpc/call.h:

core/http2/frame.h:

core/index/body_walker.h:

core/protocol/events.h:

core/rpc/protocol.h:

daemon/agents/no_conclusion.h:

daemon/base/fault_texts.h:

daemon/agents/connected_agents.h:

daemon/agents/lane_writer.h:

core/protocol/lane_memory.h:

daemon/agents/recorder.h:

daemon/agents/ring_reader.h:

core/protocol/ring.h:

daemon/agents/rpc_memory.h:

daemon/agents/unmet_plan.h:

daemon/agents/registration.h:

core/protocol/messages.h:

core/protocol/relay.h:

daemon/agents/hand_offs.h:

daemon/agents/finisher.h:

daemon/agents/late_passages.h:

daemon/relay/relays.h:

daemon/relay/relay.h:

core/http2/header_block.h:

core/http2/arena.h:

core/http2/insertion.h:

core/http2/frame_parser.h:

daemon/relay/byte_queue.h:

daemon/relay/faulted_stream.h:

daemon/relay/changed_answer.h:

core/grpc/message_reader.h:

daemon/relay/frame_path.h:

daemon/agents/pulse.h:

daemon/agents/symbolize.h:

daemon/agents/target_table.h:
