// What protoc knows of an application's gRPC methods (`protoc --descriptor_set_out`), so that what
// was asked of them can be read and asked for by the names of its fields.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/result.h"
#include "daemon/agents/execution_record.h"

namespace filibuster {

class DescriptorSet {
 public:
  DescriptorSet();
  ~DescriptorSet();
  // Adds the file's descriptors. Error: it cannot be read, is none, or lacks what it imports.
  Result<void> add(const std::string& file);
  // The same of a serialized google.protobuf.FileDescriptorSet. What was added before stays,
  // whatever becomes of it.
  Result<void> add_files(const std::string& serialized);
  // All that was added, serialized.
  std::string files() const;
  // Is the gRPC service ("shop.CartService") among them?
  bool has_service(const std::string& name) const;
  // Is there one of which `grpc` (grpc_name.h) names a method, be there such a method or not?
  bool names_service(const std::string& grpc) const;
  // Is it nearly the name of a method?
  bool resembles(const std::string& grpc) const;

  struct Request {
    std::string json;    // an object
    bool whole = false;  // then scalar fields that are not set have their default; else the sample
                         // was cut, and what is not there is not known
  };
  // The first message of a call of the method at `path` ("/shop.CartService/GetCart"); `sample` as
  // RpcRecord::body_sample has it: the prefix of gRPC, then the message, which may be cut. Error:
  // why it cannot be read.
  Result<Request> request(std::string_view path, std::string_view sample) const;

  // A question about the arguments of the methods that `grpc` names (grpc_name.h; "": all of them):
  // an object with some fields of their requests. Error: there is no such method or field; a 'no'
  // would be for ever. Names of fields are made those of the .proto file.
  Result<nlohmann::json> question(const std::string& grpc, const std::string& arguments) const;

  // "cart.id" for the numbers "/3/1" of fields in the requests of the method at `path`, or in its
  // answers; "": they are not known.
  std::string field_names(std::string_view path, std::string_view numbers, bool answer) const;

  // Fills RpcRecord::arguments where that is possible.
  void read_arguments(ExecutionRecord* record) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Does `request` have every field of `wanted` with that value? Numbers are equal to their texts (64
// bits are a text in JSON), null to a field that is not there; elements of lists one by one.
bool arguments_match(const nlohmann::json& wanted, const nlohmann::json& request);

}  // namespace filibuster
