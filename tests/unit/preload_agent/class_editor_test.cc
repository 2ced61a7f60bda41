#include "preload/runtimes/jvm/class_editor.h"

#include <gtest/gtest.h>

#include "tests/unit/preload_agent/class_recipe.h"

namespace filibuster::preload::jvm {
namespace {

constexpr Method kRun{"app/Self", "run", "()V"};
constexpr Method kHelper{"app/Helper", "help", "()V"};

struct Edited {
  EditResult result;
  Bytes bytes;
};
Edited edited(const Bytes& file, std::span<const Edit> edits, size_t room = kEditRoom) {
  std::vector<uint32_t> scratch(65536);
  Edited out;
  out.bytes.resize(file.size() + room);
  out.result = edit_class(file, edits, scratch, out.bytes);
  out.bytes.resize(out.result.size);
  return out;
}

Edit enter() {
  return {kRun, Edit::Kind::kEnter, false, 0, {}, kHelper};
}

// The number of the method that edit `i` calls, in a class of `constants` constants.
uint16_t helper_of(uint16_t constants, int i = 0) {
  return static_cast<uint16_t>(constants + 6 * i + 5);
}
Bytes with_number(Bytes bytes, size_t at, uint16_t number) {
  bytes[at] = static_cast<uint8_t>(number >> 8);
  bytes[at + 1] = static_cast<uint8_t>(number);
  return bytes;
}

TEST(ClassEditor, LeavesAFileAsItIsWithoutEdits) {
  ClassRecipe recipe;
  recipe.constants.number(7);
  const Bytes file = recipe.file();
  const Edited same = edited(file, {}, 0);
  EXPECT_EQ(same.result.size, file.size());
  EXPECT_EQ(same.bytes, file);
}

TEST(ClassEditor, CallsAHelperAtTheBeginning) {
  ClassRecipe recipe;
  const Bytes file = recipe.file();
  const Edit edit = enter();
  const Edited out = edited(file, {&edit, 1});
  ASSERT_EQ(out.result.done, 1u);
  const MethodFound method = ClassReader(out.bytes).method();
  EXPECT_EQ(method.code, with_number({184, 0, 0, 0, 177}, 1, helper_of(recipe.constants.count())));
  EXPECT_EQ(method.stack, 2u) << "room for the helper's arguments";
  EXPECT_EQ(edited(out.bytes, {}, 0).bytes, out.bytes) << "and is a class file again";
}

TEST(ClassEditor, ReplacesAnArgument) {
  ClassRecipe recipe;
  const Edit edit{kRun, Edit::Kind::kArgument, true, 3, {}, kHelper};
  const Edited out = edited(recipe.file(), {&edit, 1});
  ASSERT_EQ(out.result.done, 1u);
  // aload_0, aload 3, invokestatic, astore 3
  EXPECT_EQ(ClassReader(out.bytes).method().code, with_number({42, 25, 3, 184, 0, 0, 58, 3, 177}, 4,
                                                              helper_of(recipe.constants.count())));
}

TEST(ClassEditor, ShowsAnArgument) {
  ClassRecipe recipe;
  const Edit edit{kRun, Edit::Kind::kSee, true, 3, {}, kHelper};
  const Edited out = edited(recipe.file(), {&edit, 1});
  ASSERT_EQ(out.result.done, 1u);
  // aload_0, aload 3, invokestatic, nop nop
  EXPECT_EQ(ClassReader(out.bytes).method().code,
            with_number({42, 25, 3, 184, 0, 0, 0, 0, 177}, 4, helper_of(recipe.constants.count())));
}

TEST(ClassEditor, FindsAMethodByTheBeginningOfItsDescriptor) {
  for (const std::string_view pattern : {"*", "(*", "()V", "()V*"}) {
    Edit edit = enter();
    edit.in.descriptor = pattern;
    EXPECT_EQ(edited(ClassRecipe{}.file(), {&edit, 1}).result.done, 1u) << pattern;
  }
  for (const std::string_view pattern : {"", "(I*", "()V)*", "()"}) {
    Edit edit = enter();
    edit.in.descriptor = pattern;
    EXPECT_EQ(edited(ClassRecipe{}.file(), {&edit, 1}).result.done, 0u) << pattern;
  }
}

TEST(ClassEditor, MovesWhatNamesPositions) {
  ClassRecipe recipe;
  recipe.stack = 5;
  recipe.handlers = {0, 0, 0, 1, 0, 1, 0, 0};
  recipe.attributes.push_back(recipe.attribute("LineNumberTable", {0, 1, 0, 0, 0, 9}));
  recipe.attributes.push_back(
      recipe.attribute("LocalVariableTable", {0, 1, 0, 0, 0, 1, 0, 2, 0, 3, 0, 0}));
  recipe.attributes.push_back(recipe.attribute("Unknown", {0, 1, 0, 0}));
  const Edit edit = enter();
  const Edited out = edited(recipe.file(), {&edit, 1});
  ASSERT_EQ(out.result.done, 1u);
  const MethodFound method = ClassReader(out.bytes).method();
  EXPECT_EQ(method.stack, 5u);
  EXPECT_EQ(method.handlers, (Bytes{0, 4, 0, 5, 0, 5, 0, 0}));
  EXPECT_EQ(method.attributes[0], (Bytes{0, 1, 0, 4, 0, 9}));
  EXPECT_EQ(method.attributes[1], (Bytes{0, 1, 0, 4, 0, 1, 0, 2, 0, 3, 0, 0}));
  EXPECT_EQ(method.attributes[2], (Bytes{0, 1, 0, 0})) << "not understood, not touched";
}

Bytes frames_after(const Bytes& frames) {
  ClassRecipe recipe;
  recipe.attributes.push_back(recipe.attribute("StackMapTable", frames));
  const Edit edit = enter();
  const Edited out = edited(recipe.file(), {&edit, 1});
  return out.result.size == 0 ? Bytes{} : ClassReader(out.bytes).method().attributes.at(0);
}

TEST(ClassEditor, MovesTheFirstFrameOnly) {
  EXPECT_EQ(frames_after({0, 2, 10, 20}), (Bytes{0, 2, 14, 20}));         // same
  EXPECT_EQ(frames_after({0, 1, 62}), (Bytes{0, 1, 251, 0, 66}));         // grows
  EXPECT_EQ(frames_after({0, 1, 64, 1}), (Bytes{0, 1, 68, 1}));           // one on the stack
  EXPECT_EQ(frames_after({0, 1, 126, 1}), (Bytes{0, 1, 247, 0, 66, 1}));  // grows
  EXPECT_EQ(frames_after({0, 1, 247, 0, 9, 7, 0, 1}), (Bytes{0, 1, 247, 0, 13, 7, 0, 1}));
  EXPECT_EQ(frames_after({0, 2, 250, 0, 1, 250, 0, 1}), (Bytes{0, 2, 250, 0, 5, 250, 0, 1}));
  EXPECT_EQ(frames_after({0, 1, 253, 0, 1, 1, 2}), (Bytes{0, 1, 253, 0, 5, 1, 2}));  // append two
  // Full, with an uninitialized object: named by the position of its `new`, in every frame.
  EXPECT_EQ(frames_after({0, 2, 251, 0, 1, 255, 0, 1, 0, 1, 1, 0, 1, 8, 0, 2}),
            (Bytes{0, 2, 251, 0, 5, 255, 0, 1, 0, 1, 1, 0, 1, 8, 0, 6}));
}

TEST(ClassEditor, RefusesReservedFrames) {
  EXPECT_EQ(frames_after({0, 1, 128}), Bytes{});
  EXPECT_EQ(frames_after({0, 1, 246}), Bytes{});
  EXPECT_EQ(frames_after({0, 9, 0}), Bytes{}) << "fewer than it says";
}

Edit replaced_call(std::string_view owner) {
  return {kRun, Edit::Kind::kCall, false, 0, {owner, "go", "()V"}, kHelper};
}

TEST(ClassEditor, ReplacesCallsInPlace) {
  ClassRecipe recipe;
  const uint16_t virtual_call = recipe.constants.method(10, "app/Other", "go", "()V");
  const uint16_t interface_call = recipe.constants.method(11, "app/Face", "go", "()V");
  // invokevirtual, invokeinterface count 0, iinc whose operands look like a call, return
  recipe.code = {182, 0, 0, 185, 0, 0, 1, 0, 132, 182, 0, 177};
  recipe.code = with_number(with_number(recipe.code, 1, virtual_call), 4, interface_call);
  const Bytes file = recipe.file();
  const uint16_t constants = recipe.constants.count();
  const Edit edits[] = {replaced_call("app/Other"), replaced_call("app/Face")};
  const Edited out = edited(file, edits);
  ASSERT_EQ(out.result.done, 3u);
  Bytes expected = {184, 0, 0, 184, 0, 0, 0, 0, 132, 182, 0, 177};
  expected =
      with_number(with_number(expected, 1, helper_of(constants)), 4, helper_of(constants, 1));
  EXPECT_EQ(ClassReader(out.bytes).method().code, expected);
  const Edit other = replaced_call("app/Nobody");
  EXPECT_EQ(edited(file, {&other, 1}).result.done, 0u);
}

TEST(ClassEditor, StepsOverSwitchesAndWideInstructions) {
  ClassRecipe recipe;
  const uint16_t call = recipe.constants.method(10, "app/Other", "go", "()V");
  // At 1: tableswitch 0..1 with two bytes of padding; lookupswitch of one pair; wide iinc; the
  // call.
  recipe.code = {0,   170, 0, 0, 0, 0, 0,   9, 0,   0,   0, 0, 0, 0, 0,   1, 0, 0,
                 0,   9,   0, 0, 0, 9, 171, 0, 0,   0,   0, 0, 0, 9, 0,   0, 0, 1,
                 182, 0,   0, 0, 0, 0, 0,   9, 196, 132, 0, 1, 0, 1, 182, 0, 0, 177};
  recipe.code = with_number(recipe.code, recipe.code.size() - 3, call);
  const Edit edit = replaced_call("app/Other");
  const Edited out = edited(recipe.file(), {&edit, 1});
  ASSERT_EQ(out.result.done, 1u);
  const Bytes code = ClassReader(out.bytes).method().code;
  EXPECT_EQ(code[code.size() - 4], 184);
  EXPECT_EQ(code[36], 182) << "a key of the switch that looks like a call";
}

TEST(ClassEditor, RefusesCodeThatItCannotRead) {
  for (const Bytes& code :
       {Bytes{202, 177}, Bytes{170, 0, 0}, Bytes{171, 0, 0, 0, 0, 0, 0, 0, 255}}) {
    ClassRecipe recipe;
    recipe.code = code;
    const Edit edit = enter();
    EXPECT_EQ(edited(recipe.file(), {&edit, 1}).result.size, 0u);
  }
}

TEST(ClassEditor, RefusesWhatWouldBeTooLong) {
  ClassRecipe recipe;
  recipe.code.assign(0xffff, 0);
  const Edit edit = enter();
  EXPECT_EQ(edited(recipe.file(), {&edit, 1}).result.size, 0u) << "JVMS 4.7.3";
  recipe = {};
  recipe.code.assign(0xfffb, 0);
  EXPECT_NE(edited(recipe.file(), {&edit, 1}).result.size, 0u);
  const std::vector<Edit> many(kMaxEdits + 1, enter());
  EXPECT_EQ(edited(ClassRecipe{}.file(), many).result.size, 0u);
}

TEST(ClassEditor, RefusesConstantsThatItCannotRead) {
  ClassRecipe recipe;
  recipe.constants.raw({2, 0, 0});  // no such tag
  EXPECT_EQ(edited(recipe.file(), {}).result.size, 0u);
  Bytes none = ClassRecipe{}.file();
  none[8] = none[9] = 0;  // "no constants", not even the one that has no number
  EXPECT_EQ(edited(none, {}).result.size, 0u);
  Bytes half;
  put(&half, 0xCAFEBABE, 4);
  put(&half, 61, 4);
  put(&half, 2, 2);  // one constant: half of a long
  put(&half, 5, 1);
  half.resize(half.size() + 60);
  EXPECT_EQ(edited(half, {}).result.size, 0u);
  ClassRecipe full;
  while (full.constants.count() < 0xfff0) full.constants.raw({3, 0, 0, 0, 0});
  const Edit edits[] = {enter(), enter(), enter()};
  EXPECT_EQ(edited(full.file(), edits).result.size, 0u) << "no number is left";
  const Bytes file = ClassRecipe{}.file();
  std::vector<uint32_t> scratch(4);
  Bytes out(file.size() + kEditRoom);
  EXPECT_EQ(edit_class(file, {}, scratch, out).size, 0u);
}

TEST(ClassEditor, RefusesEveryTruncationAndEveryShortBuffer) {
  ClassRecipe recipe;
  recipe.handlers = {0, 0, 0, 1, 0, 1, 0, 0};
  recipe.attributes.push_back(recipe.attribute("StackMapTable", {0, 1, 10}));
  const Bytes file = recipe.file();
  const Edit edit = enter();
  const size_t whole = edited(file, {&edit, 1}).result.size;
  // The attributes of the class, two bytes here, pass as they are: the machine reads them.
  for (size_t size = 0; size < file.size() - 2; ++size) {
    EXPECT_EQ(
        edited(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)), {&edit, 1})
            .result.size,
        0u)
        << size;
  }
  for (size_t room = 0; room < whole - file.size(); ++room)
    EXPECT_EQ(edited(file, {&edit, 1}, room).result.size, 0u) << room;
  EXPECT_EQ(edited(file, {&edit, 1}, whole - file.size()).result.size, whole);
  Bytes damaged = file;
  damaged[0] = 0;
  EXPECT_EQ(edited(damaged, {&edit, 1}).result.size, 0u);
}

TEST(ClassEditor, FindsNothingInOtherMethods) {
  ClassRecipe recipe;
  recipe.name = "other";
  const Edit edit = enter();
  const Edited out = edited(recipe.file(), {&edit, 1});
  EXPECT_NE(out.result.size, 0u);
  EXPECT_EQ(out.result.done, 0u);
}

}  // namespace
}  // namespace filibuster::preload::jvm
