package prove

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/prover"
)

const (
	past   = "connect leat to the primary itself, past the read/write splitter"
	direct = "connect relays and maintenance directly, or in session mode"
	engine = "this server does not work as PostgreSQL does here: leat cannot keep what it promises on it"
)

// Probes implements prover.Server.
func (p *postgres) Probes() []prover.Probe {
	reads, stay := "reads.primary", "sessions.stay"
	both := []string{reads, stay}
	with := func(names ...string) []string { return append(slices.Clip(both), names...) }
	on := func(try func(*postgres, *prover.Trial)) func(*prover.Trial) {
		return func(t *prover.Trial) { try(p, t) }
	}
	return []prover.Probe{
		prover.NewProbe(reads, "O2 O12 I7 I8", nil, past, on((*postgres).readsPrimary)),
		prover.NewProbe(stay, "O9 O14", nil, direct, on((*postgres).sessionsStay)),
		prover.NewProbe("snapshots", "O2 O3 O11", both, engine, on((*postgres).snapshots)),
		prover.NewProbe("windows", "O2 O5 O11", with("snapshots"), engine, on((*postgres).windows)),
		prover.NewProbe("sequence", "O2 O5 O12", both, engine, on((*postgres).sequence)),
		prover.NewProbe("locks.keys", "O5 I3 I5", both, engine, on((*postgres).locksKeys)),
		prover.NewProbe("sessions.end", "O1 O14 I2 I4 I5", with("locks.keys"), "a session that is gone must end on the server within seconds: look for a pooler or proxy that keeps it", on((*postgres).sessionsEnd)),
		prover.NewProbe("unique.waits", "I1 I5", both, engine, on((*postgres).uniqueWaits)),
		prover.NewProbe("durability", "O3 I3", nil, "ALTER ROLE … SET synchronous_commit = on for the roles of producers, relays and consumers", on((*postgres).durability)),
		prover.NewProbe("claim.once", "I1 I3 I5", with("locks.keys", "unique.waits", "durability"), engine, on((*postgres).claimOnce)),
		prover.NewProbe("rows.locks", "O9 O12 O14", both, engine, on((*postgres).rowsLocks)),
		prover.NewProbe("read.committed", "O2 O5 I6", both, engine, on((*postgres).readCommitted)),
		prover.NewProbe("batches", "I2", both, "this server or pooler takes transactions apart: leat cannot keep what it promises on it", on((*postgres).batches)),
		prover.NewProbe("clock", "O9 O14", both, "leases go by this clock: it must move, and be the same for all sessions", on((*postgres).clock)),
		prover.NewProbe("notify", "latency O3", both, "without notifications relays poll: "+direct, on((*postgres).notify)),
		prover.NewProbe("prepared", "latency", nil, "add default_query_exec_mode=cache_describe to the URLs of the database, or raise max_prepared_statements of the pooler", on((*postgres).prepared)),
		prover.NewProbe("leat.check", "O2 O3 O12", with("durability"), "see what Migrate, Check and a relay say", on((*postgres).leatCheck)),
	}
}

// splitSessions is how many sessions look for a splitter, which may choose a server for each session.
const splitSessions = 10

