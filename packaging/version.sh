#!/bin/sh
# Prints the version of this source, as a tag has it behind its "v".
sed -n 's/.*kVersion\[\] = "\(.*\)".*/\1/p' "$(dirname "$0")/../core/version.h"
