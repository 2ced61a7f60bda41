#include "daemon/descriptors/descriptor_set.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/grpc/call.h"
#include "core/grpc/message_reader.h"
#include "core/http2/frame.h"
#include "core/text/nearest.h"
#include "daemon/model/grpc_name.h"

namespace filibuster {
namespace {

namespace pb = google::protobuf;
using Json = nlohmann::json;

constexpr size_t kMaxFile = 64u << 20;  // bytes

// Keeps the first error in a file of descriptors.
class FirstError : public pb::DescriptorPool::ErrorCollector {
 public:
  void AddError(const std::string& file, const std::string& element, const pb::Message*,
                ErrorLocation, const std::string& message) override {
    if (text.empty()) text = file + ": " + element + ": " + message;
  }
  std::string text;
};

// How many bytes at the beginning of a cut message are whole fields.
size_t whole_fields(const std::string& bytes) {
  pb::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                                 static_cast<int>(bytes.size()));
  int end = 0;
  for (uint32_t tag = input.ReadTag();
       tag != 0 && pb::internal::WireFormatLite::SkipField(&input, tag); tag = input.ReadTag()) {
    end = input.CurrentPosition();
  }
  return static_cast<size_t>(end);
}

// "5", "true", "x": what is compared of a value that is neither object nor list.
std::string scalar_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

const pb::FieldDescriptor* find_field(const pb::Descriptor& type, const std::string& name) {
  if (const auto* field = type.FindFieldByName(name)) return field;
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->json_name() == name) return type.field(i);
  }
  return nullptr;
}

std::string no_field(const pb::Descriptor& type, const std::string& name) {
  std::vector<std::string_view> known;
  for (int i = 0; i < type.field_count(); ++i) known.push_back(type.field(i)->name());
  const std::string_view near = nearest(name, known);
  return type.full_name() + " has no field '" + name + "'" +
         (near.empty() ? "" : ", did you mean '" + std::string(near) + "'?");
}

// Types whose JSON is not an object of their fields.
bool has_own_json(const pb::Descriptor& type) {
  return type.full_name().starts_with("google.protobuf.");
}

// `wanted` with the field names of the .proto file. Error: names a field that `type` does not have.
Result<Json> named(const pb::Descriptor& type, const Json& wanted) {
  if (!wanted.is_object() || has_own_json(type)) return wanted;
  Json out = Json::object();
  for (const auto& [name, value] : wanted.items()) {
    const pb::FieldDescriptor* field = find_field(type, name);
    if (field == nullptr) return Error{no_field(type, name)};
    Json& place = out[field->name()];
    place = value;
    const bool message = field->type() == pb::FieldDescriptor::TYPE_MESSAGE && !field->is_map();
    if (!message) continue;
    if (value.is_array()) {
      for (Json& element : place) {
        auto inner = named(*field->message_type(), element);
        if (!inner) return inner.error();
        element = std::move(inner).value();
      }
      continue;
    }
    auto inner = named(*field->message_type(), value);
    if (!inner) return inner.error();
    place = std::move(inner).value();
  }
  return out;
}

// `whole`: false if the message was cut. A field that is not set may be set behind the cut then: no default is shown.
Result<std::string> to_json(const pb::Message& message, bool whole) {
  pb::util::JsonPrintOptions options;
  options.always_print_primitive_fields = whole;
  options.preserve_proto_field_names = true;
  std::string out;
  const auto printed = pb::util::MessageToJsonString(message, &out, options);
  if (!printed.ok()) return Error{"its message has no form in JSON: " + printed.ToString()};
  return out;
}

}  // namespace

struct DescriptorSet::State {
  pb::SimpleDescriptorDatabase files;
  // google/protobuf/*.proto, for sets that were written without --include_imports.
  pb::DescriptorPoolDatabase well_known{*pb::DescriptorPool::generated_pool()};
  pb::MergedDescriptorDatabase all{&files, &well_known};
  FirstError problem;
  pb::DescriptorPool pool{&all, &problem};
  mutable pb::DynamicMessageFactory messages{&pool};
  std::set<std::string> known_files;
  pb::FileDescriptorSet known;
  std::vector<const pb::MethodDescriptor*> methods;

  std::string nearest_method(const std::string& grpc) const {
    std::vector<std::string> names;
    for (const pb::MethodDescriptor* method : methods)
      names.push_back(method->service()->full_name() + "/" + method->name());
    const std::vector<std::string_view> known_names(names.begin(), names.end());
    return std::string(nearest(grpc, known_names));
  }

