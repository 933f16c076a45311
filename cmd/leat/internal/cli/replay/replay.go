// Package replay has the command that sends history again.
package replay

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/cmd/leat/internal/sink"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// Replay is the command replay.
type Replay struct {
	command.Changing

	From       command.Moment `placeholder:"TIME" help:"Enqueued since this time or age. Defaults to the oldest."`
	To         command.Moment `placeholder:"TIME" help:"Enqueued before this time. Defaults to the newest."`
	Topic      []string       `sep:"none" placeholder:"PATTERN" help:"Topics; * matches any characters; repeat it. Defaults to all." predictor:"topic"`
	Key        []string       `sep:"none" placeholder:"KEY" help:"These keys only; repeat it."`
	ID         []string       `sep:"none" placeholder:"ID" help:"These ids only; repeat it."`
	Group      string         `default:"default" placeholder:"GROUP" help:"Relay group that the audit names." predictor:"group"`
	ToTopic    string         `placeholder:"TOPIC" help:"Send all to this topic. Defaults to their own."`
	Rate       int            `placeholder:"N" help:"Records a second at most. Defaults to as fast as Kafka takes them."`
	PageSize   int            `default:"500" placeholder:"N" help:"Records sent at a time, 1 to 100000."`
	Attempts   int            `default:"10" placeholder:"N" help:"Tries of a record that fails for an unknown reason."`
	SkipFailed bool           `help:"Skip records that cannot be delivered, and name them."`
	SkipGaps   bool           `help:"Skip records that are no longer retained, and name them."`
	Resume     string         `placeholder:"FILE" help:"Keep the position in this file, and continue from there." predictor:"file"`
	Brokers    string         `placeholder:"LIST" help:"Kafka's seed brokers, such as k1:9092,k2:9092 (LEAT_KAFKA_BROKERS)."`
}

// replayRow is the JSON of a replay.
type replayRow struct {
	DryRun      bool     `json:"dry_run"`
	Done        bool     `json:"done"`
	Sent        int64    `json:"sent"`
	Skipped     int64    `json:"skipped"`
	Failures    []failed `json:"failures"`
	Gaps        []gap    `json:"gaps"`
	Position    string   `json:"position,omitempty"`
	LastSeq     int64    `json:"last_seq,omitempty"`
	TookSeconds float64  `json:"took_seconds"`
}

type failed struct {
	ID    string `json:"id"`
	Seq   int64  `json:"seq"`
	Topic string `json:"topic"`
	Error string `json:"error"`
}

type gap struct {
	FromSeq int64 `json:"from_seq"`
	ToSeq   int64 `json:"to_seq"`
}

// Run replays.
func (r *Replay) Run(d *command.Deps) error {
	by, err := r.check(d)
	if err != nil {
		return err
	}
	var to settings.Kafka
	if !r.DryRun {
		if to, err = d.Kafka(r.Brokers); err != nil {
			return err
		}
	}
	saved, err := r.saved(to.Brokers.Value)
	if err != nil {
		return err
	}
	if r.DryRun {
		return r.count(d, saved)
	}
	if _, err := d.StoreWith(r.Group, false); err != nil {
		return err
	}
	db, err := d.Open()
	replayer, err := command.Capable[open.Replayer](d, db, err, "replay history")
	if err != nil {
		return err
	}
	history, err := replayer.History(r.selected())
	if err != nil {
		return err
	}
	if _, err := sink.Options(to); err != nil {
		return err
	}
	if err := d.Confirm(r.Changing, ask.Question{Text: r.question(saved, to.Brokers.Value)}); err != nil {
		return err
	}
	return r.send(d, to, history, by, saved)
}

func (r *Replay) check(d *command.Deps) (admin.By, error) {
	switch {
	case !r.To.IsZero() && !r.From.Before(r.To.Time):
		return admin.By{}, command.Usage("--to", r.To.UTC().Format(time.RFC3339), "must be after --from "+r.From.UTC().Format(time.RFC3339))
	case r.Rate < 0:
		return admin.By{}, command.Usage("--rate", strconv.Itoa(r.Rate), "must not be negative")
	case r.PageSize < 1 || r.PageSize > 100_000:
		return admin.By{}, command.Usage("--page-size", strconv.Itoa(r.PageSize), "must be 1 to 100000")
	case r.Attempts < 1:
		return admin.By{}, command.Usage("--attempts", strconv.Itoa(r.Attempts), "must be positive")
	}
	if r.ToTopic != "" {
		if err := command.CheckTopic("--to-topic", r.ToTopic); err != nil {
			return admin.By{}, err
		}
	}
	if err := command.CheckBrokers(r.Brokers); err != nil {
		return admin.By{}, err
	}
	return d.By(r.Changing)
}

func (r *Replay) selected() open.Selection {
	return open.Selection{From: r.From.Time, To: r.To.Time, Group: r.Group, Topics: r.Topic, Keys: r.Key, IDs: r.ID}
}

