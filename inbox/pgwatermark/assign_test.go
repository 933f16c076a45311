package pgwatermark_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// alarm is an alarm with its attributes.
type alarm struct {
	Kind             outbox.AlarmKind
	Consumer, Topic  string
	Source, Known    string
	Next, Start, End int64
	Refused          bool
}

func alarmOf(e outbox.AlarmEvent) alarm {
	has := map[string]slog.Value{"known_source": slog.StringValue("")}
	for _, a := range e.Attrs {
		has[a.Key] = a.Value
	}
	number := func(key string) int64 {
		n, _ := has[key].Any().(int64)
		return n
	}
	return alarm{
		Kind: e.Kind, Consumer: e.Consumer, Topic: e.Topic, Source: has["source"].String(), Known: has["known_source"].String(),
		Next: number("next"), Start: number("start"), End: number("end"), Refused: has["refused"].Bool(),
	}
}

// alarms collects what hooks and the log are told.
type alarms struct {
	mu  sync.Mutex
	all []alarm
	log bytes.Buffer
}

// config returns a configuration that reports to a.
func (a *alarms) config() pgwatermark.Config {
	return pgwatermark.Config{
		Config: inbox.Config{Logger: slog.New(slog.NewTextHandler(&a.log, nil)), Hooks: []outbox.Hook{a}},
	}
}

func (a *alarms) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, alarmOf(e))
}

// takes returns the alarms since the last call.
func (a *alarms) take() []alarm {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.all
	a.all = nil
	return all
}

var someone = admin.By{Actor: "ann", Reason: "because"}

func TestI8_AssignedReadsOnWhereTheDatabaseSays(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"pgx", "sql"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, template)
			w := newWatermark(t, db, kind, pgwatermark.Config{})
			second := driver.Assignment{Source: wmSource, Topic: wmTopic, Partition: 1, Start: 2, End: 8, From: 8}

			next, err := w.Assigned(t.Context(), []driver.Assignment{second, whole(5)})
			require.NoError(t, err)
			require.Equal(t, []int64{8, 0}, next)
			_, err = processAt(t.Context(), w, at(0), effectOf(at(0)))
			require.NoError(t, err)

			// What the group has committed counts for nothing from now on.
			moved := whole(5)
			moved.From, second.From = 4, 3
			next, err = newWatermark(t, db, kind, pgwatermark.Config{}).Assigned(t.Context(), []driver.Assignment{moved, second})
			require.NoError(t, err)
			require.Equal(t, []int64{1, 8}, next)
			next, err = w.Assigned(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, next)
		})
	}
}

