#include "daemon/retries/answer_templates.h"

#include <algorithm>

#include "core/fault/reason_phrases.h"
#include "core/text/ascii.h"

namespace filibuster::retries {
namespace {

// Rows are asked in order; what is specific comes first. Sources: "Common REST API error codes" of Azure Storage,
// "Error responses" of Amazon S3, the query and JSON protocols of AWS (Smithy), RFC 9457.
constexpr AnswerTemplate kTemplates[] = {
    {.name = "grpc",
     .hosts = "",
     .request_fields = "",
     .answer_fields = "",
     .answer_begins = "",
     .content_type = "",
     .headers = "",
     .body = "",
     .grpc = true},
    {.name = "azure-table",
     .hosts = ".table.core.windows.net",
     .request_fields = "dataserviceversion maxdataserviceversion",
     .answer_fields = "dataserviceversion",
     .answer_begins = "",
     .content_type = "application/json;odata=minimalmetadata;charset=utf-8",
     .headers = "x-ms-version: 2021-12-02\nx-ms-error-code: ServerBusy",
     .body =
         R"({"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"The server is )"
         R"(currently unable to receive requests. Please retry your request."}}})"},
    // A table takes and gives JSON, which blobs and queues do not.
    {.name = "azure-table",
     .hosts = "",
     .request_fields = "x-ms-client-request-id",
     .answer_fields = "x-ms-request-id",
     .answer_begins = "{",
     .content_type = "application/json;odata=minimalmetadata;charset=utf-8",
     .headers = "x-ms-version: 2021-12-02\nx-ms-error-code: ServerBusy",
     .body =
         R"({"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"The server is )"
         R"(currently unable to receive requests. Please retry your request."}}})"},
    {.name = "azure-storage",
     .hosts = ".blob.core.windows.net .queue.core.windows.net .file.core.windows.net "
              ".dfs.core.windows.net",
     .request_fields = "x-ms-client-request-id x-ms-version x-ms-date",
     .answer_fields = "x-ms-request-id x-ms-version x-ms-error-code",
     .answer_begins = "",
     .content_type = "application/xml",
     .headers = "x-ms-version: 2021-12-02\nx-ms-error-code: ServerBusy",
     .body = "<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>ServerBusy</Code><Message>The "
             "server is currently unable to receive requests. Please retry your "
             "request.</Message></Error>"},
    {.name = "aws-json",
     .hosts = "",
     .request_fields = "x-amz-target",
     .answer_fields = "x-amz-crc32",
     .answer_begins = "",
     .content_type = "application/x-amz-json-1.0",
     .headers = "x-amzn-ErrorType: ServiceUnavailableException",
     .body = R"({"__type":"ServiceUnavailableException","message":"The service is temporarily )"
             R"(unavailable. Please retry."})"},
    {.name = "aws-json",
     .hosts = ".amazonaws.com",
     .request_fields = "amz-sdk-invocation-id amz-sdk-request",
     .answer_fields = "x-amzn-requestid",
     .answer_begins = "{",
     .content_type = "application/x-amz-json-1.0",
     .headers = "x-amzn-ErrorType: ServiceUnavailableException",
     .body = R"({"__type":"ServiceUnavailableException","message":"The service is temporarily )"
             R"(unavailable. Please retry."})"},
    {.name = "aws-s3",
     .hosts = ".amazonaws.com",
     .request_fields = "amz-sdk-invocation-id amz-sdk-request x-amz-content-sha256",
     .answer_fields = "x-amz-request-id x-amz-id-2",
     .answer_begins = "",
     .content_type = "application/xml",
     .headers = "",
     .body =
         "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>SlowDown</Code><Message>Please "
         "reduce your request rate.</Message></Error>"},
    {.name = "problem",  // RFC 9457
     .hosts = "",
     .request_fields = "",
     .answer_fields = "",
     .answer_begins = "{",
     .content_type = "application/problem+json",
     .headers = "",
     .body = R"({"type":"about:blank","title":"{title}","status":{status}})"},
    {.name = "problem",
     .hosts = "",
     .request_fields = "",
     .answer_fields = "",
     .answer_begins = "[",
     .content_type = "application/problem+json",
     .headers = "",
     .body = R"({"type":"about:blank","title":"{title}","status":{status}})"},
};

template <typename Is>
bool any_word(std::string_view words, Is is) {
  while (!words.empty()) {
    const size_t end = words.find(' ');
    if (is(words.substr(0, end))) return true;
    words = end == words.npos ? std::string_view() : words.substr(end + 1);
  }
  return false;
}

bool has_sign(const AnswerTemplate& row, const ServiceSigns& signs) {
  if (row.hosts.empty() && row.request_fields.empty() && row.answer_fields.empty()) return true;
  return any_word(row.hosts,
                  [&](std::string_view ending) { return signs.host.ends_with(ending); }) ||
         any_word(row.request_fields,
                  [&](std::string_view name) {
                    return std::find(signs.request_fields.begin(), signs.request_fields.end(),
                                     name) != signs.request_fields.end();
                  }) ||
         any_word(row.answer_fields, [&](std::string_view name) {
           return std::any_of(signs.answer_fields.begin(), signs.answer_fields.end(),
                              [&](const auto& field) { return field.first == name; });
         });
}