// readsPrimary looks for a splitter that sends reads to another server. The queries do not call functions
// by which a splitter could recognize them. The exception is leat's own read: a standby must answer it with
// an error.
func (p *postgres) readsPrimary(t *prover.Trial) {
	w := p.session(t)
	w.do("CREATE TABLE {s}.reads (seq bigint PRIMARY KEY, xid xid8 NOT NULL DEFAULT pg_current_xact_id(), id uuid NOT NULL DEFAULT gen_random_uuid(), name text NOT NULL)")
	shapes := []struct{ name, sql string }{
		{"a page of the log", "SELECT count(*) FROM (SELECT seq FROM {s}.reads WHERE seq > $1::bigint - 1 AND name = $2 ORDER BY seq LIMIT 10) AS page"},
		{"a row by its number", "SELECT count(*) FROM {s}.reads WHERE seq = $1 AND name = $2"},
		{"the newest rows", "SELECT count(*) FROM (SELECT seq, name FROM {s}.reads ORDER BY seq DESC LIMIT 100) AS newest WHERE seq = $1 AND name = $2"},
		{"a page as leat reads it", "SELECT count(*) FROM {s}.reads WHERE seq > $1::bigint - 1 AND name = $2 AND " + pgerr.Primary},
	}
	ours := len(shapes) - 1
	var mu sync.Mutex
	away, missed, refusals, n := 0, make([]int, len(shapes)), 0, 0
	write := func(name string) int {
		mu.Lock()
		defer mu.Unlock()
		n++
		w.exec("INSERT INTO {s}.reads (seq, name) VALUES ($1, $2)", n, name)
		return n
	}
	count := func(counter *int) {
		mu.Lock()
		defer mu.Unlock()
		*counter++
	}
	var steps []func()
	for range splitSessions {
		s := p.session(t)
		steps = append(steps, func() {
			if ask[bool](s, "SELECT current_setting('in_hot_standby') = 'on'") {
				count(&away)
			}
			for range 5 {
				name := prover.Unique()
				seq := write(name)
				for at, shape := range shapes {
					var rows int64
					switch err := s.conn.QueryRow(t.Context(), s.sql(shape.sql), seq, name).Scan(&rows); {
					case errors.Is(pgerr.Standby(err), pgerr.ErrStandby), at == ours && pgerr.Is(err, pgerr.UndefinedTable, pgerr.InvalidSchemaName):
						count(&refusals) // an error, not a silent miss
					case pgerr.Is(err, pgerr.UndefinedTable, pgerr.InvalidSchemaName), err == nil && rows == 0:
						count(&missed[at])
					default:
						fail.If(refused(err))
					}
				}
			}
		})
	}
	t.Together(steps...)
	switch {
	case missed[ours] > 0:
		t.Broken("leat's own reads did not see a committed row, and did not notice: %d of %d", missed[ours], n)
	case refusals > 0:
		t.Broken("leat's own reads are sent to a standby, and fail there: %d of %d", refusals, n)
	}
	if away > 0 {
		t.Limited("statements outside of transactions are sent to a standby (%d sessions of %d)", away, splitSessions)
	}
	for at, shape := range shapes[:ours] {
		if missed[at] > 0 {
			t.Limited("did not see a committed row: %d of %d of %s", missed[at], n, shape.name)
		}
	}
	if t.Finding.Outcome == prover.Limited {
		t.Finding.Details = append(t.Finding.Details, "what leat decides by stays on the primary; your own reads, and figures of leat's, may be late")
	}
}

// sessionsStay looks for a pooler that moves a session to another server process between transactions.
func (p *postgres) sessionsStay(t *prover.Trial) {
	const pid = "SELECT pg_backend_pid()"
	a, b := p.session(t), p.session(t)
	pids := []int32{know[int32](a, pid)}
	for range 5 {
		b.do("BEGIN")
		know[int32](b, pid)
		pids = append(pids, know[int32](a, pid))
		b.do("COMMIT")
		pids = append(pids, know[int32](a, pid))
	}
	slices.Sort(pids)
	if n := len(slices.Compact(pids)); n > 1 {
		t.Limited("a pooler stands before the server, and not in session mode: one session had %d server processes", n)
		t.Limited("locks of sessions and notifications do not work through it: leases count, and relays poll")
		return
	}
	a.do("SELECT set_config('leat_prove.mark', 'kept', false)") // its own session, which other clients do not get
	b.do("BEGIN", "SELECT 1", "COMMIT")
	if know[string](a, "SELECT coalesce(current_setting('leat_prove.mark', true), '')") != "kept" {
		t.Limited("a setting of the session is lost between two transactions")
	}
}

// names lists rows in order of their numbers.
const names = "SELECT coalesce(string_agg(name, ', ' ORDER BY seq), '') FROM {s}.%s WHERE "

