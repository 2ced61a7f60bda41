suite_tester.o: daemon/session/suite_tester.cc \
  daemon/session/suite_tester.h daemon/explore/observation.h \
  daemon/agents/agent_hub.h core/index/frame_rules.h core/index/masks.h \
  core/hash.h core/result.h daemon/agents/control_pages.h \
  core/protocol/control_page.h daemon/agents/door.h \
  daemon/base/descriptors.h daemon/agents/execution_record.h \
  core/fault/fault.h core/grpc/call.h core/http2/frame.h \
  core/index/body_walker.h core/protocol/events.h core/rpc/protocol.h \
  daemon/agents/no_conclusion.h daemon/base/fault_texts.h \
  daemon/config/config.h core/index/execution_index.h \
  daemon/suite/runner.h daemon/explore/unstable_rpcs.h \
  daemon/report/finding.h daemon/base/phases.h daemon/report/baseline.h \
  daemon/report/fault_case.h daemon/report/observed.h \
  daemon/report/refusals.h daemon/report/tested.h \
  daemon/report/timeouts.h daemon/report/unexplained.h \
  daemon/report/variation.h daemon/search/search.h \
  daemon/search/journal.h daemon/store/store.h daemon/explore/test_run.h \
  daemon/explore/judgement.h daemon/lane/execution_runner.h \
  daemon/lane/services.h daemon/attach/attachment.h daemon/attach/find.h \
  daemon/attach/proc.h daemon/attach/loader.h daemon/process/process.h \
  daemon/process/session_lane.h daemon/process/ports.h \
  daemon/coverage/collector.h daemon/coverage/programs.h \
  daemon/coverage/report.h daemon/coverage/lines.h \
  daemon/lane/snapshot.h daemon/lane/running_test.h \
  daemon/lane/test_starter.h daemon/explore/suspects.h \
  daemon/lane/lane.h daemon/lane/lane_ports.h daemon/lane/lane_set.h \
  daemon/lane/service_descriptors.h daemon/descriptors/descriptor_set.h \
  daemon/retries/oracles.h daemon/retries/failure.h \
  daemon/retries/groups.h daemon/retries/suite_results.h \
  daemon/retries/clusters.h daemon/retries/coverage.h \
  daemon/retries/policies.h daemon/retries/answer_templates.h \
  daemon/session/request.h daemon/lint/lint.h \
  daemon/report/source_place.h daemon/report/representation.h \
  daemon/retries/plan_file.h core/text/ascii.h core/text/glob.h \
  daemon/agents/call_name.h daemon/agents/caller.h \
  daemon/explore/nondeterminism.h daemon/explore/rpc_matching.h \
  daemon/suite/junit_xml.h

daemon/session/suite_tester.h:

daemon/explore/observation.h:

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

daemon/config/config.h:

core/index/execution_index.h:

daemon/suite/runner.h:

daemon/explore/unstable_rpcs.h:

daemon/report/finding.h:

daemon/base/phases.h:

daemon/report/baseline.h:

daemon/report/fault_case.h:

daemon/report/observed.h:

daemon/report/refusals.h:

daemon/report/tested.h:

daemon/report/timeouts.h:

daemon/report/unexplained.h:

daemon/report/variation.h:

daemon/search/search.h:

daemon/search/journal.h:

daemon/store/store.h:

daemon/explore/test_run.h:

daemon/explore/judgement.h:

daemon/lane/execution_runner.h:

daemon/lane/services.h:

daemon/attach/attachment.h:

daemon/attach/find.h:

daemon/attach/proc.h:

daemon/attach/loader.h:

daemon/process/process.h:

daemon/process/session_lane.h:

daemon/process/ports.h:

daemon/coverage/collector.h:

daemon/coverage/programs.h:

daemon/coverage/report.h:

daemon/coverage/lines.h:

daemon/lane/snapshot.h:

daemon/lane/running_test.h:

daemon/lane/test_starter.h:

daemon/explore/suspects.h:

daemon/lane/lane.h:

daemon/lane/lane_ports.h:

daemon/lane/lane_set.h:

daemon/lane/service_descriptors.h:

daemon/descriptors/descriptor_set.h:

daemon/retries/oracles.h:

daemon/retries/failure.h:

daemon/retries/groups.h:

daemon/retries/suite_results.h:

daemon/retries/clusters.h:

daemon/retries/coverage.h:

daemon/retries/policies.h:

daemon/retries/answer_templates.h:

daemon/session/request.h:

daemon/lint/lint.h:

daemon/report/source_place.h:

daemon/report/representation.h:

daemon/retries/plan_file.h:

core/text/ascii.h:

core/text/glob.h:

daemon/agents/call_name.h:

daemon/agents/caller.h:

daemon/explore/nondeterminism.h:

daemon/explore/rpc_matching.h:

daemon/suite/junit_xml.h:
