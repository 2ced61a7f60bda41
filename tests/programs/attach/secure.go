// Both ends of TLS in Go. secure serve PORT FOLDER: a server with cert.pem and key.pem of FOLDER, over HTTP/1.1 and HTTP/2.
// secure ask PORT URL: a service that asks URL, and answers with what it got, a word for each request: the status, or what
// the client says of a failure.
//
//	GET /each     /first, /second?x=1, then POST /third, from three functions, one after the other
//	GET /both     /left and /right from two goroutines at a time
//	GET /odd      a path that is sent escaped
//	GET /again    /first twice: from one function
//	GET /closing  /closing 30 times: the server answers with nothing, and closes the connection
//	GET /dropped  the server closes the connection without an answer
//	GET /crowd    /crowd/0 to /crowd/39 from a goroutine each, five times each
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

func serve(port, folder string) error {
	http.HandleFunc("/", func(writer http.ResponseWriter, request *http.Request) {
		io.Copy(io.Discard, request.Body)
		switch request.URL.Path {
		case "/second":
			writer.WriteHeader(500)
		case "/closing":
			writer.Header().Set("Connection", "close")
			writer.WriteHeader(204)
			return
		case "/dropped":
			if connection, _, err := writer.(http.Hijacker).Hijack(); err == nil {
				connection.(*tls.Conn).NetConn().Close()
			}
			return
		}
		fmt.Fprintln(writer, request.Proto)
	})
	return http.ListenAndServeTLS("127.0.0.1:"+port, folder+"/cert.pem", folder+"/key.pem", nil)
}

var client = &http.Client{Timeout: time.Second}
var back string

func word(answer *http.Response, err error) string {
	var network net.Error
	if errors.As(err, &network) && network.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return "timeout"
	}
	if err != nil {
		return "broken"
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return "cut"
	}
	return fmt.Sprint(answer.StatusCode)
}

//go:noinline
func first() string { return word(client.Get(back + "/first")) }

//go:noinline
func second() string { return word(client.Get(back + "/second?x=1")) }

//go:noinline
func third() string {
	return word(client.Post(back+"/third", "text/plain", strings.NewReader(strings.Repeat("text ", 20000))))
}

//go:noinline
func left() string { return word(client.Get(back + "/left")) }

//go:noinline
func right() string { return word(client.Get(back + "/right")) }

func answering(calls ...func() string) http.HandlerFunc {
	return func(writer http.ResponseWriter, _ *http.Request) {
		for _, call := range calls {
			fmt.Fprintln(writer, call())
		}
	}
}

func ask(port string) error {
	http.HandleFunc("/each", answering(first, second, third))
	http.HandleFunc("/again", answering(first, first))
	http.HandleFunc("/odd", answering(func() string { return word(client.Get(back + "/a%20b/c%2Fd?e=f%20g")) }))
	http.HandleFunc("/dropped", answering(func() string { return word(client.Get(back + "/dropped")) }))
	http.HandleFunc("/closing", func(writer http.ResponseWriter, _ *http.Request) {
		for i := 0; i < 30; i++ {
			fmt.Fprintln(writer, word(client.Get(back+"/closing")))
		}
	})
	http.HandleFunc("/crowd", func(writer http.ResponseWriter, _ *http.Request) {
		said := make(chan string)
		for i := 0; i < 40; i++ {
			go func(i int) {
				for n := 0; n < 5; n++ {
					said <- word(client.Get(fmt.Sprintf("%s/crowd/%d", back, i)))
				}
			}(i)
		}
		for i := 0; i < 200; i++ {
			fmt.Fprintln(writer, <-said)
		}
	})
	http.HandleFunc("/both", func(writer http.ResponseWriter, _ *http.Request) {
		var both sync.WaitGroup
		said := [2]string{}
		for i, call := range []func() string{left, right} {
			both.Add(1)
			go func(i int, call func() string) {
				defer both.Done()
				said[i] = call()
			}(i, call)
		}
		both.Wait()
		fmt.Fprintln(writer, said[0]+"\n"+said[1])
	})
	return http.ListenAndServe("127.0.0.1:"+port, nil)
}

func main() {
	if os.Args[1] == "serve" {
		fmt.Println(serve(os.Args[2], os.Args[3]))
		return
	}
	back = os.Args[3]
	fmt.Println(ask(os.Args[2]))
}
