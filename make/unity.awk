# Reads names of files, one a line, and prints `batch=file` for each. Writes each batch (dir/batch.cc, which includes its files)
# that is not yet as it should be. How many files a folder has decides, and not what stands in them: a change of
# one moves no other. Variables: dir; most: files of a batch; apart: files that share no batch with others of their folder.
BEGIN { split(apart, names, " "); for (i in names) is_apart[names[i]] = 1 }
{
  parts = split($0, part, "/")
  deep = part[1] == "core" ? 1 : part[1] == "tests" || /^preload\/(runtimes|protocols|tls)\// ? 3 : 2
  folder = part[1]
  for (i = 2; i <= deep && i < parts; ++i) folder = folder "/" part[i]
  if ($0 in is_apart) folder = folder "/apart"
  files[folder, ++count[folder]] = $0
}
END {
  for (folder in count) {
    batches = int((count[folder] + most - 1) / most)
    for (b = 0; b < batches; ++b) {
      batch = folder "/batch_" b + 1
      text = ""
      for (i = 1; i <= count[folder]; ++i) {
        if (int((i - 1) * batches / count[folder]) != b) continue
        text = text "#include \"" files[folder, i] "\"\n"
        print batch "=" files[folder, i]
      }
      write(dir "/" batch ".cc", text)
    }
  }
}
function write(path, text,    old, line, parent) {
  old = ""
  while ((getline line < path) > 0) old = old line "\n"
  close(path)
  if (old == text) return
  parent = path
  sub(/\/[^\/]*$/, "", parent)
  system("mkdir -p '" parent "'")
  printf "%s", text > path
  close(path)
}
