package main_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// moves are the blocks of code of a section of docs/moves.md, in their order.
func moves(t *testing.T, section string) (blocks []string, text string) {
	t.Helper()
	raw, err := os.ReadFile("../../docs/moves.md")
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(raw), "\n## "+section+"\n")
	require.True(t, ok, section)
	text, _, _ = strings.Cut(text, "\n## ")
	for _, found := range regexp.MustCompile("(?s)```(?:sql|sh)\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, strings.TrimSpace(found[1]))
	}
	return blocks, text
}

// TestMoves_Commands: the commands and flags of the page are there.
func TestMoves_Commands(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/moves.md")
	require.NoError(t, err)
	o := newSession(t, "")
	found := regexp.MustCompile("(?m)`(leat [a-z][^`…]*)`|^ +(leat [a-z].*)$").FindAllStringSubmatch(string(raw), -1)
	require.Greater(t, len(found), 15)
	for _, match := range found {
		args := strings.Fields(strings.NewReplacer("GROUP", "orders", "--leave-out N", "--leave-out 1").Replace(match[1] + match[2]))
		r := o.leat(append(args[1:], "--help")...)
		require.Zero(t, r.code, "%s\n%s", match[0], r.err)
		require.Contains(t, r.out, "Usage: "+strings.Join(args[:2], " "))
	}
}

// execute runs SQL, with words of the page replaced.
func (s *shop) execute(t *testing.T, sql string, replaced ...string) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), strings.NewReplacer(replaced...).Replace(sql))
	require.NoError(t, err)
}

func ask[T any](t *testing.T, s *shop, sql string, args ...any) (value T) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), sql, args...).Scan(&value), sql)
	return value
}

// eventually asks until the answer is true.
func eventually(t *testing.T, s *shop, sql string) {
	t.Helper()
	require.Eventually(t, func() bool { return ask[bool](t, s, sql) }, patience, 20*time.Millisecond, sql)
}

// maintain does a round of maintenance of the outbox and of the inbox.
func (s *shop) maintain(t *testing.T) {
	t.Helper()
	m, err := pgoutbox.NewMaintenance(s.ob, pgoutbox.MaintenanceConfig{})
	require.NoError(t, err)
	_, err = m.RunOnce(t.Context())
	require.NoError(t, err)
	in, err := pginbox.NewMaintenance(s.Pool, pginbox.Config{}, pginbox.MaintenanceConfig{})
	require.NoError(t, err)
	require.NoError(t, in.Enable(t.Context()))
	_, err = in.RunOnce(t.Context())
	require.NoError(t, err)
}

// ranges is how many there are.
func (s *shop) ranges(t *testing.T, of string) int {
	t.Helper()
	return ask[int](t, s, "SELECT count(*)::int FROM pg_inherits WHERE inhparent = $1::text::regclass", of)
}

