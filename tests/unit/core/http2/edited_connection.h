// A client's connection as the preload edits it: bytes are given to the view, held while a header
// block is incomplete, and leave with our field in every request. Shared by the unit tests and the
// fuzz target; every rule of core/http2/insertion.h on what has to be held is checked on the way.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/http2/connection_view.h"
#include "core/http2/insertion.h"
#include "core/rpc/header_field.h"
#include "preload/stream/edited_stream.h"

namespace filibuster::http2 {

inline constexpr std::string_view kOurValue =
    "1-0000abcd-0002-00000007-0000000300000009-0123456789abcdeffedcba9876543210";

class EditedConnection final : public ConnectionListener {
 public:
  EditedConnection() : view(new ConnectionView(Side::kClient, this)) { edits_.use(room_); }

  void received(std::string_view bytes) {
    view->feed(Direction::kResponses, bytes.data(), bytes.size());
  }
  // The application sends.
  void send(std::string_view bytes) {
    stream_ += bytes;
    const std::vector<char> copy(bytes.begin(), bytes.end());
    view->feed(Direction::kRequests, copy.data(), copy.size());
    // After an error everything passes as it is.
    leave(view->lost() ? stream_.size() : view->parser(Direction::kRequests).hold_from());
  }
  // What is held is not held any more.
  void flush() { leave(stream_.size()); }

  void on_request(Stream&, const MessageHead& head, const HeaderBlock& block) override {
    Insertion plan;
    if (!plan_insertion(block, head.list_size, view->settings_for(Direction::kRequests),
                        kHeaderName, kOurValue, &plan)) {
      return;
    }
    // There is room for few edits, as in the preload: what is complete leaves first.
    leave(block.start);
    if (!edits_.replace(plan.replace_at, plan.replacement()) ||
        !edits_.insert(plan.insert_at, plan.insertion())) {
      std::abort();  // bytes had left that were to be held
    }
    ++inserted;
  }

  std::unique_ptr<ConnectionView> view;
  std::string wire;
  size_t inserted = 0;

 private:
  // Up to `limit`, with the insertion at `limit` itself, which ends a block: EditedStream lays out
  // what stands before a byte, so it is asked for one byte more than leaves.
  void leave(uint64_t limit) {
    const iovec pieces[] = {{stream_.data(), stream_.size()}, {const_cast<char*>("?"), 1}};
    preload::OnTheWire out;
    edits_.layout({pieces, 2}, 0, edits_.position(), limit + 1, &out);
    const size_t size = out.bytes - 1;
    Pieces(out.vectors, out.count).each(0, size, [&](const char* part, size_t bytes) {
      wire.append(part, bytes);
      return true;
    });
    edits_.advance(size);
    if (edits_.position() != limit) std::abort();
  }

  std::string stream_;
  preload::EditRoom room_;
  preload::EditedStream edits_;
};

}  // namespace filibuster::http2
