// Warehouse: how many of a product lie on the shelf.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"
)

var shelves = map[string]int{"apples": 12, "bread": 0}

func shelf(w http.ResponseWriter, r *http.Request) {
	count, known := shelves[strings.TrimPrefix(r.URL.Path, "/shelf/")]
	if !known {
		http.Error(w, "no such product", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]int{"count": count})
}

func main() {
	port := flag.Int("port", 0, "where to listen")
	flag.Parse()
	http.HandleFunc("/shelf/", shelf)
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), nil))
}