// deliver hands messages to an inbox, and returns the outcomes.
func (s *shop) deliver(t *testing.T, messages ...string) (outcomes []inbox.Outcome) {
	t.Helper()
	in := s.inbox(t, "shipping", inbox.Config{})
	for _, id := range messages {
		outcome, err := in.Process(t.Context(), message.NewMessage(id, nil), func(context.Context) error { return nil })
		require.NoError(t, err)
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

// send relays once, and returns the ids of one key in their order. What is bad is parked.
func (s *shop) send(t *testing.T) (sent []string) {
	t.Helper()
	relayOnce(t, s, "", relay.Policy{}, func(r outbox.Record) error {
		if err := ifBad(errors.New("no schema 17"))(r); err != nil {
			return err
		}
		sent = append(sent, r.ID)
		return nil
	})
	return sent
}

// pair are two servers, with the page's section about them.
type pair struct {
	blue, green *shop
	page        []string
	text        string
}

func newPair(t *testing.T) (p pair) {
	t.Helper()
	settings := testenv.PostgresOptions{Settings: map[string]string{"fsync": "off", "wal_level": "logical"}}
	p.blue = newShopIn(t, testenv.PrivatePostgres(t, settings).Database(t, migrated()))
	p.green = newShopIn(t, testenv.PrivatePostgres(t, settings).Database(t))
	p.page, p.text = moves(t, "Blue to green")
	require.Len(t, p.page, 5)
	p.blue.execute(t, "CREATE TABLE orders (id text PRIMARY KEY); INSERT INTO orders VALUES ('order-1')")
	return p
}

// dump copies the schema.
func (p pair) dump(t *testing.T, replaced ...string) {
	t.Helper()
	replaced = append(replaced, " blue ", " '"+p.blue.URL+"' ", "psql green", "psql -q -v ON_ERROR_STOP=1 '"+p.green.URL+"'")
	dump := exec.CommandContext(t.Context(), "sh", "-c", strings.NewReplacer(replaced...).Replace(p.page[1]))
	programs := ask[string](t, p.blue, "SELECT setting FROM pg_config WHERE name = 'BINDIR'")
	dump.Env = append(os.Environ(), "PATH="+programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := dump.CombinedOutput()
	require.NoError(t, err, string(out))
}

// subscribe has green follow blue, and waits for all rows that there are.
func (p pair) subscribe(t *testing.T) {
	t.Helper()
	p.green.execute(t, p.page[2], "host=blue dbname=shop", p.blue.URL)
	eventually(t, p.green, "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel")
}

// part waits until green has all that blue has, and ends the subscription.
func (p pair) part(t *testing.T) {
	t.Helper()
	end := ask[string](t, p.blue, "SELECT pg_current_wal_lsn()::text")
	eventually(t, p.blue, strings.ReplaceAll(p.page[3], "LSN", end))
	p.green.execute(t, p.page[4])
}

// TestMoves_BlueToGreenWithoutOurTables: the outbox is drained, and another one begins.
//
//leat:level 4
func TestMoves_BlueToGreenWithoutOurTables(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.blue.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
	p.blue.execute(t, p.page[0], "FOR TABLES IN SCHEMA leat, public", "FOR TABLE orders")
	p.dump(t, "--schema-only", "--schema-only --table orders")
	p.subscribe(t)
	require.Equal(t, []string{"m-1"}, p.blue.send(t))
	require.Zero(t, newSession(t, p.blue.URL).leat("status").code)
	p.part(t)
	o := newSession(t, p.green.URL)
	require.Contains(t, p.text, "`leat migrate up`")
	o.run(0, "migrate", "up", "--yes")
	p.green.enqueue(t, placed("m-2", "orders", "order-1", "fine"))
	require.Equal(t, []string{"m-2"}, p.green.send(t))
	require.Equal(t, 1, ask[int](t, p.green, "SELECT count(*)::int FROM orders"))
	require.Equal(t, doctor.OK, o.verdict("sequence.value", "").Verdict)
}

// TestMoves_BlueToGreen does what the page says, with leat's tables in the publication: nothing is lost,
// what is parked, delayed and remembered comes along, and ranges that blue makes meanwhile stop nothing.
//
//leat:level 4
func TestMoves_BlueToGreen(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	blue, green := p.blue, p.green
	o, onGreen := newSession(t, blue.URL), newSession(t, green.URL)

	require.NoError(t, blue.inbox(t, "shipping", inbox.Config{}).Migrate(t.Context()))
	blue.maintain(t)
	blue.trouble(t) // parks, gives up and delays
	delivered := newIDs(t, 3)
	require.Equal(t, []inbox.Outcome{inbox.OutcomeCommitted}, blue.deliver(t, delivered[0]))

	p.publish(t)
	blue.maintain(t)
	require.GreaterOrEqual(t, blue.ranges(t, "leat.outbox"), 15+2, "one is in use, and one is open-ended")
	require.GreaterOrEqual(t, blue.ranges(t, "leat.inbox_ranges"), 30+1)
	require.Equal(t, doctor.OK, o.verdict("schema.shape", "").Verdict)

	p.dump(t)
	p.subscribe(t)

	green.refuses(t, onGreen)
	blue.enqueue(t, placed("m-8", "orders", "order-8", "fine"))
	blue.execute(t, "SELECT setval('leat.outbox_seq_seq', 1000000000000)") // into the open-ended range of both
	blue.enqueue(t, placed("m-9", "orders", "order-8", "fine"))
	blue.maintain(t) // closes it
	require.Equal(t, []string{"m-8", "m-9"}, blue.send(t))
	blue.enqueue(t, placed("m-10", "orders", "order-8", "fine"))
	blue.deliver(t, delivered[1])
	require.Equal(t, doctor.OK, onGreen.verdict("schema.shape", "").Verdict)

	p.part(t)
	for _, table := range []string{"orders", "leat.outbox", "leat.outbox_held", "leat.outbox_dead", "leat.outbox_delayed", "leat.outbox_audit", "leat.outbox_positions", "leat.inbox_ranges", "leat.inbox_consumers"} {
		count := "SELECT count(*)::int FROM " + table
		require.Equal(t, ask[int](t, blue, count), ask[int](t, green, count), table)
	}
	require.Contains(t, p.text, "leat doctor --only sequence.value")
	green.execute(t, onGreen.verdict("sequence.value", "behind").Advice)
	require.Equal(t, doctor.OK, onGreen.verdict("sequence.value", "").Verdict)
	require.Contains(t, p.text, "leat rebase --group GROUP --start unsettled")
	for _, group := range []string{"default", "mail"} {
		onGreen.run(0, "rebase", "--group", group, "--start", "unsettled", "--reason", "moved to green", "--yes")
	}
	green.goesOn(t, delivered)
}

func newIDs(t *testing.T, n int) (all []string) {
	t.Helper()
	for range n {
		id, err := ids.New()
		require.NoError(t, err)
		all = append(all, id)
	}
	return all
}

// publish makes the page's publication. PostgreSQL 14 knows none of schemas.
func (p pair) publish(t *testing.T) {
	t.Helper()
	if major, _, _ := strings.Cut(p.blue.ServerVersion, "."); major == "14" {
		p.blue.execute(t, p.page[0], "FOR TABLES IN SCHEMA leat, public", "FOR ALL TABLES")
		return
	}
	p.blue.execute(t, p.page[0])
}

// refuses is a target of a subscription.
func (s *shop) refuses(t *testing.T, o *session) {
	t.Helper()
	require.ErrorIs(t, s.source(t, "").Check(t.Context()), driver.ErrSourceUnusable)
	require.Equal(t, doctor.Fail, o.verdict("sequence.value", "the target of a logical replication").Verdict)
	require.NotZero(t, o.leat("rebase", "--group", "default", "--start", "unsettled", "--reason", "too early", "--yes").code)
}

// goesOn looks that green has all that blue had.
func (s *shop) goesOn(t *testing.T, delivered []string) {
	t.Helper()
	s.enqueue(t, placed("m-11", "orders", "order-8", "fine"))
	require.Equal(t, []string{"m-10", "m-11"}, s.send(t))
	require.Equal(t, []int{3, 1, 1}, []int{
		ask[int](t, s, "SELECT count(*)::int FROM leat.outbox_held WHERE relay_group = 'default'"),
		ask[int](t, s, "SELECT count(*)::int FROM leat.outbox_dead"), ask[int](t, s, "SELECT count(*)::int FROM leat.outbox_delayed"),
	})
	s.maintain(t)
	require.Equal(t, []inbox.Outcome{inbox.OutcomeDuplicate, inbox.OutcomeDuplicate, inbox.OutcomeCommitted}, s.deliver(t, delivered...))
}

// TestMoves_ServerChangeIsShown: after a failover the status says what to do.
func TestMoves_ServerChangeIsShown(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := newSession(t, s.URL)
	s.send(t)
	const text = "ago the server changed from timeline "
	require.NotContains(t, o.leat("status").out, text)
	s.execute(t, "UPDATE leat.outbox_groups SET timeline = 7")
	s.send(t)
	require.Contains(t, o.leat("status").out, text+"7 to timeline 1: nothing may write to the former one (docs/moves.md)")
	require.Contains(t, o.leat("status", "-o", "json").out, `"server_changed":{"before":"timeline 7","now":"timeline 1","ago_seconds":`)
	s.execute(t, "UPDATE leat.outbox_groups SET timeline_changed = timeline_changed - interval '8 days'")
	require.NotContains(t, o.leat("status").out, text)
}
