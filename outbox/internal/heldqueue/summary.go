package heldqueue

import (
	"cmp"
	"context"
	"slices"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

const (
	// mostCounted bounds what is counted of one line.
	mostCounted = 100_000
	// mostGrouped bounds the rows whose failures are grouped, the newest.
	mostGrouped = 100_000
)

// ParkedKeys returns the parked rows, each with what waits behind it.
func ParkedKeys(ctx context.Context, s Store, q admin.KeysQuery) (all []admin.ParkedKey, err error) {
	q, err = q.Complete()
	if err != nil {
		return nil, err
	}
	err = s.Look(ctx, q.Group, func(r Reader) error {
		rows, err := r.Select(ctx, Query{In: []State{Parked}, Topics: q.Topic, From: q.After + 1, Limit: q.Limit})
		if err != nil {
			return err
		}
		var lines []Row
		for i := range rows {
			if rows[i].ordered() {
				lines = append(lines, rows[i])
			}
		}
		behind, err := r.Behind(ctx, lines, mostCounted)
		if err != nil {
			return err
		}
		waiting := make(map[driver.Key]int)
		for i := range behind {
			waiting[behind[i].Key]++
		}
		for i := range rows {
			row := &rows[i]
			k := admin.ParkedKey{
				Key: row.Key, Seq: row.Seq, ID: row.ID, Records: 1, Attempts: row.Attempts, Reason: row.Reason, Since: row.Since,
			}
			if row.ordered() {
				k.Records += waiting[row.Key]
			}
			k.LastKind, k.LastError = row.lastFailure()
			all = append(all, k)
		}
		return nil
	})
	return all, err
}

// lastFailure returns the kind and the text of the last error; empty if there was none.
func (r *Row) lastFailure() (kind, text string) {
	if len(r.Errors) == 0 {
		return "", ""
	}
	last := r.Errors[len(r.Errors)-1]
	return last.Kind, last.Error
}

// fingerprint is that of the last error, or of the reason if there was none.
func (r *Row) fingerprint() string {
	if len(r.Errors) == 0 {
		return admin.Fingerprint(r.Reason)
	}
	_, text := r.lastFailure()
	return admin.Fingerprint(text)
}

// Failures groups what parked or dead rows have failed of.
func Failures(ctx context.Context, s Store, q admin.FailuresQuery) (all []admin.FailureGroup, err error) {
	q, err = q.Complete()
	if err != nil {
		return nil, err
	}
	in := []State{Parked}
	if q.Dead {
		in = []State{Dead}
	}
	err = s.Look(ctx, q.Group, func(r Reader) error {
		rows, err := r.Select(ctx, Query{In: in, Topics: q.Topic, Limit: mostGrouped, Last: true})
		all = groupFailures(rows)
		return err
	})
	return all[:min(len(all), q.Limit)], err
}

func groupFailures(rows []Row) []admin.FailureGroup {
	type like struct{ topic, kind, fingerprint string }
	places := make(map[like]int)
	var all []admin.FailureGroup
	for i := range rows {
		row := &rows[i]
		kind, text := row.lastFailure()
		if len(row.Errors) == 0 {
			text = row.Reason
		}
		is := like{row.Key.Topic, kind, row.fingerprint()}
		at, ok := places[is]
		if !ok {
			at = len(all)
			places[is] = at
			all = append(all, admin.FailureGroup{
				Topic: is.topic, Kind: kind, Fingerprint: is.fingerprint, First: row.Since, Last: row.Since,
			})
		}
		g := &all[at]
		g.Records++
		g.Example = max(g.Example, text)
		if row.Since.Before(g.First) {
			g.First = row.Since
		}
		if row.Since.After(g.Last) {
			g.Last = row.Since
		}
	}
	slices.SortFunc(all, func(a, b admin.FailureGroup) int {
		return cmp.Or(cmp.Compare(b.Records, a.Records), cmp.Compare(a.Topic, b.Topic),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return all
}
