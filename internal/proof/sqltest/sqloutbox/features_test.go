package sqloutbox_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

var (
	_ outboxtest.Grouper        = subject{}
	_ admin.Outbox              = subject{}
	_ outboxtest.Delayer        = subject{}
	_ outboxtest.Replayer       = subject{}
	_ outboxtest.HistoryDropper = subject{}
	_ outboxtest.Retainer       = subject{}
	_ outboxtest.CounterSetter  = subject{}
	_ outboxtest.Mover          = subject{}
	_ outboxtest.ForeignWriter  = subject{}
	_ outboxtest.Mortal         = subject{}
	_ outboxtest.ClockSetter    = subject{}
)

// Die implements outboxtest.Mortal: the server ends the connection that holds the lock of a lease. On
// SQLite the lock on the file is released, as the operating system does when a process ends.
func (s subject) Die(ctx context.Context, _ driver.Session) error {
	if s.dialect == outbox.SQLite {
		return s.unlockFile(ctx)
	}
	var id int64
	err := s.db.QueryRowContext(ctx, "SELECT IS_USED_LOCK(CONCAT('leat-', CAST(RIGHT(owner, 36) AS CHAR))) FROM leat_outbox_groups WHERE owner <> ''").Scan(&id)
	if err == nil {
		_, err = s.db.ExecContext(ctx, fmt.Sprintf("KILL %d", id))
	}
	return err
}

// SetClockBack implements outboxtest.ClockSetter.
func (s subject) SetClockBack(ctx context.Context, by time.Duration) error {
	_, err := s.db.ExecContext(ctx, "UPDATE leat_outbox_groups SET lease_from = lease_from + ?, lease_until = lease_until + ?", by.Microseconds(), by.Microseconds())
	if err == nil {
		_, err = s.db.ExecContext(ctx, "UPDATE leat_outbox_held SET next_at = next_at + ? WHERE next_at > 0", by.Microseconds())
	}
	return err
}

// Now implements outboxtest.Delayer.
func (s subject) Now(ctx context.Context) (time.Time, error) {
	clock := "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
	if s.dialect == outbox.SQLite {
		clock = "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000"
	}
	var now int64
	err := s.db.QueryRowContext(ctx, clock).Scan(&now)
	return time.UnixMicro(now), err
}

// Promote implements outboxtest.Delayer.
func (s subject) Promote(ctx context.Context) error { return s.maintain(ctx, -1) }

// Retain implements outboxtest.Retainer.
func (s subject) Retain(ctx context.Context) error { return s.maintain(ctx, time.Microsecond) }

func (s subject) maintain(ctx context.Context, maxAge time.Duration) error {
	m, err := sqloutbox.NewMaintenance(s.Outbox, sqloutbox.MaintenanceConfig{Retention: maxAge})
	if err == nil {
		_, err = m.RunOnce(ctx)
	}
	return err
}

// History implements outboxtest.Replayer.
func (s subject) History(sel outboxtest.Selection) (driver.History, error) {
	return s.Outbox.History(sqloutbox.HistoryConfig{FromSeq: sel.FromSeq, ToSeq: sel.ToSeq, Topics: sel.Topics})
}

// DropHistory implements outboxtest.HistoryDropper. It deletes rows, as retention does.
func (s subject) DropHistory(ctx context.Context, seq int64) error {
	if _, err := s.db.ExecContext(ctx, "UPDATE leat_outbox_meta SET floor = ?", seq); err != nil {
		return err
	}
	_, err := s.db.ExecContext(ctx, "DELETE FROM leat_outbox WHERE seq > 0 AND seq <= ?", seq)
	return err
}

// SetCounter implements outboxtest.CounterSetter. The databases use the highest number in the log if it is
// above last.
func (s subject) SetCounter(ctx context.Context, last int64) error {
	if s.dialect == outbox.SQLite {
		_, err := s.db.ExecContext(ctx, "UPDATE sqlite_sequence SET seq = ? WHERE name = 'leat_outbox'", last)
		return err
	}
	_, err := s.db.ExecContext(ctx, fmt.Sprintf("ALTER TABLE leat_outbox AUTO_INCREMENT = %d", last+1))
	return err
}

// WriteForeign implements outboxtest.ForeignWriter, with the statement for other languages.
func (s subject) WriteForeign(ctx context.Context) (payloads []string, err error) {
	type row struct{ shard, id, topic, kind, headers, occurred, created any }
	clock := time.Now().UnixMicro()
	rows := []row{{headers: `{"tenant": 7}`}, {headers: `{"a": {"b": [1]}, "c": null}`}, {headers: `[1]`}, {headers: `"text"`}, {headers: "\xff no JSON"}}
	rows = append(rows, row{id: []byte{0xff}, kind: "\xff"}, row{shard: 32_767}, row{shard: -2}, row{occurred: int64(math.MaxInt64)}, row{created: int64(math.MinInt64)})
	if s.dialect == outbox.SQLite {
		rows = append(rows, row{occurred: "2026-11-28T17:00:00Z"}, row{occurred: "yesterday"}, row{created: "2026-11-28 17:00:00"}, row{created: "now"},
			row{occurred: 1.5}, row{shard: "nine"}, row{shard: 40_000}, row{id: 7, topic: "t", kind: 1.5, headers: `{}`})
	}
	for i, r := range rows {
		payload := "foreign-" + strconv.Itoa(i)
		payloads = append(payloads, payload)
		for _, c := range []struct {
			value *any
			usual any
		}{{&r.shard, 1}, {&r.id, []byte(payload)}, {&r.topic, []byte("t")}, {&r.kind, []byte("")}, {&r.headers, []byte("")}, {&r.created, clock}} {
			if *c.value == nil {
				*c.value = c.usual
			}
		}
		_, err := s.db.ExecContext(ctx, "INSERT INTO leat_outbox (shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			r.shard, r.id, r.topic, []byte(""), r.kind, []byte(payload), r.headers, r.occurred, r.created)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return payloads, nil
}

// unlockFile releases the lock of a lease in this process, although its file is still open.
func (s subject) unlockFile(ctx context.Context) error {
	var file string
	if err := s.db.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file); err != nil {
		return err
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, fd := range fds {
		name, _ := os.Readlink("/proc/self/fd/" + fd.Name()) // it may be closed by now
		if !strings.HasPrefix(name, file+"-leat-") {
			continue
		}
		n, err := strconv.Atoi(fd.Name())
		if err == nil {
			err = syscall.Flock(n, syscall.LOCK_UN)
		}
		return err
	}
	return errors.New("no lock is held")
}

// Ground implements outboxtest.Mover.
func (s subject) Ground() (store string, moves map[string]func(ctx context.Context) error) {
	run := func(statements ...string) func(context.Context) error {
		return func(ctx context.Context) (err error) {
			for _, statement := range statements {
				_, failed := s.db.ExecContext(ctx, statement)
				err = errors.Join(err, failed)
			}
			return err
		}
	}
	return string(basis.SQL), map[string]func(context.Context) error{
		"Log":     run(truncate(s.dialect)...),
		"Numbers": run("DELETE FROM leat_outbox WHERE seq > 0"),
		"Rows":    run("UPDATE leat_outbox SET id = 'another' WHERE seq > 0"),
	}
}
