package main_test

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// marker stands for a person: it is in keys, payloads, headers, types and errors.
const marker = "ann.smith@example.org"

// personal is a message about the person.
func personal(id, topic, payload string) outbox.Message {
	m := placed(id, topic, marker, payload)
	m.Type, m.Headers = "type of "+marker, map[string]string{"user": marker}
	return m
}

// about lets an outbox and an inbox store all that they can of a person, and as much of somebody else.
func about(t *testing.T, s store) {
	t.Helper()
	later := personal("p-delayed", "mails", marker)
	later.NotBefore = time.Now().Add(time.Hour)
	other := placed("o-delayed", "mails", "bob", "bob")
	other.NotBefore = later.NotBefore
	s.enqueue(t,
		personal("p-sent", "orders", marker), personal("p-bad", "orders", "bad"), personal("p-behind", "orders", marker),
		placed("o-bad", "orders", "bob", "bad"), placed("o-behind", "orders", "bob", "fine"), later, other,
	)
	fail := func(r outbox.Record) error {
		if string(r.Payload) == "bad" {
			return errors.New("no address for " + r.Key)
		}
		return nil
	}
	relayOnce(t, s, "", relay.Policy{Topics: "orders*"}, fail)
	relayOnce(t, s, "mail", relay.Policy{Action: relay.DeadLetter}, fail)
	s.enqueue(t, personal("p-retried", "slow", marker), personal("p-dead", "orders", "bad"), placed("o-waits", "slow", "bob", "fine"))
	relayOnce(t, s, "retries", relay.Policy{}, func(r outbox.Record) error {
		if r.Key == marker {
			return errors.New("no address for " + r.Key)
		}
		return nil
	})
	s.enqueue(t, personal("p-pending", "orders", marker), placed("o-pending", "orders", "bob", "fine"))

	in := s.inbox(t, "loyalty", inbox.Config{
		OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay}, KeepReplies: true,
		Fingerprint: func(m *message.Message) ([]byte, error) { return m.Payload, nil },
	})
	require.NoError(t, in.Migrate(t.Context()))
	for _, m := range []struct{ id, key, payload string }{
		{"p-sent", marker, marker},
		{"p-bad", marker, "bad"},
		{"p-behind", marker, marker},
		{"o-sent", "bob", "bob"},
		{"o-bad", "bob", "bad"},
		{"o-behind", "bob", "bob"},
	} {
		msg := message.NewMessage(m.id, []byte(m.payload))
		msg.Metadata.Set("leat_key", m.key)
		msg.Metadata.Set("user", m.key)
		_, _ = in.Process(t.Context(), msg, func(context.Context) error {
			if m.payload == "bad" {
				return errors.New("no address for " + m.key)
			}
			return nil
		})
	}
	trying := s.inbox(t, "billing", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 10, Delay: inbox.NoDelay}})
	for id, key := range map[string]string{"p-pending": marker, "o-pending": "bob"} {
		_, err := trying.Process(t.Context(), message.NewMessage(id, nil), func(context.Context) error { return errors.New("no address for " + key) })
		require.Error(t, err)
	}
}

// rows are the rows of all tables, with all of their columns, as text. Bytes are as they are, and in
// hexadecimal.
type rows map[string][]string

func (r rows) with(text string) (found []string) {
	for table, all := range r {
		for _, row := range all {
			for _, form := range []string{text, hex.EncodeToString([]byte(text)), base64.StdEncoding.EncodeToString([]byte(text))} {
				if strings.Contains(row, form) {
					found = append(found, table+": "+row)
					break
				}
			}
		}
	}
	return found
}

func (s *shop) rows(t *testing.T) rows {
	t.Helper()
	db := sqlDB(t, "pgx", s.URL)
	return readRows(t, db, `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables WHERE schemaname = 'leat'`, "SELECT r::text FROM %s r")
}

func (s *sqlShop) rows(t *testing.T) rows {
	t.Helper()
	list := "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	if s.dialect == outbox.SQLite {
		list = "SELECT name FROM sqlite_master WHERE type = 'table'"
	}
	return readRows(t, s.db, list, "SELECT * FROM %s")
}

