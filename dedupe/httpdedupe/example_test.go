package httpdedupe_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/httpdedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
)

// A client that got no answer sends its request again, with the same key. With
// redisdedupe instead of memdedupe all replicas of a service share the memory.
func Example() {
	store, err := memdedupe.New(memdedupe.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	processor, err := dedupe.New(store, "payments", dedupe.Config{BusyDelay: -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	account := func(r *http.Request) (string, error) { // what authentication has found out
		user, _, _ := r.BasicAuth()
		return user, nil
	}
	once, err := httpdedupe.New(processor, account, httpdedupe.Config{Required: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	charges := 0
	charge := once(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		charges++
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "charge %d", charges)
	}))

	for _, try := range [][2]string{{"key-1", "10 EUR"}, {"key-1", "10 EUR"}, {"key-1", "99 EUR"}, {"key-2", "10 EUR"}, {"", "10 EUR"}} {
		r := httptest.NewRequest(http.MethodPost, "/charges", strings.NewReader(try[1]))
		r.SetBasicAuth("alice", "")
		if try[0] != "" {
			r.Header.Set("Idempotency-Key", try[0])
		}
		w := httptest.NewRecorder()
		charge.ServeHTTP(w, r)
		fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
	}
	// Output:
	// 201 charge 1
	// 201 charge 1
	// 422 {"title":"Unprocessable Entity","status":422,"detail":"The key was used for another request.","code":"idempotency_key_reused"}
	// 201 charge 2
	// 400 {"title":"Bad Request","status":400,"detail":"This request needs the header Idempotency-Key.","code":"idempotency_key_missing"}
}
