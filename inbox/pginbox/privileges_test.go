package pginbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

// TestPrivileges runs what a role is for with exactly the privileges that the package
// comment lists, and without each of them, when it must not work.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	fresh := func(t *testing.T) *testenv.Database {
		t.Helper()
		env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: true})
		require.NoError(t, useIDs(t.Context(), env.Pool, "somebody"), "so that there is something to forget")
		return env
	}
	shared := fresh(t)
	for name, tt := range map[string]struct {
		grants []string
		use    func(ctx context.Context, pool *pgxpool.Pool, consumer string) error
	}{
		"consumer": {grants("UPDATE (ids)", "_consumers", "SELECT, INSERT", "_consumers", "", "_ranges", "SELECT", "_retention", "_parked"), useIDs},
		"consumer with a policy": {
			grants("UPDATE (ids)", "_consumers", "SELECT, INSERT", "_consumers", "", "_ranges", "SELECT", "_retention", "_parked", "SELECT, INSERT, UPDATE, DELETE", "_attempts"),
			usePolicy,
		},
		"consumer that parks": {
			grants("UPDATE (ids)", "_consumers", "SELECT, INSERT", "_consumers", "", "_ranges", "_audit", "SELECT", "_retention", "SELECT, INSERT, UPDATE, DELETE", "_attempts", "_parked"),
			useParking,
		},
		"consumer that keeps notes": {
			grants("UPDATE (ids)", "_consumers", "SELECT, INSERT", "_consumers", "", "_ranges", "SELECT", "_retention", "_parked", "SELECT, INSERT, UPDATE", "_notes"),
			useNotes,
		},
		"consumer with marks": {
			grants("UPDATE (ids)", "_consumers", "SELECT, INSERT", "_consumers", "", "_ranges", "SELECT", "_retention", "_parked", "SELECT, INSERT, UPDATE", "_marks"),
			useMarks,
		},
		"consumer of positions": {
			grants("SELECT, INSERT", "_consumers", "SELECT", "", "_ranges", "SELECT, INSERT, UPDATE, DELETE", "_sources", "_watermarks", "INSERT", "_audit"),
			usePositions,
		},
		"maintenance without DDL": {
			grants("SELECT", "_consumers", "SELECT, DELETE", "", "_ranges", "_audit", "SELECT, UPDATE", "_retention",
				"SELECT, UPDATE, DELETE", "_attempts", "_notes"),
			useMaintenance,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := func(t *testing.T) *testenv.Database {
				t.Helper()
				if strings.HasPrefix(name, "maintenance") {
					return fresh(t)
				}
				return shared
			}
			require.NoError(t, tt.use(t.Context(), roleWith(t, env(t), tt.grants, ""), uuid.NewString()))
			for _, grant := range tt.grants {
				t.Run("without "+grant, func(t *testing.T) {
					t.Parallel()
					err := tt.use(t.Context(), roleWith(t, env(t), tt.grants, grant), uuid.NewString())
					require.Error(t, err, "it is not needed")
				})
			}
		})
	}
}

// grants returns single privileges: each of a list of them on the tables that follow.
func grants(list ...string) (all []string) {
	var privileges []string
	for _, entry := range list {
		if entry != "" && entry[0] != '_' {
			privileges = strings.Split(entry, ", ")
			continue
		}
		for _, p := range privileges {
			all = append(all, p+" ON leat.inbox"+entry)
		}
	}
	return all
}

// roleWith returns a pool of a new role with all privileges but one.
func roleWith(t *testing.T, env *testenv.Database, all []string, but string) *pgxpool.Pool {
	t.Helper()
	role := "least_" + uuid.NewString()
	// One at a time: two that change the privileges of a table at once fail.
	turn := `SELECT pg_advisory_xact_lock(1)`
	sql := []string{turn, `CREATE ROLE "` + role + `"`, `GRANT USAGE ON SCHEMA leat TO "` + role + `"`}
	for _, grant := range all {
		if grant != but {
			sql = append(sql, `GRANT `+grant+` TO "`+role+`"`)
		}
	}
	_, err := env.Pool.Exec(t.Context(), strings.Join(sql, "; "))
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := env.Pool.Exec(context.Background(), turn+`; DROP OWNED BY "`+role+`"; DROP ROLE "`+role+`"`)
		require.NoError(t, err)
	})
	return asRole(t, env, role)
}

