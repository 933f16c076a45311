package benchmarks

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/traced"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

var tracedDir = flag.String("traced", "", "write slowest.svg and stages.csv of BenchmarkLatencyTrace to this directory")

// BenchmarkLatencyTrace follows each message of a steady load, and draws where the slowest
// hundredth spent its time. It compares with nothing, and so is not part of the page.
func BenchmarkLatencyTrace(b *testing.B) {
	if *tracedDir == "" {
		b.Skip("needs -traced, the directory to write to")
	}
	size := scale(b).latency
	broker := testenv.RealKafka(b)
	db := testenv.Postgres(b, migrated())
	logSettings(b, db, broker)
	writer, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	l := &latencies{db: db, broker: broker, topic: broker.Topic(b, "traced", 8), size: size, own: writer}
	_, err = l.measure(b, writer) // a broker that has just started is slow
	require.NoError(b, err)

	var messages []traced.Message
	for b.Loop() {
		found, err := l.trace(b)
		require.NoError(b, err)
		messages = append(messages, found...)
	}
	require.NoError(b, writeTrace(*tracedDir, messages))
	slowest := traced.Slowest(messages)
	all, slow := traced.Medians(messages), traced.Medians(slowest)
	b.Logf("%d messages, of which the slowest %d took %s to %s", len(messages), len(slowest), slowest[len(slowest)-1].Total(), slowest[0].Total())
	for s := range traced.Stages {
		b.Logf("%-7s median %8.3f ms, of the slowest %8.3f ms", s, millis(all[s]), millis(slow[s]))
	}
}

// trace relays one segment of an outbox whose statements are traced.
func (l *latencies) trace(b *testing.B) ([]traced.Message, error) {
	b.Helper()
	s := newSegment(l.size)
	recorder := traced.NewRelay(time.Now())
	cfg := l.db.Pool.Config()
	cfg.ConnConfig.Tracer = recorder
	pool, err := pgxpool.NewWithConfig(b.Context(), cfg)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	own, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return nil, err
	}
	relayed := *l
	relayed.own = own
	if err := relayed.carry(b.Context(), s, own, s, recorder); err != nil {
		return nil, err
	}
	late := s.began.Sub(recorder.Began()) // the clock of the load
	messages := recorder.Messages(
		func(i int) time.Duration { return s.due(i) + late },
		func(i int) time.Duration { return time.Duration(s.committed[i].Load()) + late },
	)
	return slices.DeleteFunc(messages, func(m traced.Message) bool { return s.due(m.Number) < settleFor }), nil
}

// writeTrace writes the drawing, and a line for each message.
func writeTrace(dir string, messages []traced.Message) error {
	err := os.MkdirAll(dir, 0o755)
	if err != nil {
		return err
	}
	table, err1 := os.Create(filepath.Join(dir, "stages.csv"))
	drawing, err2 := os.Create(filepath.Join(dir, "slowest.svg"))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	_, err = fmt.Fprintln(table, "message,commit,wait,window,page,queue,send")
	for _, m := range messages {
		line := []byte(strconv.Itoa(m.Number))
		for s := range traced.Stages {
			line = fmt.Appendf(line, ",%.3f", millis(m.Took(s)))
		}
		_, failed := table.Write(append(line, '\n'))
		err = errors.Join(err, failed)
	}
	title := fmt.Sprintf("The slowest hundredth of %d messages, from when each was due", len(messages))
	return errors.Join(err, traced.Draw(drawing, title, traced.Slowest(messages)), table.Close(), drawing.Close())
}
