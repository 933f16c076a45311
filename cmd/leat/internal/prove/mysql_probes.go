package prove

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/internal/sqldialect"
)

// scratchName matches the tables of a scratch place.
var scratchName = regexp.MustCompile(`^` + prover.Prefix + `[0-9]+_[0-9a-f]{8}_`)

const mysqlEngine = "this server does not work as MySQL does here: leat cannot keep what it promises on it"

// Probes implements prover.Server.
func (m *mysql) Probes() []prover.Probe {
	reads, stay, start, tables := "reads.primary", "sessions.stay", "sessions.start", "tables.transactions"
	roots := []string{reads, stay, tables}
	with := func(names ...string) []string { return append(slices.Clip(roots), names...) }
	on := func(try func(*mysql, *prover.Trial)) func(*prover.Trial) { return func(t *prover.Trial) { try(m, t) } }
	return []prover.Probe{
		prover.NewProbe(reads, "O2 O12 I7 I8", nil, past, on((*mysql).readsPrimary)),
		prover.NewProbe(stay, "O9 O14", []string{reads}, "connect relays and maintenance directly: a proxy gives a session another one of the server", on((*mysql).sessionsStay)),
		prover.NewProbe(start, "O1 I2", []string{reads}, "set autocommit = 1 on the server, and let init_connect begin no transaction", on((*mysql).sessionsStart)),
		prover.NewProbe(tables, "O1 I2", []string{reads}, "leat needs InnoDB: see which storage engines the server has, and sql_mode (NO_ENGINE_SUBSTITUTION)", on((*mysql).tablesTransactions)),
		prover.NewProbe("sequence", "O2 O5 O12", roots, "set auto_increment_increment = 1; numbers must ascend, and none be given out twice", on((*mysql).sequence)),
		prover.NewProbe("numbers.lock", "O2", with("sequence"), mysqlEngine, on((*mysql).numbersLock)),
		prover.NewProbe("locks.names", "O9 O14", roots, mysqlEngine, on((*mysql).locksNames)),
		prover.NewProbe("locks.rows", "O5 O9 O12 O14 I3", roots, mysqlEngine, on((*mysql).locksRows)),
		prover.NewProbe("sessions.end", "O1 O14 I2 I4 I5", with("locks.names", "locks.rows"), "a session that is gone must end on the server within seconds: look for a pooler or proxy that keeps it", on((*mysql).sessionsEnd)),
		prover.NewProbe("unique.waits", "I1 I5", roots, mysqlEngine, on((*mysql).uniqueWaits)),
		prover.NewProbe("deadlocks", "O1 I2", with("locks.rows"), mysqlEngine, on((*mysql).deadlocks)),
		prover.NewProbe("read.committed", "O2 O5 I6", roots, mysqlEngine, on((*mysql).readCommitted)),
		prover.NewProbe("clock", "O9 O14", roots, "leases go by this clock: it must move, and be the same for all sessions", on((*mysql).clock)),
		prover.NewProbe("packets", "O1 O6", roots, "raise max_allowed_packet of the server, of proxies, and maxAllowedPacket of the URL", on((*mysql).packets)),
		prover.NewProbe("durability", "O3 I3", nil, "set innodb_flush_log_at_trx_commit = 1", on((*mysql).durability)),
		prover.NewProbe("claim.once", "I1 I3 I5", with(start, "locks.rows", "unique.waits", "durability"), mysqlEngine, m.claimOnce),
		prover.NewProbe("leat.check", "O2 O3 O12", with("sequence", "locks.rows", "durability", "packets"), "see what Migrate, Check and a relay say", m.leatCheck),
	}
}

