package pgoutbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO2_SavepointsAcrossWindows: rows carry the transaction's xid, whichever savepoint wrote them.
func TestO2_SavepointsAcrossWindows(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	tx := begin(t, ob, db)
	tx.put("k", "before").exec("SAVEPOINT a").put("k", "undone").put("", "undone too")
	put(t, ob, "other", "1")
	require.Equal(t, []string{"1"}, payloads(readAll(t, s, 10)))
	tx.exec("ROLLBACK TO a").put("k", "after")
	tx.exec("SAVEPOINT b").put("", "kept").exec("RELEASE b")
	put(t, ob, "other", "2")
	require.Equal(t, []string{"2"}, payloads(readAll(t, s, 10)))
	tx.commit()
	require.Equal(t, []string{"before", "after", "kept"}, payloads(readAll(t, s, 1)))
}

// TestO2_ManySavepoints uses more subtransactions than a snapshot can list.
func TestO2_ManySavepoints(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	tx := begin(t, ob, db)
	for range 100 {
		tx.exec("SAVEPOINT s").put("", "many")
	}
	put(t, ob, "", "other")
	require.Equal(t, []string{"other"}, payloads(readAll(t, s, 7)))
	tx.commit()
	require.Len(t, readAll(t, s, 7), 100)
}

// TestO2_PreparedTransactionAcrossWindows: a prepared transaction is not read, not skipped and not waited
// for.
func TestO2_PreparedTransactionAcrossWindows(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	kept, undone := "kept "+db.Name, "undone "+db.Name
	for gid, payload := range map[string]string{kept: "kept", undone: "undone"} {
		begin(t, ob, db).put("", payload).exec("PREPARE TRANSACTION '" + gid + "'")
	}
	for _, name := range []string{"1", "2", "3"} {
		put(t, ob, "", name)
		require.Equal(t, []string{name}, payloads(readAll(t, s, 10)))
	}
	exec(t, db, "COMMIT PREPARED '"+kept+"'")
	exec(t, db, "ROLLBACK PREPARED '"+undone+"'")
	require.Equal(t, []string{"kept"}, payloads(readAll(t, s, 10)))
}

// TestO2_XidDrawnLongBeforeTheRow: the transaction drew its xid for other work many windows ago.
func TestO2_XidDrawnLongBeforeTheRow(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	tx := begin(t, ob, db).exec("SELECT pg_current_xact_id()")
	for range 5 {
		put(t, ob, "", "x")
		require.Len(t, readAll(t, s, 10), 1)
	}
	tx.put("k", "first")
	for range 5 {
		put(t, ob, "", "x")
		require.Len(t, readAll(t, s, 10), 1)
	}
	tx.put("k", "second").commit()
	require.Equal(t, []string{"first", "second"}, payloads(readAll(t, s, 10)))
}

// TestO2_CopyIsRead: COPY fills in column defaults as INSERT does.
func TestO2_CopyIsRead(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	conn := db.Connect(t)
	_, err := conn.PgConn().CopyFrom(t.Context(),
		byteReader(`0190d1d8-0000-7000-8000-000000000001,1,events,copied`+"\n"),
		"COPY leat.outbox (id, shard, topic, payload) FROM STDIN (FORMAT csv)")
	require.NoError(t, err)
	require.Equal(t, []string{"copied"}, payloads(readAll(t, s, 10)))
}

// TestO2_ProducersCannotForgeTheXid: a row with an explicit xid of the past would be accepted and never
// read, so producers get INSERT on the payload columns only.
func TestO2_ProducersCannotForgeTheXid(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	put(t, ob, "", "1")
	require.Len(t, readAll(t, s, 10), 1)
	const forged = "INSERT INTO leat.outbox (xid, id, shard, topic, payload) VALUES ('3', gen_random_uuid(), 0, 't', 'forged')"
	exec(t, db, forged)
	require.Empty(t, readAll(t, s, 10), "negative control: never read")

	role := "leat_test_" + db.Name[len(db.Name)-12:]
	exec(t, db, `CREATE ROLE "`+role+`"`)
	t.Cleanup(func() { dropRole(t, db, role) })
	exec(t, db, `GRANT USAGE ON SCHEMA leat TO "`+role+`";
		GRANT INSERT (id, shard, id_text, topic, key, type, payload, headers, occurred_at) ON leat.outbox TO "`+role+`";
		GRANT SELECT ON leat.outbox_meta TO "`+role+`"`)
	tx := begin(t, ob, db).exec(`SET LOCAL ROLE "` + role + `"`)
	tx.put("k", "as a producer").exec("SAVEPOINT s")
	_, err := tx.Exec(t.Context(), forged)
	require.ErrorContains(t, err, "permission denied")
	tx.exec("ROLLBACK TO s").commit()
	require.Equal(t, []string{"as a producer"}, payloads(readAll(t, s, 10)))
}

// TestO2_EverySizeOfPage reads the same windows, with early and late rows, in pages of every size.
func TestO2_EverySizeOfPage(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	var sessions []sized
	for limit := range 8 {
		group := "g" + string(rune('0'+limit))
		sessions = append(sessions, sized{acquire(t, ob, group), limit + 1})
	}
	var got [8][]string
	read := func() {
		for i, s := range sessions {
			got[i] = append(got[i], payloads(readAll(t, s.Session, s.limit))...)
		}
	}
	a, b := begin(t, ob, db).put("a", "a1", "a2"), begin(t, ob, db).put("b", "b1")
	put(t, ob, "", "c")
	read()
	a.put("a", "a3")
	b.put("b", "b2", "b3")
	put(t, ob, "", "d", "e")
	read()
	a.put("a", "a4")
	put(t, ob, "", "f")
	a.commit()
	b.commit()
	read()
	for i := range got {
		require.Equal(t, []string{"c", "d", "e", "a1", "a2", "b1", "a3", "b2", "b3", "a4", "f"}, got[i], "pages of %d", i+1)
	}
}
