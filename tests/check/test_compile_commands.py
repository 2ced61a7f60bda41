"""compile_commands.json from what make would run."""

import compile_commands


def test_each_file_has_the_flags_of_its_first_command_and_other_lines_have_none():
    lines = ["mkdir -p build/obj/core", "ccache g++ -I. -DX='a b' -c core/hash.cc -o build/obj/core/hash.o",
             "g++ -fPIC -c core/hash.cc -o build/obj/pic/hash.o", "echo 'an unfinished line",
             "gcc -c llhttp/api.c -o api.o"]
    assert list(compile_commands.entries(lines, "/here")) == [
        {"directory": "/here", "file": "core/hash.cc",
         "arguments": ["g++", "-I.", "-DX=a b", "-c", "core/hash.cc", "-o", "build/obj/core/hash.o"]},
        {"directory": "/here", "file": "llhttp/api.c", "arguments": ["gcc", "-c", "llhttp/api.c", "-o", "api.o"]}]