bool is_of(const AnswerTemplate& row, const ServiceSigns& signs) {
  if (row.grpc != signs.grpc) return false;
  const std::string& sample =
      signs.answer_sample.empty() ? signs.request_sample : signs.answer_sample;
  if (!row.answer_begins.empty() && !sample.starts_with(row.answer_begins)) return false;
  return has_sign(row, signs);
}

void fill_in(std::string* text, std::string_view name, std::string_view value) {
  for (size_t at = text->find(name); at != std::string::npos; at = text->find(name, at))
    text->replace(at, name.size(), value);
}

// What stands between two texts; "": they are not there.
std::string between(const std::string& text, std::string_view before, std::string_view after) {
  const size_t at = text.find(before);
  if (at == std::string::npos) return "";
  const size_t begin = at + before.size();
  const size_t end = text.find(after, begin);
  return end == std::string::npos ? "" : text.substr(begin, end - begin);
}

// `row`: nullptr leaves the outcome as it is.
FaultSpec as_row_says(const FaultSpec& outcome, const AnswerTemplate* row) {
  if (row == nullptr || outcome.kind != FaultKind::kStatus || !outcome.body.empty() ||
      !outcome.headers.empty())
    return outcome;
  FaultSpec out = outcome;
  if (row->grpc) {
    out = {};
    out.kind = FaultKind::kGrpc;
    out.code = grpc::Code::kUnavailable;
    out.after_effect = outcome.after_effect;
    return out;
  }
  out.body = row->body;
  fill_in(&out.body, "{status}", std::to_string(outcome.status));
  const std::string_view title = reason_phrase(outcome.status);
  fill_in(&out.body, "{title}", title.empty() ? "Error" : title);
  out.headers.emplace_back("Content-Type", row->content_type);
  std::string_view lines = row->headers;
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    const size_t colon = line.find(": ");
    out.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    lines = end == lines.npos ? std::string_view() : lines.substr(end + 1);
  }
  return out;
}

}  // namespace

std::span<const AnswerTemplate> answer_templates() {
  return kTemplates;
}

ServiceSigns signs_of(const RpcRecord& rpc) {
  ServiceSigns signs;
  signs.host = rpc.service;
  std::transform(signs.host.begin(), signs.host.end(), signs.host.begin(), to_lower);
  if (!rpc.request_id_name.empty()) signs.request_fields.push_back(rpc.request_id_name);
  for (const auto& field : rpc.told) signs.request_fields.push_back(field.first);
  if (!rpc.answered_with_error()) signs.answer_sample = rpc.response_sample;
  signs.request_sample = rpc.body_sample;
  signs.grpc = rpc.is_grpc();
  return signs;
}

const AnswerTemplate* template_for(const ServiceSigns& signs) {
  const auto row = std::find_if(std::begin(kTemplates), std::end(kTemplates),
                                [&](const AnswerTemplate& one) { return is_of(one, signs); });
  return row == std::end(kTemplates) ? nullptr : &*row;
}

FaultSpec as_service_says(const FaultSpec& outcome, const ServiceSigns& signs) {
  return as_row_says(outcome, template_for(signs));
}

FaultSpec attempts_as_template_says(const FaultSpec& attempts, std::string_view name) {
  const auto row = std::find_if(std::begin(kTemplates), std::end(kTemplates),
                                [&](const AnswerTemplate& one) { return one.name == name; });
  if (row == std::end(kTemplates)) return attempts;
  if (attempts.kind != FaultKind::kAttempts) return as_row_says(attempts, &*row);
  FaultSpec out = attempts;
  for (AttemptRule& rule : out.attempts.rules) rule.outcome = as_row_says(rule.outcome, &*row);
  return out;
}

FaultSpec attempts_as_service_says(const FaultSpec& attempts, const ServiceSigns& signs) {
  if (attempts.kind != FaultKind::kAttempts) return as_service_says(attempts, signs);
  FaultSpec out = attempts;
  for (AttemptRule& rule : out.attempts.rules) rule.outcome = as_service_says(rule.outcome, signs);
  return out;
}

std::string error_code_of(const FaultSpec& outcome) {
  if (outcome.kind == FaultKind::kGrpc) return std::string(grpc::to_name(outcome.code));
  if (outcome.kind == FaultKind::kRedis) return outcome.reply;
  for (const auto& [before, after] : {std::pair<std::string_view, std::string_view>{"<Code>", "<"},
                                      {"\"__type\":\"", "\""},
                                      {"\"code\":\"", "\""}}) {
    if (std::string code = between(outcome.body, before, after); !code.empty()) return code;
  }
  return "";
}

}  // namespace filibuster::retries
