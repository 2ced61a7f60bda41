package main

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func ask(path string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	price(answer, httptest.NewRequest("GET", path, nil))
	return answer
}

func TestAProductHasAPrice(t *testing.T) {
	if answer := ask("/price/apples"); strings.TrimSpace(answer.Body.String()) != `{"cents":250}` {
		t.Error(answer)
	}
}

func TestAnUnknownProductHasNone(t *testing.T) {
	if answer := ask("/price/gold"); answer.Code != 404 {
		t.Error(answer)
	}
}
