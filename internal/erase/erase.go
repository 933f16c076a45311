// Package erase is what a store is asked to delete of a person, and what it has found.
package erase

import (
	"context"
	"slices"

	"github.com/leat-go/leat/internal/topics"
)

// Request selects messages in three ways, and asks to delete what is stored of them. Ids stay, so
// that a message which comes again does not run again.
type Request struct {
	// Actor and Reason go into the audit.
	Actor, Reason string

	// Key selects the messages with this key, whose topic matches the pattern Topic; "" matches
	// all.
	Key, Topic string
	// IDs selects the messages with one of these ids.
	IDs []string
	// Header selects the messages with this header whose value is Value.
	Header, Value string

	// DryRun finds, and deletes nothing.
	DryRun bool
	// Progress is told how far the log was looked through, in its numbers. It may be nil.
	Progress func(done, total int64)
}

// Matches reports whether a message is selected. Headers are asked for only if they decide.
func (r Request) Matches(id, topic, key string, headers func() map[string]string) bool {
	switch {
	case r.Key != "" && r.Key == key && (r.Topic == "" || topics.Match(r.Topic, topic)):
		return true
	case slices.Contains(r.IDs, id):
		return true
	case r.Header == "" || headers == nil:
		return false
	}
	value, ok := headers()[r.Header]
	return ok && value == r.Value
}

// With returns r with more ids, each once.
func (r Request) With(ids []string) Request {
	r.IDs = slices.Concat(r.IDs, ids)
	slices.Sort(r.IDs)
	r.IDs = slices.Compact(r.IDs)
	return r
}

// Walked tells how far the log was looked through.
func (r Request) Walked(done, total int64) {
	if r.Progress != nil {
		r.Progress(done, total)
	}
}

// Places where a message is stored, or what is known of it.
const (
	Log      = "log"
	Held     = "held"
	Dead     = "dead"
	Delayed  = "delayed"
	Audit    = "audit"
	Parked   = "parked"
	Notes    = "notes"
	Attempts = "attempts"
)

// Found is what was found, or deleted.
type Found struct {
	// Rows is the number of rows by place.
	Rows map[string]int
	// Topics is the number of rows with a message, by topic.
	Topics map[string]int
	// IDs are those of the messages, sorted, each once.
	IDs []string
}

// Add counts a row with a message.
func (f *Found) Add(place, id, topic string) {
	if f.Topics == nil {
		f.Topics = map[string]int{}
	}
	f.Count(place, 1)
	f.Topics[topic]++
	if at, known := slices.BinarySearch(f.IDs, id); !known && id != "" {
		f.IDs = slices.Insert(f.IDs, at, id)
	}
}

// Count counts rows that have no message.
func (f *Found) Count(place string, rows int) {
	if f.Rows == nil {
		f.Rows = map[string]int{}
	}
	if rows > 0 {
		f.Rows[place] += rows
	}
}

// Merge adds what another look has found.
func (f *Found) Merge(other Found) {
	for place, n := range other.Rows {
		f.Count(place, n)
	}
	for topic, n := range other.Topics {
		if f.Topics == nil {
			f.Topics = map[string]int{}
		}
		f.Topics[topic] += n
	}
	f.IDs = Request{IDs: f.IDs}.With(other.IDs).IDs
}

// Eraser is an outbox or an inbox that can delete what it stores of messages.
type Eraser interface {
	// Erase deletes what is selected, or finds it in a dry run. Each transaction notes in the audit
	// what it deletes. Called again it goes on where it has failed.
	Erase(ctx context.Context, r Request) (Found, error)
}
