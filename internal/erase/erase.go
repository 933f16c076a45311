// Package erase holds what the stores share to delete the data of a person (S19).
package erase

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// Places where a message, or a trace of it, is stored.
const (
	Log      = "log"
	Held     = "held"
	Dead     = "dead"
	Delayed  = "delayed"
	Audit    = "audit"
	Parked   = "parked"
	Notes    = "notes"
	Attempts = "attempts"
	// Counters are the numeric attributes in keys of DynamoDB.
	Counters = "counters"
)

// Reason replaces a reason or an error in the audit.
const Reason = "erased"

// Check refuses a request that selects nothing, has no actor or reason, or whose reason names the
// person who is erased: the reason stays in the audit.
func Check(r *driver.EraseRequest) error {
	if r.Key == "" && len(r.IDs) == 0 && r.Header == "" || r.Topic != "" && r.Key == "" || r.Header != "" && r.Value == "" {
		return fmt.Errorf("%w: select by Key, by IDs, or by Header and Value; a Topic needs a Key", admin.ErrInvalidRequest)
	}
	for _, text := range []string{r.Key, r.Value} {
		if text != "" && strings.Contains(strings.ToLower(r.Reason), strings.ToLower(text)) {
			return fmt.Errorf("%w: Reason = %.200q: must not name who is erased: it stays in the audit", admin.ErrInvalidRequest, r.Reason)
		}
	}
	by := admin.By{Actor: r.Actor, Reason: r.Reason}
	return admin.Complete(&by)
}

// Matches reports whether r selects a message. It asks for headers only if they decide.
func Matches(r *driver.EraseRequest, id, topic, key string, headers func() map[string]string) bool {
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
func With(r driver.EraseRequest, ids []string) driver.EraseRequest {
	r.IDs = slices.Concat(r.IDs, ids)
	slices.Sort(r.IDs)
	r.IDs = slices.Compact(r.IDs)
	return r
}

// Walked records how far the log was searched.
func Walked(r *driver.EraseRequest, done, total int64) {
	if r.Progress != nil {
		r.Progress(done, total)
	}
}

// Add counts a row with a message.
func Add(f *driver.Erased, place, id, topic string) {
	if f.Topics == nil {
		f.Topics = map[string]int{}
	}
	Count(f, place, 1)
	f.Topics[topic]++
	if at, known := slices.BinarySearch(f.IDs, id); !known && id != "" {
		f.IDs = slices.Insert(f.IDs, at, id)
	}
}

// Count counts rows that have no message.
func Count(f *driver.Erased, place string, rows int) {
	if f.Rows == nil {
		f.Rows = map[string]int{}
	}
	if rows > 0 {
		f.Rows[place] += rows
	}
}

// Merge adds the findings of another look.
func Merge(f *driver.Erased, other driver.Erased) {
	for place, n := range other.Rows {
		Count(f, place, n)
	}
	for topic, n := range other.Topics {
		if f.Topics == nil {
			f.Topics = map[string]int{}
		}
		f.Topics[topic] += n
	}
	f.IDs = With(driver.EraseRequest{IDs: f.IDs}, other.IDs).IDs
}
