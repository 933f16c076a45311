package pgoutbox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestOddNames: schema and table are quoted everywhere, and any number of outboxes can share a database
// without affecting each other.
func TestOddNames(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	var outboxes []*pgoutbox.Outbox
	configs := []pgoutbox.Config{
		{},
		{Schema: `we"ird`, Table: `o"ut'box`},
		{Schema: "Upper Case", Table: "The Outbox"},
		{Schema: `we"ird`, Table: "select"},
		{Schema: "leat", Table: "outbox2"},
		{Schema: "public", Table: strings.Repeat("x", 48)},
		{Schema: "ünïcode", Table: `a.b; DROP TABLE x --`},
		{Schema: "dollar$1", Table: "$1 %s @x"},
	}
	for _, cfg := range configs {
		ob, err := pgoutbox.New(db.Pool, cfg)
		require.NoError(t, err, "%+v", cfg)
		require.NoError(t, ob.Migrate(t.Context()), "%+v", cfg)
		require.NoError(t, ob.Migrate(t.Context()), "again: %+v", cfg)
		outboxes = append(outboxes, ob)
	}
	for i, ob := range outboxes {
		put(t, ob, "same key", fmt.Sprint("message of ", i))
		e := entries()["EnqueueSQL"](t, ob, db)
		require.NoError(t, e.enqueue(t.Context(), keyed("same key", "sql")...))
		require.NoError(t, e.end(true))
	}
	for i, ob := range outboxes {
		require.NoError(t, source(t, ob, "").Check(t.Context()))
		require.Equal(t, []string{fmt.Sprint("message of ", i), "sql"}, payloads(readAll(t, acquire(t, ob, ""), 1)))
		st, err := ob.SchemaStatus(t.Context())
		require.NoError(t, err)
		require.Equal(t, st.Latest, st.Current)
	}
}

// TestOutboxesDoNotBlockEachOther: the same key in two outboxes of a database means two different locks.
func TestOutboxesDoNotBlockEachOther(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	a, err := pgoutbox.New(db.Pool, pgoutbox.Config{Table: "a"})
	require.NoError(t, err)
	b, err := pgoutbox.New(db.Pool, pgoutbox.Config{Table: "b"})
	require.NoError(t, err)
	require.NoError(t, a.Migrate(t.Context()))
	require.NoError(t, b.Migrate(t.Context()))
	holds := begin(t, a, db).put("k", "held")
	put(t, b, "k", "free")
	holds.rollback()
}

func TestConfig(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	for name, c := range map[string]struct {
		cfg   pgoutbox.Config
		names []string
	}{
		"long table":      {pgoutbox.Config{Table: strings.Repeat("x", 49)}, []string{"Table", strings.Repeat("x", 49), "63"}},
		"long schema":     {pgoutbox.Config{Schema: strings.Repeat("x", 64)}, []string{"Schema", "63"}},
		"NUL":             {pgoutbox.Config{Schema: "a\x00b"}, []string{"Schema", `a\x00b`}},
		"not UTF-8":       {pgoutbox.Config{Table: "a\xff"}, []string{"Table", "UTF-8"}},
		"negative size":   {pgoutbox.Config{MaxPayloadBytes: -1}, []string{"MaxPayloadBytes", "-1", "268435456"}},
		"large size":      {pgoutbox.Config{MaxPayloadBytes: 1 << 30}, []string{"MaxPayloadBytes", "1073741824"}},
		"negative locks":  {pgoutbox.Config{MaxKeyLocks: -1}, []string{"MaxKeyLocks", "-1", "10000"}},
		"too many locks":  {pgoutbox.Config{MaxKeyLocks: 10_001}, []string{"MaxKeyLocks", "10001"}},
		"negative time":   {pgoutbox.Config{MigrateLockTimeout: -1}, []string{"MigrateLockTimeout", "-1ns"}},
		"token in a name": {pgoutbox.Config{Schema: "a{{b"}, []string{"Schema", "{{"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pgoutbox.New(db.Pool, c.cfg)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			for _, s := range c.names {
				require.ErrorContains(t, err, s)
			}
			if c.cfg.MaxPayloadBytes == 0 {
				_, err = pgoutbox.Migrations(c.cfg)
				require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			}
		})
	}
	_, err := pgoutbox.New(nil, pgoutbox.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)

	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	for _, group := range []string{strings.Repeat("g", 201), "a\xff", "a\x00b"} {
		_, err := ob.Source(pgoutbox.SourceConfig{Group: group})
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, "Group")
	}
}
