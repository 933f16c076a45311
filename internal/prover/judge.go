package prover

import (
	"path/filepath"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/history"
)

// judge records the final state and checks the history. left are committed messages that are not in the topic.
func (w *workload) judge(left []string) {
	truth, err := w.shop.Truth(w.t.ctx)
	fail.If(err)
	waiting, err := w.shop.Waiting(w.t.ctx, left)
	fail.If(err)
	fail.If(w.dump(truth, waiting))
	verdict, err := history.Check(w.t.ctx, w.dir, history.Options{})
	fail.If(err)

	t, f := w.t, verdict.Figures
	t.Say(OK, "%d committed, %d rolled back, %d unknown; %d copies, %d effects", f.Committed, f.RolledBack, f.Unknown, f.Records, f.Effects)
	sum := func(names ...string) (n int) {
		for _, name := range names {
			finding, _ := verdict.Finding(name)
			n += finding.Violations
		}
		return n
	}
	t.Say(OK, "%d lost, %d doubled, %d out of order, %d invented; %d cuts, %d relays", sum(history.O2, history.I3), sum(history.I1),
		sum(history.O5, history.Order), sum(history.O1, history.O3, history.O4, history.I2), w.cuts.Load(), w.relays.Load())
	for _, check := range verdict.Checks {
		if check.First == nil {
			continue
		}
		outcome := Broken
		if check.Name == history.O10 {
			outcome = Limited
		}
		t.Say(outcome, "%s: %s", check.Name, check.First.Summary)
	}
	if n := len(waiting); n > 0 {
		t.Broken("%d messages wait, and for %s nothing has moved", n, Standstill)
	}
	if f.Committed < few || f.Records < few {
		t.Say(CouldNotTry, "too little was done to judge anything")
	}
	if t.Finding.Outcome != OK {
		w.tellTrouble()
	}
}

// dump records the tables and the topic in the history.
func (w *workload) dump(truth Truth, waiting []string) error {
	d, err := history.Dump(filepath.Join(w.dir, "end.jsonl"))
	if err != nil {
		return err
	}
	var lines []history.Line
	end := func(end history.Line) { lines = append(lines, end) }
	for _, r := range truth.Ledger {
		lines = append(lines, history.Line{Type: history.Ledger, ID: r.ID, Key: r.Key, Version: r.Version})
	}
	end(history.Line{Type: history.DumpEnd, Of: history.Ledger})
	for at, r := range w.topic.records {
		lines = append(lines, history.Line{
			Type: history.Record, ID: r.id, Key: r.key, Topic: r.topic, Offset: int64(at), At: r.at.UnixMicro(), Digest: digest(r.key, r.payload),
		})
	}
	end(history.Line{Type: history.DumpEnd, Of: history.Record})
	for _, id := range waiting {
		lines = append(lines, history.Line{Type: history.Waiting, ID: id, Where: history.Pending})
	}
	end(history.Line{Type: history.DumpEnd, Of: history.Waiting})
	for _, r := range truth.Effects {
		lines = append(lines, history.Line{Type: history.EffectRow, ID: r.ID, Key: r.Key, Row: r.Number, Consumer: Consumer})
	}
	end(history.Line{Type: history.DumpEnd, Of: history.EffectRow, Topic: topicName, Consumer: Consumer})
	for _, line := range lines {
		if line.Type == history.DumpEnd {
			err = d.End(line)
		} else {
			err = d.Write(line)
		}
		if err != nil {
			return err
		}
	}
	return d.Close()
}
