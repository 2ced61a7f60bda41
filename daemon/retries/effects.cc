#include "daemon/retries/effects.h"

#include <algorithm>
#include <string_view>

#include "core/index/execution_index.h"
#include "core/text/ascii.h"
#include "core/text/glob.h"
#include "daemon/model/call_name.h"

namespace filibuster::retries {
namespace {

// Operations that are called by their names: AWS' JSON protocols and its query protocol. The first row that matches
// decides, and an operation without a row writes. Names are those of the services' API references.
struct NamedRow {
  std::string_view names;  // globs, separated by blanks
  std::string_view body;   // a glob over the beginning of the body; "": any
  Effect effect;
};
constexpr NamedRow kNamed[] = {
    // They take messages and tasks, which are given out again where nothing is heard of them.
    {"ReceiveMessage GetActivityTask PollFor*", "", Effect::kRepeatable},
    {"Get* List* Describe* BatchGet* BatchDescribe* Query Scan TransactGetItems SubscribeToShard "
     "Search* Select* LookupEvents FilterLogEvents CheckIfPhoneNumberIsOptedOut",
     "", Effect::kRead},
    // Security tokens and cryptography: nothing is kept.
    {"AssumeRole* DecodeAuthorizationMessage Encrypt Decrypt ReEncrypt Sign Verify VerifyMac "
     "GenerateDataKey* GenerateMac GenerateRandom",
     "", Effect::kRead},
    {"ExecuteStatement", "*\"Statement\":*\"SELECT *", Effect::kRead},
    {"ExecuteStatement", "*\"Statement\":*\"select *", Effect::kRead},
    // The server does one token, or one message of a FIFO queue or topic, once.
    {"*", "*lientRequestToken*", Effect::kRepeatable},
    {"*", "*lientToken*", Effect::kRepeatable},
    {"SendMessage* Publish*", "*MessageDeduplicationId*", Effect::kRepeatable},
    {"SendMessage* Publish*", "*.fifo\"*", Effect::kRepeatable},
    {"SendMessage* Publish*", "*.fifo&*", Effect::kRepeatable},
    {"PutItem DeleteItem BatchWriteItem CreateTable UpdateTable UpdateTimeToLive", "",
     Effect::kRepeatable},
    // An update of DynamoDB that counts, or adds to a list or a set, and one that only sets or removes. The quotation mark
    // behind the expression tells that all of it is known.
    {"UpdateItem", "*+*", Effect::kWrite},
    {"UpdateItem", "* - *", Effect::kWrite},
    {"UpdateItem", "*-:*", Effect::kWrite},
    {"UpdateItem", "*-#*", Effect::kWrite},
    {"UpdateItem", "*list_append*", Effect::kWrite},
    {"UpdateItem", "*ADD *", Effect::kWrite},
    {"UpdateItem", "* add *", Effect::kWrite},
    {"UpdateItem", "*\"UpdateExpression\":*\"SET *\"*", Effect::kRepeatable},
    {"UpdateItem", "*\"UpdateExpression\":*\"set *\"*", Effect::kRepeatable},
    {"UpdateItem", "*\"UpdateExpression\":*\"REMOVE *\"*", Effect::kRepeatable},
    {"CreateQueue CreateTopic Subscribe Unsubscribe ChangeMessageVisibility*", "",
     Effect::kRepeatable},
    {"Delete* BatchDelete* Set* Tag* Untag* AddTags* RemoveTags* Put*Policy", "",
     Effect::kRepeatable},
};

enum Service : uint8_t {
  kS3 = 1u << 0,
  kAzureStorage = 1u << 1,
  kGoogleStorage = 1u << 2,
  kAnyService = 0,
};

// By what a request to a service is recognised: endings of hosts, and header fields.
struct ServiceRow {
  Service service;
  std::string_view hosts, fields;  // separated by blanks
};
constexpr ServiceRow kServices[] = {
    {kS3, ".amazonaws.com .amazonaws.com.cn", "x-amz-content-sha256 amz-sdk-invocation-id"},
    {kAzureStorage,
     ".blob.core.windows.net .queue.core.windows.net .table.core.windows.net "
     ".file.core.windows.net .dfs.core.windows.net",
     "x-ms-version x-ms-client-request-id"},
    {kGoogleStorage, "storage.googleapis.com", "x-goog-content-sha256"},
};

// Interfaces of resources. The first row that matches decides.
struct ResourceRow {
  uint8_t services;          // one of them; kAnyService: the path tells enough
  std::string_view methods;  // separated by blanks
  std::string_view path;     // a glob; "": any
  std::string_view query;    // a parameter, with its value if it is given here; "": any
  Effect effect;
};
constexpr ResourceRow kResources[] = {
    // Azure Blob, Queue, Table, File and Data Lake
    {kAzureStorage, "PUT", "", "comp=appendblock", Effect::kWrite},
    {kAzureStorage, "PUT", "", "comp=snapshot", Effect::kWrite},
    {kAzureStorage, "POST", "", "comp=query", Effect::kRead},
    {kAzureStorage, "POST", "", "comp=userdelegationkey", Effect::kRead},
    {kAzureStorage, "POST", "", "comp=batch", Effect::kRepeatable},  // deletions and access tiers
    {kAzureStorage, "GET", "*/messages", "peekonly=true", Effect::kRead},
    {kAzureStorage, "GET", "*/messages", "", Effect::kRepeatable},  // as ReceiveMessage
    {kAzureStorage, "POST", "", "", Effect::kWrite},                // a message, an entity, a table
    // An entity of a table; a file of a Data Lake, which is written at a given position.
    {kAzureStorage, "PATCH MERGE", "*(PartitionKey=*", "", Effect::kRepeatable},
    {kAzureStorage, "PATCH", "", "action", Effect::kRepeatable},
    // S3, and the XML interface of Google Cloud Storage
    {kS3 | kGoogleStorage, "POST", "", "uploads", Effect::kWrite},
    {kS3 | kGoogleStorage, "POST", "", "uploadId", Effect::kRepeatable},
    {kS3 | kGoogleStorage, "POST", "", "delete", Effect::kRepeatable},
    {kS3, "POST", "", "select", Effect::kRead},
    {kS3, "POST", "", "restore", Effect::kRepeatable},
    // The JSON interface of Google Cloud Storage
    {kAnyService, "POST", "/upload/storage/v1/b/*/o", "", Effect::kRepeatable},
    {kAnyService, "POST", "/storage/v1/b", "", Effect::kRepeatable},
    {kAnyService, "POST", "/storage/v1/b/*/copyTo/*", "", Effect::kRepeatable},
    {kAnyService, "POST", "/storage/v1/b/*/rewriteTo/*", "", Effect::kRepeatable},
    {kAnyService, "POST", "/storage/v1/b/*/lockRetentionPolicy", "", Effect::kRepeatable},
    {kAnyService, "POST", "/storage/v1/*", "", Effect::kWrite},
    {kAnyService, "PATCH", "/storage/v1/*", "", Effect::kRepeatable},
    // What the method says (RFC 9110 §9.2). POST and PATCH may do anything.
    {kAnyService, "GET HEAD OPTIONS TRACE", "", "", Effect::kRead},
    {kAnyService, "PUT DELETE", "", "", Effect::kRepeatable},
};

template <typename Is>
bool any_part(std::string_view text, char separator, Is is) {
  while (!text.empty()) {
    const size_t end = text.find(separator);
    if (is(text.substr(0, end))) return true;
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  return false;
}

// Does a query or a form have the parameter? `wanted`: "delete" or "comp=query".
bool has_parameter(std::string_view query, std::string_view wanted) {
  return any_part(query, '&', [wanted](std::string_view one) {
    return one == wanted || (one.starts_with(wanted) && one.size() > wanted.size() &&
                             one[wanted.size()] == '=' && wanted.find('=') == wanted.npos);
  });
}

std::string_view value_of(std::string_view form, std::string_view name) {
  std::string_view out;
  any_part(form, '&', [&](std::string_view one) {
    if (!one.starts_with(name) || one.size() <= name.size() || one[name.size()] != '=')
      return false;
    out = one.substr(name.size() + 1);
    return true;
  });
  return out;
}

// Of the query protocol both parameters are in each request.
std::string_view query_operation(std::string_view form) {
  return has_parameter(form, "Version") ? value_of(form, "Action") : std::string_view();
}

bool is_of(const ServiceRow& row, const RpcRecord& rpc) {
  std::string host = rpc.service;
  std::transform(host.begin(), host.end(), host.begin(), to_lower);
  return any_part(row.hosts, ' ', [&](std::string_view one) { return host.ends_with(one); }) ||
         any_part(row.fields, ' ', [&](std::string_view one) {
           return one == rpc.request_id_name || rpc.told_value(one) != nullptr;
         });
}

uint8_t services_of(const RpcRecord& rpc) {
  uint8_t out = 0;
  for (const ServiceRow& row : kServices) out |= is_of(row, rpc) ? row.service : 0;
  return out;
}

Effect effect_of_name(std::string_view operation, std::string_view body) {
  for (const NamedRow& row : kNamed) {
    const bool named = any_part(row.names, ' ',
                                [&](std::string_view name) { return glob_match(name, operation); });
    if (named && (row.body.empty() || glob_match(row.body, body))) return row.effect;
  }
  return Effect::kWrite;
}

}  // namespace

std::string_view effect_name(Effect effect) {
  constexpr std::string_view kNames[] = {"unknown", "read", "repeatable write", "write"};
  return kNames[static_cast<size_t>(effect)];
}

std::string operation_of(const RpcRecord& rpc) {
  if (rpc.protocol() != Protocol::kHttp) return "";
  if (const std::string* target = rpc.told_value("x-amz-target"))
    return target->substr(target->rfind('.') + 1);
  std::string_view name = query_operation(rpc.body_sample);
  if (name.empty()) name = query_operation(split_target(rpc.target).query);
  return std::string(name);
}

Effect effect_of(const RpcRecord& rpc) {
  if (rpc.protocol() != Protocol::kHttp) return Effect::kUnknown;
  if (const std::string operation = operation_of(rpc); !operation.empty())
    return effect_of_name(operation, rpc.body_sample);
  const uint8_t services = services_of(rpc);
  const Target target = split_target(rpc.target);
  for (const ResourceRow& row : kResources) {
    const bool matches =
        (row.services == kAnyService || (row.services & services) != 0) &&
        any_part(row.methods, ' ', [&](std::string_view one) { return one == rpc.method; }) &&
        (row.path.empty() || glob_match(row.path, target.path)) &&
        (row.query.empty() || has_parameter(target.query, row.query));
    if (matches) return row.effect;
  }
  return Effect::kUnknown;
}

std::string name_of_call(const RpcRecord& rpc) {
  const std::string operation = operation_of(rpc);
  return call_name(rpc, path_of(rpc)) + (operation.empty() ? "" : " (" + operation + ")");
}

}  // namespace filibuster::retries