var errUnexpected = errors.New("unexpected outcome")

// expect processes a message and checks what comes of it.
func expect(ctx context.Context, p *pginbox.Inbox, id string, fails bool, want inbox.Outcome) error {
	msg := message.NewMessageWithContext(ctx, id, nil)
	msg.Metadata.Set("leat_key", "k")
	got, err := p.Process(ctx, msg, func(context.Context) error {
		if fails {
			return errHandler
		}
		return nil
	})
	if got != want {
		return fmt.Errorf("%w: %s, want %s: %w", errUnexpected, got, want, err)
	}
	return nil
}

// useIDs processes ids of both places, twice.
func useIDs(ctx context.Context, pool *pgxpool.Pool, consumer string) error {
	in, err := pginbox.New(pool, consumer, pginbox.Config{})
	if err != nil {
		return err
	}
	for _, id := range []string{"text", madeAgo(time.Minute)} {
		err = errors.Join(err, expect(ctx, in, id, false, inbox.OutcomeCommitted), expect(ctx, in, id, false, inbox.OutcomeDuplicate))
	}
	return err
}

// useMarks moves a mark twice.
func useMarks(ctx context.Context, pool *pgxpool.Pool, consumer string) error {
	in, err := pginbox.New(pool, consumer, pginbox.Config{})
	of := driver.GroupTopic{Group: consumer, Topic: "orders"}
	for next := range int64(2) {
		marks, readErr := in.Marks(ctx, of)
		mark := marks.Partitions[0]
		mark.Next = next
		_, setErr := in.SetMarks(ctx, of, marks.History, map[int32]driver.Mark{0: mark})
		err = errors.Join(err, readErr, setErr)
	}
	return errors.Join(err, useIDs(ctx, pool, consumer))
}

// usePolicy uses up attempts.
func usePolicy(ctx context.Context, pool *pgxpool.Pool, consumer string) error {
	in, err := pginbox.New(pool, consumer, pginbox.Config{Config: inbox.Config{OnFailure: inbox.Policy{
		Action: inbox.Custom, Attempts: 2, Delay: inbox.NoDelay, Handle: func(context.Context, inbox.Failure) error { return nil },
	}}})
	if err != nil {
		return err
	}
	for _, id := range []string{"text", madeAgo(time.Minute)} {
		err = errors.Join(err, expect(ctx, in, id, true, inbox.OutcomeFailed), expect(ctx, in, id, true, inbox.OutcomeGivenUp))
	}
	for range 128 { // then attempts at what was processed are forgotten
		err = errors.Join(err, expect(ctx, in, uuid.NewString(), false, inbox.OutcomeCommitted))
	}
	var left int
	err = errors.Join(err, pool.QueryRow(ctx, `SELECT count(*) FROM leat.inbox_attempts a JOIN leat.inbox_consumers c ON c.id = a.consumer
		WHERE c.name = $1`, consumer).Scan(&left))
	if err == nil && left > 2 {
		err = fmt.Errorf("%w: attempts of %d messages are left", errUnexpected, left)
	}
	return errors.Join(err, useIDs(ctx, pool, consumer+" too"))
}