// session opens a connection with the same settings as leat's.
func (m *mysql) session(t *prover.Trial) sqlSession {
	s := m.sqlPlace.session(t)
	s.do("SET SESSION autocommit = 1", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE")
	return s
}

// readsPrimary asks ten sessions which server they have reached, inside and outside of transactions. It also
// reads rows that were committed; one of these reads is leat's own, with a condition that fails on another
// server.
func (m *mysql) readsPrimary(t *prover.Trial) {
	w := m.session(t)
	w.do("CREATE TABLE {s}_reads (seq BIGINT NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL)")
	who := "SELECT " + m.server.Server
	w.do("BEGIN")
	w.exec("INSERT INTO {s}_reads VALUES (0, '')")
	primary := value[string](w, who)
	w.do("COMMIT")
	shapes := []struct{ name, sql string }{
		{"a page of the log", "SELECT COUNT(*) FROM (SELECT seq FROM {s}_reads WHERE seq > ? - 1 AND name = ? ORDER BY seq LIMIT 10) AS page"},
		{"a row by its number", "SELECT COUNT(*) FROM {s}_reads WHERE seq = ? AND name = ?"},
		{"a page as leat reads it", "SELECT COUNT(*) FROM {s}_reads WHERE seq > ? - 1 AND name = ? AND " + m.server.SameServer},
	}
	ours := len(shapes) - 1
	var mu sync.Mutex
	servers, missed, refusals, n := map[string]bool{primary: true}, make([]int, len(shapes)), 0, 0
	locked := func(do func()) {
		mu.Lock()
		defer mu.Unlock()
		do()
	}
	var steps []func()
	for range splitSessions {
		s := m.session(t)
		steps = append(steps, func() {
			for range 5 {
				name, seq := prover.Unique(), 0
				locked(func() {
					n++
					seq = n
					w.exec("INSERT INTO {s}_reads (seq, name) VALUES (?, ?)", seq, name)
				})
				server := value[string](s, who)
				s.do("START TRANSACTION READ ONLY")
				inside := value[string](s, who)
				s.do("COMMIT")
				locked(func() { servers[server], servers[inside] = true, true })
				for at, shape := range shapes {
					args := []any{seq, name}
					if at == ours {
						args = append(args, primary)
					}
					rows, err := look[int64](s, shape.sql, args...)
					number := sqldialect.Number(err)
					locked(func() {
						switch {
						case at == ours && (number == sqldialect.SeveralRows || number == sqldialect.NoSuchTable):
							refusals++ // an error, not a silent miss
						case number == sqldialect.NoSuchTable, err == nil && rows == 0:
							missed[at]++
						default:
							fail.If(err)
						}
					})
				}
			}
		})
	}
	t.Together(steps...)
	if missed[ours] > 0 {
		t.Broken("leat's own reads did not see a committed row, and did not notice: %d of %d", missed[ours], n)
	}
	if len(servers) > 1 {
		t.Broken("%d servers answer, which relays refuse", len(servers))
	}
	if refusals > 0 {
		t.Broken("leat's own reads are answered by another server, and fail: %d of %d", refusals, n)
	}
	for at, shape := range shapes[:ours] {
		if missed[at] > 0 {
			t.Broken("did not see a committed row: %d of %d of %s", missed[at], n, shape.name)
		}
	}
}

// sessionsStay looks for a proxy that moves a session to another server connection between transactions.
func (m *mysql) sessionsStay(t *prover.Trial) {
	a, b := m.session(t), m.session(t)
	const id = "SELECT CONNECTION_ID()"
	ids := []int64{value[int64](a, id)}
	a.do("SET @leat_prove = 'kept'")
	for range 5 {
		b.do("BEGIN")
		value[int64](b, id)
		ids = append(ids, value[int64](a, id))
		b.do("COMMIT")
		ids = append(ids, value[int64](a, id))
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n > 1 {
		t.Broken("one session had %d sessions of the server", n)
	}
	if value[string](a, "SELECT COALESCE(@leat_prove, '')") != "kept" {
		t.Broken("a setting of the session is lost between two transactions")
	}
}

// sessionsStart checks the state of a new session.
func (m *mysql) sessionsStart(t *prover.Trial) {
	a, b := m.sqlPlace.session(t), m.session(t)
	b.do("CREATE TABLE {s}_started (name VARCHAR(40) NOT NULL PRIMARY KEY)")
	a.do("INSERT INTO {s}_started VALUES ('x')")
	if value[int64](b, "SELECT COUNT(*) FROM {s}_started") != 1 {
		t.Broken("a statement of a new session does not commit by itself: autocommit is off, or init_connect begins a transaction; inboxes refuse")
	}
}

// tablesTransactions checks that InnoDB tables are transactional.
func (m *mysql) tablesTransactions(t *prover.Trial) {
	s := m.session(t)
	s.do("CREATE TABLE {s}_engine (name VARCHAR(40) NOT NULL PRIMARY KEY) ENGINE=InnoDB", "BEGIN", "INSERT INTO {s}_engine VALUES ('x')", "SAVEPOINT one",
		"INSERT INTO {s}_engine VALUES ('y')", "ROLLBACK TO SAVEPOINT one")
	if n := value[int64](s, "SELECT COUNT(*) FROM {s}_engine"); n != 1 {
		t.Broken("after ROLLBACK TO SAVEPOINT there are %d rows in place of 1", n)
	}
	s.do("ROLLBACK")
	if n := value[int64](s, "SELECT COUNT(*) FROM {s}_engine"); n != 0 {
		t.Broken("what a transaction has inserted that was rolled back is there")
	}
}

const numbered = "CREATE TABLE {s}_%s (seq BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL) ENGINE=InnoDB"

// draw inserts a row, and returns its number.
func (s sqlSession) draw(table string) int64 {
	result, err := s.conn.ExecContext(s.t.Context(), s.place.sql("INSERT INTO {s}_"+table+" (name) VALUES ('x')"))
	fail.If(refused(err))
	n, err := result.LastInsertId()
	fail.If(err)
	return n
}

// sequence checks that the numbers of the log are used once, and ascend across sessions.
func (m *mysql) sequence(t *prover.Trial) {
	a, b := m.session(t), m.session(t)
	a.do(fmt.Sprintf(numbered, "numbers"))
	a.do("BEGIN")
	last := a.draw("numbers")
	a.do("ROLLBACK")
	for i := range 10 {
		next := []sqlSession{b, a}[i%2].draw("numbers")
		switch {
		case next <= last:
			t.Broken("numbers do not ascend from session to session, or one is given out again after ROLLBACK: %d after %d", next, last)
			return
		case next > last+1:
			t.Broken("most numbers are missing: %d after %d", next, last)
			return
		}
		last = next
	}
}

// numbersLock tries how the relay recognizes open numbers, and how it closes numbers that were never used.
func (m *mysql) numbersLock(t *prover.Trial) {
	a, b, c := m.session(t), m.session(t), m.session(t)
	a.do(fmt.Sprintf(numbered, "open"))
	const at, closes = "SELECT COUNT(*) FROM {s}_open WHERE seq = ? FOR UPDATE NOWAIT", "INSERT IGNORE INTO {s}_open (seq, name) VALUES (?, 'closed')"
	a.do("BEGIN")
	open := a.draw("open")
	if _, err := look[int64](b, at, open); err == nil {
		t.Broken("the number %d of an open transaction is not locked", open)
	} else if !sqldialect.Locked(err) {
		fail.Now(err)
	}
	closing := c.start(closes, open)
	if !t.Waits(closing) {
		t.Broken("an insert of the number of an open transaction does not wait for it")
	}
	a.do("COMMIT")
	if rows := t.Result(closing); rows != 0 {
		t.Broken("a number that was committed is inserted again")
	}
	a.do("BEGIN")
	left := a.draw("open")
	a.do("ROLLBACK")
	value[int64](b, at, left)
	if rows := b.exec(closes, left); rows != 1 {
		t.Broken("the number %d, which nobody has, cannot be closed", left)
	}
	if _, err := c.attempt("INSERT INTO {s}_open (seq, name) VALUES (?, 'late')", left); err == nil {
		t.Broken("a number that was closed is used")
	}
}

// locksNames tries the named locks by which a standby sees that a leader is alive.
func (m *mysql) locksNames(t *prover.Trial) {
	a, b := m.session(t), m.session(t)
	const lock, free = "SELECT GET_LOCK(?, 0)", "SELECT IS_FREE_LOCK(?)"
	name := m.name + "_a"
	if value[int64](a, lock, name) != 1 || value[int64](b, lock, name) != 0 {
		t.Broken("two sessions hold one named lock at the same time")
	}
	if value[int64](b, free, name) != 0 {
		t.Broken("a named lock that a session holds is free")
	}
	a.do("BEGIN", "COMMIT")
	if value[int64](b, free, name) != 0 {
		t.Broken("a named lock is lost at the end of a transaction")
	}
	value[int64](a, "SELECT RELEASE_LOCK(?)", name)
	if value[int64](b, free, name) != 1 {
		t.Broken("a named lock that was released is not free")
	}
}

// locksRows tries the locks that keys, claims and leases rest on.
func (m *mysql) locksRows(t *prover.Trial) {
	a, b := m.session(t), m.session(t)
	a.do("CREATE TABLE {s}_rows (id INT NOT NULL PRIMARY KEY, epoch INT NOT NULL) ENGINE=InnoDB", "INSERT INTO {s}_rows VALUES (1, 0), (2, 0)",
		"CREATE TABLE {s}_after (name VARCHAR(40) NOT NULL PRIMARY KEY) ENGINE=InnoDB")
	a.do("BEGIN")
	value[int64](a, "SELECT id FROM {s}_rows WHERE id = 1 FOR UPDATE SKIP LOCKED")
	b.do("BEGIN")
	if got := value[int64](b, "SELECT COALESCE(MIN(id), 0) FROM (SELECT id FROM {s}_rows ORDER BY id FOR UPDATE SKIP LOCKED) AS r"); got != 2 {
		t.Broken("FOR UPDATE SKIP LOCKED gives away a row that another transaction has locked")
	}
	b.do("ROLLBACK", "BEGIN")
	a.do("INSERT INTO {s}_after VALUES ('x')")
	next := t.Start(func() (int64, error) { return look[int64](b, "SELECT id FROM {s}_rows WHERE id = 1 FOR UPDATE") })
	if !t.Waits(next) {
		t.Broken("a second transaction does not wait for a row that the first has locked")
	}
	a.do("COMMIT")
	t.Result(next)
	if value[int64](b, "SELECT COUNT(*) FROM {s}_after") != 1 {
		t.Broken("whoever waited for a row does not see what its holder has committed")
	}
	b.do("COMMIT")
	const set = "UPDATE {s}_rows SET epoch = epoch + 1 WHERE id = 1 AND epoch = 0"
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

// sessionsEnd ends sessions in the middle of a transaction, from both sides.
func (m *mysql) sessionsEnd(t *prover.Trial) {
	w := m.session(t)
	w.do("CREATE TABLE {s}_ends (id INT NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL) ENGINE=InnoDB", "INSERT INTO {s}_ends VALUES (1, '')")
	for i, end := range []struct {
		how string
		do  func(s sqlSession)
	}{
		{"that was killed", func(s sqlSession) { _, _ = s.attempt("KILL CONNECTION_ID()") }}, // its own connection
		{"whose connection was cut", func(s sqlSession) { s.cut() }},
	} {
		s := m.session(t)
		name := fmt.Sprintf("%s_%d", m.name, i)
		value[int64](s, "SELECT GET_LOCK(?, 0)", name)
		s.do("BEGIN", "UPDATE {s}_ends SET name = 'taken' WHERE id = 1", fmt.Sprintf("INSERT INTO {s}_ends VALUES (%d, 'new')", i+2))
		end.do(s)
		if _, err := s.attempt("DO 0"); err == nil {
			s.do("ROLLBACK")
			value[int64](s, "SELECT RELEASE_LOCK(?)", name)
			t.Say(prover.OK, "KILL CONNECTION_ID() does not end a session here: only a connection that is cut was tried")
			continue
		}
		if !t.Soon(goneWithin, func() bool { return value[int64](w, "SELECT IS_FREE_LOCK(?)", name) == 1 }) {
			t.Broken("the named lock of a session %s is not free after %s", end.how, goneWithin)
		}
		free := func() bool {
			_, err := look[int64](w, "SELECT id FROM {s}_ends WHERE id = 1 FOR UPDATE NOWAIT")
			if err != nil && !sqldialect.Locked(err) {
				fail.Now(err)
			}
			return err == nil
		}
		if !t.Soon(goneWithin, free) {
			t.Broken("the row locks of a session %s are not free after %s", end.how, goneWithin)
		}
		if value[int64](w, "SELECT COUNT(*) FROM {s}_ends WHERE name <> ''") > 0 {
			t.Broken("what a session %s had not committed is there", end.how)
		}
	}
}

// uniqueWaits inserts a row that another transaction has inserted but not committed.
func (m *mysql) uniqueWaits(t *prover.Trial) {
	a, b := m.session(t), m.session(t)
	a.do("CREATE TABLE {s}_ids (id BINARY(16) NOT NULL PRIMARY KEY) ENGINE=InnoDB")
	const insert = "INSERT IGNORE INTO {s}_ids (id) VALUES (?)"
	for id, end := range map[string]struct {
		how  string
		rows int64
	}{"0123456789abcdef": {"COMMIT", 0}, "fedcba9876543210": {"ROLLBACK", 1}} {
		a.do("BEGIN")
		a.exec(insert, []byte(id))
		second := b.start(insert, []byte(id))
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

// deadlocks makes two transactions wait for each other. One of them must be rolled back as a whole.
func (m *mysql) deadlocks(t *prover.Trial) {
	a, b := m.session(t), m.session(t)
	a.do("CREATE TABLE {s}_dead (id INT NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL) ENGINE=InnoDB", "INSERT INTO {s}_dead VALUES (1, ''), (2, '')")
	const update = "UPDATE {s}_dead SET name = 'x' WHERE id = ?"
	for i, s := range []sqlSession{a, b} {
		s.do("BEGIN", fmt.Sprintf("INSERT INTO {s}_dead VALUES (%d, 'mine')", 10+i))
		s.exec(update, 1+i)
	}
	errs := make([]error, 2)
	t.Together(func() { _, errs[0] = a.attempt(update, 2) }, func() { _, errs[1] = b.attempt(update, 1) })
	victims := 0
	for i, s := range []sqlSession{a, b} {
		if errs[i] != nil && sqldialect.Number(errs[i]) != sqldialect.Deadlock {
			t.Broken("of two transactions that wait for each other one fails by %s, and not by error 1213", errs[i])
		}
		if errs[i] != nil {
			victims++
		}
		s.do("COMMIT")
		want := int64(1)
		if errs[i] != nil {
			want = 0
		}
		if got := value[int64](s, "SELECT COUNT(*) FROM {s}_dead WHERE id = ?", 10+i); got != want {
			t.Broken("what a transaction has done that was ended for a deadlock is there, or what the other one has done is not")
		}
	}
	if victims != 1 {
		t.Broken("of two transactions that wait for each other %d are ended in place of 1", victims)
	}
}

// readCommitted reads twice in one transaction.
func (m *mysql) readCommitted(t *prover.Trial) {
	a, b := m.session(t), m.session(t)
	a.do("CREATE TABLE {s}_committed (name VARCHAR(40) NOT NULL PRIMARY KEY) ENGINE=InnoDB", "BEGIN")
	const count = "SELECT COUNT(*) FROM {s}_committed"
	value[int64](a, count)
	b.do("BEGIN", "INSERT INTO {s}_committed VALUES ('x')")
	if value[int64](a, count) != 0 {
		t.Broken("what is not committed is seen")
	}
	b.do("COMMIT")
	if value[int64](a, count) != 1 {
		t.Broken("at READ COMMITTED a second statement does not see what has committed since the first one")
	}
	a.do("COMMIT")
}

// clock compares the clock of two sessions.
func (m *mysql) clock(t *prover.Trial) {
	s := []sqlSession{m.session(t), m.session(t)}
	clock(t, func(i int) time.Time { return time.UnixMicro(value[int64](s[i], "SELECT "+m.server.Now)) })
}

// packetBytes is the largest statement that leat sends: two of its largest payloads.
const packetBytes = 9 << 20

// packets sends a statement of that size.
func (m *mysql) packets(t *prover.Trial) {
	s := m.session(t)
	got, err := look[int64](s, "SELECT LENGTH(?)", strings.Repeat("x", packetBytes-100))
	if err != nil && t.Context().Err() == nil {
		t.Broken("a statement of %d MiB does not pass: %s", packetBytes>>20, err)
		return
	}
	fail.If(err)
	if got != packetBytes-100 {
		t.Broken("of a text of %d bytes %d arrive", packetBytes-100, got)
	}
}

// durability checks the settings that decide if a commit is on disk.
func (m *mysql) durability(t *prover.Trial) {
	s := m.session(t)
	if v := value[string](s, "SELECT @@innodb_flush_log_at_trx_commit"); v != "1" {
		t.Broken("innodb_flush_log_at_trx_commit is %s: a commit is answered before it is on the disk; relays and inboxes refuse", v)
	}
	setting := func(name string) string {
		v, err := look[string](s, "SELECT @@"+name)
		if _, refused := errors.AsType[prover.RefusedError](err); !refused { // a server that does not know the setting
			fail.If(err)
		}
		return v
	}
	doubtful := func(what string) {
		t.Limited("%s: a crash of the machine may lose what was committed, unless its storage is durable by other means", what)
		if t.Finding.Outcome == prover.Limited {
			t.Finding.Advice = "ask who runs the server what survives a crash of its machine"
		}
	}
	if v := setting("innodb_doublewrite"); v == "0" || v == "OFF" {
		doubtful("innodb_doublewrite is off")
	}
	if v := setting("innodb_flush_method"); strings.EqualFold(v, "nosync") {
		doubtful("innodb_flush_method is " + v)
	}
	if setting("log_bin") == "1" && setting("sync_binlog") != "1" {
		doubtful("sync_binlog is " + setting("sync_binlog"))
	}
}
