package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/leat-go/leat/inbox"
)

// answer is the registry's answer to one query. The query is sent once for all callers, and its
// answer is kept for good.
type answer[V any] struct {
	value atomic.Pointer[V]
	mu    sync.Mutex // held by the caller that asks; others wait for the answer
	failure
}

// failure is an error that is returned until a time.
type failure struct {
	err   error
	until time.Time
}

// get returns the answer. A failure is returned to all callers until it is time to ask again. If
// the registry is unavailable, all queries fail.
func (a *answer[V]) get(r *Registry, ask func(context.Context) (V, error)) (*V, error) {
	if v := a.value.Load(); v != nil {
		return v, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if v := a.value.Load(); v != nil {
		return v, nil
	}
	for _, f := range []*failure{&a.failure, r.down.Load()} {
		if f != nil && time.Now().Before(f.until) {
			return nil, f.err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	v, err := ask(ctx)
	if err != nil {
		a.failure = failure{err, time.Now().Add(r.retry)}
		if errors.Is(err, ErrUnavailable) {
			f := a.failure
			r.down.Store(&f)
		}
		return nil, err
	}
	a.value.Store(&v)
	return &v, nil
}

// explain translates an error of the client, without addresses that may hold passwords. Errors in
// the registry's own format are refusals of the query. All other errors are outages.
func explain(err error) error {
	said, ok := errors.AsType[*sr.ResponseError](err)
	if !ok {
		return unavailable(cmp.Or(errors.Unwrap(err), errors.New("the request failed")))
	}
	text := fmt.Sprintf("%d: %.300s", said.StatusCode, said.Error())
	switch code := said.StatusCode; {
	case said.ErrorCode == 0, // a proxy's page, not the registry's JSON
		code < 400, code >= 500, code == 401, code == 403, code == 408, code == 429:
		return unavailable(errors.New(text))
	default:
		return errors.New(text)
	}
}

func unavailable(err error) error {
	return inbox.Outage(fmt.Errorf("%w: %w", ErrUnavailable, err))
}

// isMissing reports whether the registry itself answered that it does not have the requested
// item.
func isMissing(err error) bool {
	said, ok := errors.AsType[*sr.ResponseError](err)
	return ok && said.StatusCode == http.StatusNotFound && said.ErrorCode != 0
}
