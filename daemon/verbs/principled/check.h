// What is wrong with stubs and with the statements of structured tests, before anything is started.
#pragma once

#include <memory>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/descriptors/descriptor_set.h"
#include "daemon/principled/statements.h"

namespace filibuster {

// Reads stubs by the configuration, which declares their services, and keys by the descriptors: they complete requests, and know which
// methods there are. `descriptors`: null leaves methods of gRPC unchecked. `config` outlives the readers.
principled::Statements::Readers statement_readers(const Config& config,
                                                  std::shared_ptr<const DescriptorSet> descriptors);

// The statements of tests whose blocks stand in the configuration, each as an execution would read it. Lines are known, and columns are not.
std::vector<ConfigError> check_statements(const Config& config,
                                          const std::shared_ptr<const DescriptorSet>& descriptors);

}  // namespace filibuster
