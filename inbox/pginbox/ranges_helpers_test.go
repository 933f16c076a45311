package pginbox_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

const day = 24 * time.Hour

// madeAgo returns a new id of version 7 that says that it was made so long ago.
func madeAgo(age time.Duration) string {
	id := uuid.UUID(ids.FromMillis(time.Now().Add(-age).UnixMilli()))
	random := uuid.New()
	copy(id[6:], random[6:])
	id[6] = 0x70 | id[6]&0x0f
	return id.String()
}

// maintenance returns one that remembers for so long.
func maintenance(tb testing.TB, env *testenv.Database, cfg pginbox.MaintenanceConfig) *pginbox.Maintenance {
	tb.Helper()
	m, err := pginbox.NewMaintenance(env.Pool, pginbox.Config{}, cfg)
	require.NoError(tb, err)
	return m
}

// forgetting returns a database with an inbox that can forget.
func forgetting(tb testing.TB, cfg pginbox.MaintenanceConfig) *testenv.Database {
	tb.Helper()
	env := testenv.Postgres(tb, template)
	require.NoError(tb, maintenance(tb, env, cfg).Enable(context.Background()))
	return env
}

// rounds does one round that remembers for so long.
func remember(tb testing.TB, env *testenv.Database, retention time.Duration, noDDL bool) outboxadmin.MaintenanceReport {
	tb.Helper()
	m := maintenance(tb, env, pginbox.MaintenanceConfig{Retention: retention, NoDDL: noDDL})
	report, err := m.RunOnce(context.Background())
	require.NoError(tb, err)
	return report
}

// stores are the inboxes of both drivers.
func stores(tb testing.TB, env *testenv.Database, cfg pginbox.Config) map[string]inbox.Runner {
	tb.Helper()
	onPgx, err := pginbox.New(env.Pool, "c on pgx", cfg)
	require.NoError(tb, err)
	onSQL, err := pginbox.NewSQL(env.SQL(tb), "c on sql", cfg)
	require.NoError(tb, err)
	return map[string]inbox.Runner{"pgx": onPgx, "sql": onSQL}
}

// write is a handler that leaves an effect behind.
func write(effect string) func(ctx context.Context) error {
	return func(ctx context.Context) error { return exec(ctx, `INSERT INTO effects VALUES ($1)`, effect) }
}

func effects(tb testing.TB, env *testenv.Database, effect string) (n int) {
	tb.Helper()
	err := env.Pool.QueryRow(context.Background(), `SELECT count(*) FROM effects WHERE effect = $1`, effect).Scan(&n)
	require.NoError(tb, err)
	return n
}

// edges collects what is reported.
type edges struct {
	mu         sync.Mutex
	all, ended []outbox.AlarmEvent
	seen       []pginbox.ObserveEvent
}

func (a *edges) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Ended {
		e.Ended = false
		a.ended = append(a.ended, e)
		return
	}
	a.all = append(a.all, e)
}

func (a *edges) OnPginboxObserve(_ context.Context, o pginbox.ObserveEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, o)
}

func (a *edges) kinds() (kinds []outbox.AlarmKind) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, alarm := range a.all {
		kinds = append(kinds, alarm.Kind)
	}
	return kinds
}

func (a *edges) outcomes() (would []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range a.seen {
		would = append(would, o.Would.String())
	}
	return would
}

// bare returns a message that has an id and nothing else.
func bare(id string) *message.Message { return message.NewMessage(id, nil) }
