#!/bin/sh
# Prints the commit that a branch's changes are counted from: where it left main, or the one before HEAD on main itself.
head=$(git rev-parse HEAD) || exit 1
for main in origin/main main; do
  base=$(git merge-base HEAD "$main" 2>/dev/null) && [ "$base" != "$head" ] && { echo "$base"; exit 0; }
done
git rev-parse --verify --quiet HEAD^ || echo "$head"
