// What a service says when it is busy for a moment: its own error document, as data. A client library that reads the
// document, and an application that reads its code, must not be shown an error that the service would never send.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fault/fault.h"
#include "daemon/model/execution_record.h"

namespace filibuster::retries {

// By what a service is recognised: an answer of it without a fault, and the request.
struct ServiceSigns {
  std::string host = {};  // as the client asked for it, without the port; lower case
  std::vector<std::string> request_fields = {};  // names of header fields, lower case
  std::vector<std::pair<std::string, std::string>> answer_fields = {};  // lower case names, values
  std::string answer_sample = {};                                       // the beginning of its body
  std::string request_sample = {};  // of the request's body; counts where the answer has none
  bool grpc = false;
};
// As far as a record says it: the service's name, the request id, the beginning of the body.
ServiceSigns signs_of(const RpcRecord& rpc);

struct AnswerTemplate {
  std::string_view name;  // "azure-table"
  // Each list is names or endings, separated by blanks; "": none. The host, a request field or an answer field that
  // a list names is a sign.
  std::string_view hosts, request_fields, answer_fields;
  // An answer must begin with this, too, if a body is known; "": any.
  std::string_view answer_begins;
  std::string_view content_type;
  std::string_view headers;  // "name: value" lines, beside Content-Type
  std::string_view body;     // {status}, {title} are filled in
  bool grpc = false;
};
std::span<const AnswerTemplate> answer_templates();

// The template of the service; nullptr: it is not known, so an error of it has no body.
const AnswerTemplate* template_for(const ServiceSigns& signs);

// `outcome` as that service would send it: body and header fields of an HTTP status that has none of its own; for gRPC a
// status UNAVAILABLE in the place of an HTTP status. All else stays as it is.
FaultSpec as_service_says(const FaultSpec& outcome, const ServiceSigns& signs);
// The same for each attempt of a sequence.
FaultSpec attempts_as_service_says(const FaultSpec& attempts, const ServiceSigns& signs);

// The same by the name of a template, for a replay. An unknown name leaves the sequence as it is.
FaultSpec attempts_as_template_says(const FaultSpec& attempts, std::string_view name);

// The code of the error in the document, "ServerBusy": by it a failure is recognised later. "": it has none.
std::string error_code_of(const FaultSpec& outcome);

}  // namespace filibuster::retries
