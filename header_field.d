header_field.o: core/rpc/header_field.cc core/rpc/header_field.h \
  core/hash.h core/text/hex.h

core/rpc/header_field.h:

core/hash.h:

core/text/hex.h:
