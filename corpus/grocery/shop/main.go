// Shop: an order for some of a product. Pricing and Stock are asked at the same time, each by a goroutine of its own.
// Without Pricing the price of the catalogue counts; without Stock there is no order.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"grocery/stockpb"
)

const (
	priceWait = 300 * time.Millisecond
	stockWait = 1500 * time.Millisecond // longer than Stock waits for the warehouse
)

// Cents, as they were printed.
var catalogue = map[string]int{"apples": 300, "bread": 350}

type shop struct {
	pricing string // its URL
	client  http.Client
	stock   stockpb.StockClient
	trusts  bool // bug 1: whatever Pricing says is a price
}

func (s *shop) price(ctx context.Context, product string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, "GET", s.pricing+"/price/"+product, nil)
	if err != nil {
		return 0, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var answer struct{ Cents int }
	if s.trusts {
		json.NewDecoder(response.Body).Decode(&answer)
		return answer.Cents, nil
	}
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("pricing says %s", response.Status)
	}
	err = json.NewDecoder(response.Body).Decode(&answer)
	return answer.Cents, err
}

func (s *shop) reserve(ctx context.Context, product string, count int) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, stockWait)
	defer cancel()
	answer, err := s.stock.Reserve(ctx, &stockpb.ReserveRequest{Product: product, Count: int32(count)})
	return err == nil && answer.Reserved, err
}

type order struct {
	Cents     int  `json:"cents"`
	Estimated bool `json:"estimated"`
}

func (s *shop) order(w http.ResponseWriter, r *http.Request) {
	const count = 2
	product := strings.TrimPrefix(r.URL.Path, "/orders/")
	cents, known := catalogue[product]
	if !known {
		http.Error(w, "no such product", http.StatusNotFound)
		return
	}
	var price int
	var reserved bool
	var noPrice, noStock error
	var both sync.WaitGroup
	both.Add(2)
	go func() {
		defer both.Done()
		price, noPrice = s.price(r.Context(), product)
	}()
	go func() {
		defer both.Done()
		reserved, noStock = s.reserve(r.Context(), product, count)
	}()
	both.Wait()
	if noStock != nil {
		http.Error(w, "the stock is not known", http.StatusServiceUnavailable)
		return
	}
	if !reserved {
		http.Error(w, "sold out", http.StatusConflict)
		return
	}
	if noPrice == nil {
		cents = price
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(order{Cents: count * cents, Estimated: noPrice != nil})
}

func main() {
	port := flag.Int("port", 0, "where to listen")
	flag.Parse()
	connection, err := grpc.Dial(os.Getenv("STOCK"), grpc.WithInsecure())
	if err != nil {
		log.Fatal(err)
	}
	s := &shop{
		pricing: os.Getenv("PRICING_URL"),
		client:  http.Client{Timeout: priceWait},
		stock:   stockpb.NewStockClient(connection),
		trusts:  strings.Contains(os.Getenv("GROCERY_BUGS"), "1"),
	}
	http.HandleFunc("/orders/", s.order)
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), nil))
}
