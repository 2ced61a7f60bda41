package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"grocery/stockpb"
)

func reserve(t *testing.T, count int32, warehouse http.HandlerFunc) (*stockpb.Reservation, error) {
	server := httptest.NewServer(warehouse)
	defer server.Close()
	s := stock{warehouse: server.URL}
	return s.Reserve(context.Background(), &stockpb.ReserveRequest{Product: "apples", Count: count})
}

func twelve(w http.ResponseWriter, r *http.Request) { w.Write([]byte(`{"count": 12}`)) }

func TestWhatIsThereIsReserved(t *testing.T) {
	if answer, err := reserve(t, 12, twelve); err != nil || !answer.Reserved {
		t.Error(answer, err)
	}
}

func TestWhatIsNotThereIsNot(t *testing.T) {
	if answer, err := reserve(t, 13, twelve); err != nil || answer.Reserved {
		t.Error(answer, err)
	}
}

func TestWithoutTheWarehouseNothingIsPromised(t *testing.T) {
	_, err := reserve(t, 1, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	if status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
}
