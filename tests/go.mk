# Programs in Go, built by Debian's golang from Debian's packages, without the network. Where it is missing, what needs
# them is skipped. Included by the Makefile.
GO       := $(shell command -v go)
GO_STUBS := $(BUILD)/go
# Go's own cache, where the user has one: it serves every clone and every BUILD, as ccache does.
GO_CACHE := $(if $(HOME)$(GOCACHE),,GOCACHE="$(abspath $(BUILD)/go-cache)")
GO_BUILD  = GO111MODULE=off GOPATH="$(abspath $(GO_STUBS)):/usr/share/gocode" GOFLAGS= $(GO_CACHE) $(GO) build

# The example applications in Go: static, as Go programs mostly are.
GROCERY := $(BUILD)/corpus/grocery
GROCERY_PROGRAMS := $(addprefix $(GROCERY)/,shop pricing stock warehouse)
$(GO_STUBS)/src/grocery/stockpb/stock.pb.go: corpus/grocery/stock.proto
	@mkdir -p $(GO_STUBS)/src
	protoc -Icorpus/grocery --go_out=plugins=grpc:$(GO_STUBS)/src stock.proto
$(GROCERY_PROGRAMS): $(GROCERY)/%: $(GO_STUBS)/src/grocery/stockpb/stock.pb.go $(wildcard corpus/grocery/*/*.go)
	@mkdir -p $(@D)
	CGO_ENABLED=0 $(GO_BUILD) -ldflags='-s -w' -o $@ $(filter-out %_test.go,$(wildcard corpus/grocery/$*/*.go))
$(BUILD)/corpus/cinema-2/bookings: corpus/cinema-2/bookings.go
	@mkdir -p $(@D)
	CGO_ENABLED=0 $(GO_BUILD) -ldflags='-s -w' -o $@ $<
# What Go's tables are read from (tests/unit/core/go_table_test.cc): each a way to build and link.
GO_TABLES := $(addprefix $(BUILD)/tests/go/,static stripped pie cgo cgo_pie no_sections)
$(BUILD)/tests/go/static:   GO_HOW := CGO_ENABLED=0 $(GO_BUILD)
$(BUILD)/tests/go/stripped: GO_HOW := CGO_ENABLED=0 $(GO_BUILD) -ldflags='-s -w'
$(BUILD)/tests/go/pie:      GO_HOW := CGO_ENABLED=0 $(GO_BUILD) -buildmode=pie
$(BUILD)/tests/go/cgo:      GO_HOW := CGO_ENABLED=1 $(GO_BUILD) -ldflags='-linkmode external -s -w'
$(BUILD)/tests/go/cgo_pie:  GO_HOW := CGO_ENABLED=1 $(GO_BUILD) -buildmode=pie -ldflags='-linkmode external'
$(BUILD)/tests/go/%: tests/programs/go/table.go
	@mkdir -p $(@D)
	$(GO_HOW) -o $@ $<
# As a file looks from which all names of sections were taken away: e_shoff, e_shnum and e_shstrndx are 0.
$(BUILD)/tests/go/no_sections: $(BUILD)/tests/go/stripped
	cp $< $@ && printf '\0\0\0\0\0\0\0\0' | dd of=$@ bs=1 seek=40 conv=notrunc status=none && printf '\0\0\0\0' | dd of=$@ bs=1 seek=60 conv=notrunc status=none
ifneq ($(GO),)
$(BUILD)/tests/unit_core $(BUILD)/tests/unit_bpf: | $(GO_TABLES)
$(BUILD)/tests/unit_bpf: | $(GROCERY_PROGRAMS) $(BUILD)/tests/go/secure
endif

.PHONY: go-corpus
ifneq ($(GO),)
go-corpus: $(GROCERY_PROGRAMS) $(BUILD)/corpus/cinema-2/bookings
else
go-corpus:
	@echo "WARNING: the examples in Go (grocery, cinema-2/go.json) are not built, and their tests are skipped: apt-get install golang-go golang-google-grpc-dev protoc-gen-go-1-3" >&2
endif
corpus: go-corpus

# Static services for the tests of attach, one of them stripped.
$(BUILD)/tests/go/front: tests/programs/attach/front.go
	@mkdir -p $(@D)
	CGO_ENABLED=0 $(GO_BUILD) -o $@ $<
$(BUILD)/tests/go/secure: tests/programs/attach/secure.go
	@mkdir -p $(@D)
	CGO_ENABLED=0 $(GO_BUILD) -ldflags='-s -w' -o $@ $<
ifneq ($(GO),)
test-programs: $(BUILD)/tests/go/front $(BUILD)/tests/go/secure
endif
