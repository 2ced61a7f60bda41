// A service in Go: front PORT BACK_URL [--bug]. It asks BACK_URL from two functions, and answers 503 if one of
// them fails; with --bug, a second call that fails is forgotten about and ends the program.
package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

var client = &http.Client{Timeout: time.Second}
var back = os.Args[2]

func get(path string) error {
	answer, err := client.Get(back + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, answer.Body)
	if answer.StatusCode >= 400 {
		return errors.New(answer.Status)
	}
	return nil
}

//go:noinline
func firstCall() error { return get("first") }

//go:noinline
func secondCall() error { return get("second") }

func main() {
	bug := len(os.Args) > 3
	http.HandleFunc("/", func(writer http.ResponseWriter, request *http.Request) {
		if firstCall() != nil {
			writer.WriteHeader(503)
			return
		}
		if secondCall() != nil {
			if bug {
				os.Exit(7)
			}
			writer.WriteHeader(503)
			return
		}
		fmt.Fprintln(writer, "ok")
	})
	fmt.Println(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
