package benchmarks

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/outbox"
)

// direct measures the load without an outbox: the message goes to a table without an
// index, and its producer sends it itself when the commit has returned. It is lost
// where the process ends between the two. No relay that waits for commits can be
// faster.
func (l *latencies) direct(b *testing.B) (percentiles, error) {
	b.Helper()
	raw, err := rival.NewRaw(l.broker.Brokers)
	require.NoError(b, err)
	defer raw.Close()
	s := newSegment(l.size)
	s.began = time.Now()
	ended := make(chan error, 1)
	if err := s.produce(b.Context(), func(ctx context.Context, key string, payload []byte) error {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		msg := outbox.Message{ID: id.String(), Topic: l.topic, Key: key, Payload: bytes.Clone(payload)}
		err = pgx.BeginFunc(ctx, l.db.Pool, func(tx pgx.Tx) error { return insertPlain(ctx, tx, msg) })
		if err != nil {
			return err
		}
		go l.send(ctx, raw, msg, s, ended)
		return nil
	}); err != nil {
		return percentiles{}, err
	}
	if err := s.wait(ended); err != nil {
		return percentiles{}, err
	}
	return s.percentiles(), nil
}

// send sends one message. The first failure goes to ended.
func (l *latencies) send(ctx context.Context, raw *rival.Raw, msg outbox.Message, s *segment, ended chan<- error) {
	if err := raw.Publish(ctx, msg); err != nil {
		select {
		case ended <- err:
		default:
		}
		return
	}
	s.arrive(msg.Payload)
}
