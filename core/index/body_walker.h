// Reads a body field by field while it passes, in pieces of any size: a JSON text (RFC 8259) or a
// form (application/x-www-form-urlencoded). Two things come of it:
//   - its digest without what is masked. Where nothing is masked, that is hash_bytes() of the body;
//   - its leaves, each with the path of its name and a hash of its value, for whoever compares runs.
// One reader makes both, so that a mask finds the field for which it was proposed.
//
// It reads structure and does not judge values. What is neither form (text, XML, multipart, a
// compressed body), or nests deeper than kMaxBodyDepth, is not readable: then its whole digest
// stands and nothing in it is masked. Never allocates; about 3 KiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/hash.h"
#include "core/index/masks.h"

namespace filibuster {

inline constexpr size_t kMaxBodyDepth = 32;  // nested arrays and objects
inline constexpr size_t kMaxFieldPath = 512;

// Begins the number of an array's element in the path of a leaf: "/items/\x01""0/id".
inline constexpr char kElementMark = '\x01';

// kMessage: message_walker.h.
enum class BodyForm : uint8_t { kEmpty = 0, kJson, kForm, kOther, kMessage };

class LeafSink {
 public:
  // JSON: a pointer (RFC 6901), elements marked; form: the name, decoded. `value` is a hash of the
  // value as it was sent.
  virtual void leaf(std::string_view path, uint64_t value) = 0;

 protected:
  ~LeafSink() = default;
};

class BodyWalker {
 public:
  BodyWalker() = default;  // call a begin function first
  BodyWalker(const BodyWalker&) = delete;
  BodyWalker& operator=(const BodyWalker&) = delete;

  // A body of a request (masks of MaskPlace::kJson and kForm) or of a response (kResponse).
  // `masks` null: none. `leaves` null: they are not wanted; it outlives the walk.
  void begin_request(const RequestMasks* masks, LeafSink* leaves);
  void begin_response(const RequestMasks* masks, LeafSink* leaves);
  // The query of a target: a form that is never refused (MaskPlace::kQuery).
  void begin_query(const RequestMasks* masks, LeafSink* leaves);

  void feed(const char* data, size_t size);
  void feed(std::string_view text) { feed(text.data(), text.size()); }
  // Bytes went by unseen (sendfile): nothing can be said of the body any more.
  void skip() { state_ = State::kOther; }

  struct Outcome {
    BodyForm form = BodyForm::kOther;
    bool masked = false;        // something was masked: `digest` is not that of all bytes
    bool leaves_whole = false;  // every leaf was reported; not where a path has over kMaxFieldPath
    Hash128 digest;             // meaningful unless kOther
  };
  // The body is complete.
  Outcome finish();

 private:
  enum class State : uint8_t {
    kStart,       // blanks so far
    kValue,       // a value must come
    kFirstValue,  // after '[': a value or ']'
    kFirstKey,    // after '{': a key or '}'
    kNextKey,     // after ',' in an object
    kKey,
    kColon,
    kString,
    kScalar,
    kAfter,  // a value has ended: ',' or the end of its container
    kEnd,    // the outermost value has ended
    kFormName,
    kFormValue,
    kOther,  // not readable
  };
  struct Frame {
    uint32_t bits;   // fields that match so far (by position in names_)
    uint32_t index;  // of an array's next element
    uint16_t path_size;
    bool array;
  };

  void begin(const RequestMasks* masks, MaskPlace json, MaskPlace form, LeafSink* leaves);
  void take(const char* at);
  void begin_value(const char* at, char c);
  void end_value(const char* end);  // `end`: the first byte after it
  void open_container(bool array);
  void close_container(const char* at, char c);
  void begin_name();
  void take_key(char c);
  void take_escape(char c);
  void put_code_point(uint32_t code);
  void put_name(unsigned char byte);
  void end_name();
  void take_form_name(const char* at, char c);
  void take_form_value(const char* at, char c);
  void end_form_name(const char* at, bool has_value);
  void put_path(std::string_view text);
  void start_mask(const char* at);
  void stop_mask(const char* at);
  void report_leaf(uint64_t value);

  State state_ = State::kOther;
  BodyForm form_ = BodyForm::kEmpty;
  MaskPlace json_place_ = MaskPlace::kJson, form_place_ = MaskPlace::kForm;
  bool lenient_ = false;  // a query
  bool escaped_ = false;  // the last byte was a backslash that escapes
  bool masking_ = false;
  bool masked_ = false;
  bool value_masked_ = false;  // the value that comes is masked
  bool path_whole_ = true;     // path_ is not cut
  bool leaves_whole_ = true;
  uint8_t digits_left_ = 0;  // of an escape: \uXXXX or %XX
  uint32_t code_ = 0;        // its digits so far
  uint32_t high_surrogate_ = 0;
  uint32_t depth_ = 0;
  uint32_t mask_depth_ = 0;
  uint32_t bits_ = 0;           // of the value that comes
  const char* from_ = nullptr;  // first byte of this feed that is not in the digest yet
  LeafSink* leaves_ = nullptr;
  NameHash name_;
  NameHash value_;

  uint32_t field_count_ = 0;
  uint8_t field_depth_[kMaxRequestMasks];
  MaskPlace field_place_[kMaxRequestMasks];
  uint64_t names_[kMaxRequestMasks][kMaxMaskDepth];

  size_t path_size_ = 0;
  char path_[kMaxFieldPath];
  Frame frames_[kMaxBodyDepth];
  HashStream digest_;
};

}  // namespace filibuster
