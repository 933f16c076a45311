package httpdedupe

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// The codes of Problem, with their statuses.
const (
	// codeMissing (400): the request needs a key.
	codeMissing = "idempotency_key_missing"
	// codeInvalid (400): the key is not valid.
	codeInvalid = "idempotency_key_invalid"
	// codeNoTenant (403): the request belongs to no tenant.
	codeNoTenant = "idempotency_no_tenant"
	// codeBodyUnreadable (400): the body could not be read to its end.
	codeBodyUnreadable = "idempotency_body_unreadable"
	// codeBodyTooLarge (413): the body is beyond MaxBodyBytes.
	codeBodyTooLarge = "idempotency_body_too_large"
	// codeTooMany (429, Retry-After): Config.Admit has refused the request.
	codeTooMany = "idempotency_too_many_requests"
	// codeInFlight (409, Retry-After): the first request is being processed.
	codeInFlight = "idempotency_key_in_flight"
	// codeReused (422): the key came before with another request.
	codeReused = "idempotency_key_reused"
	// codeNotKept (410): the request was processed, its response is gone.
	codeNotKept = "idempotency_response_not_kept"
	// codeUnavailable (503, Retry-After): the store cannot be reached, nothing ran.
	codeUnavailable = "idempotency_store_unavailable"
	// codeAbandoned (503, Retry-After): the handler stopped before it was done.
	codeAbandoned = "idempotency_request_abandoned"
	// codeUnknown (500, Retry-After): the commit got no answer. A repeat finds out whether it
	// took effect.
	codeUnknown = "idempotency_outcome_unknown"
	// codeNotCommitted (503, Retry-After): the transaction was rolled back.
	codeNotCommitted = "idempotency_not_committed"
	// codeTooLarge (500): the response is beyond MaxResponseBytes; rolled back.
	codeTooLarge = "idempotency_response_too_large"
)

// Problem is a response of the middleware's own, in the manner of RFC 9457.
type Problem struct {
	// Title is the status' text.
	Title string `json:"title"`
	// Status is the status of the response.
	Status int `json:"status"`
	// Detail is for human readers.
	Detail string `json:"detail"`
	// Code identifies the kind of problem, for programs: docs/http-idempotency.md lists the
	// codes.
	Code string `json:"code"`
	// OriginalStatus is the status of the response that was not kept, 0 if unknown.
	OriginalStatus int `json:"original_status,omitempty"`
	// RetryAfter is when to send the request again, in whole seconds, 0 for never.
	RetryAfter time.Duration `json:"-"`
}

func problem(status int, code, detail string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// again is like problem, for requests that are worth sending again.
func again(status int, code, detail string, after time.Duration) *Problem {
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
		body = nil // cannot happen: it has only strings and numbers
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client has gone: nothing to be done
}
