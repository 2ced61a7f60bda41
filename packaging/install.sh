#!/usr/bin/env bash
# install.sh DESTDIR PREFIX: installs what BUILD holds. The names of all files, without DESTDIR, go into
# PREFIX/share/filibuster/installed, for uninstall.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
destdir=$1 prefix=$2 build=${BUILD:-build}
list=()

put() {  # MODE FILE NAME
  install -Dm"$1" "$2" "$destdir$prefix/$3"
  list+=("$prefix/$3")
}

for program in filibuster filibusterd; do put 755 "$build/bin/$program" "bin/$program"; done
put 644 "$build/lib/libfilibuster.so" lib/libfilibuster.so
(cd "$build/lib" && find filibuster -type f -not -path '*/__pycache__/*' | LC_ALL=C sort) > "$build/installed.helpers"
while read -r helper; do put "$([ -x "$build/lib/$helper" ] && [[ $helper == filibuster/filibuster-* ]] && echo 755 || echo 644)" "$build/lib/$helper" "lib/$helper"; done < "$build/installed.helpers"
[ -e "$build/lib/filibuster/report.html" ] || echo "install: report.html was not built (no npm), so \`run\` writes no page" >&2
[ -e "$build/lib/filibuster/filibuster-bpf" ] || echo "install: filibuster-bpf was not built, so services cannot be attached" >&2

for helper in cli/python/*.py cli/c/*.h cli/node/*.cjs cli/node/*.cts cli/java/*.java; do put 644 "$helper" "share/filibuster/$(basename "$helper")"; done
put 644 docs/filibuster.schema.json share/filibuster/filibuster.schema.json
for schema in docs/schema/*.json; do put 644 "$schema" "share/filibuster/schema/$(basename "$schema")"; done
for page in README.md LICENSE CHANGELOG.md CONTRIBUTING.md docs/*.md docs/*.png; do put 644 "$page" "share/doc/filibuster/$page"; done
for page in docs/man/*.[158]; do put 644 "$page" "share/man/man${page##*.}/$(basename "$page")"; done
"$build/bin/filibuster" completion bash > "$build/completion.bash"
"$build/bin/filibuster" completion zsh > "$build/completion.zsh"
put 644 "$build/completion.bash" share/bash-completion/completions/filibuster
put 644 "$build/completion.zsh" share/zsh/vendor-completions/_filibuster

list+=("$prefix/share/filibuster/installed")
printf '%s\n' "${list[@]}" > "$destdir$prefix/share/filibuster/installed"
chmod 644 "$destdir$prefix/share/filibuster/installed"
