// Descriptors of an application's gRPC methods (`protoc --descriptor_set_out`), so that the arguments
// of calls can be read, and asked for, by the names of their fields.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "daemon/model/execution_record.h"

namespace filibuster {

class DescriptorSet {
 public:
  DescriptorSet();
  ~DescriptorSet();
  // Adds the file's descriptors. Error: the file cannot be read, has no descriptors, or lacks what it
  // imports.
  Result<void> add(const std::string& file);
  // Adds a serialized google.protobuf.FileDescriptorSet. On an Error, what was added before stays.
  Result<void> add_files(const std::string& serialized);
  // All files that were added, as a serialized google.protobuf.FileDescriptorSet.
  std::string files() const;
  // True if the gRPC service ("shop.CartService") was added.
  bool has_service(const std::string& name) const;
  // True if `grpc` (grpc_name.h) names a service that was added, or a method of one, whether or not
  // the service has that method.
  bool names_service(const std::string& grpc) const;
  // "shop.CartService/GetCart", ...: of that gRPC service ("shop.CartService"), in the order of its file.
  std::vector<std::string> methods_of(const std::string& service) const;
  // True if `grpc` is nearly the name of a method.
  bool resembles(const std::string& grpc) const;

  struct Request {
    std::string json;  // an object
    bool whole =
        false;  // true: scalar fields that are not set have their default; false: the sample
                // was cut, and a field that is missing here is not known
  };
  // Reads the first message of a call of the method at `path` ("/shop.CartService/GetCart"). `sample`,
  // as in RpcRecord::body_sample, is the gRPC prefix and then the message, which may be cut. Error: why
  // the message cannot be read.
  Result<Request> request(std::string_view path, std::string_view sample) const;

  // Checks a question about the arguments of the methods that `grpc` names (grpc_name.h; "": all of
  // them). `arguments` is a JSON object with some fields of their requests. Returns it with the field
  // names of the .proto file. Error: there is no such method or field, so the answer would always be 'no'.
  Result<nlohmann::json> question(const std::string& grpc, const std::string& arguments) const;

  // The answer of the first method that `grpc` names (grpc_name.h), serialized; `json` is an object. Error: there is no such
  // method, or its answers have not these fields.
  Result<std::string> answer_of(const std::string& grpc, const std::string& json) const;
  // The request of that method as request() shows it, with its defaults and the names of the .proto file.
  Result<std::string> request_of(const std::string& grpc, const std::string& json) const;

  // "cart.id" for the field numbers "/3/1" in requests of the method at `path` (`answer`: in its
  // answers); "": the names are not known.
  std::string field_names(std::string_view path, std::string_view numbers, bool answer) const;

  // Fills RpcRecord::arguments, or arguments_problem where they cannot be read.
  void read_arguments(ExecutionRecord* record) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// True if `request` has every field of `wanted` with that value. A number equals its text (64-bit
// numbers are texts in JSON), null equals a missing field, and lists are compared element by element.
bool arguments_match(const nlohmann::json& wanted, const nlohmann::json& request);

}  // namespace filibuster