// snapshots compares the rows visible in a snapshot with the committed ones.
func (p *postgres) snapshots(t *prover.Trial) {
	w, open, r := p.session(t), p.session(t), p.session(t)
	w.do("CREATE TABLE {s}.snapshots (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, xid xid8 NOT NULL DEFAULT pg_current_xact_id(), name text NOT NULL)")
	put := func(s session, name string) { s.exec("INSERT INTO {s}.snapshots (name) VALUES ($1)", name) }
	open.do("BEGIN")
	put(open, "open")
	put(w, "committed")
	r.do("BEGIN")
	put(r, "rolled back")
	r.do("ROLLBACK")
	w.do("BEGIN", "SAVEPOINT one")
	put(w, "undone")
	w.do("ROLLBACK TO one")
	put(w, "kept")
	w.do("COMMIT")
	snapshot := "SELECT pg_current_snapshot()::text"
	list := fmt.Sprintf(names, "snapshots")
	in, notIn := "pg_visible_in_snapshot(xid, $1::pg_snapshot)", "NOT pg_visible_in_snapshot(xid, $1::pg_snapshot)"
	first := know[string](w, snapshot)
	if got, want := know[string](w, list+in, first), "committed, kept"; got != want {
		t.Broken("a snapshot shows %q in place of %q", got, want)
	}
	open.do("COMMIT")
	if got, want := know[string](w, list+in, first), "committed, kept"; got != want {
		t.Broken("a snapshot shows %q in place of %q once another transaction has committed", got, want)
	}
	second := know[string](w, snapshot)
	if got, want := know[string](w, list+notIn+" AND pg_visible_in_snapshot(xid, $2::pg_snapshot)", first, second), "open"; got != want {
		t.Broken("between two snapshots there is %q in place of %q", got, want)
	}
	last := ""
	for i := range 6 { // texts of the same length compare like numbers
		id := know[string]([]session{w, open}[i%2], "SELECT lpad(pg_current_xact_id()::text, 20, '0')")
		if id <= last {
			t.Broken("numbers of transactions do not ascend: %s after %s", strings.TrimLeft(id, "0"), strings.TrimLeft(last, "0"))
			return
		}
		last = id
	}
}

// windows reads the commits of four writers through a chain of snapshots: it must see each row once.
func (p *postgres) windows(t *prover.Trial) {
	const writers, writing = 4, 2 * time.Second
	reader := p.session(t)
	reader.do("CREATE TABLE {s}.windows (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, xid xid8 NOT NULL DEFAULT pg_current_xact_id(), name text NOT NULL)")
	committed := make([][]string, writers)
	end := time.Now().Add(writing)
	var steps []func()
	for i := range writers {
		s := p.session(t)
		steps = append(steps, func() {
			for n := 0; time.Now().Before(end); n++ {
				name := fmt.Sprintf("%d-%d", i, n)
				s.do("BEGIN")
				s.exec("INSERT INTO {s}.windows (name) VALUES ($1)", name)
				t.Pause(time.Duration(rand.IntN(30)) * time.Millisecond) //nolint:gosec // any will do
				if n%5 == 4 {
					s.do("ROLLBACK")
					continue
				}
				s.do("COMMIT")
				committed[i] = append(committed[i], name)
			}
		})
	}
	read := map[string]int{}
	prev := "1:1:"
	window := func() {
		target := know[string](reader, "SELECT pg_current_snapshot()::text")
		list := fmt.Sprintf(names, "windows") + "pg_visible_in_snapshot(xid, $2::pg_snapshot) AND NOT pg_visible_in_snapshot(xid, $1::pg_snapshot)"
		for name := range strings.SplitSeq(know[string](reader, list, prev, target), ", ") {
			read[name]++
		}
		prev = target
	}
	t.Together(append(steps, func() {
		for time.Now().Before(end) {
			window()
			t.Pause(20 * time.Millisecond)
		}
	})...)
	window()
	delete(read, "")
	all, lost, again := 0, 0, 0
	for _, name := range slices.Concat(committed...) {
		all++
		if read[name] == 0 {
			lost++
		} else if read[name] > 1 {
			again++
		}
		delete(read, name)
	}
	if lost+again+len(read) > 0 {
		t.Broken("of %d committed rows %d were in no window and %d in several; %d were of no committed transaction", all, lost, again, len(read))
	}
	if all == 0 {
		t.Say(prover.CouldNotTry, "nothing was committed in %s", writing)
	}
}

// sequence checks the numbers of the log.
func (p *postgres) sequence(t *prover.Trial) {
	a, b := p.session(t), p.session(t)
	a.do("CREATE TABLE {s}.numbers (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL)")
	const insert = "INSERT INTO {s}.numbers (name) VALUES ('x') RETURNING seq"
	a.do("BEGIN")
	drawn := ask[int64](a, insert)
	if seen := know[int64](b, "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('{s}.numbers', 'seq')::regclass), 0)"); seen < drawn {
		t.Broken("the number %d of an open transaction is not seen: the sequence is at %d", drawn, seen)
	}
	a.do("ROLLBACK")
	for i := range 10 {
		next := ask[int64]([]session{b, a}[i%2], insert)
		if next <= drawn {
			t.Broken("numbers do not ascend from session to session: %d after %d", next, drawn)
			return
		}
		drawn = next
	}
}