// useParking parks, redrives, drops, and asks what was done.
func useParking(ctx context.Context, pool *pgxpool.Pool, consumer string) error {
	in, err := pginbox.New(pool, consumer, pginbox.Config{Config: inbox.Config{
		OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 2, Delay: inbox.NoDelay}, RedrivePoll: 5 * time.Millisecond,
	}})
	if err != nil {
		return err
	}
	first := madeAgo(time.Minute)
	err = errors.Join(expect(ctx, in, first, true, inbox.OutcomeFailed), expect(ctx, in, first, true, inbox.OutcomeParked),
		expect(ctx, in, "second", false, inbox.OutcomeParked), expect(ctx, in, "third", false, inbox.OutcomeParked))
	if err != nil {
		return err
	}
	a, err := pginbox.NewAdmin(pool, pginbox.Config{})
	if err != nil {
		return err
	}
	if _, err = a.SkipHead(ctx, admin.SkipHeadRequest{By: somebody, Consumer: consumer, Key: "k"}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	ran := 0
	err = in.RunRedrive(ctx, func(context.Context, *message.Message) error {
		if ran++; ran == 2 {
			defer cancel()
		}
		return nil
	})
	if err != nil || ran != 2 {
		return fmt.Errorf("%w: %d were redriven: %w", errUnexpected, ran, err)
	}
	entries, err := a.(admin.Auditor).Audit(context.WithoutCancel(ctx), admin.AuditQuery{Consumer: consumer})
	if err != nil || len(entries) < 3 {
		return fmt.Errorf("%w: %d entries: %w", errUnexpected, len(entries), err)
	}
	return nil
}

// useNotes keeps fingerprints and replies.
func useNotes(ctx context.Context, pool *pgxpool.Pool, consumer string) error {
	in, err := pginbox.New(pool, consumer, pginbox.Config{Config: inbox.Config{Fingerprint: inbox.FingerprintPayload, KeepReplies: true}})
	if err != nil {
		return err
	}
	for _, id := range []string{"text", madeAgo(time.Minute)} {
		err = errors.Join(err, expect(ctx, in, id, false, inbox.OutcomeCommitted), expect(ctx, in, id, false, inbox.OutcomeDuplicate))
	}
	return err
}

const logTopic = "events"

// wholeLog is a log of two messages, to be read from its start.
var wholeLog = driver.Assignment{Source: "6b0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90", Topic: logTopic, End: 2}

// usePositions processes by positions, after a topic that was made again.
func usePositions(ctx context.Context, pool *pgxpool.Pool, consumer string) error {
	w, err := pgwatermark.New(pool, consumer, []string{logTopic}, pgwatermark.Config{})
	if err != nil {
		return err
	}
	if _, err := w.Assigned(ctx, []driver.Assignment{wholeLog}); err != nil {
		return err
	}
	first := driver.Position{Source: wholeLog.Source, Topic: logTopic, Prev: -1, Serial: true}
	msg := message.NewMessageWithContext(driver.WithPosition(ctx, first), "", nil)
	outcome, err := w.Process(msg.Context(), msg, nothing)
	if err != nil || outcome != inbox.OutcomeCommitted {
		return fmt.Errorf("%w: %s: %w", errUnexpected, outcome, err)
	}
	a, err := pgwatermark.NewAdmin(pool, pgwatermark.Config{})
	if err != nil {
		return err
	}
	by := admin.By{Actor: "alice", Reason: "it was made again"}
	_, err = a.AcceptSource(ctx, admin.AcceptSourceRequest{By: by, Consumer: consumer, Topic: logTopic, Source: uuid.NewString()})
	if err == nil {
		_, err = a.RemoveWatermark(ctx, admin.RemoveWatermarkRequest{
			By: by, Consumer: consumer, TopicPartition: admin.TopicPartition{Topic: logTopic, Source: wholeLog.Source},
		})
	}
	return err
}

// useMaintenance forgets, and prunes. Nobody else must use the database: it would
// wait for what is open before it deletes.
func useMaintenance(ctx context.Context, pool *pgxpool.Pool, _ string) error {
	m, err := pginbox.NewMaintenance(pool, pginbox.Config{}, pginbox.MaintenanceConfig{
		NoDDL: true, Retention: 5 * day, KeepOther: day, KeepAudit: day, KeepNotes: day,
	})
	if err != nil {
		return err
	}
	report, err := m.RunOnce(ctx)
	if err == nil && report.Busy {
		err = fmt.Errorf("%w: %+v", errUnexpected, report)
	}
	return err
}
