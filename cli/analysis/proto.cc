#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "cli/analysis/documents.h"

namespace filibuster::analysis {
namespace {

namespace pb = google::protobuf;

// Keeps the first error.
class FirstError : public pb::io::ErrorCollector {
 public:
  explicit FirstError(const std::string& file) : file_(file) {}
  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) override {
    if (text.empty()) {
      text = file_ + ":" + std::to_string(line + 1) + ":" + std::to_string(column + 1) + ": " +
             message;
    }
  }
  std::string text;

 private:
  const std::string& file_;
};

}  // namespace

Result<std::vector<GrpcMethod>> read_proto(const std::string& file, const std::string& text) {
  pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  FirstError errors(file);
  pb::io::Tokenizer tokenizer(&stream, &errors);
  pb::compiler::Parser parser;
  parser.RecordErrorsTo(&errors);
  pb::FileDescriptorProto parsed;
  const bool good = parser.Parse(&tokenizer, &parsed);
  if (!good || !errors.text.empty())
    return Error{errors.text.empty() ? file + ":1:1: not a .proto file" : errors.text};
  std::vector<GrpcMethod> out;
  for (const pb::ServiceDescriptorProto& service : parsed.service()) {
    const std::string name =
        parsed.package().empty() ? service.name() : parsed.package() + "." + service.name();
    for (const pb::MethodDescriptorProto& method : service.method())
      out.push_back({name, method.name()});
  }
  return out;
}

}  // namespace filibuster::analysis