  const pb::MethodDescriptor* find(const std::string& grpc) const {
    const auto found = std::find_if(methods.begin(), methods.end(), [&](const auto* method) {
      return grpc_name_matches(grpc, "/" + method->service()->full_name() + "/" + method->name());
    });
    return found == methods.end() ? nullptr : *found;
  }

  Error no_method(const std::string& grpc) const {
    const std::string near = nearest_method(grpc);
    return Error{"the descriptors have no gRPC method '" + grpc + "'" +
                 (near.empty() ? "" : ", did you mean '" + near + "'?")};
  }

  // Error: what of `json` is no message of the type.
  Result<std::unique_ptr<pb::Message>> read(const pb::Descriptor* type,
                                            const std::string& json) const {
    std::unique_ptr<pb::Message> message(messages.GetPrototype(type)->New());
    const auto read = pb::util::JsonStringToMessage(json, message.get());
    if (!read.ok()) return Error{"is no " + type->full_name() + ": " + std::string(read.message())};
    return message;
  }

  Result<void> add(const pb::FileDescriptorSet& set) {
    std::vector<std::string> added;
    for (const pb::FileDescriptorProto& each : set.file()) {
      if (!known_files.insert(each.name()).second) continue;  // the same file in two sets
      files.Add(each);
      *known.add_file() = each;
      added.push_back(each.name());
    }
    for (const std::string& name : added) {
      const pb::FileDescriptor* built = pool.FindFileByName(name);
      if (built == nullptr) return Error{problem.text};
      for (int i = 0; i < built->service_count(); ++i) {
        for (int k = 0; k < built->service(i)->method_count(); ++k)
          methods.push_back(built->service(i)->method(k));
      }
    }
    return {};
  }
};

DescriptorSet::DescriptorSet() : state_(std::make_unique<State>()) {}
DescriptorSet::~DescriptorSet() = default;

Result<void> DescriptorSet::add(const std::string& file) {
  std::error_code failed;
  const bool regular = std::filesystem::is_regular_file(file, failed);
  std::ifstream input(file, std::ios::binary);
  if (!std::filesystem::exists(file, failed))
    return Error{file + " cannot be read: it is not there"};
  if (!regular || !input) return Error{file + " cannot be read"};
  constexpr const char* kExpected =
      "; expected what `protoc --include_imports --descriptor_set_out=FILE` writes";
  if (std::filesystem::file_size(file, failed) > kMaxFile) {
    return Error{file + " is larger than 64 MiB" + kExpected};
  }
  pb::FileDescriptorSet set;
  if (!set.ParseFromIstream(&input) || set.file().empty()) {
    return Error{file + " holds no descriptors" + kExpected};
  }
  if (auto added = state_->add(set); !added)
    return Error{file + ": " + added.error().message + kExpected};
  return {};
}

Result<void> DescriptorSet::add_files(const std::string& serialized) {
  pb::FileDescriptorSet set;
  if (!set.ParseFromString(serialized)) return Error{"these are no descriptors"};
  return state_->add(set);
}

std::string DescriptorSet::files() const {
  return state_->known.SerializeAsString();
}

bool DescriptorSet::has_service(const std::string& name) const {
  return std::any_of(state_->methods.begin(), state_->methods.end(),
                     [&](const auto* method) { return method->service()->full_name() == name; });
}

std::vector<std::string> DescriptorSet::methods_of(const std::string& service) const {
  std::vector<std::string> out;
  for (const auto* method : state_->methods) {
    if (method->service()->full_name() == service) out.push_back(service + "/" + method->name());
  }
  return out;
}

bool DescriptorSet::names_service(const std::string& grpc) const {
  // "shop.CartService/GetCart", "shop.CartService.GetCart", "shop.CartService".
  const size_t slash = grpc.rfind('/'), dot = grpc.rfind('.');
  return std::any_of(state_->methods.begin(), state_->methods.end(), [&](const auto* method) {
    const std::string path = "/" + method->service()->full_name() + "/" + method->name();
    const auto names = [&](size_t end) {
      return end != std::string::npos && grpc_service_matches(grpc.substr(0, end), path);
    };
    return names(slash) || names(grpc.size()) || (slash == std::string::npos && names(dot));
  });
}

bool DescriptorSet::resembles(const std::string& grpc) const {
  return !state_->nearest_method(grpc).empty();
}

