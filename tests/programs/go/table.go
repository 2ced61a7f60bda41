// Prints where it is called, as its own runtime knows it: what another reader of its table must say, too.
package main

import (
	"fmt"
	"reflect"
	"runtime"
)

type node struct{ pcs []uintptr }

//go:noinline
func (n *node) record() { n.pcs = n.pcs[:runtime.Callers(1, n.pcs)] }

// Small enough to be inlined, twice.
func inner(n *node) { n.record() }
func middle(n *node) {
	inner(n)
}

//go:noinline
func outer(n *node) {
	middle(n)
}

func generic[T any](n *node, _ T) {
	func() { outer(n) }()
}

func main() {
	n := &node{make([]uintptr, 64)}
	generic(n, 7)
	fmt.Printf("version %s\n", runtime.Version())
	fmt.Printf("main %d\n", reflect.ValueOf(main).Pointer())
	// One address for each frame of the machine's stack; Callers has one for each inlined call, too.
	frames, inlined := runtime.CallersFrames(n.pcs), false
	for _, pc := range n.pcs {
		frame, _ := frames.Next()
		if !inlined {
			fmt.Printf("pc %d\n", pc)
		}
		fmt.Printf("frame %s %s:%d\n", frame.Function, frame.File, frame.Line)
		inlined = frame.Func == nil
	}
}
