package wmforward_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmforward"
)

func TestConfigIsRefused(t *testing.T) {
	t.Parallel()
	pool := testenv.Postgres(t).Pool
	for want, cfg := range map[string]wmforward.Config{
		"Schema, Table":        {Table: strings.Repeat("t", 64)},
		"Schema, OffsetsTable": {OffsetsTable: "{log}"},
		"Schema, StateTable":   {Topic: strings.Repeat("t", 40)},
		"Group = \"_x\"":       {Group: "_x"},
		"Group = \"\\xff\"":    {Group: "\xff"},
		"TakeOverTimeout":      {TakeOverTimeout: -time.Second},
		"MigrateLockTimeout":   {MigrateLockTimeout: time.Microsecond},
	} {
		_, err := wmforward.New(pool, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, want)
		require.ErrorContains(t, err, want)
	}
	_, err := wmforward.New(nil, wmforward.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = wmforward.New(pool, wmforward.Config{Topic: strings.Repeat("t", 40), StateTable: "short"})
	require.NoError(t, err)
}

// TestNamesAreConfigurable: a forwarder whose adapters generate other names, with
// characters that want quotes.
func TestNamesAreConfigurable(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, "", "a")
	exec(t, db, `CREATE SCHEMA "My Schema"`)
	exec(t, db, `ALTER TABLE watermill_forwarder_topic RENAME TO "my ""events"""`)
	exec(t, db, `ALTER TABLE "my ""events""" SET SCHEMA "My Schema"`)
	exec(t, db, `ALTER TABLE watermill_offsets_forwarder_topic RENAME TO off`)
	exec(t, db, `ALTER TABLE off SET SCHEMA "My Schema"`)
	src := newSource(t, db, wmforward.Config{Schema: "My Schema", Table: `my "events"`, OffsetsTable: "off", ConsumerGroup: "g"})
	require.NoError(t, src.Check(t.Context()))
	require.Equal(t, []string{"a"}, drain(t, src))
	require.Equal(t, 1, query1[int](t, db, `SELECT count(*) FROM "My Schema".off WHERE consumer_group = 'g'`))

	files, err := wmforward.Migrations(wmforward.Config{Schema: "My Schema", StateTable: "mine"})
	require.NoError(t, err)
	f, err := files.Open("00001_state.sql")
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
