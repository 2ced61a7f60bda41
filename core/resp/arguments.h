// Commands as JSON text, for samples and for masks (core/index/body_walker.h). One command is an object
// of its arguments by number, {"1":"user:42","2":"x"}; a transaction is an object of its commands by
// number, {"1":{"0":"SET","1":"user:42","2":"x"},"2":{"0":"INCR","1":"visits"}}. (They are no arrays,
// because a mask may be proposed for all elements of an array, and arguments differ in what they mean.)
//
// Bytes that are not ASCII stand as they were sent: the text is JSON where they are UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace filibuster::resp {

class TextSink {
 public:
  virtual void text(const char* data, size_t size) = 0;

 protected:
  ~TextSink() = default;
};

// Reads what CommandParser has accepted, in any split: arrays of bulk strings, no inline commands.
class ArgumentText {
 public:
  // One command, without its name.
  explicit ArgumentText(TextSink* sink) : sink_(sink) {}
  // The `members` commands that follow MULTI, with their names.
  ArgumentText(TextSink* sink, uint32_t members) : sink_(sink), members_(members), nested_(true) {}

  void feed(const char* data, size_t size);
  // After the last byte.
  void finish();

 private:
  enum class Step : uint8_t { kType, kCount, kLength, kBulk, kEnd };

  void take(char c);
  void begin_command(uint64_t count);
  void begin_argument();
  void end_argument();
  bool is_written() const;
  void put(const char* data, size_t size) { sink_->text(data, size); }
  void put_escaped(const char* data, size_t size);
  void put_name(uint64_t number);  // with its colon

  TextSink* sink_;
  uint32_t members_ = 1;  // commands that the text is made of
  uint32_t written_ = 0;  // how many of them were begun
  bool nested_ = false;
  bool skipping_ = false;  // this command does not enter the text: MULTI, EXEC
  bool begun_ = false;     // the outer object was begun
  Step step_ = Step::kType;
  uint64_t number_ = 0;
  uint64_t left_ = 0;       // bytes to come of the bulk string
  uint64_t arguments_ = 0;  // of this command, with its name
  uint64_t index_ = 0;      // of the argument; the name is 0
};

}  // namespace filibuster::resp
