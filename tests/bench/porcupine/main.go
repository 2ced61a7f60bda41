// Checks files with Porcupine (github.com/anishathalye/porcupine, which the user has brought), beside linear_bench.cc:
//
//	porcupine etcd|kv|kv-one-object FILE...
//
// etcd: logs of Jepsen on a register with compare-and-set; kv: values by key in EDN, each key alone, or all as one
// object. Prints {"linearisable": N, "not": N, "read_ms": MS, "check_ms": MS, "kib": N}.
package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// A line of a file, whatever its format is.
type line struct {
	process, kind, f, key, value string
}

// "INFO  jepsen.util - 0	:invoke	:cas	[3 4]"
func logLine(text string) (line, bool) {
	at := strings.Index(text, " - ")
	if at < 0 {
		return line{}, false
	}
	fields := strings.Fields(text[at+3:])
	if len(fields) < 4 || !strings.HasPrefix(fields[1], ":") {
		return line{}, false
	}
	return line{fields[0], fields[1][1:], fields[2][1:], "", strings.Join(fields[3:], " ")}, true
}

// What stands behind `name` of a map in EDN: a word, or a text without its quotes.
func member(text, name string) string {
	at := strings.Index(text, name+" ")
	if at < 0 {
		return ""
	}
	rest := text[at+len(name)+1:]
	if strings.HasPrefix(rest, "\"") {
		return rest[1 : 1+strings.Index(rest[1:], "\"")]
	}
	return strings.TrimPrefix(rest[:strings.IndexAny(rest, ",}")], ":")
}

// {:process 9, :type :invoke, :f :append, :key "0", :value "x 9 0 y"}
func mapLine(text string) (line, bool) {
	if !strings.HasPrefix(text, "{") {
		return line{}, false
	}
	return line{member(text, ":process"), member(text, ":type"), member(text, ":f"), member(text, ":key"), member(text, ":value")}, true
}

func read(path string, parse func(string) (line, bool), of func(line) interface{}, unknown interface{}) []porcupine.Event {
	text, err := os.ReadFile(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var events []porcupine.Event
	open := map[string]int{}
	clients := map[string]int{}
	for _, each := range strings.Split(string(text), "\n") {
		found, ok := parse(each)
		if !ok {
			continue
		}
		client, known := clients[found.process]
		if !known {
			client = len(clients)
			clients[found.process] = client
		}
		if found.kind == "invoke" {
			id := len(events)
			open[found.process] = id
			events = append(events, porcupine.Event{ClientId: client, Kind: porcupine.CallEvent, Value: of(found), Id: id})
		} else if found.kind == "ok" || found.kind == "fail" {
			events = append(events, porcupine.Event{ClientId: client, Kind: porcupine.ReturnEvent, Value: of(found), Id: open[found.process]})
			delete(open, found.process)
		}
	}
	for process, id := range open {
		events = append(events, porcupine.Event{ClientId: clients[process], Kind: porcupine.ReturnEvent, Value: unknown, Id: id})
	}
	return events
}

// An operation on a register, and its answer. `absent` stands for nil, and for nothing.
const absent = -1000000

type call struct {
	f         byte // r, w or c
	one, two  int
	ok, known bool
}

func callOf(from line) interface{} {
	out := call{f: from.f[0], one: absent, ok: from.kind == "ok", known: from.value != ":timed-out"}
	fields := strings.Fields(strings.Trim(from.value, "[]"))
	if len(fields) > 0 && fields[0] != "nil" && out.known {
		out.one, _ = strconv.Atoi(fields[0])
	}
	if len(fields) > 1 {
		out.two, _ = strconv.Atoi(fields[1])
	}
	return out
}

var register = porcupine.Model{
	Init: func() interface{} { return absent },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		asked, answered := input.(call), output.(call)
		switch asked.f {
		case 'r':
			return !answered.known || answered.one == state.(int), state
		case 'w':
			return true, asked.one
		}
		fits := asked.one == state.(int)
		if fits {
			return !answered.known || answered.ok, asked.two
		}
		return !answered.known || !answered.ok, state
	},
	Hash: func(state interface{}) uint64 { return uint64(state.(int)) },
}

type access struct {
	f          byte // g, p or a
	key, value string
}

func accessOf(from line) interface{} { return access{from.f[0], from.key, from.value} }

func hashOf(texts ...string) uint64 {
	h := fnv.New64a()
	for _, text := range texts {
		h.Write([]byte(text))
	}
	return h.Sum64()
}

func byKey(history []porcupine.Event) [][]porcupine.Event {
	parts := map[string][]porcupine.Event{}
	keys := map[int]string{}
	for _, event := range history {
		if event.Kind == porcupine.CallEvent {
			keys[event.Id] = event.Value.(access).key
		}
		parts[keys[event.Id]] = append(parts[keys[event.Id]], event)
	}
	var out [][]porcupine.Event
	for _, part := range parts {
		out = append(out, part)
	}
	return out
}

func stepOfText(state string, asked, answered access) (bool, string) {
	switch asked.f {
	case 'g':
		return answered.value == state, state
	case 'p':
		return true, asked.value
	}
	return true, state + asked.value
}

var eachKey = porcupine.Model{
	PartitionEvent: byKey,
	Init:           func() interface{} { return "" },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		return stepOfText(state.(string), input.(access), output.(access))
	},
	Hash: func(state interface{}) uint64 { return hashOf(state.(string)) },
}

// As Porcupine's own tests do it: a map that is copied for each write.
var allKeys = porcupine.Model{
	Init: func() interface{} { return map[string]string{} },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		before, asked := state.(map[string]string), input.(access)
		fits, value := stepOfText(before[asked.key], asked, output.(access))
		if asked.f == 'g' {
			return fits, state
		}
		after := make(map[string]string, len(before)+1)
		for key, each := range before {
			after[key] = each
		}
		after[asked.key] = value
		return fits, after
	},
	Equal: func(one, other interface{}) bool {
		a, b := one.(map[string]string), other.(map[string]string)
		if len(a) != len(b) {
			return false
		}
		for key, value := range a {
			if b[key] != value {
				return false
			}
		}
		return true
	},
	Hash: func(state interface{}) uint64 {
		var out uint64
		for key, value := range state.(map[string]string) {
			out ^= hashOf(key, value)
		}
		return out
	},
}

// The most that this program had, in KiB.
func mostMemory() int {
	text, _ := os.ReadFile("/proc/self/status")
	for _, each := range strings.Split(string(text), "\n") {
		if fields := strings.Fields(each); len(fields) > 1 && fields[0] == "VmHWM:" {
			out, _ := strconv.Atoi(fields[1])
			return out
		}
	}
	return 0
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "porcupine etcd|kv|kv-one-object FILE...")
		os.Exit(2)
	}
	model, parse, of, unknown := register, logLine, callOf, interface{}(call{})
	if os.Args[1] != "etcd" {
		model, parse, of, unknown = eachKey, mapLine, accessOf, interface{}(access{})
	}
	if os.Args[1] == "kv-one-object" {
		model = allKeys
	}
	var reading, checking time.Duration
	verdicts := map[bool]int{}
	for _, path := range os.Args[2:] {
		begun := time.Now()
		events := read(path, parse, of, unknown)
		middle := time.Now()
		verdicts[porcupine.CheckEvents(model, events)]++
		reading += middle.Sub(begun)
		checking += time.Since(middle)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]interface{}{
		"linearisable": verdicts[true], "not": verdicts[false],
		"read_ms": reading.Seconds() * 1000, "check_ms": checking.Seconds() * 1000, "kib": mostMemory()})
}
