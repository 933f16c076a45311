package httpdedupe

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Code tells the middleware's own responses apart, for clients that act on
// them.
type Code string

// The codes, with their statuses.
const (
	// CodeMissing (400): the request needs a key.
	CodeMissing Code = "idempotency_key_missing"
	// CodeInvalid (400): the key is no key.
	CodeInvalid Code = "idempotency_key_invalid"
	// CodeNoTenant (403): the request belongs to no tenant.
	CodeNoTenant Code = "idempotency_no_tenant"
	// CodeBodyUnreadable (400): the body could not be read to its end.
	CodeBodyUnreadable Code = "idempotency_body_unreadable"
	// CodeBodyTooLarge (413): the body is beyond MaxBodyBytes.
	CodeBodyTooLarge Code = "idempotency_body_too_large"
	// CodeTooMany (429, Retry-After): Config.Admit has refused the request.
	CodeTooMany Code = "idempotency_too_many_requests"
	// CodeInFlight (409, Retry-After): the first request is being processed.
	CodeInFlight Code = "idempotency_key_in_flight"
	// CodeReused (422): the key came before with another request.
	CodeReused Code = "idempotency_key_reused"
	// CodeNotKept (410): the request was processed, its response is gone.
	CodeNotKept Code = "idempotency_response_not_kept"
	// CodeUnavailable (503, Retry-After): the store cannot be reached, nothing ran.
	CodeUnavailable Code = "idempotency_store_unavailable"
	// CodeAbandoned (503, Retry-After): the request was given up undone.
	CodeAbandoned Code = "idempotency_request_abandoned"
	// CodeUnknown (500, Retry-After): the commit got no answer. A repeat finds out.
	CodeUnknown Code = "idempotency_outcome_unknown"
	// CodeNotCommitted (503, Retry-After): the transaction was rolled back.
	CodeNotCommitted Code = "idempotency_not_committed"
	// CodeTooLarge (500): the response is beyond MaxResponseBytes; rolled back.
	CodeTooLarge Code = "idempotency_response_too_large"
)

// Problem is a response of the middleware's own, in the manner of RFC 9457.
type Problem struct {
	// Title is the status' text.
	Title string `json:"title"`
	// Status is the response's.
	Status int `json:"status"`
	// Detail is for human readers.
	Detail string `json:"detail"`
	// Code is for programs.
	Code Code `json:"code"`
	// OriginalStatus is that of the response that was not kept, 0 where unknown.
	OriginalStatus int `json:"original_status,omitempty"`
	// RetryAfter is when to send the request again, in whole seconds, 0 for never.
	RetryAfter time.Duration `json:"-"`
}

func problem(status int, code Code, detail string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// again is problem for requests that are worth sending again.
func again(status int, code Code, detail string, after time.Duration) *Problem {
	p := problem(status, code, detail)
	p.RetryAfter = max((after + time.Second - 1).Truncate(time.Second), time.Second)
	return p
}

// answer writes p.
func (c Config) answer(w http.ResponseWriter, r *http.Request, p *Problem) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64(p.RetryAfter/time.Second), 10))
	}
	c.WriteProblem(w, r, *p)
}

func writeProblem(w http.ResponseWriter, _ *http.Request, p Problem) {
	body, err := json.Marshal(p)
	if err != nil {
		body = nil // it has strings and numbers alone
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client has gone: nothing to be done
}