// locksKeys tries the transaction locks by which keys stay in order.
func (p *postgres) locksKeys(t *prover.Trial) {
	const lock, try, key = "SELECT pg_advisory_xact_lock($1)", "SELECT pg_try_advisory_xact_lock($1)", int64(7_205_759_403_792_701)
	a, b := p.session(t), p.session(t)
	a.do("CREATE TABLE {s}.locks (name text NOT NULL)")
	free := func() bool {
		b.do("BEGIN")
		defer b.do("ROLLBACK")
		return know[bool](b, try, key)
	}
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		a.do("BEGIN")
		a.exec(lock, key)
		if free() {
			t.Broken("two sessions hold one advisory lock at the same time")
			return
		}
		a.do(end)
		if !free() {
			t.Broken("an advisory lock is not free after %s", end)
		}
	}
	a.do("BEGIN", "SAVEPOINT one")
	a.exec(lock, key)
	a.do("ROLLBACK TO one")
	if !free() {
		t.Broken("an advisory lock is not free after ROLLBACK TO SAVEPOINT")
	}
	a.do("ROLLBACK", "BEGIN")
	a.exec(lock, key)
	a.exec("INSERT INTO {s}.locks (name) VALUES ('before')")
	b.do("BEGIN")
	next := b.start(lock, key)
	if !t.Waits(next) {
		t.Broken("a second session does not wait for an advisory lock")
	}
	a.do("COMMIT")
	t.Result(next)
	if know[int64](b, "SELECT count(*) FROM {s}.locks") == 0 {
		t.Broken("whoever waited for an advisory lock does not see what its holder has committed")
	}
	b.do("COMMIT")
}

// goneWithin is how long a server may take to notice that a session has gone.
const goneWithin = 3 * time.Second

// sessionsEnd ends sessions in the middle of a transaction, from both sides.
func (p *postgres) sessionsEnd(t *prover.Trial) {
	const key = int64(7_205_759_403_792_702)
	w := p.session(t)
	w.do("CREATE TABLE {s}.ends (name text NOT NULL)")
	for _, end := range []struct {
		how string
		do  func(s session)
	}{
		{"that the server has ended", func(s session) {
			_, err := s.attempt("SELECT pg_terminate_backend(pg_backend_pid())") // inside its own transaction, so that it ends our process even behind a pooler
			if refusal, ok := errors.AsType[prover.RefusedError](err); ok && refusal.Rights {
				s.cut()
			}
		}},
		{"whose connection was cut", session.cut},
	} {
		s := p.session(t)
		s.do("BEGIN")
		s.exec("SELECT pg_advisory_xact_lock($1)", key)
		s.exec("INSERT INTO {s}.ends (name) VALUES ($1)", end.how)
		end.do(s)
		if !t.Soon(goneWithin, func() bool { return know[bool](w, "SELECT pg_try_advisory_xact_lock($1)", key) }) {
			t.Broken("the locks of a session %s are not free after %s", end.how, goneWithin)
		}
		if know[int64](w, "SELECT count(*) FROM {s}.ends") > 0 {
			t.Broken("what a session %s had not committed is there", end.how)
		}
	}
	if t.Before["sessions.stay"] == prover.Limited || t.Before["sessions.stay"] == prover.Broken {
		return // session locks are not used
	}
	s := p.session(t)
	if !know[bool](s, "SELECT pg_try_advisory_lock($1)", key) || know[bool](w, "SELECT pg_try_advisory_lock($1)", key) {
		t.Broken("the advisory lock of a session does not exclude another one")
		return
	}
	s.cut()
	if !t.Soon(goneWithin, func() bool { return know[bool](w, "SELECT pg_try_advisory_lock($1)", key) }) {
		t.Limited("the advisory lock of a session whose connection was cut is not free after %s", goneWithin)
	}
}

