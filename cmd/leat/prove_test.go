package main_test

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/internal/testenv"
)

// proven runs prove, which is to exit with code, and returns what it has found by probe.
func (s *session) proven(code int, args ...string) map[string]prover.Finding {
	s.t.Helper()
	r := s.leat(append([]string{"prove", "-o", "json"}, args...)...)
	require.Equal(s.t, code, r.code, r.out+r.err)
	var all prover.Report
	require.NoError(s.t, json.Unmarshal([]byte(r.out), &all))
	require.Equal(s.t, prover.Worst(all.Findings), all.Outcome)
	found := map[string]prover.Finding{}
	for _, f := range all.Findings {
		found[f.Probe] = f
	}
	return found
}

// requireOutcome looks at one finding.
func requireOutcome(t *testing.T, f prover.Finding, want prover.Outcome, text string) {
	t.Helper()
	require.Equal(t, want, f.Outcome, "%s: %q", f.Probe, f.Details)
	require.Contains(t, strings.Join(f.Details, "\n"), text, f.Probe)
	if want == prover.OK {
		require.Empty(t, f.Advice)
	}
}

// requireNothingLeft looks for scratch schemas.
func requireNothingLeft(t *testing.T, db *testenv.Database) {
	t.Helper()
	require.Eventually(t, func() bool {
		var left int
		require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'leat\_prove%'`).Scan(&left))
		return left == 0
	}, patience, patience/1000)
}

// via is the database behind something that stands before its server.
func via(t *testing.T, db *testenv.Database, address string) string {
	t.Helper()
	u, err := url.Parse(db.URL)
	require.NoError(t, err)
	u.Host, u.RawQuery = address, "sslmode=disable&default_query_exec_mode=cache_describe"
	return u.String()
}

// makeNaive makes a snapshot as a reader takes it that goes by the highest number alone, and a counter.
func makeNaive(t *testing.T, db *testenv.Database) {
	t.Helper()
	_, err := db.Pool.Exec(t.Context(), `CREATE FUNCTION public.without_what_is_open() RETURNS pg_snapshot LANGUAGE sql
		AS $$ SELECT format('%1$s:%1$s:', pg_snapshot_xmax(pg_catalog.pg_current_snapshot()))::pg_snapshot $$; CREATE SEQUENCE public.turns`)
	require.NoError(t, err)
}

// On PostgreSQL itself all holds, and nothing is left behind.
func TestProve_Holds(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	found := newSession(t, db.URL).proven(0, "--workload", "3s")
	require.Len(t, found, 18)
	for name, f := range found {
		if name == "durability" { // servers of tests do without fsync
			require.NotEqual(t, prover.Broken, f.Outcome)
			continue
		}
		require.Equal(t, prover.OK, f.Outcome, "%s: %q", name, f.Details)
		require.NotEmpty(t, f.Protects)
	}
	require.Contains(t, found["workload"].Details[1], "0 lost, 0 doubled, 0 out of order, 0 invented")
	requireNothingLeft(t, db)
}

// A server that lacks one property: the probe of that property says so.
//
//leat:level 2
func TestProve_Controls(t *testing.T) {
	t.Parallel()
	for name, control := range map[string]struct {
		faultnet.Rewriter

		probe, says string
		want        prover.Outcome
	}{
		"snapshots that show what is open":    {faultnet.Rewriter{Replace: []string{"pg_visible_in_snapshot(xid, $2", "true OR pg_visible_in_snapshot(xid, $2", "NOT pg_visible", "pg_visible"}}, "snapshots", "between two snapshots there is", prover.Broken},
		"no snapshots":                        {faultnet.Rewriter{Replace: []string{"pg_current_snapshot", "pg_no_such_snapshot"}}, "snapshots", "the server refuses", prover.Broken},
		"snapshots without what is open":      {faultnet.Rewriter{Replace: []string{"pg_current_snapshot()", "public.without_what_is_open()"}}, "windows", "were in no window", prover.Broken},
		"numbers in blocks":                   {faultnet.Rewriter{Replace: []string{"GENERATED ALWAYS AS IDENTITY", "GENERATED ALWAYS AS IDENTITY (CACHE 100)"}}, "sequence", "numbers do not ascend", prover.Broken},
		"locks that always succeed":           {faultnet.Rewriter{Replace: []string{"pg_try_advisory_xact_lock(", "true OR pg_try_advisory_xact_lock("}}, "locks.keys", "two sessions hold one advisory lock", prover.Broken},
		"locks of sessions":                   {faultnet.Rewriter{Replace: []string{"pg_advisory_xact_lock", "pg_advisory_lock"}}, "locks.keys", "is not free after COMMIT", prover.Broken},
		"sessions that stay":                  {faultnet.Rewriter{Keep: true}, "sessions.end", "whose connection was cut are not free", prover.Broken},
		"ids that are not unique":             {faultnet.Rewriter{Replace: []string{"uuid PRIMARY KEY", "uuid"}}, "unique.waits", "does not wait", prover.Broken},
		"claims that exclude nobody":          {faultnet.Rewriter{Replace: []string{"pg_try_advisory_xact_lock(", "true OR pg_try_advisory_xact_lock(", "ON CONFLICT DO NOTHING", "", "PRIMARY KEY (consumer, id)", "CHECK (true)"}}, "claim.once", "had their effect more than once", prover.Broken},
		"SKIP LOCKED that locks nothing":      {faultnet.Rewriter{Replace: []string{"FOR UPDATE SKIP LOCKED", ""}}, "rows.locks", "gives away a row", prover.Broken},
		"transactions with one snapshot":      {faultnet.Rewriter{Replace: []string{"READ COMMITTED", "REPEATABLE READ"}}, "read.committed", "does not see", prover.Broken},
		"batches that are taken apart":        {faultnet.Rewriter{Apart: true}, "batches", "the others have taken effect", prover.Broken},
		"clocks that differ":                  {faultnet.Rewriter{Replace: []string{"clock_timestamp()", "(clock_timestamp() - (nextval('public.turns') % 2) * interval '1 minute')"}}, "clock", "", prover.Broken},
		"a clock that stands":                 {faultnet.Rewriter{Replace: []string{"clock_timestamp()", "timestamptz '2026-01-01'"}}, "clock", "has moved by 0s", prover.Broken},
		"notifications that nobody hears":     {faultnet.Rewriter{Replace: []string{"LISTEN ", "UNLISTEN "}}, "notify", "do not arrive", prover.Limited},
		"locks that leat's own Migrate takes": {faultnet.Rewriter{Replace: []string{"pg_advisory_lock", "pg_no_such_lock", "pg_advisory_xact_lock", "pg_no_such_lock", "pg_try_advisory", "pg_no_such"}}, "leat.check", "Migrate", prover.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testenv.Postgres(t)
			makeNaive(t, server)
			address, err := url.Parse(server.URL)
			require.NoError(t, err)
			control.Server = address.Host
			o := newSession(t, via(t, server, control.Listen(t)))
			code := map[prover.Outcome]int{prover.Broken: 5}[control.want]
			found := o.proven(code, "--only", control.probe)
			requireOutcome(t, found[control.probe], control.want, control.says)
			require.NotEmpty(t, found[control.probe].Advice)
			require.Equal(t, control.Keep, found["scratch"].Outcome == prover.Limited) // it cannot go before they do
		})
	}
}

// A session or role that does without durable commits.
func TestProve_Durability(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	u, err := url.Parse(db.URL)
	require.NoError(t, err)
	u.RawQuery += "&options=-c%20synchronous_commit%3Doff"
	o := newSession(t, u.String())
	requireOutcome(t, o.proven(5, "--only", "durability")["durability"], prover.Broken, "synchronous_commit is off")
}

// Poolers in three modes.
//
//leat:level 4
func TestProve_Poolers(t *testing.T) {
	t.Parallel()
	for mode, check := range map[testenv.PoolMode]func(t *testing.T, o *session){
		testenv.PoolSession: func(t *testing.T, o *session) {
			found := o.proven(0, "--workload", "3s")
			requireOutcome(t, found["sessions.stay"], prover.OK, "")
			requireOutcome(t, found["notify"], prover.OK, "")
			requireOutcome(t, found["workload"], prover.OK, "0 lost, 0 doubled, 0 out of order")
		},
		testenv.PoolTransaction: func(t *testing.T, o *session) {
			found := o.proven(0, "--workload", "3s")
			requireOutcome(t, found["sessions.stay"], prover.Limited, "not in session mode")
			requireOutcome(t, found["notify"], prover.Limited, "relays find commits of other processes by polling")
			requireOutcome(t, found["sessions.end"], prover.OK, "")
			requireOutcome(t, found["workload"], prover.OK, "0 lost, 0 doubled, 0 out of order")
			named := strings.Replace(o.env[len(o.env)-1], "&default_query_exec_mode=cache_describe", "", 1)
			other := newSession(t, strings.TrimPrefix(named, "LEAT_DATABASE_URL="))
			requireOutcome(t, other.proven(5, "--only", "prepared")["prepared"], prover.Broken, "which pgx makes by default")
		},
		testenv.PoolStatement: func(t *testing.T, o *session) {
			found := o.proven(5, "--workload", "3s")
			requireOutcome(t, found["sessions.stay"], prover.Broken, "statement pooling")
			requireOutcome(t, found["snapshots"], prover.CouldNotTry, "follows from sessions.stay")
			requireOutcome(t, found["workload"], prover.CouldNotTry, "follows from")
		},
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t)
			check(t, newSession(t, testenv.PgBouncer(t, db, mode).URL))
			requireNothingLeft(t, db)
		})
	}
}

// Splitters before a primary and a standby that is late: one that knows what functions do, to which leat's
// own reads say that they need the primary, and one that goes by the text, which they notice.
//
//leat:level 4
func TestProve_Splitters(t *testing.T) {
	t.Parallel()
	server, standby, db := stoodStill(t)
	behind := func(away func(string) bool) *session {
		return newSession(t, via(t, db, faultnet.Splitter{Primary: server.Address(), Standby: standby.Address(), Away: away}.Listen(t)))
	}
	found := behind(faultnet.ByFunctions).proven(0, "--workload", "3s")
	requireOutcome(t, found["reads.primary"], prover.Limited, "10 sessions of 10")
	require.Contains(t, found["reads.primary"].Details[1], "did not see a committed row: 50 of 50")
	requireOutcome(t, found["windows"], prover.OK, "")
	requireOutcome(t, found["workload"], prover.OK, "0 lost, 0 doubled, 0 out of order")

	found = behind(faultnet.ByText).proven(5, "--workload", "3s")
	requireOutcome(t, found["reads.primary"], prover.Broken, "fail there: 50 of 50")
	requireOutcome(t, found["snapshots"], prover.CouldNotTry, "follows from reads.primary")
	requireOutcome(t, found["workload"], prover.CouldNotTry, "follows from")
	requireNothingLeft(t, db)
}

// A workload on servers that lose and repeat: the judge notices both.
//
//leat:level 4
func TestProve_WorkloadIsJudged(t *testing.T) {
	t.Parallel()
	for name, control := range map[string]struct {
		replace []string
		says    string
	}{
		"windows without what is open": {[]string{"pg_current_snapshot()", "public.without_what_is_open()"}, "O2: "},
		"claims that exclude nobody":   {[]string{"pg_try_advisory_xact_lock(", "true OR pg_try_advisory_xact_lock(", "ON CONFLICT DO NOTHING", "", "PRIMARY KEY (consumer, id)", "CHECK (true)"}, "I1: "},
		"keys that nobody locks":       {[]string{"pg_advisory_xact_lock(($1::bigint[])[2])", "pg_advisory_xact_lock_shared(($1::bigint[])[2])"}, "O5: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t)
			makeNaive(t, db)
			address, err := url.Parse(db.URL)
			require.NoError(t, err)
			o := newSession(t, via(t, db, faultnet.Rewriter{Server: address.Host, Replace: control.replace}.Listen(t)))
			f := o.proven(5, "--only", "workload", "--workload", "20s")["workload"]
			requireOutcome(t, f, prover.Broken, control.says)
		})
	}
}

// Whenever it is interrupted, nothing is left behind: by a signal after the finding of a probe, while the next
// one runs, and by a reader that goes.
//
//leat:level 4
func TestProve_Interrupted(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	for _, after := range []string{"", "reads.primary", "snapshots", "sessions.end", "durability", "leat.check"} {
		cmd := exec.CommandContext(t.Context(), os.Getenv(binaryVariable), "prove", "--workload", "1h", "-o", "jsonl")
		cmd.Env = newSession(t, db.URL).env
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		requireScratch(t, db)
		findings := json.NewDecoder(out)
		for name := ""; name != after; {
			var f prover.Finding
			require.NoError(t, findings.Decode(&f))
			name = f.Probe
		}
		if after == "leat.check" {
			requireWorkload(t, db)
		}
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		_, err = io.Copy(io.Discard, out)
		require.NoError(t, err)
		_ = cmd.Wait()
		require.Equal(t, 130, cmd.ProcessState.ExitCode(), after)
		requireNothingLeft(t, db)
	}
	cmd := exec.CommandContext(t.Context(), os.Getenv(binaryVariable), "prove", "--workload", "1h")
	cmd.Env = newSession(t, db.URL).env
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	requireScratch(t, db)
	require.NoError(t, out.Close())
	_ = cmd.Wait()
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	requireNothingLeft(t, db)
}

// requireWorkload waits until the workload has committed something.
func requireWorkload(t *testing.T, db *testenv.Database) {
	t.Helper()
	require.Eventually(t, func() bool {
		var schema string
		require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'leat\_prove%'`).Scan(&schema))
		var committed bool
		err := db.Pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM "+schema+".ledger)").Scan(&committed)
		return err == nil && committed // the table comes a moment later than the finding before
	}, patience, patience/1000)
}

