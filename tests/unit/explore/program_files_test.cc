#include "daemon/explore/program_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace filibuster::test {
namespace {

namespace fs = std::filesystem;

class FilesOfPrograms : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const fs::path path = fs::path(folder_.path()) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // Names relative to the folder.
  std::vector<std::string> named(const std::vector<std::string>& argv) const {
    ProgramFiles files("");
    files.add_command(argv, folder_.path(), "");
    return names(files);
  }
  std::vector<std::string> names(const ProgramFiles& files) const {
    std::vector<std::string> out;
    for (const auto& [path, digest] : files.files()) {
      if (path.starts_with(folder_.path())) out.push_back(path.substr(folder_.path().size() + 1));
    }
    return out;
  }
  TemporaryFolder folder_;
};

using Names = std::vector<std::string>;

TEST_F(FilesOfPrograms, OfACommandAreThoseThatItNames) {
  for (const char* name : {"run", "app.py", "a.jar", "lib/b.jar", "data.txt", "other.py"})
    write(name, name);
  fs::permissions(folder_.path() + "/run", fs::perms::owner_all);
  EXPECT_EQ(named({"./run", "--port", "80"}), Names{"run"});
  EXPECT_EQ(named({"/bin/sh", "-c", "set -e; exec python3 'app.py' --port 80; true"}),
            (Names{"app.py"}));
  EXPECT_EQ(named({"java", "-cp", "a.jar:lib/b.jar", "Main"}), (Names{"a.jar", "lib/b.jar"}));
  EXPECT_EQ(named({"x", "--app=app.py", "nothing.py", "data.txt"}), Names{"app.py"});
  EXPECT_EQ(named({"java", "-cp", "lib"}), Names{"lib/b.jar"}) << "a folder of code";
}

TEST_F(FilesOfPrograms, OfAFolderAreItsCode) {
  for (const char* name : {"app.py", "deep/er/b.js", "data.db", "app.pyc", ".hidden/c.py",
                           "node_modules/d.js", "venv/pyvenv.cfg", "venv/e.py", "state/f.py"})
    write(name, name);
  ProgramFiles files(folder_.path() + "/state");
  files.add_folder(folder_.path());
  EXPECT_EQ(names(files), (Names{"app.py", "deep/er/b.js"}));
}

TEST_F(FilesOfPrograms, OfEachFolderAreLookedAtHoweverMuchDataAnotherOneHas) {
  for (const char* name :
       {"a/1.dat", "a/2.dat", "a/3.dat", "a/4.dat", "a/5.dat", "a/x.py", "b/y.py"})
    write(name, name);
  ProgramFiles files("", 4);
  for (const char* folder : {"/a", "/a/", "/b"}) files.add_folder(folder_.path() + folder);
  EXPECT_EQ(names(files), (Names{"a/x.py", "b/y.py"}));
  files.add_folder(folder_.path());
  EXPECT_EQ(names(files), (Names{"a/x.py", "b/y.py"}));
}

TEST_F(FilesOfPrograms, ThatAreMoreThanIsLookedAtAreSaidToBe) {
  for (const char* name : {"a/1.py", "a/2.py", "a/3.py"}) write(name, name);
  ProgramFiles files("", 2);
  files.add_folder(folder_.path() + "/a");
  const Names found = names(files);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(std::count(found.begin(), found.end(),
                       "a: more than 2 entries; what is beyond them is not compared"),
            1);
}

TEST_F(FilesOfPrograms, AreComparedByWhatIsInThem) {
  const auto now = [&] {
    ProgramFiles files("");
    files.add_folder(folder_.path());
    return files.files();
  };
  write("a.py", "1");
  write("b.py", "2");
  const auto before = now();
  fs::last_write_time(folder_.path() + "/a.py", fs::file_time_type::clock::now());
  EXPECT_EQ(difference(before, now()), "");
  write("a.py", "3");
  EXPECT_EQ(difference(before, now()), folder_.path() + "/a.py has changed");
  write("c.py", "");
  fs::remove(folder_.path() + "/b.py");
  EXPECT_EQ(difference(before, now()), folder_.path() + "/a.py has changed, and 2 more differ");
}

}  // namespace
}  // namespace filibuster::test
