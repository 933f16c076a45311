package faultnet

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Doer sends a request and returns its answer, as an *http.Client does.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// ErrCut is what a client gets instead of an answer that was cut.
var ErrCut = errors.New("faultnet: the answer was cut")

// Dynamo stands between a client of DynamoDB and the server, as the client's HTTPClient. It behaves
// as the service does where DynamoDB Local does not. Its fields are set before it is used. It is
// safe for concurrent use.
type Dynamo struct {
	// Client sends the requests.
	Client Doer

	// Each of these is 0, or n to strike one in n of the requests that it can strike: 1 strikes all.
	//
	// Conflict cancels transactions, unread, as if another transaction were writing an item. Throttle
	// refuses requests for lack of capacity. Cut loses answers to writes, and Fail answers 500, both
	// after their effect. Partial makes batches do half of their work and return the rest.
	Conflict, Throttle, Cut, Fail, Partial int

	// Hide hides every second message from the first Query that would return it: a Query may see the
	// later of two transactions before the earlier.
	Hide bool

	// Forget removes an attribute from the results of a Query, for controls.
	Forget string

	// Seen, if set, is called with each request before it is sent.
	Seen func(operation string, body []byte)

	mu     sync.Mutex
	met    map[string]bool
	chance map[string]int // requests that a fault could strike
	struck map[string]int
}

// The names of faults for Struck.
const (
	DynamoConflict = "conflict"
	DynamoThrottle = "throttle"
	DynamoCut      = "cut"
	DynamoFail     = "fail"
	DynamoPartial  = "partial"
	DynamoHide     = "hide"
)

// Struck returns how many times a fault has struck.
func (d *Dynamo) Struck(fault string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.struck[fault]
}

// strikes reports whether a fault that strikes one in n requests strikes this one.
func (d *Dynamo) strikes(fault string, oneIn int) bool {
	if oneIn < 1 {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.chance == nil {
		d.chance, d.struck = make(map[string]int), make(map[string]int)
	}
	d.chance[fault]++
	if d.chance[fault]%oneIn != 0 {
		return false
	}
	d.struck[fault]++
	return true
}

// Do implements Doer.
func (d *Dynamo) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if d.Seen != nil {
		d.Seen(operation, body)
	}
	if refused, err := d.refuse(operation, body); refused != nil || err != nil {
		return refused, err
	}
	body, rest, err := d.halve(operation, body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer, err := d.Client.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	if rest != nil {
		return changed(answer, func(out map[string]any) { out["Unprocessed"+rest.kind] = rest.requests })
	}
	return d.spoil(operation, answer)
}

// refuse returns the answer to a request that is not carried out, or nil.
func (d *Dynamo) refuse(operation string, body []byte) (*http.Response, error) {
	transaction := strings.HasPrefix(operation, "Transact")
	if transaction && d.strikes(DynamoConflict, d.Conflict) {
		return conflict(body)
	}
	if operation != "DescribeTable" && operation != "CreateTable" && d.strikes(DynamoThrottle, d.Throttle) {
		return DynamoAnswer(http.StatusBadRequest, "ProvisionedThroughputExceededException"), nil
	}
	return nil, nil //nolint:nilnil // not refused
}

// spoil returns what happens to an answer on its way back.
func (d *Dynamo) spoil(operation string, answer *http.Response) (*http.Response, error) {
	writes := operation == "TransactWriteItems" || operation == "PutItem" || operation == "UpdateItem" || operation == "BatchWriteItem"
	switch {
	case writes && d.strikes(DynamoCut, d.Cut):
		return nil, errors.Join(ErrCut, answer.Body.Close())
	case writes && d.strikes(DynamoFail, d.Fail):
		return DynamoAnswer(http.StatusInternalServerError, "InternalServerError"), answer.Body.Close()
	case operation == "Query" && (d.Hide || d.Forget != ""):
		return changed(answer, d.show)
	}
	return answer, nil
}