// requireScratch waits until a run has begun.
func requireScratch(t *testing.T, db *testenv.Database) {
	t.Helper()
	require.Eventually(t, func() bool {
		var begun int
		require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'leat\_prove%'`).Scan(&begun))
		return begun == 1
	}, patience, patience/1000)
}

// What a run has left behind that was killed, a later one removes, once it is old. Schemas of others with such
// a name stay.
func TestProve_Sweeps(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	schema := func(ago time.Duration, end string) string {
		name := "leat_prove_" + strconv.FormatInt(time.Now().Add(-ago).Unix(), 10) + end
		_, err := db.Pool.Exec(t.Context(), "CREATE SCHEMA "+name+" CREATE TABLE rows (id int)")
		require.NoError(t, err)
		return name
	}
	schema(2*time.Hour, "_0a1b2c3d")
	young, others := schema(time.Minute, "_0a1b2c3d"), schema(2*time.Hour, "_ours")
	newSession(t, db.URL).proven(0, "--only", "read.committed")
	rows, err := db.Pool.Query(t.Context(), `SELECT nspname::text FROM pg_namespace WHERE nspname LIKE 'leat\_prove%'`)
	require.NoError(t, err)
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.ElementsMatch(t, []string{young, others}, left)
}

// What cannot be tried is said before anything is made.
func TestProve_Refuses(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	_, err := db.Pool.Exec(t.Context(), "CREATE ROLE "+db.Name+" LOGIN")
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = db.Pool.Exec(context.Background(), "DROP OWNED BY "+db.Name+"; DROP ROLE "+db.Name) })
	u, err := url.Parse(db.URL)
	require.NoError(t, err)
	u.User = url.User(db.Name)
	r := newSession(t, u.String()).leat("prove")
	require.Equal(t, 1, r.code, r.err)
	require.Contains(t, r.err, "GRANT CREATE ON DATABASE "+db.Name+" TO "+db.Name)
	r = newSession(t, db.URL).leat("prove", "--only", "cellar")
	require.Equal(t, 2, r.code, r.err)
	require.Contains(t, r.err, "matches no probe")
}

// What prove prints, as a table and as JSON.
func TestProve_Prints(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	u, err := url.Parse(db.URL)
	require.NoError(t, err)
	u.RawQuery += "&options=-c%20synchronous_commit%3Doff"
	o := newSession(t, u.String())
	for _, output := range []string{"table", "json", "jsonl"} {
		o.run(0, "prove", "--only", "locks.*", "-o", output)
		o.run(5, "prove", "--only", "leat.*", "--workload", "0s", "-o", output)
	}
	var version string
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT version()").Scan(&version))
	o.transcriptWithout(version, "<version>")
	o.golden("prove")
}
