// What went over one connection of a service, as exchanges: the n-th request (of HTTP/2: that of the stream n) with its answer. The records of the tape come in their order; what
// connection it is may be told before or after its first bytes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/tape.h"
#include "daemon/cases/model.h"
#include "daemon/wire/http1_message.h"
#include "daemon/wire/http2_message.h"
#include "daemon/wire/resp_value.h"

namespace filibuster::record {

struct Exchange {
  std::optional<wire::HttpMessage> request, answer;
  std::optional<nlohmann::json> command, reply;
  bool answer_is_whole = false;  // else `answer` is what came of it
  std::optional<uint32_t>
      stream_error;  // HTTP/2: the code with which the server has reset the stream
  // Why it is not whole, as far as the connection knows; "": nothing is wrong, or the rest never came.
  std::string problem;
};

class ConnectionTape {
 public:
  void seen(const ConnectionSeen& event);
  void bytes(uint64_t time_ns, const TapeBytes& record);
  void gap(uint64_t time_ns, const TapeGap& record);
  void closed(uint64_t time_ns, const TapeClosed& record);
  // Nothing more is read.
  void lose(const std::string& why);

  bool is_server() const { return is_server_; }
  uint16_t local_port() const { return local_port_; }
  const std::string& service() const { return service_; }
  bool is_closed() const { return closed_; }

  // Takes the exchange of that number (RpcAt::number). What is not there any more has a problem.
  Exchange take(uint64_t number);
  // Forgets exchanges whose last byte is older, and which nobody has claimed. Bytes of a connection of which nobody has told what it is, too.
  void forget_before(uint64_t time_ns);
  // An RPC names this exchange, so that it is kept until it is taken.
  void claim(uint64_t number);
  // Requests that began before `time_ns`, by which time every RPC was told, and which no RPC names: when each began, and what it is. Each is
  // told once.
  struct Unclaimed {
    uint64_t begun_ns = 0;
    std::string what;
  };
  std::vector<Unclaimed> take_unclaimed(uint64_t time_ns);
  // What a client of Redis has said of its connection since the last call, with the replies.
  std::vector<cases::Opening> take_openings();
  bool has_claims() const;
  // It is over, and nothing of it is wanted any more.
  bool is_empty() const { return closed_ && exchanges_.empty() && waiting_.empty(); }
  // About how many bytes are kept.
  size_t kept() const { return kept_; }

 private:
  struct Kept : Exchange {
    bool claimed = false;
    bool is_transaction = false;
    uint64_t last = 0;  // of a transaction: the number of its EXEC; 0: it is open
    bool told = false;  // by take_unclaimed()
    size_t size = 0;
    uint64_t begun_ns = 0, last_ns = 0;
  };
  // A record that came before the connection was known.
  struct Waiting {
    enum class Kind : uint8_t { kBytes, kGap, kClosed } kind;
    uint64_t time_ns = 0;
    TapeBytes bytes;
    TapeGap gap;
    TapeClosed closed;
    std::string text;  // what `bytes` views
  };
  struct Direction {
    uint64_t position = 0;
    size_t open = 0;  // about how many bytes its reader keeps of a message that is not whole
    std::unique_ptr<wire::Http1Reader> http;
    std::unique_ptr<wire::RespReader> resp;
  };
  // MULTI and what follows it.
  struct Transaction {
    uint64_t first = 0;  // the number of MULTI; 0: none is open
    nlohmann::json command;
  };

  Direction& direction(bool requests) { return directions_[requests ? 1 : 0]; }
  void take_bytes(uint64_t time_ns, const TapeBytes& record);
  void take_gap(uint64_t time_ns, const TapeGap& record);
  void take_closed(uint64_t time_ns, const TapeClosed& record);
  // Gives the reader bytes, and keeps what is whole then.
  void feed(bool requests, std::string_view text, uint64_t time_ns);
  void feed_http2(bool requests, std::string_view text, uint64_t time_ns);
  void keep(std::vector<wire::Http2Message> messages);
  // What there is of an answer that is not whole.
  const wire::HttpMessage* open_answer(uint64_t number) const;
  void end_direction(bool requests, uint64_t time_ns);
  // False: bytes are missing before `position`, and nothing more is read.
  bool follows(Direction* from, uint64_t position);
  void tell_methods();
  void keep(bool requests, std::vector<wire::HttpMessage> messages);
  void keep(bool requests, std::vector<wire::RespMessage> messages);
  void keep_command(wire::RespMessage message);
  void keep_reply(wire::RespMessage message);
  void check_readers(bool requests);
  Kept& exchange(uint64_t number, uint64_t time_ns, size_t size);
  using Place = std::map<uint64_t, Kept>::iterator;
  // The exchange to which the message of that number belongs: its own, or the transaction around it.
  Place find(uint64_t number);
  void keep_member(const std::string& name, wire::RespMessage message, size_t size);
  void drop(Place place);

  bool known_ = false, is_server_ = false, closed_ = false;
  StreamProtocol protocol_ = StreamProtocol::kNone;
  uint16_t local_port_ = 0;
  uint64_t before_ = 0;  // requests that went by before the recording
  std::string service_;
  std::string broken_;  // why nothing more is read; "": it is
  std::vector<Waiting> waiting_;
  Direction directions_[2];
  std::unique_ptr<wire::Http2Reader> http2_;  // of both
  uint64_t methods_told_ = 0;
  std::map<uint64_t, Kept> exchanges_;
  Transaction transaction_;
  std::vector<cases::Opening> openings_;
  size_t kept_ = 0;
};

}  // namespace filibuster::record