Result<DescriptorSet::Request> DescriptorSet::request(std::string_view path,
                                                      std::string_view sample) const {
  const auto call = grpc::split_path(path);
  if (!call) return Error{"it is no path of a gRPC method"};
  const std::string name = std::string(call->service) + "." + std::string(call->method);
  const pb::MethodDescriptor* method = state_->pool.FindMethodByName(name);
  if (method == nullptr) return Error{"the descriptors do not have it"};
  if (sample.empty()) return Error{"no message of it was seen"};
  if (sample.size() < grpc::kPrefixSize) return Error{"its message was not seen whole"};
  if (sample[0] != 0) return Error{"its message is compressed"};
  const size_t size = http2::read_u32(sample.data() + 1);
  std::string bytes(sample.substr(grpc::kPrefixSize, size));
  Request out;
  out.whole = bytes.size() == size;
  if (!out.whole) bytes.resize(whole_fields(bytes));
  const std::unique_ptr<pb::Message> message(
      state_->messages.GetPrototype(method->input_type())->New());
  if (!message->ParsePartialFromString(bytes)) {
    return Error{"its message is no " + method->input_type()->full_name()};
  }
  auto json = to_json(*message, out.whole);
  if (!json) return json.error();
  out.json = std::move(json).value();
  return out;
}

Result<Json> DescriptorSet::question(const std::string& grpc, const std::string& arguments) const {
  const Json wanted = Json::parse(arguments, nullptr, false);
  if (!wanted.is_object())
    return Error{"arguments: expected a JSON object, as in {\"code\": \"x\"}"};
  bool found = false;
  std::string problem;
  for (const pb::MethodDescriptor* method : state_->methods) {
    const std::string path = "/" + method->service()->full_name() + "/" + method->name();
    if (!grpc.empty() && !grpc_name_matches(grpc, path)) continue;
    found = true;
    auto made = named(*method->input_type(), wanted);
    if (made) return made;
    if (problem.empty()) problem = made.error().message;
  }
  if (found) return Error{"arguments: " + problem};
  return state_->no_method(grpc);
}

Result<std::string> DescriptorSet::answer_of(const std::string& grpc,
                                             const std::string& json) const {
  const pb::MethodDescriptor* method = state_->find(grpc);
  if (method == nullptr) return state_->no_method(grpc);
  const auto message = state_->read(method->output_type(), json);
  if (!message) return message.error();
  return message.value()->SerializeAsString();
}

Result<std::string> DescriptorSet::request_of(const std::string& grpc,
                                              const std::string& json) const {
  const pb::MethodDescriptor* method = state_->find(grpc);
  if (method == nullptr) return state_->no_method(grpc);
  const auto message = state_->read(method->input_type(), json);
  if (!message) return message.error();
  return to_json(*message.value(), /*whole=*/true);
}

std::string DescriptorSet::field_names(std::string_view path, std::string_view numbers,
                                       bool answer) const {
  const auto call = grpc::split_path(path);
  const pb::MethodDescriptor* method =
      call ? state_->pool.FindMethodByName(std::string(call->service) + "." +
                                           std::string(call->method))
           : nullptr;
  if (method == nullptr) return "";
  const pb::Descriptor* type = answer ? method->output_type() : method->input_type();
  std::string out;
  while (!numbers.empty()) {
    numbers.remove_prefix(1);  // '/'
    const size_t end = std::min(numbers.find('/'), numbers.size());
    int number = 0;
    std::from_chars(numbers.data(), numbers.data() + end, number);
    const pb::FieldDescriptor* field = type != nullptr ? type->FindFieldByNumber(number) : nullptr;
    if (field == nullptr) return "";
    out += (out.empty() ? "" : ".") + field->name();
    type = field->type() == pb::FieldDescriptor::TYPE_MESSAGE ? field->message_type() : nullptr;
    numbers.remove_prefix(end);
  }
  return out;
}

void DescriptorSet::read_arguments(ExecutionRecord* record) const {
  for (RpcRecord& rpc : record->rpcs) {
    if (!rpc.is_grpc()) continue;
    auto read = request(rpc.target, rpc.body_sample);
    rpc.arguments = read ? read->json : "";
    rpc.arguments_whole = read && read->whole;
    rpc.arguments_problem = read ? "" : read.error().message;
  }
}

bool arguments_match(const Json& wanted, const Json& request) {
  if (wanted.is_object()) {
    if (!request.is_object()) return false;
    for (const auto& [name, value] : wanted.items()) {
      const auto found = request.find(name);
      if (found == request.end() ? !value.is_null() : !arguments_match(value, *found)) return false;
    }
    return true;
  }
  if (wanted.is_array()) {
    if (!request.is_array() || request.size() != wanted.size()) return false;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!arguments_match(wanted[i], request[i])) return false;
    }
    return true;
  }
  if (wanted.is_null() || request.is_structured()) return wanted.is_null() && request.is_null();
  if (wanted.is_number() && request.is_number()) return wanted == request;
  return scalar_text(wanted) == scalar_text(request);
}

}  // namespace filibuster
