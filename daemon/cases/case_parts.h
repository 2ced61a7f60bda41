// The parts of which the files of a set are made: requests, answers and calls, written
// (write_parts.cc) and read (read_calls.cc; read_parts.cc has what they are made of).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/cases/model.h"
#include "daemon/config/reader.h"
#include "daemon/wire/json_node.h"

namespace filibuster::cases {

// Bodies above this size, and those that are no text, are files beside the case.
inline constexpr size_t kMostInline = 16 * 1024;

// Body files, as (name, bytes), that a file of cases refers to.
using FilesBeside = std::vector<std::pair<std::string, std::string>>;

struct PartWriter {
  std::string name;  // of the file, without ".json"
  FilesBeside files;

  wire::JsonNode request(const Request& request);
  wire::JsonNode answer(const Answer& answer);
  wire::JsonNode call(const Call& call, size_t place);
  wire::JsonNode opening(const Opening& opening);
  static wire::JsonNode draws(const std::vector<Draw>& draws);

 private:
  void put_request(const Request& request, wire::JsonNode* out);
  void put_body(const std::string& body, const Headers& headers, wire::JsonNode* out);
};

// The bytes of a body file. nullopt: there is none of this name.
using ReadBeside = std::function<std::optional<std::string>(const std::string& name)>;

// Errors go to the reader. What is returned then is to be thrown away.
class PartReader {
 public:
  // `text`: without comments (core/text/json_comments.h), else what `reader` reads.
  PartReader(config::Reader* reader, std::string_view text, const ReadBeside* beside)
      : reader_(reader), text_(text), beside_(beside) {}

  Request request(const SourceNode& node);
  Answer answer(const SourceNode& node);
  std::vector<Call> calls(const SourceNode& node);
  Call call(const SourceNode& node, size_t place);
  std::vector<Opening> openings(const SourceNode& node);
  std::vector<Draw> draws(const SourceNode& node);

  // What the tables of members call.
  struct Body {
    std::optional<std::string> json, text, file, grpc;
    std::optional<wire::JsonStyle> style;
    size_t json_offset = 0, style_offset = 0;
  };
  std::optional<std::string> bytes(const SourceNode& node, std::string_view what);
  std::string method(const SourceNode& node);
  std::string target(const SourceNode& node);
  void headers(const SourceNode& node, Headers* out);
  void body_file(const SourceNode& node, Body* out);
  void json_body(const SourceNode& node, Body* out);
  void style(const SourceNode& node, Body* out);
  void messages(const SourceNode& node, Body* out);
  std::string whole_body(const SourceNode& node, Body body);
  nlohmann::json command(const SourceNode& node);
  nlohmann::json reply(const SourceNode& node);
  config::Reader& reader() { return *reader_; }

 private:
  config::Reader* reader_;
  std::string_view text_;
  const ReadBeside* beside_;
};

// Letters, digits, '.', '_' and '-', as names of services are.
std::string read_plain_name(config::Reader& reader, const SourceNode& node, std::string_view what);

}  // namespace filibuster::cases
