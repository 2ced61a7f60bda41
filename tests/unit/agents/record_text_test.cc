#include "daemon/agents/record_text.h"

#include <gtest/gtest.h>

#include <string>

#include "core/protocol/events.h"

namespace filibuster {
namespace {

TEST(RecordText, WhatAnAgentSaysOfAFaultTellsWhyThereIsNoConclusion) {
  EXPECT_EQ(cause_of(kConnectionEndedFirst), NoConclusion::kConnectionEnded);
  EXPECT_EQ(cause_of(kOpenedNoConnection), NoConclusion::kAtConnect);
  EXPECT_EQ(cause_of(kCheckNotReached), NoConclusion::kNoCertificateCheck);
  EXPECT_EQ(cause_of(kDoesNotCheck), NoConclusion::kNoCertificateCheck);
  EXPECT_EQ(cause_of(std::string(kPartWasSent) + ", and more"), NoConclusion::kCommandInParts);
  EXPECT_EQ(cause_of("nobody knows why"), NoConclusion::kOther);
}

}  // namespace
}  // namespace filibuster