func TestI8_AssignedAtTheSameTime(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	var group sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		w := newWatermark(t, db, "pgx", pgwatermark.Config{})
		group.Go(func() {
			first := whole(9)
			first.From = int64(i)
			_, errs[i] = w.Assigned(t.Context(), []driver.Assignment{first})
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	state, err := adminOf(t, db).Partitions(t.Context(), partitionsOfC)
	require.NoError(t, err)
	require.Len(t, state, 1)
}

// TestI8_ChangedSourceAlarms: the offsets of a topic that was created again are
// those of other messages.
func TestI8_ChangedSourceAlarms(t *testing.T) {
	t.Parallel()
	db, heard := testenv.Postgres(t, template), &alarms{}
	w := newWatermark(t, db, "pgx", heard.config())
	require.Equal(t, int64(0), assign(t, w, whole(5)))
	_, err := processAt(t.Context(), w, at(0), nothing)
	require.NoError(t, err)

	again := whole(7)
	again.Source, again.Start, again.From = wmOther, 2, 4
	want := alarm{
		Kind: pgwatermark.AlarmNewSource, Consumer: "c", Topic: wmTopic, Source: wmOther, Known: wmSource, Refused: true,
	}
	for range 2 {
		_, err = w.Assigned(t.Context(), []driver.Assignment{again})
		require.ErrorIs(t, err, driver.ErrSourceChanged)
		require.ErrorContains(t, err, `topic "`+wmTopic+`" was "`+wmSource+`" and is "`+wmOther+`"`)
		require.Equal(t, []alarm{want}, heard.take())
	}
	require.Contains(t, heard.log.String(), "kind=new_source consumer=c topic=events source="+wmOther+" refused=true known_source="+wmSource)

	accept(t, db, wmOther)
	require.Equal(t, int64(2), assign(t, w, again), "from its start, whatever the group has committed")
	require.Empty(t, heard.take())

	// The old one comes back, with what is remembered of it.
	_, err = w.Assigned(t.Context(), []driver.Assignment{whole(5)})
	require.ErrorIs(t, err, driver.ErrSourceChanged)
	accept(t, db, wmSource)
	require.Equal(t, int64(1), assign(t, w, whole(5)))
}

func TestI8_ChangedSourceIsFollowedIfAsked(t *testing.T) {
	t.Parallel()
	db, heard := testenv.Postgres(t, template), &alarms{}
	cfg := heard.config()
	cfg.FollowNewSource = true
	w := newWatermark(t, db, "pgx", cfg)
	assign(t, w, whole(5))
	again := whole(7)
	again.Source, again.From = wmOther, 7
	require.Zero(t, assign(t, w, again))
	require.Equal(t, []alarm{{
		Kind: pgwatermark.AlarmNewSource, Consumer: "c", Topic: wmTopic, Source: wmOther, Known: wmSource,
	}}, heard.take())
	require.Zero(t, assign(t, w, again))
	require.Empty(t, heard.take())
}

// TestI8_LogThatEndsBeforeTheWatermark: its next messages would pass for processed.
func TestI8_LogThatEndsBeforeTheWatermark(t *testing.T) {
	t.Parallel()
	db, heard := testenv.Postgres(t, template), &alarms{}
	w := newWatermark(t, db, "pgx", heard.config())
	first := whole(9)
	first.From = 6
	require.Equal(t, int64(6), assign(t, w, first))
	require.Equal(t, int64(6), assign(t, w, whole(6)))

	_, err := w.Assigned(t.Context(), []driver.Assignment{whole(5)})
	require.ErrorIs(t, err, driver.ErrBeyondEnd)
	require.ErrorContains(t, err, `the end of partition 0 of topic "events": 6 was reached, and it is at 5`)
	require.Equal(t, []alarm{{
		Kind: pgwatermark.AlarmBeyondEnd, Consumer: "c", Topic: wmTopic, Source: wmSource, Next: 6, End: 5, Refused: true,
	}}, heard.take())

	previous, err := adminOf(t, db).SetWatermark(t.Context(), setTo(5))
	require.NoError(t, err)
	require.Equal(t, int64(6), previous)
	require.Equal(t, int64(5), assign(t, w, whole(5)))

	// Offsets that the group has committed are no better.
	fresh := driver.Assignment{Source: wmSource, Topic: wmTopic, Partition: 1, End: 3, From: 4}
	_, err = w.Assigned(t.Context(), []driver.Assignment{fresh})
	require.ErrorIs(t, err, driver.ErrBeyondEnd)
	state, err := adminOf(t, db).Partitions(t.Context(), partitionsOfC)
	require.NoError(t, err)
	require.Len(t, state, 1, "what is refused is not remembered")
}

// TestI8_LogThatHasDroppedMessages reports it, and goes on or not.
func TestI8_LogThatHasDroppedMessages(t *testing.T) {
	t.Parallel()
	db, heard := testenv.Postgres(t, template), &alarms{}
	w := newWatermark(t, db, "pgx", heard.config())
	assign(t, w, whole(5))
	cut := whole(9)
	cut.Start = 3
	want := alarm{
		Kind: pgwatermark.AlarmMissing, Consumer: "c", Topic: wmTopic, Source: wmSource, Next: 0, Start: 3, End: 9, Refused: true,
	}

	cfg := heard.config()
	cfg.RefuseMissing = true
	_, err := newWatermark(t, db, "pgx", cfg).Assigned(t.Context(), []driver.Assignment{cut})
	require.ErrorIs(t, err, driver.ErrMissing)
	require.ErrorContains(t, err, `partition 0 of topic "events" starts at 3, to be read on at 0`)
	require.Equal(t, []alarm{want}, heard.take())

	// A handler of another session may still run for a message that is gone.
	_, err = processAt(t.Context(), w, at(0), func(ctx context.Context) error {
		_, err := w.Assigned(ctx, []driver.Assignment{cut})
		require.ErrorIs(t, err, inbox.ErrBusy)
		return errOnPurpose
	})
	require.ErrorIs(t, err, errOnPurpose)
	heard.take()

	want.Refused = false
	require.Equal(t, int64(3), assign(t, w, cut))
	require.Equal(t, []alarm{want}, heard.take())
	_, err = processAt(t.Context(), w, at(3), nothing)
	require.NoError(t, err)

	// A partition that is new, whose committed offset is gone.
	cut.Partition, cut.From = 1, 1
	require.Equal(t, int64(3), assign(t, w, cut))
	require.Len(t, heard.take(), 1)
}

func TestI8_UnsoundAssignmentsAreRefused(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	cfg := pgwatermark.Config{}
	w, err := pgwatermark.New(db.Pool, "c", []string{wmTopic, "other"}, cfg)
	require.NoError(t, err)
	assign(t, w, whole(1))
	for name, tt := range map[string]struct {
		assignment driver.Assignment
		want       error
		text       string
	}{
		"retry topic":  {driver.Assignment{Source: wmSource, Topic: "events-retry"}, driver.ErrWrongTopic, `topic "events-retry"`},
		"no source":    {driver.Assignment{Topic: wmTopic}, driver.ErrNoPosition, `source ""`},
		"one source":   {driver.Assignment{Source: wmSource, Topic: "other"}, driver.ErrNoPosition, `is that of topic "events", not of "other"`},
		"partition":    {driver.Assignment{Source: wmSource, Topic: wmTopic, Partition: -1}, driver.ErrNoPosition, "partition -1"},
		"end":          {driver.Assignment{Source: wmSource, Topic: wmTopic, Start: 2, End: 1}, driver.ErrNoPosition, "starts at 2, ends at 1"},
		"no committed": {driver.Assignment{Source: wmSource, Topic: wmTopic, End: 1, From: -1}, driver.ErrNoPosition, "is to be read from -1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next, err := w.Assigned(t.Context(), []driver.Assignment{whole(1), tt.assignment})
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.text)
			require.Nil(t, next)
		})
	}
}
