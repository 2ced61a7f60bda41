#include "daemon/descriptors/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/unknown_field_set.h>

#include <set>

#include "core/grpc/call.h"
#include "daemon/descriptors/reflection_stream.h"

namespace filibuster {
namespace {

namespace pb = google::protobuf;

constexpr size_t kMostFiles = 1000;
// The newer method is tried first; most servers have both.
constexpr const char* kMethods[] = {
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};

// Field numbers of ServerReflectionRequest and ServerReflectionResponse (reflection.proto).
constexpr int kFileByFilename = 3, kFileContainingSymbol = 4;
constexpr int kFileDescriptorResponse = 4, kErrorResponse = 7;
constexpr int kFileDescriptorProto = 1, kErrorCode = 1, kErrorMessage = 2;

std::string request_of(int question, const std::string& name) {
  pb::UnknownFieldSet fields;
  fields.AddLengthDelimited(question, name);
  std::string out;
  fields.SerializeToString(&out);
  return out;
}

// Reads the message in field `number` of `fields`; false: there is no such field, or it is no message.
bool inner(const pb::UnknownFieldSet& fields, int number, pb::UnknownFieldSet* out) {
  for (int i = 0; i < fields.field_count(); ++i) {
    const pb::UnknownField& field = fields.field(i);
    if (field.number() != number || field.type() != pb::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    return out->ParseFromString(field.length_delimited());
  }
  return false;
}

Error error_of(const pb::UnknownFieldSet& fields) {
  std::string code = "UNKNOWN", message;
  for (int i = 0; i < fields.field_count(); ++i) {
    const pb::UnknownField& field = fields.field(i);
    if (field.number() == kErrorCode && field.type() == pb::UnknownField::TYPE_VARINT)
      code = grpc::to_name(grpc::parse_status(std::to_string(field.varint())));
    if (field.number() == kErrorMessage && field.type() == pb::UnknownField::TYPE_LENGTH_DELIMITED)
      message = field.length_delimited().substr(0, 200);
  }
  return Error{code + (message.empty() ? "" : " (" + message + ")")};
}

class Asking {
 public:
  Asking(const std::string& address, std::chrono::milliseconds limit)
      : stream_(ReflectionStream::Clock::now() + limit), connected_(stream_.connect(address)) {}

  // Adds the file of the service and the files that it imports. Error: one is missing; nothing is added.
  Result<void> add(const std::string& service) {
    const int before = set_.file_size();
    auto added = add_some(service);
    if (added) return added;
    for (int i = before; i < set_.file_size(); ++i) names_.erase(set_.file(i).name());
    set_.mutable_file()->DeleteSubrange(before, set_.file_size() - before);
    return added;
  }

  std::string files() const { return set_.SerializeAsString(); }
  void end() { stream_.finish(); }

 private:
  Result<void> add_some(const std::string& service) {
    if (!connected_) return connected_.error();
    auto added = ask(kFileContainingSymbol, service);
    if (!added) return added;
    // Some servers do not send the imported files with it.
    for (int i = 0; i < set_.file_size(); ++i) {
      for (int k = 0; k < set_.file(i).dependency_size(); ++k) {
        const std::string name = set_.file(i).dependency(k);
        if (names_.contains(name) || is_well_known(name)) continue;
        if (auto import = ask(kFileByFilename, name); !import)
          return Error{name + ": " + import.error().message};
        if (!names_.contains(name)) return Error{name + " was not among the files that it sent"};
      }
    }
    return {};
  }

  static bool is_well_known(const std::string& name) {
    return pb::DescriptorPool::generated_pool()->FindFileByName(name) != nullptr;
  }

  Result<void> ask(int question, const std::string& name) {
    auto answer = ask_some(request_of(question, name));
    if (!answer) return answer.error();
    pb::UnknownFieldSet fields, files;
    if (!fields.ParseFromString(answer.value()))
      return Error{"its answer is no ServerReflectionResponse"};
    if (inner(fields, kErrorResponse, &files)) return error_of(files);
    if (!inner(fields, kFileDescriptorResponse, &files)) return Error{"its answer has no files"};
    for (int i = 0; i < files.field_count(); ++i) {
      const pb::UnknownField& field = files.field(i);
      if (field.number() != kFileDescriptorProto ||
          field.type() != pb::UnknownField::TYPE_LENGTH_DELIMITED) {
        continue;
      }
      pb::FileDescriptorProto file;
      if (!file.ParseFromString(field.length_delimited()))
        return Error{"it sent a file that is no FileDescriptorProto"};
      if (!names_.insert(file.name()).second) continue;
      if (names_.size() > kMostFiles) return Error{"it has more than 1,000 files"};
      *set_.add_file() = std::move(file);
    }
    return {};
  }

  Result<std::string> ask_some(const std::string& message) {
    while (true) {
      if (!called_) {
        if (auto called = stream_.call(kMethods[method_]); !called) return called.error();
        called_ = true;
      }
      auto answer = stream_.ask(message);
      if (answer || method_ + 1 == std::size(kMethods) || !stream_.not_there()) return answer;
      ++method_;
      called_ = false;
    }
  }

  ReflectionStream stream_;
  const Result<void> connected_;
  size_t method_ = 0;
  bool called_ = false;
  pb::FileDescriptorSet set_;
  std::set<std::string> names_;
};

}  // namespace

Reflected ask_reflection(const std::string& address, const std::vector<std::string>& services,
                         std::chrono::milliseconds limit) {
  Reflected out;
  Asking asking(address, limit);
  for (const std::string& service : services) {
    if (auto added = asking.add(service); !added) out.problems[service] = added.error().message;
  }
  asking.end();
  out.files = asking.files();
  return out;
}

}  // namespace filibuster