func sqlDB(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func readRows(t *testing.T, db *sql.DB, list, read string) rows {
	t.Helper()
	all := rows{}
	for _, table := range texts(t, db, list) {
		all[table] = texts(t, db, fmt.Sprintf(read, table))
	}
	require.Greater(t, len(all), 10)
	return all
}

// texts are the rows of a query, each with its columns in one text.
func texts(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err, query)
	defer found.Close()
	columns, err := found.Columns()
	require.NoError(t, err)
	for found.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(t, found.Scan(into...))
		words := make([]string, len(columns))
		for i, value := range values {
			if text, ok := value.([]byte); ok {
				value = string(text)
			}
			words[i] = fmt.Sprint(value)
		}
		all = append(all, strings.Join(words, "|"))
	}
	require.NoError(t, found.Err())
	return all
}

// erasable is a shop whose tables can be looked through.
type erasable interface {
	store
	rows(t *testing.T) rows
}

// erases shows (S19) that nothing of the person is left in any table, and all of somebody else; that what was
// erased is not sent, and does not run when it comes again.
func erases(t *testing.T, s erasable, o *session) {
	t.Helper()
	about(t, s)
	require.NotEmpty(t, s.rows(t).with(marker))
	bobs := len(s.rows(t).with("bob"))
	command := []string{"erase", "--key", marker, "--reason", "request 17"}
	plan := o.leat(append(command, "--dry-run", "-o", "json")...)
	require.Zero(t, plan.code, plan.err)
	var planned struct {
		Outbox, Inbox map[string]int
		IDs           []string
	}
	require.NoError(t, json.Unmarshal([]byte(plan.out), &planned))
	require.Equal(t, []string{"p-bad", "p-behind", "p-dead", "p-delayed", "p-pending", "p-retried", "p-sent"}, planned.IDs)
	require.Equal(t, 6, planned.Outbox["log"])
	require.Equal(t, 1, planned.Outbox["delayed"])
	require.Positive(t, planned.Outbox["held"])
	require.Positive(t, planned.Outbox["dead"])
	require.Positive(t, planned.Outbox["audit"])
	require.Equal(t, 2, planned.Inbox["parked"])
	require.Equal(t, 1, planned.Inbox["attempts"])
	require.Positive(t, planned.Inbox["notes"])
	require.NotEmpty(t, s.rows(t).with(marker), "a dry run changes nothing")

	done := o.leat(append(command, "--yes")...)
	require.Zero(t, done.code, done.err)
	require.Regexp(t, "^Erased 7 messages: .* inbox parked; topics mails .1., orders .12., slow .2.", done.out)
	require.Contains(t, done.err, "the broker, until its retention")
	require.Empty(t, s.rows(t).with(marker), "nothing of the person is left in any column of any table")
	require.Len(t, s.rows(t).with("bob"), bobs, "of somebody else all is left")
	again := o.leat(append(command, "--yes")...)
	require.Zero(t, again.code, again.err)
	require.Contains(t, again.out, "Nothing is stored of it.")
	audit := o.leat("audit", "--action", "erase", "-o", "json")
	require.Contains(t, audit.out, `"reason":"request 17"`)
	require.Contains(t, audit.out, `"id":"p-pending"`)
	goesOn(t, s)
}

// goesOn shows that what was erased is not sent and does not run, and that the rest goes on.
func goesOn(t *testing.T, s store) {
	t.Helper()
	var sent []string
	for _, group := range []string{"", "mail", "retries", "fresh"} {
		relayOnce(t, s, group, relay.Policy{}, func(r outbox.Record) error {
			sent = append(sent, r.ID)
			return nil
		})
	}
	for _, id := range sent {
		require.True(t, strings.HasPrefix(id, "o-"), "%s is sent", id)
	}
	require.Contains(t, sent, "o-pending", "what comes behind is sent")
	in := s.inbox(t, "loyalty", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay}})
	for _, id := range []string{"p-sent", "p-bad", "p-behind"} {
		outcome, err := in.Process(t.Context(), message.NewMessage(id, nil), func(context.Context) error {
			require.Fail(t, "an erased message runs again", id)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, inbox.OutcomeDuplicate, outcome, id)
	}
}

func TestErase(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	erases(t, s, newSession(t, s.URL))
}

func TestSQL_Erase(t *testing.T) {
	t.Parallel()
	onSQL(t, func(t *testing.T, s *sqlShop) { erases(t, s, newSession(t, s.url)) })
}
