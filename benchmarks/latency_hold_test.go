package benchmarks

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// holdForeign leaves a transaction that has written open in another database of
// the cluster.
func holdForeign(b *testing.B, _ *testenv.Database) func() {
	b.Helper()
	conn := testenv.Postgres(b, migrated()).Connect(b)
	tx, err := conn.Begin(b.Context())
	require.NoError(b, err)
	_, err = tx.Exec(b.Context(), "INSERT INTO effects VALUES (gen_random_uuid(), '')")
	require.NoError(b, err)
	return func() { require.NoError(b, tx.Rollback(b.Context())) }
}

// holdWriter leaves a transaction that has written open in the outbox's database.
func holdWriter(b *testing.B, db *testenv.Database) func() {
	b.Helper()
	tx, err := db.Connect(b).Begin(b.Context())
	require.NoError(b, err)
	_, err = tx.Exec(b.Context(), "INSERT INTO effects VALUES (gen_random_uuid(), '')")
	require.NoError(b, err)
	return func() { require.NoError(b, tx.Rollback(b.Context())) }
}

// holdPrepared leaves a prepared transaction in the outbox's database.
func holdPrepared(b *testing.B, db *testenv.Database) func() {
	b.Helper()
	name := uuid.NewString()
	conn := db.Connect(b)
	for _, sql := range []string{
		"BEGIN", "INSERT INTO effects VALUES (gen_random_uuid(), '')", "PREPARE TRANSACTION '" + name + "'",
	} {
		_, err := conn.Exec(b.Context(), sql)
		require.NoError(b, err, sql)
	}
	return func() {
		_, err := conn.Exec(b.Context(), "ROLLBACK PREPARED '"+name+"'")
		require.NoError(b, err)
	}
}

// holdHandler leaves a handler behind an inbox of the same database at work.
func holdHandler(b *testing.B, db *testenv.Database) func() {
	b.Helper()
	in, err := pginbox.New(db.Pool, "slow", pginbox.Config{})
	require.NoError(b, err)
	id, err := uuid.NewV7()
	require.NoError(b, err)
	working, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	handle := in.Handle(func(ctx context.Context, msg *message.Message) error {
		tx := pginbox.Tx(ctx)
		_, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1, '')", msg.UUID)
		close(working)
		<-release
		return err
	})
	msg := message.NewMessage(id.String(), nil)
	msg.SetContext(b.Context())
	go func() { ended <- handle(msg) }()
	select {
	case <-working:
	case err := <-ended:
		require.NoError(b, err)
	}
	return func() {
		close(release)
		require.NoError(b, <-ended)
	}
}
