package httpdedupe_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/httpdedupe"
)

// txStore keeps responses in memory, one request of a key at a time.
type txStore struct {
	mu        sync.Mutex
	busy      map[string]bool
	done      map[string][2]string
	claimErr  error
	commitErr func(commit func()) error
	rollbacks atomic.Int32
}

type txUnit struct {
	*txStore

	id, fingerprint string
}

func (s *txStore) Claim(_ context.Context, id, fingerprint string) (dedupe.TxUnit, dedupe.Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done, ok := s.done[id]
	switch {
	case s.claimErr != nil:
		return nil, dedupe.Claim{}, s.claimErr
	case ok && done[0] != fingerprint:
		return nil, dedupe.Claim{Status: dedupe.Mismatch}, nil
	case ok:
		return nil, dedupe.Claim{Status: dedupe.Done, Result: []byte(done[1])}, nil
	case s.busy[id]:
		return nil, dedupe.Claim{Status: dedupe.Busy}, nil
	}
	if s.busy == nil {
		s.busy, s.done = make(map[string]bool), make(map[string][2]string)
	}
	s.busy[id] = true
	return &txUnit{s, id, fingerprint}, dedupe.Claim{Status: dedupe.Claimed}, nil
}

type unitKey struct{}

func (u *txUnit) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, unitKey{}, u)
}

func (u *txUnit) Commit(_ context.Context, response []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.busy, u.id)
	commit := func() { u.done[u.id] = [2]string{u.fingerprint, string(response)} }
	if u.commitErr != nil {
		return u.commitErr(commit)
	}
	commit()
	return nil
}

func (u *txUnit) Rollback(context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.busy, u.id)
	u.rollbacks.Add(1)
	return errors.New("noted")
}

func serveTx(t *testing.T, store *txStore, h http.HandlerFunc, cfg httpdedupe.Config) string {
	t.Helper()
	m, err := httpdedupe.NewTx(store, tenant, cfg)
	require.NoError(t, err)
	return listen(t, m(h))
}

func TestTx_Replays(t *testing.T) {
	t.Parallel()
	var runs, wakes atomic.Int32
	store := &txStore{}
	url := serveTx(t, store, func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(unitKey{}) == nil {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		if _, flushes := w.(http.Flusher); flushes || http.NewResponseController(w).Flush() == nil {
			panic(http.ErrAbortHandler) // it would be seen before the commit
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, runs.Add(1))
	}, httpdedupe.Config{AfterCommit: func() { wakes.Add(1) }})
	for range 3 {
		a := send(t, url, "k", "body")
		require.Equal(t, http.StatusCreated, a.StatusCode)
		require.Equal(t, "1", a.body)
	}
	require.EqualValues(t, 1, wakes.Load())
	require.Equal(t, "idempotency_key_reused", send(t, url, "k", "other body").code(t))
	require.Equal(t, "idempotency_key_invalid", send(t, url, `"`, "").code(t))
	require.Equal(t, http.StatusTeapot, send(t, url, "", "").StatusCode, "no key, no transaction")
}

// TestTx_RollsBack: what is not kept leaves nothing behind.
func TestTx_RollsBack(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	store := &txStore{}
	url := serveTx(t, store, func(w http.ResponseWriter, _ *http.Request) {
		switch runs.Add(1) {
		case 1:
			http.Error(w, "no", http.StatusBadRequest)
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			fmt.Fprint(w, "larger than ten bytes")
		default:
			fmt.Fprint(w, "yes")
		}
	}, httpdedupe.Config{MaxResponseBytes: 10})
	require.Equal(t, "no\n", send(t, url, "k", "").body)
	_, err := trySend(t.Context(), url, "k", "")
	require.Error(t, err)
	a := send(t, url, "k", "")
	require.Equal(t, http.StatusInternalServerError, a.StatusCode)
	require.Equal(t, "idempotency_response_too_large", a.code(t))
	require.EqualValues(t, 3, store.rollbacks.Load())
	require.Equal(t, "yes", send(t, url, "k", "").body)
	require.Equal(t, "yes", send(t, url, "k", "").body)
	require.EqualValues(t, 4, runs.Load())
}

// TestTx_Commits: a commit that was refused, and one whose answer was lost, both
// ways.
func TestTx_Commits(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	store := &txStore{}
	url := serveTx(t, store, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, runs.Add(1)) }, httpdedupe.Config{})
	errLost := errors.New("lost")
	for _, tt := range []struct {
		key    string
		commit func(commit func()) error
		status int
		code   string
		then   string
	}{
		{"refused", func(func()) error { return dedupe.ErrNotCommitted }, 503, "idempotency_not_committed", "2"},
		{"lost before", func(func()) error { return errLost }, 500, "idempotency_outcome_unknown", "4"},
		{"lost after", func(commit func()) error { commit(); return errLost }, 500, "idempotency_outcome_unknown", "5"},
	} {
		store.commitErr = tt.commit
		a := send(t, url, `"`+tt.key+`"`, "")
		require.Equal(t, tt.status, a.StatusCode)
		require.Equal(t, tt.code, a.code(t))
		require.Equal(t, "1", a.Header.Get("Retry-After"))
		store.commitErr = nil
		require.Equal(t, tt.then, send(t, url, `"`+tt.key+`"`, "").body)
	}
	store.claimErr = errLost
	require.Equal(t, "idempotency_store_unavailable", send(t, url, "k", "").code(t))
}

// TestTx_Concurrent: of two at the same time one runs.
func TestTx_Concurrent(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	store := &txStore{}
	url := serveTx(t, store, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		select {
		case <-leave:
			fmt.Fprint(w, "done")
		case <-r.Context().Done():
		}
	}, httpdedupe.Config{})
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = trySend(t.Context(), url, "k", "") })
	<-entered
	a := send(t, url, "k", "")
	require.Equal(t, http.StatusConflict, a.StatusCode)
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	close(leave)
	wg.Wait()
	require.Equal(t, "done", send(t, url, "k", "").body)
}

// TestTx_Abandoned: a handler that goes with its client rolls back.
func TestTx_Abandoned(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	store := &txStore{}
	url := serveTx(t, store, func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}, httpdedupe.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = trySend(ctx, url, "k", "") })
	<-entered
	cancel()
	wg.Wait()
	require.Eventually(t, func() bool { return store.rollbacks.Load() == 1 }, waitFor, tick)
	require.Empty(t, store.done)
}
