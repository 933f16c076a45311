package pginbox_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI13_Batch runs the suite of batches on both drivers at each isolation
// level.
func TestI13_Batch(t *testing.T) {
	t.Parallel()
	type maker func(testing.TB, *testenv.Database, pginbox.Config) *subject
	for kind, newSubject := range map[string]maker{"pgx": newSubject, "sql": newSQLSubject} {
		for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
			t.Run(kind+"/"+string(level), func(t *testing.T) {
				t.Parallel()
				env := testenv.Postgres(t)
				inboxtest.RunBatch(t, inboxtest.Features{}, func(t *testing.T) inboxtest.BatchSubject {
					t.Helper()
					return newSubject(t, env, pginbox.Config{Isolation: level})
				})
			})
		}
	}
}

func (s *subject) OpenBatch(consumer string, cfg inbox.Config, batch inbox.BatchConfig) (inboxtest.BatchProcessor, error) {
	p, err := s.Open(consumer, cfg)
	if err != nil {
		return nil, err
	}
	return inbox.NewBatch(p.(*pginbox.Inbox).Processor, batch)
}
