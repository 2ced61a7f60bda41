// Pricing: what a product costs today.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"
)

// Cents.
var prices = map[string]int{"apples": 250, "bread": 320}

func price(w http.ResponseWriter, r *http.Request) {
	cents, known := prices[strings.TrimPrefix(r.URL.Path, "/price/")]
	if !known {
		http.Error(w, "no such product", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]int{"cents": cents})
}

func main() {
	port := flag.Int("port", 0, "where to listen")
	flag.Parse()
	http.HandleFunc("/price/", price)
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), nil))
}
