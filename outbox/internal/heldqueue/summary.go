package heldqueue

import (
	"cmp"
	"context"
	"slices"

	"github.com/leat-go/leat/outbox/admin"
)

const (
	// mostCounted bounds the count per line.
	mostCounted = 100_000
	// mostGrouped bounds the rows whose failures are grouped, the newest.
	mostGrouped = 100_000
)

// ParkedKeys returns the keys whose first row is parked, and parked rows without a key,
// ascending in the Seq of that row.
func (o Operators) ParkedKeys(ctx context.Context, q admin.KeysQuery) (all []admin.ParkedKey, err error) {
	err = admin.Complete(&q)
	if err != nil {
		return nil, err
	}
	err = o.Store.Look(ctx, q.Group, func(r Reader) error {
		for after := q.After; ; {
			page, err := r.Select(ctx, Query{In: []State{Parked}, Topics: q.Topic, From: after + 1, Limit: q.Limit})
			if err != nil || len(page) == 0 {
				return err
			}
			for i := range page {
				k, first, err := parkedKey(ctx, r, &page[i])
				if err != nil {
					return err
				}
				if first {
					all = append(all, k)
				}
				if len(all) == q.Limit {
					return nil
				}
			}
			after = page[len(page)-1].Seq
		}
	})
	return all, err
}

// parkedKey returns the key of a parked row, and whether the row is its first.
func parkedKey(ctx context.Context, r Reader, row *Row) (k admin.ParkedKey, first bool, err error) {
	k = admin.ParkedKey{Key: row.Key, Seq: row.Seq, ID: row.ID, Records: 1, Attempts: row.Attempts, Reason: row.Reason, Since: row.Since}
	k.LastKind, k.LastError = row.lastFailure()
	if !row.ordered() {
		return k, true, nil
	}
	line, err := r.Select(ctx, Query{In: held(), Line: row.Key, Limit: mostCounted})
	if err != nil || len(line) == 0 {
		return k, false, err
	}
	k.Records = len(line)
	return k, line[0].Seq == row.Seq, nil
}

// lastFailure returns the kind and the text of the last error; empty if there was none.
func (r *Row) lastFailure() (kind, text string) {
	if len(r.Errors) == 0 {
		return "", ""
	}
	last := r.Errors[len(r.Errors)-1]
	return last.Kind, last.Error
}

// fingerprint returns the fingerprint of the last error, or of the reason if there was none.
func (r *Row) fingerprint() string {
	if len(r.Errors) == 0 {
		return admin.Fingerprint(r.Reason)
	}
	_, text := r.lastFailure()
	return admin.Fingerprint(text)
}

// Failures groups the failures of parked or dead rows.
func (o Operators) Failures(ctx context.Context, q admin.FailuresQuery) (all []admin.FailureGroup, err error) {
	err = admin.Complete(&q)
	if err != nil {
		return nil, err
	}
	in := []State{Parked}
	if q.Dead {
		in = []State{Dead}
	}
	err = o.Store.Look(ctx, q.Group, func(r Reader) error {
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
		if row.State != Dead && row.Attempts < len(row.Errors) { // a redrive restarts the count of attempts
			g.Again++
		}
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
