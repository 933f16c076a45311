package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/wmforward"
)

// forwarderTables are those of watermill-sql's default adapters for the forwarder's topic.
const forwarderTables = `
CREATE TABLE watermill_forwarder_topic (
	"offset" bigserial, uuid varchar(36) NOT NULL, created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
	payload json, metadata json, transaction_id xid8 NOT NULL, PRIMARY KEY (transaction_id, "offset"));
CREATE TABLE watermill_offsets_forwarder_topic (
	consumer_group varchar(255) NOT NULL, offset_acked bigint, last_processed_transaction_id xid8 NOT NULL, PRIMARY KEY (consumer_group))`

// The table of Watermill's forwarder is operated by the same commands, as far as it goes.
func TestForwarder(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	_, err := db.Pool.Exec(t.Context(), forwarderTables)
	require.NoError(t, err)
	source, err := wmforward.New(db.Pool, wmforward.Config{})
	require.NoError(t, err)
	require.NoError(t, source.Migrate(t.Context()))
	o := newSession(t, db.URL)
	o.env = append(o.env, "LEAT_FORWARDER=forwarder_topic")
	o.run(0, "status")
	o.run(0, "parked", "list")
	o.run(3, "parked", "redrive", "--id", "m-1", "--reason", "fixed", "--yes")
	o.run(2, "groups", "remove", "default", "--reason", "obsolete", "--yes")
	o.run(2, "messages", "search")
	o.run(2, "replay", "--reason", "again", "--yes")
	o.golden("forwarder")
	bundle := o.leat("bundle")
	require.Zero(t, bundle.code, bundle.err)
	require.Contains(t, bundle.out, "forwarder_topic")
	erase := o.leat("erase", "--key", "ann", "--reason", "request 17", "--dry-run")
	require.Zero(t, erase.code, erase.err)
	require.Contains(t, erase.out, "Nothing is stored of it.")
}
