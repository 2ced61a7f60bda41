// The requests of a FastCGI connection (FastCGI 1.0, sections 3 and 6), which a web server sends to a worker. Of a request, the
// parameters that are asked for are kept; its body is passed over. Reads the bytes as they come, in pieces of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace filibuster::fastcgi {

enum class Sniff : uint8_t { kOther, kNeedMore, kRequest };
// Do these bytes begin a FastCGI connection?
Sniff sniff(std::string_view first);

class RequestHandler {
 public:
  // The parameters of a request are complete. `field` is the value of HTTP_X_FILIBUSTER; empty: it has none, or a longer one
  // than kMaxField.
  virtual void on_request(uint16_t id, std::string_view method, std::string_view target,
                          std::string_view field) = 0;

 protected:
  ~RequestHandler() = default;
};

// Reads what the web server sends.
class RequestParser {
 public:
  static constexpr size_t kMaxField = 128;
  static constexpr size_t kMaxTarget = 512;

  // False: the bytes are not FastCGI. Then nothing more may be fed.
  bool feed(const char* data, size_t size, RequestHandler* handler);

 private:
  enum class Part : uint8_t { kHeader, kContent, kPadding };
  enum class Pair : uint8_t { kNameSize, kValueSize, kName, kValue };
  struct Kept {
    char* text;
    size_t capacity;
    uint16_t* size;
  };

  bool begin_record();
  void parameters(const char* data, size_t size, RequestHandler* handler);
  bool size_byte(uint8_t byte, uint32_t* size);
  Kept kept_value();
  void begin_request(uint16_t id);

  Part part_ = Part::kHeader;
  uint8_t header_[8] = {};
  uint8_t header_size_ = 0;
  uint8_t padding_ = 0;
  uint16_t content_ = 0;  // bytes left of the record
  uint8_t type_ = 0;
  uint16_t id_ = 0;
  uint16_t open_ = 0;  // the request whose parameters come; 0: none

  Pair pair_ = Pair::kNameSize;
  uint8_t size_bytes_ = 0;  // read of a size of four bytes
  uint32_t name_size_ = 0, value_size_ = 0, read_ = 0;
  char name_[24] = {};
  bool too_long_ = false;
  uint16_t method_size_ = 0, target_size_ = 0, field_size_ = 0;
  char method_[16] = {};
  char target_[kMaxTarget] = {};
  char field_[kMaxField] = {};
};

class AnswerHandler {
 public:
  // A request has ended. `status` is what its answer says (RFC 3875, section 6.3.3), 200 if it says nothing; 0: the worker has
  // refused it, or has ended it without an answer.
  virtual void on_end(uint16_t id, uint16_t status) = 0;

 protected:
  ~AnswerHandler() = default;
};

// Reads what the worker sends. Of answers that take turns on one connection the statuses are not told apart.
class AnswerParser {
 public:
  bool feed(const char* data, size_t size, AnswerHandler* handler);

 private:
  bool begin_record();
  void head(const char* data, size_t size);
  void end_record(AnswerHandler* handler);

  uint8_t header_[8] = {};
  uint8_t header_size_ = 0;
  uint32_t left_ = 0;     // of content and padding
  uint16_t content_ = 0;  // of content
  uint8_t end_[8] = {};
  uint8_t end_size_ = 0;
  bool any_ = false;     // the answer has begun
  bool in_head_ = true;  // its head is not over
  uint8_t line_size_ = 0;
  char line_[16] = {};  // the beginning of the line that is read: "Status: 404"
  uint16_t status_ = 200;
};

}  // namespace filibuster::fastcgi