// question describes what would be sent, and where.
func (r *Replay) question(saved savedReplay, brokers string) string {
	parts := []string{"Would send retained history once more to Kafka at " + show.Plain(brokers)}
	listed := func(what string, all []string, none string) {
		if len(all) > 0 {
			parts = append(parts, what+" "+show.Plain(strings.Join(all, ", ")))
		} else if none != "" {
			parts = append(parts, none)
		}
	}
	if r.ToTopic != "" {
		parts = append(parts, "all to topic "+show.Plain(r.ToTopic))
	} else {
		parts = append(parts, "to the topics that it had")
	}
	listed("topics", r.Topic, "all topics")
	listed("keys", r.Key, "")
	listed("ids", r.ID, "")
	from, to := "the oldest", "the newest"
	if !r.From.IsZero() {
		from = r.From.UTC().Format(time.RFC3339)
	}
	if !r.To.IsZero() {
		to = "before " + r.To.UTC().Format(time.RFC3339)
	}
	parts = append(parts, "enqueued from "+from+" to "+to)
	if saved.Position != "" {
		parts = append(parts, fmt.Sprintf("from behind seq %d on", saved.LastSeq))
	}
	return strings.Join(parts, "; ") + "."
}

// send replays into Kafka.
func (r *Replay) send(d *command.Deps, to settings.Kafka, history driver.History, by admin.By, saved savedReplay) error {
	kafka, err := sink.Kafka(to, d.Logger)
	if err != nil {
		return err
	}
	defer kafka.Close()
	bar := d.Bar("replaying", "records", 0)
	var notSaved error
	ctx, stop := context.WithCancelCause(d.Context)
	defer stop(nil)
	report, err := relay.Replay(ctx, history, kafka, r.config(d, by, saved, func(sofar relay.ReplayReport) {
		done := sofar.Sent
		if sofar.EndSeq > 0 {
			bar.Unit, bar.Total, done = "numbers of the log", sofar.EndSeq-sofar.FirstSeq, max(sofar.LastSeq-sofar.FirstSeq+1, 0)
		}
		bar.Set(done)
		if notSaved = r.save(sofar, saved); notSaved != nil {
			stop(notSaved)
		}
	}))
	bar.End()
	if saveErr := r.save(report, saved); notSaved == nil {
		notSaved = saveErr
	}
	if notSaved != nil {
		err = notSaved
	}
	if err := printReplay(d, report, false); err != nil {
		return err
	}
	if err != nil && r.Resume != "" {
		d.Note("To go on: the same command again, with --resume %s", r.Resume)
	}
	if err == nil && (report.Skipped > 0 || len(report.Gaps) > 0) {
		err = command.ErrFindings
	}
	return err
}

func (r *Replay) config(d *command.Deps, by admin.By, saved savedReplay, progress func(relay.ReplayReport)) relay.ReplayConfig {
	cfg := relay.ReplayConfig{
		Actor: by.Actor, Reason: by.Reason, Position: saved.Position, Rate: r.Rate, PageSize: r.PageSize, Attempts: r.Attempts,
		SkipFailed: r.SkipFailed, SkipGaps: r.SkipGaps, Logger: d.Logger,
		Progress: func(_ context.Context, sofar relay.ReplayReport) { progress(sofar) },
	}
	if r.ToTopic != "" {
		cfg.Topic = func(*outbox.Record) string { return r.ToTopic }
	}
	return cfg
}

// printReplay prints the result of a replay, or of its dry run.
func printReplay(d *command.Deps, report relay.ReplayReport, dryRun bool) error {
	row := replayRow{
		DryRun: dryRun, Done: report.Done, Sent: report.Sent, Skipped: report.Skipped, Position: report.Position, LastSeq: report.LastSeq,
		TookSeconds: show.Seconds(report.Took),
		Failures:    command.RowsOf(report.Failures, func(f relay.ReplayFailure) failed { return failed{f.ID, f.Seq, f.Topic, fmt.Sprint(f.Err)} }),
		Gaps:        command.RowsOf(report.Gaps, func(g driver.HistoryGapError) gap { return gap{g.From, g.To} }),
	}
	if d.Format != show.Table {
		return d.Document(row)
	}
	for _, f := range row.Failures {
		if err := d.Paragraph("not delivered: seq %d, id %s, topic %s: %s", f.Seq, show.Plain(f.ID), show.Plain(f.Topic), show.Plain(f.Error)); err != nil {
			return err
		}
	}
	for _, g := range row.Gaps {
		if err := d.Paragraph("no longer retained: seq %d to %d", g.FromSeq, g.ToSeq); err != nil {
			return err
		}
	}
	verb := "Sent"
	if dryRun {
		verb = "Would send"
	}
	return d.Paragraph("%s %s, skipped %s.", verb, show.Things(row.Sent, "record"), show.Count(row.Skipped))
}
