package benchmarks

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/httpdedupe"
	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkHTTPIdempotency measures what an Idempotency-Key adds to an HTTP
// handler that writes two statements in a transaction: behind the middleware of
// the same transaction, behind a lease in PostgreSQL, and bare. Requests are
// handed over in the process, without a network.
func BenchmarkHTTPIdempotency(b *testing.B) {
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		for _, lanes := range []int{1, 8} {
			b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) { httpIdempotency(b, db, lanes) })
		}
	})
}

func httpIdempotency(b *testing.B, db *testenv.Database, lanes int) {
	b.Helper()
	size := scale(b).inbox
	logSettings(b, db, nil)
	responses, err := pgdedupe.NewTx(db.Pool, "benchmark", pgdedupe.Config{})
	require.NoError(b, err)
	require.NoError(b, responses.Migrate(b.Context()))
	once, err := httpdedupe.NewTx(responses, httpdedupe.OneTenant, httpdedupe.Config{})
	require.NoError(b, err)
	leases, err := pgdedupe.New(db.Pool, pgdedupe.Config{})
	require.NoError(b, err)
	require.NoError(b, leases.Migrate(b.Context()))
	processor, err := dedupe.New(leases, "benchmark", dedupe.Config{BusyDelay: -1})
	require.NoError(b, err)
	leased, err := httpdedupe.New(processor, httpdedupe.OneTenant, httpdedupe.Config{})
	require.NoError(b, err)

	bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, func(msg *message.Message) error {
			return pgx.BeginFunc(r.Context(), db.Pool, func(tx pgx.Tx) error { return effect(r.Context(), tx, msg) })
		})
	})
	inTx := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, func(msg *message.Message) error { return effect(r.Context(), pgdedupe.Tx(r.Context()), msg) })
	})
	run := func(h http.Handler) func(int) (time.Duration, error) {
		return func(int) (time.Duration, error) { return deliver(b.Context(), lanes, size.transactions, request(h)) }
	}
	contenders := []compare.Contender{
		{Name: "leat", Ops: size.transactions, Run: run(once(inTx))},
		{Name: "lease", Ops: size.transactions, Run: run(leased(bare))},
		{Name: "bare", Ops: size.transactions, Run: run(bare)},
	}
	for _, warmUp := range []http.Handler{once(inTx), leased(bare), bare} {
		_, err := deliver(b.Context(), lanes, lanes*20, request(warmUp))
		require.NoError(b, err)
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "req/s", contenders...)
	b.StopTimer()
	requireEffects(b, db.Pool)
}

// request hands a message to h as a request whose key is the message's id.
func request(h http.Handler) func(msg *message.Message) error {
	return func(msg *message.Message) error {
		r, err := http.NewRequestWithContext(msg.Context(), http.MethodPost, "/effects", bytes.NewReader(msg.Payload))
		if err != nil {
			return err
		}
		r.Header.Set("Idempotency-Key", msg.UUID)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusCreated {
			return fmt.Errorf("status %d: %s", w.Code, w.Body)
		}
		return nil
	}
}

// answer has the effect and says so.
func answer(w http.ResponseWriter, r *http.Request, effect func(msg *message.Message) error) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = effect(message.NewMessage(r.Header.Get("Idempotency-Key"), body))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body)
}
