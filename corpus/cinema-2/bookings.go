// Bookings in Go: what bookings.py does.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

var booked = map[string]map[string][]string{"chris_rivers": {"20151201": {"267eedb8-0f5d-42d5-8f43-72426b9fb3e6"}}}

var client = http.Client{Timeout: time.Second}

func movie(id string) (json.RawMessage, error) {
	response, err := client.Get(os.Getenv("MOVIES_URL") + "/movies/" + id)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("movies says %s", response.Status)
	}
	var known json.RawMessage
	err = json.NewDecoder(response.Body).Decode(&known)
	return known, err
}

func bookings(w http.ResponseWriter, r *http.Request) {
	dates, known := booked[strings.TrimPrefix(r.URL.Path, "/bookings/")]
	if !known {
		http.Error(w, "no such user", http.StatusNotFound)
		return
	}
	answer := map[string][]json.RawMessage{}
	for date, ids := range dates {
		for _, id := range ids {
			found, err := movie(id)
			if err != nil {
				http.Error(w, "movies unavailable", http.StatusServiceUnavailable)
				return
			}
			answer[date] = append(answer[date], found)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer)
}

func main() {
	port := flag.Int("port", 0, "where to listen")
	flag.Parse()
	http.HandleFunc("/bookings/", bookings)
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), nil))
}
