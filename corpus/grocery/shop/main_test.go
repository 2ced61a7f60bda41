package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"grocery/stockpb"
)

// Stands in for Stock.
type shelves struct {
	reserved bool
	err      error
}

func (s shelves) Reserve(context.Context, *stockpb.ReserveRequest, ...grpc.CallOption) (*stockpb.Reservation, error) {
	if s.err != nil {
		return nil, s.err
	}
	return &stockpb.Reservation{Reserved: s.reserved}, nil
}

func buy(product string, stock shelves, pricing http.HandlerFunc) *httptest.ResponseRecorder {
	server := httptest.NewServer(pricing)
	defer server.Close()
	s := &shop{pricing: server.URL, stock: stock}
	answer := httptest.NewRecorder()
	s.order(answer, httptest.NewRequest("GET", "/orders/"+product, nil))
	return answer
}

func cheap(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"cents": 250}`)) }

func TestAnOrderCostsWhatPricingSays(t *testing.T) {
	answer := buy("apples", shelves{reserved: true}, cheap)
	if strings.TrimSpace(answer.Body.String()) != `{"cents":500,"estimated":false}` {
		t.Error(answer.Code, answer.Body)
	}
}

func TestWithoutPricingTheCatalogueCounts(t *testing.T) {
	answer := buy("apples", shelves{reserved: true}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	if strings.TrimSpace(answer.Body.String()) != `{"cents":600,"estimated":true}` {
		t.Error(answer.Code, answer.Body)
	}
}

func TestWithoutStockThereIsNoOrder(t *testing.T) {
	if answer := buy("apples", shelves{err: errors.New("down")}, cheap); answer.Code != 503 {
		t.Error(answer.Code, answer.Body)
	}
	if answer := buy("apples", shelves{}, cheap); answer.Code != 409 {
		t.Error(answer.Code, answer.Body)
	}
	if answer := buy("gold", shelves{reserved: true}, cheap); answer.Code != 404 {
		t.Error(answer.Code, answer.Body)
	}
}