// uniqueWaits inserts a row that another transaction has inserted but not committed.
func (p *postgres) uniqueWaits(t *prover.Trial) {
	a, b := p.session(t), p.session(t)
	a.do("CREATE TABLE {s}.ids (id uuid PRIMARY KEY)")
	const insert = "INSERT INTO {s}.ids (id) VALUES ($1) ON CONFLICT DO NOTHING"
	for id, end := range map[string]struct {
		how  string
		rows int64
	}{
		"00000000-0000-7000-8000-000000000001": {"COMMIT", 0},
		"00000000-0000-7000-8000-000000000002": {"ROLLBACK", 1},
	} {
		a.do("BEGIN")
		a.exec(insert, id)
		second := b.start(insert, id)
		if !t.Waits(second) {
			t.Broken("an insert of an id does not wait for the transaction that has inserted it before")
			a.do(end.how)
			continue
		}
		a.do(end.how)
		if rows := t.Result(second); rows != end.rows {
			t.Broken("after %s of the first insert of an id the second has inserted %d rows in place of %d", end.how, rows, end.rows)
		}
	}
}

// rowsLocks tries the row locks that leases depend on.
func (p *postgres) rowsLocks(t *prover.Trial) {
	a, b := p.session(t), p.session(t)
	a.do("CREATE TABLE {s}.leases (id int PRIMARY KEY, epoch int NOT NULL)", "INSERT INTO {s}.leases VALUES (1, 0), (2, 0)")
	a.do("BEGIN", "SELECT 1 FROM {s}.leases WHERE id = 1 FOR UPDATE SKIP LOCKED")
	b.do("BEGIN")
	if got := ask[int](b, "SELECT id FROM {s}.leases ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"); got != 2 {
		t.Broken("FOR UPDATE SKIP LOCKED gives away a row that another transaction has locked")
	}
	a.do("ROLLBACK")
	b.do("ROLLBACK")
	const set = "UPDATE {s}.leases SET epoch = epoch + 1 WHERE id = 1 AND epoch = 0"
	a.do("BEGIN")
	a.exec(set)
	second := b.start(set)
	if !t.Waits(second) {
		t.Broken("an update of a row does not wait for the transaction that has updated it before")
	}
	a.do("COMMIT")
	if rows := t.Result(second); rows != 0 {
		t.Broken("of two updates that expect the same value both have changed the row")
	}
}

// readCommitted reads twice in one transaction.
func (p *postgres) readCommitted(t *prover.Trial) {
	a, b := p.session(t), p.session(t)
	a.do("CREATE TABLE {s}.committed (name text NOT NULL)", "BEGIN ISOLATION LEVEL READ COMMITTED")
	const count = "SELECT count(*) FROM {s}.committed"
	know[int64](a, count)
	b.do("INSERT INTO {s}.committed VALUES ('x')")
	if know[int64](a, count) != 1 {
		t.Broken("at READ COMMITTED a second statement does not see what has committed since the first one")
	}
	a.do("COMMIT")
}

// batches tries batches of statements, COMMIT of a failed transaction, and savepoints.
func (p *postgres) batches(t *prover.Trial) {
	s := p.session(t)
	s.do("CREATE TABLE {s}.batches (id int PRIMARY KEY)", "INSERT INTO {s}.batches VALUES (1)")
	insert := s.sql("INSERT INTO {s}.batches VALUES ($1)")
	rows := func() string {
		return know[string](s, "SELECT coalesce(string_agg(id::text, ' ' ORDER BY id), '') FROM {s}.batches")
	}
	batch := &pgx.Batch{}
	batch.Queue(insert, 2)
	batch.Queue(insert, 1) // a duplicate
	if err := s.conn.SendBatch(t.Context(), batch).Close(); err == nil {
		t.Broken("a batch with a statement that fails is reported as done")
	}
	if got := rows(); got != "1" {
		t.Broken("of a batch with a statement that fails the others have taken effect: rows %s in place of 1", got)
	}
	s.do("BEGIN")
	if _, err := s.attempt(insert, 1); err == nil {
		t.Broken("an id is inserted twice")
	}
	tag, err := s.conn.Exec(t.Context(), "COMMIT")
	fail.If(refused(err))
	if tag.String() != "ROLLBACK" {
		t.Broken("COMMIT of a transaction that has failed is answered with %s in place of ROLLBACK", tag)
	}
	s.do("BEGIN")
	s.exec(insert, 3)
	s.do("SAVEPOINT one")
	_, _ = s.attempt(insert, 1)
	s.do("ROLLBACK TO one")
	s.exec(insert, 4)
	s.do("COMMIT")
	if got := rows(); got != "1 3 4" {
		t.Broken("after ROLLBACK TO SAVEPOINT there are rows %s in place of 1 3 4", got)
	}
}
