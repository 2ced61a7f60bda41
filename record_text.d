record_text.o: daemon/agents/record_text.cc daemon/agents/record_text.h \
  daemon/agents/execution_record.h core/fault/fault.h core/grpc/call.h \
  core/http2/frame.h core/result.h core/hash.h core/index/body_walker.h \
  core/index/masks.h core/protocol/events.h core/rpc/protocol.h \
  daemon/agents/no_conclusion.h daemon/base/fault_texts.h \
  daemon/agents/call_name.h daemon/agents/unmet_plan.h \
  daemon/agents/agent_hub.h core/index/frame_rules.h \
  daemon/agents/control_pages.h core/protocol/control_page.h \
  daemon/agents/door.h daemon/base/descriptors.h

daemon/agents/record_text.h:

daemon/agents/execution_record.h:

core/fault/fault.h:

core/grpc/call.h:

core/http2/frame.h:

core/result.h:

core/hash.h:

core/index/body_walker.h:

core/index/masks.h:

core/protocol/events.h:

core/rpc/protocol.h:

daemon/agents/no_conclusion.h:

daemon/base/fault_texts.h:

daemon/agents/call_name.h:

daemon/agents/unmet_plan.h:

daemon/agents/agent_hub.h:

core/index/frame_rules.h:

daemon/agents/control_pages.h:

core/protocol/control_page.h:

daemon/agents/door.h:

daemon/base/descriptors.h:
