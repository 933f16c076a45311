package wmforward_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// patience bounds what a test waits for; none of them measures time.
const patience = 30 * time.Second

// quiet is how long a forwarder is watched that should send nothing: several
// times its poll interval of here.
const quiet = 200 * time.Millisecond

// recorder is a forwarder's destination. It takes messages while it has room;
// then it fails, and the forwarder keeps its batch.
type recorder struct {
	sent chan string
	room chan struct{}
}

func newRecorder(room int) *recorder {
	r := &recorder{sent: make(chan string, 100_000), room: make(chan struct{}, 100_000)}
	for range room {
		r.room <- struct{}{}
	}
	return r
}

var errNoRoom = context.DeadlineExceeded

// Publish implements message.Publisher.
func (r *recorder) Publish(_ string, msgs ...*message.Message) error {
	for _, msg := range msgs {
		select {
		case <-r.room:
		default:
			return errNoRoom
		}
		r.sent <- string(msg.Payload)
	}
	return nil
}

// Close implements message.Publisher.
func (r *recorder) Close() error { return nil }

// next returns n payloads that were sent.
func (r *recorder) next(tb testing.TB, n int) []string {
	tb.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	var got []string
	for len(got) < n {
		select {
		case p := <-r.sent:
			got = append(got, p)
		case <-timeout.C:
			require.Fail(tb, "the forwarder sends too little", "%d of %d: %v", len(got), n, got)
		}
	}
	return got
}

// silent fails where something is sent.
func (r *recorder) silent(tb testing.TB) {
	tb.Helper()
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	select {
	case p := <-r.sent:
		require.Fail(tb, "the forwarder still sends", p)
	case <-timer.C:
	}
}

// rest returns what was sent and not looked at, once the forwarder has stopped.
func (r *recorder) rest() []string {
	var got []string
	for {
		select {
		case p := <-r.sent:
			got = append(got, p)
		default:
			return got
		}
	}
}

// startForwarder runs Watermill's forwarder, which reads batches of batch and
// stores its position after each. The returned function stops it.
func startForwarder(tb testing.TB, db *testenv.Database, to message.Publisher, batch int) (stop func()) {
	tb.Helper()
	sub, err := wmsql.NewSubscriber(wmsql.BeginnerFromPgx(db.Pool), wmsql.SubscriberConfig{
		SchemaAdapter:  wmsql.DefaultPostgreSQLSchema{SubscribeBatchSize: batch},
		OffsetsAdapter: wmsql.DefaultPostgreSQLOffsetsAdapter{},
		PollInterval:   10 * time.Millisecond,
		ResendInterval: 10 * time.Millisecond,
		RetryInterval:  10 * time.Millisecond,
	}, watermill.NopLogger{})
	require.NoError(tb, err)
	f, err := forwarder.NewForwarder(sub, to, watermill.NopLogger{}, forwarder.Config{CloseTimeout: 10 * time.Second})
	require.NoError(tb, err)
	done := make(chan error, 1)
	go func() { done <- f.Run(context.Background()) }()
	select {
	case <-f.Running():
	case err := <-done:
		require.NoError(tb, err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		require.NoError(tb, f.Close())
		require.NoError(tb, <-done)
		require.NoError(tb, sub.Close())
	}
	tb.Cleanup(stop)
	return stop
}

// awaitPosition waits until the forwarder's stored position has so many rows
// behind it.
func awaitPosition(tb testing.TB, db *testenv.Database, rows int) {
	tb.Helper()
	require.Eventually(tb, func() bool {
		return query1[int](tb, db, `SELECT count(*) FROM watermill_forwarder_topic m, watermill_offsets_forwarder_topic o
			WHERE (m.transaction_id, m."offset") <= (o.last_processed_transaction_id, o.offset_acked)`) == rows
	}, patience, 2*time.Millisecond)
}
