// Which numbers of a recording a process is given, and when.
#include "preload/rpc/draws.h"

#include "tests/unit/preload_agent/session_fixture.h"

namespace filibuster::test::session {
namespace {

using pl::Draw;

constexpr size_t kMostOfLongest = kMaxDrawBytesInAll / kMaxDrawBytes;

// "": nothing was given, and nothing was written.
std::string given(DrawSource source, size_t size, const pl::TaskContext* task = nullptr) {
  std::string out(size, '-');
  Draw draw(source, task);
  if (draw.give(out.data(), size)) return out;
  check(out == std::string(size, '-'), "nothing is written where nothing is given");
  return "";
}

pl::Incoming* request() {
  const pl::RequestHead head = get("/bookings/1");
  return receive(head);
}

void draws_for_a_request() {
  check(given(DrawSource::kPython, 2).empty(), "it draws for no request");
  pl::Incoming* incoming = request();
  check(pl::draws_matter(), "numbers are there");
  check(given(DrawSource::kGetrandom, 2).empty(), "of another source");
  check(given(DrawSource::kPython, 3).empty(), "of another size");
  check(given(DrawSource::kPython, 0).empty() &&
            given(DrawSource::kPython, kMaxDrawBytes + 1).empty(),
        "of a size that none has");
  check(given(DrawSource::kPython, 2) == "p1", "the first of its source and size");
  check(given(DrawSource::kNode, 2) == "n1", "each source has its own order");
  check(given(DrawSource::kPython, 4) == "long", "and each size");
  check(given(DrawSource::kPython, 2) == "p2", "the next one");
  check(given(DrawSource::kPython, 2).empty(), "each is given once");
  pl::incoming_end(incoming, 200);
}

void draws_inside_of_a_draw() {
  pl::Incoming* incoming = request();
  {
    const Draw outer(DrawSource::kNode);
    check(!outer.passes(), "it is one of its own");
    check(given(DrawSource::kPython, 2).empty(), "a part of another draw");
  }
  Draw::begin();
  check(given(DrawSource::kPython, 2).empty(), "a part of a draw that has begun");
  Draw::end();
  check(given(DrawSource::kPython, 2) == "p1", "none is used up by that");
  pl::incoming_end(incoming, 200);
}

void draws_for_a_task() {
  pl::TaskContext task;
  task.state = pl::TaskContext::State::kNothing;
  pl::Incoming* incoming = request();
  check(given(DrawSource::kPython, 2, &task).empty(), "the task works for no request");
  check(given(DrawSource::kPython, 2) == "p1", "the thread does");
  pl::incoming_end(incoming, 200);
  task.state = pl::TaskContext::State::kRequest;
  task.cause = own_context();
  check(given(DrawSource::kPython, 2, &task) == "p2", "the task says for which request");
  ++task.cause.session;
  check(given(DrawSource::kNode, 2, &task).empty(), "one of another session");
}

void draws_for_itself() {
  check(pl::attached(), "a session");
  pl::Incoming* incoming = request();
  check(given(DrawSource::kPython, 2).empty(), "they are not for a request");
  pl::incoming_end(incoming, 200);
  check(given(DrawSource::kPython, 2) == "p1" && given(DrawSource::kPython, 2) == "p2", "in order");
}

void draws_while_it_starts() {
  check(pl::attached() && !pl::executing(), "a session, no execution");
  check(given(DrawSource::kPython, 2) == "p1" && given(DrawSource::kPython, 2) == "p2", "in order");
}

void draws_what_has_room() {
  pl::Incoming* incoming = request();
  size_t count = 0;
  while (!given(DrawSource::kDevice, kMaxDrawBytes).empty()) ++count;
  check(count == kMostOfLongest, "as many as have room");
  check(given(DrawSource::kPython, 2).empty(), "none has room behind them");
  pl::incoming_end(incoming, 200);
}

void draws_the_machines() {
  pl::Incoming* incoming = request();
  check(!pl::draws_matter() && given(DrawSource::kPython, 2).empty(), "there are none any more");
  pl::incoming_end(incoming, 200);
}

constexpr Scenario kScenarios[] = {{"draws_for_a_request", draws_for_a_request},
                                   {"draws_inside_of_a_draw", draws_inside_of_a_draw},
                                   {"draws_for_a_task", draws_for_a_task},
                                   {"draws_for_itself", draws_for_itself},
                                   {"draws_while_it_starts", draws_while_it_starts},
                                   {"draws_what_has_room", draws_what_has_room},
                                   {"draws_the_machines", draws_the_machines}};
__attribute__((init_priority(200))) const Scenarios kOfDraws(kScenarios);

class Draws : public Session {
 protected:
  void show(bool of_process) {
    std::vector<ShownDraw> draws;
    for (const auto& [source, bytes] :
         std::initializer_list<std::pair<DrawSource, const char*>>{{DrawSource::kPython, "p1"},
                                                                   {DrawSource::kNode, "n1"},
                                                                   {DrawSource::kPython, "long"},
                                                                   {DrawSource::kPython, "p2"}}) {
      ShownDraw& draw = draws.emplace_back();
      draw.source = source;
      draw.of_process = of_process;
      draw.bytes = bytes;
    }
    hub_->show_draws(draws);
  }
};

TEST_F(Draws, AreGivenBySourceAndSizeInTheirOrder) {
  show(false);
  execute("draws_for_a_request");
  // The next case has its own, at the same places.
  show(false);
  execute("draws_for_a_request");
}

TEST_F(Draws, InsideOfADrawAreAPartOfIt) {
  show(false);
  execute("draws_inside_of_a_draw");
}

TEST_F(Draws, AreForTheRequestOfATask) {
  show(false);
  execute("draws_for_a_task");
}

TEST_F(Draws, OfTheProcessAreForWhatItDoesByItself) {
  show(true);
  execute("draws_for_itself");
}

TEST_F(Draws, OfTheProcessAreThereWhileItStarts) {
  show(true);
  EXPECT_EQ(run("draws_while_it_starts", hub_->address(), "users"), 0);
}

TEST_F(Draws, OfACaseThatIsOverAreGone) {
  show(false);
  hub_->show_draws({});
  execute("draws_the_machines");
}

TEST_F(Draws, ThatHaveNoRoomAreLeftOut) {
  std::vector<ShownDraw> draws;
  const auto add = [&draws](DrawSource source, std::string bytes) {
    ShownDraw& draw = draws.emplace_back();
    draw.source = source;
    draw.bytes = std::move(bytes);
  };
  add(DrawSource::kDevice, std::string(kMaxDrawBytes + 1, 'x'));  // longer than any draw
  for (size_t i = 0; i < kMostOfLongest + 1; ++i)
    add(DrawSource::kDevice, std::string(kMaxDrawBytes, 'x'));
  add(DrawSource::kPython, "p1");
  hub_->show_draws(draws);
  execute("draws_what_has_room");
}

}  // namespace
}  // namespace filibuster::test::session
