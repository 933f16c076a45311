package prove

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/prover"
)

// clockOff is how far two clocks may differ.
const clockOff = 250 * time.Millisecond

// clock compares the clocks of two sessions, and their pace with this machine's.
func (p *postgres) clock(t *prover.Trial) {
	s := []session{p.session(t), p.session(t)}
	clock(t, func(i int) time.Time { return know[time.Time](s[i], "SELECT clock_timestamp()") })
}

// clock compares the clock of session 0 with that of session 1, and its pace with this machine's.
func clock(t *prover.Trial, ask func(session int) time.Time) {
	var last time.Time
	read := func(i int) (server, here time.Time) { return ask(i % 2), time.Now() }
	began, hereBegan := read(0)
	for i := range 10 {
		server, _ := read(i)
		if server.Before(last) {
			t.Broken("the clock of one session is %s behind that of another", last.Sub(server).Round(time.Microsecond))
			return
		}
		last = server
		t.Pause(50 * time.Millisecond)
	}
	server, here := read(0)
	passed, should := server.Sub(began), here.Sub(hereBegan)
	if off := (passed - should).Abs(); off > clockOff {
		t.Broken("the clock has moved by %s while %s have passed here", passed.Round(time.Millisecond), should.Round(time.Millisecond))
	}
}

// notify sends notifications from one session to another.
func (p *postgres) notify(t *prover.Trial) {
	if t.Before["sessions.stay"] == prover.Limited { // LISTEN would stay with the session's next client
		t.Limited("notifications do not arrive through such a pooler: relays find commits of other processes by polling")
		return
	}
	hears, says := p.session(t), p.session(t)
	hears.do("LISTEN {s}")
	heard := func(d time.Duration) bool {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		_, err := hears.conn.WaitForNotification(ctx)
		fail.If(t.Context().Err())
		return err == nil
	}
	for _, end := range []string{"ROLLBACK", "COMMIT"} {
		says.do("BEGIN", "NOTIFY {s}")
		if heard(300 * time.Millisecond) {
			t.Limited("a notification arrives before COMMIT")
		}
		says.do(end)
		switch arrives := heard(2 * time.Second); {
		case arrives && end == "ROLLBACK":
			t.Limited("a notification of a transaction arrives that was rolled back")
		case !arrives && end == "COMMIT":
			t.Limited("notifications do not arrive: relays find commits of other processes by polling")
		}
	}
}

// prepared tries what pgx does by default: it prepares a named statement once for each connection.
func (p *postgres) prepared(t *prover.Trial) {
	a, b := p.session(t), p.session(t)
	err := errors.Join(func() error {
		for i := range 3 {
			for at, s := range []session{a, b} {
				var got int
				sql := fmt.Sprintf("SELECT %d + $1::int", at)
				if _, err := s.conn.Prepare(t.Context(), "leat_prove", sql); err != nil {
					return err
				}
				err := s.conn.QueryRow(t.Context(), "leat_prove", i).Scan(&got)
				if err != nil {
					return err
				}
				if got != at+i {
					return fmt.Errorf("a session has executed the statement of another one") //nolint:perfsprint // as the others
				}
			}
		}
		return nil
	}())
	if err == nil {
		return
	}
	fail.If(t.Context().Err())
	if mode := p.cfg.ConnConfig.DefaultQueryExecMode; mode != pgx.QueryExecModeCacheStatement {
		t.Limited("prepared statements do not work: %s; this URL does without, and so must all URLs of this database", err)
		return
	}
	t.Broken("prepared statements do not work, which pgx makes by default: %s", err)
}

// durability checks the settings that decide if a commit is on disk.
func (p *postgres) durability(t *prover.Trial) {
	s := p.session(t)
	setting := func(name string) string {
		return know[string](s, "SELECT coalesce(current_setting($1, true), '')", name)
	}
	if setting("synchronous_commit") == "off" {
		t.Broken("synchronous_commit is off for this role: a commit is seen before it is on the disk; relays and inboxes refuse")
	}
	for _, name := range []string{"fsync", "full_page_writes"} {
		if setting(name) == "off" {
			t.Limited("%s is off: a crash of the machine may lose what was committed, unless its storage is durable by other means (Neon's is)", name)
			if t.Finding.Outcome == prover.Limited {
				t.Finding.Advice = "ask who runs the server what survives a crash of its machine"
			}
		}
	}
}
