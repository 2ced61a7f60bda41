#include "daemon/retries/aftermath.h"

#include <algorithm>

#include "core/fault/fault.h"
#include "daemon/model/call_name.h"
#include "daemon/retries/effects.h"

namespace filibuster::retries {
namespace {

struct Library {
  std::string_view frame;  // a part of the file of its frames
  std::string_view says;
};
// By the documentation of each: Boto3's guide 'Retries', the AWS SDK for JavaScript's developer guides (v2 'maxRetries', v3 'maxAttempts'),
// the references of azure-core, azure-storage-blob and @azure/storage-blob.
constexpr Library kLibraries[] = {
    {"/botocore/",
     "botocore calls again by itself: 5 attempts in all by default (10 of DynamoDB; 3 in the mode 'standard'); "
     "Config(retries={...}) sets it"},
    {"/@smithy/",
     "the AWS SDK for JavaScript v3 calls again by itself: 3 attempts in all by default; 'maxAttempts' sets it"},
    {"/@aws-sdk/",
     "the AWS SDK for JavaScript v3 calls again by itself: 3 attempts in all by default; 'maxAttempts' sets it"},
    {"/aws-sdk/lib/",
     "the AWS SDK for JavaScript v2 calls again by itself: 3 retries by default (10 of DynamoDB); 'maxRetries' sets "
     "it"},
    {"/azure/storage/",
     "azure-storage calls again by itself: 3 retries by default; 'retry_total' and 'retry_policy' of the client set it"},
    {"/azure/core/",
     "azure-core calls again by itself: 10 retries by default; 'retry_total' of the client sets it"},
    {"/@azure/storage-",
     "@azure/storage calls again by itself: 4 attempts in all by default; 'retryOptions.maxTries' sets it"},
    {"/@azure/",
     "the Azure SDK for JavaScript calls again by itself: 3 retries by default; 'retryOptions.maxRetries' sets it"},
};

std::string line_of(const RpcRecord& rpc, size_t attempt) {
  std::string out = rpc.caller + " -> " + rpc.service + " " + name_of_call(rpc);
  if (attempt > 1) out += ", attempt " + std::to_string(attempt);
  return out + ": " + (rpc.injected ? to_text(rpc.fault) + " (injected)" : ending_name(rpc));
}

}  // namespace

std::vector<std::string> calls_since(const ExecutionRecord& record, const RetryGroup& faulted) {
  const uint64_t began = record.rpcs[faulted.rpcs.front()].issued_ns;
  std::vector<size_t> since;
  for (size_t i = 0; i < record.rpcs.size(); ++i) {
    const RpcRecord& rpc = record.rpcs[i];
    if (rpc.issued_ns >= began && (rpc.flags & kRpcLate) == 0) since.push_back(i);
  }
  std::stable_sort(since.begin(), since.end(), [&](size_t a, size_t b) {
    return record.rpcs[a].issued_ns < record.rpcs[b].issued_ns;
  });
  std::vector<std::string> out;
  for (const size_t at : since) {
    if (out.size() == kMostCalls) {
      out.push_back("and " + std::to_string(since.size() - kMostCalls) + " more");
      break;
    }
    const auto attempt = std::find(faulted.rpcs.begin(), faulted.rpcs.end(), at);
    out.push_back(
        line_of(record.rpcs[at], attempt == faulted.rpcs.end()
                                     ? 0
                                     : static_cast<size_t>(attempt - faulted.rpcs.begin()) + 1));
  }
  return out;
}

std::string_view said_of_retries(const ExecutionRecord& record, const RetryGroup& faulted) {
  if (faulted.retried_by != RetriedBy::kLibrary) return "";
  const std::vector<std::string>& frames = record.rpcs[faulted.rpcs.front()].stack_text;
  for (const Library& library : kLibraries) {
    const auto is_its = [&](const std::string& frame) {
      return frame.find(library.frame) != std::string::npos;
    };
    if (std::any_of(frames.begin(), frames.end(), is_its) || is_its(faulted.shared_frame) ||
        is_its(faulted.first_frame) || is_its(faulted.second_frame))
      return library.says;
  }
  return "";
}

}  // namespace filibuster::retries
