package wmforward_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/wmforward"
)

// marker stands for a person.
const marker = "ann.smith@example.org"

// enveloped stores a message as a forwarder's publisher does.
func enveloped(t *testing.T, db *testenv.Database, id, key, payload string) {
	t.Helper()
	envelope, err := json.Marshal(map[string]any{
		"destination_topic": "events", "uuid": id, "payload": []byte(payload),
		"metadata": map[string]string{outbox.HeaderKey: key, "user": key},
	})
	require.NoError(t, err)
	_, err = db.Pool.Exec(t.Context(), `INSERT INTO watermill_forwarder_topic (uuid, payload, transaction_id) VALUES ($1, $2, pg_current_xact_id())`, id, envelope)
	require.NoError(t, err)
}

// stored are the rows of all tables that have text in a column, as it is, in base64 or in hexadecimal.
func stored(t *testing.T, db *testenv.Database, text string) (found []string) {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'`)
	require.NoError(t, err)
	tables := []string{}
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(t, rows.Err())
	require.Greater(t, len(tables), 6)
	for _, table := range tables {
		rows, err := db.Pool.Query(t.Context(), "SELECT r::text FROM "+table+" r")
		require.NoError(t, err)
		for rows.Next() {
			var row string
			require.NoError(t, rows.Scan(&row))
			for _, form := range []string{text, base64.StdEncoding.EncodeToString([]byte(text)), hex.EncodeToString([]byte(text))} {
				if strings.Contains(row, form) {
					found = append(found, table+": "+row)
					break
				}
			}
		}
		require.NoError(t, rows.Err())
	}
	return found
}

// Nothing of a person is left in the forwarder's table and in those beside it, all of somebody else is, and
// what was erased is not sent.
func TestErase(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]driver.EraseRequest{
		"by key":    {Key: marker, Topic: "ev*"},
		"by header": {Header: "user", Value: marker},
		"by id":     {IDs: []string{"p-sent", "p-bad", "p-behind", "p-pending"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			enveloped(t, db, "p-sent", marker, marker)
			enveloped(t, db, "p-bad", marker, "bad "+marker)
			enveloped(t, db, "p-behind", marker, marker)
			enveloped(t, db, "o-sent", "bob", "bob")
			enveloped(t, db, "o-bad", "bob", "bad bob")
			src := newSource(t, db, wmforward.Config{})
			sink := collector{refuse: "bad"}
			runOnce(t, src, &sink)
			require.Equal(t, []string{marker, "bob"}, sink.taken())
			enveloped(t, db, "p-pending", marker, marker)
			enveloped(t, db, "o-pending", "carl", "carl")
			exec(t, db, insertRaw+`'"no envelope"', pg_current_xact_id())`)
			bobs := len(stored(t, db, "bob"))
			require.NotEmpty(t, stored(t, db, marker))

			request.Actor, request.Reason, request.DryRun = "ops", "request 17", true
			planned, err := src.Erase(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, driver.Erased{
				Rows: map[string]int{"log": 4, "held": 2, "audit": 1}, Topics: map[string]int{"events": 6},
				IDs: []string{"p-bad", "p-behind", "p-pending", "p-sent"},
			}, planned)
			require.NotEmpty(t, stored(t, db, marker), "a dry run changes nothing")

			request.DryRun = false
			done, err := src.Erase(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, planned, done)
			require.Empty(t, stored(t, db, marker))
			require.Len(t, stored(t, db, "bob"), bobs)
			notes, err := src.Audit(t.Context(), admin.AuditQuery{Action: "erase"})
			require.NoError(t, err)
			require.Len(t, notes, 6, "one for each row")
			again, err := src.Erase(t.Context(), request)
			require.NoError(t, err)
			require.Empty(t, again.Rows)

			sink.refuse = ""
			runOnce(t, src, wmforward.Guard(&sink))
			require.Equal(t, []string{"carl"}, sink.taken(), "what was erased is not sent")
			malformed, err := src.Erase(t.Context(), driver.EraseRequest{Actor: "ops", Reason: "request 17", IDs: []string{"row-1"}})
			require.NoError(t, err)
			require.Equal(t, map[string]int{"log": 1, "held": 1, "audit": 1}, malformed.Rows)
		})
	}
}
