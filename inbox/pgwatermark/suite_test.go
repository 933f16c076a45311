package pgwatermark_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

// operators is what the suite asks for.
type operators interface {
	admin.Watermarks
	admin.Auditor
}

// marks is an inboxtest.WatermarkSubject, as change makes it.
type marks struct {
	db     *testenv.Database
	change func(in operators, pool *pgxpool.Pool) admin.Watermarks
}

func newMarks(t *testing.T) *marks {
	t.Helper()
	return &marks{db: testenv.Postgres(t, template)}
}

func (m *marks) Open(consumer string, topics ...string) (inboxtest.PositionProcessor, error) {
	return pgwatermark.New(m.db.Pool, consumer, topics, pgwatermark.Config{})
}

func (m *marks) Watermarks() (admin.Watermarks, error) {
	in, err := pginbox.NewAdmin(m.db.Pool, pginbox.Config{})
	if err != nil {
		return nil, err
	}
	both := in.(operators)
	if m.change == nil {
		return both, nil
	}
	return m.change(both, m.db.Pool), nil
}

func TestWatermarks(t *testing.T) {
	t.Parallel()
	inboxtest.RunWatermarks(t, inboxtest.Features{}, func(t *testing.T) inboxtest.WatermarkSubject { return newMarks(t) })
}

// TestBrokenWatermarksAreCaught: each check notices an Admin that breaks its rule.
func TestBrokenWatermarksAreCaught(t *testing.T) {
	t.Parallel()
	controls := map[string]struct {
		change func(in operators, pool *pgxpool.Pool) admin.Watermarks
		want   string
	}{
		"Watermarks_LookingRegistersNobody": {registering, "partitions of nobody, again"},
		"Watermarks_SetAndRemove": {
			func(in operators, _ *pgxpool.Pool) admin.Watermarks { return idle{in} }, "while a handler runs",
		},
		"Watermarks_AcceptSource": {
			func(in operators, _ *pgxpool.Pool) admin.Watermarks { return forgetful{in} }, "it was  before",
		},
		"Watermarks_DryRunChangesNothing": {
			func(in operators, _ *pgxpool.Pool) admin.Watermarks { return wet{in} }, "remembered are",
		},
		"Watermarks_ChangesAreAudited": {
			func(in operators, _ *pgxpool.Pool) admin.Watermarks { return idle{in} }, "the audit is",
		},
		"Watermarks_RequestsAreChecked": {
			func(in operators, _ *pgxpool.Pool) admin.Watermarks { return gullible{in} }, "set with no actor",
		},
	}
	for _, c := range inboxtest.WatermarkChecks(inboxtest.Features{}) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			tt, ok := controls[c.Name]
			require.True(t, ok, "nothing has shown that the check finds what it is for")
			m := newMarks(t)
			m.change = tt.change
			require.ErrorContains(t, c.Run(t.Context(), m), tt.want)
		})
	}
}

// registering registers whoever is asked about.
func registering(in operators, pool *pgxpool.Pool) admin.Watermarks {
	return registers{in, pool}
}

type registers struct {
	operators

	pool *pgxpool.Pool
}

func (r registers) Partitions(ctx context.Context, q admin.PartitionsQuery) ([]admin.PartitionState, error) {
	all, err := r.operators.Partitions(ctx, q)
	_, insertErr := r.pool.Exec(ctx, `INSERT INTO leat.inbox_consumers (name) VALUES ($1) ON CONFLICT DO NOTHING`, q.Consumer)
	if insertErr != nil {
		return nil, insertErr
	}
	return all, err
}

// idle changes nothing, and so neither locks nor audits anything.
type idle struct{ operators }

func (a idle) SetWatermark(ctx context.Context, r admin.SetWatermarkRequest) (int64, error) {
	r.DryRun = true
	return a.operators.SetWatermark(ctx, r)
}

// forgetful does not tell what a topic was known by.
type forgetful struct{ operators }

func (f forgetful) AcceptSource(ctx context.Context, r admin.AcceptSourceRequest) (string, error) {
	_, err := f.operators.AcceptSource(ctx, r)
	return "", err
}

// wet changes what it was asked about.
type wet struct{ operators }

func (w wet) SetWatermark(ctx context.Context, r admin.SetWatermarkRequest) (int64, error) {
	r.DryRun = false
	return w.operators.SetWatermark(ctx, r)
}

// gullible takes anybody's word.
type gullible struct{ operators }

func (g gullible) SetWatermark(ctx context.Context, r admin.SetWatermarkRequest) (int64, error) {
	if r.Actor == "" {
		r.Actor = "anybody"
	}
	return g.operators.SetWatermark(ctx, r)
}
