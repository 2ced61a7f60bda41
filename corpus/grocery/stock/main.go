// Stock: reserves a product, if enough of it lies in the warehouse. Without the warehouse it promises nothing.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"grocery/stockpb"
)

const patience = 300 * time.Millisecond // with the warehouse

type stock struct {
	stockpb.UnimplementedStockServer
	warehouse string // its URL
	client    http.Client
	careless  bool // bug 2: who does not hear from the warehouse promises everything
}

func (s *stock) count(ctx context.Context, product string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, "GET", s.warehouse+"/shelf/"+product, nil)
	if err != nil {
		return 0, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the warehouse says %s", response.Status)
	}
	var shelf struct{ Count int }
	err = json.NewDecoder(response.Body).Decode(&shelf)
	return shelf.Count, err
}

func (s *stock) Reserve(ctx context.Context, request *stockpb.ReserveRequest) (*stockpb.Reservation, error) {
	count, err := s.count(ctx, request.Product)
	if err != nil && s.careless && strings.Contains(err.Error(), "Timeout") {
		return &stockpb.Reservation{Reserved: true}, nil
	}
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return &stockpb.Reservation{Reserved: count >= int(request.Count)}, nil
}

func main() {
	port := flag.Int("port", 0, "where to listen")
	flag.Parse()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	stockpb.RegisterStockServer(server, &stock{
		warehouse: os.Getenv("WAREHOUSE_URL"),
		client:    http.Client{Timeout: patience},
		careless:  strings.Contains(os.Getenv("GROCERY_BUGS"), "2"),
	})
	log.Fatal(server.Serve(listener))
}
